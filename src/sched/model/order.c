/* The order of a round; see order.h. */
#include "sched/model/order.h"

#include "grove/types.h"
#include "sched/model/tell.h"

#define AGE_STEP (30 * USEC_PER_SEC)
enum { AGES = 8 };

static str base_label(const struct tgang *g)
{
    return list_is_empty(&g->pods) ? STR_NONE
                                   : obj_label(list_entry(g->pods.next, struct tpod, link)->obj,
                                               STR(LABEL_BASE_PODGANG));
}

bool order_is_scaled(const struct tgang *g)
{
    return g->group || !str_is_empty(base_label(g));
}

bool order_is_anchor(const struct tgang *g)
{
    return g->obj && g->anchor;
}

str order_replica(const struct tgang *g)
{
    return g->obj ? obj_label(g->obj, STR(LABEL_PCS_INDEX)) : STR_NONE;
}

/* Names of anchors end in the time they were made. */
static struct tgang *first_anchor(struct tgang *g)
{
    struct tgang *first = NULL;
    str replica = order_replica(g);
    if (!g->set || str_is_empty(replica))
        return g;
    list_foreach (it, &g->set->gangs) {
        struct tgang *other = list_entry(it, struct tgang, kin);
        if (order_is_anchor(other) && (!first || strcmp(other->key, first->key) < 0) &&
            str_eq(order_replica(other), replica))
            first = other;
    }
    return first ? first : g;
}

struct tgang *order_lead(struct tables *t, struct tgang *g)
{
    str base = base_label(g);
    struct tgang *lead = NULL;
    if (!str_is_empty(base))
        lead = tables_gang(t, list_entry(g->pods.next, struct tpod, link)->obj->ns, base);
    if (lead && lead->obj)
        return lead;
    return order_is_anchor(g) || !str_is_empty(base) ? first_anchor(g) : g;
}

bool order_follows(struct tables *t, struct tgang *g, const struct tgang *lead)
{
    /* Without a search for each of a replica's gangs. */
    if (order_is_anchor(lead))
        return g->set == lead->set && str_eq(order_replica(g), order_replica(lead));
    return order_lead(t, g) == lead;
}

/* Without a class of its own a gang is as important as its most important pod. */
static void read_pods(struct tgang *g)
{
    if (list_is_empty(&g->pods))
        return;
    g->priority = INT64_MIN;
    g->spares_others = true;
    list_foreach (it, &g->pods) {
        const struct obj *o = list_entry(it, struct tpod, link)->obj;
        g->priority = MAX(g->priority, jint(jgetc(obj_spec(o), "priority"), 0));
        g->spares_others =
            g->spares_others && str_is(jstr(jgetc(obj_spec(o), "preemptionPolicy")), "Never");
    }
}

/* It doubles from step to step: old waiters do not change places all the time. */
static int age_of(const struct tgang *g, const struct world *w)
{
    usec since = gang_waits_since(w, g), now = world_steady(w);
    int age = 0;
    for (usec step = AGE_STEP; since > 0 && age < AGES && now - since >= step; step *= 2)
        age++;
    return age;
}

/* alone: nobody is compared with it. Who leads a large set takes a walk to find out. */
static void read_gang(struct tables *t, struct tgang *g, const struct world *w, bool alone)
{
    if (g->single)
        g->created = obj_created(list_entry(g->pods.next, struct tpod, link)->obj);
    if (g->single || str_is_empty(jstr(jgetc(obj_spec(g->obj), "priorityClassName"))))
        read_pods(g);
    g->lead = alone ? g : order_lead(t, g);
    g->age = age_of(g, w);
    g->turn = 0;
}

