/* CEL as tables: what an expression says about a document, and what is no expression. */
#include "base/test.h"
#include "kube/cel.h"

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

TEST(expressions_say_what_they_say)
{
    static const char *const names[] = {"object", "oldObject"};
    struct arena a = ARENA_INIT;
    struct doc *null = parse(&a, "null");
    jval vars[] = {doc_root(parse(&a, object)), doc_root(null)};
    for (size_t i = 0; i < ARRAY_LEN(expressions); i++) {
        struct err err = ERR_INIT;
        bool said = false;
        const struct cel *c = cel_compile(&a, str_of(expressions[i].text), names, 2, &err);
        int got = !c ? -1 : cel_eval(c, &a, vars, COST, &said, &err) < 0 ? FAILS : said ? YES : NO;
        if (!CHECK_INT(got, expressions[i].want))
            test_note("%s: %s", expressions[i].text, err.message);
    }
    arena_done(&a);
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
    CHECK_CSTR(str_of(err.message), "at character 15: undeclared reference to 'nobody'");
    CHECK(!cel_compile(&a, STR("1 + 'a' == 2"), NULL, 0, &err));
    CHECK_CSTR(str_of(err.message),
               "at character 9: found no matching overload for '_+_' applied to '(int, string)'");
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
