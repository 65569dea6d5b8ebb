/* Growing buffers: the maximum, the NUL behind the text, printf on the border. */
#include "base/strbuf.h"
#include "base/test.h"

TEST(strbuf_builds_text)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(1000);
    strbuf_add_cstr(&b, "a=");
    strbuf_add_int(&b, INT64_MIN);
    strbuf_add_char(&b, ' ');
    strbuf_add_uint(&b, UINT64_MAX);
    strbuf_add_uint(&b, 0);
    strbuf_printf(&b, " %s-%d", "x", 7);
    strbuf_add_str(&b, STR_NONE);
    CHECK_CSTR(strbuf_str(&b), "a=-9223372036854775808 184467440737095516150 x-7");
    CHECK_INT(b.p[b.len], 0);
    CHECK(!b.overflow);
}

TEST(strbuf_overflow_drops_the_whole_append_and_sticks)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(5);
    strbuf_add_cstr(&b, "abc");
    strbuf_add_cstr(&b, "def");
    CHECK_CSTR(strbuf_str(&b), "abc");
    CHECK(b.overflow);
    strbuf_add_cstr(&b, "de");
    CHECK_CSTR(strbuf_str(&b), "abcde");
    CHECK(b.overflow);
    strbuf_printf(&b, "%d", 1);
    strbuf_add_int(&b, -1);
    CHECK_CSTR(strbuf_str(&b), "abcde");
    CHECK_INT(b.p[b.len], 0);
    strbuf_reset(&b);
    CHECK(!b.overflow && b.len == 0);
    CHECK(strbuf_reserve(&b, 6) == NULL);
    CHECK(strbuf_reserve(&b, SIZE_MAX) == NULL);
}

TEST(strbuf_printf_is_whole_or_nothing_at_every_length)
{
    for (size_t max = 0; max < 200; max++) {
        struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(max);
        strbuf_add_cstr(&b, "");
        strbuf_printf(&b, "%0100d", 1);
        CHECK_INT(b.len, max >= 100 ? 100 : 0);
        CHECK_INT(b.overflow, max < 100);
        if (b.p)
            CHECK_INT(strlen(b.p), b.len);
    }
}

TEST(strbuf_consume_and_detach)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(100);
    strbuf_add_cstr(&b, "hello world");
    strbuf_consume(&b, 6);
    CHECK_CSTR(strbuf_str(&b), "world");
    strbuf_consume(&b, 5);
    CHECK_INT(b.len, 0);
    strbuf_add_cstr(&b, "x");
    size_t len = 0;
    char *p = strbuf_detach(&b, &len);
    CHECK_INT(len, 1);
    CHECK_CSTR(str_of(p), "x");
    CHECK(b.p == NULL && b.max == 100);
    free(p);
    p = strbuf_detach(&b, &len);
    CHECK(len == 0 && p[0] == '\0');
    free(p);
}

TEST(strbuf_matches_a_plain_copy)
{
    struct rng *r = test_rng();
    for (size_t n = test_cases(200); n > 0; n--) {
        size_t max = rng_below(r, 3000);
        struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(max);
        char copy[3000];
        size_t len = 0;
        for (int step = 0; step < 30; step++) {
            char piece[256];
            size_t k = rng_below(r, sizeof(piece));
            rng_bytes(r, piece, k);
            strbuf_add(&b, piece, k);
            if (len + k <= max) {
                memcpy(copy + len, piece, k);
                len += k;
            }
        }
        REQUIRE(b.len == len && (len == 0 || memcmp(b.p, copy, len) == 0));
    }
}
