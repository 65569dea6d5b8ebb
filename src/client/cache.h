/*
 * cache: what we know of one kind, fed by list and watch, with our own writes visible at once.
 *
 * 1. A newer version is never replaced by an older one: resourceVersions are compared as integers
 *    within the kind, and UIDs seen deleted are remembered, so a late watch event neither undoes
 * our own write nor brings back what is gone.
 * 2. Objects are immutable; a pointer handed out is borrowed until the next turn of the loop.
 * 3. Absence is never proof (see plan_verify_absent).
 * 4. Iteration is in key order (namespace, name), everywhere.
 *
 * Handlers are told (old, new) once per change, after the cache changed; during the first
 * synchronisation too. A relist that changes nothing calls nobody. An object that was deleted and
 * made again under its name is two changes: (old, NULL), then (NULL, new).
 *
 * Feeding: a watch that begins with the present state (watch-list); where the server refuses that,
 * a list in pages and then a watch. A clean end is resumed at the last revision, 410 leads to a new
 * list, anything else is tried again after a growing pause.
 */
#ifndef CLIENT_CACHE_H
#define CLIENT_CACHE_H

#include "client/api.h"
#include "loop/loop.h"

struct cache;

struct cache_options {
    const struct kind *kind;
    str ns;             /* in this namespace; empty: everywhere */
    str label_selector; /* server-side filters; empty: all */
    str field_selector;
    /* Reopen a watch that shows nothing, not even a bookmark, for this long; 0: never. For peers
     * behind a network; the embedded API does not fall silent. */
    usec stall_timeout;
};

/* old is NULL when it appeared, new is NULL when it went. */
typedef void cache_handler(void *ctx, const struct obj *old, const struct obj *new);
/* Adds the index keys of an object (at most a few); slices into the object or the arena. */
typedef void cache_index_fn(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n);

struct cache *cache_new(struct loop *l, struct api *api, const struct cache_options *o);
void cache_free(struct cache *c);
/* Before start. The function is the index's name in cache_by; adding it again changes nothing. */
void cache_add_index(struct cache *c, cache_index_fn *fn);
/* By the UID of the controller owner. Every cache has it. */
cache_index_fn cache_index_owner;
void cache_add_handler(struct cache *c, cache_handler *fn, void *ctx);
void cache_start(struct cache *c);
/* Asks no more and forgets what it knew (handlers are told); it is absent until it is started
 * again. For a kind that is served no more. */
void cache_stop(struct cache *c);
bool cache_is_started(const struct cache *c);
/* The first list is complete. */
bool cache_is_synced(const struct cache *c);
/* Reads everything anew, consistently (from now, not from what a server remembers): not synced
 * until that is complete, which is told once more. What is known meanwhile stays. */
void cache_resync(struct cache *c);
/* Told when the first list is complete, and each list asked for by cache_resync. */
void cache_on_synced(struct cache *c, void (*fn)(void *ctx), void *ctx);
/* The server answered the last list with 404 or 403: it has no such kind, or none for us. It is
 * asked again after growing pauses. */
bool cache_is_absent(const struct cache *c);
/* Told each time it answers so. */
void cache_on_absent(struct cache *c, void (*fn)(void *ctx), void *ctx);
const struct kind *cache_kind(const struct cache *c);

/* In a filtered cache also what it does not select, when a write of ours met it under this name
 * within the last minute (client/strangers.h). */
struct obj *cache_get(const struct cache *c, str ns, str name);
size_t cache_count(const struct cache *c);

/* for (struct cache_iter it = cache_all(c, ns); (o = cache_next(&it));) */
struct cache_iter {
    const void *node;
    str ns; /* empty: all */
    bool by_index;
};
struct cache_iter cache_all(const struct cache *c, str ns);
/* The objects for which the function named this key. It must have been added. */
struct cache_iter cache_by(const struct cache *c, cache_index_fn *fn, str key);
struct obj *cache_next(struct cache_iter *it);
/* Objects of the namespace that have the label with this value. The first question about a label
 * sorts all objects by it; from then on the answer costs what is in it, and each object that has
 * the label as much as a place in an index. That is done for CACHE_LABELS labels; asked about more,
 * it answers with all objects of the namespace: who asks looks at each in any case. */
