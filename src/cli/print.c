/* See print.h. The cells come from the same tables the server makes its answers from. */
#include "cli/print.h"

#include <ctype.h>

#include "apiserver/front/front.h"
#include "base/opt.h"
#include "explain/documents/clean.h"
#include "explain/documents/paint.h"
#include "json/jsonpath.h"
#include "json/yaml.h"

const char *const print_formats[] = {"table", "wide", "yaml", "json", "name", NULL};

enum { MAX_OUTPUT = 256 << 20 };

static void flush(struct strbuf *b)
{
    fwrite(b->p ? b->p : "", 1, b->len, stdout);
    strbuf_done(b);
}

/* ---- tables ---- */

static struct doc *make_table(const struct kind *k, struct obj *const *items, size_t n, usec now)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    table_columns(&w, k);
    jw_put_array(&w, "rows");
    for (size_t i = 0; i < n; i++)
        table_row(&w, items[i], TABLE_INCLUDE_NONE, now);
    jw_end(&w);
    jw_end(&w);
    struct doc *d = jw_doc(&w), *clean = clean_doc(doc_root(d), CLEAN_ALL);
    if (clean)
        doc_unref(d);
    return clean ? clean : d;
}

static str cell_text(struct arena *a, jval v)
{
    if (!j_has(v))
        return STR_NONE;
    return arena_str(a, jtype(v) == J_STRING ? jstr(v) : jtext(v));
}

static str upper(struct arena *a, str s)
{
    char *p = arena_alloc(a, s.len + 1);
    for (size_t i = 0; i < s.len; i++)
        p[i] = (char)toupper((unsigned char)s.p[i]);
    return str_n(p, s.len);
}

static void fill_row(struct grid *g, str ns, jval columns, jval cells, bool wide, bool with_ns)
{
    if (with_ns)
        grid_add(g, PAINT_PLAIN, ns);
    for (struct jiter it = jiter(columns); jnext(&it);) {
        if (!wide && jint(jgetc(it.value, "priority"), 0) > 0)
            continue;
        grid_add(g, PAINT_PLAIN,
                 j_is_absent(cells) ? upper(g->arena, jstr(jgetc(it.value, "name")))
                                    : cell_text(g->arena, jat(cells, it.index)));
    }
}

static size_t count_columns(jval columns, bool wide)
{
    size_t n = 0;
    for (struct jiter it = jiter(columns); jnext(&it);)
        n += wide || jint(jgetc(it.value, "priority"), 0) == 0;
    return n;
}

static void print_table(struct print_rows *r, const struct kind *k, struct obj *const *items,
                        size_t n, bool wide, bool all_namespaces, usec now)
{
    struct arena a = ARENA_INIT;
    struct doc *d = make_table(k, items, n, now);
    jval columns = jgetc(doc_root(d), "columnDefinitions");
    struct grid g;
    grid_init(&g, &a, count_columns(columns, wide) + all_namespaces);
    if (!r->widths) {
        fill_row(&g, STR("NAMESPACE"), columns, JVAL_ABSENT, wide, all_namespaces);
        r->widths = arena_array(&r->arena, size_t, g.n_columns);
    }
    g.widths = r->widths;
    for (struct jiter it = jiter(jgetc(doc_root(d), "rows")); jnext(&it);)
        fill_row(&g, items[it.index]->ns, columns, jgetc(it.value, "cells"), wide, all_namespaces);
    struct strbuf out = STRBUF_INIT(MAX_OUTPUT);
    grid_write(&g, &out);
    flush(&out);
    doc_unref(d);
    arena_done(&a);
}

/* ---- documents ---- */

void print_doc_to(jval v, enum print_format format, struct strbuf *out)
{
    if (format == PRINT_YAML)
        yaml_write(v, true, out);
    else
        json_pretty(v, 4, out);
    if (out->len > 0 && out->p[out->len - 1] != '\n')
        strbuf_add_char(out, '\n');
}

void print_doc(jval v, enum print_format format)
{
    struct strbuf out = STRBUF_INIT(MAX_OUTPUT);
    print_doc_to(v, format, &out);
    flush(&out);
}

/* Without the notes on who wrote which field: pages of it, and no part of what one would write. */
static void put_object(struct jw *w, jval root)
{
    jw_object(w);
    for (struct jiter it = jiter(root); jnext(&it);) {
        jw_key(w, it.key);
        if (!str_is(it.key, "metadata")) {
            jw_val(w, it.value);
            continue;
        }
        jw_object(w);
        for (struct jiter m = jiter(it.value); jnext(&m);) {
            if (str_is(m.key, "managedFields"))
                continue;
            jw_key(w, m.key);
            jw_val(w, m.value);
        }
        jw_end(w);
    }
    jw_end(w);
}

static struct doc *make_list(struct obj *const *items, size_t n)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_array(&w, "items");
    for (size_t i = 0; i < n; i++)
        put_object(&w, obj_root(items[i]));
    jw_end(&w);
    jw_put_cstr(&w, "kind", "List");
    jw_put_object(&w, "metadata");
    jw_put_cstr(&w, "resourceVersion", "");
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- what the user chose ---- */

