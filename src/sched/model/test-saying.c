/* Terms that come and go, and how many there may be; what they mean is in test-terms.c. */
#include "sched/model/test-round.h"

#include "sched/model/sparse.h"
#include "sched/model/terms.h"

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

/* A pod of its own that keeps away from pods of the application `from`. */
static void add_apart(struct test_world *t, const char *name, const char *app, const char *from,
                      const char *node)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {app: %s}}, spec: "
             "{affinity: {podAntiAffinity: {" REQUIRED ": [{topologyKey: kubernetes.io/hostname, "
             "labelSelector: {matchLabels: {app: %s}}}]}}, containers: [{name: a}]%s%s}}",
             name, app, from, *node ? ", nodeName: " : "", node);
}

static void add_plain(struct test_world *t, const char *name, const char *app, const char *node)
{
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {app: %s}}, spec: "
             "{containers: [{name: a}]%s%s}}",
             name, app, *node ? ", nodeName: " : "", node);
}

static void rounds(struct test_world *t, int n)
{
    for (int i = 0; i < n; i++) {
        plan_round(t);
        carry_out(t);
    }
}

static str cause_of(struct test_world *t, const char *pod)
{
    jval c = condition_find(jgetc(obj_status(tw_must(t, &kind_pod, pod)), "conditions"),
                            STR("PodScheduled"));
    return jstr(jgetc(c, "message"));
}

TEST(each_of_many_applications_may_keep_its_pods_apart)
{
    enum { APPS = 700 }; /* two terms each */
    struct test_world *t = world_new();
    char name[16];
    add_nodes(t, 2, 8);
    tw_patch(t, &kind_node, "n1", "{status: {allocatable: {pods: '2000'}}}");
    plan_round(t);
    for (int i = 0; i < APPS; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        add_apart(t, name, name, name, "");
    }
    rounds(t, 3);
    size_t bound = 0;
    for (int i = 0; i < APPS; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        bound += !str_is_empty(node_of(t, name));
    }
    CHECK_INT(bound, APPS);
    tw_free(t);
}

/* Tables that stand learn of it: those on nodes keep away, and are kept away from. */
TEST(a_new_term_counts_those_who_were_there_before_without_a_recount)
{
    struct test_world *t = world_new();
    add_nodes(t, 3, 8);
    add_plain(t, "db", "db", "n1");
    add_plain(t, "other", "x", "n2");
    rounds(t, 1);
    uint64_t recounts = sched->recounts;
    add_apart(t, "a", "web", "db", "");
    add_apart(t, "b", "api", "x", "n3");
    rounds(t, 1);
    CHECK(!str_is_empty(node_of(t, "a")) && !str_is(node_of(t, "a"), "n1"));
    add_plain(t, "late", "x", "");
    tw_patch(t, &kind_pod, "late", "{spec: {nodeSelector: {kubernetes.io/hostname: n3}}}");
    tw_patch(t, &kind_node, "n3", "{metadata: {labels: {kubernetes.io/hostname: n3}}}");
    rounds(t, 1);
    CHECK(str_is_empty(node_of(t, "late")));
    CHECK_INT(sched->recounts, recounts);
    tw_free(t);
}

/* As many as may be are said: who says one more is told, whoever says nothing new goes on, and the
 * first one that is said no more makes room for it. */
TEST(who_says_too_much_waits_until_others_say_less)
{
    struct test_world *t = world_new();
    sched->terms_max = 4;
    add_nodes(t, 3, 8);
    add_apart(t, "a0", "a", "a", "");
    add_apart(t, "b0", "b", "b", "");
    rounds(t, 1);
    add_apart(t, "c0", "c", "c", "");
    add_apart(t, "a1", "a", "a", "");
    add_plain(t, "p", "p", "");
    rounds(t, 2);
    CHECK(str_is_empty(node_of(t, "c0")));
    CHECK(str_find(cause_of(t, "c0"), STR("keeps count of")) >= 0);
    CHECK(!str_is_empty(node_of(t, "p")));
    CHECK(!str_is_empty(node_of(t, "a1")) && !str_eq(node_of(t, "a1"), node_of(t, "a0")));
    tw_remove(t, &kind_pod, "a0");
    rounds(t, 1);
    CHECK(str_is_empty(node_of(t, "c0"))); /* a1 says it still */
    tw_remove(t, &kind_pod, "a1");
    rounds(t, 1);
    CHECK(!str_is_empty(node_of(t, "c0")));
    tw_free(t);
}

