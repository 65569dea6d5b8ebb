/*
 * CEL as Kubernetes has it: its functions, optional values, and variables with a schema, whose
 * fields are known before anything is evaluated.
 */
#include "base/test.h"
#include "kube/cel/cel.h"

#define COST 100000

enum { NO, YES, FAILS, REFUSED };

static jval parse(struct arena *a, const char *json)
{
    char *text = xstrdup(json);
    for (char *p = text; *p; p++)
        if (*p == '`')
            *p = '"';
    struct doc *d = doc_parse_owned(text, strlen(text), NULL, NULL);
    REQUIRE(d);
    return doc_root(doc_hold(a, d));
}

struct row {
    const char *text;
    int want;
};

static const char schema[] =
    "{`type`:`object`,`properties`:{"
    "`spec`:{`type`:`object`,`properties`:{`replicas`:{`type`:`integer`},`ratio`:{`type`:`number`},"
    "`mode`:{`type`:`string`},`a-b`:{`type`:`string`},`a.b/c`:{`type`:`string`},"
    "`d__e`:{`type`:`string`},`namespace`:{`type`:`string`},`x_y`:{`type`:`integer`},"
    "`port`:{`x-kubernetes-int-or-string`:true},"
    "`since`:{`type`:`string`,`format`:`date-time`},`day`:{`type`:`string`,`format`:`date`},"
    "`grace`:{`type`:`string`,`format`:`duration`},`blob`:{`type`:`string`,`format`:`byte`},"
    "`free`:{`x-kubernetes-preserve-unknown-fields`:true},"
    "`maybe`:{`type`:`string`,`nullable`:true},"
    "`labels`:{`type`:`object`,`additionalProperties`:{`type`:`string`}},"
    "`tags`:{`type`:`array`,`x-kubernetes-list-type`:`set`,`items`:{`type`:`string`}},"
    "`items`:{`type`:`array`,`x-kubernetes-list-type`:`map`,`x-kubernetes-list-map-keys`:[`name`],"
    "`items`:{`type`:`object`,`properties`:{`name`:{`type`:`string`},`n`:{`type`:`integer`}}}},"
    "`plain`:{`type`:`array`,`items`:{`type`:`integer`}}}}}}";

static const char object[] =
    "{`apiVersion`:`v1`,`kind`:`Thing`,`metadata`:{`name`:`it`,`labels`:{`a`:`b`}},`spec`:{"
    "`replicas`:3,`ratio`:2,`mode`:`On`,`a-b`:`dash`,`a.b/c`:`dot`,`d__e`:`under`,"
    "`namespace`:`word`,`x_y`:7,`port`:`http`,`since`:`2024-01-01T00:00:00Z`,`day`:`2024-01-02`,"
    "`grace`:`90s`,`blob`:`YWJj`,`maybe`:null,"
    "`labels`:{`k-1`:`v`,`k2`:`w`},`tags`:[`x`,`y`],`items`:[{`name`:`a`,`n`:1},"
    "{`name`:`b`,`n`:2}],`plain`:[1,2]}}";
static const char other[] =
    "{`spec`:{`tags`:[`y`,`x`],`items`:[{`name`:`b`,`n`:2},{`name`:`a`,`n`:1}],`plain`:[2,1]}}";

static int evaluate(struct arena *a, const char *text, struct err *err)
{
    jval s = parse(a, schema), vars[] = {parse(a, object), parse(a, other), JVAL_ABSENT};
    const struct cel_decl decls[] = {
        {"self", s, true, false}, {"old", s, true, false}, {"opt", s, true, true}};
    const struct cel_scope scope = {.vars = decls, .n_vars = 3};
    uint64_t cost = COST;
    bool said = false;
    const struct cel *c = cel_compile_in(a, str_of(text), &scope, CEL_WANT_BOOL, err);
    struct cel_input in = {.vars = vars, .cost = &cost};
    if (!c)
        return REFUSED;
    return cel_run_bool(cel_run_new(a, &in), c, &said, err) < 0 ? FAILS : said ? YES : NO;
}

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct arena a = ARENA_INIT;
        struct err err = ERR_INIT;
        if (!CHECK_INT(evaluate(&a, rows[i].text, &err), rows[i].want))
            test_note("%s: %s", rows[i].text, err.message);
        arena_done(&a);
    }
}

