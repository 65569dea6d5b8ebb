/*
 * CEL: tokens to tree, by recursive descent along the precedence of the language:
 *
 *   choose  = or [ "?" or ":" choose ]
 *   or      = and { "||" and }          and = relation { "&&" relation }
 *   relation = sum [ (< <= > >= == != in) sum ] ...
 *   sum     = product { (+ -) product } product = unary { (* / %) unary }
 *   unary   = { "!" } member | { "-" } member
 *   member  = primary { "." [ "?" ] name [ "(" list ")" ] | "[" [ "?" ] choose "]" }
 *   primary = literal | name [ "(" list ")" ] | "(" choose ")" | "[" list "]" | "{" pairs "}"
 *           | name { "." name } "{" pairs "}"
 *
 * Types are found bottom up (cel_type.c): what is known to be wrong is refused here, in the words
 * of the reference implementation, with the line and a mark below where it is.
 */
#include <errno.h>
#include <stdlib.h>

#include "kube/cel/cel_impl.h"

struct parser {
    struct cel_lexer l;
    struct arena *arena;
    struct err *err;
    struct cel *cel;
    struct {
        str name;
        struct cel_shape shape;
    } locals[CEL_MAX_DEPTH];
    size_t n_locals;
    size_t n_nodes, depth;
    bool failed;
};

static struct cel_node *parse_choose(struct parser *p);

/* ---- errors ---- */

/* "<input>:1:5", the line, and dots up to the place. */
static void point_at(struct parser *p, size_t at, str why)
{
    str text = p->l.text;
    size_t line = 1, from = 0, column = 0, to;
    for (size_t i = 0; i < MIN(at, text.len); i++) {
        if (text.p[i] != '\n')
            continue;
        line++;
        from = i + 1;
    }
    for (to = from; to < text.len && text.p[to] != '\n';)
        to++;
    for (size_t i = from; i < MIN(at, text.len); i++)
        column += ((unsigned char)text.p[i] & 0xc0) != 0x80;
    struct strbuf dots = STRBUF_INIT(CEL_MAX_TEXT);
    for (size_t i = 0; i < column; i++)
        strbuf_add_char(&dots, '.');
    (void)err_set(p->err, ERR_INVALID, "ERROR: <input>:%zu:%zu: %.*s\n | %.*s\n | %.*s^", line,
                  column + 1, STR_ARG(why), STR_ARG(str_sub(text, from, to)),
                  STR_ARG(strbuf_str(&dots)));
    strbuf_done(&dots);
}

PRINTF_LIKE(3, 4)
static struct cel_node *fail_at(struct parser *p, size_t at, const char *fmt, ...)
{
    if (p->failed)
        return NULL;
    va_list ap;
    va_start(ap, fmt);
    str why = arena_vprintf(p->arena, fmt, ap);
    va_end(ap);
    p->failed = true;
    point_at(p, at, why);
    return NULL;
}

#define fail(p, ...) fail_at((p), (p)->l.token_at, __VA_ARGS__)

static struct cel_node *unexpected(struct parser *p)
{
    return fail(p, "Syntax error: unexpected '%.*s'", STR_ARG(str_sub(p->l.word, 0, 40)));
}

static struct cel_node *too_deep(struct parser *p)
{
    return fail(p, "Syntax error: the expression is nested too deeply");
}

/* ---- tokens ---- */

static void next(struct parser *p)
{
    cel_lex_next(&p->l);
}

static bool is_sign(const struct parser *p, const char *sign)
{
    return p->l.token == CEL_T_SIGN && str_is(p->l.word, sign);
}

static bool accept(struct parser *p, const char *sign)
{
    if (!is_sign(p, sign))
        return false;
    next(p);
    return true;
}

static bool expect(struct parser *p, const char *sign)
{
    if (accept(p, sign))
        return true;
    (void)fail(p, "Syntax error: mismatched input '%.*s' expecting '%s'",
               STR_ARG(str_sub(p->l.word, 0, 40)), sign);
    return false;
}

/* ---- nodes ---- */

static struct cel_node *node(struct parser *p, enum cel_op op, struct cel_shape shape)
{
    if (++p->n_nodes > CEL_MAX_NODES)
        return fail(p, "Syntax error: the expression is too long");
    struct cel_node *n = arena_new(p->arena, struct cel_node);
    n->op = op;
    n->shape = shape;
    return n;
}

static struct cel_node *node_with(struct parser *p, enum cel_op op, struct cel_shape shape,
                                  size_t n, struct cel_node **kids)
{
    for (size_t i = 0; i < n; i++)
        if (!kids[i])
            return NULL;
    struct cel_node *made = node(p, op, shape);
    if (!made)
        return NULL;
    made->kids = arena_array(p->arena, struct cel_node *, n + 1);
    for (size_t i = 0; i < n; i++)
        made->kids[i] = kids[i];
    made->n_kids = n;
    return made;
}

