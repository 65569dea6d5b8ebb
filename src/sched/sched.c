/*
 * The round: gangs in order of age, each placed whole or not at all, then pods that belong to no
 * gang, each on its own. Binds are one stage; what waits and why is told by server-side apply on
 * the PodGang's condition Unschedulable and by one Event per waiting pod, both only when the cause
 * changes.
 */
#include "sched/sched.h"

#include "base/map.h"
#include "grove/names.h"
#include "grove/types.h"
#include "sched/place.h"

#define MANAGER "grove-scheduler"
#define CONDITION "Unschedulable"

/* Names of schedulers that pods may ask for; in the embedded setting all of them mean us. */
static const char *const served[] = {"default-scheduler", "grove-scheduler", "kai-scheduler",
                                     "volcano"};

static bool is_served(const struct obj *pod)
{
    str name = jstr(jgetc(obj_spec(pod), "schedulerName"));
    for (size_t i = 0; i < ARRAY_LEN(served); i++) {
        if (str_is(name, served[i]))
            return true;
    }
    return str_is_empty(name);
}

/* Numbers of our indexes: the same in every runtime of a process. */
static unsigned by_waiting, by_complaint;
#define WAITING STR("waiting")
#define COMPLAINT STR("complaint")

struct round {
    const struct world *world;
    struct plan *plan;
    struct map gangs; /* "namespace/label" of gangs that waiting pods name */
    struct snapshot snapshot;
    bool counted; /* the snapshot was made */
};

/* Counting a cluster is the dear part of a round: only when there is something to place. */
static struct snapshot *snapshot_of(struct round *r)
{
    if (!r->counted)
        snapshot_init(&r->snapshot, r->world, r->plan->arena);
    r->counted = true;
    return &r->snapshot;
}

static struct cache_iter waiting_pods(const struct round *r)
{
    return cache_by(world_cache(r->world, &kind_pod), by_waiting, WAITING);
}

static str gang_key(struct round *r, str ns, str label)
{
    return arena_printf(r->plan->arena, "%.*s/%.*s", STR_ARG(ns), STR_ARG(label));
}

/* ---- gangs ---- */

static int cmp_gangs(const void *a, const void *b)
{
    const struct obj *x = *(struct obj *const *)a, *y = *(struct obj *const *)b;
    usec born_x = obj_created(x), born_y = obj_created(y);
    if (born_x != born_y)
        return born_x < born_y ? -1 : 1;
    int ns = str_cmp(x->ns, y->ns);
    return ns ? ns : str_cmp(x->name, y->name);
}

/* The pods of a group that wait; *ret_gated more are held back by a gate. */
static void read_group(struct round *r, jval v, str ns, struct place_group *ret, size_t *ret_gated)
{
    jval references = jgetc(v, "podReferences");
    int64_t bound = 0;
    *ret = (struct place_group){.name = jstr(jgetc(v, "name"))};
    ret->pods = arena_array(r->plan->arena, const struct obj *, jlen(references) + 1);
    for (struct jiter it = jiter(references); jnext(&it);) {
        const struct obj *pod = world_get(r->world, &kind_pod, ns, jstr(jgetc(it.value, "name")));
        if (!pod || !is_served(pod))
            continue;
        if (pod_waits(pod))
            ret->pods[ret->n_pods++] = pod;
        else if (pod_holds_node(pod) && !pod->deleting)
            bound++;
        else if (!pod->deleting && jlen(jgetc(obj_spec(pod), "schedulingGates")) > 0)
            (*ret_gated)++;
    }
    ret->need = MAX(0, jint(jgetc(v, "minReplicas"), 0) - bound);
}

static void bind_all(struct round *r, const struct place_result *result)
{
    for (size_t i = 0; i < result->placed.len; i++) {
        const struct placement *p = &result->placed.p[i];
        (void)plan_bind(r->plan, 0, p->pod, r->snapshot.nodes.p[p->node].name);
    }
}

