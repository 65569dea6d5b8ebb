/*
 * Coherent updates: pods of one clique in one gang are of one version at any time, and an update
 * takes no serving pod of a standalone clique when that leaves fewer than its replicas less
 * maxUnavailable. What users delete and what is lost is not taken by the update. What fails by
 * itself is not held against the update, as long as it may not have been known; nor is what the map
 * has set aside, and that may be nothing but pods that do not serve.
 *
 * Judged where a map of the gangs exists and the set's strategy is Coherent. A gang that another
 * strategy left with pods of both versions may get more of either, not of a third; it is judged as
 * the others when it has been of one version for as long as knowledge may be old. So is a set that
 * has just become Coherent: pods of the other strategy may be on their way.
 */
#include "grove/names.h"
#include "grove/types.h"
#include "sim/inv_impl.h"

/* As long as a pod may be on no node before it counts as having no room. */
#define ON_ITS_WAY (10 * USEC_PER_SEC)

static bool is_active(const struct obj *pod)
{
    return pod && !pod->deleting && !pod_has_finished(pod);
}

static bool is_ready(const struct obj *pod)
{
    return is_active(pod) && condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
}

static bool is_coherent(const struct obj *pcs)
{
    return str_is(jstr(jpath(obj_root(pcs), "spec.updateStrategy.type")), "Coherent");
}

/* The set of a pod whose gangs a map rules; NULL: no map does. */
static const struct obj *coherent_set(const struct invariants *v, const struct obj *pod)
{
    str name = obj_label(pod, STR(LABEL_PCS));
    const struct obj *pcs = inv_labelled(v, &kind_pcs, pod->ns, name);
    int64_t replica;
    if (!pcs || !is_coherent(pcs) || !str_to_int(obj_label(pod, STR(LABEL_PCS_INDEX)), &replica))
        return NULL;
    struct arena a = ARENA_INIT;
    bool mapped = store_get(inv_store(v), &kind_pod_gang_map, pod->ns,
                            name_base_gang(&a, pcs->name, replica)) != NULL;
    arena_done(&a);
    return mapped ? pcs : NULL;
}

/* ---- one version in a gang ---- */

/* Until then something is not judged. */
static void excuse(const struct invariants *v, struct inv_versions *x, str key)
{
    int64_t until = inv_wall(v) + inv_lag(v);
    (void)counter_add(&x->excused, key, until - counter_get(&x->excused, key));
}

static bool is_excused(const struct invariants *v, const struct inv_versions *x, str key)
{
    return inv_wall(v) < counter_get(&x->excused, key);
}

/* Another version came into a gang. */
static void judge(struct invariants *v, const struct inv_versions *x, const struct obj *pod,
                  str part, int64_t versions)
{
    const struct obj *pcs = coherent_set(v, pod);
    if (pcs && !is_excused(v, x, pcs->uid) && (versions > 2 || !is_excused(v, x, part)))
        inv_fail(v, "versions", "%.*s (gang and clique) has pods of %lld versions", STR_ARG(part),
                 (long long)versions);
}

static void count(struct invariants *v, struct inv_versions *x, const struct obj *pod, int64_t by)
{
    struct arena a = ARENA_INIT;
    str part = arena_printf(&a, "%.*s/%.*s/%.*s", STR_ARG(pod->ns),
                            STR_ARG(obj_label(pod, STR(LABEL_PODGANG))),
                            STR_ARG(obj_label(pod, STR(LABEL_PCLQ))));
    str version = arena_printf(&a, "%.*s=%.*s", STR_ARG(part),
                               STR_ARG(obj_label(pod, STR(LABEL_TEMPLATE_HASH))));
    int64_t before = counter_get(&x->pods, version), now = counter_add(&x->pods, version, by);
    if ((before == 0) != (now == 0)) {
        int64_t versions = counter_add(&x->versions, part, now ? 1 : -1);
        if (versions > 1 && by > 0)
            judge(v, x, pod, part, versions);
        else if (versions == 1 && by < 0)
            excuse(v, x, part);
    }
    arena_done(&a);
}

/* ---- floors ---- */

/* Then whole minimums of them do, also where the word is that nothing may be missing. */
static bool several_move(const struct obj *pcs)
{
    jval progress = jgetc(obj_status(pcs), "updateProgress");
    return jlen(jgetc(progress, "updatedStandalonePodCliques")) +
               jlen(jgetc(progress, "updatedPodCliqueScalingGroups")) >
           1;
}

static int64_t may_take(const struct obj *pcs, str clique)
{
    struct pcs_view set;
    struct clique_view c;
    int64_t most = 0;
    pcs_view(pcs, &set);
    if (!pcs_find_clique(&set, clique, &c))
        return INT32_MAX;
    for (struct jiter it = jiter(set.cliques); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), clique))
            most = jint(jpath(it.value, "rollingUpdate.maxUnavailable"), c.min_available);
    }
    return MAX(most, several_move(pcs) ? c.min_available : 1);
}

static int64_t ready_pods(const struct invariants *v, const struct obj *clique)
{
    int64_t n = 0;
    struct obj *pod;
    struct store_iter it = store_range(inv_store(v), &kind_pod, clique->ns, STR_NONE, STR_NONE);
    while ((pod = store_next(&it)))
        n += str_eq(pod->owner_uid, clique->uid) && is_ready(pod);
    return n;
}

static bool is_listed(jval list, str name)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (str_eq(jstr(it.value), name))
            return true;
    }
    return false;
}

