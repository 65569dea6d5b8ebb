/* Many scenarios with many seeds, reported as lines for people or as TAP. */
#ifndef SIM_RUNNER_H
#define SIM_RUNNER_H

#include "sim/scenario.h"

struct runner_options {
    uint64_t seed; /* 0: those of the scenario, from 1 on */
    double scale;  /* of the number of seeds; 0: 1 */
    bool tap;
    bool twice;      /* also run the first seed twice and compare the logs */
    const char *log; /* write the last run's log here; NULL: nowhere */
};

/* True when all held. A file that does not load is an error and nothing is run. */
bool runner_run(const char *const *files, size_t n, const struct runner_options *o,
                struct err *err);

#endif
