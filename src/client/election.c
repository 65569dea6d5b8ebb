/*
 * See election.h.
 *
 *   FOLLOWING ──► LEADING ──► OVER
 *
 * One attempt (a GET or a write) at a time, in both states:
 *
 *   timer ──► GET ──► somebody else's ──► timer
 *    ▲  │      │
 *    │  │      └─ free, ours, expired ──► WRITE ──► leading, timer
 *    │  └── leading and the last write is known ─────▲  │
 *    │                                                └─ conflict ──► GET
 *    └── anything else went wrong: look before the next write
 *
 * A write whose outcome is unknown is never counted; if it happened, the GET that follows finds our
 * own name there and the next write renews it.
 */
#include "client/election.h"

#include "base/arena.h"
#include "json/edit.h"
#include "json/write.h"

#define RELEASE_TIMEOUT (2 * USEC_PER_SEC)
enum { NOTE_MAX = 16 << 10 };
enum { CONFLICTS_MAX = 3, DURATION_MAX = 3600 /* seconds; the record may say anything */ };

enum lease_state { LEASE_FOLLOWING, LEASE_LEADING, LEASE_OVER };

/* A request under way; it outlives a lease that is freed. */
struct attempt {
    struct api_request req;
    struct arena arena;
    struct lease *lease; /* NULL: gone */
    usec sent, sent_boot;
};

struct lease {
    struct loop *loop;
    struct api *api;
    struct lease_options o;
    struct arena arena;
    enum lease_state state;
    usec deadline;
    usec deadline_boot; /* the same by the time that goes on while the machine sleeps */
    struct obj *seen;   /* the newest known; NULL: none, or not to be trusted */
    struct strbuf record;
    usec record_since; /* monotonic: since when it has been seen unchanged; 0: never seen */
    usec record_lasts; /* the time its holder has to change it; 0: nobody holds it */
    struct attempt *attempt;
    unsigned conflicts; /* in a row */
    struct loop_timer retry, expiry;

    void (*released)(void *ctx);
    void *released_ctx;
};

static void try(struct lease *l);

/* ---- records ---- */

static jval spec_of(const struct obj *o)
{
    return jgetc(obj_root(o), "spec");
}

static str holder_of(const struct obj *o)
{
    return jstr(jgetc(spec_of(o), "holderIdentity"));
}

static bool is_ours(const struct lease *l, const struct obj *o)
{
    return str_eq(holder_of(o), l->o.identity);
}

static void observe(struct lease *l, struct obj *o)
{
    str record = jtext(spec_of(o));
    obj_unref(l->seen);
    l->seen = obj_ref(o);
    if (l->record_since && str_eq(record, strbuf_str(&l->record)))
        return;
    int64_t seconds = jint(jgetc(spec_of(o), "leaseDurationSeconds"), 0);
    bool held = holder_of(o).len && !is_ours(l, o);
    strbuf_reset(&l->record);
    strbuf_add_str(&l->record, record);
    l->record_since = loop_now(l->loop);
    l->record_lasts = held ? MIN(MAX(seconds, 1), DURATION_MAX) * USEC_PER_SEC : 0;
}

/* Whoever holds it had time enough to show that it is alive. This does not ask whether the Lease is
 * still there: somebody may have deleted it under its holder. */
static bool is_free(const struct lease *l)
{
    return loop_now(l->loop) >= l->record_since + l->record_lasts;
}

static int64_t whole_seconds(usec d)
{
    return MAX((d + USEC_PER_SEC - 1) / USEC_PER_SEC, 1);
}

static void set_time(struct edit *e, const char *path, usec wall)
{
    struct strbuf b = STRBUF_INIT(64);
    time_format_micro(wall, &b);
    edit_set_str(e, str_of(path), strbuf_str(&b));
    strbuf_done(&b);
}

static str note_path(const struct lease *l, struct arena *a)
{
    struct strbuf path = STRBUF_INIT(512);
    strbuf_add_cstr(&path, "/metadata/annotations/");
    for (size_t i = 0; i < l->o.note.len; i++) {
        if (l->o.note.p[i] == '/')
            strbuf_add_cstr(&path, "~1");
        else
            strbuf_add_char(&path, l->o.note.p[i]);
    }
    str text = arena_str(a, strbuf_str(&path));
    strbuf_done(&path);
    return text;
}

