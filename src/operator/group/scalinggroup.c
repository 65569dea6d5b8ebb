/*
 * The PodCliqueScalingGroup planner: one set of member cliques per replica of the group, holes
 * filled, every index at or above the wanted number removed. Members that exist are looked after by
 * upkeep.c, and what they amount to is pcsg_status.c; the parts run apart for the reason
 * podcliqueset.c gives.
 */
#include "operator/common/gangmap_world.h"
#include "operator/common/kept.h"
#include "operator/common/revisions.h"
#include "operator/common/rollup.h"
#include "operator/common/sharing.h"
#include "operator/common/update.h"
#include "operator/common/upkeep.h"
#include "operator/group/group.h"
#include "operator/operator.h"

enum { STAGE_FINALIZER, STAGE_CLAIMS, STAGE_MEMBERS };
/* Of one that is being deleted. */
enum { STAGE_LET_GO, STAGE_LEFT };

/* Which group of the template this is: the one whose name gives our own. */
static bool find_template(struct group_work *g)
{
    for (struct jiter it = jiter(g->set.scaling_groups); jnext(&it);) {
        group_view(it.value, &g->template);
        str name = name_pcsg(g->plan->arena, g->pcs->name, g->pcs_index, g->template.name);
        if (str_eq(name, g->pcsg->name)) {
            g->config = it.value;
            return true;
        }
    }
    return false;
}

/* Where a map rules there may be holes: as many as are wanted come first, by number. Only
 * RollingRecreate has others above them; what a coherent step adds stays. */
static int64_t first_above(const struct group_work *g)
{
    int64_t seen = 0;
    if (!g->mapped)
        return g->spec.replicas;
    for (int64_t j = 0; j < g->top && update_strategy_of(g->pcs) == UPDATE_RECREATE; j++) {
        if (g->mapped[j] && seen++ >= g->spec.replicas)
            return j;
    }
    return INT64_MAX;
}

bool group_work_init(struct group_work *g, const struct world *w, const struct key *key,
                     struct plan *p)
{
    *g = (struct group_work){.world = w, .plan = p};
    g->pcsg = world_get(w, &kind_pcsg, key->ns, key->name);
    if (!g->pcsg || g->pcsg->deleting)
        return false;
    g->pcs = owner_pcs(w, g->pcsg);
    if (!g->pcs || g->pcs->deleting)
        return false;
    g->pcs_index = label_index(g->pcsg, STR(LABEL_PCS_INDEX));
    pcs_view(g->pcs, &g->set);
    pcsg_view(g->pcsg, &g->spec);
    if (!find_template(g))
        return false;
    g->revision = update_revision(w, p->arena, g->pcs, g->pcs_index);
    g->mapped = gangmap_wanted(w, p->arena, g->pcs, g->pcsg, &g->n_mapped);
    g->top = g->mapped ? MAX(g->n_mapped, 0) : surge_total(g->pcsg);
    g->above = first_above(g);
    return true;
}

/* The members of one replica, as templates; names the set does not know are left out. */
static size_t member_places(struct group_work *g, struct clique_place **ret)
{
    size_t n = 0;
    bool current = g->revision == revisions_current(g->world, g->pcs, g->plan->arena);
    *ret = arena_array(g->plan->arena, struct clique_place, jlen(g->spec.clique_names) + 1);
    for (struct jiter it = jiter(g->spec.clique_names); jnext(&it);) {
        for (struct jiter c = jiter(g->set.cliques); jnext(&c);) {
            if (!str_eq(jstr(jgetc(c.value, "name")), jstr(it.value)))
                continue;
            (*ret)[n] = (struct clique_place){.pcs = g->pcs, .owner = g->pcsg};
            clique_view(c.value, &(*ret)[n].clique);
            update_place(&(*ret)[n], g->revision, current);
            (*ret)[n].pcs_index = g->pcs_index;
            (*ret)[n++].group = g->template;
            break;
        }
    }
    return n;
}

