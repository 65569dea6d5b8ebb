/* Queues in rounds: how they are written, who is next, limits, and shares claimed back. */
#include "sched/model/tell.h"
#include "sched/model/test-round.h"
#include "sched/quota/queue_quota.h"
#include "json/write.h"

/* ---- configuration ---- */

static void check_refused(const char *yaml, const char *saying)
{
    struct err err = ERR_INIT;
    struct quota_config *c = quota_config_new(str_of(yaml), &err);
    CHECK(c == NULL);
    CHECK(str_find(str_of(err.message), str_of(saying)) >= 0);
    quota_config_free(c);
}

TEST(a_list_of_queues_with_a_mistake_is_refused)
{
    check_refused("", "");
    check_refused("{queues: 5}", "queues: must be a list");
    check_refused("{qeues: []}", "unknown member qeues");
    check_refused("{queues: [{weight: 2}]}", "a name is needed");
    check_refused("{queues: [{name: a}, {name: a}]}", "queue a: there are two of this name");
    check_refused("{queues: [{name: a, parent: b}, {name: b}]}",
                  "queue a: its parent b is not among the queues before it");
    check_refused("{queues: [{name: a, parent: a}]}", "its parent a is not among");
    check_refused("{queues: [{name: a, weight: 0}]}", "queue a: weight: must be a whole number");
    check_refused("{queues: [{name: a, quota: {cpu: many}}]}", "queue a: quota: cpu: many is not");
    check_refused("{queues: [{name: a, quota: {cpu: -1}}]}", "is not an amount");
    check_refused("{queues: [{name: a, colour: red}]}", "queue a: unknown member colour");
    check_refused("{queues: [{name: a, cells: [{level: l}]}]}", "level and count are needed");
}

TEST(queues_are_read_as_they_are_written)
{
    struct err err = ERR_INIT;
    struct quota_config *c =
        quota_config_new(STR("queues:\n"
                             "- {name: a, weight: 3, quota: {cpu: 1500m, nvidia.com/gpu: 8}}\n"
                             "- {name: b, parent: a, priority: 7, limit: {memory: 1Gi}}\n"),
                         &err);
    REQUIRE(c != NULL);
    CHECK_INT(c->list.len, 3);
    CHECK(c->list.p[0].inner && !c->list.p[1].inner);
    CHECK_INT(c->list.p[0].quota.p[0].amount, 1500);
    CHECK_INT(c->list.p[1].limit.p[0].amount, 1 << 30);
    CHECK_INT(c->list.p[1].priority, 7);
    CHECK_CSTR(c->list.p[2].name, "default");
    CHECK_INT(quota_config_find(c, STR("b")), 1);
    CHECK_INT(quota_config_find(c, STR("x")), -1);
    quota_config_free(c);
}

/* ---- rounds ---- */

static void set_queues(const char *yaml)
{
    struct jw w;
    struct err err = ERR_INIT;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put_cstr(&w, "name", QUOTA_NAME);
    jw_put_cstr(&w, "namespace", QUOTA_NAMESPACE);
    jw_put_cstr(&w, "uid", "queues");
    jw_end(&w);
    jw_put_object(&w, "data");
    jw_put_cstr(&w, QUOTA_MEMBER, yaml);
    jw_end(&w);
    jw_end(&w);
    struct obj *o = obj_new(&kind_config_map, jw_doc(&w), &err);
    quota_on_config(sched, NULL, o);
    obj_unref(o);
}

/* A gang of one pod of 4 CPUs in a queue; on a node already, or not. */
static void add_in(struct test_world *t, const char *name, const char *queue, const char *node)
{
    struct arena a = ARENA_INIT;
    str pod = arena_printf(&a, "%s-0", name);
    add_pod(t, pod.p, 4, node ? arena_printf(&a, ", nodeName: %s", node).p : "");
    add_gang(t, name, 1, 1);
    if (queue)
        tw_patch(t, &kind_pod_gang, name,
                 arena_printf(&a, "{metadata: {labels: {kai.scheduler/queue: %s}}}", queue).p);
    arena_done(&a);
}

static bool is_marked(struct test_world *t, const char *gang)
{
    return gang_is_marked(tw_must(t, &kind_pod_gang, gang));
}

static str reason_of(struct test_world *t, const char *gang)
{
    jval c = condition_find(jgetc(obj_status(tw_must(t, &kind_pod_gang, gang)), "conditions"),
                            STR("Unschedulable"));
    return jstr(jgetc(c, "reason"));
}

