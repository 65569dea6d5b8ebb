/* How many pods each index has had, and names that are never given twice. */
#include "operator/common/fills.h"

#include "base/test.h"
#include "client/slots.h"
#include "grove/names.h"
#include "operator/test-ring.h"

static void check_text(const char *text, const char *want)
{
    struct arena a = ARENA_INIT;
    struct fills f;
    fills_read(&f, str_of(text));
    CHECK_CSTR(fills_text(&f, &a), want);
    fills_done(&f);
    arena_done(&a);
}

TEST(fills_are_ranges_of_indices_with_their_counts)
{
    check_text("", "");
    check_text("0-2:1,3:4,4-9:1", "0-2:1,3:4,4-9:1");
    check_text("0:1,1:1,2:2", "0-1:1,2:2");
    check_text("7:3", "7:3");
}

TEST(fills_count_up_to_where_the_text_makes_no_sense)
{
    check_text("0-1:1,x", "0-1:1");
    check_text("0-1:1,5-3:1", "0-1:1");
    check_text("0-1:1,2-", "0-1:1");
    check_text("0-1:1,2", "0-1:1");
    check_text("-1:1", "");
    check_text("0-4294967296:1", "");
    check_text("0:99999999999999999999", "");
}

/* Where they are too many, no count is lost: some are larger. */
TEST(fills_have_a_bound)
{
    struct arena a = ARENA_INIT;
    struct fills f = {0}, again;
    for (int64_t i = 0; i < 5000; i++)
        fills_note(&f, i, 1 + (unsigned)(i * 7919 % 5));
    fills_note(&f, SLOTS_MAX, 1);
    fills_note(&f, -1, 1);
    str text = fills_text(&f, &a);
    CHECK(text.len < FILLS_RANGES * 16);
    fills_read(&again, text);
    for (int64_t i = 0; i < 5000; i++)
        CHECK(fills_of(&again, i) >= fills_of(&f, i));
    CHECK_INT(fills_of(&again, 5000), 0);
    fills_done(&f);
    fills_done(&again);
    arena_done(&a);
}

/* ---- in the planner ---- */

static struct ring served(void)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    return r;
}

static struct arena names;

static const char *name_of(struct ring *r, int64_t index, unsigned n)
{
    const struct obj *o = tw_must(r->world, &kind_pclq, "svc-0-fe");
    return name_pod(&names, o->name, o->uid, index, n).p;
}

static const struct obj *pod(struct ring *r, const char *name)
{
    return world_get(&r->world->world, &kind_pod, STR("default"), str_of(name));
}

static str counts(struct ring *r)
{
    return jstr(jgetc(obj_status(tw_must(r->world, &kind_pclq, "svc-0-fe")), "podsPerIndex"));
}

TEST(the_status_says_how_many_pods_each_index_has_had)
{
    struct ring r = served();
    CHECK_CSTR(counts(&r), "0-2:1");
    tw_patch(r.world, &kind_pod, name_of(&r, 1, 0),
             "{metadata: {deletionTimestamp: '2026-01-01T00:00:30Z'}}");
    ring_live(&r);
    CHECK_CSTR(counts(&r), "0:1,1:2,2:1");
    CHECK(pod(&r, name_of(&r, 1, 1)));
    CHECK(!pod(&r, name_of(&r, 1, 0)));
    ring_free(&r);
    arena_done(&names);
}

/* Forced: it is gone before anybody has seen it go. */
TEST(a_name_is_not_used_again_when_its_pod_vanished)
{
    struct ring r = served();
    for (unsigned n = 0; n < 4; n++) {
        CHECK(pod(&r, name_of(&r, 2, n)));
        tw_remove(r.world, &kind_pod, name_of(&r, 2, n));
        ring_live(&r);
    }
    CHECK(pod(&r, name_of(&r, 2, 4)));
    CHECK_CSTR(counts(&r), "0-1:1,2:5");
    ring_free(&r);
    arena_done(&names);
}

/* A status that was not written is made up for by what was seen. */
TEST(a_name_is_not_used_again_when_the_status_does_not_tell)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_plan_pcs(&r, "svc");
    tw_carry_out(r.world);
    ring_plan_pclq(&r, "svc-0-fe");
    tw_carry_out(r.world);
    CHECK_CSTR(counts(&r), "");
    tw_remove(r.world, &kind_pod, name_of(&r, 0, 0));
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK(!tw_write(r.world, &kind_pod, name_of(&r, 0, 0), ""));
    CHECK(tw_write(r.world, &kind_pod, name_of(&r, 0, 1), ""));
    /* Asked again, the same: nobody has seen one of that name. */
    ring_plan_pclq(&r, "svc-0-fe");
    CHECK(tw_write(r.world, &kind_pod, name_of(&r, 0, 1), ""));
    ring_free(&r);
    arena_done(&names);
}

/* Out and in and out again. */
TEST(an_index_that_is_wanted_again_has_another_name)
{
    struct ring r = served();
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 2}}");
    ring_live(&r);
    CHECK(!pod(&r, name_of(&r, 2, 0)));
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 3}}");
    ring_live(&r);
    CHECK(!pod(&r, name_of(&r, 2, 0)));
    CHECK(pod(&r, name_of(&r, 2, 1)));
    ring_free(&r);
    arena_done(&names);
}
