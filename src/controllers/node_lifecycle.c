/*
 * Whether nodes are there: see node_control.h. Key: a node.
 *
 *   no heartbeat for 40 s          conditions become Unknown, reason NodeStatusUnknown
 *   no status within a minute      the same, reason NodeStatusNeverUpdated
 *   a condition says so            taint NoSchedule (the table below)
 *   Ready is True again            the taints NoExecute of a lost node go
 *   Ready is not True              its pods are not ready
 *
 * The other way round, a node takes its conditions back by writing its status, and its pods theirs.
 * A node that is there and not ready has its say about its pods: what it says of one after that
 * stays. Pods of a node that says nothing are not ready whatever was written last.
 *
 * Taints NoExecute that somebody adds without a time get one, so that tolerationSeconds is counted
 * from it.
 */
#include "controllers/node_control_impl.h"
#include "grove/pod.h"

#define GRACE (40 * USEC_PER_SEC)
#define GRACE_NEW (60 * USEC_PER_SEC)

#define LEASE_NS STR("kube-node-lease")

/* ---- heartbeats ---- */

static jval condition_of(const struct obj *node, const char *type)
{
    return condition_find(jgetc(obj_status(node), "conditions"), str_of(type));
}

/* The last sign of life, as steady time. What the node says about the time is believed within the
 * time in which we can have been told. */
static usec last_heartbeat(const struct world *w, const struct obj *node)
{
    const struct obj *lease = world_get(w, &kind_lease, LEASE_NS, node->name);
    struct cache_seen of_node, of_lease;
    usec wall, last;
    if (!world_seen(w, node, &of_node))
        return world_steady(w);
    last = of_node.first;
    if (time_parse_rfc3339(jstr(jgetc(condition_of(node, "Ready"), "lastHeartbeatTime")), &wall))
        last = MAX(last, MIN(world_moment(w, wall), of_node.version));
    if (lease && world_seen(w, lease, &of_lease))
        last = MAX(last, of_lease.version);
    return last;
}

static enum node_known known(const struct node_control_options *o, const struct obj *node)
{
    return o->known ? o->known(o->ctx, node) : NODE_HEARTBEATS;
}

static bool is_silent(const struct world *w, const struct obj *node,
                      const struct node_control_options *o, struct plan *p)
{
    switch (known(o, node)) {
    case NODE_ALIVE:
        return false;
    case NODE_DEAD:
        return true;
    case NODE_HEARTBEATS:
        break;
    }
    bool is_new = !node_readiness(node).len;
    return world_has_passed(w, last_heartbeat(w, node), is_new ? GRACE_NEW : GRACE, p);
}

/* ---- conditions ---- */

/* Those that only the node can know. */
static const char *const told_by_node[] = {"Ready", "MemoryPressure", "DiskPressure",
                                           "PIDPressure"};

static bool is_told_by_node(str type)
{
    for (size_t i = 0; i < ARRAY_LEN(told_by_node); i++) {
        if (str_is(type, told_by_node[i]))
            return true;
    }
    return false;
}

static void put_unknown(struct jw *w, str type, jval heartbeat, bool ever, usec now)
{
    jw_object(w);
    jw_put(w, "lastHeartbeatTime", heartbeat);
    jw_put_time(w, "lastTransitionTime", now);
    jw_put_cstr(w, "message",
                ever ? "Kubelet stopped posting node status."
                     : "Kubelet never posted node status.");
    jw_put_cstr(w, "reason", ever ? "NodeStatusUnknown" : "NodeStatusNeverUpdated");
    jw_put_cstr(w, "status", "Unknown");
    jw_put_str(w, "type", type);
    jw_end(w);
}

static void put_conditions(struct jw *w, const struct obj *node, usec now)
{
    jval have = jgetc(obj_status(node), "conditions");
    bool ever = node_readiness(node).len > 0;
    for (struct jiter it = jiter(have); jnext(&it);) {
        str type = jstr(jgetc(it.value, "type"));
        if (is_told_by_node(type) && !str_is(jstr(jgetc(it.value, "status")), "Unknown"))
            put_unknown(w, type, jgetc(it.value, "lastHeartbeatTime"), true, now);
        else
            jw_val(w, it.value);
    }
    jval made = jgetc(node->meta, "creationTimestamp");
    for (size_t i = 0; !ever && i < ARRAY_LEN(told_by_node); i++) {
        if (j_is_absent(condition_of(node, told_by_node[i])))
            put_unknown(w, str_of(told_by_node[i]), made, false, now);
    }
}

