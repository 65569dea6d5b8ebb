/* See picture.h. Lists first, then watches from where they ended, which any server understands;
 * when one of them has waited too long to go on, everything is read again. */
#include "explain/documents/picture.h"

#include <signal.h>

#include "base/vec.h"
#include "grove/names.h"
#include "grove/types.h"

#define REDRAW_AFTER (150 * USEC_PER_MSEC)

const struct kind *picture_kind(enum picture_part part)
{
    static const struct kind *const kinds[] = {
        &kind_pcs,          &kind_pcsg, &kind_pclq,
        &kind_pod_gang,     &kind_pod,  &kind_event,
        &kind_node,         &kind_pod,  &kind_controller_revision,
        &kind_pod_gang_map, &kind_event};
    return kinds[part];
}

bool picture_is_of_namespace(enum picture_part part)
{
    return part != PICTURE_NODES && part != PICTURE_ALL_PODS;
}

static str namespace_of(const struct session *s, enum picture_part part)
{
    return picture_is_of_namespace(part) ? s->ns : STR_NONE;
}

/* Pods that are not Grove's are of no interest where a set is looked at. */
static str selector_of(enum picture_part part)
{
    return part == PICTURE_PODS ? STR(LABEL_MANAGED_BY "=" MANAGED_BY_GROVE) : STR_NONE;
}

static str fields_of(enum picture_part part, unsigned mask)
{
    bool chosen = part == PICTURE_EVENTS && (mask & PICTURE_REFUSALS);
    if (part == PICTURE_WARNINGS)
        return STR("type=Warning,involvedObject.kind=Pod");
    return chosen ? STR("reason=" REASON_REFUSED) : STR_NONE;
}

static int read_part(struct session *s, enum picture_part part, unsigned mask,
                     struct session_list *ret, struct err *err)
{
    struct api_request q = {.verb = API_LIST,
                            .kind = picture_kind(part),
                            .ns = namespace_of(s, part),
                            .label_selector = selector_of(part),
                            .field_selector = fields_of(part, mask)};
    return session_send_list(s, &q, ret, err);
}

/* Servers of Kubernetes answer /readyz/etcd to everybody, 500 when a write would fail. One that
 * does not know a check or does not let us ask has said nothing. */
static bool check_fails(struct session *s, str path)
{
    struct api_request q = {.verb = API_GET, .path = path};
    struct err ignored = ERR_INIT;
    int code = 0;
    (void)session_send(s, &q, NULL, &code, &ignored);
    return code == 500;
}

static enum picture_store ask_store(struct session *s, unsigned mask)
{
    if (!(mask & PICTURE_SERVER))
        return STORE_WRITES;
    if (check_fails(s, STR("/readyz/etcd")))
        return STORE_READ_ONLY;
    return check_fails(s, STR("/readyz/storage")) ? STORE_FULL : STORE_WRITES;
}

int picture_read(struct session *s, unsigned mask, struct picture *p, struct err *err)
{
    p->ns = s->ns;
    p->now = loop_wall(s->loop);
    for (unsigned i = 0; i < PICTURE_PARTS; i++) {
        if (!(mask >> i & 1))
            continue;
        int r = read_part(s, i, mask, &p->parts[i], err);
        if (r)
            return r;
    }
    if (mask & PICTURE_SERVER)
        p->store = ask_store(s, mask);
    return 0;
}

