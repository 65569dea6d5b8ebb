/*
 * Types as OpenAPI schemas. Every object type is a component of its own and is referred to by name,
 * so types may contain each other and a document holds each once.
 *
 * A type's full name says where it is at home: the first registered kind whose fields reach it
 * (core before apps, so a PodSpec is core's wherever it is used), except for the types below
 * metadata and selectors, which belong to no kind. Homes are found once, by walking all kinds in
 * the order of the registry, and again when a kind has been registered since.
 */
#include "apiserver/openapi.h"

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

/* ---- scalars ---- */

/* Scalars with a component are referred to by name like objects, because that name ("Quantity") is
 * what people are shown as the type. */
static const struct scalar {
    const char *type, *format;
    const char *component, *body;
} scalars[] = {
    [TYPE_STRING] = {"string", NULL, NULL, NULL},
    [TYPE_INT32] = {"integer", "int32", NULL, NULL},
    [TYPE_INT64] = {"integer", "int64", NULL, NULL},
    [TYPE_BOOL] = {"boolean", NULL, NULL, NULL},
    [TYPE_DOUBLE] = {"number", "double", NULL, NULL},
    [TYPE_BYTES] = {"string", "byte", NULL, NULL},
    [TYPE_TIME] = {NULL, NULL, META "Time",
                   "{\"description\":\"An instant, RFC 3339 with whole seconds.\","
                   "\"type\":\"string\",\"format\":\"date-time\"}"},
    [TYPE_MICRO_TIME] = {NULL, NULL, META "MicroTime",
                         "{\"description\":\"An instant, RFC 3339 with microseconds.\","
                         "\"type\":\"string\",\"format\":\"date-time\"}"},
    [TYPE_DURATION] = {NULL, NULL, META "Duration",
                       "{\"description\":\"A length of time, such as 90s or 1h30m.\","
                       "\"type\":\"string\"}"},
    [TYPE_QUANTITY] = {NULL, NULL, "io.k8s.apimachinery.pkg.api.resource.Quantity",
                       "{\"description\":\"An amount, such as 500m, 2 or 64Gi.\","
                       "\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}"},
    [TYPE_INT_OR_STRING] = {NULL, NULL, "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
                            "{\"description\":\"A number, or a string such as 25%.\","
                            "\"format\":\"int-or-string\",\"x-kubernetes-int-or-string\":true,"
                            "\"oneOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}"},
};

static const struct scalar *scalar_of(const struct type *t)
{
    return (size_t)t->tag < ARRAY_LEN(scalars) ? &scalars[t->tag] : NULL;
}

/* ---- homes ---- */

struct schema_entry {
    const struct type *type;
    const char *component;
    bool is_kind; /* has a group, version and kind of its own */
    bool is_list; /* the list of the kind */
    const char *group, *version, *kind;
};

static struct {
    size_t n_kinds; /* registered when the homes were found */
    struct arena arena;
    struct map entries; /* by the type's address */
} homes;

static struct schema_entry *home_find(const struct type *t)
{
    return map_get(&homes.entries, str_n((const char *)&t, sizeof(t)));
}

/* Groups whose types other servers name in their own way. */
static const struct {
    const char *group, *prefix;
} prefixes[] = {
    {"", "io.k8s.api.core."},
    {"apiextensions.k8s.io", "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions."},
    {"apiregistration.k8s.io", "io.k8s.kube-aggregator.pkg.apis.apiregistration."},
};

/* "io.k8s.api.apps." of a built-in group; "io.grove.scheduler." of scheduler.grove.io. */
static void add_prefix(struct strbuf *b, const char *group, bool custom)
{
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if (strcmp(group, prefixes[i].group) == 0) {
            strbuf_add_cstr(b, prefixes[i].prefix);
            return;
        }
    }
    str rest = str_of(group);
    if (!custom) {
        str first = str_cut(&rest, '.');
        strbuf_printf(b, "io.k8s.api.%.*s.", STR_ARG(first));
        return;
    }
    while (rest.len > 0) {
        ptrdiff_t dot = str_rfind_char(rest, '.');
        strbuf_add_str(b, str_sub(rest, (size_t)(dot + 1), rest.len));
        strbuf_add_char(b, '.');
        rest = str_sub(rest, 0, dot < 0 ? 0 : (size_t)dot);
    }
}

static bool same_letter(char a, char b)
{
    return (a | 0x20) == (b | 0x20);
}

/* Names are unique over all tables; where two groups have the same one, it carries the group and
 * version in front: EventsV1Event. */
static str bare_name(const struct type *t, const char *group, const char *version)
{
    str first = str_of(group), name = str_of(t->name), v = str_of(version);
    first = str_cut(&first, '.');
    if (first.len == 0 || name.len <= first.len + v.len)
        return name;
    for (size_t i = 0; i < first.len + v.len; i++) {
        if (!same_letter(name.p[i], i < first.len ? first.p[i] : v.p[i - first.len]))
            return name;
    }
    return str_sub(name, first.len + v.len, name.len);
}

