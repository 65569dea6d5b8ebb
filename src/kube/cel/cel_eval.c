/*
 * CEL: the value of a tree. Every node costs one unit (and what cel_value.c says). When the units
 * are used up everything is an error that nobody forgets.
 */
#include "kube/cel/cel_impl.h"

static struct cel_value eval(struct cel_run *e, const struct cel_node *n);

/* ---- members ---- */

/* Whether a field is there. From none comes none; what is in an optional is looked into. */
static struct cel_value select_from(struct cel_run *e, const struct cel_node *n,
                                    const struct cel_value *of)
{
    struct cel_value key = of_str(n->name), found = {0};
    bool optional = n->op == CEL_OPT_SELECT;
    if (of->type == CEL_OPTIONAL && !of->inner)
        return n->op == CEL_HAS ? of_bool(false) : cel_none();
    if (of->type == CEL_OPTIONAL)
        return select_from(e, n, of->inner);
    if (of->type == CEL_OBJECT)
        return select_from(e, n, &of->object->fields);
    if (of->type != CEL_MAP)
        return cel_no_overload(e);
    bool there = cel_find_key(e, of, &key, &found);
    if (n->op == CEL_HAS)
        return of_bool(there);
    if (optional)
        return there ? cel_some(e, found) : cel_none();
    return there ? found : cel_failure(e, "no such key: %.*s", STR_ARG(n->name));
}

static struct cel_value eval_select(struct cel_run *e, const struct cel_node *n)
{
    struct cel_value of = eval(e, n->kids[0]);
    if (of.type == CEL_ERROR)
        return of;
    struct cel_value v = select_from(e, n, &of);
    /* Nothing was known of it, and it is an optional after all. */
    return of.type == CEL_OPTIONAL && n->op == CEL_SELECT && v.type != CEL_OPTIONAL &&
                   v.type != CEL_ERROR
               ? cel_some(e, v)
               : v;
}

static struct cel_value element(struct cel_run *e, const struct cel_value *list, int64_t i)
{
    if (i < 0 || (uint64_t)i >= cel_length(list))
        return cel_failure(e, "index out of bounds: %lld", (long long)i);
    if (j_is_absent(list->json))
        return list->items[i].value;
    return cel_spend(e, (uint64_t)i / 16)
               ? cel_of_json(e, jat(list->json, (size_t)i),
                             list->schema.doc ? cel_schema_items(list->schema) : JVAL_ABSENT)
               : cel_too_much(e);
}

/* A whole number, however it is written; false: it is none. */
static bool index_of(const struct cel_value *at, int64_t *ret)
{
    const double limit = 1e15;
    if (at->type == CEL_DOUBLE) {
        bool fits = at->d > -limit && at->d < limit && (double)(int64_t)at->d == at->d;
        *ret = fits ? (int64_t)at->d : 0;
        return fits;
    }
    *ret = at->i;
    return at->type == CEL_INT || (at->type == CEL_UINT && at->u <= INT64_MAX);
}

static struct cel_value index_into(struct cel_run *e, const struct cel_value *of,
                                   const struct cel_value *at)
{
    struct cel_value found = {0};
    int64_t i;
    if (of->type == CEL_LIST)
        return index_of(at, &i) ? element(e, of, i) : cel_no_overload(e);
    if (of->type != CEL_MAP)
        return cel_no_overload(e);
    if (cel_find_key(e, of, at, &found))
        return found;
    return at->type == CEL_STRING ? cel_failure(e, "no such key: %.*s", STR_ARG(at->s))
                                  : cel_failure(e, "no such key");
}

static struct cel_value eval_index(struct cel_run *e, const struct cel_node *n)
{
    struct cel_value of = eval(e, n->kids[0]), at = eval(e, n->kids[1]);
    bool optional = n->op == CEL_OPT_INDEX || of.type == CEL_OPTIONAL;
    if (of.type == CEL_ERROR || at.type == CEL_ERROR)
        return of.type == CEL_ERROR ? of : at;
    if (of.type == CEL_OPTIONAL && !of.inner)
        return cel_none();
    struct cel_value v = index_into(e, of.type == CEL_OPTIONAL ? of.inner : &of, &at);
    if (!optional)
        return v;
    if (v.type != CEL_ERROR)
        return cel_some(e, v);
    return e->exhausted || str_is(v.s, "no such overload") ? v : cel_none();
}

