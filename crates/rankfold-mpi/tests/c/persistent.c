/* Persistent messages: in all modes, started one by one and together, waited for in several ways. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, in[4] = {-1, -1, -1, -1}, out[4];
    MPI_Request requests[8];
    MPI_Status statuses[8];
    char attached[4 * (MPI_BSEND_OVERHEAD + 16)];
    MPI_Buffer_attach(attached, sizeof attached);
    for (int i = 0; i < 4; i++) MPI_Recv_init(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Send_init(&out[0], 1, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[4]);
    MPI_Bsend_init(&out[1], 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[5]);
    MPI_Ssend_init(&out[2], 1, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[6]);
    MPI_Rsend_init(&out[3], 1, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[7]);
    int flag, index;
    MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    say("inactive: %d", flag);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 4; i++) out[i] = 100 * turn + 10 * rank + i, in[i] = -1;
        MPI_Startall(4, requests);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 4; i < 8; i++) MPI_Start(&requests[i]);
        if (turn == 0) MPI_Waitall(8, requests, statuses);
        if (turn == 1)
            for (int left = 8; left > 0; left--) MPI_Waitany(8, requests, &index, &statuses[0]);
        if (turn == 2)
            for (flag = 0; !flag;) MPI_Testall(8, requests, &flag, statuses);
        say("turn %d: %s", turn, list(in, 4));
        if (turn != 1) say("from %d, tags %d %d", statuses[1].MPI_SOURCE, statuses[0].MPI_TAG, statuses[3].MPI_TAG);
    }
    MPI_Waitany(8, requests, &index, MPI_STATUS_IGNORE);
    say("none active: %d", index == MPI_UNDEFINED);
    int kept = 1;
    for (int i = 0; i < 8; i++) kept &= requests[i] != MPI_REQUEST_NULL, MPI_Request_free(&requests[i]);
    say("kept: %d, freed: %d", kept, requests[7] == MPI_REQUEST_NULL);
    void *at;
    int bytes;
    MPI_Buffer_detach(&at, &bytes);
    say("detached: %d %d", at == attached, bytes == (int)sizeof attached);
    /* A persistent receive from any source. */
    int who = -1;
    MPI_Recv_init(&who, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    int sum = 0;
    for (int r = 0; r < size && rank == 0; r++) {
        MPI_Start(&requests[0]);
        if (r == 0) MPI_Isend(&rank, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &requests[1]);
        MPI_Wait(&requests[0], &statuses[0]);
        sum += who == statuses[0].MPI_SOURCE && statuses[0].MPI_TAG == 9 ? who + 1 : 1000;
    }
    if (rank > 0) MPI_Send(&rank, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    if (rank == 0) MPI_Wait(&requests[1], MPI_STATUS_IGNORE), say("any source: %d", sum);
    MPI_Request_free(&requests[0]);
    MPI_Finalize();
    return 0;
}
