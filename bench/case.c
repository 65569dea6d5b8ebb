/* See case.h. */
#include "bench/case.h"

#include <time.h>

#include "base/file.h"
#include "base/map.h"

enum { MAX_FILE = 16 << 20 };

#ifdef __clang__
#define COMPILER "clang"
#define COMPILER_MAJOR __clang_major__
#else
#define COMPILER "gcc"
#define COMPILER_MAJOR __GNUC__
#endif

void bench_must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "benchmark is broken: %s\n", what);
    exit(1);
}

struct doc *bench_doc(const char *name)
{
    char path[4096];
    struct strbuf text CLEANUP(strbuf_done) = STRBUF_INIT(MAX_FILE);
    struct err err = ERR_INIT;
    snprintf(path, sizeof(path), BENCH_DATA "/%s", name);
    bench_must(file_read(path, &text, &err) == 0, err.message);
    struct doc *d = doc_parse(strbuf_str(&text), NULL, &err);
    bench_must(d != NULL, err.message);
    return d;
}

/* The names callgrind is told. They must stay functions of their own. */
size_t bench_op(const struct bench_case *c);
void bench_end(void);

__attribute__((noinline)) size_t bench_op(const struct bench_case *c)
{
    return c->op();
}

__attribute__((noinline)) void bench_end(void)
{
    __asm__ volatile("" ::: "memory");
}

static int64_t now_nsec(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Nanoseconds inside op, all calls together. */
static int64_t run_case(const struct bench_case *c, size_t *sum)
{
    int64_t took = 0;
    if (c->setup)
        c->setup();
    if (c->prepare)
        c->prepare();
    *sum += c->op(); /* warm */
    for (size_t i = 0; i < c->calls; i++) {
        if (c->prepare)
            c->prepare();
        int64_t start = now_nsec();
        *sum += bench_op(c);
        took += now_nsec() - start;
    }
    bench_end();
    if (c->done)
        c->done();
    return took;
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], name) == 0)
            return true;
    }
    return argc == 0;
}

int bench_main(int argc, char **argv, const struct bench_case *cases, size_t n)
{
    if (argc > 1 && strcmp(argv[1], "--compiler") == 0) {
        printf("%s-%d\n", COMPILER, COMPILER_MAJOR);
        return 0;
    }
    bool list = argc > 1 && strcmp(argv[1], "--list") == 0;
    bool wall = argc > 1 && strcmp(argv[1], "--wall") == 0;
    int skip = 1 + (list || wall);
    size_t sum = 0;
    map_set_seed(1);
    for (size_t i = 0; i < n; i++) {
        const struct bench_case *c = &cases[i];
        if (list)
            printf("%s %zu %zu\n", c->name, c->units, c->calls);
        else if (is_wanted(c->name, argc - skip, argv + skip)) {
            int64_t took = run_case(c, &sum);
            if (wall)
                printf("%s %.1f\n", c->name, (double)took / (double)(c->calls * c->units));
        }
    }
    fprintf(stderr, "sum %zu\n", sum);
    return 0;
}
