/* Private to net/: what a server's connections share, between server.c (connections come and go),
 * h1_server.c and h2_server.c (what is said on them). */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include "net/conn.h"
#include "net/exchange.h"
#include "net/gzip.h"
#include "net/h1.h"
#include "net/h2.h"
#include "net/tls_impl.h"

/* Headers of a reply that do not fit are left out. */
enum { SERVER_MAX_REPLY_HEAD = 64 << 10 };
#define SERVER_BODY_TIMEOUT (60 * USEC_PER_SEC)
#define SERVER_LINGER_TIMEOUT (2 * USEC_PER_SEC)

struct h2_server;

struct http_server {
    struct loop *loop;
    struct http_limits limits;
    struct tls_server *tls;
    void (*handler)(void *ctx, struct http_exchange *x);
    void *ctx;

    struct list conns; /* struct server_conn.link */
    size_t n_conns;

    /* accepting */
    struct loop_io listener; /* fd -1: none */
    struct loop_timer accept_retry;
    char address[64];

    char date[64]; /* the Date header of this second */
    usec date_second;
    struct gzip_pool gzip;
    struct h2_out head; /* scratch: the reply head that is being made */
    bool assumes_h2;    /* tests: clear text is HTTP/2 */

    bool is_shutting_down;
    struct loop_timer grace;
    struct loop_task done_task;
    void (*done)(void *ctx);
    void *done_ctx;
};

struct server_conn {
    struct conn c;
    struct list link;
    struct http_server *server;
    struct http_peer peer;
    struct h2_server *h2; /* NULL: HTTP/1.1 (or not known yet), and then: */
    struct h1_parser h1;
    struct strbuf body;
    struct exchange exchange;
    bool has_exchange; /* the handler has it: on_close is owed */
    bool close_after;  /* no request after this one */
    bool is_head;      /* the request was HEAD: no body goes out */
    bool is_chunked;   /* the reply's body */
    bool is_above_water;
};

/* After the handshake: takes the connection's role. */
void h1_server_start(struct server_conn *sc);
void h2_server_start(struct server_conn *sc);
/* Ends it as shutting down asks: idle at once, a stream cleanly, a reply after it is out. */
void h1_server_wind_down(struct server_conn *sc);
void h2_server_wind_down(struct server_conn *sc);
void h2_server_free(struct h2_server *h);

/* role->release of every role. */
void server_conn_release(struct conn *c);
/* The connection is closed; says why, for debugging. */
void server_conn_log(const struct server_conn *sc, const struct err *err);
/* "Sun, 06 Nov 1994 08:49:37 GMT" */
const char *server_date(struct http_server *s);
bool server_has_no_body(int status);
/* The server's own answer to a request it will not give to the handler. */
void server_refusal(struct strbuf *b, int status, const char *why);
extern const struct http_header server_refusal_type;
/* For tests: serves a transport that was not accepted. */
void http_server_adopt(struct http_server *s, struct transport *t, const char *address);

#endif
