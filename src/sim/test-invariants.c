/* Each invariant and the oracle notice what they are there for: the world is damaged on purpose,
 * behind the back of the controllers, and must be found broken. */
#include "base/test.h"
#include "grove/types.h"
#include "sim/oracle.h"
#include "sim/sim_impl.h"
#include "json/yaml.h"

extern const char sample_aggregated[];

#define LIMIT (10 * USEC_PER_MIN)

/* The first example of the guide, settled: two pods of one clique. */
static struct sim *start(unsigned nodes)
{
    struct err err = ERR_INIT;
    struct sim_options o = {.seed = 1, .nodes = nodes_defaults, .faults = sim_default_faults};
    o.nodes.count = nodes;
    o.nodes.tainted = true;
    o.gang_window = 5 * USEC_PER_SEC;
    struct sim *s = sim_new(&o, &err);
    REQUIRE(s != NULL);
    CHECK_INT(sim_apply_yaml(s, str_of(sample_aggregated), &err), 0);
    REQUIRE(sim_settle(s, LIMIT));
    CHECK_INT(oracle_check(s, &err), 0);
    CHECK_INT(sim_failure(s)->code, 0);
    return s;
}

static const struct obj *first_pod(struct sim *s)
{
    struct store_iter it = store_range(sim_store(s), &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    return store_next(&it);
}

/* Behind the back of the invariants, who are told what users ask for. */
static void send(struct sim *s, enum api_verb verb, const struct kind *k, str name, str subresource,
                 const char *yaml)
{
    struct err err = ERR_INIT;
    struct doc *body = yaml ? yaml_parse_one(str_of(yaml), &err) : NULL;
    struct api_request q = {.verb = verb,
                            .patch = API_PATCH_MERGE,
                            .kind = k,
                            .ns = STR("default"),
                            .name = name,
                            .subresource = subresource,
                            .body = body,
                            .grace_seconds = verb == API_DELETE ? 0 : -1,
                            .field_manager = STR("saboteur")};
    CHECK_INT(sim_call(s, &q, &err), 0);
    if (err.code)
        test_note("%s", err.message);
    doc_unref(body);
}

static void expect_broken(struct sim *s, const char *what)
{
    const struct err *e = sim_failure(s);
    if (!CHECK(e->code != 0 && str_find(str_of(e->message), str_of(what)) >= 0))
        test_note("wanted %s, got %s", what, e->message);
    sim_free(s);
}

TEST(a_node_with_more_than_it_holds_is_noticed)
{
    struct sim *s = start(1);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(sim_failure(s)->code, 0);
        char yaml[512];
        snprintf(yaml, sizeof(yaml),
                 "{apiVersion: v1, kind: Pod, metadata: {name: p%d}, spec: {nodeName: "
                 "fake-node-001, containers: [{name: c, image: i, resources: {limits: "
                 "{nvidia.com/gpu: 5}}}]}}",
                 i);
        send(s, API_CREATE, &kind_pod, STR_NONE, STR_NONE, yaml);
    }
    expect_broken(s, "invariant capacity");
}

/* A pod of the clique, without a gate, with the index of another. */
static void make_twin(struct sim *s)
{
    const struct obj *pod = first_pod(s);
    struct strbuf b = STRBUF_INIT(4096);
    strbuf_printf(&b,
                  "{apiVersion: v1, kind: Pod, metadata: {name: twin, labels: "
                  "{app.kubernetes.io/managed-by: grove-operator, "
                  "grove.io/podclique-pod-index: '%.*s'}, ownerReferences: [{apiVersion: "
                  "grove.io/v1alpha1, kind: PodClique, name: single-node-aggregated-0-model-worker,"
                  " uid: %.*s, controller: true}]}, spec: {containers: [{name: c, image: i}]}}",
                  STR_ARG(obj_label(pod, STR(LABEL_POD_INDEX))), STR_ARG(pod->owner_uid));
    send(s, API_CREATE, &kind_pod, STR_NONE, STR_NONE, b.p);
    strbuf_done(&b);
}

TEST(an_index_held_twice_is_noticed)
{
    struct sim *s = start(2);
    make_twin(s);
    expect_broken(s, "is the second active one with index");
}

TEST(an_index_let_go_twice_is_noticed)
{
    struct sim *s = start(2);
    struct err err = ERR_INIT;
    CHECK_INT(invariants_disable(s->invariants, STR("indices"), &err), 0);
    make_twin(s);
    expect_broken(s, "is the second one let go with index");
}

