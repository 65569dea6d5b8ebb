/* CEL as tables: what an expression says about a document, and what is no expression. */
#include "base/test.h"
#include "kube/cel/cel.h"

#define COST 100000

static struct doc *parse(struct arena *a, const char *json)
{
    char *text = xstrdup(json);
    for (char *p = text; *p; p++)
        if (*p == '`')
            *p = '"';
    struct doc *d = doc_parse_owned(text, strlen(text), NULL, NULL);
    REQUIRE(d);
    return doc_hold(a, d);
}

static const char object[] = "{`kind`:`Pod`,`metadata`:{`name`:`web-1`,`labels`:{`app`:`web`,`a/"
                             "b`:`c`}},`spec`:{`replicas`:3,"
                             "`ratio`:1.5,`none`:null,`on`:true,`containers`:[{`name`:`a`,`image`:`"
                             "ok/x`},{`name`:`b`,`image`:"
                             "`ok/y`,`ports`:[80,443]}]}}";

enum { NO, YES, FAILS };

static const struct {
    const char *text;
    int want;
} expressions[] = {
    /* literals and arithmetic */
    {"true", YES},
    {"!true", NO},
    {"!!true", YES},
    {"1 + 2 * 3 == 7", YES},
    {"(1 + 2) * 3 == 9", YES},
    {"7 / 2 == 3 && 7 % 2 == 1 && -7 / 2 == -3", YES},
    {"7.0 / 2.0 == 3.5", YES},
    {"0x10 == 16 && 1e3 == 1000.0", YES},
    {"1 == 1.0 && 1u == 1", YES},
    {"9223372036854775807 + 1 > 0", FAILS},
    {"-9223372036854775808 < 0", YES},
    {"1 / 0 == 1", FAILS},
    {"1u - 2u == 0u", FAILS},
    {"'a' + \"b\" == 'ab'", YES},
    {"r'\\d' == '\\\\d' && '\\x41\\u00e9' == 'A\xc3\xa9'", YES},
    {"'''a'b''' == \"a'b\"", YES},
    {"[1, 2] + [3] == [1, 2, 3]", YES},
    {"[1, 2] == [2, 1]", NO},
    {"{'a': 1, 'b': 2} == {'b': 2, 'a': 1}", YES},
    {"2 in [1, 2] && !(3 in [1, 2]) && 'a' in {'a': 1}", YES},
    {"'a' < 'b' && 'b' >= 'a' && false < true", YES},
    {"1 < 2 ? true : false", YES},
    {"null == null", YES},
    {"1 < 2 // a comment", YES},
    /* documents */
    {"object.metadata.name == 'web-1'", YES},
    {"object.metadata.labels['a/b'] == 'c'", YES},
    {"object['kind'] == 'Pod'", YES},
    {"object.spec.replicas == 3 && object.spec.replicas > 2.5", YES},
    {"object.spec.ratio == 1.5", YES},
    {"object.spec.none == null", YES},
    {"object.spec.on", YES},
    {"object.spec.containers[1].ports[0] == 80", YES},
    {"object.spec.containers[2].name == 'x'", FAILS},
    {"object.spec.containers[-1].name == 'x'", FAILS},
    {"object.spec.missing == 1", FAILS},
    {"has(object.spec.missing)", NO},
    {"has(object.spec.none)", YES},
    {"has(object.missing.deeper)", FAILS},
    {"'app' in object.metadata.labels", YES},
    {"oldObject == null", YES},
    {"object.metadata.name", FAILS}, /* no bool */
    {"object.metadata.name + 1 == 2", FAILS},
    {"object.spec.containers == [{'name': 'a', 'image': 'ok/x'}, {'name': 'b', 'image': 'ok/y', "
     "'ports': [80, 443]}]",
     YES},
    /* what decides */
    {"false && object.missing", NO},
    {"object.missing && false", NO},
    {"object.missing || true", YES},
    {"object.missing || false", FAILS},
    {"object.missing == 1 ? true : true", FAILS},
    {"true ? true : object.missing", YES},
    /* macros */
    {"object.spec.containers.all(c, c.image.startsWith('ok/'))", YES},
    {"object.spec.containers.all(c, c.name == 'a')", NO},
    {"object.spec.containers.exists(c, c.name == 'b')", YES},
    {"object.spec.containers.exists(c, has(c.ports) && 443 in c.ports)", YES},
    {"object.spec.containers.exists(c, c.ports[0] == 80)",
     YES}, /* the error of the first is forgotten */
    {"object.spec.containers.all(c, c.ports[0] == 80)", FAILS},
    {"object.spec.containers.exists_one(c, c.name != 'x')", NO},
    {"object.spec.containers.map(c, c.name) == ['a', 'b']", YES},
    {"object.spec.containers.map(c, c.name == 'b', c.image) == ['ok/y']", YES},
    {"object.spec.containers.filter(c, has(c.ports)).size() == 1", YES},
    {"object.metadata.labels.all(k, k != 'x')", YES},
    {"object.metadata.labels.exists(k, object.metadata.labels[k] == 'web')", YES},
    {"[1, 2].all(x, [x, x + 1].exists(y, y == x + 1))", YES},
    {"[1].all(x, [2].all(x, x == 2) && x == 1)", YES}, /* the inner name is another */
    {"[].all(x, false) && ![].exists(x, true)", YES},
    /* functions */
    {"size('h\xc3\xa9llo') == 5 && 'ab'.size() == 2 && size([1]) == 1 && size({}) == 0", YES},
    {"'abc'.contains('b') && 'abc'.endsWith('bc') && !'abc'.startsWith('b')", YES},
    {"'web-12'.matches('^[a-z]+-[0-9]+$') && !matches('x', '[0-9]')", YES},
    {"'x'.matches('(')", FAILS},
    {"'aB'.lowerAscii() == 'ab' && 'aB'.upperAscii() == 'AB' && ' a '.trim() == 'a'", YES},
    {"'a,b,c'.split(',') == ['a', 'b', 'c'] && ['a', 'b'].join('-') == 'a-b'", YES},
    {"'aXbX'.replace('X', 'y') == 'ayby'", YES},
    {"'h\xc3\xa9llo'.substring(1, 3) == '\xc3\xa9l' && 'abc'.substring(1) == 'bc'", YES},
    {"'abc'.substring(2, 9) == ''", FAILS},
    {"'abcb'.indexOf('b') == 1 && 'abc'.indexOf('x') == -1", YES},
    {"string(1) + string(true) == '1true' && int('42') == 42 && double('1.5') == 1.5", YES},
    {"int('x') == 1", FAILS},
    {"int(1e30) == 1", FAILS},
    {"[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3 && [3, 1, 2].sum() == 6", YES},
    {"[1, 2, 2].isSorted() && ![2, 1].isSorted()", YES},
    {"[].min() == 1", FAILS},
};

