/* See going.h. */
#include "grove/going.h"

#include "grove/pod.h"

#define TAINT_UNREACHABLE "node.kubernetes.io/unreachable"

bool going_runs(const struct obj *pod)
{
    return pod->deleting && pod_is_scheduled(pod) && !pod_is_finished(pod) &&
           jint(jgetc(pod->meta, "deletionGracePeriodSeconds"), -1) != 0;
}

bool going_cares(const struct obj *old, const struct obj *new)
{
    return (old && going_runs(old)) != (new &&going_runs(new));
}

bool going_is_ignored(const struct obj *pclq)
{
    return str_is(jstr(jgetc(obj_spec(pclq), "podReplacementPolicy")), "TerminatingOrFailed");
}

/* ---- nodes ---- */

enum node_state { NODE_THERE, NODE_UNREACHABLE, NODE_UNKNOWN };

static bool is_unreachable(const struct obj *node)
{
    if (condition_is_true(jgetc(obj_status(node), "conditions"), STR("Ready")))
        return false;
    for (struct jiter it = jiter(jgetc(obj_spec(node), "taints")); jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "key")), TAINT_UNREACHABLE))
            return true;
    }
    return false;
}

/* Where nodes cannot be read (cache_is_absent) all of them are there. */
static enum node_state state_of(const struct world *w, const struct obj *pod)
{
    const struct cache *nodes = world_cache(w, &kind_node);
    const struct obj *node = cache_get(nodes, STR_NONE, jstr(jgetc(obj_spec(pod), "nodeName")));
    if (!node)
        return cache_is_absent(nodes) ? NODE_THERE : NODE_UNKNOWN;
    return is_unreachable(node) ? NODE_UNREACHABLE : NODE_THERE;
}

/* ---- which pods ---- */

static str key_of(struct arena *a, const char *what, str ns, str name)
{
    return arena_cat(a, str_of(what), ns, STR("/"), name);
}

static str replica_key(struct arena *a, str ns, str pcs_label, str index)
{
    return arena_cat(a, key_of(a, "set ", ns, pcs_label), STR("/"), index);
}

static void index_going(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    *n = 0;
    if (!o->deleting || max < 4 || !going_runs(o))
        return;
    str group = obj_label(o, STR(LABEL_PCSG));
    keys[(*n)++] =
        replica_key(a, o->ns, obj_label(o, STR(LABEL_PCS)), obj_label(o, STR(LABEL_PCS_INDEX)));
    keys[(*n)++] = key_of(a, "clique ", o->ns, obj_label(o, STR(LABEL_PCLQ)));
    keys[(*n)++] = key_of(a, "node ", STR_NONE, jstr(jgetc(obj_spec(o), "nodeName")));
    if (!str_is_empty(group))
        keys[(*n)++] = key_of(a, "group ", o->ns, group);
}

void going_add(struct runtime *r)
{
    cache_add_index(runtime_cache(r, &kind_pod), index_going);
    (void)runtime_cache_optional(r, &kind_node);
}

static struct cache_iter pods_of(const struct world *w, const char *what, const struct obj *o)
{
    struct arena a = ARENA_INIT;
    str key = key_of(&a, what, o->ns, name_label(&a, o->name));
    struct cache_iter it = cache_by(world_cache(w, &kind_pod), index_going, key);
    arena_done(&a);
    return it;
}

static void collect(struct going *g, const struct world *w, struct cache_iter it, str number,
                    going_fn *counts, void *ctx)
{
    *g = (struct going){0};
    for (const struct obj *pod; (pod = cache_next(&it));) {
        if (counts && !counts(ctx, pod))
            continue;
        switch (state_of(w, pod)) {
        case NODE_THERE:
            slots_add(&g->running, label_index(pod, number));
            g->n++;
            break;
        case NODE_UNKNOWN:
            *vec_push(&g->nodeless) = pod;
            break;
        case NODE_UNREACHABLE:
            break;
        }
    }
}

void going_of_clique(struct going *g, const struct world *w, const struct obj *pclq)
{
    collect(g, w, pods_of(w, "clique ", pclq), STR(LABEL_POD_INDEX), NULL, NULL);
}

void going_of_group(struct going *g, const struct world *w, const struct obj *pcsg,
                    going_fn *counts, void *ctx)
{
    collect(g, w, pods_of(w, "group ", pcsg), STR(LABEL_PCSG_INDEX), counts, ctx);
}

void going_done(struct going *g)
{
    slots_done(&g->running);
    vec_done(&g->nodeless);
}

const struct obj *going_at(const struct world *w, const struct obj *pclq, int64_t index)
{
    const struct obj *last = NULL;
    struct cache_iter it = pods_of(w, "clique ", pclq);
    for (const struct obj *pod; (pod = cache_next(&it));) {
        if (pod_index(pod) == index && state_of(w, pod) == NODE_THERE &&
            (!last || obj_deleted_at(pod) > obj_deleted_at(last)))
            last = pod;
    }
    return last;
}

int64_t going_count(const struct world *w, const struct obj *pclq, going_fn *counts, void *ctx)
{
    int64_t n = 0;
    struct cache_iter it = pods_of(w, "clique ", pclq);
    for (const struct obj *pod; (pod = cache_next(&it));)
        n += state_of(w, pod) == NODE_THERE && counts(ctx, pod);
    return n;
}

int64_t going_count_of_replica(const struct world *w, const struct obj *pcs, int64_t replica,
                               going_fn *counts, void *ctx)
{
    int64_t n = 0;
    struct arena a = ARENA_INIT;
    str key = replica_key(&a, pcs->ns, name_label(&a, pcs->name), arena_int(&a, replica));
    struct cache_iter it = cache_by(world_cache(w, &kind_pod), index_going, key);
    for (const struct obj *pod; (pod = cache_next(&it));)
        n += state_of(w, pod) == NODE_THERE && counts(ctx, pod);
    arena_done(&a);
    return n;
}

/* ---- news ---- */

static bool is_lost(const struct obj *node)
{
    return !node || is_unreachable(node);
}

void going_from_node(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new, going_news_fn *fn)
{
    const struct obj *node = new ? new : old, *pod;
    struct arena a = ARENA_INIT;
    if (is_lost(old) == is_lost(new) && (!old) == (!new))
        return;
    str key = key_of(&a, "node ", STR_NONE, node->name);
    for (struct cache_iter it = cache_by(world_cache(w, &kind_pod), index_going, key);
         (pod = cache_next(&it));)
        fn(c, w, pod);
    arena_done(&a);
}
