/* Updates: which replicas and which pods come next, and what is never taken. */
#include "base/test.h"
#include "grove/pod.h"
#include "operator/common/update.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

static struct ring served(void)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    return r;
}

static str status(struct ring *r, const struct kind *k, const char *name, const char *path)
{
    return jtext(jpath(obj_status(tw_must(r->world, k, name)), path));
}

static void change_images(struct ring *r, const char *front, const char *leader)
{
    char patch[512];
    (void)snprintf(
        patch, sizeof(patch),
        "{spec: {template: {cliques: [{name: fe, labels: {tier: front, "
        "app.kubernetes.io/part-of: mine}, annotations: {note: hello, "
        "grove.io/topology-name: x}, spec: {replicas: 3, minAvailable: 2, roleName: fe, "
        "podSpec: {containers: [{name: m, image: %s, env: [{name: A, value: b}]}]}}}, "
        "{name: pl, spec: {podSpec: {containers: [{name: m, image: %s}]}}}, "
        "{name: pw, spec: {replicas: 4, podSpec: {containers: [{name: m, image: i}]}}}]}}}",
        front, leader);
    tw_patch(r->world, &kind_pcs, "svc", patch);
}

static void change_front(struct ring *r, const char *image)
{
    change_images(r, image, "i");
}

/* Clique fe with these labels and annotations. */
static void mark_front(struct ring *r, const char *labels, const char *annotations)
{
    char patch[512];
    (void)snprintf(patch, sizeof(patch),
                   "{spec: {template: {cliques: [{name: fe, labels: {%s}, annotations: {%s}, "
                   "spec: {replicas: 3, minAvailable: 2, roleName: fe, "
                   "podSpec: {containers: [{name: m, image: i}]}}}, "
                   "{name: pl, spec: {podSpec: {containers: [{name: m, image: i}]}}}, "
                   "{name: pw, spec: {replicas: 4, podSpec: {containers: [{name: m, image: i}]}}}"
                   "]}}}",
                   labels, annotations);
    tw_patch(r->world, &kind_pcs, "svc", patch);
    ring_live(r);
}

static bool front_has(struct ring *r, const char *field, const char *key)
{
    jval meta = jgetc(obj_root(tw_must(r->world, &kind_pclq, "svc-0-fe")), "metadata");
    return !j_is_absent(jget(jget(meta, str_of(field)), str_of(key)));
}

static int64_t going(struct ring *r, const char *clique)
{
    int64_t n = 0;
    struct obj *o;
    struct cache_iter it =
        world_owned(&r->world->world, &kind_pod, tw_must(r->world, &kind_pclq, clique)->uid);
    while ((o = cache_next(&it)))
        n += o->deleting;
    return n;
}

/* 7.3: nothing on nodes first, then what is in breach, then by number. */
TEST(replicas_are_taken_up_in_the_order_of_the_contract)
{
    struct update_candidate c[] = {
        {.replica = 0, .scheduled = true},
        {.replica = 1, .scheduled = true, .breached = true},
        {.replica = 2, .scheduled = false},
        {.replica = 3, .scheduled = true, .breached = true},
        {.replica = 4, .scheduled = false, .breached = true},
    };
    static const int64_t want[] = {4, 2, 1, 3, 0};
    update_order(c, ARRAY_LEN(c));
    for (size_t i = 0; i < ARRAY_LEN(c); i++)
        CHECK_INT(c[i].replica, want[i]);
}

/* Nothing is at work before the cliques of its replica carry what they go to. */
TEST(a_replica_is_published_after_its_cliques_are_changed)
{
    struct ring r = served();
    change_front(&r, "j");
    str before = tw_json(tw_must(r.world, &kind_pclq, "svc-0-fe"), "metadata.labels");
    CHECK(before.len > 0);
    struct key key = {&kind_pcs, STR("default"), STR("svc")};
    struct arena a = ARENA_INIT;
    struct plan p;
    plan_init(&p, &a);
    pcs_status_plan(&r.world->world, &key, NULL, &p);
    struct strbuf text = STRBUF_INIT(65536);
    plan_print(&p, &text);
    CHECK(str_find(strbuf_str(&text), STR("currentlyUpdating")) < 0);
    strbuf_done(&text);
    plan_done(&p);
    arena_done(&a);
    (void)ring_settle(&r);
    jval list =
        jpath(obj_status(tw_must(r.world, &kind_pcs, "svc")), "updateProgress.currentlyUpdating");
    CHECK_INT(jlen(list), 1);
    CHECK_INT(jint(jgetc(jat(list, 0), "replicaIndex"), -1), 0);
    ring_free(&r);
}

