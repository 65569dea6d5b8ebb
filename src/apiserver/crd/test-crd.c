/* Definitions of kinds, from their admission to the objects of the kinds they make. */
#include "apiserver/crd.h"
#include "apiserver/front/front.h"
#include "apiserver/front/table.h"
#include "apiserver/test-apiserver-fixture.h"
#include "kube/schema.h"
#include "kube/structural.h"

#define SCHEMA                                                                                  \
    "{'type':'object','required':['spec'],'properties':{"                                       \
    "'spec':{'type':'object','required':['cliques'],'properties':{"                             \
    "'replicas':{'type':'integer','format':'int32','minimum':0,'maximum':100,'default':1},"     \
    "'mode':{'type':'string','enum':['InOrder','AnyOrder'],'default':'AnyOrder'},"              \
    "'key':{'type':'string','maxLength':8,'pattern':'^[a-z]+$'},"                               \
    "'timeout':{'x-kubernetes-int-or-string':true},"                                            \
    "'freeform':{'type':'object','x-kubernetes-preserve-unknown-fields':true},"                 \
    "'nodeSelector':{'type':'object','additionalProperties':{'type':'string'}},"                \
    "'tags':{'type':'array','items':{'type':'string'},'x-kubernetes-list-type':'set'},"         \
    "'nullable':{'type':'string','nullable':true,'default':'d'},"                               \
    "'grid':{'type':'array','items':{'type':'array','maxItems':2,'items':{'type':'integer'}}}," \
    "'template':{'type':'object','x-kubernetes-embedded-resource':true,"                        \
    "'x-kubernetes-preserve-unknown-fields':true},"                                             \
    "'either':{'type':'object','properties':{'a':{'type':'string'},'b':{'type':'string'}},"     \
    "'oneOf':[{'required':['a']},{'required':['b']}]},"                                         \
    "'cliques':{'type':'array','minItems':1,'maxItems':3,'x-kubernetes-list-type':'map',"       \
    "'x-kubernetes-list-map-keys':['name'],'items':{'type':'object','required':['name'],"       \
    "'properties':{'name':{'type':'string','minLength':1},"                                     \
    "'replicas':{'type':'integer','format':'int32','default':1,'minimum':0},"                   \
    "'image':{'type':'string'}}}}}},"                                                           \
    "'status':{'type':'object','properties':{'replicas':{'type':'integer','format':'int32'},"   \
    "'selector':{'type':'string'}}}}}"

#define VERSION(name, storage, schema, more)                                                     \
    "{'name':'" name "','served':true,'storage':" storage ",'schema':{'openAPIV3Schema':" schema \
    "}" more "}"
#define CRD(plural, group, kind, more_names, versions)                                          \
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{"    \
    "'name':'" plural "." group "'},'spec':{'group':'" group "','scope':'Namespaced','names':{" \
    "'plural':'" plural "','kind':'" kind "'" more_names "},'versions':[" versions "]}}"
#define SUBRESOURCES                                                                    \
    ",'subresources':{'status':{},'scale':{'specReplicasPath':'.spec.replicas',"        \
    "'statusReplicasPath':'.status.replicas','labelSelectorPath':'.status.selector'}}," \
    "'selectableFields':[{'jsonPath':'.spec.mode'}],'additionalPrinterColumns':["       \
    "{'name':'Desired','type':'integer','jsonPath':'.spec.replicas'},"                  \
    "{'name':'Age','type':'date','jsonPath':'.metadata.creationTimestamp'}]"
#define GANGS                                                                        \
    CRD("gangs", "example.org", "Gang", ",'shortNames':['gg'],'categories':['all']", \
        VERSION("v1", "true", SCHEMA, SUBRESOURCES))
#define GANG(name, spec) \
    "{'apiVersion':'example.org/v1','kind':'Gang','metadata':{'name':'" name "'},'spec':{" spec "}}"
#define CLIQUES "'cliques':[{'name':'a'}]"

static const struct kind *gang_kind(void)
{
    return kind_by_plural(STR("example.org"), STR("v1"), STR("gangs"));
}

static void define(struct fixture *f, const char *crd)
{
    if (!CHECK_INT(create(f, &kind_crd, "", crd), 201))
        test_note("%.*s", STR_ARG(f->message));
    fixture_run(f, 100 * 1000);
}

static void check_refused(struct fixture *f, const char *crd, const char *why)
{
    if (!CHECK_INT(create(f, &kind_crd, "", crd), 422) ||
        !CHECK(str_find(f->message, str_of(why)) >= 0)) {
        test_note("got  %.*s", STR_ARG(f->message));
        test_note("want %s", why);
    }
}

static str condition(struct fixture *f, const char *type, const char *member)
{
    jval conditions = jpath(doc_root(f->doc), "status.conditions");
    return jstr(jget(condition_find(conditions, str_of(type)), str_of(member)));
}

/* ---- coming ---- */

TEST(definition_is_answered_before_it_is_established)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_crd, "", GANGS), 201);
    CHECK_CSTR(field(&f, "spec.names.singular"), "gang");
    CHECK_CSTR(field(&f, "spec.names.listKind"), "GangList");
    CHECK_CSTR(field(&f, "spec.conversion.strategy"), "None");
    CHECK_CSTR(field(&f, "status.conditions"), "null");
    CHECK_CSTR(field(&f, "status.acceptedNames.plural"), "");
    CHECK_CSTR(field(&f, "status.storedVersions"), "[\"v1\"]");
    fixture_run(&f, 100 * 1000);
    CHECK_INT(get(&f, &kind_crd, "", "gangs.example.org"), 200);
    CHECK_CSTR(condition(&f, "NamesAccepted", "status"), "True");
    CHECK_CSTR(condition(&f, "NamesAccepted", "reason"), "NoConflicts");
    CHECK_CSTR(condition(&f, "NamesAccepted", "message"), "no conflicts found");
    CHECK_CSTR(condition(&f, "Established", "reason"), "InitialNamesAccepted");
    CHECK_CSTR(field(&f, "status.acceptedNames.kind"), "Gang");
    CHECK_CSTR(field(&f, "status.acceptedNames.shortNames"), "[\"gg\"]");
    CHECK_CSTR(field(&f, "metadata.generation"), "1");
    fixture_done(&f);
}

TEST(defined_kind_is_known_by_all_its_names)
{
    struct fixture f;
    struct discovery_pages pages = {0};
    fixture_init(&f);
    CHECK(!gang_kind());
    define(&f, GANGS);
    const struct kind *k = gang_kind();
    CHECK(k && kind_by_alias(STR("gg")) == k && kind_by_alias(STR("gang")) == k);
    CHECK(kind_is(k, KIND_STATUS) && kind_is(k, KIND_SCALE) && kind_is(k, KIND_NAMESPACED));
    CHECK_CSTR(str_of(k->categories), "all");
    CHECK_CSTR(str_of(k->field_selectors), "spec.mode");
    CHECK_INT(k->n_columns, 3);
    CHECK(str_find(doc_text(discovery_aggregated(&pages, false, NULL)->doc),
                   STR("\"resource\":\"gangs\"")) > 0);
    CHECK(openapi_v3(STR("example.org"), STR("v1")) != NULL);
    fixture_done(&f);
    CHECK(!gang_kind());
    CHECK(str_find(doc_text(discovery_aggregated(&pages, false, NULL)->doc),
                   STR("\"resource\":\"gangs\"")) < 0);
    discovery_pages_done(&pages);
}

TEST(schema_of_a_defined_kind_is_published_as_it_was_written)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    jval schema =
        jget(jpath(doc_root(openapi_v3(STR("example.org"), STR("v1"))->doc), "components.schemas"),
             STR("org.example.v1.Gang"));
    CHECK_INT(jint(jpath(schema, "properties.spec.properties.replicas.maximum"), 0), 100);
    CHECK(j_has(jpath(schema, "properties.metadata")));
    CHECK_INT(jlen(jget(schema, STR("x-kubernetes-group-version-kind"))), 1);
    fixture_done(&f);
}

