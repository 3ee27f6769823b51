/* Operators of the program that read and write whole structs: not on openmpi, not on mpich, which give them less memory.
   A datatype takes some parts of the struct: others are before, between and after them, and its bounds are the struct's. */
#include "say.h"
#include <stddef.h>

typedef struct { double before[3]; int x; char between[84]; double y; char after[200]; } item;

static int misplaced;

static void add(void *in, void *inout, int *n, MPI_Datatype *type) {
    item *a = in, *b = inout;
    if ((size_t)in % sizeof(double) || (size_t)inout % sizeof(double)) misplaced++;
    for (int i = 0; i < *n; i++) {
        item c = a[i];
        c.x += b[i].x, c.y += b[i].y;
        memset(c.before, i, sizeof c.before), memset(c.between, i, sizeof c.between), memset(c.after, i, sizeof c.after);
        b[i] = c;
    }
}

static item *items(int n, int first) {
    item *all = calloc(n, sizeof(item));
    for (int i = 0; i < n; i++) all[i].x = first + i, all[i].y = 10 * first + i;
    return all;
}

static void tell(const char *what, const item *all, int n) {
    int numbers[16];
    for (int i = 0; i < n; i++) numbers[2 * i] = all[i].x, numbers[2 * i + 1] = (int)all[i].y;
    say("%s: %s, misplaced %d", what, list(numbers, 2 * n), misplaced);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int ones[2] = {1, 1};
    MPI_Aint places[2] = {offsetof(item, x), offsetof(item, y)};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, parts, type;
    MPI_Type_create_struct(2, ones, places, types, &parts);
    MPI_Type_create_resized(parts, 0, sizeof(item), &type), MPI_Type_commit(&type);
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    for (int n = 1; n <= 5; n += 2) {
        item *mine = items(n, rank + 1), *out = items(n, 0);
        MPI_Allreduce(mine, out, n, type, op, MPI_COMM_WORLD), tell("all", out, n);
        MPI_Scan(mine, out, n, type, op, MPI_COMM_WORLD), tell("scan", out, n);
        MPI_Reduce(mine, out, n, type, op, 0, MPI_COMM_WORLD);
        if (rank == 0) tell("root", out, n);
        MPI_Reduce_local(mine, out, n, type, op);
        if (rank == 0) tell("local", out, n);
        free(mine), free(out);
    }
    MPI_Op_free(&op), MPI_Type_free(&type), MPI_Type_free(&parts);
    MPI_Finalize();
    return 0;
}
