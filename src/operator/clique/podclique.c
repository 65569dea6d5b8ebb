/*
 * The PodClique planner: as many pods as wanted, each with a stable index; gates lifted when the
 * gang allows it; status from the pods.
 *
 * Counting: a pod that is being deleted, or whose delete is in an accepted plan, is gone; a
 * finished pod (Failed, Succeeded) holds no place and is replaced. Its successor is made at once
 * and keeps Grove's gate until the old one has stopped (going.h). Names are functions of (clique
 * uid, index, how many pods had that index before), so a repeated create answers AlreadyExists
 * instead of making a second pod, and no two pods have the same name (fills.h).
 *
 * The end: a clique that is being deleted deletes its pods and goes when all of them are marked, so
 * that its successor of the same name finds none that stay. It does not wait until they are gone.
 *
 * Cost: the numbers come from the tally, which follows the pods as they change; single pods are
 * looked at only when some are to be made, removed or let go.
 */
#include "operator/clique/pclq_impl.h"
#include "operator/common/sharing.h"

/* ---- the end ---- */

/* Its gang is waited for no longer than this. */
#define GANG_FIRST (5 * USEC_PER_SEC)
enum { STAGE_LAST_PODS, STAGE_RELEASE };

/* The last attempt was answered with a no that will not change by itself: they are left to the
 * garbage collector. */
static bool may_not_delete(const struct world *w, const struct key *key)
{
    const struct failures *f = world_last_failure(w, key);
    for (size_t i = 0; f && i < f->n; i++) {
        const struct failure *x = &f->items[i];
        if (x->op == PLAN_DELETE && x->kind == &kind_pod && (x->code == 403 || x->code == 422))
            return true;
    }
    return false;
}

/* Does the gang still say that it has pods of the clique? */
static bool gang_has_pods(const struct obj *gang, str pclq)
{
    for (struct jiter it = jiter(jpath(obj_root(gang), "spec.podgroups")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), pclq))
            return jlen(jgetc(it.value, "podReferences")) > 0;
    }
    return false;
}

/* The gang is about to go as a whole: by the map of its replica, or by the numbers of set and
 * group. A map that is not there is on its way, and gangs wait for it. */
static bool gang_goes(const struct world *w, struct arena *a, const struct obj *pcs,
                      const struct obj *pclq, str gang)
{
    struct gangmap_view v;
    int64_t replica = label_index(pclq, STR(LABEL_PCS_INDEX));
    if (replica >= jint(jgetc(obj_spec(pcs), "replicas"), 0))
        return true;
    if (gangmap_rules(w, pcs, replica))
        return gangmap_view(&v, w, a, pcs, replica) && !gangmap_find(&v.map, gang);
    if (str_is_empty(obj_label(pclq, STR(LABEL_BASE_PODGANG))))
        return false;
    const struct obj *group =
        world_get(w, &kind_pcsg, pclq->ns, jstr(jgetc(obj_controller_ref(pclq), "name")));
    return !group || group->deleting ||
           label_index(pclq, STR(LABEL_PCSG_INDEX)) >= surge_total(group);
}

static bool has_living_pods(const struct world *w, const struct obj *pclq)
{
    struct cache_iter it = world_owned(w, &kind_pod, pclq->uid);
    for (const struct obj *pod; (pod = cache_next(&it));) {
        if (!pod->deleting)
            return true;
    }
    return false;
}

/* Gangs go no later than their pods, and one that stays says first that it has them no more. That
 * is the business of its own planner, which may be held up: then nobody waits for it. How long yet;
 * 0: not at all. Of a set that is gone or going nobody looks after gangs. */
