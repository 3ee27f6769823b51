/* The operations as one writes them by hand for OpenMP threads: they meet, each does its share of the
 * work straight on all vectors, and they meet again. No messages.
 *
 * With -DBY_HAND=1 they meet at a barrier of ten lines instead of OpenMP's.
 *
 *   OMP_NUM_THREADS=2 OMP_PLACES={0},{1} openmp      reads questions, answers each; its threads may spin
 *                                                    in between, so ask one and close */
#define _GNU_SOURCE
#include "measure.h"

#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef BY_HAND
#define BY_HAND 0
#endif
enum { MOST = 1024, LINE = 16 };

static float *inputs[MOST], *outputs[MOST];
static double told, *times_of[MOST];
static size_t filled; /* the elements of the inputs of regions */
static int whole; /* the threads' regions are timed by the first thread alone */

int offers(enum kind kind, enum before before) {
    int regions = kind == RUN || kind == RUN_ALL_REDUCE;
    return kind != P2P && kind != P2P_BOUNCE && kind != STREAM && kind != WINDOW && !(BY_HAND && regions) && sensible(kind, before);
}

#if BY_HAND
static int crowded; /* threads that have no CPU of their own yield */

static void relax(void) {
    if (crowded) sched_yield();
#ifdef __x86_64__
    else __builtin_ia32_pause();
#endif
}

/* What one writes in ten lines: a counter, and a number that the last thread to come increments. */
static _Alignas(64) atomic_int come;
static _Alignas(64) atomic_int passed;

void meet(void) {
    int before = atomic_load_explicit(&passed, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&come, 1, memory_order_acq_rel) + 1 == omp_get_num_threads()) {
        atomic_store_explicit(&come, 0, memory_order_relaxed);
        atomic_store_explicit(&passed, before + 1, memory_order_release);
    } else
        while (atomic_load_explicit(&passed, memory_order_acquire) == before) relax();
}
#else
void meet(void) {
    if (whole) return;
    #pragma omp barrier
}
#endif

double tell(double number) {
    if (whole) return number;
    if (omp_get_thread_num() == 0) told = number;
    meet();
    number = told;
    meet();
    return number;
}

void latest(double *times, size_t count) {
    if (whole) return;
    times_of[omp_get_thread_num()] = times;
    meet();
    if (omp_get_thread_num() == 0)
        for (int r = 1; r < omp_get_num_threads(); r++)
            for (size_t i = 0; i < count; i++)
                if (times_of[r][i] > times[i]) times[i] = times_of[r][i];
    meet();
}

/* sums[lo..hi] of all vectors, shifted where a share is somewhere else in the result. */
static void fold(float *restrict sums, size_t lo, size_t hi, int ranks) {
    const float *a = inputs[0] + lo, *b = inputs[1] + lo;
    for (size_t j = 0; j < hi - lo; j++) sums[j] = a[j] + b[j];
    for (int r = 2; r < ranks; r++)
        for (size_t j = 0; j < hi - lo; j++) sums[j] += inputs[r][lo + j];
}

/* The sums of the first vectors. */
static void fold_first(float *restrict sums, size_t n, int count) {
    if (count > 1) fold(sums, 0, n, count);
    else memcpy(sums, inputs[0], n * sizeof(float));
}

/* The same onto the first vector itself. */
static void fold_inplace(size_t lo, size_t hi, int ranks) {
    float *a = inputs[0];
    for (int r = 1; r < ranks; r++)
        for (size_t j = lo; j < hi; j++) a[j] += inputs[r][j];
}

static void spread(float *const *vectors, size_t lo, size_t hi, int from, int ranks) {
    for (int r = 0; r < ranks; r++)
        if (r != from) memcpy(vectors[r] + lo, vectors[from] + lo, (hi - lo) * sizeof(float));
}

