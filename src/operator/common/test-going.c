/* No two running pods of one index: who waits for whom, for how long, and what an update makes of
 * it. */
#include "grove/going.h"

#include "base/test.h"
#include "grove/names.h"
#include "grove/pod.h"
#include "operator/common/clique.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

#define NODE                                                          \
    "apiVersion: v1\nkind: Node\nmetadata: {name: n1, uid: n1-uid}\n" \
    "status: {conditions: [{type: Ready, status: 'True'}]}\n"

static struct arena names;

static struct ring served(void)
{
    struct ring r = ring_new();
    tw_load(r.world, NODE);
    tw_load(r.world, SVC);
    ring_live(&r);
    return r;
}

static void finish(struct ring *r)
{
    ring_free(r);
    arena_done(&names);
}

static const char *name_of(struct ring *r, int64_t index, unsigned n)
{
    const struct obj *o = tw_must(r->world, &kind_pclq, "svc-0-fe");
    return name_pod(&names, o->name, o->uid, index, n).p;
}

/* As somebody asks for it who gives it time; the pod is on a node. */
static void let_go(struct ring *r, const char *pod, const char *until)
{
    char patch[256];
    (void)snprintf(patch, sizeof(patch),
                   "{metadata: {deletionTimestamp: '%s', deletionGracePeriodSeconds: 600}}", until);
    tw_patch(r->world, &kind_pod, pod, patch);
}

static bool is_held(struct ring *r, const char *pod)
{
    return pod_is_gated(tw_must(r->world, &kind_pod, pod));
}

static str condition(struct ring *r, const char *type, const char *field)
{
    jval list = jgetc(obj_status(tw_must(r->world, &kind_pclq, "svc-0-fe")), "conditions");
    return jstr(jget(condition_find(list, str_of(type)), str_of(field)));
}

/* Pod 1 of svc-0-fe is going, and the one that replaces it is made. */
static struct ring with_successor(void)
{
    struct ring r = served();
    let_go(&r, name_of(&r, 1, 0), "2026-01-01T00:10:00Z");
    ring_settle(&r);
    return r;
}

TEST(a_replacement_is_made_at_once_and_waits_until_the_old_pod_has_stopped)
{
    struct ring r = with_successor();
    CHECK(is_held(&r, name_of(&r, 1, 1)));
    CHECK_CSTR(condition(&r, "PodCliqueScheduled", "status"), "True");
    CHECK(str_find(condition(&r, "PodCliqueScheduled", "message"),
                   STR("has stopped (terminating, its grace period ends at "
                       "2026-01-01T00:10:00Z)")) >= 0);
    tw_remove(r.world, &kind_pod, name_of(&r, 1, 0));
    ring_settle(&r);
    CHECK(!is_held(&r, name_of(&r, 1, 1)));
    finish(&r);
}

TEST(nobody_waits_for_a_pod_that_has_finished)
{
    struct ring r = with_successor();
    tw_patch(r.world, &kind_pod, name_of(&r, 1, 0), "{status: {phase: Succeeded}}");
    ring_settle(&r);
    CHECK(!is_held(&r, name_of(&r, 1, 1)));
    finish(&r);
}

/* Its node has done its part, or a user said so; a finalizer of somebody else holds it for ever. */
TEST(nobody_waits_for_a_pod_whose_grace_is_over)
{
    struct ring r = with_successor();
    tw_patch(r.world, &kind_pod, name_of(&r, 1, 0),
             "{metadata: {deletionGracePeriodSeconds: 0, finalizers: [example.com/hold]}}");
    ring_settle(&r);
    CHECK(!is_held(&r, name_of(&r, 1, 1)));
    finish(&r);
}

TEST(nobody_waits_for_a_pod_that_was_never_on_a_node)
{
    struct ring r = ring_new();
    tw_load(r.world, NODE);
    tw_load(r.world, SVC);
    ring_settle(&r);
    tw_patch(r.world, &kind_pod, name_of(&r, 1, 0),
             "{metadata: {finalizers: [example.com/hold], deletionGracePeriodSeconds: 30, "
             "deletionTimestamp: '2026-01-01T00:00:30Z'}}");
    ring_settle(&r);
    CHECK(!is_held(&r, name_of(&r, 1, 1)));
    finish(&r);
}

