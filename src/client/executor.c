/*
 * Writes on their way.
 *
 *   WAITING ──► VERIFY ──► WRITE ──► DONE          VERIFY  live GET: is it really absent?
 *      │          │          │ │       ▲           RESOLVE live GET of the written object: what is
 *      └──────────┼──► ──────┘ ▼       │                   true now? Repeated until it is answered.
 *                 ▼   AWAIT ─► RESOLVE ┘           AWAIT   bound, and nobody said how the pod looks
 *                DONE                                      now: the watch will, or we ask.
 *
 * Invariants
 *  1. An op in VERIFY, WRITE, AWAIT or RESOLVE counts in run->in_flight and executor->in_flight;
 * its request is under way or its timer is set, never both.
 *  2. What an answer says is in the cache before the op is DONE, and a run ends only when no op is
 * in flight: so the key is never planned again on older knowledge than its own writes.
 *  3. A delete is booked from acceptance until its op is DONE or dropped.
 *  4. Nothing here is called back from inside api_send(), so sending never re-enters.
 */
#include "client/executor.h"

#include "base/log.h"
#include "client/backoff.h"

#define RESOLVE_BASE (50 * USEC_PER_MSEC)
#define RESOLVE_MAX (10 * USEC_PER_SEC)
/* For the watch to show what was written. It mostly does so before the write is answered; a server
 * that takes its time for answers gets it for this as well, in writes, instead of more to answer.
 */
#define AWAIT_MIN USEC_PER_SEC
#define AWAIT_MAX (10 * USEC_PER_SEC)
#define AWAIT_WRITES 10
#define LATENCY_WEIGHT 8
/* How often a delete is sent again for a newer version; then its key is planned anew. */
#define NEWER_MAX 16

enum op_state { OP_WAITING, OP_VERIFY, OP_WRITE, OP_AWAIT, OP_RESOLVE, OP_DONE };

struct op {
    struct run *run;
    const struct plan_write *w;
    enum op_state state;
    bool booked;
    bool written; /* the write succeeded; only its result is being fetched */
    bool unsure;  /* nobody said whether it was done */
    bool stale;   /* it was for an older version */
    unsigned tries;
    unsigned newer; /* how often it was sent for a newer version, */
    uint64_t rv;    /* the last of them; 0: none */
    usec sent_at;
    str seen_uid; /* cached under the name when the GET was sent */
    struct api_request req;
    struct loop_timer timer;
    struct list link; /* of executor->awaiting */
};

/* ---- runs ---- */

struct run *run_new(const struct obj *own)
{
    struct run *r = xnew(struct run);
    arena_init(&r->arena);
    plan_init(&r->plan, &r->arena);
    if (own) {
        r->own_uid = arena_str(&r->arena, own->uid);
        r->own_generation = own->generation;
        r->own_deleting = own->deleting;
    }
    list_init(&r->link);
    return r;
}

void run_free(struct run *r)
{
    list_remove(&r->link);
    plan_done(&r->plan);
    arena_done(&r->arena);
    free(r);
}

bool run_is_outdated(const struct run *r, const struct obj *own)
{
    if (!own)
        return r->own_uid.len != 0;
    return !str_eq(own->uid, r->own_uid) || own->generation != r->own_generation ||
           own->deleting != r->own_deleting;
}

static void op_release(struct op *op)
{
    if (op->booked)
        intents_release(op->run->executor->env.intents, op->w->uid);
    op->booked = false;
}

static void run_finish(struct run *r)
{
    struct executor *x = r->executor;
    for (size_t i = 0; i < r->n_ops; i++)
        op_release(&r->ops[i]);
    list_remove(&r->link);
    x->env.finished(x->env.ctx, r);
    run_free(r);
}

static void stage_begin(struct run *r)
{
    unsigned stage = r->ops[r->next].w->stage;
    r->stage_end = r->next;
    while (r->stage_end < r->n_ops && r->ops[r->stage_end].w->stage == stage)
        r->stage_end++;
    r->creates_ok = 0;
    r->creates_refused = false;
}

