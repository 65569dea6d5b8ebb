/* Arenas: zeroed, aligned, apart from each other; references dropped with them. */
#include "base/arena.h"
#include "base/test.h"

TEST(arena_memory_is_zeroed_aligned_and_disjoint)
{
    struct arena a CLEANUP(arena_done) = ARENA_INIT;
    struct rng *r = test_rng();
    struct {
        unsigned char *p;
        size_t n;
    } made[300];
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        made[i].n = rng_chance(r, 3) ? 5000 + rng_below(r, 100000) : rng_below(r, 200);
        made[i].p = arena_alloc(&a, made[i].n);
        CHECK_INT((uintptr_t)made[i].p % 16, 0);
        for (size_t k = 0; k < made[i].n; k++)
            REQUIRE(made[i].p[k] == 0);
        memset(made[i].p, (int)i, made[i].n);
    }
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        for (size_t k = 0; k < made[i].n; k++)
            REQUIRE(made[i].p[k] == (unsigned char)i);
    }
}

TEST(arena_copies_and_prints_end_in_nul)
{
    struct arena a CLEANUP(arena_done) = ARENA_INIT;
    str s = arena_str(&a, str_n("abcdef", 3));
    CHECK_CSTR(s, "abc");
    CHECK_INT(s.p[3], 0);
    s = arena_printf(&a, "%s-%d", "pod", 12);
    CHECK_CSTR(s, "pod-12");
    CHECK_INT(s.p[6], 0);
    CHECK_CSTR(arena_str(&a, STR_NONE), "");
    CHECK_INT(a.used, 4 + 7 + 1);
}

static void drop_count(void *obj)
{
    ++*(int *)obj;
}

TEST(arena_drops_held_references_once)
{
    struct arena a = ARENA_INIT;
    int first = 0, second = 0;
    CHECK(arena_hold(&a, &first, drop_count) == &first);
    arena_hold(&a, &second, drop_count);
    arena_hold(&a, &second, drop_count);
    CHECK_INT(first, 0);
    arena_clear(&a);
    CHECK_INT(first, 1);
    CHECK_INT(second, 2);
    CHECK_INT(a.used, 0);
    arena_new(&a, int);
    arena_done(&a);
    CHECK_INT(first, 1);
}

TEST(arena_prints_what_fits_the_chunk_and_what_does_not)
{
    struct arena a CLEANUP(arena_done) = ARENA_INIT;
    char long_text[9000];
    memset(long_text, 'x', sizeof(long_text));
    str before = arena_str(&a, STR("before"));
    for (int i = 0; i < 2000; i++)
        CHECK_CSTR(arena_printf(&a, "%d-%s", 7, "ab"), "7-ab");
    str s = arena_printf(&a, "%.*s", (int)sizeof(long_text), long_text);
    CHECK_STR(s, str_n(long_text, sizeof(long_text)));
    CHECK_CSTR(before, "before");
}

TEST(arena_writes_numbers_and_joins_pieces)
{
    struct arena a CLEANUP(arena_done) = ARENA_INIT;
    CHECK_CSTR(arena_int(&a, 0), "0");
    CHECK_CSTR(arena_int(&a, -7), "-7");
    CHECK_CSTR(arena_int(&a, INT64_MIN), "-9223372036854775808");
    CHECK_CSTR(arena_int(&a, INT64_MAX), "9223372036854775807");
    CHECK_CSTR(arena_uint(&a, UINT64_MAX), "18446744073709551615");
    CHECK_CSTR(arena_cat(&a, STR("ns"), STR("/"), STR_NONE, STR("name")), "ns/name");
    CHECK_CSTR(arena_join(&a, NULL, 0), "");
}
