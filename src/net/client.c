/*
 * The client: calls wait in a queue until a connection is free or may be opened. Names are looked
 * up on the worker that may block, and remembered for a while.
 *
 * http_client_send only queues; the pump runs in the loop's WRITE phase and hands calls to
 * connections, so a caller is never called back from inside its own call.
 */
#include <arpa/inet.h>
#include <netdb.h>

#include "net/client.h"

/* HEAD_SLACK: request line, host and content-length. */
enum { DEFAULT_CONNECTIONS = 4, MAX_CONNECTIONS = 1024, HEAD_SLACK = 1024 };
#define ADDRESS_LIFETIME (30 * USEC_PER_SEC)

/* ---- names ---- */

/* Outlives the client when that is freed first. */
struct resolve_job {
    struct loop_job job;
    struct http_client *client; /* NULL: nobody waits any more */
    char *host;
    int port;
    struct client_addresses found;
    int error; /* getaddrinfo's */
};

static void set_port(union client_address *a, int port)
{
    if (a->sa.sa_family == AF_INET)
        a->in.sin_port = htons((uint16_t)port);
    else
        a->in6.sin6_port = htons((uint16_t)port);
}

static bool parse_address(const char *host, int port, union client_address *ret)
{
    *ret = (union client_address){0};
    if (inet_pton(AF_INET, host, &ret->in.sin_addr) == 1)
        ret->sa.sa_family = AF_INET;
    else if (inet_pton(AF_INET6, host, &ret->in6.sin6_addr) == 1)
        ret->sa.sa_family = AF_INET6;
    else
        return false;
    set_port(ret, port);
    return true;
}

/* On the worker: touches the job only. */
static void resolve_run(struct loop_job *job)
{
    struct resolve_job *r = container_of(job, struct resolve_job, job);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    r->error = getaddrinfo(r->host, NULL, &hints, &list);
    if (r->error)
        return;
    for (struct addrinfo *a = list; a && r->found.n < CLIENT_MAX_ADDRESSES; a = a->ai_next) {
        if ((a->ai_family != AF_INET && a->ai_family != AF_INET6) ||
            a->ai_addrlen > sizeof(union client_address))
            continue;
        union client_address *to = &r->found.list[r->found.n++];
        memcpy(to, a->ai_addr, a->ai_addrlen);
        set_port(to, r->port);
    }
    freeaddrinfo(list);
}

void client_fail_waiting(struct http_client *cl, bool streams, const struct err *err)
{
    /* Only those that wait now: a callback may send anew. */
    struct list waiting;
    list_init(&waiting);
    list_foreach (it, streams ? &cl->streams : &cl->queue) {
        if (it == &cl->mark)
            continue;
        list_remove(it);
        list_push_back(&waiting, it);
    }
    for (struct list *n; (n = list_pop_front(&waiting));)
        client_finish(list_entry(n, struct http_call, link), err);
}

static void fail_all_waiting(struct http_client *cl, const struct err *err)
{
    client_fail_waiting(cl, false, err);
    client_fail_waiting(cl, true, err);
}

static void resolve_done(struct loop_job *job)
{
    struct resolve_job *r = container_of(job, struct resolve_job, job);
    struct http_client *cl = r->client;
    if (cl) {
        cl->resolving = NULL;
        cl->addresses = r->found;
        cl->addresses_until = loop_now(cl->loop) + ADDRESS_LIFETIME;
        if (r->found.n) {
            client_pump_later(cl);
        } else {
            struct err err = ERR_INIT;
            err_set(&err, ERR_UNAVAILABLE, "look up %s: %s", r->host,
                    r->error ? gai_strerror(r->error) : "no address");
            fail_all_waiting(cl, &err);
        }
    }
    free(r->host);
    free(r);
}

const char *client_dial_host(const struct http_client *cl)
{
    return cl->proxy ? cl->proxy : cl->host;
}

int client_dial_port(const struct http_client *cl)
{
    return cl->proxy ? cl->proxy_port : cl->port;
}

/* True when the addresses are known; otherwise a look-up is under way. */
static bool have_addresses(struct http_client *cl)
{
    if (cl->is_numeric || cl->connect ||
        (cl->addresses.n && loop_now(cl->loop) < cl->addresses_until))
        return true;
    if (!cl->resolving) {
        struct resolve_job *r = cl->resolving = xnew(struct resolve_job);
        r->job.run = resolve_run;
        r->job.done = resolve_done;
        r->client = cl;
        r->host = xstrdup(client_dial_host(cl));
        r->port = client_dial_port(cl);
        loop_submit(cl->loop, LOOP_BLOCK, &r->job);
    }
    return false;
}

