/* Levels of threads, begin and end, time. */
#include "say.h"
#include <pthread.h>

static int other_level, other_main = 1;

/* Any thread may ask who it is. */
static void *ask(void *nothing) {
    MPI_Query_thread(&other_level), MPI_Is_thread_main(&other_main);
    return nothing;
}

int main(int argc, char **argv) {
    int before, after, provided, level, main_thread, version, subversion;
    MPI_Initialized(&before);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Initialized(&after);
    MPI_Query_thread(&level), MPI_Is_thread_main(&main_thread);
    say("%d %d, %d %d %d", before, after, provided >= MPI_THREAD_FUNNELED, level == provided, main_thread);
    pthread_t thread;
    pthread_create(&thread, NULL, ask, NULL), pthread_join(thread, NULL);
    say("%d %d", other_level == provided, other_main);
    double begin = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get_version(&version, &subversion);
    say("%d %d %d", MPI_Wtime() >= begin, MPI_Wtick() > 0, version >= 3);
    void *memory;
    MPI_Alloc_mem(100, MPI_INFO_NULL, &memory);
    memset(memory, 1, 100);
    MPI_Free_mem(memory);
    MPI_Finalized(&before), MPI_Finalize(), MPI_Finalized(&after);
    say("%d %d", before, after);
    return 0;
}
