/*
 * A set is deleted: CPU time for each of its pods until the set and all it owned are gone, for sets
 * of 250 to 4,000 pods, in the embedded control plane on the virtual loop. What costs the same for
 * each pod, however many there are, is linear.
 *
 *   bench-delete [SHAPE [PODS]]    without: all shapes, all sizes
 *
 * Each row is measured in four ways: everybody at work, and without the scheduler, so that the
 * difference is what that costs; and both again with as many PodDisruptionBudgets of somebody else
 * in the namespace as there are pods. Also printed: how long the set outlived the last thing it
 * owned, in virtual time.
 *
 * Where the time goes: perf record -g bench-delete members 4000.
 */
#include <sys/resource.h>

#include "bench/case.h"
#include "grove/types.h"
#include "plane/plane.h"
#include "json/yaml.h"

#define START ((usec)1767225600 * USEC_PER_SEC) /* 2026-01-01T00:00:00Z */
#define SETTLE (30 * USEC_PER_SEC)
#define LIMIT (600 * USEC_PER_SEC)
#define STEP (10 * USEC_PER_MSEC)
enum { PODS_PER_NODE = 10, ITERATIONS = 100000000 };

static const size_t sizes[] = {250, 500, 1000, 2000, 4000};

#define CLIQUE(pods)                                                                  \
    "    - name: a\n"                                                                 \
    "      spec: {roleName: a, replicas: " pods ", minAvailable: 1, podSpec: {\n"     \
    "        terminationGracePeriodSeconds: 5, containers: [{name: main, image: x,\n" \
    "        resources: {requests: {cpu: 100m, memory: 1Gi}}}]}}\n"
#define SET(replicas)                                                            \
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: set}\n" \
    "spec:\n  replicas: " replicas "\n  template:\n    cliques:\n"

static const struct shape {
    const char *name, *what, *yaml; /* %zu: a number that makes as many pods as wanted */
    size_t unit;                    /* pods for each one of the number */
} shapes[] = {
    {"one", "one clique of all pods", SET("1") CLIQUE("%zu"), 1},
    {"replicas", "a replica, clique and gang for each two pods", SET("%zu") CLIQUE("2"), 2},
    {"members", "one group, a clique and gang for each two pods",
     SET("1") CLIQUE("2") "    podCliqueScalingGroups:\n"
                          "    - {name: g, cliqueNames: [a], replicas: %zu, minAvailable: 1}\n",
     2},
};

static struct loop *loop;
static struct plane *plane;
static size_t open_requests;

static double cpu_seconds(void)
{
    struct rusage u;
    bench_must(getrusage(RUSAGE_SELF, &u) == 0, "getrusage");
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void on_ready(void *ctx, const struct err *err)
{
    (void)ctx;
    bench_must(err == NULL, "the control plane did not start");
}

static void on_reply(struct api_request *q, const struct api_reply *reply)
{
    (void)q;
    bench_must(reply->status == NULL, "a request was refused");
    open_requests--;
}

static void ask(enum api_verb verb, const struct kind *k, str name, const char *yaml)
{
    struct err err = ERR_INIT;
    struct api_request q = {.verb = verb,
                            .kind = k,
                            .ns = STR("default"),
                            .name = name,
                            .grace_seconds = -1,
                            .propagation = API_BACKGROUND,
                            .field_manager = STR("user"),
                            .done = on_reply};
    q.body = yaml ? yaml_parse_one(str_of(yaml), &err) : NULL;
    bench_must(!yaml || q.body, err.message);
    open_requests++;
    api_send(plane_admin(plane), &q);
    while (open_requests > 0)
        bench_must(loop_run_until(loop, loop_now(loop) + USEC_PER_MSEC, ITERATIONS), "livelock");
    doc_unref(q.body);
}

/* ---- what there is ---- */

static size_t count(const struct kind *k, bool running)
{
    size_t n = 0;
    struct world w = {.runtime = plane_runtime(plane)};
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&w, k), STR_NONE); (o = cache_next(&it));)
        n += running ? str_is(jstr(jgetc(obj_status(o), "phase")), "Running")
                     : !str_is_empty(obj_label(o, STR(LABEL_PCS)));
    return n;
}

static size_t count_owned(void)
{
    return count(&kind_pod, false) + count(&kind_pclq, false) + count(&kind_pcsg, false) +
           count(&kind_pod_gang, false);
}

static bool set_is_there(void)
{
    struct world w = {.runtime = plane_runtime(plane)};
    return world_get(&w, &kind_pcs, STR("default"), STR("set")) != NULL;
}

/* ---- one run ---- */

