/*
 * Pods on nodes with taints NoExecute: see node_control.h. Key: a pod.
 *
 * A pod that does not tolerate one of them is deleted at once; one that tolerates all of them stays
 * until the shortest tolerationSeconds has passed since its taint was added. Whoever tolerates
 * without a time stays. Admission gives every pod that says nothing five minutes (not-ready and
 * unreachable).
 */
#include "controllers/node_control_impl.h"
#include "grove/pod.h"

/* Three thousand years: what a user writes must not leave the range of times. */
#define SECONDS_MAX ((int64_t)100000000000)

/* ---- tolerations ---- */

static bool tolerates(jval toleration, jval taint)
{
    str key = jstr(jgetc(toleration, "key")), effect = jstr(jgetc(toleration, "effect"));
    bool exists = str_is(jstr(jgetc(toleration, "operator")), "Exists");
    if (effect.len && !str_eq(effect, jstr(jgetc(taint, "effect"))))
        return false;
    if (key.len ? !str_eq(key, jstr(jgetc(taint, "key"))) : !exists)
        return false;
    return exists || str_eq(jstr(jgetc(toleration, "value")), jstr(jgetc(taint, "value")));
}

enum { REFUSED, FOR_EVER, FOR_A_WHILE };

/* The first that fits counts, as everywhere. */
static int tolerated(const struct obj *pod, jval taint, usec *ret_for)
{
    int64_t seconds;
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "tolerations")); jnext(&it);) {
        if (!tolerates(it.value, taint))
            continue;
        if (!jint_get(jgetc(it.value, "tolerationSeconds"), &seconds))
            return FOR_EVER;
        *ret_for = MIN(MAX(seconds, 0), SECONDS_MAX) * USEC_PER_SEC;
        return FOR_A_WHILE;
    }
    return REFUSED;
}

static bool drives_out(jval taint)
{
    return str_is(jstr(jgetc(taint, "effect")), "NoExecute");
}

/* Whether the pod must leave now; else the plan looks again when it must. */
static bool must_leave(const struct world *w, const struct obj *node, const struct obj *pod,
                       struct plan *p)
{
    bool leaves = false;
    usec stays, since;
    for (struct jiter it = jiter(node_taints(node)); jnext(&it);) {
        if (!drives_out(it.value))
            continue;
        switch (tolerated(pod, it.value, &stays)) {
        case REFUSED:
            leaves = true;
            break;
        case FOR_A_WHILE:
            /* One without a time gets it in a moment (node_lifecycle.c). */
            leaves |= stays == 0 || (taint_since(w, node, it.value, &since) &&
                                     world_has_passed(w, since, stays, p));
            break;
        default:
            break;
        }
    }
    return leaves;
}

/* ---- plan ---- */

/* Why it goes, for who reads its status. */
static void plan_condition(const struct world *w, const struct obj *pod, struct plan *p)
{
    struct jw out;
    jw_init(&out);
    jw_object(&out);
    jw_put_object(&out, "status");
    jw_put_array(&out, "conditions");
    for (struct jiter it = jiter(jgetc(obj_status(pod), "conditions")); jnext(&it);) {
        if (!str_is(jstr(jgetc(it.value, "type")), "DisruptionTarget"))
            jw_val(&out, it.value);
    }
    jw_object(&out);
    jw_put_time(&out, "lastTransitionTime", w->now);
    jw_put_cstr(&out, "message", "Taint manager: deleting due to NoExecute taint");
    jw_put_cstr(&out, "reason", "DeletionByTaintManager");
    jw_put_cstr(&out, "status", "True");
    jw_put_cstr(&out, "type", "DisruptionTarget");
    jw_end(&out);
    jw_end(&out);
    jw_end(&out);
    jw_end(&out);
    plan_why(plan_merge_patch(p, 0, pod, STR("status"), jw_doc(&out), pod->rv), p,
             "it will be deleted");
}

static void eviction_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *pod = world_get(w, &kind_pod, key->ns, key->name);
    (void)ctx;
    if (!pod || pod->deleting || pod_is_finished(pod))
        return;
    const struct obj *node = world_node_of(w, pod);
    if (!node || !must_leave(w, node, pod, p))
        return;
    plan_condition(w, pod, p);
    plan_why(plan_delete(p, 1, pod), p,
             "its node has a taint that it does not tolerate any longer");
    plan_event(p, pod, false, STR("TaintManagerEviction"), "Marking for deletion Pod %.*s/%.*s",
               STR_ARG(pod->ns), STR_ARG(pod->name));
}

/* ---- who is looked at when ---- */

static bool any_drives_out(const struct obj *node)
{
    for (struct jiter it = jiter(node_taints(node)); jnext(&it);) {
        if (drives_out(it.value))
            return true;
    }
    return false;
}

static void map_node(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    if (!new || !any_drives_out(new) || (old && jequal(node_taints(old), node_taints(new))))
        return;
    struct cache_iter it = cache_by(world_cache(w, &kind_pod), pod_index_by_node, new->name);
    for (const struct obj *pod; (pod = cache_next(&it));)
        controller_enqueue(c, &kind_pod, pod->ns, pod->name);
}

/* Its tolerations and its node only change with its generation, or when it is bound. */
static void map_pod(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new)
{
    if (!new || new->deleting ||
        (old && old->generation == new->generation &&pod_is_scheduled(old)))
        return;
    const struct obj *node = world_node_of(w, new);
    if (node && any_drives_out(node))
        controller_enqueue(c, &kind_pod, new->ns, new->name);
}

void taint_eviction_add(struct runtime *r, struct api *api)
{
    static const struct controller_watch watches[] = {
        {&kind_node, map_node},
        {&kind_pod, map_pod},
    };
    struct controller_def def = {
        .name = "taint-eviction-controller",
        .plan = eviction_plan,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
    };
    (void)runtime_add(r, &def, api);
}
