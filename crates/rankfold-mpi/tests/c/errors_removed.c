/* Error classes, codes and strings that are removed, which MPI 4.1 has: not on openmpi, not on mpich, which are older. */
#include "say.h"

#define TRY(call) say("%s: %s", #call, class_of(call))

static void tell(int code, int class) {
    char text[MPI_MAX_ERROR_STRING];
    int length, found;
    MPI_Error_string(code, text, &length), MPI_Error_class(code, &found);
    say("\"%s\", of the class: %d", text, found == class);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int class, code, other, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&class), MPI_Add_error_code(class, &code), MPI_Add_error_string(code, "of the program");
    tell(code, class);
    /* Each has what must go before it. */
    TRY(MPI_Remove_error_class(class));
    TRY(MPI_Remove_error_code(code));
    TRY(MPI_Remove_error_string(class));
    TRY(MPI_Remove_error_string(code));
    tell(code, class);
    TRY(MPI_Remove_error_string(code));
    TRY(MPI_Remove_error_class(code));
    TRY(MPI_Remove_error_code(class));
    TRY(MPI_Remove_error_code(code));
    TRY(MPI_Remove_error_code(code));
    TRY(MPI_Error_string(code, text, &length));
    TRY(MPI_Add_error_string(code, "again"));
    TRY(MPI_Remove_error_class(class));
    TRY(MPI_Add_error_code(class, &other));
    /* No number is used again. */
    MPI_Add_error_class(&other);
    say("another: %d", other > code);
    MPI_Add_error_string(other, "a class"), tell(other, other);
    TRY(MPI_Remove_error_class(other));
    TRY(MPI_Remove_error_string(other));
    TRY(MPI_Remove_error_class(other));
    TRY(MPI_Remove_error_class(MPI_ERR_ARG));
    TRY(MPI_Remove_error_string(MPI_ERR_ARG));
    /* A code may be of a class of MPI's. */
    MPI_Add_error_code(MPI_ERR_ARG, &code);
    TRY(MPI_Remove_error_code(code));
    MPI_Finalize();
    return 0;
}
