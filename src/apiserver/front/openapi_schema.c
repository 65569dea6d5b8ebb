/*
 * Types as OpenAPI schemas (how a type is written is kube/structural.h). Every object type is a
 * component of its own and is referred to by name, so types may contain each other and a document
 * holds each once.
 *
 * A type's full name says where it is at home: the first registered kind whose fields reach it
 * (core before apps, so a PodSpec is core's wherever it is used), except for the types below
 * metadata and selectors, which belong to no kind. Homes are found once, by walking all kinds in
 * the order of the registry, and again when a kind has been registered since.
 */
#include "apiserver/front/openapi.h"

#include "kube/structural.h"

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

/* Where the scalars with a name are at home. */
static const struct {
    const struct type *type;
    const char *prefix;
} scalar_homes[] = {
    {&type_quantity, "io.k8s.apimachinery.pkg.api.resource."},
    {&type_int_or_string, "io.k8s.apimachinery.pkg.util.intstr."},
};

/* ---- homes ---- */

struct schema_entry {
    const struct type *type;
    const char *component;
    bool is_kind; /* has a group, version and kind of its own */
    bool is_list; /* the list of the kind */
    const char *group, *version, *kind;
};

static struct {
    uint64_t kinds; /* version of the registry when the homes were found */
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

static const char *scalar_prefix(const struct type *t)
{
    for (size_t i = 0; i < ARRAY_LEN(scalar_homes); i++)
        if (scalar_homes[i].type == t)
            return scalar_homes[i].prefix;
    return META;
}

/* Gives t and all it reaches a home, unless they have one. Depth: a type is entered once. */
static void home_walk(const struct type *t, const char *prefix, const char *group,
                      const char *version)
{
    const char *scalar = t->tag == TYPE_OBJECT ? NULL : structural_scalar_name(t);
    if (home_find(t) || (t->tag != TYPE_OBJECT && !scalar))
        return;
    struct strbuf b = STRBUF_INIT(512);
    if (t->tag == TYPE_OBJECT)
        strbuf_printf(&b, "%s%.*s", prefix, STR_ARG(bare_name(t, group, version)));
    else
        strbuf_printf(&b, "%s%s", scalar_prefix(t), scalar);
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
    /* What users define is written in one piece, as they wrote it. */
    for (size_t i = 0; !t->schema.doc && i < t->n_fields; i++)
        home_walk(t->fields[i].type, prefix.p, group, version);
    strbuf_done(&name);
    strbuf_done(&prefix);
}

static void homes_update(void)
{
    static const struct type *const shared[] = {&type_object_meta, &type_list_meta,
                                                &type_label_selector, &type_condition,
                                                &type_delete_options};
    if (homes.kinds == kinds_version())
        return;
    homes.kinds = kinds_version();
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

static struct schema_entry *listed_entry(struct schema_set *s, const struct schema_entry *e)
{
    struct schema_entry *list = arena_new(&s->arena, struct schema_entry);
    *list = *e;
    list->is_list = true;
    const struct kind *k = kind_by_name(str_of(e->group), str_of(e->version), str_of(e->kind));
    list->component = arena_printf(&s->arena, "%sList", e->component).p;
    list->kind = k && k->list_kind ? k->list_kind : arena_printf(&s->arena, "%sList", e->kind).p;
    return list;
}

void schema_put_ref(struct schema_set *s, struct jw *w, const struct type *t, bool list)
{
    struct schema_entry *e = home_find(t);
    BUG_ON(!e);
    if (list)
        e = listed_entry(s, e);
    want(s, e);
    jw_object(w);
    jw_key(w, STR("$ref"));
    jw_printf(w, "#/components/schemas/%s", e->component);
    jw_end(w);
}

/* ---- components ---- */

static void put_one_kind(struct jw *w, const char *group, const char *kind, const char *version)
{
    jw_object(w);
    jw_put_cstr(w, "group", group);
    jw_put_cstr(w, "kind", kind);
    jw_put_cstr(w, "version", version);
    jw_end(w);
}

static void put_group_version_kind(struct jw *w, const struct schema_entry *e)
{
    if (!e->is_kind)
        return;
    jw_put_array(w, "x-kubernetes-group-version-kind");
    put_one_kind(w, e->group, e->kind, e->version);
    for (size_t i = 0; i < kinds_count(); i++) { /* versions that are the same */
        const struct kind *k = kinds_at(i);
        if (k->type == e->type && !kind_is(k, KIND_RETIRED) && strcmp(k->version, e->version) != 0)
            put_one_kind(w, k->group, e->kind, k->version);
    }
    jw_end(w);
}

static void put_ref(void *ctx, struct jw *w, const struct type *t)
{
    schema_put_ref(ctx, w, t, false);
}

/* A schema as its definition has it, and what every object has beside. */
static void put_defined(struct schema_set *s, struct jw *w, const struct schema_entry *e)
{
    static const struct field usual[] = {
        {.name = "apiVersion", .type = &type_string},
        {.name = "kind", .type = &type_string},
        {.name = "metadata", .type = &type_object_meta},
    };
    const struct structural how = {.custom = true, .put_ref = put_ref, .ctx = s};
    jval schema = e->type->schema, properties = jgetc(schema, "properties");
    for (struct jiter it = jiter(schema); jnext(&it);) {
        if (str_is(it.key, "properties"))
            continue;
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    if (j_is_absent(jgetc(schema, "type")))
        jw_put_cstr(w, "type", "object");
    jw_put_object(w, "properties");
    for (size_t i = 0; i < ARRAY_LEN(usual); i++)
        structural_put_field(&how, w, &usual[i], true);
    for (struct jiter it = jiter(properties); jnext(&it);) {
        bool is_usual = false;
        for (size_t i = 0; i < ARRAY_LEN(usual); i++)
            is_usual |= str_is(it.key, usual[i].name);
        if (is_usual)
            continue;
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    jw_end(w);
    put_group_version_kind(w, e);
}

/* Members of the schema of an object type; e is where it is at home or the list of it. */
static void put_object(struct schema_set *s, struct jw *w, const struct schema_entry *e,
                       const struct type *t)
{
    const struct structural how = {.custom = s->custom, .put_ref = put_ref, .ctx = s};
    const char *doc = e->is_list || !e->is_kind ? NULL : structural_kind_doc(e->group, e->kind);
    if (doc)
        jw_put_cstr(w, "description", doc);
    structural_put_object(&how, w, t, e->is_kind);
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
            jw_raw(w, str_of(structural_scalar(e->type)));
            continue;
        }
        jw_object(w);
        if (e->is_list)
            put_list_object(s, w, e);
        else if (e->type->schema.doc)
            put_defined(s, w, e);
        else
            put_object(s, w, e, e->type);
        jw_end(w);
    }
    jw_end(w);
}
