/* Locks: shared, exclusive, of all ranks; flushes; requests of accesses. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int *memory, in[4] = {-1, -1, -1, -1}, target = size - 1;
    MPI_Win win;
    MPI_Request requests[3];
    MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    for (int i = 0; i < 8; i++) memory[i] = 10 * rank + i;
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);

    /* A counter that is read and written under an exclusive lock. */
    for (int i = 0; i < 20; i++) {
        int value;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(&value, 1, MPI_INT, 0, 7, 1, MPI_INT, win);
        MPI_Win_flush(0, win);
        value++;
        MPI_Put(&value, 1, MPI_INT, 0, 7, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Get(in, 1, MPI_INT, 0, 7, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    say("counter: %d", in[0]);

    MPI_Win_lock(MPI_LOCK_SHARED, target, MPI_MODE_NOCHECK, win);
    MPI_Get(in, 3, MPI_INT, target, 1, 3, MPI_INT, win);
    MPI_Win_flush_local(target, win);
    say("shared: %s", list(in, 3));
    MPI_Win_unlock(target, win);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock_all(0, win);
    int one = 1, many[2] = {rank, rank * rank};
    for (int to = 0; to < size; to++) {
        MPI_Accumulate(&one, 1, MPI_INT, to, 4, 1, MPI_INT, MPI_SUM, win);
        MPI_Accumulate(many, 2, MPI_INT, to, 5, 2, MPI_INT, MPI_SUM, win);
    }
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get(in, 3, MPI_INT, target, 4, 3, MPI_INT, win);
    MPI_Win_flush_local_all(win);
    say("sums: %s", list(in, 3));
    MPI_Barrier(MPI_COMM_WORLD);
    int mine = 1000 + rank, was = -1, got = -1;
    MPI_Rput(&mine, 1, MPI_INT, rank, 0, 1, MPI_INT, win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Win_flush(rank, win);
    MPI_Rget(&got, 1, MPI_INT, rank, 0, 1, MPI_INT, win, &requests[0]);
    MPI_Raccumulate(&mine, 1, MPI_INT, rank, 1, 1, MPI_INT, MPI_REPLACE, win, &requests[1]);
    MPI_Rget_accumulate(&mine, 1, MPI_INT, &was, 1, MPI_INT, rank, 2, 1, MPI_INT, MPI_MAX, win, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(win);
    say("requests: %d %d, %d", got, was, requests[2] == MPI_REQUEST_NULL);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    say("memory: %s", list(memory, 3));
    MPI_Win_unlock(rank, win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
