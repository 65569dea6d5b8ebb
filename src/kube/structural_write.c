/*
 * From a table to a schema (see structural.h; the other way is structural.c), in two dialects.
 * OpenAPI refers to types by name and tells clients how to merge; a CustomResourceDefinition holds
 * everything in one piece and nothing but what kube-apiserver calls structural.
 */
#include "kube/structural.h"

#define QUANTITY_PATTERN                                                                           \
    "^(\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\\\+|-)?(([" \
    "0-9]+("                                                                                       \
    "\\\\.[0-9]*)?)|(\\\\.[0-9]+))))?$"
#define INT_OR_STRING "\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]"

/* ---- scalars ---- */

/* Members of the schema. Scalars with a name are referred to by it, because that name ("Quantity")
 * is what people are shown as the type. */
static const struct scalar {
    const char *members;
    const char *name, *doc;
    const char *crd; /* in a CustomResourceDefinition, where that differs */
} scalars[] = {
    [TYPE_STRING] = {"\"type\":\"string\"", NULL, NULL, NULL},
    [TYPE_INT32] = {"\"type\":\"integer\",\"format\":\"int32\"", NULL, NULL, NULL},
    [TYPE_INT64] = {"\"type\":\"integer\",\"format\":\"int64\"", NULL, NULL, NULL},
    [TYPE_BOOL] = {"\"type\":\"boolean\"", NULL, NULL, NULL},
    [TYPE_DOUBLE] = {"\"type\":\"number\",\"format\":\"double\"", NULL, NULL, NULL},
    [TYPE_BYTES] = {"\"type\":\"string\",\"format\":\"byte\"", NULL, NULL, NULL},
    [TYPE_TIME] = {"\"type\":\"string\",\"format\":\"date-time\"", "Time",
                   "An instant, RFC 3339 with whole seconds.", NULL},
    [TYPE_MICRO_TIME] = {"\"type\":\"string\",\"format\":\"date-time\"", "MicroTime",
                         "An instant, RFC 3339 with microseconds.", NULL},
    [TYPE_DURATION] = {"\"type\":\"string\"", "Duration", "A length of time, such as 90s or 1h30m.",
                       "\"type\":\"string\",\"format\":\"duration\""},
    [TYPE_QUANTITY] = {"\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]", "Quantity",
                       "An amount, such as 500m, 2 or 64Gi.",
                       INT_OR_STRING ",\"pattern\":\"" QUANTITY_PATTERN
                                     "\",\"x-kubernetes-int-or-string\":true"},
    [TYPE_INT_OR_STRING] = {"\"format\":\"int-or-string\",\"x-kubernetes-int-or-string\":true,"
                            "\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]",
                            "IntOrString", "A number, or a string such as 25%.",
                            INT_OR_STRING ",\"x-kubernetes-int-or-string\":true"},
    [TYPE_RAW] = {"\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true", NULL, NULL,
                  "\"x-kubernetes-preserve-unknown-fields\":true"},
    [TYPE_STRING_LIST] = {"\"type\":\"array\",\"items\":{\"type\":\"string\"}", NULL, NULL, NULL},
};

static const struct scalar *scalar_of(const struct type *t)
{
    BUG_ON((size_t)t->tag >= ARRAY_LEN(scalars) || !scalars[t->tag].members);
    return &scalars[t->tag];
}

const char *structural_scalar_name(const struct type *t)
{
    return t->tag == TYPE_NESTED ? NULL : scalar_of(t)->name;
}

const char *structural_scalar(const struct type *t)
{
    static char bodies[ARRAY_LEN(scalars)][256];
    const struct scalar *s = scalar_of(t);
    char *out = bodies[t->tag];

    if (!*out)
        snprintf(out, sizeof(bodies[0]), "{\"description\":\"%s\",%s}", s->doc ? s->doc : "",
                 s->members);
    return out;
}

