/* The front end over HTTP: what a client sees, byte for byte where clients look. */
#include <zlib.h>

#include "apiserver/front/test-front-fixture.h"
#include "base/log.h"

#define MAPS "/api/v1/namespaces/ns/configmaps"
#define AS(what) "application/json;as=" what ";v=v1;g=meta.k8s.io"
#define TABLE AS("Table") ",application/json"

static void make_map(struct web *w, const char *name, const char *labels)
{
    char json[512];
    (void)snprintf(json, sizeof(json),
                   "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'%s','labels':{%s}},"
                   "'data':{'a':'1'}}",
                   name, labels);
    CHECK_INT(ask(w, "POST", MAPS, json), 201);
}

static void set_label(struct web *w, const char *name, const char *json)
{
    char path[256];
    (void)snprintf(path, sizeof(path), MAPS "/%s", name);
    w->content_type = "application/merge-patch+json";
    CHECK_INT(ask(w, "PATCH", path, json), 200);
    w->content_type = NULL;
}

/* ---- envelope ---- */

TEST(front_every_answer_has_its_headers)
{
    struct web w;
    web_init(&w);
    make_map(&w, "a", "");
    CHECK_INT(ask(&w, "GET", MAPS "/a", NULL), 200);
    CHECK_CSTR(header(&w, "content-type"), "application/json");
    CHECK_CSTR(header(&w, "cache-control"), "no-cache, private");
    CHECK(uuid_is_valid(header(&w, "audit-id")));
    char first[64];
    (void)snprintf(first, sizeof(first), "%.*s", STR_ARG(header(&w, "audit-id")));
    CHECK_INT(ask(&w, "GET", MAPS "/a?pretty=true&nonsense=1", NULL), 200);
    CHECK(!str_is(header(&w, "audit-id"), first));
    CHECK(header(&w, "date").len > 0);
    CHECK_CSTR(member(&w, "metadata.name"), "a");
    web_done(&w);
}

TEST(front_unknown_paths_are_plain_text_unknown_resources_are_not)
{
    static const char *const plain[] = {"/nope",   "/apis/nope",    "/apis/nope/v1/x",
                                        "/api/v2", "/apis/apps/v9", "/healthz/nope"};
    struct web w;
    web_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        CHECK_INT(ask(&w, "GET", plain[i], NULL), 404);
        CHECK_CSTR(body(&w), "404 page not found\n");
        CHECK_CSTR(header(&w, "content-type"), "text/plain; charset=utf-8");
    }
    ask(&w, "GET", "/api/v1/namespaces/ns/foobars", NULL);
    check_status(&w, 404, "NotFound", "the server could not find the requested resource");
    CHECK_CSTR(member(&w, "details"), "{}");
    ask(&w, "GET", "/api/v1/namespaces/ns/pods/missing", NULL);
    check_status(&w, 404, "NotFound", "pods \"missing\" not found");
    CHECK_CSTR(member(&w, "details.kind"), "pods");
    web_done(&w);
}

TEST(front_methods_that_are_not_allowed)
{
    static const struct {
        const char *method, *path;
    } cases[] = {
        {"POST", "/api/v1/namespaces/ns/pods/x"},
        {"PUT", "/api/v1/namespaces/ns/pods"},
        {"OPTIONS", MAPS},
        {"POST", "/version"},
        {"GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"},
    };
    struct web w;
    web_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        ask(&w, cases[i].method, cases[i].path, NULL);
        check_status(&w, 405, "MethodNotAllowed",
                     "the server does not allow this method on the requested resource");
        CHECK_CSTR(member(&w, "details"), "{}");
    }
    CHECK_INT(ask(&w, "HEAD", MAPS, NULL), 405);
    CHECK_INT(w.body.len, 0);
    CHECK_INT(ask(&w, "HEAD", "/healthz", NULL), 200);
    CHECK_INT(w.body.len, 0);
    web_done(&w);
}

TEST(front_wrong_credentials_and_none)
{
    struct web w;
    web_init(&w);
    w.token = "wrong";
    ask(&w, "GET", MAPS, NULL);
    check_status(&w, 401, "Unauthorized", "Unauthorized");
    CHECK_CSTR(body(&w), "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                         "\"Failure\",\"message\":\"Unauthorized\",\"reason\":\"Unauthorized\","
                         "\"code\":401}");
    ask(&w, "GET", "/healthz", NULL);
    CHECK_INT(w.code, 401);
    w.token = NULL;
    ask(&w, "GET", "/api/v1/namespaces/probe/pods", NULL);
    check_status(
        &w, 403, "Forbidden",
        "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API "
        "group \"\" in the namespace \"probe\"");
    CHECK_CSTR(member(&w, "details"), "{\"kind\":\"pods\"}");
    ask(&w, "GET", "/api/v1/nodes/n", NULL);
    check_status(
        &w, 403, "Forbidden",
        "nodes \"n\" is forbidden: User \"system:anonymous\" cannot get resource \"nodes\" "
        "in API group \"\" at the cluster scope");
    ask(&w, "GET", "/apis/apps/v1/deployments?watch=1", NULL);
    check_status(&w, 403, "Forbidden",
                 "deployments.apps is forbidden: User \"system:anonymous\" cannot watch resource "
                 "\"deployments\" in API group \"apps\" at the cluster scope");
    ask(&w, "PUT", "/api/v1/namespaces/a/pods/p/status", "{}");
    check_status(&w, 403, "Forbidden",
                 "pods \"p\" is forbidden: User \"system:anonymous\" cannot update resource "
                 "\"pods/status\" in API group \"\" in the namespace \"a\"");
    ask(&w, "GET", "/api", NULL);
    check_status(&w, 403, "Forbidden",
                 "forbidden: User \"system:anonymous\" cannot get path \"/api\"");
    CHECK_CSTR(member(&w, "details"), "{}");
    ask(&w, "POST", "/nope", "{}");
    check_status(&w, 403, "Forbidden",
                 "forbidden: User \"system:anonymous\" cannot post path \"/nope\"");
    static const char *const open[] = {"/healthz", "/livez", "/readyz", "/version", "/version/"};
    for (size_t i = 0; i < ARRAY_LEN(open); i++)
        CHECK_INT(ask(&w, "GET", open[i], NULL), 200);
    CHECK_INT(ask(&w, "GET", "/metrics", NULL), 403);
    web_done(&w);
}

