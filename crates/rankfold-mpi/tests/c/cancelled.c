/* A receive whose message has come is not cancelled: its message was received. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int in = 0, out = 5, other, flag;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Ssend(&out, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
    MPI_Cancel(&request), MPI_Wait(&request, &status), MPI_Test_cancelled(&status, &flag);
    say("from itself: %d %d", flag, in);
    MPI_Irecv(&in, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request), MPI_Wait(&request, &status), MPI_Test_cancelled(&status, &flag);
    say("no message: %d", flag);
    if (size < 2 || rank > 1) return MPI_Finalize();
    if (rank == 1) {
        MPI_Ssend(&out, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    } else {
        in = 0;
        MPI_Irecv(&in, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        /* What comes now was sent after the message had been received. */
        MPI_Recv(&other, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Cancel(&request), MPI_Wait(&request, &status), MPI_Test_cancelled(&status, &flag);
        say("from another: %d %d", flag, in);
    }
    return MPI_Finalize();
}
