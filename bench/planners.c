/*
 * Planners in front of a large set: 10,000 pods in 2,000 cliques that have come to rest, once as
 * 1,000 replicas of a set, once as 1,000 replicas of a scaling group. What a planner costs there
 * may depend on what it is asked about, not on everything there is. See case.h.
 */
#include "bench/case.h"
#include "grove/types.h"
#include "operator/operator.h"
#include "plane/plane.h"
#include "json/yaml.h"

#define START ((usec)1767225600 * USEC_PER_SEC) /* 2026-01-01T00:00:00Z */
#define SETTLE (60 * USEC_PER_SEC)

#define CLIQUE(name, pods)                                                                      \
    "    - name: " name "\n"                                                                    \
    "      spec: {roleName: " name ", replicas: " pods ", minAvailable: " pods ", podSpec: {\n" \
    "        terminationGracePeriodSeconds: 5, containers: [{name: main, image: x, env: [\n"    \
    "        {name: A, value: b}], resources: {requests: {cpu: 100m, memory: 1Gi}}}]}}\n"

static const char set_of_replicas[] =
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: big}\n"
    "spec:\n  replicas: 1000\n  template:\n    cliques:\n" CLIQUE("a", "4") CLIQUE("b", "6");
static const char set_of_members[] =
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: big}\n"
    "spec:\n  replicas: 1\n  template:\n    cliques:\n" CLIQUE("a", "4")
        CLIQUE("b", "6") "    podCliqueScalingGroups:\n"
                         "    - {name: g, cliqueNames: [a, b], replicas: 1000, minAvailable: 1}\n";

static struct loop *loop;
static struct plane *plane;
static struct plane_options options;
static struct world world;
static bool answered;

static void on_ready(void *ctx, const struct err *err)
{
    (void)ctx;
    bench_must(err == NULL, "the control plane did not start");
}

static void on_reply(struct api_request *q, const struct api_reply *reply)
{
    (void)q;
    bench_must(reply->status == NULL, "the set was refused");
    answered = true;
}

static void setup(const char *yaml)
{
    struct err err = ERR_INIT;
    loop = loop_new_virtual(1, START);
    options = (struct plane_options){.nodes = nodes_defaults};
    options.nodes.count = 200;
    plane = plane_new(loop, &options, on_ready, NULL, &err);
    bench_must(plane != NULL, err.message);
    (void)loop_run_until(loop, loop_now(loop) + SETTLE, 10000000);
    struct doc *body = yaml_parse_one(str_of(yaml), NULL);
    struct api_request q = {.verb = API_CREATE,
                            .kind = &kind_pcs,
                            .ns = STR("default"),
                            .body = body,
                            .field_manager = STR("user"),
                            .done = on_reply};
    answered = false;
    api_send(plane_admin(plane), &q);
    while (!answered)
        bench_must(loop_run_until(loop, loop_now(loop) + USEC_PER_MSEC, 1000000), "livelock");
    doc_unref(body);
    (void)loop_run_until(loop, loop_now(loop) + 5 * SETTLE, 100000000);
    bench_must(plane_is_idle(plane), "the controllers do not come to rest");
    world = runtime_world(plane_runtime(plane));
}

static void setup_replicas(void)
{
    setup(set_of_replicas);
}

static void setup_members(void)
{
    setup(set_of_members);
}

static void teardown(void)
{
    plane_free(plane);
    loop_free(loop);
}

/* ---- one key of a settled world: nothing is to be written ---- */

static size_t plan_one(planner_fn *plan, void *ctx, const struct kind *k, const char *name)
{
    struct arena a = ARENA_INIT;
    struct plan p;
    bench_must(world_get(&world, k, STR("default"), str_of(name)) != NULL, "no such object");
    plan_init(&p, &a);
    plan(&world, &(struct key){k, STR("default"), str_of(name)}, ctx, &p);
    if (p.writes.len > 0) {
        struct strbuf text = STRBUF_INIT(1 << 20);
        plan_print(&p, &text);
        fprintf(stderr, "%.*s\n", STR_ARG(strbuf_str(&text)));
        bench_must(false, "a settled world is written to");
    }
    plan_done(&p);
    arena_done(&a);
    return 1;
}

static size_t children_op(void)
{
    return plan_one(pcs_children_plan, NULL, &kind_pcs, "big");
}

static size_t status_op(void)
{
    return plan_one(pcs_status_plan, NULL, &kind_pcs, "big");
}

static size_t gang_op(void)
{
    return plan_one(gang_plan, NULL, &kind_pod_gang, "big-500");
}

static size_t members_op(void)
{
    return plan_one(pcsg_members_plan, NULL, &kind_pcsg, "big-0-g");
}

static size_t group_status_op(void)
{
    return plan_one(pcsg_status_plan, NULL, &kind_pcsg, "big-0-g");
}

static size_t scaled_gang_op(void)
{
    return plan_one(gang_plan, NULL, &kind_pod_gang, "big-0-g-500");
}

static size_t clique_op(void)
{
    return plan_one(pclq_plan, NULL, &kind_pclq, "big-500-a");
}

static const struct bench_case cases[] = {
    {"set-children-10k", 1, 5, setup_replicas, NULL, children_op, teardown},
    {"set-status-10k", 1, 50, setup_replicas, NULL, status_op, teardown},
    {"gang-10k", 1, 200, setup_replicas, NULL, gang_op, teardown},
    {"clique-10k", 1, 200, setup_replicas, NULL, clique_op, teardown},
    {"group-members-10k", 1, 5, setup_members, NULL, members_op, teardown},
    {"group-status-10k", 1, 50, setup_members, NULL, group_status_op, teardown},
    {"scaled-gang-10k", 1, 200, setup_members, NULL, scaled_gang_op, teardown},
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, cases, ARRAY_LEN(cases));
}