/* One at a time, in one replica: a pod that crashed once and is ready now is a ready pod (T31). */
TEST(one_ready_pod_is_taken_at_a_time)
{
    struct ring r = served();
    change_front(&r, "j");
    (void)ring_settle(&r);
    CHECK_INT(going(&r, "svc-0-fe") <= 1, 1);
    CHECK_INT(going(&r, "svc-1-fe"), 0);
    CHECK(str_is(status(&r, &kind_pclq, "svc-0-fe", "updatedReplicas"), "0") ||
          str_is(status(&r, &kind_pclq, "svc-0-fe", "updatedReplicas"), "1"));
    CHECK(j_has(jpath(obj_status(tw_must(r.world, &kind_pclq, "svc-0-fe")),
                      "updateProgress.readyPodsSelectedToUpdate.current")));
    ring_live(&r);
    CHECK_CSTR(status(&r, &kind_pcs, "svc", "updatedReplicas"), "2");
    CHECK(!update_is_running(tw_must(r.world, &kind_pcs, "svc")));
    CHECK_CSTR(status(&r, &kind_pclq, "svc-1-fe", "updatedReplicas"), "3");
    /* What did not change is what it was. */
    CHECK_CSTR(status(&r, &kind_pclq, "svc-0-pf-0-pw", "updatedReplicas"), "4");
    ring_free(&r);
}

/* The UIDs of the pods of a clique, each followed by a space. */
static str pod_uids(struct ring *r, struct arena *a, const char *clique)
{
    str all = STR_NONE;
    struct obj *o;
    struct cache_iter it =
        world_owned(&r->world->world, &kind_pod, tw_must(r->world, &kind_pclq, clique)->uid);
    while ((o = cache_next(&it)))
        all = arena_cat(a, all, o->uid, STR(" "));
    return all;
}

static void say_members(struct ring *r, const char *word)
{
    char patch[256];
    (void)snprintf(patch, sizeof(patch),
                   "{spec: {template: {podCliqueScalingGroups: [{name: pf, cliqueNames: [pl, pw], "
                   "replicas: 3, minAvailable: 1, annotations: {k: v}, "
                   "rollingUpdate: {members: %s}}]}}}",
                   word);
    tw_patch(r->world, &kind_pcs, "svc", patch);
    ring_live(r);
}

/* Which pods of each replica of both groups are the same after the leader's image has changed. */
static void check_kept(const char *members, bool workers_stay)
{
    static const char *const leaders[] = {"svc-0-pf-0-pl", "svc-0-pf-1-pl", "svc-0-pf-2-pl",
                                          "svc-1-pf-0-pl", "svc-1-pf-1-pl", "svc-1-pf-2-pl"};
    static const char *const workers[] = {"svc-0-pf-0-pw", "svc-0-pf-1-pw", "svc-0-pf-2-pw",
                                          "svc-1-pf-0-pw", "svc-1-pf-1-pw", "svc-1-pf-2-pw"};
    struct ring r = served();
    struct arena a = ARENA_INIT;
    str led[ARRAY_LEN(leaders)], worked[ARRAY_LEN(workers)];
    say_members(&r, members);
    for (size_t i = 0; i < ARRAY_LEN(leaders); i++) {
        led[i] = pod_uids(&r, &a, leaders[i]);
        worked[i] = pod_uids(&r, &a, workers[i]);
    }
    r.world->world.now += USEC_PER_MIN;
    change_images(&r, "i", "j");
    ring_live(&r);
    CHECK(!update_is_running(tw_must(r.world, &kind_pcs, "svc")));
    CHECK_CSTR(status(&r, &kind_pcs, "svc", "updatedReplicas"), "2");
    for (size_t i = 0; i < ARRAY_LEN(leaders); i++) {
        CHECK(!str_eq(pod_uids(&r, &a, leaders[i]), led[i]));
        CHECK_INT(str_eq(pod_uids(&r, &a, workers[i]), worked[i]), workers_stay);
        CHECK_CSTR(status(&r, &kind_pclq, leaders[i], "updatedReplicas"), "1");
        CHECK_CSTR(status(&r, &kind_pclq, workers[i], "updatedReplicas"), "4");
    }
    CHECK_CSTR(status(&r, &kind_pcsg, "svc-0-pf", "updatedReplicas"), "3");
    arena_done(&a);
    ring_free(&r);
}

