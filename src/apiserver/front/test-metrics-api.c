/* The metrics APIs: paths, and answers computed from what annotations say. */
#include "apiserver/front/front.h"
#include "apiserver/front/metrics_api.h"
#include "apiserver/test-apiserver-fixture.h"

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
    struct metrics_figures figures = {f->store, apiserver_feed(f->server), NOW};
    struct doc *d = metrics_api_answer(&p, &q, &figures, &f->arena, &why);
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

/* ---- feeding ---- */

/* With single quotes made double. */
static str quoted(struct fixture *f, const char *text)
{
    str s = text_of(f, "%s", text);
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '\'')
            ((char *)s.p)[i] = '"';
    }
    return s;
}

static int put(struct fixture *f, const char *path, const char *selector, const char *body)
{
    struct metrics_path p;
    struct metrics_query q = {.label_selector = str_of(selector)};
    struct metrics_figures figures = {f->store, apiserver_feed(f->server), NOW};
    REQUIRE(metrics_api_parse(str_of(path), &f->arena, &p));
    struct status *why = metrics_api_put(&p, &q, &figures, quoted(f, body), &f->arena);
    return why ? why->code : 200;
}

static int unset(struct fixture *f, const char *path, const char *selector)
{
    struct metrics_path p;
    struct metrics_query q = {.label_selector = str_of(selector)};
    struct metrics_figures figures = {f->store, apiserver_feed(f->server), NOW};
    REQUIRE(metrics_api_parse(str_of(path), &f->arena, &p));
    struct status *why = metrics_api_delete(&p, &q, &figures, &f->arena);
    return why ? why->code : 200;
}

/* "a=7 b=9": the objects and values of a list. */
static void check_values(struct fixture *f, const char *path, const char *want)
{
    int code;
    struct strbuf b = STRBUF_INIT(4096);
    for (struct jiter it = jiter(jgetc(ask(f, path, "", &code), "items")); jnext(&it);)
        strbuf_printf(&b, "%s%.*s=%.*s", b.len ? " " : "",
                      STR_ARG(jstr(jpath(it.value, "describedObject.name"))),
                      STR_ARG(jstr(jgetc(it.value, "value"))));
    if (!CHECK_CSTR(strbuf_str(&b), want))
        test_note("%s", path);
    strbuf_done(&b);
}

TEST(what_is_put_is_read_at_the_same_path)
{
    struct fixture f;
    setup(&f);
    CHECK_INT(put(&f, C "namespaces/ns/pods/a/depth", "", "'1500m'"), 200);
    check_values(&f, C "namespaces/ns/pods/a/depth", "a=1500m");
    check_values(&f, C1 "namespaces/ns/pods/%2A/depth", "a=1500m b=9");
    CHECK_INT(put(&f, C "namespaces/ns/pods/%2A/depth", "app=a", "{'value':12,'ttlSeconds':60}"),
              200);
    check_values(&f, C "namespaces/ns/pods/%2A/depth", "a=12 b=12");
    CHECK_INT(put(&f, C1 "namespaces/ns/replicasets.apps/rs/rps", "", "250"), 200);
    check_values(&f, C "namespaces/ns/replicasets.apps/rs/rps", "rs=250");
    CHECK_INT(put(&f, C "nodes/n1/heat", "", "'40'"), 200);
    check_values(&f, C "nodes/n1/heat", "n1=40");
    CHECK_INT(put(&f, C "namespaces/ns/metrics/pressure", "", "'3'"), 200);
    check_values(&f, C "namespaces/ns/metrics/pressure", "ns=3");
    fixture_run(&f, 2 * USEC_PER_MIN);
    check_values(&f, C "namespaces/ns/pods/%2A/depth", "a=7 b=9");
    fixture_done(&f);
}