/* More of this stage may be sent, now or when others have been answered. */
static bool stage_has_unsent(const struct run *r)
{
    if (r->dropped || r->next == r->stage_end)
        return false;
    return !(r->creates_refused && r->ops[r->next].w->op == PLAN_CREATE);
}

/* After an op ended or the run was dropped: the next stage, or the end. */
static void run_advance(struct run *r)
{
    if (r->in_flight || stage_has_unsent(r))
        return;
    if (r->failed || r->dropped || r->next == r->n_ops)
        run_finish(r);
    else
        stage_begin(r);
}

bool run_has_done(const struct run *r, unsigned stage)
{
    return !r->failed && (r->next == r->n_ops || r->ops[r->next].w->stage > stage);
}

void run_drop(struct run *r)
{
    if (r->dropped)
        return;
    r->dropped = true;
    for (size_t i = 0; i < r->n_ops; i++) {
        if (r->ops[i].state == OP_WAITING)
            op_release(&r->ops[i]);
    }
    run_advance(r);
}

/* ---- requests ---- */

static void on_answer(struct api_request *req, const struct api_reply *reply);

static struct cache *cache_of(const struct op *op, const struct kind *k, str ns, str name)
{
    const struct executor_env *env = &op->run->executor->env;
    return env->cache(env->ctx, k, ns, name);
}

static void send_get(struct op *op, const struct kind *k, str ns, str name)
{
    struct cache *c = cache_of(op, k, ns, name);
    const struct obj *seen = c ? cache_get(c, ns, name) : NULL;
    op->seen_uid = seen ? arena_str(&op->run->arena, seen->uid) : STR_NONE;
    op->req = (struct api_request){
        .verb = API_GET,
        .kind = k,
        .ns = ns,
        .name = name,
        .done = on_answer,
    };
    api_send(op->run->executor->api, &op->req);
}

static void send_resolve(struct op *op)
{
    op->state = OP_RESOLVE;
    send_get(op, op->w->kind, op->w->ns, op->w->name);
}

static enum api_verb verb_of(enum plan_op op)
{
    static const enum api_verb verbs[] = {
        [PLAN_CREATE] = API_CREATE, [PLAN_UPDATE] = API_UPDATE,     [PLAN_PATCH] = API_PATCH,
        [PLAN_DELETE] = API_DELETE, [PLAN_SUB_CREATE] = API_CREATE,
    };
    return verbs[op];
}

static void send_write(struct op *op)
{
    const struct plan_write *w = op->w;
    struct executor *x = op->run->executor;
    bool apply = w->op == PLAN_PATCH && w->patch == API_PATCH_APPLY;
    op->state = OP_WRITE;
    op->req = (struct api_request){
        .verb = verb_of(w->op),
        .kind = w->kind,
        .ns = w->ns,
        .name = w->name,
        .subresource = w->subresource,
        .body = w->body,
        .patch = w->patch,
        .force = apply,
        .field_manager = w->manager.len ? w->manager : x->manager,
        /* Nobody here would read a warning; to look for what is worth one is work for a server. */
        .field_validation = API_VALIDATE_IGNORE,
        .uid = w->op == PLAN_DELETE ? w->uid : STR_NONE,
        .rv = w->op != PLAN_DELETE ? 0
              : op->rv             ? op->rv
                                   : w->rv,
        .grace_seconds = w->grace_seconds,
        .propagation = w->propagation,
        .done = on_answer,
    };
    x->writes++;
    op->sent_at = loop_now(x->loop);
    api_send(x->api, &op->req);
}

static void op_start(struct op *op)
{
    struct run *r = op->run;
    r->in_flight++;
    r->executor->in_flight++;
    r->executor->patient += op->w->patient;
    if (op->w->op == PLAN_CREATE)
        r->creates++;
    if (!op->w->absent_kind) {
        send_write(op);
        return;
    }
    op->state = OP_VERIFY;
    send_get(op, op->w->absent_kind, op->w->absent_ns, op->w->absent_name);
}

/* ---- sending ---- */

