/* Files return errors by default, so that a program may do without them: not on openmpi, not on mpich, which open them. */
#include "say.h"

static int handled;

static void handle(MPI_File *file, int *code, ...) {
    handled += *file == MPI_FILE_NULL && *code != MPI_SUCCESS;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_File file;
    MPI_Errhandler handler, asked;
    MPI_File_get_errhandler(MPI_FILE_NULL, &asked);
    say("at first: %d", asked == MPI_ERRORS_RETURN);
    MPI_File_create_errhandler(handle, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    MPI_File_get_errhandler(MPI_FILE_NULL, &asked);
    say("the program's: %d", asked == handler);
    MPI_Errhandler_free(&asked), MPI_Errhandler_free(&handler);
    int code = MPI_File_open(MPI_COMM_WORLD, "none", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    int class;
    MPI_Error_class(code, &class);
    say("open: %d %d, handled %d", class == MPI_ERR_UNSUPPORTED_OPERATION, file == MPI_FILE_NULL, handled);
    MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO);
    say("called: handled %d", handled);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
