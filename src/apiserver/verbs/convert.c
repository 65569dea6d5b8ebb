/*
 * Kinds that share storage: an Event written through one group is read through the other. Where two
 * kinds are versions of one another only apiVersion differs; Events also have other names for the
 * same fields, and the two versions of HorizontalPodAutoscaler differ more (convert_hpa.c).
 *
 * Versions of a kind that a user defined differ in apiVersion and in what their schemas know,
 * unless a webhook converts between them (conversion.h).
 *
 * An object of a kind that a user defined is read with the defaults its definition has today, which
 * need not be those it was written with.
 */
#include "apiserver/crd/conversion.h"
#include "apiserver/request.h"
#include "kube/schema.h"
#include "json/edit.h"
#include "json/write.h"

struct rename {
    const char *core, *events;
};

static const struct rename event_fields[] = {
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
};

static str renamed(const struct kind *from, const struct kind *to, str key)
{
    if (from != &kind_event && from != &kind_events_event)
        return key;
    for (size_t i = 0; i < ARRAY_LEN(event_fields); i++) {
        const struct rename *r = &event_fields[i];
        if (to == &kind_events_event && str_is(key, r->core))
            return str_of(r->events);
        if (to == &kind_event && str_is(key, r->events))
            return str_of(r->core);
    }
    return key;
}

static bool type_has_defaults(const struct type *t, int depth)
{
    enum { DEPTH_MAX = 64 };
    if (!t || depth > DEPTH_MAX)
        return false;
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct field *f = &t->fields[i];
        if (f->dflt || type_has_defaults(f->type, depth + 1))
            return true;
    }
    return false;
}

/* Of a kind that a user defined. Lists ask for one kind many times. */
static bool has_defaults(const struct kind *k)
{
    static const struct kind *last;
    static uint64_t version = UINT64_MAX;
    static bool answer;
    if (!kind_is(k, KIND_DEFINED))
        return false;
    if (last != k || version != kinds_version()) {
        last = k;
        version = kinds_version();
        answer = type_has_defaults(k->type, 0);
    }
    return answer;
}

bool convert_needs_hook(const struct obj *o, const struct kind *to)
{
    return UNLIKELY(kind_is(to, KIND_HOOKED)) && o->kind != to;
}

/* Takes over the document. */
static struct obj *with_defaults(const struct kind *k, struct doc *d)
{
    struct doc *full = has_defaults(k) ? schema_default(k->type, d) : doc_ref(d);
    doc_unref(d);
    struct obj *o = obj_new(k, full, NULL);
    BUG_ON(!o);
    return o;
}

struct obj *convert_finish(struct doc *converted, const struct kind *to)
{
    return with_defaults(to, doc_ref(converted));
}

struct obj *convert_as_stored(struct obj *o, const struct kind *to)
{
    if (o->kind == to)
        return obj_ref(o);
    struct obj *as = obj_new(to, doc_ref(o->doc), NULL);
    BUG_ON(!as);
    return as;
}

struct obj *convert_now(struct apiserver *a, struct obj *o, const struct kind *to)
{
    if (!convert_needs_hook(o, to))
        return convert_obj(o, to);
    struct doc *known = conversion_known(a->conversions, o, to);
    return known ? with_defaults(to, known) : NULL;
}

/* Between versions of a kind that a user defined: what the other version does not know goes. */
static struct doc *pruned(const struct kind *to, struct doc *d)
{
    if (!kind_is(to, KIND_DEFINED))
        return d;
    struct doc *out = schema_prune(to->type, d);
    doc_unref(d);
    return out;
}

struct doc *convert_version(struct doc *d, const struct kind *to)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    char buf[256];
    edit_init(&e, &a);
    edit_set_str(&e, STR("/apiVersion"), kind_api_version(to, buf, sizeof(buf)));
    struct doc *out = edit_apply(&e, d, NULL);
    edit_done(&e);
    arena_done(&a);
    return out ? out : doc_ref(d);
}

struct obj *convert_obj(struct obj *o, const struct kind *to)
{
    BUG_ON(convert_needs_hook(o, to));
    if (o->kind == to && !has_defaults(to))
        return obj_ref(o);
    if (o->kind == to) {
        struct doc *d = schema_default(to->type, o->doc);
        bool same = d == o->doc;
        if (!same)
            return with_defaults(to, d);
        doc_unref(d);
        return obj_ref(o);
    }
    struct jw w;
    char buf[256];
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", to->kind);
    jw_put_str(&w, "apiVersion", kind_api_version(to, buf, sizeof(buf)));
    bool hpa = o->kind == &kind_hpa || o->kind == &kind_hpa_v1;
    if (hpa)
        convert_put_hpa(&w, obj_root(o), to == &kind_hpa_v1);
    bool done = hpa || convert_put_resource(&w, o->kind, to, obj_root(o));
    for (struct jiter it = jiter(obj_root(o)); !done && jnext(&it);) {
        if (str_is(it.key, "kind") || str_is(it.key, "apiVersion"))
            continue;
        jw_key(&w, renamed(o->kind, to, it.key));
        jw_val(&w, it.value);
    }
    jw_end(&w);
    return with_defaults(to, pruned(to, jw_doc(&w)));
}
