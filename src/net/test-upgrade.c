/*
 * Other protocols over HTTP/1.1: an exchange becomes a tunnel (http_upgrade), and a request that is
 * passed on becomes one (upstream.h). The handler here echoes what it gets in brackets.
 */
#include "net/test-net-fixture.h"
#include "net/upstream.h"

#define UPGRADE(more)                                                                              \
    "GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: echo\r\n" more \
    "\r\n"

/* ---- a server that upgrades ---- */

struct echo {
    struct http_server *server;
    struct http_exchange *x; /* the tunnel, while it is open */
    struct strbuf got;
    bool can, has_ended, closed, aborted, holds;
    str more, protocol; /* headers of the reply; no protocol: "echo" */
};

static void on_input(struct http_exchange *x, str data)
{
    struct echo *e = x->ctx;
    strbuf_add_str(&e->got, data);
    struct http_slice parts[] = {{.data = STR("[")}, {.data = data}, {.data = STR("]")}};
    http_stream_write(x, parts, ARRAY_LEN(parts));
    if (e->holds)
        http_hold_input(x, true);
}

static void on_input_end(struct http_exchange *x)
{
    struct echo *e = x->ctx;
    struct http_slice last = {.data = STR("<end>")};
    e->has_ended = true;
    http_stream_write(x, &last, 1);
    http_stream_end(x);
}

static void on_close(struct http_exchange *x)
{
    struct echo *e = x->ctx;
    e->closed = true;
    e->aborted = x->aborted;
    e->x = NULL;
}

static void handle(void *ctx, struct http_exchange *x)
{
    struct echo *e = ctx;
    struct http_header h[] = {{STR("x-more"), e->more},
                              {STR("x-more-again"), e->more},
                              {STR("upgrade"), e->protocol.len ? e->protocol : STR("echo")}};
    size_t from = e->more.len ? 0 : 2;
    x->ctx = e;
    x->on_close = on_close;
    x->on_input = on_input;
    x->on_input_end = on_input_end;
    e->can = http_can_upgrade(x);
    if (e->can) {
        e->x = x;
        http_upgrade(x, h + from, ARRAY_LEN(h) - from);
    } else {
        http_reply(x, 400, NULL, 0, (struct http_slice){STR("no"), NULL, NULL});
    }
}

static void echo_init(struct echo *e, struct fx *f, enum fx_kind kind)
{
    struct err err = ERR_INIT;
    *e = (struct echo){0};
    strbuf_init(&e->got, 64 << 20);
    fx_init(f, kind);
    struct http_server_options o = {.listen = kind == FX_TCP_TLS ? "127.0.0.1:0" : NULL,
                                    .tls = kind == FX_PIPE ? NULL : f->tls_server,
                                    .limits = &f->limits,
                                    .handler = handle,
                                    .ctx = e};
    e->server = http_server_new(f->loop, &o, &err);
    REQUIRE(e->server);
}

static void echo_done(struct echo *e, struct fx *f)
{
    http_server_free(e->server);
    strbuf_done(&e->got);
    fx_done(f);
}

static void raw_to(struct raw *r, struct echo *e, struct fx *f)
{
    struct transport *ends[2];
    transport_new_pipe(f->loop, 64 << 10, ends);
    http_server_adopt(e->server, ends[0], "pipe");
    raw_adopt(r, f, ends[1]);
}

TEST(upgrade_carries_bytes_both_ways)
{
    struct fx f;
    struct echo e;
    struct raw r;
    echo_init(&e, &f, FX_PIPE);
    raw_to(&r, &e, &f);
    /* some of them right behind the request */
    raw_send(&r, STR(UPGRADE("") "early"));
    WAIT_FOR(&f, raw_has(&r, "[early]"));
    CHECK(str_starts(strbuf_str(&r.in), STR("HTTP/1.1 101 Switching Protocols\r\nconnection: "
                                            "Upgrade\r\nupgrade: echo\r\n\r\n[early]")));
    /* nothing of it is taken for HTTP */
    raw_send(&r, STR("GET / HTTP/1.1\r\n\r\n\0\xff"));
    WAIT_FOR(&f, raw_has(&r, "[GET / HTTP/1.1\r\n\r\n"));
    CHECK(!e.closed);
    http_stream_end(e.x);
    WAIT_FOR(&f, r.has_ended);
    WAIT_FOR(&f, e.closed);
    CHECK(!e.aborted);
    raw_close(&r);
    echo_done(&e, &f);
}

