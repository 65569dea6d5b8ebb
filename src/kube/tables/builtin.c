/*
 * The built-in kinds this server offers, those that Grove itself works with: names, verbs,
 * subresources, columns and field selectors (builtin_workload.c and builtin_cluster.c have the
 * others). A pure table; the fields of each kind are in table_*.c.
 */
#include "kube/tables/builtin.h"

#include "kube/tables/fields.h"

/* ---- core ---- */

static const struct column namespace_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Status", "string", ".status.phase", "Active or Terminating."),
    AGE_COLUMN,
};
static const struct subresource namespace_subresources[] = {
    {"finalize", "", "v1", "Namespace", VERB_UPDATE},
};
KIND(kind_namespace, .group = "", .version = "v1", .kind = "Namespace", .plural = "namespaces",
     .singular = "namespace", .short_names = "ns", .verbs = VERBS_ALL & ~VERB_DELETE_COLLECTION,
     .flags = KIND_STATUS, .type = &type_namespace, COLUMNS(namespace_columns),
     SUBRESOURCES(namespace_subresources), .field_selectors = "status.phase");

static const struct column node_columns[] = {
    NAME_COLUMN,
    COLUMN("Status", "string", "Ready or not, and whether pods may be placed."),
    COLUMN("Roles", "string", "Roles by label."),
    AGE_COLUMN,
    COLUMN_AT("Version", "string", ".status.nodeInfo.kubeletVersion", "Version of the node agent."),
    WIDE("Internal-IP", "string", "Address inside the cluster."),
    WIDE("External-IP", "string", "Address from outside."),
    WIDE("OS-Image", "string", "Operating system."),
    WIDE("Kernel-Version", "string", "Kernel and architecture."),
    WIDE("Container-Runtime", "string", "What runs containers."),
};
static const struct subresource node_subresources[] = {
    {"proxy", "", "v1", "NodeProxyOptions", VERBS_PROXY},
};
KIND(kind_node, .group = "", .version = "v1", .kind = "Node", .plural = "nodes", .singular = "node",
     .short_names = "no", .verbs = VERBS_ALL, .flags = KIND_STATUS, .type = &type_node,
     COLUMNS(node_columns), SUBRESOURCES(node_subresources),
     .field_selectors = "spec.unschedulable");

static const struct column pod_columns[] = {
    NAME_COLUMN,
    COLUMN("Ready", "string", "Containers that are ready, of all."),
    COLUMN("Status", "string", "Phase, or why it is not running."),
    COLUMN("Restarts", "string", "How often containers started again."),
    AGE_COLUMN,
    WIDE("IP", "string", "Address of the pod."),
    WIDE("Node", "string", "Where it runs."),
    WIDE("Nominated Node", "string", "Where room is being made for it."),
    WIDE("Readiness Gates", "string", "Extra conditions that hold, of all."),
};
static const struct subresource pod_subresources[] = {
    {"attach", "", "v1", "PodAttachOptions", VERB_CREATE | VERB_GET},
    {"binding", "", "v1", "Binding", VERB_CREATE},
    {"ephemeralcontainers", "", "v1", "Pod", VERBS_READ_WRITE},
    {"eviction", "policy", "v1", "Eviction", VERB_CREATE},
    {"exec", "", "v1", "PodExecOptions", VERB_CREATE | VERB_GET},
    {"log", "", "v1", "Pod", VERB_GET},
    {"portforward", "", "v1", "PodPortForwardOptions", VERB_CREATE | VERB_GET},
    {"proxy", "", "v1", "PodProxyOptions", VERBS_PROXY},
    {"resize", "", "v1", "Pod", VERBS_READ_WRITE},
};
KIND(kind_pod, .group = "", .version = "v1", .kind = "Pod", .plural = "pods", .singular = "pod",
     .short_names = "po", .categories = "all", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION, .type = &type_pod,
     COLUMNS(pod_columns), SUBRESOURCES(pod_subresources),
     .field_selectors =
         "spec.nodeName,spec.restartPolicy,spec.schedulerName,spec.serviceAccountName,"
         "spec.hostNetwork,status.phase,status.podIP,status.podIPs,status.nominatedNodeName");

