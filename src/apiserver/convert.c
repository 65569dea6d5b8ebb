/*
 * Kinds that share storage: an Event written through one group is read through the other. Where two
 * kinds are versions of one another only apiVersion differs; Events also have other names for the
 * same fields, and the two versions of HorizontalPodAutoscaler differ more (convert_hpa.c).
 */
#include "apiserver/request.h"
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

struct obj *convert_obj(struct obj *o, const struct kind *to)
{
    if (o->kind == to)
        return obj_ref(o);
    struct jw w;
    char buf[256];
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", to->kind);
    jw_put_str(&w, "apiVersion", kind_api_version(to, buf, sizeof(buf)));
    bool hpa = o->kind == &kind_hpa || o->kind == &kind_hpa_v1;
    if (hpa)
        convert_put_hpa(&w, obj_root(o), to == &kind_hpa_v1);
    for (struct jiter it = jiter(obj_root(o)); !hpa && jnext(&it);) {
        if (str_is(it.key, "kind") || str_is(it.key, "apiVersion"))
            continue;
        jw_key(&w, renamed(o->kind, to, it.key));
        jw_val(&w, it.value);
    }
    jw_end(&w);
    struct obj *out = obj_new(to, jw_doc(&w), NULL);
    BUG_ON(!out);
    return out;
}