static void put_note(const struct lease *l, struct edit *e, struct arena *a)
{
    struct strbuf text = STRBUF_INIT(NOTE_MAX);
    if (str_is_empty(l->o.note))
        return;
    l->o.write_note(l->o.ctx, &text);
    if (text.len)
        edit_set_str(e, note_path(l, a), arena_str(a, strbuf_str(&text)));
    strbuf_done(&text);
}

/* The Lease as it is to be; made from what is there, so that labels and the like stay. */
static struct doc *make_record(const struct lease *l, struct arena *a, bool release)
{
    struct edit e;
    usec wall = loop_wall(l->loop);
    bool renewal = l->seen && is_ours(l, l->seen);
    edit_init(&e, a);
    if (!l->seen) {
        edit_set_str(&e, STR("/apiVersion"), STR("coordination.k8s.io/v1"));
        edit_set_str(&e, STR("/kind"), STR("Lease"));
        edit_set_str(&e, STR("/metadata/name"), l->o.name);
        edit_set_str(&e, STR("/metadata/namespace"), l->o.ns);
    }
    edit_set_str(&e, STR("/spec/holderIdentity"), release ? STR("") : l->o.identity);
    edit_set_int(&e, STR("/spec/leaseDurationSeconds"), release ? 1 : whole_seconds(l->o.duration));
    if (!renewal) {
        int64_t before = l->seen ? jint(jgetc(spec_of(l->seen), "leaseTransitions"), 0) : -1;
        set_time(&e, "/spec/acquireTime", wall);
        edit_set_int(&e, STR("/spec/leaseTransitions"), before + 1);
    }
    set_time(&e, "/spec/renewTime", wall);
    put_note(l, &e, a);
    struct doc *d = edit_apply(&e, l->seen ? l->seen->doc : NULL, NULL);
    edit_done(&e);
    return d;
}

/* ---- attempts ---- */

static void on_get(struct api_request *req, const struct api_reply *reply);
static void on_write(struct api_request *req, const struct api_reply *reply);

static void attempt_free(struct attempt *t)
{
    arena_done(&t->arena);
    free(t);
}

/* Takes the attempt back from its request; NULL: the lease is gone. */
static struct lease *attempt_end(struct attempt *t)
{
    struct lease *l = t->lease;
    if (l)
        l->attempt = NULL;
    else
        attempt_free(t);
    return l;
}

static void start(struct lease *l, enum api_verb verb, struct doc *body,
                  void (*done)(struct api_request *r, const struct api_reply *reply))
{
    struct attempt *t = l->attempt = xnew(struct attempt);
    t->lease = l;
    t->sent = loop_now(l->loop);
    t->sent_boot = loop_boottime(l->loop);
    t->req = (struct api_request){
        .verb = verb,
        .kind = &kind_lease,
        .ns = arena_str(&t->arena, l->o.ns),
        .name = arena_str(&t->arena, l->o.name),
        .body = doc_hold(&t->arena, body),
        .field_manager = STR("leader-election"),
        /* Time for another try before the renewal is overdue. */
        .deadline = t->sent + l->o.renew_deadline / 2,
        .done = done,
    };
    api_send(l->api, &t->req);
}

static void look(struct lease *l)
{
    start(l, API_GET, NULL, on_get);
}

static void claim(struct lease *l)
{
    struct arena a = ARENA_INIT;
    if (l->state == LEASE_FOLLOWING && l->seen && !str_is_empty(l->o.note))
        l->o.read_note(l->o.ctx, obj_annotation(l->seen, l->o.note));
    struct doc *d = make_record(l, &a, false);
    arena_done(&a);
    if (d)
        start(l, l->seen ? API_UPDATE : API_CREATE, d, on_write);
    else /* what is there cannot be edited: it is no Lease */
        loop_timer_set(&l->retry, loop_now(l->loop) + l->o.retry);
}

/* ---- states ---- */

/* With a fifth more at most: those who wait for the same moment spread out. */
static void later(struct lease *l)
{
    usec jitter = (usec)(loop_random_u64(l->loop) % ((uint64_t)l->o.retry / 5 + 1));
    /* A renewal is not put off. */
    usec delay = l->state == LEASE_LEADING ? l->o.retry : l->o.retry + jitter;
    l->conflicts = 0;
    loop_timer_set(&l->retry, loop_now(l->loop) + delay);
}

static void stop(struct lease *l)
{
    l->state = LEASE_OVER;
    l->deadline = 0;
    loop_timer_cancel(&l->retry);
    loop_timer_cancel(&l->expiry);
}