TEST(front_a_body_may_have_three_megabytes)
{
    struct web w;
    web_init(&w);
    struct strbuf big = STRBUF_INIT(8 << 20);
    size_t n = FRONT_BODY_MAX + 1;
    memset(strbuf_reserve(&big, n), ' ', n);
    strbuf_commit(&big, n);
    ask_bytes(&w, "POST", MAPS, strbuf_str(&big));
    check_status(&w, 413, "RequestEntityTooLarge", "Request entity too large: limit is 3145728");
    ask_bytes(&w, "POST", MAPS, str_sub(strbuf_str(&big), 0, FRONT_BODY_MAX));
    CHECK_INT(w.code, 400); /* only spaces, but read */
    CHECK_INT(ask(&w, "GET", "/healthz", NULL), 200);
    strbuf_done(&big);
    web_done(&w);
}

TEST(front_refuses_content_types_it_cannot_read)
{
    struct web w;
    web_init(&w);
    w.content_type = "text/plain";
    ask(&w, "POST", MAPS, CONFIG_MAP("x", ""));
    check_status(&w, 415, "UnsupportedMediaType",
                 "the body of the request was in an unknown format - accepted media types include: "
                 "application/json, application/yaml, application/vnd.kubernetes.protobuf");
    w.content_type = NULL;
    w.accept = "text/html";
    ask(&w, "GET", MAPS, NULL);
    check_status(&w, 406, "NotAcceptable",
                 "406: Not Acceptable\n\nAvailable representations: application/json, "
                 "application/yaml, application/vnd.kubernetes.protobuf");
    CHECK_CSTR(member(&w, "details"), "{}");
    /* what is not stored has no columns */
    w.accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    CHECK_INT(ask(&w, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                  "{'apiVersion':'authorization.k8s.io/v1','kind':'SelfSubjectAccessReview',"
                  "'spec':{'nonResourceAttributes':{'path':'/','verb':'get'}}}"),
              406);
    web_done(&w);
}

TEST(front_objects_in_yaml)
{
    struct web w;
    web_init(&w);
    w.content_type = "application/yaml";
    CHECK_INT(ask(&w, "POST", MAPS,
                  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yy\ndata:\n"
                  "  a: \"1\"\n"),
              201);
    w.content_type = NULL;
    w.accept = "application/yaml";
    CHECK_INT(ask(&w, "GET", MAPS "/yy", NULL), 200);
    CHECK_CSTR(header(&w, "content-type"), "application/yaml");
    CHECK(str_starts(body(&w), STR("apiVersion: v1\ndata:\n  a: \"1\"\nkind: ConfigMap\n"
                                   "metadata:\n  creationTimestamp: \"")));
    CHECK_INT(ask(&w, "GET", MAPS, NULL), 200);
    CHECK(str_find(body(&w), STR("kind: ConfigMapList\n")) >= 0);
    CHECK(str_find(body(&w), STR("items:\n- apiVersion: v1\n  data:\n    a: \"1\"\n")) >= 0);
    CHECK_INT(ask(&w, "GET", MAPS "?labelSelector=no", NULL), 200);
    CHECK(str_ends(body(&w), STR("items: []\n")));
    w.accept = AS("PartialObjectMetadata") ",application/yaml";
    CHECK_INT(ask(&w, "GET", MAPS "/nope", NULL), 404);
    CHECK_CSTR(header(&w, "content-type"), "application/json");
    web_done(&w);
}

TEST(front_protobuf_in_json_out)
{
    static const char namespace[] = "k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x0a\x0a\x08\x0a"
                                    "\x06team-a\x1a\x00\x22";
    struct web w;
    web_init(&w);
    w.content_type = "application/vnd.kubernetes.protobuf";
    w.accept = "application/vnd.kubernetes.protobuf,application/json";
    CHECK_INT(ask_bytes(&w, "POST", "/api/v1/namespaces", str_n(namespace, sizeof(namespace))),
              201);
    CHECK_CSTR(header(&w, "content-type"), "application/json");
    CHECK_CSTR(member(&w, "metadata.name"), "team-a");
    /* typed clients send their DeleteOptions so, whatever is deleted */
    static const char options[] = "k8s\0\x0a\x13\x0a\x02v1\x12\x0d"
                                  "DeleteOptions\x12\x02\x08\x00\x1a\x00\x22";
    CHECK_INT(ask(&w, "POST", MAPS, CONFIG_MAP("c", "")), 400); /* JSON is not protobuf */
    w.content_type = NULL;
    make_map(&w, "c", "");
    w.content_type = "application/vnd.kubernetes.protobuf";
    CHECK_INT(ask_bytes(&w, "DELETE", MAPS "/c", str_n(options, sizeof(options))), 200);
    CHECK_CSTR(member(&w, "status"), "Success");
    web_done(&w);
}

/* ---- warnings ---- */

