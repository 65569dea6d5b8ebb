/* A coherent update survives being killed at any of its writes: one run per write, in which all
 * controllers are killed right after it, and all runs end in the same state. */
#include "base/test.h"
#include "grove/types.h"
#include "sim/sim.h"

#define LIMIT (10 * USEC_PER_MIN)
#define TICK USEC_PER_MSEC
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

static struct sim *start(void)
{
    struct err err = ERR_INIT;
    struct sim_options o = {.seed = 1, .nodes = nodes_defaults, .faults = sim_default_faults};
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
    for (struct jiter it = jiter(o ? jgetc(obj_spec(o), "entries") : JVAL_ABSENT); jnext(&it);)
        strbuf_printf(out, "%.*s %.*s\n", STR_ARG(jtext(jgetc(it.value, "podCliques"))),
                      STR_ARG(jtext(jgetc(it.value, "pcsgReplicaIndices"))));
    strbuf_printf(out, "%zu gangs\n", sim_count(s, &kind_pod_gang, NULL));
}

static bool has_ended(struct sim *s)
{
    const struct obj *pcs = sim_get(s, &kind_pcs, STR("default"), STR("s"));
    return pcs && j_has(jpath(obj_root(pcs), "status.updateProgress.updateEndedAt"));
}

/* Runs the update and kills everybody once so many revisions are written; false: there were not so
 * many. */
static bool run_killed(uint64_t after, struct strbuf *out)
{
    struct sim *s = start();
    apply_image(s, "x:2");
    uint64_t goal = sim_stats(s).revisions + after;
    bool killed = false;
    for (int i = 0; i < 30000 && !killed && !has_ended(s); i++) {
        REQUIRE(sim_advance(s, TICK));
        killed = sim_stats(s).revisions >= goal;
    }
    if (killed)
        sim_restart(s, NULL, 0);
    CHECK(sim_settle(s, LIMIT));
    CHECK(has_ended(s));
    CHECK_INT(sim_failure(s)->code, 0);
    describe(s, out);
    sim_free(s);
    return killed;
}

TEST(a_coherent_update_killed_at_any_write_ends_the_same)
{
    struct strbuf plain = STRBUF_INIT(1 << 14);
    uint64_t writes = 0;
    (void)run_killed(UINT32_MAX, &plain);
    /* 1 of the standalone and 1 of the group in each of two steps, then what is left. */
    CHECK(str_find(strbuf_str(&plain), STR("x:2 ready")) >= 0);
    CHECK(str_find(strbuf_str(&plain), STR("x:1")) < 0);
    CHECK(str_find(strbuf_str(&plain), STR("not ready")) < 0);
    for (bool more = true; more; writes++) {
        struct strbuf end = STRBUF_INIT(1 << 14);
        more = run_killed(writes + 1, &end);
        if (!CHECK_STR(strbuf_str(&end), strbuf_str(&plain)))
            test_note("killed after write %llu", (unsigned long long)writes + 1);
        strbuf_done(&end);
    }
    CHECK(writes > 50);
    strbuf_done(&plain);
}
