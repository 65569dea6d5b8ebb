/*
 * How the tables of built-in kinds are written. One line per field:
 *
 *   ONE("name", type, tag, ...)            one value
 *   LIST("name", type, tag, ...)           an atomic list
 *   SET("name", type, tag, ...)            a list of distinct scalars
 *   KEYED("name", type, tag, "keys", ...)  a list of objects told apart by these keys
 *   MAP("name", type, tag, ...)            string keys, values of the type
 *
 * tag is the protobuf field number, 0 for fields that do not travel in protobuf. What follows is
 * any member of struct field: flags, patch_key, dflt, enums, doc. Lines stand in the order of the
 * tags, which is the order other servers write fields in.
 */
#ifndef KUBE_TABLES_FIELDS_H
#define KUBE_TABLES_FIELDS_H

#include "kube/tables/kinds.h"

#define REQUIRED FIELD_REQUIRED
#define ATOMIC FIELD_MAP_ATOMIC
#define MERGE FIELD_PATCH_MERGE
#define RETAIN_KEYS FIELD_PATCH_RETAIN_KEYS
#define POINTER FIELD_POINTER
#define BUILTIN_DEFAULT FIELD_BUILTIN_DEFAULT

#define FIELD_AS(name_, type_, tag_, shape_, ...)                                        \
    {                                                                                    \
        .name = (name_), .name_len = sizeof(name_) - 1, .type = &(type_), .tag = (tag_), \
        .shape = (shape_), ##__VA_ARGS__                                                 \
    }
