/*
 * Watches: who hears of which event.
 *
 * Watches stand in buckets by what they can possibly see: all objects of a storage, one namespace
 * of it, or one object. An event looks up three buckets and touches nobody else, so that ten
 * thousand idle watches on other objects cost nothing.
 *
 *   NEW ──► INITIAL ──► LIVE ──► (gone)          NEW      waits for its turn
 *    │         │          ▲                      INITIAL  what was there when it began is on its
 * way └─────────┼──────────┘                      LIVE     in its bucket; events come as they
 * happen └──► replay of what happened meanwhile
 *
 * Invariants
 *  1. Nobody is called from inside hub_watch().
 *  2. A watch sees every revision after the one it began with at most once and in order: `after` is
 *     the last revision it was shown or that was none of its business.
 *  3. Callbacks may stop any watch and start new ones: a bucket is walked with a marker standing in
 *     it, and one that is empty is freed by whoever leaves it last.
 *  4. The bookmark timer is set while a live watch asked for bookmarks, and only then.
 */
#include "apiserver/request.h"
#include "base/map.h"
#include "base/vec.h"
#include "kube/selector.h"

#define INITIAL_PER_TURN 1000
#define BOOKMARK_INTERVAL (60 * USEC_PER_SEC)
#define TIMEOUT_LEAST (30 * USEC_PER_MIN)

struct bucket {
    struct list watchers;
    bool walking; /* a marker stands in it */
    size_t key_len;
    char key[];
};

/* Parsed selectors, shared by all watches that ask for the same. */
struct filter {
    unsigned refs;
    struct arena arena;
    struct selector *labels, *fields;
    str key;
};

enum watch_state { WATCH_NEW, WATCH_INITIAL, WATCH_LIVE };

/* What was there when a watch began. */
struct initial {
    VEC(struct obj *) objs; /* references, from next on */
    size_t next;
};

struct watcher {
    struct hub *hub;
    struct api_watch *w;
    const struct user *user;
    enum watch_state state;
    struct filter *filter; /* NULL: everything */
    uint64_t after;
    struct bucket *bucket; /* NULL: not live */
    struct list link;      /* bucket->watchers */
    struct list all;       /* hub->all */
    struct list bookmarks; /* hub->bookmarks */
    struct list peer;
    struct loop_task task;
    struct loop_timer timeout;
    struct initial *initial; /* NULL: told, or never asked for */
    bool initial_end;        /* its end is to be told */
};

struct hub {
    struct apiserver *server;
    struct map buckets;
    struct map filters;
    struct list all;
    struct list bookmarks;
    struct loop_timer bookmark;
    struct watcher *telling; /* whose callback is running */
    /* The object of an update as watches see it that it left: the last state that matched, with the
     * new revision. Made once per event. */
    struct obj *left;
};

/* ---- buckets ---- */

/* Storage, namespace and name; each part may be missing from behind. */
static size_t bucket_key(char *buf, size_t size, uint32_t storage, bool has_ns, str ns,
                         bool has_name, str name)
{
    size_t n = sizeof(storage);
    if (n + ns.len + name.len + 2 > size)
        return 0;
    memcpy(buf, &storage, n);
    if (!has_ns)
        return n;
    memcpy(buf + n, ns.p ? ns.p : "", ns.len);
    n += ns.len;
    buf[n++] = '\0';
    if (!has_name)
        return n;
    memcpy(buf + n, name.p, name.len);
    return n + name.len;
}

static struct bucket *bucket_get(struct hub *h, str key)
{
    struct bucket *b = map_get(&h->buckets, key);
    if (b)
        return b;
    b = xcalloc(1, sizeof(*b) + key.len);
    list_init(&b->watchers);
    b->key_len = key.len;
    memcpy(b->key, key.p, key.len);
    map_put(&h->buckets, str_n(b->key, b->key_len), b);
    return b;
}

static void bucket_drop_if_empty(struct hub *h, struct bucket *b)
{
    if (b->walking || !list_is_empty(&b->watchers))
        return;
    map_del(&h->buckets, str_n(b->key, b->key_len));
    free(b);
}