TEST(front_warnings_are_one_header_each_and_never_split_it)
{
    struct web w;
    web_init(&w);
    CHECK_INT(ask(&w, "POST", MAPS,
                  "{'metadata':{'name':'w'},'bogus\\r\\nx-evil: 1':1,'say \\\"hi\\\"':2}"),
              201);
    CHECK_INT(n_headers(&w, "warning"), 2);
    CHECK_INT(n_headers(&w, "x-evil"), 0);
    CHECK(str_starts(header(&w, "warning"), STR("299 - \"unknown field \\\"bogus")));
    CHECK(str_ends(header(&w, "warning"), STR("\"")));
    /* many long ones are cut and stay within bounds */
    struct strbuf many = STRBUF_INIT(1 << 20);
    strbuf_add_cstr(&many, "{\"metadata\":{\"name\":\"w2\"}");
    for (int i = 0; i < 60; i++) {
        strbuf_printf(&many, ",\"f%d", i);
        for (int j = 0; j < 600; j++)
            strbuf_add_cstr(&many, "\xc3\xa4");
        strbuf_add_cstr(&many, "\":1");
    }
    strbuf_add_cstr(&many, "}");
    CHECK_INT(ask_bytes(&w, "POST", MAPS, strbuf_str(&many)), 201);
    CHECK(n_headers(&w, "warning") > 10);
    CHECK(w.headers.len < 16000);
    CHECK(str_is_utf8(strbuf_str(&w.headers)));
    strbuf_done(&many);
    web_done(&w);
}

/* ---- lists ---- */

TEST(front_lists_are_valid_json_of_their_items)
{
    struct web w;
    web_init(&w);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/nonexist/configmaps", NULL), 200);
    CHECK_CSTR(member(&w, "kind"), "ConfigMapList");
    CHECK_CSTR(member(&w, "apiVersion"), "v1");
    CHECK_CSTR(member(&w, "items"), "[]");
    CHECK(member(&w, "metadata.resourceVersion").len > 0);
    for (char name[] = "a"; name[0] <= 'e'; name[0]++)
        make_map(&w, name, "'g':'x'");
    CHECK_INT(ask(&w, "GET", MAPS, NULL), 200);
    REQUIRE(w.doc);
    CHECK_INT(jlen(jgetc(doc_root(w.doc), "items")), 5);
    CHECK_CSTR(jstr(jpath(jat(jgetc(doc_root(w.doc), "items"), 4), "metadata.name")), "e");
    web_done(&w);
}

TEST(front_pages_of_a_list)
{
    struct web w;
    web_init(&w);
    for (char name[] = "a"; name[0] <= 'e'; name[0]++)
        make_map(&w, name, "'g':'x'");
    CHECK_INT(ask(&w, "GET", MAPS "?limit=2", NULL), 200);
    CHECK_INT(jint(jpath(doc_root(w.doc), "metadata.remainingItemCount"), 0), 3);
    char rv[32], path[512];
    (void)snprintf(rv, sizeof(rv), "%.*s", STR_ARG(member(&w, "metadata.resourceVersion")));
    (void)snprintf(path, sizeof(path), MAPS "?limit=2&continue=%.*s",
                   STR_ARG(member(&w, "metadata.continue")));
    make_map(&w, "b2", "");
    CHECK_INT(ask(&w, "GET", path, NULL), 200);
    CHECK_CSTR(jstr(jpath(jat(jgetc(doc_root(w.doc), "items"), 0), "metadata.name")), "c");
    CHECK_CSTR(member(&w, "metadata.resourceVersion"), rv);
    CHECK_INT(jint(jpath(doc_root(w.doc), "metadata.remainingItemCount"), 0), 1);
    CHECK_INT(ask(&w, "GET", MAPS "?limit=2&labelSelector=g%3Dx", NULL), 200);
    CHECK(member(&w, "metadata.continue").len > 0);
    CHECK(j_is_absent(jpath(doc_root(w.doc), "metadata.remainingItemCount")));
    /* any version: the limit is ignored */
    CHECK_INT(ask(&w, "GET", MAPS "?limit=2&resourceVersion=0", NULL), 200);
    CHECK_INT(jlen(jgetc(doc_root(w.doc), "items")), 6);
    CHECK(j_is_absent(jpath(doc_root(w.doc), "metadata.continue")));
    ask(&w, "GET", MAPS "?continue=zzz", NULL);
    CHECK_INT(w.code, 400);
    CHECK(str_starts(member(&w, "message"),
                     STR("invalid continue token: continue key is not valid: ")));
    ask(&w, "GET", MAPS "?resourceVersion=999999999", NULL);
    CHECK_INT(w.code, 504);
    CHECK_CSTR(member(&w, "reason"), "Timeout");
    CHECK_CSTR(header(&w, "retry-after"), "1");
    ask(&w, "GET", MAPS "?labelSelector=a%3D%3D%3Db", NULL);
    CHECK_INT(w.code, 400);
    web_done(&w);
}

static void make_many(struct web *w, size_t n, size_t size)
{
    char *data = xmalloc(size + 1);
    memset(data, 'x', size);
    data[size] = '\0';
    for (size_t i = 0; i < n; i++) {
        struct jw j;
        jw_init(&j);
        jw_object(&j);
        jw_put_object(&j, "metadata");
        jw_key(&j, STR("name"));
        jw_printf(&j, "m%05zu", i);
        jw_end(&j);
        jw_put_object(&j, "data");
        jw_put_cstr(&j, "a", data);
        jw_end(&j);
        jw_end(&j);
        struct doc *d = jw_doc(&j);
        struct api_request r = {.verb = API_CREATE,
                                .kind = &kind_config_map,
                                .ns = STR("ns"),
                                .body = d,
                                .field_manager = STR("test")};
        CHECK_INT(send(&w->f, r), 201);
        doc_unref(d);
    }
    free(data);
}

