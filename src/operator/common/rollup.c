/* See rollup.h. */
#include "operator/common/rollup.h"

#include "client/slots.h"
#include "operator/common/clique.h"

static jval conditions_of(const struct obj *o)
{
    return jgetc(obj_status(o), "conditions");
}

static bool is_member(const struct obj *pclq)
{
    return str_is(jstr(jgetc(obj_controller_ref(pclq), "kind")), kind_pcsg.kind);
}

static int64_t replica_of(const struct obj *o)
{
    bool member = o->kind == &kind_pclq && is_member(o);
    return label_index(o, member ? STR(LABEL_PCSG_INDEX) : STR(LABEL_PCS_INDEX));
}

/* A child that says nothing yet has not proved that it is sound. */
static bool is_sound(jval conditions)
{
    jval c = condition_find(conditions, STR("MinAvailableBreached"));
    return !j_is_absent(c) && !str_is(jstr(jgetc(c, "status")), "True");
}

static struct rollup_replica clique_marks(const struct obj *o)
{
    jval status = obj_status(o), conditions = conditions_of(o);
    int64_t min = jint(jgetc(obj_spec(o), "minAvailable"), 1);
    int64_t ready = jint(jgetc(status, "readyReplicas"), 0);
    bool updated = clique_is_updated(o);
    return (struct rollup_replica){
        .children = 1,
        .scheduled = condition_is_true(conditions, STR("PodCliqueScheduled")),
        .available = ready >= min,
        .serving = ready >= component_needs(obj_spec(o)),
        .updated = updated,
        .current = updated && ready >= component_needs(obj_spec(o)),
        .sound = is_sound(conditions),
        .ever = clique_was_scheduled(o),
        .units = (uint32_t)jint(jgetc(status, "updatedReplicas"), 0),
        .revision = rollup_hash(obj_label(o, STR(LABEL_TEMPLATE_HASH))),
        .pods = (uint64_t)jint(jgetc(obj_spec(o), "replicas"), 0) * rollup_hash(o->uid),
    };
}

str group_generation(const struct obj *pcsg)
{
    jval status = obj_status(pcsg);
    str hash = jstr(jgetc(status, "currentPodCliqueSetGenerationHash"));
    jval pass = jpath(status, "updateProgress.podCliqueSetGenerationHash");
    return j_has(pass) && !str_eq(jstr(pass), hash) ? STR_NONE : hash;
}

static struct rollup_replica group_marks(const struct obj *o)
{
    jval status = obj_status(o);
    int64_t min = jint(jgetc(obj_spec(o), "minAvailable"), 1);
    int64_t available = jint(jgetc(status, "availableReplicas"), 0);
    return (struct rollup_replica){
        .children = 1,
        .available = available >= min,
        .serving = available >= component_needs(obj_spec(o)),
        .sound = is_sound(conditions_of(o)),
        .units = (uint32_t)MAX(jint(jgetc(obj_spec(o), "replicas"), 0), 0),
        .revision = rollup_hash(group_generation(o)),
    };
}

/* Indices come from labels, which anybody may write: what makes no sense is not counted. */
static struct rollup_replica *place_of(struct rollup *r, const struct obj *o)
{
    int64_t i = replica_of(o);
    if (o->deleting || i < 0 || i >= SLOTS_MAX)
        return NULL;
    while ((int64_t)r->replicas.len <= i)
        *vec_push(&r->replicas) = (struct rollup_replica){0};
    return &r->replicas.p[i];
}

static void count(struct rollup *r, const struct obj *o, uint32_t by)
{
    struct rollup_replica *at = place_of(r, o);
    if (!at)
        return;
    struct rollup_replica m = o->kind == &kind_pclq ? clique_marks(o) : group_marks(o);
    /* Unsigned: adding (uint32_t)-1 takes one away. */
    at->children += by * m.children;
    at->scheduled += by * m.scheduled;
    at->available += by * m.available;
    at->serving += by * m.serving;
    at->updated += by * m.updated;
    at->current += by * m.current;
    at->sound += by * m.sound;
    at->ever += by * m.ever;
    at->units += by * m.units;
    at->names += (uint64_t)(int64_t)(int32_t)by * rollup_hash(o->name);
    at->revision += (uint64_t)(int64_t)(int32_t)by * m.revision;
    at->pods += (uint64_t)(int64_t)(int32_t)by * m.pods;
}

