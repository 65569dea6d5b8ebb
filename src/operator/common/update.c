/* See update.h: what planners of all levels ask. */
#include "operator/common/update.h"

#include "operator/common/revisions.h"
#include "operator/common/rollup.h"

static jval strategy(const struct obj *pcs)
{
    return jgetc(obj_spec(pcs), "updateStrategy");
}

static jval progress_of(const struct obj *pcs)
{
    return jgetc(obj_status(pcs), "updateProgress");
}

enum update_strategy update_strategy_of(const struct obj *pcs)
{
    str type = jstr(jgetc(strategy(pcs), "type"));
    return str_is(type, "OnDelete")   ? UPDATE_ON_DELETE
           : str_is(type, "Coherent") ? UPDATE_COHERENT
                                      : UPDATE_RECREATE;
}

bool update_is_paused(const struct obj *pcs)
{
    return str_is(obj_annotation(pcs, STR(ANNOTATION_PAUSED)), "true");
}

bool update_is_running(const struct obj *pcs)
{
    jval progress = progress_of(pcs);
    return j_has(progress) && !j_has(jgetc(progress, "updateEndedAt"));
}

bool update_holds(const struct obj *pcs, int64_t replica)
{
    if (!update_is_running(pcs) || update_strategy_of(pcs) == UPDATE_ON_DELETE)
        return false;
    for (struct jiter it = jiter(jgetc(progress_of(pcs), "currentlyUpdating")); jnext(&it);) {
        if (jint(jgetc(it.value, "replicaIndex"), -1) == replica)
            return !j_has(jgetc(it.value, "updateEndedAt"));
    }
    return false;
}

bool update_rolls(const struct obj *pcs, int64_t replica)
{
    return update_holds(pcs, replica) && !update_is_paused(pcs);
}

int64_t update_partition(const struct obj *pcs)
{
    if (update_strategy_of(pcs) == UPDATE_ON_DELETE)
        return 0;
    return MAX(jint(jgetc(strategy(pcs), "partition"), 0), 0);
}

int64_t update_max_concurrent(const struct obj *pcs)
{
    return MAX(jint(jgetc(strategy(pcs), "maxConcurrentReplicas"), 1), 1);
}

/* ---- times ---- */

str update_end_time(struct arena *a, str started, usec now)
{
    str ended = time_text(a, now);
    return str_eq(ended, started) ? time_text(a, now + USEC_PER_SEC) : ended;
}

/* ---- revisions ---- */

const struct obj *update_held_revision(const struct world *w, struct arena *a,
                                       const struct obj *pcs)
{
    if (update_partition(pcs) == 0)
        return NULL;
    return revisions_by_hash(w, pcs, a, jstr(jgetc(obj_status(pcs), "lastCompleteGenerationHash")));
}

const struct obj *update_revision(const struct world *w, struct arena *a, const struct obj *pcs,
                                  int64_t replica)
{
    const struct obj *held =
        replica < update_partition(pcs) ? update_held_revision(w, a, pcs) : NULL;
    return held ? held : revisions_current(w, pcs, a);
}

const struct obj *update_revision_of_member(const struct world *w, struct arena *a,
                                            const struct obj *pcs, const struct obj *pclq,
                                            str clique, const struct obj *target)
{
    str hash = obj_label(pclq, STR(LABEL_TEMPLATE_HASH));
    if (!target || update_strategy_of(pcs) == UPDATE_ON_DELETE ||
        revision_names(target, clique, hash))
        return target;
    const struct obj *carried = revisions_naming(w, pcs, a, clique, hash);
    return carried ? carried : target;
}

jval update_stored_clique(const struct obj *revision, str clique)
{
    for (struct jiter it = jiter(jgetc(revision_template(revision), "cliques")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), clique))
            return it.value;
    }
    return JVAL_ABSENT;
}

void update_place(struct clique_place *place, const struct obj *revision, bool is_current)
{
    place->hash = revision_clique_hash(revision, place->clique.name);
    jval stored = is_current ? JVAL_ABSENT : update_stored_clique(revision, place->clique.name);
    if (j_is_absent(stored))
        return;
    place->clique.labels = jgetc(stored, "labels");
    place->clique.annotations = jgetc(stored, "annotations");
    place->clique.pod_spec = jpath(stored, "spec.podSpec");
}

/* ---- what a set's planner works with ---- */

static void sum_up(const struct update_work *u, struct update_target *t)
{
    t->clique_sum = 0;
    t->hash = t->revision ? revision_generation_hash(t->revision) : STR_NONE;
    for (struct jiter it = jiter(u->set.cliques); t->revision && jnext(&it);) {
        struct group_view g;
        str name = jstr(jgetc(it.value, "name"));
        if (!pcs_group_of(&u->set, name, &g))
            t->clique_sum += rollup_hash(revision_clique_hash(t->revision, name));
    }
    t->group_sum = u->n_groups * rollup_hash(t->hash);
}

void update_work_init(struct update_work *u, const struct world *w, const struct obj *pcs,
                      struct plan *p)
{
    *u = (struct update_work){.world = w, .plan = p, .pcs = pcs};
    pcs_view(pcs, &u->set);
    u->partition = update_partition(pcs);
    for (struct jiter it = jiter(u->set.cliques); jnext(&it);) {
        struct group_view g;
        u->n_cliques += !pcs_group_of(&u->set, jstr(jgetc(it.value, "name")), &g);
    }
    u->n_groups = (uint32_t)jlen(u->set.scaling_groups);
    u->current.revision = revisions_current(w, pcs, p->arena);
    u->held.revision = update_held_revision(w, p->arena, pcs);
    if (!u->held.revision)
        u->held.revision = u->current.revision;
    sum_up(u, &u->current);
    sum_up(u, &u->held);
}

const struct update_target *update_target_of(const struct update_work *u, int64_t replica)
{
    return replica < u->partition ? &u->held : &u->current;
}
