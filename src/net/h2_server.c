/*
 * HTTP/2 on the server's side: many requests at once on one connection.
 *
 * The library's callbacks only note what happened: a complete request goes to `ready`, a stream
 * whose handler must hear something (it is over, or there is room again) to `todo`. Handlers are
 * called from settle(), outside the library and never from inside a handler's own call, a bounded
 * number in a turn.
 *
 * A stream lives until both sides are done with it: the library has closed its own, and the handler
 * has had on_close. Replies wait in the stream's queue and move, frame by frame and without being
 * copied, to the connection's when that can be written; so a reset takes back what was not sent,
 * and streams share the connection fairly.
 *
 * What a peer can make us hold is bounded for each stream and for the connection:
 *   requests    max_streams at once; heads by max_header_bytes and max_headers; bodies by max_body
 *               and together by MAX_BODIES, above which a stream is refused (it may come again)
 *   replies     a stream's by max_pending (the stream is reset); together by PENDING_FACTOR times
 *               as much, above which a stream that writes is reset and new requests wait
 *   frames      what the library wants to write by MAX_FRAMES, above which the connection is cut
 *   time        heads, bodies, a connection without streams, one whose peer reads nothing, and a
 *               reply that makes no progress
 *   resets      streams that end before a reply has begun: that is how to make a server work for
 *               nothing. RESET_BURST, RESET_RATE more each second, then GOAWAY. A reset after that,
 *               as clients end a watch, costs nothing.
 */
#include "net/http_server.h"

enum {
    CONN_WINDOW = 1 << 20,
    STREAM_WINDOW = 128 << 10,
    MAX_BODIES = 32 << 20,
    PENDING_FACTOR = 4,
    MAX_FRAMES = 10000,
    TURN = 64, /* handler calls */
    PSEUDO_HEADERS = 4,
    RESET_BURST = 200,
    RESET_RATE = 33,
};

struct h2_stream {
    struct exchange e;
    struct h2_server *h;
    struct list link; /* h2_server.streams */
    struct list todo; /* .todo or .ready */
    struct list wait; /* .bodies or .stalled */
    usec since;       /* of the wait */
    size_t taken;     /* by the peer since then */
    int32_t id;
    bool has_handler : 1;    /* on_close is owed */
    bool is_closed : 1;      /* by the library */
    bool is_over : 1;        /* nothing more for the handler but on_close */
    bool is_bodyless : 1;    /* the reply */
    bool is_ended : 1;       /* the reply is complete in `out` */
    bool is_end_sent : 1;    /* ... and has left */
    bool has_reply : 1;      /* its head is made */
    bool is_head_sent : 1;   /* ... and has left */
    bool is_deferred : 1;    /* the library waits for h2_resume */
    bool is_above_water : 1; /* on_drain is owed when it falls */
    bool is_refused : 1;     /* answered by us; what it still sends is dropped */
    struct strbuf body;      /* the request's */
    struct outq out;
    struct http_header *headers; /* then their text; NULL: the handler has done with them */
    char line[];                 /* method, path and query */
};

struct h2_server {
    struct h2 h2;
    struct server_conn *sc;
    struct loop_task task;
    struct list streams;
    size_t n_streams;
    struct list ready;   /* complete requests that no handler has seen */
    struct list todo;    /* streams whose handler must hear something */
    struct list bodies;  /* requests that are not complete, oldest first */
    struct list stalled; /* replies with bytes to send, the one longest without progress first */
    bool is_behind;      /* the last turn was not enough: the task goes on */
    size_t body_bytes;
    size_t pending;    /* bytes in all `out` */
    bool has_settings; /* the peer has said hello */
    usec quiet_since;  /* without a stream */
    usec written_at;   /* last progress of the connection */
    unsigned n_resets; /* in the bucket */
    usec resets_at;    /* when it was last emptied by a second's worth */
};

static struct h2_server *server_of(void *user)
{
    return container_of(user, struct h2_server, h2);
}

static struct h2_server *conn_server(struct conn *c)
{
    return container_of(c, struct server_conn, c)->h2;
}

