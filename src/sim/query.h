/*
 * Which objects a scenario speaks of. One form everywhere, in YAML:
 *
 *   kind: pod                    kind, plural or short name
 *   name: x                      exactly; namespace: default unless given, "*" for all
 *   labels: "a=b,c!=d"           a label selector
 *   fields: {spec.nodeName: x}   by dotted path, or JSON pointer when it begins with a slash; null
 *                                means absent, "~text" a string that contains the text
 *   condition: Ready             true; "!Ready": not true; "Ready=Unknown": that status
 *   reason: R; message: text     of that condition: its reason, and what its message contains
 *   deleting: false              has no deletion timestamp
 *
 * An object is also named as a reference, "pcs/name". Everything lives in the arena and in the
 * document that was parsed.
 */
#ifndef SIM_QUERY_H
#define SIM_QUERY_H

#include "base/vec.h"
#include "kube/selector.h"
#include "store/store.h"

struct query_field {
    str path;
    jval want; /* null: absent */
};

struct query {
    const struct kind *kind;
    str ns; /* empty: all */
    str name;
    struct selector *labels; /* NULL: any */
    struct query_field *fields;
    size_t n_fields;
    str condition, status;
    str reason, message; /* of the condition; empty: any */
    bool negated;
    bool deleting_given, deleting;
};

typedef VEC(struct obj *) obj_vec;

/* The names of its members, NULL-terminated, for those who check for unknown ones. */
extern const char *const query_keys[];
int query_parse(struct arena *a, jval v, struct query *ret, struct err *err);
/* "pcs/name" or "pcs/namespace/name" */
int query_parse_ref(struct arena *a, str ref, struct query *ret, struct err *err);
bool query_matches(const struct query *q, const struct obj *o);
size_t query_count(const struct query *q, const struct store *s);
/* In key order, with references. */
void query_list(const struct query *q, const struct store *s, obj_vec *ret);
void obj_vec_done(obj_vec *v);
/* Value at a dotted path or a pointer. */
jval query_value(const struct obj *o, str path);

/* Refuses members of a map that are in none of the lists (each NULL-terminated; more may be NULL).
 */
int keys_check(jval map, const char *const *known, const char *const *more, const char *what,
               struct err *err);
/* A duration, or a range "0s..2s"; a plain one is a range of one. */
int range_parse(jval v, usec *ret_min, usec *ret_max, struct err *err);

#endif
