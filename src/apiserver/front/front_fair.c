/*
 * Who is served when, and who is not: calls wait in line by user (fair.h), and each turn of the
 * loop serves as many as make up about BUDGET microseconds of work, so that whoever comes in the
 * middle of somebody's flood waits for a turn and not for the flood. The costs are estimates of
 * what a call will keep the loop busy with; a write's grows with those who watch its kind, since
 * each of them will be written to.
 *
 * One user may have so many calls, watches, connections and bytes; what is beyond is answered with
 * 429, and its connection is not read for as long as that answer asks for patience: refusing should
 * not be what keeps the server busy. Above the limit of memory only the small requests of those
 * who hold little are taken, and whoever holds most is cut off.
 *
 * Users in system:masters and questions about health pass by all of this.
 */
#include "apiserver/front/front_impl.h"

#include <sys/resource.h>

#include "apiserver/request.h"
#include "base/log.h"
#include "base/metric.h"

enum {
    BUDGET = 250,   /* of a turn, microseconds */
    HEAVY = 2000,   /* objects, from which on it needs a seat */
    KEPT_BACK = 64, /* descriptors that are no connections */
    FEW = 8,        /* connections, as a program has that means well */
    SMALL = 256 << 10,
    LONG = 1000, /* microseconds, from which on a write has to keep its distance to the next */
    WATCH_MAY_HOLD = 1 << 19, /* when its client does not read */
};
#define RETRY_SECONDS "1"
#define REFUSED_PAUSE USEC_PER_SEC

static const struct front_limits defaults = {
    .connections = 10000,
    .user_requests = 1000,
    .user_watches = 2000,
    .memory = 1u << 30,
    .request_timeout = 60 * USEC_PER_SEC,
};

static struct metric rejected =
    METRIC_COUNTER("apiserver_flowcontrol_rejected_requests_total",
                   "Requests that were refused because their user asked too much.", "reason");

struct watched {
    const struct kind *kind; /* the key are its own bytes */
    size_t n;
};

/* ---- what it costs ---- */

static size_t watchers_of(const struct front *f, const struct kind *k)
{
    const struct watched *w = map_get(&f->watched, str_n((const char *)&k, sizeof(k)));
    return w ? w->n : 0;
}

/* As many objects as a list or the beginning of a watch may have to look at. */
static size_t objects_of(const struct call *c)
{
    enum { IN_A_NAMESPACE = 500 }; /* a guess */
    const struct api_request *q = c->route.request;
    size_t n = store_count(apiserver_store(c->front->server), c->route.kind);
    bool selects = q->label_selector.len || q->field_selector.len;
    if (q->limit > 0 && !selects && !c->route.is_watch)
        n = MIN(n, (size_t)q->limit);
    return q->ns.len ? MIN(n, (size_t)IN_A_NAMESPACE) : n;
}

static bool begins_with_state(const struct api_watch *w)
{
    return w->send_initial || !w->rv_given || w->rv == 0;
}

static size_t cost_of_path(const struct call *c)
{
    enum { PAGE = 50, DOCUMENT = 500, FIGURES = 1 };
    if (str_find(c->x->path, STR("metrics.k8s.io")) >= 0)
        return PAGE + FIGURES * store_count(apiserver_store(c->front->server), &kind_pod);
    return str_starts(c->x->path, STR("/openapi")) ? DOCUMENT : PAGE;
}

/* Members and objects, about: what defaults, validation and field managers work on, one by one, and
 * what a body can be full of. In protobuf nothing marks them: a large one is taken to be full. */
static size_t members_in(str body)
{
    enum { BLOCK = 128, ITEMS_PER_MEMBER = 16, LARGE = 16 << 10, FULL = 4, USUAL = 16 };
    size_t members = 0, items = 0, at = 0;
    if (str_starts(body, str_n("k8s", 4)))
        return body.len / (body.len > LARGE ? FULL : USUAL);
    for (; body.len - at >= BLOCK; at += BLOCK) {
        uint8_t marks = 0, others = 0; /* at most BLOCK, and quickly counted */
        for (size_t i = 0; i < BLOCK; i++) {
            marks += body.p[at + i] == ':' || body.p[at + i] == '{';
            others += body.p[at + i] == ',' || body.p[at + i] == '\n';
        }
        members += marks;
        items += others;
    }
    return members + items / ITEMS_PER_MEMBER;
}

