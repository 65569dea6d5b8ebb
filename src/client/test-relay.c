/* See test-relay.h. */
#include "client/test-relay.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/transport.h"

struct pair {
    struct list link;
    struct relay *relay;
    struct transport *client, *target;
    struct strbuf head;
    bool is_joined;
};

static void pair_close(struct pair *p)
{
    transport_close(p->client);
    if (p->target)
        transport_close(p->target);
}

static void put(struct transport *to, str data)
{
    struct iovec iov = {(void *)data.p, data.len};
    REQUIRE(transport_writev(to, &iov, 1) == (ssize_t)data.len);
}

/* From one to the other as long as there is something. */
static void carry(struct pair *p, struct transport *from, struct transport *to)
{
    char buf[16384];
    for (;;) {
        ssize_t n = transport_read(from, buf, sizeof(buf));
        if (n == TRANSPORT_AGAIN)
            return;
        if (n <= 0) {
            pair_close(p);
            return;
        }
        put(to, str_n(buf, (size_t)n));
    }
}

static void on_target(struct transport *t, unsigned events)
{
    struct pair *p = t->ctx;
    (void)events;
    if (p->is_joined) {
        carry(p, t, p->client);
        return;
    }
    int r = transport_open(t, NULL);
    if (r == TRANSPORT_AGAIN)
        return;
    REQUIRE(r == 0);
    p->is_joined = true;
    put(p->client, STR("HTTP/1.1 200 ok\r\n\r\n"));
    transport_want(t, true, false);
}

static void join(struct pair *p)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)p->relay->target),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    p->target = transport_connect_tcp(p->relay->loop, (struct sockaddr *)&to, sizeof(to), NULL);
    REQUIRE(p->target);
    p->target->on_ready = on_target;
    p->target->ctx = p;
    on_target(p->target, 0);
}

static void on_client(struct transport *t, unsigned events)
{
    struct pair *p = t->ctx;
    (void)events;
    if (p->is_joined) {
        carry(p, t, p->target);
        return;
    }
    char buf[4096];
    ssize_t n = transport_read(t, buf, sizeof(buf));
    if (n <= 0)
        return;
    strbuf_add(&p->head, buf, (size_t)n);
    if (!str_ends(strbuf_str(&p->head), STR("\r\n\r\n")))
        return;
    strbuf_add_str(&p->relay->log, strbuf_str(&p->head));
    if (!p->relay->answer) {
        join(p);
        return;
    }
    put(t, str_of(p->relay->answer));
    transport_shutdown(t);
}

static void on_accept(struct loop_io *io, unsigned events)
{
    struct relay *r = container_of(io, struct relay, io);
    (void)events;
    int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    REQUIRE(fd >= 0);
    struct pair *p = xnew(struct pair);
    p->relay = r;
    strbuf_init(&p->head, 1 << 16);
    list_push_back(&r->pairs, &p->link);
    p->client = transport_new_tcp(r->loop, fd, NULL);
    REQUIRE(p->client);
    p->client->on_ready = on_client;
    p->client->ctx = p;
    transport_want(p->client, true, false);
}

void relay_init(struct relay *r, struct loop *l, int target)
{
    *r = (struct relay){.loop = l, .target = target, .log = STRBUF_INIT(1 << 20)};
    list_init(&r->pairs);
    struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(sa);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    REQUIRE(fd >= 0 && bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == 0 && listen(fd, 16) == 0 &&
            getsockname(fd, (struct sockaddr *)&sa, &len) == 0);
    r->port = ntohs(sa.sin_port);
    r->io.fd = fd;
    r->io.fn = on_accept;
    REQUIRE(loop_io_add(l, &r->io, NULL) == 0);
    loop_io_set(&r->io, LOOP_READ);
}

void relay_done(struct relay *r)
{
    list_foreach (it, &r->pairs) {
        struct pair *p = list_entry(it, struct pair, link);
        transport_free(p->client);
        transport_free(p->target);
        strbuf_done(&p->head);
        free(p);
    }
    loop_io_remove(&r->io);
    (void)close(r->io.fd);
    strbuf_done(&r->log);
}
