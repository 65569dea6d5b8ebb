/*
 * Tables of kinds that are alpha or beta in Kubernetes and have no other version yet, and of the
 * two oldest that have outlived their use (bindings, component statuses). A pure table; see
 * fields.h for how to read it.
 */
#include "kube/tables/fields.h"

/* An object says something by being there. */
static const struct field no_fields[1];
static const struct type type_empty = {
    .name = "EmptyObject", .tag = TYPE_OBJECT, .fields = no_fields};

/* ---- pod groups and workloads ---- */

static const struct field gang_scheduling_policy_fields[] = {
    ONE("minCount", type_int32, 1, .flags = REQUIRED, .min = 1),
};
static OBJECT(gang_scheduling_policy, "GangSchedulingPolicy");

static const struct field pod_group_scheduling_policy_fields[] = {
    ONE("basic", type_empty, 1, .doc = "Pods are placed one by one."),
    ONE("gang", type_gang_scheduling_policy, 2, .doc = "So many are placed at once or none."),
};
static OBJECT(pod_group_scheduling_policy, "PodGroupSchedulingPolicy");

static const struct field pod_group_topology_constraint_fields[] = {
    ONE("key", type_string, 1, .flags = REQUIRED),
};
static OBJECT(pod_group_topology_constraint, "SchedulingTopologyConstraint");

static const struct field pod_group_scheduling_constraints_fields[] = {
    LIST("topology", type_pod_group_topology_constraint, 1),
};
static OBJECT(pod_group_scheduling_constraints, "PodGroupSchedulingConstraints");

static const struct field pod_group_resource_claim_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("resourceClaimName", type_string, 2, .flags = POINTER),
    ONE("resourceClaimTemplateName", type_string, 3, .flags = POINTER),
};
static OBJECT(pod_group_resource_claim, "PodGroupResourceClaim");

static const struct field disruption_mode_fields[] = {
    ONE("single", type_empty, 1, .doc = "Its pods may go one by one."),
    ONE("all", type_empty, 2, .doc = "All of them go, or none."),
};
static OBJECT(disruption_mode, "SchedulingDisruptionMode");

/* What a template and what is made from it have in common; n: the number of the first. */
#define PRIORITY_TERMS(n)                                       \
    ONE("priorityClassName", type_string, (n)),                 \
        ONE("priority", type_int32, (n) + 1, .flags = POINTER), \
        ONE("preemptionPolicy", type_string, (n) + 2, .flags = POINTER)
#define POD_GROUP_TERMS(n)                                                             \
    ONE("schedulingPolicy", type_pod_group_scheduling_policy, (n), .flags = REQUIRED), \
        ONE("schedulingConstraints", type_pod_group_scheduling_constraints, (n) + 1),  \
        KEYED("resourceClaims", type_pod_group_resource_claim, (n) + 2, "name",        \
              .flags = MERGE | RETAIN_KEYS, .patch_key = "name"),                      \
        ONE("disruptionMode", type_disruption_mode, (n) + 3), PRIORITY_TERMS((n) + 4)

static const struct field pod_group_template_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    POD_GROUP_TERMS(2),
};
static OBJECT(pod_group_template, "PodGroupTemplate");

static const struct field composite_gang_policy_fields[] = {
    ONE("minGroupCount", type_int32, 1, .flags = REQUIRED, .min = 1),
};
static OBJECT(composite_gang_policy, "CompositeGangSchedulingPolicy");

static const struct field composite_scheduling_policy_fields[] = {
    ONE("basic", type_empty, 1, .doc = "Groups are placed one by one."),
    ONE("gang", type_composite_gang_policy, 2, .doc = "So many groups are placed at once or none."),
};
static OBJECT(composite_scheduling_policy, "CompositePodGroupSchedulingPolicy");

#define COMPOSITE_TERMS(n)                                                             \
    ONE("schedulingPolicy", type_composite_scheduling_policy, (n), .flags = REQUIRED), \
        ONE("schedulingConstraints", type_pod_group_scheduling_constraints, (n) + 1),  \
        ONE("disruptionMode", type_disruption_mode, (n) + 2), PRIORITY_TERMS((n) + 3)

