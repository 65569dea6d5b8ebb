/*
 * Objects in a tree by (kind, namespace, name); every change appended to a history from which each
 * watch reads at its own position. Resource versions are one counter for everything, UIDs another.
 */
#include "client/test-api-fake.h"

#include "base/map.h"
#include "base/tree.h"
#include "base/vec.h"
#include "kube/selector.h"
#include "json/edit.h"
#include "json/patch.h"

struct entry {
    struct tree_node node;
    const struct kind *kind;
    str ns, name;
    struct obj *obj; /* NULL: deleted, kept for the count */
    unsigned created;
    char text[];
};

struct change {
    enum api_event_type type;
    uint64_t rv;
    struct obj *old, *new; /* new is the last state for DELETED */
};

struct fake {
    struct api api;
    struct loop *loop;
    usec max_delay;
    struct tree entries;
    VEC(struct change) history;
    size_t forgotten;      /* changes that were dropped from the front */
    uint64_t forgotten_rv; /* up to this revision */
    uint64_t rv, uids;
    struct list calls, watches;
    bool classic, held;
    unsigned refuse_n[API_DELETE_COLLECTION + 1];
    int refuse_code[API_DELETE_COLLECTION + 1];
    struct api_fake_stats stats;
    void (*on_write)(void *ctx, const struct api_request *r);
    void *on_write_ctx;
};

struct fake_call {
    struct list link;
    struct fake *fake;
    struct api_request *req;
    struct loop_timer timer;
};

struct fake_watch {
    struct list link;
    struct fake *fake;
    struct api_watch *w;
    size_t at; /* in the history, forgotten ones included */
    struct arena arena;
    struct selector *labels, *fields;
    VEC(struct obj *) initial;
    size_t initial_at;
    uint64_t initial_rv;
    bool initial_end; /* the bookmark is still to come */
    unsigned bookmarks;
    struct status *why;
    bool ending;
    struct loop_timer timer;
};

static struct fake *fake_of(struct api *api)
{
    return container_of(api, struct fake, api);
}

static usec draw_delay(struct fake *f)
{
    return f->max_delay ? (usec)(loop_random_u64(f->loop) % (uint64_t)f->max_delay) + 1 : 0;
}

static bool matches(const struct selector *labels, const struct selector *fields,
                    const struct obj *o)
{
    return label_selector_match(labels, o->labels) && field_selector_match(fields, o);
}

/* ---- objects ---- */

struct entry_key {
    const struct kind *kind;
    str ns, name;
};

static int cmp_entry(const void *key, const struct tree_node *n)
{
    const struct entry_key *k = key;
    const struct entry *e = container_of(n, struct entry, node);
    if (k->kind != e->kind)
        return kind_id(k->kind) < kind_id(e->kind) ? -1 : 1;
    int c = str_cmp(k->ns, e->ns);
    return c ? c : str_cmp(k->name, e->name);
}

static struct entry *find(struct fake *f, const struct kind *k, str ns, str name)
{
    struct entry_key key = {k, ns, name};
    struct tree_node *n = tree_find(&f->entries, &key, cmp_entry);
    return n ? container_of(n, struct entry, node) : NULL;
}

static struct entry *find_or_make(struct fake *f, const struct kind *k, str ns, str name)
{
    struct entry *e = find(f, k, ns, name);
    if (e)
        return e;
    e = xcalloc(1, sizeof(*e) + ns.len + name.len);
    memcpy(e->text, ns.len ? ns.p : "", ns.len);
    memcpy(e->text + ns.len, name.p, name.len);
    e->kind = k;
    e->ns = str_n(e->text, ns.len);
    e->name = str_n(e->text + ns.len, name.len);
    struct entry_key key = {k, e->ns, e->name};
    tree_insert(&f->entries, &e->node, &key, cmp_entry);
    return e;
}

static struct obj *must_obj(const struct kind *k, struct doc *d)
{
    struct err err = ERR_INIT;
    struct obj *o = d ? obj_new(k, d, &err) : NULL;
    if (!o)
        BUG(err.message);
    return o;
}

