/* A coherent update survives being killed at any of its writes: one run for each moment at which
 * something was written, from the change until nothing happens any more, in which the operator dies
 * right then, before it sees an answer, and all runs end in the same state. A run is a function of
 * its seed, so one that is not disturbed tells the moments. */
#include "base/test.h"
#include "grove/gangs.h"
#include "grove/types.h"
#include "sim/sim.h"

#define LIMIT (10 * USEC_PER_MIN)
enum { MAX_MOMENTS = 2000 };
#define POD "{containers: [{name: c, image: IMAGE, resources: {requests: {cpu: 1}}}]}"
/* Two steps of a gang of both, and a tail. */
#define SET                                                                                       \
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: s}\n"                    \
    "spec: {replicas: 1, updateStrategy: {type: Coherent}, template: {cliques: [{name: f, spec: " \
    "{replicas: 3, minAvailable: 1, podSpec: " POD "}}, {name: w, spec: {podSpec: " POD "}}],"    \
    " podCliqueScalingGroups: [{name: g, cliqueNames: [w], replicas: 2, minAvailable: 1}]}}\n"

static void apply_image(struct sim *s, const char *image)
{
    struct err err = ERR_INIT;
    struct strbuf text = STRBUF_INIT(1 << 12);
    for (const char *p = SET; *p; p++) {
        bool is_image = strncmp(p, "IMAGE", 5) == 0;
        if (is_image)
            strbuf_add_cstr(&text, image);
        else
            strbuf_add_char(&text, *p);
        p += is_image ? 4 : 0;
    }
    CHECK_INT(sim_apply_yaml(s, strbuf_str(&text), &err), 0);
    strbuf_done(&text);
}

static struct sim *start(bool split)
{
    struct err err = ERR_INIT;
    struct sim_options o = {
        .seed = 1, .nodes = nodes_defaults, .faults = sim_default_faults, .split = split};
    o.nodes.count = 2;
    struct sim *s = sim_new(&o, &err);
    REQUIRE(s != NULL);
    REQUIRE(sim_settle(s, LIMIT));
    apply_image(s, "x:1");
    REQUIRE(sim_settle(s, LIMIT));
    return s;
}

/* What matters in the end: who runs what, and which gang holds what; no times in it. */
static void describe(struct sim *s, struct strbuf *out)
{
    struct obj *o;
    for (struct store_iter it = store_range(sim_store(s), &kind_pod, STR_NONE, STR_NONE, STR_NONE);
         (o = store_next(&it));)
        strbuf_printf(out, "%.*s %.*s %s\n", STR_ARG(obj_label(o, STR(LABEL_PCLQ))),
                      STR_ARG(jstr(jpath(jat(jgetc(obj_spec(o), "containers"), 0), "image"))),
                      condition_is_true(jgetc(obj_status(o), "conditions"), STR("Ready"))
                          ? "ready"
                          : "not ready");
    o = sim_get(s, &kind_pod_gang_map, STR("default"), STR("s-0"));
    struct arena a = ARENA_INIT;
    for (struct jiter it = jiter(gang_list(&a, o)); jnext(&it);)
        strbuf_printf(out, "%.*s %.*s\n", STR_ARG(jtext(jgetc(it.value, "podCliques"))),
                      STR_ARG(jtext(jgetc(it.value, "pcsgReplicaIndices"))));
    arena_done(&a);
    o = sim_get(s, &kind_pcs, STR("default"), STR("s"));
    strbuf_printf(
        out, "%zu gangs, %lld updated, %.*s\n", sim_count(s, &kind_pod_gang, NULL),
        o ? (long long)jint(jgetc(obj_status(o), "updatedReplicas"), -1) : -1,
        STR_ARG(o ? jtext(jpath(obj_status(o), "updateProgress.currentlyUpdating")) : STR_NONE));
}

static bool has_ended(struct sim *s)
{
    const struct obj *pcs = sim_get(s, &kind_pcs, STR("default"), STR("s"));
    return pcs && j_has(jpath(obj_root(pcs), "status.updateProgress.updateEndedAt"));
}

struct moments {
    struct sim *sim;
    usec at[MAX_MOMENTS];
    size_t n, writes;
};

static void on_event(void *ctx, const struct store_event *e)
{
    struct moments *m = ctx;
    (void)e;
    m->writes++;
    if ((m->n == 0 || m->at[m->n - 1] != sim_now(m->sim)) && CHECK(m->n < MAX_MOMENTS))
        m->at[m->n++] = sim_now(m->sim);
}

/* Runs the update; the operator (all, where it is one process) is killed at that moment; 0: never,
 * and the moments are noted. */
static void run_killed(bool split, usec at, struct moments *m, struct strbuf *out)
{
    struct sim *s = start(split);
    if (m) {
        m->sim = s;
        sim_on_event(s, on_event, m);
    }
    apply_image(s, "x:2");
    if (at && CHECK(at >= sim_now(s))) {
        REQUIRE(sim_advance(s, at - sim_now(s)));
        sim_restart(s, "operator", split ? USEC_PER_SEC : 0);
    }
    CHECK(sim_settle(s, LIMIT));
    CHECK(has_ended(s));
    CHECK_INT(sim_failure(s)->code, 0);
    describe(s, out);
    sim_free(s);
}

static void check_kills(bool split)
{
    struct strbuf plain = STRBUF_INIT(1 << 14);
    struct moments *m = xnew(struct moments);
    run_killed(split, 0, m, &plain);
    /* 1 of the standalone and 1 of the group in each of two steps, then what is left. */
    CHECK(str_find(strbuf_str(&plain), STR("x:2 ready")) >= 0);
    CHECK(str_find(strbuf_str(&plain), STR("x:1")) < 0);
    CHECK(str_find(strbuf_str(&plain), STR("not ready")) < 0);
    CHECK(m->n > 100);
    test_note("%zu writes at %zu moments", m->writes, m->n);
    /* The first is the change itself. */
    for (size_t i = 1; i < m->n; i++) {
        struct strbuf end = STRBUF_INIT(1 << 14);
        run_killed(split, m->at[i], NULL, &end);
        if (!CHECK_STR(strbuf_str(&end), strbuf_str(&plain)))
            test_note("killed at %llu", (unsigned long long)m->at[i]);
        strbuf_done(&end);
    }
    free(m);
    strbuf_done(&plain);
}

TEST(a_coherent_update_killed_at_any_write_ends_the_same)
{
    check_kills(false);
}

TEST(a_coherent_update_whose_operator_is_killed_at_any_write_ends_the_same)
{
    check_kills(true);
}
