/* See query.h. */
#include "sim/query.h"

#include "base/opt.h"
#include "grove/gangs.h"
#include "grove/types.h"

const char *const query_keys[] = {"kind",      "name",   "namespace", "labels",   "fields",
                                  "condition", "reason", "message",   "deleting", NULL};

/* ---- parsing ---- */

static bool is_known(str key, const char *const *known)
{
    for (size_t i = 0; known && known[i]; i++) {
        if (str_is(key, known[i]))
            return true;
    }
    return false;
}

int keys_check(jval map, const char *const *known, const char *const *more, const char *what,
               struct err *err)
{
    if (jtype(map) != J_OBJECT)
        return err_set(err, ERR_INVALID, "%s must be a map, not %.*s", what, STR_ARG(jtext(map)));
    for (struct jiter it = jiter(map); jnext(&it);) {
        if (is_known(it.key, known) || is_known(it.key, more))
            continue;
        const char *near = opt_nearest(it.key, known);
        return err_set(err, ERR_INVALID, "%s does not know \"%.*s\"%s%s%s", what, STR_ARG(it.key),
                       near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
    }
    return 0;
}

int range_parse(jval v, usec *ret_min, usec *ret_max, struct err *err)
{
    str rest = jstr(v), from = rest;
    ptrdiff_t dots = str_find(rest, STR(".."));
    if (dots >= 0) {
        from = str_sub(rest, 0, (size_t)dots);
        rest = str_sub(rest, (size_t)dots + 2, rest.len);
    }
    if (!duration_parse_usec(from, ret_min) || !duration_parse_usec(rest, ret_max) ||
        *ret_min < 0 || *ret_max < *ret_min)
        return err_set(err, ERR_INVALID, "%.*s is no duration (\"5s\") or range (\"0s..5s\")",
                       STR_ARG(jtext(v)));
    return 0;
}

static int find_kind(str word, struct query *ret, struct err *err)
{
    ret->kind = kind_by_alias(word);
    if (!ret->kind)
        return err_set(err, ERR_INVALID, "unknown kind \"%.*s\"", STR_ARG(word));
    ret->ns = kind_is(ret->kind, KIND_NAMESPACED) ? STR("default") : STR_NONE;
    return 0;
}

static void parse_condition(str text, struct query *ret)
{
    ret->negated = str_starts(text, STR("!"));
    str rest = str_sub(text, ret->negated, text.len);
    ret->condition = str_cut(&rest, '=');
    ret->status = rest.p ? rest : STR("True");
}

static void parse_fields(struct arena *a, jval fields, struct query *ret)
{
    ret->fields = arena_array(a, struct query_field, jlen(fields) + 1);
    for (struct jiter it = jiter(fields); jnext(&it);)
        ret->fields[ret->n_fields++] = (struct query_field){arena_str(a, it.key), it.value};
}

/* "y" and "off" are not what they look like in YAML. */
static int check_strings(jval v, struct err *err)
{
    static const char *const keys[] = {"kind",      "name",   "namespace", "labels",
                                       "condition", "reason", "message"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        jval member = jget(v, str_of(keys[i]));
        if (j_has(member) && jtype(member) != J_STRING)
            return err_set(err, ERR_INVALID, "%s: %.*s is no string", keys[i],
                           STR_ARG(jtext(member)));
    }
    return 0;
}

int query_parse(struct arena *a, jval v, struct query *ret, struct err *err)
{
    *ret = (struct query){0};
    if (check_strings(v, err))
        return err->code;
    if (find_kind(jstr(jgetc(v, "kind")), ret, err))
        return err->code;
    str ns = jstr(jgetc(v, "namespace"));
    if (!str_is_empty(ns))
        ret->ns = str_is(ns, "*") ? STR_NONE : ns;
    ret->name = jstr(jgetc(v, "name"));
    if (j_has(jgetc(v, "labels"))) {
        ret->labels = label_selector_parse(a, jstr(jgetc(v, "labels")), err);
        if (!ret->labels)
            return err->code;
    }
    parse_fields(a, jgetc(v, "fields"), ret);
    if (j_has(jgetc(v, "condition")))
        parse_condition(jstr(jgetc(v, "condition")), ret);
    ret->reason = jstr(jgetc(v, "reason"));
    ret->message = jstr(jgetc(v, "message"));
    if (str_is_empty(ret->condition) && (ret->reason.len || ret->message.len))
        return err_set(err, ERR_INVALID, "reason and message are those of a condition: name it");
    ret->deleting_given = j_has(jgetc(v, "deleting"));
    ret->deleting = j_is_true(jgetc(v, "deleting"));
    return 0;
}

int query_parse_ref(struct arena *a, str ref, struct query *ret, struct err *err)
{
    str rest = ref, kind = str_cut(&rest, '/'), first = str_cut(&rest, '/');
    (void)a;
    *ret = (struct query){0};
    if (str_is_empty(kind) || str_is_empty(first))
        return err_set(err, ERR_INVALID, "\"%.*s\" is no object (\"pcs/name\")", STR_ARG(ref));
    if (find_kind(kind, ret, err))
        return err->code;
    ret->name = rest.p ? rest : first;
    if (rest.p)
        ret->ns = first;
    return 0;
}

/* ---- matching ---- */

jval query_value(const struct obj *o, str path)
{
    if (str_starts(path, STR("/")))
        return jpointer(obj_root(o), path);
    jval v = obj_root(o);
    while (path.p && !j_is_absent(v))
        v = jget(v, str_cut(&path, '.'));
    return v;
}

static bool value_matches(jval v, const struct query_field *f)
{
    str want = jstr(f->want);
    if (j_is_null(f->want))
        return !j_has(v);
    if (str_starts(want, STR("~")))
        return str_find(jstr(v), str_sub(want, 1, want.len)) >= 0;
    return !j_is_absent(v) && jequal(v, f->want);
}

/* "/gangs/N/...": the gangs that a map means. */
static bool field_matches(const struct obj *o, const struct query_field *f)
{
    static const str gangs = {"/gangs", 6};
    if (o->kind != &kind_pod_gang_map || !str_starts(f->path, gangs))
        return value_matches(query_value(o, f->path), f);
    struct arena a = ARENA_INIT;
    str rest = str_sub(f->path, gangs.len, f->path.len);
    bool matches = value_matches(jpointer(gang_list(&a, o), rest), f);
    arena_done(&a);
    return matches;
}

static bool condition_matches(const struct query *q, const struct obj *o)
{
    jval c = condition_find(jgetc(obj_status(o), "conditions"), q->condition);
    if (!str_is_empty(q->reason) && !str_eq(jstr(jgetc(c, "reason")), q->reason))
        return false;
    if (!str_is_empty(q->message) && str_find(jstr(jgetc(c, "message")), q->message) < 0)
        return false;
    return str_eq(jstr(jgetc(c, "status")), q->status) != q->negated;
}

bool query_matches(const struct query *q, const struct obj *o)
{
    if (o->kind != q->kind || (!str_is_empty(q->ns) && !str_eq(o->ns, q->ns)) ||
        (!str_is_empty(q->name) && !str_eq(o->name, q->name)) ||
        (q->deleting_given && o->deleting != q->deleting) ||
        (q->labels && !label_selector_match(q->labels, o->labels)))
        return false;
    for (size_t i = 0; i < q->n_fields; i++) {
        if (!field_matches(o, &q->fields[i]))
            return false;
    }
    return str_is_empty(q->condition) || condition_matches(q, o);
}

size_t query_count(const struct query *q, const struct store *s)
{
    size_t n = 0;
    struct obj *o;
    struct store_iter it = store_range(s, q->kind, q->ns, STR_NONE, STR_NONE);
    while ((o = store_next(&it)))
        n += query_matches(q, o);
    return n;
}

void query_list(const struct query *q, const struct store *s, obj_vec *ret)
{
    struct obj *o;
    struct store_iter it = store_range(s, q->kind, q->ns, STR_NONE, STR_NONE);
    while ((o = store_next(&it))) {
        if (query_matches(q, o))
            *vec_push(ret) = obj_ref(o);
    }
}

void obj_vec_done(obj_vec *v)
{
    for (size_t i = 0; i < v->len; i++)
        obj_unref(v->p[i]);
    vec_done(v);
}