static const struct column service_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Type", "string", ".spec.type", "How it is reached."),
    COLUMN("Cluster-IP", "string", "Virtual address."),
    COLUMN("External-IP", "string", "Address from outside."),
    COLUMN("Port(s)", "string", "Ports served."),
    AGE_COLUMN,
    WIDE("Selector", "string", "Labels of the pods behind it."),
};
static const struct subresource service_subresources[] = {
    {"proxy", "", "v1", "ServiceProxyOptions", VERBS_PROXY},
};
KIND(kind_service, .group = "", .version = "v1", .kind = "Service", .plural = "services",
     .singular = "service", .short_names = "svc", .categories = "all", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_STATUS | KIND_CREATE_ON_UPDATE, .type = &type_service,
     COLUMNS(service_columns), SUBRESOURCES(service_subresources),
     .field_selectors = "spec.clusterIP,spec.type");

static const struct column event_columns[] = {
    COLUMN("Last Seen", "string", "When it last happened."),
    COLUMN("Type", "string", "Normal or Warning."),
    COLUMN("Reason", "string", "One word for what happened."),
    COLUMN("Object", "string", "What it is about."),
    WIDE("Subobject", "string", "The part of the object it is about."),
    WIDE("Source", "string", "Who reported it."),
    COLUMN("Message", "string", "What happened."),
    WIDE("First Seen", "string", "When it first happened."),
    WIDE("Count", "string", "How often it happened."),
    {.name = "Name",
     .type = "string",
     .format = "name",
     .path = ".metadata.name",
     .priority = 1,
     .doc = "Unique within its namespace."},
};
KIND(kind_event, .group = "", .version = "v1", .kind = "Event", .plural = "events",
     .singular = "event", .short_names = "ev", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_CREATE_ON_UPDATE, .type = &type_event, COLUMNS(event_columns),
     .field_selectors =
         "involvedObject.kind,involvedObject.namespace,involvedObject.name,involvedObject.uid,"
         "involvedObject.apiVersion,involvedObject.resourceVersion,involvedObject.fieldPath,"
         "reason,reportingComponent,source,type",
     .storage = "events");

KIND(kind_events_event, .group = "events.k8s.io", .version = "v1", .kind = "Event",
     .plural = "events", .singular = "event", .short_names = "ev", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_CREATE_ON_UPDATE, .type = &type_events_v1_event,
     COLUMNS(event_columns),
     .field_selectors = "regarding.kind,regarding.namespace,regarding.name,regarding.uid,"
                        "regarding.apiVersion,regarding.resourceVersion,regarding.fieldPath,"
                        "reason,reportingController,type",
     .storage = "events");

static const struct column config_map_columns[] = {
    NAME_COLUMN,
    COLUMN("Data", "string", "Number of keys."),
    AGE_COLUMN,
};
KIND(kind_config_map, .group = "", .version = "v1", .kind = "ConfigMap", .plural = "configmaps",
     .singular = "configmap", .short_names = "cm", .verbs = VERBS_ALL, .flags = KIND_NAMESPACED,
     .type = &type_config_map, COLUMNS(config_map_columns));

static const struct column secret_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Type", "string", ".type", "What kind of secret it is."),
    COLUMN("Data", "string", "Number of keys."),
    AGE_COLUMN,
};
KIND(kind_secret, .group = "", .version = "v1", .kind = "Secret", .plural = "secrets",
     .singular = "secret", .verbs = VERBS_ALL, .flags = KIND_NAMESPACED, .type = &type_secret,
     COLUMNS(secret_columns), .field_selectors = "type");

static const struct column service_account_columns[] = {
    NAME_COLUMN,
    AGE_COLUMN,
};
static const struct subresource service_account_subresources[] = {
    {"token", "authentication.k8s.io", "v1", "TokenRequest", VERB_CREATE},
};
KIND(kind_service_account, .group = "", .version = "v1", .kind = "ServiceAccount",
     .plural = "serviceaccounts", .singular = "serviceaccount", .short_names = "sa",
     .verbs = VERBS_ALL, .flags = KIND_NAMESPACED, .type = &type_service_account,
     COLUMNS(service_account_columns), SUBRESOURCES(service_account_subresources));

