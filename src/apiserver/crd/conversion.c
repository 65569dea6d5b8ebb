/*
 * Who waits for which conversion, and what is known already. See conversion.h.
 *
 *   start ──► all is known: nothing to wait for
 *     │
 *     ▼
 *   in line ──► calling ──► done
 *     ▲  │         │          ▲
 *     │  ▼         │          │
 *   idle: waits for what others asked; then done, or (they failed) in line again
 *
 * Invariants
 *  1. A conversion is in one line, has one call open, or is idle and has items that wait for
 * others.
 *  2. A slot is owned by the conversion that asks about it, or holds a document. Items of others
 *     wait in it only while it is owned.
 *  3. done is called from a task of its own; until conversion_end nothing that an item points to
 *     goes.
 */
#include "apiserver/crd/conversion.h"

#include "apiserver/request.h"
#include "base/log.h"
#include "base/map.h"
#include "base/uuid.h"
#include "kube/schema.h"

#define TIMEOUT_SECONDS 30
#define TIMEOUT (TIMEOUT_SECONDS * USEC_PER_SEC)
/* In one review. One object is sent however large it is. */
#define REVIEW_OBJECTS 100
#define REVIEW_BYTES ((size_t)2 << 20)
/* Open calls of one definition. */
#define CALLS_MAX 16
/* What is remembered of all definitions together. */
#define KNOWN_MAX ((size_t)32 << 20)
#define KEY_MAX 256

struct slot {
    struct conversion *owner; /* NULL: doc is known */
    struct list waiters;      /* items of other conversions */
    struct doc *doc;
    uint64_t kinds; /* version of the definitions that it is asked by */
    size_t size;
    struct list link; /* all->known */
    size_t key_len;
    char key[];
};

/* Those who need the webhook of one definition. */
struct line {
    struct list link;
    const char *group, *plural; /* of its kinds, which keep them for ever */
    struct conversions *all;
    struct list waiting;
    unsigned open; /* calls */
    struct loop_task task;
};

struct conversions {
    struct apiserver *server;
    struct hook_pool *pool;
    struct map slots;
    struct list known; /* most recently used first */
    size_t bytes;
    uint64_t kinds; /* that the known ones were converted by */
    struct list lines;
    unsigned turn; /* of endpoints */
};

/* ---- what is known ---- */

static str slot_key(char *buf, size_t size, str uid, uint64_t rv, const struct kind *to)
{
    int n = rv && uid.len
                ? snprintf(buf, size, "%.*s/%llu/%zu/%llu", STR_ARG(uid), (unsigned long long)rv,
                           kind_id(to), (unsigned long long)kinds_version())
                : 0;
    return n > 0 && (size_t)n < size ? str_n(buf, (size_t)n) : STR_NONE;
}

static void slot_free(struct conversions *all, struct slot *s)
{
    BUG_ON(!list_is_empty(&s->waiters));
    map_del(&all->slots, str_n(s->key, s->key_len));
    all->bytes -= s->size;
    list_remove(&s->link);
    doc_unref(s->doc);
    free(s);
}

static void forget(struct conversions *all, size_t above)
{
    while (all->bytes > above)
        slot_free(all, container_of(all->known.prev, struct slot, link));
}

/* A definition that changed may convert otherwise. */
static void check_kinds(struct conversions *all)
{
    if (all->kinds != kinds_version())
        forget(all, 0);
    all->kinds = kinds_version();
}

static struct slot *slot_find(struct conversions *all, str uid, uint64_t rv, const struct kind *to)
{
    char buf[KEY_MAX];
    str key = slot_key(buf, sizeof(buf), uid, rv, to);
    return key.len ? map_get(&all->slots, key) : NULL;
}

static struct slot *slot_new(struct conversions *all, struct conversion *owner, str uid,
                             uint64_t rv)
{
    char buf[KEY_MAX];
    str key = slot_key(buf, sizeof(buf), uid, rv, owner->to);
    if (!key.len)
        return NULL;
    struct slot *s = xcalloc(1, sizeof(*s) + key.len);
    s->owner = owner;
    s->kinds = kinds_version();
    list_init(&s->waiters);
    list_init(&s->link);
    s->key_len = key.len;
    memcpy(s->key, key.p, key.len);
    map_put(&all->slots, str_n(s->key, s->key_len), s);
    return s;
}

static struct doc *known_doc(struct conversions *all, struct slot *s)
{
    if (!s || s->owner)
        return NULL;
    list_remove(&s->link);
    list_push_front(&all->known, &s->link);
    return doc_ref(s->doc);
}

struct doc *conversion_known(struct conversions *all, const struct obj *o, const struct kind *to)
{
    check_kinds(all);
    return known_doc(all, slot_find(all, o->uid, o->rv, to));
}

