/*
 * Kinds of the network and of what a cluster is run with. The server keeps them for those who act
 * on them. A pure table; see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

/* ---- network ---- */

static const struct column ingress_columns[] = {
    NAME_COLUMN,
    COLUMN("Class", "string", "Who serves it."),
    COLUMN("Hosts", "string", "Hosts it is for."),
    COLUMN("Address", "string", "Where it is reached."),
    COLUMN("Ports", "string", "Ports it is reached at."),
    AGE_COLUMN,
};
KIND(kind_ingress, .group = "networking.k8s.io", .version = "v1", .kind = "Ingress",
     .plural = "ingresses", .singular = "ingress", .short_names = "ing", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION, .type = &type_ingress,
     COLUMNS(ingress_columns));

static const struct column ingress_class_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Controller", "string", ".spec.controller", "Who serves its ingresses."),
    COLUMN("Parameters", "string", "Settings for who serves them."),
    AGE_COLUMN,
};
KIND(kind_ingress_class, .group = "networking.k8s.io", .version = "v1", .kind = "IngressClass",
     .plural = "ingressclasses", .singular = "ingressclass", .verbs = VERBS_ALL,
     .flags = KIND_GENERATION, .type = &type_ingress_class, COLUMNS(ingress_class_columns));

static const struct column ip_address_columns[] = {
    NAME_COLUMN,
    COLUMN("ParentRef", "string", "Who has the address."),
    AGE_COLUMN,
};
#define IP_ADDRESS(v)                                                                           \
    .group = "networking.k8s.io", .version = v, .kind = "IPAddress", .plural = "ipaddresses",   \
    .singular = "ipaddress", .short_names = "ip", .verbs = VERBS_ALL, .type = &type_ip_address, \
    COLUMNS(ip_address_columns),                                                                \
    .field_selectors = "spec.parentRef.group,spec.parentRef.resource,spec.parentRef.namespace," \
                       "spec.parentRef.name"
KIND(kind_ip_address, IP_ADDRESS("v1"));
KIND(kind_ip_address_v1beta1, IP_ADDRESS("v1beta1"));

static const struct column network_policy_columns[] = {
    NAME_COLUMN,
    COLUMN("Pod-Selector", "string", "Labels of the pods it is about."),
    AGE_COLUMN,
};
KIND(kind_network_policy, .group = "networking.k8s.io", .version = "v1", .kind = "NetworkPolicy",
     .plural = "networkpolicies", .singular = "networkpolicy", .short_names = "netpol",
     .verbs = VERBS_ALL, .flags = KIND_NAMESPACED | KIND_GENERATION, .type = &type_network_policy,
     COLUMNS(network_policy_columns));

static const struct column service_cidr_columns[] = {
    NAME_COLUMN,
    COLUMN("CIDRs", "string", "Addresses that services are given."),
    AGE_COLUMN,
};
#define SERVICE_CIDR(v)                                                                          \
    .group = "networking.k8s.io", .version = v, .kind = "ServiceCIDR", .plural = "servicecidrs", \
    .singular = "servicecidr", .verbs = VERBS_ALL, .flags = KIND_STATUS,                         \
    .type = &type_service_cidr, COLUMNS(service_cidr_columns)
KIND(kind_service_cidr, SERVICE_CIDR("v1"));
KIND(kind_service_cidr_v1beta1, SERVICE_CIDR("v1beta1"));

/* ---- certificates ---- */

static const struct column signing_request_columns[] = {
    NAME_COLUMN,
    AGE_COLUMN,
    COLUMN_AT("SignerName", "string", ".spec.signerName", "Who is asked to sign."),
    COLUMN_AT("Requestor", "string", ".spec.username", "Who asked."),
    COLUMN("RequestedDuration", "string", "How long it should be good."),
    COLUMN("Condition", "string", "Whether it was approved and issued."),
};
static const struct subresource signing_request_subresources[] = {
    {"approval", "certificates.k8s.io", "v1", "CertificateSigningRequest", VERBS_READ_WRITE},
};
KIND(kind_signing_request, .group = "certificates.k8s.io", .version = "v1",
     .kind = "CertificateSigningRequest", .plural = "certificatesigningrequests",
     .singular = "certificatesigningrequest", .short_names = "csr", .verbs = VERBS_ALL,
     .flags = KIND_STATUS, .type = &type_certificate_signing_request,
     COLUMNS(signing_request_columns), SUBRESOURCES(signing_request_subresources),
     .field_selectors = "spec.signerName");

