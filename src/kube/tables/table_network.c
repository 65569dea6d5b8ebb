/*
 * Tables of the network: ingresses, policies, addresses. A pure table;
 * see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

static const struct field service_backend_port_fields[] = {
    ONE("name", type_string, 1),
    ONE("number", type_int32, 2),
};
static OBJECT(service_backend_port, "ServiceBackendPort");

static const struct field ingress_service_backend_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("port", type_service_backend_port, 2),
};
static OBJECT(ingress_service_backend, "IngressServiceBackend");

static const struct field ingress_backend_fields[] = {
    ONE("resource", type_typed_local_object_reference, 3, .flags = ATOMIC),
    ONE("service", type_ingress_service_backend, 4),
};
static OBJECT(ingress_backend, "IngressBackend");

static const struct field http_ingress_path_fields[] = {
    ONE("path", type_string, 1, .doc = "What paths begin with or are."),
    ONE("backend", type_ingress_backend, 2, .flags = REQUIRED, .doc = "Where requests go."),
    ONE("pathType", type_string, 3, .flags = REQUIRED | POINTER,
        .enums = "Exact|ImplementationSpecific|Prefix", .doc = "How the path is compared."),
};
static OBJECT(http_ingress_path, "HTTPIngressPath");

static const struct field http_ingress_rule_value_fields[] = {
    LIST("paths", type_http_ingress_path, 1, .flags = REQUIRED),
};
static OBJECT(http_ingress_rule_value, "HTTPIngressRuleValue");

static const struct field ingress_rule_fields[] = {
    ONE("host", type_string, 1),
    ONE("http", type_http_ingress_rule_value, 1, .parent_tag = 2),
};
static OBJECT(ingress_rule, "IngressRule");

static const struct field ingress_tls_fields[] = {
    LIST("hosts", type_string, 1),
    ONE("secretName", type_string, 2),
};
static OBJECT(ingress_tls, "IngressTLS");

static const struct field ingress_spec_fields[] = {
    ONE("defaultBackend", type_ingress_backend, 1, .doc = "Where requests go that no rule takes."),
    LIST("tls", type_ingress_tls, 2, .doc = "Certificates by host."),
    LIST("rules", type_ingress_rule, 3, .doc = "Which requests go where."),
    ONE("ingressClassName", type_string, 4, .flags = POINTER, .doc = "Who serves it."),
};
static OBJECT(ingress_spec, "IngressSpec");

static const struct field ingress_port_status_fields[] = {
    ONE("port", type_int32, 1, .flags = REQUIRED),
    ONE("protocol", type_string, 2, .flags = REQUIRED),
    ONE("error", type_string, 3, .flags = POINTER),
};
static OBJECT(ingress_port_status, "IngressPortStatus");

static const struct field ingress_load_balancer_ingress_fields[] = {
    ONE("ip", type_string, 1),
    ONE("hostname", type_string, 2),
    LIST("ports", type_ingress_port_status, 4),
};
static OBJECT(ingress_load_balancer_ingress, "IngressLoadBalancerIngress");

static const struct field ingress_load_balancer_status_fields[] = {
    LIST("ingress", type_ingress_load_balancer_ingress, 1),
};
static OBJECT(ingress_load_balancer_status, "IngressLoadBalancerStatus");

static const struct field ingress_status_fields[] = {
    ONE("loadBalancer", type_ingress_load_balancer_status, 1),
};
static OBJECT(ingress_status, "IngressStatus");

static const struct field ingress_fields[] = {
    ONE("apiVersion", type_string, 0),     ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),  ONE("spec", type_ingress_spec, 2),
    ONE("status", type_ingress_status, 3),
};
OBJECT(ingress, "Ingress");

static const struct field ingress_class_parameters_reference_fields[] = {
    ONE("apiGroup", type_string, 1, .flags = POINTER),
    ONE("kind", type_string, 2, .flags = REQUIRED),
    ONE("name", type_string, 3, .flags = REQUIRED),
    ONE("scope", type_string, 4, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"Cluster\"",
        .enums = "Cluster|Namespace"),
    ONE("namespace", type_string, 5, .flags = POINTER),
};
static OBJECT(ingress_class_parameters_reference, "IngressClassParametersReference");

static const struct field ingress_class_spec_fields[] = {
    ONE("controller", type_string, 1, .doc = "Who serves ingresses of this class."),
    ONE("parameters", type_ingress_class_parameters_reference, 2,
        .doc = "Settings for who serves them."),
};
static OBJECT(ingress_class_spec, "IngressClassSpec");

static const struct field ingress_class_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_ingress_class_spec, 2),
};
OBJECT(ingress_class, "IngressClass");

static const struct field network_policy_port_fields[] = {
    ONE("protocol", type_string, 1, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"TCP\"",
        .enums = "SCTP|TCP|UDP"),
    ONE("port", type_int_or_string, 2, .flags = POINTER),
    ONE("endPort", type_int32, 3, .flags = POINTER),
};
static OBJECT(network_policy_port, "NetworkPolicyPort");

static const struct field ip_block_fields[] = {
    ONE("cidr", type_string, 1, .flags = REQUIRED),
    LIST("except", type_string, 2),
};
static OBJECT(ip_block, "IPBlock");

static const struct field network_policy_peer_fields[] = {
    ONE("podSelector", type_label_selector, 1, .flags = ATOMIC),
    ONE("namespaceSelector", type_label_selector, 2, .flags = ATOMIC),
    ONE("ipBlock", type_ip_block, 3),
};
static OBJECT(network_policy_peer, "NetworkPolicyPeer");

static const struct field network_policy_egress_rule_fields[] = {
    LIST("ports", type_network_policy_port, 1),
    LIST("to", type_network_policy_peer, 2),
};
static OBJECT(network_policy_egress_rule, "NetworkPolicyEgressRule");

static const struct field network_policy_ingress_rule_fields[] = {
    LIST("ports", type_network_policy_port, 1),
    LIST("from", type_network_policy_peer, 2),
};
static OBJECT(network_policy_ingress_rule, "NetworkPolicyIngressRule");

static const struct field network_policy_spec_fields[] = {
    ONE("podSelector", type_label_selector, 1, .flags = ATOMIC, .doc = "The pods it is about."),
    LIST("ingress", type_network_policy_ingress_rule, 2, .doc = "What may come in."),
    LIST("egress", type_network_policy_egress_rule, 3, .doc = "What may go out."),
    LIST("policyTypes", type_string, 4, .doc = "Which directions it is about."),
};
static OBJECT(network_policy_spec, "NetworkPolicySpec");

static const struct field network_policy_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_network_policy_spec, 2),
};
OBJECT(network_policy, "NetworkPolicy");

static const struct field parent_reference_fields[] = {
    ONE("group", type_string, 1),
    ONE("resource", type_string, 2, .flags = REQUIRED),
    ONE("namespace", type_string, 3),
    ONE("name", type_string, 4, .flags = REQUIRED),
};
static OBJECT(parent_reference, "ParentReference");

static const struct field ip_address_spec_fields[] = {
    ONE("parentRef", type_parent_reference, 1, .flags = REQUIRED, .doc = "Who has the address."),
};
static OBJECT(ip_address_spec, "IPAddressSpec");

static const struct field ip_address_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_ip_address_spec, 2, .flags = REQUIRED),
};
OBJECT(ip_address, "IPAddress");

static const struct field service_cidr_spec_fields[] = {
    LIST("cidrs", type_string, 1, .doc = "Addresses that services are given."),
};
static OBJECT(service_cidr_spec, "ServiceCIDRSpec");

static const struct field service_cidr_status_fields[] = {
    KEYED("conditions", type_condition, 1, "type", .flags = MERGE, .patch_key = "type"),
};
static OBJECT(service_cidr_status, "ServiceCIDRStatus");

static const struct field service_cidr_fields[] = {
    ONE("apiVersion", type_string, 0),          ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),       ONE("spec", type_service_cidr_spec, 2),
    ONE("status", type_service_cidr_status, 3),
};
OBJECT(service_cidr, "ServiceCIDR");
