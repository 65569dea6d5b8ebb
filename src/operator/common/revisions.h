/* Stored revisions of a set's template in plans; what they are and how they are decided is
 * grove/revision.h. */
#ifndef OPERATOR_COMMON_REVISIONS_H
#define OPERATOR_COMMON_REVISIONS_H

#include "grove/make.h"
#include "grove/revision.h"

/* Stores the template when it is new, renumbers one it returned to, forgets the oldest; *ret says
 * what the set and its cliques are called. */
void revisions_plan(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p,
                    struct revision_decision *ret);
/* The stored revision of the template as it is; NULL: not stored yet, and nothing may name it. */
const struct obj *revisions_current(const struct world *w, const struct obj *pcs, struct arena *a);
/* The stored one with this generation hash, this number, or that calls a clique so (the newest);
 * NULL: none. */
const struct obj *revisions_by_hash(const struct world *w, const struct obj *pcs, struct arena *a,
                                    str hash);
const struct obj *revisions_by_number(const struct world *w, const struct obj *pcs, int64_t number);
const struct obj *revisions_naming(const struct world *w, const struct obj *pcs, struct arena *a,
                                   str clique, str hash);
/* The newest one but the current one; NULL: there is none. */
const struct obj *revisions_previous(const struct world *w, const struct obj *pcs,
                                     const struct obj *current);

#endif
