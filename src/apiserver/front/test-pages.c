/* Discovery and OpenAPI over HTTP: content types, caching, redirects. */
#include "apiserver/front/test-front-fixture.h"

#define V2 "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define V2BETA1 "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

/* A page that the client has already is not sent again. */
static void check_unchanged(struct web *w, const char *path)
{
    char tag[128];
    (void)snprintf(tag, sizeof(tag), "%.*s", STR_ARG(header(w, "etag")));
    CHECK(strlen(tag) > 2 && tag[0] == '"');
    w->header = "if-none-match";
    w->header_value = tag;
    CHECK_INT(ask(w, "GET", path, NULL), 304);
    CHECK_CSTR(header(w, "etag"), tag);
    CHECK_INT(body(w).len, 0);
    w->header_value = "\"another\"";
    CHECK_INT(ask(w, "GET", path, NULL), 200);
    w->header = NULL;
}

TEST(pages_of_aggregated_discovery)
{
    struct web w;
    web_init(&w);
    w.accept = V2 "," V2BETA1 ",application/json";
    CHECK_INT(ask(&w, "GET", "/apis?timeout=32s", NULL), 200);
    CHECK_CSTR(header(&w, "content-type"), V2);
    CHECK_CSTR(header(&w, "cache-control"), "public");
    CHECK_CSTR(header(&w, "vary"), "Accept");
    CHECK_CSTR(member(&w, "kind"), "APIGroupDiscoveryList");
    check_unchanged(&w, "/apis?timeout=32s");
    /* The beta is gone: who asks for nothing else gets the old form. */
    w.accept = V2BETA1 ",application/json";
    CHECK_INT(ask(&w, "GET", "/apis", NULL), 200);
    CHECK_CSTR(header(&w, "content-type"), "application/json");
    CHECK_CSTR(member(&w, "kind"), "APIGroupList");
    w.accept = NULL;
    CHECK_INT(ask(&w, "GET", "/api", NULL), 200);
    CHECK_CSTR(member(&w, "kind"), "APIVersions");
    CHECK_INT(ask(&w, "GET", "/api/v1", NULL), 200);
    CHECK_CSTR(member(&w, "groupVersion"), "v1");
    CHECK_INT(ask(&w, "GET", "/apis/apps/v1", NULL), 200);
    CHECK_CSTR(member(&w, "groupVersion"), "apps/v1");
    web_done(&w);
}

TEST(pages_of_openapi_may_be_kept_when_the_hash_is_right)
{
    struct web w;
    char url[256];
    web_init(&w);
    CHECK_INT(ask(&w, "GET", "/openapi/v3?timeout=32s", NULL), 200);
    CHECK_CSTR(header(&w, "cache-control"), "no-cache, private");
    jval entry = jget(jgetc(doc_root(w.doc), "paths"), STR("apis/apps/v1"));
    (void)snprintf(url, sizeof(url), "%.*s", STR_ARG(jstr(jgetc(entry, "serverRelativeURL"))));
    CHECK(strncmp(url, "/openapi/v3/apis/apps/v1?hash=", 30) == 0);
    check_unchanged(&w, "/openapi/v3");
    CHECK_INT(ask(&w, "GET", url, NULL), 200);
    CHECK_CSTR(header(&w, "cache-control"), "public, immutable");
    CHECK_CSTR(header(&w, "content-type"), "application/json");
    CHECK_CSTR(member(&w, "openapi"), "3.0.0");
    check_unchanged(&w, url);
    /* Without a hash it may change; a wrong one is sent to the right one. */
    CHECK_INT(ask(&w, "GET", "/openapi/v3/apis/apps/v1", NULL), 200);
    CHECK_CSTR(header(&w, "cache-control"), "no-cache, private");
    CHECK_INT(ask(&w, "GET", "/openapi/v3/apis/apps/v1?hash=WRONG", NULL), 301);
    CHECK_CSTR(header(&w, "location"), url);
    CHECK_CSTR(header(&w, "cache-control"), "no-cache, private");
    web_done(&w);
}

