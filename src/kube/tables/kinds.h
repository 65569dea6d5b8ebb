/*
 * What we know of a kind, as data. One table per kind is the truth that discovery, OpenAPI, CRD
 * manifests, pruning, defaulting, validation, strategic merge, server-side apply and the decoding
 * of protobuf bodies all read. Built-in kinds, Grove's own and those that users define are served
 * by the same code.
 *
 * Tables of the program are static. Built-in kinds register themselves by kinds_init(), Grove's by
 * grove_kinds_init(), before anything runs. Kinds that users define (structural.h makes their
 * tables out of schemas) come, change and go while the server runs, on the loop thread, never while
 * a request is being worked on. A struct kind is never freed and its id never given away: kinds are
 * compared by pointer and kind->id indexes arrays. One that is gone is retired: look-ups do not
 * find it, and it comes back in the same place when it is defined again. What a kind points to may
 * be replaced: whoever keeps more than the kind itself looks at kinds_version().
 */
#ifndef KUBE_TABLES_KINDS_H
#define KUBE_TABLES_KINDS_H

#include "base/arena.h"
#include "base/list.h"
#include "json/doc.h"

/* ---- fields ---- */

enum type_tag {
    TYPE_OBJECT,
    TYPE_STRING,
    TYPE_INT32,
    TYPE_INT64,
    TYPE_BOOL,
    TYPE_DOUBLE,
    TYPE_BYTES, /* base64 in JSON */
    TYPE_TIME,  /* RFC 3339 seconds */
    TYPE_MICRO_TIME,
    TYPE_DURATION, /* Go duration string */
    TYPE_QUANTITY,
    TYPE_INT_OR_STRING,
    TYPE_RAW,         /* any JSON; RawExtension, FieldsV1, JSON in protobuf */
    TYPE_STRING_LIST, /* strings; in protobuf a message {items=1} (only below maps) */
    TYPE_NESTED,      /* a list or map inside a list or map: what its only field says */
};

enum field_shape { FIELD_ONE, FIELD_LIST, FIELD_MAP }; /* MAP: string keys, values of the type */
enum field_list { LIST_ATOMIC, LIST_SET, LIST_MAP };   /* server-side apply */
enum {
    FIELD_REQUIRED = 1,
    /* Server-side apply: a map or an object that changes as a whole; on a list, each item does. */
    FIELD_MAP_ATOMIC = 2,
    FIELD_PATCH_MERGE = 4,
    FIELD_PATCH_RETAIN_KEYS = 8,
    FIELD_NULLABLE = 16,
    /* The default is part of the built-in kinds, not of the type: a custom resource that embeds the
     * type does not get it. */
    FIELD_BUILTIN_DEFAULT = 32,
    /* A zero on the protobuf wire is a value and not just an empty field. */
    FIELD_POINTER = 64,
};

struct type;

struct field {
    const char *name;
    const struct type *type; /* of the value, or of each element */
    uint8_t shape;           /* enum field_shape */
    uint8_t list;            /* enum field_list, when shape is LIST */
    uint8_t flags;
    /* Protobuf: tag of the message this field is inlined from, or 0; 0x23: message 3 in message 2.
     */
    uint8_t parent_tag;
    uint16_t tag;          /* protobuf tag; 0: none */
    uint16_t name_len;     /* 0: not counted; ask field_name() */
    const char *keys;      /* LIST_MAP: "name" or "containerPort,protocol" */
    const char *patch_key; /* FIELD_PATCH_MERGE on a list of objects */
    const char *dflt;      /* JSON text, or NULL */
    const char *enums;     /* "Always|Never", or NULL */
    const char *pattern;   /* regular expression on strings, or NULL */
    const char *doc;       /* one short sentence, or NULL */
    /* Of numbers, of the length of strings, and of how many objects a list has; both 0: no bounds;
     * max < min: only the lower one; min INT32_MIN: only the upper one. */
    int64_t min, max;
    jval schema; /* of a kind that a user defined: the rules beyond the type are read from here */
};

struct type {
    const char *name; /* "PodSpec"; unique */
    enum type_tag tag;
    bool preserve_unknown; /* fields it does not name are kept */
    bool or_other;         /* an object, or something else that is taken as it is */
    const struct field *fields;
    size_t n_fields;
    jval schema; /* the whole object's, of a kind that a user defined */
};

/* Scalars, shared by all tables. */
extern const struct type type_string, type_int32, type_int64, type_bool, type_double, type_bytes,
    type_time, type_micro_time, type_duration, type_quantity, type_int_or_string, type_raw,
    type_string_list;
/* Shared objects. */
extern const struct type type_object_meta, type_list_meta, type_label_selector, type_condition,
    type_pod_spec, type_pod_template_spec, type_owner_reference, type_delete_options,
    type_container, type_volume, type_metric_spec, type_horizontal_pod_autoscaler_behavior,
    type_resource_claim_template_spec;

