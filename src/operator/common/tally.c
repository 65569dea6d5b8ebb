/* See tally.h. */
#include "operator/common/tally.h"

#include "grove/pod.h"

/* All a tally knows of one pod. */
struct mark {
    enum { MARK_TERMINATING, MARK_FINISHED, MARK_ACTIVE } class;
    bool gated, held, scheduled, ready, failing;
    int64_t index;
    str hash;
};

static struct mark mark_of(const struct obj *pod)
{
    struct mark m = {.class = MARK_TERMINATING};
    if (pod->deleting)
        return m;
    str hash = obj_label(pod, STR(LABEL_TEMPLATE_HASH));
    m.hash = str_sub(hash, 0, sizeof(((struct tally_hash *)0)->hash));
    m.gated = jlen(jgetc(obj_spec(pod), "schedulingGates")) > 0;
    m.class = pod_is_finished(pod) ? MARK_FINISHED : MARK_ACTIVE;
    if (m.class == MARK_FINISHED)
        return m;
    m.held = m.gated && pod_is_gated(pod);
    m.scheduled = pod_is_scheduled(pod);
    m.ready = pod_is_ready(pod);
    m.failing = !m.ready && pod_is_failing(pod);
    m.index = pod_index(pod);
    return m;
}

static void count_hash(struct tally *t, str hash, int64_t by)
{
    struct tally_hash *h = NULL;
    for (size_t i = 0; i < t->hashes.len && !h; i++) {
        if (str_eq(str_n(t->hashes.p[i].hash, t->hashes.p[i].len), hash))
            h = &t->hashes.p[i];
    }
    if (!h) {
        h = vec_push(&t->hashes);
        *h = (struct tally_hash){.len = hash.len};
        if (h->len)
            memcpy(h->hash, hash.p, h->len);
    }
    h->pods += by;
    if (h->pods == 0)
        vec_remove(&t->hashes, (size_t)(h - t->hashes.p));
}

static void count(struct tally *t, const struct obj *pod, int64_t by)
{
    struct mark m = mark_of(pod);
    t->terminating += m.class == MARK_TERMINATING ? by : 0;
    t->finished += m.class == MARK_FINISHED ? by : 0;
    t->gated += m.gated ? by : 0;
    if (m.class != MARK_TERMINATING)
        count_hash(t, m.hash, by);
    if (m.class != MARK_ACTIVE)
        return;
    t->active += by;
    t->held += m.held ? by : 0;
    t->scheduled += m.scheduled ? by : 0;
    t->ready += m.ready ? by : 0;
    t->failing += m.failing ? by : 0;
    t->unnumbered += m.index < 0 || m.index >= SLOTS_MAX ? by : 0;
    if (by > 0)
        slots_add(&t->indices, m.index);
    else
        slots_remove(&t->indices, m.index);
}

void tally_add(void *tally, const struct obj *pod)
{
    count(tally, pod, 1);
}

void tally_remove(void *tally, const struct obj *pod)
{
    count(tally, pod, -1);
}

void tally_done(void *tally)
{
    struct tally *t = tally;
    slots_done(&t->indices);
    vec_done(&t->hashes);
}

static const struct cache_fold_def fold = {cache_index_owner, sizeof(struct tally), tally_add,
                                           tally_remove, tally_done};

void tally_add_fold(struct runtime *r)
{
    cache_add_fold(runtime_cache(r, &kind_pod), &fold);
}

const struct tally *tally_of(const struct world *w, str pclq_uid)
{
    static const struct tally none;
    const struct tally *t = cache_fold(world_cache(w, &kind_pod), &fold, pclq_uid);
    return t ? t : &none;
}

int64_t tally_with_hash(const struct tally *t, str hash)
{
    for (size_t i = 0; i < t->hashes.len; i++) {
        if (str_eq(str_n(t->hashes.p[i].hash, t->hashes.p[i].len), hash))
            return t->hashes.p[i].pods;
    }
    return 0;
}

bool tally_has_doubles(const struct tally *t)
{
    return t->active - t->unnumbered > (int64_t)t->indices.len;
}

bool tally_cares(const struct obj *old, const struct obj *new)
{
    if (!old || !new || !str_eq(old->owner_uid, new->owner_uid))
        return true;
    struct mark a = mark_of(old), b = mark_of(new);
    return a.class != b.class || a.gated != b.gated || a.held != b.held ||
           a.scheduled != b.scheduled || a.ready != b.ready || a.failing != b.failing ||
           a.index != b.index || !str_eq(a.hash, b.hash);
}
