/* Hashes and UUIDs against published values. */
#include "base/hash.h"
#include "base/test.h"
#include "base/uuid.h"

TEST(hash_fnv1a_published_values)
{
    CHECK(hash_fnv1a64(STR("")) == 0xcbf29ce484222325u);
    CHECK(hash_fnv1a64(STR("a")) == 0xaf63dc4c8601ec8cu);
    CHECK(hash_fnv1a64(STR("foobar")) == 0x85944171f73967e8u);
    CHECK(hash_fnv1a32(STR("a")) == 0xe40c292cu);
    CHECK(hash_fnv1a32(STR("foobar")) == 0xbf9cf968u);
}

TEST(hash_crc32c_published_values)
{
    static const char zeros[32];
    CHECK(hash_crc32c(0, STR("123456789")) == 0xe3069283u);
    CHECK(hash_crc32c(0, str_n(zeros, 32)) == 0x8a9136aau); /* RFC 3720 B.4 */
    CHECK(hash_crc32c(0, STR("")) == 0);
    CHECK(hash_crc32c(hash_crc32c(0, STR("1234")), STR("56789")) == 0xe3069283u);
}

TEST(hash_sha256_published_values)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(100);
    uint8_t digest[SHA256_SIZE];
    hash_sha256(STR("abc"), digest);
    hash_add_hex(&b, digest, sizeof(digest));
    CHECK_CSTR(strbuf_str(&b), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    strbuf_reset(&b);
    hash_sha256(STR_NONE, digest);
    hash_add_hex(&b, digest, sizeof(digest));
    CHECK_CSTR(strbuf_str(&b), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(hash_safe_text_takes_each_byte_modulo_27)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(100);
    /* '0' = 48 = 21 + 27, 'a' = 97 = 16 + 81, 0x1b = 27, 0xff = 255 = 12 + 243 */
    hash_add_safe(&b, str_n("0a\x1b\xff", 4));
    CHECK_CSTR(strbuf_str(&b), "4vbq");
    CHECK_INT(hash_safe_char(26), '9');
    CHECK_INT(hash_safe_char(27), 'b');
}

TEST(uuid_v4_sets_version_and_variant)
{
    uint8_t ones[UUID_SIZE], zeros[UUID_SIZE] = {0}, back[UUID_SIZE];
    char text[UUID_TEXT_LEN + 1];
    memset(ones, 0xff, sizeof(ones));
    uuid_format_v4(ones, text);
    CHECK_CSTR(str_of(text), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    uuid_format_v4(zeros, text);
    CHECK_CSTR(str_of(text), "00000000-0000-4000-8000-000000000000");
    CHECK(uuid_parse(str_of(text), back));
    CHECK(back[6] == 0x40 && back[8] == 0x80 && back[0] == 0);
    CHECK(uuid_parse(STR("01234567-89ab-CDEF-0123-456789abcdef"), back));
    CHECK(back[0] == 0x01 && back[7] == 0xef && back[15] == 0xef);
}

TEST(uuid_refuses_other_texts)
{
    static const char *const bad[] = {"",
                                      "01234567-89ab-cdef-0123-456789abcde",
                                      "01234567-89ab-cdef-0123-456789abcdef0",
                                      "0123456789-ab-cdef-0123-456789abcdef",
                                      "01234567-89ab-cdef-0123-456789abcdeg",
                                      "01234567089ab-cdef-0123-456789abcdef",
                                      "{1234567-89ab-cdef-0123-456789abcde}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        CHECK(!uuid_is_valid(str_of(bad[i])));
}
