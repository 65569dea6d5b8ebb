/*
 * Selectors. The label grammar is the one of k8s.io/apimachinery/pkg/labels (its lexer and its
 * error texts: kubectl prints them); field selectors are that package's simpler sibling, a list of
 * key, operator, value joined by commas.
 *
 * A selector is a list of requirements that must all hold. Field keys are resolved once against the
 * kind's table, so that matching only reads documents.
 */
#include "kube/selector.h"

#include "base/vec.h"

#define MAX_REQUIREMENTS 1000

enum sel_op { SEL_IN, SEL_NOT_IN, SEL_EXISTS, SEL_NOT_EXISTS, SEL_GREATER, SEL_LESS };

struct requirement {
    enum sel_op op;
    str key;
    str *values;
    size_t n_values;
    int64_t number;       /* GREATER, LESS */
    const char *path;     /* fields: where the value is */
    const char *fallback; /* fields: where else it may be, or NULL */
    str zero;             /* fields: what an absent value counts as */
};

struct selector {
    struct requirement *reqs;
    size_t n;
    bool nothing; /* matches no object at all */
};

typedef VEC(struct requirement) req_vec;

static struct selector *selector_make(struct arena *a, const req_vec *reqs)
{
    struct selector *s = arena_new(a, struct selector);

    s->n = reqs->len;
    s->reqs = arena_array(a, struct requirement, reqs->len);
    if (reqs->len)
        memcpy(s->reqs, reqs->p, reqs->len * sizeof(*s->reqs));
    return s;
}

bool selector_is_everything(const struct selector *s)
{
    return s->n == 0 && !s->nothing;
}

static bool has_value(const struct requirement *r, str value)
{
    for (size_t i = 0; i < r->n_values; i++)
        if (str_eq(r->values[i], value))
            return true;
    return false;
}

static bool requirement_holds(const struct requirement *r, bool present, str value)
{
    int64_t n;

    switch (r->op) {
    case SEL_IN:
        return present && has_value(r, value);
    case SEL_NOT_IN:
        return !present || !has_value(r, value);
    case SEL_EXISTS:
        return present;
    case SEL_NOT_EXISTS:
        return !present;
    case SEL_GREATER:
        return present && str_to_int(value, &n) && n > r->number;
    case SEL_LESS:
        return present && str_to_int(value, &n) && n < r->number;
    }
    return false;
}

/* ---- label grammar ---- */

enum token {
    TOK_END,
    TOK_ID,
    TOK_OPEN,
    TOK_CLOSE,
    TOK_COMMA,
    TOK_NOT,
    TOK_IN,
    TOK_NOT_IN,
    TOK_EQ,
    TOK_NE,
    TOK_GT,
    TOK_LT
};

struct lexer {
    str text;
    size_t at;
    enum token tok; /* the token under the eye */
    str lit;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_special(char c)
{
    return memchr("=!(),><", c, 7) != NULL;
}

static enum token special_token(str lit)
{
    static const struct {
        const char *lit;
        enum token tok;
    } table[] = {{"(", TOK_OPEN}, {")", TOK_CLOSE}, {",", TOK_COMMA}, {"!", TOK_NOT}, {"=", TOK_EQ},
                 {"==", TOK_EQ},  {"!=", TOK_NE},   {">", TOK_GT},    {"<", TOK_LT}};

    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_is(lit, table[i].lit))
            return table[i].tok;
    return TOK_END;
}

/* Moves to the next token. "in" and "notin" are operators only where one can stand; the caller
 * treats them as identifiers elsewhere. */
