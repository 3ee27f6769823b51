/* Errors of sessions and their groups, sets that are not there: not on openmpi, which has none, not on mpich, which ends. */
#include "say.h"

static int handled;

static void handle(MPI_Comm *comm, int *code, ...) {
    handled += *comm == MPI_COMM_NULL && *code != MPI_SUCCESS;
}

/* The errors of the call that makes a communicator go to the handler of its argument, and not to the session's. */
static void handlers_that_differ(MPI_Info stale) {
    MPI_Session session, returns;
    MPI_Group world;
    MPI_Comm comm;
    MPI_Errhandler own;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &world);
    int code = MPI_Comm_create_from_group(world, "all", stale, MPI_ERRORS_RETURN, &comm);
    say("no communicator: %s", class_of(code));
    MPI_Comm_create_errhandler(handle, &own);
    code = MPI_Comm_create_from_group(world, "all", stale, own, &comm);
    say("no communicator: %s, handled %d", class_of(code), handled);
    MPI_Errhandler_free(&own);
    MPI_Group_free(&world);
    /* Without a handler it is the session's. */
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &returns);
    MPI_Group_from_session_pset(returns, "mpi://WORLD", &world);
    code = MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRHANDLER_NULL, &comm);
    say("no handler: %d", code != MPI_SUCCESS);
    /* The communicator that is made has the handler. */
    code = MPI_Comm_create_from_group(world, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    code = MPI_Send(NULL, -1, MPI_INT, 0, 0, comm);
    say("on the communicator: %s", class_of(code));
    MPI_Comm_free(&comm);
    MPI_Group_free(&world);
    MPI_Session_finalize(&returns);
    MPI_Session_finalize(&session);
}

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
    handlers_that_differ(stale);
    MPI_Group_free(&world);
    MPI_Session_finalize(&session);
    return 0;
}
