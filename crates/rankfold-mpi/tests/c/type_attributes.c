/* Attributes of datatypes, copied when a datatype is duplicated and deleted when it is freed. */
#include "say.h"

static int copies, deletions;
static int copy(MPI_Datatype type, int key, void *state, void *in, void *out, int *flag) {
    copies++;
    *(int **)out = in;
    *flag = *(int *)state;
    return MPI_SUCCESS;
}
static int delete(MPI_Datatype type, int key, void *value, void *state) { return deletions += *(int *)value, MPI_SUCCESS; }

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Datatype type, twin, bare;
    int key, plain, same, yes = 1, five = 5, ten = 10, *value, there;
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_create_keyval(copy, delete, &key, &yes);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &plain, NULL);
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &same, NULL);
    MPI_Type_get_attr(type, key, &value, &there);
    say("none: %d", there);
    MPI_Type_set_attr(type, key, &five);
    MPI_Type_set_attr(type, plain, &ten);
    MPI_Type_set_attr(type, same, &ten);
    MPI_Type_get_attr(type, key, &value, &there);
    say("value: %d %d", there, *value);
    MPI_Type_dup(type, &twin);
    MPI_Type_get_attr(twin, key, &value, &there);
    say("copied: %d %d, %d", there, there ? *value : 0, copies);
    MPI_Type_get_attr(twin, plain, &value, &there);
    say("not copied: %d", there);
    MPI_Type_get_attr(twin, same, &value, &there);
    say("the same: %d %d", there, value == &ten);
    MPI_Type_set_attr(twin, key, &ten);
    say("deleted: %d", deletions);
    MPI_Type_delete_attr(twin, key);
    say("deleted: %d", deletions);
    MPI_Type_free(&twin);
    say("deleted: %d", deletions);
    MPI_Type_free(&type);
    say("deleted: %d", deletions);
    MPI_Type_set_attr(MPI_INT, plain, &five);
    MPI_Type_get_attr(MPI_INT, plain, &value, &there);
    say("predefined: %d %d", there, *value);
    type = MPI_INT;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    say("freed: %d", MPI_Type_free(&type) == MPI_SUCCESS);
    MPI_Type_get_attr(MPI_INT, plain, &value, &there);
    say("predefined: %d", there);
    MPI_Type_delete_attr(MPI_INT, plain);
    MPI_Type_get_attr(MPI_INT, plain, &value, &there);
    say("predefined: %d", there);
    MPI_Type_free_keyval(&key), MPI_Type_free_keyval(&plain), MPI_Type_free_keyval(&same);
    say("keys: %d", key == MPI_KEYVAL_INVALID);
    MPI_Finalize();
    return 0;
}
