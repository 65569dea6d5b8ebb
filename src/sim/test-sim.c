#include "sim/sim.h"

#include "base/file.h"
#include "base/test.h"
#include "grove/types.h"

/* The first two examples of the user guide, embedded from samples/. */
extern const char sample_aggregated[], sample_disaggregated[];

#define LIMIT (10 * USEC_PER_MIN)
#define AGGREGATED STR("single-node-aggregated")
#define DISAGGREGATED STR("single-node-disaggregated")

static bool is_ready(const struct obj *o)
{
    return !o->deleting && condition_is_true(jgetc(obj_status(o), "conditions"), STR("Ready"));
}

static bool is_ours(const struct obj *o)
{
    return str_is(obj_label(o, STR(LABEL_MANAGED_BY)), MANAGED_BY_GROVE);
}

static struct sim *start(uint64_t seed, unsigned nodes)
{
    struct err err = ERR_INIT;
    struct sim_options o = {.seed = seed, .nodes = nodes_defaults, .faults = sim_default_faults};
    o.nodes.count = nodes;
    o.nodes.tainted = true;
    o.split = seed % 2;
    struct sim *s = sim_new(&o, &err);
    if (!s)
        test_note("%s", err.message);
    REQUIRE(s != NULL);
    REQUIRE(sim_settle(s, LIMIT));
    return s;
}

static void expect_pods(struct sim *s, size_t n)
{
    CHECK(sim_settle(s, LIMIT));
    if (sim_failure(s)->code)
        test_note("%s", sim_failure(s)->message);
    CHECK_INT(sim_count(s, &kind_pod, is_ready), n);
    CHECK_INT(sim_count(s, &kind_pod, NULL), n);
}

/* Everything the guide does, in its order. */
static void run_guide(struct sim *s)
{
    struct err err = ERR_INIT;
    str ns = STR("default");
    CHECK_INT(sim_apply_yaml(s, str_of(sample_aggregated), &err), 0);
    expect_pods(s, 2);
    CHECK_INT(sim_scale(s, &kind_pclq, ns, STR("single-node-aggregated-0-model-worker"), 4, &err),
              0);
    expect_pods(s, 4);
    CHECK_INT(sim_scale(s, &kind_pcs, ns, AGGREGATED, 3, &err), 0);
    expect_pods(s, 8);
    CHECK_INT(sim_delete(s, &kind_pcs, ns, AGGREGATED, &err), 0);
    expect_pods(s, 0);
    CHECK_INT(sim_apply_yaml(s, str_of(sample_disaggregated), &err), 0);
    expect_pods(s, 5);
    CHECK_INT(sim_scale(s, &kind_pcs, ns, DISAGGREGATED, 2, &err), 0);
    expect_pods(s, 10);
    CHECK_INT(sim_delete(s, &kind_pcs, ns, DISAGGREGATED, &err), 0);
    expect_pods(s, 0);
    if (err.code)
        test_note("%s", err.message);
}

TEST(the_guide_deploys_scales_and_deletes_and_leaves_nothing)
{
    struct sim *s = start(1, 20);
    run_guide(s);
    static const struct kind *const kinds[] = {&kind_pcs,      &kind_pcsg, &kind_pclq,
                                               &kind_pod_gang, &kind_role, &kind_role_binding};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        CHECK_INT(sim_count(s, kinds[i], is_ours), 0);
    CHECK_INT(sim_count(s, &kind_service, is_ours), 0);
    CHECK_INT(sim_count(s, &kind_service_account, is_ours), 0);
    sim_free(s);
}

TEST(the_same_seed_gives_the_same_log_byte_for_byte)
{
    struct strbuf logs[3] = {STRBUF_INIT(64 << 20), STRBUF_INIT(64 << 20), STRBUF_INIT(64 << 20)};
    static const uint64_t seeds[] = {7, 7, 8};
    static const struct api_faulty_options faults = {.max_delay = 20 * USEC_PER_MSEC,
                                                     .max_lag = 300 * USEC_PER_MSEC,
                                                     .error = 5,
                                                     .lost_reply = 5,
                                                     .conflict = 5,
                                                     .watch_end = 20,
                                                     .watch_expired = 5};
    for (size_t i = 0; i < ARRAY_LEN(seeds); i++) {
        struct sim *s = start(seeds[i], 20);
        sim_set_faults(s, &faults);
        run_guide(s);
        strbuf_add_str(&logs[i], sim_log(s));
        sim_free(s);
    }
    CHECK(logs[0].len > 1000);
    CHECK(str_eq(strbuf_str(&logs[0]), strbuf_str(&logs[1])));
    CHECK(!str_eq(strbuf_str(&logs[0]), strbuf_str(&logs[2])));
    for (size_t i = 0; i < ARRAY_LEN(logs); i++)
        strbuf_done(&logs[i]);
}

