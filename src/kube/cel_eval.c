/*
 * CEL, second half: the value of a tree. Values are small and copied; what an expression makes is
 * in the caller's arena. An error is a value too, since && and || may forget it.
 *
 * Every node costs one unit, every element compared or visited and every 16 bytes of a string
 * looked at another. When the units are used up everything is an error that nobody forgets.
 */
#include <math.h>

#include "kube/cel_impl.h"

static struct cel_value eval(struct cel_eval_state *e, const struct cel_node *n);

/* ---- making values ---- */

struct cel_value cel_failure(struct cel_eval_state *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct cel_value v = {.type = CEL_ERROR, .s = arena_vprintf(e->arena, fmt, ap)};
    va_end(ap);
    return v;
}

bool cel_spend(struct cel_eval_state *e, uint64_t units)
{
    if (e->left >= units) {
        e->left -= units;
        return true;
    }
    e->left = 0;
    e->exhausted = true;
    return false;
}

struct cel_value cel_too_much(struct cel_eval_state *e)
{
    return cel_failure(e, "the expression costs more than it may");
}

struct cel_value cel_no_overload(struct cel_eval_state *e)
{
    return cel_failure(e, "no such overload");
}

static struct cel_value cel_of_json(jval v)
{
    struct cel_value out = {0};
    int64_t i;
    switch (jtype(v)) {
    case J_NULL:
        return (struct cel_value){.type = CEL_NULL};
    case J_FALSE:
    case J_TRUE:
        return of_bool(j_is_true(v));
    case J_INT:
    case J_REAL:
        return jtype(v) == J_INT && jint_get(v, &i) ? of_int(i) : of_double(jreal(v, 0));
    case J_STRING:
        return of_str(jstr(v));
    case J_ARRAY:
    case J_OBJECT:
        out.type = jtype(v) == J_ARRAY ? CEL_LIST : CEL_MAP;
        out.json = v;
        return out;
    case J_ABSENT:
        break;
    }
    return (struct cel_value){.type = CEL_ERROR, .s = STR("no such attribute")};
}

/* Takes the vector over. */
struct cel_value cel_of_pairs(struct cel_eval_state *e, enum cel_type type, cel_pairs *p)
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

struct cel_seq cel_seq_of(const struct cel_value *v)
{
    return (struct cel_seq){.of = v, .it = jiter(v->json)};
}

bool cel_seq_next(struct cel_seq *s)
{
    if (j_is_absent(s->of->json)) {
        if (s->at == s->of->n)
            return false;
        s->key = s->of->items[s->at].key;
        s->value = s->of->items[s->at++].value;
        return true;
    }
    if (!jnext(&s->it))
        return false;
    s->key = of_str(s->it.key);
    s->value = cel_of_json(s->it.value);
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

static bool equal(struct cel_eval_state *e, const struct cel_value *a, const struct cel_value *b);

static bool find_key(struct cel_eval_state *e, const struct cel_value *map,
                     const struct cel_value *key, struct cel_value *ret)
{
    if (!j_is_absent(map->json)) {
        bool may = key->type == CEL_STRING && cel_spend(e, jlen(map->json) / 8);
        jval v = may ? jget(map->json, key->s) : JVAL_ABSENT;
        *ret = j_is_absent(v) ? *ret : cel_of_json(v);
        return !j_is_absent(v);
    }
    for (size_t i = 0; i < map->n && cel_spend(e, 1); i++) {
        if (equal(e, &map->items[i].key, key)) {
            *ret = map->items[i].value;
            return true;
        }
    }
    return false;
}

static bool equal_lists(struct cel_eval_state *e, const struct cel_value *a,
                        const struct cel_value *b)
{
    struct cel_seq x = cel_seq_of(a), y = cel_seq_of(b);
    if (cel_length(a) != cel_length(b))
        return false;
    while (cel_seq_next(&x) && cel_seq_next(&y))
        if (!cel_spend(e, 1) || !equal(e, &x.value, &y.value))
            return false;
    return true;
}

static bool equal_maps(struct cel_eval_state *e, const struct cel_value *a,
                       const struct cel_value *b)
{
    struct cel_value other;
    if (cel_length(a) != cel_length(b))
        return false;
    for (struct cel_seq x = cel_seq_of(a); cel_seq_next(&x);)
        if (!cel_spend(e, 1) || !find_key(e, b, &x.key, &other) || !equal(e, &x.value, &other))
            return false;
    return true;
}

/* Documents and literals are no deeper than what made them may be. */
static bool equal(struct cel_eval_state *e, const struct cel_value *a, const struct cel_value *b)
{
    if (cel_is_number(a) && cel_is_number(b))
        return compare_numbers(a, b) == 0;
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case CEL_NULL:
        return true;
    case CEL_BOOL:
        return a->b == b->b;
    case CEL_STRING:
        return cel_spend(e, MIN(a->s.len, b->s.len) / 16) && str_eq(a->s, b->s);
    case CEL_LIST:
        return equal_lists(e, a, b);
    case CEL_MAP:
        return equal_maps(e, a, b);
    default:
        return false;
    }
}