/* The object that is written to, if it is there: a small patch may be one to a large object. What
 * stays as it is costs less than what comes. */
static size_t members_there(const struct call *c)
{
    enum { NODES_PER_MEMBER = 10 };
    const struct api_request *q = c->route.request;
    const struct obj *o =
        q->name.len ? store_newest(apiserver_store(c->front->server), c->route.kind, q->ns, q->name)
                    : NULL;
    if (!o)
        return 0;
    size_t nodes = (doc_memory(o->doc) - doc_text(o->doc).len) / sizeof(uint64_t);
    return nodes / NODES_PER_MEMBER;
}

struct cost {
    size_t all;    /* microseconds, about */
    size_t at_one; /* of these, what nobody can be served in between */
    bool is_heavy; /* it goes on for several turns */
};

static struct cost cost_of_write(const struct call *c)
{
    /* What objects usually have is in WRITE. */
    enum { WRITE = 100, BYTES_PER_USEC = 100, MEMBER = 2, USUAL = 256, EVENT = 2 };
    size_t events = EVENT * watchers_of(c->front, c->route.kind);
    if (c->route.request->verb == API_DELETE_COLLECTION)
        return (struct cost){.all = (WRITE + events) * (1 + objects_of(c))};
    size_t members = MAX(members_in(c->x->body), members_there(c));
    size_t one = WRITE + c->x->body.len / BYTES_PER_USEC +
                 (members > USUAL ? (members - USUAL) * MEMBER : 0);
    return (struct cost){.all = one + events, .at_one = one};
}

static struct cost cost_of(const struct call *c)
{
    enum { READ = 30, OBJECTS_PER_USEC = 5 };
    if (c->routed != ROUTE_RESOURCE)
        return (struct cost){.all = cost_of_path(c)};
    bool has_state = c->route.is_watch && begins_with_state(&c->route.watch);
    if (has_state || (c->route.request->verb == API_LIST && !c->route.is_watch)) {
        size_t n = objects_of(c);
        return (struct cost){.all = READ + (has_state ? n : n / OBJECTS_PER_USEC),
                             .is_heavy = n > HEAVY};
    }
    bool reads = c->route.is_watch || c->route.request->verb == API_GET;
    if (reads)
        return (struct cost){.all = READ};
    return cost_of_write(c);
}

/* ---- turns ---- */

static void turn_later(struct front *f)
{
    loop_defer(apiserver_loop(f->server), LOOP_APPLY, &f->turn_task);
}

static bool has_to_rest(struct call *c);
static void note_overrun(struct front *f, struct fair_flow *w, usec estimated, usec took);

/* Runs it; it may be gone afterwards. clock: processor time at the last look. Returns what it cost.
 */
static usec run_turn(struct front *f, struct call *c, usec *clock)
{
    struct fair_flow *w = fair_flow_get(&f->fair, c->turn.flow->name);
    usec estimated = c->turn.cost, began = *clock;
    c->run(c);
    *clock = loop_cpu(apiserver_loop(f->server));
    usec took = *clock - began;
    if (took > estimated + LONG)
        note_overrun(f, w, estimated, took);
    fair_flow_put(&f->fair, w);
    return MAX(estimated, took);
}

static void on_turn(struct loop_task *t)
{
    struct front *f = container_of(t, struct front, turn_task);
    struct fair_item *i;
    usec clock = loop_cpu(apiserver_loop(f->server));
    for (usec spent = 0; spent < BUDGET && (i = fair_pop(&f->fair));) {
        struct call *c = container_of(i, struct call, turn);
        if (has_to_rest(c))
            continue;
        c->has_seat = c->has_seat || i->needs_seat;
        i->needs_seat = false;
        spent += run_turn(f, c, &clock);
    }
    if (fair_is_ready(&f->fair))
        turn_later(f);
}

static void release_seat(struct call *c)
{
    if (!c->has_seat)
        return;
    c->has_seat = false;
    fair_release_seat(&c->front->fair, c->turn.flow);
    turn_later(c->front);
}

