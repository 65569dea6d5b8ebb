/* Tunnels over a pipe: the test is the proxy, byte by byte. */
#include "base/test.h"
#include "net/tunnel.h"

#define START (1767225600 * USEC_PER_SEC)

struct rig {
    struct loop *loop;
    struct transport *tunnel, *proxy;
    int state; /* of transport_open */
    struct err err;
};

static void on_tunnel(struct transport *t, unsigned events)
{
    struct rig *r = t->ctx;
    (void)events;
    if (r->state == TRANSPORT_AGAIN)
        r->state = transport_open(t, &r->err);
    if (r->state != TRANSPORT_AGAIN)
        transport_want(t, false, false);
}

static void on_proxy(struct transport *t, unsigned events)
{
    (void)t;
    (void)events;
}

static void rig_init(struct rig *r, size_t capacity, const char *authorization)
{
    struct transport *ends[2];
    *r = (struct rig){.loop = loop_new_virtual(1, START), .err = ERR_INIT};
    transport_new_pipe(r->loop, capacity, ends);
    r->tunnel = transport_new_tunnel(ends[0], "api.example:6443", authorization, "proxy:3128");
    r->tunnel->on_ready = on_tunnel;
    r->tunnel->ctx = r;
    r->proxy = ends[1];
    r->proxy->on_ready = on_proxy;
    r->state = transport_open(r->tunnel, &r->err);
}

static void turn(struct rig *r)
{
    REQUIRE(loop_run_until(r->loop, loop_now(r->loop) + 1000, 100000));
}

static void rig_done(struct rig *r)
{
    transport_free(r->tunnel);
    transport_free(r->proxy);
    loop_free(r->loop);
}

/* All that the proxy has been sent, however narrow the pipe. */
static str hear(struct rig *r, char *buf, size_t max)
{
    size_t len = 0;
    for (int i = 0; i < 500; i++) {
        ssize_t n = transport_read(r->proxy, buf + len, max - len);
        len += n > 0 ? (size_t)n : 0;
        turn(r);
    }
    return str_n(buf, len);
}

static void say(struct rig *r, str text)
{
    while (text.len) {
        struct iovec iov = {(void *)text.p, text.len};
        ssize_t n = transport_writev(r->proxy, &iov, 1);
        if (n > 0)
            text = str_sub(text, (size_t)n, text.len);
        turn(r);
    }
}

static void check_good(size_t capacity)
{
    struct rig r;
    char buf[512];
    rig_init(&r, capacity, "Basic dTpw");
    CHECK_INT(r.state, TRANSPORT_AGAIN);
    CHECK_CSTR(hear(&r, buf, sizeof(buf)), "CONNECT api.example:6443 HTTP/1.1\r\n"
                                           "Host: api.example:6443\r\n"
                                           "Proxy-Authorization: Basic dTpw\r\n\r\n");
    /* What follows the answer is the target's, and must be left for whoever is above. */
    say(&r, STR("HTTP/1.1 200 Connection established\r\nVia: me\r\n\r\nXYZ"));
    turn(&r);
    CHECK_INT(r.state, 0);
    memset(buf, 0, sizeof(buf));
    size_t len = 0;
    for (int i = 0; i < 10; i++) {
        ssize_t n = transport_read(r.tunnel, buf + len, 1);
        len += n > 0 ? (size_t)n : 0;
        turn(&r);
    }
    CHECK_CSTR(str_n(buf, len), "XYZ");
    rig_done(&r);
}

TEST(tunnel_asks_the_proxy_and_leaves_the_targets_bytes_alone)
{
    check_good(4096);
    check_good(3);
}

TEST(tunnel_without_user_says_none)
{
    struct rig r;
    char buf[512];
    rig_init(&r, 4096, NULL);
    CHECK_CSTR(hear(&r, buf, sizeof(buf)),
               "CONNECT api.example:6443 HTTP/1.1\r\nHost: api.example:6443\r\n\r\n");
    rig_done(&r);
}

static void check_bad(str answer, bool end, const char *says)
{
    struct rig r;
    char buf[512];
    rig_init(&r, 4096, NULL);
    (void)hear(&r, buf, sizeof(buf));
    say(&r, answer);
    if (end)
        transport_shutdown(r.proxy);
    turn(&r);
    CHECK_INT(r.state, TRANSPORT_ERROR);
    CHECK_INT(r.err.code, ERR_UNAVAILABLE);
    CHECK_CSTR(str_of(r.err.message), says);
    rig_done(&r);
}

TEST(tunnel_says_what_a_proxy_refused)
{
    check_bad(STR("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"), false,
              "proxy proxy:3128: it answers 407 Proxy Authentication Required");
    check_bad(STR("HTTP/1.0 503 bad\x1b[31m gateway\r\n\r\n"), false,
              "proxy proxy:3128: it answers 503 bad?[31m gateway");
    check_bad(STR("SSH-2.0-x\r\n\r\n"), false, "proxy proxy:3128: what it answers is not HTTP");
    check_bad(STR("HTTP/1.1 200 OK\r\n"), true, "proxy proxy:3128: it closed the connection");
}

TEST(tunnel_an_endless_answer_is_given_up)
{
    struct rig r;
    rig_init(&r, 4096, NULL);
    for (int i = 0; i < 2000 && r.state == TRANSPORT_AGAIN; i++)
        say(&r, STR("0123456789"));
    CHECK_INT(r.state, TRANSPORT_ERROR);
    CHECK_CSTR(str_of(r.err.message), "proxy proxy:3128: it answers too much");
    rig_done(&r);
}
