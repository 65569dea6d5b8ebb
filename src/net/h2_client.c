/*
 * HTTP/2 on the client's side: many calls at once on one connection. Replies are handed on as they
 * come, from inside the library; a callback may cancel its call or any other and send new ones,
 * since all of that only notes what to write.
 *
 * When is a call safe to send again? Always, when the server says that it did not look at it: it
 * refused the stream, or said goodbye (GOAWAY) with a lower stream as its last. A GET or HEAD also
 * when the connection ends without an answer, if it had served before or had said goodbye. Once.
 *
 * A peer that is gone without a word: after PING_AFTER of silence we ask, and after DEAD_AFTER more
 * the connection is given up. Watches may be silent for hours.
 */
#include "net/client.h"

enum {
    CONN_WINDOW = 16 << 20,
    STREAM_WINDOW = 1 << 20,
    /* At once on one connection: before the server has said what it allows, and at most. */
    FIRST_STREAMS = 100,
    MAX_STREAMS = 2000,
    HEADER_SLACK = 4096,
};
#define PING_AFTER (30 * USEC_PER_SEC)
#define DEAD_AFTER (15 * USEC_PER_SEC)

struct client_stream {
    struct list link;
    struct h2_client *h;
    struct http_call *call; /* NULL: cancelled or answered; the library has not closed it yet */
    int32_t id;
    size_t body_at;
    bool is_sent;
    bool has_reply;
};

struct h2_client {
    struct h2 h2;
    struct client_conn *cc;
    struct list streams;
    size_t n_streams;
    bool has_settings; /* the server has said what it allows */
    bool is_leaving;   /* no new call: GOAWAY was said by either side */
    bool has_served;   /* a reply has come */
    bool is_pinging;
    usec quiet_since; /* nothing read; or, after a time without calls, since there is one again */
    usec idle_since;  /* no calls */
};

static struct h2_client *client_of(void *user)
{
    return container_of(user, struct h2_client, h2);
}

static struct h2_client *conn_client(struct conn *c)
{
    return container_of(c, struct client_conn, c)->h2;
}

static usec now_of(const struct h2_client *h)
{
    return loop_now(h->cc->c.loop);
}

static struct client_stream *find_stream(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

/* ---- calls and streams ---- */

static struct http_call *detach(struct client_stream *st)
{
    struct http_call *call = TAKE_PTR(st->call);
    if (call)
        call->conn = call->stream = NULL;
    return call;
}

static void free_stream(struct client_stream *st)
{
    struct h2_client *h = st->h;
    list_remove(&st->link);
    if (--h->n_streams == 0)
        h->idle_since = now_of(h);
    client_has_room(h->cc->client);
    free(st);
}

static void reset_stream(struct client_stream *st, uint32_t code)
{
    (void)nghttp2_submit_rst_stream(st->h->h2.session, NGHTTP2_FLAG_NONE, st->id, code);
    conn_flush_later(&st->h->cc->c);
}

void h2_client_abandon(struct http_call *call)
{
    struct client_stream *st = call->stream;
    (void)detach(st);
    if (st->h->cc->c.state == CONN_MUX)
        reset_stream(st, NGHTTP2_CANCEL);
}

/* The server may not have looked at it, or nothing will come of it. */
static void fail_stream(struct client_stream *st, bool is_untouched, const struct err *err)
{
    const struct h2_client *h = st->h;
    bool has_reply = st->has_reply;
    struct http_call *call = detach(st);
    bool is_old = h->has_served || h->is_leaving;
    bool is_safe = is_untouched || (is_old && client_is_idempotent(call));
    if (is_safe && !has_reply && !call->is_retry)
        client_retry(call);
    else
        client_finish(call, err);
}

static size_t max_streams(const struct h2_client *h)
{
    if (!h->has_settings)
        return FIRST_STREAMS;
    uint32_t allowed =
        nghttp2_session_get_remote_settings(h->h2.session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    return MIN(allowed, (uint32_t)MAX_STREAMS);
}

static bool is_open(const struct client_conn *cc)
{
    return cc->h2 && cc->c.state == CONN_MUX && !cc->c.is_doomed && !cc->h2->is_leaving &&
           nghttp2_session_check_request_allowed(cc->h2->h2.session);
}

bool h2_client_will_have_room(const struct client_conn *cc)
{
    return is_open(cc) && (!cc->is_for_streams || !cc->h2->has_settings);
}

/* ---- requests ---- */

static ssize_t on_read_data(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
                            uint32_t *flags, nghttp2_data_source *source, void *user)
{
    const struct client_stream *st = source->ptr;
    size_t left = st->call ? st->call->body.len - st->body_at : 0;
    *flags = NGHTTP2_DATA_FLAG_NO_COPY;
    if (left <= length)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)MIN(left, length);
}

/* Copied: a call that is cancelled takes its body with it, while frames may still wait. */
static int on_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                        size_t length, nghttp2_data_source *source, void *user)
{
    struct client_stream *st = source->ptr;
    if (!st->call)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (h2_is_full(&st->h->h2))
        return NGHTTP2_ERR_WOULDBLOCK;
    struct outq *out = &st->h->cc->c.out;
    enum { FRAME_HEAD = 9 };
    outq_add_copy(out, str_n((const char *)head, FRAME_HEAD));
    outq_add_copy(out, str_sub(st->call->body, st->body_at, st->body_at + length));
    st->body_at += length;
    return 0;
}

