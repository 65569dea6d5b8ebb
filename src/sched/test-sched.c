/* A round of the scheduler over a world: which binds it plans, and what it tells. */
#include "grove/names.h"
#include "sched/model/tell.h"
#include "sched/model/test-round.h"

TEST(a_gang_that_fits_is_bound)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 4);
    add_pod(t, "w-0", 3, "");
    add_pod(t, "w-1", 3, "");
    add_gang(t, "w", 2, 2);
    plan_round(t);
    CHECK_CSTR(tw_writes(t), "post Pod default/w-0 binding\npost Pod default/w-1 binding\n"
                             "apply PodGang default/w status\n");
    jval body = tw_body(t, &kind_pod, "w-0", "binding");
    CHECK_CSTR(jstr(jpath(body, "target.kind")), "Node");
    CHECK_CSTR(jstr(jpath(body, "target.name")), "n1");
    CHECK_INT(t->plan.events.len, 0);
    carry_out(t);
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
    CHECK_INT(count_binds(t), 0);
    const struct plan_write *w = tw_write(t, &kind_pod_gang, "w", "status");
    CHECK_CSTR(w->manager, "grove-scheduler");
    CHECK_INT(count_events(t), 3);
    jval event = event_of(t, "w-0");
    CHECK_CSTR(jstr(jgetc(event, "reason")), "Unschedulable");
    CHECK_CSTR(jstr(jgetc(event, "type")), "Warning");
    CHECK_CSTR(jstr(jpath(event, "source.component")), "default-scheduler");
    CHECK_CSTR(jstr(jgetc(event, "message")), "w: not enough cpu");
    jval scheduled = jat(jpath(tw_body(t, &kind_pod, "w-0", "status"), "status.conditions"), 0);
    CHECK_CSTR(jstr(jgetc(scheduled, "type")), "PodScheduled");
    CHECK_CSTR(jstr(jgetc(scheduled, "status")), "False");
    CHECK_CSTR(jstr(jgetc(scheduled, "reason")), "Unschedulable");
    carry_out(t);
    check_condition(
        t, "w", "True",
        "w: 2 of the 3 pods it needs fit; for the next, 2 of 2 nodes lack cpu, 0 do not "
        "admit it");
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
    carry_out(t);
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
    CHECK_CSTR(tw_writes(t), "post Pod default/w-1 binding\napply PodGang default/w status\n");
    tw_free(t);
}

/* One cpu is free when the pod on the node is finished, not while it goes. */
TEST(bound_pods_hold_their_share_until_they_are_finished)
{
    static const struct {
        const char *more;
        bool deleted;
        size_t binds;
    } cases[] = {
        {", nodeName: n1}, status: {phase: Succeeded", false, 1},
        {", nodeName: n1}, status: {phase: Failed", false, 1},
        {", nodeName: n1}, status: {phase: Running", false, 0},
        {", nodeName: n1}, status: {phase: Running", true, 0},
        /* What we would not place ourselves uses what it uses. */
        {", resourceClaims: [{name: r}], nodeName: n1}, status: {phase: Running", false, 0},
        {", nodeName: elsewhere}, status: {phase: Running", false, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_world *t = world_new();
        add_nodes(t, 1, 1);
        add_pod(t, "old-0", 1, cases[i].more);
        if (cases[i].deleted)
            tw_delete(t, &kind_pod, "old-0");
        add_pod(t, "w-0", 1, "");
        add_gang(t, "w", 1, 1);
        plan_round(t);
        CHECK_INT(count_binds(t), cases[i].binds);
        tw_free(t);
    }
}

/* A pod that is resized where it is holds the larger of what it asks for and what it was given. */
TEST(a_pod_that_is_resized_holds_the_larger_of_both)
{
    static const struct {
        const char *change;
        size_t binds;
    } steps[] = {
        {"{spec: {containers: [{name: a, resources: {requests: {cpu: '4'}}}]}}", 0},
        {"{status: {containerStatuses: [{name: a, allocatedResources: {cpu: '4'}}]}}", 0},
        {"{spec: {containers: [{name: a, resources: {requests: {cpu: '1'}}}]}}", 0},
        {"{status: {containerStatuses: [{name: a, allocatedResources: {cpu: '1'}}]}}", 1},
    };
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "x-0", 1, ", nodeName: n1");
    plan_round(t);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        tw_patch(t, &kind_pod, "x-0", steps[i].change);
        if (i == 0) {
            add_pod(t, "w-0", 2, "");
            add_gang(t, "w", 1, 1);
        }
        plan_round(t);
        CHECK_INT(count_binds(t), steps[i].binds);
        CHECK(core_is_consistent(sched->tables->core));
    }
    tw_free(t);
}

