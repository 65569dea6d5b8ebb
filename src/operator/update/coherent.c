/* See coherent.h. */
#include "operator/update/coherent.h"

#include "client/slots.h"

/* ---- the plan ---- */

/* What the steps are made of. */
static int64_t with_room(const struct gangmap *m, const struct gangmap_component *c, size_t i)
{
    return MAX(gangmap_units(m, i, false) - c->surged - c->roomless - c->aside, 0);
}

static void set_pace(struct coherent_pace *p, const struct gangmap_component *c, bool alone)
{
    int64_t min = MAX(c->min_available, 1);
    int64_t most = c->max_surge > 0 ? c->max_surge : MAX(c->max_unavailable, 1);
    p->unit = MIN(p->total, alone ? MIN(min, most) : min);
    p->most = MAX(most, p->unit);
}

void coherent_plan(struct arena *a, const struct gangmap *m, const struct gangmap_component *c,
                   struct coherent_plan *ret)
{
    size_t moving = 0, n = m->n_components;
    *ret = (struct coherent_plan){.components = c, .n = n};
    ret->paces = arena_array(a, struct coherent_pace, n + 1);
    for (size_t i = 0; i < n; i++) {
        ret->paces[i].total = c[i].in_scope ? with_room(m, &c[i], i) : 0;
        moving += ret->paces[i].total > 0;
    }
    for (size_t i = 0; i < n; i++) {
        struct coherent_pace *p = &ret->paces[i];
        if (p->total == 0)
            continue;
        set_pace(p, &c[i], moving == 1);
        int64_t steps = p->total / p->unit;
        ret->steps = ret->steps ? MIN(ret->steps, steps) : steps;
    }
    for (size_t i = 0; i < n; i++) {
        struct coherent_pace *p = &ret->paces[i];
        if (p->total == 0)
            continue;
        p->target = p->total / ret->steps;
        p->leftover = p->total - ret->steps * p->target;
    }
}

/* The first step and sub-step that wants more of a component than `done`. */
static void find_position(const struct coherent_plan *p, const struct coherent_pace *pace,
                          int64_t done, int64_t *ret_step, int64_t *ret_sub)
{
    int64_t in_steps = p->steps * pace->target;
    if (done >= in_steps) {
        *ret_step = p->steps + 1;
        *ret_sub = (done - in_steps) / pace->most + 1;
        return;
    }
    int64_t here = done % pace->target;
    *ret_step = done / pace->target + 1;
    *ret_sub = here < pace->unit ? 1 : (here - pace->unit) / pace->most + 2;
}

/* How much of a component is of the new version after a sub-step. */
static int64_t wanted_after(const struct coherent_plan *p, const struct coherent_pace *pace,
                            int64_t step, int64_t sub)
{
    if (step > p->steps)
        return p->steps * pace->target + MIN(pace->leftover, sub * pace->most);
    return (step - 1) * pace->target + MIN(pace->target, pace->unit + (sub - 1) * pace->most);
}

static int64_t done_of(const struct coherent_plan *p, const struct gangmap *m, size_t component)
{
    return MIN(gangmap_units(m, component, true) - p->components[component].aside,
               p->paces[component].total);
}

/* Units of the old version that have room. */
static int64_t old_of(const struct coherent_plan *p, const struct gangmap *m, size_t component)
{
    return gangmap_units(m, component, false) - gangmap_units(m, component, true) -
           p->components[component].roomless;
}

/* What has no room goes aside with whatever comes next, or alone. False: there is none. */
static bool set_aside(const struct coherent_plan *p, struct coherent_step *ret)
{
    bool any = false;
    for (size_t i = 0; i < p->n; i++) {
        ret->aside[i] = p->components[i].roomless;
        any = any || ret->aside[i] > 0;
    }
    return any;
}

