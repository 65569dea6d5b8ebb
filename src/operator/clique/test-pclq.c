/* The PodClique planner: writes that failed or may still happen, claims that pods share, and the
 * end of a clique. */
#include "base/test.h"
#include "grove/names.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

/* ---- errors ---- */

static struct failures quota(const char *message)
{
    return (struct failures){.row = 1,
                             .n = 1,
                             .items = {{.op = PLAN_CREATE,
                                        .kind = &kind_pod,
                                        .ns = STR("default"),
                                        .name = STR("svc-0-fe-abcde"),
                                        .code = 403,
                                        .reason = STR("Forbidden"),
                                        .message = str_of(message)}}};
}

static struct ring with_cliques(void)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    return r;
}

static size_t count_events(struct ring *r, const char *reason)
{
    size_t n = 0;
    for (size_t i = 0; i < r->world->plan.events.len; i++)
        n += str_is(r->world->plan.events.p[i].reason, reason);
    return n;
}

/* X-21, T46: the status says it although the pods still cannot be made, and no longer when they
 * can. */
TEST(a_failed_create_is_in_the_status_before_it_is_tried_again)
{
    struct ring r = with_cliques();
    struct failures f = quota("exceeded quota: q, used: pods=10, limited: pods=10");
    r.world->world.failed = &f;
    ring_plan_pclq(&r, "svc-0-fe");
    const struct plan_write *status = tw_write(r.world, &kind_pclq, "svc-0-fe", "status");
    REQUIRE(status);
    CHECK_INT(count_events(&r, "PodCreateFailed"), 1);
    for (size_t i = 0; i < r.world->plan.writes.len; i++) {
        const struct plan_write *w = &r.world->plan.writes.p[i];
        CHECK(w == status || w->stage > status->stage);
    }
    jval e = jat(jpath(doc_root(status->body), "status.lastErrors"), 0);
    CHECK_CSTR(jstr(jgetc(e, "code")), "ERR_CREATE_POD");
    CHECK_CSTR(jstr(jgetc(e, "description")),
               "[Operation: Create, Code: ERR_CREATE_POD] message: Pod default/svc-0-fe-abcde "
               "failed, cause: exceeded quota: q, used: pods=10, limited: pods=10");
    CHECK_CSTR(jstr(jgetc(e, "observedAt")), "2026-01-01T00:00:00Z");
    ring_free(&r);
}

TEST(a_create_that_fails_the_same_way_again_changes_nothing)
{
    struct ring r = with_cliques();
    struct failures f = quota("no");
    ring_plan_pclq(&r, "svc-0-fe");
    tw_carry_out(r.world);
    r.world->world.failed = &f;
    ring_plan_pclq(&r, "svc-0-fe");
    tw_carry_out(r.world);
    r.world->world.now += USEC_PER_MIN;
    CHECK(plan_is_empty(ring_plan_pclq(&r, "svc-0-fe")));
    f = quota("not even now");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_events(&r, "PodCreateFailed"), 1);
    tw_carry_out(r.world);
    r.world->world.failed = NULL;
    ring_plan_pclq(&r, "svc-0-fe");
    tw_carry_out(r.world);
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "svc-0-fe"), "status.lastErrors"), "[]");
    CHECK(plan_is_empty(ring_plan_pclq(&r, "svc-0-fe")));
    ring_free(&r);
}

TEST(a_server_that_was_busy_once_is_no_error)
{
    struct ring r = with_cliques();
    struct failures f = quota("slow down");
    f.items[0].code = 429;
    r.world->world.failed = &f;
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_CSTR(
        jtext(jpath(tw_body(r.world, &kind_pclq, "svc-0-fe", "status"), "status.lastErrors")), "");
    f.row = 3;
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(jlen(jpath(tw_body(r.world, &kind_pclq, "svc-0-fe", "status"), "status.lastErrors")),
              1);
    ring_free(&r);
}

/* ---- claims ---- */

