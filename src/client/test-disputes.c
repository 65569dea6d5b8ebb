/* Writes that somebody keeps undoing come slower and slower, and are told once. */
#include "client/disputes.h"

#include "client/test-toy.h"
#include "json/doc.h"

/* ---- the table ---- */

static struct plan_write patch(struct arena *a, const char *name, const char *body)
{
    struct doc *d = doc_parse(str_of(body), NULL, NULL);
    REQUIRE(d != NULL);
    return (struct plan_write){.op = PLAN_PATCH,
                               .kind = &kind_config_map,
                               .ns = STR("ns"),
                               .name = str_of(name),
                               .body = doc_hold(a, d)};
}

static usec due(struct disputes *d, const struct plan_write *w, usec now)
{
    return disputes_hold(d, w, NULL, NULL, now);
}

TEST(what_follows_itself_waits_longer_each_time)
{
    struct arena a = ARENA_INIT;
    struct disputes d = {0};
    struct plan_write w = patch(&a, "a", "{\"data\":{\"x\":\"1\"}}");
    usec now = USEC_PER_MIN;
    for (int i = 0; i < DISPUTES_FREE; i++) {
        CHECK_INT(due(&d, &w, now), 0);
        disputes_note(&d, &w, STR_NONE, now);
    }
    for (usec pause = DISPUTES_BASE; pause < DISPUTES_LONGEST; pause *= 2) {
        CHECK_INT(due(&d, &w, now), now + pause);
        now += pause;
        CHECK_INT(due(&d, &w, now), 0);
        disputes_note(&d, &w, STR_NONE, now);
    }
    for (int i = 0; i < 40; i++, now += DISPUTES_LONGEST)
        disputes_note(&d, &w, STR_NONE, now);
    CHECK_INT(due(&d, &w, now - 1), now);
    CHECK_INT(due(&d, &w, now), 0);
    disputes_done(&d);
    arena_done(&a);
}

TEST(what_lasts_or_changes_is_no_dispute)
{
    struct arena a = ARENA_INIT;
    struct disputes d = {0};
    struct plan_write two = patch(&a, "a", "{\"status\":{\"n\":2}}");
    struct plan_write three = patch(&a, "a", "{\"status\":{\"n\":3}}");
    usec now = USEC_PER_MIN;
    /* A number that goes up and down. */
    for (int i = 0; i < 100; i++, now += USEC_PER_MSEC) {
        CHECK_INT(due(&d, i % 2 ? &two : &three, now), 0);
        disputes_note(&d, i % 2 ? &two : &three, STR_NONE, now);
    }
    /* A heartbeat. */
    for (int i = 0; i < 100; i++, now += 10 * USEC_PER_SEC) {
        CHECK_INT(due(&d, &two, now), 0);
        disputes_note(&d, &two, STR_NONE, now);
    }
    disputes_done(&d);
    arena_done(&a);
}

/* A user who makes the same set again and again, and deletes it. */
TEST(what_is_made_for_another_owner_or_deleted_is_no_dispute)
{
    struct arena a = ARENA_INIT;
    struct disputes d = {0};
    usec now = USEC_PER_MIN;
    for (int i = 0; i < 20; i++, now += USEC_PER_SEC) {
        str body = arena_printf(
            &a, "{\"metadata\":{\"name\":\"a\",\"ownerReferences\":[{\"uid\":\"u%d\"}]}}", i);
        struct plan_write made = patch(&a, "a", body.p);
        struct plan_write deleted = made;
        made.op = PLAN_CREATE;
        deleted.op = PLAN_DELETE;
        deleted.body = NULL;
        CHECK_INT(due(&d, &made, now), 0);
        CHECK_INT(due(&d, &deleted, now), 0);
        disputes_note(&d, &made, STR_NONE, now);
        disputes_note(&d, &deleted, STR_NONE, now);
    }
    disputes_done(&d);
    arena_done(&a);
}