/* A pod of the clique under this name, with the index of the first one, on a node. */
static void make_follower(struct sim *s, const char *name, str uid, str index)
{
    struct strbuf b = STRBUF_INIT(4096);
    strbuf_printf(&b,
                  "{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: "
                  "{app.kubernetes.io/managed-by: grove-operator, grove.io/podclique: "
                  "single-node-aggregated-0-model-worker, grove.io/podclique-pod-index: '%.*s'}, "
                  "ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: PodClique, name: "
                  "single-node-aggregated-0-model-worker, uid: %.*s, controller: true}]}, spec: "
                  "{nodeName: fake-node-001, containers: [{name: c, image: i}]}}",
                  name, STR_ARG(index), STR_ARG(uid));
    send(s, API_CREATE, &kind_pod, STR_NONE, STR_NONE, b.p);
    strbuf_done(&b);
}

TEST(a_pod_that_runs_beside_the_one_before_it_is_noticed)
{
    struct sim *s = start(2);
    struct err err = ERR_INIT;
    const struct obj *pod = first_pod(s);
    CHECK_INT(invariants_disable(s->invariants, STR("indices"), &err), 0);
    CHECK_INT(invariants_disable(s->invariants, STR("gates"), &err), 0);
    make_follower(s, "next", pod->owner_uid, obj_label(pod, STR(LABEL_POD_INDEX)));
    expect_broken(s, "of its index still runs on");
}

TEST(a_name_that_is_given_again_is_noticed)
{
    struct sim *s = start(2);
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct obj *pod = first_pod(s);
    str name = arena_str(&a, pod->name), uid = arena_str(&a, pod->owner_uid);
    str index = arena_str(&a, obj_label(pod, STR(LABEL_POD_INDEX)));
    CHECK_INT(invariants_disable(s->invariants, STR("indices"), &err), 0);
    CHECK_INT(invariants_disable(s->invariants, STR("deletes"), &err), 0);
    CHECK_INT(invariants_disable(s->invariants, STR("rolls"), &err), 0);
    sim_stop(s, NULL);
    send(s, API_DELETE, &kind_pod, name, STR_NONE, NULL);
    CHECK_INT(sim_failure(s)->code, 0);
    make_follower(s, name.p, uid, index);
    arena_done(&a);
    expect_broken(s, "is the second one of its clique with this name");
}

TEST(replicas_that_nobody_asked_for_are_noticed)
{
    struct sim *s = start(2);
    send(s, API_PATCH, &kind_pclq, STR("single-node-aggregated-0-model-worker"), STR_NONE,
         "{spec: {replicas: 3}}");
    expect_broken(s, "invariant replicas");
}

TEST(autoscalers_may_change_replicas_within_their_bounds)
{
    struct sim *s = start(2);
    send(s, API_CREATE, &kind_hpa, STR_NONE, STR_NONE,
         "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: h}, spec: "
         "{scaleTargetRef: {apiVersion: grove.io/v1alpha1, kind: PodClique, name: "
         "single-node-aggregated-0-model-worker}, minReplicas: 2, maxReplicas: 3}}");
    send(s, API_PATCH, &kind_pclq, STR("single-node-aggregated-0-model-worker"), STR_NONE,
         "{spec: {replicas: 3}}");
    CHECK_INT(sim_failure(s)->code, 0);
    send(s, API_PATCH, &kind_pclq, STR("single-node-aggregated-0-model-worker"), STR_NONE,
         "{spec: {replicas: 4}}");
    expect_broken(s, "invariant replicas");
}

TEST(deletes_that_nobody_asked_for_are_noticed)
{
    struct sim *s = start(2);
    struct obj *pod = obj_ref(first_pod(s));
    CHECK_INT(invariants_disable(sim_invariants(s), STR("rolls"), NULL), 0); /* would be first */
    send(s, API_DELETE, &kind_pod, pod->name, STR_NONE, NULL);
    obj_unref(pod);
    expect_broken(s, "invariant deletes");
    s = start(2);
    send(s, API_DELETE, &kind_pclq, STR("single-node-aggregated-0-model-worker"), STR_NONE, NULL);
    expect_broken(s, "invariant deletes");
}

/* One pod of the clique is deleted while a map gives its gang so many, and another the rest. */
static struct sim *delete_with_map(int own)
{
    struct sim *s = start(2);
    struct obj *pod = obj_ref(first_pod(s));
    char yaml[512];
    (void)snprintf(yaml, sizeof(yaml),
                   "{apiVersion: grove.io/v1alpha1, kind: PodGangMap, metadata: {name: "
                   "single-node-aggregated-0, annotations: {grove.io/gang-names: '{\"first\": "
                   "{\"through\": \"1\"}}'}}, spec: {podCliqueSetReplicaIndex: 0, entries: ["
                   "{epoch: '1', role: Anchor, podCliqueSetGenerationHash: x, podCliques: "
                   "{model-worker: %d}}, {epoch: '2', role: Tail, podCliqueSetGenerationHash: x, "
                   "podCliques: {model-worker: %d}}]}}",
                   own, 2 - own);
    CHECK_INT(invariants_disable(sim_invariants(s), STR("rolls"), NULL), 0);
    send(s, API_CREATE, &kind_pod_gang_map, STR_NONE, STR_NONE, yaml);
    send(s, API_DELETE, &kind_pod, pod->name, STR_NONE, NULL);
    obj_unref(pod);
    return s;
}

