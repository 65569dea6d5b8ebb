/*
 * A request becomes a `call` with its fate drawn at the beginning: a request of our own to the
 * wrapped api, and a copy of the answer kept until its delay is over. A watch becomes a `stream`:
 * the wrapped watch feeds a queue whose items have due times that never decrease, and one timer
 * empties it.
 *
 * Both outlive nothing they should not: a call ends with exactly one done(), a stream with on_end
 * or watch_stop. A call whose owner was already answered (LATE) lives on until the wrapped api
 * answers.
 */
#include "client/api_faulty.h"

enum fate {
    FATE_NORMAL,
    FATE_DROP,
    FATE_ERROR,
    FATE_GATEWAY_UNDONE,
    FATE_GATEWAY_DONE,
    FATE_LOST_REPLY,
    FATE_LATE,
    FATE_CONFLICT,
    FATE_THROTTLE,
};

struct faulty {
    struct api api;
    struct loop *loop;
    struct api *inner;
    struct api_faulty_options o;
    struct api_faulty_stats stats;
    struct list calls;
    struct list streams;
    struct list orphans; /* late calls whose owner has been answered */
};

struct call {
    struct list link;
    struct faulty *faulty;     /* NULL: it is gone, the wrapped api still works for us */
    struct api_request *outer; /* NULL: answered */
    struct api_request inner;
    bool sent; /* the wrapped api has it */
    enum fate fate;
    struct loop_timer timer;
    struct arena arena;
    struct api_reply reply;
};

static uint64_t draw(struct faulty *f, uint64_t below)
{
    return below ? loop_random_u64(f->loop) % below : 0;
}

static struct faulty *faulty_of(struct api *api)
{
    return container_of(api, struct faulty, api);
}

/* ---- answers ---- */

static struct status *copy_status(struct arena *a, const struct status *s)
{
    struct status *c = arena_new(a, struct status);
    *c = *s; /* reasons are constants */
    c->reason = s->reason ? arena_str(a, str_of(s->reason)).p : NULL;
    c->message = arena_str(a, s->message);
    c->name = arena_str(a, s->name);
    c->group = arena_str(a, s->group);
    c->kind = arena_str(a, s->kind);
    c->uid = arena_str(a, s->uid);
    c->continue_token = arena_str(a, s->continue_token);
    c->causes = NULL;
    c->n_causes = 0;
    return c;
}

/* Everything a reply borrows, kept in the arena. */
static struct api_reply copy_reply(struct arena *a, const struct api_reply *r)
{
    struct api_reply c = *r;
    if (r->obj)
        c.obj = obj_hold(a, obj_ref(r->obj));
    if (r->doc)
        c.doc = doc_hold(a, doc_ref(r->doc));
    if (r->status)
        c.status = copy_status(a, r->status);
    c.continue_token = arena_str(a, r->continue_token);
    c.items = arena_array(a, struct obj *, r->n_items + 1);
    for (size_t i = 0; i < r->n_items; i++)
        c.items[i] = obj_hold(a, obj_ref(r->items[i]));
    str *warnings = arena_array(a, str, r->n_warnings + 1);
    for (size_t i = 0; i < r->n_warnings; i++)
        warnings[i] = arena_str(a, r->warnings[i]);
    c.warnings = warnings;
    return c;
}

static struct api_reply status_reply(const struct status *s)
{
    return (struct api_reply){.code = s->code, .status = s, .remaining = -1};
}

static struct api_reply unknown_reply(struct arena *a)
{
    struct api_reply r = status_reply(status_new(a, 504, "Timeout", "the answer was lost"));
    r.code = 0;
    r.unknown_outcome = true;
    return r;
}

static void call_free(struct call *c)
{
    list_remove(&c->link);
    loop_timer_cancel(&c->timer);
    arena_done(&c->arena);
    free(c);
}

static void answer(struct call *c, const struct api_reply *reply)
{
    struct api_request *outer = TAKE_PTR(c->outer);
    outer->done(outer, reply);
}

/* ---- requests ---- */

static usec delay(struct faulty *f)
{
    return (usec)draw(f, (uint64_t)f->o.max_delay + 1);
}

