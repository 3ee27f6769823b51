/* What rankfold-mpicc links to each program: streams of its own for the output of its rank. `--wrap` leads the
 * program's uses of the C library's names here. C++ compilers take this too. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <errno.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the launcher: a number for a stream (1 or 2) of the rank that is being loaded, and output to it. */
size_t rankfold_opens(int stream);
void rankfold_writes(size_t stream, const char *bytes, size_t len);
int __real_fileno(FILE *stream);

FILE *__wrap_stdout, *__wrap_stderr;

static ssize_t write_on(void *stream, const char *bytes, size_t len) {
    rankfold_writes((size_t)stream, bytes, len);
    return (ssize_t)len;
}

static FILE *opened(int number) {
    cookie_io_functions_t functions;
    memset(&functions, 0, sizeof functions);
    functions.write = write_on;
    FILE *stream = fopencookie((void *)rankfold_opens(number), "w", functions);
    if (stream) setvbuf(stream, NULL, _IOLBF, BUFSIZ);
    return stream;
}

__attribute__((constructor(101))) static void open_streams(void) {
    __wrap_stdout = opened(1);
    __wrap_stderr = opened(2);
}

int __wrap_vprintf(const char *format, va_list arguments) {
    return vfprintf(__wrap_stdout, format, arguments);
}

int __wrap_printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int len = vfprintf(__wrap_stdout, format, arguments);
    va_end(arguments);
    return len;
}

/* What calls become under _FORTIFY_SOURCE. */
int __wrap___vprintf_chk(int flag, const char *format, va_list arguments) {
    (void)flag;
    return vfprintf(__wrap_stdout, format, arguments);
}

int __wrap___printf_chk(int flag, const char *format, ...) {
    va_list arguments;
    (void)flag;
    va_start(arguments, format);
    int len = vfprintf(__wrap_stdout, format, arguments);
    va_end(arguments);
    return len;
}

int __wrap_puts(const char *text) {
    return fputs(text, __wrap_stdout) < 0 ? EOF : fputc('\n', __wrap_stdout);
}

int __wrap_putchar(int letter) {
    return fputc(letter, __wrap_stdout);
}

int __wrap_putchar_unlocked(int letter) {
    return fputc(letter, __wrap_stdout);
}

void __wrap_perror(const char *what) {
    const char *why = strerror(errno);
    if (what && *what) fprintf(__wrap_stderr, "%s: %s\n", what, why);
    else fprintf(__wrap_stderr, "%s\n", why);
}

/* They have no file of their own: what asks for it, as for a terminal, gets that of the process. */
int __wrap_fileno(FILE *stream) {
    if (stream == __wrap_stdout) return 1;
    return stream == __wrap_stderr ? 2 : __real_fileno(stream);
}

#ifdef __cplusplus
}
#endif
