/* Parts of arrays that are distributed: the order of the elements of small ones, and some of more than 2^24 elements. */
#include "say.h"

enum { X = 6, Y = 5, Z = 4 };

static void tell(int order, const int *kinds, const int *arguments, const int *grid, int places) {
    static const int sizes[3] = {Z, Y, X};
    int array[Z * Y * X], packed[Z * Y * X], count;
    for (int i = 0; i < Z * Y * X; i++) array[i] = i;
    for (int place = 0; place < places; place++) {
        MPI_Datatype type;
        MPI_Type_create_darray(places, place, 3, sizes, kinds, arguments, grid, order, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_size(type, &count), count /= (int)sizeof(int);
        MPI_Sendrecv(array, 1, type, rank, 0, packed, count, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        long order_of_all = 0;
        for (int i = 0; i < count; i++) order_of_all += (i + 1L) * packed[i];
        say("%d of %d: %d, %ld", place, places, count, order_of_all);
        MPI_Type_free(&type);
    }
}

/* Elements that touch, of a type that does not begin at 0. */
static void shifted(void) {
    int one = 1, numbers[6] = {1, 2, 3, 4, 5, 6}, packed[4], at = 0;
    MPI_Aint place = sizeof(int);
    MPI_Datatype later, type;
    MPI_Count bytes, lb, extent;
    MPI_Type_create_hindexed(1, &one, &place, MPI_INT, &later);
    MPI_Type_contiguous(4, later, &type), MPI_Type_commit(&type);
    MPI_Pack(numbers, 1, type, packed, sizeof packed, &at, MPI_COMM_WORLD);
    say("packed: %s", list(packed, 4));
    MPI_Type_free(&type), MPI_Type_free(&later);
    MPI_Type_create_hindexed(1, &one, &place, MPI_CHAR, &later);
    MPI_Type_contiguous(1 << 30, later, &type);
    MPI_Type_size_x(type, &bytes), MPI_Type_get_extent_x(type, &lb, &extent);
    say("%d bytes of %d from %d on", (int)bytes, (int)extent, (int)lb);
    MPI_Type_free(&type), MPI_Type_free(&later);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    enum { B = MPI_DISTRIBUTE_BLOCK, C = MPI_DISTRIBUTE_CYCLIC, N = MPI_DISTRIBUTE_NONE, D = MPI_DISTRIBUTE_DFLT_DARG };
    static const int kinds[5][3] = {{B, B, B}, {C, C, C}, {C, C, C}, {B, N, C}, {N, B, C}};
    static const int arguments[5][3] = {{D, D, D}, {D, D, D}, {2, 3, 2}, {3, D, 4}, {D, 4, 2}};
    static const int grids[5][3] = {{2, 2, 1}, {2, 1, 2}, {1, 2, 2}, {2, 1, 2}, {1, 2, 2}};
    for (int i = 0; i < 5; i++) {
        tell(MPI_ORDER_C, kinds[i], arguments[i], grids[i], 4);
        tell(MPI_ORDER_FORTRAN, kinds[i], arguments[i], grids[i], 4);
    }
    int sizes[2] = {5000, 5000}, blocks[2] = {B, B}, defaults[2] = {D, D}, grid[2] = {1, 1};
    MPI_Datatype type;
    MPI_Count bytes, lb, extent;
    MPI_Type_create_darray(1, 0, 2, sizes, blocks, defaults, grid, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_size_x(type, &bytes), MPI_Type_get_extent_x(type, &lb, &extent);
    say("%d bytes of %d", (int)bytes, (int)extent);
    MPI_Type_free(&type);
    // The second place has nothing of the first dimension, however long the other one is.
    int few_and_many[2] = {1, 1 << 30}, kinds_of_both[2] = {B, N}, two[2] = {2, 1};
    MPI_Type_create_darray(2, 1, 2, few_and_many, kinds_of_both, defaults, two, MPI_ORDER_FORTRAN, MPI_CHAR, &type);
    MPI_Type_size_x(type, &bytes);
    say("%d bytes of an empty part", (int)bytes);
    MPI_Type_free(&type);
    shifted();
    MPI_Finalize();
    return 0;
}
