/*
 * JSONPath as kubectl has it, in two halves: a parser that turns an expression into a list of
 * steps, and an evaluator that sends a set of values through them. Each step maps every value of
 * the set to none, one or several. A template is a list of pieces: text, paths, {range PATH} and
 * {end}.
 *
 * Kubectl's ways that may surprise: both $ and @ mean the current value; a quoted key is itself a
 * path (['a.b'] is .a.b, a dot in a name is written \.); an index or slice beyond the array, or a
 * comparison of different types, is an error, a missing key is not. Where ours differs on purpose:
 * integers and reals compare by value, and an empty array does not hide the matches after it.
 *
 * Bounds: nesting of brackets and ranges, and one counter of values visited for a whole
 * evaluation, which stops the growth that chains of ".." could bring about.
 */
#include "json/jsonpath.h"

#include <math.h>

#include "json/write.h"

#define PATH_MAX_BYTES 65536
#define PATH_MAX_NESTING 16
#define EVAL_FREE_VISITS ((size_t)1 << 20) /* and one more for each byte of the document */

enum step_kind { STEP_FIELD, STEP_WILDCARD, STEP_RECURSE, STEP_SLICE, STEP_UNION, STEP_FILTER };

struct bound {
    bool set;
    int64_t value;
};

struct step {
    enum step_kind kind;
    struct step *next;
    str name;                  /* FIELD */
    struct bound from, to, by; /* SLICE */
    bool is_index;             /* SLICE written [n] */
    struct branch *branches;   /* UNION */
    struct filter *filter;     /* FILTER */
};

struct branch {
    struct branch *next;
    struct step *steps;
};

/* One side of a comparison: a literal, or the steps from the element to a value. */
struct operand {
    enum { SIDE_PATH, SIDE_STR, SIDE_INT, SIDE_REAL, SIDE_BOOL } kind;
    struct step *steps;
    str s;
    int64_t i; /* also bool */
    double d;
};

enum filter_op { OP_EXISTS, OP_EQ, OP_NE, OP_LT, OP_LE, OP_GT, OP_GE };

struct filter {
    enum filter_op op;
    struct operand left, right;
};

enum piece_kind { PIECE_TEXT, PIECE_PATH, PIECE_RANGE, PIECE_END };

struct piece {
    enum piece_kind kind;
    str text;
    struct step *steps;
    size_t end; /* RANGE: index of the piece that ends it */
};

struct jsonpath {
    struct arena arena;
    struct step *steps;
};

/* ---- parsing ---- */

struct parser {
    struct arena *arena;
    str in;
    size_t at;
    unsigned nesting;
    bool in_filter; /* operators and ')' end a path */
    struct err *err;
};

static int fail(struct parser *p, const char *what)
{
    return err_set(p->err, ERR_INVALID, "jsonpath: position %zu: %s", p->at, what);
}

/* 0 at the end. */
static char peek(const struct parser *p)
{
    return p->at < p->in.len ? p->in.p[p->at] : 0;
}

static bool looking_at(const struct parser *p, const char *word)
{
    return str_starts(str_sub(p->in, p->at, p->in.len), str_of(word));
}

static bool accept(struct parser *p, const char *word)
{
    if (!looking_at(p, word))
        return false;
    p->at += strlen(word);
    return true;
}

static void skip_spaces(struct parser *p)
{
    while (peek(p) == ' ')
        p->at++;
}

static bool is_name_char(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
           (unsigned char)c >= 0x80;
}

static bool ends_name(const struct parser *p, char c)
{
    return c == 0 || strchr(" \t\r\n.,[]$@{}", c) || (p->in_filter && strchr("!<>=)", c));
}

