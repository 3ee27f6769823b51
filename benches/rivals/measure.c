/* The loop that times a point, the numbers that go in, and the check of what comes out; see measure.h. */
#define _GNU_SOURCE
#include "measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const names[KINDS] = {
    "barrier", "run", "run_all_reduce", "p2p", "p2p_bounce", "all_reduce", "all_reduce_inplace", "reduce", "reduce_inplace",
    "broadcast", "reduce_scatter", "all_gather", "scatter", "scan", "all_to_all", "stream", "window" };

static const char *const befores[BEFORES] = { "", "_fresh", "_skewed", "_paused" };

static const double batch_seconds = 50e-6, most_samples = 2000, skew_seconds = 5e-6, pause_seconds = 1e-3;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Where processes are scheduled by session, this one before others. It may not be allowed. */
void be_first(void) {
    FILE *f = fopen("/proc/self/autogroup", "w");
    if (f) {
        fputs("-20", f);
        fclose(f);
    }
}

int parse(const char *line, struct question *q) {
    char name[64];
    double ms;
    if (sscanf(line, "%63s %zu %lf", name, &q->bytes, &ms) != 3) return 0;
    q->seconds = ms * 1e-3;
    size_t len = strlen(name);
    q->before = NOTHING;
    for (int b = 1; b < BEFORES; b++) {
        size_t end = strlen(befores[b]);
        if (len > end && !strcmp(name + len - end, befores[b])) {
            q->before = (enum before)b;
            name[len - end] = 0;
            break;
        }
    }
    for (q->kind = 0; q->kind < KINDS && strcmp(names[q->kind], name);) q->kind++;
    return 1;
}

static int is_region(enum kind kind) {
    return kind == RUN || kind == RUN_ALL_REDUCE;
}

/* Ranks are never fresh without a vector, and only regions follow a pause. */
int sensible(enum kind kind, enum before before) {
    if (before == FRESH) return kind != BARRIER && !is_region(kind);
    if (before == SKEWED) return !is_region(kind);
    return before != PAUSED || is_region(kind);
}

/* Keeps the CPU busy. */
static void compute(double seconds) {
    for (double begin = now(); now() - begin < seconds;) {}
}

/* Element j of rank r before call i is r + 1 + i % 8 + j % 8. */
static float own(int rank, size_t i) {
    return (float)(rank + 1 + (int)(i % 8));
}

static void fill(struct member *m, size_t i) {
    float base = own(m->rank, i);
    for (size_t j = 0; j < m->inputs; j++) m->input[j] = base + (float)(j % 8);
}

static size_t wrongs(const float *got, size_t count, float base, float each, size_t shift) {
    size_t wrong = 0;
    for (size_t j = 0; j < count; j++) wrong += got[j] != base + each * (float)((shift + j) % 8);
    return wrong;
}

/* Reads all that came out of call i. */
static int right(const struct member *m, size_t i) {
    size_t n = m->count, at = n * (size_t)m->rank, wrong = 0;
    float P = (float)m->ranks, sum = 0;
    for (int r = 0; r < m->ranks; r++) sum += own(r, i);
    switch (m->kind) {
    case P2P: return m->rank > 1 || !wrongs(m->output, n, own(1 - m->rank, i), 1, 0);
    case P2P_BOUNCE: return m->rank > 1 || !wrongs(m->input, n, own(0, i), 1, 0);
    case RUN_ALL_REDUCE:
    case ALL_REDUCE: return !wrongs(m->output, n, sum, P, 0);
    case ALL_REDUCE_INPLACE: return !wrongs(m->input, n, sum, P, 0);
    case REDUCE: return m->rank || !wrongs(m->output, n, sum, P, 0);
    case REDUCE_INPLACE: return m->rank || !wrongs(m->input, n, sum, P, 0);
    case BROADCAST: return !wrongs(m->input, n, own(0, i), 1, 0);
    case REDUCE_SCATTER: return !wrongs(m->output, n, sum, P, at);
    case SCATTER: return !wrongs(m->output, n, own(0, i), 1, at);
    case STREAM:
    case WINDOW: return m->rank != 1 || !wrongs(m->output, m->outputs, own(0, i), 1, 0);
    case SCAN:
        for (sum = 0, P = 0; P <= (float)m->rank; P++) sum += own((int)P, i);
        return !wrongs(m->output, n, sum, P, 0);
    case ALL_TO_ALL:
        for (int r = 0; r < m->ranks; r++) wrong += wrongs(m->output + n * (size_t)r, n, own(r, i), 1, at);
        return !wrong;
    case ALL_GATHER:
        for (int r = 0; r < m->ranks; r++) wrong += wrongs(m->output + n * (size_t)r, n, own(r, i), 1, 0);
        return !wrong;
    default: return 1;
    }
}

/* All ranks learn whether one of them is wrong. */
static int all_right(int mine) {
    double wrong = !mine;
    latest(&wrong, 1);
    return tell(wrong) == 0;
}

static int alone(const struct member *m) {
    return m->before != NOTHING || m->kind == REDUCE || m->kind == REDUCE_INPLACE || m->kind == BROADCAST || m->kind == SCATTER ||
           m->kind == SCAN;
}

