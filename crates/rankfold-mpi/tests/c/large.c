/* Long messages and long collectives, of every path that depends on the length. */
#include "say.h"

static unsigned sum_of(const int *at, int n) {
    unsigned sum = 0;
    for (int i = 0; i < n; i++) sum = sum * 31 + at[i];
    return sum;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int n = 1; n <= 1 << 18; n *= 8) {
        int *out = malloc(n * sizeof(int)), *in = malloc(n * sizeof(int) * size);
        for (int i = 0; i < n; i++) out[i] = rank * 7 + i;
        MPI_Request request;
        MPI_Irecv(in, n, MPI_INT, left, 0, MPI_COMM_WORLD, &request);
        MPI_Send(out, n, MPI_INT, right, 0, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        say("%d ints: %u", n, sum_of(in, n));
        MPI_Allreduce(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        say("all-reduce: %u", sum_of(in, n));
        MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_INT, MPI_BXOR, MPI_COMM_WORLD);
        say("by bits: %u", sum_of(out, n));
        for (int i = 0; i < n; i++) out[i] = rank + i;
        MPI_Allgather(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
        say("all-gather: %u", sum_of(in, n * size));
        MPI_Bcast(out, n, MPI_INT, size - 1, MPI_COMM_WORLD);
        say("broadcast: %u", sum_of(out, n));
        MPI_Reduce(in, out, n, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0) say("reduce: %u", sum_of(out, n));
        if (n >= size) {
            int part = n / size;
            for (int i = 0; i < n; i++) out[i] = 1000 * rank + i;
            MPI_Alltoall(out, part, MPI_INT, in, part, MPI_INT, MPI_COMM_WORLD);
            say("all-to-all: %u", sum_of(in, part * size));
            MPI_Reduce_scatter_block(out, in, part, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            say("reduce-scatter: %u", sum_of(in, part));
            MPI_Scatter(out, part, MPI_INT, in, part, MPI_INT, 0, MPI_COMM_WORLD);
            say("scatter: %u", sum_of(in, part));
        }
        MPI_Scan(out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        say("scan: %u", sum_of(in, n));
        free(out), free(in);
    }
    MPI_Finalize();
    return 0;
}
