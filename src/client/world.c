/* How long ago something was, as planners ask it; see controller.h and loop/clock.h. */
#include "client/controller.h"

usec world_steady(const struct world *w)
{
    return w->clock ? clock_steady(w->clock) : w->now;
}

usec world_moment(const struct world *w, usec wall)
{
    return w->clock ? clock_moment(w->clock, wall) : clock_latest(wall);
}

bool world_seen(const struct world *w, const struct obj *o, struct cache_seen *ret)
{
    const struct cache *c = world_cache(w, o->kind);
    if (!w->clock || !c || !cache_seen(c, o, ret))
        return false;
    usec base = clock_steady(w->clock) - loop_now(runtime_loop(w->runtime));
    ret->first += base;
    ret->version += base;
    return true;
}

/* False: wall times in it are of our own clock, or nobody knows the object. */
static bool seen_by_us(const struct world *w, const struct obj *o, struct cache_seen *ret)
{
    return w->foreign_clocks && world_seen(w, o, ret);
}

/* Others' clocks are right within this, as a rule. */
#define SKEW (5 * USEC_PER_SEC)

/* What it carries was written after it was made and before we saw it: a clock that says otherwise
 * is wrong, and then it may have been as late as we saw it. */
static usec bounded(const struct world *w, const struct obj *o, usec moment)
{
    struct cache_seen s;
    if (!seen_by_us(w, o, &s))
        return moment;
    if (moment > s.version || (!s.listed && moment < s.first - SKEW))
        return s.version;
    return MAX(moment, s.first);
}

usec world_moment_in(const struct world *w, const struct obj *o, usec wall)
{
    return bounded(w, o, world_moment(w, wall));
}

usec world_rebased(const struct world *w, const struct obj *o, usec wall)
{
    if (!w->clock)
        return wall;
    usec moment = clock_moment_exact(w->clock, wall);
    return w->now + (o ? bounded(w, o, moment) : moment) - clock_steady(w->clock);
}

usec world_rebased_seen(const struct world *w, const struct obj *o, usec wall)
{
    struct cache_seen s;
    if (!w->clock)
        return wall;
    usec moment = world_moment_in(w, o, wall);
    if (world_seen(w, o, &s))
        moment = MIN(moment, s.version);
    return w->now + moment - clock_steady(w->clock);
}

usec world_shown(const struct world *w, usec moment)
{
    return w->clock ? clock_shown(w->clock, moment) : moment;
}

usec world_created(const struct world *w, const struct obj *o)
{
    struct cache_seen s;
    return seen_by_us(w, o, &s) ? s.first : world_moment(w, obj_created(o));
}

usec world_made(const struct world *w, const struct obj *o)
{
    struct cache_seen s;
    usec moment = world_moment(w, obj_created(o));
    bool known = seen_by_us(w, o, &s) && !s.listed;
    return known && (moment > s.first + SKEW || moment < s.first - SKEW) ? s.first : moment;
}

bool world_has_passed(const struct world *w, usec moment, usec delay, struct plan *p)
{
    usec left = moment + delay - world_steady(w);
    if (delay <= 0 || left <= 0)
        return true;
    plan_look_again(p, left);
    return false;
}