static struct cel_shape plain(enum cel_type t)
{
    return (struct cel_shape){.type = t};
}

static struct cel_shape *keep_shape(struct parser *p, struct cel_shape s)
{
    struct cel_shape *kept = arena_new(p->arena, struct cel_shape);
    *kept = s;
    return kept;
}

static struct cel_shape shape_with(struct parser *p, enum cel_type t, struct cel_shape of)
{
    return (struct cel_shape){.type = t, .of = keep_shape(p, of)};
}

static struct cel_node *literal(struct parser *p, struct cel_value v)
{
    struct cel_node *n = node(p, CEL_LITERAL, plain(v.type));
    if (n)
        n->literal = v;
    return n;
}

static str name_of(struct parser *p, const struct cel_node *n)
{
    return cel_shape_name(p->arena, &n->shape);
}

static struct cel_node *binary(struct parser *p, enum cel_operator op, const char *sign, size_t at,
                               struct cel_node *a, struct cel_node *b)
{
    if (!a || !b)
        return NULL;
    enum cel_type t = cel_binary_type(op, a->shape.type, b->shape.type);
    if (t == CEL_ERROR || (op == CEL_IN && cel_shape_is_object(&b->shape)))
        return fail_at(p, at, "found no matching overload for '%s' applied to '(%.*s, %.*s)'",
                       op == CEL_IN ? "@in" : arena_printf(p->arena, "_%s_", sign).p,
                       STR_ARG(name_of(p, a)), STR_ARG(name_of(p, b)));
    struct cel_shape shape = t == CEL_LIST ? a->shape : plain(t);
    struct cel_node *n = node_with(p, CEL_BINARY, shape, 2, (struct cel_node *[]){a, b});
    if (n)
        n->what = op;
    return n;
}

/* ---- lists of arguments ---- */

struct arguments {
    struct cel_node *items[CEL_MAX_NODES / 16];
    size_t n;
};

/* The value of an entry. One marked by a question mark is there when the optional has a value. */
static struct cel_node *parse_entry(struct parser *p, bool is_optional)
{
    size_t at = p->l.token_at;
    struct cel_node *n = parse_choose(p);
    if (!n || !is_optional)
        return n;
    if (!cel_may_be(&n->shape, CEL_OPTIONAL))
        return fail_at(p, at, "expected type 'optional_type(%.*s)' but found '%.*s'",
                       STR_ARG(name_of(p, n)), STR_ARG(name_of(p, n)));
    return node_with(p, CEL_MAYBE, n->shape.of ? *n->shape.of : plain(CEL_DYN), 1, &n);
}

/* Up to the closing sign, which is taken. */
static bool parse_list(struct parser *p, const char *close, struct arguments *ret)
{
    bool is_list = close[0] == ']';
    ret->n = 0;
    while (!is_sign(p, close)) {
        if (ret->n == ARRAY_LEN(ret->items)) {
            (void)fail(p, "Syntax error: the list is too long");
            return false;
        }
        ret->items[ret->n] = parse_entry(p, is_list && accept(p, "?"));
        if (!ret->items[ret->n++])
            return false;
        if (!accept(p, ",") && !is_sign(p, close))
            return expect(p, close);
    }
    return expect(p, close);
}

static struct cel_node *make_list(struct parser *p)
{
    struct arguments *list = arena_new(p->arena, struct arguments);
    if (!parse_list(p, "]", list))
        return NULL;
    struct cel_shape of = list->n ? list->items[0]->shape : plain(CEL_DYN);
    for (size_t i = 1; i < list->n; i++)
        of = cel_shape_join(&of, &list->items[i]->shape);
    return node_with(p, CEL_MAKE_LIST, shape_with(p, CEL_LIST, of), list->n, list->items);
}

/* The name of a field: what is written, not what it stands for. */
static struct cel_node *parse_field_name(struct parser *p)
{
    if (p->l.token != CEL_T_NAME)
        return unexpected(p);
    struct cel_node *n = literal(p, of_str(p->l.word));
    next(p);
    return n;
}

/* What is known of the fields of an object that is made; false: refused. */
static bool check_field(struct parser *p, str type, str name, const struct cel_node *value,
                        size_t at)
{
    if (!str_is(type, "JSONPatch"))
        return true;
    bool is_text = str_is(name, "op") || str_is(name, "path") || str_is(name, "from");
    if (!is_text && !str_is(name, "value"))
        (void)fail_at(p, at, "undefined field '%.*s'", STR_ARG(str_sub(name, 0, 100)));
    else if (is_text && !cel_may_be(&value->shape, CEL_STRING))
        (void)fail_at(p, at,
                      "expected type of field '%.*s' is 'string' but provided type is '%.*s'",
                      STR_ARG(name), STR_ARG(name_of(p, value)));
    return !p->failed;
}

