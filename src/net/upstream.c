/* See upstream.h. A connection (conn.h) with a role of its own: HEAD while the reply is awaited,
 * BODY from then on, in a tunnel too. */
#include "net/upstream.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "net/conn.h"
#include "net/h1.h"
#include "net/tls_impl.h"

#define CONNECT_TIMEOUT (10 * USEC_PER_SEC)
/* One side has ended: how long the other may say nothing. */
#define HALF_TIMEOUT (30 * USEC_PER_SEC)
enum { MAX_HEAD = 256 << 10, MAX_HEADERS = 200, LOW_WATER = 64 << 10, READ_MOST = 64 << 10 };

struct upstream {
    struct conn c;
    struct upstream_options o;
    char *host, *name;
    struct strbuf ca_pem;
    struct strbuf request; /* until it is sent */
    struct h1_parser h1;
    bool is_tunnel, is_held, is_verified;
    bool ends; /* nothing more will be written */
    bool is_over;
    bool is_above_water;
    bool is_free; /* nobody is called any more */
};

static struct upstream *upstream_of(struct conn *c)
{
    return container_of(c, struct upstream, c);
}

/* ---- the end ---- */

/* Says so once. The caller may free it meanwhile, which leaves the memory until the loop's turn
 * ends. */
static void finish(struct upstream *u, const struct err *err)
{
    if (u->is_over)
        return;
    u->is_over = true;
    if (!u->is_free)
        u->o.on_end(u->o.ctx, err);
}

static void fail(struct upstream *u, int code, const char *why)
{
    struct err err = ERR_INIT;
    err_set(&err, code, "%s", why);
    conn_close(&u->c, &err);
}

/* ---- time ---- */

static void set_idle_deadline(struct upstream *u)
{
    usec idle = u->ends ? HALF_TIMEOUT : u->o.idle_timeout;
    if (u->is_tunnel)
        conn_set_deadline(&u->c, idle ? loop_now(u->c.loop) + idle : 0);
}

static void on_expired(struct conn *c)
{
    struct upstream *u = upstream_of(c);
    if (c->state == CONN_OPENING)
        fail(u, ERR_TIMEOUT, "connecting took too long");
    else
        fail(u, ERR_TIMEOUT,
             u->is_tunnel ? "the connection was idle for too long" : "it did not answer in time");
}

/* ---- the request ---- */

static bool is_good_peer(struct upstream *u)
{
    struct err err = ERR_INIT;
    if (!u->c.t->ssl || !u->ca_pem.len)
        return true;
    enum tls_peer peer = tls_judge_peer(u->c.t->ssl, strbuf_str(&u->ca_pem), u->host, u->name,
                                        loop_wall(u->c.loop), &err);
    u->is_verified = peer == TLS_PEER_OURS;
    if (peer == TLS_PEER_UNKNOWN && u->o.must_verify)
        err_set(&err, ERR_UNAVAILABLE, "its certificate is not signed by our authority any more");
    else if (peer != TLS_PEER_WRONG)
        return true;
    conn_close(&u->c, &err);
    return false;
}

static void on_opened(struct conn *c)
{
    struct upstream *u = upstream_of(c);
    if (!is_good_peer(u))
        return;
    h1_init(&u->h1, H1_RESPONSE, MAX_HEAD, MAX_HEADERS);
    conn_set_state(c, CONN_HEAD);
    conn_set_deadline(c, u->o.head_timeout ? loop_now(c->loop) + u->o.head_timeout : 0);
    outq_add_strbuf(&c->out, &u->request);
    conn_flush_later(c);
}

