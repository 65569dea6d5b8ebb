/* Private to net/: the client's pool, between client.c (pool, queue, names) and h1_client.c (one
 * connection). */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include <netinet/in.h>

#include "net/conn.h"
#include "net/h1.h"
#include "net/http.h"
#include "net/tls_impl.h"

/* Of a request and of a reply. */
enum { CLIENT_MAX_HEAD = 256 << 10 };
enum { CLIENT_MAX_ADDRESSES = 8 };

union client_address {
    struct sockaddr sa;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

struct client_addresses {
    union client_address list[CLIENT_MAX_ADDRESSES];
    size_t n;
};

struct resolve_job;

struct http_client {
    struct loop *loop;
    char *host;
    int port;
    char authority[300]; /* the Host header */
    struct tls_client *tls;
    size_t max_connections;

    struct list conns; /* struct client_conn.link */
    size_t n_conns;
    size_t n_pooled;     /* connections at work for a call with a timeout */
    size_t n_streams;    /* ... without */
    struct list queue;   /* calls with a timeout that wait for a connection */
    struct list streams; /* calls without */
    struct loop_task pump;
    struct list mark; /* the end of what this turn of the pump looks at */

    struct client_addresses addresses;
    bool is_numeric;
    usec addresses_until; /* monotonic */
    struct resolve_job *resolving;

    /* Tests: makes the transport instead of connecting. */
    struct transport *(*connect)(void *ctx);
    void *connect_ctx;
};

struct client_conn {
    struct conn c;
    struct list link;
    struct http_client *client;
    struct h1_parser h1;
    struct http_call *call; /* NULL: idle */
    struct client_addresses addresses;
    size_t address; /* the one tried */
    bool is_reused; /* it has carried a call before this one */
    bool has_reply; /* a byte of the reply has come */
};

/* Opens a connection for the call, to addresses[at] and after it the others. */
void client_conn_start(struct http_client *cl, struct http_call *call,
                       const struct client_addresses *addresses, size_t at);
/* Sends the call on an idle connection. */
void client_conn_use(struct client_conn *cc, struct http_call *call);
/* Takes the call off its connection, which is then of no use and closed. */
void client_conn_abandon(struct client_conn *cc);

/* The call is over: its last callback. */
void client_finish(struct http_call *call, const struct err *err);
/* Back to the front of the queue, once, for a new connection. */
void client_retry(struct http_call *call);
bool client_is_stream(const struct http_call *call);
void client_pump_later(struct http_client *cl);

#endif
