/* Reading documents: types, numbers, navigation, equality, the canonical form. */
#include "base/strbuf.h"
#include "base/test.h"
#include "json/doc.h"
#include "json/tape.h"
#include "json/write.h"

static struct doc *parse(const char *text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(str_of(text), NULL, &err);
    if (!d) {
        test_note("%s: %s", text, err.message);
        REQUIRE(d != NULL);
    }
    return d;
}

/* ---- life cycle ---- */

TEST(references_keep_a_document)
{
    struct doc *d = parse("{\"a\":1}");
    struct doc *again = doc_ref(d);
    CHECK(again == d);
    doc_unref(d);
    CHECK_INT(jint(jgetc(doc_root(again), "a"), 0), 1);
    struct arena a = ARENA_INIT;
    CHECK(doc_hold(&a, again) == again);
    CHECK(doc_hold(&a, NULL) == NULL);
    CHECK_INT(jint(jgetc(doc_root(again), "a"), 0), 1);
    arena_done(&a);
    doc_unref(NULL);
    CHECK(doc_ref(NULL) == NULL);
    CHECK(j_is_absent(doc_root(NULL)));
    CHECK(doc_text(NULL).p == NULL);
    CHECK_INT(doc_memory(NULL), 0);
}

TEST(memory_counts_text_and_tape)
{
    struct doc *d = parse("[1,2,3]");
    /* Two nodes for the array and one for each number. */
    CHECK_INT(doc_memory(d), sizeof(struct doc) + 7 + TEXT_PAD + 5 * 8);
    doc_unref(d);
}

/* ---- types ---- */

TEST(absent_null_zero_and_false_differ)
{
    struct doc *d = parse("{\"n\":null,\"z\":0,\"f\":false,\"s\":\"\",\"a\":[],\"o\":{}}");
    static const struct {
        const char *key;
        enum jtype type;
        bool has;
    } cases[] = {{"missing", J_ABSENT, false}, {"n", J_NULL, false},  {"z", J_INT, true},
                 {"f", J_FALSE, true},         {"s", J_STRING, true}, {"a", J_ARRAY, true},
                 {"o", J_OBJECT, true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        jval v = jget(doc_root(d), str_of(cases[i].key));
        CHECK_INT(jtype(v), cases[i].type);
        CHECK(j_has(v) == cases[i].has);
        CHECK(j_is_absent(v) == (cases[i].type == J_ABSENT));
        CHECK(j_is_null(v) == (cases[i].type == J_NULL));
        CHECK_INT(jint(v, 7), cases[i].type == J_INT ? 0 : 7);
        CHECK(jbool(v, true) == (cases[i].type != J_FALSE));
        CHECK(!jbool(v, false));
        CHECK((jstr(v).p != NULL) == (cases[i].type == J_STRING));
        CHECK_INT(jlen(v), 0);
    }
    doc_unref(d);
}

TEST(every_reader_accepts_absent)
{
    jval v = JVAL_ABSENT;
    CHECK(j_is_absent(jget(v, STR("a"))));
    CHECK(j_is_absent(jpath(v, "a.b.c")));
    CHECK(j_is_absent(jat(v, 0)));
    CHECK(j_is_absent(jpointer(v, STR("/a"))));
    CHECK(j_is_absent(jpointer(v, STR(""))));
    CHECK(jtext(v).p == NULL);
    CHECK(jstr(v).p == NULL);
    CHECK(!j_is_true(v));
    CHECK(jreal(v, 2.5) == 2.5);
    struct jiter it = jiter(v);
    CHECK(!jnext(&it));
    CHECK(jequal(v, v));
    struct doc *d = parse("null");
    CHECK(!jequal(v, doc_root(d)));
    doc_unref(d);
}

TEST(integers_are_exact_or_refused)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"-0.0e5", true, 0},
        {"2.0", true, 2},
        {"1e3", true, 1000},
        {"1E+3", true, 1000},
        {"1500e-2", true, 15},
        {"0.5e1", true, 5},
        {"-12.50e1", true, -125},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775807.000", true, INT64_MAX},
        {"-9.223372036854775808e18", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"1e19", false, 0},
        {"1e999999999999999999999", false, 0},
        {"1e-999999999999999999999", false, 0},
        {"0e999999999999999999999", true, 0},
        {"1.5", false, 0},
        {"1e-1", false, 0},
        {"10e-1", true, 1},
        {"\"1\"", false, 0},
        {"true", false, 0},
        {"null", false, 0},
        {"[1]", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct doc *d = parse(cases[i].text);
        int64_t v = 0;
        if (!CHECK(jint_get(doc_root(d), &v) == cases[i].ok))
            test_note("%s", cases[i].text);
        CHECK_INT(v, cases[i].value);
        CHECK_INT(jint(doc_root(d), 42), cases[i].ok ? cases[i].value : 42);
        CHECK_CSTR(jtext(doc_root(d)), cases[i].text);
        doc_unref(d);
    }
}