static const struct column trust_bundle_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("SignerName", "string", ".spec.signerName", "The signer it is trusted for."),
};
#define CLUSTER_TRUST_BUNDLE(v)                                                            \
    .group = "certificates.k8s.io", .version = v, .kind = "ClusterTrustBundle",            \
    .plural = "clustertrustbundles", .singular = "clustertrustbundle", .verbs = VERBS_ALL, \
    .type = &type_cluster_trust_bundle, COLUMNS(trust_bundle_columns),                     \
    .field_selectors = "spec.signerName"
KIND(kind_cluster_trust_bundle, CLUSTER_TRUST_BUNDLE("v1beta1"));
KIND(kind_cluster_trust_bundle_v1alpha1, CLUSTER_TRUST_BUNDLE("v1alpha1"));

static const struct column pod_certificate_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("PodName", "string", ".spec.podName", "The pod it is for."),
    COLUMN_AT("ServiceAccountName", "string", ".spec.serviceAccountName", "Who the pod is."),
    COLUMN_AT("NodeName", "string", ".spec.nodeName", "Where the pod runs."),
    COLUMN_AT("SignerName", "string", ".spec.signerName", "Who is asked to sign."),
    AGE_COLUMN,
};
KIND(kind_pod_certificate_request, .group = "certificates.k8s.io", .version = "v1beta1",
     .kind = "PodCertificateRequest", .plural = "podcertificaterequests",
     .singular = "podcertificaterequest", .verbs = VERBS_ALL,
     .flags = KIND_NAMESPACED | KIND_STATUS, .type = &type_pod_certificate_request,
     COLUMNS(pod_certificate_columns),
     .field_selectors = "spec.signerName,spec.podName,spec.nodeName");

/* ---- admission policies ---- */

static const struct column validating_policy_columns[] = {
    NAME_COLUMN,
    COLUMN("Validations", "integer", "Number of rules."),
    COLUMN("ParamKind", "string", "The kind of its parameters."),
    AGE_COLUMN,
};
KIND(kind_validating_policy, .group = "admissionregistration.k8s.io", .version = "v1",
     .kind = "ValidatingAdmissionPolicy", .plural = "validatingadmissionpolicies",
     .singular = "validatingadmissionpolicy", .categories = "api-extensions", .verbs = VERBS_ALL,
     .flags = KIND_STATUS | KIND_GENERATION, .type = &type_validating_admission_policy,
     COLUMNS(validating_policy_columns));

static const struct column policy_binding_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("PolicyName", "string", ".spec.policyName", "The policy put in force."),
    COLUMN("ParamRef", "string", "Its parameters."),
    AGE_COLUMN,
};
KIND(kind_validating_policy_binding, .group = "admissionregistration.k8s.io", .version = "v1",
     .kind = "ValidatingAdmissionPolicyBinding", .plural = "validatingadmissionpolicybindings",
     .singular = "validatingadmissionpolicybinding", .categories = "api-extensions",
     .verbs = VERBS_ALL, .flags = KIND_GENERATION,
     .type = &type_validating_admission_policy_binding, COLUMNS(policy_binding_columns));

static const struct column mutating_policy_columns[] = {
    NAME_COLUMN,
    COLUMN("Mutations", "integer", "Number of changes."),
    COLUMN("ParamKind", "string", "The kind of its parameters."),
    AGE_COLUMN,
};
#define MUTATING_POLICY(v)                                                                    \
    .group = "admissionregistration.k8s.io", .version = v, .kind = "MutatingAdmissionPolicy", \
    .plural = "mutatingadmissionpolicies", .singular = "mutatingadmissionpolicy",             \
    .categories = "api-extensions", .verbs = VERBS_ALL, .flags = KIND_GENERATION,             \
    .type = &type_mutating_admission_policy, COLUMNS(mutating_policy_columns)
KIND(kind_mutating_policy, MUTATING_POLICY("v1"));
KIND(kind_mutating_policy_v1beta1, MUTATING_POLICY("v1beta1"));
KIND(kind_mutating_policy_v1alpha1, MUTATING_POLICY("v1alpha1"));
#define MUTATING_POLICY_BINDING(v)                                                                 \
    .group = "admissionregistration.k8s.io", .version = v,                                         \
    .kind = "MutatingAdmissionPolicyBinding", .plural = "mutatingadmissionpolicybindings",         \
    .singular = "mutatingadmissionpolicybinding", .categories = "api-extensions",                  \
    .verbs = VERBS_ALL, .flags = KIND_GENERATION, .type = &type_mutating_admission_policy_binding, \
    COLUMNS(policy_binding_columns)
