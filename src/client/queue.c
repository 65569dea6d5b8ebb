/*
 * The queue. One map of items by key; ready ones are also in a FIFO list. Every change of an item
 * ends in settle(), which alone decides whether it is ready, timed, resting or freed, so that the
 * flags and the lists cannot disagree.
 */
#include "client/queue.h"

#include "client/backoff.h"

/* How long a key that wrote counts is remembered for it. */
#define REST (100 * USEC_PER_MSEC)

/* A key as bytes: which kind and how long its namespace is, the namespace, the name. */
enum { HEAD = 2 * sizeof(uint32_t), KEY_MAX = 512 };

static size_t key_size(str ns, str name)
{
    return HEAD + ns.len + name.len;
}

static void write_key(char *to, const struct kind *k, str ns, str name)
{
    uint32_t head[] = {(uint32_t)kind_id(k), (uint32_t)ns.len};
    memcpy(to, head, HEAD);
    if (ns.len)
        memcpy(to + HEAD, ns.p, ns.len);
    if (name.len)
        memcpy(to + HEAD + ns.len, name.p, name.len);
}

static str item_key(const struct queue_item *it)
{
    return str_n(it->key, it->key_len);
}

static void set_paced(struct queue_item *it, bool on)
{
    struct queue *q = it->queue;
    q->n_paced += (size_t)on - (size_t)it->paced;
    it->paced = on;
}

/* When its pace allows the next look; 0: at once. */
static usec paced_until(const struct queue_item *it)
{
    const struct queue *q = it->queue;
    if (!q->min_interval || !it->planned_at)
        return 0;
    usec due = it->planned_at + q->min_interval;
    return due > loop_now(q->loop) ? due : 0;
}

/* Until when an idle key is remembered. */
static usec rests_until(const struct queue_item *it)
{
    usec pace = it->planned_at ? it->planned_at + it->queue->min_interval : 0;
    usec counts = it->counts_at ? it->counts_at + REST : 0;
    return MAX(MAX(pace, counts), it->told_until);
}

/* All but its place in the map. */
static void item_release(struct queue_item *it)
{
    list_remove(&it->link);
    loop_timer_cancel(&it->timer);
    free(it->failed);
    free(it);
}

static void item_free(struct queue_item *it)
{
    set_paced(it, false);
    (void)map_del(&it->queue->items, item_key(it));
    item_release(it);
}

static void set_retry(struct queue_item *it, usec at)
{
    struct queue *q = it->queue;
    q->n_retrying += (size_t)(at != 0) - (size_t)(it->retry_at != 0);
    it->retry_at = at;
}

static void make_ready(struct queue_item *it)
{
    struct queue *q = it->queue;
    list_remove(&it->link);
    list_push_back(&q->ready, &it->link);
    q->n_ready++;
    q->stats.adds++;
    it->ready_at = loop_now(q->loop);
    loop_timer_cancel(&it->timer);
    q->wake(q->ctx);
}

static bool is_ready(const struct queue_item *it)
{
    return it->ready_at != 0;
}

static void drop_rested(struct queue *q)
{
    usec now = loop_now(q->loop);
    list_foreach (node, &q->resting) {
        struct queue_item *it = list_entry(node, struct queue_item, link);
        if (rests_until(it) > now)
            return;
        item_free(it);
    }
}

/* Due times behind one timer: whichever comes first. */
static void set_timer(struct queue_item *it)
{
    usec due = it->retry_at ? it->retry_at : it->paced ? paced_until(it) : it->look_at;
    if (due)
        loop_timer_set(&it->timer, due);
    else
        loop_timer_cancel(&it->timer);
}

static void settle(struct queue_item *it)
{
    struct queue *q = it->queue;
    if (it->processing || is_ready(it))
        return;
    bool due = it->dirty && !it->retry_at;
    set_paced(it, due && paced_until(it));
    if (due && !it->paced) {
        make_ready(it);
        return;
    }
    set_timer(it);
    list_remove(&it->link);
    if (it->patient_since && !it->dirty && !it->retry_at)
        list_push_back(&q->patient, &it->link);
    if (it->dirty || it->retry_at || it->look_at || it->failures)
        return;
    if (rests_until(it) > loop_now(q->loop))
        list_push_back(&q->resting, &it->link);
    else
        item_free(it);
}

static void on_due(struct loop_timer *t)
{
    struct queue_item *it = container_of(t, struct queue_item, timer);
    usec now = loop_now(it->queue->loop);
    if (it->retry_at && it->retry_at <= now)
        set_retry(it, 0);
    if (it->look_at && it->look_at <= now)
        it->look_at = 0;
    it->dirty = true;
    settle(it);
}

void queue_look_now(struct queue *q)
{
    str key;
    void *value;
    for (size_t i = 0; map_next(&q->items, &i, &key, &value);) {
        struct queue_item *it = value;
        if (!it->look_at || it->processing || is_ready(it))
            continue;
        it->look_at = loop_now(q->loop);
        set_timer(it);
    }
}

