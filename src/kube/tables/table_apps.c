/*
 * Tables of the apps, autoscaling and policy kinds. A pure table; see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

static const struct field rolling_update_deployment_fields[] = {
    ONE("maxUnavailable", type_int_or_string, 1, .flags = POINTER | BUILTIN_DEFAULT,
        .dflt = "\"25%\""),
    ONE("maxSurge", type_int_or_string, 2, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"25%\""),
};
static OBJECT(rolling_update_deployment, "RollingUpdateDeployment");

static const struct field deployment_strategy_fields[] = {
    ONE("type", type_string, 1, .flags = BUILTIN_DEFAULT, .dflt = "\"RollingUpdate\"",
        .enums = "Recreate|RollingUpdate"),
    ONE("rollingUpdate", type_rolling_update_deployment, 2),
};
static OBJECT(deployment_strategy, "DeploymentStrategy");

static const struct field deployment_spec_fields[] = {
    ONE("replicas", type_int32, 1, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "1",
        .doc = "How many pods."),
    ONE("selector", type_label_selector, 2, .flags = REQUIRED | ATOMIC,
        .doc = "Labels of its pods; cannot be changed."),
    ONE("template", type_pod_template_spec, 3, .flags = REQUIRED,
        .doc = "What each pod looks like."),
    ONE("strategy", type_deployment_strategy, 4, .flags = RETAIN_KEYS | BUILTIN_DEFAULT,
        .dflt = "{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxUnavailable\":\"25%\","
                "\"maxSurge\":\"25%\"}}",
        .doc = "How old pods are replaced."),
    ONE("minReadySeconds", type_int32, 5),
    ONE("revisionHistoryLimit", type_int32, 6, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "10"),
    ONE("paused", type_bool, 7),
    ONE("progressDeadlineSeconds", type_int32, 9, .flags = POINTER | BUILTIN_DEFAULT,
        .dflt = "600"),
};
static OBJECT(deployment_spec, "DeploymentSpec");

static const struct field deployment_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("reason", type_string, 4),
    ONE("message", type_string, 5),
    ONE("lastUpdateTime", type_time, 6),
    ONE("lastTransitionTime", type_time, 7),
};
static OBJECT(deployment_condition, "DeploymentCondition");

static const struct field deployment_status_fields[] = {
    ONE("observedGeneration", type_int64, 1),
    ONE("replicas", type_int32, 2),
    ONE("updatedReplicas", type_int32, 3),
    ONE("availableReplicas", type_int32, 4),
    ONE("unavailableReplicas", type_int32, 5),
    KEYED("conditions", type_deployment_condition, 6, "type", .flags = MERGE, .patch_key = "type"),
    ONE("readyReplicas", type_int32, 7),
    ONE("collisionCount", type_int32, 8, .flags = POINTER),
    ONE("terminatingReplicas", type_int32, 9, .flags = POINTER),
};
static OBJECT(deployment_status, "DeploymentStatus");

static const struct field deployment_fields[] = {
    ONE("apiVersion", type_string, 0),        ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),     ONE("spec", type_deployment_spec, 2),
    ONE("status", type_deployment_status, 3),
};
OBJECT(deployment, "Deployment");

static const struct field replica_set_spec_fields[] = {
    ONE("replicas", type_int32, 1, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "1",
        .doc = "How many pods."),
    ONE("selector", type_label_selector, 2, .flags = REQUIRED | ATOMIC),
    ONE("template", type_pod_template_spec, 3),
    ONE("minReadySeconds", type_int32, 4),
};
static OBJECT(replica_set_spec, "ReplicaSetSpec");

static const struct field replica_set_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("lastTransitionTime", type_time, 3),
    ONE("reason", type_string, 4),
    ONE("message", type_string, 5),
};
static OBJECT(replica_set_condition, "ReplicaSetCondition");

static const struct field replica_set_status_fields[] = {
    ONE("replicas", type_int32, 1, .flags = REQUIRED),
    ONE("fullyLabeledReplicas", type_int32, 2),
    ONE("observedGeneration", type_int64, 3),
    ONE("readyReplicas", type_int32, 4),
    ONE("availableReplicas", type_int32, 5),
    KEYED("conditions", type_replica_set_condition, 6, "type", .flags = MERGE, .patch_key = "type"),
    ONE("terminatingReplicas", type_int32, 7, .flags = POINTER),
};
static OBJECT(replica_set_status, "ReplicaSetStatus");

static const struct field replica_set_fields[] = {
    ONE("apiVersion", type_string, 0),         ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),      ONE("spec", type_replica_set_spec, 2),
    ONE("status", type_replica_set_status, 3),
};
OBJECT(replica_set, "ReplicaSet");

static const struct field controller_revision_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("data", type_raw, 2, .doc = "The stored state."),
    ONE("revision", type_int64, 3, .flags = REQUIRED, .doc = "Counts up."),
};
OBJECT(controller_revision, "ControllerRevision");

static const struct field hpa_scaling_policy_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("value", type_int32, 2, .flags = REQUIRED),
    ONE("periodSeconds", type_int32, 3, .flags = REQUIRED),
};
static OBJECT(hpa_scaling_policy, "HPAScalingPolicy");

static const struct field hpa_scaling_rules_fields[] = {
    ONE("selectPolicy", type_string, 1, .flags = POINTER),
    LIST("policies", type_hpa_scaling_policy, 2),
    ONE("stabilizationWindowSeconds", type_int32, 3, .flags = POINTER),
    ONE("tolerance", type_quantity, 4, .flags = POINTER),
};
static OBJECT(hpa_scaling_rules, "HPAScalingRules");

static const struct field horizontal_pod_autoscaler_behavior_fields[] = {
    ONE("scaleUp", type_hpa_scaling_rules, 1),
    ONE("scaleDown", type_hpa_scaling_rules, 2),
};
OBJECT(horizontal_pod_autoscaler_behavior, "HorizontalPodAutoscalerBehavior");

static const struct field metric_target_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("value", type_quantity, 2, .flags = POINTER),
    ONE("averageValue", type_quantity, 3, .flags = POINTER),
    ONE("averageUtilization", type_int32, 4, .flags = POINTER),
};
static OBJECT(metric_target, "MetricTarget");

static const struct field container_resource_metric_source_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("target", type_metric_target, 2, .flags = REQUIRED),
    ONE("container", type_string, 3, .flags = REQUIRED),
};
static OBJECT(container_resource_metric_source, "ContainerResourceMetricSource");

static const struct field metric_identifier_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("selector", type_label_selector, 2, .flags = ATOMIC),
};
static OBJECT(metric_identifier, "MetricIdentifier");

static const struct field external_metric_source_fields[] = {
    ONE("metric", type_metric_identifier, 1, .flags = REQUIRED),
    ONE("target", type_metric_target, 2, .flags = REQUIRED),
};
static OBJECT(external_metric_source, "ExternalMetricSource");

static const struct field cross_version_object_reference_fields[] = {
    ONE("kind", type_string, 1, .flags = REQUIRED),
    ONE("name", type_string, 2, .flags = REQUIRED),
    ONE("apiVersion", type_string, 3),
};
static OBJECT(cross_version_object_reference, "CrossVersionObjectReference");

static const struct field object_metric_source_fields[] = {
    ONE("describedObject", type_cross_version_object_reference, 1, .flags = REQUIRED),
    ONE("target", type_metric_target, 2, .flags = REQUIRED),
    ONE("metric", type_metric_identifier, 3, .flags = REQUIRED),
};
static OBJECT(object_metric_source, "ObjectMetricSource");

static const struct field pods_metric_source_fields[] = {
    ONE("metric", type_metric_identifier, 1, .flags = REQUIRED),
    ONE("target", type_metric_target, 2, .flags = REQUIRED),
};
static OBJECT(pods_metric_source, "PodsMetricSource");

static const struct field resource_metric_source_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("target", type_metric_target, 2, .flags = REQUIRED),
};
static OBJECT(resource_metric_source, "ResourceMetricSource");

static const struct field metric_spec_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("object", type_object_metric_source, 2),
    ONE("pods", type_pods_metric_source, 3),
    ONE("resource", type_resource_metric_source, 4),
    ONE("external", type_external_metric_source, 5),
    ONE("containerResource", type_container_resource_metric_source, 7),
};
OBJECT(metric_spec, "MetricSpec");

static const struct field horizontal_pod_autoscaler_spec_fields[] = {
    ONE("scaleTargetRef", type_cross_version_object_reference, 1, .flags = REQUIRED,
        .doc = "What is scaled."),
    ONE("minReplicas", type_int32, 2, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "1",
        .doc = "Never fewer."),
    ONE("maxReplicas", type_int32, 3, .flags = REQUIRED, .doc = "Never more."),
    LIST("metrics", type_metric_spec, 4, .doc = "What is measured and the targets."),
    ONE("behavior", type_horizontal_pod_autoscaler_behavior, 5,
        .doc = "How fast it may scale up and down."),
};
OBJECT(horizontal_pod_autoscaler_spec, "HorizontalPodAutoscalerSpec");

static const struct field horizontal_pod_autoscaler_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("lastTransitionTime", type_time, 3),
    ONE("reason", type_string, 4),
    ONE("message", type_string, 5),
};
static OBJECT(horizontal_pod_autoscaler_condition, "HorizontalPodAutoscalerCondition");

static const struct field metric_value_status_fields[] = {
    ONE("value", type_quantity, 1, .flags = POINTER),
    ONE("averageValue", type_quantity, 2, .flags = POINTER),
    ONE("averageUtilization", type_int32, 3, .flags = POINTER),
};
static OBJECT(metric_value_status, "MetricValueStatus");

static const struct field container_resource_metric_status_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("current", type_metric_value_status, 2, .flags = REQUIRED),
    ONE("container", type_string, 3, .flags = REQUIRED),
};
static OBJECT(container_resource_metric_status, "ContainerResourceMetricStatus");

static const struct field external_metric_status_fields[] = {
    ONE("metric", type_metric_identifier, 1, .flags = REQUIRED),
    ONE("current", type_metric_value_status, 2, .flags = REQUIRED),
};
static OBJECT(external_metric_status, "ExternalMetricStatus");

static const struct field object_metric_status_fields[] = {
    ONE("metric", type_metric_identifier, 1, .flags = REQUIRED),
    ONE("current", type_metric_value_status, 2, .flags = REQUIRED),
    ONE("describedObject", type_cross_version_object_reference, 3, .flags = REQUIRED),
};
static OBJECT(object_metric_status, "ObjectMetricStatus");

static const struct field pods_metric_status_fields[] = {
    ONE("metric", type_metric_identifier, 1, .flags = REQUIRED),
    ONE("current", type_metric_value_status, 2, .flags = REQUIRED),
};
static OBJECT(pods_metric_status, "PodsMetricStatus");

static const struct field resource_metric_status_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("current", type_metric_value_status, 2, .flags = REQUIRED),
};
static OBJECT(resource_metric_status, "ResourceMetricStatus");

static const struct field metric_status_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("object", type_object_metric_status, 2),
    ONE("pods", type_pods_metric_status, 3),
    ONE("resource", type_resource_metric_status, 4),
    ONE("external", type_external_metric_status, 5),
    ONE("containerResource", type_container_resource_metric_status, 7),
};
static OBJECT(metric_status, "MetricStatus");

static const struct field horizontal_pod_autoscaler_status_fields[] = {
    ONE("observedGeneration", type_int64, 1, .flags = POINTER),
    ONE("lastScaleTime", type_time, 2, .flags = POINTER),
    ONE("currentReplicas", type_int32, 3),
    ONE("desiredReplicas", type_int32, 4, .flags = REQUIRED),
    LIST("currentMetrics", type_metric_status, 5),
    KEYED("conditions", type_horizontal_pod_autoscaler_condition, 6, "type", .flags = MERGE,
          .patch_key = "type"),
};
static OBJECT(horizontal_pod_autoscaler_status, "HorizontalPodAutoscalerStatus");

static const struct field horizontal_pod_autoscaler_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_horizontal_pod_autoscaler_spec, 2, .flags = REQUIRED),
    ONE("status", type_horizontal_pod_autoscaler_status, 3),
};
OBJECT(horizontal_pod_autoscaler, "HorizontalPodAutoscaler");

static const struct field autoscaling_v1_hpa_spec_fields[] = {
    ONE("scaleTargetRef", type_cross_version_object_reference, 1, .flags = REQUIRED),
    ONE("minReplicas", type_int32, 2, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "1"),
    ONE("maxReplicas", type_int32, 3, .flags = REQUIRED),
    ONE("targetCPUUtilizationPercentage", type_int32, 4, .flags = POINTER),
};
static OBJECT(autoscaling_v1_hpa_spec, "AutoscalingV1HorizontalPodAutoscalerSpec");

static const struct field autoscaling_v1_hpa_status_fields[] = {
    ONE("observedGeneration", type_int64, 1, .flags = POINTER),
    ONE("lastScaleTime", type_time, 2, .flags = POINTER),
    ONE("currentReplicas", type_int32, 3, .flags = REQUIRED),
    ONE("desiredReplicas", type_int32, 4, .flags = REQUIRED),
    ONE("currentCPUUtilizationPercentage", type_int32, 5, .flags = POINTER),
};
static OBJECT(autoscaling_v1_hpa_status, "AutoscalingV1HorizontalPodAutoscalerStatus");

static const struct field autoscaling_v1_hpa_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_autoscaling_v1_hpa_spec, 2, .flags = REQUIRED),
    ONE("status", type_autoscaling_v1_hpa_status, 3),
};
OBJECT(autoscaling_v1_hpa, "AutoscalingV1HorizontalPodAutoscaler");

static const struct field scale_spec_fields[] = {
    ONE("replicas", type_int32, 1),
};
static OBJECT(scale_spec, "ScaleSpec");

static const struct field scale_status_fields[] = {
    ONE("replicas", type_int32, 1, .flags = REQUIRED),
    ONE("selector", type_string, 2),
};
static OBJECT(scale_status, "ScaleStatus");

static const struct field scale_fields[] = {
    ONE("apiVersion", type_string, 0),    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1), ONE("spec", type_scale_spec, 2),
    ONE("status", type_scale_status, 3),
};
OBJECT(scale, "Scale");

static const struct field pod_disruption_budget_spec_fields[] = {
    ONE("minAvailable", type_int_or_string, 1, .flags = POINTER,
        .doc = "Number or share of pods that must stay."),
    ONE("selector", type_label_selector, 2, .flags = ATOMIC, .doc = "The pods it protects."),
    ONE("maxUnavailable", type_int_or_string, 3, .flags = POINTER,
        .doc = "Number or share of pods that may be away."),
    ONE("unhealthyPodEvictionPolicy", type_string, 4, .flags = POINTER),
};
static OBJECT(pod_disruption_budget_spec, "PodDisruptionBudgetSpec");

static const struct field pod_disruption_budget_status_fields[] = {
    ONE("observedGeneration", type_int64, 1),
    MAP("disruptedPods", type_time, 2),
    ONE("disruptionsAllowed", type_int32, 3),
    ONE("currentHealthy", type_int32, 4),
    ONE("desiredHealthy", type_int32, 5),
    ONE("expectedPods", type_int32, 6),
    KEYED("conditions", type_condition, 7, "type", .flags = MERGE, .patch_key = "type"),
};
static OBJECT(pod_disruption_budget_status, "PodDisruptionBudgetStatus");

static const struct field pod_disruption_budget_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_pod_disruption_budget_spec, 2),
    ONE("status", type_pod_disruption_budget_status, 3),
};
OBJECT(pod_disruption_budget, "PodDisruptionBudget");