static void add_budgets(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct arena a = ARENA_INIT;
        ask(API_CREATE, &kind_pdb, STR_NONE,
            arena_printf(&a,
                         "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: "
                         "other-%zu}, spec: {minAvailable: 1, selector: {matchLabels: {other: "
                         "o%zu}}}}",
                         i, i)
                .p);
        arena_done(&a);
    }
}

static void stop_scheduler(void)
{
    for (size_t i = 0; i < plane_parts(plane); i++) {
        if (str_is(str_of(plane_part_name(plane, i)), "scheduler"))
            plane_stop(plane, i);
    }
}

static void deploy(const struct shape *s, size_t pods)
{
    struct arena a = ARENA_INIT;
    struct strbuf text = STRBUF_INIT(1 << 16);
    for (const char *p = s->yaml; *p; p++) {
        if (strncmp(p, "%zu", 3) != 0) {
            strbuf_add_char(&text, *p);
            continue;
        }
        strbuf_add_uint(&text, pods / s->unit);
        p += 2;
    }
    ask(API_CREATE, &kind_pcs, STR_NONE, arena_printf(&a, "%.*s", STR_ARG(strbuf_str(&text))).p);
    strbuf_done(&text);
    arena_done(&a);
    for (int i = 0; i < 300 && count(&kind_pod, true) < pods; i++)
        (void)loop_run_until(loop, loop_now(loop) + USEC_PER_SEC, ITERATIONS);
    bench_must(count(&kind_pod, true) == pods, "not every pod runs");
    (void)loop_run_until(loop, loop_now(loop) + SETTLE, ITERATIONS);
}

struct cost {
    double cpu;    /* seconds */
    double longer; /* virtual seconds that the set outlived what it owned */
};

static struct cost delete_set(void)
{
    usec end = loop_now(loop) + LIMIT, emptied = 0;
    double before = cpu_seconds(), looked = 0;
    ask(API_DELETE, &kind_pcs, STR("set"), NULL);
    for (bool there = true, owned = true; (there || owned) && loop_now(loop) < end;) {
        (void)loop_run_until(loop, loop_now(loop) + STEP, ITERATIONS);
        double began = cpu_seconds();
        owned = count_owned() > 0;
        there = set_is_there();
        emptied = emptied || owned ? emptied : loop_now(loop);
        looked += cpu_seconds() - began;
    }
    bench_must(!set_is_there() && count_owned() == 0, "the set does not go");
    return (struct cost){cpu_seconds() - before - looked,
                         (double)(loop_now(loop) - emptied) / (double)USEC_PER_SEC};
}

static struct cost run(const struct shape *s, size_t pods, size_t budgets, bool scheduler)
{
    struct err err = ERR_INIT;
    struct plane_options options = {.nodes = nodes_defaults, .split = true};
    loop = loop_new_virtual(1, START);
    options.nodes.count = (unsigned)(pods / PODS_PER_NODE);
    options.nodes.life.start = 0;
    plane = plane_new(loop, &options, on_ready, NULL, &err);
    bench_must(plane != NULL, err.message);
    (void)loop_run_until(loop, loop_now(loop) + SETTLE, ITERATIONS);
    add_budgets(budgets);
    deploy(s, pods);
    if (!scheduler)
        stop_scheduler();
    struct cost c = delete_set();
    plane_free(plane);
    loop_free(loop);
    return c;
}

static void measure(const struct shape *s, size_t pods)
{
    struct cost all = run(s, pods, 0, true), less = run(s, pods, 0, false);
    struct cost b_all = run(s, pods, pods, true), b_less = run(s, pods, pods, false);
    double each = 1e6 / (double)pods;
    printf("delete-%-10s%6zu pods:%7.2f s CPU,%7.0f us/pod, of it the scheduler%7.0f;  with %4zu "
           "budgets%7.2f s,%7.0f us/pod, scheduler%7.0f;  the set outlives the rest by %.2f s\n",
           s->name, pods, all.cpu, all.cpu * each, (all.cpu - less.cpu) * each, pods, b_all.cpu,
           b_all.cpu * each, (b_all.cpu - b_less.cpu) * each, MAX(all.longer, b_all.longer));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int64_t pods = 0;
    if (argc > 2)
        bench_must(str_to_int(str_of(argv[2]), &pods) && pods >= PODS_PER_NODE, "how many pods?");
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        if (argc > 1 && !str_is(str_of(argv[1]), shapes[i].name))
            continue;
        printf("%s: %s\n", shapes[i].name, shapes[i].what);
        for (size_t k = 0; k < ARRAY_LEN(sizes) && pods == 0; k++)
            measure(&shapes[i], sizes[k]);
        if (pods > 0)
            measure(&shapes[i], (size_t)pods);
    }
    return 0;
}
