/*
 * The in-memory transport: two ends, each with a bounded buffer of bytes to read. Readiness is
 * level-triggered like epoll's: a deferred task calls the owner as long as what it wants is
 * possible. Needs neither descriptors nor threads, so tests of connections run in virtual time.
 */
#include <errno.h>

#include "base/strbuf.h"
#include "net/transport.h"

struct pipe_end {
    struct transport t; /* first: transport_free frees it */
    struct pipe_end *peer;
    struct strbuf in;
    bool in_ended; /* the peer writes no more */
    bool shut;     /* we write no more */
    struct loop_task task;
};

static struct pipe_end *end_of(struct transport *t)
{
    return container_of(t, struct pipe_end, t);
}

static unsigned end_ready(struct pipe_end *e)
{
    bool can_read = e->in.len || e->in_ended;
    bool can_write = !e->peer || e->peer->in.len < e->peer->in.max;
    return (can_read ? LOOP_READ : 0) | (can_write ? LOOP_WRITE_READY : 0);
}

static void end_notify(struct pipe_end *e)
{
    if (e && !e->t.is_closed && (end_ready(e) & e->t.wanted))
        loop_defer(e->t.loop, LOOP_APPLY, &e->task);
}

static void end_run(struct loop_task *task)
{
    struct pipe_end *e = container_of(task, struct pipe_end, task);
    unsigned events = end_ready(e) & e->t.wanted;
    if (events)
        e->t.on_ready(&e->t, events);
    end_notify(e);
}

static ssize_t pipe_read(struct transport *t, void *p, size_t n)
{
    struct pipe_end *e = end_of(t);
    if (!e->in.len)
        return e->in_ended ? 0 : TRANSPORT_AGAIN;
    n = MIN(n, e->in.len);
    memcpy(p, e->in.p, n);
    strbuf_consume(&e->in, n);
    end_notify(e->peer);
    return (ssize_t)n;
}

static ssize_t pipe_writev(struct transport *t, const struct iovec *iov, int n)
{
    struct pipe_end *e = end_of(t);
    if (!e->peer || e->shut) {
        t->error = EPIPE;
        return TRANSPORT_ERROR;
    }
    struct strbuf *to = &e->peer->in;
    size_t before = to->len;
    for (int i = 0; i < n; i++)
        strbuf_add(to, iov[i].iov_base, MIN(iov[i].iov_len, to->max - to->len));
    end_notify(e->peer);
    return to->len > before ? (ssize_t)(to->len - before) : TRANSPORT_AGAIN;
}

static void pipe_want(struct transport *t, unsigned events)
{
    end_notify(end_of(t));
}

static void pipe_shutdown(struct transport *t)
{
    struct pipe_end *e = end_of(t);
    e->shut = true;
    if (e->peer) {
        e->peer->in_ended = true;
        end_notify(e->peer);
    }
}

static void pipe_close(struct transport *t)
{
    struct pipe_end *e = end_of(t);
    pipe_shutdown(t);
    if (e->peer) {
        e->peer->peer = NULL;
        end_notify(e->peer);
    }
    e->peer = NULL;
    loop_task_cancel(&e->task);
    strbuf_done(&e->in);
}

static const struct transport_ops pipe_ops = {
    .read = pipe_read,
    .writev = pipe_writev,
    .want = pipe_want,
    .shutdown = pipe_shutdown,
    .close = pipe_close,
};

void transport_new_pipe(struct loop *l, size_t capacity, struct transport *ret[2])
{
    struct pipe_end *e[2] = {xnew(struct pipe_end), xnew(struct pipe_end)};
    for (int i = 0; i < 2; i++) {
        e[i]->t.ops = &pipe_ops;
        e[i]->t.loop = l;
        e[i]->t.is_connected = true;
        e[i]->peer = e[!i];
        strbuf_init(&e[i]->in, capacity);
        loop_task_init(&e[i]->task, end_run);
        ret[i] = &e[i]->t;
    }
}
