/* Shared windows, which all ranks read and write directly, and dynamic ones. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm node;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    int *mine, *theirs, *first, unit, value;
    MPI_Aint bytes;
    MPI_Win win;
    MPI_Win_allocate_shared((rank + 1) * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &win);
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &first);
    say("first: %d %d %d", (int)bytes, unit, (int)(mine - first));
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i <= rank; i++) mine[i] = 10 * rank + i;
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    for (int other = 0; other < size; other++) {
        MPI_Win_shared_query(win, other, &bytes, &unit, &theirs);
        say("of %d: %d bytes, last %d", other, (int)bytes, theirs[bytes / sizeof(int) - 1]);
    }
    MPI_Barrier(node);
    int add = 1;
    MPI_Accumulate(&add, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(0, win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    say("sum: %d", first[0]);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);

    /* Some ranks have no part. */
    MPI_Win_allocate_shared(rank == 0 ? 64 : 0, 1, MPI_INFO_NULL, node, &mine, &win);
    MPI_Win_shared_query(win, 0, &bytes, &unit, &theirs);
    MPI_Win_fence(0, win);
    if (rank < 16) theirs[rank] = 3 * rank;
    MPI_Win_fence(0, win);
    int sum = 0;
    for (int i = 0; i < size && i < 16; i++) sum += theirs[i];
    say("one part: %d bytes, %d", (int)bytes, sum);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);

    /* Memory that is attached later. */
    int memory[4] = {rank, rank + 1, rank + 2, rank + 3}, in[2] = {-1, -1};
    MPI_Aint at, places[64];
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, sizeof memory);
    MPI_Get_address(&memory[1], &at);
    MPI_Allgather(&at, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD);
    int right = (rank + 1) % size;
    MPI_Win_fence(0, win);
    MPI_Get(in, 2, MPI_INT, right, places[right], 2, MPI_INT, win);
    MPI_Win_fence(0, win);
    value = -rank;
    MPI_Put(&value, 1, MPI_INT, right, MPI_Aint_add(places[right], 2 * sizeof(int)), 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    say("dynamic: %s, then %s", list(in, 2), list(memory, 4));
    MPI_Win_detach(win, memory);
    /* One access to parts that adjoin. */
    MPI_Win_attach(win, memory + 2, 2 * sizeof(int));
    MPI_Win_attach(win, memory, 2 * sizeof(int));
    MPI_Win_fence(0, win);
    MPI_Get(in, 2, MPI_INT, right, places[right], 2, MPI_INT, win);
    MPI_Win_fence(0, win);
    say("two parts: %s", list(in, 2));
    MPI_Win_detach(win, memory);
    MPI_Win_detach(win, memory + 2);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
