/* Seeded generator (xoshiro256**): simulations and property tests only. Production randomness is
 * getrandom(2) behind the loop; see loop/loop.h. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include "base/base.h"

struct rng {
    uint64_t s[4];
};

void rng_seed(struct rng *r, uint64_t seed);
uint64_t rng_u64(struct rng *r);
/* Uniform in [0, n); n > 0. */
uint64_t rng_below(struct rng *r, uint64_t n);
bool rng_chance(struct rng *r, unsigned percent);
void rng_bytes(struct rng *r, void *p, size_t n);

#endif
