/* A heat equation on a strip: halos by MPI_Sendrecv, the residual by MPI_Allreduce. */
#include "say.h"
#include <math.h>

#define N 24

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int first = rank * N / size, last = (rank + 1) * N / size, n = last - first, steps = 0;
    int up = rank + 1 < size ? rank + 1 : MPI_PROC_NULL, down = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    double *now = calloc(n + 2, sizeof(double)), *next = calloc(n + 2, sizeof(double)), change;
    if (rank == 0) now[0] = next[0] = 100;
    do {
        MPI_Sendrecv(&now[n], 1, MPI_DOUBLE, up, 1, &now[0], 1, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, down, 2, &now[n + 1], 1, MPI_DOUBLE, up, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double most = 0;
        for (int i = 1; i <= n; i++) {
            next[i] = 0.5 * (now[i - 1] + now[i + 1]);
            if (fabs(next[i] - now[i]) > most) most = fabs(next[i] - now[i]);
        }
        next[0] = now[0], next[n + 1] = now[n + 1];
        double *swap = now;
        now = next, next = swap;
        MPI_Allreduce(&most, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    } while (change > 0.05 && ++steps < 1000);
    double sum = 0, all = 0;
    for (int i = 1; i <= n; i++) sum += now[i];
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) say("%d steps, sum %.6f", steps, all);
    double whole[N];
    int counts[64], places[64];
    for (int r = 0; r < size; r++) places[r] = r * N / size, counts[r] = (r + 1) * N / size - places[r];
    MPI_Gatherv(now + 1, n, MPI_DOUBLE, whole, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0)
        for (int i = 0; i < N; i += 6) say("at %d: %.6f", i, whole[i]);
    free(now), free(next);
    MPI_Finalize();
    return 0;
}
