/*
 * Hot paths of the control plane: verbs of the API server, planners on a settled world, placement.
 * All on the virtual loop with the store in memory, so that a run is a function of this file. See
 * case.h.
 */
#include "plane/plane.h"
#include "apiserver/server.h"
#include "bench/case.h"
#include "grove/snapshot.h"
#include "grove/types.h"
#include "operator/operator.h"
#include "sched/model/core.h"
#include "json/edit.h"
#include "json/yaml.h"

#define START ((usec)1767225600 * USEC_PER_SEC) /* 2026-01-01T00:00:00Z */
#define SETTLE (30 * USEC_PER_SEC)

extern const char sample_disaggregated[]; /* samples/, embedded by the build */

static struct loop *loop;

/* ---- requests ---- */

enum { BATCH = 50 };
static struct api_request requests[BATCH];
static struct doc *bodies[BATCH];
static size_t open_requests;

static void on_reply(struct api_request *q, const struct api_reply *reply)
{
    (void)q;
    if (reply->status)
        fprintf(stderr, "%.*s\n", STR_ARG(reply->status->message));
    bench_must(reply->status == NULL, "a request was refused");
    open_requests--;
}

/* Sends the first n and runs until all are answered. */
static size_t send_all(struct api *api, size_t n)
{
    open_requests = n;
    for (size_t i = 0; i < n; i++) {
        requests[i].done = on_reply;
        api_send(api, &requests[i]);
    }
    while (open_requests > 0)
        bench_must(loop_run_until(loop, loop_now(loop) + USEC_PER_MSEC, 1000000), "livelock");
    return n;
}

static void drop_bodies(void)
{
    for (size_t i = 0; i < BATCH; i++) {
        doc_unref(bodies[i]);
        bodies[i] = NULL;
    }
}

static void on_ready(void *ctx, const struct err *err)
{
    (void)ctx;
    bench_must(err == NULL, "the control plane did not start");
}

/* ---- the API server by itself ---- */

static struct store *store;
static struct apiserver *server;
static struct api *api;
static struct doc *pod;
static size_t next_pod;

/* The Pod of bench/data as a client sends it: without what the server fills in, and without the
 * claim that only a cluster with volumes could judge. */
static struct doc *pod_to_send(const char *name)
{
    static const char *const servers[] = {
        "/metadata/uid",        "/metadata/resourceVersion", "/metadata/creationTimestamp",
        "/metadata/generation", "/metadata/managedFields",   "/spec/nodeName",
        "/spec/priority",       "/spec/priorityClassName",   "/status"};
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    for (size_t i = 0; i < ARRAY_LEN(servers); i++)
        edit_del(&e, str_of(servers[i]));
    edit_set_raw(&e, STR("/spec/volumes/0"), STR("{\"name\":\"model\",\"emptyDir\":{}}"));
    edit_set_str(&e, STR("/metadata/namespace"), STR("default"));
    edit_set_str(&e, STR("/metadata/name"), str_of(name));
    struct doc *d = edit_apply(&e, pod, NULL);
    bench_must(d != NULL, "no Pod");
    edit_done(&e);
    arena_done(&a);
    return d;
}

static void server_setup(void)
{
    struct err err = ERR_INIT;
    grove_kinds_init();
    loop = loop_new_virtual(1, START);
    store = store_open(loop, &(struct store_options){0}, &err);
    bench_must(store != NULL, err.message);
    server = apiserver_new(loop, store);
    apiserver_bootstrap(server, on_ready, NULL);
    (void)loop_run_until(loop, loop_now(loop) + USEC_PER_SEC, 1000000);
    api = apiserver_local(server, NULL);
    pod = bench_doc("pod.json");
    next_pod = 0;
}

static void server_teardown(void)
{
    drop_bodies();
    doc_unref(pod);
    api_free(api);
    apiserver_free(server);
    store_close(store);
    loop_free(loop);
}

