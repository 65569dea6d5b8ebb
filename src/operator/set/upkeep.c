/* See upkeep.h. */
#include "operator/common/upkeep.h"

#include "operator/common/clique.h"
#include "operator/common/gangmap_world.h"
#include "operator/common/revisions.h"
#include "operator/common/surge.h"
#include "operator/common/update.h"
#include "operator/operator.h"
#include "operator/set/children.h"
#include "operator/set/hpa.h"
#include "operator/set/pdb.h"
#include "operator/set/podcliqueset.h"

/* After those of the owners' planners, for plans that hold both. */
enum { STAGE_SHAPE = 6, STAGE_BUDGET };

struct upkeep {
    const struct world *world;
    struct plan *plan;
    const struct obj *pcs;
    const struct obj *owner; /* the set, or a scaling group of it */
    const struct obj *child;
    struct pcs_view set;
    int64_t replicas; /* of the owner */
};

/* ---- cliques ---- */

/* What it is to be of; a member, while it waits to be made anew, what it is of. */
static void carry(const struct upkeep *u, const struct obj *current, struct clique_place *c)
{
    struct arena *a = u->plan->arena;
    const struct obj *revision = update_revision(u->world, a, u->pcs, c->pcs_index);
    if (u->owner->kind == &kind_pcsg)
        revision =
            update_revision_of_member(u->world, a, u->pcs, u->child, c->clique.name, revision);
    update_place(c, revision, revision == current);
}

/* Fills in which clique of the template this is and where it stands, by its name: labels are among
 * what may have drifted. False: it is none of the template's. */
static bool find_place(const struct upkeep *u, const struct obj *current, struct clique_place *ret)
{
    bool member = u->owner->kind == &kind_pcsg;
    for (struct jiter it = jiter(u->set.cliques); jnext(&it);) {
        struct clique_place c = {.pcs = u->pcs, .owner = u->owner};
        clique_view(it.value, &c.clique);
        int64_t i = name_index(u->child->name, u->owner->name, c.clique.name);
        if (i < 0 || pcs_group_of(&u->set, c.clique.name, &c.group) != member)
            continue;
        c.pcs_index = member ? label_index(u->owner, STR(LABEL_PCS_INDEX)) : i;
        c.group_index = member ? i : 0;
        carry(u, current, &c);
        *ret = c;
        return true;
    }
    return false;
}

/* Where a map of gangs rules, it says which replicas of a group there are. */
static bool is_excess(const struct upkeep *u, const struct clique_place *place)
{
    if (u->owner->kind != &kind_pcsg)
        return place->pcs_index >= u->replicas;
    return place->group_index >= u->replicas && !gangmap_rules(u->world, u->pcs, place->pcs_index);
}

static void keep_clique(const struct upkeep *u)
{
    struct clique_place place;
    const struct obj *revision = revisions_current(u->world, u->pcs, u->plan->arena);
    /* Nothing may carry the name of a template that is not stored yet. What is not wanted goes by
     * its owner's hand. */
    if (!revision || !find_place(u, revision, &place) || is_excess(u, &place))
        return;
    size_t before = u->plan->writes.len;
    clique_ensure(u->world, &place, STAGE_SHAPE, u->plan);
    /* Its budget follows from what the clique is; that comes first. */
    if (u->plan->writes.len == before)
        pdb_ensure(u->world, u->pcs, u->owner, u->child, STAGE_BUDGET, u->plan);
}

/* ---- the rest ---- */

static void keep_group(const struct upkeep *u)
{
    pcs_keep_group(u->world, u->pcs, u->child, STAGE_SHAPE, u->plan);
}

static void keep_service(const struct upkeep *u)
{
    children_keep_service(u->world, u->pcs, u->child, STAGE_SHAPE, u->plan);
}

static void keep_hpa(const struct upkeep *u)
{
    hpa_keep(u->world, u->pcs, u->child, STAGE_SHAPE, u->plan);
}

static void keep_budget(const struct upkeep *u)
{
    pdb_keep(u->world, u->owner, u->child, STAGE_BUDGET, u->plan);
}

/* ---- plan ---- */

static const struct {
    const struct kind *kind;
    void (*keep)(const struct upkeep *u);
} kinds[] = {
    {&kind_pclq, keep_clique}, {&kind_pcsg, keep_group}, {&kind_service, keep_service},
    {&kind_hpa, keep_hpa},     {&kind_pdb, keep_budget},
};

/* Its controller, when that is a set or a group and still the one it names. */
static const struct obj *owner_of(const struct world *w, const struct obj *child)
{
    jval ref = obj_controller_ref(child);
    str kind = jstr(jgetc(ref, "kind"));
    const struct kind *k = str_is(kind, kind_pcs.kind)    ? &kind_pcs
                           : str_is(kind, kind_pcsg.kind) ? &kind_pcsg
                                                          : NULL;
    const struct obj *owner = k ? world_get(w, k, child->ns, jstr(jgetc(ref, "name"))) : NULL;
    return owner && str_eq(owner->uid, child->owner_uid) ? owner : NULL;
}

static void keep(const struct world *w, const struct obj *child, struct plan *p)
{
    struct upkeep u = {.world = w, .plan = p, .child = child, .owner = owner_of(w, child)};
    u.pcs = u.owner ? owner_pcs(w, u.owner) : NULL;
    if (!u.pcs || u.pcs->deleting || u.owner->deleting || child->deleting)
        return;
    pcs_view(u.pcs, &u.set);
    u.replicas = surge_total(u.owner);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (kinds[i].kind == child->kind)
            kinds[i].keep(&u);
    }
}

void upkeep_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *child = world_get(w, key->kind, key->ns, key->name);
    (void)ctx;
    if (child)
        keep(w, child, p);
}

void upkeep_each(const struct world *w, const struct obj *owner, upkeep_fn *fn, void *ctx)
{
    struct obj *o;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct cache_iter it = world_owned(w, kinds[i].kind, owner->uid);
        while ((o = cache_next(&it)))
            fn(ctx, o);
    }
}

struct all {
    const struct world *world;
    struct plan *plan;
};

static void keep_one(void *ctx, const struct obj *child)
{
    const struct all *all = ctx;
    keep(all->world, child, all->plan);
}

void upkeep_plan_all(const struct world *w, const struct obj *owner, struct plan *p)
{
    struct all all = {w, p};
    upkeep_each(w, owner, keep_one, &all);
}

struct leaving {
    const struct obj *owner;
    unsigned stage;
    struct plan *plan;
};

static void let_go(void *ctx, const struct obj *child)
{
    const struct leaving *l = ctx;
    if (child->deleting)
        return;
    struct plan_write *write = plan_delete(l->plan, l->stage, child);
    /* As it was seen: one that has just been let go of, whose owner was told to leave it, is not
     * deleted because a cache still shows it owned. */
    write->rv = child->rv;
    write->owner_uid = l->owner->uid;
    write->component_uid = l->owner->uid;
    write->user_scale_in = true;
    plan_why(write, l->plan, "%s %.*s is being deleted", l->owner->kind->kind,
             STR_ARG(l->owner->name));
}

void upkeep_let_go(const struct world *w, const struct obj *owner, unsigned stage, struct plan *p)
{
    struct leaving l = {owner, stage, p};
    if (!obj_has_finalizer(owner, STR(FINALIZER_ORPHAN)))
        upkeep_each(w, owner, let_go, &l);
}
