/*
 * The ring: cache change → map function → queue → planner → executor → API → cache.
 *
 * Planning happens in one place, turn(), in the PUBLISH phase after the caches have changed: a
 * bounded number of planner calls per turn of the loop, one key of each controller in rotation, and
 * only for controllers whose executor could send something at once (a plan that waits for its first
 * write gets old). A plan is accepted in the same breath in which it was made; no planner runs
 * between, so what it saw is still what is there, and the next planner sees its deletes as
 * intended.
 */
#include "client/controller.h"

#include "base/log.h"
#include "base/rng.h"
#include "client/controller_metrics.h"
#include "client/event.h"
#include "client/executor.h"
#include "client/journal.h"
#include "client/named.h"
#include "client/queue.h"

#define TURN_BUDGET 64
#define IN_FLIGHT_DEFAULT 32
#define COUNTS_INTERVAL (100 * USEC_PER_MSEC)
/* How long a patient write waits for others, in writes and at the least and most. */
#define PATIENT_WRITES 10
#define PATIENT_MIN (100 * USEC_PER_MSEC)
#define PATIENT_MAX (15 * USEC_PER_SEC)
/* Between looks of a key that the ledger refused something, when nothing changes. */
#define REFUSED_BASE (100 * USEC_PER_MSEC)
#define REFUSED_MAX (10 * USEC_PER_SEC)
#define REASON_MAX 1024
/* A plan that asks to be looked at again at once does not get a busy loop. */
#define LOOK_LEAST USEC_PER_MSEC
#define FORGET_PERCENT 5
#define JOURNAL_MAX ((size_t)64 << 10)

struct subscription {
    struct controller *controller;
    struct cache *cache;
    map_fn *map;
};

struct controller {
    struct runtime *runtime;
    struct controller_def def;
    struct queue queue;
    struct executor executor;
    struct recorder *recorder;
    VEC(struct subscription *) subscriptions; /* one per watch */
    VEC(const struct cache *) late;           /* those of kinds defined while we run */
    uint64_t plans;
    uint64_t refusals;
    struct controller_metrics metrics;
};

struct config {
    const void *tag;
    void *data;
};

struct runtime {
    struct loop *loop;
    struct api *api;
    struct clock *clock, *own_clock;
    struct clock_listener clock_set;
    bool foreign_clocks;
    VEC(struct cache *) caches;   /* by kind id; NULL: none */
    VEC(str) filters;             /* of these, by number too */
    VEC(struct cache *) optional; /* of them */
    struct named_caches named;
    VEC(struct config) configs; /* a few */
    VEC(struct controller *) controllers;
    struct intents intents;
    struct unsure unsure;
    struct disputes disputes;
    size_t n_failing; /* keys with failures, of all controllers */
    usec latency;     /* of writes, on average */
    usec stall_timeout;
    bool started;
    bool standby;
    bool synced;
    size_t rotation; /* the controller whose turn is next */
    struct loop_task turn;
    struct loop_timer patience; /* of a controller that waits for others */
    struct kinds_listener kinds;
    struct loop_task kinds_task;
    ledger_fn *ledger;
    void *ledger_ctx;
    void (*journal)(void *ctx, str line);
    void *journal_ctx;
    struct journal *kept; /* decisions by object; may be NULL */
    bool forgetful;
    bool replanning; /* see runtime_replan */
    struct rng rng;  /* of the forgetful */
};

/* ---- world ---- */

static struct world world_of(struct runtime *r)
{
    return (struct world){.now = clock_wall(r->clock),
                          .clock = r->clock,
                          .foreign_clocks = r->foreign_clocks,
                          .runtime = r};
}

struct world runtime_world(struct runtime *r)
{
    return world_of(r);
}

static struct cache *find_cache(const struct runtime *r, const struct kind *k)
{
    size_t id = kind_id(k);
    return id < r->caches.len ? r->caches.p[id] : NULL;
}

/* Where this object is found, if it is. */
static struct cache *find_cache_of(const struct runtime *r, const struct kind *k, str ns, str name)
{
    struct cache *c = named_find(&r->named, k, ns, name);
    return c ? c : find_cache(r, k);
}

struct cache *world_cache(const struct world *w, const struct kind *k)
{
    return find_cache(w->runtime, k);
}

const void *world_config(const struct world *w, const void *tag)
{
    const struct runtime *r = w->runtime;
    for (size_t i = 0; i < r->configs.len; i++) {
        if (r->configs.p[i].tag == tag)
            return r->configs.p[i].data;
    }
    return NULL;
}

