/*
 * Writes: pending chains, group commit, publication.
 *
 *   store_apply -> filling -> (SYNC phase) flight -> disk worker -> visible -> events -> done
 *
 * A write is applied to pending at once: it gets its revision, its key's node points to it, and the
 * next writer of the key judges against it. What accumulates while a batch is on the disk worker is
 * the next batch, however many that are, so the number of syncs adapts to how long one takes.
 *
 * Invariants:
 * 1. assigned == revision + writes in flight + writes filling; items are in revision order.
 * 2. node->n_pending counts the items of both batches that hold the node; node->pending is the obj
 *    of the newest of them and borrowed from it, so it dies with the count.
 * 3. A batch is published in one go, on the loop: all versions become visible, then the history and
 *    the subscribers get the events, then the writers are told. No other code runs in between
 * except those callbacks, and what they apply goes into the next batch.
 * 4. After a failure nothing is pending and nothing will be: read_only stays set.
 *
 * What is handed to the disk at once is limited, because one LMDB transaction has a limit on dirty
 * pages and one publication should not hold up the loop: the rest of a larger filling batch follows
 * in the next commit.
 */
#include "base/log.h"
#include "store/internal.h"

#define COMMIT_MAX_ITEMS 4096
#define COMMIT_MAX_BYTES (64u << 20)

/* ---- pending ---- */

uint64_t store_next_revision(const struct store *s)
{
    return s->assigned + 1;
}

bool store_is_read_only(const struct store *s)
{
    return s->read_only;
}

static bool has_nul(str s)
{
    return str_find_char(s, '\0') >= 0;
}

static int check_write(const struct store *s, const struct store_write *w, struct err *err)
{
    if (s->read_only || s->closing) {
        if (err)
            *err = s->failure;
        return s->failure.code;
    }
    if (has_nul(w->ns) || has_nul(w->name))
        return err_set_field(err, ERR_INVALID, STR("metadata.name"),
                             "a name must not contain a NUL character");
    BUG_ON(!str_eq(w->ns, w->obj->ns) || !str_eq(w->name, w->obj->name));
    BUG_ON(w->obj->rv != store_next_revision(s));
    BUG_ON(w->delete &&!store_newest(s, w->kind, w->ns, w->name));
    return 0;
}

int store_apply(struct store *s, struct store_write *w, struct err *err)
{
    int r = check_write(s, w, err);
    if (r < 0)
        return r;
    struct storage *st = storage_of(&s->storages, w->kind);
    struct node *n = node_get_or_add(&s->storages, st, w->ns, w->name);
    w->revision = ++s->assigned;
    *vec_push(&s->filling) = (struct batch_item){
        .write = w,
        .storage = st,
        .node = n,
        .obj = obj_ref(w->obj),
        .revision = w->revision,
        .delete = w->delete,
    };
    n->pending = w->obj;
    n->pending_delete = w->delete;
    n->n_pending++;
    if (!s->flight)
        loop_defer(s->loop, LOOP_SYNC, &s->sync);
    return 0;
}

static void pending_end(struct node *n)
{
    BUG_ON(n->n_pending == 0);
    if (--n->n_pending == 0) {
        n->pending = NULL;
        n->pending_delete = false;
    }
}

/* ---- the commit job ---- */

static void batch_free(struct batch *b)
{
    vec_done(&b->items);
    vec_done(&b->commit.records);
    vec_done(&b->commit.removals);
    free(b);
}

/* On the disk worker. The documents are held by the items. */
static void batch_run(struct loop_job *j)
{
    struct batch *b = container_of(j, struct batch, job);
    if (b->store->disk)
        (void)disk_commit(b->store->disk, &b->commit, &b->err);
    b->ran = true;
}

/* How many items of the filling batch go into one commit. */
static size_t commit_size(const batch_items *filling)
{
    size_t bytes = 0;
    for (size_t i = 0; i < filling->len; i++) {
        bytes += doc_text(filling->p[i].obj->doc).len;
        if (i > 0 && (i == COMMIT_MAX_ITEMS || bytes > COMMIT_MAX_BYTES))
            return i;
    }
    return filling->len;
}

static struct record record_of(const struct batch_item *it)
{
    return (struct record){
        .revision = it->revision,
        .delete = it->delete,
        .storage = str_of(it->storage->key),
        .ns = it->obj->ns,
        .name = it->obj->name,
        .doc = doc_text(it->obj->doc),
    };
}

static void prepare_commit(struct store *s, struct batch *b)
{
    struct commit *c = &b->commit;
    for (size_t i = 0; i < b->items.len; i++)
        *vec_push(&c->records) = record_of(&b->items.p[i]);
    vec_reserve(&c->removals, 2 * b->items.len);
    c->removals.len = history_take_garbage(&s->history, c->removals.p, 2 * b->items.len);
    c->oldest = s->history.oldest;
    c->revision = vec_last(&b->items)->revision;
}

static void on_committed(struct loop_job *j);

