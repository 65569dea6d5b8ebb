/* Runs the scenarios it is given as TAP: each with its seeds, times GROVE_TEST_SCALE, and the first
 * seed of each twice, which must give the same log byte for byte. */
#include "sim/runner.h"

int main(int argc, char **argv)
{
    struct err err = ERR_INIT;
    const char *scale = getenv("GROVE_TEST_SCALE");
    struct runner_options o = {
        .tap = true, .twice = true, .scale = scale ? strtod(scale, NULL) : 1};
    bool ok = runner_run((const char *const *)argv + 1, (size_t)argc - 1, &o, &err);
    if (err.code)
        printf("Bail out! %s\n", err.message);
    return ok ? 0 : 1;
}
