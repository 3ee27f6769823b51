/* Handles as integers of Fortran and back, and handles as values of variables. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm comm, comm2;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    comm2 = MPI_Comm_f2c(MPI_Comm_c2f(comm));
    int result, n;
    MPI_Comm_compare(comm, comm2, &result);
    say("communicator: %d %d %d", comm == comm2, result == MPI_IDENT, MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    MPI_Datatype type;
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Datatype same = MPI_Type_f2c(MPI_Type_c2f(type));
    MPI_Type_size(same, &n);
    say("datatype: %d %d %d", same == type, n, MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE);
    MPI_Group group;
    MPI_Comm_group(comm, &group);
    say("group: %d %d", MPI_Group_f2c(MPI_Group_c2f(group)) == group, MPI_Group_f2c(MPI_Group_c2f(MPI_GROUP_EMPTY)) == MPI_GROUP_EMPTY);
    say("operator: %d", MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
    MPI_Request request;
    int in = -1;
    MPI_Irecv(&in, 1, MPI_INT, rank, 0, comm, &request);
    MPI_Request again = MPI_Request_f2c(MPI_Request_c2f(request));
    MPI_Send(&rank, 1, MPI_INT, rank, 0, comm2);
    MPI_Wait(&again, MPI_STATUS_IGNORE);
    say("request: %d %d", in == rank, MPI_Request_f2c(MPI_Request_c2f(MPI_REQUEST_NULL)) == MPI_REQUEST_NULL);
    MPI_Info info;
    MPI_Info_create(&info);
    say("info: %d", MPI_Info_f2c(MPI_Info_c2f(info)) == info);
    MPI_Info_free(&info);
    MPI_Win win;
    int memory[2] = {rank, 0};
    MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, comm, &win);
    say("window: %d", MPI_Win_f2c(MPI_Win_c2f(win)) == win);
    MPI_Win_free(&win);
    say("handler: %d", MPI_Errhandler_f2c(MPI_Errhandler_c2f(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
    MPI_Group_free(&group), MPI_Type_free(&type), MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