bool coherent_next(const struct coherent_plan *p, const struct gangmap *m,
                   struct coherent_step *ret)
{
    *ret = (struct coherent_step){.take = arena_array(m->arena, int64_t, p->n + 1),
                                  .aside = arena_array(m->arena, int64_t, p->n + 1)};
    bool any_aside = set_aside(p, ret);
    for (size_t i = 0; i < p->n; i++) {
        int64_t step, sub, done = done_of(p, m, i);
        if (p->paces[i].unit == 0 || old_of(p, m, i) <= 0)
            continue;
        find_position(p, &p->paces[i], done, &step, &sub);
        if (ret->step == 0 || step < ret->step || (step == ret->step && sub < ret->sub)) {
            ret->step = step;
            ret->sub = sub;
        }
    }
    if (ret->step == 0) {
        ret->step = p->steps + 1;
        ret->sub = 1;
        return any_aside;
    }
    for (size_t i = 0; i < p->n; i++) {
        const struct coherent_pace *pace = &p->paces[i];
        if (pace->unit == 0)
            continue;
        int64_t take = wanted_after(p, pace, ret->step, ret->sub) - done_of(p, m, i);
        ret->take[i] = MAX(0, MIN(MIN(take, pace->most), old_of(p, m, i)));
    }
    ret->makes_gang = ret->step <= p->steps && ret->sub == 1;
    return true;
}

/* ---- one step ---- */

/* The work of one step. */
struct move {
    const struct coherent_plan *plan;
    const struct coherent_target *target;
    struct gangmap map;
    int64_t epoch;        /* for the next entry that is made */
    int64_t tail;         /* of the entry of gangs that are no anchors; 0: there is none yet */
    VEC(int32_t) indices; /* taken from one group */
};

/* A gang of the new version: an anchor, or one of a component (its replica `index`; negative: of
 * its pods). Gangs of one epoch are one entry. */
static struct gangmap_entry *new_gang(struct gangmap *m, const struct coherent_target *t,
                                      enum gang_role role, int64_t epoch,
                                      const struct gangmap_component *c, int64_t index)
{
    struct gangmap_entry *e = gangmap_add(m, role, epoch, t->hash, c ? c->name : STR_NONE, index);
    for (size_t k = 0; k < m->n_components; k++)
        e->parts[k].current = true;
    return e;
}

static struct gangmap_entry *new_anchor(struct gangmap *m, const struct coherent_target *t,
                                        int64_t *epoch)
{
    return new_gang(m, t, GANG_ANCHOR, (*epoch)++, NULL, -1);
}

/* The newest gang of all of this version; NULL: there is none. */
static struct gangmap_entry *newest_anchor(const struct gangmap *m, str hash)
{
    for (size_t i = m->n; i > 0; i--) {
        struct gangmap_entry *e = &m->entries[i - 1];
        if (e->anchor && str_eq(e->hash, hash) && gangmap_is_current(m, e))
            return e;
    }
    return NULL;
}

/* The order in which units go. */
enum turn { TURN_DOWN, TURN_UP, TURN_ROOMLESS, TURNS };

static int64_t pods_in_turn(const struct gangmap_part *p, enum turn turn)
{
    int64_t roomless = MIN(p->pods_roomless, p->n);
    int64_t down = MAX(MIN(p->pods_down, p->n) - roomless, 0);
    return turn == TURN_DOWN ? down : turn == TURN_UP ? p->n - down - roomless : roomless;
}

static enum turn turn_of_index(const struct gangmap_part *p, size_t k)
{
    unsigned char state = p->index_state ? p->index_state[k] : 0;
    if (state & GANGMAP_ROOMLESS)
        return TURN_ROOMLESS;
    return state & GANGMAP_DOWN ? TURN_DOWN : TURN_UP;
}

