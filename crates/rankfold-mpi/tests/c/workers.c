/* Rank 0 hands out tasks and takes results from any source; a tag ends a worker. */
#include "say.h"

enum { WORK = 1, END = 2, TASKS = 30 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Status status;
    if (rank == 0) {
        int next = 0, open = 0, results[TASKS], done = 0;
        for (int to = 1; to < size; to++, open++) MPI_Send(&next, 1, MPI_INT, to, next < TASKS ? WORK : END, MPI_COMM_WORLD), next++;
        while (done < TASKS && size > 1) {
            int result[2], flag = 0;
            while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
            MPI_Recv(result, 2, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
            results[result[0]] = result[1], done++;
            MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, next < TASKS ? WORK : END, MPI_COMM_WORLD);
            next++;
        }
        for (int i = 0; i < TASKS && size == 1; i++) results[i] = i * i;
        say("results: %s", list(results, TASKS));
    } else {
        int task, done = 0;
        for (;;) {
            MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            if (status.MPI_TAG == END) break;
            int result[2] = {task, task * task};
            MPI_Send(result, 2, MPI_INT, 0, WORK, MPI_COMM_WORLD);
            done++;
        }
        say("ended by rank %d, worked: %d", status.MPI_SOURCE, done > 0);
    }
    MPI_Finalize();
    return 0;
}
