/*
 * Tables of CustomResourceDefinition. A schema is an object like any other here; what makes it a
 * valid one is judged where definitions are admitted. A pure table; see fields.h for how to read
 * it.
 */
#include "kube/tables/fields.h"

static const struct field external_documentation_fields[] = {
    ONE("description", type_string, 1),
    ONE("url", type_string, 2, .flags = POINTER),
};
static OBJECT(external_documentation, "ExternalDocumentation");

static const struct field validation_rule_fields[] = {
    ONE("rule", type_string, 1, .flags = REQUIRED),
    ONE("message", type_string, 2),
    ONE("messageExpression", type_string, 3),
    ONE("reason", type_string, 4, .flags = POINTER),
    ONE("fieldPath", type_string, 5),
    ONE("optionalOldSelf", type_bool, 6, .flags = POINTER),
};
static OBJECT(validation_rule, "ValidationRule");

/* Schemas contain each other. */
static const struct type type_json_schema_props, type_json_schema_props_or_other;

static const struct field json_schema_props_fields[] = {
    ONE("id", type_string, 1),
    ONE("$schema", type_string, 2),
    ONE("$ref", type_string, 3),
    ONE("description", type_string, 4),
    ONE("type", type_string, 5),
    ONE("format", type_string, 6),
    ONE("title", type_string, 7),
    ONE("default", type_raw, 8),
    ONE("maximum", type_double, 9, .flags = POINTER),
    ONE("exclusiveMaximum", type_bool, 10),
    ONE("minimum", type_double, 11, .flags = POINTER),
    ONE("exclusiveMinimum", type_bool, 12),
    ONE("maxLength", type_int64, 13, .flags = POINTER),
    ONE("minLength", type_int64, 14, .flags = POINTER),
    ONE("pattern", type_string, 15),
    ONE("maxItems", type_int64, 16, .flags = POINTER),
    ONE("minItems", type_int64, 17, .flags = POINTER),
    ONE("uniqueItems", type_bool, 18),
    ONE("multipleOf", type_double, 19, .flags = POINTER),
    LIST("enum", type_raw, 20),
    ONE("maxProperties", type_int64, 21, .flags = POINTER),
    ONE("minProperties", type_int64, 22, .flags = POINTER),
    LIST("required", type_string, 23),
    ONE("items", type_json_schema_props_or_other, 24),
    LIST("allOf", type_json_schema_props, 25),
    LIST("oneOf", type_json_schema_props, 26),
    LIST("anyOf", type_json_schema_props, 27),
    ONE("not", type_json_schema_props, 28),
    MAP("properties", type_json_schema_props, 29),
    ONE("additionalProperties", type_json_schema_props_or_other, 30),
    MAP("patternProperties", type_json_schema_props, 31),
    MAP("dependencies", type_json_schema_props_or_other, 32),
    ONE("additionalItems", type_json_schema_props_or_other, 33),
    MAP("definitions", type_json_schema_props, 34),
    ONE("externalDocs", type_external_documentation, 35),
    ONE("example", type_raw, 36),
    ONE("nullable", type_bool, 37),
    ONE("x-kubernetes-preserve-unknown-fields", type_bool, 38, .flags = POINTER),
    ONE("x-kubernetes-embedded-resource", type_bool, 39),
    ONE("x-kubernetes-int-or-string", type_bool, 40),
    LIST("x-kubernetes-list-map-keys", type_string, 41),
    ONE("x-kubernetes-list-type", type_string, 42, .flags = POINTER),
    ONE("x-kubernetes-map-type", type_string, 43, .flags = POINTER),
    KEYED("x-kubernetes-validations", type_validation_rule, 44, "rule", .flags = MERGE,
          .patch_key = "rule"),
};
static OBJECT(json_schema_props, "JSONSchemaProps");

/* A schema, or something else in its place: true, or a list. */
static const struct type type_json_schema_props_or_other = {
    .name = "JSONSchemaPropsOrOther",
    .tag = TYPE_OBJECT,
    .or_other = true,
    .fields = json_schema_props_fields,
    .n_fields = ARRAY_LEN(json_schema_props_fields),
};

static const struct field custom_resource_validation_fields[] = {
    ONE("openAPIV3Schema", type_json_schema_props, 1, .doc = "What objects of the kind look like."),
};
static OBJECT(custom_resource_validation, "CustomResourceValidation");

static const struct field custom_resource_subresource_scale_fields[] = {
    ONE("specReplicasPath", type_string, 1, .flags = REQUIRED),
    ONE("statusReplicasPath", type_string, 2, .flags = REQUIRED),
    ONE("labelSelectorPath", type_string, 3, .flags = POINTER),
};
static OBJECT(custom_resource_subresource_scale, "CustomResourceSubresourceScale");

/* It is there or it is not. */
static const struct type type_custom_resource_subresource_status = {
    .name = "CustomResourceSubresourceStatus",
    .tag = TYPE_OBJECT,
    .preserve_unknown = true,
};

static const struct field custom_resource_subresources_fields[] = {
    ONE("status", type_custom_resource_subresource_status, 1),
    ONE("scale", type_custom_resource_subresource_scale, 2),
};
static OBJECT(custom_resource_subresources, "CustomResourceSubresources");

