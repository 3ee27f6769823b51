/* Buffers that a rank does not need are null: of a block without elements. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    /* Only odd ranks get a block, of two elements. */
    int *counts = calloc(size, sizeof(int)), all = 0, got[2] = {-1, -1};
    for (int r = 0; r < size; r++) all += counts[r] = r % 2 ? 2 : 0;
    int *mine = calloc(all + 1, sizeof(int));
    for (int i = 0; i < all; i++) mine[i] = 10 * rank + i;
    MPI_Reduce_scatter(mine, counts[rank] ? got : NULL, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    say("reduce-scatter: %s", list(got, 2));
    MPI_Request request;
    MPI_Ireduce_scatter(mine, counts[rank] ? got : NULL, counts, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("started: %s", list(got, 2));
    free(counts), free(mine);
    MPI_Finalize();
    return 0;
}
