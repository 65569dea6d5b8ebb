/* `grove sim`: scenarios under virtual time. The work is in sim/; this is its command line. */
#include "base/vec.h"
#include "cli/cli.h"
#include "sim/runner.h"

struct sim_args {
    int64_t seed, seeds;
    str log;
    bool tap, twice;
};

static const struct opt sim_opts[] = {
    OPT_INT(struct sim_args, seed, 0, "seed", "N", 0, INT64_MAX, "0",
            "Run with this seed only (default: as many as the scenario says, from 1 on)"),
    OPT_INT(struct sim_args, seeds, 0, "seeds", "FACTOR", 1, 100000, "1",
            "Run so many times as many seeds"),
    OPT_STRING(struct sim_args, log, 0, "log", "FILE",
               "Write the log of the last run here: every plan and every revision"),
    OPT_FLAG(struct sim_args, twice, 0, "twice",
             "Also run the first seed twice and compare the logs"),
    OPT_FLAG(struct sim_args, tap, 0, "tap", "Report as TAP"),
    OPT_END,
};

static int run_sim(void *ctx, const void *opts, const struct command_call *call)
{
    const struct sim_args *a = opts;
    struct err err = ERR_INIT;
    VEC(const char *) files = {0};
    (void)ctx;
    for (size_t i = 0; i < call->args_len; i++)
        *vec_push(&files) = str_dup(call->args[i]);
    char *log = str_is_empty(a->log) ? NULL : str_dup(a->log);
    struct runner_options o = {.seed = (uint64_t)a->seed,
                               .scale = (double)a->seeds,
                               .tap = a->tap,
                               .twice = a->twice,
                               .log = log};
    bool ok = runner_run(files.p, files.len, &o, &err);
    while (files.len > 0)
        free((char *)vec_pop(&files));
    vec_done(&files);
    free(log);
    if (err.code)
        return cli_fail(&err);
    return ok ? EXIT_OK : EXIT_NO;
}

const struct command cmd_sim = {
    .name = "sim",
    .summary = "Run scenarios under virtual time",
    .description =
        "A scenario says what a simulated cluster looks like, what happens to it and what the "
        "outcome must be. The whole control plane runs in this process with a clock that jumps to "
        "the next event, with injected faults, and every decision follows from the seed: the same "
        "seed gives the same run. Exit code 1 when an expectation or an invariant does not hold.",
    .usage = "FILE...",
    .min_args = 1,
    .max_args = OPT_ANY_ARGS,
    .opts = sim_opts,
    .opts_size = sizeof(struct sim_args),
    .examples = "  $ grove sim tests/sim/deploy/user-guide.yaml\n"
                "  $ grove sim --seed 7 --log run.log tests/sim/faults/controllers-killed.yaml",
    .run = run_sim,
};
