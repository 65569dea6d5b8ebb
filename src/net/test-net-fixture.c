/* See test-net-fixture.h. */
#include "net/test-net-fixture.h"

#include <arpa/inet.h>

#define NOW_2026 ((usec)1790000000 * USEC_PER_SEC)

/* ---- handler ---- */

static void on_close(struct http_exchange *x)
{
    struct fx *f = x->ctx;
    f->n_closed++;
    f->n_aborted += x->aborted;
    if (f->later == x)
        f->later = NULL;
    if (f->stream == x)
        f->stream = NULL;
    for (size_t i = 0; i < f->streams.len; i++)
        if (f->streams.p[i] == x) {
            vec_remove(&f->streams, i);
            break;
        }
}

static void on_drain(struct http_exchange *x)
{
    ((struct fx *)x->ctx)->n_drained++;
}

struct counted {
    struct fx *f;
    char bytes[];
};

static void drop_counted(void *p)
{
    struct counted *c = p;
    c->f->n_dropped++;
    free(c);
}

static struct http_slice counted_slice(struct fx *f, char fill, size_t n)
{
    struct counted *c = xmalloc(sizeof(*c) + n);
    c->f = f;
    memset(c->bytes, fill, n);
    return (struct http_slice){str_n(c->bytes, n), c, drop_counted};
}

void fx_stream_bytes(struct fx *f, struct http_exchange *x, size_t n)
{
    struct http_slice s = counted_slice(f, 'x', n);
    http_stream_write(x, &s, 1);
}

static void note_peer(struct fx *f, const struct http_exchange *x)
{
    strbuf_reset(&f->who);
    strbuf_add_str(&f->who, x->peer->common_name);
    for (size_t i = 0; i < x->peer->n_organizations; i++) {
        strbuf_add_char(&f->who, '/');
        strbuf_add_str(&f->who, x->peer->organizations[i]);
    }
    strbuf_reset(&f->address);
    strbuf_add_cstr(&f->address, x->peer->address);
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct fx *f = ctx;
    f->n_requests++;
    note_peer(f, x);
    strbuf_printf(&f->log, "%.*s %.*s %.*s\n", STR_ARG(x->method), STR_ARG(x->path),
                  (int)MIN(x->body.len, (size_t)64), x->body.p ? x->body.p : "");
    x->ctx = f;
    x->on_close = on_close;
    x->on_drain = on_drain;
    struct http_header type = {STR("content-type"), STR("text/plain")};
    if (str_is(x->path, "/hello")) {
        http_reply(x, 200, &type, 1, (struct http_slice){STR("hello"), NULL, NULL});
    } else if (str_is(x->path, "/echo")) {
        http_reply(x, 201, &type, 1, (struct http_slice){x->body, NULL, NULL});
    } else if (str_is(x->path, "/host")) {
        http_reply(x, 200, &type, 1,
                   (struct http_slice){http_header_get(x, STR("host")), NULL, NULL});
    } else if (str_is(x->path, "/nothing")) {
        http_reply(x, 204, &type, 1, (struct http_slice){STR("ignored"), NULL, NULL});
    } else if (str_is(x->path, "/big")) {
        struct http_slice s[2] = {counted_slice(f, 'a', f->big), counted_slice(f, 'b', 10)};
        http_reply_slices(x, 200, NULL, 0, s, 2);
    } else if (str_is(x->path, "/noise")) {
        struct http_slice s = counted_slice(f, 0, f->big);
        struct rng r;
        rng_seed(&r, 1);
        for (size_t i = 0; i < f->big; i++)
            ((char *)s.data.p)[i] = (char)rng_below(&r, 256);
        http_reply_slices(x, 200, &type, 1, &s, 1);
    } else if (str_is(x->path, "/warn")) {
        char *text = xmalloc(100000);
        memset(text, 'w', 100000);
        struct http_header h[] = {
            {STR("warning"), str_n(text, 100000)}, type, {STR("warning"), str_n(text, 60000)}};
        http_reply(x, 200, h, 3, (struct http_slice){STR("done"), NULL, NULL});
        free(text);
    } else if (str_is(x->path, "/stream")) {
        f->stream = x;
        *vec_push(&f->streams) = x;
        http_stream_begin(x, 200, &type, 1);
    } else if (str_is(x->path, "/later")) {
        f->later = x;
    } else {
        http_reply(x, 404, NULL, 0, (struct http_slice){0});
    }
}

void fx_release(struct fx *f)
{
    http_reply(f->later, 200, NULL, 0, (struct http_slice){STR("late"), NULL, NULL});
}

/* ---- fixture ---- */

static struct transport *connect_pipe(void *ctx)
{
    struct fx *f = ctx;
    struct transport *ends[2];
    transport_new_pipe(f->loop, f->pipe_capacity, ends);
    http_server_adopt(f->server, ends[0], "pipe");
    return ends[1];
}

