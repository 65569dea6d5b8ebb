/*
 * How a cache is filled: watch-list, or list and watch; resume, relist, pause (the states are drawn
 * in cache_impl.h).
 *
 * Revision to resume from: that of the last event or bookmark, but only after the initial state is
 * complete; initial events carry the revisions of their objects, in no order. A stream that breaks
 * before that starts over.
 *
 * The failure count goes up with every stream that ends soon after it was opened, whatever its
 * excuse, and goes back to zero when one brings something beyond the initial state or lasts: a
 * server that answers every list and ends every watch is asked less and less often.
 */
#include "base/log.h"
#include "client/backoff.h"
#include "client/cache_impl.h"

#define PAGE_LIMIT 500
#define SWEEP_BUDGET 1000
#define PAUSE_BASE (100 * USEC_PER_MSEC)
/* A server that was away is heard again within this; one that lacks the kind is asked rarely. */
#define PAUSE_MAX (5 * USEC_PER_SEC)
#define PAUSE_ABSENT (60 * USEC_PER_SEC)
#define LASTING (5 * USEC_PER_SEC)

struct feed_list {
    struct api_request req;
    struct arena arena;  /* what the request points to */
    struct cache *cache; /* NULL: it was freed meanwhile */
};

static void feed_list_free(struct feed_list *l)
{
    arena_done(&l->arena);
    free(l);
}

static void set_state(struct feed *f, enum feed_state to)
{
    static const unsigned allowed[] = {
        [FEED_IDLE] = 1 << FEED_PAUSE,
        [FEED_PAUSE] = 1 << FEED_LIST | 1 << FEED_INITIAL | 1 << FEED_WATCH | 1 << FEED_IDLE,
        [FEED_LIST] = 1 << FEED_PAUSE | 1 << FEED_IDLE,
        [FEED_INITIAL] = 1 << FEED_WATCH | 1 << FEED_PAUSE | 1 << FEED_IDLE,
        [FEED_WATCH] = 1 << FEED_PAUSE | 1 << FEED_IDLE,
    };
    BUG_ON(!(allowed[f->state] & 1u << to));
    f->state = to;
}

static void pause_then(struct cache *c, enum feed_state next, usec delay)
{
    struct feed *f = &c->feed;
    loop_timer_cancel(&f->stall);
    set_state(f, FEED_PAUSE);
    f->next = next;
    loop_timer_set(&f->pause, loop_now(c->loop) + delay);
}

/* The state that begins with everything. */
static enum feed_state first_state(const struct feed *f)
{
    return f->classic ? FEED_LIST : FEED_INITIAL;
}

/* At least what the server asked for. */
static usec failure_delay(struct cache *c, const struct status *why)
{
    usec max = c->absent ? PAUSE_ABSENT : PAUSE_MAX;
    usec delay = backoff_delay(c->loop, PAUSE_BASE, max, ++c->feed.failures);
    usec asked = why ? why->retry_after * USEC_PER_SEC : 0;
    return MAX(delay, MIN(asked, PAUSE_ABSENT));
}

static bool is_expired(const struct status *s)
{
    return s->code == 410;
}

/* The server understood the question and will not answer it in this form. */
static bool is_refusal_of_form(const struct status *s)
{
    switch (s->code) {
    case 401: /* who asks */
    case 403: /* what is asked for */
    case 408: /* load */
    case 409:
    case 410:
    case 429:
        return false;
    }
    return s->code >= 400 && s->code < 500;
}

/* A second failure in a row is no accident: people should see the first line of that, not the
 * thousandth. */
static void log_failure(const struct cache *c, const char *what, const struct status *s)
{
    if (s && !is_expired(s) && c->feed.failures == 1)
        log_warn(what, LOG_C("kind", c->kind->kind), LOG_I("code", s->code),
                 LOG_S("message", s->message));
    else
        log_debug(what, LOG_C("kind", c->kind->kind), LOG_I("code", s ? s->code : 0),
                  LOG_S("message", s ? s->message : STR_NONE));
}

/* ---- completion of a list ---- */

static void sweep_run(struct loop_task *t)
{
    struct cache *c = container_of(t, struct cache, feed.sweep);
    if (!cache_sync_sweep(c, c->feed.sweep_rv, SWEEP_BUDGET)) {
        loop_defer(c->loop, LOOP_APPLY, &c->feed.sweep);
        return;
    }
    c->feed.sweeping = false;
    cache_sync_end(c);
}

