/*
 * CEL: what is known of types before anything is evaluated. A schema says what fields an object has
 * and of what they are; what an expression makes is as known as what it is made of. What is not
 * known (dyn) may be anything.
 */
#include "kube/cel/cel_impl.h"

static const char *const type_names[CEL_N_TYPES] = {
    [CEL_DYN] = "dyn",
    [CEL_NULL] = "null",
    [CEL_BOOL] = "bool",
    [CEL_INT] = "int",
    [CEL_UINT] = "uint",
    [CEL_DOUBLE] = "double",
    [CEL_STRING] = "string",
    [CEL_BYTES] = "bytes",
    [CEL_LIST] = "list",
    [CEL_MAP] = "map",
    [CEL_TYPE] = "type",
    [CEL_DURATION] = "google.protobuf.Duration",
    [CEL_TIMESTAMP] = "google.protobuf.Timestamp",
    [CEL_OPTIONAL] = "optional_type",
    [CEL_QUANTITY] = "kubernetes.Quantity",
    [CEL_URL] = "kubernetes.URL",
    [CEL_IP] = "net.IP",
    [CEL_CIDR] = "net.CIDR",
    [CEL_FORMAT] = "kubernetes.NamedFormat",
    [CEL_AUTHORIZER] = "kubernetes.authorization.Authorizer",
    [CEL_PATH_CHECK] = "kubernetes.authorization.PathCheck",
    [CEL_GROUP_CHECK] = "kubernetes.authorization.GroupCheck",
    [CEL_RESOURCE_CHECK] = "kubernetes.authorization.ResourceCheck",
    [CEL_DECISION] = "kubernetes.authorization.Decision",
    [CEL_OBJECT] = "Object",
    [CEL_ERROR] = "error",
};

static const struct cel_shape unknown = {.type = CEL_DYN};

str cel_shape_name(struct arena *a, const struct cel_shape *s)
{
    struct cel_shape inner;
    switch (s->type) {
    case CEL_LIST:
        inner = cel_shape_of_element(s);
        return arena_printf(a, "list(%.*s)", STR_ARG(cel_shape_name(a, &inner)));
    case CEL_MAP:
        if (cel_shape_is_object(s))
            return STR("object");
        inner = cel_shape_of_element(s);
        return arena_printf(a, "map(%s, %.*s)", j_is_absent(s->schema) ? "dyn" : "string",
                            STR_ARG(cel_shape_name(a, &inner)));
    case CEL_OPTIONAL:
        return arena_printf(a, "optional_type(%.*s)",
                            STR_ARG(cel_shape_name(a, s->of ? s->of : &unknown)));
    case CEL_OBJECT:
        return s->object;
    default:
        return str_of(type_names[s->type]);
    }
}

/* ---- schemas ---- */

static enum cel_type scalar_type(str type, str format)
{
    static const struct {
        const char *type, *format;
        enum cel_type is;
    } scalars[] = {
        {"string", "byte", CEL_BYTES},
        {"string", "duration", CEL_DURATION},
        {"string", "date-time", CEL_TIMESTAMP},
        {"string", "date", CEL_TIMESTAMP},
        {"string", NULL, CEL_STRING},
        {"integer", NULL, CEL_INT},
        {"number", NULL, CEL_DOUBLE},
        {"boolean", NULL, CEL_BOOL},
        {"array", NULL, CEL_LIST},
        {"object", NULL, CEL_MAP},
    };
    for (size_t i = 0; i < ARRAY_LEN(scalars); i++)
        if (str_is(type, scalars[i].type) &&
            (!scalars[i].format || str_is(format, scalars[i].format)))
            return scalars[i].is;
    return CEL_DYN;
}

struct cel_shape cel_shape_of_schema(jval schema, bool is_whole)
{
    struct cel_shape s = {.type = CEL_DYN};
    if (j_is_absent(schema) || j_is_true(jgetc(schema, "x-kubernetes-int-or-string")))
        return s;
    s.type = scalar_type(jstr(jgetc(schema, "type")), jstr(jgetc(schema, "format")));
    if (s.type == CEL_LIST || s.type == CEL_MAP)
        s.schema = schema;
    s.is_whole = is_whole || j_is_true(jgetc(schema, "x-kubernetes-embedded-resource"));
    return s;
}

