/* Simulated nodes: how they register, and the lives of the pods on them. */
#include "base/test.h"
#include "grove/test-world.h"
#include "node/machine/machine.h"
#include "node/sim/nodes.h"
#include "node/sim/pods.h"
#include "json/patch.h"
#include "json/yaml.h"

static struct nodes_options options;

static struct test_world *world_new(void)
{
    struct test_world *t = tw_new();
    nodes_add_index(t->runtime);
    (void)runtime_cache(t->runtime, &kind_lease);
    options = nodes_defaults;
    options.jitter = 0;
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

/* Every label it names is one that nodes have. What the user made of it later stays. */
TEST(the_first_node_brings_a_binding_of_its_labels)
{
    struct test_world *t = world_new();
    (void)runtime_cache(t->runtime, &kind_ctb);
    options.binding = true;
    plan_node(t, "fake-node-002");
    CHECK_CSTR(tw_writes(t), "create Node fake-node-002\n");
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "create ClusterTopologyBinding grove-topology\n"
                             "create Node fake-node-001\n");
    tw_carry_out(t);
    jval labels = tw_must(t, &kind_node, "fake-node-001")->labels;
    jval list = jpath(obj_root(tw_must(t, &kind_ctb, NODES_BINDING)), "spec.levels");
    CHECK_INT(jlen(list), 4);
    for (struct jiter it = jiter(list); jnext(&it);)
        CHECK(!str_is_empty(jstr(jget(labels, jstr(jgetc(it.value, "key"))))));
    tw_remove(t, &kind_ctb, NODES_BINDING);
    bring_up(t, "fake-node-002");
    tw_remove(t, &kind_node, "fake-node-001");
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "create Node fake-node-001\n");
    tw_free(t);
}

TEST(who_has_a_binding_gets_no_other)
{
    struct test_world *t = world_new();
    (void)runtime_cache(t->runtime, &kind_ctb);
    options.binding = true;
    tw_load(t, "apiVersion: grove.io/v1alpha1\nkind: ClusterTopologyBinding\n"
               "metadata: {name: mine}\n"
               "spec: {levels: [{domain: host, key: kubernetes.io/hostname}]}\n");
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "create Node fake-node-001\n");
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
    options.life.start = 300 * USEC_PER_MSEC;
    options.life.stop = 200 * USEC_PER_MSEC;
    t->world.now = TW_START + 2 * USEC_PER_SEC;
    return t;
}

TEST(a_pod_starts_after_the_delay_and_not_before)
{
    struct test_world *t = with_node();
    add_pod(t, "p", "");
    plan_node(t, "fake-node-001");
    CHECK_INT(t->plan.writes.len, 0);
    CHECK_INT(tw_look_at(t), TW_START + 2 * USEC_PER_SEC + 300 * USEC_PER_MSEC);
    t->world.now = tw_look_at(t);
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "apply Pod default/p status\n");
    CHECK_INT(tw_look_at(t), 0);
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
    /* A container that somebody adds to look around runs, too. */
    tw_patch(t, &kind_pod, "p", "{spec: {ephemeralContainers: [{name: debugger, image: x}]}}");
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "apply Pod default/p status\n");
    tw_carry_out(t);
    jval added =
        jat(jgetc(obj_status(tw_must(t, &kind_pod, "p")), "ephemeralContainerStatuses"), 0);
    CHECK_CSTR(jstr(jgetc(added, "name")), "debugger");
    CHECK(j_has(jpath(added, "state.running.startedAt")));
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
    CHECK_INT(tw_look_at(t), TW_START + 2 * USEC_PER_SEC + 300 * USEC_PER_MSEC);
    t->world.now = tw_look_at(t);
    plan_node(t, "fake-node-001");
    CHECK_CSTR(jstr(jpath(tw_body(t, &kind_pod, "b", "status"), "status.phase")), "Running");
    CHECK_INT(tw_look_at(t), TW_START + 9 * USEC_PER_SEC + 300 * USEC_PER_MSEC);
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
    CHECK_INT(tw_look_at(t), asked + 200 * USEC_PER_MSEC);
    t->world.now = tw_look_at(t);
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
    options.life.stop = USEC_PER_MIN;
    usec asked = t->world.now;
    delete_pod(t, "p", 5);
    plan_node(t, "fake-node-001");
    CHECK_INT(tw_look_at(t), asked + 5 * USEC_PER_SEC);
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

