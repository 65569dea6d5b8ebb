/* How much is written: counted on the revisions of a whole control plane. */
#include "apiserver/admission/quota.h"
#include "base/test.h"
#include "grove/names.h"
#include "grove/types.h"
#include "sim/sim.h"

#define LIMIT (10 * USEC_PER_MIN)
#define POD "{containers: [{name: c, image: i, resources: {requests: {cpu: 100m}}}]}"
/* 10 x (20 + 10 x 8) pods. */
#define THOUSAND                                                                                 \
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: s}\n"                   \
    "spec: {replicas: 10, template: {cliques: [{name: a, spec: {replicas: 20, minAvailable: 20," \
    " podSpec: " POD "}}, {name: b, spec: {replicas: 8, minAvailable: 8, podSpec: " POD "}}],"   \
    " podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 10, minAvailable: 10}]}}\n"
/* 2 + 2 x 3 pods. */
#define EIGHT                                                                                  \
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: s}\n"                 \
    "spec: {replicas: 1, template: {cliques: [{name: a, spec: {replicas: 2, podSpec: " POD     \
    "}}, {name: b, spec: {replicas: 3, podSpec: " POD "}}], podCliqueScalingGroups: [{name: g" \
    ", cliqueNames: [b], replicas: 2, minAvailable: 1}]}}\n"

struct counts {
    size_t pods, events, status, others; /* writes; status: of sets, groups, cliques and gangs */
    size_t objects;                      /* made, other than pods and Events */
    size_t strange;                      /* to what nobody should have touched */
    size_t routes;                       /* to what tells clients where a Service's pods are */
    str only;                            /* part of the names that may be touched */
};

static bool is_ours(const struct kind *k)
{
    return k == &kind_pcs || k == &kind_pcsg || k == &kind_pclq || k == &kind_pod_gang;
}

static void on_event(void *ctx, const struct store_event *e)
{
    struct counts *n = ctx;
    const struct kind *k = e->obj->kind;
    if (k == &kind_event)
        n->events++;
    else if (k == &kind_pod)
        n->pods++;
    else if (is_ours(k) && e->type == STORE_MODIFIED)
        n->status++;
    else
        n->others++;
    bool route = k == &kind_endpoints || k == &kind_endpoint_slice;
    n->routes += route;
    n->objects += e->type == STORE_ADDED && k != &kind_pod && k != &kind_event;
    if (n->only.len && !route && k != &kind_event && k != &kind_pcs &&
        str_find(e->obj->name, n->only) < 0)
        n->strange++;
}

static struct sim *start(const char *set, struct counts *n, bool schedule)
{
    struct err err = ERR_INIT;
    struct sim_options o = {
        .seed = 1, .nodes = nodes_defaults, .split = true, .faults = sim_default_faults};
    o.nodes.count = 10;
    struct sim *s = sim_new(&o, &err);
    REQUIRE(s != NULL);
    REQUIRE(sim_settle(s, LIMIT));
    if (!schedule)
        sim_stop(s, "scheduler");
    *n = (struct counts){0};
    sim_on_event(s, on_event, n);
    CHECK_INT(sim_apply_yaml(s, str_of(set), &err), 0);
    /* Without one of its parts a world never counts as settled. */
    CHECK(schedule ? sim_settle(s, LIMIT) : sim_advance(s, USEC_PER_MIN));
    return s;
}

static bool is_let_go(const struct obj *pod)
{
    return jlen(jgetc(obj_spec(pod), "schedulingGates")) == 0;
}

/* A pod is made and let go; everything else is a few writes for each object. */
TEST(a_fresh_set_costs_two_writes_per_pod_and_a_few_per_object)
{
    struct counts n;
    struct sim *s = start(THOUSAND, &n, false);
    CHECK_INT(sim_count(s, &kind_pod, is_let_go), 1000);
    CHECK(n.pods <= 2000);
    /* 110 cliques with as many budgets, 10 groups, gangs and services with two objects that say
     * where their pods are, and the set's own. */
    CHECK(n.objects >= 270 && n.objects < 280);
    if (!CHECK(n.status + n.others + n.events <= 12 * n.objects))
        test_note("status %zu, others %zu, events %zu", n.status, n.others, n.events);
    sim_free(s);
}

