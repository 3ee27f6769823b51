/* Programs of which a rank ends early, one by name: `tests/endings.rs` says what is reported. */
#include <assert.h>
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

static void end_by(const char *how) {
    volatile int zero = 0;
    if (strcmp(how, "exit") == 0) exit(0);
    if (strcmp(how, "_exit") == 0) _exit(0);
    if (strcmp(how, "_Exit") == 0) _Exit(0);
    if (strcmp(how, "quick_exit") == 0) quick_exit(4);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "assert") == 0) assert(zero);
    if (strcmp(how, "raise") == 0) raise(SIGABRT);
    if (strcmp(how, "stack") == 0) deeper(&zero);
    if (strcmp(how, "stdio") == 0) flockfile(stdout), *(volatile int *)8 = 1;
    if (strcmp(how, "compute") == 0) exit(0);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (rank == 1) end_by(argv[1]);
    while (forever && strcmp(argv[1], "compute") == 0) {}
    if (strcmp(argv[1], "stdio") == 0) printf("%d\n", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
