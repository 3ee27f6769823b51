/* What rankfold-mpicc links to each program besides its streams: states of its own of functions of the C library that keep
 * one for the process. `--wrap` leads the program's uses of their names here. C++ compilers take this too. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

extern FILE *__wrap_stderr;

char *__wrap_optarg;
int __wrap_optind = 1, __wrap_opterr = 1, __wrap_optopt = '?';

/* The letter of a group of options that is next; 0 if none of the group was read. */
static int next_letter;

/* The arguments that are no options and were skipped: those before what was read last. */
static int skipped = 1, skipped_end = 1;

/* The letters without what says how arguments that are no options are met. */
static const char *plain(const char *letters) {
    return *letters == '+' || *letters == '-' ? letters + 1 : letters;
}

static int complains(const char *letters) {
    return __wrap_opterr && *plain(letters) != ':';
}

static int is_option(const char *argument) {
    return argument[0] == '-' && argument[1] != 0;
}

static int missing(const char *letters) {
    return *plain(letters) == ':' ? ':' : '?';
}

static int read_letter(int argc, char *const *argv, const char *letters) {
    const char *at = argv[__wrap_optind] + (next_letter ? next_letter : 1);
    const char *found = *at == ':' || *at == ';' ? NULL : strchr(plain(letters), *at);
    next_letter = at[1] ? (int)(at + 1 - argv[__wrap_optind]) : 0;
    if (!next_letter) __wrap_optind++;
    if (!found) {
        __wrap_optopt = *at;
        if (complains(letters)) fprintf(__wrap_stderr, "%s: invalid option -- '%c'\n", argv[0], *at);
        return '?';
    }
    if (found[1] != ':') return *at;
    if (next_letter) {
        __wrap_optarg = (char *)at + 1;
        __wrap_optind++;
        next_letter = 0;
    } else if (found[2] != ':') {
        if (__wrap_optind >= argc) {
            __wrap_optopt = *at;
            if (complains(letters)) fprintf(__wrap_stderr, "%s: option requires an argument -- '%c'\n", argv[0], *at);
            return missing(letters);
        }
        __wrap_optarg = argv[__wrap_optind++];
    }
    return *at;
}

/* The option of this name, or the only one that begins with it: its index. -1 for none, -2 for several. */
static int find(const char *name, size_t len, const struct option *options) {
    int found = -1;
    for (int i = 0; options[i].name; i++) {
        if (strncmp(options[i].name, name, len)) continue;
        if (strlen(options[i].name) == len) return i;
        const struct option *first = found >= 0 ? &options[found] : NULL;
        if (!first) found = found == -1 ? i : found;
        else if (first->has_arg != options[i].has_arg || first->flag != options[i].flag || first->val != options[i].val) found = -2;
    }
    return found;
}

static int unknown_name(char *const *argv, const char *letters, const char *name, int found) {
    const char *format = found == -2 ? "%s: option '%s' is ambiguous\n" : "%s: unrecognized option '%s'\n";
    if (complains(letters)) fprintf(__wrap_stderr, format, argv[0], name);
    __wrap_optind++;
    __wrap_optopt = 0;
    return '?';
}

static int read_name(int argc, char *const *argv, const char *letters, const struct option *options, int *index, int only) {
    const char *whole = argv[__wrap_optind], *name = whole + (whole[1] == '-' ? 2 : 1), *value = strchr(name, '=');
    size_t len = value ? (size_t)(value - name) : strlen(name);
    int at = find(name, len, options);
    if (at < 0 && only && whole[1] != '-' && strchr(plain(letters), whole[1])) return read_letter(argc, argv, letters);
    if (at < 0) return unknown_name(argv, letters, whole, at);
    const struct option *option = &options[at];
    __wrap_optind++;
    if (value && !option->has_arg) {
        __wrap_optopt = option->val;
        if (complains(letters)) fprintf(__wrap_stderr, "%s: option '%.*s' doesn't allow an argument\n", argv[0], (int)(value - whole), whole);
        return '?';
    }
    if (value) {
        __wrap_optarg = (char *)value + 1;
    } else if (option->has_arg == 1) {
        if (__wrap_optind >= argc) {
            __wrap_optopt = option->val;
            if (complains(letters)) fprintf(__wrap_stderr, "%s: option '%s' requires an argument\n", argv[0], whole);
            return missing(letters);
        }
        __wrap_optarg = argv[__wrap_optind++];
    }
    if (index) *index = at;
    if (!option->flag) return option->val;
    *option->flag = option->val;
    return 0;
}

