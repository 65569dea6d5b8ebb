/*
 * A client's connection from the first packet to the end of the handshake, which tells what the
 * server speaks. It is opened for one call, which fails with it; calls that merely wait for it, to
 * share it, fail too, rather than each to try in its turn.
 */
#include "net/client.h"
#include "net/tunnel.h"

#define CONNECT_TIMEOUT (10 * USEC_PER_SEC)

static struct client_conn *client_conn_of(struct conn *c)
{
    return container_of(c, struct client_conn, c);
}

void client_conn_attach(struct client_conn *cc, struct http_call *call)
{
    cc->call = call;
    call->conn = cc;
    cc->client->n_pooled += !client_is_stream(call);
    cc->client->n_streams += client_is_stream(call);
}

struct http_call *client_conn_detach(struct client_conn *cc)
{
    struct http_call *call = TAKE_PTR(cc->call);
    if (call) {
        call->conn = NULL;
        cc->client->n_pooled -= !client_is_stream(call);
        cc->client->n_streams -= client_is_stream(call);
    }
    return call;
}

static void on_opened(struct conn *c)
{
    struct client_conn *cc = client_conn_of(c);
    struct http_client *cl = cc->client;
    bool is_h2 = c->t->ssl ? tls_agreed_h2(c->t->ssl) : cl->offer == TLS_OFFER_H2;
    cl->speaks = is_h2 ? CLIENT_H2 : CLIENT_H1;
    if (is_h2)
        h2_client_start(cc);
    else
        h1_client_start(cc);
    client_pump_later(cl);
}

static void on_expired(struct conn *c)
{
    struct err err = ERR_INIT;
    err_set(&err, ERR_UNAVAILABLE, "connect: timed out");
    conn_close(c, &err);
}

static void on_closed(struct conn *c, const struct err *err)
{
    struct client_conn *cc = client_conn_of(c);
    struct http_client *cl = cc->client;
    struct http_call *call = client_conn_detach(cc);
    client_pump_later(cl);
    if (!call)
        return;
    if (cc->address + 1 < cc->addresses.n) {
        client_conn_start(cl, call, &cc->addresses, cc->address + 1);
        return;
    }
    client_finish(call, err);
    if (cl->speaks != CLIENT_H1)
        client_fail_waiting(cl, cc->is_for_streams, err);
}

void client_conn_release(struct conn *c)
{
    struct client_conn *cc = client_conn_of(c);
    list_remove(&cc->link);
    cc->client->n_conns--;
    conn_done(c);
    h1_done(&cc->h1);
    h2_client_free(cc->h2);
    free(cc);
}

static const struct conn_role opening_role = {
    .opened = on_opened,
    .expired = on_expired,
    .closed = on_closed,
    .release = client_conn_release,
};

static struct transport *open_tunnel(struct http_client *cl, struct transport *to_proxy)
{
    char target[300], name[300];
    bool is_v6 = strchr(cl->host, ':') != NULL;
    (void)snprintf(target, sizeof(target), is_v6 ? "[%s]:%d" : "%s:%d", cl->host, cl->port);
    (void)snprintf(name, sizeof(name), "%s:%d", cl->proxy, cl->proxy_port);
    return transport_new_tunnel(to_proxy, target, cl->proxy_authorization, name);
}

static struct transport *make_transport(struct http_client *cl, const union client_address *a,
                                        struct err *err)
{
    SSL *ssl = NULL;
    if (cl->tls) {
        ssl = tls_client_session(cl->tls, cl->server_name ? cl->server_name : cl->host, err);
        if (!ssl)
            return NULL;
        tls_session_offer(ssl, cl->offer);
    }
    socklen_t len = a->sa.sa_family == AF_INET ? sizeof(a->in) : sizeof(a->in6);
    struct transport *t = cl->connect ? cl->connect(cl->connect_ctx)
                                      : transport_connect_tcp(cl->loop, &a->sa, len, err);
    if (t && cl->proxy)
        t = open_tunnel(cl, t);
    if (!t)
        SSL_free(ssl);
    else if (ssl)
        transport_add_tls(t, ssl);
    return t;
}

void client_conn_start(struct http_client *cl, struct http_call *call,
                       const struct client_addresses *addresses, size_t at)
{
    struct err err = ERR_INIT;
    struct transport *t = NULL;
    for (; at < MAX(addresses->n, (size_t)1) && !t; at++)
        t = make_transport(cl, &addresses->list[at], &err);
    if (!t) {
        err.code = err.code == ERR_INVALID ? ERR_INVALID : ERR_UNAVAILABLE;
        client_finish(call, &err);
        return;
    }
    struct client_conn *cc = xnew(struct client_conn);
    cc->client = cl;
    cc->addresses = *addresses;
    cc->address = at - 1;
    cc->is_for_streams = client_is_stream(call);
    list_init(&cc->link);
    list_push_back(&cl->conns, &cc->link);
    cl->n_conns++;
    client_conn_attach(cc, call);
    conn_init(&cc->c, cl->loop, &opening_role, t);
    conn_set_deadline(&cc->c, loop_now(cl->loop) + CONNECT_TIMEOUT);
    conn_open(&cc->c);
}

void client_conn_abandon(struct client_conn *cc)
{
    (void)client_conn_detach(cc);
    conn_close(&cc->c, NULL);
}