/* ---- filters ---- */

static void filter_unref(struct hub *h, struct filter *f)
{
    if (!f || --f->refs)
        return;
    map_del(&h->filters, f->key);
    arena_done(&f->arena);
    free(f);
}

/* *ret is NULL when there is nothing to select. */
static int filter_get(struct hub *h, const struct api_watch *w, struct filter **ret,
                      struct err *err)
{
    *ret = NULL;
    if (!w->label_selector.len && !w->field_selector.len)
        return 0;
    struct filter *f = xnew(struct filter);
    f->refs = 1;
    f->key = arena_printf(&f->arena, "%zu %zu %.*s%.*s", kind_id(w->kind), w->label_selector.len,
                          STR_ARG(w->label_selector), STR_ARG(w->field_selector));
    struct filter *known = map_get(&h->filters, f->key);
    if (!known) {
        f->labels = label_selector_parse(&f->arena, w->label_selector, err);
        if (f->labels)
            f->fields = field_selector_parse(&f->arena, w->kind, w->field_selector, err);
        if (f->fields) {
            map_put(&h->filters, f->key, f);
            *ret = f;
            return 0;
        }
    }
    arena_done(&f->arena);
    free(f);
    if (!known)
        return ERR_INVALID;
    known->refs++;
    *ret = known;
    return 0;
}

/* ---- leaving ---- */

static void initial_free(struct initial *in)
{
    if (!in)
        return;
    for (size_t i = in->next; i < in->objs.len; i++)
        obj_unref(in->objs.p[i]);
    vec_done(&in->objs);
    free(in);
}

static void watcher_free(struct watcher *x)
{
    struct hub *h = x->hub;
    x->w->impl = NULL;
    if (h->telling == x)
        h->telling = NULL;
    loop_task_cancel(&x->task);
    loop_timer_cancel(&x->timeout);
    list_remove(&x->link);
    list_remove(&x->all);
    list_remove(&x->bookmarks);
    list_remove(&x->peer);
    if (x->bucket)
        bucket_drop_if_empty(h, x->bucket);
    if (list_is_empty(&h->bookmarks))
        loop_timer_cancel(&h->bookmark);
    initial_free(TAKE_PTR(x->initial));
    filter_unref(h, x->filter);
    free(x);
}

/* The last call. */
static void watcher_end(struct watcher *x, const struct status *why)
{
    struct api_watch *w = x->w;
    watcher_free(x);
    w->on_end(w, why);
}

/* ---- events ---- */

static bool matches(const struct watcher *x, const struct obj *o)
{
    const struct filter *f = x->filter;
    return !f || (label_selector_match(f->labels, o->labels) && field_selector_match(f->fields, o));
}

/* False when the watch was stopped meanwhile. Nothing is told from inside a callback, so there is
 * one at a time. */
static bool tell(struct watcher *x, enum api_event_type type, struct obj *o, uint64_t rv,
                 bool initial_end)
{
    struct hub *h = x->hub;
    h->telling = x;
    x->w->on_event(x->w, type, o, rv, initial_end);
    bool alive = h->telling == x;
    h->telling = NULL;
    return alive;
}

static struct obj *left_obj(struct hub *h, const struct store_event *e)
{
    if (h->left)
        return h->left;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_key(&w, STR("resourceVersion"));
    jw_printf(&w, "%llu", (unsigned long long)e->revision);
    jw_end(&w);
    struct doc *set = jw_doc(&w);
    h->left = obj_new(e->prev->kind, meta_set(e->prev->doc, doc_root(set)), NULL);
    BUG_ON(!h->left);
    doc_unref(set);
    return h->left;
}

