/*
 * Answers as bytes: the object's own text, lists as the texts of their items, tables, partial
 * metadata, Status. Objects are never serialised again; their text is what is stored.
 *
 * A list goes out in steps of bounded work and bounded bytes. One step is sent whole, with its
 * length; a longer list is a stream: the next step is made when the peer has taken most of the one
 * before, so that a hundred thousand objects neither hold up the loop nor exist twice. The items
 * are references to the versions the list was made of. A stream is compressed step by step for a
 * peer that accepts that; the steps are shorter then.
 */
#include "apiserver/front/front_impl.h"
#include "apiserver/front/squeeze.h"
#include "json/yaml.h"

enum { STEP_ITEMS = 1000, STEP_ROWS = 200, STEP_BYTES = 1 << 20, HIGH_WATER = 1 << 20 };
/* For those who share the server with others. */
enum { SHARED_STEP = 64 << 10 };
/* Of one step of a list, in the units of front_fair.c. */
enum { STEP_COST = 120 };
enum { WARNINGS_TOTAL = 4096, WARNING_CUT = 256, YAML_MAX = 64 << 20 };

static usec now_of(const struct call *c)
{
    return loop_wall(apiserver_loop(c->front->server));
}

/* ---- headers ---- */

/* A quoted-string: what would end it is escaped, and what has no place in a header is a space. */
str reply_quote_warning(struct arena *a, str s)
{
    char *out = arena_alloc(a, 2 * s.len + 16);
    size_t n = 0;
    memcpy(out, "299 - \"", 7);
    n = 7;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char ch = (unsigned char)s.p[i];
        if (ch == '"' || ch == '\\')
            out[n++] = '\\';
        out[n++] = ch < 0x20 || ch == 0x7f ? ' ' : (char)ch;
    }
    out[n++] = '"';
    return str_n(out, n);
}

/* Not in the middle of a character. */
static str cut_utf8(str s, size_t max)
{
    if (s.len <= max)
        return s;
    while (max > 0 && ((unsigned char)s.p[max] & 0xc0) == 0x80)
        max--;
    return str_sub(s, 0, max);
}

/* Too much of it is cut short, as kube-apiserver does, and then left out. */
static size_t put_warnings(struct call *c, const struct api_reply *reply,
                           struct http_header h[FRONT_MAX_HEADERS], size_t n)
{
    size_t total = 0, left = WARNINGS_TOTAL;
    for (size_t i = 0; i < reply->n_warnings; i++)
        total += reply->warnings[i].len;
    for (size_t i = 0; i < reply->n_warnings && n < FRONT_MAX_HEADERS; i++) {
        str text = reply->warnings[i];
        if (total > WARNINGS_TOTAL)
            text = cut_utf8(text, WARNING_CUT);
        if (text.len > left)
            break;
        left -= text.len;
        h[n++] = (struct http_header){STR("warning"), reply_quote_warning(&c->arena, text)};
    }
    return n;
}

static size_t reply_headers(struct call *c, const struct api_reply *reply,
                            struct http_header h[FRONT_MAX_HEADERS])
{
    str type = c->route.yaml ? STR("application/yaml") : STR("application/json");
    return put_warnings(c, reply, h, call_headers(c, type, h));
}

/* ---- one document ---- */

/* Sends a document, as YAML when that was asked for. Takes over the reference. */
static void send_doc(struct call *c, const struct api_reply *reply, struct doc *d)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = reply_headers(c, reply, h);
    if (!c->route.yaml) {
        call_send(c, reply->code, h, n, slice_doc(d));
        return;
    }
    struct strbuf text = STRBUF_INIT(YAML_MAX);
    yaml_write(doc_root(d), true, &text);
    call_send(c, reply->code, h, n, slice_strbuf(&text));
    doc_unref(d);
}

void reply_put_version(struct jw *w, uint64_t rv)
{
    jw_key(w, STR("resourceVersion"));
    jw_printf(w, "%llu", (unsigned long long)rv);
}

void reply_put_partial(struct jw *w, const struct obj *o)
{
    jw_object(w);
    jw_put_cstr(w, "kind", "PartialObjectMetadata");
    jw_put_cstr(w, "apiVersion", "meta.k8s.io/v1");
    jw_put(w, "metadata", o->meta);
    jw_end(w);
}

static void put_item(struct jw *w, const struct call *c, const struct obj *o, usec now)
{
    if (c->route.format == FORMAT_TABLE)
        table_row(w, o, c->route.include, now);
    else if (c->route.format == FORMAT_PARTIAL)
        reply_put_partial(w, o);
    else
        jw_val(w, obj_root(o));
}

