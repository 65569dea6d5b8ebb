/*
 * Which change wakes which planner. Maps only name keys; what to do about them is the planners'
 * business.
 */
#include "operator/operator.h"

#include "operator/clique.h"
#include "operator/pod.h"

/* Numbers of our indexes of the clique cache: the same in every runtime of a process, as all add
 * them in the same order. */
static unsigned by_gang, by_base_gang;

static const struct obj *either(const struct obj *old, const struct obj *new)
{
    return new ? new : old;
}

/* The set an object belongs to, by its label; a shortened one is found by the owners instead. */
static void map_to_set(struct controller *c, const struct world *w, const struct obj *old,
                       const struct obj *new)
{
    const struct obj *o = either(old, new);
    str pcs = obj_label(o, STR(LABEL_PART_OF));
    const struct obj *set = owner_pcs(w, o);
    if (set)
        pcs = set->name;
    if (!str_is_empty(pcs))
        controller_enqueue(c, &kind_pcs, o->ns, pcs);
}

/* Objects of a kind that belong to the changed set. */
static void enqueue_parts(struct controller *c, const struct world *w, const struct kind *k,
                          const struct obj *pcs)
{
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(w, k), pcs->ns); (o = cache_next(&it));) {
        if (owner_pcs(w, o) == pcs)
            controller_enqueue(c, k, o->ns, o->name);
    }
}

static bool spec_changed(const struct obj *old, const struct obj *new)
{
    return !old || !new || old->generation != new->generation || old->deleting != new->deleting;
}

static void map_set_to_cliques(struct controller *c, const struct world *w, const struct obj *old,
                               const struct obj *new)
{
    if (new &&spec_changed(old, new))
        enqueue_parts(c, w, &kind_pclq, new);
}

static void map_set_to_groups(struct controller *c, const struct world *w, const struct obj *old,
                              const struct obj *new)
{
    if (new &&spec_changed(old, new))
        enqueue_parts(c, w, &kind_pcsg, new);
}

/* The gang a clique says it belongs to. Its owners may be gone, and the label may be shortened:
 * then the set's gangs are compared with it. */
static void enqueue_labelled_gang(struct controller *c, const struct world *w,
                                  const struct obj *pclq)
{
    str label = obj_label(pclq, STR(LABEL_PODGANG));
    struct arena a = ARENA_INIT;
    struct obj *gang;
    if (str_is_empty(label))
        return;
    controller_enqueue(c, &kind_pod_gang, pclq->ns, label);
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pod_gang), pclq->ns);
         (gang = cache_next(&it));) {
        if (gang->name.len > label.len && str_eq(name_label(&a, gang->name), label))
            controller_enqueue(c, &kind_pod_gang, gang->ns, gang->name);
    }
    arena_done(&a);
}

/* Status is not a gang's business: pods tell it themselves. */
static void map_clique_to_gang(struct controller *c, const struct world *w, const struct obj *old,
                               const struct obj *new)
{
    struct arena a = ARENA_INIT;
    const struct obj *o = either(old, new);
    str base;
    bool moved = old && new && !jequal(old->labels, new->labels);
    if (!spec_changed(old, new) && !moved)
        return;
    if (moved)
        enqueue_labelled_gang(c, w, old);
    str gang = clique_gang(&a, w, o, &base);
    if (!str_is_empty(gang))
        controller_enqueue(c, &kind_pod_gang, o->ns, gang);
    else
        enqueue_labelled_gang(c, w, o);
    arena_done(&a);
}

/* A gang counts pods that exist, are on nodes and are ready; what else happens to one is nothing to
 * it. */
static bool gang_cares(const struct obj *old, const struct obj *new)
{
    return !old || !new || old->deleting != new->deleting ||
           pod_is_scheduled(old) != pod_is_scheduled(new) || pod_is_ready(old) != pod_is_ready(new);
}

static void map_pod_to_gang(struct controller *c, const struct world *w, const struct obj *old,
                            const struct obj *new)
{
    const struct obj *pod = either(old, new);
    if (!gang_cares(old, new))
        return;
    jval owner = obj_controller_ref(pod);
    const struct obj *pclq = world_get(w, &kind_pclq, pod->ns, jstr(jgetc(owner, "name")));
    if (pclq)
        map_clique_to_gang(c, w, NULL, pclq);
}

static void map_set_to_gangs(struct controller *c, const struct world *w, const struct obj *old,
                             const struct obj *new)
{
    /* Its labels and annotations are mirrored, its status is not. */
    if (!new || (!spec_changed(old, new) && jequal(old->labels, new->labels) &&
                 jequal(old->annotations, new->annotations)))
        return;
    struct obj *o;
    for (struct cache_iter it = world_owned(w, &kind_pod_gang, new->uid); (o = cache_next(&it));)
        controller_enqueue(c, &kind_pod_gang, o->ns, o->name);
}

