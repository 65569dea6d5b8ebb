/*
 * Admission by kind: one row per kind, three pure functions each. Grove's own kinds are judged by
 * the functions of grove/, which the webhook server uses too.
 *
 * Changes are edits, so a candidate that is complete already costs one look and no copy.
 */
#include "apiserver/admission/admit_impl.h"
#include "apiserver/admission/policy.h"
#include "apiserver/admission/quota.h"
#include "apiserver/admission/webhook.h"
#include "apiserver/crd.h"
#include "base/b64.h"
#include "grove/admission.h"
#include "grove/types.h"
#include "kube/selector.h"

#define DATA_MAX ((size_t)1 << 20)

str admit_path(const struct admit *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str s = arena_vprintf(a->arena, fmt, ap);
    va_end(ap);
    return s;
}

void default_raw(struct edit *e, jval object, const char *key, const char *path, const char *json)
{
    if (!j_has(jget(object, str_of(key))))
        edit_set_raw(e, str_of(path), str_of(json));
}

static void invalid(const struct admit *a, str field, jval value, const char *why)
{
    field_error_add(a->errors, FIELD_ERR_INVALID, field, jtext(value), "%s", why);
}

/* ---- namespaces ---- */

static void namespace_default(const struct admit *a, jval root, struct edit *e)
{
    static const char label[] = "/metadata/labels/kubernetes.io~1metadata.name";
    jval labels = jpath(root, "metadata.labels");
    if (a->name.len && !str_eq(jstr(jget(labels, STR("kubernetes.io/metadata.name"))), a->name))
        edit_set_str(e, STR(label), a->name);
}

static void namespace_mutate(const struct admit *a, jval root, struct edit *e)
{
    if (!a->old) {
        edit_set_raw(e, STR("/spec/finalizers"), STR("[\"kubernetes\"]"));
        edit_set_raw(e, STR("/status"), STR("{\"phase\":\"Active\"}"));
        return;
    }
    /* These change through /finalize only. */
    jval had = jgetc(obj_spec(a->old), "finalizers");
    if (!jequal(had, jpath(root, "spec.finalizers")))
        edit_set(e, STR("/spec/finalizers"), had);
}

/* ---- secrets and config maps ---- */

static void secret_default(const struct admit *a, jval root, struct edit *e)
{
    jval text = jgetc(root, "stringData");
    if (j_is_absent(text))
        return;
    struct strbuf b = STRBUF_INIT(8 * DATA_MAX);
    for (struct jiter it = jiter(text); jnext(&it);) {
        strbuf_reset(&b);
        b64_encode(jstr(it.value), B64_STD, &b);
        edit_set_str(e, edit_path(a->arena, STR("data"), it.key), strbuf_str(&b));
    }
    strbuf_done(&b);
    edit_del(e, STR("/stringData"));
}

static void validate_frozen(const struct admit *a, jval root, const char *key)
{
    if (!a->old || !j_is_true(jgetc(obj_root(a->old), "immutable")))
        return;
    if (str_is(str_of(key), "data") && !j_is_true(jgetc(root, "immutable")))
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("immutable"), STR_NONE,
                        "field is immutable when `immutable` is set");
    if (!jequal(jget(obj_root(a->old), str_of(key)), jget(root, str_of(key))))
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, str_of(key), STR_NONE,
                        "field is immutable when `immutable` is set");
}

static size_t map_size(jval m)
{
    size_t n = 0;
    for (struct jiter it = jiter(m); jnext(&it);)
        n += jstr(it.value).len;
    return n;
}

static void validate_size(const struct admit *a, jval root, const char *field, size_t size)
{
    if (size > DATA_MAX)
        field_error_add(a->errors, FIELD_ERR_TOO_LONG, str_of(field), STR_NONE,
                        "may not be more than %zu bytes", DATA_MAX);
    validate_frozen(a, root, "data");
}

static void secret_validate(const struct admit *a, jval root)
{
    validate_size(a, root, "data", map_size(jgetc(root, "data")) / 4 * 3);
    if (a->old && !jequal(jgetc(obj_root(a->old), "type"), jgetc(root, "type")))
        invalid(a, STR("type"), jgetc(root, "type"), "field is immutable");
    data_keys_validate(a, root, "data");
    secret_type_validate(a, root);
}

