/* Numbers of replicas that outlive their cliques: when they are forgotten. */
#include "base/test.h"
#include "operator/common/kept.h"
#include "operator/test-ring.h"

/* Two copies of a group of one clique. */
#define PAIR                                                                     \
    "apiVersion: grove.io/v1alpha1\n"                                            \
    "kind: PodCliqueSet\n"                                                       \
    "metadata: {name: e, uid: e-uid}\n"                                          \
    "spec:\n"                                                                    \
    "  replicas: 1\n"                                                            \
    "  template:\n"                                                              \
    "    cliques:\n"                                                             \
    "    - {name: a, spec: {replicas: 2, podSpec: {containers: [{name: m}]}}}\n" \
    "    - {name: c, spec: {replicas: 3, podSpec: {containers: [{name: m}]}}}\n" \
    "    podCliqueScalingGroups:\n"                                              \
    "    - {name: g, cliqueNames: [c], replicas: 2, minAvailable: 1}\n"

static str kept(struct ring *r)
{
    return obj_annotation(tw_must(r->world, &kind_pcs, "e"), STR(ANNOTATION_KEPT));
}

static void keep(struct ring *r, const char *clique, const char *uid)
{
    char patch[512];
    (void)snprintf(patch, sizeof(patch),
                   "{metadata: {annotations: {%s: '{\"%s\":{\"replica\":0,\"replicas\":5,"
                   "\"uid\":\"%s\"}}'}}}",
                   ANNOTATION_KEPT, clique, uid);
    tw_patch(r->world, &kind_pcs, "e", patch);
}

/* Its clique is not coming back: nobody would take the entry off. */
TEST(a_number_kept_for_a_copy_that_is_not_wanted_any_more_is_forgotten)
{
    struct ring r = ring_new();
    tw_load(r.world, PAIR);
    ring_live(&r);
    tw_patch(r.world, &kind_pcsg, "e-0-g", "{spec: {replicas: 1}}");
    ring_live(&r);
    keep(&r, "e-0-g-1-c", "gone");
    (void)ring_settle(&r);
    CHECK_CSTR(kept(&r), "");
    /* A copy that comes later is a new one. */
    tw_patch(r.world, &kind_pcsg, "e-0-g", "{spec: {replicas: 2}}");
    ring_live(&r);
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "e-0-g-1-c"), "spec.replicas"), "3");
    ring_free(&r);
}

TEST(a_number_is_kept_as_long_as_its_clique_is_the_one_that_goes)
{
    struct ring r = ring_new();
    tw_load(r.world, PAIR);
    ring_live(&r);
    static const char *const cliques[] = {"e-0-g-1-c", "e-0-a"};
    for (size_t i = 0; i < ARRAY_LEN(cliques); i++) {
        char uid[128];
        (void)snprintf(uid, sizeof(uid), "%.*s",
                       STR_ARG(tw_must(r.world, &kind_pclq, cliques[i])->uid));
        keep(&r, cliques[i], uid);
        (void)ring_settle(&r);
        CHECK(str_find(kept(&r), str_of(cliques[i])) >= 0);
        keep(&r, cliques[i], "before");
        (void)ring_settle(&r);
        CHECK_CSTR(kept(&r), "");
    }
    ring_free(&r);
}
