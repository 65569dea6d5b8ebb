/* Simulated nodes: how they register, and the lives of the pods on them. */
#include "base/test.h"
#include "grove/test-world.h"
#include "nodes/nodes.h"
#include "json/patch.h"
#include "json/yaml.h"

static struct nodes_options options;

static struct test_world *world_new(void)
{
    struct test_world *t = tw_new();
    nodes_add_index(t->runtime);
    options = nodes_defaults;
    return t;
}

static struct plan *plan_node(struct test_world *t, const char *name)
{
    return tw_plan(t, nodes_plan, &options, &kind_node, name);
}

static void check_yaml(jval got, const char *yaml)
{
    struct strbuf diff = STRBUF_INIT(100000);
    struct doc *want = yaml_parse_one(str_of(yaml), NULL);
    REQUIRE(want != NULL);
    json_diff_print(doc_root(want), got, &diff);
    CHECK_CSTR(strbuf_str(&diff), "");
    strbuf_done(&diff);
    doc_unref(want);
}

/* Makes the node and its status. */
static void bring_up(struct test_world *t, const char *name)
{
    plan_node(t, name);
    tw_carry_out(t);
    plan_node(t, name);
    tw_carry_out(t);
}

/* ---- nodes ---- */

TEST(the_defaults_are_those_of_the_demo)
{
    CHECK_INT(nodes_defaults.count, 20);
    CHECK_CSTR(str_of(nodes_defaults.profile), "h100");
    CHECK(!nodes_defaults.tainted);
    CHECK_CSTR(str_of(nodes_profiles[0]), "h100");
    CHECK_CSTR(str_of(nodes_profiles[1]), "gb200");
    CHECK_CSTR(str_of(nodes_profiles[2]), "cpu");
    CHECK(nodes_profiles[3] == NULL);
}

TEST(a_node_registers_itself)
{
    struct test_world *t = world_new();
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "create Node fake-node-001\n");
    jval body = tw_body(t, &kind_node, "fake-node-001", "");
    jval labels = jpath(body, "metadata.labels");
    static const char *const want[] = {"kubernetes.io/zone", "kubernetes.io/block",
                                       "kubernetes.io/rack", "topology.kubernetes.io/zone"};
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        CHECK(!str_is_empty(jstr(jget(labels, str_of(want[i])))));
    CHECK_CSTR(jstr(jget(labels, STR("kubernetes.io/hostname"))), "fake-node-001");
    CHECK(j_is_absent(jpath(body, "spec.taints")));
    tw_carry_out(t);
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "apply Node fake-node-001 status\n");
    jval status = jgetc(tw_body(t, &kind_node, "fake-node-001", "status"), "status");
    check_yaml(jgetc(status, "allocatable"),
               "{cpu: '128', memory: 1Ti, pods: '110', nvidia.com/gpu: '8'}");
    check_yaml(jgetc(status, "capacity"),
               "{cpu: '128', memory: 1Ti, pods: '110', nvidia.com/gpu: '8'}");
    CHECK(condition_is_true(jgetc(status, "conditions"), STR("Ready")));
    tw_carry_out(t);
    CHECK(plan_is_empty(plan_node(t, "fake-node-001")));
    tw_free(t);
}

TEST(profiles_differ_in_what_they_have)
{
    struct test_world *t = world_new();
    options.profile = "gb200";
    bring_up(t, "fake-node-001");
    check_yaml(jgetc(obj_status(tw_must(t, &kind_node, "fake-node-001")), "allocatable"),
               "{cpu: '144', memory: 960Gi, pods: '110', nvidia.com/gpu: '4'}");
    options.profile = "cpu";
    bring_up(t, "fake-node-002");
    check_yaml(jgetc(obj_status(tw_must(t, &kind_node, "fake-node-002")), "allocatable"),
               "{cpu: '64', memory: 256Gi, pods: '110'}");
    tw_free(t);
}

TEST(tainted_nodes_carry_the_taint_of_demo_clusters)
{
    struct test_world *t = world_new();
    options.tainted = true;
    plan_node(t, "fake-node-007");
    check_yaml(jpath(tw_body(t, &kind_node, "fake-node-007", ""), "spec.taints"),
               "[{key: fake-node, value: 'true', effect: NoSchedule}]");
    tw_free(t);
}

