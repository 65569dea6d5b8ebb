/*
 * Between the two files that make OpenAPI: how schemas are written. A schema set belongs to one
 * group version; naming a type in it (schema_put_ref) is what puts the type into the document.
 */
#ifndef APISERVER_FRONT_OPENAPI_H
#define APISERVER_FRONT_OPENAPI_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "kube/tables/kinds.h"
#include "json/write.h"

struct schema_entry;

struct schema_set {
    bool custom;                       /* of custom resources: built-in defaults do not apply */
    VEC(struct schema_entry *) wanted; /* named so far, in that order */
    struct map names;                  /* the same by component name */
    struct arena arena;
};

void schema_set_init(struct schema_set *s, bool custom);
void schema_set_done(struct schema_set *s);
/* {"$ref": ...} to the schema of a type of a kind or a body; list: to that of its list. */
void schema_put_ref(struct schema_set *s, struct jw *w, const struct type *t, bool list);
/* "schemas":{...}: everything that was named, and what that names in turn. */
void schema_put_all(struct schema_set *s, struct jw *w);

/* All that discovery tells of: the registered kinds, and the reviews as kinds without an id. NULL
 * after the last. */
const struct kind *resource_at(size_t i);
/* How many subresources a kind has, status and scale included, and the i-th; in
 * the order of their names. */
size_t kind_subresource_count(const struct kind *k);
const struct subresource *kind_subresource(const struct kind *k, size_t i);

#endif
