/* The parser: the corpus of accept/reject cases, messages, limits, duplicate keys. */
#include "base/strbuf.h"
#include "base/test.h"
#include "json/doc.h"
#include "json/write.h"

/* ---- the corpus ---- */

static char *read_file(const char *path, size_t *ret_len)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    struct strbuf b = STRBUF_INIT((size_t)16 << 20);
    char *p;
    size_t n;
    while ((p = strbuf_reserve(&b, 4096)) && (n = fread(p, 1, 4096, f)) > 0)
        strbuf_commit(&b, n);
    fclose(f);
    return strbuf_detach(&b, ret_len);
}

static unsigned hex_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);
}

static void decode(str s, struct strbuf *out)
{
    strbuf_reset(out);
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] != '%') {
            strbuf_add_char(out, s.p[i]);
            continue;
        }
        REQUIRE(i + 2 < s.len);
        strbuf_add_char(out, (char)(hex_digit(s.p[i + 1]) << 4 | hex_digit(s.p[i + 2])));
        i += 2;
    }
}

static void check_case(str verdict, str name, str text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(text, NULL, &err);
    bool want = str_is(verdict, "accept");
    if (!CHECK((d != NULL) == want))
        test_note("%.*s: %s", STR_ARG(name), err.message);
    if (d)
        CHECK_STR(doc_text(d), text);
    else
        CHECK(err.code < 0 && strstr(err.message, "offset"));
    doc_unref(d);
    /* What is valid stays so in an array, what is not does not become so. */
    struct strbuf wrapped = STRBUF_INIT(1 << 20);
    strbuf_add_cstr(&wrapped, "[1,");
    strbuf_add_str(&wrapped, text);
    strbuf_add_cstr(&wrapped, "]");
    const struct json_limits deep = {.max_depth = 257};
    d = doc_parse(strbuf_str(&wrapped), &deep, NULL);
    if (want && !CHECK(d != NULL))
        test_note("%.*s in an array", STR_ARG(name));
    doc_unref(d);
    strbuf_done(&wrapped);
}

TEST(corpus_of_accept_and_reject_cases)
{
    size_t len;
    char *file = read_file(JSON_CASES, &len);
    REQUIRE(file != NULL);
    str rest = str_n(file, len);
    struct strbuf text = STRBUF_INIT(1 << 20);
    size_t cases = 0;
    while (rest.p) {
        str line = str_cut(&rest, '\n');
        if (line.len == 0 || line.p[0] == '#')
            continue;
        str verdict = str_cut(&line, ' '), name = str_cut(&line, ' ');
        REQUIRE(str_is(verdict, "accept") || str_is(verdict, "reject"));
        decode(line, &text);
        check_case(verdict, name, strbuf_str(&text));
        cases++;
    }
    CHECK(cases >= 250);
    strbuf_done(&text);
    free(file);
}

/* Every prefix of a valid text that ends inside it is refused, and nothing is read beyond it. */
TEST(every_prefix_is_refused)
{
    str whole =
        STR("{\"a\":[1,-2.5e+3,\"x\\u00e9\\n\",{\"b\":null}],\"c\":true,\"\xc3\xa9\":false}");
    for (size_t n = 0; n < whole.len; n++) {
        char *copy = xmalloc(n ? n : 1); /* exact, so that a sanitizer sees one byte too many */
        memcpy(copy, whole.p, n);
        struct doc *d = doc_parse(str_n(copy, n), NULL, NULL);
        CHECK(d == NULL);
        doc_unref(d);
        free(copy);
    }
    struct doc *d = doc_parse(whole, NULL, NULL);
    CHECK(d != NULL);
    doc_unref(d);
}

/* ---- messages ---- */

static void check_message(const char *text, const char *message)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(str_of(text), NULL, &err);
    CHECK(d == NULL);
    CHECK_CSTR(str_of(err.message), message);
    CHECK_INT(err.code, ERR_INVALID);
    doc_unref(d);
}

TEST(messages_say_what_and_where)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"", "unexpected end at offset 0: expected a value"},
        {"{\"a\":1,\"bbbbbb\":}", "invalid character '}' at offset 16: expected a value"},
        {"[1,]", "invalid character ']' at offset 3: expected a value"},
        {"[1", "unexpected end at offset 2: expected ',' or ']'"},
        {"{\"a\":1", "unexpected end at offset 6: expected ',' or '}'"},
        {"{\"a\" 1}", "invalid character '1' at offset 5: expected ':' after the key"},
        {"{a:1}", "invalid character 'a' at offset 1: expected a key in quotes"},
        {"{\"a\":1,}", "invalid character '}' at offset 7: expected a key in quotes"},
        {"[01]", "invalid character '1' at offset 2: expected ',' or ']'"},
        {"-", "unexpected end at offset 1: expected a digit"},
        {"1.x", "invalid character 'x' at offset 2: expected a digit"},
        {"trUe", "invalid character 'U' at offset 2: expected true, false or null"},
        {"{} x", "invalid character 'x' at offset 3: expected the end of the document"},
        {"\"a", "unexpected end at offset 2: expected '\"'"},
        {"\"a\n\"", "invalid character 0x0a at offset 2: control characters must be escaped"},
        {"\"\xff\"", "invalid character 0xff at offset 1: not valid UTF-8"},
        {"\"\\u12x4\"", "invalid character 'x' at offset 5: expected four hex digits after \\u"},
        {"\"\\x\"", "invalid character 'x' at offset 2: expected an escape, one of \"\\/bfnrtu"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_message(cases[i].text, cases[i].message);
}