TEST(pages_of_openapi_that_do_not_exist)
{
    static const char *const paths[] = {"/openapi/v3/apis/none/v1", "/openapi/v3/apis/apps/v9",
                                        "/openapi/v3/apis//v1", "/openapi/v3/api/v2"};
    struct web w;
    web_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (!CHECK_INT(ask(&w, "GET", paths[i], NULL), 404))
            test_note("%s", paths[i]);
    }
    w.token = NULL;
    CHECK_INT(ask(&w, "GET", "/openapi/v3", NULL), 403);
    web_done(&w);
}

/* ---- what a definition says about its kind ---- */

#define VERSION(name, storage, more)                                                       \
    "{'name':'" name "','served':true,'storage':" storage ",'schema':{'openAPIV3Schema':{" \
    "'type':'object'}}" more "}"
#define THINGS(versions)                                                                    \
    "{'metadata':{'name':'things.example.org'},'spec':{'group':'example.org','scope':"      \
    "'Namespaced','names':{'plural':'things','kind':'Thing','listKind':'Heap'},'versions':" \
    "[" versions "]}}"
#define PATH(version) "/apis/example.org/" version "/namespaces/ns/things"

TEST(defined_lists_have_the_kind_that_was_asked_for)
{
    struct web w;
    web_init(&w);
    CHECK_INT(create(&w.f, &kind_crd, "", THINGS(VERSION("v1", "true", ""))), 201);
    fixture_run(&w.f, 100 * 1000);
    CHECK_INT(ask(&w, "GET", PATH("v1"), NULL), 200);
    CHECK_CSTR(member(&w, "kind"), "Heap");
    web_done(&w);
}

TEST(deprecated_versions_warn_whoever_uses_them)
{
    struct web w;
    web_init(&w);
    CHECK_INT(create(&w.f, &kind_crd, "",
                     THINGS(VERSION("v1", "true", "") "," VERSION(
                         "v1beta1", "false",
                         ",'deprecated':true") "," VERSION("v1alpha1", "false",
                                                           ",'deprecated':true,"
                                                           "'deprecationWarning':'use v1, not "
                                                           "me'"))),
              201);
    fixture_run(&w.f, 100 * 1000);
    CHECK_INT(ask(&w, "POST", PATH("v1"), "{'metadata':{'name':'a'}}"), 201);
    CHECK_INT(n_headers(&w, "warning"), 0);
    CHECK_INT(ask(&w, "GET", PATH("v1beta1") "/a", NULL), 200);
    CHECK_CSTR(header(&w, "warning"), "299 - \"example.org/v1beta1 Thing is deprecated\"");
    CHECK_INT(ask(&w, "GET", PATH("v1beta1"), NULL), 200);
    CHECK_INT(n_headers(&w, "warning"), 1);
    CHECK_INT(ask(&w, "GET", PATH("v1beta1") "/none", NULL), 404);
    CHECK_INT(n_headers(&w, "warning"), 1);
    CHECK_INT(ask(&w, "DELETE", PATH("v1alpha1") "/a", NULL), 200);
    CHECK_CSTR(header(&w, "warning"), "299 - \"use v1, not me\"");
    /* in discovery nobody is warned */
    CHECK_INT(ask(&w, "GET", "/apis/example.org/v1beta1", NULL), 200);
    CHECK_INT(n_headers(&w, "warning"), 0);
    web_done(&w);
}

