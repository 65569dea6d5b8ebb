/* Views of what planners read; the field tables are in kind_tables.c. */
#include "grove/types.h"

static const struct view_field pcs_fields[] = {
    VIEW_INT(struct pcs_view, replicas, "spec.replicas"),
    VIEW_VAL(struct pcs_view, cliques, "spec.template.cliques"),
    VIEW_VAL(struct pcs_view, scaling_groups, "spec.template.podCliqueScalingGroups"),
    VIEW_STR(struct pcs_view, startup_type, "spec.template.cliqueStartupType"),
    VIEW_STR(struct pcs_view, priority_class, "spec.template.priorityClassName"),
    VIEW_STR(struct pcs_view, termination_delay, "spec.template.terminationDelay"),
    VIEW_BOOL(struct pcs_view, publish_not_ready,
              "spec.template.headlessServiceConfig.publishNotReadyAddresses"),
    VIEW_END,
};

void pcs_view(const struct obj *pcs, struct pcs_view *ret)
{
    (void)view_decode(obj_root(pcs), pcs_fields, ret, sizeof(*ret), NULL);
}

static const struct view_field clique_fields[] = {
    VIEW_STR(struct clique_view, name, "name"),
    VIEW_VAL(struct clique_view, labels, "labels"),
    VIEW_VAL(struct clique_view, annotations, "annotations"),
    VIEW_VAL(struct clique_view, spec, "spec"),
    VIEW_INT(struct clique_view, replicas, "spec.replicas"),
    VIEW_INT(struct clique_view, min_available, "spec.minAvailable"),
    VIEW_STR(struct clique_view, role, "spec.roleName"),
    VIEW_VAL(struct clique_view, pod_spec, "spec.podSpec"),
    VIEW_VAL(struct clique_view, starts_after, "spec.startsAfter"),
    VIEW_STR(struct clique_view, replacement, "spec.podReplacementPolicy"),
    VIEW_END,
};

void clique_view(jval clique, struct clique_view *ret)
{
    (void)view_decode(clique, clique_fields, ret, sizeof(*ret), NULL);
}

static const struct view_field group_fields[] = {
    VIEW_STR(struct group_view, name, "name"),
    VIEW_VAL(struct group_view, clique_names, "cliqueNames"),
    VIEW_INT(struct group_view, replicas, "replicas"),
    VIEW_INT(struct group_view, min_available, "minAvailable"),
    VIEW_VAL(struct group_view, annotations, "annotations"),
    VIEW_END,
};

/* The schema's default, for documents that did not come through it. */
static void default_to_one(int64_t *n, jval v)
{
    if (!j_has(v))
        *n = 1;
}

void group_view(jval group, struct group_view *ret)
{
    (void)view_decode(group, group_fields, ret, sizeof(*ret), NULL);
    default_to_one(&ret->replicas, jgetc(group, "replicas"));
    default_to_one(&ret->min_available, jgetc(group, "minAvailable"));
}

static const struct view_field pclq_fields[] = {
    VIEW_INT(struct pclq_view, replicas, "spec.replicas"),
    VIEW_INT(struct pclq_view, min_available, "spec.minAvailable"),
    VIEW_STR(struct pclq_view, role, "spec.roleName"),
    VIEW_VAL(struct pclq_view, pod_spec, "spec.podSpec"),
    VIEW_VAL(struct pclq_view, starts_after, "spec.startsAfter"),
    VIEW_END,
};

void pclq_view(const struct obj *pclq, struct pclq_view *ret)
{
    (void)view_decode(obj_root(pclq), pclq_fields, ret, sizeof(*ret), NULL);
}

static const struct view_field pcsg_fields[] = {
    VIEW_INT(struct pcsg_view, replicas, "spec.replicas"),
    VIEW_INT(struct pcsg_view, min_available, "spec.minAvailable"),
    VIEW_VAL(struct pcsg_view, clique_names, "spec.cliqueNames"),
    VIEW_END,
};

void pcsg_view(const struct obj *pcsg, struct pcsg_view *ret)
{
    (void)view_decode(obj_root(pcsg), pcsg_fields, ret, sizeof(*ret), NULL);
    default_to_one(&ret->replicas, jgetc(obj_spec(pcsg), "replicas"));
    default_to_one(&ret->min_available, jgetc(obj_spec(pcsg), "minAvailable"));
}

bool gang_was_scheduled(const struct obj *gang)
{
    jval status = obj_status(gang);
    return j_has(jgetc(status, "lastScheduled")) ||
           condition_is_true(jgetc(status, "conditions"), STR("Scheduled"));
}

bool pcs_find_clique(const struct pcs_view *pcs, str name, struct clique_view *ret)
{
    for (struct jiter it = jiter(pcs->cliques); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name)) {
            clique_view(it.value, ret);
            return true;
        }
    }
    return false;
}

bool pcs_find_group(const struct pcs_view *pcs, str name, struct group_view *ret)
{
    for (struct jiter it = jiter(pcs->scaling_groups); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name)) {
            group_view(it.value, ret);
            return true;
        }
    }
    return false;
}

bool pcs_group_of(const struct pcs_view *pcs, str clique, struct group_view *ret)
{
    for (struct jiter it = jiter(pcs->scaling_groups); jnext(&it);) {
        for (struct jiter n = jiter(jgetc(it.value, "cliqueNames")); jnext(&n);) {
            if (str_eq(jstr(n.value), clique)) {
                group_view(it.value, ret);
                return true;
            }
        }
    }
    return false;
}
