/*
 * See metrics_feed.h. Series are in a tree by "resource 0 metric 0 namespace 0 name", so that the
 * series of a metric stand together; in a heap by when they end, of which one timer follows the
 * first; and in a list by object, because objects go in large numbers.
 */
#include "grove/metrics_feed.h"

#include "base/map.h"

/* What somebody has fed metrics of. */
struct fed_object {
    struct list series; /* metrics_sample.link */
    size_t uid_len;
    char uid[];
};

struct metrics_feed {
    struct loop *loop;
    struct tree series;
    struct heap expiry;
    struct map objects; /* struct fed_object by UID */
    struct loop_timer timer;
    size_t bytes, names;
    uint64_t names_version;
    void (*changed)(void *ctx, str ns);
    void *ctx;
    struct loop_task news; /* tells once of what changed in one turn of the loop */
    struct strbuf news_of; /* the namespace; empty: of several, or of none */
};

/* ---- keys ---- */

/* Room for what the limits allow, and for names of objects and namespaces. */
enum { KEY_MAX = 4096 };

struct key {
    size_t len;
    char text[KEY_MAX];
};

static void key_add(struct key *k, str part)
{
    if (part.len > 0)
        memcpy(k->text + k->len, part.p, part.len);
    k->len += part.len;
    k->text[k->len++] = '\0';
}

/* Of the first n parts; false when it is too long to be anybody's. */
static bool key_of(const struct metrics_id *id, size_t n, struct key *ret)
{
    const str parts[] = {id->resource, id->metric, id->ns, id->name};
    ret->len = 0;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].len > KEY_MAX - 1 - ret->len)
            return false;
        key_add(ret, parts[i]);
    }
    return true;
}

static const struct metrics_sample *sample_of(const struct tree_node *n)
{
    return n ? container_of(n, const struct metrics_sample, node) : NULL;
}

static size_t key_len(const struct metrics_sample *s)
{
    return s->id.resource.len + s->id.metric.len + s->id.ns.len + s->id.name.len + 4;
}

static int compare(const void *key, const struct tree_node *n)
{
    const struct key *k = key;
    const struct metrics_sample *s = sample_of(n);
    return str_cmp(str_n(k->text, k->len), str_n(s->key, key_len(s)));
}

static int compare_expiry(const struct heap_node *a, const struct heap_node *b)
{
    const struct metrics_sample *x = heap_entry(a, struct metrics_sample, expiry),
                                *y = heap_entry(b, struct metrics_sample, expiry);
    if (x->until != y->until)
        return x->until < y->until ? -1 : 1;
    return str_cmp(str_n(x->key, key_len(x)), str_n(y->key, key_len(y)));
}

static bool same_name(const struct metrics_sample *a, const struct metrics_sample *b)
{
    return str_eq(a->id.resource, b->id.resource) && str_eq(a->id.metric, b->id.metric);
}

/* Whether others of the same name are beside it. */
static bool is_only_one(const struct metrics_sample *s)
{
    const struct metrics_sample *before = sample_of(tree_prev(&s->node)),
                                *after = sample_of(tree_next(&s->node));
    return !(before && same_name(before, s)) && !(after && same_name(after, s));
}

/* ---- reading ---- */

const struct metrics_sample *metrics_feed_get(const struct metrics_feed *f,
                                              const struct metrics_id *id)
{
    struct key k;
    if (!f || f->series.len == 0 || !key_of(id, 4, &k))
        return NULL;
    return sample_of(tree_find(&f->series, &k, compare));
}

const struct metrics_sample *metrics_feed_first(const struct metrics_feed *f, str resource,
                                                str metric, str ns)
{
    struct key k;
    struct metrics_id id = {resource, metric, ns, STR_NONE};
    if (!f || !key_of(&id, 3, &k))
        return NULL;
    const struct metrics_sample *s = sample_of(tree_lower_bound(&f->series, &k, compare));
    return s && str_starts(str_n(s->key, key_len(s)), str_n(k.text, k.len)) ? s : NULL;
}

const struct metrics_sample *metrics_feed_next(const struct metrics_sample *s)
{
    const struct metrics_sample *n = sample_of(tree_next(&s->node));
    return n && same_name(n, s) && str_eq(n->id.ns, s->id.ns) ? n : NULL;
}

const struct metrics_sample *metrics_feed_next_name(const struct metrics_feed *f,
                                                    const struct metrics_sample *s)
{
    const struct metrics_sample *n =
        s ? sample_of(tree_next(&s->node)) : sample_of(tree_first(&f->series));
    while (s && n && same_name(n, s))
        n = sample_of(tree_next(&n->node));
    return n;
}

uint64_t metrics_feed_names_version(const struct metrics_feed *f)
{
    return f->names_version;
}

