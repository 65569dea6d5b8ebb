/* Kinds that a server may lack. */
#include "base/test.h"
#include "client/controller.h"
#include "client/test-api-fake.h"

struct rig {
    struct loop *loop;
    struct api *api;
    struct runtime *runtime;
    struct cache *cache;
};

/* A server that refuses the first lists with this code. */
static struct rig rig_start(bool optional, bool classic, int code)
{
    struct rig r = {.loop = loop_new_virtual(1, 0)};
    kinds_init();
    r.api = api_fake_new(r.loop, 0);
    api_fake_set_classic(r.api, classic);
    api_fake_refuse(r.api, API_LIST, 4, code);
    r.runtime = runtime_new(r.loop, r.api);
    r.cache = optional ? runtime_cache_optional(r.runtime, &kind_config_map)
                       : runtime_cache(r.runtime, &kind_config_map);
    runtime_start(r.runtime);
    (void)loop_run_until(r.loop, loop_now(r.loop) + 50 * USEC_PER_MSEC, 100000);
    return r;
}

static void rig_done(struct rig *r)
{
    runtime_free(r->runtime);
    api_free(r->api);
    loop_free(r->loop);
}

TEST(nobody_waits_for_an_optional_kind_that_the_server_lacks)
{
    for (int classic = 0; classic < 2; classic++) {
        struct rig r = rig_start(true, classic, 404);
        CHECK(runtime_is_synced(r.runtime));
        CHECK(cache_is_absent(r.cache) && !cache_is_synced(r.cache));
        /* It is installed at last. */
        (void)loop_run_until(r.loop, loop_now(r.loop) + 60 * USEC_PER_SEC, 100000);
        CHECK(cache_is_synced(r.cache) && !cache_is_absent(r.cache));
        rig_done(&r);
        r = rig_start(true, classic, 403);
        CHECK(runtime_is_synced(r.runtime) && cache_is_absent(r.cache));
        rig_done(&r);
    }
}

TEST(a_server_that_does_not_answer_is_waited_for)
{
    struct rig r = rig_start(true, true, 503);
    CHECK(!runtime_is_synced(r.runtime) && !cache_is_absent(r.cache));
    (void)loop_run_until(r.loop, loop_now(r.loop) + 60 * USEC_PER_SEC, 100000);
    CHECK(runtime_is_synced(r.runtime));
    rig_done(&r);
}

TEST(every_other_kind_is_waited_for)
{
    struct rig r = rig_start(false, true, 404);
    CHECK(!runtime_is_synced(r.runtime));
    rig_done(&r);
}