TEST(a_gang_may_lose_what_its_map_gave_to_others_and_no_more)
{
    expect_broken(delete_with_map(2), "invariant deletes");
    struct sim *s = delete_with_map(1);
    CHECK(str_find(str_of(sim_failure(s)->message), STR("invariant deletes")) < 0);
    sim_free(s);
}

TEST(what_users_delete_or_scale_in_is_not_held_against_anybody)
{
    struct sim *s = start(2);
    struct err err = ERR_INIT;
    struct obj *pod = obj_ref(first_pod(s));
    CHECK_INT(sim_delete(s, &kind_pod, pod->ns, pod->name, &err), 0);
    CHECK_INT(sim_scale(s, &kind_pclq, STR("default"), STR("single-node-aggregated-0-model-worker"),
                        1, &err),
              0);
    CHECK(sim_settle(s, LIMIT));
    CHECK_INT(sim_scale(s, &kind_pcs, STR("default"), STR("single-node-aggregated"), 0, &err), 0);
    CHECK(sim_settle(s, LIMIT));
    CHECK_INT(sim_failure(s)->code, 0);
    CHECK_INT(sim_count(s, &kind_pod, NULL), 0);
    obj_unref(pod);
    sim_free(s);
}

/* One of two pods is bound by hand and the other never fits. */
TEST(a_gang_that_stays_partly_placed_is_noticed)
{
    struct sim *s = start(1);
    struct err err = ERR_INIT;
    CHECK_INT(sim_apply_yaml(
                  s,
                  STR("{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: big}, "
                      "spec: {replicas: 1, template: {cliques: [{name: a, spec: {replicas: 2, "
                      "podSpec: {tolerations: [{operator: Exists}], containers: [{name: c, image: "
                      "i, resources: {limits: {nvidia.com/gpu: 5}}}]}}}]}}}"),
                  &err),
              0);
    REQUIRE(sim_settle(s, LIMIT));
    CHECK_INT(sim_failure(s)->code, 0);
    struct obj *pod = obj_ref(first_pod(s));
    REQUIRE(str_starts(pod->name, STR("big-0-a-")));
    send(s, API_CREATE, &kind_pod, pod->name, STR("binding"),
         "{apiVersion: v1, kind: Binding, target: {kind: Node, name: fake-node-001}}");
    obj_unref(pod);
    CHECK(sim_advance(s, 4 * USEC_PER_SEC));
    CHECK(!sim_advance(s, 4 * USEC_PER_SEC));
    expect_broken(s, "invariant gangs");
}

/* ---- updates ---- */

#define ROLL_POD "podSpec: {containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}"

/* Two replicas of a group of one clique, and a clique of two pods that needs both; what else would
 * notice looks away. */
static struct sim *start_rolls(int min_available)
{
    struct err err = ERR_INIT;
    struct sim_options o = {.seed = 1, .nodes = nodes_defaults, .faults = sim_default_faults};
    o.nodes.count = 2;
    struct sim *s = sim_new(&o, &err);
    REQUIRE(s != NULL);
    char yaml[1024];
    snprintf(yaml, sizeof(yaml),
             "{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: s}, spec: "
             "{replicas: 1, template: {cliques: [{name: a, spec: {replicas: 2, minAvailable: "
             "2, " ROLL_POD "}}, {name: b, spec: {replicas: 1, " ROLL_POD
             "}}], podCliqueScalingGroups: [{name: g, cliqueNames: [b], replicas: 2, "
             "minAvailable: %d}]}}}",
             min_available);
    CHECK_INT(sim_apply_yaml(s, str_of(yaml), &err), 0);
    REQUIRE(sim_settle(s, LIMIT));
    CHECK_INT(invariants_disable(sim_invariants(s), STR("deletes"), &err), 0);
    CHECK_INT(sim_failure(s)->code, 0);
    return s;
}

TEST(a_component_taken_below_its_floor_is_noticed)
{
    struct sim *s = start_rolls(2);
    struct obj *pod = obj_ref(first_pod(s));
    REQUIRE(str_starts(pod->name, STR("s-0-a-")));
    send(s, API_DELETE, &kind_pod, pod->name, STR_NONE, NULL);
    obj_unref(pod);
    expect_broken(s, "leaves PodClique s-0-a 1 of at least 2");
    s = start_rolls(2);
    send(s, API_DELETE, &kind_pclq, STR("s-0-g-1-b"), STR_NONE, NULL);
    expect_broken(s, "leaves PodCliqueScalingGroup s-0-g 1 of at least 2");
}

