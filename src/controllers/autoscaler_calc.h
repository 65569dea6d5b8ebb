/*
 * The arithmetic of the horizontal autoscaler, as Kubernetes documents it: from samples and a
 * target to a number of replicas, and from that number, the rules and the past to the number that
 * is asked for. Pure: no objects, no clock. Amounts are thousandths, ratios are exact fractions.
 *
 * A replica of a set or a scaling group is several pods. Kubernetes takes pods for replicas even
 * there and asks for as many times too much; here pods are turned into replicas by how many of each
 * there are at present.
 */
#ifndef CONTROLLERS_AUTOSCALER_CALC_H
#define CONTROLLERS_AUTOSCALER_CALC_H

#include "base/arena.h"
#include "base/err.h"
#include "base/timefmt.h"
#include "json/doc.h"

/* ---- metrics ---- */

enum sample_state {
    SAMPLE_READY,
    SAMPLE_UNREADY, /* not ready yet: counts as using nothing when the others ask for more */
    SAMPLE_MISSING, /* runs, but nothing is known of it: counts against any change */
    SAMPLE_IGNORED, /* failed or going */
};

struct pod_sample {
    enum sample_state state;
    int64_t value;
    int64_t request; /* utilization only */
};

struct calc {
    const struct pod_sample *samples;
    size_t n;
    bool utilization; /* the target is a percentage of what was requested, else an average */
    int64_t target;
    int64_t current; /* replicas */
    /* pods make so many replicas; both 1 where a replica is a pod */
    int64_t pods, replicas;
    int64_t tolerance_up, tolerance_down; /* thousandths */
};

struct calc_result {
    int64_t replicas;
    int64_t utilization; /* percent */
    int64_t average;
};

/* Of a metric that each pod has. */
int calc_pods(const struct calc *c, struct calc_result *ret, struct err *err);
/* Of one value that all replicas work on together; ready: pods that are. */
int64_t calc_value(const struct calc *c, int64_t value, int64_t ready);
/* Of one value, the target being what a replica may have of it; status: replicas there are. */
int64_t calc_value_per_replica(const struct calc *c, int64_t value, int64_t status);

/* ---- rules ---- */

enum select_policy { SELECT_MAX, SELECT_MIN, SELECT_DISABLED };
enum { MAX_POLICIES = 16 };

struct scaling_rules {
    usec window; /* stabilization */
    enum select_policy select;
    struct scaling_policy {
        bool percent;
        int64_t value;
        usec period;
    } policies[MAX_POLICIES];
    size_t n;
    int64_t tolerance; /* thousandths */
};

/* spec.behavior, with Kubernetes' defaults where it says nothing. */
void scaling_rules_read(jval behavior, struct scaling_rules *ret_up,
                        struct scaling_rules *ret_down);

/* ---- the past ---- */

/*
 * What an autoscaler must not forget, in an annotation of its object. Recommendations are steps: a
 * number holds until the next one, so nothing is written while it stays the same, and a restart in
 * the middle of a window changes nothing. Changes of scale are those it has made.
 */
#define ANNOTATION_AUTOSCALER "autoscaling.grove.io/history"

struct step {
    usec at;
    int64_t value;
};

struct history {
    struct step *recommended, *scaled; /* oldest first */
    size_t n_recommended, n_scaled;
};

/* What cannot be read is as if it were absent. In the arena. */
struct history history_read(struct arena *a, str annotation);
/* As text; what no window or period reaches any more is left out. */
str history_write(struct arena *a, const struct history *h, usec now, usec longest);
/* True when the history changed. */
bool history_recommend(struct arena *a, struct history *h, usec now, int64_t current,
                       int64_t wanted);
void history_scaled(struct arena *a, struct history *h, usec now, int64_t change);

/* ---- decision ---- */

struct bounds {
    int64_t current, min, max;
};

struct decision {
    int64_t replicas;
    const char *able_reason, *able_message;
    bool limited;
    const char *limited_reason, *limited_message;
};

/* `wanted` is not yet in the history. */
struct decision scaling_decide(const struct bounds *b, const struct scaling_rules *up,
                               const struct scaling_rules *down, const struct history *h, usec now,
                               int64_t wanted);

#endif
