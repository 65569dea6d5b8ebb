/* The planner of maps: how a map comes to be, that a repeated plan changes nothing, and scaling. */
#include "base/test.h"
#include "operator/common/gangmap_units.h"
#include "operator/common/gangmap_world.h"
#include "operator/common/rollup.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

/* The worked example with two replicas, updated coherently. */
#define COHERENT "{spec: {updateStrategy: {type: Coherent}}}"

static struct ring coherent_ring(void)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    tw_patch(r.world, &kind_pcs, "svc", COHERENT);
    return r;
}

static struct plan *plan_map(struct ring *r, const char *name)
{
    return tw_plan(r->world, gangmap_plan, NULL, &kind_pod_gang_map, name);
}

/* The gangs that the map means. */
static jval entry_at(struct ring *r, const char *map, size_t i)
{
    return jat(gang_list(&r->world->arena, tw_must(r->world, &kind_pod_gang_map, map)), i);
}

static size_t count_entries(struct ring *r, const char *map)
{
    return jlen(gang_list(&r->world->arena, tw_must(r->world, &kind_pod_gang_map, map)));
}

static void make_maps(struct ring *r)
{
    ring_plan_pcs(r, "svc");
    tw_carry_out(r->world);
    plan_map(r, "svc-0");
    tw_carry_out(r->world);
    plan_map(r, "svc-1");
    tw_carry_out(r->world);
}

TEST(gangmap_of_a_new_set_is_one_gang_of_all_and_one_for_each_more)
{
    struct ring r = coherent_ring();
    make_maps(&r);
    /* fe 3 pods; pf 3 replicas, 1 at least. */
    CHECK_INT(count_entries(&r, "svc-0"), 3);
    CHECK_CSTR(jtext(jgetc(entry_at(&r, "svc-0", 0), "podCliques")), "{\"fe\":3}");
    CHECK_CSTR(jtext(jgetc(entry_at(&r, "svc-0", 0), "pcsgReplicaIndices")), "{\"pf\":[0]}");
    CHECK_CSTR(jtext(jgetc(entry_at(&r, "svc-0", 2), "pcsgReplicaIndices")), "{\"pf\":[2]}");
    CHECK(j_is_absent(jgetc(entry_at(&r, "svc-0", 0), "dependsOn")));
    CHECK(j_has(jgetc(entry_at(&r, "svc-0", 1), "dependsOn")));
    /* 2026-01-01 in nanoseconds, then one after the other. */
    CHECK_CSTR(jstr(jgetc(entry_at(&r, "svc-0", 0), "name")), "svc-0-1767225600000000000");
    CHECK_CSTR(jstr(jgetc(entry_at(&r, "svc-0", 2), "name")), "svc-0-1767225600000000001-pf-2");
    ring_free(&r);
}

TEST(gangmap_planned_again_is_the_same)
{
    struct ring r = coherent_ring();
    make_maps(&r);
    r.world->world.now += 5 * USEC_PER_SEC;
    CHECK_INT(plan_map(&r, "svc-0")->writes.len, 0);
    CHECK_INT(plan_map(&r, "svc-1")->writes.len, 0);
    /* Nobody asked for a third, and other sets have none. */
    CHECK_INT(plan_map(&r, "svc-2")->writes.len, 0);
    ring_free(&r);
}

TEST(gangmap_waits_for_the_stored_revision)
{
    struct ring r = coherent_ring();
    CHECK_INT(plan_map(&r, "svc-0")->writes.len, 0);
    ring_free(&r);
}

TEST(gangmap_is_for_coherent_updates_only)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    CHECK_INT(plan_map(&r, "svc-0")->writes.len, 0);
    ring_free(&r);
}

/* A set that is not coherent any more keeps its maps; users may have deleted that of the first
 * replica. */
TEST(gangmaps_of_a_set_are_not_only_that_of_its_first_replica)
{
    struct ring r = coherent_ring();
    const struct world *w = &r.world->world;
    CHECK(gangmap_rules_any(w, tw_must(r.world, &kind_pcs, "svc")));
    make_maps(&r);
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {updateStrategy: {type: RollingRecreate}}}");
    tw_remove(r.world, &kind_pod_gang_map, "svc-0");
    CHECK(gangmap_rules_any(w, tw_must(r.world, &kind_pcs, "svc")));
    tw_remove(r.world, &kind_pod_gang_map, "svc-1");
    CHECK(!gangmap_rules_any(w, tw_must(r.world, &kind_pcs, "svc")));
    ring_free(&r);
}

