/*
 * Which change wakes which planner. Maps only name keys; what to do about them is the planners'
 * business.
 */
#include "operator/operator.h"

#include "grove/going.h"
#include "grove/pod.h"
#include "operator/common/clique.h"
#include "operator/common/gangmap_fold.h"
#include "operator/common/kept.h"
#include "operator/common/ledger.h"
#include "operator/common/mnnvl.h"
#include "operator/common/operator_metrics.h"
#include "operator/common/rollup.h"
#include "operator/common/sharing.h"
#include "operator/common/startup.h"
#include "operator/common/surge.h"
#include "operator/common/tally.h"
#include "operator/common/update.h"
#include "operator/common/upkeep.h"
#include "operator/update/gangmap_watch.h"

/* Indexes of the clique cache and of the gang cache. */
static cache_index_fn index_by_base_gang, index_by_short_label;

static const struct obj *either(const struct obj *old, const struct obj *new)
{
    return new ? new : old;
}

static bool spec_changed(const struct obj *old, const struct obj *new)
{
    return !old || !new || old->generation != new->generation || old->deleting != new->deleting;
}

/* Anything but its status: what its owner compares with what it should be. */
static bool shape_changed(const struct obj *old, const struct obj *new)
{
    if (spec_changed(old, new) || !str_eq(old->owner_uid, new->owner_uid) ||
        !jequal(old->labels, new->labels) || !jequal(old->annotations, new->annotations) ||
        !jequal(jgetc(old->meta, "finalizers"), jgetc(new->meta, "finalizers")))
        return true;
    if (kind_is(new->kind, KIND_GENERATION))
        return false;
    return !kind_is(new->kind, KIND_STATUS) || !jequal(obj_spec(old), obj_spec(new));
}

static void map_shape_to_self(struct controller *c, const struct world *w, const struct obj *old,
                              const struct obj *new)
{
    if (shape_changed(old, new))
        map_self(c, w, old, new);
}

static void map_shape_to_owner(struct controller *c, const struct world *w, const struct obj *old,
                               const struct obj *new)
{
    if (shape_changed(old, new))
        map_controller_owner(c, w, old, new);
}

/* It counts for another replica of the set, or of the group, now. Of a clique these labels tell;
 * others, as those that name its gang and version, are upkeep's business. */
static bool place_changed(const struct obj *old, const struct obj *new)
{
    static const str places[] = {STR_INIT(LABEL_PCS_INDEX), STR_INIT(LABEL_PCSG_INDEX)};
    if (jequal(old->labels, new->labels))
        return false;
    if (new->kind != &kind_pclq)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (!str_eq(obj_label(old, places[i]), obj_label(new, places[i])))
            return true;
    }
    return false;
}

/* Children that came, went, or count for another owner or replica. */
static void map_presence_to_owner(struct controller *c, const struct world *w,
                                  const struct obj *old, const struct obj *new)
{
    if (!old || !new || old->deleting != new->deleting || !str_eq(old->owner_uid, new->owner_uid) ||
        place_changed(old, new))
        map_controller_owner(c, w, old, new);
}

/* ---- upkeep ---- */

struct enqueue {
    struct controller *controller;
    int64_t replicas; /* only children of replicas from this one on */
};

static void enqueue_child(void *ctx, const struct obj *child)
{
    const struct enqueue *e = ctx;
    if (e->replicas == 0 || label_index(child, STR(LABEL_PCS_INDEX)) >= e->replicas ||
        label_index(child, STR(LABEL_PCSG_INDEX)) >= e->replicas)
        controller_enqueue(e->controller, child->kind, child->ns, child->name);
}

static bool template_changed(const struct obj *old, const struct obj *new)
{
    jval a = obj_spec(old), b = obj_spec(new);
    return !jequal(jgetc(a, "template"), jgetc(b, "template")) ||
           !jequal(old->annotations, new->annotations);
}

/* What replicas that are held back are to be of. */
static bool held_changed(const struct obj *old, const struct obj *new)
{
    return update_partition(new) > 0 &&
           !jequal(jgetc(obj_status(old), "lastCompleteGenerationHash"),
                   jgetc(obj_status(new), "lastCompleteGenerationHash"));
}

