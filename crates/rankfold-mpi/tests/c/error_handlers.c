/* The error handler of an object is asked for and freed, and those that have it keep it. */
#include "say.h"

static int handled;

static void handle(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    handled++;
}

static void handle_of_window(MPI_Win *win, int *code, ...) {
    (void)win, (void)code;
    handled += 100;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Errhandler made, asked, again;
    MPI_Comm comm, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handle, &made);
    MPI_Comm_set_errhandler(comm, made);
    MPI_Comm_get_errhandler(comm, &asked);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), MPI_Errhandler_free(&asked);
    say("freed: %d", asked == MPI_ERRHANDLER_NULL);
    /* The one that was made is there still, though no communicator had it. */
    MPI_Comm_set_errhandler(comm, made);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_errhandler(other, made);
    MPI_Comm_call_errhandler(other, MPI_ERR_ARG), say("handled: %d", handled);
    MPI_Errhandler_free(&made), say("freed: %d", made == MPI_ERRHANDLER_NULL);
    MPI_Comm_call_errhandler(comm, MPI_ERR_ARG), say("handled: %d", handled);
    /* It is asked for again, and goes to another one. */
    MPI_Comm_get_errhandler(comm, &asked), MPI_Comm_get_errhandler(other, &again);
    MPI_Comm_free(&comm), MPI_Comm_free(&other);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, asked), MPI_Errhandler_free(&asked), MPI_Errhandler_free(&again);
    MPI_Comm_call_errhandler(comm, MPI_ERR_ARG), say("handled: %d", handled);
    MPI_Comm_free(&comm);
    /* Those that are predefined are freed as others. */
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &asked), MPI_Errhandler_free(&asked);
    MPI_Win win;
    MPI_Win_create(&handled, sizeof handled, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_create_errhandler(handle_of_window, &made);
    MPI_Win_set_errhandler(win, made);
    MPI_Win_get_errhandler(win, &asked);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN), MPI_Errhandler_free(&asked), MPI_Win_set_errhandler(win, made);
    MPI_Errhandler_free(&made);
    MPI_Win_call_errhandler(win, MPI_ERR_ARG), say("handled: %d", handled);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
