/* Attributes with their functions, infos, and predefined attributes. */
#include "say.h"

static int copies, deletions;

static int copy(MPI_Comm comm, int key, void *state, void *value, void *to, int *flag) {
    (void)comm, (void)key;
    copies++;
    *(void **)to = (char *)value + *(int *)state;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *state) {
    (void)comm, (void)key, (void)value, (void)state;
    deletions++;
    return MPI_SUCCESS;
}

static int last(MPI_Comm comm, int key, void *value, void *state) {
    (void)comm, (void)key, (void)state;
    int finalized;
    MPI_Finalized(&finalized), say("at the end: %ld %d", (long)value, finalized);
    return MPI_SUCCESS;
}

static int refuse(MPI_Comm comm, int key, void *state, void *value, void *to, int *flag) {
    return MPI_ERR_OTHER;
}

static void dup_refused(void) {
    MPI_Comm from, made;
    int key;
    MPI_Comm_dup(MPI_COMM_SELF, &from);
    made = from;
    MPI_Comm_set_errhandler(from, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(from, key, NULL);
    int refused = MPI_Comm_dup(from, &made) != MPI_SUCCESS;
    say("refused: %d, null: %d", refused, made == MPI_COMM_NULL);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&from);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int key, dup, none, state = 5, flag, *number;
    char *value;
    MPI_Comm comm;
    MPI_Comm_create_keyval(copy, delete, &key, &state);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &none, NULL);
    MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag), say("unset: %d", flag);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)100);
    MPI_Comm_set_attr(MPI_COMM_WORLD, dup, (void *)200);
    MPI_Comm_set_attr(MPI_COMM_WORLD, none, (void *)300);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_get_attr(comm, key, &value, &flag), say("copied: %d %ld", flag, (long)value);
    MPI_Comm_get_attr(comm, dup, &value, &flag), say("the same: %d %ld", flag, (long)value);
    MPI_Comm_get_attr(comm, none, &value, &flag), say("not copied: %d", flag);
    MPI_Comm_set_attr(comm, key, (void *)1), say("replaced: %d", deletions);
    MPI_Comm_free(&comm), say("freed: %d %d", copies, deletions);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key), say("deleted: %d", deletions);
    MPI_Comm_free_keyval(&key), say("invalid: %d", key == MPI_KEYVAL_INVALID);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &number, &flag), say("tags: %d %d", flag, *number >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &number, &flag), say("time: %d", flag);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &number, &flag), say("host: %d", flag);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &number, &flag), say("io: %d", flag);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &flag), say("program: %d %d", flag, *number);
    MPI_Info info, other;
    char text[64];
    int keys, len;
    MPI_Info_create(&info);
    MPI_Info_set(info, "a", "first"), MPI_Info_set(info, "b", "second"), MPI_Info_set(info, "a", "third");
    MPI_Info_dup(info, &other), MPI_Info_delete(info, "a");
    MPI_Info_get_nkeys(info, &keys), MPI_Info_get(info, "a", 63, text, &flag), say("info: %d %d", keys, flag);
    MPI_Info_get_nkeys(other, &keys), MPI_Info_get(other, "a", 63, text, &flag), say("info: %d %d %s", keys, flag, text);
    MPI_Info_get_valuelen(other, "b", &len, &flag), say("info: %d %d", len, flag);
    MPI_Info_free(&info), MPI_Info_free(&other), say("info: %d", info == MPI_INFO_NULL);
    /* MPI_Finalize deletes what MPI_COMM_SELF has, the last that was set first. */
    int first, second, third;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last, &first, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last, &second, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last, &third, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, second, (void *)2), MPI_Comm_set_attr(MPI_COMM_SELF, first, (void *)1);
    MPI_Comm_set_attr(MPI_COMM_SELF, third, (void *)3);
    dup_refused();
    MPI_Finalize();
    return 0;
}
