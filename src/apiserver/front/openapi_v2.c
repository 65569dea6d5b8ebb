/*
 * OpenAPI v2, for clients that know no other: one document with everything that the documents of v3
 * have, rewritten. Both come from the same tables that way, and what v2 cannot say (oneOf, nullable
 * and the like) is left out as kube-apiserver leaves it out.
 *
 * It is served as JSON and in the protobuf of the gnostic library, which is what kubectl asks for.
 * That encoding is the same document message by message, so it is a table of field numbers.
 */
#include "apiserver/front/front.h"
#include "apiserver/front/openapi.h"

#define V3_REF "#/components/schemas/"
#define V2_REF "#/definitions/"

/* ---- schemas ---- */

/* What v2 has no word for. */
static bool is_v3_only(str key)
{
    static const char *const words[] = {"oneOf", "anyOf", "not", "nullable", "allOf"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(key, words[i]))
            return true;
    return false;
}

/* Which members of a schema say too much for old clients, which take them at their word. */
static bool is_left_out(jval schema, str key)
{
    bool either = j_is_true(jgetc(schema, "x-kubernetes-int-or-string"));
    bool open = j_is_true(jgetc(schema, "x-kubernetes-preserve-unknown-fields")) ||
                j_is_true(jgetc(schema, "nullable"));
    if (str_is(key, "type"))
        return either || j_is_true(jgetc(schema, "nullable"));
    if (str_is(key, "x-kubernetes-preserve-unknown-fields")) /* a kind of which nothing is known */
        return j_has(jgetc(schema, "x-kubernetes-group-version-kind"));
    return open && (str_is(key, "properties") || str_is(key, "items") || str_is(key, "required") ||
                    str_is(key, "additionalProperties"));
}

static void put_schema(struct jw *w, jval schema);

static void put_properties(struct jw *w, jval properties)
{
    jw_object(w);
    for (struct jiter it = jiter(properties); jnext(&it);) {
        jw_key(w, it.key);
        put_schema(w, it.value);
    }
    jw_end(w);
}

static void put_ref(struct jw *w, str ref)
{
    jw_key(w, STR("$ref"));
    if (str_starts(ref, STR(V3_REF)))
        ref = str_sub(ref, strlen(V3_REF), ref.len);
    jw_printf(w, V2_REF "%.*s", STR_ARG(ref));
}

static void put_member(struct jw *w, jval schema, str key, jval v)
{
    if (is_v3_only(key) || is_left_out(schema, key))
        return;
    if (str_is(key, "$ref")) {
        put_ref(w, jstr(v));
        return;
    }
    jw_key(w, key);
    if (str_is(key, "properties"))
        put_properties(w, v);
    else if (jtype(v) == J_OBJECT && (str_is(key, "items") || str_is(key, "additionalProperties")))
        put_schema(w, v);
    else
        jw_val(w, v);
}

/* A reference with a description beside it stands alone in allOf; scalars that are two types in one
 * are strings here. */
static void put_schema(struct jw *w, jval schema)
{
    jval wrapped = jgetc(jat(jgetc(schema, "allOf"), 0), "$ref");
    bool untyped = j_is_absent(jgetc(schema, "type"));
    bool two = jlen(jgetc(schema, "oneOf")) > 0 && j_is_absent(jgetc(schema, "properties"));
    jw_object(w);
    if (j_has(wrapped))
        put_ref(w, jstr(wrapped));
    for (struct jiter it = jiter(schema); jnext(&it);)
        put_member(w, schema, it.key, it.value);
    if (untyped && two && !j_has(wrapped))
        jw_put_cstr(w, "type", "string");
    jw_end(w);
}

/* ---- paths ---- */

static void put_parameter(struct jw *w, jval p)
{
    jw_object(w);
    jw_put(w, "name", jgetc(p, "name"));
    jw_put(w, "in", jgetc(p, "in"));
    if (j_is_true(jgetc(p, "required")))
        jw_put_bool(w, "required", true);
    jw_put(w, "type", jpath(p, "schema.type"));
    jw_put_bool(w, "uniqueItems", true);
    jw_end(w);
}