/* Moves the arguments from `middle` to `end` before those from `begin` on. */
static void move_before(char **argv, int begin, int middle, int end) {
    for (; middle < end; begin++, middle++) {
        char *moved = argv[middle];
        memmove(&argv[begin + 1], &argv[begin], (size_t)(middle - begin) * sizeof *argv);
        argv[begin] = moved;
    }
}

static int read_option(int argc, char *const *argv, const char *letters, const struct option *options, int *index, int only) {
    const char *argument = argv[__wrap_optind];
    int is_name = options && !next_letter && (argument[1] == '-' || (only && (argument[2] || !strchr(plain(letters), argument[1]))));
    return is_name ? read_name(argc, argv, letters, options, index, only) : read_letter(argc, argv, letters);
}

/* Puts the options that were read since before the arguments that were skipped. */
static void move_skipped(char **argv) {
    if (skipped == skipped_end) skipped = __wrap_optind;
    else move_before(argv, skipped, skipped_end, __wrap_optind), skipped += __wrap_optind - skipped_end;
    skipped_end = __wrap_optind;
}

/* Goes to the next option; 0 at the end of them. */
static int seek(int argc, char **argv, int in_order) {
    /* The program may have set it back. */
    if (skipped_end > __wrap_optind) skipped_end = __wrap_optind;
    if (skipped > __wrap_optind) skipped = __wrap_optind;
    if (!in_order) {
        if (skipped_end != __wrap_optind) move_skipped(argv);
        while (__wrap_optind < argc && !is_option(argv[__wrap_optind])) __wrap_optind++;
        skipped_end = __wrap_optind;
    }
    if (__wrap_optind < argc && !strcmp(argv[__wrap_optind], "--")) {
        __wrap_optind++;
        move_skipped(argv);
        skipped_end = __wrap_optind = argc;
    }
    if (__wrap_optind < argc) return 1;
    if (skipped != skipped_end) __wrap_optind = skipped;
    return 0;
}

static int next_option(int argc, char *const *argv, const char *letters, const struct option *options, int *index, int only) {
    int stops = *letters == '+' || (*letters != '-' && getenv("POSIXLY_CORRECT"));
    __wrap_optarg = NULL;
    if (__wrap_optind == 0) __wrap_optind = skipped = skipped_end = 1, next_letter = 0;
    if (!next_letter) {
        if (argc < 1 || !seek(argc, (char **)argv, stops || *letters == '-')) return -1;
        if (!is_option(argv[__wrap_optind])) {
            if (stops) return -1;
            __wrap_optarg = argv[__wrap_optind++];
            return 1;
        }
    }
    return read_option(argc, argv, letters, options, index, only);
}

int __wrap_getopt(int argc, char *const *argv, const char *letters) {
    return next_option(argc, argv, letters, NULL, NULL, 0);
}

int __wrap_getopt_long(int argc, char *const *argv, const char *letters, const struct option *options, int *index) {
    return next_option(argc, argv, letters, options, index, 0);
}

int __wrap_getopt_long_only(int argc, char *const *argv, const char *letters, const struct option *options, int *index) {
    return next_option(argc, argv, letters, options, index, 1);
}

char *__wrap_strtok(char *text, const char *ends) {
    static char *rest;
    return strtok_r(text, ends, &rest);
}

#ifdef __GLIBC__
/* A rank may have threads of its own. */
static char is_taken;

static void take(void) {
    while (__atomic_test_and_set(&is_taken, __ATOMIC_ACQUIRE)) {}
}

static void give(void) {
    __atomic_clear(&is_taken, __ATOMIC_RELEASE);
}

static char first_table[128] __attribute__((aligned(8)));
static char *table = first_table;

