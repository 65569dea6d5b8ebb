/*
 * YAML in and out. The tables of scalars, of tags and of printed text hold what kubectl 1.32 reads
 * and prints; where we differ on purpose the case says so.
 */
#include "base/test.h"
#include "json/test-random-docs.h"
#include "json/write.h"
#include "json/yaml.h"

static struct doc *parse_json(str text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(text, NULL, &err);
    if (!d)
        test_note("%s in %.*s", err.message, STR_ARG(text));
    REQUIRE(d != NULL);
    return d;
}

static void check_reads(const char *text, const char *want)
{
    struct err err = ERR_INIT;
    struct doc *got = yaml_parse_one(str_of(text), &err);
    struct doc *w = parse_json(str_of(want));
    if (!CHECK(got && jequal(doc_root(got), doc_root(w))))
        test_note("%s: want %s, got %.*s%s", text, want, STR_ARG(got ? doc_text(got) : STR("")),
                  err.message);
    doc_unref(w);
    doc_unref(got);
}

/* ---- scalars ---- */

static const struct {
    const char *plain, *json;
} scalars[] = {
    {"~", "null"},
    {"null", "null"},
    {"Null", "null"},
    {"NULL", "null"},
    {"", "null"},
    {"nUll", "\"nUll\""},
    {"true", "true"},
    {"True", "true"},
    {"TRUE", "true"},
    {"tRue", "\"tRue\""},
    {"yes", "true"},
    {"Yes", "true"},
    {"yEs", "\"yEs\""},
    {"on", "true"},
    {"ON", "true"},
    {"y", "true"},
    {"Y", "true"},
    {"false", "false"},
    {"no", "false"},
    {"off", "false"},
    {"Off", "false"},
    {"n", "false"},
    {"N", "false"},
    {"0", "0"},
    {"-0", "0"},
    {"+5", "5"},
    {"-17", "-17"},
    {"00", "0"},
    {"0777", "511"},
    {"-0777", "-511"},
    {"08", "8"},
    {"0o17", "15"},
    {"0O17", "15"},
    {"0o8", "\"0o8\""},
    {"0b11", "3"},
    {"-0b1", "-1"},
    {"0b2", "\"0b2\""},
    {"0x1F", "31"},
    {"0X1f", "31"},
    {"-0x1F", "-31"},
    {"0x", "\"0x\""},
    {"0xg", "\"0xg\""},
    {"0x_1", "1"},
    {"1_000", "1000"},
    {"1_", "1"},
    {"_1", "\"_1\""},
    {"9223372036854775807", "9223372036854775807"},
    {"0xFFFFFFFFFFFFFFFF", "18446744073709551615"},
    {"0x10000000000000000", "\"0x10000000000000000\""},
    {"1.5", "1.5"},
    {"1.", "1"},
    {".5", "0.5"},
    {"-.5", "-0.5"},
    {"+.5", "0.5"},
    {"1e3", "1000"},
    {"1.e3", "1000"},
    {".e3", "\".e3\""},
    {"1E-2", "0.01"},
    {"1e", "\"1e\""},
    {"1e400", "\"1e400\""},
    {"7e12345", "\"7e12345\""},
    {"1_0.5_0", "10.5"},
    {".5_0", "0.5"},
    {".5_", "\".5_\""},
    {"1.2.3", "\"1.2.3\""},
    {".", "\".\""},
    {"-", "[null]"},
    {"--", "\"--\""},
    {"1a", "\"1a\""},
    {"2001-01-01", "\"2001-01-01\""},
    {"2001-01-01T00:00:00Z", "\"2001-01-01T00:00:00Z\""},
    {"12:30:45", "\"12:30:45\""},
    {"inf", "\"inf\""},
    {"+nan", "\"+nan\""},
    {"<<", "\"<<\""},
    {"=", "\"=\""},
    {"'5'", "\"5\""},
    {"\"true\"", "\"true\""},
    {"\"a\\u00e9\\x41\\n\"", "\"a\\u00e9A\\n\""},
    {"'it''s'", "\"it's\""},
    {"a b  c", "\"a b  c\""},
    {"http://x/y#z", "\"http://x/y#z\""},
    /* ours: kubectl makes reals of integers that do not fit */
    {"18446744073709551616", "18446744073709551616"},
    {"123456789012345678901234567890", "123456789012345678901234567890"},
    /* tags */
    {"!!str 1", "\"1\""},
    {"!!str", "\"\""},
    {"!!int \"5\"", "5"},
    {"!!float 1", "1"},
    {"!!bool yes", "true"},
    {"!!null ~", "null"},
    {"!own 5", "\"5\""},
    {"! 5", "\"5\""},
    {"!!timestamp 2001-01-01", "\"2001-01-01\""},
    {"!!binary aGVsbG8=", "\"hello\""},
};