static struct h2_stream *stream_of(struct exchange *e)
{
    return container_of(e, struct h2_stream, e);
}

static const struct http_limits *limits_of(const struct h2_server *h)
{
    return &h->sc->server->limits;
}

static usec now_of(const struct h2_server *h)
{
    return loop_now(h->sc->c.loop);
}

static struct h2_stream *find_stream(nghttp2_session *session, int32_t id)
{
    return nghttp2_session_get_stream_user_data(session, id);
}

static void wait_in(struct h2_stream *s, struct list *list)
{
    list_remove(&s->wait);
    list_push_back(list, &s->wait);
    s->since = now_of(s->h);
    s->taken = 0;
}

static void account(struct h2_server *h)
{
    server_account(h->sc, h->body_bytes + h->pending);
}

static void settle_later(struct h2_server *h)
{
    loop_defer(h->sc->c.loop, LOOP_APPLY, &h->task);
}

/* ---- life of a stream ---- */

static void free_stream(struct h2_stream *s)
{
    struct h2_server *h = s->h;
    list_remove(&s->link);
    list_remove(&s->todo);
    list_remove(&s->wait);
    h->body_bytes -= s->body.len;
    h->pending -= s->out.bytes;
    outq_abandon(&s->out, &h->sc->c.out);
    outq_done(&s->out);
    strbuf_done(&s->body);
    if (--h->n_streams == 0)
        h->quiet_since = now_of(h);
    free(s->headers);
    free(s);
}

static void free_if_done(struct h2_stream *s)
{
    if (s->is_closed && !s->has_handler)
        free_stream(s);
}

static void drop_output(struct h2_stream *s)
{
    s->h->pending -= s->out.bytes;
    outq_abandon(&s->out, &s->h->sc->c.out);
    outq_done(&s->out);
    list_remove(&s->wait);
}

static void notify(struct h2_stream *s)
{
    if (!s->has_handler)
        return;
    list_remove(&s->todo);
    list_push_back(&s->h->todo, &s->todo);
    settle_later(s->h);
}

/* Nothing the handler says will reach the peer any more. */
static void finish_stream(struct h2_stream *s)
{
    s->e.is_dead = true;
    s->is_over = true;
    list_remove(&s->todo);
    drop_output(s);
    notify(s);
}

/* Ends the stream alone; the others do not notice. */
static void reset_stream(struct h2_stream *s, uint32_t code)
{
    finish_stream(s);
    (void)nghttp2_submit_rst_stream(s->h->h2.session, NGHTTP2_FLAG_NONE, s->id, code);
    conn_flush_later(&s->h->sc->c);
}

/* ---- replies ---- */

static void resume(struct h2_stream *s)
{
    if (s->is_deferred) {
        s->is_deferred = false;
        (void)nghttp2_session_resume_data(s->h->h2.session, s->id);
    }
    if (s->e.phase == EXCHANGE_STREAM)
        server_flush_stream(s->h->sc);
    else
        conn_flush_later(&s->h->sc->c);
}

