/* Buffers of communicators and sessions, before that of the rank: not on openmpi, not on mpich, which have only that one. */
#include "say.h"

enum { ROOM = 4 * (MPI_BSEND_OVERHEAD + sizeof(int)) };

static char room[3][ROOM];

/* Sends a number around a ring, and receives that of the left neighbour. */
static void pass(const char *what, MPI_Comm comm) {
    int me, of, in = -1, code;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &of);
    code = MPI_Bsend(&me, 1, MPI_INT, (me + 1) % of, 0, comm);
    if (code == MPI_SUCCESS) MPI_Recv(&in, 1, MPI_INT, (me + of - 1) % of, 0, comm, MPI_STATUS_IGNORE);
    say("%s: %s, %d", what, class_of(code), in);
}

static const char *which(const void *at) {
    for (int i = 0; i < 3; i++) if (at == room[i]) return (const char *[]){"first", "second", "third"}[i];
    return at == MPI_BUFFER_AUTOMATIC ? "automatic" : "another";
}

static void of_a_communicator(void) {
    MPI_Comm comm, copy;
    MPI_Request request;
    void *at;
    int bytes;
    MPI_Count many;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    say("flush of none: %s", class_of(MPI_Comm_flush_buffer(comm)));
    pass("no buffer", comm);
    MPI_Comm_attach_buffer(comm, room[1], ROOM);
    say("a second one: %s", class_of(MPI_Comm_attach_buffer(comm, room[2], ROOM)));
    pass("its own buffer", comm);
    MPI_Comm_dup(comm, &copy);
    pass("that of no duplicate", copy);
    MPI_Comm_free(&copy);
    MPI_Comm_flush_buffer(comm);
    MPI_Comm_iflush_buffer(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    /* The buffer of the rank has room, and is not asked. */
    MPI_Buffer_attach(room[0], ROOM);
    MPI_Comm_detach_buffer(comm, &at, &bytes);
    say("detached: %s, %d", which(at), bytes == ROOM);
    MPI_Comm_attach_buffer_c(comm, room[1], 8);
    pass("a short one", comm);
    MPI_Comm_detach_buffer_c(comm, &at, &many);
    say("detached: %s, %d", which(at), (int)many);
    pass("that of the rank", comm);
    MPI_Comm_attach_buffer(comm, MPI_BUFFER_AUTOMATIC, 0);
    pass("an automatic one", comm);
    MPI_Buffer_detach(&at, &bytes);
    say("detached: %s, %d", which(at), bytes == ROOM);
    MPI_Comm_detach_buffer(comm, &at, &bytes);
    say("detached: %s, %d", which(at), bytes);
    /* It goes with the communicator. */
    MPI_Comm_attach_buffer(comm, room[1], ROOM);
    MPI_Comm_free(&comm);
}

static void of_a_session(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm, copy, other;
    MPI_Request request;
    void *at;
    int bytes;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "buffers", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    MPI_Comm_dup(comm, &copy);
    pass("no buffer of the session", copy);
    say("flush of none: %s", class_of(MPI_Session_flush_buffer(session)));
    MPI_Session_attach_buffer(session, room[2], ROOM);
    pass("that of the session", comm);
    pass("for a duplicate, too", copy);
    MPI_Comm_group(comm, &group);
    MPI_Comm_create_from_group(group, "of a group", MPI_INFO_NULL, MPI_ERRORS_RETURN, &other);
    pass("for one of its group", other);
    MPI_Group_free(&group);
    MPI_Comm_free(&other);
    pass("for no other", MPI_COMM_WORLD);
    MPI_Comm_attach_buffer(copy, room[1], 8);
    pass("before its own", copy);
    MPI_Session_flush_buffer(session);
    MPI_Session_iflush_buffer(session, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Session_detach_buffer(session, &at, &bytes);
    say("detached: %s, %d", which(at), bytes == ROOM);
    MPI_Session_attach_buffer_c(session, room[2], ROOM);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    say("after its end: %s", class_of(MPI_Session_flush_buffer(session)));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    of_a_communicator();
    of_a_session();
    MPI_Finalize();
    return 0;
}
