/*
 * Prints docs/guide/api.md: every field of Grove's kinds, from the tables that the server reads.
 *
 *   api-reference               prints the chapter
 *   api-reference --check FILE  fails unless FILE is what it prints and every field has its words
 *
 * tools/api-reference rewrites the chapter. Types of Kubernetes are named and not unfolded: the
 * server's own `kubectl explain` does that.
 */
#include <stdio.h>

#include "base/file.h"
#include "base/vec.h"
#include "grove/types.h"
#include "kube/structural.h"

/* Where unfolding stops. */
static const struct {
    const struct type *type;
    const char *name;
} foreign[] = {
    {&type_object_meta, "ObjectMeta"},
    {&type_pod_spec, "PodSpec"},
    {&type_condition, "Condition"},
    {&type_label_selector, "LabelSelector"},
    {&type_metric_spec, "MetricSpec"},
    {&type_horizontal_pod_autoscaler_behavior, "HorizontalPodAutoscalerBehavior"},
};

static const char *const scalars[] = {
    [TYPE_STRING] = "string",     [TYPE_INT32] = "int32",
    [TYPE_INT64] = "int64",       [TYPE_BOOL] = "bool",
    [TYPE_DOUBLE] = "number",     [TYPE_BYTES] = "base64",
    [TYPE_TIME] = "time",         [TYPE_MICRO_TIME] = "time",
    [TYPE_DURATION] = "duration", [TYPE_QUANTITY] = "quantity",
    [TYPE_RAW] = "any",           [TYPE_INT_OR_STRING] = "int or string",
};

struct reference {
    struct strbuf text;
    VEC(const struct type *) types; /* printed, or to be */
    size_t undescribed;
};

static const char *foreign_name(const struct type *t)
{
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
        if (foreign[i].type == t)
            return foreign[i].name;
    }
    return NULL;
}

/* Remembers a type that is to be printed; once. */
static void want(struct reference *r, const struct type *t)
{
    for (size_t i = 0; i < r->types.len; i++) {
        if (r->types.p[i] == t)
            return;
    }
    *vec_push(&r->types) = t;
}

static void put_type(struct reference *r, const struct field *f)
{
    const char *name = foreign_name(f->type);
    if (f->shape == FIELD_LIST)
        strbuf_add_cstr(&r->text, "list of ");
    if (f->shape == FIELD_MAP)
        strbuf_add_cstr(&r->text, "map to ");
    if (name) {
        strbuf_printf(&r->text, "Kubernetes `%s`", name);
    } else if (f->type->tag != TYPE_OBJECT) {
        strbuf_add_cstr(&r->text, scalars[f->type->tag]);
    } else {
        want(r, f->type);
        strbuf_printf(&r->text, "[%s](#", f->type->name);
        for (const char *p = f->type->name; *p; p++)
            strbuf_add_char(&r->text, (char)(*p >= 'A' && *p <= 'Z' ? *p | 0x20 : *p));
        strbuf_add_cstr(&r->text, ")");
    }
}

static void put_choices(struct reference *r, const char *enums)
{
    strbuf_add_cstr(&r->text, " One of `");
    for (const char *p = enums; *p; p++) {
        if (*p == '|')
            strbuf_add_cstr(&r->text, "`, `");
        else
            strbuf_add_char(&r->text, *p);
    }
    strbuf_add_cstr(&r->text, "`.");
}

static void put_field(struct reference *r, const struct type *t, const struct field *f)
{
    strbuf_printf(&r->text, "| `%s` | ", f->name);
    put_type(r, f);
    strbuf_printf(&r->text, " | %s", f->flags & FIELD_REQUIRED ? "Required. " : "");
    if (f->doc) {
        strbuf_add_cstr(&r->text, f->doc);
    } else {
        r->undescribed++;
        fprintf(stderr, "# %s.%s has no words\n", t->name, f->name);
    }
    if (f->dflt)
        strbuf_printf(&r->text, " Default `%s`.", f->dflt);
    if (f->enums)
        put_choices(r, f->enums);
    strbuf_add_cstr(&r->text, " |\n");
}

