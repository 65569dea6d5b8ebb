/*
 * Tables of the types every kind shares: scalars, object and list metadata, label selectors,
 * conditions, delete options. A pure table; see fields.h for how to read it.
 */
#include "kube/tables/fields.h"

#define SCALAR(var, text, t) const struct type var = {.name = (text), .tag = (t)}

SCALAR(type_string, "string", TYPE_STRING);
SCALAR(type_int32, "int32", TYPE_INT32);
SCALAR(type_int64, "int64", TYPE_INT64);
SCALAR(type_bool, "boolean", TYPE_BOOL);
SCALAR(type_double, "number", TYPE_DOUBLE);
SCALAR(type_bytes, "bytes", TYPE_BYTES);
SCALAR(type_time, "Time", TYPE_TIME);
SCALAR(type_micro_time, "MicroTime", TYPE_MICRO_TIME);
SCALAR(type_duration, "Duration", TYPE_DURATION);
SCALAR(type_quantity, "Quantity", TYPE_QUANTITY);
SCALAR(type_int_or_string, "IntOrString", TYPE_INT_OR_STRING);
SCALAR(type_raw, "RawExtension", TYPE_RAW);
SCALAR(type_string_list, "ExtraValue", TYPE_STRING_LIST);

static const struct field managed_fields_entry_fields[] = {
    ONE("manager", type_string, 1),     ONE("operation", type_string, 2),
    ONE("apiVersion", type_string, 3),  ONE("time", type_time, 4, .flags = POINTER),
    ONE("fieldsType", type_string, 6),  ONE("fieldsV1", type_raw, 7, .flags = POINTER),
    ONE("subresource", type_string, 8),
};
static OBJECT(managed_fields_entry, "ManagedFieldsEntry");

static const struct field owner_reference_fields[] = {
    ONE("kind", type_string, 1, .flags = REQUIRED),
    ONE("name", type_string, 3, .flags = REQUIRED),
    ONE("uid", type_string, 4, .flags = REQUIRED),
    ONE("apiVersion", type_string, 5, .flags = REQUIRED),
    ONE("controller", type_bool, 6, .flags = POINTER,
        .doc = "This owner manages the object; at most one does."),
    ONE("blockOwnerDeletion", type_bool, 7, .flags = POINTER,
        .doc = "Foreground deletion of the owner waits for this object."),
};
OBJECT(owner_reference, "OwnerReference");

static const struct field object_meta_fields[] = {
    ONE("name", type_string, 1, .doc = "Unique within its namespace and kind; cannot be changed."),
    ONE("generateName", type_string, 2,
        .doc = "Prefix of a name the server completes when no name is given."),
    ONE("namespace", type_string, 3,
        .doc = "The space in which the name is unique; empty for cluster-wide kinds."),
    ONE("selfLink", type_string, 4),
    ONE("uid", type_string, 5, .doc = "Set by the server; never used twice."),
    ONE("resourceVersion", type_string, 6,
        .doc = "Changes with every write; send it back to write only what you read."),
    ONE("generation", type_int64, 7, .doc = "Counts changes of the desired state."),
    ONE("creationTimestamp", type_time, 8,
        .doc = "CreationTimestamp is a timestamp of when the server stored the object."),
    ONE("deletionTimestamp", type_time, 9, .flags = POINTER,
        .doc = "When the object is to be gone; set by a delete, never cleared."),
    ONE("deletionGracePeriodSeconds", type_int64, 10, .flags = POINTER),
    MAP("labels", type_string, 11,
        .doc = "Short keys and values that selectors choose objects by."),
    MAP("annotations", type_string, 12, .doc = "Free-form notes of tools; never selected by."),
    KEYED("ownerReferences", type_owner_reference, 13, "uid", .flags = ATOMIC | MERGE,
          .patch_key = "uid",
          .doc = "The objects this one belongs to; it is deleted after the last of them."),
    SET("finalizers", type_string, 14, .flags = MERGE,
        .doc = "While one is left the object is not removed."),
    LIST("managedFields", type_managed_fields_entry, 17, .doc = "Which writer owns which field."),
};
OBJECT(object_meta, "ObjectMeta");

static const struct field shard_info_fields[] = {
    ONE("selector", type_string, 1, .flags = REQUIRED),
};
static OBJECT(shard_info, "ShardInfo");

static const struct field list_meta_fields[] = {
    ONE("selfLink", type_string, 1),
    ONE("resourceVersion", type_string, 2),
    ONE("continue", type_string, 3),
    ONE("remainingItemCount", type_int64, 4, .flags = POINTER),
    ONE("shardInfo", type_shard_info, 5),
};
OBJECT(list_meta, "ListMeta");

static const struct field label_selector_requirement_fields[] = {
    ONE("key", type_string, 1, .flags = REQUIRED),
    ONE("operator", type_string, 2, .flags = REQUIRED, .doc = "In, NotIn, Exists or DoesNotExist."),
    LIST("values", type_string, 3),
};
OBJECT(label_selector_requirement, "LabelSelectorRequirement");

static const struct field label_selector_fields[] = {
    MAP("matchLabels", type_string, 1, .doc = "Labels that must be there with these values."),
    LIST("matchExpressions", type_label_selector_requirement, 2,
         .doc = "Further requirements; all must hold."),
};
OBJECT(label_selector, "LabelSelector");

static const struct field condition_fields[] = {
    ONE("type", type_string, 1, .flags = REQUIRED, .doc = "What the condition is about."),
    ONE("status", type_string, 2, .flags = REQUIRED, .doc = "True, False or Unknown."),
    ONE("observedGeneration", type_int64, 3,
        .doc = "The generation the condition was judged from."),
    ONE("lastTransitionTime", type_time, 4, .flags = REQUIRED,
        .doc = "When the status last changed."),
    ONE("reason", type_string, 5, .flags = REQUIRED, .doc = "One word for programs."),
    ONE("message", type_string, 6, .flags = REQUIRED, .doc = "A sentence for people."),
};
OBJECT(condition, "Condition");

static const struct field preconditions_fields[] = {
    ONE("uid", type_string, 1, .flags = POINTER),
    ONE("resourceVersion", type_string, 2, .flags = POINTER),
};
static OBJECT(preconditions, "Preconditions");

static const struct field delete_options_fields[] = {
    ONE("apiVersion", type_string, 0),
    ONE("kind", type_string, 0),
    ONE("gracePeriodSeconds", type_int64, 1, .flags = POINTER,
        .doc = "Time to end in order; 0 removes at once."),
    ONE("preconditions", type_preconditions, 2),
    ONE("orphanDependents", type_bool, 3, .flags = POINTER),
    ONE("propagationPolicy", type_string, 4, .flags = POINTER,
        .doc = "Orphan, Background or Foreground."),
    LIST("dryRun", type_string, 5),
    ONE("ignoreStoreReadErrorWithClusterBreakingPotential", type_bool, 6, .flags = POINTER),
};
OBJECT(delete_options, "DeleteOptions");
