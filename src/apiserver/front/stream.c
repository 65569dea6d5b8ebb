/*
 * A watch as a stream: one JSON object per line. An ordinary event is three slices, the middle one
 * the object's own text; nothing is kept per event.
 *
 * The server refuses a watch (a selector that does not parse, ...) before its first event; headers
 * are therefore sent only when it has had its say, so that a refusal is an ordinary Status. What
 * comes later, and a revision that is too old, is an event of type ERROR.
 *
 * A peer that reads slowly: beyond HIGH_WATER bytes on their way, a watch that begins is paused,
 * and it goes on as the peer reads. Of what happens when it is live, LIVE_MAX bytes may wait here,
 * as references; then the stream ends and the client watches again, as with the real server.
 *
 * Ten thousand idle watches are ordinary, so a stream gives back the arena of its call and the
 * request's headers and keeps only the few strings that the watch needs.
 */
#include "apiserver/front/front_impl.h"
#include "apiserver/request.h"
#include "base/log.h"
#include "base/vec.h"

enum { HIGH_WATER = 256 << 10, LIVE_MAX = 16 << 20 };

struct waiting {
    struct obj *obj; /* NULL: a bookmark */
    uint64_t rv;
    enum api_event_type type;
    bool initial_end;
};

struct stream {
    struct call *call;
    struct loop_task begin_task;
    bool begun;        /* headers are out, or a Status instead of them */
    bool over;         /* the server has ended the watch */
    bool columns_sent; /* tables */
    uint64_t began_at; /* revision: older objects are what was there */
    struct doc *last;  /* why it ended; NULL: a clean end */
    VEC(struct waiting) queue;
    size_t first;      /* of the queue */
    size_t live_bytes; /* in it */
    bool paused;
    size_t paused_bytes; /* that are held for it meanwhile */
    str groups[];        /* of the user; then the strings that are kept */
};

#define HEAD(type) STR_INIT("{\"type\":\"" type "\",\"object\":")
static const str heads[] = {
    [API_ADDED] = HEAD("ADDED"),
    [API_MODIFIED] = HEAD("MODIFIED"),
    [API_DELETED] = HEAD("DELETED"),
    [API_BOOKMARK] = HEAD("BOOKMARK"),
};
static const str error_head = HEAD("ERROR");

/* ---- events as text ---- */

/* Columns only come with the first. */
static void put_table(struct stream *s, struct jw *w, const struct obj *o, uint64_t rv)
{
    const struct route *r = &s->call->route;
    jw_object(w);
    jw_put_cstr(w, "kind", "Table");
    jw_put_cstr(w, "apiVersion", "meta.k8s.io/v1");
    jw_put_object(w, "metadata");
    reply_put_version(w, rv);
    jw_end(w);
    if (s->columns_sent) {
        jw_key(w, STR("columnDefinitions"));
        jw_null(w);
    } else {
        table_columns(w, r->kind);
    }
    s->columns_sent = true;
    jw_put_array(w, "rows");
    if (o)
        table_row(w, o, r->include, loop_wall(apiserver_loop(s->call->front->server)));
    jw_end(w);
    jw_end(w);
}

