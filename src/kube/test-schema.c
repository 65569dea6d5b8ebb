/* Unknown fields, pruning, defaults, validation. */
#include "base/test.h"
#include "kube/schema.h"
#include "kube/test-kube-fixture.h"
#include "json/write.h"

/* ---- unknown fields ---- */

static void note_report(void *ctx, const char *what, str path)
{
    struct strbuf *b = ctx;

    strbuf_printf(b, "%s%s \"%.*s\"", b->len ? ", " : "", what, STR_ARG(path));
}

static void check_unknown(const struct kind *k, const char *text, const char *want)
{
    struct arena a = ARENA_INIT;
    struct strbuf b = STRBUF_INIT(100000);

    schema_unknown(k->type, fixture_json(&a, text), note_report, &b);
    CHECK_CSTR(strbuf_str(&b), want);
    strbuf_done(&b);
    arena_done(&a);
}

TEST(unknown_fields_in_document_order)
{
    fixture_init();
    check_unknown(&kind_config_map,
                  "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'x','lables':{}},"
                  "'data':{'a':'1','a':'2'},'spec':{}}",
                  "unknown field \"metadata.lables\", duplicate field \"data.a\", unknown field "
                  "\"spec\"");
    check_unknown(&kind_pod,
                  "{'metadata':{},'spec':{'containers':[{'name':'a'},{'name':'b','img':'x',"
                  "'ports':[{'port':1}]}]}}",
                  "unknown field \"spec.containers[1].img\", unknown field "
                  "\"spec.containers[1].ports[0].port\"");
    check_unknown(&kind_pod, "{'Kind':'Pod','metadata':{'Name':'x'}}",
                  "unknown field \"Kind\", unknown field \"metadata.Name\"");
}

TEST(unknown_fields_are_allowed_where_kept)
{
    fixture_init();
    check_unknown(&fixture_widget,
                  "{'spec':{'free':{'x':{'y':1},'known':1},'any':{'q':[{}]},'limits':{'cpu':1}}}",
                  "");
    check_unknown(&fixture_widget, "{'spec':{'items':[{'bogus':1}],'unknown':1}}",
                  "unknown field \"spec.items[0].bogus\", unknown field \"spec.unknown\"");
    check_unknown(&fixture_widget, "[]", "");
    check_unknown(&fixture_widget, "{'spec':7}", "");
}

static void count_report(void *ctx, const char *what, str path)
{
    (*(size_t *)ctx)++;
}

TEST(unknown_reports_are_bounded)
{
    struct arena a = ARENA_INIT;
    struct strbuf b = STRBUF_INIT(1 << 20);
    size_t n = 0;

    fixture_init();
    strbuf_add_char(&b, '{');
    for (int i = 0; i < 1000; i++)
        strbuf_printf(&b, "%s\"u%d\":1", i ? "," : "", i);
    strbuf_add_char(&b, '}');
    schema_unknown(kind_pod.type, fixture_json(&a, b.p), count_report, &n);
    CHECK_INT(n, 100);
    strbuf_done(&b);
    arena_done(&a);
}

/* ---- pruning and defaults ---- */

static void check_prune(const struct kind *k, const char *text, const char *want)
{
    struct arena a = ARENA_INIT;
    struct doc *d = fixture_doc(&a, text);
    struct doc *out = doc_hold(&a, schema_prune(k->type, d));

    CHECK_JSON(&a, doc_root(out), want);
    CHECK(!doc_duplicate_key(out, NULL));
    arena_done(&a);
}

TEST(prune_removes_what_the_table_does_not_name)
{
    fixture_init();
    check_prune(&fixture_widget,
                "{'x':1,'spec':{'bogus':{'deep':[1]},'replicas':2,'also':null,'items':[{'name':'a',"
                "'q':1},{'q':2}],'free':{'kept':{'x':1}},'any':{'kept':1}},'status':{}}",
                "{'spec':{'replicas':2,'items':[{'name':'a'},{}],'free':{'kept':{'x':1}},"
                "'any':{'kept':1}}}");
    check_prune(&kind_pod, "{'spec':{'nodeSelector':{'any':'thing'},'containers':[{'x':1}]}}",
                "{'spec':{'nodeSelector':{'any':'thing'},'containers':[{}]}}");
    check_prune(&fixture_widget, "{'a':1,'b':2}", "{}");
}

TEST(prune_keeps_the_last_of_duplicates)
{
    fixture_init();
    check_prune(&fixture_widget, "{'spec':{'replicas':1,'host':'a','replicas':2}}",
                "{'spec':{'host':'a','replicas':2}}");
}

TEST(prune_of_a_clean_document_is_the_document)
{
    struct arena a = ARENA_INIT;
    struct doc *d = fixture_doc(&a, "{'spec':{'replicas':2}}");

    fixture_init();
    struct doc *out = schema_prune(fixture_widget.type, d);
    CHECK(out == d);
    doc_unref(out);
    arena_done(&a);
}

