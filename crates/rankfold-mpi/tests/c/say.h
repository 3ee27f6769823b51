/* What the programs share: lines that begin with the rank, so that sorted output is the same on every MPI. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static void say(const char *format, ...) {
    static int line;
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("%02d %03d %s\n", rank, line++, text);
    /* Longer outputs are torn by other MPIs. */
    fflush(stdout);
}

static const char *list(const int *numbers, int count) {
    static char text[8][1024];
    static int turn;
    char *to = text[turn = (turn + 1) % 8];
    int at = 0;
    to[0] = 0;
    for (int i = 0; i < count; i++) at += snprintf(to + at, 1024 - at, "%s%d", i ? " " : "", numbers[i]);
    return to;
}

/* The class of an error code; calls of MPI return it under MPI_ERRORS_RETURN. */
static const char *class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    switch (class) {
#define NAME(name) case name: return #name;
        NAME(MPI_SUCCESS) NAME(MPI_ERR_BUFFER) NAME(MPI_ERR_COUNT) NAME(MPI_ERR_TYPE) NAME(MPI_ERR_TAG)
        NAME(MPI_ERR_COMM) NAME(MPI_ERR_RANK) NAME(MPI_ERR_ROOT) NAME(MPI_ERR_GROUP) NAME(MPI_ERR_OP)
        NAME(MPI_ERR_TOPOLOGY) NAME(MPI_ERR_DIMS) NAME(MPI_ERR_ARG) NAME(MPI_ERR_TRUNCATE) NAME(MPI_ERR_REQUEST)
        NAME(MPI_ERR_IN_STATUS) NAME(MPI_ERR_KEYVAL) NAME(MPI_ERR_WIN) NAME(MPI_ERR_RMA_SYNC) NAME(MPI_ERR_RMA_RANGE)
        NAME(MPI_ERR_LOCKTYPE) NAME(MPI_ERR_DISP) NAME(MPI_ERR_INFO)
        default: return "another class";
    }
}
