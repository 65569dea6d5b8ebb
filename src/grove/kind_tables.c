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
#define REPLICAS .min = INT32_MIN, .max = GROVE_MAX_REPLICAS
#define LIST_BY(key) .list = LIST_MAP, .keys = (key)
#define OBJECT(id, shown)                                        \
    static const struct type type_##id = {.name = (shown),       \
                                          .tag = TYPE_OBJECT,    \
                                          .fields = id##_fields, \
                                          .n_fields = ARRAY_LEN(id##_fields)}

#define LENGTH .min = 1, .max = 63
#define DOMAIN_PATTERN "^[a-z][a-z0-9-]*$"
#define LABEL_KEY_PATTERN \
    "^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$"

/* ---- shared parts ---- */

/* As Kubernetes' own, with what the generated definitions of other Grove operators ask of it. */
static const struct field grove_condition_fields[] = {
    ONE("type", string, REQUIRED, .max = 316, .pattern = CONDITION_TYPE_PATTERN,
        DOC("What the condition is about.")),
    ONE("status", string, REQUIRED, ENUM("True|False|Unknown"), DOC("True, False or Unknown.")),
    ONE("observedGeneration", int64, .min = 0, .max = -1,
        DOC("The generation the condition was judged from.")),
    ONE("lastTransitionTime", time, REQUIRED, DOC("When the status last changed.")),
    ONE("reason", string, REQUIRED, .min = 1, .max = 1024, .pattern = CONDITION_REASON_PATTERN,
        DOC("One word for programs.")),
    ONE("message", string, REQUIRED, .max = 32768, DOC("A sentence for people.")),
};
OBJECT(grove_condition, "GroveCondition");

static const struct field pack_fields[] = {
    ONE("required", string, LENGTH, .pattern = DOMAIN_PATTERN, DOC("Domain all pods must share.")),
    ONE("preferred", string, LENGTH, .pattern = DOMAIN_PATTERN,
        DOC("Domain to share where possible.")),
};
OBJECT(pack, "PackConstraint");

static const struct field topology_constraint_fields[] = {
    ONE("topologyName", string, DOC("ClusterTopologyBinding whose domains are meant.")),
    ONE("pack", pack, DOC("How close together the pods are placed.")),
    ONE("packDomain", string, LENGTH, .pattern = DOMAIN_PATTERN,
        DOC("Old spelling of pack.required.")),
};
OBJECT(topology_constraint, "TopologyConstraint");

static const struct field auto_scaling_fields[] = {
    ONE("minReplicas", int32, DOC("The autoscaler goes no lower; never below minAvailable.")),
    ONE("maxReplicas", int32, REQUIRED, REPLICAS, DOC("The autoscaler goes no higher.")),
    LIST("metrics", metric_spec, DOC("Handed to the autoscaler (autoscaling/v2) as they are.")),
    ONE("behavior", horizontal_pod_autoscaler_behavior,
        DOC("Handed to the autoscaler (autoscaling/v2) as it is.")),
};
OBJECT(auto_scaling, "AutoScalingConfig");

static const struct field sharing_filter_fields[] = {
    LIST("childCliqueNames", string, DOC("Cliques that share it; all, if neither list is given.")),
    LIST("childScalingGroupNames", string, DOC("Scaling groups that share it.")),
};
OBJECT(sharing_filter, "ResourceSharingFilter");

static const struct field resource_sharing_fields[] = {
    ONE("name", string, REQUIRED,
        DOC("Claim template of the set, or a ResourceClaimTemplate of the cluster.")),
    ONE("namespace", string, DOC("Of that ResourceClaimTemplate; the set's if unset.")),
    ONE("scope", string, REQUIRED, ENUM("AllReplicas|PerReplica"),
        DOC("One claim for all replicas of the level it stands at, or one for each.")),
    ONE("filter", sharing_filter, DOC("Who of those below shares it.")),
};
OBJECT(resource_sharing, "ResourceSharing");

/* What is in them is judged when the claim is made. */
static const struct type type_any_object = {
    .name = "AnyObject", .tag = TYPE_OBJECT, .preserve_unknown = true};

static const struct field claim_template_spec_fields[] = {
    ONE("metadata", any_object, DOC("Labels and annotations of the claims.")),
    ONE("spec", any_object, REQUIRED, DOC("A Kubernetes ResourceClaimSpec.")),
};
OBJECT(claim_template_spec, "ClaimTemplateSpec");

static const struct field resource_claim_template_fields[] = {
    ONE("name", string, REQUIRED, DOC("What resourceSharing calls it.")),
    ONE("templateSpec", claim_template_spec, REQUIRED,
        DOC("A Kubernetes ResourceClaimTemplateSpec.")),
};
OBJECT(resource_claim_template, "ResourceClaimTemplateConfig");

static const struct field last_error_fields[] = {
    ONE("code", string, REQUIRED, DOC("What failed; the guide lists all codes.")),
    ONE("description", string, REQUIRED, DOC("The operation, the object and the cause.")),
    ONE("observedAt", time, REQUIRED, DOC("When it was first seen.")),
};
OBJECT(last_error, "LastError");

/* ---- PodClique ---- */

static const struct field pclq_spec_fields[] = {
    ONE("roleName", string,
        DOC("Role of these pods, unique in the set; the clique's name if unset.")),
    ONE("podSpec", pod_spec, REQUIRED, DOC("What each pod runs: a Kubernetes PodSpec.")),
    ONE("replicas", int32, REPLICAS, DOC("Number of pods.")),
    ONE("minAvailable", int32, DOC("Fewest pods that are of any use: gang size and floor.")),
    LIST("startsAfter", string, DOC("Cliques that must be up first.")),
    ONE("podReplacementPolicy", string, ENUM("Failed|TerminatingOrFailed"),
        DOC("When the pod that replaces one may start. Failed, which is meant if unset: when the "
            "old one has stopped, or its node is lost. TerminatingOrFailed: as soon as the old one "
            "is being deleted; two pods of one index may run then.")),
    ONE("autoScalingConfig", auto_scaling,
        DOC("Lets an autoscaler set replicas; not for members of a group.")),
};
OBJECT(pclq_spec, "PodCliqueSpec");

static const struct field pods_selected_fields[] = {
    ONE("current", string, REQUIRED, DOC("The pod taken last.")),
    LIST("completed", string, DOC("Those taken before it.")),
};
OBJECT(pods_selected, "PodsSelectedToUpdate");

static const struct field pclq_progress_fields[] = {
    ONE("updateStartedAt", time, DOC("When the pass began.")),
    ONE("updateEndedAt", time, DOC("When it ended; absent while it runs.")),
    ONE("podCliqueSetGenerationHash", string, REQUIRED, DOC("The revision of the set it goes to.")),
    ONE("podTemplateHash", string, REQUIRED, DOC("The clique's template in that revision.")),
    ONE("readyPodsSelectedToUpdate", pods_selected, DOC("Serving pods that were taken away.")),
    ONE("unscheduledAtStart", int32,
        DOC("Pods that had no room before, as many as still have none.")),
    ONE("surgedReplicas", int32, DOC("Pods above replicas that the pass has now.")),
    ONE("surgeTimedOutAt", time,
        DOC("When a pod was given up that had found no place; since then in place.")),
};
OBJECT(pclq_progress, "PodCliqueUpdateProgress");

static const struct field pclq_status_fields[] = {
    ONE("observedGeneration", int64, DOC("Generation of the spec that this status is about.")),
    LIST("lastErrors", last_error, DOC("What fails now; empty when nothing does.")),
    ONE("replicas", int32, DOC("Pods that exist.")),
    ONE("readyReplicas", int32, REQUIRED, DEFAULT("0"), DOC("Pods that are ready.")),
    ONE("updatedReplicas", int32, REQUIRED, DEFAULT("0"),
        DOC("Pods of the template that the clique is to have.")),
    ONE("scheduleGatedReplicas", int32, REQUIRED, DEFAULT("0"),
        DOC("Pods that are held back by a scheduling gate.")),
    ONE("scheduledReplicas", int32, REQUIRED, DEFAULT("0"), DOC("Pods on nodes.")),
    ONE("hpaPodSelector", string, DOC("Selects its pods, for the scale subresource.")),
    LIST("conditions", grove_condition, LIST_BY("type"),
         DOC("Available, Progressing, ReplicaFailure, PodCliqueScheduled, MinAvailableBreached, "
             "EverScheduled.")),
    ONE("currentPodCliqueSetGenerationHash", string,
        DOC("Revision of the set that all its pods are of.")),
    ONE("currentPodTemplateHash", string, DOC("Template that all its pods are of.")),
    ONE("updateProgress", pclq_progress, DOC("The pass under way, or the last one.")),
    MAP("podGangMapping", int32, .flags = FIELD_MAP_ATOMIC,
        DOC("How many pods each gang holds, for coherent updates.")),
    ONE("terminatingOutdatedReplicas", int32,
        DOC("Pods of another template that are being deleted and still run.")),
    ONE("podsPerIndex", string,
        DOC("How many pods each index has had, as 0-2:1,3:4: no two get the same name.")),
};
OBJECT(pclq_status, "PodCliqueStatus");

static const struct field pclq_fields[] = {
    ONE("apiVersion", string),
    ONE("kind", string),
    ONE("metadata", object_meta),
    ONE("spec", pclq_spec, REQUIRED, DOC("Desired state.")),
    ONE("status", pclq_status, DOC("Observed state.")),
};
OBJECT(pclq, "PodClique");

/* ---- PodCliqueScalingGroup ---- */

static const struct field pcsg_spec_fields[] = {
    ONE("replicas", int32, DEFAULT("1"), REPLICAS, DOC("Number of copies of the group.")),
    ONE("minAvailable", int32, DEFAULT("1"),
        DOC("Copies that belong to the base gang, and the floor.")),
    LIST("cliqueNames", string, REQUIRED, DOC("Cliques of which each copy has one.")),
};
OBJECT(pcsg_spec, "PodCliqueScalingGroupSpec");

static const struct field indices_selected_fields[] = {
    ONE("current", int32, REQUIRED, DOC("The copy taken last.")),
    LIST("completed", int32, DOC("Those taken before it.")),
};
OBJECT(indices_selected, "ReplicaIndicesSelectedToUpdate");

static const struct field pcsg_progress_fields[] = {
    ONE("updateStartedAt", time, REQUIRED, DOC("When the pass began.")),
    ONE("updateEndedAt", time, DOC("When it ended; absent while it runs.")),
    ONE("podCliqueSetGenerationHash", string, REQUIRED, DOC("The revision of the set it goes to.")),
    ONE("updatedPodCliquesCount", int32, DEFAULT("0"),
        DOC("Cliques of that revision with all their pods.")),
    ONE("totalPodCliquesCount", int32, DEFAULT("0"), DOC("Cliques of all copies.")),
    LIST("changedPodCliques", string, DOC("Cliques whose template the pass changes.")),
    ONE("readyReplicaIndicesSelectedToUpdate", indices_selected,
        DOC("Serving copies that were taken away.")),
    ONE("unscheduledAtStart", int32,
        DOC("Copies that had no room before; as many as still have none.")),
    ONE("surgedReplicas", int32, DOC("Copies above replicas that the pass has now.")),
    ONE("surgeTimedOutAt", time,
        DOC("When a copy was given up that had found no place; since then in place.")),
};
OBJECT(pcsg_progress, "PodCliqueScalingGroupUpdateProgress");

static const struct field pcsg_status_fields[] = {
    ONE("replicas", int32, DOC("Copies that are wanted.")),
    ONE("scheduledReplicas", int32, REQUIRED, DEFAULT("0"),
        DOC("Copies whose cliques all have their minimum on nodes.")),
    ONE("availableReplicas", int32, REQUIRED, DEFAULT("0"),
        DOC("Copies whose cliques all have their minimum ready.")),
    ONE("updatedReplicas", int32, REQUIRED, DEFAULT("0"),
        DOC("Copies that serve and are of the current revision.")),
    ONE("selector", string, DOC("Selects its pods, for the scale subresource.")),
    ONE("observedGeneration", int64, DOC("Generation of the spec that this status is about.")),
    LIST("lastErrors", last_error, DOC("What fails now; empty when nothing does.")),
    LIST("conditions", grove_condition, LIST_BY("type"),
         DOC("Available, Progressing, ReplicaFailure, MinAvailableBreached, EverHealthy, "
             "GangTerminationInProgress.")),
    ONE("currentPodCliqueSetGenerationHash", string,
        DOC("Revision of the set that all its copies are of.")),
    ONE("updateProgress", pcsg_progress, DOC("The pass under way, or the last one.")),
    ONE("rollingUpdateProgress", raw, DOC("The same for readers of older documents.")),
    ONE("phase", string,
        DOC("Pending, Scheduling, Available, Updating, Unavailable or ScaledToZero.")),
    ONE("podGangMapping", raw, .flags = FIELD_MAP_ATOMIC,
        DOC("Which replicas each gang holds, for coherent updates.")),
};
OBJECT(pcsg_status, "PodCliqueScalingGroupStatus");

static const struct field pcsg_fields[] = {
    ONE("apiVersion", string),
    ONE("kind", string),
    ONE("metadata", object_meta),
    ONE("spec", pcsg_spec, REQUIRED, DOC("Desired state.")),
    ONE("status", pcsg_status, DOC("Observed state.")),
};
OBJECT(pcsg, "PodCliqueScalingGroup");

/* ---- PodCliqueSet ---- */

static const struct field budget_fields[] = {
    ONE("maxUnavailable", int32,
        DOC("How many an update may take away at once; 0 needs maxSurge.")),
    ONE("maxSurge", int_or_string,
        DOC("How many may be there above replicas during an update, or percent of them; the "
            "set's if unset.")),
};
OBJECT(budget, "ComponentRollingUpdate");

static const struct field group_budget_fields[] = {
    ONE("maxUnavailable", int32,
        DOC("How many replicas an update may take away at once; 0 needs maxSurge.")),
    ONE("maxSurge", int_or_string,
        DOC("How many replicas there may be above spec.replicas during an update, or percent of "
            "those; the set's if unset.")),
    ONE("members", string, ENUM("All|Changed"),
        DOC("Which cliques of a group replica an update replaces: All of them, or only those whose "
            "template Changed; All if unset. Not with Coherent.")),
};
OBJECT(group_budget, "ScalingGroupRollingUpdate");

static const struct field clique_fields[] = {
    ONE("name", string, REQUIRED, DOC("Name of the role; part of every generated name.")),
    MAP("labels", string, DOC("Put on the PodClique and its pods.")),
    MAP("annotations", string, DOC("Put on the PodClique and its pods.")),
    ONE("topologyConstraint", topology_constraint,
        DOC("How close together the pods of the clique are placed.")),
    LIST("resourceSharing", resource_sharing, DOC("Claims that the pods of the clique share.")),
    ONE("rollingUpdate", budget, DOC("For a clique that is in no scaling group.")),
    ONE("spec", pclq_spec, REQUIRED, DOC("The pods of this role.")),
};
OBJECT(clique, "PodCliqueTemplate");

static const struct field group_fields[] = {
    ONE("name", string, REQUIRED, DOC("Name of the group; part of generated names.")),
    LIST("cliqueNames", string, REQUIRED, DOC("Cliques that scale together.")),
    MAP("annotations", string, DOC("Put on the PodCliqueScalingGroup.")),
    ONE("replicas", int32, DEFAULT("1"), REPLICAS,
        DOC("Number of copies to begin with; scaling changes the group itself.")),
    ONE("minAvailable", int32, DEFAULT("1"), DOC("Copies that belong to the base gang.")),
    ONE("scaleConfig", auto_scaling, DOC("Lets an autoscaler set the number of copies.")),
    LIST("resourceSharing", resource_sharing, DOC("Claims that copies of the group share.")),
    ONE("topologyConstraint", topology_constraint, DOC("How close together each copy is placed.")),
    ONE("rollingUpdate", group_budget, DOC("In replicas of the group.")),
};
OBJECT(group, "PodCliqueScalingGroupConfig");

static const struct field headless_fields[] = {
    ONE("publishNotReadyAddresses", bool, DEFAULT("true"),
        DOC("Whether names resolve before pods are ready.")),
};
OBJECT(headless, "HeadlessServiceConfig");

static const struct field pack_group_fields[] = {
    ONE("name", string, DOC("Name of the group, for people to read.")),
    LIST("cliqueNames", string, REQUIRED, DOC("Cliques to place close together.")),
};
OBJECT(pack_group, "NetworkPackGroupConfig");

static const struct field scheduling_policy_fields[] = {
    LIST("networkPackGroupConfigs", pack_group, DOC("Cliques to place close together.")),
    LIST("networkPackGroups", pack_group, DOC("Old spelling of networkPackGroupConfigs.")),
};
OBJECT(scheduling_policy, "SchedulingPolicyConfig");

static const struct field template_fields[] = {
    LIST("cliques", clique, .flags = FIELD_REQUIRED, LIST_BY("name"),
         DOC("The roles of the system.")),
    ONE("cliqueStartupType", string, DEFAULT("\"CliqueStartupTypeAnyOrder\""),
        ENUM("CliqueStartupTypeAnyOrder|CliqueStartupTypeInOrder|CliqueStartupTypeExplicit"),
        DOC("In which order the roles start.")),
    ONE("priorityClassName", string, DOC("PriorityClass of its gangs.")),
    ONE("headlessServiceConfig", headless, DOC("The Service that gives pods their names.")),
    ONE("topologyConstraint", topology_constraint,
        DOC("How close together a copy of the set is placed.")),
    ONE("terminationDelay", duration, DOC("How long a gang may stay below its minimum.")),
    LIST("resourceClaimTemplates", resource_claim_template,
         DOC("Templates that resourceSharing names.")),
    LIST("resourceSharing", resource_sharing, DOC("Claims that copies of the set share.")),
    LIST("podCliqueScalingGroups", group, DOC("Roles that scale together.")),
    ONE("schedulingPolicyConfig", scheduling_policy,
        DOC("Placement as in older documents; topologyConstraint is the newer way.")),
};
OBJECT(template, "PodCliqueSetTemplate");

static const struct field rolling_update_fields[] = {
    ONE("maxSurge", int_or_string,
        DOC("Units of every clique and group that are made before old ones go; 0.")),
    ONE("surgeTimeout", duration,
        DOC("How long a unit above the number may wait for its place; 5m.")),
    ONE("maxUnavailable", int_or_string,
        DOC("Kept and not read: budgets are with cliques and groups.")),
};
OBJECT(rolling_update, "RollingUpdate");

static const struct field update_strategy_fields[] = {
    ONE("type", string, DEFAULT("\"RollingRecreate\""), ENUM("RollingRecreate|OnDelete|Coherent"),
        DOC("How pods come to a new template.")),
    ONE("rollingUpdate", rolling_update, DOC("Whether there is more than wanted meanwhile.")),
    ONE("coherent", raw, DOC("For Coherent: tail is Paired (default) or Independent.")),
    ONE("maxConcurrentReplicas", int32, DOC("How many replicas are updated at once; 1.")),
    ONE("partition", int32, DOC("Replicas below it stay of the last complete revision.")),
    ONE("progressDeadline", duration, DOC("How long nothing may move; 10m.")),
    ONE("autoRollback", string, ENUM("Never|OnProgressDeadline"),
        DOC("Whether an update that got stuck is undone; Never.")),
};
OBJECT(update_strategy, "UpdateStrategy");

/* A Kubernetes TopologySpreadConstraint; what is selected are the replicas of the set. */
static const struct field replica_spread_fields[] = {
    ONE("maxSkew", int32, DOC("Must be greater than 0; not read otherwise.")),
    ONE("topologyKey", string, REQUIRED, DOC("Label of nodes that tells domains apart.")),
    ONE("whenUnsatisfiable", string, ENUM("DoNotSchedule|ScheduleAnyway"),
        DOC("DoNotSchedule is a requirement, ScheduleAnyway a preference.")),
    ONE("labelSelector", label_selector, DOC("Kept and not read: copies of the set are meant.")),
    ONE("minDomains", int32, DOC("Kept and not read.")),
    ONE("nodeAffinityPolicy", string, DOC("Kept and not read.")),
    ONE("nodeTaintsPolicy", string, DOC("Kept and not read.")),
    LIST("matchLabelKeys", string, DOC("Kept and not read.")),
};
OBJECT(replica_spread, "ReplicaSpreadConstraint");

static const struct field pcs_spec_fields[] = {
    ONE("replicas", int32, DEFAULT("0"), REPLICAS, DOC("Copies of the whole system.")),
    ONE("updateStrategy", update_strategy, DOC("How a changed template reaches the pods.")),
    ONE("template", template, REQUIRED, DOC("The system: what every copy is made of.")),
    LIST("replicaSpreadConstraints", replica_spread, DOC("Spreads the copies over domains.")),
};
OBJECT(pcs_spec, "PodCliqueSetSpec");

static const struct field replica_progress_fields[] = {
    ONE("replicaIndex", int32, REQUIRED, DOC("Number of the copy.")),
    ONE("updateStartedAt", time, DOC("When it was taken up.")),
    ONE("updateEndedAt", time, DOC("When it was done; finished copies are not listed.")),
    LIST("inFlightPodGangs", string, DOC("Gangs made last that are not ready yet.")),
    ONE("errorMessage", string, DOC("Why it does not go on.")),
};
OBJECT(replica_progress, "PodCliqueSetReplicaUpdateProgress");

static const struct field pcs_progress_fields[] = {
    ONE("updateStartedAt", time, DOC("When the update began.")),
    ONE("updateEndedAt", time, DOC("When it ended; absent while it runs.")),
    ONE("updatedPodCliquesCount", int32, DEFAULT("0"),
        DOC("Cliques outside of groups that are of the new revision.")),
    ONE("totalPodCliquesCount", int32, DEFAULT("0"),
        DOC("Cliques outside of groups, of all copies.")),
    ONE("updatedPodCliqueScalingGroupsCount", int32, DEFAULT("0"),
        DOC("Groups that are of the new revision.")),
    ONE("totalPodCliqueScalingGroupsCount", int32, DEFAULT("0"), DOC("Groups of all copies.")),
    LIST("currentlyUpdating", replica_progress,
         DOC("Copies at work; at most maxConcurrentReplicas.")),
    LIST("inFlightPodGangs", string, DOC("Not written here: see the copy's entry.")),
    ONE("errorMessage", string, DOC("Not written here: see the copy's entry.")),
    LIST("updatedStandalonePodCliques", string,
         DOC("What the update is about: cliques outside of groups whose template it changes.")),
    LIST("updatedPodCliqueScalingGroups", string, DOC("Groups with a clique that it changes.")),
    ONE("scopeGenerationHash", string,
        DOC("The version that those two lists are for, in a coherent update.")),
    ONE("partition", int32, DOC("The one the update is for.")),
    ONE("lastProgressAt", time,
        DOC("When something moved last; progressDeadline counts from here.")),
    ONE("updatedUnitsCount", int32,
        DOC("Pods of cliques outside of groups and replicas of groups that are of the new "
            "revision; "
            "while it runs, when something moved last.")),
    ONE("updatedMemberCliquesCount", int32,
        DOC("While it runs: cliques of group replicas that are of the new revision, in the "
            "replicas "
            "of the set that are being updated.")),
};
OBJECT(pcs_progress, "PodCliqueSetUpdateProgress");

static const struct field gang_summary_fields[] = {
    ONE("name", string, REQUIRED, DOC("Name of the gang.")),
    ONE("phase", string, ENUM("Pending|Starting|Running|Failed|Succeeded"),
        DOC("How far the gang has come.")),
    LIST("conditions", grove_condition, LIST_BY("type"), DOC("As the gang has them.")),
};
OBJECT(gang_summary, "PodGangStatusSummary");

static const struct field gang_termination_fields[] = {
    ONE("name", string, REQUIRED, DOC("The copy of the set, or of a scaling group.")),
    ONE("count", int32, DOC("Times in a row that it was terminated.")),
    ONE("lastTerminationTime", time, DOC("When that was last due.")),
    ONE("nextTerminationTime", time,
        DOC("When it is due again; absent while it is not below its minimum.")),
};
OBJECT(gang_termination, "GangTermination");

static const struct field pcs_status_fields[] = {
    ONE("observedGeneration", int64, DOC("Generation whose template all children carry.")),
    LIST("conditions", grove_condition, LIST_BY("type"),
         DOC("Ready, Available, Progressing, ReplicaFailure, TopologyLevelsUnavailable, "
             "ComputeDomainsUnavailable.")),
    LIST("lastErrors", last_error, DOC("What fails now; empty when nothing does.")),
    ONE("replicas", int32, DOC("Copies that are wanted.")),
    ONE("updatedReplicas", int32, REQUIRED, DEFAULT("0"),
        DOC("Copies that serve and are of the current revision.")),
    ONE("availableReplicas", int32, REQUIRED, DEFAULT("0"),
        DOC("Copies whose cliques and groups all have their minimum.")),
    ONE("hpaPodSelector", string, DOC("Selects its pods, for the scale subresource.")),
    LIST("podGangStatuses", gang_summary, LIST_BY("name"),
         DOC("Its gangs; of more than 64 those that do not run.")),
    LIST("gangTerminations", gang_termination, LIST_BY("name"),
         DOC("Gangs that were terminated lately, up to 64; each time in a row comes later.")),
    ONE("currentGenerationHash", string, DOC("The revision that the template is.")),
    ONE("lastCompleteGenerationHash", string, DOC("The last revision that all replicas were of.")),
    ONE("updateProgress", pcs_progress, DOC("The update under way, or the last one.")),
    ONE("rollingUpdateProgress", raw, DOC("The same for readers of older documents.")),
    ONE("phase", string,
        DOC("Creating, Scheduling, Available, Updating, Degraded, Failed or ScaledToZero.")),
};
OBJECT(pcs_status, "PodCliqueSetStatus");

static const struct field pcs_fields[] = {
    ONE("apiVersion", string),
    ONE("kind", string),
    ONE("metadata", object_meta),
    ONE("spec", pcs_spec, REQUIRED, DOC("Desired state.")),
    ONE("status", pcs_status, DOC("Observed state.")),
};
OBJECT(pcs, "PodCliqueSet");

/* ---- ClusterTopologyBinding ---- */

static const struct field level_fields[] = {
    ONE("domain", string, REQUIRED, LENGTH, .pattern = DOMAIN_PATTERN,
        DOC("What sets call the level.")),
    ONE("key", string, REQUIRED, LENGTH, .pattern = LABEL_KEY_PATTERN,
        DOC("Label of nodes whose value is the domain.")),
};
OBJECT(level, "TopologyLevel");

static const struct field scheduler_binding_fields[] = {
    ONE("schedulerName", string, REQUIRED, DOC("The scheduler, as kai-scheduler.")),
    ONE("topologyReference", string, REQUIRED, DOC("Its own topology object for these levels.")),
};
OBJECT(scheduler_binding, "SchedulerTopologyBinding");

static const struct field ctb_spec_fields[] = {
    LIST("levels", level, REQUIRED, .min = 1,
         DOC("Domains, broadest first, and the node labels they mean.")),
    LIST("schedulerTopologyBindings", scheduler_binding,
         DOC("Topologies that other schedulers keep, to be compared.")),
};
OBJECT(ctb_spec, "ClusterTopologyBindingSpec");

static const struct field topology_status_fields[] = {
    ONE("schedulerName", string, REQUIRED, DOC("Name of the scheduler.")),
    ONE("topologyReference", string, REQUIRED, DOC("Its topology object.")),
    ONE("inSync", bool, REQUIRED, DOC("It has the same levels.")),
    ONE("schedulerBackendTopologyObservedGeneration", int64,
        DOC("Generation of that object that was compared.")),
    ONE("message", string, DOC("How it differs.")),
};
OBJECT(topology_status, "SchedulerTopologyStatus");

static const struct field ctb_status_fields[] = {
    ONE("observedGeneration", int64, DOC("Generation of the spec that this status is about.")),
    LIST("conditions", grove_condition, LIST_BY("type"), DOC("SchedulerTopologyDrift.")),
    LIST("schedulerTopologyStatuses", topology_status,
         DOC("One for each scheduler that keeps a topology.")),
};
OBJECT(ctb_status, "ClusterTopologyBindingStatus");

static const struct field ctb_fields[] = {
    ONE("apiVersion", string),
    ONE("kind", string),
    ONE("metadata", object_meta),
    ONE("spec", ctb_spec, REQUIRED, DOC("Desired state.")),
    ONE("status", ctb_status, DOC("Observed state.")),
};
OBJECT(ctb, "ClusterTopologyBinding");

/* ---- PodGang ---- */

static const struct field gang_pack_fields[] = {
    ONE("required", string, DOC("Node label whose value all pods must share.")),
    ONE("preferred", string, DOC("Node label whose value to share where possible.")),
};
OBJECT(gang_pack, "TopologyPackConstraint");

static const struct field gang_constraint_fields[] = {
    ONE("packConstraint", gang_pack, DOC("How close together."))};
OBJECT(gang_constraint, "PodGangTopologyConstraint");

static const struct field reference_fields[] = {
    ONE("namespace", string, REQUIRED, DOC("Namespace of the object.")),
    ONE("name", string, REQUIRED, DOC("Name of the object.")),
};
OBJECT(reference, "NamespacedName");

static const struct field pod_group_fields[] = {
    ONE("name", string, REQUIRED, DOC("Name of the PodClique whose pods these are.")),
    LIST("podReferences", reference, REQUIRED, DOC("Its pods in this gang.")),
    ONE("minReplicas", int32, REQUIRED,
        DOC("How many must be placed together; otherwise none of the gang is.")),
    ONE("topologyConstraint", gang_constraint, DOC("How close together these pods must be.")),
};
OBJECT(pod_group, "PodGroup");

static const struct field group_constraint_fields[] = {
    ONE("name", string, REQUIRED, DOC("Name of the constraint, for people to read.")),
    LIST("podGroupNames", string, REQUIRED, DOC("The groups of pods it applies to.")),
    ONE("topologyConstraint", gang_constraint, DOC("How close together all of them must be.")),
};
OBJECT(group_constraint, "TopologyConstraintGroupConfig");

static const struct field gang_spec_fields[] = {
    LIST("podgroups", pod_group, REQUIRED, DOC("The groups of pods that are placed together.")),
    ONE("topologyConstraint", gang_constraint, DOC("How close together the whole gang must be.")),
    LIST("topologyConstraintGroupConfigs", group_constraint,
         DOC("Constraints on some of its groups of pods together.")),
    ONE("priorityClassName", string, DOC("PriorityClass of the gang.")),
    ONE("reuseReservationRef", reference,
        DOC("Gang whose place should be used again where it is free.")),
};
OBJECT(gang_spec, "PodGangSpec");

static const struct field reservation_fields[] = {
    ONE("podGroup", string, DOC("Group of pods it is kept for; unset: any pod of the gang.")),
    ONE("node", string, REQUIRED, DOC("Node on which room is kept.")),
    ONE("until", time, REQUIRED, DOC("When the room is given up.")),
    MAP("requests", quantity, DOC("What the pod that left had requested there.")),
};
OBJECT(reservation, "PodGangReservation");

static const struct field disrupted_fields[] = {
    ONE("name", string, REQUIRED, DOC("Name of the pod.")),
    ONE("uid", string, REQUIRED, DOC("UID of the pod: a later one of the same name may stay.")),
};
OBJECT(disrupted, "PodGangDisruptedPod");

static const struct field pin_fields[] = {
    ONE("domain", string, DOC("The domain: label values from the broadest level down.")),
    ONE("level", string, DOC("Label key of the level.")),
    ONE("by", string,
        DOC("members: its own pods are there. replica: the rest of its replica is. spread: its "
            "replica is, and keeps away from others.")),
};
OBJECT(pin, "PodGangPin");

static const struct field candidate_fields[] = {
    ONE("domain", string,
        DOC("The domain: label values from the broadest level down; unset: the whole cluster.")),
    ONE("level", string, DOC("Label key of the level.")),
    ONE("room", int32, DOC("How many of the pods fit there.")),
    ONE("nodes", int32, DOC("How many nodes it has.")),
    ONE("lacking", int32, DOC("Nodes without enough of the resource for one more pod.")),
    ONE("refusing", int32,
        DOC("Nodes that do not admit the pods, for one of the next four reasons.")),
    ONE("cordoned", int32, DOC("Nodes that are cordoned.")),
    ONE("notReady", int32, DOC("Nodes that are not ready.")),
    ONE("tainted", int32, DOC("Nodes with taints that the pods do not tolerate.")),
    ONE("notSelected", int32, DOC("Nodes that node selectors or node affinity rule out.")),
    ONE("barred", int32,
        DOC("Nodes with enough room that pod affinity, topology spread or host ports rule out.")),
    ONE("resource", string, DOC("The resource that most of its nodes lack.")),
};
OBJECT(candidate, "PodGangCandidate");

static const struct field holder_fields[] = {
    ONE("gang", string, DOC("The gang that holds room there, as namespace/name.")),
    ONE("pod", string, DOC("The pod, as namespace/name, where it belongs to no gang.")),
    ONE("pods", int32, DOC("How many pods it has there.")),
    ONE("priority", int32, DOC("Priority of the gang.")),
    ONE("amount", int64, DOC("How much of the resource they hold; CPU in thousandths.")),
};
OBJECT(holder, "PodGangHolder");

static const struct field shortage_fields[] = {
    ONE("resource", string, DOC("The resource.")),
    ONE("needs", int64, DOC("How much of it all pods that it waits for need; CPU in thousandths.")),
    ONE("free", int64, DOC("How much of it the first candidate has left, in pieces or not.")),
};
OBJECT(shortage, "PodGangShortage");

static const struct field unschedulable_fields[] = {
    ONE("cause", string,
        DOC("TooFew: no domain has room for one of its parts. Together: each part fits, but not "
            "all "
            "at once. SearchGivenUp: as Together, as far as was searched. Itself: not a matter of "
            "room.")),
    ONE("scope", string, DOC("What finds no room: Gang, Group or PodGroup.")),
    ONE("name", string, DOC("Name of the gang, group or group of pods.")),
    ONE("level", string, DOC("Label key of the domain that its pods must share.")),
    ONE("pods", int32, DOC("How many pods it needs there.")),
    ONE("shortage", shortage, DOC("What the sum of all its pods is short of.")),
    ONE("pin", pin, DOC("The only domain it may be in.")),
    LIST("candidates", candidate, DOC("The nearest domains, the best first.")),
    LIST("holders", holder, DOC("Who holds most of what the first candidate lacks.")),
    ONE("otherPods", int32, DOC("How many other pods hold some of it too.")),
    LIST("heldFor", string, DOC("Gangs ahead of it, for which room is held there.")),
    ONE("keptFor", string, DOC("Gang for whose replacement pods room is kept there.")),
    ONE("keptPods", int32, DOC("How many replacement pods room is kept for, of all gangs.")),
    ONE("closedNodes", int32, DOC("Nodes there that are kept for other queues.")),
    ONE("outlook", string,
        DOC("MakingRoom: others were asked to go. Draining: room is held as it becomes free. "
            "Hopeless: it would not fit even if all others left.")),
};
OBJECT(unschedulable, "PodGangUnschedulable");

static const struct field gang_status_fields[] = {
    ONE("phase", string, DOC("Pending, Starting or Running.")),
    ONE("readyPods", int32, DOC("Pods that are ready.")),
    ONE("minimumPods", int32, DOC("The sum of its cliques' minima: fewer are of no use.")),
    ONE("nodes", int32, DOC("Different nodes that its pods are on.")),
    LIST("conditions", grove_condition, LIST_BY("type"),
         DOC("Initialized, Scheduled, Ready, Available, Unhealthy, Unschedulable, "
             "DisruptionTarget, InvalidPodReference, TopologyViolated.")),
    ONE("lastScheduled", time,
        DOC("When Scheduled became True for the last time; it stays when that is False again.")),
    ONE("lastReady", time,
        DOC("When Ready became True for the last time; it stays when that is False again.")),
    ONE("placementScore", double, DOC("How close together it was placed, 0 to 1.")),
    LIST("reservations", reservation,
         DOC("Room kept for pods that replace others; it survives the scheduler.")),
    LIST("disruptedPods", disrupted,
         DOC("Pods that are to go while the condition DisruptionTarget is True; none: those that "
             "were on nodes when it became so.")),
    ONE("unschedulable", unschedulable,
        DOC("Why it waits, for programs: what the condition Unschedulable says in words.")),
};
OBJECT(gang_status, "PodGangStatus");

static const struct field gang_fields[] = {
    ONE("apiVersion", string),
    ONE("kind", string),
    ONE("metadata", object_meta),
    ONE("spec", gang_spec, REQUIRED, DOC("Desired state.")),
    ONE("status", gang_status, DOC("Observed state.")),
};
OBJECT(gang, "PodGang");

/* ---- PodGangMap ---- */

static const struct field gang_entry_fields[] = {
    ONE("epoch", string, REQUIRED,
        DOC("When its gangs were made, in nanoseconds; only ever compared.")),
    ONE("role", string, REQUIRED, ENUM("Anchor|Tail|ScaleOut"),
        DOC("Anchor: one gang of all of it. Tail, ScaleOut: a gang for each replica of a group.")),
    ONE("podCliqueSetGenerationHash", string, REQUIRED, DOC("Revision that its pods must have.")),
    ONE("anchorIndex", int32, DOC("Of an anchor: how many of its revision are older.")),
    MAP("podCliques", int32, DOC("Pods of cliques that are in no group.")),
    ONE("pcsgReplicaIndices", raw, DOC("Replicas of scaling groups: a list by group.")),
    LIST("dependsOn", string, DOC("Epochs whose gangs must be scheduled before these may be.")),
    ONE("name", string, DOC("Of version 0.1.0: the gang. Read, not written.")),
    MAP("labels", string, DOC("Of version 0.1.0. Read, not written.")),
};
OBJECT(gang_entry, "PodGangMapEntry");

static const struct field gang_map_spec_fields[] = {
    ONE("podCliqueSetReplicaIndex", int32, REQUIRED, DOC("Whose gangs these are.")),
    LIST("entries", gang_entry, .flags = FIELD_REQUIRED, LIST_BY("epoch"),
         DOC("Batches of gangs, in the order in which they were made.")),
};
OBJECT(gang_map_spec, "PodGangMapSpec");

static const struct field gang_map_fields[] = {
    ONE("apiVersion", string),
    ONE("kind", string),
    ONE("metadata", object_meta),
    ONE("spec", gang_map_spec, REQUIRED, DOC("Which gangs hold what.")),
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

#define PHASE                                           \
    {                                                   \
        "Phase", "string", "", ".status.phase", 0, NULL \
    }

/* Those of other Grove operators keep their places. */
static const struct column pcs_columns[] = {
    NAME,
    NUMBER("Replicas", ".spec.replicas"),
    NUMBER("Available", ".status.availableReplicas"),
    NUMBER("Updated", ".status.updatedReplicas"),
    NUMBER("PCLQs-Updated", ".status.updateProgress.updatedPodCliquesCount"),
    NUMBER("PCLQs-Total", ".status.updateProgress.totalPodCliquesCount"),
    NUMBER("PCSGs-Updated", ".status.updateProgress.updatedPodCliqueScalingGroupsCount"),
    NUMBER("PCSGs-Total", ".status.updateProgress.totalPodCliqueScalingGroupsCount"),
    PHASE,
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
    PHASE,
    AGE,
};

static const struct column ctb_columns[] = {
    NAME,
    {"Domains", "string", "", ".spec.levels[*].domain", 0, NULL},
    AGE,
};

static const struct column gang_columns[] = {
    NAME,
    PHASE,
    {"Role", "string", "", ".metadata.labels.grove\\.io/podgang-role", 0, NULL},
    NUMBER("Ready", ".status.readyPods"),
    NUMBER("Minimum", ".status.minimumPods"),
    NUMBER("Nodes", ".status.nodes"),
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