/* Two ranks in place: each sum is stored twice from the register. */
static void fold_pair(size_t lo, size_t hi) {
    float *restrict a = inputs[0], *restrict b = inputs[1];
    for (size_t j = lo; j < hi; j++) a[j] = b[j] = a[j] + b[j];
}

static void work(struct member *m) {
    int me = m->rank, P = m->ranks;
    size_t n = m->count, bytes = n * sizeof(float);
    size_t share = ((n + (size_t)P - 1) / (size_t)P + LINE - 1) / LINE * LINE;
    size_t lo = share * (size_t)me < n ? share * (size_t)me : n, hi = lo + share < n ? lo + share : n;
    switch (m->kind) {
    case ALL_REDUCE:
        fold(m->output + lo, lo, hi, P);
        spread(outputs, lo, hi, me, P);
        break;
    case ALL_REDUCE_INPLACE:
        if (P == 2) {
            fold_pair(lo, hi);
            break;
        }
        fold_inplace(lo, hi, P);
        spread(inputs, lo, hi, 0, P);
        break;
    case REDUCE: fold(outputs[0] + lo, lo, hi, P); break;
    case REDUCE_INPLACE: fold_inplace(lo, hi, P); break;
    case BROADCAST:
        if (me) memcpy(m->input, inputs[0], bytes);
        break;
    case REDUCE_SCATTER: fold(m->output, n * (size_t)me, n * (size_t)(me + 1), P); break;
    case ALL_GATHER:
        for (int r = 0; r < P; r++) memcpy(m->output + n * (size_t)r, inputs[r], bytes);
        break;
    case SCAN:
        fold_first(m->output, n, me + 1);
        break;
    case ALL_TO_ALL:
        for (int r = 0; r < P; r++) memcpy(m->output + n * (size_t)r, inputs[r] + n * (size_t)me, bytes);
        break;
    case SCATTER: memcpy(m->output, inputs[0] + n * (size_t)me, bytes); break;
    default: break;
    }
}

/* The threads' vectors, before their first region. */
static void fill_inputs(size_t n) {
    #pragma omp parallel
    {
        int me = omp_get_thread_num();
        free(inputs[me]);
        inputs[me] = malloc((n + 1) * sizeof(float));
        for (size_t j = 0; j < n; j++) inputs[me][j] = (float)(me + 2 + (int)(j % 8));
    }
    filled = n;
}

/* OpenMP's own reduction. */
static void region(float *sum, size_t n) {
    if (filled != n) fill_inputs(n);
    memset(sum, 0, n * sizeof(float));
    #pragma omp parallel reduction(+ : sum[:n])
    {
        const float *mine = inputs[omp_get_thread_num()];
        for (size_t j = 0; j < n; j++) sum[j] += mine[j];
    }
}

void call(struct member *m) {
    if (m->kind == RUN_ALL_REDUCE) {
        region(m->output, m->count);
        return;
    }
    if (m->kind == RUN) {
        #pragma omp parallel
        __asm__ volatile("" ::: "memory");
        return;
    }
    inputs[m->rank] = m->input;
    outputs[m->rank] = m->output;
    meet();
    if (m->kind == BARRIER) return;
    work(m);
    meet();
}

int main(void) {
    char line[256], answer[256];
#if BY_HAND
    crowded = getenv("OMP_PLACES") == NULL;
#endif
    while (fgets(line, sizeof line, stdin)) {
        struct question q;
        if (!parse(line, &q)) return 2;
        whole = q.kind == RUN || q.kind == RUN_ALL_REDUCE;
        if (whole) measure(&q, 0, omp_get_max_threads(), answer, sizeof answer);
        else {
            #pragma omp parallel
            {
                char mine[256];
                measure(&q, omp_get_thread_num(), omp_get_num_threads(), mine, sizeof mine);
                if (omp_get_thread_num() == 0) memcpy(answer, mine, sizeof mine);
            }
        }
        puts(answer);
        fflush(stdout);
    }
    return 0;
}
