/*
 * The window of past events: what watches are replayed from, how lists in the past are answered,
 * and the judge of what the disk may forget.
 *
 * Entries are dense in revision: entry i is revision oldest + 1 + i. The window is bounded by count
 * and by bytes, where an entry costs what lives only because of it: the version it replaced (which
 * is no longer in the index) and, for a delete, the last state it carries. The bound is thus on
 * memory beyond the live objects, however large these are.
 *
 * Compaction follows from the same order. When the event at revision r leaves the window, `oldest`
 * becomes r: nobody can ask for a state before r any more, so the record of the version that r
 * replaced is garbage from then on, and not earlier (the state at `oldest` and the prev of the
 * first retained event still need it after a restart). A tombstone becomes garbage at the same
 * moment, after the last older record of its key. While the disk is full, it forgets all of the
 * window (history_forget) and memory keeps it: watches go on as before, and only after a restart is
 * that past gone. Garbage is a first-in first-out queue of 8 bytes
 * per record, so a tombstone never leaves the disk before what it covers.
 */
#include "store/internal.h"

#define DEFAULT_BYTES (64u << 20)
#define DEFAULT_EVENTS 100000

void history_init(struct history *h, const struct store_options *o)
{
    *h = (struct history){
        .max_bytes = o->history_bytes ? o->history_bytes : DEFAULT_BYTES,
        .max_events = o->history_events ? o->history_events : DEFAULT_EVENTS,
        .oldest = STORE_FIRST_REVISION,
        .disk_oldest = STORE_FIRST_REVISION,
        .on_disk = o->dir != NULL,
    };
}

struct history_entry *history_at(const struct history *h, size_t i)
{
    return &h->ring[(h->first + i) & (h->cap - 1)];
}

static void entry_done(struct history_entry *e)
{
    obj_unref(e->event.obj);
    obj_unref(e->event.prev);
}

void history_done(struct history *h)
{
    for (size_t i = 0; i < h->len; i++)
        entry_done(history_at(h, i));
    free(h->ring);
    vec_done(&h->garbage);
}

static void grow(struct history *h)
{
    size_t cap = h->cap ? 2 * h->cap : 64;
    struct history_entry *ring = xcalloc(cap, sizeof(*ring));
    for (size_t i = 0; i < h->len; i++)
        ring[i] = *history_at(h, i);
    free(h->ring);
    h->ring = ring;
    h->cap = cap;
    h->first = 0;
}

void history_push(struct history *h, const struct store_event *e)
{
    BUG_ON(e->revision != h->oldest + h->len + 1);
    if (h->len == h->cap)
        grow(h);
    size_t cost = sizeof(struct history_entry) + obj_cost(e->prev);
    if (e->type == STORE_DELETED)
        cost += obj_cost(e->obj);
    *history_at(h, h->len) = (struct history_entry){.event = *e, .cost = cost};
    h->len++;
    h->bytes += cost;
}

void history_add_garbage(struct history *h, uint64_t revision)
{
    if (h->on_disk)
        *vec_push(&h->garbage) = revision;
}

/* The state before this event is asked for by nobody who reads the disk. */
static void forget(struct history *h, const struct store_event *e)
{
    if (e->revision <= h->disk_oldest)
        return;
    h->disk_oldest = e->revision;
    if (e->prev)
        history_add_garbage(h, e->prev->rv);
    if (e->type == STORE_DELETED)
        history_add_garbage(h, e->revision);
}

void history_forget(struct history *h)
{
    for (size_t i = (size_t)(h->disk_oldest - h->oldest); i < h->len; i++)
        forget(h, &history_at(h, i)->event);
}

void history_trim(struct history *h, size_t max_bytes)
{
    while (h->len > 0 && (h->len > h->max_events || h->bytes > MIN(h->max_bytes, max_bytes))) {
        struct history_entry *e = history_at(h, 0);
        h->oldest = e->event.revision;
        forget(h, &e->event);
        h->bytes -= e->cost;
        entry_done(e);
        h->first = (h->first + 1) & (h->cap - 1);
        h->len--;
    }
}

size_t history_garbage_len(const struct history *h)
{
    return h->garbage.len - h->garbage_done;
}

const uint64_t *history_garbage(const struct history *h)
{
    return h->garbage.p + h->garbage_done;
}

void history_drop_garbage(struct history *h, size_t n)
{
    h->garbage_done += n;
    /* Close the gap when it is the larger half: amortised constant per element. */
    if (h->garbage_done > h->garbage.len / 2) {
        h->garbage.len -= h->garbage_done;
        memmove(h->garbage.p, h->garbage.p + h->garbage_done,
                h->garbage.len * sizeof(*h->garbage.p));
        h->garbage_done = 0;
    }
}

void history_rewrap(struct history *h, uint32_t storage,
                    struct obj *(*rewrap)(void *ctx, struct obj *o), void *ctx)
{
    for (size_t i = 0; i < h->len; i++) {
        struct store_event *e = &history_at(h, i)->event;
        if (e->storage != storage)
            continue;
        e->obj = rewrap(ctx, e->obj);
        e->prev = rewrap(ctx, e->prev);
    }
}

