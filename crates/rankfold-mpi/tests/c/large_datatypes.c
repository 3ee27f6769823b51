/* Datatypes, operators, packing and windows with counts of type MPI_Count, which there are since MPI-4: not on openmpi. */
#include "say.h"

static void sums(void *in, void *inout, MPI_Count *count, MPI_Datatype *type) {
    (void)type;
    for (MPI_Count i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

/* What a datatype is, and what it packs. */
static void show(const char *name, MPI_Datatype type) {
    MPI_Count bytes, lb, extent, first, length, integers, addresses, counts, types, position = 0;
    MPI_Count parts[64];
    MPI_Aint places[8];
    MPI_Datatype of[8];
    int combiner, numbers[64], from[256], packed[256];
    for (int i = 0; i < 256; i++) from[i] = i, packed[i] = -1;
    MPI_Type_commit(&type);
    MPI_Type_size_c(type, &bytes);
    MPI_Type_get_extent_c(type, &lb, &extent);
    MPI_Type_get_true_extent_c(type, &first, &length);
    say("%s: %d %d %d %d %d", name, (int)bytes, (int)lb, (int)extent, (int)first, (int)length);
    MPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
    MPI_Type_get_contents_c(type, integers, addresses, counts, types, numbers, places, parts, of);
    for (int i = 0; i < (int)counts; i++) packed[i] = (int)parts[i];
    say("%s: %d integers, %d addresses, %d datatypes, counts %s", name, (int)integers, (int)addresses, (int)types,
        list(packed, (int)counts));
    MPI_Pack_size_c(2, type, MPI_COMM_WORLD, &length);
    MPI_Pack_c(from + 64, 2, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    say("%s: packed %s, room %d", name, list(packed, (int)(position / 4)), length >= position);
    position = 0;
    memset(from, 0, sizeof from);
    MPI_Unpack_c(packed, sizeof packed, &position, from + 64, 2, type, MPI_COMM_WORLD);
    say("%s: unpacked %s", name, list(from + 60, 30));
    MPI_Type_free(&type);
}

static void datatypes(void) {
    MPI_Datatype type, of[2] = {MPI_INT, MPI_FLOAT};
    MPI_Count lengths[] = {2, 1}, places[] = {3, 0}, bytes[] = {16, 4}, sizes[] = {4, 5}, parts[] = {2, 3}, starts[] = {1, 2};
    MPI_Type_contiguous_c(3, MPI_INT, &type), show("contiguous", type);
    MPI_Type_vector_c(2, 2, 3, MPI_INT, &type), show("vector", type);
    MPI_Type_create_hvector_c(2, 1, 12, MPI_INT, &type), show("hvector", type);
    MPI_Type_indexed_c(2, lengths, places, MPI_INT, &type), show("indexed", type);
    MPI_Type_create_hindexed_c(2, lengths, bytes, MPI_INT, &type), show("hindexed", type);
    MPI_Type_create_indexed_block_c(2, 2, places, MPI_INT, &type), show("indexed block", type);
    MPI_Type_create_hindexed_block_c(2, 1, bytes, MPI_INT, &type), show("hindexed block", type);
    MPI_Type_create_struct_c(2, lengths, bytes, of, &type), show("struct", type);
    MPI_Type_create_resized_c(MPI_INT, -4, 12, &type), show("resized", type);
    MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type), show("subarray", type);
    int kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, with[] = {1, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 1};
    MPI_Type_create_darray_c(2, 1, 2, sizes, kinds, with, grid, MPI_ORDER_C, MPI_INT, &type), show("darray", type);
}

static void operators(void) {
    MPI_Op op;
    int mine[2] = {rank, 1}, sum[2];
    MPI_Op_create_c(sums, 1, &op);
    MPI_Allreduce(mine, sum, 2, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Reduce_local_c(mine, sum, 2, MPI_INT, op);
    say("own operator: %s", list(sum, 2));
    MPI_Op_free(&op);
    MPI_Request request;
    MPI_Allreduce_init_c(mine, sum, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    say("persistent: %s", list(sum, 2));
    MPI_Request_free(&request);
}

static void windows(void) {
    int *at, got = -1, before = -1, right = (rank + 1) % size;
    MPI_Win window;
    MPI_Request request;
    MPI_Aint bytes, unit;
    MPI_Win_allocate_c(16, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &window);
    memset(at, 0, 16);
    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Rput_c(&rank, 1, MPI_INT, right, 0, 1, MPI_INT, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(right, window);
    MPI_Rget_c(&got, 1, MPI_INT, right, 0, 1, MPI_INT, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Raccumulate_c(&got, 1, MPI_INT, right, 1, 1, MPI_INT, MPI_SUM, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(right, window);
    MPI_Rget_accumulate_c(&got, 1, MPI_INT, &before, 1, MPI_INT, right, 1, 1, MPI_INT, MPI_SUM, window, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_accumulate_c(&got, 1, MPI_INT, &before, 1, MPI_INT, right, 2, 1, MPI_INT, MPI_REPLACE, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    say("window: got %d, before %d, has %s", got, before, list(at, 3));
    MPI_Win_free(&window);
    MPI_Win_allocate_shared_c(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &at, &window);
    MPI_Win_shared_query_c(window, right, &bytes, &unit, &at);
    say("shared: %d bytes, unit %d", (int)bytes, (int)unit);
    MPI_Win_free(&window);
}

static void messages(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, here = rank, room[1024];
    MPI_Count bytes;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    void *detached;
    MPI_Sendrecv_replace_c(&here, 1, MPI_INT, right, 0, left, 0, MPI_COMM_WORLD, &status);
    say("replaced by %d", here);
    MPI_Isendrecv_replace_c(&here, 1, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    say("replaced by %d", here);
    MPI_Buffer_attach_c(room, sizeof room);
    MPI_Bsend(&rank, 1, MPI_INT, right, 2, MPI_COMM_WORLD);
    MPI_Mprobe(left, 2, MPI_COMM_WORLD, &message, &status);
    MPI_Imrecv_c(&here, 1, MPI_INT, &message, &request);
    MPI_Wait(&request, &status);
    MPI_Buffer_detach_c(&detached, &bytes);
    say("matched %d, detached %d bytes", here, (int)bytes);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    datatypes();
    operators();
    windows();
    messages();
    MPI_Finalize();
    return 0;
}