/* *ret_there is false when the entry is an optional one and there is none. */
static struct cel_value eval_entry(struct cel_run *e, const struct cel_node *n, bool *ret_there)
{
    *ret_there = true;
    if (n->op != CEL_MAYBE)
        return eval(e, n);
    struct cel_value v = eval(e, n->kids[0]);
    if (v.type != CEL_OPTIONAL)
        return v.type == CEL_ERROR ? v : cel_no_overload(e);
    *ret_there = v.inner != NULL;
    return v.inner ? *v.inner : v;
}

static struct cel_value eval_make(struct cel_run *e, const struct cel_node *n)
{
    cel_pairs all = {0};
    size_t step = n->op == CEL_MAKE_LIST ? 1 : 2;
    for (size_t i = 0; i < n->n_kids; i += step) {
        bool there;
        struct cel_pair p = {.value = eval_entry(e, n->kids[i + step - 1], &there)};
        if (!there)
            continue;
        if (step == 2)
            p.key = eval(e, n->kids[i]);
        bool twice = false;
        for (size_t j = 0; step == 2 && j < all.len && cel_spend(e, 1); j++)
            twice |= cel_equal(e, &all.p[j].key, &p.key);
        if (p.value.type == CEL_ERROR || p.key.type == CEL_ERROR || twice) {
            vec_done(&all);
            return twice                       ? cel_failure(e, "Failed with repeated key")
                   : p.value.type == CEL_ERROR ? p.value
                                               : p.key;
        }
        if (cel_spend(e, CEL_ITEM_COST))
            *vec_push(&all) = p;
    }
    struct cel_value made = cel_of_pairs(e, step == 2 ? CEL_MAP : CEL_LIST, &all);
    return n->op == CEL_MAKE_OBJECT ? cel_make_object(e, n->name, made) : made;
}

/* ---- operators ---- */

/* The side that decides wins, whatever the other is. */
static struct cel_value eval_logic(struct cel_run *e, const struct cel_node *n)
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

static struct cel_value eval_choose(struct cel_run *e, const struct cel_node *n)
{
    struct cel_value c = eval(e, n->kids[0]);
    if (c.type == CEL_ERROR)
        return c;
    return c.type == CEL_BOOL ? eval(e, n->kids[c.b ? 1 : 2]) : cel_no_overload(e);
}

static struct cel_value eval_call(struct cel_run *e, const struct cel_node *n)
{
    struct cel_value args[CEL_MAX_ARGS + 1];
    for (size_t i = 0; i < n->n_kids; i++) {
        args[i] = eval(e, n->kids[i]);
        if (args[i].type == CEL_ERROR)
            return args[i];
        if (args[i].type == CEL_STRING && !cel_spend(e, args[i].s.len / 16))
            return cel_too_much(e);
    }
    return cel_function_call((int)n->what, n->is_method, e, args, n->n_kids);
}

static struct cel_value eval_unary(struct cel_run *e, const struct cel_node *n)
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

static struct cel_value eval_binary(struct cel_run *e, const struct cel_node *n)
{
    struct cel_value a = eval(e, n->kids[0]), b = eval(e, n->kids[1]);
    if (a.type == CEL_ERROR || b.type == CEL_ERROR)
        return a.type == CEL_ERROR ? a : b;
    return cel_binary(e, (enum cel_operator)n->what, &a, &b);
}

/* ---- macros ---- */