/* ---- objects ---- */

TEST(objects_are_defaulted_and_pruned)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    const struct kind *k = gang_kind();
    CHECK_INT(create(&f, k, "ns",
                     GANG("a", CLIQUES ",'bogus':1,'freeform':{'x':{'y':1}},"
                                       "'nullable':null,'key':null")),
              201);
    CHECK_CSTR(field(&f, "spec.replicas"), "1");
    CHECK_CSTR(field(&f, "spec.mode"), "AnyOrder");
    CHECK_CSTR(field(&f, "spec.nullable"), "null");
    CHECK_CSTR(field(&f, "spec.cliques"), "[{\"name\":\"a\",\"replicas\":1}]");
    CHECK_CSTR(field(&f, "spec.freeform"), "{\"x\":{\"y\":1}}");
    CHECK(j_is_absent(jpath(doc_root(f.doc), "spec.bogus")));
    CHECK(j_is_absent(jpath(doc_root(f.doc), "spec.key")));
    CHECK_INT(f.n_warnings, 1);
    CHECK_CSTR(f.warnings[0], "unknown field \"spec.bogus\"");
    fixture_done(&f);
}

TEST(typo_is_told_with_its_path)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    struct api_request r = {
        .verb = API_CREATE,
        .kind = gang_kind(),
        .ns = STR("ns"),
        .field_validation = API_VALIDATE_STRICT,
        .body = fixture_doc(&f, GANG("a", "'unknown':1,'cliques':[{'name':'a','bogus':1}]"))};
    CHECK_INT(send(&f, r), 400);
    CHECK_CSTR(f.message, "Gang in version \"v1\" cannot be handled as a Gang: strict decoding "
                          "error: unknown field \"spec.unknown\", unknown field "
                          "\"spec.cliques[0].bogus\"");
    fixture_done(&f);
}

TEST(rules_of_the_schema)
{
    static const struct {
        const char *spec, *why;
    } cases[] = {
        {CLIQUES ",'mode':'Wrong'",
         "spec.mode: Unsupported value: \"Wrong\": supported values: \"InOrder\", \"AnyOrder\""},
        {CLIQUES ",'replicas':101", "spec.replicas: Invalid value: 101: spec.replicas in body "
                                    "should be less than or equal to 100"},
        {CLIQUES ",'replicas':-1", "spec.replicas: Invalid value: -1: spec.replicas in body should "
                                   "be greater than or equal to 0"},
        {CLIQUES ",'replicas':'two'", "spec.replicas: Invalid value: \"string\": spec.replicas in "
                                      "body must be of type integer: \"string\""},
        {CLIQUES ",'key':'TOOLONGKEY9'", "spec.key: Too long: may not be more than 8 bytes"},
        {CLIQUES ",'key':'A'", "spec.key: Invalid value: \"A\": spec.key in body should match "
                               "'^[a-z]+$'"},
        {"'cliques':[{'image':'x'}]", "spec.cliques[0].name: Required value"},
        {"'cliques':[]",
         "spec.cliques: Invalid value: 0: spec.cliques in body should have at least "
         "1 items"},
        {"'cliques':[{'name':'a'},{'name':'b'},{'name':'c'},{'name':'d'}]",
         "spec.cliques: Too many: 4: must have at most 3 items"},
        {"'cliques':[{'name':'a'},{'name':'a'}]",
         "spec.cliques[1]: Duplicate value: {\"name\":\"a\"}"},
        {"'cliques':[{'name':''}]", "spec.cliques[0].name: Invalid value: \"\": "
                                    "spec.cliques[0].name in body should be at least 1 chars long"},
        {CLIQUES ",'tags':['a','a']", "spec.tags[1]: Duplicate value: \"a\""},
        {CLIQUES ",'nodeSelector':{'a':1}", "spec.nodeSelector.a: Invalid value: \"integer\""},
        {CLIQUES ",'timeout':true", "spec.timeout: Invalid value"},
        {CLIQUES ",'grid':[[1,2,3]]", "spec.grid[0]: Too many: 3: must have at most 2 items"},
        {CLIQUES ",'grid':[['x']]", "spec.grid[0][0]: Invalid value: \"string\""},
        {CLIQUES ",'template':{'spec':{}}", "spec.template.kind: Required value"},
        {CLIQUES ",'either':{'a':'1','b':'2'}",
         "\"spec.either\" must validate one and only one schema (oneOf)"},
        {"", "spec.cliques: Required value"},
    };
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str body = text_of(&f, GANG("a", "%s"), cases[i].spec);
        if (!CHECK_INT(create(&f, gang_kind(), "ns", body.p), 422) ||
            !CHECK(str_find(f.message, str_of(cases[i].why)) >= 0)) {
            test_note("got  %.*s", STR_ARG(f.message));
            test_note("want %s", cases[i].why);
        }
    }
    CHECK_INT(create(&f, gang_kind(), "ns",
                     GANG("ok", CLIQUES ",'timeout':'5m','grid':[[1,2],[]],'either':{'a':'1'},"
                                        "'template':{'apiVersion':'v1','kind':'X','any':1}")),
              201);
    fixture_done(&f);
}

TEST(status_and_scale_are_apart)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    const struct kind *k = gang_kind();
    CHECK_INT(create(&f, k, "ns",
                     "{'apiVersion':'example.org/v1','kind':'Gang','metadata':{"
                     "'name':'a'},'spec':{" CLIQUES "},'status':{'replicas':7}}"),
              201);
    CHECK(j_is_absent(jpath(doc_root(f.doc), "status")));
    CHECK_INT(patch_sub(&f, k, "ns", "a", "status", API_PATCH_MERGE, "{'status':{'replicas':3}}"),
              200);
    CHECK_CSTR(field(&f, "metadata.generation"), "1");
    CHECK_INT(patch_sub(&f, k, "ns", "a", "scale", API_PATCH_MERGE, "{'spec':{'replicas':5}}"),
              200);
    CHECK_CSTR(field(&f, "spec.replicas"), "5");
    CHECK_CSTR(field(&f, "status.replicas"), "3");
    CHECK_INT(patch(&f, k, "ns", "a", API_PATCH_STRATEGIC, "{'spec':{'replicas':1}}"), 415);
    CHECK_INT(patch_sub(&f, k, "ns", "a", "scale", API_PATCH_MERGE, "{'spec':{'replicas':500}}"),
              422);
    fixture_done(&f);
}

TEST(server_side_apply_merges_by_the_keys_of_the_schema)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    struct api_request r = {.verb = API_PATCH,
                            .patch = API_PATCH_APPLY,
                            .kind = gang_kind(),
                            .ns = STR("ns"),
                            .name = STR("a")};
    r.field_manager = STR("one");
    r.body = fixture_doc(&f, GANG("a", "'cliques':[{'name':'a','image':'x'}],'tags':['t']"));
    CHECK_INT(send(&f, r), 201);
    r.field_manager = STR("two");
    r.body = fixture_doc(&f, GANG("a", "'cliques':[{'name':'b'}],'tags':['u']"));
    CHECK_INT(send(&f, r), 200);
    CHECK_INT(jlen(jpath(doc_root(f.doc), "spec.cliques")), 2);
    CHECK_CSTR(field(&f, "spec.tags"), "[\"t\",\"u\"]");
    r.body = fixture_doc(&f, GANG("a", "'cliques':[{'name':'a','image':'y'}]"));
    CHECK_INT(send(&f, r), 409);
    fixture_done(&f);
}

