/* Errors in statuses are written by calls that fail in one: not on openmpi, not on mpich, where others write them too. */
#include "say.h"

static MPI_Request requests[2];
static MPI_Status statuses[2];
static int in[2], out[2];

static void start(void) {
    for (int i = 0; i < 2; i++) {
        statuses[i].MPI_ERROR = 77;
        MPI_Irecv(&in[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Send(&out[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD);
    }
}

static void tell(const char *what) {
    say("%s: %d %d, tag %d", what, statuses[0].MPI_ERROR, statuses[1].MPI_ERROR, statuses[0].MPI_TAG);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int flag, number, which[2];
    start(), MPI_Waitall(2, requests, statuses), tell("wait for all");
    start();
    for (flag = 0; !flag;) MPI_Testall(2, requests, &flag, statuses);
    tell("test all");
    start(), MPI_Waitsome(2, requests, &number, which, statuses), say("error: %d", statuses[0].MPI_ERROR);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    start(), MPI_Testsome(2, requests, &number, which, statuses), say("error: %d", statuses[0].MPI_ERROR);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    /* The second message is too long, and the first one is not. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Request sent;
    MPI_Irecv(&in[0], 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&in[1], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(out, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    MPI_Isend(out, 2, MPI_INT, rank, 1, MPI_COMM_WORLD, &sent);
    statuses[0].MPI_ERROR = statuses[1].MPI_ERROR = 77;
    number = MPI_Waitall(2, requests, statuses);
    say("%s: %s %s", class_of(number), class_of(statuses[0].MPI_ERROR), class_of(statuses[1].MPI_ERROR));
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
