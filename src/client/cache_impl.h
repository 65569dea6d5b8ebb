/*
 * The inside of a cache, shared by cache.c (what is known) and feed.c (how it gets there: list and
 * watch). Nobody else includes this.
 *
 * Every entry is in one of two lists. `live` has been confirmed by the server since the last list
 * began (or no list is under way); `stale` is waiting for it. A list begins by declaring everything
 * stale; each object it brings moves to live; what is left at the end is gone, unless its revision
 * is newer than the list (our own write). So a relist costs what it brings, without a sweep over
 * all.
 */
#ifndef CLIENT_CACHE_IMPL_H
#define CLIENT_CACHE_IMPL_H

#include "base/map.h"
#include "base/tree.h"
#include "base/vec.h"
#include "client/cache.h"
#include "client/strangers.h"
#include "client/tombs.h"
#include "kube/selector.h"

struct index_ref;

struct cache_entry {
    struct tree_node node;  /* by (namespace, name) */
    struct list link;       /* live or stale */
    struct index_ref *refs; /* its places in the indexes */
    struct obj *obj;
    uint32_t seen, changed; /* when it came, and this version of it; see tenths_now */
    uint32_t early : 8;  /* so many milliseconds before the tenth of a second that `changed` is */
    uint32_t listed : 1; /* it came with a list: it was there before */
    uint32_t len : 23;   /* of the key; 0: too long for one */
    char key[];          /* "namespace/name" */
};

struct cache_index {
    cache_index_fn *fn; /* NULL: by labels, see cache_by_label */
    struct map groups;  /* key → struct index_group, of the keys that some entry has */
};

/* The entries of one key. */
struct index_group {
    struct tree refs; /* by (namespace, name) */
    size_t len;
    char key[];
};

/* One place of an entry in one index. */
struct index_ref {
    struct tree_node node;  /* of its group */
    struct index_ref *next; /* of the same entry */
    struct cache_entry *entry;
    struct index_group *group;
    unsigned index;
};

static inline str ref_key(const struct index_ref *r)
{
    return str_n(r->group->key, r->group->len);
}

struct cache_fold {
    const struct cache_fold_def *def;
    unsigned index;        /* number of the index */
    struct map aggregates; /* key → struct aggregate, of the keys asked for */
};

struct cache_subscriber {
    cache_handler *fn;
    void *ctx;
};

struct cache_listener {
    void (*fn)(void *ctx);
    void *ctx;
};

/*
 * Where the feed stands.
 *
 *   IDLE ──start──► PAUSE ──► LIST ──► PAUSE ──► WATCH ──end──► PAUSE ...
 *                     │                            ▲
 *                     └────── INITIAL (watch-list) ┘
 *
 * and from each back to IDLE when it is stopped.
 *
 * PAUSE is the only state with a timer (of zero or more delay) and says what comes next in `next`,
 * so nothing is ever started from inside a callback of the API.
 */
enum feed_state { FEED_IDLE, FEED_PAUSE, FEED_LIST, FEED_INITIAL, FEED_WATCH };

struct feed_list; /* a list request under way; it outlives a cache that is freed */

struct feed {
    enum feed_state state;
    enum feed_state next;
    bool classic; /* the server does not know watch-list */
    bool sweeping;
    uint64_t rv; /* resume after it */
    unsigned failures;
    usec opened; /* when the watch was */
    usec heard;  /* when something came */
    char *token; /* of the next page */
    uint64_t sweep_rv;
    uint64_t list_seq; /* tombstones before it are confirmed when the list is complete */
    struct api_watch watch;
    struct feed_list *list;
    struct loop_timer pause;
    struct loop_timer stall;
    struct loop_task sweep;
    struct cache_stats stats;
};

struct cache {
    struct loop *loop;
    struct api *api;
    const struct kind *kind;
    struct arena arena; /* the selector and its text */
    str ns;
    str label_selector;
    str field_selector;
    struct selector *labels, *fields; /* NULL: everything */
    usec stall_timeout;

    struct tree entries;
    struct map by_key; /* those with a key: "namespace/name" → entry */
    struct list live, stale;
    bool syncing; /* a list is under way */
    bool synced;
    bool absent; /* the server has no such kind, or none for us */
    struct cache_listener on_absent;
    VEC(struct cache_index) indexes;
    str by_labels[CACHE_LABELS]; /* in the arena */
    size_t n_by_labels;
    unsigned labels_index; /* where that is, if there are any */
    VEC(struct cache_fold) folds;
    VEC(struct cache_subscriber) handlers;
    VEC(struct cache_listener) listeners;
    struct arena scratch;

    struct tombs tombs;
    struct tombs names; /* "namespace/name" of what went, where somebody asked for that */
    bool remembers_names;

    struct strangers strangers; /* of a filtered one */

    VEC(struct obj *) grave; /* replaced in this turn of the loop, still borrowed */
    struct loop_task bury;

    struct feed feed;
};

/* ---- cache.c, for feed.c ---- */

/* What the server sent. */
void cache_apply(struct cache *c, struct obj *o);
void cache_apply_deleted(struct cache *c, struct obj *o, uint64_t rv);
/* Everything becomes stale. */
void cache_sync_begin(struct cache *c);
/* Removes up to `budget` entries that the list as of rv did not bring. True when none is left. */
bool cache_sync_sweep(struct cache *c, uint64_t rv, unsigned budget);
void cache_sync_end(struct cache *c);
/* Forgets old tombstones whose deletion the watch has shown. */
void cache_forget_tombs(struct cache *c);

/* ---- cache.c, for fold.c ---- */

/* The number of an index that was added. */
unsigned cache_index_number(const struct cache *c, cache_index_fn *fn);
struct cache_iter cache_by_number(const struct cache *c, unsigned index, str key);

/* ---- fold.c, for cache.c ---- */

/* The entry's object comes into, goes out of, the aggregates of the keys it is indexed under. */
void folds_add(struct cache *c, const struct cache_entry *e, const struct obj *o);
void folds_remove(struct cache *c, const struct cache_entry *e, const struct obj *o);
void folds_done(struct cache *c);

/* ---- feed.c, for cache.c ---- */

void feed_init(struct cache *c);
void feed_start(struct cache *c);
/* Begins again with everything; nothing that was asked for before counts. */
void feed_resync(struct cache *c);
/* As if never started. */
void feed_stop(struct cache *c);
void feed_done(struct cache *c);

#endif
