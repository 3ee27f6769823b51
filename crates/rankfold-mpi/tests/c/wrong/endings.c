/* Programs of which a rank ends early, one by name: `tests/endings.rs` says what is reported. */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "../say.h"

static volatile int forever = 1;

static int deeper(volatile int *from) {
    volatile int own[256];
    own[0] = *from + 1;
    return deeper(own) + own[0];
}

static void store(volatile int *at) {
    *at = 1; /* the fault */
}

static void *abort_there(void *nothing) {
    (void)nothing;
    abort();
}

static void *call_there(void *nothing) {
    MPI_Ssend(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD); /* no rank */
    return nothing;
}

/* Any thread may ask for this. */
static void *ask_there(void *nothing) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(MPI_ERR_TAG, text, &length);
    return nothing;
}

static void in_thread(void *(*body)(void *)) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
}

/* Rank 1 offers memory that is not there: its own copy faults, within an access to it. */
static void bad_window(void) {
    MPI_Win window;
    int one = 1;
    MPI_Win_create(rank == 1 ? (void *)4096 : &one, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    if (rank == 1) MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

/* All ranks but one gather their numbers. */
static void gather_without_one(void) {
    int counts[8], places[8], all[8];
    for (int i = 0; i < size; i++) counts[i] = 1, places[i] = i;
    if (rank != 1) MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
}

static int refuse(MPI_Comm of, int key, void *value, void *state) {
    (void)of, (void)key, (void)value, (void)state;
    return MPI_ERR_TOPOLOGY;
}

static void handle(MPI_Comm *of, int *code, ...) {
    printf("handled: %d, %s\n", *of == MPI_COMM_WORLD, class_of(*code));
}

/* An attribute that cannot be deleted in MPI_Finalize. */
static void set_for_ever(void) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
}

static void have_errors(MPI_Errhandler handler) {
    if (handler == MPI_ERRHANDLER_NULL) MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
}

static void end_by(const char *how) {
    volatile int zero = 0;
    if (strcmp(how, "exit") == 0) exit(0);
    if (strcmp(how, "_exit") == 0) _exit(0);
    if (strcmp(how, "_Exit") == 0) _Exit(0);
    if (strcmp(how, "quick_exit") == 0) quick_exit(4);
    if (strcmp(how, "exit_300") == 0) exit(300);
    if (strcmp(how, "mpi_abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(how, "mpi_abort_0") == 0) MPI_Abort(MPI_COMM_WORLD, 0);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "assert") == 0) assert(zero);
    if (strcmp(how, "raise") == 0) raise(SIGABRT);
    if (strcmp(how, "trap") == 0) raise(SIGTRAP);
    if (strcmp(how, "stack") == 0) deeper(&zero);
    if (strcmp(how, "stdio") == 0) flockfile(stdout), *(volatile int *)8 = 1;
    if (strcmp(how, "compute") == 0) exit(0);
    if (strcmp(how, "null") == 0) store((volatile int *)(size_t)zero);
    if (strcmp(how, "thread") == 0) in_thread(abort_there);
    if (strcmp(how, "stray") == 0) in_thread(call_there);
    if (strcmp(how, "ask") == 0) in_thread(ask_there);
    if (strncmp(how, "refuse", 6) == 0) set_for_ever();
    if (strcmp(how, "refuse_returned") == 0) have_errors(MPI_ERRORS_RETURN);
    if (strcmp(how, "refuse_handled") == 0) have_errors(MPI_ERRHANDLER_NULL);
    if (strcmp(how, "twice") == 0) MPI_Finalize(), MPI_Finalize(); /* twice */
}

int main(int argc, char **argv) {
    if (strcmp(argv[1], "early") == 0) exit(0);
    if (strcmp(argv[1], "early_3") == 0) exit(3);
    begin(&argc, &argv);
    if (strcmp(argv[1], "window") == 0) bad_window();
    if (strcmp(argv[1], "gather") == 0) {
        gather_without_one();
        MPI_Finalize();
        return 0;
    }
    if (strcmp(argv[1], "return") == 0) {
        MPI_Finalize();
        return rank == 1 ? 5 : 0;
    }
    if (rank == 1) end_by(argv[1]);
    while (forever && strcmp(argv[1], "compute") == 0) {}
    if (strcmp(argv[1], "stdio") == 0) printf("%d\n", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    int code = MPI_Finalize(); /* the end */
    if (code != MPI_SUCCESS) printf("returned: %s\n", class_of(code));
    return 0;
}
