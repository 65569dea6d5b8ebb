/* See gate.h. */
#include "operator/update/gate.h"

#include "grove/going.h"
#include "grove/pod.h"
#include "operator/common/clique.h"
#include "operator/common/startup.h"
#include "operator/common/tally.h"
#include "operator/common/update.h"
#include "operator/update/gangmap_room.h"

/* ---- one gang ---- */

/* Why the base gang does not let others follow; empty: it does. A clique of which fewer pods are
 * wanted than its minimum is waited for with those. */
static str base_wait(const struct world *w, struct arena *a, const struct obj *pclq, str base)
{
    const struct obj *gang = world_get(w, &kind_pod_gang, pclq->ns, base);
    const struct obj *pcs = owner_pcs(w, pclq);
    int64_t replica = label_index(pclq, STR(LABEL_PCS_INDEX));
    if (!gang)
        return arena_printf(a, "base gang %.*s is not there", STR_ARG(base));
    for (struct jiter it = jiter(jpath(obj_root(gang), "spec.podgroups")); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        const struct obj *o = world_get(w, &kind_pclq, gang->ns, name);
        int64_t need = jint(jgetc(it.value, "minReplicas"), 0);
        int64_t have = o ? tally_of(w, o->uid)->scheduled : 0;
        if (have < need && pcs)
            need = MIN(need, startup_need(w, a, pcs, replica, name));
        if (have < need)
            return arena_printf(a, "base gang %.*s has %lld of %lld pods of %.*s scheduled",
                                STR_ARG(base), (long long)have, (long long)need, STR_ARG(name));
    }
    return STR_NONE;
}

/* It was once (Initialized), or refers to as many pods of each clique as there are to be. */
static bool is_complete(const struct world *w, const struct obj *gang)
{
    jval groups = jpath(obj_root(gang), "spec.podgroups");
    bool complete = jlen(groups) > 0;
    if (condition_is_true(jgetc(obj_status(gang), "conditions"), STR("Initialized")))
        return true;
    for (struct jiter it = jiter(groups); complete && jnext(&it);) {
        const struct obj *o = world_get(w, &kind_pclq, gang->ns, jstr(jgetc(it.value, "name")));
        int64_t refers = (int64_t)jlen(jgetc(it.value, "podReferences"));
        complete = o && !o->deleting && refers >= jint(jgetc(obj_spec(o), "replicas"), 0);
    }
    return complete;
}

str gate_wait(const struct world *w, struct arena *a, const struct obj *pclq,
              const struct obj **ret_gang)
{
    str base, name = clique_gang(a, w, pclq, &base);
    const struct obj *gang = world_get(w, &kind_pod_gang, pclq->ns, name);
    *ret_gang = gang;
    if (!gang)
        return arena_printf(a, "gang %.*s is not there", STR_ARG(name));
    if (!is_complete(w, gang))
        return arena_printf(a, "gang %.*s is not complete", STR_ARG(name));
    return str_is_empty(base) ? STR_NONE : base_wait(w, a, pclq, base);
}

/* ---- a map of gangs ---- */

/* Why the anchors of the replica do not let others follow; empty: they do. Who they are is looked
 * up now, not when the gang was made. What had no room follows when the update is over, and not in
 * a pause: before, it would take the places of those that make way. */
static str anchors_wait(const struct world *w, struct arena *a, const struct obj *pcs,
                        int64_t replica, str own)
{
    struct gangmap_view v;
    if (!gangmap_view(&v, w, a, pcs, replica))
        return STR("the map of gangs is not there");
    for (size_t i = 0; i < v.map.n; i++) {
        const struct gangmap_entry *e = &v.map.entries[i];
        if (!e->anchor || str_eq(e->name, own))
            continue;
        const struct obj *gang = world_get(w, &kind_pod_gang, pcs->ns, e->name);
        if (!gang || !gang_was_scheduled(gang))
            return arena_printf(a, "gang %.*s is not scheduled", STR_ARG(e->name));
    }
    if (update_holds(pcs, replica) && gangmap_is_aside(&v, own))
        return STR("it had no room before the update, and waits for its end");
    return STR_NONE;
}

str gate_wait_mapped(const struct world *w, struct arena *a, const struct obj *pcs, int64_t replica,
                     str name, bool follows, const struct obj **ret_gang)
{
    const struct obj *gang = world_get(w, &kind_pod_gang, pcs->ns, name);
    *ret_gang = gang;
    if (!gang || gang->deleting)
        return arena_printf(a, "gang %.*s is not there", STR_ARG(name));
    if (!condition_is_true(jgetc(obj_status(gang), "conditions"), STR("Initialized")))
        return arena_printf(a, "gang %.*s is not complete", STR_ARG(name));
    return follows ? anchors_wait(w, a, pcs, replica, name) : STR_NONE;
}

/* ---- one pod ---- */

bool gate_waits_for_pod(const struct world *w, const struct obj *pclq, const struct obj *pod)
{
    return !pod->deleting && pod_is_gated(pod) && !going_is_ignored(pclq) &&
           going_at(w, pclq, pod_index(pod));
}

bool gate_opens(const struct world *w, struct arena *a, const struct obj *pcs,
                const struct obj *pclq, const struct obj *pod)
{
    const struct obj *gang;
    if (pod->deleting || !pod_is_gated(pod) || gate_waits_for_pod(w, pclq, pod))
        return false;
    if (!clique_is_mapped(w, pclq))
        return str_is_empty(gate_wait(w, a, pclq, &gang));
    struct gangmap_view v;
    str name = pod_gang(a, w, pod);
    int64_t replica = label_index(pclq, STR(LABEL_PCS_INDEX));
    const struct gangmap_entry *e =
        gangmap_view(&v, w, a, pcs, replica) ? gangmap_find(&v.map, name) : NULL;
    return e && str_is_empty(gate_wait_mapped(w, a, pcs, replica, name, !e->anchor, &gang));
}