static int32_t submit(struct client_stream *st)
{
    const struct http_call *call = st->call;
    struct http_client *cl = st->h->cc->client;
    struct h2_out *o = &cl->head;
    char length[24];
    h2_out_begin(o, CLIENT_MAX_HEAD + HEADER_SLACK + 32 * call->n_headers);
    h2_out_add(o, STR(":method"), call->method);
    h2_out_add(o, STR(":scheme"), cl->tls ? STR("https") : STR("http"));
    h2_out_add(o, STR(":authority"), str_of(cl->authority));
    h2_out_add(o, STR(":path"), call->path);
    for (size_t i = 0; i < call->n_headers; i++)
        if (!str_is(call->headers[i].name, "host"))
            h2_out_header(o, call->headers[i].name, call->headers[i].value);
    if (client_needs_length(call)) {
        (void)snprintf(length, sizeof(length), "%zu", call->body.len);
        h2_out_add(o, STR("content-length"), str_of(length));
    }
    nghttp2_data_provider body = {{.ptr = st}, on_read_data};
    return nghttp2_submit_request(st->h->h2.session, NULL, o->nv.p, o->nv.len,
                                  call->body.len ? &body : NULL, st);
}

static void arm(struct h2_client *h);

bool h2_client_use(struct client_conn *cc, struct http_call *call)
{
    struct h2_client *h = cc->h2;
    if (!is_open(cc) || h->n_streams >= max_streams(h))
        return false;
    struct client_stream *st = xnew(struct client_stream);
    st->h = h;
    st->call = call;
    st->id = submit(st);
    if (st->id < 0) {
        free(st);
        h->is_leaving = true; /* the stream numbers are used up */
        return false;
    }
    call->conn = cc;
    call->stream = st;
    list_init(&st->link);
    list_push_back(&h->streams, &st->link);
    if (h->n_streams++ == 0) {
        h->quiet_since = now_of(h);
        arm(h);
    }
    return true;
}

/* ---- replies ---- */

static void complete(struct client_stream *st)
{
    struct h2_client *h = st->h;
    struct http_call *call = detach(st);
    h->has_served = true;
    if (!call)
        return;
    /* An answer before the request was all sent: the rest is not wanted. */
    if (nghttp2_session_get_stream_local_close(h->h2.session, st->id) == 0)
        reset_stream(st, NGHTTP2_NO_ERROR);
    client_finish(call, NULL);
}

