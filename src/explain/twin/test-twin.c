/* twin: a cluster in which something is tried. */
#include "explain/twin/twin.h"

#include "explain/documents/test-picture.h"
#include "grove/types.h"

/* ---- what would take too long ---- */

#define TEMPLATE(cliques, groups) \
    "template: {cliques: [" cliques "], podCliqueScalingGroups: [" groups "]}"
#define OF(name, n) "{name: " name ", spec: {replicas: " #n "}}"

TEST(what_no_cluster_holds_is_not_tried)
{
    static const struct {
        const char *name, *nodes, *spec, *want;
    } cases[] = {
        {"small ones are always tried", "", "replicas: 10, " TEMPLATE(OF("a", 100), ""), ""},
        {"one more", "", "replicas: 11, " TEMPLATE(OF("a", 91), ""),
         "1001 pods are asked for, and the nodes hold at most 0: ask for fewer"},
        {"the nodes would hold them", "nodes n 10\n", "replicas: 11, " TEMPLATE(OF("a", 100), ""),
         ""},
        {"and would not", "nodes n 10\n", "replicas: 11, " TEMPLATE(OF("a", 101), ""),
         "1111 pods are asked for, and the nodes hold at most 1100: ask for fewer"},
        {"replicas of groups count", "",
         "replicas: 2, " TEMPLATE(OF("a", 3) ", " OF("b", 1),
                                  "{name: g, cliqueNames: [a], replicas: 200}"),
         "1202 pods are asked for, and the nodes hold at most 0: ask for fewer"},
        {"one is meant where none is said", "", TEMPLATE("{name: a, spec: {}}", ""), ""},
        {"numbers that leave every range", "",
         "replicas: 9223372036854775807, " TEMPLATE(OF("a", 9223372036854775807), ""),
         "more than 2147483647 pods are asked for, and the nodes hold at most 0: ask for fewer"},
        {"less than none", "", "replicas: -5, " TEMPLATE(OF("a", 2000), ""), ""},
        {"no numbers", "", "replicas: many, " TEMPLATE(OF("a", 2000), ""),
         "2000 pods are asked for, and the nodes hold at most 0: ask for fewer"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_picture *t = tp_new(cases[i].nodes);
        struct err err = ERR_INIT;
        doc_vec docs = {0};
        str text = arena_printf(&t->arena, "{kind: PodCliqueSet, spec: {%s}}", cases[i].spec);
        REQUIRE(yaml_parse(text, &docs, &err) == 0);
        int r = twin_check_size(&t->picture, &docs, &err);
        CHECK_INT(r != 0, cases[i].want[0] != 0);
        if (!CHECK_CSTR(r ? str_of(err.message) : STR_NONE, cases[i].want))
            test_note("case: %s", cases[i].name);
        doc_vec_done(&docs);
        tp_free(t);
    }
}

/* ---- what fits ---- */

static void create(struct twin *w, const char *yaml, const char *want_error)
{
    struct err err = ERR_INIT;
    struct doc *d = yaml_parse_one(str_of(yaml), &err);
    REQUIRE(d != NULL);
    int r = twin_create(w, &kind_pcs, STR("default"), d, true, &err);
    if (want_error)
        CHECK(r != 0 && str_find(str_of(err.message), str_of(want_error)) >= 0);
    else
        CHECK_INT(r, 0);
    if (r && !want_error)
        test_note("%s", err.message);
    doc_unref(d);
}

/* "2 of 3 pods on nodes" of the set, and what is found of it. */
static str told_of(struct twin *w, struct arena *a)
{
    struct picture p;
    struct findings f;
    struct strbuf b = STRBUF_INIT(1 << 20);
    twin_picture(w, STR("default"), PICTURE_OF_SETS | PICTURE_CAPACITY, &p);
    struct pod_count n = count_pods(&p, STR("new"));
    const struct obj *pcs = picture_find(&p, PICTURE_SETS, STR("new"));
    REQUIRE(pcs != NULL);
    strbuf_printf(&b, "%lld of %lld pods on nodes\n", (long long)n.bound, (long long)n.wanted);
    findings_of_set(&p, pcs, a, &f);
    for (size_t i = 0; i < f.items.len && i < 1; i++)
        strbuf_printf(&b, "%.*s\n", STR_ARG(f.items.p[i].verdict));
    findings_done(&f);
    str text = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

#define NEW(replicas, more)                                                                        \
    "{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: new}, spec: {replicas: " \
    "1, template: {cliques: [{name: w, spec: {roleName: w, replicas: " #replicas more              \
    ", podSpec: {containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: "           \
    "8}}}]}}}]}}}"
#define NODES(n) "nodes n " #n " has nvidia.com/gpu 8\n"

TEST(a_set_is_tried_on_what_is_free)
{
    static const struct {
        const char *name, *lines, *set, *want;
    } cases[] = {
        {"there is room", NODES(2), NEW(2, ""),
         "2 of 2 pods on nodes\n2 pods of new-0-w are starting on their nodes\n"},
        {"there is none", NODES(2), NEW(3, ""),
         "0 of 3 pods on nodes\n"
         "gang new-0 does not fit: new-0-w: 2 of 3 pods fit; the nodes lack nvidia.com/gpu for "
         "more; it would not fit even if all others left\n"},
        {"above the minimum there is none", NODES(2), NEW(3, ", minAvailable: 2"),
         "2 of 3 pods on nodes\n1 pod of new-0-w waits for a node\n"},
        {"others hold it", NODES(2) "pod other-0-a-0 on n1 asks nvidia.com/gpu 1\n", NEW(2, ""),
         "0 of 2 pods on nodes\n"
         "gang new-0 does not fit: new-0-w: 1 of 2 pods fit; the nodes lack nvidia.com/gpu for "
         "more\n"},
        {"others have ended", NODES(2) "pod other-0-a-0 on n1 asks nvidia.com/gpu 1 phase Failed\n",
         NEW(2, ""), "2 of 2 pods on nodes\n2 pods of new-0-w are starting on their nodes\n"},
        {"its own pods are not in its way", NODES(2) "pods new-0-w 2 on n1 asks nvidia.com/gpu 4\n",
         NEW(2, ""), "2 of 2 pods on nodes\n2 pods of new-0-w are starting on their nodes\n"},
        {"nodes are cordoned", "nodes n 2 has nvidia.com/gpu 8 cordoned\n", NEW(1, ""),
         "0 of 1 pods on nodes\n"
         "gang new-0 does not fit: new-0-w: 0 of 1 pods fit; no node admits its pods (2 cordoned); "
         "it would not fit even if all others left\n"},
        {"no node has such a thing", "nodes n 2\n", NEW(1, ""),
         "0 of 1 pods on nodes\n"
         "gang new-0 is not placed: new-0-w: no node has any nvidia.com/gpu\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_picture *t = tp_new(cases[i].lines);
        struct err err = ERR_INIT;
        struct twin *w = twin_new(&t->picture, STR("default"), STR("new"), &err);
        if (!w)
            test_note("%s: %s", cases[i].name, err.message);
        REQUIRE(w != NULL);
        create(w, cases[i].set, NULL);
        CHECK(twin_settle(w));
        if (!CHECK_CSTR(told_of(w, &t->arena), cases[i].want))
            test_note("case: %s", cases[i].name);
        twin_free(w);
        tp_free(t);
    }
}

TEST(what_the_server_refuses_the_twin_refuses)
{
    struct test_picture *t = tp_new(NODES(1));
    struct err err = ERR_INIT;
    struct twin *w = twin_new(&t->picture, STR("default"), STR("new"), &err);
    REQUIRE(w != NULL);
    create(w, NEW(0, ", minAvailable: 2"), "minAvailable");
    create(w, NEW(1, ", colour: red"), "colour");
    create(w, NEW(1, ""), NULL);
    create(w, NEW(1, ""), "already exists");
    twin_free(w);
    tp_free(t);
}

/* ---- what happens ---- */

TEST(news_are_told_once)
{
    struct test_picture *t = tp_new(NODES(2));
    struct err err = ERR_INIT;
    struct twin *w = twin_new(&t->picture, STR("default"), STR("new"), &err);
    REQUIRE(w != NULL);
    create(w, NEW(2, ""), NULL);
    CHECK(twin_settle(w));
    twin_watch(w, STR("default"));
    struct twin_news news = twin_news(w);
    CHECK_INT(news.n, 5); /* set, clique, gang, two pods */
    CHECK_INT(twin_news(w).n, 0);
    uint64_t before = twin_revision(w);
    usec began = twin_time(w);
    CHECK(twin_run(w, 10 * USEC_PER_SEC)); /* nodes make them ready */
    CHECK(twin_revision(w) > before && twin_time(w) - began >= 10 * USEC_PER_SEC);
    CHECK_CSTR(told_of(w, &t->arena), "2 of 2 pods on nodes\n");
    news = twin_news(w);
    CHECK(news.n > 0);
    for (size_t i = 0; i < news.n; i++) {
        for (size_t k = 0; k < i; k++)
            CHECK(!str_eq(news.changes[i].obj->uid, news.changes[k].obj->uid));
        CHECK(!news.changes[i].gone);
    }
    twin_free(w);
    tp_free(t);
}

/* ---- what no healthy cluster has ---- */

TEST(a_twin_of_a_strange_cluster_is_made_or_the_reason_told)
{
    static const char *const cases[] = {
        "node n1 {status: null, spec: null}\n",
        "node n1 {status: {allocatable: 7, capacity: [x], conditions: {a: 1}}}\n",
        "node n1 {status: {allocatable: {cpu: -1, memory: 99999999999999Ei, pods: many}}}\n",
        "node n1 {spec: {taints: {key: x}, unschedulable: 'yes'}}\n",
        "node n1\npod x-0-a-0 on n1 {spec: {containers: null}}\n",
        "node n1\npod x-0-a-0 on n1 {spec: {containers: 7, affinity: [], overhead: x}}\n",
        "pod x-0-a-0 on nowhere asks cpu 1\n",
        "node n1\npod x-0-a-0 on n1 {metadata: {labels: [1, 2]}}\n",
        "node n1\npod x-0-a-0 in strange on n1 asks cpu 1\n",
        "node n1 {metadata: {labels: {\"\\e[31m\": \"\\e[0m\"}}}\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_picture *t = tp_new(cases[i]);
        struct err err = ERR_INIT;
        struct twin *w = twin_new(&t->picture, STR("default"), STR("new"), &err);
        if (!CHECK(w || (err.code && err.message[0])))
            test_note("case: %s", cases[i]);
        if (w) {
            create(w, NEW(1, ""), NULL);
            CHECK(twin_settle(w));
            (void)told_of(w, &t->arena);
        }
        twin_free(w);
        tp_free(t);
    }
}