static void create_prepare(void)
{
    drop_bodies();
    for (size_t i = 0; i < BATCH; i++) {
        char name[64];
        snprintf(name, sizeof(name), "llama-70b-0-decode-%zu", next_pod++);
        bodies[i] = pod_to_send(name);
        requests[i] = (struct api_request){.verb = API_CREATE,
                                           .kind = &kind_pod,
                                           .ns = STR("default"),
                                           .body = bodies[i],
                                           .field_manager = STR("grove-operator")};
    }
}

static size_t send_op(void)
{
    return send_all(api, BATCH);
}

static void filled_setup(void)
{
    server_setup();
    create_prepare();
    (void)send_op();
}

/* Names of the pods that filled_setup made. */
static str pod_name(size_t i)
{
    static char names[BATCH][64];
    snprintf(names[i], sizeof(names[i]), "llama-70b-0-decode-%zu", i);
    return str_of(names[i]);
}

static void patch_prepare(void)
{
    static size_t beat;
    drop_bodies();
    beat++;
    for (size_t i = 0; i < BATCH; i++) {
        char text[512];
        int n = snprintf(text, sizeof(text),
                         "{\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.%zu.%zu\","
                         "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
                         "\"lastTransitionTime\":\"2026-08-01T09:13:00Z\"}]}}",
                         beat, i);
        bodies[i] = doc_parse((str){text, (size_t)n}, NULL, NULL);
        requests[i] = (struct api_request){.verb = API_PATCH,
                                           .patch = API_PATCH_STRATEGIC,
                                           .kind = &kind_pod,
                                           .ns = STR("default"),
                                           .name = pod_name(i),
                                           .subresource = STR("status"),
                                           .body = bodies[i],
                                           .field_manager = STR("kubelet")};
    }
}

static void get_prepare(void)
{
    drop_bodies();
    for (size_t i = 0; i < BATCH; i++)
        requests[i] = (struct api_request){
            .verb = API_GET, .kind = &kind_pod, .ns = STR("default"), .name = pod_name(i)};
}

static void list_prepare(void)
{
    drop_bodies();
    requests[0] = (struct api_request){.verb = API_LIST,
                                       .kind = &kind_pod,
                                       .ns = STR("default"),
                                       .label_selector = STR("grove.io/podcliqueset=llama-70b")};
}

static size_t list_op(void)
{
    return send_all(api, 1);
}

/* ---- planners on a settled world ---- */

static struct plane *plane;
static struct plane_options plane_options;
static struct world world;

static void apply_sample(void)
{
    bodies[0] = yaml_parse_one(str_of(sample_disaggregated), NULL);
    bench_must(bodies[0] != NULL, "the sample does not parse");
    requests[0] = (struct api_request){.verb = API_CREATE,
                                       .kind = &kind_pcs,
                                       .ns = STR("default"),
                                       .body = bodies[0],
                                       .field_manager = STR("user")};
    (void)send_all(plane_admin(plane), 1);
    drop_bodies();
}

static void plane_setup(void)
{
    struct err err = ERR_INIT;
    loop = loop_new_virtual(1, START);
    plane_options = (struct plane_options){.nodes = nodes_defaults};
    plane = plane_new(loop, &plane_options, on_ready, NULL, &err);
    bench_must(plane != NULL, err.message);
    (void)loop_run_until(loop, loop_now(loop) + SETTLE, 10000000);
}

static void settled_setup(void)
{
    plane_setup();
    apply_sample();
    (void)loop_run_until(loop, loop_now(loop) + SETTLE, 10000000);
    bench_must(runtime_is_idle(plane_runtime(plane)), "the controllers do not come to rest");
    world = runtime_world(plane_runtime(plane));
}

static void plane_teardown(void)
{
    plane_free(plane);
    loop_free(loop);
}

