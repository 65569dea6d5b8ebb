/*
 * CEL: making, comparing and adding values. Values are small and copied; what an expression makes
 * is in the arena of the run. An error is a value too, since && and || may forget it.
 *
 * Every element compared or visited and every 16 bytes of a string looked at cost one unit.
 */
#include <math.h>

#include "base/b64.h"
#include "base/timefmt.h"
#include "kube/cel/cel_impl.h"

/* ---- making values ---- */

struct cel_value cel_failure(struct cel_run *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct cel_value v = {.type = CEL_ERROR, .s = arena_vprintf(e->arena, fmt, ap)};
    va_end(ap);
    return v;
}

bool cel_spend(struct cel_run *e, uint64_t units)
{
    if (*e->in.cost >= units) {
        *e->in.cost -= units;
        return true;
    }
    *e->in.cost = 0;
    e->exhausted = true;
    return false;
}

struct cel_value cel_too_much(struct cel_run *e)
{
    (void)e;
    return (struct cel_value){.type = CEL_ERROR,
                              .s = STR("operation cancelled: actual cost limit exceeded")};
}

struct cel_value cel_no_overload(struct cel_run *e)
{
    (void)e;
    return (struct cel_value){.type = CEL_ERROR, .s = STR("no such overload")};
}

struct cel_value cel_some(struct cel_run *e, struct cel_value v)
{
    struct cel_value *inner = arena_new(e->arena, struct cel_value);
    *inner = v;
    return (struct cel_value){.type = CEL_OPTIONAL, .inner = inner};
}

struct cel_value cel_none(void)
{
    return (struct cel_value){.type = CEL_OPTIONAL};
}

static struct cel_value of_base64(struct cel_run *e, str s)
{
    struct strbuf b = STRBUF_INIT(SIZE_MAX / 2);
    bool ok = cel_spend(e, s.len / 16) && b64_decode(s, B64_STD | B64_NEWLINES, &b);
    struct cel_value v = {.type = CEL_BYTES, .s = arena_str(e->arena, strbuf_str(&b))};
    strbuf_done(&b);
    return ok ? v : of_str(s);
}

/* A string whose schema says that it is something else. */
static struct cel_value of_formatted(struct cel_run *e, str s, jval schema)
{
    str format = jstr(jgetc(schema, "format"));
    int64_t nsec;
    usec wall;
    if (str_is(format, "byte"))
        return of_base64(e, s);
    if (str_is(format, "duration") && duration_parse(s, &nsec))
        return (struct cel_value){.type = CEL_DURATION, .i = nsec};
    if (str_is(format, "date-time") && time_parse_rfc3339(s, &wall))
        return (struct cel_value){.type = CEL_TIMESTAMP, .i = wall};
    if (str_is(format, "date") && s.len == 10) {
        char full[32];
        (void)snprintf(full, sizeof(full), "%.10sT00:00:00Z", s.p);
        if (time_parse_rfc3339(str_of(full), &wall))
            return (struct cel_value){.type = CEL_TIMESTAMP, .i = wall};
    }
    return of_str(s);
}

struct cel_value cel_of_json(struct cel_run *e, jval v, jval schema)
{
    struct cel_value out = {0};
    int64_t i;
    bool as_double = schema.doc && str_is(jstr(jgetc(schema, "type")), "number");
    switch (jtype(v)) {
    case J_NULL:
        return (struct cel_value){.type = CEL_NULL};
    case J_FALSE:
    case J_TRUE:
        return of_bool(j_is_true(v));
    case J_INT:
    case J_REAL:
        return !as_double && (jtype(v) == J_INT || schema.doc) && jint_get(v, &i)
                   ? of_int(i)
                   : of_double(jreal(v, 0));
    case J_STRING:
        return schema.doc ? of_formatted(e, jstr(v), schema) : of_str(jstr(v));
    case J_ARRAY:
    case J_OBJECT:
        out.type = jtype(v) == J_ARRAY ? CEL_LIST : CEL_MAP;
        out.json = v;
        out.schema = schema;
        return out;
    case J_ABSENT:
        break;
    }
    return (struct cel_value){.type = CEL_ERROR, .s = STR("no such attribute")};
}