/* A name up to the next terminator; a backslash takes the character after it as it is. */
static str parse_name(struct parser *p)
{
    struct parser ahead = *p;
    while (!ends_name(p, peek(&ahead)))
        ahead.at += peek(&ahead) == '\\' ? 2 : 1;
    char *out = arena_alloc(p->arena, ahead.at - p->at + 1);
    size_t n = 0;
    while (!ends_name(p, peek(p))) {
        if (peek(p) == '\\' && p->at + 1 < p->in.len)
            p->at++;
        out[n++] = p->in.p[p->at++];
    }
    return str_n(out, n);
}

static struct step *add_step(struct parser *p, struct step ***tail, enum step_kind kind)
{
    struct step *s = arena_new(p->arena, struct step);
    s->kind = kind;
    **tail = s;
    *tail = &s->next;
    return s;
}

static void parse_field(struct parser *p, struct step ***tail)
{
    if (accept(p, "*")) {
        if (ends_name(p, peek(p))) {
            add_step(p, tail, STEP_WILDCARD);
            return;
        }
        p->at--;
    }
    str name = parse_name(p);
    add_step(p, tail, STEP_FIELD)->name = name;
}

static int parse_path(struct parser *p, struct step **ret);
static int parse_filter(struct parser *p, struct step ***tail);

/* "n", "a:b", "a:b:c", "*". */
static int parse_slice(struct parser *p, str text, struct step ***tail)
{
    struct step *s = add_step(p, tail, STEP_SLICE);
    if (str_is(text, "*"))
        return 0;
    struct bound *bounds[] = {&s->from, &s->to, &s->by};
    str rest = text;
    size_t n = 0;
    for (; rest.p; n++) {
        str part = str_cut(&rest, ':');
        if (n == ARRAY_LEN(bounds))
            return fail(p, "invalid array index");
        if (part.len == 0)
            continue;
        bounds[n]->set = true;
        if (part.len > 11 || part.p[0] == '+' || !str_to_int(part, &bounds[n]->value))
            return fail(p, "invalid array index");
    }
    s->is_index = n <= 1;
    return 0;
}

/* A quoted key, which is a path of its own. */
static int parse_key(struct parser *p, str quoted, struct step ***tail)
{
    struct parser sub = *p;
    sub.in = str_sub(quoted, 1, quoted.len - 1);
    sub.at = 0;
    sub.in_filter = false;
    do {
        parse_field(&sub, tail);
    } while (accept(&sub, "."));
    return sub.at == sub.in.len ? 0 : fail(p, "invalid array index");
}

static int parse_selector(struct parser *p, str text, struct step ***tail)
{
    text = str_trim(text);
    bool quoted = text.len >= 2 && (text.p[0] == '\'' || text.p[0] == '"') &&
                  text.p[text.len - 1] == text.p[0];
    return quoted ? parse_key(p, text, tail) : parse_slice(p, text, tail);
}

/* After '[': a selector or several with commas between. */
static int parse_bracket(struct parser *p, struct step ***tail)
{
    size_t start = p->at;
    while (peek(p) && peek(p) != ']' && peek(p) != '\n')
        p->at++;
    str text = str_sub(p->in, start, p->at);
    if (!accept(p, "]"))
        return fail(p, "unterminated array");
    if (str_find_char(text, ',') < 0)
        return parse_selector(p, text, tail);
    struct step *u = add_step(p, tail, STEP_UNION);
    struct branch **last = &u->branches;
    for (str rest = text; rest.p;) {
        struct branch *b = arena_new(p->arena, struct branch);
        struct step **steps = &b->steps;
        int rc = parse_selector(p, str_cut(&rest, ','), &steps);
        if (rc)
            return rc;
        *last = b;
        last = &b->next;
    }
    return 0;
}

/* One step; *more is false when the path has ended. */
static int parse_step(struct parser *p, struct step ***tail, bool after_recurse, bool *more)
{
    *more = true;
    if (accept(p, "..")) {
        if (after_recurse)
            return fail(p, "invalid multiple recursive descent");
        add_step(p, tail, STEP_RECURSE);
        if (is_name_char(peek(p)) || peek(p) == '*')
            parse_field(p, tail);
        return 0;
    }
    if (accept(p, ".")) {
        parse_field(p, tail);
        return 0;
    }
    if (accept(p, "[?("))
        return parse_filter(p, tail);
    if (accept(p, "["))
        return parse_bracket(p, tail);
    *more = accept(p, "@") || accept(p, "$") || accept(p, " ");
    return 0;
}

