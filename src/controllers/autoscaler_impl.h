/* Between the files of the autoscaler. */
#ifndef CONTROLLERS_AUTOSCALER_IMPL_H
#define CONTROLLERS_AUTOSCALER_IMPL_H

#include "controllers/autoscaler_calc.h"
#include "grove/make.h"
#include "grove/metrics_source.h"

/* One look at one autoscaler. */
struct scaler {
    const struct world *world;
    const struct metrics_feed *feed; /* may be NULL */
    struct plan *plan;
    const struct obj *hpa;
    const struct obj *target; /* NULL: not found */
    jval spec;                /* the autoscaler's */
    int64_t current, status_replicas, min, max;
    struct scaling_rules up, down;
    struct history history;
    VEC(const struct obj *) pods; /* of the target, by its selector */
    int64_t units;                /* replicas they make */
};

/* What all its metrics say. */
struct verdict {
    int64_t replicas;   /* -1: nothing can be said */
    str metric;         /* the one that decided */
    struct doc *status; /* currentMetrics; NULL: none is known. In the plan's arena */
    const char *reason; /* why a metric cannot be had; NULL: all can */
    str message;
    str summary; /* how many cannot */
};

/* ---- autoscaler_metrics.c ---- */

struct verdict scaler_measure(const struct scaler *s);

/* ---- autoscaler_pods.c: what belongs to a target ---- */

/* Fills pods and units; false when the selector does not parse (the error says why). */
bool scaler_find_pods(struct scaler *s, str selector, struct err *err);
/* The caches as a source of metrics, for the length of one plan. */
struct scaler_source {
    const struct world *world;
    const struct obj *owner; /* whose ready pods were counted last */
    int64_t ready;
    struct metrics_memo memo;
};
struct metrics_reader scaler_reader(struct scaler_source *s, const struct metrics_feed *feed);
/* The kinds that can be looked at. */
extern const struct kind *const scaler_kinds[];
extern const size_t scaler_n_kinds;

#endif