static void push(struct call *c, size_t cost, bool is_heavy, void (*run)(struct call *c))
{
    c->run = run;
    c->turn.cost = (uint32_t)MIN(cost, (size_t)UINT32_MAX);
    c->turn.needs_seat = is_heavy;
    fair_push(&c->front->fair, &c->turn);
    turn_later(c->front);
}

static void on_again(struct loop_task *t)
{
    struct call *c = container_of(t, struct call, task);
    c->run(c);
}

void turns_again(struct call *c, uint32_t cost, void (*run)(struct call *c))
{
    if (c->turn.flow) {
        if (!fair_is_waiting(&c->turn))
            push(c, cost, false, run);
        return;
    }
    c->run = run;
    loop_defer(apiserver_loop(c->front->server), LOOP_PUBLISH, &c->task);
}

/* Few calls have to, and none that becomes a watch. */
struct rest {
    struct loop_timer timer;
    struct call *call;
};

static bool is_resting(const struct call *c)
{
    return c->rest && loop_timer_is_set(&c->rest->timer);
}

static void on_rest_over(struct loop_timer *t)
{
    struct call *c = container_of(t, struct rest, timer)->call;
    push(c, c->turn.cost, c->turn.needs_seat, call_serve);
}

static void rest_until(struct call *c, usec at)
{
    if (!c->rest) {
        c->rest = arena_new(&c->arena, struct rest);
        c->rest->call = c;
        loop_timer_init(apiserver_loop(c->front->server), &c->rest->timer, on_rest_over);
    }
    loop_timer_set(&c->rest->timer, at);
}

void turns_cancel(struct call *c)
{
    /* What was not done need not be made up for. */
    if (is_resting(c)) {
        c->turn.flow->paid_off -= c->long_time;
        loop_timer_cancel(&c->rest->timer);
    }
    fair_remove(&c->front->fair, &c->turn);
    loop_task_cancel(&c->task);
}

/* ---- refusals ---- */

/* In kube-apiserver's words. */
static void reject(struct call *c, const char *reason)
{
    struct http_header h[FRONT_MAX_HEADERS];
    size_t n = call_headers(c, STR("text/plain; charset=utf-8"), h);
    h[n++] = (struct http_header){STR("retry-after"), STR(RETRY_SECONDS)};
    h[n++] = (struct http_header){STR("x-content-type-options"), STR("nosniff")};
    metric_add(metric_with(&rejected, str_of(reason)), 1);
    http_pause(c->x, REFUSED_PAUSE);
    call_send(c, 429, h, n, slice_static(STR("Too many requests, please try again later.\n")));
}

size_t turns_held(const struct front *f)
{
    return f->held + (f->http ? http_server_held(f->http) : 0);
}

static size_t size_of(const struct call *c)
{
    return c->held + (c->x ? http_stream_pending(c->x) : 0);
}

/* The one that holds most is cut off; one in each turn of the loop, as that takes effect at its
 * end. */
static void shed(struct front *f)
{
    uint64_t turn = loop_iterations(apiserver_loop(f->server));
    struct call *most = NULL;
    if (f->shed_turn == turn)
        return;
    f->shed_turn = turn;
    list_foreach (it, &f->calls) {
        struct call *c = list_entry(it, struct call, link);
        if (c->turn.flow && c->x && size_of(c) > (most ? size_of(most) : SMALL))
            most = c;
    }
    if (!most)
        return;
    log_warn("a client was cut off, too much memory waits for clients",
             LOG_S("user", most->who.user.name), LOG_S("path", most->x->path),
             LOG_I("bytes", (int64_t)size_of(most)));
    metric_add(metric_with(&rejected, STR("cut-off")), 1);
    http_abort(most->x);
}

void turns_hold(struct call *c, ptrdiff_t bytes)
{
    struct front *f = c->front;
    c->held += (size_t)bytes;
    f->held += (size_t)bytes;
    if (!c->turn.flow)
        return;
    c->turn.flow->held += (size_t)bytes;
    if (bytes > 0 && turns_held(f) > f->limits.memory)
        shed(f);
}

/* ---- long writes ---- */

