/* See sharing.h. Claims are immutable: an existing one keeps its spec; labels are repaired. */
#include "operator/common/sharing.h"

#include "operator/common/clique.h"
#include "operator/common/gangmap_world.h"
#include "operator/common/surge.h"
#include "operator/common/tally.h"

/* When the kind of claims is missing. */
#define LOOK_AGAIN (30 * USEC_PER_SEC)

/* One level of the hierarchy. */
struct level {
    const struct obj *owner;
    jval shares;             /* its resourceSharing */
    int64_t replicas;        /* 0..replicas-1 have claims of their own */
    const char *index_label; /* on those */
    const char *owner_label; /* with the owner's name; NULL: none */
    /* Indices at or above `replicas` that somebody still has; NULL: none. Pods keep theirs when
     * others are scaled in. */
    const struct slots *in_use;
    /* Where a map of gangs rules: which replicas there are, below `replicas`. NULL: all are. */
    const bool *mapped;
};

static bool is_per_replica(jval share)
{
    return str_is(jstr(jgetc(share, "scope")), "PerReplica");
}

static str claim_name(struct arena *a, str owner, jval share, int64_t replica)
{
    str template = jstr(jgetc(share, "name"));
    if (!is_per_replica(share))
        return name_object(a, arena_cat(a, owner, STR("-all-"), template));
    return name_pcsg(a, owner, replica, template);
}

/* The spec of the claims an entry makes; absent while its template does not exist. */
static jval claim_spec(const struct world *w, const struct obj *pcs, jval share)
{
    str name = jstr(jgetc(share, "name")), ns = jstr(jgetc(share, "namespace"));
    jval inner = jpath(obj_root(pcs), "spec.template.resourceClaimTemplates");
    for (struct jiter it = jiter(inner); str_is_empty(ns) && jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return jpath(it.value, "templateSpec.spec");
    }
    const struct obj *template =
        world_get(w, &kind_resource_claim_template, str_is_empty(ns) ? pcs->ns : ns, name);
    return template ? jgetc(obj_spec(template), "spec") : JVAL_ABSENT;
}

static struct doc *make_claim(struct arena *a, const struct obj *pcs, const struct level *l,
                              jval share, int64_t replica, str name, jval spec)
{
    struct labels labels;
    labels_init(&labels, a);
    labels_common(&labels, pcs->name, "resource-claim");
    if (l->owner_label)
        labels_set(&labels, l->owner_label, name_label(a, l->owner->name));
    if (is_per_replica(share))
        labels_set_int(&labels, l->index_label, replica);
    struct jw w;
    make_begin(&w, &(struct make_meta){&kind_resource_claim, pcs->ns, name, &labels, NULL, l->owner,
                                       NULL});
    jw_put(&w, "spec", spec);
    return make_end(&w);
}

void sharing_add(struct runtime *r)
{
    (void)runtime_cache_optional(r, &kind_resource_claim);
    (void)runtime_cache_optional(r, &kind_resource_claim_template);
}

/* A cluster that has no claims can hold up only those who want some. */
static bool is_served(const struct world *w)
{
    return !cache_is_absent(world_cache(w, &kind_resource_claim));
}

static bool level_wants(const struct level *l, int64_t r)
{
    return r < l->replicas && (!l->mapped || (r >= 0 && l->mapped[r]));
}

static bool plan_share(const struct world *w, const struct obj *pcs, const struct level *l,
                       jval share, unsigned stage, struct plan *p)
{
    jval spec = claim_spec(w, pcs, share);
    int64_t n = is_per_replica(share) ? l->replicas : 1;
    size_t from = p->writes.len;
    if (!j_has(spec)) {
        plan_event(p, l->owner, true, STR("ResourceClaimTemplateNotFound"),
                   "ResourceClaimTemplate %.*s of resourceSharing does not exist",
                   STR_ARG(jstr(jgetc(share, "name"))));
        return false;
    }
    for (int64_t r = 0; r < n && !make_is_full(p, from); r++) {
        if (is_per_replica(share) && !level_wants(l, r))
            continue;
        str name = claim_name(p->arena, l->owner->name, share, r);
        const struct obj *there = world_get(w, &kind_resource_claim, pcs->ns, name);
        (void)make_ensure(p, stage, w, l->owner, there, &kind_resource_claim, name,
                          make_claim(p->arena, pcs, l, share, r, name, there ? JVAL_ABSENT : spec));
    }
    return true;
}