TEST(yaml_scalars_mean_what_kubectl_takes_them_for)
{
    for (size_t i = 0; i < ARRAY_LEN(scalars); i++) {
        struct strbuf text = STRBUF_INIT(4096), want = STRBUF_INIT(4096);
        strbuf_printf(&text, "- %s\n", scalars[i].plain);
        strbuf_printf(&want, "[%s]", scalars[i].json);
        check_reads(text.p, want.p);
        strbuf_done(&text);
        strbuf_done(&want);
    }
}

TEST(yaml_numbers_become_plain_json_numbers)
{
    /* Go cannot read 1e3 into an integer: the text matters, not only the value. */
    struct doc *d = yaml_parse_one(
        STR("[1e3, 2.0, 0x10, 1.50, 1e21, +7, 007, 0.12345678901234567890123, 1e-3]"), NULL);
    REQUIRE(d != NULL);
    CHECK_CSTR(doc_text(d), "[1000,2,16,1.5,1e21,7,7,0.12345678901234567890123,0.001]");
    doc_unref(d);
}

/* ---- structure ---- */

static const struct {
    const char *yaml, *json;
} structures[] = {
    {"a: 1\nb:\n- x\n- v: 2\n  z: [1, {q: w}]\nc: {}\nd: []\n",
     "{\"a\":1,\"b\":[\"x\",{\"v\":2,\"z\":[1,{\"q\":\"w\"}]}],\"c\":{},\"d\":[]}"},
    {"a: |\n  x\n   y\nb: >-\n  x\n  y\n\n  z\nc: |+\n  k\n\n",
     "{\"a\":\"x\\n y\\n\",\"b\":\"x y\\nz\",\"c\":\"k\\n\\n\"}"},
    {"# note\na: 1 # more\n", "{\"a\":1}"},
    {"%YAML 1.1\n---\na: 1\n...\n", "{\"a\":1}"},
    {"just text", "\"just text\""},
    {"\xef\xbb\xbf"
     "a: 1",
     "{\"a\":1}"},
    /* keys become strings */
    {"1: a\ntrue: b\n1.5: c\n0x10: d\noff: e\n2001-01-01: f\n",
     "{\"1\":\"a\",\"true\":\"b\",\"1.5\":\"c\",\"16\":\"d\",\"false\":\"e\","
     "\"2001-01-01\":\"f\"}"},
    {"? a\n: 1\n? b\n", "{\"a\":1,\"b\":null}"},
    /* anchors */
    {"a: &x {b: [1, 2]}\nc: *x\nd: [*x, *x]\n",
     "{\"a\":{\"b\":[1,2]},\"c\":{\"b\":[1,2]},\"d\":[{\"b\":[1,2]},{\"b\":[1,2]}]}"},
    {"a: &x 1\nb: &x 2\nc: *x\n", "{\"a\":1,\"b\":2,\"c\":2}"},
    {"&k a: 1\nb: *k\n", "{\"a\":1,\"b\":\"a\"}"},
    {"a: &k 7\n*k : 3\n", "{\"a\":7,\"7\":3}"},
    {"a: &k \"q\\\"t\"\n*k : 3\n", "{\"a\":\"q\\\"t\",\"q\\\"t\":3}"},
    {"&k 1: a\nb: *k\n", "{\"1\":\"a\",\"b\":1}"},
    {"a: &o {x: &i [1], v: *i}\nb: *o\nc: *i\n",
     "{\"a\":{\"x\":[1],\"v\":[1]},\"b\":{\"x\":[1],\"v\":[1]},\"c\":[1]}"},
    /* merge keys: what the mapping says itself wins, then the earlier of a list */
    {"a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\n",
     "{\"a\":{\"b\":1,\"c\":2},\"d\":{\"b\":1,\"c\":3}}"},
    {"a: &x {b: 1, c: 2}\nd: {c: 3, <<: *x}\n",
     "{\"a\":{\"b\":1,\"c\":2},\"d\":{\"b\":1,\"c\":3}}"},
    {"a: &x {b: 1}\ne: &y {b: 5, z: 1}\nd: {<<: [*x, *y], q: 3}\n",
     "{\"a\":{\"b\":1},\"e\":{\"b\":5,\"z\":1},\"d\":{\"b\":1,\"z\":1,\"q\":3}}"},
    {"d: {<<: {a: 1}, b: 2}\n", "{\"d\":{\"a\":1,\"b\":2}}"},
    {"d: {<<: &n {a: &m [1]}, b: *m}\ne: *n\nf: *m\n",
     "{\"d\":{\"a\":[1],\"b\":[1]},\"e\":{\"a\":[1]},\"f\":[1]}"},
    {"a: &x {b: 1}\nc: &y {<<: *x, d: 2}\ne: {<<: *y}\n",
     "{\"a\":{\"b\":1},\"c\":{\"b\":1,\"d\":2},\"e\":{\"b\":1,\"d\":2}}"},
    {"d: {<<: [], a: 1}\n", "{\"d\":{\"a\":1}}"},
    {"\"<<\": {a: 1}\n", "{\"<<\":{\"a\":1}}"},
    /* tags of collections mean nothing to us */
    {"a: !!map {x: 1}\nb: !!seq [1]\nc: !!set {x, z}\n",
     "{\"a\":{\"x\":1},\"b\":[1],\"c\":{\"x\":null,\"z\":null}}"},
    /* JSON, also where YAML is stricter */
    {"{\"a\":\"\\ud83d\\ude00\\/\"}", "{\"a\":\"\\ud83d\\ude00/\"}"},
    {"\t{\t\"a\"\t:\t1\t}", "{\"a\":1}"},
    {" [1,2]\n", "[1,2]"},
};

