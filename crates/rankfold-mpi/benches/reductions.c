/* Reductions of numbers: nanoseconds of each, the best of five repetitions. rankfold-mpicc -O2, rankfold-mpirun -n 2. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, counts[] = {1, 128, 4096};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double *a = calloc(4096, 8), *b = calloc(4096, 8);
    for (int which = 0; which < 3; which++)
        for (int c = 0; c < 3; c++) {
            int n = counts[c], rounds = n > 1000 ? 3000 : 20000;
            double best = 1e9;
            for (int rep = 0; rep < 5; rep++) {
                MPI_Barrier(MPI_COMM_WORLD);
                double t = MPI_Wtime();
                for (int i = 0; i < rounds; i++) {
                    if (which == 0) MPI_Reduce(a, b, n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
                    if (which == 1) MPI_Scan(a, b, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
                    if (which == 2) MPI_Allreduce(a, b, n, MPI_INT, MPI_BXOR, MPI_COMM_WORLD);
                }
                MPI_Barrier(MPI_COMM_WORLD);
                t = (MPI_Wtime() - t) / rounds * 1e9;
                if (t < best) best = t;
            }
            if (rank == 0) printf("%s %d: %.0f ns\n", which == 0 ? "reduce" : which == 1 ? "scan" : "all-reduce bxor", n, best);
        }
    MPI_Finalize();
    return 0;
}
