/*
 * How many pods each index of a clique has had, so that no name is given to two of them: the n of
 * name_pod. Kept in the clique's status (podsPerIndex) as ranges in the manner of a Job's
 * completedIndexes, "0-2:1,3:4,4-9:1": index 3 has had four pods, the others one.
 *
 * The count of an index goes up when a pod of that number has been seen, not when it is asked for:
 * a create that is repeated, by whichever process, has the same name.
 */
#ifndef OPERATOR_COMMON_FILLS_H
#define OPERATOR_COMMON_FILLS_H

#include "base/arena.h"
#include "base/vec.h"

struct fills {
    VEC(uint32_t) had; /* by index */
};

/* From the text in a status, which anybody may have written: it counts up to where it makes no
 * sense. */
void fills_read(struct fills *f, str text);
void fills_done(struct fills *f);
unsigned fills_of(const struct fills *f, int64_t index);
/* It has had at least so many. */
void fills_note(struct fills *f, int64_t index, unsigned had);
/* At most FILLS_RANGES of them: where there would be more, neighbours are told with the larger
 * count, which costs some of them a few names. Lives in the arena. */
str fills_text(const struct fills *f, struct arena *a);

enum { FILLS_RANGES = 512, FILLS_MAX = 1 << 20 };

#endif