TEST(yaml_structures_become_json)
{
    for (size_t i = 0; i < ARRAY_LEN(structures); i++)
        check_reads(structures[i].yaml, structures[i].json);
}

TEST(yaml_streams_give_all_documents_but_empty_ones)
{
    doc_vec docs;
    struct err err = ERR_INIT;
    CHECK_INT(yaml_parse(
                  STR("---\n---\na: &x 1\n---\n# only a note\n---\nnull\n---\n- 2\n...\n---\nq: r"),
                  &docs, &err),
              0);
    REQUIRE(docs.len == 3);
    CHECK_CSTR(doc_text(docs.p[0]), "{\"a\":1}");
    CHECK_CSTR(doc_text(docs.p[1]), "[2]");
    CHECK_CSTR(doc_text(docs.p[2]), "{\"q\":\"r\"}");
    doc_vec_done(&docs);
    CHECK_INT(yaml_parse(STR(""), &docs, &err), 0);
    CHECK_INT(docs.len, 0);
    doc_vec_done(&docs);
    CHECK_INT(yaml_parse(STR("---\n---\n"), &docs, &err), 0);
    CHECK_INT(docs.len, 0);
    doc_vec_done(&docs);
}

TEST(yaml_one_document_means_exactly_one)
{
    struct err err = ERR_INIT;
    CHECK(yaml_parse_one(STR(""), &err) == NULL);
    CHECK_CSTR(str_of(err.message), "expected one document, found 0");
    CHECK(yaml_parse_one(STR("a: 1\n---\nb: 2\n"), &err) == NULL);
    CHECK_CSTR(str_of(err.message), "expected one document, found 2");
}

TEST(what_strangers_send_has_so_many_values)
{
    struct err err = ERR_INIT;
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (int i = 0; i < 1000; i++)
        strbuf_add_cstr(&b, "- a\n");
    struct doc *d = yaml_parse_bounded(strbuf_str(&b), 2000, &err);
    CHECK(d);
    doc_unref(d);
    CHECK(!yaml_parse_bounded(strbuf_str(&b), 500, &err));
    CHECK_INT(err.code, ERR_TOO_LARGE);
    CHECK(str_ends(str_of(err.message), STR("more than 500 values: write it as JSON")));
    /* Nobody reads on when there is a second document. */
    strbuf_reset(&b);
    for (int i = 0; i < 1000; i++)
        strbuf_add_cstr(&b, "---\na: b\n");
    CHECK(!yaml_parse_bounded(strbuf_str(&b), 50, &err));
    CHECK_CSTR(str_of(err.message), "expected one document, found 2");
    /* JSON is read otherwise. */
    d = yaml_parse_bounded(STR("[1,2,3,4,5]"), 2, &err);
    CHECK(d);
    doc_unref(d);
    strbuf_done(&b);
}