/* What absurd pods took of a node is given back exactly. */
TEST(absurd_pods_leave_what_they_found)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    for (int i = 0; i < 3; i++)
        tw_loadf(t,
                 "{apiVersion: v1, kind: Pod, metadata: {name: old-%d}, spec: {nodeName: n1, "
                 "containers: [{name: a, resources: {requests: {cpu: 8E}}}]}}",
                 i);
    plan_round(t);
    for (int i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "old-%d", i);
        tw_patch(t, &kind_pod, name, "{status: {phase: Failed}}");
    }
    plan_round(t);
    CHECK_INT(core_free_of(sched->tables->core, 0, RES_CPU), 4000);
    tw_free(t);
}

/* None of something is nothing, whoever has it. */
TEST(a_pod_that_asks_for_none_of_what_no_node_has_is_placed)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: none}, spec: {containers: [{name: a, "
               "resources: {requests: {cpu: '1', nvidia.com/gpu: '0'}}}]}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    tw_free(t);
}

/* More kinds of things than are counted close no node: only who asks for one of those waits. */
TEST(a_node_may_have_more_kinds_of_resources_than_are_counted)
{
    struct test_world *t = world_new();
    struct strbuf b = STRBUF_INIT(100000);
    strbuf_add_cstr(&b, "{apiVersion: v1, kind: Node, metadata: {name: n1}, spec: {}, status: "
                        "{conditions: [{type: Ready, status: 'True'}], allocatable: {cpu: '4', "
                        "pods: '110'");
    for (int i = 0; i < 2 * RES_MAX; i++)
        strbuf_printf(&b, ", x.com/r%d: '1'", i);
    strbuf_add_cstr(&b, "}}}");
    tw_load(t, b.p);
    strbuf_done(&b);
    static const struct {
        const char *name, *asks;
    } pods[] = {{"p", "cpu: '1'"}, {"first", "x.com/r0: '1'"}, {"last", "x.com/r127: '1'"}};
    for (size_t i = 0; i < ARRAY_LEN(pods); i++)
        tw_loadf(t,
                 "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {containers: [{name: a, "
                 "resources: {requests: {%s}}}]}}",
                 pods[i].name, pods[i].asks);
    plan_round(t);
    str cause = jstr(jgetc(event_of(t, "last"), "message"));
    CHECK(str_find(cause, STR("more than 64 kinds of resources")) >= 0);
    carry_out(t);
    CHECK_CSTR(node_of(t, "p"), "n1");
    CHECK_CSTR(node_of(t, "first"), "n1");
    CHECK(str_is_empty(node_of(t, "last")));
    tw_free(t);
}

TEST(overcommitted_nodes_fit_nothing)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    for (int i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "old-%d", i);
        add_pod(t, name, 2000000000, ", nodeName: n1");
    }
    add_pod(t, "w-0", 1, "");
    add_gang(t, "w", 1, 1);
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
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
    carry_out(t);
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

/* All of a gang that was placed once goes and comes again: as whole as the first time. */
TEST(a_gang_that_comes_again_is_placed_whole_too)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 1, "");
    add_pod(t, "w-1", 1, ", schedulingGates: [{name: a/b}]");
    add_gang(t, "w", 2, 2);
    tw_patch(t, &kind_pod_gang, "w",
             "{status: {conditions: [{type: Scheduled, status: 'True', reason: R, message: m, "
             "lastTransitionTime: '2026-01-01T00:00:00Z'}]}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    tw_patch(t, &kind_pod, "w-1", "{spec: {schedulingGates: null}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 2);
    tw_free(t);
}

