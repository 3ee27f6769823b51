/* A communicator is disconnected when all on it is over: not on mpich, which waits for no receive. */
#include "say.h"
#include <time.h>

/* A message comes to rank 0 that is received without a request, while it waits in the call. */
static void freed(int other) {
    int in = 0, out = 5;
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == 0) {
        MPI_Irecv(&in, 1, MPI_INT, other, 0, comm, &request);
        MPI_Request_free(&request);
    }
    MPI_Barrier(comm);
    if (rank == other) {
        struct timespec while_it_waits = {0, 50000000};
        nanosleep(&while_it_waits, NULL);
        MPI_Send(&out, 1, MPI_INT, 0, 0, comm);
    }
    MPI_Comm_disconnect(&comm);
    if (rank == 0) say("received: %d", in);
    say("null: %d", comm == MPI_COMM_NULL);
}

/* A request that is left is over, and tells so. */
static void left(void) {
    int in = 0, out = 6;
    MPI_Comm comm;
    MPI_Request coming, going;
    MPI_Status status;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 0, comm, &coming);
    MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 0, comm, &going);
    int code = MPI_Comm_disconnect(&comm);
    say("disconnected: %s, %d", class_of(code), in);
    code = MPI_Wait(&coming, &status);
    say("received: %s, %d", class_of(code), in);
    code = MPI_Wait(&going, &status);
    say("sent: %s", class_of(code));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (size > 1) freed(1);
    left();
    MPI_Finalize();
    return 0;
}