struct cel_value cel_of_pairs(struct cel_run *e, enum cel_type type, cel_pairs *p)
{
    struct cel_value v = {.type = type};
    v.items = arena_array(e->arena, struct cel_pair, p->len + 1);
    if (p->len)
        memcpy(v.items, p->p, p->len * sizeof(*p->p));
    v.n = p->len;
    vec_done(p);
    return v;
}

/* ---- lists and maps ---- */

size_t cel_length(const struct cel_value *v)
{
    return j_is_absent(v->json) ? v->n : jlen(v->json);
}

struct cel_seq cel_seq_of(struct cel_run *e, const struct cel_value *v)
{
    return (struct cel_seq){.run = e, .of = v, .it = jiter(v->json)};
}

bool cel_seq_next(struct cel_seq *s)
{
    const struct cel_value *of = s->of;
    if (j_is_absent(of->json)) {
        if (s->at == of->n)
            return false;
        s->key = of->items[s->at].key;
        s->value = of->items[s->at++].value;
        return true;
    }
    if (!jnext(&s->it))
        return false;
    s->key = of_str(s->it.key);
    s->value = cel_of_json(s->run, s->it.value,
                           !of->schema.doc        ? JVAL_ABSENT
                           : of->type == CEL_LIST ? cel_schema_items(of->schema)
                                                  : cel_schema_below(of->schema, s->it.key));
    return true;
}

/* ---- comparing ---- */

bool cel_is_number(const struct cel_value *v)
{
    return v->type == CEL_INT || v->type == CEL_UINT || v->type == CEL_DOUBLE;
}

double cel_as_double(const struct cel_value *v)
{
    return v->type == CEL_DOUBLE ? v->d : v->type == CEL_INT ? (double)v->i : (double)v->u;
}

/* -1, 0, 1; 2: not comparable (NaN). */
static int compare_numbers(const struct cel_value *a, const struct cel_value *b)
{
    if (a->type == CEL_INT && b->type == CEL_INT)
        return (a->i > b->i) - (a->i < b->i);
    if (a->type == CEL_UINT && b->type == CEL_UINT)
        return (a->u > b->u) - (a->u < b->u);
    if (a->type == CEL_INT && b->type == CEL_UINT)
        return a->i < 0 ? -1 : ((uint64_t)a->i > b->u) - ((uint64_t)a->i < b->u);
    if (a->type == CEL_UINT && b->type == CEL_INT)
        return -compare_numbers(b, a);
    double x = cel_as_double(a), y = cel_as_double(b);
    return isnan(x) || isnan(y) ? 2 : (x > y) - (x < y);
}

bool cel_find_key(struct cel_run *e, const struct cel_value *map, const struct cel_value *key,
                  struct cel_value *ret)
{
    if (!j_is_absent(map->json)) {
        bool may = key->type == CEL_STRING && cel_spend(e, jlen(map->json) / 8);
        jval v = may ? jget(map->json, key->s) : JVAL_ABSENT;
        if (j_is_absent(v))
            return false;
        *ret = cel_of_json(e, v,
                           map->schema.doc ? cel_schema_below(map->schema, key->s) : JVAL_ABSENT);
        return true;
    }
    for (size_t i = 0; i < map->n && cel_spend(e, 1); i++) {
        if (cel_equal(e, &map->items[i].key, key)) {
            *ret = map->items[i].value;
            return true;
        }
    }
    return false;
}

/* A list of a document whose order means nothing. */
static bool is_unordered(const struct cel_value *list)
{
    str type = list->schema.doc ? jstr(jgetc(list->schema, "x-kubernetes-list-type")) : STR_NONE;
    return !j_is_absent(list->json) && (str_is(type, "set") || str_is(type, "map"));
}

static bool list_has(struct cel_run *e, const struct cel_value *list, const struct cel_value *v)
{
    for (struct cel_seq s = cel_seq_of(e, list); cel_spend(e, 1) && cel_seq_next(&s);)
        if (cel_equal(e, &s.value, v))
            return true;
    return false;
}

