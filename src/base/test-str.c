/* Slices: order, search, cutting, numbers, UTF-8 and names. */
#include "base/str.h"
#include "base/test.h"

TEST(str_order_is_bytewise_and_prefix_sorts_first)
{
    CHECK_INT(str_cmp(STR("a"), STR("b")), -1);
    CHECK_INT(str_cmp(STR("b"), STR("a")), 1);
    CHECK_INT(str_cmp(STR("ab"), STR("a")), 1);
    CHECK_INT(str_cmp(STR_NONE, STR("")), 0);
    CHECK_INT(str_cmp(STR("\xff"), STR("a")), 1);
}

TEST(str_counted_order_is_that_of_numbers)
{
    static const char *const rising[] = {"",
                                         "a",
                                         "a-0",
                                         "a-0-b-9",
                                         "a-0-b-10",
                                         "a-02",
                                         "a-2",
                                         "a-2-x",
                                         "a-10",
                                         "a-10a",
                                         "a-99999999999999999999",
                                         "a-100000000000000000000",
                                         "b"};
    for (size_t i = 0; i < ARRAY_LEN(rising); i++)
        for (size_t k = 0; k < ARRAY_LEN(rising); k++) {
            int c = str_cmp_counted(str_of(rising[i]), str_of(rising[k]));
            if (!CHECK_INT((c > 0) - (c < 0), (i > k) - (i < k)))
                test_note("%s and %s", rising[i], rising[k]);
        }
}

TEST(str_search_and_cut)
{
    CHECK_INT(str_find(STR("hello"), STR("ll")), 2);
    CHECK_INT(str_find(STR("hello"), STR("")), 0);
    CHECK_INT(str_find(STR("hello"), STR("hello!")), -1);
    CHECK_INT(str_find(STR_NONE, STR("x")), -1);
    CHECK_INT(str_find_char(STR("a/b/c"), '/'), 1);
    CHECK_INT(str_rfind_char(STR("a/b/c"), '/'), 3);
    CHECK_INT(str_rfind_char(STR("abc"), '/'), -1);
    CHECK(str_starts(STR("abc"), STR("ab")) && !str_starts(STR("a"), STR("ab")));
    CHECK(str_ends(STR("abc"), STR("bc")) && !str_ends(STR("c"), STR("bc")));
    CHECK_CSTR(str_sub(STR("hello"), 1, 3), "el");
    CHECK_CSTR(str_sub(STR("hello"), 4, 99), "o");
    CHECK_CSTR(str_sub(STR("hello"), 7, 9), "");
    CHECK_CSTR(str_trim(STR(" \t a b\r\n")), "a b");
    CHECK_CSTR(str_trim(STR(" \t ")), "");
}

TEST(str_cut_tells_an_empty_rest_from_no_separator)
{
    str rest = STR("a,,b");
    CHECK_CSTR(str_cut(&rest, ','), "a");
    CHECK_CSTR(str_cut(&rest, ','), "");
    CHECK_CSTR(str_cut(&rest, ','), "b");
    CHECK(rest.p == NULL);
    rest = STR("a,");
    CHECK_CSTR(str_cut(&rest, ','), "a");
    CHECK(rest.p != NULL && rest.len == 0);
}

TEST(str_numbers_at_the_borders)
{
    int64_t i = 7;
    uint64_t u = 7;
    CHECK(str_to_int(STR("9223372036854775807"), &i) && i == INT64_MAX);
    CHECK(str_to_int(STR("-9223372036854775808"), &i) && i == INT64_MIN);
    CHECK(!str_to_int(STR("9223372036854775808"), &i));
    CHECK(!str_to_int(STR("-9223372036854775809"), &i));
    CHECK(str_to_uint(STR("18446744073709551615"), &u) && u == UINT64_MAX);
    CHECK(!str_to_uint(STR("18446744073709551616"), &u));
    static const char *const bad[] = {"", "-", "+1", " 1", "1 ", "0x1", "1.0", "--1"};
    for (size_t k = 0; k < ARRAY_LEN(bad); k++) {
        CHECK(!str_to_int(str_of(bad[k]), &i));
        CHECK(!str_to_uint(str_of(bad[k]), &u));
    }
    CHECK(!str_to_uint(STR("-1"), &u));
    CHECK_INT(i, INT64_MIN);
}

