/* Ten thousand pods in one set: they come, and what happens to one of them is the business
 * of few. One world for all of it, as it takes its time to make. */
#include "base/test.h"
#include "grove/types.h"
#include "sim/sim.h"

#define LIMIT (30 * USEC_PER_MIN)
#define POD "{containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}"
#define CLIQUE(name, n) \
    "{name: " name ", spec: {replicas: " n ", minAvailable: " n ", podSpec: " POD "}}"
#define GROUP(name, cliques, n) \
    "{name: " name ", cliqueNames: [" cliques "], replicas: " n ", minAvailable: 1}"
/* 1,250 x (1 + 3) and 1,000 x (1 + 4) pods. */
#define TEN_THOUSAND                                                                    \
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: s}\n"          \
    "spec: {replicas: 1, template: {cliques: [" CLIQUE("pl", "1") ", " CLIQUE(          \
        "pw", "3") ", " CLIQUE("dl",                                                    \
                               "1") ", " CLIQUE("dw",                                   \
                                                "4") "], podCliqueScalingGroups: "      \
                                                     "[" GROUP("prefill", "pl, pw",     \
                                                               "1250") ", " GROUP("dec" \
                                                                                  "od"  \
                                                                                  "e",  \
                                                                                  "dl," \
                                                                                  " d"  \
                                                                                  "w",  \
                                                                                  "100" \
                                                                                  "0") "]}}\n"
enum { MAX_OBJECT = 1 << 20 };

struct seen {
    size_t writes, pods, cliques, gangs; /* those made */
    size_t strange;                      /* writes to what is nobody's business */
    size_t largest;                      /* bytes of an object */
    str only;                            /* part of the names that may be touched; empty: any */
};

static void on_event(void *ctx, const struct store_event *e)
{
    struct seen *n = ctx;
    const struct kind *k = e->obj->kind;
    bool made = e->type == STORE_ADDED;
    n->largest = MAX(n->largest, jtext(obj_root(e->obj)).len);
    n->writes += k != &kind_event;
    n->pods += made && k == &kind_pod;
    n->cliques += made && k == &kind_pclq;
    n->gangs += made && k == &kind_pod_gang;
    /* The Service of the replica leads to all of its pods. */
    bool all = k == &kind_pcs || k == &kind_endpoints || k == &kind_endpoint_slice;
    if (n->only.len && k != &kind_event && !all && str_find(e->obj->name, n->only) < 0)
        n->strange++;
}

static bool is_ready(const struct obj *pod)
{
    return condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
}

static void patch(struct sim *s, const struct kind *k, const char *name, const char *json)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(str_of(json), NULL, &err);
    REQUIRE(d != NULL);
    CHECK_INT(sim_patch(s, k, STR("default"), str_of(name), STR_NONE, doc_root(d), &err), 0);
    doc_unref(d);
    CHECK(sim_settle(s, LIMIT));
}

static void check_noop(struct sim *s, struct seen *n)
{
    *n = (struct seen){0};
    patch(s, &kind_pcs, "s",
          "{\"metadata\":{\"annotations\":{\"grove.io/reconcile-trigger\":\"1\"}}}");
    CHECK_INT(n->writes, 1); /* the change itself */
}

/* Some pod whose name begins so; NULL: none. */
static const struct obj *find_pod(struct sim *s, const char *prefix)
{
    struct store_iter it = store_range(sim_store(s), &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    for (struct obj *pod; (pod = store_next(&it));) {
        if (str_starts(pod->name, str_of(prefix)))
            return pod;
    }
    return NULL;
}

static void check_lost_pod(struct sim *s, struct seen *n)
{
    struct err err = ERR_INIT;
    const struct obj *pod = find_pod(s, "s-0-decode-700-dw-");
    CHECK(pod != NULL);
    if (!pod)
        return;
    *n = (struct seen){.only = STR("s-0-decode")};
    CHECK_INT(sim_delete(s, &kind_pod, pod->ns, pod->name, &err), 0);
    CHECK(sim_settle(s, LIMIT));
    CHECK_INT(sim_count(s, &kind_pod, is_ready), 10000);
    CHECK_INT(n->pods, 1);
    CHECK_INT(n->cliques + n->gangs + n->strange, 0);
    /* The pod twice over, its clique and gang, what counts them: not one of the other thousands. */
    if (!CHECK(n->writes < 40))
        test_note("%zu writes", n->writes);
}

static void check_scale(struct sim *s, struct seen *n)
{
    *n = (struct seen){.only = STR("s-0-decode")};
    patch(s, &kind_pcsg, "s-0-decode", "{\"spec\":{\"replicas\":1001}}");
    CHECK_INT(n->pods, 5);
    CHECK_INT(n->cliques, 2);
    CHECK_INT(n->gangs, 1);
    CHECK_INT(n->strange, 0);
    CHECK_INT(sim_count(s, &kind_pod, is_ready), 10005);
}

TEST(ten_thousand_pods_come_and_one_is_the_business_of_few)
{
    struct err err = ERR_INIT;
    struct seen n = {0};
    struct sim_options o = {
        .seed = 1, .nodes = nodes_defaults, .split = true, .faults = sim_default_faults};
    o.nodes.count = 500;
    struct sim *s = sim_new(&o, &err);
    REQUIRE(s != NULL);
    sim_on_event(s, on_event, &n);
    CHECK_INT(sim_apply_yaml(s, STR(TEN_THOUSAND), &err), 0);
    REQUIRE(sim_settle(s, LIMIT));
    CHECK_INT(sim_count(s, &kind_pod, is_ready), 10000);
    CHECK_INT(sim_count(s, &kind_pclq, NULL), 4500);
    CHECK_INT(sim_count(s, &kind_pod_gang, NULL), 2249);
    if (!CHECK(n.largest < MAX_OBJECT))
        test_note("an object of %zu bytes", n.largest);
    check_noop(s, &n);
    check_lost_pod(s, &n);
    check_scale(s, &n);
    sim_free(s);
}
