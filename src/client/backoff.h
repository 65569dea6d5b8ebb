/* How long to wait before trying again: doubling from `base` up to `max`, a random quarter taken
 * off so that many who failed together do not return together. */
#ifndef CLIENT_BACKOFF_H
#define CLIENT_BACKOFF_H

#include "loop/loop.h"

/* failures: how many times in a row it failed, at least 1. */
static inline usec backoff_delay(struct loop *l, usec base, usec max, unsigned failures)
{
    usec delay = base;
    for (unsigned i = 1; i < failures && delay < max; i++)
        delay *= 2;
    delay = MIN(delay, max);
    return delay - (usec)(loop_random_u64(l) % ((uint64_t)delay / 4 + 1));
}

#endif