/* ---- queue ---- */

bool client_is_stream(const struct http_call *call)
{
    return call->timeout == 0;
}

bool client_is_idempotent(const struct http_call *call)
{
    return str_is(call->method, "GET") || str_is(call->method, "HEAD");
}

bool client_needs_length(const struct http_call *call)
{
    return call->body.len || str_is(call->method, "POST") || str_is(call->method, "PUT") ||
           str_is(call->method, "PATCH");
}

void client_finish(struct http_call *call, const struct err *err)
{
    loop_timer_cancel(&call->timer);
    list_remove(&call->link);
    call->client = NULL;
    call->on_end(call, err);
}

static struct list *queue_of(struct http_client *cl, const struct http_call *call)
{
    return client_is_stream(call) ? &cl->streams : &cl->queue;
}

void client_retry(struct http_call *call)
{
    call->is_retry = true;
    list_push_front(queue_of(call->client, call), &call->link);
    client_pump_later(call->client);
}

void client_pump_later(struct http_client *cl)
{
    loop_defer(cl->loop, LOOP_WRITE, &cl->pump);
}

void client_has_room(struct http_client *cl)
{
    if (!list_is_empty(&cl->queue) || !list_is_empty(&cl->streams))
        client_pump_later(cl);
}

static struct client_conn *find_idle(struct http_client *cl)
{
    list_foreach (it, &cl->conns) {
        struct client_conn *cc = list_entry(it, struct client_conn, link);
        if (cc->c.state == CONN_IDLE && !cc->call && !cc->c.is_doomed)
            return cc;
    }
    return NULL;
}

/* HTTP/1.1: a connection for each call. False: it must wait. */
static bool place_alone(struct http_client *cl, struct http_call *call)
{
    if (!client_is_stream(call) && cl->n_pooled >= cl->max_connections)
        return false;
    struct client_conn *idle = call->is_retry ? NULL : find_idle(cl);
    if (!idle && (cl->n_conns >= MAX_CONNECTIONS || !have_addresses(cl)))
        return false;
    list_remove(&call->link);
    if (idle)
        h1_client_use(idle, call);
    else
        client_conn_start(cl, call, &cl->addresses, 0);
    return true;
}

/* HTTP/2: calls share one connection, watches others: these never end, and the server allows only
 * so many on one. A connection that is being opened is waited for. */
static bool place_shared(struct http_client *cl, struct http_call *call)
{
    bool is_stream = client_is_stream(call), must_wait = false;
    list_foreach (it, &cl->conns) {
        struct client_conn *cc = list_entry(it, struct client_conn, link);
        if (cc->is_for_streams != is_stream || cc->c.state == CONN_CLOSED)
            continue;
        if (h2_client_use(cc, call)) {
            list_remove(&call->link);
            return true;
        }
        must_wait |= cc->c.state == CONN_OPENING || h2_client_will_have_room(cc);
    }
    if (must_wait || cl->n_conns >= MAX_CONNECTIONS || !have_addresses(cl))
        return false;
    list_remove(&call->link);
    client_conn_start(cl, call, &cl->addresses, 0);
    return true;
}

static bool place(struct http_client *cl, struct http_call *call)
{
    return cl->speaks == CLIENT_H1 ? place_alone(cl, call) : place_shared(cl, call);
}

/* Up to the mark: a call that fails at once may be sent anew from its own on_end, for ever. */
static void pump_list(struct http_client *cl, struct list *list)
{
    list_push_back(list, &cl->mark);
    while (list->next != &cl->mark)
        if (!place(cl, list_entry(list->next, struct http_call, link)))
            break;
    list_remove(&cl->mark);
}

static void on_pump(struct loop_task *t)
{
    struct http_client *cl = container_of(t, struct http_client, pump);
    pump_list(cl, &cl->queue);
    pump_list(cl, &cl->streams);
    /* The pump runs in the WRITE phase: no need to wait for the next one. */
    list_foreach (it, &cl->conns) {
        struct client_conn *cc = list_entry(it, struct client_conn, link);
        if (cc->h2 && cc->c.state == CONN_MUX)
            conn_write_turn(&cc->c);
    }
}

/* Off its connection. */
static void abandon(struct http_call *call)
{
    if (call->stream)
        h2_client_abandon(call);
    else if (call->conn)
        client_conn_abandon(call->conn);
}

/* ---- calls ---- */