TEST(objects_are_selected_by_selectable_fields)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    CHECK_INT(create(&f, gang_kind(), "ns", GANG("a", CLIQUES)), 201);
    CHECK_INT(create(&f, gang_kind(), "ns", GANG("b", CLIQUES ",'mode':'InOrder'")), 201);
    CHECK_INT(list(&f, gang_kind(), "ns",
                   (struct api_request){.field_selector = STR("spec.mode=InOrder")}),
              200);
    CHECK_CSTR(names(&f), "b");
    fixture_done(&f);
}

TEST(rows_follow_the_columns_of_the_definition)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    CHECK_INT(create(&f, gang_kind(), "ns", GANG("a", CLIQUES)), 201);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    table_columns(&w, gang_kind());
    jw_key(&w, STR("row"));
    table_row(&w, f.obj, TABLE_INCLUDE_NONE, obj_created(f.obj));
    jw_end(&w);
    struct doc *d = jw_doc(&w);
    CHECK_CSTR(jtext(jpath(doc_root(d), "row.cells")), "[\"a\",1,\"0s\"]");
    CHECK_CSTR(jstr(jgetc(jat(jgetc(doc_root(d), "columnDefinitions"), 1), "description")),
               "Custom resource definition column (in JSONPath format): .spec.replicas");
    doc_unref(d);
    fixture_done(&f);
}

/* ---- changing ---- */

TEST(schema_changes_at_once)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    const struct kind *k = gang_kind();
    CHECK_INT(create(&f, k, "ns", GANG("a", CLIQUES)), 201);
    CHECK_INT(patch(&f, &kind_crd, "", "gangs.example.org", API_PATCH_JSON,
                    "[{'op':'add','path':'/spec/versions/0/schema/openAPIV3Schema/properties/spec/"
                    "properties/extra','value':{'type':'string','default':'new'}},"
                    "{'op':'add','path':'/spec/versions/0/schema/openAPIV3Schema/properties/spec/"
                    "properties/cliques/items/properties/more','value':{'type':'string'}}]"),
              200);
    fixture_run(&f, 100 * 1000);
    CHECK(gang_kind() == k);
    CHECK_INT(create(&f, k, "ns", GANG("b", "'cliques':[{'name':'a','more':'m'}]")), 201);
    CHECK_CSTR(field(&f, "spec.extra"), "new");
    CHECK(str_find(field(&f, "metadata.managedFields"), STR("f:extra")) > 0);
    CHECK_CSTR(field(&f, "spec.cliques"), "[{\"name\":\"a\",\"more\":\"m\",\"replicas\":1}]");
    fixture_done(&f);
}

TEST(versions_differ_in_their_schemas_only)
{
    struct fixture f;
    fixture_init(&f);
    define(
        &f,
        CRD("bars", "example.org", "Bar", "",
            VERSION("v1beta1", "false",
                    "{'type':'object','x-kubernetes-preserve-unknown-fields':true}",
                    "") "," VERSION("v1", "true",
                                    "{'type':'object','x-kubernetes-preserve-unknown-fields':true}",
                                    "")));
    const struct kind *old = kind_by_plural(STR("example.org"), STR("v1beta1"), STR("bars"));
    const struct kind *new = kind_by_plural(STR("example.org"), STR("v1"), STR("bars"));
    if (!CHECK(old && new &&old != new))
        return;
    CHECK_INT(create(&f, old, "ns", "{'metadata':{'name':'a'},'any':1}"), 201);
    CHECK_INT(get(&f, new, "ns", "a"), 200);
    CHECK_CSTR(field(&f, "apiVersion"), "example.org/v1");
    CHECK_CSTR(field(&f, "any"), "1");
    struct doc *group = discovery_legacy_group(STR("example.org"));
    CHECK_CSTR(jstr(jpath(doc_root(group), "preferredVersion.version")), "v1");
    doc_unref(group);
    CHECK_INT(patch(&f, &kind_crd, "", "bars.example.org", API_PATCH_JSON,
                    "[{'op':'replace','path':'/spec/versions/0/served','value':false}]"),
              200);
    fixture_run(&f, 100 * 1000);
    CHECK(!kind_by_plural(STR("example.org"), STR("v1beta1"), STR("bars")));
    CHECK_INT(get(&f, new, "ns", "a"), 200);
    fixture_done(&f);
}

TEST(names_cannot_change_once_established)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    CHECK_INT(patch(&f, &kind_crd, "", "gangs.example.org", API_PATCH_MERGE,
                    "{'spec':{'scope':'Cluster'}}"),
              422);
    CHECK(str_find(f.message, STR("spec.scope: Invalid value: \"Cluster\": field is immutable")) >=
          0);
    fixture_done(&f);
}

/* Clusters have hundreds, and names that were used once do not come back. */
TEST(there_may_be_many_definitions)
{
    enum { MANY = 600 };
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < MANY; i++) {
        str crd =
            text_of(&f,
                    "{'metadata':{'name':'many%ds.example.org'},'spec':{'group':"
                    "'example.org','scope':'Namespaced','names':{'plural':'many%ds','kind':"
                    "'Many%d'},'versions':[" VERSION("v1", "true", "{'type':'object'}", "") "]}}",
                    i, i, i);
        if (create(&f, &kind_crd, "", crd.p) != 201)
            CHECK_CSTR(f.message, "");
    }
    fixture_run(&f, USEC_PER_SEC);
    const struct kind *last =
        kind_by_plural(STR("example.org"), STR("v1"), text_of(&f, "many%ds", MANY - 1));
    REQUIRE(last);
    CHECK_INT(create(&f, last, "ns", "{'metadata':{'name':'a'}}"), 201);
    fixture_done(&f);
}

/* ---- what a schema may cost ---- */

#define COSTLY                                                                               \
    "{'type':'object','properties':{'p':{'type':'array','items':{'type':'string','pattern':" \
    "'^(a+)+$'}},'e':{'type':'array','items':{'type':'string','enum':[%.*s]}},'o':{'type':"  \
    "'array','items':{'type':'string','anyOf':[{'enum':[%.*s]},{'minLength':2}]}}}}"

/* A list of n times the same. */
static str repeated(struct fixture *f, const char *what, int n)
{
    struct strbuf b = STRBUF_INIT(4 << 20);
    for (int i = 0; i < n; i++)
        strbuf_printf(&b, "%s%s", i ? "," : "", what);
    str s = arena_str(&f->arena, strbuf_str(&b));
    strbuf_done(&b);
    return s;
}

/* Properties p0, p1, ... with a pattern each; none is like another. */
static str with_patterns(struct fixture *f, const char *pattern, int n)
{
    struct strbuf b = STRBUF_INIT(4 << 20);
    for (int i = 0; i < n; i++)
        strbuf_printf(&b, "%s'p%d':{'type':'string','pattern':'%s%d'}", i ? "," : "", i, pattern,
                      i);
    str s = text_of(f,
                    CRD("costs", "example.org", "Cost", "",
                        VERSION("v1", "true", "{'type':'object','properties':{%s}}", "")),
                    arena_str(&f->arena, strbuf_str(&b)).p);
    strbuf_done(&b);
    return s;
}

/* Patterns are made while everybody waits. */
TEST(patterns_of_a_definition_are_bounded_together)
{
    static const struct {
        const char *pattern;
        int n, code;
    } cases[] = {
        {"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", 2000, 201},
        {"(?i)[\\\\pL\\\\PN\\\\pS\\\\PS]", 2000, 422},
        {".{1000}.{1000}.{1000}.{1000}.{1000}", 2000, 422},
        /* what was made before costs as much */
        {".{1000}.{1000}.{1000}.{1000}.{1000}", 2000, 422},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str crd = with_patterns(&f, cases[i].pattern, cases[i].n);
        CHECK_INT(create(&f, &kind_crd, "", crd.p), cases[i].code);
        if (cases[i].code == 422 &&
            !CHECK(str_find(f.message, STR("the patterns of this definition are too large "
                                           "together: use fewer or smaller ones")) > 0))
            test_note("%.*s", STR_ARG(str_sub(f.message, 0, 300)));
    }
    fixture_done(&f);
}

