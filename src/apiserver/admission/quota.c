/*
 * ResourceQuota: what each namespace with a quota uses, and whether a write still fits.
 *
 * Per quota and resource there are two numbers: `used`, a fold over durable objects (added when one
 * comes, its difference when it changes, taken away when it goes), and `promised`, what writes on
 * their way to the disk will add. A promise ends with the event of its revision, which the fold
 * counts from then on. Both are made again from scratch when the quota changes and at the start;
 * nothing is stored but status.used, which is written for people: at once, then at most ten times a
 * second.
 *
 * A write that takes away is counted when it is durable: until then the quota is rather too full
 * than not full enough.
 */
#include "apiserver/admission/quota.h"
#include "apiserver/request.h"
#include "base/map.h"
#include "json/write.h"

#define STATUS_INTERVAL (100 * USEC_PER_MSEC)

struct line {
    str name; /* in the quota's document */
    struct quantity hard, used, promised;
};

struct quota {
    struct list link; /* struct space.quotas, by name */
    struct quotas *owner;
    struct obj *obj;
    struct line *lines;
    size_t n_lines;
    uint64_t counted; /* events up to this revision are in `used` */
    bool is_dirty, is_writing, is_gone;
    usec next_write;
    struct loop_timer timer;
    struct api_request request;
    struct doc *body;
    struct arena arena; /* of the request */
};

/* A namespace with quotas. */
struct space {
    char *name;
    struct list quotas;
};

/* What was promised to a write. */
struct promise {
    struct list link; /* by revision */
    uint64_t rv;
    struct obj *obj, *old; /* old may be NULL */
};

struct quotas {
    struct apiserver *server;
    struct map spaces;
    struct list promises;
    struct list leaving; /* quotas that are gone, their last write under way */
};

/* ---- arithmetic ---- */

/* Amounts are held at 2^63 each (quota_usage.c): some ten thousand million of them fit. */
static void change(struct quantity *q, const struct quantity *by, int sign)
{
    bool fits = sign > 0 ? quantity_add(q, by) : quantity_sub(q, by);
    BUG_ON(!fits);
}

static struct line *line_of(const struct quota *q, str name)
{
    for (size_t i = 0; i < q->n_lines; i++)
        if (str_eq(q->lines[i].name, name))
            return &q->lines[i];
    return NULL;
}

/* Adds what an object uses to the numbers of a quota, or takes it away. */
static void count(struct quota *q, const struct obj *o, int sign, bool promised)
{
    struct arena a = ARENA_INIT;
    struct amounts use;
    if (!o || !quota_matches(obj_spec(q->obj), o->kind, obj_root(o)))
        return;
    amounts_init(&use, &a);
    usage_of(&use, o->kind, obj_root(o));
    for (size_t i = 0; i < use.items.len; i++) {
        struct line *l = line_of(q, use.items.p[i].name);
        if (!l)
            continue;
        change(promised ? &l->promised : &l->used, &use.items.p[i].value, sign);
        q->is_dirty |= !promised;
    }
    amounts_done(&use);
    arena_done(&a);
}

/* ---- status ---- */

static void quota_free(struct quota *q)
{
    list_remove(&q->link);
    loop_timer_cancel(&q->timer);
    obj_unref(q->obj);
    doc_unref(q->body);
    arena_done(&q->arena);
    free(q->lines);
    free(q);
}

static void put_amount(struct jw *w, str name, const struct quantity *q)
{
    struct strbuf b = STRBUF_INIT(256);
    quantity_write(q, &b);
    jw_key(w, name);
    jw_str(w, strbuf_str(&b));
    strbuf_done(&b);
}

