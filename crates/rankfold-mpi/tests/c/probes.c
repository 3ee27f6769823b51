/* Probes and matched probes with wildcards, messages of unknown length, counts of other datatypes. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (rank > 0) {
        int data[16] = {rank, rank + 1, rank + 2};
        MPI_Send(data, rank, MPI_INT, 0, rank, MPI_COMM_WORLD);
        MPI_Send(data, 3 * rank, MPI_BYTE, 0, 100 + rank, MPI_COMM_WORLD);
    }
    for (int from = 1; rank == 0 && from < size; from++) {
        MPI_Status status;
        MPI_Message message;
        int count, elements, doubles, flag = 0, data[16] = {0};
        while (!flag) MPI_Iprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        MPI_Recv(data, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
        say("%d from %d tag %d: %s", count, status.MPI_SOURCE, status.MPI_TAG, list(data, count));
        MPI_Mprobe(from, 100 + from, MPI_COMM_WORLD, &message, &status);
        MPI_Get_count(&status, MPI_DOUBLE, &doubles);
        MPI_Get_elements(&status, MPI_BYTE, &elements);
        MPI_Mrecv(data, sizeof data, MPI_BYTE, &message, &status);
        say("%d bytes, %s doubles, tag %d, %s", elements, doubles == MPI_UNDEFINED ? "no whole" : "whole", status.MPI_TAG,
            message == MPI_MESSAGE_NULL ? "null" : "not null");
    }
    MPI_Status status;
    int count = -1, flag = -1;
    MPI_Recv(&count, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    say("no process: %d %d %d", status.MPI_SOURCE == MPI_PROC_NULL, status.MPI_TAG == MPI_ANY_TAG, count);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    say("left: %d", flag);
    MPI_Finalize();
    return 0;
}