static void enqueue_all_children(struct controller *c, const struct world *w, const struct obj *pcs)
{
    struct enqueue e = {c, 0};
    struct obj *group;
    upkeep_each(w, pcs, enqueue_child, &e);
    for (struct cache_iter g = world_owned(w, &kind_pcsg, pcs->uid); (group = cache_next(&g));)
        upkeep_each(w, group, enqueue_child, &e);
}

/* Of a group those that it has above its number while it is updated are among them. */
static int64_t replicas_of(const struct obj *o)
{
    return surge_total(o);
}

/* The small objects of replicas that are not wanted any more. */
static void enqueue_excess(struct controller *c, const struct world *w, const struct obj *owner)
{
    struct enqueue e = {c, replicas_of(owner)};
    upkeep_each(w, owner, enqueue_child, &e);
}

/* Scaled in, some children are too many; scaled out before they went, they are wanted again. */
static void enqueue_beyond_fewer(struct controller *c, const struct world *w, const struct obj *old,
                                 const struct obj *new)
{
    if (replicas_of(old) != replicas_of(new))
        enqueue_excess(c, w, replicas_of(new) < replicas_of(old) ? new : old);
}

static void map_set_to_children(struct controller *c, const struct world *w, const struct obj *old,
                                const struct obj *new)
{
    if (!old || !new || old->generation == new->generation) {
        if (old && new && (!jequal(old->annotations, new->annotations) || held_changed(old, new)))
            enqueue_all_children(c, w, new);
        return;
    }
    if (template_changed(old, new) ||
        !jequal(jgetc(obj_spec(old), "updateStrategy"), jgetc(obj_spec(new), "updateStrategy")))
        enqueue_all_children(c, w, new);
    else
        enqueue_beyond_fewer(c, w, old, new);
}

/* Also how many it is to have above its number. */
static void map_number_to_self(struct controller *c, const struct world *w, const struct obj *old,
                               const struct obj *new)
{
    if (shape_changed(old, new) || replicas_of(old) != replicas_of(new))
        map_self(c, w, old, new);
}

static void map_group_to_children(struct controller *c, const struct world *w,
                                  const struct obj *old, const struct obj *new)
{
    struct enqueue e = {c, 0};
    if (!old || !new)
        return;
    jval a = obj_spec(old), b = obj_spec(new);
    if (!jequal(jgetc(a, "minAvailable"), jgetc(b, "minAvailable")) ||
        !jequal(jgetc(a, "cliqueNames"), jgetc(b, "cliqueNames")) ||
        !jequal(old->annotations, new->annotations))
        upkeep_each(w, new, enqueue_child, &e);
    else
        enqueue_beyond_fewer(c, w, old, new);
}

/* The template has another name now. */
static void map_revision_to_children(struct controller *c, const struct world *w,
                                     const struct obj *old, const struct obj *new)
{
    const struct obj *pcs = new &&shape_changed(old, new) ? owner_pcs(w, new) : NULL;
    if (pcs)
        enqueue_all_children(c, w, pcs);
}

/* A budget is looked after with its clique, which has the same name. */
static void map_budget_to_clique(struct controller *c, const struct world *w, const struct obj *old,
                                 const struct obj *new)
{
    const struct obj *o = either(old, new);
    if (shape_changed(old, new) && world_get(w, &kind_pclq, o->ns, o->name))
        controller_enqueue(c, &kind_pclq, o->ns, o->name);
}

/* ---- sets, groups, cliques ---- */

/* Cliques that belong to the changed set, its groups' members included. */
static void enqueue_cliques(struct controller *c, const struct world *w, const struct obj *pcs)
{
    struct obj *o, *group;
    for (struct cache_iter it = world_owned(w, &kind_pclq, pcs->uid); (o = cache_next(&it));)
        controller_enqueue(c, &kind_pclq, o->ns, o->name);
    for (struct cache_iter g = world_owned(w, &kind_pcsg, pcs->uid); (group = cache_next(&g));) {
        for (struct cache_iter it = world_owned(w, &kind_pclq, group->uid); (o = cache_next(&it));)
            controller_enqueue(c, &kind_pclq, o->ns, o->name);
    }
}