static usec wait_for_gang(const struct world *w, const struct obj *pclq, struct plan *p)
{
    usec deleted;
    str base, name = clique_gang(p->arena, w, pclq, &base);
    const struct obj *gang =
        str_is_empty(name) /* its group may be gone */
            ? labelled_obj(w, &kind_pod_gang, pclq->ns, obj_label(pclq, STR(LABEL_PODGANG)))
            : world_get(w, &kind_pod_gang, pclq->ns, name);
    const struct obj *pcs = gang ? owner_pcs(w, gang) : NULL;
    if (!pcs || pcs->deleting || gang->deleting ||
        !time_parse_rfc3339(jstr(jgetc(pclq->meta, "deletionTimestamp")), &deleted))
        return 0;
    usec left = world_moment_in(w, pclq, deleted) + GANG_FIRST - world_steady(w);
    bool waits = gang_goes(w, p->arena, pcs, pclq, gang->name) || gang_has_pods(gang, pclq->name);
    return waits ? MAX(left, 0) : 0;
}

/* True: all its pods are marked when this stage is done. A delete is of a pod as it was seen: one
 * that was let go of by its owner meanwhile stays. */
static bool plan_last_pods(const struct world *w, const struct obj *pclq, struct plan *p)
{
    struct cache_iter it = world_owned(w, &kind_pod, pclq->uid);
    for (struct obj *pod; (pod = cache_next(&it));) {
        if (pod->deleting)
            continue;
        if (make_is_full(p, 0))
            return false;
        struct plan_write *write = plan_delete(p, STAGE_LAST_PODS, pod);
        write->rv = pod->rv;
        write->component_uid = pclq->uid;
        write->user_scale_in = true;
        write->not_serving = !pod_is_ready(pod) || pod_is_finished(pod);
        plan_why(write, p, "its clique %.*s is being deleted", STR_ARG(pclq->name));
    }
    return true;
}

static void plan_leave(const struct world *w, const struct key *key, const struct obj *pclq,
                       struct plan *p)
{
    if (!obj_has_finalizer(pclq, STR(FINALIZER_PCLQ)))
        return;
    if (!obj_has_finalizer(pclq, STR(FINALIZER_ORPHAN)) && !may_not_delete(w, key)) {
        usec left = has_living_pods(w, pclq) ? wait_for_gang(w, pclq, p) : 0;
        if (left > 0)
            plan_look_again(p, left);
        if (left > 0 || !plan_last_pods(w, pclq, p))
            return;
    }
    (void)make_finalizer(p, STAGE_RELEASE, pclq, STR(FINALIZER_PCLQ), false);
}

/* ---- life ---- */

/* Claims that its pods share; pods wait for them. */
static void plan_claims(struct clique_work *c)
{
    int64_t replica = label_index(c->pclq, STR(LABEL_PCS_INDEX));
    jval config = clique_template(c->plan->arena, c->pcs, replica, c->pclq->name);
    c->lacks_claims =
        !sharing_plan_clique(c->world, c->pcs, c->pclq, config, STAGE_CLAIMS, c->plan);
}

void pclq_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct pclq_config *config = ctx;
    const struct obj *pclq = world_get(w, &kind_pclq, key->ns, key->name);
    if (!pclq)
        return;
    if (pclq->deleting) {
        plan_leave(w, key, pclq, p);
        return;
    }
    if (j_is_absent(obj_controller_ref(pclq))) {
        pclq_plan_undeclared(w, pclq, p);
        return;
    }
    struct clique_work c = {.world = w, .pclq = pclq, .plan = p, .pcs = owner_pcs(w, pclq)};
    if (!c.pcs || c.pcs->deleting)
        return;
    c.recipe = (struct pod_recipe){w, c.pcs, pclq, config ? config->initc_image : STR(INITC_IMAGE)};
    c.tally = tally_of(w, pclq->uid);
    going_of_clique(&c.going, w, pclq);
    pclq_view(pclq, &c.spec);
    bool adding = make_finalizer(p, STAGE_FINALIZER, pclq, STR(FINALIZER_PCLQ), true);
    plan_claims(&c);
    update_decide_clique(&c);
    c.slots = slots_of_clique(&c);
    pclq_plan_pods(&c);
    update_plan_pods(&c);
    pclq_plan_gates(&c);
    if (!adding)
        pclq_plan_status(&c);
    going_done(&c.going);
}