TEST(external_metrics_are_put_by_their_labels)
{
    struct fixture f;
    int code;
    setup(&f);
    CHECK_INT(
        put(&f, E "namespaces/ns/q", "", "{'value':'5','metricLabels':{'zone':'z','queue':'b'}}"),
        200);
    CHECK_INT(put(&f, E "namespaces/ns/q", "", "{'value':'7','metricLabels':{'queue':'a'}}"), 200);
    jval list = jgetc(ask(&f, E "namespaces/ns/q", "", &code), "items");
    CHECK_INT(jlen(list), 2);
    CHECK_CSTR(jtext(jgetc(jat(list, 1), "metricLabels")), "{\"queue\":\"b\",\"zone\":\"z\"}");
    list = jgetc(ask(&f, E "namespaces/ns/q", "queue=a", &code), "items");
    CHECK_INT(jlen(list), 1);
    CHECK_CSTR(jstr(jgetc(jat(list, 0), "value")), "7");
    CHECK_INT(unset(&f, E "namespaces/ns/q", "queue=a"), 200);
    CHECK_INT(jlen(jgetc(ask(&f, E "namespaces/ns/q", "", &code), "items")), 1);
    CHECK_INT(unset(&f, E "namespaces/ns/q", ""), 200);
    CHECK_INT(unset(&f, E "namespaces/ns/q", ""), 404);
    fixture_done(&f);
}

TEST(what_is_unset_or_deleted_is_gone)
{
    struct fixture f;
    setup(&f);
    CHECK_INT(put(&f, C "namespaces/ns/pods/%2A/q", "", "1"), 200);
    CHECK_INT(unset(&f, C "namespaces/ns/pods/a/q", ""), 200);
    check_values(&f, C "namespaces/ns/pods/%2A/q", "b=1");
    CHECK_INT(unset(&f, C "namespaces/ns/pods/a/q", ""), 404);
    CHECK_INT(put(&f, C "namespaces/ns/replicasets.apps/rs/q", "", "4"), 200);
    REQUIRE(delete (&f, &kind_replica_set, "ns", "rs") == 200);
    fixture_run(&f, USEC_PER_SEC);
    check_values(&f, C "namespaces/ns/replicasets.apps/%2A/q", "");
    CHECK_INT(unset(&f, C "namespaces/ns/pods/%2A/q", ""), 200);
    check_values(&f, C "namespaces/ns/pods/%2A/q", "");
    fixture_done(&f);
}

