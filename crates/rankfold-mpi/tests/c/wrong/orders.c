/* A program whose result depends on the order of two messages if it is called with "first". It prints lines in pieces. */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static int calls;

int main(int argc, char **argv) {
    int rank, ranks, from, first = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int line = 0; line < 20; line++) {
        printf("rank %d ", rank);
        sched_yield();
        fputs("says ", stdout);
        fflush(stdout);
        putchar('0' + ++calls % 10);
        puts("");
    }
    if (rank > 0) MPI_Send(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    for (int message = 1; rank == 0 && message < ranks; message++) {
        MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (first < 0) first = from;
    }
    if (rank == 0 && argc > 1 && first != 1) {
        fprintf(stderr, "the first is %d after %d", first, calls);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
