/* What pods say about each other and about nodes, one thing at a time; see test-terms.c for all of
 * it together. */
#include "sched/model/test-round.h"

static void add_said(struct test_world *t, const char *ns, const char *name, const char *labels,
                     const char *spec)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: %s, labels: {%s}}, spec: "
             "{containers: [{name: a, resources: {requests: {cpu: '1'}}}]%s}}",
             name, ns, labels, spec);
}

#define APART(more)                                                                    \
    ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [" \
    "{topologyKey: zone, " more "}]}}"
#define APP(name) "labelSelector: {matchLabels: {app: " name "}}"
#define SPREAD(more)                                                                    \
    ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: " \
    "DoNotSchedule, " more "}]"

static int count_bound(struct test_world *t, const char *prefix)
{
    struct obj *o;
    int n = 0;
    for (struct cache_iter it = cache_all(world_cache(&t->world, &kind_pod), STR_NONE);
         (o = cache_next(&it));)
        n += str_starts(o->name, str_of(prefix)) &&
             !str_is_empty(jstr(jgetc(obj_spec(o), "nodeName")));
    return n;
}

/* Two zones are fewer than three: as if an empty one were there too, none may hold a second. */
TEST(fewer_domains_than_there_should_be_count_as_an_empty_one)
{
    struct test_world *t = world_new();
    add_zones(t);
    for (int i = 0; i < 4; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "a-%d", i);
        add_said(t, "default", name, "app: a", SPREAD("minDomains: 3, " APP("a")));
    }
    plan_round(t);
    carry_out(t);
    CHECK_INT(count_bound(t, "a-"), 2);
    CHECK(!str_eq(zone_of(t, "a-0"), zone_of(t, "a-1")));
    tw_free(t);
}

/* Who is not one of those he is spread among does not add to them. */
TEST(a_pod_that_is_not_counted_itself_adds_nothing_to_the_skew)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_said(t, "default", "b-0", "app: b", ", nodeName: n1");
    tw_patch(t, &kind_node, "n3", "{spec: {unschedulable: true}}");
    tw_patch(t, &kind_node, "n4", "{spec: {unschedulable: true}}");
    add_said(t, "default", "a-0", "app: a", SPREAD(APP("b")));
    add_said(t, "default", "a-1", "app: a", SPREAD(APP("b")));
    plan_round(t);
    carry_out(t);
    CHECK_INT(count_bound(t, "a-"), 2);
    tw_free(t);
}

/* A zone whose nodes are tainted is one of the domains, unless taints are honoured. */
TEST(taints_take_a_domain_out_of_the_spread_only_when_they_are_honoured)
{
    static const struct {
        const char *policy;
        int bound;
    } cases[] = {{"", 1}, {"nodeTaintsPolicy: Ignore, ", 1}, {"nodeTaintsPolicy: Honor, ", 3}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_world *t = world_new();
        struct arena a = ARENA_INIT;
        add_zones(t);
        tw_patch(t, &kind_node, "n3", "{spec: {taints: [{key: k, effect: NoSchedule}]}}");
        tw_patch(t, &kind_node, "n4", "{spec: {taints: [{key: k, effect: NoSchedule}]}}");
        for (int p = 0; p < 3; p++)
            add_said(t, "default", arena_printf(&a, "a-%d", p).p, "app: a",
                     arena_printf(&a, SPREAD("%s" APP("a")), cases[i].policy).p);
        plan_round(t);
        carry_out(t);
        CHECK_INT(count_bound(t, "a-"), cases[i].bound);
        /* The taint goes: the zone is open, and that is seen without a new start. */
        tw_patch(t, &kind_node, "n3", "{spec: {taints: null}}");
        t->world.now += USEC_PER_MIN;
        plan_round(t);
        carry_out(t);
        CHECK_INT(count_bound(t, "a-"), 3);
        arena_done(&a);
        tw_free(t);
    }
}

/* Node affinity is honoured by default: zones the pod may not go to are none of its domains. */
TEST(node_affinity_takes_domains_out_of_the_spread_unless_it_is_ignored)
{
    static const struct {
        const char *policy;
        int bound;
    } cases[] = {{"", 3}, {"nodeAffinityPolicy: Ignore, ", 1}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_world *t = world_new();
        struct arena a = ARENA_INIT;
        add_zones(t);
        for (int p = 0; p < 3; p++)
            add_said(t, "default", arena_printf(&a, "a-%d", p).p, "app: a",
                     arena_printf(&a, ", nodeSelector: {zone: z1}" SPREAD("%s" APP("a")),
                                  cases[i].policy)
                         .p);
        plan_round(t);
        carry_out(t);
        CHECK_INT(count_bound(t, "a-"), cases[i].bound);
        arena_done(&a);
        tw_free(t);
    }
}