#define CONTAINER "{name: m, image: i, resources: {limits: {cpu: 1}, claims: [{name: mine}]}}"
#define SHARED                                                                                    \
    "apiVersion: grove.io/v1alpha1\n"                                                             \
    "kind: PodCliqueSet\n"                                                                        \
    "metadata: {name: s, uid: s-uid}\n"                                                           \
    "spec:\n"                                                                                     \
    "  replicas: 1\n"                                                                             \
    "  template:\n"                                                                               \
    "    cliqueStartupType: CliqueStartupTypeExplicit\n"                                          \
    "    resourceClaimTemplates: [{name: pool, templateSpec: {spec: {devices: {}}}}]\n"           \
    "    resourceSharing: [{name: pool, scope: PerReplica, filter: {childScalingGroupNames: "     \
    "[g]}}, {name: pool, scope: AllReplicas}]\n"                                                  \
    "    cliques:\n"                                                                              \
    "    - name: a\n"                                                                             \
    "      spec: {podSpec: {containers: [{name: m, image: i}]}}\n"                                \
    "    - name: b\n"                                                                             \
    "      resourceSharing: [{name: pool, scope: PerReplica}, {name: ext, scope: AllReplicas}]\n" \
    "      spec: {replicas: 2, startsAfter: [c], podSpec: {resourceClaims: [{name: mine, "        \
    "resourceClaimName: x}], initContainers: [{name: k, image: i}], containers: [" CONTAINER      \
    "]}}\n"                                                                                       \
    "    - name: c\n"                                                                             \
    "      spec: {podSpec: {containers: [{name: m, image: i}]}}\n"                                \
    "    podCliqueScalingGroups:\n"                                                               \
    "    - {name: g, cliqueNames: [b, c], resourceSharing: [{name: pool, scope: AllReplicas}, "   \
    "{name: pool, scope: PerReplica, filter: {childCliqueNames: [c]}}]}\n"

#define EXT                                                                                \
    "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: ext}\n" \
    "spec: {spec: {devices: {}}}\n"

static const struct obj *pod_of(struct ring *r, const char *clique, const char *index)
{
    struct cache_iter it =
        world_owned(&r->world->world, &kind_pod, tw_must(r->world, &kind_pclq, clique)->uid);
    for (struct obj *o; (o = cache_next(&it));) {
        if (str_is(obj_label(o, STR("grove.io/podclique-pod-index")), index))
            return o;
    }
    return NULL;
}

static jval container(const struct obj *pod)
{
    return jat(jpath(obj_root(pod), "spec.containers"), 0);
}

/* RS-1: behind the user's own, in the order of the levels, for all and then for one; not in the
 * container that waits. */
TEST(pods_use_the_claims_of_their_levels)
{
    struct ring r = ring_new();
    tw_load(r.world, SHARED);
    tw_load(r.world, EXT);
    ring_live(&r);
    const struct obj *a = pod_of(&r, "s-0-a", "0"), *b = pod_of(&r, "s-0-g-0-b", "1");
    REQUIRE(a && b);
    check_yaml(jpath(obj_root(a), "spec.resourceClaims"),
               "[{name: s-all-pool, resourceClaimName: s-all-pool}]");
    check_yaml(jgetc(container(a), "resources"), "{claims: [{name: s-all-pool}]}");
    check_yaml(jpath(obj_root(b), "spec.resourceClaims"),
               "[{name: mine, resourceClaimName: x},"
               " {name: s-all-pool, resourceClaimName: s-all-pool},"
               " {name: s-0-pool, resourceClaimName: s-0-pool},"
               " {name: s-0-g-all-pool, resourceClaimName: s-0-g-all-pool},"
               " {name: s-0-g-0-b-all-ext, resourceClaimName: s-0-g-0-b-all-ext},"
               " {name: s-0-g-0-b-1-pool, resourceClaimName: s-0-g-0-b-1-pool}]");
#define CLAIMS                                                      \
    "{name: s-all-pool}, {name: s-0-pool}, {name: s-0-g-all-pool}," \
    " {name: s-0-g-0-b-all-ext}, {name: s-0-g-0-b-1-pool}]}"
    check_yaml(jgetc(container(b), "resources"),
               "{limits: {cpu: 1}, claims: [{name: mine}, " CLAIMS);
    jval init = jpath(obj_root(b), "spec.initContainers");
    CHECK_INT(jlen(init), 2);
    check_yaml(jgetc(jat(init, 0), "resources"), "{claims: [" CLAIMS);
    CHECK_CSTR(jstr(jgetc(jat(init, 1), "name")), "grove-initc");
    CHECK(j_is_absent(jpath(jat(init, 1), "resources.claims")));
    CHECK(tw_get(r.world, &kind_resource_claim, "s-0-g-0-b-all-ext"));
    CHECK(tw_get(r.world, &kind_resource_claim, "s-0-g-0-b-1-pool"));
    ring_free(&r);
}

