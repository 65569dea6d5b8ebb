/*
 * What the files of this folder share, and nobody else sees:
 *
 *   mem.c      storages and their ordered index; pending chains hang on its nodes
 *   history.c  the window of past events: replay, lists in the past, what may be compacted
 *   batch.c    apply, group commit, publication
 *   record.c   one version of an object as bytes
 *   lmdb.c     the disk: knows the format, nothing of kinds or documents
 *   pages.c    whether LMDB can be let loose on a file
 *   reserve.c     space on the file system
 *   open.c     start-up: from records to the state in memory; close
 *   check.c    looks at a directory without starting; saves what can be saved
 *
 * Everything runs on the loop thread except disk_commit(), which runs on the disk worker and
 * touches only the commit it is given and the LMDB environment.
 */
#ifndef STORE_INTERNAL_H
#define STORE_INTERNAL_H

#include "base/map.h"
#include "base/vec.h"
#include "store/store.h"

#define STORE_FIRST_REVISION 1

/* ---- mem.c: the ordered index ---- */

/* One key. It lives while it has a durable version or a pending write. */
struct node {
    struct node *left, *right, *parent;
    struct obj *obj;     /* durable version, owned; NULL: invisible to readers */
    struct obj *pending; /* what the newest pending write holds, borrowed from its batch */
    uint32_t priority;
    uint32_t n_pending;
    bool pending_delete;
    uint32_t ns_len;
    uint32_t key_len;
    char key[]; /* namespace, NUL, name */
};

/* One collection: objects of all kinds with the same storage key. */
struct storage {
    char *key;               /* "pods", "grove.io/podcliquesets", or kind->storage */
    const struct kind *kind; /* what to call objects whose own kind is not known; may be NULL */
    struct node *root;
    struct map nodes; /* the same by their keys, those that are not very long */
    size_t count;     /* durable objects */
    uint32_t id;
};

struct kind_storage {
    const struct kind *kind; /* NULL: not yet known */
    struct storage *storage;
};

struct storage_table {
    VEC(struct storage *) all;
    struct map by_key;
    VEC(struct kind_storage) of_kind; /* by kind id */
    uint64_t seed;
};

/* The kind of objects on disk that no registered kind explains. */
extern const struct kind store_unknown_kind;

void storages_init(struct storage_table *t, uint64_t seed);
void storages_done(struct storage_table *t);
/* NULL when nothing of the kind was ever seen. */
struct storage *storage_find(const struct storage_table *t, const struct kind *k);
struct storage *storage_of(struct storage_table *t, const struct kind *k);
struct storage *storage_by_key(struct storage_table *t, str key);

static inline str node_ns(const struct node *n)
{
    return str_n(n->key, n->ns_len);
}

static inline str node_name(const struct node *n)
{
    return str_n(n->key + n->ns_len + 1, n->key_len - n->ns_len - 1);
}

static inline str node_key(const struct node *n)
{
    return str_n(n->key, n->key_len);
}

static inline int key_cmp(str ns_a, str name_a, str ns_b, str name_b)
{
    int c = str_cmp(ns_a, ns_b);
    return c ? c : str_cmp(name_a, name_b);
}

struct node *node_find(const struct storage *st, str ns, str name);
/* First node at or after the key. */
struct node *node_at_or_after(const struct storage *st, str ns, str name);
struct node *node_next(const struct node *n);
struct node *node_get_or_add(struct storage_table *t, struct storage *st, str ns, str name);
/* Makes obj (taken over; NULL: none) the durable version; the one before is the caller's. */
struct obj *node_set_obj(struct storage *st, struct node *n, struct obj *obj);
/* What a key costs while it has an object, the object apart. */
size_t node_cost(const struct node *n);
/* Frees the node when nothing hangs on it any more. */
void node_drop_if_unused(struct storage *st, struct node *n);

/* A start before the namespace asked for is no restriction. */
void range_clamp(str ns, str *start_ns, str *start_name);

/* ---- history.c: the window ---- */

struct history_entry {
    struct store_event event; /* references owned */
    size_t cost;              /* bytes that live only because of this entry */
};

/* A ring of the events oldest + 1 ... revision: dense, so position and revision translate by
 * subtraction. */
struct history {
    struct history_entry *ring;
    size_t cap; /* a power of two */
    size_t first;
    size_t len;
    size_t bytes;
    size_t max_bytes;
    size_t max_events;
    uint64_t oldest;
    uint64_t disk_oldest; /* not before it: what the disk keeps a window after */
    bool on_disk;
    /* Records nobody needs any more, in the order they may go: removed from the front. */
    VEC(uint64_t) garbage;
    size_t garbage_done;
};

void history_init(struct history *h, const struct store_options *o);
void history_done(struct history *h);
struct history_entry *history_at(const struct history *h, size_t i);
/* Takes over the references. Does not trim. */
void history_push(struct history *h, const struct store_event *e);
/* What lives because of an object. */
static inline size_t obj_cost(const struct obj *o)
{
    return o ? o->memory : 0;
}
/* Lets go of the oldest events until the window is within its bounds, and within max_bytes. */
void history_trim(struct history *h, size_t max_bytes);
/* Lets the disk forget the whole window, which stays in memory. */
void history_forget(struct history *h);
void history_add_garbage(struct history *h, uint64_t revision);
/* What the disk may forget, first that which goes first. */
const uint64_t *history_garbage(const struct history *h);
size_t history_garbage_len(const struct history *h);
/* The disk has forgotten the first n. */
void history_drop_garbage(struct history *h, size_t n);
/* Puts another object into an entry's place (store_adopt_kind). */
void history_rewrap(struct history *h, uint32_t storage,
                    struct obj *(*rewrap)(void *ctx, struct obj *o), void *ctx);