TEST(reals_read_as_double)
{
    struct doc *d = parse("[1.5,-2e3,12345678901234567890,\"3\",1e400]");
    CHECK(jreal(jat(doc_root(d), 0), 0) == 1.5);
    CHECK(jreal(jat(doc_root(d), 1), 0) == -2000);
    CHECK(jreal(jat(doc_root(d), 2), 0) == 12345678901234567890.0);
    CHECK(jreal(jat(doc_root(d), 3), 9) == 9);
    CHECK(jreal(jat(doc_root(d), 4), 0) > 1e308);
    doc_unref(d);
}

/* ---- navigation ---- */

TEST(members_are_found_by_key)
{
    struct doc *d = parse("{\"a\":{\"b\":{\"c\":[1,{\"d\":\"x\"}]}},\"ab\":2,\"\":3,\"k\\n\":4,"
                          "\"a-very-long-key-of-more-than-16-bytes\":5}");
    jval r = doc_root(d);
    CHECK_STR(jtext(jpath(r, "a.b.c")), STR("[1,{\"d\":\"x\"}]"));
    CHECK_INT(jint(jgetc(r, "ab"), 0), 2);
    CHECK_INT(jint(jgetc(r, ""), 0), 3);
    CHECK_INT(jint(jget(r, STR_NONE), 0), 3);
    CHECK_INT(jint(jgetc(r, "k\n"), 0), 4);
    CHECK_INT(jint(jgetc(r, "a-very-long-key-of-more-than-16-bytes"), 0), 5);
    CHECK(j_is_absent(jgetc(r, "a-very-long-key-of-more-than-16-bytez")));
    CHECK(j_is_absent(jgetc(r, "k\\n")));
    CHECK(j_is_absent(jgetc(r, "b")));
    CHECK(j_is_absent(jpath(r, "a.b.c.d")));
    CHECK(j_is_absent(jpath(r, "a.x.c")));
    CHECK(j_is_absent(jgetc(jpath(r, "a.b.c"), "d")));
    CHECK_STR(jstr(jgetc(jat(jpath(r, "a.b.c"), 1), "d")), STR("x"));
    CHECK(j_is_absent(jat(jpath(r, "a.b.c"), 2)));
    CHECK(j_is_absent(jat(r, 0)));
    doc_unref(d);
}