/* The order of two values; 3: they have none. */
int cel_order(struct cel_eval_state *e, const struct cel_value *a, const struct cel_value *b)
{
    if (cel_is_number(a) && cel_is_number(b))
        return compare_numbers(a, b);
    if (a->type == CEL_STRING && b->type == CEL_STRING &&
        cel_spend(e, MIN(a->s.len, b->s.len) / 16)) {
        int c = str_cmp(a->s, b->s);
        return (c > 0) - (c < 0);
    }
    if (a->type == CEL_BOOL && b->type == CEL_BOOL)
        return a->b - b->b;
    return 3;
}

/* ---- operators ---- */

static struct cel_value arithmetic_int(struct cel_eval_state *e, enum cel_operator op, int64_t a,
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

static struct cel_value arithmetic_uint(struct cel_eval_state *e, enum cel_operator op, uint64_t a,
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

static struct cel_value arithmetic_double(struct cel_eval_state *e, enum cel_operator op, double a,
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

static struct cel_value join(struct cel_eval_state *e, str a, str b)
{
    if (a.len + b.len > CEL_MAX_STRING || !cel_spend(e, (a.len + b.len) / 16))
        return cel_too_much(e);
    return of_str(arena_printf(e->arena, "%.*s%.*s", STR_ARG(a), STR_ARG(b)));
}

static struct cel_value append(struct cel_eval_state *e, const struct cel_value *a,
                               const struct cel_value *b)
{
    cel_pairs all = {0};
    if (cel_length(a) + cel_length(b) > CEL_MAX_LIST ||
        !cel_spend(e, cel_length(a) + cel_length(b)))
        return cel_too_much(e);
    for (struct cel_seq s = cel_seq_of(a); cel_seq_next(&s);)
        *vec_push(&all) = (struct cel_pair){.value = s.value};
    for (struct cel_seq s = cel_seq_of(b); cel_seq_next(&s);)
        *vec_push(&all) = (struct cel_pair){.value = s.value};
    return cel_of_pairs(e, CEL_LIST, &all);
}

struct cel_value cel_arithmetic(struct cel_eval_state *e, enum cel_operator op,
                                const struct cel_value *a, const struct cel_value *b)
{
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
        return op == CEL_ADD ? join(e, a->s, b->s) : cel_no_overload(e);
    case CEL_LIST:
        return op == CEL_ADD ? append(e, a, b) : cel_no_overload(e);
    default:
        return cel_no_overload(e);
    }
}

static struct cel_value contains_value(struct cel_eval_state *e, const struct cel_value *v,
                                       const struct cel_value *in)
{
    struct cel_value ignored;
    if (in->type == CEL_MAP)
        return of_bool(find_key(e, in, v, &ignored));
    if (in->type != CEL_LIST)
        return cel_no_overload(e);
    for (struct cel_seq s = cel_seq_of(in); cel_seq_next(&s);) {
        if (!cel_spend(e, 1))
            return cel_too_much(e);
        if (equal(e, &s.value, v))
            return of_bool(true);
    }
    return of_bool(false);
}

static struct cel_value binary(struct cel_eval_state *e, enum cel_operator op,
                               const struct cel_value *a, const struct cel_value *b)
{
    if (op == CEL_EQ || op == CEL_NE)
        return of_bool(equal(e, a, b) == (op == CEL_EQ));
    if (op == CEL_IN)
        return contains_value(e, a, b);
    if (op < CEL_EQ)
        return cel_arithmetic(e, op, a, b);
    int c = cel_order(e, a, b);
    if (c == 3)
        return cel_no_overload(e);
    if (c == 2)
        return of_bool(false);
    return of_bool(op == CEL_LT ? c < 0 : op == CEL_LE ? c <= 0 : op == CEL_GT ? c > 0 : c >= 0);
}

/* ---- nodes ---- */

static struct cel_value eval_select(struct cel_eval_state *e, const struct cel_node *n)
{
    struct cel_value of = eval(e, n->kids[0]), key = of_str(n->name), found = {0};
    if (of.type == CEL_ERROR)
        return of;
    if (of.type != CEL_MAP)
        return cel_no_overload(e);
    bool there = find_key(e, &of, &key, &found);
    if (n->op == CEL_HAS)
        return of_bool(there);
    return there ? found : cel_failure(e, "no such key: %.*s", STR_ARG(n->name));
}

static struct cel_value element(struct cel_eval_state *e, const struct cel_value *list, int64_t i)
{
    if (i < 0 || (uint64_t)i >= cel_length(list))
        return cel_failure(e, "index out of bounds: %lld", (long long)i);
    if (j_is_absent(list->json))
        return list->items[i].value;
    return cel_spend(e, (uint64_t)i / 16) ? cel_of_json(jat(list->json, (size_t)i))
                                          : cel_too_much(e);
}

static struct cel_value eval_index(struct cel_eval_state *e, const struct cel_node *n)
{
    struct cel_value of = eval(e, n->kids[0]), at = eval(e, n->kids[1]), found = {0};
    if (of.type == CEL_ERROR || at.type == CEL_ERROR)
        return of.type == CEL_ERROR ? of : at;
    if (of.type == CEL_LIST && at.type == CEL_INT)
        return element(e, &of, at.i);
    if (of.type != CEL_MAP)
        return cel_no_overload(e);
    return find_key(e, &of, &at, &found) ? found : cel_failure(e, "no such key");
}

static struct cel_value eval_make(struct cel_eval_state *e, const struct cel_node *n)
{
    cel_pairs all = {0};
    size_t step = n->op == CEL_MAKE_MAP ? 2 : 1;
    for (size_t i = 0; i < n->n_kids; i += step) {
        struct cel_pair p = {.value = eval(e, n->kids[i + step - 1])};
        if (step == 2)
            p.key = eval(e, n->kids[i]);
        if (p.value.type == CEL_ERROR || p.key.type == CEL_ERROR) {
            vec_done(&all);
            return p.value.type == CEL_ERROR ? p.value : p.key;
        }
        *vec_push(&all) = p;
    }
    return cel_of_pairs(e, n->op == CEL_MAKE_MAP ? CEL_MAP : CEL_LIST, &all);
}

/* The side that decides wins, whatever the other is. */
static struct cel_value eval_logic(struct cel_eval_state *e, const struct cel_node *n)
{
    bool decides = n->op == CEL_OR;
    struct cel_value a = eval(e, n->kids[0]);
    if (a.type == CEL_BOOL && a.b == decides)
        return a;
    struct cel_value b = eval(e, n->kids[1]);
    if (b.type == CEL_BOOL && b.b == decides)
        return b;
    if (a.type != CEL_BOOL)
        return a.type == CEL_ERROR ? a : cel_no_overload(e);
    return b.type == CEL_BOOL || b.type == CEL_ERROR ? b : cel_no_overload(e);
}

static struct cel_value eval_choose(struct cel_eval_state *e, const struct cel_node *n)
{
    struct cel_value c = eval(e, n->kids[0]);
    if (c.type == CEL_ERROR)
        return c;
    return c.type == CEL_BOOL ? eval(e, n->kids[c.b ? 1 : 2]) : cel_no_overload(e);
}

static struct cel_value eval_call(struct cel_eval_state *e, const struct cel_node *n)
{
    struct cel_value args[8];
    for (size_t i = 0; i < n->n_kids; i++) {
        args[i] = eval(e, n->kids[i]);
        if (args[i].type == CEL_ERROR)
            return args[i];
        if (args[i].type == CEL_STRING && !cel_spend(e, args[i].s.len / 16))
            return cel_too_much(e);
    }
    return cel_function_call((int)n->what, e, args);
}

/* all and exists: the first element that decides; an error counts when none does. */
static struct cel_value eval_quantor(struct cel_eval_state *e, const struct cel_node *n,
                                     const struct cel_value *over)
{
    bool decides = n->what == CEL_EXISTS;
    struct cel_value result = of_bool(!decides);
    for (struct cel_seq s = cel_seq_of(over); cel_seq_next(&s);) {
        e->slots[n->slot] = over->type == CEL_MAP ? s.key : s.value;
        struct cel_value v = eval(e, n->kids[1]);
        if (v.type == CEL_BOOL && v.b == decides)
            return v;
        if (v.type != CEL_BOOL)
            result = v.type == CEL_ERROR ? v : cel_no_overload(e);
        if (e->exhausted)
            break;
    }
    return result;
}

static struct cel_value eval_exists_one(struct cel_eval_state *e, const struct cel_node *n,
                                        const struct cel_value *over)
{
    size_t found = 0;
    for (struct cel_seq s = cel_seq_of(over); cel_seq_next(&s);) {
        e->slots[n->slot] = over->type == CEL_MAP ? s.key : s.value;
        struct cel_value v = eval(e, n->kids[1]);
        if (v.type != CEL_BOOL)
            return v.type == CEL_ERROR ? v : cel_no_overload(e);
        found += v.b;
    }
    return of_bool(found == 1);
}

static struct cel_value eval_collect(struct cel_eval_state *e, const struct cel_node *n,
                                     const struct cel_value *over)
{
    cel_pairs all = {0};
    bool has_test = n->what == CEL_FILTER || n->n_kids == 3;
    for (struct cel_seq s = cel_seq_of(over); cel_seq_next(&s);) {
        struct cel_value element = over->type == CEL_MAP ? s.key : s.value;
        e->slots[n->slot] = element;
        struct cel_value test = has_test ? eval(e, n->kids[1]) : of_bool(true);
        struct cel_value v = test.type == CEL_BOOL && test.b && n->what == CEL_MAP_TO
                                 ? eval(e, n->kids[n->n_kids - 1])
                                 : element;
        if (test.type != CEL_BOOL || v.type == CEL_ERROR || all.len >= CEL_MAX_LIST) {
            vec_done(&all);
            return test.type == CEL_ERROR ? test : v.type == CEL_ERROR ? v : cel_no_overload(e);
        }
        if (test.b)
            *vec_push(&all) = (struct cel_pair){.value = v};
    }
    return cel_of_pairs(e, CEL_LIST, &all);
}

static struct cel_value eval_macro(struct cel_eval_state *e, const struct cel_node *n)
{
    struct cel_value over = eval(e, n->kids[0]);
    if (over.type == CEL_ERROR)
        return over;
    if (over.type != CEL_LIST && over.type != CEL_MAP)
        return cel_no_overload(e);
    switch ((enum cel_macro)n->what) {
    case CEL_ALL:
    case CEL_EXISTS:
        return eval_quantor(e, n, &over);
    case CEL_EXISTS_ONE:
        return eval_exists_one(e, n, &over);
    case CEL_MAP_TO:
    case CEL_FILTER:
        break;
    }
    return eval_collect(e, n, &over);
}

static struct cel_value eval_unary(struct cel_eval_state *e, const struct cel_node *n)
{
    struct cel_value v = eval(e, n->kids[0]);
    if (v.type == CEL_ERROR)
        return v;
    if (n->op == CEL_NOT)
        return v.type == CEL_BOOL ? of_bool(!v.b) : cel_no_overload(e);
    if (v.type == CEL_DOUBLE)
        return of_double(-v.d);
    if (v.type != CEL_INT)
        return cel_no_overload(e);
    return v.i == INT64_MIN ? cel_failure(e, "integer overflow") : of_int(-v.i);
}

static struct cel_value eval_binary(struct cel_eval_state *e, const struct cel_node *n)
{
    struct cel_value a = eval(e, n->kids[0]), b = eval(e, n->kids[1]);
    if (a.type == CEL_ERROR || b.type == CEL_ERROR)
        return a.type == CEL_ERROR ? a : b;
    return binary(e, (enum cel_operator)n->what, &a, &b);
}

static struct cel_value eval(struct cel_eval_state *e, const struct cel_node *n)
{
    if (!cel_spend(e, 1))
        return cel_too_much(e);
    switch (n->op) {
    case CEL_LITERAL:
        return n->literal;
    case CEL_VARIABLE:
        return e->slots[n->slot];
    case CEL_SELECT:
    case CEL_HAS:
        return eval_select(e, n);
    case CEL_INDEX:
        return eval_index(e, n);
    case CEL_MAKE_LIST:
    case CEL_MAKE_MAP:
        return eval_make(e, n);
    case CEL_NOT:
    case CEL_NEGATE:
        return eval_unary(e, n);
    case CEL_BINARY:
        return eval_binary(e, n);
    case CEL_AND:
    case CEL_OR:
        return eval_logic(e, n);
    case CEL_CHOOSE:
        return eval_choose(e, n);
    case CEL_CALL:
        return eval_call(e, n);
    case CEL_MACRO:
        return eval_macro(e, n);
    }
    return cel_no_overload(e);
}

int cel_eval(const struct cel *c, struct arena *a, const jval *vars, uint64_t cost, bool *ret,
             struct err *err)
{
    struct cel_eval_state *e = arena_new(a, struct cel_eval_state);
    e->arena = a;
    e->cel = c;
    e->left = cost;
    for (size_t i = 0; i < c->n_vars; i++)
        e->slots[i] = cel_of_json(vars[i]);
    struct cel_value v = eval(e, c->root);
    *ret = v.type == CEL_BOOL && v.b;
    if (e->exhausted)
        return err_set(err, ERR_TOO_LARGE, "the expression costs more than it may");
    if (v.type == CEL_BOOL)
        return 0;
    return err_set(err, ERR_INVALID, "%.*s",
                   v.type == CEL_ERROR ? (int)v.s.len : (int)sizeof("the result is no bool") - 1,
                   v.type == CEL_ERROR ? v.s.p : "the result is no bool");
}