static void check_default(const struct kind *k, const char *text, const char *want)
{
    struct arena a = ARENA_INIT;
    struct doc *out = doc_hold(&a, schema_default(k->type, fixture_doc(&a, text)));

    CHECK_JSON(&a, doc_root(out), want);
    /* A second run changes nothing and gives the same document. */
    struct doc *again = doc_hold(&a, schema_default(k->type, out));
    CHECK(again == out);
    arena_done(&a);
}

TEST(defaults_fill_what_is_absent)
{
    fixture_init();
    check_default(&fixture_widget, "{'spec':{}}",
                  "{'spec':{'replicas':1,'mode':'AnyOrder','maybe':'d','nested':{'more':true,"
                  "'known':7}}}");
    check_default(&fixture_widget, "{'spec':{'replicas':0,'mode':'','maybe':'','nested':{}}}",
                  "{'spec':{'replicas':0,'mode':'','maybe':'','nested':{'known':7}}}");
}

TEST(defaults_replace_null_unless_nullable)
{
    fixture_init();
    check_default(
        &fixture_widget,
        "{'spec':{'replicas':null,'mode':'InOrder','maybe':null,'nested':{'known':null}}}",
        "{'spec':{'replicas':1,'mode':'InOrder','maybe':null,'nested':{'known':7}}}");
}

TEST(defaults_only_inside_objects_that_are_there)
{
    fixture_init();
    check_default(&fixture_widget, "{'metadata':{'name':'w'}}", "{'metadata':{'name':'w'}}");
    check_default(&fixture_widget, "{'spec':'text'}", "{'spec':'text'}");
    check_default(&fixture_widget,
                  "{'spec':{'replicas':1,'mode':'InOrder','maybe':'x','nested':{'known':1},"
                  "'items':[{'name':'a'},{'name':'b','zone':'y'},3]}}",
                  "{'spec':{'replicas':1,'mode':'InOrder','maybe':'x','nested':{'known':1},"
                  "'items':[{'name':'a','zone':'z'},{'name':'b','zone':'y'},3]}}");
}

TEST(defaults_of_a_pod)
{
    fixture_init();
    check_default(&kind_pod,
                  "{'spec':{'containers':[{'name':'c','image':'i','ports':[{'containerPort':80}],"
                  "'livenessProbe':{'httpGet':{'port':80}}}],"
                  "'volumes':[{'name':'v','secret':{'secretName':'s'}}]}}",
                  "{'spec':{'containers':[{'name':'c','image':'i','ports':[{'containerPort':80,"
                  "'protocol':'TCP'}],'livenessProbe':{'httpGet':{'port':80,'path':'/',"
                  "'scheme':'HTTP'},'timeoutSeconds':1,'periodSeconds':10,'successThreshold':1,"
                  "'failureThreshold':3},'resources':{},"
                  "'terminationMessagePath':'/dev/termination-log',"
                  "'terminationMessagePolicy':'File'}],"
                  "'volumes':[{'name':'v','secret':{'secretName':'s','defaultMode':420}}],"
                  "'restartPolicy':'Always','terminationGracePeriodSeconds':30,"
                  "'dnsPolicy':'ClusterFirst','securityContext':{},"
                  "'schedulerName':'default-scheduler'}}");
}

TEST(defaults_of_built_in_kinds_stay_out_of_custom_ones)
{
    fixture_init();
    check_default(&fixture_widget,
                  "{'spec':{'replicas':1,'mode':'InOrder','maybe':'x','nested':{'known':1},"
                  "'pod':{'containers':[{'name':'c','ports':[{'containerPort':1}]}]}}}",
                  "{'spec':{'replicas':1,'mode':'InOrder','maybe':'x','nested':{'known':1},"
                  "'pod':{'containers':[{'name':'c','ports':[{'containerPort':1,"
                  "'protocol':'TCP'}]}]}}}");
}

TEST(defaults_and_unknown_fields_in_one_walk)
{
    static const struct {
        const char *text;
        bool known;
    } cases[] = {
        {"{'spec':{'containers':[{'name':'c','ports':[{'containerPort':1}]}]}}", true},
        {"{'spec':{'nodeSelector':{'any':'thing'},'containers':[]}}", true},
        {"{'spec':{'containers':[{'name':'c','ports':[{'port':1}]}]}}", false},
        {"{'spec':{'containers':[],'hostNetwork':true,'hostNetwork':true}}", false},
        {"{'spec':null,'bogus':1}", false},
        {"{'spec':7}", true},
    };

    fixture_init();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        struct doc *d = fixture_doc(&a, cases[i].text);
        struct doc *out = doc_hold(&a, schema_default_known(kind_pod.type, d));
        struct doc *want = doc_hold(&a, schema_default(kind_pod.type, d));
        if (!CHECK((out != NULL) == cases[i].known) ||
            (out && !CHECK_STR(doc_text(out), doc_text(want))))
            test_note("of %s", cases[i].text);
        arena_done(&a);
    }
}