static struct cache *must_cache(const struct world *w, const struct kind *k)
{
    struct cache *c = world_cache(w, k);
    if (!c)
        BUG("a planner reads a kind that its runtime does not cache");
    return c;
}

struct obj *world_get(const struct world *w, const struct kind *k, str ns, str name)
{
    struct cache *named = named_find(&w->runtime->named, k, ns, name);
    return cache_get(named ? named : must_cache(w, k), ns, name);
}

struct cache_iter world_owned(const struct world *w, const struct kind *k, str owner_uid)
{
    return cache_by(must_cache(w, k), cache_index_owner, owner_uid);
}

/* Once the cache shows it, it is terminating or gone and must not be counted twice. */
static bool is_pending(const struct world *w, const struct intent *i)
{
    const struct cache *c = find_cache_of(w->runtime, i->kind, i->ns, i->name);
    if (!c)
        return true;
    const struct obj *o = cache_get(c, i->ns, i->name);
    return o && str_eq(o->uid, i->uid) && !o->deleting;
}

bool world_is_intended(const struct world *w, str uid)
{
    const struct intent *i = intents_find(&w->runtime->intents, uid);
    return i && is_pending(w, i);
}

size_t world_intended_count(const struct world *w, str component_uid)
{
    const struct intent_component *c = intents_of(&w->runtime->intents, component_uid);
    size_t n = 0;
    if (!c)
        return 0;
    list_foreach (it, &c->intents)
        n += is_pending(w, list_entry(it, struct intent, link));
    return n;
}

bool world_is_unsure(const struct world *w, const struct kind *k, str ns, str name)
{
    return unsure_has(&w->runtime->unsure, k, ns, name, loop_now(w->runtime->loop));
}

bool world_has_unsure(const struct world *w)
{
    return !list_is_empty(&w->runtime->unsure.all);
}

static const struct failures *worth_telling(const struct failures *f)
{
    return f && failures_matter(f) ? f : NULL;
}

const struct failures *world_last_failure(const struct world *w, const struct key *key)
{
    const struct runtime *r = w->runtime;
    const struct failures *f = worth_telling(w->failed);
    for (size_t i = 0; !f && r->n_failing && i < r->controllers.len; i++) {
        const struct queue_item *it =
            queue_find(&r->controllers.p[i]->queue, key->kind, key->ns, key->name);
        f = it ? worth_telling(it->failed) : NULL;
    }
    return f;
}

/* ---- changes ---- */

static void wake(void *ctx)
{
    struct runtime *r = ctx;
    if (r->synced)
        loop_defer(r->loop, LOOP_PUBLISH, &r->turn);
}

static void on_ready(void *ctx)
{
    struct controller *c = ctx;
    metric_add(c->metrics.adds, 1);
    metric_set(c->metrics.depth, (double)c->queue.n_ready);
    wake(c->runtime);
}

static void on_change(void *ctx, const struct obj *old, const struct obj *new)
{
    struct subscription *s = ctx;
    struct world w = world_of(s->controller->runtime);
    s->map(s->controller, &w, old, new);
}

static bool is_own_change(const struct obj *old, const struct obj *new)
{
    if (!old || !new)
        return true;
    return old->generation != new->generation || old->deleting != new->deleting;
}

/* The first handler of every cache: writes that wait to be seen, and a key whose own object is no
 * longer the one planned for. */
static void on_own_change(void *ctx, const struct obj *old, const struct obj *new)
{
    struct runtime *r = ctx;
    for (size_t i = 0; new &&i < r->controllers.len; i++)
        executor_observe(&r->controllers.p[i]->executor, new);
    if (!is_own_change(old, new))
        return;
    const struct obj *o = new ? new : old;
    for (size_t i = 0; i < r->controllers.len; i++) {
        struct queue *q = &r->controllers.p[i]->queue;
        struct queue_item *it = q->items.len ? queue_find(q, o->kind, o->ns, o->name) : NULL;
        if (!it)
            continue;
        struct run *run = it->run;
        if (!run && it->retry_at) {
            queue_expedite(it);
            continue;
        }
        queue_unpace(it);
        if (run && run_is_outdated(run, new))
            run_drop(run);
    }
}

void controller_enqueue(struct controller *c, const struct kind *k, str ns, str name)
{
    queue_add(&c->queue, k, ns, name);
}

void map_self(struct controller *c, const struct world *w, const struct obj *old,
              const struct obj *new)
{
    const struct obj *o = new ? new : old;
    controller_enqueue(c, o->kind, o->ns, o->name);
}

