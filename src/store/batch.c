/*
 * Writes: pending chains, group commit, publication.
 *
 *   store_apply -> filling -> (SYNC phase) flight -> disk worker -> visible -> events -> done
 *
 * A write is applied to pending at once: it gets its revision, its key's node points to it, and the
 * next writer of the key judges against it. What accumulates while a batch is on the disk worker is
 * the next batch, however many that are, so the number of syncs adapts to how long one takes.
 *
 * Example. Revision 100 is durable. At t0 writes A1 (object A) and B1 are applied: revisions 101
 * and 102, in the batch that fills. The SYNC phase of the iteration hands both to the disk worker.
 * While it syncs (2 ms), A2 arrives: it is judged against A1, the newest pending version, and gets
 * 103; a GET of A still answers the version before A1, and so does a list.
 *
 *   t0         filling: A1@101 B1@102     flight: -                 visible: ..100
 *   t0 + 1 ms  filling: A2@103            flight: A1@101 B1@102     visible: ..100
 *   t0 + 2 ms  the sync returns: 101 and 102 become visible, watchers get both events, then the
 *              writers of A1 and B1 are answered; A2 is handed to the disk
 *   t0 + 4 ms  103 becomes visible
 *
 * If the sync at t0 + 2 ms fails, A1, B1 and A2 are all answered with an error, nobody has ever
 * seen them, and the store is read-only: A2 was judged against something that never was.
 *
 * Invariants:
 * 1. assigned == revision + writes in flight + writes filling; items are in revision order.
 * 2. node->n_pending counts the items of both batches that hold the node; node->pending is the obj
 *    of the newest of them and borrowed from it, so it dies with the count.
 * 3. A batch is published in one go, on the loop: all versions become visible, then the history and
 *    the subscribers get the events, then the writers are told. No other code runs in between
 *    except those callbacks, and what they apply goes into the next batch.
 * 4. After a failure nothing is pending and nothing will be: read_only stays set.
 *
 * What is handed to the disk at once is limited, because one LMDB transaction has a limit on dirty
 * pages and one publication should not hold up the loop: the rest of a larger filling batch follows
 * in the next commit.
 *
 * Full disk. When a commit reports that the reserve is touched, writes that make the store larger
 * are refused (check_room) and commits shrink it: the disk gives up the window, so that everything
 * superseded may go (memory keeps it); a tombstone is written without its document, which nobody
 * reads after a restart; and commits without a write of their own remove what is left to remove.
 * Such a commit needs pages too, before it gives any back, so it is small at first try and smaller
 * at the next: halved until it fits. Nobody tells us when others make room on the file system: it
 * is looked at every two seconds while the disk is full.
 */
#include "base/log.h"
#include "store/internal.h"

#define COMMIT_MAX_ITEMS 4096
#define COMMIT_MAX_BYTES (64u << 20)
#define STEP_MAX 256
#define LOOK_AFTER (2 * USEC_PER_SEC)
#define SAY_AGAIN_AFTER (10 * USEC_PER_SEC)
/* By how much an object may become larger with a write that does not count as growing: the digits
 * of its revision and of counters; one that is being deleted, by the marks of its deletion and the
 * last words of its status. It ends when most of the reserve is gone. */
#define SLACK 64
#define LAST_WORDS 4096

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

/* ---- room ---- */

static size_t memory_used(const struct store *s)
{
    return s->memory + s->pending_memory;
}

/* Compared with the newest version, which may be none. */
static bool is_growing(const struct obj *before, const struct store_write *w, bool may_slack)
{
    if (w->delete || !before)
        return !w->delete;
    size_t slack = !may_slack ? 0 : w->obj->deleting ? LAST_WORDS : SLACK;
    return obj_cost(w->obj) > obj_cost(before) + slack;
}

static int disk_full(const struct store *s, struct err *err)
{
    return err_set(
        err, ERR_NO_SPACE,
        "the store is full: %s. Objects can be read, deleted, and changed as long as they "
        "do not become larger. Delete objects or make room on that file system; then "
        "writing goes on by itself",
        s->room.why);
}

static int memory_full(const struct store *s, struct err *err)
{
    enum { MIB = 1 << 20 };
    return err_set(
        err, ERR_NO_SPACE,
        "the memory for stored objects is full: %zu of %zu MiB are in use. Objects can be "
        "read, deleted, and changed as long as they do not become larger. Delete objects, "
        "or start the server with more memory or a larger --object-memory-limit",
        (memory_used(s) + MIB - 1) / MIB, s->memory_limit / MIB);
}

