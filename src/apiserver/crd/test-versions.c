/*
 * Kinds that users define in several versions: one set of objects, shown in each of them
 * (conversion None: nothing but apiVersion differs), and selected by the fields of that version.
 */
#include "apiserver/test-apiserver-fixture.h"

#define SCHEMA(properties)                                                                \
    "'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':'object'," \
    "'properties':{" properties "}}}}}"
#define CRD(versions)                                                                             \
    "{'metadata':{'name':'bars.example.org'},'spec':{'group':'example.org','scope':'Namespaced'," \
    "'names':{'plural':'bars','kind':'Bar'},'versions':[" versions "]}}"
#define BAR(v, spec) \
    "{'apiVersion':'example.org/" v "','kind':'Bar','metadata':{'name':'a'},'spec':{" spec "}}"
#define FIELDS "'color':{'type':'string'},'size':{'type':'integer'},'on':{'type':'boolean'}"

static const char two[] =
    CRD("{'name':'v1','served':true,'storage':true,'selectableFields':[{'jsonPath':'.spec.color'},"
        "{'jsonPath':'.spec.size'},{'jsonPath':'.spec.on'}]," SCHEMA(
            FIELDS) "},"
                    "{'name':'v1beta1','served':true,'storage':false," SCHEMA(
                        FIELDS ",'extra':{'type':'string','default':'d'}") "}");

static const struct kind *bar(const char *version)
{
    return kind_by_plural(STR("example.org"), str_of(version), STR("bars"));
}

struct seen {
    struct api_watch w;
    struct strbuf text; /* "ADDED example.org/v1 a; " */
};

static void on_event(struct api_watch *w, enum api_event_type type, struct obj *o, uint64_t rv,
                     bool initial_end)
{
    static const char letters[] = {
        [API_ADDED] = 'A', [API_MODIFIED] = 'M', [API_DELETED] = 'D', [API_BOOKMARK] = 'B'};
    struct seen *s = w->ctx;
    (void)rv;
    (void)initial_end;
    strbuf_printf(&s->text, "%c %.*s %.*s; ", letters[type],
                  STR_ARG(jstr(jgetc(obj_root(o), "apiVersion"))), STR_ARG(o->name));
}

static void on_end(struct api_watch *w, const struct status *why)
{
    struct seen *s = w->ctx;
    (void)why;
    strbuf_add_cstr(&s->text, "end");
}

static void watch(struct fixture *f, struct seen *s, const struct kind *k, const char *selector)
{
    *s = (struct seen){.text = STRBUF_INIT(10000)};
    s->w = (struct api_watch){.kind = k,
                              .ns = STR("ns"),
                              .field_selector = str_of(selector),
                              .on_event = on_event,
                              .on_end = on_end,
                              .ctx = s};
    apiserver_watch(f->server, &f->user, &s->w);
    fixture_run(f, USEC_PER_SEC / 10);
}

static void begin(struct fixture *f)
{
    fixture_init(f);
    CHECK_INT(create(f, &kind_crd, "", two), 201);
    fixture_run(f, USEC_PER_SEC / 10);
    REQUIRE(bar("v1") && bar("v1beta1"));
}

TEST(an_object_is_shown_in_the_version_asked_for)
{
    struct fixture f;
    begin(&f);
    CHECK_INT(create(&f, bar("v1beta1"), "ns", BAR("v1beta1", "'color':'red'")), 201);
    CHECK_CSTR(field(&f, "apiVersion"), "example.org/v1beta1");
    str uid = arena_str(&f.arena, field(&f, "metadata.uid"));
    CHECK_INT(get(&f, bar("v1"), "ns", "a"), 200);
    CHECK_CSTR(field(&f, "apiVersion"), "example.org/v1");
    CHECK_CSTR(field(&f, "spec.color"), "red");
    CHECK_STR(field(&f, "metadata.uid"), uid);
    CHECK_INT(list(&f, bar("v1"), "ns", (struct api_request){0}), 200);
    CHECK_INT(f.n_items, 1);
    CHECK_CSTR(jstr(jgetc(obj_root(f.items[0]), "apiVersion")), "example.org/v1");
    CHECK_INT(create(&f, bar("v1"), "ns", BAR("v1", "")), 409);
    CHECK_INT(create(&f, bar("v1"), "ns", BAR("v1beta1", "")), 400);
    CHECK_INT(patch(&f, bar("v1"), "ns", "a", API_PATCH_MERGE, "{'spec':{'size':3}}"), 200);
    CHECK_CSTR(field(&f, "metadata.generation"), "2");
    CHECK_INT(get(&f, bar("v1beta1"), "ns", "a"), 200);
    CHECK_CSTR(field(&f, "spec.size"), "3");
    CHECK_INT(delete (&f, bar("v1beta1"), "ns", "a"), 200);
    CHECK_INT(get(&f, bar("v1"), "ns", "a"), 404);
    fixture_done(&f);
}

TEST(each_watch_tells_of_its_own_version)
{
    struct fixture f;
    struct seen old, new;
    begin(&f);
    watch(&f, &old, bar("v1beta1"), "");
    watch(&f, &new, bar("v1"), "");
    CHECK_INT(create(&f, bar("v1"), "ns", BAR("v1", "'color':'red'")), 201);
    CHECK_INT(patch(&f, bar("v1beta1"), "ns", "a", API_PATCH_MERGE, "{'spec':{'size':1}}"), 200);
    CHECK_INT(delete (&f, bar("v1"), "ns", "a"), 200);
    CHECK_CSTR(strbuf_str(&old.text), "A example.org/v1beta1 a; M example.org/v1beta1 a; D "
                                      "example.org/v1beta1 a; ");
    CHECK_CSTR(strbuf_str(&new.text),
               "A example.org/v1 a; M example.org/v1 a; D example.org/v1 a; ");
    apiserver_watch_stop(f.server, &old.w);
    apiserver_watch_stop(f.server, &new.w);
    strbuf_done(&old.text);
    strbuf_done(&new.text);
    fixture_done(&f);
}