static bool run_may_send(const struct run *r)
{
    const struct executor *x = r->executor;
    if (!stage_has_unsent(r) || r->in_flight >= MAX(1, x->limit / 2))
        return false;
    /* Each create that succeeded allows one more in flight: 1, 2, 4, ... per round trip. */
    return r->ops[r->next].w->op != PLAN_CREATE || r->creates <= r->creates_ok;
}

/* One write per run and round, oldest run first, as long as there is room. */
static void pump(struct executor *x)
{
    bool progress = true;
    while (progress && executor_has_room(x)) {
        progress = false;
        list_foreach (it, &x->runs) {
            struct run *r = list_entry(it, struct run, link);
            if (!executor_has_room(x))
                return;
            if (!run_may_send(r))
                continue;
            op_start(&r->ops[r->next++]);
            progress = true;
        }
    }
}

bool executor_has_room(const struct executor *x)
{
    return x->in_flight < x->window;
}

static void op_end(struct op *op, bool ok)
{
    struct run *r = op->run;
    struct executor *x = r->executor;
    op->state = OP_DONE;
    op_release(op);
    r->in_flight--;
    x->in_flight--;
    x->patient -= op->w->patient;
    if (op->w->op == PLAN_CREATE) {
        r->creates--;
        r->creates_ok += ok;
    }
    r->met_others = ok ? r->met_others : op->stale && (r->met_others || !r->failed);
    r->failed |= !ok;
    run_advance(r);
    pump(x);
    if (executor_has_room(x))
        x->env.room(x->env.ctx);
}

/* ---- what the watch shows ---- */

/* A binding is answered with a Status. */
static bool is_shown(const struct op *op, const struct obj *o)
{
    return o && !str_is_empty(jstr(jgetc(obj_spec(o), "nodeName")));
}

/* False: it cannot be awaited. */
static bool await_watch(struct op *op)
{
    const struct plan_write *w = op->w;
    struct executor *x = op->run->executor;
    if (w->op != PLAN_SUB_CREATE || !str_is(w->subresource, "binding"))
        return false;
    if (is_shown(op, cache_get(cache_of(op, w->kind, w->ns, w->name), w->ns, w->name))) {
        op_end(op, true);
        return true;
    }
    op->state = OP_AWAIT;
    list_push_back(&x->awaiting, &op->link);
    usec most = MIN(MAX(AWAIT_WRITES * *x->env.latency, AWAIT_MIN), AWAIT_MAX);
    loop_timer_set(&op->timer, loop_now(x->loop) + most);
    return true;
}

void executor_observe(struct executor *x, const struct obj *o)
{
    list_foreach (it, &x->awaiting) {
        struct op *op = list_entry(it, struct op, link);
        if (op->w->kind != o->kind || !str_eq(op->w->name, o->name) || !str_eq(op->w->ns, o->ns) ||
            !is_shown(op, o))
            continue;
        list_remove(&op->link);
        loop_timer_cancel(&op->timer);
        op_end(op, true);
        return;
    }
}

/* ---- answers ---- */

enum answer { ANSWER_OK, ANSWER_GONE, ANSWER_STALE, ANSWER_REFUSED, ANSWER_ERROR, ANSWER_UNKNOWN };

static enum answer classify(const struct plan_write *w, const struct api_reply *reply)
{
    int code = reply->code;
    if (reply->unknown_outcome || code < 200 || code >= 500)
        return ANSWER_UNKNOWN;
    if (code < 300)
        return ANSWER_OK;
    switch (code) {
    case 404:
        return w->op == PLAN_DELETE ? ANSWER_GONE : ANSWER_STALE;
    case 409:
    case 410:
    case 412:
        return ANSWER_STALE;
    case 403:
    case 422:
    case 429:
        return ANSWER_REFUSED;
    }
    return ANSWER_ERROR;
}

static bool is_transient(const struct api_reply *reply)
{
    return reply->unknown_outcome || reply->code < 200 || reply->code >= 500 || reply->code == 429;
}

static void window_shrink(struct executor *x)
{
    x->window = MAX(1, x->window / 2);
    x->successes = 0;
}