/* ---- lives ---- */

/* A pod with these annotations and this spec beside its container, bound at two seconds. */
static void add_life(struct test_world *t, const char *name, const char *annotations,
                     const char *spec)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s, annotations: {%s}}, spec: "
             "{nodeName: fake-node-001, containers: [{name: c, image: i}]%s}, status: {phase: "
             "Pending, conditions: [{type: PodScheduled, status: 'True', lastTransitionTime: "
             "'2026-01-01T00:00:02Z'}]}}",
             name, annotations, spec);
}

/* Looks at the node at this time, carries out what it plans; the pod's status then. */
static jval status_at(struct test_world *t, const char *pod, usec after_bound)
{
    t->world.now = TW_START + 2 * USEC_PER_SEC + after_bound;
    plan_node(t, "fake-node-001");
    tw_carry_out(t);
    return obj_status(tw_must(t, &kind_pod, pod));
}

static jval state_of(jval status)
{
    return jgetc(jat(jgetc(status, "containerStatuses"), 0), "state");
}

static bool is_ready(jval status)
{
    return condition_is_true(jgetc(status, "conditions"), STR("Ready"));
}

TEST(pull_and_readiness_take_their_time)
{
    struct test_world *t = with_node();
    add_life(t, "p",
             "simulation.grove.io/pull: 5s, simulation.grove.io/start: 1s, "
             "simulation.grove.io/ready: 10s",
             "");
    jval s = status_at(t, "p", 0);
    CHECK_CSTR(jstr(jgetc(s, "phase")), "Pending");
    CHECK_CSTR(jstr(jpath(state_of(s), "waiting.reason")), "ContainerCreating");
    CHECK(j_is_absent(jgetc(s, "podIP")));
    CHECK(plan_is_empty(plan_node(t, "fake-node-001")) || t->plan.writes.len == 0);
    s = status_at(t, "p", 6 * USEC_PER_SEC);
    CHECK_CSTR(jstr(jgetc(s, "phase")), "Running");
    CHECK(!is_ready(s));
    CHECK_CSTR(jstr(jgetc(condition_find(jgetc(s, "conditions"), STR("Ready")), "reason")),
               "ContainersNotReady");
    CHECK_INT(tw_look_at(t), TW_START + 18 * USEC_PER_SEC);
    s = status_at(t, "p", 16 * USEC_PER_SEC);
    CHECK(is_ready(s));
    CHECK_CSTR(jstr(jpath(state_of(s), "running.startedAt")), "2026-01-01T00:00:08Z");
    CHECK_INT(tw_look_at(t), 0);
    tw_free(t);
}

TEST(init_containers_run_one_after_the_other)
{
    struct test_world *t = with_node();
    add_life(t, "p", "simulation.grove.io/init: 4s",
             ", initContainers: [{name: a, image: x}, {name: b, image: y}]");
    jval s = status_at(t, "p", 0);
    CHECK_CSTR(jstr(jgetc(s, "phase")), "Pending");
    CHECK(j_has(jpath(jat(jgetc(s, "initContainerStatuses"), 0), "state.running")));
    CHECK_CSTR(jstr(jpath(jat(jgetc(s, "initContainerStatuses"), 1), "state.waiting.reason")),
               "PodInitializing");
    s = status_at(t, "p", 4 * USEC_PER_SEC);
    CHECK_INT(
        jint(jpath(jat(jgetc(s, "initContainerStatuses"), 0), "state.terminated.exitCode"), -1), 0);
    CHECK(j_has(jpath(jat(jgetc(s, "initContainerStatuses"), 1), "state.running")));
    CHECK(!condition_is_true(jgetc(s, "conditions"), STR("Initialized")));
    s = status_at(t, "p", 8 * USEC_PER_SEC);
    CHECK_CSTR(jstr(jgetc(s, "phase")), "Pending");
    CHECK(condition_is_true(jgetc(s, "conditions"), STR("Initialized")));
    CHECK(is_ready(status_at(t, "p", 9 * USEC_PER_SEC)));
    tw_free(t);
}

TEST(a_sidecar_does_not_hold_the_pod_back)
{
    struct test_world *t = with_node();
    add_life(t, "p", "simulation.grove.io/init: 1h",
             ", initContainers: [{name: a, image: x, restartPolicy: Always}]");
    jval s = status_at(t, "p", USEC_PER_SEC);
    s = status_at(t, "p", 2 * USEC_PER_SEC);
    CHECK(is_ready(s));
    CHECK(j_has(jpath(jat(jgetc(s, "initContainerStatuses"), 0), "state.running")));
    tw_free(t);
}