TEST(versions_that_were_stored_are_told)
{
    struct fixture f;
    begin(&f);
    CHECK_INT(get(&f, &kind_crd, "", "bars.example.org"), 200);
    CHECK_CSTR(field(&f, "status.storedVersions"), "[\"v1\"]");
    CHECK_INT(patch(&f, &kind_crd, "", "bars.example.org", API_PATCH_JSON,
                    "[{'op':'replace','path':'/spec/versions/0/storage','value':false},"
                    "{'op':'replace','path':'/spec/versions/1/storage','value':true}]"),
              200);
    fixture_run(&f, USEC_PER_SEC / 10);
    CHECK_INT(get(&f, &kind_crd, "", "bars.example.org"), 200);
    CHECK_CSTR(field(&f, "status.storedVersions"), "[\"v1\",\"v1beta1\"]");
    fixture_done(&f);
}

/* ---- selectable fields ---- */

static int select_by(struct fixture *f, const char *version, const char *selector)
{
    return list(f, bar(version), "ns", (struct api_request){.field_selector = str_of(selector)});
}

TEST(fields_of_every_type_select)
{
    static const struct {
        const char *selector, *names;
    } cases[] = {
        {"spec.color=red", "a b"},
        {"spec.color==red,spec.size=2", "b"},
        {"spec.color!=red", "c"},
        {"spec.color!=red,spec.size!=3", ""},
        {"spec.on=true", "a"},
        {"spec.on!=true", "b c"},
        {"spec.color=red,metadata.name=a", "a"},
        {"spec.size=9", ""},
    };
    struct fixture f;
    begin(&f);
    CHECK_INT(create(&f, bar("v1"), "ns",
                     "{'metadata':{'name':'a'},'spec':{'color':'red','size':1,'on':true}}"),
              201);
    CHECK_INT(create(&f, bar("v1"), "ns",
                     "{'metadata':{'name':'b'},'spec':{'color':'red','size':2,'on':false}}"),
              201);
    CHECK_INT(create(&f, bar("v1"), "ns",
                     "{'metadata':{'name':'c'},'spec':{'color':'blue','size':3,'on':false}}"),
              201);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(select_by(&f, "v1", cases[i].selector), 200);
        if (!CHECK_CSTR(names(&f), cases[i].names))
            test_note("%s", cases[i].selector);
    }
    CHECK_INT(select_by(&f, "v1", "spec.bogus=1"), 400);
    CHECK_CSTR(f.message, "field label not supported: spec.bogus");
    /* The other version has none. */
    CHECK_INT(select_by(&f, "v1beta1", "spec.color=red"), 400);
    fixture_done(&f);
}

TEST(an_object_leaves_a_watch_that_selects_it_no_more)
{
    struct fixture f;
    struct seen s;
    begin(&f);
    watch(&f, &s, bar("v1"), "spec.color=red");
    CHECK_INT(create(&f, bar("v1"), "ns", BAR("v1", "'color':'blue'")), 201);
    CHECK_INT(patch(&f, bar("v1"), "ns", "a", API_PATCH_MERGE, "{'spec':{'color':'red'}}"), 200);
    CHECK_INT(patch(&f, bar("v1beta1"), "ns", "a", API_PATCH_MERGE, "{'spec':{'size':4}}"), 200);
    CHECK_INT(patch(&f, bar("v1"), "ns", "a", API_PATCH_MERGE, "{'spec':{'color':'green'}}"), 200);
    CHECK_CSTR(strbuf_str(&s.text), "A example.org/v1 a; M example.org/v1 a; D example.org/v1 a; ");
    apiserver_watch_stop(f.server, &s.w);
    strbuf_done(&s.text);
    fixture_done(&f);
}

TEST(selectable_fields_that_are_refused)
{
#define SELECTS(fields)                                                         \
    CRD("{'name':'v1','served':true,'storage':true,'selectableFields':[" fields \
        "]," SCHEMA(FIELDS ",'list':{'type':'array','items':{'type':'string'}}") "}")
#define AT "spec.versions[0].selectableFields[0].jsonPath: Invalid value: "
    static const struct {
        const char *crd, *message;
    } cases[] = {
        {SELECTS("{'jsonPath':'.spec.nothing'}"),
         AT "\".spec.nothing\": is an invalid path: does not refer to a valid field"},
        {SELECTS("{'jsonPath':'.metadata.name'}"),
         AT "\".metadata.name\": must not point to fields in metadata"},
        {SELECTS("{'jsonPath':'.spec.list'}"),
         AT "\".spec.list\": must point to a field of type string, boolean or integer. Enum string "
            "fields and strings with formats are allowed."},
        {SELECTS("{'jsonPath':'spec.color'}"),
         AT "\"spec.color\": is an invalid path: must be a simple json path"},
        {SELECTS("{'jsonPath':'.spec.color'},{'jsonPath':'.spec.color'}"),
         "spec.versions[0].selectableFields[1].jsonPath: Duplicate value: \".spec.color\""},
    };
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK_INT(create(&f, &kind_crd, "", cases[i].crd), 422);
        if (!CHECK(str_find(f.message, str_of(cases[i].message)) > 0))
            test_note("%.*s", STR_ARG(f.message));
    }
    fixture_done(&f);
}