#define ONE(name, type, tag, ...) FIELD_AS(name, type, tag, FIELD_ONE, ##__VA_ARGS__)
#define LIST(name, type, tag, ...) FIELD_AS(name, type, tag, FIELD_LIST, ##__VA_ARGS__)
#define SET(name, type, tag, ...) \
    FIELD_AS(name, type, tag, FIELD_LIST, .list = LIST_SET, ##__VA_ARGS__)
#define KEYED(name, type, tag, keys_, ...) \
    FIELD_AS(name, type, tag, FIELD_LIST, .list = LIST_MAP, .keys = (keys_), ##__VA_ARGS__)
#define MAP(name, type, tag, ...) FIELD_AS(name, type, tag, FIELD_MAP, ##__VA_ARGS__)

/* Defines type_<id> over <id>_fields. */
#define OBJECT(id, text)                    \
    const struct type type_##id = {         \
        .name = (text),                     \
        .tag = TYPE_OBJECT,                 \
        .fields = id##_fields,              \
        .n_fields = ARRAY_LEN(id##_fields), \
    }

/* ---- kinds ----
 *
 * Columns with a path are read from the object; those without are computed where tables are made.
 * The ones marked wide have priority 1 and show with -o wide only. */

#define VERBS_READ_WRITE (VERB_GET | VERB_PATCH | VERB_UPDATE)
#define VERBS_PROXY (VERB_CREATE | VERB_DELETE | VERB_GET | VERB_PATCH | VERB_UPDATE)

#define NAME_COLUMN                                                                   \
    {                                                                                 \
        .name = "Name", .type = "string", .format = "name", .path = ".metadata.name", \
        .doc = "Unique within its namespace."                                         \
    }
#define COLUMN(name_, type_, doc_)                                    \
    {                                                                 \
        .name = (name_), .type = (type_), .format = "", .doc = (doc_) \
    }
#define COLUMN_AT(name_, type_, path_, doc_)                                           \
    {                                                                                  \
        .name = (name_), .type = (type_), .format = "", .path = (path_), .doc = (doc_) \
    }
#define WIDE(name_, type_, doc_)                                                     \
    {                                                                                \
        .name = (name_), .type = (type_), .format = "", .priority = 1, .doc = (doc_) \
    }
#define AGE_COLUMN COLUMN("Age", "string", "Time since it was created.")

#define COLUMNS(table) .columns = (table), .n_columns = ARRAY_LEN(table)
#define SUBRESOURCES(table) .subresources = (table), .n_subresources = ARRAY_LEN(table)
#define SCALE_PATHS(selector)                                                     \
    .scale_spec_path = ".spec.replicas", .scale_status_path = ".status.replicas", \
    .scale_selector_path = (selector)

/* Every kind has a number of its own, given by the registry. */
#define KIND(var, ...)        \
    static uint16_t var##_id; \
    const struct kind var = {.id = &var##_id, __VA_ARGS__}

/* ---- types by file ---- */

/* table_meta.c */
extern const struct type type_label_selector_requirement;
/* table_container.c */
extern const struct type type_app_armor_profile, type_env_var, type_ephemeral_container,
    type_object_field_selector, type_resource_field_selector, type_resource_requirements,
    type_seccomp_profile, type_selinux_options, type_windows_security_context_options;
/* table_volume.c */
extern const struct type type_aws_elastic_block_store_volume_source, type_azure_disk_volume_source,
    type_fc_volume_source, type_flocker_volume_source, type_gce_persistent_disk_volume_source,
    type_host_path_volume_source, type_local_object_reference, type_nfs_volume_source,
    type_persistent_volume_claim_spec, type_photon_persistent_disk_volume_source,
    type_portworx_volume_source, type_quobyte_volume_source, type_typed_local_object_reference,
    type_vsphere_virtual_disk_volume_source;
/* table_pod.c */
extern const struct type type_binding, type_eviction, type_node_selector, type_object_reference,
    type_pod, type_pod_status, type_toleration, type_topology_spread_constraint;
/* table_core.c */
extern const struct type type_config_map, type_endpoints, type_event, type_event_source,
    type_namespace, type_node, type_secret, type_service, type_service_account;
/* table_apps.c */
extern const struct type type_autoscaling_v1_hpa, type_controller_revision, type_deployment,
    type_horizontal_pod_autoscaler, type_horizontal_pod_autoscaler_spec, type_pod_disruption_budget,
    type_replica_set, type_scale;
/* table_misc.c */
extern const struct type type_cluster_role, type_cluster_role_binding, type_endpoint_slice,
    type_events_v1_event, type_lease, type_priority_class, type_role, type_role_binding;
/* table_auth.c */
extern const struct type type_local_subject_access_review, type_self_subject_access_review,
    type_self_subject_review, type_self_subject_rules_review, type_subject_access_review,
    type_token_request, type_token_review;
/* table_webhook.c */
extern const struct type type_match_condition, type_mutating_webhook_configuration,
    type_validating_webhook_configuration;
/* table_crd.c */
extern const struct type type_custom_resource_definition;
/* table_resource.c */
extern const struct type type_device_class, type_device_taint, type_resource_slice,
    type_resource_claim_spec, type_resource_claim_template, type_resource_v1_resource_claim,
    type_resource_claim_v1beta1, type_resource_claim_template_v1beta1, type_resource_slice_v1beta1;
/* table_workload.c */
extern const struct type type_cron_job, type_daemon_set, type_job, type_persistent_volume_claim,
    type_pod_template, type_replication_controller, type_stateful_set;
/* table_storage.c */
extern const struct type type_csi_driver, type_csi_node, type_csi_storage_capacity,
    type_persistent_volume, type_storage_class, type_volume_attachment,
    type_volume_attributes_class;
/* table_network.c */
extern const struct type type_ingress, type_ingress_class, type_ip_address, type_network_policy,
    type_service_cidr;
/* table_cluster.c */
extern const struct type type_api_service, type_certificate_signing_request,
    type_cluster_trust_bundle, type_device_taint_rule, type_flow_schema, type_lease_candidate,
    type_mutating_admission_policy, type_mutating_admission_policy_binding,
    type_pod_certificate_request, type_priority_level_configuration, type_runtime_class,
    type_validating_admission_policy, type_validating_admission_policy_binding;
/* table_preview.c */
extern const struct type type_component_status, type_composite_pod_group, type_pool_status_request,
    type_scheduling_pod_group, type_storage_migration, type_storage_version, type_workload;

#endif
