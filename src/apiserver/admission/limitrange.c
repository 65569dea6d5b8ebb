/*
 * LimitRange: the defaults a namespace gives to the containers of a new pod, and the least, the
 * most and the ratio it allows, in the words of kube-apiserver's LimitRanger.
 */
#include "apiserver/admission/admit_impl.h"
#include "apiserver/admission/quota.h"
#include "json/write.h"

#define ANNOTATION "kubernetes.io/limit-ranger"

static const struct {
    const char *list, *word;
} lists[] = {{"containers", "container"}, {"initContainers", "init container"}};

/* ---- the object itself ---- */

/* Entries of `from` that neither what is there has nor what was copied before. */
static void copy_missing(const struct admit *a, struct edit *e, const jval *there, size_t n,
                         jval from, size_t index, const char *member)
{
    struct jlookup in[3];
    for (size_t i = 0; i < n; i++)
        in[i] = jlookup(there[i]);
    for (struct jiter it = jiter(from); jnext(&it);) {
        bool has = false;
        for (size_t i = 0; i < n; i++)
            has |= j_has(jlookup_get(&in[i], it.key));
        if (!has)
            edit_set(e,
                     edit_path(a->arena, STR("spec"), STR("limits"), admit_path(a, "%zu", index),
                               str_of(member), it.key),
                     it.value);
    }
    for (size_t i = 0; i < n; i++)
        jlookup_done(&in[i]);
}

void limit_range_default(const struct admit *a, jval root, struct edit *e)
{
    for (struct jiter it = jiter(jpath(root, "spec.limits")); jnext(&it);) {
        jval max = jgetc(it.value, "max"), limits = jgetc(it.value, "default");
        jval requests = jgetc(it.value, "defaultRequest");
        if (!str_is(jstr(jgetc(it.value, "type")), "Container"))
            continue;
        const jval first[] = {requests, limits, max};
        copy_missing(a, e, &limits, 1, max, it.index, "default");
        copy_missing(a, e, first, 1, limits, it.index, "defaultRequest");
        copy_missing(a, e, first, 2, max, it.index, "defaultRequest");
        copy_missing(a, e, first, 3, jgetc(it.value, "min"), it.index, "defaultRequest");
    }
}

static bool quantity_of(jval v, struct quantity *ret)
{
    return j_has(v) && quantity_parse(jtype(v) == J_STRING ? jstr(v) : jtext(v), ret, NULL) == 0;
}

static void check_order(const struct admit *a, jval item, size_t index, const char *small,
                        const char *large)
{
    struct quantity s, l;
    CLEANUP(jlookup_done) struct jlookup more = jlookup(jget(item, str_of(large)));
    for (struct jiter it = jiter(jget(item, str_of(small))); jnext(&it);) {
        jval most = jlookup_get(&more, it.key);
        if (!quantity_of(it.value, &s) || !quantity_of(most, &l) || quantity_cmp(&s, &l) <= 0)
            continue;
        str text = jstr(it.value);
        field_error_add(a->errors, FIELD_ERR_INVALID,
                        admit_path(a, "spec.limits[%zu].%s[%.*s]", index, small, STR_ARG(it.key)),
                        jtext(it.value), "%s value %.*s is greater than %s value %.*s", small,
                        STR_ARG(text), large, STR_ARG(jstr(most)));
    }
}

void limit_range_validate(const struct admit *a, jval root)
{
    for (struct jiter it = jiter(jpath(root, "spec.limits")); jnext(&it);) {
        check_order(a, it.value, it.index, "min", "max");
        check_order(a, it.value, it.index, "defaultRequest", "max");
        check_order(a, it.value, it.index, "default", "max");
        check_order(a, it.value, it.index, "defaultRequest", "default");
    }
}

/* ---- defaults of a pod ---- */

struct filling {
    const struct admit *a;
    struct edit edit;
    struct strbuf note; /* what was set, for the annotation */
};

/* Names of what was set, sorted and joined. */
static void note_set(struct filling *f, str *names, size_t n, const char *what, const char *word,
                     str container)
{
    if (!n)
        return;
    strbuf_add_cstr(&f->note, f->note.len ? "; " : "LimitRanger plugin set: ");
    for (size_t i = 0; i < n; i++) {
        strbuf_add_cstr(&f->note, i ? ", " : "");
        strbuf_add_str(&f->note, names[i]);
    }
    strbuf_printf(&f->note, " %s for %s %.*s", what, word, STR_ARG(container));
}