/* Why it cannot be put on the wire, or NULL. Paths and headers may hold what a peer said. */
static const char *why_unsendable(const struct http_call *call)
{
    if (!h1_is_token(call->method) || !h1_is_target(call->path))
        return "the request has an invalid method or path";
    size_t head = call->method.len + call->path.len + HEAD_SLACK;
    for (size_t i = 0; i < call->n_headers && head <= CLIENT_MAX_HEAD; i++)
        head += call->headers[i].name.len + call->headers[i].value.len + H1_HEADER_EXTRA;
    return head > CLIENT_MAX_HEAD ? "the request has too large a path or headers" : NULL;
}

static void on_timeout(struct loop_timer *t)
{
    struct http_call *call = container_of(t, struct http_call, timer);
    struct err err = ERR_INIT;
    const char *unsendable = why_unsendable(call);
    if (unsendable)
        err_set(&err, ERR_INVALID, "%s", unsendable);
    else
        err_set(&err, ERR_TIMEOUT, "no complete reply within %lld ms",
                (long long)(call->timeout / USEC_PER_MSEC));
    abandon(call);
    client_finish(call, &err);
}

void http_client_send(struct http_client *cl, struct http_call *call)
{
    call->client = cl;
    call->conn = call->stream = NULL;
    call->is_retry = false;
    list_init(&call->link);
    loop_timer_init(cl->loop, &call->timer, on_timeout);
    /* What cannot be sent fails by its timer, from the loop like everything else. */
    if (why_unsendable(call)) {
        loop_timer_set(&call->timer, loop_now(cl->loop));
        return;
    }
    if (call->timeout)
        loop_timer_set(&call->timer, loop_now(cl->loop) + call->timeout);
    list_push_back(queue_of(cl, call), &call->link);
    client_pump_later(cl);
}

void http_client_cancel(struct http_client *cl, struct http_call *call)
{
    if (call->client != cl)
        return;
    loop_timer_cancel(&call->timer);
    list_remove(&call->link);
    call->client = NULL;
    abandon(call);
    client_pump_later(cl);
}

/* ---- life cycle ---- */

static void format_authority(struct http_client *cl)
{
    bool is_v6 = strchr(cl->host, ':') != NULL;
    bool is_usual = cl->port == (cl->tls ? 443 : 80);
    int n = snprintf(cl->authority, sizeof(cl->authority), is_v6 ? "[%s]" : "%s", cl->host);
    if (!is_usual && n > 0 && (size_t)n < sizeof(cl->authority))
        (void)snprintf(cl->authority + n, sizeof(cl->authority) - (size_t)n, ":%d", cl->port);
}

struct http_client *http_client_new(struct loop *l, const struct http_client_options *o)
{
    struct http_client *cl = xnew(struct http_client);
    cl->loop = l;
    cl->host = xstrdup(o->host);
    cl->port = o->port;
    cl->tls = o->tls;
    cl->max_connections = o->max_connections ? o->max_connections : DEFAULT_CONNECTIONS;
    list_init(&cl->conns);
    list_init(&cl->queue);
    list_init(&cl->streams);
    loop_task_init(&cl->pump, on_pump);
    cl->server_name = o->server_name ? xstrdup(o->server_name) : NULL;
    cl->proxy = o->proxy_host ? xstrdup(o->proxy_host) : NULL;
    cl->proxy_port = o->proxy_port;
    cl->proxy_authorization = o->proxy_authorization ? xstrdup(o->proxy_authorization) : NULL;
    cl->is_numeric =
        parse_address(client_dial_host(cl), client_dial_port(cl), &cl->addresses.list[0]);
    cl->addresses.n = cl->is_numeric;
    cl->speaks = cl->tls ? CLIENT_UNKNOWN : CLIENT_H1;
    format_authority(cl);
    return cl;
}

static struct http_call *take_call(struct client_conn *cc)
{
    return cc->h2 ? h2_client_pop(cc->h2) : client_conn_detach(cc);
}

void http_client_free(struct http_client *cl)
{
    if (!cl)
        return;
    struct err err = ERR_INIT;
    err_set(&err, ERR_UNAVAILABLE, "the client was closed");
    fail_all_waiting(cl, &err);
    list_foreach (it, &cl->conns) {
        struct client_conn *cc = list_entry(it, struct client_conn, link);
        for (struct http_call *call; (call = take_call(cc));)
            client_finish(call, &err);
        conn_destroy(&cc->c);
    }
    if (cl->resolving)
        cl->resolving->client = NULL;
    loop_task_cancel(&cl->pump);
    h2_out_done(&cl->head);
    free(cl->host);
    free(cl->server_name);
    free(cl->proxy);
    free(cl->proxy_authorization);
    free(cl);
}