static struct schema_entry *home_add(const struct type *t, const char *component)
{
    struct schema_entry *e = arena_new(&homes.arena, struct schema_entry);
    e->type = t;
    e->component = arena_str(&homes.arena, str_of(component)).p;
    (void)map_put(&homes.entries, str_n((const char *)&e->type, sizeof(e->type)), e);
    return e;
}

/* Gives t and all it reaches a home, unless they have one. Depth: a type is entered once. */
static void home_walk(const struct type *t, const char *prefix, const char *group,
                      const char *version)
{
    const struct scalar *s = scalar_of(t);
    if (home_find(t) || (t->tag != TYPE_OBJECT && !(s && s->component)))
        return;
    struct strbuf b = STRBUF_INIT(512);
    if (t->tag == TYPE_OBJECT)
        strbuf_printf(&b, "%s%.*s", prefix, STR_ARG(bare_name(t, group, version)));
    else
        strbuf_add_cstr(&b, s->component);
    (void)home_add(t, b.p);
    strbuf_done(&b);
    for (size_t i = 0; i < t->n_fields; i++)
        home_walk(t->fields[i].type, prefix, group, version);
}

/* A type that is served under a group, version and kind. */
static void home_walk_kind(const struct type *t, const char *group, const char *version,
                           const char *kind, bool custom)
{
    struct strbuf prefix = STRBUF_INIT(512);
    struct strbuf name = STRBUF_INIT(512);
    add_prefix(&prefix, group, custom);
    strbuf_printf(&prefix, "%s.", version);
    strbuf_printf(&name, "%s%s", prefix.p, kind);
    struct schema_entry *e = home_find(t);
    if (!e)
        e = home_add(t, name.p);
    if (!e->is_kind) {
        e->is_kind = true;
        e->group = group;
        e->version = version;
        e->kind = kind;
    }
    for (size_t i = 0; i < t->n_fields; i++)
        home_walk(t->fields[i].type, prefix.p, group, version);
    strbuf_done(&name);
    strbuf_done(&prefix);
}

static void homes_update(void)
{
    static const struct type *const shared[] = {&type_object_meta, &type_list_meta,
                                                &type_label_selector, &type_condition,
                                                &type_delete_options};
    if (homes.n_kinds == kinds_count())
        return;
    homes.n_kinds = kinds_count();
    map_done(&homes.entries);
    arena_clear(&homes.arena);
    for (size_t i = 0; i < ARRAY_LEN(shared); i++)
        home_walk(shared[i], META, "", "");
    for (size_t i = 0; resource_at(i); i++) {
        const struct kind *k = resource_at(i);
        home_walk_kind(k->type, k->group, k->version, k->kind, kind_is(k, KIND_CUSTOM));
    }
    for (size_t i = 0; i < kinds_count(); i++) {
        for (size_t j = 0; j < kind_subresource_count(kinds_at(i)); j++) {
            const struct subresource *s = kind_subresource(kinds_at(i), j);
            const struct type *t =
                s->kind ? body_type(str_of(s->group), str_of(s->version), str_of(s->kind)) : NULL;
            if (t)
                home_walk_kind(t, s->group, s->version, s->kind, false);
        }
    }
}

/* ---- one document's schemas ---- */

void schema_set_init(struct schema_set *s, bool custom)
{
    homes_update();
    *s = (struct schema_set){.custom = custom};
    arena_init(&s->arena);
}

void schema_set_done(struct schema_set *s)
{
    vec_done(&s->wanted);
    map_done(&s->names);
    arena_done(&s->arena);
}

static void want(struct schema_set *s, struct schema_entry *e)
{
    if (map_has(&s->names, str_of(e->component)))
        return;
    (void)map_put(&s->names, str_of(e->component), e);
    *vec_push(&s->wanted) = e;
}

static struct schema_entry *list_entry(struct schema_set *s, const struct schema_entry *e)
{
    struct schema_entry *list = arena_new(&s->arena, struct schema_entry);
    *list = *e;
    list->is_list = true;
    list->component = arena_printf(&s->arena, "%sList", e->component).p;
    list->kind = arena_printf(&s->arena, "%sList", e->kind).p;
    return list;
}

void schema_put_ref(struct schema_set *s, struct jw *w, const struct type *t, bool list)
{
    struct schema_entry *e = home_find(t);
    BUG_ON(!e);
    if (list)
        e = list_entry(s, e);
    want(s, e);
    jw_object(w);
    jw_key(w, STR("$ref"));
    jw_printf(w, "#/components/schemas/%s", e->component);
    jw_end(w);
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
    if (f->min == 0 && f->max == 0)
        return;
    jw_put_int(w, "minimum", f->min);
    if (f->max >= f->min)
        jw_put_int(w, "maximum", f->max);
}