/* What the specification of the language says, section by section. */
static const struct {
    const char *text;
    int want;
} language[] = {
    /* values: numbers */
    {"0xFFu == 255u && -0x10 == -16", YES},
    {"1.5e2 == 150.0 && .5 == 0.5 && 1e-1 == 0.1", YES},
    {"9223372036854775807 == 9223372036854775807 && 18446744073709551615u > 0u", YES},
    {"-9223372036854775808 - 1 < 0", FAILS},
    {"-(-9223372036854775808) > 0", FAILS},
    {"9223372036854775807 * 2 > 0", FAILS},
    {"-9223372036854775808 / -1 > 0", FAILS},
    {"18446744073709551615u + 1u > 0u", FAILS},
    {"2u * 3u == 6u && 7u / 2u == 3u && 7u % 2u == 1u", YES},
    {"-7 % 3 == -1 && 7 % -3 == 1", YES},
    {"1 % 0 == 1", FAILS},
    {"1.0 / 0.0 > 1e308 && -1.0 / 0.0 < -1e308", YES},
    {"0.0 / 0.0 == 0.0 / 0.0", NO},
    {"0.0 / 0.0 != 0.0 / 0.0", YES},
    {"0.0 / 0.0 < 1.0 || 0.0 / 0.0 >= 1.0", NO},
    {"- 1 == -1 && --1 == 1 && -(1 + 1) == -2", YES},
    /* numbers of different types on one line */
    {"1 < 2u && 2u > 1 && 1.5 < 2 && 3u > 2.5", YES},
    {"-1 < 0u && !(-1 == 18446744073709551615u)", YES},
    {"9007199254740993 == 9007199254740993 && 1 != 1.5", YES},
    {"1 in [1.0, 2.0] && 1u in [1]", YES},
    {"{1: 'a'}[1u] == 'a' && {1: 'a'}[1.0] == 'a'", YES},
    /* values: strings and bytes */
    {"'\\101\\n' == 'A\\x0a' && \"\\'\" == '\\''", YES},
    {"r'a\\nb' != 'a\\nb' && R\"x\" == 'x'", YES},
    {"\"\"\"a\nb\"\"\" == 'a\\nb'", YES},
    {"'\\U0001F600'.size() == 1 && '\\u00e9' == '\xc3\xa9'", YES},
    {"b'abc' == b'\\x61\\x62\\x63' && size(b'\xc3\xa9') == 2", YES},
    {"b'a' + b'b' == b'ab' && b'a' < b'b'", YES},
    {"'a' < 'aa' && 'B' < 'a' && '' < 'a'", YES},
    {"'abc' == 'ab' + 'c' && 'a' != 'A'", YES},
    /* lists and maps */
    {"[] == [] && [[1], []] == [[1], []] && [1, 'a'] != ['a', 1]", YES},
    {"{} == {} && {'a': [1]} == {'a': [1]} && {'a': 1} != {'a': 2}", YES},
    {"{'a': 1, 'a': 2} == {'a': 2}", FAILS},
    {"[1, 2, 3][0] == 1 && [1, 2, 3][2u] == 3 && [[1, 2]][0][1] == 2", YES},
    {"[1][1] == 1", FAILS},
    {"{'a': 1}['b'] == 1", FAILS},
    {"{'a': {'b': 1}}.a.b == 1", YES},
    {"has({'a': 1}.a) && !has({'a': 1}.b)", YES},
    {"{true: 1, 2: 3, 'x': 4u}[true] == 1", YES},
    {"[1, 2, 3,].size() == 3 && {'a': 1,}.size() == 1", YES},
    /* what decides */
    {"true || 1 / 0 == 1", YES},
    {"1 / 0 == 1 || true", YES},
    {"false && 1 / 0 == 1", NO},
    {"1 / 0 == 1 && false", NO},
    {"1 / 0 == 1 || 1 / 0 == 1", FAILS},
    {"true && 1 / 0 == 1", FAILS},
    {"false || 1 / 0 == 1", FAILS},
    {"true ? true : 1 / 0 == 1", YES},
    {"false ? 1 / 0 == 1 : true", YES},
    {"(1 / 0 == 1 ? true : true) || true", YES},
    {"object.missing.deeper || object.kind == 'Pod'", YES},
    {"!(1 / 0 == 1)", FAILS},
    {"1 / 0 == 1 / 0", FAILS},
    /* precedence */
    {"true || false && false", YES},
    {"1 + 2 == 3 == true", YES},
    {"!false && !false", YES},
    {"false ? true : false ? false : true", YES},
    {"2 - 1 - 1 == 0 && 8 / 4 / 2 == 1 && 2 + 3 * 4 - 1 == 13", YES},
    {"-2 * 3 == -6 && !(1 > 2)", YES},
    {"1 in [1] == true", YES},
    /* comprehensions */
    {"[1, 2, 3].all(x, x > 0) && ![1, 2, 3].all(x, x > 1)", YES},
    {"[1, 0].exists(x, 1 / x == 1)", YES},
    {"[0, 1].exists(x, 1 / x == 1)", YES},
    {"[0, 2].exists(x, 1 / x == 1)", FAILS},
    {"[0, 1].all(x, 1 / x == 2)", NO},
    {"[0, 1].all(x, 1 / x == 1)", FAILS},
    {"[1, 2, 2].exists_one(x, x == 1) && ![1, 2, 2].exists_one(x, x == 2)", YES},
    {"![].exists_one(x, true)", YES},
    {"[0, 1].exists_one(x, 1 / x == 1)", FAILS},
    {"[1, 2].map(x, x * x) == [1, 4] && [1, 2, 3].map(x, x > 1, x + 1) == [3, 4]", YES},
    {"[1, 2, 3].filter(x, x % 2 == 1) == [1, 3]", YES},
    {"[0].map(x, 1 / x) == [1]", FAILS},
    {"{'a': 1, 'b': 2}.all(k, k in ['a', 'b']) && {'a': 1}.map(k, k) == ['a']", YES},
    {"[[1, 2], [3]].map(l, l.map(x, x + 1)) == [[2, 3], [4]]", YES},
    {"[1, 2].all(x, [3, 4].all(y, x < y))", YES},
    /* types */
    {"type(1) == int && type(1u) == uint && type(1.0) == double && type('') == string", YES},
    {"type([]) == list && type({}) == map && type(null) == null_type && type(b'') == bytes", YES},
    {"type(type(1)) == type && type(true) == bool && type(1) != type(1u)", YES},
    {"type(object.spec.replicas) == int ? object.spec.replicas > 2 : false", YES},
    /* conversions */
    {"int(1.9) == 1 && int(-1.9) == -1 && int(3u) == 3 && int('-5') == -5", YES},
    {"uint(1.9) == 1u && uint('7') == 7u && uint(2) == 2u", YES},
    {"uint(-1) == 0u", FAILS},
    {"int(18446744073709551615u) == 1", FAILS},
    {"double(1) == 1.0 && double('1e3') == 1000.0", YES},
    {"string(1.5) == '1.5' && string(-3) == '-3' && string(3u) == '3' && string(b'x') == 'x'", YES},
    {"bool('true') && !bool('false')", YES},
    {"bool('maybe')", FAILS},
    {"bytes('a') == b'a' && dyn(1) == 1", YES},
    /* time */
    {"timestamp('2024-02-29T12:30:45Z').getFullYear() == 2024", YES},
    {"timestamp('2024-02-29T12:30:45Z').getMonth() == 1", YES},
    {"timestamp('2024-02-29T12:30:45Z').getDayOfMonth() == 28", YES},
    {"timestamp('2024-02-29T12:30:45Z').getDate() == 29", YES},
    {"timestamp('2024-02-29T12:30:45Z').getDayOfYear() == 59", YES},
    {"timestamp('2024-12-31T00:00:00Z').getDayOfYear() == 365", YES},
    {"timestamp('2024-02-29T12:30:45Z').getDayOfWeek() == 4", YES},
    {"timestamp('2024-02-29T12:30:45Z').getHours() == 12", YES},
    {"timestamp('1969-12-31T23:59:59Z').getSeconds() == 59", YES},
    {"timestamp('2024-01-01T00:00:00Z') + duration('24h') == timestamp('2024-01-02T00:00:00Z')",
     YES},
    {"timestamp('2024-01-01T00:00:00Z') - timestamp('2023-12-31T23:00:00Z') == duration('1h')",
     YES},
    {"duration('1h30m').getMinutes() == 90 && duration('1500ms').getSeconds() == 1", YES},
    {"duration('1h') < duration('61m') && string(duration('90s')) == '90s'", YES},
    {"int(timestamp('1970-01-01T00:01:00Z')) == 60", YES},
    {"timestamp('yesterday') < timestamp('2024-01-01T00:00:00Z')", FAILS},
    {"duration('soon') == duration('1s')", FAILS},
    {"timestamp('9999-12-31T23:59:59Z') + duration('1h') > timestamp('2024-01-01T00:00:00Z')",
     FAILS},
};