TEST(defaults_of_a_deployment)
{
    struct arena a = ARENA_INIT;

    fixture_init();
    struct doc *d = doc_hold(
        &a, schema_default(kind_deployment.type, fixture_doc(&a, "{'spec':{'template':{}}}")));
    CHECK_JSON(&a, doc_root(d),
               "{'spec':{'template':{},'replicas':1,'strategy':{'type':'RollingUpdate',"
               "'rollingUpdate':{'maxUnavailable':'25%','maxSurge':'25%'}},"
               "'revisionHistoryLimit':10,'progressDeadlineSeconds':600}}");
    arena_done(&a);
}

/* ---- validation ---- */

static void check_valid(const struct kind *k, const char *text, const char *want)
{
    struct arena a = ARENA_INIT;
    struct field_errors e;

    field_errors_init(&e, &a);
    schema_validate(k->type, fixture_json(&a, text), STR(""), &e);
    if (!CHECK_CSTR(field_errors_text(&a, &e), want))
        test_note("of %s", text);
    field_errors_done(&e);
    arena_done(&a);
}

TEST(validation_speaks_like_the_server)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{'spec':{}}", ""},
        {"{}", "spec: Required value"},
        {"{'spec':{'replicas':101}}",
         "spec.replicas: Invalid value: 101: spec.replicas in body should be less than or equal to "
         "100"},
        {"{'spec':{'items':[{'name':'a','size':-1}]}}",
         "spec.items[0].size: Invalid value: -1: spec.items[0].size in body should be greater than "
         "or equal to 0"},
        {"{'spec':{'atLeast':2}}", "spec.atLeast: Invalid value: 2: spec.atLeast in body should be "
                                   "greater than or equal to 3"},
        {"{'spec':{'atLeast':9000000000}}", ""},
        {"{'spec':{'mode':'Wrong'}}",
         "spec.mode: Unsupported value: \"Wrong\": supported values: \"InOrder\", \"AnyOrder\""},
        {"{'spec':{'replicas':'two'}}",
         "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: "
         "\"string\""},
        {"{'spec':{'replicas':1.5}}",
         "spec.replicas: Invalid value: \"number\": spec.replicas in body must be of type integer: "
         "\"number\""},
        {"{'spec':{'replicas':2.0}}", ""},
        {"{'spec':{'replicas':null}}",
         "spec.replicas: Invalid value: \"null\": spec.replicas in body must be of type integer: "
         "\"null\""},
        {"{'spec':{'maybe':null}}", ""},
        {"{'spec':{'host':'A'}}",
         "spec.host: Invalid value: \"A\": spec.host in body should match '^[a-z]+$'"},
        {"{'spec':{'host':'a\\n'}}",
         "spec.host: Invalid value: \"a\\n\": spec.host in body should match '^[a-z]+$'"},
        {"{'spec':{'items':[{'name':'a'},{'name':'b'},{}]}}", "spec.items[2].name: Required value"},
        {"{'spec':{'tags':['a','a']}}", "spec.tags[1]: Duplicate value: \"a\""},
        {"{'spec':{'items':[{'name':'a'},{'name':'a'}]}}",
         "spec.items[1]: Duplicate value: {\"name\":\"a\",\"zone\":\"z\"}"},
        {"{'spec':{'items':[{'name':'a'},{'name':'a','zone':'y'}]}}", ""},
        {"{'spec':{'items':{}}}",
         "spec.items: Invalid value: \"object\": spec.items in body must be of type array: "
         "\"object\""},
        {"{'spec':{'items':[1]}}",
         "spec.items[0]: Invalid value: \"integer\": spec.items[0] in body must be of type object: "
         "\"integer\""},
        {"{'spec':{'flag':'yes'}}",
         "spec.flag: Invalid value: \"string\": spec.flag in body must be of type boolean: "
         "\"string\""},
        {"{'spec':{'wait':'4h'}}", ""},
        {"{'spec':{'wait':'soon'}}", "spec.wait: Invalid value: \"soon\": spec.wait in body must "
                                     "be of type duration: \"soon\""},
        {"{'spec':{'due':'2026-11-15T00:00:00Z'}}", ""},
        {"{'spec':{'due':'x'}}",
         "spec.due: Invalid value: \"x\": spec.due in body must be of type date-time: \"x\""},
        {"{'spec':{'share':'25%'}}", ""},
        {"{'spec':{'share':3}}", ""},
        {"{'spec':{'amount':2,'limits':{'cpu':'500m'}}}", ""},
        {"{'spec':{'limits':{'cpu':'x'}}}",
         "spec.limits.cpu: Invalid value: \"x\": quantities must match the regular expression "
         "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
        {"{'spec':{'any':[1,{}],'free':{'x':1}}}", ""},
        {"{'spec':7}",
         "spec: Invalid value: \"integer\": spec in body must be of type object: \"integer\""},
    };

    fixture_init();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_valid(&fixture_widget, cases[i].text, cases[i].want);
}

