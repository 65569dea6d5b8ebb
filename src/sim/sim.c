/* See sim.h. What happens to nodes and pods is in misfortune.c. */
#include "sim/sim.h"

#include <stdarg.h>

#include "base/hash.h"
#include "grove/types.h"
#include "sim/sim_impl.h"
#include "json/yaml.h"

/* 2026-01-01T00:00:00Z: any fixed start will do. */
#define START_WALL ((usec)1767225600 * USEC_PER_SEC)
#define CALL_LIMIT (60 * USEC_PER_SEC)
#define RESTART_TIME (10 * USEC_PER_MSEC)
#define SLICE (50 * USEC_PER_MSEC)
/* When a watch that shows nothing is opened again; longer than any cache waits before it does. */
#define STALL_TIMEOUT (60 * USEC_PER_SEC)
#define WATCH_RECOVERY (STALL_TIMEOUT + 35 * USEC_PER_SEC)
/* Who has failed several times in a row tries again as late as this. */
#define RETRY_RECOVERY (10 * USEC_PER_SEC)
enum { MAX_ITERATIONS = 2 * 1000 * 1000, MAX_LOG = 256 << 20, MAX_LINE = 64 << 10 };

const struct api_faulty_options sim_default_faults = {
    .max_delay = 20 * USEC_PER_MSEC,
    .max_lag = 300 * USEC_PER_MSEC,
};

/* ---- log ---- */

static void log_time(struct sim *s)
{
    usec now = loop_now(s->loop);
    strbuf_printf(&s->log, "%lld.%06lld ", (long long)(now / USEC_PER_SEC),
                  (long long)(now % USEC_PER_SEC));
}

void sim_note(struct sim *s, const char *fmt, ...)
{
    va_list ap;
    log_time(s);
    va_start(ap, fmt);
    strbuf_vprintf(&s->log, fmt, ap);
    va_end(ap);
    strbuf_add_char(&s->log, '\n');
}

static void on_journal(void *ctx, str line)
{
    struct sim *s = ctx;
    strbuf_add_str(&s->log, line);
    strbuf_add_char(&s->log, '\n');
    if (s->replanning)
        sim_fail(s, "a planner was not woken by something it reads; at rest it plans: %.*s",
                 STR_ARG(line));
}

static void log_event(struct sim *s, const struct store_event *e)
{
    static const char *const words[] = {"added", "changed", "deleted"};
    const struct obj *o = e->obj;
    log_time(s);
    strbuf_printf(&s->log, "r%llu %s %s %.*s%s%.*s %016llx\n", (unsigned long long)e->revision,
                  words[e->type], o->kind->kind, STR_ARG(o->ns), o->ns.len ? "/" : "",
                  STR_ARG(o->name), (unsigned long long)hash_fnv1a64(doc_text(o->doc)));
}

static bool breaks_watches(const struct api_faulty_options *o)
{
    return o->watch_end || o->watch_expired || o->watch_silent || o->drop || o->error || o->gateway;
}

/* How old what a component acts on may be: an event on its way, a plan on its way, or, while
 * watches are being broken, as long as a cache waits before it tries again. */
static usec knowledge_age(const struct sim *s)
{
    usec age = s->faults.max_lag + 3 * s->faults.max_delay + USEC_PER_SEC;
    bool broken = breaks_watches(&s->faults) || loop_now(s->loop) < s->calm_at;
    return broken ? age + WATCH_RECOVERY : age;
}

static void on_event(struct store_sub *sub, const struct store_event *e)
{
    struct sim *s = container_of(sub, struct sim, sub);
    s->stats.revisions++;
    s->stats.pods += e->type == STORE_ADDED && e->obj->kind == &kind_pod;
    s->changed_at = loop_now(s->loop);
    log_event(s, e);
    invariants_event(s->invariants, e, knowledge_age(s));
    for (size_t i = 0; i < s->observers.len; i++)
        s->observers.p[i].fn(s->observers.p[i].ctx, e);
}

void sim_on_event(struct sim *s, void (*fn)(void *ctx, const struct store_event *e), void *ctx)
{
    *vec_push(&s->observers) = (struct sim_observer){fn, ctx};
}

/* ---- faults ---- */

/* A bind that happens after its place was given away overcommits a node whatever the scheduler
 * does; real nodes then refuse the pod, simulated ones do not. And what a node says about a pod it
 * says in order, together with the misfortunes that are reported in its name. */