/* Up to the closing bracket, which is taken. type: of an object, STR_NONE for a map. */
static struct cel_node *make_map(struct parser *p, str type)
{
    struct arguments *list = arena_new(p->arena, struct arguments);
    while (!is_sign(p, "}")) {
        if (list->n + 2 > ARRAY_LEN(list->items))
            return fail(p, "Syntax error: the map is too long");
        bool is_optional = accept(p, "?");
        size_t at = p->l.token_at;
        struct cel_node *key = type.len ? parse_field_name(p) : parse_choose(p);
        if (!key || !expect(p, ":"))
            return NULL;
        struct cel_node *value = parse_entry(p, is_optional);
        if (!value || (type.len && !check_field(p, type, key->literal.s, value, at)))
            return NULL;
        list->items[list->n++] = key;
        list->items[list->n++] = value;
        if (!accept(p, ",") && !is_sign(p, "}") && !expect(p, "}"))
            return NULL;
    }
    next(p);
    struct cel_node *n = node_with(p, type.len ? CEL_MAKE_OBJECT : CEL_MAKE_MAP,
                                   plain(type.len ? CEL_OBJECT : CEL_MAP), list->n, list->items);
    if (n)
        n->name = n->shape.object = type;
    return n;
}

/* ---- macros ---- */

static const struct {
    const char *name;
    enum cel_macro macro;
    enum cel_type type;
} macros[] = {
    {"all", CEL_ALL, CEL_BOOL},
    {"exists", CEL_EXISTS, CEL_BOOL},
    {"exists_one", CEL_EXISTS_ONE, CEL_BOOL},
    {"map", CEL_MAP_TO, CEL_LIST},
    {"filter", CEL_FILTER, CEL_LIST},
    {"optMap", CEL_OPT_MAP, CEL_OPTIONAL},
    {"optFlatMap", CEL_OPT_FLAT_MAP, CEL_OPTIONAL},
};

static bool is_of_optional(enum cel_macro m)
{
    return m == CEL_OPT_MAP || m == CEL_OPT_FLAT_MAP;
}

/* What the variable of the macro stands for; false: there is nothing to go through. */
static bool macro_element(struct parser *p, enum cel_macro m, const struct cel_node *over,
                          size_t at, struct cel_shape *ret)
{
    enum cel_type t = over->shape.type;
    bool fits = is_of_optional(m) ? t == CEL_OPTIONAL || t == CEL_DYN
                                  : t == CEL_LIST || t == CEL_DYN ||
                                        (t == CEL_MAP && !cel_shape_is_object(&over->shape));
    *ret = t == CEL_MAP    ? plain(j_is_absent(over->shape.schema) ? CEL_DYN : CEL_STRING)
           : t == CEL_LIST ? cel_shape_of_element(&over->shape)
           : t == CEL_OPTIONAL && over->shape.of ? *over->shape.of
                                                 : plain(CEL_DYN);
    if (!fits)
        (void)fail_at(p, at,
                      "expression of type '%.*s' cannot be range of a comprehension (must be list, "
                      "map, or dynamic)",
                      STR_ARG(name_of(p, over)));
    return fits;
}

static struct cel_shape macro_shape(struct parser *p, size_t m, const struct cel_node *over,
                                    const struct cel_node *last, const struct cel_shape *element)
{
    switch (macros[m].macro) {
    case CEL_FILTER:
        return over->shape.type == CEL_LIST ? over->shape : shape_with(p, CEL_LIST, *element);
    case CEL_MAP_TO:
        return shape_with(p, CEL_LIST, last->shape);
    case CEL_OPT_MAP:
        return shape_with(p, CEL_OPTIONAL, last->shape);
    case CEL_OPT_FLAT_MAP:
        return last->shape;
    default:
        return plain(macros[m].type);
    }
}

/* After the name of the variable: one argument, or two of map. */
static size_t macro_body(struct parser *p, size_t m, struct cel_node **kids)
{
    size_t n = 1;
    do {
        if (!expect(p, ","))
            return 0;
        kids[n] = parse_choose(p);
        if (!kids[n++])
            return 0;
    } while (n < 3 && macros[m].macro == CEL_MAP_TO && is_sign(p, ","));
    return expect(p, ")") ? n : 0;
}

static struct cel_node *parse_macro(struct parser *p, size_t m, struct cel_node *over, size_t at)
{
    struct cel_node *kids[3] = {over};
    struct cel_shape element;
    if (p->l.token != CEL_T_NAME)
        return fail(p, "argument must be a simple name");
    if (p->n_locals == CEL_MAX_DEPTH)
        return too_deep(p);
    if (!macro_element(p, macros[m].macro, over, at, &element))
        return NULL;
    unsigned slot = (unsigned)p->n_locals;
    p->locals[p->n_locals].name = p->l.word;
    p->locals[p->n_locals++].shape = element;
    p->cel->n_locals = MAX(p->cel->n_locals, p->n_locals);
    next(p);
    size_t n = macro_body(p, m, kids);
    p->n_locals--;
    if (!n)
        return NULL;
    bool is_test = n == 3 || (macros[m].macro != CEL_MAP_TO && !is_of_optional(macros[m].macro));
    if (is_test && !cel_may_be(&kids[1]->shape, CEL_BOOL))
        return fail_at(p, at, "expected type 'bool' but found '%.*s'",
                       STR_ARG(name_of(p, kids[1])));
    struct cel_node *made =
        node_with(p, CEL_MACRO, macro_shape(p, m, over, kids[n - 1], &element), n, kids);
    if (made) {
        made->what = macros[m].macro;
        made->slot = slot;
    }
    return made;
}

