/* The hash map against a plain array, and its promises about keys, NULL values and iteration. */
#include "base/map.h"
#include "base/test.h"

enum { KEYS = 400 };

struct model {
    char names[KEYS][8];
    void *values[KEYS];
    bool present[KEYS];
    size_t len;
};

static str key_of(const struct model *m, size_t i)
{
    return str_of(m->names[i]);
}

static void check_same(const struct map *map, const struct model *m)
{
    REQUIRE(map->len == m->len);
    for (size_t i = 0; i < KEYS; i++) {
        REQUIRE(map_has(map, key_of(m, i)) == m->present[i]);
        REQUIRE(map_get(map, key_of(m, i)) == (m->present[i] ? m->values[i] : NULL));
    }
    size_t seen = 0;
    str key;
    void *value;
    for (size_t it = 0; map_next(map, &it, &key, &value); seen++) {
        uint64_t i = 0;
        REQUIRE(str_to_uint(str_sub(key, 1, key.len), &i) && i < KEYS);
        REQUIRE(m->present[i] && m->values[i] == value);
    }
    REQUIRE(seen == m->len);
}

static void change(struct map *map, struct model *m, struct rng *r, unsigned put_percent)
{
    size_t i = rng_below(r, KEYS);
    void *was = m->present[i] ? m->values[i] : NULL;
    if (rng_chance(r, put_percent)) {
        void *value = rng_chance(r, 5) ? NULL : &m->names[rng_below(r, KEYS)];
        REQUIRE(map_put(map, key_of(m, i), value) == was);
        m->len += !m->present[i];
        m->present[i] = true;
        m->values[i] = value;
    } else {
        REQUIRE(map_del(map, key_of(m, i)) == was);
        m->len -= m->present[i];
        m->present[i] = false;
    }
}

TEST(map_behaves_like_an_array)
{
    struct rng *r = test_rng();
    static struct model m;
    for (size_t n = test_cases(20); n > 0; n--) {
        struct map map CLEANUP(map_done) = MAP_INIT;
        map_set_seed(rng_u64(r));
        memset(&m, 0, sizeof(m));
        for (int i = 0; i < KEYS; i++)
            (void)snprintf(m.names[i], sizeof(m.names[i]), "k%d", i);
        for (int step = 0; step < 2000; step++) {
            change(&map, &m, r, step / 500 % 2 ? 20 : 70);
            if (step % 100 == 0)
                check_same(&map, &m);
        }
        check_same(&map, &m);
    }
}

TEST(map_empty_one_answers)
{
    struct map m = MAP_INIT;
    size_t it = 0;
    CHECK(map_get(&m, STR("x")) == NULL && !map_has(&m, STR("")));
    CHECK(map_del(&m, STR("x")) == NULL && !map_next(&m, &it, NULL, NULL));
    map_done(&m);
}

TEST(map_put_replaces_the_key_slice_too)
{
    struct map m CLEANUP(map_done) = MAP_INIT;
    char one[] = "same", two[] = "same";
    int value = 0;
    map_put(&m, str_of(one), &value);
    map_put(&m, str_of(two), &value);
    one[0] = 'X';
    CHECK(map_has(&m, STR("same")));
    CHECK_INT(m.len, 1);
}

TEST(map_survives_a_new_seed)
{
    struct map m CLEANUP(map_done) = MAP_INIT;
    int value = 0;
    map_set_seed(1);
    map_put(&m, STR("a"), &value);
    map_set_seed(2);
    map_put(&m, STR("b"), &value);
    CHECK(map_has(&m, STR("a")) && map_has(&m, STR("b")));
}

TEST(map_keys_may_hold_any_bytes)
{
    struct map m CLEANUP(map_done) = MAP_INIT;
    int a = 0, b = 0;
    map_put(&m, str_n("x\0y", 3), &a);
    map_put(&m, STR(""), &b);
    CHECK(map_get(&m, str_n("x\0y", 3)) == &a);
    CHECK(map_get(&m, str_n("x\0z", 3)) == NULL);
    CHECK(map_get(&m, STR_NONE) == &b);
}