static void check_table(const char *text, int want)
{
    static const char *const names[] = {"object", "oldObject"};
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    bool said = false;
    jval vars[] = {doc_root(parse(&a, object)), doc_root(parse(&a, "null"))};
    const struct cel *c = cel_compile(&a, str_of(text), names, 2, &err);
    int got = !c ? -1 : cel_eval(c, &a, vars, COST, &said, &err) < 0 ? FAILS : said ? YES : NO;
    if (!CHECK_INT(got, want))
        test_note("%s: %s", text, err.message);
    arena_done(&a);
}

TEST(the_language_is_as_specified)
{
    for (size_t i = 0; i < ARRAY_LEN(language); i++)
        check_table(language[i].text, language[i].want);
}

TEST(expressions_say_what_they_say)
{
    for (size_t i = 0; i < ARRAY_LEN(expressions); i++)
        check_table(expressions[i].text, expressions[i].want);
}

static const char *const wrong[] = {
    "",
    "1",
    "'a'",
    "1 +",
    "(1 == 1",
    "[1, 2",
    "{'a' 1} == {}",
    "'open",
    "'\\q' == ''",
    "nobody == 1",
    "1 == 'a'",
    "1 + 'a' == 2",
    "1 + 1.0 == 2.0",
    "1.5 % 2.0 == 1.0",
    "!1",
    "-'a' == 'b'",
    "true && 1",
    "1 ? true : false",
    "'a'.field == 1",
    "1[0] == 1",
    "size(1, 2) == 1",
    "nothing(1)",
    "'a'.nothing()",
    "has(object)",
    "has(1 + 1)",
    "object.all(1, true)",
    "object.all(x, 1)",
    "object.all(x)",
    "1 in 2",
    "[1] < [2]",
    "99999999999999999999 == 1",
    "true false",
    "true # false",
    "x.",
    "\xff",
    "'\\400' == ''",
    "b'\\u0041' == b'A'",
    "b'a' == 'a'",
    "has(object.all(x, true))",
    "x.exists(x.y, true)",
    "1u - 1 == 0u",
    "timestamp('a') + timestamp('b') == timestamp('c')",
    "duration('1s') - timestamp('b') == duration('1s')",
    "size(1) == 1",
    "'a'.startsWith(1)",
    "'a'.map(x, x) == []",
    "[1] + 1 == [1]",
    "type(1) == 'int'",
    "math.greatest(1, 2) == 2",
    "'a'.reverse() == 'a'",
    "cel.bind(x, 1, x == 1)",
    "[1].all(i, v, v == 1)",
    "self.x == 1",
    "authorizer.path('/x').check('get').allowed()",
    "variables.x",
};