static bool is_usual(const struct field *f)
{
    return strcmp(f->name, "apiVersion") == 0 || strcmp(f->name, "kind") == 0 ||
           strcmp(f->name, "metadata") == 0;
}

static void put_table(struct reference *r, const struct type *t)
{
    strbuf_add_cstr(&r->text, "\n| Field | Type | |\n|---|---|---|\n");
    for (size_t i = 0; i < t->n_fields; i++)
        put_field(r, t, &t->fields[i]);
}

/* spec and status of a kind are printed in its own section. */
static void put_kind(struct reference *r, const struct kind *k)
{
    const char *doc = structural_kind_doc(k->group, k->kind);
    strbuf_printf(&r->text, "\n## %s\n\n%s\n\n", k->kind, doc ? doc : "");
    strbuf_printf(&r->text, "`%s/%s`, `kubectl get %s`, short names `%s`; %s%s%s.\n", k->group,
                  k->version, k->plural, k->short_names,
                  k->flags & KIND_NAMESPACED ? "in a namespace" : "one for the cluster",
                  k->flags & KIND_STATUS ? "; subresource `status`" : "",
                  k->flags & KIND_SCALE ? ", `scale`" : "");
    for (size_t i = 0; i < k->type->n_fields; i++) {
        const struct field *f = &k->type->fields[i];
        if (is_usual(f))
            continue;
        strbuf_printf(&r->text, "\n### %s %s\n", k->kind, f->name);
        if (f->type->tag == TYPE_OBJECT)
            put_table(r, f->type);
        else
            strbuf_printf(&r->text, "\n%s\n", f->doc ? f->doc : "");
    }
}

static void put_chapter(struct reference *r)
{
    const struct kind *const kinds[] = {&kind_pcs,      &kind_pclq,         &kind_pcsg,
                                        &kind_pod_gang, &kind_pod_gang_map, &kind_ctb};
    strbuf_add_cstr(
        &r->text, "# API reference\n\nPrinted from the tables that the server reads, by "
                  "`tools/api-reference`; a test compares.\n`kubectl explain pcs.spec --recursive` "
                  "says the same, and unfolds the types of Kubernetes. You write\nPodCliqueSets "
                  "and ClusterTopologyBindings; the other kinds are made for you.\n");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        put_kind(r, kinds[i]);
    strbuf_add_cstr(&r->text, "\n## Types\n");
    for (size_t i = 0; i < r->types.len; i++) {
        strbuf_printf(&r->text, "\n### %s\n", r->types.p[i]->name);
        put_table(r, r->types.p[i]);
    }
}

static int check(const struct reference *r, const char *path)
{
    struct strbuf have = STRBUF_INIT((size_t)1 << 20);
    struct err err = ERR_INIT;
    bool read = file_read(path, &have, &err) == 0;
    bool same = read && str_eq(strbuf_str(&have), strbuf_str(&r->text));
    printf("1..2\n%s 1 - the chapter is what the tables say\n", same ? "ok" : "not ok");
    if (!same)
        printf("# %s; tools/api-reference rewrites it\n", read ? "it differs" : err.message);
    printf("%s 2 - every field has its words\n", r->undescribed ? "not ok" : "ok");
    strbuf_done(&have);
    return same && !r->undescribed ? 0 : 1;
}

int main(int argc, char **argv)
{
    struct reference r = {.text = STRBUF_INIT((size_t)1 << 20)};
    int code = 0;
    grove_kinds_init();
    put_chapter(&r);
    if (argc == 3 && strcmp(argv[1], "--check") == 0)
        code = check(&r, argv[2]);
    else if (argc == 1)
        printf("%.*s", STR_ARG(strbuf_str(&r.text)));
    else
        code = 2;
    vec_done(&r.types);
    strbuf_done(&r.text);
    return code;
}
