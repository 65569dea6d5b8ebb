/*
 * The rules a user's schema has beyond types: lengths, bounds, enums, patterns, required members,
 * and schemas that must hold together (allOf, anyOf, oneOf, not). They are read from the schema as
 * it was written, in kube-apiserver's words.
 */
#include <math.h>

#include "kube/validate.h"

/* Schemas inside allOf and the like; a definition that nests deeper has no say. */
#define MAX_NESTED 64

static void invalid(struct validation *c, str value, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* "<path> in body <what>" */
static void invalid(struct validation *c, str value, const char *fmt, ...)
{
    struct strbuf what = STRBUF_INIT(64 << 10);
    va_list ap;

    va_start(ap, fmt);
    strbuf_vprintf(&what, fmt, ap);
    va_end(ap);
    str path = validation_path(c);
    field_error_add(c->errors, FIELD_ERR_INVALID, path, value, "%.*s in body %.*s", STR_ARG(path),
                    STR_ARG(strbuf_str(&what)));
    strbuf_done(&what);
}

/* ---- one value ---- */

static void check_enum(struct validation *c, jval allowed, jval v)
{
    struct strbuf b = STRBUF_INIT(64 << 10);

    for (struct jiter it = jiter(allowed); jnext(&it);)
        if (!validation_spend(c, 1) || jequal(it.value, v))
            return;
    /* They are written out, and that several times over. */
    if (!validation_spend(c, MIN(jtext(allowed).len, b.max)))
        return;
    for (struct jiter it = jiter(allowed); jnext(&it) && !b.overflow;)
        strbuf_printf(&b, "%s%.*s", b.len ? ", " : "", STR_ARG(jtext(it.value)));
    field_error_add(c->errors, FIELD_ERR_NOT_SUPPORTED, validation_path(c), jtext(v),
                    "supported values: %.*s", STR_ARG(strbuf_str(&b)));
    strbuf_done(&b);
}

int64_t validation_text_length(str s)
{
    int64_t n = 0;

    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

static void check_text(struct validation *c, jval schema, jval v)
{
    jval max = jgetc(schema, "maxLength"), min = jgetc(schema, "minLength");
    str pattern = jstr(jgetc(schema, "pattern"));
    int64_t length = validation_text_length(jstr(v));

    if (j_has(max) && length > jint(max, 0)) {
        field_error_add(c->errors, FIELD_ERR_TOO_LONG, validation_path(c), STR_NONE,
                        "may not be more than %lld bytes", (long long)jint(max, 0));
        return;
    }
    if (j_has(min) && length < jint(min, 0))
        invalid(c, jtext(v), "should be at least %lld chars long", (long long)jint(min, 0));
    if (pattern.p && !validation_matches(c, pattern, jstr(v)))
        invalid(c, jtext(v), "should match '%.*s'", STR_ARG(pattern));
}

static void check_number(struct validation *c, jval schema, jval v)
{
    jval min = jgetc(schema, "minimum"), max = jgetc(schema, "maximum");
    jval multiple = jgetc(schema, "multipleOf");
    bool above = j_is_true(jgetc(schema, "exclusiveMinimum"));
    bool below = j_is_true(jgetc(schema, "exclusiveMaximum"));
    double n = jreal(v, 0);

    if (j_has(max) && (below ? n >= jreal(max, 0) : n > jreal(max, 0)))
        invalid(c, jtext(v), "should be less than %s%.*s", below ? "" : "or equal to ",
                STR_ARG(jtext(max)));
    if (j_has(min) && (above ? n <= jreal(min, 0) : n < jreal(min, 0)))
        invalid(c, jtext(v), "should be greater than %s%.*s", above ? "" : "or equal to ",
                STR_ARG(jtext(min)));
    if (jreal(multiple, 0) > 0 && fabs(remainder(n, jreal(multiple, 1))) > 1e-9)
        invalid(c, jtext(v), "should be a multiple of %.*s", STR_ARG(jtext(multiple)));
}

static void check_count(struct validation *c, jval v, jval min, jval max, const char *what)
{
    char count[24];

    snprintf(count, sizeof(count), "%zu", jlen(v));
    if (j_has(max) && (int64_t)jlen(v) > jint(max, 0))
        field_error_add(c->errors, FIELD_ERR_TOO_MANY, validation_path(c), str_of(count),
                        "must have at most %lld items", (long long)jint(max, 0));
    if (j_has(min) && (int64_t)jlen(v) < jint(min, 0))
        invalid(c, str_of(count), "should have at least %lld %s", (long long)jint(min, 0), what);
}

static void require(struct validation *c, str name, const char *why)
{
    struct path step = {.up = c->at, .key = name};

    c->at = &step;
    field_error_add(c->errors, FIELD_ERR_REQUIRED, validation_path(c), STR_NONE, "%s", why);
    c->at = step.up;
}

static void check_members(struct validation *c, jval schema, jval v)
{
    for (struct jiter it = jiter(jgetc(schema, "required")); jnext(&it);)
        if (validation_spend(c, 1 + jlen(v) / 8) && j_is_absent(jget(v, jstr(it.value))))
            require(c, jstr(it.value), "");
    if (!j_is_true(jgetc(schema, "x-kubernetes-embedded-resource")))
        return;
    if (str_is_empty(jstr(jgetc(v, "apiVersion"))))
        require(c, STR("apiVersion"), "must not be empty");
    if (str_is_empty(jstr(jgetc(v, "kind"))))
        require(c, STR("kind"), "must not be empty");
}

/* ---- schemas that hold together ---- */

static bool is_of_type(jval v, str type)
{
    switch (jtype(v)) {
    case J_TRUE:
    case J_FALSE:
        return str_is(type, "boolean");
    case J_INT:
        return str_is(type, "integer") || str_is(type, "number");
    case J_REAL:
        return str_is(type, "number");
    case J_STRING:
        return str_is(type, "string");
    case J_ARRAY:
        return str_is(type, "array");
    case J_OBJECT:
        return str_is(type, "object");
    default:
        return false;
    }
}

static void check_whole(struct validation *c, jval schema, jval v, unsigned depth);

/* Whether the value and all inside fit, without a word about it. */
static bool fits(const struct validation *outer, jval schema, jval v, unsigned depth)
{
    struct arena a = ARENA_INIT;
    struct field_errors errors;
    struct validation c = {.errors = &errors, .text = STRBUF_INIT(64 << 10), .work = outer->work};

    field_errors_init(&errors, &a);
    check_whole(&c, schema, v, depth);
    bool ok = errors.items.len == 0;
    field_errors_done(&errors);
    strbuf_done(&c.text);
    arena_done(&a);
    return ok;
}

static size_t count_fits(const struct validation *c, jval schemas, jval v, unsigned depth)
{
    size_t n = 0;

    for (struct jiter it = jiter(schemas); jnext(&it);)
        n += fits(c, it.value, v, depth);
    return n;
}

static void refuse_together(struct validation *c, const char *what)
{
    str path = validation_path(c);

    field_error_add(c->errors, FIELD_ERR_INVALID, path, STR("\"\""), "\"%.*s\" must %s",
                    STR_ARG(path), what);
}

static void check_together(struct validation *c, jval schema, jval v, unsigned depth)
{
    jval all = jgetc(schema, "allOf"), any = jgetc(schema, "anyOf"), one = jgetc(schema, "oneOf");
    jval not = jgetc(schema, "not");

    if (!depth)
        return;
    for (struct jiter it = jiter(all); jnext(&it);)
        check_whole(c, it.value, v, depth - 1);
    if (jlen(any) && !count_fits(c, any, v, depth - 1))
        refuse_together(c, "validate at least one schema (anyOf)");
    if (jlen(one) && count_fits(c, one, v, depth - 1) != 1)
        refuse_together(c, "validate one and only one schema (oneOf)");
    if (jtype(not ) == J_OBJECT && fits(c, not, v, depth - 1))
        refuse_together(c, "not validate the schema (not)");
}

static void check_one(struct validation *c, jval schema, jval v, unsigned depth)
{
    enum { COST = 8 }; /* of finding out what the schema asks for */

    if (!validation_spend(c, COST))
        return;
    if (j_has(jgetc(schema, "enum")))
        check_enum(c, jgetc(schema, "enum"), v);
    switch (jtype(v)) {
    case J_STRING:
        check_text(c, schema, v);
        break;
    case J_INT:
    case J_REAL:
        check_number(c, schema, v);
        break;
    case J_ARRAY:
        check_count(c, v, jgetc(schema, "minItems"), jgetc(schema, "maxItems"), "items");
        break;
    case J_OBJECT:
        check_count(c, v, jgetc(schema, "minProperties"), jgetc(schema, "maxProperties"),
                    "properties");
        check_members(c, schema, v);
        break;
    default:
        break;
    }
    check_together(c, schema, v, depth);
}

/* A schema that is not part of the table: its type and what is inside count too. */
static void check_whole(struct validation *c, jval schema, jval v, unsigned depth)
{
    str type = jstr(jgetc(schema, "type"));
    jval properties = jgetc(schema, "properties"), more = jgetc(schema, "additionalProperties");

    if (type.len && !is_of_type(v, type)) {
        validation_wrong_type(c, v, arena_str(c->errors->arena, type).p);
        return;
    }
    check_one(c, schema, v, depth);
    if (!depth || (jtype(v) != J_OBJECT && jtype(v) != J_ARRAY))
        return;
    for (struct jiter it = jiter(v); jnext(&it);) {
        struct path step = {.up = c->at, .key = it.key, .index = it.index};
        if (!validation_spend(c, 1 + jlen(properties) / 8))
            return;
        jval inner = it.is_object ? jget(properties, it.key) : jgetc(schema, "items");
        if (it.is_object && j_is_absent(inner))
            inner = more;
        c->at = &step;
        if (jtype(inner) == J_OBJECT)
            check_whole(c, inner, it.value, depth - 1);
        c->at = step.up;
    }
}

void validation_rules(struct validation *c, jval schema, jval v)
{
    if (!j_is_absent(schema) && j_has(v))
        check_one(c, schema, v, MAX_NESTED);
}
