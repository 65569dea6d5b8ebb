/*
 * Objects as rows: what kubectl prints. Which function or path fills a column is settled once per
 * kind (a plan) and kept, so that a row costs what its cells cost and no search.
 *
 * Built-in kinds and custom resources differ where the object says nothing: a built-in kind shows
 * the zero of the column's type and its dates as they are, a custom resource null and ages.
 */
#include "apiserver/front/table.h"

#include "json/jsonpath.h"

/* ---- columns ---- */

static const struct column custom_columns[] = {
    {"Name", "string", "name", ".metadata.name", 0, "Unique within its namespace."},
    {"Age", "date", "", ".metadata.creationTimestamp", 0, "Time since it was created."},
};
static const struct column builtin_columns[] = {
    {"Name", "string", "name", ".metadata.name", 0, "Unique within its namespace."},
    {"Created At", "date", "", ".metadata.creationTimestamp", 0, "When it was created."},
};

static const struct column *columns_of(const struct kind *k, size_t *ret_n)
{
    *ret_n = k->n_columns ? k->n_columns : ARRAY_LEN(custom_columns);
    if (k->n_columns)
        return k->columns;
    return kind_is(k, KIND_CUSTOM) ? custom_columns : builtin_columns;
}

void table_columns(struct jw *w, const struct kind *k)
{
    size_t n;
    const struct column *c = columns_of(k, &n);
    jw_put_array(w, "columnDefinitions");
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_put_cstr(w, "name", c[i].name);
        jw_put_cstr(w, "type", c[i].type);
        jw_put_cstr(w, "format", c[i].format ? c[i].format : "");
        jw_key(w, STR("description"));
        if (c[i].doc)
            jw_str(w, str_of(c[i].doc));
        else
            jw_printf(w, "Custom resource definition column (in JSONPath format): %s", c[i].path);
        jw_put_int(w, "priority", c[i].priority);
        jw_end(w);
    }
    jw_end(w);
}

/* ---- plans ---- */

enum cell_type { CELL_TEXT, CELL_NUMBER, CELL_BOOLEAN, CELL_DATE };
enum cell_from { FROM_ROOT, FROM_METADATA, FROM_SPEC, FROM_STATUS };

struct cell_plan {
    const struct cell *computed;
    struct jsonpath *path; /* a path that is more than plain members */
    enum cell_type type;
    /* Plain members, below a part of the object that is at hand already. */
    enum cell_from from;
    const char *members; /* "nodeInfo.osImage" */
    str member;          /* when it is just one */
};

struct plan {
    const struct kind *kind;
    uint64_t kinds; /* version of the registry it was made for; 0: tables of the program */
    size_t n;
    struct cell_plan cells[];
};

static enum cell_type cell_type_of(const char *type)
{
    if (strcmp(type, "date") == 0)
        return CELL_DATE;
    if (strcmp(type, "boolean") == 0)
        return CELL_BOOLEAN;
    return strcmp(type, "integer") == 0 || strcmp(type, "number") == 0 ? CELL_NUMBER : CELL_TEXT;
}

static void plan_members(struct cell_plan *p, const char *path)
{
    static const struct {
        const char *prefix;
        enum cell_from from;
    } parts[] = {{"metadata.", FROM_METADATA}, {"spec.", FROM_SPEC}, {"status.", FROM_STATUS}};
    p->members = path;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (str_starts(str_of(path), str_of(parts[i].prefix))) {
            p->from = parts[i].from;
            p->members = path + strlen(parts[i].prefix);
        }
    }
    if (!strchr(p->members, '.'))
        p->member = str_of(p->members);
}

static void plan_cell(struct cell_plan *p, const struct kind *k, const struct column *c)
{
    p->type = cell_type_of(c->type);
    if (!kind_is(k, KIND_CUSTOM))
        p->computed = table_cell(k, c->name);
    if (p->computed && p->computed->fn)
        return;
    if (p->computed) {
        plan_members(p, p->computed->path);
    } else if (!c->path) {
        /* All other columns without a path are computed; a test sees to it. */
        plan_members(p, strcmp(c->name, "Age") == 0 ? "metadata.creationTimestamp" : "-");
        p->type = CELL_DATE;
    } else if (c->path[0] == '.' && !strpbrk(c->path, "[]*'\"\\{}") && !strstr(c->path, "..")) {
        plan_members(p, c->path + 1);
    } else {
        p->path = jsonpath_compile(str_of(c->path), NULL);
        if (!p->path) /* of a user's, stored by somebody who knows more of them than we do */
            plan_members(p, "-");
    }
}

static void plan_free(struct plan *p)
{
    for (size_t i = 0; p && i < p->n; i++)
        jsonpath_free(p->cells[i].path);
    free(p);
}

/* Plans live as long as the tables they are made from; a kind that users define may have others
 * when the registry has changed. */
static const struct plan *plan_of(const struct kind *k)
{
    static VEC(struct plan *) plans;
    while (plans.len <= kind_id(k))
        *vec_push(&plans) = NULL;
    struct plan *p = plans.p[kind_id(k)];
    uint64_t kinds = kind_is(k, KIND_DEFINED) ? kinds_version() : 0;
    if (p && p->kind == k && p->kinds == kinds)
        return p;
    plan_free(p);
    size_t n;
    const struct column *c = columns_of(k, &n);
    p = xcalloc(1, sizeof(*p) + n * sizeof(p->cells[0]));
    p->kind = k;
    p->kinds = kinds;
    p->n = n;
    for (size_t i = 0; i < n; i++)
        plan_cell(&p->cells[i], k, &c[i]);
    plans.p[kind_id(k)] = p;
    return p;
}