static int parse_path(struct parser *p, struct step **ret)
{
    struct step **tail = ret;
    struct step *last = NULL;
    *ret = NULL;
    for (bool more = true; more;) {
        struct step **before = tail;
        int rc = parse_step(p, &tail, last && last->kind == STEP_RECURSE, &more);
        if (rc)
            return rc;
        for (struct step *s = *before; s; s = s->next)
            last = s;
    }
    return 0;
}

/* ---- literals ---- */

static bool parse_hex(str s, size_t at, size_t digits, uint32_t *ret)
{
    uint32_t v = 0;
    if (at + digits > s.len)
        return false;
    for (size_t i = at; i < at + digits; i++) {
        char c = s.p[i], lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            v = v << 4 | (uint32_t)(c - '0');
        else if (lower >= 'a' && lower <= 'f')
            v = v << 4 | (uint32_t)(lower - 'a' + 10);
        else
            return false;
    }
    *ret = v;
    return true;
}

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00 >> n & 0xff) | c);
    return n;
}

/* The escape after a backslash; returns how many bytes of s it took, 0 when it is none. */
static size_t unescape(str s, size_t at, char *out, size_t *len)
{
    static const char from[] = "abfnrtv\\'\"", to[] = "\a\b\f\n\r\t\v\\'\"";
    static const struct {
        char letter;
        size_t digits;
    } hex[] = {{'x', 2}, {'u', 4}, {'U', 8}};
    if (at >= s.len)
        return 0;
    const char *simple = s.p[at] ? strchr(from, s.p[at]) : NULL;
    if (simple) {
        out[(*len)++] = to[simple - from];
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(hex); i++) {
        uint32_t c;
        if (s.p[at] != hex[i].letter)
            continue;
        if (!parse_hex(s, at + 1, hex[i].digits, &c) || c > 0x10ffff || (c & 0xfffff800) == 0xd800)
            return 0;
        *len += put_utf8(out + *len, c);
        return 1 + hex[i].digits;
    }
    return 0;
}

/* At a quote: the string up to its partner. */
static int parse_quoted(struct parser *p, str *ret)
{
    char quote = p->in.p[p->at++];
    struct parser ahead = *p;
    while (peek(&ahead) && peek(&ahead) != quote)
        ahead.at += peek(&ahead) == '\\' ? 2 : 1;
    char *out =
        arena_alloc(p->arena, ahead.at - p->at + 4); /* no escape is shorter than its text */
    size_t n = 0;
    for (;;) {
        char c = peek(p);
        if (c == 0 || c == '\n')
            return fail(p, "unterminated quoted string");
        p->at++;
        if (c == quote)
            break;
        if (c != '\\') {
            out[n++] = c;
            continue;
        }
        size_t took = unescape(p->in, p->at, out, &n);
        if (!took)
            return fail(p, "invalid escape in quoted string");
        p->at += took;
    }
    *ret = str_n(out, n);
    return 0;
}

static int parse_number(struct parser *p, struct operand *ret)
{
    size_t start = p->at;
    if (peek(p) == '+' || peek(p) == '-')
        p->at++;
    while (peek(p) && strchr("0123456789.", peek(p)))
        p->at++;
    str text = str_sub(p->in, start, p->at);
    if (text.len && text.p[0] == '+')
        text = str_sub(text, 1, text.len);
    if (str_to_int(text, &ret->i)) {
        ret->kind = SIDE_INT;
        return 0;
    }
    char *c = str_dup(text), *end;
    ret->kind = SIDE_REAL;
    ret->d = strtod(c, &end);
    bool ok = text.len > 0 && *end == 0 && isfinite(ret->d);
    free(c);
    return ok ? 0 : fail(p, "cannot parse number");
}

