/* Derived datatypes: sizes, extents, true extents, what they pack, and messages of them. */
#include "say.h"

static int data[256];

static void tell(const char *name, MPI_Datatype type) {
    MPI_Aint lb, extent, first, true_extent;
    int bytes, packed[256], position = 0, count, back[256];
    MPI_Status status;
    MPI_Type_commit(&type);
    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &first, &true_extent);
    MPI_Pack(data, 1, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    say("%s: size %d, lb %ld, extent %ld, true %ld %ld: %s", name, bytes, (long)lb, (long)extent, (long)first,
        (long)true_extent, list(packed, position / 4));
    memset(back, 0, sizeof back);
    MPI_Sendrecv(data, 1, type, rank, 0, back, 64, MPI_INT, rank, 0, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    say("%s received: %s", name, list(back, count));
    MPI_Type_free(&type);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int i = 0; i < 256; i++) data[i] = i;
    MPI_Datatype type, inner;
    MPI_Type_contiguous(3, MPI_INT, &type), tell("contiguous", type);
    MPI_Type_vector(3, 2, 4, MPI_INT, &type), tell("vector", type);
    MPI_Type_create_hvector(3, 1, 20, MPI_INT, &type), tell("hvector", type);
    int lens[3] = {2, 1, 3}, places[3] = {5, 0, 9};
    MPI_Aint bytes[3] = {20, 0, 36};
    MPI_Type_indexed(3, lens, places, MPI_INT, &type), tell("indexed", type);
    MPI_Type_create_hindexed(3, lens, bytes, MPI_INT, &type), tell("hindexed", type);
    MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type), tell("indexed_block", type);
    MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type), tell("hindexed_block", type);
    MPI_Type_vector(2, 1, 3, MPI_INT, &inner);
    MPI_Type_create_resized(inner, 0, 8, &type), tell("resized", type);
    MPI_Type_create_resized(inner, -4, 20, &type), tell("resized below", type);
    MPI_Type_contiguous(2, inner, &type), tell("of vectors", type);
    MPI_Datatype types[3] = {MPI_INT, inner, MPI_INT};
    MPI_Aint at[3] = {0, 8, 40};
    int ones[3] = {1, 2, 1};
    MPI_Type_create_struct(3, ones, at, types, &type), tell("struct", type);
    MPI_Type_dup(inner, &type), tell("dup", type);
    MPI_Type_free(&inner);
    int sizes[3] = {4, 5, 6}, part[3] = {2, 3, 2}, starts[3] = {1, 1, 3};
    MPI_Type_create_subarray(3, sizes, part, starts, MPI_ORDER_C, MPI_INT, &type), tell("subarray", type);
    MPI_Type_create_subarray(3, sizes, part, starts, MPI_ORDER_FORTRAN, MPI_INT, &type), tell("fortran", type);
    int grid[2] = {2, 2}, kinds[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    for (int r = 0; r < 4; r++) {
        MPI_Type_create_darray(4, r, 2, sizes + 1, kinds, dargs, grid, MPI_ORDER_C, MPI_INT, &type), tell("darray", type);
    }
    struct { char c; double d; int i; } s;
    MPI_Aint base, addresses[3];
    MPI_Datatype basics[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    int single[3] = {1, 1, 1}, whole;
    MPI_Get_address(&s, &base);
    MPI_Get_address(&s.c, &addresses[0]), MPI_Get_address(&s.d, &addresses[1]), MPI_Get_address(&s.i, &addresses[2]);
    for (int i = 0; i < 3; i++) addresses[i] = MPI_Aint_diff(addresses[i], base);
    MPI_Type_create_struct(3, single, addresses, basics, &type);
    MPI_Aint lb, extent;
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_size(type, &whole);
    say("struct of C: size %d extent %d", whole, (int)extent);
    int integers, aints, datatypes, combiner;
    MPI_Type_get_envelope(type, &integers, &aints, &datatypes, &combiner);
    int numbers[8];
    MPI_Aint got[8];
    MPI_Datatype of[8];
    MPI_Type_get_contents(type, integers, aints, datatypes, numbers, got, of);
    say("contents %d %d %d %d: %s %d %d", integers, aints, datatypes, combiner == MPI_COMBINER_STRUCT, list(numbers, integers),
        (int)got[2], of[1] == MPI_DOUBLE);
    MPI_Type_free(&type);
    /* A long double complex is aligned as its halves. */
    MPI_Datatype pair[2] = {MPI_C_LONG_DOUBLE_COMPLEX, MPI_CHAR};
    MPI_Aint where[2] = {0, 2 * sizeof(long double)};
    MPI_Type_create_struct(2, single, where, pair, &type);
    MPI_Type_get_extent(type, &lb, &extent), say("of a complex number: %d", extent == 3 * sizeof(long double));
    MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}
