/* What a window tells: predefined attributes, the program's own, its name, its group. */
#include "say.h"

static int copied, deleted;
static int copy(MPI_Win win, int key, void *state, void *in, void *out, int *flag) { return copied++, *flag = 0, MPI_SUCCESS; }
static int delete(MPI_Win win, int key, void *value, void *state) { return deleted += *(int *)value + *(int *)state, MPI_SUCCESS; }

static void tell(MPI_Win win, void *base) {
    void *at;
    MPI_Aint *bytes;
    int *unit, *flavor, *model, there;
    MPI_Win_get_attr(win, MPI_WIN_BASE, &at, &there);
    int same = there && at == base;
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &bytes, &there);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &unit, &there);
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &there);
    const char *made = *flavor == MPI_WIN_FLAVOR_CREATE ? "create" : *flavor == MPI_WIN_FLAVOR_ALLOCATE ? "allocate" : *flavor == MPI_WIN_FLAVOR_SHARED ? "shared" : "dynamic";
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &there);
    say("base %d, size %d, unit %d, %s, unified %d", same || *flavor != MPI_WIN_FLAVOR_CREATE, (int)*bytes, *unit, made, *model == MPI_WIN_UNIFIED);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int memory[4], key, *value, there, length, state = 100, five = 5, six = 6, n, r;
    void *base;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Win win, other;
    MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    tell(win, memory);
    MPI_Win_allocate(8 * (rank + 1), 2, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &other);
    tell(other, base);
    MPI_Win_create_keyval(copy, delete, &key, &state);
    MPI_Win_get_attr(win, key, &value, &there);
    say("none: %d", there);
    MPI_Win_set_attr(win, key, &five);
    MPI_Win_set_attr(other, key, &six);
    MPI_Win_get_attr(win, key, &value, &there);
    say("value: %d %d", there, *value);
    MPI_Win_set_attr(win, key, &six);
    say("replaced: %d", deleted);
    MPI_Win_delete_attr(win, key);
    say("deleted: %d", deleted);
    MPI_Win_get_attr(win, key, &value, &there);
    say("none: %d", there);
    MPI_Win_free_keyval(&key);
    say("key: %d", key == MPI_KEYVAL_INVALID);
    MPI_Win_set_name(win, "the first window");
    MPI_Win_get_name(win, name, &length);
    say("%s, %d", name, length);
    MPI_Group group, world;
    MPI_Win_get_group(win, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &n), MPI_Group_rank(group, &r), MPI_Group_compare(group, world, &length);
    say("group: %d %d, %d", n, r, length == MPI_IDENT);
    MPI_Info info, hints;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "false");
    MPI_Win_set_info(win, info);
    MPI_Win_get_info(win, &hints);
    say("info: %d", hints != MPI_INFO_NULL);
    MPI_Info_free(&info), MPI_Info_free(&hints);
    MPI_Win_free(&win);
    MPI_Win_free(&other);
    say("deleted: %d, copied: %d", deleted, copied);
    MPI_Group_free(&group), MPI_Group_free(&world);
    MPI_Finalize();
    return 0;
}
