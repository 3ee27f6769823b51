/* Derived datatypes at both ends of an access. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int right = (rank + 1) % size, grid[6][6], other[6][6];
    MPI_Win win;
    MPI_Datatype column, row, block, back;
    MPI_Type_vector(6, 1, 6, MPI_INT, &column), MPI_Type_commit(&column);
    MPI_Type_contiguous(6, MPI_INT, &row), MPI_Type_commit(&row);
    int sizes[2] = {6, 6}, part[2] = {2, 3}, starts[2] = {1, 2};
    MPI_Type_create_subarray(2, sizes, part, starts, MPI_ORDER_C, MPI_INT, &block), MPI_Type_commit(&block);
    int lengths[3] = {1, 2, 1}, places[3] = {5, 2, 0};
    MPI_Type_indexed(3, lengths, places, MPI_INT, &back), MPI_Type_commit(&back);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) grid[i][j] = 0, other[i][j] = 100 * rank + 10 * i + j;
    MPI_Win_create(grid, sizeof grid, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(other[1], 1, row, right, 2, 1, column, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 6; i++) say("row into column: %s", list(grid[i], 6));
    MPI_Win_fence(0, win);
    MPI_Put(&other[0][4], 1, column, right, 0, 6, MPI_INT, win);
    MPI_Win_fence(0, win);
    say("column into row: %s", list(grid[0], 6));
    MPI_Win_fence(0, win);
    MPI_Put(other, 1, block, right, 0, 1, block, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 4; i++) say("block: %s", list(grid[i], 6));
    int in[8];
    memset(in, 255, sizeof in);
    MPI_Get(in, 4, MPI_INT, right, 6, 1, back, win);
    MPI_Win_fence(0, win);
    say("indexed: %s", list(in, 5));
    MPI_Win_fence(0, win);
    MPI_Accumulate(other[2], 1, row, right, 3, 1, column, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 6; i++) say("sums: %s", list(grid[i], 6));
    MPI_Win_free(&win);

    /* Structs. */
    struct pair {
        char name;
        double value;
    } pairs[4], got[4];
    int ones[2] = {1, 1};
    MPI_Aint at[2] = {(char *)&pairs[0].name - (char *)pairs, (char *)&pairs[0].value - (char *)pairs};
    MPI_Datatype kinds[2] = {MPI_CHAR, MPI_DOUBLE}, bare, type;
    MPI_Type_create_struct(2, ones, at, kinds, &bare);
    MPI_Type_create_resized(bare, 0, sizeof(struct pair), &type), MPI_Type_commit(&type);
    for (int i = 0; i < 4; i++) pairs[i].name = 'a' + rank + i, pairs[i].value = rank + 0.25 * i, got[i].name = '?', got[i].value = -1;
    MPI_Win_create(pairs, sizeof pairs, sizeof(struct pair), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Get(got, 2, type, right, 1, 2, type, win);
    MPI_Win_fence(0, win);
    say("structs: %c %g, %c %g, %c", got[0].name, got[0].value, got[1].name, got[1].value, got[2].name);
    MPI_Win_free(&win);
    MPI_Type_free(&bare), MPI_Type_free(&type), MPI_Type_free(&column), MPI_Type_free(&row), MPI_Type_free(&block), MPI_Type_free(&back);
    MPI_Finalize();
    return 0;
}