TEST(gangmap_keeps_the_gangs_of_before)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_patch(r.world, &kind_pcs, "svc", COHERENT);
    plan_map(&r, "svc-0");
    tw_carry_out(r.world);
    CHECK_INT(count_entries(&r, "svc-0"), 3);
    CHECK_CSTR(jstr(jgetc(entry_at(&r, "svc-0", 0), "name")), "svc-0");
    CHECK_CSTR(jstr(jgetc(entry_at(&r, "svc-0", 1), "name")), "svc-0-pf-0");
    CHECK_CSTR(jtext(jgetc(entry_at(&r, "svc-0", 1), "pcsgReplicaIndices")), "{\"pf\":[1]}");
    CHECK_CSTR(jstr(jgetc(entry_at(&r, "svc-0", 0), "role")), "Anchor");
    ring_free(&r);
}

TEST(gangmap_that_was_lost_comes_back_from_the_mappings)
{
    static const char first[] = "svc-0-1767225600000000000";
    static const char second[] = "svc-0-1767225600000000001-pf-1";
    static const char third[] = "svc-0-1767225600000000001-pf-2";
    struct ring r = coherent_ring();
    make_maps(&r);
    static const char *const gangs[] = {first, second, third};
    for (size_t i = 0; i < ARRAY_LEN(gangs); i++) {
        ring_plan_gang(&r, gangs[i]);
        tw_carry_out(r.world);
    }
    struct arena a = ARENA_INIT;
    str before = arena_str(&a, tw_json(tw_must(r.world, &kind_pod_gang_map, "svc-0"), "spec"));
    tw_remove(r.world, &kind_pod_gang_map, "svc-0");
    char fe[128], pf[192];
    (void)snprintf(fe, sizeof(fe), "{status: {podGangMapping: {%s: 3}}}", first);
    (void)snprintf(pf, sizeof(pf), "{status: {podGangMapping: {%s: [0], %s: [2], %s: [1]}}}", first,
                   third, second);
    tw_patch(r.world, &kind_pclq, "svc-0-fe", fe);
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", pf);
    r.world->world.now += USEC_PER_MIN;
    plan_map(&r, "svc-0");
    tw_carry_out(r.world);
    CHECK_STR(tw_json(tw_must(r.world, &kind_pod_gang_map, "svc-0"), "spec"), before);
    arena_done(&a);
    ring_free(&r);
}

/* A gang that the mappings name is gone: what was in it is wanted all the same. */
TEST(a_map_that_comes_back_wants_as_many_as_are_wanted)
{
    static const char second[] = "svc-0-1767225600000000001-pf-1";
    struct ring r = coherent_ring();
    make_maps(&r);
    char pf[128];
    ring_plan_gang(&r, second);
    tw_carry_out(r.world);
    tw_remove(r.world, &kind_pod_gang_map, "svc-0");
    (void)snprintf(pf, sizeof(pf), "{status: {podGangMapping: {%s: [1]}}}", second);
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{status: {podGangMapping: {gone: 3}}}");
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", pf);
    plan_map(&r, "svc-0");
    tw_carry_out(r.world);
    CHECK_INT(count_entries(&r, "svc-0"), 4);
    CHECK_CSTR(jstr(jgetc(entry_at(&r, "svc-0", 0), "name")), second);
    CHECK_CSTR(jtext(jgetc(entry_at(&r, "svc-0", 0), "pcsgReplicaIndices")), "{\"pf\":[1]}");
    CHECK_CSTR(jtext(jgetc(entry_at(&r, "svc-0", 1), "podCliques")), "{\"fe\":3}");
    CHECK_CSTR(jtext(jgetc(entry_at(&r, "svc-0", 2), "pcsgReplicaIndices")), "{\"pf\":[0]}");
    CHECK_CSTR(jtext(jgetc(entry_at(&r, "svc-0", 3), "pcsgReplicaIndices")), "{\"pf\":[2]}");
    ring_free(&r);
}

