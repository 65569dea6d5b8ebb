/* The part of test-front-fixture.h that looks inside net/: connections without sockets. */
#include "net/client.h"
#include "net/http_server.h"

#include "apiserver/front/test-front-pipe.h"

struct transport *front_pipe_connect(void *ctx)
{
    const struct front_pipe *p = ctx;
    struct transport *ends[2];
    transport_new_pipe(p->loop, p->capacity, ends);
    http_server_adopt(p->server, ends[0], "pipe");
    return ends[1];
}

struct http_client *front_pipe_client(struct front_pipe *p)
{
    struct http_client_options o = {.host = "127.0.0.1", .port = 80};
    struct http_client *c = http_client_new(p->loop, &o);
    c->connect = front_pipe_connect;
    c->connect_ctx = p;
    return c;
}

static void peer_ready(struct transport *t, unsigned events)
{
    struct front_peer *r = t->ctx;
    if (!t->is_open && transport_open(t, NULL) != 0)
        return;
    for (ssize_t n = 1; n > 0 && !r->is_deaf && !r->has_ended;) {
        char buf[4096];
        n = transport_read(t, buf, sizeof(buf));
        if (n > 0)
            strbuf_add(&r->in, buf, (size_t)n);
        r->has_ended = n == 0 || n == TRANSPORT_ERROR;
    }
    while (r->out.len && !r->has_ended) {
        struct iovec iov = {r->out.p, r->out.len};
        ssize_t n = transport_writev(t, &iov, 1);
        if (n <= 0)
            break;
        strbuf_consume(&r->out, (size_t)n);
    }
    transport_want(t, !r->is_deaf && !r->has_ended, r->out.len > 0);
}

void front_peer_open(struct front_peer *r, struct front_pipe *p)
{
    *r = (struct front_peer){0};
    strbuf_init(&r->in, 256 << 20);
    strbuf_init(&r->out, 256 << 20);
    r->t = front_pipe_connect(p);
    r->t->on_ready = peer_ready;
    r->t->ctx = r;
    peer_ready(r->t, 0);
}

void front_peer_send(struct front_peer *r, str s)
{
    strbuf_add_str(&r->out, s);
    peer_ready(r->t, 0);
}

void front_peer_listen(struct front_peer *r, bool on)
{
    r->is_deaf = !on;
    peer_ready(r->t, 0);
}

void front_peer_close(struct front_peer *r)
{
    transport_free(r->t);
    strbuf_done(&r->in);
    strbuf_done(&r->out);
}
