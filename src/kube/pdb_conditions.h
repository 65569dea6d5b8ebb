/* The condition of a PodDisruptionBudget, which its controller and evictions both write. */
#ifndef KUBE_PDB_CONDITIONS_H
#define KUBE_PDB_CONDITIONS_H

#include "json/write.h"

#define PDB_CONDITION "DisruptionAllowed"
/* "conditions":[...], those given with this one changed; now: when that is. */
void pdb_put_conditions(struct jw *out, jval conditions, const char *reason, bool allowed,
                        str message, int64_t generation, str now);

#endif