static void config_map_validate(const struct admit *a, jval root)
{
    validate_size(a, root, "[]",
                  map_size(jgetc(root, "data")) + map_size(jgetc(root, "binaryData")) / 4 * 3);
    validate_frozen(a, root, "binaryData");
    data_keys_validate(a, root, "data");
    data_keys_validate(a, root, "binaryData");
}

/* ---- workloads that are only stored ---- */

void template_default(const struct admit *a, jval root, struct edit *e)
{
    containers_default(a, jpath(root, "spec.template.spec"), "/spec/template/spec", e);
}

void template_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec"), labels = jpath(spec, "template.metadata.labels");
    jval selector = jgetc(spec, "selector");
    if (jint(jgetc(spec, "replicas"), 0) < 0)
        invalid(a, STR("spec.replicas"), jgetc(spec, "replicas"),
                "must be greater than or equal to 0");
    struct selector *s = label_selector_from(a->arena, selector, NULL);
    if (j_has(selector) && (!s || !label_selector_match(s, labels)))
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.template.metadata.labels"),
                        j_has(labels) ? jtext(labels) : STR("null"),
                        "`selector` does not match template `labels`");
    pod_rules_all(a->errors, jpath(spec, "template.spec"), "spec.template.spec");
    if (a->old && !jequal(jgetc(obj_spec(a->old), "selector"), selector))
        invalid(a, STR("spec.selector"), selector, "field is immutable");
}

/* ---- others ---- */

static void priority_class_default(const struct admit *a, jval root, struct edit *e)
{
    (void)a;
    default_raw(e, root, "preemptionPolicy", "/preemptionPolicy", "\"PreemptLowerPriority\"");
}

/* Those above are for what a cluster cannot run without. */
#define USER_PRIORITY_MAX 1000000000

static void priority_class_validate(const struct admit *a, jval root)
{
    str name = jstr(jpath(root, "metadata.name"));
    int64_t value = jint(jgetc(root, "value"), 0);
    if (str_starts(name, STR("system-")) && value != priority_of_system(name))
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("metadata.name"), STR_NONE,
                        "priority class names with 'system-' prefix are reserved for system use "
                        "only. error: %.*s is not a known system priority class",
                        STR_ARG(name));
    else if (value > USER_PRIORITY_MAX && !priority_of_system(name))
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("value"), STR_NONE,
                        "maximum allowed value of a user defined priority is %d",
                        USER_PRIORITY_MAX);
    if (a->old && !jequal(jgetc(obj_root(a->old), "value"), jgetc(root, "value")))
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("value"), STR_NONE,
                        "may not be changed in an update.");
}

static void validate_event_namespace(const struct admit *a, jval about, const char *field)
{
    jval ns = jgetc(about, "namespace");
    bool cluster_wide = str_is_empty(jstr(ns)) && str_is(a->ns, "default");
    if (j_has(about) && !cluster_wide && !str_eq(jstr(ns), a->ns))
        field_error_add(a->errors, FIELD_ERR_INVALID, str_of(field),
                        j_has(ns) ? jtext(ns) : STR("\"\""), "does not match event.namespace");
}

static void event_validate(const struct admit *a, jval root)
{
    if (!a->old)
        validate_event_namespace(a, jgetc(root, "involvedObject"), "involvedObject.namespace");
}

static void events_event_validate(const struct admit *a, jval root)
{
    if (!a->old)
        validate_event_namespace(a, jgetc(root, "regarding"), "regarding.namespace");
}

/* ---- the table ---- */

