/* Wrong programs, one by name. The comment `wrong: NAME` marks the line that must be in the report of the program, and
   what follows the colon after it must be in the report too; `n` is the number of ranks, and `with` an option. */
#include "../say.h"

static int a[8], b[8];
static MPI_Request request, requests[2];
static MPI_Comm comm;
static MPI_Datatype type;

static void receive_without_send(void) {
    if (rank == 0) MPI_Recv(a, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* wrong: receive_without_send n=2: rank 0: MPI_Recv */
}

static void both_receive_first(void) {
    MPI_Recv(a, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* wrong: both_receive_first n=2: deadlock: no rank can move */
    MPI_Send(a, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
}

static void both_send_first(void) {
    MPI_Send(a, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD); /* wrong: both_send_first n=2 with=--zero-buffering: this send needs a buffer */
    MPI_Recv(a, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void both_send_synchronously(void) {
    MPI_Ssend(a, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD); /* wrong: both_send_synchronously n=2: deadlock: no rank can move */
    MPI_Recv(a, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void other_tag(void) {
    if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(a, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* wrong: other_tag n=2: with tag 1 that was never received */
}

static void other_communicator(void) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank == 0) MPI_Send(a, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(a, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE); /* wrong: other_communicator n=2: rank 1: MPI_Recv */
}

static void wait_before_send(void) {
    MPI_Irecv(a, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* wrong: wait_before_send n=3: deadlock: no rank can move */
    MPI_Send(b, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD);
}

static void wildcard_takes_another(void) {
    if (rank == 0) {
        MPI_Recv(a, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(a, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* wrong: wildcard_takes_another n=2: rank 1 is gone: it returned */
    } else {
        MPI_Send(a, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
}

static void any_of_two(void) {
    MPI_Irecv(a, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(b, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &requests[1]);
    int which;
    MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE); /* wrong: any_of_two n=2: rank 0: MPI_Waitany(from any, tag 0; from 1, tag 1) */
}

static void barrier_without_one(void) {
    if (rank != 1) MPI_Barrier(MPI_COMM_WORLD); /* wrong: barrier_without_one n=3: MPI_Barrier */
}

static void collectives_in_other_order(void) {
    if (rank == 0) MPI_Bcast(a, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_Barrier(MPI_COMM_WORLD);
    else MPI_Barrier(MPI_COMM_WORLD), MPI_Bcast(a, 1, MPI_INT, 0, MPI_COMM_WORLD); /* wrong: collectives_in_other_order n=3: mismatch */
}

static void other_roots(void) {
    MPI_Bcast(a, 1, MPI_INT, rank == 2, MPI_COMM_WORLD); /* wrong: other_roots n=3: rank 2: MPI_Bcast(root 1) */
}

static void other_operators(void) {
    MPI_Allreduce(a, b, 1, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD); /* wrong: other_operators n=3: rank 1: MPI_Allreduce(1 x MPI_INT, MPI_MAX) */
}

static void other_datatypes(void) {
    MPI_Bcast(a, 1, rank == 1 ? MPI_FLOAT : MPI_INT, 0, MPI_COMM_WORLD); /* wrong: other_datatypes n=2: rank 0 sends MPI_INT, and this rank receives MPI_FLOAT */
}

static void other_lengths(void) {
    MPI_Bcast(a, 1 + rank, MPI_INT, 0, MPI_COMM_WORLD); /* wrong: other_lengths n=2: MPI_Bcast */
}

static void message_of_other_datatype(void) {
    if (rank == 0) MPI_Send(a, 1, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(a, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* wrong: message_of_other_datatype n=2: holds MPI_FLOAT, and is received as MPI_INT */
}

static void message_too_long(void) {
    if (rank == 0) MPI_Send(a, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(a, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* wrong: message_too_long n=2: MPI_ERR_TRUNCATE */
}

static void no_such_rank(void) {
    MPI_Send(a, 1, MPI_INT, size, 0, MPI_COMM_WORLD); /* wrong: no_such_rank n=2: MPI_ERR_RANK */
}

static void negative_tag(void) {
    MPI_Send(a, 1, MPI_INT, 0, -1, MPI_COMM_WORLD); /* wrong: negative_tag n=1: MPI_ERR_TAG */
}

static void negative_count(void) {
    MPI_Send(a, -1, MPI_INT, 0, 0, MPI_COMM_WORLD); /* wrong: negative_count n=1: MPI_ERR_COUNT */
}

static void null_buffer(void) {
    MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); /* wrong: null_buffer n=1: MPI_ERR_BUFFER */
}

static void one_buffer_for_both(void) {
    MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* wrong: one_buffer_for_both n=2: pass MPI_IN_PLACE */
}

static void predefined_on_derived(void) {
    MPI_Type_contiguous(2, MPI_INT, &type), MPI_Type_commit(&type);
    MPI_Allreduce(a, b, 1, type, MPI_SUM, MPI_COMM_WORLD); /* wrong: predefined_on_derived n=2: MPI_SUM is on predefined datatypes */
}

static void sum_of_pairs(void) {
    MPI_Reduce(a, b, 1, MPI_2INT, MPI_SUM, 0, MPI_COMM_WORLD); /* wrong: sum_of_pairs n=2: MPI_SUM is on numbers, and these are pairs */
}

static void fewer_than_gathered(void) {
    int counts[2] = {2, 2}, places[2] = {0, 2};
    MPI_Gatherv(a, 2 - rank, MPI_INT, b, counts, places, MPI_INT, 0, MPI_COMM_WORLD); /* wrong: fewer_than_gathered n=2: rank 1 sends 4 bytes, and this rank receives 8 */
}

static void fewer_for_all(void) {
    int sent[2] = {1, 1}, received[2] = {2, 2}, places[2] = {0, 2};
    MPI_Alltoallv(a, sent, places, MPI_INT, b, received, places, MPI_INT, MPI_COMM_WORLD); /* wrong: fewer_for_all n=2: collectives need equal amounts */
}

static void uncommitted(void) {
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Send(a, 1, type, 0, 0, MPI_COMM_WORLD); /* wrong: uncommitted n=1: before MPI_Type_commit */
}

static void freed_datatype(void) {
    MPI_Type_contiguous(2, MPI_INT, &type), MPI_Type_commit(&type);
    MPI_Datatype stale = type;
    MPI_Type_free(&type);
    MPI_Send(a, 1, stale, 0, 0, MPI_COMM_WORLD); /* wrong: freed_datatype n=1: was freed */
}

static void freed_communicator(void) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm stale = comm;
    MPI_Comm_free(&comm);
    MPI_Barrier(stale); /* wrong: freed_communicator n=2: was freed */
}

static void waited_twice(void) {
    MPI_Isend(a, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Recv(b, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    requests[0] = requests[1] = request;
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE); /* wrong: waited_twice n=1: MPI_ERR_REQUEST */
}

static void started_twice(void) {
    MPI_Recv_init(a, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Start(&request); /* wrong: started_twice n=1: the request is active */
}

static void operator_not_on_datatype(void) {
    double x = 0, y;
    MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_BXOR, MPI_COMM_WORLD); /* wrong: operator_not_on_datatype n=2: MPI_BXOR is not on elements of MPI_DOUBLE */
}

static void buffered_without_buffer(void) {
    MPI_Bsend(a, 1, MPI_INT, rank, 0, MPI_COMM_WORLD); /* wrong: buffered_without_buffer n=1: no buffer was attached */
}

static void grid_too_large(void) {
    int dims[2] = {2, 2}, periods[2] = {0, 0};
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm); /* wrong: grid_too_large n=3: MPI_ERR_DIMS */
}

static void fault(void) {
    *(volatile int *)(sizeof a) = 1; /* wrong: fault n=2: SIGSEGV */
}

static void aborts(void) {
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 3); /* wrong: aborts n=2: with code 3 */
    MPI_Barrier(MPI_COMM_WORLD);
}

static void after_finalize(void) {
    MPI_Finalize();
    MPI_Barrier(MPI_COMM_WORLD); /* wrong: after_finalize n=1: it is called after MPI_Finalize */
}

static MPI_Win window;
static MPI_Group group;

static void make_window(void) {
    MPI_Win_create(a, sizeof a, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
}

static void group_of(int one) {
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &one, &group);
}

static void access_without_epoch(void) {
    make_window();
    MPI_Put(b, 1, MPI_INT, 0, 0, 1, MPI_INT, window); /* wrong: access_without_epoch n=2: MPI_Put on a window of 2 ranks */
}

static void access_after_the_last_fence(void) {
    make_window();
    MPI_Win_fence(0, window);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
    MPI_Get(b, 1, MPI_INT, 0, 0, 1, MPI_INT, window); /* wrong: access_after_the_last_fence n=2: no epoch is open in which rank 0 may be accessed */
}

static void beyond_the_window(void) {
    make_window();
    MPI_Win_fence(0, window);
    MPI_Put(b, 4, MPI_INT, 0, 6, 4, MPI_INT, window); /* wrong: beyond_the_window n=2: bytes 24..40 are not all in the window of rank 0, which has 32 */
}

static void beyond_by_the_datatype(void) {
    make_window();
    MPI_Type_vector(3, 1, 4, MPI_INT, &type), MPI_Type_commit(&type);
    MPI_Win_fence(0, window);
    MPI_Put(b, 3, MPI_INT, 0, 0, 1, type, window); /* wrong: beyond_by_the_datatype n=1: MPI_ERR_RMA_RANGE */
}

static void window_of_other_datatype(void) {
    make_window();
    MPI_Win_fence(0, window);
    MPI_Put(b, 1, MPI_FLOAT, 0, 0, 1, MPI_INT, window); /* wrong: window_of_other_datatype n=1: the elements are MPI_FLOAT, and are copied as MPI_INT */
}

static void more_than_the_target(void) {
    make_window();
    MPI_Win_fence(0, window);
    MPI_Put(b, 2, MPI_INT, 0, 0, 1, MPI_INT, window); /* wrong: more_than_the_target n=1: MPI_ERR_TRUNCATE */
}

static void fence_without_one(void) {
    make_window();
    if (rank != 1) MPI_Win_fence(0, window); /* wrong: fence_without_one n=3: MPI_Win_fence */
}

static void fence_and_barrier(void) {
    make_window();
    if (rank == 0) MPI_Win_fence(0, window); /* wrong: fence_and_barrier n=2: deadlock: no rank can move */
    else MPI_Barrier(MPI_COMM_WORLD);
}

static void access_not_fenced(void) {
    make_window();
    MPI_Win_fence(0, window);
    MPI_Put(b, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_free(&window); /* wrong: access_not_fenced n=2: call MPI_Win_fence again first */
}

static void locked_twice(void) {
    make_window();
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window); /* wrong: locked_twice n=2: rank 0 is locked already */
}

static void other_rank_locked(void) {
    make_window();
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Put(b, 1, MPI_INT, 1, 0, 1, MPI_INT, window); /* wrong: other_rank_locked n=2: MPI_ERR_RMA_SYNC */
}

static void never_unlocked(void) {
    make_window();
    if (rank == 0) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window); /* wrong: never_unlocked n=2: MPI_Win_lock(rank 1) */
    else MPI_Recv(b, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void crossed_locks(void) {
    make_window();
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - rank, 0, window); /* wrong: crossed_locks n=2: each waits for the next: 0 -> 1 -> 0 */
}

static void flush_without_lock(void) {
    make_window();
    MPI_Win_flush(0, window); /* wrong: flush_without_lock n=1: rank 0 is not locked */
}

static void start_without_post(void) {
    make_window();
    group_of(1);
    if (rank == 0) MPI_Win_start(group, 0, window); /* wrong: start_without_post n=2: rank 0: MPI_Win_start */
    else MPI_Recv(b, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wait_without_complete(void) {
    make_window();
    group_of(1 - rank);
    if (rank == 0) MPI_Win_post(group, 0, window), MPI_Win_wait(window); /* wrong: wait_without_complete n=2: rank 0: MPI_Win_wait */
    else MPI_Win_start(group, 0, window), MPI_Recv(b, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void target_not_started(void) {
    make_window();
    group_of(rank);
    MPI_Win_post(group, 0, window);
    MPI_Win_start(group, 0, window);
    MPI_Put(b, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window); /* wrong: target_not_started n=2: is none of the group of MPI_Win_start */
}

static void own_operator_on_a_window(void) {
    make_window();
    MPI_Win_fence(0, window);
    MPI_Accumulate(b, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, window); /* wrong: own_operator_on_a_window n=1: MPI_NO_OP is for calls that get elements too */
}

static void freed_window(void) {
    MPI_Win stale;
    make_window();
    stale = window;
    MPI_Win_free(&window);
    MPI_Win_fence(0, stale); /* wrong: freed_window n=2: was freed */
}

static void windows_made_otherwise(void) {
    void *at;
    if (rank == 0) make_window();
    else MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &at, &window); /* wrong: windows_made_otherwise n=2: rank 0 calls MPI_Win_create, and this rank MPI_Win_allocate */
}

static void memory_not_attached(void) {
    MPI_Aint at;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Get_address(a, &at);
    MPI_Win_fence(0, window);
    MPI_Put(b, 1, MPI_INT, rank, at, 1, MPI_INT, window); /* wrong: memory_not_attached n=1: is not attached at rank 0 */
}

static void fence_and_free(void) {
    make_window();
    if (rank == 0) MPI_Win_fence(0, window);
    else MPI_Win_free(&window); /* wrong: fence_and_free n=2: the ranks are in different collective calls */
}

static void cancelled_collective(void) {
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Cancel(&request); /* wrong: cancelled_collective n=2: the request is that of a collective, which cannot be cancelled */
}

static void freed_collective(void) {
    MPI_Ibcast(a, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request); /* wrong: freed_collective n=2: which cannot be freed before it is over */
}

static void file(void) {
    MPI_File file;
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    MPI_File_open(MPI_COMM_WORLD, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file); /* wrong: file n=2: MPI_ERR_UNSUPPORTED_OPERATION: MPI-IO is not done */
}

static void partitioned(void) {
    MPI_Psend_init(a, 2, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request); /* wrong: partitioned n=1: partitioned communication is not done */
}

static void roots_of_gatherv(void) {
    int counts[2] = {1, 1}, places[2] = {0, 1};
    MPI_Gatherv(a, 1, MPI_INT, b, counts, places, MPI_INT, rank, MPI_COMM_WORLD); /* wrong: roots_of_gatherv n=2: rank 0: MPI_Gatherv(root 0) */
}

static void roots_of_scatterv(void) {
    int counts[3] = {1, 1, 1}, places[3] = {0, 1, 2};
    MPI_Scatterv(a, counts, places, MPI_INT, b, 1, MPI_INT, (rank + 1) % 3, MPI_COMM_WORLD); /* wrong: roots_of_scatterv n=3: rank 0: MPI_Scatterv(root 1) */
}

static void started_without_one(void) {
    int counts[3] = {1, 1, 1}, places[3] = {0, 1, 2};
    if (rank < 2) MPI_Ialltoallv(a, counts, places, MPI_INT, b, counts, places, MPI_INT, MPI_COMM_WORLD, &request);
    else MPI_Irecv(a, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* wrong: started_without_one n=3: rank 0: MPI_Wait(MPI_Ialltoallv) */
}

static void started_with_other_roots(void) {
    int counts[2] = {1, 1}, places[2] = {0, 1};
    MPI_Igatherv(a, 1, MPI_INT, b, counts, places, MPI_INT, rank, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* wrong: started_with_other_roots n=2: rank 1: MPI_Wait(MPI_Igatherv, root 1) */
}

static void any_of_many(void) {
    MPI_Request many[7];
    int which;
    for (int i = 0; i < 7; i++) MPI_Irecv(&a[i], 1, MPI_INT, 1 - rank, i, MPI_COMM_WORLD, &many[i]);
    MPI_Waitany(7, many, &which, MPI_STATUS_IGNORE); /* wrong: any_of_many n=2: from 1, tag 3; and 3 more) */
}

static void buffer_for_one(void) {
    static char room[MPI_BSEND_OVERHEAD + sizeof(int) + 8];
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(a, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Bsend(a, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD); /* wrong: buffer_for_one n=2 with=--zero-buffering: of which 516 hold messages that have not been received */
}

static void detached(void) {
    static char room[MPI_BSEND_OVERHEAD + sizeof(int) + 8];
    void *place;
    int bytes;
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(a, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Buffer_detach(&place, &bytes); /* wrong: detached n=2 with=--zero-buffering: rank 0: MPI_Buffer_detach */
    MPI_Recv(b, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void disconnected(void) {
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Isend(a, 1, MPI_INT, 1 - rank, 0, comm, &request);
    MPI_Request_free(&request);
    MPI_Comm_disconnect(&comm); /* wrong: disconnected n=2 with=--zero-buffering: rank 0: MPI_Comm_disconnect */
}

static void disconnected_from_none(void) {
    MPI_Comm comm;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Irecv(a, 1, MPI_INT, 1 - rank, 0, comm, &request);
    MPI_Comm_disconnect(&comm); /* wrong: disconnected_from_none n=2: each waits for the next: 0 -> 1 -> 0 */
}

static void flushed_without_buffer(void) {
    MPI_Buffer_flush(); /* wrong: flushed_without_buffer n=1: MPI_ERR_BUFFER: no buffer is attached */
}

static void buffer_of_a_communicator(void) {
    static char room[2 * MPI_BSEND_OVERHEAD + 16];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Buffer_attach(room, MPI_BSEND_OVERHEAD + 8);
    MPI_Comm_attach_buffer(comm, room + MPI_BSEND_OVERHEAD + 8, 8);
    MPI_Bsend(a, 1, MPI_INT, 1 - rank, 0, comm); /* wrong: buffer_of_a_communicator n=2: the attached buffer has 8 bytes, and the message needs 516 */
}

static void flushed(void) {
    static char room[MPI_BSEND_OVERHEAD + 8];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_attach_buffer(comm, room, sizeof room);
    MPI_Bsend(a, 1, MPI_INT, 1 - rank, 0, comm);
    MPI_Comm_flush_buffer(comm); /* wrong: flushed n=2 with=--zero-buffering: rank 0: MPI_Comm_flush_buffer */
    MPI_Recv(b, 1, MPI_INT, 1 - rank, 0, comm, MPI_STATUS_IGNORE);
}

static void freed_and_too_long(void) {
    MPI_Irecv(a, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Send(b, 2, MPI_INT, rank, 0, MPI_COMM_WORLD); /* wrong: freed_and_too_long n=2: MPI_ERR_TRUNCATE: in an operation whose request was freed: the message has 8 bytes */
}

static void grid(int maxdims) {
    int dims[2] = {1, 1}, periods[2] = {0, 0};
    MPI_Cart_create(MPI_COMM_SELF, 2, dims, periods, 0, &comm);
    MPI_Cart_coords(comm, 0, maxdims, a); /* wrong: few_coordinates n=1: there is room for 1 coordinates, and the grid has 2 dimensions */
}

static void few_coordinates(void) {
    grid(1);
}

static void no_weights(void) {
    int self[1] = {0};
    MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, self, MPI_WEIGHTS_EMPTY, 1, self, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm); /* wrong: no_weights n=1: MPI_WEIGHTS_EMPTY, which is for none */
}

static void replaces(void) {
    MPI_Allreduce(a, b, 1, MPI_INT, MPI_REPLACE, MPI_COMM_WORLD); /* wrong: replaces n=2: MPI_REPLACE is for accesses to windows */
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(void); } all[] = {
#define CASE(name) {#name, name}
        CASE(receive_without_send), CASE(both_receive_first), CASE(both_send_first), CASE(both_send_synchronously),
        CASE(other_tag), CASE(other_communicator), CASE(wait_before_send), CASE(wildcard_takes_another),
        CASE(barrier_without_one), CASE(collectives_in_other_order), CASE(other_roots), CASE(other_operators),
        CASE(other_datatypes), CASE(other_lengths), CASE(message_of_other_datatype), CASE(message_too_long),
        CASE(no_such_rank), CASE(negative_tag), CASE(negative_count), CASE(null_buffer), CASE(one_buffer_for_both),
        CASE(any_of_two), CASE(disconnected), CASE(disconnected_from_none), CASE(predefined_on_derived), CASE(sum_of_pairs), CASE(fewer_than_gathered), CASE(fewer_for_all),
        CASE(uncommitted), CASE(freed_datatype), CASE(freed_communicator), CASE(waited_twice), CASE(started_twice),
        CASE(operator_not_on_datatype), CASE(buffered_without_buffer), CASE(grid_too_large), CASE(fault), CASE(aborts),
        CASE(after_finalize), CASE(access_without_epoch), CASE(access_after_the_last_fence), CASE(beyond_the_window),
        CASE(beyond_by_the_datatype), CASE(window_of_other_datatype), CASE(more_than_the_target),
        CASE(fence_without_one), CASE(fence_and_barrier), CASE(access_not_fenced), CASE(locked_twice),
        CASE(other_rank_locked), CASE(never_unlocked), CASE(crossed_locks), CASE(flush_without_lock),
        CASE(start_without_post), CASE(wait_without_complete), CASE(target_not_started),
        CASE(own_operator_on_a_window), CASE(freed_window), CASE(windows_made_otherwise), CASE(memory_not_attached),
        CASE(fence_and_free), CASE(cancelled_collective), CASE(freed_collective), CASE(file), CASE(partitioned),
        CASE(roots_of_gatherv), CASE(roots_of_scatterv), CASE(started_without_one), CASE(started_with_other_roots),
        CASE(any_of_many), CASE(buffer_for_one), CASE(few_coordinates), CASE(no_weights), CASE(detached),
        CASE(flushed_without_buffer), CASE(buffer_of_a_communicator), CASE(flushed), CASE(freed_and_too_long),
        CASE(replaces),
    };
    begin(&argc, &argv);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(argv[1], all[i].name) == 0) all[i].run();
    MPI_Finalize();
    return 0;
}
