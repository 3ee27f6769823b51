/* Sample sort: splitters are gathered and broadcast, and the elements exchanged by MPI_Alltoallv. */
#include "say.h"

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

int main(int argc, char **argv) {
    begin(&argc, &argv);
    enum { N = 40 };
    int mine[N], samples[64 * 4], splitters[64], counts[64] = {0}, coming[64], at[64], from[64], *sorted, n = 0;
    unsigned seed = 12345 + rank;
    for (int i = 0; i < N; i++) seed = seed * 1103515245 + 12345, mine[i] = (seed >> 8) % 1000;
    qsort(mine, N, sizeof(int), compare);
    int own[4];
    for (int i = 0; i < 4; i++) own[i] = mine[i * N / 4];
    MPI_Gather(own, 4, MPI_INT, samples, 4, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        qsort(samples, 4 * size, sizeof(int), compare);
        for (int r = 1; r < size; r++) splitters[r - 1] = samples[4 * r];
    }
    MPI_Bcast(splitters, size - 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0, to = 0; i < N; i++) {
        while (to < size - 1 && mine[i] >= splitters[to]) to++;
        counts[to]++;
    }
    MPI_Alltoall(counts, 1, MPI_INT, coming, 1, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0, sum = 0; r < size; r++) at[r] = sum, sum += counts[r], from[r] = n, n += coming[r];
    sorted = malloc((n + 1) * sizeof(int));
    MPI_Alltoallv(mine, counts, at, MPI_INT, sorted, coming, from, MPI_INT, MPI_COMM_WORLD);
    qsort(sorted, n, sizeof(int), compare);
    int before = 0, least = n ? sorted[0] : 9999, next;
    MPI_Exscan(&n, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("%d elements from %d on, %s", n, rank ? before : 0, list(sorted, n < 5 ? n : 5));
    int most = n ? sorted[n - 1] : -1, previous = -1;
    MPI_Request requests[2];
    MPI_Irecv(&previous, 1, MPI_INT, rank ? rank - 1 : MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&most, 1, MPI_INT, rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    int fine = previous <= least, all;
    MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    say("sorted: %d", all);
    free(sorted);
    MPI_Finalize();
    return 0;
}
