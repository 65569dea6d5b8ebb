/*
 * Tables of the review kinds: asked and answered, never stored. A pure table; see fields.h for how
 * to read it.
 */
#include "kube/tables/fields.h"

static const struct field bound_object_reference_fields[] = {
    ONE("kind", type_string, 1),
    ONE("apiVersion", type_string, 2),
    ONE("name", type_string, 3),
    ONE("uid", type_string, 4),
};
static OBJECT(bound_object_reference, "BoundObjectReference");

static const struct field token_request_spec_fields[] = {
    LIST("audiences", type_string, 1),
    ONE("boundObjectRef", type_bound_object_reference, 3),
    ONE("expirationSeconds", type_int64, 4, .flags = POINTER),
};
static OBJECT(token_request_spec, "TokenRequestSpec");

static const struct field token_request_status_fields[] = {
    ONE("token", type_string, 1),
    ONE("expirationTimestamp", type_time, 2),
};
static OBJECT(token_request_status, "TokenRequestStatus");

static const struct field token_request_fields[] = {
    ONE("apiVersion", type_string, 0),           ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),        ONE("spec", type_token_request_spec, 2),
    ONE("status", type_token_request_status, 3),
};
OBJECT(token_request, "TokenRequest");

static const struct field token_review_spec_fields[] = {
    ONE("token", type_string, 1, .flags = REQUIRED),
    LIST("audiences", type_string, 2),
};
static OBJECT(token_review_spec, "TokenReviewSpec");

static const struct field user_info_fields[] = {
    ONE("username", type_string, 1),
    ONE("uid", type_string, 2),
    LIST("groups", type_string, 3),
    MAP("extra", type_string_list, 4),
};
static OBJECT(user_info, "UserInfo");

static const struct field token_review_status_fields[] = {
    ONE("authenticated", type_bool, 1),
    ONE("user", type_user_info, 2),
    ONE("error", type_string, 3),
    LIST("audiences", type_string, 4),
};
static OBJECT(token_review_status, "TokenReviewStatus");

static const struct field token_review_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_token_review_spec, 2, .flags = REQUIRED),
    ONE("status", type_token_review_status, 3),
};
OBJECT(token_review, "TokenReview");

static const struct field self_subject_review_status_fields[] = {
    ONE("userInfo", type_user_info, 1),
};
static OBJECT(self_subject_review_status, "SelfSubjectReviewStatus");

static const struct field self_subject_review_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("status", type_self_subject_review_status, 2),
};
OBJECT(self_subject_review, "SelfSubjectReview");

static const struct field non_resource_attributes_fields[] = {
    ONE("path", type_string, 1),
    ONE("verb", type_string, 2),
};
static OBJECT(non_resource_attributes, "NonResourceAttributes");

static const struct field field_selector_requirement_fields[] = {
    ONE("key", type_string, 1, .flags = REQUIRED),
    ONE("operator", type_string, 2, .flags = REQUIRED),
    LIST("values", type_string, 3),
};
static OBJECT(field_selector_requirement, "FieldSelectorRequirement");

static const struct field field_selector_attributes_fields[] = {
    ONE("rawSelector", type_string, 1),
    LIST("requirements", type_field_selector_requirement, 2),
};
static OBJECT(field_selector_attributes, "FieldSelectorAttributes");

static const struct field label_selector_attributes_fields[] = {
    ONE("rawSelector", type_string, 1),
    LIST("requirements", type_label_selector_requirement, 2),
};
static OBJECT(label_selector_attributes, "LabelSelectorAttributes");

static const struct field resource_attributes_fields[] = {
    ONE("namespace", type_string, 1),
    ONE("verb", type_string, 2),
    ONE("group", type_string, 3),
    ONE("version", type_string, 4),
    ONE("resource", type_string, 5),
    ONE("subresource", type_string, 6),
    ONE("name", type_string, 7),
    ONE("fieldSelector", type_field_selector_attributes, 8),
    ONE("labelSelector", type_label_selector_attributes, 9),
};
static OBJECT(resource_attributes, "ResourceAttributes");

static const struct field self_subject_access_review_spec_fields[] = {
    ONE("resourceAttributes", type_resource_attributes, 1),
    ONE("nonResourceAttributes", type_non_resource_attributes, 2),
};
static OBJECT(self_subject_access_review_spec, "SelfSubjectAccessReviewSpec");

static const struct field subject_access_review_status_fields[] = {
    ONE("allowed", type_bool, 1, .flags = REQUIRED),
    ONE("reason", type_string, 2),
    ONE("evaluationError", type_string, 3),
    ONE("denied", type_bool, 4),
};
static OBJECT(subject_access_review_status, "SubjectAccessReviewStatus");

static const struct field self_subject_access_review_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_self_subject_access_review_spec, 2, .flags = REQUIRED),
    ONE("status", type_subject_access_review_status, 3),
};
OBJECT(self_subject_access_review, "SelfSubjectAccessReview");

static const struct field self_subject_rules_review_spec_fields[] = {
    ONE("namespace", type_string, 1),
};
static OBJECT(self_subject_rules_review_spec, "SelfSubjectRulesReviewSpec");

static const struct field non_resource_rule_fields[] = {
    LIST("verbs", type_string, 1, .flags = REQUIRED),
    LIST("nonResourceURLs", type_string, 2),
};
static OBJECT(non_resource_rule, "NonResourceRule");

static const struct field resource_rule_fields[] = {
    LIST("verbs", type_string, 1, .flags = REQUIRED),
    LIST("apiGroups", type_string, 2),
    LIST("resources", type_string, 3),
    LIST("resourceNames", type_string, 4),
};
static OBJECT(resource_rule, "ResourceRule");

static const struct field subject_rules_review_status_fields[] = {
    LIST("resourceRules", type_resource_rule, 1, .flags = REQUIRED),
    LIST("nonResourceRules", type_non_resource_rule, 2, .flags = REQUIRED),
    ONE("incomplete", type_bool, 3, .flags = REQUIRED),
    ONE("evaluationError", type_string, 4),
};
static OBJECT(subject_rules_review_status, "SubjectRulesReviewStatus");

static const struct field self_subject_rules_review_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_self_subject_rules_review_spec, 2, .flags = REQUIRED),
    ONE("status", type_subject_rules_review_status, 3),
};
OBJECT(self_subject_rules_review, "SelfSubjectRulesReview");

static const struct field subject_access_review_spec_fields[] = {
    ONE("resourceAttributes", type_resource_attributes, 1),
    ONE("nonResourceAttributes", type_non_resource_attributes, 2),
    ONE("user", type_string, 3),
    LIST("groups", type_string, 4),
    MAP("extra", type_string_list, 5),
    ONE("uid", type_string, 6),
};
static OBJECT(subject_access_review_spec, "SubjectAccessReviewSpec");

static const struct field subject_access_review_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_subject_access_review_spec, 2, .flags = REQUIRED),
    ONE("status", type_subject_access_review_status, 3),
};
OBJECT(subject_access_review, "SubjectAccessReview");

static const struct field local_subject_access_review_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("metadata", type_object_meta, 1),
    ONE("spec", type_subject_access_review_spec, 2, .flags = REQUIRED),
    ONE("status", type_subject_access_review_status, 3),
};
OBJECT(local_subject_access_review, "LocalSubjectAccessReview");
