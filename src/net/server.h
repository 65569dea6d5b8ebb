/* Private to net/: what a server's connections share, between server.c and h1_server.c. */
#ifndef NET_SERVER_H
#define NET_SERVER_H

#include "net/conn.h"
#include "net/exchange.h"
#include "net/h1.h"
#include "net/tls_impl.h"

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

    bool is_shutting_down;
    struct loop_timer grace;
    struct loop_task done_task;
    void (*done)(void *ctx);
    void *done_ctx;
};

/* One connection that speaks HTTP/1.1. */
struct server_conn {
    struct conn c;
    struct list link;
    struct http_server *server;
    struct http_peer peer;
    struct h1_parser h1;
    struct strbuf body;
    struct exchange exchange;
    bool has_exchange; /* the handler has it: on_close is owed */
    bool close_after;  /* no request after this one */
    bool is_head;      /* the request was HEAD: no body goes out */
    bool is_chunked;   /* the reply's body */
    bool is_above_water;
};

/* Serves one connection; takes over the transport. TLS, if any, is already on it. */
void server_conn_start(struct http_server *s, struct transport *t, const char *address);
/* Ends it as shutting down asks: idle at once, a stream cleanly, a reply after it is out. */
void server_conn_wind_down(struct server_conn *sc);
/* "Sun, 06 Nov 1994 08:49:37 GMT" */
const char *server_date(struct http_server *s);
/* A connection's memory is about to go. */
void server_forget(struct http_server *s, struct server_conn *sc);
/* For tests: serves a transport that was not accepted. */
void http_server_adopt(struct http_server *s, struct transport *t, const char *address);

#endif
