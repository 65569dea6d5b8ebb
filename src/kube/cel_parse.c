/*
 * CEL, first half: text to tree, by recursive descent along the precedence of the language:
 *
 *   choose  = or [ "?" or ":" choose ]
 *   or      = and { "||" and }          and = relation { "&&" relation }
 *   relation = sum [ (< <= > >= == != in) sum ] ...
 *   sum     = product { (+ -) product } product = unary { (* / %) unary }
 *   unary   = { "!" } member | { "-" } member
 *   member  = primary { "." name [ "(" list ")" ] | "[" choose "]" }
 *   primary = literal | name [ "(" list ")" ] | "(" choose ")" | "[" list "]" | "{" pairs "}"
 *
 * Types are found bottom up: what is known to be wrong is refused here.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "kube/cel_impl.h"

enum token {
    T_END,
    T_NAME,
    T_INT,
    T_UINT,
    T_DOUBLE,
    T_STRING,
    T_SIGN, /* operators and brackets: text */
    T_BAD,
};

struct parser {
    struct arena *arena;
    struct err *err;
    str text;
    size_t at;        /* after the token */
    size_t token_at;  /* where it begins */
    enum token token; /* the one to be looked at */
    str word;         /* its text; of a string, what it says */
    const struct cel *cel;
    str locals[CEL_MAX_DEPTH];
    size_t n_locals;
    size_t n_nodes, depth;
    bool failed;
};

static struct cel_node *parse_choose(struct parser *p);

PRINTF_LIKE(2, 3) static struct cel_node *fail(struct parser *p, const char *fmt, ...)
{
    if (p->failed)
        return NULL;
    va_list ap;
    va_start(ap, fmt);
    str why = arena_vprintf(p->arena, fmt, ap);
    va_end(ap);
    p->failed = true;
    (void)err_set(p->err, ERR_INVALID, "at character %zu: %.*s", p->token_at + 1, STR_ARG(why));
    return NULL;
}

/* ---- tokens ---- */

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char peek(const struct parser *p, size_t ahead)
{
    return p->at + ahead < p->text.len ? p->text.p[p->at + ahead] : '\0';
}

static void skip_blanks(struct parser *p)
{
    for (;;) {
        char c = peek(p, 0);
        if (p->at < p->text.len && (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f')) {
            p->at++;
        } else if (c == '/' && peek(p, 1) == '/') {
            while (p->at < p->text.len && p->text.p[p->at] != '\n')
                p->at++;
        } else {
            return;
        }
    }
}

static void take_name(struct parser *p)
{
    while (is_name_start(peek(p, 0)) || is_digit(peek(p, 0)))
        p->at++;
    p->token = T_NAME;
    p->word = str_sub(p->text, p->token_at, p->at);
}

static void take_digits(struct parser *p, bool hex)
{
    for (char c = peek(p, 0);
         is_digit(c) || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))); c = peek(p, 0))
        p->at++;
}

static void take_number(struct parser *p)
{
    bool hex = peek(p, 0) == '0' && (peek(p, 1) == 'x' || peek(p, 1) == 'X');
    p->token = T_INT;
    if (hex)
        p->at += 2;
    take_digits(p, hex);
    if (!hex && peek(p, 0) == '.' && is_digit(peek(p, 1))) {
        p->token = T_DOUBLE;
        p->at++;
        take_digits(p, false);
    }
    if (!hex && (peek(p, 0) == 'e' || peek(p, 0) == 'E')) {
        p->token = T_DOUBLE;
        p->at++;
        if (peek(p, 0) == '+' || peek(p, 0) == '-')
            p->at++;
        take_digits(p, false);
    }
    p->word = str_sub(p->text, p->token_at, p->at);
    if (p->token == T_INT && (peek(p, 0) == 'u' || peek(p, 0) == 'U')) {
        p->token = T_UINT;
        p->at++;
    }
}