/* A write of megabytes, or of very many members, takes milliseconds that nobody can be served in.
 * So a user may have several at once (LONG_BURST in advance), but not without end: they get a small
 * share of the time, and where somebody else is there, too, few such writes a second, or who asks
 * meanwhile would meet one too often. `paid_off` is when what was written so far will have had its
 * time. */
static usec time_for(struct call *c, size_t cost)
{
    enum { SHARE_ALONE = 12, SHARE = 20 }; /* one part in so many */
    const usec LONG_GAP = 250 * USEC_PER_MSEC, OTHERS = USEC_PER_SEC;
    const struct front *f = c->front;
    usec others = f->last[f->last[0].flow == c->turn.flow].at;
    if (!others || loop_now(apiserver_loop(f->server)) - others > OTHERS)
        return (usec)cost * SHARE_ALONE;
    return MAX((usec)cost * SHARE, LONG_GAP);
}

static void note_who(struct front *f, const void *flow)
{
    if (f->last[0].flow != flow)
        f->last[1] = f->last[0];
    f->last[0].flow = flow;
    f->last[0].at = loop_now(apiserver_loop(f->server));
}

static void rest_done(struct front *f, struct fair_flow *w)
{
    list_remove(&w->resting);
    w->overran = false;
    fair_flow_put(&f->fair, w);
}

static void on_rested(struct loop_timer *t)
{
    struct front *f = container_of(t, struct front, rest_timer);
    usec now = loop_now(apiserver_loop(f->server));
    list_foreach (it, &f->resting) {
        struct fair_flow *w = list_entry(it, struct fair_flow, resting);
        if (w->paid_off <= now)
            rest_done(f, w);
    }
    if (!list_is_empty(&f->resting))
        loop_timer_set(t, now + USEC_PER_SEC);
}

/* The flow is remembered until it has made up for it: a new connection does not make a new user. */
static void owe(struct front *f, struct fair_flow *w, usec more)
{
    usec now = loop_now(apiserver_loop(f->server));
    w->paid_off = MAX(w->paid_off, now) + more;
    if (list_is_linked(&w->resting))
        return;
    list_push_back(&f->resting, &w->resting);
    (void)fair_flow_get(&f->fair, w->name);
    if (!loop_timer_is_set(&f->rest_timer))
        loop_timer_set(&f->rest_timer, now + USEC_PER_SEC);
}

/* Estimates are for what is usual. Where there are rules of users, a few bytes may take long, so
 * that whoever took longer makes up for that, too, and all their writes keep the distance. */
static void note_overrun(struct front *f, struct fair_flow *w, usec estimated, usec took)
{
    enum { SHARE = 20 };
    const usec MOST = 200 * USEC_PER_MSEC;
    owe(f, w, MIN(took - estimated, MOST) * SHARE);
    w->overran = true;
}

/* When the user's next long write may be. */
static usec next_long(const struct fair_flow *w)
{
    const usec LONG_BURST = USEC_PER_SEC;
    return w->paid_off - LONG_BURST;
}

/* When its turn may come; 0: now. */
static usec when_write(struct call *c, size_t cost)
{
    usec at = next_long(c->turn.flow);
    c->is_short_write = cost && cost <= LONG;
    if (cost <= LONG)
        return 0;
    c->long_time = time_for(c, cost);
    owe(c->front, c->turn.flow, c->long_time);
    return at;
}

/* What waits behind one that took too long waits for longer. */
static bool has_to_rest(struct call *c)
{
    const struct fair_flow *w = c->turn.flow;
    bool rests = c->is_short_write && w->overran && c->run == call_serve &&
                 next_long(w) > loop_now(apiserver_loop(c->front->server));
    if (rests)
        rest_until(c, next_long(w));
    return rests;
}

/* ---- entering ---- */

static bool is_master(const struct user *u)
{
    for (size_t i = 0; i < u->n_groups; i++)
        if (str_is(u->groups[i], "system:masters"))
            return true;
    return false;
}

static bool is_about_health(const struct call *c)
{
    str path = c->x->path;
    return str_starts(path, STR("/healthz")) || str_starts(path, STR("/livez")) ||
           str_starts(path, STR("/readyz"));
}