static void lex_next(struct lexer *l)
{
    str t = l->text;

    while (l->at < t.len && is_space(t.p[l->at]))
        l->at++;
    size_t from = l->at;
    if (from == t.len) {
        l->tok = TOK_END;
        l->lit = STR_NONE;
        return;
    }
    if (is_special(t.p[from])) {
        l->at++;
        /* Two-character operators are exactly == and !=. */
        if (l->at < t.len && t.p[l->at] == '=' && (t.p[from] == '=' || t.p[from] == '!'))
            l->at++;
        l->lit = str_sub(t, from, l->at);
        l->tok = special_token(l->lit);
        return;
    }
    while (l->at < t.len && !is_space(t.p[l->at]) && !is_special(t.p[l->at]))
        l->at++;
    l->lit = str_sub(t, from, l->at);
    l->tok = str_is(l->lit, "in") ? TOK_IN : str_is(l->lit, "notin") ? TOK_NOT_IN : TOK_ID;
}

static bool is_word(enum token t)
{
    return t == TOK_ID || t == TOK_IN || t == TOK_NOT_IN;
}

static int unexpected(const struct lexer *l, const char *expected, struct err *err)
{
    return err_set(err, ERR_INVALID, "unable to parse requirement: found '%.*s', expected: %s",
                   STR_ARG(l->lit), expected);
}

static int check_label_key(str key, struct err *err)
{
    if (str_is_qualified_name(key))
        return 0;
    return err_set(err, ERR_INVALID,
                   "unable to parse requirement: key: Invalid value: \"%.*s\": name part must "
                   "consist of alphanumeric characters, '-', '_' or '.', and must start and end "
                   "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
                   "regex used for validation is "
                   "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
                   STR_ARG(key));
}

static int check_label_value(str key, str value, struct err *err)
{
    if (str_is_label_value(value))
        return 0;
    return err_set(err, ERR_INVALID,
                   "unable to parse requirement: values[0][%.*s]: Invalid value: \"%.*s\": a valid "
                   "label must be an empty string or consist of alphanumeric characters, '-', '_' "
                   "or '.', and must start and end with an alphanumeric character (e.g. 'MyValue', "
                   " or 'my_value',  or '12345', regex used for validation is "
                   "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
                   STR_ARG(key), STR_ARG(value));
}

static void set_values(struct arena *a, struct requirement *r, const str *values, size_t n)
{
    r->values = arena_array(a, str, n);
    r->n_values = n;
    for (size_t i = 0; i < n; i++)
        r->values[i] = arena_str(a, values[i]);
}

/* "(a, b)"; "()" is the set with the empty value. The eye is on the parenthesis. */
static int parse_value_set(struct lexer *l, struct arena *a, struct requirement *r, struct err *err)
{
    if (l->tok != TOK_OPEN)
        return unexpected(l, "'('", err);
    VEC(str) values = {0};
    int rc = 0;
    lex_next(l);
    bool want_value = true; /* so far: at the start or after a comma */
    while (rc == 0 && l->tok != TOK_CLOSE) {
        if (is_word(l->tok) && want_value) {
            *vec_push(&values) = l->lit;
            rc = check_label_value(r->key, l->lit, err);
            want_value = false;
        } else if (l->tok == TOK_COMMA) {
            if (want_value)
                *vec_push(&values) = STR("");
            want_value = true;
        } else {
            rc = unexpected(l, want_value ? "',', ')' or identifier" : "',' or ')'", err);
        }
        lex_next(l);
    }
    if (want_value)
        *vec_push(&values) = STR("");
    if (rc == 0) {
        set_values(a, r, values.p, values.len);
        lex_next(l);
    }
    vec_done(&values);
    return rc;
}

/* One value, possibly empty: "a=" and "a=,b=c" are allowed. */
static int parse_one_value(struct lexer *l, struct arena *a, struct requirement *r, struct err *err)
{
    str value = STR("");

    if (is_word(l->tok)) {
        value = l->lit;
        lex_next(l);
    } else if (l->tok != TOK_END && l->tok != TOK_COMMA) {
        return unexpected(l, "identifier", err);
    }
    if (r->op == SEL_GREATER || r->op == SEL_LESS) {
        if (!str_to_int(value, &r->number))
            return err_set(err, ERR_INVALID,
                           "unable to parse requirement: values[0]: Invalid value: \"%.*s\": for "
                           "'Gt', 'Lt' operators, the value must be an integer",
                           STR_ARG(value));
        return 0;
    }
    set_values(a, r, &value, 1);
    return check_label_value(r->key, value, err);
}