static void plan_unknown(const struct world *w, const struct obj *node, struct plan *p)
{
    struct jw out;
    jw_init(&out);
    jw_object(&out);
    jw_put_object(&out, "status");
    jw_put_array(&out, "conditions");
    put_conditions(&out, node, w->now);
    jw_end(&out);
    jw_end(&out);
    jw_end(&out);
    plan_why(plan_merge_patch(p, 0, node, STR("status"), jw_doc(&out), node->rv), p,
             "nothing was heard of the node");
    plan_event(p, node, false, STR("NodeNotReady"), "Node %.*s status is now: NodeNotReady",
               STR_ARG(node->name));
}

/* ---- taints ---- */

static const struct {
    const char *condition, *status, *taint;
} taints_of_conditions[] = {
    {"Ready", "False", TAINT_NOT_READY},
    {"Ready", "Unknown", TAINT_UNREACHABLE},
    {"MemoryPressure", "True", TAINT_PREFIX "memory-pressure"},
    {"DiskPressure", "True", TAINT_PREFIX "disk-pressure"},
    {"PIDPressure", "True", TAINT_PREFIX "pid-pressure"},
    {"NetworkUnavailable", "True", TAINT_PREFIX "network-unavailable"},
    {NULL, NULL, TAINT_PREFIX "unschedulable"}, /* spec.unschedulable */
};
enum { TAINTS = ARRAY_LEN(taints_of_conditions) };

static bool is_wanted(const struct obj *node, size_t i)
{
    const char *type = taints_of_conditions[i].condition;
    if (!type)
        return j_is_true(jgetc(obj_spec(node), "unschedulable"));
    return str_is(jstr(jgetc(condition_of(node, type), "status")), taints_of_conditions[i].status);
}

static bool has_effect(jval taint, const char *effect)
{
    return str_is(jstr(jgetc(taint, "effect")), effect);
}

static bool is_lost_taint(jval taint)
{
    return taint_is(taint, TAINT_NOT_READY, "NoExecute") ||
           taint_is(taint, TAINT_UNREACHABLE, "NoExecute");
}

/* Of this node: it says what is no longer so. */
static bool is_outdated(const struct obj *node, jval taint)
{
    if (is_lost_taint(taint)) {
        const char *lost = node_lost_taint(node);
        return !lost || !str_is(jstr(jgetc(taint, "key")), lost);
    }
    for (size_t i = 0; i < TAINTS; i++) {
        if (taint_is(taint, taints_of_conditions[i].taint, "NoSchedule"))
            return !is_wanted(node, i);
    }
    return false;
}

/* Nobody knows how long it has been there. */
static bool is_timeless(jval taint)
{
    return has_effect(taint, "NoExecute") && !j_has(jgetc(taint, "timeAdded"));
}

static bool taints_are_right(const struct obj *node)
{
    for (struct jiter it = jiter(node_taints(node)); jnext(&it);) {
        if (is_outdated(node, it.value) || is_timeless(it.value))
            return false;
    }
    for (size_t i = 0; i < TAINTS; i++) {
        if (is_wanted(node, i) &&
            !j_has(node_taint(node, taints_of_conditions[i].taint, "NoSchedule")))
            return false;
    }
    return true;
}

