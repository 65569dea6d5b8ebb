/* Waiting for other pods: what the arguments say, who counts, and the container that waits. */
#include "initc/initc.h"

#include "base/log.h"
#include "base/test.h"
#include "client/test-api-fake.h"
#include "grove/names.h"
#include "grove/types.h"
#include "json/yaml.h"

static struct obj *pod_of(const char *yaml)
{
    struct err err = ERR_INIT;
    struct doc *d = yaml_parse_one(str_of(yaml), &err);
    REQUIRE(d != NULL);
    struct obj *o = obj_new(&kind_pod, d, &err);
    REQUIRE(o != NULL);
    return o;
}

/* ---- arguments ---- */

TEST(an_argument_is_a_clique_and_a_number)
{
    struct arena a = ARENA_INIT;
    struct wait_parent p;
    CHECK_INT(wait_parse(STR("p-0-a:2"), &a, &p, NULL), 0);
    CHECK_CSTR(p.clique, "p-0-a");
    CHECK_CSTR(p.label, "p-0-a");
    CHECK_INT(p.need, 2);
    CHECK_INT(wait_parse(STR("  p-0-a : 2 "), &a, &p, NULL), 0);
    CHECK_CSTR(p.clique, "p-0-a");
    arena_done(&a);
}

TEST(anything_else_is_refused)
{
    static const char *const wrong[] = {"",     "a",     "a:",  ":1",
                                        "a:0",  "a:-1",  "a:b", "a:1:2",
                                        "a:1x", "a:1.5", ":",   "a:99999999999999999999"};
    struct arena a = ARENA_INIT;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct wait_parent p;
        struct err err = ERR_INIT;
        CHECK(wait_parse(str_of(wrong[i]), &a, &p, &err) != 0);
        CHECK(strstr(err.message, "NAME:NUMBER") != NULL);
    }
    arena_done(&a);
}

/* A label cannot hold a name of more than 63 characters; pods carry what fits. */
TEST(a_long_name_is_compared_as_its_label_shows_it)
{
    struct arena a = ARENA_INIT;
    struct wait_parent p;
    char text[128] = {0};
    memset(text, 'x', 90);
    memcpy(text + 90, ":1", 2);
    CHECK_INT(wait_parse(str_of(text), &a, &p, NULL), 0);
    CHECK_STR(p.label, name_label(&a, str_n(text, 90)));
    CHECK(p.label.len <= 63);
    arena_done(&a);
}

TEST(a_pod_says_whom_it_waits_for)
{
    struct arena a = ARENA_INIT;
    struct wait_parent *p;
    struct obj *waits = pod_of("{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {"
                               "initContainers: [{name: mine, args: ['--podcliques=no:1']}, "
                               "{name: grove-initc, args: ['--podcliques=a:1', '--other', "
                               "'--podcliques=b:3', '--podcliques=bad']}]}}");
    CHECK_INT(wait_of_pod(waits, &a, &p), 2);
    CHECK_CSTR(p[0].clique, "a");
    CHECK_CSTR(p[1].clique, "b");
    CHECK_INT(p[1].need, 3);
    struct obj *free_pod = pod_of("{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {}}");
    CHECK_INT(wait_of_pod(free_pod, &a, &p), 0);
    CHECK(wait_is_over(p, 0));
    obj_unref(waits);
    obj_unref(free_pod);
    arena_done(&a);
}

TEST(a_pod_counts_when_it_is_ready_and_stays)
{
    static const struct {
        const char *pod;
        bool counts;
    } cases[] = {
        {"{metadata: {name: x}, status: {conditions: [{type: Ready, status: 'True'}]}}", true},
        {"{metadata: {name: x}, status: {conditions: [{type: Ready, status: 'False'}]}}", false},
        {"{metadata: {name: x}, status: {}}", false},
        {"{metadata: {name: x, deletionTimestamp: '2026-01-01T00:00:00Z'}, status: {conditions: "
         "[{type: Ready, status: 'True'}]}}",
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct obj *o = pod_of(cases[i].pod);
        CHECK(wait_is_ready(o) == cases[i].counts);
        obj_unref(o);
    }
}

/* ---- waiting ---- */

struct fixture {
    struct loop *loop;
    struct api *api;
    struct arena arena;
    struct wait_parent parents[2];
    struct initc *initc;
    unsigned ended;
};

static void on_done(void *ctx)
{
    ((struct fixture *)ctx)->ended++;
}

static void no_log(void *ctx, str line)
{
    (void)ctx;
    (void)line;
}

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.loop = loop_new_virtual(1, 1000000)};
    grove_kinds_init();
    log_set_sink(no_log, NULL);
    f->api = api_fake_new(f->loop, 0);
    CHECK_INT(wait_parse(STR("p-0-w:2"), &f->arena, &f->parents[0], NULL), 0);
    CHECK_INT(wait_parse(STR("p-0-x:1"), &f->arena, &f->parents[1], NULL), 0);
}

static void fixture_start(struct fixture *f)
{
    f->initc =
        initc_new(f->loop, f->api, &(struct initc_options){STR("ns"), f->parents, 2, on_done, f});
}

static void fixture_done(struct fixture *f)
{
    initc_free(f->initc);
    api_free(f->api);
    loop_free(f->loop);
    arena_done(&f->arena);
    log_set_sink(NULL, NULL);
}