TEST(what_is_no_metric_is_refused_and_changes_nothing)
{
    static const struct {
        const char *path, *selector, *body;
        int want;
    } cases[] = {
        {C "namespaces/ns/pods/a/q", "", "", 400},
        {C "namespaces/ns/pods/a/q", "", "{", 400},
        {C "namespaces/ns/pods/a/q", "", "NaN", 400},
        {C "namespaces/ns/pods/a/q", "", "'NaN'", 422},
        {C "namespaces/ns/pods/a/q", "", "'+Inf'", 422},
        {C "namespaces/ns/pods/a/q", "", "''", 422},
        {C "namespaces/ns/pods/a/q", "", "'12 '", 422},
        {C "namespaces/ns/pods/a/q", "", "-1", 422},
        {C "namespaces/ns/pods/a/q", "", "'-1m'", 422},
        {C "namespaces/ns/pods/a/q", "", "1e999", 422},
        {C "namespaces/ns/pods/a/q", "", "9223372036854775807", 422},
        {C "namespaces/ns/pods/a/q", "", "1e18", 422},
        {C "namespaces/ns/pods/a/q", "", "null", 422},
        {C "namespaces/ns/pods/a/q", "", "true", 422},
        {C "namespaces/ns/pods/a/q", "", "[1]", 422},
        {C "namespaces/ns/pods/a/q", "", "{}", 422},
        {C "namespaces/ns/pods/a/q", "", "{'value':{}}", 422},
        {C "namespaces/ns/pods/a/q", "", "{'value':1,'ttlSeconds':0}", 422},
        {C "namespaces/ns/pods/a/q", "", "{'value':1,'ttlSeconds':1e300}", 422},
        {C "namespaces/ns/pods/a/q", "", "{'value':1,'ttlSeconds':604801}", 422},
        {C "namespaces/ns/pods/a/q", "", "{'value':1,'labels':{}}", 422},
        {C "namespaces/ns/pods/a/q", "", "{'value':1,'metricLabels':{'a':'b'}}", 422},
        {C "namespaces/ns/pods/a/a%20b", "", "1", 422},
        {C "namespaces/ns/pods/a/a%2Fb", "", "1", 422},
        {C "namespaces/ns/pods/a/a%00b", "", "1", 422},
        {C "namespaces/ns/pods/a/q", "app=a", "1", 400},
        {C "namespaces/ns/pods/%2A/q", "app in (", "1", 400},
        {C "namespaces/ns/pods/%2A/q", "app=none", "1", 404},
        {C "namespaces/ns/pods/zzz/q", "", "1", 404},
        {C "namespaces/ns/zzz/a/q", "", "1", 404},
        {C "namespaces/zzz/metrics/q", "", "1", 404},
        {E "namespaces/zzz/q", "", "1", 404},
        {E "namespaces/ns/q", "queue=a", "1", 400},
        {E "namespaces/ns/q", "", "{'value':1,'metricLabels':[]}", 422},
        {E "namespaces/ns/q", "", "{'value':1,'metricLabels':{'a,b':'c'}}", 422},
        {E "namespaces/ns/q", "", "{'value':1,'metricLabels':{'a':'b=c'}}", 422},
        {E "namespaces/ns/q", "", "{'value':1,'metricLabels':{'a':7}}", 422},
        {R "namespaces/ns/pods/a", "", "1", 405},
        {R "nodes/n1", "", "1", 405},
    };
    struct fixture f;
    size_t n;
    setup(&f);
    uint64_t before = metrics_feed_names_version(apiserver_feed(f.server));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (!CHECK_INT(put(&f, cases[i].path, cases[i].selector, cases[i].body), cases[i].want))
            test_note("%s %s", cases[i].path, cases[i].body);
    }
    CHECK_INT(metrics_feed_names_version(apiserver_feed(f.server)), before);
    /* A body that is larger than any metric, and a name that is longer. */
    struct strbuf big = STRBUF_INIT(1 << 20);
    strbuf_add_char(&big, '1');
    for (int i = 0; i < 70000; i++)
        strbuf_add_char(&big, '0');
    CHECK_INT(put(&f, C "namespaces/ns/pods/a/q", "", big.p), 413);
    strbuf_reset(&big);
    strbuf_add_cstr(&big, C "namespaces/ns/pods/a/");
    for (int i = 0; i < METRICS_NAME_MAX + 1; i++)
        strbuf_add_char(&big, 'm');
    CHECK_INT(put(&f, big.p, "", "1"), 422);
    big.p[big.len - 1] = '\0';
    CHECK_INT(put(&f, big.p, "", "1"), 200);
    strbuf_done(&big);
    (void)metrics_names_all(apiserver_metric_names(f.server), &n);
    CHECK(n > 0);
    fixture_done(&f);
}

/* ---- names ---- */

static void check_listed(struct fixture *f, const char *group, const char *version,
                         const char *want)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    struct doc *d = discovery_legacy_resources(str_of(group), str_of(version),
                                               apiserver_metric_names(f->server));
    REQUIRE(d != NULL);
    for (struct jiter it = jiter(jgetc(doc_root(d), "resources")); jnext(&it);)
        strbuf_printf(&b, "%s%.*s", b.len ? " " : "", STR_ARG(jstr(jgetc(it.value, "name"))));
    if (!CHECK_CSTR(strbuf_str(&b), want))
        test_note("%s/%s", group, version);
    strbuf_done(&b);
    doc_unref(d);
}

TEST(discovery_lists_the_metrics_there_are_by_name)
{
    struct fixture f;
    setup(&f);
    fixture_run(&f, USEC_PER_SEC);
    /* A ReplicaSet and a pod speak of depth, and what the ReplicaSet says its pods report. */
    check_listed(&f, "custom.metrics.k8s.io", "v1beta1", "pods/depth replicasets.apps/depth");
    check_listed(&f, "external.metrics.k8s.io", "v1beta1", "");
    CHECK_INT(put(&f, C "namespaces/ns/pods/a/training_throughput", "", "1"), 200);
    CHECK_INT(put(&f, C "namespaces/ns/pods/a/depth", "", "1"), 200);
    CHECK_INT(put(&f, C "nodes/n1/heat", "", "1"), 200);
    CHECK_INT(put(&f, E "namespaces/ns/jobs", "", "1"), 200);
    check_listed(&f, "custom.metrics.k8s.io", "v1beta1",
                 "nodes/heat pods/depth pods/training_throughput replicasets.apps/depth");
    check_listed(&f, "custom.metrics.k8s.io", "v1beta2",
                 "nodes/heat pods/depth pods/training_throughput replicasets.apps/depth");
    check_listed(&f, "external.metrics.k8s.io", "v1beta1", "jobs");
    struct doc *d = discovery_legacy_resources(STR("custom.metrics.k8s.io"), STR("v1beta1"),
                                               apiserver_metric_names(f.server));
    CHECK_CSTR(jtext(jat(jgetc(doc_root(d), "resources"), 0)),
               "{\"name\":\"nodes/heat\",\"singularName\":\"\",\"namespaced\":false,"
               "\"kind\":\"MetricValueList\",\"verbs\":[\"get\"]}");
    doc_unref(d);
    REQUIRE(delete (&f, &kind_replica_set, "ns", "rs") == 200);
    fixture_run(&f, USEC_PER_SEC);
    CHECK_INT(unset(&f, C "namespaces/ns/pods/a/training_throughput", ""), 200);
    check_listed(&f, "custom.metrics.k8s.io", "v1beta1", "nodes/heat pods/depth");
    fixture_done(&f);
}

