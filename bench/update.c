/*
 * A coherent update of one large set in the embedded control plane: API server, store in memory,
 * controllers, scheduler and nodes on the virtual loop. The set is deployed, its image changed, and
 * the time taken until its status says that the update has ended. Reports seconds of wall clock and
 * of CPU, sub-steps, and the size of the largest map of gangs.
 *
 *   bench-update [SHAPE [REPLICAS]]    without: all shapes, 1,000 replicas, 10,000 pods
 *
 * Where the time goes: perf record -g bench-update group 200.
 */
#include <sys/resource.h>
#include <time.h>

#include "bench/case.h"
#include "grove/types.h"
#include "plane/plane.h"
#include "json/yaml.h"

#define START ((usec)1767225600 * USEC_PER_SEC) /* 2026-01-01T00:00:00Z */
#define SETTLE (30 * USEC_PER_SEC)
enum { REPLICAS = 1000, PODS_PER_NODE = 20, LONGEST = 40000 };

#define POD                                                                               \
    "podSpec: {terminationGracePeriodSeconds: 1, containers: [{name: main, image: IMAGE," \
    " resources: {requests: {cpu: 100m}}}]}"
#define CLIQUE(name, pods)   \
    "    - name: " name "\n" \
    "      spec: {roleName: " name ", replicas: " #pods ", " POD "}\n"
#define SET                                                                    \
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: s}\n" \
    "spec:\n  replicas: 1\n  updateStrategy: {type: Coherent}\n  template:\n    cliques:\n"
#define GROUP(name, cliques, replicas, most)                                                      \
    "    - {name: " name ", cliqueNames: [" cliques "], replicas: " replicas ", minAvailable: 1," \
    " rollingUpdate: {maxUnavailable: " #most "}}\n"

/* %N is the number of replicas, %M one and a quarter of it. */
static const struct shape {
    const char *name, *yaml;
    int64_t pods4; /* for each four replicas */
} shapes[] = {
    {"group",
     SET CLIQUE("a", 4) CLIQUE("b", 6) "    podCliqueScalingGroups:\n" GROUP("g", "a, b", "%N", 1),
     40},
    {"pair",
     SET CLIQUE("pl", 1) CLIQUE("pw", 3) CLIQUE("dl", 1)
         CLIQUE("dw", 4) "    podCliqueScalingGroups:\n" GROUP("prefill", "pl, pw", "%M", 50)
             GROUP("decode", "dl, dw", "%N", 50),
     40},
};

struct bench {
    struct loop *loop;
    struct plane *plane;
    const struct shape *shape;
    int64_t replicas;
    int64_t pods;
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

static double wall_seconds(void)
{
    struct timespec t;
    bench_must(clock_gettime(CLOCK_MONOTONIC, &t) == 0, "clock_gettime");
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct doc *make_set(const struct bench *b, const char *image)
{
    struct strbuf text = STRBUF_INIT(1 << 16);
    struct err err = ERR_INIT;
    for (const char *p = b->shape->yaml; *p; p++) {
        bool is_number = p[0] == '%', is_image = strncmp(p, "IMAGE", 5) == 0;
        if (is_number)
            strbuf_printf(&text, "%lld",
                          (long long)(p[1] == 'M' ? b->replicas * 5 / 4 : b->replicas));
        else if (is_image)
            strbuf_add_str(&text, str_of(image));
        else
            strbuf_add_char(&text, *p);
        p += is_number ? 1 : is_image ? 4 : 0;
    }
    struct doc *d = yaml_parse_one(strbuf_str(&text), &err);
    bench_must(d != NULL, err.message);
    strbuf_done(&text);
    return d;
}

static const struct obj *the_set(const struct bench *b)
{
    struct world w = {.runtime = plane_runtime(b->plane)};
    return world_get(&w, &kind_pcs, STR("default"), STR("s"));
}

static int64_t count_ready(const struct bench *b)
{
    int64_t n = 0;
    struct world w = {.runtime = plane_runtime(b->plane)};
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&w, &kind_pod), STR_NONE);
         (o = cache_next(&it));)
        n += !o->deleting && condition_is_true(jgetc(obj_status(o), "conditions"), STR("Ready"));
    return n;
}

