/* Buffers from MPI_BOTTOM on: their places are addresses, of predefined datatypes too. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int before = (rank + size - 1) % size, after = (rank + 1) % size, one = 1, none = 0;
    MPI_Comm ring;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    int out = 10 * rank, in = -1;
    double half = rank + 0.5, got = 0;
    MPI_Aint from, to, unused = 0;
    MPI_Datatype type = MPI_INT;
    MPI_Get_address(&out, &from), MPI_Get_address(&in, &to);
    MPI_Neighbor_alltoallw(MPI_BOTTOM, &one, &from, &type, MPI_BOTTOM, &one, &to, &type, ring);
    say("integer: %d", in);
    MPI_Request request;
    type = MPI_DOUBLE;
    MPI_Get_address(&half, &from), MPI_Get_address(&got, &to);
    MPI_Ineighbor_alltoallw(MPI_BOTTOM, &one, &from, &type, MPI_BOTTOM, &one, &to, &type, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("started: %g", got);
    MPI_Neighbor_alltoallw(MPI_BOTTOM, &none, &unused, &type, MPI_BOTTOM, &none, &unused, &type, ring);
    say("none: %d %g", in, got);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
