/* What a pod's state means to Grove; see pod.h. */
#include "grove/pod.h"

bool pod_is_ready(const struct obj *pod)
{
    return condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
}

bool pod_is_asked_to_go(const struct obj *pod)
{
    jval c = condition_find(jgetc(obj_status(pod), "conditions"), STR("DisruptionTarget"));
    return str_is(jstr(jgetc(c, "status")), "True") &&
           str_is(jstr(jgetc(c, "reason")), "PreemptionByScheduler");
}

#define ON_ITS_WAY (10 * USEC_PER_SEC)

bool pod_is_scheduled(const struct obj *pod)
{
    return !str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName")));
}

usec pod_since(const struct world *w, const struct obj *pod)
{
    usec released = 0, made = world_created(w, pod);
    if (!time_parse_rfc3339(obj_annotation(pod, STR(ANNOTATION_RELEASED)), &released))
        return made;
    return MAX(world_moment(w, released), made);
}

usec pod_awaited_until(const struct world *w, const struct obj *pod)
{
    return pod_since(w, pod) + ON_ITS_WAY;
}

bool pod_is_on_its_way(const struct world *w, const struct obj *pod)
{
    jval c = condition_find(jgetc(obj_status(pod), "conditions"), STR("PodScheduled"));
    return !pod->deleting && !pod_is_scheduled(pod) &&
           pod_awaited_until(w, pod) > world_steady(w) &&
           !str_is(jstr(jgetc(c, "reason")), "Unschedulable");
}

bool pod_is_gated(const struct obj *pod)
{
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "schedulingGates")); jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "name")), GATE_PODGANG))
            return true;
    }
    return false;
}

bool pod_is_finished(const struct obj *pod)
{
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

static bool has_crashed(jval statuses)
{
    for (struct jiter it = jiter(statuses); jnext(&it);) {
        if (jint(jpath(it.value, "lastState.terminated.exitCode"), 0) != 0)
            return true;
    }
    return false;
}

bool pod_is_failing(const struct obj *pod)
{
    jval status = obj_status(pod), containers = jgetc(status, "containerStatuses");
    if (pod_is_ready(pod))
        return false;
    if (has_crashed(containers) || has_crashed(jgetc(status, "initContainerStatuses")))
        return true;
    for (struct jiter it = jiter(containers); jnext(&it);) {
        if (j_is_true(jgetc(it.value, "started")) && !j_is_true(jgetc(it.value, "ready")))
            return true;
    }
    return false;
}

/* ---- ends ---- */

/* A row is interrupted by a pod that lived this long. */
#define LIVED_WELL (10 * USEC_PER_MIN)
#define BACKOFF_FIRST (10 * USEC_PER_SEC)
#define BACKOFF_MAX (5 * USEC_PER_MIN)
enum { FREE_FAILURES = 3 };

static usec later_of(const struct world *w, const struct obj *pod, usec a, jval time)
{
    usec t;
    return time_parse_rfc3339(jstr(time), &t) ? MAX(a, world_moment_in(w, pod, t)) : a;
}

/* When that happened, as well as its status tells. */
static usec finished_at(const struct world *w, const struct obj *pod)
{
    usec at = 0;
    jval status = obj_status(pod);
    for (struct jiter it = jiter(jgetc(status, "containerStatuses")); jnext(&it);)
        at = later_of(w, pod, at, jpath(it.value, "state.terminated.finishedAt"));
    for (struct jiter it = jiter(jgetc(status, "conditions")); at == 0 && jnext(&it);)
        at = later_of(w, pod, at, jgetc(it.value, "lastTransitionTime"));
    return MAX(at, world_created(w, pod));
}

usec pod_replace_at(const struct world *w, const struct obj *pod, int64_t *ret_failures)
{
    int64_t before = 0;
    usec ended = finished_at(w, pod);
    if (ended - world_created(w, pod) < LIVED_WELL)
        (void)str_to_int(obj_annotation(pod, STR(ANNOTATION_FAILURES)), &before);
    before = MIN(MAX(before, 0), 1000);
    *ret_failures = before + 1;
    if (before < FREE_FAILURES)
        return 0;
    return ended + MIN(BACKOFF_FIRST << MIN(before - FREE_FAILURES, 10), BACKOFF_MAX);
}

int64_t pod_index(const struct obj *pod)
{
    return label_index(pod, STR(LABEL_POD_INDEX));
}

void pod_index_by_node(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    str node = jstr(jgetc(obj_spec(o), "nodeName"));
    (void)a;
    *n = 0;
    if (max > 0 && !str_is_empty(node))
        keys[(*n)++] = node;
}

usec pod_bound_at(const struct obj *pod)
{
    jval c = condition_find(jgetc(obj_status(pod), "conditions"), STR("PodScheduled"));
    usec when;
    return time_parse_rfc3339(jstr(jgetc(c, "lastTransitionTime")), &when) ? when : 0;
}
