/* See source.h. */
#include "ui/source.h"

#include "client/cache.h"
#include "explain/documents/fleet.h"
#include "explain/documents/set_status.h"
#include "grove/names.h"
#include "grove/types.h"

/* A set is drawn with so many gangs and findings. */
enum { MAX_GANGS = 200, MAX_RESERVED = 16 };
/* A server that shows nothing, not even a bookmark, for so long is asked again. */
#define STALL (5 * USEC_PER_MIN)

/* The parts of a picture that are kept up; others are of no use here. */
static const enum picture_part kept[] = {PICTURE_SETS,  PICTURE_GROUPS, PICTURE_CLIQUES,
                                         PICTURE_GANGS, PICTURE_PODS,   PICTURE_EVENTS,
                                         PICTURE_NODES};

struct source {
    struct loop *loop;
    struct source_options options;
    struct cache *caches[PICTURE_PARTS]; /* pods are of all kinds, sets' and others' */
    bool is_running;
};

/* ---- what a change touches ---- */

static void touch(struct source *s, const char *kind, str ns, str name)
{
    struct arena a = ARENA_INIT;
    board_touch(s->options.board,
                ns.len ? arena_printf(&a, "%s/%.*s/%.*s", kind, STR_ARG(ns), STR_ARG(name))
                       : arena_printf(&a, "%s/%.*s", kind, STR_ARG(name)));
    arena_done(&a);
}

static void touch_set(struct source *s, const struct obj *child)
{
    str label = obj_label(child, STR(LABEL_PART_OF));
    if (label.len && str_is(obj_label(child, STR(LABEL_MANAGED_BY)), MANAGED_BY_GROVE))
        touch(s, "set", child->ns, label);
}

static str node_of(const struct obj *pod)
{
    return jstr(jgetc(obj_spec(pod), "nodeName"));
}

static void on_node(void *ctx, const struct obj *old, const struct obj *new)
{
    touch(ctx, "node", STR_NONE, (new ? new : old)->name);
}

static void touch_pod(struct source *s, const struct obj *pod)
{
    if (pod && node_of(pod).len)
        touch(s, "node", STR_NONE, node_of(pod));
    if (pod)
        touch_set(s, pod);
}

static void on_pod(void *ctx, const struct obj *old, const struct obj *new)
{
    touch_pod(ctx, old);
    if (!old || !new || !str_eq(node_of(old), node_of(new)))
        touch_pod(ctx, new);
}

/* Items of sets are named by the label that their children have: it is a short form of long names.
 */
static void touch_named_set(struct source *s, str ns, str name)
{
    struct arena a = ARENA_INIT;
    touch(s, "set", ns, name_label(&a, name));
    arena_done(&a);
}

static void on_set(void *ctx, const struct obj *old, const struct obj *new)
{
    const struct obj *o = new ? new : old;
    touch_named_set(ctx, o->ns, o->name);
}

static void on_child(void *ctx, const struct obj *old, const struct obj *new)
{
    touch_set(ctx, new ? new : old);
}

static void touch_reserved(struct source *s, const struct obj *gang)
{
    str nodes[MAX_RESERVED];
    size_t n = 0;
    if (gang)
        fleet_reserved_nodes(gang, nodes, MAX_RESERVED, &n);
    for (size_t i = 0; i < n; i++)
        touch(s, "node", STR_NONE, nodes[i]);
}

static void on_gang(void *ctx, const struct obj *old, const struct obj *new)
{
    touch_reserved(ctx, old);
    touch_reserved(ctx, new);
    on_child(ctx, old, new);
}

/* A disruption that was refused: the event names the set. */
static void on_refusal(void *ctx, const struct obj *old, const struct obj *new)
{
    const struct obj *o = new ? new : old;
    str name = jstr(jpath(obj_root(o), "involvedObject.name"));
    if (str_is(jstr(jpath(obj_root(o), "involvedObject.kind")), kind_pcs.kind))
        touch_named_set(ctx, o->ns, name);
}

static void on_meta(void *ctx)
{
    board_touch(((struct source *)ctx)->options.board, STR("meta"));
}

/* ---- caches ---- */

static void index_by_node(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    (void)a;
    (void)max;
    if (node_of(o).len)
        keys[(*n)++] = node_of(o);
}

static void index_by_reserved(const struct obj *o, struct arena *a, str *keys, size_t max,
                              size_t *n)
{
    (void)a;
    fleet_reserved_nodes(o, keys, MIN(max, (size_t)MAX_RESERVED), n);
}

/* Sets and their children by the label that the children have. */
static void index_by_set(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    str label = o->kind == &kind_pcs ? name_label(a, o->name) : obj_label(o, STR(LABEL_PART_OF));
    (void)max;
    if (label.len)
        keys[(*n)++] = arena_printf(a, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(label));
}

static cache_handler *handler_of(enum picture_part part)
{
    return part == PICTURE_NODES    ? on_node
           : part == PICTURE_PODS   ? on_pod
           : part == PICTURE_SETS   ? on_set
           : part == PICTURE_GANGS  ? on_gang
           : part == PICTURE_EVENTS ? on_refusal
                                    : on_child;
}

