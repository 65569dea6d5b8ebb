/*
 * The rules of a schema. The tree of rules has the shape of the schema without the branches that
 * have none, so an object is only looked at where there is something to say about it.
 */
#include "kube/cel/cel_rules.h"

#include "base/map.h"
#include "kube/cel/cel.h"
#include "kube/path.h"

/* Documents and schemas do not nest deeper. */
#define MAX_DEPTH 256
/* What the rules of one object may cost together: some 10 ms. */
#define OBJECT_COST 400000
/* Loops in loops without limits that are taken to be a mistake. */
#define LOOPS_MAX 4
#define MESSAGE_MAX 5120

enum { SELF, OLD_SELF, N_VARS };

struct rule {
    jval spec;
    const struct cel *rule;    /* NULL: it does not compile */
    const struct cel *message; /* NULL: none */
    str broken;                /* why it does not */
    bool uses_old, optional_old;
};

struct branch {
    str name;
    const struct cel_rules *rules;
};

struct cel_rules {
    jval schema;
    struct rule *rules;
    size_t n_rules;
    struct branch *members;
    size_t n_members;
    const struct cel_rules *each; /* item of a list or value of a map */
    bool uses_old;                /* here or below */
};

/* ---- compiling ---- */

struct compiler {
    struct arena *arena;
    struct field_errors *errors;
    unsigned depth;
};

/* Where a schema stands among others. */
struct spot {
    str path;
    str uncorrelated; /* path of the list whose items have no old values; empty: they have */
    unsigned loops;   /* lists and maps without limits around it */
    bool is_whole;
};

PRINTF_LIKE(7, 8)
static void complain(struct compiler *c, enum field_error_type type, const struct spot *at,
                     size_t i, const char *member, str value, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str why = arena_vprintf(c->arena, fmt, ap);
    va_end(ap);
    if (c->errors)
        field_error_add(c->errors, type,
                        arena_printf(c->arena, "%.*s.x-kubernetes-validations[%zu].%s",
                                     STR_ARG(at->path), i, member),
                        value, "%.*s", STR_ARG(why));
}