static struct cel_node *parse_has(struct parser *p)
{
    struct cel_node *of = parse_choose(p);
    if (!of || !expect(p, ")"))
        return NULL;
    if (of->op != CEL_SELECT && of->op != CEL_OPT_SELECT)
        return fail(p, "invalid argument to has() macro");
    of->op = CEL_HAS;
    of->shape = plain(CEL_BOOL);
    return of;
}

/* ---- calls ---- */

static struct cel_node *no_overload(struct parser *p, str name, bool is_method, size_t at,
                                    struct cel_node **kids, size_t n)
{
    struct strbuf b = STRBUF_INIT(4096);
    if (is_method)
        strbuf_printf(&b, "%.*s.", STR_ARG(name_of(p, kids[0])));
    strbuf_add_char(&b, '(');
    for (size_t i = is_method; i < n; i++)
        strbuf_printf(&b, "%s%.*s", i > is_method ? ", " : "", STR_ARG(name_of(p, kids[i])));
    strbuf_add_char(&b, ')');
    (void)fail_at(p, at, "found no matching overload for '%.*s' applied to '%.*s'", STR_ARG(name),
                  STR_ARG(strbuf_str(&b)));
    strbuf_done(&b);
    return NULL;
}

/* at: of the opening bracket, which is taken. */
static struct cel_node *call(struct parser *p, str name, struct cel_node *receiver, size_t at)
{
    struct arguments *list = arena_new(p->arena, struct arguments);
    struct cel_node *kids[CEL_MAX_ARGS + 1];
    struct cel_shape shapes[CEL_MAX_ARGS + 1], shape;
    size_t n = 0;
    if (!parse_list(p, ")", list))
        return NULL;
    int function = cel_function_find(name, receiver != NULL);
    if (function < 0)
        return fail_at(p, at, "undeclared reference to '%.*s' (in container '')",
                       STR_ARG(str_sub(name, 0, 100)));
    if (receiver)
        kids[n++] = receiver;
    for (size_t i = 0; i < list->n && n < ARRAY_LEN(kids); i++)
        kids[n++] = list->items[i];
    for (size_t i = 0; i < n; i++)
        shapes[i] = kids[i]->shape;
    if (!cel_function_check(function, receiver != NULL, shapes, n, &shape))
        return no_overload(p, name, receiver != NULL, at, kids, n);
    struct cel_node *made = node_with(p, CEL_CALL, shape, n, kids);
    if (made) {
        made->what = (unsigned)function;
        made->is_method = receiver != NULL;
    }
    return made;
}

/* ---- members ---- */

/* The shape of a field, and its name as it is in documents; false: refused. */
static bool field_shape(struct parser *p, const struct cel_shape *of, str *name, size_t at,
                        struct cel_shape *ret)
{
    *ret = plain(CEL_DYN);
    if (cel_shape_is_object(of)) {
        if (cel_shape_field(of, *name, name, ret))
            return true;
        (void)fail_at(p, at, "undefined field '%.*s'", STR_ARG(str_sub(*name, 0, 100)));
        return false;
    }
    if (of->type == CEL_MAP) {
        *ret = cel_shape_of_element(of);
        return true;
    }
    bool may = of->type == CEL_DYN || of->type == CEL_OBJECT;
    if (!may)
        (void)fail_at(p, at, "type '%.*s' does not support field selection",
                      STR_ARG(cel_shape_name(p->arena, of)));
    return may;
}

/* What is chosen from an optional is one, as what is chosen by .? is. */
static struct cel_node *select_field(struct parser *p, struct cel_node *of, str name, bool optional,
                                     size_t at)
{
    bool from_optional = of->shape.type == CEL_OPTIONAL;
    struct cel_shape inner =
        from_optional ? of->shape.of ? *of->shape.of : plain(CEL_DYN) : of->shape;
    struct cel_shape shape;
    if (!field_shape(p, &inner, &name, at, &shape))
        return NULL;
    optional |= from_optional;
    struct cel_node *n = node_with(p, optional ? CEL_OPT_SELECT : CEL_SELECT,
                                   optional ? shape_with(p, CEL_OPTIONAL, shape) : shape, 1, &of);
    if (n)
        n->name = name;
    return n;
}