/* ---- ends ---- */

static bool is_todo(const struct conversion_item *i)
{
    return !i->out && !i->sent && !list_is_linked(&i->wait);
}

static void done_task(struct loop_task *t)
{
    struct conversion *c = container_of(t, struct conversion, task);
    c->done(c);
}

static void line_join(struct conversion *c);

/* What is next for a conversion that neither calls nor stands in line. */
static void go_on(struct conversion *c)
{
    bool todo = false, waits = false;
    if (c->is_calling || list_is_linked(&c->link) || list_is_linked(&c->task.link))
        return;
    for (size_t i = 0; i < c->n && !c->failed; i++) {
        todo |= is_todo(&c->items[i]);
        waits |= list_is_linked(&c->items[i].wait);
    }
    if (todo) {
        line_join(c);
    } else if (waits) {
        loop_timer_set(&c->timer, loop_now(c->all->server->loop) + TIMEOUT);
    } else {
        loop_timer_cancel(&c->timer);
        loop_defer(c->all->server->loop, LOOP_APPLY, &c->task);
    }
}

static void leave_line(struct conversion *c)
{
    list_remove(&c->link);
    loop_timer_cancel(&c->timer);
}

/* Its items wait for nobody any more. */
static void stop_waiting(struct conversion *c)
{
    for (size_t i = 0; i < c->n; i++)
        list_remove(&c->items[i].wait);
}

/* why: what comes after the kind. */
static void fail(struct conversion *c, str why)
{
    const struct conversion_item *i = c->items;
    while (i->out && i + 1 < c->items + c->n)
        i++;
    jval root = doc_root(i->in);
    str api = jstr(jgetc(root, "apiVersion")), kind = jstr(jgetc(root, "kind"));
    if (!c->failed)
        c->failed = status_internal(c->arena, "conversion webhook for %.*s, Kind=%.*s %.*s",
                                    STR_ARG(api), STR_ARG(kind), STR_ARG(why));
    leave_line(c);
    stop_waiting(c);
    go_on(c);
}

/* Nobody will answer what the conversion asked. Those who wait for it fail with it (why) or ask
 * themselves (empty). */
static void give_up_slots(struct conversion *c, str why)
{
    for (size_t i = 0; i < c->n; i++) {
        struct slot *s = TAKE_PTR(c->items[i].slot);
        if (!s)
            continue;
        struct list waiters;
        list_init(&waiters);
        while (!list_is_empty(&s->waiters)) {
            struct list *w = s->waiters.next;
            list_remove(w);
            list_push_back(&waiters, w);
        }
        slot_free(c->all, s);
        while (!list_is_empty(&waiters)) {
            struct conversion_item *w = container_of(waiters.next, struct conversion_item, wait);
            list_remove(&w->wait);
            if (why.len)
                fail(w->of, why);
            else
                go_on(w->of);
        }
    }
}

static void set_out(struct conversion_item *i, struct doc *d)
{
    i->out = doc_ref(d);
    list_remove(&i->wait);
}

/* The answer about one item: told to all who wait for it, and remembered. */
static void settle(struct conversion *c, struct conversion_item *i, struct doc *d)
{
    struct conversions *all = c->all;
    struct slot *s = TAKE_PTR(i->slot);
    set_out(i, d);
    if (!s)
        return;
    while (!list_is_empty(&s->waiters)) {
        struct conversion_item *w = container_of(s->waiters.next, struct conversion_item, wait);
        set_out(w, d);
        go_on(w->of);
    }
    if (s->kinds != kinds_version()) {
        slot_free(all, s);
        return;
    }
    s->owner = NULL;
    s->doc = doc_ref(d);
    s->size = doc_memory(d) + sizeof(*s) + s->key_len;
    all->bytes += s->size;
    list_push_front(&all->known, &s->link);
    forget(all, KNOWN_MAX);
}

/* ---- calling ---- */

static void line_kick(struct conversions *all, struct line *l)
{
    loop_defer(all->server->loop, LOOP_APPLY, &l->task);
}

static void end_call(struct conversion *c)
{
    struct line *l = TAKE_PTR(c->line);
    c->is_calling = false;
    l->open--;
    line_kick(c->all, l);
}

static void call_failed(struct conversion *c, str why)
{
    log_warn("failed calling a conversion webhook", LOG_S("group", str_of(c->to->group)),
             LOG_S("resource", str_of(c->to->plural)), LOG_S("url", c->call.place.url),
             LOG_S("why", why));
    end_call(c);
    give_up_slots(c, c->question.n == 1 ? why : STR_NONE);
    fail(c, why);
}

