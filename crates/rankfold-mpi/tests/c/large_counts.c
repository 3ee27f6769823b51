/* Calls with counts of type MPI_Count, which there are since MPI-4: not on openmpi. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, in[64], out[64], many[256];
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Count n = 5, got, lb, extent;
    for (int i = 0; i < 64; i++) out[i] = 100 * rank + i, in[i] = -1;
    MPI_Irecv_c(in, 64, MPI_INT, left, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_c(out, n, MPI_INT, right, 0, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], &status);
    MPI_Get_count_c(&status, MPI_INT, &got);
    say("message: %s, %d", list(in, 5), (int)got);
    MPI_Isend_c(out, 3, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_c(in, 3, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Sendrecv_c(out + 1, 2, MPI_INT, right, 2, in + 3, 2, MPI_INT, left, 2, MPI_COMM_WORLD, &status);
    say("message: %s", list(in, 5));
    int given = rank == 0 ? 9 : -1, sum = -1, mine = rank + 1;
    MPI_Bcast_c(&given, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allreduce_c(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("broadcast %d, sum %d", given, sum);
    MPI_Reduce_c(&mine, &sum, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Scan_c(&mine, &given, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("most %d, scan %d", sum, given);
    MPI_Allgather_c(&mine, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    say("all-gather: %s", list(in, size));
    MPI_Count counts[64];
    MPI_Aint places[64];
    int room = 0;
    for (int r = 0; r < size; r++) counts[r] = 1 + r % 2, places[r] = room, room += counts[r];
    MPI_Allgatherv_c(out, counts[rank], MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    say("all-gatherv: %s", list(in, room));
    MPI_Alltoall_c(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    say("all-to-all: %s", list(in, size));
    MPI_Gatherv_c(out, counts[rank], MPI_INT, many, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == 0) say("gather: %s", list(many, room));
    MPI_Iallgather_c(&mine, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    say("started: %s", list(in, size));
    MPI_Type_size_c(MPI_DOUBLE, &n);
    MPI_Type_get_extent_c(MPI_DOUBLE, &lb, &extent);
    say("datatype: %d %d %d", (int)n, (int)lb, (int)extent);
    MPI_Win win;
    int memory[4] = {0};
    MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put_c(out, 2, MPI_INT, right, 1, 2, MPI_INT, win);
    MPI_Accumulate_c(&mine, 1, MPI_INT, right, 3, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    say("window: %s", list(memory, 4));
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