static const struct column endpoints_columns[] = {
    NAME_COLUMN,
    COLUMN("Endpoints", "string", "Addresses and ports."),
    AGE_COLUMN,
};
KIND(kind_endpoints, .group = "", .version = "v1", .kind = "Endpoints", .plural = "endpoints",
     .singular = "endpoints", .short_names = "ep", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_CREATE_ON_UPDATE, .type = &type_endpoints,
     COLUMNS(endpoints_columns));

/* ---- apps ---- */

static const struct column deployment_columns[] = {
    NAME_COLUMN,
    COLUMN("Ready", "string", "Pods that are ready, of all."),
    COLUMN("Up-to-date", "string", "Pods of the newest template."),
    COLUMN("Available", "string", "Pods that have been ready long enough."),
    AGE_COLUMN,
    WIDE("Containers", "string", "Names of the containers."),
    WIDE("Images", "string", "What they run."),
    WIDE("Selector", "string", "Labels of its pods."),
};
KIND(kind_deployment, .group = "apps", .version = "v1", .kind = "Deployment",
     .plural = "deployments", .singular = "deployment", .short_names = "deploy",
     .categories = "all", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_STATUS | KIND_SCALE | KIND_GENERATION,
     .type = &type_deployment, COLUMNS(deployment_columns), SCALE_PATHS(".spec.selector"));

static const struct column replica_set_columns[] = {
    NAME_COLUMN,
    COLUMN("Desired", "integer", "Pods asked for."),
    COLUMN("Current", "integer", "Pods that exist."),
    COLUMN("Ready", "integer", "Pods that are ready."),
    AGE_COLUMN,
    WIDE("Containers", "string", "Names of the containers."),
    WIDE("Images", "string", "What they run."),
    WIDE("Selector", "string", "Labels of its pods."),
};
KIND(kind_replica_set, .group = "apps", .version = "v1", .kind = "ReplicaSet",
     .plural = "replicasets", .singular = "replicaset", .short_names = "rs", .categories = "all",
     .verbs = VERBS_ALL, .flags = KIND_NAMESPACED | KIND_STATUS | KIND_SCALE | KIND_GENERATION,
     .type = &type_replica_set, COLUMNS(replica_set_columns), SCALE_PATHS(".spec.selector"));

static const struct column controller_revision_columns[] = {
    NAME_COLUMN,
    COLUMN("Controller", "string", "Whose revision it is."),
    COLUMN("Revision", "string", "Counts up."),
    AGE_COLUMN,
};
KIND(kind_controller_revision, .group = "apps", .version = "v1", .kind = "ControllerRevision",
     .plural = "controllerrevisions", .singular = "controllerrevision", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED, .type = &type_controller_revision,
     COLUMNS(controller_revision_columns));

/* ---- autoscaling, policy, scheduling ---- */

static const struct column hpa_columns[] = {
    NAME_COLUMN,
    COLUMN("Reference", "string", "What is scaled."),
    COLUMN("Targets", "string", "What is measured and the target."),
    COLUMN("MinPods", "string", "Never fewer."),
    COLUMN("MaxPods", "string", "Never more."),
    COLUMN("Replicas", "string", "How many there are."),
    AGE_COLUMN,
};
KIND(kind_hpa, .group = "autoscaling", .version = "v2", .kind = "HorizontalPodAutoscaler",
     .plural = "horizontalpodautoscalers", .singular = "horizontalpodautoscaler",
     .short_names = "hpa", .categories = "all", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_STATUS, .type = &type_horizontal_pod_autoscaler,
     COLUMNS(hpa_columns));

KIND(kind_hpa_v1, .group = "autoscaling", .version = "v1", .kind = "HorizontalPodAutoscaler",
     .plural = "horizontalpodautoscalers", .singular = "horizontalpodautoscaler",
     .short_names = "hpa", .categories = "all", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_STATUS, .type = &type_autoscaling_v1_hpa,
     COLUMNS(hpa_columns));

static const struct column pdb_columns[] = {
    NAME_COLUMN,
    COLUMN("Min Available", "string", "Pods that must stay."),
    COLUMN("Max Unavailable", "string", "Pods that may be away."),
    COLUMN("Allowed Disruptions", "integer", "Pods that may go now."),
    AGE_COLUMN,
};
KIND(kind_pdb, .group = "policy", .version = "v1", .kind = "PodDisruptionBudget",
     .plural = "poddisruptionbudgets", .singular = "poddisruptionbudget", .short_names = "pdb",
     .verbs = VERBS_ALL, .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION,
     .type = &type_pod_disruption_budget, COLUMNS(pdb_columns));