static usec notice_delay(struct faulty *f)
{
    return f->o.timeout ? f->o.timeout : USEC_PER_SEC;
}

static bool is_write(enum api_verb v)
{
    return v != API_GET && v != API_LIST;
}

static enum fate draw_fate(struct faulty *f, enum api_verb verb)
{
    const struct api_faulty_options *o = &f->o;
    uint64_t n = draw(f, 100);
    bool done = draw(f, 2);
    const struct {
        unsigned percent;
        bool writes_only;
        enum fate fate;
    } table[] = {
        {o->drop, false, FATE_DROP},
        {o->error, false, FATE_ERROR},
        {o->gateway, false, done ? FATE_GATEWAY_DONE : FATE_GATEWAY_UNDONE},
        {o->lost_reply, true, FATE_LOST_REPLY},
        {o->late, true, FATE_LATE},
        {o->conflict, true, FATE_CONFLICT},
        {o->throttle, true, FATE_THROTTLE},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (n < table[i].percent)
            return table[i].writes_only && !is_write(verb) ? FATE_NORMAL : table[i].fate;
        n -= table[i].percent;
    }
    return FATE_NORMAL;
}

static void on_answer_due(struct loop_timer *t)
{
    struct call *c = container_of(t, struct call, timer);
    answer(c, &c->reply);
    call_free(c);
}

static void answer_later(struct call *c, struct api_reply reply, usec after)
{
    c->reply = reply;
    loop_timer_init(c->faulty->loop, &c->timer, on_answer_due);
    loop_timer_set(&c->timer, loop_now(c->faulty->loop) + after);
}

static void on_inner_done(struct api_request *r, const struct api_reply *reply)
{
    struct call *c = container_of(r, struct call, inner);
    struct faulty *f = c->faulty;
    c->sent = false;
    if (!c->outer) {
        call_free(c);
        return;
    }
    switch (c->fate) {
    case FATE_LOST_REPLY:
        answer_later(c, unknown_reply(&c->arena), notice_delay(f));
        return;
    case FATE_GATEWAY_DONE:
        answer_later(c, status_reply(status_new(&c->arena, 504, "Timeout", "gateway timeout")),
                     delay(f));
        return;
    default:
        answer_later(c, copy_reply(&c->arena, reply), delay(f));
        return;
    }
}

static void forward(struct call *c)
{
    c->sent = true;
    api_send(c->faulty->inner, &c->inner);
}

static void on_late_due(struct loop_timer *t)
{
    forward(container_of(t, struct call, timer));
}

/* The request will outlive its owner's slices. */
static void own_request(struct call *c)
{
    struct api_request *r = &c->inner;
    struct arena *a = &c->arena;
    str *slices[] = {&r->ns,  &r->name,           &r->subresource,    &r->field_manager,
                     &r->uid, &r->label_selector, &r->field_selector, &r->continue_token};
    for (size_t i = 0; i < ARRAY_LEN(slices); i++)
        *slices[i] = arena_str(a, *slices[i]);
    if (r->body)
        r->body = doc_hold(a, doc_ref(r->body));
}

/* Answers now, does it later. */
static void go_late(struct call *c)
{
    struct faulty *f = c->faulty;
    own_request(c);
    struct api_reply reply = unknown_reply(&c->arena);
    list_remove(&c->link);
    list_push_back(&f->orphans, &c->link);
    loop_timer_init(f->loop, &c->timer, on_late_due);
    loop_timer_set(&c->timer, loop_now(f->loop) + (usec)draw(f, (uint64_t)notice_delay(f) + 1));
    answer(c, &reply);
}

static void on_arrival(struct loop_timer *t)
{
    struct call *c = container_of(t, struct call, timer);
    struct arena *a = &c->arena;
    struct status *s;
    switch (c->fate) {
    case FATE_NORMAL:
    case FATE_LOST_REPLY:
    case FATE_GATEWAY_DONE:
        forward(c);
        return;
    case FATE_LATE:
        go_late(c);
        return;
    case FATE_DROP:
        answer_later(c, unknown_reply(a), notice_delay(c->faulty));
        return;
    case FATE_ERROR:
        s = status_internal(a, "injected fault");
        break;
    case FATE_GATEWAY_UNDONE:
        s = status_new(a, 504, "Timeout", "gateway timeout");
        break;
    case FATE_CONFLICT:
        s = status_conflict(a, c->inner.kind, c->inner.name, NULL);
        break;
    case FATE_THROTTLE:
    default:
        s = status_new(a, 429, "TooManyRequests", "too many requests, please try again later");
        s->retry_after = 1;
        break;
    }
    answer_later(c, status_reply(s), delay(c->faulty));
}