int print_read_how(str output, struct print_how *ret, struct err *err)
{
    str value = output, key = str_cut(&value, '=');
    *ret = (struct print_how){0};
    if (str_is(key, "jsonpath") && value.len)
        ret->jsonpath = value;
    else if (str_is(key, "custom-columns") && value.len)
        ret->columns = value;
    if (ret->jsonpath.len || ret->columns.len)
        return 0;
    for (size_t i = 0; print_formats[i]; i++) {
        ret->format = (enum print_format)i;
        if (str_is(output, print_formats[i]))
            return 0;
    }
    const char *near = opt_nearest(output, print_formats);
    return err_set(err, ERR_USAGE,
                   "--output: \"%.*s\" is not one of table, wide, yaml, json, name, jsonpath=..., "
                   "custom-columns=NAME:PATH,...%s%s%s",
                   STR_ARG(output), near ? "; did you mean " : "", near ? near : "",
                   near ? "?" : "");
}

static int print_jsonpath(str template, jval root, struct err *err)
{
    struct strbuf out = STRBUF_INIT(MAX_OUTPUT);
    int r = jsonpath_print(template, root, &out, err);
    if (r)
        r = err_wrap(err, "--output jsonpath");
    flush(&out);
    return r;
}

/* "NAME:.metadata.name,NODE:.spec.nodeName" */
struct chosen_column {
    str name;
    struct jsonpath *path;
};

static void add_cell(struct grid *g, const struct chosen_column *c, jval root)
{
    jval_vec found = {0};
    str text = STR_NONE;
    jsonpath_eval(c->path, root, &found);
    for (size_t i = 0; i < found.len; i++)
        text = arena_printf(g->arena, "%.*s%s%.*s", STR_ARG(text), i ? "," : "",
                            STR_ARG(cell_text(g->arena, found.p[i])));
    grid_add(g, PAINT_PLAIN, text.len ? clean_text(g->arena, text, CLEAN_ALL) : STR("<none>"));
    vec_done(&found);
}

static int print_columns(str text, struct obj *const *items, size_t n, struct err *err)
{
    enum { MOST = 64 };
    struct chosen_column columns[MOST];
    struct arena a = ARENA_INIT;
    size_t n_columns = 0;
    int r = 0;
    while (text.len && r == 0) {
        str path = str_cut(&text, ','), name = str_cut(&path, ':');
        if (!path.len || n_columns == MOST)
            r = err_set(err, ERR_USAGE, "--output custom-columns: \"%.*s\" is not NAME:PATH",
                        STR_ARG(name));
        else if (!(columns[n_columns].path = jsonpath_compile(path, err)))
            r = err_wrap(err, "--output custom-columns");
        else
            columns[n_columns++].name = name;
    }
    struct grid g;
    struct strbuf out = STRBUF_INIT(MAX_OUTPUT);
    grid_init(&g, &a, MAX(n_columns, (size_t)1));
    for (size_t c = 0; r == 0 && c < n_columns; c++)
        grid_add(&g, PAINT_PLAIN, columns[c].name);
    for (size_t i = 0; r == 0 && i < n; i++) {
        for (size_t c = 0; c < n_columns; c++)
            add_cell(&g, &columns[c], obj_root(items[i]));
    }
    if (r == 0)
        grid_write(&g, &out);
    flush(&out);
    for (size_t c = 0; c < n_columns; c++)
        jsonpath_free(columns[c].path);
    arena_done(&a);
    return r;
}

int print_chosen(const struct print_how *how, struct obj *const *items, size_t n, bool list,
                 struct err *err)
{
    if (how->columns.len)
        return print_columns(how->columns, items, n, err);
    if (!list)
        return n ? print_jsonpath(how->jsonpath, obj_root(items[0]), err) : 0;
    struct doc *d = make_list(items, n);
    int r = print_jsonpath(how->jsonpath, doc_root(d), err);
    doc_unref(d);
    return r;
}

void print_reference(const struct kind *k, str name, const char *what)
{
    struct arena a = ARENA_INIT;
    printf("%s%s%s/%.*s%s%s\n", k->singular, *k->group ? "." : "", k->group,
           STR_ARG(clean_text(&a, name, CLEAN_ALL)), *what ? " " : "", what);
    arena_done(&a);
}

void print_rows(struct print_rows *r, const struct kind *k, struct obj *const *items, size_t n,
                enum print_format format, bool all_namespaces, usec now)
{
    if (format == PRINT_TABLE || format == PRINT_WIDE) {
        print_table(r, k, items, n, format == PRINT_WIDE, all_namespaces, now);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (format == PRINT_YAML)
            puts("---");
        print_object(items[i], format, now);
    }
}

void print_rows_done(struct print_rows *r)
{
    arena_done(&r->arena);
}

void print_objects(const struct kind *k, struct obj *const *items, size_t n,
                   enum print_format format, bool all_namespaces, usec now)
{
    if (format == PRINT_TABLE || format == PRINT_WIDE) {
        struct print_rows r = {0};
        print_table(&r, k, items, n, format == PRINT_WIDE, all_namespaces, now);
        print_rows_done(&r);
    } else if (format == PRINT_NAME) {
        for (size_t i = 0; i < n; i++)
            print_reference(k, items[i]->name, "");
    } else {
        struct doc *list = make_list(items, n);
        print_doc(doc_root(list), format);
        doc_unref(list);
    }
}

void print_object(const struct obj *o, enum print_format format, usec now)
{
    struct obj *items[1] = {(struct obj *)o};
    if (format == PRINT_YAML || format == PRINT_JSON) {
        struct jw w;
        jw_init(&w);
        put_object(&w, obj_root(o));
        struct doc *d = jw_doc(&w);
        print_doc(doc_root(d), format);
        doc_unref(d);
    } else {
        print_objects(o->kind, items, 1, format, false, now);
    }
}