/* The document with system fields as they are after this change. */
static struct obj *stamp(struct fake *f, const struct kind *k, struct doc *d, const struct obj *old,
                         bool deleting)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    str uid = old ? old->uid : arena_printf(&a, "uid-%08llu", (unsigned long long)++f->uids);
    int64_t generation = old ? old->generation : 1;
    if (old) {
        bool same = jequal(jgetc(doc_root(d), "spec"), obj_spec(old)) &&
                    jequal(jgetc(doc_root(d), "data"), jgetc(obj_root(old), "data"));
        generation += !same || (deleting && !old->deleting);
    }
    edit_set_str(&e, STR("/metadata/uid"), uid);
    edit_set_str(&e, STR("/metadata/resourceVersion"),
                 arena_printf(&a, "%llu", (unsigned long long)++f->rv));
    edit_set_int(&e, STR("/metadata/generation"), generation);
    if (deleting)
        edit_set_str(&e, STR("/metadata/deletionTimestamp"), STR("2026-01-01T00:00:00Z"));
    struct doc *out = edit_apply(&e, d, NULL);
    edit_done(&e);
    arena_done(&a);
    doc_unref(d);
    return must_obj(k, out);
}

static void watch_kick(struct fake_watch *w);

static void record(struct fake *f, enum api_event_type type, struct obj *old, struct obj *new)
{
    *vec_push(&f->history) = (struct change){type, f->rv, old, obj_ref(new)};
    list_foreach (it, &f->watches)
        watch_kick(list_entry(it, struct fake_watch, link));
}

/* Takes over the document. */
static void store(struct fake *f, struct entry *e, struct doc *d, bool deleting)
{
    struct obj *old = e->obj;
    struct obj *new = stamp(f, e->kind, d, old, deleting);
    bool finished = new->deleting && !jlen(jgetc(new->meta, "finalizers"));
    e->obj = finished ? NULL : new;
    e->created += !old;
    f->stats.created += !old;
    enum api_event_type type = finished ? API_DELETED : old ? API_MODIFIED : API_ADDED;
    record(f, type, old, new);
    if (finished)
        obj_unref(new);
}

static void drop(struct fake *f, struct entry *e)
{
    struct obj *old = e->obj;
    struct obj *last = stamp(f, e->kind, doc_ref(old->doc), old, false);
    e->obj = NULL;
    record(f, API_DELETED, old, last);
    obj_unref(last);
}

/* ---- verbs ---- */

static void reply_obj(struct api_request *r, int code, struct obj *o)
{
    struct obj *held = obj_ref(o);
    r->done(r, &(struct api_reply){.code = code, .obj = held, .remaining = -1});
    obj_unref(held);
}

static void reply_status(struct api_request *r, const struct status *s)
{
    r->done(r, &(struct api_reply){.code = s->code, .status = s, .remaining = -1});
}

static void do_create(struct fake *f, struct api_request *r, struct arena *a)
{
    struct entry *e = find_or_make(f, r->kind, r->ns, r->name);
    if (e->obj) {
        f->stats.exists++;
        reply_status(r, status_already_exists(a, r->kind, r->name));
        return;
    }
    store(f, e, doc_ref(r->body), false);
    reply_obj(r, 201, e->obj);
}

static void do_bind(struct fake *f, struct api_request *r, struct entry *e)
{
    struct arena a = ARENA_INIT;
    struct edit ed;
    edit_init(&ed, &a);
    edit_set_str(&ed, STR("/spec/nodeName"), jstr(jpath(doc_root(r->body), "target.name")));
    store(f, e, edit_apply(&ed, e->obj->doc, NULL), e->obj->deleting);
    edit_done(&ed);
    arena_done(&a);
    struct doc *d = status_success_doc(r->kind, r->name, e->obj->uid);
    r->done(r, &(struct api_reply){.code = 201, .doc = d, .remaining = -1});
    doc_unref(d);
}