static bool plan_level(const struct world *w, const struct obj *pcs, const struct level *l,
                       unsigned stage, struct plan *p)
{
    bool complete = true;
    struct obj *o;
    if (jlen(l->shares) == 0)
        return true;
    if (!is_served(w)) {
        plan_event(p, l->owner, true, STR("ResourceClaimsUnavailable"),
                   "%zu entries of resourceSharing need resourceclaims.resource.k8s.io, which the "
                   "cluster does not serve",
                   jlen(l->shares));
        plan_look_again(p, LOOK_AGAIN);
        return false;
    }
    for (struct jiter it = jiter(l->shares); jnext(&it);)
        complete = plan_share(w, pcs, l, it.value, stage, p) && complete;
    for (struct cache_iter it = world_owned(w, &kind_resource_claim, l->owner->uid);
         (o = cache_next(&it));) {
        int64_t r = label_index(o, str_of(l->index_label));
        if (!o->deleting && r >= 0 && !level_wants(l, r) &&
            !(l->in_use && slots_uses(l->in_use, r)))
            plan_why(plan_delete(p, stage, o), p, "replica %lld is not among the %lld wanted",
                     (long long)r, (long long)l->replicas);
    }
    return complete;
}

bool sharing_plan_set(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p)
{
    struct level l = {pcs,
                      jpath(obj_root(pcs), "spec.template.resourceSharing"),
                      jint(jgetc(obj_spec(pcs), "replicas"), 0),
                      LABEL_PCS_INDEX,
                      NULL,
                      NULL,
                      NULL};
    return plan_level(w, pcs, &l, stage, p);
}

bool sharing_plan_group(const struct world *w, const struct obj *pcs, const struct obj *pcsg,
                        jval config, unsigned stage, struct plan *p)
{
    struct level l = {pcsg,
                      jgetc(config, "resourceSharing"),
                      surge_total(pcsg),
                      LABEL_PCSG_INDEX,
                      LABEL_PCSG,
                      NULL,
                      NULL};
    int64_t n;
    l.mapped = gangmap_wanted(w, p->arena, pcs, pcsg, &n);
    /* Nobody knows yet which replicas there will be. */
    if (l.mapped && n < 0)
        return true;
    l.replicas = l.mapped ? n : l.replicas;
    return plan_level(w, pcs, &l, stage, p);
}

bool sharing_plan_clique(const struct world *w, const struct obj *pcs, const struct obj *pclq,
                         jval config, unsigned stage, struct plan *p)
{
    struct level l = {pclq,
                      jgetc(config, "resourceSharing"),
                      surge_total(pclq),
                      LABEL_POD_INDEX,
                      LABEL_PCLQ,
                      &tally_of(w, pclq->uid)->indices,
                      NULL};
    return plan_level(w, pcs, &l, stage, p);
}

/* ---- pods ---- */

static bool names(jval list, str name)
{
    for (struct jiter it = jiter(list); !str_is_empty(name) && jnext(&it);) {
        if (str_eq(jstr(it.value), name))
            return true;
    }
    return false;
}

/* No filter means everybody. group: the config's name; empty for a standalone clique. */
static bool is_meant(jval share, str clique, str group)
{
    jval filter = jgetc(share, "filter");
    return !j_has(filter) || names(jgetc(filter, "childCliqueNames"), clique) ||
           names(jgetc(filter, "childScalingGroupNames"), group);
}

/* Those for all replicas, then those of one. */
static void add_claims(struct arena *a, str owner, jval shares, int64_t replica, str clique,
                       str group, claim_names *ret)
{
    for (int per = 0; per < 2; per++) {
        for (struct jiter it = jiter(shares); jnext(&it);) {
            if (is_per_replica(it.value) == (per == 1) && is_meant(it.value, clique, group))
                *vec_push(ret) = claim_name(a, owner, it.value, replica);
        }
    }
}

void sharing_claims_of_pod(struct arena *a, const struct obj *pcs, const struct obj *pclq,
                           int64_t pod_index, claim_names *ret)
{
    struct pcs_view set;
    struct group_view group = {0};
    int64_t replica = label_index(pclq, STR(LABEL_PCS_INDEX));
    jval config = clique_template(a, pcs, replica, pclq->name);
    str clique = jstr(jgetc(config, "name"));
    *ret = (claim_names){0};
    pcs_view(pcs, &set);
    bool member = pcs_group_of(&set, clique, &group);
    add_claims(a, pcs->name, jpath(obj_root(pcs), "spec.template.resourceSharing"), replica, clique,
               group.name, ret);
    for (struct jiter it = jiter(set.scaling_groups); member && jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), group.name))
            add_claims(a, name_pcsg(a, pcs->name, replica, group.name),
                       jgetc(it.value, "resourceSharing"), label_index(pclq, STR(LABEL_PCSG_INDEX)),
                       clique, STR_NONE, ret);
    }
    add_claims(a, pclq->name, jgetc(config, "resourceSharing"), pod_index, clique, STR_NONE, ret);
}
