/*
 * The pods that count, by name: each is either ready for one parent or for none, so a parent's
 * count is a sum that events keep up.
 *
 *   LIST ──ok──► WATCH ──clean end──► WATCH again
 *     ▲            │ gone, error
 *     └── PAUSE ◄──┘   (a list that fails pauses, too)
 */
#include "initc/initc.h"

#include "base/log.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "grove/types.h"

#define PAUSE_FIRST (500 * USEC_PER_MSEC)
#define PAUSE_MAX (30 * USEC_PER_SEC)
enum { MAX_PODS = 1000000 };

struct ready_pod {
    struct wait_parent *parent;
    bool stale; /* not seen by the list under way */
    char name[];
};

/* A list under way, which may outlive us and so has its selector with it. */
struct list_call {
    struct api_request request;
    struct initc *initc; /* NULL: gone */
    char selector[];
};

struct initc {
    struct loop *loop;
    struct api *api;
    struct initc_options o;
    struct strbuf selector;
    struct map ready;       /* name → struct ready_pod */
    struct list_call *list; /* under way */
    struct api_watch watch;
    bool watching;
    uint64_t rv;
    unsigned failures;
    struct loop_timer pause;
    struct loop_task finish;
    bool over;
};

/* ---- counting ---- */

static void log_progress(const struct wait_parent *p)
{
    log_info(p->ready < p->need ? "waiting" : "has enough ready pods",
             LOG_S("podclique", p->clique), LOG_I("ready", p->ready), LOG_I("needed", p->need));
}

/* The server selects, but that is nothing to rely on. */
static struct wait_parent *parent_of(const struct initc *c, const struct obj *pod)
{
    if (!str_eq(pod->ns, c->o.ns))
        return NULL;
    for (size_t i = 0; i < c->o.n_parents; i++) {
        if (wait_is_of(&c->o.parents[i], pod))
            return &c->o.parents[i];
    }
    return NULL;
}

/* Counts beyond what is needed are nobody's news. */
static void change(struct wait_parent *p, int64_t by)
{
    int64_t before = MIN(p->ready, p->need);
    p->ready += by;
    if (MIN(p->ready, p->need) != before)
        log_progress(p);
}

static void drop_pod(struct initc *c, str name)
{
    struct ready_pod *r = map_del(&c->ready, name);
    if (!r)
        return;
    change(r->parent, -1);
    free(r);
}

static void see_pod(struct initc *c, const struct obj *pod, bool exists)
{
    struct wait_parent *p = exists && wait_is_ready(pod) ? parent_of(c, pod) : NULL;
    struct ready_pod *r = map_get(&c->ready, pod->name);
    if (r && r->parent == p) {
        r->stale = false;
        return;
    }
    drop_pod(c, pod->name);
    if (!p || c->ready.len >= MAX_PODS)
        return;
    r = xcalloc(1, sizeof(*r) + pod->name.len);
    r->parent = p;
    memcpy(r->name, pod->name.p, pod->name.len);
    (void)map_put(&c->ready, str_n(r->name, pod->name.len), r);
    change(p, 1);
}

static void check_over(struct initc *c)
{
    if (c->over || !wait_is_over(c->o.parents, c->o.n_parents))
        return;
    c->over = true;
    loop_defer(c->loop, LOOP_PUBLISH, &c->finish);
}

static void on_finish(struct loop_task *t)
{
    struct initc *c = container_of(t, struct initc, finish);
    log_info("all pods this one starts after are ready");
    c->o.done(c->o.ctx);
}

/* ---- list and watch ---- */

static void retry(struct initc *c, const char *what, str why)
{
    unsigned doublings = MIN(c->failures, 10U);
    usec pause = MIN(PAUSE_FIRST << doublings, PAUSE_MAX);
    log_warn(what, LOG_S("error", why), LOG_I("again in ms", pause / USEC_PER_MSEC));
    c->failures++;
    loop_timer_set(&c->pause, loop_now(c->loop) + pause);
}

static void on_event(struct api_watch *w, enum api_event_type type, struct obj *obj, uint64_t rv,
                     bool initial_end)
{
    struct initc *c = w->ctx;
    (void)initial_end;
    c->rv = rv;
    c->failures = 0;
    if (obj)
        see_pod(c, obj, type != API_DELETED);
    check_over(c);
}

