#include "client/tombs.h"

#include <string.h>

#include "base/base.h"
#include "base/xxh.h"

enum { FEW = 64 }; /* the smallest ring */

struct digest {
    uint64_t low, high;
};

struct tomb {
    struct digest uid;
    uint64_t rv;
    int64_t at : 63;
    bool confirmed : 1;
};

static struct digest digest_of(str uid)
{
    XXH128_hash_t h = XXH3_128bits(uid.p, uid.len);
    return (struct digest){h.low64, h.high64};
}

static bool is_same(struct digest a, struct digest b)
{
    return a.low == b.low && a.high == b.high;
}

static uint32_t place_of(const struct tombs *t, uint64_t seq)
{
    return (uint32_t)(seq & (t->cap - 1));
}

/* ---- the index: open addressing, half of it empty at least ---- */

static size_t slots(const struct tombs *t)
{
    return 2 * t->cap;
}

static size_t home(const struct tombs *t, uint32_t place)
{
    return t->ring[place].uid.low & (slots(t) - 1);
}

/* The slot of the digest, or the empty one where it would be. */
static size_t find_slot(const struct tombs *t, struct digest uid)
{
    size_t i = uid.low & (slots(t) - 1);
    while (t->index[i] && !is_same(t->ring[t->index[i] - 1].uid, uid))
        i = (i + 1) & (slots(t) - 1);
    return i;
}

static struct tomb *find(const struct tombs *t, struct digest uid)
{
    uint32_t found = t->cap ? t->index[find_slot(t, uid)] : 0;
    return found ? &t->ring[found - 1] : NULL;
}

/* Those behind it move up, so that none is cut off from its home. */
static void index_remove(struct tombs *t, size_t hole)
{
    size_t mask = slots(t) - 1;
    for (size_t i = (hole + 1) & mask; t->index[i]; i = (i + 1) & mask) {
        size_t way = (i - home(t, t->index[i] - 1)) & mask;
        if (way < ((i - hole) & mask))
            continue;
        t->index[hole] = t->index[i];
        hole = i;
    }
    t->index[hole] = 0;
}

/* ---- the ring ---- */

static void set_capacity(struct tombs *t, size_t cap)
{
    struct tombs old = *t;
    t->cap = cap;
    t->ring = xcalloc(cap, sizeof(*t->ring));
    t->index = xcalloc(slots(t), sizeof(*t->index));
    for (uint64_t seq = t->first; seq < t->end; seq++) {
        uint32_t place = place_of(t, seq);
        t->ring[place] = old.ring[place_of(&old, seq)];
        t->index[find_slot(t, t->ring[place].uid)] = place + 1;
    }
    free(old.ring);
    free(old.index);
}

static void forget_first(struct tombs *t)
{
    index_remove(t, find_slot(t, t->ring[place_of(t, t->first)].uid));
    t->first++;
}

void tombs_done(struct tombs *t)
{
    free(t->ring);
    free(t->index);
    *t = TOMBS_INIT;
}

size_t tombs_len(const struct tombs *t)
{
    return t->end - t->first;
}

void tombs_add(struct tombs *t, str uid, uint64_t rv, bool confirmed, usec now)
{
    struct digest d = digest_of(uid);
    struct tomb *known = find(t, d);
    if (known) {
        known->rv = MAX(known->rv, rv);
        known->confirmed |= confirmed;
        return;
    }
    if (tombs_len(t) >= TOMBS_MAX)
        forget_first(t);
    if (tombs_len(t) == t->cap)
        set_capacity(t, t->cap ? 2 * t->cap : FEW);
    uint32_t place = place_of(t, t->end++);
    t->ring[place] = (struct tomb){.uid = d, .rv = rv, .at = now, .confirmed = confirmed};
    t->index[find_slot(t, d)] = place + 1;
}

uint64_t tombs_dead_until(const struct tombs *t, str uid)
{
    const struct tomb *known = find(t, digest_of(uid));
    return known ? known->rv : 0;
}

void tombs_confirm(struct tombs *t, uint64_t seq)
{
    for (uint64_t i = t->first; i < MIN(seq, t->end); i++)
        t->ring[place_of(t, i)].confirmed = true;
}

void tombs_forget(struct tombs *t, usec limit)
{
    while (tombs_len(t)) {
        const struct tomb *oldest = &t->ring[place_of(t, t->first)];
        if (!oldest->confirmed || oldest->at > limit)
            break;
        forget_first(t);
    }
    if (t->cap > FEW && tombs_len(t) < t->cap / 8)
        set_capacity(t, t->cap / 2);
}