/* What its status calls the template. */
static bool hash_changed(const struct obj *old, const struct obj *new)
{
    jval a = obj_status(old), b = obj_status(new);
    return !jequal(jgetc(a, "currentGenerationHash"), jgetc(b, "currentGenerationHash")) ||
           !jequal(jgetc(a, "observedGeneration"), jgetc(b, "observedGeneration"));
}

/* Calls fn for replicas that an update took up or let go between the two, or that may go on or must
 * stop. */
typedef void replica_fn(struct controller *c, const struct world *w, const struct obj *pcs,
                        int64_t replica);

static void each_moved(struct controller *c, const struct world *w, const struct obj *old,
                       const struct obj *new, replica_fn *fn)
{
    const struct obj *const both[] = {old, new};
    for (size_t k = 0; k < ARRAY_LEN(both); k++) {
        jval list = jpath(obj_status(both[k]), "updateProgress.currentlyUpdating");
        for (struct jiter it = jiter(list); jnext(&it);) {
            int64_t i = jint(jgetc(it.value, "replicaIndex"), -1);
            if (update_rolls(old, i) != update_rolls(new, i) ||
                update_holds(old, i) != update_holds(new, i))
                fn(c, w, new, i);
        }
    }
}

static void enqueue_replica_cliques(struct controller *c, const struct world *w,
                                    const struct obj *pcs, int64_t i)
{
    struct arena a = ARENA_INIT;
    struct pcs_view v;
    struct group_view g;
    struct obj *o;
    pcs_view(pcs, &v);
    for (struct jiter it = jiter(v.cliques); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if (!pcs_group_of(&v, name, &g))
            controller_enqueue(c, &kind_pclq, pcs->ns, name_pclq(&a, pcs->name, i, name));
    }
    for (struct jiter it = jiter(v.scaling_groups); jnext(&it);) {
        str name = name_pcsg(&a, pcs->name, i, jstr(jgetc(it.value, "name")));
        const struct obj *group = world_get(w, &kind_pcsg, pcs->ns, name);
        if (!group)
            continue;
        for (struct cache_iter k = world_owned(w, &kind_pclq, group->uid); (o = cache_next(&k));)
            controller_enqueue(c, &kind_pclq, o->ns, o->name);
    }
    arena_done(&a);
}

static void enqueue_replica_groups(struct controller *c, const struct world *w,
                                   const struct obj *pcs, int64_t i)
{
    struct arena a = ARENA_INIT;
    for (struct jiter it = jiter(jpath(obj_root(pcs), "spec.template.podCliqueScalingGroups"));
         jnext(&it);)
        controller_enqueue(c, &kind_pcsg, pcs->ns,
                           name_pcsg(&a, pcs->name, i, jstr(jgetc(it.value, "name"))));
    arena_done(&a);
}

static void map_set_to_cliques(struct controller *c, const struct world *w, const struct obj *old,
                               const struct obj *new)
{
    if (new && (spec_changed(old, new) || hash_changed(old, new) || held_changed(old, new)))
        enqueue_cliques(c, w, new);
    else if (new)
        each_moved(c, w, old, new, enqueue_replica_cliques);
}

static void map_set_to_groups(struct controller *c, const struct world *w, const struct obj *old,
                              const struct obj *new)
{
    struct obj *o;
    if (!new)
        return;
    if (!spec_changed(old, new) && !hash_changed(old, new) && !held_changed(old, new) &&
        jequal(old->annotations, new->annotations)) {
        each_moved(c, w, old, new, enqueue_replica_groups);
        return;
    }
    for (struct cache_iter it = world_owned(w, &kind_pcsg, new->uid); (o = cache_next(&it));)
        controller_enqueue(c, &kind_pcsg, o->ns, o->name);
}

/* A revision was stored: the groups of its set may go on. */
static void map_revision_to_groups(struct controller *c, const struct world *w,
                                   const struct obj *old, const struct obj *new)
{
    struct obj *o;
    if (!new)
        return;
    for (struct cache_iter it = world_owned(w, &kind_pcsg, new->owner_uid); (o = cache_next(&it));)
        controller_enqueue(c, &kind_pcsg, o->ns, o->name);
}

