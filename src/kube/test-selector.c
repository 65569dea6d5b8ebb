/* Selectors: the grammar, its errors, and matching. */
#include "base/test.h"
#include "kube/selector.h"
#include "kube/test-kube-fixture.h"

static bool matches(const char *selector, const char *labels)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct selector *s = label_selector_parse(&a, str_of(selector), &err);
    bool yes = s && label_selector_match(s, fixture_json(&a, labels));

    if (!CHECK(s != NULL))
        test_note("%s: %s", selector, err.message);
    arena_done(&a);
    return yes;
}

TEST(label_selector_operators)
{
    static const struct {
        const char *selector, *labels;
        bool want;
    } cases[] = {
        {"", "{}", true},
        {"  ", "{'a':'1'}", true},
        {"a=b", "{'a':'b'}", true},
        {"a==b", "{'a':'b'}", true},
        {"a = b", "{'a':'b'}", true},
        {"a=b", "{'a':'c'}", false},
        {"a=b", "{}", false},
        {"a=", "{'a':''}", true},
        {"a=,b=c", "{'a':'','b':'c'}", true},
        {"a!=b", "{'a':'c'}", true},
        {"a!=b", "{}", true},
        {"a!=b", "{'a':'b'}", false},
        {"a", "{'a':''}", true},
        {"a", "{'b':''}", false},
        {"!a", "{'b':''}", true},
        {"!a", "{'a':''}", false},
        {"a in (x,y)", "{'a':'y'}", true},
        {"a in (x, y)", "{'a':'z'}", false},
        {"a in (x)", "{}", false},
        {"a in ()", "{'a':''}", true},
        {"a in (,x)", "{'a':''}", true},
        {"a notin (x,y)", "{'a':'z'}", true},
        {"a notin (x,y)", "{}", true},
        {"a notin (x,y)", "{'a':'x'}", false},
        {"a>3", "{'a':'4'}", true},
        {"a>3", "{'a':'3'}", false},
        {"a>3", "{'a':'many'}", false},
        {"a>3", "{}", false},
        {"a<3", "{'a':'-1'}", true},
        {"in=notin", "{'in':'notin'}", true},
        {"a=b,c!=d,e in (x,y),!f,g>3", "{'a':'b','e':'y','g':'4'}", true},
        {"a=b,c!=d,e in (x,y),!f,g>3", "{'a':'b','e':'y','g':'4','f':''}", false},
        {"grove.io/role=prefill", "{'grove.io/role':'prefill'}", true},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!CHECK_INT(matches(cases[i].selector, cases[i].labels), cases[i].want))
            test_note("%s on %s", cases[i].selector, cases[i].labels);
}

TEST(label_selector_errors_are_the_known_ones)
{
    static const struct {
        const char *selector, *message;
    } cases[] = {
        {"a===b", "unable to parse requirement: found '=', expected: identifier"},
        {"=b",
         "unable to parse requirement: found '=', expected: !, identifier, or 'end of string'"},
        {"a,", "unable to parse requirement: found '', expected: identifier after ','"},
        {"a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
        {"a in x", "unable to parse requirement: found 'x', expected: '('"},
        {"a in (x", "unable to parse requirement: found '', expected: ',' or ')'"},
        {"a=b c", "unable to parse requirement: found 'c', expected: ',' or 'end of string'"},
        {"a>x", "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' "
                "operators, the value must be an integer"},
    };
    struct arena a = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        CHECK(label_selector_parse(&a, str_of(cases[i].selector), &err) == NULL);
        CHECK_CSTR(str_of(err.message), cases[i].message);
    }
    struct err err = ERR_INIT;
    CHECK(label_selector_parse(&a, STR("a b/c/d=x"), &err) == NULL);
    CHECK(label_selector_parse(&a, STR("-a=x"), &err) == NULL);
    CHECK(label_selector_parse(&a, STR("a=-x"), &err) == NULL);
    arena_done(&a);
}