static bool equal_lists(struct cel_run *e, const struct cel_value *a, const struct cel_value *b)
{
    struct cel_seq x = cel_seq_of(e, a), y = cel_seq_of(e, b);
    if (cel_length(a) != cel_length(b))
        return false;
    if (is_unordered(a) || is_unordered(b)) {
        while (cel_seq_next(&x))
            if (!list_has(e, b, &x.value))
                return false;
        return true;
    }
    while (cel_seq_next(&x) && cel_seq_next(&y))
        if (!cel_spend(e, 1) || !cel_equal(e, &x.value, &y.value))
            return false;
    return true;
}

static bool equal_maps(struct cel_run *e, const struct cel_value *a, const struct cel_value *b)
{
    struct cel_value other;
    if (cel_length(a) != cel_length(b))
        return false;
    for (struct cel_seq x = cel_seq_of(e, a); cel_seq_next(&x);)
        if (!cel_spend(e, 1) || !cel_find_key(e, b, &x.key, &other) ||
            !cel_equal(e, &x.value, &other))
            return false;
    return true;
}

static bool equal_url(const struct cel_url *a, const struct cel_url *b)
{
    return str_eq(a->scheme, b->scheme) && str_eq(a->host, b->host) && str_eq(a->path, b->path) &&
           str_eq(a->query, b->query);
}

/* Of the same type, neither lists nor maps. */
static bool equal_scalars(struct cel_run *e, const struct cel_value *a, const struct cel_value *b)
{
    switch (a->type) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return a->b == b->b;
    case CEL_STRING:
    case CEL_BYTES:
    case CEL_FORMAT:
        return cel_spend(e, MIN(a->s.len, b->s.len) / 16) && str_eq(a->s, b->s);
    case CEL_TYPE:
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        return a->i == b->i;
    case CEL_OPTIONAL:
        return a->inner && b->inner ? cel_equal(e, a->inner, b->inner) : a->inner == b->inner;
    case CEL_QUANTITY:
        return quantity_cmp(a->quantity, b->quantity) == 0;
    case CEL_URL:
        return equal_url(a->url, b->url);
    case CEL_OBJECT:
        return str_eq(a->object->type, b->object->type) &&
               cel_equal(e, &a->object->fields, &b->object->fields);
    case CEL_IP:
    case CEL_CIDR:
        return a->net->size == b->net->size && a->net->prefix == b->net->prefix &&
               memcmp(a->net->bytes, b->net->bytes, a->net->size) == 0;
    default:
        return false;
    }
}

/* Documents and literals are no deeper than what made them may be. */
bool cel_equal(struct cel_run *e, const struct cel_value *a, const struct cel_value *b)
{
    if (cel_is_number(a) && cel_is_number(b))
        return compare_numbers(a, b) == 0;
    if (a->type != b->type)
        return false;
    return a->type == CEL_LIST  ? equal_lists(e, a, b)
           : a->type == CEL_MAP ? equal_maps(e, a, b)
                                : equal_scalars(e, a, b);
}

int cel_order(struct cel_run *e, const struct cel_value *a, const struct cel_value *b)
{
    if (cel_is_number(a) && cel_is_number(b))
        return compare_numbers(a, b);
    if (a->type != b->type)
        return 3;
    switch (a->type) {
    case CEL_STRING:
    case CEL_BYTES: {
        int c = cel_spend(e, MIN(a->s.len, b->s.len) / 16) ? str_cmp(a->s, b->s) : 0;
        return (c > 0) - (c < 0);
    }
    case CEL_BOOL:
        return a->b - b->b;
    case CEL_DURATION:
    case CEL_TIMESTAMP:
        return (a->i > b->i) - (a->i < b->i);
    default:
        return 3;
    }
}

/* ---- arithmetic ---- */

