/*
 * The PodCliqueSet planner: from the set to its small children, its scaling groups and its
 * standalone cliques, and the set's status from theirs. PodGangs are planned by podgang.c, members
 * of scaling groups by scalinggroup.c, pods by podclique.c.
 */
#include "grove/admit.h"
#include "operator/children.h"
#include "operator/clique.h"
#include "operator/operator.h"

enum { STAGE_FINALIZER, STAGE_CHILDREN, STAGE_CLIQUES, STAGE_STATUS };

/* ---- children ---- */

static struct doc *make_group(struct arena *a, const struct obj *pcs, int64_t i,
                              const struct group_view *g, const struct obj *existing)
{
    str name = name_pcsg(a, pcs->name, i, g->name);
    struct labels l, annotations;
    labels_init(&l, a);
    labels_common(&l, pcs->name, "pcs-podcliquescalinggroup");
    labels_set(&l, LABEL_NAME, name_label(a, name));
    labels_set(&l, LABEL_PCSG, name_label(a, name));
    labels_set_int(&l, LABEL_PCS_INDEX, i);
    labels_init(&annotations, a);
    labels_add_all(&annotations, g->annotations);
    struct jw w;
    make_begin(&w, &(struct make_meta){&kind_pcsg, pcs->ns, name, &l, &annotations, pcs,
                                       existing ? NULL : FINALIZER_PCSG});
    jw_put_object(&w, "spec");
    jw_put(&w, "cliqueNames", g->clique_names);
    jw_put_int(&w, "minAvailable", g->min_available);
    /* Once it exists, how many there are belongs to users and autoscalers. */
    if (!existing)
        jw_put_int(&w, "replicas", g->replicas);
    jw_end(&w);
    return make_end(&w);
}

static void plan_groups(const struct world *w, const struct obj *pcs, const struct pcs_view *v,
                        struct plan *p)
{
    size_t n = jlen(v->scaling_groups), from = p->writes.len;
    for (int64_t i = 0; i < v->replicas && n > 0 && !make_is_full(p, from); i++) {
        for (struct jiter it = jiter(v->scaling_groups); jnext(&it);) {
            struct group_view g;
            group_view(it.value, &g);
            str name = name_pcsg(p->arena, pcs->name, i, g.name);
            const struct obj *there = world_get(w, &kind_pcsg, pcs->ns, name);
            make_ensure(p, STAGE_CLIQUES, w, pcs, there, &kind_pcsg, name,
                        make_group(p->arena, pcs, i, &g, there));
        }
    }
}

static void plan_cliques(const struct world *w, const struct obj *pcs, const struct pcs_view *v,
                         struct plan *p)
{
    struct clique_place *places = arena_array(p->arena, struct clique_place, jlen(v->cliques) + 1);
    size_t n = 0, from = p->writes.len;
    for (struct jiter it = jiter(v->cliques); jnext(&it);) {
        struct group_view g;
        if (!pcs_group_of(v, jstr(jgetc(it.value, "name")), &g))
            places[n++] = clique_place(p->arena, pcs, pcs, it.value);
    }
    for (int64_t i = 0; i < v->replicas && n > 0 && !make_is_full(p, from); i++) {
        for (size_t k = 0; k < n; k++) {
            places[k].pcs_index = i;
            clique_ensure(w, &places[k], STAGE_CLIQUES, p);
        }
    }
}

/* A removed replica goes completely: gangs and pods follow their owners. */
static void plan_excess(const struct world *w, const struct obj *pcs, const struct pcs_view *v,
                        struct plan *p)
{
    static const struct kind *const kinds[] = {&kind_pcsg, &kind_pclq};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct obj *o;
        for (struct cache_iter it = world_owned(w, kinds[k], pcs->uid); (o = cache_next(&it));) {
            int64_t i = label_index(o, STR(LABEL_PCS_INDEX));
            if (o->deleting || i < v->replicas)
                continue;
            struct plan_write *write = plan_delete(p, STAGE_CLIQUES, o);
            plan_why(write, p, "replica %lld is not among the %lld wanted", (long long)i,
                     (long long)v->replicas);
        }
    }
}

/* ---- status ---- */

static bool clique_is_available(const struct obj *pclq)
{
    return pclq && !pclq->deleting &&
           jint(jpath(obj_root(pclq), "status.readyReplicas"), 0) >=
               jint(jpath(obj_root(pclq), "spec.minAvailable"), 1);
}