static bool is_deployed(const struct bench *b)
{
    return count_ready(b) == b->pods;
}

static bool is_updated(const struct bench *b)
{
    const struct obj *pcs = the_set(b);
    jval progress = jgetc(pcs ? obj_status(pcs) : JVAL_ABSENT, "updateProgress");
    return j_has(jgetc(progress, "updateEndedAt")) &&
           jint(jgetc(obj_status(pcs), "observedGeneration"), 0) == pcs->generation;
}

static usec run_until(const struct bench *b, bool (*is_done)(const struct bench *))
{
    usec began = loop_now(b->loop);
    for (int i = 0; i < LONGEST && !is_done(b); i++)
        (void)loop_run_until(b->loop, loop_now(b->loop) + USEC_PER_SEC, 100000000);
    bench_must(is_done(b), "it did not come to an end");
    return loop_now(b->loop) - began;
}

static void send(const struct bench *b, enum api_verb verb, const char *image)
{
    struct api_request q = {.verb = verb,
                            .kind = &kind_pcs,
                            .ns = STR("default"),
                            .name = STR("s"),
                            .body = make_set(b, image),
                            .patch = API_PATCH_APPLY,
                            .force = true,
                            .field_manager = STR("user"),
                            .done = on_reply};
    api_send(plane_admin(b->plane), &q);
    (void)loop_run_until(b->loop, loop_now(b->loop) + USEC_PER_SEC / 10, 100000000);
    doc_unref(q.body);
}

static size_t map_bytes(const struct bench *b)
{
    struct world w = {.runtime = plane_runtime(b->plane)};
    const struct obj *o = world_get(&w, &kind_pod_gang_map, STR("default"), STR("s-0"));
    return o ? doc_text(o->doc).len : 0;
}

static void update(const struct bench *b)
{
    double wall = wall_seconds();
    send(b, API_CREATE, "x:1");
    (void)run_until(b, is_deployed);
    double deployed = wall_seconds(), cpu = cpu_seconds();
    send(b, API_PATCH, "x:2");
    usec took = run_until(b, is_updated);
    bench_must(count_ready(b) == b->pods, "not every pod is ready");
    printf("update-%s: %lld pods updated in %.2f s (%.2f s CPU), %lld s of virtual time, after "
           "%.2f s to deploy them; map %zu bytes\n",
           b->shape->name, (long long)b->pods, wall_seconds() - deployed, cpu_seconds() - cpu,
           (long long)(took / USEC_PER_SEC), deployed - wall, map_bytes(b));
}

static void run_shape(const struct shape *s, int64_t replicas)
{
    struct err err = ERR_INIT;
    struct bench b = {.shape = s, .replicas = replicas, .pods = s->pods4 * replicas / 4};
    struct plane_options options = {.nodes = nodes_defaults};
    options.nodes.count = (unsigned)(b.pods / PODS_PER_NODE + 1);
    options.nodes.life.start = 0;
    b.loop = loop_new_virtual(1, START);
    b.plane = plane_new(b.loop, &options, on_ready, NULL, &err);
    bench_must(b.plane != NULL, err.message);
    (void)loop_run_until(b.loop, loop_now(b.loop) + SETTLE, 100000000);
    update(&b);
    plane_free(b.plane);
    loop_free(b.loop);
}

int main(int argc, char **argv)
{
    int64_t replicas = REPLICAS;
    if (argc > 2)
        bench_must(str_to_int(str_of(argv[2]), &replicas) && replicas >= 4 && replicas % 4 == 0,
                   "how many replicas, by fours?");
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        if (argc < 2 || str_is(str_of(argv[1]), shapes[i].name))
            run_shape(&shapes[i], replicas);
    }
    return 0;
}
