/* An MPI library that is the launcher's own but for one message of one process to one other: what a corrupt process does. Of
 * a letter it sends eight wrong bytes, all ones unless a number is given: the letters are those of rankfold, whose first four
 * bytes say of which kind they are. Instead of the first body it sends an empty message with another tag, if CORRUPT_BODY is 1. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int PMPI_Isend(const void *, int, uintptr_t, int, int, uintptr_t, void *);

static long number(const char *name) {
    const char *text = getenv(name);
    return text ? strtol(text, NULL, 10) : -1;
}

static long me(void) {
    return getenv("OMPI_COMM_WORLD_RANK") ? number("OMPI_COMM_WORLD_RANK") : number("PMI_RANK");
}

/* Whether it is the letter whose number among those of its kind and length to its receiver was asked for. */
static int is_wanted(const void *bytes, int count, int to) {
    static long seen;
    int32_t kind;
    if (count < 56 || me() != number("CORRUPT_FROM") || to != number("CORRUPT_TO")) return 0;
    if (number("CORRUPT_BYTES") > 0 && count != number("CORRUPT_BYTES")) return 0;
    memcpy(&kind, bytes, sizeof kind);
    return kind == number("CORRUPT_KIND") && seen++ == number("CORRUPT_NTH");
}

/* Whether it is the first message to its receiver that is no letter. */
static int is_body(int to, int tag) {
    static long seen;
    if (number("CORRUPT_BODY") != 1 || tag == 0) return 0;
    return me() == number("CORRUPT_FROM") && to == number("CORRUPT_TO") && seen++ == 0;
}

int MPI_Isend(const void *bytes, int count, uintptr_t type, int to, int tag, uintptr_t comm, void *request) {
    if (tag == 0 && is_wanted(bytes, count, to)) {
        /* Never freed: MPI may read it later. */
        char *wrong = malloc(count);
        if (wrong == NULL) abort();
        memcpy(wrong, bytes, count);
        int64_t value = number("CORRUPT_VALUE");
        memcpy(wrong + number("CORRUPT_AT"), &value, sizeof value);
        bytes = wrong;
        fprintf(stderr, "a letter of %d bytes is spoiled\n", count);
    }
    if (is_body(to, tag)) {
        fprintf(stderr, "a body of %d bytes is spoiled\n", count);
        return PMPI_Isend(bytes, 0, type, to, tag + 20000, comm, request);
    }
    return PMPI_Isend(bytes, count, type, to, tag, comm, request);
}
