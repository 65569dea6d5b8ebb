/* Random small sets: one shape per run, any number of versions of it. */
#ifndef SIM_RANDOM_SET_H
#define SIM_RANDOM_SET_H

#include "base/rng.h"
#include "json/doc.h"

enum { RANDOM_CLIQUES = 4 };

/* What may not change once a set exists. Cliques: standalone ones first, then members. */
struct random_shape {
    size_t alone, members; /* cliques; members 0: no group */
    int64_t replicas[RANDOM_CLIQUES], min[RANDOM_CLIQUES];
    int64_t group_replicas, group_min, set_replicas;
    size_t names;                   /* characters of each name; 0: few */
    const char *startup;            /* type: AnyOrder, InOrder, Explicit */
    unsigned after[RANDOM_CLIQUES]; /* a bit for each clique that this one starts after */
};

/* With short names. */
void random_shape(struct rng *r, struct random_shape *ret);
/* A version of it: images, strategy (of the list given), how many may be missing or at work; one
 * that is not the last may be paused, or slow to be ready; any may be slow to stop. */
struct doc *random_version(struct rng *r, const struct random_shape *s, jval strategies, bool last);

#endif
