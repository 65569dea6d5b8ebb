/*
 * A JSON document of OpenAPI v2 in protobuf, as the gnostic library has it (message Document). Each
 * message is a table: which member of the JSON object goes into which field, and how. Members that
 * begin with "x-" are vendor extensions, values of any kind are carried as text.
 */
#include <math.h>

#include "apiserver/front/front.h"

enum how {
    STRING,
    BOOL,
    DOUBLE,
    INT,
    STRINGS,  /* or a single one */
    ANY,      /* {yaml=2} */
    ANYS,     /* an array of them */
    MESSAGE,  /* of the kind named */
    MESSAGES, /* an array of them */
    NAMED,    /* an object: {entry: {name=1, value=2}} for each member */
};

struct message;

struct member {
    const char *key;
    enum how how;
    uint32_t field;
    const struct message *message;
    uint32_t wrap;  /* messages around the value, each of which has it as field 1 */
    uint32_t entry; /* NAMED: field of the entries */
};

struct message {
    const struct member *members;
    size_t n;
    uint32_t extensions; /* field of the vendor extensions; 0: none */
    /* A message that is one of several, which the object tells: the table to take, and the fields
     * around it from the outside in; 0 ends them. */
    const struct message *(*choose)(jval v, uint32_t around[4]);
};

