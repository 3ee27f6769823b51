/* Communicators of communicators: rows and columns, keys that reverse, duplicates with attributes, names. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int wide = 2, r, n, sum, result;
    MPI_Comm row, column, back, twin, half, third, odd;
    MPI_Comm_split(MPI_COMM_WORLD, rank / wide, rank, &row);
    MPI_Comm_split(MPI_COMM_WORLD, rank % wide, rank, &column);
    MPI_Comm_rank(row, &r), MPI_Comm_size(row, &n);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, row);
    say("row: %d of %d, sum %d", r, n, sum);
    MPI_Comm_rank(column, &r), MPI_Comm_size(column, &n);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, column);
    say("column: %d of %d, sum %d", r, n, sum);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &back);
    MPI_Comm_rank(back, &r);
    MPI_Scan(&rank, &sum, 1, MPI_INT, MPI_SUM, back);
    MPI_Comm_compare(back, MPI_COMM_WORLD, &result);
    say("back: %d, scan %d, %d", r, sum, result == (size == 1 ? MPI_CONGRUENT : MPI_SIMILAR));
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &odd);
    say("without rank 0: %d", odd == MPI_COMM_NULL);
    if (odd != MPI_COMM_NULL) {
        MPI_Comm_rank(odd, &r);
        say("in it: %d", r);
        MPI_Comm_free(&odd);
    }
    MPI_Comm_dup(row, &twin);
    MPI_Comm_compare(row, twin, &result);
    say("twin: %d", result == MPI_CONGRUENT);
    /* The same tags on different communicators do not meet. */
    int a = -1, b = -1, one = 10 * rank, other = 10 * rank + 1;
    MPI_Request requests[4];
    MPI_Comm_rank(row, &r), MPI_Comm_size(row, &n);
    MPI_Irecv(&a, 1, MPI_INT, (r + 1) % n, 0, row, &requests[0]);
    MPI_Irecv(&b, 1, MPI_INT, (r + 1) % n, 0, twin, &requests[1]);
    MPI_Isend(&other, 1, MPI_INT, (r + n - 1) % n, 0, twin, &requests[2]);
    MPI_Isend(&one, 1, MPI_INT, (r + n - 1) % n, 0, row, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    say("apart: %d %d", a, b);
    MPI_Request request;
    MPI_Comm later;
    /* A rank goes on before the next one, which waits for it, begins. */
    int token = r;
    if (r > 0) MPI_Recv(&token, 1, MPI_INT, r - 1, 0, row, MPI_STATUS_IGNORE);
    MPI_Comm_idup(twin, &later, &request);
    if (r + 1 < n) MPI_Send(&r, 1, MPI_INT, r + 1, 0, row);
    say("token: %d", token);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_compare(later, twin, &result);
    say("started: %d", result == MPI_CONGRUENT);
    MPI_Comm_split_type(later, MPI_COMM_TYPE_SHARED, -r, MPI_INFO_NULL, &half);
    int h;
    MPI_Comm_rank(half, &h);
    say("shared: %d", h);
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    say("%s %d", name, length);
    MPI_Comm_get_name(MPI_COMM_SELF, name, &length);
    say("%s %d", name, length);
    MPI_Comm_set_name(half, "half of it");
    MPI_Comm_get_name(half, name, &length);
    say("%s %d", name, length);
    int inter;
    MPI_Comm_test_inter(half, &inter);
    say("between groups: %d", inter);
    MPI_Comm_free(&row), MPI_Comm_free(&column), MPI_Comm_free(&back), MPI_Comm_free(&twin), MPI_Comm_free(&later), MPI_Comm_disconnect(&half);
    say("freed: %d", half == MPI_COMM_NULL);
    MPI_Finalize();
    return 0;
}