static struct doc *single_table(struct call *c, const struct obj *o)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "Table");
    jw_put_cstr(&w, "apiVersion", "meta.k8s.io/v1");
    jw_put_object(&w, "metadata");
    if (o->rv)
        reply_put_version(&w, o->rv);
    jw_end(&w);
    table_columns(&w, c->route.kind);
    jw_put_array(&w, "rows");
    table_row(&w, o, c->route.include, now_of(c));
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static struct doc *single_doc(struct call *c, const struct obj *o)
{
    if (c->route.format == FORMAT_TABLE)
        return single_table(c, o);
    if (c->route.format == FORMAT_OBJECT)
        return doc_ref(o->doc);
    struct jw w;
    jw_init(&w);
    reply_put_partial(&w, o);
    return jw_doc(&w);
}

/* ---- lists ---- */

struct listing {
    struct call *call;
    struct obj **items; /* references, from next on */
    size_t n, next;
    size_t step_bytes;
    struct squeeze *squeeze; /* NULL: it goes out as it is */
    usec now;
    struct http_slice slices[2 * STEP_ITEMS + 2];
};

static void put_list_meta(struct jw *w, const struct api_reply *reply)
{
    jw_put_object(w, "metadata");
    reply_put_version(w, reply->rv);
    if (!str_is_empty(reply->continue_token))
        jw_put_str(w, "continue", reply->continue_token);
    if (reply->remaining > 0 && !str_is_empty(reply->continue_token))
        jw_put_int(w, "remainingItemCount", reply->remaining);
    jw_end(w);
}

/* Everything before the items; the object stays open. */
static void put_list_head(struct jw *w, const struct call *c, const struct api_reply *reply)
{
    const struct kind *k = c->route.kind;
    char version[128];
    bool own = c->route.format == FORMAT_OBJECT;
    jw_init(w);
    jw_object(w);
    jw_key(w, STR("kind"));
    if (c->route.format == FORMAT_TABLE)
        jw_str(w, STR("Table"));
    else if (own && k->list_kind)
        jw_str(w, str_of(k->list_kind));
    else
        jw_printf(w, "%sList", own ? k->kind : "PartialObjectMetadata");
    jw_put_str(w, "apiVersion",
               own ? kind_api_version(k, version, sizeof(version)) : STR("meta.k8s.io/v1"));
    put_list_meta(w, reply);
    if (c->route.format == FORMAT_TABLE)
        table_columns(w, k);
}

static const char *items_key(const struct call *c)
{
    return c->route.format == FORMAT_TABLE ? "rows" : "items";
}

/* In YAML the items come last, so that they can be written as they are reached. */
static struct http_slice list_head(struct call *c, const struct api_reply *reply)
{
    struct jw w;
    put_list_head(&w, c, reply);
    if (!c->route.yaml) {
        jw_put_array(&w, items_key(c));
        return slice_strbuf(&w.out);
    }
    jw_end(&w);
    struct doc *d = jw_doc(&w);
    struct strbuf text = STRBUF_INIT(YAML_MAX);
    yaml_write(doc_root(d), true, &text);
    doc_unref(d);
    strbuf_printf(&text, "%s:%s\n", items_key(c), reply->n_items ? "" : " []");
    return slice_strbuf(&text);
}

static struct listing *listing_new(struct call *c, const struct api_reply *reply)
{
    struct listing *l = xmalloc(sizeof(*l));
    l->call = c;
    l->n = reply->n_items;
    l->next = 0;
    l->step_bytes = http_accepts_gzip(c->x) ? SQUEEZE_STEP : STEP_BYTES;
    l->step_bytes = c->turn.flow ? MIN(l->step_bytes, (size_t)SHARED_STEP) : l->step_bytes;
    l->squeeze = NULL;
    l->now = now_of(c);
    l->items = xmalloc(sizeof(*l->items) * (l->n + 1));
    for (size_t i = 0; i < l->n; i++)
        l->items[i] = obj_ref(reply->items[i]);
    return l;
}

static void listing_free(struct listing *l)
{
    while (l->next < l->n)
        obj_unref(l->items[l->next++]);
    squeeze_free(l->squeeze);
    free(l->items);
    free(l);
}

/* What it keeps besides the objects. */
static size_t listing_size(const struct listing *l)
{
    return sizeof(*l) + sizeof(*l->items) * l->n;
}

/* Texts of objects as they are, with commas between. */
static size_t step_objects(struct listing *l, struct http_slice *out)
{
    size_t n = 0, bytes = 0;
    for (size_t i = 0; i < STEP_ITEMS && l->next < l->n && bytes < l->step_bytes; i++) {
        if (l->next)
            out[n++] = slice_static(STR(","));
        out[n] = slice_obj(l->items[l->next++]);
        bytes += out[n++].data.len;
    }
    return n;
}