static void sync_begin(struct cache *c)
{
    struct feed *f = &c->feed;
    if (f->sweeping) {
        loop_task_cancel(&f->sweep);
        f->sweeping = false;
    }
    f->stats.lists++;
    f->list_seq = c->tombs.end;
    cache_sync_begin(c);
}

static void sync_complete(struct cache *c, uint64_t rv)
{
    struct feed *f = &c->feed;
    c->syncing = false;
    f->rv = rv;
    f->sweep_rv = rv;
    f->sweeping = true;
    tombs_confirm(&c->tombs, f->list_seq);
    sweep_run(&f->sweep);
}

/* There is no such kind, or it is not for us. */
static void note_absence(struct cache *c, int code)
{
    c->absent = code == 404 || code == 403;
    if (c->absent && c->on_absent.fn)
        c->on_absent.fn(c->on_absent.ctx);
}

/* ---- watch ---- */

static void on_event(struct api_watch *w, enum api_event_type type, struct obj *o, uint64_t rv,
                     bool initial_end)
{
    struct cache *c = w->ctx;
    struct feed *f = &c->feed;
    f->heard = loop_now(c->loop);
    if (type == API_DELETED)
        cache_apply_deleted(c, o, rv);
    else if (type != API_BOOKMARK)
        cache_apply(c, o);
    if (f->state == FEED_INITIAL) {
        if (type == API_BOOKMARK && initial_end) {
            set_state(f, FEED_WATCH);
            sync_complete(c, rv);
        }
        return;
    }
    f->failures = 0;
    f->rv = MAX(f->rv, rv);
    if (type == API_BOOKMARK)
        cache_forget_tombs(c);
}

static void on_end(struct api_watch *w, const struct status *why)
{
    struct cache *c = w->ctx;
    struct feed *f = &c->feed;
    bool initial = f->state == FEED_INITIAL;
    log_failure(c, "watch ended", why);
    if (initial && why && is_refusal_of_form(why)) {
        f->classic = true;
        pause_then(c, FEED_LIST, 0);
        return;
    }
    if (loop_now(c->loop) - f->opened >= LASTING)
        f->failures = 0;
    enum feed_state next = initial ? first_state(f) : FEED_WATCH;
    if (why && is_expired(why))
        next = first_state(f);
    /* The first clean end or expiry is nobody's failure: go on at once. */
    bool at_once = !initial && f->failures == 0 && (!why || is_expired(why));
    usec delay = failure_delay(c, why);
    pause_then(c, next, at_once ? 0 : delay);
    if (initial && why)
        note_absence(c, why->code);
}

static void open_watch(struct cache *c, bool initial)
{
    struct feed *f = &c->feed;
    if (initial)
        sync_begin(c);
    set_state(f, initial ? FEED_INITIAL : FEED_WATCH);
    f->opened = f->heard = loop_now(c->loop);
    f->stats.watches++;
    f->watch = (struct api_watch){
        .kind = c->kind,
        .ns = c->ns,
        .label_selector = c->label_selector,
        .field_selector = c->field_selector,
        .rv = initial ? 0 : f->rv,
        .rv_given = !initial,
        .send_initial = initial,
        .bookmarks = true,
        .on_event = on_event,
        .on_end = on_end,
        .ctx = c,
    };
    if (c->stall_timeout)
        loop_timer_set(&f->stall, f->heard + c->stall_timeout);
    api_watch(c->api, &f->watch);
}

/* One timer per watch that moves itself on; events only note the time. */
static void on_stall(struct loop_timer *t)
{
    struct cache *c = container_of(t, struct cache, feed.stall);
    struct feed *f = &c->feed;
    usec due = f->heard + c->stall_timeout;
    if (due > loop_now(c->loop)) {
        loop_timer_set(t, due);
        return;
    }
    log_failure(c, "watch is silent, reopening", NULL);
    api_watch_stop(c->api, &f->watch);
    pause_then(c, f->state == FEED_INITIAL ? first_state(f) : FEED_WATCH, failure_delay(c, NULL));
}

/* ---- list ---- */