/* The same is said of a pod whenever it is so again. */
TEST(an_event_that_is_told_again_is_no_dispute)
{
    struct arena a = ARENA_INIT;
    struct disputes d = {0};
    struct plan_write w = patch(&a, "a", "{\"reason\":\"Unschedulable\"}");
    w.kind = &kind_event;
    for (int i = 0; i < 20; i++)
        disputes_note(&d, &w, STR_NONE, USEC_PER_MIN);
    CHECK_INT(due(&d, &w, USEC_PER_MIN), 0);
    disputes_done(&d);
    arena_done(&a);
}

/* Each of a name lets go of the same finalizer. */
TEST(the_same_done_to_another_object_of_the_name_is_no_dispute)
{
    struct arena a = ARENA_INIT;
    struct disputes d = {0};
    struct plan_write w = patch(&a, "a", "{\"metadata\":{\"finalizers\":[]}}");
    for (int i = 0; i < 20; i++)
        disputes_note(&d, &w, arena_printf(&a, "u%d", i), USEC_PER_MIN);
    CHECK_INT(due(&d, &w, USEC_PER_MIN), 0);
    disputes_done(&d);
    arena_done(&a);
}

TEST(times_make_no_other_write)
{
    struct arena a = ARENA_INIT;
    struct disputes d = {0};
    usec now = USEC_PER_MIN;
    for (int i = 0; i < DISPUTES_FREE; i++) {
        str body =
            arena_printf(&a, "{\"T\":\"True\",\"at\":\"2026-01-01T00:00:%02dZ\",\"z\":1}", i);
        struct plan_write w = patch(&a, "a", body.p);
        disputes_note(&d, &w, STR_NONE, now);
    }
    struct plan_write same =
        patch(&a, "a", "{\"T\":\"True\",\"at\":\"2026-02-03T04:05:06Z\",\"z\":1}");
    struct plan_write other =
        patch(&a, "a", "{\"T\":\"True\",\"at\":\"2026-02-03T04:05:06Z\",\"z\":2}");
    struct plan_write another =
        patch(&a, "b", "{\"T\":\"True\",\"at\":\"2026-02-03T04:05:06Z\",\"z\":1}");
    CHECK(due(&d, &same, now) > now);
    CHECK_INT(due(&d, &other, now), 0);
    CHECK_INT(due(&d, &another, now), 0);
    disputes_done(&d);
    arena_done(&a);
}

/* ---- in the runtime ---- */

static unsigned count_events(struct toy_rig *r)
{
    struct obj *o = api_fake_any(r->fake, &kind_event);
    return api_fake_count(r->fake, &kind_event) > 0 &&
                   str_is(jstr(jgetc(obj_root(o), "reason")), "RepairUndone")
               ? (unsigned)api_fake_count(r->fake, &kind_event)
               : 0;
}

static void undo(struct toy_rig *r)
{
    api_fake_put(r->fake, &kind_config_map,
                 "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\",\"annotations\":{"
                 "\"toy/children\":null}}}");
}

/* Somebody takes the annotation away each time he sees it. */
TEST(controller_that_is_undone_all_the_time_writes_less_and_less_and_says_so_once)
{
    struct toy_rig r;
    toy_rig_init(&r, 1, NULL);
    toy_put_parent(r.fake, "p", 1);
    toy_rig_start(&r, 0);
    toy_run_for(&r, USEC_PER_SEC);
    unsigned written = 0;
    for (int i = 0; i < 10000; i++) {
        toy_run_for(&r, USEC_PER_MSEC);
        if (!*toy_count_written(r.fake, "p"))
            continue;
        written++;
        undo(&r);
    }
    test_note("%u writes in 10 s", written);
    CHECK(written >= 4);
    CHECK(written <= 8);
    CHECK_INT(count_events(&r), 1);
    /* Nobody undoes it any more: it is repaired when its time has come, and then at once again. */
    toy_run_for(&r, 20 * USEC_PER_SEC);
    CHECK_CSTR(str_of(toy_count_written(r.fake, "p")), "1");
    toy_run_for(&r, USEC_PER_MIN);
    undo(&r);
    toy_run_for(&r, 100 * USEC_PER_MSEC);
    CHECK_CSTR(str_of(toy_count_written(r.fake, "p")), "1");
    toy_rig_done(&r);
}