/* The members of replica j that are not there. */
static void plan_replica(struct group_work *g, const struct clique_place *places, size_t n,
                         int64_t j)
{
    str *names = arena_array(g->plan->arena, str, n);
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        names[i] = name_member_pclq(g->plan->arena, g->pcsg->name, j, places[i].clique.name);
        sum += rollup_hash(names[i]);
    }
    if (rollup_has(rollup_of(g->world, &kind_pclq, g->pcsg->uid), j, n, sum))
        return;
    for (size_t i = 0; i < n; i++) {
        struct clique_place place = places[i];
        if (make_is_child(world_get(g->world, &kind_pclq, g->pcs->ns, names[i]), g->pcsg))
            continue;
        place.group_index = j;
        place.clique.replicas = kept_replicas(g->pcs, names[i], place.clique.replicas);
        clique_ensure(g->world, &place, STAGE_MEMBERS, g->plan);
    }
}

static void plan_members(struct group_work *g)
{
    struct clique_place *places;
    size_t n = member_places(g, &places), from = g->plan->writes.len;
    for (int64_t j = 0; j < g->top && n > 0 && !make_is_full(g->plan, from); j++) {
        if (group_wants(g, j))
            plan_replica(g, places, n, j);
    }
    make_event(g->plan, from, g->pcsg, PLAN_CREATE, &kind_pclq, "PodCliqueCreateSuccessful");
}

static bool has_excess(const struct group_work *g)
{
    const struct rollup *r = rollup_of(g->world, &kind_pclq, g->pcsg->uid);
    if (!g->mapped)
        return rollup_exceeds(r, g->top);
    for (int64_t j = 0; g->n_mapped >= 0 && j < (int64_t)r->replicas.len; j++) {
        if (!group_wants(g, j) && r->replicas.p[j].children > 0)
            return true;
    }
    return false;
}

static void plan_excess(struct group_work *g)
{
    struct obj *o;
    size_t from = g->plan->writes.len;
    if (!has_excess(g))
        return;
    struct cache_iter it = world_owned(g->world, &kind_pclq, g->pcsg->uid);
    while ((o = cache_next(&it))) {
        int64_t j = label_index(o, STR(LABEL_PCSG_INDEX));
        if (o->deleting || group_wants(g, j))
            continue;
        struct plan_write *write = plan_delete(g->plan, STAGE_MEMBERS, o);
        write->component_uid = g->pcsg->uid;
        write->user_scale_in = true;
        plan_why(write, g->plan, "replica %lld of the group is not among the %lld wanted",
                 (long long)j, (long long)(g->mapped ? g->spec.replicas : g->top));
    }
    make_event(g->plan, from, g->pcs, PLAN_DELETE, &kind_pclq,
               "PodCliqueScalingGroupReplicaDeleteSuccessful");
}

void pcsg_members_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *pcsg = world_get(w, &kind_pcsg, key->ns, key->name);
    struct group_work g;
    (void)ctx;
    if (pcsg && pcsg->deleting && obj_has_finalizer(pcsg, STR(FINALIZER_PCSG))) {
        upkeep_let_go(w, pcsg, STAGE_LET_GO, p);
        (void)make_finalizer(p, STAGE_LEFT, pcsg, STR(FINALIZER_PCSG), false);
    }
    if (!group_work_init(&g, w, key, p))
        return;
    (void)make_finalizer(p, STAGE_FINALIZER, pcsg, STR(FINALIZER_PCSG), true);
    /* Nothing may carry the name of a template that is not stored yet. */
    if (!g.revision)
        return;
    sharing_plan_group(w, g.pcs, pcsg, g.config, STAGE_CLAIMS, p);
    plan_members(&g);
    plan_excess(&g);
}

void pcsg_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *pcsg = world_get(w, &kind_pcsg, key->ns, key->name);
    pcsg_members_plan(w, key, ctx, p);
    if (pcsg)
        upkeep_plan_all(w, pcsg, p);
    pcsg_status_plan(w, key, ctx, p);
}
