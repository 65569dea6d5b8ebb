/*
 * Why pods keep Grove's gate. A gated pod looks for no room: that it has no node says nothing about
 * whether there is some. Its time begins when it is let go.
 *
 * All pure functions of the caches.
 */
#ifndef OPERATOR_UPDATE_GATE_H
#define OPERATOR_UPDATE_GATE_H

#include "client/controller.h"

/* Where one gang holds all pods of the clique: why they are not let go; empty: *ret_gang lets them
 * go, those that it refers to. */
str gate_wait(const struct world *w, struct arena *a, const struct obj *pclq,
              const struct obj **ret_gang);
/* The same of a gang of a replica that has a map; follows: after the anchors of the map. */
str gate_wait_mapped(const struct world *w, struct arena *a, const struct obj *pcs, int64_t replica,
                     str gang, bool follows, const struct obj **ret_gang);

/* A gated pod waits until the one of its index before it has stopped (going.h). */
bool gate_waits_for_pod(const struct world *w, const struct obj *pclq, const struct obj *pod);
/* A gated pod waits for nobody any more: it is about to be let go. */
bool gate_opens(const struct world *w, struct arena *a, const struct obj *pcs,
                const struct obj *pclq, const struct obj *pod);

#endif
