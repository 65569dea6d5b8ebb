/* Who is looked at again, and when: the number of looks is what is counted. */
#include "sched/model/test-round.h"

static uint64_t looks(struct test_world *t)
{
    plan_round(t);
    carry_out(t);
    return sched->tables->looks;
}

/* A gang of two groups that must both be in one zone: one pod of `a` CPUs, one of `b`. */
static void add_two(struct test_world *t, const char *name, int a, int b)
{
    char pod[32];
    struct arena arena = ARENA_INIT;
    (void)snprintf(pod, sizeof(pod), "%s-a", name);
    add_pod(t, pod, a, "");
    (void)snprintf(pod, sizeof(pod), "%s-b", name);
    add_pod(t, pod, b, "");
    tw_loadf(t,
             "{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang, metadata: {name: %s, "
             "annotations: {grove.io/topology-name: topo}}, spec: {topologyConstraint: "
             "{packConstraint: {required: zone}}, podgroups: [{name: a, minReplicas: 1, "
             "podReferences: [{namespace: default, name: %s-a}]}, {name: b, minReplicas: 1, "
             "podReferences: [{namespace: default, name: %s-b}]}]}}",
             name, name, name);
    arena_done(&arena);
}

static void resize(struct test_world *t, const char *node, int cpu)
{
    struct arena a = ARENA_INIT;
    tw_patch(t, &kind_node, node, arena_printf(&a, "{status: {allocatable: {cpu: '%d'}}}", cpu).p);
    arena_done(&a);
}

/* Zones of two nodes of 8. Of z1 only n1 has 6 left, of z2 only n3 has 5: 4 and 3 fit each by
 * itself, not both. */
static struct test_world *world_of_pieces(void)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_binding(t);
    add_pod(t, "x-0", 2, ", nodeName: n1");
    add_pod(t, "x-1", 8, ", nodeName: n2");
    add_pod(t, "x-2", 3, ", nodeName: n3");
    add_pod(t, "x-3", 8, ", nodeName: n4");
    add_two(t, "w", 4, 3);
    uint64_t n = looks(t);
    CHECK_INT(n, 1);
    check_condition(t, "w", "True", "all of it needs 7 cpu in one zone; the best, z1, has 6 free");
    CHECK_INT(looks(t), n);
    return t;
}

TEST(parts_that_do_not_fit_together_wait_for_a_domain_that_could_hold_them)
{
    struct test_world *t = world_of_pieces();
    uint64_t n = sched->tables->looks;
    /* z2 has 6 free of the 7 they need. */
    resize(t, "n3", 9);
    CHECK_INT(looks(t), n);
    /* z1 has 8, but n2 has no place for either of them. */
    resize(t, "n2", 10);
    CHECK_INT(looks(t), n);
    resize(t, "n2", 11);
    CHECK_INT(looks(t), n + 1);
    CHECK(!str_is_empty(node_of(t, "w-a")));
    tw_free(t);
}

TEST(a_gang_that_waits_for_itself_is_not_woken_by_room)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 4);
    add_pod(t, "x-0", 4, ", nodeName: n1");
    add_pod(t, "w-0", 1, "");
    add_gang(t, "w", 2, 2);
    uint64_t n = looks(t);
    tw_remove(t, &kind_pod, "x-0");
    resize(t, "n2", 8);
    CHECK_INT(looks(t), n);
    add_pod(t, "w-1", 1, "");
    CHECK_INT(looks(t), n + 1);
    CHECK(!str_is_empty(node_of(t, "w-1")));
    tw_free(t);
}

/* Two groups, one of pods of 3 CPUs and one of 2, each with one pod too many. */
TEST(surplus_of_several_groups_is_woken_by_a_place_for_any_of_them)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 6);
    for (int i = 0; i < 2; i++) {
        char pod[16];
        (void)snprintf(pod, sizeof(pod), "w-a%d", i);
        add_pod(t, pod, 3, "");
        (void)snprintf(pod, sizeof(pod), "w-b%d", i);
        add_pod(t, pod, 2, "");
    }
    tw_load(t,
            "{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang, metadata: {name: w}, spec: "
            "{podgroups: [{name: a, minReplicas: 1, podReferences: [{namespace: default, name: "
            "w-a0}, {namespace: default, name: w-a1}]}, {name: b, minReplicas: 1, podReferences: "
            "[{namespace: default, name: w-b0}, {namespace: default, name: w-b1}]}]}}");
    uint64_t n = looks(t);
    CHECK(!str_is_empty(node_of(t, "w-a0")) && !str_is_empty(node_of(t, "w-b0")));
    CHECK_INT(looks(t), n);
    /* One more is of no use to either. */
    resize(t, "n1", 6);
    add_pod(t, "x-0", 1, "");
    n = looks(t);
    tw_remove(t, &kind_pod, "x-0");
    CHECK_INT(looks(t), n);
    resize(t, "n1", 7);
    CHECK_INT(looks(t), n + 1);
    CHECK(!str_is_empty(node_of(t, "w-b1")));
    tw_free(t);
}