/* The example of RFC 6901 section 5. */
TEST(pointers_of_the_rfc)
{
    struct doc *d =
        parse("{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,"
              "\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8}");
    static const struct {
        const char *pointer, *want;
    } cases[] = {{"/foo", "[\"bar\",\"baz\"]"},
                 {"/foo/0", "\"bar\""},
                 {"/", "0"},
                 {"/a~1b", "1"},
                 {"/c%d", "2"},
                 {"/e^f", "3"},
                 {"/g|h", "4"},
                 {"/i\\j", "5"},
                 {"/k\"l", "6"},
                 {"/ ", "7"},
                 {"/m~0n", "8"},
                 {"/foo/2", NULL},
                 {"/foo/-", NULL},
                 {"/foo/01", NULL},
                 {"/foo/+1", NULL},
                 {"/foo/", NULL},
                 {"/foo/0/x", NULL},
                 {"/nope", NULL},
                 {"foo", NULL}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        jval v = jpointer(doc_root(d), str_of(cases[i].pointer));
        if (cases[i].want)
            CHECK_CSTR(jtext(v), cases[i].want);
        else if (!CHECK(j_is_absent(v)))
            test_note("%s", cases[i].pointer);
    }
    CHECK_STR(jtext(jpointer(doc_root(d), STR(""))), doc_text(d));
    doc_unref(d);
}

TEST(iteration_follows_the_text)
{
    struct doc *d =
        parse(" { \"a\" : 1 , \"b\\t\" : [ 1 , [ ] , { \"x\" : { } } ] , \"c\" : {} } ");
    struct strbuf out = STRBUF_INIT(1000);
    for (struct jiter it = jiter(doc_root(d)); jnext(&it);)
        strbuf_printf(&out, "%zu %.*s=%.*s;", it.index, STR_ARG(it.key), STR_ARG(jtext(it.value)));
    CHECK_STR(strbuf_str(&out), STR("0 a=1;1 b\t=[ 1 , [ ] , { \"x\" : { } } ];2 c={};"));
    strbuf_reset(&out);
    for (struct jiter it = jiter(jgetc(doc_root(d), "b\t")); jnext(&it);)
        strbuf_printf(&out, "%zu=%.*s;", it.index, STR_ARG(jtext(it.value)));
    CHECK_STR(strbuf_str(&out), STR("0=1;1=[ ];2={ \"x\" : { } };"));
    CHECK_INT(jlen(doc_root(d)), 3);
    strbuf_done(&out);
    doc_unref(d);
}

/* ---- equality and canonical form ---- */

TEST(equality_is_by_value)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"1", "1.0", true},
        {"1", "1e0", true},
        {"100", "1e2", true},
        {"0.001", "1e-3", true},
        {"0", "-0", true},
        {"0", "0e10", true},
        {"123456789012345678901", "123456789012345678901.0", true},
        {"123456789012345678901", "123456789012345678902", false},
        {"1e400", "1e401", false},
        {"1e400", "10e399", true},
        {"1e999999999999999999", "10e999999999999999998", true},
        {"0.1e-2337203685477372036854775807", "1e5", false},
        {"1e-2337203685477372036854775807", "1e2337203685477372036854775807", false},
        {"1", "-1", false},
        {"1", "10", false},
        {"1", "\"1\"", false},
        {"\"a\"", "\"\\u0061\"", true},
        {"\"a\"", "\"b\"", false},
        {"null", "false", false},
        {"true", "true", true},
        {"[]", "{}", false},
        {"[1,2]", "[ 1.0, 2 ]", true},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,1]", false},
        {"{\"a\":1,\"b\":2}", "{\"b\":2.0,\"a\":1}", true},
        {"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":null}", "{}", false},
        {"{\"a\":{\"x\":[1,{\"y\":null}]}}", "{\"a\":{\"x\":[1,{\"y\" :null}]}}", true},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct doc *a = parse(cases[i].a), *b = parse(cases[i].b);
        if (!CHECK(jequal(doc_root(a), doc_root(b)) == cases[i].equal) ||
            !CHECK(jequal(doc_root(b), doc_root(a)) == cases[i].equal))
            test_note("%s and %s", cases[i].a, cases[i].b);
        doc_unref(a);
        doc_unref(b);
    }
}

