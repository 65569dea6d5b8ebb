/* The streaming writer, quoting and printing. */
#include <math.h>

#include "base/test.h"
#include "json/test-random-docs.h"
#include "json/write.h"

TEST(writer_places_commas)
{
    struct doc *other = doc_parse(STR("{ \"x\" : [1, 2] }"), NULL, NULL);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "Pod");
    jw_put_object(&w, "metadata");
    jw_end(&w);
    jw_put_array(&w, "list");
    jw_int(&w, -1);
    jw_uint(&w, UINT64_MAX);
    jw_array(&w);
    jw_end(&w);
    jw_object(&w);
    jw_put_bool(&w, "t", true);
    jw_put_int(&w, "i", INT64_MIN);
    jw_end(&w);
    jw_null(&w);
    jw_bool(&w, false);
    jw_str(&w, STR_NONE);
    jw_val(&w, JVAL_ABSENT);
    jw_raw(&w, STR("{\"r\":1}"));
    jw_printf(&w, "%d \"%s\"", 5, "q");
    jw_end(&w);
    jw_put(&w, "copied", jgetc(doc_root(other), "x"));
    jw_put(&w, "left-out", jgetc(doc_root(other), "y"));
    jw_key(&w, STR("last"));
    jw_val(&w, doc_root(other));
    jw_end(&w);
    struct doc *d = jw_doc(&w);
    CHECK_STR(doc_text(d),
              STR("{\"kind\":\"Pod\",\"metadata\":{},\"list\":[-1,18446744073709551615,[],"
                  "{\"t\":true,\"i\":-9223372036854775808},null,false,\"\",null,{\"r\":1},"
                  "\"5 \\\"q\\\"\"],\"copied\":[1, 2],\"last\":{ \"x\" : [1, 2] }}"));
    CHECK_STR(jstr(jat(jgetc(doc_root(d), "list"), 9)), STR("5 \"q\""));
    doc_unref(d);
    doc_unref(other);
}

TEST(a_writer_may_be_dropped)
{
    struct jw w;
    jw_init(&w);
    jw_array(&w);
    jw_str(&w, STR("never sent"));
    jw_done(&w);
    CHECK(w.out.p == NULL);
}

TEST(writer_nests_to_its_limit)
{
    struct jw w;
    jw_init(&w);
    for (int i = 0; i < JW_MAX_DEPTH; i++)
        if (i % 2)
            jw_array(&w);
        else
            jw_object(&w), jw_key(&w, STR("k"));
    /* The innermost is an array: 64 is even. */
    for (int i = 0; i < JW_MAX_DEPTH; i++)
        jw_end(&w);
    struct doc *d = jw_doc(&w);
    jval v = doc_root(d);
    for (int i = 0; i + 1 < JW_MAX_DEPTH; i++)
        v = jtype(v) == J_OBJECT ? jgetc(v, "k") : jat(v, 0);
    CHECK_INT(jtype(v), J_ARRAY);
    CHECK_INT(jlen(v), 0);
    doc_unref(d);
}

TEST(a_key_written_twice_counts_once)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_int(&w, "a", 1);
    jw_put_int(&w, "a", 2);
    jw_end(&w);
    struct doc *d = jw_doc(&w);
    CHECK_INT(jint(jgetc(doc_root(d), "a"), 0), 2);
    CHECK_INT(jlen(doc_root(d)), 1);
    doc_unref(d);
}

TEST(plain_is_what_is_quoted_byte_for_byte)
{
    /* Each byte at each place of texts of up to two words: a word of eight is judged at once. */
    for (unsigned i = 0; i < 256 * 19 * 19; i++) {
        unsigned c = i % 256;
        size_t at = i / 256 % 19, len = i / 256 / 19 + 1;
        if (at >= len)
            continue;
        bool plain = c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
        char text[20] = "abcdefghijklmnopqrs";
        text[at] = (char)c;
        if (json_is_plain(str_n(text, len)) != plain)
            test_note("byte %u at %zu of %zu", c, at, len);
        CHECK(json_is_plain(str_n(text, len)) == plain);
    }
    CHECK(json_is_plain(STR_NONE));
}

