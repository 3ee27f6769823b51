/* Classes of errors under MPI_ERRORS_RETURN, and an error handler of the program. */
#include "say.h"

static int handled;

static void handle(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    handled++;
    say("handled %s", class_of(*code));
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int data[4] = {0}, other[4] = {0};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
#define TRY(call) say("%s: %s", #call, class_of(call))
    TRY(MPI_Send(data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD));
    TRY(MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD));
    TRY(MPI_Send(data, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD));
    TRY(MPI_Send(data, 1, MPI_INT, 0, -5, MPI_COMM_WORLD));
    TRY(MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    TRY(MPI_Recv(data, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    TRY(MPI_Bcast(data, 1, MPI_INT, 1000, MPI_COMM_WORLD));
    TRY(MPI_Bcast(data, -1, MPI_INT, 0, MPI_COMM_WORLD));
    TRY(MPI_Allreduce(data, other, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
    TRY(MPI_Allreduce(data, other, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD));
    int dims[1] = {1000}, periods[1] = {0};
    MPI_Comm comm;
    TRY(MPI_Cart_coords(MPI_COMM_WORLD, 0, 1, dims));
    MPI_Request request;
    MPI_Isend(other, 4, MPI_INT, rank, 1, MPI_COMM_WORLD, &request);
    TRY(MPI_Recv(data, 2, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Errhandler_free(&handler);
    TRY(MPI_Send(data, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD));
    say("handled: %d", handled);
    TRY(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_ARG));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    TRY(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_ARG));
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &handler);
    say("%d %d", handler == MPI_ERRORS_ARE_FATAL, MPI_SUCCESS);
    int class, code, found;
    MPI_Add_error_class(&class), MPI_Add_error_code(class, &code), MPI_Add_error_string(code, "of the program");
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_string(code, text, &found);
    MPI_Error_class(MPI_ERR_NO_SUCH_FILE, &found), say("file: %d", found == MPI_ERR_NO_SUCH_FILE);
    int *last, *is_set = &found;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, is_set);
    say("last code: %d %d", *is_set, *last >= class);
    MPI_Error_class(code, &code);
    say("%s %d", text, code == class);
    (void)periods, (void)comm;
    MPI_Finalize();
    return 0;
}