static struct api_faulty_options faults_of(const struct api_faulty_options *o,
                                           const char *component)
{
    struct api_faulty_options mine = *o;
    if (str_is(str_of(component), "grove-scheduler") ||
        str_is(str_of(component), "simulated-nodes"))
        mine.late = 0;
    return mine;
}

static struct api *wrap(void *ctx, struct api *api, const char *component, unsigned layer)
{
    struct sim *s = ctx;
    struct api_faulty_options o = faults_of(&s->faults, component);
    return layer == 0 ? api_faulty_new(s->loop, api, &o) : NULL;
}

static void set_faults(void *ctx, struct api *api, const char *component, unsigned layer)
{
    const struct sim *s = ctx;
    struct api_faulty_options o = faults_of(&s->faults, component);
    (void)layer;
    api_faulty_set(api, &o);
}

static void note_faults(struct sim *s)
{
    const struct api_faulty_options *o = &s->faults;
    invariants_lose_answers(s->invariants, o->gateway + o->lost_reply + o->late > 0);
}

void sim_set_faults(struct sim *s, const struct api_faulty_options *o)
{
    if (breaks_watches(&s->faults))
        s->calm_at = loop_now(s->loop) + WATCH_RECOVERY;
    if (s->faults.late || s->faults.lost_reply)
        s->retried_at = loop_now(s->loop) + RETRY_RECOVERY;
    s->faults = *o;
    note_faults(s);
    plane_each_wrapper(s->plane, set_faults, s);
}

const struct api_faulty_options *sim_faults(const struct sim *s)
{
    return &s->faults;
}

static void break_watches(void *ctx, struct api *api, const char *component, unsigned layer)
{
    (void)component;
    (void)layer;
    api_faulty_break_watches(api, *(const bool *)ctx);
}

void sim_break_watches(struct sim *s, bool expired)
{
    s->calm_at = loop_now(s->loop) + WATCH_RECOVERY;
    plane_each_wrapper(s->plane, break_watches, &expired);
}

static void add_stats(void *ctx, struct api *api, const char *component, unsigned layer)
{
    struct sim_stats *stats = ctx;
    (void)component;
    (void)layer;
    struct api_faulty_stats one = api_faulty_stats(api);
    stats->requests += one.requests;
    stats->request_faults += one.request_faults;
    stats->watch_faults += one.watch_faults;
}

struct sim_stats sim_stats(struct sim *s)
{
    struct sim_stats stats = s->stats;
    plane_each_wrapper(s->plane, add_stats, &stats);
    return stats;
}

static void stop_part(struct sim *s, size_t part)
{
    /* What its clients counted goes with them. */
    struct sim_stats before = sim_stats(s);
    plane_stop(s->plane, part);
    struct sim_stats after = sim_stats(s);
    s->stats.requests += before.requests - after.requests;
    s->stats.request_faults += before.request_faults - after.request_faults;
    s->stats.watch_faults += before.watch_faults - after.watch_faults;
}

static bool is_meant(const struct sim *s, const char *name, size_t part)
{
    bool known = false;
    for (size_t i = 0; name && i < plane_parts(s->plane); i++)
        known = known || str_is(str_of(name), plane_part_name(s->plane, i));
    return !known || str_is(str_of(name), plane_part_name(s->plane, part));
}

void sim_stop(struct sim *s, const char *name)
{
    sim_note(s, "stop %s", name ? name : "all");
    invariants_restarted(s->invariants);
    for (size_t i = 0; i < plane_parts(s->plane); i++) {
        if (is_meant(s, name, i))
            stop_part(s, i);
    }
}

void sim_start(struct sim *s, const char *name)
{
    sim_note(s, "start %s", name ? name : "all");
    invariants_restarted(s->invariants);
    for (size_t i = 0; i < plane_parts(s->plane); i++) {
        if (is_meant(s, name, i))
            plane_start(s->plane, i);
    }
}

void sim_restart(struct sim *s, const char *part, usec down)
{
    sim_stop(s, part);
    (void)sim_advance(s, MAX(down, RESTART_TIME));
    sim_start(s, part);
}

/* ---- clocks ---- */

void sim_set_clock(struct sim *s, const char *name, usec by)
{
    sim_note(s, "the clock of %s is set by %lld us", name ? name : "all", (long long)by);
    for (size_t i = 0; i < plane_parts(s->plane); i++) {
        if (is_meant(s, name, i))
            plane_set_wall_by(s->plane, i, by);
    }
}

