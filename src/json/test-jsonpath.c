/* Expected values are what kubectl prints for the same template, unless a case says otherwise. */
#include "base/test.h"
#include "json/jsonpath.h"

static const char data[] =
    "{\"kind\":\"List\",\"metadata\":{\"name\":\"n\",\"labels\":{\"app.kubernetes.io/name\":\"zz\","
    "\"k8s-app\":\"q\",\"web/html\":\"15\"}},"
    "\"spec\":{\"l\":[1,2,3],\"e\":[],\"nul\":null,\"f\":1.5,\"b\":true,\"s\":\"a b\","
    "\"levels\":[{\"domain\":\"zone\"},{\"domain\":\"rack\"}],"
    "\"items\":[{\"t\":\"A\",\"v\":1,\"ok\":true,\"a\":[]},"
    "{\"t\":\"B\",\"v\":2,\"ok\":false,\"a\":[7,8]},"
    "{\"t\":\"C\",\"v\":3.5,\"ok\":true,\"a\":[9],\"z\":{\"k\":[{\"q\":1}]}}]},"
    "\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"},"
    "{\"type\":\"MinAvailableBreached\",\"status\":\"False\"}]}}";

static const struct {
    const char *template, *want; /* want NULL: error */
    const char *error;           /* the message contains it */
} cases[] = {
    /* fields */
    {"{.kind}", "List"},
    {"{ .kind }", "List"},
    {"{$.kind}", "List"},
    {"{@.kind}", "List"},
    {"plain text", "plain text"},
    {"a}b", "a}b"},
    {"{.kind}}", "List}"},
    {"{.metadata.labels.app\\.kubernetes\\.io/name}", "zz"},
    {"{.metadata.labels['app\\.kubernetes\\.io/name']}", "zz"},
    {"{.metadata.labels['app.kubernetes.io/name']}", ""},
    {"{.metadata.labels['k8s-app']}", "q"},
    {"{.metadata.labels.k8s-app}", "q"},
    {"{.metadata.labels.web/html}", "15"},
    {"{.missing}", ""},
    {"{.missing.deeper}", ""},
    {"{.missing[0]}", ""},
    {"{.spec.nul}", "null"},
    {"{.spec.nul.x}", ""},
    {"{.spec.f} {.spec.b} {.spec.s}", "1.5 true a b"},
    {"{.spec.l.x}", ""},
    {"{.metadata.labels.*}", "zz q 15"},
    {"{.spec.l.*}", "1 2 3"},
    {"{.spec.levels[*].domain}", "zone rack"},
    {"{.spec.items[1]}", "{\"a\":[7,8],\"ok\":false,\"t\":\"B\",\"v\":2}"},
    /* indices and slices */
    {"{.spec.l}", "[1,2,3]"},
    {"{.spec.l[0]}", "1"},
    {"{.spec.l[-1]}", "3"},
    {"{.spec.l[*]}", "1 2 3"},
    {"{.spec.l[1:]}", "2 3"},
    {"{.spec.l[:2]}", "1 2"},
    {"{.spec.l[:-1]}", "1 2"},
    {"{.spec.l[-3:-1]}", "1 2"},
    {"{.spec.l[::2]}", "1 3"},
    {"{.spec.l[1::2]}", "2"},
    {"{.spec.l[0:0]}x", "x"},
    {"{.spec.l[0,2]}", "1 3"},
    {"{.spec.l[1, 2]}", "2 3"},
    {"{.spec.e}", "[]"},
    {"{.spec.e[*]}", ""},
    {"{.spec['s','b']}", "a b true"},
    {"{.spec.items[*]['t','v']}", "A B C 1 2 3.5"},
    {"{.spec.items[*].a[*]}", "7 8 9"}, /* kubectl prints nothing: its loop ends at the [] */
    {"{.spec.l[3]}", NULL, "array index out of bounds: index 3, length 3"},
    {"{.spec.l[-4]}", NULL, "array index out of bounds: index -1, length 3"},
    {"{.spec.l[0:10]}", NULL, "array index out of bounds: index 9, length 3"},
    {"{.spec.e[0]}", NULL, "array index out of bounds: index 0, length 0"},
    {"{.spec.l[2:1]}", NULL, "starting index 2 is greater than ending index 1"},
    {"{.spec.l[0:2:0]}", NULL, "step must be > 0"},
    {"{.metadata.labels[*]}", NULL, "is not array or slice"},
    {"{.spec.l[a]}", NULL, "invalid array index"},
    {"{.spec.l[1:2:3:4]}", NULL, "invalid array index"},
    {"{.spec.l[0}", NULL, "unterminated array"},
    /* recursive descent */
    {"{..q}", "1"},
    {"{..t}", "A B C"},
    {"{...t}", "A B C"},
    {"{.spec..q}", "1"},
    {"{.spec.items[*]..q}", "1"},
    {"{..items[0].t}", "A"},
    {"{....t}", NULL, "invalid multiple recursive descent"},
    /* filters */
    {"{.status.conditions[?(@.type==\"MinAvailableBreached\")].status}", "False"},
    {"{.status.conditions[?(@.type == 'Ready')].status}", "True"},
    {"{.status.conditions[?(@.type==\"Nope\")].status}", ""},
    {"{.spec.items[?(@.t!=\"B\")].v}", "1 3.5"},
    {"{.spec.items[?(@.t>\"A\")].t}", "B C"},
    {"{.spec.items[?(@.t<=\"B\")].t}", "A B"},
    {"{.spec.items[?(@.ok==true)].t}", "A C"},
    {"{.spec.items[?(@.ok!=true)].t}", "B"},
    {"{.spec.l[?(@>1)]}", "2 3"},
    {"{.spec.l[?(@>=2)]}", "2 3"},
    {"{.spec.l[?(@<2)]}", "1"},
    {"{.spec.l[?(@<=-1)]}", ""},
    {"{.spec.items[?(@.v>1)].t}", "B C"}, /* kubectl: an integer does not compare with a real */
    {"{.spec.items[?(@.v==3.5)].t}", "C"},
    {"{.spec.items[?(@.z)].t}", "C"},
    {"{.spec.items[?(@.a)].t}", "A B C"},
    {"{.spec.items[?(@.z.k[0].q==1)].t}", "C"},
    {"{.spec.items[?(@..q==1)].t}", "C"},
    {"{.spec.items[?(@.v==@.v)].t}", "A B C"},
    {"{.spec.items[?(@.zz==\"x\")].t}", ""},
    {"{.spec.items[?(@.a[?(@==8)])].t}", "B"}, /* kubectl has no nested filters */
    {"{.metadata.labels[?(@.x)]}", NULL, "is not array or slice and cannot be filtered"},
    {"{.spec.items[?(@.t==1)].t}", NULL, "incompatible types for comparison"},
    {"{.spec.items[?(@.ok<true)].t}", NULL, "invalid type for comparison"},
    {"{.spec.items[?(@.a==1)].t}", NULL, "invalid type for comparison"},
    {"{.spec.items[?(@.t=~\"A\")].t}", NULL, "unrecognized filter operator"},
    {"{.spec.items[?(@.t<>\"A\")].t}", NULL, "unrecognized filter operator"},
    {"{.spec.items[?(@.t==\"A\" && @.v==1)].t}", NULL, "unrecognized character in filter"},
    {"{.spec.items[?(@.t==\"B\")}", NULL, "unclosed array expect ]"},
    {"{.spec.items[?(@.t==", NULL, "unterminated filter"},
    {"{.spec.items[?(@.t==\"B)].t}", NULL, "unterminated quoted string"},
    /* text and ranges */
    {"{\"a\\\"b\"}{'c\\'d'}{\"\\u00e9\\t\"}", "a\"bc'd\xc3\xa9\t"},
    {"{1}{true}{1.5}{-2}", "1true1.5-2"},
    {"{''}x", "x"},
    {"{\"\\q\"}", NULL, "invalid escape"},
    {"{range .spec.items[*]}{.t}{\"\\t\"}{.v}{\"\\n\"}{end}", "A\t1\nB\t2\nC\t3.5\n"},
    {"{range .spec.items[*]}{.t}={range .a[*]}{@},{end};{end}done", "A=;B=7,8,;C=9,;done"},
    {"{range .spec.e[*]}{.t}{end}x", "x"},
    {"{range .spec.items[*]}{.t}", "ABC"},
    {"{range .spec.l[*]}[{@}] {end}{.kind}", "[1] [2] [3] List"},
    {"{range .missing}x{end}y", "y"},
    {"{range .spec.items[*]}{.t}{end}{end}", NULL, "not in range, nothing to end"},
    {"{foo}", NULL, "unrecognized identifier"},
    {"{.kind", NULL, "unclosed action"},
    {"{.kind\n}", NULL, "unclosed action"},
    {"{{.kind}}", NULL, "unrecognized character in action"},
};

