/* The recorder over the fake API: what is said again costs nothing, what changes all the time costs
 * little. */
#include "base/log.h"
#include "base/test.h"
#include "client/event.h"
#include "client/test-api-fake.h"

struct rig {
    struct loop *loop;
    struct api *fake;
    struct recorder *recorder;
};

static void rig_init(struct rig *r)
{
    kinds_init();
    log_set_level(LOG_LEVEL_OFF);
    *r = (struct rig){.loop = loop_new_virtual(1, 1767225600 * USEC_PER_SEC)};
    r->fake = api_fake_new(r->loop, USEC_PER_MSEC);
    r->recorder = recorder_new(r->loop, r->fake, "tester");
    api_fake_put(r->fake, &kind_config_map, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"}}");
    api_fake_put(r->fake, &kind_config_map, "{\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"}}");
}

static void rig_done(struct rig *r)
{
    recorder_free(r->recorder);
    api_free(r->fake);
    loop_free(r->loop);
}

static void say(struct rig *r, const char *about, const char *message)
{
    struct obj *o = api_fake_get(r->fake, &kind_config_map, "ns", about);
    recorder_event(r->recorder, o, true, STR("Waiting"), str_of(message));
}

static void run_for(struct rig *r, usec by)
{
    REQUIRE(loop_run_until(r->loop, loop_now(r->loop) + by, 100000));
}

static uint64_t writes(struct rig *r)
{
    struct api_fake_stats s = api_fake_stats(r->fake);
    return s.sent[API_CREATE] + s.sent[API_PATCH];
}

TEST(event_said_again_within_a_minute_is_only_counted)
{
    struct rig r;
    rig_init(&r);
    for (int i = 0; i < 59; i++) {
        say(&r, "a", "no node has room");
        run_for(&r, USEC_PER_SEC);
    }
    CHECK_INT(writes(&r), 1);
    run_for(&r, USEC_PER_SEC);
    say(&r, "a", "no node has room");
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(writes(&r), 2);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 1);
    rig_done(&r);
}

static void on_list(struct api_request *q, const struct api_reply *reply)
{
    *(int64_t *)q->ctx =
        reply->n_items == 1 ? jint(jgetc(obj_root(reply->items[0]), "count"), -1) : -1;
}

TEST(event_count_is_what_was_said)
{
    struct rig r;
    int64_t count = 0;
    rig_init(&r);
    for (int i = 0; i < 7; i++)
        say(&r, "a", "x");
    run_for(&r, 61 * USEC_PER_SEC);
    say(&r, "a", "x");
    run_for(&r, USEC_PER_SEC);
    struct api_request q = {.verb = API_LIST, .kind = &kind_event, .done = on_list, .ctx = &count};
    api_send(r.fake, &q);
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(count, 8);
    rig_done(&r);
}

/* A message with a number in it is a new event each time. */
TEST(event_that_changes_all_the_time_is_limited_per_object)
{
    struct rig r;
    rig_init(&r);
    for (int i = 0; i < 600; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%d of 600", i);
        say(&r, "a", text);
        run_for(&r, USEC_PER_SEC);
    }
    /* 25 at once, and one more every three seconds. */
    CHECK_INT(writes(&r), 25 + 600 / 3 - 1);
    uint64_t before = writes(&r);
    say(&r, "b", "something else");
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(writes(&r), before + 1);
    rig_done(&r);
}

/* A thousand steps in an hour, each with words of its own. */
TEST(events_of_a_long_update_are_all_told)
{
    struct rig r;
    rig_init(&r);
    for (int i = 0; i < 1000; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "sub-step %d", i);
        say(&r, "a", text);
        run_for(&r, USEC_PER_HOUR / 1000);
    }
    CHECK_INT(writes(&r), 1000);
    rig_done(&r);
}

/* Nobody says it again; but a server that never does better is left alone. */
TEST(event_that_warns_is_sent_again_to_a_server_in_trouble)
{
    struct rig r;
    rig_init(&r);
    api_fake_refuse(r.fake, API_CREATE, 2, 503);
    say(&r, "a", "it did not move");
    run_for(&r, 30 * USEC_PER_SEC);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 1);
    CHECK_INT(writes(&r), 3);
    CHECK_INT(recorder_in_flight(r.recorder), 0);
    api_fake_refuse(r.fake, API_CREATE, 100, 503);
    say(&r, "b", "nor did it");
    run_for(&r, USEC_PER_HOUR);
    CHECK_INT(writes(&r), 3 + 5);
    CHECK_INT(recorder_in_flight(r.recorder), 0);
    say(&r, "b", "and again");
    run_for(&r, USEC_PER_SEC); /* what is to be tried again when it ends is forgotten */
    rig_done(&r);
}

static void say_well(struct rig *r, const char *about, const char *message)
{
    struct obj *o = api_fake_get(r->fake, &kind_config_map, "ns", about);
    recorder_event(r->recorder, o, false, STR("Done"), str_of(message));
}

TEST(event_that_warns_is_not_hidden_by_those_that_do_not)
{
    struct rig r;
    rig_init(&r);
    for (int i = 0; i < 100; i++) {
        char text[32];
        (void)snprintf(text, sizeof(text), "step %d", i);
        say_well(&r, "a", text);
        run_for(&r, 10 * USEC_PER_MSEC);
    }
    CHECK_INT(writes(&r), 25);
    say(&r, "a", "stuck");
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(writes(&r), 26);
    rig_done(&r);
}

TEST(event_held_is_sent_when_released_and_once)
{
    struct rig r;
    rig_init(&r);
    recorder_hold(r.recorder, true);
    say(&r, "a", "one");
    say(&r, "a", "one");
    say(&r, "b", "two");
    run_for(&r, 2 * USEC_PER_MIN);
    say(&r, "a", "one");
    run_for(&r, USEC_PER_MIN);
    CHECK_INT(writes(&r), 0);
    CHECK_INT(recorder_in_flight(r.recorder), 2);
    recorder_release(r.recorder);
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(writes(&r), 2);
    CHECK_INT(recorder_in_flight(r.recorder), 0);
    CHECK_INT(api_fake_count(r.fake, &kind_event), 2);
    say(&r, "b", "three"); /* it holds no more */
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(writes(&r), 3);
    recorder_hold(r.recorder, true);
    say(&r, "b", "four"); /* what is held when it ends is forgotten */
    rig_done(&r);
}