#define MESSAGE_OF(name, extensions) \
    static const struct message name = {name##_members, ARRAY_LEN(name##_members), extensions, NULL}

/* ---- the tables ---- */

static const struct message schema;

static const struct member schema_members[] = {
    {"$ref", STRING, 1, NULL, 0, 0},
    {"format", STRING, 2, NULL, 0, 0},
    {"title", STRING, 3, NULL, 0, 0},
    {"description", STRING, 4, NULL, 0, 0},
    {"default", ANY, 5, NULL, 0, 0},
    {"multipleOf", DOUBLE, 6, NULL, 0, 0},
    {"maximum", DOUBLE, 7, NULL, 0, 0},
    {"exclusiveMaximum", BOOL, 8, NULL, 0, 0},
    {"minimum", DOUBLE, 9, NULL, 0, 0},
    {"exclusiveMinimum", BOOL, 10, NULL, 0, 0},
    {"maxLength", INT, 11, NULL, 0, 0},
    {"minLength", INT, 12, NULL, 0, 0},
    {"pattern", STRING, 13, NULL, 0, 0},
    {"maxItems", INT, 14, NULL, 0, 0},
    {"minItems", INT, 15, NULL, 0, 0},
    {"uniqueItems", BOOL, 16, NULL, 0, 0},
    {"maxProperties", INT, 17, NULL, 0, 0},
    {"minProperties", INT, 18, NULL, 0, 0},
    {"required", STRINGS, 19, NULL, 0, 0},
    {"enum", ANYS, 20, NULL, 0, 0},
    {"additionalProperties", MESSAGE, 21, &schema, 1, 0},
    {"type", STRINGS, 22, NULL, 1, 0},
    {"items", MESSAGE, 23, &schema, 1, 0},
    {"properties", NAMED, 25, &schema, 0, 1},
};
static const struct message schema = {schema_members, ARRAY_LEN(schema_members), 31, NULL};

static const struct member body_members[] = {
    {"name", STRING, 2, NULL, 0, 0},
    {"in", STRING, 3, NULL, 0, 0},
    {"required", BOOL, 4, NULL, 0, 0},
    {"schema", MESSAGE, 5, &schema, 0, 0},
};
MESSAGE_OF(body, 6);

static const struct member query_members[] = {
    {"required", BOOL, 1, NULL, 0, 0},     {"in", STRING, 2, NULL, 0, 0},
    {"name", STRING, 4, NULL, 0, 0},       {"type", STRING, 6, NULL, 0, 0},
    {"uniqueItems", BOOL, 19, NULL, 0, 0},
};
MESSAGE_OF(query, 23);

static const struct member path_members[] = {
    {"required", BOOL, 1, NULL, 0, 0},     {"in", STRING, 2, NULL, 0, 0},
    {"name", STRING, 4, NULL, 0, 0},       {"type", STRING, 5, NULL, 0, 0},
    {"uniqueItems", BOOL, 18, NULL, 0, 0},
};
MESSAGE_OF(path, 22);

/* ParametersItem{parameter=1}, Parameter{body=1, other=2}, NonBodyParameter{query=3, path=4} */
static const struct message *choose_parameter(jval v, uint32_t around[4])
{
    str in = jstr(jgetc(v, "in"));
    bool is_body = str_is(in, "body"), is_path = str_is(in, "path");
    around[0] = 1;
    around[1] = is_body ? 1 : 2;
    around[2] = is_body ? 0 : is_path ? 4 : 3;
    around[3] = 0;
    return is_body ? &body : is_path ? &path : &query;
}
static const struct message parameter = {NULL, 0, 0, choose_parameter};

static const struct member response_members[] = {
    {"description", STRING, 1, NULL, 0, 0},
    {"schema", MESSAGE, 2, &schema, 1, 0},
};
MESSAGE_OF(response, 5);

static const struct member operation_members[] = {
    {"description", STRING, 3, NULL, 0, 0},        {"operationId", STRING, 5, NULL, 0, 0},
    {"produces", STRINGS, 6, NULL, 0, 0},          {"consumes", STRINGS, 7, NULL, 0, 0},
    {"parameters", MESSAGES, 8, &parameter, 0, 0}, {"responses", NAMED, 9, &response, 1, 1},
};
MESSAGE_OF(operation, 13);

static const struct member item_members[] = {
    {"get", MESSAGE, 2, &operation, 0, 0},   {"put", MESSAGE, 3, &operation, 0, 0},
    {"post", MESSAGE, 4, &operation, 0, 0},  {"delete", MESSAGE, 5, &operation, 0, 0},
    {"patch", MESSAGE, 8, &operation, 0, 0}, {"parameters", MESSAGES, 9, &parameter, 0, 0},
};
MESSAGE_OF(item, 10);

static const struct member info_members[] = {
    {"title", STRING, 1, NULL, 0, 0},
    {"version", STRING, 2, NULL, 0, 0},
};
MESSAGE_OF(info, 0);

static const struct member document_members[] = {
    {"swagger", STRING, 1, NULL, 0, 0},
    {"info", MESSAGE, 2, &info, 0, 0},
    {"paths", NAMED, 8, &item, 0, 2},
    {"definitions", NAMED, 9, &schema, 0, 1},
};
MESSAGE_OF(document, 0);

/* ---- writing ---- */

enum { OUT_MAX = 64 << 20, VARINT = 0, FIXED64 = 1, LENGTH = 2 };

static void put_varint(struct strbuf *b, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        strbuf_add_char(b, (char)(n | 0x80));
    strbuf_add_char(b, (char)n);
}

static void put_bytes(struct strbuf *b, uint32_t field, str s)
{
    put_varint(b, (uint64_t)field << 3 | LENGTH);
    put_varint(b, s.len);
    strbuf_add_str(b, s);
}

static void put_double(struct strbuf *b, uint32_t field, double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof(bits));
    put_varint(b, (uint64_t)field << 3 | FIXED64);
    for (unsigned i = 0; i < 64; i += 8)
        strbuf_add_char(b, (char)(bits >> i));
}

/* Everything from `from` on becomes the content of a field. */
static void enclose(struct strbuf *b, size_t from, uint32_t field)
{
    struct strbuf head = STRBUF_INIT(32);
    size_t len = b->len - from;
    put_varint(&head, (uint64_t)field << 3 | LENGTH);
    put_varint(&head, len);
    strbuf_add_str(b, strbuf_str(&head));
    memmove(b->p + from + head.len, b->p + from, len);
    memcpy(b->p + from, head.p, head.len);
    strbuf_done(&head);
}

