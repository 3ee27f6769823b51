/* Operators of the program: one that does not commute, on a datatype of the program. */
#include "say.h"

typedef struct { long a[4]; } matrix;

static int calls;

static void multiply(void *in, void *inout, int *len, MPI_Datatype *type) {
    matrix *x = in, *y = inout;
    (void)type;
    calls++;
    for (int i = 0; i < *len; i++) {
        matrix z = {{x[i].a[0] * y[i].a[0] + x[i].a[1] * y[i].a[2], x[i].a[0] * y[i].a[1] + x[i].a[1] * y[i].a[3],
                     x[i].a[2] * y[i].a[0] + x[i].a[3] * y[i].a[2], x[i].a[2] * y[i].a[1] + x[i].a[3] * y[i].a[3]}};
        y[i] = z;
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Datatype type;
    MPI_Op op;
    int commutes;
    MPI_Type_contiguous(4, MPI_LONG, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    MPI_Op_commutative(op, &commutes);
    matrix mine[2] = {{{1, rank + 1, 0, 1}}, {{1, 1, rank, 1}}}, all[2], scan[2];
    MPI_Allreduce(mine, all, 2, type, op, MPI_COMM_WORLD);
    MPI_Scan(mine, scan, 2, type, op, MPI_COMM_WORLD);
    say("%d: %ld %ld %ld %ld, %ld %ld %ld %ld", commutes, all[0].a[0], all[0].a[1], all[0].a[2], all[0].a[3], all[1].a[0],
        all[1].a[1], all[1].a[2], all[1].a[3]);
    say("%ld %ld %ld %ld", scan[1].a[0], scan[1].a[1], scan[1].a[2], scan[1].a[3]);
    MPI_Op_commutative(MPI_SUM, &commutes);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    say("%d %d %d", commutes, op == MPI_OP_NULL, type == MPI_DATATYPE_NULL);
    MPI_Finalize();
    return 0;
}