/* ---- errors ---- */

static const struct {
    const char *yaml, *message;
} bad[] = {
    {"a: 1\nb: 2\na: 3\n", "line 3, column 1: key \"a\" already set in map"},
    {"x:\n  a: 1\n  'a': 2\n", "line 3, column 3: key \"a\" already set in map"},
    {"1: a\n'1': b\n", "line 2, column 1: key \"1\" already set in map"},
    {"y: a\n'true': b\n", "line 2, column 1: key \"true\" already set in map"},
    {"{\"a\":1,\"a\":2}", "line 1, column 8: key \"a\" already set in map"},
    {"a: *x\n", "line 1, column 4: unknown anchor 'x' referenced"},
    {"a: &x 1\n---\nb: *x\n", "line 3, column 4: unknown anchor 'x' referenced"},
    {"a: &x [*x]\n", "line 1, column 8: anchor 'x' value contains itself"},
    {"a: .inf\n", "line 1, column 4: infinity and NaN have no JSON form"},
    {"a: -.Inf\n", "line 1, column 4: infinity and NaN have no JSON form"},
    {"a: .NaN\n", "line 1, column 4: infinity and NaN have no JSON form"},
    {"[a]: b\n", "line 1, column 1: a mapping key must be a scalar"},
    {"? {a: b}\n: c\n", "line 1, column 3: a mapping key must be a scalar"},
    {"a: &x [1]\n*x : 2\n", "line 2, column 1: a mapping key must be a scalar"},
    {"~: a\n", "line 1, column 1: null cannot be a mapping key"},
    {"a: &x ~\n*x : 2\n", "line 2, column 1: null cannot be a mapping key"},
    {"a: {<<: 1}\n", "line 1, column 9: map merge requires map or sequence of maps as the value"},
    {"a: {<<: [1]}\n",
     "line 1, column 11: map merge requires map or sequence of maps as the value"},
    {"a: !!int x\n", "line 1, column 4: cannot decode `x` as a !!int"},
    {"a: !!int 1.5\n", "line 1, column 4: cannot decode `1.5` as a !!int"},
    {"a: !!bool 5\n", "line 1, column 4: cannot decode `5` as a !!bool"},
    {"a: !!binary x\n", "line 1, column 4: !!binary value contains invalid base64 data"},
    {"a: b: c\n", "line 1, column 5: mapping values are not allowed in this context"},
    {"a: @x\n", "line 1, column 4: found character that cannot start any token"},
    {"x:\n  a: 1\n b\n", "line 3, column 2: did not find expected key"},
    {"\ta: 1\n", "line 1, column 1: found character that cannot start any token"},
    {"a: [1, 2\n", "line 2, column 1: did not find expected ',' or ']'"},
    {"a: \"\\ud83d\"\n", "line 1, column 7: found invalid Unicode character escape code"},
    {"a: \xff\n", "input is not UTF-8"},
    {"\xff\xfe"
     "a\0",
     "input is not UTF-8"},
    {"{\"a\":1,}}", "line 1, column 9: did not find expected <document start>"},
};

TEST(yaml_errors_name_line_and_column)
{
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        doc_vec docs;
        struct err err = ERR_INIT;
        int rc = yaml_parse(str_of(bad[i].yaml), &docs, &err);
        CHECK(rc < 0);
        CHECK_INT(docs.len, 0);
        if (!CHECK_CSTR(str_of(err.message), bad[i].message))
            test_note("%s", bad[i].yaml);
    }
}

TEST(yaml_control_characters_are_refused)
{
    struct err err = ERR_INIT;
    CHECK(yaml_parse_one(STR("a: \x01"), &err) == NULL);
    CHECK(strstr(err.message, "control characters are not allowed"));
    CHECK(yaml_parse_one(STR("a: \0b"), &err) == NULL);
}

/* ---- limits ---- */