/* A pod on a node keeps others away by the labels of their namespaces, and follows them. */
TEST(namespaces_are_selected_by_their_labels)
{
    struct test_world *t = world_new();
    add_zones(t);
    tw_load(t, "{apiVersion: v1, kind: Namespace, metadata: {name: red, labels: {team: red}}}");
    tw_load(t, "{apiVersion: v1, kind: Namespace, metadata: {name: blue, labels: {team: blue}}}");
    add_said(t, "default", "hermit", "app: h",
             APART("namespaceSelector: {matchLabels: {team: red}}, " APP("a")) ", nodeName: n1");
    for (int i = 0; i < 2; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "r-%d", i);
        add_said(t, "red", name, "app: a", ", nodeSelector: {zone: z1}");
        name[0] = 'b';
        add_said(t, "blue", name, "app: a", ", nodeSelector: {zone: z1}");
        name[0] = 'd';
        add_said(t, "default", name, "app: a", ", nodeSelector: {zone: z1}");
    }
    plan_round(t);
    carry_out(t);
    CHECK_INT(count_bound(t, "r-"), 0);
    CHECK_INT(count_bound(t, "b-") + count_bound(t, "d-"), 4);
    tw_patch(t, &kind_namespace, "red", "{metadata: {labels: {team: green}}}");
    plan_round(t);
    carry_out(t);
    CHECK_INT(count_bound(t, "r-"), 2);
    tw_free(t);
}

/* The pods of one revision keep apart from each other, not from those of another. */
TEST(label_keys_stand_for_the_values_of_the_pod)
{
    static const struct {
        const char *keys, *mine; /* the other's is 1 */
        bool bound;
    } cases[] = {{"matchLabelKeys: [rev]", "2", true},
                 {"matchLabelKeys: [rev]", "1", false},
                 {"matchLabelKeys: [rev, none]", "1", false},
                 {"mismatchLabelKeys: [rev]", "1", true},
                 {"mismatchLabelKeys: [rev]", "2", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_world *t = world_new();
        struct arena a = ARENA_INIT;
        add_zones(t);
        tw_patch(t, &kind_node, "n3", "{spec: {unschedulable: true}}");
        tw_patch(t, &kind_node, "n4", "{spec: {unschedulable: true}}");
        add_said(t, "default", "old", "app: a, rev: '1'", ", nodeName: n1");
        add_said(t, "default", "new", arena_printf(&a, "app: a, rev: '%s'", cases[i].mine).p,
                 arena_printf(&a, APART("%s, " APP("a")), cases[i].keys).p);
        plan_round(t);
        carry_out(t);
        CHECK(str_is_empty(node_of(t, "new")) == !cases[i].bound);
        arena_done(&a);
        tw_free(t);
    }
}

/* An address of its own is no conflict; a sidecar's port is one. */
TEST(ports_of_hosts_are_those_of_addresses_and_of_sidecars)
{
    static const struct {
        const char *first, *second;
        size_t binds;
    } cases[] = {
        {"containers: [{name: a, ports: [{hostPort: 80, hostIP: 10.0.0.1}]}]",
         "containers: [{name: a, ports: [{hostPort: 80, hostIP: 10.0.0.2}]}]", 2},
        {"containers: [{name: a, ports: [{hostPort: 80, hostIP: 10.0.0.1}]}]",
         "containers: [{name: a, ports: [{hostPort: 80, hostIP: 10.0.0.1}]}]", 1},
        {"containers: [{name: a, ports: [{hostPort: 80}]}]",
         "containers: [{name: a, ports: [{hostPort: 80, hostIP: 10.0.0.1}]}]", 1},
        {"containers: [{name: a, ports: [{hostPort: 80, protocol: UDP}]}]",
         "containers: [{name: a, ports: [{hostPort: 80}]}]", 2},
        {"containers: [{name: a, ports: [{hostPort: 80}]}]",
         "initContainers: [{name: i, restartPolicy: Always, ports: [{hostPort: 80}]}], containers: "
         "[{name: a}]",
         1},
        {"containers: [{name: a, ports: [{hostPort: 80}]}]",
         "initContainers: [{name: i, ports: [{hostPort: 80}]}], containers: [{name: a}]", 2},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_world *t = world_new();
        add_nodes(t, 1, 8);
        tw_loadf(t, "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {%s}}", cases[i].first);
        tw_loadf(t, "{apiVersion: v1, kind: Pod, metadata: {name: q}, spec: {%s}}",
                 cases[i].second);
        plan_round(t);
        CHECK_INT(count_binds(t), cases[i].binds);
        tw_free(t);
    }
}

/* Only who is everything a pod wants to be near counts for any of it. */
TEST(company_is_of_one_pod_that_is_all_of_what_is_wanted)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_said(t, "default", "one", "app: a", ", nodeName: n1");
    add_said(t, "default", "other", "tier: b", ", nodeName: n1");
    add_said(t, "default", "both", "app: a, tier: b", ", nodeName: n3");
    add_said(t, "default", "p", "app: c",
             ", affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
             "[{topologyKey: zone, labelSelector: {matchLabels: {app: a}}}, {topologyKey: zone, "
             "labelSelector: {matchLabels: {tier: b}}}]}}");
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "p"), "z2");
    tw_free(t);
}

