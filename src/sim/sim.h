/*
 * A control plane under virtual time: the same assembly as `grove up`, memory store, no HTTP, no
 * threads. A run is a function of its seed: same seed, same log, byte for byte.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "sim/plane.h"

struct sim;

struct sim_options {
    uint64_t seed;
    unsigned nodes; /* 0: 20 */
    bool tainted;
};

struct sim *sim_new(const struct sim_options *o, struct err *err);
void sim_free(struct sim *s);

/* User's actions; each returns when it is answered. 0 or the error. */
int sim_apply(struct sim *s, str yaml, struct err *err);
int sim_scale(struct sim *s, const struct kind *k, str ns, str name, int64_t replicas,
              struct err *err);
int sim_delete(struct sim *s, const struct kind *k, str ns, str name, struct err *err);

/* Runs until the controllers have had nothing to do for a second of virtual time; false when that
 * takes longer than `limit`. */
bool sim_settle(struct sim *s, usec limit);
usec sim_now(struct sim *s);
/* What stands in the store. */
struct obj *sim_get(struct sim *s, const struct kind *k, str ns, str name);
size_t sim_count(struct sim *s, const struct kind *k, bool (*matches)(const struct obj *o));
/* Every plan with writes, in order. */
str sim_log(const struct sim *s);

#endif
