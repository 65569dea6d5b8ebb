/*
 * Answers as bytes: the object's own text, lists as the texts of their items, tables, partial
 * metadata, Status. Objects are never serialised again; their text is what is stored.
 */
#include "apiserver/front_impl.h"
#include "json/yaml.h"

static usec now_of(const struct call *c)
{
    return loop_wall(apiserver_loop(c->front->server));
}

static size_t reply_headers(struct call *c, const struct api_reply *reply,
                            struct http_header h[FRONT_MAX_HEADERS])
{
    size_t n =
        call_headers(c, c->route.yaml ? STR("application/yaml") : STR("application/json"), h);
    for (size_t i = 0; i < reply->n_warnings && n < FRONT_MAX_HEADERS; i++) {
        struct strbuf quoted = STRBUF_INIT(4096);
        json_quote(&quoted, reply->warnings[i]);
        h[n++] = (struct http_header){
            STR("warning"), arena_printf(&c->arena, "299 - %.*s", STR_ARG(strbuf_str(&quoted)))};
        strbuf_done(&quoted);
    }
    return n;
}

/* Sends a document, as YAML when that was asked for. Takes over the reference. */
static void send_doc(struct call *c, const struct api_reply *reply, struct doc *d)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = reply_headers(c, reply, h);
    if (!c->route.yaml) {
        http_reply(c->x, reply->code, h, n, slice_doc(d));
        return;
    }
    struct strbuf text = STRBUF_INIT(64u << 20);
    yaml_write(doc_root(d), true, &text);
    http_reply(c->x, reply->code, h, n, (struct http_slice){strbuf_str(&text), NULL, NULL});
    strbuf_done(&text);
    doc_unref(d);
}

/* ---- lists ---- */

static void put_list_meta(struct jw *w, const struct api_reply *reply)
{
    jw_put_object(w, "metadata");
    jw_key(w, STR("resourceVersion"));
    jw_printf(w, "%llu", (unsigned long long)reply->rv);
    if (!str_is_empty(reply->continue_token))
        jw_put_str(w, "continue", reply->continue_token);
    if (reply->remaining > 0 && !str_is_empty(reply->continue_token))
        jw_put_int(w, "remainingItemCount", reply->remaining);
    jw_end(w);
}

/* The items' texts between a head and a tail. */
static void send_list(struct call *c, const struct api_reply *reply)
{
    const struct kind *k = c->route.kind;
    char version[128];
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_key(&w, STR("kind"));
    jw_printf(&w, "%sList", k->kind);
    jw_put_str(&w, "apiVersion", kind_api_version(k, version, sizeof(version)));
    put_list_meta(&w, reply);
    jw_put_array(&w, "items");
    str head = arena_str(&c->arena, strbuf_str(&w.out));
    jw_done(&w);

    struct http_header h[FRONT_MAX_HEADERS];
    size_t n_headers = reply_headers(c, reply, h);
    size_t n = 0;
    struct http_slice *slices = arena_array(&c->arena, struct http_slice, 2 * reply->n_items + 2);
    slices[n++] = (struct http_slice){head, NULL, NULL};
    for (size_t i = 0; i < reply->n_items; i++) {
        if (i > 0)
            slices[n++] = (struct http_slice){STR(","), NULL, NULL};
        slices[n++] = slice_obj(reply->items[i]);
    }
    slices[n++] = (struct http_slice){STR("]}\n"), NULL, NULL};
    http_reply_slices(c->x, reply->code, h, n_headers, slices, n);
}

static struct doc *make_table(struct call *c, const struct api_reply *reply)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "Table");
    jw_put_cstr(&w, "apiVersion", "meta.k8s.io/v1");
    if (reply->obj) {
        jw_put_object(&w, "metadata");
        jw_key(&w, STR("resourceVersion"));
        jw_printf(&w, "%llu", (unsigned long long)reply->obj->rv);
        jw_end(&w);
    } else {
        put_list_meta(&w, reply);
    }
    table_columns(&w, c->route.kind);
    jw_put_array(&w, "rows");
    if (reply->obj)
        table_row(&w, reply->obj, c->route.include, now_of(c));
    for (size_t i = 0; i < reply->n_items; i++)
        table_row(&w, reply->items[i], c->route.include, now_of(c));
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static void put_partial(struct jw *w, const struct obj *o)
{
    jw_object(w);
    jw_put_cstr(w, "kind", "PartialObjectMetadata");
    jw_put_cstr(w, "apiVersion", "meta.k8s.io/v1");
    jw_put(w, "metadata", o->meta);
    jw_end(w);
}

static struct doc *make_partial(const struct api_reply *reply)
{
    struct jw w;
    jw_init(&w);
    if (reply->obj) {
        put_partial(&w, reply->obj);
        return jw_doc(&w);
    }
    jw_object(&w);
    jw_put_cstr(&w, "kind", "PartialObjectMetadataList");
    jw_put_cstr(&w, "apiVersion", "meta.k8s.io/v1");
    put_list_meta(&w, reply);
    jw_put_array(&w, "items");
    for (size_t i = 0; i < reply->n_items; i++)
        put_partial(&w, reply->items[i]);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

void reply_write(struct call *c, const struct api_reply *reply)
{
    bool list = c->route.request.verb == API_LIST || c->route.request.verb == API_DELETE_COLLECTION;
    bool shown = reply->obj || (list && !reply->doc);
    if (reply->status)
        call_reply_status(c, reply->status);
    else if (shown && c->route.format == FORMAT_TABLE)
        send_doc(c, reply, make_table(c, reply));
    else if (shown && c->route.format == FORMAT_PARTIAL)
        send_doc(c, reply, make_partial(reply));
    else if (reply->obj)
        send_doc(c, reply, doc_ref(reply->obj->doc));
    else if (reply->doc)
        send_doc(c, reply, doc_ref(reply->doc));
    else
        send_list(c, reply);
}
