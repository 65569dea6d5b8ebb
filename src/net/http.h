/*
 * HTTP as the rest of the program sees it, whatever the version on the wire: an exchange is one
 * request, complete with its (bounded) body, and one reply, whole or streamed. One connection
 * module serves both roles; HTTP/1.1 is in h1*.c, HTTP/2 in h2*.c. With TLS the two sides agree on
 * HTTP/2 when both can.
 *
 * Life of an exchange: the server calls the handler with a complete request; the handler answers
 * now or later with http_reply(), or http_stream_begin/write/end. on_close is the last call the
 * handler sees for the exchange, always and exactly once: after the reply went out, or when the
 * peer went away or was cut off (then x->aborted is set). After it the exchange is gone.
 *
 * Bodies are slices with an owner: the connection holds the owner until the bytes are written and
 * then drops it, so a document's text goes out without being copied.
 *
 * Back-pressure: http_stream_pending() is what the peer has not taken yet; when it falls below the
 * low-water mark on_drain is called. A stream whose peer lets more than the limit pile up is cut
 * off: with HTTP/2 that stream alone.
 *
 * A whole reply of 128 KiB or more is compressed (gzip) for a peer that accepts that.
 */
#ifndef NET_HTTP_H
#define NET_HTTP_H

#include "base/arena.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "loop/loop.h"

struct http_header {
    str name; /* lower case */
    str value;
};

struct http_slice {
    str data;
    void *owner; /* NULL: copied before the call returns */
    void (*drop)(void *owner);
};

struct http_peer {
    char address[64];
    /* From a verified client certificate, else empty. */
    str common_name;
    str *organizations;
    size_t n_organizations;
};

struct http_exchange {
    str method;
    str path;  /* as sent, before '?', still percent-encoded */
    str query; /* after '?', or empty */
    const struct http_header *headers;
    size_t n_headers;
    str body;
    const struct http_peer *peer;
    void **conn_ctx; /* the handler's, for the whole connection; NULL at first. See on_gone */

    /* The handler's. */
    void *ctx;
    void (*on_close)(struct http_exchange *x);
    void (*on_drain)(struct http_exchange *x);
    /* After http_upgrade(): bytes of the peer, and that there will be no more of them. */
    void (*on_input)(struct http_exchange *x, str data);
    void (*on_input_end)(struct http_exchange *x);
    bool aborted;
};

/* First header of that (lower-case) name; empty when absent. */
str http_header_find(const struct http_header *headers, size_t n, str name);
str http_header_get(const struct http_exchange *x, str name);
/* The reply may be compressed: asked for, and there is a body to compress. */
bool http_accepts_gzip(const struct http_exchange *x);
/* Decodes %XX (and '+' in queries); false when malformed. */
bool http_unescape(str s, bool plus_is_space, struct arena *a, str *ret);
/* Value of a query parameter, decoded into the arena; false when absent. */
bool http_query_get(struct arena *a, str query, str name, str *ret);
const char *http_status_text(int status);

void http_reply(struct http_exchange *x, int status, const struct http_header *headers, size_t n,
                struct http_slice body);
void http_reply_slices(struct http_exchange *x, int status, const struct http_header *headers,
                       size_t n_headers, const struct http_slice *slices, size_t n_slices);
void http_stream_begin(struct http_exchange *x, int status, const struct http_header *headers,
                       size_t n);
void http_stream_write(struct http_exchange *x, const struct http_slice *slices, size_t n);
void http_stream_end(struct http_exchange *x);
size_t http_stream_pending(const struct http_exchange *x);
/* The handler needs the request's headers no more: a stream that is open for hours need not hold
 * them. Slices of them are invalid from now on; method, path and query stay. */
void http_drop_headers(struct http_exchange *x);

/* ---- tunnels: HTTP/1.1 only ----
 *
 * The peer asked for another protocol (Connection: Upgrade) and gets it: 101, and from then on
 * bytes both ways. What is written goes out as it is; the peer's bytes come by on_input, all of
 * them, unless they are held up. http_stream_end() ends it when all is written. */
bool http_can_upgrade(const struct http_exchange *x);
/* The header Upgrade, of at most so many bytes, goes first; of the others as many as there is room
 * for. */
enum { HTTP_MAX_UPGRADE = 256 };
void http_upgrade(struct http_exchange *x, const struct http_header *headers, size_t n);
/* Nothing more is read of the peer until it is let go on. What was read is still given. */
void http_hold_input(struct http_exchange *x, bool on);

/* Against peers that ask too much, before or after the reply: nothing more is read of the
 * connection for so long; it ends after what is under way on it (before the reply only). */
void http_pause(struct http_exchange *x, usec how_long);
void http_hang_up(struct http_exchange *x);
/* What was not sent yet is dropped and the peer cut off, with HTTP/2 that exchange alone; on_close
 * comes later. */
void http_abort(struct http_exchange *x);