/* Rows or metadata of the next items, written as an array whose brackets are left out. */
static size_t step_rows(struct listing *l, struct http_slice *out)
{
    struct jw w;
    size_t before = l->next;
    jw_init(&w);
    jw_array(&w);
    for (size_t i = 0; i < STEP_ROWS && l->next < l->n && w.out.len < l->step_bytes; i++) {
        struct obj *o = l->items[l->next++];
        put_item(&w, l->call, o, l->now);
        obj_unref(o);
    }
    jw_end(&w);
    *out = slice_jw(&w);
    out->data = str_sub(out->data, 1, out->data.len - 1);
    if (before == 0)
        return 1;
    out[1] = out[0];
    out[0] = slice_static(STR(","));
    return 2;
}

static void add_indented(struct strbuf *out, str text)
{
    const char *lead = "- ";
    while (text.len) {
        str line = str_cut(&text, '\n');
        strbuf_add_cstr(out, line.len ? lead : "");
        strbuf_add_str(out, line);
        strbuf_add_char(out, '\n');
        lead = "  ";
    }
}

static size_t step_yaml(struct listing *l, struct http_slice *out)
{
    struct strbuf text = STRBUF_INIT(YAML_MAX), one = STRBUF_INIT(YAML_MAX);
    for (size_t i = 0; i < STEP_ROWS && l->next < l->n && text.len < l->step_bytes; i++) {
        struct obj *o = l->items[l->next++];
        struct jw w;
        jw_init(&w);
        put_item(&w, l->call, o, l->now);
        struct doc *d = jw_doc(&w);
        strbuf_reset(&one);
        yaml_write(doc_root(d), true, &one);
        add_indented(&text, strbuf_str(&one));
        doc_unref(d);
        obj_unref(o);
    }
    strbuf_done(&one);
    *out = slice_strbuf(&text);
    return 1;
}

/* The next step with the end of the text when it is the last; returns how many slices. */
static size_t step(struct listing *l, struct http_slice *out)
{
    const struct route *r = &l->call->route;
    size_t n = 0;
    if (l->next < l->n)
        n = r->yaml                      ? step_yaml(l, out)
            : r->format == FORMAT_OBJECT ? step_objects(l, out)
                                         : step_rows(l, out);
    if (l->next == l->n && !r->yaml)
        out[n++] = slice_static(STR("]}\n"));
    return n;
}

static void next_step(struct call *c);

static void continue_later(struct listing *l)
{
    struct call *c = l->call;
    if (http_stream_pending(c->x) < HIGH_WATER)
        turns_again(c, STEP_COST, next_step);
}

static void on_drain(struct http_exchange *x)
{
    struct call *c = x->ctx;
    if (c->listing)
        continue_later(c->listing);
}

static void write_step(struct listing *l, size_t n)
{
    struct http_exchange *x = l->call->x;
    if (!l->squeeze) {
        http_stream_write(x, l->slices, n);
        return;
    }
    struct http_slice out = squeeze_add(l->squeeze, l->slices, n, l->next == l->n);
    http_stream_write(x, &out, 1);
}

static void next_step(struct call *c)
{
    struct listing *l = c->listing;
    write_step(l, step(l, l->slices));
    if (l->next < l->n) {
        continue_later(l);
        return;
    }
    http_stream_end(c->x);
    reply_stop(c);
}

static void send_list(struct call *c, const struct api_reply *reply)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n_headers = reply_headers(c, reply, h);
    struct listing *l = listing_new(c, reply);
    l->slices[0] = list_head(c, reply);
    size_t n = 1 + step(l, l->slices + 1);
    if (l->next == l->n) {
        call_send_slices(c, reply->code, h, n_headers, l->slices, n);
        listing_free(l);
        return;
    }
    c->listing = l;
    turns_hold(c, (ptrdiff_t)listing_size(l));
    c->x->on_drain = on_drain;
    if (http_accepts_gzip(c->x) && n_headers + 2 <= FRONT_MAX_HEADERS)
        l->squeeze = squeeze_new(&c->front->n_compressing);
    if (l->squeeze) {
        h[n_headers++] = (struct http_header){STR("content-encoding"), STR("gzip")};
        h[n_headers++] = (struct http_header){STR("vary"), STR("Accept-Encoding")};
    }
    call_stream_begin(c, reply->code, h, n_headers);
    write_step(l, n);
    continue_later(l);
}

void reply_stop(struct call *c)
{
    turns_cancel(c);
    turns_hold(c, -(ptrdiff_t)listing_size(c->listing));
    listing_free(c->listing);
    c->listing = NULL;
}

/* ---- everything ---- */

void reply_write(struct call *c, const struct api_reply *reply)
{
    if (reply->status)
        call_reply_status(c, reply->status);
    else if (reply->code == 0)
        call_reply_status(
            c, status_new(&c->arena, 503, "ServiceUnavailable", "the server is shutting down"));
    else if (reply->obj)
        send_doc(c, reply, single_doc(c, reply->obj));
    else if (reply->doc)
        send_doc(c, reply, doc_ref(reply->doc));
    else
        send_list(c, reply);
}