static int parse_operator(struct lexer *l, struct requirement *r, struct err *err)
{
    switch (l->tok) {
    case TOK_IN:
    case TOK_EQ:
        r->op = SEL_IN;
        return 0;
    case TOK_NOT_IN:
    case TOK_NE:
        r->op = SEL_NOT_IN;
        return 0;
    case TOK_GT:
        r->op = SEL_GREATER;
        return 0;
    case TOK_LT:
        r->op = SEL_LESS;
        return 0;
    default:
        return unexpected(l, "in, notin, =, ==, !=, gt, lt", err);
    }
}

static int parse_requirement(struct lexer *l, struct arena *a, struct requirement *r,
                             struct err *err)
{
    bool negated = l->tok == TOK_NOT;

    if (negated)
        lex_next(l);
    if (!is_word(l->tok))
        return unexpected(l, "identifier", err);
    if (check_label_key(l->lit, err) < 0)
        return ERR_INVALID;
    r->key = arena_str(a, l->lit);
    lex_next(l);
    if (negated || l->tok == TOK_END || l->tok == TOK_COMMA) {
        r->op = negated ? SEL_NOT_EXISTS : SEL_EXISTS;
        return 0;
    }
    enum token op = l->tok;
    if (parse_operator(l, r, err) < 0)
        return ERR_INVALID;
    lex_next(l);
    return op == TOK_IN || op == TOK_NOT_IN ? parse_value_set(l, a, r, err)
                                            : parse_one_value(l, a, r, err);
}

static int parse_labels(struct lexer *l, struct arena *a, req_vec *reqs, struct err *err)
{
    lex_next(l);
    if (l->tok == TOK_END)
        return 0;
    for (;;) {
        if (reqs->len >= MAX_REQUIREMENTS)
            return err_set(err, ERR_TOO_LARGE, "a selector may have at most %d requirements",
                           MAX_REQUIREMENTS);
        struct requirement *r = vec_push(reqs);
        *r = (struct requirement){0};
        if (!is_word(l->tok) && l->tok != TOK_NOT)
            return unexpected(l, "!, identifier, or 'end of string'", err);
        if (parse_requirement(l, a, r, err) < 0)
            return ERR_INVALID;
        if (l->tok == TOK_END)
            return 0;
        if (l->tok != TOK_COMMA)
            return unexpected(l, "',' or 'end of string'", err);
        lex_next(l);
        if (!is_word(l->tok) && l->tok != TOK_NOT)
            return unexpected(l, "identifier after ','", err);
    }
}

struct selector *label_selector_parse(struct arena *a, str text, struct err *err)
{
    struct lexer l = {.text = text};
    req_vec reqs = {0};
    int rc = parse_labels(&l, a, &reqs, err);
    struct selector *s = rc == 0 ? selector_make(a, &reqs) : NULL;

    vec_done(&reqs);
    return s;
}

/* ---- label selectors in objects ---- */

static int expression_op(str word, enum sel_op *ret)
{
    static const struct {
        const char *word;
        enum sel_op op;
    } table[] = {{"In", SEL_IN},
                 {"NotIn", SEL_NOT_IN},
                 {"Exists", SEL_EXISTS},
                 {"DoesNotExist", SEL_NOT_EXISTS}};

    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (str_is(word, table[i].word)) {
            *ret = table[i].op;
            return 0;
        }
    }
    return ERR_INVALID;
}