/* Does the controller plan keys of this kind? When it watches none with map_self we cannot say. */
static bool plans_kind(const struct controller *c, const struct kind *k)
{
    bool any = false;
    for (size_t i = 0; i < c->def.n_watches; i++) {
        if (c->def.watches[i].map != map_self)
            continue;
        if (c->def.watches[i].kind == k)
            return true;
        any = true;
    }
    return !any;
}

static void enqueue_owner(struct controller *c, const struct obj *o)
{
    jval ref = obj_controller_ref(o);
    if (j_is_absent(ref))
        return;
    str group, version;
    api_version_split(jstr(jgetc(ref, "apiVersion")), &group, &version);
    const struct kind *k = kind_by_name(group, version, jstr(jgetc(ref, "kind")));
    str name = jstr(jgetc(ref, "name"));
    if (!k || !name.len || !plans_kind(c, k))
        return;
    controller_enqueue(c, k, kind_is(k, KIND_NAMESPACED) ? o->ns : STR_NONE, name);
}

void map_controller_owner(struct controller *c, const struct world *w, const struct obj *old,
                          const struct obj *new)
{
    if (old && (!new || !str_eq(old->owner_uid, new->owner_uid)))
        enqueue_owner(c, old);
    if (new)
        enqueue_owner(c, new);
}

/* ---- planning ---- */

static void write_journal(const struct controller *c, const struct queue_item *it,
                          const struct plan *p)
{
    struct runtime *r = c->runtime;
    if ((!p->writes.len && !p->acts.len) || (!r->journal && !log_enabled(LOG_LEVEL_DEBUG)))
        return;
    struct strbuf b = STRBUF_INIT(JOURNAL_MAX);
    plan_print_line(p, loop_now(r->loop), c->def.name, it->ns, it->name, &b);
    if (r->journal)
        r->journal(r->journal_ctx, strbuf_str(&b));
    else
        log_debug("plan", LOG_S("plan", strbuf_str(&b)));
    strbuf_done(&b);
}

/* The delay a plan asked for → monotonic due time; 0 stays 0. */
static usec due_of(struct runtime *r, usec delay)
{
    return delay ? loop_now(r->loop) + MAX(delay, LOOK_LEAST) : 0;
}

static usec earlier(usec a, usec b)
{
    return !a ? b : !b ? a : MIN(a, b);
}

/* The run's key while it is under way. */
struct job {
    struct controller *controller;
    struct queue_item *item;
    usec look_at; /* monotonic; 0: none */
    bool refused; /* part of the plan was, by the ledger */
    bool waits;   /* part of the plan does, for others */
};

/* Writes that somebody waits for are under way. */
static bool is_writing(const struct runtime *r)
{
    for (size_t i = 0; i < r->controllers.len; i++) {
        const struct controller *c = r->controllers.p[i];
        if (!c->def.patience && c->executor.in_flight > c->executor.patient)
            return true;
    }
    return false;
}

static usec patience_of(const struct runtime *r)
{
    return MIN(MAX(PATIENT_WRITES * r->latency, PATIENT_MIN), PATIENT_MAX);
}

static void send_events(struct controller *c, const struct run *run)
{
    const struct plan *p = &run->plan;
    for (size_t i = 0; i < p->events.len; i++) {
        const struct plan_event *e = &p->events.p[i];
        bool done = run->dropped ? e->n_writes > 0 && run_has_done(run, e->stage) : !run->failed;
        /* What was done can be told later, where the server has enough to do. */
        recorder_hold(c->recorder, !e->warning && is_writing(c->runtime) &&
                                       patience_of(c->runtime) > PATIENT_MIN);
        if (done || (e->warning && !run->dropped))
            recorder_event(c->recorder, e->about, e->warning, e->reason, e->message);
    }
}

/* What a key's writes came to is to be told, or no longer. */
static void tell_others(struct controller *c, const struct queue_item *it)
{
    struct runtime *r = c->runtime;
    for (size_t i = 0; i < r->controllers.len; i++) {
        struct controller *o = r->controllers.p[i];
        for (size_t k = 0; o != c && k < o->def.n_watches; k++) {
            if (o->def.watches[k].kind == it->kind && o->def.watches[k].map == map_self)
                controller_enqueue(o, it->kind, it->ns, it->name);
        }
    }
}

static void remember_failures(struct controller *c, struct queue_item *it, const struct run *run)
{
    if (!run->failures.n)
        return;
    bool told = worth_telling(it->failed);
    c->runtime->n_failing += !it->failed;
    it->failed = failures_keep(&run->failures, it->failed);
    if (!told && worth_telling(it->failed))
        tell_others(c, it);
}

