/*
 * Grove's gate goes from a pod when its gang knows it: the gang is complete (Initialized), its
 * group refers to the pod, and, for a scaled gang, every group of the base gang has its minimum on
 * nodes. Replacements of later obey the same rule. Gates of others stay.
 */
#include "base/map.h"
#include "operator/pclq_impl.h"

static jval find_pod_group(const struct obj *gang, str name)
{
    for (struct jiter it = jiter(jpath(obj_root(gang), "spec.podgroups")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return it.value;
    }
    return JVAL_ABSENT;
}

/* Why the base gang does not let others follow; empty: it does. */
static str base_wait(const struct clique_work *c, str base)
{
    struct arena *a = c->plan->arena;
    const struct obj *gang = world_get(c->world, &kind_pod_gang, c->pclq->ns, base);
    if (!gang)
        return arena_printf(a, "base gang %.*s is not there", STR_ARG(base));
    for (struct jiter it = jiter(jpath(obj_root(gang), "spec.podgroups")); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        const struct obj *o = world_get(c->world, &kind_pclq, gang->ns, name);
        int64_t need = jint(jgetc(it.value, "minReplicas"), 0);
        if (!o || jint(jgetc(obj_status(o), "scheduledReplicas"), 0) < need)
            return arena_printf(a, "base gang %.*s lacks pods of %.*s on nodes, %lld are needed",
                                STR_ARG(base), STR_ARG(name), (long long)need);
    }
    return STR_NONE;
}

/* The list that remains; a list of none is no list. */
static struct doc *patch_without_gate(const struct obj *pod)
{
    jval gates = jgetc(obj_spec(pod), "schedulingGates");
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "spec");
    jw_key(&w, STR("schedulingGates"));
    if (jlen(gates) == 1) {
        jw_null(&w);
    } else {
        jw_array(&w);
        for (struct jiter it = jiter(gates); jnext(&it);) {
            if (!str_is(jstr(jgetc(it.value, "name")), GATE_PODGANG))
                jw_val(&w, it.value);
        }
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* Why no gate of this clique can go; empty: *ret_gang says which may. */
static str gang_wait(const struct clique_work *c, const struct obj **ret_gang)
{
    struct arena *a = c->plan->arena;
    str base, name = clique_gang(a, c->world, c->pclq, &base);
    const struct obj *gang = world_get(c->world, &kind_pod_gang, c->pclq->ns, name);
    *ret_gang = gang;
    if (!gang)
        return arena_printf(a, "gang %.*s is not there", STR_ARG(name));
    if (!condition_is_true(jgetc(obj_status(gang), "conditions"), STR("Initialized")))
        return arena_printf(a, "gang %.*s is not complete", STR_ARG(name));
    return str_is_empty(base) ? STR_NONE : base_wait(c, base);
}

static bool can_go(const struct clique_work *c, const struct map *referenced, const struct obj *pod)
{
    return !pod->deleting && pod_is_gated(pod) && !pod_is_finished(pod) &&
           map_has(referenced, pod->name) && !world_is_intended(c->world, pod->uid) &&
           slots_uses(&c->tally->indices, pod_index(pod)) <= 1;
}

static size_t lift(struct clique_work *c, const struct obj *gang, const struct map *referenced)
{
    size_t lifted = 0;
    struct cache_iter it = world_owned(c->world, &kind_pod, c->pclq->uid);
    for (struct obj *pod; lifted < MAKE_MAX_WRITES && (pod = cache_next(&it));) {
        if (!can_go(c, referenced, pod))
            continue;
        struct plan_write *w =
            plan_merge_patch(c->plan, STAGE_PODS, pod, STR_NONE, patch_without_gate(pod), pod->rv);
        plan_why(w, c->plan, "gang %.*s is complete", STR_ARG(gang->name));
        lifted++;
    }
    return lifted;
}

void pclq_plan_gates(struct clique_work *c)
{
    const struct obj *gang;
    if (c->tally->held == 0)
        return;
    c->gates_wait = gang_wait(c, &gang);
    if (!str_is_empty(c->gates_wait))
        return;
    struct map referenced = MAP_INIT;
    for (struct jiter it = jiter(jgetc(find_pod_group(gang, c->pclq->name), "podReferences"));
         jnext(&it);)
        (void)map_put(&referenced, jstr(jgetc(it.value, "name")), c);
    if (lift(c, gang, &referenced) == 0)
        c->gates_wait = arena_printf(c->plan->arena, "gang %.*s does not refer to them yet",
                                     STR_ARG(gang->name));
    map_done(&referenced);
}
