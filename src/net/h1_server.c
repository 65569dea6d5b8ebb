/*
 * HTTP/1.1 on the server's side: one request at a time per connection. The request is collected
 * whole (bounded), given to the handler, and the next one is looked at when the reply is written
 * and on_close has been called; what the peer sends meanwhile waits.
 *
 * The peer's end of the connection while a handler is at work means that nobody waits for the
 * reply: the exchange is aborted (this is how clients cancel a watch). Once the reply is complete
 * it is written out regardless.
 */
#include <strings.h>

#include "net/http_server.h"

static struct server_conn *server_conn_of(struct conn *c)
{
    return container_of(c, struct server_conn, c);
}

static struct server_conn *exchange_conn(struct exchange *e)
{
    return container_of(e, struct server_conn, exchange);
}

static void set_timeout(struct server_conn *sc, usec timeout)
{
    conn_set_deadline(&sc->c, timeout ? loop_now(sc->c.loop) + timeout : 0);
}

/* ---- replies ---- */

/* Something was queued. A peer that takes nothing at all for too long is gone or might as well be.
 */
static void expect_progress(struct server_conn *sc)
{
    /* In a tunnel nobody knows who has to wait for whom; its handler has a limit of its own. */
    if (!sc->c.deadline && !sc->is_tunnel) {
        sc->marked = sc->c.written;
        set_timeout(sc, sc->server->limits.idle_timeout);
    }
    if (sc->has_exchange && sc->exchange.phase == EXCHANGE_STREAM)
        server_flush_stream(sc);
    else
        conn_flush_later(&sc->c);
}

static void account(struct server_conn *sc)
{
    server_account(sc, sc->body.cap);
}

/* How the end of the body will be found by the peer. */
static void put_framing(struct server_conn *sc, struct strbuf *b, int status,
                        const uint64_t *length)
{
    sc->is_chunked = false;
    if (server_has_no_body(status)) {
        sc->is_head = true;
    } else if (length) {
        strbuf_printf(b, "content-length: %llu\r\n", (unsigned long long)*length);
    } else if (sc->h1.minor == 1) {
        sc->is_chunked = true;
        strbuf_add_cstr(b, "transfer-encoding: chunked\r\n");
    } else {
        sc->close_after = true;
    }
    if (sc->close_after)
        strbuf_add_cstr(b, "connection: close\r\n");
}

static void write_head(struct server_conn *sc, int status, const struct http_header *headers,
                       size_t n, const uint64_t *length)
{
    CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT(SERVER_MAX_REPLY_HEAD);
    h1_put_status(&b, status);
    strbuf_printf(&b, "date: %s\r\n", server_date(sc->server));
    put_framing(sc, &b, status, length);
    for (size_t i = 0; i < n; i++)
        h1_put_header(&b, headers[i].name, headers[i].value);
    strbuf_add_cstr(&b, "\r\n");
    BUG_ON(b.overflow);
    outq_add_strbuf(&sc->c.out, &b);
    expect_progress(sc);
}

static void finish_reply(struct server_conn *sc)
{
    conn_set_state(&sc->c, CONN_FLUSH);
    sc->marked = sc->c.written;
    set_timeout(sc, sc->server->limits.idle_timeout);
    sc->c.has_written = true; /* nothing may be left to write */
    conn_flush_later(&sc->c);
}

static void h1_end(struct exchange *e)
{
    struct server_conn *sc = exchange_conn(e);
    if (sc->is_chunked && !sc->is_head)
        outq_add_copy(&sc->c.out, STR("0\r\n\r\n"));
    finish_reply(sc);
}

/* The server ends a stream on its own account; the handler hears of it by on_close. */
static void end_stream(struct server_conn *sc)
{
    sc->exchange.is_dead = true;
    sc->close_after = true;
    h1_end(&sc->exchange);
}

static void h1_head(struct exchange *e, int status, const struct http_header *headers, size_t n,
                    const uint64_t *length)
{
    struct server_conn *sc = exchange_conn(e);
    if (sc->server->is_shutting_down)
        sc->close_after = true;
    write_head(sc, status, headers, n, length);
    if (e->phase == EXCHANGE_STREAM && sc->server->is_shutting_down)
        end_stream(sc);
}

/* The peer has let too much pile up: forget it all, and close when nobody is being called. */
static void cut_off(struct server_conn *sc)
{
    sc->exchange.is_dead = true;
    outq_clear(&sc->c.out);
    conn_doom(&sc->c);
}

