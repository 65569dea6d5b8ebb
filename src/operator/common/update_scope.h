/*
 * What an update is about: the cliques whose template it changes. A scaling group is in scope when
 * one of its cliques is.
 *
 * Decided when an update begins, and recorded, for in the end nothing tells any more: in the set's
 * updateProgress (updatedStandalonePodCliques, updatedPodCliqueScalingGroups), and for each group
 * in its own (changedPodCliques). A coherent update decides by its maps instead, which also know
 * what was left of another strategy (coherent_update.c); it marks its decision with
 * scopeGenerationHash.
 *
 * Pure functions of stored revisions.
 */
#ifndef OPERATOR_COMMON_UPDATE_SCOPE_H
#define OPERATOR_COMMON_UPDATE_SCOPE_H

#include "operator/common/update.h"

enum { UPDATE_ORIGINS = 3 };

/* What an update starts from: revisions that something of it may be of. */
struct update_origin {
    const struct obj *revisions[UPDATE_ORIGINS];
    size_t n; /* 0: nothing is known, and everything counts as changed */
};

/* The revision with this hash joins, if it is stored. */
void update_origin_add(struct update_origin *o, const struct world *w, struct arena *a,
                       const struct obj *pcs, str hash);
/* One of them calls the clique otherwise than the target does. */
bool update_changes(const struct update_origin *o, const struct obj *target, str clique);

/* Is it on a list of names? */
bool update_lists(jval list, str name);

/* Of a set, when its update begins: writes both lists. What an update before this one was about and
 * had not brought to an end is in scope too. */
void update_write_scope(const struct update_work *u, struct jw *w);
/* Is the component in scope, as the progress has it? False too while nobody has said. */
bool update_in_scope(jval progress, bool group, str name);

#endif