TEST(validation_of_built_in_kinds)
{
    fixture_init();
    check_valid(&kind_pod, "{'spec':{'containers':[{'image':'i'}]}}",
                "spec.containers[0].name: Required value");
    check_valid(&kind_pod, "{'spec':{'restartPolicy':'Sometimes','containers':[]}}",
                "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: "
                "\"Always\", \"OnFailure\", \"Never\"");
    /* null is absent, names may repeat, and a status is never incomplete */
    check_valid(&kind_pod,
                "{'metadata':{'creationTimestamp':null},'spec':{'nodeName':null,'containers':["
                "{'name':'c','env':[{'name':'A'},{'name':'A'}]}]},"
                "'status':{'containerStatuses':[{'name':'c'}]}}",
                "");
    check_valid(&kind_pod, "{'spec':{'containers':null}}", "spec.containers: Required value");
    check_valid(&kind_secret, "{'data':{'a':'aGVsbG8='}}", "");
    check_valid(&kind_secret, "{'data':{'a':'%%'}}",
                "data.a: Invalid value: \"%%\": data.a in body must be of type byte: \"%%\"");
}

TEST(validation_starts_at_the_path_given)
{
    struct arena a = ARENA_INIT;
    struct field_errors e;

    fixture_init();
    field_errors_init(&e, &a);
    schema_validate(&type_pod_spec, fixture_json(&a, "{'hostNetwork':1,'containers':[]}"),
                    STR("spec.template.spec"), &e);
    CHECK_CSTR(field_errors_text(&a, &e),
               "spec.template.spec.hostNetwork: Invalid value: \"integer\": "
               "spec.template.spec.hostNetwork in body must be of type boolean: \"integer\"");
    CHECK_INT(e.items.p[0].type, FIELD_ERR_TYPE_INVALID);
    field_errors_done(&e);
    arena_done(&a);
}

TEST(validation_of_one_member)
{
    static const struct {
        const struct kind *kind;
        const char *text, *key, *want;
    } cases[] = {
        {&kind_pod, "{'spec':7,'status':{'phase':7}}", "status",
         "status.phase: Invalid value: \"integer\": status.phase in body must be of type string: "
         "\"integer\""},
        /* a built-in status is never incomplete, and nothing but the member is looked at */
        {&kind_pod, "{'status':{'containerStatuses':[{'name':'c'}]}}", "status", ""},
        {&kind_pod, "{'spec':{'containers':[{}]}}", "status", ""},
        {&kind_pod, "{'metadata':{'ownerReferences':[{}]}}", "status", ""},
        {&fixture_widget, "{'spec':null}", "spec",
         "spec: Invalid value: \"null\": spec in body must be of type object: \"null\""},
    };

    fixture_init();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        struct field_errors e;
        field_errors_init(&e, &a);
        schema_validate_member(cases[i].kind->type, fixture_json(&a, cases[i].text),
                               str_of(cases[i].key), &e);
        if (!CHECK_CSTR(field_errors_text(&a, &e), cases[i].want))
            test_note("of %s", cases[i].text);
        field_errors_done(&e);
        arena_done(&a);
    }
}

/* What was valid before says nothing about a text that differs in one byte, wherever that is. */
TEST(validation_remembers_texts_and_not_their_looks)
{
    struct strbuf text = STRBUF_INIT(1 << 16);

    fixture_init();
    for (size_t round = 0; round < 40; round++) {
        size_t wrong = round < 10 ? SIZE_MAX : round - 10;
        strbuf_reset(&text);
        strbuf_add_cstr(&text, "{'metadata':{},'spec':{'containers':[{'name':'a','ports':[");
        for (size_t i = 0; i < 30; i++)
            strbuf_printf(&text, "%s{'containerPort':%s}", i ? "," : "",
                          i == wrong ? "'1'" : "123");
        strbuf_add_cstr(&text, "]}]}}");
        struct arena a = ARENA_INIT;
        struct field_errors e;
        field_errors_init(&e, &a);
        schema_validate(kind_pod.type, fixture_json(&a, text.p), STR(""), &e);
        CHECK_INT(e.items.len, wrong != SIZE_MAX);
        field_errors_done(&e);
        arena_done(&a);
    }
    strbuf_done(&text);
}
