/*
 * Tables of the other core kinds: nodes, namespaces, services, endpoints, events, configuration,
 * secrets and service accounts. A pure table; see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

static const struct field config_map_node_config_source_fields[] = {
    ONE("namespace", type_string, 1, .flags = REQUIRED),
    ONE("name", type_string, 2, .flags = REQUIRED),
    ONE("uid", type_string, 3),
    ONE("resourceVersion", type_string, 4),
    ONE("kubeletConfigKey", type_string, 5, .flags = REQUIRED),
};
static OBJECT(config_map_node_config_source, "ConfigMapNodeConfigSource");

static const struct field node_config_source_fields[] = {
    ONE("configMap", type_config_map_node_config_source, 2),
};
static OBJECT(node_config_source, "NodeConfigSource");

static const struct field taint_fields[] = {
    ONE("key", type_string, 1, .flags = REQUIRED),
    ONE("value", type_string, 2),
    ONE("effect", type_string, 3, .flags = REQUIRED,
        .enums = "NoSchedule|PreferNoSchedule|NoExecute",
        .doc = "NoSchedule, PreferNoSchedule or NoExecute."),
    ONE("timeAdded", type_time, 4, .flags = POINTER),
};
static OBJECT(taint, "Taint");

static const struct field node_spec_fields[] = {
    ONE("podCIDR", type_string, 1),
    ONE("externalID", type_string, 2),
    ONE("providerID", type_string, 3),
    ONE("unschedulable", type_bool, 4, .doc = "No new pods are placed here."),
    LIST("taints", type_taint, 5, .doc = "Keep pods away that do not tolerate them."),
    ONE("configSource", type_node_config_source, 6),
    SET("podCIDRs", type_string, 7, .flags = MERGE),
};
static OBJECT(node_spec, "NodeSpec");

static const struct field node_address_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("address", type_string, 2, .flags = REQUIRED),
};
static OBJECT(node_address, "NodeAddress");

static const struct field node_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("lastHeartbeatTime", type_time, 3),
    ONE("lastTransitionTime", type_time, 4),
    ONE("reason", type_string, 5),
    ONE("message", type_string, 6),
};
static OBJECT(node_condition, "NodeCondition");

static const struct field node_config_status_fields[] = {
    ONE("assigned", type_node_config_source, 1),
    ONE("active", type_node_config_source, 2),
    ONE("lastKnownGood", type_node_config_source, 3),
    ONE("error", type_string, 4),
};
static OBJECT(node_config_status, "NodeConfigStatus");

static const struct field daemon_endpoint_fields[] = {
    ONE("Port", type_int32, 1, .flags = REQUIRED),
};
static OBJECT(daemon_endpoint, "DaemonEndpoint");

static const struct field node_daemon_endpoints_fields[] = {
    ONE("kubeletEndpoint", type_daemon_endpoint, 1),
};
static OBJECT(node_daemon_endpoints, "NodeDaemonEndpoints");

static const struct field node_features_fields[] = {
    ONE("supplementalGroupsPolicy", type_bool, 1, .flags = POINTER),
};
static OBJECT(node_features, "NodeFeatures");

static const struct field container_image_fields[] = {
    LIST("names", type_string, 1),
    ONE("sizeBytes", type_int64, 2),
};
static OBJECT(container_image, "ContainerImage");

static const struct field node_swap_status_fields[] = {
    ONE("capacity", type_int64, 1, .flags = POINTER),
};
static OBJECT(node_swap_status, "NodeSwapStatus");

static const struct field node_system_info_fields[] = {
    ONE("machineID", type_string, 1, .flags = REQUIRED),
    ONE("systemUUID", type_string, 2, .flags = REQUIRED),
    ONE("bootID", type_string, 3, .flags = REQUIRED),
    ONE("kernelVersion", type_string, 4, .flags = REQUIRED),
    ONE("osImage", type_string, 5, .flags = REQUIRED),
    ONE("containerRuntimeVersion", type_string, 6, .flags = REQUIRED),
    ONE("kubeletVersion", type_string, 7, .flags = REQUIRED),
    ONE("kubeProxyVersion", type_string, 8, .flags = REQUIRED),
    ONE("operatingSystem", type_string, 9, .flags = REQUIRED),
    ONE("architecture", type_string, 10, .flags = REQUIRED),
    ONE("swap", type_node_swap_status, 11),
};
static OBJECT(node_system_info, "NodeSystemInfo");

static const struct field node_runtime_handler_features_fields[] = {
    ONE("recursiveReadOnlyMounts", type_bool, 1, .flags = POINTER),
    ONE("userNamespaces", type_bool, 2, .flags = POINTER),
};
static OBJECT(node_runtime_handler_features, "NodeRuntimeHandlerFeatures");

static const struct field node_runtime_handler_fields[] = {
    ONE("name", type_string, 1),
    ONE("features", type_node_runtime_handler_features, 2),
};
static OBJECT(node_runtime_handler, "NodeRuntimeHandler");

static const struct field attached_volume_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("devicePath", type_string, 2, .flags = REQUIRED),
};
static OBJECT(attached_volume, "AttachedVolume");

static const struct field node_status_fields[] = {
    MAP("capacity", type_quantity, 1, .doc = "What the machine has."),
    MAP("allocatable", type_quantity, 2, .doc = "What pods may request in total."),
    ONE("phase", type_string, 3),
    KEYED("conditions", type_node_condition, 4, "type", .flags = MERGE, .patch_key = "type",
          .doc = "Ready and the kinds of pressure."),
    KEYED("addresses", type_node_address, 5, "type", .flags = MERGE, .patch_key = "type"),
    ONE("daemonEndpoints", type_node_daemon_endpoints, 6),
    ONE("nodeInfo", type_node_system_info, 7),
    LIST("images", type_container_image, 8),
    LIST("volumesInUse", type_string, 9),
    LIST("volumesAttached", type_attached_volume, 10),
    ONE("config", type_node_config_status, 11),
    LIST("runtimeHandlers", type_node_runtime_handler, 12),
    ONE("features", type_node_features, 13),
    LIST("declaredFeatures", type_string, 14),
};
static OBJECT(node_status, "NodeStatus");

static const struct field node_fields[] = {
    ONE("apiVersion", type_string, 0),    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1), ONE("spec", type_node_spec, 2),
    ONE("status", type_node_status, 3),
};
OBJECT(node, "Node");

static const struct field namespace_spec_fields[] = {
    LIST("finalizers", type_string, 1, .doc = "While one is left the namespace is not removed."),
};
static OBJECT(namespace_spec, "NamespaceSpec");

static const struct field namespace_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("lastTransitionTime", type_time, 4),
    ONE("reason", type_string, 5),
    ONE("message", type_string, 6),
};
static OBJECT(namespace_condition, "NamespaceCondition");

static const struct field namespace_status_fields[] = {
    ONE("phase", type_string, 1, .doc = "Active or Terminating."),
    KEYED("conditions", type_namespace_condition, 2, "type", .flags = MERGE, .patch_key = "type"),
};
static OBJECT(namespace_status, "NamespaceStatus");

static const struct field namespace_fields[] = {
    ONE("apiVersion", type_string, 0),       ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),    ONE("spec", type_namespace_spec, 2),
    ONE("status", type_namespace_status, 3),
};
OBJECT(namespace, "Namespace");

static const struct field service_port_fields[] = {
    ONE("name", type_string, 1),
    ONE("protocol", type_string, 2, .dflt = "\"TCP\"", .enums = "SCTP|TCP|UDP"),
    ONE("port", type_int32, 3, .flags = REQUIRED),
    ONE("targetPort", type_int_or_string, 4),
    ONE("nodePort", type_int32, 5),
    ONE("appProtocol", type_string, 6, .flags = POINTER),
};
static OBJECT(service_port, "ServicePort");

static const struct field client_ip_config_fields[] = {
    ONE("timeoutSeconds", type_int32, 1, .flags = POINTER),
};
static OBJECT(client_ip_config, "ClientIPConfig");

static const struct field session_affinity_config_fields[] = {
    ONE("clientIP", type_client_ip_config, 1),
};
static OBJECT(session_affinity_config, "SessionAffinityConfig");

static const struct field service_spec_fields[] = {
    KEYED("ports", type_service_port, 1, "port,protocol", .flags = MERGE, .patch_key = "port",
          .doc = "The ports served."),
    MAP("selector", type_string, 2, .flags = ATOMIC,
        .doc = "Labels of the pods behind the service."),
    ONE("clusterIP", type_string, 3, .doc = "Virtual address, None for a headless service."),
    ONE("type", type_string, 4, .flags = BUILTIN_DEFAULT, .dflt = "\"ClusterIP\"",
        .enums = "ClusterIP|ExternalName|LoadBalancer|NodePort"),
    LIST("externalIPs", type_string, 5),
    ONE("sessionAffinity", type_string, 7, .flags = BUILTIN_DEFAULT, .dflt = "\"None\"",
        .enums = "ClientIP|None"),
    ONE("loadBalancerIP", type_string, 8),
    LIST("loadBalancerSourceRanges", type_string, 9),
    ONE("externalName", type_string, 10),
    ONE("externalTrafficPolicy", type_string, 11),
    ONE("healthCheckNodePort", type_int32, 12),
    ONE("publishNotReadyAddresses", type_bool, 13,
        .doc = "DNS also answers with pods that are not ready."),
    ONE("sessionAffinityConfig", type_session_affinity_config, 14),
    ONE("ipFamilyPolicy", type_string, 17, .flags = POINTER),
    LIST("clusterIPs", type_string, 18),
    LIST("ipFamilies", type_string, 19),
    ONE("allocateLoadBalancerNodePorts", type_bool, 20, .flags = POINTER),
    ONE("loadBalancerClass", type_string, 21, .flags = POINTER),
    ONE("internalTrafficPolicy", type_string, 22, .flags = POINTER),
    ONE("trafficDistribution", type_string, 23, .flags = POINTER),
};
static OBJECT(service_spec, "ServiceSpec");

static const struct field port_status_fields[] = {
    ONE("port", type_int32, 1, .flags = REQUIRED),
    ONE("protocol", type_string, 2, .flags = REQUIRED),
    ONE("error", type_string, 3, .flags = POINTER),
};
static OBJECT(port_status, "PortStatus");

static const struct field load_balancer_ingress_fields[] = {
    ONE("ip", type_string, 1),
    ONE("hostname", type_string, 2),
    ONE("ipMode", type_string, 3, .flags = POINTER),
    LIST("ports", type_port_status, 4),
};
static OBJECT(load_balancer_ingress, "LoadBalancerIngress");

static const struct field load_balancer_status_fields[] = {
    LIST("ingress", type_load_balancer_ingress, 1),
};
static OBJECT(load_balancer_status, "LoadBalancerStatus");

static const struct field service_status_fields[] = {
    ONE("loadBalancer", type_load_balancer_status, 1),
    KEYED("conditions", type_condition, 2, "type", .flags = MERGE, .patch_key = "type"),
};
static OBJECT(service_status, "ServiceStatus");

static const struct field service_fields[] = {
    ONE("apiVersion", type_string, 0),     ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),  ONE("spec", type_service_spec, 2),
    ONE("status", type_service_status, 3),
};
OBJECT(service, "Service");

static const struct field endpoint_address_fields[] = {
    ONE("ip", type_string, 1, .flags = REQUIRED),
    ONE("targetRef", type_object_reference, 2, .flags = ATOMIC),
    ONE("hostname", type_string, 3),
    ONE("nodeName", type_string, 4, .flags = POINTER),
};
static OBJECT(endpoint_address, "EndpointAddress");

static const struct field endpoint_port_fields[] = {
    ONE("name", type_string, 1),
    ONE("port", type_int32, 2, .flags = REQUIRED),
    ONE("protocol", type_string, 3, .flags = BUILTIN_DEFAULT, .dflt = "\"TCP\"",
        .enums = "SCTP|TCP|UDP"),
    ONE("appProtocol", type_string, 4, .flags = POINTER),
};
static OBJECT(endpoint_port, "EndpointPort");

static const struct field endpoint_subset_fields[] = {
    LIST("addresses", type_endpoint_address, 1, .flags = ATOMIC),
    LIST("notReadyAddresses", type_endpoint_address, 2, .flags = ATOMIC),
    LIST("ports", type_endpoint_port, 3, .flags = ATOMIC),
};
static OBJECT(endpoint_subset, "EndpointSubset");

static const struct field endpoints_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    LIST("subsets", type_endpoint_subset, 2),
};
OBJECT(endpoints, "Endpoints");

static const struct field event_series_fields[] = {
    ONE("count", type_int32, 1),
    ONE("lastObservedTime", type_micro_time, 2),
};
static OBJECT(event_series, "EventSeries");

static const struct field event_source_fields[] = {
    ONE("component", type_string, 1),
    ONE("host", type_string, 2),
};
OBJECT(event_source, "EventSource");

static const struct field event_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1, .flags = REQUIRED),
    ONE("involvedObject", type_object_reference, 2, .flags = REQUIRED | ATOMIC,
        .doc = "What the event is about."),
    ONE("reason", type_string, 3, .doc = "One word for programs."),
    ONE("message", type_string, 4, .doc = "A sentence for people."),
    ONE("source", type_event_source, 5),
    ONE("firstTimestamp", type_time, 6),
    ONE("lastTimestamp", type_time, 7),
    ONE("count", type_int32, 8, .doc = "How often it happened."),
    ONE("type", type_string, 9, .doc = "Normal or Warning."),
    ONE("eventTime", type_micro_time, 10),
    ONE("series", type_event_series, 11),
    ONE("action", type_string, 12),
    ONE("related", type_object_reference, 13, .flags = ATOMIC),
    ONE("reportingComponent", type_string, 14),
    ONE("reportingInstance", type_string, 15),
};
OBJECT(event, "Event");

static const struct field config_map_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    MAP("data", type_string, 2, .doc = "Text by key."),
    MAP("binaryData", type_bytes, 3, .doc = "Bytes by key, base64."),
    ONE("immutable", type_bool, 4, .flags = POINTER),
};
OBJECT(config_map, "ConfigMap");

static const struct field secret_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    MAP("data", type_bytes, 2, .doc = "Bytes by key, base64."),
    ONE("type", type_string, 3, .flags = BUILTIN_DEFAULT, .dflt = "\"Opaque\"",
        .doc = "What kind of secret it is."),
    MAP("stringData", type_string, 4, .doc = "Text by key; the server moves it into data."),
    ONE("immutable", type_bool, 5, .flags = POINTER),
};
OBJECT(secret, "Secret");

static const struct field service_account_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    KEYED("secrets", type_object_reference, 2, "name", .flags = ATOMIC | MERGE,
          .patch_key = "name"),
    LIST("imagePullSecrets", type_local_object_reference, 3, .flags = ATOMIC),
    ONE("automountServiceAccountToken", type_bool, 4, .flags = POINTER),
};
OBJECT(service_account, "ServiceAccount");