TEST(jsonpath_templates_print_what_kubectl_prints)
{
    struct doc *d = doc_parse(str_of(data), NULL, NULL);
    REQUIRE(d != NULL);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf out = STRBUF_INIT(1 << 16);
        struct err err = ERR_INIT;
        int rc = jsonpath_print(str_of(cases[i].template), doc_root(d), &out, &err);
        bool ok = cases[i].want ? CHECK_INT(rc, 0) && CHECK_CSTR(strbuf_str(&out), cases[i].want)
                                : CHECK(rc != 0) && CHECK(strstr(err.message, cases[i].error));
        if (!ok)
            test_note("%s: %s", cases[i].template, err.message);
        strbuf_done(&out);
    }
    doc_unref(d);
}

static size_t match(const char *path, struct doc *d, jval *ret_first)
{
    struct err err = ERR_INIT;
    struct jsonpath *p = jsonpath_compile(str_of(path), &err);
    if (!p)
        test_note("%s: %s", path, err.message);
    REQUIRE(p != NULL);
    jval_vec matches = {0};
    jsonpath_eval(p, doc_root(d), &matches);
    size_t n = matches.len;
    *ret_first = n ? matches.p[0] : JVAL_ABSENT;
    vec_done(&matches);
    jsonpath_free(p);
    return n;
}

