/* A histogram that all ranks add to by accesses to windows, and a queue of numbers drawn from a counter. */
#include "say.h"

enum { BINS = 16, DRAWS = 200 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int per = (BINS + size - 1) / size, *bins, *queue;
    MPI_Win win, counter;
    MPI_Win_allocate(BINS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &bins, &win);
    for (int i = 0; i < per; i++) bins[i] = 0;
    MPI_Win_fence(0, win);
    unsigned seed = 99 + rank;
    for (int i = 0; i < DRAWS; i++) {
        seed = seed * 1103515245 + 12345;
        int bin = (seed >> 16) % BINS, one = 1;
        MPI_Accumulate(&one, 1, MPI_INT, bin / per, bin % per, 1, MPI_INT, MPI_SUM, win);
    }
    MPI_Win_fence(0, win);
    say("bins: %s", list(bins, per));
    int sum = 0, all;
    for (int i = 0; i < per; i++) sum += bins[i];
    MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("all: %d", all);
    MPI_Win_free(&win);
    MPI_Win_allocate(rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &queue, &counter);
    if (rank == 0) *queue = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    long squares = 0, total;
    for (;;) {
        int one = 1, task;
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, counter);
        MPI_Fetch_and_op(&one, &task, MPI_INT, 0, 0, MPI_SUM, counter);
        MPI_Win_unlock(0, counter);
        if (task >= 50) break;
        squares += (long)task * task;
    }
    MPI_Reduce(&squares, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) say("squares: %ld", total);
    MPI_Win_free(&counter);
    MPI_Finalize();
    return 0;
}
