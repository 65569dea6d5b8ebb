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
/* The objects of a file; a List is what is in it. Errors name the file. */
int manifest_read_file(str file, doc_vec *ret, struct err *err);
/* Both, for all that is given; the first error ends it. */
int manifest_read(str given, doc_vec *ret, struct err *err);
int manifest_read_all(const struct opt_list *given, doc_vec *ret, struct err *err);
/* NULL, with the reason, when it is none we know. */
const struct kind *manifest_kind(jval root, struct err *err);
/* An object as one would write it: name, labels, annotations and what is not status. */
struct doc *manifest_strip(const struct obj *o);

#endif