TEST(jsonpath_columns_compile_with_and_without_braces_and_dot)
{
    static const char *const same[] = {".spec.levels[*].domain",   "spec.levels[*].domain",
                                       "{.spec.levels[*].domain}", "{spec.levels[*].domain}",
                                       "$.spec.levels[*].domain",  " .spec.levels[*].domain "};
    struct doc *d = doc_parse(str_of(data), NULL, NULL);
    jval first;
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        CHECK_INT(match(same[i], d, &first), 2);
        CHECK_CSTR(jstr(first), "zone");
    }
    CHECK_INT(match(".spec.nothing", d, &first), 0);
    CHECK_INT(match(".spec.l[7]", d, &first), 0); /* an error is no match */
    CHECK_INT(match("", d, &first), 1);
    CHECK_INT(jtype(first), J_OBJECT);
    doc_unref(d);
}

TEST(jsonpath_compile_names_the_position)
{
    struct err err = ERR_INIT;
    CHECK(jsonpath_compile(STR(".a[b]"), &err) == NULL);
    CHECK(strstr(err.message, "position 5"));
    CHECK(jsonpath_compile(STR(".a b"), &err) == NULL);
    CHECK(strstr(err.message, "position 3"));
    jsonpath_free(NULL);
}

/* [[[...]]] of the given depth. */
static struct doc *deep(size_t depth)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (size_t i = 0; i < depth; i++)
        strbuf_add_char(&b, '[');
    strbuf_add_char(&b, '1');
    for (size_t i = 0; i < depth; i++)
        strbuf_add_char(&b, ']');
    struct doc *d = doc_parse(strbuf_str(&b), NULL, NULL);
    strbuf_done(&b);
    return d;
}

TEST(jsonpath_growth_is_bounded)
{
    /* Each ".." multiplies: 200 levels choose 8 would be 10^13 values. */
    struct doc *d = deep(200);
    REQUIRE(d != NULL);
    struct strbuf out = STRBUF_INIT(64 << 20);
    struct err err = ERR_INIT;
    CHECK_INT(jsonpath_print(STR("{..*..*..*..*..*..*..*..*}"), doc_root(d), &out, &err),
              ERR_TOO_LARGE);
    strbuf_reset(&out);
    CHECK_INT(jsonpath_print(STR("{range ..}{range ..}{range ..}{range ..}{range ..}x"),
                             doc_root(d), &out, &err),
              ERR_TOO_LARGE);
    strbuf_done(&out);
    doc_unref(d);
}

TEST(jsonpath_nesting_is_bounded)
{
    struct strbuf t = STRBUF_INIT(1 << 20), out = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    strbuf_add_char(&t, '{');
    for (size_t i = 0; i < 10000; i++)
        strbuf_add_cstr(&t, "[?(@");
    CHECK(jsonpath_print(strbuf_str(&t), JVAL_ABSENT, &out, &err) != 0);
    strbuf_reset(&t);
    for (size_t i = 0; i < 5000; i++)
        strbuf_add_cstr(&t, "{range @}");
    CHECK(jsonpath_print(strbuf_str(&t), JVAL_ABSENT, &out, &err) != 0);
    strbuf_done(&t);
    strbuf_done(&out);
}