/* Each of these would keep the server for minutes. */
TEST(what_a_schema_asks_of_an_object_is_bounded)
{
    static const struct {
        const char *member, *value;
        int n, code;
        bool is_full; /* there are so many errors that the last one is not told */
    } cases[] = {
        {"p", "'aaaa'", 10000, 201},
        /* takes no longer, but does not match */
        {"p", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'", 10000, 422, true},
        {"p", "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", 10000, 201},
        {"e", "'last'", 50, 201},
        {"e", "'last'", 10000, 422},
        {"e", "'none'", 10000, 422, true},
        {"o", "'none'", 10, 201},
        {"o", "'none'", 10000, 422},
    };
    struct fixture f;
    fixture_init(&f);
    str many = text_of(&f, "%.*s,'last'", STR_ARG(repeated(&f, "'some-value'", 10000)));
    str schema = text_of(&f, COSTLY, STR_ARG(many), STR_ARG(many));
    define(&f,
           text_of(&f, CRD("costs", "example.org", "Cost", "", VERSION("v1", "true", "%.*s", "")),
                   STR_ARG(schema))
               .p);
    const struct kind *k = kind_by_plural(STR("example.org"), STR("v1"), STR("costs"));
    REQUIRE(k);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str list = repeated(&f, cases[i].value, cases[i].n);
        str body = text_of(&f, "{'metadata':{'name':'c%zu'},'%s':[%.*s]}", i, cases[i].member,
                           STR_ARG(list));
        bool ok = CHECK_INT(create(&f, k, "ns", body.p), cases[i].code);
        if (cases[i].code == 422 && !cases[i].is_full)
            ok &= CHECK(str_find(f.message, STR("running out of cost budget")) > 0);
        if (!ok)
            test_note("%zu: %.*s", i, STR_ARG(str_sub(f.message, 0, 300)));
    }
    fixture_done(&f);
}

#define GROWING                                                                                  \
    "{'type':'object','properties':{'l':{'type':'array','items':{'type':'object','properties':{" \
    "'p':{'type':'string','default':'%.*s'}}}}}}"

/* Little text that becomes much by its defaults is refused, not kept without them; what has more
 * items than any object may have is refused before. */
TEST(defaults_do_not_make_objects_of_any_size)
{
    static const struct {
        int n, code;
    } cases[] = {{1000, 201}, {20000, 413}, {65536, 413}, {65537, 422}, {900000, 422}};
    struct fixture f;
    fixture_init(&f);
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (int i = 0; i < 1000; i++)
        strbuf_add_char(&b, 'x');
    str schema = text_of(&f, GROWING, STR_ARG(strbuf_str(&b)));
    define(&f,
           text_of(&f, CRD("grows", "example.org", "Grow", "", VERSION("v1", "true", "%.*s", "")),
                   STR_ARG(schema))
               .p);
    const struct kind *k = kind_by_plural(STR("example.org"), STR("v1"), STR("grows"));
    REQUIRE(k);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str list = repeated(&f, "{}", cases[i].n);
        str body = text_of(&f, "{'metadata':{'name':'g%zu'},'l':[%.*s]}", i, STR_ARG(list));
        if (!CHECK_INT(create(&f, k, "ns", body.p), cases[i].code))
            test_note("%d: %.*s", cases[i].n, STR_ARG(str_sub(f.message, 0, 300)));
    }
    CHECK_INT(get(&f, k, "ns", "g0"), 200);
    CHECK_INT(jstr(jgetc(jat(jgetc(doc_root(f.doc), "l"), 999), "p")).len, 1000);
    strbuf_done(&b);
    fixture_done(&f);
}

/* ---- more kinds than there are places ---- */

#define CROWD(plural, kind, versions) CRD(plural, "crowd.example.org", kind, "", versions)
#define CROWD_VERSION(name, storage) VERSION(name, storage, "{'type':'object'}", "")

TEST(definitions_without_a_place_are_refused)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, CROWD("firsts", "First", CROWD_VERSION("v1", "true")));
    size_t most = kinds_limit(kinds_count() + 1);
    CHECK_INT(kinds_room(), 1);
    check_refused(
        &f, CROWD("pairs", "Pair", CROWD_VERSION("v1", "true") "," CROWD_VERSION("v2", "false")),
        "spec.versions: Forbidden: this server has room for 1 more kinds, and these would "
        "be 2: delete definitions that nobody needs, then restart the server, which gives "
        "their places back");
    define(&f, CROWD("seconds", "Second", CROWD_VERSION("v1", "true")));
    CHECK_INT(kinds_room(), 0);
    CHECK(kind_by_alias(STR("seconds")) != NULL);
    check_refused(&f, CROWD("thirds", "Third", CROWD_VERSION("v1", "true")),
                  "this server has room for 0 more kinds");
    /* One more version of what is served is one more, too; a change of it is none. */
    CHECK_INT(
        patch(&f, &kind_crd, "", "seconds.crowd.example.org", API_PATCH_JSON,
              "[{'op':'add','path':'/spec/versions/-','value':" CROWD_VERSION("v2", "false") "}]"),
        422);
    CHECK_INT(patch(&f, &kind_crd, "", "seconds.crowd.example.org", API_PATCH_MERGE,
                    "{'metadata':{'labels':{'a':'b'}},'spec':{'names':{'shortNames':['snd']}}}"),
              200);
    /* What was deleted keeps its place, and comes back to it. */
    CHECK_INT(delete (&f, &kind_crd, "", "firsts.crowd.example.org"), 200);
    fixture_run(&f, USEC_PER_SEC);
    CHECK(!kind_by_alias(STR("firsts")));
    check_refused(&f, CROWD("thirds", "Third", CROWD_VERSION("v1", "true")),
                  "this server has room for 0 more kinds");
    define(&f, CROWD("firsts", "First", CROWD_VERSION("v1", "true")));
    CHECK(kind_by_alias(STR("firsts")) != NULL);
    kinds_limit(most);
    fixture_done(&f);
}

/* Two that come at once find the same room; one of them is told so by its status. */
TEST(definition_that_is_not_served_says_so)
{
    struct fixture f;
    fixture_init(&f);
    size_t most = kinds_limit(kinds_count() + 1);
    struct doc *one = fixture_doc(&f, CROWD("fourths", "Fourth", CROWD_VERSION("v1", "true")));
    struct doc *two = fixture_doc(&f, CROWD("fifths", "Fifth", CROWD_VERSION("v1", "true")));
    struct api_request a = {.verb = API_CREATE, .kind = &kind_crd, .body = one}, b = a;
    b.body = two;
    send_only(&f, &a);
    send_only(&f, &b);
    fixture_run(&f, USEC_PER_SEC);
    CHECK_INT(kinds_room(), 0);
    CHECK_INT(get(&f, &kind_crd, "", "fourths.crowd.example.org"), 200);
    CHECK_CSTR(condition(&f, "Established", "status"), "True");
    CHECK_INT(get(&f, &kind_crd, "", "fifths.crowd.example.org"), 200);
    CHECK_CSTR(condition(&f, "NamesAccepted", "status"), "True");
    CHECK_CSTR(condition(&f, "Established", "status"), "False");
    CHECK_CSTR(condition(&f, "Established", "reason"), "TooManyKinds");
    CHECK_CSTR(condition(&f, "Established", "message"),
               "not every version is served, there are too many kinds: delete definitions that "
               "nobody needs, then restart the server, which gives their places back");
    CHECK(!kind_by_alias(STR("fifths")));
    /* It can be changed and deleted like any other. */
    CHECK_INT(patch(&f, &kind_crd, "", "fifths.crowd.example.org", API_PATCH_MERGE,
                    "{'metadata':{'labels':{'a':'b'}}}"),
              200);
    CHECK_INT(delete (&f, &kind_crd, "", "fifths.crowd.example.org"), 200);
    fixture_run(&f, USEC_PER_SEC);
    CHECK_INT(get(&f, &kind_crd, "", "fifths.crowd.example.org"), 404);
    kinds_limit(most);
    fixture_done(&f);
}