/* Headers come from others: what they are must not matter to us. */
TEST(upgrade_headers_that_are_too_long_are_left_out)
{
    enum { LONG = 40 << 10, TOO_LONG = 70000 };
    static const struct {
        size_t more, protocol;
        const char *want;
    } cases[] = {
        {LONG, 0, "\r\nupgrade: echo\r\nx-more: xxx"},
        {TOO_LONG, 0, "\r\nupgrade: echo\r\n\r\n"},
        {0, TOO_LONG, "connection: Upgrade\r\n\r\n"},
        {LONG, LONG, "connection: Upgrade\r\nx-more: xxx"},
    };
    char *text = xmalloc(TOO_LONG);
    memset(text, 'x', TOO_LONG);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fx f;
        struct echo e;
        struct raw r;
        echo_init(&e, &f, FX_PIPE);
        e.more = str_n(text, cases[i].more);
        e.protocol = str_n(text, cases[i].protocol);
        raw_to(&r, &e, &f);
        raw_send(&r, STR(UPGRADE("") "early"));
        WAIT_FOR(&f, raw_has(&r, "[early]"));
        CHECK(raw_has(&r, cases[i].want));
        CHECK(!raw_has(&r, "x-more-again") && r.in.len < 64 << 10);
        raw_close(&r);
        echo_done(&e, &f);
    }
    free(text);
}

TEST(upgrade_needs_to_be_asked_for)
{
    static const char *const requests[] = {
        "GET /tunnel HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /tunnel HTTP/1.1\r\nHost: a\r\nUpgrade: echo\r\n\r\n",
        "GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\n\r\n",
        "GET /tunnel HTTP/1.0\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n",
        "POST /tunnel HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n"
        "Content-Length: 2\r\n\r\nab",
        "POST /tunnel HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        struct fx f;
        struct echo e;
        struct raw r;
        echo_init(&e, &f, FX_PIPE);
        raw_to(&r, &e, &f);
        raw_send(&r, str_of(requests[i]));
        WAIT_FOR(&f, raw_has(&r, "no"));
        CHECK(!e.can);
        raw_close(&r);
        echo_done(&e, &f);
    }
}

TEST(upgrade_input_that_is_held_waits)
{
    enum { SENT = 1 << 20 };
    struct fx f;
    struct echo e;
    struct raw r;
    echo_init(&e, &f, FX_PIPE);
    raw_to(&r, &e, &f);
    raw_send(&r, STR(UPGRADE("")));
    WAIT_FOR(&f, e.x);
    e.holds = true;
    char *bytes = xcalloc(1, SENT);
    raw_send(&r, str_n(bytes, SENT));
    WAIT_FOR(&f, e.got.len > 0);
    for (int i = 0; i < 200; i++)
        fx_step(&f);
    /* one turn's bytes and no more, of which the rest is in bounded buffers */
    CHECK(e.got.len <= 64 << 10);
    CHECK(!e.closed);
    e.holds = false;
    http_hold_input(e.x, false);
    WAIT_FOR(&f, e.got.len == SENT);
    free(bytes);
    raw_close(&r);
    echo_done(&e, &f);
}

TEST(upgrade_the_end_of_the_peers_bytes_is_not_the_end)
{
    struct fx f;
    struct echo e;
    struct raw r;
    echo_init(&e, &f, FX_PIPE);
    raw_to(&r, &e, &f);
    raw_send(&r, STR(UPGRADE("") "last"));
    WAIT_FOR(&f, raw_has(&r, "[last]"));
    transport_shutdown(r.t);
    WAIT_FOR(&f, raw_has(&r, "[last]<end>"));
    WAIT_FOR(&f, e.closed);
    CHECK(e.has_ended && !e.aborted);
    raw_close(&r);
    echo_done(&e, &f);
}

TEST(upgrade_a_tunnel_may_be_quiet)
{
    struct fx f;
    struct echo e;
    struct raw r;
    echo_init(&e, &f, FX_PIPE);
    raw_to(&r, &e, &f);
    raw_send(&r, STR(UPGRADE("")));
    WAIT_FOR(&f, e.x);
    f.wait = USEC_PER_MIN;
    for (int i = 0; i < 60; i++)
        fx_step(&f);
    CHECK(!e.closed);
    f.wait = USEC_PER_MSEC;
    raw_send(&r, STR("still here"));
    WAIT_FOR(&f, raw_has(&r, "[still here]"));
    raw_close(&r);
    echo_done(&e, &f);
}