static void put_any(struct strbuf *b, uint32_t field, jval v)
{
    size_t from = b->len;
    put_bytes(b, 2, jtext(v));
    enclose(b, from, field);
}

static void put_message(struct strbuf *b, const struct message *m, jval v);

static void put_named(struct strbuf *b, const struct member *m, jval v)
{
    size_t all = b->len;
    for (struct jiter it = jiter(v); jnext(&it);) {
        size_t entry = b->len, value;
        put_bytes(b, 1, it.key);
        value = b->len;
        put_message(b, m->message, it.value);
        for (uint32_t i = 0; i < m->wrap; i++)
            enclose(b, value, 1);
        enclose(b, value, 2);
        enclose(b, entry, m->entry);
    }
    enclose(b, all, m->field);
}

static void put_strings(struct strbuf *b, const struct member *m, jval v)
{
    size_t from = b->len;
    uint32_t field = m->wrap ? 1 : m->field;
    if (jtype(v) == J_STRING)
        put_bytes(b, field, jstr(v));
    for (struct jiter it = jiter(v); jtype(v) == J_ARRAY && jnext(&it);)
        put_bytes(b, field, jstr(it.value));
    if (m->wrap)
        enclose(b, from, m->field);
}

static void put_one(struct strbuf *b, const struct member *m, jval v)
{
    size_t from = b->len;
    put_message(b, m->message, v);
    for (uint32_t i = 0; i < m->wrap; i++)
        enclose(b, from, 1);
    enclose(b, from, m->field);
}

static void put_member(struct strbuf *b, const struct member *m, jval v)
{
    double d = jreal(v, NAN);
    switch (m->how) {
    case STRING:
        put_bytes(b, m->field, jstr(v));
        break;
    case BOOL:
        put_varint(b, (uint64_t)m->field << 3 | VARINT);
        put_varint(b, j_is_true(v));
        break;
    case DOUBLE:
        if (isfinite(d))
            put_double(b, m->field, d);
        break;
    case INT:
        put_varint(b, (uint64_t)m->field << 3 | VARINT);
        put_varint(b, (uint64_t)jint(v, 0));
        break;
    case STRINGS:
        put_strings(b, m, v);
        break;
    case ANY:
        put_any(b, m->field, v);
        break;
    case ANYS:
        for (struct jiter it = jiter(v); jnext(&it);)
            put_any(b, m->field, it.value);
        break;
    case MESSAGE:
        if (jtype(v) == J_OBJECT)
            put_one(b, m, v);
        break;
    case MESSAGES:
        for (struct jiter it = jiter(v); jnext(&it);)
            put_one(b, m, it.value);
        break;
    case NAMED:
        put_named(b, m, v);
        break;
    }
}

static void put_extension(struct strbuf *b, uint32_t field, str name, jval v)
{
    size_t from = b->len;
    put_bytes(b, 1, name);
    put_any(b, 2, v);
    enclose(b, from, field);
}

static const struct member *find_member(const struct message *m, str key)
{
    for (size_t i = 0; i < m->n; i++)
        if (str_is(key, m->members[i].key))
            return &m->members[i];
    return NULL;
}

/* Depth: that of the document, which the parser has bounded. */
static void put_message(struct strbuf *b, const struct message *m, jval v)
{
    uint32_t around[4] = {0};
    size_t from = b->len, n = 0;
    if (m->choose)
        m = m->choose(v, around);
    for (struct jiter it = jiter(v); jnext(&it);) {
        const struct member *f = find_member(m, it.key);
        if (f)
            put_member(b, f, it.value);
        else if (m->extensions && str_starts(it.key, STR("x-")))
            put_extension(b, m->extensions, it.key, it.value);
    }
    while (around[n])
        n++;
    while (n > 0)
        enclose(b, from, around[--n]);
}

void openapi_v2_proto(jval root, struct strbuf *ret)
{
    *ret = (struct strbuf)STRBUF_INIT(OUT_MAX);
    put_message(ret, &document, root);
}