static void on_answer(struct hook_call *call)
{
    static const str prefix = STR_INIT("failed to call webhook: ");
    struct conversion *c = container_of(call, struct conversion, call);
    struct arena *a = &c->call_arena;
    size_t n = c->question.n;
    struct doc **docs = arena_array(a, struct doc *, n);
    str why = STR_NONE;
    if (call->why.len)
        why = arena_printf(a, "failed: %.*s",
                           STR_ARG(str_starts(call->why, prefix)
                                       ? str_sub(call->why, prefix.len, call->why.len)
                                       : call->why));
    else
        (void)conversion_judge(a, &c->question, &call->answer, docs, &why);
    if (why.len) {
        call_failed(c, why);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        struct doc *d = schema_prune(c->to->type, docs[i]);
        settle(c, c->asked[i], d);
        doc_unref(d);
        doc_unref(docs[i]);
    }
    end_call(c);
    go_on(c);
}

static str new_uid(struct conversion *c)
{
    uint8_t random[UUID_SIZE];
    char text[UUID_TEXT_LEN + 1];
    loop_random(c->all->server->loop, random, sizeof(random));
    uuid_format_v4(random, text);
    return arena_str(&c->call_arena, str_of(text));
}

/* The definition's spec.conversion; absent: it is gone. Held by the call's arena. */
static jval conversion_config(struct conversion *c)
{
    struct arena *a = &c->call_arena;
    str name = arena_printf(a, "%s.%s", c->to->plural, c->to->group);
    struct obj *crd = store_get(c->all->server->store, &kind_crd, STR_NONE, name);
    if (!crd)
        return JVAL_ABSENT;
    (void)obj_hold(a, obj_ref(crd));
    return jgetc(obj_spec(crd), "conversion");
}

/* Empty: it is being called. */
static str begin_call(struct conversion *c)
{
    struct conversions *all = c->all;
    struct arena *a = &c->call_arena;
    jval config = conversion_config(c), hook = jgetc(config, "webhook");
    str why = STR_NONE;
    struct hook_place *p = &c->call.place;
    c->call = (struct hook_call){.timeout = TIMEOUT, .done = on_answer};
    c->question.version = conversion_review_version(config);
    c->question.uid = new_uid(c);
    if (!j_has(hook))
        return STR("failed: its definition has no webhook any more");
    if (!c->question.version.len)
        return STR("failed: it accepts no known version of ConversionReview (v1, v1beta1)");
    bool found = hook_locate(a, all->server->store, hook, all->turn++, p, &why);
    p->path = arena_printf(a, "%.*s?timeout=%ds", STR_ARG(p->path), TIMEOUT_SECONDS);
    p->url = p->url.len ? arena_printf(a, "%.*s?timeout=%ds", STR_ARG(p->url), TIMEOUT_SECONDS)
                        : STR_NONE;
    if (!found)
        return p->url.len
                   ? arena_printf(a, "failed: Post \"%.*s\": %.*s", STR_ARG(p->url), STR_ARG(why))
                   : arena_printf(a, "failed: %.*s", STR_ARG(why));
    c->call.body = conversion_review(a, &c->question);
    hook_call_start(all->pool, a, &c->call);
    return STR_NONE;
}

/* Takes what the next review is about out of what is left to do. */
static size_t gather(struct conversion *c)
{
    struct conversions *all = c->all;
    size_t n = 0, bytes = 0;
    check_kinds(all);
    arena_clear(&c->call_arena);
    c->asked = arena_array(&c->call_arena, struct conversion_item *, MIN(c->n, REVIEW_OBJECTS));
    struct doc **docs = arena_array(&c->call_arena, struct doc *, MIN(c->n, REVIEW_OBJECTS));
    for (size_t i = 0; i < c->n; i++) {
        struct conversion_item *item = &c->items[i];
        if (!is_todo(item))
            continue;
        struct slot *s = slot_find(all, item->uid, item->rv, c->to);
        if (s && s->owner) {
            list_push_back(&s->waiters, &item->wait);
            continue;
        }
        if ((item->out = known_doc(all, s)))
            continue;
        size_t size = doc_text(item->in).len;
        if (n && (n == REVIEW_OBJECTS || bytes + size > REVIEW_BYTES))
            break;
        bytes += size;
        item->slot = slot_new(all, c, item->uid, item->rv);
        item->sent = true;
        docs[n] = item->in;
        c->asked[n++] = item;
    }
    c->question = (struct conversion_question){.to = c->to, .docs = docs, .n = n};
    return n;
}

/* ---- lines ---- */

/* It is this conversion's turn. */
static void call_or_wait(struct conversion *c, struct line *l)
{
    leave_line(c);
    if (!gather(c)) {
        go_on(c);
        return;
    }
    c->line = l;
    c->is_calling = true;
    l->open++;
    str why = begin_call(c);
    if (why.len)
        call_failed(c, why);
}

