/*
 * The server: listens, accepts within its limits, and shuts down in order. What happens on one
 * connection after its handshake is in h1_server.c or h2_server.c.
 *
 * Running out of descriptors would make the listener ready for ever: accepting then pauses for a
 * moment. Above the maximum a new connection takes the place of the oldest that has not asked
 * anything yet; where all have, it is accepted and closed, so that the peer learns at once.
 *
 * No turn of the loop may become long because many peers want something at once: a handshake is
 * most of a millisecond's work, a TLS record for each of a thousand watches several, and bodies
 * come as fast as memory is copied. Each of these has a line to wait in, and in each turn one line
 * is served: what a turn takes is the most of their shares and not the sum. Who stands in line is
 * not asked about by the loop meanwhile.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "net/http_server.h"

enum { BACKLOG = 1024, ACCEPT_TURN = 16 };
/* In one turn of the loop, all connections together: a handshake, or so many streams and bytes, or
 * so many pieces of what is read. A few streams are served in the turns of others, too, so that the
 * events of a watch are not held up by strangers. */
enum { STREAM_TURN = 16, STREAM_TURN_BYTES = 64 << 10 };
enum { STREAM_LESS = 8, STREAM_LESS_BYTES = 16 << 10 };
enum { BODY_TURN = 2, BODY_PIECE = 32 << 10, READ_TURN = 8, READ_LESS = 1, READ_PIECE = 16 << 10 };
#define ACCEPT_PAUSE (100 * USEC_PER_MSEC)

/* ---- addresses ---- */

union address {
    struct sockaddr sa;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

static socklen_t address_len(const union address *a)
{
    return a->sa.sa_family == AF_INET ? sizeof(a->in) : sizeof(a->in6);
}

/* "127.0.0.1:6443", "[::1]:6443", "localhost:6443", ":6443" (all of IPv4), "[::]:6443" (all). */
static int parse_listen(const char *text, union address *ret, struct err *err)
{
    str s = str_of(text);
    ptrdiff_t colon = str_rfind_char(s, ':');
    uint64_t port = 0;
    if (colon < 0 || !str_to_uint(str_sub(s, (size_t)colon + 1, s.len), &port) || port > 65535)
        return err_set(err, ERR_INVALID, "listen address \"%s\" is not ADDRESS:PORT", text);
    str host = str_sub(s, 0, (size_t)colon);
    if (host.len > 2 && host.p[0] == '[' && host.p[host.len - 1] == ']')
        host = str_sub(host, 1, host.len - 1);
    if (str_is(host, "localhost"))
        host = STR("127.0.0.1");
    if (!host.len)
        host = STR("0.0.0.0");
    char name[64];
    (void)snprintf(name, sizeof(name), "%.*s", STR_ARG(host));
    *ret = (union address){0};
    if (inet_pton(AF_INET, name, &ret->in.sin_addr) == 1) {
        ret->in.sin_family = AF_INET;
        ret->in.sin_port = htons((uint16_t)port);
    } else if (inet_pton(AF_INET6, name, &ret->in6.sin6_addr) == 1) {
        ret->in6.sin6_family = AF_INET6;
        ret->in6.sin6_port = htons((uint16_t)port);
    } else {
        return err_set(err, ERR_INVALID, "listen address \"%s\" is not numeric", text);
    }
    return 0;
}

static void format_address(const union address *a, char *buf, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (a->sa.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a->in.sin_addr, host, sizeof(host));
        (void)snprintf(buf, size, "%s:%u", host, ntohs(a->in.sin_port));
    } else {
        inet_ntop(AF_INET6, &a->in6.sin6_addr, host, sizeof(host));
        (void)snprintf(buf, size, "[%s]:%u", host, ntohs(a->in6.sin6_port));
    }
}

/* ---- connections ---- */

static struct server_conn *server_conn_of(struct conn *c)
{
    return container_of(c, struct server_conn, c);
}

static void check_done(struct http_server *s);

