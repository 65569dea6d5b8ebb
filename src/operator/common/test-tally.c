/* The tally follows the pods: whatever happens to them, it equals a count from scratch. */
#include "base/test.h"
#include "grove/pod.h"
#include "operator/common/tally.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

static struct tally count_anew(struct ring *r, str uid)
{
    struct tally t = {0};
    struct cache_iter it = world_owned(&r->world->world, &kind_pod, uid);
    for (struct obj *o; (o = cache_next(&it));)
        tally_add(&t, o);
    return t;
}

static void check_same(const struct tally *got, const struct tally *want)
{
    CHECK_INT(got->terminating, want->terminating);
    CHECK_INT(got->finished, want->finished);
    CHECK_INT(got->active, want->active);
    CHECK_INT(got->gated, want->gated);
    CHECK_INT(got->held, want->held);
    CHECK_INT(got->scheduled, want->scheduled);
    CHECK_INT(got->ready, want->ready);
    CHECK_INT(got->failing, want->failing);
    CHECK_INT(got->unnumbered, want->unnumbered);
    CHECK_INT(got->indices.len, want->indices.len);
    CHECK_INT(got->hashes.len, want->hashes.len);
    for (size_t i = 0; i < want->hashes.len; i++)
        CHECK_INT(tally_with_hash(got, str_n(want->hashes.p[i].hash, want->hashes.p[i].len)),
                  want->hashes.p[i].pods);
}

static const char *const blows[] = {
    "{spec: {schedulingGates: null}}",
    "{spec: {schedulingGates: [{name: a/b}]}}",
    "{spec: {nodeName: n1}}",
    "{status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}",
    "{status: {phase: Running, conditions: [{type: Ready, status: 'False'}], containerStatuses: "
    "[{name: m, started: true, ready: false}]}}",
    "{status: {phase: Failed}}",
    "{metadata: {labels: {grove.io/pod-template-hash: other}}}",
    "{metadata: {labels: {grove.io/podclique-pod-index: '0'}}}",
    "{metadata: {labels: {grove.io/podclique-pod-index: x}}}",
};

TEST(the_tally_equals_a_count_from_scratch)
{
    struct ring r = ring_new();
    struct rng rng;
    rng_seed(&rng, 7);
    tw_load(r.world, SVC);
    (void)ring_settle(&r);
    struct arena a = ARENA_INIT;
    for (int i = 0; i < 300; i++) {
        const struct obj *clique = tw_must(r.world, &kind_pclq, "svc-0-fe");
        VEC(struct obj *) pods = {0};
        struct cache_iter it = world_owned(&r.world->world, &kind_pod, clique->uid);
        for (struct obj *o; (o = cache_next(&it));)
            *vec_push(&pods) = o;
        if (pods.len == 0) {
            vec_done(&pods);
            (void)ring_settle(&r);
            continue;
        }
        const char *name = arena_str(&a, pods.p[rng_below(&rng, pods.len)]->name).p;
        uint64_t what = rng_below(&rng, ARRAY_LEN(blows) + 2);
        if (what < ARRAY_LEN(blows))
            tw_patch(r.world, &kind_pod, name, blows[what]);
        else if (what == ARRAY_LEN(blows))
            tw_delete(r.world, &kind_pod, name);
        else
            (void)ring_settle(&r);
        vec_done(&pods);
        struct tally want = count_anew(&r, clique->uid);
        check_same(tally_of(&r.world->world, clique->uid), &want);
        tally_done(&want);
    }
    arena_done(&a);
    ring_free(&r);
}

TEST(a_clique_without_pods_has_a_tally_of_zeros)
{
    struct ring r = ring_new();
    const struct tally *t = tally_of(&r.world->world, STR("nobody"));
    CHECK_INT(t->active + t->finished + t->terminating, 0);
    CHECK(!tally_has_doubles(t));
    ring_free(&r);
}

/* Only what changes a number wakes a clique. */
TEST(news_that_change_no_number_are_no_news)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    struct obj *pod = cache_next(&(struct cache_iter[]){
        cache_all(world_cache(&r.world->world, &kind_pod), STR("default"))}[0]);
    struct obj *old = obj_ref(pod);
    struct arena a = ARENA_INIT;
    const char *name = arena_str(&a, pod->name).p;
    tw_patch(r.world, &kind_pod, name, "{status: {podIP: 10.0.0.1}}");
    CHECK(!tally_cares(old, tw_must(r.world, &kind_pod, name)));
    tw_patch(r.world, &kind_pod, name, "{status: {conditions: []}}");
    CHECK(tally_cares(old, tw_must(r.world, &kind_pod, name)));
    CHECK(tally_cares(old, NULL));
    CHECK(tally_cares(NULL, old));
    obj_unref(old);
    arena_done(&a);
    ring_free(&r);
}
