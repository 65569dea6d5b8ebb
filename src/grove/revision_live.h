/* Inside revisions: a live PodClique against the template it came from, at take-over. */
#ifndef GROVE_REVISION_LIVE_H
#define GROVE_REVISION_LIVE_H

#include "base/arena.h"
#include "kube/object.h"

/* The template name of a PodClique: its own without what the labels say comes before it. */
str live_clique_name(struct arena *a, const struct obj *pclq);

#endif