TEST(strings_are_quoted)
{
    static const struct {
        const char *bytes;
        size_t len;
        const char *want;
    } cases[] = {
        {"", 0, "\"\""},
        {"plain", 5, "\"plain\""},
        {"\"\\/", 3, "\"\\\"\\\\/\""},
        {"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
        {"\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\x7f\""},
        {"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80\""},
        /* Each byte that is not part of a sequence becomes U+FFFD. */
        {"a\xff\xc3", 3, "\"a\xef\xbf\xbd\xef\xbf\xbd\""},
        {"\xe2\x82z", 3, "\"\xef\xbf\xbd\xef\xbf\xbdz\""},
        {"\xed\xa0\x80", 3, "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf out = STRBUF_INIT(100);
        json_quote(&out, str_n(cases[i].bytes, cases[i].len));
        CHECK_CSTR(strbuf_str(&out), cases[i].want);
        strbuf_done(&out);
    }
}

/* Any bytes at all: what is written is one valid string, and valid UTF-8 reads back. */
TEST(quoting_survives_random_bytes)
{
    for (size_t i = 0; i < test_cases(500); i++) {
        char bytes[64];
        size_t n = rng_below(test_rng(), sizeof(bytes));
        rng_bytes(test_rng(), bytes, n);
        struct strbuf out = STRBUF_INIT(1000);
        json_quote(&out, str_n(bytes, n));
        struct doc *d = doc_parse(strbuf_str(&out), NULL, NULL);
        REQUIRE(d != NULL);
        if (str_is_utf8(str_n(bytes, n)))
            CHECK_STR(jstr(doc_root(d)), str_n(bytes, n));
        doc_unref(d);
        strbuf_done(&out);
    }
}

static void check_real(double v, const char *want)
{
    struct jw w;
    jw_init(&w);
    jw_real(&w, v);
    CHECK_CSTR(strbuf_str(&w.out), want);
    jw_done(&w);
}

TEST(reals_are_short_and_exact)
{
    check_real(0, "0");
    check_real(1, "1");
    check_real(0.1, "0.1");
    check_real(0.1 + 0.2, "0.30000000000000004");
    check_real(-1.5, "-1.5");
    check_real(1e300, "1e+300");
    check_real(5e-324, "5e-324");
    check_real(9007199254740993.0, "9007199254740992");
    check_real(1.0 / 3, "0.3333333333333333");
    check_real(NAN, "null");
    check_real(-INFINITY, "null");
    for (size_t i = 0; i < test_cases(500); i++) {
        double v;
        uint64_t bits = rng_u64(test_rng());
        memcpy(&v, &bits, sizeof(v));
        if (!isfinite(v))
            continue;
        struct jw w;
        jw_init(&w);
        jw_real(&w, v);
        struct doc *d = jw_doc(&w);
        CHECK(jreal(doc_root(d), 0) == v);
        doc_unref(d);
    }
}

TEST(pretty_text)
{
    struct doc *d =
        doc_parse(STR("{\"a\":[1,{},[],{\"b\":\"\\u0041\"}],\"c\":{\"d\":null}}"), NULL, NULL);
    struct strbuf out = STRBUF_INIT(1000);
    json_pretty(doc_root(d), 4, &out);
    CHECK_STR(strbuf_str(&out), STR("{\n    \"a\": [\n        1,\n        {},\n        [],\n"
                                    "        {\n            \"b\": \"\\u0041\"\n        }\n    ],\n"
                                    "    \"c\": {\n        \"d\": null\n    }\n}"));
    strbuf_reset(&out);
    json_pretty(jgetc(doc_root(d), "c"), 2, &out);
    CHECK_STR(strbuf_str(&out), STR("{\n  \"d\": null\n}"));
    strbuf_reset(&out);
    json_pretty(JVAL_ABSENT, 2, &out);
    CHECK_STR(strbuf_str(&out), STR("null"));
    strbuf_done(&out);
    doc_unref(d);
}

TEST(indent_zero_takes_the_spaces_out)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {" { } ", "{}"},
        {" [ ] ", "[]"},
        {" 12 ", "12"},
        {" \"a b\" ", "\"a b\""},
        {"[ [ ] , [ [ ] ] , { } ]", "[[],[[]],{}]"},
        {"{ \"a\" : { \"b\" : [ 1 , 2 ] } , \"c\\n\" : \" \\u0020\" }",
         "{\"a\":{\"b\":[1,2]},\"c\\n\":\" \\u0020\"}"},
        {"[ \"a string that is longer than sixteen bytes, twice over\" , 1.50 ]",
         "[\"a string that is longer than sixteen bytes, twice over\",1.50]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct doc *d = doc_parse(str_of(cases[i].text), NULL, NULL);
        struct strbuf out = STRBUF_INIT(1000);
        strbuf_add_cstr(&out, ">");
        json_pretty(doc_root(d), 0, &out);
        CHECK_CSTR(str_sub(strbuf_str(&out), 1, out.len), cases[i].want);
        strbuf_done(&out);
        doc_unref(d);
    }
}

TEST(printing_stops_at_the_limit_of_the_buffer)
{
    struct doc *d = doc_parse(STR("[ 1, 2 ]"), NULL, NULL);
    struct strbuf exact = STRBUF_INIT(5), small = STRBUF_INIT(4);
    json_pretty(doc_root(d), 0, &exact);
    CHECK_STR(strbuf_str(&exact), STR("[1,2]"));
    CHECK(!exact.overflow);
    json_pretty(doc_root(d), 0, &small);
    CHECK(small.overflow);
    CHECK_INT(small.len, 0);
    strbuf_done(&exact);
    strbuf_done(&small);
    doc_unref(d);
}

/* Writes a value again, member by member. */
static void rewrite(struct jw *w, jval v)
{
    switch (jtype(v)) {
    case J_OBJECT:
        jw_object(w);
        for (struct jiter it = jiter(v); jnext(&it);) {
            jw_key(w, it.key);
            rewrite(w, it.value);
        }
        jw_end(w);
        break;
    case J_ARRAY:
        jw_array(w);
        for (struct jiter it = jiter(v); jnext(&it);)
            rewrite(w, it.value);
        jw_end(w);
        break;
    case J_STRING:
        jw_str(w, jstr(v));
        break;
    default:
        jw_val(w, v);
    }
}

static void check_same(jval v, str text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(text, NULL, &err);
    if (!CHECK(d && jequal(v, doc_root(d))))
        test_note("%.*s: %s", STR_ARG(text), err.message);
    doc_unref(d);
}

TEST(what_is_written_reads_back_the_same)
{
    struct strbuf text = STRBUF_INIT(1 << 20), out = STRBUF_INIT(1 << 20);
    for (size_t i = 0; i < test_cases(2000); i++) {
        strbuf_reset(&text);
        random_json(test_rng(), 6, &text);
        struct err err = ERR_INIT;
        struct doc *d = doc_parse(strbuf_str(&text), NULL, &err);
        if (!d)
            test_note("%s: %s", text.p, err.message);
        REQUIRE(d != NULL);
        CHECK_STR(doc_text(d), strbuf_str(&text));
        jval v = doc_root(d);
        struct jw w;
        jw_init(&w);
        rewrite(&w, v);
        struct doc *again = jw_doc(&w);
        CHECK(jequal(v, doc_root(again)));
        unsigned indents[] = {0, 2, 4};
        for (size_t j = 0; j < ARRAY_LEN(indents); j++) {
            strbuf_reset(&out);
            json_pretty(v, indents[j], &out);
            check_same(v, strbuf_str(&out));
        }
        strbuf_reset(&out);
        jcanonical(v, false, &out);
        check_same(v, strbuf_str(&out));
        /* Equal values have one canonical form. */
        strbuf_reset(&text);
        jcanonical(doc_root(again), false, &text);
        CHECK_STR(strbuf_str(&text), strbuf_str(&out));
        doc_unref(again);
        doc_unref(d);
    }
    strbuf_done(&text);
    strbuf_done(&out);
}