/* The plan saw them: one more look, without. */
static void forget_failures(struct controller *c, struct queue_item *it)
{
    if (!it->failed)
        return;
    bool told = worth_telling(it->failed);
    free(it->failed);
    it->failed = NULL;
    it->dirty = true;
    c->runtime->n_failing--;
    if (told)
        tell_others(c, it);
}

static void on_finished(void *ctx, struct run *run)
{
    struct controller *c = ctx;
    struct job *job = run->owner;
    struct queue_item *it = job->item;
    if (run->dropped) {
        send_events(c, run);
        it->dirty = true;
        queue_finish(it, 0);
        return;
    }
    if (run->failed) {
        metric_add(c->metrics.retries, 1);
        remember_failures(c, it, run);
        send_events(c, run);
        if (run->met_others)
            queue_conflict(it, run->least);
        else
            queue_fail(it, run->least);
        return;
    }
    forget_failures(c, it);
    send_events(c, run);
    if (job->refused)
        queue_defer(it, REFUSED_BASE, REFUSED_MAX, job->look_at);
    else
        queue_finish(it, job->look_at);
}

/* Count-only status writes have their own pace. True: too soon, leave it out. */
static bool is_too_soon(struct job *job, const struct plan_write *w)
{
    if (!w->counts_only)
        return false;
    usec now = loop_now(job->controller->runtime->loop);
    usec due = job->item->counts_at ? job->item->counts_at + COUNTS_INTERVAL : 0;
    if (due > now) {
        job->look_at = earlier(job->look_at, due);
        return true;
    }
    job->item->counts_at = now;
    return false;
}

/* On the key's own object, once per plan: the refusals of one plan have one cause. */
static void report_refusal(struct job *job, str reason)
{
    struct controller *c = job->controller;
    const struct queue_item *it = job->item;
    const struct cache *own = find_cache(c->runtime, it->kind);
    const struct obj *about = own ? cache_get(own, it->ns, it->name) : NULL;
    if (about && !job->refused)
        recorder_event(c->recorder, about, false, STR("DisruptionRefused"), reason);
    job->refused = true;
    c->refusals++;
    metric_add(c->metrics.refusals, 1);
}

static bool is_refused(struct job *job, const struct world *w, const struct plan_write *write)
{
    struct runtime *r = job->controller->runtime;
    if (!r->ledger || !write->component_uid.len || write->user_scale_in || write->not_serving)
        return false;
    struct strbuf reason = STRBUF_INIT(REASON_MAX);
    bool refused = !r->ledger(r->ledger_ctx, w, write, &reason);
    if (refused)
        report_refusal(job, strbuf_str(&reason));
    strbuf_done(&reason);
    return refused;
}

/* A write that can wait, and others that cannot. True: leave it out. */
static bool is_patient(struct job *job, const struct plan_write *w)
{
    struct runtime *r = job->controller->runtime;
    struct queue_item *it = job->item;
    if (!w->patient)
        return false;
    usec now = loop_now(r->loop);
    job->waits = is_writing(r);
    usec since = it->patient_since ? it->patient_since : now;
    usec due = job->waits ? since + MAX(patience_of(r), w->patience) : it->told_until;
    if (due <= now) {
        it->told_until = now + MIN(PATIENT_WRITES * r->latency, PATIENT_MAX);
        return job->waits = false;
    }
    job->look_at = earlier(job->look_at, due);
    return true;
}

/* Somebody keeps undoing it. True: leave it out for now. */
static bool is_disputed(struct job *job, const struct plan_write *w)
{
    struct runtime *r = job->controller->runtime;
    usec due = disputes_hold(&r->disputes, w, find_cache(r, w->kind), job->controller->recorder,
                             loop_now(r->loop));
    job->look_at = earlier(job->look_at, due);
    return due > 0;
}

/* What tells of a write that waits does so, too: the plan that makes it says it again. */
static void forget_events(struct plan *p, size_t write)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->events.len; i++) {
        if (p->events.p[i].warning || p->events.p[i].n_writes <= write)
            p->events.p[kept++] = p->events.p[i];
    }
    p->events.len = kept;
}

/* Removes what may not be sent now. Deletes are booked one by one as they pass, so that the ledger
 * sees those of the same plan too. */