static void fill(struct filling *f, jval defaults, jval container, size_t list, size_t index,
                 const char *member, const char *what)
{
    jval have = jget(jgetc(container, "resources"), str_of(member));
    size_t n_all, n = 0;
    struct jmember *all = jmembers_sorted(defaults, &n_all);
    str *names = arena_array(f->a->arena, str, n_all + 1);
    for (size_t i = 0; all && i < n_all; i++) {
        if (j_has(jget(have, all[i].key)))
            continue;
        edit_set(&f->edit,
                 edit_path(f->a->arena, STR("spec"), str_of(lists[list].list),
                           admit_path(f->a, "%zu", index), STR("resources"), str_of(member),
                           all[i].key),
                 all[i].value);
        names[n++] = all[i].key;
    }
    free(all);
    note_set(f, names, n, what, lists[list].word, jstr(jgetc(container, "name")));
}

static void fill_pod(struct filling *f, jval item, jval spec)
{
    if (!str_is(jstr(jgetc(item, "type")), "Container"))
        return;
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        for (struct jiter it = jiter(jget(spec, str_of(lists[l].list))); jnext(&it);) {
            fill(f, jgetc(item, "defaultRequest"), it.value, l, it.index, "requests", "request");
            fill(f, jgetc(item, "default"), it.value, l, it.index, "limits", "limit");
        }
    }
}

/* What containers ask for comes with the pod and changes by resize alone. */
static bool sets_resources(const struct admit *a)
{
    return a->old ? str_is(a->subresource, "resize") : !a->subresource.len;
}

static bool concerns(const struct admit *a)
{
    return a->kind == &kind_pod && sets_resources(a) && store_count(a->store, &kind_limit_range);
}

/* One item after the other: what one has set the next finds there. */
static struct doc *fill_from(const struct admit *a, struct doc *d, jval item)
{
    struct filling f = {.a = a, .note = STRBUF_INIT(1 << 16)};
    edit_init(&f.edit, a->arena);
    fill_pod(&f, item, jgetc(doc_root(d), "spec"));
    if (f.note.len)
        edit_set_str(&f.edit,
                     edit_path(a->arena, STR("metadata"), STR("annotations"), STR(ANNOTATION)),
                     strbuf_str(&f.note));
    struct doc *out = edit_is_empty(&f.edit) ? NULL : edit_apply(&f.edit, d, NULL);
    edit_done(&f.edit);
    strbuf_done(&f.note);
    if (!out)
        return d;
    doc_unref(d);
    return out;
}

struct doc *limits_default(const struct admit *a, struct doc *d)
{
    struct doc *out = doc_ref(d);
    if (a->old || !concerns(a) || jtype(jgetc(doc_root(d), "spec")) != J_OBJECT)
        return out;
    struct store_iter it = store_range(a->store, &kind_limit_range, a->ns, STR_NONE, STR_NONE);
    for (const struct obj *o; (o = store_next(&it));)
        for (struct jiter i = jiter(jgetc(obj_spec(o), "limits")); jnext(&i);)
            out = fill_from(a, out, i.value);
    return out;
}

/* ---- limits of a pod ---- */

struct judged {
    const struct admit *a;
    str type;
    const struct amounts *requests, *limits;
    struct strbuf text;
    size_t n;
};

static str quantity_text(struct arena *a, const struct quantity *q)
{
    struct strbuf b = STRBUF_INIT(256);
    quantity_write(q, &b);
    str s = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return s;
}

PRINTF_LIKE(2, 3) static void complain(struct judged *j, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str s = arena_vprintf(j->a->arena, fmt, ap);
    va_end(ap);
    if (j->n && str_find(strbuf_str(&j->text), s) >= 0)
        return;
    strbuf_add_cstr(&j->text, j->n++ ? ", " : "");
    strbuf_add_str(&j->text, s);
}

static void check_min(struct judged *j, str name, const struct quantity *enforced)
{
    struct arena *a = j->a->arena;
    const struct quantity *r = amounts_get(j->requests, name), *l = amounts_get(j->limits, name);
    str least = quantity_text(a, enforced);
    if (!r)
        complain(j, "minimum %.*s usage per %.*s is %.*s.  No request is specified", STR_ARG(name),
                 STR_ARG(j->type), STR_ARG(least));
    else if (quantity_cmp(r, enforced) < 0)
        complain(j, "minimum %.*s usage per %.*s is %.*s, but request is %.*s", STR_ARG(name),
                 STR_ARG(j->type), STR_ARG(least), STR_ARG(quantity_text(a, r)));
    else if (l && quantity_cmp(l, enforced) < 0)
        complain(j, "minimum %.*s usage per %.*s is %.*s, but limit is %.*s", STR_ARG(name),
                 STR_ARG(j->type), STR_ARG(least), STR_ARG(quantity_text(a, l)));
}