static bool names_binding(const struct obj *pcs, str name)
{
    jval template = jgetc(obj_spec(pcs), "template");
    static const char *const lists[] = {"podCliqueScalingGroups", "cliques"};
    if (str_eq(jstr(jpath(template, "topologyConstraint.topologyName")), name))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (struct jiter it = jiter(jget(template, str_of(lists[i]))); jnext(&it);) {
            if (str_eq(jstr(jpath(it.value, "topologyConstraint.topologyName")), name))
                return true;
        }
    }
    return false;
}

static void map_binding_to_sets(struct controller *c, const struct world *w, const struct obj *old,
                                const struct obj *new)
{
    struct obj *o;
    if (!spec_changed(old, new))
        return;
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pcs), STR_NONE);
         (o = cache_next(&it));) {
        if (names_binding(o, either(old, new)->name))
            controller_enqueue(c, &kind_pcs, o->ns, o->name);
    }
}

static void map_binding_to_gangs(struct controller *c, const struct world *w, const struct obj *old,
                                 const struct obj *new)
{
    struct obj *pcs, *o;
    if (!spec_changed(old, new))
        return;
    for (struct cache_iter p = cache_all(world_cache(w, &kind_pcs), STR_NONE);
         (pcs = cache_next(&p));) {
        if (!names_binding(pcs, either(old, new)->name))
            continue;
        for (struct cache_iter it = world_owned(w, &kind_pod_gang, pcs->uid);
             (o = cache_next(&it));)
            controller_enqueue(c, &kind_pod_gang, o->ns, o->name);
    }
}

/* Sets that share claims by a template somebody just made. */
static void map_template_to_sets(struct controller *c, const struct world *w, const struct obj *old,
                                 const struct obj *new)
{
    struct obj *o;
    if (old || !new)
        return;
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pcs), STR_NONE);
         (o = cache_next(&it));) {
        if (j_has(jpath(obj_root(o), "spec.template.resourceSharing")))
            controller_enqueue(c, &kind_pcs, o->ns, o->name);
    }
}

/* Cliques of sets where one shares claims by a template somebody just made. */
static void map_template_to_cliques(struct controller *c, const struct world *w,
                                    const struct obj *old, const struct obj *new)
{
    struct obj *o;
    if (old || !new)
        return;
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pcs), STR_NONE);
         (o = cache_next(&it));) {
        bool shares = false;
        for (struct jiter k = jiter(jpath(obj_root(o), "spec.template.cliques")); jnext(&k);)
            shares |= jlen(jgetc(k.value, "resourceSharing")) > 0;
        if (shares)
            enqueue_cliques(c, w, o);
    }
}

/* The gang a clique says it belongs to. Its owners may be gone, and the label may be shortened. */
static void enqueue_labelled_gang(struct controller *c, const struct world *w,
                                  const struct obj *pclq)
{
    str label = obj_label(pclq, STR(LABEL_PODGANG));
    struct arena a = ARENA_INIT;
    struct obj *gang;
    if (str_is_empty(label))
        return;
    controller_enqueue(c, &kind_pod_gang, pclq->ns, label);
    str key = arena_cat(&a, pclq->ns, STR("/"), label);
    for (struct cache_iter it = cache_by(world_cache(w, &kind_pod_gang), index_by_short_label, key);
         (gang = cache_next(&it));)
        controller_enqueue(c, &kind_pod_gang, gang->ns, gang->name);
    arena_done(&a);
}

static bool is_breached(const struct obj *pclq)
{
    return condition_is_true(jgetc(obj_status(pclq), "conditions"), STR("MinAvailableBreached"));
}

/* Before it is, what its cliques lack is nothing to a gang. */
static bool was_placed(const struct obj *gang)
{
    return gang && gang_was_scheduled(gang);
}

/* Of a status only this is a gang's business: the rest pods tell it themselves. */
static void map_clique_to_gang(struct controller *c, const struct world *w, const struct obj *old,
                               const struct obj *new)
{
    struct arena a = ARENA_INIT;
    const struct obj *o = either(old, new);
    str base;
    bool moved = old && new && !jequal(old->labels, new->labels);
    bool changed = moved || spec_changed(old, new);
    bool broke = old && new &&is_breached(old) != is_breached(new);
    if (!changed && !broke)
        return;
    if (moved)
        enqueue_labelled_gang(c, w, old);
    str gang = clique_gang(&a, w, o, &base);
    if (str_is_empty(gang))
        enqueue_labelled_gang(c, w, o);
    else if (changed || was_placed(world_get(w, &kind_pod_gang, o->ns, gang)))
        controller_enqueue(c, &kind_pod_gang, o->ns, gang);
    arena_done(&a);
}