/* ---- refusals ---- */

TEST(names_in_use_are_told)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    define(&f, CRD("foos", "example.org", "Foo", ",'shortNames':['gg']",
                   VERSION("v1", "true", "{'type':'object'}", "")));
    CHECK_INT(get(&f, &kind_crd, "", "foos.example.org"), 200);
    CHECK_CSTR(condition(&f, "NamesAccepted", "status"), "False");
    CHECK_CSTR(condition(&f, "NamesAccepted", "reason"), "ShortNamesConflict");
    CHECK_CSTR(condition(&f, "NamesAccepted", "message"), "\"gg\" is already in use");
    CHECK_CSTR(condition(&f, "Established", "status"), "False");
    CHECK_CSTR(condition(&f, "Established", "reason"), "NotAccepted");
    CHECK_CSTR(condition(&f, "Established", "message"), "not all names are accepted");
    CHECK_CSTR(field(&f, "status.acceptedNames.plural"), "foos");
    CHECK(j_is_absent(jpath(doc_root(f.doc), "status.acceptedNames.shortNames")));
    CHECK(!kind_by_alias(STR("foos")));
    /* They become free when the other changes its own, */
    define(&f, CRD("bars", "example.org", "Bar", ",'shortNames':['gg']",
                   VERSION("v1", "true", "{'type':'object'}", "")));
    CHECK_INT(patch(&f, &kind_crd, "", "gangs.example.org", API_PATCH_MERGE,
                    "{'spec':{'names':{'shortNames':['other']}}}"),
              200);
    fixture_run(&f, 1000 * 1000);
    CHECK(kind_by_alias(STR("gg")) == kind_by_alias(STR("foos")) && kind_by_alias(STR("foos")));
    CHECK(!kind_by_alias(STR("bars")));
    /* or when it goes. */
    CHECK_INT(delete (&f, &kind_crd, "", "foos.example.org"), 200);
    fixture_run(&f, 1000 * 1000);
    CHECK(kind_by_alias(STR("gg")) == kind_by_alias(STR("bars")) && kind_by_alias(STR("bars")));
    fixture_done(&f);
}

TEST(definitions_that_are_refused)
{
    struct fixture f;
    fixture_init(&f);
    check_refused(
        &f,
        text_of(&f, CRD("foos", "example.org", "Foo", "", "%.*s"),
                STR_ARG(repeated(&f, VERSION("v1", "true", "{'type':'object'}", ""), 101)))
            .p,
        "spec.versions: Too many: 101: must have at most 100 items");
    check_refused(&f,
                  "{'metadata':{'name':'wrong.name'},'spec':{'group':'example.org','scope':"
                  "'Namespaced','names':{'plural':'foos','kind':'Foo'},'versions':[" VERSION(
                      "v1", "true", "{'type':'object'}", "") "]}}",
                  "metadata.name: Invalid value: \"wrong.name\": must be "
                  "spec.names.plural+\".\"+spec.group");
    check_refused(&f,
                  CRD("foos", "example.org", "Foo", "",
                      "{'name':'v1','served':true,'storage':"
                      "true}"),
                  "spec.versions[0].schema.openAPIV3Schema: Required value");
    check_refused(
        &f, CRD("foos", "example.org", "Foo", "", VERSION("v1", "false", "{'type':'object'}", "")),
        "must have exactly one version marked as storage version");
    check_refused(&f,
                  CRD("foos", "example", "Foo", "", VERSION("v1", "true", "{'type':'object'}", "")),
                  "spec.group: Invalid value: \"example\": should be a domain with at least one "
                  "dot");
    check_refused(
        &f, CRD("foos", "x.k8s.io", "Foo", "", VERSION("v1", "true", "{'type':'object'}", "")),
        "metadata.annotations[api-approved.kubernetes.io]: Required value");
    check_refused(&f,
                  CRD("foos", "example.org", "Foo", ",'listKind':'Foo'",
                      VERSION("v1", "true", "{'type':'object'}", "")),
                  "kind and listKind may not be the same");
    check_refused(&f,
                  CRD("foos", "example.org", "Foo", "",
                      VERSION("v1", "true", "{'type':'object'}",
                              ",'additionalPrinterColumns':[{'name':'A','type':'string',"
                              "'jsonPath':'spec.a'}]")),
                  "spec.versions[0].additionalPrinterColumns[0].jsonPath: Invalid value: "
                  "\"spec.a\": must be a simple json path starting with .");
    fixture_done(&f);
}