/* Takes pods out of old parts; returns how many of them serve. */
static int64_t drain_pods(struct gangmap *m, size_t component, int64_t take, enum turn first)
{
    int64_t up = 0;
    for (enum turn turn = first; turn < TURNS; turn++) {
        for (size_t i = 0; i < m->n && take > 0; i++) {
            struct gangmap_part *p = &m->entries[i].parts[component];
            int64_t n = p->current ? 0 : MIN(take, pods_in_turn(p, turn));
            p->n -= n;
            p->pods_down -= turn == TURN_UP ? 0 : n;
            p->pods_roomless -= turn == TURN_ROOMLESS ? n : 0;
            up += turn == TURN_UP ? n : 0;
            take -= n;
        }
    }
    return up;
}

/* Takes replicas of a group out of old parts into mv->indices; returns how many of them serve. */
static int64_t drain_indices(struct move *mv, size_t component, int64_t take, enum turn first)
{
    int64_t up = 0;
    struct gangmap *m = &mv->map;
    vec_clear(&mv->indices);
    for (enum turn turn = first; turn < TURNS; turn++) {
        for (size_t i = 0; i < m->n && take > 0; i++) {
            struct gangmap_part *p = &m->entries[i].parts[component];
            for (size_t k = 0; !p->current && take > 0 && k < (size_t)p->n;) {
                if (turn_of_index(p, k) != turn) {
                    k++;
                    continue;
                }
                *vec_push(&mv->indices) = gangmap_take_index(p, k);
                up += turn == TURN_UP;
                take--;
            }
        }
    }
    return up;
}

/* Where pods go that make no gang of their own. */
static struct gangmap_entry *joined_entry(struct move *mv)
{
    struct gangmap_entry *e = newest_anchor(&mv->map, mv->target->hash);
    return e ? e : new_anchor(&mv->map, mv->target, &mv->epoch);
}

/* Into the gang, or into one for each in the entry of this epoch. */
static void place_indices(struct move *mv, size_t component, struct gangmap_entry *gang,
                          int64_t epoch)
{
    for (size_t k = 0; k < mv->indices.len; k++) {
        int32_t index = mv->indices.p[k];
        struct gangmap_entry *e = gang ? gang
                                       : new_gang(&mv->map, mv->target, GANG_TAIL, epoch,
                                                  &mv->plan->components[component], index);
        gangmap_add_index(&mv->map, &e->parts[component], index);
    }
}

static int64_t tail_epoch(struct move *mv)
{
    if (mv->tail == 0)
        mv->tail = mv->epoch++;
    return mv->tail;
}

/* Into gangs of their own, in an entry of their own: nobody waits for these. */
static void move_aside(struct move *mv, size_t component, int64_t n, int64_t epoch)
{
    const struct gangmap_component *c = &mv->plan->components[component];
    size_t before = mv->map.n;
    if (c->is_group) {
        (void)drain_indices(mv, component, n, TURN_ROOMLESS);
        place_indices(mv, component, NULL, epoch);
    } else {
        (void)drain_pods(&mv->map, component, n, TURN_ROOMLESS);
        new_gang(&mv->map, mv->target, GANG_TAIL, epoch, c, -1)->parts[component].n = n;
    }
    for (size_t i = before; i < mv->map.n; i++)
        mv->map.entries[i].aside = true;
}

struct gangmap coherent_apply(const struct coherent_plan *p, const struct gangmap *m,
                              const struct coherent_step *s, const struct coherent_target *t,
                              int64_t *taken_up)
{
    struct move mv = {.plan = p, .target = t, .map = gangmap_copy(m)};
    bool makes_gang =
        s->makes_gang && (t->tail == COHERENT_PAIRED || !newest_anchor(&mv.map, t->hash));
    size_t gang = 0;
    mv.epoch = gangmap_next_epoch(m, t->now);
    if (makes_gang) {
        (void)new_anchor(&mv.map, t, &mv.epoch);
        gang = mv.map.n;
    }
    for (size_t c = 0; c < p->n; c++) {
        int64_t up = 0;
        if (s->take[c] > 0 && p->components[c].is_group) {
            up = drain_indices(&mv, c, s->take[c], TURN_DOWN);
            place_indices(&mv, c, gang ? &mv.map.entries[gang - 1] : NULL,
                          gang ? 0 : tail_epoch(&mv));
        } else if (s->take[c] > 0) {
            up = drain_pods(&mv.map, c, s->take[c], TURN_DOWN);
            (gang ? &mv.map.entries[gang - 1] : joined_entry(&mv))->parts[c].n += s->take[c];
        }
        if (taken_up)
            taken_up[c] = up;
    }
    for (size_t c = 0; c < p->n; c++) {
        if (s->aside && s->aside[c] > 0)
            move_aside(&mv, c, s->aside[c], mv.epoch);
    }
    gangmap_drop_empty(&mv.map);
    vec_done(&mv.indices);
    return mv.map;
}