static const struct admit_ops all_ops[] = {
    {&kind_pod, pod_default, pod_mutate, pod_validate},
    {&kind_service, service_default, service_mutate, service_validate},
    {&kind_namespace, namespace_default, namespace_mutate, NULL},
    {&kind_secret, secret_default, NULL, secret_validate},
    {&kind_config_map, NULL, NULL, config_map_validate},
    {&kind_deployment, template_default, NULL, template_validate},
    {&kind_replica_set, template_default, NULL, template_validate},
    {&kind_priority_class, priority_class_default, NULL, priority_class_validate},
    {&kind_role, NULL, NULL, role_validate},
    {&kind_cluster_role, NULL, NULL, role_validate},
    {&kind_role_binding, role_binding_default, NULL, role_binding_validate},
    {&kind_cluster_role_binding, role_binding_default, NULL, role_binding_validate},
    {&kind_pdb, NULL, NULL, pdb_validate},
    {&kind_hpa, NULL, NULL, hpa_validate},
    {&kind_hpa_v1, NULL, NULL, hpa_validate},
    {&kind_lease, NULL, NULL, lease_validate},
    {&kind_crd, crd_default, crd_mutate, crd_validate},
    {&kind_mutating_webhook, NULL, NULL, webhook_validate},
    {&kind_validating_webhook, NULL, NULL, webhook_validate},
    {&kind_limit_range, limit_range_default, NULL, limit_range_validate},
    {&kind_resource_quota, NULL, NULL, quota_validate},
    {&kind_event, NULL, NULL, event_validate},
    {&kind_events_event, NULL, NULL, events_event_validate},
    {&kind_pod_template, pod_template_default, NULL, pod_template_validate},
    {&kind_replication_controller, replication_controller_default, NULL,
     replication_controller_validate},
    {&kind_daemon_set, template_default, NULL, daemon_set_validate},
    {&kind_stateful_set, stateful_set_default, NULL, stateful_set_validate},
    {&kind_job, job_default, NULL, job_validate},
    {&kind_cron_job, cron_job_default, NULL, cron_job_validate},
    {&kind_persistent_volume, NULL, volume_mutate, volume_validate},
    {&kind_persistent_volume_claim, NULL, volume_mutate, claim_validate},
    {&kind_volume_attachment, NULL, NULL, attachment_validate},
    {&kind_storage_class, NULL, NULL, kept_validate},
    {&kind_volume_attributes_class, NULL, NULL, kept_validate},
    {&kind_csi_driver, NULL, NULL, kept_validate},
    {&kind_csi_storage_capacity, NULL, NULL, kept_validate},
    {&kind_network_policy, network_policy_default, NULL, network_policy_validate},
    {&kind_ingress, NULL, NULL, ingress_validate},
    {&kind_ingress_class, NULL, NULL, kept_validate},
    {&kind_ip_address, NULL, NULL, ip_address_validate},
    {&kind_service_cidr, NULL, NULL, service_cidr_validate},
    {&kind_runtime_class, NULL, NULL, kept_validate},
    {&kind_flow_schema, NULL, NULL, flow_schema_validate},
    {&kind_priority_level, NULL, NULL, priority_level_validate},
    {&kind_validating_policy, NULL, NULL, policy_validate},
    {&kind_validating_policy_binding, NULL, NULL, policy_binding_validate},
    {&kind_scheduling_pod_group, NULL, NULL, kept_validate},
    {&kind_workload, NULL, NULL, kept_validate},
    {&kind_composite_pod_group, NULL, NULL, kept_validate},
    {&kind_pool_status_request, NULL, NULL, kept_validate},
    {&kind_storage_migration, NULL, NULL, kept_validate},
    {&kind_mutating_policy, NULL, NULL, mutating_policy_validate},
    {&kind_mutating_policy_binding, NULL, NULL, mutating_policy_binding_validate},
    {&kind_signing_request, NULL, signing_request_mutate, signing_request_validate},
    {&kind_cluster_trust_bundle, NULL, NULL, kept_validate},
    {&kind_pod_certificate_request, NULL, NULL, kept_validate},
    {&kind_lease_candidate, NULL, NULL, kept_validate},
    {&kind_api_service, NULL, api_service_mutate, api_service_validate},
};

