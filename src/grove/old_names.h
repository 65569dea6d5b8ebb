/*
 * What older documents call things, for messages that tell what they are called today
 * (docs/compat.md, "Older names"). Pure; nobody makes or accepts an object by such a name.
 */
#ifndef GROVE_OLD_NAMES_H
#define GROVE_OLD_NAMES_H

#include "base/arena.h"
#include "kube/object.h"

/* "podgangset": the kind that took its place; NULL: it is no old word for a kind. */
const struct kind *old_kind(str word);
/* An object of this set has today's name for what older documents call `name`: a sentence that says
 * so and where to look; empty when it has none. */
str old_name_hint(struct arena *a, const struct obj *pcs, const struct kind *k, str name);

#endif