TEST(what_users_take_is_not_below_anybodys_floor)
{
    struct sim *s = start_rolls(2);
    struct err err = ERR_INIT;
    struct obj *pod = obj_ref(first_pod(s));
    CHECK_INT(sim_delete(s, &kind_pod, pod->ns, pod->name, &err), 0);
    CHECK_INT(sim_delete(s, &kind_pclq, pod->ns, STR("s-0-g-1-b"), &err), 0);
    obj_unref(pod);
    CHECK(sim_settle(s, LIMIT));
    CHECK_INT(sim_failure(s)->code, 0);
    sim_free(s);
}

TEST(a_replica_made_anew_for_nothing_is_noticed)
{
    struct sim *s = start_rolls(1);
    send(s, API_DELETE, &kind_pclq, STR("s-0-g-1-b"), STR_NONE, NULL);
    expect_broken(s, "its replica is of the template it is to be of");
}

#define OTHER "{metadata: {labels: {grove.io/pod-template-hash: other}}}"

/* Two replicas of a group of cliques b and c, of which one c is of another template. */
static struct sim *start_members(const char *members)
{
    struct err err = ERR_INIT;
    struct sim_options o = {.seed = 1, .nodes = nodes_defaults, .faults = sim_default_faults};
    struct sim *s = sim_new(&o, &err);
    REQUIRE(s != NULL);
    char yaml[1024];
    snprintf(yaml, sizeof(yaml),
             "{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: {name: s}, spec: "
             "{replicas: 1, template: {cliques: [{name: b, spec: {" ROLL_POD
             "}}, {name: c, spec: {" ROLL_POD "}}], podCliqueScalingGroups: [{name: g, "
             "cliqueNames: [b, c], replicas: 2, rollingUpdate: {members: %s}}]}}}",
             members);
    CHECK_INT(sim_apply_yaml(s, str_of(yaml), &err), 0);
    REQUIRE(sim_settle(s, LIMIT));
    CHECK_INT(invariants_disable(sim_invariants(s), STR("deletes"), &err), 0);
    sim_stop(s, NULL);
    send(s, API_PATCH, &kind_pclq, STR("s-0-g-1-c"), STR_NONE, OTHER);
    CHECK_INT(sim_failure(s)->code, 0);
    return s;
}

TEST(a_member_that_did_not_change_is_replaced_with_those_that_did_unless_they_are_kept)
{
    struct sim *s = start_members("All");
    send(s, API_DELETE, &kind_pclq, STR("s-0-g-1-b"), STR_NONE, NULL);
    CHECK_INT(sim_failure(s)->code, 0);
    sim_free(s);
    s = start_members("Changed");
    send(s, API_DELETE, &kind_pclq, STR("s-0-g-1-c"), STR_NONE, NULL);
    CHECK_INT(sim_failure(s)->code, 0);
    send(s, API_DELETE, &kind_pclq, STR("s-0-g-1-b"), STR_NONE, NULL);
    expect_broken(s, "s-0-g-1-b is taken, and it is of the template it is to be of");
}

/* A coherent set of two pods at rest, and nobody who does anything about it. */
static struct sim *start_coherent(struct obj *ret_pods[2])
{
    struct err err = ERR_INIT;
    struct sim_options o = {.seed = 1, .nodes = nodes_defaults, .faults = sim_default_faults};
    struct sim *s = sim_new(&o, &err);
    REQUIRE(s != NULL);
    CHECK_INT(
        sim_apply_yaml(s,
                       STR("{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, metadata: "
                           "{name: s}, spec: {replicas: 1, updateStrategy: {type: Coherent}, "
                           "template: {cliques: [{name: a, spec: {replicas: 2, " ROLL_POD "}}]}}}"),
                       &err),
        0);
    REQUIRE(sim_settle(s, LIMIT));
    struct store_iter it = store_range(sim_store(s), &kind_pod, STR("default"), STR_NONE, STR_NONE);
    for (int i = 0; i < 2; i++)
        ret_pods[i] = obj_ref(store_next(&it));
    sim_stop(s, NULL);
    return s;
}

static void let_pods_go(struct obj *pods[2])
{
    obj_unref(pods[0]);
    obj_unref(pods[1]);
}

TEST(a_second_version_in_a_gang_is_noticed)
{
    struct obj *pods[2];
    struct sim *s = start_coherent(pods);
    send(s, API_PATCH, &kind_pod, pods[0]->name, STR_NONE, OTHER);
    let_pods_go(pods);
    expect_broken(s, "has pods of 2 versions");
}