/* A gang counts pods that exist, are on nodes and are ready, and takes those away that it is asked
 * for; what else happens to one is nothing to it. */
static bool gang_cares(const struct obj *old, const struct obj *new)
{
    return !old || !new || old->deleting != new->deleting ||
           pod_is_scheduled(old) != pod_is_scheduled(new) ||
           pod_is_ready(old) != pod_is_ready(new) ||
           pod_is_asked_to_go(old) != pod_is_asked_to_go(new);
}

static void map_pod_to_gang(struct controller *c, const struct world *w, const struct obj *old,
                            const struct obj *new)
{
    const struct obj *pod = either(old, new);
    if (!gang_cares(old, new))
        return;
    jval owner = obj_controller_ref(pod);
    const struct obj *pclq = world_get(w, &kind_pclq, pod->ns, jstr(jgetc(owner, "name")));
    if (pclq)
        map_clique_to_gang(c, w, NULL, pclq);
}

/* The strategy decides which gangs cliques are in. A gang that was not made under the one before is
 * not among those of the set, and its cliques' labels may have named it all along: they lead to it,
 * and no other change need come that does. */
static void enqueue_gangs_of_cliques(struct controller *c, const struct world *w,
                                     const struct obj *owner)
{
    struct obj *o;
    for (struct cache_iter it = world_owned(w, &kind_pclq, owner->uid); (o = cache_next(&it));)
        map_clique_to_gang(c, w, NULL, o);
}

static void map_set_to_gangs(struct controller *c, const struct world *w, const struct obj *old,
                             const struct obj *new)
{
    /* Its labels and annotations are mirrored, its status is not. */
    if (!new || (!spec_changed(old, new) && jequal(old->labels, new->labels) &&
                 jequal(old->annotations, new->annotations)))
        return;
    struct obj *o;
    for (struct cache_iter it = world_owned(w, &kind_pod_gang, new->uid); (o = cache_next(&it));)
        controller_enqueue(c, &kind_pod_gang, o->ns, o->name);
    if (!old || update_strategy_of(old) == update_strategy_of(new))
        return;
    enqueue_gangs_of_cliques(c, w, new);
    for (struct cache_iter it = world_owned(w, &kind_pcsg, new->uid); (o = cache_next(&it));)
        enqueue_gangs_of_cliques(c, w, o);
}

/* Cliques of scaled gangs whose pods wait for this base gang; the label may be shortened. */
static void enqueue_waiting(struct controller *c, const struct world *w, str ns, str base)
{
    struct arena a = ARENA_INIT;
    struct obj *o;
    str key = arena_cat(&a, ns, STR("/"), name_label(&a, base));
    for (struct cache_iter it = cache_by(world_cache(w, &kind_pclq), index_by_base_gang, key);
         (o = cache_next(&it));)
        controller_enqueue(c, &kind_pclq, o->ns, o->name);
    arena_done(&a);
}

/* Cliques that are going and wait for their gang to let go of their pods; it need not name them any
 * more. */
static void enqueue_going(struct controller *c, const struct world *w, const struct obj *gang)
{
    struct arena a = ARENA_INIT;
    struct obj *o;
    str label = name_label(&a, gang->name);
    str key = arena_cat(&a, gang->ns, STR("/"), label);
    for (struct cache_iter it = cache_by(world_cache(w, &kind_pclq), cliques_by_gang, key);
         (o = cache_next(&it));) {
        if (o->deleting)
            controller_enqueue(c, &kind_pclq, o->ns, o->name);
    }
    arena_done(&a);
}

static void enqueue_members(struct controller *c, const struct obj *gang)
{
    if (!gang)
        return;
    for (struct jiter it = jiter(jpath(obj_root(gang), "spec.podgroups")); jnext(&it);)
        controller_enqueue(c, &kind_pclq, gang->ns, jstr(jgetc(it.value, "name")));
}