static bool starts_number(char c)
{
    return c == '+' || c == '-' || (c >= '0' && c <= '9');
}

static bool starts_literal(const struct parser *p)
{
    return peek(p) == '"' || peek(p) == '\'' || starts_number(peek(p)) || looking_at(p, "true") ||
           looking_at(p, "false");
}

static int parse_literal(struct parser *p, struct operand *ret)
{
    if (peek(p) == '"' || peek(p) == '\'') {
        ret->kind = SIDE_STR;
        return parse_quoted(p, &ret->s);
    }
    if (starts_number(peek(p)))
        return parse_number(p, ret);
    ret->kind = SIDE_BOOL;
    ret->i = accept(p, "true");
    if (!ret->i)
        accept(p, "false");
    return 0;
}

/* ---- filters ---- */

static int parse_operand(struct parser *p, struct operand *ret)
{
    skip_spaces(p);
    int rc = starts_literal(p) ? parse_literal(p, ret) : parse_path(p, &ret->steps);
    skip_spaces(p);
    return rc;
}

static bool parse_operator(struct parser *p, enum filter_op *ret)
{
    static const struct {
        const char *text;
        enum filter_op op;
    } ops[] = {{"==", OP_EQ}, {"!=", OP_NE}, {"<=", OP_LE},
               {">=", OP_GE}, {"<", OP_LT},  {">", OP_GT}};
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (!accept(p, ops[i].text))
            continue;
        *ret = ops[i].op;
        return !peek(p) || !strchr("!<>=~", peek(p));
    }
    return false;
}

/* After "[?(". */
static int parse_filter_body(struct parser *p, struct filter *f)
{
    int rc = parse_operand(p, &f->left);
    if (rc)
        return rc;
    if (peek(p) != ')') {
        if (!parse_operator(p, &f->op))
            return fail(p, peek(p) ? "unrecognized filter operator" : "unterminated filter");
        rc = parse_operand(p, &f->right);
        if (rc)
            return rc;
    }
    if (!accept(p, ")"))
        return fail(p, peek(p) ? "unrecognized character in filter" : "unterminated filter");
    return accept(p, "]") ? 0 : fail(p, "unclosed array expect ]");
}

static int parse_filter(struct parser *p, struct step ***tail)
{
    if (++p->nesting > PATH_MAX_NESTING)
        return fail(p, "filters are nested too deep");
    bool outer = p->in_filter;
    p->in_filter = true;
    struct step *s = add_step(p, tail, STEP_FILTER);
    s->filter = arena_new(p->arena, struct filter);
    int rc = parse_filter_body(p, s->filter);
    p->in_filter = outer;
    p->nesting--;
    return rc;
}

/* ---- evaluation ---- */

struct eval {
    size_t visits_left;
    struct err *err;
};

static struct eval eval_of(jval root, struct err *err)
{
    return (struct eval){.visits_left = EVAL_FREE_VISITS + jtext(root).len, .err = err};
}

static int step_eval(struct eval *e, const struct step *s, const jval_vec *in, jval_vec *out);

static int visit(struct eval *e, size_t n)
{
    if (n > e->visits_left)
        return err_set(e->err, ERR_TOO_LARGE, "jsonpath visits too many values");
    e->visits_left -= n;
    return 0;
}

/* Sends the values of *set through the steps; *set is replaced by the result. */
static int steps_eval(struct eval *e, const struct step *s, jval_vec *set)
{
    for (; s; s = s->next) {
        jval_vec out = {0};
        int rc = step_eval(e, s, set, &out);
        vec_done(set);
        *set = out;
        if (rc)
            return rc;
    }
    return 0;
}

static int eval_children(struct eval *e, jval v, jval_vec *out)
{
    int rc = visit(e, jlen(v));
    if (rc)
        return rc;
    for (struct jiter it = jiter(v); jnext(&it);)
        *vec_push(out) = it.value;
    return 0;
}