TEST(the_guide_holds_for_many_seeds)
{
    for (size_t i = 0; i < test_cases(10); i++) {
        struct sim *s = start(1000 + i, 20);
        run_guide(s);
        sim_free(s);
    }
}

/* ---- simulated time ---- */

#define IN_ORDER                                                                        \
    "apiVersion: grove.io/v1alpha1\n"                                                   \
    "kind: PodCliqueSet\n"                                                              \
    "metadata: {name: s}\n"                                                             \
    "spec:\n"                                                                           \
    "  replicas: 1\n"                                                                   \
    "  template:\n"                                                                     \
    "    cliqueStartupType: CliqueStartupTypeInOrder\n"                                 \
    "    cliques:\n"                                                                    \
    "    - {name: a, spec: &one {replicas: 1, podSpec: {containers: [{name: m, image: " \
    "x}]}}}\n"                                                                          \
    "    - {name: b, spec: *one}\n"                                                     \
    "    - {name: c, spec: *one}\n"

struct starts {
    struct sim *sim;
    usec bound, began[3]; /* when the first pod had its node; when each began to run */
    size_t n;
};

static void see_start(void *ctx, const struct store_event *e)
{
    struct starts *x = ctx;
    const struct obj *o = e->obj;
    if (o->kind != &kind_pod || e->type == STORE_DELETED)
        return;
    bool is = str_is(jstr(jgetc(obj_status(o), "phase")), "Running");
    bool was = e->prev && str_is(jstr(jgetc(obj_status(e->prev), "phase")), "Running");
    if (x->bound == 0 && !str_is_empty(jstr(jgetc(obj_spec(o), "nodeName"))))
        x->bound = sim_now(x->sim);
    if (is && !was && x->n < ARRAY_LEN(x->began))
        x->began[x->n++] = sim_now(x->sim);
}

/* Times in objects have whole seconds; what the nodes wait for has not. A delay takes as long as
 * it says in whichever part of a second it begins, and delays that follow each other add up. */
TEST(delays_of_simulated_nodes_take_as_long_as_they_say)
{
    static const usec phases[] = {0, 130, 370, 610, 890, 990};
    const usec start_delay = 300 * USEC_PER_MSEC, slack = 20 * USEC_PER_MSEC;
    for (size_t i = 0; i < ARRAY_LEN(phases); i++) {
        struct err err = ERR_INIT;
        struct sim_options o = {.seed = 1, .nodes = nodes_defaults};
        o.nodes.count = 3;
        o.nodes.jitter = 0;
        struct sim *s = sim_new(&o, &err);
        REQUIRE(s != NULL);
        REQUIRE(sim_settle(s, LIMIT));
        usec into = sim_now(s) % USEC_PER_SEC;
        REQUIRE(sim_advance(s, USEC_PER_SEC - into + phases[i] * USEC_PER_MSEC));
        struct starts x = {.sim = s};
        sim_on_event(s, see_start, &x);
        CHECK_INT(sim_apply_yaml(s, STR(IN_ORDER), &err), 0);
        CHECK(sim_settle(s, LIMIT));
        REQUIRE(x.n == 3);
        usec last = x.bound;
        for (size_t k = 0; k < 3; k++) {
            usec took = x.began[k] - last;
            if (!CHECK(took >= start_delay && took <= start_delay + slack))
                test_note("%lld ms into a second: start %zu took %lld ms", (long long)phases[i], k,
                          (long long)(took / USEC_PER_MSEC));
            last = x.began[k];
        }
        sim_free(s);
    }
}

static bool is_bound(const struct obj *o)
{
    return !str_is_empty(jstr(jgetc(obj_spec(o), "nodeName")));
}

TEST(a_gang_that_does_not_fit_stays_whole_and_says_why)
{
    struct sim *s = start(3, 1);
    struct err err = ERR_INIT;
    CHECK_INT(sim_apply_yaml(s,
                             STR("apiVersion: grove.io/v1alpha1\n"
                                 "kind: PodCliqueSet\n"
                                 "metadata: {name: big}\n"
                                 "spec:\n"
                                 "  replicas: 1\n"
                                 "  template:\n"
                                 "    cliques:\n"
                                 "    - name: a\n"
                                 "      spec:\n"
                                 "        replicas: 2\n"
                                 "        podSpec:\n"
                                 "          tolerations: [{operator: Exists}]\n"
                                 "          containers:\n"
                                 "          - {name: c, image: 'i:1', resources: {requests: "
                                 "{nvidia.com/gpu: 5}}}\n"),
                             &err),
              0);
    CHECK(sim_settle(s, LIMIT));
    CHECK_INT(sim_count(s, &kind_pod, NULL), 2);
    CHECK_INT(sim_count(s, &kind_pod, is_bound), 0);
    struct obj *gang = sim_get(s, &kind_pod_gang, STR("default"), STR("big-0"));
    REQUIRE(gang != NULL);
    jval c = condition_find(jgetc(obj_status(gang), "conditions"), STR("Unschedulable"));
    CHECK_CSTR(jstr(jgetc(c, "status")), "True");
    CHECK(str_find(jstr(jgetc(c, "message")), STR("big-0-a: 1 of the 2 pods it needs fit")) == 0);
    sim_free(s);
}

