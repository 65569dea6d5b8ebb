/*
 * From a schema to a table (see structural.h; the other way is structural_write.c).
 *
 * A node of the schema becomes a field: its shape (one, list, map), the type of its values, its
 * default and how server-side apply treats it. Everything else a schema can demand stays in the
 * schema, and validation reads it there (validate_rules.c). Lists of lists and the like have no
 * shape of their own in a table; the inner one is a type with a single field (TYPE_NESTED).
 */
#include "kube/structural.h"

#include "kube/schema.h"

/* Documents do not nest deeper. */
#define MAX_DEPTH 256

struct reader {
    struct arena *arena;
    unsigned depth;
};

static bool is_set(jval schema, const char *key)
{
    return j_is_true(jget(schema, str_of(key)));
}

static const char *keep(struct reader *r, str s)
{
    return arena_str(r->arena, s).p;
}

static const struct type *scalar_type(jval schema)
{
    static const struct {
        const char *type, *format;
        const struct type *is;
    } scalars[] = {
        {"string", "byte", &type_bytes},        {"string", "date-time", &type_time},
        {"string", "duration", &type_duration}, {"string", NULL, &type_string},
        {"integer", "int32", &type_int32},      {"integer", NULL, &type_int64},
        {"number", NULL, &type_double},         {"boolean", NULL, &type_bool},
    };
    str type = jstr(jgetc(schema, "type")), format = jstr(jgetc(schema, "format"));

    if (is_set(schema, "x-kubernetes-int-or-string"))
        return &type_int_or_string;
    for (size_t i = 0; i < ARRAY_LEN(scalars); i++)
        if (str_is(type, scalars[i].type) &&
            (!scalars[i].format || str_is(format, scalars[i].format)))
            return scalars[i].is;
    return &type_raw;
}

static void read_node(struct reader *r, jval schema, str name, struct field *f);

/* ---- objects ---- */

static bool names_field(const struct field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(fields[i].name, name) == 0)
            return true;
    return false;
}

/* Fields every object has, whether its schema says so or not. */
static size_t add_identity(struct field *fields, size_t n)
{
    static const struct field identity[] = {
        {.name = "apiVersion", .type = &type_string},
        {.name = "kind", .type = &type_string},
        {.name = "metadata", .type = &type_object_meta},
    };

    for (size_t i = 0; i < ARRAY_LEN(identity); i++)
        if (!names_field(fields, n, identity[i].name))
            fields[n++] = identity[i];
    return n;
}

/* The names of the schema's own metadata do not count: it is the same for every object. */
static struct type *object_type(struct reader *r, jval schema, const char *name, bool whole)
{
    jval properties = jgetc(schema, "properties");
    struct type *t = arena_new(r->arena, struct type);
    struct field *fields = arena_array(r->arena, struct field, jlen(properties) + 3);
    size_t n = 0;

    for (struct jiter it = jiter(properties); jnext(&it);) {
        struct field *f = &fields[n++];
        read_node(r, it.value, it.key, f);
        if (whole && str_is(it.key, "metadata"))
            *f =
                (struct field){.name = f->name, .name_len = f->name_len, .type = &type_object_meta};
    }
    if (whole)
        n = add_identity(fields, n);
    *t = (struct type){
        .name = name,
        .tag = TYPE_OBJECT,
        .preserve_unknown = is_set(schema, "x-kubernetes-preserve-unknown-fields"),
        .fields = n ? fields : NULL,
        .n_fields = n,
    };
    return t;
}

/* ---- nodes ---- */

/* The type of an item; a list or map in that place is a type with one field. */
static const struct type *item_type(struct reader *r, jval schema, str name, bool *ret_atomic)
{
    struct field *f = arena_new(r->arena, struct field);

    read_node(r, schema, name, f);
    *ret_atomic = f->shape == FIELD_ONE && (f->flags & FIELD_MAP_ATOMIC);
    if (f->shape == FIELD_ONE)
        return f->type;
    struct type *t = arena_new(r->arena, struct type);
    *t = (struct type){.name = f->name, .tag = TYPE_NESTED, .fields = f, .n_fields = 1};
    return t;
}

static const char *list_keys(struct reader *r, jval keys)
{
    struct strbuf b = STRBUF_INIT(64 << 10);

    for (struct jiter it = jiter(keys); jnext(&it);)
        strbuf_printf(&b, "%s%.*s", it.index ? "," : "", STR_ARG(jstr(it.value)));
    const char *out = keep(r, strbuf_str(&b));
    strbuf_done(&b);
    return out;
}

static void read_list(struct reader *r, jval schema, str name, struct field *f)
{
    str list = jstr(jgetc(schema, "x-kubernetes-list-type"));
    bool atomic_items = false;

    f->shape = FIELD_LIST;
    f->type = item_type(r, jgetc(schema, "items"), name, &atomic_items);
    if (atomic_items)
        f->flags |= FIELD_MAP_ATOMIC;
    if (str_is(list, "set"))
        f->list = LIST_SET;
    if (!str_is(list, "map") || f->type->tag != TYPE_OBJECT)
        return;
    f->list = LIST_MAP;
    f->keys = list_keys(r, jgetc(schema, "x-kubernetes-list-map-keys"));
}

static void read_object(struct reader *r, jval schema, str name, struct field *f)
{
    jval values = jgetc(schema, "additionalProperties");
    bool atomic_values;

    if (str_is(jstr(jgetc(schema, "x-kubernetes-map-type")), "atomic"))
        f->flags |= FIELD_MAP_ATOMIC;
    if (jtype(values) == J_OBJECT && !jlen(jgetc(schema, "properties"))) {
        f->shape = FIELD_MAP;
        f->type = item_type(r, values, name, &atomic_values);
    } else if (jtype(values) == J_TRUE) {
        f->shape = FIELD_MAP;
        f->type = &type_raw;
    } else {
        f->type = object_type(r, schema, f->name, is_set(schema, "x-kubernetes-embedded-resource"));
    }
}

static void read_node(struct reader *r, jval schema, str name, struct field *f)
{
    str type = jstr(jgetc(schema, "type"));
    jval dflt = jgetc(schema, "default");

    *f = (struct field){.name = keep(r, name),
                        .name_len = name.len <= UINT16_MAX ? (uint16_t)name.len : 0,
                        .type = &type_raw,
                        .schema = schema};
    if (r->depth >= MAX_DEPTH)
        return;
    r->depth++;
    if (str_is(type, "array"))
        read_list(r, schema, name, f);
    else if (str_is(type, "object"))
        read_object(r, schema, name, f);
    else
        f->type = scalar_type(schema);
    r->depth--;
    if (is_set(schema, "nullable"))
        f->flags |= FIELD_NULLABLE;
    if (j_has(dflt))
        f->dflt = keep(r, jtext(dflt));
}

const struct type *structural_type(struct arena *a, jval schema, const char *kind)
{
    struct reader r = {.arena = a};

    if (schema.doc)
        (void)doc_hold(a, doc_ref(schema.doc));
    struct type *t = object_type(&r, schema, arena_str(a, str_of(kind)).p, true);
    t->schema = schema;
    return t;
}
