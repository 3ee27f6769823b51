/* Every mode of send, blocking and started, around a ring. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    char *room = malloc(1 << 16), *back;
    int bytes;
    MPI_Buffer_attach(room, 1 << 16);
    for (int mode = 0; mode < 8; mode++) {
        int out[3] = {rank, mode, 7}, in[3] = {-1, -1, -1}, count;
        MPI_Request coming, going = MPI_REQUEST_NULL;
        MPI_Status status;
        MPI_Irecv(in, 3, MPI_INT, left, mode, MPI_COMM_WORLD, &coming);
        MPI_Barrier(MPI_COMM_WORLD); /* a ready send finds its receive */
        switch (mode) {
        case 0: MPI_Send(out, 3, MPI_INT, right, mode, MPI_COMM_WORLD); break;
        case 1: MPI_Bsend(out, 3, MPI_INT, right, mode, MPI_COMM_WORLD); break;
        case 2: MPI_Ssend(out, 3, MPI_INT, right, mode, MPI_COMM_WORLD); break;
        case 3: MPI_Rsend(out, 3, MPI_INT, right, mode, MPI_COMM_WORLD); break;
        case 4: MPI_Isend(out, 3, MPI_INT, right, mode, MPI_COMM_WORLD, &going); break;
        case 5: MPI_Ibsend(out, 3, MPI_INT, right, mode, MPI_COMM_WORLD, &going); break;
        case 6: MPI_Issend(out, 3, MPI_INT, right, mode, MPI_COMM_WORLD, &going); break;
        case 7: MPI_Irsend(out, 3, MPI_INT, right, mode, MPI_COMM_WORLD, &going); break;
        }
        MPI_Wait(&coming, &status);
        MPI_Wait(&going, MPI_STATUS_IGNORE);
        MPI_Get_count(&status, MPI_INT, &count);
        say("mode %d: %s from %d tag %d count %d %s", mode, list(in, 3), status.MPI_SOURCE, status.MPI_TAG, count,
            coming == MPI_REQUEST_NULL ? "null" : "not null");
    }
    MPI_Buffer_detach(&back, &bytes);
    say("detached %s %d", back == room ? "the buffer" : "another one", bytes);
    free(room);
    MPI_Finalize();
    return 0;
}