static const struct column priority_class_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Value", "integer", ".value", "The priority."),
    COLUMN("Global-Default", "boolean", "Taken by pods that name no class."),
    AGE_COLUMN,
    COLUMN_AT("PreemptionPolicy", "string", ".preemptionPolicy", "Whether it may displace others."),
};
KIND(kind_priority_class, .group = "scheduling.k8s.io", .version = "v1", .kind = "PriorityClass",
     .plural = "priorityclasses", .singular = "priorityclass", .short_names = "pc",
     .verbs = VERBS_ALL, .flags = KIND_GENERATION, .type = &type_priority_class,
     COLUMNS(priority_class_columns));

/* ---- coordination, discovery ---- */

static const struct column lease_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Holder", "string", ".spec.holderIdentity", "Who holds it."),
    AGE_COLUMN,
};
KIND(kind_lease, .group = "coordination.k8s.io", .version = "v1", .kind = "Lease",
     .plural = "leases", .singular = "lease", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_CREATE_ON_UPDATE | KIND_MUST_SEND_VERSION, .type = &type_lease,
     COLUMNS(lease_columns));

static const struct column endpoint_slice_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("AddressType", "string", ".addressType", "Kind of address."),
    COLUMN("Ports", "string", "Ports served."),
    COLUMN("Endpoints", "string", "Addresses."),
    AGE_COLUMN,
};
KIND(kind_endpoint_slice, .group = "discovery.k8s.io", .version = "v1", .kind = "EndpointSlice",
     .plural = "endpointslices", .singular = "endpointslice", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_GENERATION, .type = &type_endpoint_slice,
     COLUMNS(endpoint_slice_columns));

/* ---- roles ---- */

static const struct column role_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Created At", "date", ".metadata.creationTimestamp", "When it was made."),
};
static const struct column role_binding_columns[] = {
    NAME_COLUMN,
    COLUMN("Role", "string", "The role that is granted."),
    AGE_COLUMN,
    WIDE("Users", "string", "Users it is granted to."),
    WIDE("Groups", "string", "Groups it is granted to."),
    WIDE("ServiceAccounts", "string", "Service accounts it is granted to."),
};

KIND(kind_role, .group = "rbac.authorization.k8s.io", .version = "v1", .kind = "Role",
     .plural = "roles", .singular = "role", .verbs = VERBS_ALL, .flags = KIND_NAMESPACED,
     .type = &type_role, COLUMNS(role_columns));
KIND(kind_role_binding, .group = "rbac.authorization.k8s.io", .version = "v1",
     .kind = "RoleBinding", .plural = "rolebindings", .singular = "rolebinding", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED, .type = &type_role_binding, COLUMNS(role_binding_columns));
KIND(kind_cluster_role, .group = "rbac.authorization.k8s.io", .version = "v1",
     .kind = "ClusterRole", .plural = "clusterroles", .singular = "clusterrole", .verbs = VERBS_ALL,
     .type = &type_cluster_role, COLUMNS(role_columns));
KIND(kind_cluster_role_binding, .group = "rbac.authorization.k8s.io", .version = "v1",
     .kind = "ClusterRoleBinding", .plural = "clusterrolebindings",
     .singular = "clusterrolebinding", .verbs = VERBS_ALL, .type = &type_cluster_role_binding,
     COLUMNS(role_binding_columns));

/* ---- extensions ---- */

static const struct column webhook_columns[] = {
    NAME_COLUMN,
    COLUMN("Webhooks", "integer", "Number of services it names."),
    AGE_COLUMN,
};
KIND(kind_mutating_webhook, .group = "admissionregistration.k8s.io", .version = "v1",
     .kind = "MutatingWebhookConfiguration", .plural = "mutatingwebhookconfigurations",
     .singular = "mutatingwebhookconfiguration", .categories = "api-extensions", .verbs = VERBS_ALL,
     .flags = KIND_GENERATION, .type = &type_mutating_webhook_configuration,
     COLUMNS(webhook_columns));
