/* The operations as any MPI library has them.
 *
 *   mpirun -n 2 mpi DIR     every rank reads its questions from DIR/<rank>, a pipe with a name, so that a
 *                           rank that has nothing to do sleeps and leaves the CPU to the next library;
 *                           rank 0 writes "ready" and the answers to DIR/answers
 *   RIVALS_CPUS=0,1         rank i runs on the i-th of these CPUs; without it where the system likes */
#define _GNU_SOURCE
#include "measure.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Comm all = MPI_COMM_WORLD;

int offers(enum kind kind, enum before before) {
    return kind != RUN && kind != RUN_ALL_REDUCE && sensible(kind, before);
}

static void ping_pong(struct member *m, float *into) {
    int n = (int)m->count;
    if (m->rank == 0) {
        MPI_Send(m->input, n, MPI_FLOAT, 1, 0, all);
        MPI_Recv(into, n, MPI_FLOAT, 1, 0, all, MPI_STATUS_IGNORE);
    } else if (m->rank == 1) {
        MPI_Recv(into, n, MPI_FLOAT, 0, 0, all, MPI_STATUS_IGNORE);
        MPI_Send(m->input, n, MPI_FLOAT, 0, 0, all);
    }
}

/* Rank 0 sends messages in a row, rank 1 tells when it has them all. */
static void stream(struct member *m) {
    int n = (int)m->count;
    float done = 0;
    for (int k = 0; k < MESSAGES && m->rank < 2; k++) {
        if (m->rank == 0) MPI_Send(m->input + (size_t)k * m->count, n, MPI_FLOAT, 1, 0, all);
        else MPI_Recv(m->output + (size_t)k * m->count, n, MPI_FLOAT, 0, 0, all, MPI_STATUS_IGNORE);
    }
    if (m->rank == 0) MPI_Recv(&done, 1, MPI_FLOAT, 1, 1, all, MPI_STATUS_IGNORE);
    if (m->rank == 1) MPI_Send(&done, 1, MPI_FLOAT, 0, 1, all);
}

/* The same, all started before one is waited for. */
static void window(struct member *m) {
    int n = (int)m->count;
    float done = 0;
    MPI_Request open[MESSAGES];
    if (m->rank > 1) return;
    for (int k = 0; k < MESSAGES; k++) {
        if (m->rank == 0) MPI_Isend(m->input + (size_t)k * m->count, n, MPI_FLOAT, 1, 0, all, &open[k]);
        else MPI_Irecv(m->output + (size_t)k * m->count, n, MPI_FLOAT, 0, 0, all, &open[k]);
    }
    MPI_Waitall(MESSAGES, open, MPI_STATUSES_IGNORE);
    if (m->rank == 0) MPI_Recv(&done, 1, MPI_FLOAT, 1, 1, all, MPI_STATUS_IGNORE);
    else MPI_Send(&done, 1, MPI_FLOAT, 0, 1, all);
}

void call(struct member *m) {
    int n = (int)m->count;
    float *in = m->input, *out = m->output;
    switch (m->kind) {
    case BARRIER: MPI_Barrier(all); break;
    case P2P: ping_pong(m, out); break;
    case P2P_BOUNCE: ping_pong(m, in); break;
    case ALL_REDUCE: MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, all); break;
    case ALL_REDUCE_INPLACE: MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_FLOAT, MPI_SUM, all); break;
    case REDUCE: MPI_Reduce(in, out, n, MPI_FLOAT, MPI_SUM, 0, all); break;
    case REDUCE_INPLACE: MPI_Reduce(m->rank ? in : MPI_IN_PLACE, in, n, MPI_FLOAT, MPI_SUM, 0, all); break;
    case BROADCAST: MPI_Bcast(in, n, MPI_FLOAT, 0, all); break;
    case REDUCE_SCATTER: MPI_Reduce_scatter_block(in, out, n, MPI_FLOAT, MPI_SUM, all); break;
    case ALL_GATHER: MPI_Allgather(in, n, MPI_FLOAT, out, n, MPI_FLOAT, all); break;
    case SCAN: MPI_Scan(in, out, n, MPI_FLOAT, MPI_SUM, all); break;
    case ALL_TO_ALL: MPI_Alltoall(in, n, MPI_FLOAT, out, n, MPI_FLOAT, all); break;
    case STREAM: stream(m); break;
    case WINDOW: window(m); break;
    case SCATTER: MPI_Scatter(in, n, MPI_FLOAT, out, n, MPI_FLOAT, 0, all); break;
    default: break;
    }
}

void meet(void) {
    MPI_Barrier(all);
}

double tell(double number) {
    MPI_Bcast(&number, 1, MPI_DOUBLE, 0, all);
    return number;
}

void latest(double *times, size_t count) {
    int rank;
    MPI_Comm_rank(all, &rank);
    MPI_Reduce(rank ? times : MPI_IN_PLACE, times, (int)count, MPI_DOUBLE, MPI_MAX, 0, all);
}

static void pin(int rank) {
    const char *list = getenv("RIVALS_CPUS");
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

static FILE *door(const char *folder, const char *name, const char *mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, mode);
    if (!f) {
        perror(path);
        MPI_Abort(all, 2);
    }
    return f;
}

int main(int argc, char **argv) {
    int rank, ranks;
    char line[256], answer[256], name[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &ranks);
    if (argc != 2) {
        fputs("usage: mpi DIR\n", stderr);
        MPI_Abort(all, 2);
    }
    be_first();
    pin(rank);
    snprintf(name, sizeof name, "%d", rank);
    FILE *questions = door(argv[1], name, "r"), *answers = rank ? NULL : door(argv[1], "answers", "w");
    meet();
    if (answers) fprintf(answers, "ready\n"), fflush(answers);
    while (fgets(line, sizeof line, questions)) {
        struct question q;
        if (!parse(line, &q)) break;
        measure(&q, rank, ranks, answer, sizeof answer);
        if (!answers) continue;
        fprintf(answers, "%s\n", answer);
        fflush(answers);
    }
    MPI_Finalize();
    return 0;
}
