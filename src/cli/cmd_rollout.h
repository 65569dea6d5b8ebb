/* The commands of `grove rollout`, and what they share. All they do to a set can be done by any
 * client: annotations of the set and of its cliques' templates. */
#ifndef CLI_CMD_ROLLOUT_H
#define CLI_CMD_ROLLOUT_H

#include "cli/set_view.h"

extern const struct command cmd_rollout_status, cmd_rollout_history, cmd_rollout_diff;

/* pcs/NAME, pcs NAME or NAME; anything else is wrong usage. */
int rollout_read_target(const struct command_call *call, struct view_target *ret, struct err *err);

/* The name of the set's strategy, also where it does not say. */
const char *rollout_strategy(const struct obj *pcs);

/* Revisions of a set, oldest first. */
struct rollout_history {
    struct obj **items;
    size_t n;
    const struct obj *current; /* says what the set's template says; NULL: not stored yet */
};
void rollout_history(const struct picture *p, const struct obj *pcs, struct arena *a,
                     struct rollout_history *ret);
/* NULL with err when there is none of that number. */
const struct obj *rollout_revision(const struct rollout_history *h, int64_t number,
                                   struct err *err);
/* The one before the current one; NULL with err. */
const struct obj *rollout_previous(const struct rollout_history *h, const struct obj *pcs,
                                   struct err *err);

#endif
