/*
 * Nodes and where they are. What a node has and whom it lets in may change under the tables; a node
 * that comes, goes or moves changes their shape, and they are counted anew.
 */
#include "sched/model/tables_impl.h"

#include "grove/types.h"
#include "sched/model/claims.h"
#include "sched/model/holds.h"
#include "sched/model/reservation.h"
#include "sched/model/terms.h"

int32_t tables_node(const struct tables *t, str name)
{
    size_t lo = 0, hi = t->snap.nodes.len;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int c = str_cmp(t->snap.nodes.p[mid].name, name);
        if (c == 0)
            return (int32_t)mid;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return CORE_NONE;
}

static bool is_same_place(const struct tables *t, const struct obj *a, const struct obj *b)
{
    for (size_t i = 0; i < t->trees.len; i++) {
        const struct ttree *tree = &t->trees.p[i];
        for (int l = 0; l < tree->n_levels; l++) {
            if (!str_eq(obj_label(a, tree->keys[l]), obj_label(b, tree->keys[l])))
                return false;
        }
    }
    return true;
}

/* Cordons, taints, labels, readiness, capacity: the node stays where it is. */
static bool node_change(struct tables *t, const struct obj *new)
{
    int32_t n = tables_node(t, new->name);
    if (n == CORE_NONE)
        return false;
    struct snap_node *s = &t->snap.nodes.p[n];
    int64_t delta[RES_MAX];
    size_t resources = t->snap.n_resources;
    struct snap_node old = *s;
    if (!is_same_place(t, s->obj, new))
        return false;
    snapshot_read_node(&t->snap, new, s);
    if (t->snap.n_resources != resources || terms_node_differs(t, n)) {
        *s = old;
        return false;
    }
    s->obj = obj_ref(new);
    s->name = new->name;
    obj_unref(old.obj);
    for (size_t r = 0; r < resources; r++)
        delta[r] = s->total[r] - old.total[r];
    core_change_total(t->core, n, delta);
    for (size_t i = 0; i < t->class_list.len; i++) {
        struct tclass *k = t->class_list.p[i];
        k->ideal.known = false;
        bool admitted = str_is_empty(k->refused) && class_admitted(t, k->model, s);
        core_set_admitted(t->core, k->cls, n, admitted);
        if (admitted && !core_set_penalty(t->core, k->cls, n, node_penalty(s, k->model)))
            t->stale = true;
    }
    t->shape++;
    tables_forget_admissions(t);
    if (!s->open) {
        lease_node_lost(t, n);
        hold_node_lost(t, n);
    }
    return true;
}

bool node_is_as_before(const struct obj *old, const struct obj *new)
{
    return jequal(obj_spec(old), obj_spec(new)) && jequal(old->labels, new->labels) &&
           old->deleting == new->deleting &&jequal(jgetc(obj_status(old), "allocatable"),
                                                   jgetc(obj_status(new), "allocatable")) &&
           condition_is_true(jgetc(obj_status(old), "conditions"), STR("Ready")) ==
               condition_is_true(jgetc(obj_status(new), "conditions"), STR("Ready"));
}

void node_on_change(void *ctx, const struct obj *old, const struct obj *new)
{
    struct sched *s = ctx;
    if (!s->tables || (old && new &&node_is_as_before(old, new)))
        return;
    if (!old || !new || !node_change(s->tables, new))
        tables_drop(s);
}

/* ---- trees ---- */

static int32_t intern(struct tables *t, struct map *m, str value)
{
    void *v = map_get(m, value);
    if (!v)
        (void)map_put(m, arena_str(&t->arena, value), v = (void *)(m->len + 1));
    return (int32_t)((size_t)v - 1);
}

void tables_add_tree(struct tables *t, struct ttree tree)
{
    size_t n = t->snap.nodes.len, levels = (size_t)tree.n_levels;
    int32_t *paths = xcalloc(n * levels + 1, sizeof(*paths));
    struct map values = MAP_INIT;
    for (size_t i = 0; i < n; i++) {
        for (size_t l = 0; l < levels; l++) {
            jval v = jget(t->snap.nodes.p[i].obj->labels, tree.keys[l]);
            paths[i * levels + l] = j_is_absent(v) ? CORE_NONE : intern(t, &values, jstr(v));
        }
    }
    tree.tree = core_add_tree(t->core, tree.n_levels, paths);
    *vec_push(&t->trees) = tree;
    map_done(&values);
    free(paths);
}

void trees_add(struct tables *t, const struct world *w)
{
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(w, &kind_ctb), STR_NONE);
         (o = cache_next(&it)) && t->trees.len < CORE_TREES_MAX - 1;) {
        struct ttree tree = {.name = arena_str(&t->arena, o->name)};
        for (struct jiter k = jiter(jgetc(obj_spec(o), "levels")); jnext(&k);) {
            str key = jstr(jgetc(k.value, "key"));
            if (!str_is(key, "kubernetes.io/hostname") && tree.n_levels < CORE_LEVELS_MAX)
                tree.keys[tree.n_levels++] = arena_str(&t->arena, key);
        }
        tables_add_tree(t, tree);
    }
    if (t->trees.len == 0)
        tables_add_tree(t, (struct ttree){0});
}

const struct ttree *tables_tree(const struct tables *t, int32_t tree)
{
    return &t->trees.p[tree];
}

str tables_level_key(const struct tables *t, int32_t tree, int level)
{
    const struct ttree *x = tables_tree(t, tree);
    return level > x->n_levels ? STR("kubernetes.io/hostname") : x->keys[level - 1];
}

str tables_domain_name(const struct tables *t, int32_t tree, int32_t domain, struct arena *a)
{
    size_t n;
    const int32_t *nodes = core_nodes_in(t->core, tree, domain, &n);
    int level = core_level_of(t->core, tree, domain);
    if (n == 0 || level == 0)
        return STR("the cluster");
    const struct snap_node *node = &t->snap.nodes.p[nodes[0]];
    if (level == core_host_level(t->core, tree))
        return node->name;
    str path = STR_NONE;
    for (int l = 0; l < level; l++) {
        str value = obj_label(node->obj, t->trees.p[tree].keys[l]);
        path = l ? arena_printf(a, "%.*s/%.*s", STR_ARG(path), STR_ARG(value)) : value;
    }
    return path;
}
