/*
 * The PodCliqueSet planner: everything a set makes that is not a pod, a gang or a member of a
 * scaling group (those are podclique.c, podgang.c, scalinggroup.c). What the children amount to,
 * the status and gang termination, is pcs_status.c.
 *
 * This half runs when the set changes and when children come or go, not when a status does. It
 * makes what is missing and removes what is too much; whether what exists is as it should be is
 * looked at child by child (upkeep.c). A replica whose children are all there is known by a number
 * of the rollup and costs next to nothing. The stored revision of the template comes before
 * everything that carries its hashes.
 */
#include "operator/set/podcliqueset.h"

#include "operator/common/clique.h"
#include "operator/common/kept.h"
#include "operator/common/mnnvl.h"
#include "operator/common/revisions.h"
#include "operator/common/rollup.h"
#include "operator/common/sharing.h"
#include "operator/common/update.h"
#include "operator/common/upkeep.h"
#include "operator/operator.h"
#include "operator/set/children.h"
#include "operator/set/hpa.h"

enum { STAGE_FINALIZER, STAGE_REVISION, STAGE_SMALL, STAGE_CLIQUES, STAGE_SCALERS, STAGE_KEPT };
/* Of one that is being deleted. */
enum { STAGE_LET_GO, STAGE_LEFT };

/* ---- scaling groups and cliques ---- */

/* A group's own annotations, and of the set's the one that it passes on. */
static void group_annotations(const struct obj *pcs, const struct group_view *g, struct labels *l)
{
    str group = obj_annotation(pcs, STR(ANNOTATION_MNNVL));
    if (!str_is_empty(group))
        labels_set(l, ANNOTATION_MNNVL, group);
    str mirrored = STR_NONE;
    for (struct jiter it = jiter(g->annotations); jnext(&it);) {
        labels_put(l, it.key, jstr(it.value));
        mirrored = make_mirrored(l->arena, mirrored, "annotations", it.key);
    }
    if (!str_is_empty(mirrored))
        labels_set(l, ANNOTATION_MIRRORED, mirrored);
}

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
    group_annotations(pcs, g, &annotations);
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

void pcs_keep_group(const struct world *w, const struct obj *pcs, const struct obj *pcsg,
                    unsigned stage, struct plan *p)
{
    struct pcs_view v;
    struct group_view g;
    pcs_view(pcs, &v);
    for (struct jiter it = jiter(v.scaling_groups); jnext(&it);) {
        group_view(it.value, &g);
        int64_t i = name_index(pcsg->name, pcs->name, g.name);
        if (i < 0 || i >= v.replicas)
            continue;
        (void)make_ensure(p, stage, w, pcs, pcsg, &kind_pcsg, pcsg->name,
                          make_group(p->arena, pcs, i, &g, pcsg));
        return;
    }
}

/* The groups of replica i that are not there. */
static void plan_replica_groups(const struct world *w, const struct obj *pcs,
                                const struct pcs_view *v, int64_t i, struct plan *p)
{
    for (struct jiter it = jiter(v->scaling_groups); jnext(&it);) {
        struct group_view g;
        group_view(it.value, &g);
        str name = name_pcsg(p->arena, pcs->name, i, g.name);
        const struct obj *there = world_get(w, &kind_pcsg, pcs->ns, name);
        if (!make_is_child(there, pcs))
            (void)make_ensure(p, STAGE_CLIQUES, w, pcs, there, &kind_pcsg, name,
                              make_group(p->arena, pcs, i, &g, there));
    }
}

static void plan_groups(const struct world *w, const struct obj *pcs, const struct pcs_view *v,
                        struct plan *p)
{
    size_t n = jlen(v->scaling_groups), from = p->writes.len;
    const struct rollup *all = rollup_of(w, &kind_pcsg, pcs->uid);
    for (int64_t i = 0; i < v->replicas && n > 0 && !make_is_full(p, from); i++) {
        uint64_t names = 0;
        for (struct jiter it = jiter(v->scaling_groups); jnext(&it);)
            names += rollup_hash(name_pcsg(p->arena, pcs->name, i, jstr(jgetc(it.value, "name"))));
        if (!rollup_has(all, i, n, names))
            plan_replica_groups(w, pcs, v, i, p);
    }
    make_event(p, from, pcs, PLAN_CREATE, &kind_pcsg, "PodCliqueScalingGroupCreateSuccessful");
}

/* The cliques of replica i that are not there. */
static void plan_replica_cliques(const struct world *w, const struct obj *pcs,
                                 const struct clique_place *places, size_t n, int64_t i,
                                 struct plan *p)
{
    str *names = arena_array(p->arena, str, n);
    uint64_t sum = 0;
    for (size_t k = 0; k < n; k++) {
        names[k] = name_pclq(p->arena, pcs->name, i, places[k].clique.name);
        sum += rollup_hash(names[k]);
    }
    if (rollup_has(rollup_of(w, &kind_pclq, pcs->uid), i, n, sum))
        return;
    for (size_t k = 0; k < n; k++) {
        struct clique_place place = places[k];
        if (make_is_child(world_get(w, &kind_pclq, pcs->ns, names[k]), pcs))
            continue;
        place.pcs_index = i;
        place.clique.replicas = kept_replicas(pcs, names[k], place.clique.replicas);
        clique_ensure(w, &place, STAGE_CLIQUES, p);
    }
}

