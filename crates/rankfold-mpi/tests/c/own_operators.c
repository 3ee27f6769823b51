/* Operators of the program: matrices that do not commute, derived datatypes, in all reductions. */
#include "say.h"

typedef struct { long m[2][2]; } matrix;

static void multiply(void *in, void *inout, int *n, MPI_Datatype *type) {
    matrix *a = in, *b = inout;
    for (int i = 0; i < *n; i++) {
        matrix c;
        for (int r = 0; r < 2; r++)
            for (int k = 0; k < 2; k++) c.m[r][k] = (a[i].m[r][0] * b[i].m[0][k] + a[i].m[r][1] * b[i].m[1][k]) % 10007;
        b[i] = c;
    }
}

static void longest(void *in, void *inout, int *n, MPI_Datatype *type) {
    int *a = in, *b = inout;
    for (int i = 0; i < *n; i++)
        if (a[i] % 10 > b[i] % 10 || (a[i] % 10 == b[i] % 10 && a[i] < b[i])) b[i] = a[i];
}

static void tell(const char *what, matrix m) { say("%s: %ld %ld %ld %ld", what, m.m[0][0], m.m[0][1], m.m[1][0], m.m[1][1]); }

/* It asks for the datatype, which may have been freed since the call. */
static void add_whole(void *in, void *inout, int *len, MPI_Datatype *type) {
    int size;
    MPI_Type_size(*type, &size);
    for (int i = 0; i < *len * size / (int)sizeof(int); i++) ((int *)inout)[i] += ((int *)in)[i];
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Datatype type;
    MPI_Op op, far;
    MPI_Type_contiguous(4, MPI_LONG, &type), MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    MPI_Op_create(longest, 1, &far);
    matrix mine[2] = {{{{rank + 1, 1}, {0, 1}}}, {{{1, rank}, {rank + 2, 1}}}}, out[2];
    memset(out, 0, sizeof out);
    MPI_Allreduce(mine, out, 2, type, op, MPI_COMM_WORLD);
    tell("all", out[0]), tell("all", out[1]);
    memset(out, 0, sizeof out);
    MPI_Reduce(mine, out, 2, type, op, size - 1, MPI_COMM_WORLD);
    if (rank == size - 1) tell("root", out[0]), tell("root", out[1]);
    MPI_Scan(mine, out, 1, type, op, MPI_COMM_WORLD);
    tell("scan", out[0]);
    memset(out, 0, sizeof out);
    MPI_Exscan(mine, out, 1, type, op, MPI_COMM_WORLD);
    if (rank > 0) tell("exscan", out[0]);
    matrix *all = malloc(size * sizeof(matrix));
    for (int r = 0; r < size; r++) all[r].m[0][0] = rank + r, all[r].m[0][1] = 1, all[r].m[1][0] = 2, all[r].m[1][1] = r;
    MPI_Reduce_scatter_block(all, out, 1, type, op, MPI_COMM_WORLD);
    tell("block", out[0]);
    MPI_Request request;
    MPI_Iallreduce(mine, out, 1, type, op, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    tell("started", out[0]);
    int numbers[3] = {17 * rank, 5 + rank, 100 - rank}, best[3];
    MPI_Allreduce(numbers, best, 3, MPI_INT, far, MPI_COMM_WORLD);
    say("longest: %s", list(best, 3));
    MPI_Reduce_local(numbers, best, 3, MPI_INT, far);
    say("local: %s", list(best, 3));
    int commutes;
    MPI_Op_commutative(op, &commutes);
    say("commutes: %d", commutes);
    MPI_Op_commutative(far, &commutes);
    say("commutes: %d", commutes);
    MPI_Datatype three;
    MPI_Op add;
    MPI_Type_contiguous(3, MPI_INT, &three), MPI_Type_commit(&three), MPI_Op_create(add_whole, 1, &add);
    MPI_Iallreduce(numbers, best, 1, three, add, MPI_COMM_WORLD, &request);
    MPI_Type_free(&three), MPI_Op_free(&add), MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("of what was freed: %s", list(best, 3));
    free(all);
    MPI_Op_free(&op), MPI_Op_free(&far), MPI_Type_free(&type);
    say("freed: %d", op == MPI_OP_NULL);
    MPI_Finalize();
    return 0;
}