KIND(kind_validating_webhook, .group = "admissionregistration.k8s.io", .version = "v1",
     .kind = "ValidatingWebhookConfiguration", .plural = "validatingwebhookconfigurations",
     .singular = "validatingwebhookconfiguration", .categories = "api-extensions",
     .verbs = VERBS_ALL, .flags = KIND_GENERATION, .type = &type_validating_webhook_configuration,
     COLUMNS(webhook_columns));

KIND(kind_crd, .group = "apiextensions.k8s.io", .version = "v1", .kind = "CustomResourceDefinition",
     .plural = "customresourcedefinitions", .singular = "customresourcedefinition",
     .short_names = "crd,crds", .categories = "api-extensions", .verbs = VERBS_ALL,
     .flags = KIND_STATUS | KIND_GENERATION, .type = &type_custom_resource_definition,
     COLUMNS(role_columns));

/* ---- devices ---- */

static const struct column age_columns[] = {
    NAME_COLUMN,
    AGE_COLUMN,
};
static const struct column claim_columns[] = {
    NAME_COLUMN,
    COLUMN("State", "string", "Whether devices are allocated and reserved."),
    AGE_COLUMN,
};
static const struct column slice_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Node", "string", ".spec.nodeName", "Where the devices are."),
    COLUMN_AT("Driver", "string", ".spec.driver", "Who offers them."),
    COLUMN_AT("Pool", "string", ".spec.pool.name", "The pool they belong to."),
    AGE_COLUMN,
};
#define DEVICE_CLASS(v)                                                                         \
    .group = "resource.k8s.io", .version = v, .kind = "DeviceClass", .plural = "deviceclasses", \
    .singular = "deviceclass", .verbs = VERBS_ALL, .flags = KIND_GENERATION,                    \
    .type = &type_device_class, COLUMNS(age_columns)
KIND(kind_device_class, DEVICE_CLASS("v1"));
KIND(kind_device_class_v1beta2, DEVICE_CLASS("v1beta2"));
#define RESOURCE_CLAIM(v, type_)                                                                   \
    .group = "resource.k8s.io", .version = v, .kind = "ResourceClaim", .plural = "resourceclaims", \
    .singular = "resourceclaim", .verbs = VERBS_ALL, .flags = KIND_NAMESPACED | KIND_STATUS,       \
    .type = &(type_), COLUMNS(claim_columns)
KIND(kind_resource_claim, RESOURCE_CLAIM("v1", type_resource_v1_resource_claim));
KIND(kind_resource_claim_v1beta2, RESOURCE_CLAIM("v1beta2", type_resource_v1_resource_claim));
#define RESOURCE_CLAIM_TEMPLATE(v, type_)                                                        \
    .group = "resource.k8s.io", .version = v, .kind = "ResourceClaimTemplate",                   \
    .plural = "resourceclaimtemplates", .singular = "resourceclaimtemplate", .verbs = VERBS_ALL, \
    .flags = KIND_NAMESPACED, .type = &(type_), COLUMNS(age_columns)
KIND(kind_resource_claim_template, RESOURCE_CLAIM_TEMPLATE("v1", type_resource_claim_template));
KIND(kind_resource_claim_template_v1beta2,
     RESOURCE_CLAIM_TEMPLATE("v1beta2", type_resource_claim_template));
#define RESOURCE_SLICE(v, type_)                                                                   \
    .group = "resource.k8s.io", .version = v, .kind = "ResourceSlice", .plural = "resourceslices", \
    .singular = "resourceslice", .verbs = VERBS_ALL, .flags = KIND_GENERATION, .type = &(type_),   \
    COLUMNS(slice_columns), .field_selectors = "spec.nodeName,spec.driver"
KIND(kind_resource_slice, RESOURCE_SLICE("v1", type_resource_slice));
KIND(kind_resource_slice_v1beta2, RESOURCE_SLICE("v1beta2", type_resource_slice));

KIND(kind_device_class_v1beta1, DEVICE_CLASS("v1beta1"));
KIND(kind_resource_claim_v1beta1, RESOURCE_CLAIM("v1beta1", type_resource_claim_v1beta1));
KIND(kind_resource_claim_template_v1beta1,
     RESOURCE_CLAIM_TEMPLATE("v1beta1", type_resource_claim_template_v1beta1));
KIND(kind_resource_slice_v1beta1, RESOURCE_SLICE("v1beta1", type_resource_slice_v1beta1));