/* all and exists: the first element that decides; an error counts when none does. */
static struct cel_value eval_quantor(struct cel_run *e, const struct cel_node *n,
                                     const struct cel_value *over)
{
    bool decides = n->what == CEL_EXISTS;
    struct cel_value result = of_bool(!decides);
    for (struct cel_seq s = cel_seq_of(e, over); cel_seq_next(&s);) {
        e->locals[n->slot] = over->type == CEL_MAP ? s.key : s.value;
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

static struct cel_value eval_exists_one(struct cel_run *e, const struct cel_node *n,
                                        const struct cel_value *over)
{
    size_t found = 0;
    for (struct cel_seq s = cel_seq_of(e, over); cel_seq_next(&s);) {
        e->locals[n->slot] = over->type == CEL_MAP ? s.key : s.value;
        struct cel_value v = eval(e, n->kids[1]);
        if (v.type != CEL_BOOL)
            return v.type == CEL_ERROR ? v : cel_no_overload(e);
        found += v.b;
    }
    return of_bool(found == 1);
}

static struct cel_value eval_collect(struct cel_run *e, const struct cel_node *n,
                                     const struct cel_value *over)
{
    cel_pairs all = {0};
    bool has_test = n->what == CEL_FILTER || n->n_kids == 3;
    for (struct cel_seq s = cel_seq_of(e, over); cel_seq_next(&s);) {
        struct cel_value element = over->type == CEL_MAP ? s.key : s.value;
        e->locals[n->slot] = element;
        struct cel_value test = has_test ? eval(e, n->kids[1]) : of_bool(true);
        struct cel_value v = test.type == CEL_BOOL && test.b && n->what == CEL_MAP_TO
                                 ? eval(e, n->kids[n->n_kids - 1])
                                 : element;
        if (test.type != CEL_BOOL || v.type == CEL_ERROR || all.len >= CEL_MAX_LIST) {
            vec_done(&all);
            return test.type == CEL_ERROR ? test : v.type == CEL_ERROR ? v : cel_no_overload(e);
        }
        if (test.b && cel_spend(e, CEL_ITEM_COST))
            *vec_push(&all) = (struct cel_pair){.value = v};
    }
    return cel_of_pairs(e, CEL_LIST, &all);
}

static struct cel_value eval_optional(struct cel_run *e, const struct cel_node *n,
                                      const struct cel_value *over)
{
    if (over->type != CEL_OPTIONAL)
        return cel_no_overload(e);
    if (!over->inner)
        return *over;
    e->locals[n->slot] = *over->inner;
    struct cel_value v = eval(e, n->kids[1]);
    if (v.type == CEL_ERROR)
        return v;
    if (n->what == CEL_OPT_MAP)
        return cel_some(e, v);
    return v.type == CEL_OPTIONAL ? v : cel_no_overload(e);
}

static struct cel_value eval_macro(struct cel_run *e, const struct cel_node *n)
{
    struct cel_value over = eval(e, n->kids[0]);
    if (over.type == CEL_ERROR)
        return over;
    if (n->what == CEL_OPT_MAP || n->what == CEL_OPT_FLAT_MAP)
        return eval_optional(e, n, &over);
    if (over.type != CEL_LIST && over.type != CEL_MAP)
        return cel_no_overload(e);
    switch ((enum cel_macro)n->what) {
    case CEL_ALL:
    case CEL_EXISTS:
        return eval_quantor(e, n, &over);
    case CEL_EXISTS_ONE:
        return eval_exists_one(e, n, &over);
    default:
        return eval_collect(e, n, &over);
    }
}

/* ---- variables ---- */

static struct cel_value eval_root(struct cel_run *e, const struct cel *c)
{
    const struct cel *before = e->cel;
    struct cel_value *locals = e->locals;
    e->cel = c;
    e->locals = arena_array(e->arena, struct cel_value, c->n_locals + 1);
    struct cel_value v = eval(e, c->root);
    e->cel = before;
    e->locals = locals;
    return v;
}

static struct cel_value eval_lazy(struct cel_run *e, const struct cel_node *n)
{
    if (n->slot >= e->in.n_lazy)
        return cel_failure(e, "no such attribute");
    if (!e->lazy_known[n->slot]) {
        e->lazy[n->slot] = eval_root(e, e->in.lazy[n->slot].cel);
        e->lazy_known[n->slot] = true;
    }
    return e->lazy[n->slot];
}

static struct cel_value eval_literal(struct cel_run *e, const struct cel_node *n)
{
    struct cel_value v = n->literal;
    if (v.type == CEL_RESOURCE_CHECK)
        v.access = &e->in.request;
    return v;
}

static struct cel_value eval(struct cel_run *e, const struct cel_node *n)
{
    if (!cel_spend(e, 1))
        return cel_too_much(e);
    switch (n->op) {
    case CEL_LITERAL:
        return eval_literal(e, n);
    case CEL_VARIABLE:
        return n->slot < CEL_MAX_VARS ? e->vars[n->slot] : e->locals[n->slot - CEL_MAX_VARS];
    case CEL_LAZY:
        return eval_lazy(e, n);
    case CEL_SELECT:
    case CEL_OPT_SELECT:
    case CEL_HAS:
        return eval_select(e, n);
    case CEL_INDEX:
    case CEL_OPT_INDEX:
        return eval_index(e, n);
    case CEL_MAKE_LIST:
    case CEL_MAKE_MAP:
    case CEL_MAKE_OBJECT:
        return eval_make(e, n);
    case CEL_MAYBE: /* eval_make looks into it */
        break;
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

/* ---- runs ---- */

struct cel_run *cel_run_new(struct arena *a, const struct cel_input *in)
{
    struct cel_run *e = arena_new(a, struct cel_run);
    e->arena = a;
    e->in = *in;
    e->lazy = arena_array(a, struct cel_value, in->n_lazy + 1);
    return e;
}

static struct cel_value run(struct cel_run *e, const struct cel *c)
{
    for (size_t i = 0; i < c->n_vars; i++) {
        const struct cel_decl *d = &c->vars[i];
        struct cel_value v = cel_of_json(e, e->in.vars[i], d->schema);
        if (d->is_optional)
            v = j_is_absent(e->in.vars[i]) ? cel_none() : cel_some(e, v);
        e->vars[i] = v;
    }
    e->exhausted = false;
    return eval_root(e, c);
}

static int fail(const struct cel_run *e, const struct cel_value *v, const char *otherwise,
                struct err *err)
{
    str why = v->type == CEL_ERROR ? v->s : str_of(otherwise);
    return err_set(err, e->exhausted ? ERR_TOO_LARGE : ERR_INVALID, "%.*s", STR_ARG(why));
}

int cel_run_bool(struct cel_run *e, const struct cel *c, bool *ret, struct err *err)
{
    struct cel_value v = run(e, c);
    if (e->exhausted)
        v = cel_too_much(e);
    *ret = v.type == CEL_BOOL && v.b;
    return v.type == CEL_BOOL ? 0 : fail(e, &v, "no such overload", err);
}

static int run_text(struct cel_run *e, const struct cel *c, bool or_null, str *ret, struct err *err)
{
    struct cel_value v = run(e, c);
    if (e->exhausted)
        v = cel_too_much(e);
    *ret = v.type == CEL_STRING ? v.s : STR_NONE;
    if (v.type == CEL_STRING || (or_null && v.type == CEL_NULL))
        return 0;
    return fail(e, &v, "the result is no string", err);
}

int cel_run_text(struct cel_run *e, const struct cel *c, str *ret, struct err *err)
{
    return run_text(e, c, false, ret, err);
}

int cel_run_text_or_null(struct cel_run *e, const struct cel *c, str *ret, struct err *err)
{
    return run_text(e, c, true, ret, err);
}

int cel_run_doc(struct cel_run *e, const struct cel *c, struct doc **ret, struct err *err)
{
    struct cel_value v = run(e, c);
    if (e->exhausted)
        v = cel_too_much(e);
    *ret = NULL;
    if (v.type == CEL_ERROR)
        return fail(e, &v, "", err);
    *ret = cel_doc_of(e, &v, err);
    return *ret ? 0 : e->exhausted ? ERR_TOO_LARGE : ERR_INVALID;
}

int cel_eval(const struct cel *c, struct arena *a, const jval *vars, uint64_t cost, bool *ret,
             struct err *err)
{
    struct cel_input in = {.vars = vars, .cost = &cost};
    return cel_run_bool(cel_run_new(a, &in), c, ret, err);
}