/* A gang that changed may let its cliques' pods go, and those of gangs that wait for it. */
static void map_gang_to_cliques(struct controller *c, const struct world *w, const struct obj *old,
                                const struct obj *new)
{
    if (spec_changed(old, new)) {
        enqueue_going(c, w, either(old, new));
        enqueue_members(c, old);
    }
    if (!new)
        return;
    enqueue_members(c, new);
    if (spec_changed(old, new))
        enqueue_waiting(c, w, new->ns, new->name);
}

static bool was_on_node(const struct obj *pod)
{
    return pod && pod_is_scheduled(pod);
}

/* Pods of scaled gangs wait until the base gang is on nodes: when one of its pods gets there, the
 * cliques of scaled ones of the same replica are looked at. */
static void map_pod_to_waiting(struct controller *c, const struct world *w, const struct obj *old,
                               const struct obj *new)
{
    if (was_on_node(new) && !was_on_node(old) &&
        str_is_empty(obj_label(new, STR(LABEL_BASE_PODGANG))))
        enqueue_waiting(c, w, new->ns, obj_label(new, STR(LABEL_PODGANG)));
}

static void index_by_base_gang(const struct obj *o, struct arena *a, str *keys, size_t max,
                               size_t *n)
{
    str base = obj_label(o, STR(LABEL_BASE_PODGANG));
    *n = 0;
    if (max > 0 && !str_is_empty(base))
        keys[(*n)++] = arena_cat(a, o->ns, STR("/"), base);
}

/* Gangs whose names are too long for the label that names them. */
static void index_by_short_label(const struct obj *o, struct arena *a, str *keys, size_t max,
                                 size_t *n)
{
    str label = name_label(a, o->name);
    *n = 0;
    if (max > 0 && !str_eq(label, o->name))
        keys[(*n)++] = arena_cat(a, o->ns, STR("/"), label);
}

/* Only what changes what a clique counts: a pod's other news is not its business. */
static void map_pod_to_clique(struct controller *c, const struct world *w, const struct obj *old,
                              const struct obj *new)
{
    if (tally_cares(old, new) || going_cares(old, new))
        map_controller_owner(c, w, old, new);
}

/* Pods that wait for those of a clique or group whose number changes, to start or to be let go, may
 * wait for too many (startup.h). */
static void map_number_to_waiting(struct controller *c, const struct world *w,
                                  const struct obj *old, const struct obj *new)
{
    const struct obj *one = either(old, new);
    str set = obj_label(one, STR(LABEL_PCS)), index = obj_label(one, STR(LABEL_PCS_INDEX));
    if (!old || (new &&replicas_of(old) == replicas_of(new)) || str_is_empty(set))
        return;
    struct obj *o;
    for (struct cache_iter it =
             cache_by_label(world_cache(w, &kind_pclq), one->ns, STR(LABEL_PCS), set);
         (o = cache_next(&it));) {
        if (str_eq(obj_label(o, STR(LABEL_PCS)), set) &&
            str_eq(obj_label(o, STR(LABEL_PCS_INDEX)), index) &&
            (startup_waits(o) || !str_is_empty(obj_label(o, STR(LABEL_BASE_PODGANG)))))
            controller_enqueue(c, &kind_pclq, o->ns, o->name);
    }
}

static void enqueue_clique_of(struct controller *c, const struct world *w, const struct obj *pod)
{
    (void)w;
    controller_enqueue(c, &kind_pclq, pod->ns, jstr(jgetc(obj_controller_ref(pod), "name")));
}

/* Pods that wait for others on a node that is lost wait no more. */
static void map_node_to_cliques(struct controller *c, const struct world *w, const struct obj *old,
                                const struct obj *new)
{
    going_from_node(c, w, old, new, enqueue_clique_of);
}