static const struct row functions[] = {
    /* strings */
    {"'tacocat'.charAt(3) == 'o' && 'abc'.charAt(3) == ''", YES},
    {"'abc'.charAt(4) == ''", FAILS},
    {"'hello mellow'.indexOf('ello', 2) == 7 && 'hello'.indexOf('') == 0", YES},
    {"'hello mellow'.lastIndexOf('ello') == 7 && 'hello mellow'.lastIndexOf('ello', 6) == 1", YES},
    {"'hello hello'.replace('he', 'we', 1) == 'wello hello'", YES},
    {"'hello hello'.replace('he', 'we', 0) == 'hello hello'", YES},
    {"'ab'.replace('', '-') == '-a-b-'", YES},
    {"'a b c'.split(' ', 2) == ['a', 'b c'] && 'abc'.split('') == ['a', 'b', 'c']", YES},
    {"'a b'.split(' ', 0) == [] && 'a b'.split(' ', -1) == ['a', 'b']", YES},
    {"'abc 123 def 456'.find('[0-9]+') == '123' && 'abc'.find('x') == ''", YES},
    {"'123 abc 456'.findAll('[0-9]+') == ['123', '456']", YES},
    {"'123 abc 456'.findAll('[0-9]+', 1) == ['123']", YES},
    {"'%s has %d of %s'.format(['x', 3, [1, 'a']]) == 'x has 3 of [1, a]'", YES},
    {"'%.2f %x %b %o %%'.format([1.239, 255, 5, 8]) == '1.24 ff 101 10 %'", YES},
    {"'%d'.format(['x']) == ''", FAILS},
    {"'%s'.format([]) == ''", FAILS},
    {"strings.quote('a\"b') == '\"a\\\\\"b\"'", YES},
    {"'(a+)+$'.size() > 0 && !'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('(a+)+$')", YES},
    {"'foobar'.matches('foo(?=bar)')", FAILS}, /* RE2 does not look ahead */
    {"'baac'.findAll('a*') == ['', 'aa', '']", YES},
    {"'a1b22'.findAll('[0-9]+', 1) == ['1'] && 'ab'.find('c') == ''", YES},
    /* lists and sets */
    {"[1, 2, 1].indexOf(1) == 0 && [1, 2, 1].lastIndexOf(1) == 2 && [1].indexOf(3) == -1", YES},
    {"['a', 'b'].isSorted() && [duration('1s'), duration('2s')].sum() == duration('3s')", YES},
    {"[1.5, 2.5].sum() == 4.0 && [].sum() == 0 && ['b', 'a'].min() == 'a'", YES},
    {"sets.contains([1, 2, 3], [3, 1]) && !sets.contains([1], [1, 2]) && sets.contains([1], [])",
     YES},
    {"sets.equivalent([1, 2, 2], [2, 1]) && !sets.equivalent([1], [1, 2])", YES},
    {"sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [2])", YES},
    /* optional values */
    {"optional.of(1).hasValue() && !optional.none().hasValue() && optional.of(1).value() == 1",
     YES},
    {"optional.none().value() == 1", FAILS},
    {"optional.none().orValue(2) == 2 && optional.none().or(optional.of(3)).value() == 3", YES},
    {"optional.of(2).optMap(x, x + 1).value() == 3", YES},
    {"!optional.none().optMap(x, x + 1).hasValue()", YES},
    {"optional.of(2).optFlatMap(x, optional.none()).orValue(7) == 7", YES},
    {"!optional.ofNonZeroValue('').hasValue() && optional.ofNonZeroValue('x').hasValue()", YES},
    {"{'a': {'b': 1}}.?a.b.value() == 1 && !{'a': 1}.?x.y.hasValue()", YES},
    {"[1, 2][?1].value() == 2 && ![1][?5].hasValue() && {'a': 1}[?'b'].orValue(0) == 0", YES},
    {"optional.of(1) == optional.of(1) && optional.none() != optional.of(1)", YES},
    /* quantities */
    {"isQuantity('1.5Gi') && !isQuantity('1x')", YES},
    {"quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('1').isLessThan(quantity('2'))",
     YES},
    {"quantity('1000m') == quantity('1') && quantity('1k').compareTo(quantity('1M')) == -1", YES},
    {"quantity('1').add(quantity('500m')) == quantity('1.5')", YES},
    {"quantity('2').sub(1) == quantity('1') && quantity('-1').sign() == -1", YES},
    {"quantity('2k').asInteger() == 2000 && quantity('500m').asApproximateFloat() == 0.5", YES},
    {"!quantity('500m').isInteger() && quantity('3').isInteger()", YES},
    {"quantity('500m').asInteger() == 1", FAILS},
    {"quantity('x') == quantity('1')", FAILS},
    /* URLs */
    {"url('https://u@example.com:80/a/b?x=1&y=2&x=3').getHost() == 'example.com:80'", YES},
    {"url('https://example.com:80/a').getHostname() == 'example.com'", YES},
    {"url('https://[::1]:80/a').getHostname() == '::1' && url('https://x/').getPort() == ''", YES},
    {"url('https://x/a/b?q').getEscapedPath() == '/a/b' && url('/p').getScheme() == ''", YES},
    {"url('https://x/?a=1&b=2&a=3').getQuery() == {'a': ['1', '3'], 'b': ['2']}", YES},
    {"isURL('https://x') && isURL('/x') && !isURL('x y') && !isURL('example.com')", YES},
    {"url('nothing').getHost() == ''", FAILS},
    /* addresses */
    {"isIP('10.0.0.1') && isIP('::1') && !isIP('10.0.0.256') && !isIP('x')", YES},
    {"ip('10.0.0.1').family() == 4 && ip('fe80::1').family() == 6", YES},
    {"ip.isCanonical('::1') && !ip.isCanonical('0:0:0:0:0:0:0:1')", YES},
    {"ip('127.0.0.1').isLoopback() && ip('0.0.0.0').isUnspecified()", YES},
    {"ip('169.254.1.1').isLinkLocalUnicast() && ip('224.0.0.1').isLinkLocalMulticast()", YES},
    {"ip('8.8.8.8').isGlobalUnicast() && !ip('::1').isGlobalUnicast()", YES},
    {"ip('::1') == ip('0:0::1') && string(ip('10.0.0.1')) == '10.0.0.1'", YES},
    {"cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP('11.0.0.0')",
     YES},
    {"cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && "
     "!cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))",
     YES},
    {"cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').prefixLength() == 8",
     YES},
    {"cidr('10.1.2.3/8').ip() == ip('10.1.2.3') && isCIDR('::/0') && !isCIDR('10.0.0.0/33')", YES},
    {"ip('no').family() == 4", FAILS},
    /* formats */
    {"!format.dns1123Label().validate('my-name').hasValue()", YES},
    {"format.dns1123Label().validate('My').hasValue()", YES},
    {"format.named('uuid').value().validate('x').hasValue() && !format.named('no').hasValue()",
     YES},
    {"format.labelValue().validate('-').orValue([]).size() == 1", YES},
    /* what there is not */
    {"format.nothing().validate('x').hasValue()", REFUSED},
    {"semver('1.2.3') == semver('1.2.3')", REFUSED},
    {"sets.nothing([1], [1])", REFUSED},
    {"quantity(1) == quantity('1')", REFUSED},
    {"optional.of(1) + 1 == 2", REFUSED},
};