TEST(a_replica_of_a_group_is_made_anew_as_a_whole_unless_only_what_changed_is_to_be)
{
    check_kept("All", false);
    check_kept("Changed", true);
}

static int64_t serving(struct ring *r, const char *label, const char *name)
{
    int64_t n = 0;
    struct obj *o;
    struct cache_iter it = cache_all(world_cache(&r->world->world, &kind_pod), STR("default"));
    while ((o = cache_next(&it)))
        n += str_is(obj_label(o, str_of(label)), name) && !o->deleting && pod_is_ready(o);
    return n;
}

/* ---- what is said about it ---- */

static void check_progress(struct ring *r, const char *cliques, const char *groups)
{
    CHECK_CSTR(status(r, &kind_pcs, "svc", "rollingUpdateProgress.updatedPodCliques"), cliques);
    CHECK_CSTR(status(r, &kind_pcs, "svc", "rollingUpdateProgress.updatedPodCliqueScalingGroups"),
               groups);
    CHECK_CSTR(status(r, &kind_pcs, "svc", "updateProgress.updatedStandalonePodCliques"), cliques);
    CHECK_CSTR(status(r, &kind_pcs, "svc", "updateProgress.updatedPodCliqueScalingGroups"), groups);
    /* Three pods of fe and three replicas of pf, twice. */
    CHECK_CSTR(status(r, &kind_pcs, "svc", "updateProgress.updatedUnitsCount"), "12");
    CHECK_CSTR(status(r, &kind_pcs, "svc", "updateProgress.updatedMemberCliquesCount"), "");
}

/* Of a set or group: both blocks say the same, and that it took some time; the clock stands. */
static void check_times(struct ring *r, const struct kind *k, const char *name, bool same)
{
    str began = status(r, k, name, "updateProgress.updateStartedAt");
    str ended = status(r, k, name, "updateProgress.updateEndedAt");
    CHECK(began.len > 0 && ended.len > 0);
    CHECK_STR(status(r, k, name, "rollingUpdateProgress.updateStartedAt"), began);
    CHECK_STR(status(r, k, name, "rollingUpdateProgress.updateEndedAt"), ended);
    CHECK_INT(str_cmp(ended, began) > 0, !same);
    CHECK_INT(str_eq(ended, began), same);
}

TEST(progress_tells_what_changed_and_was_completed_and_nothing_else)
{
    struct ring r = served();
    change_images(&r, "i", "j");
    ring_live(&r);
    check_progress(&r, "[]", "[\"pf\"]");
    check_times(&r, &kind_pcs, "svc", false);
    check_times(&r, &kind_pcsg, "svc-1-pf", false);
    CHECK_CSTR(status(&r, &kind_pcsg, "svc-1-pf", "rollingUpdateProgress.updatedPodCliques"),
               "[\"pl\"]");
    change_images(&r, "j", "j");
    ring_live(&r);
    check_progress(&r, "[\"fe\"]", "[]");
    check_times(&r, &kind_pcs, "svc", false);
    /* Back to the first template, which is another for both. */
    change_images(&r, "i", "i");
    ring_live(&r);
    check_progress(&r, "[\"fe\"]", "[\"pf\"]");
    ring_free(&r);
}

