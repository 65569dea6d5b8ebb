/*
 * What happened when, by a clock that nobody sets: invariants that judge by time take it from here
 * and not from the times in objects, which are those of clocks that simulations set.
 *
 * And the invariant `delays`: that an update does not move is said no sooner than its deadline
 * allows, and a pod above the number is given up no sooner than it may wait for a place. (That
 * nothing is terminated too soon is judged where deletions are, in inv_deletes.c; that all of this
 * comes in time, by the oracle and by scenarios.) What was asked for a moment ago, when an older
 * wish may still have been believed, is not judged.
 */
#include "apiserver/admission/quota.h"
#include "grove/types.h"
#include "sim/inv_impl.h"

#define PROGRESS_DEADLINE (10 * USEC_PER_MIN)
#define SURGE_TIMEOUT (5 * USEC_PER_MIN)

static void note(struct map *times, str uid, usec when)
{
    int64_t was = counter_get(times, uid);
    if (was != when)
        (void)counter_add(times, uid, when - was);
}

static jval condition_of(const struct obj *o, const char *type)
{
    return condition_find(jgetc(obj_status(o), "conditions"), str_of(type));
}

static str status_of(const struct obj *o, const char *type)
{
    return o ? jstr(jgetc(condition_of(o, type), "status")) : STR_NONE;
}

static str moved_at(const struct obj *pcs)
{
    return pcs ? jstr(jpath(obj_status(pcs), "updateProgress.lastProgressAt")) : STR_NONE;
}

/* ---- when ---- */

static void forget(struct inv_times *t, str uid)
{
    struct map *const all[] = {&t->made, &t->asked, &t->breached, &t->ready, &t->moved};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        note(all[i], uid, 0);
}

static void learn(struct inv_times *t, const struct store_event *e, usec now)
{
    const struct obj *o = event_now(e);
    if (!o) {
        if (e->obj)
            forget(t, e->obj->uid);
        return;
    }
    if (!e->prev)
        note(&t->made, o->uid, now);
    if (!e->prev || e->prev->generation != o->generation)
        note(&t->asked, o->uid, now);
    bool breached = str_is(status_of(o, "MinAvailableBreached"), "True");
    if (breached != str_is(status_of(e->prev, "MinAvailableBreached"), "True"))
        note(&t->breached, o->uid, breached ? now : 0);
    if (o->kind == &kind_pod && !str_eq(status_of(o, "Ready"), status_of(e->prev, "Ready")))
        note(&t->ready, o->uid, now);
    if (o->kind == &kind_pcs && !str_eq(moved_at(o), moved_at(e->prev)))
        note(&t->moved, o->uid, now);
}

/* ---- delays ---- */

static usec setting(const struct obj *pcs, const char *path, usec otherwise)
{
    usec v;
    return duration_parse_usec(jstr(jpath(obj_root(pcs), path)), &v) && v > 0 ? v : otherwise;
}

/* Somebody may still believe another wish, or have had it carried out just before. */
static bool is_new_wish(const struct invariants *v, const struct inv_times *t,
                        const struct obj *pcs)
{
    return inv_wall(v) - counter_get(&t->asked, pcs->uid) <= 2 * inv_lag(v);
}

static bool says_overdue(const struct obj *pcs)
{
    return str_is(jstr(jgetc(condition_of(pcs, "Progressing"), "reason")),
                  "ProgressDeadlineExceeded");
}

static void check_deadline(struct invariants *v, const struct inv_times *t,
                           const struct store_event *e)
{
    const struct obj *pcs = event_now(e);
    if (!pcs || !e->prev || pcs->kind != &kind_pcs || !says_overdue(pcs) || says_overdue(e->prev) ||
        is_new_wish(v, t, pcs))
        return;
    usec deadline = setting(pcs, "spec.updateStrategy.progressDeadline", PROGRESS_DEADLINE);
    usec passed = inv_wall(v) - counter_get(&t->moved, pcs->uid);
    if (passed < deadline - inv_lag(v))
        inv_fail(v, "delays", "set %.*s is said not to move after %lld ms, its deadline is %lld ms",
                 STR_ARG(pcs->name), (long long)(passed / USEC_PER_MSEC),
                 (long long)(deadline / USEC_PER_MSEC));
}

static bool timed_out(const struct obj *pclq)
{
    return j_has(jpath(obj_status(pclq), "updateProgress.surgeTimedOutAt"));
}

static void check_surge(struct invariants *v, const struct inv_times *t,
                        const struct store_event *e)
{
    const struct obj *pclq = event_now(e), *pcs;
    if (!pclq || !e->prev || pclq->kind != &kind_pclq || !timed_out(pclq) || timed_out(e->prev))
        return;
    pcs = inv_labelled(v, &kind_pcs, pclq->ns, obj_label(pclq, STR(LABEL_PCS)));
    /* What a quota refuses is not waited for. */
    if (!pcs || is_new_wish(v, t, pcs) || store_count(inv_store(v), &kind_resource_quota) > 0)
        return;
    usec timeout = setting(pcs, "spec.updateStrategy.rollingUpdate.surgeTimeout", SURGE_TIMEOUT);
    usec longest = -1;
    struct obj *pod;
    struct store_iter it = store_range(inv_store(v), &kind_pod, pclq->ns, STR_NONE, STR_NONE);
    while ((pod = store_next(&it))) {
        if (str_eq(pod->owner_uid, pclq->uid) && !pod->deleting && str_is_empty(pod_node(pod)))
            longest = MAX(longest, inv_wall(v) - counter_get(&t->made, pod->uid));
    }
    if (longest >= 0 && longest < timeout - inv_lag(v))
        inv_fail(v, "delays", "a pod of %.*s is given up after %lld ms, it may wait for %lld ms",
                 STR_ARG(pclq->name), (long long)(longest / USEC_PER_MSEC),
                 (long long)(timeout / USEC_PER_MSEC));
}

void times_learn(struct invariants *v, struct inv_times *t, const struct store_event *e)
{
    learn(t, e, inv_wall(v));
}

void times_event(struct invariants *v, const struct inv_times *t, const struct store_event *e)
{
    check_deadline(v, t, e);
    check_surge(v, t, e);
}

void times_done(struct inv_times *t)
{
    struct map *const all[] = {&t->made, &t->asked, &t->breached, &t->ready, &t->moved};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        counters_done(all[i]);
}