/* Of a limited memory the window has a small part for itself, so that watches can always begin
 * where a list ended, and what live objects leave. */
static size_t window_share(const struct store *s)
{
    return MIN(s->history.max_bytes, s->memory_limit / 16);
}

static bool is_memory_full(const struct store *s, size_t more)
{
    return s->memory_limit && memory_used(s) + more > s->memory_limit - window_share(s);
}

static int check_room(const struct store *s, const struct store_write *w, const struct obj *before,
                      struct err *err)
{
    size_t cost = obj_cost(w->obj);
    if (s->room.is_full && !w->delete &&(s->room.is_tight || is_growing(before, w, true)))
        return disk_full(s, err);
    if (is_memory_full(s, cost) && is_growing(before, w, memory_used(s) + cost <= s->memory_limit))
        return memory_full(s, err);
    return 0;
}

void store_room(const struct store *s, struct store_room *ret)
{
    *ret = (struct store_room){.memory = memory_used(s) + s->history.bytes,
                               .memory_limit = s->memory_limit,
                               .disk_bytes = s->disk ? s->room.bytes : 0};
    if (s->room.is_full)
        (void)disk_full(s, &ret->why);
    else if (is_memory_full(s, s->memory_limit / 64))
        (void)memory_full(s, &ret->why);
    ret->is_full = ret->why.code != 0;
    ret->what = s->room.is_full ? "disk" : "memory";
}

void store_trim(struct store *s)
{
    size_t allowed = SIZE_MAX;
    if (s->memory_limit)
        allowed = s->memory_limit > s->memory ? s->memory_limit - s->memory : 0;
    history_trim(&s->history, MAX(allowed, window_share(s)));
    if (s->room.is_full)
        history_forget(&s->history);
}

/* At the edge it may change with every write: that is said once in a while. */
static void say_room(struct store *s)
{
    usec now = loop_now(s->loop);
    if (s->room.is_full && (!s->said_at || now - s->said_at >= SAY_AGAIN_AFTER)) {
        log_error("the store is full: writes that make it larger are refused",
                  LOG_C("reason", s->room.why));
        s->said_at = now;
        s->said_full = true;
    } else if (!s->room.is_full && s->said_full) {
        log_warn("the store has room again: all writes are taken");
        s->said_full = false;
    }
}

void batch_set_room(struct store *s, const struct disk_room *room)
{
    bool was_full = s->room.is_full;
    s->room = *room;
    if (s->room.is_full) {
        loop_timer_set(&s->look, loop_now(s->loop) + LOOK_AFTER);
        store_trim(s);
    }
    if (s->room.is_full == was_full)
        return;
    s->step = STEP_MAX;
    if (!s->room.is_full)
        loop_timer_cancel(&s->look);
    say_room(s);
}

static void on_look(struct loop_timer *t)
{
    struct store *s = container_of(t, struct store, look);
    s->look_now = true;
    s->step = STEP_MAX;
    loop_defer(s->loop, LOOP_SYNC, &s->sync);
}

/* ---- applying ---- */

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
    return 0;
}

static struct obj *newest_of(const struct node *n)
{
    return n->n_pending == 0 ? n->obj : n->pending_delete ? NULL : n->pending;
}

int store_apply(struct store *s, struct store_write *w, struct err *err)
{
    int r = check_write(s, w, err);
    if (r < 0)
        return r;
    struct storage *st = storage_of(&s->storages, w->kind);
    struct node *n = node_get_or_add(&s->storages, st, w->ns, w->name);
    struct obj *before = newest_of(n);
    BUG_ON(w->delete &&!before);
    if (s->room.is_full || s->memory_limit)
        r = check_room(s, w, before, err);
    if (r < 0) {
        node_drop_if_unused(st, n);
        return r;
    }
    w->revision = ++s->assigned;
    *vec_push(&s->filling) = (struct batch_item){
        .write = w,
        .storage = st,
        .node = n,
        .obj = obj_ref(w->obj),
        .revision = w->revision,
        .delete = w->delete,
        .grows = s->disk && is_growing(before, w, true),
    };
    n->pending = w->obj;
    n->pending_delete = w->delete;
    n->n_pending++;
    s->pending_memory += w->obj->memory;
    if (!s->flight)
        loop_defer(s->loop, LOOP_SYNC, &s->sync);
    return 0;
}