static const struct controller_watch pcs_children_watches[] = {
    {&kind_pcs, map_shape_to_self},
    {&kind_pcsg, map_presence_to_owner},
    {&kind_pcsg, kept_from_child},
    {&kind_pclq, kept_from_child},
    {&kind_pod_gang_map, kept_from_child},
    {&kind_pclq, map_presence_to_owner},
    {&kind_service, map_presence_to_owner},
    {&kind_service_account, map_shape_to_owner},
    {&kind_role, map_shape_to_owner},
    {&kind_role_binding, map_shape_to_owner},
    {&kind_secret, map_shape_to_owner},
    {&kind_hpa, map_presence_to_owner},
    {&kind_controller_revision, map_shape_to_owner},
    {&kind_resource_claim, map_shape_to_owner},
    {&kind_resource_claim_template, map_template_to_sets},
};
static const struct controller_watch pcs_status_watches[] = {
    {&kind_pcs, map_self},
    {&kind_pod_gang_map, map_controller_owner},
    {&kind_pcsg, map_controller_owner},
    {&kind_pclq, map_controller_owner},
    {&kind_pod_gang, map_controller_owner},
    {&kind_controller_revision, map_controller_owner},
    {&kind_ctb, map_binding_to_sets},
};
static const struct controller_watch pcsg_members_watches[] = {
    {&kind_pcsg, map_number_to_self},
    {&kind_pcs, map_set_to_groups},
    {&kind_controller_revision, map_revision_to_groups},
    {&kind_pclq, map_presence_to_owner},
    {&kind_resource_claim, map_shape_to_owner},
    {&kind_pod_gang_map, gangmap_to_groups},
};
static const struct controller_watch upkeep_watches[] = {
    {&kind_pclq, map_shape_to_self},     {&kind_pcsg, map_shape_to_self},
    {&kind_service, map_shape_to_self},  {&kind_hpa, map_shape_to_self},
    {&kind_pdb, map_shape_to_self},      {&kind_pdb, map_budget_to_clique},
    {&kind_pcs, map_set_to_children},    {&kind_pod_gang_map, gangmap_to_members},
    {&kind_pcsg, map_group_to_children}, {&kind_controller_revision, map_revision_to_children},
};
static const struct controller_watch pcsg_status_watches[] = {
    {&kind_pcsg, map_self},
    {&kind_pcs, map_set_to_groups},
    {&kind_controller_revision, map_revision_to_groups},
    {&kind_pclq, map_controller_owner},
    {&kind_pod_gang_map, gangmap_to_groups},
};
static const struct controller_watch pclq_watches[] = {
    {&kind_pclq, map_self},
    {&kind_pcs, map_set_to_cliques},
    {&kind_pod, map_pod_to_clique},
    {&kind_pod, map_pod_to_waiting},
    {&kind_node, map_node_to_cliques},
    {&kind_resource_claim, map_shape_to_owner},
    {&kind_resource_claim_template, map_template_to_cliques},
    {&kind_pod_gang, map_gang_to_cliques},
    {&kind_pod_gang, gangmap_anchor_to_cliques},
    {&kind_pod_gang_map, gangmap_to_cliques},
    {&kind_pcsg, gangmap_pass_to_members},
    {&kind_pclq, map_number_to_waiting},
    {&kind_pcsg, map_number_to_waiting},
};
static const struct controller_watch gang_watches[] = {
    {&kind_pod_gang, map_self},       {&kind_pcs, map_set_to_gangs},
    {&kind_pclq, map_clique_to_gang}, {&kind_pclq, gangmap_breach_to_gangs},
    {&kind_pod, map_pod_to_gang},     {&kind_ctb, map_binding_to_gangs},
    {&kind_pod, gangmap_pod_to_gang}, {&kind_pod_gang_map, gangmap_to_gangs},
};
static const struct controller_watch gangmap_watches[] = {
    {&kind_pod_gang_map, map_self},
    {&kind_pcs, gangmap_from_set},
    {&kind_controller_revision, gangmap_from_revision},
    {&kind_pcsg, gangmap_from_component},
    {&kind_pclq, gangmap_from_component},
    {&kind_pod_gang, gangmap_from_gang},
    {&kind_pod, gangmap_from_pod},
    {&kind_node, gangmap_from_node},
};

/* A clique of thousands of pods is looked at for many of their changes at once. */
#define PCLQ_INTERVAL (20 * USEC_PER_MSEC)
/* A gang is looked at for many of its pods' changes at once. */
#define GANG_INTERVAL (20 * USEC_PER_MSEC)
/* So is a set or group of thousands of cliques. */
#define ROLLUP_INTERVAL (20 * USEC_PER_MSEC)
/* How sets and groups stand is told when pods have been made, placed and started. */
#define ROLLUP_PATIENCE (500 * USEC_PER_MSEC)

#define WATCHES(w) .watches = (w), .n_watches = ARRAY_LEN(w)

