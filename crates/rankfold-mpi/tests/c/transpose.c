/* A matrix is transposed by datatypes alone: columns are sent as they lie, and rows received. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    enum { B = 3 };
    int n = B * size, *mine = malloc(B * n * sizeof(int)), *turned = malloc(B * n * sizeof(int));
    for (int i = 0; i < B; i++)
        for (int j = 0; j < n; j++) mine[i * n + j] = 1000 * (rank * B + i) + j;
    /* A block of B x B, column by column. */
    MPI_Datatype column, block, sent, row, received;
    MPI_Type_vector(B, 1, n, MPI_INT, &column);
    MPI_Type_create_hvector(B, 1, sizeof(int), column, &block);
    MPI_Type_create_resized(block, 0, B * sizeof(int), &sent), MPI_Type_commit(&sent);
    MPI_Type_vector(B, B, n, MPI_INT, &row);
    MPI_Type_create_resized(row, 0, B * sizeof(int), &received), MPI_Type_commit(&received);
    MPI_Alltoall(mine, 1, sent, turned, 1, received, MPI_COMM_WORLD);
    for (int i = 0; i < B; i++) say("row %d: %s", rank * B + i, list(turned + i * n, n));
    MPI_Aint lb, extent, true_lb, true_extent;
    int bytes;
    MPI_Type_get_extent(sent, &lb, &extent);
    MPI_Type_get_true_extent(sent, &true_lb, &true_extent);
    MPI_Type_size(sent, &bytes);
    say("block: %d bytes, from %d, extent %d, true %d %d", bytes, (int)lb, (int)extent, (int)true_lb, (int)true_extent);
    /* The diagonal, and the triangle below it, of a matrix of one rank. */
    int whole[25], lower[25], lengths[5], places[5];
    MPI_Datatype diagonal, triangle;
    MPI_Type_vector(5, 1, 6, MPI_INT, &diagonal), MPI_Type_commit(&diagonal);
    for (int i = 0; i < 5; i++) lengths[i] = i + 1, places[i] = 5 * i;
    MPI_Type_indexed(5, lengths, places, MPI_INT, &triangle), MPI_Type_commit(&triangle);
    for (int i = 0; i < 25; i++) whole[i] = 100 * rank + i, lower[i] = -1;
    int right = (rank + 1) % size, left = (rank + size - 1) % size, got[5];
    MPI_Sendrecv(whole, 1, diagonal, right, 0, got, 5, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    say("diagonal: %s", list(got, 5));
    MPI_Sendrecv(whole, 1, triangle, right, 1, lower, 1, triangle, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    say("triangle: %s", list(lower, 25));
    MPI_Datatype *all[] = {&column, &block, &sent, &row, &received, &diagonal, &triangle};
    for (int i = 0; i < 7; i++) MPI_Type_free(all[i]);
    free(mine), free(turned);
    MPI_Finalize();
    return 0;
}
