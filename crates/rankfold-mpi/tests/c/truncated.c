/* Messages longer than their buffers: what is received of them, and what is told (not on openmpi, which truncates in silence). */
#include "say.h"

static int data[4] = {1, 2, 3, 4}, into[4];

static void told(const char *what, int code, const MPI_Status *status) {
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    say("%s: %s from %d tag %d count %d: %s", what, class_of(code), status->MPI_SOURCE, status->MPI_TAG, count, list(into, 4));
    memset(into, 0, sizeof into);
}

/* A message of three elements on its way, whose receive is of two. */
static MPI_Request coming(int tag) {
    MPI_Request receive, send;
    MPI_Irecv(into, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &receive);
    MPI_Isend(data, 3, MPI_INT, 0, tag, MPI_COMM_SELF, &send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    return receive;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Status status = {0}, statuses[2];
    MPI_Request request, send;
    int flag = 0, index = -1, code;
    MPI_Isend(data, 3, MPI_INT, 0, 5, MPI_COMM_SELF, &send);
    code = MPI_Recv(into, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &status), told("recv", code, &status);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    request = coming(6), code = MPI_Wait(&request, &status), told("wait", code, &status);
    request = coming(7);
    do code = MPI_Test(&request, &flag, &status);
    while (!flag);
    told("test", code, &status);
    request = coming(8), code = MPI_Waitany(1, &request, &index, &status), told("waitany", code, &status);
    request = coming(9), code = MPI_Waitall(1, &request, statuses);
    say("waitall: %s %s", class_of(code), class_of(statuses[0].MPI_ERROR)), told("of it", MPI_SUCCESS, &statuses[0]);
    request = coming(10), code = MPI_Waitsome(1, &request, &flag, &index, statuses);
    say("waitsome: %s %d %d %s", class_of(code), flag, index, class_of(statuses[0].MPI_ERROR));
    told("of it", MPI_SUCCESS, &statuses[0]);
    code = MPI_Sendrecv(data, 4, MPI_INT, 0, 11, into, 1, MPI_INT, 0, 11, MPI_COMM_SELF, &status);
    told("sendrecv", code, &status);
    MPI_Finalize();
    return 0;
}