/* Its operator names the new pods one by one. */
TEST(a_gang_that_comes_again_waits_for_pods_that_are_not_named_yet)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 1, "");
    add_gang(t, "w", 2, 1);
    tw_patch(t, &kind_pod_gang, "w",
             "{status: {conditions: [{type: Scheduled, status: 'True', reason: R, message: m, "
             "lastTransitionTime: '2026-01-01T00:00:00Z'}]}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
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
    CHECK_CSTR(tw_writes(t), "post Pod default/w-0 binding\napply PodGang default/w status\n");
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
    CHECK_INT(count_events(t), 1);
    CHECK_CSTR(jstr(jgetc(event_of(t, "w-2"), "message")), "w: not enough cpu");
    tw_free(t);
}

TEST(an_old_complaint_is_taken_back_when_nobody_waits)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "w-0", 9, "");
    add_gang(t, "w", 1, 1);
    plan_round(t);
    carry_out(t);
    check_condition(t, "w", "True", "w: its pod does not fit: 1 of 1 node lacks cpu");
    tw_remove(t, &kind_pod, "w-0");
    plan_round(t);
    carry_out(t);
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
    CHECK_INT(count_binds(t), 1);
    CHECK(tw_write(t, &kind_pod, "a", "binding") != NULL);
    CHECK_INT(count_events(t), 1);
    CHECK_CSTR(jstr(jgetc(event_of(t, "b"), "message")), "b: not enough cpu");
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
    CHECK_INT(count_binds(t), 1);
    CHECK(tw_write(t, &kind_pod, "w-0", "binding") != NULL);
    arena_done(&a);
    tw_free(t);
}

/* ---- pods about pods ---- */

static void add_labelled(struct test_world *t, const char *name, const char *app, const char *more)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {app: %s}}, spec: "
             "{containers: [{name: a, resources: {requests: {cpu: '1'}}}]%s}}",
             name, app, more);
}

#define TERM(key, app) "[{topologyKey: " key ", labelSelector: {matchLabels: {app: " app "}}}]"
#define APART(key, app)                                                                     \
    ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " TERM( \
        key, app) "}}"
#define NEAR(key, app)                                                                      \
    ", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: " TERM(key, \
                                                                                       app) "}}"

TEST(pods_that_keep_apart_get_a_node_each)
{
    struct test_world *t = world_new();
    add_zones(t);
    char name[16];
    for (int i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof(name), "a-%d", i);
        add_labelled(t, name, "a", APART("kubernetes.io/hostname", "a"));
    }
    plan_round(t);
    CHECK_INT(count_binds(t), 4);
    CHECK_INT(count_events(t), 1);
    carry_out(t);
    for (int i = 1; i < 4; i++) {
        (void)snprintf(name, sizeof(name), "a-%d", i);
        CHECK(!str_eq(node_of(t, "a-0"), node_of(t, name)));
    }
    tw_free(t);
}

TEST(who_keeps_others_away_is_kept_away_from)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_labelled(t, "hermit", "h", APART("zone", "b") ", nodeName: n1");
    add_labelled(t, "b", "b", "");
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "b"), "z2");
    tw_free(t);
}

TEST(pods_that_want_company_go_where_it_is)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_labelled(t, "server", "s", ", nodeName: n3");
    add_labelled(t, "client", "c", NEAR("zone", "s"));
    add_labelled(t, "lonely", "c", NEAR("zone", "nobody"));
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "client"), "z2");
    tw_free(t);
}

TEST(the_first_of_a_kind_that_wants_its_like_is_placed)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_labelled(t, "a-0", "a", NEAR("zone", "a"));
    add_labelled(t, "a-1", "a", NEAR("zone", "a"));
    plan_round(t);
    carry_out(t);
    CHECK_STR(zone_of(t, "a-0"), zone_of(t, "a-1"));
    CHECK(!str_is_empty(node_of(t, "a-1")));
    tw_free(t);
}