static void do_write(struct fake *f, struct api_request *r, struct entry *e, struct arena *a)
{
    struct err err = ERR_INIT;
    jval root = obj_root(e->obj), body = doc_root(r->body);
    uint64_t rv = 0;
    bool merge = r->verb == API_PATCH && r->patch != API_PATCH_JSON;
    bool json = r->verb == API_PATCH && r->patch == API_PATCH_JSON;
    if (!json && str_to_uint(jstr(jpath(body, "metadata.resourceVersion")), &rv) &&
        rv != e->obj->rv) {
        f->stats.conflicts++;
        reply_status(r, status_conflict(a, r->kind, r->name, NULL));
        return;
    }
    struct doc *d = merge  ? json_merge_patch(root, body, &err)
                    : json ? json_patch(root, body, &err)
                           : doc_ref(r->body);
    if (!d) {
        reply_status(r, status_new(a, 422, "Invalid", "%s", err.message));
        return;
    }
    if (jequal(doc_root(d), root)) {
        doc_unref(d);
        reply_obj(r, 200, e->obj);
        return;
    }
    struct obj *before = e->obj;
    store(f, e, d, before->deleting);
    reply_obj(r, 200, e->obj ? e->obj : vec_last(&f->history)->new);
}

static void do_delete(struct fake *f, struct api_request *r, struct entry *e, struct arena *a)
{
    if ((r->uid.len && !str_eq(r->uid, e->obj->uid)) || (r->rv && r->rv != e->obj->rv)) {
        f->stats.conflicts++;
        reply_status(r, status_conflict(a, r->kind, r->name, "precondition failed"));
        return;
    }
    str uid = arena_str(a, e->obj->uid);
    if (jlen(jgetc(e->obj->meta, "finalizers"))) {
        if (!e->obj->deleting)
            store(f, e, doc_ref(e->obj->doc), true);
        reply_obj(r, 200, e->obj);
        return;
    }
    drop(f, e);
    struct doc *d = status_success_doc(r->kind, r->name, uid);
    r->done(r, &(struct api_reply){.code = 200, .doc = d, .remaining = -1});
    doc_unref(d);
}

static void do_list(struct fake *f, struct api_request *r, struct arena *a)
{
    struct selector *labels = label_selector_parse(a, r->label_selector, NULL);
    struct selector *fields = field_selector_parse(a, r->kind, r->field_selector, NULL);
    VEC(struct obj *) items = {0};
    struct entry_key from = {r->kind, STR_NONE, STR_NONE};
    /* The token is "ns/name" of the last one; the fake does not keep the revision of page one. */
    str token = r->continue_token;
    if (token.len) {
        str rest = token;
        from.ns = str_cut(&rest, '/');
        from.name = rest;
    }
    str more = STR_NONE;
    for (struct tree_node *n = tree_upper_bound(&f->entries, &from, cmp_entry); n;
         n = tree_next(n)) {
        struct entry *e = container_of(n, struct entry, node);
        if (e->kind != r->kind)
            break;
        if (!e->obj || !matches(labels, fields, e->obj))
            continue;
        if (r->limit && items.len == (size_t)r->limit) {
            const struct obj *last = *vec_last(&items);
            more = arena_printf(a, "%.*s/%.*s", STR_ARG(last->ns), STR_ARG(last->name));
            break;
        }
        *vec_push(&items) = obj_ref(e->obj);
    }
    r->done(r, &(struct api_reply){.code = 200,
                                   .items = items.p,
                                   .n_items = items.len,
                                   .rv = f->rv,
                                   .continue_token = more,
                                   .remaining = -1});
    for (size_t i = 0; i < items.len; i++)
        obj_unref(items.p[i]);
    vec_done(&items);
}

static void execute(struct fake *f, struct api_request *r, struct arena *a)
{
    f->stats.sent[r->verb]++;
    if (f->on_write && r->verb != API_GET && r->verb != API_LIST)
        f->on_write(f->on_write_ctx, r);
    if (f->refuse_n[r->verb]) {
        f->refuse_n[r->verb]--;
        reply_status(r, status_new(a, f->refuse_code[r->verb], "Refused", "as the test wishes"));
        return;
    }
    if (r->verb == API_LIST) {
        do_list(f, r, a);
        return;
    }
    if (r->verb == API_CREATE && !r->subresource.len) {
        do_create(f, r, a);
        return;
    }
    struct entry *e = find(f, r->kind, r->ns, r->name);
    if (!e || !e->obj)
        reply_status(r, status_not_found(a, r->kind, r->name));
    else if (r->verb == API_GET)
        reply_obj(r, 200, e->obj);
    else if (r->verb == API_CREATE)
        do_bind(f, r, e);
    else if (r->verb == API_DELETE)
        do_delete(f, r, e, a);
    else
        do_write(f, r, e, a);
}

