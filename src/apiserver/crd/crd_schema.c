/*
 * What makes a schema structural: every field has a type, everything is said in one place, and
 * what is combined (allOf and the like) only adds rules of values. Then what is true of a list can
 * be known before an object is seen, which pruning, defaulting and server-side apply need.
 */
#include "apiserver/admission/admit_impl.h"
#include "apiserver/crd.h"
#include "kube/cel/cel_rules.h"
#include "kube/schema.h"
#include "kube/structural.h"

/* Deeper ones are refused. */
#define MAX_DEPTH 100

struct walk {
    const struct admit *a;
    unsigned depth;
    uint64_t *pattern_work; /* that it took to make the patterns of the definition */
};

static void forbid(struct walk *w, str path, const char *member, const char *why)
{
    field_error_add(w->a->errors, FIELD_ERR_FORBIDDEN,
                    admit_path(w->a, "%.*s.%s", STR_ARG(path), member), STR_NONE, "%s", why);
}

static void require(struct walk *w, str path, const char *member, const char *why)
{
    field_error_add(w->a->errors, FIELD_ERR_REQUIRED,
                    admit_path(w->a, "%.*s.%s", STR_ARG(path), member), STR_NONE, "%s", why);
}

static void invalid(struct walk *w, str path, const char *member, jval v, const char *why)
{
    field_error_add(w->a->errors, FIELD_ERR_INVALID,
                    admit_path(w->a, "%.*s.%s", STR_ARG(path), member), jtext(v), "%s", why);
}

static bool is_set(jval schema, const char *key)
{
    return j_is_true(jget(schema, str_of(key)));
}

/* ---- members that may not be there ---- */