static void add_parent(struct test_world *t, const char *name, const char *clique, bool ready)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {grove.io/podclique: %s, "
             "grove.io/podgang: g}}, spec: {nodeName: other}, status: {phase: Running, "
             "conditions: [{type: Ready, status: '%s'}]}}",
             name, clique, ready ? "True" : "False");
}

TEST(startup_order_holds_a_pod_until_enough_of_each_clique_are_ready)
{
    struct test_world *t = with_node();
    add_life(t, "p", "",
             ", initContainers: [{name: grove-initc, image: x, args: ['--podcliques=a-0-w:2', "
             "'--podcliques=a-0-l:1']}]");
    add_parent(t, "w1", "a-0-w", true);
    add_parent(t, "w2", "a-0-w", false);
    add_parent(t, "w3", "a-0-w2", true);
    add_parent(t, "l1", "a-0-l", true);
    jval s = status_at(t, "p", USEC_PER_SEC);
    s = status_at(t, "p", USEC_PER_HOUR);
    CHECK_CSTR(jstr(jgetc(s, "phase")), "Pending");
    CHECK_INT(tw_look_at(t), 0);
    tw_remove(t, &kind_pod, "w2");
    add_parent(t, "w2", "a-0-w", true);
    s = status_at(t, "p", USEC_PER_HOUR + USEC_PER_SEC);
    CHECK(condition_is_true(jgetc(s, "conditions"), STR("Initialized")));
    CHECK(is_ready(status_at(t, "p", USEC_PER_HOUR + 3 * USEC_PER_SEC)));
    tw_free(t);
}

TEST(a_container_that_exits_backs_off_and_starts_again)
{
    struct test_world *t = with_node();
    add_life(t, "p",
             "simulation.grove.io/start: 0s, simulation.grove.io/run: 20s, "
             "simulation.grove.io/exit-code: '3', simulation.grove.io/exits: '2'",
             "");
    CHECK(is_ready(status_at(t, "p", 0)));
    /* The first restart is at once. */
    jval s = status_at(t, "p", 20 * USEC_PER_SEC);
    jval c = jat(jgetc(s, "containerStatuses"), 0);
    CHECK_INT(jint(jgetc(c, "restartCount"), -1), 1);
    CHECK_INT(jint(jpath(c, "lastState.terminated.exitCode"), -1), 3);
    CHECK(is_ready(s));
    /* The second after ten seconds. */
    s = status_at(t, "p", 40 * USEC_PER_SEC);
    CHECK(!is_ready(s));
    CHECK_CSTR(jstr(jgetc(s, "phase")), "Running");
    CHECK_CSTR(jstr(jpath(state_of(s), "waiting.reason")), "CrashLoopBackOff");
    CHECK_INT(tw_look_at(t), TW_START + 52 * USEC_PER_SEC);
    s = status_at(t, "p", 50 * USEC_PER_SEC);
    CHECK(is_ready(s));
    CHECK_INT(jint(jgetc(jat(jgetc(s, "containerStatuses"), 0), "restartCount"), -1), 2);
    /* And the third run lasts. */
    CHECK_INT(tw_look_at(t), 0);
    tw_free(t);
}

