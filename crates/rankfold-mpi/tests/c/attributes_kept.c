/* A function that refuses to delete an attribute: the communicator stays, with its attributes in their order. */
#include "say.h"

static int refuses;

static int delete(MPI_Comm comm, int key, void *value, void *state) {
    say("delete %ld", (long)value);
    return (long)value == refuses ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm comm;
    int keys[3], flag;
    void *value;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (long i = 0; i < 3; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &keys[i], NULL);
        MPI_Comm_set_attr(comm, keys[i], (void *)(i + 1));
    }
    refuses = 2;
    say("delete: %d", MPI_Comm_delete_attr(comm, keys[1]) != MPI_SUCCESS);
    MPI_Comm_get_attr(comm, keys[1], &value, &flag), say("still there: %d", flag);
    refuses = 0;
    MPI_Comm_free(&comm), say("freed: %d", comm == MPI_COMM_NULL);
    for (int i = 0; i < 3; i++) MPI_Comm_free_keyval(&keys[i]);
    MPI_Finalize();
    return 0;
}
