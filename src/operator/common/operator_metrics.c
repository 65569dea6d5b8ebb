/* See operator_metrics.h. Each change of an object takes away what it was and adds what it is. */
#include "operator/common/operator_metrics.h"

#include "base/metric.h"
#include "grove/make.h"
#include "grove/pod.h"

static const double wait_bounds[] = {0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800, 7200};

static struct metric replicas =
    METRIC_GAUGE("grove_replicas", "Replicas of all sets, groups and cliques.", "kind", "state");
static struct metric breached =
    METRIC_GAUGE("grove_min_available_breached", "Groups and cliques below their minimum.", "kind");
static struct metric gangs = METRIC_GAUGE("grove_podgangs", "PodGangs by phase.", "phase");
static struct metric gated =
    METRIC_GAUGE("grove_gated_pods", "Pods held back until their gang may be placed.");
static struct metric gate_wait =
    METRIC_HISTOGRAM("grove_gate_wait_seconds", "How long pods were held back.", wait_bounds);

/* Whose numbers these are. */
static struct runtime *watched;

static const struct {
    const char *state, *part, *field;
} states[] = {
    {"desired", "spec", "replicas"},
    {"available", "status", "availableReplicas"},
    {"updated", "status", "updatedReplicas"},
};
enum { STATE_AVAILABLE = 1 };

static double state_of(const struct obj *o, size_t i)
{
    const char *field = states[i].field;
    if (o->kind == &kind_pclq && i == STATE_AVAILABLE)
        field = "readyReplicas";
    return (double)jint(jget(jget(obj_root(o), str_of(states[i].part)), str_of(field)), 0);
}

static void count_owner(const struct obj *o, double by)
{
    str kind = str_of(o->kind->kind);
    jval conditions = jgetc(obj_status(o), "conditions");
    for (size_t i = 0; i < ARRAY_LEN(states); i++)
        metric_add(metric_with(&replicas, kind, str_of(states[i].state)), by * state_of(o, i));
    if (condition_is_true(conditions, STR("MinAvailableBreached")))
        metric_add(metric_with(&breached, kind), by);
}

/* Phases are few, and ours; what somebody else writes there is not a series. */
static void count_gang(const struct obj *o, double by)
{
    static const char *const phases[] = {"Pending", "Starting", "Running"};
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        if (str_is(jstr(jgetc(obj_status(o), "phase")), phases[i]))
            metric_add(metric_with(&gangs, str_of(phases[i])), by);
    }
}

static void on_owner(void *ctx, const struct obj *old, const struct obj *new)
{
    if (ctx != watched)
        return;
    if (old)
        count_owner(old, -1);
    if (new)
        count_owner(new, 1);
}

static void on_gang(void *ctx, const struct obj *old, const struct obj *new)
{
    if (ctx != watched)
        return;
    if (old)
        count_gang(old, -1);
    if (new)
        count_gang(new, 1);
}

static void on_pod(void *ctx, const struct obj *old, const struct obj *new)
{
    bool was = old && pod_is_gated(old), is = new &&pod_is_gated(new);
    if (ctx != watched || was == is)
        return;
    metric_add(metric_with(&gated), is ? 1 : -1);
    if (new && !is) {
        struct world w = runtime_world(ctx);
        usec held = world_steady(&w) - world_created(&w, new);
        metric_observe(metric_with(&gate_wait), (double)MAX(held, 0) / USEC_PER_SEC);
    }
}

void metrics_watch(struct runtime *r)
{
    static const struct kind *const owners[] = {&kind_pcs, &kind_pcsg, &kind_pclq};
    struct metric *const gauges[] = {&replicas, &breached, &gangs, &gated};
    for (size_t i = 0; i < ARRAY_LEN(gauges); i++) {
        metric_register(gauges[i]);
        metric_unregister(gauges[i]); /* with what was counted for another */
        metric_register(gauges[i]);
    }
    watched = r;
    for (size_t i = 0; i < ARRAY_LEN(owners); i++)
        cache_add_handler(runtime_cache(r, owners[i]), on_owner, r);
    cache_add_handler(runtime_cache(r, &kind_pod_gang), on_gang, r);
    cache_add_handler(runtime_cache(r, &kind_pod), on_pod, r);
}
