/*
 * The PodCliqueScalingGroup planner: one set of member cliques per replica of the group, holes
 * filled, every index at or above the wanted number removed; status from the members.
 */
#include "operator/clique.h"
#include "operator/operator.h"

enum { STAGE_FINALIZER, STAGE_MEMBERS, STAGE_STATUS };

struct group_work {
    const struct world *world;
    const struct obj *pcs;
    const struct obj *pcsg;
    struct pcs_view set;
    struct pcsg_view spec;
    struct group_view template;
    int64_t pcs_index;
    struct plan *plan;
};

/* Which group of the template this is: the one whose name gives our own. */
static bool find_template(struct group_work *g)
{
    for (struct jiter it = jiter(g->set.scaling_groups); jnext(&it);) {
        group_view(it.value, &g->template);
        str name = name_pcsg(g->plan->arena, g->pcs->name, g->pcs_index, g->template.name);
        if (str_eq(name, g->pcsg->name))
            return true;
    }
    return false;
}

/* The members of one replica, as templates; names the set does not know are left out. */
static size_t member_places(struct group_work *g, struct clique_place **ret)
{
    size_t n = 0;
    *ret = arena_array(g->plan->arena, struct clique_place, jlen(g->spec.clique_names) + 1);
    for (struct jiter it = jiter(g->spec.clique_names); jnext(&it);) {
        for (struct jiter c = jiter(g->set.cliques); jnext(&c);) {
            if (!str_eq(jstr(jgetc(c.value, "name")), jstr(it.value)))
                continue;
            (*ret)[n] = clique_place(g->plan->arena, g->pcs, g->pcsg, c.value);
            (*ret)[n].pcs_index = g->pcs_index;
            (*ret)[n++].group = g->template;
            break;
        }
    }
    return n;
}

static void plan_members(struct group_work *g)
{
    struct clique_place *places;
    size_t n = member_places(g, &places), from = g->plan->writes.len;
    for (int64_t j = 0; j < g->spec.replicas && n > 0 && !make_is_full(g->plan, from); j++) {
        for (size_t i = 0; i < n; i++) {
            places[i].group_index = j;
            clique_ensure(g->world, &places[i], STAGE_MEMBERS, g->plan);
        }
    }
}

static void plan_excess(struct group_work *g)
{
    struct obj *o;
    struct cache_iter it = world_owned(g->world, &kind_pclq, g->pcsg->uid);
    while ((o = cache_next(&it))) {
        int64_t j = label_index(o, STR(LABEL_PCSG_INDEX));
        if (o->deleting || j < g->spec.replicas)
            continue;
        struct plan_write *write = plan_delete(g->plan, STAGE_MEMBERS, o);
        plan_why(write, g->plan, "replica %lld of the group is not among the %lld wanted",
                 (long long)j, (long long)g->spec.replicas);
    }
}

struct replica_state {
    bool complete, scheduled, available, updated, breached;
};

static struct replica_state replica_state(struct group_work *g, int64_t j)
{
    struct replica_state s = {true, true, true, true, false};
    for (struct jiter it = jiter(g->spec.clique_names); jnext(&it);) {
        str name = name_member_pclq(g->plan->arena, g->pcsg->name, j, jstr(it.value));
        const struct obj *o = world_get(g->world, &kind_pclq, g->pcsg->ns, name);
        if (!o || o->deleting)
            return (struct replica_state){0};
        jval conditions = jgetc(obj_status(o), "conditions");
        s.scheduled = s.scheduled && condition_is_true(conditions, STR("PodCliqueScheduled"));
        s.breached = s.breached || condition_is_true(conditions, STR("MinAvailableBreached"));
        s.available = s.available && jint(jgetc(obj_status(o), "readyReplicas"), 0) >=
                                         jint(jgetc(obj_spec(o), "minAvailable"), 1);
        s.updated = s.updated && clique_is_updated(o);
    }
    s.available = s.available && s.scheduled;
    s.updated = s.updated && s.available;
    return s;
}

/* Replicas at or above this have no members yet. */
static int64_t members_seen(struct group_work *g)
{
    int64_t seen = 0;
    struct obj *o;
    for (struct cache_iter it = world_owned(g->world, &kind_pclq, g->pcsg->uid);
         (o = cache_next(&it));)
        seen = MAX(seen, label_index(o, STR(LABEL_PCSG_INDEX)) + 1);
    return seen;
}

static str group_selector(struct group_work *g)
{
    struct labels l;
    struct arena *a = g->plan->arena;
    labels_init(&l, a);
    labels_set(&l, LABEL_MANAGED_BY, STR(MANAGED_BY_GROVE));
    labels_set(&l, LABEL_PART_OF, name_label(a, g->pcs->name));
    labels_set(&l, LABEL_PCSG, name_label(a, g->pcsg->name));
    return labels_selector(&l);
}

static void plan_status(struct group_work *g)
{
    int64_t scheduled = 0, available = 0, updated = 0, healthy = 0, seen = members_seen(g);
    for (int64_t j = 0; j < MIN(g->spec.replicas, seen); j++) {
        struct replica_state s = replica_state(g, j);
        scheduled += s.scheduled;
        available += s.available;
        updated += s.updated;
        healthy += s.complete && !s.breached;
    }
    bool breached = healthy < g->spec.min_available;
    struct condition c = {
        .type = "MinAvailableBreached",
        .status = breached ? "True" : "False",
        .reason = breached ? "InsufficientAvailablePodCliqueScalingGroupReplicas"
                           : "SufficientAvailablePodCliqueScalingGroupReplicas",
        .message = arena_printf(g->plan->arena, "%lld of %lld replicas are sound, %lld are needed",
                                (long long)healthy, (long long)g->spec.replicas,
                                (long long)g->spec.min_available),
    };
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_int(&w, "observedGeneration", g->pcsg->generation);
    jw_put_int(&w, "replicas", g->spec.replicas);
    jw_put_int(&w, "scheduledReplicas", scheduled);
    jw_put_int(&w, "availableReplicas", available);
    jw_put_int(&w, "updatedReplicas", updated);
    jw_put_str(&w, "selector", group_selector(g));
    make_conditions(&w, jgetc(obj_status(g->pcsg), "conditions"), &c, 1, g->world->now);
    jw_end(&w);
    make_status(g->plan, STAGE_STATUS, g->pcsg, jw_doc(&w));
}

void pcsg_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *pcsg = world_get(w, &kind_pcsg, key->ns, key->name);
    (void)ctx;
    if (!pcsg)
        return;
    if (pcsg->deleting) {
        (void)make_finalizer(p, STAGE_FINALIZER, pcsg, STR(FINALIZER_PCSG), false);
        return;
    }
    struct group_work g = {.world = w, .pcsg = pcsg, .plan = p, .pcs = owner_pcs(w, pcsg)};
    if (!g.pcs || g.pcs->deleting)
        return;
    g.pcs_index = label_index(pcsg, STR(LABEL_PCS_INDEX));
    pcs_view(g.pcs, &g.set);
    pcsg_view(pcsg, &g.spec);
    if (!find_template(&g))
        return;
    bool adding = make_finalizer(p, STAGE_FINALIZER, pcsg, STR(FINALIZER_PCSG), true);
    plan_members(&g);
    plan_excess(&g);
    if (!adding)
        plan_status(&g);
}