static void admit(struct job *job, const struct world *w, struct plan *p)
{
    size_t kept = 0;
    for (size_t i = 0; i < p->writes.len; i++) {
        struct plan_write *write = &p->writes.p[i];
        if (is_patient(job, write) || is_disputed(job, write)) {
            forget_events(p, i);
            continue;
        }
        if (is_too_soon(job, write) || is_refused(job, w, write))
            continue;
        executor_book(&job->controller->executor, write);
        p->writes.p[kept++] = *write;
    }
    p->writes.len = kept;
    struct queue_item *it = job->item;
    if (!job->waits)
        it->patient_since = 0;
    else if (!it->patient_since)
        it->patient_since = loop_now(job->controller->runtime->loop);
}

static void plan_item(struct controller *c, struct queue_item *it)
{
    struct runtime *r = c->runtime;
    struct world w = world_of(r);
    struct key key = {it->kind, it->ns, it->name};
    w.failed = it->failed;
    const struct cache *own = find_cache(r, it->kind);
    struct run *run = run_new(own ? cache_get(own, it->ns, it->name) : NULL);
    struct job *job = arena_new(&run->arena, struct job);
    *job = (struct job){.controller = c, .item = it};
    run->owner = job;
    it->run = run;
    c->plans++;
    metric_add(c->metrics.plans, 1);
    usec begin = loop_clock(r->loop);
    c->def.plan(&w, &key, c->def.ctx, &run->plan);
    metric_observe(c->metrics.latency, (double)(loop_clock(r->loop) - begin) / USEC_PER_SEC);
    job->look_at = due_of(r, run->plan.look_again);
    admit(job, &w, &run->plan);
    write_journal(c, it, &run->plan);
    if (r->kept)
        journal_note(r->kept, loop_wall(r->loop), c->def.name, &run->plan);
    metric_add(c->metrics.writes, (double)run->plan.writes.len);
    for (size_t i = 0; i < run->plan.acts.len; i++)
        c->def.act(c->def.ctx, &w, &key, &run->plan.acts.p[i]);
    if (run->plan.writes.len) {
        executor_accept(&c->executor, run);
        return;
    }
    on_finished(c, run);
    run_free(run);
}

/* What it does not see yet is not to be taken for missing. */
static bool is_blind(const struct controller *c)
{
    for (size_t i = 0; i < c->late.len; i++)
        if (!cache_is_synced(c->late.p[i]) && !cache_is_absent(c->late.p[i]))
            return true;
    return false;
}

static bool can_plan(const struct controller *c)
{
    return c->queue.n_ready && executor_has_room(&c->executor) && !is_blind(c);
}

/* Some controller that does not wait for others has work. */
static bool is_busy(const struct runtime *r)
{
    for (size_t i = 0; i < r->controllers.len; i++) {
        const struct controller *c = r->controllers.p[i];
        if (!c->def.patience && (c->queue.n_ready || c->executor.in_flight))
            return true;
    }
    return false;
}

/* It lets others go first; it is woken when they are done, or when its patience ends. */
static bool waits_for_others(struct controller *c)
{
    struct runtime *r = c->runtime;
    if (!c->def.patience || !is_busy(r))
        return false;
    usec due = queue_ready_since(&c->queue) + c->def.patience;
    if (due <= loop_now(r->loop))
        return false;
    if (!loop_timer_is_set(&r->patience) || due < r->patience.due)
        loop_timer_set(&r->patience, due);
    return true;
}

static void on_patience_over(struct loop_timer *t)
{
    wake(container_of(t, struct runtime, patience));
}

static struct queue_item *take_item(struct controller *c)
{
    struct queue_item *it = queue_pop(&c->queue);
    metric_observe(c->metrics.wait, (double)c->queue.stats.wait_last / USEC_PER_SEC);
    metric_set(c->metrics.depth, (double)c->queue.n_ready);
    return it;
}

/* Simulations: derived state goes at random, and nothing but time may be lost. */
static void forget(struct runtime *r)
{
    if (r->forgetful && !r->replanning && rng_chance(&r->rng, FORGET_PERCENT))
        runtime_drop_folds(r);
}

/* Nothing is under way that somebody waits for: now is the time to tell. */
static void calm_down(struct runtime *r)
{
    if (is_writing(r))
        return;
    for (size_t i = 0; i < r->controllers.len; i++) {
        queue_calm(&r->controllers.p[i]->queue);
        recorder_release(r->controllers.p[i]->recorder);
    }
}

