/* Infos: keys and values, their lengths, copies, and as arguments of other calls. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Info info, twin;
    char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1];
    int n, length, there;
    MPI_Info_create(&info);
    MPI_Info_get_nkeys(info, &n);
    say("keys: %d", n);
    MPI_Info_set(info, "first", "one");
    MPI_Info_set(info, "second", "two");
    MPI_Info_set(info, "third", "three");
    MPI_Info_set(info, "second", "another");
    MPI_Info_get_nkeys(info, &n);
    MPI_Info_get(info, "second", MPI_MAX_INFO_VAL, value, &there);
    say("keys: %d, second: %d %s", n, there, value);
    MPI_Info_get_valuelen(info, "third", &length, &there);
    say("length: %d %d", length, there);
    MPI_Info_get(info, "fourth", MPI_MAX_INFO_VAL, value, &there);
    say("fourth: %d", there);
    MPI_Info_get_valuelen(info, "fourth", &length, &there);
    say("fourth: %d", there);
    MPI_Info_dup(info, &twin);
    MPI_Info_delete(info, "first");
    MPI_Info_get_nkeys(info, &n);
    MPI_Info_get_nkeys(twin, &length);
    say("after: %d %d", n, length);
    MPI_Info_set(twin, "a last one", "four");
    MPI_Info_get_nkeys(twin, &length);
    for (int i = 0; i < length; i++) {
        MPI_Info_get_nthkey(twin, i, key);
        say("key %d: %s", i, key);
    }
    int seen = 0;
    for (int i = 0; i < length; i++) {
        MPI_Info_get_nthkey(twin, i, key);
        seen += strlen(key);
    }
    say("names: %d characters", seen);
    MPI_Comm comm;
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, twin, &comm);
    MPI_Comm_set_info(comm, info);
    MPI_Info got;
    MPI_Comm_get_info(comm, &got);
    say("of a communicator: %d", got != MPI_INFO_NULL);
    MPI_Info_free(&got);
    MPI_Comm_free(&comm);
    void *memory;
    MPI_Alloc_mem(100, info, &memory);
    memset(memory, 7, 100);
    MPI_Free_mem(memory);
    MPI_Info_free(&info), MPI_Info_free(&twin);
    say("freed: %d", info == MPI_INFO_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Info_create(&info);
    int code = MPI_Info_delete(info, "none");
    MPI_Error_class(code, &n);
    say("no such key: %d", n == MPI_ERR_INFO_NOKEY);
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