static void check_pending(struct server_conn *sc)
{
    const struct http_limits *limits = &sc->server->limits;
    struct conn *c = &sc->c;
    /* The peer has had no chance yet to take what was queued since the last write phase. */
    size_t before = SIZE_MAX;
    while (c->out.bytes > limits->max_pending && c->out.bytes < before && !c->is_doomed) {
        before = c->out.bytes;
        (void)conn_flush(c);
    }
    if (c->out.bytes > limits->max_pending || c->is_doomed)
        cut_off(sc);
}

static void h1_data(struct exchange *e, const struct http_slice *slices, size_t n)
{
    struct server_conn *sc = exchange_conn(e);
    struct outq *out = &sc->c.out;
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += slices[i].data.len;
    bool is_chunk = sc->is_chunked && !sc->is_head && total; /* a chunk of 0 would be the end */
    if (is_chunk) {
        char head[H1_CHUNK_HEAD];
        outq_add_copy(out, str_n(head, h1_format_chunk(head, total)));
    }
    for (size_t i = 0; i < n; i++) {
        if (sc->is_head)
            http_slice_drop(&slices[i]);
        else
            outq_add(out, &slices[i]);
    }
    if (is_chunk)
        outq_add_copy(out, STR("\r\n"));
    expect_progress(sc);
    if (e->phase == EXCHANGE_STREAM)
        check_pending(sc);
    if (out->bytes >= sc->server->limits.low_water)
        sc->is_above_water = true;
    account(sc);
}

static void h1_pause(struct exchange *e, usec how_long)
{
    conn_pause(&exchange_conn(e)->c, how_long);
}

static void h1_hang_up(struct exchange *e)
{
    exchange_conn(e)->close_after = true;
}

static void h1_abort(struct exchange *e)
{
    cut_off(exchange_conn(e));
}

static size_t h1_pending(const struct exchange *e)
{
    return container_of(e, const struct server_conn, exchange)->c.out.bytes;
}

/* ---- tunnels ---- */

static bool has_option(str list, const char *word)
{
    while (list.len) {
        str one = str_trim(str_cut(&list, ','));
        if (one.len == strlen(word) && strncasecmp(one.p, word, one.len) == 0)
            return true;
    }
    return false;
}

/* Bytes of a body would be taken for those of the other protocol, and the other way round. */
static bool h1_can_upgrade(const struct exchange *e)
{
    const struct server_conn *sc = container_of(e, const struct server_conn, exchange);
    const struct h1_parser *h = &sc->h1;
    return h->minor == 1 && !h->chunked && !sc->body.len && !sc->server->is_shutting_down &&
           has_option(http_header_get(&e->x, STR("connection")), "upgrade") &&
           http_header_get(&e->x, STR("upgrade")).len;
}

static bool is_upgrade(const struct http_header *h)
{
    return str_is(h->name, "upgrade") && h->value.len <= HTTP_MAX_UPGRADE && h1_is_value(h->value);
}

static void h1_upgrade(struct exchange *e, const struct http_header *headers, size_t n)
{
    struct server_conn *sc = exchange_conn(e);
    CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT(SERVER_MAX_REPLY_HEAD);
    h1_put_status(&b, 101);
    strbuf_add_cstr(&b, "connection: Upgrade\r\n");
    /* What it is upgraded to comes first; of the others as many as there is room for. */
    for (size_t i = 0; i < n; i++)
        if (is_upgrade(&headers[i])) {
            strbuf_printf(&b, "upgrade: %.*s\r\n", STR_ARG(headers[i].value));
            break;
        }
    for (size_t i = 0; i < n; i++)
        if (!str_is(headers[i].name, "upgrade"))
            h1_put_header(&b, headers[i].name, headers[i].value);
    strbuf_add_cstr(&b, "\r\n");
    BUG_ON(b.overflow);
    outq_add_strbuf(&sc->c.out, &b);
    sc->is_tunnel = sc->close_after = true;
    sc->is_chunked = sc->is_head = false;
    expect_progress(sc);
    /* What came with the request waits. */
    conn_resume(&sc->c);
}

static void h1_hold_input(struct exchange *e, bool on)
{
    struct server_conn *sc = exchange_conn(e);
    if (sc->is_held && !on)
        conn_resume(&sc->c);
    sc->is_held = on;
}

static void tunnel_input(struct server_conn *sc, str *in)
{
    str data = *in;
    bool is_over = sc->exchange.is_dead || sc->c.state != CONN_BUSY;
    if (sc->is_held && !is_over)
        return;
    *in = STR_NONE;
    if (is_over || !data.len)
        return;
    sc->exchange.x.on_input(&sc->exchange.x, data);
}

