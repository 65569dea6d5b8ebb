/* See queues.h. */
#include "sched/model/queues.h"

/* ---- water ---- */

/* Fills vessels of a capacity each with what there is, in proportion to weight; returns what is
 * over. Whole numbers: the last few go to the first ones. */
struct vessel {
    int64_t weight, cap, got;
};

static int64_t pour_once(struct vessel *v, size_t n, int64_t water, bool *ret_full)
{
    __int128 weights = 0;
    int64_t given = 0;
    *ret_full = false;
    for (size_t i = 0; i < n; i++)
        weights += v[i].got < v[i].cap ? v[i].weight : 0;
    for (size_t i = 0; i < n && weights > 0; i++) {
        if (v[i].got >= v[i].cap)
            continue;
        int64_t part = (int64_t)((__int128)water * v[i].weight / weights);
        if (part >= v[i].cap - v[i].got) {
            part = v[i].cap - v[i].got;
            *ret_full = true;
        }
        v[i].got += part;
        given += part;
    }
    return given;
}

static int64_t pour(struct vessel *v, size_t n, int64_t water)
{
    bool full = true;
    while (water > 0 && full)
        water -= pour_once(v, n, water, &full);
    for (size_t i = 0; i < n && water > 0; i++) {
        if (v[i].weight <= 0 || v[i].got >= v[i].cap)
            continue;
        v[i].got++;
        water--;
    }
    return water;
}

/* ---- one level of the tree ---- */

struct siblings {
    const struct queue *q;
    struct queue_share *shares;
    int32_t of[QUEUES_MAX]; /* their numbers */
    size_t n;
    size_t resource;
};

/* Those of the priority; weights and caps by what they may still have. */
static int64_t pour_band(const struct siblings *s, int64_t priority, int64_t water)
{
    struct vessel v[QUEUES_MAX];
    for (size_t i = 0; i < s->n; i++) {
        const struct queue *q = &s->q[s->of[i]];
        const struct queue_share *x = &s->shares[s->of[i]];
        v[i] = (struct vessel){q->priority == priority ? q->weight : 0,
                               q->priority == priority ? x->want[s->resource] : 0,
                               x->fair[s->resource]};
    }
    water = pour(v, s->n, water);
    for (size_t i = 0; i < s->n; i++) {
        if (v[i].cap > 0)
            s->shares[s->of[i]].fair[s->resource] = v[i].got;
    }
    return water;
}

static int64_t pour_quotas(const struct siblings *s, int64_t water)
{
    struct vessel v[QUEUES_MAX];
    for (size_t i = 0; i < s->n; i++) {
        int64_t quota = s->q[s->of[i]].quota[s->resource];
        v[i] = (struct vessel){quota, MIN(quota, s->shares[s->of[i]].want[s->resource]), 0};
    }
    water = pour(v, s->n, water);
    for (size_t i = 0; i < s->n; i++)
        s->shares[s->of[i]].fair[s->resource] = v[i].got;
    return water;
}

/* The next priority below. */
static bool next_band(const struct siblings *s, int64_t *priority, bool first)
{
    bool found = false;
    int64_t best = 0;
    for (size_t i = 0; i < s->n; i++) {
        int64_t p = s->q[s->of[i]].priority;
        if ((first || p < *priority) && (!found || p > best)) {
            best = p;
            found = true;
        }
    }
    *priority = best;
    return found;
}

static void share_siblings(const struct siblings *s, int64_t water)
{
    int64_t priority = 0;
    water = pour_quotas(s, MAX(0, water));
    for (bool first = true; water > 0 && next_band(s, &priority, first); first = false)
        water = pour_band(s, priority, water);
}

static void find_children(const struct queue *q, size_t n, int32_t parent, struct siblings *ret)
{
    ret->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (q[i].parent == parent)
            ret->of[ret->n++] = (int32_t)i;
    }
}

void queues_share(const struct queue *q, size_t n, size_t n_resources, const int64_t *capacity,
                  struct queue_share *shares)
{
    struct siblings s = {.q = q, .shares = shares};
    for (size_t i = n; i-- > 0;) {
        for (size_t r = 0; r < n_resources; r++) {
            shares[i].want[r] = MIN(shares[i].want[r], q[i].limit[r]);
            if (q[i].parent < 0)
                continue;
            shares[q[i].parent].want[r] += shares[i].want[r];
            shares[q[i].parent].used[r] += shares[i].used[r];
        }
    }
    for (int32_t parent = -1; parent < (int32_t)n; parent++) {
        find_children(q, n, parent, &s);
        for (s.resource = 0; s.n > 0 && s.resource < n_resources; s.resource++)
            share_siblings(&s, parent < 0 ? capacity[s.resource] : shares[parent].fair[s.resource]);
    }
}

/* ---- questions ---- */

void queues_use(const struct queue *q, struct queue_share *shares, int32_t queue, size_t resource,
                int64_t amount)
{
    for (; queue >= 0; queue = q[queue].parent)
        shares[queue].used[resource] += amount;
}

double queues_saturation(const struct queue_share *s, size_t n_resources)
{
    double most = 0;
    for (size_t r = 0; r < n_resources; r++) {
        if (s->used[r] > 0)
            most = MAX(most, s->fair[r] > 0 ? (double)s->used[r] / (double)s->fair[r] : 1e18);
    }
    return most;
}

bool queues_is_above(const struct queue_share *s, size_t n_resources)
{
    return queues_saturation(s, n_resources) > 1;
}

bool queues_is_within(const struct queue *q, const struct queue_share *shares, int32_t queue,
                      size_t n_resources, const int64_t *more)
{
    for (; queue >= 0; queue = q[queue].parent) {
        for (size_t r = 0; r < n_resources; r++) {
            if (more[r] > 0 && more[r] > shares[queue].fair[r] - shares[queue].used[r])
                return false;
        }
    }
    return true;
}

int32_t queues_over_limit(const struct queue *q, const struct queue_share *shares, int32_t queue,
                          size_t n_resources, const int64_t *more, size_t *ret_resource)
{
    for (; queue >= 0; queue = q[queue].parent) {
        for (size_t r = 0; r < n_resources; r++) {
            if (more[r] > 0 && more[r] > q[queue].limit[r] - shares[queue].used[r]) {
                *ret_resource = r;
                return queue;
            }
        }
    }
    return -1;
}

int32_t queues_next(const struct queue *q, size_t n, size_t n_resources,
                    const struct queue_share *shares, const bool *ready)
{
    bool below[QUEUES_MAX] = {false}; /* it, or one below it, is ready */
    int32_t at = -1;
    for (size_t i = n; i-- > 0;) {
        below[i] = below[i] || ready[i];
        if (below[i] && q[i].parent >= 0)
            below[q[i].parent] = true;
    }
    for (bool down = true; down;) {
        int32_t best = -1;
        double least = 0;
        for (size_t i = 0; i < n; i++) {
            if (q[i].parent != at || !below[i])
                continue;
            double now = queues_saturation(&shares[i], n_resources);
            if (best < 0 || now < least || (now == least && q[i].priority > q[best].priority)) {
                best = (int32_t)i;
                least = now;
            }
        }
        down = best >= 0;
        at = down ? best : at;
    }
    return at >= 0 && ready[at] ? at : -1;
}
