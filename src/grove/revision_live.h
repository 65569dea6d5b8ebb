/* Inside revisions: a live PodClique against the template it came from, at take-over. */
#ifndef GROVE_REVISION_LIVE_H
#define GROVE_REVISION_LIVE_H

#include "base/arena.h"
#include "kube/object.h"

/* Whether a PodClique is one of this template name, of any replica: by its own name. */
bool live_is_clique(const struct obj *pclq, str clique);

#endif