static void got_reply_head(struct client_stream *st)
{
    const struct h2_block *b = &st->h->h2.block;
    uint64_t status = 0;
    /* Without a status it is a trailer. */
    if (!str_to_uint(h2_block_find(b, STR(":status")), &status) || status < 200 || st->has_reply)
        return;
    st->has_reply = true;
    VEC(struct http_header) headers = {0};
    vec_reserve(&headers, b->fields.len);
    for (size_t i = 0; i < b->fields.len; i++)
        if (h2_field_name(b, i).p[0] != ':')
            *vec_push(&headers) = (struct http_header){h2_field_name(b, i), h2_field_value(b, i)};
    if (st->call->on_headers)
        st->call->on_headers(st->call, (int)status, headers.p, headers.len);
    vec_done(&headers);
}

static void got_stream_frame(struct client_stream *st, const nghttp2_frame *frame)
{
    if (frame->hd.type == NGHTTP2_HEADERS) {
        if (st->h->h2.block.is_too_large) {
            struct err err = ERR_INIT;
            err_set(&err, ERR_IO, "HTTP/2: the reply's headers are too large");
            reset_stream(st, NGHTTP2_CANCEL);
            st->has_reply = true;
            fail_stream(st, false, &err);
            return;
        }
        got_reply_head(st);
    }
    if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) && st->has_reply)
        complete(st);
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2_client *h = client_of(user);
    struct client_stream *st;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        h->h2.block.is_open = false;
        /* fall through */
    case NGHTTP2_DATA:
        st = find_stream(session, frame->hd.stream_id);
        if (st && st->call)
            got_stream_frame(st, frame);
        break;
    case NGHTTP2_SETTINGS:
        h->has_settings = true;
        client_pump_later(h->cc->client);
        break;
    case NGHTTP2_GOAWAY:
        h->is_leaving = true;
        client_pump_later(h->cc->client);
        break;
    default:
        break;
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *user)
{
    struct client_stream *st = find_stream(session, id);
    (void)nghttp2_session_consume_connection(session, len);
    if (!st || !st->call)
        return 0;
    if (st->call->on_data)
        st->call->on_data(st->call, str_n((const char *)data, len));
    /* It may have been cancelled in there; the stream stays until the library closes it. */
    if (st->call)
        (void)nghttp2_session_consume_stream(session, id, len);
    return 0;
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct client_stream *st;
    if (frame->hd.type == NGHTTP2_HEADERS && (st = find_stream(session, frame->hd.stream_id)))
        st->is_sent = true;
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    struct client_stream *st = find_stream(session, id);
    if (!st)
        return 0;
    (void)nghttp2_session_set_stream_user_data(session, id, NULL);
    if (st->call) {
        struct err err = ERR_INIT;
        bool is_untouched = code == NGHTTP2_REFUSED_STREAM || !st->is_sent;
        err_set(&err, is_untouched ? ERR_UNAVAILABLE : ERR_IO, "the server ended the stream: %s",
                nghttp2_http2_strerror(code));
        fail_stream(st, is_untouched, &err);
    }
    free_stream(st);
    return 0;
}

static const nghttp2_session_callbacks *client_callbacks(void)
{
    static nghttp2_session_callbacks *cb;
    if (!cb) {
        cb = h2_new_callbacks();
        nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
        nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
        nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_sent);
        nghttp2_session_callbacks_set_send_data_callback(cb, on_send_data);
    }
    return cb;
}

/* ---- the connection's life ---- */

static void arm(struct h2_client *h)
{
    usec due = h->idle_since + CLIENT_IDLE_TIMEOUT;
    if (h->n_streams)
        due = h->quiet_since + PING_AFTER + (h->is_pinging ? DEAD_AFTER : 0);
    conn_set_deadline(&h->cc->c, due);
}

static void close_with(struct conn *c, const char *why)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_IO, "%s", why);
    conn_close(c, &err);
}