/* A client asks every time for what it cannot keep, and it keeps no empty list. */
TEST(a_group_without_metrics_is_served_but_not_listed)
{
    struct fixture f;
    struct discovery_pages pages = {0};
    fixture_init(&f);
    struct metrics_names *names = apiserver_metric_names(f.server);
    struct doc *d = discovery_legacy_groups(names);
    CHECK(str_find(doc_text(d), STR("\"metrics.k8s.io\"")) > 0);
    CHECK(str_find(doc_text(d), STR("custom.metrics.k8s.io")) < 0);
    doc_unref(d);
    CHECK(str_find(doc_text(discovery_aggregated(&pages, false, names)->doc),
                   STR("external.metrics.k8s.io")) < 0);
    check_listed(&f, "custom.metrics.k8s.io", "v1beta1", "");
    CHECK_INT(put(&f, E "namespaces/ns/jobs", "", "1"), 200);
    d = discovery_legacy_groups(names);
    CHECK(str_find(doc_text(d), STR("external.metrics.k8s.io")) > 0);
    CHECK(str_find(doc_text(d), STR("custom.metrics.k8s.io")) < 0);
    doc_unref(d);
    CHECK(str_find(doc_text(discovery_aggregated(&pages, false, names)->doc),
                   STR("external.metrics.k8s.io")) > 0);
    discovery_pages_done(&pages);
    fixture_done(&f);
}

TEST(aggregated_discovery_has_the_same_names)
{
    struct fixture f;
    struct discovery_pages pages = {0};
    setup(&f);
    CHECK_INT(put(&f, C "namespaces/ns/pods/a/x", "", "1"), 200);
    CHECK_INT(put(&f, C "nodes/n1/heat", "", "1"), 200);
    CHECK_INT(put(&f, E "namespaces/ns/jobs", "", "1"), 200);
    struct metrics_names *names = apiserver_metric_names(f.server);
    str text = doc_text(discovery_aggregated(&pages, false, names)->doc);
    CHECK(str_find(text, STR("{\"resource\":\"pods\",\"responseKind\":{\"group\":\"\",\"version\":"
                             "\"\",\"kind\":\"\"},\"scope\":\"Namespaced\",\"singularResource\":"
                             "\"\",\"verbs\":[],\"subresources\":[")) > 0);
    CHECK(str_find(text, STR("{\"subresource\":\"x\",\"responseKind\":{\"group\":\"\",\"version\":"
                             "\"\",\"kind\":\"MetricValueList\"},\"verbs\":[\"get\"]}")) > 0);
    CHECK(str_find(text, STR("{\"resource\":\"jobs\",\"responseKind\":{\"group\":\"\",\"version\":"
                             "\"\",\"kind\":\"ExternalMetricValueList\"}")) > 0);
    const struct doc *d = discovery_aggregated(&pages, false, names)->doc;
    CHECK(discovery_aggregated(&pages, false, names)->doc == d);
    CHECK_INT(unset(&f, E "namespaces/ns/jobs", ""), 200);
    CHECK(str_find(doc_text(discovery_aggregated(&pages, false, names)->doc),
                   STR("ExternalMetricValueList")) < 0);
    discovery_pages_done(&pages);
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
    struct doc *d = discovery_legacy_resources(STR("metrics.k8s.io"), STR("v1beta1"), NULL);
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