void server_conn_release(struct conn *c)
{
    struct server_conn *sc = server_conn_of(c);
    struct http_server *s = sc->server;
    if (sc->ctx && s->on_gone)
        s->on_gone(s->ctx, sc->ctx);
    list_remove(&sc->link);
    list_remove(&sc->fresh);
    list_remove(&sc->large);
    for (int i = 0; i < SERVER_LINES; i++)
        list_remove(&sc->in_line[i]);
    s->held -= sc->held;
    conn_done(c);
    h1_done(&sc->h1);
    strbuf_done(&sc->body);
    h2_server_free(sc->h2);
    http_peer_done(&sc->peer);
    free(sc);
    s->n_conns--;
    check_done(s);
}

void server_conn_log(const struct server_conn *sc, const struct err *err)
{
    if (err)
        log_debug("connection closed", LOG_C("peer", sc->peer.address),
                  LOG_C("error", err->message));
}

static void on_opened(struct conn *c)
{
    struct server_conn *sc = server_conn_of(c);
    if (c->t->ssl)
        tls_fill_peer(c->t->ssl, &sc->peer);
    if (sc->server->is_shutting_down)
        conn_close(c, NULL);
    else if (c->t->ssl ? tls_agreed_h2(c->t->ssl) : sc->server->assumes_h2)
        h2_server_start(sc);
    else
        h1_server_start(sc);
}

static void on_expired(struct conn *c)
{
    conn_close(c, NULL);
}

static void on_closed(struct conn *c, const struct err *err)
{
    server_conn_log(server_conn_of(c), err);
}

static void stand_in_line(struct server_conn *sc, enum server_line line);

static void on_opening(struct conn *c)
{
    transport_want(c->t, false, false);
    stand_in_line(server_conn_of(c), LINE_SHAKES);
}

/* Until the handshake is done. */
static const struct conn_role opening_role = {
    .opening = on_opening,
    .opened = on_opened,
    .expired = on_expired,
    .closed = on_closed,
    .release = server_conn_release,
};

static void start_conn(struct http_server *s, struct transport *t, const char *address)
{
    if (s->tls)
        transport_add_tls(t, tls_server_session(s->tls));
    struct server_conn *sc = xnew(struct server_conn);
    sc->server = s;
    (void)snprintf(sc->peer.address, sizeof(sc->peer.address), "%s", address);
    list_init(&sc->link);
    list_init(&sc->fresh);
    list_init(&sc->large);
    for (int i = 0; i < SERVER_LINES; i++)
        list_init(&sc->in_line[i]);
    list_push_back(&s->conns, &sc->link);
    list_push_back(&s->fresh, &sc->fresh);
    s->n_conns++;
    conn_init(&sc->c, s->loop, &opening_role, t);
    conn_set_deadline(&sc->c, loop_now(s->loop) + s->limits.header_timeout);
    /* The peer speaks first; what it says may be here already, and then waits in line. */
    if (s->tls)
        transport_want(t, true, false);
    else
        conn_open(&sc->c);
}

static void wind_down(struct server_conn *sc)
{
    if (sc->h2)
        h2_server_wind_down(sc);
    else
        h1_server_wind_down(sc);
}

/* ---- shares of a turn ---- */

void server_account(struct server_conn *sc, size_t bytes)
{
    size_t now = bytes + sc->c.out.bytes;
    sc->server->held += now - sc->held;
    sc->held = now;
}

void server_known(struct server_conn *sc)
{
    list_remove(&sc->fresh);
}

static void stand_in_line(struct server_conn *sc, enum server_line line)
{
    struct http_server *s = sc->server;
    if (!list_is_linked(&sc->in_line[line]))
        list_push_back(&s->lines[line], &sc->in_line[line]);
    if (s->is_serving || list_is_linked(&s->line_task.link))
        return;
    s->line_phase = LOOP_WRITE;
    loop_defer(s->loop, LOOP_WRITE, &s->line_task);
}

/* The first in line, who leaves it; NULL: nobody waits. */
static struct conn *next_in_line(struct http_server *s, enum server_line line)
{
    struct list *first = list_pop_front(&s->lines[line]);
    return first ? &list_entry(first - line, struct server_conn, in_line[0])->c : NULL;
}

static void serve_shakes(struct http_server *s, bool is_turn)
{
    struct conn *c = is_turn ? next_in_line(s, LINE_SHAKES) : NULL;
    if (c && c->state == CONN_OPENING)
        conn_open(c);
}

void server_flush_stream(struct server_conn *sc)
{
    stand_in_line(sc, LINE_STREAMS);
}