static ssize_t on_read_data(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length,
                            uint32_t *flags, nghttp2_data_source *source, void *user)
{
    struct h2_stream *s = source->ptr;
    if (!s->out.bytes && !s->is_ended) {
        s->is_deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    size_t n = MIN(length, s->out.bytes);
    *flags = NGHTTP2_DATA_FLAG_NO_COPY;
    if (n == s->out.bytes && s->is_ended)
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static void note_progress(struct h2_stream *s, size_t length)
{
    struct h2_server *h = s->h;
    s->taken += length;
    if (s->out.bytes && s->taken >= SERVER_LEAST_PROGRESS) {
        wait_in(s, &h->stalled);
    } else if (!s->out.bytes) {
        outq_done(&s->out); /* an idle watch holds no queue */
        list_remove(&s->wait);
    }
    if (s->is_above_water && s->out.bytes < limits_of(h)->low_water)
        notify(s);
}

static int on_send_data(nghttp2_session *session, nghttp2_frame *frame, const uint8_t *head,
                        size_t length, nghttp2_data_source *source, void *user)
{
    struct h2_stream *s = source->ptr;
    struct h2_server *h = s->h;
    if (s->is_over)
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    if (h2_is_full(&h->h2))
        return NGHTTP2_ERR_WOULDBLOCK;
    struct outq *out = &h->sc->c.out;
    enum { FRAME_HEAD = 9 };
    outq_add_copy(out, str_n((const char *)head, FRAME_HEAD));
    outq_move(&s->out, out, length);
    h->pending -= length;
    note_progress(s, length);
    return 0;
}

static void submit_head(struct h2_stream *s, int status, const struct http_header *headers,
                        size_t n, const uint64_t *length)
{
    struct http_server *server = s->h->sc->server;
    struct h2_out *o = &server->head;
    char status_text[12], length_text[24];
    (void)snprintf(status_text, sizeof(status_text), "%d", status);
    h2_out_begin(o, SERVER_MAX_REPLY_HEAD);
    h2_out_add(o, STR(":status"), str_of(status_text));
    h2_out_add(o, STR("date"), str_of(server_date(server)));
    if (length && !server_has_no_body(status)) {
        (void)snprintf(length_text, sizeof(length_text), "%llu", (unsigned long long)*length);
        h2_out_add(o, STR("content-length"), str_of(length_text));
    }
    for (size_t i = 0; i < n; i++)
        h2_out_header(o, headers[i].name, headers[i].value);
    s->has_reply = true;
    s->is_bodyless = server_has_no_body(status) || str_is(s->e.x.method, "HEAD");
    nghttp2_data_provider body = {{.ptr = s}, on_read_data};
    if (nghttp2_submit_response(s->h->h2.session, s->id, o->nv.p, o->nv.len,
                                s->is_bodyless ? NULL : &body) != 0)
        reset_stream(s, NGHTTP2_INTERNAL_ERROR);
    conn_flush_later(&s->h->sc->c);
}

static void h2_end(struct exchange *e)
{
    struct h2_stream *s = stream_of(e);
    s->is_ended = true;
    resume(s);
}

static void h2_head(struct exchange *e, int status, const struct http_header *headers, size_t n,
                    const uint64_t *length)
{
    struct h2_stream *s = stream_of(e);
    submit_head(s, status, headers, n, length);
    if (e->phase == EXCHANGE_STREAM && s->h->sc->server->is_shutting_down && !e->is_dead) {
        e->is_dead = true;
        h2_end(e);
    }
}

static void check_pending(struct h2_stream *s)
{
    struct h2_server *h = s->h;
    struct conn *c = &h->sc->c;
    size_t max = limits_of(h)->max_pending, before = SIZE_MAX;
    /* The peer has had no chance yet to take what was queued since the last write phase. */
    while (s->out.bytes > max && s->out.bytes < before && !c->is_doomed) {
        before = s->out.bytes;
        (void)conn_flush(c);
    }
    if (s->out.bytes > max || h->pending / PENDING_FACTOR > max)
        reset_stream(s, NGHTTP2_CANCEL);
}

static void add_output(struct h2_stream *s, const struct http_slice *slices, size_t n)
{
    size_t before = s->out.bytes;
    for (size_t i = 0; i < n; i++) {
        if (s->is_bodyless)
            http_slice_drop(&slices[i]);
        else
            outq_add(&s->out, &slices[i]);
    }
    s->h->pending += s->out.bytes - before;
    if (!before && s->out.bytes)
        wait_in(s, &s->h->stalled);
    if (s->out.bytes >= limits_of(s->h)->low_water)
        s->is_above_water = true;
    account(s->h);
    resume(s);
}

static void h2_data(struct exchange *e, const struct http_slice *slices, size_t n)
{
    struct h2_stream *s = stream_of(e);
    add_output(s, slices, n);
    if (e->phase == EXCHANGE_STREAM)
        check_pending(s);
}

static size_t h2_pending(const struct exchange *e)
{
    return container_of(e, const struct h2_stream, e)->out.bytes;
}

static void h2_drop_headers(struct exchange *e)
{
    struct h2_stream *s = stream_of(e);
    free(TAKE_PTR(s->headers));
    e->x.headers = NULL;
    e->x.n_headers = 0;
}

static void h2_pause(struct exchange *e, usec how_long)
{
    conn_pause(&stream_of(e)->h->sc->c, how_long);
}

static void h2_hang_up(struct exchange *e)
{
    struct h2_server *h = stream_of(e)->h;
    int32_t last = nghttp2_session_get_last_proc_stream_id(h->h2.session);
    (void)nghttp2_submit_goaway(h->h2.session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
    conn_flush_later(&h->sc->c);
}

static void h2_abort(struct exchange *e)
{
    reset_stream(stream_of(e), NGHTTP2_CANCEL);
}

static const struct exchange_ops h2_exchange_ops = {
    .head = h2_head,
    .data = h2_data,
    .end = h2_end,
    .pending = h2_pending,
    .drop_headers = h2_drop_headers,
    .pause = h2_pause,
    .hang_up = h2_hang_up,
    .abort = h2_abort,
};

/* ---- requests ---- */

/* Our own answer; what the peer still sends of the request is dropped, and the stream is reset
 * after the reply so that it stops. */
static void refuse(struct h2_stream *s, int status, const char *why)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT(1024);
    server_refusal(&text, status, why);
    s->is_refused = true;
    s->h->body_bytes -= s->body.len;
    strbuf_done(&s->body);
    list_remove(&s->wait);
    uint64_t length = text.len;
    const struct http_header *headers;
    size_t n = server_refusal_headers(status, &headers);
    submit_head(s, status, headers, n, &length);
    if (s->is_over)
        return;
    s->is_ended = true;
    add_output(s, &(struct http_slice){.data = strbuf_str(&text)}, 1);
}

static void request_complete(struct h2_stream *s)
{
    s->e.x.body = strbuf_str(&s->body);
    list_remove(&s->wait);
    list_push_back(&s->h->ready, &s->todo);
    server_known(s->h->sc);
}

/* Copies the block: pseudo-headers to their places, the rest in order, ":authority" as "host"
 * unless there is one, as HTTP/1.1 has it. */
/* Headers in a block of their own, so that a watch need not keep them. */
static void take_headers(struct h2_stream *s, const struct h2_block *b)
{
    struct http_exchange *x = &s->e.x;
    size_t n = b->fields.len;
    s->headers = xmalloc(n * sizeof(struct http_header) + b->text.len);
    char *text = (char *)&s->headers[n];
    if (b->text.len)
        memcpy(text, b->text.p, b->text.len);
    bool has_host = h2_block_find(b, STR("host")).p != NULL;
    for (size_t i = 0; i < n; i++) {
        const struct h2_field *f = &b->fields.p[i];
        str name = str_n(text + f->name, f->name_len), value = str_n(text + f->value, f->value_len);
        if (str_is(name, ":authority") && !has_host)
            s->headers[x->n_headers++] = (struct http_header){STR("host"), value};
        else if (name.p[0] != ':')
            s->headers[x->n_headers++] = (struct http_header){name, value};
    }
    x->headers = s->headers;
}

static struct h2_stream *new_stream(struct h2_server *h, int32_t id)
{
    const struct h2_block *b = &h->h2.block;
    str method = h2_block_find(b, STR(":method")), path = h2_block_find(b, STR(":path"));
    struct h2_stream *s = xcalloc(1, sizeof(*s) + method.len + path.len);
    struct http_exchange *x = &s->e.x;
    if (method.len)
        memcpy(s->line, method.p, method.len);
    if (path.len)
        memcpy(s->line + method.len, path.p, path.len);
    x->method = str_n(s->line, method.len);
    x->query = str_n(s->line + method.len, path.len);
    x->path = str_cut(&x->query, '?');
    take_headers(s, b);
    x->peer = &h->sc->peer;
    x->conn_ctx = &h->sc->ctx;
    s->e.ops = &h2_exchange_ops;
    s->e.gzip_pool = &h->sc->server->gzip;
    s->h = h;
    s->id = id;
    strbuf_init(&s->body, limits_of(h)->max_body);
    list_init(&s->todo);
    list_init(&s->wait);
    list_init(&s->link);
    list_push_back(&h->streams, &s->link);
    h->n_streams++;
    return s;
}

static void submit_continue(struct h2_stream *s)
{
    nghttp2_nv nv = {(uint8_t *)":status", (uint8_t *)"100", 7, 3, NGHTTP2_NV_FLAG_NONE};
    (void)nghttp2_submit_headers(s->h->h2.session, NGHTTP2_FLAG_NONE, s->id, NULL, &nv, 1, NULL);
}

/* Why the handler must not see it; 0: it may. */
static int why_unfit(const struct h2_stream *s, str target, const char **why)
{
    const struct http_exchange *x = &s->e.x;
    uint64_t length = 0;
    str expect = http_header_get(x, STR("expect"));
    *why = "the request is malformed";
    if (s->h->h2.block.is_too_large) {
        *why = "the headers are too large";
        return 431;
    }
    if (str_is(x->method, "CONNECT")) {
        *why = "this is not a proxy";
        return 501;
    }
    if (!h1_is_token(x->method) || !h1_is_target(target))
        return 400;
    if (expect.len && !str_is(expect, "100-continue")) {
        *why = "the expectation is not known";
        return 417;
    }
    if (str_to_uint(http_header_get(x, STR("content-length")), &length) &&
        length > limits_of(s->h)->max_body) {
        *why = "the body is too large";
        return 413;
    }
    return 0;
}

static void got_request_head(struct h2_server *h, const nghttp2_frame *frame)
{
    struct h2_stream *s = new_stream(h, frame->hd.stream_id);
    nghttp2_session *session = h->h2.session;
    (void)nghttp2_session_set_stream_user_data(session, s->id, s);
    /* Streams take turns, whatever their client says of their importance. */
    nghttp2_extpri fair = {.urgency = NGHTTP2_EXTPRI_DEFAULT_URGENCY, .inc = 1};
    (void)nghttp2_session_change_extpri_stream_priority(session, s->id, &fair, 1);
    const char *why;
    int status = why_unfit(s, h2_block_find(&h->h2.block, STR(":path")), &why);
    bool is_whole = frame->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (status) {
        refuse(s, status, why);
    } else if (is_whole) {
        request_complete(s);
    } else {
        wait_in(s, &h->bodies);
        if (http_header_get(&s->e.x, STR("expect")).len)
            submit_continue(s);
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    struct h2_server *h = server_of(user);
    struct h2_stream *s;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        h->h2.block.is_open = false;
        if (frame->headers.cat == NGHTTP2_HCAT_REQUEST)
            got_request_head(h, frame);
        else if ((s = find_stream(session, frame->hd.stream_id)))
            reset_stream(s, NGHTTP2_PROTOCOL_ERROR); /* trailers */
        break;
    case NGHTTP2_DATA:
        s = find_stream(session, frame->hd.stream_id);
        if (s && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) && !s->is_refused && !s->is_over)
            request_complete(s);
        break;
    case NGHTTP2_SETTINGS:
        h->has_settings = true;
        break;
    default:
        break;
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *data,
                   size_t len, void *user)
{
    struct h2_server *h = server_of(user);
    struct h2_stream *s = find_stream(session, id);
    /* The connection's credit is for all: one slow stream must not hold it. */
    (void)nghttp2_session_consume_connection(session, len);
    if (!s || s->is_refused || s->is_over)
        return 0;
    if (h->body_bytes + len > MAX_BODIES) {
        reset_stream(s, NGHTTP2_REFUSED_STREAM);
        return 0;
    }
    size_t before = s->body.len;
    strbuf_add(&s->body, data, len);
    h->body_bytes += s->body.len - before;
    if (s->body.overflow)
        refuse(s, 413, "the body is too large");
    else
        (void)nghttp2_session_consume_stream(session, id, len);
    if (s->body.len > SERVER_LARGE_BODY)
        server_body_grows(h->sc);
    return 0;
}

void h2_server_shed(struct server_conn *sc)
{
    struct h2_server *h = sc->h2;
    list_foreach (it, &h->bodies) {
        struct h2_stream *s = list_entry(it, struct h2_stream, wait);
        if (s->body.len > SERVER_LARGE_BODY)
            refuse(s, 429, SERVER_SHED_TEXT);
    }
    account(h);
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
        return 0;
    struct h2_stream *s = find_stream(session, frame->hd.stream_id);
    if (!s)
        return 0;
    s->is_head_sent = s->has_reply;
    if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
        return 0;
    s->is_end_sent = true;
    if (s->is_refused && nghttp2_session_get_stream_remote_close(session, s->id) == 0)
        (void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, s->id, NGHTTP2_NO_ERROR);
    return 0;
}

/* ---- resets ---- */

/* A bucket that RESET_RATE leave each second. */
static void count_reset(struct h2_server *h)
{
    usec seconds = (now_of(h) - h->resets_at) / USEC_PER_SEC;
    if (seconds > 0) {
        h->resets_at += seconds * USEC_PER_SEC;
        usec gone = MIN(seconds, (usec)RESET_BURST) * RESET_RATE;
        h->n_resets -= (unsigned)MIN(gone, (usec)h->n_resets);
    }
    if (++h->n_resets > RESET_BURST) {
        int32_t last = nghttp2_session_get_last_proc_stream_id(h->h2.session);
        (void)nghttp2_session_terminate_session2(h->h2.session, last, NGHTTP2_ENHANCE_YOUR_CALM);
        conn_flush_later(&h->sc->c);
    }
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
    struct h2_server *h = server_of(user);
    struct h2_stream *s = find_stream(session, id);
    /* Without one of ours its head was already wrong. */
    if (!s) {
        count_reset(h);
        return 0;
    }
    if (!s->is_head_sent && !s->is_over)
        count_reset(h);
    (void)nghttp2_session_set_stream_user_data(session, id, NULL);
    s->is_closed = true;
    if (!s->is_over)
        finish_stream(s);
    free_if_done(s);
    h->sc->c.has_written = true; /* there may be an end to see to */
    return 0;
}

static const nghttp2_session_callbacks *server_callbacks(void)
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

/* ---- handlers' turn ---- */

static void dispatch(struct h2_stream *s)
{
    s->has_handler = true;
    struct http_server *server = s->h->sc->server;
    server->handler(server->ctx, &s->e.x);
}

static void tell_handler(struct h2_stream *s)
{
    if (s->is_over) {
        exchange_close(&s->e, !s->is_end_sent);
        s->has_handler = false;
        free_if_done(s);
    } else if (s->is_above_water && s->out.bytes < limits_of(s->h)->low_water) {
        s->is_above_water = false;
        exchange_drained(&s->e);
    }
}

static bool may_dispatch(const struct h2_server *h)
{
    return !list_is_empty(&h->ready) && !h->sc->c.is_paused &&
           h->pending / PENDING_FACTOR < limits_of(h)->max_pending;
}

/* At most one full turn in each phase of the loop, however much is read in it. */
static void settle(struct h2_server *h)
{
    struct conn *c = &h->sc->c;
    if (h->is_behind)
        return;
    for (int n = 0; n < TURN && c->state == CONN_MUX; n++) {
        struct list *first = list_pop_front(&h->todo);
        if (first) {
            tell_handler(list_entry(first, struct h2_stream, todo));
        } else if (may_dispatch(h)) {
            dispatch(list_entry(list_pop_front(&h->ready), struct h2_stream, todo));
        } else {
            loop_task_cancel(&h->task);
            return;
        }
    }
    h->is_behind = true;
    settle_later(h);
}

/* ---- the connection's life ---- */

/* Handlers may look at other streams of the connection in on_close: all die first. */
static void abort_streams(struct h2_server *h)
{
    list_foreach (it, &h->streams)
        list_entry(it, struct h2_stream, link)->e.is_dead = true;
    for (struct list *it; !list_is_empty(&h->streams);) {
        it = h->streams.next;
        struct h2_stream *s = list_entry(it, struct h2_stream, link);
        bool has_handler = s->has_handler;
        s->has_handler = false;
        if (has_handler)
            exchange_close(&s->e, !s->is_end_sent);
        free_stream(s);
    }
}

static usec earlier(usec a, usec b)
{
    return !a || b < a ? b : a;
}

static usec wait_due(const struct list *list, usec timeout, usec due)
{
    if (list_is_empty(list))
        return due;
    return earlier(due, list_entry(list->next, struct h2_stream, wait)->since + timeout);
}

/* The next time when something will have taken too long. */
static void arm(struct h2_server *h)
{
    struct conn *c = &h->sc->c;
    const struct http_limits *limits = limits_of(h);
    usec due = 0;
    if (!h->n_streams)
        due = h->quiet_since + (h->has_settings ? limits->idle_timeout : limits->header_timeout);
    if (h->h2.block.is_open)
        due = earlier(due, h->h2.block.since + limits->header_timeout);
    if (c->out.bytes)
        due = earlier(due, h->written_at + limits->idle_timeout);
    due = wait_due(&h->bodies, SERVER_BODY_TIMEOUT, due);
    due = wait_due(&h->stalled, limits->idle_timeout, due);
    conn_set_deadline(c, due);
}

/* GOAWAY is written and no stream is left, or it was the kind that ends all. */
static void close_if_over(struct h2_server *h)
{
    struct conn *c = &h->sc->c;
    if (c->state != CONN_MUX || c->out.bytes || !h2_is_over(&h->h2))
        return;
    abort_streams(h);
    if (c->state != CONN_MUX)
        return;
    conn_set_state(c, CONN_LINGER);
    if (c->has_ended) {
        conn_close(c, NULL);
        return;
    }
    transport_shutdown(c->t);
    conn_set_deadline(c, now_of(h) + SERVER_LINGER_TIMEOUT);
}

/* After every turn. */
static void look_around(struct h2_server *h)
{
    struct conn *c = &h->sc->c;
    account(h);
    close_if_over(h);
    if (c->state != CONN_MUX)
        return;
    if (nghttp2_session_get_outbound_queue_size(h->h2.session) > MAX_FRAMES) {
        struct err err = ERR_INIT;
        err_set(&err, ERR_TOO_LARGE, "HTTP/2: the peer does not read");
        conn_close(c, &err);
        return;
    }
    arm(h);
}

static void on_task(struct loop_task *t)
{
    struct h2_server *h = container_of(t, struct h2_server, task);
    h->is_behind = false;
    settle(h);
    look_around(h);
}

static void server_input(struct conn *c, str *in)
{
    struct h2_server *h = conn_server(c);
    str bytes = *in;
    *in = STR_NONE;
    if (c->state != CONN_MUX)
        return;
    struct err err = ERR_INIT;
    if (h2_feed(&h->h2, bytes, &err) < 0) {
        conn_close(c, &err);
        return;
    }
    /* What is in the queue waits for the socket, and the rest behind it. */
    if (!c->out.bytes && nghttp2_session_want_write(h->h2.session))
        conn_flush_later(c);
    settle(h);
    look_around(h);
}

static void server_fill(struct conn *c)
{
    if (c->state == CONN_MUX)
        h2_fill(&conn_server(c)->h2);
}

static void server_written(struct conn *c)
{
    struct h2_server *h = conn_server(c);
    if (c->state != CONN_MUX)
        return;
    h->written_at = now_of(h);
    settle(h);
    look_around(h);
}

static void server_ended(struct conn *c)
{
    conn_close(c, NULL);
}

static void server_resumed(struct conn *c)
{
    settle_later(conn_server(c));
}

static size_t room(struct conn *c)
{
    struct h2_server *h = conn_server(c);
    return server_room(h->sc, h->body_bytes > SERVER_LARGE_BODY);
}

static struct h2_stream *pop_expired(struct list *list, usec before)
{
    if (list_is_empty(list))
        return NULL;
    struct h2_stream *s = list_entry(list->next, struct h2_stream, wait);
    if (s->since > before)
        return NULL;
    list_remove(&s->wait);
    return s;
}

static void server_expired(struct conn *c)
{
    struct h2_server *h = conn_server(c);
    const struct http_limits *limits = limits_of(h);
    usec now = now_of(h);
    usec quiet_timeout = h->has_settings ? limits->idle_timeout : limits->header_timeout;
    bool is_quiet = !h->n_streams && now >= h->quiet_since + quiet_timeout;
    bool is_late = h->h2.block.is_open && now >= h->h2.block.since + limits->header_timeout;
    bool is_stuck = c->out.bytes && now >= h->written_at + limits->idle_timeout;
    if (c->state != CONN_MUX || is_late || is_stuck) {
        conn_close(c, NULL);
        return;
    }
    for (struct h2_stream *s; (s = pop_expired(&h->bodies, now - SERVER_BODY_TIMEOUT));)
        refuse(s, 408, "the body took too long");
    for (struct h2_stream *s; (s = pop_expired(&h->stalled, now - limits->idle_timeout));)
        reset_stream(s, NGHTTP2_CANCEL);
    if (is_quiet)
        (void)nghttp2_session_terminate_session(h->h2.session, NGHTTP2_NO_ERROR);
    conn_flush_later(c);
    look_around(h);
}

static void server_closed(struct conn *c, const struct err *err)
{
    struct h2_server *h = conn_server(c);
    server_conn_log(h->sc, err);
    loop_task_cancel(&h->task);
    abort_streams(h);
}

static const struct conn_role h2_server_role = {
    .room = room,
    .resumed = server_resumed,
    .input = server_input,
    .ended = server_ended,
    .fill = server_fill,
    .more = server_write_more,
    .written = server_written,
    .expired = server_expired,
    .closed = server_closed,
    .release = server_conn_release,
};

static void submit_settings(struct h2_server *h)
{
    const struct http_limits *limits = limits_of(h);
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, (uint32_t)limits->max_streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)limits->max_header_bytes},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
    };
    nghttp2_session *session = h->h2.session;
    BUG_ON(nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, ARRAY_LEN(settings)) != 0);
    BUG_ON(nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW) != 0);
}

