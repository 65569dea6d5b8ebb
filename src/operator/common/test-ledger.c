/* The ledger: floors, budgets, who is asked and who is refused. */
#include "base/test.h"
#include "operator/common/ledger.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

/* Clique svc-0-fe has 3 pods and needs 2; group svc-0-pf has 3 replicas and needs 1. All serve. */
static struct ring serving(void)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    return r;
}

static struct obj *pod_at(struct ring *r, const char *clique, size_t n)
{
    const struct obj *o = tw_must(r->world, &kind_pclq, clique);
    struct cache_iter it = world_owned(&r->world->world, &kind_pod, o->uid);
    struct obj *pod = cache_next(&it);
    while (pod && n-- > 0)
        pod = cache_next(&it);
    REQUIRE(pod != NULL);
    return pod;
}

static bool allows(struct ring *r, const struct obj *o, str component, struct strbuf *why)
{
    struct plan_write w = {.op = PLAN_DELETE,
                           .kind = o->kind,
                           .ns = o->ns,
                           .name = o->name,
                           .uid = o->uid,
                           .component_uid = component};
    strbuf_reset(why);
    return ledger_check(NULL, &r->world->world, &w, why);
}

static bool may_delete_pod(struct ring *r, size_t n, struct strbuf *why)
{
    return allows(r, pod_at(r, "svc-0-fe", n), tw_must(r->world, &kind_pclq, "svc-0-fe")->uid, why);
}

static void delete_pod(struct ring *r, size_t n)
{
    struct arena a = ARENA_INIT;
    tw_delete(r->world, &kind_pod, arena_str(&a, pod_at(r, "svc-0-fe", n)->name).p);
    arena_done(&a);
}

static void check_clique(struct ring *r, int64_t available, int64_t floor, int64_t free_units)
{
    struct budget b = ledger_of_clique(&r->world->world, tw_must(r->world, &kind_pclq, "svc-0-fe"));
    CHECK_INT(b.available, available);
    CHECK_INT(b.floor, floor);
    CHECK_INT(b.free, free_units);
}

TEST(what_is_above_the_minimum_is_free)
{
    struct ring r = serving();
    struct strbuf why = STRBUF_INIT(1000);
    check_clique(&r, 3, 2, 1);
    CHECK(may_delete_pod(&r, 0, &why));
    strbuf_done(&why);
    ring_free(&r);
}

TEST(a_pod_that_is_going_uses_the_budget_up)
{
    struct ring r = serving();
    struct strbuf why = STRBUF_INIT(1000);
    delete_pod(&r, 0);
    str holder = pod_at(&r, "svc-0-fe", 0)->name;
    check_clique(&r, 2, 2, 0);
    CHECK(!may_delete_pod(&r, 1, &why));
    /* It says what it counted, and who holds the budget. */
    struct arena a = ARENA_INIT;
    str want = arena_printf(&a,
                            "Pod %.*s stays: PodClique svc-0-fe has 2 of 3 pods available, at "
                            "least 2 must stay (minAvailable 2); the budget is held by %.*s",
                            STR_ARG(pod_at(&r, "svc-0-fe", 1)->name), STR_ARG(holder));
    CHECK_STR(strbuf_str(&why), want);
    arena_done(&a);
    strbuf_done(&why);
    ring_free(&r);
}

/* What does not serve is nobody's loss, whatever the budget. */
TEST(pods_that_do_not_serve_are_never_refused)
{
    struct ring r = serving();
    struct strbuf why = STRBUF_INIT(1000);
    delete_pod(&r, 0);
    struct arena a = ARENA_INIT;
    const char *name = arena_str(&a, pod_at(&r, "svc-0-fe", 1)->name).p;
    tw_patch(r.world, &kind_pod, name, "{status: {conditions: [{type: Ready, status: 'False'}]}}");
    CHECK(may_delete_pod(&r, 1, &why));
    CHECK(!may_delete_pod(&r, 2, &why));
    check_clique(&r, 1, 2, -1);
    arena_done(&a);
    strbuf_done(&why);
    ring_free(&r);
}

