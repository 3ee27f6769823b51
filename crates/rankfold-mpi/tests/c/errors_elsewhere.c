/* Errors on a communicator that is no argument go to its error handler: not on mpich, where they end MPI_Mrecv. */
#include "say.h"

static MPI_Comm comm;
static int refused;

static int refuses(MPI_Comm of, int key, void *value, void *state) {
    (void)of, (void)key, (void)value, (void)state;
    return refused++ ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* Finds a message of two elements. */
static MPI_Message found(int *two) {
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    MPI_Isend(two, 2, MPI_INT, rank, 0, comm, &request);
    MPI_Mprobe(rank, 0, comm, &message, &status);
    MPI_Request_free(&request);
    return message;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int key, one[1] = {0}, two[2] = {1, 2}, code;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Message message = found(two);
    code = MPI_Mrecv(one, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    say("truncated: %d", code != MPI_SUCCESS);
    message = found(two);
    code = MPI_Imrecv(one, 1, MPI_INT, &message, &request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("truncated: %d", code != MPI_SUCCESS);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuses, &key, NULL);
    MPI_Comm_set_attr(comm, key, NULL);
    MPI_Comm same = comm;
    code = MPI_Comm_free(&comm);
    say("freed: %d %d", code != MPI_SUCCESS, comm == same);
    code = MPI_Comm_free(&comm);
    say("freed: %d %d", code == MPI_SUCCESS, comm == MPI_COMM_NULL);
    MPI_Comm_free_keyval(&key);
    MPI_Finalize();
    return 0;
}