/* Racks are within blocks, blocks within zones. */
TEST(topology_domains_are_nested)
{
    struct test_world *t = world_new();
    options.count = 100;
    str last_rack = STR_NONE, last_block = STR_NONE, last_zone = STR_NONE;
    struct arena a = ARENA_INIT;
    size_t racks = 0;
    for (int i = 1; i <= 100; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "fake-node-%03d", i);
        plan_node(t, name);
        jval labels = jpath(tw_body(t, &kind_node, name, ""), "metadata.labels");
        str rack = arena_str(&a, jstr(jget(labels, STR("kubernetes.io/rack"))));
        str block = arena_str(&a, jstr(jget(labels, STR("kubernetes.io/block"))));
        str zone = arena_str(&a, jstr(jget(labels, STR("kubernetes.io/zone"))));
        CHECK_STR(jstr(jget(labels, STR("topology.kubernetes.io/zone"))), zone);
        if (str_eq(rack, last_rack))
            CHECK(str_eq(block, last_block));
        else
            racks++;
        if (str_eq(block, last_block))
            CHECK(str_eq(zone, last_zone));
        last_rack = rack;
        last_block = block;
        last_zone = zone;
    }
    CHECK_INT(racks, 25); /* four h100 nodes to a rack */
    CHECK(!str_eq(last_zone, STR("zone-0")));
    arena_done(&a);
    tw_free(t);
}

TEST(names_that_are_not_ours_are_nobodys)
{
    static const char *const names[] = {"node-001",       "fake-node-000",  "fake-node-021",
                                        "fake-node-1",    "fake-node-0001", "fake-node-",
                                        "fake-node--001", "fake-node-+01"};
    struct test_world *t = world_new();
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK(plan_is_empty(plan_node(t, names[i])));
    options.count = 1234;
    CHECK_INT(plan_node(t, "fake-node-1234")->writes.len, 1);
    tw_free(t);
}

TEST(addresses_of_nodes_differ)
{
    struct test_world *t = world_new();
    options.count = 300;
    bring_up(t, "fake-node-001");
    bring_up(t, "fake-node-257");
    str one = tw_json(tw_must(t, &kind_node, "fake-node-001"), "status.addresses");
    str two = tw_json(tw_must(t, &kind_node, "fake-node-257"), "status.addresses");
    CHECK(one.len > 0 && !str_eq(one, two));
    CHECK(!str_eq(tw_json(tw_must(t, &kind_node, "fake-node-001"), "spec.podCIDR"),
                  tw_json(tw_must(t, &kind_node, "fake-node-257"), "spec.podCIDR")));
    tw_free(t);
}

/* ---- pods ---- */

/* Bound two seconds after the start of the world. */
static void add_pod(struct test_world *t, const char *name, const char *more)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {nodeName: fake-node-001, "
             "containers: [{name: c, image: i}, {name: d, image: j}]}, status: {phase: Pending, "
             "conditions: [{type: PodScheduled, status: 'True', lastTransitionTime: "
             "'2026-01-01T00:00:02Z'}]%s}}",
             name, more);
}

static struct test_world *with_node(void)
{
    struct test_world *t = world_new();
    bring_up(t, "fake-node-001");
    options.start_delay = 300 * USEC_PER_MSEC;
    options.stop_delay = 200 * USEC_PER_MSEC;
    t->world.now = TW_START + 2 * USEC_PER_SEC;
    return t;
}