/* Nobody can keep more than were asked for. */
TEST(the_floor_is_at_most_what_is_wanted)
{
    struct ring r = serving();
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 1}}");
    check_clique(&r, 3, 1, 2);
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 0}}");
    check_clique(&r, 3, 0, 3);
    ring_free(&r);
}

TEST(an_update_under_way_lowers_the_floor)
{
    struct ring r = serving();
    tw_patch(r.world, &kind_pclq, "svc-0-fe",
             "{status: {updateProgress: {updateStartedAt: '2026-01-01T00:00:00Z', "
             "podCliqueSetGenerationHash: h, podTemplateHash: t}}}");
    check_clique(&r, 3, 1, 2);
    tw_patch(r.world, &kind_pclq, "svc-0-fe",
             "{status: {updateProgress: {updateEndedAt: '2026-01-01T00:00:09Z'}}}");
    check_clique(&r, 3, 2, 1);
    ring_free(&r);
}

/* Whole minimums move together, also where it is said that nothing may be missing and what was
 * surged found no place: a gang of which half was taken would wait for the other half. */
TEST(a_coherent_update_may_take_a_minimum)
{
    struct ring r = serving();
    tw_patch(r.world, &kind_pcs, "svc",
             "{spec: {updateStrategy: {type: Coherent}, template: {cliques: [{name: fe, "
             "rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}]}}}");
    tw_patch(r.world, &kind_pclq, "svc-0-fe",
             "{status: {updateProgress: {updateStartedAt: '2026-01-01T00:00:00Z', "
             "podCliqueSetGenerationHash: h, podTemplateHash: t}}}");
    check_clique(&r, 3, 0, 3);
    ring_free(&r);
}

/* ---- groups ---- */

static struct budget group_budget(struct ring *r)
{
    return ledger_of_group(&r->world->world, tw_must(r->world, &kind_pcsg, "svc-0-pf"));
}

TEST(the_unit_of_a_group_is_a_whole_replica)
{
    struct ring r = serving();
    CHECK_INT(group_budget(&r).available, 3);
    CHECK_INT(group_budget(&r).floor, 1);
    CHECK_INT(group_budget(&r).free, 2);
    /* One pod of four below the minimum of its clique: the replica does not serve. */
    struct arena a = ARENA_INIT;
    tw_patch(r.world, &kind_pod, arena_str(&a, pod_at(&r, "svc-0-pf-1-pw", 0)->name).p,
             "{status: {conditions: []}}");
    CHECK_INT(group_budget(&r).available, 2);
    arena_done(&a);
    ring_free(&r);
}

/* Two cliques make a replica: taking the second costs nothing more. */
TEST(the_rest_of_a_replica_goes_with_it)
{
    struct ring r = serving();
    struct strbuf why = STRBUF_INIT(1000);
    str group = tw_must(r.world, &kind_pcsg, "svc-0-pf")->uid;
    tw_delete(r.world, &kind_pclq, "svc-0-pf-2-pl");
    tw_delete(r.world, &kind_pclq, "svc-0-pf-1-pl");
    CHECK_INT(group_budget(&r).available, 1);
    CHECK_INT(group_budget(&r).free, 0);
    CHECK(allows(&r, tw_must(r.world, &kind_pclq, "svc-0-pf-2-pw"), group, &why));
    CHECK(!allows(&r, tw_must(r.world, &kind_pclq, "svc-0-pf-0-pw"), group, &why));
    CHECK(strstr(why.p, "1 of 3 replicas available, at least 1 must stay") != NULL);
    /* A pod counts for its group when the write says so. */
    CHECK(!allows(&r, pod_at(&r, "svc-0-pf-0-pl", 0), group, &why));
    CHECK(allows(&r, pod_at(&r, "svc-0-pf-1-pw", 0), group, &why));
    strbuf_done(&why);
    ring_free(&r);
}

TEST(a_write_about_somebody_else_is_not_judged)
{
    struct ring r = serving();
    struct strbuf why = STRBUF_INIT(1000);
    CHECK(allows(&r, pod_at(&r, "svc-0-fe", 0), STR("no such component"), &why));
    CHECK_INT(why.len, 0);
    strbuf_done(&why);
    ring_free(&r);
}