/* Both pods serve: nothing of them may be called something that nobody waits for. */
TEST(what_serves_and_is_set_aside_is_noticed)
{
    struct obj *pods[2];
    char patch[256];
    struct sim *s = start_coherent(pods);
    struct obj *map = sim_get(s, &kind_pod_gang_map, STR("default"), STR("s-0"));
    REQUIRE(map != NULL);
    (void)snprintf(patch, sizeof(patch),
                   "{metadata: {annotations: {grove.io/set-aside: '{\"epochs\": [\"%.*s\"]}'}}}",
                   STR_ARG(jstr(jgetc(jat(jgetc(obj_spec(map), "entries"), 0), "epoch"))));
    send(s, API_PATCH, &kind_pod_gang_map, STR("s-0"), STR_NONE, patch);
    let_pods_go(pods);
    expect_broken(s, "sets aside 2 pods of s-0-a, and 0 do not serve");
}

/* It is not held against the coherent strategy that comes after, but may not come again. */
TEST(versions_that_another_strategy_mixed_are_excused_until_they_are_one)
{
    struct obj *pods[2];
    struct sim *s = start_coherent(pods);
    char before[128];
    (void)snprintf(before, sizeof(before),
                   "{metadata: {labels: {grove.io/pod-template-hash: '%.*s'}}}",
                   STR_ARG(obj_label(pods[0], STR("grove.io/pod-template-hash"))));
    send(s, API_PATCH, &kind_pcs, STR("s"), STR_NONE, "{spec: {updateStrategy: {type: OnDelete}}}");
    send(s, API_PATCH, &kind_pod, pods[0]->name, STR_NONE, OTHER);
    send(s, API_PATCH, &kind_pcs, STR("s"), STR_NONE, "{spec: {updateStrategy: {type: Coherent}}}");
    CHECK(sim_advance(s, USEC_PER_MIN));
    send(s, API_PATCH, &kind_pod, pods[1]->name, STR_NONE, OTHER);
    send(s, API_PATCH, &kind_pod, pods[1]->name, STR_NONE, before);
    send(s, API_PATCH, &kind_pod, pods[1]->name, STR_NONE, OTHER);
    CHECK_INT(sim_failure(s)->code, 0);
    CHECK(sim_advance(s, USEC_PER_MIN));
    send(s, API_PATCH, &kind_pod, pods[1]->name, STR_NONE, before);
    let_pods_go(pods);
    expect_broken(s, "has pods of 2 versions");
}

#define PROGRESS(now, older) \
    "{status: {updateProgress: {" now "}, rollingUpdateProgress: {" older "}}}"
#define BEGAN "updateStartedAt: '2026-01-01T00:00:00Z'"
#define ENDED "updateEndedAt: '2026-01-01T00:00:07Z'"

