/* See headroom.h. */
#include "sched/place/headroom.h"

#include "grove/types.h"
#include "sched/model/order.h"

enum { SPARES_MAX = 32, COMING_MAX = 1 << 24 };

static struct ask_group *find_group(const struct ask *q, str name)
{
    for (size_t i = 0; i < q->n_groups; i++) {
        if (str_eq(q->groups[i].name, name))
            return &q->groups[i];
    }
    return NULL;
}

/* The narrowest level that pods of the group must share. */
static int level_of(const struct ask *q, const struct ask_group *g)
{
    int level = MAX(q->scope.req, g->scope.req);
    return g->bundle == CORE_NONE ? level : MAX(level, q->bundles[g->bundle].req);
}

/* Of the class, pods of gangs that follow this one and are there. */
static int64_t count_there(const struct ask *q, struct tables *t, int32_t cls)
{
    int64_t n = 0;
    list_foreach (it, &q->gang->set->gangs) {
        struct tgang *g = list_entry(it, struct tgang, kin);
        if (g == q->gang || !g->obj || !order_follows(t, g, q->gang))
            continue;
        list_foreach (k, &g->pods) {
            const struct tpod *p = list_entry(k, struct tpod, link);
            n += p->cls == cls && !p->obj->deleting;
        }
    }
    return n;
}

static void add_spare(struct core_spare *spares, size_t *n, struct core_spare s)
{
    size_t i = 0;
    while (i < *n && (spares[i].cls != s.cls || spares[i].level != s.level ||
                      (s.level > 0 && spares[i].lot != s.lot)))
        i++;
    if (i < *n)
        spares[i].count = MIN(spares[i].count, COMING_MAX) + s.count;
    else if (i < SPARES_MAX)
        spares[(*n)++] = s;
}

/* Those that are there are taken off the first entries of their class. */
static int64_t take_there(const struct ask *q, struct tables *t, struct core_spare *there,
                          size_t *n, int32_t cls, int64_t count)
{
    size_t i = 0;
    while (i < *n && there[i].cls != cls)
        i++;
    if (i == SPARES_MAX)
        return 0;
    if (i == *n)
        there[(*n)++] = (struct core_spare){
            .cls = cls, .count = (int32_t)MIN(count_there(q, t, cls), COMING_MAX)};
    int64_t taken = MIN(count, there[i].count);
    there[i].count -= (int32_t)taken;
    return count - taken;
}

void headroom_add(struct ask *q, struct tables *t, struct arena *a)
{
    str rest = q->gang->obj ? obj_annotation(q->gang->obj, STR(ANNOTATION_SCALED_PODS)) : STR_NONE;
    if (str_is_empty(rest) || (q->scope.req == 0 && q->spread_level == 0) || q->bound > 0 ||
        !q->gang->set || order_is_scaled(q->gang))
        return;
    struct core_spare *spares = arena_array(a, struct core_spare, SPARES_MAX);
    struct core_spare there[SPARES_MAX];
    size_t n = MIN(q->core.n_spares, SPARES_MAX), n_there = 0;
    if (n > 0)
        memcpy(spares, q->core.spares, n * sizeof(*spares));
    while (!str_is_empty(rest)) {
        str number = str_cut(&rest, ','), name = str_cut(&number, '=');
        const struct ask_group *g = find_group(q, name);
        int64_t count;
        if (!g || g->n_pods == 0 || !str_to_int(number, &count) || count <= 0 ||
            !tables_judge(t, g->pods[0]))
            continue;
        int32_t cls = g->pods[0]->cls, lot = (int32_t)MIN(g->n_members, COMING_MAX);
        count = take_there(q, t, there, &n_there, cls, MIN(count, COMING_MAX));
        if (count > 0)
            add_spare(spares, &n, (struct core_spare){cls, (int32_t)count, lot, level_of(q, g)});
    }
    q->core.spares = spares;
    q->core.n_spares = n;
}
