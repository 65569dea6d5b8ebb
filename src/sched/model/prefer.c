/* See prefer.h. */
#include "sched/model/prefer.h"

#include "sched/model/order.h"

enum { NEAR_MAX = 32 };

/* ---- nodes, those with most pods first ---- */

struct nodes {
    int32_t *list;
    int32_t counts[NEAR_MAX];
    size_t n, first; /* first: those before it are ranked already */
};

static void add_node(struct nodes *x, int32_t node)
{
    size_t i = 0;
    while (i < x->n && x->list[i] != node)
        i++;
    if (i == NEAR_MAX)
        return;
    if (i == x->n) {
        x->list[x->n] = node;
        x->counts[x->n++] = 0;
    }
    x->counts[i]++;
}

/* Those that came since the last call are ordered among themselves. */
static void rank(struct nodes *x)
{
    for (size_t i = x->first + 1; i < x->n; i++) {
        int32_t node = x->list[i], count = x->counts[i];
        size_t k = i;
        for (; k > x->first && x->counts[k - 1] < count; k--) {
            x->list[k] = x->list[k - 1];
            x->counts[k] = x->counts[k - 1];
        }
        x->list[k] = node;
        x->counts[k] = count;
    }
    x->first = x->n;
}

static struct nodes nodes_begin(struct arena *a)
{
    return (struct nodes){.list = arena_array(a, int32_t, NEAR_MAX)};
}

static void add_group(struct nodes *x, const struct ask_group *g)
{
    for (size_t i = 0; i < g->n_members; i++) {
        const struct tpod *p = g->members[i];
        if (p->node != CORE_NONE && !p->obj->deleting)
            add_node(x, p->node);
    }
}

static void add_gang(struct nodes *x, const struct tgang *g)
{
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (p->node != CORE_NONE && !p->obj->deleting)
            add_node(x, p->node);
    }
}

/* ---- pods that come later ---- */

/* The leaf of the group's pods of a class; a new one when it has none. */
static struct core_leaf *find_leaf(const struct ask *q, struct core_leaf *more, size_t *n,
                                   size_t first, size_t group, int32_t cls)
{
    struct core_scope scope = q->groups[group].scope;
    int32_t bundle = q->groups[group].bundle;
    for (size_t i = 0; i < q->core.n_leaves; i++) {
        if ((size_t)q->leaf_group[i] != group)
            continue;
        if (more[i].cls == cls)
            return &more[i];
        scope = more[i].scope; /* they may be tied, see ask.h */
        bundle = more[i].bundle;
    }
    for (size_t i = first; i < *n; i++) {
        if (more[i].cls == cls)
            return &more[i];
    }
    more[*n] = (struct core_leaf){scope, cls, 0, bundle};
    return &more[(*n)++];
}

static size_t count_later(const struct ask *q)
{
    size_t n = 0;
    for (size_t i = 0; i < q->n_groups; i++)
        n += q->groups[i].n_pods - MIN((size_t)q->groups[i].need, q->groups[i].n_pods);
    return n + q->gated;
}

static void read_more(struct ask *q, struct tables *t, struct arena *a)
{
    size_t n = q->core.n_leaves, later = count_later(q);
    if (later == 0)
        return;
    struct core_leaf *more = arena_array(a, struct core_leaf, n + later);
    for (size_t i = 0; i < n; i++) {
        more[i] = q->core.leaves[i];
        more[i].need = 0;
    }
    for (size_t i = 0; i < q->n_groups; i++) {
        size_t first = n;
        struct tpod *p;
        for (size_t at = 0; (p = ask_later(q, t, i, &at));)
            find_leaf(q, more, &n, first, i, p->cls)->need++;
    }
    q->soft.more = more;
    q->soft.n_more = n;
}

/* ---- what it prefers ---- */

/* Its base gang, then the others of its replica. In a large set these are not looked for: a base
 * gang is without them, a scaled one has its base gang to be near to, and is not kept apart from
 * those that may be its own. */
static void read_replica(struct ask *q, struct tables *t, struct nodes *x)
{
    const struct tset *set = q->gang->set;
    struct tgang *lead = order_lead(t, q->gang);
    bool small = set->n_gangs <= SMALL_SET;
    if (lead != q->gang)
        add_gang(x, lead);
    rank(x);
    for (struct list *it = set->gangs.next; small && it != &set->gangs; it = it->next) {
        struct tgang *g = list_entry(it, struct tgang, kin);
        if (g != q->gang && g != lead && order_follows(t, g, lead))
            add_gang(x, g);
    }
    if (small || lead == q->gang)
        q->soft.apart = &set->hosts;
}

void prefer_read(struct ask *q, struct tables *t, struct arena *a)
{
    struct nodes x = nodes_begin(a);
    q->soft = (struct core_soft){.own = q->bound > 0};
    if (q->gang->single)
        return;
    for (size_t i = 0; q->soft.own && i < q->n_groups; i++)
        add_group(&x, &q->groups[i]);
    if (!q->soft.own) {
        read_more(q, t, a);
        if (q->gang->set)
            read_replica(q, t, &x);
    }
    rank(&x);
    q->soft.near = x.list;
    q->soft.n_near = x.n;
}

struct core_soft prefer_beside(const struct ask *q, const struct core_op *ops, size_t n,
                               struct arena *a)
{
    if (n == 0)
        return q->soft;
    struct nodes x = nodes_begin(a);
    for (size_t i = 0; i < n; i++)
        add_node(&x, ops[i].node);
    rank(&x);
    for (size_t i = 0; i < q->n_groups; i++)
        add_group(&x, &q->groups[i]);
    rank(&x);
    return (struct core_soft){.near = x.list, .n_near = x.n, .own = true};
}

const int32_t *prefer_near(const struct ask *q, size_t group, size_t *ret_n, struct arena *a)
{
    const struct ask_group *own = &q->groups[group];
    struct nodes x = nodes_begin(a);
    add_group(&x, own);
    rank(&x);
    for (size_t i = 0; i < q->n_groups && own->bundle != CORE_NONE; i++) {
        if (q->groups[i].bundle == own->bundle)
            add_group(&x, &q->groups[i]);
    }
    rank(&x);
    for (size_t i = 0; i < q->n_groups; i++)
        add_group(&x, &q->groups[i]);
    rank(&x);
    *ret_n = x.n;
    return x.list;
}