/* ---- passing on, over TCP and TLS ---- */

struct passed {
    struct upstream *up;
    struct strbuf got;
    int status;
    bool ended, failed, drained;
    bool holds;       /* what comes after the head */
    bool holds_bytes; /* what comes after the first bytes */
    struct err err;
};

static void up_head(void *ctx, int status, const struct http_header *h, size_t n)
{
    (void)h;
    (void)n;
    struct passed *p = ctx;
    p->status = status;
    if (p->holds)
        upstream_hold(p->up, true);
}

static void up_data(void *ctx, str data)
{
    struct passed *p = ctx;
    strbuf_add_str(&p->got, data);
    if (p->holds_bytes)
        upstream_hold(p->up, true);
}

static void up_drain(void *ctx)
{
    ((struct passed *)ctx)->drained = true;
}

static void up_end(void *ctx, const struct err *err)
{
    struct passed *p = ctx;
    p->ended = true;
    p->failed = err != NULL;
    if (err)
        p->err = *err;
}

struct up_rig {
    struct fx f;
    struct tls_client *tls;
    struct passed p;
    int port;
};

static int port_of(struct http_server *s)
{
    str address = str_of(http_server_address(s));
    uint64_t port = 0;
    ptrdiff_t colon = str_rfind_char(address, ':');
    REQUIRE(str_to_uint(str_sub(address, (size_t)colon + 1, address.len), &port));
    return (int)port;
}

static void up_rig_init(struct up_rig *r)
{
    struct err err = ERR_INIT;
    r->p = (struct passed){.err = ERR_INIT};
    strbuf_init(&r->p.got, 64 << 20);
    r->tls = tls_client_new(STR_NONE, strbuf_str(&r->f.client_id.cert_pem),
                            strbuf_str(&r->f.client_id.key_pem), true, &err);
    REQUIRE(r->tls);
}

static void up_rig_done(struct up_rig *r)
{
    upstream_free(r->p.up);
    for (int i = 0; i < 5; i++)
        fx_step(&r->f);
    tls_client_free(r->tls);
    strbuf_done(&r->p.got);
}

static struct upstream_options up_options(struct up_rig *r, const char *target)
{
    return (struct upstream_options){.host = "127.0.0.1",
                                     .port = r->port,
                                     .tls = r->tls,
                                     .ca_pem = strbuf_str(&r->f.ca.cert_pem),
                                     .name = "localhost",
                                     .method = STR("GET"),
                                     .target = str_of(target),
                                     .head_timeout = 10 * USEC_PER_SEC,
                                     .on_head = up_head,
                                     .on_data = up_data,
                                     .on_drain = up_drain,
                                     .on_end = up_end,
                                     .ctx = &r->p};
}

TEST(upstream_passes_a_reply_on_in_pieces)
{
    struct up_rig r;
    fx_init(&r.f, FX_TCP_TLS);
    fx_start(&r.f);
    up_rig_init(&r);
    r.port = port_of(r.f.server);
    r.f.big = 5 << 20;
    struct upstream_options o = up_options(&r, "/big");
    r.p.up = upstream_new(r.f.loop, &o, NULL);
    REQUIRE(r.p.up);
    r.p.holds = true;
    WAIT_FOR(&r.f, r.p.status == 200);
    CHECK(upstream_is_verified(r.p.up));
    for (int i = 0; i < 100; i++)
        fx_step(&r.f);
    CHECK(r.p.got.len <= 128 << 10);
    CHECK(!r.p.ended);
    upstream_hold(r.p.up, false);
    WAIT_FOR(&r.f, r.p.ended);
    CHECK(!r.p.failed);
    CHECK_INT(r.p.got.len, r.f.big + 10);
    up_rig_done(&r);
    fx_done(&r.f);
}

TEST(upstream_that_is_held_at_its_last_byte_ends)
{
    struct up_rig r;
    fx_init(&r.f, FX_TCP_TLS);
    fx_start(&r.f);
    up_rig_init(&r);
    r.port = port_of(r.f.server);
    struct upstream_options o = up_options(&r, "/hello");
    r.p.holds_bytes = true;
    r.p.up = upstream_new(r.f.loop, &o, NULL);
    REQUIRE(r.p.up);
    WAIT_FOR(&r.f, r.p.ended);
    CHECK(!r.p.failed);
    CHECK_CSTR(strbuf_str(&r.p.got), "hello");
    up_rig_done(&r);
    fx_done(&r.f);
}