static void put_in(struct fixture *f, const char *ns, const char *gang, const char *clique,
                   const char *name, bool ready)
{
    str json = arena_printf(&f->arena,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
                            "\"namespace\":\"%s\",\"labels\":{\"grove.io/podclique\":\"%s\","
                            "\"grove.io/podgang\":\"%s\"}},\"status\":{\"conditions\":[{\"type\":"
                            "\"Ready\",\"status\":\"%s\"}]}}",
                            name, ns, clique, gang, ready ? "True" : "False");
    api_fake_put(f->api, &kind_pod, json.p);
}

static void put(struct fixture *f, const char *clique, const char *name, bool ready)
{
    put_in(f, "ns", "p-0", clique, name, ready);
}

static unsigned ended_after(struct fixture *f, usec time)
{
    CHECK(loop_run_until(f->loop, loop_now(f->loop) + time, 100000));
    return f->ended;
}

TEST(it_ends_at_once_when_all_are_ready)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "p-0-w", "p-0-w-1", true);
    put(&f, "p-0-w", "p-0-w-2", true);
    put(&f, "p-0-x", "p-0-x-1", true);
    fixture_start(&f);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 1);
    fixture_done(&f);
}

TEST(it_ends_when_the_last_one_becomes_ready)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "p-0-w", "p-0-w-1", true);
    put(&f, "p-0-w", "p-0-w-2", false);
    fixture_start(&f);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 0);
    put(&f, "p-0-x", "p-0-x-1", true);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 0);
    put(&f, "p-0-w", "p-0-w-2", true);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 1);
    CHECK_INT(ended_after(&f, 60 * USEC_PER_SEC), 1);
    fixture_done(&f);
}

/* All at one moment: one that was ready before does not count. */
TEST(pods_that_are_no_longer_ready_or_gone_do_not_count)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "p-0-w", "p-0-w-1", true);
    put(&f, "p-0-w", "p-0-w-2", true);
    fixture_start(&f);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 0);
    put(&f, "p-0-w", "p-0-w-1", false);
    (void)ended_after(&f, USEC_PER_SEC);
    put(&f, "p-0-x", "p-0-x-1", true);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 0);
    api_fake_remove(f.api, &kind_pod, "ns", "p-0-w-2");
    put(&f, "p-0-w", "p-0-w-1", true);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 0);
    put(&f, "p-0-w", "p-0-w-3", true);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 1);
    fixture_done(&f);
}

/* "p-0-w" is the beginning of "p-0-w2": matching is by label, never by prefix. */
TEST(cliques_with_similar_names_are_not_mixed)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "p-0-w2", "p-0-w2-1", true);
    put(&f, "p-0-w2", "p-0-w2-2", true);
    put(&f, "p-0-x", "p-0-x-1", true);
    fixture_start(&f);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 0);
    fixture_done(&f);
}

TEST(pods_of_other_namespaces_do_not_count)
{
    struct fixture f;
    fixture_init(&f);
    put_in(&f, "other", "p-0", "p-0-w", "p-0-w-1", true);
    put(&f, "p-0-w", "p-0-w-3", true);
    put(&f, "p-0-x", "p-0-x-1", true);
    fixture_start(&f);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 0);
    fixture_done(&f);
}

/* A scaled gang waits for the base gang; pods of one clique may be in several gangs. */
TEST(pods_of_any_gang_count)
{
    struct fixture f;
    fixture_init(&f);
    put_in(&f, "ns", "p-0", "p-0-w", "p-0-w-1", true);
    put_in(&f, "ns", "p-0-other", "p-0-w", "p-0-w-2", true);
    put(&f, "p-0-x", "p-0-x-1", true);
    fixture_start(&f);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 1);
    fixture_done(&f);
}

TEST(a_server_that_refuses_is_asked_again)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "p-0-w", "p-0-w-1", true);
    put(&f, "p-0-w", "p-0-w-2", true);
    put(&f, "p-0-x", "p-0-x-1", true);
    api_fake_refuse(f.api, API_LIST, 3, 503);
    fixture_start(&f);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 0);
    CHECK_INT(ended_after(&f, 10 * USEC_PER_SEC), 1);
    CHECK_INT(api_fake_stats(f.api).sent[API_LIST], 4);
    fixture_done(&f);
}

/* What happened while the watch was broken is in the next list: gone pods too. */
TEST(a_watch_that_lost_its_place_begins_anew)
{
    struct fixture f;
    fixture_init(&f);
    put(&f, "p-0-w", "p-0-w-1", true);
    put(&f, "p-0-w", "p-0-w-2", true);
    fixture_start(&f);
    CHECK_INT(ended_after(&f, USEC_PER_SEC), 0);
    api_fake_hold_watches(f.api, true);
    api_fake_remove(f.api, &kind_pod, "ns", "p-0-w-2");
    put(&f, "p-0-x", "p-0-x-1", true);
    api_fake_compact(f.api);
    api_fake_end_watches(f.api);
    api_fake_hold_watches(f.api, false);
    CHECK_INT(ended_after(&f, 5 * USEC_PER_SEC), 0);
    put(&f, "p-0-w", "p-0-w-9", true);
    CHECK_INT(ended_after(&f, 5 * USEC_PER_SEC), 1);
    fixture_done(&f);
}

TEST(it_can_be_freed_while_it_asks)
{
    struct fixture f;
    fixture_init(&f);
    fixture_start(&f);
    fixture_done(&f);
}