TEST(front_a_long_list_goes_out_in_steps)
{
    static const char *const forms[] = {"application/json", TABLE, AS("PartialObjectMetadataList"),
                                        "application/yaml"};
    static const char *const keys[] = {"items", "rows", "items"};
    struct web w;
    web_init(&w);
    make_many(&w, 2300, 100);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        w.accept = forms[i];
        CHECK_INT(ask(&w, "GET", MAPS, NULL), 200);
        CHECK_CSTR(header(&w, "transfer-encoding"), "chunked");
        if (i == 3) {
            CHECK(str_find(body(&w), STR("name: m02299\n")) > 0);
            continue;
        }
        REQUIRE(w.doc);
        jval items = jget(doc_root(w.doc), str_of(keys[i]));
        CHECK_INT(jlen(items), 2300);
    }
    w.accept = NULL;
    CHECK_INT(ask(&w, "GET", MAPS "?limit=10", NULL), 200);
    CHECK(header(&w, "content-length").len > 0);
    web_done(&w);
}

static void gunzip(str in, struct strbuf *out)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in.p, .avail_in = (uInt)in.len};
    int r = Z_OK;
    REQUIRE(inflateInit2(&z, 15 + 16) == Z_OK);
    while (r == Z_OK) {
        z.next_out = (Bytef *)strbuf_reserve(out, 1 << 16);
        z.avail_out = 1 << 16;
        r = inflate(&z, Z_NO_FLUSH);
        strbuf_commit(out, (1 << 16) - z.avail_out);
    }
    CHECK_INT(r, Z_STREAM_END);
    CHECK_INT(z.avail_in, 0);
    inflateEnd(&z);
}

TEST(front_a_long_list_is_compressed_for_those_who_ask)
{
    static const struct {
        const char *accepts;
        bool compressed;
    } cases[] = {{"gzip", true},      {"deflate, gzip;q=0.5", true}, {"gzip;q=1.0", true},
                 {"gzip;q=0", false}, {"gzip; q=0.0", false},        {"br", false}};
    static const char *const forms[] = {"application/json", TABLE, "application/yaml"};
    struct web w;
    web_init(&w);
    make_many(&w, 2300, 1000);
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        struct strbuf plain = STRBUF_INIT(WEB_MAX);
        w.accept = forms[i];
        w.header = NULL;
        CHECK_INT(ask(&w, "GET", MAPS, NULL), 200);
        strbuf_add_str(&plain, body(&w));
        CHECK(plain.len > (256 << 10));
        for (size_t j = 0; j < ARRAY_LEN(cases); j++) {
            struct strbuf text = STRBUF_INIT(WEB_MAX);
            w.header = "accept-encoding";
            w.header_value = cases[j].accepts;
            CHECK_INT(ask(&w, "GET", MAPS, NULL), 200);
            CHECK_CSTR(header(&w, "content-encoding"), cases[j].compressed ? "gzip" : "");
            if (cases[j].compressed) {
                CHECK(body(&w).len < plain.len / 4);
                gunzip(body(&w), &text);
            } else {
                strbuf_add_str(&text, body(&w));
            }
            CHECK(str_eq(strbuf_str(&text), strbuf_str(&plain)));
            strbuf_done(&text);
        }
        strbuf_done(&plain);
    }
    web_done(&w);
}

TEST(front_a_reader_that_goes_away_in_a_long_list_leaves_nothing)
{
    struct web w;
    struct front_peer p;
    web_init(&w);
    make_many(&w, 100, 100000);
    for (int i = 0; i < 20; i++) {
        front_peer_open(&p, &w.pipe);
        front_peer_send(
            &p,
            STR("GET " MAPS " HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " WEB_TOKEN "\r\n\r\n"));
        p.is_deaf = i % 2;
        fixture_run(&w.f, i * 50);
        front_peer_close(&p);
    }
    /* one that never reads holds a bounded part of it, and others are served meanwhile */
    front_peer_open(&p, &w.pipe);
    front_peer_listen(&p, false);
    front_peer_send(
        &p, STR("GET " MAPS " HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " WEB_TOKEN "\r\n\r\n"));
    fixture_run(&w.f, USEC_PER_SEC);
    CHECK_INT(w.front->n_calls, 1);
    CHECK_INT(ask(&w, "GET", MAPS "?limit=1", NULL), 200);
    front_peer_listen(&p, true);
    fixture_run(&w.f, 10 * USEC_PER_SEC);
    CHECK(p.in.len > 100 * 100000);
    CHECK(str_ends(strbuf_str(&p.in), STR("]}\n\r\n0\r\n\r\n")));
    front_peer_close(&p);
    web_done(&w);
}

/* ---- forms ---- */

TEST(front_tables_and_partial_metadata)
{
    struct web w;
    web_init(&w);
    make_map(&w, "t1", "'fmt':'1'");
    w.accept = TABLE;
    CHECK_INT(ask(&w, "GET", MAPS "?labelSelector=fmt%3D1", NULL), 200);
    CHECK_CSTR(header(&w, "content-type"), "application/json");
    CHECK_CSTR(member(&w, "kind"), "Table");
    CHECK_CSTR(member(&w, "apiVersion"), "meta.k8s.io/v1");
    CHECK(jlen(jgetc(doc_root(w.doc), "columnDefinitions")) >= 3);
    jval row = jat(jgetc(doc_root(w.doc), "rows"), 0);
    CHECK_CSTR(jstr(jpath(row, "object.kind")), "PartialObjectMetadata");
    CHECK_CSTR(jstr(jpath(row, "object.metadata.name")), "t1");
    CHECK(j_is_absent(jpath(row, "object.data")));
    ask(&w, "GET", MAPS "?includeObject=None", NULL);
    CHECK(!j_has(jgetc(jat(jgetc(doc_root(w.doc), "rows"), 0), "object")));
    ask(&w, "GET", MAPS "?includeObject=Object", NULL);
    CHECK_CSTR(jstr(jpath(jat(jgetc(doc_root(w.doc), "rows"), 0), "object.data.a")), "1");
    ask(&w, "GET", MAPS "/t1", NULL);
    CHECK_CSTR(member(&w, "kind"), "Table");
    CHECK_INT(jlen(jgetc(doc_root(w.doc), "rows")), 1);
    /* errors stay Status, and so does the answer of a delete */
    ask(&w, "GET", MAPS "/missing", NULL);
    check_status(&w, 404, "NotFound", "configmaps \"missing\" not found");
    CHECK_INT(ask(&w, "POST", MAPS "?dryRun=All", CONFIG_MAP("t2", "")), 201);
    CHECK_CSTR(member(&w, "kind"), "Table");
    CHECK_CSTR(member(&w, "metadata"), "{}");
    w.accept = AS("PartialObjectMetadata");
    ask(&w, "GET", MAPS "/t1", NULL);
    CHECK_CSTR(member(&w, "kind"), "PartialObjectMetadata");
    CHECK_CSTR(member(&w, "metadata.labels.fmt"), "1");
    CHECK(j_is_absent(jgetc(doc_root(w.doc), "data")));
    w.accept = AS("PartialObjectMetadataList");
    ask(&w, "GET", MAPS, NULL);
    CHECK_CSTR(member(&w, "kind"), "PartialObjectMetadataList");
    CHECK_CSTR(jstr(jgetc(jat(jgetc(doc_root(w.doc), "items"), 0), "kind")),
               "PartialObjectMetadata");
    w.accept = TABLE;
    ask(&w, "DELETE", MAPS "/t1", NULL);
    CHECK_CSTR(member(&w, "status"), "Success");
    web_done(&w);
}

