/* Accesses of every kind that do not match their target: not on openmpi, not on mpich, which copy beyond it. */
#include "say.h"

/* What an access is wrong by. */
struct wrong {
    const char *name;
    int count, target_count, target;
    MPI_Aint disp;
    MPI_Datatype of, target_of;
    MPI_Op op;
};

static int memory[8], data[16], result[16], compared[16];
static MPI_Win window;
static MPI_Request request;

/* The access of a number, with its name; its buffers are as long as it says. */
static int access_of(int kind, const struct wrong *w, const char **name) {
#define CALL(call, ...) *name = #call; return MPI_##call(__VA_ARGS__)
#define ORIGIN data, w->count, w->of
#define RESULT result, w->count, w->of
#define TARGET w->target, w->disp, w->target_count, w->target_of
    switch (kind) {
    case 0: CALL(Put, ORIGIN, TARGET, window);
    case 1: CALL(Get, ORIGIN, TARGET, window);
    case 2: CALL(Accumulate, ORIGIN, TARGET, w->op, window);
    case 3: CALL(Get_accumulate, ORIGIN, RESULT, TARGET, w->op, window);
    case 4: CALL(Rput, ORIGIN, TARGET, window, &request);
    case 5: CALL(Rget, ORIGIN, TARGET, window, &request);
    case 6: CALL(Raccumulate, ORIGIN, TARGET, w->op, window, &request);
    case 7: CALL(Rget_accumulate, ORIGIN, RESULT, TARGET, w->op, window, &request);
    case 8: CALL(Put_c, ORIGIN, TARGET, window);
    case 9: CALL(Get_accumulate_c, ORIGIN, RESULT, TARGET, w->op, window);
    case 10: CALL(Fetch_and_op, data, result, w->of, w->target, w->disp, w->op, window);
    default: CALL(Compare_and_swap, data, compared, result, w->of, w->target, w->disp, window);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int here = rank, none = size;
    MPI_Datatype two;
    MPI_Type_vector(2, 1, 2, MPI_INT, &two);
    MPI_Type_commit(&two);
    struct wrong all[] = {
        {"another datatype", 1, 1, here, 0, MPI_FLOAT, MPI_INT, MPI_SUM},
        {"more than the target's", 2, 1, here, 0, MPI_INT, MPI_INT, MPI_SUM},
        {"fewer than the target's", 1, 2, here, 0, MPI_INT, MPI_INT, MPI_SUM},
        {"just in the window", 8, 8, here, 0, MPI_INT, MPI_INT, MPI_SUM},
        {"longer than the window", 9, 9, here, 0, MPI_INT, MPI_INT, MPI_SUM},
        {"beyond the window", 1, 1, here, 8, MPI_INT, MPI_INT, MPI_SUM},
        {"before the window", 1, 1, here, -1, MPI_INT, MPI_INT, MPI_SUM},
        {"no such rank", 1, 1, none, 0, MPI_INT, MPI_INT, MPI_SUM},
        {"no operator", 1, 1, here, 0, MPI_INT, MPI_INT, MPI_OP_NULL},
        {"an operator for others", 1, 1, here, 0, MPI_FLOAT, MPI_FLOAT, MPI_BAND},
        {"no datatype", 1, 1, here, 0, MPI_INT, MPI_DATATYPE_NULL, MPI_SUM},
        {"beyond by its gaps", 2, 1, here, 6, MPI_INT, two, MPI_SUM},
    };
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, window);
    for (int i = 0; i < (int)(sizeof all / sizeof all[0]); i++) {
        for (int kind = 0; kind < 12; kind++) {
            const char *name;
            request = MPI_REQUEST_NULL;
            int code = access_of(kind, &all[i], &name);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            say("%s: %s: %s", all[i].name, name, class_of(code));
        }
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Type_free(&two);
    MPI_Finalize();
    return 0;
}
