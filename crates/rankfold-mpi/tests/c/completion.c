/* Waiting for and testing any, some and all of several requests, persistent ones among them. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int n = size, sum = 0, number, flag;
    int *in = calloc(n, sizeof(int)), *indices = calloc(n, sizeof(int)), out = 10 * rank;
    MPI_Request *requests = malloc(2 * n * sizeof(MPI_Request));
    MPI_Status *statuses = malloc(2 * n * sizeof(MPI_Status));
    for (int i = 0; i < n; i++) MPI_Recv_init(&in[i], 1, MPI_INT, i, 1, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < n; i++) MPI_Send_init(&out, 1, MPI_INT, i, 1, MPI_COMM_WORLD, &requests[n + i]);
    for (int round = 0; round < 3; round++) {
        out = 10 * rank + round;
        MPI_Startall(2 * n, requests);
        MPI_Waitall(2 * n, requests, statuses);
        say("round %d: %s; last from %d", round, list(in, n), statuses[n - 1].MPI_SOURCE);
    }
    MPI_Waitany(2 * n, requests, &number, MPI_STATUS_IGNORE);
    say("inactive: %d", number == MPI_UNDEFINED);
    for (int i = 0; i < 2 * n; i++) MPI_Request_free(&requests[i]);
    say("freed: %d", requests[0] == MPI_REQUEST_NULL);

    for (int i = 0; i < n; i++) MPI_Irecv(&in[i], 1, MPI_INT, i, 2, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < n; i++) MPI_Send(&rank, 1, MPI_INT, i, 2, MPI_COMM_WORLD);
    for (int i = 0; i < n; i++) {
        MPI_Waitany(n, requests, &number, statuses);
        sum += in[number] == statuses->MPI_SOURCE && statuses->MPI_SOURCE == number;
    }
    MPI_Testany(n, requests, &number, &flag, statuses);
    say("any: %d of %d; then %d %d", sum == n, 1, flag, number == MPI_UNDEFINED);

    int done = 0;
    for (int i = 0; i < n; i++) MPI_Irecv(&in[i], 1, MPI_INT, i, 3, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < n; i++) MPI_Send(&rank, 1, MPI_INT, i, 3, MPI_COMM_WORLD);
    while (done < n) {
        MPI_Waitsome(n, requests, &number, indices, statuses);
        done += number;
    }
    MPI_Testsome(n, requests, &number, indices, statuses);
    say("some: %s; then %d", list(in, n), number == MPI_UNDEFINED);

    MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, requests);
    MPI_Test(requests, &flag, statuses);
    say("nothing came: %d", flag);
    MPI_Cancel(requests);
    MPI_Wait(requests, statuses);
    MPI_Test_cancelled(statuses, &flag);
    say("cancelled: %d", flag);
    MPI_Request empty = MPI_REQUEST_NULL;
    MPI_Wait(&empty, statuses);
    MPI_Get_count(statuses, MPI_INT, &number);
    say("empty: %d %d %d", statuses->MPI_SOURCE == MPI_ANY_SOURCE, statuses->MPI_TAG == MPI_ANY_TAG, number);
    MPI_Finalize();
    return 0;
}
