/* A product of matrices: rows scattered, one factor broadcast, the result gathered; then Cannon's rotation on a grid. */
#include "say.h"

#define N 12

int main(int argc, char **argv) {
    begin(&argc, &argv);
    double a[N][N], b[N][N], c[N][N], mine[N][N], out[N][N];
    MPI_Datatype row;
    MPI_Type_contiguous(N, MPI_DOUBLE, &row);
    MPI_Type_commit(&row);
    int counts[64], places[64];
    for (int r = 0; r < size; r++) places[r] = r * N / size, counts[r] = (r + 1) * N / size - places[r];
    if (rank == 0)
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) a[i][j] = i - j, b[i][j] = (i * j) % 5;
    MPI_Scatterv(a, counts, places, row, mine, counts[rank], row, 0, MPI_COMM_WORLD);
    MPI_Bcast(b, N, row, 0, MPI_COMM_WORLD);
    for (int i = 0; i < counts[rank]; i++)
        for (int j = 0; j < N; j++) {
            out[i][j] = 0;
            for (int k = 0; k < N; k++) out[i][j] += mine[i][k] * b[k][j];
        }
    MPI_Gatherv(out, counts[rank], row, c, counts, places, row, 0, MPI_COMM_WORLD);
    if (rank == 0)
        for (int i = 0; i < N; i += 3) say("row %d: %g %g %g %g", i, c[i][0], c[i][3], c[i][7], c[i][11]);
    double trace = 0, all;
    for (int i = 0; i < counts[rank]; i++) trace += out[i][places[rank] + i];
    MPI_Allreduce(&trace, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    say("trace %g", all);
    /* Blocks go around a ring, and each rank multiplies its own with each. */
    int block = rank + 1, sum = 0;
    for (int step = 0; step < size; step++) {
        sum += (rank + 1) * block;
        MPI_Sendrecv_replace(&block, 1, MPI_INT, (rank + 1) % size, step, (rank + size - 1) % size, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    say("around: %d, %d", sum, block);
    MPI_Type_free(&row);
    MPI_Finalize();
    return 0;
}
