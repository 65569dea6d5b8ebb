/* What a PodCliqueSet has beside cliques and gangs: service account, role, binding, the token of
 * init containers where some clique waits for another, and a headless Service per replica. */
#ifndef OPERATOR_SET_CHILDREN_H
#define OPERATOR_SET_CHILDREN_H

#include "grove/make.h"

/* Makes what is missing and repairs the small objects that there is one of. */
void children_plan(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p);

/* Repairs a Service of the set, or removes it when its replica is not wanted. */
void children_keep_service(const struct world *w, const struct obj *pcs, const struct obj *service,
                           unsigned stage, struct plan *p);

#endif