static void make_identities(struct fx *f)
{
    struct err err = ERR_INIT;
    usec now = FX_PKI_BEGIN;
    const char *groups[] = {"system:masters", "team", NULL};
    REQUIRE(pki_make_ca("test-ca", now, FX_PKI_LIFETIME, &f->ca, &err) == 0);
    REQUIRE(pki_issue(&f->ca, "server", NULL, "DNS:localhost,IP:127.0.0.1", now, FX_PKI_LIFETIME,
                      &f->server_id, &err) == 0);
    REQUIRE(pki_issue(&f->ca, "alice", groups, NULL, now, FX_PKI_LIFETIME, &f->client_id, &err) ==
            0);
    f->tls_server =
        tls_server_new(strbuf_str(&f->server_id.cert_pem), strbuf_str(&f->server_id.key_pem),
                       strbuf_str(&f->ca.cert_pem), &err);
    f->tls_client = tls_client_new(strbuf_str(&f->ca.cert_pem), STR_NONE, STR_NONE, false, &err);
    REQUIRE(f->tls_server && f->tls_client);
}

static void on_tick(struct loop_timer *t)
{
    loop_stop(t->loop, 0);
}

void fx_init(struct fx *f, enum fx_kind kind)
{
    *f = (struct fx){.kind = kind & ~FX_H2,
                     .is_h2 = kind & FX_H2,
                     .wait = USEC_PER_MSEC,
                     .pipe_capacity = 64 << 10};
    kind = f->kind;
    struct err err = ERR_INIT;
    f->loop = kind == FX_TCP_TLS ? loop_new_real(&err) : loop_new_virtual(7, NOW_2026);
    REQUIRE(f->loop);
    f->limits = http_default_limits;
    strbuf_init(&f->log, 1 << 20);
    strbuf_init(&f->who, 4096);
    strbuf_init(&f->address, 4096);
    loop_timer_init(f->loop, &f->tick, on_tick);
    if (kind != FX_PIPE)
        make_identities(f);
}

static int port_of(const char *address)
{
    str s = str_of(address);
    int64_t port = 0;
    (void)str_to_int(str_sub(s, (size_t)str_rfind_char(s, ':') + 1, s.len), &port);
    return (int)port;
}

void fx_start(struct fx *f)
{
    struct err err = ERR_INIT;
    bool is_pipe = f->kind != FX_TCP_TLS;
    struct http_server_options so = {.listen = is_pipe ? NULL : "127.0.0.1:0",
                                     .tls = f->tls_server,
                                     .limits = &f->limits,
                                     .handler = handle,
                                     .ctx = f};
    f->server = http_server_new(f->loop, &so, &err);
    REQUIRE(f->server);
    f->server->assumes_h2 = f->is_h2;
    struct http_client_options co = {.host = "127.0.0.1", .tls = f->tls_client, .port = 80};
    if (!is_pipe)
        co.port = port_of(http_server_address(f->server));
    f->client = http_client_new(f->loop, &co);
    f->client->offer = f->is_h2 ? TLS_OFFER_H2 : TLS_OFFER_H1;
    if (f->is_h2)
        f->client->speaks = CLIENT_UNKNOWN;
    if (is_pipe) {
        f->client->connect = connect_pipe;
        f->client->connect_ctx = f;
    }
}

void fx_done(struct fx *f)
{
    http_client_free(f->client);
    http_server_free(f->server);
    tls_server_free(f->tls_server);
    tls_client_free(f->tls_client);
    pki_identity_done(&f->ca);
    pki_identity_done(&f->server_id);
    pki_identity_done(&f->client_id);
    loop_timer_cancel(&f->tick);
    loop_free(f->loop);
    strbuf_done(&f->log);
    strbuf_done(&f->who);
    strbuf_done(&f->address);
    vec_done(&f->streams);
    CHECK_INT(f->n_closed, f->n_requests);
}

void fx_step(struct fx *f)
{
    usec until = loop_now(f->loop) + f->wait;
    if (f->kind != FX_TCP_TLS) {
        CHECK(loop_run_until(f->loop, until, 1000000));
        return;
    }
    loop_timer_set(&f->tick, until);
    (void)loop_run(f->loop);
}

/* ---- raw peer ---- */

static void raw_update(struct raw *r)
{
    if (r->t->is_open)
        transport_want(r->t, !r->is_deaf && !r->has_ended, r->out.len > 0);
}