/* What comes before call i. */
static void prepare(struct member *m, size_t i) {
    if (m->before == FRESH) fill(m, i);
    if (m->before == PAUSED) compute(pause_seconds);
    if (alone(m)) meet();
    if (m->before == SKEWED && i % (size_t)m->ranks == (size_t)m->rank) compute(skew_seconds);
}

static double warm(struct member *m, size_t calls) {
    meet();
    double begin = now();
    for (size_t i = 0; i < calls; i++) {
        prepare(m, i);
        call(m);
    }
    return now() - begin;
}

static double least_batch(void) {
    const char *set = getenv("RIVALS_BATCH");
    return set ? atof(set) * 1e-3 : batch_seconds;
}

/* Rank 0 decides how many calls make a batch, and how many batches the time is for. */
static void plan(struct member *m, double seconds, size_t *batch, size_t *samples) {
    size_t calls = 2;
    double spent;
    for (;;) {
        spent = tell(warm(m, calls));
        if (spent >= seconds / 4 || calls >= 1 << 20) break;
        calls *= spent < seconds / 40 ? 4 : 2;
    }
    double each = fmax(spent / (double)calls, 1e-9);
    *batch = alone(m) ? 1 : (size_t)ceil(least_batch() / each);
    *samples = (size_t)fmin(fmax(seconds / (each * (double)*batch), 3), most_samples);
}

static void back_to_back(struct member *m, double *spans, size_t samples, size_t batch) {
    for (size_t s = 0; s < samples; s++) {
        double begin = now();
        for (size_t k = 0; k < batch; k++) call(m);
        spans[s] = (now() - begin) / (double)batch;
    }
}

static int one_by_one(struct member *m, double *spans, size_t samples) {
    double *entries = calloc(samples, sizeof *entries);
    int ok = 1;
    for (size_t i = 0; i < samples; i++) {
        prepare(m, i);
        entries[i] = now();
        call(m);
        spans[i] = now();
        if (m->before == FRESH) ok &= right(m, i);
    }
    latest(entries, samples);
    latest(spans, samples);
    for (size_t i = 0; i < samples; i++) spans[i] -= entries[i];
    free(entries);
    return all_right(ok);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void report(double *spans, size_t samples, size_t batch, double trips, char *answer, size_t room) {
    qsort(spans, samples, sizeof *spans, ascending);
    double last = (double)(samples - 1), us = 1e6 / trips;
    snprintf(answer, room, "ok %.4f %.4f %.4f %zu %zu", spans[lround(last * 0.5)] * us, spans[0] * us,
             spans[lround(last * 0.99)] * us, samples, batch);
}

static float *vector(size_t count) {
    size_t bytes = (count * sizeof(float) / 4096 + 1) * 4096;
    float *v = aligned_alloc(4096, bytes);
    if (!v) {
        fputs("out of memory\n", stderr);
        exit(3);
    }
    memset(v, 0, bytes);
    return v;
}

/* Messages in a call, one after the other. */
static double trips(enum kind kind) {
    if (kind == STREAM || kind == WINDOW) return MESSAGES;
    return kind == P2P || kind == P2P_BOUNCE ? 2 : 1;
}

/* The elements of a message, and of what goes in and comes out. */
static void size_up(struct member *m, size_t bytes) {
    size_t n = bytes / sizeof(float), P = (size_t)m->ranks;
    int streams = m->kind == STREAM || m->kind == WINDOW, all = m->kind == ALL_TO_ALL;
    m->count = m->kind == REDUCE_SCATTER || all ? n / P : n;
    m->inputs = m->kind == SCATTER || m->kind == REDUCE_SCATTER || all ? m->count * P : m->count;
    m->outputs = m->kind == ALL_GATHER || all ? m->count * P : m->count;
    if (streams) m->inputs = m->outputs = m->count * MESSAGES;
}

/* Whether there is no element for a block of each rank, so that nothing would move. */
static int is_too_short(const struct question *q, int ranks) {
    return (q->kind == REDUCE_SCATTER || q->kind == ALL_TO_ALL) && q->bytes / sizeof(float) < (size_t)ranks;
}

void measure(const struct question *q, int rank, int ranks, char *answer, size_t room) {
    struct member m = { .kind = q->kind, .before = q->before, .rank = rank, .ranks = ranks };
    snprintf(answer, room, "none");
    if (q->kind == KINDS || !offers(q->kind, q->before) || is_too_short(q, ranks)) return;
    size_up(&m, q->bytes);
    m.input = vector(m.inputs);
    m.output = vector(m.outputs);
    fill(&m, 1);
    meet();
    call(&m);
    snprintf(answer, room, "wrong");
    if (all_right(right(&m, 1))) {
        size_t batch, samples;
        if (m.kind == ALL_REDUCE_INPLACE || m.kind == REDUCE_INPLACE) memset(m.input, 0, m.inputs * sizeof(float));
        plan(&m, q->seconds, &batch, &samples);
        double *spans = calloc(samples, sizeof *spans);
        int ok = 1;
        meet();
        if (alone(&m)) ok = one_by_one(&m, spans, samples);
        else back_to_back(&m, spans, samples, batch);
        if (ok) report(spans, samples, batch, trips(m.kind), answer, room);
        free(spans);
    }
    meet();
    free(m.input);
    free(m.output);
}
