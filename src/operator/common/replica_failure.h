/*
 * The condition ReplicaFailure of cliques, groups and sets, as ReplicaSets and Deployments have it:
 * what they must create, change or delete is refused (by a quota, a limit range, Pod Security, a
 * webhook, a name that somebody else holds). The message has the number of missing pods and the
 * answer of the API server. It goes when what was refused has been done.
 *
 * A clique tells of its own writes, a group also of its cliques, a set also of its groups.
 */
#ifndef OPERATOR_COMMON_REPLICA_FAILURE_H
#define OPERATOR_COMMON_REPLICA_FAILURE_H

#include "operator/common/errors.h"

/* Of a clique that wants so many pods and has so many. */
struct condition failure_of_clique(struct arena *a, struct error_summary own, int64_t wanted,
                                   int64_t there);
/* Of a group or a set. */
struct condition failure_of_owner(const struct world *w, struct arena *a, const struct obj *owner,
                                  struct error_summary own);
/* Is it there? */
bool failure_is_told(const struct condition *c);

#endif