static void pending_end(struct store *s, const struct batch_item *it)
{
    struct node *n = it->node;
    BUG_ON(n->n_pending == 0);
    s->pending_memory -= it->obj->memory;
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
        (void)disk_commit(b->store->disk, &b->commit, &b->room, &b->err);
    b->ran = true;
}

/* How many items of the filling batch go into one commit. */
static size_t commit_size(const struct store *s)
{
    const batch_items *filling = &s->filling;
    size_t bytes = 0, max = s->room.is_full ? MAX(s->step, 1u) : COMMIT_MAX_ITEMS;
    for (size_t i = 0; i < filling->len; i++) {
        bytes += doc_text(filling->p[i].obj->doc).len;
        if (i > 0 && (i == max || bytes > COMMIT_MAX_BYTES))
            return i;
    }
    return filling->len;
}

/* How many superseded records go with it. */
static size_t removals_size(const struct store *s, size_t items)
{
    return MIN(history_garbage_len(&s->history), s->room.is_full ? 2 * s->step : 2 * items);
}

static struct record record_of(const struct batch_item *it, bool is_brief)
{
    return (struct record){
        .revision = it->revision,
        .delete = it->delete,
        .storage = str_of(it->storage->key),
        .ns = it->obj->ns,
        .name = it->obj->name,
        .doc = it->delete &&is_brief ? STR_NONE : doc_text(it->obj->doc),
    };
}

static void prepare_commit(struct store *s, struct batch *b)
{
    struct commit *c = &b->commit;
    size_t removals = removals_size(s, b->items.len);
    c->is_shrinking = s->room.is_full;
    for (size_t i = 0; i < b->items.len; i++) {
        *vec_push(&c->records) = record_of(&b->items.p[i], c->is_shrinking);
        c->grows = c->grows || b->items.p[i].grows;
    }
    vec_reserve(&c->removals, removals);
    if (removals > 0)
        memcpy(c->removals.p, history_garbage(&s->history), removals * sizeof(*c->removals.p));
    c->removals.len = removals;
    c->revision = b->items.len ? vec_last(&b->items)->revision : s->revision;
    c->oldest = c->is_shrinking ? c->revision : s->history.disk_oldest;
    c->oldest_before = s->history.disk_oldest;
    c->revision_before = s->revision;
}

static void on_committed(struct loop_job *j);

static void on_sync(struct loop_task *t)
{
    struct store *s = container_of(t, struct store, sync);
    size_t n = commit_size(s);
    bool compact = s->room.is_full && (s->look_now || (s->step > 0 && removals_size(s, 0) > 0));
    if (s->flight || (n == 0 && !compact))
        return;
    s->look_now = false;
    struct batch *b = xnew(struct batch);
    b->store = s;
    b->job.run = batch_run;
    b->job.done = on_committed;
    if (n > 0) {
        vec_reserve(&b->items, n);
        memcpy(b->items.p, s->filling.p, n * sizeof(*b->items.p));
        b->items.len = n;
        s->filling.len -= n;
        memmove(s->filling.p, s->filling.p + n, s->filling.len * sizeof(*s->filling.p));
    }
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
    if (!prev)
        s->memory += node_cost(n);
    else
        s->memory -= prev->memory;
    if (!delete)
        s->memory += obj->memory;
    else
        s->memory -= node_cost(n);
    history_push(&s->history, &e);
    s->revision = obj->rv;
}

static void make_visible(struct store *s, const struct batch_item *it)
{
    version_publish(s, it->storage, it->node, it->obj, it->delete);
    pending_end(s, it);
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
    if (b->items.len > 0)
        tell_subscribers(s, NULL);
    store_trim(s);
    for (size_t i = 0; i < b->items.len; i++)
        b->items.p[i].write->done(b->items.p[i].write, NULL);
}

/* ---- failure ---- */

static void drop_pending(struct store *s, const struct batch_item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        pending_end(s, &items[i]);
        node_drop_if_unused(items[i].storage, items[i].node);
        obj_unref(items[i].obj);
    }
}

static void tell_failed(const struct batch_item *items, size_t n, const struct err *err)
{
    for (size_t i = 0; i < n; i++)
        items[i].write->done(items[i].write, err);
}