/* ---- values ---- */

void row_put_text(struct row *r, const char *otherwise)
{
    jw_str(r->w, r->text.len ? strbuf_str(&r->text) : str_of(otherwise));
}

void row_put_age(struct row *r, usec since)
{
    strbuf_reset(&r->text);
    if (since != 0)
        time_format_age(r->now - since, &r->text);
    row_put_text(r, "<unknown>");
}

static void put_nothing(struct row *r, enum cell_type type)
{
    if (kind_is(r->o->kind, KIND_CUSTOM))
        jw_null(r->w);
    else if (type == CELL_NUMBER)
        jw_int(r->w, 0);
    else if (type == CELL_BOOLEAN)
        jw_bool(r->w, false);
    else
        jw_str(r->w, type == CELL_DATE ? STR("<unknown>") : STR(""));
}

static void put_date(struct row *r, const struct column *c, jval v)
{
    usec t = 0;
    if (!time_parse_rfc3339(jstr(v), &t))
        jw_str(r->w, STR("<invalid>"));
    else if (c->path && !kind_is(r->o->kind, KIND_CUSTOM))
        jw_str(r->w, jstr(v));
    else
        row_put_age(r, t);
}

static void put_value(struct row *r, const struct column *c, enum cell_type type, jval v)
{
    enum jtype is = jtype(v);
    if (!j_has(v))
        put_nothing(r, type);
    else if (type == CELL_DATE)
        put_date(r, c, v);
    else if (type == CELL_TEXT)
        jw_str(r->w, is == J_STRING ? jstr(v) : jtext(v));
    else if (type == CELL_BOOLEAN ? is == J_TRUE || is == J_FALSE : is == J_INT || is == J_REAL)
        jw_val(r->w, v);
    else
        put_nothing(r, type);
}

static void put_matches(struct row *r, const struct column *c, const struct cell_plan *p)
{
    jval_vec found = {0};
    jsonpath_eval(p->path, obj_root(r->o), &found);
    if (found.len <= 1) {
        put_value(r, c, p->type, found.len ? found.p[0] : JVAL_ABSENT);
    } else {
        strbuf_reset(&r->text);
        for (size_t i = 0; i < found.len; i++) {
            bool is_text = jtype(found.p[i]) == J_STRING;
            strbuf_printf(&r->text, "%s%.*s", i ? "," : "",
                          STR_ARG(is_text ? jstr(found.p[i]) : jtext(found.p[i])));
        }
        row_put_text(r, "");
    }
    vec_done(&found);
}

static void put_member(struct row *r, const struct cell *c, jval v)
{
    str s = jtype(v) == J_STRING ? jstr(v) : j_has(v) ? jtext(v) : STR_NONE;
    if (!c->absent)
        jw_int(r->w, jint(v, 0));
    else
        jw_str(r->w, str_is_empty(s) ? str_of(c->absent) : s);
}

static jval member_of(const struct row *r, const struct cell_plan *p)
{
    jval from = p->from == FROM_METADATA ? r->o->meta
                : p->from == FROM_SPEC   ? r->spec
                : p->from == FROM_STATUS ? r->status
                                         : obj_root(r->o);
    return p->member.len ? jget(from, p->member) : jpath(from, p->members);
}

static void put_cells(struct row *r)
{
    const struct plan *plan = plan_of(r->o->kind);
    size_t n;
    const struct column *c = columns_of(r->o->kind, &n);
    jw_put_array(r->w, "cells");
    for (size_t i = 0; i < plan->n; i++) {
        const struct cell_plan *p = &plan->cells[i];
        strbuf_reset(&r->text);
        if (p->computed && p->computed->fn)
            p->computed->fn(r);
        else if (p->computed)
            put_member(r, p->computed, member_of(r, p));
        else if (p->path)
            put_matches(r, &c[i], p);
        else
            put_value(r, &c[i], p->type, member_of(r, p));
    }
    jw_end(r->w);
}

void table_row(struct jw *w, const struct obj *o, enum table_include include, usec now)
{
    struct row r = {.w = w, .o = o, .now = now, .spec = obj_spec(o), .status = obj_status(o)};
    strbuf_init(&r.text, 64 << 10);
    strbuf_init(&r.pod.reason, 64 << 10);
    jw_object(w);
    put_cells(&r);
    if (include == TABLE_INCLUDE_OBJECT) {
        jw_put(w, "object", obj_root(o));
    } else if (include == TABLE_INCLUDE_METADATA) {
        jw_put_object(w, "object");
        jw_put_cstr(w, "kind", "PartialObjectMetadata");
        jw_put_cstr(w, "apiVersion", "meta.k8s.io/v1");
        jw_put(w, "metadata", o->meta);
        jw_end(w);
    } else {
        jw_key(w, STR("object")); /* as kube-apiserver writes a RawExtension of nothing */
        jw_null(w);
    }
    jw_end(w);
    strbuf_done(&r.pod.reason);
    strbuf_done(&r.text);
}