static void turn(struct loop_task *t)
{
    struct runtime *r = container_of(t, struct runtime, turn);
    forget(r);
    calm_down(r);
    size_t n = r->controllers.len;
    unsigned budget = TURN_BUDGET;
    for (size_t skipped = 0; skipped < n && budget;) {
        struct controller *c = r->controllers.p[r->rotation];
        r->rotation = (r->rotation + 1) % n;
        if (!can_plan(c) || waits_for_others(c)) {
            skipped++;
            continue;
        }
        skipped = 0;
        budget--;
        plan_item(c, take_item(c));
    }
    if (!budget)
        wake(r);
}

/* ---- life cycle ---- */

/* Kinds came or went: caches of those that went stop, controllers of every kind add the new ones,
 * and then what is not started yet is. */
static void follow_kinds(struct loop_task *t)
{
    struct runtime *r = container_of(t, struct runtime, kinds_task);
    for (size_t i = 0; i < r->caches.len; i++)
        if (r->caches.p[i] && kind_is(kinds_at(i), KIND_RETIRED))
            cache_stop(r->caches.p[i]);
    for (size_t i = 0; i < r->controllers.len; i++)
        if (r->controllers.p[i]->def.on_kinds)
            r->controllers.p[i]->def.on_kinds(r->controllers.p[i]);
    for (size_t i = 0; i < r->caches.len; i++)
        if (r->caches.p[i] && !kind_is(kinds_at(i), KIND_RETIRED) &&
            !cache_is_started(r->caches.p[i]))
            cache_start(r->caches.p[i]);
    wake(r);
}

static void on_kinds_changed(struct kinds_listener *l)
{
    struct runtime *r = container_of(l, struct runtime, kinds);
    if (r->started)
        loop_defer(r->loop, LOOP_APPLY, &r->kinds_task);
}

/* Plans may have read times that were written while the clock was being set. */
static void on_clock_set(struct clock_listener *l)
{
    struct runtime *r = container_of(l, struct runtime, clock_set);
    if (!loop_is_virtual(r->loop))
        log_warn("the wall clock was set; delays go on as if it had not been");
    for (size_t i = 0; i < r->controllers.len; i++)
        queue_look_now(&r->controllers.p[i]->queue);
}

void runtime_set_clock(struct runtime *r, struct clock *clock)
{
    BUG_ON(r->started);
    clock_unlisten(&r->clock_set);
    r->clock = clock;
    clock_listen(clock, &r->clock_set);
}

void runtime_set_foreign_clocks(struct runtime *r)
{
    r->foreign_clocks = true;
}

struct clock *runtime_clock(struct runtime *r)
{
    return r->clock;
}

struct runtime *runtime_new(struct loop *l, struct api *cache_api)
{
    struct runtime *r = xnew(struct runtime);
    r->loop = l;
    r->api = cache_api;
    r->clock = r->own_clock = clock_new(l, 0);
    r->clock_set.fn = on_clock_set;
    clock_listen(r->clock, &r->clock_set);
    loop_task_init(&r->turn, turn);
    loop_timer_init(l, &r->patience, on_patience_over);
    loop_task_init(&r->kinds_task, follow_kinds);
    r->kinds.changed = on_kinds_changed;
    kinds_listen(&r->kinds);
    unsure_init(&r->unsure);
    return r;
}

void runtime_configure(struct runtime *r, const void *tag, const void *data, size_t size)
{
    struct config c = {tag, xmalloc(size)};
    memcpy(c.data, data, size);
    for (size_t i = 0; i < r->configs.len; i++) {
        if (r->configs.p[i].tag != tag)
            continue;
        free(r->configs.p[i].data);
        r->configs.p[i] = c;
        return;
    }
    *vec_push(&r->configs) = c;
}

static bool is_lacking(const struct runtime *r, const struct cache *c)
{
    if (kind_is(cache_kind(c), KIND_DEFINED))
        return cache_is_absent(c);
    for (size_t i = 0; i < r->optional.len; i++) {
        if (r->optional.p[i] == c)
            return cache_is_absent(c);
    }
    return false;
}

static bool all_synced(const struct runtime *r)
{
    for (size_t i = 0; i < r->caches.len; i++) {
        const struct cache *c = r->caches.p[i];
        if (c && !cache_is_synced(c) && !is_lacking(r, c))
            return false;
    }
    return r->started && named_are_synced(&r->named);
}

static void on_synced(void *ctx)
{
    struct runtime *r = ctx;
    if (r->synced)
        wake(r); /* somebody may have waited for this one */
    if (r->synced || r->standby || !all_synced(r))
        return;
    r->synced = true;
    wake(r);
}

static void reserve_kind(struct runtime *r, const struct kind *k)
{
    while (r->caches.len <= kind_id(k)) {
        *vec_push(&r->caches) = NULL;
        *vec_push(&r->filters) = STR_NONE;
    }
}