/* variables.name */
static struct cel_node *select_lazy(struct parser *p, str name, size_t at)
{
    for (size_t i = 0; i < p->cel->n_lazy; i++) {
        if (!str_eq(p->cel->lazy[i].name, name))
            continue;
        struct cel_node *n = node(p, CEL_LAZY, p->cel->lazy[i].cel->root->shape);
        if (n)
            n->slot = (unsigned)i;
        return n;
    }
    return fail_at(p, at, "undefined field '%.*s'", STR_ARG(str_sub(name, 0, 100)));
}

/* After the dot. */
static struct cel_node *parse_dot(struct parser *p, struct cel_node *of, size_t dot)
{
    bool optional = accept(p, "?");
    str name = p->l.word;
    if (p->l.token != CEL_T_NAME)
        return unexpected(p);
    next(p);
    size_t open = p->l.token_at;
    if (optional || !accept(p, "("))
        return select_field(p, of, name, optional, dot);
    for (size_t i = 0; i < ARRAY_LEN(macros); i++)
        if (str_is(name, macros[i].name))
            return parse_macro(p, i, of, open);
    return call(p, name, of, open);
}

/* After the bracket. */
static struct cel_node *parse_index(struct parser *p, struct cel_node *of, size_t open)
{
    bool optional = accept(p, "?"), from_optional = of->shape.type == CEL_OPTIONAL;
    struct cel_node *at = parse_choose(p);
    if (!at || !expect(p, "]"))
        return NULL;
    struct cel_shape inner =
        from_optional ? of->shape.of ? *of->shape.of : plain(CEL_DYN) : of->shape;
    bool is_list = inner.type == CEL_LIST;
    bool fits = inner.type == CEL_DYN || (inner.type == CEL_MAP && !cel_shape_is_object(&inner)) ||
                (is_list && (at->shape.type == CEL_DYN || at->shape.type == CEL_INT ||
                             at->shape.type == CEL_UINT || at->shape.type == CEL_DOUBLE));
    if (!fits)
        return fail_at(p, open, "found no matching overload for '_[_]' applied to '(%.*s, %.*s)'",
                       STR_ARG(name_of(p, of)), STR_ARG(name_of(p, at)));
    struct cel_shape shape = inner.type == CEL_DYN ? plain(CEL_DYN) : cel_shape_of_element(&inner);
    optional |= from_optional;
    return node_with(p, optional ? CEL_OPT_INDEX : CEL_INDEX,
                     optional ? shape_with(p, CEL_OPTIONAL, shape) : shape, 2,
                     (struct cel_node *[]){of, at});
}

static struct cel_node *parse_member(struct parser *p, struct cel_node *n)
{
    while (n && p->l.token == CEL_T_SIGN) {
        size_t at = p->l.token_at;
        if (accept(p, "."))
            n = parse_dot(p, n, at);
        else if (accept(p, "["))
            n = parse_index(p, n, at);
        else
            break;
    }
    return n;
}

/* ---- names ---- */

static struct cel_node *local_variable(struct parser *p, str name)
{
    for (size_t i = p->n_locals; i--;) {
        if (!str_eq(p->locals[i].name, name))
            continue;
        struct cel_node *n = node(p, CEL_VARIABLE, p->locals[i].shape);
        if (n)
            n->slot = (unsigned)(CEL_MAX_VARS + i);
        return n;
    }
    return NULL;
}

static struct cel_node *declared_variable(struct parser *p, str name)
{
    for (size_t i = 0; i < p->cel->n_vars; i++) {
        const struct cel_decl *d = &p->cel->vars[i];
        if (!str_is(name, d->name))
            continue;
        struct cel_shape shape = cel_shape_of_schema(d->schema, d->is_whole);
        if (d->is_optional)
            shape = shape_with(p, CEL_OPTIONAL, shape);
        struct cel_node *n = node(p, CEL_VARIABLE, shape);
        if (n)
            n->slot = (unsigned)i;
        p->cel->used |= 1u << i;
        return n;
    }
    return NULL;
}

/* The names of types are values. */
static struct cel_node *type_literal(struct parser *p, str name)
{
    static const struct {
        const char *name;
        enum cel_type type;
    } types[] = {
        {"bool", CEL_BOOL},      {"int", CEL_INT},     {"uint", CEL_UINT}, {"double", CEL_DOUBLE},
        {"string", CEL_STRING},  {"bytes", CEL_BYTES}, {"list", CEL_LIST}, {"map", CEL_MAP},
        {"null_type", CEL_NULL}, {"type", CEL_TYPE},
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(name, types[i].name))
            return literal(p, (struct cel_value){.type = CEL_TYPE, .i = types[i].type});
    return NULL;
}

