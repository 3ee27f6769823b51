/* Persistent collectives: not on mpich, whose version 4.0 starts them once only. */
#include "say.h"
#ifdef OPEN_MPI
#include <mpi-ext.h>
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Reduce_init MPIX_Reduce_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Scan_init MPIX_Scan_init
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Reduce_scatter_block_init MPIX_Reduce_scatter_block_init
#endif

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Request all[8], one;
    int n = 0, given, sum, most, mine, part, table[64], scan, gathered[64], back[64], out[64];
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &all[n++]);
    MPI_Bcast_init(&given, 1, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &all[n++]);
    MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &all[n++]);
    MPI_Reduce_init(&mine, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &all[n++]);
    MPI_Scatter_init(table, 1, MPI_INT, &part, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &all[n++]);
    MPI_Scan_init(&mine, &scan, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &all[n++]);
    MPI_Allgather_init(&mine, 1, MPI_INT, gathered, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &all[n++]);
    MPI_Alltoall_init(out, 1, MPI_INT, back, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &all[n++]);
    for (int turn = 0; turn < 3; turn++) {
        given = rank == size - 1 ? 50 + turn : -1, mine = rank + 10 * turn, sum = scan = part = -1, most = -1;
        for (int i = 0; i < size; i++) table[i] = 7 * i + turn, out[i] = 100 * rank + i + turn;
        MPI_Startall(n, all);
        MPI_Waitall(n, all, MPI_STATUSES_IGNORE);
        say("%d: %d %d %d %d %d", turn, given, sum, rank ? -1 : most, part, scan);
        say("%d: %s; %s", turn, list(gathered, size), list(back, size));
    }
    for (int i = 0; i < n; i++) MPI_Request_free(&all[i]);
    /* Made in one order, and started in different ones. */
    given = rank == 0 ? 42 : -1;
    MPI_Bcast_init(&given, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &all[0]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &all[1]);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Start(&all[rank % 2]);
        MPI_Start(&all[1 - rank % 2]);
        MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&all[0]);
    MPI_Request_free(&all[1]);
    say("in any order: %d", given);
    int block, blocks[64];
    for (int i = 0; i < size; i++) blocks[i] = rank + i;
    MPI_Reduce_scatter_block_init(blocks, &block, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &one);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Start(&one);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
        say("block %d: %d", turn, block);
        for (int i = 0; i < size; i++) blocks[i] *= 2;
    }
    MPI_Request_free(&one);
    say("freed: %d", one == MPI_REQUEST_NULL);
    MPI_Finalize();
    return 0;
}
