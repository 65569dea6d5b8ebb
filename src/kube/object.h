/*
 * obj: a document plus the metadata everyone needs, decoded once. Immutable and reference-counted
 * like the document it wraps; slices point into the document. Indexes, selectors and ownership use
 * only this header.
 */
#ifndef KUBE_OBJECT_H
#define KUBE_OBJECT_H

#include "base/timefmt.h"
#include "kube/tables/kinds.h"
#include "json/doc.h"

struct obj {
    unsigned refs;
    uint32_t memory; /* bytes that it takes, document included */
    const struct kind *kind;
    struct doc *doc;
    str ns;
    str name;
    str uid;
    uint64_t rv;
    int64_t generation;
    bool deleting; /* deletionTimestamp is set */
    str owner_uid; /* of the controller owner reference */
    jval meta;
    jval labels;
    jval annotations;
    jval spec;
    jval status;
    jval owner; /* the controller owner reference */
};

/* Takes over the reference to the document. Fails when metadata is not an object, a name is missing
 * or resourceVersion is not a number. */
struct obj *obj_new(const struct kind *kind, struct doc *doc, struct err *err);
struct obj *obj_ref(const struct obj *o);
void obj_unref(const struct obj *o);
DEFINE_CLEANUP(struct obj *, obj_unref)
struct obj *obj_hold(struct arena *a, struct obj *o);

static inline jval obj_root(const struct obj *o)
{
    return doc_root(o->doc);
}
str obj_label(const struct obj *o, str key);
str obj_annotation(const struct obj *o, str key);
static inline jval obj_spec(const struct obj *o)
{
    return o->spec;
}
static inline jval obj_status(const struct obj *o)
{
    return o->status;
}
/* Microseconds since 1970, 0 when absent. */
usec obj_created(const struct obj *o);
usec obj_deleted_at(const struct obj *o);
bool obj_has_finalizer(const struct obj *o, str finalizer);
/* The controller owner reference, or absent. */
static inline jval obj_controller_ref(const struct obj *o)
{
    return o->owner;
}

/* metav1.Condition (and pod conditions) by type; absent when there is none. */
jval condition_find(jval conditions, str type);
bool condition_is_true(jval conditions, str type);

#endif