/* The value and all below it, parents first; only what could have children, and text. */
static int eval_recurse(struct eval *e, jval v, jval_vec *out)
{
    bool text = jtype(v) == J_STRING && jstr(v).len > 0;
    if (!text && jlen(v) == 0)
        return 0;
    *vec_push(out) = v;
    int rc = visit(e, 1);
    for (struct jiter it = jiter(v); !rc && jnext(&it);)
        rc = eval_recurse(e, it.value, out);
    return rc;
}

static int bounds_error(struct eval *e, int64_t index, int64_t len)
{
    return err_set(e->err, ERR_INVALID, "array index out of bounds: index %lld, length %lld",
                   (long long)index, (long long)len);
}

static int eval_slice(struct eval *e, const struct step *s, jval v, jval_vec *out)
{
    if (j_is_null(v))
        return 0;
    if (jtype(v) != J_ARRAY)
        return err_set(e->err, ERR_INVALID, "value is not array or slice");
    int64_t len = (int64_t)jlen(v);
    int64_t from = s->from.set ? s->from.value : 0;
    int64_t by = s->by.set ? s->by.value : 1;
    from += from < 0 ? len : 0;
    int64_t to = s->is_index ? from + 1 : s->to.set ? s->to.value : len;
    to += to < 0 ? len : 0;
    if (from == to && !s->is_index)
        return 0;
    if (from < 0 || from >= len)
        return bounds_error(e, from, len);
    if (to < 0 || to > len)
        return bounds_error(e, to - 1, len);
    if (from > to)
        return err_set(e->err, ERR_INVALID, "starting index %lld is greater than ending index %lld",
                       (long long)from, (long long)to);
    if (by <= 0)
        return err_set(e->err, ERR_INVALID, "step must be > 0");
    for (struct jiter it = jiter(v); jnext(&it) && (int64_t)it.index < to;) {
        int64_t i = (int64_t)it.index;
        if (i >= from && (i - from) % by == 0)
            *vec_push(out) = it.value;
    }
    return visit(e, (size_t)to);
}

static int eval_union(struct eval *e, const struct step *s, const jval_vec *in, jval_vec *out)
{
    for (const struct branch *b = s->branches; b; b = b->next) {
        jval_vec set = {0};
        for (size_t i = 0; i < in->len; i++)
            *vec_push(&set) = in->p[i];
        int rc = visit(e, in->len);
        if (!rc)
            rc = steps_eval(e, b->steps, &set);
        for (size_t i = 0; i < set.len; i++)
            *vec_push(out) = set.p[i];
        vec_done(&set);
        if (rc)
            return rc;
    }
    return 0;
}

/* A value as an operand; false when its type does not compare. */
static bool operand_of(jval v, struct operand *ret)
{
    *ret = (struct operand){0};
    switch (jtype(v)) {
    case J_STRING:
        ret->kind = SIDE_STR;
        ret->s = jstr(v);
        return true;
    case J_TRUE:
    case J_FALSE:
        ret->kind = SIDE_BOOL;
        ret->i = jbool(v, false);
        return true;
    case J_INT:
    case J_REAL:
        ret->kind = jint_get(v, &ret->i) ? SIDE_INT : SIDE_REAL;
        ret->d = jreal(v, 0);
        return true;
    default:
        return false;
    }
}

/* Resolves a side for one element. *found is false when its path leads nowhere. */
static int side_eval(struct eval *e, const struct operand *side, jval element, struct operand *ret,
                     bool *found)
{
    *ret = *side;
    *found = true;
    if (side->kind != SIDE_PATH)
        return 0;
    jval_vec set = {0};
    *vec_push(&set) = element;
    int rc = steps_eval(e, side->steps, &set);
    *found = set.len > 0;
    if (!rc && set.len > 1)
        rc = err_set(e->err, ERR_INVALID, "can only compare one element at a time");
    if (!rc && set.len == 1 && !operand_of(set.p[0], ret))
        rc = err_set(e->err, ERR_INVALID, "invalid type for comparison");
    vec_done(&set);
    return rc;
}

