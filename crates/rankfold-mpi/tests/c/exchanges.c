/* MPI_Alltoallw, and collectives among neighbours with counts, places and datatypes of their own. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int counts[64], places[64], into[64], in[256], out[256];
    MPI_Datatype types[64], pair, kinds[64];
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair), MPI_Type_commit(&pair);
    for (int i = 0; i < 256; i++) out[i] = 1000 * rank + i, in[i] = -1;
    for (int r = 0; r < size; r++) {
        counts[r] = 1, places[r] = 16 * r, into[r] = 16 * r;
        types[r] = (rank + r) % 2 ? pair : MPI_INT, kinds[r] = types[r];
    }
    MPI_Alltoallw(out, counts, places, types, in, counts, into, kinds, MPI_COMM_WORLD);
    say("all to all: %s", list(in, 4 * size));
    int dims[1] = {size}, periods[1] = {1}, c[2] = {1, 2}, p[2] = {0, 4}, q[2] = {3, 0}, d[2] = {2, 1};
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    /* Where both neighbours are one rank, other MPIs differ among themselves. */
    if (size > 2) {
        /* Each sends one element to its left and two to its right, so it receives two from its left and one from its right. */
        memset(in, 255, sizeof in);
        MPI_Neighbor_alltoallv(out, c, p, MPI_INT, in, d, q, MPI_INT, ring);
        say("v: %s", list(in, 6));
    }
    MPI_Aint a[2] = {0, 16}, b[2] = {8, 24};
    MPI_Datatype t[2] = {MPI_INT, pair}, u[2] = {pair, MPI_INT};
    int ones[2] = {1, 1};
    if (size > 2) {
        memset(in, 255, sizeof in);
        MPI_Neighbor_alltoallw(out, ones, a, t, in, ones, b, u, ring);
        say("w: %s", list(in, 8));
    }
    MPI_Request request;
    memset(in, 255, sizeof in);
    MPI_Ineighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("started: %s", list(in, 3));
    if (size > 2) {
        memset(in, 255, sizeof in);
        MPI_Ineighbor_alltoall(out, 2, MPI_INT, in, 2, MPI_INT, ring, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        say("started: %s", list(in, 5));
    }
    MPI_Comm_free(&ring);
    /* A graph of which each rank names the edges of another one. */
    int source = (rank + 1) % size, degree = 2, to[2] = {0, (rank + 2) % size};
    MPI_Comm graph;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    int inside, outside, weighted;
    MPI_Dist_graph_neighbors_count(graph, &inside, &outside, &weighted);
    int from[128], dest[128];
    MPI_Dist_graph_neighbors(graph, inside, from, MPI_UNWEIGHTED, outside, dest, MPI_UNWEIGHTED);
    int sum = 0, got[128] = {0};
    for (int i = 0; i < inside; i++) sum += from[i];
    say("graph: %d in of sum %d, %d out, weighted %d", inside, sum, outside, weighted);
    int me = rank + 1, total = 0;
    MPI_Neighbor_allgather(&me, 1, MPI_INT, got, 1, MPI_INT, graph);
    for (int i = 0; i < inside; i++) total += got[i];
    say("graph: total %d", total);
    MPI_Comm_free(&graph);
    MPI_Type_free(&pair);
    MPI_Finalize();
    return 0;
}