struct cache *runtime_cache(struct runtime *r, const struct kind *k)
{
    reserve_kind(r, k);
    struct cache *c = r->caches.p[kind_id(k)];
    struct cache_options o = {
        .kind = k, .label_selector = r->filters.p[kind_id(k)], .stall_timeout = r->stall_timeout};
    if (c)
        return c;
    c = cache_new(r->loop, r->api, &o);
    cache_add_handler(c, on_own_change, r);
    cache_on_synced(c, on_synced, r);
    if (kind_is(k, KIND_DEFINED))
        cache_on_absent(c, on_synced, r);
    r->caches.p[kind_id(k)] = c;
    return c;
}

void runtime_filter(struct runtime *r, const struct kind *k, str labels)
{
    reserve_kind(r, k);
    BUG_ON(r->caches.p[kind_id(k)]);
    r->filters.p[kind_id(k)] = labels;
}

struct cache *runtime_cache_optional(struct runtime *r, const struct kind *k)
{
    struct cache *c = runtime_cache(r, k);
    *vec_push(&r->optional) = c;
    cache_on_absent(c, on_synced, r);
    return c;
}

struct cache *runtime_cache_named(struct runtime *r, const struct kind *k, str ns, str name)
{
    struct cache *c = named_find(&r->named, k, ns, name);
    if (c)
        return c;
    BUG_ON(r->started);
    c = named_add(&r->named, r->loop, r->api, k, ns, name, r->stall_timeout);
    cache_add_handler(c, on_own_change, r);
    cache_on_synced(c, on_synced, r);
    return c;
}

static struct cache *env_cache(void *ctx, const struct kind *k, str ns, str name)
{
    struct controller *c = ctx;
    return find_cache_of(c->runtime, k, ns, name);
}

static void env_room(void *ctx)
{
    struct controller *c = ctx;
    if (c->queue.n_ready || c->executor.in_flight == c->executor.patient)
        wake(c->runtime);
}

struct controller *runtime_add(struct runtime *r, const struct controller_def *def, struct api *api)
{
    struct controller *c = xnew(struct controller);
    c->runtime = r;
    c->def = *def;
    controller_metrics_init(&c->metrics, str_of(def->name));
    queue_init(&c->queue, r->loop, on_ready, c);
    c->queue.min_interval = def->min_interval;
    struct executor_env env = {env_cache,   on_finished, env_room,     c,
                               &r->intents, &r->unsure,  &r->disputes, &r->latency};
    unsigned limit = def->max_in_flight ? def->max_in_flight : IN_FLIGHT_DEFAULT;
    const char *source = def->source ? def->source : def->name;
    executor_init(&c->executor, r->loop, api, source, limit, &env);
    c->recorder = recorder_new(r->loop, api, source);
    for (size_t i = 0; i < def->n_watches; i++)
        controller_watch(c, def->watches[i].kind, def->watches[i].map);
    *vec_push(&r->controllers) = c;
    if (def->on_kinds)
        def->on_kinds(c);
    return c;
}

static void subscribe(struct controller *c, struct cache *cache, map_fn *map)
{
    struct subscription *s = xnew(struct subscription);
    *s = (struct subscription){c, cache, map};
    *vec_push(&c->subscriptions) = s;
    cache_add_handler(cache, on_change, s);
}

void controller_watch_named(struct controller *c, const struct kind *k, str ns, str name,
                            map_fn *map)
{
    subscribe(c, runtime_cache_named(c->runtime, k, ns, name), map);
}

void controller_watch(struct controller *c, const struct kind *k, map_fn *map)
{
    struct cache *cache = runtime_cache(c->runtime, k);
    subscribe(c, cache, map);
    if (c->runtime->started || kind_is(k, KIND_DEFINED))
        *vec_push(&c->late) = cache;
}

struct runtime *controller_runtime(struct controller *c)
{
    return c->runtime;
}

void *controller_ctx(const struct controller *c)
{
    return c->def.ctx;
}

void runtime_start(struct runtime *r)
{
    BUG_ON(r->started);
    r->started = true;
    for (size_t i = 0; i < r->caches.len; i++) {
        if (r->caches.p[i] && kind_is(kinds_at(i), KIND_RETIRED))
            cache_stop(r->caches.p[i]);
        else if (r->caches.p[i])
            cache_start(r->caches.p[i]);
    }
    named_start(&r->named);
    on_synced(r); /* without caches there is nothing to wait for */
}

void runtime_set_standby(struct runtime *r)
{
    r->standby = true;
    r->synced = false;
}

