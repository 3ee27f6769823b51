/* Groups: sets, ranges, comparisons, ranks in others; communicators of them. */
#include "say.h"

static void tell(const char *what, MPI_Group group) {
    int n, me, numbers[64], all[64];
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(group, &n), MPI_Group_rank(group, &me);
    for (int i = 0; i < n; i++) numbers[i] = i;
    MPI_Group_translate_ranks(group, n, numbers, world, all);
    say("%s: %d, %d: %s", what, n, me == MPI_UNDEFINED ? -1 : me, list(all, n));
    MPI_Group_free(&world);
}

static const char *relation(MPI_Group a, MPI_Group b) {
    int result;
    MPI_Group_compare(a, b, &result);
    return result == MPI_IDENT ? "ident" : result == MPI_SIMILAR ? "similar" : "unequal";
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Group world, even, back, low, both, common, rest, none, without;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int evens[][3] = {{0, size - 1, 2}}, down[][3] = {{size - 1, 0, -1}}, half[][3] = {{0, (size - 1) / 2, 1}};
    MPI_Group_range_incl(world, 1, evens, &even);
    MPI_Group_range_incl(world, 1, down, &back);
    MPI_Group_range_incl(world, 1, half, &low);
    tell("even", even), tell("back", back), tell("low", low);
    MPI_Group_union(even, low, &both);
    MPI_Group_intersection(back, low, &common);
    MPI_Group_difference(world, even, &rest);
    MPI_Group_range_excl(world, 1, evens, &without);
    MPI_Group_difference(low, world, &none);
    tell("union", both), tell("intersection", common);
    if (size > 1) tell("difference", rest);
    say("none: %d; %s %s %s %s", none == MPI_GROUP_EMPTY, relation(world, back), relation(world, world), relation(world, none), relation(rest, without));
    MPI_Comm comm;
    MPI_Comm_create(MPI_COMM_WORLD, back, &comm);
    int r, n, sum, result;
    MPI_Comm_rank(comm, &r);
    MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    say("back: rank %d, scan %d, %d", r, sum, result == (size == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
    MPI_Comm_free(&comm);
    MPI_Comm_create(MPI_COMM_WORLD, even, &comm);
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_size(comm, &n);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        say("even: %d, sum %d", n, sum);
        MPI_Comm_free(&comm);
    } else say("odd: none");
    int list1[2] = {size - 1, 0}, one;
    MPI_Group two, other;
    MPI_Group_incl(world, size > 1 ? 2 : 1, list1, &two);
    tell("two", two);
    MPI_Group_excl(world, 1, &list1[0], &other);
    if (size > 1) tell("other", other);
    int wanted[2] = {0, MPI_PROC_NULL}, found[2];
    MPI_Group_translate_ranks(world, 2, wanted, low, found);
    say("translated: %d %d", found[0], found[1] == MPI_PROC_NULL);
    wanted[0] = size - 1;
    MPI_Group_translate_ranks(world, 1, wanted, low, found);
    say("translated: %d", found[0] == MPI_UNDEFINED ? -1 : found[0]);
    MPI_Group *all[] = {&world, &even, &back, &low, &both, &common, &two};
    for (int i = 0; i < 7; i++) MPI_Group_free(all[i]);
    say("freed: %d", world == MPI_GROUP_NULL);
    MPI_Finalize();
    return 0;
}