void coherent_drain(struct gangmap *m, const struct gangmap_component *c, const int64_t *take)
{
    struct move mv = {.map = *m};
    for (size_t i = 0; i < m->n_components; i++) {
        if (c[i].is_group)
            (void)drain_indices(&mv, i, take[i], TURN_DOWN);
        else
            (void)drain_pods(&mv.map, i, take[i], TURN_DOWN);
    }
    gangmap_drop_empty(&mv.map);
    vec_done(&mv.indices);
    *m = mv.map;
}

/* ---- the gate ---- */

size_t coherent_newest(const struct gangmap *m, const struct gangmap_entry **ret)
{
    size_t n = 0;
    int64_t last = -1;
    for (size_t i = 0; i < m->n; i++)
        last = MAX(last, m->entries[i].first ? -1 : m->entries[i].epoch);
    /* Epochs of one pass are next to each other and stand in their order. */
    for (size_t i = m->n; i > 0 && last >= 0; i--) {
        int64_t epoch = m->entries[i - 1].first ? -1 : m->entries[i - 1].epoch;
        if (epoch != last && epoch != last - 1)
            continue;
        ret[n++] = &m->entries[i - 1];
        last = epoch;
    }
    return n;
}

bool coherent_check_gangs(const struct gangmap *m, const struct coherent_target *t,
                          const struct coherent_live *live, struct coherent_gate *ret)
{
    *ret = (struct coherent_gate){.wait = COHERENT_GANGS};
    const struct gangmap_entry **made =
        arena_array(m->arena, const struct gangmap_entry *, m->n + 1);
    size_t n = coherent_newest(m, made);
    for (size_t i = n; i > 0; i--) {
        const struct gangmap_entry *e = made[i - 1];
        if (!str_eq(e->hash, t->hash) || e->aside || !gangmap_is_current(m, e))
            continue;
        bool ready = live->is_ready(live->ctx, e->name);
        ret->need++;
        ret->have += ready;
        if (!ready && str_is_empty(ret->gang))
            ret->gang = e->name;
    }
    return ret->have == ret->need;
}

static bool check_joined(const struct coherent_plan *p, const struct gangmap *m,
                         const struct coherent_target *t, const struct coherent_live *live,
                         struct coherent_gate *ret)
{
    const struct gangmap_entry *e = newest_anchor(m, t->hash);
    for (size_t c = 0; e && c < p->n; c++) {
        if (p->components[c].is_group || !p->components[c].in_scope)
            continue;
        *ret = (struct coherent_gate){.component = &p->components[c],
                                      .gang = e->name,
                                      .have = live->ready_pods(live->ctx, e->name, c),
                                      .need = e->parts[c].n};
        if (ret->have < ret->need)
            return false;
    }
    return true;
}

/* What is on its way may be found to have room, or none. */
static bool check_coming(const struct coherent_plan *p, struct coherent_gate *ret)
{
    for (size_t c = 0; c < p->n; c++) {
        const struct gangmap_component *k = &p->components[c];
        *ret = (struct coherent_gate){.component = k, .have = k->coming};
        if (k->in_scope && k->coming > 0)
            return false;
    }
    return true;
}

/* Units of the old version that have room, do not serve, and are of a version that was never
 * complete. */