void server_write_more(struct conn *c)
{
    server_flush_stream(server_conn_of(c));
}

static void serve_streams(struct http_server *s, bool is_turn)
{
    int most = is_turn ? STREAM_TURN : STREAM_LESS;
    uint64_t most_bytes = is_turn ? STREAM_TURN_BYTES : STREAM_LESS_BYTES, bytes = 0;
    struct conn *c;
    for (int n = 0; n < most && bytes < most_bytes && (c = next_in_line(s, LINE_STREAMS)); n++) {
        uint64_t before = c->written;
        if (c->state != CONN_CLOSED)
            conn_write_turn(c);
        bytes += c->written - before;
    }
}

/* Strangers (nobody has asked anything yet), and users who have many connections. */
static bool is_greedy(const struct server_conn *sc)
{
    const struct http_server *s = sc->server;
    if (list_is_linked(&sc->fresh))
        return true;
    return sc->ctx && s->is_greedy && s->is_greedy(s->ctx, sc->ctx);
}

size_t server_room(struct server_conn *sc, bool is_large)
{
    if (!is_large && !is_greedy(sc))
        return SIZE_MAX;
    if (!sc->may_read) {
        stand_in_line(sc, is_large ? LINE_BODIES : LINE_READS);
        return 0;
    }
    sc->may_read = false;
    return is_large ? BODY_PIECE : READ_PIECE;
}

static void read_line(struct http_server *s, enum server_line line, int most)
{
    struct conn *c;
    for (int n = 0; n < most && (c = next_in_line(s, line)); n++) {
        server_conn_of(c)->may_read = true;
        if (c->state != CONN_CLOSED)
            conn_read_on(c);
    }
}

static void serve_bodies(struct http_server *s, bool is_turn)
{
    read_line(s, LINE_BODIES, is_turn ? BODY_TURN : 0);
}

static void serve_reads(struct http_server *s, bool is_turn)
{
    read_line(s, LINE_READS, is_turn ? READ_TURN : READ_LESS);
}

static void (*const serve_line[SERVER_LINES])(struct http_server *s, bool is_turn) = {
    [LINE_SHAKES] = serve_shakes,
    [LINE_STREAMS] = serve_streams,
    [LINE_BODIES] = serve_bodies,
    [LINE_READS] = serve_reads,
};

/* The next after the last one's in which somebody waits; the same when nobody does. */
static enum server_line next_line(const struct http_server *s)
{
    enum server_line line = s->line;
    do
        line = (line + 1) % SERVER_LINES;
    while (line != s->line && list_is_empty(&s->lines[line]));
    return line;
}

/* Those who waited longer than a turn come last in the next, after the replies to whoever does not
 * stand in line. A phase works through what was deferred to it, in that order; by going through
 * all of them the task gets behind what others have deferred on the way. */
static void on_lines(struct loop_task *t)
{
    struct http_server *s = container_of(t, struct http_server, line_task);
    if (s->line_phase < LOOP_WRITE) {
        loop_defer(s->loop, ++s->line_phase, t);
        return;
    }
    s->line = next_line(s);
    s->is_serving = true;
    for (enum server_line i = 0; i < SERVER_LINES; i++)
        serve_line[i](s, i == s->line);
    s->is_serving = false;
    if (list_is_empty(&s->lines[next_line(s)]))
        return;
    s->line_phase = LOOP_APPLY;
    loop_defer(s->loop, LOOP_APPLY, t);
}

void server_body_grows(struct server_conn *sc)
{
    struct http_server *s = sc->server;
    if (!list_is_linked(&sc->large))
        list_push_back(&s->large, &sc->large);
    if (s->held <= s->limits.max_held)
        return;
    struct server_conn *oldest = list_entry(list_pop_front(&s->large), struct server_conn, large);
    if (oldest->h2)
        h2_server_shed(oldest);
    else
        h1_server_shed(oldest);
}

void server_body_ends(struct server_conn *sc)
{
    list_remove(&sc->large);
}

/* ---- accepting ---- */

static bool make_room(struct http_server *s)
{
    if (s->n_conns < s->limits.max_connections)
        return true;
    struct list *oldest = list_pop_front(&s->fresh);
    if (!oldest)
        return false;
    conn_close(&list_entry(oldest, struct server_conn, fresh)->c, NULL);
    return true;
}

