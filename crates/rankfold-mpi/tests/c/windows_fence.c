/* Windows of the program's memory, accessed between fences. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, memory[16], in[16];
    MPI_Win win;
    for (int i = 0; i < 16; i++) memory[i] = 100 * rank + i;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    int out[2] = {rank, -rank};
    MPI_Put(out, 2, MPI_INT, right, 3, 2, MPI_INT, win);
    MPI_Win_fence(0, win);
    say("after put: %s", list(memory, 8));
    memset(in, 255, sizeof in);
    MPI_Get(in, 4, MPI_INT, left, 2, 4, MPI_INT, win);
    MPI_Win_fence(0, win);
    say("after get: %s", list(in, 5));
    int one = rank + 1;
    MPI_Accumulate(&one, 1, MPI_INT, 0, 10, 1, MPI_INT, MPI_SUM, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 11, 1, MPI_INT, MPI_MAX, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 12, 1, MPI_INT, MPI_PROD, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 13, 1, MPI_INT, MPI_BXOR, win);
    MPI_Win_fence(0, win);
    say("after accumulate: %s", list(memory + 10, 4));
    MPI_Win_fence(0, win);
    MPI_Put(out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    MPI_Put(out, 0, MPI_INT, right, 0, 0, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    say("unchanged: %s", list(memory, 4));
    MPI_Win_free(&win);
    say("freed: %d", win == MPI_WIN_NULL);

    /* Parts of other sizes and units. */
    double numbers[8];
    for (int i = 0; i < 8; i++) numbers[i] = rank + i / 8.0;
    MPI_Win_create(numbers, rank % 2 ? sizeof numbers : 4 * sizeof(double), rank % 2 ? 8 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    double got[4] = {-1, -1, -1, -1};
    MPI_Get(got, 2, MPI_DOUBLE, right, right % 2 ? 2 : 16, 2, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    say("units: %g %g %g", got[0], got[1], got[2]);
    MPI_Win_free(&win);

    /* A window without memory at some ranks. */
    MPI_Win_create(rank == 0 ? memory : NULL, rank == 0 ? sizeof memory : 0, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    int me = rank * rank;
    if (rank < 16) MPI_Put(&me, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    if (rank == 0) say("squares: %s", list(memory, size < 16 ? size : 16));
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
