/* Documents against their tables: what is unknown, what is wrong, what is missing. Pure functions.
 */
#ifndef KUBE_SCHEMA_H
#define KUBE_SCHEMA_H

#include "kube/status.h"
#include "kube/tables/kinds.h"

/* Calls report for each unknown field ("spec.bogus") and duplicate key in document order.
 * what: "unknown field" or "duplicate field". */
void schema_unknown(const struct type *t, jval v,
                    void (*report)(void *ctx, const char *what, str path), void *ctx);
/* The document without fields the table does not name (except below preserve_unknown), and with the
 * last of repeated members only; the same document (a new reference) when nothing was removed. */
struct doc *schema_prune(const struct type *t, struct doc *d);
/* Fills in defaults of the table for fields that are absent (null too, unless nullable), only
 * inside objects that are present. What else is null goes, or becomes the zero value of its type,
 * as kube-apiserver reads it. Defaults marked FIELD_BUILTIN_DEFAULT are left out when t is a custom
 * resource. Same document when nothing changed, or when it would grow without measure. */
struct doc *schema_default(const struct type *t, struct doc *d);
/* The same, but NULL when it would. */
struct doc *schema_default_bounded(const struct type *t, struct doc *d);
/* The same, in one walk with the question whether schema_unknown would report anything: then NULL,
 * too. */
struct doc *schema_default_known(const struct type *t, struct doc *d);
/* Types, required, enums, patterns, bounds, duplicate list keys: kube-apiserver's words. In a
 * custom resource null is a wrong type; in a built-in kind it counts as absent, duplicates are left
 * to the kind's own rules, and nothing is required inside status. path: of v, "" for a whole
 * object. */
void schema_validate(const struct type *t, jval v, str path, struct field_errors *errors);
/* One member of a whole object by itself. */
void schema_validate_member(const struct type *t, jval object, str key,
                            struct field_errors *errors);
/* A regular expression (regex.h). What it takes to make it is added to *work, in units of some 20
 * ns. */
bool schema_pattern_is_valid(str pattern, uint64_t *work, struct err *err);
/* Strategic merge patch of a built-in kind: merge keys, $patch, $setElementOrder, $retainKeys,
 * $deleteFromPrimitiveList. */
struct doc *schema_strategic_merge(const struct type *t, jval target, jval patch, struct err *err);

/* Protobuf request bodies (magic "k8s\0"): JSON of the same object with apiVersion and kind. */
bool protobuf_is(str body);
struct doc *protobuf_decode(str body, struct err *err);

#endif
