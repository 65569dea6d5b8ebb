/* Disruption budgets: what third parties (drains, evictions) may take from a clique is what the
 * ledger would let us take; one per clique, named like it. */
#ifndef OPERATOR_SET_PDB_H
#define OPERATOR_SET_PDB_H

#include "grove/make.h"

/* That of a clique which `owner`, the set or a scaling group of it, owns: made, or repaired. */
void pdb_ensure(const struct world *w, const struct obj *pcs, const struct obj *owner,
                const struct obj *pclq, unsigned stage, struct plan *p);
/* Removes one whose replica is not wanted any more. */
void pdb_keep(const struct world *w, const struct obj *owner, const struct obj *pdb, unsigned stage,
              struct plan *p);
/* Pods of a clique that must stay: min(minAvailable, replicas), less what an active update may
 * take. */
int64_t pdb_floor(const struct obj *pclq, int64_t update_takes);

#endif
