/* Grove's own kinds as tables, the words it writes on objects, and views of what planners read. */
#ifndef GROVE_TYPES_H
#define GROVE_TYPES_H

#include "kube/object.h"
#include "kube/tables/kinds.h"
#include "json/view.h"

extern const struct kind kind_pcs, kind_pcsg, kind_pclq, kind_ctb, kind_pod_gang, kind_pod_gang_map;

/* Registers them after the built-in ones; idempotent. */
void grove_kinds_init(void);

/* ---- labels, annotations, finalizers, gates ---- */

#define LABEL_MANAGED_BY "app.kubernetes.io/managed-by"
#define LABEL_PART_OF "app.kubernetes.io/part-of"
#define LABEL_NAME "app.kubernetes.io/name"
#define LABEL_COMPONENT "app.kubernetes.io/component"
#define LABEL_PCS_INDEX "grove.io/podcliqueset-replica-index"
#define LABEL_PCSG "grove.io/podcliquescalinggroup"
#define LABEL_PCSG_INDEX "grove.io/podcliquescalinggroup-replica-index"
#define LABEL_PCLQ "grove.io/podclique"
#define LABEL_POD_INDEX "grove.io/podclique-pod-index"
#define LABEL_PODGANG "grove.io/podgang"
#define LABEL_BASE_PODGANG "grove.io/base-podgang"
/* Of a gang: Anchor, Tail or ScaleOut. */
#define LABEL_PODGANG_ROLE "grove.io/podgang-role"
/* Of a gang: that of its entry in the map (gangs.h). */
#define LABEL_EPOCH "grove.io/epoch"
/* On gangs that others of their replica wait for, where a map of gangs rules: "true". */
#define LABEL_ANCHOR "scheduling.grove.io/anchor"
#define LABEL_TEMPLATE_HASH "grove.io/pod-template-hash"
#define LABEL_SCHEDULER "grove.io/scheduler-name"
#define LABEL_GENERATION_HASH "grove.io/podcliqueset-generation-hash"
/* Beside the contract, outside all hashes and selectors. */
#define LABEL_PCS "grove.io/podcliqueset"
#define LABEL_ROLE "grove.io/role"

#define ANNOTATION_TOPOLOGY "grove.io/topology-name"
/* Of a base gang: "GROUP=N,...", so many pods like those of the group come in scaled gangs. */
#define ANNOTATION_SCALED_PODS "grove.io/scaled-pods"
/* The long form of what had to be shortened in a label, a host name or a Service (decision 12). */
#define ANNOTATION_FULL_NAME "grove.io/full-name"
#define ANNOTATION_MNNVL "grove.io/mnnvl-group"
#define ANNOTATION_UNPROTECTED "grove.io/disable-managed-resource-protection"
/* "true": an update takes nothing more away */
#define ANNOTATION_PAUSED "grove.io/paused"
#define ANNOTATION_CHANGE_CAUSE "kubernetes.io/change-cause"

#define MANAGED_BY_GROVE "grove-operator"
#define FINALIZER_PCS "grove.io/podcliqueset.grove.io"
#define FINALIZER_PCSG "grove.io/podcliquescalinggroup.grove.io"
#define FINALIZER_PCLQ "grove.io/podclique.grove.io"
#define FINALIZER_ORPHAN "orphan" /* the garbage collector's: what it owns stays */
#define GATE_PODGANG "grove.io/podgang-pending-creation"

/* ---- views ---- */

struct pcs_view {
    int64_t replicas;
    jval cliques;
    jval scaling_groups;
    str startup_type;
    str priority_class;
    str termination_delay;
    bool publish_not_ready;
};
void pcs_view(const struct obj *pcs, struct pcs_view *ret);

/* Replicas of a set, a group or a clique, and pods of a set in all, as its manifest says. Each
 * costs its planner work even before it exists: 2147483647 of them, a slip of the finger, would be
 * minutes in one turn of the loop and gigabytes. */
enum { GROVE_MAX_REPLICAS = 1000000 };

struct clique_view { /* an element of cliques */
    str name;
    jval labels;
    jval annotations;
    jval spec;
    int64_t replicas;
    int64_t min_available;
    str role;
    jval pod_spec;
    jval starts_after;
    str replacement; /* podReplacementPolicy; empty: Failed */
};
void clique_view(jval clique, struct clique_view *ret);

struct group_view { /* an element of podCliqueScalingGroups */
    str name;
    jval clique_names;
    int64_t replicas;
    int64_t min_available;
    jval annotations;
};
void group_view(jval group, struct group_view *ret);

struct pclq_view { /* a PodClique object */
    int64_t replicas;
    int64_t min_available;
    str role;
    jval pod_spec;
    jval starts_after;
};
void pclq_view(const struct obj *pclq, struct pclq_view *ret);

struct pcsg_view {
    int64_t replicas;
    int64_t min_available;
    jval clique_names;
};
void pcsg_view(const struct obj *pcsg, struct pcsg_view *ret);

/* Did a PodGang ever have the minimum of every clique on nodes? Its condition Scheduled says
 * whether it has now, status.lastScheduled when it came to that last; gangs of 0.1.0 have a
 * condition that stays True, and no time. */
bool gang_was_scheduled(const struct obj *gang);

/* The template of that name in the set; false when there is none. */
bool pcs_find_clique(const struct pcs_view *pcs, str name, struct clique_view *ret);
bool pcs_find_group(const struct pcs_view *pcs, str name, struct group_view *ret);
/* The group a clique is a member of; false: the clique stands alone. */
bool pcs_group_of(const struct pcs_view *pcs, str clique, struct group_view *ret);

#endif