TEST(functions_of_kubernetes_do_what_they_say)
{
    check_rows(functions, ARRAY_LEN(functions));
}

static const struct row schemas[] = {
    {"self.spec.replicas == 3 && self.kind == 'Thing' && self.metadata.name == 'it'", YES},
    {"self.metadata.labels.a == 'b'", REFUSED}, /* only the name is known of metadata */
    {"self.spec.nothing == 1", REFUSED},
    {"has(self.spec.nothing)", REFUSED},
    {"self.replicas == 1", REFUSED},
    {"self.spec.mode == 1", REFUSED},
    {"self.spec.mode + 1 == ''", REFUSED},
    {"self.spec.replicas > 2.5", YES},
    {"self.spec.ratio == 2.0 && self.spec.ratio / 4.0 == 0.5", YES}, /* a double, written as 2 */
    {"self.spec.ratio % 2 == 0", REFUSED},
    {"self.spec.mode in ['On', 'Off'] && self.spec.mode.size() == 2", YES},
    {"self.spec.mode", REFUSED},
    {"self.spec.replicas.startsWith('x')", REFUSED},
    {"self.spec.all(k, true)", REFUSED}, /* an object, not a map */
    {"'mode' in self.spec", REFUSED},
    {"self.spec['mode'] == 'On'", REFUSED},
    {"self.spec == 1", REFUSED},
    /* names */
    {"self.spec.a__dash__b == 'dash' && self.spec.a__dot__b__slash__c == 'dot'", YES},
    {"self.spec.d__underscores__e == 'under' && self.spec.__namespace__ == 'word'", YES},
    {"self.spec.x_y == 7 && has(self.spec.a__dash__b)", YES},
    {"self.spec.namespace == 'word'", REFUSED},
    {"self.spec.d__e == 'under'", REFUSED},
    /* what a schema does not say */
    {"self.spec.port == 'http' && type(self.spec.port) == string", YES},
    {"type(self.spec.port) == int ? self.spec.port > 0 : self.spec.port == 'http'", YES},
    {"self.spec.free.x == 1", REFUSED},
    {"self.spec.maybe == null", YES},
    /* formats */
    {"self.spec.since < timestamp('2024-06-01T00:00:00Z') && self.spec.since.getFullYear() == 2024",
     YES},
    {"self.spec.day - self.spec.since == duration('24h')", YES},
    {"self.spec.grace == duration('1m30s') && self.spec.grace.getSeconds() == 90", YES},
    {"self.spec.since == '2024-01-01T00:00:00Z'", REFUSED},
    {"self.spec.blob == b'abc' && size(self.spec.blob) == 3", YES},
    /* maps */
    {"self.spec.labels['k-1'] == 'v' && self.spec.labels.k2 == 'w' && size(self.spec.labels) == 2",
     YES},
    {"self.spec.labels.all(k, k.startsWith('k') && self.spec.labels[k].size() == 1)", YES},
    {"self.spec.labels.nothing == 'x'", FAILS},
    {"self.spec.labels.k2 + 1 == ''", REFUSED},
    {"has(self.spec.labels.k2) && !has(self.spec.labels.nothing)", YES},
    /* lists */
    {"self.spec.items.all(i, i.n > 0 && i.name.size() == 1)", YES},
    {"self.spec.items.all(i, i.nothing > 0)", REFUSED},
    {"self.spec.items.map(i, i.n).sum() == 3 && self.spec.items.filter(i, i.n > 1)[0].name == 'b'",
     YES},
    {"self.spec.items.map(i, i.name).exists(n, n > 1)", REFUSED},
    {"self.spec.items[0].name == 'a' && self.spec.items[0].nothing == 1", REFUSED},
    {"self.spec.tags == old.spec.tags && self.spec.items == old.spec.items", YES}, /* no order */
    {"self.spec.plain == old.spec.plain", NO},
    {"size(self.spec.tags + ['y', 'z']) == 3", YES},
    {"size(self.spec.items + old.spec.items) == 2 && size(self.spec.plain + [1]) == 3", YES},
    {"self.spec.plain.isSorted() && self.spec.plain.max() == 2", YES},
    /* what may be absent */
    {"!opt.hasValue() && opt.optMap(o, o.spec.replicas).orValue(5) == 5", YES},
    {"opt.spec.replicas.orValue(1) == 1 && opt.?spec.?mode.orValue('x') == 'x'", YES},
    {"opt.spec.nothing.orValue(1) == 1", REFUSED},
    {"opt.orValue(self).spec.replicas == 3", YES},
    {"old.spec.mode == 'x'", FAILS},
    {"!has(old.spec.mode) || old.spec.mode == self.spec.mode", YES},
    {"self.?spec.?mode.orValue('') == 'On' && old.?spec.?mode.orValue('none') == 'none'", YES},
};

