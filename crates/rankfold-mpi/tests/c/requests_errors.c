/* Requests of which one fails: whose handler gets it, and the statuses; not on openmpi, which truncates in silence, not on mpich. */
#include "say.h"

static MPI_Comm good, bad;
static int handled;

static void on_world(MPI_Comm *comm, int *code, ...) { handled = 1; (void)comm; (void)code; }
static void on_good(MPI_Comm *comm, int *code, ...) { handled = *comm == good ? 2 : -2; (void)code; }
static void on_bad(MPI_Comm *comm, int *code, ...) { handled = *comm == bad ? 3 : -3; (void)code; }

static const char *handler(void) {
    const char *names[] = {"none", "world", "good", "bad"};
    int which = handled;
    handled = 0;
    return which < 0 ? "another communicator" : names[which];
}

static int one[3], two[2];
static MPI_Request requests[4];
static MPI_Status statuses[4];

/* Receives that are over, of which the second has a message that is too long. */
static void begin_three(void) {
    MPI_Comm comms[3] = {good, bad, good};
    for (int i = 0; i < 3; i++) {
        MPI_Irecv(&one[i], 1, MPI_INT, rank, i, comms[i], &requests[i]);
        MPI_Send(two, i == 1 ? 2 : 1, MPI_INT, rank, i, comms[i]);
    }
    requests[3] = MPI_REQUEST_NULL;
    for (int i = 0; i < 4; i++) statuses[i].MPI_ERROR = -7;
}

static const char *errors(int count) {
    static char text[200];
    int at = 0;
    for (int i = 0; i < count; i++)
        at += snprintf(text + at, sizeof text - at, " %s", statuses[i].MPI_ERROR == -7 ? "unset" : class_of(statuses[i].MPI_ERROR));
    return text;
}

static const char *left(void) {
    static char text[5];
    for (int i = 0; i < 4; i++) text[i] = requests[i] == MPI_REQUEST_NULL ? '-' : '+';
    return text;
}

static void end_three(void) {
    for (int i = 0; i < 3; i++) if (requests[i] != MPI_REQUEST_NULL) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    handled = 0;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int code, index = -1, flag = -1, count = -1, indices[4];
    MPI_Errhandler handlers[3];
    MPI_Comm_dup(MPI_COMM_WORLD, &good);
    MPI_Comm_dup(MPI_COMM_WORLD, &bad);
    MPI_Comm_create_errhandler(on_world, &handlers[0]);
    MPI_Comm_create_errhandler(on_good, &handlers[1]);
    MPI_Comm_create_errhandler(on_bad, &handlers[2]);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handlers[0]);
    MPI_Comm_set_errhandler(good, handlers[1]);
    MPI_Comm_set_errhandler(bad, handlers[2]);

    begin_three();
    code = MPI_Wait(&requests[1], &statuses[1]);
    say("wait: %s %s %s", class_of(code), handler(), left());
    end_three();
    begin_three();
    code = MPI_Test(&requests[1], &flag, &statuses[1]);
    say("test: %s %s %s %d", class_of(code), handler(), left(), flag);
    end_three();
    begin_three();
    code = MPI_Waitany(1, &requests[1], &index, &statuses[0]);
    say("any: %s %s %s %d", class_of(code), handler(), left(), index);
    end_three();
    begin_three();
    code = MPI_Testany(1, &requests[1], &index, &flag, &statuses[0]);
    say("test any: %s %s %s %d %d", class_of(code), handler(), left(), index, flag);
    end_three();
    begin_three();
    code = MPI_Waitall(4, requests, statuses);
    say("all: %s %s %s%s", class_of(code), handler(), left(), errors(4));
    end_three();
    begin_three();
    code = MPI_Testall(4, requests, &flag, statuses);
    say("test all: %s %s %s %d%s", class_of(code), handler(), left(), flag, errors(4));
    end_three();
    begin_three();
    code = MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    say("all, no statuses: %s %s %s", class_of(code), handler(), left());
    end_three();
    begin_three();
    code = MPI_Waitsome(3, requests, &count, indices, statuses);
    say("some: %s %s %s %d: %s%s", class_of(code), handler(), left(), count, list(indices, count), errors(count));
    end_three();
    begin_three();
    code = MPI_Testsome(3, requests, &count, indices, statuses);
    say("test some: %s %s %s %d: %s%s", class_of(code), handler(), left(), count, list(indices, count), errors(count));
    end_three();
    begin_three();
    code = MPI_Request_get_status(requests[1], &flag, &statuses[1]);
    say("get status: %s %s %s %d", class_of(code), handler(), left(), flag);
    end_three();
    /* No error is written where none is found. */
    begin_three();
    code = MPI_Waitany(1, requests, &index, &statuses[0]);
    say("any: %s %s %s%s", class_of(code), handler(), left(), errors(1));
    code = MPI_Waitsome(1, &requests[2], &count, indices, statuses);
    say("some: %s %s %s%s", class_of(code), handler(), left(), errors(1));
    end_three();
    for (int i = 0; i < 3; i++) MPI_Errhandler_free(&handlers[i]);
    MPI_Comm_free(&good);
    MPI_Comm_free(&bad);
    MPI_Finalize();
    return 0;
}
