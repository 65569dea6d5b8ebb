/*
 * The runtime with 100,000 cached pods of 1,000 owners: what it costs until a changed pod has been
 * planned for, embedded (the document is shared) and remote (from the bytes of the event); a list
 * that changes nothing; and the memory of a cached pod. See case.h.
 *
 *   bench-runtime --memory      bytes per cached pod of 3 KB, embedded and remote
 *   bench-runtime --cpu         processor time per change, whatever else the machine does
 *
 * The API is a stub that keeps the watch and hands it what the case wants, so that only the runtime
 * is measured.
 */
#include <malloc.h>
#include <time.h>

#include "bench/case.h"
#include "client/controller.h"
#include "client/wire.h"
#include "json/edit.h"

#define START ((usec)1767225600 * USEC_PER_SEC) /* 2026-01-01T00:00:00Z */
enum { PODS = 100000, OWNERS = 1000, BATCH = 1000 };

/* ---- a stub of an API ---- */

static struct api_watch *pod_watch; /* the one open */

static void stub_send(struct api *api, struct api_request *r)
{
    bench_must(false, "a request");
}

static void stub_watch(struct api *api, struct api_watch *w)
{
    if (w->kind == &kind_pod)
        pod_watch = w;
    else
        w->on_event(w, API_BOOKMARK, NULL, 1, true);
}

static void stub_watch_stop(struct api *api, struct api_watch *w)
{
}

static const struct api_ops stub_ops = {stub_send, stub_watch, stub_watch_stop, NULL};
static struct api stub = {&stub_ops};

/* ---- pods ---- */

static struct doc *model; /* bench/data/pod.json */
static struct doc *event_lines[BATCH];
static struct obj *changed[BATCH];
static uint64_t rv = 1000;

/* What an API server keeps beside it, here for three writers. */
#define MANAGER(name)                                                                             \
    "{\"manager\":\"" name "\",\"operation\":\"Update\",\"apiVersion\":\"v1\",\"time\":"          \
    "\"2026-08-01T09:12:44Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{"         \
    "\"f:labels\":{\".\":{},\"f:grove.io/podclique\":{},\"f:grove.io/podgang\":{}}},\"f:spec\":{" \
    "\"f:containers\":{\"k:{\\\"name\\\":\\\"main\\\"}\":{\".\":{},\"f:image\":{},\"f:name\":{}," \
    "\"f:resources\":{}}}}}}"
#define MANAGED "[" MANAGER("operator") "," MANAGER("scheduler") "," MANAGER("kubelet") "]"

static const char *const *omitted; /* members of the model that pods do not have */
static size_t n_omitted;

static struct doc *make_pod(size_t i, uint64_t version)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    edit_set_str(&e, STR("/metadata/name"), arena_printf(&a, "llama-70b-0-decode-%06zu", i));
    edit_set_str(&e, STR("/metadata/uid"), arena_printf(&a, "0b3f9c1e-6c51-4d0e-9f0a-%012zu", i));
    edit_set_str(&e, STR("/metadata/resourceVersion"),
                 arena_printf(&a, "%llu", (unsigned long long)version));
    str owner = arena_printf(&a,
                             "[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\",\"name\":"
                             "\"owner-%04zu\",\"uid\":\"owner-%04zu\",\"controller\":true}]",
                             i % OWNERS, i % OWNERS);
    edit_set_raw(&e, STR("/metadata/ownerReferences"), owner);
    edit_set_raw(&e, STR("/metadata/managedFields"), STR(MANAGED));
    for (size_t k = 0; k < n_omitted; k++)
        edit_del(&e, str_of(omitted[k]));
    struct doc *d = edit_apply(&e, model, NULL);
    bench_must(d != NULL, "no pod");
    edit_done(&e);
    arena_done(&a);
    return d;
}

static struct obj *pod_obj(struct doc *d)
{
    struct obj *o = obj_new(&kind_pod, d, NULL);
    bench_must(o != NULL, "no object");
    return o;
}

/* As a client of an API server gets it. */
static struct obj *pod_from_bytes(str text)
{
    struct wire_form form = {.kind = &kind_pod, .trim = true};
    struct doc *d = doc_parse(text, NULL, NULL);
    struct obj *o = wire_object(&form, jgetc(doc_root(d), "object"), NULL);
    bench_must(o != NULL, "no object");
    doc_unref(d);
    return o;
}

/* ---- the runtime ---- */

static struct loop *loop;
static struct runtime *runtime;
static struct controller *controller;

/* Only that it is asked; what planners do is measured elsewhere. */
static void plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    bench_must(key->kind == &kind_replica_set, "the owner's key");
}

static const struct controller_watch watches[] = {
    {&kind_replica_set, map_self},
    {&kind_pod, map_controller_owner},
};
static const struct controller_def def = {
    .name = "bench", .plan = plan, .watches = watches, .n_watches = ARRAY_LEN(watches)};

static void turn(void)
{
    bench_must(loop_run_until(loop, loop_now(loop) + 1, 100000000), "livelock");
}

static void send_all_pods(bool from_bytes)
{
    for (size_t i = 0; i < PODS; i++) {
        struct doc *d = make_pod(i, i + 1);
        struct obj *o;
        if (from_bytes) {
            struct strbuf b = STRBUF_INIT(1 << 20);
            strbuf_printf(&b, "{\"type\":\"ADDED\",\"object\":%.*s}", STR_ARG(doc_text(d)));
            o = pod_from_bytes(strbuf_str(&b));
            strbuf_done(&b);
            doc_unref(d);
        } else {
            o = pod_obj(d);
        }
        pod_watch->on_event(pod_watch, API_ADDED, o, i + 1, false);
        obj_unref(o);
    }
    pod_watch->on_event(pod_watch, API_BOOKMARK, NULL, PODS, true);
}

