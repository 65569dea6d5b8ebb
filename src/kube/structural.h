/*
 * Schemas and tables, both ways. A CustomResourceDefinition carries a structural schema; the
 * server works on tables. structural_type() makes the table of a schema, structural_put() writes
 * the schema of a table: CRD manifests and OpenAPI come from the same walk. Pure functions.
 */
#ifndef KUBE_STRUCTURAL_H
#define KUBE_STRUCTURAL_H

#include "kube/tables/kinds.h"
#include "json/write.h"

/* The table of a schema of type object. It lives in the arena, which also takes a reference to the
 * schema's document: rules that are no part of a table are read from there. kind: its name. The
 * schema must be a valid one (apiserver/crd.h); what is not is taken as "anything". */
const struct type *structural_type(struct arena *a, jval schema, const char *kind);

/* How a schema is written. */
struct structural {
    bool custom; /* of a custom resource: defaults of built-in kinds do not apply */
    /* Writes {"$ref":...} in place of the schema of a type that has a name; NULL: everything is
     * written where it stands, and nothing that a CustomResourceDefinition may not hold. */
    void (*put_ref)(void *ctx, struct jw *w, const struct type *t);
    void *ctx;
};

/* Members of the schema of an object: type, properties, required. is_kind: it is a whole object,
 * with metadata and so on. */
void structural_put_object(const struct structural *s, struct jw *w, const struct type *t,
                           bool is_kind);
/* The member "name":{...} of such an object. */
void structural_put_field(const struct structural *s, struct jw *w, const struct field *f,
                          bool of_kind);
/* The schema of a type other than an object, of its own: {"type":"string"}. */
const char *structural_scalar(const struct type *t);
/* The name it is known by ("Quantity"); NULL: none. */
const char *structural_scalar_name(const struct type *t);
/* One sentence about a kind, or NULL. */
const char *structural_kind_doc(const char *group, const char *kind);

/* A CustomResourceDefinition of a kind of the program. */
struct doc *structural_crd(const struct kind *k);

#endif