/* Members in opposite orders: a search per member would be 10^10 steps. */
TEST(equality_of_large_objects_takes_no_square)
{
    struct strbuf up = STRBUF_INIT(16 << 20), down = STRBUF_INIT(16 << 20);
    size_t n = 100000;
    for (size_t i = 0; i < n; i++) {
        strbuf_printf(&up, "%c\"k%zu\":%zu", i ? ',' : '{', i, i);
        strbuf_printf(&down, "%c\"k%zu\":%zu", i ? ',' : '{', n - 1 - i, n - 1 - i);
    }
    strbuf_add_char(&up, '}');
    strbuf_add_char(&down, '}');
    struct doc *a = doc_parse(strbuf_str(&up), NULL, NULL);
    struct doc *b = doc_parse(strbuf_str(&down), NULL, NULL);
    CHECK(jequal(doc_root(a), doc_root(b)));
    doc_unref(a);
    doc_unref(b);
    strbuf_done(&up);
    strbuf_done(&down);
}

/* {"k0":0,...} or the other way round, without every third. */
static struct doc *numbered(size_t n, bool backwards, bool with_gaps)
{
    struct strbuf b = STRBUF_INIT(16 << 20);
    strbuf_add_char(&b, '{');
    for (size_t i = 0; i < n; i++) {
        size_t k = backwards ? n - 1 - i : i;
        if (!with_gaps || k % 3)
            strbuf_printf(&b, "%s\"k%zu\":%zu", b.len > 1 ? "," : "", k, k);
    }
    strbuf_add_char(&b, '}');
    struct doc *d = doc_parse(strbuf_str(&b), NULL, NULL);
    strbuf_done(&b);
    return d;
}

/* All members of one object are asked for in another, whose order or gaps end the walk in step. */
static void check_lookup(size_t n, bool backwards, bool with_gaps)
{
    struct doc *keys = numbered(n, false, false), *d = numbered(n, backwards, with_gaps);
    struct jlookup l = jlookup(doc_root(d));
    size_t wrong = 0;
    for (struct jiter it = jiter(doc_root(keys)); jnext(&it);) {
        jval v = jlookup_get(&l, it.key);
        bool there = !with_gaps || it.index % 3;
        wrong += there ? jint(v, -1) != (int64_t)it.index : !j_is_absent(v);
    }
    CHECK_INT(wrong, 0);
    jlookup_done(&l);
    doc_unref(keys);
    doc_unref(d);
}

TEST(lookups_find_what_is_there_and_take_no_square)
{
    static const size_t sizes[] = {0, 1, 16, 17, 100, 100000};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
        for (unsigned how = 0; how < 4; how++)
            check_lookup(sizes[i], how & 1, how & 2);
    struct doc *list = parse("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]");
    struct jlookup in_list = jlookup(doc_root(list)), in_none = jlookup(JVAL_ABSENT);
    CHECK(j_is_absent(jlookup_get(&in_list, STR("a"))));
    CHECK(j_is_absent(jlookup_get(&in_none, STR("a"))));
    jlookup_done(&in_list);
    jlookup_done(&in_none);
    doc_unref(list);
}

static void check_canonical(const char *text, bool drop_empty, const char *want)
{
    struct doc *d = parse(text);
    struct strbuf out = STRBUF_INIT(1000);
    jcanonical(doc_root(d), drop_empty, &out);
    CHECK_CSTR(strbuf_str(&out), want);
    strbuf_done(&out);
    doc_unref(d);
}

TEST(canonical_form)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {" { \"b\" : 1 , \"a\" : [ true , null ] } ", "{\"a\":[true,null],\"b\":1}"},
        {"{\"b\":1,\"a\":2,\"\":3,\"aa\":4,\"B\":5}", "{\"\":3,\"B\":5,\"a\":2,\"aa\":4,\"b\":1}"},
        {"\"\\u0041\\/\\u00e9\\n\\u001f\"", "\"A/\xc3\xa9\\n\\u001f\""},
        {"[1,1.0,10e-1,100E-2]", "[1,1,1,1]"},
        {"[0,-0,0.0,-0e9]", "[0,0,0,0]"},
        {"[1.50,-0.25,1e3,1e-3]", "[1.5,-0.25,1000,0.001]"},
        {"[1e21,1e20,123e30]", "[1e21,100000000000000000000,1.23e32]"},
        {"[1e-6,1e-7,12e-8]", "[0.000001,1e-7,1.2e-7]"},
        {"18446744073709551615", "18446744073709551615"},
        {"[1e999999999999999999,12e-999999999999999999]",
         "[1e999999999999999999,1.2e-999999999999999998]"},
        {"{}", "{}"},
        {"[]", "[]"},
        {"{\"a\":{},\"b\":[],\"c\":null}", "{\"a\":{},\"b\":[],\"c\":null}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_canonical(cases[i].text, false, cases[i].want);
}