static void window_grow(struct executor *x)
{
    if (x->window < x->limit && ++x->successes >= x->window) {
        x->window++;
        x->successes = 0;
    }
}

static void log_answer(const struct op *op, const struct api_reply *reply)
{
    if (!log_enabled(LOG_LEVEL_DEBUG))
        return;
    struct strbuf b = STRBUF_INIT(1024);
    plan_print_write(op->w, &b);
    log_debug("write failed", LOG_S("manager", op->run->executor->manager),
              LOG_S("write", strbuf_str(&b)), LOG_I("code", reply->code),
              LOG_S("message", reply->status ? reply->status->message : STR_NONE));
    strbuf_done(&b);
}

/* An object the API answered with, when it is the one of this kind and name. */
static struct obj *answered_obj(const struct api_reply *reply, const struct kind *k, str name)
{
    struct obj *o = reply->obj;
    return o && o->kind == k && str_eq(o->name, name) ? o : NULL;
}

/* The answer of a GET. */
static void observe_get(struct op *op, const struct kind *k, str ns, str name,
                        const struct api_reply *reply)
{
    struct cache *c = cache_of(op, k, ns, name);
    if (!c)
        return;
    struct obj *o = answered_obj(reply, k, name);
    if (reply->code == 200 && o)
        cache_observe(c, o);
    else if (reply->code == 404 && op->seen_uid.len)
        cache_observe_deleted(c, ns, name, op->seen_uid);
}

/* What is answered when its last finalizer was taken away: it is gone, and what is shown has the
 * version it had before. */
static bool is_let_go(const struct obj *o)
{
    return o->deleting && jlen(jgetc(o->meta, "finalizers")) == 0 &&
           jlen(jgetc(obj_spec(o), "finalizers")) == 0 && /* of a namespace */
           jint(jgetc(o->meta, "deletionGracePeriodSeconds"), 0) == 0;
}

/* The answer of a successful write. False when it does not show the object. */
static bool observe_write(struct op *op, const struct api_reply *reply)
{
    const struct plan_write *w = op->w;
    struct cache *c = cache_of(op, w->kind, w->ns, w->name);
    struct obj *o = answered_obj(reply, w->kind, w->name);
    if (!c)
        return true;
    /* A delete is answered with a Status, or with the object: one that waits for its finalizers or
     * grace period, or, for some kinds, the last state of what is gone. */
    if (w->op == PLAN_DELETE && !w->subresource.len && !(o && o->deleting)) {
        cache_observe_deleted(c, w->ns, w->name, w->uid);
        return true;
    }
    if (!o)
        return false;
    if (is_let_go(o))
        cache_observe_deleted(c, w->ns, w->name, o->uid);
    else
        cache_observe(c, o);
    return true;
}

static void note_latency(const struct op *op)
{
    const struct executor *x = op->run->executor;
    usec *mean = x->env.latency;
    *mean += (loop_now(x->loop) - op->sent_at - *mean) / LATENCY_WEIGHT;
}

static void note_done(const struct op *op, const struct api_reply *reply)
{
    const struct executor *x = op->run->executor;
    const struct obj *o = answered_obj(reply, op->w->kind, op->w->name);
    disputes_note(x->env.disputes, op->w, o ? o->uid : STR_NONE, loop_now(x->loop));
}

static void on_write_answer(struct op *op, const struct api_reply *reply)
{
    struct run *r = op->run;
    const struct plan_write *w = op->w;
    note_latency(op);
    enum answer a = classify(w, reply);
    if (a != ANSWER_OK)
        log_answer(op, reply);
    switch (a) {
    case ANSWER_OK:
        window_grow(r->executor);
        note_done(op, reply);
        op->written = true;
        if (observe_write(op, reply))
            op_end(op, true);
        else if (!await_watch(op))
            send_resolve(op);
        return;
    case ANSWER_GONE: {
        struct cache *c = cache_of(op, w->kind, w->ns, w->name);
        if (c)
            cache_observe_deleted(c, w->ns, w->name, w->uid);
        op_end(op, true);
        return;
    }
    case ANSWER_STALE:
        op->stale = w->op != PLAN_CREATE; /* who has the name keeps it */
        send_resolve(op);
        return;
    case ANSWER_UNKNOWN:
        failures_note(&r->failures, &r->arena, w, reply);
        op->stale = false;
        op->unsure = true;
        send_resolve(op);
        return;
    case ANSWER_REFUSED:
        failures_note(&r->failures, &r->arena, w, reply);
        r->creates_refused |= w->op == PLAN_CREATE;
        if (reply->code == 429)
            window_shrink(r->executor);
        if (reply->status)
            r->least = MAX(r->least, reply->status->retry_after * USEC_PER_SEC);
        op_end(op, false);
        return;
    case ANSWER_ERROR:
        failures_note(&r->failures, &r->arena, w, reply);
        op_end(op, false);
        return;
    }
}