/* Cliques of scaled gangs whose pods wait for this base gang; the label may be shortened. */
static void enqueue_waiting(struct controller *c, const struct world *w, str ns, str base)
{
    struct arena a = ARENA_INIT;
    struct obj *o;
    str key = arena_printf(&a, "%.*s/%.*s", STR_ARG(ns), STR_ARG(name_label(&a, base)));
    for (struct cache_iter it = cache_by(world_cache(w, &kind_pclq), by_base_gang, key);
         (o = cache_next(&it));)
        controller_enqueue(c, &kind_pclq, o->ns, o->name);
    arena_done(&a);
}

/* A gang that changed may let its cliques' pods go, and those of gangs that wait for it. */
static void map_gang_to_cliques(struct controller *c, const struct world *w, const struct obj *old,
                                const struct obj *new)
{
    if (!new)
        return;
    for (struct jiter it = jiter(jpath(obj_root(new), "spec.podgroups")); jnext(&it);)
        controller_enqueue(c, &kind_pclq, new->ns, jstr(jgetc(it.value, "name")));
    if (spec_changed(old, new))
        enqueue_waiting(c, w, new->ns, new->name);
}

static int64_t scheduled_of(const struct obj *pclq)
{
    return pclq ? jint(jgetc(obj_status(pclq), "scheduledReplicas"), 0) : -1;
}

/* Pods of scaled gangs wait until the base gang is on nodes: when a clique of a base gang gains
 * ground, the scaled ones of the same replica are looked at. */
static void map_clique_to_waiting(struct controller *c, const struct world *w,
                                  const struct obj *old, const struct obj *new)
{
    if (new &&scheduled_of(old) != scheduled_of(new) &&
        str_is_empty(obj_label(new, STR(LABEL_BASE_PODGANG))))
        enqueue_waiting(c, w, new->ns, obj_label(new, STR(LABEL_PODGANG)));
}

/* "namespace/value of the label" */
static void index_by_label(const struct obj *o, str label, struct arena *a, str *keys, size_t max,
                           size_t *n)
{
    str value = obj_label(o, label);
    *n = 0;
    if (max > 0 && !str_is_empty(value))
        keys[(*n)++] = arena_printf(a, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(value));
}

static void index_by_gang(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    index_by_label(o, STR(LABEL_PODGANG), a, keys, max, n);
}

static void index_by_base_gang(const struct obj *o, struct arena *a, str *keys, size_t max,
                               size_t *n)
{
    index_by_label(o, STR(LABEL_BASE_PODGANG), a, keys, max, n);
}

static const struct controller_watch pcs_watches[] = {
    {&kind_pcs, map_self},
    {&kind_pcsg, map_to_set},
    {&kind_pclq, map_to_set},
    {&kind_service, map_controller_owner},
    {&kind_service_account, map_controller_owner},
    {&kind_role, map_controller_owner},
    {&kind_role_binding, map_controller_owner},
};
static const struct controller_watch pcsg_watches[] = {
    {&kind_pcsg, map_self},
    {&kind_pcs, map_set_to_groups},
    {&kind_pclq, map_controller_owner},
};
static const struct controller_watch pclq_watches[] = {
    {&kind_pclq, map_self},
    {&kind_pclq, map_clique_to_waiting},
    {&kind_pcs, map_set_to_cliques},
    {&kind_pod, map_controller_owner},
    {&kind_pod_gang, map_gang_to_cliques},
};
static const struct controller_watch gang_watches[] = {
    {&kind_pod_gang, map_self},
    {&kind_pcs, map_set_to_gangs},
    {&kind_pclq, map_clique_to_gang},
    {&kind_pod, map_pod_to_gang},
};

#define WATCHES(w) .watches = (w), .n_watches = ARRAY_LEN(w)

unsigned *operator_add_indexes(struct runtime *r)
{
    struct cache *cliques = runtime_cache(r, &kind_pclq);
    by_gang = cache_add_index(cliques, index_by_gang);
    by_base_gang = cache_add_index(cliques, index_by_base_gang);
    return &by_gang;
}

void operator_add(struct runtime *r, struct api *api)
{
    static const struct controller_def defs[] = {
        {.name = "podcliqueset-controller", .plan = pcs_plan, WATCHES(pcs_watches)},
        {.name = "podcliquescalinggroup-controller", .plan = pcsg_plan, WATCHES(pcsg_watches)},
        {.name = "podclique-controller", .plan = pclq_plan, WATCHES(pclq_watches)},
        {.name = "podgang-controller", .plan = gang_plan, .ctx = &by_gang, WATCHES(gang_watches)},
    };
    (void)operator_add_indexes(r);
    for (size_t i = 0; i < ARRAY_LEN(defs); i++)
        (void)runtime_add(r, &defs[i], api);
}