static void on_call_due(struct loop_timer *t)
{
    struct fake_call *c = container_of(t, struct fake_call, timer);
    struct fake *f = c->fake;
    struct api_request *r = c->req;
    struct arena a = ARENA_INIT;
    if (r->verb != API_GET && r->verb != API_LIST)
        f->stats.in_flight--;
    list_remove(&c->link);
    free(c);
    execute(f, r, &a);
    arena_done(&a);
}

static void fake_send(struct api *api, struct api_request *r)
{
    struct fake *f = fake_of(api);
    struct fake_call *c = xnew(struct fake_call);
    c->fake = f;
    c->req = r;
    list_push_back(&f->calls, &c->link);
    if (r->verb != API_GET && r->verb != API_LIST) {
        f->stats.in_flight++;
        f->stats.max_in_flight = MAX(f->stats.max_in_flight, f->stats.in_flight);
    }
    loop_timer_init(f->loop, &c->timer, on_call_due);
    loop_timer_set(&c->timer, loop_now(f->loop) + draw_delay(f));
}

/* ---- watches ---- */

static void watch_free(struct fake_watch *w)
{
    for (size_t i = w->initial_at; i < w->initial.len; i++)
        obj_unref(w->initial.p[i]);
    vec_done(&w->initial);
    list_remove(&w->link);
    loop_timer_cancel(&w->timer);
    arena_done(&w->arena);
    free(w);
}

static size_t history_end(const struct fake *f)
{
    return f->forgotten + f->history.len;
}

static bool watch_has_work(const struct fake_watch *w)
{
    if (w->initial_at < w->initial.len || w->initial_end || w->ending)
        return true;
    return !w->fake->held && (w->at < history_end(w->fake) || w->bookmarks);
}

static void watch_kick(struct fake_watch *w)
{
    if (watch_has_work(w) && !loop_timer_is_set(&w->timer))
        loop_timer_set(&w->timer, loop_now(w->fake->loop) + draw_delay(w->fake));
}

/* As a filtered watch sees a change; false: not at all. */
static bool see(const struct fake_watch *w, const struct change *c, enum api_event_type *ret)
{
    if (c->new->kind != w->w->kind)
        return false;
    bool was = c->old && matches(w->labels, w->fields, c->old);
    bool is = c->type != API_DELETED && matches(w->labels, w->fields, c->new);
    *ret = is ? (was ? API_MODIFIED : API_ADDED) : API_DELETED;
    return was || is;
}

/* One thing per call, since the callback may stop the watch. */
static void on_watch_due(struct loop_timer *t)
{
    struct fake_watch *w = container_of(t, struct fake_watch, timer);
    struct fake *f = w->fake;
    struct api_watch *aw = w->w;
    enum api_event_type type;
    if (w->initial_at < w->initial.len) {
        struct obj *o = w->initial.p[w->initial_at++];
        watch_kick(w);
        aw->on_event(aw, API_ADDED, o, o->rv, false);
        obj_unref(o);
        return;
    }
    if (w->initial_end) {
        w->initial_end = false;
        uint64_t rv = w->initial_rv;
        watch_kick(w);
        aw->on_event(aw, API_BOOKMARK, NULL, rv, true);
        return;
    }
    if (w->ending) {
        struct arena a = w->arena;
        const struct status *why = w->why;
        arena_init(&w->arena);
        watch_free(w);
        aw->impl = NULL;
        aw->on_end(aw, why);
        arena_done(&a);
        return;
    }
    if (f->held)
        return;
    while (w->at < history_end(f)) {
        const struct change *c = &f->history.p[w->at++ - f->forgotten];
        if (!see(w, c, &type))
            continue;
        struct obj *o = obj_ref(c->new);
        uint64_t rv = c->rv;
        watch_kick(w);
        aw->on_event(aw, type, o, rv, false);
        obj_unref(o);
        return;
    }
    if (w->bookmarks) {
        w->bookmarks--;
        watch_kick(w);
        aw->on_event(aw, API_BOOKMARK, NULL, f->rv, false);
    }
}