static void patch_set(struct sim *s, const char *json)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(str_of(json), NULL, &err);
    REQUIRE(d != NULL);
    CHECK_INT(sim_patch(s, &kind_pcs, STR("default"), STR("s"), STR_NONE, doc_root(d), &err), 0);
    doc_unref(d);
}

TEST(a_change_that_means_nothing_is_written_to_no_child)
{
    struct counts n;
    struct sim *s = start(THOUSAND, &n, true);
    n = (struct counts){0};
    patch_set(s, "{\"metadata\":{\"annotations\":{\"grove.io/reconcile-trigger\":\"1\"}}}");
    CHECK(sim_settle(s, LIMIT));
    CHECK_INT(n.status, 1); /* the change itself */
    CHECK_INT(n.pods + n.others + n.events, 0);
    sim_free(s);
}

TEST(a_pod_that_goes_is_the_business_of_its_clique_and_gang)
{
    struct counts n;
    struct sim *s = start(EIGHT, &n, true);
    struct err err = ERR_INIT;
    struct store_iter it = store_range(sim_store(s), &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    struct obj *pod = NULL;
    while ((pod = store_next(&it)) && !str_starts(pod->name, STR("s-0-g-1-b-")))
        ;
    REQUIRE(pod != NULL);
    n = (struct counts){.only = STR("s-0-g")};
    CHECK_INT(sim_delete(s, &kind_pod, pod->ns, pod->name, &err), 0);
    CHECK(sim_settle(s, LIMIT));
    CHECK_INT(sim_count(s, &kind_pod, NULL), 8);
    CHECK_INT(n.strange, 0);
    /* It goes, is gone, and another is there: in each of the two at most. */
    CHECK(n.routes > 0 && n.routes <= 8);
    sim_free(s);
}

/* Its pods are marked and its finalizer taken away, each once: what the answers say of it is known
 * before anybody looks again. */
TEST(a_clique_that_goes_is_let_go_once)
{
    struct counts n;
    struct sim *s = start(EIGHT, &n, true);
    struct err err = ERR_INIT;
    size_t before = sim_log(s).len, let_go = 0;
    struct doc *d = doc_parse(STR("{\"spec\":{\"replicas\":0}}"), NULL, &err);
    REQUIRE(d != NULL);
    CHECK_INT(sim_patch(s, &kind_pcs, STR("default"), STR("s"), STR_NONE, doc_root(d), &err), 0);
    doc_unref(d);
    CHECK(sim_settle(s, LIMIT));
    CHECK_INT(sim_count(s, &kind_pod, NULL), 0);
    str log = str_sub(sim_log(s), before, sim_log(s).len),
        mark = STR("release finalizer " FINALIZER_PCLQ);
    for (ssize_t at; (at = str_find(log, mark)) >= 0; let_go++)
        log = str_sub(log, (size_t)at + mark.len, log.len);
    CHECK_INT(let_go, 3);
    sim_free(s);
}

/* after a minute less than one create a second, of all cliques together; once there is room
 * they come. */
TEST(creates_that_a_quota_refuses_are_tried_again_in_moderation)
{
    struct counts n;
    struct err err = ERR_INIT;
    struct sim *s = start("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\n"
                          "spec: {hard: {pods: '0'}}\n",
                          &n, true);
    CHECK_INT(sim_apply_yaml(s, STR(EIGHT), &err), 0);
    CHECK(sim_advance(s, USEC_PER_MIN));
    uint64_t before = sim_stats(s).requests;
    CHECK(sim_advance(s, USEC_PER_MIN));
    uint64_t tried = sim_stats(s).requests - before;
    if (!CHECK(tried > 0 && tried <= 60))
        test_note("%llu requests in a minute", (unsigned long long)tried);
    CHECK_INT(sim_count(s, &kind_pod, NULL), 0);
    CHECK_INT(sim_delete(s, &kind_resource_quota, STR("default"), STR("q"), &err), 0);
    CHECK(sim_advance(s, USEC_PER_MIN));
    CHECK_INT(sim_count(s, &kind_pod, is_let_go), 8);
    sim_free(s);
}