/* ---- asking ---- */

uint64_t store_oldest_revision(const struct store *s)
{
    return s->history.oldest;
}

static int check_revision(const struct store *s, uint64_t revision, struct err *err)
{
    if (revision < s->history.oldest)
        return err_set(err, ERR_GONE, "too old resource version: %llu (%llu)",
                       (unsigned long long)revision, (unsigned long long)s->history.oldest);
    if (revision > s->revision)
        return err_set(err, ERR_TIMEOUT, "Too large resource version: %llu, current: %llu",
                       (unsigned long long)revision, (unsigned long long)s->revision);
    return 0;
}

int store_replay(const struct store *s, uint64_t after,
                 void (*fn)(void *ctx, const struct store_event *e), void *ctx, struct err *err)
{
    int r = check_revision(s, after, err);
    if (r < 0)
        return r;
    for (size_t i = (size_t)(after - s->history.oldest); i < s->history.len; i++)
        fn(ctx, &history_at(&s->history, i)->event);
    return 0;
}

/* A key that changed after the revision asked for, and what it was then: the version before its
 * first later event. */
struct undo {
    str ns, name;
    struct obj *then; /* borrowed; NULL: was absent */
    uint64_t revision;
};
typedef VEC(struct undo) undo_list;

static int undo_cmp(const void *a, const void *b)
{
    const struct undo *x = a, *y = b;
    int c = key_cmp(x->ns, x->name, y->ns, y->name);
    return c ? c : (x->revision > y->revision) - (x->revision < y->revision);
}

static void undo_collect(const struct history *h, const struct storage *st, uint64_t revision,
                         undo_list *ret)
{
    for (size_t i = (size_t)(revision - h->oldest); i < h->len; i++) {
        const struct store_event *e = &history_at(h, i)->event;
        if (e->storage == st->id)
            *vec_push(ret) = (struct undo){e->obj->ns, e->obj->name, e->prev, e->revision};
    }
    vec_sort(ret, undo_cmp);
    size_t n = 0;
    for (size_t i = 0; i < ret->len; i++) {
        const struct undo *last = n ? &ret->p[n - 1] : NULL;
        if (last && key_cmp(last->ns, last->name, ret->p[i].ns, ret->p[i].name) == 0)
            continue;
        ret->p[n++] = ret->p[i];
    }
    ret->len = n;
}

struct list_at {
    str ns;
    bool (*fn)(void *ctx, struct obj *o);
    void *ctx;
};

/* False: the caller has enough, or the namespace is over. */
static bool list_at_emit(const struct list_at *l, struct obj *o)
{
    if (!o)
        return true;
    if (l->ns.len && !str_eq(l->ns, o->ns))
        return false;
    return l->fn(l->ctx, obj_ref(o));
}

/* Two ordered sequences, the index and the undo list, merged; the undo list wins on equal keys. */
static void list_at_merge(const struct list_at *l, const struct node *n, const undo_list *undo,
                          size_t from)
{
    while (n || from < undo->len) {
        const struct undo *u = from < undo->len ? &undo->p[from] : NULL;
        int c = !n ? 1 : !u ? -1 : key_cmp(node_ns(n), node_name(n), u->ns, u->name);
        struct obj *o = c < 0 ? n->obj : u->then;
        if (c <= 0)
            n = node_next(n);
        if (c >= 0)
            from++;
        if (!list_at_emit(l, o))
            return;
    }
}

int store_list_at_from(const struct store *s, uint64_t revision, const struct kind *k, str ns,
                       str start_ns, str start_name, bool (*fn)(void *ctx, struct obj *o),
                       void *ctx, struct err *err)
{
    int r = check_revision(s, revision, err);
    if (r < 0)
        return r;
    const struct storage *st = storage_find(&s->storages, k);
    if (!st)
        return 0;
    range_clamp(ns, &start_ns, &start_name);
    undo_list undo = {0};
    undo_collect(&s->history, st, revision, &undo);
    size_t from = 0;
    while (from < undo.len && key_cmp(undo.p[from].ns, undo.p[from].name, start_ns, start_name) < 0)
        from++;
    struct list_at l = {.ns = ns, .fn = fn, .ctx = ctx};
    list_at_merge(&l, node_at_or_after(st, start_ns, start_name), &undo, from);
    vec_done(&undo);
    return 0;
}

struct each {
    void (*fn)(void *ctx, struct obj *o);
    void *ctx;
};

static bool each_object(void *ctx, struct obj *o)
{
    struct each *e = ctx;
    e->fn(e->ctx, o);
    return true;
}

int store_list_at(const struct store *s, uint64_t revision, const struct kind *k, str ns,
                  void (*fn)(void *ctx, struct obj *o), void *ctx, struct err *err)
{
    struct each e = {.fn = fn, .ctx = ctx};
    return store_list_at_from(s, revision, k, ns, STR_NONE, STR_NONE, each_object, &e, err);
}