/* Who stays is not decided by its number: what it uses stays with it, and goes with it. */
TEST(a_claim_stays_as_long_as_the_pod_that_uses_it)
{
    struct ring r = ring_new();
    struct arena names = ARENA_INIT;
    tw_load(r.world, SHARED);
    tw_load(r.world, EXT);
    ring_live(&r);
    const char *first = arena_str(&names, pod_of(&r, "s-0-g-0-b", "0")->name).p;
    const char *second = arena_str(&names, pod_of(&r, "s-0-g-0-b", "1")->name).p;
    tw_patch(r.world, &kind_pod, first,
             "{status: {phase: Pending, conditions: [{type: Ready, status: 'False'}]}}");
    tw_patch(r.world, &kind_pclq, "s-0-g-0-b", "{spec: {replicas: 1}}");
    ring_live(&r);
    CHECK(tw_get(r.world, &kind_pod, first) == NULL);
    CHECK(tw_get(r.world, &kind_pod, second) != NULL);
    CHECK(tw_get(r.world, &kind_resource_claim, "s-0-g-0-b-1-pool") != NULL);
    tw_remove(r.world, &kind_pod, second);
    ring_live(&r);
    CHECK(pod_of(&r, "s-0-g-0-b", "0") != NULL);
    CHECK(tw_get(r.world, &kind_resource_claim, "s-0-g-0-b-0-pool") != NULL);
    CHECK(tw_get(r.world, &kind_resource_claim, "s-0-g-0-b-1-pool") == NULL);
    arena_done(&names);
    ring_free(&r);
}

TEST(pods_wait_for_the_template_of_their_claims)
{
    struct ring r = ring_new();
    tw_load(r.world, SHARED);
    ring_live(&r);
    CHECK(pod_of(&r, "s-0-g-0-c", "0"));
    CHECK(!pod_of(&r, "s-0-g-0-b", "0"));
    ring_plan_pclq(&r, "s-0-g-0-b");
    CHECK_INT(count_events(&r, "ResourceClaimTemplateNotFound"), 1);
    tw_load(r.world, EXT);
    ring_live(&r);
    CHECK(pod_of(&r, "s-0-g-0-b", "0") && pod_of(&r, "s-0-g-0-b", "1"));
    ring_free(&r);
}

/* The names of claims in a pod are labels of DNS: long ones are cut for the pod only. */
TEST(claims_with_long_names_have_short_ones_in_the_pod)
{
#define LONG "a-very-long-name-of-a-pool-of-devices-that-goes-on-and-on-and-on"
    struct ring r = ring_new();
    tw_load(r.world,
            "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: s}\n"
            "spec: {replicas: 1, template: {resourceClaimTemplates: [{name: " LONG
            ", templateSpec: {spec: {devices: {}}}}], resourceSharing: [{name: " LONG
            ", scope: AllReplicas}], cliques: [{name: a, spec: {podSpec: {containers: [{name: m, "
            "image: i}]}}}]}}\n");
    ring_live(&r);
    const struct obj *pod = pod_of(&r, "s-0-a", "0");
    REQUIRE(pod);
    jval claim = jat(jpath(obj_root(pod), "spec.resourceClaims"), 0);
    CHECK_CSTR(jstr(jgetc(claim, "resourceClaimName")), "s-all-" LONG);
    CHECK(jstr(jgetc(claim, "name")).len <= 63);
    jval used = jat(jpath(container(pod), "resources.claims"), 0);
    CHECK(str_eq(jstr(jgetc(used, "name")), jstr(jgetc(claim, "name"))));
    ring_free(&r);
}

/* Those of objects end at 253, and claims and pods agree on what is left of longer ones. */
TEST(claims_with_the_longest_names_are_found_by_their_pods)
{
    struct ring r = ring_new();
    struct arena a = ARENA_INIT;
    char *set = arena_alloc(&a, 241);
    memset(set, 's', 240);
    set[240] = '\0';
    tw_loadf(r.world,
             "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: %s}\n"
             "spec: {replicas: 1, template: {resourceClaimTemplates: [{name: " LONG
             ", templateSpec: {spec: {devices: {}}}}], resourceSharing: [{name: " LONG
             ", scope: AllReplicas}, {name: " LONG
             ", scope: PerReplica}], cliques: [{name: a, spec: {podSpec: {containers: [{name: m, "
             "image: i}]}}}]}}\n",
             set);
    ring_live(&r);
    CHECK_INT(tw_count(r.world, &kind_resource_claim), 2);
    const struct obj *pod = pod_of(&r, name_pclq(&a, str_of(set), 0, STR("a")).p, "0");
    REQUIRE(pod);
    jval claims = jpath(obj_root(pod), "spec.resourceClaims");
    CHECK_INT(jlen(claims), 2);
    for (struct jiter it = jiter(claims); jnext(&it);) {
        str name = arena_str(&a, jstr(jgetc(it.value, "resourceClaimName")));
        CHECK(name.len <= 253 && str_ends(name, STR(LONG)));
        CHECK(tw_get(r.world, &kind_resource_claim, name.p) != NULL);
    }
    arena_done(&a);
    ring_free(&r);
}