/* ---- expiry ---- */

static void arm(struct metrics_feed *f)
{
    const struct heap_node *n = heap_min(&f->expiry);
    if (n)
        loop_timer_set(&f->timer, heap_entry(n, struct metrics_sample, expiry)->until);
    else
        loop_timer_cancel(&f->timer);
}

static size_t bytes_of(const struct metrics_sample *s)
{
    return sizeof(*s) + key_len(s);
}

static void on_news(struct loop_task *t)
{
    struct metrics_feed *f = container_of(t, struct metrics_feed, news);
    if (f->changed)
        f->changed(f->ctx, strbuf_str(&f->news_of));
}

static void note_change(struct metrics_feed *f, str ns)
{
    bool waits = list_is_linked(&f->news.link);
    if (waits && str_eq(strbuf_str(&f->news_of), ns))
        return;
    strbuf_reset(&f->news_of);
    if (!waits)
        strbuf_add_str(&f->news_of, ns);
    loop_defer(f->loop, LOOP_SYNC, &f->news);
}

static void leave_object(struct metrics_feed *f, struct metrics_sample *s)
{
    struct fed_object *o = s->object;
    list_remove(&s->link);
    if (!list_is_empty(&o->series))
        return;
    (void)map_del(&f->objects, str_n(o->uid, o->uid_len));
    f->bytes -= sizeof(*o) + o->uid_len;
    free(o);
}

static void drop(struct metrics_feed *f, struct metrics_sample *s)
{
    if (is_only_one(s)) {
        f->names--;
        f->names_version++;
    }
    f->bytes -= bytes_of(s);
    leave_object(f, s);
    heap_remove(&f->expiry, &s->expiry);
    tree_remove(&f->series, &s->node);
    note_change(f, s->id.ns);
    free(s);
}

static void on_expiry(struct loop_timer *t)
{
    struct metrics_feed *f = container_of(t, struct metrics_feed, timer);
    struct heap_node *n;
    while ((n = heap_min(&f->expiry))) {
        struct metrics_sample *s = heap_entry(n, struct metrics_sample, expiry);
        if (s->until > loop_now(f->loop))
            break;
        drop(f, s);
    }
    arm(f);
}

/* ---- writing ---- */

bool metrics_name_is_valid(str metric)
{
    for (size_t i = 0; i < metric.len; i++) {
        char c = metric.p[i];
        if (c <= ' ' || c > '~' || c == '/' || c == '%' || c == '*' || c == '?' || c == '#')
            return false;
    }
    return metric.len > 0 && metric.len <= METRICS_NAME_MAX && !str_is(metric, ".") &&
           !str_is(metric, "..");
}

static struct fed_object *object_of(struct metrics_feed *f, str uid)
{
    struct fed_object *o = map_get(&f->objects, uid);
    if (o)
        return o;
    o = xmalloc(sizeof(*o) + uid.len);
    list_init(&o->series);
    o->uid_len = uid.len;
    if (uid.len > 0)
        memcpy(o->uid, uid.p, uid.len);
    (void)map_put(&f->objects, str_n(o->uid, o->uid_len), o);
    f->bytes += sizeof(*o) + uid.len;
    return o;
}

static str take_part(const char **p, str like)
{
    str part = str_n(*p, like.len);
    *p += like.len + 1;
    return part;
}

static struct metrics_sample *sample_new(const struct key *k, const struct metrics_id *id)
{
    struct metrics_sample *s = xmalloc(sizeof(*s) + k->len);
    *s = (struct metrics_sample){0};
    memcpy(s->key, k->text, k->len);
    const char *p = s->key;
    s->id.resource = take_part(&p, id->resource);
    s->id.metric = take_part(&p, id->metric);
    s->id.ns = take_part(&p, id->ns);
    s->id.name = take_part(&p, id->name);
    return s;
}

static int check(const struct metrics_id *id, const struct quantity *value, usec ttl,
                 struct err *err)
{
    if (!metrics_name_is_valid(id->metric))
        return err_set(err, ERR_INVALID,
                       "a metric's name has 1 to %d printable characters without spaces and "
                       "without / %% * ? #",
                       METRICS_NAME_MAX);
    if (!id->resource.len && id->name.len > METRICS_LABELS_MAX)
        return err_set(err, ERR_INVALID, "the labels of a series have at most %d characters",
                       METRICS_LABELS_MAX);
    if (quantity_sign(value) < 0)
        return err_set(err, ERR_INVALID, "a metric's value must not be negative");
    if (quantity_milli(value) == INT64_MAX)
        return err_set(err, ERR_INVALID,
                       "a metric's value must be below 9223372036854775807m, about 9.2e15");
    if (ttl <= 0 || ttl > METRICS_TTL_MAX)
        return err_set(err, ERR_INVALID, "a metric stays between 1 second and %lld hours",
                       (long long)(METRICS_TTL_MAX / USEC_PER_HOUR));
    return 0;
}