TEST(what_is_no_expression_does_not_compile)
{
    static const char *const names[] = {"object", "x"};
    struct arena a = ARENA_INIT;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct err err = ERR_INIT;
        if (!CHECK(!cel_compile(&a, str_of(wrong[i]), names, 2, &err)) || !CHECK(err.message[0]))
            test_note("%s", wrong[i]);
    }
    arena_done(&a);
}

TEST(an_error_says_where_it_is)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    CHECK(!cel_compile(&a, STR("true && nobody"), NULL, 0, &err));
    CHECK_CSTR(str_of(err.message),
               "ERROR: <input>:1:9: undeclared reference to 'nobody' (in container '')\n"
               " | true && nobody\n | ........^");
    CHECK(!cel_compile(&a, STR("1 + 'a' == 2"), NULL, 0, &err));
    CHECK_CSTR(str_of(err.message),
               "ERROR: <input>:1:3: found no matching overload for '_+_' applied to '(int, "
               "string)'\n | 1 + 'a' == 2\n | ..^");
    CHECK(!cel_compile(&a, STR("true &&\n  nobody"), NULL, 0, &err));
    CHECK_CSTR(str_of(err.message),
               "ERROR: <input>:2:3: undeclared reference to 'nobody' (in container '')\n"
               " |   nobody\n | ..^");
    arena_done(&a);
}