static int hex_value(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static void put_utf8(struct strbuf *b, uint32_t c)
{
    if (c < 0x80) {
        strbuf_add_char(b, (char)c);
    } else if (c < 0x800) {
        strbuf_add_char(b, (char)(0xc0 | c >> 6));
        strbuf_add_char(b, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        strbuf_add_char(b, (char)(0xe0 | c >> 12));
        strbuf_add_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
        strbuf_add_char(b, (char)(0x80 | (c & 0x3f)));
    } else {
        strbuf_add_char(b, (char)(0xf0 | c >> 18));
        strbuf_add_char(b, (char)(0x80 | (c >> 12 & 0x3f)));
        strbuf_add_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
        strbuf_add_char(b, (char)(0x80 | (c & 0x3f)));
    }
}

/* \x41, \u0041, \U00000041 */
static bool take_code(struct parser *p, struct strbuf *b, size_t digits)
{
    uint32_t c = 0;
    for (size_t i = 0; i < digits; i++, p->at++) {
        int v = hex_value(peek(p, 0));
        if (v < 0)
            return false;
        c = c << 4 | (uint32_t)v;
    }
    bool is_scalar = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
    if (is_scalar)
        put_utf8(b, c);
    return is_scalar;
}

static bool take_escape(struct parser *p, struct strbuf *b)
{
    static const char from[] = "abfnrtv\\'\"`?", to[] = "\a\b\f\n\r\t\v\\'\"`?";
    char c = peek(p, 0);
    const char *known = c ? strchr(from, c) : NULL;
    p->at++;
    if (known) {
        strbuf_add_char(b, to[known - from]);
        return true;
    }
    return c == 'x' || c == 'X' ? take_code(p, b, 2)
           : c == 'u'           ? take_code(p, b, 4)
           : c == 'U'           ? take_code(p, b, 8)
                                : false;
}

static void take_string(struct parser *p, bool raw)
{
    struct strbuf b = STRBUF_INIT(CEL_MAX_TEXT * 4);
    char quote = peek(p, 0);
    size_t n = peek(p, 1) == quote && peek(p, 2) == quote ? 3 : 1;
    p->token = T_BAD;
    p->at += n;
    while (p->at < p->text.len) {
        bool ends = peek(p, 0) == quote && (n == 1 || (peek(p, 1) == quote && peek(p, 2) == quote));
        if (ends) {
            p->at += n;
            p->token = T_STRING;
            break;
        }
        if (n == 1 && peek(p, 0) == '\n')
            break;
        if (peek(p, 0) == '\\' && !raw) {
            p->at++;
            if (!take_escape(p, &b))
                break;
        } else {
            strbuf_add_char(&b, p->text.p[p->at++]);
        }
    }
    p->word = arena_str(p->arena, strbuf_str(&b));
    strbuf_done(&b);
}

static void next(struct parser *p)
{
    static const char *const signs[] = {"&&", "||", "==", "!=", "<=", ">=", "<", ">",
                                        "!",  "?",  ":",  "+",  "-",  "*",  "/", "%",
                                        "(",  ")",  "[",  "]",  "{",  "}",  ",", "."};
    skip_blanks(p);
    p->token_at = p->at;
    char c = peek(p, 0);
    bool quoted = peek(p, 1) == '"' || peek(p, 1) == '\'';
    if (p->at >= p->text.len) {
        p->token = T_END;
        p->word = STR("end of the expression");
    } else if ((c == 'r' || c == 'R') && quoted) {
        p->at++;
        take_string(p, true);
    } else if (c == '"' || c == '\'') {
        take_string(p, false);
    } else if (is_name_start(c)) {
        take_name(p);
    } else if (is_digit(c)) {
        take_number(p);
    } else {
        p->token = T_BAD;
        p->word = str_sub(p->text, p->at, p->at + 1);
        for (size_t i = 0; i < ARRAY_LEN(signs) && p->token == T_BAD; i++) {
            if (!str_starts(str_sub(p->text, p->at, p->text.len), str_of(signs[i])))
                continue;
            p->token = T_SIGN;
            p->word = str_of(signs[i]);
        }
        p->at += p->word.len;
    }
}

static bool is_sign(const struct parser *p, const char *sign)
{
    return p->token == T_SIGN && str_is(p->word, sign);
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
    (void)fail(p, "expected '%s' and found '%.*s'", sign, STR_ARG(str_sub(p->word, 0, 40)));
    return false;
}

/* ---- nodes ---- */

static struct cel_node *node(struct parser *p, enum cel_op op, enum cel_type type)
{
    if (++p->n_nodes > CEL_MAX_NODES)
        return fail(p, "the expression is too long");
    struct cel_node *n = arena_new(p->arena, struct cel_node);
    n->op = op;
    n->type = type;
    return n;
}

static struct cel_node *node_with(struct parser *p, enum cel_op op, enum cel_type type, size_t n,
                                  struct cel_node **kids)
{
    for (size_t i = 0; i < n; i++)
        if (!kids[i])
            return NULL;
    struct cel_node *made = node(p, op, type);
    if (!made)
        return NULL;
    made->kids = arena_array(p->arena, struct cel_node *, n + 1);
    for (size_t i = 0; i < n; i++)
        made->kids[i] = kids[i];
    made->n_kids = n;
    return made;
}

static struct cel_node *literal(struct parser *p, struct cel_value v)
{
    struct cel_node *n = node(p, CEL_LITERAL, v.type);
    if (n)
        n->literal = v;
    return n;
}

/* ---- types ---- */

static const char *type_name(enum cel_type t)
{
    static const char *const names[] = {
        [CEL_DYN] = "dyn",   [CEL_NULL] = "null",     [CEL_BOOL] = "bool",     [CEL_INT] = "int",
        [CEL_UINT] = "uint", [CEL_DOUBLE] = "double", [CEL_STRING] = "string", [CEL_LIST] = "list",
        [CEL_MAP] = "map",   [CEL_ERROR] = "error"};
    return names[t];
}

static bool may_be(const struct cel_node *n, enum cel_type t)
{
    return n->type == CEL_DYN || n->type == t;
}

static bool is_number(enum cel_type t)
{
    return t == CEL_INT || t == CEL_UINT || t == CEL_DOUBLE;
}

/* The type of a op b, CEL_ERROR when there is no such thing. */
static enum cel_type binary_type(enum cel_operator op, enum cel_type a, enum cel_type b)
{
    bool dyn = a == CEL_DYN || b == CEL_DYN, same = a == b;
    enum cel_type known = a == CEL_DYN ? b : a;
    switch (op) {
    case CEL_ADD:
        if (known != CEL_DYN && !is_number(known) && known != CEL_STRING && known != CEL_LIST)
            return CEL_ERROR;
        return dyn || same ? known : CEL_ERROR;
    case CEL_SUB:
    case CEL_MUL:
    case CEL_DIV:
    case CEL_MOD:
        if (known != CEL_DYN && (!is_number(known) || (op == CEL_MOD && known == CEL_DOUBLE)))
            return CEL_ERROR;
        return dyn || same ? known : CEL_ERROR;
    case CEL_EQ:
    case CEL_NE:
        return dyn || same || (is_number(a) && is_number(b)) || a == CEL_NULL || b == CEL_NULL
                   ? CEL_BOOL
                   : CEL_ERROR;
    case CEL_LT:
    case CEL_LE:
    case CEL_GT:
    case CEL_GE:
        if (known == CEL_LIST || known == CEL_MAP || known == CEL_NULL)
            return CEL_ERROR;
        return dyn || same || (is_number(a) && is_number(b)) ? CEL_BOOL : CEL_ERROR;
    case CEL_IN:
        return b == CEL_DYN || b == CEL_LIST || b == CEL_MAP ? CEL_BOOL : CEL_ERROR;
    }
    return CEL_ERROR;
}

static struct cel_node *binary(struct parser *p, enum cel_operator op, str sign, struct cel_node *a,
                               struct cel_node *b)
{
    if (!a || !b)
        return NULL;
    enum cel_type t = binary_type(op, a->type, b->type);
    if (t == CEL_ERROR)
        return fail(p, "found no matching overload for '_%.*s_' applied to '(%s, %s)'",
                    STR_ARG(sign), type_name(a->type), type_name(b->type));
    struct cel_node *n = node_with(p, CEL_BINARY, t, 2, (struct cel_node *[]){a, b});
    if (n)
        n->what = op;
    return n;
}

/* ---- lists of arguments ---- */

struct arguments {
    struct cel_node *items[CEL_MAX_NODES / 16];
    size_t n;
};

/* Up to the closing sign, which is taken. */
static bool parse_list(struct parser *p, const char *close, struct arguments *ret)
{
    ret->n = 0;
    while (!is_sign(p, close)) {
        if (ret->n == ARRAY_LEN(ret->items)) {
            (void)fail(p, "the list is too long");
            return false;
        }
        ret->items[ret->n] = parse_choose(p);
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
    return parse_list(p, "]", list) ? node_with(p, CEL_MAKE_LIST, CEL_LIST, list->n, list->items)
                                    : NULL;
}

static struct cel_node *make_map(struct parser *p)
{
    struct arguments *list = arena_new(p->arena, struct arguments);
    while (!is_sign(p, "}")) {
        if (list->n + 2 > ARRAY_LEN(list->items))
            return fail(p, "the map is too long");
        struct cel_node *key = parse_choose(p);
        if (!key || !expect(p, ":"))
            return NULL;
        list->items[list->n++] = key;
        list->items[list->n++] = parse_choose(p);
        if (p->failed || (!accept(p, ",") && !is_sign(p, "}") && !expect(p, "}")))
            return NULL;
    }
    next(p);
    return node_with(p, CEL_MAKE_MAP, CEL_MAP, list->n, list->items);
}

/* ---- macros ---- */

static const struct {
    const char *name;
    enum cel_macro macro;
    enum cel_type type;
} macros[] = {
    {"all", CEL_ALL, CEL_BOOL},       {"exists", CEL_EXISTS, CEL_BOOL},
    {"map", CEL_MAP_TO, CEL_LIST},    {"exists_one", CEL_EXISTS_ONE, CEL_BOOL},
    {"filter", CEL_FILTER, CEL_LIST},
};

/* The two (map: two or three) arguments after the opening bracket. */
static struct cel_node *parse_macro(struct parser *p, size_t m, struct cel_node *over)
{
    struct cel_node *kids[3] = {over};
    size_t n = 1;
    if (p->token != T_NAME)
        return fail(p, "the first argument of %s is the name of a variable", macros[m].name);
    if (p->n_locals == CEL_MAX_DEPTH)
        return fail(p, "the expression is nested too deeply");
    unsigned slot = (unsigned)(CEL_MAX_VARS + p->n_locals);
    p->locals[p->n_locals++] = p->word;
    next(p);
    do {
        if (!expect(p, ","))
            return NULL;
        kids[n] = parse_choose(p);
        if (!kids[n++])
            return NULL;
    } while (n < 3 && macros[m].macro == CEL_MAP_TO && is_sign(p, ","));
    p->n_locals--;
    bool is_test = macros[m].macro != CEL_MAP_TO || n == 3;
    if (is_test && !may_be(kids[1], CEL_BOOL))
        return fail(p, "%s needs a bool and not a %s", macros[m].name, type_name(kids[1]->type));
    if (!expect(p, ")"))
        return NULL;
    struct cel_node *made = node_with(p, CEL_MACRO, macros[m].type, n, kids);
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
    if (of->op != CEL_SELECT)
        return fail(p, "the argument of has() is a field");
    of->op = CEL_HAS;
    of->type = CEL_BOOL;
    return of;
}

/* ---- members ---- */

static struct cel_node *call(struct parser *p, str name, struct cel_node *receiver)
{
    struct arguments *list = arena_new(p->arena, struct arguments);
    struct cel_node *kids[8];
    size_t n = 0;
    if (!parse_list(p, ")", list))
        return NULL;
    if (receiver)
        kids[n++] = receiver;
    for (size_t i = 0; i < list->n && n < ARRAY_LEN(kids); i++)
        kids[n++] = list->items[i];
    int function = cel_function_find(name, receiver != NULL, list->n + (receiver != NULL));
    if (function < 0)
        return fail(p, "undeclared reference to '%.*s' with %zu arguments", STR_ARG(name), list->n);
    struct cel_node *made = node_with(p, CEL_CALL, cel_function_type(function), n, kids);
    if (made)
        made->what = (unsigned)function;
    return made;
}

static struct cel_node *select_or_call(struct parser *p, struct cel_node *of)
{
    if (p->token != T_NAME)
        return fail(p, "expected a name and found '%.*s'", STR_ARG(str_sub(p->word, 0, 40)));
    str name = p->word;
    next(p);
    if (accept(p, "(")) {
        for (size_t i = 0; i < ARRAY_LEN(macros); i++)
            if (str_is(name, macros[i].name))
                return parse_macro(p, i, of);
        return call(p, name, of);
    }
    if (!may_be(of, CEL_MAP))
        return fail(p, "type '%s' does not support field selection", type_name(of->type));
    struct cel_node *n = node_with(p, CEL_SELECT, CEL_DYN, 1, &of);
    if (n)
        n->name = name;
    return n;
}

static struct cel_node *variable(struct parser *p, str name)
{
    struct cel_node *n = node(p, CEL_VARIABLE, CEL_DYN);
    if (!n)
        return NULL;
    for (size_t i = p->n_locals; i--;) {
        if (str_eq(p->locals[i], name)) {
            n->slot = (unsigned)(CEL_MAX_VARS + i);
            return n;
        }
    }
    for (size_t i = 0; i < p->cel->n_vars; i++) {
        if (str_is(name, p->cel->names[i])) {
            n->slot = (unsigned)i;
            return n;
        }
    }
    return fail(p, "undeclared reference to '%.*s'", STR_ARG(str_sub(name, 0, 100)));
}

static struct cel_node *named(struct parser *p)
{
    str name = p->word;
    next(p);
    if (str_is(name, "true") || str_is(name, "false"))
        return literal(p, (struct cel_value){.type = CEL_BOOL, .b = str_is(name, "true")});
    if (str_is(name, "null"))
        return literal(p, (struct cel_value){.type = CEL_NULL});
    if (!accept(p, "("))
        return variable(p, name);
    return str_is(name, "has") ? parse_has(p) : call(p, name, NULL);
}

static struct cel_node *number(struct parser *p, bool negative)
{
    char text[512], *end;
    struct cel_value v = {0};
    if (p->word.len >= sizeof(text))
        return fail(p, "the number is too long");
    memcpy(text, p->word.p, p->word.len);
    text[p->word.len] = '\0';
    int base = p->word.len > 1 && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    errno = 0;
    if (p->token == T_DOUBLE) {
        v = (struct cel_value){.type = CEL_DOUBLE, .d = strtod(text, &end)};
        v.d = negative ? -v.d : v.d;
    } else {
        unsigned long long u = strtoull(text, &end, base);
        bool is_uint = p->token == T_UINT;
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
        return fail(p, "the number '%s' cannot be represented", text);
    next(p);
    return literal(p, v);
}

static struct cel_node *parse_primary(struct parser *p)
{
    struct cel_node *n;
    switch (p->token) {
    case T_NAME:
        return named(p);
    case T_INT:
    case T_UINT:
    case T_DOUBLE:
        return number(p, false);
    case T_STRING:
        n = literal(p, (struct cel_value){.type = CEL_STRING, .s = p->word});
        next(p);
        return n;
    default:
        break;
    }
    if (accept(p, "[")) {
        return make_list(p);
    } else if (accept(p, "{")) {
        return make_map(p);
    } else if (accept(p, "(")) {
        n = parse_choose(p);
        return n && expect(p, ")") ? n : NULL;
    }
    return fail(p, "unexpected '%.*s'", STR_ARG(str_sub(p->word, 0, 40)));
}

static struct cel_node *parse_member(struct parser *p, struct cel_node *n)
{
    while (n && p->token == T_SIGN) {
        if (accept(p, ".")) {
            n = select_or_call(p, n);
        } else if (accept(p, "[")) {
            struct cel_node *at = parse_choose(p);
            if (!at || !expect(p, "]"))
                return NULL;
            if (!may_be(n, CEL_MAP) && !may_be(n, CEL_LIST))
                return fail(p, "type '%s' has no elements", type_name(n->type));
            n = node_with(p, CEL_INDEX, CEL_DYN, 2, (struct cel_node *[]){n, at});
        } else {
            break;
        }
    }
    return n;
}

/* ---- operators ---- */

static struct cel_node *parse_unary(struct parser *p)
{
    bool negate = false, not = false, any = false;
    if (is_sign(p, "!")) {
        while (accept(p, "!")) {
            not = !not ;
            any = true;
        }
    } else if (accept(p, "-")) {
        if (p->token == T_INT || p->token == T_DOUBLE)
            return parse_member(p, number(p, true));
        negate = true;
        while (accept(p, "-"))
            negate = !negate;
    }
    struct cel_node *n = parse_member(p, parse_primary(p));
    if (n && any && !may_be(n, CEL_BOOL))
        return fail(p, "found no matching overload for '!_' applied to '(%s)'", type_name(n->type));
    if (n && negate && n->type != CEL_DYN && n->type != CEL_INT && n->type != CEL_DOUBLE)
        return fail(p, "found no matching overload for '-_' applied to '(%s)'", type_name(n->type));
    if (n && not )
        return node_with(p, CEL_NOT, CEL_BOOL, 1, &n);
    return n && negate ? node_with(p, CEL_NEGATE, n->type, 1, &n) : n;
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

static int operator_at(const struct parser *p, unsigned level, str *ret_sign)
{
    *ret_sign = p->word;
    if (level == 0 && p->token == T_NAME && str_is(p->word, "in"))
        return CEL_IN;
    for (size_t i = 0; p->token == T_SIGN && i < ARRAY_LEN(operators); i++)
        if (operators[i].level == level && str_is(p->word, operators[i].sign))
            return (int)operators[i].op;
    return -1;
}

static struct cel_node *parse_level(struct parser *p, unsigned level)
{
    str sign;
    struct cel_node *n = level == 2 ? parse_unary(p) : parse_level(p, level + 1);
    for (int op; n && (op = operator_at(p, level, &sign)) >= 0;) {
        next(p);
        n = binary(p, (enum cel_operator)op, sign, n,
                   level == 2 ? parse_unary(p) : parse_level(p, level + 1));
    }
    return n;
}

static struct cel_node *parse_logic(struct parser *p, bool is_or)
{
    const char *sign = is_or ? "||" : "&&";
    struct cel_node *n = is_or ? parse_logic(p, false) : parse_level(p, 0);
    while (n && accept(p, sign)) {
        struct cel_node *b = is_or ? parse_logic(p, false) : parse_level(p, 0);
        if (!b)
            return NULL;
        if (!may_be(n, CEL_BOOL) || !may_be(b, CEL_BOOL))
            return fail(p, "found no matching overload for '_%s_' applied to '(%s, %s)'", sign,
                        type_name(n->type), type_name(b->type));
        n = node_with(p, is_or ? CEL_OR : CEL_AND, CEL_BOOL, 2, (struct cel_node *[]){n, b});
    }
    return n;
}

static struct cel_node *parse_choose(struct parser *p)
{
    if (++p->depth > CEL_MAX_DEPTH)
        return fail(p, "the expression is nested too deeply");
    struct cel_node *n = parse_logic(p, true);
    if (n && accept(p, "?")) {
        struct cel_node *kids[3] = {n, parse_logic(p, true)};
        if (!kids[1] || !expect(p, ":"))
            return NULL;
        kids[2] = parse_choose(p);
        if (!kids[2])
            return NULL;
        if (!may_be(n, CEL_BOOL))
            return fail(p, "the condition of ?: is a %s and not a bool", type_name(n->type));
        enum cel_type t = kids[1]->type == kids[2]->type ? kids[1]->type : CEL_DYN;
        n = node_with(p, CEL_CHOOSE, t, 3, kids);
    }
    p->depth--;
    return n;
}

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

struct cel *cel_compile(struct arena *a, str text, const char *const *names, size_t n_names,
                        struct err *err)
{
    enum { TREE_MAX = 16 * CEL_MAX_DEPTH };
    struct err unread = ERR_INIT;
    struct cel *c = arena_new(a, struct cel);
    struct parser p = {.arena = a, .err = err ? err : &unread, .text = text, .cel = c};
    BUG_ON(n_names > CEL_MAX_VARS);
    for (size_t i = 0; i < n_names; i++)
        c->names[i] = names[i];
    c->n_vars = n_names;
    if (text.len > CEL_MAX_TEXT || !str_is_utf8(text)) {
        (void)fail(&p, "the expression is not text of at most %d bytes", CEL_MAX_TEXT);
        return NULL;
    }
    next(&p);
    c->root = parse_choose(&p);
    if (c->root && p.token != T_END)
        c->root = fail(&p, "unexpected '%.*s'", STR_ARG(str_sub(p.word, 0, 40)));
    if (c->root && !may_be(c->root, CEL_BOOL))
        c->root = fail(&p, "the expression is a %s and not a bool", type_name(c->root->type));
    if (c->root && tree_depth(c->root, TREE_MAX + 1) > TREE_MAX)
        c->root = fail(&p, "the expression is too long");
    return c->root ? c : NULL;
}