/* The connection is that of the first user who asks on it. False: they have too many. */
static bool own_connection(struct call *c)
{
    struct front *f = c->front;
    struct fair_flow *w = c->turn.flow;
    if (*c->x->conn_ctx)
        return true;
    if (w->n_connections >= f->limits.user_connections)
        return false;
    w->n_connections++;
    *c->x->conn_ctx = fair_flow_get(&f->fair, w->name);
    return true;
}

void turns_gone(void *front, void *flow)
{
    struct front *f = front;
    struct fair_flow *w = flow;
    w->n_connections--;
    fair_flow_put(&f->fair, w);
}

bool turns_is_greedy(void *front, void *flow)
{
    const struct fair_flow *w = flow;
    return w->n_connections > FEW;
}

/* NULL: it is not. */
static const char *why_too_much(const struct call *c)
{
    const struct front *f = c->front;
    const struct fair_flow *w = c->turn.flow;
    size_t more = w->held + c->x->body.len + (c->route.is_watch ? WATCH_MAY_HOLD : 0);
    if (more > f->limits.memory / 2 || (more > SMALL && turns_held(f) > f->limits.memory))
        return "memory";
    if (c->route.is_watch)
        return w->n_watches >= f->limits.user_watches ? "watches" : NULL;
    return w->n_calls >= f->limits.user_requests ? "queue-full" : NULL;
}

static void set_counted(struct call *c, bool on)
{
    struct fair_flow *w = c->turn.flow;
    if (c->is_counted == on)
        return;
    c->is_counted = on;
    *(c->route.is_watch ? &w->n_watches : &w->n_calls) += on ? 1 : (size_t)-1;
}

void turns_enter(struct call *c)
{
    struct front *f = c->front;
    bool is_health = is_about_health(c);
    if (!is_health && !is_master(&c->who.user))
        c->turn.flow = fair_flow_get(&f->fair, c->who.user.name);
    if (!is_health)
        note_who(f, c->turn.flow);
    if (!c->turn.flow) {
        call_serve(c);
        return;
    }
    const char *reason = NULL;
    if (!own_connection(c)) {
        reason = "connections";
        http_hang_up(c->x);
    } else {
        reason = why_too_much(c);
    }
    if (turns_held(f) > f->limits.memory)
        shed(f);
    if (reason) {
        reject(c, reason);
        return;
    }
    struct cost cost = cost_of(c);
    set_counted(c, true);
    turns_hold(c, (ptrdiff_t)c->x->body.len);
    usec at = when_write(c, cost.at_one);
    if (at <= loop_now(apiserver_loop(f->server))) {
        push(c, cost.all, cost.is_heavy, call_serve);
        return;
    }
    c->turn.cost = (uint32_t)MIN(cost.all, (size_t)UINT32_MAX);
    c->turn.needs_seat = cost.is_heavy;
    rest_until(c, at);
}

/* ---- afterwards ---- */

/* A watch has its seat until what was there is told, or its reader does not read. Those of one user
 * begin one after the other, so that what all of them have on its way stays small. */
static void on_replayed(struct loop_task *t)
{
    enum { PATIENCE = 50 };
    struct call *c = container_of(t, struct call, task);
    const struct api_watch *w = &c->route.watch;
    c->paused_turns = hub_is_paused(w) ? c->paused_turns + 1 : 0;
    if (hub_is_beginning(w) && c->paused_turns < PATIENCE)
        loop_defer(apiserver_loop(c->front->server), LOOP_PUBLISH, t);
    else
        release_seat(c);
}

void turns_watching(struct call *c, bool on)
{
    struct front *f = c->front;
    const struct kind *k = c->route.kind;
    struct watched *w = map_get(&f->watched, str_n((const char *)&k, sizeof(k)));
    list_remove(&c->due);
    if (!w) {
        w = xnew(struct watched);
        w->kind = k;
        (void)map_put(&f->watched, str_n((const char *)&w->kind, sizeof(w->kind)), w);
    }
    w->n += on ? 1 : (size_t)-1;
    if (w->n == 0) {
        (void)map_del(&f->watched, str_n((const char *)&w->kind, sizeof(w->kind)));
        free(w);
    }
    if (on && c->has_seat) {
        loop_task_init(&c->task, on_replayed);
        loop_defer(apiserver_loop(f->server), LOOP_PUBLISH, &c->task);
    }
}

