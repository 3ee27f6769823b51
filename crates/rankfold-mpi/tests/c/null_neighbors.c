/* Buffers for neighbours that are not there are null: not on mpich, which wants some. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Request request;
    /* From each rank to the next one, but neither from nor to the last: rank 0 receives nothing, and the last but one sends
       nothing. */
    MPI_Comm line;
    int before = rank - 1, after = rank + 1, is_last = rank == size - 1;
    int sources = rank > 0 && !is_last, destinations = rank + 2 < size, from = -1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources, &before, MPI_UNWEIGHTED, destinations, &after, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &line);
    void *in = sources ? &from : NULL, *out = destinations ? &rank : NULL;
    MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, line), say("all-gather: %d", from);
    from = -1;
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, line), say("all-to-all: %d", from);
    from = -1;
    MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, line, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE), say("started: %d", from);
    MPI_Comm_free(&line);
    MPI_Finalize();
    return 0;
}