/* The gang's condition as the scheduler sees it, when it is not so already. */
static void tell_gang(struct round *r, const struct obj *gang, bool waits, str why)
{
    jval old = condition_find(jgetc(obj_status(gang), "conditions"), STR(CONDITION));
    const char *status = waits ? "True" : "False";
    bool same = str_is(jstr(jgetc(old, "status")), status);
    if (same && (!waits || str_eq(jstr(jgetc(old, "message")), why)))
        return;
    if (!waits && j_is_absent(old))
        return;
    struct strbuf time = STRBUF_INIT(64);
    time_format_rfc3339(r->world->now, &time);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "scheduler.grove.io/v1alpha1");
    jw_put_cstr(&w, "kind", "PodGang");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", gang->name);
    jw_put_str(&w, "namespace", gang->ns);
    jw_end(&w);
    jw_put_object(&w, "status");
    jw_put_array(&w, "conditions");
    jw_object(&w);
    jw_put_str(&w, "lastTransitionTime",
               same ? jstr(jgetc(old, "lastTransitionTime")) : strbuf_str(&time));
    jw_put_str(&w, "message", waits ? why : STR("no pod that the gang needs waits for a node"));
    jw_put_cstr(&w, "reason", waits ? "DoesNotFit" : "Placed");
    jw_put_cstr(&w, "status", status);
    jw_put_cstr(&w, "type", CONDITION);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    strbuf_done(&time);
    (void)plan_apply(r->plan, 1, &kind_pod_gang, gang->ns, gang->name, STR("status"), STR(MANAGER),
                     jw_doc(&w));
}

/* An Event on each waiting pod from the given one on. */
static void tell_pods(struct round *r, const struct place_group *g, size_t from, str why)
{
    for (size_t k = from; k < g->n_pods; k++)
        plan_event(r->plan, g->pods[k], true, STR("Unschedulable"), "%.*s", STR_ARG(why));
}

static bool was_told(const struct obj *gang, str why)
{
    jval c = condition_find(jgetc(obj_status(gang), "conditions"), STR(CONDITION));
    return str_is(jstr(jgetc(c, "status")), "True") && str_eq(jstr(jgetc(c, "message")), why);
}

static void tell_surplus(struct round *r, const struct place_group *groups, size_t n,
                         const struct place_result *result)
{
    size_t from = 0; /* placed ones are in the order of the groups, after all minimums */
    for (size_t i = 0; i < n; i++)
        from += (size_t)groups[i].need;
    for (size_t i = 0; i < n; i++) {
        size_t k = (size_t)groups[i].need;
        while (k < groups[i].n_pods && from < result->placed.len &&
               result->placed.p[from].pod == groups[i].pods[k]) {
            k++;
            from++;
        }
        tell_pods(r, &groups[i], k, result->why);
    }
}

static void place_one_gang(struct round *r, const struct obj *gang)
{
    jval list = jpath(obj_root(gang), "spec.podgroups");
    struct place_group *groups = arena_array(r->plan->arena, struct place_group, jlen(list) + 1);
    size_t n = 0, waiting = 0, gated = 0;
    bool short_of = false;
    for (struct jiter it = jiter(list); jnext(&it);) {
        read_group(r, it.value, gang->ns, &groups[n], &gated);
        short_of = short_of || (int64_t)groups[n].n_pods < groups[n].need;
        waiting += groups[n++].n_pods;
    }
    /* Gates are lifted clique by clique: a gang that has some to go is not judged yet. */
    if (short_of && gated > 0)
        return;
    if (waiting == 0) {
        tell_gang(r, gang, false, STR_NONE);
        return;
    }
    struct place_result result;
    place_gang(snapshot_of(r), groups, n, &result);
    bind_all(r, &result);
    if (result.left_out > 0)
        tell_surplus(r, groups, n, &result);
    for (size_t i = 0; i < n && !result.whole && !was_told(gang, result.why); i++)
        tell_pods(r, &groups[i], 0, result.why);
    tell_gang(r, gang, !result.whole, result.why);
    place_done(&result);
}

static bool complains(const struct obj *gang)
{
    return condition_is_true(jgetc(obj_status(gang), "conditions"), STR(CONDITION));
}

