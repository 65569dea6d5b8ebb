/*
 * slots: which small numbers are in use, each any number of times: pod indices of a clique, replica
 * indices of a group. Made for folds (cache.h): zeroed memory is an empty set, and remove undoes
 * add. Numbers outside 0 .. SLOTS_MAX - 1 are ignored: they come from labels, which anybody may
 * write.
 *
 * add and remove are O(1) (growing aside), the lowest free number O(how far below it the set was
 * dense), 4 bytes per number up to the highest ever used.
 */
#ifndef CLIENT_SLOTS_H
#define CLIENT_SLOTS_H

#include "base/vec.h"

#define SLOTS_MAX (1 << 20)

struct slots {
    VEC(uint32_t) uses; /* by number */
    size_t len;         /* different numbers in use */
};

void slots_add(struct slots *s, int64_t number);
/* It must have been added. */
void slots_remove(struct slots *s, int64_t number);
void slots_done(struct slots *s);
/* How many times it is in use. */
unsigned slots_uses(const struct slots *s, int64_t number);
/* The lowest number from `from` on that is not in use: the first hole, then the next ones by
 * calling again with the answer + 1. */
int64_t slots_free_from(const struct slots *s, int64_t from);
/* The lowest number from `from` on that is in use; -1: none. In order:
 * for (int64_t i = slots_next(s, 0); i >= 0; i = slots_next(s, i + 1)) */
int64_t slots_next(const struct slots *s, int64_t from);

#endif