static int64_t count_broken(const struct gangmap *m, size_t c, const struct coherent_live *live)
{
    int64_t n = 0;
    for (size_t i = 0; live->was_complete && i < m->n; i++) {
        const struct gangmap_part *p = &m->entries[i].parts[c];
        if (p->n == 0 || p->current || live->was_complete(live->ctx, i, c))
            continue;
        for (size_t k = 0; p->indices && k < (size_t)p->n; k++)
            n += turn_of_index(p, k) == TURN_DOWN;
        n += p->indices ? 0 : pods_in_turn(p, TURN_DOWN);
    }
    return n;
}

/* What lacks something is not taken down further, be it with units that do not serve: they may come
 * back, and then more serve. There are two exceptions, as long as nothing that serves goes. Of a
 * component of which nothing serves nothing can be missed; and what is missing because of a version
 * that never was complete is mended by nobody but the update. */
static bool may_take(const struct gangmap *m, size_t c, const struct coherent_gate *g,
                     const struct coherent_live *live)
{
    if (g->have - g->takes >= g->need)
        return true;
    if (g->takes > 0)
        return false;
    return g->have == 0 || g->have + count_broken(m, c, live) >= g->need;
}

static bool check_serving(const struct coherent_plan *p, const struct gangmap *m,
                          const struct coherent_target *t, const struct coherent_live *live,
                          struct coherent_gate *ret)
{
    struct coherent_step next;
    int64_t *up = arena_array(m->arena, int64_t, p->n + 1);
    if (!coherent_next(p, m, &next))
        return true; /* nothing is taken any more */
    (void)coherent_apply(p, m, &next, t, up);
    for (size_t c = 0; c < p->n; c++) {
        const struct gangmap_component *k = &p->components[c];
        *ret = (struct coherent_gate){.component = k,
                                      .have = k->ready,
                                      .need = MAX(0, p->paces[c].total - p->paces[c].most),
                                      .takes = up[c]};
        if (k->in_scope && !may_take(m, c, ret, live))
            return false;
    }
    return true;
}

struct coherent_gate coherent_check(const struct coherent_plan *p, const struct gangmap *m,
                                    const struct coherent_target *t,
                                    const struct coherent_live *live)
{
    struct coherent_gate g;
    if (!coherent_check_gangs(m, t, live, &g))
        return g;
    if (!check_joined(p, m, t, live, &g)) {
        g.wait = COHERENT_JOINED;
        return g;
    }
    if (!check_coming(p, &g)) {
        g.wait = COHERENT_COMING;
        return g;
    }
    if (live->count)
        live->count(live->ctx);
    if (!check_serving(p, m, t, live, &g)) {
        g.wait = COHERENT_SERVING;
        return g;
    }
    return (struct coherent_gate){.wait = COHERENT_GO};
}

str coherent_explain(struct arena *a, const struct coherent_gate *g)
{
    switch (g->wait) {
    case COHERENT_GANGS:
        return arena_printf(a, "%lld of the %lld gangs made last are ready; waiting for %.*s",
                            (long long)g->have, (long long)g->need, STR_ARG(g->gang));
    case COHERENT_JOINED:
        return arena_printf(a, "%lld pods of %.*s in gang %.*s are ready, %lld are needed",
                            (long long)g->have, STR_ARG(g->component->name), STR_ARG(g->gang),
                            (long long)g->need);
    case COHERENT_COMING:
        return arena_printf(a, "%lld %s of %.*s are on their way to nodes", (long long)g->have,
                            g->component->is_group ? "replicas" : "pods",
                            STR_ARG(g->component->name));
    case COHERENT_SERVING:
        if (g->takes == 0)
            return arena_printf(a, "%lld of %lld %s of %.*s serve, %lld must before the next step",
                                (long long)g->have, (long long)g->component->replicas,
                                g->component->is_group ? "replicas" : "pods",
                                STR_ARG(g->component->name), (long long)g->need);
        return arena_printf(
            a, "%lld of %lld %s of %.*s serve, %lld must stay and the next step takes %lld of them",
            (long long)g->have, (long long)g->component->replicas,
            g->component->is_group ? "replicas" : "pods", STR_ARG(g->component->name),
            (long long)g->need, (long long)g->takes);
    default:
        return STR_NONE;
    }
}

