/*
 * The PodClique planner: as many pods as wanted, each with a stable index; gates lifted when the
 * gang allows it; status from the pods.
 *
 * Counting: a pod that is being deleted, or whose delete is in an accepted plan, is gone; a
 * finished pod (Failed, Succeeded) holds no place and is replaced. Names are functions of (clique
 * uid, index, n), so a repeated create answers AlreadyExists instead of making a second pod.
 *
 * Cost: the numbers come from the tally, which follows the pods as they change; single pods are
 * looked at only when some are to be made, removed or let go.
 */
#include "operator/pclq_impl.h"
#include "operator/sharing.h"

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
        (void)make_finalizer(p, STAGE_FINALIZER, pclq, STR(FINALIZER_PCLQ), false);
        return;
    }
    if (j_is_absent(obj_controller_ref(pclq))) {
        pclq_plan_undeclared(w, pclq, p);
        return;
    }
    struct clique_work c = {.world = w, .pclq = pclq, .plan = p, .pcs = owner_pcs(w, pclq)};
    if (!c.pcs || c.pcs->deleting)
        return;
    c.recipe = (struct pod_recipe){c.pcs, pclq, config ? config->initc_image : STR(INITC_IMAGE)};
    c.tally = tally_of(w, pclq->uid);
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
}