/* Versions of a kind that have the same table have the same rules: those of the first. */
const struct kind *admit_kind(const struct kind *k)
{
    enum { MAX_KINDS = 512 };
    static const struct kind *firsts[MAX_KINDS];
    size_t id = kind_id(k);
    if (kind_is(k, KIND_CUSTOM) || id >= MAX_KINDS)
        return k;
    for (size_t i = 0; !firsts[id] && i <= id; i++)
        if (kinds_at(i)->type == k->type && strcmp(kinds_at(i)->plural, k->plural) == 0)
            firsts[id] = kinds_at(i);
    return firsts[id] ? firsts[id] : k;
}

static const struct admit_ops *ops_of(const struct kind *k)
{
    if (kind_is(k, KIND_CUSTOM))
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(all_ops); i++)
        if (all_ops[i].kind == k)
            return &all_ops[i];
    return NULL;
}

/* A status is its controller's own business. */
static bool is_status(const struct admit *a)
{
    return str_is(a->subresource, "status");
}

/* Only the first n edits, when not all of them can be applied: one that leads through a value of
 * the wrong type is dropped with the others, for validation will refuse the object. */
static struct doc *apply(struct edit *e, size_t n, struct doc *d)
{
    struct doc *out = edit_apply(e, d, NULL);
    if (!out) {
        e->items.len = n;
        out = edit_apply(e, d, NULL);
    }
    edit_done(e);
    return out ? out : doc_ref(d);
}

/* ---- how long lists and maps may be ---- */

/* Items of all lists of objects in one object, and members of its maps. To complete and judge one,
 * and to keep who owns it, takes many times what its text does (`{}` is a container with all its
 * defaults), so what may be sent could be more than a server can take at once. No type has as many
 * fields as MAP_LEAST: what has more members is a map, or nothing that any table knows. */
enum { ITEMS_MAX = 16384, ITEMS_MAX_DEFINED = 4 * ITEMS_MAX, MAP_LEAST = 256 };

/* A place in the object, from the inside out. */
struct step {
    const struct step *up;
    str key; /* empty: an item */
    size_t index;
};

/* Who owns what grows with the rest, and with the number of those who write. */
static bool is_ownership(const struct step *at, str key)
{
    return at && !at->up && str_is(at->key, "metadata") && str_is(key, "managedFields");
}

static void write_place(struct strbuf *b, const struct step *at)
{
    if (!at)
        return;
    write_place(b, at->up);
    if (at->key.len)
        strbuf_printf(b, "%s%.*s", b->len ? "." : "", STR_ARG(at->key));
    else
        strbuf_printf(b, "[%zu]", at->index);
}

/* Words and numbers are taken as they are, however many. */
static bool has_objects(jval list)
{
    for (struct jiter it = jiter(list); jnext(&it);)
        if (j_is_container(it.value) || j_is_null(it.value))
            return true;
    return false;
}

static bool has_items(jval v)
{
    return jtype(v) == J_ARRAY ? has_objects(v) : jlen(v) > MAP_LEAST;
}

/* A kind of the user's has its schema to say more. Grove's own say it themselves. */
static size_t items_max(const struct kind *k)
{
    return kind_is(k, KIND_DEFINED)  ? ITEMS_MAX_DEFINED
           : kind_is(k, KIND_CUSTOM) ? SIZE_MAX
                                     : ITEMS_MAX;
}

/* One of them is too long, or those of a member together. */
static void refuse_items(const struct admit *a, jval list, const struct step *at)
{
    struct strbuf place = STRBUF_INIT(4096);
    size_t most = items_max(a->kind);
    if (jlen(list) > most) {
        write_place(&place, at);
        field_error_add(a->errors, FIELD_ERR_TOO_MANY, at ? strbuf_str(&place) : STR("<nil>"),
                        arena_uint(a->arena, jlen(list)), "must have at most %zu items", most);
    } else {
        while (at && at->up)
            at = at->up;
        write_place(&place, at);
        field_error_add(a->errors, FIELD_ERR_TOO_LONG, strbuf_str(&place), STR_NONE,
                        "must have at most %zu items in its lists and maps", most);
    }
    *a->refused = status_invalid(a->arena, a->kind, a->name, a->errors);
    strbuf_done(&place);
}