/* What an event is to this watch; false: nothing. */
static bool judge(struct watcher *x, const struct store_event *e, enum api_event_type *ret_type,
                  struct obj **ret_obj)
{
    bool was = e->prev && matches(x, e->prev);
    bool is = e->type != STORE_DELETED && matches(x, e->obj);
    *ret_obj = e->obj;
    if (is) {
        *ret_type = was ? API_MODIFIED : API_ADDED;
        return true;
    }
    *ret_type = API_DELETED;
    if (was && e->type == STORE_MODIFIED)
        *ret_obj = left_obj(x->hub, e);
    return was;
}

/* The whole question in one place: is it of the watch's namespace and new to it, and what is it? */
static bool deliver(struct watcher *x, const struct store_event *e)
{
    enum api_event_type type;
    struct obj *o;
    if (e->revision <= x->after)
        return true;
    x->after = e->revision;
    if (!judge(x, e, &type, &o))
        return true;
    if (o->kind == x->w->kind)
        return tell(x, type, o, e->revision, false);
    struct obj *as = convert_obj(o, x->w->kind);
    bool alive = tell(x, type, as, e->revision, false);
    obj_unref(as);
    return alive;
}

static void walk(struct hub *h, str key, const struct store_event *e)
{
    struct bucket *b = map_get(&h->buckets, key);
    struct watcher marker = {0};
    if (!b)
        return;
    b->walking = true;
    list_push_front(&b->watchers, &marker.link);
    while (marker.link.next != &b->watchers) {
        struct list *it = marker.link.next;
        list_remove(&marker.link);
        list_push_front(it, &marker.link); /* right behind it */
        (void)deliver(container_of(it, struct watcher, link), e);
    }
    list_remove(&marker.link);
    b->walking = false;
    bucket_drop_if_empty(h, b);
}

void hub_event(struct hub *h, const struct store_event *e)
{
    char buf[1024];
    const struct obj *o = e->obj;
    if (h->buckets.len == 0)
        return;
    for (int depth = 0; depth < 3; depth++) {
        size_t n = bucket_key(buf, sizeof(buf), e->storage, depth > 0, o->ns, depth > 1, o->name);
        if (n)
            walk(h, str_n(buf, n), e);
    }
    obj_unref(h->left);
    h->left = NULL;
}

/* ---- bookmarks and timeouts ---- */

static void on_bookmark(struct loop_timer *t)
{
    struct hub *h = container_of(t, struct hub, bookmark);
    uint64_t rv = store_revision(h->server->store);
    struct list round;
    list_init(&round);
    while (!list_is_empty(&h->bookmarks)) {
        struct list *it = h->bookmarks.next;
        list_remove(it);
        list_push_back(&round, it);
    }
    while (!list_is_empty(&round)) {
        struct watcher *x = container_of(round.next, struct watcher, bookmarks);
        list_remove(&x->bookmarks);
        list_push_back(&h->bookmarks, &x->bookmarks);
        x->after = MAX(x->after, rv);
        (void)tell(x, API_BOOKMARK, NULL, rv, false);
    }
    if (!list_is_empty(&h->bookmarks))
        loop_timer_set(&h->bookmark, loop_now(h->server->loop) + BOOKMARK_INTERVAL);
}

/* A clean end; whoever asked for bookmarks learns from where to go on. */
static void on_timeout(struct loop_timer *t)
{
    struct watcher *x = container_of(t, struct watcher, timeout);
    if (x->state == WATCH_LIVE && x->w->bookmarks &&
        !tell(x, API_BOOKMARK, NULL, store_revision(x->hub->server->store), false))
        return;
    watcher_end(x, NULL);
}

static usec timeout_of(struct hub *h, const struct api_watch *w)
{
    if (w->timeout > 0)
        return w->timeout;
    return TIMEOUT_LEAST + (usec)(loop_random_u64(h->server->loop) % (uint64_t)TIMEOUT_LEAST);
}

/* ---- going live ---- */

static str single_name(const struct watcher *x)
{
    bool placed = x->w->ns.len || !kind_is(x->w->kind, KIND_NAMESPACED);
    return placed && x->filter ? field_selector_name(x->filter->fields) : STR_NONE;
}

