/*
 * How far a gang has come.
 *
 * Initialized: all pods of all groups exist; once true it stays (later pods join one by one).
 * Scheduled:   every group has its minimum on nodes, now.
 * Ready:       every group has its minimum ready, now. Available says the same.
 * Unhealthy:   it was placed, and some group is below its minimum.
 * lastScheduled and lastReady remember when the two became True; what waits for a gang to have been
 * placed goes by the first (gang_was_scheduled).
 * These and the phase are ours, written by server-side apply; what the scheduler says about the
 * gang is written by the scheduler under its own name.
 *
 * DisruptionTarget is the scheduler's: the gang must make room. It asks, we delete: the pods that
 * it names beside the condition (status.disruptedPods), by UID, since what stands for them later is
 * not meant and our caches show it before they show that the request was taken back. A scheduler
 * that names none means the pods that were on nodes when it asked. All of it goes through the
 * ledger. Where pods above the minimum are enough (TrimmedByScheduler), those that carry the
 * scheduler's own mark; the ledger may refuse them.
 */
#include "base/map.h"
#include "grove/pod.h"
#include "operator/gang/gang.h"

#define MANAGER "podgang-controller"
/* What is on its way has a state worth telling when it has arrived. */
#define GANG_PATIENCE (15 * USEC_PER_SEC)
/* Numbers that nobody acts on are written together. */
#define NUMBERS_PATIENCE USEC_PER_SEC
enum { N_CONDITIONS = 5 };
/* How long a request that names nobody stands before it means pods made in the same second. */
#define DISRUPTION_DOUBT (5 * USEC_PER_SEC)

bool gang_was(const struct gang_work *g, const char *type)
{
    return g->gang && condition_is_true(jgetc(obj_status(g->gang), "conditions"), str_of(type));
}

bool gang_was_placed(const struct gang_work *g)
{
    return g->gang && gang_was_scheduled(g->gang);
}

static struct condition ready_condition(const struct gang_work *g, const char *type)
{
    str text = g->ready ? STR("every clique has its minimum ready")
                        : arena_printf(g->plan->arena,
                                       "clique %.*s has %lld of the %lld ready pods that it needs",
                                       STR_ARG(g->short_clique), (long long)g->short_ready,
                                       (long long)g->short_min);
    return (struct condition){type, g->ready ? "True" : "False",
                              g->ready ? "PodGangReady" : "PodGangNotReady", text};
}

static void gang_conditions(struct gang_work *g, struct condition c[N_CONDITIONS])
{
    bool created = g->complete || gang_was(g, "Initialized");
    bool unhealthy = (g->scheduled || gang_was_placed(g)) && g->breached;
    str pods = arena_printf(g->plan->arena, "%lld of %lld pods exist", (long long)g->pods,
                            (long long)g->wanted);
    str placed = arena_printf(
        g->plan->arena, "clique %.*s has %lld of the %lld pods on nodes that it needs",
        STR_ARG(g->unplaced_clique), (long long)g->unplaced_there, (long long)g->unplaced_min);
    c[0] = (struct condition){"Initialized", created ? "True" : "False",
                              created ? "PodGangPodsCreated" : "PodGangPodsCreationPending",
                              created ? STR("all pods of the gang were created") : pods};
    c[1] = (struct condition){"Scheduled", g->scheduled ? "True" : "False",
                              g->scheduled ? "PodGangScheduled" : "WaitingForPlacement",
                              g->scheduled ? STR("every clique has its minimum on nodes") : placed};
    c[2] = ready_condition(g, "Ready");
    c[3] = ready_condition(g, "Available");
    c[4] = (struct condition){"Unhealthy", unhealthy ? "True" : "False",
                              unhealthy ? "MinAvailableBreached" : "MinAvailableKept",
                              unhealthy ? STR("some clique is below its minimum")
                                        : STR("no clique lost its minimum")};
}

/* When a condition became True for the last time: now, or as it was written. An older gang has only
 * the condition, which tells of it while it is True. Empty: never. */
