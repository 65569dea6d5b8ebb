/*
 * gate: the access of the simulated nodes, with some of them dead. What a dead node would write
 * (its own status, what becomes of its pods) does not reach the API; the planner behind it is told
 * that it did, so that it waits for the next change instead of trying again, as a node without
 * power does. Everything else passes.
 *
 * The names of the dead are shared by all gates of a simulation and outlive them.
 */
#ifndef SIM_GATE_H
#define SIM_GATE_H

#include "base/map.h"
#include "client/api.h"
#include "store/store.h"

/* dead: names of nodes. It wraps, it does not own. */
struct api *gate_new(struct loop *l, struct api *inner, const struct store *store,
                     const struct map *dead);

#endif