TEST(progress_that_is_not_true_is_noticed)
{
    static const struct {
        const char *patch, *broken;
    } cases[] = {
        {PROGRESS(BEGAN ", " ENDED, BEGAN), "updateEndedAt is 2026-01-01T00:00:07Z in one block"},
        {PROGRESS(BEGAN ", updateEndedAt: '2026-01-01T00:00:00Z'",
                  BEGAN ", updateEndedAt: '2026-01-01T00:00:00Z'"),
         "the update of PodCliqueSet s ends when it began"},
        {PROGRESS(BEGAN ", updatedStandalonePodCliques: []", BEGAN ", updatedPodCliques: [a]"),
         "a is said to be updated, and nothing of it is"},
        {PROGRESS(BEGAN ", " ENDED ", updatedPodCliqueScalingGroups: [g]",
                  BEGAN ", " ENDED ", updatedPodCliqueScalingGroups: []"),
         "the update of s ends, and g is not said to be updated"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sim *s = start_rolls(1);
        sim_stop(s, NULL);
        send(s, API_PATCH, &kind_pcs, STR("s"), STR("status"), PROGRESS(BEGAN, BEGAN));
        CHECK_INT(sim_failure(s)->code, 0);
        send(s, API_PATCH, &kind_pcs, STR("s"), STR("status"), cases[i].patch);
        expect_broken(s, cases[i].broken);
    }
}

TEST(an_update_that_is_over_too_soon_is_noticed)
{
    struct sim *s = start_rolls(1);
    struct obj *pod = obj_ref(first_pod(s));
    sim_stop(s, NULL);
    send(s, API_PATCH, &kind_pod, pod->name, STR_NONE,
         "{metadata: {labels: {grove.io/pod-template-hash: other}}}");
    obj_unref(pod);
    send(s, API_PATCH, &kind_pcs, STR("s"), STR("status"),
         "{status: {updateProgress: {updateStartedAt: '2026-01-01T00:00:00Z'}}}");
    CHECK_INT(sim_failure(s)->code, 0);
    send(s, API_PATCH, &kind_pcs, STR("s"), STR("status"),
         "{status: {updateProgress: {updateEndedAt: '2026-01-01T00:00:00Z'}}}");
    expect_broken(s, "the update of s ends, and pod s-0-a-");
}

/* ---- events that no store would publish ---- */

static struct obj *object(uint64_t rv, const char *uid, const char *more)
{
    struct err err = ERR_INIT;
    struct strbuf b = STRBUF_INIT(4096);
    strbuf_printf(&b,
                  "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, uid: %s, "
                  "resourceVersion: '%llu'}%s}",
                  uid, (unsigned long long)rv, more);
    struct doc *d = yaml_parse_one(strbuf_str(&b), &err);
    strbuf_done(&b);
    REQUIRE(d != NULL);
    struct obj *o = obj_new(&kind_pod, d, &err);
    REQUIRE(o != NULL);
    return o;
}

/* Two versions of one object, of revisions 7 and `second`. */
static void expect_events_broken(uint64_t second, const char *uid, const char *before,
                                 const char *after, const char *what)
{
    struct loop *l = loop_new_virtual(1, 0);
    struct invariants *v = invariants_new(&(struct invariants_options){.loop = l});
    struct obj *a = object(7, "u1", before), *b = object(second, uid, after);
    CHECK_INT(invariants_disable(v, STR("capacity"), NULL), 0);
    invariants_event(v, &(struct store_event){STORE_ADDED, 0, 7, a, NULL}, 0);
    CHECK_INT(invariants_failure(v)->code, 0);
    invariants_event(v, &(struct store_event){STORE_MODIFIED, 0, second, b, a}, 0);
    const char *got = invariants_failure(v)->message;
    if (!CHECK(what ? str_find(str_of(got), str_of(what)) >= 0 : !*got))
        test_note("wanted %s, got %s", what ? what : "nothing", got);
    obj_unref(a);
    obj_unref(b);
    invariants_free(v);
    loop_free(l);
}

/* Deadlines and waits, by a clock that nobody sets: what the times in objects say is no excuse. */
TEST(a_deadline_that_passes_too_soon_is_noticed)
{
    struct sim *s = start(2);
    CHECK(sim_advance(s, USEC_PER_MIN));
    send(s, API_PATCH, &kind_pcs, STR("single-node-aggregated"), STR("status"),
         "{status: {updateProgress: {updateStartedAt: '2020-01-01T00:00:00Z', lastProgressAt: "
         "'2020-01-01T00:00:00Z'}, conditions: [{type: Progressing, status: 'False', reason: "
         "ProgressDeadlineExceeded, message: m, lastTransitionTime: '2020-01-01T00:00:00Z'}]}}");
    expect_broken(s, "invariant delays");
}

TEST(a_pod_above_the_number_that_is_given_up_too_soon_is_noticed)
{
    struct sim *s = start(2);
    const struct obj *pod = first_pod(s);
    struct strbuf b = STRBUF_INIT(4096);
    CHECK(sim_advance(s, USEC_PER_MIN));
    CHECK_INT(invariants_disable(sim_invariants(s), STR("indices"), NULL), 0);
    strbuf_printf(&b,
                  "{apiVersion: v1, kind: Pod, metadata: {name: above, labels: "
                  "{grove.io/podclique-pod-index: '7'}, ownerReferences: [{apiVersion: "
                  "grove.io/v1alpha1, kind: PodClique, name: single-node-aggregated-0-model-worker,"
                  " uid: %.*s, controller: true}]}, spec: {schedulingGates: [{name: x/y}], "
                  "containers: [{name: c, image: i}]}}",
                  STR_ARG(pod->owner_uid));
    send(s, API_CREATE, &kind_pod, STR_NONE, STR_NONE, b.p);
    strbuf_done(&b);
    send(s, API_PATCH, &kind_pclq, STR("single-node-aggregated-0-model-worker"), STR("status"),
         "{status: {updateProgress: {podCliqueSetGenerationHash: a, podTemplateHash: b, "
         "updateStartedAt: '2020-01-01T00:00:00Z', surgeTimedOutAt: '2020-01-01T00:00:00Z'}}}");
    expect_broken(s, "invariant delays");
}

TEST(revisions_and_identities_are_watched)
{
    expect_events_broken(8, "u1", "", "", NULL);
    expect_events_broken(9, "u1", "", "", "revisions");
    expect_events_broken(6, "u1", "", "", "revisions");
    expect_events_broken(8, "u2", "", "", "UID");
    expect_events_broken(8, "u1", ", spec: {nodeName: a}", ", spec: {nodeName: a}", NULL);
    expect_events_broken(8, "u1", ", spec: {nodeName: a}", ", spec: {nodeName: b}", "the node of");
}

TEST(a_check_can_be_left_out_and_an_unknown_one_cannot)
{
    struct sim *s = start(2);
    struct err err = ERR_INIT;
    CHECK_INT(invariants_disable(sim_invariants(s), STR("nonsense"), &err), ERR_INVALID);
    CHECK_INT(invariants_disable(sim_invariants(s), STR("replicas"), &err), 0);
    send(s, API_PATCH, &kind_pclq, STR("single-node-aggregated-0-model-worker"), STR_NONE,
         "{spec: {replicas: 3}}");
    CHECK_INT(sim_failure(s)->code, 0);
    sim_free(s);
}

/* ---- the oracle ---- */

#define CLIQUE STR_INIT("single-node-aggregated-0-model-worker")

TEST(the_oracle_finds_what_is_wrong)
{
    static const struct {
        enum api_verb verb;
        const struct kind *kind;
        str name; /* empty: the first pod */
        str subresource;
        const char *body;
        const char *what;
    } table[] = {
        {API_DELETE,
         &kind_service,
         STR_INIT("single-node-aggregated-0"),
         {0},
         NULL,
         "Service single-node-aggregated-0 is missing"},
        {API_DELETE,
         &kind_role,
         STR_INIT("grove.io:pcs:single-node-aggregated"),
         {0},
         NULL,
         "Role grove.io:pcs:single-node-aggregated is missing"},
        {API_DELETE,
         &kind_pod_gang,
         STR_INIT("single-node-aggregated-0"),
         {0},
         NULL,
         "PodGang single-node-aggregated-0 is missing"},
        {API_DELETE, &kind_pod, {0}, {0}, NULL, "has 1 pods and wants 2"},
        {API_PATCH, &kind_pclq, CLIQUE, {0}, "{spec: {replicas: 1}}", "has 2 pods and wants 1"},
        {API_PATCH, &kind_pclq, CLIQUE, STR_INIT("status"), "{status: {readyReplicas: 5}}",
         "status.readyReplicas of PodClique single-node-aggregated-0-model-worker is 5, the truth "
         "is 2"},
        {API_PATCH, &kind_pcs, STR_INIT("single-node-aggregated"), STR_INIT("status"),
         "{status: {availableReplicas: 0}}", "status.availableReplicas of PodCliqueSet"},
        {API_PATCH,
         &kind_pcs,
         STR_INIT("single-node-aggregated"),
         {0},
         "{spec: {replicas: 2}}",
         "Service single-node-aggregated-1 is missing"},
        {API_PATCH, &kind_pcs, STR_INIT("single-node-aggregated"), STR_INIT("status"),
         "{status: {updateProgress: {updateStartedAt: '2026-01-01T00:00:00Z'}, conditions: []}}",
         "does not say how it stands"},
        {API_PATCH, &kind_pcs, STR_INIT("single-node-aggregated"), STR_INIT("status"),
         "{status: {updateProgress: {updateStartedAt: '2026-01-01T00:00:00Z'}, conditions: [{type: "
         "Progressing, status: 'True', reason: Updating, message: m, lastTransitionTime: "
         "'2026-01-01T00:00:00Z'}]}}",
         "is not over, and nothing stands in its way"},
        {API_CREATE,
         &kind_service,
         STR_INIT("stray"),
         {0},
         "{apiVersion: v1, kind: Service, metadata: {name: stray, labels: "
         "{app.kubernetes.io/managed-by: grove-operator}}, spec: {clusterIP: None}}",
         "Service stray is left over"},
        {API_PATCH,
         &kind_pod_gang,
         STR_INIT("single-node-aggregated-0"),
         {0},
         "{spec: {podgroups: [{name: single-node-aggregated-0-model-worker, minReplicas: 2, "
         "podReferences: []}]}}",
         "names 0 pods"},
        {API_PATCH,
         &kind_pod,
         {0},
         STR_INIT("status"),
         "{status: {phase: Failed}}",
         "there although it has finished"},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct sim *s = start(2);
        struct err err = ERR_INIT;
        sim_stop(s, NULL);
        struct obj *pod = obj_ref(first_pod(s));
        str name = str_is_empty(table[i].name) ? pod->name : table[i].name;
        send(s, table[i].verb, table[i].kind, name, table[i].subresource, table[i].body);
        CHECK(oracle_check(s, &err) != 0);
        if (!CHECK(str_find(str_of(err.message), str_of(table[i].what)) >= 0))
            test_note("wanted %s, got %s", table[i].what, err.message);
        obj_unref(pod);
        sim_free(s);
    }
}

/* ---- starts ---- */

/* c waits for a, which is never ready, by the type, for b of its group, and for d of another. */
#define ORDERED(type)                                                                              \
    "apiVersion: grove.io/v1alpha1\n"                                                              \
    "kind: PodCliqueSet\n"                                                                         \
    "metadata: {name: s}\n"                                                                        \
    "spec:\n"                                                                                      \
    "  replicas: 1\n"                                                                              \
    "  template:\n"                                                                                \
    "    cliqueStartupType: CliqueStartupType" type "\n"                                           \
    "    cliques:\n"                                                                               \
    "    - {name: d, spec: {replicas: 1, podSpec: &p {containers: [{name: m, image: i}]}}}\n"      \
    "    - {name: a, annotations: {simulation.grove.io/ready: 24h}, spec: {replicas: 1, podSpec: " \
    "*p}}\n"                                                                                       \
    "    - {name: c, spec: {replicas: 1, startsAfter: [d, b, a], podSpec: *p}}\n"                  \
    "    - {name: b, spec: {replicas: 1, podSpec: *p}}\n"                                          \
    "    podCliqueScalingGroups:\n"                                                                \
    "    - {name: g, cliqueNames: [b, c], replicas: 2, minAvailable: 1}\n"                         \
    "    - {name: h, cliqueNames: [d], replicas: 2, minAvailable: 1}\n"

static struct sim *start_ordered(const char *yaml)
{
    struct err err = ERR_INIT;
    struct sim_options o = {.seed = 1, .nodes = nodes_defaults, .faults = sim_default_faults};
    o.nodes.count = 4;
    struct sim *s = sim_new(&o, &err);
    REQUIRE(s != NULL);
    CHECK_INT(sim_apply_yaml(s, str_of(yaml), &err), 0);
    REQUIRE(sim_settle(s, LIMIT));
    REQUIRE(sim_advance(s, USEC_PER_MIN));
    CHECK_CSTR(str_of(sim_failure(s)->message), "");
    return s;
}

static const struct obj *pod_of(struct sim *s, const char *clique)
{
    struct store_iter it = store_range(sim_store(s), &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    struct obj *o;
    while ((o = store_next(&it)) && !str_is(obj_label(o, STR(LABEL_PCLQ)), clique))
        ;
    REQUIRE(o != NULL);
    return o;
}

/* As a node that does not keep the order would say it. */
static void let_through(struct sim *s, const char *clique)
{
    send(s, API_PATCH, &kind_pod, pod_of(s, clique)->name, STR("status"),
         "{status: {phase: Running}}");
}

TEST(a_pod_that_starts_before_its_parents_is_noticed)
{
    static const char *const sets[] = {ORDERED("InOrder"), ORDERED("Explicit")};
    static const char *const cliques[] = {"s-0-g-0-c", "s-0-g-1-c"}; /* base and scaled */
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        for (size_t k = 0; k < ARRAY_LEN(cliques); k++) {
            struct sim *s = start_ordered(sets[i]);
            let_through(s, cliques[k]);
            expect_broken(s, "invariant starts");
        }
    }
}

/* In its own group it is its own replica that counts, in another the replicas of the minimum. */
TEST(which_parents_count_is_noticed)
{
    static const struct {
        const char *gone; /* clique whose pods go: others of it stay ready */
        bool broken;
    } cases[] = {
        {"s-0-g-1-b", true}, {"s-0-g-0-b", false}, {"s-0-h-0-d", true}, {"s-0-h-1-d", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        struct sim *s = start_ordered(ORDERED("Explicit"));
        sim_stop(s, NULL);
        const struct obj *a = pod_of(s, "s-0-a"), *gone = pod_of(s, cases[i].gone);
        send(s, API_PATCH, &kind_pod, a->name, STR("status"),
             "{status: {conditions: [{type: Ready, status: 'True'}]}}");
        CHECK_INT(sim_delete_so(s, &kind_pod, gone->ns, gone->name, API_BACKGROUND, 0, &err), 0);
        (void)sim_advance(s, USEC_PER_MIN);
        let_through(s, "s-0-g-1-c");
        if (!CHECK_INT(sim_failure(s)->code != 0, cases[i].broken))
            test_note("%s: %s", cases[i].gone, sim_failure(s)->message);
        sim_free(s);
    }
}

TEST(who_waits_for_nobody_starts_when_it_likes)
{
    struct sim *s = start_ordered(ORDERED("AnyOrder"));
    CHECK(str_is(jstr(jgetc(obj_status(pod_of(s, "s-0-g-0-c")), "phase")), "Running"));
    CHECK_INT(sim_failure(s)->code, 0);
    sim_free(s);
}

/* What happens to parents of a pod that was let through is no matter of order. */
TEST(a_parent_that_goes_later_breaks_nothing)
{
    struct err err = ERR_INIT;
    struct sim *s = start_ordered(ORDERED("InOrder"));
    CHECK_INT(sim_scale(s, &kind_pclq, STR("default"), STR("s-0-a"), 0, &err), 0);
    CHECK(sim_settle(s, LIMIT));
    CHECK(str_is(jstr(jgetc(obj_status(pod_of(s, "s-0-g-1-c")), "phase")), "Running"));
    CHECK_INT(sim_scale(s, &kind_pclq, STR("default"), STR("s-0-a"), 1, &err), 0);
    CHECK(sim_settle(s, LIMIT));
    CHECK_CSTR(str_of(sim_failure(s)->message), "");
    sim_free(s);
}