static void check_forbidden(struct walk *w, jval schema, str path)
{
    static const struct {
        const char *member, *why;
    } forbidden[] = {
        {"$ref", "$ref is not supported"},
        {"definitions", "definitions is not supported"},
        {"dependencies", "dependencies is not supported"},
        {"patternProperties", "patternProperties is not supported"},
        {"additionalItems", "additionalItems is not supported"},
        {"id", "id is not supported"},
    };
    for (size_t i = 0; i < ARRAY_LEN(forbidden); i++)
        if (j_has(jget(schema, str_of(forbidden[i].member))))
            forbid(w, path, forbidden[i].member, forbidden[i].why);
    if (is_set(schema, "uniqueItems"))
        forbid(w, path, "uniqueItems",
               "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    if (jtype(jgetc(schema, "additionalProperties")) == J_FALSE)
        forbid(w, path, "additionalProperties", "additionalProperties cannot be set to false");
    if (j_has(jgetc(schema, "additionalProperties")) && jlen(jgetc(schema, "properties")))
        forbid(w, path, "additionalProperties",
               "additionalProperties and properties are mutual exclusive");
}

/* ---- patterns ---- */

/* All patterns of a definition are made at once, while everybody waits: this takes them some 100 ms
 * at worst. Thousands of usual ones are far from it. */
#define PATTERN_WORK_MAX (2 << 20)

static void check_pattern(struct walk *w, jval schema, str path)
{
    jval pattern = jgetc(schema, "pattern");
    struct err err = ERR_INIT;
    if (!jstr(pattern).len)
        return;
    if (*w->pattern_work >= PATTERN_WORK_MAX)
        invalid(
            w, path, "pattern", pattern,
            "the patterns of this definition are too large together: use fewer or smaller ones");
    else if (!schema_pattern_is_valid(jstr(pattern), w->pattern_work, &err))
        invalid(w, path, "pattern", pattern,
                arena_printf(w->a->arena, "must be a valid regular expression, but isn't: %s",
                             err.message)
                    .p);
}

/* ---- rules of values ---- */

static void check_combined(struct walk *w, jval schema, str path, bool int_or_string);

/* Inside allOf, anyOf, oneOf and not. */
static void check_only_rules(struct walk *w, jval schema, str path, bool int_or_string)
{
    static const struct {
        const char *member, *why;
    } empty[] = {
        {"description", "must be empty to be structural"},
        {"title", "must be empty to be structural"},
        {"default", "must be undefined to be structural"},
        {"additionalProperties", "must be undefined to be structural"},
        {"x-kubernetes-list-type", "must be undefined to be structural"},
        {"x-kubernetes-list-map-keys", "must be empty to be structural"},
        {"x-kubernetes-map-type", "must be undefined to be structural"},
        {"x-kubernetes-validations", "must be empty to be structural"},
    };
    static const char *const off[] = {"nullable", "x-kubernetes-preserve-unknown-fields",
                                      "x-kubernetes-embedded-resource",
                                      "x-kubernetes-int-or-string"};
    if (w->depth >= MAX_DEPTH)
        return;
    if (jstr(jgetc(schema, "type")).len && !int_or_string)
        forbid(w, path, "type", "must be empty to be structural");
    for (size_t i = 0; i < ARRAY_LEN(empty); i++)
        if (j_has(jget(schema, str_of(empty[i].member))))
            forbid(w, path, empty[i].member, empty[i].why);
    for (size_t i = 0; i < ARRAY_LEN(off); i++)
        if (is_set(schema, off[i]))
            forbid(w, path, off[i], "must be false to be structural");
    w->depth++;
    check_pattern(w, schema, path);
    check_combined(w, schema, path, int_or_string);
    for (struct jiter it = jiter(jgetc(schema, "properties")); jnext(&it);)
        check_only_rules(w, it.value,
                         admit_path(w->a, "%.*s.properties[%.*s]", STR_ARG(path), STR_ARG(it.key)),
                         false);
    if (jtype(jgetc(schema, "items")) == J_OBJECT)
        check_only_rules(w, jgetc(schema, "items"), admit_path(w->a, "%.*s.items", STR_ARG(path)),
                         false);
    w->depth--;
}

static void check_combined(struct walk *w, jval schema, str path, bool int_or_string)
{
    static const char *const lists[] = {"allOf", "anyOf", "oneOf"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (struct jiter it = jiter(jget(schema, str_of(lists[i]))); jnext(&it);)
            check_only_rules(w, it.value,
                             admit_path(w->a, "%.*s.%s[%zu]", STR_ARG(path), lists[i], it.index),
                             int_or_string);
    if (jtype(jgetc(schema, "not")) == J_OBJECT)
        check_only_rules(w, jgetc(schema, "not"), admit_path(w->a, "%.*s.not", STR_ARG(path)),
                         false);
}

/* ---- one node ---- */

static bool is_type(str type)
{
    static const char *const types[] = {"array",  "boolean", "integer",
                                        "number", "object",  "string"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(type, types[i]))
            return true;
    return false;
}

static void check_type(struct walk *w, jval schema, str path, const char *without)
{
    jval type = jgetc(schema, "type");
    bool free = is_set(schema, "x-kubernetes-int-or-string") ||
                is_set(schema, "x-kubernetes-preserve-unknown-fields");
    if (!jstr(type).len && !free)
        require(w, path, "type", without);
    else if (jstr(type).len && !is_type(jstr(type)))
        field_error_add(w->a->errors, FIELD_ERR_NOT_SUPPORTED,
                        admit_path(w->a, "%.*s.type", STR_ARG(path)), jtext(type),
                        "supported values: \"array\", \"boolean\", \"integer\", \"number\", "
                        "\"object\", \"string\"");
    if (jstr(type).len && is_set(schema, "x-kubernetes-int-or-string"))
        invalid(w, path, "type", type, "must be empty if x-kubernetes-int-or-string is true");
    if (str_is(jstr(type), "array") && jtype(jgetc(schema, "items")) != J_OBJECT)
        require(w, path, "items", "must be specified");
    if (!is_set(schema, "x-kubernetes-embedded-resource"))
        return;
    if (!str_is(jstr(type), "object"))
        invalid(w, path, "type", type, "must be object if x-kubernetes-embedded-resource is true");
    if (!free && !jlen(jgetc(schema, "properties")))
        require(w, path, "properties",
                "must not be empty if x-kubernetes-embedded-resource is true without "
                "x-kubernetes-preserve-unknown-fields");
}

/* A key that items may lack is of no use. */
static void check_key(struct walk *w, jval items, str key, str path)
{
    jval property = jget(jgetc(items, "properties"), key);
    bool required = false;
    for (struct jiter it = jiter(jgetc(items, "required")); jnext(&it);)
        required |= str_eq(jstr(it.value), key);
    if (j_is_absent(property)) {
        struct strbuf b = STRBUF_INIT(4096);
        json_quote(&b, key);
        field_error_add(w->a->errors, FIELD_ERR_INVALID,
                        admit_path(w->a, "%.*s.x-kubernetes-list-map-keys", STR_ARG(path)),
                        strbuf_str(&b), "entries must all be names of item properties");
        strbuf_done(&b);
    } else if (!required && !j_has(jgetc(property, "default"))) {
        field_error_add(
            w->a->errors, FIELD_ERR_REQUIRED,
            admit_path(w->a, "%.*s.items.properties[%.*s].default", STR_ARG(path), STR_ARG(key)),
            STR_NONE,
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
            "required property");
    }
}

static void check_list(struct walk *w, jval schema, str path)
{
    jval list = jgetc(schema, "x-kubernetes-list-type"), items = jgetc(schema, "items");
    jval keys = jgetc(schema, "x-kubernetes-list-map-keys");
    str s = jstr(list);
    bool map = str_is(s, "map");
    if (s.len && !map && !str_is(s, "set") && !str_is(s, "atomic"))
        field_error_add(w->a->errors, FIELD_ERR_NOT_SUPPORTED,
                        admit_path(w->a, "%.*s.x-kubernetes-list-type", STR_ARG(path)), jtext(list),
                        "supported values: \"atomic\", \"map\", \"set\"");
    if (s.len && !str_is(jstr(jgetc(schema, "type")), "array"))
        invalid(w, path, "type", jgetc(schema, "type"),
                "must be array if x-kubernetes-list-type is specified");
    if (map && !jlen(keys))
        require(w, path, "x-kubernetes-list-map-keys",
                "must not be empty if x-kubernetes-list-type is map");
    if (!map && jlen(keys))
        forbid(w, path, "x-kubernetes-list-type",
               "must be map if x-kubernetes-list-map-keys is non-empty");
    if (map && !str_is(jstr(jgetc(items, "type")), "object"))
        invalid(w, path, "items.type", jgetc(items, "type"),
                "must be object if parent array's x-kubernetes-list-type is map");
    for (struct jiter it = jiter(keys); map && jnext(&it);)
        check_key(w, items, jstr(it.value), path);
}

/* The default is an object of the schema like any other. */
static void report_unknown(void *ctx, const char *what, str path)
{
    bool *any = ctx;
    (void)what;
    (void)path;
    *any = true;
}

static void check_default(struct walk *w, jval schema, str path)
{
    jval dflt = jgetc(schema, "default");
    if (!j_has(dflt))
        return;
    struct arena a = ARENA_INIT;
    struct jw jw;
    bool unknown = false;
    jw_init(&jw);
    jw_object(&jw);
    jw_put_cstr(&jw, "type", "object");
    jw_put_object(&jw, "properties");
    jw_put(&jw, "default", schema);
    jw_end(&jw);
    jw_end(&jw);
    struct doc *holder = doc_hold(&a, jw_doc(&jw));
    const struct type *t = structural_type(&a, doc_root(holder), "default");
    const struct field *f = type_field(t, STR("default"));
    const struct type one = {.name = "default", .tag = TYPE_NESTED, .fields = f, .n_fields = 1};
    schema_validate(&one, dflt, admit_path(w->a, "%.*s.default", STR_ARG(path)), w->a->errors);
    schema_unknown(&one, dflt, report_unknown, &unknown);
    if (unknown)
        invalid(w, path, "default", dflt, "must not have unknown fields");
    arena_done(&a);
}

/* ---- the walk ---- */

static void check_node(struct walk *w, jval schema, str path, const char *without);

static void check_inside(struct walk *w, jval schema, str path)
{
    jval more = jgetc(schema, "additionalProperties"), items = jgetc(schema, "items");
    for (struct jiter it = jiter(jgetc(schema, "properties")); jnext(&it);)
        check_node(w, it.value,
                   admit_path(w->a, "%.*s.properties[%.*s]", STR_ARG(path), STR_ARG(it.key)),
                   "must not be empty for specified object fields");
    if (jtype(more) == J_OBJECT)
        check_node(w, more, admit_path(w->a, "%.*s.additionalProperties", STR_ARG(path)),
                   "must not be empty for specified object fields");
    if (jtype(items) == J_OBJECT)
        check_node(w, items, admit_path(w->a, "%.*s.items", STR_ARG(path)),
                   "must not be empty for specified array items");
}

static void check_node(struct walk *w, jval schema, str path, const char *without)
{
    if (w->depth >= MAX_DEPTH) {
        forbid(w, path, "properties", "nested too deeply");
        return;
    }
    w->depth++;
    check_forbidden(w, schema, path);
    check_type(w, schema, path, without);
    check_list(w, schema, path);
    check_pattern(w, schema, path);
    check_combined(w, schema, path, is_set(schema, "x-kubernetes-int-or-string"));
    check_inside(w, schema, path);
    check_default(w, schema, path);
    w->depth--;
}

/* Names are all a definition may restrict: the rest of metadata is the same for every object. */
static void check_metadata(struct walk *w, jval schema, str path)
{
    jval metadata = jget(jgetc(schema, "properties"), STR("metadata"));
    bool other = false;
    for (struct jiter it = jiter(jgetc(metadata, "properties")); jnext(&it);)
        other |= !str_is(it.key, "name") && !str_is(it.key, "generateName");
    if (other)
        forbid(w, path, "properties[metadata]",
               "must not specify anything other than name and generateName, but metadata is "
               "implicitly specified");
}

void crd_validate_schema(const struct admit *a, jval schema, str path, uint64_t *pattern_work)
{
    struct walk w = {.a = a, .pattern_work = pattern_work};
    jval type = jgetc(schema, "type");
    if (jstr(type).len && !str_is(jstr(type), "object"))
        invalid(&w, path, "type", type, "must be object at the root");
    if (is_set(schema, "nullable"))
        forbid(&w, path, "nullable", "nullable cannot be true at the root");
    check_node(&w, schema, path, "must not be empty at the root");
    check_metadata(&w, schema, path);
    if (!a->errors->items.len) /* types are taken from the schema */
        (void)cel_rules_compile(a->arena, schema, path, a->errors);
}