/* Nothing is replaced before it ends. */
TEST(progress_by_hand_ends_at_once_and_is_completed_later)
{
    struct ring r = served();
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {updateStrategy: {type: OnDelete}}}");
    change_images(&r, "i", "j");
    ring_live(&r);
    check_times(&r, &kind_pcs, "svc", true);
    check_times(&r, &kind_pcsg, "svc-0-pf", true);
    CHECK_CSTR(status(&r, &kind_pcs, "svc", "updateProgress.updatedPodCliqueScalingGroups"),
               "[\"pf\"]");
    CHECK_CSTR(status(&r, &kind_pcs, "svc", "rollingUpdateProgress.updatedPodCliqueScalingGroups"),
               "[]");
    CHECK_CSTR(status(&r, &kind_pcs, "svc", "updateProgress.updatedUnitsCount"), "6");
    ring_free(&r);
}

/* A change in the middle: what had begun has to be brought to an end too. */
TEST(progress_of_an_update_that_follows_an_unfinished_one_is_about_both)
{
    struct ring r = served();
    change_images(&r, "j", "i");
    (void)ring_settle(&r);
    CHECK(update_is_running(tw_must(r.world, &kind_pcs, "svc")));
    CHECK_CSTR(status(&r, &kind_pcs, "svc", "rollingUpdateProgress.updatedPodCliques"), "[]");
    change_images(&r, "i", "j");
    ring_live(&r);
    check_progress(&r, "[\"fe\"]", "[\"pf\"]");
    ring_free(&r);
}

/* As when it is told that there is no room before its predecessor is gone. */
static void refuse_pod(struct ring *r, const char *clique)
{
    struct arena a = ARENA_INIT;
    struct cache_iter it =
        world_owned(&r->world->world, &kind_pod, tw_must(r->world, &kind_pclq, clique)->uid);
    const struct obj *pod = cache_next(&it);
    tw_patch(r->world, &kind_pod, arena_str(&a, pod->name).p,
             "{spec: {nodeName: null}, status: {phase: Pending, conditions: [{type: PodScheduled, "
             "status: 'False', reason: Unschedulable}]}}");
    arena_done(&a);
}

/* Ten seconds; the end of an update is a time of whole seconds, and up to one second after it
 * (update_end_time). */
#define AFTER_GRACE (12 * USEC_PER_SEC)

/* An update ended a moment ago, and another one begins: what the first has taken need not have come
 * back. It is no reason to take more, until it is known to have no room. */
TEST(what_was_taken_a_moment_ago_is_not_without_room)
{
    static const char clique[] = "svc-0-fe", member[] = "svc-0-pf-1-pl";
    struct ring r = served();
    change_front(&r, "j");
    ring_live(&r);
    refuse_pod(&r, clique);
    change_front(&r, "i");
    (void)ring_settle(&r);
    CHECK_INT(serving(&r, LABEL_PCLQ, clique), 2);
    r.world->world.now += AFTER_GRACE;
    (void)ring_settle(&r);
    CHECK_INT(serving(&r, LABEL_PCLQ, clique), 1);
    ring_live(&r);
    CHECK_INT(serving(&r, LABEL_PCLQ, clique), 3);
    /* The same of replicas of a group. */
    change_images(&r, "i", "j");
    ring_live(&r);
    refuse_pod(&r, member);
    (void)ring_settle(&r);
    change_images(&r, "i", "i");
    (void)ring_settle(&r);
    CHECK_INT(serving(&r, LABEL_PCSG, "svc-0-pf"), 14);
    r.world->world.now += AFTER_GRACE;
    (void)ring_settle(&r);
    CHECK_INT(serving(&r, LABEL_PCSG, "svc-0-pf"), 5);
    ring_free(&r);
}

TEST(a_paused_set_takes_nothing)
{
    struct ring r = served();
    tw_patch(r.world, &kind_pcs, "svc", "{metadata: {annotations: {grove.io/paused: 'true'}}}");
    change_front(&r, "j");
    (void)ring_settle(&r);
    const struct obj *pcs = tw_must(r.world, &kind_pcs, "svc");
    CHECK(update_is_running(pcs) && !update_rolls(pcs, 0) && !update_rolls(pcs, 1));
    CHECK_INT(going(&r, "svc-0-fe") + going(&r, "svc-1-fe"), 0);
    CHECK_CSTR(jstr(jgetc(condition_find(jgetc(obj_status(pcs), "conditions"), STR("Progressing")),
                          "reason")),
               "Paused");
    ring_free(&r);
}