static void watch_begin_initial(struct fake *f, struct fake_watch *w)
{
    w->at = history_end(f);
    w->initial_end = true;
    w->initial_rv = f->rv;
    for (struct tree_node *n = tree_first(&f->entries); n; n = tree_next(n)) {
        struct entry *e = container_of(n, struct entry, node);
        if (e->kind == w->w->kind && e->obj && matches(w->labels, w->fields, e->obj))
            *vec_push(&w->initial) = obj_ref(e->obj);
    }
}

static void fake_watch(struct api *api, struct api_watch *aw)
{
    struct fake *f = fake_of(api);
    struct fake_watch *w = xnew(struct fake_watch);
    w->fake = f;
    w->w = aw;
    aw->impl = w;
    w->labels = label_selector_parse(&w->arena, aw->label_selector, NULL);
    w->fields = field_selector_parse(&w->arena, aw->kind, aw->field_selector, NULL);
    list_push_back(&f->watches, &w->link);
    loop_timer_init(f->loop, &w->timer, on_watch_due);
    w->at = f->forgotten;
    if (aw->send_initial && f->classic) {
        w->ending = true;
        w->why = status_new(&w->arena, 422, "Invalid", "sendInitialEvents is not known");
    } else if (aw->send_initial && f->refuse_n[API_LIST]) {
        f->refuse_n[API_LIST]--;
        w->ending = true;
        w->why = status_new(&w->arena, f->refuse_code[API_LIST], "Refused", "as the test wishes");
    } else if (aw->send_initial) {
        watch_begin_initial(f, w);
    } else if (aw->rv < f->forgotten_rv) {
        w->ending = true;
        w->why = status_expired(&w->arena, "too old resource version");
    } else {
        while (w->at < history_end(f) && f->history.p[w->at - f->forgotten].rv <= aw->rv)
            w->at++;
    }
    watch_kick(w);
}

static void fake_watch_stop(struct api *api, struct api_watch *aw)
{
    if (aw->impl)
        watch_free(aw->impl);
    aw->impl = NULL;
}

/* ---- life cycle ---- */

static void forget(struct fake *f)
{
    for (size_t i = 0; i < f->history.len; i++) {
        obj_unref(f->history.p[i].old);
        obj_unref(f->history.p[i].new);
    }
    f->forgotten += f->history.len;
    f->forgotten_rv = f->rv;
    vec_clear(&f->history);
}

static void fake_free(struct api *api)
{
    struct fake *f = fake_of(api);
    while (!list_is_empty(&f->watches))
        watch_free(list_entry(f->watches.next, struct fake_watch, link));
    while (!list_is_empty(&f->calls)) {
        struct fake_call *c = list_entry(f->calls.next, struct fake_call, link);
        struct api_request *r = c->req;
        list_remove(&c->link);
        loop_timer_cancel(&c->timer);
        free(c);
        r->done(r, &(struct api_reply){.unknown_outcome = true, .remaining = -1});
    }
    forget(f);
    vec_done(&f->history);
    for (struct tree_node *n; (n = tree_first(&f->entries));) {
        struct entry *e = container_of(n, struct entry, node);
        tree_remove(&f->entries, n);
        if (e->obj)
            obj_unref(e->obj);
        free(e);
    }
    free(f);
}

static const struct api_ops fake_ops = {
    .send = fake_send,
    .watch = fake_watch,
    .watch_stop = fake_watch_stop,
    .free = fake_free,
};

struct api *api_fake_new(struct loop *l, usec max_delay)
{
    struct fake *f = xnew(struct fake);
    f->api.ops = &fake_ops;
    f->loop = l;
    f->max_delay = max_delay;
    f->rv = 100;
    list_init(&f->calls);
    list_init(&f->watches);
    return &f->api;
}

