/* Every predefined operator on every datatype it is for. */
#include "say.h"
#include <complex.h>
#include <stdint.h>

static unsigned hash;
static char line[1024];

static void add(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + strlen(line), sizeof line - strlen(line), format, arguments);
    va_end(arguments);
}

/* Rank 0 prints the results, and every rank in the end a number that stands for its own. */
static void tell(const char *name) {
    for (const char *at = line; *at; at++) hash = hash * 31 + *at;
    if (rank == 0) say("%s:%s", name, line);
    line[0] = 0;
}

#define INTEGERS(TYPE, NAME) do { \
    TYPE in[3] = {(TYPE)(rank + 1), (TYPE)(3 * rank + 5), (TYPE)(rank % 2)}, out[3]; \
    MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR}; \
    for (int i = 0; i < 10; i++) { \
        MPI_Allreduce(in, out, 3, NAME, ops[i], MPI_COMM_WORLD); \
        add(" %lld %lld %lld", (long long)out[0], (long long)out[1], (long long)out[2]); \
    } \
    tell(#NAME); } while (0)

#define FLOATS(TYPE, NAME) do { \
    TYPE in[2] = {rank + (TYPE)0.5, 2 - rank}, out[2]; \
    MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX}; \
    for (int i = 0; i < 4; i++) { \
        MPI_Allreduce(in, out, 2, NAME, ops[i], MPI_COMM_WORLD); \
        add(" %g %g", (double)out[0], (double)out[1]); \
    } \
    tell(#NAME); } while (0)

#define PAIRS(TYPE, NAME) do { \
    struct { TYPE value; int place; } in[2] = {{(TYPE)((rank * 5) % 3), rank}, {(TYPE)(rank / 2), 9 - rank}}, out[2]; \
    MPI_Op ops[] = {MPI_MINLOC, MPI_MAXLOC}; \
    for (int i = 0; i < 2; i++) { \
        MPI_Allreduce(in, out, 2, NAME, ops[i], MPI_COMM_WORLD); \
        add(" %g %d %g %d", (double)out[0].value, out[0].place, (double)out[1].value, out[1].place); \
    } \
    tell(#NAME); } while (0)

int main(int argc, char **argv) {
    begin(&argc, &argv);
    INTEGERS(signed char, MPI_SIGNED_CHAR);
    INTEGERS(unsigned char, MPI_UNSIGNED_CHAR);
    INTEGERS(short, MPI_SHORT);
    INTEGERS(unsigned short, MPI_UNSIGNED_SHORT);
    INTEGERS(int, MPI_INT);
    INTEGERS(unsigned, MPI_UNSIGNED);
    INTEGERS(long, MPI_LONG);
    INTEGERS(unsigned long, MPI_UNSIGNED_LONG);
    INTEGERS(long long, MPI_LONG_LONG);
    INTEGERS(int8_t, MPI_INT8_T);
    INTEGERS(uint16_t, MPI_UINT16_T);
    INTEGERS(int32_t, MPI_INT32_T);
    INTEGERS(uint64_t, MPI_UINT64_T);
    FLOATS(float, MPI_FLOAT);
    FLOATS(double, MPI_DOUBLE);
    FLOATS(long double, MPI_LONG_DOUBLE);
    PAIRS(float, MPI_FLOAT_INT);
    PAIRS(double, MPI_DOUBLE_INT);
    PAIRS(long, MPI_LONG_INT);
    PAIRS(short, MPI_SHORT_INT);
    PAIRS(int, MPI_2INT);
    PAIRS(long double, MPI_LONG_DOUBLE_INT);
    double complex z[2] = {rank + 1 + I, rank * I}, w[2];
    MPI_Allreduce(z, w, 2, MPI_C_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    add(" %g %g %g %g", creal(w[0]) + 0, cimag(w[0]) + 0, creal(w[1]) + 0, cimag(w[1]) + 0);
    MPI_Allreduce(z, w, 2, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
    add(" %g %g %g %g", creal(w[0]) + 0, cimag(w[0]) + 0, creal(w[1]) + 0, cimag(w[1]) + 0);
    unsigned char bytes[2] = {(unsigned char)(1 << rank % 8), (unsigned char)(255 - rank)}, mask[2];
    MPI_Allreduce(bytes, mask, 2, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    add(" %d %d", mask[0], mask[1]);
    MPI_Allreduce(bytes, mask, 2, MPI_BYTE, MPI_BAND, MPI_COMM_WORLD);
    add(" %d %d", mask[0], mask[1]);
    say("all: %u", hash);
    MPI_Finalize();
    return 0;
}