/* Somebody else's object has the name we wanted: worth a line, for it will not go away by itself.
 */
static void check_owner(const struct op *op, const struct obj *o)
{
    if (op->w->op != PLAN_CREATE || !o)
        return;
    jval refs = jpath(doc_root(op->w->body), "metadata.ownerReferences");
    for (struct jiter it = jiter(refs); jnext(&it);) {
        if (!j_is_true(jgetc(it.value, "controller")))
            continue;
        if (!str_eq(jstr(jgetc(it.value, "uid")), o->owner_uid))
            log_warn("name is taken by an object with another owner", LOG_C("kind", o->kind->kind),
                     LOG_S("namespace", o->ns), LOG_S("name", o->name),
                     LOG_S("owner", o->owner_uid));
        return;
    }
}

/* A child that was to be deleted is gone, or on its way. (Others delete what is going already: a
 * node whose containers have stopped.) */
static bool is_going(const struct plan_write *w, const struct api_reply *reply)
{
    const struct obj *o = answered_obj(reply, w->kind, w->name);
    return w->op == PLAN_DELETE && w->owner_uid.len &&
           (reply->code == 404 || (o && (o->deleting || !str_eq(o->uid, w->uid))));
}

/* Children change all the time, the more so when they are going: a delete that was meant for an
 * older version is as true of this one. */
static bool delete_newer(struct op *op, const struct obj *o)
{
    const struct plan_write *w = op->w;
    if (w->op != PLAN_DELETE || !w->owner_uid.len || !o || !str_eq(o->owner_uid, w->owner_uid) ||
        op->newer == NEWER_MAX)
        return false;
    op->newer++;
    op->rv = o->rv;
    op->unsure = false;
    send_write(op);
    return true;
}

static void on_resolve_answer(struct op *op, const struct api_reply *reply)
{
    const struct plan_write *w = op->w;
    if (is_transient(reply)) {
        struct loop *l = op->run->executor->loop;
        loop_timer_set(&op->timer,
                       loop_now(l) + backoff_delay(l, RESOLVE_BASE, RESOLVE_MAX, ++op->tries));
        return;
    }
    observe_get(op, w->kind, w->ns, w->name, reply);
    if (op->unsure && w->op == PLAN_CREATE && reply->code == 404) {
        struct executor *x = op->run->executor;
        unsure_add(x->env.unsure, w->kind, w->ns, w->name, loop_now(x->loop));
    }
    const struct obj *o = answered_obj(reply, w->kind, w->name);
    if (!op->written)
        check_owner(op, o);
    if (op->written || is_going(w, reply))
        op_end(op, true);
    else if (!delete_newer(op, o))
        op_end(op, false);
}

static void on_resolve_again(struct loop_timer *t)
{
    struct op *op = container_of(t, struct op, timer);
    list_remove(&op->link);
    send_resolve(op);
}

static void on_verify_answer(struct op *op, const struct api_reply *reply)
{
    const struct plan_write *w = op->w;
    if (!is_transient(reply))
        observe_get(op, w->absent_kind, w->absent_ns, w->absent_name, reply);
    bool other =
        reply->obj && !str_is_empty(w->absent_uid) && !str_eq(reply->obj->uid, w->absent_uid);
    if ((reply->code == 404 || other) && !op->run->dropped)
        send_write(op);
    else
        op_end(op, false);
}