void runtime_lead(struct runtime *r)
{
    if (!r->standby)
        return;
    r->standby = false;
    for (size_t i = 0; i < r->caches.len; i++) {
        if (r->caches.p[i])
            cache_resync(r->caches.p[i]);
    }
    named_resync(&r->named);
    on_synced(r);
}

bool runtime_is_synced(const struct runtime *r)
{
    return r->synced;
}

bool runtime_is_idle(const struct runtime *r)
{
    for (size_t i = 0; i < r->controllers.len; i++) {
        const struct controller *c = r->controllers.p[i];
        if (!queue_is_idle(&c->queue) || recorder_in_flight(c->recorder))
            return false;
    }
    return r->synced;
}

static void controller_free(struct controller *c)
{
    metric_set(c->metrics.depth, 0);
    executor_done(&c->executor);
    queue_done(&c->queue);
    recorder_free(c->recorder);
    for (size_t i = 0; i < c->subscriptions.len; i++)
        free(c->subscriptions.p[i]);
    vec_done(&c->subscriptions);
    vec_done(&c->late);
    if (c->def.ctx_free)
        c->def.ctx_free(c->def.ctx);
    free(c);
}

void runtime_free(struct runtime *r)
{
    if (!r)
        return;
    loop_task_cancel(&r->turn);
    loop_timer_cancel(&r->patience);
    loop_task_cancel(&r->kinds_task);
    kinds_unlisten(&r->kinds);
    for (size_t i = 0; i < r->controllers.len; i++)
        controller_free(r->controllers.p[i]);
    for (size_t i = 0; i < r->caches.len; i++)
        cache_free(r->caches.p[i]);
    named_done(&r->named);
    intents_done(&r->intents);
    unsure_done(&r->unsure);
    disputes_done(&r->disputes);
    for (size_t i = 0; i < r->configs.len; i++)
        free(r->configs.p[i].data);
    vec_done(&r->configs);
    vec_done(&r->controllers);
    vec_done(&r->caches);
    vec_done(&r->filters);
    vec_done(&r->optional);
    clock_unlisten(&r->clock_set);
    clock_free(r->own_clock);
    free(r);
}

void runtime_drop_folds(struct runtime *r)
{
    for (size_t i = 0; i < r->caches.len; i++) {
        if (r->caches.p[i])
            cache_drop_folds(r->caches.p[i]);
    }
}

static void map_all(struct subscription *s)
{
    struct world w = world_of(s->controller->runtime);
    const struct obj *o;
    for (struct cache_iter it = cache_all(s->cache, STR_NONE); (o = cache_next(&it));)
        s->map(s->controller, &w, NULL, o);
}

void runtime_replan(struct runtime *r, bool begin)
{
    r->replanning = begin;
    for (size_t i = 0; begin && i < r->controllers.len; i++) {
        struct controller *c = r->controllers.p[i];
        for (size_t k = 0; !c->def.samples && k < c->subscriptions.len; k++)
            map_all(c->subscriptions.p[k]);
    }
}

void runtime_set_forgetful(struct runtime *r, uint64_t seed)
{
    r->forgetful = true;
    rng_seed(&r->rng, seed);
}

void runtime_note_unsure(struct runtime *r, const struct kind *k, str ns, str name)
{
    unsure_add(&r->unsure, k, ns, name, loop_now(r->loop));
}

void runtime_set_stall_timeout(struct runtime *r, usec timeout)
{
    r->stall_timeout = timeout;
}

void runtime_set_ledger(struct runtime *r, ledger_fn *fn, void *ctx)
{
    r->ledger = fn;
    r->ledger_ctx = ctx;
}

void runtime_set_journal(struct runtime *r, void (*fn)(void *ctx, str line), void *ctx)
{
    r->journal = fn;
    r->journal_ctx = ctx;
}

void runtime_keep_journal(struct runtime *r, struct journal *j)
{
    r->kept = j;
}

struct loop *runtime_loop(struct runtime *r)
{
    return r->loop;
}

struct controller_stats controller_stats(const struct controller *c)
{
    return (struct controller_stats){
        .plans = c->plans,
        .writes = c->executor.writes,
        .failures = c->queue.stats.failures,
        .refusals = c->refusals,
        .queued = c->queue.n_ready,
        .in_flight = c->executor.in_flight,
        .window = c->executor.window,
        .wait_sum = c->queue.stats.wait_sum,
        .wait_max = c->queue.stats.wait_max,
    };
}

const char *controller_name(const struct controller *c)
{
    return c->def.name;
}