static bool is_number(const struct operand *o)
{
    return o->kind == SIDE_INT || o->kind == SIDE_REAL;
}

static double operand_real(const struct operand *o)
{
    return o->kind == SIDE_INT ? (double)o->i : o->d;
}

/* Sign of a - b. */
static int operand_cmp(const struct operand *a, const struct operand *b)
{
    if (a->kind == SIDE_STR)
        return str_cmp(a->s, b->s);
    if (a->kind == SIDE_REAL || b->kind == SIDE_REAL) {
        double x = operand_real(a), y = operand_real(b);
        return (x > y) - (x < y);
    }
    return (a->i > b->i) - (a->i < b->i);
}

static bool op_holds(enum filter_op op, int cmp)
{
    switch (op) {
    case OP_EQ:
        return cmp == 0;
    case OP_NE:
        return cmp != 0;
    case OP_LT:
        return cmp < 0;
    case OP_LE:
        return cmp <= 0;
    case OP_GT:
        return cmp > 0;
    case OP_GE:
        return cmp >= 0;
    case OP_EXISTS:
        return true;
    }
    return false;
}

static int exists_eval(struct eval *e, const struct filter *f, jval element, bool *ret)
{
    if (f->left.kind != SIDE_PATH) {
        *ret = true;
        return 0;
    }
    jval_vec set = {0};
    *vec_push(&set) = element;
    int rc = steps_eval(e, f->left.steps, &set);
    *ret = rc == 0 && set.len > 0;
    vec_done(&set);
    return rc == ERR_TOO_LARGE ? rc : 0; /* any other error only means that it does not exist */
}

static int filter_holds(struct eval *e, const struct filter *f, jval element, bool *ret)
{
    struct operand left, right;
    bool found;
    if (f->op == OP_EXISTS)
        return exists_eval(e, f, element, ret);
    *ret = false;
    int rc = side_eval(e, &f->left, element, &left, &found);
    if (rc || !found)
        return rc;
    rc = side_eval(e, &f->right, element, &right, &found);
    if (rc || !found)
        return rc;
    if (left.kind != right.kind && !(is_number(&left) && is_number(&right)))
        return err_set(e->err, ERR_INVALID, "incompatible types for comparison");
    if (left.kind == SIDE_BOOL && f->op != OP_EQ && f->op != OP_NE)
        return err_set(e->err, ERR_INVALID, "invalid type for comparison");
    *ret = op_holds(f->op, operand_cmp(&left, &right));
    return 0;
}

static int eval_filter(struct eval *e, const struct step *s, jval v, jval_vec *out)
{
    if (jtype(v) != J_ARRAY)
        return err_set(e->err, ERR_INVALID, "value is not array or slice and cannot be filtered");
    int rc = visit(e, jlen(v));
    for (struct jiter it = jiter(v); !rc && jnext(&it);) {
        bool pass = false;
        rc = filter_holds(e, s->filter, it.value, &pass);
        if (pass)
            *vec_push(out) = it.value;
    }
    return rc;
}

static int eval_field(struct eval *e, const struct step *s, jval v, jval_vec *out)
{
    jval found = jget(v, s->name);
    if (!j_is_absent(found))
        *vec_push(out) = found;
    return visit(e, 1 + jlen(v) / 8);
}

