/*
 * See pdb.h. A budget belongs to the owner of its clique, not to the clique: it outlives gang
 * termination, and goes with the replica. Pods that are not ready do not serve and may always be
 * evicted.
 */
#include "operator/set/pdb.h"

#include "operator/common/gangmap_world.h"

#define PDB_PATIENCE (30 * USEC_PER_SEC)

int64_t pdb_floor(const struct obj *pclq, int64_t update_takes)
{
    jval spec = obj_spec(pclq);
    int64_t floor = MIN(jint(jgetc(spec, "minAvailable"), 1), jint(jgetc(spec, "replicas"), 0));
    return MAX(0, floor - update_takes);
}

static struct doc *make_budget(struct arena *a, const struct obj *pcs, const struct obj *owner,
                               const struct obj *pclq, int64_t floor)
{
    struct labels l, selector;
    labels_init(&l, a);
    labels_common(&l, pcs->name, "pod-disruption-budget");
    labels_set(&l, LABEL_NAME, name_label(a, pclq->name));
    labels_set_int(&l, LABEL_PCS_INDEX, label_index(pclq, STR(LABEL_PCS_INDEX)));
    if (owner->kind == &kind_pcsg) {
        labels_set(&l, LABEL_PCSG, name_label(a, owner->name));
        labels_set_int(&l, LABEL_PCSG_INDEX, label_index(pclq, STR(LABEL_PCSG_INDEX)));
    }
    labels_init(&selector, a);
    labels_set(&selector, LABEL_MANAGED_BY, STR(MANAGED_BY_GROVE));
    labels_set(&selector, LABEL_PART_OF, name_label(a, pcs->name));
    labels_set(&selector, LABEL_PCLQ, name_label(a, pclq->name));
    struct jw w;
    make_begin(&w, &(struct make_meta){&kind_pdb, pcs->ns, pclq->name, &l, NULL, owner, NULL});
    jw_put_object(&w, "spec");
    jw_put_int(&w, "minAvailable", floor);
    jw_put_object(&w, "selector");
    labels_write(&w, "matchLabels", &selector);
    jw_end(&w);
    jw_put_cstr(&w, "unhealthyPodEvictionPolicy", "AlwaysAllow");
    jw_end(&w);
    return make_end(&w);
}

static const char *index_label(const struct obj *owner)
{
    return owner->kind == &kind_pcsg ? LABEL_PCSG_INDEX : LABEL_PCS_INDEX;
}

void pdb_ensure(const struct world *w, const struct obj *pcs, const struct obj *owner,
                const struct obj *pclq, unsigned stage, struct plan *p)
{
    size_t from = p->writes.len;
    (void)make_ensure(p, stage, w, owner, world_get(w, &kind_pdb, pclq->ns, pclq->name), &kind_pdb,
                      pclq->name, make_budget(p->arena, pcs, owner, pclq, pdb_floor(pclq, 0)));
    /* A new clique has no pods to protect: those it makes come first. And a cluster looks through
     * all budgets of a namespace whenever one of its pods changes. */
    for (size_t i = from; i < p->writes.len; i++) {
        p->writes.p[i].patient = p->writes.p[i].op == PLAN_CREATE;
        p->writes.p[i].patience = PDB_PATIENCE;
    }
}

static bool is_wanted(const struct world *w, const struct obj *owner, int64_t i, struct plan *p)
{
    const struct obj *pcs = owner->kind == &kind_pcsg ? owner_pcs(w, owner) : NULL;
    return pcs ? gangmap_wants(w, p->arena, pcs, owner, i)
               : i < jint(jgetc(obj_spec(owner), "replicas"), 0);
}

void pdb_keep(const struct world *w, const struct obj *owner, const struct obj *pdb, unsigned stage,
              struct plan *p)
{
    int64_t replicas = jint(jgetc(obj_spec(owner), "replicas"), 0);
    int64_t i = label_index(pdb, str_of(index_label(owner)));
    if (!is_wanted(w, owner, i, p))
        plan_why(plan_delete(p, stage, pdb), p, "replica %lld is not among the %lld wanted",
                 (long long)i, (long long)replicas);
}
