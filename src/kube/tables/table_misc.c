/*
 * Tables of leases, roles and their bindings, priority classes, endpoint slices and the events of
 * events.k8s.io. A pure table; see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

static const struct field lease_spec_fields[] = {
    ONE("holderIdentity", type_string, 1, .flags = POINTER, .doc = "Who holds the lease."),
    ONE("leaseDurationSeconds", type_int32, 2, .flags = POINTER,
        .doc = "How long a silent holder is still believed."),
    ONE("acquireTime", type_micro_time, 3, .flags = POINTER),
    ONE("renewTime", type_micro_time, 4, .flags = POINTER, .doc = "When the holder last said so."),
    ONE("leaseTransitions", type_int32, 5, .flags = POINTER),
    ONE("strategy", type_string, 6, .flags = POINTER),
    ONE("preferredHolder", type_string, 7, .flags = POINTER),
};
static OBJECT(lease_spec, "LeaseSpec");

static const struct field lease_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_lease_spec, 2),
};
OBJECT(lease, "Lease");

static const struct field policy_rule_fields[] = {
    LIST("verbs", type_string, 1, .flags = REQUIRED, .doc = "What may be done."),
    LIST("apiGroups", type_string, 2, .doc = "Of which API groups."),
    LIST("resources", type_string, 3, .doc = "To which resources."),
    LIST("resourceNames", type_string, 4, .doc = "To which names only; empty means all."),
    LIST("nonResourceURLs", type_string, 5),
};
static OBJECT(policy_rule, "PolicyRule");

static const struct field role_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    LIST("rules", type_policy_rule, 2),
};
OBJECT(role, "Role");

static const struct field role_ref_fields[] = {
    ONE("apiGroup", type_string, 1, .flags = BUILTIN_DEFAULT,
        .dflt = "\"rbac.authorization.k8s.io\""),
    ONE("kind", type_string, 2, .flags = REQUIRED),
    ONE("name", type_string, 3, .flags = REQUIRED, .doc = "The role that is granted."),
};
static OBJECT(role_ref, "RoleRef");

static const struct field subject_fields[] = {
    ONE("kind", type_string, 1, .flags = REQUIRED),
    ONE("apiGroup", type_string, 2),
    ONE("name", type_string, 3, .flags = REQUIRED),
    ONE("namespace", type_string, 4),
};
static OBJECT(subject, "Subject");

static const struct field role_binding_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    LIST("subjects", type_subject, 2, .flags = ATOMIC),
    ONE("roleRef", type_role_ref, 3, .flags = REQUIRED | ATOMIC),
};
OBJECT(role_binding, "RoleBinding");

static const struct field aggregation_rule_fields[] = {
    LIST("clusterRoleSelectors", type_label_selector, 1, .flags = ATOMIC),
};
static OBJECT(aggregation_rule, "AggregationRule");

static const struct field cluster_role_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    LIST("rules", type_policy_rule, 2),
    ONE("aggregationRule", type_aggregation_rule, 3),
};
OBJECT(cluster_role, "ClusterRole");

static const struct field cluster_role_binding_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    LIST("subjects", type_subject, 2, .flags = ATOMIC),
    ONE("roleRef", type_role_ref, 3, .flags = REQUIRED | ATOMIC),
};
OBJECT(cluster_role_binding, "ClusterRoleBinding");

static const struct field priority_class_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("value", type_int32, 2, .doc = "The priority; higher goes first."),
    ONE("globalDefault", type_bool, 3, .doc = "Taken by pods that name no class."),
    ONE("description", type_string, 4),
    ONE("preemptionPolicy", type_string, 5, .flags = POINTER | BUILTIN_DEFAULT,
        .dflt = "\"PreemptLowerPriority\"", .enums = "PreemptLowerPriority|Never"),
};
OBJECT(priority_class, "PriorityClass");

static const struct field endpoint_conditions_fields[] = {
    ONE("ready", type_bool, 1, .flags = POINTER),
    ONE("serving", type_bool, 2, .flags = POINTER),
    ONE("terminating", type_bool, 3, .flags = POINTER),
};
static OBJECT(endpoint_conditions, "EndpointConditions");

static const struct field for_node_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
};
static OBJECT(for_node, "ForNode");

static const struct field for_zone_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
};
static OBJECT(for_zone, "ForZone");

static const struct field endpoint_hints_fields[] = {
    LIST("forZones", type_for_zone, 1),
    LIST("forNodes", type_for_node, 2),
};
static OBJECT(endpoint_hints, "EndpointHints");

static const struct field endpoint_fields[] = {
    SET("addresses", type_string, 1, .flags = REQUIRED),
    ONE("conditions", type_endpoint_conditions, 2),
    ONE("hostname", type_string, 3, .flags = POINTER),
    ONE("targetRef", type_object_reference, 4, .flags = ATOMIC),
    MAP("deprecatedTopology", type_string, 5),
    ONE("nodeName", type_string, 6, .flags = POINTER),
    ONE("zone", type_string, 7, .flags = POINTER),
    ONE("hints", type_endpoint_hints, 8),
};
static OBJECT(endpoint, "Endpoint");

static const struct field discovery_v1_endpoint_port_fields[] = {
    ONE("name", type_string, 1, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"\""),
    ONE("protocol", type_string, 2, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"TCP\"",
        .enums = "SCTP|TCP|UDP"),
    ONE("port", type_int32, 3, .flags = POINTER),
    ONE("appProtocol", type_string, 4, .flags = POINTER),
};
static OBJECT(discovery_v1_endpoint_port, "DiscoveryV1EndpointPort");

static const struct field endpoint_slice_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    LIST("endpoints", type_endpoint, 2),
    LIST("ports", type_discovery_v1_endpoint_port, 3, .flags = ATOMIC),
    ONE("addressType", type_string, 4, .flags = REQUIRED, .enums = "FQDN|IPv4|IPv6"),
};
OBJECT(endpoint_slice, "EndpointSlice");

static const struct field events_v1_event_series_fields[] = {
    ONE("count", type_int32, 1, .flags = REQUIRED),
    ONE("lastObservedTime", type_micro_time, 2, .flags = REQUIRED),
};
static OBJECT(events_v1_event_series, "EventsV1EventSeries");

static const struct field events_v1_event_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("eventTime", type_micro_time, 2, .flags = REQUIRED),
    ONE("series", type_events_v1_event_series, 3),
    ONE("reportingController", type_string, 4),
    ONE("reportingInstance", type_string, 5),
    ONE("action", type_string, 6),
    ONE("reason", type_string, 7),
    ONE("regarding", type_object_reference, 8, .flags = ATOMIC),
    ONE("related", type_object_reference, 9, .flags = ATOMIC),
    ONE("note", type_string, 10),
    ONE("type", type_string, 11),
    ONE("deprecatedSource", type_event_source, 12),
    ONE("deprecatedFirstTimestamp", type_time, 13),
    ONE("deprecatedLastTimestamp", type_time, 14),
    ONE("deprecatedCount", type_int32, 15),
};
OBJECT(events_v1_event, "EventsV1Event");
