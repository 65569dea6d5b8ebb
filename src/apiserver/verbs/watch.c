/*
 * Watches: who hears of which event.
 *
 * Watches stand in buckets by what they can possibly see: all objects of a storage, one namespace
 * of it, or one object. An event looks up three buckets and touches nobody else, so that ten
 * thousand idle watches on other objects cost nothing.
 *
 *   NEW ──► SCAN ──► INITIAL ──► REPLAY ──► LIVE ──► (gone)
 *    └───────────────────────────────▲
 *   NEW      waits for its turn
 *   SCAN     what is there as it begins is looked through, at one revision
 *   INITIAL  and told
 *   REPLAY   what happened since is told
 *   LIVE     in its bucket; events come as they happen
 *
 * Watches that begin stand in one line. Each turn of the loop works on them for about TURN_UNITS,
 * and whoever is not done goes to the end of the line: neither one that begins with a hundred
 * thousand objects nor a thousand that begin at once hold up others. A watch whose reader is behind
 * (hub_pause) leaves the line until it has caught up.
 *
 * Where a webhook converts between versions (conversion.h) objects and events are converted before
 * they are selected and told, some at a time, and the watch leaves the line meanwhile. A live watch
 * that meets an event whose conversion is not known goes back to REPLAY: the store's history is the
 * queue of what it has not been told, and a watch that falls behind that has expired.
 *
 * Invariants
 *  1. Nobody is called from inside hub_watch().
 *  2. A watch sees every revision after the one it began with at most once and in order: `after` is
 *     the last revision it was shown or that was none of its business.
 *  3. Callbacks may stop any watch and start new ones: a bucket is walked with a marker standing in
 *     it, and one that is empty is freed by whoever leaves it last.
 *  4. The bookmark timer is set while a live watch asked for bookmarks, and only then.
 */
#include "apiserver/crd/conversion.h"
#include "apiserver/request.h"
#include "base/map.h"
#include "base/vec.h"
#include "kube/selector.h"

/* What all watches that begin may cost in one turn of the loop: an object that is looked at is one,
 * an object or event that is told is TELL and one for each TELL_BYTES of text to be written. */
enum { TURN_UNITS = 250, TELL = 2, TELL_BYTES = 128 };
/* Events taken from the past at a time. */
enum { REPLAY_MAX = 4096 };
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

enum watch_state { WATCH_NEW, WATCH_SCAN, WATCH_INITIAL, WATCH_REPLAY, WATCH_LIVE };

/* What is to be told to a watch before it is live; references, from next on. */
struct initial {
    VEC(struct obj *) objs;
    VEC(struct store_event) events;
    size_t next;
    struct arena arena; /* of where the scan goes on */
    str ns, name;
};

struct watcher {
    struct hub *hub;
    struct api_watch *w;
    const struct user *user;
    enum watch_state state;
    struct filter *filter; /* NULL: everything */
    uint64_t after;
    struct bucket *bucket; /* NULL: not live */
    struct list link;      /* hub->fresh, then hub->line, then bucket->watchers */
    struct list all;       /* hub->all */
    struct list bookmarks; /* hub->bookmarks */
    struct list peer;
    struct loop_timer timeout;
    struct initial *initial; /* NULL: live */
    bool initial_end;        /* its end is to be told */
    bool paused;
    bool is_local;            /* documents are shared, nothing is written */
    struct converting *ahead; /* what comes next, converted or about to be; NULL: nothing */
};

/* The objects of the next some of what a watch is to be told. */
struct converting {
    struct watcher *x;
    struct arena arena;
    struct conversion *c;
    size_t next; /* item */
    size_t left; /* things to tell that it is good for */
    bool is_done;
};

