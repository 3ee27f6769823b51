/* What statuses tell: sources, tags, counts and elements, of messages, of null processes and of empty requests. */
#include "say.h"

static void tell(const char *what, MPI_Status *status, MPI_Datatype type) {
    int count, elements;
    MPI_Get_count(status, type, &count);
    MPI_Get_elements(status, type, &elements);
    say("%s: tag %d, count %d, elements %d", what, status->MPI_TAG == MPI_ANY_TAG ? -1 : status->MPI_TAG, count == MPI_UNDEFINED ? -1 : count, elements);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, in[32], out[32] = {0};
    MPI_Status status;
    MPI_Datatype three;
    MPI_Type_contiguous(3, MPI_INT, &three), MPI_Type_commit(&three);
    for (int n = 0; n <= 7; n++) {
        MPI_Sendrecv(out, n, MPI_INT, right, 10 + n, in, 32, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        tell("integers", &status, MPI_INT);
        tell("triples", &status, three);
        say("source: %d", status.MPI_SOURCE == left);
    }
    MPI_Recv(in, 32, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status);
    tell("no rank", &status, MPI_INT);
    say("source: %d", status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Probe(MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    say("probe: %d", status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Wait(&request, &status);
    tell("empty", &status, MPI_INT);
    say("source: %d", status.MPI_SOURCE == MPI_ANY_SOURCE);
    int flag;
    MPI_Test_cancelled(&status, &flag);
    say("cancelled: %d", flag);
    MPI_Status_set_elements(&status, MPI_INT, 12);
    MPI_Status_set_cancelled(&status, 1);
    tell("set", &status, MPI_INT);
    tell("set", &status, three);
    MPI_Test_cancelled(&status, &flag);
    say("cancelled: %d", flag);
    MPI_Irecv(in, 3, MPI_INT, left, 77, MPI_COMM_WORLD, &request);
    MPI_Request_get_status(request, &flag, &status);
    MPI_Send(out, 2, MPI_INT, right, 77, MPI_COMM_WORLD);
    for (flag = 0; !flag;) MPI_Request_get_status(request, &flag, &status);
    tell("looked at", &status, MPI_INT);
    say("still there: %d", request != MPI_REQUEST_NULL);
    MPI_Wait(&request, &status);
    tell("waited for", &status, MPI_INT);
    MPI_Count count;
    MPI_Get_elements_x(&status, MPI_INT, &count);
    MPI_Type_size_x(three, &count);
    say("size: %d", (int)count);
    /* Calls of one status leave the error in it alone. */
    status.MPI_ERROR = 77;
    MPI_Sendrecv(out, 1, MPI_INT, right, 1, in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
    MPI_Recv(in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    MPI_Irecv(in, 1, MPI_INT, left, 1, MPI_COMM_WORLD, &request);
    MPI_Send(out, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Test(&request, &flag, &status);
    say("error: %d", status.MPI_ERROR);
    MPI_Type_free(&three);
    MPI_Finalize();
    return 0;
}