/* A new series has room, and so does its name. */
static int check_room(const struct metrics_feed *f, const struct metrics_id *id,
                      const struct key *k, str uid, struct err *err)
{
    struct key prefix;
    size_t need = sizeof(struct metrics_sample) + k->len + sizeof(struct fed_object) + uid.len;
    if (f->bytes + need > METRICS_BYTES_MAX)
        return err_set(err, ERR_FORBIDDEN,
                       "fed metrics hold %zu bytes, and %zu are the limit: unset some, or feed "
                       "them for a shorter time",
                       f->bytes, METRICS_BYTES_MAX);
    (void)key_of(id, 2, &prefix);
    const struct metrics_sample *s = sample_of(tree_lower_bound(&f->series, &prefix, compare));
    bool known = s && str_starts(str_n(s->key, key_len(s)), str_n(prefix.text, prefix.len));
    if (!known && f->names >= METRICS_NAMES_MAX)
        return err_set(err, ERR_FORBIDDEN,
                       "%d different metrics are fed, which is the limit: unset some",
                       METRICS_NAMES_MAX);
    return 0;
}

static struct metrics_sample *add(struct metrics_feed *f, const struct metrics_id *id,
                                  const struct key *k)
{
    struct metrics_sample *s = sample_new(k, id);
    (void)tree_insert(&f->series, &s->node, k, compare);
    f->bytes += bytes_of(s);
    if (is_only_one(s)) {
        f->names++;
        f->names_version++;
    }
    return s;
}

int metrics_feed_set(struct metrics_feed *f, const struct metrics_id *id, str uid,
                     const struct quantity *value, usec ttl, struct err *err)
{
    struct key k;
    if (check(id, value, ttl, err))
        return ERR_INVALID;
    if (!key_of(id, 4, &k))
        return err_set(err, ERR_INVALID, "the name of the series is too long");
    struct tree_node *n = tree_find(&f->series, &k, compare);
    struct metrics_sample *s = n ? container_of(n, struct metrics_sample, node) : NULL;
    if (!s && check_room(f, id, &k, uid, err))
        return ERR_FORBIDDEN;
    if (!s)
        s = add(f, id, &k);
    else
        leave_object(f, s);
    s->object = object_of(f, uid);
    list_push_back(&s->object->series, &s->link);
    s->value = *value;
    s->at = loop_wall(f->loop);
    s->until = loop_now(f->loop) + ttl;
    if (heap_has(&s->expiry))
        heap_update(&f->expiry, &s->expiry);
    else
        heap_push(&f->expiry, &s->expiry);
    arm(f);
    note_change(f, id->ns);
    return 0;
}

bool metrics_feed_unset(struct metrics_feed *f, const struct metrics_id *id)
{
    struct key k;
    struct tree_node *n = key_of(id, 4, &k) ? tree_find(&f->series, &k, compare) : NULL;
    if (!n)
        return false;
    drop(f, container_of(n, struct metrics_sample, node));
    arm(f);
    return true;
}

void metrics_feed_forget(struct metrics_feed *f, str uid)
{
    struct fed_object *o = map_get(&f->objects, uid);
    bool last = !o;
    while (!last) {
        struct metrics_sample *s = list_entry(o->series.next, struct metrics_sample, link);
        last = s->link.next == &o->series;
        drop(f, s); /* the last one takes the object with it */
    }
    arm(f);
}

/* ---- life cycle ---- */

struct metrics_feed *metrics_feed_new(struct loop *l)
{
    struct metrics_feed *f = xnew(struct metrics_feed);
    f->loop = l;
    f->series = TREE_INIT;
    f->objects = MAP_INIT;
    f->names_version = 1;
    heap_init(&f->expiry, compare_expiry);
    loop_timer_init(l, &f->timer, on_expiry);
    loop_task_init(&f->news, on_news);
    strbuf_init(&f->news_of, KEY_MAX);
    return f;
}

void metrics_feed_free(struct metrics_feed *f)
{
    struct heap_node *n;
    if (!f)
        return;
    while ((n = heap_min(&f->expiry)))
        drop(f, heap_entry(n, struct metrics_sample, expiry));
    loop_timer_cancel(&f->timer);
    loop_task_cancel(&f->news);
    strbuf_done(&f->news_of);
    heap_done(&f->expiry);
    map_done(&f->objects);
    free(f);
}

void metrics_feed_on_change(struct metrics_feed *f, void (*fn)(void *ctx, str ns), void *ctx)
{
    f->changed = fn;
    f->ctx = ctx;
}