TEST(the_queue_that_has_less_of_its_share_comes_first)
{
    struct test_world *t = world_new();
    set_queues("{queues: [{name: a}, {name: b}]}");
    add_nodes(t, 4, 4);
    add_in(t, "a1", "a", "n1");
    add_in(t, "a2", "a", "n2");
    /* Older, and yet later: its queue has two of the four already. */
    add_in(t, "a3", "a", NULL);
    add_in(t, "a4", "a", NULL);
    add_in(t, "b1", "b", NULL);
    add_in(t, "b2", "b", NULL);
    for (int i = 1; i <= 2; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "b%d", i);
        tw_patch(t, &kind_pod_gang, name,
                 "{metadata: {creationTimestamp: '2026-01-02T00:00:00Z'}}");
    }
    plan_round(t);
    CHECK_INT(count_binds(t), 2);
    CHECK(tw_write(t, &kind_pod, "b1-0", "binding") && tw_write(t, &kind_pod, "b2-0", "binding"));
    tw_free(t);
}

TEST(a_queue_does_not_exceed_its_limit)
{
    struct test_world *t = world_new();
    set_queues("{queues: [{name: all, limit: {cpu: 8}}, {name: a, parent: all}, {name: b, parent: "
               "all}]}");
    add_nodes(t, 4, 4);
    add_in(t, "a1", "a", "n1");
    add_in(t, "b1", "b", NULL);
    add_in(t, "b2", "b", NULL);
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    carry_out(t);
    CHECK_CSTR(reason_of(t, "b2"), "QueueLimit");
    check_condition(
        t, "b2", "True",
        "queue all may use 8000m cpu and uses 8000m cpu; the gang needs 4000m cpu more");
    /* Somebody of the other queue below it goes. */
    tw_remove(t, &kind_pod, "a1-0");
    plan_round(t);
    CHECK(tw_write(t, &kind_pod, "b2-0", "binding") != NULL);
    tw_free(t);
}