TEST(the_restart_policy_says_what_an_exit_means)
{
    static const struct {
        const char *policy, *code, *phase;
    } cases[] = {
        {"Never", "0", "Succeeded"},   {"Never", "1", "Failed"},   {"OnFailure", "0", "Succeeded"},
        {"OnFailure", "1", "Running"}, {"Always", "0", "Running"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_world *t = with_node();
        char annotations[160], spec[64];
        (void)snprintf(annotations, sizeof(annotations),
                       "simulation.grove.io/start: 0s, simulation.grove.io/run: 5s, "
                       "simulation.grove.io/exit-code: '%s'",
                       cases[i].code);
        (void)snprintf(spec, sizeof(spec), ", restartPolicy: %s", cases[i].policy);
        add_life(t, "p", annotations, spec);
        (void)status_at(t, "p", 0);
        jval s = status_at(t, "p", 5 * USEC_PER_SEC);
        CHECK_CSTR(jstr(jgetc(s, "phase")), cases[i].phase);
        if (!str_is(jstr(jgetc(s, "phase")), "Running")) {
            CHECK(!is_ready(s));
            CHECK(plan_is_empty(plan_node(t, "fake-node-001")));
        }
        tw_free(t);
    }
}

TEST(back_off_doubles_up_to_five_minutes)
{
    static const usec want[] = {0, 10, 20, 40, 80, 160, 300, 300};
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        CHECK_INT(machine_backoff((unsigned)i), want[i] * USEC_PER_SEC);
}

TEST(readiness_gates_are_waited_for)
{
    struct test_world *t = with_node();
    add_life(t, "p", "simulation.grove.io/start: 0s", ", readinessGates: [{conditionType: x/y}]");
    CHECK(!is_ready(status_at(t, "p", USEC_PER_SEC)));
    tw_patch(t, &kind_pod, "p",
             "{status: {conditions: [{type: x/y, status: 'True'}, {type: PodScheduled, status: "
             "'True', lastTransitionTime: '2026-01-01T00:00:02Z'}]}}");
    CHECK(is_ready(status_at(t, "p", 2 * USEC_PER_SEC)));
    tw_free(t);
}

TEST(jitter_stays_within_its_bounds_and_is_the_pods_own)
{
    struct test_world *t = with_node();
    struct life node = nodes_defaults.life;
    usec least = INT64_MAX, most = 0;
    for (int i = 0; i < 200; i++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "p%03d", i);
        add_pod(t, name, "");
        const struct obj *pod = tw_must(t, &kind_pod, name);
        struct life l = life_of(pod, &node, 20);
        CHECK_INT(life_of(pod, &node, 20).start, l.start);
        CHECK(l.start >= node.start * 8 / 10 && l.start <= node.start * 12 / 10);
        least = MIN(least, l.start);
        most = MAX(most, l.start);
    }
    CHECK(most - least > node.start / 10);
    /* What a pod says itself is meant. */
    add_life(t, "said", "simulation.grove.io/start: 300ms", "");
    CHECK_INT(life_of(tw_must(t, &kind_pod, "said"), &node, 20).start, 300 * USEC_PER_MSEC);
    tw_free(t);
}

/* ---- failure ---- */

static void set_failed(struct test_world *t, bool failed)
{
    tw_patch(t, &kind_node, "fake-node-001",
             failed ? "{metadata: {annotations: {simulation.grove.io/failed: 'true'}}}"
                    : "{metadata: {annotations: {simulation.grove.io/failed: null}}}");
}

TEST(a_failed_node_does_nothing_until_it_comes_back)
{
    struct test_world *t = with_node();
    add_life(t, "p", "simulation.grove.io/start: 0s", "");
    CHECK(is_ready(status_at(t, "p", 0)));
    CHECK(nodes_is_own(&options, tw_must(t, &kind_node, "fake-node-001")));
    CHECK(!nodes_has_failed(tw_must(t, &kind_node, "fake-node-001")));
    set_failed(t, true);
    CHECK(nodes_has_failed(tw_must(t, &kind_node, "fake-node-001")));
    add_pod(t, "q", "");
    t->world.now = TW_START + USEC_PER_HOUR;
    CHECK(plan_is_empty(plan_node(t, "fake-node-001")));
    CHECK_INT(tw_look_at(t), 0);
    /* What the controllers said of it meanwhile is no longer so. */
    tw_patch(t, &kind_node, "fake-node-001",
             "{status: {conditions: [{type: Ready, status: Unknown}]}}");
    tw_patch(t, &kind_pod, "p",
             "{status: {conditions: [{type: PodScheduled, status: 'True'}, {type: Ready, status: "
             "'False', reason: NodeNotReady}]}}");
    set_failed(t, false);
    CHECK(is_ready(status_at(t, "p", USEC_PER_HOUR)));
    CHECK(is_ready(obj_status(tw_must(t, &kind_node, "fake-node-001"))));
    tw_free(t);
}

TEST(nodes_beyond_the_number_asked_for_are_removed)
{
    struct test_world *t = world_new();
    bring_up(t, "fake-node-001");
    bring_up(t, "fake-node-002");
    options.count = 1;
    CHECK(plan_is_empty(plan_node(t, "fake-node-001")));
    plan_node(t, "fake-node-002");
    CHECK_CSTR(tw_writes(t), "delete Node fake-node-002\n");
    options.count = 0;
    CHECK(plan_is_empty(plan_node(t, "fake-node-002")));
    tw_free(t);
}

