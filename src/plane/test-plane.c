/* Several control planes of different composition in one process: what one of them is made of, and
 * its configuration, changes nothing about another. */
#include "plane/plane.h"

#include "base/log.h"
#include "base/test.h"
#include "grove/types.h"
#include "operator/common/config.h"
#include "json/yaml.h"

#define START ((usec)1767225600 * USEC_PER_SEC)
#define STEPS 1000000

struct booted {
    struct loop *loop;
    struct plane *plane;
    bool ready;
};

static void on_ready(void *ctx, const struct err *err)
{
    CHECK(err == NULL);
    ((struct booted *)ctx)->ready = true;
}

static void run_for(struct loop *l, usec by)
{
    (void)loop_run_until(l, loop_now(l) + by, STEPS);
}

static void boot(struct booted *b, struct loop *l, struct plane_options o)
{
    *b = (struct booted){.loop = l};
    o.nodes = nodes_defaults;
    o.nodes.count = 2;
    b->plane = plane_new(l, &o, on_ready, b, NULL);
    REQUIRE(b->plane);
    for (int i = 0; !b->ready && i < 10000; i++)
        run_for(l, USEC_PER_MSEC);
    REQUIRE(b->ready);
}

struct answer {
    bool done;
    int code;
};

static void on_done(struct api_request *q, const struct api_reply *reply)
{
    struct answer *a = q->ctx;
    if (reply->status)
        test_note("%.*s", STR_ARG(reply->status->message));
    *a = (struct answer){true, reply->code};
}

static int send(struct booted *b, struct api_request *q)
{
    struct answer a = {0};
    q->ns = STR("default");
    q->grace_seconds = -1;
    q->done = on_done;
    q->ctx = &a;
    api_send(plane_admin(b->plane), q);
    for (int i = 0; !a.done && i < 10000; i++)
        run_for(b->loop, USEC_PER_MSEC);
    REQUIRE(a.done);
    return a.code;
}

static void create(struct booted *b, const struct kind *k, const char *yaml)
{
    struct doc *d = yaml_parse_one(str_of(yaml), NULL);
    REQUIRE(d);
    struct api_request q = {.verb = API_CREATE, .kind = k, .body = d};
    CHECK_INT(send(b, &q), 201);
    doc_unref(d);
}

static void delete (struct booted *b, const struct kind *k, const char *name)
{
    struct api_request q = {.verb = API_DELETE, .kind = k, .name = str_of(name)};
    CHECK_INT(send(b, &q), 200);
}

/* How many of the kind a plane has, and how many of them are ready. */
struct found {
    size_t all, ready;
};

static struct found count(struct booted *b, const struct kind *k)
{
    struct found n = {0};
    struct store *s = apiserver_store(plane_server(b->plane));
    struct store_iter it = store_range(s, k, STR("default"), STR_NONE, STR_NONE);
    for (const struct obj *o; (o = store_next(&it));) {
        n.all++;
        n.ready += condition_is_true(jgetc(obj_status(o), "conditions"), STR("Ready"));
    }
    return n;
}

static str scheduler_of_pods(struct booted *b)
{
    struct store *s = apiserver_store(plane_server(b->plane));
    struct store_iter it = store_range(s, &kind_pod, STR("default"), STR_NONE, STR_NONE);
    const struct obj *pod = store_next(&it);
    return pod ? jstr(jgetc(obj_spec(pod), "schedulerName")) : STR_NONE;
}

#define SET                                                                            \
    "apiVersion: grove.io/v1alpha1\n"                                                  \
    "kind: PodCliqueSet\n"                                                             \
    "metadata: {name: s}\n"                                                            \
    "spec: {replicas: 1, template: {cliques: [{name: a, spec: {replicas: 3, podSpec: " \
    "{containers: "                                                                    \
    "[{name: m, image: i}]}}}],\n"                                                     \
    "  podCliqueScalingGroups: []}}\n"
#define POD                 \
    "apiVersion: v1\n"      \
    "kind: Pod\n"           \
    "metadata: {name: p}\n" \
    "spec: {nodeName: fake-node-001, containers: [{name: m, image: i}]}\n"

/* The caches of each are made by other controllers in another order, and each is started while the
 * one before runs. */
TEST(planes_of_different_composition_work_side_by_side)
{
    log_set_level(LOG_LEVEL_OFF);
    struct loop *l = loop_new_virtual(1, START);
    struct booted whole, bare, split;
    boot(&whole, l, (struct plane_options){0});
    boot(&bare, l, (struct plane_options){.without = STR("operator,scheduler")});
    boot(&split, l, (struct plane_options){.split = true});
    struct booted *const all[] = {&whole, &bare, &split};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        create(all[i], &kind_pcs, SET);
        create(all[i], &kind_pod, POD);
    }
    run_for(l, USEC_PER_MIN);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        size_t pods = all[i] == &bare ? 1 : 4, gangs = all[i] == &bare ? 0 : 1;
        CHECK_INT(count(all[i], &kind_pod).all, pods);
        CHECK_INT(count(all[i], &kind_pod).ready, pods);
        CHECK_INT(count(all[i], &kind_pod_gang).all, gangs);
        CHECK_INT(count(all[i], &kind_pod_gang).ready, gangs);
    }
    /* One goes; the others carry on. */
    plane_free(bare.plane);
    delete (&whole, &kind_pcs, "s");
    delete (&split, &kind_pod, "p");
    run_for(l, 2 * USEC_PER_MIN);
    CHECK_INT(count(&whole, &kind_pod).all, 1);
    CHECK_INT(count(&whole, &kind_pod_gang).all, 0);
    CHECK_INT(count(&split, &kind_pod).ready, 3);
    CHECK_INT(count(&split, &kind_pod).all, 3);
    plane_free(whole.plane);
    plane_free(split.plane);
    loop_free(l);
}

TEST(the_configuration_of_a_plane_is_its_own)
{
    log_set_level(LOG_LEVEL_OFF);
    struct loop *l = loop_new_virtual(1, START);
    struct operator_config c;
    struct err err = ERR_INIT;
    REQUIRE(config_parse(STR("apiVersion: operator.config.grove.io/v1alpha1\n"
                             "kind: OperatorConfiguration\n"
                             "scheduler: {profiles: [{name: volcano}], "
                             "defaultProfileName: volcano}\n"),
                         &c, &err) == 0);
    struct booted told, plain;
    boot(&told, l, (struct plane_options){.config = &c});
    boot(&plain, l, (struct plane_options){0});
    create(&told, &kind_pcs, SET);
    create(&plain, &kind_pcs, SET);
    run_for(l, USEC_PER_MIN);
    CHECK_CSTR(scheduler_of_pods(&told), "volcano");
    CHECK_CSTR(scheduler_of_pods(&plain), "default-scheduler");
    CHECK_INT(count(&plain, &kind_pod).ready, 3);
    plane_free(told.plane);
    plane_free(plain.plane);
    config_done(&c);
    loop_free(l);
}
