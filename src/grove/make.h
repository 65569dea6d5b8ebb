/*
 * Small builders shared by the planners: label sets, owner references, conditions, and the rule for
 * children: create what is missing, patch what drifted, touch nothing else.
 */
#ifndef GROVE_MAKE_H
#define GROVE_MAKE_H

#include "client/controller.h"
#include "grove/names.h"
#include "grove/types.h"

/* On PodGangs: how replicas of a set keep apart, "KEY=required|preferred,...", KEY a node label.
 * From spec.replicaSpreadConstraints (DoNotSchedule, ScheduleAnyway). */
#define ANNOTATION_REPLICA_SPREAD "grove.io/replica-spread"

/* Labels and annotations that an object has because a user wrote them elsewhere, so that they go
 * when he takes them back: "labels/team annotations/note". Others' are not in it, and stay. */
#define ANNOTATION_MIRRORED "grove.io/mirrored-keys"
/* The text with one more. */
str make_mirrored(struct arena *a, str text, const char *field, str key);

struct label {
    str key, value;
};

/* A set: a later value of a key wins. Written sorted by key. */
struct labels {
    struct arena *arena;
    struct label *items;
    size_t n, cap;
};

void labels_init(struct labels *l, struct arena *a);
void labels_put(struct labels *l, str key, str value);
void labels_set(struct labels *l, const char *key, str value);
void labels_set_int(struct labels *l, const char *key, int64_t value);
void labels_add_all(struct labels *l, jval map);
/* As an annotation, where a name had to be shortened: what it would have been. */
void labels_set_full_name(struct labels *annotations, str name, str full);
/* What every object Grove makes carries: managed-by, part-of, and the component. */
void labels_common(struct labels *l, str pcs, const char *component);
void labels_write(struct jw *w, const char *key, const struct labels *l);
/* "k=v,k=v" sorted. */
str labels_selector(struct labels *l);

/* Opens the object and writes apiVersion, kind and metadata; the caller writes spec and closes. */
struct make_meta {
    const struct kind *kind;
    str ns, name;
    const struct labels *labels;
    const struct labels *annotations; /* NULL: none */
    const struct obj *owner;          /* controller; NULL: none */
    const char *finalizer;            /* NULL: none */
};
void make_begin(struct jw *w, const struct make_meta *m);
struct doc *make_end(struct jw *w);

/* An environment variable: a value, or the pod's own label of that name. */
struct env {
    const char *name;
    str value;
    const char *label;
};
/* The containers with these variables in front of the user's; a user's of the same name goes. */
void make_containers(struct jw *w, jval containers, const struct env *env, size_t n);

/* A plan makes at most this many writes for one kind of child; what is left comes with the next
 * plan, which the children of this one cause. No number a user writes makes a plan grow past it.
 * `from`: writes there were before this kind's. */
enum { MAKE_MAX_WRITES = 500 };
static inline bool make_is_full(const struct plan *p, size_t from)
{
    return p->writes.len - from >= MAKE_MAX_WRITES;
}

/* It exists, going or not, and the owner is its controller. */
bool make_is_child(const struct obj *o, const struct obj *owner);
/* Creates a child of `owner` when it is not there; otherwise patches the fields of `desired` that
 * differ. Fields that `desired` does not name stay, and so do labels, annotations, finalizers and
 * owners of others; a pod spec and a selector become what `desired` says. Takes over `desired`.
 * Nothing happens to a child that is being deleted or that belongs to somebody else. */
enum make_result { MAKE_NOTHING, MAKE_CREATED, MAKE_PATCHED, MAKE_FOREIGN };
enum make_result make_ensure(struct plan *p, unsigned stage, const struct world *w,
                             const struct obj *owner, const struct obj *existing,
                             const struct kind *k, str name, struct doc *desired);
/* One event that sums up what the plan does to objects of a kind since it had `from` writes: how
 * many, the first names, and why: what is wanted, or the reason of the first delete. Nothing when
 * it does nothing. */
void make_event(struct plan *p, size_t from, const struct obj *about, enum plan_op op,
                const struct kind *k, const char *reason);
/* For the plan that writes the status: somebody scaled it since the last one. */
void make_scaled_event(struct plan *p, const struct obj *o, int64_t replicas, const char *reason);
/* The merge patch that puts every field of `desired` into `actual`, or NULL when they are there. */
struct doc *make_drift_patch(jval desired, jval actual);

/* Adds or removes our finalizer, conditional on the version seen. True when that is planned: the
 * version seen is then no longer the one a status can be written to. */
bool make_finalizer(struct plan *p, unsigned stage, const struct obj *o, str finalizer, bool there);

/* A condition, keeping lastTransitionTime while its status stays the same. */
struct condition {
    const char *type;
    const char *status; /* "True", "False", "Unknown"; NULL: the condition goes */
    const char *reason;
    str message;
};
/* Writes the list: the old conditions in their order, with the given ones put in by type. */
void make_conditions(struct jw *w, jval old, const struct condition *set, size_t n, usec now);

/* Patches status when it differs from what is there. Takes over `status` (the status object). A
 * change of nothing but numbers is marked so. Returns the write; NULL: it does not differ. */
struct plan_write *make_status(struct plan *p, unsigned stage, const struct obj *o,
                               struct doc *status);

/* No condition appears or changes its status or reason, and nothing but numbers and messages is
 * new. */
bool make_is_counts_only(jval old, jval new);

/* The set an object belongs to, up its owners; NULL when one of them is not in the cache. */
struct obj *owner_pcs(const struct world *w, const struct obj *o);
/* The object whose name this value of a label stands for, which may be longer; NULL: none in the
 * cache. */
struct obj *labelled_obj(const struct world *w, const struct kind *k, str ns, str label);
/* Value of a label as an index, -1 when it is none. */
int64_t label_index(const struct obj *o, str key);

#endif