static struct cel_value arithmetic_int(struct cel_run *e, enum cel_operator op, int64_t a,
                                       int64_t b)
{
    int64_t r = 0;
    bool over = false;
    if ((op == CEL_DIV || op == CEL_MOD) && b == 0)
        return cel_failure(e, op == CEL_DIV ? "division by zero" : "modulus by zero");
    switch (op) {
    case CEL_ADD:
        over = __builtin_add_overflow(a, b, &r);
        break;
    case CEL_SUB:
        over = __builtin_sub_overflow(a, b, &r);
        break;
    case CEL_MUL:
        over = __builtin_mul_overflow(a, b, &r);
        break;
    default:
        over = a == INT64_MIN && b == -1;
        r = over ? 0 : op == CEL_DIV ? a / b : a % b;
    }
    return over ? cel_failure(e, "integer overflow") : of_int(r);
}

static struct cel_value arithmetic_uint(struct cel_run *e, enum cel_operator op, uint64_t a,
                                        uint64_t b)
{
    uint64_t r = 0;
    bool over = false;
    if ((op == CEL_DIV || op == CEL_MOD) && b == 0)
        return cel_failure(e, op == CEL_DIV ? "division by zero" : "modulus by zero");
    switch (op) {
    case CEL_ADD:
        over = __builtin_add_overflow(a, b, &r);
        break;
    case CEL_SUB:
        over = __builtin_sub_overflow(a, b, &r);
        break;
    case CEL_MUL:
        over = __builtin_mul_overflow(a, b, &r);
        break;
    default:
        r = op == CEL_DIV ? a / b : a % b;
    }
    return over ? cel_failure(e, "unsigned integer overflow")
                : (struct cel_value){.type = CEL_UINT, .u = r};
}

static struct cel_value arithmetic_double(struct cel_run *e, enum cel_operator op, double a,
                                          double b)
{
    switch (op) {
    case CEL_ADD:
        return of_double(a + b);
    case CEL_SUB:
        return of_double(a - b);
    case CEL_MUL:
        return of_double(a * b);
    case CEL_DIV:
        return of_double(a / b);
    default:
        return cel_no_overload(e);
    }
}

static struct cel_value join(struct cel_run *e, const struct cel_value *a,
                             const struct cel_value *b)
{
    size_t n = a->s.len + b->s.len;
    if (n > CEL_MAX_STRING || !cel_spend(e, n / 16))
        return cel_too_much(e);
    return (struct cel_value){.type = a->type, .s = arena_cat(e->arena, a->s, b->s)};
}

/* Two items of a list that is told apart by keys, or the same in a set. */
static bool is_same_item(struct cel_run *e, const struct cel_value *list, const struct cel_value *a,
                         const struct cel_value *b)
{
    jval keys = jgetc(list->schema, "x-kubernetes-list-map-keys");
    if (!jlen(keys) || a->type != CEL_MAP || b->type != CEL_MAP)
        return cel_equal(e, a, b);
    for (struct jiter it = jiter(keys); jnext(&it);) {
        struct cel_value x = {0}, y = {0}, key = of_str(jstr(it.value));
        bool in_a = cel_find_key(e, a, &key, &x), in_b = cel_find_key(e, b, &key, &y);
        if (in_a != in_b || (in_a && !cel_equal(e, &x, &y)))
            return false;
    }
    return true;
}

/* Puts the items of b into a set or a list with keys, those of a that are the same in place. */
static bool merge_items(struct cel_run *e, const struct cel_value *a, const struct cel_value *b,
                        cel_pairs *all)
{
    for (struct cel_seq s = cel_seq_of(e, b); cel_seq_next(&s);) {
        size_t i = 0;
        while (i < all->len && !is_same_item(e, a, &all->p[i].value, &s.value) && cel_spend(e, 1))
            i++;
        if (i < all->len)
            all->p[i].value = s.value;
        else
            *vec_push(all) = (struct cel_pair){.value = s.value};
    }
    return !e->exhausted;
}

static struct cel_value append(struct cel_run *e, const struct cel_value *a,
                               const struct cel_value *b)
{
    cel_pairs all = {0};
    size_t n = cel_length(a) + cel_length(b);
    if (n > CEL_MAX_LIST || !cel_spend(e, n * CEL_ITEM_COST))
        return cel_too_much(e);
    for (struct cel_seq s = cel_seq_of(e, a); cel_seq_next(&s);)
        *vec_push(&all) = (struct cel_pair){.value = s.value};
    if (is_unordered(a)) {
        (void)merge_items(e, a, b, &all);
    } else {
        for (struct cel_seq s = cel_seq_of(e, b); cel_seq_next(&s);)
            *vec_push(&all) = (struct cel_pair){.value = s.value};
    }
    return cel_of_pairs(e, CEL_LIST, &all);
}

