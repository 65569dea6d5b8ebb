/* Private to net/: what a server's connections share, between http_server.c (connections come and
 * go), h1_server.c and h2_server.c (what is said on them). */
#ifndef NET_HTTP_SERVER_H
#define NET_HTTP_SERVER_H

#include "net/conn.h"
#include "net/exchange.h"
#include "net/gzip.h"
#include "net/h1.h"
#include "net/h2.h"
#include "net/tls_impl.h"

/* Headers of a reply that do not fit are left out. */
enum { SERVER_MAX_REPLY_HEAD = 64 << 10 };
/* A body of which more than this has arrived is large: it is read as there is time and memory. */
enum { SERVER_LARGE_BODY = 64 << 10 };
/* A peer that takes less than this in the idle time is as good as one that takes nothing. */
enum { SERVER_LEAST_PROGRESS = 16 << 10 };
#define SERVER_BODY_TIMEOUT (60 * USEC_PER_SEC)
#define SERVER_LINGER_TIMEOUT (2 * USEC_PER_SEC)

struct h2_server;

/* What many connections want at once and would make a turn of the loop long they get in turns. */
enum server_line {
    LINE_SHAKES,  /* a handshake */
    LINE_STREAMS, /* to write events, or what did not fit into one turn */
    LINE_BODIES,  /* to read a large body */
    LINE_READS,   /* to read what a stranger or one with many connections says */
    SERVER_LINES,
};

struct http_server {
    struct loop *loop;
    struct http_limits limits;
    struct tls_server *tls;
    void (*handler)(void *ctx, struct http_exchange *x);
    void (*on_gone)(void *ctx, void *conn_ctx);
    bool (*is_greedy)(void *ctx, void *conn_ctx);
    void *ctx;

    struct list conns; /* struct server_conn.link */
    size_t n_conns;
    struct list fresh; /* .fresh: those that have not asked anything yet, oldest first */
    struct list large; /* .large: those with a large body on its way, the oldest first */
    size_t held;       /* bytes, all of server_conn.held */

    struct list lines[SERVER_LINES]; /* server_conn.in_line */
    struct loop_task line_task;
    enum loop_phase line_phase; /* where the task waits */
    enum server_line line;      /* that had its turn last */
    bool is_serving;            /* them */

    /* accepting */
    struct loop_io listener; /* fd -1: none */
    struct loop_timer accept_retry;
    char address[64];

    char date[64]; /* the Date header of this second */
    usec date_second;
    struct gzip_pool gzip;
    struct h2_out head; /* scratch: the reply head that is being made */
    bool assumes_h2;    /* tests: clear text is HTTP/2 */

    bool is_leaving; /* answers over HTTP/1.1 end their connections */
    bool is_shutting_down;
    struct loop_timer grace;
    struct loop_task done_task;
    void (*done)(void *ctx);
    void *done_ctx;
};

struct server_conn {
    struct conn c;
    struct list link, fresh, large, in_line[SERVER_LINES];
    struct http_server *server;
    struct http_peer peer;
    void *ctx;            /* the handler's */
    size_t held;          /* as counted in the server's */
    bool may_read;        /* it has stood in line for that */
    uint64_t marked;      /* c.written when the deadline of a reply was last moved */
    struct h2_server *h2; /* NULL: HTTP/1.1 (or not known yet), and then: */
    struct h1_parser h1;
    struct strbuf body;
    struct exchange exchange;
    bool has_exchange; /* the handler has it: on_close is owed */
    bool close_after;  /* no request after this one */
    bool is_head;      /* the request was HEAD: no body goes out */
    bool is_chunked;   /* the reply's body */
    bool is_above_water;
    bool is_tunnel; /* another protocol is spoken: bytes both ways */
    bool is_held;   /* nothing more is to be read for it at present */
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
/* What the connection holds now, apart from what waits in its queues. */
void server_account(struct server_conn *sc, size_t bytes);
/* It has a complete request: no stranger any more. */
void server_known(struct server_conn *sc);
/* Writes when it is its turn among the streams: replies go before events. The second is role->more
 * of every role: what does not fit into one turn waits in the same line. */
void server_flush_stream(struct server_conn *sc);
void server_write_more(struct conn *c);
/* For role->room: a piece, to those who need not stand in line for it or have done so. */
size_t server_room(struct server_conn *sc, bool is_large);
/* A large body grows. Where memory is short, the one that has been on its way for longest is
 * refused, which may be this one. */
void server_body_grows(struct server_conn *sc);
/* No large body is on its way here any more. */
void server_body_ends(struct server_conn *sc);
/* Refuses what of the connection's bodies is large and not complete. */
void h1_server_shed(struct server_conn *sc);
void h2_server_shed(struct server_conn *sc);
#define SERVER_SHED_TEXT "the server holds too many requests, try again later"
/* The connection is closed; says why, for debugging. */
void server_conn_log(const struct server_conn *sc, const struct err *err);
/* "Sun, 06 Nov 1994 08:49:37 GMT" */
const char *server_date(struct http_server *s);
bool server_has_no_body(int status);
/* The server's own answer to a request it will not give to the handler. */
void server_refusal(struct strbuf *b, int status, const char *why);
size_t server_refusal_headers(int status, const struct http_header **ret);
/* For tests: serves a transport that was not accepted. */
void http_server_adopt(struct http_server *s, struct transport *t, const char *address);

#endif