static int cmp_numbers(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int cmp_groups(const void *a, const void *b)
{
    const struct tgang *x = *(struct tgang *const *)a, *y = *(struct tgang *const *)b;
    if (!x->group || !y->group)
        return (x->group == NULL) - (y->group == NULL);
    int c = x->group == y->group ? 0 : strcmp(x->group->key, y->group->key);
    return c ? c : cmp_numbers(x->index, y->index);
}

/* Gangs of a group go by their number: they wait together, as long as the one of them that waits
 * longest. */
static void share_age(struct tgang **gangs, size_t n)
{
    int age = 0;
    for (size_t i = 0; i < n; i++)
        age = MAX(age, gangs[i]->age);
    for (size_t i = 0; i < n; i++)
        gangs[i]->age = age;
}

/* The how-manieth of its group each will be when it is placed. */
static void give_turns(struct tgang **gangs, size_t n)
{
    qsort(gangs, n, sizeof(*gangs), cmp_groups);
    for (size_t i = 0, end; i < n && gangs[i]->group; i = end) {
        for (end = i + 1; end < n && gangs[end]->group == gangs[i]->group;)
            end++;
        share_age(gangs + i, end - i);
    }
    for (size_t i = 0; i < n && gangs[i]->group; i++) {
        bool first = i == 0 || gangs[i - 1]->group != gangs[i]->group;
        gangs[i]->turn = first ? gangs[i]->group->placed : gangs[i - 1]->turn + 1;
    }
}

static int cmp_shares(const struct tgang *x, const struct tgang *y)
{
    size_t a = x->group ? x->turn * (y->group ? y->group->total : 1) : 0;
    size_t b = y->group ? y->turn * (x->group ? x->group->total : 1) : 0;
    return cmp_numbers((int64_t)a, (int64_t)b);
}

static int cmp_gangs(const void *a, const void *b)
{
    const struct tgang *x = *(struct tgang *const *)a, *y = *(struct tgang *const *)b;
    int c = cmp_numbers(y->priority, x->priority);
    c = c ? c : (y->n_bound > 0) - (x->n_bound > 0);
    c = c ? c : cmp_numbers(y->age, x->age);
    c = c ? c : cmp_numbers((int64_t)x->lead->created, (int64_t)y->lead->created);
    c = c || x->lead == y->lead ? c : strcmp(x->lead->key, y->lead->key);
    c = c ? c : (y->lead == y) - (x->lead == x);
    c = c ? c : cmp_shares(x, y);
    c = c ? c : cmp_numbers(x->index, y->index);
    c = c ? c : cmp_numbers((int64_t)x->created, (int64_t)y->created);
    return c ? c : strcmp(x->key, y->key);
}

static int cmp_places(const void *a, const void *b)
{
    const struct tgang *x = *(struct tgang *const *)a, *y = *(struct tgang *const *)b;
    return x->place != y->place ? cmp_numbers((int64_t)x->place, (int64_t)y->place)
                                : cmp_gangs(a, b);
}

/* Scaled gangs that run nothing yet come after the last base gang of their set that is as
 * important: what is beyond a set's minimum follows it. */
static void put_bases_first(struct tgang **gangs, size_t n)
{
    bool moves = false;
    for (size_t i = 0; i < n; i++) {
        if (gangs[i]->set)
            gangs[i]->set->bases = 0;
    }
    for (size_t i = n; i-- > 0;) {
        struct tgang *g = gangs[i];
        bool after = g->set && g->set->bases > 0 && order_is_scaled(g) && g->n_bound == 0 &&
                     gangs[g->set->bases - 1]->priority == g->priority;
        /* Behind the base gang, in the order they had. */
        g->place = after ? 2 * (g->set->bases - 1) + 1 : 2 * i;
        moves = moves || after;
        if (g->set && g->set->bases == 0 && !order_is_scaled(g))
            g->set->bases = i + 1;
    }
    if (moves)
        qsort(gangs, n, sizeof(*gangs), cmp_places);
}

void order_gangs(struct tables *t, struct tgang **gangs, size_t n, const struct world *w)
{
    for (size_t i = 0; i < n; i++)
        read_gang(t, gangs[i], w, n < 2);
    if (n < 2)
        return;
    give_turns(gangs, n);
    qsort(gangs, n, sizeof(*gangs), cmp_gangs);
    put_bases_first(gangs, n);
}