/* ---- names ---- */

static const char *fe_name(struct ring *r, int64_t index, unsigned n)
{
    static struct arena names = ARENA_INIT;
    const struct obj *o = tw_must(r->world, &kind_pclq, "svc-0-fe");
    return name_pod(&names, o->name, o->uid, index, n).p;
}

/* A create of its successor is on its way and unheard of, under a name that is not the next one:
 * the next plan asks for the same successor, not for another one. */
TEST(a_successor_that_may_still_come_is_asked_for_by_its_name)
{
    struct ring r = with_cliques();
    ring_plan_pclq(&r, "svc-0-fe");
    tw_carry_out(r.world);
    const char *first = fe_name(&r, 1, 0), *next = fe_name(&r, 1, 1), *sent = fe_name(&r, 1, 2);
    tw_delete(r.world, &kind_pod, first);
    if (tw_get(r.world, &kind_pod, first)) /* without a node it goes at once */
        tw_remove(r.world, &kind_pod, first);
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK(tw_write(r.world, &kind_pod, next, "") != NULL);
    runtime_note_unsure(r.world->runtime, &kind_pod, STR("default"), str_of(sent));
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK(tw_write(r.world, &kind_pod, next, "") == NULL);
    CHECK(tw_write(r.world, &kind_pod, sent, "") != NULL);
    tw_carry_out(r.world);
    CHECK(tw_get(r.world, &kind_pod, sent) != NULL);
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK(tw_write(r.world, &kind_pod, next, "") == NULL);
    ring_free(&r);
}

/* ---- endings ---- */

/* All of its life up to the moment somebody deletes svc-0-fe: three pods on nodes. */
static struct ring going(void)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_delete(r.world, &kind_pclq, "svc-0-fe");
    return r;
}

static size_t count_deletes(struct ring *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->world->plan.writes.len; i++) {
        const struct plan_write *w = &r->world->plan.writes.p[i];
        n += w->kind == &kind_pod && w->op == PLAN_DELETE;
    }
    return n;
}

static bool releases(struct ring *r)
{
    return tw_write(r->world, &kind_pclq, "svc-0-fe", "") != NULL;
}

/* The gang that had them says first that it has them no more. */
static void let_go(struct ring *r)
{
    ring_plan_gang(r, "svc-0");
    tw_carry_out(r->world);
}

/* its name is free for a successor only when its pods count for nobody any more. */
TEST(a_clique_takes_leave_of_its_pods_before_it_goes)
{
    struct ring r = going();
    let_go(&r);
    ring_plan_pclq(&r, "svc-0-fe");
    const struct plan_write *release = tw_write(r.world, &kind_pclq, "svc-0-fe", "");
    REQUIRE(release);
    CHECK_INT(count_deletes(&r), 3);
    CHECK_INT(r.world->plan.writes.len, 4);
    CHECK_INT(r.world->plan.events.len, 0);
    for (size_t i = 0; i < r.world->plan.writes.len; i++) {
        const struct plan_write *w = &r.world->plan.writes.p[i];
        if (w == release)
            continue;
        /* The owner's end is nobody's to refuse; and it is a pod of its own, as it was seen. */
        CHECK(w->stage < release->stage && w->user_scale_in && w->rv > 0);
        CHECK(str_eq(w->component_uid, tw_must(r.world, &kind_pclq, "svc-0-fe")->uid));
        CHECK_CSTR(w->why, "its clique svc-0-fe is being deleted");
    }
    tw_carry_out(r.world);
    CHECK(tw_get(r.world, &kind_pclq, "svc-0-fe") == NULL);
    ring_free(&r);
}

/* A pod that takes its time holds nobody up. */
TEST(pods_that_are_going_do_not_hold_their_clique)
{
    struct ring r = going();
    let_go(&r);
    for (int64_t i = 0; i < 3; i++)
        tw_delete(r.world, &kind_pod, fe_name(&r, i, 0));
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_CSTR(tw_writes(r.world), "patch PodClique default/svc-0-fe\n");
    ring_free(&r);
}

TEST(a_clique_deleted_without_its_pods_leaves_them)
{
    struct ring r = going();
    tw_patch(r.world, &kind_pclq, "svc-0-fe",
             "{metadata: {finalizers: [grove.io/podclique.grove.io, orphan]}}");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_CSTR(tw_writes(r.world), "patch PodClique default/svc-0-fe\n");
    CHECK_CSTR(jtext(jpath(tw_body(r.world, &kind_pclq, "svc-0-fe", ""), "metadata.finalizers")),
               "[\"orphan\"]");
    ring_free(&r);
}