static int add_expression(struct arena *a, jval v, req_vec *reqs, struct err *err)
{
    struct requirement r = {.key = arena_str(a, jstr(jgetc(v, "key")))};
    str word = jstr(jgetc(v, "operator"));
    jval values = jgetc(v, "values");

    if (expression_op(word, &r.op) < 0)
        return err_set(err, ERR_INVALID, "\"%.*s\" is not a valid label selector operator",
                       STR_ARG(word));
    if (!str_is_qualified_name(r.key))
        return err_set(err, ERR_INVALID, "\"%.*s\" is not a valid label key", STR_ARG(r.key));
    size_t n = jtype(values) == J_ARRAY ? jlen(values) : 0;
    if ((r.op == SEL_IN || r.op == SEL_NOT_IN) && n == 0)
        return err_set(
            err, ERR_INVALID,
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be "
            "empty");
    r.values = arena_array(a, str, n);
    for (struct jiter it = jiter(values); r.n_values < n && jnext(&it);)
        r.values[r.n_values++] = arena_str(a, jstr(it.value));
    *vec_push(reqs) = r;
    return 0;
}

static int add_all(struct arena *a, jval v, req_vec *reqs, struct err *err)
{
    jval labels = jgetc(v, "matchLabels"), expressions = jgetc(v, "matchExpressions");
    int rc = 0;

    if (jlen(labels) + jlen(expressions) > MAX_REQUIREMENTS)
        return err_set(err, ERR_TOO_LARGE, "a selector may have at most %d requirements",
                       MAX_REQUIREMENTS);
    if (jtype(labels) == J_OBJECT) {
        for (struct jiter it = jiter(labels); jnext(&it);) {
            struct requirement r = {.op = SEL_IN, .key = arena_str(a, it.key)};
            str value = jstr(it.value);
            set_values(a, &r, &value, 1);
            *vec_push(reqs) = r;
        }
    }
    if (jtype(expressions) == J_ARRAY)
        for (struct jiter it = jiter(expressions); rc == 0 && jnext(&it);)
            rc = add_expression(a, it.value, reqs, err);
    return rc;
}

struct selector *label_selector_from(struct arena *a, jval v, struct err *err)
{
    req_vec reqs = {0};

    if (!j_has(v)) {
        struct selector *none = selector_make(a, &reqs);
        none->nothing = true;
        return none;
    }
    int rc = add_all(a, v, &reqs, err);
    struct selector *s = rc == 0 ? selector_make(a, &reqs) : NULL;
    vec_done(&reqs);
    return s;
}

bool label_selector_match(const struct selector *s, jval labels)
{
    if (s->nothing)
        return false;
    for (size_t i = 0; i < s->n; i++) {
        jval v = jget(labels, s->reqs[i].key);
        if (!requirement_holds(&s->reqs[i], jtype(v) == J_STRING, jstr(v)))
            return false;
    }
    return true;
}

static void print_values(const struct requirement *r, struct strbuf *out)
{
    strbuf_add_cstr(out, " (");
    for (size_t i = 0; i < r->n_values; i++) {
        if (i)
            strbuf_add_char(out, ',');
        strbuf_add_str(out, r->values[i]);
    }
    strbuf_add_char(out, ')');
}

static void print_requirement(const struct requirement *r, struct strbuf *out)
{
    static const char *const words[] = {
        [SEL_IN] = "in", [SEL_NOT_IN] = "notin", [SEL_GREATER] = ">", [SEL_LESS] = "<"};

    if (r->op == SEL_NOT_EXISTS)
        strbuf_add_char(out, '!');
    strbuf_add_str(out, r->key);
    if (r->op == SEL_EXISTS || r->op == SEL_NOT_EXISTS)
        return;
    if (r->op == SEL_GREATER || r->op == SEL_LESS) {
        strbuf_printf(out, "%s%lld", words[r->op], (long long)r->number);
    } else if (r->n_values == 1) {
        strbuf_add_cstr(out, r->op == SEL_IN ? "=" : "!=");
        strbuf_add_str(out, r->values[0]);
    } else {
        strbuf_printf(out, " %s", words[r->op]);
        print_values(r, out);
    }
}

