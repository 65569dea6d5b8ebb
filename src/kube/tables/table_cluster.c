/*
 * Tables of what a cluster is run with: admission policies, certificates, flow control, runtimes. A
 * pure table; see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

static const struct field audit_annotation_fields[] = {
    ONE("key", type_string, 1, .flags = REQUIRED),
    ONE("valueExpression", type_string, 2, .flags = REQUIRED),
};
static OBJECT(audit_annotation, "AuditAnnotation");

static const struct field named_rule_with_operations_fields[] = {
    LIST("resourceNames", type_string, 1),
    LIST("operations", type_string, 1, .parent_tag = 2),
    LIST("apiGroups", type_string, 1, .parent_tag = 0x22),
    LIST("apiVersions", type_string, 2, .parent_tag = 0x22),
    LIST("resources", type_string, 3, .parent_tag = 0x22),
    ONE("scope", type_string, 4, .parent_tag = 0x22, .flags = POINTER | BUILTIN_DEFAULT,
        .dflt = "\"*\"", .enums = "*|Cluster|Namespaced"),
};
static OBJECT(named_rule_with_operations, "NamedRuleWithOperations");

static const struct field match_resources_fields[] = {
    ONE("namespaceSelector", type_label_selector, 1, .flags = ATOMIC | BUILTIN_DEFAULT,
        .dflt = "{}"),
    ONE("objectSelector", type_label_selector, 2, .flags = ATOMIC | BUILTIN_DEFAULT, .dflt = "{}"),
    LIST("resourceRules", type_named_rule_with_operations, 3, .flags = ATOMIC),
    LIST("excludeResourceRules", type_named_rule_with_operations, 4, .flags = ATOMIC),
    ONE("matchPolicy", type_string, 7, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"Equivalent\"",
        .enums = "Equivalent|Exact"),
};
static OBJECT(match_resources, "MatchResources");

static const struct field param_kind_fields[] = {
    ONE("apiVersion", type_string, 1),
    ONE("kind", type_string, 2),
};
static OBJECT(param_kind, "ParamKind");

static const struct field validation_fields[] = {
    ONE("expression", type_string, 1, .flags = REQUIRED, .doc = "True when all is well."),
    ONE("message", type_string, 2, .doc = "What is said when it is not."),
    ONE("reason", type_string, 3, .flags = POINTER),
    ONE("messageExpression", type_string, 4),
};
static OBJECT(validation, "Validation");

static const struct field variable_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("expression", type_string, 2, .flags = REQUIRED),
};
static OBJECT(variable, "Variable");

static const struct field validating_admission_policy_spec_fields[] = {
    ONE("paramKind", type_param_kind, 1, .flags = ATOMIC, .doc = "The kind of its parameters."),
    ONE("matchConstraints", type_match_resources, 2, .flags = ATOMIC,
        .doc = "Which requests it is about."),
    LIST("validations", type_validation, 3, .doc = "What must hold."),
    ONE("failurePolicy", type_string, 4, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"Fail\"",
        .enums = "Fail|Ignore", .doc = "What happens when it cannot be evaluated."),
    LIST("auditAnnotations", type_audit_annotation, 5),
    KEYED("matchConditions", type_match_condition, 6, "name", .flags = MERGE, .patch_key = "name"),
    KEYED("variables", type_variable, 7, "name", .flags = MERGE, .patch_key = "name",
          .doc = "Expressions with a name."),
};
static OBJECT(validating_admission_policy_spec, "ValidatingAdmissionPolicySpec");

static const struct field expression_warning_fields[] = {
    ONE("fieldRef", type_string, 2, .flags = REQUIRED),
    ONE("warning", type_string, 3, .flags = REQUIRED),
};
static OBJECT(expression_warning, "ExpressionWarning");

static const struct field type_checking_fields[] = {
    LIST("expressionWarnings", type_expression_warning, 1),
};
static OBJECT(type_checking, "TypeChecking");

static const struct field validating_admission_policy_status_fields[] = {
    ONE("observedGeneration", type_int64, 1),
    ONE("typeChecking", type_type_checking, 2),
    KEYED("conditions", type_condition, 3, "type"),
};
static OBJECT(validating_admission_policy_status, "ValidatingAdmissionPolicyStatus");

static const struct field validating_admission_policy_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_validating_admission_policy_spec, 2),
    ONE("status", type_validating_admission_policy_status, 3),
};
OBJECT(validating_admission_policy, "ValidatingAdmissionPolicy");

static const struct field param_ref_fields[] = {
    ONE("name", type_string, 1),
    ONE("namespace", type_string, 2),
    ONE("selector", type_label_selector, 3, .flags = ATOMIC),
    ONE("parameterNotFoundAction", type_string, 4, .flags = POINTER, .enums = "Allow|Deny"),
};
static OBJECT(param_ref, "ParamRef");

static const struct field validating_admission_policy_binding_spec_fields[] = {
    ONE("policyName", type_string, 1, .flags = REQUIRED, .doc = "The policy that is put in force."),
    ONE("paramRef", type_param_ref, 2, .flags = ATOMIC),
    ONE("matchResources", type_match_resources, 3, .flags = ATOMIC),
    SET("validationActions", type_string, 4, .flags = REQUIRED,
        .doc = "What happens when it does not hold."),
};
static OBJECT(validating_admission_policy_binding_spec, "ValidatingAdmissionPolicyBindingSpec");

static const struct field validating_admission_policy_binding_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_validating_admission_policy_binding_spec, 2, .flags = REQUIRED),
};
OBJECT(validating_admission_policy_binding, "ValidatingAdmissionPolicyBinding");

static const struct field apply_configuration_fields[] = {
    ONE("expression", type_string, 1),
};
static OBJECT(apply_configuration, "ApplyConfiguration");

static const struct field json_patch_fields[] = {
    ONE("expression", type_string, 1),
};
static OBJECT(json_patch, "JSONPatch");

static const struct field mutation_fields[] = {
    ONE("patchType", type_string, 2, .flags = REQUIRED, .enums = "ApplyConfiguration|JSONPatch"),
    ONE("applyConfiguration", type_apply_configuration, 3),
    ONE("jsonPatch", type_json_patch, 4),
};
static OBJECT(mutation, "Mutation");

static const struct field mutating_admission_policy_spec_fields[] = {
    ONE("paramKind", type_param_kind, 1, .flags = ATOMIC),
    ONE("matchConstraints", type_match_resources, 2, .flags = ATOMIC,
        .doc = "Which requests it is about."),
    LIST("variables", type_variable, 3),
    LIST("mutations", type_mutation, 4, .doc = "What is changed."),
    ONE("failurePolicy", type_string, 5, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"Fail\"",
        .enums = "Fail|Ignore"),
    KEYED("matchConditions", type_match_condition, 6, "name", .flags = MERGE, .patch_key = "name"),
    ONE("reinvocationPolicy", type_string, 7, .enums = "IfNeeded|Never"),
};
static OBJECT(mutating_admission_policy_spec, "MutatingAdmissionPolicySpec");

static const struct field mutating_admission_policy_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_mutating_admission_policy_spec, 2),
};
OBJECT(mutating_admission_policy, "MutatingAdmissionPolicy");

static const struct field mutating_admission_policy_binding_spec_fields[] = {
    ONE("policyName", type_string, 1, .doc = "The policy that is put in force."),
    ONE("paramRef", type_param_ref, 2, .flags = ATOMIC),
    ONE("matchResources", type_match_resources, 3, .flags = ATOMIC),
};
static OBJECT(mutating_admission_policy_binding_spec, "MutatingAdmissionPolicyBindingSpec");

static const struct field mutating_admission_policy_binding_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_mutating_admission_policy_binding_spec, 2),
};
OBJECT(mutating_admission_policy_binding, "MutatingAdmissionPolicyBinding");

static const struct field certificate_signing_request_spec_fields[] = {
    ONE("request", type_bytes, 1, .flags = REQUIRED, .doc = "The request, PEM."),
    ONE("username", type_string, 2, .doc = "Who asked; set by the server."),
    ONE("uid", type_string, 3),
    LIST("groups", type_string, 4),
    LIST("usages", type_string, 5, .doc = "What the key is for."),
    MAP("extra", type_string_list, 6),
    ONE("signerName", type_string, 7, .flags = REQUIRED, .doc = "Who is asked to sign."),
    ONE("expirationSeconds", type_int32, 8, .flags = POINTER, .doc = "How long it should be good."),
};
static OBJECT(certificate_signing_request_spec, "CertificateSigningRequestSpec");

static const struct field certificate_signing_request_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("reason", type_string, 2),
    ONE("message", type_string, 3),
    ONE("lastUpdateTime", type_time, 4),
    ONE("lastTransitionTime", type_time, 5),
    ONE("status", type_string, 6, .flags = REQUIRED, .enums = "False|True|Unknown"),
};
static OBJECT(certificate_signing_request_condition, "CertificateSigningRequestCondition");

static const struct field certificate_signing_request_status_fields[] = {
    KEYED("conditions", type_certificate_signing_request_condition, 1, "type",
          .doc = "Whether it was approved or denied."),
    ONE("certificate", type_bytes, 2, .doc = "What was signed, PEM."),
};
static OBJECT(certificate_signing_request_status, "CertificateSigningRequestStatus");

static const struct field certificate_signing_request_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_certificate_signing_request_spec, 2, .flags = REQUIRED),
    ONE("status", type_certificate_signing_request_status, 3),
};
OBJECT(certificate_signing_request, "CertificateSigningRequest");

static const struct field cluster_trust_bundle_spec_fields[] = {
    ONE("signerName", type_string, 1, .doc = "The signer it is trusted for."),
    ONE("trustBundle", type_string, 2, .flags = REQUIRED,
        .doc = "Certificates that are trusted, PEM."),
};
static OBJECT(cluster_trust_bundle_spec, "ClusterTrustBundleSpec");

static const struct field cluster_trust_bundle_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_cluster_trust_bundle_spec, 2, .flags = REQUIRED),
};
OBJECT(cluster_trust_bundle, "ClusterTrustBundle");

static const struct field pod_certificate_request_spec_fields[] = {
    ONE("signerName", type_string, 1, .flags = REQUIRED),
    ONE("podName", type_string, 2, .flags = REQUIRED),
    ONE("podUID", type_string, 3, .flags = REQUIRED),
    ONE("serviceAccountName", type_string, 4, .flags = REQUIRED),
    ONE("serviceAccountUID", type_string, 5, .flags = REQUIRED),
    ONE("nodeName", type_string, 6, .flags = REQUIRED),
    ONE("nodeUID", type_string, 7, .flags = REQUIRED),
    ONE("maxExpirationSeconds", type_int32, 8, .flags = POINTER),
    ONE("pkixPublicKey", type_bytes, 9),
    ONE("proofOfPossession", type_bytes, 10),
    MAP("unverifiedUserAnnotations", type_string, 11),
    ONE("stubPKCS10Request", type_bytes, 12, .flags = REQUIRED),
};
static OBJECT(pod_certificate_request_spec, "PodCertificateRequestSpec");

static const struct field pod_certificate_request_status_fields[] = {
    KEYED("conditions", type_condition, 1, "type", .flags = MERGE, .patch_key = "type"),
    ONE("certificateChain", type_string, 2),
    ONE("notBefore", type_time, 4),
    ONE("beginRefreshAt", type_time, 5),
    ONE("notAfter", type_time, 6),
};
static OBJECT(pod_certificate_request_status, "PodCertificateRequestStatus");

static const struct field pod_certificate_request_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_pod_certificate_request_spec, 2, .flags = REQUIRED),
    ONE("status", type_pod_certificate_request_status, 3),
};
OBJECT(pod_certificate_request, "PodCertificateRequest");

static const struct field lease_candidate_spec_fields[] = {
    ONE("leaseName", type_string, 1, .flags = REQUIRED, .doc = "The lease it would hold."),
    ONE("pingTime", type_micro_time, 2),
    ONE("renewTime", type_micro_time, 3),
    ONE("binaryVersion", type_string, 4, .flags = REQUIRED, .doc = "Its version."),
    ONE("emulationVersion", type_string, 5),
    ONE("strategy", type_string, 6, .flags = REQUIRED, .doc = "How the holder is chosen."),
};
static OBJECT(lease_candidate_spec, "LeaseCandidateSpec");

static const struct field lease_candidate_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_lease_candidate_spec, 2, .flags = REQUIRED),
};
OBJECT(lease_candidate, "LeaseCandidate");

static const struct field flow_distinguisher_method_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED, .enums = "ByNamespace|ByUser"),
};
static OBJECT(flow_distinguisher_method, "FlowDistinguisherMethod");

static const struct field priority_level_configuration_reference_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
};
static OBJECT(priority_level_configuration_reference, "PriorityLevelConfigurationReference");

static const struct field non_resource_policy_rule_fields[] = {
    SET("verbs", type_string, 1, .flags = REQUIRED),
    SET("nonResourceURLs", type_string, 6, .flags = REQUIRED),
};
static OBJECT(non_resource_policy_rule, "NonResourcePolicyRule");

static const struct field resource_policy_rule_fields[] = {
    SET("verbs", type_string, 1, .flags = REQUIRED),
    SET("apiGroups", type_string, 2, .flags = REQUIRED),
    SET("resources", type_string, 3, .flags = REQUIRED),
    ONE("clusterScope", type_bool, 4),
    SET("namespaces", type_string, 5),
};
static OBJECT(resource_policy_rule, "ResourcePolicyRule");

static const struct field group_subject_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
};
static OBJECT(group_subject, "GroupSubject");

static const struct field service_account_subject_fields[] = {
    ONE("namespace", type_string, 1, .flags = REQUIRED),
    ONE("name", type_string, 2, .flags = REQUIRED),
};
static OBJECT(service_account_subject, "ServiceAccountSubject");

static const struct field user_subject_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
};
static OBJECT(user_subject, "UserSubject");

static const struct field flowcontrol_v1_subject_fields[] = {
    ONE("kind", type_string, 1, .flags = REQUIRED, .enums = "Group|ServiceAccount|User"),
    ONE("user", type_user_subject, 2),
    ONE("group", type_group_subject, 3),
    ONE("serviceAccount", type_service_account_subject, 4),
};
static OBJECT(flowcontrol_v1_subject, "FlowcontrolV1Subject");

static const struct field policy_rules_with_subjects_fields[] = {
    LIST("subjects", type_flowcontrol_v1_subject, 1, .flags = REQUIRED),
    LIST("resourceRules", type_resource_policy_rule, 2),
    LIST("nonResourceRules", type_non_resource_policy_rule, 3),
};
static OBJECT(policy_rules_with_subjects, "PolicyRulesWithSubjects");

static const struct field flow_schema_spec_fields[] = {
    ONE("priorityLevelConfiguration", type_priority_level_configuration_reference, 1,
        .flags = REQUIRED, .doc = "The level its requests are served at."),
    ONE("matchingPrecedence", type_int32, 2, .flags = BUILTIN_DEFAULT, .dflt = "1000",
        .doc = "The lowest that matches counts."),
    ONE("distinguisherMethod", type_flow_distinguisher_method, 3),
    LIST("rules", type_policy_rules_with_subjects, 4, .doc = "Which requests it is about."),
};
static OBJECT(flow_schema_spec, "FlowSchemaSpec");

static const struct field flow_schema_condition_fields[] = {
    ONE("type", type_string, 1),
    ONE("status", type_string, 2),
    ONE("lastTransitionTime", type_time, 3),
    ONE("reason", type_string, 4),
    ONE("message", type_string, 5),
};
static OBJECT(flow_schema_condition, "FlowSchemaCondition");

static const struct field flow_schema_status_fields[] = {
    KEYED("conditions", type_flow_schema_condition, 1, "type", .flags = MERGE, .patch_key = "type"),
};
static OBJECT(flow_schema_status, "FlowSchemaStatus");

static const struct field flow_schema_fields[] = {
    ONE("apiVersion", type_string, 0),         ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),      ONE("spec", type_flow_schema_spec, 2),
    ONE("status", type_flow_schema_status, 3),
};
OBJECT(flow_schema, "FlowSchema");

static const struct field exempt_priority_level_configuration_fields[] = {
    ONE("nominalConcurrencyShares", type_int32, 1, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "0"),
    ONE("lendablePercent", type_int32, 2, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "0"),
};
static OBJECT(exempt_priority_level_configuration, "ExemptPriorityLevelConfiguration");

static const struct field queuing_configuration_fields[] = {
    ONE("queues", type_int32, 1, .flags = BUILTIN_DEFAULT, .dflt = "64"),
    ONE("handSize", type_int32, 2, .flags = BUILTIN_DEFAULT, .dflt = "8"),
    ONE("queueLengthLimit", type_int32, 3, .flags = BUILTIN_DEFAULT, .dflt = "50"),
};
static OBJECT(queuing_configuration, "QueuingConfiguration");

static const struct field limit_response_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED, .enums = "Queue|Reject"),
    ONE("queuing", type_queuing_configuration, 2),
};
static OBJECT(limit_response, "LimitResponse");

static const struct field limited_priority_level_configuration_fields[] = {
    ONE("nominalConcurrencyShares", type_int32, 1, .flags = POINTER | BUILTIN_DEFAULT,
        .dflt = "30"),
    ONE("limitResponse", type_limit_response, 2),
    ONE("lendablePercent", type_int32, 3, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "0"),
    ONE("borrowingLimitPercent", type_int32, 4, .flags = POINTER),
};
static OBJECT(limited_priority_level_configuration, "LimitedPriorityLevelConfiguration");

static const struct field priority_level_configuration_spec_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED, .enums = "Exempt|Limited",
        .doc = "Whether requests wait at all."),
    ONE("limited", type_limited_priority_level_configuration, 2,
        .doc = "How many are served and how others wait."),
    ONE("exempt", type_exempt_priority_level_configuration, 3),
};
static OBJECT(priority_level_configuration_spec, "PriorityLevelConfigurationSpec");

static const struct field priority_level_configuration_condition_fields[] = {
    ONE("type", type_string, 1),
    ONE("status", type_string, 2),
    ONE("lastTransitionTime", type_time, 3),
    ONE("reason", type_string, 4),
    ONE("message", type_string, 5),
};
static OBJECT(priority_level_configuration_condition, "PriorityLevelConfigurationCondition");

static const struct field priority_level_configuration_status_fields[] = {
    KEYED("conditions", type_priority_level_configuration_condition, 1, "type", .flags = MERGE,
          .patch_key = "type"),
};
static OBJECT(priority_level_configuration_status, "PriorityLevelConfigurationStatus");

static const struct field priority_level_configuration_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_priority_level_configuration_spec, 2),
    ONE("status", type_priority_level_configuration_status, 3),
};
OBJECT(priority_level_configuration, "PriorityLevelConfiguration");

static const struct field overhead_fields[] = {
    MAP("podFixed", type_quantity, 1),
};
static OBJECT(overhead, "Overhead");

static const struct field scheduling_fields[] = {
    MAP("nodeSelector", type_string, 1, .flags = ATOMIC),
    LIST("tolerations", type_toleration, 2),
};
static OBJECT(scheduling, "Scheduling");

static const struct field runtime_class_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("handler", type_string, 2, .flags = REQUIRED, .doc = "What the node runs containers with."),
    ONE("overhead", type_overhead, 3, .doc = "What a pod costs beside its containers."),
    ONE("scheduling", type_scheduling, 4, .doc = "Which nodes have it."),
};
OBJECT(runtime_class, "RuntimeClass");

static const struct field device_taint_selector_fields[] = {
    ONE("driver", type_string, 2, .flags = POINTER),
    ONE("pool", type_string, 3, .flags = POINTER),
    ONE("device", type_string, 4, .flags = POINTER),
};
static OBJECT(device_taint_selector, "DeviceTaintSelector");

static const struct field device_taint_rule_spec_fields[] = {
    ONE("deviceSelector", type_device_taint_selector, 1, .doc = "Which devices."),
    ONE("taint", type_device_taint, 2, .flags = REQUIRED, .doc = "What is put on them."),
};
static OBJECT(device_taint_rule_spec, "DeviceTaintRuleSpec");

static const struct field device_taint_rule_status_fields[] = {
    KEYED("conditions", type_condition, 1, "type", .flags = MERGE, .patch_key = "type"),
};
static OBJECT(device_taint_rule_status, "DeviceTaintRuleStatus");

static const struct field device_taint_rule_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_device_taint_rule_spec, 2, .flags = REQUIRED),
    ONE("status", type_device_taint_rule_status, 3),
};
OBJECT(device_taint_rule, "DeviceTaintRule");

static const struct field apiregistration_v1_service_reference_fields[] = {
    ONE("namespace", type_string, 1),
    ONE("name", type_string, 2),
    ONE("port", type_int32, 3, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "443"),
};
static OBJECT(apiregistration_v1_service_reference, "ApiregistrationV1ServiceReference");

static const struct field api_service_spec_fields[] = {
    ONE("service", type_apiregistration_v1_service_reference, 1,
        .doc = "Who serves it; nobody: this server itself."),
    ONE("group", type_string, 2, .doc = "The group it serves."),
    ONE("version", type_string, 3, .doc = "The version it serves."),
    ONE("insecureSkipTLSVerify", type_bool, 4),
    ONE("caBundle", type_bytes, 5),
    ONE("groupPriorityMinimum", type_int32, 7, .flags = REQUIRED),
    ONE("versionPriority", type_int32, 8, .flags = REQUIRED),
};
static OBJECT(api_service_spec, "APIServiceSpec");

static const struct field api_service_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("lastTransitionTime", type_time, 3),
    ONE("reason", type_string, 4),
    ONE("message", type_string, 5),
};
static OBJECT(api_service_condition, "APIServiceCondition");

static const struct field api_service_status_fields[] = {
    KEYED("conditions", type_api_service_condition, 1, "type", .flags = MERGE, .patch_key = "type"),
};
static OBJECT(api_service_status, "APIServiceStatus");

static const struct field api_service_fields[] = {
    ONE("apiVersion", type_string, 0),         ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),      ONE("spec", type_api_service_spec, 2),
    ONE("status", type_api_service_status, 3),
};
OBJECT(api_service, "APIService");
