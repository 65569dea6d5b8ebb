/* A round of the scheduler over a world: which binds it plans, and what it tells. */
#include "base/test.h"
#include "grove/names.h"
#include "grove/test-world.h"
#include "sched/sched.h"

static struct test_world *world_new(void)
{
    struct test_world *t = tw_new();
    sched_add_indexes(t->runtime);
    return t;
}

static void plan_round(struct test_world *t)
{
    (void)tw_plan(t, sched_plan, NULL, &kind_pod_gang, "round");
}

static void add_nodes(struct test_world *t, int n, int cpu)
{
    for (int i = 1; i <= n; i++)
        tw_loadf(t,
                 "{apiVersion: v1, kind: Node, metadata: {name: n%d}, spec: {}, status: "
                 "{allocatable: {cpu: '%d', pods: '110'}, conditions: [{type: Ready, status: "
                 "'True'}]}}",
                 i, cpu);
}

/* "w-0" is of the gang "w". */
static void add_pod(struct test_world *t, const char *name, int cpu, const char *more)
{
    str gang = str_sub(str_of(name), 0, (size_t)str_rfind_char(str_of(name), '-'));
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {grove.io/podgang: %.*s}}, "
             "spec: {containers: [{name: a, resources: {requests: {cpu: '%d'}}}]%s}}",
             name, STR_ARG(gang), cpu, more);
}

/* A gang of one group "w" over the pods "w-0".. */
static void add_gang(struct test_world *t, const char *name, int min, int n)
{
    struct strbuf refs = STRBUF_INIT(4000);
    for (int i = 0; i < n; i++)
        strbuf_printf(&refs, "%s{namespace: default, name: %s-%d}", i ? ", " : "", name, i);
    tw_loadf(t,
             "{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang, metadata: {name: %s}, spec: "
             "{podgroups: [{name: %s, minReplicas: %d, podReferences: [%s]}]}}",
             name, name, min, refs.p ? refs.p : "");
    strbuf_done(&refs);
}

static size_t count_binds(struct test_world *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->plan.writes.len; i++)
        n += t->plan.writes.p[i].op == PLAN_SUB_CREATE;
    return n;
}

static void check_condition(struct test_world *t, const char *gang, const char *status,
                            const char *part)
{
    jval c = condition_find(jgetc(obj_status(tw_must(t, &kind_pod_gang, gang)), "conditions"),
                            STR("Unschedulable"));
    CHECK_CSTR(jstr(jgetc(c, "status")), status);
    CHECK(str_find(jstr(jgetc(c, "message")), str_of(part)) >= 0);
}

TEST(a_gang_that_fits_is_bound)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 4);
    add_pod(t, "w-0", 3, "");
    add_pod(t, "w-1", 3, "");
    add_gang(t, "w", 2, 2);
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "post Pod default/w-0 binding\npost Pod default/w-1 binding\n");
    jval body = tw_body(t, &kind_pod, "w-0", "binding");
    CHECK_CSTR(jstr(jpath(body, "target.kind")), "Node");
    CHECK_CSTR(jstr(jpath(body, "target.name")), "n1");
    CHECK_INT(t->plan.events.len, 0);
    tw_carry_out(t);
    plan_round(t);
    CHECK(plan_is_empty(&t->plan));
    tw_free(t);
}

TEST(a_gang_that_does_not_fit_stays_whole_and_says_why)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 4);
    for (int i = 0; i < 3; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "w-%d", i);
        add_pod(t, name, 3, "");
    }
    add_gang(t, "w", 3, 3);
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "apply PodGang default/w status\n");
    const struct plan_write *w = tw_write(t, &kind_pod_gang, "w", "status");
    CHECK_CSTR(w->manager, "grove-scheduler");
    CHECK_INT(t->plan.events.len, 3);
    CHECK_CSTR(t->plan.events.p[0].message, "w: 2 of the 3 pods it needs fit; for the next, 2 of 2 "
                                            "nodes lack cpu, 0 do not admit it");
    CHECK(t->plan.events.p[0].warning);
    tw_carry_out(t);
    check_condition(t, "w", "True", "2 of the 3 pods");
    /* Told once: nothing new, nothing to do. */
    plan_round(t);
    CHECK(plan_is_empty(&t->plan));
    /* A node comes: it is placed, and that is told too. */
    tw_load(t, "{apiVersion: v1, kind: Node, metadata: {name: n3}, spec: {}, status: {allocatable: "
               "{cpu: '4', pods: '110'}, conditions: [{type: Ready, status: 'True'}]}}");
    t->world.now += USEC_PER_MIN;
    plan_round(t);
    CHECK_INT(count_binds(t), 3);
    CHECK_INT(tw_write(t, &kind_pod_gang, "w", "status")->stage, 1);
    tw_carry_out(t);
    check_condition(t, "w", "False", "");
    plan_round(t);
    CHECK(plan_is_empty(&t->plan));
    tw_free(t);
}