static void on_sync(struct loop_task *t)
{
    struct store *s = container_of(t, struct store, sync);
    size_t n = commit_size(&s->filling);
    if (s->flight || n == 0)
        return;
    struct batch *b = xnew(struct batch);
    b->store = s;
    b->job.run = batch_run;
    b->job.done = on_committed;
    vec_reserve(&b->items, n);
    memcpy(b->items.p, s->filling.p, n * sizeof(*b->items.p));
    b->items.len = n;
    s->filling.len -= n;
    memmove(s->filling.p, s->filling.p + n, s->filling.len * sizeof(*s->filling.p));
    if (s->disk)
        prepare_commit(s, b);
    s->flight = b;
    loop_submit(s->loop, LOOP_DISK, &b->job);
}

/* ---- publication ---- */

void version_publish(struct store *s, struct storage *st, struct node *n, struct obj *obj,
                     bool delete)
{
    struct obj *prev = node_set_obj(st, n, delete ? NULL : obj_ref(obj));
    struct store_event e = {
        .type = delete ? STORE_DELETED
                : prev ? STORE_MODIFIED
                       : STORE_ADDED,
        .storage = st->id,
        .revision = obj->rv,
        .obj = obj,
        .prev = prev,
    };
    history_push(&s->history, &e);
    s->revision = obj->rv;
}

static void make_visible(struct store *s, const struct batch_item *it)
{
    version_publish(s, it->storage, it->node, it->obj, it->delete);
    pending_end(it->node);
    node_drop_if_unused(it->storage, it->node);
}

/* Calls each subscriber once, whoever comes and goes meanwhile: the cursor, not a subscriber, marks
 * the place. Without an event it is the end of the batch. */
static void tell_subscribers(struct store *s, const struct store_event *e)
{
    list_push_front(&s->subs, &s->cursor);
    while (s->cursor.next != &s->subs) {
        struct list *at = s->cursor.next;
        list_remove(&s->cursor);
        list_push_front(at, &s->cursor);
        struct store_sub *sub = list_entry(at, struct store_sub, link);
        if (!e && sub->on_batch)
            sub->on_batch(sub);
        else if (e && e->revision > sub->after)
            sub->on_event(sub, e);
    }
    list_remove(&s->cursor);
}

static void publish(struct store *s, const struct batch *b)
{
    size_t first = s->history.len;
    for (size_t i = 0; i < b->items.len; i++)
        make_visible(s, &b->items.p[i]);
    for (size_t i = 0; i < b->items.len; i++)
        tell_subscribers(s, &history_at(&s->history, first + i)->event);
    tell_subscribers(s, NULL);
    history_trim(&s->history);
    for (size_t i = 0; i < b->items.len; i++)
        b->items.p[i].write->done(b->items.p[i].write, NULL);
}

/* ---- failure ---- */

static void drop_pending(const batch_items *items)
{
    for (size_t i = 0; i < items->len; i++) {
        const struct batch_item *it = &items->p[i];
        pending_end(it->node);
        node_drop_if_unused(it->storage, it->node);
        obj_unref(it->obj);
    }
}

static void tell_failed(const batch_items *items, const struct err *err)
{
    for (size_t i = 0; i < items->len; i++)
        items->p[i].write->done(items->p[i].write, err);
}

/* Drops what is filling and, when given, the batch that failed; tells the writers in order. */
static void fail_pending(struct store *s, struct batch *b)
{
    batch_items filling = s->filling;
    s->filling = (batch_items){0};
    s->assigned = s->revision;
    if (b)
        drop_pending(&b->items);
    drop_pending(&filling);
    struct err err = s->failure;
    if (b)
        tell_failed(&b->items, &err);
    tell_failed(&filling, &err);
    vec_done(&filling);
}

static void become_read_only(struct store *s, const struct err *why)
{
    s->read_only = true;
    err_set(&s->failure, ERR_IO, "the store is read-only until restart: %s", why->message);
    log_error("the store is read-only until restart", LOG_C("reason", why->message));
}

static void complete(struct store *s, struct batch *b)
{
    s->flight = NULL;
    if (b->err.code) {
        become_read_only(s, &b->err);
        fail_pending(s, b);
    } else {
        publish(s, b);
    }
    batch_free(b);
}

static void on_committed(struct loop_job *j)
{
    struct batch *b = container_of(j, struct batch, job);
    struct store *s = b->store;
    complete(s, b);
    if (s->filling.len > 0)
        loop_defer(s->loop, LOOP_SYNC, &s->sync);
}

/* ---- life cycle ---- */

void batch_init(struct store *s)
{
    loop_task_init(&s->sync, on_sync);
    list_init(&s->subs);
    list_init(&s->cursor);
}

void batch_finish(struct store *s)
{
    s->closing = true;
    if (!s->read_only)
        err_set(&s->failure, ERR_UNAVAILABLE, "the store is being closed");
    loop_task_cancel(&s->sync);
    struct batch *b = s->flight;
    if (b) {
        loop_job_cancel(&b->job);
        if (!b->ran)
            batch_run(&b->job);
        complete(s, b);
    }
    fail_pending(s, NULL);
    vec_done(&s->filling);
    while (list_pop_front(&s->subs))
        ;
}

/* ---- subscriptions ---- */

void store_subscribe(struct store *s, struct store_sub *sub)
{
    sub->after = s->revision;
    list_push_back(&s->subs, &sub->link);
}

void store_unsubscribe(struct store_sub *sub)
{
    list_remove(&sub->link);
}
