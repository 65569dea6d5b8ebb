/* The generator against the published outputs of its algorithm. */
#include "base/rng.h"
#include "base/test.h"

TEST(rng_is_xoshiro256starstar)
{
    struct rng r = {{1, 2, 3, 4}};
    CHECK(rng_u64(&r) == 11520);
    CHECK(rng_u64(&r) == 0);
    CHECK(rng_u64(&r) == 1509978240);
    CHECK(rng_u64(&r) == 1215971899390074240u);
}

TEST(rng_seed_is_splitmix64)
{
    struct rng r;
    rng_seed(&r, 1234567);
    CHECK(r.s[0] == 6457827717110365317u);
    CHECK(r.s[1] == 3203168211198807973u);
    CHECK(r.s[2] == 9817491932198370423u);
}

TEST(rng_below_is_in_range_and_reaches_all)
{
    struct rng r;
    unsigned hits[7] = {0};
    rng_seed(&r, 1);
    for (int i = 0; i < 7000; i++) {
        uint64_t v = rng_below(&r, 7);
        REQUIRE(v < 7);
        hits[v]++;
    }
    for (size_t i = 0; i < ARRAY_LEN(hits); i++)
        CHECK(hits[i] > 800 && hits[i] < 1200);
    CHECK_INT(rng_below(&r, 1), 0);
    CHECK(!rng_chance(&r, 0) && rng_chance(&r, 100));
}

TEST(rng_bytes_repeat_with_the_seed)
{
    struct rng a, b;
    char x[21], y[21];
    rng_seed(&a, 5);
    rng_seed(&b, 5);
    rng_bytes(&a, x, sizeof(x));
    rng_bytes(&b, y, sizeof(y));
    CHECK(memcmp(x, y, sizeof(x)) == 0);
    rng_bytes(&a, x, sizeof(x));
    CHECK(memcmp(x, y, sizeof(x)) != 0);
}