TEST(older_gangs_go_first)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "young-0", 3, "");
    add_pod(t, "old-0", 3, "");
    add_gang(t, "old", 1, 1);
    t->world.now += USEC_PER_MIN;
    add_gang(t, "a-young-one", 1, 0);
    add_gang(t, "young", 1, 1);
    tw_patch(t, &kind_pod_gang, "old", "{metadata: {creationTimestamp: '2025-12-31T00:00:00Z'}}");
    plan_round(t);
    CHECK(tw_write(t, &kind_pod, "old-0", "binding") != NULL);
    CHECK(tw_write(t, &kind_pod, "young-0", "binding") == NULL);
    tw_free(t);
}

TEST(a_gang_that_does_not_fit_lets_smaller_ones_pass)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "big-0", 9, "");
    add_gang(t, "big", 1, 1);
    add_pod(t, "small-0", 1, "");
    add_gang(t, "small", 1, 1);
    plan_round(t);
    CHECK(tw_write(t, &kind_pod, "small-0", "binding") != NULL);
    CHECK_INT(count_binds(t), 1);
    tw_free(t);
}

/* Bound pods are part of the minimum; only what is missing is needed. */
TEST(a_lost_pod_is_placed_again_by_itself)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 1, ", nodeName: n1");
    add_pod(t, "w-1", 1, "");
    add_gang(t, "w", 2, 2);
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "post Pod default/w-1 binding\n");
    tw_free(t);
}

TEST(a_dying_pod_is_not_part_of_the_minimum)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 1, ", nodeName: n1");
    tw_delete(t, &kind_pod, "w-0");
    add_pod(t, "w-1", 1, "");
    add_gang(t, "w", 2, 2);
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    tw_carry_out(t);
    check_condition(t, "w", "True", "w has 1 pods to place and needs 2");
    tw_free(t);
}

/* Gates go clique by clique; in between a gang is not judged, and nobody is alarmed. */
TEST(a_gang_with_gated_pods_is_not_judged)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 1, "");
    add_pod(t, "w-1", 1, ", schedulingGates: [{name: a/b}]");
    add_gang(t, "w", 2, 2);
    plan_round(t);
    CHECK(plan_is_empty(&t->plan));
    tw_patch(t, &kind_pod, "w-1", "{spec: {schedulingGates: null}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 2);
    tw_free(t);
}

TEST(a_gated_surplus_pod_holds_nobody_up)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 1, "");
    add_pod(t, "w-1", 1, ", schedulingGates: [{name: a/b}]");
    add_gang(t, "w", 1, 2);
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "post Pod default/w-0 binding\n");
    tw_free(t);
}

TEST(surplus_that_finds_no_place_is_told)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 2, "");
    add_pod(t, "w-1", 2, "");
    add_pod(t, "w-2", 2, "");
    add_gang(t, "w", 1, 3);
    plan_round(t);
    CHECK_INT(count_binds(t), 2);
    REQUIRE(t->plan.events.len == 1);
    CHECK_CSTR(t->plan.events.p[0].about->name, "w-2");
    CHECK(str_find(t->plan.events.p[0].message, STR("1 of 1 nodes lack cpu")) >= 0);
    tw_free(t);
}

TEST(an_old_complaint_is_taken_back_when_nobody_waits)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 9, "");
    add_gang(t, "w", 1, 1);
    plan_round(t);
    tw_carry_out(t);
    check_condition(t, "w", "True", "lack cpu");
    tw_remove(t, &kind_pod, "w-0");
    plan_round(t);
    tw_carry_out(t);
    check_condition(t, "w", "False", "");
    tw_free(t);
}