/* What planners read; for those who call one themselves. */
static const struct kind *const read_kinds[] = {
    &kind_hpa,
    &kind_pdb,
    &kind_controller_revision,
    &kind_ctb,
    &kind_resource_claim,
    &kind_service,
    &kind_resource_claim_template,
    &kind_pod_gang_map,
};

void operator_add_indexes(struct runtime *r)
{
    struct cache *cliques = runtime_cache(r, &kind_pclq);
    cache_add_index(cliques, cliques_by_gang);
    cache_add_index(cliques, index_by_base_gang);
    cache_add_index(runtime_cache(r, &kind_pod_gang), index_by_short_label);
    mnnvl_add(r);
    sharing_add(r);
    tally_add_fold(r);
    cache_remember_names(runtime_cache(r, &kind_pod)); /* see fills.h */
    going_add(r);
    rollup_add_folds(r);
    gangmap_add_fold(r);
    for (size_t i = 0; i < ARRAY_LEN(read_kinds); i++)
        (void)runtime_cache(r, read_kinds[i]);
    /* Where no set has a start order the operator need not be allowed to see Secrets. */
    (void)runtime_cache_optional(r, &kind_secret);
}

void operator_filter(struct runtime *r)
{
    static const struct kind *const kinds[] = {
        &kind_pod,
        &kind_service,
        &kind_service_account,
        &kind_role,
        &kind_role_binding,
        &kind_hpa,
        &kind_pdb,
        &kind_controller_revision,
        &kind_resource_claim,
        &kind_secret,
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        runtime_filter(r, kinds[i], STR(LABEL_MANAGED_BY "=" MANAGED_BY_GROVE));
}

static struct pclq_config *clique_config_new(const struct operator_options *o)
{
    struct pclq_config *c = xnew(struct pclq_config);
    c->initc_image = startup_image(&c->arena, o ? o->initc_image : STR_NONE);
    return c;
}

static void clique_config_free(void *ctx)
{
    struct pclq_config *c = ctx;
    arena_done(&c->arena);
    free(c);
}

void operator_add(struct runtime *r, struct api *api, const struct operator_options *o)
{
    const struct controller_def defs[] = {
        {.name = "podcliqueset-controller",
         .plan = pcs_children_plan,
         .min_interval = ROLLUP_INTERVAL,
         WATCHES(pcs_children_watches)},
        {.name = "podcliqueset-status",
         .source = "podcliqueset-controller",
         .plan = pcs_status_plan,
         .min_interval = ROLLUP_INTERVAL,
         .patience = ROLLUP_PATIENCE,
         WATCHES(pcs_status_watches)},
        {.name = "podcliquescalinggroup-controller",
         .plan = pcsg_members_plan,
         .min_interval = ROLLUP_INTERVAL,
         WATCHES(pcsg_members_watches)},
        {.name = "podcliquescalinggroup-status",
         .source = "podcliquescalinggroup-controller",
         .plan = pcsg_status_plan,
         .min_interval = ROLLUP_INTERVAL,
         .patience = ROLLUP_PATIENCE,
         WATCHES(pcsg_status_watches)},
        {.name = "podcliqueset-upkeep",
         .source = "podcliqueset-controller",
         .plan = upkeep_plan,
         WATCHES(upkeep_watches)},
        {.name = "podclique-controller",
         .plan = pclq_plan,
         .ctx = clique_config_new(o),
         .ctx_free = clique_config_free,
         .min_interval = PCLQ_INTERVAL,
         WATCHES(pclq_watches)},
        {.name = "podgangmap-controller",
         .source = "podgang-controller",
         .plan = gangmap_plan,
         .min_interval = ROLLUP_INTERVAL,
         WATCHES(gangmap_watches)},
        {.name = "podgang-controller",
         .plan = gang_plan,
         .min_interval = GANG_INTERVAL,
         WATCHES(gang_watches)},
    };
    operator_add_indexes(r);
    metrics_watch(r);
    runtime_set_ledger(r, ledger_check, NULL);
    for (size_t i = 0; i < ARRAY_LEN(defs); i++) {
        struct controller *c = runtime_add(r, &defs[i], api);
        /* Not in the table: the kind is one that other programs define. */
        if (defs[i].plan == pcs_children_plan)
            controller_watch(c, mnnvl_kind(), map_presence_to_owner);
    }
}