enum { CACHE_LABELS = 16 };
struct cache_iter cache_by_label(struct cache *c, str ns, str label, str value);

/*
 * Folds: aggregates per key of an index, kept up by addition and removal instead of being counted
 * anew for every plan (design D1a: derived state; losing it costs time, never correctness).
 *
 *   struct pod_counts { int64_t ready, scheduled, gated; struct slots used; };
 *
 *   static void counts_add(void *agg, const struct obj *pod) { ... n->ready += pod_is_ready(pod); }
 *   static void counts_remove(void *agg, const struct obj *pod) { ... n->ready -= ... }
 *   static void counts_done(void *agg) { slots_done(&n->used); }
 *
 *   static const struct cache_fold_def counts = {
 *       cache_index_owner, sizeof(struct pod_counts), counts_add, counts_remove, counts_done};
 *
 *   cache_add_fold(pods, &counts);
 *   const struct pod_counts *n = cache_fold(pods, &counts, pclq->uid);   in a planner
 *
 * add and remove get an aggregate that began as zeros and may read nothing but the object; remove
 * with the same object undoes add exactly, in any order with others. What a plan intends to delete
 * is not in the object: subtract world_intended_count, or leave out by world_is_intended.
 *
 * Cost. An aggregate is made when its key is first asked for, O(objects of the key), and from then
 * on follows every change with one remove and one add, plus one hash look-up; keys nobody asked for
 * cost the look-up only. Asking costs one hash look-up. It goes with the last object of its key.
 * Memory: size + key + 32 bytes per key asked for. client/slots.h is a set of small numbers made
 * for this (indices in use, the lowest free).
 */
struct cache_fold_def {
    cache_index_fn *index; /* whose keys have aggregates; added with the fold */
    size_t size;           /* of the aggregate: plain data, zeros to begin with */
    void (*add)(void *agg, const struct obj *o);
    void (*remove)(void *agg, const struct obj *o);
    void (*done)(void *agg); /* frees what it owns; NULL: nothing */
};
/* Before start. The definition must outlive the cache, and its address is the fold's name in
 * cache_fold; adding it again changes nothing. */
void cache_add_fold(struct cache *c, const struct cache_fold_def *def);
/* NULL when no object has this key. Borrowed until the next change. */
const void *cache_fold(const struct cache *c, const struct cache_fold_def *def, str key);
/* Forgets all aggregates; they are made anew when asked for. */
void cache_drop_folds(struct cache *c);

/* When the object, which this cache has, was first seen, and when this version of it was:
 * monotonic, rounded up to a tenth of a second and to a millisecond. */
struct cache_seen {
    usec first, version;
    bool listed; /* it came with a list, and nobody knows how long it had been there */
};
bool cache_seen(const struct cache *c, const struct obj *o, struct cache_seen *ret);

/* Our own writes: what the API answered. Older than what is known, or of a UID known to be deleted:
 * ignored. */
void cache_observe(struct cache *c, struct obj *o);
/* From now on names of what went are remembered for some minutes, at most TOMBS_MAX of them. Before
 * start. */
void cache_remember_names(struct cache *c);
/* An object of this name was here and went. False is no proof: see above. */
bool cache_was_here(const struct cache *c, str ns, str name);

/* This UID is gone for good; an empty one means whichever is cached under the name. */
void cache_observe_deleted(struct cache *c, str ns, str name, str uid);

/* Lists begun and watches opened so far. */
struct cache_stats {
    uint64_t lists;
    uint64_t watches;
    size_t tombstones; /* deleted UIDs remembered at present */
};
struct cache_stats cache_stats(const struct cache *c);

#endif