/* Members of the schema of one value of the field. */
static void put_value(struct schema_set *s, struct jw *w, const struct field *f)
{
    const struct scalar *scalar = scalar_of(f->type);
    if (f->type->tag == TYPE_OBJECT || (scalar && scalar->component)) {
        jw_put_array(w, "allOf");
        schema_put_ref(s, w, f->type, false);
        jw_end(w);
    } else if (f->type->tag == TYPE_STRING_LIST) {
        jw_put_cstr(w, "type", "array");
        jw_put_object(w, "items");
        jw_put_cstr(w, "type", "string");
        jw_end(w);
    } else if (f->type->tag == TYPE_RAW) {
        jw_put_cstr(w, "type", "object");
        jw_put_bool(w, "x-kubernetes-preserve-unknown-fields", true);
    } else {
        BUG_ON(!scalar || !scalar->type);
        jw_put_cstr(w, "type", scalar->type);
        if (scalar->format)
            jw_put_cstr(w, "format", scalar->format);
    }
    put_limits(w, f);
}

static void put_list(struct schema_set *s, struct jw *w, const struct field *f)
{
    static const char *const list_types[] = {
        [LIST_ATOMIC] = "atomic", [LIST_SET] = "set", [LIST_MAP] = "map"};
    jw_put_cstr(w, "type", "array");
    jw_put_object(w, "items");
    put_value(s, w, f);
    if (f->flags & FIELD_MAP_ATOMIC)
        jw_put_cstr(w, "x-kubernetes-map-type", "atomic");
    jw_end(w);
    jw_put_cstr(w, "x-kubernetes-list-type", list_types[f->list]);
    if (f->keys)
        put_words(w, "x-kubernetes-list-map-keys", f->keys, ',');
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
    {"apiVersion", "The API group and version this object is written in."},
    {"kind", "What kind of object this is."},
    {"metadata", "Name, labels and what else every object has."},
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

static void put_field(struct schema_set *s, struct jw *w, const struct field *f, bool of_kind)
{
    const char *doc = field_doc(f, of_kind);
    jw_put_object(w, f->name);
    if (doc)
        jw_put_cstr(w, "description", doc);
    if (f->dflt && !(s->custom && (f->flags & FIELD_BUILTIN_DEFAULT))) {
        jw_key(w, STR("default"));
        jw_raw(w, str_of(f->dflt));
    }
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
    if (f->shape != FIELD_LIST && (f->flags & FIELD_MAP_ATOMIC))
        jw_put_cstr(w, "x-kubernetes-map-type", "atomic");
    if (f->flags & FIELD_NULLABLE)
        jw_put_bool(w, "nullable", true);
    put_patch(w, f);
    jw_end(w);
}

/* ---- components ---- */

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

static const char *kind_doc(const struct schema_entry *e)
{
    for (size_t i = 0; e->is_kind && i < ARRAY_LEN(kind_docs); i++) {
        if (strcmp(e->group, kind_docs[i].group) == 0 && strcmp(e->kind, kind_docs[i].kind) == 0)
            return kind_docs[i].doc;
    }
    return NULL;
}

static void put_group_version_kind(struct jw *w, const struct schema_entry *e)
{
    if (!e->is_kind)
        return;
    jw_put_array(w, "x-kubernetes-group-version-kind");
    jw_object(w);
    jw_put_cstr(w, "group", e->group);
    jw_put_cstr(w, "kind", e->kind);
    jw_put_cstr(w, "version", e->version);
    jw_end(w);
    jw_end(w);
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

/* Members of the schema of an object type; e is where it is at home or the list of it. */
static void put_object(struct schema_set *s, struct jw *w, const struct schema_entry *e,
                       const struct type *t)
{
    const char *doc = e->is_list ? NULL : kind_doc(e);
    if (doc)
        jw_put_cstr(w, "description", doc);
    jw_put_cstr(w, "type", "object");
    jw_put_object(w, "properties");
    for (size_t i = 0; i < t->n_fields; i++)
        put_field(s, w, &t->fields[i], e->is_kind);
    jw_end(w);
    put_required(w, t);
    if (t->preserve_unknown)
        jw_put_bool(w, "x-kubernetes-preserve-unknown-fields", true);
    put_group_version_kind(w, e);
}

static void put_list_object(struct schema_set *s, struct jw *w, const struct schema_entry *e)
{
    const struct field fields[] = {
        {.name = "apiVersion", .type = &type_string},
        {.name = "items", .type = e->type, .shape = FIELD_LIST, .flags = FIELD_REQUIRED},
        {.name = "kind", .type = &type_string},
        {.name = "metadata", .type = &type_list_meta},
    };
    const struct type list = {
        .name = e->kind, .tag = TYPE_OBJECT, .fields = fields, .n_fields = ARRAY_LEN(fields)};
    put_object(s, w, e, &list);
}

void schema_put_all(struct schema_set *s, struct jw *w)
{
    jw_put_object(w, "schemas");
    /* The list grows while it is walked: what a schema names is appended. */
    for (size_t i = 0; i < s->wanted.len; i++) {
        const struct schema_entry *e = s->wanted.p[i];
        jw_key(w, str_of(e->component));
        if (!e->is_list && e->type->tag != TYPE_OBJECT) {
            jw_raw(w, str_of(scalar_of(e->type)->body));
            continue;
        }
        jw_object(w);
        if (e->is_list)
            put_list_object(s, w, e);
        else
            put_object(s, w, e, e->type);
        jw_end(w);
    }
    jw_end(w);
}