/* ---- record.c: one version of an object as bytes ---- */

struct record {
    uint64_t revision;
    bool delete;
    str key; /* reading only: the three below in one slice, NUL between them */
    str storage, ns, name;
    str doc;
};

/* Big-endian numbers of n bytes. */
void put_be(void *to, uint64_t v, size_t n);
uint64_t get_be(const void *from, size_t n);

size_t record_len(const struct record *r);
/* p has room for record_len(r) bytes. */
void record_encode(const struct record *r, uint8_t *p);
/* key is the revision. Without `whole` the checksum is not verified. */
int record_decode(str key, str value, bool whole, struct record *ret, struct err *err);

/* ---- lmdb.c: the disk ---- */

struct commit {
    VEC(struct record) records; /* ascending revisions */
    VEC(uint64_t) removals;
    uint64_t oldest;
    uint64_t revision;
    uint64_t oldest_before, revision_before; /* as the disk has them */
    bool is_shrinking; /* made while the disk is full: its window ends with it */
    bool grows;        /* makes the store larger: may not use all of the reserve */
};

/* What a commit leaves. */
struct disk_room {
    bool is_full;   /* only commits that shrink are taken */
    bool is_tight;  /* most of the reserve is gone: only deletes are taken */
    uint64_t bytes; /* that can be used without asking the file system */
    char why[400];  /* when full: "the file system of DIR has 12 KiB free of 8 MiB" */
};

struct disk_head {
    uint64_t oldest;
    uint64_t revision;
};

struct disk;

struct disk *disk_open(const char *dir, struct disk_room *ret, struct err *err);
void disk_close(struct disk *d);
/* Adds to the message about a damaged file what to do. */
int disk_advise(const char *dir, struct err *err);
/* One read transaction, for the scan at start-up only; slices given to fn live until its end. */
int disk_read_begin(struct disk *d, struct disk_head *ret, struct err *err);
/* Records with from <= revision <= to in order. fn returns 0 or a negative code, which ends it.
 * Without `whole` the document's checksum is not verified. */
int disk_read(struct disk *d, uint64_t from, uint64_t to, bool whole,
              int (*fn)(void *ctx, const struct record *r, struct err *err), void *ctx,
              struct err *err);
void disk_read_end(struct disk *d);
/* On the disk worker. ERR_NO_SPACE: nothing was written and nothing is lost, later commits may
 * succeed. ERR_IO: it is not known what the disk holds; there is no other commit. Without records
 * and removals it only looks whether there is room (again). */
int disk_commit(struct disk *d, const struct commit *c, struct disk_room *ret, struct err *err);

/* ---- open.c ---- */

/* Of a record's document; checks that it is the record's. */
struct obj *record_obj(const struct kind *k, const struct record *r, struct err *err);

/* ---- batch.c: writes ---- */

struct batch_item {
    struct store_write *write;
    struct storage *storage;
    struct node *node;
    struct obj *obj; /* owned until published */
    uint64_t revision;
    bool delete;
    bool grows; /* makes the store larger */
};
typedef VEC(struct batch_item) batch_items;

struct batch {
    struct loop_job job;
    struct store *store;
    batch_items items;
    struct commit commit;
    bool ran;
    struct err err;
    struct disk_room room;
};

struct store {
    struct loop *loop;
    struct disk *disk; /* NULL: memory only */
    struct storage_table storages;
    struct history history;
    uint64_t revision; /* durable */
    uint64_t assigned; /* newest given to a pending write */
    batch_items filling;
    struct batch *flight; /* on the disk worker, or NULL */
    struct loop_task sync;
    bool closing;
    bool read_only;
    struct err failure; /* why it is read-only */
    /* Room. Memory is counted for objects that are durable and, apart from them, pending. */
    size_t memory, pending_memory, memory_limit; /* limit 0: none */
    struct disk_room room;                       /* as the last commit left it */
    struct loop_timer look;                      /* while the disk is full: is it still? */
    bool look_now;
    usec said_at; /* the log has it that the disk is full */
    bool said_full;
    size_t step; /* writes in one commit while the disk is full */
    struct list subs;
    struct list cursor; /* in subs while publishing: where it is */
};

void batch_init(struct store *s);
/* The disk is full, or is not any more. */
void batch_set_room(struct store *s, const struct disk_room *room);
/* Lets go of what the window may not hold. */
void store_trim(struct store *s);
/* Makes obj (taken over) the durable version of a key, or the mark of its deletion, and remembers
 * the event. The caller drops the node when it is unused. */
void version_publish(struct store *s, struct storage *st, struct node *n, struct obj *obj,
                     bool delete);
/* store_close(): completes the batch in flight, fails the one filling. */
void batch_finish(struct store *s);

#endif
