/*
 * One request to one server over an HTTP/1.1 connection of its own, for who passes requests on: the
 * reply comes in pieces, which can be held up, and when the server answers 101 the connection is a
 * tunnel, bytes both ways. The other client (http.h) has a pool, retries and HTTP/2, and neither of
 * these.
 *
 *   connect, TLS ──► request written ──► on_head ──► on_data... ──► on_end
 *                                          │ 101
 *                                          └► upstream_write / on_data... ──► on_end
 *
 * Bounds: at most 64 KiB are read at a time while nobody holds it up; what is written and not taken
 * is upstream_pending(), and on_drain says that it is little again. on_end is the last call and
 * comes once; upstream_free() is due after it, and before it ends everything without a call.
 */
#ifndef NET_UPSTREAM_H
#define NET_UPSTREAM_H

#include "net/http.h"
#include "net/tls.h"

struct upstream;

struct upstream_options {
    const char *host; /* an address */
    int port;
    struct tls_client *tls; /* made without verification; NULL: clear text */
    /* A certificate that this authority signed must be for the host or this name; one of somebody
     * else is taken, unless must_verify. */
    str ca_pem;
    const char *name;
    bool must_verify;

    str method, target; /* target: path and query */
    const struct http_header *headers;
    size_t n_headers;
    str body;
    usec head_timeout; /* from now to the reply; 0: none */
    usec idle_timeout; /* of a tunnel in which no byte moves; 0: none */

    void (*on_head)(void *ctx, int status, const struct http_header *h, size_t n);
    void (*on_data)(void *ctx, str data);
    void (*on_drain)(void *ctx);
    /* NULL: the reply is complete, or the server has ended the tunnel. */
    void (*on_end)(void *ctx, const struct err *err);
    void *ctx;
};

/* What of the options is text is copied. NULL: it cannot even be begun. */
struct upstream *upstream_new(struct loop *l, const struct upstream_options *o, struct err *err);
void upstream_free(struct upstream *u);
/* Its certificate is one that the authority signed, and good. */
bool upstream_is_verified(const struct upstream *u);

void upstream_hold(struct upstream *u, bool on);
/* After a 101. */
void upstream_write(struct upstream *u, str data);
size_t upstream_pending(const struct upstream *u);
/* All was written that will be. */
void upstream_end(struct upstream *u);

#endif