/* The first of a batch become the first of those that wait, as they were before. */
static void put_back(struct store *s, const struct batch *b, size_t n)
{
    if (n == 0)
        return;
    vec_reserve(&s->filling, s->filling.len + n);
    memmove(s->filling.p + n, s->filling.p, s->filling.len * sizeof(*s->filling.p));
    memcpy(s->filling.p, b->items.p, n * sizeof(*s->filling.p));
    s->filling.len += n;
    for (size_t i = 0; i < s->filling.len; i++) {
        s->filling.p[i].node->pending = s->filling.p[i].obj;
        s->filling.p[i].node->pending_delete = s->filling.p[i].delete;
    }
}

/* Drops all that is pending after the first `keep` writes of the batch, which wait again; tells the
 * writers in order. The batch may be none. */
static void fail_pending(struct store *s, struct batch *b, size_t keep, const struct err *err)
{
    batch_items filling = s->filling;
    struct err why = *err;
    const struct batch_item *rest = b ? b->items.p + keep : NULL;
    size_t n = b ? b->items.len - keep : 0;
    s->filling = (batch_items){0};
    s->assigned = s->revision + keep;
    drop_pending(s, rest, n);
    drop_pending(s, filling.p, filling.len);
    if (b)
        put_back(s, b, keep);
    tell_failed(rest, n, &why);
    tell_failed(filling.p, filling.len, &why);
    vec_done(&filling);
}

/* ---- a commit that found no room: nothing of it was written ---- */

static size_t before_growth(const struct batch *b)
{
    size_t n = 0;
    while (n < b->items.len && !b->items.p[n].grows)
        n++;
    return n;
}

/* What comes after a write that grows has to fail with it, for revisions are dense. What comes
 * before it is tried again: as a commit that shrinks the store, or as two smaller ones. */
static void complete_without_room(struct store *s, struct batch *b)
{
    struct err why = ERR_INIT;
    size_t keep = before_growth(b), step = s->step;
    bool may_retry = !b->commit.is_shrinking || b->commit.grows || step > 0;
    b->room.is_tight = !may_retry;
    batch_set_room(s, &b->room);
    if (b->commit.is_shrinking && !b->commit.grows)
        s->step = step / 2;
    if (may_retry && keep == b->items.len) {
        put_back(s, b, keep);
        return;
    }
    (void)disk_full(s, &why);
    fail_pending(s, b, may_retry ? keep : 0, &why);
}

/* ---- the end of a commit ---- */

static void become_read_only(struct store *s, const struct err *why)
{
    s->read_only = true;
    err_set(&s->failure, ERR_IO, "the store is read-only until restart: %s", why->message);
    log_error("the store is read-only until restart", LOG_C("reason", why->message));
}

static void complete_durable(struct store *s, struct batch *b)
{
    history_drop_garbage(&s->history, b->commit.removals.len);
    publish(s, b);
    if (!s->disk)
        return;
    if (b->commit.is_shrinking)
        s->step = MIN(2 * s->step + 1, (size_t)STEP_MAX);
    batch_set_room(s, &b->room);
}

static void complete(struct store *s, struct batch *b)
{
    s->flight = NULL;
    if (b->err.code == ERR_NO_SPACE) {
        complete_without_room(s, b);
    } else if (b->err.code) {
        become_read_only(s, &b->err);
        fail_pending(s, b, 0, &s->failure);
    } else {
        complete_durable(s, b);
    }
    batch_free(b);
}

static void on_committed(struct loop_job *j)
{
    struct batch *b = container_of(j, struct batch, job);
    struct store *s = b->store;
    complete(s, b);
    if (s->filling.len > 0 || s->room.is_full)
        loop_defer(s->loop, LOOP_SYNC, &s->sync);
}

/* ---- life cycle ---- */

void batch_init(struct store *s)
{
    loop_task_init(&s->sync, on_sync);
    loop_timer_init(s->loop, &s->look, on_look);
    s->step = STEP_MAX;
    list_init(&s->subs);
    list_init(&s->cursor);
}

void batch_finish(struct store *s)
{
    s->closing = true;
    if (!s->read_only)
        err_set(&s->failure, ERR_UNAVAILABLE, "the store is being closed");
    loop_task_cancel(&s->sync);
    loop_timer_cancel(&s->look);
    struct batch *b = s->flight;
    if (b) {
        loop_job_cancel(&b->job);
        if (!b->ran)
            batch_run(&b->job);
        complete(s, b);
    }
    loop_timer_cancel(&s->look);
    fail_pending(s, NULL, 0, &s->failure);
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