/* Up to now. */
static void drift(struct sim *s)
{
    usec passed = loop_now(s->loop) - s->drift_at;
    for (size_t i = 0; i < plane_parts(s->plane); i++) {
        usec by = passed * s->drift[i] / 1000000;
        if (by)
            plane_set_wall_by(s->plane, i, by);
    }
    s->drift_at += passed;
}

void sim_set_drift(struct sim *s, const char *name, int64_t ppm)
{
    sim_note(s, "the clock of %s drifts by %lld ppm", name ? name : "all", (long long)ppm);
    drift(s);
    for (size_t i = 0; i < plane_parts(s->plane); i++) {
        if (is_meant(s, name, i))
            s->drift[i] = ppm;
    }
}

usec sim_wall(const struct sim *s, const char *name)
{
    for (size_t i = 0; i < plane_parts(s->plane); i++) {
        if (str_is(str_of(name), plane_part_name(s->plane, i)))
            return plane_wall(s->plane, i);
    }
    return plane_wall(s->plane, 0);
}

/* ---- users ---- */

static int code_of(const struct status *status)
{
    return status->code == 404 ? ERR_NOT_FOUND : status->code == 409 ? ERR_CONFLICT : ERR_INVALID;
}

static void on_done(struct api_request *q, const struct api_reply *reply)
{
    struct sim_call *c = q->ctx;
    c->done = true;
    if (reply->status)
        c->error = err_set(c->err, code_of(reply->status), "%.*s", STR_ARG(reply->status->message));
}

int sim_call(struct sim *s, struct api_request *q, struct err *err)
{
    s->call = (struct sim_call){.err = err};
    q->done = on_done;
    q->ctx = &s->call;
    api_send(plane_admin(s->plane), q);
    usec limit = loop_now(s->loop) + CALL_LIMIT;
    while (!s->call.done && loop_now(s->loop) < limit)
        (void)loop_run_until(s->loop, loop_now(s->loop) + USEC_PER_MSEC, MAX_ITERATIONS);
    BUG_ON(!s->call.done); /* the request is the caller's */
    return s->call.error;
}

static void allow_replicas(struct sim *s, const struct kind *k, str ns, str name, jval object)
{
    int64_t n;
    if (jint_get(jpath(object, "spec.replicas"), &n))
        invariants_allow_replicas(s->invariants, k, ns, name, n);
}

int sim_apply(struct sim *s, jval object, struct err *err)
{
    str group, version;
    api_version_split(jstr(jgetc(object, "apiVersion")), &group, &version);
    str ns = jstr(jpath(object, "metadata.namespace"));
    struct api_request q = {.verb = API_PATCH,
                            .patch = API_PATCH_APPLY,
                            .kind = kind_by_name(group, version, jstr(jgetc(object, "kind"))),
                            .ns = str_is_empty(ns) ? STR("default") : ns,
                            .name = jstr(jpath(object, "metadata.name")),
                            .field_manager = STR("user"),
                            .force = true,
                            .grace_seconds = -1};
    if (!q.kind)
        return err_set(err, ERR_INVALID, "unknown kind \"%.*s\" of %.*s",
                       STR_ARG(jstr(jgetc(object, "kind"))),
                       STR_ARG(jstr(jgetc(object, "apiVersion"))));
    if (!kind_is(q.kind, KIND_NAMESPACED))
        q.ns = STR_NONE;
    sim_note(s, "apply %s %.*s", q.kind->kind, STR_ARG(q.name));
    allow_replicas(s, q.kind, q.ns, q.name, object);
    q.body = doc_parse(jtext(object), NULL, err);
    int r = q.body ? sim_call(s, &q, err) : err->code;
    doc_unref(q.body);
    return r;
}

int sim_apply_yaml(struct sim *s, str yaml, struct err *err)
{
    doc_vec docs = {0};
    int r = yaml_parse(yaml, &docs, err);
    for (size_t i = 0; r == 0 && i < docs.len; i++)
        r = sim_apply(s, doc_root(docs.p[i]), err);
    doc_vec_done(&docs);
    return r;
}

static int patch_doc(struct sim *s, const struct kind *k, str ns, str name, str subresource,
                     struct doc *patch, struct err *err)
{
    struct api_request q = {.verb = API_PATCH,
                            .patch = API_PATCH_MERGE,
                            .kind = k,
                            .ns = ns,
                            .name = name,
                            .subresource = subresource,
                            .body = patch,
                            .field_manager = STR("user")};
    if (str_is_empty(subresource) || str_is(subresource, "scale"))
        allow_replicas(s, k, ns, name, doc_root(patch));
    int r = sim_call(s, &q, err);
    doc_unref(patch);
    return r;
}