/* A planner over every object of a kind: nothing has changed, so nothing is to be written. */
static size_t plan_all(planner_fn *plan, const struct kind *k)
{
    struct obj *o;
    size_t n = 0;
    for (struct cache_iter it = cache_all(world_cache(&world, k), STR_NONE); (o = cache_next(&it));
         n++) {
        struct arena a = ARENA_INIT;
        struct plan p;
        plan_init(&p, &a);
        plan(&world, &(struct key){k, o->ns, o->name}, NULL, &p);
        bench_must(p.writes.len == 0, "a settled world is written to");
        plan_done(&p);
        arena_done(&a);
    }
    bench_must(n > 0, "nothing to plan");
    return n;
}

static size_t plan_set_op(void)
{
    return plan_all(pcs_plan, &kind_pcs);
}

static size_t plan_clique_op(void)
{
    return plan_all(pclq_plan, &kind_pclq);
}

/* ---- placement ---- */

static size_t snapshot_op(void)
{
    struct arena a = ARENA_INIT;
    struct snapshot s;
    snapshot_init(&s, &world, &a);
    size_t n = s.nodes.len;
    snapshot_done(&s);
    arena_done(&a);
    return n;
}

/* 16 racks of 18 nodes with 8 GPUs; a gang of 16 whole nodes in one rack. (bench/sched.c has the
 * large clusters.) */
enum { GANG = 16, RACKS = 16, RACK_NODES = 18, LEVEL_RACK = 1 };
static struct core *core;

static void place_setup(void)
{
    static const int64_t total[] = {8, 110};
    static const struct core_amount amounts[] = {{0, 8}, {1, 1}};
    int32_t racks[RACKS * RACK_NODES];
    uint8_t admitted[RACKS * RACK_NODES];
    struct core_class_def def = {.amounts = amounts,
                                 .n_amounts = ARRAY_LEN(amounts),
                                 .admitted = admitted,
                                 .per_node = CORE_UNLIMITED};
    core = core_new(ARRAY_LEN(total));
    memset(admitted, 1, sizeof(admitted));
    for (int32_t i = 0; i < RACKS * RACK_NODES; i++) {
        (void)core_add_node(core, total);
        racks[i] = i / RACK_NODES;
    }
    (void)core_add_tree(core, 1, racks);
    (void)core_add_class(core, &def);
}

static void place_teardown(void)
{
    core_free(core);
}

static size_t place_op(void)
{
    static const struct core_leaf leaf = {{0, 0, CORE_NONE}, 0, GANG, CORE_NONE};
    const struct core_ask ask = {
        .gang = {LEVEL_RACK, 0, CORE_NONE}, .leaves = &leaf, .n_leaves = 1};
    struct core_result result;
    bench_must(core_place(core, &ask, &result), "the gang does not fit");
    size_t n = result.ops.len;
    core_undo(core, &result);
    core_result_done(&result);
    return n;
}

/* ---- all of it ---- */

/* From `kubectl apply` to five pods that are ready. */
static size_t sample_op(void)
{
    apply_sample();
    (void)loop_run_until(loop, loop_now(loop) + SETTLE, 10000000);
    bench_must(runtime_is_idle(plane_runtime(plane)), "the controllers do not come to rest");
    plane_teardown();
    return 1;
}

static const struct bench_case cases[] = {
    {"api-create-pod", BATCH, 3, server_setup, create_prepare, send_op, server_teardown},
    {"api-patch-pod-status", BATCH, 3, filled_setup, patch_prepare, send_op, server_teardown},
    {"api-get-pod", BATCH, 3, filled_setup, get_prepare, send_op, server_teardown},
    {"api-list-50-pods", 1, 3, filled_setup, list_prepare, list_op, server_teardown},
    {"plan-podcliqueset", 1, 20, settled_setup, NULL, plan_set_op, plane_teardown},
    {"plan-podclique", 2, 20, settled_setup, NULL, plan_clique_op, plane_teardown},
    {"snapshot-20-nodes", 1, 10, settled_setup, NULL, snapshot_op, plane_teardown},
    {"place-gang-of-16", 1, 10, place_setup, NULL, place_op, place_teardown},
    {"sample-to-ready", 1, 2, NULL, plane_setup, sample_op, NULL},
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, cases, ARRAY_LEN(cases));
}