TEST(front_delete_options_count)
{
    struct web w;
    web_init(&w);
    make_map(&w, "d", "");
    CHECK_INT(ask(&w, "DELETE", MAPS "/d?dryRun=All", NULL), 200);
    CHECK_INT(ask(&w, "GET", MAPS "/d", NULL), 200);
    CHECK_INT(ask(&w, "DELETE", MAPS "/d",
                  "{'kind':'DeleteOptions','apiVersion':'v1','preconditions':{'uid':'other'}}"),
              409);
    CHECK_INT(ask(&w, "DELETE", MAPS "/d", "{'propagationPolicy':'Background'}"), 200);
    CHECK_CSTR(member(&w, "details.kind"), "configmaps");
    CHECK_INT(ask(&w, "GET", MAPS "/d", NULL), 404);
    make_map(&w, "e", "'x':'y'");
    make_map(&w, "f", "");
    CHECK_INT(ask(&w, "DELETE", MAPS "?labelSelector=x%3Dy", NULL), 200);
    CHECK_CSTR(member(&w, "kind"), "ConfigMapList");
    CHECK_INT(ask(&w, "GET", MAPS "/e", NULL), 404);
    CHECK_INT(ask(&w, "GET", MAPS "/f", NULL), 200);
    web_done(&w);
}

TEST(front_reaching_into_pods)
{
    struct web w;
    web_init(&w);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/ns/pods/p/log", NULL), 404);
    w.f.user.name = STR("admin");
    CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/ns/pods", POD("p", "")), 201);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/ns/pods/p/log", NULL), 204);
    CHECK_INT(w.body.len, 0);
    ask(&w, "POST", "/api/v1/namespaces/ns/pods/p/exec?command=ls", NULL);
    check_status(&w, 400, "BadRequest", "pod p does not have a host assigned");
    ask(&w, "POST", "/api/v1/namespaces/ns/pods/p/binding",
        "{'metadata':{'name':'x'},'target':{'kind':'Node','name':'n1'}}");
    check_status(&w, 400, "BadRequest", "name in URL does not match name in Binding object");
    CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/ns/pods/p/binding",
                  "{'target':{'kind':'Node','name':'n1'}}"),
              201);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/ns/pods/p/log", NULL), 200);
    CHECK(w.body.len > 0);
    CHECK_INT(ask(&w, "GET", "/api/v1/namespaces/ns/pods/p/exec?command=ls", NULL), 400);
    web_done(&w);
}

/* ---- watches ---- */

TEST(front_a_watch_is_one_event_per_line)
{
    struct web w;
    struct web_watch x;
    web_init(&w);
    make_map(&w, "a", "'g':'1'");
    make_map(&w, "b", "'g':'1'");
    watch_open(&x, &w, MAPS "?watch=1&labelSelector=g%3D1");
    CHECK_INT(x.code, 200);
    CHECK_INT(watch_wait(&x, 2), 2);
    CHECK_CSTR(watch_word(&x, 0), "ADDED a");
    CHECK_CSTR(watch_word(&x, 1), "ADDED b");
    CHECK_CSTR(jstr(jpath(watch_line(&x, 0), "object.kind")), "ConfigMap");
    set_label(&w, "a", "{'data':{'b':'2'}}");
    set_label(&w, "a", "{'metadata':{'labels':{'g':'2'}}}");
    CHECK_INT(ask(&w, "DELETE", MAPS "/b", NULL), 200);
    CHECK_INT(watch_wait(&x, 5), 5);
    CHECK_CSTR(watch_word(&x, 2), "MODIFIED a");
    CHECK_CSTR(watch_word(&x, 3), "DELETED a"); /* it left the selector: its last matching state */
    CHECK_CSTR(jstr(jpath(watch_line(&x, 3), "object.metadata.labels.g")), "1");
    CHECK_CSTR(watch_word(&x, 4), "DELETED b");
    CHECK(!x.ended);
    watch_close(&x);
    web_done(&w);
}

TEST(front_a_watch_with_nothing_to_say_begins_at_once_and_ends_in_time)
{
    struct web w;
    struct web_watch x;
    web_init(&w);
    watch_open(&x, &w, MAPS "?watch=true&timeoutSeconds=3");
    CHECK_INT(x.code, 200);
    CHECK_INT(w.front->n_watches, 1);
    CHECK(!x.ended);
    fixture_run(&w.f, 2 * USEC_PER_SEC);
    CHECK(!x.ended);
    fixture_run(&w.f, 2 * USEC_PER_SEC);
    CHECK(x.ended && !x.failed);
    CHECK_INT(x.text.len, 0);
    watch_close(&x);
    CHECK_INT(w.front->n_watches, 0);
    web_done(&w);
}