TEST(yaml_nesting_ends_at_256_levels)
{
    static const char *const opens[] = {"[", "{a: ", "- ", "? "};
    for (size_t k = 0; k < ARRAY_LEN(opens); k++) {
        struct strbuf b = STRBUF_INIT(16 << 20);
        for (size_t i = 0; i < 100000; i++)
            strbuf_add_cstr(&b, opens[k]);
        struct err err = ERR_INIT;
        CHECK(yaml_parse_one(strbuf_str(&b), &err) == NULL);
        CHECK(str_starts(str_of(err.message), STR("line 1, column ")));
        strbuf_done(&b);
    }
    for (size_t depth = 256; depth <= 257; depth++) {
        struct strbuf b = STRBUF_INIT(16 << 20);
        strbuf_add_cstr(&b, "# not JSON\n");
        for (size_t i = 0; i < depth; i++)
            strbuf_add_char(&b, '[');
        for (size_t i = 0; i < depth; i++)
            strbuf_add_char(&b, ']');
        struct err err = ERR_INIT;
        struct doc *d = yaml_parse_one(strbuf_str(&b), &err);
        CHECK((d != NULL) == (depth == 256));
        if (!d)
            CHECK_CSTR(str_of(err.message), "line 2, column 257: nested deeper than 256 levels");
        doc_unref(d);
        strbuf_done(&b);
    }
}

TEST(yaml_aliases_cannot_nest_deeper_either)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    strbuf_add_cstr(&b, "a0: &a0 [1]\n");
    for (size_t i = 1; i < 300; i++)
        strbuf_printf(&b, "a%zu: &a%zu [*a%zu]\n", i, i, i - 1);
    struct err err = ERR_INIT;
    CHECK(yaml_parse_one(strbuf_str(&b), &err) == NULL);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    CHECK(strstr(err.message, "nested deeper than 256 levels"));
    strbuf_done(&b);
}

TEST(yaml_aliases_that_multiply_are_stopped)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    strbuf_add_cstr(&b, "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for (size_t i = 1; i < 12; i++) {
        strbuf_printf(&b, "a%zu: &a%zu [", i, i);
        for (size_t k = 0; k < 9; k++)
            strbuf_printf(&b, "%s*a%zu", k ? "," : "", i - 1);
        strbuf_add_cstr(&b, "]\n");
    }
    struct err err = ERR_INIT;
    CHECK(yaml_parse_one(strbuf_str(&b), &err) == NULL);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    CHECK(strstr(err.message, "aliases expand to too much text"));
    strbuf_done(&b);
}

TEST(yaml_merges_that_multiply_are_stopped)
{
    /* Each merge brings nothing new and so writes nothing; the work counts all the same. */
    struct strbuf b = STRBUF_INIT(8 << 20);
    strbuf_add_cstr(&b, "a: &a {");
    for (size_t i = 0; i < 2000; i++)
        strbuf_printf(&b, "k%zu: 1, ", i);
    strbuf_add_cstr(&b, "}\nb: {<<: [");
    for (size_t i = 0; i < 100000; i++)
        strbuf_add_cstr(&b, "*a,");
    strbuf_add_cstr(&b, "]}\n");
    struct err err = ERR_INIT;
    CHECK(yaml_parse_one(strbuf_str(&b), &err) == NULL);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    strbuf_done(&b);
}

TEST(yaml_tag_directives_are_limited)
{
    struct strbuf b = STRBUF_INIT(8 << 20);
    for (size_t i = 0; i < 200000; i++)
        strbuf_printf(&b, "%%TAG !a%zx! x\n", i);
    strbuf_add_cstr(&b, "--- a\n");
    struct err err = ERR_INIT;
    CHECK(yaml_parse_one(strbuf_str(&b), &err) == NULL);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    strbuf_done(&b);
    check_reads("%TAG !e! tag:example,\n---\na: !e!x 1\n", "{\"a\":\"1\"}");
}

TEST(yaml_input_is_limited_to_64_mib)
{
    size_t len = ((size_t)64 << 20) + 1;
    char *text = xmalloc(len);
    memset(text, ' ', len);
    struct err err = ERR_INIT;
    CHECK(yaml_parse_one(str_n(text, len), &err) == NULL);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    free(text);
}

TEST(yaml_with_many_keys_reads_in_linear_time)
{
    struct strbuf b = STRBUF_INIT(64 << 20);
    for (size_t i = 0; i < 100000; i++)
        strbuf_printf(&b, "k%zu: v\n", i);
    struct doc *d = yaml_parse_one(strbuf_str(&b), NULL);
    REQUIRE(d != NULL);
    CHECK_INT(jlen(doc_root(d)), 100000);
    doc_unref(d);
    strbuf_done(&b);
}

/* ---- out ---- */