TEST(label_selector_from_object)
{
    struct arena a = ARENA_INIT;
    jval labels = fixture_json(&a, "{'app':'web','tier':'a'}");
    static const struct {
        const char *selector;
        bool want;
    } cases[] = {
        {"{}", true},
        {"{'matchLabels':{'app':'web'}}", true},
        {"{'matchLabels':{'app':'web','x':'y'}}", false},
        {"{'matchExpressions':[{'key':'tier','operator':'In','values':['a','b']}]}", true},
        {"{'matchExpressions':[{'key':'tier','operator':'NotIn','values':['a']}]}", false},
        {"{'matchExpressions':[{'key':'tier','operator':'Exists'}]}", true},
        {"{'matchExpressions':[{'key':'tier','operator':'DoesNotExist'}]}", false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct selector *s = label_selector_from(&a, fixture_json(&a, cases[i].selector), NULL);
        REQUIRE(s != NULL);
        CHECK_INT(label_selector_match(s, labels), cases[i].want);
    }
    struct selector *none = label_selector_from(&a, JVAL_ABSENT, NULL);
    CHECK(!label_selector_match(none, labels));
    CHECK(!selector_is_everything(none));
    CHECK(selector_is_everything(label_selector_from(&a, fixture_json(&a, "{}"), NULL)));
    arena_done(&a);
}

TEST(label_selector_from_object_refuses_nonsense)
{
    struct arena a = ARENA_INIT;
    static const char *const cases[] = {
        "{'matchExpressions':[{'key':'a','operator':'Is'}]}",
        "{'matchExpressions':[{'key':'a','operator':'In','values':[]}]}",
        "{'matchExpressions':[{'key':'','operator':'Exists'}]}",
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK(label_selector_from(&a, fixture_json(&a, cases[i]), NULL) == NULL);
    arena_done(&a);
}

TEST(label_selector_prints_sorted)
{
    struct arena a = ARENA_INIT;
    struct strbuf b = STRBUF_INIT(1000);
    struct selector *s =
        label_selector_parse(&a, STR("pod-template-hash=6c,app=webd,!x,y,z in (b,a),n>3"), NULL);

    label_selector_print(s, &b);
    CHECK_CSTR(strbuf_str(&b), "app=webd,n>3,pod-template-hash=6c,!x,y,z in (b,a)");
    strbuf_done(&b);
    arena_done(&a);
}

/* ---- fields ---- */

static bool field_matches(const struct kind *k, const char *selector, const char *object)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct selector *s = field_selector_parse(&a, k, str_of(selector), &err);
    struct obj *o = obj_new(k, doc_ref(fixture_doc(&a, object)), NULL);
    bool yes = s && field_selector_match(s, o);

    if (!CHECK(s != NULL))
        test_note("%s: %s", selector, err.message);
    obj_unref(o);
    arena_done(&a);
    return yes;
}

TEST(field_selector_on_pods)
{
    const char *bound = "{'metadata':{'name':'p','namespace':'n'},'spec':{'nodeName':'n1'},"
                        "'status':{'phase':'Running'}}";
    const char *fresh = "{'metadata':{'name':'q','namespace':'n'},'spec':{'hostNetwork':true}}";

    fixture_init();
    CHECK(field_matches(&kind_pod, "", fresh));
    CHECK(field_matches(&kind_pod, "spec.nodeName=n1", bound));
    CHECK(!field_matches(&kind_pod, "spec.nodeName=n1", fresh));
    CHECK(field_matches(&kind_pod, "spec.nodeName!=", bound));
    CHECK(!field_matches(&kind_pod, "spec.nodeName!=", fresh));
    CHECK(field_matches(&kind_pod, "spec.nodeName=", fresh));
    CHECK(field_matches(&kind_pod, "status.phase!=Succeeded,status.phase!=Failed", bound));
    CHECK(field_matches(&kind_pod, "metadata.name==p,metadata.namespace=n", bound));
    CHECK(field_matches(&kind_pod, "spec.hostNetwork=false", bound));
    CHECK(field_matches(&kind_pod, "spec.hostNetwork=true", fresh));
    CHECK(!field_matches(&kind_pod, "spec.hostNetwork=true", bound));
}

TEST(field_selector_on_events)
{
    const char *event = "{'metadata':{'name':'e'},'involvedObject':{'kind':'Pod','name':'p'},"
                        "'source':{'component':'grove'},'reason':'Created','type':'Normal'}";
    const char *newer = "{'metadata':{'name':'e'},'reportingComponent':'grove'}";

    fixture_init();
    CHECK(field_matches(&kind_event, "involvedObject.name=p,involvedObject.kind=Pod", event));
    CHECK(field_matches(&kind_event, "source=grove", event));
    CHECK(field_matches(&kind_event, "source=grove", newer));
    CHECK(field_matches(&kind_event, "reportingComponent=grove", newer));
    CHECK(!field_matches(&kind_event, "type=Warning", event));
    CHECK(field_matches(&kind_events_event, "regarding.name=p", event));
}

TEST(field_selector_escapes)
{
    fixture_init();
    CHECK(field_matches(&fixture_widget, "spec.host=a\\,b",
                        "{'metadata':{'name':'w'},"
                        "'spec':{'host':'a,b'}}"));
    CHECK(field_matches(&fixture_widget, "spec.host=a\\=b",
                        "{'metadata':{'name':'w'},"
                        "'spec':{'host':'a=b'}}"));
}

TEST(field_selector_errors)
{
    struct arena a = ARENA_INIT;
    static const struct {
        const struct kind *kind;
        const char *text, *message;
    } cases[] = {
        {&kind_config_map, "data.a=1",
         "\"data.a\" is not a known field selector: only \"metadata.name\", "
         "\"metadata.namespace\""},
        {&kind_pod, "spec.bogus=1", "field label not supported: spec.bogus"},
        {&fixture_widget, "spec.bogus=1", "field label not supported: spec.bogus"},
        {&kind_pod, "spec.nodeName",
         "invalid selector: 'spec.nodeName'; can't understand "
         "'spec.nodeName'"},
    };

    fixture_init();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        CHECK(field_selector_parse(&a, cases[i].kind, str_of(cases[i].text), &err) == NULL);
        CHECK_CSTR(str_of(err.message), cases[i].message);
    }
    CHECK(field_selector_parse(&a, &kind_pod, STR("spec.nodeName=a\\"), NULL) == NULL);
    CHECK(field_selector_parse(&a, &kind_pod, STR("spec.nodeName=a\\b"), NULL) == NULL);
    CHECK(field_selector_parse(&a, &kind_pod, STR("spec.nodeName=a=b"), NULL) == NULL);
    arena_done(&a);
}

TEST(field_selector_names_what_it_pins)
{
    struct arena a = ARENA_INIT;
    struct selector *s =
        field_selector_parse(&a, &kind_pod, STR("spec.nodeName=n1,metadata.name=x"), NULL);

    fixture_init();
    CHECK_CSTR(field_selector_name(s), "x");
    CHECK_CSTR(field_selector_value(s, STR("spec.nodeName")), "n1");
    s = field_selector_parse(&a, &kind_pod, STR("metadata.name!=x"), NULL);
    CHECK(field_selector_name(s).len == 0);
    arena_done(&a);
}