TEST(a_pod_starts_after_the_delay_and_not_before)
{
    struct test_world *t = with_node();
    add_pod(t, "p", "");
    plan_node(t, "fake-node-001");
    CHECK_INT(t->plan.writes.len, 0);
    CHECK_INT(t->plan.look_again, TW_START + 2 * USEC_PER_SEC + 300 * USEC_PER_MSEC);
    t->world.now = t->plan.look_again;
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "apply Pod default/p status\n");
    CHECK_INT(t->plan.look_again, 0);
    tw_carry_out(t);
    struct obj *p = tw_must(t, &kind_pod, "p");
    jval status = obj_status(p);
    CHECK_CSTR(jstr(jgetc(status, "phase")), "Running");
    static const char *const types[] = {"PodScheduled", "Initialized", "ContainersReady", "Ready"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        CHECK(condition_is_true(jgetc(status, "conditions"), str_of(types[i])));
    CHECK_INT(jlen(jgetc(status, "containerStatuses")), 2);
    for (struct jiter it = jiter(jgetc(status, "containerStatuses")); jnext(&it);)
        CHECK(j_is_true(jgetc(it.value, "ready")) && j_is_true(jgetc(it.value, "started")));
    CHECK_CSTR(jstr(jgetc(status, "startTime")), "2026-01-01T00:00:02Z");
    CHECK_STR(
        jtext(jgetc(status, "hostIP")),
        jtext(jgetc(
            jat(jpath(obj_root(tw_must(t, &kind_node, "fake-node-001")), "status.addresses"), 0),
            "address")));
    CHECK(plan_is_empty(plan_node(t, "fake-node-001")));
    tw_free(t);
}

TEST(the_next_of_several_due_times_is_looked_at)
{
    struct test_world *t = with_node();
    add_pod(t, "a", "");
    tw_patch(t, &kind_pod, "a",
             "{status: {conditions: [{type: PodScheduled, status: 'True', lastTransitionTime: "
             "'2026-01-01T00:00:09Z'}]}}");
    add_pod(t, "b", "");
    plan_node(t, "fake-node-001");
    CHECK_INT(t->plan.look_again, TW_START + 2 * USEC_PER_SEC + 300 * USEC_PER_MSEC);
    t->world.now = t->plan.look_again;
    plan_node(t, "fake-node-001");
    CHECK_INT(t->plan.writes.len, 1);
    CHECK_INT(t->plan.look_again, TW_START + 9 * USEC_PER_SEC + 300 * USEC_PER_MSEC);
    tw_free(t);
}

static int cmp_str(const void *x, const void *y)
{
    return str_cmp(*(const str *)x, *(const str *)y);
}

TEST(addresses_are_unique_on_a_node_and_used_again)
{
    enum { N = 110 };
    struct test_world *t = with_node();
    t->world.now += USEC_PER_SEC;
    for (int i = 0; i < N; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "p%03d", i);
        add_pod(t, name, "");
        if (i % 7 == 0) {
            plan_node(t, "fake-node-001");
            tw_carry_out(t);
        }
    }
    plan_node(t, "fake-node-001");
    tw_carry_out(t);
    str ips[N];
    size_t n = 0;
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&t->world, &kind_pod), STR_NONE);
         (o = cache_next(&it));) {
        ips[n++] = jstr(jgetc(obj_status(o), "podIP"));
        CHECK_STR(jstr(jgetc(jat(jgetc(obj_status(o), "podIPs"), 0), "ip")), ips[n - 1]);
        CHECK(str_starts(ips[n - 1], STR("10.244.1.")));
    }
    REQUIRE(n == N);
    qsort(ips, N, sizeof(ips[0]), cmp_str);
    for (int i = 1; i < N; i++)
        CHECK(!str_eq(ips[i - 1], ips[i]));
    struct arena a = ARENA_INIT;
    str freed = arena_str(&a, jstr(jgetc(obj_status(tw_must(t, &kind_pod, "p050")), "podIP")));
    tw_remove(t, &kind_pod, "p050");
    add_pod(t, "new", "");
    plan_node(t, "fake-node-001");
    tw_carry_out(t);
    CHECK_STR(jstr(jgetc(obj_status(tw_must(t, &kind_pod, "new")), "podIP")), freed);
    arena_done(&a);
    tw_free(t);
}

/* More pods than addresses: the rest waits, nobody shares. */
TEST(no_address_left_means_waiting)
{
    struct test_world *t = with_node();
    t->world.now += USEC_PER_SEC;
    for (int i = 0; i < 260; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "p%03d", i);
        add_pod(t, name, "");
    }
    plan_node(t, "fake-node-001");
    CHECK_INT(t->plan.writes.len, 254);
    tw_carry_out(t);
    plan_node(t, "fake-node-001");
    CHECK_INT(t->plan.writes.len, 0);
    tw_remove(t, &kind_pod, "p000");
    plan_node(t, "fake-node-001");
    CHECK_INT(t->plan.writes.len, 1);
    tw_free(t);
}

