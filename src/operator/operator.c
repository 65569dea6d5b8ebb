/*
 * Which change wakes which planner. Maps only name keys; what to do about them is the planners'
 * business.
 */
#include "operator/operator.h"

#include "operator/clique.h"

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

/* The gangs a clique belongs to, and those that wait for its gang. */
static void map_clique_to_gang(struct controller *c, const struct world *w, const struct obj *old,
                               const struct obj *new)
{
    struct arena a = ARENA_INIT;
    const struct obj *o = either(old, new);
    str base;
    str gang = clique_gang(&a, w, o, &base);
    if (str_is_empty(gang))
        gang = obj_label(o, STR(LABEL_PODGANG));
    if (!str_is_empty(gang))
        controller_enqueue(c, &kind_pod_gang, o->ns, gang);
    arena_done(&a);
}

static void map_pod_to_gang(struct controller *c, const struct world *w, const struct obj *old,
                            const struct obj *new)
{
    const struct obj *pod = either(old, new);
    jval owner = obj_controller_ref(pod);
    const struct obj *pclq = world_get(w, &kind_pclq, pod->ns, jstr(jgetc(owner, "name")));
    if (pclq)
        map_clique_to_gang(c, w, pclq, pclq);
}

static void map_set_to_gangs(struct controller *c, const struct world *w, const struct obj *old,
                             const struct obj *new)
{
    if (!new)
        return;
    struct obj *o;
    for (struct cache_iter it = world_owned(w, &kind_pod_gang, new->uid); (o = cache_next(&it));)
        controller_enqueue(c, &kind_pod_gang, o->ns, o->name);
    (void)old;
}

/* A gang that changed may let its cliques' pods go. */
static void map_gang_to_cliques(struct controller *c, const struct world *w, const struct obj *old,
                                const struct obj *new)
{
    (void)w;
    (void)old;
    for (struct jiter it = jiter(new ? jpath(obj_root(new), "spec.podgroups") : JVAL_ABSENT);
         jnext(&it);)
        controller_enqueue(c, &kind_pclq, new->ns, jstr(jgetc(it.value, "name")));
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
    map_self(c, w, old, new);
    if (!new || scheduled_of(old) == scheduled_of(new) ||
        !str_is_empty(obj_label(new, STR(LABEL_BASE_PODGANG))))
        return;
    str base = obj_label(new, STR(LABEL_PODGANG));
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pclq), new->ns);
         (o = cache_next(&it));) {
        if (str_eq(obj_label(o, STR(LABEL_BASE_PODGANG)), base))
            controller_enqueue(c, &kind_pclq, o->ns, o->name);
    }
}

/* "namespace/gang label" */
static void index_by_gang(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    str gang = obj_label(o, STR(LABEL_PODGANG));
    *n = 0;
    if (max > 0 && !str_is_empty(gang))
        keys[(*n)++] = arena_printf(a, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(gang));
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

void operator_add(struct runtime *r, struct api *api)
{
    static unsigned by_gang;
    static const struct controller_def defs[] = {
        {.name = "podcliqueset-controller", .plan = pcs_plan, WATCHES(pcs_watches)},
        {.name = "podcliquescalinggroup-controller", .plan = pcsg_plan, WATCHES(pcsg_watches)},
        {.name = "podclique-controller", .plan = pclq_plan, WATCHES(pclq_watches)},
        {.name = "podgang-controller", .plan = gang_plan, .ctx = &by_gang, WATCHES(gang_watches)},
    };
    by_gang = cache_add_index(runtime_cache(r, &kind_pclq), index_by_gang);
    for (size_t i = 0; i < ARRAY_LEN(defs); i++)
        (void)runtime_add(r, &defs[i], api);
}