/* Wishes that cannot be counted are not heard. */
TEST(who_wishes_too_much_is_placed_without)
{
    struct test_world *t = world_new();
    sched->terms_max = 2;
    add_nodes(t, 2, 8);
    add_apart(t, "a0", "a", "a", "");
    tw_load(t, "{apiVersion: v1, kind: Pod, metadata: {name: w}, spec: {affinity: "
               "{podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, "
               "podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: "
               "{matchLabels: {app: a}}}}]}}, containers: [{name: a}], "
               "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: "
               "ScheduleAnyway, labelSelector: {matchLabels: {app: w}}}]}}");
    rounds(t, 2);
    CHECK(!str_is_empty(node_of(t, "w")));
    tw_free(t);
}

/* What finished pods said is said no more, and terms nobody says are dropped in the end. */
TEST(terms_that_nobody_says_do_not_pile_up)
{
    struct test_world *t = world_new();
    char name[16];
    add_nodes(t, 2, 8);
    for (int i = 0; i < 3 * TERMS_IDLE; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        add_apart(t, name, name, name, "");
        rounds(t, i % 8 == 0 ? 2 : 0);
        if (i % 2)
            tw_patch(t, &kind_pod, name, "{status: {phase: Succeeded}}");
        else
            tw_remove(t, &kind_pod, name);
        if (sched->tables)
            CHECK_INT(sched->tables->terms_said, 0);
    }
    rounds(t, 1);
    CHECK(sched->tables->terms.len <= TERMS_IDLE + 2);
    tw_free(t);
}

/* A pass over the pods that were there is work of many calls, and nothing is placed before it ends.
 */
TEST(a_pass_over_many_pods_goes_on_in_the_next_call)
{
    struct test_world *t = world_new();
    char name[16];
    add_nodes(t, 2, 8);
    for (int i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        add_plain(t, name, "db", "n1");
    }
    rounds(t, 1);
    add_apart(t, "a", "web", "db", "");
    size_t budget = 3, calls = 0;
    while (!terms_settle(sched->tables, &budget)) {
        if (calls++ == 1)
            tw_remove(t, &kind_pod, "p30");
        budget = 3;
    }
    CHECK(calls > 1);
    CHECK_INT(sched->tables->terms_new, 0);
    rounds(t, 1);
    CHECK_CSTR(node_of(t, "a"), "n2");
    tw_free(t);
}

/* ---- pods that say very much ---- */

/* Adds a pod that says n things: each is `item` with its number for every #, between the other two.
 */
static void add_talker(struct test_world *t, const char *name, const char *before, const char *item,
                       const char *after, int n)
{
    struct strbuf b = STRBUF_INIT(4 << 20);
    strbuf_printf(&b, "{apiVersion: v1, kind: Pod, metadata: {name: %s}, spec: {%s[", name, before);
    for (int i = 1; i <= n; i++) {
        for (const char *c = item; *c; c++) {
            if (*c == '#')
                strbuf_add_int(&b, i);
            else
                strbuf_add_char(&b, *c);
        }
        strbuf_add_str(&b, i < n ? STR(", ") : STR("]"));
    }
    strbuf_printf(&b, "%s}}", after);
    REQUIRE(!b.overflow);
    tw_load(t, b.p);
    strbuf_done(&b);
}

#define SPREAD_ITEM                                                      \
    "{maxSkew: 1, topologyKey: example.com/level-#, whenUnsatisfiable: " \
    "DoNotSchedule, labelSelector: {matchLabels: {app: a#}}}"
#define NEAR_ITEM "{topologyKey: example.com/level-#, labelSelector: {matchLabels: {app: a#}}}"
#define PORT_ITEM "{containerPort: #, hostPort: #}"

/* What a pod may say, in each of the ways. */
static const struct talk {
    const char *before, *item, *after;
} talks[] = {
    {"containers: [{name: a}], topologySpreadConstraints: ", SPREAD_ITEM, ""},
    {"containers: [{name: a}], affinity: {podAffinity: {" REQUIRED ": ", NEAR_ITEM, "}}"},
    {"containers: [{name: a}], affinity: {podAntiAffinity: {" REQUIRED ": ", NEAR_ITEM, "}}"},
    {"containers: [{name: a, ports: ", PORT_ITEM, "}]"},
};

