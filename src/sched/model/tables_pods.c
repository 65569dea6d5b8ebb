/*
 * Pods: whose they are, what they take of which node, and whether they wait for one. Those of
 * others and of no gang count as well: they hold what they hold.
 */
#include "sched/model/tables_impl.h"

#include "grove/types.h"
#include "sched/model/claims.h"
#include "sched/model/queue_usage.h"
#include "sched/model/reservation.h"
#include "sched/model/tell.h"
#include "sched/model/terms.h"

bool tables_serve(const struct tables *t, const struct obj *pod)
{
    str name = jstr(jgetc(obj_spec(pod), "schedulerName"));
    if (str_is_empty(name))
        name = STR("default-scheduler");
    for (size_t i = 0; i < t->sched->n_names; i++) {
        if (str_is(name, t->sched->names[i]))
            return true;
    }
    return false;
}

struct tpod *tables_pod(struct tables *t, str ns, str name)
{
    struct arena a = ARENA_INIT;
    struct tpod *p = map_get(&t->pods, arena_cat(&a, ns, STR("/"), name));
    arena_done(&a);
    return p;
}

/* ---- on nodes ---- */

/* With the others of its set there. */
static void pod_book(const struct tpod *p, int32_t by)
{
    if (p->node != CORE_NONE && p->gang->set)
        sparse_add(&p->gang->set->hosts, p->node, by);
}

/* The room it leaves: see pod_free. */
static void pod_leave_node(struct tables *t, struct tpod *p)
{
    if (p->node != CORE_NONE) {
        core_take(t->core, p->cls, p->node, -1);
        quota_book(t, p, -1);
        pod_book(p, -1);
        t->moves++;
    }
    list_remove(&p->on_node);
    p->node = CORE_NONE;
    p->assumed = false;
}

/* It left the node: its room is kept for the one that replaces it, or anybody's. */
static void pod_free(struct tables *t, const struct tpod *p, int32_t left,
                     const struct tlease *room)
{
    if (left != CORE_NONE && !lease_keep(t, p, room))
        core_grow(t->core, left);
}

static void pod_join_node(struct tables *t, struct tpod *p, int32_t node)
{
    p->node = node;
    t->moves++;
    list_remove(&p->on_node);
    list_push_back(&t->on_node[node], &p->on_node);
    quota_book(t, p, 1);
    pod_book(p, 1);
}

static bool pod_is_placed(const struct obj *o)
{
    return pod_holds_node(o) && !o->deleting;
}

static void pod_count(struct tpod *p, int by)
{
    struct tgang *g = p->gang;
    bool placed = g->n_bound > 0;
    g->n_waiting += p->waits ? (size_t)by : 0;
    g->n_bound += pod_is_placed(p->obj) ? (size_t)by : 0;
    if (g->group)
        g->group->placed += (size_t)((g->n_bound > 0) - placed);
    gang_open(g);
}

static void pod_set_node(struct tables *t, struct tpod *p)
{
    int32_t node = pod_holds_node(p->obj)
                       ? tables_node(t, jstr(jgetc(obj_spec(p->obj), "nodeName")))
                       : CORE_NONE;
    if (p->assumed && node == CORE_NONE && p->waits)
        return; /* still on its way */
    if (node == p->node) {
        p->assumed = false;
        return;
    }
    struct tlease room = lease_of(p);
    int32_t left = p->node;
    pod_leave_node(t, p);
    if (node == CORE_NONE) {
        pod_free(t, p, left, &room);
        return;
    }
    if (left != CORE_NONE)
        core_grow(t->core, left);
    pod_classify(t, p);
    core_take(t->core, p->cls, node, 1);
    core_arrived(t->core, p->cls);
    pod_join_node(t, p, node);
    p->gang->unsure = true; /* somebody else put it there */
}

/* It is another kind of pod now (a gated one that was narrowed, one that is resized): judged anew,
 * and what it takes of its node counted anew. */
static void pod_change_class(struct tables *t, struct tpod *p)
{
    if (p->node != CORE_NONE) {
        core_take(t->core, p->cls, p->node, -1);
        quota_book(t, p, -1);
    }
    p->cls = CORE_NONE;
    if (p->node == CORE_NONE)
        return;
    pod_classify(t, p);
    core_take(t->core, p->cls, p->node, 1);
    core_grow(t->core, p->node);
    quota_book(t, p, 1);
    t->moves++;
}

/* It takes of its node what it took, and nothing becomes free. */
void tables_reclass(struct tables *t, struct tpod *p)
{
    int32_t old = p->cls;
    p->cls = CORE_NONE;
    if (p->node == CORE_NONE || old == CORE_NONE)
        return; /* to be judged when it is asked for */
    pod_classify(t, p);
    if (p->cls == old)
        return;
    core_take(t->core, old, p->node, -1);
    core_take(t->core, p->cls, p->node, 1);
}

static struct tgang *gang_of(struct tables *t, const struct obj *o)
{
    struct arena a = ARENA_INIT;
    str label = obj_label(o, STR(LABEL_PODGANG));
    str key = str_is_empty(label) ? arena_cat(&a, STR("/"), o->ns, STR("/"), o->name)
                                  : arena_cat(&a, o->ns, STR("/"), label);
    struct tgang *g = gang_ensure(t, key);
    arena_done(&a);
    return g;
}

