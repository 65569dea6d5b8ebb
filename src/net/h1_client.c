/*
 * HTTP/1.1 on the client's side: one call at a time per connection. Reply bodies are handed on as
 * they come. To cancel a call is to close its connection: HTTP/1.1 has no other way.
 *
 * Every callback of a call may cancel that call, so after each one the connection is looked at
 * again before it is touched.
 */
#include "net/client.h"

static struct client_conn *client_conn_of(struct conn *c)
{
    return container_of(c, struct client_conn, c);
}

/* ---- request ---- */

static void write_request(struct client_conn *cc)
{
    const struct http_call *call = cc->call;
    CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT(CLIENT_MAX_HEAD);
    strbuf_add_str(&b, call->method);
    strbuf_add_char(&b, ' ');
    strbuf_add_str(&b, call->path);
    strbuf_add_cstr(&b, " HTTP/1.1\r\n");
    h1_put_header(&b, STR("host"), str_of(cc->client->authority));
    for (size_t i = 0; i < call->n_headers; i++)
        if (!str_is(call->headers[i].name, "host"))
            h1_put_header(&b, call->headers[i].name, call->headers[i].value);
    if (client_needs_length(call))
        strbuf_printf(&b, "content-length: %zu\r\n", call->body.len);
    strbuf_add_cstr(&b, "\r\n");
    BUG_ON(b.overflow);
    outq_add_strbuf(&cc->c.out, &b);
    /* The caller keeps the body until on_end, by which time the queue is empty: no copy. */
    outq_add(&cc->c.out, &(struct http_slice){.data = call->body, .owner = cc->call});
}

/* The state is IDLE and the call is set. */
static void send_call(struct client_conn *cc)
{
    cc->has_reply = false;
    h1_next(&cc->h1);
    cc->h1.to_head = str_is(cc->call->method, "HEAD");
    conn_set_state(&cc->c, CONN_HEAD);
    conn_set_deadline(&cc->c, 0);
    write_request(cc);
}

void h1_client_use(struct client_conn *cc, struct http_call *call)
{
    cc->is_reused = true;
    client_conn_attach(cc, call);
    send_call(cc);
    /* The pump runs in the WRITE phase: no need to wait for the next one. */
    conn_write_turn(&cc->c);
}

/* ---- reply ---- */

static void fail_call(struct client_conn *cc, int code, const char *why)
{
    struct err err = ERR_INIT;
    err_set(&err, code, "%s", why);
    struct http_call *call = client_conn_detach(cc);
    conn_close(&cc->c, &err);
    if (call)
        client_finish(call, &err);
}

/* The reply is complete. The connection is put in order before on_end, which may do anything. */
static void complete(struct client_conn *cc)
{
    struct http_client *cl = cc->client;
    struct http_call *call = client_conn_detach(cc);
    bool keep = cc->h1.keep_alive && !cc->c.has_ended && !cc->c.out.bytes &&
                cl->n_conns - cl->n_streams <= cl->max_connections;
    if (keep) {
        conn_set_state(&cc->c, CONN_IDLE);
        conn_set_deadline(&cc->c, loop_now(cl->loop) + CLIENT_IDLE_TIMEOUT);
    } else {
        conn_close(&cc->c, NULL);
    }
    client_pump_later(cl);
    client_finish(call, NULL);
}

static void got_head(struct client_conn *cc)
{
    const struct h1_parser *h = &cc->h1;
    if (h->status == 101) {
        fail_call(cc, ERR_IO, "the server switched protocols unasked");
        return;
    }
    if (h->status < 200)
        return;
    conn_set_state(&cc->c, CONN_BODY);
    if (cc->call->on_headers)
        cc->call->on_headers(cc->call, h->status, h->headers.p, h->headers.len);
}

static void got_end(struct client_conn *cc)
{
    if (cc->h1.status >= 200) {
        complete(cc);
        return;
    }
    bool to_head = cc->h1.to_head;
    h1_next(&cc->h1);
    cc->h1.to_head = to_head;
}

static void on_event(struct client_conn *cc, enum h1_event e, str data)
{
    switch (e) {
    case H1_HEAD:
        got_head(cc);
        break;
    case H1_DATA:
        if (cc->call->on_data)
            cc->call->on_data(cc->call, data);
        break;
    case H1_END:
        got_end(cc);
        break;
    default:
        fail_call(cc, ERR_IO, cc->h1.error);
    }
}

static void client_input(struct conn *c, str *in)
{
    struct client_conn *cc = client_conn_of(c);
    cc->has_reply = true;
    while (cc->call && (c->state == CONN_HEAD || c->state == CONN_BODY)) {
        str data = STR_NONE;
        enum h1_event e = h1_parse(&cc->h1, in, &data);
        if (e == H1_MORE)
            return;
        on_event(cc, e, data);
    }
    /* Bytes that nobody asked for: the two sides do not agree where they are. */
    if (in->len && c->state != CONN_CLOSED)
        conn_close(c, NULL);
    *in = STR_NONE;
}

/* ---- the connection's life ---- */

static void client_ended(struct conn *c)
{
    struct client_conn *cc = client_conn_of(c);
    /* Without close_notify the end may be an attacker's. */
    bool is_whole = !c->t->is_truncated;
    if (cc->call && c->state == CONN_BODY && is_whole && h1_finish(&cc->h1) == H1_END) {
        complete(cc);
        return;
    }
    struct err err = ERR_INIT;
    err_set(&err, ERR_IO, "the server closed the connection");
    conn_close(c, &err);
}

static void client_expired(struct conn *c)
{
    conn_close(c, NULL);
}

static void client_written(struct conn *c)
{
}

static bool may_retry(const struct client_conn *cc, const struct http_call *call)
{
    return cc->is_reused && !cc->has_reply && !call->is_retry && client_is_idempotent(call);
}

/* With a call still attached the connection failed under it. */
static void client_closed(struct conn *c, const struct err *err)
{
    struct client_conn *cc = client_conn_of(c);
    struct http_call *call = client_conn_detach(cc);
    client_pump_later(cc->client);
    if (!call)
        return;
    if (may_retry(cc, call))
        client_retry(call);
    else
        client_finish(call, err);
}

static const struct conn_role h1_client_role = {
    .input = client_input,
    .ended = client_ended,
    .written = client_written,
    .expired = client_expired,
    .closed = client_closed,
    .release = client_conn_release,
};

void h1_client_start(struct client_conn *cc)
{
    cc->c.role = &h1_client_role;
    h1_init(&cc->h1, H1_RESPONSE, CLIENT_MAX_HEAD, CLIENT_MAX_HEADERS);
    send_call(cc);
    conn_flush_later(&cc->c);
}
