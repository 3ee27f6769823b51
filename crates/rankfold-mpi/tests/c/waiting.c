/* Waits and tests of many requests at once, with null and inactive ones among them, completed in the order of tags. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    enum { N = 6 };
    int in[N], out[N], index, flag, n, indices[N], right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request requests[N], sends[N];
    MPI_Status statuses[N];
    for (int i = 0; i < N; i++) in[i] = -1, out[i] = 10 * rank + i;
    for (int i = 0; i < N; i++) MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Testall(N, requests, &flag, statuses);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(&out[3], 1, MPI_INT, right, 3, MPI_COMM_WORLD, &sends[3]);
    MPI_Waitany(N, requests, &index, &statuses[0]);
    say("any: %d, tag %d, %d, null %d", index, statuses[0].MPI_TAG, in[3], requests[3] == MPI_REQUEST_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(&out[5], 1, MPI_INT, right, 5, MPI_COMM_WORLD, &sends[5]);
    for (flag = 0; !flag;) MPI_Testany(N, requests, &index, &flag, &statuses[0]);
    say("any: %d, tag %d", index, statuses[0].MPI_TAG);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &sends[i]);
    int seen = 0, tags = 0;
    while (seen < 3) {
        MPI_Waitsome(N, requests, &n, indices, statuses);
        for (int i = 0; i < n; i++) tags += indices[i] == statuses[i].MPI_TAG ? 1 << statuses[i].MPI_TAG : 1000;
        seen += n;
    }
    say("some: %d, %d", seen, tags);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(&out[4], 1, MPI_INT, right, 4, MPI_COMM_WORLD, &sends[4]);
    MPI_Waitall(N, requests, statuses);
    say("all: %s, tag %d", list(in, N), statuses[4].MPI_TAG);
    MPI_Waitall(N, sends, MPI_STATUSES_IGNORE);
    MPI_Waitany(N, requests, &index, &statuses[0]);
    MPI_Waitsome(N, requests, &n, indices, statuses);
    say("none: %d %d", index == MPI_UNDEFINED, n == MPI_UNDEFINED);
    MPI_Testany(N, requests, &index, &flag, &statuses[0]);
    say("none: %d %d", flag, index == MPI_UNDEFINED);
    MPI_Testsome(N, requests, &n, indices, statuses);
    say("none: %d", n == MPI_UNDEFINED);
    MPI_Testall(N, requests, &flag, statuses);
    say("none: %d", flag);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    /* Many receives from any source. */
    int got[64], sum = 0;
    MPI_Request all[64];
    for (int r = 0; r < size && rank == 0; r++) MPI_Irecv(&got[r], 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &all[r]);
    MPI_Send(&rank, 1, MPI_INT, rank == 0 ? 0 : 0, 8, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int left = size; left > 0; left--) MPI_Waitany(size, all, &index, MPI_STATUS_IGNORE), sum += got[index];
        say("sum: %d", sum);
    }
    MPI_Finalize();
    return 0;
}
