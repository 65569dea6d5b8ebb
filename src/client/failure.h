/*
 * What the writes of a key failed with the last time, for planners to report (world_last_failure in
 * controller.h). Only answers that say something is wrong with the world count: those that merely
 * mean that a cache was behind (conflict, already there, gone) do not.
 *
 * Bounded: one of each operation and kind, FAILURES_MAX of them, texts cut to FAILURE_TEXT_MAX. One
 * allocation, freed with free().
 */
#ifndef CLIENT_FAILURE_H
#define CLIENT_FAILURE_H

#include "client/plan.h"

enum { FAILURES_MAX = 8, FAILURE_TEXT_MAX = 512 };

/* A write, and what came of it. */
struct failure {
    enum plan_op op;
    const struct kind *kind;
    str ns, name;
    int code;            /* 0: no answer came, or none that says whether it was done */
    str reason, message; /* as the API gave them; may be empty */
};

struct failures {
    unsigned row; /* plans in a row that failed so */
    size_t n;
    struct failure items[FAILURES_MAX]; /* in the order they were answered */
};

/* Adds the answer of a write, unless there is one of its operation and kind; texts are copied. */
void failures_note(struct failures *f, struct arena *a, const struct plan_write *w,
                   const struct api_reply *reply);
/* A copy that lives by itself, one longer in the row than `before`, which is freed and may be NULL.
 */
struct failures *failures_keep(const struct failures *f, struct failures *before);
/* Worth being told: an answer that will not change by itself, or the third time in a row of any. */
bool failures_matter(const struct failures *f);

#endif