static const char *const costly[] = {
    "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, "
    "[1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, a + b + c + d + e > 0)))))",
    "true || [1,2,3,4,5,6,7,8,9,10].all(a, false)", /* costs little */
};

TEST(what_costs_too_much_ends)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    bool said = false;
    const struct cel *c = cel_compile(&a, str_of(costly[0]), NULL, 0, &err);
    REQUIRE(c);
    CHECK_INT(cel_eval(c, &a, NULL, 1000, &said, &err), ERR_TOO_LARGE);
    CHECK(!said);
    c = cel_compile(&a, str_of(costly[1]), NULL, 0, &err);
    REQUIRE(c);
    CHECK_INT(cel_eval(c, &a, NULL, 10, &said, &err), 0);
    CHECK(said);
    arena_done(&a);
}

TEST(nesting_and_length_are_bounded)
{
    static const struct {
        const char *unit, *middle, *end;
    } shapes[] = {{"(", "true", ")"},          {"[", "1", "]"},
                  {"!", "true", ""},           {"-", "1", " == 1"},
                  {"1 + ", "1", " == 1"},      {"true && ", "true", ""},
                  {"x.a", "", " == 1"},        {"true ? true : ", "true", ""},
                  {"[1].all(x, ", "true", ")"}};
    static const char *const names[] = {"x"};
    for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
        struct arena a = ARENA_INIT;
        struct strbuf b = STRBUF_INIT(1 << 20);
        bool said;
        for (size_t n = 0; n < 8000 && b.len < CEL_MAX_TEXT - 64; n++)
            strbuf_add_cstr(&b, shapes[s].unit);
        strbuf_add_cstr(&b, shapes[s].middle);
        struct cel *c = cel_compile(&a, strbuf_str(&b), names, 1, NULL);
        if (c)
            (void)cel_eval(c, &a, (jval[]){JVAL_ABSENT}, COST, &said, NULL);
        CHECK(a.used < (size_t)64 << 20);
        strbuf_done(&b);
        arena_done(&a);
    }
}