/* ---- scaling ---- */

static bool holds_only(const struct gangmap *m, const struct gangmap_entry *e, size_t component)
{
    for (size_t c = 0; c < m->n_components; c++) {
        if (c != component && e->parts[c].n > 0)
            return false;
    }
    return true;
}

/* Where a unit of a component is, as far as it matters for who goes first. */
struct seat {
    struct gangmap_entry *entry;
    bool aside, current, alone, legacy, down;
    int64_t epoch, index;
};

/* Smaller goes first. */
static int cmp_seats(const struct seat *x, const struct seat *y)
{
    if (x->aside != y->aside)
        return x->aside ? -1 : 1;
    if (x->current != y->current)
        return x->current ? 1 : -1;
    if (x->alone != y->alone)
        return x->alone ? -1 : 1;
    if (x->legacy != y->legacy)
        return x->legacy ? -1 : 1;
    if (x->down != y->down)
        return x->down ? -1 : 1;
    if (x->epoch != y->epoch)
        return x->epoch > y->epoch ? -1 : 1;
    return x->index > y->index ? -1 : x->index < y->index;
}

/* The unit of an entry that would go first. */
static struct seat first_seat(const struct gangmap *m, struct gangmap_entry *e, size_t component,
                              bool is_group)
{
    const struct gangmap_part *p = &e->parts[component];
    return (struct seat){.entry = e,
                         .aside = e->aside,
                         .current = p->current,
                         .alone = is_group && holds_only(m, e, component),
                         .legacy = is_group && e->first && !e->anchor,
                         .down = !is_group && p->pods_down > 0,
                         .epoch = e->epoch,
                         .index = is_group ? p->indices[p->n - 1] : 0};
}

/* Returns the number of the entry it was in. */
static size_t remove_unit(struct gangmap *m, size_t component, bool is_group)
{
    struct seat best = {0};
    for (size_t i = 0; i < m->n; i++) {
        if (m->entries[i].parts[component].n == 0)
            continue;
        struct seat s = first_seat(m, &m->entries[i], component, is_group);
        if (!best.entry || cmp_seats(&s, &best) < 0)
            best = s;
    }
    BUG_ON(!best.entry);
    struct gangmap_part *p = &best.entry->parts[component];
    if (is_group)
        (void)gangmap_take_index(p, (size_t)p->n - 1);
    else
        p->n--;
    p->pods_down = MAX(p->pods_down - !is_group, 0);
    return (size_t)(best.entry - m->entries);
}

/* ---- partners ---- */

static size_t count_anchors(const struct gangmap *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++)
        n += m->entries[i].anchor && !gangmap_is_empty(m, &m->entries[i]);
    return n;
}

/* The component that has the entry to itself, -1: none has. */
static int64_t alone_in(const struct gangmap *m, const struct gangmap_entry *e)
{
    int64_t only = -1;
    for (size_t c = 0; c < m->n_components; c++) {
        if (e->parts[c].n == 0)
            continue;
        if (only >= 0)
            return -1;
        only = (int64_t)c;
    }
    return only;
}