/* ---- server ---- */

struct http_limits {
    size_t max_body;         /* 3 MiB */
    size_t max_header_bytes; /* 64 KiB */
    size_t max_headers;      /* 100 */
    size_t max_connections;  /* 10,000 */
    size_t max_streams;      /* at once on one HTTP/2 connection, 2,000 */
    size_t max_pending;      /* stream bytes a slow reader may leave, 16 MiB */
    size_t low_water;        /* 64 KiB */
    usec idle_timeout;       /* keep-alive without a request, 120 s */
    usec header_timeout;     /* first byte to end of headers, 10 s; body: 60 s */
    size_t max_held;         /* see http_server_held(); above it large bodies are refused. 1 GiB */
};
extern const struct http_limits http_default_limits;

struct tls_server; /* net/tls.h */
struct http_server;

struct http_server_options {
    const char *listen;     /* "127.0.0.1:6443"; port 0 picks one */
    struct tls_server *tls; /* NULL: clear text (tests) */
    const struct http_limits *limits;
    void (*handler)(void *ctx, struct http_exchange *x);
    void *ctx;
    /* Optional: a connection ends whose conn_ctx was set; after the on_close of its exchanges. */
    void (*on_gone)(void *ctx, void *conn_ctx);
    /* Optional: whose conn_ctx this is has so many connections that they are read in turns. */
    bool (*is_greedy)(void *ctx, void *conn_ctx);
};

struct http_server *http_server_new(struct loop *l, const struct http_server_options *o,
                                    struct err *err);
/* "127.0.0.1:34567" as bound. */
const char *http_server_address(const struct http_server *s);
/* Open now, those that are still shaking hands too. */
size_t http_server_connections(const struct http_server *s);
/* Bytes of requests that are arriving or being handled, and of replies that peers have not taken.
 */
size_t http_server_held(const struct http_server *s);
/* From now on every answer over HTTP/1.1 is the last of its connection, which the answer says.
 * There is no other way to end one that its client uses: closed while idle, it may already carry
 * the next request, and whoever sent it cannot know whether that was heard. HTTP/2 has GOAWAY for
 * it. */
void http_server_take_leave(struct http_server *s);
/* Stops accepting, ends idle connections, lets replies in flight finish for at most `grace`, then
 * calls done. Streams are ended cleanly at once. */
void http_server_shutdown(struct http_server *s, usec grace, void (*done)(void *ctx), void *ctx);
/* Aborts what is in flight. Not inside a handler or an on_close; done() above is a good place. */
void http_server_free(struct http_server *s);

/* ---- client ---- */

struct tls_client;
struct http_client;

struct http_call {
    /* request; slices must live until on_end */
    str method;
    str path; /* with query */
    const struct http_header *headers;
    size_t n_headers;
    str body;
    usec timeout; /* whole call; 0: none (watches) */

    /* Called on the loop, never inside http_client_send, in this order; on_end exactly once, and
     * the call is the caller's again. err is NULL on a complete reply. Its code says what is known
     * of the request: ERR_INVALID and ERR_UNAVAILABLE: it was not sent, or the server did not look
     * at it; ERR_IO: the connection or stream broke, the outcome is unknown; ERR_TIMEOUT: the same,
     * or it waited too long to be sent. Headers and data are valid during the call only. */
    void (*on_headers)(struct http_call *c, int status, const struct http_header *h, size_t n);
    void (*on_data)(struct http_call *c, str data);
    void (*on_end)(struct http_call *c, const struct err *err);
    void *ctx;

    /* private */
    struct list link;
    void *conn;
    void *stream; /* HTTP/2 */
    struct http_client *client;
    struct loop_timer timer;
    bool is_retry;
};

struct http_client_options {
    const char *host; /* name or address */
    int port;
    struct tls_client *tls;  /* NULL: clear text */
    const char *server_name; /* the certificate is for this name; NULL: for the host */
    /* An HTTP proxy to go through (CONNECT), which looks the host up. NULL: none. */
    const char *proxy_host;
    int proxy_port;
    const char *proxy_authorization; /* "Basic ..."; NULL: none */
    /* HTTP/1.1 only, 0: 4. Calls without a timeout (watches) do not count: each has a connection
     * of its own. HTTP/2 has one connection for calls, and others for watches. */
    size_t max_connections;
};

struct http_client *http_client_new(struct loop *l, const struct http_client_options *o);
/* Calls not yet ended end with ERR_UNAVAILABLE. Not inside a callback of one of its calls. */
void http_client_free(struct http_client *c);
/* A GET or HEAD that meets a kept connection just as the server closes it is sent once more; so is
 * any call that the server says it has not looked at (HTTP/2). */
void http_client_send(struct http_client *c, struct http_call *call);
/* No callback comes after it. HTTP/1.1 closes the connection, HTTP/2 resets the stream. */
void http_client_cancel(struct http_client *c, struct http_call *call);

#endif
