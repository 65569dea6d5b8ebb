/* Objects that an older version made, recorded in tests/recorded: they are taken as they are. */
#include "base/file.h"
#include "base/map.h"
#include "base/test.h"
#include "grove/gangs.h"
#include "operator/common/upkeep.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

#define TRAINING "distributed-training"
#define GROUP TRAINING "-0-training-infrastructure-of-everything-in-it"
#define COHERENT "coherently-updated-training-of-a-very-large-language-model"
#define COHERENT_GROUP COHERENT "-0-training-infrastructure"

static const struct kind *const kinds[] = {
    &kind_pcs,          &kind_pcsg,         &kind_pclq,   &kind_pod_gang,
    &kind_pod_gang_map, &kind_service,      &kind_pdb,    &kind_service_account,
    &kind_role,         &kind_role_binding, &kind_secret, &kind_controller_revision,
    &kind_pod};

static struct ring recorded(void)
{
    struct ring r = ring_new();
    struct strbuf text = STRBUF_INIT(1 << 20);
    REQUIRE(file_read(TEST_DATA "/recorded/0.1.0-long-names.yaml", &text, NULL) == 0);
    tw_load(r.world, text.p);
    strbuf_done(&text);
    /* Six minutes after the last of it was made. */
    r.world->world.now = 1794975264 * USEC_PER_SEC;
    return r;
}

/* uid -> "kind name" of everything there is. */
static void note_all(struct ring *r, struct arena *a, struct map *ret)
{
    struct obj *o;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        for (struct cache_iter it = cache_all(world_cache(&r->world->world, kinds[k]), STR_NONE);
             (o = cache_next(&it));)
            (void)map_put(ret, arena_str(a, o->uid),
                          (void *)arena_printf(a, "%s %.*s", kinds[k]->kind, STR_ARG(o->name)).p);
    }
}

/* Those of `was` that are not there, or not by that name. */
static size_t missing(struct ring *r, const struct map *was)
{
    struct arena a = ARENA_INIT;
    struct map is = MAP_INIT;
    size_t n = 0;
    str uid;
    void *name;
    note_all(r, &a, &is);
    for (size_t it = 0; map_next(was, &it, &uid, &name);) {
        const char *now = map_get(&is, uid);
        if (now && strcmp(now, name) == 0)
            continue;
        test_note("%s is gone", (const char *)name);
        n++;
    }
    map_done(&is);
    arena_done(&a);
    return n;
}

static void check_no_writes(struct ring *r, planner_fn *fn, const struct kind *k)
{
    struct arena a = ARENA_INIT;
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&r->world->world, k), STR_NONE);
         (o = cache_next(&it));) {
        if (tw_plan(r->world, fn, NULL, k, arena_str(&a, o->name).p)->writes.len > 0)
            test_note("%.*s", STR_ARG(tw_text(r->world)));
        CHECK_INT(r->world->plan.writes.len, 0);
    }
    arena_done(&a);
}

/* All that is written: that version did not let scaled replicas of a group wait for the rest. */
static void add_start_order(struct ring *r)
{
    tw_plan(r->world, upkeep_plan, NULL, &kind_pclq, GROUP "-1-parameter-server");
    CHECK_INT(r->world->plan.writes.len, 1);
    CHECK_STR(jstr(jat(jpath(doc_root(r->world->plan.writes.p[0].body), "spec.startsAfter"), 0)),
              STR(TRAINING "-0-coordinator"));
    tw_carry_out(r->world);
    tw_plan(r->world, pclq_plan, NULL, &kind_pclq, GROUP "-1-parameter-server");
    CHECK_INT(r->world->plan.writes.len, 1); /* status.observedGeneration */
    tw_carry_out(r->world);
}

/* The map is written as maps are now, and its gangs say of what entry they are. */
static void take_over_map(struct ring *r)
{
    struct arena a = ARENA_INIT;
    struct gang_names n;
    const struct obj *map = tw_must(r->world, &kind_pod_gang_map, COHERENT "-0");
    str before = arena_str(&a, STR_NONE);
    for (struct jiter it = jiter(gang_list(&a, map)); jnext(&it);)
        before = arena_cat(&a, before, STR(" "), jstr(jgetc(it.value, "name")));
    CHECK(gang_map_is_old(map));
    tw_plan(r->world, gangmap_plan, NULL, &kind_pod_gang_map, COHERENT "-0");
    CHECK_INT(r->world->plan.writes.len, 1);
    tw_carry_out(r->world);
    map = tw_must(r->world, &kind_pod_gang_map, COHERENT "-0");
    CHECK(!gang_map_is_old(map));
    n = gang_names_read(&a, map);
    CHECK(n.numbered > 0 && n.whole > 0);
    str after = STR_NONE;
    for (struct jiter it = jiter(gang_list(&a, map)); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        after = arena_cat(&a, after, STR(" "), name);
        tw_plan(r->world, gang_plan, NULL, &kind_pod_gang, arena_str(&a, name).p);
        CHECK_INT(r->world->plan.writes.len, 2); /* its labels, and its status as below */
        CHECK(j_has(jget(jpath(doc_root(r->world->plan.writes.p[0].body), "metadata.labels"),
                         STR(LABEL_EPOCH))));
        r->world->plan.writes.len = 1;
        tw_carry_out(r->world);
    }
    CHECK_STR(after, before);
    arena_done(&a);
}