static struct cel_node *authorizer(struct parser *p)
{
    struct cel_lexer before = p->l;
    struct cel_access *nobody = arena_new(p->arena, struct cel_access);
    if (accept(p, ".") && p->l.token == CEL_T_NAME && str_is(p->l.word, "requestResource")) {
        next(p);
        struct cel_node *n = node(p, CEL_LITERAL, plain(CEL_RESOURCE_CHECK));
        if (n)
            n->literal = (struct cel_value){.type = CEL_RESOURCE_CHECK}; /* filled in by the run */
        return n;
    }
    p->l = before;
    return literal(p, (struct cel_value){.type = CEL_AUTHORIZER, .access = nobody});
}

/* "sets.contains(": functions whose names have two parts. */
static struct cel_node *spaced_call(struct parser *p, str space)
{
    static const char *const spaces[] = {"optional", "sets",    "format",
                                         "ip",       "strings", "jsonpatch"};
    struct cel_lexer before = p->l;
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(spaces); i++)
        known |= str_is(space, spaces[i]);
    if (known && accept(p, ".") && p->l.token == CEL_T_NAME) {
        str name = arena_printf(p->arena, "%.*s.%.*s", STR_ARG(space), STR_ARG(p->l.word));
        next(p);
        size_t open = p->l.token_at;
        if (accept(p, "("))
            return call(p, name, NULL, open);
    }
    p->l = before;
    return NULL;
}

/* "Object.spec{": an object, whose type is called after where it stands. */
static struct cel_node *object_of(struct parser *p, str name)
{
    struct cel_lexer before = p->l;
    if (!p->cel->has_patches || (!str_is(name, "Object") && !str_is(name, "JSONPatch")))
        return NULL;
    while (str_starts(name, STR("Object")) && accept(p, ".") && p->l.token == CEL_T_NAME) {
        name = arena_printf(p->arena, "%.*s.%.*s", STR_ARG(name), STR_ARG(p->l.word));
        next(p);
    }
    if (accept(p, "{"))
        return make_map(p, name);
    p->l = before;
    return NULL;
}

static struct cel_node *variable(struct parser *p, str name, size_t at)
{
    struct cel_node *n = local_variable(p, name);
    if (!n && !p->failed)
        n = declared_variable(p, name);
    if (!n && !p->failed && p->cel->has_authorizer && str_is(name, "authorizer"))
        n = authorizer(p);
    if (!n && !p->failed && p->cel->lazy && str_is(name, "variables") && accept(p, ".")) {
        str field = p->l.word;
        size_t dot = p->l.token_at - 1;
        if (p->l.token != CEL_T_NAME)
            return unexpected(p);
        next(p);
        return select_lazy(p, field, dot);
    }
    if (!n && !p->failed)
        n = spaced_call(p, name);
    if (!n && !p->failed)
        n = object_of(p, name);
    if (!n && !p->failed)
        n = type_literal(p, name);
    return n ? n
             : fail_at(p, at, "undeclared reference to '%.*s' (in container '')",
                       STR_ARG(str_sub(name, 0, 100)));
}

static struct cel_node *named(struct parser *p)
{
    str name = p->l.word;
    size_t at = p->l.token_at;
    next(p);
    if (str_is(name, "true") || str_is(name, "false"))
        return literal(p, (struct cel_value){.type = CEL_BOOL, .b = str_is(name, "true")});
    if (str_is(name, "null"))
        return literal(p, (struct cel_value){.type = CEL_NULL});
    size_t open = p->l.token_at;
    if (!accept(p, "("))
        return variable(p, name, at);
    return str_is(name, "has") ? parse_has(p) : call(p, name, NULL, open);
}

/* ---- primaries ---- */

static struct cel_node *number(struct parser *p, bool negative)
{
    char text[512], *end;
    struct cel_value v = {0};
    str word = p->l.word;
    if (word.len >= sizeof(text))
        return fail(p, "Syntax error: the number is too long");
    memcpy(text, word.p, word.len);
    text[word.len] = '\0';
    int base = word.len > 1 && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    errno = 0;
    if (p->l.token == CEL_T_DOUBLE) {
        v = (struct cel_value){.type = CEL_DOUBLE, .d = strtod(text, &end)};
        v.d = negative ? -v.d : v.d;
    } else {
        unsigned long long u = strtoull(text, &end, base);
        bool is_uint = p->l.token == CEL_T_UINT;
        uint64_t most = (uint64_t)INT64_MAX + (negative ? 1 : 0);
        if (!is_uint && u > most)
            errno = ERANGE;
        v.type = is_uint ? CEL_UINT : CEL_INT;
        if (is_uint)
            v.u = u;
        else
            v.i = negative ? (int64_t)(0 - (uint64_t)u) : (int64_t)u;
    }
    if (errno || *end)
        return fail(p, "Syntax error: invalid %s literal",
                    v.type == CEL_DOUBLE ? "double"
                    : v.type == CEL_UINT ? "uint"
                                         : "int");
    next(p);
    return literal(p, v);
}

