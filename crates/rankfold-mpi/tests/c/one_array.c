/* One array of which a call sends one part and receives another: by datatypes, by displacements, and to no rank. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, grid[4][4], i;
    for (i = 0; i < 16; i++) grid[i / 4][i % 4] = 100 * rank + i;
    int sizes[2] = {4, 4}, part[2] = {4, 1}, inner[2] = {0, 2}, outer[2] = {0, 0};
    MPI_Datatype sent, received;
    MPI_Type_create_subarray(2, sizes, part, inner, MPI_ORDER_C, MPI_INT, &sent), MPI_Type_commit(&sent);
    MPI_Type_create_subarray(2, sizes, part, outer, MPI_ORDER_C, MPI_INT, &received), MPI_Type_commit(&received);
    MPI_Sendrecv(grid, 1, sent, right, 0, grid, 1, received, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    say("halo: %s", list(grid[0], 16));
    MPI_Sendrecv(grid, 4, MPI_INT, MPI_PROC_NULL, 0, grid, 4, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(grid, 4, MPI_INT, rank, 0, grid[1], 4, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    say("rows: %s", list(grid[0], 16));
    int *all = malloc(4 * size * sizeof(int)), counts[64], same[64], front[64], back[64];
    for (i = 0; i < 4 * size; i++) all[i] = 1000 * rank + i;
    for (i = 0; i < size; i++) counts[i] = same[i] = 2, front[i] = 2 * i, back[i] = 2 * (size + i);
    MPI_Alltoallv(all, counts, front, MPI_INT, all, same, back, MPI_INT, MPI_COMM_WORLD);
    say("all to all: %s", list(all, 4 * size));
    MPI_Gatherv(all, 2, MPI_INT, all, counts, back, MPI_INT, 0, MPI_COMM_WORLD);
    say("gathered: %s", list(all, 4 * size));
    MPI_Type_free(&sent), MPI_Type_free(&received), free(all);
    MPI_Finalize();
    return 0;
}