TEST(a_schema_says_what_fields_there_are)
{
    check_rows(schemas, ARRAY_LEN(schemas));
}

TEST(an_undefined_field_is_pointed_at)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    CHECK_INT(evaluate(&a, "self.spec.nothing == 1", &err), REFUSED);
    CHECK_CSTR(str_of(err.message), "ERROR: <input>:1:10: undefined field 'nothing'\n"
                                    " | self.spec.nothing == 1\n | .........^");
    CHECK_INT(evaluate(&a, "nothing(1)", &err), REFUSED);
    CHECK_CSTR(str_of(err.message), "ERROR: <input>:1:8: undeclared reference to 'nothing' (in "
                                    "container '')\n | nothing(1)\n | .......^");
    CHECK_INT(evaluate(&a, "self.spec.replicas.startsWith('x')", &err), REFUSED);
    CHECK(str_find(str_of(err.message), STR("found no matching overload for 'startsWith' applied "
                                            "to 'int.(string)'")) > 0);
    CHECK_INT(evaluate(&a, "self.spec.replicas", &err), REFUSED);
    CHECK_CSTR(str_of(err.message), "must evaluate to bool");
    arena_done(&a);
}

/* ---- runs ---- */

static bool may_get_pods(void *ctx, const struct cel_access *x, str *ret_reason)
{
    unsigned *asked = ctx;
    ++*asked;
    *ret_reason = STR("because");
    return str_is(x->verb, "get") && str_is(x->resource, "pods") && !x->service_account.len;
}