/* A set that is scaled to nothing has a map without gangs. */
TEST(gangmap_has_no_gang_that_holds_nothing)
{
    struct ring r = coherent_ring();
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 0}}");
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{spec: {replicas: 0}}");
    plan_map(&r, "svc-0");
    tw_carry_out(r.world);
    CHECK_INT(count_entries(&r, "svc-0"), 0);
    ring_free(&r);
}

TEST(gangmap_follows_scaling_and_the_last_replicas_end)
{
    struct ring r = coherent_ring();
    make_maps(&r);
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{spec: {replicas: 4}}");
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 5}}");
    plan_map(&r, "svc-0");
    tw_carry_out(r.world);
    CHECK_INT(count_entries(&r, "svc-0"), 4);
    CHECK_CSTR(jtext(jgetc(entry_at(&r, "svc-0", 0), "podCliques")), "{\"fe\":5}");
    CHECK_CSTR(jtext(jgetc(entry_at(&r, "svc-0", 3), "pcsgReplicaIndices")), "{\"pf\":[3]}");
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {replicas: 1}}");
    plan_map(&r, "svc-1");
    CHECK_CSTR(tw_writes(r.world), "delete PodGangMap default/svc-1\n");
    ring_free(&r);
}

/* Where pods are changed in place: what is above the numbers and the numbers themselves come in one
 * write, so that no map is seen that wants what nobody wants. */
TEST(gangmap_follows_scaling_and_what_is_above_in_one_write)
{
    static const char surged[] = "updateProgress: {updateStartedAt: '2026-01-01T00:00:00Z', "
                                 "surgedReplicas: 1}";
    char patch[256];
    struct ring r = coherent_ring();
    make_maps(&r);
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {updateStrategy: {type: RollingRecreate}}}");
    (void)snprintf(patch, sizeof(patch), "{spec: {replicas: 5}, status: {%s}}", surged);
    tw_patch(r.world, &kind_pclq, "svc-0-fe", patch);
    (void)snprintf(patch, sizeof(patch), "{spec: {replicas: 1}, status: {%s}}", surged);
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", patch);
    CHECK_INT(plan_map(&r, "svc-0")->writes.len, 1);
    tw_carry_out(r.world);
    CHECK_CSTR(jtext(jgetc(entry_at(&r, "svc-0", 0), "podCliques")), "{\"fe\":6}");
    CHECK_INT(count_entries(&r, "svc-0"), 2);
    CHECK_CSTR(obj_annotation(tw_must(r.world, &kind_pod_gang_map, "svc-0"), STR("grove.io/surge")),
               "{\"above\":{\"fe\":1,\"pf\":1}}");
    CHECK_INT(plan_map(&r, "svc-0")->writes.len, 0);
    /* They go together, too. */
    tw_patch(r.world, &kind_pclq, "svc-0-fe",
             "{spec: {replicas: 4}, status: {updateProgress: {surgedReplicas: 0}}}");
    tw_patch(r.world, &kind_pcsg, "svc-0-pf",
             "{spec: {replicas: 2}, status: {updateProgress: {surgedReplicas: 0}}}");
    CHECK_INT(plan_map(&r, "svc-0")->writes.len, 1);
    tw_carry_out(r.world);
    CHECK_CSTR(jtext(jgetc(entry_at(&r, "svc-0", 0), "podCliques")), "{\"fe\":4}");
    CHECK_INT(count_entries(&r, "svc-0"), 2);
    CHECK_CSTR(obj_annotation(tw_must(r.world, &kind_pod_gang_map, "svc-0"), STR("grove.io/surge")),
               "");
    CHECK_INT(plan_map(&r, "svc-0")->writes.len, 0);
    ring_free(&r);
}

