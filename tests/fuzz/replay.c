/*
 * Replays saved inputs through a fuzz target in a plain build, as TAP, so that every input that
 * ever mattered is tested on every run by every compiler.
 *
 *   replay-NAME [--mutate N] DIR|FILE...
 *
 * One test per file, in the order of names: the bytes as they are, then N variants of them (bytes
 * changed, cut out, repeated, the end cut off). The variants are drawn from a generator seeded with
 * the content: the same input gives the same variants everywhere. A target fails by crashing; then
 * the file and the number K of the variant are printed, and
 *
 *   replay-NAME --dump K FILE
 *
 * writes that variant to stdout, to be kept in the corpus.
 *
 * Every input is given in an allocation of exactly its size, so that reading past it is seen.
 * An empty corpus fails: a target that is fed nothing proves nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "fuzz.h"

#define INPUT_MAX (16 << 20)
#define VARIANTS_MAX 100000

struct paths {
    VEC(char *) v;
};

static void paths_done(struct paths *paths)
{
    for (size_t i = 0; i < paths->v.len; i++)
        free(paths->v.p[i]);
    vec_done(&paths->v);
}

static int cmp_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *join_path(const char *dir, const char *name)
{
    struct strbuf b = STRBUF_INIT(1 << 16);
    strbuf_printf(&b, "%s/%s", dir, name);
    return strbuf_detach(&b, NULL);
}

/* A file, or the files of a directory (hidden ones and folders in it left out). */
static bool collect(struct paths *paths, const char *path)
{
    DIR *d = opendir(path);
    if (!d && errno == ENOTDIR) {
        *vec_push(&paths->v) = xstrdup(path);
        return true;
    }
    if (!d)
        return false;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        char *file = join_path(path, e->d_name);
        struct stat st;
        if (stat(file, &st) == 0 && S_ISREG(st.st_mode))
            *vec_push(&paths->v) = file;
        else
            free(file);
    }
    closedir(d);
    return true;
}

static bool read_input(const char *path, struct strbuf *ret)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return false;
    char chunk[4096];
    for (size_t n; (n = fread(chunk, 1, sizeof(chunk), f)) > 0;)
        strbuf_add(ret, chunk, n);
    bool ok = !ferror(f) && !ret->overflow;
    fclose(f);
    return ok;
}

/* ---- last words ---- */

static char last_words[1024]; /* what is being tried */
static size_t last_words_len;

static void say_last_words(void)
{
    (void)!write(STDERR_FILENO, last_words, last_words_len);
}

static void on_crash(int signo)
{
    say_last_words();
    signal(signo, SIG_DFL);
    raise(signo);
}

/* A sanitizer reports and exits by itself; it has a hook for this. */
void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

static void install_last_words(void)
{
    signal(SIGABRT, on_crash);
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(say_last_words);
        return;
    }
    signal(SIGSEGV, on_crash);
    signal(SIGBUS, on_crash);
    signal(SIGFPE, on_crash);
}

static void set_last_words(const char *path, uint64_t k)
{
    int n = snprintf(last_words, sizeof(last_words), "crashed on variant %llu of %s\n",
                     (unsigned long long)k, path);
    last_words_len = MIN((size_t)MAX(n, 0), sizeof(last_words) - 1);
}

/* ---- inputs ---- */

static void feed(str input)
{
    uint8_t *exact = xmalloc(MAX(input.len, 1));
    if (input.len)
        memcpy(exact, input.p, input.len);
    (void)LLVMFuzzerTestOneInput(exact, input.len);
    free(exact);
}

/* Bytes that mean something to one of our parsers. */
static const char meaningful[] = "\0\n\r\t \"'\\{}[](),:;-+.*&!|>#%@/?=$<eE09~\x7f\x80\xc0\xff";

static char draw_byte(struct rng *r)
{
    if (rng_chance(r, 50))
        return meaningful[rng_below(r, sizeof(meaningful))];
    return (char)rng_below(r, 256);
}