static jval set_condition(struct ring *r, const char *type)
{
    jval status = obj_status(tw_must(r->world, &kind_pcs, "svc"));
    return condition_find(jgetc(status, "conditions"), str_of(type));
}

static jval ready_of(struct ring *r)
{
    return set_condition(r, "Ready");
}

static jval progressing_of(struct ring *r)
{
    return set_condition(r, "Progressing");
}

/* Helm and Flux wait for it: before the set serves, and until an update has ended. */
TEST(a_set_is_ready_when_it_is_available_and_no_update_is_under_way)
{
    struct ring r = served();
    CHECK_CSTR(jstr(jgetc(ready_of(&r), "status")), "True");
    CHECK_CSTR(jstr(jgetc(ready_of(&r), "reason")), "MinimumReplicasAvailable");
    tw_patch(r.world, &kind_pcs, "svc", "{metadata: {annotations: {grove.io/paused: 'true'}}}");
    change_front(&r, "j");
    (void)ring_settle(&r);
    CHECK_CSTR(jstr(jgetc(ready_of(&r), "status")), "False");
    CHECK_CSTR(jstr(jgetc(ready_of(&r), "reason")), "Paused");
    tw_patch(r.world, &kind_pcs, "svc", "{metadata: {annotations: {grove.io/paused: null}}}");
    (void)ring_settle(&r);
    CHECK_CSTR(jstr(jgetc(ready_of(&r), "status")), "False");
    ring_live(&r);
    CHECK_CSTR(jstr(jgetc(ready_of(&r), "status")), "True");
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {replicas: 3}}");
    (void)ring_settle(&r);
    CHECK_CSTR(jstr(jgetc(ready_of(&r), "status")), "False");
    CHECK_CSTR(jstr(jgetc(ready_of(&r), "reason")), "MinimumReplicasUnavailable");
    CHECK_CSTR(jstr(jgetc(ready_of(&r), "message")), "2 of 3 replicas are available, 3 needed");
    /* The update is over; what is under way is the third replica. */
    CHECK_CSTR(jstr(jgetc(progressing_of(&r), "reason")), "WaitingForReplicas");
    ring_live(&r);
    CHECK_CSTR(jstr(jgetc(progressing_of(&r), "reason")), "Complete");
    ring_free(&r);
}

/* T32: a hiccup of a probe is not a broken pod. */
TEST(a_pod_that_has_just_lost_its_readiness_is_waited_for)
{
    struct test_world *t = tw_new();
    tw_load(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: m}]}\n"
               "status:\n  phase: Running\n  conditions:\n"
               "  - {type: Ready, status: 'False', lastTransitionTime: '2026-01-01T00:00:00Z'}\n"
               "  containerStatuses:\n"
               "  - {name: m, started: true, ready: false, state: {running: {}}}\n");
    usec since, left;
    CHECK(time_parse_rfc3339(STR("2026-01-01T00:00:00Z"), &since));
    t->world.now = since + USEC_PER_SEC;
    CHECK(update_pod_flaps(&t->world, tw_must(t, &kind_pod, "p"), &left));
    CHECK(left > 0);
    t->world.now += left;
    CHECK(!update_pod_flaps(&t->world, tw_must(t, &kind_pod, "p"), &left));
    t->world.now = since + USEC_PER_SEC;
    tw_patch(t, &kind_pod, "p",
             "{status: {containerStatuses: [{name: m, started: true, ready: false, state: "
             "{running: {}}, lastState: {terminated: {exitCode: 1}}}]}}");
    CHECK(!update_pod_flaps(&t->world, tw_must(t, &kind_pod, "p"), &left));
    /* One that was never ready has no readiness to find again; one that was, in its present life,
     * has. */
    tw_patch(t, &kind_pod, "p",
             "{status: {containerStatuses: [{name: m, started: true, ready: false, state: "
             "{running: {startedAt: '2026-01-01T00:00:00Z'}}}]}}");
    CHECK(!update_pod_flaps(&t->world, tw_must(t, &kind_pod, "p"), &left));
    tw_patch(t, &kind_pod, "p",
             "{status: {containerStatuses: [{name: m, started: true, ready: false, state: "
             "{running: {startedAt: '2025-12-31T23:59:50Z'}}}]}}");
    CHECK(update_pod_flaps(&t->world, tw_must(t, &kind_pod, "p"), &left));
    /* T9: inside a long start-up it is not waited for. */
    tw_patch(t, &kind_pod, "p",
             "{status: {containerStatuses: [{name: m, started: false, ready: false, state: "
             "{running: {}}}]}}");
    CHECK(!update_pod_flaps(&t->world, tw_must(t, &kind_pod, "p"), &left));
    tw_free(t);
}