TEST(cliques_of_a_mapped_set_carry_the_gang_of_their_entry)
{
    struct ring r = coherent_ring();
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    /* Without the map no member is made. */
    ring_plan_pcsg(&r, "svc-0-pf");
    CHECK(!tw_write(r.world, &kind_pclq, "svc-0-pf-0-pl", ""));
    make_maps(&r);
    ring_plan_pcsg(&r, "svc-0-pf");
    tw_carry_out(r.world);
    CHECK(str_is_empty(obj_label(tw_must(r.world, &kind_pclq, "svc-0-fe"), STR(LABEL_PODGANG))));
    CHECK_CSTR(obj_label(tw_must(r.world, &kind_pclq, "svc-0-pf-0-pl"), STR(LABEL_PODGANG)),
               "svc-0-1767225600000000000");
    CHECK_CSTR(obj_label(tw_must(r.world, &kind_pclq, "svc-0-pf-2-pw"), STR(LABEL_PODGANG)),
               "svc-0-1767225600000000001-pf-2");
    /* Pods of a standalone clique say themselves where they are. */
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK_INT(r.world->plan.writes.len > 0, 1);
    tw_carry_out(r.world);
    const struct obj *clique = tw_must(r.world, &kind_pclq, "svc-0-fe");
    size_t n = 0;
    struct cache_iter it = world_owned(&r.world->world, &kind_pod, clique->uid);
    for (struct obj *pod; (pod = cache_next(&it)); n++)
        CHECK_CSTR(obj_label(pod, STR(LABEL_PODGANG)), "svc-0-1767225600000000000");
    CHECK_INT(n, 3);
    ring_free(&r);
}

/* A clique that nobody could delete yet still names a gang of a map that is gone. */
TEST(without_its_map_a_gang_of_it_is_neither_made_nor_changed)
{
    struct ring r = coherent_ring();
    make_maps(&r);
    ring_plan_pcsg(&r, "svc-0-pf");
    tw_carry_out(r.world);
    ring_plan_gang(&r, "svc-0-1767225600000000000");
    CHECK_CSTR(tw_writes(r.world), "create PodGang default/svc-0-1767225600000000000\n");
    tw_carry_out(r.world);
    tw_remove(r.world, &kind_pod_gang_map, "svc-0");
    ring_plan_gang(&r, "svc-0-1767225600000000000");
    CHECK_CSTR(tw_writes(r.world), "");
    ring_plan_gang(&r, "svc-0-1767225600000000001-pf-2");
    CHECK_CSTR(tw_writes(r.world), "");
    ring_free(&r);
}

static size_t pods_with_hash(struct ring *r, const char *clique, const char *hash)
{
    size_t n = 0;
    struct cache_iter it =
        world_owned(&r->world->world, &kind_pod, tw_must(r->world, &kind_pclq, clique)->uid);
    for (struct obj *pod; (pod = cache_next(&it));)
        n += str_is(obj_label(pod, STR(LABEL_TEMPLATE_HASH)), hash);
    return n;
}

/* By hand, pods of a gang became of another template; the set is coherent again. They stay, and who
 * comes to the gang is of what is there. */