/* Years 1 to 9999, and spans of about 292 years. */
#define TIME_MIN ((int64_t)-62135596800 * USEC_PER_SEC)
#define TIME_MAX ((int64_t)253402300799 * USEC_PER_SEC + 999999)

static struct cel_value arithmetic_time(struct cel_run *e, enum cel_operator op,
                                        const struct cel_value *a, const struct cel_value *b)
{
    struct cel_value v = {.type = CEL_TIMESTAMP};
    int64_t span;
    if (a->type == CEL_DURATION && b->type == CEL_DURATION && (op == CEL_ADD || op == CEL_SUB)) {
        v = arithmetic_int(e, op, a->i, b->i);
        v.type = v.type == CEL_INT ? CEL_DURATION : v.type;
        return v;
    }
    if (a->type == CEL_TIMESTAMP && b->type == CEL_TIMESTAMP && op == CEL_SUB) {
        bool over = __builtin_mul_overflow(a->i - b->i, NSEC_PER_USEC, &span);
        return over ? cel_failure(e, "duration overflow")
                    : (struct cel_value){.type = CEL_DURATION, .i = span};
    }
    if (op == CEL_ADD && a->type == CEL_DURATION && b->type == CEL_TIMESTAMP)
        return arithmetic_time(e, op, b, a);
    if (a->type != CEL_TIMESTAMP || b->type != CEL_DURATION || (op != CEL_ADD && op != CEL_SUB))
        return cel_no_overload(e);
    span = b->i / NSEC_PER_USEC;
    v.i = op == CEL_ADD ? a->i + span : a->i - span;
    return v.i < TIME_MIN || v.i > TIME_MAX ? cel_failure(e, "timestamp overflow") : v;
}

static struct cel_value arithmetic(struct cel_run *e, enum cel_operator op,
                                   const struct cel_value *a, const struct cel_value *b)
{
    if (a->type == CEL_DURATION || a->type == CEL_TIMESTAMP)
        return arithmetic_time(e, op, a, b);
    if (a->type != b->type)
        return cel_no_overload(e);
    switch (a->type) {
    case CEL_INT:
        return arithmetic_int(e, op, a->i, b->i);
    case CEL_UINT:
        return arithmetic_uint(e, op, a->u, b->u);
    case CEL_DOUBLE:
        return arithmetic_double(e, op, a->d, b->d);
    case CEL_STRING:
    case CEL_BYTES:
        return op == CEL_ADD ? join(e, a, b) : cel_no_overload(e);
    case CEL_LIST:
        return op == CEL_ADD ? append(e, a, b) : cel_no_overload(e);
    default:
        return cel_no_overload(e);
    }
}

static struct cel_value contains_value(struct cel_run *e, const struct cel_value *v,
                                       const struct cel_value *in)
{
    struct cel_value ignored;
    if (in->type == CEL_MAP)
        return of_bool(cel_find_key(e, in, v, &ignored));
    return in->type == CEL_LIST ? of_bool(list_has(e, in, v)) : cel_no_overload(e);
}

struct cel_value cel_binary(struct cel_run *e, enum cel_operator op, const struct cel_value *a,
                            const struct cel_value *b)
{
    if (op == CEL_EQ || op == CEL_NE)
        return of_bool(cel_equal(e, a, b) == (op == CEL_EQ));
    if (op == CEL_IN)
        return contains_value(e, a, b);
    if (op < CEL_EQ)
        return arithmetic(e, op, a, b);
    int c = cel_order(e, a, b);
    if (c == 3)
        return cel_no_overload(e);
    if (c == 2)
        return of_bool(false);
    return of_bool(op == CEL_LT ? c < 0 : op == CEL_LE ? c <= 0 : op == CEL_GT ? c > 0 : c >= 0);
}