TEST(many_pods_are_taken_leave_of_in_several_plans)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 1200}}");
    for (int i = 0; i < 3; i++) {
        ring_plan_pclq(&r, "svc-0-fe");
        tw_carry_out(r.world);
    }
    tw_delete(r.world, &kind_pclq, "svc-0-fe");
    for (int i = 0; i < 3; i++) {
        ring_plan_pclq(&r, "svc-0-fe");
        CHECK_INT(count_deletes(&r), i < 2 ? 500 : 200);
        CHECK(releases(&r) == (i == 2));
        tw_carry_out(r.world);
    }
    CHECK(tw_get(r.world, &kind_pclq, "svc-0-fe") == NULL);
    ring_free(&r);
}

/* Who may not delete them leaves them to the garbage collector instead of waiting for ever; who is
 * told to come again comes again. */
TEST(pods_that_must_not_be_deleted_do_not_hold_their_clique)
{
    static const struct {
        int code;
        size_t deletes;
    } cases[] = {{403, 0}, {422, 0}, {429, 3}, {500, 3}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ring r = going();
        let_go(&r);
        struct failures f = quota("no");
        f.row = 3;
        f.items[0].op = PLAN_DELETE;
        f.items[0].code = cases[i].code;
        r.world->world.failed = &f;
        ring_plan_pclq(&r, "svc-0-fe");
        CHECK_INT(count_deletes(&r), cases[i].deletes);
        CHECK(releases(&r));
        ring_free(&r);
    }
}

/* Gangs go no later than their pods, and one that stays says first that it has them no more. But
 * nobody waits for it for long. */
TEST(pods_of_a_clique_that_goes_wait_for_their_gang_a_moment)
{
    struct ring r = going();
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(r.world->plan.writes.len, 0);
    CHECK(tw_look_at(r.world) > r.world->world.now);
    r.world->world.now += 6 * USEC_PER_SEC;
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_deletes(&r), 3);
    ring_free(&r);
}

/* That it has them no more is not enough where all of it is to go. */
TEST(pods_of_a_replica_that_goes_wait_until_their_gang_is_gone)
{
    struct ring r = going();
    let_go(&r);
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {replicas: 0}}");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(r.world->plan.writes.len, 0);
    tw_remove(r.world, &kind_pod_gang, "svc-0");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_deletes(&r), 3);
    ring_free(&r);
}

/* Where a map rules it says which gangs go, not the numbers of a group, which may be gone for a
 * moment: a gang that stays is waited for until it has the pods no more. */
TEST(pods_wait_for_the_end_of_a_gang_that_the_map_has_no_more)
{
    static const char gang[] = "svc-0-1767225600000000001-pf-2", clique[] = "svc-0-pf-2-pl";
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {updateStrategy: {type: Coherent}}}");
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    tw_plan(r.world, gangmap_plan, NULL, &kind_pod_gang_map, "svc-0");
    tw_carry_out(r.world);
    tw_plan(r.world, gangmap_plan, NULL, &kind_pod_gang_map, "svc-1");
    tw_carry_out(r.world);
    ring_live(&r);
    tw_remove(r.world, &kind_pcsg, "svc-0-pf");
    tw_delete(r.world, &kind_pclq, clique);
    ring_plan_pclq(&r, clique);
    CHECK_INT(r.world->plan.writes.len, 0);
    ring_plan_gang(&r, gang);
    tw_carry_out(r.world);
    ring_plan_pclq(&r, clique);
    CHECK_INT(count_deletes(&r), 1);
    tw_patch(r.world, &kind_pod_gang_map, "svc-0", "{spec: {entries: []}}");
    ring_plan_pclq(&r, clique);
    CHECK_INT(r.world->plan.writes.len, 0);
    tw_remove(r.world, &kind_pod_gang, gang);
    ring_plan_pclq(&r, clique);
    CHECK_INT(count_deletes(&r), 1);
    ring_free(&r);
}

/* A gang is waited for because of pods. */
TEST(a_clique_without_pods_waits_for_no_gang)
{
    struct ring r = going();
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {replicas: 0}}");
    for (int64_t i = 0; i < 3; i++)
        tw_delete(r.world, &kind_pod, fe_name(&r, i, 0));
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK(releases(&r));
    ring_free(&r);
}

/* Of a set that is gone nobody looks after gangs. */
TEST(pods_of_a_set_that_is_gone_wait_for_no_gang)
{
    struct ring r = going();
    tw_remove(r.world, &kind_pcs, "svc");
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(count_deletes(&r), 3);
    CHECK(releases(&r));
    ring_free(&r);
}