static void look_around(struct h2_client *h)
{
    struct conn *c = &h->cc->c;
    if (c->state != CONN_MUX)
        return;
    if (!c->out.bytes && h2_is_over(&h->h2))
        close_with(c, "HTTP/2: the connection was ended");
    else
        arm(h);
}

static void client_input(struct conn *c, str *in)
{
    struct h2_client *h = conn_client(c);
    str bytes = *in;
    *in = STR_NONE;
    struct err err = ERR_INIT;
    h->quiet_since = now_of(h);
    h->is_pinging = false;
    if (h2_feed(&h->h2, bytes, &err) < 0) {
        conn_close(c, &err);
        return;
    }
    if (!c->out.bytes && nghttp2_session_want_write(h->h2.session))
        conn_flush_later(c);
    look_around(h);
}

static void client_fill(struct conn *c)
{
    if (c->state == CONN_MUX)
        h2_fill(&conn_client(c)->h2);
}

static void client_written(struct conn *c)
{
    look_around(conn_client(c));
}

static void client_ended(struct conn *c)
{
    close_with(c, "the server closed the connection");
}

static void client_expired(struct conn *c)
{
    struct h2_client *h = conn_client(c);
    usec now = now_of(h);
    if (!h->n_streams && now >= h->idle_since + CLIENT_IDLE_TIMEOUT) {
        h->is_leaving = true;
        (void)nghttp2_session_terminate_session(h->h2.session, NGHTTP2_NO_ERROR);
    } else if (h->is_pinging && now >= h->quiet_since + PING_AFTER + DEAD_AFTER) {
        close_with(c, "the server does not answer");
        return;
    } else if (h->n_streams && !h->is_pinging && now >= h->quiet_since + PING_AFTER) {
        h->is_pinging = true;
        (void)nghttp2_submit_ping(h->h2.session, NGHTTP2_FLAG_NONE, NULL);
    }
    conn_flush_later(c);
    arm(h);
}

struct http_call *h2_client_pop(struct h2_client *h)
{
    struct http_call *call = NULL;
    while (!call && !list_is_empty(&h->streams)) {
        struct client_stream *st = list_entry(h->streams.next, struct client_stream, link);
        call = detach(st);
        (void)nghttp2_session_set_stream_user_data(h->h2.session, st->id, NULL);
        free_stream(st);
    }
    return call;
}

static void client_closed(struct conn *c, const struct err *err)
{
    struct h2_client *h = conn_client(c);
    struct err unknown = ERR_INIT;
    err_set(&unknown, ERR_IO, "the connection was closed");
    client_pump_later(h->cc->client);
    while (!list_is_empty(&h->streams)) {
        struct client_stream *st = list_entry(h->streams.next, struct client_stream, link);
        list_remove(&st->link);
        if (st->call)
            fail_stream(st, !st->is_sent, err ? err : &unknown);
        free_stream(st);
    }
}

static const struct conn_role h2_client_role = {
    .input = client_input,
    .ended = client_ended,
    .fill = client_fill,
    .written = client_written,
    .expired = client_expired,
    .closed = client_closed,
    .release = client_conn_release,
};

void h2_client_start(struct client_conn *cc)
{
    struct h2_client *h = cc->h2 = xnew(struct h2_client);
    h->cc = cc;
    list_init(&h->streams);
    h->quiet_since = h->idle_since = now_of(h);
    h2_init_client(&h->h2, &cc->c, client_callbacks(), CLIENT_MAX_HEAD, CLIENT_MAX_HEADERS);
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, CLIENT_MAX_HEAD},
    };
    nghttp2_session *session = h->h2.session;
    BUG_ON(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings)) != 0);
    BUG_ON(nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW) != 0);
    cc->c.role = &h2_client_role;
    conn_set_state(&cc->c, CONN_MUX);
    struct http_call *call = client_conn_detach(cc);
    BUG_ON(!h2_client_use(cc, call));
    conn_flush_later(&cc->c);
}

void h2_client_free(struct h2_client *h)
{
    if (!h)
        return;
    h2_done(&h->h2);
    free(h);
}