static const struct field custom_resource_column_definition_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("type", type_string, 2, .flags = REQUIRED),
    ONE("format", type_string, 3),
    ONE("description", type_string, 4),
    ONE("priority", type_int32, 5),
    ONE("jsonPath", type_string, 6, .flags = REQUIRED),
};
static OBJECT(custom_resource_column_definition, "CustomResourceColumnDefinition");

static const struct field selectable_field_fields[] = {
    ONE("jsonPath", type_string, 1, .flags = REQUIRED),
};
static OBJECT(selectable_field, "SelectableField");

static const struct field custom_resource_definition_version_fields[] = {
    ONE("name", type_string, 1, .flags = REQUIRED),
    ONE("served", type_bool, 2, .flags = REQUIRED),
    ONE("storage", type_bool, 3, .flags = REQUIRED),
    ONE("schema", type_custom_resource_validation, 4),
    ONE("subresources", type_custom_resource_subresources, 5),
    LIST("additionalPrinterColumns", type_custom_resource_column_definition, 6),
    ONE("deprecated", type_bool, 7),
    ONE("deprecationWarning", type_string, 8, .flags = POINTER),
    LIST("selectableFields", type_selectable_field, 9),
};
static OBJECT(custom_resource_definition_version, "CustomResourceDefinitionVersion");

static const struct field custom_resource_definition_names_fields[] = {
    ONE("plural", type_string, 1, .flags = REQUIRED),
    ONE("singular", type_string, 2),
    LIST("shortNames", type_string, 3),
    ONE("kind", type_string, 4, .flags = REQUIRED),
    ONE("listKind", type_string, 5),
    LIST("categories", type_string, 6),
};
static OBJECT(custom_resource_definition_names, "CustomResourceDefinitionNames");

static const struct field conversion_service_reference_fields[] = {
    ONE("namespace", type_string, 1, .flags = REQUIRED),
    ONE("name", type_string, 2, .flags = REQUIRED),
    ONE("path", type_string, 3, .flags = POINTER),
    ONE("port", type_int32, 4, .flags = POINTER | BUILTIN_DEFAULT, .dflt = "443"),
};
static OBJECT(conversion_service_reference, "ApiextensionsV1ServiceReference");

static const struct field conversion_client_config_fields[] = {
    ONE("service", type_conversion_service_reference, 1),
    ONE("caBundle", type_bytes, 2),
    ONE("url", type_string, 3, .flags = POINTER),
};
static OBJECT(conversion_client_config, "ApiextensionsV1WebhookClientConfig");

static const struct field webhook_conversion_fields[] = {
    ONE("clientConfig", type_conversion_client_config, 2),
    LIST("conversionReviewVersions", type_string, 3, .flags = REQUIRED),
};
static OBJECT(webhook_conversion, "WebhookConversion");

static const struct field custom_resource_conversion_fields[] = {
    ONE("strategy", type_string, 1, .flags = REQUIRED),
    ONE("webhook", type_webhook_conversion, 2),
};
static OBJECT(custom_resource_conversion, "CustomResourceConversion");

static const struct field custom_resource_definition_spec_fields[] = {
    ONE("group", type_string, 1, .flags = REQUIRED,
        .doc = "API group of the kind; the name of this definition ends in it."),
    ONE("names", type_custom_resource_definition_names, 3, .flags = REQUIRED),
    ONE("scope", type_string, 4, .flags = REQUIRED, .doc = "Namespaced or Cluster."),
    LIST("versions", type_custom_resource_definition_version, 7, .flags = REQUIRED,
         .doc = "The versions of the kind, each with its schema."),
    ONE("conversion", type_custom_resource_conversion, 9, .flags = BUILTIN_DEFAULT,
        .dflt = "{\"strategy\":\"None\"}",
        .doc = "How objects are turned from one version into another."),
    ONE("preserveUnknownFields", type_bool, 10),
};
static OBJECT(custom_resource_definition_spec, "CustomResourceDefinitionSpec");

static const struct field custom_resource_definition_condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED),
    ONE("status", type_string, 2, .flags = REQUIRED),
    ONE("lastTransitionTime", type_time, 3),
    ONE("reason", type_string, 4),
    ONE("message", type_string, 5),
    ONE("observedGeneration", type_int64, 6),
};
static OBJECT(custom_resource_definition_condition, "CustomResourceDefinitionCondition");

static const struct field custom_resource_definition_status_fields[] = {
    KEYED("conditions", type_custom_resource_definition_condition, 1, "type"),
    ONE("acceptedNames", type_custom_resource_definition_names, 2),
    LIST("storedVersions", type_string, 3),
    ONE("observedGeneration", type_int64, 4),
};
static OBJECT(custom_resource_definition_status, "CustomResourceDefinitionStatus");

static const struct field custom_resource_definition_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_custom_resource_definition_spec, 2, .flags = REQUIRED),
    ONE("status", type_custom_resource_definition_status, 3),
};
OBJECT(custom_resource_definition, "CustomResourceDefinition");
