/*
 * The same pods can be asked for in many words. Before two pod specs are compared, defaults are
 * filled in as the API server does for pods, amounts are written by their value, and lists whose
 * order means nothing are sorted. The order of init containers and of variables means something
 * (each may build on those before it) and stays; so does that of any list not named here.
 *
 * The tables say what is an amount and what has a default; what they do not know is compared as it
 * is written.
 */
#include "grove/revision_canon.h"

#include "base/quantity.h"
#include "base/vec.h"
#include "kube/schema.h"
#include "json/write.h"

enum { TEXT_MAX = 64 << 20 };

static const struct unordered {
    const struct type *type;
    const char *field;
} unordered[] = {
    {&type_pod_spec, "containers"},
    {&type_pod_spec, "volumes"},
    {&type_container, "ports"},
};

static bool is_unordered(const struct type *t, const struct field *f)
{
    for (size_t i = 0; i < ARRAY_LEN(unordered); i++) {
        if (t == unordered[i].type && str_is(field_name(f), unordered[i].field))
            return true;
    }
    return false;
}

static void write_value(struct jw *w, const struct type *t, jval v);

/* By value: 40, "40" and "40000m" are one amount, and so are 1Gi and 1024Mi. */
static void write_amount(struct jw *w, jval v)
{
    struct quantity q;
    if (quantity_parse(jtype(v) == J_STRING ? jstr(v) : jtext(v), &q, NULL)) {
        jw_val(w, v);
        return;
    }
    struct strbuf text = STRBUF_INIT(256);
    q.format = QUANTITY_DECIMAL_SI;
    quantity_write(&q, &text);
    jw_str(w, strbuf_str(&text));
    strbuf_done(&text);
}

static int cmp_texts(const void *a, const void *b)
{
    return str_cmp(strbuf_str(a), strbuf_str(b));
}

static void write_sorted(struct jw *w, const struct type *t, jval list)
{
    VEC(struct strbuf) texts = {0};
    for (struct jiter it = jiter(list); jnext(&it);) {
        struct jw one;
        jw_init(&one);
        write_value(&one, t, it.value);
        struct doc *d = jw_doc(&one);
        struct strbuf *text = vec_push(&texts);
        *text = STRBUF_INIT(TEXT_MAX);
        jcanonical(doc_root(d), true, text);
        doc_unref(d);
    }
    vec_sort(&texts, cmp_texts);
    jw_array(w);
    for (size_t i = 0; i < texts.len; i++) {
        jw_raw(w, strbuf_str(&texts.p[i]));
        strbuf_done(&texts.p[i]);
    }
    jw_end(w);
    vec_done(&texts);
}

static void write_field(struct jw *w, const struct type *t, const struct field *f, jval v)
{
    enum jtype shape = f->shape == FIELD_LIST  ? J_ARRAY
                       : f->shape == FIELD_MAP ? J_OBJECT
                                               : jtype(v);
    if (jtype(v) != shape || f->shape == FIELD_ONE) {
        write_value(w, f->type, v);
    } else if (f->shape == FIELD_MAP) {
        jw_object(w);
        for (struct jiter it = jiter(v); jnext(&it);) {
            jw_key(w, it.key);
            write_value(w, f->type, it.value);
        }
        jw_end(w);
    } else if (is_unordered(t, f)) {
        write_sorted(w, f->type, v);
    } else {
        jw_array(w);
        for (struct jiter it = jiter(v); jnext(&it);)
            write_value(w, f->type, it.value);
        jw_end(w);
    }
}

/* Without a tag, or with "latest", an image is pulled each time; a colon before the last slash
 * belongs to the port of a registry. */
static str pull_policy(str image)
{
    str name = str_sub(image, (size_t)(str_rfind_char(image, '/') + 1), image.len);
    ptrdiff_t colon = str_find_char(name, ':');
    bool moves = colon < 0 || str_is(str_sub(name, (size_t)colon + 1, name.len), "latest");
    return moves && str_find_char(image, '@') < 0 ? STR("Always") : STR("IfNotPresent");
}

static void write_value(struct jw *w, const struct type *t, jval v)
{
    if (t->tag == TYPE_QUANTITY) {
        write_amount(w, v);
        return;
    }
    if (t->tag != TYPE_OBJECT || jtype(v) != J_OBJECT) {
        jw_val(w, v);
        return;
    }
    jw_object(w);
    for (struct jiter it = jiter(v); jnext(&it);) {
        const struct field *f = type_field(t, it.key);
        jw_key(w, it.key);
        if (f)
            write_field(w, t, f, it.value);
        else
            jw_val(w, it.value);
    }
    if (t == &type_container && !j_has(jgetc(v, "imagePullPolicy")))
        jw_put_str(w, "imagePullPolicy", pull_policy(jstr(jgetc(v, "image"))));
    jw_end(w);
}

static struct doc *with_defaults(jval pod_spec)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", kind_pod.kind);
    jw_put(&w, "spec", pod_spec);
    jw_end(&w);
    struct doc *pod = jw_doc(&w), *full = schema_default(kind_pod.type, pod);
    doc_unref(pod);
    return full;
}

void canon_pod_spec(jval pod_spec, struct strbuf *out)
{
    struct doc *pod = with_defaults(pod_spec);
    struct jw w;
    jw_init(&w);
    write_value(&w, &type_pod_spec, jgetc(doc_root(pod), "spec"));
    struct doc *d = jw_doc(&w);
    jcanonical(doc_root(d), true, out);
    doc_unref(d);
    doc_unref(pod);
}