KIND(kind_mutating_policy_binding, MUTATING_POLICY_BINDING("v1"));
KIND(kind_mutating_policy_binding_v1beta1, MUTATING_POLICY_BINDING("v1beta1"));
KIND(kind_mutating_policy_binding_v1alpha1, MUTATING_POLICY_BINDING("v1alpha1"));

/* ---- flow control ---- */

static const struct column flow_schema_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("PriorityLevel", "string", ".spec.priorityLevelConfiguration.name",
              "The level its requests are served at."),
    COLUMN_AT("MatchingPrecedence", "string", ".spec.matchingPrecedence",
              "The lowest that matches counts."),
    COLUMN("DistinguisherMethod", "string", "What makes a flow."),
    AGE_COLUMN,
    COLUMN("MissingPL", "string", "Whether the level is missing."),
};
KIND(kind_flow_schema, .group = "flowcontrol.apiserver.k8s.io", .version = "v1",
     .kind = "FlowSchema", .plural = "flowschemas", .singular = "flowschema", .verbs = VERBS_ALL,
     .flags = KIND_STATUS | KIND_GENERATION, .type = &type_flow_schema,
     COLUMNS(flow_schema_columns));

static const struct column priority_level_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Type", "string", ".spec.type", "Whether requests wait at all."),
    COLUMN("NominalConcurrencyShares", "string", "Its share of what is served."),
    COLUMN("Queues", "string", "Number of queues."),
    COLUMN("HandSize", "string", "Queues a flow may use."),
    COLUMN("QueueLengthLimit", "string", "Requests in a queue."),
    AGE_COLUMN,
};
KIND(kind_priority_level, .group = "flowcontrol.apiserver.k8s.io", .version = "v1",
     .kind = "PriorityLevelConfiguration", .plural = "prioritylevelconfigurations",
     .singular = "prioritylevelconfiguration", .verbs = VERBS_ALL,
     .flags = KIND_STATUS | KIND_GENERATION, .type = &type_priority_level_configuration,
     COLUMNS(priority_level_columns));

/* ---- others ---- */

static const struct column runtime_class_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Handler", "string", ".handler", "What the node runs containers with."),
    AGE_COLUMN,
};
KIND(kind_runtime_class, .group = "node.k8s.io", .version = "v1", .kind = "RuntimeClass",
     .plural = "runtimeclasses", .singular = "runtimeclass", .verbs = VERBS_ALL,
     .flags = KIND_MUST_SEND_VERSION, .type = &type_runtime_class, COLUMNS(runtime_class_columns));

static const struct column lease_candidate_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("LeaseName", "string", ".spec.leaseName", "The lease it would hold."),
    COLUMN_AT("BinaryVersion", "string", ".spec.binaryVersion", "Its version."),
    COLUMN_AT("EmulationVersion", "string", ".spec.emulationVersion", "The version it acts as."),
    COLUMN_AT("Strategy", "string", ".spec.strategy", "How the holder is chosen."),
    AGE_COLUMN,
};
#define LEASE_CANDIDATE(v)                                                         \
    .group = "coordination.k8s.io", .version = v, .kind = "LeaseCandidate",        \
    .plural = "leasecandidates", .singular = "leasecandidate", .verbs = VERBS_ALL, \
    .flags = KIND_NAMESPACED | KIND_CREATE_ON_UPDATE | KIND_MUST_SEND_VERSION,     \
    .type = &type_lease_candidate, COLUMNS(lease_candidate_columns),               \
    .field_selectors = "spec.leaseName"
KIND(kind_lease_candidate, LEASE_CANDIDATE("v1beta1"));
KIND(kind_lease_candidate_v1alpha2, LEASE_CANDIDATE("v1alpha2"));

static const struct column device_taint_rule_columns[] = {
    NAME_COLUMN,
    AGE_COLUMN,
};
#define DEVICE_TAINT_RULE(v)                                                         \
    .group = "resource.k8s.io", .version = v, .kind = "DeviceTaintRule",             \
    .plural = "devicetaintrules", .singular = "devicetaintrule", .verbs = VERBS_ALL, \
    .flags = KIND_STATUS | KIND_GENERATION, .type = &type_device_taint_rule,         \
    COLUMNS(device_taint_rule_columns)
