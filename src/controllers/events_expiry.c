/*
 * Events live for an hour after they were last seen, like those of an API server with its usual
 * --event-ttl.
 *
 * Events are many, so none has a key or a timer of its own: an index sorts them by the minute in
 * which they end (an API server does the same: it shares one lease among the events of a minute).
 * The key of this planner is such a minute, and a look-again is due when it is over: an event costs
 * one index entry when it comes, and there are never more than about sixty keys.
 *
 * An event that is reported again is written with a newer time and moves to a later minute. That
 * time is its reporter's word: it counts for a day after the creation, then a recurring event is
 * made anew.
 */
#include "controllers/controllers.h"

#define TTL USEC_PER_HOUR
/* Events deleted in one plan. */
#define BATCH 500

static usec time_at(jval v)
{
    usec at;
    return time_parse_rfc3339(jstr(v), &at) ? at : 0;
}

static usec last_seen(const struct obj *o)
{
    jval root = obj_root(o);
    usec created = obj_created(o);
    usec seen =
        MAX(time_at(jgetc(root, "lastTimestamp")), time_at(jpath(root, "series.lastObservedTime")));
    return MAX(created, MIN(seen, created + USEC_PER_DAY));
}

/* The minute after which it may go. */
static int64_t end_of(const struct obj *o)
{
    return (last_seen(o) + TTL) / USEC_PER_MIN;
}

static str minute_text(struct arena *a, int64_t minute)
{
    return arena_int(a, minute);
}

static void index_minute(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    *n = 0;
    if (max)
        keys[(*n)++] = minute_text(a, end_of(o));
}

static void events_plan(const struct world *w, const struct key *key, void *ctx,
                        struct plan *ret_plan)
{
    (void)ctx;
    uint64_t minute;
    if (!str_to_uint(key->name, &minute) || minute > INT64_MAX / USEC_PER_MIN - 1)
        return;
    struct cache_iter it = cache_by(world_cache(w, &kind_event), index_minute, key->name);
    /* The earliest of them was last seen then. */
    usec seen = world_moment(w, (usec)minute * USEC_PER_MIN - TTL);
    const struct obj *o = cache_next(&it);
    if (o && !world_has_passed(w, seen, TTL + USEC_PER_MIN, ret_plan))
        return;
    for (; o && ret_plan->writes.len < BATCH; o = cache_next(&it)) {
        struct plan_write *d = plan_delete(ret_plan, 0, o);
        d->rv = o->rv; /* unless it is seen again just now */
        plan_why(d, ret_plan, "it was last seen over an hour ago");
    }
    if (o)
        plan_look_again(ret_plan, 0);
}

static void map_event(struct controller *c, const struct world *w, const struct obj *old,
                      const struct obj *new)
{
    (void)w;
    if (!new || (old && end_of(old) == end_of(new)))
        return;
    struct arena a = ARENA_INIT;
    controller_enqueue(c, &kind_event, STR_NONE, minute_text(&a, end_of(new)));
    arena_done(&a);
}

void events_expiry_add(struct runtime *r, struct api *api)
{
    static const struct controller_watch watches[] = {{&kind_event, map_event}};
    cache_add_index(runtime_cache(r, &kind_event), index_minute);
    struct controller_def def = {
        .name = "event-expiry",
        .plan = events_plan,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
        /* Every event that comes makes its minute dirty. */
        .min_interval = USEC_PER_SEC,
    };
    (void)runtime_add(r, &def, api);
}