TEST(errors_may_go_unread)
{
    CHECK(doc_parse(STR("["), NULL, NULL) == NULL);
    CHECK(doc_parse(STR("{\"a\":1,\"a\":2}"), NULL, NULL) == NULL);
    CHECK(doc_parse(STR_NONE, NULL, NULL) == NULL);
}

/* ---- limits ---- */

TEST(size_limit_names_the_offset)
{
    struct err err = ERR_INIT;
    const struct json_limits limits = {.max_bytes = 4};
    struct doc *d = doc_parse(STR("[12]"), &limits, &err);
    CHECK(d != NULL);
    doc_unref(d);
    CHECK(doc_parse(STR("[123]"), &limits, &err) == NULL);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    CHECK_CSTR(str_of(err.message), "document of 5 bytes: the limit is at offset 4");
    CHECK(doc_parse_owned(str_dup(STR("[123]")), 5, &limits, &err) == NULL);
}

TEST(depth_limit_names_the_offset)
{
    struct err err = ERR_INIT;
    const struct json_limits limits = {.max_depth = 2};
    struct doc *d = doc_parse(STR("[{\"a\":1},[2],{}]"), &limits, &err);
    CHECK(d != NULL);
    doc_unref(d);
    CHECK(doc_parse(STR("[[],{\"a\":[]}]"), &limits, &err) == NULL);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    CHECK_CSTR(str_of(err.message), "nested deeper than 2 levels at offset 9");
}

TEST(a_million_open_brackets_are_refused_at_the_limit)
{
    size_t n = 1000000;
    char *text = xmalloc(n);
    memset(text, '[', n);
    struct err err = ERR_INIT;
    CHECK(doc_parse_owned(text, n, NULL, &err) == NULL);
    CHECK_CSTR(str_of(err.message), "nested deeper than 256 levels at offset 256");
}

/* ---- duplicate keys ---- */

TEST(duplicate_key_is_refused_by_path)
{
    static const struct {
        const char *text, *path;
        int offset;
    } cases[] = {
        {"{\"a\":1,\"a\":2}", "a", 8},
        {"{\"spec\":{\"replicas\":1,\"x\":{},\"replicas\":2}}", "spec.replicas", 30},
        {"{\"a\":[1,[{\"b\":1,\"\\u0062\":1}]]}", "a[1][0].b", 17},
        {"{\"a\":1,\"a\":2,\"b\":{\"c\":1,\"c\":1}}", "a", 8},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        char want[128];
        CHECK(doc_parse(str_of(cases[i].text), NULL, &err) == NULL);
        CHECK_CSTR(str_of(err.field), cases[i].path);
        snprintf(want, sizeof(want), "duplicate key %s at offset %d", cases[i].path,
                 cases[i].offset);
        CHECK_CSTR(str_of(err.message), want);
    }
}

static struct doc *parse_allowing(str text)
{
    const struct json_limits limits = {.allow_duplicate_keys = true};
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(text, &limits, &err);
    if (!CHECK(d != NULL))
        test_note("%s", err.message);
    return d;
}

TEST(the_last_duplicate_wins_for_readers)
{
    str text = STR("{\"a\":1,\"b\":{\"x\":[1]},\"\\u0061\":2,\"b\":3,\"c\":4,\"a\":5}");
    struct doc *d = parse_allowing(text);
    REQUIRE(d != NULL);
    jval root = doc_root(d);
    CHECK_STR(doc_text(d), text);
    CHECK_INT(jlen(root), 3);
    CHECK_INT(jint(jgetc(root, "a"), 0), 5);
    CHECK_INT(jint(jgetc(root, "b"), 0), 3);
    struct strbuf keys = STRBUF_INIT(100), path = STRBUF_INIT(100);
    size_t n = 0;
    for (struct jiter it = jiter(root); jnext(&it); n++) {
        CHECK_INT(it.index, n);
        strbuf_add_str(&keys, it.key);
    }
    CHECK_STR(strbuf_str(&keys), STR("bca"));
    CHECK(doc_duplicate_key(d, &path));
    CHECK_STR(strbuf_str(&path), STR("a"));
    struct doc *clean = parse_allowing(STR("{\"a\":5,\"c\":4,\"b\":3}"));
    CHECK(jequal(root, doc_root(clean)));
    CHECK(!doc_duplicate_key(clean, NULL));
    strbuf_reset(&keys);
    json_pretty(root, 0, &keys);
    CHECK_STR(strbuf_str(&keys), STR("{\"b\":3,\"c\":4,\"a\":5}"));
    strbuf_done(&keys);
    strbuf_done(&path);
    doc_unref(clean);
    doc_unref(d);
}

