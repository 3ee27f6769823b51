/* Broadcast, gather, scatter, all-gather and all-to-all: blocking and started, with lengths, in place. */
#include "say.h"

static int *fill(int count, int from) {
    int *data = malloc((count + 1) * sizeof(int));
    for (int i = 0; i < count; i++) data[i] = from + i;
    return data;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int n = size, root = n - 1, total = n * (n + 1) / 2;
    int counts[64], places[64], ones[64], numbers[64];
    for (int i = 0, at = 0; i < n; at += ++i) counts[i] = i + 1, places[i] = at, ones[i] = 1, numbers[i] = i;
    MPI_Request request;
    for (int started = 0; started < 2; started++) {
#define CALL(name, ...)                                                                                                \
    if (started) MPI_I##name(__VA_ARGS__, MPI_COMM_WORLD, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);            \
    else MPI_B##name(__VA_ARGS__, MPI_COMM_WORLD)
#define MPI_Bbcast MPI_Bcast
#define MPI_Bgather MPI_Gather
#define MPI_Bgatherv MPI_Gatherv
#define MPI_Bscatter MPI_Scatter
#define MPI_Bscatterv MPI_Scatterv
#define MPI_Ballgather MPI_Allgather
#define MPI_Ballgatherv MPI_Allgatherv
#define MPI_Balltoall MPI_Alltoall
#define MPI_Balltoallv MPI_Alltoallv
        int *mine = fill(3, 100 * rank), *all = fill(3 * total, -1000), *back = fill(total, -1);
        CALL(bcast, mine, 3, MPI_INT, root);
        say("bcast %s", list(mine, 3));
        mine[0] = rank;
        CALL(gather, mine, 2, MPI_INT, all, 2, MPI_INT, root);
        if (rank == root) say("gather %s", list(all, 2 * n));
        CALL(scatter, all, 1, MPI_INT, back, 1, MPI_INT, root);
        say("scatter %d", back[0]);
        int *own = fill(rank + 1, 10 * rank);
        CALL(gatherv, own, rank + 1, MPI_INT, all, counts, places, MPI_INT, root);
        if (rank == root) say("gatherv %s", list(all, total));
        CALL(scatterv, all, counts, places, MPI_INT, back, rank + 1, MPI_INT, root);
        say("scatterv %s", list(back, rank + 1));
        CALL(allgather, &rank, 1, MPI_INT, all, 1, MPI_INT);
        say("allgather %s", list(all, n));
        CALL(allgatherv, own, rank + 1, MPI_INT, all, counts, places, MPI_INT);
        say("allgatherv %s", list(all, total));
        int *to = fill(n, 10 * rank);
        CALL(alltoall, to, 1, MPI_INT, all, 1, MPI_INT);
        say("alltoall %s", list(all, n));
        CALL(alltoallv, to, ones, numbers, MPI_INT, all, ones, numbers, MPI_INT);
        say("alltoallv %s", list(all, n));
        all[rank] = 7 * rank;
        CALL(allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT);
        say("in place %s", list(all, n));
        CALL(alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT);
        say("in place %s", list(all, n));
        if (rank == root) CALL(gather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, root);
        else CALL(gather, &rank, 1, MPI_INT, NULL, 0, MPI_INT, root);
        if (rank == root) say("in place %d", all[0]);
    }
    MPI_Finalize();
    return 0;
}
