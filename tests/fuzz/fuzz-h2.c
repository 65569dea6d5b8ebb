/*
 * HTTP/2 connections, both roles, on a pipe in virtual time: whatever the peer sends, every request
 * a handler saw is closed once, every call ends once, and nothing is left behind. The first byte
 * chooses the role and the size of the pieces; a server is spoken to after the client's preface.
 */
#include "fuzz.h"
#include "net/client.h"
#include "net/http_server.h"

enum { CALLS = 4, MAX_STEPS = 100000 };

struct run {
    struct loop *loop;
    struct transport *peer;
    unsigned n_handled, n_closed, n_ended;
    struct http_exchange *waiting; /* answered at the end */
};

/* ---- the peer ---- */

static void on_ready(struct transport *t, unsigned events)
{
    char buf[4096];
    if (transport_read(t, buf, sizeof(buf)) <= 0)
        transport_want(t, false, false);
}

static void say(struct run *r, str in, size_t step)
{
    while (in.len) {
        size_t n = MIN(in.len, step);
        struct iovec iov = {(char *)in.p, n};
        ssize_t done = transport_writev(r->peer, &iov, 1);
        if (done == TRANSPORT_ERROR)
            return;
        if (done > 0)
            in = str_sub(in, (size_t)done, in.len);
        (void)loop_run_until(r->loop, loop_now(r->loop), MAX_STEPS);
    }
}

static struct transport *open_pipe(struct run *r)
{
    struct transport *ends[2];
    transport_new_pipe(r->loop, 1 << 16, ends);
    r->peer = ends[0];
    r->peer->on_ready = on_ready;
    r->peer->is_open = true;
    transport_want(r->peer, true, false);
    return ends[1];
}

static void finish(struct run *r)
{
    (void)loop_run_until(r->loop, loop_now(r->loop) + USEC_PER_SEC, MAX_STEPS);
    transport_close(r->peer);
    BUG_ON(!loop_run_until(r->loop, loop_now(r->loop) + 1000 * USEC_PER_SEC, MAX_STEPS));
}

/* ---- a server ---- */

static void on_close(struct http_exchange *x)
{
    struct run *r = x->ctx;
    r->n_closed++;
    if (r->waiting == x)
        r->waiting = NULL;
}

static void handle(void *ctx, struct http_exchange *x)
{
    static const char text[200000];
    struct run *r = ctx;
    x->ctx = r;
    x->on_close = on_close;
    BUG_ON(!x->path.len || x->path.p[0] != '/' || x->body.len > http_default_limits.max_body);
    struct http_header h = {STR("content-type"), STR("text/plain")};
    struct http_slice s = {str_n(text, 50 + x->body.len % 50), NULL, NULL};
    if (r->n_handled++ % 4 == 0) {
        s.data.len = sizeof(text);
        http_reply(x, 200, &h, 1, s);
    } else if (r->n_handled % 4 == 1) {
        http_stream_begin(x, 200, &h, 1);
        http_stream_write(x, &s, 1);
        http_stream_write(x, &s, 1);
        http_stream_end(x);
    } else if (r->n_handled % 4 == 2 && !r->waiting) {
        r->waiting = x;
        http_stream_begin(x, 200, &h, 1);
    } else {
        http_reply(x, 200, &h, 1, s);
    }
}

static void fuzz_server(struct run *r, str in, size_t step)
{
    struct http_limits limits = http_default_limits;
    limits.max_body = 10000;
    limits.max_pending = 100000;
    limits.max_streams = 8;
    limits.max_header_bytes = 2000;
    struct http_server_options o = {.limits = &limits, .handler = handle, .ctx = r};
    struct http_server *server = http_server_new(r->loop, &o, NULL);
    server->assumes_h2 = true;
    http_server_adopt(server, open_pipe(r), "fuzz");
    say(r, STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), SIZE_MAX);
    say(r, in, step);
    if (r->waiting)
        http_stream_end(r->waiting);
    finish(r);
    BUG_ON(server->n_conns || server->gzip.n_jobs);
    http_server_free(server);
    BUG_ON(r->n_handled != r->n_closed);
}

/* ---- a client ---- */

static struct transport *connect_once(void *ctx)
{
    struct run *r = ctx;
    return r->peer ? NULL : open_pipe(r);
}

static void on_headers(struct http_call *c, int status, const struct http_header *h, size_t n)
{
    BUG_ON(status < 200 || status > 999);
    for (size_t i = 0; i < n; i++)
        BUG_ON(!h[i].name.len || h[i].name.p[0] == ':');
}

static void on_data(struct http_call *c, str data)
{
    BUG_ON(!c->client);
}

static void on_end(struct http_call *c, const struct err *err)
{
    ((struct run *)c->ctx)->n_ended++;
}

static void fuzz_client(struct run *r, str in, size_t step)
{
    static const char body[30000];
    struct http_client_options o = {.host = "127.0.0.1", .port = 1};
    struct http_client *client = http_client_new(r->loop, &o);
    client->offer = TLS_OFFER_H2;
    client->speaks = CLIENT_H2;
    client->connect = connect_once;
    client->connect_ctx = r;
    struct http_call calls[CALLS];
    for (size_t i = 0; i < CALLS; i++) {
        calls[i] = (struct http_call){.method = i % 2 ? STR("POST") : STR("GET"),
                                      .path = STR("/"),
                                      .body = str_n(body, i % 2 ? sizeof(body) : 0),
                                      .timeout = 100 * USEC_PER_SEC,
                                      .on_headers = on_headers,
                                      .on_data = on_data,
                                      .on_end = on_end,
                                      .ctx = r};
        http_client_send(client, &calls[i]);
    }
    (void)loop_run_until(r->loop, loop_now(r->loop), MAX_STEPS);
    say(r, in, step);
    finish(r);
    BUG_ON(client->n_conns);
    http_client_free(client);
    BUG_ON(r->n_ended != CALLS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 1 << 16)
        return 0;
    struct run r = {.loop = loop_new_virtual(1, 0)};
    str in = str_n((const char *)data + 1, size - 1);
    size_t step = data[0] & 2 ? 1 + (data[0] >> 2) : 1 << 16;
    if (data[0] & 1)
        fuzz_client(&r, in, step);
    else
        fuzz_server(&r, in, step);
    transport_free(r.peer);
    loop_free(r.loop);
    return 0;
}