static void on_answer(struct api_request *req, const struct api_reply *reply)
{
    struct op *op = container_of(req, struct op, req);
    struct run *r = op->run;
    if (!r->executor) {
        if (--r->in_flight == 0)
            run_free(r);
        return;
    }
    switch (op->state) {
    case OP_VERIFY:
        on_verify_answer(op, reply);
        return;
    case OP_WRITE:
        on_write_answer(op, reply);
        return;
    case OP_RESOLVE:
        on_resolve_answer(op, reply);
        return;
    case OP_WAITING:
    case OP_AWAIT:
    case OP_DONE:
        BUG("an answer to an op without a request");
    }
}

/* ---- acceptance ---- */

/* By stage; creates last, so that those behind a ramp do not hold up the others; else as planned.
 */
static int cmp_ops(const void *a, const void *b)
{
    const struct plan_write *x = ((const struct op *)a)->w, *y = ((const struct op *)b)->w;
    if (x->stage != y->stage)
        return x->stage < y->stage ? -1 : 1;
    bool cx = x->op == PLAN_CREATE, cy = y->op == PLAN_CREATE;
    if (cx != cy)
        return cx ? 1 : -1;
    return (x > y) - (x < y);
}

/* Slices that a planner set by hand may point into borrowed objects. */
static void own_slices(struct arena *a, struct plan_write *w)
{
    w->absent_ns = arena_str(a, w->absent_ns);
    w->absent_name = arena_str(a, w->absent_name);
    w->absent_uid = arena_str(a, w->absent_uid);
    w->component_uid = arena_str(a, w->component_uid);
    w->owner_uid = arena_str(a, w->owner_uid);
    w->manager = arena_str(a, w->manager);
}

static bool is_bookable(const struct plan_write *w)
{
    return w->op == PLAN_DELETE && w->uid.len;
}

void executor_book(struct executor *x, const struct plan_write *w)
{
    if (is_bookable(w))
        intents_book(x->env.intents, w->kind, w->ns, w->name, w->uid,
                     w->not_serving ? STR_NONE : w->component_uid);
}

void executor_accept(struct executor *x, struct run *r)
{
    BUG_ON(!r->plan.writes.len);
    r->executor = x;
    r->n_ops = r->plan.writes.len;
    r->ops = arena_array(&r->arena, struct op, r->n_ops);
    for (size_t i = 0; i < r->n_ops; i++) {
        struct plan_write *w = &r->plan.writes.p[i];
        own_slices(&r->arena, w);
        r->ops[i] = (struct op){.run = r, .w = w, .booked = is_bookable(w)};
    }
    qsort(r->ops, r->n_ops, sizeof(*r->ops), cmp_ops);
    /* Only now: a timer knows where it stands, and sorting moves it. */
    for (size_t i = 0; i < r->n_ops; i++) {
        list_init(&r->ops[i].link);
        loop_timer_init(x->loop, &r->ops[i].timer, on_resolve_again);
    }
    stage_begin(r);
    list_push_back(&x->runs, &r->link);
    pump(x);
}

/* ---- life cycle ---- */

void executor_init(struct executor *x, struct loop *l, struct api *api, const char *manager,
                   unsigned limit, const struct executor_env *env)
{
    *x = (struct executor){
        .loop = l,
        .api = api,
        .env = *env,
        .manager = str_of(manager),
        .limit = limit,
        .window = limit,
    };
    list_init(&x->runs);
    list_init(&x->awaiting);
}

void executor_done(struct executor *x)
{
    list_foreach (it, &x->runs) {
        struct run *r = list_entry(it, struct run, link);
        for (size_t i = 0; i < r->n_ops; i++) {
            struct op *op = &r->ops[i];
            op_release(op);
            if (!loop_timer_is_set(&op->timer))
                continue;
            loop_timer_cancel(&op->timer);
            list_remove(&op->link);
            r->in_flight--;
        }
        list_remove(&r->link);
        r->executor = NULL;
        if (!r->in_flight)
            run_free(r);
    }
}
