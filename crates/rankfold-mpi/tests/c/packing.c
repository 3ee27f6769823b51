/* MPI_Pack and MPI_Unpack: of several datatypes into one message, and messages of MPI_PACKED received as what they hold. */
#include "say.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    char buffer[512];
    int position = 0, room, numbers[6] = {1, 2, 3, 4, 5, 6}, right = (rank + 1) % size, left = (rank + size - 1) % size;
    double values[2] = {rank + 0.5, -rank};
    MPI_Datatype odd;
    MPI_Type_vector(3, 1, 2, MPI_INT, &odd), MPI_Type_commit(&odd);
    MPI_Pack_size(1, odd, MPI_COMM_WORLD, &room);
    say("room: %d", room >= 12);
    MPI_Pack(&rank, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    MPI_Pack(values, 2, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    MPI_Pack(numbers, 1, odd, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    say("position: %d", position);
    MPI_Status status;
    char in[512];
    MPI_Sendrecv(buffer, position, MPI_PACKED, right, 0, in, sizeof in, MPI_PACKED, left, 0, MPI_COMM_WORLD, &status);
    int bytes, who, back[6] = {-1, -1, -1, -1, -1, -1};
    double got[2];
    MPI_Get_count(&status, MPI_PACKED, &bytes);
    position = 0;
    MPI_Unpack(in, bytes, &position, &who, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(in, bytes, &position, got, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Unpack(in, bytes, &position, back, 1, odd, MPI_COMM_WORLD);
    say("%d bytes from %d: %g %g, %s", bytes, who, got[0], got[1], list(back, 6));
    /* Packed and received as integers; sent as integers and received packed. */
    position = 0;
    MPI_Pack(numbers, 4, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    int plain[4] = {0};
    MPI_Sendrecv(buffer, position, MPI_PACKED, right, 1, plain, 4, MPI_INT, left, 1, MPI_COMM_WORLD, &status);
    say("as integers: %s", list(plain, 4));
    MPI_Sendrecv(numbers + rank % 3, 3, MPI_INT, right, 2, in, sizeof in, MPI_PACKED, left, 2, MPI_COMM_WORLD, &status);
    position = 0;
    MPI_Unpack(in, sizeof in, &position, plain, 3, MPI_INT, MPI_COMM_WORLD);
    say("packed: %s", list(plain, 3));
    int lengths[64], places[64];
    position = 0;
    for (int i = 0; i <= rank; i++) MPI_Pack(&i, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
    MPI_Gather(&position, 1, MPI_INT, lengths, 1, MPI_INT, 0, MPI_COMM_WORLD);
    int total = 0;
    if (rank == 0)
        for (int r = 0; r < size; r++) places[r] = total, total += lengths[r];
    char *all = malloc(total + 1);
    MPI_Gatherv(buffer, position, MPI_PACKED, all, lengths, places, MPI_PACKED, 0, MPI_COMM_WORLD);
    int sum = 0, next;
    for (position = 0; position < total; sum += next) MPI_Unpack(all, total, &position, &next, 1, MPI_INT, MPI_COMM_WORLD);
    if (rank == 0) say("gathered: %d bytes, sum %d", total, sum);
    free(all);
    MPI_Type_free(&odd);
    MPI_Finalize();
    return 0;
}