static void accepted(struct http_server *s, int fd, const union address *from)
{
    if (!make_room(s)) {
        (void)close(fd);
        return;
    }
    struct transport *t = transport_new_tcp(s->loop, fd, NULL);
    if (!t)
        return;
    char address[64];
    format_address(from, address, sizeof(address));
    start_conn(s, t, address);
}

static void on_listener(struct loop_io *io, unsigned events)
{
    struct http_server *s = container_of(io, struct http_server, listener);
    for (int i = 0; i < ACCEPT_TURN && s->listener.fd >= 0; i++) {
        union address from = {0};
        socklen_t len = sizeof(from);
        int fd = accept4(io->fd, &from.sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            accepted(s, fd, &from);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            loop_io_set(io, 0);
            loop_timer_set(&s->accept_retry, loop_now(s->loop) + ACCEPT_PAUSE);
            return;
        } else if (errno == EAGAIN) {
            return;
        }
        /* Anything else concerns the one connection that was lost before we took it. */
    }
}

static void on_accept_retry(struct loop_timer *t)
{
    struct http_server *s = container_of(t, struct http_server, accept_retry);
    loop_io_set(&s->listener, LOOP_READ);
}

/* All addresses are those of IPv4, too, whatever the machine thinks of it; and nothing but those
 * where it knows no others. */
static int listener_socket(union address *a)
{
    enum { TYPE = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC };
    int fd = socket(a->sa.sa_family, TYPE, 0), only = 0;
    if (a->sa.sa_family != AF_INET6 || !IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr))
        return fd;
    if (fd < 0 && errno == EAFNOSUPPORT) {
        *a = (union address){.in = {.sin_family = AF_INET, .sin_port = a->in6.sin6_port}};
        return socket(AF_INET, TYPE, 0);
    }
    if (fd >= 0)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
    return fd;
}

static int bind_listener(int fd, const union address *a, struct err *err, const char *text)
{
    int one = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, &a->sa, address_len(a)) < 0)
        return err_errno(err, ERR_IO, "bind %s", text);
    if (listen(fd, BACKLOG) < 0)
        return err_errno(err, ERR_IO, "listen on %s", text);
    return 0;
}

/* The kernel's table of descriptors grows when it is full, and a process with threads waits for
 * that until all processors have taken note: milliseconds, at each doubling, in the middle of a
 * crowd of connections. One descriptor at the far end makes the table as large as it will have to
 * be. */
static void make_descriptors(int fd, size_t many)
{
    int last = fcntl(fd, F_DUPFD_CLOEXEC, (int)MIN(many, (size_t)INT_MAX));
    if (last >= 0)
        (void)close(last);
}

static int start_listening(struct http_server *s, const char *text, struct err *err)
{
    union address a = {0};
    int r = parse_listen(text, &a, err);
    if (r < 0)
        return r;
    int fd = listener_socket(&a);
    if (fd < 0)
        return err_errno(err, ERR_IO, "socket");
    make_descriptors(fd, s->limits.max_connections);
    s->listener = (struct loop_io){.fd = fd, .events = LOOP_READ, .fn = on_listener};
    r = bind_listener(fd, &a, err, text);
    if (r == 0)
        r = loop_io_add(s->loop, &s->listener, err);
    if (r < 0) {
        (void)close(fd);
        s->listener.fd = -1;
        return r;
    }
    socklen_t len = sizeof(a);
    (void)getsockname(fd, &a.sa, &len);
    format_address(&a, s->address, sizeof(s->address));
    return 0;
}

static void stop_listening(struct http_server *s)
{
    loop_timer_cancel(&s->accept_retry);
    if (s->listener.fd < 0)
        return;
    loop_io_remove(&s->listener);
    (void)close(s->listener.fd);
    s->listener.fd = -1;
}

/* ---- shutting down ---- */

static void check_done(struct http_server *s)
{
    if (s->is_shutting_down && s->done && !s->n_conns) {
        loop_timer_cancel(&s->grace);
        loop_defer(s->loop, LOOP_WRITE, &s->done_task);
    }
}

