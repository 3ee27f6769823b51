/* Attributes that are deleted and are not set: nothing is deleted, and nothing is wrong (not on openmpi, which refuses it). */
#include "say.h"

static int deletions;

static int delete_comm(MPI_Comm of, int key, void *value, void *state) {
    (void)of, (void)key, (void)value, (void)state;
    return deletions++, MPI_SUCCESS;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int key, code;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_comm, &key, NULL);
    code = MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    say("never set: %d, %d", code == MPI_SUCCESS, deletions);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &key);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    code = MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    say("deleted before: %d, %d", code == MPI_SUCCESS, deletions);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID);
    say("no key: %d", code != MPI_SUCCESS);
    MPI_Comm_free_keyval(&key);
    MPI_Finalize();
    return 0;
}