static struct doc *status_patch(const struct quota *q)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "status");
    for (int used = 0; used < 2; used++) {
        jval had = jget(obj_status(q->obj), used ? STR("used") : STR("hard"));
        jw_put_object(&w, used ? "used" : "hard");
        for (size_t i = 0; i < q->n_lines; i++)
            put_amount(&w, q->lines[i].name, used ? &q->lines[i].used : &q->lines[i].hard);
        for (struct jiter it = jiter(had); jnext(&it);) {
            if (line_of(q, it.key))
                continue;
            jw_key(&w, it.key);
            jw_null(&w);
        }
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static void write_later(struct quota *q)
{
    if (q->is_dirty && !q->is_writing && !q->is_gone && !loop_timer_is_set(&q->timer))
        loop_timer_set(&q->timer, MAX(loop_now(q->owner->server->loop), q->next_write));
}

static void on_written(struct api_request *r, const struct api_reply *reply)
{
    struct quota *q = container_of(r, struct quota, request);
    q->is_writing = false;
    if (q->is_gone || reply->unknown_outcome) {
        if (q->is_gone)
            quota_free(q);
        return;
    }
    /* Nobody else writes it, so a refusal will not go away by itself: the next change tries again.
     */
    write_later(q);
}

static void on_time(struct loop_timer *t)
{
    struct quota *q = container_of(t, struct quota, timer);
    struct apiserver *a = q->owner->server;
    q->is_dirty = false;
    q->is_writing = true;
    q->next_write = loop_now(a->loop) + STATUS_INTERVAL;
    doc_unref(q->body);
    arena_clear(&q->arena);
    q->body = status_patch(q);
    q->request = (struct api_request){
        .verb = API_PATCH,
        .kind = &kind_resource_quota,
        .ns = arena_str(&q->arena, q->obj->ns),
        .name = arena_str(&q->arena, q->obj->name),
        .subresource = STR("status"),
        .patch = API_PATCH_MERGE,
        .body = q->body,
        .field_manager = STR("kube-apiserver"),
        .done = on_written,
    };
    request_start(a, &server_user, &q->request, NULL);
}

/* ---- which quotas there are ---- */

static struct space *space_of(const struct quotas *t, str ns)
{
    return t->spaces.len ? map_get(&t->spaces, ns) : NULL;
}

static struct quota *find(const struct space *s, str name)
{
    if (!s)
        return NULL;
    list_foreach (it, &s->quotas) {
        struct quota *q = container_of(it, struct quota, link);
        if (str_eq(q->obj->name, name))
            return q;
    }
    return NULL;
}

static void read_lines(struct quota *q)
{
    jval hard = jgetc(obj_spec(q->obj), "hard");
    free(q->lines);
    q->lines = xcalloc(jlen(hard) + 1, sizeof(*q->lines));
    q->n_lines = 0;
    for (struct jiter it = jiter(hard); jnext(&it);) {
        struct line l = {.name = it.key};
        str text = jtype(it.value) == J_STRING ? jstr(it.value) : jtext(it.value);
        if (quantity_parse(text, &l.hard, NULL) == 0)
            q->lines[q->n_lines++] = l;
    }
}

/* Whether objects of the kind can count at all. */
static bool may_count(const struct quota *q, const struct kind *k)
{
    char name[512];
    (void)snprintf(name, sizeof(name), "count/%s%s%s", k->plural, *k->group ? "." : "", k->group);
    if (k == &kind_pod || k == &kind_service || line_of(q, str_of(name)))
        return true;
    return !*k->group && line_of(q, str_of(k->plural));
}

static void count_all(struct quota *q)
{
    struct store *s = q->owner->server->store;
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (!kind_is(k, KIND_NAMESPACED) || kind_is(k, KIND_RETIRED) || !may_count(q, k))
            continue;
        struct store_iter it = store_range(s, k, q->obj->ns, STR_NONE, STR_NONE);
        for (const struct obj *o; (o = store_next(&it));)
            if (o->kind == k)
                count(q, o, 1, false);
    }
    q->counted = store_revision(s);
    list_foreach (it, &q->owner->promises) {
        struct promise *p = container_of(it, struct promise, link);
        if (p->rv <= q->counted || !str_eq(p->obj->ns, q->obj->ns))
            continue;
        count(q, p->obj, 1, true);
        count(q, p->old, -1, true);
    }
}

