/* See tunnel.h. The answer's head is read byte by byte: it is short, and comes once per connection.
 */
#include "net/tunnel.h"

#include "base/strbuf.h"

enum { MAX_ASK = 16 << 10, MAX_ANSWER = 16 << 10 };

struct tunnel {
    struct transport t; /* first: transport_free frees it */
    struct strbuf ask;  /* what is left to be sent from `sent` on */
    size_t sent;
    struct strbuf answer;
    const char *name;
    char why[256];
    char name_text[];
};

static struct tunnel *tunnel_of(struct transport *t)
{
    return container_of(t, struct tunnel, t);
}

static ssize_t below_result(struct transport *t, ssize_t n)
{
    if (n == TRANSPORT_ERROR)
        t->error = t->below->error;
    return n;
}

static ssize_t tunnel_read(struct transport *t, void *p, size_t n)
{
    return below_result(t, t->below->ops->read(t->below, p, n));
}

static ssize_t tunnel_writev(struct transport *t, const struct iovec *iov, int n)
{
    return below_result(t, t->below->ops->writev(t->below, iov, n));
}

/* ---- connecting ---- */

static int refuse(struct tunnel *u, const char *what, str detail)
{
    int n = snprintf(u->why, sizeof(u->why), "proxy %s: %s%.*s", u->name, what,
                     (int)MIN(detail.len, (size_t)100), detail.len ? detail.p : "");
    for (int i = 0; i < n && i < (int)sizeof(u->why) - 1; i++) {
        if (u->why[i] < ' ' || u->why[i] > '~')
            u->why[i] = '?';
    }
    u->t.why = u->why;
    return TRANSPORT_ERROR;
}

static int send_ask(struct tunnel *u)
{
    while (u->sent < u->ask.len) {
        struct iovec iov = {u->ask.p + u->sent, u->ask.len - u->sent};
        ssize_t n = tunnel_writev(&u->t, &iov, 1);
        if (n < 0)
            return (int)n;
        u->sent += (size_t)n;
    }
    return 0;
}

/* "HTTP/1.1 200 Connection established" */
static int judge(struct tunnel *u)
{
    str line = strbuf_str(&u->answer);
    line = str_trim(str_cut(&line, '\n'));
    str status = line;
    str version = str_cut(&status, ' ');
    if (!str_starts(version, STR("HTTP/1.")) || status.len < 3)
        return refuse(u, "what it answers is not HTTP", STR_NONE);
    if (status.p[0] != '2')
        return refuse(u, "it answers ", status);
    strbuf_done(&u->ask);
    strbuf_done(&u->answer);
    return 0;
}

static int read_answer(struct tunnel *u)
{
    for (;;) {
        char byte;
        ssize_t n = tunnel_read(&u->t, &byte, 1);
        if (n == 0)
            return refuse(u, "it closed the connection", STR_NONE);
        if (n < 0)
            return (int)n;
        strbuf_add_char(&u->answer, byte);
        str all = strbuf_str(&u->answer);
        if (u->answer.overflow)
            return refuse(u, "it answers too much", STR_NONE);
        if (str_ends(all, STR("\r\n\r\n")) || str_ends(all, STR("\n\n")))
            return judge(u);
    }
}

static int tunnel_connect(struct transport *t)
{
    struct tunnel *u = tunnel_of(t);
    if (!t->below->is_connected) {
        int r = t->below->ops->connect(t->below);
        if (r < 0)
            return (int)below_result(t, r);
        t->below->is_connected = true;
    }
    int r = send_ask(u);
    t->reads_first = r == 0;
    return r ? r : read_answer(u);
}

/* ---- the rest is what is below ---- */

static void tunnel_want(struct transport *t, unsigned events)
{
    transport_want(t->below, events & LOOP_READ, events & LOOP_WRITE_READY);
}

static void tunnel_shutdown(struct transport *t)
{
    t->below->ops->shutdown(t->below);
}

static void tunnel_close(struct transport *t)
{
    struct tunnel *u = tunnel_of(t);
    strbuf_done(&u->ask);
    strbuf_done(&u->answer);
    transport_close(t->below);
}

static void on_below(struct transport *below, unsigned events)
{
    struct transport *t = below->ctx;
    t->on_ready(t, events);
}

static const struct transport_ops tunnel_ops = {
    .read = tunnel_read,
    .writev = tunnel_writev,
    .connect = tunnel_connect,
    .want = tunnel_want,
    .shutdown = tunnel_shutdown,
    .close = tunnel_close,
};

struct transport *transport_new_tunnel(struct transport *below, const char *target,
                                       const char *authorization, const char *name)
{
    size_t len = strlen(name) + 1;
    struct tunnel *u = xcalloc(1, sizeof(*u) + len);
    memcpy(u->name_text, name, len);
    u->name = u->name_text;
    u->t.ops = &tunnel_ops;
    u->t.loop = below->loop;
    u->t.below = below;
    strbuf_init(&u->ask, MAX_ASK);
    strbuf_init(&u->answer, MAX_ANSWER);
    strbuf_printf(&u->ask, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", target, target);
    if (authorization)
        strbuf_printf(&u->ask, "Proxy-Authorization: %s\r\n", authorization);
    strbuf_add_cstr(&u->ask, "\r\n");
    below->on_ready = on_below;
    below->ctx = &u->t;
    return &u->t;
}