/* The numbers are those of the C library: a state of 128 bytes, from the seed 1. */
static struct random_data *numbers(void) {
    static struct random_data state;
    if (!state.state) initstate_r(1, first_table, sizeof first_table, &state);
    return &state;
}

long __wrap_random(void) {
    int number;
    take();
    random_r(numbers(), &number);
    give();
    return number;
}

void __wrap_srandom(unsigned seed) {
    take();
    srandom_r(seed, numbers());
    give();
}

char *__wrap_initstate(unsigned seed, char *into, size_t size) {
    char *before = NULL;
    take();
    if (!initstate_r(seed, into, size, numbers())) before = table, table = into;
    give();
    return before;
}

char *__wrap_setstate(char *to) {
    char *before = NULL;
    take();
    if (!setstate_r(to, numbers())) before = table, table = to;
    give();
    return before;
}

int __wrap_rand(void) {
    return (int)__wrap_random();
}

void __wrap_srand(unsigned seed) {
    __wrap_srandom(seed);
}

static struct drand48_data numbers_48;

double __wrap_drand48(void) {
    double number;
    take();
    drand48_r(&numbers_48, &number);
    give();
    return number;
}

long __wrap_lrand48(void) {
    long number;
    take();
    lrand48_r(&numbers_48, &number);
    give();
    return number;
}

long __wrap_mrand48(void) {
    long number;
    take();
    mrand48_r(&numbers_48, &number);
    give();
    return number;
}

/* The factor and the addend are those of lcong48 for the numbers of a caller's state, too. */
double __wrap_erand48(unsigned short state[3]) {
    double number;
    take();
    erand48_r(state, &numbers_48, &number);
    give();
    return number;
}

long __wrap_nrand48(unsigned short state[3]) {
    long number;
    take();
    nrand48_r(state, &numbers_48, &number);
    give();
    return number;
}

long __wrap_jrand48(unsigned short state[3]) {
    long number;
    take();
    jrand48_r(state, &numbers_48, &number);
    give();
    return number;
}

void __wrap_srand48(long seed) {
    take();
    srand48_r(seed, &numbers_48);
    give();
}

unsigned short *__wrap_seed48(unsigned short seed[3]) {
    take();
    seed48_r(seed, &numbers_48);
    give();
    return numbers_48.__old_x;
}

void __wrap_lcong48(unsigned short all[7]) {
    take();
    lcong48_r(all, &numbers_48);
    give();
}
#else
long __real_random(void);
long __wrap_random(void) { return __real_random(); }
void __real_srandom(unsigned seed);
void __wrap_srandom(unsigned seed) { __real_srandom(seed); }
int __real_rand(void);
int __wrap_rand(void) { return __real_rand(); }
void __real_srand(unsigned seed);
void __wrap_srand(unsigned seed) { __real_srand(seed); }
double __real_drand48(void);
double __wrap_drand48(void) { return __real_drand48(); }
long __real_lrand48(void);
long __wrap_lrand48(void) { return __real_lrand48(); }
long __real_mrand48(void);
long __wrap_mrand48(void) { return __real_mrand48(); }
void __real_srand48(long seed);
void __wrap_srand48(long seed) { __real_srand48(seed); }
double __real_erand48(unsigned short state[3]);
double __wrap_erand48(unsigned short state[3]) { return __real_erand48(state); }
long __real_nrand48(unsigned short state[3]);
long __wrap_nrand48(unsigned short state[3]) { return __real_nrand48(state); }
long __real_jrand48(unsigned short state[3]);
long __wrap_jrand48(unsigned short state[3]) { return __real_jrand48(state); }
unsigned short *__real_seed48(unsigned short seed[3]);
unsigned short *__wrap_seed48(unsigned short seed[3]) { return __real_seed48(seed); }
void __real_lcong48(unsigned short all[7]);
void __wrap_lcong48(unsigned short all[7]) { __real_lcong48(all); }
char *__real_initstate(unsigned seed, char *into, size_t size);
char *__wrap_initstate(unsigned seed, char *into, size_t size) { return __real_initstate(seed, into, size); }
char *__real_setstate(char *to);
char *__wrap_setstate(char *to) { return __real_setstate(to); }
#endif

#ifdef __cplusplus
}
#endif
