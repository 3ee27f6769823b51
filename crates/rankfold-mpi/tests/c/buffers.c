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

/* Has the last rank receive messages, and waits until it has if they are to be answered. */
static void receive(int messages, int answered, MPI_Comm comm) {
    int peer, told[2] = {messages, answered};
    MPI_Comm_size(comm, &peer);
    MPI_Send(told, 2, MPI_INT, peer - 1, 9, comm);
    if (answered) MPI_Recv(told, 1, MPI_INT, peer - 1, 8, comm, MPI_STATUS_IGNORE);
}

static void receive_what_is_told(MPI_Comm comm) {
    for (int told[2] = {1, 0}, in; told[0];) {
        MPI_Recv(told, 2, MPI_INT, 0, 9, comm, MPI_STATUS_IGNORE);
        for (int i = 0; i < told[0]; i++) MPI_Recv(&in, 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE);
        if (told[1]) MPI_Send(&in, 1, MPI_INT, 0, 8, comm);
    }
}

/* Sends from a buffer with room for one message while it is flushed: there is room once that has left. */
static void send_while_flushed(MPI_Comm comm, int peer, int freed) {
    MPI_Request request;
    int out = 1, over, second;
    say("the first message: %s", class_of(MPI_Bsend(&out, 1, MPI_INT, peer, 7, comm)));
    MPI_Comm_iflush_buffer(comm, &request);
    second = MPI_Bsend(&out, 1, MPI_INT, peer, 7, comm);
    if (freed) MPI_Request_free(&request);
    else {
        MPI_Test(&request, &over, MPI_STATUS_IGNORE);
        say("room and flush agree: %d", over == (second == MPI_SUCCESS));
    }
    receive(second == MPI_SUCCESS ? 2 : 1, 1, comm);
    say("a message after it: %s", class_of(MPI_Bsend(&out, 1, MPI_INT, peer, 7, comm)));
    receive(1, 1, comm);
    if (!freed) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Messages that a flush waits for have their places in the buffer, which is not detached before they have left. */
static void of_a_flush(void) {
    MPI_Comm comm;
    MPI_Request request;
    void *at;
    int me, of, out = 1, bytes, over;
    /* The receiver is another rank. */
    if (size < 2) return;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &of);
    if (me == 0) {
        MPI_Comm_attach_buffer(comm, room[1], MPI_BSEND_OVERHEAD + sizeof(int));
        send_while_flushed(comm, of - 1, 0);
        send_while_flushed(comm, of - 1, 1);
        say("another: %s", class_of(MPI_Bsend(&out, 1, MPI_INT, of - 1, 7, comm)));
        MPI_Comm_iflush_buffer(comm, &request);
        receive(1, 0, comm);
        MPI_Comm_detach_buffer(comm, &at, &bytes);
        MPI_Test(&request, &over, MPI_STATUS_IGNORE);
        say("detached: %s, over: %d", which(at), over);
        receive(0, 0, comm);
    } else if (me == of - 1)
        receive_what_is_told(comm);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    of_a_communicator();
    of_a_session();
    of_a_flush();
    MPI_Finalize();
    return 0;
}