static struct cel_node *parse_primary(struct parser *p)
{
    struct cel_node *n;
    switch (p->l.token) {
    case CEL_T_NAME:
        return named(p);
    case CEL_T_INT:
    case CEL_T_UINT:
    case CEL_T_DOUBLE:
        return number(p, false);
    case CEL_T_STRING:
    case CEL_T_BYTES:
        n = literal(p,
                    (struct cel_value){.type = p->l.token == CEL_T_BYTES ? CEL_BYTES : CEL_STRING,
                                       .s = p->l.word});
        next(p);
        return n;
    default:
        break;
    }
    if (accept(p, "[")) {
        return make_list(p);
    } else if (accept(p, "{")) {
        return make_map(p, STR_NONE);
    } else if (accept(p, "(")) {
        n = parse_choose(p);
        return n && expect(p, ")") ? n : NULL;
    }
    return unexpected(p);
}

/* ---- operators ---- */

static struct cel_node *parse_unary(struct parser *p)
{
    bool negate = false, not = false, any = false;
    size_t at = p->l.token_at;
    if (is_sign(p, "!")) {
        while (accept(p, "!")) {
            not = !not ;
            any = true;
        }
    } else if (accept(p, "-")) {
        if (p->l.token == CEL_T_INT || p->l.token == CEL_T_DOUBLE)
            return parse_member(p, number(p, true));
        negate = true;
        while (accept(p, "-"))
            negate = !negate;
    }
    struct cel_node *n = parse_member(p, parse_primary(p));
    if (n && any && !cel_may_be(&n->shape, CEL_BOOL))
        return fail_at(p, at, "found no matching overload for '!_' applied to '(%.*s)'",
                       STR_ARG(name_of(p, n)));
    if (n && negate && !cel_may_be(&n->shape, CEL_INT) && n->shape.type != CEL_DOUBLE)
        return fail_at(p, at, "found no matching overload for '-_' applied to '(%.*s)'",
                       STR_ARG(name_of(p, n)));
    if (n && not )
        return node_with(p, CEL_NOT, plain(CEL_BOOL), 1, &n);
    return n && negate ? node_with(p, CEL_NEGATE, n->shape, 1, &n) : n;
}

/* Lowest first; operators of one level are taken from left to right. */
static const struct {
    const char *sign;
    enum cel_operator op;
    unsigned level;
} operators[] = {
    {"<", CEL_LT, 0},  {"<=", CEL_LE, 0}, {">", CEL_GT, 0},  {">=", CEL_GE, 0},
    {"==", CEL_EQ, 0}, {"!=", CEL_NE, 0}, {"+", CEL_ADD, 1}, {"-", CEL_SUB, 1},
    {"*", CEL_MUL, 2}, {"/", CEL_DIV, 2}, {"%", CEL_MOD, 2},
};

static int operator_at(const struct parser *p, unsigned level, const char **ret_sign)
{
    *ret_sign = "in";
    if (level == 0 && p->l.token == CEL_T_NAME && str_is(p->l.word, "in"))
        return CEL_IN;
    for (size_t i = 0; p->l.token == CEL_T_SIGN && i < ARRAY_LEN(operators); i++) {
        *ret_sign = operators[i].sign;
        if (operators[i].level == level && str_is(p->l.word, operators[i].sign))
            return (int)operators[i].op;
    }
    return -1;
}

static struct cel_node *parse_level(struct parser *p, unsigned level)
{
    const char *sign;
    struct cel_node *n = level == 2 ? parse_unary(p) : parse_level(p, level + 1);
    for (int op; n && (op = operator_at(p, level, &sign)) >= 0;) {
        size_t at = p->l.token_at;
        next(p);
        n = binary(p, (enum cel_operator)op, sign, at, n,
                   level == 2 ? parse_unary(p) : parse_level(p, level + 1));
    }
    return n;
}

static struct cel_node *parse_logic(struct parser *p, bool is_or)
{
    const char *sign = is_or ? "||" : "&&";
    struct cel_node *n = is_or ? parse_logic(p, false) : parse_level(p, 0);
    for (size_t at = p->l.token_at; n && accept(p, sign); at = p->l.token_at) {
        struct cel_node *b = is_or ? parse_logic(p, false) : parse_level(p, 0);
        if (!b)
            return NULL;
        if (!cel_may_be(&n->shape, CEL_BOOL) || !cel_may_be(&b->shape, CEL_BOOL))
            return fail_at(p, at, "expected type 'bool' but found '%.*s'",
                           STR_ARG(name_of(p, cel_may_be(&n->shape, CEL_BOOL) ? b : n)));
        n = node_with(p, is_or ? CEL_OR : CEL_AND, plain(CEL_BOOL), 2, (struct cel_node *[]){n, b});
    }
    return n;
}