/* Of metav1.Condition, as its generated schemas have them. */
#define CONDITION_REASON_PATTERN "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"
#define CONDITION_TYPE_PATTERN                                                             \
    "^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-" \
    "A-Za-z0-9_.]*)?[A-Za-z0-9])$"

static inline str field_name(const struct field *f)
{
    return str_n(f->name, f->name_len ? f->name_len : strlen(f->name));
}

/* The field of that name, or NULL. */
const struct field *type_field(const struct type *t, str name);

/* Fields met while walking through an object, so that those it lacks need not be looked for. Tables
 * have some dozen fields; the object itself is asked about those beyond the set. */
struct field_set {
    uint64_t bits;
};

static inline void field_set_add(struct field_set *s, const struct type *t, const struct field *f)
{
    size_t i = (size_t)(f - t->fields);

    if (LIKELY(i < 64))
        s->bits |= (uint64_t)1 << i;
}

static inline bool field_set_has(const struct field_set *s, const struct type *t, size_t i,
                                 jval object)
{
    return LIKELY(i < 64) ? (s->bits >> i & 1) != 0
                          : !j_is_absent(jget(object, field_name(&t->fields[i])));
}

/* ---- kinds ---- */

enum {
    VERB_GET = 1 << 0,
    VERB_LIST = 1 << 1,
    VERB_WATCH = 1 << 2,
    VERB_CREATE = 1 << 3,
    VERB_UPDATE = 1 << 4,
    VERB_PATCH = 1 << 5,
    VERB_DELETE = 1 << 6,
    VERB_DELETE_COLLECTION = 1 << 7,
    VERBS_ALL = 0xff,
};

enum {
    KIND_NAMESPACED = 1 << 0,
    KIND_STATUS = 1 << 1,            /* has /status: spec and status are written apart */
    KIND_SCALE = 1 << 2,             /* has /scale */
    KIND_GENERATION = 1 << 3,        /* metadata.generation counts spec changes */
    KIND_CREATE_ON_UPDATE = 1 << 4,  /* PUT of a missing object creates it */
    KIND_MUST_SEND_VERSION = 1 << 5, /* PUT without resourceVersion is refused */
    KIND_CUSTOM = 1 << 6,            /* a custom resource: JSON only, no strategic merge */
    KIND_DEFINED = 1 << 7,           /* by a CustomResourceDefinition */
    KIND_RETIRED = 1 << 8,           /* its definition is gone, or does not serve this version */
    KIND_HOOKED = 1 << 9,            /* a webhook converts between its versions */
};

struct column {
    const char *name;
    const char *type;   /* "string", "integer", "date", ... */
    const char *format; /* "name" or "" */
    const char *path;   /* JSONPath; NULL: computed (apiserver/front/table.c) */
    int priority;       /* > 0: only with -o wide */
    const char *doc;
};

struct subresource {
    const char *name;                   /* "binding" */
    const char *group, *version, *kind; /* of what it takes and answers */
    unsigned verbs;
};

struct kind {
    const char *group; /* "" for core */
    const char *version;
    const char *kind;
    const char *plural;
    const char *singular;
    const char *short_names; /* "po" or "pcs,pgs"; NULL: none */
    const char *categories;  /* "all"; NULL: none */
    unsigned verbs;
    unsigned flags;
    const struct type *type; /* the whole object */
    const struct column *columns;
    size_t n_columns;                       /* 0: Name and Age */
    const struct subresource *subresources; /* beside status and scale */
    size_t n_subresources;
    const char *scale_spec_path, *scale_status_path, *scale_selector_path; /* ".spec.replicas" */
    const char *field_selectors; /* beside metadata.name and metadata.namespace, comma-separated */
    const char *list_kind;       /* NULL: the kind and "List" */
    const char *deprecated;      /* what to warn who uses it of; NULL: nothing */
    const char *storage;         /* "events": shares storage with another group's kind; NULL: own */
    const struct kind *stored_as; /* the version that objects are stored in; NULL: this one */
    uint16_t *id;                 /* set by the registry */
};

static inline bool kind_is(const struct kind *k, unsigned flag)
{
    return (k->flags & flag) != 0;
}

static inline bool kind_is_watchable(const struct kind *k)
{
    return (k->verbs & (VERB_LIST | VERB_WATCH)) == (VERB_LIST | VERB_WATCH);
}

/* Registers the built-in kinds; idempotent. */
void kinds_init(void);
/* The table must live for ever. */
void kinds_register(const struct kind *k);
/* Defines a kind, or defines it anew: what `proto` points to lives in the arena, which is taken
 * over (and kept while somebody may still look at it). Group, version and plural say which kind it
 * is. NULL when there are too many kinds already or a table of the program has that place; the
 * arena is the caller's then. */