static const struct row authorizer_rows[] = {
    {"authorizer.group('').resource('pods').namespace('x').check('get').allowed()", YES},
    {"authorizer.group('').resource('pods').subresource('log').name('a').check('list').allowed()",
     NO},
    {"authorizer.group('').resource('pods').check('get').reason() == 'because'", YES},
    {"authorizer.path('/healthz').check('get').allowed()", NO},
    {"authorizer.serviceAccount('ns', 'sa').group('').resource('pods').check('get').allowed()", NO},
    {"authorizer.serviceAccount('NS', 'sa').group('').resource('pods').check('get').allowed()",
     FAILS},
    {"authorizer.requestResource.check('get').allowed()", YES},
    {"!authorizer.group('').resource('pods').check('get').errored()", YES},
    {"authorizer.resource('pods').check('get').allowed()", REFUSED},
    {"authorizer.group('').check('get').allowed()", REFUSED},
    {"authorizer.group('').resource('pods').check('get')", REFUSED},
};

TEST(the_authorizer_is_asked)
{
    for (size_t i = 0; i < ARRAY_LEN(authorizer_rows); i++) {
        struct arena a = ARENA_INIT;
        struct err err = ERR_INIT;
        unsigned asked = 0;
        uint64_t cost = COST;
        bool said = false;
        const struct cel *c =
            cel_compile_in(&a, str_of(authorizer_rows[i].text),
                           &(struct cel_scope){.has_authorizer = true}, CEL_WANT_BOOL, &err);
        struct cel_input in = {.cost = &cost,
                               .authorize = may_get_pods,
                               .ctx = &asked,
                               .request = {.resource = STR("pods")}};
        int got = !c                                                       ? REFUSED
                  : cel_run_bool(cel_run_new(&a, &in), c, &said, &err) < 0 ? FAILS
                  : said                                                   ? YES
                                                                           : NO;
        if (!CHECK_INT(got, authorizer_rows[i].want))
            test_note("%s: %s", authorizer_rows[i].text, err.message);
        arena_done(&a);
    }
}