/* Pods of the clique in gangs for which nobody waits. */
static int64_t aside_pods(const struct obj *map, str clique)
{
    str text = map ? obj_annotation(map, STR("grove.io/set-aside")) : STR_NONE;
    struct doc *d = str_is_empty(text) ? NULL : doc_parse(text, NULL, NULL);
    int64_t n = 0;
    if (!d)
        return 0;
    for (struct jiter it = jiter(jgetc(obj_spec(map), "entries")); jnext(&it);) {
        if (is_listed(jgetc(doc_root(d), "epochs"), jstr(jgetc(it.value, "epoch"))))
            n += jint(jget(jgetc(it.value, "podCliques"), clique), 0);
    }
    doc_unref(d);
    return n;
}

static int64_t idle_pods(const struct invariants *v, const struct obj *clique)
{
    int64_t n = 0;
    struct obj *pod;
    struct store_iter it = store_range(inv_store(v), &kind_pod, clique->ns, STR_NONE, STR_NONE);
    while ((pod = store_next(&it)))
        n += str_eq(pod->owner_uid, clique->uid) && is_active(pod) && !is_ready(pod);
    return n;
}

static void check_aside(struct invariants *v, const struct inv_versions *x,
                        const struct store_event *e)
{
    struct obj *o;
    if (inv_wall(v) - x->fewer_idle <= inv_lag(v))
        return;
    struct store_iter it = store_range(inv_store(v), &kind_pclq, e->obj->ns, STR_NONE, STR_NONE);
    while ((o = store_next(&it))) {
        str clique = inv_template_name(v, e->obj, o);
        if (str_is_empty(clique))
            continue;
        int64_t more = aside_pods(e->obj, clique) - aside_pods(e->prev, clique);
        if (more > idle_pods(v, o))
            inv_fail(v, "versions", "map %.*s sets aside %lld pods of %.*s, and %lld do not serve",
                     STR_ARG(e->obj->name), (long long)more, STR_ARG(o->name),
                     (long long)idle_pods(v, o));
    }
}

static void check_floor(struct invariants *v, const struct inv_versions *x, const struct obj *pod)
{
    str name = jstr(jgetc(obj_controller_ref(pod), "name"));
    const struct obj *clique = store_get(inv_store(v), &kind_pclq, pod->ns, name);
    const struct obj *pcs = clique ? coherent_set(v, pod) : NULL;
    str hash = STR(LABEL_TEMPLATE_HASH);
    if (!pcs || clique->deleting || !str_eq(clique->owner_uid, pcs->uid) ||
        str_eq(obj_label(pod, hash), obj_label(clique, hash)) || deletes_was_forced(v, pod) ||
        inv_wall(v) - x->disturbed <= 2 * inv_lag(v) + USEC_PER_SEC)
        return;
    struct arena a = ARENA_INIT;
    int64_t replica = -1;
    (void)str_to_int(obj_label(pod, STR(LABEL_PCS_INDEX)), &replica);
    const struct obj *map = store_get(inv_store(v), &kind_pod_gang_map, pod->ns,
                                      name_base_gang(&a, pcs->name, replica));
    str template = map ? inv_template_name(v, map, clique) : STR_NONE;
    int64_t left = ready_pods(v, clique), replicas = jint(jgetc(obj_spec(clique), "replicas"), 0);
    int64_t floor = replicas - aside_pods(map, template) - may_take(pcs, template);
    if (left < floor)
        inv_fail(v, "versions", "an update takes pod %.*s and leaves %lld of %lld, not %lld",
                 STR_ARG(pod->name), (long long)left, (long long)replicas, (long long)floor);
    arena_done(&a);
}

/* ---- events ---- */

/* One pod less that had no room: it has found some, or was taken by somebody else than an update.
 * One that was on its way to a node for a moment was never taken for one without room. */
static bool leaves_fewer_idle(const struct invariants *v, const struct store_event *e)
{
    const struct obj *now = event_now(e);
    if (e->obj->kind != &kind_pod || !is_active(e->prev) || is_ready(e->prev))
        return false;
    if (is_ready(now))
        return inv_wall(v) - obj_created(now) >= ON_ITS_WAY;
    return !is_active(now) && deletes_was_forced(v, e->prev);
}

/* Somebody scaled, or a pod lost its readiness, unless an update took it. */
static void note_trouble(const struct invariants *v, struct inv_versions *x,
                         const struct store_event *e)
{
    const struct obj *now = event_now(e);
    bool lost = e->obj->kind == &kind_pod && is_ready(e->prev) && !is_ready(now) &&
                (!(now && now->deleting) || deletes_was_forced(v, e->prev));
    bool scaled =
        e->obj->kind == &kind_pclq && now && e->prev && now->generation != e->prev->generation;
    if (lost || scaled)
        x->disturbed = inv_wall(v);
    if (leaves_fewer_idle(v, e))
        x->fewer_idle = inv_wall(v);
    if (e->obj->kind == &kind_pcs && now && e->prev && is_coherent(now) && !is_coherent(e->prev))
        excuse(v, x, now->uid);
}

void versions_event(struct invariants *v, struct inv_versions *x, const struct store_event *e)
{
    const struct obj *now = event_now(e);
    note_trouble(v, x, e);
    if (now && e->obj->kind == &kind_pod_gang_map)
        check_aside(v, x, e);
    if (e->obj->kind != &kind_pod || str_is_empty(obj_label(e->obj, STR(LABEL_PODGANG))))
        return;
    if (is_active(e->prev))
        count(v, x, e->prev, -1);
    if (is_active(now))
        count(v, x, now, 1);
    if (is_ready(e->prev) && now && now->deleting)
        check_floor(v, x, now);
}

void versions_done(struct inv_versions *x)
{
    counters_done(&x->pods);
    counters_done(&x->versions);
    counters_done(&x->excused);
}
