/* Short calls of MPI between two ranks: a ping-pong and all-reduces. Any MPI runs it; `latency` beside it compares them.
 *
 *   LATENCY_CPUS=0,1        rank i runs on the i-th of these CPUs; without it where the system likes */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARM = 20000, BLOCKS = 7 };

static void pin(int rank) {
    char *list = getenv("LATENCY_CPUS");
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int i = 0; list && *list; i++) {
        char *end;
        size_t cpu = strtoul(list, &end, 10);
        if (i == rank) {
            CPU_SET(cpu, &set);
            sched_setaffinity(0, sizeof set, &set);
        }
        list = *end ? end + 1 : end;
    }
}

static int rank;
/* Two halves: what is sent, and where messages go. */
enum { HALF = 2 << 20 };
static char *buffer;

static void send(int bytes, int calls) {
    char *into = buffer + HALF;
    for (int k = 0; k < calls; k++) {
        if (rank == 0) {
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(into, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(into, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
}

static void all_reduce(int bytes, int calls) {
    double *in = (double *)buffer, *out = (double *)(buffer + HALF);
    for (int k = 0; k < calls; k++) {
        MPI_Allreduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        in[0] = out[0] * 0.5;
    }
}

static void barrier(int bytes, int calls) {
    (void)bytes;
    for (int k = 0; k < calls; k++) MPI_Barrier(MPI_COMM_WORLD);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the median over blocks of calls, in nanoseconds: of one way of a ping-pong, or of one call. */
static void measure(const char *name, void (*call)(int, int), int bytes, int calls, int ways) {
    double times[BLOCKS];
    memset(buffer, 0, 2 * HALF);
    call(bytes, calls / 10 < WARM ? calls / 10 : WARM);
    for (int block = 0; block < BLOCKS; block++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        call(bytes, calls);
        times[block] = (MPI_Wtime() - begin) * 1e9 / calls / ways;
    }
    qsort(times, BLOCKS, sizeof *times, ascending);
    if (rank == 0) printf("%s %d %.1f\n", name, bytes, times[BLOCKS / 2]);
}

int main(int argc, char **argv) {
    /* Fewer calls for what counts instructions. */
    int calls = argc > 1 ? atoi(argv[1]) : 50000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pin(rank);
    buffer = aligned_alloc(4096, 2 * HALF);
    measure("send", send, 8, calls, 2);
    measure("all_reduce", all_reduce, 8, calls, 1);
    measure("barrier", barrier, 0, calls, 1);
    measure("send", send, 1 << 10, calls, 2);
    measure("send", send, 1 << 16, calls / 50 + 1, 2);
    measure("send", send, 1 << 20, calls / 1000 + 1, 2);
    measure("all_reduce", all_reduce, 1 << 10, calls / 4 + 1, 1);
    free(buffer);
    MPI_Finalize();
    return 0;
}