static void lose(struct lease *l, const char *why)
{
    bool held = l->state == LEASE_LEADING;
    stop(l);
    if (held && !l->released)
        l->o.on_lost(l->o.ctx, why);
}

static void distrust(struct lease *l)
{
    obj_unref(l->seen);
    l->seen = NULL;
}

/* The write sent then stands. */
static void hold(struct lease *l, usec sent, usec sent_boot)
{
    bool is_new = l->state == LEASE_FOLLOWING;
    usec deadline = sent + l->o.renew_deadline, deadline_boot = sent_boot + l->o.renew_deadline;
    if (deadline <= loop_now(l->loop) || deadline_boot <= loop_boottime(l->loop)) {
        distrust(l); /* the answer took so long that it is worth nothing */
        try(l);
        return;
    }
    l->state = LEASE_LEADING;
    l->deadline = deadline;
    l->deadline_boot = deadline_boot;
    loop_timer_set(&l->expiry, deadline);
    later(l);
    if (is_new)
        l->o.on_lead(l->o.ctx);
}

/* Others had time to take it while we slept. */
static bool is_overslept(const struct lease *l)
{
    return loop_boottime(l->loop) >= l->deadline_boot;
}

static void try(struct lease *l)
{
    if (l->attempt || l->state == LEASE_OVER)
        return;
    if (l->state == LEASE_LEADING && l->seen && !is_overslept(l))
        claim(l);
    else
        look(l);
}

static void on_retry(struct loop_timer *t)
{
    try(container_of(t, struct lease, retry));
}

static void on_expiry(struct loop_timer *t)
{
    lose(container_of(t, struct lease, expiry), "the lease could not be renewed in time");
}

/* ---- answers ---- */

static void end_release(struct lease *l);

static void on_get(struct api_request *req, const struct api_reply *reply)
{
    struct attempt *t = container_of(req, struct attempt, req);
    struct lease *l = attempt_end(t);
    if (!l)
        return;
    attempt_free(t);
    if (l->state == LEASE_OVER) {
        end_release(l);
        return;
    }
    if (reply->code == 200 && reply->obj) {
        observe(l, reply->obj);
        if (l->state == LEASE_LEADING && l->record_lasts)
            lose(l, "the lease was taken by another");
        else if (is_free(l))
            claim(l);
        else
            later(l);
        return;
    }
    distrust(l);
    if (reply->code == 404 && is_free(l))
        claim(l);
    else
        later(l);
}

static void on_write(struct api_request *req, const struct api_reply *reply)
{
    struct attempt *t = container_of(req, struct attempt, req);
    usec sent = t->sent, sent_boot = t->sent_boot;
    struct lease *l = attempt_end(t);
    if (!l)
        return;
    attempt_free(t);
    bool ok = !reply->unknown_outcome && reply->code >= 200 && reply->code < 300 && reply->obj;
    if (ok)
        observe(l, reply->obj);
    else
        distrust(l);
    if (l->state == LEASE_OVER)
        end_release(l);
    else if (ok)
        hold(l, sent, sent_boot);
    else if (reply->code == 409 && l->conflicts++ < CONFLICTS_MAX)
        try(l);
    else
        later(l);
}

/* ---- release ---- */

static void on_released(struct lease *l)
{
    void (*done)(void *ctx) = l->released;
    l->released = NULL;
    loop_timer_cancel(&l->expiry);
    if (done)
        done(l->released_ctx);
}

static void on_release_answer(struct api_request *req, const struct api_reply *reply)
{
    struct attempt *t = container_of(req, struct attempt, req);
    struct lease *l = attempt_end(t);
    (void)reply;
    if (!l)
        return;
    attempt_free(t);
    on_released(l);
}

static void on_release_late(struct loop_timer *t)
{
    on_released(container_of(t, struct lease, expiry));
}

/* Nothing is under way and we no longer act. */
static void end_release(struct lease *l)
{
    if (!l->released)
        return;
    struct arena a = ARENA_INIT;
    struct doc *d = l->seen && is_ours(l, l->seen) ? make_record(l, &a, true) : NULL;
    arena_done(&a);
    if (d)
        start(l, API_UPDATE, d, on_release_answer);
    else
        loop_timer_set(&l->expiry, loop_now(l->loop));
}

