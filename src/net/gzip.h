/*
 * Private to net/: compression of large replies. A reply that will be compressed is begun like a
 * stream of unknown length; its slices wait here and are compressed piece by piece as the peer
 * takes the result, a bounded piece for the whole server in each iteration of the loop, the replies
 * in turn. Level 1: on JSON it is several times faster than the default and nearly as small.
 */
#ifndef NET_GZIP_H
#define NET_GZIP_H

#include "net/exchange.h"

/* GZIP_MIN is Kubernetes' threshold. A compressor takes 260 KB, so there is a maximum of them;
 * replies above it go out as they are. */
enum { GZIP_MIN = 128 << 10, GZIP_MAX_JOBS = 32 };

struct gzip_pool {
    struct loop *loop;
    struct loop_task task;
    struct list jobs; /* those that can go on */
    size_t n_jobs;    /* paused ones too */
    size_t low_water; /* a reply with this much unsent waits */
};

void gzip_pool_init(struct gzip_pool *p, struct loop *l, size_t low_water);
void gzip_pool_done(struct gzip_pool *p);

/* The peer asked for it, the reply is large and not encoded already. */
bool gzip_suits(const struct exchange *e, const struct http_header *headers, size_t n,
                uint64_t length);
/* Takes over the slices of a reply whose head is written; ends the exchange after the last. */
void gzip_start(struct exchange *e, const struct http_slice *slices, size_t n);
/* The peer has taken enough. */
void gzip_resume(struct exchange *e);
/* The exchange is over, complete or not; does nothing without a job. */
void gzip_cancel(struct exchange *e);

#endif