/* A group of groups may hold further ones. */
static const struct type type_composite_template;
static const struct field composite_template_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    COMPOSITE_TERMS(2),
    KEYED("podGroupTemplates", type_pod_group_template, 8, "name"),
    KEYED("compositePodGroupTemplates", type_composite_template, 9, "name"),
};
static OBJECT(composite_template, "CompositePodGroupTemplate");

static const struct field workload_reference_fields[] = {
    ONE("workloadName", type_string, 1, .flags = REQUIRED),
    ONE("templateName", type_string, 2, .flags = REQUIRED),
};
static OBJECT(workload_reference, "SchedulingWorkloadReference");

static const struct field pod_group_spec_fields[] = {
    ONE("parentCompositePodGroupName", type_string, 1, .flags = POINTER),
    ONE("workloadRef", type_workload_reference, 2),
    POD_GROUP_TERMS(3),
};
static OBJECT(pod_group_spec, "SchedulingPodGroupSpec");

static const struct field pod_group_claim_status_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("resourceClaimName", type_string, 2, .flags = POINTER),
};
static OBJECT(pod_group_claim_status, "PodGroupResourceClaimStatus");

static const struct field pod_group_status_fields[] = {
    KEYED("conditions", type_condition, 1, "type", .flags = MERGE, .patch_key = "type"),
    KEYED("resourceClaimStatuses", type_pod_group_claim_status, 2, "name",
          .flags = MERGE | RETAIN_KEYS, .patch_key = "name"),
};
static OBJECT(pod_group_status, "SchedulingPodGroupStatus");

static const struct field scheduling_pod_group_fields[] = {
    ONE("apiVersion", type_string, 0),       ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),    ONE("spec", type_pod_group_spec, 2, .flags = REQUIRED),
    ONE("status", type_pod_group_status, 3),
};
OBJECT(scheduling_pod_group, "SchedulingPodGroup");

static const struct field composite_spec_fields[] = {
    ONE("parentCompositePodGroupName", type_string, 1, .flags = POINTER),
    ONE("workloadRef", type_workload_reference, 2),
    COMPOSITE_TERMS(3),
};
static OBJECT(composite_spec, "CompositePodGroupSpec");

static const struct field composite_status_fields[] = {
    KEYED("conditions", type_condition, 1, "type", .flags = MERGE, .patch_key = "type"),
};
static OBJECT(composite_status, "CompositePodGroupStatus");

static const struct field composite_pod_group_fields[] = {
    ONE("apiVersion", type_string, 0),       ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),    ONE("spec", type_composite_spec, 2, .flags = REQUIRED),
    ONE("status", type_composite_status, 3),
};
OBJECT(composite_pod_group, "CompositePodGroup");

static const struct field workload_controller_reference_fields[] = {
    ONE("apiGroup", type_string, 1),
    ONE("kind", type_string, 2, .flags = REQUIRED),
    ONE("name", type_string, 3, .flags = REQUIRED),
};
static OBJECT(workload_controller_reference, "SchedulingTypedLocalObjectReference");

static const struct field workload_spec_fields[] = {
    ONE("controllerRef", type_workload_controller_reference, 1),
    KEYED("podGroupTemplates", type_pod_group_template, 2, "name"),
    KEYED("compositePodGroupTemplates", type_composite_template, 3, "name"),
};
static OBJECT(workload_spec, "WorkloadSpec");

static const struct field workload_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_workload_spec, 2, .flags = REQUIRED),
};
OBJECT(workload, "Workload");

/* ---- pools of devices ---- */