TEST(schemas_that_are_not_structural)
{
#define ROOT "spec.validation.openAPIV3Schema."
    static const struct {
        const char *schema, *why;
    } cases[] = {
        {"{'properties':{}}", ROOT "type: Required value: must not be empty at the root"},
        {"{'type':'string'}", ROOT "type: Invalid value: \"string\": must be object at the root"},
        {"{'type':'object','properties':{'spec':{'properties':{}}}}",
         ROOT "properties[spec].type: Required value: must not be empty for specified object "
              "fields"},
        {"{'type':'object','properties':{'a':{'type':'array'}}}",
         ROOT "properties[a].items: Required value: must be specified"},
        {"{'type':'object','properties':{'a':{'type':'array','items':{}}}}",
         ROOT "properties[a].items.type: Required value: must not be empty for specified array "
              "items"},
        {"{'type':'object','properties':{'a':{'type':'array','uniqueItems':true,'items':{'type':"
         "'string'}}}}",
         ROOT "properties[a].uniqueItems: Forbidden: uniqueItems cannot be set to true since the "
              "runtime complexity becomes quadratic"},
        {"{'type':'object','properties':{'a':{'type':'object','additionalProperties':false}}}",
         ROOT "properties[a].additionalProperties: Forbidden: additionalProperties cannot be set "
              "to false"},
        {"{'type':'object','properties':{'a':{'type':'object','properties':{'b':{'type':'string'}},"
         "'additionalProperties':{'type':'string'}}}}",
         ROOT "properties[a].additionalProperties: Forbidden: additionalProperties and properties "
              "are mutual exclusive"},
        {"{'type':'object','properties':{'a':{'$ref':'#/x','type':'object'}}}",
         ROOT "properties[a].$ref: Forbidden: $ref is not supported"},
        {"{'type':'object','properties':{'a':{'type':'string','allOf':[{'type':'string'}]}}}",
         ROOT "properties[a].allOf[0].type: Forbidden: must be empty to be structural"},
        {"{'type':'object','properties':{'a':{'type':'array','x-kubernetes-list-type':'map',"
         "'items':{'type':'object','properties':{'n':{'type':'string'}}}}}}",
         ROOT "properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if "
              "x-kubernetes-list-type is map"},
        {"{'type':'object','properties':{'a':{'type':'array','x-kubernetes-list-type':'map',"
         "'x-kubernetes-list-map-keys':['n'],'items':{'type':'object','properties':{'n':{'type':"
         "'string'}}}}}}",
         ROOT "properties[a].items.properties[n].default: Required value: this property is in "
              "x-kubernetes-list-map-keys, so it must have a default or be a required property"},
        {"{'type':'object','properties':{'a':{'type':'string','pattern':'['}}}", ROOT
         "properties[a].pattern: Invalid value: \"[\": must be a valid regular expression, but "
         "isn't: error parsing regexp: missing closing ]: `[` at byte 0"},
        {"{'type':'object','properties':{'a':{'type':'string','pattern':'^(?!kube-)[a-z]+$'}}}",
         ROOT
         "properties[a].pattern: Invalid value: \"^(?!kube-)[a-z]+$\": must be a valid regular "
         "expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: "
         "`(?!` at byte 1"},
        {"{'type':'object','properties':{'a':{'type':'string','anyOf':[{'pattern':'(?=a)'}]}}}",
         ROOT "properties[a].anyOf[0].pattern: Invalid value: \"(?=a)\": must be a valid regular "
              "expression"},
        {"{'type':'object','properties':{'a':{'type':'string','not':{'allOf':[{'pattern':'a++'}]}}}"
         "}",
         ROOT "properties[a].not.allOf[0].pattern: Invalid value: \"a++\": must be a valid regular "
              "expression"},
        {"{'type':'object','properties':{'a':{'type':'object','oneOf':[{'properties':{'b':{"
         "'pattern':'['}}}],'properties':{'b':{'type':'string'}}}}}",
         ROOT "properties[a].oneOf[0].properties[b].pattern: Invalid value: \"[\": must be a valid "
              "regular expression"},
        {"{'type':'object','properties':{'a':{'type':'string','allOf':[{'anyOf':[{'title':'x'}]}]}}"
         "}",
         ROOT "properties[a].allOf[0].anyOf[0].title: Forbidden: must be empty to be structural"},
        {"{'type':'object','properties':{'a':{'type':'integer','default':'x'}}}",
         ROOT "properties[a].default: Invalid value: \"string\""},
        {"{'type':'object','properties':{'a':{'type':'object','default':{'b':1}}}}",
         ROOT "properties[a].default: Invalid value: {\"b\":1}: must not have unknown fields"},
        {"{'type':'object','properties':{'a':{'type':'text'}}}",
         ROOT "properties[a].type: Unsupported value: \"text\""},
        {"{'type':'object','properties':{'metadata':{'type':'object','properties':{'labels':{"
         "'type':'object'}}}}}",
         ROOT "properties[metadata]: Forbidden: must not specify anything other than name and "
              "generateName, but metadata is implicitly specified"},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_refused(
            &f,
            text_of(&f, CRD("foos", "example.org", "Foo", "", VERSION("v1", "true", "%s", "")),
                    cases[i].schema)
                .p,
            cases[i].why);
    fixture_done(&f);
}

/* ---- going ---- */

TEST(objects_go_before_their_definition)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    const struct kind *k = gang_kind();
    CHECK_INT(create(&f, k, "ns", GANG("a", CLIQUES)), 201);
    CHECK_INT(create(&f, k, "default",
                     "{'metadata':{'name':'b','finalizers':['example.org/f']},'spec':{" CLIQUES
                     "}}"),
              201);
    CHECK_INT(delete (&f, &kind_crd, "", "gangs.example.org"), 200);
    fixture_run(&f, 1000 * 1000);
    CHECK_INT(get(&f, k, "ns", "a"), 404);
    CHECK_INT(get(&f, k, "default", "b"), 200);
    CHECK_INT(get(&f, &kind_crd, "", "gangs.example.org"), 200);
    CHECK_CSTR(condition(&f, "Terminating", "status"), "True");
    CHECK_INT(create(&f, k, "ns", GANG("c", CLIQUES)), 405);
    CHECK_INT(patch(&f, k, "default", "b", API_PATCH_MERGE, "{'metadata':{'finalizers':null}}"),
              200);
    fixture_run(&f, 1000 * 1000);
    CHECK_INT(get(&f, &kind_crd, "", "gangs.example.org"), 404);
    CHECK(!gang_kind());
    /* The same kind in the same place when it comes back, and nothing left of before. */
    define(&f, GANGS);
    CHECK(gang_kind() == k);
    CHECK_INT(list(&f, k, "", (struct api_request){0}), 200);
    CHECK_INT(f.n_items, 0);
    CHECK_INT(create(&f, k, "ns", GANG("a", CLIQUES)), 201);
    fixture_done(&f);
}

struct follower {
    struct api_watch w;
    size_t events;
    bool ended;
    int code;
};

static void on_follow(struct api_watch *w, enum api_event_type type, struct obj *o, uint64_t rv,
                      bool initial_end)
{
    struct follower *x = w->ctx;
    x->events++;
}

static void on_unfollow(struct api_watch *w, const struct status *why)
{
    struct follower *x = w->ctx;
    x->ended = true;
    x->code = why ? why->code : 0;
}

TEST(watches_end_with_their_kind)
{
    struct fixture f;
    struct follower x[3] = {0};
    fixture_init(&f);
    define(&f, GANGS);
    const struct kind *k = gang_kind();
    for (size_t i = 0; i < ARRAY_LEN(x); i++) {
        x[i].w = (struct api_watch){.kind = i < 2 ? k : &kind_config_map,
                                    .on_event = on_follow,
                                    .on_end = on_unfollow,
                                    .ctx = &x[i]};
        apiserver_watch(f.server, &f.user, &x[i].w);
    }
    CHECK_INT(create(&f, k, "ns", GANG("a", CLIQUES)), 201);
    CHECK_INT(delete (&f, &kind_crd, "", "gangs.example.org"), 200);
    fixture_run(&f, 1000 * 1000);
    for (size_t i = 0; i < 2; i++) {
        CHECK_INT(x[i].events, 2); /* it came and it went */
        CHECK(x[i].ended);
        CHECK_INT(x[i].code, 0);
    }
    CHECK(!x[2].ended);
    apiserver_watch_stop(f.server, &x[2].w);
    fixture_done(&f);
}

TEST(finalizers_of_custom_resources_need_no_prefix)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    const struct kind *k = gang_kind();
    CHECK_INT(
        create(&f, k, "ns", "{'metadata':{'name':'a','finalizers':['hold']},'spec':{" CLIQUES "}}"),
        201);
    CHECK_INT(
        create(&f, k, "ns", "{'metadata':{'name':'b','finalizers':['a b']},'spec':{" CLIQUES "}}"),
        422);
    CHECK(str_find(f.message, STR("metadata.finalizers: Invalid value: \"a b\": name part must")) >
          0);
    CHECK_INT(create(&f, &kind_config_map, "ns", "{'metadata':{'name':'a','finalizers':['hold']}}"),
              422);
    CHECK(str_find(f.message, STR("neither a standard finalizer name")) > 0);
    CHECK_INT(patch(&f, k, "ns", "a", API_PATCH_MERGE, "{'metadata':{'finalizers':null}}"), 200);
    fixture_done(&f);
}

TEST(definitions_are_served_after_a_restart)
{
    struct fixture f;
    fixture_init(&f);
    define(&f, GANGS);
    CHECK_INT(create(&f, gang_kind(), "ns", GANG("a", CLIQUES)), 201);
    apiserver_free(f.server);
    CHECK(!gang_kind());
    f.server = apiserver_new(f.loop, f.store);
    CHECK(gang_kind() != NULL);
    CHECK_INT(get(&f, gang_kind(), "ns", "a"), 200);
    fixture_done(&f);
}

/* ---- the program's own kinds ---- */

#define BUILT_IN(plural, group, kind)                                               \
    "customresourcedefinitions.apiextensions.k8s.io \"" plural "." group            \
    "\" already exists: " kind " of " group                                         \
    " is built into this server, which serves it without a definition; leave this " \
    "one out"

