/*
 * What belongs to a target of the autoscaler: pods are found down the owners, each through an
 * index, and then held against the target's selector. So the cost is that of the target's own pods.
 */
#include "controllers/autoscaler_impl.h"

#include "kube/selector.h"

const struct kind *const scaler_kinds[] = {
    &kind_pcs,        &kind_pcsg,        &kind_pclq,      &kind_pod,     &kind_hpa,
    &kind_deployment, &kind_replica_set, &kind_namespace, &kind_service,
};
const size_t scaler_n_kinds = ARRAY_LEN(scaler_kinds);

/* Which kinds belong to which. */
static const struct {
    const struct kind *owner, *owned;
} below[] = {
    {&kind_pcs, &kind_pclq},
    {&kind_pcs, &kind_pcsg},
    {&kind_pcsg, &kind_pclq},
    {&kind_pclq, &kind_pod},
    {&kind_deployment, &kind_replica_set},
    {&kind_replica_set, &kind_pod},
};

typedef VEC(const struct obj *) obj_list;

/* All pods down from it; the table has no circles. */
static void collect_pods(const struct world *w, const struct obj *o, obj_list *ret)
{
    struct obj *child;
    if (o->kind == &kind_pod) {
        *vec_push(ret) = o;
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(below); i++) {
        if (below[i].owner != o->kind)
            continue;
        for (struct cache_iter it = world_owned(w, below[i].owned, o->uid);
             (child = cache_next(&it));)
            collect_pods(w, child, ret);
    }
}

/* A replica of a set or group is known by its index, of anything else it is a pod. */
static const char *unit_label(const struct obj *target)
{
    return target->kind == &kind_pcs    ? LABEL_PCS_INDEX
           : target->kind == &kind_pcsg ? LABEL_PCSG_INDEX
                                        : NULL;
}

static int compare_numbers(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t count_units(const struct scaler *s)
{
    const char *label = unit_label(s->target);
    VEC(int64_t) indices = {0};
    int64_t n = 0;
    if (!label)
        return (int64_t)s->pods.len;
    for (size_t i = 0; i < s->pods.len; i++)
        *vec_push(&indices) = label_index(s->pods.p[i], str_of(label));
    vec_sort(&indices, compare_numbers);
    for (size_t i = 0; i < indices.len; i++)
        n += i == 0 || indices.p[i] != indices.p[i - 1];
    vec_done(&indices);
    return n;
}

bool scaler_find_pods(struct scaler *s, str selector, struct err *err)
{
    obj_list all = {0};
    struct selector *parsed = label_selector_parse(s->plan->arena, selector, err);
    if (!parsed)
        return false;
    collect_pods(s->world, s->target, &all);
    for (size_t i = 0; i < all.len; i++) {
        if (label_selector_match(parsed, all.p[i]->labels))
            *vec_push(&s->pods) = all.p[i];
    }
    vec_done(&all);
    s->units = count_units(s);
    return true;
}

/* ---- as a source of metrics ---- */

static struct obj *read_object(void *ctx, const struct kind *k, str ns, str name)
{
    const struct scaler_source *s = ctx;
    struct cache *c = world_cache(s->world, k);
    return c ? cache_get(c, ns, name) : NULL;
}

/* Asked for one pod after the other, of the same owner mostly. */
static int64_t read_ready_pods(void *ctx, const struct obj *owner)
{
    struct scaler_source *s = ctx;
    obj_list all = {0};
    if (s->owner == owner)
        return s->ready;
    s->owner = owner;
    s->ready = 0;
    collect_pods(s->world, owner, &all);
    for (size_t i = 0; i < all.len; i++)
        s->ready += metrics_pod_is_ready(all.p[i]);
    vec_done(&all);
    return s->ready;
}

struct metrics_reader scaler_reader(struct scaler_source *s, const struct metrics_feed *feed)
{
    return (struct metrics_reader){s, read_object, read_ready_pods, &s->memo, feed};
}