void rollup_add(void *rollup, const struct obj *child)
{
    count(rollup, child, 1);
}

void rollup_remove(void *rollup, const struct obj *child)
{
    count(rollup, child, (uint32_t)-1);
}

void rollup_done(void *rollup)
{
    struct rollup *r = rollup;
    vec_done(&r->replicas);
}

static const struct cache_fold_def fold = {cache_index_owner, sizeof(struct rollup), rollup_add,
                                           rollup_remove, rollup_done};

const struct rollup *rollup_of(const struct world *w, const struct kind *k, str owner_uid)
{
    static const struct rollup none;
    const struct rollup *r = cache_fold(world_cache(w, k), &fold, owner_uid);
    return r ? r : &none;
}

struct rollup_replica rollup_at(const struct rollup *r, int64_t index)
{
    return index >= 0 && index < (int64_t)r->replicas.len ? r->replicas.p[index]
                                                          : (struct rollup_replica){0};
}

bool rollup_has(const struct rollup *r, int64_t index, size_t children, uint64_t names)
{
    struct rollup_replica at = rollup_at(r, index);
    return at.children == children && at.names == names;
}

bool rollup_exceeds(const struct rollup *r, int64_t replicas)
{
    for (size_t i = (size_t)MAX(replicas, 0); i < r->replicas.len; i++) {
        if (r->replicas.p[i].children > 0)
            return true;
    }
    return false;
}

/* Names differ in their last character, and sums are taken: what those add up to must not depend on
 * which name has which. FNV lets the difference of a last character through as it is. */
uint64_t rollup_hash(str hash)
{
    return str_hash(hash, 0);
}

/* ---- breaches ---- */

bool clique_was_scheduled(const struct obj *pclq)
{
    jval conditions = conditions_of(pclq);
    return condition_is_true(conditions, STR(CONDITION_WAS_SCHEDULED)) ||
           condition_is_true(conditions, STR("PodCliqueScheduled"));
}

bool group_was_healthy(const struct obj *pcsg)
{
    return condition_is_true(conditions_of(pcsg), STR(CONDITION_EVER_HEALTHY));
}

static void index_breached(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    *n = 0;
    if (max == 0 || o->deleting || str_is_empty(o->owner_uid) ||
        !condition_is_true(conditions_of(o), STR("MinAvailableBreached")))
        return;
    bool answered = condition_is_true(conditions_of(o), STR(CONDITION_TERMINATING));
    if (o->kind == &kind_pclq ? clique_was_scheduled(o) : group_was_healthy(o) && !answered)
        keys[(*n)++] = o->owner_uid;
}

struct cache_iter rollup_breached(const struct world *w, const struct kind *k, str owner_uid)
{
    return cache_by(world_cache(w, k), index_breached, owner_uid);
}

static void index_failing(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    *n = 0;
    if (max > 0 && !o->deleting && !str_is_empty(o->owner_uid) &&
        condition_is_true(conditions_of(o), STR(CONDITION_REPLICA_FAILURE)))
        keys[(*n)++] = o->owner_uid;
}

struct cache_iter rollup_failing(const struct world *w, const struct kind *k, str owner_uid)
{
    return cache_by(world_cache(w, k), index_failing, owner_uid);
}

static void index_not_running(const struct obj *gang, struct arena *a, str *keys, size_t max,
                              size_t *n)
{
    *n = 0;
    if (max > 0 && !str_is_empty(gang->owner_uid) &&
        !str_is(jstr(jgetc(obj_status(gang), "phase")), "Running"))
        keys[(*n)++] = gang->owner_uid;
}

struct cache_iter gangs_not_running(const struct world *w, str pcs_uid)
{
    return cache_by(world_cache(w, &kind_pod_gang), index_not_running, pcs_uid);
}

void rollup_add_folds(struct runtime *r)
{
    struct cache *children[] = {runtime_cache(r, &kind_pclq), runtime_cache(r, &kind_pcsg)};
    for (size_t i = 0; i < ARRAY_LEN(children); i++) {
        cache_add_index(children[i], index_breached);
        cache_add_index(children[i], index_failing);
        cache_add_fold(children[i], &fold);
    }
    cache_add_index(runtime_cache(r, &kind_pod_gang), index_not_running);
}
