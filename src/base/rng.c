/*
 * xoshiro256** with its state filled by splitmix64, as its authors recommend, so that close seeds
 * (1, 2, 3 ...) give unrelated streams.
 */
#include "base/rng.h"

static uint64_t splitmix_next(uint64_t *x)
{
    uint64_t z = (*x += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void rng_seed(struct rng *r, uint64_t seed)
{
    for (size_t i = 0; i < ARRAY_LEN(r->s); i++)
        r->s[i] = splitmix_next(&seed);
}

uint64_t rng_u64(struct rng *r)
{
    uint64_t *s = r->s;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    BUG_ON(n == 0);
    /* Values under 2^64 mod n would make the low results likelier: draw again. */
    uint64_t reject = (0 - n) % n;
    uint64_t v;
    do
        v = rng_u64(r);
    while (v < reject);
    return v % n;
}

bool rng_chance(struct rng *r, unsigned percent)
{
    return rng_below(r, 100) < percent;
}

void rng_bytes(struct rng *r, void *p, size_t n)
{
    unsigned char *out = p;
    while (n > 0) {
        uint64_t v = rng_u64(r);
        size_t k = MIN(n, sizeof(v));
        memcpy(out, &v, k);
        out += k;
        n -= k;
    }
}
