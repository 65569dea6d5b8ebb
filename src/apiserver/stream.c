/*
 * A watch as a stream: one JSON object per line. An ordinary event is three slices, the middle one
 * the object's own text. A peer that does not read is cut off by the connection's limit, and
 * watches again.
 */
#include "apiserver/front_impl.h"

#define HEAD(type) STR_INIT("{\"type\":\"" type "\",\"object\":")
static const str heads[] = {
    [API_ADDED] = HEAD("ADDED"),
    [API_MODIFIED] = HEAD("MODIFIED"),
    [API_DELETED] = HEAD("DELETED"),
    [API_BOOKMARK] = HEAD("BOOKMARK"),
};
static const str error_head = HEAD("ERROR");

static void send_doc_event(struct call *c, enum api_event_type type, struct doc *d)
{
    struct http_slice slices[] = {
        {heads[type], NULL, NULL}, slice_doc(d), {STR("}\n"), NULL, NULL}};
    http_stream_write(c->x, slices, ARRAY_LEN(slices));
}

static void put_table_head(struct call *c, struct jw *w, uint64_t rv)
{
    jw_init(w);
    jw_object(w);
    jw_put_cstr(w, "kind", "Table");
    jw_put_cstr(w, "apiVersion", "meta.k8s.io/v1");
    jw_put_object(w, "metadata");
    jw_key(w, STR("resourceVersion"));
    jw_printf(w, "%llu", (unsigned long long)rv);
    jw_end(w);
    if (c->columns_sent) {
        jw_key(w, STR("columnDefinitions"));
        jw_null(w);
    } else {
        table_columns(w, c->route.kind);
    }
    c->columns_sent = true;
}

static struct doc *table_event(struct call *c, const struct obj *o)
{
    struct jw w;
    put_table_head(c, &w, o->rv);
    jw_put_array(&w, "rows");
    table_row(&w, o, c->route.include, loop_wall(apiserver_loop(c->front->server)));
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static struct doc *partial_event(const struct obj *o)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "PartialObjectMetadata");
    jw_put_cstr(&w, "apiVersion", "meta.k8s.io/v1");
    jw_put(&w, "metadata", o->meta);
    jw_end(&w);
    return jw_doc(&w);
}

static struct doc *bookmark(struct call *c, uint64_t rv, bool initial_end)
{
    char version[128];
    struct jw w;
    if (c->route.format == FORMAT_TABLE) {
        put_table_head(c, &w, rv);
        jw_put_array(&w, "rows");
        jw_end(&w);
        jw_end(&w);
        return jw_doc(&w);
    }
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", c->route.kind->kind);
    jw_put_str(&w, "apiVersion", kind_api_version(c->route.kind, version, sizeof(version)));
    jw_put_object(&w, "metadata");
    jw_key(&w, STR("resourceVersion"));
    jw_printf(&w, "%llu", (unsigned long long)rv);
    if (initial_end) {
        jw_put_object(&w, "annotations");
        jw_put_cstr(&w, "k8s.io/initial-events-end", "true");
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static void on_event(struct api_watch *watch, enum api_event_type type, struct obj *obj,
                     uint64_t rv, bool initial_end)
{
    struct call *c = watch->ctx;
    if (type == API_BOOKMARK)
        send_doc_event(c, type, bookmark(c, rv, initial_end));
    else if (c->route.format == FORMAT_TABLE)
        send_doc_event(c, type, table_event(c, obj));
    else if (c->route.format == FORMAT_PARTIAL)
        send_doc_event(c, type, partial_event(obj));
    else
        send_doc_event(c, type, doc_ref(obj->doc));
}

/* A watch that cannot go on tells why as its last event. */
static void on_end(struct api_watch *watch, const struct status *why)
{
    struct call *c = watch->ctx;
    c->watching = false;
    if (why) {
        struct http_slice slices[] = {
            {error_head, NULL, NULL}, slice_doc(status_doc(why)), {STR("}\n"), NULL, NULL}};
        http_stream_write(c->x, slices, ARRAY_LEN(slices));
    }
    http_stream_end(c->x);
}

void stream_start(struct call *c)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, STR("application/json"), h);
    http_stream_begin(c->x, 200, h, n);
    c->watching = true;
    c->route.watch.on_event = on_event;
    c->route.watch.on_end = on_end;
    c->route.watch.ctx = c;
    apiserver_watch(c->front->server, &c->user, &c->route.watch);
}

void stream_stop(struct call *c)
{
    c->watching = false;
    apiserver_watch_stop(c->front->server, &c->route.watch);
}