/* The room was held for one that is deleted: the other is told, though nothing became free. */
TEST(who_was_refused_for_room_that_is_held_is_woken_when_it_is_not)
{
    struct test_world *t = world_new();
    hold_room_for_large(t);
    CHECK_INT(sched->tables->holds.len, 1);
    add_pod(t, "small-0", 4, "");
    add_gang(t, "small", 1, 1);
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    carry_out(t);
    tw_remove(t, &kind_pod, "large-0");
    tw_remove(t, &kind_pod, "large-1");
    tw_remove(t, &kind_pod_gang, "large");
    for (int i = 0; i < 2; i++) {
        plan_round(t);
        carry_out(t);
    }
    CHECK_CSTR(node_of(t, "small-0"), "n1");
    tw_free(t);
}

/* Wants to be on a host with a pod of app=db: nothing becomes free when that comes. */
TEST(who_wants_to_be_near_somebody_is_woken_when_he_comes)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_pod(t, "w-0", 1,
            ", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
            "[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: db}}}]}}");
    add_gang(t, "w", 1, 1);
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    carry_out(t);
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: db, labels: {app: db}}, spec: "
               "{nodeName: n3, containers: [{name: a}]}}");
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(node_of(t, "w-0"), "n3");
    tw_free(t);
}

/* ---- how much at once ---- */

enum { MANY = 1500 };

/* Gangs of one pod that fits no node. */
static void add_hopeless(struct test_world *t, int n)
{
    char name[32], pod[32];
    for (int i = 0; i < n; i++) {
        (void)snprintf(name, sizeof(name), "h%04d", i);
        (void)snprintf(pod, sizeof(pod), "h%04d-0", i);
        add_pod(t, pod, 16, "");
        add_gang(t, name, 1, 1);
    }
}

/* A refusal is work like any other: a call ends after so much of it, asks for the next one at once,
 * and those go on where it ended. */
TEST(many_refusals_are_spread_over_many_calls)
{
    struct test_world *t = world_new();
    add_nodes(t, 3, 8);
    add_hopeless(t, MANY);
    uint64_t last = 0;
    int calls = 0;
    for (; calls < 200 && (calls == 0 || t->plan.look_again == PLAN_AT_ONCE); calls++) {
        uint64_t now = looks(t);
        CHECK(now - last <= MANY / 4);
        CHECK(now > last || calls > 0);
        last = now;
    }
    CHECK_INT(last, MANY);
    CHECK(calls > 4);
    check_condition(t, "h0000", "True", "lack cpu");
    check_condition(t, "h1499", "True", "lack cpu");
    tw_free(t);
}

/* Each slice asks the core once; the others of it are alike and get the same answer, in words of
 * their own. */
TEST(gangs_that_are_alike_are_searched_for_once)
{
    struct test_world *t = world_new();
    add_nodes(t, 3, 8);
    add_hopeless(t, 40);
    uint64_t n = looks(t);
    CHECK_INT(n, 40);
    CHECK_INT(sched->tables->searches, 1);
    check_condition(t, "h0000", "True", "h0000: its pod does not fit: 3 of 3 nodes lack cpu");
    check_condition(t, "h0039", "True", "h0039: its pod does not fit: 3 of 3 nodes lack cpu");
    tw_free(t);
}

/* What an answer was worth ends with what happens next: b goes where a did not fit. */
TEST(an_answer_is_not_used_for_another_question)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 8);
    add_pod(t, "a-0", 9, "");
    add_gang(t, "a", 1, 1);
    add_pod(t, "b-0", 4, "");
    add_gang(t, "b", 1, 1);
    add_pod(t, "c-0", 9, "");
    add_pod(t, "c-1", 4, "");
    add_gang(t, "c", 2, 2);
    add_pod(t, "d-0", 4, "");
    add_gang(t, "d", 1, 1);
    CHECK_INT(looks(t), 4);
    CHECK_CSTR(node_of(t, "b-0"), "n1");
    CHECK_CSTR(node_of(t, "d-0"), "n1");
    CHECK(str_is_empty(node_of(t, "a-0")) && str_is_empty(node_of(t, "c-1")));
    tw_free(t);
}

/* Pods beyond minimums come after all minimums, in however many calls that is, and all come. */
TEST(surplus_of_many_gangs_comes_after_their_minimums)
{
    enum { GANGS = 1200 };
    struct test_world *t = world_new();
    char name[32], pod[32];
    add_nodes(t, GANGS / 50, 100);
    for (int i = 0; i < GANGS; i++) {
        (void)snprintf(name, sizeof(name), "g%04d", i);
        for (int k = 0; k < 3; k++) {
            (void)snprintf(pod, sizeof(pod), "g%04d-%d", i, k);
            add_pod(t, pod, 1, "");
        }
        add_gang(t, name, 1, 3);
    }
    int calls = 0;
    for (; calls < 100 && (calls == 0 || t->plan.look_again == PLAN_AT_ONCE); calls++)
        (void)looks(t);
    CHECK(calls < 100);
    size_t minimums = 0, bound = 0;
    for (int i = 0; i < GANGS; i++) {
        for (int k = 0; k < 3; k++) {
            (void)snprintf(pod, sizeof(pod), "g%04d-%d", i, k);
            bool there = !str_is_empty(node_of(t, pod));
            minimums += k == 0 && there;
            bound += there;
        }
    }
    CHECK_INT(minimums, GANGS);
    CHECK_INT(bound, GANGS * 2);
    tw_free(t);
}
