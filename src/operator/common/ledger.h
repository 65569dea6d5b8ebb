/*
 * The availability ledger (one for all): every path that takes away a serving pod or replica asks
 * here, so that no two of them spend the same budget.
 *
 *   free = available - floor
 *   available   units that serve now: not terminating, no delete of theirs in an accepted plan
 *   floor       max(0, min(minAvailable, desired) - what an update under way may take)
 *
 * The unit of a PodClique is a ready pod; that of a PodCliqueScalingGroup is a replica all of whose
 * cliques have their minimum ready. A write belongs to the component whose UID it carries
 * (plan_write.component_uid): the clique or the group above what it deletes.
 *
 * A plan that takes several units away is judged write by write, those before it included. Planners
 * that want to know beforehand (how many may an update take?) ask for the budget; that is advice,
 * acceptance decides.
 */
#ifndef OPERATOR_COMMON_LEDGER_H
#define OPERATOR_COMMON_LEDGER_H

#include "client/controller.h"

struct budget {
    int64_t available; /* those on their way out left out */
    int64_t going;     /* units that served and are on their way out, as far as can be told */
    int64_t desired, min_available;
    int64_t allowance; /* what an update under way may take; 0: there is none */
    int64_t floor;
    int64_t free; /* how many more may be taken; negative: below the floor already */
};

struct budget ledger_of_clique(const struct world *w, const struct obj *pclq);
struct budget ledger_of_group(const struct world *w, const struct obj *pcsg);

/* For runtime_set_ledger; ctx is not used. */
ledger_fn ledger_check;

#endif