/* ---- behind its back ---- */

void api_fake_put(struct api *api, const struct kind *k, const char *json)
{
    struct fake *f = fake_of(api);
    struct doc *d = doc_parse(str_of(json), NULL, NULL);
    BUG_ON(!d);
    jval meta = jgetc(doc_root(d), "metadata");
    struct entry *e = find_or_make(f, k, jstr(jgetc(meta, "namespace")), jstr(jgetc(meta, "name")));
    if (e->obj) {
        struct doc *merged = json_merge_patch(obj_root(e->obj), doc_root(d), NULL);
        doc_unref(d);
        d = merged;
    }
    store(f, e, d, e->obj && e->obj->deleting);
}

void api_fake_remove(struct api *api, const struct kind *k, const char *ns, const char *name)
{
    struct fake *f = fake_of(api);
    struct entry *e = find(f, k, str_of(ns), str_of(name));
    if (e && e->obj)
        drop(f, e);
}

struct obj *api_fake_get(struct api *api, const struct kind *k, const char *ns, const char *name)
{
    struct entry *e = find(fake_of(api), k, str_of(ns), str_of(name));
    return e ? e->obj : NULL;
}

struct obj *api_fake_any(struct api *api, const struct kind *k)
{
    struct fake *f = fake_of(api);
    for (struct tree_node *n = tree_first(&f->entries); n; n = tree_next(n)) {
        struct entry *e = container_of(n, struct entry, node);
        if (e->kind == k && e->obj)
            return e->obj;
    }
    return NULL;
}

size_t api_fake_count(struct api *api, const struct kind *k)
{
    struct fake *f = fake_of(api);
    size_t count = 0;
    for (struct tree_node *n = tree_first(&f->entries); n; n = tree_next(n)) {
        struct entry *e = container_of(n, struct entry, node);
        count += e->kind == k && e->obj;
    }
    return count;
}

uint64_t api_fake_rv(struct api *api)
{
    return fake_of(api)->rv;
}

void api_fake_refuse(struct api *api, enum api_verb verb, unsigned n, int code)
{
    fake_of(api)->refuse_n[verb] = n;
    fake_of(api)->refuse_code[verb] = code;
}

void api_fake_compact(struct api *api)
{
    struct fake *f = fake_of(api);
    forget(f);
    list_foreach (it, &f->watches) {
        struct fake_watch *w = list_entry(it, struct fake_watch, link);
        if (w->at >= f->forgotten || w->ending)
            continue;
        w->ending = true;
        w->why = status_expired(&w->arena, "too old resource version");
        watch_kick(w);
    }
}

void api_fake_end_watches(struct api *api)
{
    list_foreach (it, &fake_of(api)->watches) {
        struct fake_watch *w = list_entry(it, struct fake_watch, link);
        w->ending = true;
        watch_kick(w);
    }
}

void api_fake_bookmark(struct api *api)
{
    list_foreach (it, &fake_of(api)->watches) {
        struct fake_watch *w = list_entry(it, struct fake_watch, link);
        w->bookmarks++;
        watch_kick(w);
    }
}

void api_fake_set_classic(struct api *api, bool classic)
{
    fake_of(api)->classic = classic;
}

void api_fake_hold_watches(struct api *api, bool hold)
{
    struct fake *f = fake_of(api);
    f->held = hold;
    list_foreach (it, &f->watches)
        watch_kick(list_entry(it, struct fake_watch, link));
}

struct api_fake_stats api_fake_stats(struct api *api)
{
    return fake_of(api)->stats;
}

unsigned api_fake_times_created(struct api *api, const struct kind *k, const char *ns,
                                const char *name)
{
    struct entry *e = find(fake_of(api), k, str_of(ns), str_of(name));
    return e ? e->created : 0;
}

void api_fake_on_write(struct api *api, void (*fn)(void *ctx, const struct api_request *r),
                       void *ctx)
{
    fake_of(api)->on_write = fn;
    fake_of(api)->on_write_ctx = ctx;
}
