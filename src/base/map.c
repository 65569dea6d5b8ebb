/*
 * Linear probing over a power-of-two table at most three quarters full; deletion shifts the
 * following entries back, so there are no tombstones and a table never needs cleaning.
 *
 * Invariants: a slot is free iff its hash is 0 (a real hash of 0 is stored as 1); between an
 * entry's home slot and where it sits there is no free slot; a table keeps the seed it was made
 * with, so map_set_seed never invalidates a live map.
 */
#include "base/map.h"

#include <stdatomic.h>
#include <sys/random.h>

struct map_slot {
    str key;
    void *value;
    uint64_t hash;
};

enum { MAP_MIN_CAP = 8 };

static _Atomic uint64_t seed_now;
static atomic_bool seed_set;

void map_set_seed(uint64_t seed)
{
    atomic_store(&seed_now, seed);
    atomic_store(&seed_set, true);
}

/* The one random number drawn outside the loop: it must exist before any loop does, and nothing
 * observable depends on it. Two threads may race here; each map keeps whichever seed it saw. */
static uint64_t map_seed(void)
{
    if (!atomic_load(&seed_set)) {
        uint64_t seed = 0;
        if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
            BUG("getrandom failed");
        map_set_seed(seed);
    }
    return atomic_load(&seed_now);
}

void map_done(struct map *m)
{
    free(m->slots);
    *m = MAP_INIT;
}

static uint64_t map_hash(const struct map *m, str key)
{
    uint64_t h = str_hash(key, m->seed);
    return h ? h : 1;
}

/* The slot that holds key, or the free one where it belongs. */
static struct map_slot *map_find(const struct map *m, str key, uint64_t hash)
{
    size_t mask = m->cap - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        struct map_slot *s = &m->slots[i];
        if (s->hash == 0 || (s->hash == hash && str_eq(s->key, key)))
            return s;
    }
}

static struct map_slot *map_lookup(const struct map *m, str key)
{
    if (m->len == 0)
        return NULL;
    struct map_slot *s = map_find(m, key, map_hash(m, key));
    return s->hash ? s : NULL;
}

void *map_get(const struct map *m, str key)
{
    struct map_slot *s = map_lookup(m, key);
    return s ? s->value : NULL;
}

bool map_has(const struct map *m, str key)
{
    return map_lookup(m, key) != NULL;
}

static void map_grow(struct map *m)
{
    struct map old = *m;
    if (old.cap == 0)
        m->seed = map_seed();
    m->cap = old.cap ? old.cap * 2 : MAP_MIN_CAP;
    m->slots = xcalloc(m->cap, sizeof(*m->slots));
    for (size_t i = 0; i < old.cap; i++) {
        struct map_slot *s = &old.slots[i];
        if (s->hash)
            *map_find(m, s->key, s->hash) = *s;
    }
    free(old.slots);
}

void *map_put(struct map *m, str key, void *value)
{
    if (m->len + 1 > m->cap - m->cap / 4)
        map_grow(m);
    uint64_t hash = map_hash(m, key);
    struct map_slot *s = map_find(m, key, hash);
    void *was = s->value;
    m->len += s->hash == 0;
    *s = (struct map_slot){key, value, hash};
    return was;
}

void *map_del(struct map *m, str key)
{
    struct map_slot *s = map_lookup(m, key);
    if (!s)
        return NULL;
    void *was = s->value;
    size_t mask = m->cap - 1;
    size_t hole = (size_t)(s - m->slots);
    for (size_t i = (hole + 1) & mask; m->slots[i].hash; i = (i + 1) & mask) {
        /* An entry may fill the hole unless its home lies cyclically after the hole. */
        size_t from_home = (i - m->slots[i].hash) & mask;
        if (from_home >= ((i - hole) & mask)) {
            m->slots[hole] = m->slots[i];
            hole = i;
        }
    }
    m->slots[hole] = (struct map_slot){0};
    m->len--;
    return was;
}

bool map_next(const struct map *m, size_t *it, str *ret_key, void **ret_value)
{
    while (*it < m->cap) {
        const struct map_slot *s = &m->slots[(*it)++];
        if (s->hash == 0)
            continue;
        if (ret_key)
            *ret_key = s->key;
        if (ret_value)
            *ret_value = s->value;
        return true;
    }
    return false;
}