/* Its units are what they were, in gangs of their own: nothing of it is made anew. */
static void rehome(struct gangmap *m, size_t entry, const struct gangmap_component *components,
                   const struct coherent_target *t, int64_t *epoch, str *ret_moved)
{
    int64_t c = alone_in(m, &m->entries[entry]);
    if (c < 0 || !m->entries[entry].anchor || !m->entries[entry].parts[c].current ||
        m->entries[entry].first || count_anchors(m) < 2)
        return;
    struct gangmap_part part = m->entries[entry].parts[c];
    str hash = m->entries[entry].hash, from = m->entries[entry].name;
    m->entries[entry].parts[c] = (struct gangmap_part){.current = true};
    bool is_group = components[c].is_group;
    for (int64_t i = 0; i < (is_group ? part.n : 1); i++) {
        struct gangmap_entry *e =
            new_gang(m, t, GANG_TAIL, *epoch, &components[c], is_group ? part.indices[i] : -1);
        e->hash = hash;
        if (is_group)
            gangmap_add_index(m, &e->parts[c], part.indices[i]);
        else
            e->parts[c].n = part.n;
    }
    (*epoch)++;
    if (ret_moved)
        *ret_moved = arena_printf(m->arena,
                                  "%lld of %.*s were left alone in gang %.*s and have "
                                  "gangs of their own now",
                                  (long long)part.n, STR_ARG(components[c].name), STR_ARG(from));
}

/* The entry of what scaling adds; one that is there already is added to. */
static int64_t scale_out_epoch(const struct gangmap *m, const struct coherent_target *t,
                               int64_t *epoch)
{
    for (size_t i = m->n; i > 0; i--) {
        const struct gangmap_entry *e = &m->entries[i - 1];
        if (e->role == GANG_SCALE_OUT && str_eq(e->hash, t->hash) && !e->aside)
            return e->epoch;
    }
    return (*epoch)++;
}

static void add_indices(struct gangmap *m, const struct gangmap_component *c, size_t component,
                        const struct coherent_target *t, int64_t *epoch, int64_t missing)
{
    struct slots used = {0};
    int64_t index = 0, own = scale_out_epoch(m, t, epoch);
    for (size_t i = 0; i < m->n; i++) {
        const struct gangmap_part *p = &m->entries[i].parts[component];
        for (int64_t k = 0; k < p->n; k++)
            slots_add(&used, p->indices[k]);
    }
    for (; missing > 0; missing--) {
        index = slots_free_from(&used, index);
        struct gangmap_entry *e = new_gang(m, t, GANG_SCALE_OUT, own, c, index);
        gangmap_add_index(m, &e->parts[component], (int32_t)index++);
    }
    slots_done(&used);
}

/* The newest gang of all that has pods of the clique, else the newest of any kind that has. */
static struct gangmap_entry *home_of(const struct gangmap *m, size_t component)
{
    struct gangmap_entry *any = NULL;
    for (size_t i = m->n; i > 0; i--) {
        struct gangmap_entry *e = &m->entries[i - 1];
        if (e->parts[component].n == 0)
            continue;
        if (e->anchor)
            return e;
        any = any ? any : e;
    }
    return any;
}

/* A gang for pods that find none: the first of a map, or one that waits for the others. */
static struct gangmap_entry *new_home(struct gangmap *m, const struct gangmap_component *c,
                                      const struct coherent_target *t, int64_t *epoch)
{
    return m->n == 0 ? new_anchor(m, t, epoch) : new_gang(m, t, GANG_SCALE_OUT, (*epoch)++, c, -1);
}

/* Pods of the new version join the newest gang of all of it, or where versions mix the newest that
 * has any. Where the update has not come yet they make a gang that waits for the others. */
static void add_pods(struct gangmap *m, const struct gangmap_component *c, size_t component,
                     const struct coherent_target *t, int64_t *epoch, int64_t missing)
{
    struct gangmap_entry *e = t->mixes ? home_of(m, component) : NULL;
    for (size_t i = m->n; i > 0 && !e; i--) {
        struct gangmap_entry *there = &m->entries[i - 1];
        const struct gangmap_part *p = &there->parts[component];
        if (there->anchor && (p->n > 0 ? p->current : str_eq(there->hash, t->hash)))
            e = there;
    }
    for (size_t i = m->n; i > 0 && !e; i--) {
        struct gangmap_entry *there = &m->entries[i - 1];
        if (there->parts[component].n > 0 && there->parts[component].current && !there->aside)
            e = there;
    }
    if (!e)
        e = new_home(m, c, t, epoch);
    e->parts[component].n += missing;
}

