/*
 * How well a gang is placed. The distance between two pods is that of the narrowest domain they
 * share: the same host 0, then 1, 4, 16, ... from the narrowest level up, four times that of the
 * broadest where they share none. The cost of a part is the mean over its pairs; ideal is the cost
 * it would have alone in the cluster as it was installed. The score is the mean of (ideal + 1) /
 * (cost + 1) over the gang, its bundles and its groups, weighed by their pods: 1 is as good as can
 * be.
 */
#ifndef SCHED_PLACE_SCORE_H
#define SCHED_PLACE_SCORE_H

#include "sched/model/ask.h"

/* Four digits; below 0 when it has no pods on nodes. */
double score_of(const struct ask *q, struct tables *t);
/* The narrowest level whose domain holds all these nodes; 0: none does. */
int score_level(const struct tables *t, int32_t tree, const int32_t *nodes, size_t n);
/* "placed in one KEY", and where its parts are that had a wish. */
str score_text(const struct ask *q, struct tables *t, struct arena *a);

#endif
