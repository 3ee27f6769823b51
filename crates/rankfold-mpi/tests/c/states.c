/* States of the C library that a process has once: each rank reads its options, splits its text and draws its numbers. */
#include "say.h"
#include <getopt.h>
#include <unistd.h>

static void read_letters(int argc, char **argv) {
    int letter;
    while ((letter = getopt(argc, argv, "ab:c::d")) != -1) {
        MPI_Barrier(MPI_COMM_WORLD);
        say("%c %s, next %d", letter, optarg ? optarg : "-", optind);
    }
    say("from %d:", optind);
    for (int i = optind; i < argc; i++) say("  %s", argv[i]);
}

static void read_names(int argc, char **argv, int only) {
    static int flag;
    struct option names[] = {{"length", required_argument, NULL, 'l'}, {"more", no_argument, &flag, 7},
        {"mode", optional_argument, NULL, 'm'}, {"level", required_argument, NULL, 'v'}, {0, 0, 0, 0}};
    int found, at = -1;
    optind = 0, opterr = 0, flag = 0;
    while ((found = only ? getopt_long_only(argc, argv, ":ab:", names, &at) : getopt_long(argc, argv, ":ab:", names, &at)) != -1)
        say("%d %s, at %d, flag %d, wrong %d, next %d", found, optarg ? optarg : "-", at, flag,
            found == '?' || found == ':' ? optopt : 0, optind);
    say("from %d: %s", optind, optind < argc ? argv[optind] : "-");
}

/* Each rank sets its generators up by its number, after the one before it. */
static void draw_from_states(void) {
    static char table[64];
    unsigned short seed[3] = {rank, 2, 3}, of_lcong[7] = {4, 5, rank, 0xe66d, 0xdeec, 5, 11}, own[3] = {1, 1, rank};
    for (int i = 0; i < size; i++, MPI_Barrier(MPI_COMM_WORLD)) if (i == rank) srandom(7), initstate(rank + 1, table, sizeof table);
    long first = random();
    MPI_Barrier(MPI_COMM_WORLD);
    long second = random();
    char *before = setstate(table);
    long again = random();
    say("of a table: %ld %ld, %d, %ld", first, second, before == table, again);
    for (int i = 0; i < size; i++, MPI_Barrier(MPI_COMM_WORLD)) if (i == rank) seed48(seed);
    long third = lrand48();
    MPI_Barrier(MPI_COMM_WORLD);
    unsigned short *old = seed48(seed);
    say("of a seed: %ld, %d %d %d", third, old[0], old[1], old[2]);
    for (int i = 0; i < size; i++, MPI_Barrier(MPI_COMM_WORLD)) if (i == rank) lcong48(of_lcong);
    double fourth = drand48();
    MPI_Barrier(MPI_COMM_WORLD);
    double fifth = erand48(own);
    long sixth = nrand48(own), seventh = jrand48(own);
    say("of a factor: %.12g %.12g %ld %ld", fourth, fifth, sixth, seventh);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    char number[8];
    snprintf(number, sizeof number, "%d", rank);
    char *letters[] = {"x", "-a", "one", "-b", number, "-dcfour", "two", "-b5", "--", "-a", NULL};
    read_letters(10, letters);
    char *names[] = {"x", "--length", number, "one", "--more", "--mode=fast", "--mode", "-ab", "3", "--le=2", "--l", "--no", "--more=1", "-z",
        "two", "--level", NULL};
    char *again[] = {"x", "-length", "4", "-mo", "-a", "one", "-q", "-more", "-b6", "--", "two", NULL};
    read_names(16, names, 0);
    read_names(11, again, 1);
    char *first[] = {"x", "-a", "one", "-b", "2", NULL};
    optind = 0;
    while (getopt(5, first, "+ab:") != -1) {}
    say("in order up to %d", optind);
    optind = 0;
    for (int found; (found = getopt(5, first, "-ab:")) != -1;) say("%d %s", found, optarg ? optarg : "-");
    char text[32];
    snprintf(text, sizeof text, "%d,,b;c %d", rank, size);
    for (char *word = strtok(text, ",;"); word; word = strtok(NULL, ",; ")) {
        MPI_Barrier(MPI_COMM_WORLD);
        say("word %s", word);
    }
    int unseeded = rand();
    MPI_Barrier(MPI_COMM_WORLD);
    srand(rank + 1), srandom(rank + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        int one = rand();
        long other = random();
        say("%d: %d %ld", unseeded, one, other);
    }
    double unset = drand48();
    srand48(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) {
        double one = drand48();
        MPI_Barrier(MPI_COMM_WORLD);
        long other = lrand48(), third = mrand48();
        say("%g: %.12g %ld %ld", unset, one, other, third);
    }
    draw_from_states();
    MPI_Finalize();
    return 0;
}