static const struct field pool_status_fields[] = {
    ONE("driver", type_string, 1, .flags = REQUIRED),
    ONE("poolName", type_string, 2, .flags = REQUIRED),
    ONE("nodeName", type_string, 3, .flags = POINTER),
    ONE("totalDevices", type_int32, 4, .flags = POINTER),
    ONE("allocatedDevices", type_int32, 5, .flags = POINTER),
    ONE("availableDevices", type_int32, 6, .flags = POINTER),
    ONE("unavailableDevices", type_int32, 7, .flags = POINTER),
    ONE("resourceSliceCount", type_int32, 8, .flags = POINTER),
    ONE("generation", type_int64, 9, .flags = REQUIRED),
    ONE("validationError", type_string, 10, .flags = POINTER),
};
static OBJECT(pool_status, "PoolStatus");

static const struct field pool_status_request_spec_fields[] = {
    ONE("driver", type_string, 1, .flags = REQUIRED, .doc = "Whose pools."),
    ONE("poolName", type_string, 2, .flags = POINTER),
    ONE("limit", type_int32, 3, .flags = POINTER),
};
static OBJECT(pool_status_request_spec, "ResourcePoolStatusRequestSpec");

static const struct field pool_status_request_status_fields[] = {
    LIST("pools", type_pool_status, 2),
    KEYED("conditions", type_condition, 3, "type", .flags = MERGE, .patch_key = "type"),
    ONE("poolCount", type_int32, 6, .flags = REQUIRED | POINTER),
};
static OBJECT(pool_status_request_status, "ResourcePoolStatusRequestStatus");

static const struct field pool_status_request_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_pool_status_request_spec, 2, .flags = REQUIRED),
    ONE("status", type_pool_status_request_status, 3),
};
OBJECT(pool_status_request, "ResourcePoolStatusRequest");

/* ---- versions in the storage ---- */

static const struct field server_storage_version_fields[] = {
    ONE("apiServerID", type_string, 1, .flags = REQUIRED),
    ONE("encodingVersion", type_string, 2, .flags = REQUIRED),
    SET("decodableVersions", type_string, 3, .flags = REQUIRED),
    SET("servedVersions", type_string, 4),
};
static OBJECT(server_storage_version, "ServerStorageVersion");

static const struct field storage_version_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("observedGeneration", type_int64, 3),
    ONE("lastTransitionTime", type_time, 4),
    ONE("reason", type_string, 5, .flags = REQUIRED),
    ONE("message", type_string, 6, .flags = REQUIRED),
};
static OBJECT(storage_version_condition, "StorageVersionCondition");

static const struct field storage_version_status_fields[] = {
    KEYED("storageVersions", type_server_storage_version, 1, "apiServerID"),
    ONE("commonEncodingVersion", type_string, 2, .flags = POINTER),
    KEYED("conditions", type_storage_version_condition, 3, "type"),
};
static OBJECT(storage_version_status, "StorageVersionStatus");

static const struct field storage_version_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_empty, 2),
    ONE("status", type_storage_version_status, 3),
};
OBJECT(storage_version, "StorageVersion");

static const struct field group_resource_fields[] = {
    ONE("group", type_string, 1, .flags = REQUIRED),
    ONE("resource", type_string, 2, .flags = REQUIRED),
};
static OBJECT(group_resource, "GroupResource");

static const struct field storage_migration_spec_fields[] = {
    ONE("resource", type_group_resource, 1, .flags = REQUIRED, .doc = "What is written anew."),
};
static OBJECT(storage_migration_spec, "StorageVersionMigrationSpec");

static const struct field storage_migration_status_fields[] = {
    KEYED("conditions", type_condition, 1, "type", .flags = MERGE, .patch_key = "type"),
    ONE("resourceVersion", type_string, 2),
};
static OBJECT(storage_migration_status, "StorageVersionMigrationStatus");

static const struct field storage_migration_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_storage_migration_spec, 2),
    ONE("status", type_storage_migration_status, 3),
};
OBJECT(storage_migration, "StorageVersionMigration");

/* ---- components ---- */

static const struct field component_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("message", type_string, 3),
    ONE("error", type_string, 4),
};
static OBJECT(component_condition, "ComponentCondition");

static const struct field component_status_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    KEYED("conditions", type_component_condition, 2, "type", .flags = MERGE, .patch_key = "type"),
};
OBJECT(component_status, "ComponentStatus");