/* The bucket of one object says all that "metadata.name=x" says; an idle watch need not keep it. */
static void drop_name_filter(struct watcher *x)
{
    const struct api_watch *w = x->w;
    if (w->label_selector.len || str_find_char(w->field_selector, ',') >= 0)
        return;
    filter_unref(x->hub, x->filter);
    x->filter = NULL;
}

static void join(struct watcher *x)
{
    struct hub *h = x->hub;
    struct api_watch *w = x->w;
    char buf[1024];
    str name = single_name(x);
    uint32_t storage = store_storage_id(h->server->store, w->kind);
    bool has_ns = w->ns.len || name.len;
    size_t n = bucket_key(buf, sizeof(buf), storage, has_ns, w->ns, name.len != 0, name);
    if (!n) { /* longer than any name can be: nothing will ever match */
        name = STR_NONE;
        n = bucket_key(buf, sizeof(buf), storage, false, STR_NONE, false, STR_NONE);
    }
    x->state = WATCH_LIVE;
    x->bucket = bucket_get(h, str_n(buf, n));
    list_push_back(&x->bucket->watchers, &x->link);
    if (name.len)
        drop_name_filter(x);
    if (!w->bookmarks)
        return;
    if (list_is_empty(&h->bookmarks))
        loop_timer_set(&h->bookmark, loop_now(h->server->loop) + BOOKMARK_INTERVAL);
    list_push_back(&h->bookmarks, &x->bookmarks);
}

struct replay {
    struct watcher *x;
    uint32_t storage;
    bool alive;
};

static void replay_event(void *ctx, const struct store_event *e)
{
    struct replay *r = ctx;
    struct hub *h;
    if (!r->alive || e->storage != r->storage)
        return;
    h = r->x->hub;
    if (r->x->w->ns.len && !str_eq(e->obj->ns, r->x->w->ns))
        return;
    r->alive = deliver(r->x, e);
    obj_unref(h->left);
    h->left = NULL;
}

static void end_expired(struct watcher *x, uint64_t from)
{
    struct arena a = ARENA_INIT;
    uint64_t oldest = store_oldest_revision(x->hub->server->store);
    watcher_end(x, status_expired(&a, "too old resource version: %llu (%llu)",
                                  (unsigned long long)from, (unsigned long long)oldest));
    arena_done(&a);
}

/* What happened after x->after, then live. */
static void replay_and_join(struct watcher *x)
{
    struct store *s = x->hub->server->store;
    struct err err = ERR_INIT;
    uint64_t from = x->after, current = store_revision(s);
    if (from < current) {
        struct replay r = {.x = x, .storage = store_storage_id(s, x->w->kind), .alive = true};
        int e = store_replay(s, from, replay_event, &r, &err);
        if (!r.alive)
            return;
        if (e == ERR_GONE) {
            end_expired(x, from);
            return;
        }
        x->after = MAX(x->after, current);
    }
    join(x);
}

static void run_initial(struct watcher *x)
{
    struct hub *h = x->hub;
    struct initial *in = x->initial;
    size_t end = MIN(in->next + INITIAL_PER_TURN, in->objs.len);
    while (in->next < end) {
        struct obj *o = in->objs.p[in->next++];
        struct obj *as = convert_obj(o, x->w->kind);
        obj_unref(o);
        bool alive = tell(x, API_ADDED, as, as->rv, false);
        obj_unref(as);
        if (!alive)
            return;
    }
    if (in->next < in->objs.len) {
        loop_defer(h->server->loop, LOOP_PUBLISH, &x->task);
        return;
    }
    initial_free(TAKE_PTR(x->initial));
    if (x->initial_end && !tell(x, API_BOOKMARK, NULL, x->after, true))
        return;
    replay_and_join(x);
}