static void start_watch(struct initc *c)
{
    c->watch.rv = c->rv;
    c->watching = true;
    api_watch(c->api, &c->watch);
}

static void on_end(struct api_watch *w, const struct status *why)
{
    struct initc *c = w->ctx;
    c->watching = false;
    if (c->over)
        return;
    if (why)
        retry(c, "the watch of pods has ended", why->message);
    else
        start_watch(c);
}

/* What the list did not bring is gone. */
static void drop_stale(struct initc *c)
{
    VEC(str) gone = {0};
    str key;
    void *value;
    for (size_t it = 0; map_next(&c->ready, &it, &key, &value);) {
        if (((struct ready_pod *)value)->stale)
            *vec_push(&gone) = key;
    }
    for (size_t i = 0; i < gone.len; i++)
        drop_pod(c, gone.p[i]);
    vec_done(&gone);
}

static void mark_stale(struct initc *c)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(&c->ready, &it, &key, &value);)
        ((struct ready_pod *)value)->stale = true;
}

static void on_list(struct api_request *q, const struct api_reply *reply)
{
    struct list_call *call = q->ctx;
    struct initc *c = call->initc;
    free(call);
    if (!c)
        return;
    c->list = NULL;
    if (reply->status) {
        retry(c, "cannot list pods", reply->status->message);
        return;
    }
    mark_stale(c);
    for (size_t i = 0; i < reply->n_items; i++)
        see_pod(c, reply->items[i], true);
    drop_stale(c);
    c->rv = reply->rv;
    check_over(c);
    if (!c->over)
        start_watch(c);
}

static void start_list(struct initc *c)
{
    struct list_call *call = xcalloc(1, sizeof(*call) + c->selector.len);
    memcpy(call->selector, c->selector.p, c->selector.len);
    call->initc = c;
    call->request = (struct api_request){.verb = API_LIST,
                                         .kind = &kind_pod,
                                         .ns = c->o.ns,
                                         .label_selector = str_n(call->selector, c->selector.len),
                                         .done = on_list,
                                         .ctx = call};
    c->list = call;
    api_send(c->api, &call->request);
}

static void on_pause(struct loop_timer *t)
{
    start_list(container_of(t, struct initc, pause));
}

/* ---- life cycle ---- */

/* "grove.io/podclique in (a,b)" */
static void write_selector(struct initc *c)
{
    strbuf_add_cstr(&c->selector, LABEL_PCLQ " in (");
    for (size_t i = 0; i < c->o.n_parents; i++)
        strbuf_printf(&c->selector, "%s%.*s", i ? "," : "", STR_ARG(c->o.parents[i].label));
    strbuf_add_cstr(&c->selector, ")");
}

struct initc *initc_new(struct loop *l, struct api *api, const struct initc_options *o)
{
    struct initc *c = xnew(struct initc);
    *c = (struct initc){.loop = l, .api = api, .o = *o};
    strbuf_init(&c->selector, 4 << 20);
    write_selector(c);
    c->watch = (struct api_watch){.kind = &kind_pod,
                                  .ns = c->o.ns,
                                  .label_selector = strbuf_str(&c->selector),
                                  .rv_given = true,
                                  .bookmarks = true,
                                  .on_event = on_event,
                                  .on_end = on_end,
                                  .ctx = c};
    loop_timer_init(l, &c->pause, on_pause);
    loop_task_init(&c->finish, on_finish);
    for (size_t i = 0; i < o->n_parents; i++)
        log_progress(&o->parents[i]);
    check_over(c);
    if (!c->over)
        start_list(c);
    return c;
}

void initc_free(struct initc *c)
{
    if (!c)
        return;
    if (c->watching)
        api_watch_stop(c->api, &c->watch);
    if (c->list)
        c->list->initc = NULL;
    loop_timer_cancel(&c->pause);
    loop_task_cancel(&c->finish);
    str key;
    void *value;
    for (size_t it = 0; map_next(&c->ready, &it, &key, &value);)
        free(value);
    map_done(&c->ready);
    strbuf_done(&c->selector);
    free(c);
}
