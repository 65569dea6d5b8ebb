/* What the planner of sets makes for others. */
#ifndef OPERATOR_SET_PODCLIQUESET_H
#define OPERATOR_SET_PODCLIQUESET_H

#include "grove/make.h"

/* Repairs what drifted in a scaling group of the set; how many replicas it has belongs to users. */
void pcs_keep_group(const struct world *w, const struct obj *pcs, const struct obj *pcsg,
                    unsigned stage, struct plan *p);

#endif
