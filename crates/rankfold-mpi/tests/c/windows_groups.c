/* Post, start, complete, wait: epochs of some origins and some targets. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int left = (rank + size - 1) % size, right = (rank + 1) % size, memory[4] = {-1, -1, -1, -1}, there;
    MPI_Group world, from, to, others;
    MPI_Win win;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &left, &from);
    MPI_Group_incl(world, 1, &right, &to);
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    for (int turn = 0; turn < 3; turn++) {
        int out[2] = {rank, turn};
        MPI_Win_post(from, 0, win);
        MPI_Win_start(to, 0, win);
        MPI_Put(out, 2, MPI_INT, right, turn, 2, MPI_INT, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        say("ring: %s", list(memory, 4));
    }
    /* Rank 0 exposes its memory to all others, and tests for the end. */
    MPI_Group_excl(world, 1, (int[]){0}, &others);
    int sum = 0;
    if (rank == 0) {
        MPI_Group first;
        MPI_Win_post(others, MPI_MODE_NOSTORE, win);
        do MPI_Win_test(win, &there);
        while (!there);
        for (int i = 0; i < 4; i++) sum += memory[i];
        say("all put: %s", list(memory, 4));
    } else {
        MPI_Group first;
        MPI_Group_incl(world, 1, (int[]){0}, &first);
        MPI_Win_start(first, 0, win);
        int mine = 7 * rank;
        if (rank <= 4) MPI_Put(&mine, 1, MPI_INT, 0, rank - 1, 1, MPI_INT, win);
        MPI_Win_complete(win);
        MPI_Group_free(&first);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* A rank is origin and target of itself. */
    MPI_Group self;
    MPI_Group_incl(world, 1, &rank, &self);
    MPI_Win_post(self, 0, win);
    MPI_Win_start(self, 0, win);
    int again = 5;
    MPI_Accumulate(&again, 1, MPI_INT, rank, 3, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    say("self: %d", memory[3]);
    MPI_Win_free(&win);
    MPI_Group_free(&world), MPI_Group_free(&from), MPI_Group_free(&to), MPI_Group_free(&self);
    if (others != MPI_GROUP_EMPTY) MPI_Group_free(&others);
    MPI_Finalize();
    return 0;
}