static const struct exchange_ops h1_exchange_ops = {
    .head = h1_head,
    .data = h1_data,
    .end = h1_end,
    .pending = h1_pending,
    .pause = h1_pause,
    .hang_up = h1_hang_up,
    .abort = h1_abort,
    .can_upgrade = h1_can_upgrade,
    .upgrade = h1_upgrade,
    .hold_input = h1_hold_input,
};

/* ---- requests ---- */

/* The server's own answer to a request it will not give to the handler. */
static void refuse(struct server_conn *sc, int status, const char *why)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT(1024);
    server_refusal(&text, status, why);
    sc->close_after = true;
    sc->is_head = str_is(sc->h1.method, "HEAD");
    uint64_t length = text.len;
    const struct http_header *headers;
    size_t n = server_refusal_headers(status, &headers);
    write_head(sc, status, headers, n, &length);
    if (!sc->is_head)
        outq_add_copy(&sc->c.out, strbuf_str(&text));
    finish_reply(sc);
}

static void begin_request(struct server_conn *sc)
{
    h1_next(&sc->h1);
    conn_set_state(&sc->c, CONN_HEAD);
    set_timeout(sc, sc->server->limits.header_timeout);
}

static void got_head(struct server_conn *sc)
{
    const struct h1_parser *h = &sc->h1;
    sc->close_after = !h->keep_alive || sc->server->is_leaving;
    sc->is_head = str_is(h->method, "HEAD");
    if (h->expect_other) {
        refuse(sc, 417, "the expectation is not known");
    } else if (h->has_length && h->length > sc->server->limits.max_body) {
        refuse(sc, 413, "the body is too large");
    } else {
        conn_set_state(&sc->c, CONN_BODY);
        set_timeout(sc, SERVER_BODY_TIMEOUT);
        if (h->expect_continue && h->minor == 1 && (h->chunked || h->length)) {
            outq_add_copy(&sc->c.out, STR("HTTP/1.1 100 Continue\r\n\r\n"));
            conn_flush_later(&sc->c);
        }
    }
}

/* To double a buffer of megabytes is to copy them. At a quarter there is room for all of it: what
 * is kept stays in proportion to what was sent. */
static void reserve(struct server_conn *sc)
{
    const struct h1_parser *h = &sc->h1;
    size_t len = sc->body.len;
    if (h->has_length && len > SERVER_LARGE_BODY && len > h->length / 4 && len < h->length)
        (void)strbuf_reserve(&sc->body, h->length - len);
}

static void got_data(struct server_conn *sc, str data)
{
    reserve(sc);
    strbuf_add_str(&sc->body, data);
    if (sc->body.overflow)
        refuse(sc, 413, "the body is too large");
    else if (sc->body.len > SERVER_LARGE_BODY)
        server_body_grows(sc);
}

void h1_server_shed(struct server_conn *sc)
{
    if (sc->c.state != CONN_BODY)
        return;
    refuse(sc, 429, SERVER_SHED_TEXT);
    strbuf_done(&sc->body);
    account(sc);
}

static void got_request(struct server_conn *sc)
{
    const struct h1_parser *h = &sc->h1;
    conn_set_state(&sc->c, CONN_BUSY);
    conn_set_deadline(&sc->c, 0);
    sc->exchange = (struct exchange){
        .x = {.method = h->method,
              .path = h->path,
              .query = h->query,
              .headers = h->headers.p,
              .n_headers = h->headers.len,
              .body = strbuf_str(&sc->body),
              .peer = &sc->peer,
              .conn_ctx = &sc->ctx},
        .ops = &h1_exchange_ops,
        .gzip_pool = &sc->server->gzip,
    };
    sc->has_exchange = true;
    sc->is_above_water = false;
    server_known(sc);
    server_body_ends(sc);
    sc->server->handler(sc->server->ctx, &sc->exchange.x);
}

static void on_event(struct server_conn *sc, enum h1_event e, str data)
{
    switch (e) {
    case H1_HEAD:
        got_head(sc);
        break;
    case H1_DATA:
        got_data(sc, data);
        break;
    case H1_END:
        got_request(sc);
        break;
    default:
        refuse(sc, sc->h1.error_status, sc->h1.error);
    }
}

static void server_input(struct conn *c, str *in)
{
    struct server_conn *sc = server_conn_of(c);
    if (sc->is_tunnel) {
        tunnel_input(sc, in);
        return;
    }
    if (c->state == CONN_IDLE && in->len)
        begin_request(sc);
    while (c->state == CONN_HEAD || c->state == CONN_BODY) {
        str data = STR_NONE;
        enum h1_event e = h1_parse(&sc->h1, in, &data);
        if (e == H1_MORE)
            break;
        on_event(sc, e, data);
    }
    account(sc);
    /* After a refusal nothing the peer sends has a meaning. */
    if (c->state == CONN_LINGER || (c->state == CONN_FLUSH && !sc->has_exchange))
        *in = STR_NONE;
}