static str quoted(struct compiler *c, str s)
{
    struct strbuf b = STRBUF_INIT(SIZE_MAX / 2);
    json_quote(&b, s);
    str text = arena_str(c->arena, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

/* As Go prints the struct; what it holds by reference is left out. */
static str rule_text(struct compiler *c, jval spec)
{
    str rule = quoted(c, jstr(jgetc(spec, "rule")));
    str message = quoted(c, jstr(jgetc(spec, "message")));
    str expression = quoted(c, jstr(jgetc(spec, "messageExpression")));
    str path = quoted(c, jstr(jgetc(spec, "fieldPath")));
    return arena_printf(
        c->arena,
        "apiextensions.ValidationRule{Rule:%.*s, Message:%.*s, MessageExpression:%.*s, "
        "Reason:(*apiextensions.FieldValueErrorReason)(nil), FieldPath:%.*s, "
        "OptionalOldSelf:(*bool)(nil)}",
        STR_ARG(rule), STR_ARG(message), STR_ARG(expression), STR_ARG(path));
}

static bool has_line_break(str s)
{
    return str_find_char(s, '\n') >= 0 || str_find_char(s, '\r') >= 0;
}

static void check_message(struct compiler *c, const struct spot *at, size_t i, jval spec)
{
    str rule = jstr(jgetc(spec, "rule")), message = jstr(jgetc(spec, "message"));
    str expression = jstr(jgetc(spec, "messageExpression"));
    str text = quoted(c, message);
    if (message.len && !str_trim(message).len)
        complain(c, FIELD_ERR_INVALID, at, i, "message", text,
                 "message must be non-empty if specified");
    else if (has_line_break(message))
        complain(c, FIELD_ERR_INVALID, at, i, "message", text,
                 "message must not contain line breaks");
    else if (!message.len && has_line_break(str_trim(rule)))
        complain(c, FIELD_ERR_REQUIRED, at, i, "message", STR_NONE,
                 "message must be specified if rule contains line breaks");
    if (expression.len && !str_trim(expression).len)
        complain(c, FIELD_ERR_REQUIRED, at, i, "messageExpression", STR_NONE,
                 "messageExpression must be non-empty if specified");
}

static const struct {
    const char *reason;
    enum field_error_type type;
} reasons[] = {
    {"FieldValueInvalid", FIELD_ERR_INVALID},
    {"FieldValueForbidden", FIELD_ERR_FORBIDDEN},
    {"FieldValueRequired", FIELD_ERR_REQUIRED},
    {"FieldValueDuplicate", FIELD_ERR_DUPLICATE},
};

static void check_reason(struct compiler *c, const struct spot *at, size_t i, jval reason)
{
    bool known = !j_has(reason);
    for (size_t n = 0; n < ARRAY_LEN(reasons); n++)
        known |= str_is(jstr(reason), reasons[n].reason);
    if (!known)
        complain(c, FIELD_ERR_NOT_SUPPORTED, at, i, "reason", jtext(reason),
                 "supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", "
                 "\"FieldValueInvalid\", \"FieldValueRequired\"");
}

/* ".a.b" or ".a['b.c']" leads to a property; lists have no place in it. */
static bool leads_somewhere(jval schema, str path)
{
    while (path.len && j_has(schema)) {
        str key;
        if (str_starts(path, STR("['"))) {
            ptrdiff_t end = str_find(path, STR("']"));
            if (end < 0)
                return false;
            key = str_sub(path, 2, (size_t)end);
            path = str_sub(path, (size_t)end + 2, path.len);
        } else if (path.p[0] == '.') {
            size_t end = 1;
            while (end < path.len && path.p[end] != '.' && path.p[end] != '[')
                end++;
            key = str_sub(path, 1, end);
            path = str_sub(path, end, path.len);
        } else {
            return false;
        }
        jval inner = jget(jgetc(schema, "properties"), key);
        schema = j_has(inner) ? inner : jgetc(schema, "additionalProperties");
    }
    return jtype(schema) == J_OBJECT;
}

static void check_field_path(struct compiler *c, const struct spot *at, size_t i, jval schema,
                             jval path)
{
    str s = jstr(path), text = quoted(c, s);
    const char *why = !s.len                           ? NULL
                      : !str_trim(s).len               ? "must be non-empty if specified"
                      : has_line_break(s)              ? "must not contain line breaks"
                      : s.p[0] != '.' && s.p[0] != '[' ? "must start with a dot or an index"
                      : !leads_somewhere(schema, s)    ? "must be a valid path"
                                                       : NULL;
    if (why)
        complain(c, FIELD_ERR_INVALID, at, i, "fieldPath", text, "fieldPath %s", why);
}

static void check_old(struct compiler *c, const struct spot *at, size_t i, const struct rule *r)
{
    jval optional = jgetc(r->spec, "optionalOldSelf");
    if (j_has(optional) && !r->uses_old)
        complain(c, FIELD_ERR_INVALID, at, i, "optionalOldSelf", jtext(optional),
                 "may not be set if oldSelf is not used in rule");
    if (r->uses_old && at->uncorrelated.len)
        complain(c, FIELD_ERR_INVALID, at, i, "rule", quoted(c, jstr(jgetc(r->spec, "rule"))),
                 "oldSelf cannot be used on the uncorrelatable portion of the schema within %.*s",
                 STR_ARG(at->uncorrelated));
}

static void compile_rule(struct compiler *c, const struct spot *at, size_t i, jval schema,
                         struct rule *r)
{
    str text = jstr(jgetc(r->spec, "rule")), message = jstr(jgetc(r->spec, "messageExpression"));
    struct err err = ERR_INIT;
    r->optional_old = j_is_true(jgetc(r->spec, "optionalOldSelf"));
    const struct cel_decl vars[N_VARS] = {{"self", schema, at->is_whole, false},
                                          {"oldSelf", schema, at->is_whole, r->optional_old}};
    const struct cel_scope scope = {.vars = vars, .n_vars = N_VARS};
    if (!str_trim(text).len) {
        complain(c, FIELD_ERR_REQUIRED, at, i, "rule", STR_NONE, "rule is not specified");
        r->broken = STR("rule is not specified");
        return;
    }
    r->rule = cel_compile_in(c->arena, text, &scope, CEL_WANT_BOOL, &err);
    if (!r->rule) {
        r->broken = arena_printf(c->arena, "compilation failed: %s", err.message);
        complain(c, FIELD_ERR_INVALID, at, i, "rule", rule_text(c, r->spec), "%.*s",
                 STR_ARG(r->broken));
        return;
    }
    r->uses_old = cel_uses(r->rule, OLD_SELF);
    if (at->loops + cel_unbounded_loops(r->rule) > LOOPS_MAX)
        complain(c, FIELD_ERR_FORBIDDEN, at, i, "rule", STR_NONE,
                 "estimated rule cost exceeds budget by factor of more than 100x (try simplifying "
                 "the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, "
                 "and strings are declared)");
    if (str_trim(message).len) {
        r->message = cel_compile_in(c->arena, message, &scope, CEL_WANT_STRING, &err);
        if (!r->message)
            complain(c, FIELD_ERR_INVALID, at, i, "messageExpression", rule_text(c, r->spec),
                     "messageExpression compilation failed: %s", err.message);
    }
}

static void compile_rules(struct compiler *c, const struct spot *at, jval schema,
                          struct cel_rules *out)
{
    jval list = jgetc(schema, "x-kubernetes-validations");
    out->rules = arena_array(c->arena, struct rule, jlen(list) + 1);
    for (struct jiter it = jiter(list); jnext(&it);) {
        struct rule *r = &out->rules[out->n_rules++];
        r->spec = it.value;
        compile_rule(c, at, it.index, schema, r);
        check_message(c, at, it.index, it.value);
        check_reason(c, at, it.index, jgetc(it.value, "reason"));
        check_field_path(c, at, it.index, schema, jgetc(it.value, "fieldPath"));
        if (r->rule)
            check_old(c, at, it.index, r);
        out->uses_old |= r->uses_old;
    }
}

static const struct cel_rules *compile(struct compiler *c, const struct spot *at, jval schema);

static void compile_members(struct compiler *c, const struct spot *at, jval properties,
                            struct cel_rules *out)
{
    out->members = arena_array(c->arena, struct branch, jlen(properties) + 1);
    for (struct jiter it = jiter(properties); jnext(&it);) {
        struct spot below = *at;
        below.path =
            arena_printf(c->arena, "%.*s.properties[%.*s]", STR_ARG(at->path), STR_ARG(it.key));
        below.is_whole = j_is_true(jgetc(it.value, "x-kubernetes-embedded-resource"));
        const struct cel_rules *rules = compile(c, &below, it.value);
        if (!rules)
            continue;
        out->members[out->n_members++] = (struct branch){it.key, rules};
        out->uses_old |= rules->uses_old;
    }
}

static void compile_each(struct compiler *c, const struct spot *at, jval schema,
                         struct cel_rules *out)
{
    jval items = jgetc(schema, "items"), values = jgetc(schema, "additionalProperties");
    bool is_list = jtype(items) == J_OBJECT;
    jval inner = is_list ? items : values;
    struct spot below = *at;
    if (jtype(inner) != J_OBJECT)
        return;
    below.path = arena_printf(c->arena, "%.*s.%s", STR_ARG(at->path),
                              is_list ? "items" : "additionalProperties");
    below.is_whole = j_is_true(jgetc(inner, "x-kubernetes-embedded-resource"));
    below.loops += !j_has(jgetc(schema, "maxItems")) && !j_has(jgetc(schema, "maxProperties"));
    if (is_list && !str_is(jstr(jgetc(schema, "x-kubernetes-list-type")), "map") &&
        !below.uncorrelated.len)
        below.uncorrelated = at->path;
    out->each = compile(c, &below, inner);
    out->uses_old |= out->each && out->each->uses_old;
}

static const struct cel_rules *compile(struct compiler *c, const struct spot *at, jval schema)
{
    /* Most branches have none, and text is quicker to search than schemas are to walk. */
    if (c->depth >= MAX_DEPTH || !schema.doc ||
        str_find(jtext(schema), STR("x-kubernetes-validations")) < 0)
        return NULL;
    struct cel_rules *out = arena_new(c->arena, struct cel_rules);
    out->schema = schema;
    c->depth++;
    compile_rules(c, at, schema, out);
    compile_members(c, at, jgetc(schema, "properties"), out);
    compile_each(c, at, schema, out);
    c->depth--;
    return out->n_rules || out->n_members || out->each ? out : NULL;
}

const struct cel_rules *cel_rules_compile(struct arena *a, jval schema, str path,
                                          struct field_errors *errors)
{
    struct compiler c = {.arena = a, .errors = errors};
    struct spot root = {.path = path, .is_whole = true};
    return compile(&c, &root, schema);
}

/* ---- checking ---- */

struct checker {
    struct field_errors *errors;
    struct arena *arena; /* of one check */
    uint64_t cost;
    bool stopped;
};

static str path_text(struct checker *c, const struct path *at, str below)
{
    struct strbuf b = STRBUF_INIT(SIZE_MAX / 2);
    path_write(at, &b);
    strbuf_add_str(&b,
                   !b.len && str_starts(below, STR(".")) ? str_sub(below, 1, below.len) : below);
    str text = arena_str(c->errors->arena, b.len ? strbuf_str(&b) : STR("<nil>"));
    strbuf_done(&b);
    return text;
}

static str rule_name(const struct rule *r)
{
    str message = str_trim(jstr(jgetc(r->spec, "message")));
    return message.len ? message : str_trim(jstr(jgetc(r->spec, "rule")));
}

/* What the expression for the message says, if that can be a message. */
static str message_of(struct checker *c, const struct rule *r, struct cel_run *run)
{
    str text = STR_NONE, fixed = str_trim(jstr(jgetc(r->spec, "message")));
    if (r->message && cel_run_text(run, r->message, &text, NULL) == 0) {
        text = str_trim(text);
        if (text.len && text.len <= MESSAGE_MAX && !has_line_break(text))
            return text;
    }
    return fixed.len ? fixed
                     : arena_printf(c->arena, "failed rule: %.*s",
                                    STR_ARG(str_trim(jstr(jgetc(r->spec, "rule")))));
}

static void refuse(struct checker *c, const struct rule *r, const struct path *at, str message)
{
    str reason = jstr(jgetc(r->spec, "reason"));
    enum field_error_type type = FIELD_ERR_INVALID;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        if (str_is(reason, reasons[i].reason))
            type = reasons[i].type;
    if (type == FIELD_ERR_DUPLICATE) /* which has no words of its own */
        message = STR_NONE;
    field_error_add(c->errors, type, path_text(c, at, jstr(jgetc(r->spec, "fieldPath"))), STR_NONE,
                    "%.*s", STR_ARG(message));
}

static void fail(struct checker *c, const struct rule *r, const struct path *at, int code,
                 const struct err *err)
{
    str where = path_text(c, at, STR_NONE);
    if (code != ERR_TOO_LARGE) {
        field_error_add(c->errors, FIELD_ERR_INVALID, where, STR_NONE, "%s evaluating rule: %.*s",
                        err->message, STR_ARG(rule_name(r)));
        return;
    }
    c->stopped = true;
    field_error_add(c->errors, FIELD_ERR_INVALID, where, STR_NONE,
                    "validation failed due to running out of cost budget, no further validation "
                    "rules will be run");
}

static void check_rule(struct checker *c, const struct rule *r, jval v, jval old,
                       const struct path *at)
{
    struct err err = ERR_INIT;
    jval vars[N_VARS] = {v, old};
    struct cel_input in = {.vars = vars, .cost = &c->cost};
    bool holds = false;
    if (!r->rule) {
        field_error_add(c->errors, FIELD_ERR_INVALID, path_text(c, at, STR_NONE), STR_NONE,
                        "rule compile error: %.*s", STR_ARG(r->broken));
        return;
    }
    struct cel_run *run = cel_run_new(c->arena, &in);
    int code = cel_run_bool(run, r->rule, &holds, &err);
    if (code < 0)
        fail(c, r, at, code, &err);
    else if (!holds)
        refuse(c, r, at, message_of(c, r, run));
}

static void check_value(struct checker *c, const struct cel_rules *r, jval v, jval old, bool same,
                        const struct path *at);

static bool same_keys(jval keys, jval a, jval b)
{
    for (struct jiter key = jiter(keys); jnext(&key);)
        if (!jequal(jget(a, jstr(key.value)), jget(b, jstr(key.value))))
            return false;
    return true;
}

/* The old item with the same keys; absent: none. */
static jval old_item(jval schema, jval item, jval old)
{
    jval keys = jgetc(schema, "x-kubernetes-list-map-keys");
    if (!jlen(keys))
        return JVAL_ABSENT;
    for (struct jiter it = jiter(old); jnext(&it);)
        if (same_keys(keys, item, it.value))
            return it.value;
    return JVAL_ABSENT;
}

/* The items of an old list by their keys, once one was not where it is expected. */
struct twins {
    struct arena *arena;
    jval keys, old;
    struct map items; /* jval */
    bool is_indexed;
};

static str item_key(const struct twins *t, jval item)
{
    struct strbuf b = STRBUF_INIT(SIZE_MAX / 2);
    for (struct jiter key = jiter(t->keys); jnext(&key);) {
        jval v = jget(item, jstr(key.value));
        if (!j_is_absent(v))
            jcanonical(v, false, &b);
        strbuf_add_char(&b, '\0');
    }
    str text = arena_str(t->arena, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

static void twins_index(struct twins *t)
{
    jval *items = arena_array(t->arena, jval, jlen(t->old));
    t->is_indexed = true;
    for (struct jiter it = jiter(t->old); jnext(&it);) {
        str key = item_key(t, it.value);
        items[it.index] = it.value;
        if (!map_has(&t->items, key))
            map_put(&t->items, key, &items[it.index]);
    }
}

static jval twin_of(struct twins *t, jval item, jval guess)
{
    if (!jlen(t->keys) || (j_has(guess) && same_keys(t->keys, item, guess)))
        return jlen(t->keys) ? guess : JVAL_ABSENT;
    if (!t->is_indexed)
        twins_index(t);
    const jval *v = map_get(&t->items, item_key(t, item));
    return v ? *v : JVAL_ABSENT;
}

static void check_items(struct checker *c, const struct cel_rules *r, jval v, jval old, bool same,
                        const struct path *at)
{
    /* Of a list that did not change every item is its own old one. */
    struct jiter twin = jiter(old);
    struct twins twins = {c->arena, jgetc(r->schema, "x-kubernetes-list-map-keys"), old, MAP_INIT,
                          false};
    struct jlookup members = jlookup(old);
    for (struct jiter it = jiter(v); !c->stopped && jnext(&it);) {
        struct path step = {.up = at, .key = it.key, .index = it.index};
        jval guess = !it.is_object && jnext(&twin) ? twin.value : JVAL_ABSENT;
        jval before = it.is_object ? jlookup_get(&members, it.key)
                      : same       ? guess
                                   : twin_of(&twins, it.value, guess);
        check_value(c, r->each, it.value, before, same, &step);
    }
    jlookup_done(&members);
    map_done(&twins.items);
}

/* old of an item of a list without keys is only there to say that it is the same. */
static void check_value(struct checker *c, const struct cel_rules *r, jval v, jval old, bool same,
                        const struct path *at)
{
    if (!j_has(v) || c->stopped)
        return;
    same = same || (j_has(old) && jequal(v, old));
    if (same && !r->uses_old)
        return;
    for (size_t i = 0; i < r->n_rules && !c->stopped; i++) {
        const struct rule *rule = &r->rules[i];
        if (rule->uses_old ? j_has(old) || rule->optional_old : !same)
            check_rule(c, rule, v, old, at);
    }
    for (size_t i = 0; i < r->n_members; i++) {
        struct path step = {.up = at, .key = r->members[i].name};
        check_value(c, r->members[i].rules, jget(v, r->members[i].name),
                    jget(old, r->members[i].name), same, &step);
    }
    if (r->each && j_is_container(v))
        check_items(c, r, v, old, same, at);
}

void cel_rules_check(const struct cel_rules *r, jval object, jval old, struct field_errors *errors)
{
    struct arena a = ARENA_INIT;
    struct checker c = {.errors = errors, .arena = &a, .cost = OBJECT_COST};
    if (r)
        check_value(&c, r, object, old, false, NULL);
    arena_done(&a);
}

/* ---- ratcheting ---- */

/* Two documents, followed side by side along the path of an error. */
struct pair {
    jval schema, new, old;
};

/* The longest member that the rest of the path begins with. */
static bool step_member(struct pair *p, str *rest)
{
    struct pair best = {0};
    size_t taken = 0;
    for (struct jiter it = jiter(p->new); jnext(&it);) {
        bool fits =
            str_starts(*rest, it.key) && it.key.len >= taken &&
            (it.key.len == rest->len || rest->p[it.key.len] == '.' || rest->p[it.key.len] == '[');
        if (!fits)
            continue;
        jval property = jget(jgetc(p->schema, "properties"), it.key);
        taken = it.key.len;
        best = (struct pair){j_has(property) ? property : jgetc(p->schema, "additionalProperties"),
                             it.value, jget(p->old, it.key)};
    }
    *p = best;
    *rest = str_sub(*rest, taken, rest->len);
    return j_has(best.new) && j_has(best.old);
}

static bool step_item(struct pair *p, str *rest)
{
    uint64_t index;
    ptrdiff_t end = str_find_char(*rest, ']');
    if (end < 0 || !str_to_uint(str_sub(*rest, 1, (size_t)end), &index))
        return false;
    jval item = jat(p->new, (size_t)index);
    bool same = jequal(p->new, p->old);
    *p = (struct pair){jgetc(p->schema, "items"), item,
                       same ? jat(p->old, (size_t)index) : old_item(p->schema, item, p->old)};
    *rest = str_sub(*rest, (size_t)end + 1, rest->len);
    return j_has(p->new) && j_has(p->old);
}

static bool is_unchanged(jval schema, jval object, jval old, str field)
{
    struct pair p = {schema, object, old};
    while (field.len) {
        bool is_item = field.p[0] == '[';
        if (field.p[0] == '.')
            field = str_sub(field, 1, field.len);
        if (!field.len || !(is_item ? step_item(&p, &field) : step_member(&p, &field)))
            return false;
    }
    return jequal(p.new, p.old);
}

/* Limits of values: those of types and of what must be there always count. */
static bool may_ratchet(const struct field_error *e)
{
    bool combined = str_find(e->detail, STR("must validate")) >= 0 ||
                    str_find(e->detail, STR("must not validate")) >= 0;
    return e->field.len && !combined &&
           (e->type == FIELD_ERR_INVALID || e->type == FIELD_ERR_NOT_SUPPORTED ||
            e->type == FIELD_ERR_TOO_LONG || e->type == FIELD_ERR_TOO_MANY);
}

void cel_rules_ratchet(jval schema, jval object, jval old, struct field_errors *errors,
                       size_t first)
{
    size_t kept = first;
    for (size_t i = first; i < errors->items.len; i++) {
        struct field_error e = errors->items.p[i];
        if (!may_ratchet(&e) || !is_unchanged(schema, object, old, e.field))
            errors->items.p[kept++] = e;
    }
    errors->items.len = kept;
}