TEST(front_watch_list_ends_with_a_bookmark)
{
    struct web w;
    struct web_watch x;
    web_init(&w);
    make_map(&w, "a", "");
    watch_open(&x, &w,
               MAPS "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                    "&allowWatchBookmarks=true");
    CHECK_INT(watch_wait(&x, 2), 2);
    CHECK_CSTR(watch_word(&x, 0), "ADDED a");
    CHECK_CSTR(watch_word(&x, 1), "BOOKMARK");
    jval mark = watch_line(&x, 1);
    CHECK_CSTR(jstr(jpath(mark, "object.kind")), "ConfigMap");
    CHECK_CSTR(
        jstr(jget(jpath(mark, "object.metadata.annotations"), STR("k8s.io/initial-events-end"))),
        "true");
    CHECK(jstr(jpath(mark, "object.metadata.resourceVersion")).len > 0);
    fixture_run(&w.f, 61 * USEC_PER_SEC);
    CHECK_INT(watch_wait(&x, 3), 3);
    CHECK_CSTR(watch_word(&x, 2), "BOOKMARK");
    CHECK(j_is_absent(jpath(watch_line(&x, 2), "object.metadata.annotations")));
    watch_close(&x);
    /* metadata informers see their own kind */
    w.accept = AS("PartialObjectMetadata");
    watch_open(&x, &w,
               MAPS "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                    "&allowWatchBookmarks=true");
    CHECK_INT(watch_wait(&x, 2), 2);
    for (size_t i = 0; i < 2; i++)
        CHECK_CSTR(jstr(jpath(watch_line(&x, i), "object.kind")), "PartialObjectMetadata");
    watch_close(&x);
    web_done(&w);
}

TEST(front_table_watches_send_columns_once)
{
    struct web w;
    struct web_watch x;
    web_init(&w);
    make_map(&w, "a", "");
    make_map(&w, "b", "");
    w.accept = TABLE;
    watch_open(&x, &w, MAPS "?watch=true&resourceVersion=0");
    CHECK_INT(watch_wait(&x, 2), 2);
    CHECK_CSTR(jstr(jpath(watch_line(&x, 0), "object.kind")), "Table");
    CHECK(jlen(jpath(watch_line(&x, 0), "object.columnDefinitions")) >= 3);
    CHECK(j_is_null(jpath(watch_line(&x, 1), "object.columnDefinitions")));
    for (size_t i = 0; i < 2; i++)
        CHECK_INT(jlen(jpath(watch_line(&x, i), "object.rows")), 1);
    watch_close(&x);
    web_done(&w);
}

TEST(front_a_watch_that_is_refused_is_a_status)
{
    static const struct {
        const char *query;
        int code;
    } cases[] = {
        {"watch=true&labelSelector=a%3D%3D%3Db", 400},
        {"watch=true&fieldSelector=data.a%3D1", 400},
        {"watch=true&sendInitialEvents=true", 422},
        {"watch=true&resourceVersion=abc", 500},
    };
    struct web w;
    web_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[256];
        (void)snprintf(path, sizeof(path), MAPS "?%s", cases[i].query);
        CHECK_INT(ask(&w, "GET", path, NULL), cases[i].code);
        CHECK_CSTR(member(&w, "kind"), "Status");
    }
    web_done(&w);
}

static void replace_often(struct web *w, const char *name, size_t n, size_t size)
{
    for (size_t i = 0; i < n; i++) {
        struct jw j;
        char *data = xcalloc(1, size + 1);
        memset(data, 'a' + (int)(i % 26), size);
        jw_init(&j);
        jw_object(&j);
        jw_put_object(&j, "data");
        jw_put_cstr(&j, "a", data);
        jw_end(&j);
        jw_end(&j);
        struct doc *d = jw_doc(&j);
        struct api_request r = {.verb = API_PATCH,
                                .kind = &kind_config_map,
                                .ns = STR("ns"),
                                .name = str_of(name),
                                .body = d,
                                .patch = API_PATCH_MERGE,
                                .field_manager = STR("test")};
        CHECK_INT(send(&w->f, r), 200);
        doc_unref(d);
        free(data);
    }
}

TEST(front_a_revision_that_is_gone_is_an_event)
{
    struct web w;
    struct web_watch x;
    web_init(&w);
    make_map(&w, "a", "");
    replace_often(&w, "a", 100, 900000); /* more than the history holds */
    uint64_t oldest = store_oldest_revision(w.f.store);
    REQUIRE(oldest >= 2);
    watch_open(&x, &w, MAPS "?watch=true&resourceVersion=1");
    CHECK_INT(x.code, 200);
    CHECK_INT(watch_wait(&x, 1), 1);
    CHECK_CSTR(watch_word(&x, 0), "ERROR 410");
    CHECK_CSTR(jstr(jpath(watch_line(&x, 0), "object.reason")), "Expired");
    CHECK(str_starts(jstr(jpath(watch_line(&x, 0), "object.message")),
                     STR("too old resource version: 1 (")));
    fixture_run(&w.f, USEC_PER_SEC);
    CHECK(x.ended && !x.failed);
    watch_close(&x);
    web_done(&w);
}

TEST(front_the_old_watch_paths_still_work)
{
    struct web w;
    struct web_watch x;
    web_init(&w);
    make_map(&w, "a", "");
    make_map(&w, "b", "");
    watch_open(&x, &w, "/api/v1/watch/namespaces/ns/configmaps");
    CHECK_INT(watch_wait(&x, 2), 2);
    watch_close(&x);
    watch_open(&x, &w, "/api/v1/watch/namespaces/ns/configmaps/b");
    CHECK_INT(watch_wait(&x, 1), 1);
    fixture_run(&w.f, USEC_PER_SEC);
    CHECK_INT(watch_lines(&x), 1);
    CHECK_CSTR(watch_word(&x, 0), "ADDED b");
    watch_close(&x);
    /* a named object is not watched */
    CHECK_INT(ask(&w, "GET", MAPS "/a?watch=true", NULL), 200);
    CHECK_CSTR(member(&w, "kind"), "ConfigMap");
    web_done(&w);
}

static const char watch_request[] =
    "GET " MAPS "?watch=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " WEB_TOKEN "\r\n\r\n";

TEST(front_a_slow_reader_gets_the_whole_beginning)
{
    struct web w;
    struct front_peer p;
    web_init(&w);
    make_many(&w, 300, 100000); /* 30 MB: more than a stream may leave unsent */
    front_peer_open(&p, &w.pipe);
    front_peer_listen(&p, false);
    front_peer_send(&p, str_of(watch_request));
    fixture_run(&w.f, USEC_PER_SEC);
    CHECK_INT(w.front->n_watches, 1);
    make_map(&w, "z", "");
    front_peer_listen(&p, true);
    fixture_run(&w.f, 60 * USEC_PER_SEC);
    CHECK(str_find(strbuf_str(&p.in), STR("\"name\":\"m00299\"")) > 0);
    CHECK(str_find(strbuf_str(&p.in), STR("\"name\":\"z\"")) > 0);
    CHECK(!p.has_ended);
    front_peer_close(&p);
    web_done(&w);
}

TEST(front_a_reader_that_stops_is_let_go_and_others_are_not_hurt)
{
    struct web w;
    struct front_peer p;
    struct web_watch x;
    web_init(&w);
    front_peer_open(&p, &w.pipe);
    front_peer_send(&p, str_of(watch_request));
    watch_open(&x, &w, "/api/v1/configmaps?watch=1&timeoutSeconds=600");
    fixture_run(&w.f, USEC_PER_SEC);
    CHECK_INT(w.front->n_watches, 2);
    front_peer_listen(&p, false);
    make_many(&w, 250, 100000); /* 25 MB happen */
    CHECK_INT(watch_wait(&x, 250), 250);
    /* it reads again: a part, and then a clean end */
    front_peer_listen(&p, true);
    fixture_run(&w.f, 10 * USEC_PER_SEC);
    CHECK_INT(w.front->n_watches, 1);
    CHECK(str_ends(strbuf_str(&p.in), STR("0\r\n\r\n")));
    CHECK(p.in.len < 20u << 20);
    front_peer_close(&p);
    watch_close(&x);
    web_done(&w);
}

TEST(front_a_client_may_vanish_at_any_moment)
{
    static const char *const requests[] = {
        watch_request,
        "POST " MAPS " HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " WEB_TOKEN
        "\r\ncontent-length: 26\r\n\r\n{\"metadata\":{\"name\":\"v\"}} ",
        "DELETE " MAPS " HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " WEB_TOKEN "\r\n\r\n",
        "GET " MAPS "?limit=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " WEB_TOKEN "\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " WEB_TOKEN "\r\n\r\n",
    };
    struct web w;
    web_init(&w);
    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        for (size_t cut = 0; cut < 2; cut++) {
            for (usec after = 0; after < 2000; after += 100) {
                struct front_peer p;
                str s = str_of(requests[i]);
                front_peer_open(&p, &w.pipe);
                front_peer_send(&p, cut ? str_sub(s, 0, s.len / 2) : s);
                fixture_run(&w.f, after);
                front_peer_close(&p);
            }
        }
    }
    fixture_run(&w.f, USEC_PER_SEC);
    CHECK_INT(w.front->n_calls, 0);
    CHECK_INT(ask(&w, "GET", MAPS "?limit=1", NULL), 200);
    web_done(&w);
}