TEST(definition_of_a_kind_of_groves_is_refused)
{
    static const struct {
        const char *crd, *message;
    } cases[] = {
        {CRD("podcliquesets", "grove.io", "PodCliqueSet", ",'shortNames':['pcs']",
             VERSION("v1alpha1", "true", "{'type':'object'}", "")),
         BUILT_IN("podcliquesets", "grove.io", "PodCliqueSet")},
        {CRD("podcliquesets", "grove.io", "Other", "",
             VERSION("v9", "true", "{'type':'object'}", "")),
         BUILT_IN("podcliquesets", "grove.io", "PodCliqueSet")},
        {CRD("podgangs", "scheduler.grove.io", "PodGang", "",
             VERSION("v1alpha1", "true", "{'type':'object'}", "")),
         BUILT_IN("podgangs", "scheduler.grove.io", "PodGang")},
    };
    struct fixture f;
    fixture_init(&f);
    const struct kind *k = kind_by_alias(STR("podcliquesets"));
    const struct type *t = k->type;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(create(&f, &kind_crd, "", cases[i].crd), 409);
        CHECK_STR(f.reason, STR("AlreadyExists"));
        CHECK_STR(f.message, str_of(cases[i].message));
    }
    CHECK(kind_by_alias(STR("podcliquesets")) == k && k->type == t);
    fixture_done(&f);
}

TEST(definition_with_a_name_of_groves_is_refused)
{
    static const struct {
        const char *plural, *group, *kind, *more, *why; /* NULL: it is taken */
    } cases[] = {
        {"others", "grove.io", "PodCliqueSet", "",
         "spec.names.kind: Invalid value: "
         "\"PodCliqueSet\": is a name of podcliquesets.grove.io, which is built into this server: "
         "choose another"},
        {"others", "grove.io", "Other", ",'listKind':'PodCliqueList'",
         "spec.names.listKind: Invalid value: \"PodCliqueList\": is a name of podcliques.grove.io"},
        {"others", "grove.io", "Other", ",'shortNames':['o','pcsg']",
         "spec.names.shortNames[1]: Invalid value: \"pcsg\": is a name of "
         "podcliquescalinggroups.grove.io"},
        {"others", "scheduler.grove.io", "Other", ",'shortNames':['pg']",
         "spec.names.shortNames[0]: Invalid value: \"pg\": is a name of "
         "podgangs.scheduler.grove.io"},
        {"pclq", "grove.io", "Other", "",
         "spec.names.plural: Invalid value: \"pclq\": is a name of podcliques.grove.io"},
        {"others", "grove.io", "Other", ",'singular':'podclique'",
         "spec.names.singular: Invalid value: \"podclique\": is a name of podcliques.grove.io"},
        {"others", "grove.io", "Other", ",'shortNames':['pg']", NULL}, /* of another group */
        {"podcliquesets", "example.org", "PodCliqueSet", ",'shortNames':['pcs']", NULL},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        str crd = text_of(&f,
                          "{'metadata':{'name':'%s.%s'},'spec':{'group':'%s','scope':'Namespaced',"
                          "'names':{'plural':'%s','kind':'%s'%s},'versions':[" VERSION(
                              "v1", "true", "{'type':'object'}", "") "]}}",
                          cases[i].plural, cases[i].group, cases[i].group, cases[i].plural,
                          cases[i].kind, cases[i].more);
        if (!CHECK_INT(create(&f, &kind_crd, "", crd.p), cases[i].why ? 422 : 201) ||
            (cases[i].why && !CHECK(str_find(f.message, str_of(cases[i].why)) >= 0)))
            test_note("%s: %.*s", crd.p, STR_ARG(f.message));
    }
    /* a name cannot be taken later either */
    CHECK_INT(patch(&f, &kind_crd, "", "others.grove.io", API_PATCH_MERGE,
                    "{'spec':{'names':{'shortNames':['pcs']}}}"),
              422);
    CHECK_INT(patch(&f, &kind_crd, "", "others.grove.io", API_PATCH_MERGE,
                    "{'metadata':{'labels':{'a':'b'}}}"),
              200);
    fixture_done(&f);
}

static void on_stored(struct store_write *w, const struct err *err)
{
    (void)w;
    CHECK(!err);
}

/* Past all admission. */
static void put_stored(struct fixture *f, const char *crd)
{
    struct edit e;
    edit_init(&e, &f->arena);
    edit_set_str(&e, STR("/metadata/uid"), STR("00000000-0000-4000-8000-000000000001"));
    edit_set_raw(&e, STR("/spec/conversion"), STR("{\"strategy\":\"None\"}"));
    edit_set_str(&e, STR("/metadata/resourceVersion"),
                 text_of(f, "%llu", (unsigned long long)store_next_revision(f->store)));
    struct obj *o =
        obj_hold(&f->arena, obj_new(&kind_crd, edit_apply(&e, fixture_doc(f, crd), NULL), NULL));
    edit_done(&e);
    struct store_write *w = arena_new(&f->arena, struct store_write);
    *w = (struct store_write){.kind = &kind_crd, .name = o->name, .obj = o, .done = on_stored};
    REQUIRE(store_apply(f->store, w, NULL) == 0);
    fixture_run(f, USEC_PER_SEC);
}

static void on_defined(void *ctx, const struct err *err)
{
    CHECK(!err);
    *(bool *)ctx = true;
}

/* Of another version, and not established, say: then both its spec and its status are written when
 * the server starts, in whatever order. */
TEST(definitions_are_brought_up_to_date_beside_other_writes)
{
    struct fixture f;
    bool defined = false;
    fixture_init(&f);
    put_stored(&f, CRD("podcliquesets", "grove.io", "PodCliqueSet",
                       ",'singular':'podcliqueset','listKind':'PodCliqueSetList'",
                       VERSION("v1alpha1", "true", "{'type':'object'}", "")));
    struct api_request label = {.verb = API_PATCH,
                                .kind = &kind_crd,
                                .name = STR("podcliquesets.grove.io"),
                                .patch = API_PATCH_MERGE,
                                .body = fixture_doc(&f, "{'metadata':{'labels':{'a':'b'}}}")};
    send_only(&f, &label);
    apiserver_write_definitions(f.server, on_defined, &defined);
    fixture_run(&f, USEC_PER_SEC);
    CHECK(defined);
    CHECK_INT(get(&f, &kind_crd, "", "podcliquesets.grove.io"), 200);
    struct doc *today = structural_crd(kind_by_alias(STR("podcliquesets")));
    CHECK(jequal(jpath(doc_root(today), "spec.versions"), jpath(doc_root(f.doc), "spec.versions")));
    doc_unref(today);
    fixture_done(&f);
}

/* Then nobody could delete anything. */
TEST(a_full_store_does_not_keep_the_server_from_starting)
{
    struct fixture f;
    struct store_options o = {.memory_limit = 16 << 20};
    bool ready = false, defined = false;
    fixture_init(&f);
    apiserver_free(f.server);
    store_close(f.store);
    f.store = store_open(f.loop, &o, NULL);
    f.server = apiserver_new(f.loop, f.store);
    apiserver_bootstrap(f.server, on_defined, &ready);
    fixture_run(&f, USEC_PER_SEC);
    CHECK(ready);
    CHECK_INT(create(&f, &kind_namespace, "", "{'metadata':{'name':'ns'}}"), 201);
    CHECK_INT(delete (&f, &kind_cluster_role, "", "view"), 200);
    char *big = xcalloc(1, 500001);
    memset(big, 'x', 500000);
    int code = 201, n = 0;
    for (; code == 201 && n < 100; n++)
        code = create(&f, &kind_config_map, "ns",
                      text_of(&f, "{'metadata':{'name':'c%d'},'data':{'a':'%s'}}", n, big).p);
    CHECK_INT(code, 507);
    big[2000] = 0;
    for (; n < 1000 &&
           create(&f, &kind_config_map, "ns",
                  text_of(&f, "{'metadata':{'name':'c%d'},'data':{'a':'%s'}}", n, big).p) == 201;)
        n++;
    ready = false;
    apiserver_bootstrap(f.server, on_defined, &ready);
    fixture_run(&f, USEC_PER_SEC);
    apiserver_write_definitions(f.server, on_defined, &defined);
    fixture_run(&f, USEC_PER_SEC);
    CHECK(ready && defined);
    CHECK_INT(get(&f, &kind_crd, "", "podcliquesets.grove.io"), 404);
    CHECK_INT(delete (&f, &kind_config_map, "ns", "c0"), 200);
    free(big);
    fixture_done(&f);
}