void lease_release(struct lease *l, void (*done)(void *ctx), void *ctx)
{
    stop(l);
    l->released = done;
    l->released_ctx = ctx;
    loop_timer_init(l->loop, &l->expiry, on_release_late);
    loop_timer_set(&l->expiry, loop_now(l->loop) + RELEASE_TIMEOUT);
    if (!l->attempt)
        end_release(l);
}

/* ---- life cycle ---- */

struct lease *lease_new(struct loop *loop, struct api *api, const struct lease_options *o)
{
    struct lease *l = xnew(struct lease);
    l->loop = loop;
    l->api = api;
    l->o = *o;
    l->o.ns = arena_str(&l->arena, o->ns);
    l->o.name = arena_str(&l->arena, o->name);
    l->o.identity = arena_str(&l->arena, o->identity);
    l->o.note = arena_str(&l->arena, o->note);
    l->o.duration = o->duration ? o->duration : 15 * USEC_PER_SEC;
    l->o.renew_deadline = o->renew_deadline ? o->renew_deadline : 10 * USEC_PER_SEC;
    l->o.retry = o->retry ? o->retry : 2 * USEC_PER_SEC;
    BUG_ON(l->o.duration <= l->o.renew_deadline || l->o.renew_deadline <= l->o.retry);
    strbuf_init(&l->record, 1 << 20);
    loop_timer_init(loop, &l->retry, on_retry);
    loop_timer_init(loop, &l->expiry, on_expiry);
    loop_timer_set(&l->retry, loop_now(loop));
    return l;
}

void lease_free(struct lease *l)
{
    if (!l)
        return;
    stop(l);
    if (l->attempt)
        l->attempt->lease = NULL;
    obj_unref(l->seen);
    strbuf_done(&l->record);
    arena_done(&l->arena);
    free(l);
}

bool lease_is_held(const struct lease *l)
{
    return l->state == LEASE_LEADING && loop_now(l->loop) < l->deadline && !is_overslept(l);
}

usec lease_deadline(const struct lease *l)
{
    return lease_is_held(l) ? l->deadline : 0;
}

/* ---- the fence ---- */

struct fenced {
    struct api api;
    struct loop *loop;
    struct api *inner;
    const struct lease *lease;
    struct list refused; /* api_request.link */
    struct loop_task refuse;
};

static struct fenced *fenced_of(struct api *api)
{
    return container_of(api, struct fenced, api);
}

static void on_refuse(struct loop_task *task)
{
    struct fenced *f = container_of(task, struct fenced, refuse);
    struct list now;
    list_init(&now);
    for (struct list *n; (n = list_pop_front(&f->refused));)
        list_push_back(&now, n);
    for (struct list *n; (n = list_pop_front(&now));) {
        struct api_request *r = list_entry(n, struct api_request, link);
        struct status why = {.code = 403,
                             .reason = "Forbidden",
                             .message = STR("this process does not hold the lease")};
        r->done(r, &(struct api_reply){.code = 403, .status = &why, .remaining = -1});
    }
}

static void fenced_send(struct api *api, struct api_request *r)
{
    struct fenced *f = fenced_of(api);
    if (r->verb == API_GET || r->verb == API_LIST) {
        api_send(f->inner, r);
        return;
    }
    usec deadline = lease_deadline(f->lease);
    if (!deadline) {
        list_push_back(&f->refused, &r->link);
        loop_defer(f->loop, LOOP_APPLY, &f->refuse);
        return;
    }
    r->deadline = r->deadline ? MIN(r->deadline, deadline) : deadline;
    api_send(f->inner, r);
}

static void fenced_watch(struct api *api, struct api_watch *w)
{
    api_watch(fenced_of(api)->inner, w);
}

static void fenced_watch_stop(struct api *api, struct api_watch *w)
{
    api_watch_stop(fenced_of(api)->inner, w);
}

static void fenced_free(struct api *api)
{
    struct fenced *f = fenced_of(api);
    loop_task_cancel(&f->refuse);
    on_refuse(&f->refuse);
    free(f);
}

static const struct api_ops fenced_ops = {
    .send = fenced_send,
    .watch = fenced_watch,
    .watch_stop = fenced_watch_stop,
    .free = fenced_free,
};

struct api *api_fenced_new(struct loop *l, struct api *inner, const struct lease *lease)
{
    struct fenced *f = xnew(struct fenced);
    f->api.ops = &fenced_ops;
    f->loop = l;
    f->inner = inner;
    f->lease = lease;
    list_init(&f->refused);
    loop_task_init(&f->refuse, on_refuse);
    return &f->api;
}