static bool hold_request(void *ctx, struct req *q)
{
    *(struct req **)ctx = q;
    return true;
}

TEST(front_a_write_goes_on_when_its_client_is_gone)
{
    struct web w;
    struct front_peer p;
    struct req *held = NULL;
    web_init(&w);
    CHECK_INT(create(&w.f, &kind_cluster_role_binding, "",
                     "{'metadata':{'name':'bob'},'roleRef':{'kind':'ClusterRole','name':'edit'},"
                     "'subjects':[{'kind':'User','name':'bob'}]}"),
              201);
    apiserver_set_suspend(w.f.server, hold_request, &held);
    front_peer_open(&p, &w.pipe);
    front_peer_send(
        &p,
        STR("POST " MAPS " HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " WEB_TOKEN
            "\r\nuser-agent: somebody/1\r\nimpersonate-user: bob\r\n"
            "content-length: 43\r\n\r\n{\"metadata\":{\"name\":\"v\"},\"data\":{\"a\":\"1\"}} "));
    fixture_run(&w.f, USEC_PER_SEC);
    REQUIRE(held);
    front_peer_close(&p);
    fixture_run(&w.f, USEC_PER_SEC);
    CHECK_INT(w.front->n_calls, 0);
    CHECK_CSTR(held->user->name, "bob");
    CHECK_CSTR(held->r->field_manager, "somebody");
    apiserver_set_suspend(w.f.server, NULL, NULL);
    write_resume(held);
    fixture_run(&w.f, USEC_PER_SEC);
    CHECK_INT(ask(&w, "GET", MAPS "/v", NULL), 200);
    CHECK(str_find(body(&w), STR("\"manager\":\"somebody\"")) > 0);
    web_done(&w);
}