static struct cel_node *parse_choose(struct parser *p)
{
    if (++p->depth > CEL_MAX_DEPTH)
        return too_deep(p);
    struct cel_node *n = parse_logic(p, true);
    size_t at = p->l.token_at;
    if (n && accept(p, "?")) {
        struct cel_node *kids[3] = {n, parse_logic(p, true)};
        if (!kids[1] || !expect(p, ":"))
            return NULL;
        kids[2] = parse_choose(p);
        if (!kids[2])
            return NULL;
        if (!cel_may_be(&n->shape, CEL_BOOL))
            return fail_at(p, at, "expected type 'bool' but found '%.*s'", STR_ARG(name_of(p, n)));
        n = node_with(p, CEL_CHOOSE, cel_shape_join(&kids[1]->shape, &kids[2]->shape), 3, kids);
    }
    p->depth--;
    return n;
}

/* ---- the whole ---- */

/* How deep the tree is: chains grow it without nesting. */
static size_t tree_depth(const struct cel_node *n, size_t limit)
{
    size_t deepest = 0;
    for (size_t i = 0; i < n->n_kids && limit; i++) {
        size_t depth = tree_depth(n->kids[i], limit - 1); /* MAX asks twice */
        deepest = MAX(deepest, depth);
    }
    return deepest + 1;
}

/* It is an Object, or a list of operations; an empty list has items of any type. */
static bool makes(const struct cel_shape *s, bool patches)
{
    if (!patches)
        return s->type == CEL_OBJECT && str_is(s->object, "Object");
    struct cel_shape of = cel_shape_of_element(s);
    return s->type == CEL_LIST &&
           (of.type == CEL_DYN || (of.type == CEL_OBJECT && str_is(of.object, "JSONPatch")));
}

static struct cel_node *check_result(struct parser *p, struct cel_node *root, enum cel_want want)
{
    static const struct {
        const char *name;
        enum cel_type type;
    } wants[] = {
        [CEL_WANT_BOOL] = {"bool", CEL_BOOL},
        [CEL_WANT_STRING] = {"string", CEL_STRING},
        [CEL_WANT_OBJECT] = {"Object", CEL_OBJECT},
        [CEL_WANT_PATCHES] = {"list(JSONPatch)", CEL_LIST},
    };
    if (!root || want == CEL_WANT_ANY)
        return root;
    bool fits = want < CEL_WANT_ANY ? cel_may_be(&root->shape, wants[want].type)
                                    : makes(&root->shape, want == CEL_WANT_PATCHES);
    if (fits)
        return root;
    p->failed = true;
    if (want < CEL_WANT_ANY)
        (void)err_set(p->err, ERR_INVALID, "must evaluate to %s", wants[want].name);
    else
        (void)err_set(p->err, ERR_INVALID, "must evaluate to %s but got %.*s", wants[want].name,
                      STR_ARG(name_of(p, root)));
    return NULL;
}

struct cel *cel_compile_in(struct arena *a, str text, const struct cel_scope *scope,
                           enum cel_want want, struct err *err)
{
    enum { TREE_MAX = 16 * CEL_MAX_DEPTH };
    struct err unread = ERR_INIT;
    struct cel *c = arena_new(a, struct cel);
    struct parser *p = arena_new(a, struct parser);
    p->arena = a;
    p->err = err ? err : &unread;
    p->l = (struct cel_lexer){.arena = a, .text = text};
    p->cel = c;
    BUG_ON(scope->n_vars > CEL_MAX_VARS || scope->n_lazy > CEL_MAX_LAZY);
    for (size_t i = 0; i < scope->n_vars; i++)
        c->vars[i] = scope->vars[i];
    c->n_vars = scope->n_vars;
    c->lazy = scope->lazy;
    c->n_lazy = scope->n_lazy;
    c->has_authorizer = scope->has_authorizer;
    c->has_patches = scope->has_patches;
    if (text.len > CEL_MAX_TEXT || !str_is_utf8(text)) {
        (void)err_set(err, ERR_INVALID, "the expression is not text of at most %d bytes",
                      CEL_MAX_TEXT);
        return NULL;
    }
    next(p);
    c->root = parse_choose(p);
    if (c->root && p->l.token != CEL_T_END)
        c->root = unexpected(p);
    c->root = check_result(p, c->root, want);
    if (c->root && tree_depth(c->root, TREE_MAX + 1) > TREE_MAX)
        c->root = fail(p, "Syntax error: the expression is too long");
    return c->root ? c : NULL;
}

struct cel *cel_compile(struct arena *a, str text, const char *const *names, size_t n_names,
                        struct err *err)
{
    struct cel_decl vars[CEL_MAX_VARS] = {{0}};
    BUG_ON(n_names > CEL_MAX_VARS);
    for (size_t i = 0; i < n_names; i++)
        vars[i].name = names[i];
    return cel_compile_in(a, text, &(struct cel_scope){.vars = vars, .n_vars = n_names},
                          CEL_WANT_BOOL, err);
}
