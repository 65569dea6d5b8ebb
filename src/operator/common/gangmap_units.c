/* See gangmap_units.h. */
#include "operator/common/gangmap_units.h"

#include "client/slots.h"
#include "grove/pod.h"
#include "operator/common/clique.h"
#include "operator/common/rollup.h"

/* ---- ready pods by copy of a group ---- */

static void index_by_group(const struct obj *pod, struct arena *a, str *keys, size_t max, size_t *n)
{
    str pcsg = obj_label(pod, STR(LABEL_PCSG));
    *n = 0;
    if (max > 0 && !str_is_empty(pcsg))
        keys[(*n)++] = arena_cat(a, pod->ns, STR("/"), pcsg);
}

static void count(struct gangmap_ready *r, const struct obj *pod, uint64_t by)
{
    int64_t index = label_index(pod, STR(LABEL_PCSG_INDEX));
    if (index < 0 || index >= SLOTS_MAX || pod->deleting || pod_is_finished(pod) ||
        !pod_is_ready(pod))
        return;
    while ((int64_t)r->sums.len <= index)
        *vec_push(&r->sums) = 0;
    r->sums.p[index] += by * rollup_hash(pod->owner_uid);
}

void gangmap_ready_add(void *ready, const struct obj *pod)
{
    count(ready, pod, 1);
}

void gangmap_ready_remove(void *ready, const struct obj *pod)
{
    count(ready, pod, UINT64_MAX); /* takes one away */
}

void gangmap_ready_done(void *ready)
{
    struct gangmap_ready *r = ready;
    vec_done(&r->sums);
}

static const struct cache_fold_def fold = {index_by_group, sizeof(struct gangmap_ready),
                                           gangmap_ready_add, gangmap_ready_remove,
                                           gangmap_ready_done};

const struct gangmap_ready *gangmap_ready_of(const struct world *w, const struct obj *pcsg)
{
    static const struct gangmap_ready none;
    struct arena a = ARENA_INIT;
    str key = arena_cat(&a, pcsg->ns, STR("/"), name_label(&a, pcsg->name));
    const struct gangmap_ready *r = cache_fold(world_cache(w, &kind_pod), &fold, key);
    arena_done(&a);
    return r ? r : &none;
}

bool gangmap_is_whole(const struct gangmap_ready *r, const struct rollup *cliques, int64_t index)
{
    uint64_t wanted = rollup_at(cliques, index).pods;
    return wanted != 0 && index < (int64_t)r->sums.len && r->sums.p[index] == wanted;
}

/* ---- pods that wait ---- */

static str held_key(struct arena *a, str ns, str pcs, int64_t replica)
{
    return arena_printf(a, "%.*s/%.*s/%lld", STR_ARG(ns), STR_ARG(pcs), (long long)replica);
}

static void index_held(const struct obj *pod, struct arena *a, str *keys, size_t max, size_t *n)
{
    *n = 0;
    if (max > 0 && !pod->deleting && pod_is_gated(pod))
        keys[(*n)++] = held_key(a, pod->ns, obj_label(pod, STR(LABEL_PART_OF)),
                                label_index(pod, STR(LABEL_PCS_INDEX)));
}

struct cache_iter gangmap_held(const struct world *w, struct arena *a, const struct obj *pcs,
                               int64_t replica)
{
    return cache_by(world_cache(w, &kind_pod), index_held,
                    held_key(a, pcs->ns, name_label(a, pcs->name), replica));
}

void gangmap_add_units(struct runtime *r)
{
    struct cache *pods = runtime_cache(r, &kind_pod);
    cache_add_index(pods, index_held);
    cache_add_fold(pods, &fold);
}
