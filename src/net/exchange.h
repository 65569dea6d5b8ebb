/*
 * Private to net/: the part of an exchange that handlers do not see. A protocol (HTTP/1.1 or
 * HTTP/2) carries an exchange by filling `ops`; http.c checks the order of the handler's calls.
 *
 * `is_dead` is set when nothing the handler says can reach the peer any more (it is being cut off,
 * or the server ended the stream to shut down): later data is dropped without a word, until
 * on_close says that the exchange is over.
 */
#ifndef NET_EXCHANGE_H
#define NET_EXCHANGE_H

#include "net/http.h"

enum exchange_phase { EXCHANGE_OPEN, EXCHANGE_STREAM, EXCHANGE_ENDED };

struct exchange;
struct gzip_job;
struct gzip_pool;

struct exchange_ops {
    /* length is NULL for a stream. */
    void (*head)(struct exchange *e, int status, const struct http_header *headers, size_t n,
                 const uint64_t *length);
    /* Takes over the owners. */
    void (*data)(struct exchange *e, const struct http_slice *slices, size_t n);
    void (*end)(struct exchange *e);
    size_t (*pending)(const struct exchange *e);
    /* NULL: they stay. */
    void (*drop_headers)(struct exchange *e);
    void (*pause)(struct exchange *e, usec how_long);
    void (*hang_up)(struct exchange *e);
    void (*abort)(struct exchange *e);
    /* NULL: not with this protocol, or not for this request. */
    bool (*can_upgrade)(const struct exchange *e);
    void (*upgrade)(struct exchange *e, const struct http_header *headers, size_t n);
    void (*hold_input)(struct exchange *e, bool on);
};

struct exchange {
    struct http_exchange x;
    const struct exchange_ops *ops;
    enum exchange_phase phase;
    bool is_dead;
    struct gzip_pool *gzip_pool; /* NULL: no compression */
    struct gzip_job *gzip;       /* the reply that is being compressed */
};

/* For protocols. The last thing that happens to an exchange: on_close. */
void exchange_close(struct exchange *e, bool aborted);
/* The peer has taken so much that pending is below the low-water mark again. */
void exchange_drained(struct exchange *e);

void http_slice_drop(const struct http_slice *slice);
/* -1 when it is none. */
int http_hex_digit(char c);

#endif