/* The same as replicas have it that an update leaves as they were. */
static struct clique_place *held_back(struct arena *a, struct clique_place *places, size_t n,
                                      const struct obj *held, const struct obj *current)
{
    if (!held)
        return places;
    struct clique_place *copy = arena_array(a, struct clique_place, n + 1);
    for (size_t i = 0; i < n; i++) {
        copy[i] = places[i];
        update_place(&copy[i], held, held == current);
    }
    return copy;
}

static void plan_cliques(const struct world *w, const struct obj *pcs, const struct pcs_view *v,
                         const struct revision_decision *revision, struct plan *p)
{
    struct clique_place *places = arena_array(p->arena, struct clique_place, jlen(v->cliques) + 1);
    size_t n = 0, from = p->writes.len;
    for (struct jiter it = jiter(v->cliques); jnext(&it);) {
        struct group_view g;
        str name = jstr(jgetc(it.value, "name"));
        if (pcs_group_of(v, name, &g))
            continue;
        places[n] = (struct clique_place){.pcs = pcs, .owner = pcs};
        clique_view(it.value, &places[n].clique);
        places[n++].hash = revision_hash(revision, name);
    }
    const struct obj *held = update_held_revision(w, p->arena, pcs);
    struct clique_place *held_places = held_back(p->arena, places, n, held, revision->current);
    for (int64_t i = 0; i < v->replicas && n > 0 && !make_is_full(p, from); i++)
        plan_replica_cliques(w, pcs, i < update_partition(pcs) ? held_places : places, n, i, p);
    make_event(p, from, pcs, PLAN_CREATE, &kind_pclq, "PodCliqueCreateOrUpdateSuccessful");
}

/* A removed replica goes completely: gangs and pods follow their owners. */
static void plan_excess(const struct world *w, const struct obj *pcs, const struct pcs_view *v,
                        struct plan *p)
{
    static const struct {
        const struct kind *kind;
        const char *reason;
    } kinds[] = {{&kind_pcsg, "PodCliqueScalingGroupDeleteSuccessful"},
                 {&kind_pclq, "PodCliqueDeleteSuccessful"}};
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct obj *o;
        size_t from = p->writes.len;
        if (!rollup_exceeds(rollup_of(w, kinds[k].kind, pcs->uid), v->replicas))
            continue;
        for (struct cache_iter it = world_owned(w, kinds[k].kind, pcs->uid);
             (o = cache_next(&it));) {
            int64_t i = label_index(o, STR(LABEL_PCS_INDEX));
            if (o->deleting || i < v->replicas)
                continue;
            struct plan_write *write = plan_delete(p, STAGE_CLIQUES, o);
            write->component_uid = pcs->uid;
            write->user_scale_in = true;
            plan_why(write, p, "replica %lld is not among the %lld wanted", (long long)i,
                     (long long)v->replicas);
        }
        make_event(p, from, pcs, PLAN_DELETE, kinds[k].kind, kinds[k].reason);
    }
}

/* ---- plan ---- */

static void plan_living(const struct world *w, const struct obj *pcs, struct plan *p)
{
    struct pcs_view v;
    struct revision_decision revision;
    pcs_view(pcs, &v);
    (void)make_finalizer(p, STAGE_FINALIZER, pcs, STR(FINALIZER_PCS), true);
    revisions_plan(w, pcs, STAGE_REVISION, p, &revision);
    children_plan(w, pcs, STAGE_SMALL, p);
    hpa_plan(w, pcs, STAGE_SCALERS, p); /* when there is something to scale */
    sharing_plan_set(w, pcs, STAGE_SMALL, p);
    mnnvl_plan(w, pcs, STAGE_SMALL, p);
    plan_groups(w, pcs, &v, p);
    plan_cliques(w, pcs, &v, &revision, p);
    plan_excess(w, pcs, &v, p);
    kept_forget(w, pcs, STAGE_KEPT, p);
}

static void plan_end(const struct world *w, const struct obj *pcs, struct plan *p)
{
    upkeep_let_go(w, pcs, STAGE_LET_GO, p);
    (void)make_finalizer(p, STAGE_LEFT, pcs, STR(FINALIZER_PCS), false);
}

void pcs_children_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *pcs = world_get(w, &kind_pcs, key->ns, key->name);
    (void)ctx;
    if (!pcs)
        return;
    if (!pcs->deleting)
        plan_living(w, pcs, p);
    else if (obj_has_finalizer(pcs, STR(FINALIZER_PCS)) && mnnvl_release(w, pcs, STAGE_LET_GO, p))
        plan_end(w, pcs, p);
}

void pcs_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *pcs = world_get(w, &kind_pcs, key->ns, key->name);
    pcs_children_plan(w, key, ctx, p);
    if (pcs)
        upkeep_plan_all(w, pcs, p);
    for (size_t i = 0; i < p->writes.len; i++) {
        if (p->writes.p[i].kind == &kind_pcs)
            return; /* its status is of the version after this write */
    }
    pcs_status_plan(w, key, ctx, p);
}