static int step_eval(struct eval *e, const struct step *s, const jval_vec *in, jval_vec *out)
{
    if (s->kind == STEP_UNION)
        return eval_union(e, s, in, out);
    int rc = 0;
    for (size_t i = 0; !rc && i < in->len; i++) {
        jval v = in->p[i];
        switch (s->kind) {
        case STEP_FIELD:
            rc = eval_field(e, s, v, out);
            break;
        case STEP_WILDCARD:
            rc = eval_children(e, v, out);
            break;
        case STEP_RECURSE:
            rc = eval_recurse(e, v, out);
            break;
        case STEP_SLICE:
            rc = eval_slice(e, s, v, out);
            break;
        case STEP_FILTER:
            rc = eval_filter(e, s, v, out);
            break;
        case STEP_UNION:
            break;
        }
    }
    return rc;
}

/* ---- one path ---- */

struct jsonpath *jsonpath_compile(str path, struct err *err)
{
    struct jsonpath *jp = xnew(struct jsonpath);
    str in = str_trim(path);
    if (in.len >= 2 && in.p[0] == '{' && in.p[in.len - 1] == '}')
        in = str_trim(str_sub(in, 1, in.len - 1));
    struct parser p = {.arena = &jp->arena, .in = in, .err = err};
    int rc = in.len > PATH_MAX_BYTES ? fail(&p, "expression is too long") : 0;
    if (!rc && in.len && is_name_char(in.p[0])) { /* "spec.replicas" without the dot */
        p.in = arena_printf(&jp->arena, ".%.*s", STR_ARG(in));
    }
    if (!rc)
        rc = parse_path(&p, &jp->steps);
    if (!rc && p.at < p.in.len)
        rc = fail(&p, "unrecognized character");
    if (!rc)
        return jp;
    jsonpath_free(jp);
    return NULL;
}

void jsonpath_free(struct jsonpath *p)
{
    if (!p)
        return;
    arena_done(&p->arena);
    free(p);
}

void jsonpath_eval(const struct jsonpath *p, jval root, jval_vec *ret_matches)
{
    struct eval e = eval_of(root, NULL);
    jval_vec set = {0};
    if (!j_is_absent(root))
        *vec_push(&set) = root;
    if (steps_eval(&e, p->steps, &set) == 0)
        for (size_t i = 0; i < set.len; i++)
            *vec_push(ret_matches) = set.p[i];
    vec_done(&set);
}

/* ---- templates ---- */

typedef VEC(struct piece) piece_vec;

static void literal_text(struct parser *p, const struct operand *o, str *ret)
{
    if (o->kind == SIDE_STR)
        *ret = o->s;
    else if (o->kind == SIDE_BOOL)
        *ret = o->i ? STR("true") : STR("false");
    else if (o->kind == SIDE_INT)
        *ret = arena_printf(p->arena, "%lld", (long long)o->i);
    else
        *ret = arena_printf(p->arena, "%g", o->d);
}

/* After '{': range, end, a literal or a path, up to '}'. */
static int parse_action(struct parser *p, struct piece *ret)
{
    *ret = (struct piece){.kind = PIECE_PATH};
    skip_spaces(p);
    if (starts_literal(p)) {
        struct operand literal = {0};
        int rc = parse_literal(p, &literal);
        if (rc)
            return rc;
        ret->kind = PIECE_TEXT;
        literal_text(p, &literal, &ret->text);
    } else if (is_name_char(peek(p))) {
        str word = parse_name(p);
        if (!str_is(word, "range") && !str_is(word, "end"))
            return fail(p, "unrecognized identifier");
        ret->kind = str_is(word, "range") ? PIECE_RANGE : PIECE_END;
    }
    if (ret->kind == PIECE_PATH || ret->kind == PIECE_RANGE) {
        int rc = parse_path(p, &ret->steps);
        if (rc)
            return rc;
    }
    skip_spaces(p);
    if (accept(p, "}"))
        return 0;
    return fail(p, peek(p) && peek(p) != '\n' ? "unrecognized character in action"
                                              : "unclosed action");
}

