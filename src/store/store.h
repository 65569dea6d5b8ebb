/*
 * The store: all live objects in memory, every revision made durable by LMDB (or not at all, for
 * simulations), in the order and visibility of decision 8 (docs/decisions).
 *
 * 1. Each key has a durable version and at most one chain of pending ones. Writers judge against
 *    the newest pending version (store_newest); readers, lists, watches and caches see durable ones
 *    only.
 * 2. A revision is assigned when a write is applied to pending (store_next_revision tells which it
 *    will be, so that the document can carry it). Revisions of what became durable are dense and
 *    never go back, also across restarts. The empty store is at revision 1.
 * 3. One batch is on the disk worker and one is filling, never more (group commit). When a batch is
 *    durable, its versions become visible in revision order, then events are published to the
 *    subscribers, then the writers' done callbacks run; nothing else runs in between.
 * 4. A failed commit drops all pending versions, calls every done with an error, and leaves the
 *    store read-only until restart; a sync is never retried.
 * 5. A delete is a tombstone at its own revision. Compaction has no transaction of its own: each
 *    commit also removes superseded records below the history window, up to twice its batch.
 * 6. A full disk or a full memory is no failure: writes that would make the store larger are
 *    refused with ERR_NO_SPACE, deletes and writes that do not enlarge an object are taken, and all
 *    writes again when there is room. While the disk is full it keeps no window: that past is there
 *    until the restart.
 * 7. Without a directory the same path is taken, a job on the disk worker included, only that the
 *    job writes nothing: simulations see the order and the delays of the real thing.
 *
 * Kinds that share storage (another version of a group, events of both groups) are one collection:
 * either kind finds the object, whose own `kind` is the one it was written as.
 *
 * Layout on disk: docs/store-format.md. Loop thread only; the disk worker sees documents and its
 * own transaction. Callbacks may read, apply writes, subscribe and unsubscribe; they may not close
 * the store.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "kube/object.h"
#include "loop/loop.h"

struct store;

enum store_event_type { STORE_ADDED, STORE_MODIFIED, STORE_DELETED };

struct store_event {
    enum store_event_type type;
    uint32_t storage; /* store_storage_id() of its kind */
    uint64_t revision;
    struct obj *obj;  /* the new version; for DELETED the last state carrying the revision of the
                         deletion as its resourceVersion */
    struct obj *prev; /* the version before, NULL for ADDED */
};

struct store_options {
    const char *dir;       /* NULL: memory only; made when missing */
    size_t history_bytes;  /* what the watch window may hold beyond live objects, 0: 64 MiB */
    size_t history_events; /* 0: 100,000 */
    size_t memory_limit;   /* for objects and the window together, 0: none */
};

struct store_write {
    /* in; the store takes its own reference to obj */
    const struct kind *kind;
    str ns, name;
    struct obj *obj; /* new version, carrying store_next_revision() as resourceVersion */
    bool delete;     /* obj is then the last state with the revision of the deletion */
    /* Called once, after the events of its batch; err is NULL when durable. The write is the
     * caller's again when it is called, and must live until then. */
    void (*done)(struct store_write *w, const struct err *err);
    void *ctx;
    /* set by the store */
    uint64_t revision;
};

/* Opens and scans; the whole state is in memory on return. NULL with an error that says what to do
 * when the directory is in use, damaged or of a newer format. */
struct store *store_open(struct loop *l, const struct store_options *o, struct err *err);
/* Waits for the batch in flight (real loop: blocks) and completes it; writes that were not handed
 * to the disk get an error. Then closes. Accepts NULL. */
void store_close(struct store *s);

/* ---- reading (durable) ---- */

uint64_t store_revision(const struct store *s);
/* Oldest revision a watch can start after; older ones are gone. */
uint64_t store_oldest_revision(const struct store *s);
/* Borrowed; reference it to keep it. NULL when absent. */
struct obj *store_get(const struct store *s, const struct kind *k, str ns, str name);
/* Objects of a kind in key order (namespace, then name, bytewise); ns empty: all namespaces.
 * start_ns/start_name: first key at or after it (for continue tokens), empty: from the beginning.
 * for (it = store_range(...); (o = store_next(&it));) — the store must not change meanwhile (no
 * return to the loop, no store_apply) unless the iterator is re-made from the last key. */
struct store_iter {
    const void *node;
    const struct store *store;
    const struct kind *kind;
    str ns;
};
struct store_iter store_range(const struct store *s, const struct kind *k, str ns, str start_ns,
                              str start_name);
struct obj *store_next(struct store_iter *it);
size_t store_count(const struct store *s, const struct kind *k);
/* Small dense number, the same for kinds that share storage and for their events. */
uint32_t store_storage_id(struct store *s, const struct kind *k);
/* A kind registered after the store was opened (a custom resource): objects of it that were found
 * on disk carry no known kind until then and carry this one from now on. */
void store_adopt_kind(struct store *s, const struct kind *k);
/* Logs what is kept but not served because nobody has adopted it; for when all kinds are known. */
void store_warn_unknown(const struct store *s);

/* ---- writing ---- */

/* Newest version, pending included; NULL when there is none or its deletion is pending. */
struct obj *store_newest(const struct store *s, const struct kind *k, str ns, str name);
uint64_t store_next_revision(const struct store *s);
/* Applies to pending; done() comes later, never from inside. Fails at once, without done(), when
 * the store is read-only, has no room (ERR_NO_SPACE) or the key holds a NUL byte (ERR_INVALID).
 * Deleting what store_newest does not show, or an object of another key or revision, is a bug. */
int store_apply(struct store *s, struct store_write *w, struct err *err);
bool store_is_read_only(const struct store *s);

/* Room for more, on disk and in memory. */
struct store_room {
    bool is_full;                /* writes that make the store larger are refused */
    struct err why;              /* when full: what is full, how much there is, what to do */
    const char *what;            /* "disk" or "memory" */
    size_t memory, memory_limit; /* bytes of objects and the window; limit 0: none */
    uint64_t disk_bytes;         /* that can be written without asking the file system for more */
};
void store_room(const struct store *s, struct store_room *ret);

/* ---- watching ---- */

struct store_sub {
    struct list link;
    void (*on_event)(struct store_sub *sub, const struct store_event *e);
    void (*on_batch)(struct store_sub *sub); /* after the last event of a batch; may be NULL */
    uint64_t after; /* set by the store: only events of later revisions are delivered */
};
/* Delivers what comes after store_revision(), also when called inside a callback: a replay up to
 * there and the subscription together are without gap and without repetition. */
void store_subscribe(struct store *s, struct store_sub *sub);
void store_unsubscribe(struct store_sub *sub);
/* Calls fn for each event with revision > after, in order; ERR_GONE when that past is no longer
 * kept, ERR_TIMEOUT for a revision that has not come. */
int store_replay(const struct store *s, uint64_t after,
                 void (*fn)(void *ctx, const struct store_event *e), void *ctx, struct err *err);
/* State of a kind as of a revision inside the window, for continue tokens and exact lists: objects
 * in key order, references taken over by the caller. ERR_GONE when too old, ERR_TIMEOUT for a
 * revision that has not come. */
int store_list_at(const struct store *s, uint64_t revision, const struct kind *k, str ns,
                  void (*fn)(void *ctx, struct obj *o), void *ctx, struct err *err);
/* The same from a key on, until fn returns false. */
int store_list_at_from(const struct store *s, uint64_t revision, const struct kind *k, str ns,
                       str start_ns, str start_name, bool (*fn)(void *ctx, struct obj *o),
                       void *ctx, struct err *err);

#endif
