/* Errors of windows: their classes, and the handlers that get them. */
#include "say.h"

static int called, last;
static void on_error(MPI_Win *win, int *code, ...) { MPI_Error_class(*code, &last), called++; }

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int memory[4] = {0}, one = 1;
    MPI_Win win, freed = MPI_WIN_NULL;
    MPI_Errhandler handler, before;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_errhandler(win, &before);
    say("fatal: %d", before == MPI_ERRORS_ARE_FATAL);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    say("no epoch: %s", class_of(MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, win)));
    say("unlock: %s", class_of(MPI_Win_unlock(0, win)));
    say("wait: %s", class_of(MPI_Win_wait(win)));
    MPI_Win_fence(0, win);
    say("rank: %s", class_of(MPI_Put(&one, 1, MPI_INT, size, 0, 1, MPI_INT, win)));
    say("count: %s", class_of(MPI_Put(&one, -1, MPI_INT, 0, 0, 1, MPI_INT, win)));
    say("type: %s", class_of(MPI_Get(&one, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win)));
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    say("null: %s", class_of(MPI_Win_fence(0, freed)));
    MPI_Win_create_errhandler(on_error, &handler);
    MPI_Win_set_errhandler(win, handler);
    int code = MPI_Win_unlock(0, win);
    say("handler: %d, %s, %d", called, class_of(code), last == MPI_ERR_RMA_SYNC);
    MPI_Win_call_errhandler(win, MPI_ERR_ARG);
    say("handler: %d, %d", called, last == MPI_ERR_ARG);
    MPI_Win_get_errhandler(win, &before);
    say("same: %d", before == handler);
    MPI_Errhandler_free(&before);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