static void check_max(struct judged *j, str name, const struct quantity *enforced)
{
    struct arena *a = j->a->arena;
    const struct quantity *r = amounts_get(j->requests, name), *l = amounts_get(j->limits, name);
    str most = quantity_text(a, enforced);
    if (!l)
        complain(j, "maximum %.*s usage per %.*s is %.*s.  No limit is specified", STR_ARG(name),
                 STR_ARG(j->type), STR_ARG(most));
    else if (quantity_cmp(l, enforced) > 0)
        complain(j, "maximum %.*s usage per %.*s is %.*s, but limit is %.*s", STR_ARG(name),
                 STR_ARG(j->type), STR_ARG(most), STR_ARG(quantity_text(a, l)));
    else if (r && quantity_cmp(r, enforced) > 0)
        complain(j, "maximum %.*s usage per %.*s is %.*s, but request is %.*s", STR_ARG(name),
                 STR_ARG(j->type), STR_ARG(most), STR_ARG(quantity_text(a, r)));
}

static void check_ratio(struct judged *j, str name, const struct quantity *enforced)
{
    const struct quantity *r = amounts_get(j->requests, name), *l = amounts_get(j->limits, name);
    str most = quantity_text(j->a->arena, enforced);
    if (!r || quantity_is_zero(r)) {
        complain(j,
                 "%.*s max limit to request ratio per %.*s is %.*s, but no request is specified or "
                 "request is 0",
                 STR_ARG(name), STR_ARG(j->type), STR_ARG(most));
        return;
    }
    if (!l || quantity_is_zero(l)) {
        complain(j,
                 "%.*s max limit to request ratio per %.*s is %.*s, but no limit is specified or "
                 "limit is 0",
                 STR_ARG(name), STR_ARG(j->type), STR_ARG(most));
        return;
    }
    double ratio = (double)l->nano / (double)r->nano;
    if (ratio * 1000 > (double)quantity_milli(enforced))
        complain(j, "%.*s max limit to request ratio per %.*s is %.*s, but provided ratio is %f",
                 STR_ARG(name), STR_ARG(j->type), STR_ARG(most), ratio);
}

static void check_item(struct judged *j, jval item)
{
    static const struct {
        const char *member;
        void (*check)(struct judged *j, str name, const struct quantity *enforced);
    } checks[] = {{"min", check_min}, {"max", check_max}, {"maxLimitRequestRatio", check_ratio}};
    struct quantity q;
    for (size_t c = 0; c < ARRAY_LEN(checks); c++) {
        jval map = jget(item, str_of(checks[c].member));
        for (struct jiter it = jiter(map); jnext(&it);)
            if (quantity_of(it.value, &q))
                checks[c].check(j, it.key, &q);
    }
}

static void check_with(struct judged *j, jval item, jval of, bool is_pod)
{
    struct amounts requests, limits;
    amounts_init(&requests, j->a->arena);
    amounts_init(&limits, j->a->arena);
    if (is_pod) {
        pod_amounts(&requests, of, "requests");
        pod_amounts(&limits, of, "limits");
    } else {
        amounts_read(&requests, jpath(of, "resources.requests"));
        amounts_read(&limits, jpath(of, "resources.limits"));
    }
    j->requests = &requests;
    j->limits = &limits;
    check_item(j, item);
    amounts_done(&requests);
    amounts_done(&limits);
}

static void check_pod(struct judged *j, jval item, jval spec)
{
    j->type = jstr(jgetc(item, "type"));
    if (str_is(j->type, "Pod"))
        check_with(j, item, spec, true);
    if (!str_is(j->type, "Container"))
        return;
    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        for (struct jiter it = jiter(jget(spec, str_of(lists[l].list))); jnext(&it);)
            check_with(j, item, it.value, false);
}

static void refuse(const struct admit *a, const struct judged *j)
{
    str all = strbuf_str(&j->text);
    struct status *s =
        status_new(a->arena, 403, "Forbidden", "pods \"%.*s\" is forbidden: %s%.*s%s",
                   STR_ARG(a->name), j->n > 1 ? "[" : "", STR_ARG(all), j->n > 1 ? "]" : "");
    s->name = a->name;
    s->kind = STR("pods");
    if (!*a->refused)
        *a->refused = s;
}

void limits_validate(const struct admit *a, jval root)
{
    if (!concerns(a))
        return;
    struct store_iter it = store_range(a->store, &kind_limit_range, a->ns, STR_NONE, STR_NONE);
    for (const struct obj *o; (o = store_next(&it));) {
        struct judged j = {.a = a, .text = STRBUF_INIT(1 << 16)};
        for (struct jiter i = jiter(jgetc(obj_spec(o), "limits")); jnext(&i);)
            check_pod(&j, i.value, jgetc(root, "spec"));
        if (j.n)
            refuse(a, &j);
        strbuf_done(&j.text);
    }
}