static void faulty_send(struct api *api, struct api_request *r)
{
    struct faulty *f = faulty_of(api);
    struct call *c = xnew(struct call);
    c->faulty = f;
    c->outer = r;
    c->inner = *r;
    c->inner.done = on_inner_done;
    c->fate = draw_fate(f, r->verb);
    list_push_back(&f->calls, &c->link);
    f->stats.requests++;
    f->stats.request_faults += c->fate != FATE_NORMAL;
    loop_timer_init(f->loop, &c->timer, on_arrival);
    loop_timer_set(&c->timer, loop_now(f->loop) + delay(f));
}

/* ---- watches ---- */

struct item {
    struct list link;
    usec due;
    enum api_event_type type;
    struct obj *obj;
    uint64_t rv;
    bool initial_end;
    bool end; /* the stream's last */
};

struct stream {
    struct list link;
    struct faulty *faulty;
    struct api_watch *outer;
    struct api_watch inner;
    bool open; /* the wrapped watch runs */
    bool silent;
    usec last_due;
    struct list items;
    struct loop_timer timer;
    struct arena arena;
    struct status *why; /* of the end */
};

static void item_free(struct item *it)
{
    list_remove(&it->link);
    obj_unref(it->obj);
    free(it);
}

static void stream_close(struct stream *s)
{
    if (s->open)
        api_watch_stop(s->faulty->inner, &s->inner);
    s->open = false;
}

static void stream_free(struct stream *s)
{
    stream_close(s);
    while (!list_is_empty(&s->items))
        item_free(list_entry(s->items.next, struct item, link));
    list_remove(&s->link);
    loop_timer_cancel(&s->timer);
    arena_done(&s->arena);
    free(s);
}

static void set_timer(struct stream *s)
{
    if (!list_is_empty(&s->items))
        loop_timer_set(&s->timer, list_entry(s->items.next, struct item, link)->due);
}

static void push(struct stream *s, struct item item)
{
    struct faulty *f = s->faulty;
    struct item *it = xnew(struct item);
    *it = item;
    it->due = MAX(s->last_due, loop_now(f->loop) + (usec)draw(f, (uint64_t)f->o.max_lag + 1));
    s->last_due = it->due;
    list_push_back(&s->items, &it->link);
    set_timer(s);
}

static void push_end(struct stream *s, const struct status *why)
{
    s->why = why ? copy_status(&s->arena, why) : NULL;
    push(s, (struct item){.end = true});
}

/* One item per call: the callback may stop the stream. */
static void on_item_due(struct loop_timer *t)
{
    struct stream *s = container_of(t, struct stream, timer);
    struct item *it = list_entry(s->items.next, struct item, link);
    struct api_watch *w = s->outer;
    list_remove(&it->link);
    set_timer(s);
    if (it->end) {
        struct arena a = s->arena; /* the reason outlives the stream by one call */
        const struct status *why = s->why;
        arena_init(&s->arena);
        stream_free(s);
        w->impl = NULL;
        w->on_end(w, why);
        arena_done(&a);
    } else {
        w->on_event(w, it->type, it->obj, it->rv, it->initial_end);
    }
    item_free(it);
}

static void stream_break(struct stream *s, bool expired)
{
    struct faulty *f = s->faulty;
    f->stats.watch_faults++;
    stream_close(s);
    /* What was under way is lost with the connection, or arrives before the end: both happen. */
    if (draw(f, 2)) {
        while (!list_is_empty(&s->items))
            item_free(list_entry(s->items.next, struct item, link));
    }
    struct status *why = NULL;
    if (expired)
        why = status_expired(&s->arena, "too old resource version");
    else if (draw(f, 2))
        why = status_new(&s->arena, 500, "InternalError", "connection reset");
    push_end(s, why);
}