const struct kind *kinds_define(const struct kind *proto, struct arena *a);
/* A defined kind is served no more. */
void kinds_retire(const struct kind *k);
/* Changes with every kind that comes, changes or goes. */
uint64_t kinds_version(void);
/* Told of each such change, on the loop thread, from the middle of it: note it and act later. */
struct kinds_listener {
    struct list link;
    void (*changed)(struct kinds_listener *l);
};
void kinds_listen(struct kinds_listener *l);
void kinds_unlisten(struct kinds_listener *l);
/* Kinds there may be, those included that users defined and took back: their places are free again
 * when the process starts anew. */
#define KINDS_MAX 4096
/* How many more there may be, and whether this one has its place already. */
size_t kinds_room(void);
bool kinds_has_place(str group, str version, str plural);
/* For tests: as if there were no more places than these, at most KINDS_MAX. Returns how many there
 * were. */
size_t kinds_limit(size_t most);
/* Retired ones included. */
size_t kinds_count(void);
const struct kind *kinds_at(size_t id);
static inline size_t kind_id(const struct kind *k)
{
    return *k->id;
}
/* NULL when unknown. */
const struct kind *kind_by_plural(str group, str version, str plural);
const struct kind *kind_by_name(str group, str version, str kind);
/* The same, retired ones included: for objects that were stored while it was served. */
const struct kind *kind_by_name_stored(str group, str version, str kind);
/* As people type it on a command line: kind, plural, singular or short name, "pcs.grove.io" too. */
const struct kind *kind_by_alias(str word);
/* The type of a request body: a registered kind or one that is never stored (Binding, Eviction,
 * Scale, DeleteOptions of any version, the review kinds). NULL when unknown. */
const struct type *body_type(str group, str version, str kind);
/* True for the type of a registered custom resource. */
bool type_is_custom(const struct type *t);
/* "v1" or "grove.io/v1alpha1" */
str kind_api_version(const struct kind *k, char *buf, size_t size);
/* Splits "grove.io/v1alpha1"; core has an empty group. */
void api_version_split(str api_version, str *ret_group, str *ret_version);

/* The kinds most code names. */
extern const struct kind kind_pod, kind_node, kind_namespace, kind_service, kind_event,
    kind_config_map, kind_secret, kind_service_account, kind_lease, kind_role, kind_role_binding,
    kind_controller_revision, kind_endpoint_slice, kind_hpa, kind_pdb, kind_priority_class,
    kind_events_event, kind_endpoints, kind_cluster_role, kind_cluster_role_binding,
    kind_deployment, kind_replica_set, kind_hpa_v1, kind_mutating_webhook, kind_validating_webhook,
    kind_crd, kind_device_class, kind_resource_claim, kind_resource_claim_template,
    kind_resource_slice;
/* Those that are only kept: builtin_workload.c, builtin_cluster.c. */
extern const struct kind kind_api_service, kind_cluster_trust_bundle, kind_cron_job,
    kind_csi_driver, kind_csi_node, kind_csi_storage_capacity, kind_daemon_set,
    kind_device_taint_rule, kind_flow_schema, kind_ingress, kind_ingress_class, kind_ip_address,
    kind_job, kind_lease_candidate, kind_mutating_policy, kind_mutating_policy_binding,
    kind_network_policy, kind_persistent_volume, kind_persistent_volume_claim,
    kind_pod_certificate_request, kind_pod_template, kind_priority_level,
    kind_replication_controller, kind_runtime_class, kind_service_cidr, kind_signing_request,
    kind_stateful_set, kind_storage_class, kind_validating_policy, kind_validating_policy_binding,
    kind_volume_attachment, kind_volume_attributes_class, kind_scheduling_pod_group, kind_workload,
    kind_composite_pod_group, kind_pool_status_request, kind_storage_version,
    kind_storage_migration, kind_binding, kind_component_status;
/* Older versions of the same. */
extern const struct kind kind_ip_address_v1beta1, kind_service_cidr_v1beta1,
    kind_volume_attributes_class_v1beta1, kind_cluster_trust_bundle_v1alpha1,
    kind_scheduling_pod_group_v1alpha3, kind_workload_v1alpha3, kind_lease_candidate_v1alpha2,
    kind_mutating_policy_v1beta1, kind_mutating_policy_v1alpha1,
    kind_mutating_policy_binding_v1beta1, kind_mutating_policy_binding_v1alpha1,
    kind_device_class_v1beta2, kind_resource_claim_v1beta2, kind_resource_claim_template_v1beta2,
    kind_resource_slice_v1beta2, kind_device_taint_rule_v1alpha3, kind_device_class_v1beta1,
    kind_resource_claim_v1beta1, kind_resource_claim_template_v1beta1, kind_resource_slice_v1beta1;

#endif
