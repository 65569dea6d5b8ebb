/*
 * The main() of every test binary. Tests run in the order of their files' names and lines, in one
 * process; a crash is reported as the failure of the running test before the process dies.
 */
#include "base/test.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

/* Defined by the linker around the section; weak, for a binary without tests. */
extern const struct test_case *const __start_grove_tests[] __attribute__((weak));
extern const struct test_case *const __stop_grove_tests[] __attribute__((weak));
/* Present in sanitizer builds only. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

enum { SHOWN_MAX = 400, CASES_MAX = 100000000 };

static struct {
    const struct test_case *current;
    size_t number;
    bool failed;
    const char *skipped;
    uint64_t seed;
    bool seed_used;
    struct rng rng;
    jmp_buf abort_to;
} run;

static void print_where(const char *file, int line)
{
    printf("# %s:%d: ", file, line);
}

bool test_check_(bool ok, const char *file, int line, const char *expr)
{
    if (!ok) {
        run.failed = true;
        print_where(file, line);
        printf("%s\n", expr);
    }
    return ok;
}

/* Quoted, with what a terminal would not show escaped. */
static void print_str(const char *label, str s)
{
    printf("#   %s: \"", label);
    for (size_t i = 0; i < MIN(s.len, (size_t)SHOWN_MAX); i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c < 0x20 || c == 0x7f)
            printf("\\x%02x", c);
        else
            (void)putchar(c);
    }
    printf("\"%s (%zu bytes)\n", s.len > SHOWN_MAX ? "..." : "", s.len);
}

bool test_check_str_(str got, str want, const char *file, int line, const char *expr)
{
    bool ok = str_eq(got, want);
    if (!ok) {
        (void)test_check_(false, file, line, expr);
        print_str("got ", got);
        print_str("want", want);
    }
    return ok;
}

bool test_check_int_(int64_t got, int64_t want, const char *file, int line, const char *expr)
{
    bool ok = got == want;
    if (!ok) {
        (void)test_check_(false, file, line, expr);
        printf("#   got %lld, want %lld\n", (long long)got, (long long)want);
    }
    return ok;
}

void test_abort_(void)
{
    longjmp(run.abort_to, 1);
}

void test_skip(const char *reason)
{
    run.skipped = reason;
}

void test_note(const char *fmt, ...)
{
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    str rest = str_of(text);
    do {
        str line = str_cut(&rest, '\n');
        printf("# %.*s\n", STR_ARG(line));
    } while (rest.len > 0);
}

/* Each test has its own stream, so running one alone draws what it drew in the whole run. */
struct rng *test_rng(void)
{
    if (!run.seed_used) {
        rng_seed(&run.rng, run.seed ^ str_hash(str_of(run.current->name), 0));
        run.seed_used = true;
    }
    return &run.rng;
}

size_t test_cases(size_t n)
{
    const char *scale = getenv("GROVE_TEST_SCALE");
    double factor = scale ? strtod(scale, NULL) : 1.0;
    double scaled = (double)n * (factor > 0 ? factor : 1.0);
    return scaled < 1 ? 1 : scaled > CASES_MAX ? CASES_MAX : (size_t)scaled;
}

/* --- crashes --- */

/* The process is going down: stdio may be in any state, so write(2) what can be said. */
static void report_death(void)
{
    char text[256];
    if (!run.current)
        return;
    int n = snprintf(text, sizeof(text), "not ok %zu - %s\n# crashed in %s:%d (seed %llu)\n",
                     run.number, run.current->name, run.current->file, run.current->line,
                     (unsigned long long)run.seed);
    run.current = NULL;
    if (write(STDOUT_FILENO, text, MIN((size_t)n, sizeof(text) - 1)) < 0)
        return;
}

static void on_fatal_signal(int sig)
{
    report_death();
    (void)signal(sig, SIG_DFL);
    (void)raise(sig);
}

static void catch_crashes(void)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    (void)signal(SIGABRT, on_fatal_signal);
    (void)signal(SIGTERM, on_fatal_signal); /* the runner's timeout */
    if (__sanitizer_set_death_callback) {
        /* Its own report of a fault says more than ours would. */
        __sanitizer_set_death_callback(report_death);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(faults); i++)
        (void)signal(faults[i], on_fatal_signal);
}

/* --- running --- */

static int case_cmp(const void *a, const void *b)
{
    const struct test_case *x = *(const struct test_case *const *)a;
    const struct test_case *y = *(const struct test_case *const *)b;
    int c = strcmp(x->file, y->file);
    return c ? c : (x->line > y->line) - (x->line < y->line);
}

static bool is_selected(const struct test_case *t, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strstr(t->name, argv[i]))
            return true;
    }
    return argc < 2;
}

static bool run_one(const struct test_case *t, size_t number)
{
    run.current = t;
    run.number = number;
    run.failed = false;
    run.skipped = NULL;
    run.seed_used = false;
    if (setjmp(run.abort_to) == 0)
        t->run();
    run.current = NULL;
    if (run.failed && run.seed_used)
        printf("# repeat with GROVE_TEST_SEED=%llu\n", (unsigned long long)run.seed);
    printf("%s %zu - %s", run.failed ? "not ok" : "ok", number, t->name);
    if (run.skipped && !run.failed)
        printf(" # SKIP %s", run.skipped);
    printf("\n");
    return !run.failed;
}

/* The section's cases, sorted; those not selected are dropped. */
static const struct test_case **collect(int argc, char **argv, size_t *ret_n)
{
    size_t n = 0, all = 0;
    for (const struct test_case *const *t = __start_grove_tests; t != __stop_grove_tests; t++)
        all++;
    const struct test_case **cases = xcalloc(all, sizeof(struct test_case *));
    for (size_t i = 0; i < all; i++) {
        if (is_selected(__start_grove_tests[i], argc, argv))
            cases[n++] = __start_grove_tests[i];
    }
    qsort(cases, n, sizeof(struct test_case *), case_cmp);
    *ret_n = n;
    return cases;
}

int main(int argc, char **argv)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    bool list = argc > 1 && strcmp(argv[1], "--list") == 0;
    const char *seed = getenv("GROVE_TEST_SEED");
    run.seed = seed ? strtoull(seed, NULL, 0) : 1;
    size_t n, failed = 0;
    const struct test_case **cases = collect(list ? 1 : argc, argv, &n);
    if (!list) {
        catch_crashes();
        printf("1..%zu\n", n);
    }
    for (size_t i = 0; i < n; i++) {
        if (list)
            printf("%s\n", cases[i]->name);
        else
            failed += !run_one(cases[i], i + 1);
    }
    free(cases);
    return failed ? 1 : 0;
}
