/* Files of manifests, and what kind each document is of. */
#ifndef CLI_MANIFEST_H
#define CLI_MANIFEST_H

#include "kube/object.h"
#include "json/yaml.h"

/* "-" is standard input. */
int manifest_read(str file, doc_vec *ret, struct err *err);
/* NULL, with the reason, when it is none we know. */
const struct kind *manifest_kind(jval root, struct err *err);
/* An object as one would write it: name, labels, annotations and what is not status. */
struct doc *manifest_strip(const struct obj *o);

#endif
