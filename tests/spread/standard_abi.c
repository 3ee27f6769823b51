/* An MPI library with the standard ABI of MPI 5.0 (section 20), made of the launcher's own, which has another one. It ends
 * the process if a handle or a constant is not one of the standard ABI. Functions whose arguments are alike in all are
 * the library's own. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int PMPI_Init_thread(int *, void *, int, int *);
int PMPI_Comm_rank(uintptr_t, int *);
int PMPI_Comm_size(uintptr_t, int *);
int PMPI_Comm_dup(uintptr_t, uintptr_t *);
int PMPI_Comm_set_errhandler(uintptr_t, uintptr_t);
int PMPI_Isend(const void *, int, uintptr_t, int, int, uintptr_t, uintptr_t *);
int PMPI_Irecv(void *, int, uintptr_t, int, int, uintptr_t, uintptr_t *);
int PMPI_Recv_init(void *, int, uintptr_t, int, int, uintptr_t, uintptr_t *);
int PMPI_Test(uintptr_t *, int *, void *);
int PMPI_Wait(uintptr_t *, void *);
int PMPI_Get_count(const void *, uintptr_t, int *);
int PMPI_Test_cancelled(const void *, int *);
int PMPI_Error_class(int, int *);

/* There in Open MPI, whose handles are the addresses of its objects. */
extern char ompi_mpi_comm_world __attribute__((weak));
extern char ompi_mpi_byte __attribute__((weak));
extern char ompi_mpi_errors_return __attribute__((weak));

enum { WORLD = 0x101, ERRORS_RETURN = 0x143, BYTE = 0x247, ANY_SOURCE = -1, TRUNCATE = 15, LAST_PREDEFINED = 0xfff };
enum { FUNNELED = 1024, SERIALIZED = 2048, MULTIPLE = 4096 };

struct status {
    int source, tag, error, internal[5];
};

static void refuse(const char *what) {
    fprintf(stderr, "not of the standard ABI: %s\n", what);
    abort();
}

static int is_open_mpi(void) { return &ompi_mpi_comm_world != NULL; }

static uintptr_t comm(uintptr_t handle) {
    if (handle == WORLD) return is_open_mpi() ? (uintptr_t)&ompi_mpi_comm_world : 0x44000000;
    if (handle <= LAST_PREDEFINED) refuse("a communicator");
    return handle;
}

static uintptr_t type(uintptr_t handle) {
    if (handle != BYTE) refuse("a type");
    return is_open_mpi() ? (uintptr_t)&ompi_mpi_byte : 0x4c00010d;
}

static int source(int rank) {
    if (rank < ANY_SOURCE) refuse("a source");
    return rank == ANY_SOURCE && !is_open_mpi() ? -2 : rank;
}

/* The status is written as the standard says, with the number of bytes that were received and whether none were. */
static void convert(const int *theirs, struct status *ours) {
    int first = is_open_mpi() ? 0 : 2;
    memset(ours, 0, sizeof *ours);
    ours->source = theirs[first];
    ours->tag = theirs[first + 1];
    ours->error = theirs[first + 2];
    PMPI_Get_count(theirs, type(BYTE), &ours->internal[0]);
    PMPI_Test_cancelled(theirs, &ours->internal[1]);
}

int MPI_Abi_get_version(int *major, int *minor) {
    *major = 1;
    *minor = 0;
    return 0;
}

int MPI_Init_thread(int *count, void *words, int required, int *provided) {
    if (required != FUNNELED && required != SERIALIZED && required != MULTIPLE) refuse("a level of threads");
    int own = required == FUNNELED ? 1 : required == SERIALIZED ? 2 : 3;
    int code = PMPI_Init_thread(count, words, own, &own);
    *provided = own ? FUNNELED << (own - 1) : 0;
    fprintf(stderr, "initialized with the standard ABI\n");
    return code;
}

int MPI_Comm_rank(uintptr_t of, int *rank) { return PMPI_Comm_rank(comm(of), rank); }
int MPI_Comm_size(uintptr_t of, int *size) { return PMPI_Comm_size(comm(of), size); }
int MPI_Comm_dup(uintptr_t of, uintptr_t *to) { return PMPI_Comm_dup(comm(of), to); }

int MPI_Comm_set_errhandler(uintptr_t of, uintptr_t handler) {
    if (handler != ERRORS_RETURN) refuse("an error handler");
    return PMPI_Comm_set_errhandler(comm(of), is_open_mpi() ? (uintptr_t)&ompi_mpi_errors_return : 0x54000001);
}

int MPI_Ibarrier(uintptr_t of, uintptr_t *request) {
    int PMPI_Ibarrier(uintptr_t, uintptr_t *);
    return PMPI_Ibarrier(comm(of), request);
}

int MPI_Isend(const void *bytes, int count, uintptr_t of, int to, int tag, uintptr_t in, uintptr_t *request) {
    return PMPI_Isend(bytes, count, type(of), to, tag, comm(in), request);
}

int MPI_Irecv(void *bytes, int count, uintptr_t of, int from, int tag, uintptr_t in, uintptr_t *request) {
    return PMPI_Irecv(bytes, count, type(of), source(from), tag, comm(in), request);
}

int MPI_Recv_init(void *bytes, int count, uintptr_t of, int from, int tag, uintptr_t in, uintptr_t *request) {
    return PMPI_Recv_init(bytes, count, type(of), source(from), tag, comm(in), request);
}

int MPI_Test(uintptr_t *request, int *done, struct status *status) {
    int theirs[16] = {0}, code = PMPI_Test(request, done, theirs);
    if (*done) convert(theirs, status);
    return code;
}

int MPI_Wait(uintptr_t *request, struct status *status) {
    int theirs[16] = {0}, code = PMPI_Wait(request, theirs);
    convert(theirs, status);
    return code;
}

int MPI_Get_count(const struct status *status, uintptr_t of, int *count) {
    type(of);
    *count = status->internal[0];
    return 0;
}

int MPI_Test_cancelled(const struct status *status, int *cancelled) {
    *cancelled = status->internal[1];
    return 0;
}

int MPI_Error_class(int code, int *class) {
    int said = PMPI_Error_class(code, class);
    if (*class == (is_open_mpi() ? 15 : 14)) *class = TRUNCATE;
    return said;
}
