/* Communicators and groups. */
#include "say.h"

static void tell(const char *what, MPI_Comm comm) {
    int r = -1, n = -1, sum = 0, relation;
    if (comm == MPI_COMM_NULL) {
        say("%s: null", what);
        return;
    }
    MPI_Comm_rank(comm, &r), MPI_Comm_size(comm, &n);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &relation);
    say("%s: %d of %d, sum %d, %s", what, r, n, sum,
        relation == MPI_IDENT ? "identical" : relation == MPI_CONGRUENT ? "congruent" : relation == MPI_SIMILAR ? "similar" : "unequal");
}

static void tell_group(const char *what, MPI_Group group) {
    int n, r, mine[64], there[64];
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &n), MPI_Group_rank(group, &r);
    for (int i = 0; i < n; i++) mine[i] = i;
    MPI_Group_translate_ranks(group, n, mine, world, there);
    say("%s: %d of %d: %s", what, r == MPI_UNDEFINED ? -1 : r, n, list(there, n));
    MPI_Group_free(&world);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm comm;
    tell("world", MPI_COMM_WORLD);
    tell("self", MPI_COMM_SELF);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm), tell("dup", comm), MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm), tell("split", comm), MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm), tell("reversed", comm), MPI_Comm_free(&comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank ? 5 : MPI_UNDEFINED, 0, &comm), tell("undefined", comm);
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm), tell("shared", comm), MPI_Comm_free(&comm);
    MPI_Group world, some, others, made;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int ranks[64], n = 0, range[1][3] = {{size - 1, 0, -1}};
    for (int i = 0; i < size; i += 2) ranks[n++] = i;
    MPI_Group_incl(world, n, ranks, &some), tell_group("incl", some);
    MPI_Group_excl(world, n, ranks, &others), tell_group("excl", others);
    MPI_Group_union(others, some, &made), tell_group("union", made), MPI_Group_free(&made);
    MPI_Group_intersection(world, some, &made), tell_group("intersection", made), MPI_Group_free(&made);
    MPI_Group_difference(world, some, &made), tell_group("difference", made);
    int same;
    MPI_Group_compare(made, others, &same), say("compare %d", same == MPI_IDENT);
    if (made != MPI_GROUP_EMPTY) MPI_Group_free(&made);
    MPI_Group_range_incl(world, 1, range, &made), tell_group("range", made);
    MPI_Comm_create(MPI_COMM_WORLD, made, &comm), tell("created", comm), MPI_Comm_free(&comm);
    MPI_Comm_create(MPI_COMM_WORLD, some, &comm), tell("created", comm);
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    if (rank % 2 == 0) MPI_Comm_create_group(MPI_COMM_WORLD, some, 3, &comm), tell("of members", comm), MPI_Comm_free(&comm);
    say("%d", comm == MPI_COMM_NULL);
    char name[MPI_MAX_OBJECT_NAME];
    int len;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &len), say("%s %d", name, len);
    MPI_Comm_set_name(MPI_COMM_SELF, "alone"), MPI_Comm_get_name(MPI_COMM_SELF, name, &len), say("%s %d", name, len);
    MPI_Type_get_name(MPI_DOUBLE, name, &len), say("%s %d", name, len);
    MPI_Finalize();
    return 0;
}
