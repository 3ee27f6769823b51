/* What the C programs share: the operations, how a point is timed, and what rank 0 answers.
 *
 *   question   all_reduce_fresh 65536 40          operation, bytes a rank, milliseconds
 *   answer     ok 9.3 8.8 12.1 960 1              median, min, p99 in us; samples; calls in a batch
 *              wrong | none                       a result was wrong; this program has no such operation
 *              sizes in bytes; RIVALS_BATCH sets the milliseconds of a batch
 *
 * The same loop as in clock.rs: back to back in batches of at least 50 us that rank 0 times, or each
 * call alone, after a barrier, from the last entry to the last exit of all ranks. */
#ifndef MEASURE_H
#define MEASURE_H

#include <stddef.h>

enum kind { BARRIER, RUN, RUN_ALL_REDUCE, P2P, P2P_BOUNCE, ALL_REDUCE, ALL_REDUCE_INPLACE, REDUCE, REDUCE_INPLACE,
            BROADCAST, REDUCE_SCATTER, ALL_GATHER, SCATTER, SCAN, ALL_TO_ALL, STREAM, WINDOW, KINDS };

/* What happens before every call, untimed: nothing; each rank writes its vector anew; one rank after the
 * other is the last to come; the caller computes for a while. */
enum before { NOTHING, FRESH, SKEWED, PAUSED, BEFORES };

/* Messages of a stream or a window, one after the other or all at once, and one back at its end. */
enum { MESSAGES = 64 };

/* One rank's part in a point. */
struct member {
    enum kind kind;
    enum before before;
    int rank, ranks;
    size_t count;           /* elements of a message, or of a rank's block */
    size_t inputs, outputs; /* elements of the two vectors */
    float *input, *output;
};

struct question {
    enum kind kind;
    enum before before;
    size_t bytes;
    double seconds;
};

/* What a program brings: */
int offers(enum kind kind, enum before before);
void call(struct member *m);              /* the operation, once */
void meet(void);                          /* waits for all ranks */
double tell(double number);               /* what rank 0 says, on all ranks */
void latest(double *times, size_t count); /* the greatest of all ranks', on rank 0 */

/* What it gets: */
int sensible(enum kind kind, enum before before);
int parse(const char *line, struct question *q);
void measure(const struct question *q, int rank, int ranks, char *answer, size_t room);
void be_first(void);

#endif
