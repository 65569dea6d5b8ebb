/* ResourceQuota and LimitRange as tables. */
#include "apiserver/admission/quota.h"
#include "kube/tables/fields.h"

static const struct field limit_range_item_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED, .doc = "Container or Pod."),
    MAP("max", type_quantity, 2, .doc = "The most of each resource."),
    MAP("min", type_quantity, 3, .doc = "The least of each resource."),
    MAP("default", type_quantity, 4, .doc = "Limits of containers that have none."),
    MAP("defaultRequest", type_quantity, 5, .doc = "Requests of containers that have none."),
    MAP("maxLimitRequestRatio", type_quantity, 6, .doc = "The most a limit is of its request."),
};
static OBJECT(limit_range_item, "LimitRangeItem");

static const struct field limit_range_spec_fields[] = {
    LIST("limits", type_limit_range_item, 1, .flags = REQUIRED),
};
static OBJECT(limit_range_spec, "LimitRangeSpec");

static const struct field limit_range_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_limit_range_spec, 2),
};
static OBJECT(limit_range, "LimitRange");

static const struct field scope_requirement_fields[] = {
    ONE("scopeName", type_string, 1, .flags = REQUIRED),
    ONE("operator", type_string, 2, .flags = REQUIRED, .enums = "In|NotIn|Exists|DoesNotExist"),
    LIST("values", type_string, 3),
};
static OBJECT(scope_requirement, "ScopedResourceSelectorRequirement");

static const struct field scope_selector_fields[] = {
    LIST("matchExpressions", type_scope_requirement, 1),
};
static OBJECT(scope_selector, "ScopeSelector");

static const struct field resource_quota_spec_fields[] = {
    MAP("hard", type_quantity, 1, .doc = "The most of each resource."),
    LIST("scopes", type_string, 2, .doc = "Only pods of these kinds."),
    ONE("scopeSelector", type_scope_selector, 3, .flags = ATOMIC),
};
static OBJECT(resource_quota_spec, "ResourceQuotaSpec");

static const struct field resource_quota_status_fields[] = {
    MAP("hard", type_quantity, 1),
    MAP("used", type_quantity, 2),
};
static OBJECT(resource_quota_status, "ResourceQuotaStatus");

static const struct field resource_quota_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_resource_quota_spec, 2),
    ONE("status", type_resource_quota_status, 3),
};
static OBJECT(resource_quota, "ResourceQuota");

static const struct column limit_range_columns[] = {
    {.name = "Name", .type = "string", .format = "name", .path = ".metadata.name"},
    {.name = "Created At", .type = "string", .format = "", .path = ".metadata.creationTimestamp"},
};
static const struct column resource_quota_columns[] = {
    {.name = "Name", .type = "string", .format = "name", .path = ".metadata.name"},
    {.name = "Request", .type = "string", .format = ""},
    {.name = "Limit", .type = "string", .format = ""},
    {.name = "Age", .type = "string", .format = ""},
};

static uint16_t limit_range_id, resource_quota_id;

const struct kind kind_limit_range = {
    .id = &limit_range_id,
    .group = "",
    .version = "v1",
    .kind = "LimitRange",
    .plural = "limitranges",
    .singular = "limitrange",
    .short_names = "limits",
    .verbs = VERBS_ALL,
    .flags = KIND_NAMESPACED | KIND_CREATE_ON_UPDATE,
    .type = &type_limit_range,
    .columns = limit_range_columns,
    .n_columns = ARRAY_LEN(limit_range_columns),
};

const struct kind kind_resource_quota = {
    .id = &resource_quota_id,
    .group = "",
    .version = "v1",
    .kind = "ResourceQuota",
    .plural = "resourcequotas",
    .singular = "resourcequota",
    .short_names = "quota",
    .verbs = VERBS_ALL,
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_CREATE_ON_UPDATE,
    .type = &type_resource_quota,
    .columns = resource_quota_columns,
    .n_columns = ARRAY_LEN(resource_quota_columns),
};

void quota_kinds_init(void)
{
    kinds_register(&kind_limit_range);
    kinds_register(&kind_resource_quota);
}