jval cel_schema_items(jval schema)
{
    jval items = jgetc(schema, "items");
    return jtype(items) == J_OBJECT ? items : jgetc(schema, "additionalProperties");
}

jval cel_schema_below(jval schema, str key)
{
    jval property = jget(jgetc(schema, "properties"), key);
    jval more = jgetc(schema, "additionalProperties");
    return !j_is_absent(property) || jtype(more) != J_OBJECT ? property : more;
}

struct cel_shape cel_shape_of_element(const struct cel_shape *s)
{
    if (s->of)
        return *s->of;
    jval items = cel_schema_items(s->schema);
    return jtype(items) == J_OBJECT ? cel_shape_of_schema(items, false) : unknown;
}

bool cel_shape_is_object(const struct cel_shape *s)
{
    return s->type == CEL_MAP && !j_is_absent(s->schema) &&
           !j_has(jgetc(s->schema, "additionalProperties"));
}

/* ---- names ---- */

static bool is_reserved(str name)
{
    static const char *const words[] = {
        "true", "false",    "null", "in",     "as",  "break", "const",   "continue",  "else",
        "for",  "function", "if",   "import", "let", "loop",  "package", "namespace", "return",
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (str_is(name, words[i]))
            return true;
    return false;
}

/* Whether a field of this name is written so in an expression. */
static bool is_escaped_as(str name, str escaped)
{
    static const struct {
        const char *plain, *written;
    } parts[] = {
        {"__", "__underscores__"}, {".", "__dot__"}, {"-", "__dash__"}, {"/", "__slash__"}};
    if (str_eq(name, escaped))
        return !is_reserved(name) && str_find(name, STR("__")) < 0;
    if (is_reserved(name))
        return escaped.len == name.len + 4 && str_starts(escaped, STR("__")) &&
               str_ends(escaped, STR("__")) && str_eq(str_sub(escaped, 2, escaped.len - 2), name);
    while (name.len) {
        size_t taken = 1;
        str want = str_sub(name, 0, 1);
        for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
            if (!str_starts(name, str_of(parts[i].plain)))
                continue;
            want = str_of(parts[i].written);
            taken = strlen(parts[i].plain);
            break;
        }
        if (!str_starts(escaped, want))
            return false;
        escaped = str_sub(escaped, want.len, escaped.len);
        name = str_sub(name, taken, name.len);
    }
    return !escaped.len;
}

/* What every whole object has, whatever its schema says. */
static bool whole_field(str name, struct cel_shape *ret)
{
    static const char text[] =
        "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
        "\"generateName\":{\"type\":\"string\"}}}";
    static struct doc *metadata; /* for the process */
    if (str_is(name, "apiVersion") || str_is(name, "kind")) {
        *ret = (struct cel_shape){.type = CEL_STRING};
        return true;
    }
    if (!str_is(name, "metadata"))
        return false;
    if (!metadata)
        metadata = doc_parse(STR(text), NULL, NULL);
    *ret = cel_shape_of_schema(doc_root(metadata), false);
    return true;
}

bool cel_shape_field(const struct cel_shape *s, str escaped, str *ret_name, struct cel_shape *ret)
{
    *ret_name = escaped;
    if (s->is_whole && whole_field(escaped, ret))
        return true;
    for (struct jiter it = jiter(jgetc(s->schema, "properties")); jnext(&it);) {
        if (!is_escaped_as(it.key, escaped))
            continue;
        *ret_name = it.key;
        *ret = cel_shape_of_schema(it.value, false);
        /* Without a type nothing is known of it, and nothing may be said about it. */
        return ret->type != CEL_DYN || j_is_true(jgetc(it.value, "x-kubernetes-int-or-string"));
    }
    return false;
}

/* ---- operators ---- */

bool cel_may_be(const struct cel_shape *s, enum cel_type t)
{
    return s->type == CEL_DYN || s->type == t;
}

static bool is_number(enum cel_type t)
{
    return t == CEL_INT || t == CEL_UINT || t == CEL_DOUBLE;
}

