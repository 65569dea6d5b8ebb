/* Discovery and OpenAPI over HTTP: content types, caching, redirects. */
#include "apiserver/front_fixture.h"

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