void h2_server_start(struct server_conn *sc)
{
    struct h2_server *h = sc->h2 = xnew(struct h2_server);
    const struct http_limits *limits = &sc->server->limits;
    h->sc = sc;
    list_init(&h->streams);
    list_init(&h->ready);
    list_init(&h->todo);
    list_init(&h->bodies);
    list_init(&h->stalled);
    loop_task_init(&h->task, on_task);
    h->quiet_since = h->written_at = h->resets_at = now_of(h);
    h2_init_server(&h->h2, &sc->c, server_callbacks(), limits->max_header_bytes,
                   limits->max_headers + PSEUDO_HEADERS);
    submit_settings(h);
    sc->c.role = &h2_server_role;
    conn_set_state(&sc->c, CONN_MUX);
    conn_flush_later(&sc->c);
    arm(h);
}

/* Requests the peer sends from now on were not looked at, and GOAWAY says so. */
void h2_server_wind_down(struct server_conn *sc)
{
    struct h2_server *h = sc->h2;
    if (sc->c.state != CONN_MUX)
        return;
    int32_t last = nghttp2_session_get_last_proc_stream_id(h->h2.session);
    (void)nghttp2_submit_goaway(h->h2.session, NGHTTP2_FLAG_NONE, last, NGHTTP2_NO_ERROR, NULL, 0);
    list_foreach (it, &h->streams) {
        struct h2_stream *s = list_entry(it, struct h2_stream, link);
        if (s->e.phase == EXCHANGE_STREAM && !s->e.is_dead) {
            s->e.is_dead = true;
            h2_end(&s->e);
        }
    }
    conn_flush_later(&sc->c);
}

void h2_server_free(struct h2_server *h)
{
    if (!h)
        return;
    loop_task_cancel(&h->task);
    h2_done(&h->h2);
    free(h);
}
