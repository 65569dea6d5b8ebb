/*
 * The tables of Grove's kinds: every field of the current API, the Coherent additions and the
 * fields of older documents that still work. Discovery, CRD manifests, defaults, pruning and
 * validation all read these.
 */
#include "grove/types.h"

#define ONE(n, t, ...)                              \
    {                                               \
        .name = (n), .type = &type_##t, __VA_ARGS__ \
    }
#define LIST(n, t, ...)                                                  \
    {                                                                    \
        .name = (n), .type = &type_##t, .shape = FIELD_LIST, __VA_ARGS__ \
    }
#define MAP(n, t, ...)                                                  \
    {                                                                   \
        .name = (n), .type = &type_##t, .shape = FIELD_MAP, __VA_ARGS__ \
    }
#define REQUIRED .flags = FIELD_REQUIRED
#define DEFAULT(text) .dflt = (text)
#define ENUM(values) .enums = (values)
#define DOC(text) .doc = (text)
#define LIST_BY(key) .list = LIST_MAP, .keys = (key)
#define OBJECT(id, shown)                                        \
    static const struct type type_##id = {.name = (shown),       \
                                          .tag = TYPE_OBJECT,    \
                                          .fields = id##_fields, \
                                          .n_fields = ARRAY_LEN(id##_fields)}

#define DOMAIN_PATTERN "^[a-z][a-z0-9-]*$"
#define LABEL_KEY_PATTERN \
    "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"

/* ---- shared parts ---- */

static const struct field pack_fields[] = {
    ONE("required", string, .pattern = DOMAIN_PATTERN, DOC("Domain all pods must share.")),
    ONE("preferred", string, .pattern = DOMAIN_PATTERN, DOC("Domain to share where possible.")),
};
OBJECT(pack, "PackConstraint");

static const struct field topology_constraint_fields[] = {
    ONE("topologyName", string, DOC("ClusterTopologyBinding whose domains are meant.")),
    ONE("pack", pack),
    ONE("packDomain", string, .pattern = DOMAIN_PATTERN, DOC("Old spelling of pack.required.")),
};
OBJECT(topology_constraint, "TopologyConstraint");

static const struct field auto_scaling_fields[] = {
    ONE("minReplicas", int32),
    ONE("maxReplicas", int32, REQUIRED),
    LIST("metrics", metric_spec, DOC("Handed to the autoscaler (autoscaling/v2) as they are.")),
    ONE("behavior", horizontal_pod_autoscaler_behavior,
        DOC("Handed to the autoscaler (autoscaling/v2) as it is.")),
};
OBJECT(auto_scaling, "AutoScalingConfig");

static const struct field sharing_filter_fields[] = {
    LIST("childCliqueNames", string),
    LIST("childScalingGroupNames", string),
};
OBJECT(sharing_filter, "ResourceSharingFilter");

static const struct field resource_sharing_fields[] = {
    ONE("name", string, REQUIRED),
    ONE("namespace", string),
    ONE("scope", string, REQUIRED, ENUM("AllReplicas|PerReplica")),
    ONE("filter", sharing_filter),
};
OBJECT(resource_sharing, "ResourceSharing");

static const struct field resource_claim_template_fields[] = {
    ONE("name", string, REQUIRED),
    ONE("templateSpec", raw, REQUIRED),
};
OBJECT(resource_claim_template, "ResourceClaimTemplateConfig");

static const struct field last_error_fields[] = {
    ONE("code", string, REQUIRED),
    ONE("description", string, REQUIRED),
    ONE("observedAt", time, REQUIRED),
};
OBJECT(last_error, "LastError");

/* ---- PodClique ---- */

static const struct field pclq_spec_fields[] = {
    ONE("roleName", string,
        DOC("Role of these pods, unique in the set; the clique's name if unset.")),
    ONE("podSpec", pod_spec, REQUIRED, DOC("What each pod runs: a Kubernetes PodSpec.")),
    ONE("replicas", int32, DOC("Number of pods.")),
    ONE("minAvailable", int32, DOC("Fewest pods that are of any use: gang size and floor.")),
    LIST("startsAfter", string, DOC("Cliques that must be up first.")),
    ONE("autoScalingConfig", auto_scaling),
};
OBJECT(pclq_spec, "PodCliqueSpec");

static const struct field pods_selected_fields[] = {
    ONE("current", string, REQUIRED),
    LIST("completed", string),
};
OBJECT(pods_selected, "PodsSelectedToUpdate");

static const struct field pclq_progress_fields[] = {
    ONE("updateStartedAt", time),
    ONE("updateEndedAt", time),
    ONE("podCliqueSetGenerationHash", string, REQUIRED),
    ONE("podTemplateHash", string, REQUIRED),
    ONE("readyPodsSelectedToUpdate", pods_selected),
};
OBJECT(pclq_progress, "PodCliqueUpdateProgress");

static const struct field pclq_status_fields[] = {
    ONE("observedGeneration", int64),
    LIST("lastErrors", last_error),
    ONE("replicas", int32),
    ONE("readyReplicas", int32, DEFAULT("0")),
    ONE("updatedReplicas", int32, DEFAULT("0")),
    ONE("scheduleGatedReplicas", int32, DEFAULT("0")),
    ONE("scheduledReplicas", int32, DEFAULT("0")),
    ONE("hpaPodSelector", string),
    LIST("conditions", condition, LIST_BY("type")),
    ONE("currentPodCliqueSetGenerationHash", string),
    ONE("currentPodTemplateHash", string),
    ONE("updateProgress", pclq_progress),
};
OBJECT(pclq_status, "PodCliqueStatus");

static const struct field pclq_fields[] = {
    ONE("apiVersion", string),        ONE("kind", string),        ONE("metadata", object_meta),
    ONE("spec", pclq_spec, REQUIRED), ONE("status", pclq_status),
};
OBJECT(pclq, "PodClique");

/* ---- PodCliqueScalingGroup ---- */

static const struct field pcsg_spec_fields[] = {
    ONE("replicas", int32, DEFAULT("1"), DOC("Number of copies of the group.")),
    ONE("minAvailable", int32, DEFAULT("1")),
    LIST("cliqueNames", string, REQUIRED),
};
OBJECT(pcsg_spec, "PodCliqueScalingGroupSpec");

static const struct field indices_selected_fields[] = {
    ONE("current", int32, REQUIRED),
    LIST("completed", int32),
};
OBJECT(indices_selected, "ReplicaIndicesSelectedToUpdate");

static const struct field pcsg_progress_fields[] = {
    ONE("updateStartedAt", time, REQUIRED),
    ONE("updateEndedAt", time),
    ONE("podCliqueSetGenerationHash", string, REQUIRED),
    ONE("updatedPodCliquesCount", int32, DEFAULT("0")),
    ONE("totalPodCliquesCount", int32, DEFAULT("0")),
    ONE("readyReplicaIndicesSelectedToUpdate", indices_selected),
};
OBJECT(pcsg_progress, "PodCliqueScalingGroupUpdateProgress");

static const struct field pcsg_status_fields[] = {
    ONE("replicas", int32),
    ONE("scheduledReplicas", int32, DEFAULT("0")),
    ONE("availableReplicas", int32, DEFAULT("0")),
    ONE("updatedReplicas", int32, DEFAULT("0")),
    ONE("selector", string),
    ONE("observedGeneration", int64),
    LIST("lastErrors", last_error),
    LIST("conditions", condition, LIST_BY("type")),
    ONE("currentPodCliqueSetGenerationHash", string),
    ONE("updateProgress", pcsg_progress),
    ONE("rollingUpdateProgress", raw),
    ONE("phase", string),
};
OBJECT(pcsg_status, "PodCliqueScalingGroupStatus");

static const struct field pcsg_fields[] = {
    ONE("apiVersion", string),        ONE("kind", string),        ONE("metadata", object_meta),
    ONE("spec", pcsg_spec, REQUIRED), ONE("status", pcsg_status),
};
OBJECT(pcsg, "PodCliqueScalingGroup");

/* ---- PodCliqueSet ---- */

static const struct field budget_fields[] = {
    ONE("maxUnavailable", int32, DOC("How many an update may take away at once.")),
};
OBJECT(budget, "ComponentRollingUpdate");

static const struct field clique_fields[] = {
    ONE("name", string, REQUIRED, DOC("Name of the role; part of every generated name.")),
    MAP("labels", string),
    MAP("annotations", string),
    ONE("topologyConstraint", topology_constraint),
    LIST("resourceSharing", resource_sharing),
    ONE("rollingUpdate", budget, DOC("For a clique that is in no scaling group.")),
    ONE("spec", pclq_spec, REQUIRED),
};
OBJECT(clique, "PodCliqueTemplate");

static const struct field group_fields[] = {
    ONE("name", string, REQUIRED),
    LIST("cliqueNames", string, REQUIRED, DOC("Cliques that scale together.")),
    MAP("annotations", string),
    ONE("replicas", int32, DEFAULT("1")),
    ONE("minAvailable", int32, DEFAULT("1"), DOC("Copies that belong to the base gang.")),
    ONE("scaleConfig", auto_scaling),
    LIST("resourceSharing", resource_sharing),
    ONE("topologyConstraint", topology_constraint),
    ONE("rollingUpdate", budget, DOC("In copies of the group.")),
};
OBJECT(group, "PodCliqueScalingGroupConfig");

static const struct field headless_fields[] = {
    ONE("publishNotReadyAddresses", bool, DEFAULT("true")),
};
OBJECT(headless, "HeadlessServiceConfig");

static const struct field pack_group_fields[] = {
    ONE("name", string),
    LIST("cliqueNames", string, REQUIRED),
};
OBJECT(pack_group, "NetworkPackGroupConfig");

static const struct field scheduling_policy_fields[] = {
    LIST("networkPackGroupConfigs", pack_group, DOC("Cliques to place close together.")),
    LIST("networkPackGroups", pack_group, DOC("Old spelling of networkPackGroupConfigs.")),
};
OBJECT(scheduling_policy, "SchedulingPolicyConfig");

static const struct field template_fields[] = {
    LIST("cliques", clique, .flags = FIELD_REQUIRED, LIST_BY("name"), DOC("The roles.")),
    ONE("cliqueStartupType", string, DEFAULT("\"CliqueStartupTypeAnyOrder\""),
        ENUM("CliqueStartupTypeAnyOrder|CliqueStartupTypeInOrder|CliqueStartupTypeExplicit"),
        DOC("In which order the roles start.")),
    ONE("priorityClassName", string),
    ONE("headlessServiceConfig", headless),
    ONE("topologyConstraint", topology_constraint),
    ONE("terminationDelay", duration, DOC("How long a gang may stay below its minimum.")),
    LIST("resourceClaimTemplates", resource_claim_template),
    LIST("resourceSharing", resource_sharing),
    LIST("podCliqueScalingGroups", group, DOC("Roles that scale together.")),
    ONE("schedulingPolicyConfig", scheduling_policy),
};
OBJECT(template, "PodCliqueSetTemplate");

static const struct field update_strategy_fields[] = {
    ONE("type", string, DEFAULT("\"RollingRecreate\""), ENUM("RollingRecreate|OnDelete|Coherent")),
    ONE("rollingUpdate", raw),
    ONE("coherent", raw),
    ONE("maxConcurrentReplicas", int32),
    ONE("partition", int32),
    ONE("progressDeadline", duration),
    ONE("autoRollback", string),
};
OBJECT(update_strategy, "UpdateStrategy");

/* A Kubernetes TopologySpreadConstraint; what is selected are the replicas of the set. */
static const struct field replica_spread_fields[] = {
    ONE("maxSkew", int32),
    ONE("topologyKey", string, REQUIRED, DOC("Label of nodes that tells domains apart.")),
    ONE("whenUnsatisfiable", string, ENUM("DoNotSchedule|ScheduleAnyway")),
    ONE("labelSelector", label_selector),
    ONE("minDomains", int32),
    ONE("nodeAffinityPolicy", string),
    ONE("nodeTaintsPolicy", string),
    LIST("matchLabelKeys", string),
};
OBJECT(replica_spread, "ReplicaSpreadConstraint");

static const struct field pcs_spec_fields[] = {
    ONE("replicas", int32, DEFAULT("0"), DOC("Copies of the whole system.")),
    ONE("updateStrategy", update_strategy),
    ONE("template", template, REQUIRED),
    LIST("replicaSpreadConstraints", replica_spread, DOC("Spreads the copies over domains.")),
};
OBJECT(pcs_spec, "PodCliqueSetSpec");

static const struct field replica_progress_fields[] = {
    ONE("replicaIndex", int32, REQUIRED),
    ONE("updateStartedAt", time),
    ONE("updateEndedAt", time),
};
OBJECT(replica_progress, "PodCliqueSetReplicaUpdateProgress");

static const struct field pcs_progress_fields[] = {
    ONE("updateStartedAt", time),
    ONE("updateEndedAt", time),
    ONE("updatedPodCliquesCount", int32, DEFAULT("0")),
    ONE("totalPodCliquesCount", int32, DEFAULT("0")),
    ONE("updatedPodCliqueScalingGroupsCount", int32, DEFAULT("0")),
    ONE("totalPodCliqueScalingGroupsCount", int32, DEFAULT("0")),
    LIST("currentlyUpdating", replica_progress),
    LIST("inFlightPodGangs", string),
    ONE("errorMessage", string),
};
OBJECT(pcs_progress, "PodCliqueSetUpdateProgress");

static const struct field gang_summary_fields[] = {
    ONE("name", string, REQUIRED),
    ONE("phase", string, ENUM("Pending|Starting|Running|Failed|Succeeded")),
    LIST("conditions", condition, LIST_BY("type")),
};
OBJECT(gang_summary, "PodGangStatusSummary");

static const struct field pcs_status_fields[] = {
    ONE("observedGeneration", int64),
    LIST("conditions", condition, LIST_BY("type")),
    LIST("lastErrors", last_error),
    ONE("replicas", int32),
    ONE("updatedReplicas", int32, DEFAULT("0")),
    ONE("availableReplicas", int32, DEFAULT("0")),
    ONE("hpaPodSelector", string),
    LIST("podGangStatuses", gang_summary, LIST_BY("name")),
    ONE("currentGenerationHash", string),
    ONE("updateProgress", pcs_progress),
    ONE("rollingUpdateProgress", raw),
    ONE("phase", string),
};
OBJECT(pcs_status, "PodCliqueSetStatus");

static const struct field pcs_fields[] = {
    ONE("apiVersion", string),       ONE("kind", string),       ONE("metadata", object_meta),
    ONE("spec", pcs_spec, REQUIRED), ONE("status", pcs_status),
};
OBJECT(pcs, "PodCliqueSet");

/* ---- ClusterTopologyBinding ---- */

static const struct field level_fields[] = {
    ONE("domain", string, REQUIRED, .pattern = DOMAIN_PATTERN),
    ONE("key", string, REQUIRED, .pattern = LABEL_KEY_PATTERN),
};
OBJECT(level, "TopologyLevel");

static const struct field scheduler_binding_fields[] = {
    ONE("schedulerName", string, REQUIRED),
    ONE("topologyReference", string, REQUIRED),
};
OBJECT(scheduler_binding, "SchedulerTopologyBinding");

static const struct field ctb_spec_fields[] = {
    LIST("levels", level, REQUIRED, DOC("Domains, broadest first, and the node labels they mean.")),
    LIST("schedulerTopologyBindings", scheduler_binding),
};
OBJECT(ctb_spec, "ClusterTopologyBindingSpec");

static const struct field topology_status_fields[] = {
    ONE("schedulerName", string, REQUIRED),
    ONE("topologyReference", string, REQUIRED),
    ONE("inSync", bool, REQUIRED),
    ONE("schedulerBackendTopologyObservedGeneration", int64),
    ONE("message", string),
};
OBJECT(topology_status, "SchedulerTopologyStatus");

static const struct field ctb_status_fields[] = {
    ONE("observedGeneration", int64),
    LIST("conditions", condition, LIST_BY("type")),
    LIST("schedulerTopologyStatuses", topology_status),
};
OBJECT(ctb_status, "ClusterTopologyBindingStatus");

static const struct field ctb_fields[] = {
    ONE("apiVersion", string),       ONE("kind", string),       ONE("metadata", object_meta),
    ONE("spec", ctb_spec, REQUIRED), ONE("status", ctb_status),
};
OBJECT(ctb, "ClusterTopologyBinding");

/* ---- PodGang ---- */

static const struct field gang_pack_fields[] = {
    ONE("required", string),
    ONE("preferred", string),
};
OBJECT(gang_pack, "TopologyPackConstraint");

static const struct field gang_constraint_fields[] = {ONE("packConstraint", gang_pack)};
OBJECT(gang_constraint, "PodGangTopologyConstraint");

static const struct field reference_fields[] = {
    ONE("namespace", string, REQUIRED),
    ONE("name", string, REQUIRED),
};
OBJECT(reference, "NamespacedName");

static const struct field pod_group_fields[] = {
    ONE("name", string, REQUIRED),
    LIST("podReferences", reference, REQUIRED),
    ONE("minReplicas", int32, REQUIRED),
    ONE("topologyConstraint", gang_constraint),
};
OBJECT(pod_group, "PodGroup");

static const struct field group_constraint_fields[] = {
    ONE("name", string, REQUIRED),
    LIST("podGroupNames", string, REQUIRED),
    ONE("topologyConstraint", gang_constraint),
};
OBJECT(group_constraint, "TopologyConstraintGroupConfig");

static const struct field gang_spec_fields[] = {
    LIST("podgroups", pod_group, REQUIRED),
    ONE("topologyConstraint", gang_constraint),
    LIST("topologyConstraintGroupConfigs", group_constraint),
    ONE("priorityClassName", string),
    ONE("reuseReservationRef", reference),
};
OBJECT(gang_spec, "PodGangSpec");

static const struct field gang_status_fields[] = {
    ONE("phase", string),
    LIST("conditions", condition, LIST_BY("type")),
    ONE("placementScore", double),
};
OBJECT(gang_status, "PodGangStatus");

static const struct field gang_fields[] = {
    ONE("apiVersion", string),        ONE("kind", string),        ONE("metadata", object_meta),
    ONE("spec", gang_spec, REQUIRED), ONE("status", gang_status),
};
OBJECT(gang, "PodGang");

/* ---- PodGangMap ---- */

static const struct field gang_map_fields[] = {
    ONE("apiVersion", string),
    ONE("kind", string),
    ONE("metadata", object_meta),
    ONE("spec", raw, REQUIRED),
};
OBJECT(gang_map, "PodGangMap");

/* ---- columns ---- */

#define AGE                                                       \
    {                                                             \
        "Age", "date", "", ".metadata.creationTimestamp", 0, NULL \
    }
#define NAME                                                \
    {                                                       \
        "Name", "string", "name", ".metadata.name", 0, NULL \
    }
#define BREACHED                                                                      \
    {                                                                                 \
        "MinBreached", "string", "",                                                  \
            ".status.conditions[?(@.type==\"MinAvailableBreached\")].status", 1, NULL \
    }
#define NUMBER(n, p)                 \
    {                                \
        n, "integer", "", p, 0, NULL \
    }

static const struct column pcs_columns[] = {
    NAME,
    NUMBER("Replicas", ".spec.replicas"),
    NUMBER("Available", ".status.availableReplicas"),
    NUMBER("Updated", ".status.updatedReplicas"),
    NUMBER("PCLQs-Updated", ".status.updateProgress.updatedPodCliquesCount"),
    NUMBER("PCLQs-Total", ".status.updateProgress.totalPodCliquesCount"),
    NUMBER("PCSGs-Updated", ".status.updateProgress.updatedPodCliqueScalingGroupsCount"),
    NUMBER("PCSGs-Total", ".status.updateProgress.totalPodCliqueScalingGroupsCount"),
    AGE,
};

static const struct column pclq_columns[] = {
    NAME,
    NUMBER("MinAvail", ".spec.minAvailable"),
    NUMBER("Replicas", ".spec.replicas"),
    NUMBER("Ready", ".status.readyReplicas"),
    NUMBER("Scheduled", ".status.scheduledReplicas"),
    NUMBER("Updated", ".status.updatedReplicas"),
    {"Gated", "integer", "", ".status.scheduleGatedReplicas", 1, NULL},
    BREACHED,
    AGE,
};

static const struct column pcsg_columns[] = {
    NAME,
    NUMBER("MinAvail", ".spec.minAvailable"),
    NUMBER("Replicas", ".spec.replicas"),
    NUMBER("Available", ".status.availableReplicas"),
    NUMBER("Scheduled", ".status.scheduledReplicas"),
    NUMBER("Updated", ".status.updatedReplicas"),
    NUMBER("PCLQs-Updated", ".status.updateProgress.updatedPodCliquesCount"),
    NUMBER("PCLQs-Total", ".status.updateProgress.totalPodCliquesCount"),
    BREACHED,
    AGE,
};

static const struct column ctb_columns[] = {
    NAME,
    {"Domains", "string", "", ".spec.levels[*].domain", 0, NULL},
    AGE,
};

static const struct column gang_columns[] = {
    NAME,
    {"Phase", "string", "", ".status.phase", 0, NULL},
    AGE,
};

/* ---- kinds ---- */

#define COLUMNS(c) .columns = (c), .n_columns = ARRAY_LEN(c)
#define CUSTOM (KIND_CUSTOM | KIND_GENERATION | KIND_MUST_SEND_VERSION)
#define KIND_ID(n) .id = &id_##n

static uint16_t id_pcs, id_pcsg, id_pclq, id_ctb, id_pod_gang, id_pod_gang_map;

const struct kind kind_pcs = {
    .group = "grove.io",
    .version = "v1alpha1",
    .kind = "PodCliqueSet",
    .plural = "podcliquesets",
    .singular = "podcliqueset",
    .short_names = "pcs,pgs",
    .verbs = VERBS_ALL,
    .flags = CUSTOM | KIND_NAMESPACED | KIND_STATUS | KIND_SCALE,
    .type = &type_pcs,
    COLUMNS(pcs_columns),
    .scale_spec_path = ".spec.replicas",
    .scale_status_path = ".status.replicas",
    .scale_selector_path = ".status.hpaPodSelector",
    KIND_ID(pcs),
};

const struct kind kind_pclq = {
    .group = "grove.io",
    .version = "v1alpha1",
    .kind = "PodClique",
    .plural = "podcliques",
    .singular = "podclique",
    .short_names = "pclq",
    .verbs = VERBS_ALL,
    .flags = CUSTOM | KIND_NAMESPACED | KIND_STATUS | KIND_SCALE,
    .type = &type_pclq,
    COLUMNS(pclq_columns),
    .scale_spec_path = ".spec.replicas",
    .scale_status_path = ".status.replicas",
    .scale_selector_path = ".status.hpaPodSelector",
    KIND_ID(pclq),
};

const struct kind kind_pcsg = {
    .group = "grove.io",
    .version = "v1alpha1",
    .kind = "PodCliqueScalingGroup",
    .plural = "podcliquescalinggroups",
    .singular = "podcliquescalinggroup",
    .short_names = "pcsg",
    .verbs = VERBS_ALL,
    .flags = CUSTOM | KIND_NAMESPACED | KIND_STATUS | KIND_SCALE,
    .type = &type_pcsg,
    COLUMNS(pcsg_columns),
    .scale_spec_path = ".spec.replicas",
    .scale_status_path = ".status.replicas",
    .scale_selector_path = ".status.selector",
    KIND_ID(pcsg),
};

const struct kind kind_ctb = {
    .group = "grove.io",
    .version = "v1alpha1",
    .kind = "ClusterTopologyBinding",
    .plural = "clustertopologybindings",
    .singular = "clustertopologybinding",
    .short_names = "ct",
    .verbs = VERBS_ALL,
    .flags = CUSTOM | KIND_STATUS,
    .type = &type_ctb,
    COLUMNS(ctb_columns),
    KIND_ID(ctb),
};

const struct kind kind_pod_gang_map = {
    .group = "grove.io",
    .version = "v1alpha1",
    .kind = "PodGangMap",
    .plural = "podgangmaps",
    .singular = "podgangmap",
    .short_names = "pgm",
    .verbs = VERBS_ALL,
    .flags = CUSTOM | KIND_NAMESPACED,
    .type = &type_gang_map,
    KIND_ID(pod_gang_map),
};

const struct kind kind_pod_gang = {
    .group = "scheduler.grove.io",
    .version = "v1alpha1",
    .kind = "PodGang",
    .plural = "podgangs",
    .singular = "podgang",
    .short_names = "pg",
    .verbs = VERBS_ALL,
    .flags = CUSTOM | KIND_NAMESPACED | KIND_STATUS,
    .type = &type_gang,
    COLUMNS(gang_columns),
    KIND_ID(pod_gang),
};

void grove_kinds_init(void)
{
    static bool done;
    if (done)
        return;
    done = true;
    kinds_init();
    kinds_register(&kind_pcs);
    kinds_register(&kind_pcsg);
    kinds_register(&kind_pclq);
    kinds_register(&kind_ctb);
    kinds_register(&kind_pod_gang_map);
    kinds_register(&kind_pod_gang);
}
