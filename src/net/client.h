/* Private to net/: the client's pool, between client.c (pool, queue, names), client_conn.c (opening
 * a connection), h1_client.c and h2_client.c (what is said on one). */
#ifndef NET_CLIENT_H
#define NET_CLIENT_H

#include <netinet/in.h>

#include "net/conn.h"
#include "net/h1.h"
#include "net/h2.h"
#include "net/http.h"
#include "net/tls_impl.h"

/* Of a request and of a reply. */
enum { CLIENT_MAX_HEAD = 256 << 10, CLIENT_MAX_HEADERS = 200 };
/* Below what servers allow, so that the server seldom closes just as we send. */
#define CLIENT_IDLE_TIMEOUT (60 * USEC_PER_SEC)
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
struct h2_client;

/* What the server speaks, as far as we know: the last connection's answer. */
enum client_version { CLIENT_UNKNOWN, CLIENT_H1, CLIENT_H2 };

struct http_client {
    struct loop *loop;
    char *host;
    int port;
    char authority[300]; /* the Host header */
    char *server_name;   /* NULL: the host's */
    char *proxy;         /* host; NULL: none */
    int proxy_port;
    char *proxy_authorization; /* NULL: none */
    struct tls_client *tls;
    size_t max_connections;

    struct list conns; /* struct client_conn.link */
    size_t n_conns;
    enum client_version speaks;
    size_t n_pooled;     /* HTTP/1.1: connections at work for a call with a timeout */
    size_t n_streams;    /* ... without */
    struct list queue;   /* calls with a timeout that wait for a connection */
    struct list streams; /* calls without */
    struct loop_task pump;
    struct list mark; /* the end of what this turn of the pump looks at */

    struct client_addresses addresses;
    bool is_numeric;
    usec addresses_until; /* monotonic */
    struct resolve_job *resolving;

    struct h2_out head; /* scratch: the request head that is being made */

    /* Tests: makes the transport instead of connecting; what to offer, and to speak in clear. */
    struct transport *(*connect)(void *ctx);
    void *connect_ctx;
    enum tls_offer offer;
};

struct client_conn {
    struct conn c;
    struct list link;
    struct http_client *client;
    struct http_call *call; /* the one it was opened for; HTTP/1.1: at work on. NULL: idle */
    bool is_for_streams;    /* it was opened for a call without a timeout */
    struct client_addresses addresses;
    size_t address; /* the one tried */

    struct h2_client *h2; /* NULL: HTTP/1.1 (or not known yet), and then: */
    struct h1_parser h1;
    bool is_reused; /* it has carried a call before this one */
    bool has_reply; /* a byte of the reply has come */
};

/* Opens a connection for the call, to addresses[at] and after it the others. */
void client_conn_start(struct http_client *cl, struct http_call *call,
                       const struct client_addresses *addresses, size_t at);
/* Where connections are opened to: the proxy or the host. */
const char *client_dial_host(const struct http_client *cl);
int client_dial_port(const struct http_client *cl);
void client_conn_attach(struct client_conn *cc, struct http_call *call);
struct http_call *client_conn_detach(struct client_conn *cc);
/* Takes the call off its connection, which is then of no use and closed. */
void client_conn_abandon(struct client_conn *cc);
/* role->release of every role. */
void client_conn_release(struct conn *c);

/* After the handshake: takes the connection's role and sends the call. */
void h1_client_start(struct client_conn *cc);
void h2_client_start(struct client_conn *cc);
/* Sends the call on an idle connection. */
void h1_client_use(struct client_conn *cc, struct http_call *call);
/* Puts the call on the connection, if there is room for it; the pump writes. */
bool h2_client_use(struct client_conn *cc, struct http_call *call);
/* It has no room now and is worth waiting for: calls end, and the server may yet say that it allows
 * more than we dared. */
bool h2_client_will_have_room(const struct client_conn *cc);
/* Resets the call's stream. */
void h2_client_abandon(struct http_call *call);
/* Takes a call off, whichever; NULL when there is none. */
struct http_call *h2_client_pop(struct h2_client *h);
void h2_client_free(struct h2_client *h);

/* The call is over: its last callback. */
void client_finish(struct http_call *call, const struct err *err);
/* Back to the front of the queue, once, for a new connection. */
void client_retry(struct http_call *call);
bool client_is_idempotent(const struct http_call *call);
bool client_is_stream(const struct http_call *call);
bool client_needs_length(const struct http_call *call);
/* No connection can be had: those that wait for one of the kind fail too. */
void client_fail_waiting(struct http_client *cl, bool streams, const struct err *err);
void client_pump_later(struct http_client *cl);
/* The same, when something waits. */
void client_has_room(struct http_client *cl);

#endif