TEST(a_gang_gets_no_pod_of_a_template_that_it_does_not_have)
{
    struct ring r = coherent_ring();
    make_maps(&r);
    ring_plan_pclq(&r, "svc-0-fe");
    tw_carry_out(r.world);
    char first[64], second[64];
    (void)snprintf(
        first, sizeof(first), "%.*s",
        STR_ARG(obj_label(tw_must(r.world, &kind_pclq, "svc-0-fe"), STR(LABEL_TEMPLATE_HASH))));
    tw_patch(r.world, &kind_pcs, "svc",
             "{spec: {updateStrategy: {type: OnDelete}, template: {cliques: [{name: fe, spec: "
             "{replicas: 3, minAvailable: 2, roleName: fe, podSpec: {containers: [{name: m, "
             "image: j}]}}}, {name: pl, spec: {podSpec: {containers: [{name: m, image: i}]}}}, "
             "{name: pw, spec: {replicas: 4, podSpec: {containers: [{name: m, image: i}]}}}]}}}");
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    (void)snprintf(
        second, sizeof(second), "%.*s",
        STR_ARG(obj_label(tw_must(r.world, &kind_pclq, "svc-0-fe"), STR(LABEL_TEMPLATE_HASH))));
    CHECK(strcmp(first, second) != 0);
    /* All of them by hand, and the map has not heard of it. */
    struct cache_iter it =
        world_owned(&r.world->world, &kind_pod, tw_must(r.world, &kind_pclq, "svc-0-fe")->uid);
    char names[3][64];
    size_t n = 0;
    for (struct obj *pod; n < 3 && (pod = cache_next(&it)); n++)
        (void)snprintf(names[n], sizeof(names[n]), "%.*s", STR_ARG(pod->name));
    REQUIRE(n == 3);
    for (size_t i = 0; i < 3; i++)
        tw_remove(r.world, &kind_pod, names[i]);
    ring_plan_pclq(&r, "svc-0-fe");
    tw_carry_out(r.world);
    CHECK_INT(pods_with_hash(&r, "svc-0-fe", second), 3);
    tw_patch(r.world, &kind_pcs, "svc", COHERENT);
    it = world_owned(&r.world->world, &kind_pod, tw_must(r.world, &kind_pclq, "svc-0-fe")->uid);
    (void)snprintf(names[0], sizeof(names[0]), "%.*s", STR_ARG(cache_next(&it)->name));
    tw_remove(r.world, &kind_pod, names[0]);
    ring_plan_pclq(&r, "svc-0-fe");
    tw_carry_out(r.world);
    CHECK_INT(pods_with_hash(&r, "svc-0-fe", second), 3);
    CHECK_INT(pods_with_hash(&r, "svc-0-fe", first), 0);
    ring_free(&r);
}

/* Pods that a plan of the clique makes when its map holds so many in a second gang. */
static size_t made_of(struct ring *r, int64_t above, const char *surge)
{
    size_t n = 0;
    char map[512];
    (void)snprintf(map, sizeof(map),
                   "{metadata: {annotations: {grove.io/surge: '%s'}}, spec: {entries: [{name: "
                   "svc-0-1767225600000000000, podCliques: {fe: 3}, pcsgReplicaIndices: {pf: [0, "
                   "1, 2]}}, {name: svc-0-1767225600000000009, podCliques: {fe: %lld}}]}}",
                   surge, (long long)above);
    tw_patch(r->world, &kind_pod_gang_map, "svc-0", map);
    const struct plan *p = ring_plan_pclq(r, "svc-0-fe");
    for (size_t i = 0; i < p->writes.len; i++)
        n += p->writes.p[i].op == PLAN_CREATE && p->writes.p[i].kind == &kind_pod;
    return n;
}

/* What a map holds beyond the clique's number and what is to be above it, goes when the map hears
 * of the number: none of it is made. */
TEST(a_map_that_is_behind_gets_no_pods_that_would_go_at_once)
{
    static const char one[] = "{\"hash\": \"x\", \"replicas\": {\"fe\": 1}}";
    static const char in_place[] = "{\"above\": {\"fe\": 1}}";
    struct ring r = coherent_ring();
    make_maps(&r);
    ring_plan_pclq(&r, "svc-0-fe");
    tw_carry_out(r.world);
    CHECK_INT(made_of(&r, 1, one), 1);
    CHECK_INT(made_of(&r, 2, one), 1);
    CHECK_INT(made_of(&r, 1, ""), 0);
    CHECK_INT(made_of(&r, 1, in_place), 0); /* of another strategy, which was before */
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 2}}");
    CHECK_INT(made_of(&r, 1, one), 0);
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 4}}");
    CHECK_INT(made_of(&r, 1, ""), 1);
    /* Where pods are changed in place the clique says how many are above its number. */
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {updateStrategy: {type: RollingRecreate}}}");
    CHECK_INT(made_of(&r, 2, in_place), 1);
    CHECK_INT(made_of(&r, 2, one), 1);
    tw_patch(r.world, &kind_pclq, "svc-0-fe",
             "{status: {updateProgress: {updateStartedAt: '2026-01-01T00:00:00Z', "
             "surgedReplicas: 1}}}");
    CHECK_INT(made_of(&r, 2, in_place), 2);
    CHECK_INT(made_of(&r, 3, in_place), 2);
    ring_free(&r);
}

