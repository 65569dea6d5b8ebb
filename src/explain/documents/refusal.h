/*
 * Why a manifest was refused, in words about the file: "set.yaml:8: spec.template has no field
 * "clique"; did you mean "cliques"?".
 *
 * A server's answer is made for programs. It stops at the first mistake of a kind, and shows a type
 * or the object where a person wants a line. The file is here and the tables of the kind are too,
 * so what they tell (names of fields, types, choices, keys that are there twice) is told from them,
 * all of it; the server's causes are put into words where the tables find nothing.
 */
#ifndef EXPLAIN_DOCUMENTS_REFUSAL_H
#define EXPLAIN_DOCUMENTS_REFUSAL_H

#include "explain/documents/manifest.h"
#include "kube/status.h"

/* What the tables say against it, in the order of the file; none for kinds that are not ours to
 * know. Lines are in the arena. */
void refusal_by_tables(const struct manifest *m, const struct kind *k, struct arena *a,
                       str_vec *ret);
/* The same; when it is nothing, what the server said. At least one line. */
void refusal_lines(const struct manifest *m, const struct kind *k, const struct status *why,
                   struct arena *a, str_vec *ret);

#endif