static void replaced(struct strbuf *out, str text, str what, str by)
{
    ptrdiff_t at = str_find(text, what);
    REQUIRE(at > 0);
    strbuf_add_str(out, str_sub(text, 0, (size_t)at));
    strbuf_add_str(out, by);
    strbuf_add_str(out, str_sub(text, (size_t)at + what.len, text.len));
}

/* Under OnDelete the old pods stay as long as one looks. */
TEST(a_changed_template_is_not_called_updated)
{
    struct sim *s = start(5, 4);
    struct err err = ERR_INIT;
    struct strbuf image = STRBUF_INIT(1 << 16), changed = STRBUF_INIT(1 << 16);
    replaced(&image, str_of(sample_aggregated), STR("nginx:latest"), STR("nginx:2"));
    replaced(&changed, strbuf_str(&image), STR("  replicas: 1\n"),
             STR("  replicas: 1\n  updateStrategy: {type: OnDelete}\n"));
    CHECK_INT(sim_apply_yaml(s, str_of(sample_aggregated), &err), 0);
    CHECK(sim_settle(s, LIMIT));
    struct obj *set = sim_get(s, &kind_pcs, STR("default"), AGGREGATED);
    REQUIRE(set != NULL);
    CHECK_INT(jint(jgetc(obj_status(set), "updatedReplicas"), -1), 1);
    CHECK_INT(sim_apply_yaml(s, strbuf_str(&changed), &err), 0);
    CHECK(sim_settle(s, LIMIT));
    set = sim_get(s, &kind_pcs, STR("default"), AGGREGATED);
    REQUIRE(set != NULL);
    CHECK_INT(jint(jgetc(obj_status(set), "availableReplicas"), -1), 1);
    CHECK_INT(jint(jgetc(obj_status(set), "updatedReplicas"), -1), 0);
    strbuf_done(&image);
    strbuf_done(&changed);
    sim_free(s);
}

/* ---- clocks ---- */

#define NOON ((usec)1767225600 * USEC_PER_SEC)

struct booted {
    struct loop *loop;
    struct plane *plane;
    bool ready;
};

static void on_booted(void *ctx, const struct err *err)
{
    CHECK(err == NULL);
    ((struct booted *)ctx)->ready = true;
}

static void boot_plane(struct booted *b, const char *dir)
{
    struct plane_options o = {.data_dir = dir, .nodes = nodes_defaults};
    b->ready = false;
    b->plane = plane_new(b->loop, &o, on_booted, b, NULL);
    REQUIRE(b->plane);
    for (int i = 0; !b->ready && i < 10000; i++)
        (void)loop_run_until(b->loop, loop_now(b->loop) + USEC_PER_MSEC, 1000000);
    REQUIRE(b->ready);
}

/* The next process on the same boot finds what the one before knew beside the store. */
TEST(a_plane_that_starts_anew_knows_how_its_clock_was_set)
{
    char dir[] = "/tmp/grove-test-clock-XXXXXX";
    REQUIRE(mkdtemp(dir));
    struct booted b = {.loop = loop_new_virtual(1, NOON)};
    boot_plane(&b, dir);
    (void)loop_run_until(b.loop, loop_now(b.loop) + 10 * USEC_PER_SEC, 1000000);
    usec written = plane_wall(b.plane, 0) - 1, began = loop_now(b.loop) - 1;
    plane_set_wall_by(b.plane, 0, USEC_PER_HOUR);
    (void)loop_run_until(b.loop, loop_now(b.loop) + 10 * USEC_PER_SEC, 1000000);
    plane_free(b.plane);
    loop_set_wall_by(b.loop, -2 * USEC_PER_HOUR); /* while nobody was there */
    boot_plane(&b, dir);
    struct world w = runtime_world(plane_runtime(b.plane));
    CHECK_INT(world_steady(&w) - world_moment(&w, written), loop_now(b.loop) - began);
    plane_free(b.plane);
    loop_free(b.loop);
    CHECK_INT(dir_remove(dir, NULL), 0);
}