/* Replica 1 of three went: two are wanted, and one of them is number 2. */
TEST(replicas_above_a_hole_are_wanted)
{
    struct ring r = coherent_ring();
    make_maps(&r);
    struct arena a = ARENA_INIT;
    const struct world *w = &r.world->world;
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{spec: {replicas: 2}}");
    tw_patch(r.world, &kind_pod_gang_map, "svc-0",
             "{spec: {entries: [{name: svc-0-1, podCliques: {fe: 3}, pcsgReplicaIndices: {pf: [0, "
             "2]}}]}}");
    const struct obj *pcs = tw_must(r.world, &kind_pcs, "svc");
    const struct obj *pcsg = tw_must(r.world, &kind_pcsg, "svc-0-pf");
    CHECK(gangmap_wants(w, &a, pcs, pcsg, 0));
    CHECK(!gangmap_wants(w, &a, pcs, pcsg, 1));
    CHECK(gangmap_wants(w, &a, pcs, pcsg, 2));
    CHECK(!gangmap_wants(w, &a, pcs, pcsg, 3));
    CHECK(!gangmap_wants(w, &a, pcs, pcsg, -1));
    /* Nobody is unwanted while the map is not there. */
    tw_remove(r.world, &kind_pod_gang_map, "svc-0");
    CHECK(gangmap_wants(w, &a, pcs, pcsg, 1));
    arena_done(&a);
    ring_free(&r);
}

/* A map that changes is read again, and so is one whose set has other components now. */
TEST(a_map_is_looked_up_as_it_is_now)
{
    struct ring r = coherent_ring();
    make_maps(&r);
    struct arena a = ARENA_INIT;
    const struct world *w = &r.world->world;
    struct gangmap_view v;
    const struct obj *pcs = tw_must(r.world, &kind_pcs, "svc");
    CHECK(gangmap_view(&v, w, &a, pcs, 0));
    int64_t pf = gangmap_component(&v, STR("pf"));
    CHECK_INT(v.map.n, 3);
    CHECK(gangmap_of_index(&v.map, (size_t)pf, 2) == &v.map.entries[2]);
    CHECK(gangmap_find(&v.map, v.map.entries[1].name) == &v.map.entries[1]);
    tw_patch(r.world, &kind_pod_gang_map, "svc-0",
             "{spec: {entries: [{epoch: '1', role: Anchor, podCliqueSetGenerationHash: x, "
             "podCliques: {fe: 3}, pcsgReplicaIndices: {pf: [2]}}]}}");
    CHECK(gangmap_view(&v, w, &a, pcs, 0));
    CHECK_INT(v.map.n, 1);
    CHECK(!gangmap_of_index(&v.map, (size_t)pf, 0));
    CHECK(gangmap_of_index(&v.map, (size_t)pf, 2) == &v.map.entries[0]);
    /* What one plan adds, no other sees. */
    (void)gangmap_add(&v.map, GANG_ANCHOR, 2, STR("x"), STR_NONE, -1);
    CHECK(gangmap_view(&v, w, &a, pcs, 0));
    CHECK_INT(v.map.n, 1);
    CHECK(!gangmap_find(&v.map, STR("svc-0-2")));
    arena_done(&a);
    ring_free(&r);
}

/* ---- pods of groups ---- */

static bool is_whole(struct ring *r, int64_t index)
{
    const struct world *w = &r->world->world;
    const struct obj *pcsg = tw_must(r->world, &kind_pcsg, "svc-0-pf");
    return gangmap_is_whole(gangmap_ready_of(w, pcsg), rollup_of(w, &kind_pclq, pcsg->uid), index);
}

/* A pod of the clique, the last by name. */
static str any_pod(struct ring *r, struct arena *a, const char *clique)
{
    str name = STR_NONE;
    struct cache_iter it =
        world_owned(&r->world->world, &kind_pod, tw_must(r->world, &kind_pclq, clique)->uid);
    for (struct obj *o; (o = cache_next(&it));)
        name = o->name;
    return arena_str(a, name);
}