TEST(front_stopping_with_work_in_flight)
{
    struct web w;
    struct front_peer p, q;
    struct web_watch x;
    web_init(&w);
    watch_open(&x, &w, MAPS "?watch=1");
    front_peer_open(&p, &w.pipe);
    front_peer_send(&p, str_of(watch_request));
    front_peer_open(&q, &w.pipe);
    front_peer_send(&q, STR("POST " MAPS " HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " WEB_TOKEN
                            "\r\ncontent-length: 26\r\n\r\n{\"metadata\":{\"name\":\"v\"}} "));
    fixture_run(&w.f, 20);
    /* the write is under way when the front end goes: the server still answers it, to nobody */
    watch_close(&x);
    http_client_free(w.client);
    front_free(w.front);
    fixture_run(&w.f, USEC_PER_SEC);
    front_peer_close(&p);
    front_peer_close(&q);
    doc_unref(w.doc);
    strbuf_done(&w.headers);
    strbuf_done(&w.body);
    fixture_done(&w.f);
}

/* ---- health, version, metrics, log ---- */

TEST(front_health_and_version)
{
    struct web w;
    web_init(&w);
    static const char *const paths[] = {"/healthz", "/livez", "/readyz", "/livez/ping"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        CHECK_INT(ask(&w, "GET", paths[i], NULL), 200);
        CHECK_CSTR(body(&w), "ok");
        CHECK_CSTR(header(&w, "content-type"), "text/plain; charset=utf-8");
    }
    CHECK_INT(ask(&w, "GET", "/readyz?verbose", NULL), 200);
    CHECK(str_starts(body(&w), STR("[+]ping ok\n")));
    CHECK(str_ends(body(&w), STR("\nreadyz check passed\n")));
    front_set_ready(w.front, false);
    CHECK_INT(ask(&w, "GET", "/readyz", NULL), 500);
    CHECK(str_find(body(&w), STR("[-]controllers failed: reason withheld\n")) >= 0);
    CHECK(str_ends(body(&w), STR("readyz check failed\n")));
    CHECK_INT(ask(&w, "GET", "/readyz?exclude=controllers", NULL), 200);
    CHECK_INT(ask(&w, "GET", "/livez", NULL), 200);
    CHECK_INT(ask(&w, "GET", "/", NULL), 200);
    CHECK(str_starts(
        body(&w),
        STR("{\"paths\":[\"/.well-known/openid-configuration\",\"/api\",\"/api/v1\",\"/apis\",")));
    CHECK(str_find(body(&w), STR("\"/apis/apps\",\"/apis/apps/v1\",")) > 0);
    CHECK_INT(ask(&w, "GET", "/version/", NULL), 200);
    static const char *const fields[] = {
        "major",      "minor",     "emulationMajor", "emulationMinor", "minCompatibilityMajor",
        "gitVersion", "gitCommit", "gitTreeState",   "buildDate",      "minCompatibilityMinor",
        "goVersion",  "compiler",  "platform"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        CHECK_INT(jtype(jget(doc_root(w.doc), str_of(fields[i]))), J_STRING);
    CHECK_CSTR(member(&w, "minor"), "36");
    CHECK(str_starts(member(&w, "gitVersion"), STR("v1.36.")));
    web_done(&w);
}

TEST(front_metrics_count_by_what_was_asked)
{
    struct web w;
    struct web_watch x;
    web_init(&w);
    make_map(&w, "a", "");
    ask(&w, "GET", MAPS "/a", NULL);
    ask(&w, "GET", MAPS "/missing", NULL);
    for (int i = 0; i < 50; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "/api/v1/namespaces/ns/made-up-%d", i);
        ask(&w, "GET", path, NULL);
    }
    watch_open(&x, &w, MAPS "?watch=1");
    CHECK_INT(ask(&w, "GET", "/metrics", NULL), 200);
    CHECK(str_starts(header(&w, "content-type"), STR("text/plain; version=0.0.4")));
    static const char *const lines[] = {
        "\napiserver_request_total{verb=\"GET\",resource=\"configmaps\",subresource=\"\","
        "code=\"404\"} ",
        "\napiserver_request_duration_seconds_count{verb=\"POST\",resource=\"configmaps\"} ",
        "\napiserver_longrunning_requests 1\n",
        "\ngrove_store_revision ",
        "\ngrove_loop_iterations_total ",
        "\nprocess_resident_memory_bytes ",
        "\nprocess_cpu_seconds_total ",
        "\napiserver_resource_objects{group=\"\",resource=\"configmaps\"} 1\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        if (!CHECK(str_find(body(&w), str_of(lines[i])) >= 0))
            test_note("%s", lines[i]);
    CHECK(str_find(body(&w), STR("made-up")) < 0);
    watch_close(&x);
    web_done(&w);
}

static void keep_line(void *ctx, str line)
{
    strbuf_add_str(ctx, line);
    strbuf_add_char(ctx, '\n');
}

TEST(front_the_request_log_tells_no_secrets)
{
    struct web w;
    struct strbuf lines = STRBUF_INIT(1 << 20);
    web_init(&w);
    log_set_level(LOG_LEVEL_DEBUG);
    log_set_sink(keep_line, &lines);
    CHECK_INT(ask(&w, "POST", "/api/v1/namespaces/ns/secrets?x=query-secret",
                  "{'metadata':{'name':'s'},'stringData':{'p':'body-secret'}}"),
              201);
    log_set_sink(NULL, NULL);
    log_set_level(LOG_LEVEL_OFF);
    str text = strbuf_str(&lines);
    CHECK(str_find(text, STR("POST")) >= 0);
    CHECK(str_find(text, STR("/api/v1/namespaces/ns/secrets")) >= 0);
    CHECK(str_find(text, STR("201")) >= 0);
    CHECK(str_find(text, STR("admin")) >= 0);
    CHECK(str_find(text, STR(WEB_TOKEN)) < 0);
    CHECK(str_find(text, STR("secret\"")) < 0 && str_find(text, STR("-secret")) < 0);
    strbuf_done(&lines);
    web_done(&w);
}
