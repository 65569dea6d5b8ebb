/* Tables from caches, and what throws them away; see tables.h. */
#include "sched/model/tables_impl.h"

#include "grove/types.h"
#include "sched/model/claims.h"
#include "sched/model/holds.h"
#include "sched/model/queue_usage.h"
#include "sched/model/reservation.h"
#include "sched/model/terms.h"

static void free_values(struct map *m)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(m, &it, &key, &value);)
        free(value);
    map_done(m);
}

static void pod_done(struct tpod *p)
{
    obj_unref(p->obj);
    free(p->said);
}

void tables_drop(struct sched *s)
{
    struct tables *t = s->tables;
    str key;
    void *value;
    if (!t)
        return;
    s->tables = NULL;
    for (size_t it = 0; map_next(&t->pods, &it, &key, &value);)
        pod_done(value);
    for (size_t it = 0; map_next(&t->gangs, &it, &key, &value);) {
        cliques_leave(t, value);
        obj_unref(((struct tgang *)value)->obj);
    }
    for (size_t it = 0; map_next(&t->sets, &it, &key, &value);) {
        sparse_done(&((struct tset *)value)->hosts);
        free(((struct tset *)value)->name);
    }
    for (size_t i = 0; i < t->snap.nodes.len; i++)
        obj_unref(t->snap.nodes.p[i].obj);
    snapshot_done(&t->snap);
    free_values(&t->pods);
    free_values(&t->gangs);
    free_values(&t->sets);
    map_done(&t->set_names);
    map_done(&t->lines);
    free_values(&t->groups);
    map_done(&t->classes);
    tables_forget_admissions(t);
    vec_done(&t->trees);
    terms_done(t);
    map_done(&t->claims);
    vec_done(&t->class_list);
    vec_done(&t->assumed);
    vec_done(&t->leases);
    hold_done(t);
    quota_done(t);
    free(t->on_node);
    core_free(t->core);
    arena_done(&t->arena);
    free(t);
}

static struct tables *tables_make(struct sched *s, const struct world *w)
{
    struct tables *t = xnew(struct tables);
    struct obj *o;
    t->sched = s;
    s->recounts++;
    t->shape = t->moves = 1;
    list_init(&t->ready);
    list_init(&t->parked);
    list_init(&t->trimmed);
    list_init(&t->stored);
    list_init(&t->doubts);
    terms_init(t);
    arena_init(&t->arena);
    snapshot_init(&t->snap, w, &t->arena);
    for (size_t i = 0; i < t->snap.nodes.len; i++)
        (void)obj_ref(t->snap.nodes.p[i].obj);
    t->core = core_new(t->snap.n_resources);
    t->on_node = xcalloc(t->snap.nodes.len + 1, sizeof(*t->on_node));
    for (size_t i = 0; i < t->snap.nodes.len; i++) {
        (void)core_add_node(t->core, t->snap.nodes.p[i].total);
        list_init(&t->on_node[i]);
    }
    quota_init(t);
    trees_add(t, w);
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pod), STR_NONE);
         (o = cache_next(&it));)
        terms_expect(t, o);
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pod_gang), STR_NONE);
         (o = cache_next(&it));) {
        struct ttree tree = {.n_levels = 1};
        if (t->trees.len < CORE_TREES_MAX / 2 && gang_spreads_anew(t, o, &tree.keys[0])) {
            tree.keys[0] = arena_str(&t->arena, tree.keys[0]);
            tables_add_tree(t, tree);
        }
    }
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pod_gang), STR_NONE);
         (o = cache_next(&it));)
        gang_set(t, o);
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pod), STR_NONE);
         (o = cache_next(&it));)
        pod_set(t, o);
    lease_restore(t, w);
    return t;
}

/* ---- changes of the shape ---- */

static void on_shape(void *ctx, const struct obj *old, const struct obj *new)
{
    if (!(old && new && old->generation == new->generation && old->generation != 0))
        tables_drop(ctx);
}

/* Terms that select namespaces by label speak of others now. */
static void on_namespace(void *ctx, const struct obj *old, const struct obj *new)
{
    struct tables *t = ((struct sched *)ctx)->tables;
    if (t && !(old && new &&jequal(old->labels, new->labels)) && terms_read_namespaces(t))
        t->stale = true;
}

struct tables *tables_get(struct sched *s, const struct world *w)
{
    if (s->tables && s->tables->stale)
        tables_drop(s);
    if (!s->tables)
        s->tables = tables_make(s, w);
    return s->tables;
}

void tables_add_handlers(struct sched *s)
{
    struct runtime *r = s->runtime;
    cache_add_handler(runtime_cache(r, &kind_pod), pod_on_change, s);
    cache_add_handler(runtime_cache(r, &kind_pod_gang), gang_on_change, s);
    cache_add_handler(runtime_cache(r, &kind_node), node_on_change, s);
    cache_add_handler(runtime_cache(r, &kind_ctb), on_shape, s);
    cache_add_handler(runtime_cache(r, &kind_priority_class), on_shape, s);
    cache_add_handler(runtime_cache_optional(r, &kind_namespace), on_namespace, s);
    claims_add_handlers(s);
}