KIND(kind_device_taint_rule, DEVICE_TAINT_RULE("v1beta2"));
KIND(kind_device_taint_rule_v1alpha3, DEVICE_TAINT_RULE("v1alpha3"));

static const struct column api_service_columns[] = {
    NAME_COLUMN,
    COLUMN("Service", "string", "Who serves it."),
    COLUMN("Available", "string", "Whether it answers."),
    AGE_COLUMN,
};
KIND(kind_api_service, .group = "apiregistration.k8s.io", .version = "v1", .kind = "APIService",
     .plural = "apiservices", .singular = "apiservice", .categories = "api-extensions",
     .verbs = VERBS_ALL, .flags = KIND_STATUS, .type = &type_api_service,
     COLUMNS(api_service_columns));

/* ---- alpha and beta, without another version ---- */

static const struct column plain_columns[] = {
    NAME_COLUMN,
    AGE_COLUMN,
};

#define SCHEDULING_POD_GROUP(v)                                                                   \
    .group = "scheduling.k8s.io", .version = v, .kind = "PodGroup", .plural = "podgroups",        \
    .singular = "podgroup", .verbs = VERBS_ALL,                                                   \
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION, .type = &type_scheduling_pod_group, \
    COLUMNS(plain_columns)
KIND(kind_scheduling_pod_group, SCHEDULING_POD_GROUP("v1beta1"));
KIND(kind_scheduling_pod_group_v1alpha3, SCHEDULING_POD_GROUP("v1alpha3"));
#define WORKLOAD(v)                                                                         \
    .group = "scheduling.k8s.io", .version = v, .kind = "Workload", .plural = "workloads",  \
    .singular = "workload", .verbs = VERBS_ALL, .flags = KIND_NAMESPACED | KIND_GENERATION, \
    .type = &type_workload, COLUMNS(plain_columns)
KIND(kind_workload, WORKLOAD("v1beta1"));
KIND(kind_workload_v1alpha3, WORKLOAD("v1alpha3"));
KIND(kind_composite_pod_group, .group = "scheduling.k8s.io", .version = "v1alpha3",
     .kind = "CompositePodGroup", .plural = "compositepodgroups", .singular = "compositepodgroup",
     .verbs = VERBS_ALL, .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION,
     .type = &type_composite_pod_group, COLUMNS(plain_columns));
KIND(kind_pool_status_request, .group = "resource.k8s.io", .version = "v1alpha3",
     .kind = "ResourcePoolStatusRequest", .plural = "resourcepoolstatusrequests",
     .singular = "resourcepoolstatusrequest", .verbs = VERBS_ALL,
     .flags = KIND_STATUS | KIND_GENERATION, .type = &type_pool_status_request,
     COLUMNS(plain_columns));
KIND(kind_storage_version, .group = "internal.apiserver.k8s.io", .version = "v1alpha1",
     .kind = "StorageVersion", .plural = "storageversions", .singular = "storageversion",
     .verbs = VERBS_ALL, .flags = KIND_STATUS, .type = &type_storage_version,
     COLUMNS(plain_columns));
KIND(kind_storage_migration, .group = "storagemigration.k8s.io", .version = "v1beta1",
     .kind = "StorageVersionMigration", .plural = "storageversionmigrations",
     .singular = "storageversionmigration", .verbs = VERBS_ALL, .flags = KIND_STATUS,
     .type = &type_storage_migration, COLUMNS(plain_columns));

/* ---- of old ---- */

/* Only ever created, and then it is a pod that changes: route.c. */
KIND(kind_binding, .group = "", .version = "v1", .kind = "Binding", .plural = "bindings",
     .singular = "binding", .verbs = VERB_CREATE, .flags = KIND_NAMESPACED, .type = &type_binding,
     COLUMNS(plain_columns));
static const struct column component_columns[] = {
    NAME_COLUMN,
    COLUMN_AT("Conditions", "string", ".conditions", "How it is."),
};
/* What it asks about is one process here, which answers or does not. */
KIND(kind_component_status, .group = "", .version = "v1", .kind = "ComponentStatus",
     .plural = "componentstatuses", .singular = "componentstatus", .short_names = "cs",
     .verbs = VERB_GET | VERB_LIST, .type = &type_component_status, COLUMNS(component_columns),
     .deprecated = "v1 ComponentStatus is deprecated in v1.19+");
