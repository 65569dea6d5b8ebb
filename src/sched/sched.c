/*
 * The round: gangs in order of age, each placed whole or not at all, then pods that belong to no
 * gang, each on its own. Binds are one stage; what waits and why is told by server-side apply on
 * the PodGang's condition Unschedulable and by one Event per waiting pod, both only when the cause
 * changes.
 */
#include "sched/sched.h"

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

struct round {
    const struct world *world;
    struct plan *plan;
    struct snapshot snapshot;
};

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

static void read_group(struct round *r, jval v, str ns, struct place_group *ret)
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
    jw_put_str(&w, "message", waits ? why : STR("the gang was placed"));
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

static void tell_pods(struct round *r, const struct place_group *groups, size_t n, str why)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < groups[i].n_pods; k++)
            plan_event(r->plan, groups[i].pods[k], true, STR("Unschedulable"), "%.*s",
                       STR_ARG(why));
    }
}

static void place_one_gang(struct round *r, const struct obj *gang)
{
    jval list = jpath(obj_root(gang), "spec.podgroups");
    struct place_group *groups = arena_array(r->plan->arena, struct place_group, jlen(list) + 1);
    size_t n = 0, waiting = 0;
    for (struct jiter it = jiter(list); jnext(&it);) {
        read_group(r, it.value, gang->ns, &groups[n]);
        waiting += groups[n++].n_pods;
    }
    if (waiting == 0)
        return;
    struct place_result result;
    place_gang(&r->snapshot, groups, n, &result);
    bind_all(r, &result);
    bool told =
        condition_is_true(jgetc(obj_status(gang), "conditions"), STR(CONDITION)) &&
        str_eq(jstr(jgetc(condition_find(jgetc(obj_status(gang), "conditions"), STR(CONDITION)),
                          "message")),
               result.why);
    tell_gang(r, gang, !result.whole, result.why);
    if (!result.whole && !told)
        tell_pods(r, groups, n, result.why);
    place_done(&result);
}

static void place_gangs(struct round *r)
{
    VEC(struct obj *) gangs = {0};
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(r->world, &kind_pod_gang), STR_NONE);
         (o = cache_next(&it));) {
        if (!o->deleting)
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
    for (struct cache_iter it = cache_all(world_cache(r->world, &kind_pod), STR_NONE);
         (pod = cache_next(&it));) {
        if (!pod_waits(pod) || !is_served(pod) || !str_is_empty(obj_label(pod, STR(LABEL_PODGANG))))
            continue;
        const struct obj *pods[1] = {pod};
        struct place_group group = {.name = pod->name, .need = 1, .pods = pods, .n_pods = 1};
        struct place_result result;
        place_gang(&r->snapshot, &group, 1, &result);
        bind_all(r, &result);
        if (!result.whole)
            tell_pods(r, &group, 1, result.why);
        place_done(&result);
    }
}

static void round_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    struct round r = {.world = w, .plan = p};
    (void)key;
    (void)ctx;
    snapshot_init(&r.snapshot, w, p->arena);
    place_gangs(&r);
    place_single_pods(&r);
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

static void map_node(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    (void)w;
    (void)old;
    if (new)
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

void sched_add(struct runtime *r, struct api *api)
{
    static const struct controller_def def = {.name = "grove-scheduler",
                                              .plan = round_plan,
                                              .watches = watches,
                                              .n_watches = ARRAY_LEN(watches),
                                              .max_in_flight = 256};
    (void)runtime_add(r, &def, api);
}