/* There is room, but not in the queue: what is less important in it goes, as much as it takes. */
TEST(within_a_limit_priority_decides)
{
    struct test_world *t = world_new();
    set_queues("{queues: [{name: a, limit: {cpu: 8}}, {name: b}]}");
    add_priority(t, "high", 100);
    add_nodes(t, 4, 4);
    add_in(t, "a1", "a", "n1");
    add_in(t, "a2", "a", "n2");
    add_in(t, "b1", "b", "n3");
    add_in(t, "u", "a", NULL);
    tw_patch(t, &kind_pod_gang, "u", "{spec: {priorityClassName: high}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    carry_out(t);
    CHECK_INT(is_marked(t, "a1") + is_marked(t, "a2"), 1);
    CHECK(!is_marked(t, "b1"));
    tw_remove(t, &kind_pod, is_marked(t, "a1") ? "a1-0" : "a2-0");
    for (int i = 0; i < 2; i++) {
        plan_round(t);
        carry_out(t);
    }
    CHECK(!str_is_empty(node_of(t, "u-0")));
    CHECK_INT(is_marked(t, "a1") + is_marked(t, "a2"), 0);
    tw_free(t);
}

TEST(surplus_stops_at_the_limit_too)
{
    struct test_world *t = world_new();
    set_queues("{queues: [{name: a, limit: {cpu: 8}}]}");
    add_nodes(t, 4, 4);
    for (int i = 0; i < 4; i++) {
        char pod[8];
        (void)snprintf(pod, sizeof(pod), "w-%d", i);
        add_pod(t, pod, 4, "");
    }
    add_gang(t, "w", 1, 4);
    tw_patch(t, &kind_pod_gang, "w", "{metadata: {annotations: {kai.scheduler/queue: a}}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 2);
    tw_free(t);
}

TEST(a_gang_in_a_queue_that_is_none_waits_and_says_so)
{
    struct test_world *t = world_new();
    set_queues("{queues: [{name: a}, {name: b, parent: a}]}");
    add_nodes(t, 4, 4);
    add_in(t, "w", "nowhere", NULL);
    add_in(t, "inner", "a", NULL);
    add_in(t, "none", NULL, NULL);
    add_pod(t, "two-0", 1, "");
    add_pod(t, "two-1", 1, "");
    tw_patch(t, &kind_pod, "two-0", "{metadata: {labels: {kai.scheduler/queue: b}}}");
    tw_patch(t, &kind_pod, "two-1", "{metadata: {labels: {kai.scheduler/queue: default}}}");
    add_gang(t, "two", 1, 2);
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    CHECK(tw_write(t, &kind_pod, "none-0", "binding") != NULL);
    carry_out(t);
    CHECK_CSTR(reason_of(t, "w"), "UnknownQueue");
    check_condition(t, "w", "True", "there is no queue nowhere that takes gangs");
    check_condition(t, "inner", "True", "there is no queue a that takes gangs");
    check_condition(t, "two", "True", "its pods name several queues");
    tw_free(t);
}

/* Queue a has three nodes of four and a share of two; b claims one back, although no priority
 * differs; then both have their share, and nobody claims anything. */
TEST(a_queue_below_its_share_claims_it_from_one_above)
{
    struct test_world *t = world_new();
    set_queues("{queues: [{name: a, quota: {cpu: 8}}, {name: b, quota: {cpu: 8}}]}");
    add_nodes(t, 4, 4);
    add_in(t, "a1", "a", "n1");
    add_in(t, "a2", "a", "n2");
    add_in(t, "a3", "a", "n3");
    add_in(t, "b1", "b", "n4");
    add_in(t, "b2", "b", NULL);
    add_in(t, "b3", "b", NULL);
    plan_round(t);
    CHECK_INT(count_binds(t), 0);
    carry_out(t);
    CHECK_INT(is_marked(t, "a1") + is_marked(t, "a2") + is_marked(t, "a3"), 1);
    CHECK(!is_marked(t, "b1"));
    const char *victim = is_marked(t, "a1") ? "a1" : is_marked(t, "a2") ? "a2" : "a3";
    jval c = condition_find(jgetc(obj_status(tw_must(t, &kind_pod_gang, victim)), "conditions"),
                            STR("DisruptionTarget"));
    CHECK(str_find(jstr(jgetc(c, "message")), STR("queue b claims its share back for gang")) >= 0);
    char pod[16];
    (void)snprintf(pod, sizeof(pod), "%s-0", victim);
    tw_remove(t, &kind_pod, pod);
    for (int i = 0; i < 4; i++) {
        plan_round(t);
        carry_out(t);
    }
    CHECK(str_is_empty(node_of(t, "b2-0")) != str_is_empty(node_of(t, "b3-0")));
    CHECK_INT(is_marked(t, "a1") + is_marked(t, "a2") + is_marked(t, "a3"), 0);
    tw_free(t);
}

/* Priority counts within a queue only. */
TEST(a_more_important_gang_of_another_queue_asks_nobody)
{
    for (int same = 0; same < 2; same++) {
        struct test_world *t = world_new();
        set_queues("{queues: [{name: a, quota: {cpu: 4}}, {name: b}]}");
        add_priority(t, "high", 100);
        add_nodes(t, 1, 4);
        add_in(t, "a1", "a", "n1");
        add_in(t, "u", same ? "a" : "b", NULL);
        tw_patch(t, &kind_pod_gang, "u", "{spec: {priorityClassName: high}}");
        plan_round(t);
        carry_out(t);
        CHECK_INT(is_marked(t, "a1"), same);
        tw_free(t);
    }
}

TEST(a_wrong_configuration_is_told_and_the_one_before_stays)
{
    struct test_world *t = world_new();
    set_queues("{queues: [{name: a, limit: {cpu: 4}}]}");
    set_queues("{queues: [{name: a, limit: {cpu: lots}}]}");
    add_nodes(t, 4, 4);
    add_in(t, "a1", "a", NULL);
    add_in(t, "a2", "a", NULL);
    plan_round(t);
    CHECK_INT(count_binds(t), 1);
    REQUIRE(t->plan.events.len == 1);
    CHECK_CSTR(t->plan.events.p[0].reason, "InvalidQueues");
    CHECK(str_find(t->plan.events.p[0].message, STR("the queues of before stay")) >= 0);
    carry_out(t);
    plan_round(t);
    CHECK_INT(t->plan.events.len, 0);
    tw_free(t);
}

/* ---- cells ---- */

/* Two zones of two nodes; a queue is promised one zone. */
TEST(a_domain_that_a_queue_was_promised_is_kept_for_it)
{
    struct test_world *t = world_new();
    set_queues("{queues: [{name: a, cells: [{level: zone, count: 1}]}, {name: b}]}");
    add_zones(t);
    add_binding(t);
    for (int i = 0; i < 5; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "b%d", i);
        add_in(t, name, "b", NULL);
    }
    plan_round(t);
    /* Two of 4 CPUs fit each node of 8: four fit the other zone, the fifth waits. */
    CHECK_INT(count_binds(t), 4);
    carry_out(t);
    for (int i = 0; i < 4; i++) {
        char pod[8];
        (void)snprintf(pod, sizeof(pod), "b%d-0", i);
        CHECK(str_is_empty(node_of(t, pod)) || str_is(zone_of(t, pod), "z2"));
    }
    check_condition(t, "b4", "True", "2 nodes are kept for other queues");
    /* Its own queue finds it, in one piece. */
    add_packed(t, "w", 16, "zone");
    tw_patch(t, &kind_pod_gang, "w", "{metadata: {labels: {kai.scheduler/queue: a}}}");
    plan_round(t);
    CHECK_INT(count_binds(t), 16);
    CHECK(core_is_consistent(sched->tables->core));
    tw_free(t);
}

/* Who is there already stays; the promise is kept with what becomes free. */
TEST(a_domain_with_others_in_it_is_nobodys_cell)
{
    struct test_world *t = world_new();
    set_queues("{queues: [{name: a, cells: [{level: zone, count: 2}]}, {name: b}]}");
    add_zones(t);
    add_binding(t);
    add_in(t, "b1", "b", "n1");
    add_in(t, "b2", "b", NULL);
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "b2-0"), "z1");
    tw_free(t);
}

