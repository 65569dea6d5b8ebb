/* See sim.h. */
#include "sim/sim.h"

#include "base/map.h"
#include "json/yaml.h"

/* 2026-01-01T00:00:00Z: any fixed start will do. */
#define START_WALL ((usec)1767225600 * USEC_PER_SEC)
#define CALL_LIMIT (60 * USEC_PER_SEC)
enum { MAX_ITERATIONS = 50 * 1000 * 1000, MAX_LOG = 256 << 20 };

struct sim {
    struct loop *loop;
    struct plane *plane;
    struct strbuf log;
    bool ready;
    struct err failure;
};

static void on_ready(void *ctx, const struct err *err)
{
    struct sim *s = ctx;
    s->ready = true;
    if (err)
        s->failure = *err;
}

static void on_journal(void *ctx, str line)
{
    struct sim *s = ctx;
    strbuf_add_str(&s->log, line);
    strbuf_add_char(&s->log, '\n');
}

struct sim *sim_new(const struct sim_options *o, struct err *err)
{
    struct sim *s = xnew(struct sim);
    map_set_seed(o->seed);
    strbuf_init(&s->log, MAX_LOG);
    s->loop = loop_new_virtual(o->seed, START_WALL);
    struct plane_options po = {.nodes = nodes_defaults};
    po.nodes.count = o->nodes ? o->nodes : nodes_defaults.count;
    po.nodes.tainted = o->tainted;
    s->plane = plane_new(s->loop, &po, on_ready, s, err);
    for (usec t = loop_now(s->loop); s->plane && !s->ready && t < CALL_LIMIT; t += USEC_PER_MSEC)
        (void)loop_run_until(s->loop, t, MAX_ITERATIONS);
    if (!s->plane || !s->ready || s->failure.code) {
        if (s->plane)
            (void)err_set(err, ERR_INTERNAL, "the plane did not start: %s", s->failure.message);
        sim_free(s);
        return NULL;
    }
    runtime_set_journal(plane_runtime(s->plane), on_journal, s);
    return s;
}

void sim_free(struct sim *s)
{
    if (!s)
        return;
    plane_free(s->plane);
    loop_free(s->loop);
    strbuf_done(&s->log);
    free(s);
}

/* ---- actions ---- */

struct sim_call {
    bool done;
    int error;
    struct err *err;
};

static void on_done(struct api_request *q, const struct api_reply *reply)
{
    struct sim_call *c = q->ctx;
    c->done = true;
    if (reply->status)
        c->error = err_set(c->err, ERR_INVALID, "%.*s", STR_ARG(reply->status->message));
}

static int call(struct sim *s, struct api_request *q, struct err *err)
{
    struct sim_call c = {.err = err};
    q->done = on_done;
    q->ctx = &c;
    api_send(plane_admin(s->plane), q);
    usec limit = loop_now(s->loop) + CALL_LIMIT;
    while (!c.done && loop_now(s->loop) < limit)
        (void)loop_run_until(s->loop, loop_now(s->loop) + USEC_PER_MSEC, MAX_ITERATIONS);
    BUG_ON(!c.done); /* the request points into this frame */
    return c.error;
}

static int apply_doc(struct sim *s, struct doc *d, struct err *err)
{
    str group, version;
    jval root = doc_root(d);
    api_version_split(jstr(jgetc(root, "apiVersion")), &group, &version);
    str ns = jstr(jpath(root, "metadata.namespace"));
    struct api_request q = {.verb = API_PATCH,
                            .patch = API_PATCH_APPLY,
                            .kind = kind_by_name(group, version, jstr(jgetc(root, "kind"))),
                            .ns = str_is_empty(ns) ? STR("default") : ns,
                            .name = jstr(jpath(root, "metadata.name")),
                            .body = d,
                            .field_manager = STR("user"),
                            .force = true,
                            .grace_seconds = -1};
    if (!q.kind)
        return err_set(err, ERR_INVALID, "unknown kind %.*s", STR_ARG(jstr(jgetc(root, "kind"))));
    if (!kind_is(q.kind, KIND_NAMESPACED))
        q.ns = STR_NONE;
    return call(s, &q, err);
}

int sim_apply(struct sim *s, str yaml, struct err *err)
{
    doc_vec docs = {0};
    int r = yaml_parse(yaml, &docs, err);
    for (size_t i = 0; r == 0 && i < docs.len; i++)
        r = apply_doc(s, docs.p[i], err);
    doc_vec_done(&docs);
    return r;
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
    struct doc *patch = jw_doc(&w);
    struct api_request q = {.verb = API_PATCH,
                            .patch = API_PATCH_MERGE,
                            .kind = k,
                            .ns = ns,
                            .name = name,
                            .subresource = STR("scale"),
                            .body = patch,
                            .field_manager = STR("user")};
    int r = call(s, &q, err);
    doc_unref(patch);
    return r;
}

int sim_delete(struct sim *s, const struct kind *k, str ns, str name, struct err *err)
{
    struct api_request q = {.verb = API_DELETE,
                            .kind = k,
                            .ns = ns,
                            .name = name,
                            .grace_seconds = -1,
                            .propagation = API_BACKGROUND};
    return call(s, &q, err);
}

/* ---- looking ---- */

bool sim_settle(struct sim *s, usec limit)
{
    usec end = loop_now(s->loop) + limit, quiet = 0;
    while (loop_now(s->loop) < end) {
        usec step = 50 * USEC_PER_MSEC;
        if (!loop_run_until(s->loop, loop_now(s->loop) + step, MAX_ITERATIONS))
            return false;
        quiet = runtime_is_idle(plane_runtime(s->plane)) ? quiet + step : 0;
        if (quiet >= USEC_PER_SEC)
            return true;
    }
    return false;
}

usec sim_now(struct sim *s)
{
    return loop_now(s->loop);
}

struct obj *sim_get(struct sim *s, const struct kind *k, str ns, str name)
{
    return store_get(apiserver_store(plane_server(s->plane)), k, ns, name);
}

size_t sim_count(struct sim *s, const struct kind *k, bool (*matches)(const struct obj *o))
{
    size_t n = 0;
    struct obj *o;
    struct store_iter it =
        store_range(apiserver_store(plane_server(s->plane)), k, STR_NONE, STR_NONE, STR_NONE);
    while ((o = store_next(&it)))
        n += !matches || matches(o);
    return n;
}

str sim_log(const struct sim *s)
{
    return strbuf_str(&s->log);
}
