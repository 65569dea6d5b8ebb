/* Files of manifests, and what kind each document is of. */
#ifndef EXPLAIN_DOCUMENTS_MANIFEST_H
#define EXPLAIN_DOCUMENTS_MANIFEST_H

#include "base/opt.h"
#include "base/vec.h"
#include "kube/object.h"
#include "json/yaml.h"

/* The files that a word of the command line means: itself, "-" for standard input, or in a
 * directory those that end in .yaml, .yml or .json, by name. */
typedef VEC(str) str_vec;
int manifest_files(str given, struct arena *a, str_vec *ret, struct err *err);
/* An object and where it stands. */
struct manifest {
    struct doc *doc;
    str file, text;  /* as it was read; in the arena */
    size_t document; /* of the text */
    size_t item;     /* of the List it is in, from 1; 0: it is in none */
};
typedef VEC(struct manifest) manifest_vec;
/* The objects of a file; a List is what is in it. Errors name the file and the line. Documents are
 * held by the arena. */
int manifest_load(str file, struct arena *a, manifest_vec *ret, struct err *err);
/* The line of a field (yaml_where.h), of the object itself when the path is empty; 0: unknown. */
size_t manifest_line(const struct manifest *m, str path, str value);
/* "set.yaml:8: ", what a message begins with; without the line when it is 0. */
str manifest_at(const struct manifest *m, size_t line, struct arena *a);
/* The same, for all that is given; the first error ends it. */
int manifest_read(str given, doc_vec *ret, struct err *err);
int manifest_read_all(const struct opt_list *given, doc_vec *ret, struct err *err);
/* NULL, with the reason, when it is none we know. */
const struct kind *manifest_kind(jval root, struct err *err);
/* The same, with file and line. */
const struct kind *manifest_kind_at(const struct manifest *m, struct err *err);
/* An object as one would write it: name, labels, annotations and what is not status. */
struct doc *manifest_strip(const struct obj *o);

#endif