/* ---- the connection's life ---- */

static void close_exchange(struct server_conn *sc, bool aborted)
{
    if (!sc->has_exchange)
        return;
    sc->has_exchange = false;
    exchange_close(&sc->exchange, aborted);
}

static void reply_written(struct server_conn *sc)
{
    close_exchange(sc, false);
    strbuf_done(&sc->body);
    account(sc);
    if (sc->c.state == CONN_CLOSED)
        return;
    if (sc->close_after || sc->c.has_ended) {
        conn_set_state(&sc->c, CONN_LINGER);
        if (sc->c.has_ended) {
            conn_close(&sc->c, NULL);
            return;
        }
        transport_shutdown(sc->c.t);
        conn_discard_rest(&sc->c);
        set_timeout(sc, SERVER_LINGER_TIMEOUT);
        conn_resume(&sc->c);
        return;
    }
    conn_set_state(&sc->c, CONN_IDLE);
    set_timeout(sc, sc->server->limits.idle_timeout);
    conn_resume(&sc->c);
}

static void server_written(struct conn *c)
{
    struct server_conn *sc = server_conn_of(c);
    if (c->state == CONN_FLUSH && !c->out.bytes) {
        reply_written(sc);
        return;
    }
    account(sc);
    if (c->state != CONN_FLUSH && c->state != CONN_BUSY)
        return;
    if (!c->out.bytes || c->written - sc->marked >= SERVER_LEAST_PROGRESS) {
        sc->marked = c->written;
        bool may_stall = sc->is_tunnel && c->state == CONN_BUSY;
        set_timeout(sc, c->out.bytes && !may_stall ? sc->server->limits.idle_timeout : 0);
    }
    if (sc->is_above_water && c->out.bytes < sc->server->limits.low_water) {
        sc->is_above_water = false;
        exchange_drained(&sc->exchange);
    }
}

/* In a tunnel the other way may still be needed. */
static void server_ended(struct conn *c)
{
    struct server_conn *sc = server_conn_of(c);
    if (sc->is_tunnel && c->state == CONN_BUSY && !sc->exchange.is_dead && !c->t->is_truncated)
        sc->exchange.x.on_input_end(&sc->exchange.x);
    else if (c->state != CONN_FLUSH)
        conn_close(c, NULL);
}

static void server_expired(struct conn *c)
{
    struct server_conn *sc = server_conn_of(c);
    if (c->state == CONN_HEAD)
        refuse(sc, 408, "the headers took too long");
    else if (c->state == CONN_BODY)
        refuse(sc, 408, "the body took too long");
    else
        conn_close(c, NULL);
}

static void server_closed(struct conn *c, const struct err *err)
{
    server_conn_log(server_conn_of(c), err);
    close_exchange(server_conn_of(c), true);
}

/* What says that it will be large is large from its first byte on. */
static size_t room(struct conn *c)
{
    struct server_conn *sc = server_conn_of(c);
    if (sc->is_tunnel && sc->is_held)
        return 0;
    bool is_large =
        sc->body.len > SERVER_LARGE_BODY ||
        (c->state == CONN_BODY && sc->h1.has_length && sc->h1.length > SERVER_LARGE_BODY);
    return server_room(sc, is_large);
}

static const struct conn_role h1_server_role = {
    .room = room,
    .input = server_input,
    .ended = server_ended,
    .more = server_write_more,
    .written = server_written,
    .expired = server_expired,
    .closed = server_closed,
    .release = server_conn_release,
};

void h1_server_start(struct server_conn *sc)
{
    sc->c.role = &h1_server_role;
    h1_init(&sc->h1, H1_REQUEST, sc->server->limits.max_header_bytes,
            sc->server->limits.max_headers);
    strbuf_init(&sc->body, sc->server->limits.max_body);
    set_timeout(sc, sc->server->limits.idle_timeout);
}

void h1_server_wind_down(struct server_conn *sc)
{
    sc->close_after = true;
    if (sc->c.state == CONN_BUSY) {
        if (sc->exchange.phase == EXCHANGE_STREAM && !sc->exchange.is_dead)
            end_stream(sc);
    } else if (sc->c.state != CONN_FLUSH && sc->c.state != CONN_LINGER) {
        conn_close(&sc->c, NULL);
    }
}