static void add_cache(struct source *s, enum picture_part part)
{
    /* Pods of other namespaces take room on nodes, too. */
    struct cache_options o = {.kind = picture_kind(part),
                              .ns = part == PICTURE_NODES ? STR_NONE : s->options.ns,
                              .stall_timeout = STALL};
    if (part == PICTURE_EVENTS)
        o.field_selector = STR("reason=" REASON_REFUSED);
    struct cache *c = s->caches[part] = cache_new(s->loop, s->options.api, &o);
    if (part == PICTURE_PODS)
        cache_add_index(c, index_by_node);
    if (part == PICTURE_GANGS)
        cache_add_index(c, index_by_reserved);
    if (part != PICTURE_NODES && part != PICTURE_EVENTS)
        cache_add_index(c, index_by_set);
    cache_add_handler(c, handler_of(part), s);
    cache_on_synced(c, on_meta, s);
    cache_on_absent(c, on_meta, s);
}

struct source *source_new(struct loop *l, const struct source_options *o)
{
    struct source *s = xnew(struct source);
    s->loop = l;
    s->options = *o;
    return s;
}

void source_start(struct source *s)
{
    if (s->is_running)
        return;
    s->is_running = true;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        add_cache(s, kept[i]);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        cache_start(s->caches[kept[i]]);
    on_meta(s);
}

void source_stop(struct source *s)
{
    s->is_running = false;
    for (size_t i = 0; i < PICTURE_PARTS; i++) {
        if (s->caches[i])
            cache_free(s->caches[i]);
        s->caches[i] = NULL;
    }
    board_clear(s->options.board);
}

void source_free(struct source *s)
{
    if (!s)
        return;
    source_stop(s);
    free(s);
}

/* ---- items ---- */

typedef VEC(struct obj *) obj_vec;

static struct session_list list_of(struct cache_iter it, struct arena *a)
{
    obj_vec all = {0};
    struct obj *o;
    while ((o = cache_next(&it)))
        *vec_push(&all) = o;
    struct session_list l = {.items = arena_array(a, struct obj *, all.len + 1), .n = all.len};
    if (all.len)
        memcpy(l.items, all.p, all.len * sizeof(*l.items));
    vec_done(&all);
    return l;
}

static bool make_node(struct source *s, str name, struct jw *w, struct arena *a)
{
    const struct obj *node = cache_get(s->caches[PICTURE_NODES], STR_NONE, name);
    if (!node)
        return false;
    struct session_list pods = list_of(cache_by(s->caches[PICTURE_PODS], index_by_node, name), a);
    struct session_list gangs =
        list_of(cache_by(s->caches[PICTURE_GANGS], index_by_reserved, name), a);
    fleet_put_node(w, node, &pods, &gangs, a);
    return true;
}

static int by_name(const void *x, const void *y)
{
    return str_cmp((*(struct obj *const *)x)->name, (*(struct obj *const *)y)->name);
}

/* A picture of one set; the lists are in the order of names, as pictures have them. */
static void take_picture(struct source *s, str key, struct arena *a, struct picture *ret)
{
    ret->now = loop_wall(s->loop);
    for (enum picture_part part = PICTURE_SETS; part <= PICTURE_PODS; part++) {
        struct session_list *l = &ret->parts[part];
        *l = list_of(cache_by(s->caches[part], index_by_set, key), a);
        if (l->n > 1)
            qsort(l->items, l->n, sizeof(struct obj *), by_name);
    }
    if (ret->parts[PICTURE_SETS].n == 0)
        return;
    ret->ns = ret->parts[PICTURE_SETS].items[0]->ns;
    ret->parts[PICTURE_EVENTS] = list_of(cache_all(s->caches[PICTURE_EVENTS], ret->ns), a);
}

/* The name is NAMESPACE/LABEL. */
static bool make_set(struct source *s, str name, struct jw *w, struct arena *a)
{
    struct picture p = {0};
    take_picture(s, name, a, &p);
    if (p.parts[PICTURE_SETS].n == 0)
        return false;
    jw_object(w);
    jw_put_str(w, "namespace", p.ns);
    jw_key(w, STR("status"));
    set_status_put(w, &p, p.parts[PICTURE_SETS].items[0], MAX_GANGS, a);
    jw_end(w);
    return true;
}

static void make_meta(struct source *s, struct jw *w)
{
    bool synced = true;
    jw_object(w);
    jw_put_str(w, "server", s->options.server);
    jw_put_str(w, "namespace", s->options.ns);
    jw_put_cstr(w, "version", GROVE_VERSION);
    jw_put_bool(w, "mayWrite", s->options.may_write);
    jw_put_array(w, "unreadable");
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        struct cache *c = s->caches[kept[i]];
        bool absent = cache_is_absent(c);
        synced = synced && (absent || cache_is_synced(c));
        if (absent)
            jw_str(w, str_of(cache_kind(c)->plural));
    }
    jw_end(w);
    jw_put_bool(w, "complete", synced);
    jw_end(w);
}

bool source_make(struct source *s, str name, struct jw *w, struct arena *a)
{
    str kind = str_cut(&name, '/');
    if (!s->is_running)
        return false;
    if (str_is(kind, "node"))
        return make_node(s, name, w, a);
    if (str_is(kind, "set"))
        return make_set(s, name, w, a);
    make_meta(s, w);
    return true;
}

const struct obj *source_set(const struct source *s, str ns, str name)
{
    return s->is_running ? cache_get(s->caches[PICTURE_SETS], ns, name) : NULL;
}