/* An object of n members, of which the key at `again` is written once more at the end. */
static void write_large(struct strbuf *out, size_t n, size_t again)
{
    strbuf_reset(out);
    strbuf_add_char(out, '{');
    for (size_t i = 0; i < n; i++)
        strbuf_printf(out, "\"key-%zu\":{\"v\":%zu},", i, i);
    strbuf_printf(out, "\"key-%zu\":-1}", again);
}

TEST(duplicates_are_found_at_every_object_size)
{
    struct strbuf text = STRBUF_INIT(16 << 20);
    for (size_t n = 1; n <= 60; n++) {
        size_t again = rng_below(test_rng(), n);
        write_large(&text, n, again);
        CHECK(doc_parse(strbuf_str(&text), NULL, NULL) == NULL);
        struct doc *d = parse_allowing(strbuf_str(&text));
        char key[32];
        snprintf(key, sizeof(key), "key-%zu", again);
        CHECK_INT(jlen(doc_root(d)), n);
        CHECK_INT(jint(jget(doc_root(d), str_of(key)), 0), -1);
        doc_unref(d);
        write_large(&text, n, n);
        d = doc_parse(strbuf_str(&text), NULL, NULL);
        CHECK(d != NULL);
        CHECK_INT(jlen(doc_root(d)), n + 1);
        doc_unref(d);
    }
    strbuf_done(&text);
}

/* Would take minutes if anything here were quadratic. */
TEST(large_objects_take_linear_time)
{
    struct strbuf text = STRBUF_INIT(64 << 20);
    size_t n = 200000;
    write_large(&text, n, n);
    struct doc *d = doc_parse(strbuf_str(&text), NULL, NULL);
    CHECK(d != NULL);
    CHECK_INT(jlen(doc_root(d)), n + 1);
    doc_unref(d);
    /* The same key over and over. */
    strbuf_reset(&text);
    strbuf_add_char(&text, '{');
    for (size_t i = 0; i < n; i++)
        strbuf_add_cstr(&text, "\"same\":0,");
    strbuf_add_cstr(&text, "\"same\":1}");
    d = parse_allowing(strbuf_str(&text));
    CHECK_INT(jlen(doc_root(d)), 1);
    CHECK_INT(jint(jgetc(doc_root(d), "same"), 0), 1);
    doc_unref(d);
    strbuf_done(&text);
}

/* ---- documents ---- */

TEST(a_large_buffer_is_taken_over)
{
    struct strbuf text = STRBUF_INIT(16 << 20);
    strbuf_add_cstr(&text, "[\"tab\\there\"");
    while (text.len < 100000)
        strbuf_printf(&text, ",%zu", text.len);
    strbuf_add_char(&text, ']');
    str copy = str_n(str_dup(strbuf_str(&text)), text.len);
    size_t len;
    char *owned = strbuf_detach(&text, &len);
    struct doc *d = doc_parse_owned(owned, len, NULL, NULL);
    REQUIRE(d != NULL);
    CHECK_STR(doc_text(d), copy);
    CHECK_STR(jstr(jat(doc_root(d), 0)), STR("tab\there"));
    CHECK(doc_memory(d) > len);
    doc_unref(d);
    free((char *)(uintptr_t)copy.p);
}

TEST(escapes_are_resolved_beside_the_text)
{
    static const struct {
        const char *text, *want;
        size_t len;
    } cases[] = {
        {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8},
        {"\"\\u0041\\u00e9\\u4e2d\"", "A\xc3\xa9\xe4\xb8\xad", 6},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4},
        {"\"\\udbff\\udfff\"", "\xf4\x8f\xbf\xbf", 4},
        {"\"a\\u0000b\"", "a\0b", 3},
        {"\"\\ud800\"", "\xef\xbf\xbd", 3},
        {"\"\\udc00x\"", "\xef\xbf\xbdx", 4},
        {"\"\\ud800\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80", 7},
        {"\"\\ud800\\u0041\"",
         "\xef\xbf\xbd"
         "A",
         4},
        {"\"0123456789abcdef\\n0123456789abcdef\"", "0123456789abcdef\n0123456789abcdef", 33},
        {"\"\xc3\xa9\\t\xc3\xa9\"", "\xc3\xa9\t\xc3\xa9", 5},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct doc *d = doc_parse(str_of(cases[i].text), NULL, NULL);
        REQUIRE(d != NULL);
        CHECK_STR(jstr(doc_root(d)), str_n(cases[i].want, cases[i].len));
        CHECK_CSTR(jtext(doc_root(d)), cases[i].text);
        doc_unref(d);
    }
}