int sim_patch(struct sim *s, const struct kind *k, str ns, str name, str subresource, jval patch,
              struct err *err)
{
    struct doc *copy = doc_parse(jtext(patch), NULL, err);
    sim_note(s, "patch %s %.*s", k->kind, STR_ARG(name));
    return copy ? patch_doc(s, k, ns, name, subresource, copy, err) : err->code;
}

int sim_scale(struct sim *s, const struct kind *k, str ns, str name, int64_t replicas,
              struct err *err)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "spec");
    jw_put_int(&w, "replicas", replicas);
    jw_end(&w);
    jw_end(&w);
    sim_note(s, "scale %s %.*s to %lld", k->kind, STR_ARG(name), (long long)replicas);
    return patch_doc(s, k, ns, name, STR("scale"), jw_doc(&w), err);
}

int sim_delete(struct sim *s, const struct kind *k, str ns, str name, struct err *err)
{
    return sim_delete_so(s, k, ns, name, API_BACKGROUND, -1, err);
}

int sim_delete_so(struct sim *s, const struct kind *k, str ns, str name, enum api_propagation how,
                  int64_t grace_seconds, struct err *err)
{
    const struct obj *o = sim_get(s, k, ns, name);
    sim_note(s, "delete %s %.*s%s", k->kind, STR_ARG(name), grace_seconds == 0 ? " by force" : "");
    if (o)
        invariants_allow_delete(s->invariants, o->uid);
    struct api_request q = {.verb = API_DELETE,
                            .kind = k,
                            .ns = ns,
                            .name = name,
                            .uid = o ? o->uid : STR_NONE,
                            .grace_seconds = grace_seconds,
                            .propagation = how};
    struct obj *hold = o ? obj_ref(o) : NULL;
    int r = sim_call(s, &q, err);
    obj_unref(hold);
    return r;
}

/* ---- time ---- */

static bool run_slice(struct sim *s, usec until)
{
    if (!loop_run_until(s->loop, until, MAX_ITERATIONS)) {
        sim_fail(s, "time stands still (a livelock)");
        return false;
    }
    drift(s);
    invariants_tick(s->invariants);
    return sim_failure(s)->code == 0;
}

bool sim_advance(struct sim *s, usec duration)
{
    usec end = loop_now(s->loop) + duration;
    while (loop_now(s->loop) < end) {
        if (!run_slice(s, MIN(end, loop_now(s->loop) + SLICE)))
            return false;
    }
    return true;
}

/* How long nothing must happen before we believe that nothing will. */
static usec quiet_time(const struct sim *s)
{
    usec quiet = USEC_PER_SEC + 2 * (s->faults.max_lag + s->faults.max_delay);
    quiet += 2 * MAX(s->nodes.life.start + s->nodes.life.init, s->nodes.life.stop);
    return breaks_watches(&s->faults) ? quiet + WATCH_RECOVERY : quiet;
}

/* Some pod takes its time to stop: what waits for that has yet to come. It was asked to before
 * anything changed last, by whatever clock. */