/* True when the stream broke or fell silent before this event. */
static bool draw_watch_fault(struct stream *s)
{
    struct faulty *f = s->faulty;
    uint64_t n = draw(f, 1000);
    if (n < f->o.watch_end + f->o.watch_expired) {
        stream_break(s, n >= f->o.watch_end);
        return true;
    }
    if (n < f->o.watch_end + f->o.watch_expired + f->o.watch_silent) {
        f->stats.watch_faults++;
        s->silent = true;
    }
    return s->silent;
}

static void on_inner_event(struct api_watch *w, enum api_event_type type, struct obj *o,
                           uint64_t rv, bool initial_end)
{
    struct stream *s = w->ctx;
    if (s->silent || draw_watch_fault(s))
        return;
    push(s, (struct item){
                .type = type, .obj = o ? obj_ref(o) : NULL, .rv = rv, .initial_end = initial_end});
}

static void on_inner_end(struct api_watch *w, const struct status *why)
{
    struct stream *s = w->ctx;
    s->open = false;
    if (!s->silent)
        push_end(s, why);
}

static void faulty_watch(struct api *api, struct api_watch *w)
{
    struct faulty *f = faulty_of(api);
    struct stream *s = xnew(struct stream);
    s->faulty = f;
    s->outer = w;
    w->impl = s;
    list_init(&s->items);
    list_push_back(&f->streams, &s->link);
    loop_timer_init(f->loop, &s->timer, on_item_due);
    if (w->send_initial && f->o.refuse_watch_list) {
        f->stats.watch_faults++;
        push_end(s, status_new(&s->arena, 422, "Invalid", "sendInitialEvents: Forbidden"));
        return;
    }
    s->inner = *w;
    s->inner.on_event = on_inner_event;
    s->inner.on_end = on_inner_end;
    s->inner.ctx = s;
    s->open = true;
    api_watch(f->inner, &s->inner);
}

static void faulty_watch_stop(struct api *api, struct api_watch *w)
{
    if (w->impl)
        stream_free(w->impl);
    w->impl = NULL;
}

void api_faulty_break_watches(struct api *api, bool expired)
{
    struct faulty *f = faulty_of(api);
    list_foreach (it, &f->streams) {
        struct stream *s = list_entry(it, struct stream, link);
        if (s->open)
            stream_break(s, expired);
    }
}

/* ---- life cycle ---- */

/* A call the wrapped api still works on goes on without us. */
static void release_call(struct call *c)
{
    loop_timer_cancel(&c->timer);
    list_remove(&c->link);
    if (c->outer) {
        own_request(c);
        struct api_reply reply = unknown_reply(&c->arena);
        answer(c, &reply);
    }
    if (!c->sent)
        call_free(c);
}

static void faulty_free(struct api *api)
{
    struct faulty *f = faulty_of(api);
    while (!list_is_empty(&f->streams))
        stream_free(list_entry(f->streams.next, struct stream, link));
    while (!list_is_empty(&f->calls))
        release_call(list_entry(f->calls.next, struct call, link));
    while (!list_is_empty(&f->orphans))
        release_call(list_entry(f->orphans.next, struct call, link));
    free(f);
}

static const struct api_ops faulty_ops = {
    .send = faulty_send,
    .watch = faulty_watch,
    .watch_stop = faulty_watch_stop,
    .free = faulty_free,
};

struct api *api_faulty_new(struct loop *l, struct api *inner, const struct api_faulty_options *o)
{
    struct faulty *f = xnew(struct faulty);
    f->api.ops = &faulty_ops;
    f->loop = l;
    f->inner = inner;
    list_init(&f->calls);
    list_init(&f->streams);
    list_init(&f->orphans);
    api_faulty_set(&f->api, o);
    return &f->api;
}

void api_faulty_set(struct api *api, const struct api_faulty_options *o)
{
    faulty_of(api)->o = o ? *o : (struct api_faulty_options){0};
}

struct api_faulty_stats api_faulty_stats(const struct api *api)
{
    return container_of(api, struct faulty, api)->stats;
}