static bool group_is_available(const struct obj *pcsg)
{
    return pcsg && !pcsg->deleting &&
           jint(jpath(obj_root(pcsg), "status.availableReplicas"), 0) >=
               jint(jpath(obj_root(pcsg), "spec.minAvailable"), 1);
}

static bool group_is_updated(const struct obj *pcsg)
{
    return jint(jpath(obj_root(pcsg), "status.updatedReplicas"), 0) >=
           jint(jpath(obj_root(pcsg), "spec.replicas"), 0);
}

struct replica_state {
    bool available, updated;
};

static struct replica_state replica_state(const struct world *w, const struct obj *pcs,
                                          const struct pcs_view *v, int64_t i, struct arena *a)
{
    struct replica_state s = {true, true};
    for (struct jiter it = jiter(v->cliques); jnext(&it);) {
        str clique = jstr(jgetc(it.value, "name"));
        struct group_view g;
        if (pcs_group_of(v, clique, &g))
            continue;
        const struct obj *o = world_get(w, &kind_pclq, pcs->ns, name_pclq(a, pcs->name, i, clique));
        if (!clique_is_available(o))
            return (struct replica_state){0};
        s.updated = s.updated && clique_is_updated(o);
    }
    for (struct jiter it = jiter(v->scaling_groups); jnext(&it);) {
        str group = jstr(jgetc(it.value, "name"));
        const struct obj *o = world_get(w, &kind_pcsg, pcs->ns, name_pcsg(a, pcs->name, i, group));
        if (!group_is_available(o))
            return (struct replica_state){0};
        s.updated = s.updated && group_is_updated(o);
    }
    return s;
}

/* Replicas at or above this have no children yet. */
static int64_t replicas_seen(const struct world *w, const struct obj *pcs)
{
    int64_t seen = 0;
    struct obj *o;
    for (struct cache_iter it = world_owned(w, &kind_pclq, pcs->uid); (o = cache_next(&it));)
        seen = MAX(seen, label_index(o, STR(LABEL_PCS_INDEX)) + 1);
    for (struct cache_iter it = world_owned(w, &kind_pcsg, pcs->uid); (o = cache_next(&it));)
        seen = MAX(seen, label_index(o, STR(LABEL_PCS_INDEX)) + 1);
    return seen;
}

static str pod_selector(struct arena *a, str pcs)
{
    struct labels l;
    labels_init(&l, a);
    labels_set(&l, LABEL_MANAGED_BY, STR(MANAGED_BY_GROVE));
    labels_set(&l, LABEL_PART_OF, name_label(a, pcs));
    return labels_selector(&l);
}

static void plan_status(const struct world *w, const struct obj *pcs, const struct pcs_view *v,
                        struct plan *p)
{
    int64_t available = 0, updated = 0, seen = replicas_seen(w, pcs);
    for (int64_t i = 0; i < MIN(v->replicas, seen); i++) {
        struct replica_state s = replica_state(w, pcs, v, i, p->arena);
        available += s.available;
        updated += s.updated;
    }
    str hash = hash_encode(p->arena, grove_generation_hash(jpath(obj_root(pcs), "spec.template")));
    struct jw j;
    jw_init(&j);
    jw_object(&j);
    jw_put_int(&j, "observedGeneration", pcs->generation);
    jw_put_int(&j, "replicas", v->replicas);
    jw_put_int(&j, "availableReplicas", available);
    jw_put_int(&j, "updatedReplicas", updated);
    jw_put_str(&j, "hpaPodSelector", pod_selector(p->arena, pcs->name));
    jw_put_str(&j, "currentGenerationHash", hash);
    jw_end(&j);
    make_status(p, STAGE_STATUS, pcs, jw_doc(&j));
}

void pcs_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *pcs = world_get(w, &kind_pcs, key->ns, key->name);
    (void)ctx;
    if (!pcs)
        return;
    if (pcs->deleting) {
        (void)make_finalizer(p, STAGE_FINALIZER, pcs, STR(FINALIZER_PCS), false);
        return;
    }
    struct pcs_view v;
    pcs_view(pcs, &v);
    bool adding = make_finalizer(p, STAGE_FINALIZER, pcs, STR(FINALIZER_PCS), true);
    children_plan(w, pcs, STAGE_CHILDREN, p);
    plan_groups(w, pcs, &v, p);
    plan_cliques(w, pcs, &v, p);
    plan_excess(w, pcs, &v, p);
    if (!adding)
        plan_status(w, pcs, &v, p);
}