/* Labels decide whom terms speak of; when they change, so does the count. */
TEST(a_pod_that_changes_its_labels_is_counted_anew)
{
    struct test_world *t = world_new();
    add_zones(t);
    add_said(t, "default", "b-0", "app: x", ", nodeName: n1");
    add_said(t, "default", "b-1", "app: b", ", nodeName: n3");
    add_said(t, "default", "a-0", "app: a", APART(APP("b")));
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "a-0"), "z1");
    tw_patch(t, &kind_pod, "b-0", "{metadata: {labels: {app: b}}}");
    tw_patch(t, &kind_pod, "b-1", "{metadata: {labels: {app: x}}}");
    add_said(t, "default", "a-1", "app: a", APART(APP("b")));
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(zone_of(t, "a-1"), "z2");
    tw_free(t);
}

/* ---- wishes ---- */

#define WISH(what, app)                                                                       \
    ", affinity: {" what ": {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 50, " \
    "podAffinityTerm: {topologyKey: zone, " APP(app) "}}]}}"

TEST(company_and_distance_are_had_when_possible)
{
    static const struct {
        const char *wish, *zone;
    } cases[] = {{WISH("podAffinity", "b"), "z2"},
                 {WISH("podAntiAffinity", "b"), "z1"},
                 {WISH("podAffinity", "nobody"), "z1"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct test_world *t = world_new();
        add_zones(t);
        add_said(t, "default", "b", "app: b", ", nodeName: n3");
        /* Best fit alone would join those on the fuller node. */
        add_said(t, "default", "c", "app: c", i == 1 ? ", nodeName: n4" : ", nodeName: n1");
        add_said(t, "default", "a", "app: a", cases[i].wish);
        plan_round(t);
        carry_out(t);
        CHECK_CSTR(zone_of(t, "a"), cases[i].zone);
        tw_free(t);
    }
}

/* Wishes never keep a pod waiting. */
TEST(a_wish_that_cannot_be_had_is_no_reason_to_wait)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 8);
    add_said(t, "default", "b", "app: b", ", nodeName: n1");
    for (int i = 0; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "a-%d", i);
        add_said(t, "default", name, "app: b", WISH("podAntiAffinity", "b"));
    }
    plan_round(t);
    CHECK_INT(count_binds(t), 3);
    tw_free(t);
}

TEST(an_even_spread_is_had_when_possible)
{
    struct test_world *t = world_new();
    add_zones(t);
    for (int i = 0; i < 4; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "a-%d", i);
        add_said(t, "default", name, "app: a",
                 ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, "
                 "whenUnsatisfiable: ScheduleAnyway, " APP("a") "}]");
    }
    plan_round(t);
    carry_out(t);
    int first = 0;
    for (int i = 0; i < 4; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "a-%d", i);
        first += str_is(zone_of(t, name), "z1");
    }
    CHECK_INT(first, 2);
    tw_free(t);
}

TEST(nodes_that_would_rather_not_are_taken_last)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 4);
    tw_patch(t, &kind_node, "n1", "{spec: {taints: [{key: k, effect: PreferNoSchedule}]}}");
    add_said(t, "default", "a", "app: a", "");
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(node_of(t, "a"), "n2");
    /* The other one is tainted instead: that is seen. */
    tw_patch(t, &kind_node, "n1", "{spec: {taints: null}}");
    tw_patch(t, &kind_node, "n2", "{spec: {taints: [{key: k, effect: PreferNoSchedule}]}}");
    add_said(t, "default", "b", "app: a", "");
    plan_round(t);
    carry_out(t);
    CHECK_CSTR(node_of(t, "b"), "n1");
    tw_free(t);
}