TEST(variables_are_evaluated_once_and_only_when_needed)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    unsigned asked = 0;
    uint64_t cost = COST;
    bool said = false;
    str text;
    struct cel_lazy lazy[3];
    struct cel_scope scope = {.lazy = lazy, .has_authorizer = true};
    static const char *const sources[] = {
        "authorizer.group('').resource('pods').check('get').allowed()", "1 / 0",
        "variables.may ? 'yes' : 'no'"};
    static const char *const names[] = {"may", "broken", "word"};
    for (size_t i = 0; i < 3; i++) {
        scope.n_lazy = i;
        lazy[i] = (struct cel_lazy){
            str_of(names[i]), cel_compile_in(&a, str_of(sources[i]), &scope, CEL_WANT_ANY, &err)};
        REQUIRE(lazy[i].cel);
    }
    scope.n_lazy = 3;
    struct cel_input in = {
        .cost = &cost, .lazy = lazy, .n_lazy = 3, .authorize = may_get_pods, .ctx = &asked};
    struct cel_run *r = cel_run_new(&a, &in);
    const struct cel *c =
        cel_compile_in(&a, STR("variables.may && variables.word == 'yes' || variables.broken == 1"),
                       &scope, CEL_WANT_BOOL, &err);
    REQUIRE(c);
    CHECK_INT(cel_run_bool(r, c, &said, &err), 0);
    CHECK(said);
    c = cel_compile_in(&a, STR("'it is ' + variables.word"), &scope, CEL_WANT_STRING, &err);
    REQUIRE(c);
    CHECK_INT(cel_run_text(r, c, &text, &err), 0);
    CHECK_STR(text, STR("it is yes"));
    CHECK_INT((int)asked, 1);
    CHECK(!cel_compile_in(&a, STR("variables.nothing == 1"), &scope, CEL_WANT_BOOL, &err));
    CHECK(!cel_compile_in(&a, STR("variables.word > 1"), &scope, CEL_WANT_BOOL, &err));
    arena_done(&a);
}