struct hub {
    struct apiserver *server;
    struct map buckets;
    struct map filters;
    struct list all;
    struct list bookmarks;
    struct loop_timer bookmark;
    struct list fresh; /* those that nobody has looked at */
    struct list later; /* stands in it before those that came during the turn */
    struct loop_task fresh_task;
    struct list line; /* of those that begin */
    struct loop_task line_task;
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

static void initial_clear(struct initial *in)
{
    for (size_t i = in->next; i < in->objs.len; i++)
        obj_unref(in->objs.p[i]);
    for (size_t i = in->next; i < in->events.len; i++) {
        obj_unref(in->events.p[i].obj);
        obj_unref(in->events.p[i].prev);
    }
    vec_done(&in->objs);
    vec_done(&in->events);
    arena_clear(&in->arena);
    in->next = 0;
}

static void initial_free(struct initial *in)
{
    if (!in)
        return;
    initial_clear(in);
    arena_done(&in->arena);
    free(in);
}

static void ahead_free(struct converting *ahead)
{
    if (!ahead)
        return;
    arena_done(&ahead->arena); /* ends the conversion */
    free(ahead);
}

static void watcher_free(struct watcher *x)
{
    struct hub *h = x->hub;
    x->w->impl = NULL;
    if (h->telling == x)
        h->telling = NULL;
    loop_timer_cancel(&x->timeout);
    list_remove(&x->link);
    list_remove(&x->all);
    list_remove(&x->bookmarks);
    list_remove(&x->peer);
    if (x->bucket)
        bucket_drop_if_empty(h, x->bucket);
    if (list_is_empty(&h->bookmarks))
        loop_timer_cancel(&h->bookmark);
    ahead_free(TAKE_PTR(x->ahead));
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

static struct obj *with_revision(const struct obj *o, uint64_t revision)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_key(&w, STR("resourceVersion"));
    jw_printf(&w, "%llu", (unsigned long long)revision);
    jw_end(&w);
    struct doc *set = jw_doc(&w);
    struct obj *out = obj_new(o->kind, meta_set(o->doc, doc_root(set)), NULL);
    BUG_ON(!out);
    doc_unref(set);
    return out;
}

static struct obj *left_obj(struct hub *h, const struct store_event *e)
{
    if (!h->left)
        h->left = with_revision(e->prev, e->revision);
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

/* ---- conversion by webhooks ---- */

static bool is_converted(const struct watcher *x)
{
    return UNLIKELY(kind_is(x->w->kind, KIND_HOOKED)) && !x->w->as_stored;
}

/* The event with its objects in the watch's version, which are `obj` and (NULL: not known, and
 * nothing is selected by it) `prev`. */
static bool tell_converted(struct watcher *x, const struct store_event *e, struct obj *obj,
                           struct obj *prev)
{
    bool was = e->prev && (!x->filter || (prev && matches(x, prev)));
    bool is = e->type != STORE_DELETED && matches(x, obj);
    if (is)
        return tell(x, was ? API_MODIFIED : API_ADDED, obj, e->revision, false);
    if (!was)
        return true;
    if (e->type != STORE_MODIFIED)
        return tell(x, API_DELETED, obj, e->revision, false);
    struct obj *left = with_revision(prev, e->revision);
    bool alive = tell(x, API_DELETED, left, e->revision, false);
    obj_unref(left);
    return alive;
}

/* Without a filter it does not matter what was there before. */
static bool needs_prev(const struct watcher *x, const struct store_event *e)
{
    return x->filter && e->prev;
}

static void fall_back(struct watcher *x);

/* An event for a live watch: told when its conversion is known, else on the way by REPLAY. */
static bool deliver_known(struct watcher *x, const struct store_event *e)
{
    struct apiserver *a = x->hub->server;
    struct obj *obj = convert_now(a, e->obj, x->w->kind);
    struct obj *prev = obj && needs_prev(x, e) ? convert_now(a, e->prev, x->w->kind) : NULL;
    bool known = obj && (prev || !needs_prev(x, e)), alive = true;
    if (known) {
        x->after = e->revision;
        alive = tell_converted(x, e, obj, prev);
    } else {
        fall_back(x);
    }
    obj_unref(obj);
    obj_unref(prev);
    return alive;
}

/* The whole question in one place: is it of the watch's namespace and new to it, and what is it? */
static bool deliver(struct watcher *x, const struct store_event *e)
{
    enum api_event_type type;
    struct obj *o;
    if (e->revision <= x->after)
        return true;
    if (is_converted(x))
        return deliver_known(x, e);
    x->after = e->revision;
    if (!judge(x, e, &type, &o))
        return true;
    if (o->kind == x->w->kind)
        return tell(x, type, o, e->revision, false);
    struct obj *as =
        x->w->as_stored ? convert_as_stored(o, x->w->kind) : convert_obj(o, x->w->kind);
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

static void end_expired(struct watcher *x, uint64_t from)
{
    struct arena a = ARENA_INIT;
    uint64_t oldest = store_oldest_revision(x->hub->server->store);
    watcher_end(x, status_expired(&a, "too old resource version: %llu (%llu)",
                                  (unsigned long long)from, (unsigned long long)oldest));
    arena_done(&a);
}

/* ---- what happened since ---- */

struct replay {
    struct watcher *x;
    uint32_t storage;
};

static void replay_take(void *ctx, const struct store_event *e)
{
    const struct replay *r = ctx;
    struct watcher *x = r->x;
    struct initial *in = x->initial;
    if (in->events.len >= REPLAY_MAX || e->revision <= x->after || e->storage != r->storage)
        return;
    if (x->w->ns.len && !str_eq(e->obj->ns, x->w->ns))
        return;
    struct store_event *kept = vec_push(&in->events);
    *kept = *e;
    kept->obj = obj_ref(e->obj);
    kept->prev = e->prev ? obj_ref(e->prev) : NULL;
}

/* Takes some of what happened after x->after; none of it is left: live. False: it has ended. */
static bool replay_more(struct watcher *x)
{
    struct store *s = x->hub->server->store;
    struct err err = ERR_INIT;
    uint64_t from = x->after, current = store_revision(s);
    struct replay r = {.x = x, .storage = store_storage_id(s, x->w->kind)};
    x->state = WATCH_REPLAY;
    if (from < current && store_replay(s, from, replay_take, &r, &err) == ERR_GONE) {
        end_expired(x, from);
        return false;
    }
    if (x->initial->events.len)
        return true;
    initial_free(TAKE_PTR(x->initial));
    x->after = MAX(x->after, current);
    join(x);
    return true;
}

static int cost_to_tell(const struct watcher *x, const struct obj *o)
{
    size_t written = x->is_local ? 0 : doc_text(o->doc).len / TELL_BYTES;
    return TELL + (int)MIN(written, (size_t)TURN_UNITS);
}

/* ---- ahead ---- */

enum { AHEAD_MAX = 64 }; /* objects or events converted at a time */

static void line_join(struct watcher *x);

static void on_ahead(struct conversion *c)
{
    struct converting *ahead = c->ctx;
    struct watcher *x = ahead->x;
    if (c->failed) {
        struct arena a = ahead->arena; /* of the reason */
        ahead->arena = ARENA_INIT;
        watcher_end(x, c->failed);
        arena_done(&a);
        return;
    }
    ahead->is_done = true;
    if (!x->paused)
        line_join(x);
}

static void ahead_add(struct converting *ahead, struct obj *o)
{
    conversion_add(ahead->c, o->doc, obj_hold(&ahead->arena, obj_ref(o)));
}

/* Asks for what comes next. */
static void ahead_begin(struct watcher *x)
{
    struct initial *in = x->initial;
    bool events = x->state == WATCH_REPLAY;
    size_t n = (events ? in->events.len : in->objs.len) - in->next;
    struct converting *ahead = xnew(struct converting);
    *ahead = (struct converting){.x = x, .left = MIN(n, (size_t)AHEAD_MAX)};
    x->ahead = ahead;
    ahead->c = conversion_new(&ahead->arena, x->w->kind, 2 * ahead->left);
    ahead->c->done = on_ahead;
    ahead->c->ctx = ahead;
    for (size_t i = in->next; i < in->next + ahead->left; i++) {
        ahead_add(ahead, events ? in->events.p[i].obj : in->objs.p[i]);
        if (events && needs_prev(x, &in->events.p[i]))
            ahead_add(ahead, in->events.p[i].prev);
    }
    ahead->is_done = conversion_start(x->hub->server->conversions, ahead->c);
}

/* What comes next is converted; false: it is being asked for. */
static bool ahead_is_ready(struct watcher *x)
{
    if (x->ahead && x->ahead->is_done && !x->ahead->left)
        ahead_free(TAKE_PTR(x->ahead));
    if (!x->ahead && is_converted(x))
        ahead_begin(x);
    return !x->ahead || x->ahead->is_done;
}

static struct obj *ahead_take(struct watcher *x)
{
    struct converting *ahead = x->ahead;
    return convert_finish(ahead->c->items[ahead->next++].out, x->w->kind);
}

static bool deliver_ahead(struct watcher *x, const struct store_event *e)
{
    struct obj *obj = ahead_take(x), *prev = needs_prev(x, e) ? ahead_take(x) : NULL;
    bool alive = true;
    x->ahead->left--;
    if (e->revision > x->after) {
        x->after = e->revision;
        alive = tell_converted(x, e, obj, prev);
    }
    obj_unref(obj);
    obj_unref(prev);
    return alive;
}

/* From its bucket to the store's history. */
static void fall_back(struct watcher *x)
{
    struct hub *h = x->hub;
    struct bucket *b = TAKE_PTR(x->bucket);
    struct err err = ERR_INIT;
    list_remove(&x->link);
    bucket_drop_if_empty(h, b);
    list_remove(&x->bookmarks);
    if (list_is_empty(&h->bookmarks))
        loop_timer_cancel(&h->bookmark);
    if (!x->filter)
        (void)filter_get(h, x->w, &x->filter, &err); /* it was parsed when the watch began */
    x->state = WATCH_REPLAY;
    x->initial = xnew(struct initial);
    line_join(x);
}

static bool step_replay(struct watcher *x, int *units)
{
    struct hub *h = x->hub;
    struct initial *in = x->initial;
    while (!x->paused && *units > 0 && in->next < in->events.len) {
        if (!ahead_is_ready(x))
            return true;
        struct store_event e = in->events.p[in->next++];
        *units -= cost_to_tell(x, e.obj);
        bool alive = x->ahead ? deliver_ahead(x, &e) : deliver(x, &e);
        obj_unref(h->left);
        h->left = NULL;
        obj_unref(e.obj);
        obj_unref(e.prev);
        if (!alive)
            return false;
    }
    if (in->next < in->events.len)
        return true;
    initial_clear(in);
    return replay_more(x);
}

/* ---- what was there ---- */

/* In the watch's version; a new reference, for that to o. */
static struct obj *initial_as(struct watcher *x, struct obj *o)
{
    struct obj *as;
    if (x->ahead) {
        as = ahead_take(x);
        x->ahead->left--;
    } else if (x->w->as_stored) {
        as = convert_as_stored(o, x->w->kind);
    } else {
        as = convert_obj(o, x->w->kind);
    }
    obj_unref(o);
    return as;
}

static bool step_initial(struct watcher *x, int *units)
{
    struct initial *in = x->initial;
    while (!x->paused && *units > 0 && in->next < in->objs.len) {
        if (!ahead_is_ready(x))
            return true;
        struct obj *as = initial_as(x, in->objs.p[in->next++]);
        *units -= cost_to_tell(x, as);
        bool alive = !matches(x, as) || tell(x, API_ADDED, as, as->rv, false);
        obj_unref(as);
        if (!alive)
            return false;
    }
    if (in->next < in->objs.len)
        return true;
    initial_clear(in);
    if (x->initial_end && !tell(x, API_BOOKMARK, NULL, x->after, true))
        return false;
    return replay_more(x);
}

struct scan {
    struct watcher *x;
    int units;
    bool more; /* than there was time for */
};

/* True: go on. */
static bool scan_one(struct scan *s, struct obj *o)
{
    struct initial *in = s->x->initial;
    if (is_converted(s->x) || matches(s->x, o))
        *vec_push(&in->objs) = obj_ref(o);
    if (--s->units > 0)
        return true;
    s->more = true;
    arena_clear(&in->arena);
    in->ns = arena_str(&in->arena, o->ns);
    in->name = key_after(&in->arena, o->name);
    return false;
}

static bool scan_past(void *ctx, struct obj *o)
{
    bool more = scan_one(ctx, o);
    obj_unref(o);
    return more;
}

/* As it was at x->after, which it need not be any more. */
static bool step_scan(struct watcher *x, int *units)
{
    const struct api_watch *w = x->w;
    struct store *store = x->hub->server->store;
    struct initial *in = x->initial;
    struct scan s = {.x = x, .units = *units};
    struct err err = ERR_INIT;
    if (store_revision(store) == x->after) {
        struct store_iter it = store_range(store, w->kind, w->ns, in->ns, in->name);
        for (struct obj *o; (o = store_next(&it)) && scan_one(&s, o);)
            ;
    } else if (store_list_at_from(store, x->after, w->kind, w->ns, in->ns, in->name, scan_past, &s,
                                  &err) < 0) {
        end_expired(x, x->after);
        return false;
    }
    *units = s.units;
    if (!s.more)
        x->state = WATCH_INITIAL;
    return true;
}

static void begin_initial(struct watcher *x)
{
    struct store *s = x->hub->server->store;
    struct api_watch *w = x->w;
    str name = single_name(x);
    x->after = store_revision(s);
    x->initial_end = w->bookmarks;
    x->state = WATCH_SCAN;
    if (!name.len)
        return;
    struct obj *o = store_get(s, w->kind, w->ns, name);
    if (o && (is_converted(x) || matches(x, o)))
        *vec_push(&x->initial->objs) = obj_ref(o);
    x->state = WATCH_INITIAL;
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

/* False: it has ended, or was stopped. */
static bool begin(struct watcher *x)
{
    const struct api_watch *w = x->w;
    struct arena a = ARENA_INIT;
    const struct status *why = check_watch(x, &a);
    if (why)
        watcher_end(x, why);
    arena_done(&a);
    if (why)
        return false;
    x->initial = xnew(struct initial);
    if (w->send_initial || !w->rv_given || w->rv == 0) {
        begin_initial(x);
        return true;
    }
    x->after = w->rv;
    return replay_more(x);
}

static bool step(struct watcher *x, int *units)
{
    if (x->state == WATCH_SCAN)
        return step_scan(x, units);
    return x->state == WATCH_INITIAL ? step_initial(x, units) : step_replay(x, units);
}

static bool is_in_line(const struct watcher *x)
{
    return x->state != WATCH_LIVE && !x->paused && (!x->ahead || x->ahead->is_done);
}

static void line_join(struct watcher *x)
{
    struct hub *h = x->hub;
    BUG_ON(list_is_linked(&x->link));
    list_push_back(&h->line, &x->link);
    loop_defer(h->server->loop, LOOP_PUBLISH, &h->line_task);
}

/* Refusals come in the turn after it was asked for, however long the line is. What comes meanwhile
 * is for the next turn. */
static void fresh_task(struct loop_task *t)
{
    struct hub *h = container_of(t, struct hub, fresh_task);
    list_push_back(&h->fresh, &h->later);
    while (h->fresh.next != &h->later) {
        struct watcher *x = container_of(h->fresh.next, struct watcher, link);
        list_remove(&x->link);
        if (begin(x) && is_in_line(x))
            line_join(x);
    }
    list_remove(&h->later);
    if (!list_is_empty(&h->fresh))
        loop_defer(h->server->loop, LOOP_PUBLISH, t);
}

static void line_task(struct loop_task *t)
{
    struct hub *h = container_of(t, struct hub, line_task);
    int units = TURN_UNITS;
    while (units > 0 && !list_is_empty(&h->line)) {
        struct watcher *x = container_of(h->line.next, struct watcher, link);
        list_remove(&x->link);
        units--;
        bool alive = true;
        while (alive && units > 0 && is_in_line(x))
            alive = step(x, &units);
        if (alive && is_in_line(x))
            list_push_back(&h->line, &x->link);
    }
    if (!list_is_empty(&h->line))
        loop_defer(h->server->loop, LOOP_PUBLISH, t);
}

void hub_watch(struct hub *h, const struct user *user, struct api_watch *w, struct list *peers)
{
    struct watcher *x = xnew(struct watcher);
    x->hub = h;
    x->w = w;
    x->user = user;
    x->is_local = peers != NULL;
    w->impl = x;
    list_init(&x->bookmarks);
    list_init(&x->peer);
    list_push_back(&h->all, &x->all);
    list_push_back(&h->fresh, &x->link);
    if (peers)
        list_push_back(peers, &x->peer);
    loop_defer(h->server->loop, LOOP_PUBLISH, &h->fresh_task);
    loop_timer_init(h->server->loop, &x->timeout, on_timeout);
    loop_timer_set(&x->timeout, loop_now(h->server->loop) + timeout_of(h, w));
}

void hub_stop(struct hub *h, struct api_watch *w)
{
    (void)h;
    if (w->impl)
        watcher_free(w->impl);
}

bool hub_is_beginning(const struct api_watch *w)
{
    const struct watcher *x = w->impl;
    return x && x->state != WATCH_LIVE;
}

bool hub_is_paused(const struct api_watch *w)
{
    const struct watcher *x = w->impl;
    return x && x->paused;
}

size_t hub_waiting(const struct api_watch *w)
{
    const struct watcher *x = w->impl;
    const struct initial *in = x ? x->initial : NULL;
    return in ? in->objs.len * sizeof(*in->objs.p) + in->events.len * sizeof(*in->events.p) : 0;
}

void hub_pause(struct api_watch *w, bool on)
{
    struct watcher *x = w->impl;
    if (!x || x->state == WATCH_LIVE || x->paused == on)
        return;
    x->paused = on;
    if (x->state == WATCH_NEW)
        return;
    list_remove(&x->link);
    if (is_in_line(x))
        line_join(x);
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
    list_init(&h->fresh);
    list_init(&h->line);
    loop_timer_init(a->loop, &h->bookmark, on_bookmark);
    loop_task_init(&h->fresh_task, fresh_task);
    loop_task_init(&h->line_task, line_task);
    return h;
}

void hub_free(struct hub *h)
{
    while (!list_is_empty(&h->all))
        watcher_free(container_of(h->all.next, struct watcher, all));
    loop_timer_cancel(&h->bookmark);
    loop_task_cancel(&h->fresh_task);
    loop_task_cancel(&h->line_task);
    map_done(&h->buckets);
    map_done(&h->filters);
    free(h);
}