static void put_request(struct upstream *u)
{
    const struct upstream_options *o = &u->o;
    struct strbuf *b = &u->request;
    bool is_v6 = strchr(o->host, ':') != NULL, upgrades = false;
    strbuf_init(b, MAX_HEAD + o->body.len);
    strbuf_printf(b, "%.*s %.*s HTTP/1.1\r\n", STR_ARG(o->method), STR_ARG(o->target));
    strbuf_printf(b, is_v6 ? "host: [%s]:%d\r\n" : "host: %s:%d\r\n", o->host, o->port);
    for (size_t i = 0; i < o->n_headers; i++) {
        const struct http_header *h = &o->headers[i];
        if (str_is(h->name, "upgrade") && h1_is_value(h->value)) {
            upgrades = true;
            strbuf_printf(b, "connection: Upgrade\r\nupgrade: %.*s\r\n", STR_ARG(h->value));
        } else if (!str_is(h->name, "host")) {
            h1_put_header(b, h->name, h->value);
        }
    }
    if (!upgrades)
        strbuf_add_cstr(b, "connection: close\r\n");
    if (o->body.len || (!upgrades && !str_is(o->method, "GET") && !str_is(o->method, "HEAD")))
        strbuf_printf(b, "content-length: %zu\r\n", o->body.len);
    strbuf_add_cstr(b, "\r\n");
    strbuf_add_str(b, o->body);
}

/* ---- the reply ---- */

static void got_head(struct upstream *u)
{
    const struct h1_parser *h = &u->h1;
    if (h->status < 200 && h->status != 101)
        return;
    conn_set_state(&u->c, CONN_BODY);
    conn_set_deadline(&u->c, 0);
    u->is_tunnel = h->status == 101;
    set_idle_deadline(u);
    u->o.on_head(u->o.ctx, h->status, h->headers.p, h->headers.len);
}

static void got_end(struct upstream *u)
{
    if (u->h1.status >= 200)
        conn_close(&u->c, NULL);
    else if (!u->is_tunnel)
        h1_next(&u->h1);
}

static bool parse_one(struct upstream *u, str *in)
{
    str data = STR_NONE;
    switch (h1_parse(&u->h1, in, &data)) {
    case H1_MORE:
        return false;
    case H1_HEAD:
        got_head(u);
        break;
    case H1_DATA:
        u->o.on_data(u->o.ctx, data);
        break;
    case H1_END:
        got_end(u);
        break;
    default:
        fail(u, ERR_IO, u->h1.error);
    }
    return true;
}

static void on_ended(struct conn *c);

static void on_input(struct conn *c, str *in)
{
    struct upstream *u = upstream_of(c);
    /* The end of a reply needs no room: whoever holds it up would wait for it forever. */
    while (!u->is_tunnel && c->state != CONN_CLOSED && (!u->is_held || u->h1.step == H1_STEP_END) &&
           parse_one(u, in))
        ;
    if (u->is_tunnel && c->state != CONN_CLOSED && !u->is_held && in->len) {
        str data = *in;
        *in = STR_NONE;
        set_idle_deadline(u);
        u->o.on_data(u->o.ctx, data);
    }
    if (c->state == CONN_CLOSED)
        *in = STR_NONE;
    else if (c->has_ended && !in->len && !u->is_held)
        on_ended(c);
}

static size_t room(struct conn *c)
{
    return upstream_of(c)->is_held ? 0 : READ_MOST;
}

/* What is held up is given before the end is. */
static void on_ended(struct conn *c)
{
    struct upstream *u = upstream_of(c);
    bool is_whole = !c->t->is_truncated || !c->t->ssl;
    if (u->is_held && c->rest.len > c->rest_at)
        return;
    if (u->is_tunnel || (c->state == CONN_BODY && is_whole && h1_finish(&u->h1) == H1_END))
        conn_close(c, NULL);
    else
        fail(u, ERR_IO, "it closed the connection before its answer was complete");
}

/* ---- writing ---- */

static void on_written(struct conn *c)
{
    struct upstream *u = upstream_of(c);
    set_idle_deadline(u);
    if (!c->out.bytes && u->ends && u->is_tunnel)
        transport_shutdown(c->t);
    if (u->is_above_water && c->out.bytes < LOW_WATER) {
        u->is_above_water = false;
        if (!u->is_free)
            u->o.on_drain(u->o.ctx);
    }
}