TEST(canonical_form_without_empties)
{
    check_canonical("{\"a\":{},\"b\":[],\"c\":null,\"d\":0,\"e\":\"\",\"f\":false}", true,
                    "{\"d\":0,\"e\":\"\",\"f\":false}");
    check_canonical("{\"a\":{\"b\":{\"c\":null}},\"z\":1}", true, "{\"z\":1}");
    check_canonical("{\"a\":[{},null,[]]}", true, "{\"a\":[{},null,[]]}");
    check_canonical("{\"a\":null}", true, "{}");
}

TEST(sorted_members)
{
    struct doc *d = parse("{\"b\":1,\"a\":2,\"ab\":3}");
    size_t n;
    struct jmember *m = jmembers_sorted(doc_root(d), &n);
    REQUIRE(n == 3);
    CHECK_STR(m[0].key, STR("a"));
    CHECK_STR(m[1].key, STR("ab"));
    CHECK_STR(m[2].key, STR("b"));
    CHECK_INT(jint(m[2].value, 0), 1);
    free(m);
    CHECK(jmembers_sorted(JVAL_ABSENT, &n) == NULL);
    CHECK_INT(n, 0);
    doc_unref(d);
}

TEST(long_keys_are_found_behind_members_of_all_sorts)
{
    static const char *const before[] = {
        "\"a\":1",
        "\"a\":[1,{\"example.com/a-long-key\":2}]",
        "\"a\":{\"example.com/a-long-key\":[]}",
        "\"a\":\"es\\tcaped\"",
        "\"es\\tcaped\":{}",
        "\"example.com/\\u0061-long-kez\":1",
        "\"example.com/a-long-kez\":1",
    };
    for (size_t i = 0; i < ARRAY_LEN(before); i++) {
        char text[200];
        (void)snprintf(text, sizeof(text), "{%s,\"example.com/a-long-key\":7}", before[i]);
        struct doc *d = parse(text);
        CHECK_INT(jint(jgetc(doc_root(d), "example.com/a-long-key"), -1), 7);
        CHECK(j_is_absent(jgetc(doc_root(d), "example.com/a-long-ke")));
        doc_unref(d);
    }
}

/* Keys of labels: alike at their beginning, at their end or both. */
TEST(long_keys_are_told_apart_at_any_byte)
{
    static const char *const keys[] = {
        "app.kubernetes.io/name-of-x",
        "app.kubernetes.io/name-or-x",
        "app.kubernetes.io/name-of-y",
        "bpp.kubernetes.io/name-of-x",
        "seventeen.bytes/x",
        "seventeen.bytes/y",
        "sixteen.bytes/xy",
        "sixteen.bytes/xz",
    };
    struct strbuf text = STRBUF_INIT(4096);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        strbuf_printf(&text, "%s\"%s\":%zu", i ? "," : "{", keys[i], i);
    strbuf_add_char(&text, '}');
    struct doc *d = parse(text.p);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        CHECK_INT(jint(jget(doc_root(d), str_of(keys[i])), -1), (int64_t)i);
    CHECK(j_is_absent(jget(doc_root(d), STR("app.kubernetes.io/name-of-z"))));
    CHECK(j_is_absent(jget(doc_root(d), STR("app.kubernetes.io/nome-of-x"))));
    doc_unref(d);
    strbuf_done(&text);
}