static void quota_set(struct quota *q, struct obj *o)
{
    bool same = q->obj && jequal(obj_spec(q->obj), obj_spec(o));
    obj_unref(q->obj);
    q->obj = obj_ref(o);
    if (same) {
        /* Names are slices of the document. */
        for (size_t i = 0; i < q->n_lines; i++)
            for (struct jiter it = jiter(jgetc(obj_spec(o), "hard")); jnext(&it);)
                if (str_eq(it.key, q->lines[i].name))
                    q->lines[i].name = it.key;
        return;
    }
    read_lines(q);
    count_all(q);
    q->is_dirty = true;
    write_later(q);
}

static struct space *space_make(struct quotas *t, str ns)
{
    struct space *s = space_of(t, ns);
    if (s)
        return s;
    s = xnew(struct space);
    s->name = str_dup(ns);
    list_init(&s->quotas);
    (void)map_put(&t->spaces, str_of(s->name), s);
    return s;
}

static void quota_put(struct quotas *t, struct obj *o)
{
    struct space *s = space_make(t, o->ns);
    struct quota *q = find(s, o->name);
    if (!q) {
        q = xnew(struct quota);
        q->owner = t;
        arena_init(&q->arena);
        loop_timer_init(t->server->loop, &q->timer, on_time);
        struct list *at = s->quotas.next;
        while (at != &s->quotas &&
               str_cmp(container_of(at, struct quota, link)->obj->name, o->name) < 0)
            at = at->next;
        list_insert_before(at, &q->link);
    }
    quota_set(q, o);
}

static void quota_drop(struct quotas *t, const struct obj *o)
{
    struct space *s = space_of(t, o->ns);
    struct quota *q = find(s, o->name);
    if (!q)
        return;
    list_remove(&q->link);
    q->is_gone = true;
    loop_timer_cancel(&q->timer);
    if (q->is_writing)
        list_push_back(&t->leaving, &q->link);
    else
        quota_free(q);
    if (!list_is_empty(&s->quotas))
        return;
    (void)map_del(&t->spaces, str_of(s->name));
    free(s->name);
    free(s);
}

/* ---- promises ---- */

static void promise_end(struct quotas *t, struct promise *p)
{
    struct space *s = space_of(t, p->obj->ns);
    if (s) {
        list_foreach (it, &s->quotas) {
            struct quota *q = container_of(it, struct quota, link);
            if (p->rv <= q->counted)
                continue;
            count(q, p->obj, -1, true);
            count(q, p->old, 1, true);
        }
    }
    list_remove(&p->link);
    obj_unref(p->obj);
    obj_unref(p->old);
    free(p);
}

static void promise(struct quotas *t, const struct obj *o, const struct obj *old, uint64_t rv)
{
    struct promise *p = xnew(struct promise);
    p->rv = rv;
    p->obj = obj_ref(o);
    p->old = old ? obj_ref(old) : NULL;
    list_push_back(&t->promises, &p->link);
    list_foreach (it, &space_of(t, o->ns)->quotas) {
        struct quota *q = container_of(it, struct quota, link);
        count(q, o, 1, true);
        count(q, old, -1, true);
    }
}

static void release(struct quotas *t, uint64_t rv)
{
    while (!list_is_empty(&t->promises)) {
        struct promise *p = container_of(t->promises.next, struct promise, link);
        if (p->rv > rv)
            return;
        promise_end(t, p);
    }
}

/* ---- events ---- */

static void fold(struct quota *q, const struct store_event *e)
{
    if (e->revision <= q->counted)
        return;
    if (e->type != STORE_ADDED)
        count(q, e->prev, -1, false);
    if (e->type != STORE_DELETED)
        count(q, e->obj, 1, false);
    write_later(q);
}

