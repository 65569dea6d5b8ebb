/* The metrics APIs: paths, and answers computed from what annotations say. */
#include "apiserver/fixture.h"
#include "apiserver/front.h"
#include "apiserver/metrics_api.h"

/* 2026-01-01T00:00:00Z */
#define NOW (1767225600 * USEC_PER_SEC)

/* A pod that runs on a node. */
static void add_pod(struct fixture *f, const char *name, const char *annotations)
{
    str json = text_of(f,
                       "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'%s','labels':{'app':"
                       "'a'},'annotations':{%s},'ownerReferences':[{'apiVersion':'apps/v1','kind':"
                       "'ReplicaSet','name':'rs','uid':'%.*s','controller':true}]},'spec':{"
                       "'nodeName':'n1','containers':[{'name':'x','image':'i'},{'name':'y','image':"
                       "'i'}]}}",
                       name, annotations,
                       STR_ARG(store_get(f->store, &kind_replica_set, STR("ns"), STR("rs"))->uid));
    REQUIRE(create(f, &kind_pod, "ns", json.p) == 201);
    REQUIRE(patch_sub(f, &kind_pod, "ns", name, "status", API_PATCH_MERGE,
                      "{'status':{'phase':'Running','conditions':[{'type':'Ready','status':"
                      "'True'}]}}") == 200);
}

static void setup(struct fixture *f)
{
    fixture_init(f);
    REQUIRE(create(f, &kind_node, NULL,
                   "{'apiVersion':'v1','kind':'Node','metadata':{'name':'n1'}}") == 201);
    REQUIRE(create(f, &kind_replica_set, "ns",
                   "{'apiVersion':'apps/v1','kind':'ReplicaSet','metadata':{'name':'rs',"
                   "'annotations':{'simulation.grove.io/load.cpu':'3',"
                   "'simulation.grove.io/metric.depth':'7'}},'spec':{'selector':{'matchLabels':{"
                   "'app':'a'}},'template':{'metadata':{'labels':{'app':'a'}},'spec':{"
                   "'containers':[{'name':'x','image':'i'}]}}}}") == 201);
    add_pod(f, "a", "'simulation.grove.io/memory':'2Gi'");
    add_pod(f, "b", "'simulation.grove.io/cpu':'500m','simulation.grove.io/metric.depth':'9'");
}

static jval ask(struct fixture *f, const char *path, const char *selector, int *ret_code)
{
    struct metrics_path p;
    struct metrics_query q = {.label_selector = str_of(selector)};
    struct status *why = NULL;
    *ret_code = 0;
    if (!metrics_api_parse(str_of(path), &f->arena, &p))
        return JVAL_ABSENT;
    struct doc *d = metrics_api_answer(&p, &q, f->store, NOW, &f->arena, &why);
    *ret_code = d ? 200 : why->code;
    return d ? doc_root(doc_hold(&f->arena, d)) : JVAL_ABSENT;
}

static void check_answer(struct fixture *f, const char *path, const char *selector,
                         const char *want)
{
    int code;
    jval got = ask(f, path, selector, &code);
    CHECK_INT(code, 200);
    if (!CHECK(jequal(got, doc_root(fixture_doc(f, want)))))
        test_note("%s: got %.*s", path, STR_ARG(j_is_absent(got) ? STR("nothing") : jtext(got)));
}

#define R "/apis/metrics.k8s.io/v1beta1/"
#define C "/apis/custom.metrics.k8s.io/v1beta2/"
#define C1 "/apis/custom.metrics.k8s.io/v1beta1/"
#define E "/apis/external.metrics.k8s.io/v1beta1/"
#define TIME "'2026-01-01T00:00:00Z'"

TEST(what_a_pod_uses_is_shared_by_its_containers)
{
    struct fixture f;
    setup(&f);
    /* Two ready pods share 3 CPUs, but one says what it uses itself. */
    check_answer(&f, R "namespaces/ns/pods/a", "",
                 "{'kind':'PodMetrics','apiVersion':'metrics.k8s.io/v1beta1','metadata':{'name':'a'"
                 ",'namespace':'ns','creationTimestamp':" TIME ",'labels':{'app':'a'}},"
                 "'timestamp':" TIME ",'window':'15s','containers':[{'name':'x','usage':{'cpu':"
                 "'750m','memory':'1Gi'}},{'name':'y','usage':{'cpu':'750m','memory':'1Gi'}}]}");
    fixture_done(&f);
}

TEST(pods_are_listed_by_selector_and_only_while_they_run)
{
    struct fixture f;
    int code;
    setup(&f);
    CHECK_INT(jlen(jgetc(ask(&f, R "pods", "", &code), "items")), 2);
    CHECK_INT(jlen(jgetc(ask(&f, R "namespaces/ns/pods", "app=a", &code), "items")), 2);
    CHECK_INT(jlen(jgetc(ask(&f, R "namespaces/ns/pods", "app=b", &code), "items")), 0);
    CHECK_INT(jlen(jgetc(ask(&f, R "namespaces/default/pods", "", &code), "items")), 0);
    jval list = ask(&f, R "pods", "", &code);
    CHECK_CSTR(jstr(jgetc(list, "kind")), "PodMetricsList");
    REQUIRE(patch_sub(&f, &kind_pod, "ns", "b", "status", API_PATCH_MERGE,
                      "{'status':{'phase':'Failed'}}") == 200);
    CHECK_INT(jlen(jgetc(ask(&f, R "pods", "", &code), "items")), 1);
    fixture_done(&f);
}