TEST(pods_elsewhere_unbound_or_finished_are_left_alone)
{
    struct test_world *t = with_node();
    t->world.now += USEC_PER_MIN;
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: other}}");
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {}}");
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: c}, spec: {nodeName: fake-node-001}, "
               "status: {phase: Failed}}");
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: d}, spec: {nodeName: fake-node-001}, "
               "status: {phase: Running}}");
    CHECK(plan_is_empty(plan_node(t, "fake-node-001")));
    tw_free(t);
}

/* deletionTimestamp is when the grace period ends: here ten seconds after now. */
static void delete_pod(struct test_world *t, const char *name, int64_t grace)
{
    struct arena a = ARENA_INIT;
    struct strbuf when = STRBUF_INIT(64);
    time_format_rfc3339(t->world.now + grace * USEC_PER_SEC, &when);
    tw_patch(t, &kind_pod, name,
             arena_printf(&a,
                          "{metadata: {deletionTimestamp: '%s', deletionGracePeriodSeconds: %d}}",
                          when.p, (int)grace)
                 .p);
    strbuf_done(&when);
    arena_done(&a);
}

TEST(a_deleted_pod_stops_after_a_while_within_its_grace_period)
{
    struct test_world *t = with_node();
    add_pod(t, "p", "");
    usec asked = t->world.now;
    delete_pod(t, "p", 10);
    plan_node(t, "fake-node-001");
    CHECK_INT(t->plan.writes.len, 0);
    CHECK_INT(t->plan.look_again, asked + 200 * USEC_PER_MSEC);
    t->world.now = t->plan.look_again;
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "delete Pod default/p\n");
    CHECK_INT(t->plan.writes.p[0].grace_seconds, 0);
    CHECK_STR(t->plan.writes.p[0].uid, tw_must(t, &kind_pod, "p")->uid);
    tw_carry_out(t);
    CHECK(tw_get(t, &kind_pod, "p") == NULL);
    CHECK(plan_is_empty(plan_node(t, "fake-node-001")));
    tw_free(t);
}

TEST(a_short_grace_period_ends_a_slow_stop)
{
    struct test_world *t = with_node();
    add_pod(t, "p", "");
    options.stop_delay = USEC_PER_MIN;
    usec asked = t->world.now;
    delete_pod(t, "p", 5);
    plan_node(t, "fake-node-001");
    CHECK_INT(t->plan.look_again, asked + 5 * USEC_PER_SEC);
    tw_free(t);
}

/* With the grace period used up the node is done; finalizers are others' business. */
TEST(a_pod_held_by_finalizers_is_not_deleted_again_and_again)
{
    struct test_world *t = with_node();
    add_pod(t, "p", "");
    tw_patch(t, &kind_pod, "p", "{metadata: {finalizers: [x/y]}}");
    delete_pod(t, "p", 0);
    t->world.now += USEC_PER_MIN;
    CHECK(plan_is_empty(plan_node(t, "fake-node-001")));
    tw_free(t);
}

TEST(absurd_times_do_no_harm)
{
    struct test_world *t = with_node();
    add_pod(t, "p", "");
    tw_patch(t, &kind_pod, "p",
             "{metadata: {deletionTimestamp: '9999-12-31T00:00:00Z', deletionGracePeriodSeconds: "
             "9223372036854775807}}");
    plan_node(t, "fake-node-001");
    add_pod(t, "q", "");
    tw_patch(t, &kind_pod, "q",
             "{status: {conditions: [{type: PodScheduled, status: 'True', lastTransitionTime: "
             "'yesterday'}]}}");
    plan_node(t, "fake-node-001");
    CHECK(tw_write(t, &kind_pod, "q", "status") != NULL);
    tw_free(t);
}

TEST(a_node_that_lost_its_status_gets_it_back)
{
    struct test_world *t = with_node();
    tw_patch(t, &kind_node, "fake-node-001",
             "{status: {conditions: [{type: Ready, status: 'False'}]}}");
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "apply Node fake-node-001 status\n");
    tw_free(t);
}