static void put_timed(struct jw *w, jval taint, usec now)
{
    jw_object(w);
    for (struct jiter it = jiter(taint); jnext(&it);) {
        if (str_is(it.key, "timeAdded"))
            continue;
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    jw_put_time(w, "timeAdded", now);
    jw_end(w);
}

/* A lost node that comes to be lost in another way stays as long lost as it was. */
static void put_other_loss(struct jw *w, const struct obj *node, jval taint)
{
    jw_object(w);
    jw_put_cstr(w, "effect", "NoExecute");
    jw_put_cstr(w, "key", node_lost_taint(node));
    jw_put(w, "timeAdded", jgetc(taint, "timeAdded"));
    jw_end(w);
}

static void plan_taints(const struct world *w, const struct obj *node, struct plan *p)
{
    struct jw out;
    const char *lost = node_lost_taint(node);
    taints_begin(&out);
    for (struct jiter it = jiter(node_taints(node)); jnext(&it);) {
        bool outdated = is_outdated(node, it.value);
        if (!outdated && is_timeless(it.value))
            put_timed(&out, it.value, w->now);
        else if (!outdated)
            jw_val(&out, it.value);
        else if (lost && is_lost_taint(it.value) && !j_has(node_taint(node, lost, "NoExecute")))
            put_other_loss(&out, node, it.value);
    }
    for (size_t i = 0; i < TAINTS; i++) {
        if (is_wanted(node, i) &&
            !j_has(node_taint(node, taints_of_conditions[i].taint, "NoSchedule")))
            taint_put(&out, taints_of_conditions[i].taint, "NoSchedule", w->now);
    }
    plan_why(taints_end(&out, p, node), p, "its taints follow its conditions");
}

/* ---- pods ---- */

/* When the node said that it is not ready, as steady time. */
static usec lost_since(const struct world *w, const struct obj *node)
{
    struct cache_seen seen;
    usec wall, since = world_steady(w);
    if (time_parse_rfc3339(jstr(jgetc(condition_of(node, "Ready"), "lastTransitionTime")), &wall))
        since = world_moment(w, wall);
    return world_seen(w, node, &seen) ? MIN(since, seen.version) : since;
}

/* See above about who has the last word. */
static bool is_to_be_unready(const struct world *w, const struct obj *node, const struct obj *pod)
{
    struct cache_seen seen;
    if (!pod_is_ready(pod) || pod_is_finished(pod))
        return false;
    return str_is(node_readiness(node), "Unknown") || !world_seen(w, pod, &seen) ||
           seen.version <= lost_since(w, node);
}

static void plan_unready(const struct world *w, const struct obj *pod, struct plan *p)
{
    struct jw out;
    jw_init(&out);
    jw_object(&out);
    jw_put_object(&out, "status");
    jw_put_array(&out, "conditions");
    for (struct jiter it = jiter(jgetc(obj_status(pod), "conditions")); jnext(&it);) {
        if (!str_is(jstr(jgetc(it.value, "type")), "Ready")) {
            jw_val(&out, it.value);
            continue;
        }
        jw_object(&out);
        jw_put_time(&out, "lastTransitionTime", w->now);
        jw_put_cstr(&out, "reason", "NodeNotReady");
        jw_put_cstr(&out, "status", "False");
        jw_put_cstr(&out, "type", "Ready");
        jw_end(&out);
    }
    jw_end(&out);
    jw_end(&out);
    jw_end(&out);
    plan_why(plan_merge_patch(p, 0, pod, STR("status"), jw_doc(&out), pod->rv), p,
             "its node is not ready");
    plan_event(p, pod, true, STR("NodeNotReady"), "Node is not ready");
}

static void plan_pods(const struct world *w, const struct obj *node, struct plan *p)
{
    struct cache_iter it = cache_by(world_cache(w, &kind_pod), pod_index_by_node, node->name);
    for (const struct obj *pod; (pod = cache_next(&it));) {
        if (is_to_be_unready(w, node, pod))
            plan_unready(w, pod, p);
    }
}

/* ---- planner ---- */

static void lifecycle_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *node = world_get(w, &kind_node, STR_NONE, key->name);
    if (!node)
        return;
    /* What follows from that follows when it is written. */
    if (!str_is(node_readiness(node), "Unknown") && is_silent(w, node, ctx, p)) {
        plan_unknown(w, node, p);
        return;
    }
    if (!taints_are_right(node))
        plan_taints(w, node, p);
    if (node_lost_taint(node))
        plan_pods(w, node, p);
}

/* Ten thousand simulated nodes that come to be and are well are not looked at once. */
static void map_node(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    (void)w;
    (void)old;
    if (!new || (known(controller_ctx(c), new) == NODE_ALIVE && !node_lost_taint(new) &&
                 taints_are_right(new)))
        return;
    controller_enqueue(c, &kind_node, STR_NONE, new->name);
}

static void map_pod(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new)
{
    (void)old;
    if (!new || !pod_is_ready(new))
        return;
    const struct obj *node = world_node_of(w, new);
    if (node && node_lost_taint(node))
        controller_enqueue(c, &kind_node, STR_NONE, node->name);
}

void node_lifecycle_add(struct runtime *r, struct api *api, const struct node_control_options *o)
{
    static const struct controller_watch watches[] = {
        {&kind_node, map_node},
        {&kind_pod, map_pod},
    };
    struct controller_def def = {
        .name = "node-lifecycle-controller",
        .source = "node-controller",
        .plan = lifecycle_plan,
        .ctx = (void *)o,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
    };
    (void)runtime_cache(r, &kind_lease);
    (void)runtime_add(r, &def, api);
}
