/*
 * outq: bytes waiting to be written, as slices with owners, in order. An owner is dropped when its
 * last byte is written or the queue is cleared. Small pieces without an owner (chunk and frame
 * heads, line ends, the words around an object in an event) are kept inside the entry and joined
 * with the one before, so that framing costs no allocation.
 *
 * Bytes move from one queue to another without being copied, frame by frame: a slice that is cut
 * by this keeps its owner in the queue that holds its end.
 */
#ifndef NET_OUTQ_H
#define NET_OUTQ_H

#include <sys/uio.h>

#include "net/http.h"

enum { OUTQ_SMALL = 40 };

struct outq_entry {
    union {
        struct {
            const char *p;
            void *owner;
            void (*drop)(void *owner);
        };
        char small[OUTQ_SMALL];
    };
    size_t len;
    bool is_small;
};

struct outq {
    VEC(struct outq_entry) entries;
    size_t first; /* entries before it are written */
    size_t sent;  /* bytes of the first entry that are written */
    size_t bytes; /* waiting */
};

void outq_add(struct outq *q, const struct http_slice *slice);
void outq_add_copy(struct outq *q, str s);
/* Takes over the buffer's memory. */
void outq_add_strbuf(struct outq *q, struct strbuf *b);
/* The front of the queue, at most `max` pieces and only as many as hold `want` bytes. */
int outq_peek(const struct outq *q, struct iovec *iov, int max, size_t want);
void outq_consume(struct outq *q, size_t n);
void outq_clear(struct outq *q);
/* Moves the first n bytes to the end of another queue. */
void outq_move(struct outq *from, struct outq *to, size_t n);
/* Clears a queue of which a part was moved: an owner whose first bytes still wait in `to` is handed
 * to it, to be dropped after them. */
void outq_abandon(struct outq *from, struct outq *to);
void outq_done(struct outq *q);

#endif
