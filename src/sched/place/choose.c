/* See choose.h. */
#include "sched/place/choose.h"

#include "sched/place/hold.h"

/* ---- those that cannot be judged ---- */

static void set_aside(struct ask_group *g, struct tables *t)
{
    size_t good = 0, kept = 0, n = g->n_pods;
    for (size_t i = 0; i < n; i++)
        good += tables_judge(t, g->pods[i]);
    if (good == n || (int64_t)good < g->need)
        return;
    /* The others keep their order; what is behind them has none. */
    for (size_t i = 0; i < n; i++) {
        struct tpod *p = g->pods[i];
        if (!str_is_empty(p->refused))
            continue;
        g->pods[i] = g->pods[kept];
        g->pods[kept++] = p;
    }
    g->n_pods = good;
    g->n_aside = n - good;
}

void choose_judged(struct ask *q, struct tables *t)
{
    for (size_t i = 0; i < q->n_groups; i++)
        set_aside(&q->groups[i], t);
}

/* ---- several kinds ---- */

static bool is_open(const struct ask_group *g)
{
    bool differ = false;
    for (size_t i = 1; i < g->n_pods && g->need > 0 && (int64_t)g->n_pods > g->need; i++)
        differ = differ || g->pods[i]->cls != g->pods[0]->cls;
    return differ;
}

bool choose_is_open(const struct ask *q)
{
    bool open = false;
    for (size_t i = 0; i < q->n_groups && !open; i++)
        open = is_open(&q->groups[i]);
    return open;
}

/* A kind of pods of a group. */
struct sort_of {
    int32_t cls;
    size_t first;      /* of its pods */
    int64_t count;     /* so many wait */
    int64_t room, all; /* the cluster has room for so many of them, and would have if empty */
    int64_t head;      /* so many come first */
};

enum { SORTS_MAX = 16 };

static struct sort_of *find_sort(struct sort_of *sorts, size_t *n, int32_t cls, size_t at)
{
    for (size_t i = 0; i < *n; i++) {
        if (sorts[i].cls == cls)
            return &sorts[i];
    }
    if (*n == SORTS_MAX)
        return &sorts[SORTS_MAX - 1];
    sorts[*n] = (struct sort_of){.cls = cls, .first = at};
    return &sorts[(*n)++];
}

/* Enough of one kind before less of it where all must be of one kind; then what fits now, then what
 * would fit at all. */
static int cmp_sorts(const void *a, const void *b)
{
    const struct sort_of *x = a, *y = b;
    if (x->head != y->head)
        return x->head > y->head ? -1 : 1;
    if (x->room != y->room)
        return x->room > y->room ? -1 : 1;
    if (x->all != y->all)
        return x->all > y->all ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static size_t read_sorts(const struct ask *q, struct tables *t, const struct ask_group *g,
                         struct sort_of *sorts)
{
    size_t n = 0;
    int32_t within = ask_domain(q, t, g);
    for (size_t i = 0; i < g->n_pods; i++)
        find_sort(sorts, &n, g->pods[i]->cls, i)->count++;
    for (size_t i = 0; i < n; i++) {
        struct sort_of *s = &sorts[i];
        s->room = core_sum(t->core, s->cls, q->tree, within);
        s->all = hold_most(t, s->cls, q->tree);
        s->head = MIN(s->count, s->room);
        if (g->scope.req > 0)
            s->head = s->head >= g->need ? g->need : 0;
    }
    qsort(sorts, n, sizeof(*sorts), cmp_sorts);
    return n;
}

/* As many of each kind as there is room for; then the others, in the same order. */
static void arrange(struct ask_group *g, const struct sort_of *sorts, size_t n, struct arena *a)
{
    struct tpod **pods = arena_array(a, struct tpod *, g->n_pods + 1);
    bool *taken = arena_array(a, bool, g->n_pods + 1);
    size_t len = 0;
    for (int turn = 0; turn < 3; turn++) {
        for (size_t s = 0; s < n; s++) {
            int64_t left = turn == 0 ? sorts[s].head : sorts[s].count;
            for (size_t i = 0; i < g->n_pods && left > 0; i++) {
                if (taken[i] || (turn < 2 && g->pods[i]->cls != sorts[s].cls))
                    continue;
                taken[i] = true;
                pods[len++] = g->pods[i];
                left--;
            }
        }
    }
    memcpy(g->pods, pods, len * sizeof(struct tpod *));
}

/* The kind of that number comes first, whole. */
static void put_first(struct sort_of *sorts, size_t n, size_t number)
{
    struct sort_of s = sorts[number % n];
    memmove(&sorts[1], &sorts[0], (number % n) * sizeof(s));
    sorts[0] = s;
    sorts[0].head = s.count;
}

bool choose_again(struct ask *q, struct tables *t, size_t number, struct arena *a)
{
    bool again = false;
    for (size_t i = 0; i < q->n_groups && number < CHOICES_MAX; i++) {
        struct ask_group *g = &q->groups[i];
        struct sort_of sorts[SORTS_MAX];
        if (!is_open(g))
            continue;
        size_t n = read_sorts(q, t, g, sorts);
        again = again || number <= n;
        if (number > 0 && n > 0)
            put_first(sorts, n, number - 1);
        arrange(g, sorts, n, a);
    }
    return again;
}