TEST(a_node_uses_what_its_pods_use)
{
    struct fixture f;
    int code;
    setup(&f);
    jval n = ask(&f, R "nodes/n1", "", &code);
    CHECK_INT(code, 200);
    CHECK_CSTR(jstr(jpath(n, "usage.cpu")), "2");
    CHECK_CSTR(jstr(jpath(n, "usage.memory")), "2Gi");
    CHECK_INT(jlen(jgetc(ask(&f, R "nodes", "", &code), "items")), 1);
    fixture_done(&f);
}

TEST(custom_metrics_are_those_of_pods_and_of_objects)
{
    struct fixture f;
    setup(&f);
    check_answer(&f, C "namespaces/ns/pods/%2A/depth", "app=a",
                 "{'kind':'MetricValueList','apiVersion':'custom.metrics.k8s.io/v1beta2',"
                 "'metadata':{},'items':["
                 "{'describedObject':{'kind':'Pod','namespace':'ns','name':'a','apiVersion':'v1'},"
                 "'metric':{'name':'depth'},'timestamp':" TIME ",'windowSeconds':15,'value':'7'},"
                 "{'describedObject':{'kind':'Pod','namespace':'ns','name':'b','apiVersion':'v1'},"
                 "'metric':{'name':'depth'},'timestamp':" TIME
                 ",'windowSeconds':15,'value':'9'}]}");
    check_answer(&f, C1 "namespaces/ns/replicasets.apps/rs/depth", "",
                 "{'kind':'MetricValueList','apiVersion':'custom.metrics.k8s.io/v1beta1',"
                 "'metadata':{},'items':[{'describedObject':{'kind':'ReplicaSet','namespace':'ns',"
                 "'name':'rs','apiVersion':'apps/v1'},'metricName':'depth','timestamp':" TIME
                 ",'windowSeconds':15,'value':'7'}]}");
    fixture_done(&f);
}

TEST(external_metrics_are_those_of_the_namespace)
{
    struct fixture f;
    setup(&f);
    REQUIRE(patch(&f, &kind_namespace, NULL, "ns", API_PATCH_MERGE,
                  "{'metadata':{'annotations':{'simulation.grove.io/external.q':"
                  "'queue=a:12 queue=b:500m'}}}") == 200);
    check_answer(&f, E "namespaces/ns/q", "queue=b",
                 "{'kind':'ExternalMetricValueList','apiVersion':'external.metrics.k8s.io/v1beta1',"
                 "'metadata':{},'items':[{'metricName':'q','metricLabels':{'queue':'b'},"
                 "'timestamp':" TIME ",'windowSeconds':15,'value':'500m'}]}");
    fixture_done(&f);
}

TEST(what_is_not_there_is_not_found)
{
    static const char *const missing[] = {
        R "namespaces/ns/pods/zzz",
        R "nodes/zzz",
        R "volumes",
        R "namespaces/ns/nodes",
        R "pods/a",
        C "namespaces/ns/pods/a/zzz",
        C "namespaces/ns/zzz/a/q",
        C "pods/a/depth",
        C "nodes/n1/q",
        R "namespaces/ns/pods/a/b",
        R "//",
        C "namespaces/ns",
        E "namespaces/ns/q/more/of/it/and/more",
    };
    static const char *const foreign[] = {
        "/apis/metrics.k8s.io",
        "/apis/metrics.k8s.io/v1beta1",
        "/apis/metrics.k8s.io/v2/pods",
        "/apis/apps/v1/pods",
        "/api/v1/pods",
        "/",
    };
    struct fixture f;
    struct metrics_path p;
    int code;
    setup(&f);
    for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
        (void)ask(&f, missing[i], "", &code);
        if (!CHECK_INT(code, 404))
            test_note("%s", missing[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(foreign); i++)
        CHECK(!metrics_api_parse(str_of(foreign[i]), &f.arena, &p));
    (void)ask(&f, R "pods", "a in (", &code);
    CHECK_INT(code, 400);
    fixture_done(&f);
}

TEST(discovery_tells_of_the_metrics_apis)
{
    static const char *const groups[] = {"metrics.k8s.io", "custom.metrics.k8s.io",
                                         "external.metrics.k8s.io"};
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        struct doc *d = discovery_legacy_group(str_of(groups[i]));
        CHECK(d != NULL);
        doc_unref(d);
    }
    struct doc *d = discovery_legacy_resources(STR("metrics.k8s.io"), STR("v1beta1"));
    REQUIRE(d != NULL);
    jval pods = jat(jgetc(doc_root(d), "resources"), 1);
    CHECK_CSTR(jstr(jgetc(pods, "kind")), "PodMetrics");
    CHECK_CSTR(jtext(jgetc(pods, "verbs")), "[\"get\",\"list\"]");
    doc_unref(d);
    d = discovery_legacy_group(STR("custom.metrics.k8s.io"));
    REQUIRE(d != NULL);
    CHECK_CSTR(jstr(jpath(doc_root(d), "preferredVersion.version")), "v1beta2");
    doc_unref(d);
    CHECK(openapi_v3(STR("metrics.k8s.io"), STR("v1beta1")) != NULL);
}
