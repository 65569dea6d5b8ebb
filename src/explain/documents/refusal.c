/* See refusal.h. */
#include "explain/documents/refusal.h"

#include "base/map.h"
#include "base/opt.h"
#include "base/quantity.h"
#include "base/timefmt.h"
#include "kube/path.h"
#include "json/yaml_where.h"

enum { MAX_LINES = 20, MAX_NAMES = 512, MAX_PATH = 4096, SHOWN_VALUE = 60 };

/* ---- the walk along the tables ---- */

struct finding {
    size_t line, order;
    str text;
};

struct walk {
    const struct manifest *manifest;
    const struct kind *kind;
    struct arena *arena;
    struct path *at;
    VEC(struct finding) found;
};

static str path_text(struct walk *w, const struct path *p)
{
    struct strbuf b = STRBUF_INIT(MAX_PATH);
    path_write(p, &b);
    str text = arena_str(w->arena, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

static void tell(struct walk *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void tell(struct walk *w, const char *fmt, ...)
{
    va_list ap;
    if (w->found.len >= MAX_LINES)
        return;
    va_start(ap, fmt);
    str text = arena_vprintf(w->arena, fmt, ap);
    va_end(ap);
    size_t line = manifest_line(w->manifest, path_text(w, w->at), STR_NONE);
    *vec_push(&w->found) = (struct finding){line, w->found.len, text};
}

/* ---- names ---- */

static const char *nearest_field(const struct type *t, str name)
{
    const char *names[MAX_NAMES + 1];
    size_t n = 0;
    for (; n < t->n_fields && n < MAX_NAMES; n++)
        names[n] = t->fields[n].name;
    names[n] = NULL;
    return opt_nearest(name, names);
}

/* A field one level down that has a field of this name: where it belongs. */
static const struct field *belongs_in(const struct type *t, str name)
{
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct field *f = &t->fields[i];
        if (f->shape == FIELD_ONE && f->type->tag == TYPE_OBJECT && type_field(f->type, name) &&
            strcmp(f->name, "status") != 0 && strcmp(f->name, "metadata") != 0)
            return f;
    }
    return NULL;
}

/* "spec.template.cliques[0]" -> "spec.template.cliques" */
static str without_indexes(struct arena *a, str path)
{
    struct strbuf b = STRBUF_INIT(MAX_PATH);
    bool inside = false;
    for (size_t i = 0; i < path.len; i++) {
        inside = inside || path.p[i] == '[';
        if (!inside)
            strbuf_add_char(&b, path.p[i]);
        if (path.p[i] == ']')
            inside = false;
    }
    str text = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

static void tell_unknown(struct walk *w, const struct type *t, str name)
{
    str parent = path_text(w, w->at->up);
    const char *near = nearest_field(t, name);
    const struct field *home = near ? NULL : belongs_in(t, name);
    str owner = parent.len ? parent : str_of(w->kind->kind);
    const char *dot = parent.len ? "." : "";
    if (near)
        tell(w, "%.*s has no field \"%.*s\"; did you mean \"%s\"?", STR_ARG(owner), STR_ARG(name),
             near);
    else if (home)
        tell(w, "%.*s has no field \"%.*s\"; it belongs in %.*s%s%s", STR_ARG(owner), STR_ARG(name),
             STR_ARG(parent), dot, home->name);
    else
        tell(w, "%.*s has no field \"%.*s\"; its fields: kubectl explain %s%s%.*s", STR_ARG(owner),
             STR_ARG(name), w->kind->singular, dot, STR_ARG(without_indexes(w->arena, parent)));
}

/* ---- values ---- */

/* A value as one would say it: the text "two", the number 3, true, a list, a mapping, nothing. */
static str say_value(struct walk *w, jval v)
{
    switch (jtype(v)) {
    case J_STRING:
        return arena_printf(w->arena, "the text \"%.*s%s\"",
                            (int)MIN(jstr(v).len, (size_t)SHOWN_VALUE), jstr(v).p ? jstr(v).p : "",
                            jstr(v).len > SHOWN_VALUE ? "..." : "");
    case J_INT:
    case J_REAL:
        return arena_printf(w->arena, "the number %.*s", STR_ARG(jtext(v)));
    case J_TRUE:
        return STR("true");
    case J_FALSE:
        return STR("false");
    case J_ARRAY:
        return STR("a list");
    case J_OBJECT:
        return STR("a mapping");
    default:
        return STR("nothing");
    }
}

static bool is_number_text(str s)
{
    int64_t n;
    return str_to_int(s, &n);
}

static void tell_type(struct walk *w, jval v, const char *wanted, const char *remedy)
{
    str path = path_text(w, w->at), got = say_value(w, v);
    tell(w, "%.*s must be %s, not %.*s%s", STR_ARG(path), wanted, STR_ARG(got), remedy);
}

static void check_string(struct walk *w, const struct field *f, const struct type *t, jval v)
{
    enum jtype got = jtype(v);
    usec delay;
    str path, s = jstr(v);
    if (got == J_INT || got == J_REAL || got == J_TRUE || got == J_FALSE) {
        str remedy = arena_printf(w->arena, "; write \"%.*s\"", STR_ARG(jtext(v)));
        tell_type(w, v, "text", remedy.p);
    } else if (got != J_STRING) {
        tell_type(w, v, "text", "");
    } else if (t->tag == TYPE_DURATION && !duration_parse_usec(s, &delay)) {
        path = path_text(w, w->at);
        tell(w, "%.*s must be a duration such as 90s, 5m or 4h, not \"%.*s\"", STR_ARG(path),
             STR_ARG(s));
    } else if (f && f->enums && s.len) {
        const char *choices[MAX_NAMES + 1];
        size_t n = 0;
        bool known = false;
        struct strbuf all = STRBUF_INIT(MAX_PATH);
        for (str rest = str_of(f->enums); rest.p && n < MAX_NAMES;) {
            str one = arena_str(w->arena, str_cut(&rest, '|'));
            known = known || str_eq(one, s);
            strbuf_printf(&all, "%s%.*s", n ? ", " : "", STR_ARG(one));
            choices[n++] = one.p;
        }
        choices[n] = NULL;
        const char *near = opt_nearest(s, choices);
        path = path_text(w, w->at);
        if (!known)
            tell(w, "%.*s is \"%.*s\", which is none of %.*s%s%s%s", STR_ARG(path), STR_ARG(s),
                 STR_ARG(strbuf_str(&all)), near ? "; did you mean " : "", near ? near : "",
                 near ? "?" : "");
        strbuf_done(&all);
    }
}

static void check_integer(struct walk *w, jval v)
{
    int64_t n;
    if (jint_get(v, &n))
        return;
    tell_type(w, v, "a whole number",
              jtype(v) == J_STRING && is_number_text(jstr(v)) ? "; take away the quotes" : "");
}

static void check_quantity(struct walk *w, jval v)
{
    enum jtype got = jtype(v);
    str text = got == J_STRING ? jstr(v) : jtext(v);
    str path = path_text(w, w->at);
    if (got != J_STRING && got != J_INT && got != J_REAL)
        tell_type(w, v, "a quantity such as 500m, 2 or 4Gi", "");
    else if (!quantity_is_valid(text))
        tell(w, "%.*s must be a quantity such as 500m, 2 or 4Gi, not \"%.*s\"", STR_ARG(path),
             STR_ARG(text));
}

static void walk_field(struct walk *w, const struct field *f, jval v);

static void walk_object(struct walk *w, const struct type *t, jval v)
{
    if (t->or_other && jtype(v) != J_OBJECT)
        return;
    if (jtype(v) != J_OBJECT) {
        tell_type(w, v, "a mapping (lines \"key: value\")", "");
        return;
    }
    for (struct jiter it = jiter(v); jnext(&it);) {
        struct path step = {.up = w->at, .key = it.key};
        const struct field *f = type_field(t, it.key);
        w->at = &step;
        if (f)
            walk_field(w, f, it.value);
        else if (!t->preserve_unknown)
            tell_unknown(w, t, it.key);
        w->at = (struct path *)step.up;
    }
}

/* One value; nothing is for rules to judge. */
static void walk_value(struct walk *w, const struct field *f, const struct type *t, jval v)
{
    if (!j_has(v))
        return;
    switch (t->tag) {
    case TYPE_OBJECT:
        walk_object(w, t, v);
        break;
    case TYPE_INT32:
    case TYPE_INT64:
        check_integer(w, v);
        break;
    case TYPE_BOOL:
        if (jtype(v) != J_TRUE && jtype(v) != J_FALSE)
            tell_type(w, v, "true or false", jtype(v) == J_STRING ? "; without quotes" : "");
        break;
    case TYPE_INT_OR_STRING:
        if (jtype(v) != J_INT && jtype(v) != J_STRING)
            tell_type(w, v, "a whole number or text such as 25%", "");
        break;
    case TYPE_QUANTITY:
        check_quantity(w, v);
        break;
    case TYPE_STRING:
    case TYPE_DURATION:
        check_string(w, f, t, v);
        break;
    case TYPE_NESTED:
        walk_field(w, t->fields, v);
        break;
    default:
        break;
    }
}

/* Lists whose items have names: "spec.template.cliques.name: "router" is there twice". */
static void check_twice(struct walk *w, const struct field *f, jval list)
{
    struct map seen = MAP_INIT;
    if (f->list != LIST_MAP || !f->keys || strcmp(f->keys, "name") != 0)
        return;
    for (struct jiter it = jiter(list); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        struct path index = {.up = w->at, .index = it.index},
                    key = {.up = &index, .key = STR("name")};
        struct path *here = w->at;
        if (!name.len || !map_put(&seen, name, w))
            continue;
        str path = path_text(w, here);
        w->at = &key;
        tell(w, "%.*s: there are two of the name \"%.*s\"", STR_ARG(path), STR_ARG(name));
        w->at = here;
    }
    map_done(&seen);
}

static void walk_field(struct walk *w, const struct field *f, jval v)
{
    if (!j_has(v) || f->shape == FIELD_ONE) {
        walk_value(w, f, f->type, v);
        return;
    }
    bool list = f->shape == FIELD_LIST;
    if (jtype(v) != (list ? J_ARRAY : J_OBJECT)) {
        tell_type(w, v,
                  list ? "a list (each item begins with \"- \")"
                       : "a mapping (lines \"key: value\")",
                  "");
        return;
    }
    for (struct jiter it = jiter(v); jnext(&it);) {
        struct path step = {.up = w->at, .index = it.index};
        if (!list)
            step.key = it.key;
        w->at = &step;
        walk_value(w, f, f->type, it.value);
        w->at = (struct path *)step.up;
    }
    check_twice(w, f, v);
}

static int by_line(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void refusal_by_tables(const struct manifest *m, const struct kind *k, struct arena *a,
                       str_vec *ret)
{
    struct walk w = {.manifest = m, .kind = k, .arena = a};
    if (kind_is(k, KIND_DEFINED))
        return;
    walk_object(&w, k->type, doc_root(m->doc));
    if (w.found.len > 1)
        qsort(w.found.p, w.found.len, sizeof(*w.found.p), by_line);
    for (size_t i = 0; i < w.found.len; i++)
        *vec_push(ret) = arena_printf(a, "%.*s%.*s", STR_ARG(manifest_at(m, w.found.p[i].line, a)),
                                      STR_ARG(w.found.p[i].text));
    vec_done(&w.found);
}

/* ---- what the server said ---- */

/* The texts of a field error begin with one of these, most of them with the value behind it. */
static const struct {
    const char *begins;
    bool has_value;
    const char *without_detail; /* after the value */
} shapes[] = {
    {"Invalid value: ", true, "is not valid"},     {"Unsupported value: ", true, "is not known"},
    {"Duplicate value: ", true, "is there twice"}, {"Not found: ", true, "is not there"},
    {"Required value", false, "is missing"},       {"Forbidden", false, "is not allowed"},
};

/* What Kubernetes says in two lines about a name. */
static const struct {
    const char *begins, *words;
} plainer[] = {
    {"a lowercase RFC 1123 subdomain must",
     "a name has lower case letters, digits, '-' and '.', and begins and ends with a letter or "
     "digit"},
    {"a lowercase RFC 1123 label must",
     "a name has lower case letters, digits and '-', and begins and ends with a letter or digit"},
    {"a DNS-1035 label must", "a name has lower case letters, digits and '-', begins with a letter "
                              "and ends with a letter or "
                              "digit"},
};

/* The length of the JSON value that a text begins with; 0: none. */
static size_t value_len(str text)
{
    size_t depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.p[i];
        if (quoted && c == '\\')
            i++;
        else if (c == '"')
            quoted = !quoted;
        else if (!quoted && (c == '[' || c == '{'))
            depth++;
        else if (!quoted && depth > 0 && (c == ']' || c == '}'))
            depth--;
        else if (!quoted && depth == 0 && c == ':')
            return i;
    }
    return text.len;
}

struct cause {
    str field, value, detail; /* value: as JSON, empty when there is none worth showing */
    str words;                /* for who has no detail */
    str first;                /* the first text in the value: where it stands */
};

static str first_string(str json)
{
    ptrdiff_t open = str_find_char(json, '"');
    if (open < 0)
        return STR_NONE;
    str rest = str_sub(json, (size_t)open + 1, json.len);
    ptrdiff_t close = str_find_char(rest, '"');
    return close < 0 ? STR_NONE : str_sub(rest, 0, (size_t)close);
}

static void read_cause(const struct status_cause *in, struct cause *ret)
{
    str text = in->message;
    *ret = (struct cause){.field = in->field, .detail = text};
    /* Some servers put the field before it. */
    if (in->field.len && str_starts(text, in->field) && text.len > in->field.len + 2)
        text = str_sub(text, in->field.len + 2, text.len);
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        str begins = str_of(shapes[i].begins);
        if (!str_starts(text, begins))
            continue;
        text = str_sub(text, begins.len, text.len);
        size_t n = shapes[i].has_value ? value_len(text) : 0;
        str value = str_sub(text, 0, n);
        text = str_sub(text, n, text.len);
        ret->words = str_of(shapes[i].without_detail);
        ret->first = first_string(value);
        bool scalar = value.len && value.len <= SHOWN_VALUE && value.p[0] != '[' &&
                      value.p[0] != '{' && !str_is(value, "null");
        ret->value = scalar ? value : STR_NONE;
        ret->detail = str_starts(text, STR(": ")) ? str_sub(text, 2, text.len) : STR_NONE;
        return;
    }
}

/* "spec.replicas is -1; it must be ...", without saying a value twice. */
static str say_cause(const struct cause *c, struct arena *a)
{
    str detail = c->detail, value = c->value;
    for (size_t i = 0; i < ARRAY_LEN(plainer); i++) {
        if (str_starts(detail, str_of(plainer[i].begins)))
            return arena_printf(a, "%.*s is %.*s; %s", STR_ARG(c->field), STR_ARG(value),
                                plainer[i].words);
    }
    /* "spec.x in body must be": the field is said already. */
    str in_body = arena_printf(a, "%.*s in body ", STR_ARG(c->field));
    if (str_starts(detail, in_body))
        detail = str_sub(detail, in_body.len, detail.len);
    if (value.len && detail.len && str_find(detail, value) >= 0)
        value = STR_NONE;
    if (!detail.len && value.len)
        return arena_printf(a, "%.*s: %.*s %.*s", STR_ARG(c->field), STR_ARG(value),
                            STR_ARG(c->words));
    if (!detail.len)
        return arena_printf(a, "%.*s %.*s", STR_ARG(c->field), STR_ARG(c->words));
    if (value.len && (str_starts(detail, STR("must ")) || str_starts(detail, STR("should "))))
        return arena_printf(a, "%.*s is %.*s; it %.*s", STR_ARG(c->field), STR_ARG(value),
                            STR_ARG(detail));
    if (str_is(c->words, "is missing"))
        return arena_printf(a, "%.*s is missing: %.*s", STR_ARG(c->field), STR_ARG(detail));
    return arena_printf(a, "%.*s: %.*s%s%.*s", STR_ARG(c->field), STR_ARG(value),
                        value.len ? ": " : "", STR_ARG(detail));
}

void refusal_lines(const struct manifest *m, const struct kind *k, const struct status *why,
                   struct arena *a, str_vec *ret)
{
    size_t before = ret->len;
    bool about_file = why->code == 400 || why->code == 422 || why->code == 500;
    if (about_file)
        refusal_by_tables(m, k, a, ret);
    if (ret->len > before)
        return;
    for (size_t i = 0; i < why->n_causes && i < MAX_LINES; i++) {
        struct cause c;
        read_cause(&why->causes[i], &c);
        if (!c.field.len || why->code != 422)
            continue;
        size_t line = manifest_line(m, c.field, c.first);
        *vec_push(ret) = arena_printf(a, "%.*s%.*s", STR_ARG(manifest_at(m, line, a)),
                                      STR_ARG(say_cause(&c, a)));
    }
    if (ret->len == before)
        *vec_push(ret) =
            arena_printf(a, "%.*s%.*s", STR_ARG(manifest_at(m, 0, a)), STR_ARG(why->message));
}