TEST(spread_is_even)
{
    struct test_world *t = world_new();
    add_zones(t);
    char name[16];
    for (int i = 0; i < 6; i++) {
        (void)snprintf(name, sizeof(name), "a-%d", i);
        add_labelled(t, name, "a",
                     ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, "
                     "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: a}}}]");
    }
    plan_round(t);
    carry_out(t);
    int first = 0;
    for (int i = 0; i < 6; i++) {
        (void)snprintf(name, sizeof(name), "a-%d", i);
        CHECK(!str_is_empty(node_of(t, name)));
        first += str_is(zone_of(t, name), "z1");
    }
    CHECK_INT(first, 3);
    tw_free(t);
}

TEST(a_port_of_a_host_is_used_once)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 8);
    for (int i = 0; i < 2; i++)
        tw_loadf(t,
                 "{apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {containers: [{name: a, "
                 "ports: [{containerPort: 80, hostPort: 80}]}]}}",
                 i);
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    tw_free(t);
}

TEST(wishes_about_nodes_are_fulfilled_when_possible)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_labelled(t, "a", "a",
                 ", affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "
                 "[{weight: 10, preference: {matchExpressions: [{key: zone, operator: In, values: "
                 "[z2]}]}}]}}");
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "a"), "z2");
    tw_free(t);
}

/* ---- topology ---- */

TEST(a_packed_gang_shares_a_zone)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_packed(t, "w", 12, "zone");
    plan_round(t);
    CHECK_INT(count_binds(t), 12);
    carry_out(t);
    char name[16];
    for (int i = 0; i < 12; i++) {
        (void)snprintf(name, sizeof(name), "w-%d", i);
        CHECK_STR(zone_of(t, name), zone_of(t, "w-0"));
    }
    CHECK_CSTR(tw_json(tw_must(t, &kind_pod_gang, "w"), "status.placementScore"), "1");
    tw_free(t);
}

TEST(a_gang_too_large_for_every_domain_is_told_which)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_packed(t, "w", 17, "zone");
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    CHECK_INT(count_events(t), 17);
    CHECK_CSTR(jstr(jgetc(event_of(t, "w-0"), "message")), "w: not enough cpu in one zone");
    carry_out(t);
    check_condition(t, "w", "True",
                    "w needs room for 17 pods in one zone; the best, z1, has room for 16: 2 of 2 "
                    "nodes lack cpu, 0 do not admit it");
    tw_free(t);
}

TEST(a_level_that_the_topology_lacks_is_a_mistake)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_packed(t, "w", 1, "rack");
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    carry_out(t);
    check_condition(t, "w", "True", "no level with the label rack");
    tw_free(t);
}

/* Replicas of one set: gangs of one owner. */
/* A set of groups that names one of them a second time: what it prefers is fine, what it requires
 * beside the first is not. */
TEST(a_group_is_of_the_first_set_that_names_it)
{
    for (int turn = 0; turn < 2; turn++) {
        struct test_world *t = world_new();
        add_zones(t);
        add_binding(t);
        add_packed(t, "w", 2, "zone");
        struct arena a = ARENA_INIT;
        tw_patch(t, &kind_pod_gang, "w",
                 arena_printf(&a,
                              "{spec: {topologyConstraint: null, topologyConstraintGroupConfigs: "
                              "[{name: none, podGroupNames: [other]}, {name: a, podGroupNames: "
                              "[w], topologyConstraint: {packConstraint: {required: zone}}}, "
                              "{name: b, podGroupNames: [w], topologyConstraint: "
                              "{packConstraint: {%s: kubernetes.io/hostname}}}]}}",
                              turn == 0 ? "preferred" : "required")
                     .p);
        arena_done(&a);
        plan_round(t);
        carry_out(t);
        CHECK_INT(!str_is_empty(node_of(t, "w-0")), turn == 0);
        if (turn == 0)
            CHECK_STR(node_of(t, "w-0"), node_of(t, "w-1"));
        else
            check_condition(t, "w", "True", "topologyConstraintGroupConfigs overlap");
        tw_free(t);
    }
}

