/* Sessions, which there are since MPI-4: not on openmpi. */
#include "say.h"

int main(int argc, char **argv) {
    MPI_Session session;
    MPI_Group group, alone;
    MPI_Comm comm, self;
    int on, n;
    MPI_Initialized(&on);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all of them", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    say("before: %d", on);
    MPI_Initialized(&on);
    say("with a session: %d", on);
    MPI_Group_size(group, &n);
    say("group: %d", n == size);
    int sum, right = (rank + 1) % size, left = (rank + size - 1) % size, got = -1;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE);
    say("sum %d, from the left %d", sum, got);
    MPI_Group_from_session_pset(session, "mpi://SELF", &alone);
    MPI_Comm_create_from_group(alone, "itself", MPI_INFO_NULL, MPI_ERRORS_RETURN, &self);
    MPI_Comm_size(self, &n);
    say("alone: %d", n);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n);
    say("sets: %d", n >= 2);
    char name[MPI_MAX_PSET_NAME_LEN];
    int length = sizeof name;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name);
    say("%s", name);
    MPI_Info info;
    int there;
    char value[16];
    MPI_Session_get_pset_info(session, "mpi://WORLD", &info);
    MPI_Info_get(info, "mpi_size", 15, value, &there);
    say("its size: %d", there && atoi(value) == size);
    MPI_Info_free(&info);
    MPI_Group_free(&group), MPI_Group_free(&alone);
    MPI_Comm_free(&comm), MPI_Comm_free(&self);
    MPI_Session_finalize(&session);
    say("ended: %d", session == MPI_SESSION_NULL);
    return 0;
}
