/* See revisions.h. */
#include "operator/common/revisions.h"

struct objects {
    struct obj **items;
    size_t n;
};

static struct objects owned(const struct world *w, const struct kind *k, str uid, struct arena *a)
{
    struct objects list = {0};
    struct obj *o;
    size_t n = 0;
    for (struct cache_iter it = world_owned(w, k, uid); cache_next(&it);)
        n++;
    list.items = arena_array(a, struct obj *, n + 1);
    for (struct cache_iter it = world_owned(w, k, uid); (o = cache_next(&it));)
        list.items[list.n++] = o;
    return list;
}

/* Cliques of the set and of its groups. Only a take-over reads them, so they are gathered only
 * while there is no revision. */
static struct objects live_cliques(const struct world *w, const struct obj *pcs, struct arena *a)
{
    VEC(struct obj *) all = {0};
    struct obj *o, *group;
    for (struct cache_iter it = world_owned(w, &kind_pclq, pcs->uid); (o = cache_next(&it));)
        *vec_push(&all) = o;
    for (struct cache_iter g = world_owned(w, &kind_pcsg, pcs->uid); (group = cache_next(&g));) {
        for (struct cache_iter it = world_owned(w, &kind_pclq, group->uid); (o = cache_next(&it));)
            *vec_push(&all) = o;
    }
    struct objects list = {arena_array(a, struct obj *, all.len + 1), all.len};
    if (all.len)
        memcpy(list.items, all.p, all.len * sizeof(*all.p));
    vec_done(&all);
    return list;
}

struct users {
    const struct world *world;
    const struct obj *pcs;
    struct arena *arena;
};

static bool carries(const struct obj *pclq, str clique, str hash)
{
    jval status = obj_status(pclq);
    if (str_is_empty(clique))
        return str_eq(jstr(jgetc(status, "currentPodCliqueSetGenerationHash")), hash);
    return str_eq(obj_label(pclq, STR(LABEL_TEMPLATE_HASH)), hash) ||
           str_eq(jstr(jgetc(status, "currentPodTemplateHash")), hash);
}

/* What a component is of that nobody changed since: its entry keeps that version's hash. */
static bool is_mapped(const struct users *u, str hash)
{
    struct obj *o;
    for (struct cache_iter it = world_owned(u->world, &kind_pod_gang_map, u->pcs->uid);
         (o = cache_next(&it));) {
        for (struct jiter e = jiter(jgetc(obj_spec(o), "entries")); jnext(&e);) {
            if (str_eq(jstr(jgetc(e.value, "podCliqueSetGenerationHash")), hash))
                return true;
        }
    }
    return false;
}

/* Asked about the oldest revisions only, when there are more than are kept. */
static bool is_in_use(void *ctx, str clique, str hash)
{
    const struct users *u = ctx;
    /* What replicas are held at, or gone back to. */
    if (str_is_empty(clique) &&
        (str_eq(jstr(jgetc(obj_status(u->pcs), "lastCompleteGenerationHash")), hash) ||
         is_mapped(u, hash)))
        return true;
    struct objects cliques = live_cliques(u->world, u->pcs, u->arena);
    for (size_t i = 0; i < cliques.n; i++) {
        if (carries(cliques.items[i], clique, hash))
            return true;
    }
    return false;
}

void revisions_plan(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p,
                    struct revision_decision *ret)
{
    struct objects stored = owned(w, &kind_controller_revision, pcs->uid, p->arena);
    struct objects cliques = {0};
    struct users users = {w, pcs, p->arena};
    if (stored.n == 0)
        cliques = live_cliques(w, pcs, p->arena);
    struct revision_input in = {.pcs = pcs,
                                .revisions = stored.items,
                                .n_revisions = stored.n,
                                .cliques = cliques.items,
                                .n_cliques = cliques.n,
                                .history_limit = REVISION_HISTORY_LIMIT,
                                .in_use = is_in_use,
                                .ctx = &users};
    revision_decide(p->arena, &in, ret);
    if (ret->create)
        plan_why(plan_create(p, stage, &kind_controller_revision, pcs->ns, ret->name, ret->create),
                 p, "revision %lld of the template", (long long)ret->number);
    if (ret->renumber)
        plan_why(plan_merge_patch(p, stage, ret->renumber, STR_NONE, ret->patch, ret->renumber->rv),
                 p, "the template is that of this revision again");
    for (size_t i = 0; i < ret->n_remove; i++)
        plan_why(plan_delete(p, stage, ret->remove[i]), p, "more than %d old revisions",
                 REVISION_HISTORY_LIMIT);
}

const struct obj *revisions_current(const struct world *w, const struct obj *pcs, struct arena *a)
{
    struct objects stored = owned(w, &kind_controller_revision, pcs->uid, a);
    jval status = obj_status(pcs);
    /* What the status names was compared with the template of this generation already. */
    if (jint(jgetc(status, "observedGeneration"), -1) == pcs->generation) {
        const struct obj *named =
            revision_by_hash(stored.items, stored.n, jstr(jgetc(status, "currentGenerationHash")));
        if (named)
            return named;
    }
    return revision_current(pcs, stored.items, stored.n);
}

const struct obj *revisions_by_hash(const struct world *w, const struct obj *pcs, struct arena *a,
                                    str hash)
{
    struct objects stored = owned(w, &kind_controller_revision, pcs->uid, a);
    return revision_by_hash(stored.items, stored.n, hash);
}

const struct obj *revisions_by_number(const struct world *w, const struct obj *pcs, int64_t number)
{
    struct obj *o;
    for (struct cache_iter it = world_owned(w, &kind_controller_revision, pcs->uid);
         (o = cache_next(&it));) {
        if (!o->deleting && revision_number(o) == number)
            return o;
    }
    return NULL;
}

const struct obj *revisions_naming(const struct world *w, const struct obj *pcs, struct arena *a,
                                   str clique, str hash)
{
    struct objects stored = owned(w, &kind_controller_revision, pcs->uid, a);
    const struct obj *found = NULL;
    for (size_t i = 0; i < stored.n; i++) {
        const struct obj *r = stored.items[i];
        if (revision_names(r, clique, hash) &&
            (!found || revision_number(r) > revision_number(found)))
            found = r;
    }
    return found;
}

const struct obj *revisions_previous(const struct world *w, const struct obj *pcs,
                                     const struct obj *current)
{
    const struct obj *found = NULL;
    struct obj *o;
    for (struct cache_iter it = world_owned(w, &kind_controller_revision, pcs->uid);
         (o = cache_next(&it));) {
        if (o != current && !o->deleting && (!found || revision_number(o) > revision_number(found)))
            found = o;
    }
    return found;
}