/* Ends with the first that is too much. As deep as a document may be. */
static void count_items(const struct admit *a, jval v, const struct step *at, size_t *n)
{
    if (has_items(v))
        *n += jlen(v);
    if (*n > items_max(a->kind)) {
        refuse_items(a, v, at);
        return;
    }
    for (struct jiter it = jiter(v); jnext(&it) && !*a->refused;)
        if (j_is_container(it.value) && !is_ownership(at, it.key))
            count_items(a, it.value, &(struct step){at, it.key, it.index}, n);
}

/* An item takes two bytes at least: hardly any object is looked through. */
bool admit_is_too_much(const struct admit *a, struct doc *d)
{
    size_t n = 0;
    if (!is_status(a) && doc_text(d).len / 2 > items_max(a->kind))
        count_items(a, doc_root(d), NULL, &n);
    return *a->refused;
}

/* ---- the steps ---- */

struct doc *admit_default(const struct admit *a, struct doc *d)
{
    const struct admit_ops *ops = ops_of(a->kind);
    struct edit e;
    if (is_status(a) || admit_is_too_much(a, d) || !ops || !ops->dflt)
        return doc_ref(d);
    edit_init(&e, a->arena);
    ops->dflt(a, doc_root(d), &e);
    return apply(&e, 0, d);
}

/* What the namespace gives to containers counts for everything else. */
static struct doc *mutate_pod(const struct admit *a, const struct admit_ops *ops, struct doc *d,
                              struct edit *more)
{
    size_t n = more->items.len;
    struct doc *limited = limits_default(a, d);
    if (!is_status(a))
        ops->mutate(a, doc_root(limited), more);
    struct doc *out = apply(more, n, limited);
    doc_unref(limited);
    return out;
}

bool admit_mutates(const struct admit *a)
{
    const struct admit_ops *ops = ops_of(a->kind);
    if (is_status(a))
        return false;
    if (a->kind == &kind_pod)
        return !a->old; /* nothing is added later */
    return kind_is(a->kind, KIND_CUSTOM) || (ops && ops->mutate);
}

struct doc *admit_mutate(const struct admit *a, struct doc *d, struct edit *more)
{
    const struct admit_ops *ops = ops_of(a->kind);
    size_t n = more->items.len;
    if (*a->refused) {
        edit_done(more);
        return doc_ref(d);
    }
    if (a->kind == &kind_pod)
        return mutate_pod(a, ops, d, more);
    if (!is_status(a) && ops && ops->mutate)
        ops->mutate(a, doc_root(d), more);
    if (is_status(a) || !kind_is(a->kind, KIND_CUSTOM))
        return apply(more, n, d);
    struct doc *full = grove_default(a->kind, d, a->ns);
    if (a->kind == &kind_pcs)
        grove_default_strategy(a->grove->strategy, a->old ? obj_root(a->old) : JVAL_ABSENT,
                               doc_root(full), more);
    struct doc *out = apply(more, n, full);
    doc_unref(full);
    return out;
}

/* The levels of a ClusterTopologyBinding, as constraints are judged by them. */
static jval binding_levels(void *ctx, str name)
{
    const struct admit *a = ctx;
    const struct obj *binding = store_newest(a->store, &kind_ctb, STR_NONE, name);
    return binding ? jgetc(obj_spec(binding), "levels") : JVAL_ABSENT;
}

static void validate_custom(const struct admit *a, struct doc *d)
{
    struct grove_context context = *a->grove;
    context.levels = binding_levels;
    context.ctx = (void *)a;
    grove_validate_in(&context, a->kind, a->old ? a->old->doc : NULL, d, a->errors);
}

void admit_validate(const struct admit *a, struct doc *d)
{
    const struct admit_ops *ops = ops_of(a->kind);
    if (is_status(a))
        return;
    if (ops && ops->validate)
        ops->validate(a, doc_root(d));
    if (a->kind == &kind_pod)
        limits_validate(a, doc_root(d));
    if (kind_is(a->kind, KIND_CUSTOM))
        validate_custom(a, d);
    security_validate(a, doc_root(d));
}