void quotas_event(struct quotas *t, const struct store_event *e)
{
    struct space *s = space_of(t, e->obj->ns);
    release(t, e->revision);
    if (s) {
        list_foreach (it, &s->quotas)
            fold(container_of(it, struct quota, link), e);
    }
    if (e->obj->kind != &kind_resource_quota)
        return;
    if (e->type == STORE_DELETED)
        quota_drop(t, e->obj);
    else
        quota_put(t, e->obj);
}

struct quotas *quotas_new(struct apiserver *a)
{
    struct quotas *t = xnew(struct quotas);
    t->server = a;
    t->spaces = MAP_INIT;
    list_init(&t->promises);
    list_init(&t->leaving);
    quota_kinds_init();
    store_adopt_kind(a->store, &kind_resource_quota);
    store_adopt_kind(a->store, &kind_limit_range);
    struct store_iter it =
        store_range(a->store, &kind_resource_quota, STR_NONE, STR_NONE, STR_NONE);
    for (struct obj *o; (o = store_next(&it));)
        quota_put(t, o);
    return t;
}

/* Requests are answered, and so forgotten, before. */
void quotas_free(struct quotas *t)
{
    str key;
    void *value;
    if (!t)
        return;
    for (size_t it = 0; map_next(&t->spaces, &it, &key, &value);) {
        struct space *s = value;
        while (!list_is_empty(&s->quotas))
            quota_free(container_of(s->quotas.next, struct quota, link));
        free(s->name);
        free(s);
    }
    map_done(&t->spaces);
    while (!list_is_empty(&t->leaving))
        quota_free(container_of(t->leaving.next, struct quota, link));
    while (!list_is_empty(&t->promises)) {
        struct promise *p = container_of(t->promises.next, struct promise, link);
        list_remove(&p->link);
        obj_unref(p->obj);
        obj_unref(p->old);
        free(p);
    }
    free(t);
}

bool quotas_exist(const struct quotas *t)
{
    return UNLIKELY(t->spaces.len);
}

/* ---- judging ---- */

/* What one write asks of one quota. */
struct asking {
    struct req *q;
    struct quota *quota;
    struct amounts delta;
    struct strbuf requested, used, limited;
};

static void add_to(struct strbuf *b, str name, const struct quantity *q)
{
    if (b->len)
        strbuf_add_char(b, ',');
    strbuf_add_str(b, name);
    strbuf_add_char(b, '=');
    quantity_write(q, b);
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct amount *)a)->name, ((const struct amount *)b)->name);
}

/* What of it does not fit, in words; in the order of names. */
static void find_excess(struct asking *k)
{
    vec_sort(&k->delta.items, by_name);
    for (size_t i = 0; i < k->delta.items.len; i++) {
        const struct amount *d = &k->delta.items.p[i];
        const struct line *l = line_of(k->quota, d->name);
        if (!l || quantity_sign(&d->value) <= 0)
            continue;
        struct quantity now = l->used, after;
        bool fits = quantity_add(&now, &l->promised);
        after = now;
        fits = fits && quantity_add(&after, &d->value) && quantity_cmp(&after, &l->hard) <= 0;
        if (fits)
            continue;
        add_to(&k->requested, d->name, &d->value);
        add_to(&k->used, d->name, &now);
        add_to(&k->limited, d->name, &l->hard);
    }
}

static void set_delta(struct asking *k, const struct obj *o)
{
    struct req *q = k->q;
    struct amounts had;
    jval spec = obj_spec(k->quota->obj);
    amounts_init(&had, &q->arena);
    if (q->base && quota_matches(spec, q->kind, obj_root(q->base)))
        usage_of(&had, q->kind, obj_root(q->base));
    usage_of(&k->delta, q->kind, obj_root(o));
    for (size_t i = 0; i < had.items.len; i++) {
        struct quantity zero = {.format = had.items.p[i].value.format};
        if (quantity_sub(&zero, &had.items.p[i].value))
            amounts_add(&k->delta, had.items.p[i].name, &zero);
    }
    amounts_done(&had);
}