/* What a subresource is sent is about the object in the URL. */
TEST(front_a_body_that_names_another_object_is_refused)
{
#define OTHER_NS_CREATE \
    "the namespace of the provided object does not match the namespace sent on the request"
#define OTHER_NS_UPDATE \
    "the namespace of the object (other) does not match the namespace on the request (ns)"
#define OTHER_NAME_UPDATE(k) "the name of the object (x) does not match the name on the URL (" k ")"
#define IN_NS(path) "/api/v1/namespaces/ns/" path
#define APPS(path) "/apis/apps/v1/namespaces/ns/" path
#define TARGET "'target':{'kind':'Node','name':'n1'}"
#define NAMED(name) "'metadata':{'name':'" name "'}"
#define PLACED(name) "'metadata':{'name':'" name "','namespace':'other'}"
    static const struct {
        const char *method, *path, *body;
        int code;
        const char *why;
    } cases[] = {
        {"POST", IN_NS("pods/p/eviction"), "{" PLACED("p") "}", 400, OTHER_NS_CREATE},
        {"POST", IN_NS("pods/p/eviction"), "{" NAMED("x") "}", 400,
         "name in URL does not match name in Eviction object"},
        {"POST", IN_NS("pods/absent/eviction"), "{" PLACED("absent") "}", 400, OTHER_NS_CREATE},
        {"POST", IN_NS("pods/p/binding"), "{" PLACED("p") "," TARGET "}", 400, OTHER_NS_CREATE},
        {"POST", IN_NS("bindings"), "{" PLACED("p") "," TARGET "}", 400, OTHER_NS_CREATE},
        {"POST", IN_NS("serviceaccounts/s/token"), "{" PLACED("s") "}", 400, OTHER_NS_CREATE},
        {"POST", IN_NS("serviceaccounts/s/token"), "{" NAMED("x") "}", 422,
         "TokenRequest.authentication.k8s.io \"s\" is invalid: metadata.name: Invalid value: "
         "\"x\": must match the service account name if specified"},
        {"POST", "/apis/authorization.k8s.io/v1/namespaces/ns/localsubjectaccessreviews",
         "{'metadata':{'namespace':'other'},'spec':{'user':'u','resourceAttributes':"
         "{'namespace':'ns','verb':'get','resource':'pods'}}}",
         400, OTHER_NS_CREATE},
        {"PUT", APPS("deployments/d/scale"), "{" PLACED("d") ",'spec':{'replicas':1}}", 400,
         OTHER_NS_UPDATE},
        {"PUT", APPS("deployments/d/scale"), "{" NAMED("x") ",'spec':{'replicas':1}}", 400,
         OTHER_NAME_UPDATE("d")},
        {"PATCH", APPS("deployments/d/scale"), "{" PLACED("d") "}", 400, OTHER_NS_UPDATE},
        {"PATCH", APPS("deployments/d/scale"), "{" NAMED("x") "}", 400, OTHER_NAME_UPDATE("d")},
        {"PUT", IN_NS("pods/p/status"), "{" PLACED("p") "}", 400, OTHER_NS_UPDATE},
        {"PUT", IN_NS("pods/p/status"), "{" NAMED("x") "}", 400, OTHER_NAME_UPDATE("p")},
        {"PATCH", IN_NS("pods/p/status"), "{" PLACED("p") "}", 400, OTHER_NS_UPDATE},
        {"PUT", IN_NS("pods/p/ephemeralcontainers"), "{" PLACED("p") "}", 400, OTHER_NS_UPDATE},
        {"PATCH", IN_NS("pods/p/ephemeralcontainers"), "{" NAMED("x") "}", 400,
         OTHER_NAME_UPDATE("p")},
        {"PUT", IN_NS("pods/p/resize"), "{" PLACED("p") "}", 400, OTHER_NS_UPDATE},
        {"PATCH", IN_NS("pods/p/resize"), "{" PLACED("p") "}", 400, OTHER_NS_UPDATE},
        {"PUT", "/apis/certificates.k8s.io/v1/certificatesigningrequests/c/approval",
         "{" NAMED("x") "}", 400, OTHER_NAME_UPDATE("c")},
        {"PUT", "/api/v1/namespaces/ns/finalize", "{" NAMED("x") ",'spec':{}}", 400,
         OTHER_NAME_UPDATE("ns")},
        {"PUT", "/api/v1/namespaces/ns/finalize", "{}", 400,
         "the name of the object (ns based on URL) was undeterminable: name must be provided"},
    };
    struct web w;
    web_init(&w);
    w.f.user.name = STR("admin");
    CHECK_INT(ask(&w, "POST", IN_NS("pods"), POD("p", "")), 201);
    CHECK_INT(create(&w.f, &kind_service_account, "ns", "{'metadata':{'name':'s'}}"), 201);
    CHECK_INT(ask(&w, "POST", APPS("deployments"),
                  "{'metadata':{'name':'d'},'spec':{'selector':{'matchLabels':{'a':'b'}},"
                  "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':'c',"
                  "'image':'i'}]}}}}"),
              201);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        w.content_type =
            cases[i].method[1] == 'A' ? "application/merge-patch+json" : "application/json";
        ask(&w, cases[i].method, cases[i].path, cases[i].body);
        check_status(&w, cases[i].code, cases[i].code == 422 ? "Invalid" : "BadRequest",
                     cases[i].why);
    }
    CHECK_INT(ask(&w, "GET", IN_NS("pods/p"), NULL), 200);
    CHECK(str_find(strbuf_str(&w.body), STR("nodeName")) < 0);
    CHECK(str_find(strbuf_str(&w.body), STR("deletionTimestamp")) < 0);
    web_done(&w);
}