/* Units of a component that the map is to hold. */
static int64_t wanted_units(const struct gangmap_component *c)
{
    return MAX(c->replicas, 0) + c->surged;
}

bool coherent_is_scaled(const struct gangmap *m, const struct gangmap_component *c)
{
    for (size_t i = 0; i < m->n_components; i++) {
        if (gangmap_units(m, i, false) != wanted_units(&c[i]))
            return true;
    }
    return false;
}

bool coherent_scale(struct gangmap *m, const struct gangmap_component *c,
                    const struct coherent_target *t, str *ret_moved)
{
    bool changed = false;
    size_t n_old = m->n;
    bool *taken_from = arena_array(m->arena, bool, n_old + 1);
    int64_t epoch = gangmap_next_epoch(m, t->now);
    for (size_t i = 0; i < m->n_components; i++) {
        int64_t have = gangmap_units(m, i, false), want = wanted_units(&c[i]);
        changed = changed || have != want;
        for (; have > want; have--)
            taken_from[remove_unit(m, i, c[i].is_group)] = true;
        if (have < want && c[i].is_group)
            add_indices(m, &c[i], i, t, &epoch, want - have);
        else if (have < want)
            add_pods(m, &c[i], i, t, &epoch, want - have);
    }
    for (size_t i = 0; i < n_old; i++) {
        if (taken_from[i])
            rehome(m, i, c, t, &epoch, ret_moved);
    }
    gangmap_drop_empty(m);
    return changed;
}

/* ---- above the number ---- */

/* The highest replica of a group; NULL: there is none. */
static struct gangmap_entry *highest(const struct gangmap *m, size_t component, int64_t *ret_index)
{
    struct gangmap_entry *e = NULL;
    *ret_index = -1;
    for (size_t i = 0; i < m->n; i++) {
        const struct gangmap_part *p = &m->entries[i].parts[component];
        if (p->n == 0 || p->indices[p->n - 1] <= *ret_index)
            continue;
        *ret_index = p->indices[p->n - 1];
        e = &m->entries[i];
    }
    return e;
}

static void raise_group(struct gangmap *m, const struct gangmap_component *c, size_t component,
                        const struct coherent_target *t, int64_t *epoch, int64_t more)
{
    int64_t top, own = more > 0 ? scale_out_epoch(m, t, epoch) : 0;
    for (; more > 0; more--) {
        (void)highest(m, component, &top);
        struct gangmap_entry *e = new_gang(m, t, GANG_SCALE_OUT, own, c, top + 1);
        gangmap_add_index(m, &e->parts[component], (int32_t)top + 1);
    }
    for (; more < 0; more++) {
        struct gangmap_entry *e = highest(m, component, &top);
        if (!e)
            return;
        (void)gangmap_take_index(&e->parts[component], (size_t)e->parts[component].n - 1);
    }
}

static void raise_pods(struct gangmap *m, const struct gangmap_component *c, size_t component,
                       const struct coherent_target *t, int64_t *epoch, int64_t more)
{
    struct gangmap_entry *e = home_of(m, component);
    if (more > 0 && !e)
        e = new_home(m, c, t, epoch);
    if (more > 0)
        e->parts[component].n += more;
    for (; more < 0 && e; e = home_of(m, component)) {
        int64_t n = MIN(-more, e->parts[component].n);
        e->parts[component].n -= n;
        more += n;
    }
}

void coherent_raise(struct gangmap *m, const struct gangmap_component *c,
                    const struct coherent_target *t, const int64_t *more)
{
    int64_t epoch = gangmap_next_epoch(m, t->now);
    for (size_t i = 0; i < m->n_components; i++) {
        if (c[i].is_group)
            raise_group(m, &c[i], i, t, &epoch, more[i]);
        else
            raise_pods(m, &c[i], i, t, &epoch, more[i]);
    }
    gangmap_drop_empty(m);
}