static const struct status *judge(struct req *q, struct quota *quota, const struct obj *o)
{
    struct arena *a = &q->arena;
    jval spec = obj_spec(quota->obj);
    const struct status *refused = NULL;
    struct asking k = {.q = q,
                       .quota = quota,
                       .requested = STRBUF_INIT(1 << 16),
                       .used = STRBUF_INIT(1 << 16),
                       .limited = STRBUF_INIT(1 << 16)};
    if (!quota_matches(spec, q->kind, obj_root(o)))
        return NULL;
    str missing = q->kind == &kind_pod && !q->base
                      ? quota_missing(a, jgetc(spec, "hard"), obj_spec(o))
                      : STR_NONE;
    if (missing.len)
        return status_forbidden(a, q->kind, q->name,
                                arena_printf(a, "failed quota: %.*s: must specify %.*s",
                                             STR_ARG(quota->obj->name), STR_ARG(missing)));
    amounts_init(&k.delta, a);
    set_delta(&k, o);
    find_excess(&k);
    if (k.requested.len)
        refused = status_forbidden(
            a, q->kind, q->name,
            arena_printf(a, "exceeded quota: %.*s, requested: %.*s, used: %.*s, limited: %.*s",
                         STR_ARG(quota->obj->name), STR_ARG(strbuf_str(&k.requested)),
                         STR_ARG(strbuf_str(&k.used)), STR_ARG(strbuf_str(&k.limited))));
    amounts_done(&k.delta);
    strbuf_done(&k.requested);
    strbuf_done(&k.used);
    strbuf_done(&k.limited);
    return refused;
}

const struct status *quotas_take(struct req *q, const struct obj *o, uint64_t rv)
{
    struct quotas *t = q->server->quotas;
    struct space *s = space_of(t, o->ns);
    /* A status says nothing about what is asked for; whether a pod has ended is folded. */
    bool counts = s && q->ops->admits && !str_is(q->r->subresource, "status");
    if (!counts)
        return NULL;
    list_foreach (it, &s->quotas) {
        const struct status *refused = judge(q, container_of(it, struct quota, link), o);
        if (refused)
            return refused;
    }
    if (!q->dry_run)
        promise(t, o, q->base, rv);
    return NULL;
}

/* ---- the object itself ---- */

static bool is_known_scope(str scope)
{
    static const char *const known[] = {"Terminating",   "NotTerminating",
                                        "BestEffort",    "NotBestEffort",
                                        "PriorityClass", "CrossNamespacePodAffinity"};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(scope, known[i]))
            return true;
    return false;
}

void quota_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec");
    struct quantity q;
    for (struct jiter it = jiter(jgetc(spec, "hard")); jnext(&it);) {
        str text = jtype(it.value) == J_STRING ? jstr(it.value) : jtext(it.value);
        if (quantity_parse(text, &q, NULL) == 0 && quantity_sign(&q) < 0)
            field_error_add(a->errors, FIELD_ERR_INVALID,
                            arena_printf(a->arena, "spec.hard[%.*s]", STR_ARG(it.key)),
                            jtext(it.value), "must be greater than or equal to 0");
    }
    bool known = true;
    for (struct jiter it = jiter(jgetc(spec, "scopes")); known && jnext(&it);)
        known = is_known_scope(jstr(it.value));
    if (!known)
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.scopes"),
                        jtext(jgetc(spec, "scopes")), "unsupported scope");
    if (a->old && (!jequal(jgetc(obj_spec(a->old), "scopes"), jgetc(spec, "scopes"))))
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.scopes"),
                        jtext(jgetc(spec, "scopes")), "field is immutable");
}