/* What the template before said and this one does not say goes, under whatever name; what others
 * wrote under such names stays. */
TEST(labels_and_annotations_that_left_the_template_leave_the_clique)
{
    struct ring r = served();
    mark_front(&r, "tier: x, kai.scheduler/pool: x",
               "note: x, grove.io/restartedAt: now, kai.scheduler/hint: x");
    CHECK(front_has(&r, "labels", "kai.scheduler/pool"));
    CHECK(front_has(&r, "annotations", "grove.io/restartedAt"));
    tw_patch(r.world, &kind_pclq, "svc-0-fe",
             "{metadata: {labels: {kai.scheduler/other: y}, annotations: {grove.io/other: y}}}");
    mark_front(&r, "kai.scheduler/queue: x", "grove.io/kept: x");
    CHECK(!front_has(&r, "labels", "tier") && !front_has(&r, "labels", "kai.scheduler/pool"));
    CHECK(front_has(&r, "labels", "kai.scheduler/queue"));
    CHECK(front_has(&r, "labels", "kai.scheduler/other"));
    CHECK(!front_has(&r, "annotations", "note"));
    CHECK(!front_has(&r, "annotations", "grove.io/restartedAt"));
    CHECK(!front_has(&r, "annotations", "kai.scheduler/hint"));
    CHECK(front_has(&r, "annotations", "grove.io/kept"));
    CHECK(front_has(&r, "annotations", "grove.io/other"));
    ring_free(&r);
}

static void set_images(struct ring *r, const char *pl, const char *pw)
{
    char patch[512];
    (void)snprintf(patch, sizeof(patch),
                   "{spec: {template: {cliques: [{name: fe, spec: {replicas: 3, minAvailable: 2, "
                   "roleName: fe, podSpec: {containers: [{name: m, image: i}]}}}, "
                   "{name: pl, spec: {podSpec: {containers: [{name: m, image: %s}]}}}, "
                   "{name: pw, spec: {replicas: 4, podSpec: {containers: [{name: m, image: %s}]}}}"
                   "]}}}",
                   pl, pw);
    tw_patch(r->world, &kind_pcs, "svc", patch);
    ring_live(r);
}

static int64_t running(struct ring *r, const char *clique, const char *image)
{
    int64_t n = 0;
    struct obj *o;
    struct cache_iter it =
        world_owned(&r->world->world, &kind_pod, tw_must(r->world, &kind_pclq, clique)->uid);
    while ((o = cache_next(&it)))
        n += str_is(jstr(jgetc(jat(jgetc(obj_spec(o), "containers"), 0), "image")), image);
    return n;
}

/* Templates are told apart by content, and of two cliques that change places all pods change. */
TEST(cliques_that_swap_their_templates_are_made_anew)
{
    struct ring r = served();
    set_images(&r, "a", "b");
    CHECK_INT(running(&r, "svc-1-pf-2-pl", "a"), 1);
    CHECK_INT(running(&r, "svc-1-pf-2-pw", "b"), 4);
    set_images(&r, "b", "a");
    CHECK_INT(running(&r, "svc-0-pf-0-pl", "b"), 1);
    CHECK_INT(running(&r, "svc-1-pf-2-pl", "b"), 1);
    CHECK_INT(running(&r, "svc-1-pf-2-pw", "a"), 4);
    CHECK(!update_is_running(tw_must(r.world, &kind_pcs, "svc")));
    ring_free(&r);
}
