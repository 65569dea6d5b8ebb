/*
 * Pods that no node will ever finish: see node_control.h. Key: a pod.
 *
 *   its node is gone                                       it is deleted for good, 40 s after it
 *                                                          was bound at the earliest
 *   it is being deleted and is on no node                  the same, at once
 *   it is being deleted, its node is not ready and has     the same, at once
 *   the taint node.kubernetes.io/out-of-service
 *
 * A node may be heard of after the first pod that is bound to it, hence the delay; and absence in a
 * cache is no proof, hence the live check.
 */
#include "controllers/node_control_impl.h"
#include "grove/pod.h"

#define QUARANTINE (40 * USEC_PER_SEC)

static bool is_out_of_service(const struct obj *node)
{
    for (struct jiter it = jiter(node_taints(node)); node_lost_taint(node) && jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "key")), TAINT_OUT_OF_SERVICE))
            return true;
    }
    return false;
}

/* With no grace left, only finalizers hold it. */
static bool is_over(const struct obj *pod)
{
    return pod->deleting && jint(jgetc(pod->meta, "deletionGracePeriodSeconds"), -1) == 0;
}

static struct plan_write *plan_end(struct plan *p, const struct obj *pod, const char *why)
{
    struct plan_write *d = plan_delete(p, 0, pod);
    d->grace_seconds = 0;
    plan_why(d, p, "%s", why);
    return d;
}

/* As steady time. One that nobody bound came with its node. */
static usec bound_since(const struct world *w, const struct obj *pod)
{
    struct cache_seen seen;
    usec at = pod_bound_at(pod);
    if (!at && world_seen(w, pod, &seen))
        return seen.first;
    return world_moment_in(w, pod, at);
}

static void pod_gc_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *pod = world_get(w, &kind_pod, key->ns, key->name);
    (void)ctx;
    if (!pod || is_over(pod))
        return;
    str name = jstr(jgetc(obj_spec(pod), "nodeName"));
    const struct obj *node = world_node_of(w, pod);
    if (!name.len && pod->deleting) {
        (void)plan_end(p, pod, "it is on no node and is being deleted");
    } else if (node && pod->deleting && is_out_of_service(node)) {
        (void)plan_end(p, pod, "its node is out of service");
    } else if (name.len && !node && world_has_passed(w, bound_since(w, pod), QUARANTINE, p)) {
        plan_verify_absent(plan_end(p, pod, "its node is gone"), &kind_node, STR_NONE, name,
                           STR_NONE);
    }
}

/* ---- who is looked at when ---- */

static void map_node(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    const struct obj *node = new ? new : old;
    if (new && !is_out_of_service(new))
        return;
    struct cache_iter it = cache_by(world_cache(w, &kind_pod), pod_index_by_node, node->name);
    for (const struct obj *pod; (pod = cache_next(&it));)
        controller_enqueue(c, &kind_pod, pod->ns, pod->name);
}

static void map_pod(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new)
{
    (void)old;
    if (!new)
        return;
    const struct obj *node = world_node_of(w, new);
    bool bound = pod_is_scheduled(new);
    if (bound ? !node || (new->deleting &&is_out_of_service(node)) : new->deleting)
        controller_enqueue(c, &kind_pod, new->ns, new->name);
}

void pod_gc_add(struct runtime *r, struct api *api)
{
    static const struct controller_watch watches[] = {
        {&kind_node, map_node},
        {&kind_pod, map_pod},
    };
    struct controller_def def = {
        .name = "pod-garbage-collector",
        .plan = pod_gc_plan,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
    };
    (void)runtime_add(r, &def, api);
}