static bool somebody_stops(const struct sim *s)
{
    const struct obj *pod;
    usec idle = (loop_now(s->loop) - s->changed_at) / USEC_PER_SEC;
    struct store_iter it = store_range(sim_store(s), &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    while ((pod = store_next(&it))) {
        str node = jstr(jgetc(obj_spec(pod), "nodeName"));
        if (pod->deleting &&
            jint(jgetc(pod->meta, "deletionGracePeriodSeconds"), 0) >= MAX(idle, 1) &&
            sim_get(s, &kind_node, STR_NONE, node) && !sim_node_is_dead(s, node))
            return true;
    }
    return false;
}

/* Every key is planned once more, without time passing, and must want nothing. */
static bool replan(struct sim *s)
{
    s->replanning = true;
    plane_replan(s->plane, true);
    bool ended = loop_run_until(s->loop, loop_now(s->loop), MAX_ITERATIONS);
    plane_replan(s->plane, false);
    s->replanning = false;
    if (!ended)
        sim_fail(s, "time stands still (a livelock)");
    return sim_failure(s)->code == 0;
}

bool sim_settle(struct sim *s, usec limit)
{
    usec end = loop_now(s->loop) + limit, idle_since = loop_now(s->loop);
    usec quiet = quiet_time(s);
    while (loop_now(s->loop) < end) {
        if (!run_slice(s, loop_now(s->loop) + SLICE))
            return false;
        usec now = loop_now(s->loop);
        if (!plane_is_idle(s->plane))
            idle_since = now;
        idle_since = MAX(idle_since, s->changed_at);
        if (now - idle_since >= quiet && now >= MAX(s->calm_at, s->retried_at) &&
            !somebody_stops(s))
            return replan(s);
    }
    return false;
}

usec sim_now(const struct sim *s)
{
    return loop_now(s->loop);
}

/* ---- looking ---- */

void sim_fail(struct sim *s, const char *fmt, ...)
{
    struct strbuf b = STRBUF_INIT(16384);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vprintf(&b, fmt, ap);
    va_end(ap);
    if (!s->failure.code)
        (void)err_set(&s->failure, ERR_INTERNAL, "at %lld.%06lld s: %.*s",
                      (long long)(sim_now(s) / USEC_PER_SEC),
                      (long long)(sim_now(s) % USEC_PER_SEC), STR_ARG(strbuf_str(&b)));
    strbuf_done(&b);
}

const struct err *sim_failure(const struct sim *s)
{
    const struct err *broken = invariants_failure(s->invariants);
    return broken->code ? broken : &s->failure;
}

struct invariants *sim_invariants(struct sim *s)
{
    return s->invariants;
}

struct store *sim_store(const struct sim *s)
{
    return apiserver_store(plane_server(s->plane));
}

struct plane *sim_plane(struct sim *s)
{
    return s->plane;
}

struct rng *sim_rng(struct sim *s)
{
    return &s->rng;
}

struct rng *sim_clock_rng(struct sim *s)
{
    return &s->clock_rng;
}

struct obj *sim_get(const struct sim *s, const struct kind *k, str ns, str name)
{
    return store_get(sim_store(s), k, ns, name);
}

size_t sim_count(struct sim *s, const struct kind *k, bool (*matches)(const struct obj *o))
{
    size_t n = 0;
    struct obj *o;
    struct store_iter it = store_range(sim_store(s), k, STR_NONE, STR_NONE, STR_NONE);
    while ((o = store_next(&it)))
        n += !matches || matches(o);
    return n;
}

str sim_log(const struct sim *s)
{
    return strbuf_str(&s->log);
}

/* ---- life cycle ---- */

static void on_ready(void *ctx, const struct err *err)
{
    struct sim *s = ctx;
    s->ready = true;
    if (err)
        s->failure = *err;
}

static struct plane *start_plane(struct sim *s, const struct sim_options *o, struct err *err)
{
    struct plane_options po = {.nodes = s->nodes,
                               .split = o->split,
                               .stall_timeout = STALL_TIMEOUT,
                               .wrap = wrap,
                               .wrap_ctx = s,
                               .journal = on_journal,
                               .journal_ctx = s};
    s->plane = plane_new(s->loop, &po, on_ready, s, err);
    if (!s->plane)
        return NULL;
    s->invariants = invariants_new(&(struct invariants_options){
        .loop = s->loop, .store = sim_store(s), .gang_window = o->gang_window});
    note_faults(s);
    s->sub.on_event = on_event;
    store_subscribe(sim_store(s), &s->sub);
    while (!s->ready && loop_now(s->loop) < CALL_LIMIT)
        (void)loop_run_until(s->loop, loop_now(s->loop) + USEC_PER_MSEC, MAX_ITERATIONS);
    if (!s->ready || s->failure.code)
        (void)err_set(err, ERR_INTERNAL, "the plane did not start: %s", s->failure.message);
    return s->ready && !s->failure.code ? s->plane : NULL;
}

struct sim *sim_new(const struct sim_options *o, struct err *err)
{
    struct sim *s = xnew(struct sim);
    map_set_seed(o->seed);
    strbuf_init(&s->log, MAX_LOG);
    s->loop = loop_new_virtual(o->seed, START_WALL);
    rng_seed(&s->rng, o->seed ^ UINT64_C(0x5ce9a510));
    rng_seed(&s->clock_rng, o->seed ^ UINT64_C(0xc10c4));
    s->drift_at = loop_now(s->loop);
    s->nodes = o->nodes.count ? o->nodes : nodes_defaults;
    s->faults = o->faults;
    if (start_plane(s, o, err))
        return s;
    sim_free(s);
    return NULL;
}

void sim_free(struct sim *s)
{
    if (!s)
        return;
    if (s->plane)
        store_unsubscribe(&s->sub);
    plane_free(s->plane);
    invariants_free(s->invariants);
    loop_free(s->loop);
    vec_done(&s->observers);
    strbuf_done(&s->log);
    free(s);
}