static void set_token(struct feed *f, str token)
{
    free(f->token);
    f->token = token.len ? str_dup(token) : NULL;
}

static void on_list_failed(struct cache *c, const struct api_reply *reply)
{
    struct feed *f = &c->feed;
    log_failure(c, "list failed", reply->status);
    /* An expired token or a broken page: the pages before are of no use either. */
    set_token(f, STR_NONE);
    pause_then(c, FEED_LIST, failure_delay(c, reply->status));
    note_absence(c, reply->code);
}

static void on_list(struct api_request *r, const struct api_reply *reply)
{
    struct feed_list *l = container_of(r, struct feed_list, req);
    struct cache *c = l->cache;
    if (!c) {
        feed_list_free(l);
        return;
    }
    struct feed *f = &c->feed;
    f->list = NULL;
    if (reply->code != 200) {
        on_list_failed(c, reply);
        feed_list_free(l);
        return;
    }
    for (size_t i = 0; i < reply->n_items; i++)
        cache_apply(c, reply->items[i]);
    set_token(f, reply->continue_token);
    if (!f->token)
        sync_complete(c, reply->rv);
    pause_then(c, f->token ? FEED_LIST : FEED_WATCH, 0);
    feed_list_free(l);
}

static void send_list(struct cache *c)
{
    struct feed *f = &c->feed;
    if (!f->token)
        sync_begin(c);
    set_state(f, FEED_LIST);
    struct feed_list *l = xnew(struct feed_list);
    l->cache = c;
    l->req = (struct api_request){
        .verb = API_LIST,
        .kind = c->kind,
        .ns = arena_str(&l->arena, c->ns),
        .label_selector = arena_str(&l->arena, c->label_selector),
        .field_selector = arena_str(&l->arena, c->field_selector),
        .limit = PAGE_LIMIT,
        .continue_token = arena_str(&l->arena, str_of(f->token)),
        .done = on_list,
    };
    f->list = l;
    api_send(c->api, &l->req);
}

/* ---- life cycle ---- */

static void on_pause_over(struct loop_timer *t)
{
    struct cache *c = container_of(t, struct cache, feed.pause);
    if (c->feed.next == FEED_LIST)
        send_list(c);
    else
        open_watch(c, c->feed.next == FEED_INITIAL);
}

void feed_init(struct cache *c)
{
    loop_timer_init(c->loop, &c->feed.pause, on_pause_over);
    loop_timer_init(c->loop, &c->feed.stall, on_stall);
    loop_task_init(&c->feed.sweep, sweep_run);
}

void feed_start(struct cache *c)
{
    BUG_ON(c->feed.state != FEED_IDLE);
    pause_then(c, FEED_INITIAL, 0);
}

/* Nothing that was asked for counts any more. */
static void forget_requests(struct cache *c)
{
    struct feed *f = &c->feed;
    if (f->state == FEED_INITIAL || f->state == FEED_WATCH)
        api_watch_stop(c->api, &f->watch);
    if (f->list)
        TAKE_PTR(f->list)->cache = NULL;
    set_token(f, STR_NONE);
    loop_task_cancel(&f->sweep);
    f->sweeping = false;
    loop_timer_cancel(&f->stall);
}

void feed_resync(struct cache *c)
{
    struct feed *f = &c->feed;
    if (f->state == FEED_IDLE)
        return;
    forget_requests(c);
    if (f->state != FEED_PAUSE)
        set_state(f, FEED_PAUSE);
    f->next = first_state(f);
    loop_timer_set(&f->pause, loop_now(c->loop));
}

void feed_stop(struct cache *c)
{
    struct feed *f = &c->feed;
    if (f->state == FEED_IDLE)
        return;
    forget_requests(c);
    loop_timer_cancel(&f->pause);
    set_state(f, FEED_IDLE);
    f->failures = 0;
    f->rv = 0;
    f->classic = false;
}

void feed_done(struct cache *c)
{
    struct feed *f = &c->feed;
    loop_timer_cancel(&f->pause);
    loop_timer_cancel(&f->stall);
    loop_task_cancel(&f->sweep);
    if (f->state == FEED_INITIAL || f->state == FEED_WATCH)
        api_watch_stop(c->api, &f->watch);
    if (f->list)
        f->list->cache = NULL;
    free(f->token);
}