TEST(pods_of_other_schedulers_are_left_alone)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 1, ", schedulerName: somebody-else");
    add_gang(t, "w", 1, 1);
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: alone}, spec: {schedulerName: "
               "somebody-else}}");
    plan_round(t);
    CHECK(plan_is_empty(&t->plan));
    tw_free(t);
}

TEST(pods_without_a_gang_are_placed_one_by_one)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, "
               "resources: {requests: {cpu: '3'}}}]}}");
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: [{name: c, "
               "resources: {requests: {cpu: '3'}}}]}}");
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "post Pod default/a binding\n");
    REQUIRE(t->plan.events.len == 1);
    CHECK_CSTR(t->plan.events.p[0].about->name, "b");
    tw_free(t);
}

TEST(a_pod_that_names_a_gang_waits_for_it)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 1, "");
    plan_round(t);
    CHECK(plan_is_empty(&t->plan));
    tw_free(t);
}

/* A label holds 63 characters; names of gangs may be longer. */
TEST(gangs_with_long_names_are_found)
{
    struct test_world *t = world_new();
    struct arena a = ARENA_INIT;
    str gang = STR("distributed-training-of-a-very-large-language-model-0-with-experts-3");
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 1, "");
    tw_patch(t, &kind_pod, "w-0",
             arena_printf(&a, "{metadata: {labels: {grove.io/podgang: %.*s}}}",
                          STR_ARG(name_label(&a, gang)))
                 .p);
    tw_loadf(t,
             "{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang, metadata: {name: %.*s}, "
             "spec: {podgroups: [{name: w, minReplicas: 1, podReferences: [{namespace: default, "
             "name: w-0}]}]}}",
             STR_ARG(gang));
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "post Pod default/w-0 binding\n");
    arena_done(&a);
    tw_free(t);
}

/* Random worlds, rounds until quiet, pods and nodes coming and going: no node is ever overbooked
 * and no gang ever has a part of its minimum only. */
static void check_world(struct test_world *t, int gangs, int min)
{
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&t->world, &kind_node), STR_NONE);
         (o = cache_next(&it));) {
        int64_t used = 0, has = 0;
        struct obj *p;
        CHECK(str_to_int(jstr(jpath(obj_root(o), "status.allocatable.cpu")), &has));
        for (struct cache_iter k = cache_all(world_cache(&t->world, &kind_pod), STR_NONE);
             (p = cache_next(&k));) {
            int64_t cpu = 0;
            jval c = jat(jpath(obj_root(p), "spec.containers"), 0);
            CHECK(str_to_int(jstr(jpath(c, "resources.requests.cpu")), &cpu));
            if (str_eq(jstr(jgetc(obj_spec(p), "nodeName")), o->name))
                used += cpu;
        }
        CHECK(used <= has);
    }
    for (int g = 0; g < gangs; g++) {
        int bound = 0;
        for (int i = 0;; i++) {
            char name[32];
            (void)snprintf(name, sizeof(name), "g%d-%d", g, i);
            const struct obj *p = tw_get(t, &kind_pod, name);
            if (!p)
                break;
            bound += !str_is_empty(jstr(jgetc(obj_spec(p), "nodeName")));
        }
        CHECK(bound == 0 || bound >= min);
    }
}

TEST(random_rounds_never_overbook_and_never_split_a_minimum)
{
    struct rng *r = test_rng();
    for (size_t n = test_cases(60); n > 0; n--) {
        struct test_world *t = world_new();
        int gangs = 1 + (int)rng_below(r, 5), min = 1 + (int)rng_below(r, 3);
        add_nodes(t, 1 + (int)rng_below(r, 3), 1 + (int)rng_below(r, 8));
        for (int g = 0; g < gangs; g++) {
            char name[32];
            int pods = min + (int)rng_below(r, 3);
            for (int i = 0; i < pods; i++) {
                (void)snprintf(name, sizeof(name), "g%d-%d", g, i);
                add_pod(t, name, (int)rng_below(r, 4), "");
            }
            (void)snprintf(name, sizeof(name), "g%d", g);
            add_gang(t, name, min, pods);
        }
        for (int i = 0; i < 3; i++) {
            plan_round(t);
            tw_carry_out(t);
            check_world(t, gangs, min);
        }
        plan_round(t);
        CHECK_INT(t->plan.writes.len, 0);
        tw_free(t);
    }
}
