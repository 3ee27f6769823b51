/* Errors on a communicator that is no argument, and may have been freed: not on openmpi, not on mpich, which end in some. */
#include "say.h"

static MPI_Comm comm;
static int handled, last;

static void handle(MPI_Comm *of, int *code, ...) {
    (void)of;
    handled++, last = *code;
}

static void duplicate(void) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

/* A request of a message of two elements to itself. */
static MPI_Request sent(void) {
    static int two[2];
    MPI_Request request;
    MPI_Isend(two, 2, MPI_INT, rank, 0, comm, &request);
    return request;
}

/* On a communicator that is there. */
static void requests_and_messages(void) {
    int one = 0, many[2], code;
    MPI_Request request, sends;
    MPI_Message message;
    duplicate();
    MPI_Send_init(&one, 1, MPI_INT, rank, 0, comm, &request);
    code = MPI_Cancel(&request);
    say("cancel what was not started: %s", class_of(code));
    MPI_Request_free(&request);
    sends = sent();
    MPI_Mprobe(rank, 0, comm, &message, MPI_STATUS_IGNORE);
    code = MPI_Mrecv(many, -1, MPI_INT, &message, MPI_STATUS_IGNORE);
    say("a negative count: %s", class_of(code));
    code = MPI_Imrecv(many, 1, MPI_DATATYPE_NULL, &message, &request);
    say("no datatype: %s", class_of(code));
    code = MPI_Mrecv(many, 2, MPI_INT, &message, MPI_STATUS_IGNORE);
    say("the message is there: %s", class_of(code));
    MPI_Wait(&sends, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
}

/* On one that is freed while an operation is in progress, or may be started. */
static void communicators_freed(void) {
    int one = 0, code;
    MPI_Request request, sends;
    MPI_Message message;
    duplicate();
    MPI_Irecv(&one, 1, MPI_INT, rank, 0, comm, &request);
    sends = sent();
    MPI_Comm_free(&comm);
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("wait: %s", class_of(code));
    MPI_Wait(&sends, MPI_STATUS_IGNORE);
    duplicate();
    sends = sent();
    MPI_Mprobe(rank, 0, comm, &message, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    code = MPI_Mrecv(&one, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    say("message: %s", class_of(code));
    MPI_Wait(&sends, MPI_STATUS_IGNORE);
    duplicate();
    MPI_Bsend_init(&one, 1, MPI_INT, rank, 0, comm, &request);
    MPI_Comm_free(&comm);
    code = MPI_Start(&request);
    say("start: %s", class_of(code));
    MPI_Request_free(&request);
}

/* A communicator that is disconnected: the error is that of the request which is left. */
static void communicator_disconnected(void) {
    int one = 0, code;
    MPI_Request request, sends;
    duplicate();
    MPI_Irecv(&one, 1, MPI_INT, rank, 0, comm, &request);
    sends = sent();
    code = MPI_Comm_disconnect(&comm);
    say("disconnected: %s", class_of(code));
    code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("wait: %s", class_of(code));
    MPI_Wait(&sends, MPI_STATUS_IGNORE);
}

/* The request is freed, too, and so is the error handler: the message comes then. */
static void all_freed(void) {
    int one = 0, two[2] = {0}, token = 0;
    MPI_Request request;
    MPI_Errhandler own;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handle, &own);
    MPI_Comm_set_errhandler(comm, own);
    MPI_Errhandler_free(&own);
    if (rank == 0 && size > 1) {
        MPI_Irecv(&one, 1, MPI_INT, 1, 0, comm, &request);
        MPI_Request_free(&request);
        MPI_Comm_free(&comm);
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else {
        if (rank == 1) {
            MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(two, 2, MPI_INT, 0, 0, comm);
        }
        MPI_Comm_free(&comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    say("handled: %d, %s", handled, class_of(last));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    requests_and_messages();
    communicators_freed();
    communicator_disconnected();
    all_freed();
    MPI_Finalize();
    return 0;
}