TEST(upstream_becomes_a_tunnel)
{
    struct up_rig r;
    struct echo e;
    echo_init(&e, &r.f, FX_TCP_TLS);
    up_rig_init(&r);
    r.port = port_of(e.server);
    static const struct http_header h[] = {{STR_INIT("upgrade"), STR_INIT("echo")}};
    struct upstream_options o = up_options(&r, "/tunnel");
    o.headers = h;
    o.n_headers = 1;
    r.p.up = upstream_new(r.f.loop, &o, NULL);
    REQUIRE(r.p.up);
    WAIT_FOR(&r.f, r.p.status == 101);
    upstream_write(r.p.up, STR("hello"));
    WAIT_FOR(&r.f, str_find(strbuf_str(&r.p.got), STR("[hello]")) >= 0);
    upstream_end(r.p.up);
    WAIT_FOR(&r.f, r.p.ended);
    CHECK(!r.p.failed);
    CHECK_CSTR(strbuf_str(&r.p.got), "[hello]<end>");
    up_rig_done(&r);
    echo_done(&e, &r.f);
}

TEST(upstream_can_be_let_go_of_at_any_time)
{
    for (int steps = 0; steps < 12; steps++) {
        struct up_rig r;
        fx_init(&r.f, FX_TCP_TLS);
        fx_start(&r.f);
        up_rig_init(&r);
        r.port = port_of(r.f.server);
        r.f.big = 1 << 20;
        struct upstream_options o = up_options(&r, "/big");
        r.p.up = upstream_new(r.f.loop, &o, NULL);
        REQUIRE(r.p.up);
        for (int i = 0; i < steps; i++)
            fx_step(&r.f);
        bool ended = r.p.ended;
        upstream_free(TAKE_PTR(r.p.up));
        for (int i = 0; i < 20; i++)
            fx_step(&r.f);
        CHECK(r.p.ended == ended);
        up_rig_done(&r);
        fx_done(&r.f);
    }
}

TEST(upstream_that_is_not_there_says_so)
{
    struct up_rig r;
    fx_init(&r.f, FX_TCP_TLS);
    fx_start(&r.f);
    up_rig_init(&r);
    r.port = 1;
    struct upstream_options o = up_options(&r, "/hello");
    r.p.up = upstream_new(r.f.loop, &o, &r.p.err);
    WAIT_FOR(&r.f, !r.p.up || r.p.ended);
    CHECK(strstr(r.p.err.message, "refused") != NULL);
    o.target = STR("no path");
    CHECK(!upstream_new(r.f.loop, &o, &r.p.err));
    o.target = STR("/hello");
    o.host = "name.example";
    CHECK(!upstream_new(r.f.loop, &o, &r.p.err));
    up_rig_done(&r);
    fx_done(&r.f);
}

TEST(upstream_with_a_certificate_of_ours_must_be_the_one_that_is_meant)
{
    struct up_rig r;
    fx_init(&r.f, FX_TCP_TLS);
    fx_start(&r.f);
    up_rig_init(&r);
    r.port = port_of(r.f.server);
    struct pki_identity other;
    REQUIRE(pki_make_ca("other", FX_PKI_BEGIN, FX_PKI_LIFETIME, &other, NULL) == 0);
    /* somebody else's is taken, unless it must not be */
    struct upstream_options o = up_options(&r, "/hello");
    o.ca_pem = strbuf_str(&other.cert_pem);
    r.p.up = upstream_new(r.f.loop, &o, NULL);
    WAIT_FOR(&r.f, r.p.ended);
    CHECK(!r.p.failed && !upstream_is_verified(r.p.up));
    upstream_free(TAKE_PTR(r.p.up));
    r.p.ended = false;
    o.must_verify = true;
    r.p.up = upstream_new(r.f.loop, &o, NULL);
    WAIT_FOR(&r.f, r.p.ended);
    CHECK(r.p.failed && strstr(r.p.err.message, "not signed by our authority") != NULL);
    pki_identity_done(&other);
    up_rig_done(&r);
    fx_done(&r.f);
}
