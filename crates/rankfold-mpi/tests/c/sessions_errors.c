/* Errors of sessions and their groups, sets that are not there: not on openmpi, which has none, not on mpich, which ends. */
#include "say.h"

int main(int argc, char **argv) {
    MPI_Session session;
    MPI_Group world, first, made;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    /* Programs try a set, and take another one if there is none. */
    int code = MPI_Group_from_session_pset(session, "app://solvers", &world);
    say("no set: %d", world == MPI_GROUP_NULL);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    int far[1] = {1000}, zero[1] = {0};
    code = MPI_Group_incl(world, 1, far, &made);
    say("no rank: %s", class_of(code));
    code = MPI_Group_excl(world, 1, far, &made);
    say("no rank: %s", class_of(code));
    MPI_Group_incl(world, 1, zero, &first);
    code = MPI_Group_incl(first, 1, far, &made);
    say("no rank of a part: %s", class_of(code));
    MPI_Group_free(&first);
    /* An info that was freed. */
    MPI_Comm comm;
    MPI_Info info, stale;
    MPI_Info_create(&info), stale = info, MPI_Info_free(&info);
    code = MPI_Comm_create_from_group(world, "all", stale, MPI_ERRORS_RETURN, &comm);
    say("no communicator: %s", class_of(code));
    MPI_Session another;
    code = MPI_Session_init(stale, MPI_ERRORS_RETURN, &another);
    say("no session: %s", class_of(code));
    MPI_Group_free(&world);
    MPI_Session_finalize(&session);
    return 0;
}