#define UNREACHABLE                                                                 \
    "{spec: {taints: [{key: node.kubernetes.io/unreachable, effect: NoExecute}]}, " \
    "status: {conditions: [{type: Ready, status: Unknown}]}}"

TEST(nobody_waits_for_a_node_that_cannot_be_reached)
{
    struct ring r = with_successor();
    tw_patch(r.world, &kind_node, "n1", "{status: {conditions: [{type: Ready, status: Unknown}]}}");
    ring_settle(&r);
    CHECK(is_held(&r, name_of(&r, 1, 1))); /* it may be a moment's hiccup */
    tw_patch(r.world, &kind_node, "n1", UNREACHABLE);
    ring_settle(&r);
    CHECK(!is_held(&r, name_of(&r, 1, 1)));
    finish(&r);
}

/* Caches lag: that a node is not known is made sure of. */
TEST(a_node_that_seems_to_be_gone_is_asked_for)
{
    struct ring r = with_successor();
    tw_remove(r.world, &kind_node, "n1");
    ring_plan_pclq(&r, "svc-0-fe");
    const struct plan_write *w = tw_write(r.world, &kind_pod, name_of(&r, 1, 1), "");
    REQUIRE(w);
    CHECK(w->absent_kind == &kind_node);
    CHECK_CSTR(w->absent_name, "n1");
    finish(&r);
}

TEST(a_clique_may_say_that_its_pods_wait_for_nobody)
{
    struct ring r = with_successor();
    tw_patch(r.world, &kind_pclq, "svc-0-fe",
             "{spec: {podReplacementPolicy: TerminatingOrFailed}}");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK(tw_write(r.world, &kind_pod, name_of(&r, 1, 1), ""));
    /* Its set does not say so, and is obeyed. */
    ring_settle(&r);
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "svc-0-fe"), "spec.podReplacementPolicy"),
               "\"Failed\"");
    finish(&r);
}

/* A clique that is made anew has the indices, and the host names, of the one before it. */
TEST(pods_wait_for_those_of_a_clique_that_had_the_name_before)
{
    struct ring r = served();
    const struct obj *old = tw_must(r.world, &kind_pclq, "svc-0-pf-0-pl");
    const char *pod = name_pod(&names, old->name, old->uid, 0, 0).p;
    let_go(&r, pod, "2026-01-01T00:10:00Z");
    tw_remove(r.world, &kind_pclq, "svc-0-pf-0-pl");
    ring_settle(&r);
    const struct obj *new = tw_must(r.world, &kind_pclq, "svc-0-pf-0-pl");
    const char *next = name_pod(&names, new->name, new->uid, 0, 0).p;
    CHECK(is_held(&r, next));
    tw_remove(r.world, &kind_pod, pod);
    ring_settle(&r);
    CHECK(!is_held(&r, next));
    finish(&r);
}

/* Making the gang anew would wait for the same pods. */
TEST(what_only_waits_is_no_breach)
{
    struct ring r = served();
    for (int64_t i = 0; i < 2; i++)
        let_go(&r, name_of(&r, i, 0), "2026-01-01T00:10:00Z");
    ring_settle(&r);
    CHECK_CSTR(condition(&r, "MinAvailableBreached", "status"), "Unknown");
    CHECK_CSTR(condition(&r, "MinAvailableBreached", "reason"), "PodsTerminating");
    for (int64_t i = 0; i < 2; i++)
        tw_remove(r.world, &kind_pod, name_of(&r, i, 0));
    ring_settle(&r);
    CHECK_CSTR(condition(&r, "MinAvailableBreached", "status"), "True");
    ring_live(&r);
    CHECK_CSTR(condition(&r, "MinAvailableBreached", "status"), "False");
    finish(&r);
}

/* It has waited for ten minutes, and not for room. */
TEST(a_pod_that_was_let_go_late_says_when)
{
    struct ring r = with_successor();
    r.world->world.now += 10 * USEC_PER_MIN;
    tw_remove(r.world, &kind_pod, name_of(&r, 1, 0));
    ring_settle(&r);
    const struct obj *pod = tw_must(r.world, &kind_pod, name_of(&r, 1, 1));
    CHECK_CSTR(obj_annotation(pod, STR(ANNOTATION_RELEASED)), "2026-01-01T00:10:00Z");
    CHECK(pod_is_on_its_way(&r.world->world, pod));
    r.world->world.now += USEC_PER_MIN;
    CHECK(!pod_is_on_its_way(&r.world->world, pod));
    finish(&r);
}