TEST(networks_of_a_hundred_thousand_nodes_differ)
{
    enum { N = 100000 };
    char(*all)[16] = calloc(N, sizeof(*all));
    REQUIRE(all != NULL);
    for (unsigned i = 0; i < N; i++)
        (void)pods_network(i + 1, all[i]);
    qsort(all, N, sizeof(*all), (int (*)(const void *, const void *))strcmp);
    for (unsigned i = 1; i < N; i++)
        CHECK(strcmp(all[i - 1], all[i]) != 0);
    free(all);
}

/* ---- heartbeats ---- */

TEST(heartbeats_renew_a_lease_every_ten_seconds)
{
    struct test_world *t = with_node();
    options.heartbeats = true;
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "apply Lease kube-node-lease/fake-node-001\n");
    jval spec = jgetc(tw_body(t, &kind_lease, "fake-node-001", ""), "spec");
    CHECK_CSTR(jstr(jgetc(spec, "holderIdentity")), "fake-node-001");
    CHECK_INT(jint(jgetc(spec, "leaseDurationSeconds"), 0), 40);
    CHECK(tw_look_at(t) > t->world.now);
    CHECK(tw_look_at(t) <= t->world.now + 10 * USEC_PER_SEC);
    tw_free(t);
}

TEST(heartbeats_patch_the_lease_that_is_there)
{
    struct test_world *t = with_node();
    options.heartbeats = true;
    tw_load(t, "apiVersion: coordination.k8s.io/v1\n"
               "kind: Lease\n"
               "metadata: {name: fake-node-001, namespace: kube-node-lease}\n"
               "spec: {holderIdentity: fake-node-001, leaseDurationSeconds: 40,\n"
               "       renewTime: \"2020-01-01T00:00:00.000000Z\"}\n");
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "patch Lease kube-node-lease/fake-node-001\n");
    tw_carry_out(t);
    const struct obj *lease =
        world_get(&t->world, &kind_lease, STR("kube-node-lease"), STR("fake-node-001"));
    usec renewed = 0;
    CHECK(time_parse_rfc3339(jstr(jpath(obj_root(lease), "spec.renewTime")), &renewed));
    CHECK_INT(renewed, t->world.now);
    CHECK_CSTR(jstr(jpath(obj_root(lease), "spec.holderIdentity")), "fake-node-001");
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "");
    tw_free(t);
}

/* One that nobody has to renew: it is there to be found, costs one write, and goes with its node.
 */
TEST(a_lease_without_heartbeats_is_written_once)
{
    struct test_world *t = with_node();
    options.leases = true;
    plan_node(t, "fake-node-001");
    CHECK_CSTR(tw_writes(t), "create Lease kube-node-lease/fake-node-001\n");
    CHECK(t->plan.writes.p[0].patient);
    CHECK_INT(t->plan.look_again, 0);
    jval body = tw_body(t, &kind_lease, "fake-node-001", "");
    CHECK_CSTR(jstr(jpath(body, "spec.holderIdentity")), "fake-node-001");
    CHECK(!j_has(jpath(body, "spec.leaseDurationSeconds")));
    CHECK_STR(jstr(jgetc(jat(jpath(body, "metadata.ownerReferences"), 0), "uid")),
              tw_must(t, &kind_node, "fake-node-001")->uid);
    tw_carry_out(t);
    t->world.now += 60 * USEC_PER_MIN;
    CHECK(plan_is_empty(plan_node(t, "fake-node-001")));
    /* It comes back. */
    tw_patch(t, &kind_node, "fake-node-001",
             "{status: {conditions: [{type: Ready, status: Unknown}]}}");
    plan_node(t, "fake-node-001");
    CHECK(str_find(tw_writes(t), STR("patch Lease kube-node-lease/fake-node-001\n")) >= 0);
    tw_free(t);
}

static usec first_beat(const char *name)
{
    struct test_world *t = world_new();
    bring_up(t, name);
    options.heartbeats = true;
    plan_node(t, name);
    usec due = tw_look_at(t);
    tw_free(t);
    return due;
}

TEST(heartbeats_of_neighbours_are_far_apart)
{
    usec apart = first_beat("fake-node-002") - first_beat("fake-node-001");
    CHECK((apart < 0 ? -apart : apart) >= USEC_PER_SEC);
}