static void on_done(struct loop_task *t)
{
    struct http_server *s = container_of(t, struct http_server, done_task);
    void (*done)(void *ctx) = TAKE_PTR(s->done);
    /* The last thing: the caller may free the server now. */
    done(s->done_ctx);
}

static void on_grace(struct loop_timer *t)
{
    struct http_server *s = container_of(t, struct http_server, grace);
    struct err err = ERR_INIT;
    err_set(&err, ERR_TIMEOUT, "the server is shutting down");
    list_foreach (it, &s->conns)
        conn_close(&list_entry(it, struct server_conn, link)->c, &err);
}

void http_server_take_leave(struct http_server *s)
{
    s->is_leaving = true;
}

void http_server_shutdown(struct http_server *s, usec grace, void (*done)(void *ctx), void *ctx)
{
    s->is_shutting_down = true;
    s->done = done;
    s->done_ctx = ctx;
    stop_listening(s);
    loop_timer_set(&s->grace, loop_now(s->loop) + grace);
    list_foreach (it, &s->conns)
        wind_down(list_entry(it, struct server_conn, link));
    check_done(s);
}

/* ---- replies ---- */

bool server_has_no_body(int status)
{
    return status < 200 || status == 204 || status == 304;
}

size_t server_refusal_headers(int status, const struct http_header **ret)
{
    static const struct http_header headers[] = {
        {STR_INIT("content-type"), STR_INIT("text/plain; charset=utf-8")},
        {STR_INIT("retry-after"), STR_INIT("1")},
    };
    *ret = headers;
    return status == 429 ? 2 : 1;
}

void server_refusal(struct strbuf *b, int status, const char *why)
{
    strbuf_printf(b, "%d %s: %s\n", status, http_status_text(status), why);
}

static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

const char *server_date(struct http_server *s)
{
    usec second = loop_wall(s->loop) / USEC_PER_SEC;
    if (second == s->date_second && s->date[0])
        return s->date;
    time_t when = (time_t)second;
    struct tm tm;
    BUG_ON(!gmtime_r(&when, &tm));
    /* strftime would speak the user's language. */
    (void)snprintf(s->date, sizeof(s->date), "%s, %02d %s %04d %02d:%02d:%02d GMT",
                   days[tm.tm_wday], tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour,
                   tm.tm_min, tm.tm_sec);
    s->date_second = second;
    return s->date;
}

/* ---- life cycle ---- */

struct http_server *http_server_new(struct loop *l, const struct http_server_options *o,
                                    struct err *err)
{
    struct http_server *s = xnew(struct http_server);
    s->loop = l;
    s->limits = o->limits ? *o->limits : http_default_limits;
    s->tls = o->tls;
    s->handler = o->handler;
    s->on_gone = o->on_gone;
    s->is_greedy = o->is_greedy;
    s->ctx = o->ctx;
    s->listener.fd = -1;
    list_init(&s->conns);
    list_init(&s->fresh);
    list_init(&s->large);
    for (int i = 0; i < SERVER_LINES; i++)
        list_init(&s->lines[i]);
    loop_task_init(&s->line_task, on_lines);
    loop_timer_init(l, &s->accept_retry, on_accept_retry);
    loop_timer_init(l, &s->grace, on_grace);
    loop_task_init(&s->done_task, on_done);
    gzip_pool_init(&s->gzip, l, s->limits.low_water);
    if (o->listen && start_listening(s, o->listen, err) < 0) {
        http_server_free(s);
        return NULL;
    }
    return s;
}

const char *http_server_address(const struct http_server *s)
{
    return s->address;
}

size_t http_server_connections(const struct http_server *s)
{
    return s->n_conns;
}

size_t http_server_held(const struct http_server *s)
{
    return s->held;
}

void http_server_adopt(struct http_server *s, struct transport *t, const char *address)
{
    start_conn(s, t, address);
}

void http_server_free(struct http_server *s)
{
    if (!s)
        return;
    s->done = NULL;
    stop_listening(s);
    list_foreach (it, &s->conns)
        conn_destroy(&list_entry(it, struct server_conn, link)->c);
    loop_timer_cancel(&s->grace);
    loop_task_cancel(&s->done_task);
    loop_task_cancel(&s->line_task);
    gzip_pool_done(&s->gzip);
    h2_out_done(&s->head);
    free(s);
}