static void line_task(struct loop_task *t)
{
    struct line *l = container_of(t, struct line, task);
    while (l->open < CALLS_MAX && !list_is_empty(&l->waiting))
        call_or_wait(container_of(l->waiting.next, struct conversion, link), l);
    if (l->open || !list_is_empty(&l->waiting))
        return;
    loop_task_cancel(&l->task);
    list_remove(&l->link);
    free(l);
}

static struct line *line_of(struct conversions *all, const struct kind *k)
{
    list_foreach (it, &all->lines) {
        struct line *l = container_of(it, struct line, link);
        if (strcmp(l->plural, k->plural) == 0 && strcmp(l->group, k->group) == 0)
            return l;
    }
    struct line *l = xnew(struct line);
    *l = (struct line){.all = all, .group = k->group, .plural = k->plural};
    list_init(&l->waiting);
    loop_task_init(&l->task, line_task);
    list_push_back(&all->lines, &l->link);
    return l;
}

static void line_join(struct conversion *c)
{
    struct line *l = line_of(c->all, c->to);
    list_push_back(&l->waiting, &c->link);
    loop_timer_set(&c->timer, loop_now(c->all->server->loop) + TIMEOUT);
    line_kick(c->all, l);
}

static void on_too_late(struct loop_timer *t)
{
    struct conversion *c = container_of(t, struct conversion, timer);
    fail(c, arena_printf(c->arena,
                         "failed: it was not its turn within %d seconds, because the "
                         "webhook has not answered others",
                         TIMEOUT_SECONDS));
}

/* ---- life cycle ---- */

static bool is_in_version(const struct doc *d, const struct kind *to)
{
    char buf[256];
    return str_eq(jstr(jgetc(doc_root(d), "apiVersion")), kind_api_version(to, buf, sizeof(buf)));
}

bool conversion_start(struct conversions *all, struct conversion *c)
{
    bool todo = false;
    check_kinds(all);
    c->all = all;
    c->failed = NULL;
    c->line = NULL;
    c->is_open = true;
    c->is_calling = false;
    arena_init(&c->call_arena);
    list_init(&c->link);
    loop_task_init(&c->task, done_task);
    loop_timer_init(all->server->loop, &c->timer, on_too_late);
    for (size_t i = 0; i < c->n; i++) {
        struct conversion_item *item = &c->items[i];
        item->of = c;
        item->slot = NULL;
        item->sent = false;
        list_init(&item->wait);
        item->out = is_in_version(item->in, c->to)
                        ? doc_ref(item->in)
                        : known_doc(all, slot_find(all, item->uid, item->rv, c->to));
        todo |= !item->out;
    }
    if (todo)
        line_join(c);
    return !todo;
}

void conversion_start_later(struct conversions *all, struct conversion *c)
{
    if (conversion_start(all, c))
        loop_defer(all->server->loop, LOOP_APPLY, &c->task);
}

void conversion_end(struct conversion *c)
{
    if (!c->is_open)
        return;
    c->is_open = false;
    if (c->is_calling) {
        hook_call_cancel(&c->call);
        end_call(c);
    }
    leave_line(c);
    loop_task_cancel(&c->task);
    stop_waiting(c);
    give_up_slots(c, STR_NONE);
    for (size_t i = 0; i < c->n; i++)
        doc_unref(TAKE_PTR(c->items[i].out));
    arena_done(&c->call_arena);
}

static void end_of_arena(void *ctx)
{
    conversion_end(ctx);
}

struct conversion *conversion_new(struct arena *a, const struct kind *to, size_t n)
{
    struct conversion *c = arena_new(a, struct conversion);
    *c = (struct conversion){
        .to = to, .items = arena_array(a, struct conversion_item, n), .arena = a};
    arena_hold(a, c, end_of_arena);
    return c;
}

void conversion_add(struct conversion *c, struct doc *in, const struct obj *stored)
{
    c->items[c->n++] = (struct conversion_item){
        .in = in, .uid = stored ? stored->uid : STR_NONE, .rv = stored ? stored->rv : 0};
}

struct conversions *conversions_new(struct apiserver *a)
{
    struct conversions *all = xnew(struct conversions);
    all->server = a;
    all->pool = hook_pool_new(a->loop);
    all->kinds = kinds_version();
    list_init(&all->known);
    list_init(&all->lines);
    return all;
}

void conversions_free(struct conversions *all)
{
    if (!all)
        return;
    while (!list_is_empty(&all->lines)) {
        struct line *l = container_of(all->lines.next, struct line, link);
        BUG_ON(l->open || !list_is_empty(&l->waiting));
        loop_task_cancel(&l->task);
        list_remove(&l->link);
        free(l);
    }
    forget(all, 0);
    map_done(&all->slots);
    hook_pool_free(all->pool);
    free(all);
}