/* Whoever binds has seen the pod as it was; a version says that it must be so still. */
TEST(front_a_binding_of_a_version_binds_no_other_one)
{
    struct web w;
    char body[256];
    web_init(&w);
    w.f.user.name = STR("admin");
    CHECK_INT(ask(&w, "POST", IN_NS("pods"), POD("p", "")), 201);
    const struct obj *pod = store_newest(w.f.store, &kind_pod, STR("ns"), STR("p"));
    REQUIRE(pod);
    (void)snprintf(body, sizeof(body),
                   "{'metadata':{'name':'p','resourceVersion':'%llu'}," TARGET "}",
                   (unsigned long long)pod->rv);
    w.content_type = "application/merge-patch+json";
    CHECK_INT(ask(&w, "PATCH", IN_NS("pods/p"), "{'metadata':{'labels':{'gang':'other'}}}"), 200);
    w.content_type = "application/json";
    CHECK_INT(ask(&w, "POST", IN_NS("pods/p/binding"), body), 409);
    CHECK(str_find(strbuf_str(&w.body), STR("ResourceVersion in precondition")) > 0);
    pod = store_newest(w.f.store, &kind_pod, STR("ns"), STR("p"));
    CHECK(str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName"))));
    (void)snprintf(body, sizeof(body),
                   "{'metadata':{'name':'p','resourceVersion':'%llu'}," TARGET "}",
                   (unsigned long long)pod->rv);
    CHECK_INT(ask(&w, "POST", IN_NS("pods/p/binding"), body), 201);
    web_done(&w);
}

/* A body that says something else than its reader understands would do more than was asked: a
 * condition that is no string would not be kept. */
TEST(front_a_body_of_another_type_is_refused)
{
#define EVICTION "pods/p/eviction"
#define EVICTED "Eviction in version \"v1\" cannot be handled as a Eviction: "
#define NO_STRING "json: cannot unmarshal number into Go struct field "
    static const struct {
        const char *method, *path, *body, *why;
    } cases[] = {
        {"POST", IN_NS(EVICTION), "'x'",
         "the object provided is unrecognized (must be of type Eviction): couldn't get "
         "version/kind; json parse error: json: cannot unmarshal string into Go value of type "
         "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
         "\"json:\\\"kind,omitempty\\\"\" } (227822)"},
        {"POST", IN_NS(EVICTION), "{'apiVersion':'v1','kind':'Pod'," NAMED("p") "}",
         "Pod in version \"v1\" cannot be handled as a Eviction: converting (v1.Pod) to "
         "(policy.Eviction): "
         "unknown conversion"},
        {"POST", IN_NS(EVICTION), "{'metadata':[]}",
         EVICTED "json: cannot unmarshal array into Go struct field Eviction.metadata of type "
                 "v1.ObjectMeta"},
        {"POST", IN_NS(EVICTION), "{'metadata':{'namespace':5}}",
         EVICTED NO_STRING "ObjectMeta.metadata.namespace of type string"},
        {"POST", IN_NS(EVICTION), "{'deleteOptions':{'gracePeriodSeconds':'0'}}",
         EVICTED "json: cannot unmarshal string into Go struct field DeleteOptions.deleteOptions."
                 "gracePeriodSeconds of type int64"},
        {"POST", IN_NS(EVICTION), "{'deleteOptions':{'preconditions':{'uid':5}}}",
         EVICTED NO_STRING "Preconditions.deleteOptions.preconditions.uid of type string"},
        {"POST", IN_NS(EVICTION), "{'deleteOptions':{'preconditions':{'resourceVersion':'x'}}}",
         "deleteOptions.preconditions.resourceVersion must be a number"},
        {"POST", IN_NS("pods/p/binding"), "{'metadata':{'name':['p']}," TARGET "}",
         "Binding in version \"v1\" cannot be handled as a Binding: json: cannot unmarshal array "
         "into Go struct field ObjectMeta.metadata.name of type string"},
        {"POST", IN_NS("pods/p/binding"), "{'apiVersion':'v1','kind':'Pod'," TARGET "}",
         "Pod in version \"v1\" cannot be handled as a Binding: converting (v1.Pod) to "
         "(core.Binding): "
         "unknown conversion"},
        {"DELETE", IN_NS("pods/p"), "{'preconditions':{'uid':5}}",
         "DeleteOptions in version \"v1\" cannot be handled as a DeleteOptions: " NO_STRING
         "Preconditions.preconditions.uid of type string"},
    };
    struct web w;
    web_init(&w);
    w.f.user.name = STR("admin");
    w.content_type = "application/json";
    CHECK_INT(ask(&w, "POST", IN_NS("pods"), POD("p", "")), 201);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        ask(&w, cases[i].method, cases[i].path, cases[i].body);
        check_status(&w, 400, "BadRequest", cases[i].why);
    }
    CHECK_INT(ask(&w, "GET", IN_NS("pods/p"), NULL), 200);
    CHECK(str_find(strbuf_str(&w.body), STR("nodeName")) < 0);
    CHECK(str_find(strbuf_str(&w.body), STR("deletionTimestamp")) < 0);
    /* what old clients send */
    CHECK_INT(ask(&w, "POST", IN_NS(EVICTION),
                  "{'apiVersion':'policy/v1beta1','kind':'Eviction'," NAMED("p") "}"),
              201);
    web_done(&w);
}

TEST(front_a_binding_by_itself_binds_the_pod_it_names)
{
    struct web w;
    web_init(&w);
    w.f.user.name = STR("admin");
    CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/ns/pods", POD("p", "")), 201);
    CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/ns/bindings",
                  "{'apiVersion':'v1','kind':'Binding','metadata':{'name':'p'},'target':{'kind':"
                  "'Node','name':'n1'}}"),
              201);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/ns/pods/p", NULL), 200);
    CHECK(str_find(strbuf_str(&w.body), STR("\"nodeName\":\"n1\"")) > 0);
    CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/ns/bindings",
                  "{'apiVersion':'v1','kind':'Binding','metadata':{'name':'q'},'target':{'kind':"
                  "'Node','name':'n1'}}"),
              404);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/ns/bindings", NULL), 405);
    CHECK_INT(ask(&w, "GET", "/api/v1/componentstatuses", NULL), 200);
    CHECK_INT(ask(&w, "POST", "/api/v1/componentstatuses", "{}"), 405);
    web_done(&w);
}