/* Pairs each range with its end; one that nobody ends reaches to the end of the template. */
static int match_ranges(struct parser *p, piece_vec *pieces)
{
    size_t open[PATH_MAX_NESTING];
    size_t depth = 0;
    for (size_t i = 0; i < pieces->len; i++) {
        struct piece *piece = &pieces->p[i];
        if (piece->kind == PIECE_RANGE) {
            if (depth == PATH_MAX_NESTING)
                return fail(p, "ranges are nested too deep");
            piece->end = pieces->len;
            open[depth++] = i;
        } else if (piece->kind == PIECE_END) {
            if (depth == 0)
                return fail(p, "not in range, nothing to end");
            pieces->p[open[--depth]].end = i;
        }
    }
    return 0;
}

static int parse_template(struct parser *p, piece_vec *pieces)
{
    if (p->in.len > PATH_MAX_BYTES)
        return fail(p, "template is too long");
    while (p->at < p->in.len) {
        struct piece piece = {.kind = PIECE_TEXT};
        int rc = 0;
        if (accept(p, "{")) {
            rc = parse_action(p, &piece);
        } else {
            size_t start = p->at;
            while (peek(p) != '{' && p->at < p->in.len)
                p->at++;
            piece.text = str_sub(p->in, start, p->at);
        }
        if (rc)
            return rc;
        *vec_push(pieces) = piece;
    }
    return match_ranges(p, pieces);
}

static void print_match(jval v, struct strbuf *out)
{
    enum jtype type = jtype(v);
    if (type == J_STRING)
        strbuf_add_str(out, jstr(v));
    else
        jcanonical(v, false, out);
}

static int print_path(struct eval *e, const struct piece *piece, jval at, struct strbuf *out)
{
    jval_vec set = {0};
    *vec_push(&set) = at;
    int rc = steps_eval(e, piece->steps, &set);
    for (size_t i = 0; !rc && i < set.len && !out->overflow; i++) {
        if (i)
            strbuf_add_char(out, ' ');
        print_match(set.p[i], out);
    }
    vec_done(&set);
    return rc;
}

static int print_pieces(struct eval *e, const piece_vec *pieces, size_t from, size_t to, jval at,
                        struct strbuf *out);

static int print_range(struct eval *e, const piece_vec *pieces, size_t i, jval at,
                       struct strbuf *out)
{
    const struct piece *range = &pieces->p[i];
    jval_vec set = {0};
    *vec_push(&set) = at;
    int rc = steps_eval(e, range->steps, &set);
    for (size_t k = 0; !rc && k < set.len; k++)
        rc = print_pieces(e, pieces, i + 1, range->end, set.p[k], out);
    vec_done(&set);
    return rc;
}

static int print_pieces(struct eval *e, const piece_vec *pieces, size_t from, size_t to, jval at,
                        struct strbuf *out)
{
    for (size_t i = from; i < to; i++) {
        const struct piece *piece = &pieces->p[i];
        int rc = visit(e, 1);
        if (!rc && out->overflow)
            rc = err_set(e->err, ERR_TOO_LARGE, "jsonpath prints too much");
        if (!rc && piece->kind == PIECE_TEXT)
            strbuf_add_str(out, piece->text);
        else if (!rc && piece->kind == PIECE_PATH)
            rc = print_path(e, piece, at, out);
        else if (!rc && piece->kind == PIECE_RANGE)
            rc = print_range(e, pieces, i, at, out);
        if (rc)
            return rc;
        if (piece->kind == PIECE_RANGE)
            i = piece->end;
    }
    return 0;
}

int jsonpath_print(str template, jval root, struct strbuf *out, struct err *err)
{
    struct arena arena = ARENA_INIT;
    struct parser p = {.arena = &arena, .in = template, .err = err};
    piece_vec pieces = {0};
    struct eval e = eval_of(root, err);
    int rc = parse_template(&p, &pieces);
    if (!rc)
        rc = print_pieces(&e, &pieces, 0, pieces.len, root, out);
    if (!rc && out->overflow)
        rc = err_set(err, ERR_TOO_LARGE, "jsonpath prints too much");
    vec_done(&pieces);
    arena_done(&arena);
    return rc;
}