void turns_answered(struct call *c)
{
    if (c->front)
        release_seat(c);
}

void turns_pass_on(struct call *c)
{
    list_remove(&c->due);
    turns_answered(c);
}

/* ---- time ---- */

static void expire(struct call *c)
{
    if (c->code || !c->x)
        return;
    if (fair_is_waiting(&c->turn) || is_resting(c)) {
        turns_cancel(c);
        reject(c, "time-out");
        return;
    }
    call_reply_status(c, status_new(&c->arena, 504, "Timeout",
                                    "Timeout: request did not complete within the allotted "
                                    "timeout"));
}

static void arm(struct front *f)
{
    if (list_is_empty(&f->unbegun))
        loop_timer_cancel(&f->timeout);
    else
        loop_timer_set(&f->timeout, list_entry(f->unbegun.next, struct call, due)->began +
                                        f->limits.request_timeout);
}

static void on_timeout(struct loop_timer *t)
{
    struct front *f = container_of(t, struct front, timeout);
    usec before = loop_now(apiserver_loop(f->server)) - f->limits.request_timeout;
    while (!list_is_empty(&f->unbegun)) {
        struct call *c = list_entry(f->unbegun.next, struct call, due);
        if (c->began > before)
            break;
        list_remove(&c->due);
        expire(c);
    }
    arm(f);
}

/* ---- life ---- */

void turns_begin(struct call *c)
{
    struct front *f = c->front;
    list_push_back(&f->calls, &c->link);
    list_push_back(&f->unbegun, &c->due);
    list_init(&c->turn.link);
    loop_task_init(&c->task, on_again);
    if (f->unbegun.next == &c->due)
        arm(f);
}

void turns_end(struct call *c)
{
    struct front *f = c->front;
    struct fair_flow *w = c->turn.flow;
    if (!f)
        return;
    list_remove(&c->link);
    list_remove(&c->due);
    if (list_is_empty(&f->unbegun))
        arm(f);
    turns_cancel(c);
    turns_hold(c, -(ptrdiff_t)c->held);
    if (!w)
        return;
    release_seat(c);
    set_counted(c, false);
    fair_flow_put(&f->fair, w);
}

/* Every connection needs a descriptor. */
static size_t most_connections(size_t asked)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur == RLIM_INFINITY)
        return asked;
    return MIN(asked, (size_t)MAX(r.rlim_cur, 2 * KEPT_BACK) - KEPT_BACK);
}

void turns_init(struct front *f, const struct front_limits *limits)
{
    struct front_limits *l = &f->limits;
    *l = *limits;
    l->connections = most_connections(l->connections ? l->connections : defaults.connections);
    l->user_connections = l->user_connections ? l->user_connections : MAX(l->connections / 4, 1);
    l->user_requests = l->user_requests ? l->user_requests : defaults.user_requests;
    l->user_watches = l->user_watches ? l->user_watches : defaults.user_watches;
    l->memory = l->memory ? l->memory : defaults.memory;
    l->request_timeout = l->request_timeout ? l->request_timeout : defaults.request_timeout;
    fair_init(&f->fair);
    list_init(&f->calls);
    list_init(&f->unbegun);
    loop_task_init(&f->turn_task, on_turn);
    list_init(&f->resting);
    loop_timer_init(apiserver_loop(f->server), &f->timeout, on_timeout);
    loop_timer_init(apiserver_loop(f->server), &f->rest_timer, on_rested);
}

void turns_done(struct front *f)
{
    /* Writes that nobody waits for go on without us. */
    for (struct list *it; !list_is_empty(&f->calls);) {
        it = f->calls.next;
        struct call *c = list_entry(it, struct call, link);
        turns_end(c);
        c->front = NULL;
    }
    loop_task_cancel(&f->turn_task);
    while (!list_is_empty(&f->resting))
        rest_done(f, list_entry(f->resting.next, struct fair_flow, resting));
    loop_timer_cancel(&f->rest_timer);
    loop_timer_cancel(&f->timeout);
    map_done(&f->watched);
    fair_done(&f->fair);
}