static void put_body(struct jw *w, jval body)
{
    jval content = jgetc(body, "content"), schema = JVAL_ABSENT;
    for (struct jiter it = jiter(content); j_is_absent(schema) && jnext(&it);)
        schema = jgetc(it.value, "schema");
    jw_object(w);
    jw_put_cstr(w, "name", "body");
    jw_put_cstr(w, "in", "body");
    jw_put_bool(w, "required", true);
    jw_key(w, STR("schema"));
    if (j_has(schema)) {
        put_schema(w, schema);
    } else {
        jw_object(w);
        jw_put_cstr(w, "type", "object");
        jw_end(w);
    }
    jw_end(w);
}

static void put_parameters(struct jw *w, jval list, jval body)
{
    jw_put_array(w, "parameters");
    if (j_has(body))
        put_body(w, body);
    for (struct jiter it = jiter(list); jnext(&it);)
        put_parameter(w, it.value);
    jw_end(w);
}

static void put_responses(struct jw *w, jval responses)
{
    jw_put_object(w, "responses");
    for (struct jiter it = jiter(responses); jnext(&it);) {
        jval schema = jgetc(jget(jgetc(it.value, "content"), STR("application/json")), "schema");
        jw_key(w, it.key);
        jw_object(w);
        jw_put(w, "description", jgetc(it.value, "description"));
        if (j_has(schema)) {
            jw_key(w, STR("schema"));
            put_schema(w, schema);
        }
        jw_end(w);
    }
    jw_end(w);
}

static void put_operation(struct jw *w, jval op)
{
    jval body = jgetc(op, "requestBody");
    jw_object(w);
    jw_put_array(w, "consumes");
    for (struct jiter it = jiter(jgetc(body, "content")); jnext(&it);)
        jw_str(w, it.key);
    jw_end(w);
    jw_put_array(w, "produces");
    jw_str(w, STR("application/json"));
    jw_str(w, STR("application/yaml"));
    jw_end(w);
    put_parameters(w, jgetc(op, "parameters"), body);
    put_responses(w, jgetc(op, "responses"));
    for (struct jiter it = jiter(op); jnext(&it);) {
        if (!str_starts(it.key, STR("x-")))
            continue;
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    jw_end(w);
}

static void put_path(struct jw *w, jval item)
{
    jw_object(w);
    for (struct jiter it = jiter(item); jnext(&it);) {
        if (str_is(it.key, "parameters")) {
            put_parameters(w, it.value, JVAL_ABSENT);
        } else {
            jw_key(w, it.key);
            put_operation(w, it.value);
        }
    }
    jw_end(w);
}

/* ---- the document ---- */

/* Calls fn with the document of each group version, in their order. */
static void each_document(void (*fn)(void *ctx, jval root), void *ctx)
{
    for (size_t i = 0; resource_at(i); i++) {
        const struct kind *k = resource_at(i);
        bool first = true;
        for (size_t j = 0; j < i && first; j++)
            first = strcmp(resource_at(j)->group, k->group) != 0 ||
                    strcmp(resource_at(j)->version, k->version) != 0;
        if (first)
            fn(ctx, doc_root(openapi_v3(str_of(k->group), str_of(k->version))->doc));
    }
}

struct joining {
    struct jw *w;
    struct map seen; /* definitions written */
};

static void join_paths(void *ctx, jval root)
{
    struct joining *j = ctx;
    for (struct jiter it = jiter(jgetc(root, "paths")); jnext(&it);) {
        jw_key(j->w, it.key);
        put_path(j->w, it.value);
    }
}

static void join_definitions(void *ctx, jval root)
{
    struct joining *j = ctx;
    for (struct jiter it = jiter(jpath(root, "components.schemas")); jnext(&it);) {
        if (map_put(&j->seen, it.key, j))
            continue;
        jw_key(j->w, it.key);
        put_schema(j->w, it.value);
    }
}

const struct page *openapi_v2(void)
{
    static struct page page;
    if (page_is_fresh(&page))
        return &page;
    struct jw w;
    struct joining j = {.w = &w, .seen = MAP_INIT};
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "swagger", "2.0");
    jw_put_object(&w, "info");
    jw_put_cstr(&w, "title", "Kubernetes");
    jw_put_cstr(&w, "version", "1.36");
    jw_end(&w);
    jw_put_object(&w, "paths");
    each_document(join_paths, &j);
    jw_end(&w);
    jw_put_object(&w, "definitions");
    each_document(join_definitions, &j);
    jw_end(&w);
    jw_end(&w);
    map_done(&j.seen);
    page_set(&page, jw_doc(&w));
    return &page;
}
