/* Grids, graphs and distributed graphs, and collectives among neighbours. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int nodes = 1; nodes <= 36; nodes++) {
        int d2[2] = {0, 0}, d3[3] = {0, 0, 0};
        MPI_Dims_create(nodes, 2, d2);
        MPI_Dims_create(nodes, 3, d3);
        if (rank == 0) say("dims of %d: %s, %d ranks in %d", nodes, list(d2, 2), d3[0] * d3[1] * d3[2], 3);
    }
    int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], status, in[64], source, destination;
    MPI_Comm grid, row, graph;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Topo_test(grid, &status);
    MPI_Cart_coords(grid, rank, 2, coords);
    say("grid %s: at %s, %d", list(dims, 2), list(coords, 2), status == MPI_CART);
    for (int by = -2; by <= 2; by++) {
        MPI_Cart_shift(grid, 0, by, &source, &destination);
        int s2, d2;
        MPI_Cart_shift(grid, 1, by, &s2, &d2);
        say("shift %d: %d %d, %d %d", by, source, destination, s2 == MPI_PROC_NULL ? -1 : s2, d2 == MPI_PROC_NULL ? -1 : d2);
    }
    int there[2] = {coords[0] + dims[0], coords[1]}, who;
    MPI_Cart_rank(grid, there, &who);
    say("periodic: %d", who == rank);
    memset(in, 255, sizeof in);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, grid);
    say("neighbours %s", list(in, 4));
    int out[4] = {10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3};
    memset(in, 255, sizeof in);
    MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, grid);
    say("neighbours %s", list(in, 4));
    int keep[2] = {0, 1}, r, n;
    MPI_Cart_sub(grid, keep, &row);
    MPI_Comm_rank(row, &r), MPI_Comm_size(row, &n);
    say("row %d of %d", r, n);
    MPI_Comm_free(&row), MPI_Comm_free(&grid);
    int index[64], edges[128], e = 0, neighbors;
    for (int i = 0; i < size; i++) {
        if (i > 0) edges[e++] = i - 1;
        if (i + 1 < size) edges[e++] = i + 1;
        index[i] = e;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &graph);
    MPI_Graph_neighbors_count(graph, rank, &neighbors);
    MPI_Graph_neighbors(graph, rank, neighbors, in);
    say("path: %s", list(in, neighbors));
    MPI_Graphdims_get(graph, &n, &e);
    say("path: %d nodes, %d edges", n, e);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, graph);
    say("path: %s", list(in, neighbors));
    MPI_Comm_free(&graph);
    int from[1] = {(rank + size - 1) % size}, to[1] = {(rank + 1) % size}, inside, outside, weighted, w[1] = {3 + rank}, v[1];
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, from, w, 1, to, w, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &inside, &outside, &weighted);
    MPI_Dist_graph_neighbors(graph, 1, in, v, 1, in + 1, v);
    say("ring: %d %d %d, %s", inside, outside, weighted != 0, list(in, 2));
    int counts[1] = {2}, places[1] = {1}, pair[2] = {rank, -rank};
    in[0] = -5;
    MPI_Neighbor_allgatherv(pair, 2, MPI_INT, in, counts, places, MPI_INT, graph);
    say("ring: %s", list(in, 3));
    MPI_Comm_free(&graph);
    MPI_Finalize();
    return 0;
}
