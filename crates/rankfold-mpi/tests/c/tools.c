/* The interface for tools: what holds whatever variables there are (not on openmpi, which ends with an error). */
#include "say.h"

int main(int argc, char **argv) {
    int provided, variables, measured, categories, events = 0, index;
    MPI_T_pvar_session session;
    say("before: %d", MPI_T_cvar_get_num(&variables) == MPI_T_ERR_NOT_INITIALIZED);
    say("init: %d", MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    begin(&argc, &argv);
    say("variables: %d", MPI_T_cvar_get_num(&variables) == MPI_SUCCESS && variables >= 0);
    say("measured: %d", MPI_T_pvar_get_num(&measured) == MPI_SUCCESS && measured >= 0);
    say("categories: %d", MPI_T_category_get_num(&categories) == MPI_SUCCESS && categories >= 0);
    for (int i = 0; i < variables; i++) {
        char name[256], text[256];
        int lengths[2] = {256, 256}, verbosity, bind, scope;
        MPI_Datatype type;
        MPI_T_enum kind;
        MPI_T_cvar_get_info(i, name, &lengths[0], &verbosity, &type, &kind, text, &lengths[1], &bind, &scope);
    }
    say("none: %d", MPI_T_cvar_get_index("no such variable", &index) == MPI_T_ERR_INVALID_NAME);
    say("beyond: %d", MPI_T_category_get_info(1 << 20, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    say("session: %d", MPI_T_pvar_session_create(&session) == MPI_SUCCESS && session != MPI_T_PVAR_SESSION_NULL);
    say("start: %d", MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    say("stop: %d", MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    say("free: %d %d", MPI_T_pvar_session_free(&session) == MPI_SUCCESS, session == MPI_T_PVAR_SESSION_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    say("finalize: %d", MPI_T_finalize() == MPI_SUCCESS);
    return 0;
}
