/* HTTP/2 on a connection, both roles; see h2.h. */
#include "net/h2.h"
#include "net/h1.h"

enum {
    /* One record is written while the next is being made; more would only be late to be cancelled
     * or overtaken. */
    FILL = 64 << 10,
    FIELD_EXTRA = 32,           /* what a field counts above its bytes, RFC 9113 6.5.2 */
    KEEP_TEXT = 4 << 10,        /* of the block's memory, between two blocks */
    MAX_ACKS = 1000,            /* answers to PING and SETTINGS that wait: more is a flood */
    MAX_SETTINGS = 32,          /* entries in one frame */
    MAX_SEND_BLOCK = 512 << 10, /* above what we allow ourselves */
    MAX_EXCESS = 1 << 20,       /* of what heads may hold, on a connection: more is an attack */
    /* nghttp2's own limit of resets counts good ones too (a client ends a watch by a reset), and
     * ends the whole connection at 1,000. The server counts by itself those that are an attack. */
    RESET_BURST = 1000000,
    RESET_RATE = 1000000,
};

/* ---- memory ---- */

static void *mem_malloc(size_t n, void *ctx)
{
    return xmalloc(n);
}

static void mem_free(void *p, void *ctx)
{
    free(p);
}

static void *mem_calloc(size_t n, size_t size, void *ctx)
{
    return xcalloc(n, size);
}

static void *mem_realloc(void *p, size_t n, void *ctx)
{
    return xrealloc(p, n);
}

static nghttp2_mem memory = {NULL, mem_malloc, mem_free, mem_calloc, mem_realloc};

/* ---- blocks received ---- */

static void block_begin(struct h2_block *b, usec now)
{
    strbuf_reset(&b->text);
    vec_clear(&b->fields);
    b->room = b->text.max;
    b->is_open = true;
    b->since = now;
    b->is_too_large = false;
}

static void block_add(struct h2_block *b, str name, str value)
{
    size_t size = name.len + value.len + FIELD_EXTRA;
    if (size > b->room || b->fields.len >= b->max_fields) {
        b->is_too_large = true;
        b->room = 0;
        b->excess += size;
        return;
    }
    b->room -= size;
    *vec_push(&b->fields) = (struct h2_field){
        .name = (uint32_t)b->text.len,
        .name_len = (uint32_t)name.len,
        .value = (uint32_t)(b->text.len + name.len),
        .value_len = (uint32_t)value.len,
    };
    strbuf_add_str(&b->text, name);
    strbuf_add_str(&b->text, value);
}

str h2_field_name(const struct h2_block *b, size_t i)
{
    return str_n(b->text.p + b->fields.p[i].name, b->fields.p[i].name_len);
}

str h2_field_value(const struct h2_block *b, size_t i)
{
    return str_n(b->text.p + b->fields.p[i].value, b->fields.p[i].value_len);
}

str h2_block_find(const struct h2_block *b, str name)
{
    for (size_t i = 0; i < b->fields.len; i++)
        if (str_eq(h2_field_name(b, i), name))
            return h2_field_value(b, i);
    return STR_NONE;
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2 *h = user;
    block_begin(&h->block, loop_now(h->c->loop));
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_len, const uint8_t *value, size_t value_len, uint8_t flags,
                     void *user)
{
    struct h2 *h = user;
    block_add(&h->block, str_n((const char *)name, name_len),
              str_n((const char *)value, value_len));
    /* A byte may stand for a long field, and the library looks at each anew. */
    return h->block.excess > MAX_EXCESS ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

/* A block that breaks the rules: the library resets its stream. */
static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error,
                            void *user)
{
    ((struct h2 *)user)->block.is_open = false;
    return 0;
}

/* ---- blocks to send ---- */

void h2_out_begin(struct h2_out *o, size_t room)
{
    vec_clear(&o->nv);
    if (o->arena.used)
        arena_clear(&o->arena);
    o->room = room;
}

/* Values that never come twice would only push others out of the table of known ones. */
static bool is_one_off(str name)
{
    return str_is(name, "audit-id");
}

void h2_out_add(struct h2_out *o, str name, str value)
{
    *vec_push(&o->nv) = (nghttp2_nv){
        .name = (uint8_t *)(name.p ? name.p : ""),
        .value = (uint8_t *)(value.p ? value.p : ""),
        .namelen = name.len,
        .valuelen = value.len,
        .flags = is_one_off(name) ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE,
    };
}

