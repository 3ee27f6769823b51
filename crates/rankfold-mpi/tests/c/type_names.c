/* The name that a rank gives to a predefined datatype is its own. */
#include "say.h"

static void tell(MPI_Datatype type) {
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Type_get_name(type, name, &length);
    say("%s, %d", name, length);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    char name[32];
    MPI_Datatype copy;
    tell(MPI_INT);
    snprintf(name, sizeof name, "integer of %d", rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 1) MPI_Type_set_name(MPI_INT, name);
    MPI_Barrier(MPI_COMM_WORLD);
    tell(MPI_INT), tell(MPI_DOUBLE);
    MPI_Type_dup(MPI_INT, &copy), MPI_Type_set_name(copy, "a copy"), tell(copy), tell(MPI_INT), MPI_Type_free(&copy);
    MPI_Finalize();
    return 0;
}