static str last_time(const struct gang_work *g, const char *field, const char *type, bool is)
{
    jval status = g->gang ? obj_status(g->gang) : JVAL_ABSENT;
    jval was = condition_find(jgetc(status, "conditions"), str_of(type));
    str there = jstr(jget(status, str_of(field)));
    if (is && !str_is(jstr(jgetc(was, "status")), "True")) {
        struct strbuf now = STRBUF_INIT(64);
        time_format_rfc3339(g->world->now, &now);
        str text = arena_str(g->plan->arena, strbuf_str(&now));
        strbuf_done(&now);
        return text;
    }
    bool told = str_is_empty(there) && str_is(jstr(jgetc(was, "status")), "True");
    return told ? jstr(jgetc(was, "lastTransitionTime")) : there;
}

static const struct {
    const char *field, *type;
} last_times[] = {{"lastScheduled", "Scheduled"}, {"lastReady", "Ready"}};

static str last_time_of(const struct gang_work *g, size_t i)
{
    return last_time(g, last_times[i].field, last_times[i].type, i == 0 ? g->scheduled : g->ready);
}

static bool has_times(const struct gang_work *g, jval status)
{
    for (size_t i = 0; i < ARRAY_LEN(last_times); i++) {
        if (!str_eq(jstr(jget(status, str_of(last_times[i].field))), last_time_of(g, i)))
            return false;
    }
    return true;
}

static void write_times(const struct gang_work *g, struct jw *w)
{
    for (size_t i = 0; i < ARRAY_LEN(last_times); i++) {
        str at = last_time_of(g, i);
        if (!str_is_empty(at))
            jw_put_str(w, last_times[i].field, at);
    }
}

static bool has_numbers(const struct gang_work *g, jval status)
{
    return jint(jgetc(status, "readyPods"), -1) == g->ready_pods &&
           jint(jgetc(status, "minimumPods"), -1) == g->min_pods &&
           jint(jgetc(status, "nodes"), -1) == (int64_t)g->nodes.len;
}

/* Ours are as wanted already: applying them again would change nothing. *ret_messages: nothing but
 * messages and numbers differ, which is no hurry. */
static bool is_current(const struct gang_work *g, const struct condition *c, size_t n,
                       const char *phase, bool *ret_messages)
{
    jval status = obj_status(g->gang);
    bool same = has_numbers(g, status) && has_times(g, status);
    *ret_messages = str_is(jstr(jgetc(status, "phase")), phase);
    for (size_t i = 0; i < n; i++) {
        jval old = condition_find(jgetc(status, "conditions"), str_of(c[i].type));
        if (!str_is(jstr(jgetc(old, "status")), c[i].status) ||
            !str_is(jstr(jgetc(old, "reason")), c[i].reason))
            *ret_messages = false;
        same = same && str_eq(jstr(jgetc(old, "message")), c[i].message);
    }
    return same && *ret_messages;
}

/* Only our own types: the others belong to their writers. */
static void write_own_conditions(struct gang_work *g, struct jw *w, const struct condition *c,
                                 size_t n)
{
    struct jw old;
    jval there = jgetc(obj_status(g->gang), "conditions");
    jw_init(&old);
    jw_array(&old);
    for (size_t i = 0; i < n; i++) {
        jval v = condition_find(there, str_of(c[i].type));
        if (!j_is_absent(v))
            jw_val(&old, v);
    }
    jw_end(&old);
    struct doc *d = jw_doc(&old);
    make_conditions(w, doc_root(d), c, n, g->world->now);
    doc_unref(d);
}

void gang_plan_status(struct gang_work *g)
{
    struct condition c[N_CONDITIONS];
    const char *phase = g->ready ? "Running" : g->any_scheduled ? "Starting" : "Pending";
    gang_conditions(g, c);
    bool messages;
    if (is_current(g, c, ARRAY_LEN(c), phase, &messages))
        return;
    struct jw w;
    make_begin(&w,
               &(struct make_meta){&kind_pod_gang, g->pcs->ns, g->name, NULL, NULL, NULL, NULL});
    jw_put_object(&w, "status");
    jw_put_cstr(&w, "phase", phase);
    jw_put_int(&w, "readyPods", g->ready_pods);
    jw_put_int(&w, "minimumPods", g->min_pods);
    jw_put_int(&w, "nodes", (int64_t)g->nodes.len);
    write_times(g, &w);
    write_own_conditions(g, &w, c, ARRAY_LEN(c));
    jw_end(&w);
    struct plan_write *write = plan_apply(g->plan, GANG_STAGE_STATUS, &kind_pod_gang, g->pcs->ns,
                                          g->name, STR("status"), STR(MANAGER), make_end(&w));
    write->counts_only = messages;
    /* Where a map rules, pods and other gangs go by what it says. */
    write->patient = !g->gangs;
    write->patience = messages                         ? NUMBERS_PATIENCE
                      : g->ready || gang_was_placed(g) ? 0
                                                       : GANG_PATIENCE;
}

