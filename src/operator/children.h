/* What a PodCliqueSet has beside cliques and gangs: service account, role, binding, the token of
 * init containers where some clique waits for another, and a headless Service per replica. */
#ifndef OPERATOR_CHILDREN_H
#define OPERATOR_CHILDREN_H

#include "operator/make.h"

void children_plan(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p);

#endif