static struct queue_item *item_new(struct queue *q, const struct kind *k, str ns, str name)
{
    size_t len = key_size(ns, name);
    struct queue_item *it = xcalloc(1, sizeof(*it) + len);
    it->queue = q;
    it->kind = k;
    it->key_len = len;
    write_key(it->key, k, ns, name);
    it->ns = str_n(it->key + HEAD, ns.len);
    it->name = str_n(it->key + HEAD + ns.len, name.len);
    list_init(&it->link);
    loop_timer_init(q->loop, &it->timer, on_due);
    (void)map_put(&q->items, item_key(it), it);
    return it;
}

struct queue_item *queue_find(const struct queue *q, const struct kind *k, str ns, str name)
{
    if (!q->items.len)
        return NULL;
    char usual[KEY_MAX];
    size_t len = key_size(ns, name);
    char *key = len <= KEY_MAX ? usual : xmalloc(len);
    write_key(key, k, ns, name);
    struct queue_item *it = map_get(&q->items, str_n(key, len));
    if (key != usual)
        free(key);
    return it;
}

void queue_add(struct queue *q, const struct kind *k, str ns, str name)
{
    drop_rested(q);
    struct queue_item *it = queue_find(q, k, ns, name);
    if (!it)
        it = item_new(q, k, ns, name);
    it->dirty = true;
    settle(it);
}

struct queue_item *queue_pop(struct queue *q)
{
    struct list *first = list_pop_front(&q->ready);
    if (!first)
        return NULL;
    struct queue_item *it = list_entry(first, struct queue_item, link);
    usec wait = loop_now(q->loop) - it->ready_at;
    q->stats.pops++;
    q->stats.wait_sum += wait;
    q->stats.wait_last = wait;
    q->stats.wait_max = MAX(q->stats.wait_max, wait);
    q->n_ready--;
    q->n_processing++;
    it->ready_at = 0;
    it->look_at = 0; /* the plan that follows says anew when */
    it->planned_at = q->min_interval ? loop_now(q->loop) : 0;
    it->dirty = false;
    it->processing = true;
    return it;
}

usec queue_ready_since(const struct queue *q)
{
    return list_entry(q->ready.next, struct queue_item, link)->ready_at;
}

static void end_processing(struct queue_item *it)
{
    BUG_ON(!it->processing);
    it->processing = false;
    it->run = NULL;
    it->queue->n_processing--;
}

void queue_finish(struct queue_item *it, usec look_at)
{
    end_processing(it);
    it->failures = 0;
    it->look_at = look_at;
    settle(it);
}

static void fail(struct queue_item *it, usec least, usec max)
{
    struct queue *q = it->queue;
    end_processing(it);
    if (it->failures < UINT32_MAX)
        it->failures++;
    q->stats.failures++;
    usec delay = backoff_delay(q->loop, QUEUE_RETRY_BASE, max, it->failures);
    set_retry(it, loop_now(q->loop) + MAX(delay, least));
    it->dirty = true;
    settle(it);
}

void queue_fail(struct queue_item *it, usec least)
{
    fail(it, least, QUEUE_RETRY_MAX);
}

void queue_conflict(struct queue_item *it, usec least)
{
    fail(it, least, QUEUE_CONFLICT_MAX);
}

void queue_defer(struct queue_item *it, usec base, usec max, usec look_at)
{
    struct loop *l = it->queue->loop;
    end_processing(it);
    if (it->failures < UINT32_MAX)
        it->failures++;
    usec due = loop_now(l) + backoff_delay(l, base, max, it->failures);
    it->look_at = look_at ? MIN(look_at, due) : due;
    settle(it);
}

void queue_unpace(struct queue_item *it)
{
    it->planned_at = 0;
    settle(it);
}

void queue_expedite(struct queue_item *it)
{
    set_retry(it, 0);
    it->failures = 0;
    it->planned_at = 0;
    it->dirty = true;
    settle(it);
}

void queue_calm(struct queue *q)
{
    list_foreach (node, &q->patient) {
        struct queue_item *it = list_entry(node, struct queue_item, link);
        it->dirty = true;
        settle(it);
    }
}

bool queue_is_idle(const struct queue *q)
{
    return !q->n_ready && !q->n_processing && !q->n_retrying && !q->n_paced &&
           list_is_empty(&q->patient);
}

void queue_init(struct queue *q, struct loop *l, void (*wake)(void *ctx), void *ctx)
{
    *q = (struct queue){.loop = l, .wake = wake, .ctx = ctx};
    list_init(&q->ready);
    list_init(&q->resting);
    list_init(&q->patient);
}

void queue_done(struct queue *q)
{
    void *it;
    for (size_t at = 0; map_next(&q->items, &at, NULL, &it);)
        item_release(it);
    map_done(&q->items);
}