/* ---- making room ---- */

static void trim_clique(struct gang_work *g, str pclq_name, str why)
{
    const struct obj *pclq = world_get(g->world, &kind_pclq, g->pcs->ns, pclq_name);
    struct obj *pod;
    if (!pclq)
        return;
    for (struct cache_iter it = world_owned(g->world, &kind_pod, pclq->uid);
         (pod = cache_next(&it));) {
        if (pod->deleting || !gang_holds(g, pod) || !pod_is_asked_to_go(pod) ||
            world_is_intended(g->world, pod->uid))
            continue;
        struct plan_write *w = plan_delete(g->plan, GANG_STAGE_PODS, pod);
        w->component_uid = pclq->uid;
        w->not_serving = !pod_is_ready(pod);
        plan_why(w, g->plan, "gang %.*s can spare it: %.*s", STR_ARG(g->name), STR_ARG(why));
    }
}

struct disruption {
    usec asked;
    str why;
    struct map named; /* UIDs; empty: those are meant that were there when it was asked */
};

/* The request names its pods. Where it does not, it is about those on nodes that are older than it;
 * times are whole seconds, so that of the same second may be one that stands for what went. When
 * the request still stands after a while, it was not. */
static bool is_meant(struct gang_work *g, const struct disruption *d, const struct obj *pod)
{
    usec created = world_made(g->world, pod);
    if (d->named.len > 0)
        return map_get(&d->named, pod->uid) != NULL;
    if (!pod_is_scheduled(pod) || created > d->asked)
        return false;
    return created + USEC_PER_SEC <= d->asked ||
           world_has_passed(g->world, d->asked, DISRUPTION_DOUBT, g->plan);
}

static void disrupt_clique(struct gang_work *g, str pclq_name, const struct disruption *d)
{
    const struct obj *pclq = world_get(g->world, &kind_pclq, g->pcs->ns, pclq_name);
    struct obj *pod;
    if (!pclq)
        return;
    for (struct cache_iter it = world_owned(g->world, &kind_pod, pclq->uid);
         (pod = cache_next(&it));) {
        if (pod->deleting || !gang_holds(g, pod) || world_is_intended(g->world, pod->uid) ||
            !is_meant(g, d, pod))
            continue;
        struct plan_write *w = plan_delete(g->plan, GANG_STAGE_PODS, pod);
        w->component_uid = pclq->uid;
        w->not_serving = !pod_is_ready(pod);
        /* The whole gang goes, and goes below its minimum: that is what its priority means. The
         * ledger books it, so that nobody else takes more meanwhile. */
        w->user_scale_in = true;
        plan_why(w, g->plan, "gang %.*s must make room: %.*s", STR_ARG(g->name), STR_ARG(d->why));
    }
}

static void read_named(jval list, struct map *named)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        str uid = jstr(jgetc(it.value, "uid"));
        if (!str_is_empty(uid))
            (void)map_put(named, uid, named);
    }
}

void gang_plan_disruption(struct gang_work *g)
{
    jval c = condition_find(jgetc(obj_status(g->gang), "conditions"), STR("DisruptionTarget"));
    struct disruption d = {.named = MAP_INIT};
    if (!str_is(jstr(jgetc(c, "status")), "True") ||
        !time_parse_rfc3339(jstr(jgetc(c, "lastTransitionTime")), &d.asked))
        return;
    d.asked = world_moment_in(g->world, g->gang, d.asked);
    bool trim = str_is(jstr(jgetc(c, "reason")), "TrimmedByScheduler");
    d.why = jstr(jgetc(c, "message"));
    read_named(jgetc(obj_status(g->gang), "disruptedPods"), &d.named);
    for (size_t i = 0; i < g->members.len; i++) {
        if (trim)
            trim_clique(g, g->members.p[i].pclq, d.why);
        else
            disrupt_clique(g, g->members.p[i].pclq, &d);
    }
    map_done(&d.named);
}
