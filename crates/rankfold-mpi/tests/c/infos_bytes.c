/* Keys, values, names and strings of any bytes but zero; values that are too long. */
#include "say.h"

static const char *bytes(const char *text) {
    static char hex[8][64];
    static int turn;
    char *to = hex[turn = (turn + 1) % 8];
    *to = 0;
    for (int i = 0; text[i] && i < 30; i++) sprintf(to + 2 * i, "%02x", (unsigned char)text[i]);
    return to;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Info info;
    char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1], name[MPI_MAX_OBJECT_NAME];
    int there, length;
    MPI_Info_create(&info);
    MPI_Info_set(info, "\xe8", "\xe9t\xe9"), MPI_Info_set(info, "\xe9", "other"), MPI_Info_set(info, "utf", "\xc3\xa9");
    MPI_Info_get_nkeys(info, &length), say("%d keys", length);
    MPI_Info_get_nthkey(info, 0, key), say("key %s", bytes(key));
    MPI_Info_get(info, "\xe8", MPI_MAX_INFO_VAL, value, &there), say("%d %s", there, bytes(value));
    MPI_Info_get_valuelen(info, "\xe8", &length, &there), say("%d bytes", length);
    MPI_Info_get(info, "\xe9", MPI_MAX_INFO_VAL, value, &there), say("%d %s", there, bytes(value));
    MPI_Info_get(info, "utf", MPI_MAX_INFO_VAL, value, &there), say("%d %s", there, bytes(value));
    MPI_Info_free(&info);
    MPI_Comm_set_name(MPI_COMM_WORLD, "\xe9t\xe9"), MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    say("%d: %s", length, bytes(name));
    MPI_Type_set_name(MPI_INT, "\xe9"), MPI_Type_get_name(MPI_INT, name, &length), say("%d: %s", length, bytes(name));
    int code;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Add_error_class(&code), MPI_Add_error_string(code, "\xe9"), MPI_Error_string(code, text, &length);
    say("%d: %s", length, bytes(text));
    /* A value has at most MPI_MAX_INFO_VAL - 1 bytes. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    char *longer = malloc(MPI_MAX_INFO_VAL + 2);
    memset(longer, 'a', MPI_MAX_INFO_VAL + 1), longer[MPI_MAX_INFO_VAL + 1] = 0;
    MPI_Info_create(&info);
    code = MPI_Info_set(info, "long", longer);
    MPI_Error_class(code, &code), say("too long: %d", code == MPI_ERR_INFO_VALUE);
    longer[MPI_MAX_INFO_VAL - 1] = 0;
    say("fits: %d", MPI_Info_set(info, "long", longer) == MPI_SUCCESS);
    MPI_Info_free(&info), free(longer);
    MPI_Finalize();
    return 0;
}
