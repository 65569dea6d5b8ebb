/* Base64: the vectors of RFC 4648, strictness, round trips. */
#include "base/b64.h"
#include "base/test.h"

static bool decodes(const char *text, unsigned flags, struct strbuf *b)
{
    strbuf_reset(b);
    return b64_decode(str_of(text), flags, b);
}

TEST(b64_rfc_vectors)
{
    static const struct {
        const char *plain, *padded, *bare;
    } rows[] = {
        {"", "", ""},
        {"f", "Zg==", "Zg"},
        {"fo", "Zm8=", "Zm8"},
        {"foo", "Zm9v", "Zm9v"},
        {"foob", "Zm9vYg==", "Zm9vYg"},
        {"fooba", "Zm9vYmE=", "Zm9vYmE"},
        {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
    };
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(100);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        strbuf_reset(&b);
        b64_encode(str_of(rows[i].plain), B64_STD, &b);
        CHECK_CSTR(strbuf_str(&b), rows[i].padded);
        strbuf_reset(&b);
        b64_encode(str_of(rows[i].plain), B64_URL | B64_NO_PAD, &b);
        CHECK_CSTR(strbuf_str(&b), rows[i].bare);
        CHECK(decodes(rows[i].padded, B64_STD, &b));
        CHECK_CSTR(strbuf_str(&b), rows[i].plain);
        CHECK(decodes(rows[i].bare, B64_NO_PAD, &b));
        CHECK_CSTR(strbuf_str(&b), rows[i].plain);
    }
}

TEST(b64_alphabets_are_apart)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(100);
    b64_encode(str_n("\xfb\xff\xfe", 3), B64_STD, &b);
    CHECK_CSTR(strbuf_str(&b), "+//+");
    strbuf_reset(&b);
    b64_encode(str_n("\xfb\xff\xfe", 3), B64_URL, &b);
    CHECK_CSTR(strbuf_str(&b), "-__-");
    CHECK(!decodes("-__-", B64_STD, &b) && !decodes("+//+", B64_URL, &b));
    CHECK(decodes("-__-", B64_URL, &b));
    CHECK_STR(strbuf_str(&b), str_n("\xfb\xff\xfe", 3));
}

TEST(b64_decode_is_strict)
{
    static const char *const bad[] = {"Z",     "Zg",       "Zg=",     "Zg===", "Zm8",  "Zm8==",
                                      "Zm9v=", "Zg==Zg==", "Zh==",    "Zm9=",  "Z g=", "Zg==\n",
                                      "=",     "====",     "Zm\xffv", "Z=g="};
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(100);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        if (!CHECK(!decodes(bad[i], B64_STD, &b)))
            test_note("\"%s\"", bad[i]);
        CHECK_INT(b.len, 0);
    }
    CHECK(!decodes("Zg==", B64_NO_PAD, &b) && !decodes("Z", B64_NO_PAD, &b));
    CHECK(!decodes("Zh", B64_NO_PAD, &b));
    CHECK(decodes("Zm9v\r\nYg=\n=\n", B64_NEWLINES, &b));
    CHECK_CSTR(strbuf_str(&b), "foob");
}

TEST(b64_respects_the_buffer_limit)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(3);
    b64_encode(STR("foo"), B64_STD, &b);
    CHECK(b.overflow && b.len == 0);
    CHECK(!decodes("Zm9vYmFy", B64_STD, &b) && b.len == 0);
}

TEST(b64_round_trip)
{
    struct rng *r = test_rng();
    struct strbuf text CLEANUP(strbuf_done) = STRBUF_INIT(1000);
    struct strbuf back CLEANUP(strbuf_done) = STRBUF_INIT(1000);
    for (size_t n = test_cases(5000); n > 0; n--) {
        char bytes[100];
        str in = str_n(bytes, rng_below(r, sizeof(bytes)));
        unsigned flags = (unsigned)rng_below(r, 4);
        rng_bytes(r, bytes, in.len);
        strbuf_reset(&text);
        strbuf_reset(&back);
        b64_encode(in, flags, &text);
        REQUIRE(b64_decode(strbuf_str(&text), flags, &back));
        REQUIRE(str_eq(strbuf_str(&back), in));
    }
}
