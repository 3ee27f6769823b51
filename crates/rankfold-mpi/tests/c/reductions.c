/* Predefined operators on several datatypes, and every reduction, blocking and started. */
#include "say.h"
#include <complex.h>
#include <stdbool.h>

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR};
    for (int op = 0; op < 10; op++) {
        int in[2] = {rank + 1, rank % 2}, all[2], scan[2], before[2] = {-1, -1}, at_root[2] = {-1, -1};
        MPI_Allreduce(in, all, 2, MPI_INT, ops[op], MPI_COMM_WORLD);
        MPI_Scan(in, scan, 2, MPI_INT, ops[op], MPI_COMM_WORLD);
        MPI_Exscan(in, before, 2, MPI_INT, ops[op], MPI_COMM_WORLD);
        MPI_Reduce(in, at_root, 2, MPI_INT, ops[op], 0, MPI_COMM_WORLD);
        say("op %d: %s, %s, %s, %s", op, list(all, 2), list(scan, 2), list(before, rank ? 2 : 0),
            list(at_root, rank ? 0 : 2));
    }
    double d[2] = {rank + 0.5, -rank}, dd[2];
    MPI_Allreduce(d, dd, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    float f = rank, ff;
    MPI_Allreduce(&f, &ff, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    unsigned char c = 200, cc;
    MPI_Allreduce(&c, &cc, 1, MPI_UNSIGNED_CHAR, MPI_MIN, MPI_COMM_WORLD);
    double complex z = rank + 1 + I, zz;
    MPI_Allreduce(&z, &zz, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
    bool b = rank == 1, bb;
    MPI_Allreduce(&b, &bb, 1, MPI_C_BOOL, MPI_LOR, MPI_COMM_WORLD);
    say("%g %g %g %d %g %g %d", dd[0], dd[1], ff, cc, creal(zz), cimag(zz), bb);
    struct { double value; int place; } di = {rank % 3, rank}, low, high;
    MPI_Allreduce(&di, &low, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    MPI_Allreduce(&di, &high, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    int pair[2] = {-rank, rank}, least[2];
    MPI_Allreduce(pair, least, 1, MPI_2INT, MPI_MINLOC, MPI_COMM_WORLD);
    say("%g %d, %g %d, %s", low.value, low.place, high.value, high.place, list(least, 2));
    int blocks[64], counts[64], part[8] = {0}, n = size;
    MPI_Request request;
    for (int i = 0; i < 2 * n; i++) blocks[i] = rank + i;
    for (int i = 0; i < n; i++) counts[i] = 1 + i % 2;
    MPI_Reduce_scatter_block(blocks, part, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("blocks %s", list(part, 2));
    MPI_Reduce_scatter(blocks, part, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("parts %s", list(part, counts[rank]));
    MPI_Ireduce_scatter(blocks, part, counts, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("parts %s", list(part, counts[rank]));
    int sum = rank, before = -1;
    MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iexscan(&rank, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("%d %d", sum, rank ? before : -1);
    if (rank == 0) MPI_Reduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    else MPI_Reduce(&sum, NULL, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    int a[2] = {1, 2}, l[2] = {10, 20};
    MPI_Reduce_local(a, l, 2, MPI_INT, MPI_SUM);
    say("%d, %s", sum, list(l, 2));
    MPI_Finalize();
    return 0;
}