void h2_out_header(struct h2_out *o, str name, str value)
{
    if (!h1_is_token(name) || h1_is_framing(name) || name.len > o->room || value.len > o->room ||
        name.len + value.len + FIELD_EXTRA > o->room)
        return;
    o->room -= name.len + value.len + FIELD_EXTRA;
    if (!h1_is_value(value)) {
        char *copy = arena_alloc(&o->arena, value.len);
        h1_clean_value(copy, value);
        value.p = copy;
    }
    h2_out_add(o, name, str_trim(value));
}

void h2_out_done(struct h2_out *o)
{
    vec_done(&o->nv);
    arena_done(&o->arena);
}

/* ---- session ---- */

nghttp2_session_callbacks *h2_new_callbacks(void)
{
    nghttp2_session_callbacks *cb;
    BUG_ON(nghttp2_session_callbacks_new(&cb) != 0);
    nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb, on_invalid_frame);
    return cb;
}

/* One for the whole process, made on first use and never freed. */
static const nghttp2_option *session_options(void)
{
    static nghttp2_option *o;
    if (!o) {
        BUG_ON(nghttp2_option_new(&o) != 0);
        nghttp2_option_set_no_auto_window_update(o, 1);
        nghttp2_option_set_no_closed_streams(o, 1);
        nghttp2_option_set_max_outbound_ack(o, MAX_ACKS);
        nghttp2_option_set_max_settings(o, MAX_SETTINGS);
        nghttp2_option_set_max_send_header_block_length(o, MAX_SEND_BLOCK);
        nghttp2_option_set_stream_reset_rate_limit(o, RESET_BURST, RESET_RATE);
    }
    return o;
}

static void init(struct h2 *h, struct conn *c, size_t max_header_bytes, size_t max_headers)
{
    h->c = c;
    strbuf_init(&h->block.text, max_header_bytes);
    h->block.max_fields = max_headers;
}

void h2_init_client(struct h2 *h, struct conn *c, const nghttp2_session_callbacks *callbacks,
                    size_t max_header_bytes, size_t max_headers)
{
    init(h, c, max_header_bytes, max_headers);
    BUG_ON(nghttp2_session_client_new3(&h->session, callbacks, h, session_options(), &memory) != 0);
}

void h2_init_server(struct h2 *h, struct conn *c, const nghttp2_session_callbacks *callbacks,
                    size_t max_header_bytes, size_t max_headers)
{
    init(h, c, max_header_bytes, max_headers);
    BUG_ON(nghttp2_session_server_new3(&h->session, callbacks, h, session_options(), &memory) != 0);
}

void h2_done(struct h2 *h)
{
    BUG_ON(h->is_inside);
    nghttp2_session_del(h->session);
    strbuf_done(&h->block.text);
    vec_done(&h->block.fields);
}

int h2_feed(struct h2 *h, str in, struct err *err)
{
    BUG_ON(h->is_inside);
    h->is_inside = true;
    ssize_t n = nghttp2_session_mem_recv(h->session, (const uint8_t *)in.p, in.len);
    h->is_inside = false;
    if (n < 0)
        return err_set(err, ERR_IO, "HTTP/2: %s", nghttp2_strerror((int)n));
    if (!h->block.is_open && h->block.text.cap > KEEP_TEXT)
        strbuf_done(&h->block.text);
    return 0;
}

void h2_fill(struct h2 *h)
{
    BUG_ON(h->is_inside);
    h->is_inside = true;
    while (!h2_is_full(h)) {
        const uint8_t *frame;
        ssize_t n = nghttp2_session_mem_send(h->session, &frame);
        if (n < 0)
            conn_doom(h->c);
        if (n <= 0)
            break;
        outq_add_copy(&h->c->out, str_n((const char *)frame, (size_t)n));
    }
    h->is_inside = false;
}

bool h2_is_full(const struct h2 *h)
{
    return h->c->out.bytes >= FILL;
}

bool h2_is_over(const struct h2 *h)
{
    return !nghttp2_session_want_read(h->session) && !nghttp2_session_want_write(h->session);
}
