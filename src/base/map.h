/*
 * map: hash map from byte strings to pointers. Open addressing, XXH3 seeded once per process
 * (hash flooding); the virtual loop seeds it with its own number.
 *
 * Keys are NOT copied: a key slice must stay valid while its entry lives (usually it points into
 * the value). Iteration order means nothing and must never reach a plan, a list or a log; sort.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/str.h"

struct map_slot;

struct map {
    struct map_slot *slots;
    size_t len;
    size_t cap;
    uint64_t seed; /* taken when the table is made */
};

#define MAP_INIT ((struct map){0})

/* Seed of all maps whose first insert comes after this call; random when never called. */
void map_set_seed(uint64_t seed);
void map_done(struct map *m);
/* NULL when absent. */
void *map_get(const struct map *m, str key);
bool map_has(const struct map *m, str key);
/* Inserts or replaces (the key slice too); returns the value that was there, or NULL. */
void *map_put(struct map *m, str key, void *value);
/* Returns what was there, or NULL. */
void *map_del(struct map *m, str key);
/* for (size_t it = 0; map_next(&m, &it, &key, &value);) — no insert or delete meanwhile. */
bool map_next(const struct map *m, size_t *it, str *ret_key, void **ret_value);

#endif
