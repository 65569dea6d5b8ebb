/*
 * Maps of gangs as they are read, kept as long as the cache has that version (a fold, see
 * client/cache.h): a plan for one gang of a thousand looks up one entry instead of reading all.
 */
#ifndef OPERATOR_COMMON_GANGMAP_FOLD_H
#define OPERATOR_COMMON_GANGMAP_FOLD_H

#include "client/controller.h"
#include "operator/common/gangmap.h"

/* For one runtime; before it starts. */
void gangmap_add_fold(struct runtime *r);
/* The map that the cache has under this object's UID, which it is, for these components. It has an
 * index and is not to be written to. Borrowed until the next change. */
const struct gangmap *gangmap_parsed(const struct world *w, const struct obj *o,
                                     const struct gangmap_component *c, size_t n);

#endif
