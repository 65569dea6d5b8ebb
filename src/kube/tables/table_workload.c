/*
 * Tables of workloads that others run: batch, the rest of apps, and the older kinds of core. A pure
 * table; see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

static const struct field pod_template_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("template", type_pod_template_spec, 2, .doc = "What pods made from it look like."),
};
OBJECT(pod_template, "PodTemplate");

static const struct field replication_controller_spec_fields[] = {
    ONE("replicas", type_int32, 1, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "1",
        .doc = "How many pods."),
    MAP("selector", type_string, 2, .flags = ATOMIC, .doc = "Labels of its pods."),
    ONE("template", type_pod_template_spec, 3, .doc = "What each pod looks like."),
    ONE("minReadySeconds", type_int32, 4),
};
static OBJECT(replication_controller_spec, "ReplicationControllerSpec");

static const struct field replication_controller_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("lastTransitionTime", type_time, 3),
    ONE("reason", type_string, 4),
    ONE("message", type_string, 5),
};
static OBJECT(replication_controller_condition, "ReplicationControllerCondition");

static const struct field replication_controller_status_fields[] = {
    ONE("replicas", type_int32, 1, .flags = REQUIRED),
    ONE("fullyLabeledReplicas", type_int32, 2),
    ONE("observedGeneration", type_int64, 3),
    ONE("readyReplicas", type_int32, 4),
    ONE("availableReplicas", type_int32, 5),
    KEYED("conditions", type_replication_controller_condition, 6, "type", .flags = MERGE,
          .patch_key = "type"),
};
static OBJECT(replication_controller_status, "ReplicationControllerStatus");

static const struct field replication_controller_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_replication_controller_spec, 2),
    ONE("status", type_replication_controller_status, 3),
};
OBJECT(replication_controller, "ReplicationController");

static const struct field persistent_volume_claim_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("lastProbeTime", type_time, 3),
    ONE("lastTransitionTime", type_time, 4),
    ONE("reason", type_string, 5),
    ONE("message", type_string, 6),
};
static OBJECT(persistent_volume_claim_condition, "PersistentVolumeClaimCondition");

static const struct field modify_volume_status_fields[] = {
    ONE("targetVolumeAttributesClassName", type_string, 1),
    ONE("status", type_string, 2, .flags = REQUIRED),
};
static OBJECT(modify_volume_status, "ModifyVolumeStatus");

static const struct field persistent_volume_claim_status_fields[] = {
    ONE("phase", type_string, 1, .doc = "Pending, Bound or Lost."),
    LIST("accessModes", type_string, 2),
    MAP("capacity", type_quantity, 3, .doc = "What the volume has."),
    KEYED("conditions", type_persistent_volume_claim_condition, 4, "type", .flags = MERGE,
          .patch_key = "type"),
    MAP("allocatedResources", type_quantity, 5),
    MAP("allocatedResourceStatuses", type_string, 7),
    ONE("currentVolumeAttributesClassName", type_string, 8, .flags = POINTER),
    ONE("modifyVolumeStatus", type_modify_volume_status, 9),
};
static OBJECT(persistent_volume_claim_status, "PersistentVolumeClaimStatus");

static const struct field persistent_volume_claim_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_persistent_volume_claim_spec, 2, .doc = "What is asked for."),
    ONE("status", type_persistent_volume_claim_status, 3, .doc = "What was found."),
};
OBJECT(persistent_volume_claim, "PersistentVolumeClaim");

static const struct field rolling_update_daemon_set_fields[] = {
    ONE("maxUnavailable", type_int_or_string, 1, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "1"),
    ONE("maxSurge", type_int_or_string, 2, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "0"),
};
static OBJECT(rolling_update_daemon_set, "RollingUpdateDaemonSet");

static const struct field daemon_set_update_strategy_fields[] = {
    ONE("type", type_string, 1, .flags = BUILTIN_DEFAULT, .dflt = "\"RollingUpdate\"",
        .enums = "OnDelete|RollingUpdate"),
    ONE("rollingUpdate", type_rolling_update_daemon_set, 2),
};
static OBJECT(daemon_set_update_strategy, "DaemonSetUpdateStrategy");

static const struct field daemon_set_spec_fields[] = {
    ONE("selector", type_label_selector, 1, .flags = REQUIRED | ATOMIC,
        .doc = "Labels of its pods; cannot be changed."),
    ONE("template", type_pod_template_spec, 2, .flags = REQUIRED,
        .doc = "What each pod looks like."),
    ONE("updateStrategy", type_daemon_set_update_strategy, 3, .flags = BUILTIN_DEFAULT,
        .dflt =
            "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":1,\"maxSurge\":0}}",
        .doc = "How old pods are replaced."),
    ONE("minReadySeconds", type_int32, 4, .doc = "How long a pod must be ready to count."),
    ONE("revisionHistoryLimit", type_int32, 6, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "10",
        .doc = "How many old templates are kept."),
};
static OBJECT(daemon_set_spec, "DaemonSetSpec");

static const struct field daemon_set_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("lastTransitionTime", type_time, 3),
    ONE("reason", type_string, 4),
    ONE("message", type_string, 5),
};
static OBJECT(daemon_set_condition, "DaemonSetCondition");

static const struct field daemon_set_status_fields[] = {
    ONE("currentNumberScheduled", type_int32, 1, .flags = REQUIRED),
    ONE("numberMisscheduled", type_int32, 2, .flags = REQUIRED),
    ONE("desiredNumberScheduled", type_int32, 3, .flags = REQUIRED),
    ONE("numberReady", type_int32, 4, .flags = REQUIRED),
    ONE("observedGeneration", type_int64, 5),
    ONE("updatedNumberScheduled", type_int32, 6),
    ONE("numberAvailable", type_int32, 7),
    ONE("numberUnavailable", type_int32, 8),
    ONE("collisionCount", type_int32, 9, .flags = POINTER),
    KEYED("conditions", type_daemon_set_condition, 10, "type", .flags = MERGE, .patch_key = "type"),
};
static OBJECT(daemon_set_status, "DaemonSetStatus");

static const struct field daemon_set_fields[] = {
    ONE("apiVersion", type_string, 0),        ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),     ONE("spec", type_daemon_set_spec, 2),
    ONE("status", type_daemon_set_status, 3),
};
OBJECT(daemon_set, "DaemonSet");

static const struct field stateful_set_ordinals_fields[] = {
    ONE("start", type_int32, 1),
};
static OBJECT(stateful_set_ordinals, "StatefulSetOrdinals");

static const struct field stateful_set_persistent_volume_claim_retention_policy_fields[] = {
    ONE("whenDeleted", type_string, 1, .flags = BUILTIN_DEFAULT, .dflt = "\"Retain\"",
        .enums = "Delete|Retain"),
    ONE("whenScaled", type_string, 2, .flags = BUILTIN_DEFAULT, .dflt = "\"Retain\"",
        .enums = "Delete|Retain"),
};
static OBJECT(stateful_set_persistent_volume_claim_retention_policy,
              "StatefulSetPersistentVolumeClaimRetentionPolicy");

static const struct field rolling_update_stateful_set_strategy_fields[] = {
    ONE("partition", type_int32, 1, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "0"),
    ONE("maxUnavailable", type_int_or_string, 2, .flags = POINTER),
};
static OBJECT(rolling_update_stateful_set_strategy, "RollingUpdateStatefulSetStrategy");

static const struct field stateful_set_update_strategy_fields[] = {
    ONE("type", type_string, 1, .flags = BUILTIN_DEFAULT, .dflt = "\"RollingUpdate\"",
        .enums = "OnDelete|RollingUpdate"),
    ONE("rollingUpdate", type_rolling_update_stateful_set_strategy, 2),
};
static OBJECT(stateful_set_update_strategy, "StatefulSetUpdateStrategy");

static const struct field stateful_set_spec_fields[] = {
    ONE("replicas", type_int32, 1, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "1",
        .doc = "How many pods."),
    ONE("selector", type_label_selector, 2, .flags = REQUIRED | ATOMIC,
        .doc = "Labels of its pods; cannot be changed."),
    ONE("template", type_pod_template_spec, 3, .flags = REQUIRED,
        .doc = "What each pod looks like."),
    LIST("volumeClaimTemplates", type_persistent_volume_claim, 4,
         .doc = "Claims made for each pod."),
    ONE("serviceName", type_string, 5, .doc = "The service that gives the pods their names."),
    ONE("podManagementPolicy", type_string, 6, .flags = BUILTIN_DEFAULT, .dflt = "\"OrderedReady\"",
        .enums = "OrderedReady|Parallel", .doc = "One pod after the other, or all at once."),
    ONE("updateStrategy", type_stateful_set_update_strategy, 7, .flags = BUILTIN_DEFAULT,
        .dflt = "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":0}}",
        .doc = "How old pods are replaced."),
    ONE("revisionHistoryLimit", type_int32, 8, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "10"),
    ONE("minReadySeconds", type_int32, 9),
    ONE("persistentVolumeClaimRetentionPolicy",
        type_stateful_set_persistent_volume_claim_retention_policy, 10, .flags = BUILTIN_DEFAULT,
        .dflt = "{\"whenDeleted\":\"Retain\",\"whenScaled\":\"Retain\"}",
        .doc = "What becomes of the claims."),
    ONE("ordinals", type_stateful_set_ordinals, 11, .doc = "Where the numbers of pods begin."),
};
static OBJECT(stateful_set_spec, "StatefulSetSpec");

static const struct field stateful_set_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("lastTransitionTime", type_time, 3),
    ONE("reason", type_string, 4),
    ONE("message", type_string, 5),
};
static OBJECT(stateful_set_condition, "StatefulSetCondition");

static const struct field stateful_set_status_fields[] = {
    ONE("observedGeneration", type_int64, 1),
    ONE("replicas", type_int32, 2, .flags = REQUIRED),
    ONE("readyReplicas", type_int32, 3),
    ONE("currentReplicas", type_int32, 4),
    ONE("updatedReplicas", type_int32, 5),
    ONE("currentRevision", type_string, 6),
    ONE("updateRevision", type_string, 7),
    ONE("collisionCount", type_int32, 9, .flags = POINTER),
    KEYED("conditions", type_stateful_set_condition, 10, "type", .flags = MERGE,
          .patch_key = "type"),
    ONE("availableReplicas", type_int32, 11),
};
static OBJECT(stateful_set_status, "StatefulSetStatus");

static const struct field stateful_set_fields[] = {
    ONE("apiVersion", type_string, 0),          ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),       ONE("spec", type_stateful_set_spec, 2),
    ONE("status", type_stateful_set_status, 3),
};
OBJECT(stateful_set, "StatefulSet");

static const struct field pod_failure_policy_on_exit_codes_requirement_fields[] = {
    ONE("containerName", type_string, 1, .flags = POINTER),
    ONE("operator", type_string, 2, .flags = REQUIRED, .enums = "In|NotIn"),
    SET("values", type_int32, 3, .flags = REQUIRED),
};
static OBJECT(pod_failure_policy_on_exit_codes_requirement,
              "PodFailurePolicyOnExitCodesRequirement");

static const struct field pod_failure_policy_on_pod_conditions_pattern_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = BUILTIN_DEFAULT, .dflt = "\"True\""),
};
static OBJECT(pod_failure_policy_on_pod_conditions_pattern,
              "PodFailurePolicyOnPodConditionsPattern");

static const struct field pod_failure_policy_rule_fields[] = {
    ONE("action", type_string, 1, .flags = REQUIRED, .enums = "Count|FailIndex|FailJob|Ignore"),
    ONE("onExitCodes", type_pod_failure_policy_on_exit_codes_requirement, 2),
    LIST("onPodConditions", type_pod_failure_policy_on_pod_conditions_pattern, 3),
};
static OBJECT(pod_failure_policy_rule, "PodFailurePolicyRule");

static const struct field pod_failure_policy_fields[] = {
    LIST("rules", type_pod_failure_policy_rule, 1, .flags = REQUIRED),
};
static OBJECT(pod_failure_policy, "PodFailurePolicy");

static const struct field success_policy_rule_fields[] = {
    ONE("succeededIndexes", type_string, 1, .flags = POINTER),
    ONE("succeededCount", type_int32, 2, .flags = POINTER),
};
static OBJECT(success_policy_rule, "SuccessPolicyRule");

static const struct field success_policy_fields[] = {
    LIST("rules", type_success_policy_rule, 1, .flags = REQUIRED),
};
static OBJECT(success_policy, "SuccessPolicy");

static const struct field job_spec_fields[] = {
    ONE("parallelism", type_int32, 1, .flags = POINTER, .doc = "How many pods at a time."),
    ONE("completions", type_int32, 2, .flags = POINTER, .doc = "How many pods must succeed."),
    ONE("activeDeadlineSeconds", type_int64, 3, .flags = POINTER, .doc = "How long it may take."),
    ONE("selector", type_label_selector, 4, .flags = ATOMIC,
        .doc = "Labels of its pods; set by the server."),
    ONE("manualSelector", type_bool, 5, .flags = POINTER, .doc = "The selector is the user's own."),
    ONE("template", type_pod_template_spec, 6, .flags = REQUIRED,
        .doc = "What each pod looks like."),
    ONE("backoffLimit", type_int32, 7, .flags = POINTER, .doc = "How many failures are too many."),
    ONE("ttlSecondsAfterFinished", type_int32, 8, .flags = POINTER,
        .doc = "How long it is kept when it has ended."),
    ONE("completionMode", type_string, 9, .flags = POINTER, .enums = "Indexed|NonIndexed",
        .doc = "Whether each pod has a number of its own."),
    ONE("suspend", type_bool, 10, .flags = POINTER, .doc = "No pods while it is true."),
    ONE("podFailurePolicy", type_pod_failure_policy, 11, .doc = "What is made of failed pods."),
    ONE("backoffLimitPerIndex", type_int32, 12, .flags = POINTER),
    ONE("maxFailedIndexes", type_int32, 13, .flags = POINTER),
    ONE("podReplacementPolicy", type_string, 14, .flags = POINTER,
        .enums = "Failed|TerminatingOrFailed"),
    ONE("managedBy", type_string, 15, .flags = POINTER),
    ONE("successPolicy", type_success_policy, 16, .doc = "When it counts as done."),
};
static OBJECT(job_spec, "JobSpec");

static const struct field job_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("lastProbeTime", type_time, 3),
    ONE("lastTransitionTime", type_time, 4),
    ONE("reason", type_string, 5),
    ONE("message", type_string, 6),
};
static OBJECT(job_condition, "JobCondition");

static const struct field uncounted_terminated_pods_fields[] = {
    SET("succeeded", type_string, 1),
    SET("failed", type_string, 2),
};
static OBJECT(uncounted_terminated_pods, "UncountedTerminatedPods");

static const struct field job_status_fields[] = {
    LIST("conditions", type_job_condition, 1, .flags = MERGE, .patch_key = "type"),
    ONE("startTime", type_time, 2),
    ONE("completionTime", type_time, 3),
    ONE("active", type_int32, 4),
    ONE("succeeded", type_int32, 5),
    ONE("failed", type_int32, 6),
    ONE("completedIndexes", type_string, 7),
    ONE("uncountedTerminatedPods", type_uncounted_terminated_pods, 8),
    ONE("ready", type_int32, 9, .flags = POINTER),
    ONE("failedIndexes", type_string, 10, .flags = POINTER),
    ONE("terminating", type_int32, 11, .flags = POINTER),
};
static OBJECT(job_status, "JobStatus");

static const struct field job_fields[] = {
    ONE("apiVersion", type_string, 0),    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1), ONE("spec", type_job_spec, 2),
    ONE("status", type_job_status, 3),
};
OBJECT(job, "Job");

static const struct field job_template_spec_fields[] = {
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_job_spec, 2),
};
static OBJECT(job_template_spec, "JobTemplateSpec");

static const struct field cron_job_spec_fields[] = {
    ONE("schedule", type_string, 1, .flags = REQUIRED, .doc = "When, in five fields."),
    ONE("startingDeadlineSeconds", type_int64, 2, .flags = POINTER,
        .doc = "How late a job may still start."),
    ONE("concurrencyPolicy", type_string, 3, .flags = BUILTIN_DEFAULT, .dflt = "\"Allow\"",
        .enums = "Allow|Forbid|Replace", .doc = "What happens when the last one still runs."),
    ONE("suspend", type_bool, 4, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "false",
        .doc = "No more jobs while it is true."),
    ONE("jobTemplate", type_job_template_spec, 5, .flags = REQUIRED,
        .doc = "What each job looks like."),
    ONE("successfulJobsHistoryLimit", type_int32, 6, .flags = POINTER | BUILTIN_DEFAULT,
        .dflt = "3"),
    ONE("failedJobsHistoryLimit", type_int32, 7, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "1"),
    ONE("timeZone", type_string, 8, .flags = POINTER, .doc = "The time zone of the schedule."),
};
static OBJECT(cron_job_spec, "CronJobSpec");

static const struct field cron_job_status_fields[] = {
    LIST("active", type_object_reference, 1, .flags = ATOMIC, .doc = "Jobs that run now."),
    ONE("lastScheduleTime", type_time, 4),
    ONE("lastSuccessfulTime", type_time, 5),
};
static OBJECT(cron_job_status, "CronJobStatus");

static const struct field cron_job_fields[] = {
    ONE("apiVersion", type_string, 0),      ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),   ONE("spec", type_cron_job_spec, 2, .flags = REQUIRED),
    ONE("status", type_cron_job_status, 3),
};
OBJECT(cron_job, "CronJob");
