/*
 * Where a walk through a document stands: a chain of steps on the stack of the walk, one per level,
 * turned into text ("spec.containers[0].name") only when somebody wants to read it.
 */
#ifndef KUBE_PATH_H
#define KUBE_PATH_H

#include "base/strbuf.h"

struct path {
    const struct path *up; /* NULL: the first step */
    str key;               /* of a member; p NULL: the index of an item */
    size_t index;
};

/* Appends the text of the path. */
void path_write(const struct path *p, struct strbuf *out);

#endif