TEST(who_says_very_much_is_refused_and_others_go_on)
{
    struct test_world *t = world_new();
    char name[16];
    add_nodes(t, 2, 8);
    rounds(t, 1);
    uint64_t recounts = sched->recounts;
    for (size_t i = 0; i < ARRAY_LEN(talks); i++) {
        (void)snprintf(name, sizeof(name), "talker%zu", i);
        add_talker(t, name, talks[i].before, talks[i].item, talks[i].after, 4000);
    }
    add_plain(t, "p", "p", "");
    add_apart(t, "a", "a", "a", "");
    rounds(t, 2);
    for (size_t i = 0; i < ARRAY_LEN(talks); i++) {
        (void)snprintf(name, sizeof(name), "talker%zu", i);
        CHECK(str_is_empty(node_of(t, name)));
        CHECK(str_find(cause_of(t, name), STR("more than 256 things")) >= 0);
    }
    CHECK(!str_is_empty(node_of(t, "p")) && !str_is_empty(node_of(t, "a")));
    /* Of what is refused nothing stays behind. */
    CHECK_INT(sched->tables->terms.len, 2);
    CHECK_INT(sched->recounts, recounts);
    tw_free(t);
}

/* Also when tables are made with the pod there, and when nobody else says anything. */
TEST(who_says_very_much_is_refused_after_a_recount_too)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 8);
    add_talker(t, "p", talks[0].before, talks[0].item, talks[0].after, TERMS_POD_MAX + 1);
    rounds(t, 1);
    CHECK(str_find(cause_of(t, "p"), STR("more than 256 things")) >= 0);
    CHECK_INT(sched->tables->terms.len, 0);
    tw_free(t);
}

TEST(as_much_as_a_pod_may_say_is_heard)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 8);
    add_talker(t, "p", talks[3].before, talks[3].item, talks[3].after, TERMS_POD_MAX);
    add_talker(t, "q", talks[3].before, talks[3].item, talks[3].after, TERMS_POD_MAX);
    rounds(t, 2);
    CHECK(!str_is_empty(node_of(t, "p")) && !str_is_empty(node_of(t, "q")));
    CHECK(!str_eq(node_of(t, "p"), node_of(t, "q")));
    tw_free(t);
}

/* A pod on a node is there, whatever it says: what stands first is counted. */
TEST(of_pods_on_nodes_as_much_is_counted_as_a_pod_may_say)
{
    struct test_world *t = world_new();
    add_nodes(t, 1, 8);
    add_talker(t, "talker", "nodeName: n1, containers: [{name: a, ports: ", PORT_ITEM, "}]", 4000);
    for (int i = 0; i < 2; i++)
        tw_loadf(t,
                 "{apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {containers: [{name: a, "
                 "ports: [{hostPort: %d}]}]}}",
                 i, TERMS_POD_MAX + i);
    rounds(t, 2);
    CHECK(str_is_empty(node_of(t, "p0")));
    CHECK_CSTR(node_of(t, "p1"), "n1");
    /* Two of each port: on all addresses, on any; and those of p1. */
    CHECK_INT(sched->tables->terms.len, 2 * TERMS_POD_MAX + 2);
    tw_free(t);
}

/* In bytes that the tables keep of it: twice as much said is about twice as much kept. */
static size_t bytes_kept(const struct talk *k, int n)
{
    struct test_world *t = world_new();
    add_nodes(t, 2, 8);
    add_plain(t, "p", "p", "");
    rounds(t, 1);
    size_t before = sched->tables->arena.used;
    add_talker(t, "talker", k->before, k->item, k->after, n);
    rounds(t, 1);
    size_t kept = sched->tables->arena.used - before;
    tw_free(t);
    return kept;
}

TEST(what_a_pod_says_costs_no_more_than_its_length)
{
    for (size_t i = 0; i < ARRAY_LEN(talks); i++) {
        size_t half = bytes_kept(&talks[i], TERMS_POD_MAX / 2);
        size_t whole = bytes_kept(&talks[i], TERMS_POD_MAX);
        CHECK(half > 0);
        CHECK(whole < 5 * half / 2);
    }
}

/* Long texts are not compared by parts of them: the difference may be anywhere. */
TEST(long_sayings_that_differ_are_different_terms)
{
    static const char *const names[] = {"p", "q", "r"};
    struct test_world *t = world_new();
    add_nodes(t, 2, 8);
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        add_talker(t, names[i],
                   "containers: [{name: a}], affinity: {podAntiAffinity: {" REQUIRED
                   ": [{topologyKey: kubernetes.io/hostname, labelSelector: {matchExpressions: "
                   "[{key: app, operator: In, values: ",
                   "a#",
                   i < 2 ? "}, {key: x, operator: Exists}]}}]}}"
                         : "}, {key: y, operator: Exists}]}}]}}",
                   200);
    rounds(t, 1);
    CHECK_INT(sched->tables->terms.len, 4); /* two for p and q, which say the same, two for r */
    tw_free(t);
}