TEST(replicas_of_a_set_are_spread)
{
    struct test_world *t = world_new();
    add_zones(t);
    tw_load(t, "{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: s, uid: u}}");
    for (int i = 0; i < 3; i++) {
        char name[16], pod[16];
        (void)snprintf(name, sizeof(name), "s%d", i);
        (void)snprintf(pod, sizeof(pod), "s%d-0", i);
        add_pod(t, pod, 1, "");
        add_gang(t, name, 1, 1);
        tw_patch(t, &kind_pod_gang, name,
                 "{metadata: {annotations: {grove.io/replica-spread: 'zone=required'}, "
                 "ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, name: s, "
                 "uid: u, controller: true}]}}");
    }
    plan_round(t);
    CHECK_INT(count_binds(t), 3);
    carry_out(t);
    CHECK(!str_eq(zone_of(t, "s0-0"), zone_of(t, "s1-0")));
    tw_free(t);
}

/* ---- priority ---- */

TEST(a_more_important_gang_asks_the_fewest_to_go)
{
    struct test_world *t = world_new();
    add_priority(t, "high", 100);
    add_nodes(t, 2, 4);
    add_pod(t, "a-0", 2, ", nodeName: n1");
    add_pod(t, "b-0", 2, ", nodeName: n1");
    add_pod(t, "c-0", 4, ", nodeName: n2");
    add_gang(t, "a", 1, 1);
    add_gang(t, "b", 1, 1);
    add_gang(t, "c", 1, 1);
    plan_round(t);
    carry_out(t);
    add_pod(t, "big-0", 4, "");
    add_gang(t, "big", 1, 1);
    tw_patch(t, &kind_pod_gang, "big", "{spec: {priorityClassName: high}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    CHECK(tw_write(t, &kind_pod_gang, "a", "status") == NULL);
    CHECK(tw_write(t, &kind_pod_gang, "b", "status") == NULL);
    REQUIRE(tw_write(t, &kind_pod_gang, "c", "status") != NULL);
    jval c = condition_find(jpath(tw_body(t, &kind_pod_gang, "c", "status"), "status.conditions"),
                            STR("DisruptionTarget"));
    CHECK_CSTR(jstr(jgetc(c, "status")), "True");
    carry_out(t);
    /* Asked once. The room is not given to others while the victim goes. */
    tw_remove(t, &kind_pod, "c-0");
    add_pod(t, "late-0", 1, "");
    add_gang(t, "late", 1, 1);
    plan_round(t);
    CHECK(tw_write(t, &kind_pod, "big-0", "binding") != NULL);
    CHECK(tw_write(t, &kind_pod, "late-0", "binding") == NULL);
    carry_out(t);
    plan_round(t);
    carry_out(t);
    CHECK(!gang_is_marked(tw_must(t, &kind_pod_gang, "c")));
    tw_free(t);
}

TEST(equals_are_never_asked_to_go)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "a-0", 4, ", nodeName: n1");
    add_gang(t, "a", 1, 1);
    plan_round(t);
    carry_out(t);
    add_pod(t, "b-0", 4, "");
    add_gang(t, "b", 1, 1);
    plan_round(t);
    CHECK(tw_write(t, &kind_pod_gang, "a", "status") == NULL);
    tw_free(t);
}

/* Small gangs that keep coming do not keep a large one waiting for ever. */
TEST(what_waited_long_keeps_what_becomes_free)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 4);
    add_pod(t, "old-0", 2, ", nodeName: n1");
    add_gang(t, "old", 1, 1);
    add_pod(t, "large-0", 4, "");
    add_gang(t, "large", 1, 1);
    plan_round(t);
    carry_out(t);
    t->world.now += USEC_PER_MIN;
    add_pod(t, "small-0", 2, "");
    add_gang(t, "small", 1, 1);
    tw_patch(t, &kind_pod_gang, "small", "{metadata: {creationTimestamp: '2026-01-02T00:00:00Z'}}");
    tables_drop(sched);
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    tw_remove(t, &kind_pod, "old-0");
    plan_round(t);
    CHECK(tw_write(t, &kind_pod, "large-0", "binding") != NULL);
    CHECK_INT(count_binds(t), 1);
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
            carry_out(t);
            check_world(t, gangs, min);
        }
        plan_round(t);
        CHECK_INT(t->plan.writes.len, 0);
        tw_free(t);
    }
}