/* Copies the members of a JSON object into the one being written. */
static void put_members(struct jw *w, const char *members)
{
    struct strbuf b = STRBUF_INIT(4096);

    strbuf_printf(&b, "{%s}", members);
    struct doc *d = doc_parse(strbuf_str(&b), NULL, NULL);
    BUG_ON(!d);
    for (struct jiter it = jiter(doc_root(d)); jnext(&it);) {
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    doc_unref(d);
    strbuf_done(&b);
}

/* ---- fields ---- */

/* "a|b" as ["a","b"]. */
static void put_words(struct jw *w, const char *key, const char *words, char sep)
{
    str rest = str_of(words);

    jw_put_array(w, key);
    while (rest.len > 0)
        jw_str(w, str_cut(&rest, sep));
    jw_end(w);
}

static void put_limits(struct jw *w, const struct field *f)
{
    if (f->enums)
        put_words(w, "enum", f->enums, '|');
    if (f->pattern)
        jw_put_cstr(w, "pattern", f->pattern);
    bool text = f->type->tag == TYPE_STRING;
    if ((f->min == 0 && f->max == 0) || f->type->tag == TYPE_OBJECT)
        return;
    if (f->min > INT32_MIN && (f->min > 0 || !text))
        jw_put_int(w, text ? "minLength" : "minimum", f->min);
    if (f->max >= f->min)
        jw_put_int(w, text ? "maxLength" : "maximum", f->max);
}

/* Members of the schema of one value of the field. keys: the value is told apart by these fields
 * of it, which must then be there. */
static void put_value(const struct structural *s, struct jw *w, const struct field *f);

static void put_list(const struct structural *s, struct jw *w, const struct field *f)
{
    static const char *const list_types[] = {
        [LIST_ATOMIC] = "atomic", [LIST_SET] = "set", [LIST_MAP] = "map"};

    jw_put_cstr(w, "type", "array");
    jw_put_object(w, "items");
    put_value(s, w, f);
    if (f->flags & FIELD_MAP_ATOMIC)
        jw_put_cstr(w, "x-kubernetes-map-type", "atomic");
    jw_end(w);
    if (s->put_ref || f->list != LIST_ATOMIC) /* which needs no saying in a definition */
        jw_put_cstr(w, "x-kubernetes-list-type", list_types[f->list]);
    if (f->keys)
        put_words(w, "x-kubernetes-list-map-keys", f->keys, ',');
    if (f->min > 0 && f->type->tag == TYPE_OBJECT)
        jw_put_int(w, "minItems", f->min);
}

/* How a strategic merge patch of a client treats the field. */
static void put_patch(struct jw *w, const struct field *f)
{
    bool merge = f->flags & FIELD_PATCH_MERGE, retain = f->flags & FIELD_PATCH_RETAIN_KEYS;

    if (f->patch_key)
        jw_put_cstr(w, "x-kubernetes-patch-merge-key", f->patch_key);
    if (merge || retain)
        jw_put_cstr(w, "x-kubernetes-patch-strategy",
                    !retain ? "merge"
                    : merge ? "merge,retainKeys"
                            : "retainKeys");
}

/* What every object has, for tables that do not say it again. */
static const struct {
    const char *name, *doc;
} usual_fields[] = {
    {"apiVersion", "APIVersion defines the API group and version this object is written in."},
    {"kind", "What kind of object this is."},
    {"metadata", "Standard object's metadata: name, labels and what else every object has."},
    {"spec", "What is wanted."},
    {"status", "What was last seen; written by the system."},
    {"items", "The objects."},
};

static const char *field_doc(const struct field *f, bool of_kind)
{
    for (size_t i = 0; of_kind && !f->doc && i < ARRAY_LEN(usual_fields); i++) {
        if (strcmp(f->name, usual_fields[i].name) == 0)
            return usual_fields[i].doc;
    }
    return f->doc;
}

static void put_shape(const struct structural *s, struct jw *w, const struct field *f)
{
    if (f->shape == FIELD_LIST) {
        put_list(s, w, f);
    } else if (f->shape == FIELD_MAP) {
        jw_put_cstr(w, "type", "object");
        jw_put_object(w, "additionalProperties");
        put_value(s, w, f);
        jw_end(w);
    } else {
        put_value(s, w, f);
    }
    if (f->shape != FIELD_LIST && (f->flags & FIELD_MAP_ATOMIC)) {
        if (s->custom && f->type->tag == TYPE_RAW) /* where "anything" has no type */
            jw_put_cstr(w, "type", "object");
        jw_put_cstr(w, "x-kubernetes-map-type", "atomic");
    }
    if (f->flags & FIELD_NULLABLE)
        jw_put_bool(w, "nullable", true);
    if (s->put_ref)
        put_patch(w, f);
}

/* is_key: items of a list are told apart by it, so it has a default where nothing requires it. */
static void put_default(const struct structural *s, struct jw *w, const struct field *f,
                        bool is_key)
{
    const char *dflt = f->dflt;

    if (s->custom && (f->flags & FIELD_BUILTIN_DEFAULT) && !is_key)
        dflt = NULL;
    if (is_key && !dflt && !(f->flags & FIELD_REQUIRED) && f->type->tag == TYPE_STRING)
        dflt = "\"\"";
    if (!dflt)
        return;
    jw_key(w, STR("default"));
    jw_raw(w, str_of(dflt));
}

static void put_field(const struct structural *s, struct jw *w, const struct field *f, bool of_kind,
                      bool is_key)
{
    /* kube-apiserver knows the metadata of a whole object and takes no word about it. */
    bool known = of_kind && !s->put_ref && f->type == &type_object_meta;
    const char *doc = known ? NULL : field_doc(f, of_kind);

    jw_put_object(w, f->name);
    if (doc)
        jw_put_cstr(w, "description", doc);
    put_default(s, w, f, is_key);
    if (known)
        jw_put_cstr(w, "type", "object");
    else
        put_shape(s, w, f);
    jw_end(w);
}

void structural_put_field(const struct structural *s, struct jw *w, const struct field *f,
                          bool of_kind)
{
    put_field(s, w, f, of_kind, false);
}

/* ---- objects ---- */

static bool is_one_of(const char *words, const char *name)
{
    str rest = str_of(words);

    while (rest.len > 0)
        if (str_is(str_cut(&rest, ','), name))
            return true;
    return false;
}

static void put_required(struct jw *w, const struct type *t)
{
    bool any = false;

    for (size_t i = 0; i < t->n_fields; i++) {
        if (!(t->fields[i].flags & FIELD_REQUIRED))
            continue;
        if (!any)
            jw_put_array(w, "required");
        any = true;
        jw_str(w, str_of(t->fields[i].name));
    }
    if (any)
        jw_end(w);
}

/* keys: of the list the object is an item of, or NULL. */
static void put_object(const struct structural *s, struct jw *w, const struct type *t, bool is_kind,
                       const char *keys)
{
    jw_put_cstr(w, "type", "object");
    if (t->n_fields || s->put_ref)
        jw_put_object(w, "properties");
    for (size_t i = 0; i < t->n_fields; i++)
        put_field(s, w, &t->fields[i], is_kind, !s->put_ref && is_one_of(keys, t->fields[i].name));
    if (t->n_fields || s->put_ref)
        jw_end(w);
    put_required(w, t);
    if (t->preserve_unknown)
        jw_put_bool(w, "x-kubernetes-preserve-unknown-fields", true);
}

void structural_put_object(const struct structural *s, struct jw *w, const struct type *t,
                           bool is_kind)
{
    put_object(s, w, t, is_kind, NULL);
}

static void put_value(const struct structural *s, struct jw *w, const struct field *f)
{
    const struct scalar *scalar = f->type->tag == TYPE_OBJECT ? NULL : scalar_of(f->type);

    if (s->put_ref && (!scalar || scalar->name)) {
        jw_put_array(w, "allOf");
        s->put_ref(s->ctx, w, f->type);
        jw_end(w);
    } else if (!scalar) {
        put_object(s, w, f->type, false, f->keys);
    } else {
        put_members(w, !s->put_ref && scalar->crd ? scalar->crd : scalar->members);
    }
    put_limits(w, f);
}

/* ---- definitions ---- */

/* One line per kind for people who ask what it is. */
static const struct {
    const char *group, *kind, *doc;
} kind_docs[] = {
    {"", "Binding", "Puts a pod on a node."},
    {"", "ConfigMap", "Configuration that pods read, as keys and values."},
    {"", "Endpoints", "The addresses behind a service, in the older form."},
    {"", "Event", "Something that happened to an object, reported by a component."},
    {"", "Namespace", "A space for names: objects in different namespaces may share one."},
    {"", "Node", "A machine that runs pods."},
    {"", "Pod", "Containers that run together on one node."},
    {"", "Secret", "Data that pods read and that few may see."},
    {"", "Service", "One address for a set of pods that selectors choose."},
    {"", "ServiceAccount", "An identity for what runs in pods."},
    {"admissionregistration.k8s.io", "MutatingWebhookConfiguration",
     "Services that may change objects before they are stored."},
    {"admissionregistration.k8s.io", "ValidatingWebhookConfiguration",
     "Services that may refuse objects before they are stored."},
    {"apiextensions.k8s.io", "CustomResourceDefinition", "A kind that is added to the server."},
    {"apps", "ControllerRevision", "A stored state of an owner's template, to return to."},
    {"apps", "Deployment", "Pods of one template, replaced step by step when it changes."},
    {"apps", "ReplicaSet", "A number of pods of one template."},
    {"authentication.k8s.io", "TokenRequest", "Asks for a token of a service account."},
    {"autoscaling", "HorizontalPodAutoscaler", "Scales another object by what is measured."},
    {"autoscaling", "Scale", "How many replicas an object asks for and has."},
    {"coordination.k8s.io", "Lease", "Says who leads, or that its holder is alive."},
    {"discovery.k8s.io", "EndpointSlice", "A part of the addresses behind a service."},
    {"events.k8s.io", "Event", "Something that happened to an object, reported by a component."},
    {"policy", "Eviction", "Asks to remove a pod, unless a disruption budget forbids it."},
    {"policy", "PodDisruptionBudget", "How many of a set of pods may be away at once."},
    {"rbac.authorization.k8s.io", "ClusterRole", "What may be done, in the whole cluster."},
    {"rbac.authorization.k8s.io", "ClusterRoleBinding", "Grants a ClusterRole everywhere."},
    {"rbac.authorization.k8s.io", "Role", "What may be done, in one namespace."},
    {"rbac.authorization.k8s.io", "RoleBinding", "Grants a role in one namespace."},
    {"resource.k8s.io", "DeviceClass", "A kind of device that claims may ask for."},
    {"resource.k8s.io", "ResourceSlice", "Devices that a driver offers on a node."},
    {"resource.k8s.io", "ResourceClaim", "Devices that pods use, and whether they are found."},
    {"resource.k8s.io", "ResourceClaimTemplate", "Makes a ResourceClaim for each pod."},
    {"scheduling.k8s.io", "PriorityClass", "A name for a priority of pods."},
    {"grove.io", "PodCliqueSet",
     "An inference system: its roles, which of them scale together, the fewest of each that are of "
     "any use, and how it starts, scales and is updated."},
    {"grove.io", "PodClique", "The pods of one role, kept by a PodCliqueSet."},
    {"grove.io", "PodCliqueScalingGroup", "Roles that scale together, kept by a PodCliqueSet."},
    {"grove.io", "ClusterTopologyBinding",
     "Names for the levels of the network and the node labels they mean."},
    {"grove.io", "PodGangMap", "Which pods of a set belong to which gang, during an update."},
    {"scheduler.grove.io", "PodGang", "Pods that are placed all together or not at all."},
};

const char *structural_kind_doc(const char *group, const char *kind)
{
    for (size_t i = 0; i < ARRAY_LEN(kind_docs); i++) {
        if (strcmp(group, kind_docs[i].group) == 0 && strcmp(kind, kind_docs[i].kind) == 0)
            return kind_docs[i].doc;
    }
    return NULL;
}

static void put_names(struct jw *w, const struct kind *k)
{
    jw_put_object(w, "names");
    jw_put_cstr(w, "kind", k->kind);
    jw_key(w, STR("listKind"));
    jw_printf(w, "%sList", k->kind);
    jw_put_cstr(w, "plural", k->plural);
    jw_put_cstr(w, "singular", k->singular);
    if (k->short_names)
        put_words(w, "shortNames", k->short_names, ',');
    if (k->categories)
        put_words(w, "categories", k->categories, ',');
    jw_end(w);
}

/* Name comes by itself. */
static void put_columns(struct jw *w, const struct kind *k)
{
    bool any = false;

    for (size_t i = 0; i < k->n_columns; i++) {
        const struct column *c = &k->columns[i];
        if (!c->path || strcmp(c->name, "Name") == 0)
            continue;
        if (!any)
            jw_put_array(w, "additionalPrinterColumns");
        any = true;
        jw_object(w);
        jw_put_cstr(w, "name", c->name);
        jw_put_cstr(w, "type", c->type);
        jw_put_cstr(w, "jsonPath", c->path);
        if (c->priority)
            jw_put_int(w, "priority", c->priority);
        if (c->doc)
            jw_put_cstr(w, "description", c->doc);
        jw_end(w);
    }
    if (any)
        jw_end(w);
}

static void put_subresources(struct jw *w, const struct kind *k)
{
    if (!kind_is(k, KIND_STATUS) && !kind_is(k, KIND_SCALE))
        return;
    jw_put_object(w, "subresources");
    if (kind_is(k, KIND_STATUS)) {
        jw_put_object(w, "status");
        jw_end(w);
    }
    if (kind_is(k, KIND_SCALE)) {
        jw_put_object(w, "scale");
        jw_put_cstr(w, "specReplicasPath", k->scale_spec_path);
        jw_put_cstr(w, "statusReplicasPath", k->scale_status_path);
        if (k->scale_selector_path)
            jw_put_cstr(w, "labelSelectorPath", k->scale_selector_path);
        jw_end(w);
    }
    jw_end(w);
}

static void put_schema(struct jw *w, const struct kind *k)
{
    const struct structural how = {.custom = true};
    const char *doc = structural_kind_doc(k->group, k->kind);

    jw_put_object(w, "schema");
    jw_put_object(w, "openAPIV3Schema");
    if (doc)
        jw_put_cstr(w, "description", doc);
    structural_put_object(&how, w, k->type, true);
    jw_end(w);
    jw_end(w);
}

static void put_version(struct jw *w, const struct kind *k)
{
    jw_put_array(w, "versions");
    jw_object(w);
    jw_put_cstr(w, "name", k->version);
    jw_put_bool(w, "served", true);
    jw_put_bool(w, "storage", true);
    put_subresources(w, k);
    put_columns(w, k);
    put_schema(w, k);
    jw_end(w);
    jw_end(w);
}

struct doc *structural_crd(const struct kind *k)
{
    struct jw w;

    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "apiextensions.k8s.io/v1");
    jw_put_cstr(&w, "kind", "CustomResourceDefinition");
    jw_put_object(&w, "metadata");
    jw_key(&w, STR("name"));
    jw_printf(&w, "%s.%s", k->plural, k->group);
    jw_end(&w);
    jw_put_object(&w, "spec");
    jw_put_cstr(&w, "group", k->group);
    jw_put_cstr(&w, "scope", kind_is(k, KIND_NAMESPACED) ? "Namespaced" : "Cluster");
    put_names(&w, k);
    put_version(&w, k);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}