static int cmp_requirement(const void *a, const void *b)
{
    const struct requirement *const *x = a, *const *y = b;

    return str_cmp((*x)->key, (*y)->key);
}

void label_selector_print(const struct selector *s, struct strbuf *out)
{
    VEC(const struct requirement *) order = {0};

    for (size_t i = 0; i < s->n; i++)
        *vec_push(&order) = &s->reqs[i];
    vec_sort(&order, cmp_requirement);
    for (size_t i = 0; i < order.len; i++) {
        if (i)
            strbuf_add_char(out, ',');
        print_requirement(order.p[i], out);
    }
    vec_done(&order);
}

/* ---- field selectors ---- */

/* Keys whose value does not stand under the key itself. Events of both groups are stored in the
 * shape of core/v1. */
static const struct {
    const char *key, *path, *fallback;
} field_places[] = {
    {"source", "source.component", "reportingComponent"},
    {"reportingController", "reportingComponent", "reportingController"},
    {"regarding.kind", "involvedObject.kind", "regarding.kind"},
    {"regarding.namespace", "involvedObject.namespace", "regarding.namespace"},
    {"regarding.name", "involvedObject.name", "regarding.name"},
    {"regarding.uid", "involvedObject.uid", "regarding.uid"},
    {"regarding.apiVersion", "involvedObject.apiVersion", "regarding.apiVersion"},
    {"regarding.resourceVersion", "involvedObject.resourceVersion", "regarding.resourceVersion"},
    {"regarding.fieldPath", "involvedObject.fieldPath", "regarding.fieldPath"},
};

static bool key_is_supported(const struct kind *k, str key)
{
    if (str_is(key, "metadata.name") || str_is(key, "metadata.namespace"))
        return true;
    str rest = str_of(k->field_selectors);
    while (!str_is_empty(rest))
        if (str_eq(str_cut(&rest, ','), key))
            return true;
    return false;
}

/* What Go prints for the zero value of the field: absent booleans are "false". */
static str zero_of(const struct kind *k, str key)
{
    const struct type *t = k->type;

    while (t && !str_is_empty(key)) {
        const struct field *f = type_field(t, str_cut(&key, '.'));
        t = f && f->shape == FIELD_ONE ? f->type : NULL;
    }
    if (!t)
        return STR("");
    if (t->tag == TYPE_BOOL)
        return STR("false");
    return t->tag == TYPE_INT32 || t->tag == TYPE_INT64 ? STR("0") : STR("");
}

static int resolve_key(struct arena *a, const struct kind *k, str key, struct requirement *r,
                       struct err *err)
{
    if (!key_is_supported(k, key)) {
        if (!k->field_selectors && !kind_is(k, KIND_CUSTOM))
            return err_set(err, ERR_INVALID,
                           "\"%.*s\" is not a known field selector: only \"metadata.name\", "
                           "\"metadata.namespace\"",
                           STR_ARG(key));
        return err_set(err, ERR_INVALID, "field label not supported: %.*s", STR_ARG(key));
    }
    r->key = arena_str(a, key);
    r->path = r->key.p;
    r->zero = zero_of(k, key);
    for (size_t i = 0; i < ARRAY_LEN(field_places); i++) {
        if (str_is(key, field_places[i].key)) {
            r->path = field_places[i].path;
            r->fallback = field_places[i].fallback;
        }
    }
    return 0;
}

/* Removes the escapes \\ \, \= ; any other is an error. */
static int unescape_value(struct arena *a, str raw, str *ret, struct err *err)
{
    char *out = arena_alloc(a, raw.len + 1);
    size_t n = 0;

    for (size_t i = 0; i < raw.len; i++) {
        char c = raw.p[i];
        if (c == '\\') {
            if (++i == raw.len || !memchr("\\,=", raw.p[i], 3))
                return err_set(err, ERR_INVALID,
                               "invalid field selector: invalid escape sequence in %.*s",
                               STR_ARG(raw));
            c = raw.p[i];
        } else if (c == '=') {
            return err_set(err, ERR_INVALID,
                           "invalid field selector: unescaped character in value: =");
        }
        out[n++] = c;
    }
    *ret = str_n(out, n);
    return 0;
}

