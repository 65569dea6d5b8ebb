/*
 * A fresh set of 10,000 pods in the embedded control plane, up to the moment before scheduling:
 * every pod made, its gang complete, its gate lifted. Reports CPU seconds of the whole process (API
 * server, store in memory, controllers, on the virtual loop) and what was written.
 *
 *   bench-deploy [replicas | members | one]    which shape; without: all three
 *
 * Where the time goes: perf record -g bench-deploy members.
 */
#include <sys/resource.h>

#include "bench/case.h"
#include "grove/types.h"
#include "sim/plane.h"
#include "json/yaml.h"

#define START ((usec)1767225600 * USEC_PER_SEC) /* 2026-01-01T00:00:00Z */
#define SETTLE (30 * USEC_PER_SEC)
enum { PODS = 10000 };

#define CLIQUE(name, pods)                                                                      \
    "    - name: " name "\n"                                                                    \
    "      spec: {roleName: " name ", replicas: " pods ", minAvailable: " pods ", podSpec: {\n" \
    "        terminationGracePeriodSeconds: 5, containers: [{name: main, image: x, env: [\n"    \
    "        {name: A, value: b}], resources: {requests: {cpu: 100m, memory: 1Gi}}}]}}\n"
#define SET(replicas)                                                            \
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: big}\n" \
    "spec:\n  replicas: " replicas "\n  template:\n    cliques:\n"

static const struct shape {
    const char *name, *yaml;
} shapes[] = {
    {"replicas", SET("1000") CLIQUE("a", "4") CLIQUE("b", "6")},
    {"members",
     SET("1") CLIQUE("a", "4") CLIQUE(
         "b", "6") "    podCliqueScalingGroups:\n"
                   "    - {name: g, cliqueNames: [a, b], replicas: 1000, minAvailable: 1000}\n"},
    {"one", SET("1") CLIQUE("a", "10000")},
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

/* Pods without gates. */
static size_t count_let_go(struct plane *p)
{
    size_t n = 0;
    struct world w = {.runtime = plane_runtime(p)};
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&w, &kind_pod), STR_NONE);
         (o = cache_next(&it));)
        n += jlen(jgetc(obj_spec(o), "schedulingGates")) == 0;
    return n;
}

static void deploy(const struct shape *s)
{
    struct err err = ERR_INIT;
    struct loop *loop = loop_new_virtual(1, START);
    struct plane_options options = {.nodes = nodes_defaults, .without = STR("scheduler,nodes")};
    struct plane *plane = plane_new(loop, &options, on_ready, NULL, &err);
    bench_must(plane != NULL, err.message);
    (void)loop_run_until(loop, loop_now(loop) + SETTLE, 10000000);
    struct doc *body = yaml_parse_one(str_of(s->yaml), &err);
    bench_must(body != NULL, err.message);
    struct api_request q = {.verb = API_CREATE,
                            .kind = &kind_pcs,
                            .ns = STR("default"),
                            .body = body,
                            .field_manager = STR("user"),
                            .done = on_reply};
    usec began = loop_now(loop);
    double before = cpu_seconds();
    api_send(plane_admin(plane), &q);
    usec took = 0;
    for (int i = 0; i < 60 && count_let_go(plane) < PODS; i++) {
        (void)loop_run_until(loop, loop_now(loop) + USEC_PER_SEC, 100000000);
        took = loop_now(loop) - began;
    }
    double used = cpu_seconds() - before;
    bench_must(count_let_go(plane) == PODS, "not every pod was let go");
    printf("deploy-%s: %d pods ready for scheduling after %.2f s CPU, %lld s of virtual time\n",
           s->name, PODS, used, (long long)(took / USEC_PER_SEC));
    doc_unref(body);
    plane_free(plane);
    loop_free(loop);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        if (argc < 2 || str_is(str_of(argv[1]), shapes[i].name))
            deploy(&shapes[i]);
    }
    return 0;
}