/* In the order discovery lists groups. */
const struct kind *const builtin_kinds[] = {
    &kind_config_map,
    &kind_endpoints,
    &kind_event,
    &kind_namespace,
    &kind_node,
    &kind_persistent_volume_claim,
    &kind_persistent_volume,
    &kind_pod,
    &kind_pod_template,
    &kind_replication_controller,
    &kind_secret,
    &kind_service_account,
    &kind_service,
    &kind_controller_revision,
    &kind_daemon_set,
    &kind_deployment,
    &kind_replica_set,
    &kind_stateful_set,
    &kind_events_event,
    &kind_hpa,
    &kind_cron_job,
    &kind_job,
    &kind_signing_request,
    &kind_cluster_trust_bundle,
    &kind_pod_certificate_request,
    &kind_ingress_class,
    &kind_ingress,
    &kind_ip_address,
    &kind_network_policy,
    &kind_service_cidr,
    &kind_pdb,
    &kind_cluster_role_binding,
    &kind_cluster_role,
    &kind_role_binding,
    &kind_role,
    &kind_csi_driver,
    &kind_csi_node,
    &kind_csi_storage_capacity,
    &kind_storage_class,
    &kind_volume_attachment,
    &kind_volume_attributes_class,
    &kind_priority_class,
    &kind_lease,
    &kind_lease_candidate,
    &kind_runtime_class,
    &kind_endpoint_slice,
    &kind_flow_schema,
    &kind_priority_level,
    &kind_hpa_v1,
    &kind_mutating_policy,
    &kind_mutating_policy_binding,
    &kind_mutating_webhook,
    &kind_validating_policy,
    &kind_validating_policy_binding,
    &kind_validating_webhook,
    &kind_crd,
    &kind_device_class,
    &kind_resource_claim,
    &kind_resource_claim_template,
    &kind_resource_slice,
    &kind_device_taint_rule,
    &kind_api_service,
    &kind_scheduling_pod_group,
    &kind_workload,
    &kind_composite_pod_group,
    &kind_pool_status_request,
    &kind_storage_version,
    &kind_storage_migration,
    &kind_binding,
    &kind_component_status,
    /* older versions, after what clients should prefer */
    &kind_ip_address_v1beta1,
    &kind_service_cidr_v1beta1,
    &kind_volume_attributes_class_v1beta1,
    &kind_cluster_trust_bundle_v1alpha1,
    &kind_lease_candidate_v1alpha2,
    &kind_scheduling_pod_group_v1alpha3,
    &kind_workload_v1alpha3,
    &kind_mutating_policy_v1beta1,
    &kind_mutating_policy_v1alpha1,
    &kind_mutating_policy_binding_v1beta1,
    &kind_mutating_policy_binding_v1alpha1,
    &kind_device_class_v1beta2,
    &kind_resource_claim_v1beta2,
    &kind_resource_claim_template_v1beta2,
    &kind_resource_slice_v1beta2,
    &kind_device_class_v1beta1,
    &kind_resource_claim_v1beta1,
    &kind_resource_claim_template_v1beta1,
    &kind_resource_slice_v1beta1,
    &kind_device_taint_rule_v1alpha3,
};
const size_t n_builtin_kinds = ARRAY_LEN(builtin_kinds);

const struct body_type body_types[] = {
    {NULL, NULL, "DeleteOptions", &type_delete_options},
    {"", "v1", "Binding", &type_binding},
    {"policy", "v1", "Eviction", &type_eviction},
    {"autoscaling", "v1", "Scale", &type_scale},
    {"authentication.k8s.io", "v1", "TokenRequest", &type_token_request},
    {"authentication.k8s.io", "v1", "TokenReview", &type_token_review},
    {"authentication.k8s.io", "v1", "SelfSubjectReview", &type_self_subject_review},
    {"authorization.k8s.io", "v1", "SelfSubjectAccessReview", &type_self_subject_access_review},
    {"authorization.k8s.io", "v1", "SelfSubjectRulesReview", &type_self_subject_rules_review},
    {"authorization.k8s.io", "v1", "SubjectAccessReview", &type_subject_access_review},
    {"authorization.k8s.io", "v1", "LocalSubjectAccessReview", &type_local_subject_access_review},
};
const size_t n_body_types = ARRAY_LEN(body_types);