static void check_writes(const char *json, bool sort, const char *want)
{
    struct doc *d = parse_json(str_of(json));
    struct strbuf out = STRBUF_INIT(1 << 20);
    yaml_write(doc_root(d), sort, &out);
    if (!CHECK_CSTR(strbuf_str(&out), want))
        test_note("of %s", json);
    strbuf_done(&out);
    doc_unref(d);
}

static const struct {
    const char *json, *yaml;
} printed[] = {
    {"{\"b\":1,\"a\":{\"y\":[1,{\"k\":\"v\",\"j\":[]}],\"x\":{}}}",
     "a:\n  x: {}\n  \"y\":\n  - 1\n  - j: []\n    k: v\nb: 1\n"},
    {"{\"a\":[[1,2],[]],\"n\":null,\"t\":true,\"f\":1.5}",
     "a:\n- - 1\n  - 2\n- []\nf: 1.5\n\"n\": null\nt: true\n"},
    {"[]", "[]\n"},
    {"{}", "{}\n"},
    {"\"x\"", "x\n"},
    {"null", "null\n"},
    /* numbers inside keys by value, letters after the rest */
    {"{\"a10\":1,\"a2\":1,\"B\":1,\"_\":1,\"10\":1,\"9\":1,\"a.b\":1,\"ab\":1,\"a\":1}",
     "_: 1\n\"9\": 1\n\"10\": 1\nB: 1\na: 1\na.b: 1\na2: 1\na10: 1\nab: 1\n"},
    /* blocks */
    {"{\"a\":\"x\\ny\\n\"}", "a: |\n  x\n  y\n"},
    {"{\"a\":\"x\\ny\"}", "a: |-\n  x\n  y\n"},
    {"{\"a\":\"x\\n\\n\"}", "a: |+\n  x\n\n"},
    {"{\"a\":\"  x\\ny\"}", "a: |2-\n    x\n  y\n"},
    {"[\"x\\ny\"]", "- |-\n  x\n  y\n"},
    {"{\"a\":\"x \\ny\"}", "a: \"x \\ny\"\n"},
    {"{\"a\\nb\":1}", "? |-\n  a\n  b\n: 1\n"},
};

TEST(yaml_documents_are_printed_as_kubectl_prints_them)
{
    for (size_t i = 0; i < ARRAY_LEN(printed); i++)
        check_writes(printed[i].json, true, printed[i].yaml);
    check_writes("{\"b\":1,\"a\":2}", false, "b: 1\na: 2\n");
}

static const struct {
    const char *text, *yaml;
} strings[] = {
    /* would mean something else */
    {"", "\"\""},
    {"true", "\"true\""},
    {"Off", "\"Off\""},
    {"y", "\"y\""},
    {"n", "\"n\""},
    {"null", "\"null\""},
    {"~", "\"~\""},
    {"1", "\"1\""},
    {"-5", "\"-5\""},
    {"0x1", "\"0x1\""},
    {"0o7", "\"0o7\""},
    {"1_0", "\"1_0\""},
    {"1e3", "\"1e3\""},
    {"1.", "\"1.\""},
    {".5", "\".5\""},
    {".inf", "\".inf\""},
    {"2001-01-01", "\"2001-01-01\""},
    {"2001-01-01T12:00:00Z", "\"2001-01-01T12:00:00Z\""},
    {"12:30:45", "\"12:30:45\""},
    {"<<", "\"<<\""}, /* kubectl leaves it bare, which as a key does not read back */
    /* syntax */
    {"- foo", "'- foo'"},
    {"*", "'*'"},
    {"@x", "'@x'"},
    {"`x", "'`x'"},
    {"%x", "'%x'"},
    {"&x", "'&x'"},
    {"!x", "'!x'"},
    {"|", "'|'"},
    {">", "'>'"},
    {"{}", "'{}'"},
    {"[a", "'[a'"},
    {"#x", "'#x'"},
    {"a: b", "'a: b'"},
    {"a:", "'a:'"},
    {"a #b", "'a #b'"},
    {" a", "' a'"},
    {"a ", "'a '"},
    {"'a", "'''a'"},
    {"\"a", "'\"a'"},
    {"---", "'---'"},
    {"...", "'...'"},
    {"?", "'?'"},
    {"? a", "'? a'"},
    {"-", "'-'"},
    {"a\tb", "\"a\\tb\""},
    {"a\rb", "\"a\\rb\""},
    {"\x07", "\"\\a\""},
    /* plain */
    {"a b", "a b"},
    {"a:b", "a:b"},
    {"a#b", "a#b"},
    {"-a", "-a"},
    {"?a", "?a"},
    {":a", ":a"},
    {"a'b\"c", "a'b\"c"},
    {"http://x.y/z?q=1&r=%20", "http://x.y/z?q=1&r=%20"},
    {"nUll", "nUll"},
    {"1.2.3", "1.2.3"},
    {"100m", "100m"},
    {"2Gi", "2Gi"},
    {"0x", "0x"},
    {"a,b", "a,b"},
    {"=", "="},
    {"\xc3\xa9\xe4\xb8\xad", "\xc3\xa9\xe4\xb8\xad"},
    {"\xf0\x9f\x98\x80", "\"\\U0001F600\""},
};