static void pod_remove(struct tables *t, const struct obj *o)
{
    struct tpod *p = tables_pod(t, o->ns, o->name);
    if (!p)
        return;
    struct tlease room = lease_of(p);
    int32_t left = p->node;
    pod_leave_node(t, p);
    pod_count(p, -1);
    list_remove(&p->link);
    p->gang->n_pods--;
    pod_free(t, p, left, &room);
    tables_touch(t, p->gang);
    gang_forget_if_empty(t, p->gang);
    for (size_t i = 0; i < t->assumed.len; i++) {
        if (t->assumed.p[i] == p)
            vec_remove(&t->assumed, i);
    }
    if (t->settle_at == &p->all)
        t->settle_at = p->all.next;
    list_remove(&p->all);
    terms_leave(t, p);
    (void)map_del(&t->pods, str_of(p->key));
    obj_unref(p->obj);
    free(p);
}

static void pod_join_gang(struct tables *t, struct tpod *p, const struct obj *o)
{
    p->gang = gang_of(t, o);
    list_push_back(&p->gang->pods, &p->link);
    p->gang->n_pods++;
    p->gang->unsure = true;
}

/* Its label names another: it is counted there from now on. */
static void pod_change_gang(struct tables *t, struct tpod *p, const struct obj *o)
{
    struct tgang *old = p->gang;
    pod_count(p, -1);
    pod_book(p, -1);
    list_remove(&p->link);
    old->n_pods--;
    old->unsure = true;
    pod_join_gang(t, p, o);
    pod_count(p, 1);
    pod_book(p, 1);
    t->stale = t->stale || (t->quota.n > 0 && quota_of(t, old) != quota_of(t, p->gang));
    tables_touch(t, old);
    tables_touch(t, p->gang);
    gang_forget_if_empty(t, old);
}

/* Judged anew it may be of another class, and say other things of others. */
static bool pod_is_other(const struct tables *t, const struct tpod *p, const struct obj *o)
{
    return (p->node == CORE_NONE && claims_differ(p->obj, o)) || class_differs(p->obj, o) ||
           terms_differ(t, p->obj, o) || (p->n_said > 0 && !jequal(p->obj->labels, o->labels));
}

void pod_set(struct tables *t, const struct obj *o)
{
    struct tpod *p = tables_pod(t, o->ns, o->name);
    bool waits = pod_waits(o) && tables_serve(t, o), other = false, says = true;
    if (p && !str_eq(p->obj->uid, o->uid)) {
        pod_remove(t, p->obj);
        p = NULL;
    }
    if (p && !str_eq(obj_label(p->obj, STR(LABEL_PODGANG)), obj_label(o, STR(LABEL_PODGANG))))
        pod_change_gang(t, p, o);
    if (!p) {
        size_t len = o->ns.len + o->name.len + 1;
        p = xcalloc(1, sizeof(*p) + len + 1);
        (void)snprintf(p->key, len + 1, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
        p->cls = p->node = CORE_NONE;
        list_init(&p->link);
        list_init(&p->on_node);
        list_init(&p->over);
        list_push_back(&t->all_pods, &p->all);
        pod_join_gang(t, p, o);
        (void)map_put(&t->pods, str_n(p->key, len), p);
    } else {
        pod_count(p, -1);
        bool same = waits == p->waits && pod_is_placed(o) == pod_is_placed(p->obj);
        other = pod_is_other(t, p, o);
        says = other || terms_are_over(o) != terms_are_over(p->obj);
        same = same && !says;
        if (same && jlen(jgetc(obj_spec(o), "schedulingGates")) ==
                        jlen(jgetc(obj_spec(p->obj), "schedulingGates"))) {
            obj_unref(p->obj);
            p->obj = obj_ref(o);
            p->pclq = lease_clique(obj_label(o, STR(LABEL_PCLQ)));
            pod_count(p, 1);
            return;
        }
        obj_unref(p->obj);
    }
    p->obj = obj_ref(o);
    p->waits = waits;
    p->pclq = lease_clique(obj_label(o, STR(LABEL_PCLQ)));
    pod_count(p, 1);
    if (says) {
        terms_leave(t, p);
        terms_join(t, p);
    }
    if (other && p->cls != CORE_NONE)
        pod_change_class(t, p);
    bool assumed = p->assumed;
    int32_t node = p->node;
    pod_set_node(t, p);
    /* It came where we sent it: what the rest of its gang lacks is known. */
    if (assumed && !p->assumed && p->node == node && p->gang->parked &&
        !gang_complains(p->gang->obj))
        return;
    tables_touch(t, p->gang);
}

void pod_on_change(void *ctx, const struct obj *old, const struct obj *new)
{
    struct tables *t = ((struct sched *)ctx)->tables;
    if (t && new)
        pod_set(t, new);
    else if (t)
        pod_remove(t, old);
}

/* ---- ours, on their way ---- */

void tables_assume(struct tables *t, struct tpod *p, int32_t node)
{
    pod_join_node(t, p, node);
    core_arrived(t->core, p->cls);
    p->assumed = true;
    *vec_push(&t->assumed) = p;
}

/* What a plan before this one meant to bind and the cache does not show: it failed. Where others of
 * the gang are on nodes the room stays the gang's, which would not be whole without. */
void tables_release_assumed(struct tables *t)
{
    for (size_t i = 0; i < t->assumed.len; i++) {
        struct tpod *p = t->assumed.p[i];
        if (!p->assumed)
            continue;
        struct tlease room = lease_of(p);
        int32_t left = p->node;
        pod_leave_node(t, p);
        if (p->gang->n_bound > 0)
            pod_free(t, p, left, &room);
        else
            core_grow(t->core, left);
        tables_touch(t, p->gang);
    }
    vec_clear(&t->assumed);
}
