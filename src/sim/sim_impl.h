/* Inside a simulation: what sim.c, misfortune.c and oracle.c share. */
#ifndef SIM_SIM_IMPL_H
#define SIM_SIM_IMPL_H

#include "base/map.h"
#include "base/vec.h"
#include "sim/invariants.h"
#include "sim/sim.h"

struct sim_observer {
    void (*fn)(void *ctx, const struct store_event *e);
    void *ctx;
};

/* The one request of a user that is under way. */
struct sim_call {
    bool done;
    int error;
    struct err *err;
};

enum { SIM_PARTS = 4 };

struct sim {
    struct loop *loop;
    struct plane *plane;
    struct nodes_options nodes;
    struct api_faulty_options faults;
    struct invariants *invariants;
    struct rng rng, clock_rng;
    int64_t drift[SIM_PARTS]; /* millionths, by part */
    usec drift_at;            /* until then it has been applied */
    struct store_sub sub;
    VEC(struct sim_observer) observers;
    struct strbuf log;
    struct sim_stats stats;
    usec changed_at; /* last revision */
    usec calm_at;    /* watches may be waiting until then to be opened again */
    usec retried_at; /* and writes to be tried again */
    struct sim_call call;
    bool replanning; /* at rest, see sim_settle */
    bool ready;
    struct err failure;
};

/* As an administrator; returns when it is answered. */
int sim_call(struct sim *s, struct api_request *q, struct err *err);

#endif