static void raw_ready(struct transport *t, unsigned events)
{
    struct raw *r = t->ctx;
    if (!t->is_open && transport_open(t, NULL) != 0)
        return;
    for (ssize_t n = 1; n > 0 && !r->is_deaf && !r->has_ended && !r->has_failed;) {
        char buf[4096];
        n = transport_read(t, buf, sizeof(buf));
        if (n > 0)
            strbuf_add(&r->in, buf, (size_t)n);
        r->has_ended = n == 0;
        r->has_failed = n == TRANSPORT_ERROR;
    }
    while (r->out.len && !r->has_failed) {
        struct iovec iov = {r->out.p, r->out.len};
        ssize_t n = transport_writev(t, &iov, 1);
        if (n == TRANSPORT_AGAIN)
            break;
        if (n < 0)
            r->has_failed = true;
        else
            strbuf_consume(&r->out, (size_t)n);
    }
    if (r->has_failed)
        transport_close(t);
    else
        raw_update(r);
}

static struct transport *raw_connect(struct fx *f)
{
    if (f->kind != FX_TCP_TLS)
        return connect_pipe(f);
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    sa.sin_port = htons((uint16_t)port_of(http_server_address(f->server)));
    return transport_connect_tcp(f->loop, (struct sockaddr *)&sa, sizeof(sa), NULL);
}

static void raw_init(struct raw *r, struct fx *f, struct transport *t)
{
    REQUIRE(t);
    *r = (struct raw){.f = f, .t = t};
    strbuf_init(&r->in, 256 << 20);
    strbuf_init(&r->out, 256 << 20);
    t->on_ready = raw_ready;
    t->ctx = r;
}

void raw_adopt(struct raw *r, struct fx *f, struct transport *t)
{
    raw_init(r, f, t);
    raw_ready(t, 0);
}

void raw_open(struct raw *r, struct fx *f)
{
    raw_init(r, f, raw_connect(f));
    if (f->tls_client) {
        SSL *ssl = tls_client_session(f->tls_client, "127.0.0.1", NULL);
        tls_session_offer(ssl, f->is_h2 ? TLS_OFFER_H2 : TLS_OFFER_H1);
        transport_add_tls(r->t, ssl);
    }
    raw_ready(r->t, 0);
    WAIT_FOR(f, r->t->is_open);
}

void raw_send(struct raw *r, str s)
{
    strbuf_add_str(&r->out, s);
    if (!r->has_failed)
        raw_update(r);
}

void raw_listen(struct raw *r, bool on)
{
    r->is_deaf = !on;
    raw_update(r);
}

void raw_close(struct raw *r)
{
    transport_free(r->t);
    strbuf_done(&r->in);
    strbuf_done(&r->out);
}

size_t raw_count(const struct raw *r, const char *text)
{
    size_t n = 0;
    str rest = strbuf_str(&r->in), needle = str_of(text);
    for (ptrdiff_t at; (at = str_find(rest, needle)) >= 0; n++)
        rest = str_sub(rest, (size_t)at + needle.len, rest.len);
    return n;
}

bool raw_has(const struct raw *r, const char *text)
{
    return str_find(strbuf_str(&r->in), str_of(text)) >= 0;
}

/* ---- calls ---- */

static void call_headers(struct http_call *c, int status, const struct http_header *h, size_t n)
{
    struct fx_call *fc = container_of(c, struct fx_call, call);
    CHECK_INT(fc->n_headers++, 0);
    CHECK_INT(fc->n_end, 0);
    fc->status = status;
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&fc->headers, "%.*s: %.*s\n", STR_ARG(h[i].name), STR_ARG(h[i].value));
}

static void call_data(struct http_call *c, str data)
{
    struct fx_call *fc = container_of(c, struct fx_call, call);
    CHECK_INT(fc->n_headers, 1);
    fc->n_bytes += data.len;
    if (fc->keep_all || fc->body.len < 4096)
        strbuf_add_str(&fc->body, str_sub(data, 0, fc->keep_all ? data.len : 4096));
    if (fc->cancel_on_data)
        http_client_cancel(c->client, c);
}

static void call_end(struct http_call *c, const struct err *err)
{
    struct fx_call *fc = container_of(c, struct fx_call, call);
    CHECK_INT(fc->n_end++, 0);
    fc->is_ok = !err;
    if (err)
        fc->err = *err;
}

void fx_call_init(struct fx_call *c, const char *method, const char *path, str body)
{
    *c = (struct fx_call){.call = {.method = str_of(method),
                                   .path = str_of(path),
                                   .body = body,
                                   .timeout = 30 * USEC_PER_SEC,
                                   .on_headers = call_headers,
                                   .on_data = call_data,
                                   .on_end = call_end}};
    strbuf_init(&c->body, 32 << 20);
    strbuf_init(&c->headers, 1 << 20);
}

void fx_call_send(struct fx *f, struct fx_call *c)
{
    http_client_send(f->client, &c->call);
}

void fx_call_done(struct fx_call *c)
{
    strbuf_done(&c->body);
    strbuf_done(&c->headers);
}