/* Times and spans of time. */
static enum cel_type sum_of_times(enum cel_operator op, enum cel_type a, enum cel_type b)
{
    bool time_first = a == CEL_TIMESTAMP, time_last = b == CEL_TIMESTAMP;
    if (a == CEL_DYN || b == CEL_DYN)
        return CEL_DYN;
    if (op == CEL_SUB)
        return time_last ? (time_first ? CEL_DURATION : CEL_ERROR)
               : b == CEL_DURATION && (time_first || a == CEL_DURATION) ? a
                                                                        : CEL_ERROR;
    if (time_first && time_last)
        return CEL_ERROR;
    bool fits = (time_first || a == CEL_DURATION) && (time_last || b == CEL_DURATION);
    return !fits ? CEL_ERROR : time_first || time_last ? CEL_TIMESTAMP : CEL_DURATION;
}

static bool is_time(enum cel_type t)
{
    return t == CEL_DURATION || t == CEL_TIMESTAMP;
}

static enum cel_type arithmetic_type(enum cel_operator op, enum cel_type a, enum cel_type b)
{
    enum cel_type known = a == CEL_DYN ? b : a;
    bool fits = known == CEL_DYN || is_number(known) ||
                (op == CEL_ADD && (known == CEL_STRING || known == CEL_LIST || known == CEL_BYTES));
    if ((op == CEL_ADD || op == CEL_SUB) && (is_time(a) || is_time(b)))
        return sum_of_times(op, a, b);
    if (!fits || (op == CEL_MOD && known == CEL_DOUBLE))
        return CEL_ERROR;
    return a == CEL_DYN || b == CEL_DYN || a == b ? known : CEL_ERROR;
}

static bool has_order(enum cel_type t)
{
    return t == CEL_DYN || is_number(t) || is_time(t) || t == CEL_STRING || t == CEL_BOOL ||
           t == CEL_BYTES;
}

enum cel_type cel_binary_type(enum cel_operator op, enum cel_type a, enum cel_type b)
{
    bool alike = a == CEL_DYN || b == CEL_DYN || a == b || (is_number(a) && is_number(b));
    switch (op) {
    case CEL_EQ:
    case CEL_NE:
        return alike || a == CEL_NULL || b == CEL_NULL ? CEL_BOOL : CEL_ERROR;
    case CEL_LT:
    case CEL_LE:
    case CEL_GT:
    case CEL_GE:
        return alike && has_order(a) && has_order(b) ? CEL_BOOL : CEL_ERROR;
    case CEL_IN:
        return b == CEL_DYN || b == CEL_LIST || b == CEL_MAP ? CEL_BOOL : CEL_ERROR;
    default:
        return arithmetic_type(op, a, b);
    }
}

struct cel_shape cel_shape_join(const struct cel_shape *a, const struct cel_shape *b)
{
    bool same = a->type == b->type && a->schema.doc == b->schema.doc &&
                a->schema.at == b->schema.at && str_eq(a->object, b->object);
    if (same)
        return *a;
    return (struct cel_shape){.type =
                                  a->type == b->type && a->type != CEL_OBJECT ? a->type : CEL_DYN};
}

/* ---- whole expressions ---- */

bool cel_uses(const struct cel *c, size_t i)
{
    return c->used >> i & 1;
}

static unsigned unbounded_loops(const struct cel_node *n)
{
    unsigned most = 0;
    for (size_t i = 0; i < n->n_kids; i++) {
        unsigned below = unbounded_loops(n->kids[i]);
        most = MAX(most, below);
    }
    if (n->op != CEL_MACRO || n->what == CEL_OPT_MAP || n->what == CEL_OPT_FLAT_MAP)
        return most;
    jval schema = n->kids[0]->shape.schema;
    bool bounded = n->kids[0]->op == CEL_MAKE_LIST || j_has(jgetc(schema, "maxItems")) ||
                   j_has(jgetc(schema, "maxProperties"));
    return most + !bounded;
}

unsigned cel_unbounded_loops(const struct cel *c)
{
    return unbounded_loops(c->root);
}
