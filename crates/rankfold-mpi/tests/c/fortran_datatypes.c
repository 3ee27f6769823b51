/* Datatypes with names of Fortran, and the complex numbers of C: their sizes, and reductions of them. */
#include <complex.h>
#include "say.h"

static const struct { const char *name; MPI_Datatype type; } all[] = {
#define TYPE(name) {#name, name}
    TYPE(MPI_INTEGER), TYPE(MPI_REAL), TYPE(MPI_DOUBLE_PRECISION), TYPE(MPI_COMPLEX), TYPE(MPI_DOUBLE_COMPLEX),
    TYPE(MPI_LOGICAL), TYPE(MPI_CHARACTER), TYPE(MPI_2INTEGER), TYPE(MPI_2REAL), TYPE(MPI_2DOUBLE_PRECISION),
    TYPE(MPI_C_LONG_DOUBLE_COMPLEX), TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX), TYPE(MPI_INTEGER1), TYPE(MPI_INTEGER2),
    TYPE(MPI_INTEGER4), TYPE(MPI_INTEGER8), TYPE(MPI_REAL4), TYPE(MPI_REAL8), TYPE(MPI_COMPLEX8), TYPE(MPI_COMPLEX16),
};

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        int bytes;
        MPI_Aint lower, extent;
        MPI_Type_size(all[i].type, &bytes), MPI_Type_get_extent(all[i].type, &lower, &extent);
        say("%s: %d bytes, extent %ld", all[i].name, bytes, (long)extent);
    }
    int truth[2] = {rank == 0, 1}, truths[2];
    MPI_Allreduce(truth, truths, 2, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD), say("and: %s", list(truths, 2));
    MPI_Allreduce(truth, truths, 2, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD), say("or: %s", list(truths, 2));
    MPI_Allreduce(truth, truths, 2, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD), say("xor: %s", list(truths, 2));
    float pair[2] = {(float)(rank % 3), (float)rank}, pairs[2];
    MPI_Allreduce(pair, pairs, 1, MPI_2REAL, MPI_MAXLOC, MPI_COMM_WORLD), say("max: %g at %g", pairs[0], pairs[1]);
    double two[2] = {(double)-(rank % 2), (double)rank}, twos[2];
    MPI_Allreduce(two, twos, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD), say("min: %g at %g", twos[0], twos[1]);
    long double complex number = rank + 1 + 2.0L * I, result;
    MPI_Allreduce(&number, &result, 1, MPI_C_LONG_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    say("sum: %g %g", (double)creall(result), (double)cimagl(result));
    MPI_Allreduce(&number, &result, 1, MPI_C_LONG_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
    say("product: %g %g", (double)creall(result), (double)cimagl(result));
    MPI_Sendrecv_replace(&number, 1, MPI_C_LONG_DOUBLE_COMPLEX, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    say("left: %g", (double)creall(number));
    MPI_Finalize();
    return 0;
}
