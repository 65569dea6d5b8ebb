/*
 * Fresh pods in the embedded control plane, API server, store in memory and controllers on the
 * virtual loop. Either up to the moment before scheduling: every pod made, its gang complete, its
 * gate lifted; or the whole way, with scheduler and nodes, until they run. Reports CPU seconds of
 * the whole process; under callgrind it counts the same instructions each time.
 *
 *   bench-deploy [SHAPE [PODS]]    without: all that stop before scheduling, 10,000 pods
 *
 * Where the time goes: perf record -g bench-deploy members.
 */
#include <sys/resource.h>

#include "bench/case.h"
#include "grove/types.h"
#include "plane/plane.h"
#include "json/yaml.h"

#define START ((usec)1767225600 * USEC_PER_SEC) /* 2026-01-01T00:00:00Z */
#define SETTLE (30 * USEC_PER_SEC)
enum { PODS = 10000, PODS_PER_NODE = 10, SET_PODS = 100 };

#define CLIQUE(name, pods)                                                                      \
    "    - name: " name "\n"                                                                    \
    "      spec: {roleName: " name ", replicas: " pods ", minAvailable: " pods ", podSpec: {\n" \
    "        terminationGracePeriodSeconds: 5, containers: [{name: main, image: x, env: [\n"    \
    "        {name: A, value: b}], resources: {requests: {cpu: 100m, memory: 1Gi}}}]}}\n"
/* %zu is a number that makes as many pods as wanted. */
#define SET(replicas)                                                             \
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: NAME}\n" \
    "spec:\n  replicas: " replicas "\n  template:\n    cliques:\n"

static const struct shape {
    const char *name, *yaml;
    size_t unit;    /* pods for each one of the number */
    size_t per_set; /* 0: all in one */
    bool runs;      /* the whole way */
} shapes[] = {
    {"replicas", SET("%zu") CLIQUE("a", "4") CLIQUE("b", "6"), 10, 0, false},
    {"members",
     SET("1") CLIQUE("a", "4") CLIQUE(
         "b", "6") "    podCliqueScalingGroups:\n"
                   "    - {name: g, cliqueNames: [a, b], replicas: %zu, minAvailable: %zu}\n",
     10, 0, false},
    {"one", SET("1") CLIQUE("a", "%zu"), 1, 0, false},
    {"run-large", SET("1") CLIQUE("a", "%zu") CLIQUE("b", "%zu"), 2, SET_PODS, true},
    {"run-medium", SET("%zu") CLIQUE("a", "5") CLIQUE("b", "5"), 10, SET_PODS, true},
    {"run-small", SET("%zu") CLIQUE("a", "1") CLIQUE("b", "1"), 2, SET_PODS, true},
};

static void on_ready(void *ctx, const struct err *err)
{
    (void)ctx;
    bench_must(err == NULL, "the control plane did not start");
}

static void on_reply(struct api_request *q, const struct api_reply *reply)
{
    (void)q;
    bench_must(reply->status == NULL, "the set was refused");
}

static double cpu_seconds(void)
{
    struct rusage u;
    bench_must(getrusage(RUSAGE_SELF, &u) == 0, "getrusage");
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Pods without gates, or those that run. */
static size_t count_done(struct plane *p, bool running)
{
    size_t n = 0;
    struct world w = {.runtime = plane_runtime(p)};
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&w, &kind_pod), STR_NONE);
         (o = cache_next(&it));)
        n += running ? str_is(jstr(jgetc(obj_status(o), "phase")), "Running")
                     : jlen(jgetc(obj_spec(o), "schedulingGates")) == 0;
    return n;
}

/* The text with the number in place of %zu and this name in place of NAME. */
static struct doc *make_set(const struct shape *s, size_t number, size_t pods)
{
    struct strbuf text = STRBUF_INIT(1 << 16);
    struct err err = ERR_INIT;
    for (const char *p = s->yaml; *p; p++) {
        bool is_number = strncmp(p, "%zu", 3) == 0, is_name = strncmp(p, "NAME", 4) == 0;
        if (is_number)
            strbuf_add_uint(&text, pods / s->unit);
        else if (is_name)
            strbuf_printf(&text, "set-%zu", number);
        else
            strbuf_add_char(&text, *p);
        p += is_number ? 2 : is_name ? 3 : 0;
    }
    struct doc *d = yaml_parse_one(strbuf_str(&text), &err);
    bench_must(d != NULL, err.message);
    strbuf_done(&text);
    return d;
}

struct sets {
    struct api_request *requests;
    size_t n;
};

static struct sets send_sets(struct plane *plane, const struct shape *s, size_t pods)
{
    size_t per_set = s->per_set ? s->per_set : pods;
    struct sets sets = {.n = pods / per_set};
    sets.requests = xcalloc(sets.n, sizeof(*sets.requests));
    for (size_t i = 0; i < sets.n; i++) {
        sets.requests[i] = (struct api_request){.verb = API_CREATE,
                                                .kind = &kind_pcs,
                                                .ns = STR("default"),
                                                .body = make_set(s, i, per_set),
                                                .field_manager = STR("user"),
                                                .done = on_reply};
        api_send(plane_admin(plane), &sets.requests[i]);
    }
    return sets;
}

static void sets_done(struct sets *sets)
{
    for (size_t i = 0; i < sets->n; i++)
        doc_unref(sets->requests[i].body);
    free(sets->requests);
}

static void deploy(const struct shape *s, size_t pods)
{
    struct err err = ERR_INIT;
    struct loop *loop = loop_new_virtual(1, START);
    struct plane_options options = {.nodes = nodes_defaults};
    options.without = s->runs ? STR_NONE : STR("scheduler,nodes");
    options.nodes.count = (unsigned)(pods / PODS_PER_NODE);
    options.nodes.life.start = 0;
    struct plane *plane = plane_new(loop, &options, on_ready, NULL, &err);
    bench_must(plane != NULL, err.message);
    (void)loop_run_until(loop, loop_now(loop) + SETTLE, 100000000);
    usec began = loop_now(loop);
    double before = cpu_seconds();
    struct sets sets = send_sets(plane, s, pods);
    usec took = 0;
    for (int i = 0; i < 60 && count_done(plane, s->runs) < pods; i++) {
        (void)loop_run_until(loop, loop_now(loop) + USEC_PER_SEC, 100000000);
        took = loop_now(loop) - began;
    }
    double used = cpu_seconds() - before;
    bench_must(count_done(plane, s->runs) == pods, "not every pod got so far");
    printf("deploy-%s: %zu pods %s after %.2f s CPU, %lld s of virtual time\n", s->name, pods,
           s->runs ? "running" : "ready for scheduling", used, (long long)(took / USEC_PER_SEC));
    sets_done(&sets);
    plane_free(plane);
    loop_free(loop);
}

int main(int argc, char **argv)
{
    int64_t pods = PODS;
    if (argc > 2)
        bench_must(str_to_int(str_of(argv[2]), &pods) && pods >= SET_PODS, "how many pods?");
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        if (argc < 2 ? !shapes[i].runs : str_is(str_of(argv[1]), shapes[i].name))
            deploy(&shapes[i], (size_t)pods);
    }
    return 0;
}