TEST(yaml_strings_are_quoted_as_kubectl_quotes_them)
{
    for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
        struct strbuf json = STRBUF_INIT(4096), want = STRBUF_INIT(4096);
        strbuf_add_cstr(&json, "{\"k\":");
        json_quote(&json, str_of(strings[i].text));
        strbuf_add_char(&json, '}');
        strbuf_printf(&want, "k: %s\n", strings[i].yaml);
        check_writes(json.p, true, want.p);
        strbuf_done(&json);
        strbuf_done(&want);
    }
}

TEST(yaml_long_strings_are_not_folded)
{
    struct strbuf json = STRBUF_INIT(8192), want = STRBUF_INIT(8192);
    strbuf_add_cstr(&json, "{\"k\":\"w");
    strbuf_add_cstr(&want, "k: w");
    for (size_t i = 0; i < 200; i++) {
        strbuf_add_cstr(&json, " word");
        strbuf_add_cstr(&want, " word");
    }
    strbuf_add_cstr(&json, "\"}");
    strbuf_add_char(&want, '\n');
    check_writes(json.p, true, want.p);
    strbuf_done(&json);
    strbuf_done(&want);
}

/* ---- there and back ---- */

static void check_round_trip(struct doc *d)
{
    for (int sort = 0; sort < 2; sort++) {
        struct strbuf yaml = STRBUF_INIT(16 << 20);
        /* In a list, so that a null document is not an empty stream. */
        yaml_write(doc_root(d), sort, &yaml);
        struct err err = ERR_INIT;
        struct doc *back = yaml_parse_one(strbuf_str(&yaml), &err);
        if (!CHECK(back && jequal(doc_root(back), doc_root(d))))
            test_note("%.*s\nprinted as\n%.*s\nread as %.*s%s", STR_ARG(doc_text(d)),
                      STR_ARG(strbuf_str(&yaml)), STR_ARG(back ? doc_text(back) : STR("")),
                      err.message);
        doc_unref(back);
        strbuf_done(&yaml);
    }
}

static const char *const nasty[] = {
    "a",
    " ",
    "  ",
    "\n",
    "\n\n",
    "\t",
    ":",
    ": ",
    "#",
    " #",
    "-",
    "- ",
    "?",
    "? ",
    "'",
    "\"",
    "\\",
    "*",
    "&",
    "!",
    "|",
    ">",
    "%",
    "@",
    "`",
    "{",
    "}",
    "[",
    "]",
    ",",
    "~",
    "=",
    "<<",
    ".",
    "...",
    "---",
    "0",
    "12",
    "0x1",
    "1e3",
    "+",
    "_",
    "yes",
    "y",
    "null",
    "true",
    "\r",
    "\x07",
    "2001-01-01",
    "12:30:45",
    "\xc3\xa9",
    "\xe4\xb8\xad",
    "\xf0\x9f\x98\x80",
    "\xc2\x85",
    "\xe2\x80\xa8",
    "\xef\xbb\xbf",
    "\x7f",
    "\xc2\xa0",
    "\xef\xbf\xbd",
    "\x1b",
};

static void nasty_string(struct rng *r, struct strbuf *json)
{
    struct strbuf s = STRBUF_INIT(4096);
    for (size_t n = rng_below(r, 7); n > 0; n--)
        strbuf_add_cstr(&s, nasty[rng_below(r, ARRAY_LEN(nasty))]);
    json_quote(json, strbuf_str(&s));
    strbuf_done(&s);
}

