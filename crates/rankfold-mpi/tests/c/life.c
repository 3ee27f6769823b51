/* The game of life on a torus of ranks: halos of a subarray datatype among the neighbours of a grid. */
#include "say.h"

enum { H = 6, W = 6 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int dims[2] = {0, 0}, periods[2] = {1, 1}, at[2], up, down, left, right;
    MPI_Comm grid;
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_coords(grid, rank, 2, at);
    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    unsigned char now[H + 2][W + 2], next[H + 2][W + 2];
    memset(now, 0, sizeof now);
    /* A glider in the corner of the torus. */
    if (at[0] == 0 && at[1] == 0) now[1][2] = now[2][3] = now[3][1] = now[3][2] = now[3][3] = 1;
    MPI_Datatype column;
    MPI_Type_vector(H + 2, 1, W + 2, MPI_UNSIGNED_CHAR, &column), MPI_Type_commit(&column);
    for (int step = 0; step < 30; step++) {
        MPI_Sendrecv(&now[1][0], W + 2, MPI_UNSIGNED_CHAR, up, 0, &now[H + 1][0], W + 2, MPI_UNSIGNED_CHAR, down, 0, grid, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&now[H][0], W + 2, MPI_UNSIGNED_CHAR, down, 1, &now[0][0], W + 2, MPI_UNSIGNED_CHAR, up, 1, grid, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&now[0][1], 1, column, left, 2, &now[0][W + 1], 1, column, right, 2, grid, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&now[0][W], 1, column, right, 3, &now[0][0], 1, column, left, 3, grid, MPI_STATUS_IGNORE);
        memcpy(next, now, sizeof now);
        for (int i = 1; i <= H; i++)
            for (int j = 1; j <= W; j++) {
                int alive = -now[i][j];
                for (int y = -1; y <= 1; y++)
                    for (int x = -1; x <= 1; x++) alive += now[i + y][j + x];
                next[i][j] = alive == 3 || (alive == 2 && now[i][j]);
            }
        memcpy(now, next, sizeof now);
        int mine = 0, all, first = -1, where;
        for (int i = 1; i <= H; i++)
            for (int j = 1; j <= W; j++)
                if (now[i][j]) mine++, first = first < 0 ? (at[0] * H + i) * 100 + at[1] * W + j : first;
        if (first < 0) first = 1 << 20;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, grid);
        MPI_Allreduce(&first, &where, 1, MPI_INT, MPI_MIN, grid);
        if (step % 5 == 0 && rank == 0) say("step %d: %d cells, first %d", step, all, where);
    }
    char text[H * (W + 1) + 1];
    int n = 0;
    for (int i = 1; i <= H; i++) {
        for (int j = 1; j <= W; j++) text[n++] = now[i][j] ? '#' : '.';
        text[n++] = '/';
    }
    text[n] = 0;
    say("%d %d: %s", at[0], at[1], text);
    MPI_Type_free(&column);
    MPI_Comm_free(&grid);
    MPI_Finalize();
    return 0;
}