static void setup_with(bool from_bytes)
{
    kinds_init();
    rv = PODS;
    model = bench_doc("pod.json");
    loop = loop_new_virtual(1, START);
    runtime = runtime_new(loop, &stub);
    controller = runtime_add(runtime, &def, &stub);
    runtime_start(runtime);
    turn();
    send_all_pods(from_bytes);
    turn();
    bench_must(runtime_is_idle(runtime), "idle");
    bench_must(controller_stats(controller).plans == OWNERS, "one plan per owner");
}

static void setup(void)
{
    setup_with(false);
}

static void setup_remote(void)
{
    setup_with(true);
}

static void drop_batch(void)
{
    for (size_t i = 0; i < BATCH; i++) {
        obj_unref(changed[i]);
        doc_unref(event_lines[i]);
        changed[i] = NULL;
        event_lines[i] = NULL;
    }
}

static void teardown(void)
{
    drop_batch();
    runtime_free(runtime);
    loop_free(loop);
    doc_unref(model);
}

/* ---- a changed pod ---- */

/* Of different owners, all over the cache. */
static size_t pod_at(size_t i)
{
    return (i * 7919 + rv) % PODS;
}

static void prepare_change(void)
{
    drop_batch();
    for (size_t i = 0; i < BATCH; i++) {
        changed[i] = pod_obj(make_pod(pod_at(i), ++rv));
        struct strbuf b = STRBUF_INIT(1 << 20);
        strbuf_printf(&b, "{\"type\":\"MODIFIED\",\"object\":%.*s}",
                      STR_ARG(doc_text(changed[i]->doc)));
        event_lines[i] = doc_parse(strbuf_str(&b), NULL, NULL);
        strbuf_done(&b);
    }
}

static size_t change(bool from_bytes)
{
    uint64_t before = controller_stats(controller).plans;
    for (size_t i = 0; i < BATCH; i++) {
        struct obj *o = from_bytes ? pod_from_bytes(doc_text(event_lines[i])) : obj_ref(changed[i]);
        pod_watch->on_event(pod_watch, API_MODIFIED, o, o->rv, false);
        obj_unref(o);
        turn(); /* each by itself: nothing is gained by planning for several at once */
    }
    uint64_t plans = controller_stats(controller).plans - before;
    bench_must(plans == BATCH, "one plan per change");
    return plans;
}

static size_t change_op(void)
{
    return change(false);
}

static size_t change_remote_op(void)
{
    return change(true);
}

/* ---- a list that changes nothing ---- */

static struct obj **all;

static void relist_setup(void)
{
    setup();
    all = xcalloc(PODS, sizeof(*all));
    struct cache_iter it = cache_all(runtime_cache(runtime, &kind_pod), STR_NONE);
    for (size_t i = 0; i < PODS; i++)
        all[i] = obj_ref(cache_next(&it));
}

static size_t relist_op(void)
{
    uint64_t before = controller_stats(controller).plans;
    cache_resync(runtime_cache(runtime, &kind_pod));
    turn();
    for (size_t i = 0; i < PODS; i++)
        pod_watch->on_event(pod_watch, API_ADDED, all[i], all[i]->rv, false);
    pod_watch->on_event(pod_watch, API_BOOKMARK, NULL, PODS, true);
    turn();
    bench_must(controller_stats(controller).plans == before, "no plan");
    return PODS;
}

static void relist_teardown(void)
{
    for (size_t i = 0; i < PODS; i++)
        obj_unref(all[i]);
    free(all);
    teardown();
}

/* ---- memory ---- */

static size_t heap(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* What an ordinary pod of 3 KB does not have. */
static const char *const beyond_3k[] = {"/spec/volumes", "/spec/initContainers",
                                        "/status/initContainerStatuses", "/spec/tolerations",
                                        "/metadata/annotations"};

static void print_memory(void)
{
    omitted = beyond_3k;
    n_omitted = ARRAY_LEN(beyond_3k);
    for (int remote = 0; remote < 2; remote++) {
        size_t before = heap(), docs = 0, text = 0;
        setup_with(remote);
        size_t after = heap();
        struct obj *o;
        struct cache_iter it = cache_all(runtime_cache(runtime, &kind_pod), STR_NONE);
        for (size_t i = 0; i < PODS; i++) {
            o = cache_next(&it);
            docs += doc_memory(o->doc);
            text += doc_text(o->doc).len;
        }
        printf("%-9s %6zu bytes per pod: document %zu (text %zu), beside it %zu\n",
               remote ? "remote" : "embedded", (after - before) / PODS, docs / PODS, text / PODS,
               (after - before - docs) / PODS);
        teardown();
    }
}

/* ---- processor time ---- */

static double cpu_usec(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void print_cpu(void)
{
    for (int remote = 0; remote < 2; remote++) {
        double spent = 0;
        setup_with(remote);
        for (int i = 0; i < 10; i++) {
            prepare_change();
            double before = cpu_usec();
            (void)change(remote);
            spent += cpu_usec() - before;
        }
        printf("%-9s %.1f us of processor time from a changed pod to its planner, %d cached\n",
               remote ? "remote" : "embedded", spent / (10.0 * BATCH), PODS);
        teardown();
    }
}

static const struct bench_case cases[] = {
    {"runtime-change", BATCH, 10, setup, prepare_change, change_op, teardown},
    {"runtime-change-remote", BATCH, 10, setup_remote, prepare_change, change_remote_op, teardown},
    {"runtime-relist", PODS, 3, relist_setup, NULL, relist_op, relist_teardown},
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--memory") == 0) {
        print_memory();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--cpu") == 0) {
        print_cpu();
        return 0;
    }
    return bench_main(argc, argv, cases, ARRAY_LEN(cases));
}