/* ---- who is protected ---- */

/* Queue a lends b a node; b's gang has run for a minute of the ten it is promised. */
TEST(a_gang_runs_for_as_long_as_its_queue_promises)
{
    struct test_world *t = world_new();
    set_queues("{queues: [{name: a, quota: {cpu: 8}}, {name: b, minRuntime: 10m}]}");
    add_nodes(t, 2, 4);
    add_in(t, "a1", "a", "n1");
    add_in(t, "b1", "b", "n2");
    tw_patch(t, &kind_pod, "b1-0", "{status: {startTime: '2026-01-01T00:00:00Z'}}");
    add_in(t, "a2", "a", NULL);
    t->world.now = TW_START + 60 * USEC_PER_SEC;
    plan_round(t);
    carry_out(t);
    CHECK(!is_marked(t, "b1"));
    CHECK(tw_look_at(t) > 0 && tw_look_at(t) <= TW_START + 601 * USEC_PER_SEC);
    t->world.now = TW_START + 601 * USEC_PER_SEC; /* it began in the course of a second */
    plan_round(t);
    carry_out(t);
    CHECK(is_marked(t, "b1"));
    tw_free(t);
}

TEST(a_runtime_that_is_none_is_refused)
{
    static const char *const wrong[] = {"soon", "-5m", "{}", "''"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        char yaml[96];
        struct err err = ERR_INIT;
        (void)snprintf(yaml, sizeof(yaml), "{queues: [{name: a, minRuntime: %s}]}", wrong[i]);
        CHECK(quota_config_new(str_of(yaml), &err) == NULL);
        CHECK(strstr(err.message, "minRuntime") != NULL);
    }
}

/* It could not be claimed back: a gang that never makes room stays within what is guaranteed. */
TEST(gangs_that_never_make_room_stay_within_the_quota)
{
    struct test_world *t = world_new();
    set_queues("{queues: [{name: a, quota: {cpu: 4}}]}");
    add_nodes(t, 3, 4);
    for (int i = 1; i <= 2; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "a%d", i);
        add_in(t, name, "a", NULL);
        tw_patch(t, &kind_pod_gang, name,
                 "{metadata: {labels: {kai.scheduler/preemptibility: non-preemptible}}}");
    }
    add_in(t, "a3", "a", NULL);
    for (int i = 0; i < 2; i++) {
        plan_round(t);
        carry_out(t);
    }
    CHECK(str_is_empty(node_of(t, "a1-0")) != str_is_empty(node_of(t, "a2-0")));
    CHECK(!str_is_empty(node_of(t, "a3-0")));
    const char *waits = str_is_empty(node_of(t, "a1-0")) ? "a1" : "a2";
    CHECK_CSTR(reason_of(t, waits), "QueueLimit");
    check_condition(t, waits, "True",
                    "queue a is guaranteed 4000m cpu, gangs that never make room");
    tw_free(t);
}

/* All nodes are full of pods that nobody may ask: of each queue the first that has waited long
 * enough holds room as it becomes free, and no other. */
TEST(room_is_held_for_one_gang_of_each_queue)
{
    struct test_world *t = world_new();
    char pod[16], more[32];
    set_queues("{queues: [{name: a}, {name: b}]}");
    add_nodes(t, 4, 4);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(pod, sizeof(pod), "x-%d", i);
        (void)snprintf(more, sizeof(more), ", nodeName: n%d", i + 1);
        add_pod(t, pod, 4, more);
    }
    add_in(t, "a1", "a", NULL);
    add_in(t, "a2", "a", NULL);
    add_in(t, "b1", "b", NULL);
    plan_round(t);
    carry_out(t);
    CHECK_INT(sched->tables->holds.len, 0);
    t->world.now += HOLD_AFTER + USEC_PER_SEC;
    for (int i = 0; i < 3; i++) {
        plan_round(t);
        carry_out(t);
    }
    CHECK_INT(sched->tables->holds.len, 2);
    CHECK(sched->tables->holds.p[0].gang->queue != sched->tables->holds.p[1].gang->queue);
    tw_free(t);
}