void upstream_write(struct upstream *u, str data)
{
    if (u->c.state != CONN_BODY || u->ends || !data.len)
        return;
    outq_add_copy(&u->c.out, data);
    u->is_above_water |= u->c.out.bytes >= LOW_WATER;
    conn_flush_later(&u->c);
}

size_t upstream_pending(const struct upstream *u)
{
    return u->c.out.bytes;
}

void upstream_end(struct upstream *u)
{
    if (u->c.state != CONN_BODY || u->ends)
        return;
    u->ends = true;
    set_idle_deadline(u);
    if (!u->c.out.bytes)
        transport_shutdown(u->c.t);
}

void upstream_hold(struct upstream *u, bool on)
{
    if (u->is_held && !on && u->c.state != CONN_CLOSED)
        conn_resume(&u->c);
    u->is_held = on;
}

bool upstream_is_verified(const struct upstream *u)
{
    return u->is_verified;
}

/* ---- life ---- */

static void on_closed(struct conn *c, const struct err *err)
{
    finish(upstream_of(c), err);
}

static void on_release(struct conn *c)
{
    struct upstream *u = upstream_of(c);
    /* Until its owner has let go of it. */
    if (!u->is_free)
        return;
    conn_done(c);
    h1_done(&u->h1);
    strbuf_done(&u->request);
    strbuf_done(&u->ca_pem);
    free(u->host);
    free(u->name);
    free(u);
}

static const struct conn_role upstream_role = {
    .opened = on_opened,
    .room = room,
    .input = on_input,
    .ended = on_ended,
    .written = on_written,
    .expired = on_expired,
    .closed = on_closed,
    .release = on_release,
};

static struct transport *dial(struct loop *l, const struct upstream_options *o, struct err *err)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)o->port)};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)o->port)};
    bool is_v4 = inet_pton(AF_INET, o->host, &in.sin_addr) == 1;
    if (!is_v4 && inet_pton(AF_INET6, o->host, &in6.sin6_addr) != 1) {
        err_set(err, ERR_INVALID, "%s is no IP address", o->host);
        return NULL;
    }
    SSL *ssl = o->tls ? tls_client_session(o->tls, o->host, err) : NULL;
    if (o->tls && !ssl)
        return NULL;
    struct transport *t = is_v4
                              ? transport_connect_tcp(l, (struct sockaddr *)&in, sizeof(in), err)
                              : transport_connect_tcp(l, (struct sockaddr *)&in6, sizeof(in6), err);
    if (ssl && t) {
        tls_session_offer(ssl, TLS_OFFER_H1);
        transport_add_tls(t, ssl);
    } else {
        SSL_free(ssl);
    }
    return t;
}

struct upstream *upstream_new(struct loop *l, const struct upstream_options *o, struct err *err)
{
    if (!h1_is_token(o->method) || !h1_is_target(o->target)) {
        err_set(err, ERR_INVALID, "the request has an invalid method or path");
        return NULL;
    }
    struct transport *t = dial(l, o, err);
    if (!t)
        return NULL;
    struct upstream *u = xnew(struct upstream);
    u->o = *o;
    u->host = xstrdup(o->host);
    u->name = xstrdup(o->name ? o->name : "");
    strbuf_init(&u->ca_pem, MAX_HEAD);
    strbuf_add_str(&u->ca_pem, o->ca_pem);
    put_request(u);
    conn_init(&u->c, l, &upstream_role, t);
    conn_set_deadline(&u->c, loop_now(l) + CONNECT_TIMEOUT);
    /* The first step is taken when it stands: nobody is called from inside here. */
    transport_want(t, false, true);
    return u;
}

void upstream_free(struct upstream *u)
{
    if (!u)
        return;
    bool was_closed = u->c.state == CONN_CLOSED;
    u->is_free = u->is_over = true;
    if (!was_closed)
        conn_close(&u->c, NULL);
    else
        loop_defer(u->c.loop, LOOP_WRITE, &u->c.reap_task);
}