/* Cuts one term at the first comma that is not escaped. */
static str cut_term(str *rest)
{
    size_t i = 0;

    while (i < rest->len && rest->p[i] != ',')
        i += rest->p[i] == '\\' ? 2 : 1;
    i = MIN(i, rest->len);
    str term = str_sub(*rest, 0, i);
    *rest = str_sub(*rest, i + 1, rest->len);
    return term;
}

static int parse_term(struct arena *a, const struct kind *k, str text, str term,
                      struct requirement *r, struct err *err)
{
    ptrdiff_t eq = str_find_char(term, '=');
    ptrdiff_t ne = str_find(term, STR("!="));

    if (eq < 0)
        return err_set(err, ERR_INVALID, "invalid selector: '%.*s'; can't understand '%.*s'",
                       STR_ARG(text), STR_ARG(term));
    bool negated = ne >= 0 && ne < eq;
    size_t key_len = (size_t)(negated ? ne : eq);
    size_t value_at = negated ? key_len + 2 : key_len + 1;
    if (!negated && value_at < term.len && term.p[value_at] == '=')
        value_at++;
    str value;
    if (resolve_key(a, k, str_sub(term, 0, key_len), r, err) < 0 ||
        unescape_value(a, str_sub(term, value_at, term.len), &value, err) < 0)
        return ERR_INVALID;
    r->op = negated ? SEL_NOT_IN : SEL_IN;
    set_values(a, r, &value, 1);
    return 0;
}

struct selector *field_selector_parse(struct arena *a, const struct kind *k, str text,
                                      struct err *err)
{
    req_vec reqs = {0};
    str rest = text;
    int rc = 0;

    while (rc == 0 && !str_is_empty(rest)) {
        str term = cut_term(&rest);
        if (str_is_empty(term))
            continue;
        if (reqs.len >= MAX_REQUIREMENTS) {
            rc = err_set(err, ERR_TOO_LARGE, "a selector may have at most %d requirements",
                         MAX_REQUIREMENTS);
            break;
        }
        struct requirement *r = vec_push(&reqs);
        *r = (struct requirement){0};
        rc = parse_term(a, k, text, term, r, err);
    }
    struct selector *s = rc == 0 ? selector_make(a, &reqs) : NULL;
    vec_done(&reqs);
    return s;
}

static str scalar_text(jval v, str zero)
{
    switch (jtype(v)) {
    case J_STRING:
        return jstr(v);
    case J_TRUE:
    case J_FALSE:
    case J_INT:
    case J_REAL:
        return jtext(v);
    default:
        return zero;
    }
}

static str field_value(const struct requirement *r, const struct obj *o)
{
    if (str_is(r->key, "metadata.name"))
        return o->name;
    if (str_is(r->key, "metadata.namespace"))
        return o->ns;
    str v = scalar_text(jpath(obj_root(o), r->path), r->zero);
    if (str_is_empty(v) && r->fallback)
        v = scalar_text(jpath(obj_root(o), r->fallback), r->zero);
    return v;
}

bool field_selector_match(const struct selector *s, const struct obj *o)
{
    for (size_t i = 0; i < s->n; i++)
        if (!requirement_holds(&s->reqs[i], true, field_value(&s->reqs[i], o)))
            return false;
    return true;
}

str field_selector_name(const struct selector *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->reqs[i].op == SEL_IN && str_is(s->reqs[i].key, "metadata.name"))
            return s->reqs[i].values[0];
    return STR_NONE;
}

str field_selector_value(const struct selector *s, str key)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->reqs[i].op == SEL_IN && str_eq(s->reqs[i].key, key))
            return s->reqs[i].values[0];
    return STR_NONE;
}