/* ---- updates ---- */

static size_t count_going(struct ring *r)
{
    size_t n = 0;
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&r->world->world, &kind_pod), STR_NONE);
         (o = cache_next(&it));)
        n += o->deleting;
    return n;
}

static void change_front(struct ring *r, const char *policy)
{
    char patch[1024];
    (void)snprintf(patch, sizeof(patch),
                   "{spec: {template: {cliques: [{name: fe, labels: {tier: front, "
                   "app.kubernetes.io/part-of: mine}, annotations: {note: hello, "
                   "grove.io/topology-name: x}, spec: {replicas: 3, minAvailable: 2, roleName: fe, "
                   "%spodSpec: {containers: [{name: m, image: j}]}}}, "
                   "{name: pl, spec: {podSpec: {containers: [{name: m, image: i}]}}}, "
                   "{name: pw, spec: {replicas: 4, podSpec: {containers: [{name: m, image: i}]}}}"
                   "]}}}",
                   policy);
    tw_patch(r->world, &kind_pcs, "svc", patch);
}

/* Those that can run; those that are deleted stay for their grace. */
static void live_but_never_stop(struct ring *r)
{
    for (int i = 0; i < 20; i++) {
        struct obj *o;
        (void)ring_settle(r);
        for (struct cache_iter it = cache_all(world_cache(&r->world->world, &kind_pod), STR_NONE);
             (o = cache_next(&it));) {
            if (o->deleting || pod_is_scheduled(o) || pod_is_gated(o))
                continue;
            tw_patch(r->world, &kind_pod, arena_str(&names, o->name).p,
                     "{spec: {nodeName: n1}, status: {phase: Running, conditions: [{type: Ready, "
                     "status: 'True'}, {type: PodScheduled, status: 'True'}]}}");
            break;
        }
    }
}

static void check_one_at_a_time(const char *policy)
{
    struct ring r = served();
    change_front(&r, policy);
    live_but_never_stop(&r);
    CHECK_INT(count_going(&r), 1);
    jval progress = jgetc(obj_status(tw_must(r.world, &kind_pcs, "svc")), "updateProgress");
    CHECK(j_has(progress) && !j_has(jgetc(progress, "updateEndedAt")));
    ring_live(&r);
    progress = jgetc(obj_status(tw_must(r.world, &kind_pcs, "svc")), "updateProgress");
    CHECK(j_has(jgetc(progress, "updateEndedAt")));
    finish(&r);
}

TEST(an_update_takes_no_second_pod_while_the_first_still_runs)
{
    check_one_at_a_time("");
}

/* Also where its successor need not wait and serves already. */
TEST(an_update_takes_no_second_pod_while_the_first_still_runs_beside_its_successor)
{
    check_one_at_a_time("podReplacementPolicy: TerminatingOrFailed, ");
}

/* All pods are of the new template and ready; one of the old still runs. */
TEST(an_update_does_not_end_before_the_last_old_pod_has_stopped)
{
    struct ring r = served();
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {replicas: 1}}");
    ring_live(&r);
    change_front(&r, "podReplacementPolicy: TerminatingOrFailed, ");
    for (int i = 0; i < 40; i++) {
        struct obj *last = NULL, *o;
        live_but_never_stop(&r);
        for (struct cache_iter it = cache_all(world_cache(&r.world->world, &kind_pod), STR_NONE);
             (o = cache_next(&it));)
            last = o->deleting ? o : last;
        const struct obj *pclq = tw_must(r.world, &kind_pclq, "svc-0-fe");
        if (!last)
            break;
        jval progress = jgetc(obj_status(tw_must(r.world, &kind_pcs, "svc")), "updateProgress");
        CHECK(!j_has(jgetc(progress, "updateEndedAt")));
        CHECK(!clique_is_updated(pclq));
        tw_remove(r.world, &kind_pod, arena_str(&names, last->name).p);
    }
    ring_settle(&r);
    CHECK(clique_is_updated(tw_must(r.world, &kind_pclq, "svc-0-fe")));
    jval progress = jgetc(obj_status(tw_must(r.world, &kind_pcs, "svc")), "updateProgress");
    CHECK(j_has(jgetc(progress, "updateEndedAt")));
    finish(&r);
}
