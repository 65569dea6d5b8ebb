/* Inside a running scenario: what its steps, expectations and random operations share. */
#ifndef SIM_SCENARIO_IMPL_H
#define SIM_SCENARIO_IMPL_H

#include "base/map.h"
#include "sim/query.h"
#include "sim/scenario.h"
#include "sim/sim.h"

struct run {
    const struct scenario *scenario;
    uint64_t seed;
    struct sim *sim;
    struct arena arena; /* as long as the run */
    usec limit;
    struct map memories; /* name -> struct memory */
    struct list watches; /* struct watch, never */
    struct list orders;  /* struct milestone */
};

/* ---- steps.c ---- */

int run_steps(struct run *r, jval steps, struct err *err);
/* Faults as a scenario writes them, on top of the defaults. */
int faults_parse(jval v, struct api_faulty_options *ret, struct err *err);
/* The path of a file named in the scenario. */
str scenario_file(const struct scenario *s, struct arena *a, str name);
/* After something that ran the world: did anything break meanwhile? */
int world_result(const struct run *r, struct err *err);

/* ---- expect.c ---- */

int run_expect(struct run *r, jval v, struct err *err);
int run_await(struct run *r, jval v, struct err *err);
int run_remember(struct run *r, jval v, struct err *err);
int run_never(struct run *r, jval v, struct err *err);
/* Watches from `never` so far are over. */
void run_forget(struct run *r);
/* Milestones must be known before anything happens. */
int run_prepare_orders(struct run *r, jval steps, struct err *err);
void run_event(void *ctx, const struct store_event *e);
void run_done_expectations(struct run *r);

/* ---- random.c ---- */

int run_random(struct run *r, jval v, struct err *err);

#endif