static void mutate_once(struct rng *r, struct strbuf *b)
{
    size_t from = rng_below(r, b->len + 1), n = rng_below(r, MIN(b->len - from, 64) + 1);
    struct strbuf out = STRBUF_INIT(INPUT_MAX * 2);
    strbuf_reserve(&out, b->len + 1);
    strbuf_add(&out, b->p, from);
    switch (rng_below(r, 5)) {
    case 0: /* one byte changed */
        strbuf_add_char(&out, draw_byte(r));
        if (from < b->len)
            strbuf_add(&out, b->p + from + 1, b->len - from - 1);
        break;
    case 1: /* one byte more */
        strbuf_add_char(&out, draw_byte(r));
        strbuf_add(&out, b->p + from, b->len - from);
        break;
    case 2: /* a piece cut out */
        strbuf_add(&out, b->p + from + n, b->len - from - n);
        break;
    case 3: /* a piece twice */
        strbuf_add(&out, b->p + from, n);
        strbuf_add(&out, b->p + from, b->len - from);
        break;
    default: /* the end cut off */
        break;
    }
    strbuf_done(b);
    *b = out;
}

/* Variant k of the input, for k > 0; 0 is the input itself. */
static struct strbuf make_variant(str input, uint64_t k)
{
    struct strbuf b = STRBUF_INIT(INPUT_MAX);
    strbuf_reserve(&b, input.len + 1);
    strbuf_add_str(&b, input);
    struct rng r;
    rng_seed(&r, str_hash(input, k));
    for (uint64_t n = k ? 1 + rng_below(&r, 4) : 0; n > 0; n--)
        mutate_once(&r, &b);
    return b;
}

static bool replay_file(const char *path, uint64_t variants)
{
    struct strbuf input = STRBUF_INIT(INPUT_MAX);
    bool ok = read_input(path, &input);
    for (uint64_t k = 0; ok && k <= variants; k++) {
        struct strbuf b = make_variant(strbuf_str(&input), k);
        set_last_words(path, k);
        feed(strbuf_str(&b));
        strbuf_done(&b);
    }
    strbuf_done(&input);
    return ok;
}

static int replay_all(struct paths *paths, uint64_t variants)
{
    int failed = 0;
    printf("1..%zu\n", paths->v.len);
    for (size_t i = 0; i < paths->v.len; i++) {
        printf("# %s\n", paths->v.p[i]);
        fflush(stdout);
        bool ok = replay_file(paths->v.p[i], variants);
        const char *base = strrchr(paths->v.p[i], '/');
        printf("%s %zu - %s\n", ok ? "ok" : "not ok", i + 1, base ? base + 1 : paths->v.p[i]);
        failed += !ok;
    }
    return failed ? 1 : 0;
}

static int dump_variant(const char *path, uint64_t k)
{
    struct strbuf input = STRBUF_INIT(INPUT_MAX);
    bool ok = read_input(path, &input);
    struct strbuf b = make_variant(strbuf_str(&input), k);
    ok = ok && fwrite(b.p, 1, b.len, stdout) == b.len;
    strbuf_done(&b);
    strbuf_done(&input);
    return ok ? 0 : 1;
}

static int usage(const char *program)
{
    fprintf(stderr, "usage: %s [--mutate N] DIR|FILE... | --dump K FILE\n", program);
    return 2;
}

int main(int argc, char **argv)
{
    int at = 1;
    uint64_t number = 0;
    bool mutate = argc > 2 && str_is(str_of(argv[1]), "--mutate");
    bool dump = argc == 4 && str_is(str_of(argv[1]), "--dump");
    if (mutate || dump) {
        if (!str_to_uint(str_of(argv[2]), &number) || number > VARIANTS_MAX)
            return usage(argv[0]);
        at = 3;
    }
    if (at >= argc)
        return usage(argv[0]);
    if (dump)
        return dump_variant(argv[at], number);
    struct paths paths = {0};
    int result = 0;
    for (; at < argc && !result; at++)
        if (!collect(&paths, argv[at])) {
            printf("Bail out! cannot read %s: %s\n", argv[at], strerror(errno));
            result = 1;
        }
    if (!result && paths.v.len == 0) {
        printf("Bail out! the corpus is empty\n");
        result = 1;
    }
    vec_sort(&paths.v, cmp_paths);
    install_last_words();
    result = result ? result : replay_all(&paths, number);
    paths_done(&paths);
    return result;
}
