/*
 * tombs: the UIDs that a cache knows to be gone, so that a late answer or a list of a server that
 * lags does not bring them back. Many come in a short time and each stays for minutes, so one takes
 * 32 bytes and its place in the index: a digest of the UID instead of its text.
 *
 * They go in the order they came, which is why their sequence number is their place.
 */
#ifndef CLIENT_TOMBS_H
#define CLIENT_TOMBS_H

#include "base/str.h"
#include "base/timefmt.h"

struct tomb;

struct tombs {
    struct tomb *ring;
    uint32_t *index;     /* by digest: place in the ring + 1, or 0; twice as many as the ring has */
    size_t cap;          /* of the ring; a power of two, or 0 */
    uint64_t first, end; /* sequence numbers of the oldest, and of the next to come */
};

#define TOMBS_INIT ((struct tombs){0})

void tombs_done(struct tombs *t);
size_t tombs_len(const struct tombs *t);
/* Versions of the UID up to rv are dead. At TOMBS_MAX the oldest makes room. confirmed: the
 * server's stream has passed the deletion. */
void tombs_add(struct tombs *t, str uid, uint64_t rv, bool confirmed, usec now);
/* Up to which version it is dead; 0: it is not. */
uint64_t tombs_dead_until(const struct tombs *t, str uid);
/* What came before `seq` (a value of `end`) is confirmed. */
void tombs_confirm(struct tombs *t, uint64_t seq);
/* Forgets what came before `limit` and is confirmed. */
void tombs_forget(struct tombs *t, usec limit);

enum { TOMBS_MAX = 100000 };

#endif
