/* Keys of attributes that are made with the same functions, or with none: each is another one, also after one was freed. */
#include "say.h"

static void tell(const char *what, MPI_Comm comm, int key) {
    void *value = NULL;
    int flag;
    MPI_Comm_get_attr(comm, key, &value, &flag);
    say("%s: %d %ld", what, flag, flag ? (long)value : 0);
}

static int make(void) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    return key;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int first = make();
    MPI_Comm_set_attr(comm, first, (void *)1), tell("first", comm, first);
    /* The value stays until the communicator is freed. */
    MPI_Comm_free_keyval(&first);
    int second = make();
    tell("second, unset", comm, second);
    MPI_Comm_set_attr(comm, second, (void *)2), tell("second", comm, second);
    int keys[20], equal = 0;
    for (int i = 0; i < 20; i++) keys[i] = make(), MPI_Comm_set_attr(comm, keys[i], (void *)(long)(10 + i));
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < i; k++) equal += keys[i] == keys[k];
    tell("second", comm, second), tell("of many", comm, keys[0]), tell("of many", comm, keys[19]), say("equal: %d", equal);
    for (int i = 0; i < 20; i += 2) MPI_Comm_free_keyval(&keys[i]);
    int last = make();
    tell("last, unset", comm, last), tell("of many", comm, keys[1]);
    MPI_Comm_free_keyval(&last), MPI_Comm_free_keyval(&second);
    for (int i = 1; i < 20; i += 2) MPI_Comm_free_keyval(&keys[i]);
    MPI_Comm_free(&comm);
    int of_types[2];
    MPI_Datatype type;
    MPI_Type_dup(MPI_INT, &type);
    for (int i = 0; i < 2; i++) {
        void *value;
        int flag;
        MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &of_types[i], NULL);
        MPI_Type_get_attr(type, of_types[i], &value, &flag), say("of a datatype: %d", flag);
        MPI_Type_set_attr(type, of_types[i], &type), MPI_Type_free_keyval(&of_types[i]);
    }
    MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}
