/* See runner.h. */
#include "sim/runner.h"

#include <time.h>

#include "base/file.h"
#include "base/log.h"
#include "base/vec.h"

enum { TAIL_LINES = 30, TAIL_WIDTH = 240 };

struct runner {
    struct runner_options options;
    VEC(struct scenario *) scenarios;
    size_t number, failed;
    int result;
};

/* For people to see how long it took; nothing depends on it. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t seeds_of(const struct runner *r, const struct scenario *s)
{
    double n = scenario_seeds(s) * (r->options.scale > 0 ? r->options.scale : 1);
    return r->options.seed || n < 1 ? 1 : (uint64_t)n;
}

static void print_tail(str log)
{
    size_t from = log.len;
    for (int lines = 0; from > 0 && lines <= TAIL_LINES; from--)
        lines += log.p[from - 1] == '\n';
    str rest = str_sub(log, from ? from + 1 : 0, log.len);
    while (rest.p && rest.len > 0) {
        str line = str_sub(str_cut(&rest, '\n'), 0, TAIL_WIDTH);
        printf("#   %.*s\n", STR_ARG(line));
    }
}

static void report(struct runner *r, const struct scenario *s, uint64_t seed, const char *what,
                   const struct scenario_result *result, double took)
{
    bool ok = result->err.code == 0;
    r->number++;
    r->failed += !ok;
    if (r->options.tap)
        printf("%sok %zu - %s seed %llu%s\n", ok ? "" : "not ", r->number, scenario_name(s),
               (unsigned long long)seed, what);
    else
        printf(
            "%s %s seed %llu%s: %.1f s, %llu revisions, %llu pods, %llu of %llu requests failed, "
            "%llu watch faults, in %.3f s\n",
            ok ? "ok    " : "FAILED", scenario_name(s), (unsigned long long)seed, what,
            (double)result->time / USEC_PER_SEC, (unsigned long long)result->stats.revisions,
            (unsigned long long)result->stats.pods,
            (unsigned long long)result->stats.request_faults,
            (unsigned long long)result->stats.requests,
            (unsigned long long)result->stats.watch_faults, took);
    if (!ok) {
        print_tail(strbuf_str(&result->log));
        printf("# %s\n# again: grove sim --seed %llu %s\n", result->err.message,
               (unsigned long long)seed, scenario_path(s));
    }
    fflush(stdout);
}

static int write_log(const struct runner *r, const struct scenario_result *result, struct err *err)
{
    return r->options.log ? file_write(r->options.log, strbuf_str(&result->log), 0644, err) : 0;
}

static int run_seed(struct runner *r, const struct scenario *s, uint64_t seed, struct err *err)
{
    struct scenario_result result;
    double start = seconds();
    (void)scenario_run(s, seed, &result);
    report(r, s, seed, "", &result, seconds() - start);
    int code = write_log(r, &result, err);
    strbuf_done(&result.log);
    return code;
}

static void run_twice(struct runner *r, const struct scenario *s, uint64_t seed)
{
    struct scenario_result a, b;
    double start = seconds();
    (void)scenario_run(s, seed, &a);
    (void)scenario_run(s, seed, &b);
    bool equal = str_eq(strbuf_str(&a.log), strbuf_str(&b.log)) && a.log.len > 0;
    b.err = ERR_INIT;
    if (!equal)
        (void)err_set(&b.err, ERR_INTERNAL, "two runs of one seed differ");
    report(r, s, seed, " gives the same log twice", &b, seconds() - start);
    strbuf_done(&a.log);
    strbuf_done(&b.log);
}

static void skip(struct runner *r, const struct scenario *s)
{
    printf("ok %zu - %s # SKIP waits for %s\n", ++r->number, scenario_name(s),
           scenario_waits_for(s));
}

static int load_all(struct runner *r, const char *const *files, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        struct scenario *s = scenario_load(files[i], err);
        if (!s)
            return err->code;
        *vec_push(&r->scenarios) = s;
    }
    return 0;
}

static int run_all(struct runner *r, struct err *err)
{
    size_t total = 0;
    for (size_t i = 0; i < r->scenarios.len; i++)
        total += scenario_waits_for(r->scenarios.p[i])
                     ? 1
                     : seeds_of(r, r->scenarios.p[i]) + r->options.twice;
    if (r->options.tap)
        printf("1..%zu\n", total);
    for (size_t i = 0; i < r->scenarios.len; i++) {
        const struct scenario *s = r->scenarios.p[i];
        uint64_t first = r->options.seed ? r->options.seed : 1;
        if (r->options.tap && scenario_waits_for(s)) {
            skip(r, s);
            continue;
        }
        for (uint64_t seed = first; seed < first + seeds_of(r, s); seed++) {
            if (run_seed(r, s, seed, err))
                return err->code;
        }
        if (r->options.twice)
            run_twice(r, s, first);
    }
    return 0;
}

bool runner_run(const char *const *files, size_t n, const struct runner_options *o, struct err *err)
{
    struct runner r = {.options = *o};
    /* Faults are the point here, not news. */
    log_set_level(LOG_LEVEL_ERROR);
    int code = load_all(&r, files, n, err);
    if (code == 0)
        code = run_all(&r, err);
    for (size_t i = 0; i < r.scenarios.len; i++)
        scenario_free(r.scenarios.p[i]);
    vec_done(&r.scenarios);
    return code == 0 && r.failed == 0;
}