TEST(loops_without_a_limit_are_counted)
{
    struct arena a = ARENA_INIT;
    jval s = parse(&a, "{`type`:`array`,`items`:{`type`:`array`,`maxItems`:5,`items`:{`type`:"
                       "`integer`}}}");
    const struct cel_decl decls[] = {{"self", s, false, false}};
    const struct cel_scope scope = {.vars = decls, .n_vars = 1};
    static const struct {
        const char *text;
        unsigned loops;
    } rows[] = {
        {"true", 0},
        {"self.all(x, true)", 1},
        {"self.all(x, x.all(y, y > 0))", 1},
        {"self.all(x, self.all(y, x == y))", 2},
        {"self.all(x, true) && self.all(y, true)", 1},
        {"[1, 2].all(x, true)", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct cel *c = cel_compile_in(&a, str_of(rows[i].text), &scope, CEL_WANT_BOOL, NULL);
        REQUIRE(c);
        CHECK_INT((int)cel_unbounded_loops(c), (int)rows[i].loops);
        CHECK(cel_uses(c, 0) == (strstr(rows[i].text, "self") != NULL));
    }
    arena_done(&a);
}

/* ---- what an expression makes ---- */

static const struct {
    enum cel_want want;
    const char *text;
    const char *made;   /* JSON; NULL: it is refused or fails */
    const char *reason; /* then: what is said, or a part of it */
} makes[] = {
    {CEL_WANT_OBJECT, "Object{}", "{}", NULL},
    {CEL_WANT_OBJECT, "Object{spec: Object.spec{replicas: 3}}", "{`spec`:{`replicas`:3}}", NULL},
    {CEL_WANT_OBJECT, "Object{metadata: Object.metadata{labels: {'a/b': self.spec.mode}},}",
     "{`metadata`:{`labels`:{`a/b`:`On`}}}", NULL},
    {CEL_WANT_OBJECT,
     "Object{spec: Object.spec{items: self.spec.items.map(i, Object.spec.items{name: i.name, n: "
     "i.n + 1})}}",
     "{`spec`:{`items`:[{`name`:`a`,`n`:2},{`name`:`b`,`n`:3}]}}", NULL},
    {CEL_WANT_OBJECT, "Object{a: 1.5, b: 2u, c: null, d: true, e: b'abc', f: duration('90s')}",
     "{`a`:1.5,`b`:2,`c`:null,`d`:true,`e`:`YWJj`,`f`:`90s`}", NULL},
    {CEL_WANT_OBJECT, "has(self.spec.missing) ? Object{a: 1} : Object{a: 2}", NULL,
     "undefined field 'missing'"},
    {CEL_WANT_OBJECT, "self.spec.replicas > 2 ? Object{a: 1} : Object{}", "{`a`:1}", NULL},
    /* what is optional */
    {CEL_WANT_OBJECT, "Object{?a: optional.of(1), ?b: optional.none()}", "{`a`:1}", NULL},
    {CEL_WANT_OBJECT, "Object{a: {?'x': optional.none(), ?'y': optional.of(2)}}", "{`a`:{`y`:2}}",
     NULL},
    {CEL_WANT_OBJECT, "Object{a: [?optional.none(), 1, ?optional.of(2)]}", "{`a`:[1,2]}", NULL},
    {CEL_WANT_OBJECT, "Object{?a: 1}", NULL, "expected type 'optional_type(int)' but found 'int'"},
    /* types are called after their places */
    {CEL_WANT_OBJECT, "Object{spec: Object.wrong{a: 1}}", NULL,
     "type mismatch: unexpected type name \"Object.wrong\", expected \"Object.spec\", which "
     "matches field name path from root Object type"},
    {CEL_WANT_OBJECT, "Object{spec: {'x': Object.spec{a: 1}}}", "{`spec`:{`x`:{`a`:1}}}", NULL},
    {CEL_WANT_OBJECT, "Object.spec{a: 1}", NULL, "must evaluate to Object but got Object.spec"},
    {CEL_WANT_OBJECT, "{'a': 1}", NULL, "must evaluate to Object but got map("},
    {CEL_WANT_OBJECT, "Thing{a: 1}", NULL, "undeclared reference to 'Thing'"},
    {CEL_WANT_OBJECT, "Object", NULL, "undeclared reference to 'Object'"},
    {CEL_WANT_OBJECT, "Object{a}", NULL, "expecting ':'"},
    {CEL_WANT_OBJECT, "Object{'a': 1}", NULL, "Syntax error"},
    {CEL_WANT_OBJECT, "Object{a: {1: 'x'}}", NULL, "map key is of type int, not string"},
    {CEL_WANT_OBJECT, "Object{a: 1.0 / 0.0}", NULL, "not finite"},
    {CEL_WANT_OBJECT, "Object{a: optional.of(1)}", NULL, "cannot be written as JSON"},
    {CEL_WANT_OBJECT, "Object{a: 1 / 0}", NULL, "division by zero"},
    {CEL_WANT_OBJECT, "Object{a: 1, a: 2}", NULL, "repeated key"},
    /* operations */
    {CEL_WANT_PATCHES, "[]", "[]", NULL},
    {CEL_WANT_PATCHES, "[JSONPatch{op: 'add', path: '/a', value: 1}]",
     "[{`op`:`add`,`path`:`/a`,`value`:1}]", NULL},
    {CEL_WANT_PATCHES,
     "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('k8s.io/my~label'), "
     "value: Object.metadata.labels{x: [1]}}, JSONPatch{op: 'move', from: '/a', path: '/b'}]",
     "[{`op`:`add`,`path`:`/metadata/labels/k8s.io~1my~0label`,`value`:{`x`:[1]}},{`op`:`move`,"
     "`from`:`/a`,`path`:`/b`}]",
     NULL},
    {CEL_WANT_PATCHES, "self.spec.replicas > 9 ? [JSONPatch{op: 'remove', path: '/a'}] : []", "[]",
     NULL},
    {CEL_WANT_PATCHES,
     "self.spec.tags.map(t, JSONPatch{op: 'test', path: '/' + t, value: t}).filter(p, p.path == "
     "'/x')",
     "[{`op`:`test`,`path`:`/x`,`value`:`x`}]", NULL},
    {CEL_WANT_PATCHES, "JSONPatch{op: 'add'}", NULL,
     "must evaluate to list(JSONPatch) but got JSONPatch"},
    {CEL_WANT_PATCHES, "[1]", NULL, "must evaluate to list(JSONPatch) but got list(int)"},
    {CEL_WANT_PATCHES, "[Object{}]", NULL, "must evaluate to list(JSONPatch) but got list(Object)"},
    {CEL_WANT_PATCHES, "[dyn(1)]", NULL, "should evaluate to array of JSONPatch"},
    {CEL_WANT_PATCHES, "[JSONPatch{op: 1}]", NULL,
     "expected type of field 'op' is 'string' but provided type is 'int'"},
    {CEL_WANT_PATCHES, "[JSONPatch{op: dyn(1)}]", NULL,
     "unexpected type for JSONPatchType 'op' field"},
    {CEL_WANT_PATCHES, "[JSONPatch{operation: 'add'}]", NULL, "undefined field 'operation'"},
};

TEST(an_expression_makes_objects_and_operations)
{
    for (size_t i = 0; i < ARRAY_LEN(makes); i++) {
        struct arena a = ARENA_INIT;
        struct err err = ERR_INIT;
        struct doc *made = NULL;
        jval vars[] = {parse(&a, object)};
        const struct cel_decl decls[] = {{"self", parse(&a, schema), true, false}};
        const struct cel_scope scope = {.vars = decls, .n_vars = 1, .has_patches = true};
        uint64_t cost = COST;
        struct cel_input in = {.vars = vars, .cost = &cost};
        const struct cel *c =
            cel_compile_in(&a, str_of(makes[i].text), &scope, makes[i].want, &err);
        int code = c ? cel_run_doc(cel_run_new(&a, &in), c, &made, &err) : ERR_INVALID;
        if (makes[i].made) {
            CHECK_INT(code, 0);
            jval want = parse(&a, makes[i].made);
            if (!CHECK(made && jequal(doc_root(made), want)))
                test_note("%s: %s %.*s", makes[i].text, err.message,
                          STR_ARG(made ? doc_text(made) : STR("nothing")));
        } else if (!CHECK(code < 0 && strstr(err.message, makes[i].reason))) {
            test_note("%s: %s", makes[i].text, err.message);
        }
        arena_done(&a);
    }
}

TEST(objects_are_made_only_where_they_may_be)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct cel_scope scope = {0};
    CHECK(!cel_compile_in(&a, STR("Object{a: 1} == Object{a: 1}"), &scope, CEL_WANT_BOOL, &err));
    CHECK(strstr(err.message, "undeclared reference to 'Object' (in container '')"));
    const struct cel_scope patches = {.has_patches = true};
    const struct cel *c =
        cel_compile_in(&a,
                       STR("Object{a: 1} == Object{a: 1} && Object{a: 1} != Object.b{a: 1} && "
                           "has(Object{a: 1}.a) && !has(Object{a: 1}.b) && Object{a: 1}.a == 1"),
                       &patches, CEL_WANT_BOOL, &err);
    bool said = false;
    REQUIRE(c);
    CHECK_INT(cel_eval(c, &a, NULL, COST, &said, &err), 0);
    CHECK(said);
    arena_done(&a);
}

/* What is small to evaluate may be large to write. */
TEST(what_an_expression_makes_is_bounded)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    char long_text[4096], text[8192];
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    (void)snprintf(text, sizeof(text),
                   "Object{a: [1,2,3,4,5,6,7,8,9,10].map(a, [1,2,3,4,5,6,7,8,9,10].map(b, "
                   "[1,2,3,4,5,6,7,8,9,10].map(c, '%s')))}",
                   long_text);
    const struct cel_scope scope = {.has_patches = true};
    const struct cel *c = cel_compile_in(&a, str_of(text), &scope, CEL_WANT_OBJECT, &err);
    uint64_t cost = 1000000;
    struct cel_input in = {.cost = &cost};
    struct doc *made = NULL;
    REQUIRE(c);
    CHECK(cel_run_doc(cel_run_new(&a, &in), c, &made, &err) < 0);
    CHECK_STR(str_of(err.message), STR("the result is too large"));
    arena_done(&a);
}
