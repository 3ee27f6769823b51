/* Extents are rounded up to the alignment, whichever call makes a datatype: not on mpich, which rounds those of structs alone. */
#include "say.h"

static void tell(const char *what, MPI_Datatype type) {
    MPI_Aint lb, extent;
    int bytes;
    MPI_Type_get_extent(type, &lb, &extent), MPI_Type_size(type, &bytes);
    say("%s: %d, %d, %d", what, (int)lb, (int)extent, bytes);
    MPI_Type_free(&type);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    static const MPI_Datatype of[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_DOUBLE_INT, MPI_2INT};
    MPI_Datatype type, part;
    for (int i = 0; i < 6; i++) {
        int bytes, ones[2] = {1, 1};
        MPI_Type_size(of[i], &bytes);
        MPI_Aint places[2] = {3, 3 + 2 * bytes}, before[2] = {-5, 2 * bytes};
        MPI_Type_create_hvector(2, 1, 2 * bytes + 1, of[i], &type), tell("hvector", type);
        MPI_Type_create_hvector(3, 1, -2 * bytes - 1, of[i], &type), tell("hvector backwards", type);
        MPI_Type_create_hindexed(2, ones, places, of[i], &type), tell("hindexed", type);
        MPI_Type_create_hindexed(2, ones, before, of[i], &type), tell("hindexed", type);
        MPI_Type_create_hindexed_block(2, 1, before, of[i], &type), tell("hindexed_block", type);
        MPI_Type_vector(2, 1, 3, of[i], &type), tell("vector", type);
        /* What is made of it has an extent that is rounded already. */
        MPI_Type_create_hvector(2, 1, 2 * bytes + 1, of[i], &part);
        MPI_Type_contiguous(3, part, &type), tell("contiguous", type);
        MPI_Type_vector(2, 1, 2, part, &type), tell("vector of them", type);
        MPI_Type_free(&part);
        /* Bounds that were set stay as they are. */
        MPI_Type_create_resized(of[i], 0, bytes + 3, &part);
        MPI_Type_contiguous(3, part, &type), tell("contiguous of resized", type);
        MPI_Type_create_hvector(2, 1, 2 * bytes + 1, part, &type), tell("hvector of resized", type);
        MPI_Type_free(&part);
    }
    MPI_Finalize();
    return 0;
}