/* An object without content that tells how far the watch has come. */
static void put_bookmark(struct stream *s, struct jw *w, const struct waiting *e)
{
    const struct route *r = &s->call->route;
    char version[128];
    bool partial = r->format == FORMAT_PARTIAL;
    jw_object(w);
    jw_put_cstr(w, "kind", partial ? "PartialObjectMetadata" : r->kind->kind);
    jw_put_str(w, "apiVersion",
               partial ? STR("meta.k8s.io/v1")
                       : kind_api_version(r->kind, version, sizeof(version)));
    jw_put_object(w, "metadata");
    reply_put_version(w, e->rv);
    if (e->initial_end) {
        jw_put_object(w, "annotations");
        jw_put_cstr(w, "k8s.io/initial-events-end", "true");
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
}

static struct http_slice event_text(struct stream *s, const struct waiting *e)
{
    struct jw w;
    enum route_format format = s->call->route.format;
    if (e->obj && format == FORMAT_OBJECT)
        return slice_obj(obj_ref(e->obj));
    jw_init(&w);
    if (format == FORMAT_TABLE)
        put_table(s, &w, e->obj, e->obj ? e->obj->rv : e->rv);
    else if (e->obj)
        reply_put_partial(&w, e->obj);
    else
        put_bookmark(s, &w, e);
    return slice_jw(&w);
}

static void write_line(struct stream *s, str head, struct http_slice text)
{
    struct http_slice slices[] = {slice_static(head), text, slice_static(STR("}\n"))};
    http_stream_write(s->call->x, slices, ARRAY_LEN(slices));
}

/* ---- the queue ---- */

static size_t waiting_bytes(const struct stream *s, const struct waiting *e)
{
    return e->obj && e->rv > s->began_at ? doc_text(e->obj->doc).len : 0;
}

static void queue_clear(struct stream *s)
{
    for (size_t i = s->first; i < s->queue.len; i++)
        obj_unref(s->queue.p[i].obj);
    turns_hold(s->call, -(ptrdiff_t)(s->queue.len * sizeof(struct waiting) + s->live_bytes));
    vec_done(&s->queue);
    s->first = s->live_bytes = 0;
}

static void queue_add(struct stream *s, const struct waiting *e)
{
    struct waiting *last = s->queue.len > s->first ? vec_last(&s->queue) : NULL;
    if (last && last->type == API_BOOKMARK && !last->initial_end && e->type == API_BOOKMARK) {
        *last = *e;
        return;
    }
    struct waiting *w = vec_push(&s->queue);
    *w = *e;
    if (e->obj)
        w->obj = obj_ref(e->obj);
    s->live_bytes += waiting_bytes(s, e);
    turns_hold(s->call, (ptrdiff_t)(sizeof(*w) + waiting_bytes(s, e)));
}

static void finish(struct stream *s)
{
    if (s->last)
        write_line(s, error_head, slice_doc(TAKE_PTR(s->last)));
    http_stream_end(s->call->x);
}

static void set_paused(struct stream *s, bool on)
{
    struct api_watch *w = &s->call->route.watch;
    size_t bytes = on ? hub_waiting(w) : 0;
    turns_hold(s->call, (ptrdiff_t)bytes - (ptrdiff_t)s->paused_bytes);
    s->paused_bytes = bytes;
    s->paused = on;
    hub_pause(w, on);
}

/* The peer has taken what there was: as much again. */
static void on_drain(struct http_exchange *x)
{
    struct call *c = x->ctx;
    struct stream *s = c->stream;
    if (!s)
        return;
    if (s->paused)
        set_paused(s, false);
    if (s->first == s->queue.len)
        return;
    while (s->first < s->queue.len && http_stream_pending(x) < HIGH_WATER) {
        struct waiting *e = &s->queue.p[s->first++];
        s->live_bytes -= waiting_bytes(s, e);
        turns_hold(s->call, -(ptrdiff_t)waiting_bytes(s, e));
        write_line(s, heads[e->type], event_text(s, e));
        obj_unref(e->obj);
    }
    if (s->first < s->queue.len)
        return;
    queue_clear(s);
    if (s->over)
        finish(s);
}

/* ---- what the server says ---- */

static void begin(struct stream *s)
{
    struct http_header h[FRONT_MAX_HEADERS];
    if (s->begun)
        return;
    s->begun = true;
    call_stream_begin(s->call, 200, h, call_headers(s->call, STR("application/json"), h));
}

static void begin_task(struct loop_task *t)
{
    begin(container_of(t, struct stream, begin_task));
}

/* Too slow: what waits is dropped, and the client will come again. */
static void give_up(struct stream *s)
{
    struct call *c = s->call;
    log_debug("watch closed, its client reads too slowly", LOG_S("user", c->who.user.name),
              LOG_S("path", c->x->path));
    apiserver_watch_stop(c->front->server, &c->route.watch);
    queue_clear(s);
    s->over = true;
    http_stream_end(c->x);
}

static void on_event(struct api_watch *watch, enum api_event_type type, struct obj *obj,
                     uint64_t rv, bool initial_end)
{
    struct call *c = watch->ctx;
    struct stream *s = c->stream;
    struct waiting e = {.obj = obj, .rv = rv, .type = type, .initial_end = initial_end};
    begin(s);
    if (s->first == s->queue.len && http_stream_pending(c->x) < HIGH_WATER)
        write_line(s, heads[type], event_text(s, &e));
    else
        queue_add(s, &e);
    if (s->live_bytes > LIVE_MAX)
        give_up(s);
    else if (!s->paused && http_stream_pending(c->x) >= HIGH_WATER && hub_is_beginning(watch))
        set_paused(s, true);
}

static void on_end(struct api_watch *watch, const struct status *why)
{
    struct call *c = watch->ctx;
    struct stream *s = c->stream;
    s->over = true;
    if (!s->begun && why && why->code != 410) {
        s->begun = true;
        call_reply_status(c, why);
        return;
    }
    begin(s);
    s->last = why ? status_doc(why) : NULL;
    if (s->first == s->queue.len)
        finish(s);
}

/* ---- life ---- */

static str keep(char **at, str s)
{
    if (s.len)
        memcpy(*at, s.p, s.len);
    str kept = str_n(*at, s.len);
    *at += s.len;
    return kept;
}

/* Moves what the watch needs out of the arena, and gives that back. */
static struct stream *stream_new(struct call *c)
{
    struct api_watch *w = &c->route.watch;
    struct user *u = &c->who.user;
    size_t size = w->ns.len + w->label_selector.len + w->field_selector.len + u->name.len;
    for (size_t i = 0; i < u->n_groups; i++)
        size += u->groups[i].len;
    struct stream *s = xcalloc(1, sizeof(*s) + u->n_groups * sizeof(str) + size);
    s->call = c;
    char *at = (char *)&s->groups[u->n_groups];
    for (size_t i = 0; i < u->n_groups; i++)
        s->groups[i] = keep(&at, u->groups[i]);
    c->who = (struct identity){.user = {keep(&at, u->name), s->groups, u->n_groups}};
    w->ns = keep(&at, w->ns);
    w->label_selector = keep(&at, w->label_selector);
    w->field_selector = keep(&at, w->field_selector);
    c->route.request = NULL;
    c->rest = NULL;
    arena_clear(&c->arena);
    http_drop_headers(c->x);
    return s;
}

void stream_start(struct call *c)
{
    struct stream *s = stream_new(c);
    struct api_watch *w = &c->route.watch;
    struct apiserver *a = c->front->server;
    c->stream = s;
    c->front->n_watches++;
    turns_watching(c, true);
    s->began_at = store_revision(apiserver_store(a));
    c->x->on_drain = on_drain;
    w->on_event = on_event;
    w->on_end = on_end;
    w->ctx = c;
    apiserver_watch(a, &c->who.user, w);
    /* After the server has looked at it, in the same turn of the loop. */
    loop_task_init(&s->begin_task, begin_task);
    loop_defer(apiserver_loop(a), LOOP_PUBLISH, &s->begin_task);
}

void stream_stop(struct call *c)
{
    struct stream *s = TAKE_PTR(c->stream);
    if (!s->over)
        apiserver_watch_stop(c->front->server, &c->route.watch);
    c->front->n_watches--;
    turns_watching(c, false);
    loop_task_cancel(&s->begin_task);
    queue_clear(s);
    doc_unref(s->last);
    free(s);
}
