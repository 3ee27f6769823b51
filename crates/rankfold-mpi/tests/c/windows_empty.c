/* Memory of no bytes is attached to a window, and detached. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int n = rank ? 100 : 0, *memory = malloc(101 * sizeof *memory), *none = malloc(1);
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, none, 0);
    MPI_Win_attach(win, memory, n * sizeof *memory);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, memory);
    MPI_Win_detach(win, none);
    MPI_Win_free(&win);
    say("detached");
    free(memory), free(none);
    MPI_Finalize();
    return 0;
}
