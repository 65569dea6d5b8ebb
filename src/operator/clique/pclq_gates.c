/*
 * Grove's gate goes from a pod when its gang knows it: the gang is complete, its group refers to
 * the pod, and, for a scaled gang, every group of the base gang has its minimum on nodes.
 * Replacements of later obey the same rule, and wait until the pod before them has stopped
 * (going.h), unless the clique says that they need not. Gates of others stay.
 *
 * All of this is seen where it is true first, in what gangs refer to and where pods are: that
 * statuses say it too (Initialized, scheduledReplicas) may take them a moment.
 */
#include "base/map.h"
#include "operator/clique/pclq_impl.h"
#include "operator/update/gate.h"

#define TELL_AFTER (10 * USEC_PER_SEC)

static jval find_pod_group(const struct obj *gang, str name)
{
    for (struct jiter it = jiter(jpath(obj_root(gang), "spec.podgroups")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return it.value;
    }
    return JVAL_ABSENT;
}

/* Whether there is room for it is judged from now on, not from when it was made. */
static void put_released(struct jw *w, usec now)
{
    jw_put_object(w, "metadata");
    jw_put_object(w, "annotations");
    jw_put_time(w, ANNOTATION_RELEASED, now);
    jw_end(w);
    jw_end(w);
}

/* The list that remains; a list of none is no list. */
static struct doc *patch_without_gate(const struct world *world, const struct obj *pod)
{
    jval gates = jgetc(obj_spec(pod), "schedulingGates");
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    if (world_steady(world) >= pod_awaited_until(world, pod))
        put_released(&w, world->now);
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

bool pclq_pod_waits(const struct clique_work *c, const struct obj *pod)
{
    return !going_is_ignored(c->pclq) && pod_is_gated(pod) &&
           slots_uses(&c->going.running, pod_index(pod)) > 0;
}

bool pclq_pod_is_early(const struct clique_work *c, const struct obj *pod)
{
    return pclq_pod_waits(c, pod) || gate_opens(c->world, c->plan->arena, c->pcs, c->pclq, pod);
}

/* One before it is on a node that seems to be gone: that is to be made sure of. */
static void verify_node(const struct clique_work *c, const struct obj *pod, struct plan_write *w)
{
    for (size_t i = 0; !going_is_ignored(c->pclq) && i < c->going.nodeless.len; i++) {
        const struct obj *before = c->going.nodeless.p[i];
        if (pod_index(before) == pod_index(pod))
            plan_verify_absent(w, &kind_node, STR_NONE, jstr(jgetc(obj_spec(before), "nodeName")),
                               STR_NONE);
    }
}

/* For whom the pod waits, and how long that may take: a text that stays as it is. */
static str why_waits(const struct clique_work *c, const struct obj *pod)
{
    const struct obj *before = going_at(c->world, c->pclq, pod_index(pod));
    str name = before ? before->name : STR("another");
    return arena_printf(
        c->plan->arena,
        "pod %.*s waits until pod %.*s has stopped (terminating, its grace period "
        "ends at %.*s)",
        STR_ARG(pod->name), STR_ARG(name),
        STR_ARG(before ? jstr(jgetc(before->meta, "deletionTimestamp")) : STR_NONE));
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
        if (pclq_pod_waits(c, pod)) {
            if (c->waiting++ == 0)
                c->gates_wait = why_waits(c, pod);
            continue;
        }
        struct plan_write *w = plan_merge_patch(c->plan, STAGE_PODS, pod, STR_NONE,
                                                patch_without_gate(c->world, pod), pod->rv);
        verify_node(c, pod, w);
        plan_why(w, c->plan, "gang %.*s is complete", STR_ARG(gang->name));
        lifted++;
    }
    return lifted;
}

/* That pods wait for another gang is in the condition at once; when they do so for long it is an
 * event too. */
static void tell_waiting(struct clique_work *c)
{
    struct obj *pod;
    struct cache_iter it = world_owned(c->world, &kind_pod, c->pclq->uid);
    while ((pod = cache_next(&it)) &&
           (pod->deleting || !pod_is_gated(pod) || (c->waiting > 0 && !pclq_pod_waits(c, pod))))
        ;
    if (pod && world_has_passed(c->world, world_created(c->world, pod), TELL_AFTER, c->plan))
        plan_event(c->plan, c->pclq, true, STR("PodsGated"), "%lld of %lld pods gated: %.*s",
                   (long long)c->tally->held, (long long)c->spec.replicas, STR_ARG(c->gates_wait));
}

/* Pods that the gang refers to. */
static size_t lift_gang(struct clique_work *c, const struct obj *gang)
{
    struct map referenced = MAP_INIT;
    for (struct jiter it = jiter(jgetc(find_pod_group(gang, c->pclq->name), "podReferences"));
         jnext(&it);)
        (void)map_put(&referenced, jstr(jgetc(it.value, "name")), c);
    size_t lifted = lift(c, gang, &referenced);
    c->unsettled = c->unsettled || (lifted > 0 && lifted < MAKE_MAX_WRITES);
    map_done(&referenced);
    return lifted;
}

/* Slots whose pods may be held; that of a gang is looked at by itself. */
static void plan_mapped_gates(struct clique_work *c)
{
    size_t lifted = 0;
    struct map held = MAP_INIT;
    struct cache_iter it = world_owned(c->world, &kind_pod, c->pclq->uid);
    for (struct obj *pod; (pod = cache_next(&it));) {
        if (!pod->deleting && pod_is_gated(pod))
            (void)map_put(&held, obj_label(pod, STR(LABEL_PODGANG)), pod);
    }
    for (size_t i = 0; i < c->slots->n; i++) {
        const struct obj *gang;
        if (!map_has(&held, c->slots->items[i].label))
            continue;
        str wait = slots_wait(c, &c->slots->items[i], &gang);
        if (str_is_empty(wait))
            lifted += lift_gang(c, gang);
        else if (str_is_empty(c->gates_wait))
            c->gates_wait = wait;
    }
    if (lifted == 0 && str_is_empty(c->gates_wait))
        c->gates_wait = STR("their gangs do not refer to them yet");
    if (c->waiting > 0)
        tell_waiting(c);
    map_done(&held);
}

void pclq_plan_gates(struct clique_work *c)
{
    const struct obj *gang;
    if (c->tally->held == 0)
        return;
    if (c->slots) {
        plan_mapped_gates(c);
        return;
    }
    c->gates_wait = gate_wait(c->world, c->plan->arena, c->pclq, &gang);
    if (!str_is_empty(c->gates_wait)) {
        if (!str_is_empty(obj_label(c->pclq, STR(LABEL_BASE_PODGANG))))
            tell_waiting(c);
        return;
    }
    size_t lifted = lift_gang(c, gang);
    if (c->waiting > 0)
        tell_waiting(c);
    else if (lifted == 0)
        c->gates_wait = arena_printf(c->plan->arena, "gang %.*s does not refer to them yet",
                                     STR_ARG(gang->name));
}