static void begin_initial(struct watcher *x)
{
    struct store *s = x->hub->server->store;
    struct api_watch *w = x->w;
    str name = single_name(x);
    x->state = WATCH_INITIAL;
    x->initial = xnew(struct initial);
    x->after = store_revision(s);
    x->initial_end = w->bookmarks;
    if (name.len) {
        struct obj *o = store_get(s, w->kind, w->ns, name);
        if (o && matches(x, o))
            *vec_push(&x->initial->objs) = obj_ref(o);
    } else {
        struct store_iter it = store_range(s, w->kind, w->ns, STR_NONE, STR_NONE);
        for (struct obj *o; (o = store_next(&it));)
            if (matches(x, o))
                *vec_push(&x->initial->objs) = obj_ref(o);
    }
    run_initial(x);
}

/* ---- beginning ---- */

static const struct status *check_watch(struct watcher *x, struct arena *a)
{
    struct api_watch *w = x->w;
    struct err err = ERR_INIT;
    uint64_t current = store_revision(x->hub->server->store);
    if (!(w->kind->verbs & VERB_WATCH))
        return status_method_not_allowed(a);
    struct access access = watch_access(w);
    const struct status *why = authorize_status(x->hub->server, a, x->user, &access);
    if (why)
        return why;
    if (w->send_initial && w->rv_given && w->rv > current)
        return status_version_too_large(a, w->rv, current);
    if (filter_get(x->hub, w, &x->filter, &err) < 0)
        return status_bad_request(a, "%s", err.message);
    return NULL;
}

static void watch_task(struct loop_task *t)
{
    struct watcher *x = container_of(t, struct watcher, task);
    const struct api_watch *w = x->w;
    struct arena a = ARENA_INIT;
    if (x->state == WATCH_INITIAL) {
        run_initial(x);
        return;
    }
    const struct status *why = check_watch(x, &a);
    if (why) {
        watcher_end(x, why);
    } else if (w->send_initial || !w->rv_given || w->rv == 0) {
        begin_initial(x);
    } else {
        x->after = w->rv;
        replay_and_join(x);
    }
    arena_done(&a);
}

void hub_watch(struct hub *h, const struct user *user, struct api_watch *w, struct list *peers)
{
    struct watcher *x = xnew(struct watcher);
    x->hub = h;
    x->w = w;
    x->user = user;
    w->impl = x;
    list_init(&x->link);
    list_init(&x->bookmarks);
    list_init(&x->peer);
    list_push_back(&h->all, &x->all);
    if (peers)
        list_push_back(peers, &x->peer);
    loop_task_init(&x->task, watch_task);
    loop_defer(h->server->loop, LOOP_PUBLISH, &x->task);
    loop_timer_init(h->server->loop, &x->timeout, on_timeout);
    loop_timer_set(&x->timeout, loop_now(h->server->loop) + timeout_of(h, w));
}

void hub_stop(struct hub *h, struct api_watch *w)
{
    (void)h;
    if (w->impl)
        watcher_free(w->impl);
}

void hub_stop_peers(struct list *peers)
{
    while (!list_is_empty(peers))
        watcher_free(container_of(peers->next, struct watcher, peer));
}

/* Those that begin because others end are not ended. */
void hub_end_kind(struct hub *h, const struct kind *k)
{
    struct list ending;
    list_init(&ending);
    list_foreach (it, &h->all) {
        struct watcher *x = container_of(it, struct watcher, all);
        if (x->w->kind != k)
            continue;
        list_remove(&x->all);
        list_push_back(&ending, &x->all);
    }
    while (!list_is_empty(&ending))
        watcher_end(container_of(ending.next, struct watcher, all), NULL);
}

struct hub *hub_new(struct apiserver *a)
{
    struct hub *h = xnew(struct hub);
    h->server = a;
    list_init(&h->all);
    list_init(&h->bookmarks);
    loop_timer_init(a->loop, &h->bookmark, on_bookmark);
    return h;
}

void hub_free(struct hub *h)
{
    while (!list_is_empty(&h->all))
        watcher_free(container_of(h->all.next, struct watcher, all));
    loop_timer_cancel(&h->bookmark);
    map_done(&h->buckets);
    map_done(&h->filters);
    free(h);
}
