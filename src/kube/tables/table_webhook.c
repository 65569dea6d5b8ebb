/*
 * Tables of admission webhooks: services that are asked before objects are stored. A pure table;
 * see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

static const struct field webhook_service_reference_fields[] = {
    ONE("namespace", type_string, 1, .flags = REQUIRED),
    ONE("name", type_string, 2, .flags = REQUIRED),
    ONE("path", type_string, 3, .flags = POINTER),
    ONE("port", type_int32, 4, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "443"),
};
static OBJECT(webhook_service_reference, "ServiceReference");

static const struct field webhook_client_config_fields[] = {
    ONE("service", type_webhook_service_reference, 1),
    ONE("caBundle", type_bytes, 2),
    ONE("url", type_string, 3, .flags = POINTER),
};
static OBJECT(webhook_client_config, "WebhookClientConfig");

static const struct field match_condition_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("expression", type_string, 2, .flags = REQUIRED),
};
OBJECT(match_condition, "MatchCondition");

static const struct field rule_with_operations_fields[] = {
    LIST("operations", type_string, 1),
    LIST("apiGroups", type_string, 1, .parent_tag = 2),
    LIST("apiVersions", type_string, 2, .parent_tag = 2),
    LIST("resources", type_string, 3, .parent_tag = 2),
    ONE("scope", type_string, 4, .parent_tag = 2, .flags = POINTER | BUILTIN_DEFAULT,
        .dflt = "\"*\"", .enums = "*|Cluster|Namespaced"),
};
static OBJECT(rule_with_operations, "RuleWithOperations");

static const struct field mutating_webhook_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("clientConfig", type_webhook_client_config, 2, .flags = REQUIRED,
        .doc = "Where the service is."),
    LIST("rules", type_rule_with_operations, 3, .doc = "Which requests are sent to it."),
    ONE("failurePolicy", type_string, 4, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"Fail\"",
        .enums = "Fail|Ignore"),
    ONE("namespaceSelector", type_label_selector, 5, .flags = ATOMIC | BUILTIN_DEFAULT,
        .dflt = "{}", .doc = "Only objects of namespaces with these labels."),
    ONE("sideEffects", type_string, 6, .flags = REQUIRED | POINTER, .enums = "None|NoneOnDryRun"),
    ONE("timeoutSeconds", type_int32, 7, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "10"),
    LIST("admissionReviewVersions", type_string, 8, .flags = REQUIRED),
    ONE("matchPolicy", type_string, 9, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"Equivalent\"",
        .enums = "Equivalent|Exact"),
    ONE("reinvocationPolicy", type_string, 10, .flags = POINTER | BUILTIN_DEFAULT,
        .dflt = "\"Never\"", .enums = "IfNeeded|Never"),
    ONE("objectSelector", type_label_selector, 11, .flags = ATOMIC | BUILTIN_DEFAULT, .dflt = "{}",
        .doc = "Only objects with these labels."),
    KEYED("matchConditions", type_match_condition, 12, "name", .flags = MERGE, .patch_key = "name"),
};
static OBJECT(mutating_webhook, "MutatingWebhook");

static const struct field mutating_webhook_configuration_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    KEYED("webhooks", type_mutating_webhook, 2, "name", .flags = MERGE, .patch_key = "name"),
};
OBJECT(mutating_webhook_configuration, "MutatingWebhookConfiguration");

static const struct field validating_webhook_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("clientConfig", type_webhook_client_config, 2, .flags = REQUIRED,
        .doc = "Where the service is."),
    LIST("rules", type_rule_with_operations, 3, .doc = "Which requests are sent to it."),
    ONE("failurePolicy", type_string, 4, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"Fail\"",
        .enums = "Fail|Ignore"),
    ONE("namespaceSelector", type_label_selector, 5, .flags = ATOMIC | BUILTIN_DEFAULT,
        .dflt = "{}", .doc = "Only objects of namespaces with these labels."),
    ONE("sideEffects", type_string, 6, .flags = REQUIRED | POINTER, .enums = "None|NoneOnDryRun"),
    ONE("timeoutSeconds", type_int32, 7, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "10"),
    LIST("admissionReviewVersions", type_string, 8, .flags = REQUIRED),
    ONE("matchPolicy", type_string, 9, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "\"Equivalent\"",
        .enums = "Equivalent|Exact"),
    ONE("objectSelector", type_label_selector, 10, .flags = ATOMIC | BUILTIN_DEFAULT, .dflt = "{}",
        .doc = "Only objects with these labels."),
    KEYED("matchConditions", type_match_condition, 11, "name", .flags = MERGE, .patch_key = "name"),
};
static OBJECT(validating_webhook, "ValidatingWebhook");

static const struct field validating_webhook_configuration_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    KEYED("webhooks", type_validating_webhook, 2, "name", .flags = MERGE, .patch_key = "name"),
};
OBJECT(validating_webhook_configuration, "ValidatingWebhookConfiguration");