/* Objects and arrays of nasty strings; keys are numbered so that none comes twice. */
static void nasty_value(struct rng *r, unsigned levels, struct strbuf *json)
{
    uint64_t pick = levels ? rng_below(r, 4) : 0;
    if (pick < 2) {
        nasty_string(r, json);
        return;
    }
    strbuf_add_char(json, pick == 2 ? '[' : '{');
    for (size_t i = 0, n = rng_below(r, 4); i < n; i++) {
        if (i)
            strbuf_add_char(json, ',');
        if (pick == 3) {
            struct strbuf key = STRBUF_INIT(4096);
            nasty_string(r, &key);
            key.len--;
            strbuf_printf(&key, "%zu\":", i);
            strbuf_add_str(json, strbuf_str(&key));
            strbuf_done(&key);
        }
        nasty_value(r, levels - 1, json);
    }
    strbuf_add_char(json, pick == 2 ? ']' : '}');
}

TEST(yaml_reads_back_nasty_strings)
{
    struct rng *r = test_rng();
    for (size_t i = 0; i < test_cases(3000); i++) {
        struct strbuf json = STRBUF_INIT(1 << 20);
        strbuf_add_char(&json, '[');
        nasty_value(r, 4, &json);
        strbuf_add_char(&json, ']');
        struct doc *d = parse_json(strbuf_str(&json));
        check_round_trip(d);
        doc_unref(d);
        strbuf_done(&json);
    }
}

/* 1e400 is a JSON number that no YAML reader can hold as one. */
static bool has_huge_number(str text)
{
    return str_find(text, STR("1e400")) >= 0;
}

TEST(yaml_reads_back_what_it_printed)
{
    struct rng *r = test_rng();
    for (size_t i = 0; i < test_cases(3000); i++) {
        struct strbuf json = STRBUF_INIT(1 << 20);
        strbuf_add_char(&json, '[');
        random_json(r, 5, &json);
        strbuf_add_char(&json, ']');
        struct doc *d = parse_json(strbuf_str(&json));
        if (!has_huge_number(doc_text(d)))
            check_round_trip(d);
        doc_unref(d);
        strbuf_done(&json);
    }
}

TEST(yaml_takes_any_json_document_as_it_is)
{
    struct rng *r = test_rng();
    for (size_t i = 0; i < test_cases(1000); i++) {
        struct strbuf json = STRBUF_INIT(1 << 20);
        random_object(r, 5, &json);
        struct doc *d = yaml_parse_one(strbuf_str(&json), NULL);
        struct doc *want = parse_json(strbuf_str(&json));
        CHECK(d && jequal(doc_root(d), doc_root(want)));
        doc_unref(want);
        doc_unref(d);
        strbuf_done(&json);
    }
}

TEST(yaml_short_form_puts_small_parts_on_one_line)
{
    struct doc *d =
        parse_json(STR("{\"spec\":{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"string\"},"
                       "\"a\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
                       "\"description\":\"One: {two}, [three] # and what is longer than a line of "
                       "a definition may be\"}},"
                       "\"required\":[\"a\",\"b\"],\"none\":{},\"text\":\"a\\nb\"}}"));
    struct strbuf out = STRBUF_INIT(1 << 20);
    yaml_write_short(doc_root(d), &out);
    CHECK_CSTR(strbuf_str(&out), "spec:\n"
                                 "  type: object\n"
                                 "  properties:\n"
                                 "    b: {type: string}\n"
                                 "    a:\n"
                                 "      type: array\n"
                                 "      items: {type: string}\n"
                                 "      description: 'One: {two}, [three] # and what is longer "
                                 "than a line of a definition may be'\n"
                                 "  required: [a, b]\n"
                                 "  none: {}\n"
                                 "  text: |-\n"
                                 "    a\n"
                                 "    b\n");
    strbuf_done(&out);
    doc_unref(d);
}

TEST(yaml_short_form_reads_back)
{
    struct rng *r = test_rng();
    for (size_t i = 0; i < test_cases(1000); i++) {
        struct strbuf json = STRBUF_INIT(1 << 20), out = STRBUF_INIT(1 << 20);
        nasty_value(r, 4, &json);
        struct doc *d = parse_json(strbuf_str(&json));
        yaml_write_short(doc_root(d), &out);
        struct doc *back = yaml_parse_one(strbuf_str(&out), NULL);
        if (!CHECK(back && jequal(doc_root(back), doc_root(d))))
            test_note("%.*s", STR_ARG(doc_text(d)));
        doc_unref(back);
        doc_unref(d);
        strbuf_done(&out);
        strbuf_done(&json);
    }
}