/* Gangs that waiting pods name, and those whose complaint may have become untrue. */
static void place_gangs(struct round *r)
{
    VEC(struct obj *) gangs = {0};
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(r->world, &kind_pod_gang), STR_NONE);
         (o = cache_next(&it));) {
        str label = name_label(r->plan->arena, o->name);
        if (!o->deleting && (map_has(&r->gangs, gang_key(r, o->ns, label)) || complains(o)))
            *vec_push(&gangs) = o;
    }
    vec_sort(&gangs, cmp_gangs);
    for (size_t i = 0; i < gangs.len; i++)
        place_one_gang(r, gangs.p[i]);
    vec_done(&gangs);
}

static void place_single_pods(struct round *r)
{
    struct obj *pod;
    for (struct cache_iter it = waiting_pods(r); (pod = cache_next(&it));) {
        if (!str_is_empty(obj_label(pod, STR(LABEL_PODGANG))))
            continue;
        const struct obj *pods[1] = {pod};
        struct place_group group = {.name = pod->name, .need = 1, .pods = pods, .n_pods = 1};
        struct place_result result;
        place_gang(snapshot_of(r), &group, 1, &result);
        bind_all(r, &result);
        if (!result.whole)
            tell_pods(r, &group, 0, result.why);
        place_done(&result);
    }
}

static bool anything_to_do(struct round *r)
{
    struct obj *o;
    bool any = false;
    for (struct cache_iter it = waiting_pods(r); (o = cache_next(&it)); any = true) {
        str label = obj_label(o, STR(LABEL_PODGANG));
        if (!str_is_empty(label))
            (void)map_put(&r->gangs, gang_key(r, o->ns, label), o);
    }
    struct cache_iter it = cache_by(world_cache(r->world, &kind_pod_gang), by_complaint, COMPLAINT);
    return any || cache_next(&it);
}

void sched_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    struct round r = {.world = w, .plan = p};
    (void)key;
    (void)ctx;
    if (anything_to_do(&r)) {
        place_gangs(&r);
        place_single_pods(&r);
    }
    map_done(&r.gangs);
    if (r.counted)
        snapshot_done(&r.snapshot);
}

/* ---- what starts a round ---- */

static void next_round(struct controller *c)
{
    controller_enqueue(c, &kind_pod_gang, STR_NONE, STR("round"));
}

static void map_pod(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new)
{
    (void)w;
    bool waits = new &&pod_waits(new) && !(old && pod_waits(old));
    bool freed = old && pod_holds_node(old) && !(new &&pod_holds_node(new));
    if (waits || freed)
        next_round(c);
}

/* Anything about the node that could let a pod in; heartbeats could not. */
static void map_node(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    (void)w;
    if (!new)
        return;
    if (old && jequal(obj_spec(old), obj_spec(new)) && jequal(old->labels, new->labels) &&
        jequal(jgetc(obj_status(old), "allocatable"), jgetc(obj_status(new), "allocatable")) &&
        condition_is_true(jgetc(obj_status(old), "conditions"), STR("Ready")) ==
            condition_is_true(jgetc(obj_status(new), "conditions"), STR("Ready")))
        return;
    next_round(c);
}

static void map_gang(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    (void)w;
    if (new && (!old || old->generation != new->generation))
        next_round(c);
}

static const struct controller_watch watches[] = {
    {&kind_pod, map_pod},
    {&kind_node, map_node},
    {&kind_pod_gang, map_gang},
};

static void index_waiting(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    (void)a;
    *n = 0;
    if (max > 0 && pod_waits(o) && is_served(o))
        keys[(*n)++] = WAITING;
}

static void index_complaints(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    (void)a;
    *n = 0;
    if (max > 0 && complains(o))
        keys[(*n)++] = COMPLAINT;
}

void sched_add_indexes(struct runtime *r)
{
    by_waiting = cache_add_index(runtime_cache(r, &kind_pod), index_waiting);
    by_complaint = cache_add_index(runtime_cache(r, &kind_pod_gang), index_complaints);
}

void sched_add(struct runtime *r, struct api *api)
{
    static const struct controller_def def = {.name = "grove-scheduler",
                                              .plan = sched_plan,
                                              .watches = watches,
                                              .n_watches = ARRAY_LEN(watches),
                                              .max_in_flight = 256};
    sched_add_indexes(r);
    (void)runtime_add(r, &def, api);
}