/* Group pf: of pl one pod, of pw four. */
TEST(a_copy_is_whole_when_all_pods_that_it_wants_are_ready)
{
    struct ring r = ring_new();
    struct arena a = ARENA_INIT;
    tw_load(r.world, SVC);
    ring_live(&r);
    CHECK(is_whole(&r, 0) && is_whole(&r, 1) && is_whole(&r, 2));
    CHECK(!is_whole(&r, 3) && !is_whole(&r, -1));
    str pod = any_pod(&r, &a, "svc-0-pf-1-pw");
    tw_patch(r.world, &kind_pod, pod.p, "{status: {conditions: [{type: Ready, status: 'False'}]}}");
    CHECK(is_whole(&r, 0) && !is_whole(&r, 1) && is_whole(&r, 2));
    runtime_drop_folds(r.world->runtime);
    CHECK(is_whole(&r, 0) && !is_whole(&r, 1) && is_whole(&r, 2));
    tw_patch(r.world, &kind_pod, pod.p, "{status: {conditions: [{type: Ready, status: 'True'}]}}");
    CHECK(is_whole(&r, 1));
    /* As many pods as before, but not of the cliques that want them. */
    tw_patch(r.world, &kind_pclq, "svc-0-pf-1-pw", "{spec: {replicas: 3}}");
    tw_patch(r.world, &kind_pclq, "svc-0-pf-1-pl", "{spec: {replicas: 2}}");
    CHECK(!is_whole(&r, 1));
    arena_done(&a);
    ring_free(&r);
}

TEST(pods_that_wait_are_found_by_replica)
{
    struct ring r = ring_new();
    struct arena a = ARENA_INIT;
    int64_t n = 0;
    tw_load(r.world, SVC);
    (void)ring_settle(&r);
    struct cache_iter it = gangmap_held(&r.world->world, &a, tw_must(r.world, &kind_pcs, "svc"), 1);
    for (struct obj *o; (o = cache_next(&it)); n++)
        CHECK_CSTR(obj_label(o, STR(LABEL_PCS_INDEX)), "1");
    /* All but the first gang, which is complete: two copies of five pods. */
    CHECK_INT(n, 10);
    ring_live(&r);
    it = gangmap_held(&r.world->world, &a, tw_must(r.world, &kind_pcs, "svc"), 1);
    CHECK(!cache_next(&it));
    arena_done(&a);
    ring_free(&r);
}

/* ---- names ---- */

#define LONG_BASE "coherently-updated-training-of-a-very-large-language-model-0"
#define TIME "1794974855778560001"

static str anchor_name(struct arena *a, str base, int64_t epoch)
{
    struct gang_names none = {0};
    struct gang_namer n = gang_namer(a, base, &none, GANG_ANCHOR, epoch, STR_NONE, false);
    return gang_name(a, &n, -1);
}

TEST(gangmap_names_fit_into_the_label_that_names_the_gang)
{
    struct arena a = ARENA_INIT;
    const int64_t epoch = 1794974855778560001;
    bool whole;
    CHECK_CSTR(anchor_name(&a, STR("svc-0"), epoch), "svc-0-" TIME);
    for (size_t len = 1; len <= 253; len++) {
        char *p = arena_alloc(&a, len + 1);
        memset(p, 'b', len);
        str base = str_n(p, len), name = anchor_name(&a, base, epoch);
        CHECK(name.len <= 63 && str_ends(name, STR("-" TIME)));
        CHECK_STR(name_label(&a, name), name);
        CHECK_INT(epoch_of_name(base, name, &whole), epoch);
        CHECK(!whole);
        CHECK_INT(epoch_of_name(STR("other-0"), name, &whole), -1);
    }
    CHECK(!str_eq(anchor_name(&a, STR(LONG_BASE), epoch),
                  anchor_name(&a, STR("x" LONG_BASE), epoch)));
    arena_done(&a);
}

TEST(gangmap_reads_the_time_of_names_that_were_longer)
{
    bool whole;
    CHECK_INT(epoch_of_name(STR(LONG_BASE), STR(LONG_BASE "-" TIME), &whole), 1794974855778560001);
    CHECK(whole);
    CHECK_INT(epoch_of_name(STR(LONG_BASE), STR(LONG_BASE "-training-infrastructure-1"), &whole),
              -1);
    CHECK_INT(epoch_of_name(STR(LONG_BASE), STR(LONG_BASE), &whole), -1);
}
