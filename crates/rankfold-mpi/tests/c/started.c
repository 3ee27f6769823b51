/* Started collectives: several at a time, in one order on all ranks, completed in another. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Request requests[16];
    int one = rank + 1, sum = -1, most = -1, scan = -1, before = 0, root = size - 1;
    int all[64], mine[64], back[64], part[2] = {-1, -1}, many[128], block = -1, given = rank == root ? 77 : -1, n = 0;
    memset(all, 255, sizeof all), memset(back, 255, sizeof back);
    for (int i = 0; i < 64; i++) mine[i] = 100 * rank + i;
    for (int i = 0; i < 128; i++) many[i] = i;
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[n++]);
    MPI_Ibcast(&given, 1, MPI_INT, root, MPI_COMM_WORLD, &requests[n++]);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[n++]);
    MPI_Ireduce(&one, &most, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD, &requests[n++]);
    MPI_Iscan(&one, &scan, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[n++]);
    MPI_Iexscan(&one, &before, 1, MPI_INT, MPI_PROD, MPI_COMM_WORLD, &requests[n++]);
    MPI_Iallgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[n++]);
    MPI_Ialltoall(mine, 1, MPI_INT, back, 1, MPI_INT, MPI_COMM_WORLD, &requests[n++]);
    MPI_Iscatter(many, 2, MPI_INT, part, 2, MPI_INT, 0, MPI_COMM_WORLD, &requests[n++]);
    MPI_Ireduce_scatter_block(mine, &block, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[n++]);
    for (int i = n - 1; i >= 0; i--) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    say("%d %d %d %d %d", given, sum, rank ? -1 : most, scan, rank ? before : 0);
    say("%s; %s; %s; %d", list(all, size), list(back, size), list(part, 2), block);
    int counts[64], places[64], room = 0, v[300];
    for (int r = 0; r < size; r++) counts[r] = r % 3, places[r] = room, room += counts[r];
    memset(v, 255, sizeof v);
    n = 0;
    MPI_Iallgatherv(mine, counts[rank], MPI_INT, v, counts, places, MPI_INT, MPI_COMM_WORLD, &requests[n++]);
    MPI_Igather(&one, 1, MPI_INT, all, 1, MPI_INT, root, MPI_COMM_WORLD, &requests[n++]);
    int v2[64];
    memset(v2, 255, sizeof v2);
    MPI_Igatherv(mine, counts[rank], MPI_INT, v2, counts, places, MPI_INT, root, MPI_COMM_WORLD, &requests[n++]);
    int v3[4] = {-1, -1, -1, -1};
    MPI_Iscatterv(many, counts, places, MPI_INT, v3, counts[rank], MPI_INT, 0, MPI_COMM_WORLD, &requests[n++]);
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    say("%s; %s; %s", list(v, room), rank == root ? list(v2, room) : "", list(v3, 3));
    int flag = 0, polls = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    while (!flag) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE), polls++;
    say("polled: %d, %d", polls > 0, requests[0] == MPI_REQUEST_NULL);
    MPI_Finalize();
    return 0;
}