/* ---- against a recount ---- */

static void check_counts(struct test_world *t)
{
    struct sched *fresh = sched_new(t->runtime, &sched_defaults);
    struct tables *a = tables_get(sched, &t->world), *b = tables_get(fresh, &t->world);
    size_t budget = SIZE_MAX / 2;
    CHECK(terms_settle(a, &budget));
    for (size_t i = 0; i < b->terms.len; i++) {
        const struct tterm *x = &b->terms.p[i];
        size_t n = (size_t)map_get(&a->term_ids, x->id);
        REQUIRE(n > 0);
        const struct tterm *y = &a->terms.p[n - 1];
        CHECK_INT(y->sayers, x->sayers);
        for (size_t k = 0; k < b->snap.nodes.len; k++)
            CHECK_INT(core_term_count(a->core, y->term, (int32_t)k),
                      core_term_count(b->core, x->term, (int32_t)k));
    }
    CHECK_INT(a->terms_said, b->terms_said);
    CHECK(core_is_consistent(a->core));
    sched_free(fresh);
}

static void add_random(struct test_world *t, struct rng *r, const char *name)
{
    static const char *const keys[] = {"kubernetes.io/hostname", "zone"};
    static const char *const kinds[] = {"podAntiAffinity", "podAffinity"};
    char node[32] = "", says[400] = "";
    if (rng_chance(r, 60))
        (void)snprintf(node, sizeof(node), ", nodeName: n%d", 1 + (int)rng_below(r, 4));
    if (rng_chance(r, 50))
        (void)snprintf(says, sizeof(says),
                       ", affinity: {%s: {" REQUIRED ": [{topologyKey: %s, labelSelector: "
                       "{%s: {app: a%d}}}]}}",
                       kinds[rng_below(r, 2)], keys[rng_below(r, 2)], "matchLabels",
                       (int)rng_below(r, 6));
    else if (rng_chance(r, 50))
        (void)snprintf(says, sizeof(says),
                       ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: %s, "
                       "whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: "
                       "app, operator: %s, values: [a%d]}]}}]",
                       keys[rng_below(r, 2)], rng_chance(r, 50) ? "In" : "NotIn",
                       (int)rng_below(r, 6));
    tw_loadf(t,
             "{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {app: a%d}}, spec: "
             "{containers: [{name: a}]%s%s}}",
             name, (int)rng_below(r, 6), node, says);
}

TEST(terms_that_come_and_go_count_what_a_recount_does)
{
    struct rng *r = test_rng();
    for (size_t n = test_cases(30); n > 0; n--) {
        struct test_world *t = world_new();
        add_zones(t);
        plan_round(t);
        for (int i = 0; i < 60; i++) {
            char name[16];
            (void)snprintf(name, sizeof(name), "p%d", (int)rng_below(r, 12));
            if (!tw_get(t, &kind_pod, name))
                add_random(t, r, name);
            else if (rng_chance(r, 30))
                tw_patch(t, &kind_pod, name, "{status: {phase: Succeeded}}");
            else if (rng_chance(r, 40))
                tw_patch(t, &kind_pod, name, "{metadata: {labels: {app: a1}}}");
            else
                tw_remove(t, &kind_pod, name);
            if (rng_chance(r, 30))
                rounds(t, 1);
        }
        check_counts(t);
        tw_free(t);
    }
}

/* ---- numbers of which most are 0 ---- */

TEST(sparse_numbers_are_an_array)
{
    struct rng *r = test_rng();
    for (size_t n = test_cases(200); n > 0; n--) {
        int32_t size = 1 + (int32_t)rng_below(r, 1000), all[1000] = {0};
        struct sparse t;
        sparse_init(&t, size);
        uint64_t area = 1 + rng_below(r, (uint64_t)size);
        for (int i = 0; i < 400; i++) {
            int32_t d = (int32_t)rng_below(r, area);
            int32_t by = all[d] > 0 && rng_chance(r, 60) ? -all[d] : (int32_t)rng_below(r, 3);
            all[d] += by;
            sparse_add(&t, d, by);
            d = (int32_t)rng_below(r, (uint64_t)size);
            CHECK_INT(sparse_get(&t, d), all[d]);
        }
        for (int32_t d = 0; d < size; d++)
            CHECK_INT(sparse_get(&t, d), all[d]);
        sparse_done(&t);
    }
}