struct obj *picture_find(const struct picture *p, enum picture_part part, str name)
{
    const struct session_list *l = &p->parts[part];
    size_t lo = 0, hi = l->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (str_cmp(l->items[mid]->name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < l->n && str_eq(l->items[lo]->name, name) ? l->items[lo] : NULL;
}

static int by_count(const void *a, const void *b)
{
    const struct obj *x = *(struct obj *const *)a, *y = *(struct obj *const *)b;
    int c = str_cmp(x->ns, y->ns);
    return c ? c : str_cmp_counted(x->name, y->name);
}

struct session_list picture_counted(const struct picture *p, enum picture_part part,
                                    struct arena *a)
{
    struct session_list l = p->parts[part];
    struct obj **items = arena_array(a, struct obj *, l.n + 1);
    if (l.n > 0)
        memcpy(items, l.items, l.n * sizeof(*items));
    if (l.n > 1)
        qsort(items, l.n, sizeof(*items), by_count);
    l.items = items;
    return l;
}

struct obj *picture_find_labelled(const struct picture *p, enum picture_part part, str label)
{
    const struct session_list *l = &p->parts[part];
    struct obj *found = picture_find(p, part, label);
    for (size_t i = 0; !found && !str_is_empty(label) && i < l->n; i++) {
        /* Few names are longer than a label may be: the others were found, or are not there. */
        if (l->items[i]->name.len > label.len && name_has_label(l->items[i]->name, label))
            found = l->items[i];
    }
    return found;
}

str picture_gang_of(const struct picture *p, const struct obj *o)
{
    str label = obj_label(o, STR(LABEL_PODGANG));
    const struct obj *gang = picture_find_labelled(p, PICTURE_GANGS, label);
    return gang ? gang->name : label;
}

struct obj *picture_find_any(const struct picture *p, str name)
{
    struct obj *o = NULL;
    for (unsigned part = PICTURE_SETS; part <= PICTURE_PODS && !o; part++)
        o = picture_find(p, part, name);
    return o;
}

/* ---- pods by what they belong to ---- */

str pod_owner_uid(const struct obj *pod)
{
    return pod->owner_uid;
}

str pod_gang_label(const struct obj *pod)
{
    return obj_label(pod, STR(LABEL_PODGANG));
}

/* Counted first, so that each group stands in one piece. */
void pod_groups_init(struct pod_groups *g, const struct picture *p, pod_key_fn *key,
                     struct arena *a)
{
    const struct session_list *pods = &p->parts[PICTURE_PODS];
    struct session_list **of = arena_array(a, struct session_list *, pods->n + 1);
    *g = (struct pod_groups){.items = arena_array(a, struct obj *, pods->n + 1)};
    for (size_t i = 0; i < pods->n; i++) {
        str k = key(pods->items[i]);
        of[i] = map_get(&g->by_key, k);
        if (!of[i]) {
            of[i] = arena_array(a, struct session_list, 1);
            (void)map_put(&g->by_key, k, of[i]);
        }
        of[i]->n++;
    }
    struct obj **next = g->items;
    for (size_t i = 0; i < pods->n; i++) {
        struct session_list *l = of[i];
        if (!l->items) {
            l->items = next;
            next += l->n;
            l->n = 0;
        }
        l->items[l->n++] = pods->items[i];
    }
}

struct session_list pod_groups_get(const struct pod_groups *g, str key)
{
    const struct session_list *l = map_get(&g->by_key, key);
    return l ? *l : (struct session_list){0};
}

void pod_groups_done(struct pod_groups *g)
{
    map_done(&g->by_key);
}

/* ---- following ---- */

struct stream {
    struct live *live;
    struct api_watch watch;
    VEC(struct obj *) items; /* sorted by namespace and name */
    bool open;
};

struct live {
    struct session *session;
    struct stream streams[PICTURE_PARTS];
    unsigned mask, optional;
    struct loop_timer redraw, late;
    struct loop_signal resized;
    usec drawn_at;
    picture_fn *fn;
    void *ctx;
    int error;
    struct err *err;
    bool over, again;
    enum picture_store store;
};

static void stop(struct live *l)
{
    l->over = true;
    loop_stop(l->session->loop, 0);
}

static void on_redraw(struct loop_timer *t)
{
    struct live *l = container_of(t, struct live, redraw);
    struct picture p = {
        .ns = l->session->ns, .now = loop_wall(l->session->loop), .store = l->store};
    for (unsigned i = 0; i < PICTURE_PARTS; i++)
        p.parts[i] = (struct session_list){l->streams[i].items.p, l->streams[i].items.len, 0};
    l->drawn_at = loop_now(l->session->loop);
    if (l->fn(l->ctx, &p))
        stop(l);
}

static void on_late(struct loop_timer *t)
{
    struct live *l = container_of(t, struct live, late);
    l->error = err_set(l->err, ERR_TIMEOUT, "timed out");
    stop(l);
}

static void changed(struct live *l)
{
    if (!l->over && !loop_timer_is_set(&l->redraw))
        loop_timer_set(&l->redraw, MAX(loop_now(l->session->loop),
                                       l->drawn_at ? l->drawn_at + REDRAW_AFTER : 0));
}

static int compare(const struct obj *a, const struct obj *b)
{
    int c = str_cmp(a->ns, b->ns);
    return c ? c : str_cmp(a->name, b->name);
}

static void on_resized(struct loop_signal *s)
{
    changed(container_of(s, struct live, resized));
}

/* Where it is, or belongs. */
static size_t place_of(const struct stream *s, const struct obj *o, bool *ret_there)
{
    size_t lo = 0, hi = s->items.len;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (compare(s->items.p[mid], o) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    *ret_there = lo < s->items.len && compare(s->items.p[lo], o) == 0;
    return lo;
}

static void take(struct stream *s, enum api_event_type type, struct obj *o)
{
    bool there;
    size_t at = place_of(s, o, &there);
    if (there)
        obj_unref(s->items.p[at]);
    if (type == API_DELETED) {
        if (there)
            vec_remove(&s->items, at);
        return;
    }
    if (!there) {
        (void)vec_push(&s->items);
        memmove(s->items.p + at + 1, s->items.p + at,
                (s->items.len - 1 - at) * sizeof(struct obj *));
    }
    s->items.p[at] = obj_ref(o);
}

static void on_event(struct api_watch *w, enum api_event_type type, struct obj *obj, uint64_t rv,
                     bool initial_end)
{
    struct stream *s = w->ctx;
    w->rv = rv;
    w->rv_given = true;
    (void)initial_end;
    if (!obj)
        return;
    take(s, type, obj);
    changed(s->live);
}

static void forget(struct stream *s)
{
    for (size_t i = 0; i < s->items.len; i++)
        obj_unref(s->items.p[i]);
    vec_clear(&s->items);
}

static void on_end(struct api_watch *w, const struct status *why)
{
    struct stream *s = w->ctx;
    struct live *l = s->live;
    s->open = false;
    if (l->over)
        return;
    if (why) {
        l->again = why->code == 410;
        if (!l->again)
            l->error = err_set(l->err, session_code_of(why->code), "%.*s", STR_ARG(why->message));
        stop(l);
        return;
    }
    s->open = true;
    api_watch(l->session->api, w);
}

static int begin(struct live *l, enum picture_part part)
{
    struct stream *s = &l->streams[part];
    struct session_list list = {0};
    int r = read_part(l->session, part, l->mask, &list, l->err);
    if (r)
        return r;
    forget(s);
    for (size_t i = 0; i < list.n; i++)
        take(s, API_ADDED, list.items[i]);
    s->live = l;
    s->watch = (struct api_watch){.kind = picture_kind(part),
                                  .ns = namespace_of(l->session, part),
                                  .label_selector = selector_of(part),
                                  .field_selector = fields_of(part, l->mask),
                                  .rv = list.rv,
                                  .rv_given = true,
                                  .bookmarks = true,
                                  .on_event = on_event,
                                  .on_end = on_end,
                                  .ctx = s};
    return 0;
}

static int begin_all(struct live *l)
{
    for (unsigned i = 0; i < PICTURE_PARTS; i++) {
        int r = l->mask >> i & 1 ? begin(l, i) : 0;
        if (r == ERR_FORBIDDEN && l->optional >> i & 1) {
            l->mask &= ~l->optional;
            *l->err = ERR_INIT;
            r = 0;
        }
        if (r)
            return r;
    }
    for (unsigned i = 0; i < PICTURE_PARTS; i++) {
        if (!(l->mask >> i & 1))
            forget(&l->streams[i]);
    }
    l->store = ask_store(l->session, l->mask);
    return 0;
}

static void follow_once(struct live *l)
{
    l->again = l->over = false;
    l->error = begin_all(l);
    if (l->error)
        return;
    for (unsigned i = 0; i < PICTURE_PARTS; i++) {
        l->streams[i].open = l->mask >> i & 1;
        if (l->streams[i].open)
            api_watch(l->session->api, &l->streams[i].watch);
    }
    changed(l);
    (void)loop_run(l->session->loop);
    for (unsigned i = 0; i < PICTURE_PARTS; i++) {
        if (l->streams[i].open)
            api_watch_stop(l->session->api, &l->streams[i].watch);
        l->streams[i].open = false;
    }
}

int picture_follow(struct session *s, unsigned mask, unsigned optional, picture_fn *fn, void *ctx,
                   usec timeout, struct err *err)
{
    struct live l = {.session = s,
                     .mask = mask | optional,
                     .optional = optional,
                     .fn = fn,
                     .ctx = ctx,
                     .err = err};
    struct err ignored = ERR_INIT;
    loop_timer_init(s->loop, &l.redraw, on_redraw);
    loop_timer_init(s->loop, &l.late, on_late);
    l.resized = (struct loop_signal){.signo = SIGWINCH, .fn = on_resized};
    (void)loop_signal_add(s->loop, &l.resized,
                          &ignored); /* then it is drawn with the next change */
    if (timeout)
        loop_timer_set(&l.late, loop_now(s->loop) + timeout);
    do
        follow_once(&l);
    while (l.again);
    loop_timer_cancel(&l.redraw);
    loop_timer_cancel(&l.late);
    loop_signal_remove(&l.resized);
    for (unsigned i = 0; i < PICTURE_PARTS; i++) {
        forget(&l.streams[i]);
        vec_done(&l.streams[i].items);
    }
    return l.error;
}
