/* MPI_IN_PLACE in every collective that takes it. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int root = size / 2, all[64], counts[64], places[64], room = 0, many[256];
    for (int r = 0; r < size; r++) counts[r] = 1 + r % 2, places[r] = room, room += counts[r];
    for (int r = 0; r < size; r++) all[r] = r == rank ? 100 + rank : -1;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD);
    say("all-gather: %s", list(all, size));
    memset(many, 255, sizeof many);
    for (int i = 0; i < counts[rank]; i++) many[places[rank] + i] = 10 * rank + i;
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, many, counts, places, MPI_INT, MPI_COMM_WORLD);
    say("all-gatherv: %s", list(many, room));
    int mine = 7 * rank;
    memset(all, 255, sizeof all);
    if (rank == root) all[rank] = mine;
    if (rank == root) MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, root, MPI_COMM_WORLD);
    else MPI_Gather(&mine, 1, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    if (rank == root) say("gather: %s", list(all, size));
    for (int r = 0; r < size; r++) all[r] = 3 * r;
    mine = -1;
    if (rank == root) MPI_Scatter(all, 1, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root, MPI_COMM_WORLD);
    else MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, &mine, 1, MPI_INT, root, MPI_COMM_WORLD);
    say("scatter: %d", mine);
    for (int i = 0; i < 64; i++) all[i] = 100 * rank + i;
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 2, MPI_INT, MPI_COMM_WORLD);
    say("all-to-all: %s", list(all, 2 * size));
    int two[2] = {rank, -rank};
    MPI_Allreduce(MPI_IN_PLACE, two, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("all-reduce: %s", list(two, 2));
    two[0] = rank + 1, two[1] = 5;
    if (rank == root) MPI_Reduce(MPI_IN_PLACE, two, 2, MPI_INT, MPI_PROD, root, MPI_COMM_WORLD);
    else MPI_Reduce(two, NULL, 2, MPI_INT, MPI_PROD, root, MPI_COMM_WORLD);
    say("reduce: %s", list(two, 2));
    two[0] = rank + 1, two[1] = 1;
    MPI_Scan(MPI_IN_PLACE, two, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("scan: %s", list(two, 2));
    two[0] = rank + 1, two[1] = 1;
    MPI_Exscan(MPI_IN_PLACE, two, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank > 0) say("exscan: %s", list(two, 2));
    for (int i = 0; i < 64; i++) all[i] = rank + i;
    MPI_Reduce_scatter_block(MPI_IN_PLACE, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("block: %d", all[0]);
    for (int i = 0; i < 64; i++) all[i] = rank + i;
    MPI_Reduce_scatter(MPI_IN_PLACE, all, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("blocks: %s", list(all, counts[rank]));
    MPI_Finalize();
    return 0;
}
