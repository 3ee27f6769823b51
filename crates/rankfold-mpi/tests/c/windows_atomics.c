/* Atomic accesses: fetch and operate, compare and swap, get and accumulate, of several datatypes. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    long *memory;
    MPI_Win win;
    MPI_Win_allocate(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < 8; i++) memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);

    /* Tickets: each number is drawn once. */
    long one = 1, ticket, sum = 0, all = 0, most = 0, drawn = 0;
    for (int i = 0; i < 25; i++) {
        MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        sum += ticket;
        if (ticket > drawn) drawn = ticket;
    }
    MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&drawn, &most, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
    say("tickets: %ld, most %ld", all, most);
    long now = -1;
    MPI_Fetch_and_op(NULL, &now, MPI_LONG, 0, 0, MPI_NO_OP, win);
    MPI_Win_flush(0, win);
    say("then: %ld", now);

    /* A lock of the program's own. */
    for (int i = 0; i < 5; i++) {
        long zero = 0, me = rank + 1, was, value;
        do {
            MPI_Compare_and_swap(&me, &zero, &was, MPI_LONG, 0, 1, win);
            MPI_Win_flush(0, win);
        } while (was != 0);
        MPI_Get(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        value += me;
        MPI_Put(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win);
        MPI_Win_flush(0, win);
        MPI_Compare_and_swap(&zero, &me, &was, MPI_LONG, 0, 1, win);
        MPI_Win_flush(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Fetch_and_op(NULL, &now, MPI_LONG, 0, 2, MPI_NO_OP, win);
    MPI_Win_flush(0, win);
    say("under the lock: %ld", now);
    MPI_Barrier(MPI_COMM_WORLD);

    long add[2] = {rank + 1, 10 * (rank + 1)}, before[2] = {-1, -1}, after[2];
    MPI_Get_accumulate(add, 2, MPI_LONG, before, 2, MPI_LONG, rank, 3, 2, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush(rank, win);
    MPI_Get_accumulate(NULL, 0, MPI_LONG, after, 2, MPI_LONG, rank, 3, 2, MPI_LONG, MPI_NO_OP, win);
    MPI_Win_flush(rank, win);
    say("get and accumulate: %ld %ld, %ld %ld", before[0], before[1], after[0], after[1]);
    double half = 0.5, number = -1;
    MPI_Accumulate(&half, 1, MPI_DOUBLE, size - 1, 5, 1, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_flush(size - 1, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get(&number, 1, MPI_DOUBLE, size - 1, 5, 1, MPI_DOUBLE, win);
    MPI_Win_flush(size - 1, win);
    say("halves: %g", number);
    unsigned char bits = 1 << (rank % 8), seen = 0;
    MPI_Fetch_and_op(&bits, &seen, MPI_UNSIGNED_CHAR, 0, 6, MPI_BOR, win);
    MPI_Win_flush(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Fetch_and_op(&bits, &seen, MPI_UNSIGNED_CHAR, 0, 6, MPI_NO_OP, win);
    MPI_Win_unlock_all(win);
    say("bits: %d", seen);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