TEST(str_utf8_accepts_well_formed_only)
{
    static const struct {
        const char *text;
        bool good;
    } rows[] = {
        {"", true},
        {"plain ascii, more than eight bytes", true},
        {"eight..\xc3\xa9 after a word border", true},
        {"\xe2\x82\xac", true},
        {"\xf0\x9f\x8c\xb3", true},
        {"\xf4\x8f\xbf\xbf", true},
        {"\xc0\xaf", false},         /* overlong */
        {"\xe0\x80\xaf", false},     /* overlong */
        {"\xed\xa0\x80", false},     /* surrogate */
        {"\xf4\x90\x80\x80", false}, /* above U+10FFFF */
        {"\xf5\x80\x80\x80", false},
        {"\x80", false},
        {"abc\xe2\x82", false}, /* cut */
        {"\xe2\x28\xa1", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (!CHECK_INT(str_is_utf8(str_of(rows[i].text)), rows[i].good))
            test_note("row %zu", i);
    }
}

static str repeat(char *room, char c, size_t n)
{
    memset(room, c, n);
    return str_n(room, n);
}

TEST(str_names_follow_kubernetes)
{
    char room[300];
    CHECK(str_is_dns1123_label(STR("a-1")) && str_is_dns1123_label(STR("1a")));
    CHECK(!str_is_dns1123_label(STR("A")) && !str_is_dns1123_label(STR("-a")));
    CHECK(!str_is_dns1123_label(STR("a-")) && !str_is_dns1123_label(STR("a.b")));
    CHECK(!str_is_dns1123_label(STR("")));
    CHECK(str_is_dns1123_label(repeat(room, 'a', 63)));
    CHECK(!str_is_dns1123_label(repeat(room, 'a', 64)));
    CHECK(str_is_dns1035_label(STR("a1")) && !str_is_dns1035_label(STR("1a")));
    CHECK(str_is_dns1123_subdomain(STR("a.b-c.1")));
    CHECK(!str_is_dns1123_subdomain(STR("a..b")) && !str_is_dns1123_subdomain(STR(".a")));
    CHECK(!str_is_dns1123_subdomain(STR("a.")) && !str_is_dns1123_subdomain(STR("a_b")));
    CHECK(str_is_dns1123_subdomain(repeat(room, 'a', 253)));
    CHECK(!str_is_dns1123_subdomain(repeat(room, 'a', 254)));
    CHECK(str_is_label_value(STR("")) && str_is_label_value(STR("A_b.c-1")));
    CHECK(!str_is_label_value(STR("_a")) && !str_is_label_value(STR("a b")));
    CHECK(!str_is_label_value(repeat(room, 'a', 64)));
    CHECK(str_is_qualified_name(STR("name")) && str_is_qualified_name(STR("grove.io/Role_x")));
    CHECK(!str_is_qualified_name(STR("/x")) && !str_is_qualified_name(STR("grove.io/")));
    CHECK(!str_is_qualified_name(STR("a/b/c")) && !str_is_qualified_name(STR("A.io/x")));
}

TEST(str_dup_ends_in_nul)
{
    char *p = str_dup(str_n("abcdef", 3));
    CHECK_CSTR(str_of(p), "abc");
    free(p);
    p = str_dup(STR_NONE);
    CHECK_INT(strlen(p), 0);
    free(p);
}

TEST(str_hash_depends_on_bytes_and_seed)
{
    CHECK(str_hash(STR("a"), 1) != str_hash(STR("b"), 1));
    CHECK(str_hash(STR("a"), 1) != str_hash(STR("a"), 2));
    CHECK(str_hash(STR(""), 1) == str_hash(STR_NONE, 1));
}