/* Stored by another version: it can be labelled, and becomes that of today at the next start. */
TEST(definitions_of_groves_kinds_are_the_servers)
{
    struct fixture f;
    fixture_init(&f);
    const struct kind *k = kind_by_alias(STR("podcliquesets"));
    put_stored(&f, CRD("podcliquesets", "grove.io", "PodCliqueSet",
                       ",'singular':'podcliqueset','listKind':'PodCliqueSetList'",
                       VERSION("v1alpha1", "true", "{'type':'object'}", "")));
    CHECK_INT(get(&f, &kind_crd, "", "podcliquesets.grove.io"), 200);
    CHECK_INT(patch(&f, &kind_crd, "", "podcliquesets.grove.io", API_PATCH_MERGE,
                    "{'metadata':{'labels':{'a':'b'}}}"),
              200);
    CHECK_INT(patch(&f, &kind_crd, "", "podcliquesets.grove.io", API_PATCH_MERGE,
                    "{'spec':{'names':{'shortNames':['x']}}}"),
              409);
    CHECK_INT(delete (&f, &kind_crd, "", "podcliquesets.grove.io"), 403);
    for (int i = 0; i < 2; i++) { /* the second time there is nothing to write */
        bool defined = false;
        uint64_t before = store_next_revision(f.store);
        apiserver_write_definitions(f.server, on_defined, &defined);
        fixture_run(&f, USEC_PER_SEC);
        CHECK(defined);
        CHECK(i == 0 || store_next_revision(f.store) == before);
    }
    CHECK_INT(get(&f, &kind_crd, "", "podcliquesets.grove.io"), 200);
    struct doc *today = structural_crd(k);
    CHECK(jequal(jpath(doc_root(today), "spec.versions"), jpath(doc_root(f.doc), "spec.versions")));
    CHECK_STR(jstr(jpath(doc_root(f.doc), "metadata.labels.a")), STR("b"));
    doc_unref(today);
    CHECK_INT(get(&f, &kind_crd, "", "podgangs.scheduler.grove.io"), 200);
    CHECK_CSTR(condition(&f, "Established", "status"), "True");
    CHECK(kind_by_alias(STR("podcliquesets")) == k);
    fixture_done(&f);
}

static const char *const grove_kinds[] = {"podcliquesets", "podcliques",
                                          "podgangmaps",   "podcliquescalinggroups",
                                          "podgangs",      "clustertopologybindings"};

/* The definition of a table's kind in another group, so that it is a kind of its own. */
static struct doc *structural_crd_elsewhere(const struct kind *k)
{
    struct doc *crd = structural_crd(k);
    struct strbuf text = STRBUF_INIT(1 << 20);
    str rest = doc_text(crd);
    for (ptrdiff_t at; (at = str_find(rest, STR("grove.io"))) >= 0;) {
        strbuf_printf(&text, "%.*sother.io", STR_ARG(str_sub(rest, 0, (size_t)at)));
        rest = str_sub(rest, (size_t)at + 8, rest.len);
    }
    strbuf_add_str(&text, rest);
    struct doc *other = doc_parse(strbuf_str(&text), NULL, NULL);
    strbuf_done(&text);
    doc_unref(crd);
    return other;
}

TEST(definitions_written_from_tables_are_valid_and_small)
{
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(grove_kinds); i++) {
        const struct kind *k = kind_by_alias(str_of(grove_kinds[i]));
        struct doc *d = structural_crd_elsewhere(k);
        struct api_request r = {.verb = API_CREATE,
                                .kind = &kind_crd,
                                .body = d,
                                .field_validation = API_VALIDATE_STRICT};
        CHECK(doc_text(d).len < 200 * 1000);
        if (!CHECK_INT(send(&f, r), 201))
            test_note("%s: %.*s", grove_kinds[i], STR_ARG(f.message));
        doc_unref(d);
    }
    fixture_done(&f);
}

struct reports {
    struct strbuf text;
};

static void report(void *ctx, const char *what, str path)
{
    struct reports *r = ctx;
    strbuf_printf(&r->text, "%s %.*s; ", what, STR_ARG(path));
}

/* What a table says of an object: unknown fields, defaults, faults (not their words: a quantity is
 * a pattern in a schema). */
static str decisions(struct arena *a, const struct type *t, struct doc *d)
{
    struct reports r = {STRBUF_INIT(1 << 20)};
    struct field_errors e;
    field_errors_init(&e, a);
    schema_unknown(t, doc_root(d), report, &r);
    struct doc *pruned = doc_hold(a, schema_prune(t, d));
    struct doc *full = doc_hold(a, schema_default(t, pruned));
    jcanonical(doc_root(full), false, &r.text);
    schema_validate(t, doc_root(full), STR_NONE, &e);
    for (size_t i = 0; i < e.items.len; i++)
        strbuf_printf(&r.text, "; %.*s %d", STR_ARG(e.items.p[i].field), (int)e.items.p[i].type);
    str out = arena_str(a, strbuf_str(&r.text));
    strbuf_done(&r.text);
    field_errors_done(&e);
    return out;
}

TEST(table_and_schema_decide_alike_on_the_round_trip)
{
    static const char *const samples[] = {
        "{'metadata':{'name':'a'},'spec':{'template':{'cliques':[]}}}",
        "{'metadata':{'name':'a'},'spec':{'replicas':'x','template':{'cliques':[{'name':'a','spec':"
        "{'replicas':1,'podSpec':{'containers':[{'name':'c','imag':'x','resources':{'limits':{"
        "'cpu':'2','memory':'-x'}}}],'tolerations':[{'key':1}]}}}]}}}",
        "{'metadata':{'name':'a'},'spec':{'bogus':1,'template':{'bogus':[{}],'cliques':[{'name':"
        "'a','spec':{'roleName':'r','podSpec':{'volumes':[{'name':'v','emptyDir':{'sizeLimit':1,"
        "'x':2}}],'containers':[{'name':'c','env':[{'name':'A','value':1}]}]}}}]}}}",
        "{'metadata':{'name':'a'},'spec':7}",
    };
    struct fixture f;
    fixture_init(&f);
    const struct kind *k = kind_by_alias(STR("podcliquesets"));
    struct doc *other = structural_crd_elsewhere(k);
    CHECK_INT(send(&f, (struct api_request){.verb = API_CREATE, .kind = &kind_crd, .body = other}),
              201);
    fixture_run(&f, 100 * 1000);
    const struct kind *copy =
        kind_by_plural(STR("other.io"), STR("v1alpha1"), STR("podcliquesets"));
    for (size_t i = 0; CHECK(copy != NULL) && i < ARRAY_LEN(samples); i++) {
        struct doc *d = fixture_doc(&f, samples[i]);
        str want = decisions(&f.arena, k->type, d);
        str got = decisions(&f.arena, copy->type, d);
        if (!CHECK(str_eq(got, want))) {
            test_note("table:  %.*s", STR_ARG(want));
            test_note("schema: %.*s", STR_ARG(got));
        }
    }
    doc_unref(other);
    fixture_done(&f);
}