/* And statuses: gangs learn since when they have been placed and ready, and their sets repeat it.
 */
static void write_status(struct ring *r, planner_fn *fn, const struct kind *k)
{
    struct arena a = ARENA_INIT;
    struct obj *o;
    VEC(const char *) names = {0};
    for (struct cache_iter it = cache_all(world_cache(&r->world->world, k), STR_NONE);
         (o = cache_next(&it));)
        *vec_push(&names) = arena_str(&a, o->name).p;
    for (size_t i = 0; i < names.len; i++) {
        tw_plan(r->world, fn, NULL, k, names.p[i]);
        REQUIRE(r->world->plan.writes.len == 1);
        CHECK_CSTR(r->world->plan.writes.p[0].subresource, "status");
        tw_carry_out(r->world);
    }
    vec_done(&names);
    arena_done(&a);
}

TEST(what_an_older_version_named_is_left_as_it_is)
{
    struct ring r = recorded();
    CHECK_INT(tw_count(r.world, &kind_pod), 8);
    add_start_order(&r);
    take_over_map(&r);
    write_status(&r, gang_plan, &kind_pod_gang);
    write_status(&r, pcs_plan, &kind_pcs);
    check_no_writes(&r, pcs_plan, &kind_pcs);
    check_no_writes(&r, pcsg_plan, &kind_pcsg);
    check_no_writes(&r, pclq_plan, &kind_pclq);
    check_no_writes(&r, gang_plan, &kind_pod_gang);
    check_no_writes(&r, gangmap_plan, &kind_pod_gang_map);
    static const struct kind *const kept[] = {&kind_pcsg, &kind_pclq, &kind_service};
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        check_no_writes(&r, upkeep_plan, kept[i]);
    ring_free(&r);
}

/* The pod that takes the place of one with a shortened name has the whole one, and its index. */
TEST(what_replaces_a_pod_of_an_older_version_has_its_name_in_full)
{
    struct ring r = recorded();
    struct arena a = ARENA_INIT;
    struct map was = MAP_INIT;
    const char *old = TRAINING "-0-cjft9qqt-in-it-1-parameter-server-j9bx9";
    str host = arena_str(&a, jstr(jgetc(obj_spec(tw_must(r.world, &kind_pod, old)), "hostname")));
    tw_remove(r.world, &kind_pod, old);
    note_all(&r, &a, &was);
    ring_live(&r);
    CHECK_INT(missing(&r, &was), 0);
    CHECK_INT(tw_count(r.world, &kind_pod), 8);
    size_t whole = 0;
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&r.world->world, &kind_pod), STR_NONE);
         (o = cache_next(&it));) {
        if (!str_starts(o->name, STR(GROUP "-1-parameter-server-")))
            continue;
        whole++;
        CHECK_STR(jstr(jgetc(obj_spec(o), "hostname")), host);
    }
    CHECK_INT(whole, 1);
    map_done(&was);
    arena_done(&a);
    ring_free(&r);
}

TEST(new_replicas_of_an_older_set_stand_beside_the_old_ones)
{
    struct ring r = recorded();
    struct arena a = ARENA_INIT;
    struct map was = MAP_INIT;
    note_all(&r, &a, &was);
    tw_patch(r.world, &kind_pcs, TRAINING, "{spec: {replicas: 2}}");
    tw_patch(r.world, &kind_pcsg, GROUP, "{spec: {replicas: 3}}");
    ring_live(&r);
    CHECK_INT(missing(&r, &was), 0);
    CHECK_INT(tw_count(r.world, &kind_pod), 8 + 2 + 5);
    (void)tw_must(r.world, &kind_pclq, GROUP "-2-parameter-server");
    (void)tw_must(r.world, &kind_pod_gang, GROUP "-1");
    (void)tw_must(r.world, &kind_pod_gang, TRAINING "-1");
    map_done(&was);
    arena_done(&a);
    ring_free(&r);
}

/* The map knows its gangs by the names they have; a new one has a name that its label can hold. */
TEST(a_map_keeps_gangs_with_longer_names_than_it_gives)
{
    struct ring r = recorded();
    struct arena a = ARENA_INIT;
    struct map was = MAP_INIT;
    note_all(&r, &a, &was);
    tw_patch(r.world, &kind_pcsg, COHERENT_GROUP, "{spec: {replicas: 3}}");
    for (int i = 0; i < 3; i++) {
        (void)tw_plan(r.world, gangmap_plan, NULL, &kind_pod_gang_map, COHERENT "-0");
        tw_carry_out(r.world);
        ring_live(&r);
    }
    CHECK_INT(missing(&r, &was), 0);
    CHECK_INT(tw_count(r.world, &kind_pod), 9);
    size_t fresh = 0;
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(&r.world->world, &kind_pod_gang), STR_NONE);
         (o = cache_next(&it));) {
        if (map_has(&was, o->uid))
            continue;
        fresh++;
        CHECK(o->name.len <= 63 && str_starts(o->name, STR("cohe")));
    }
    CHECK_INT(fresh, 1);
    const struct obj *member = tw_must(r.world, &kind_pclq, COHERENT_GROUP "-2-parameter-server");
    CHECK(tw_get(r.world, &kind_pod_gang, arena_str(&a, obj_label(member, STR(LABEL_PODGANG))).p) !=
          NULL);
    map_done(&was);
    arena_done(&a);
    ring_free(&r);
}
