/* See autoscaler_calc.h: samples to replicas. */
#include "controllers/autoscaler_calc.h"

/* num / den of what is to what should be. */
struct ratio {
    __int128 num, den;
};

struct totals {
    __int128 value, request;
    int64_t count;
    int64_t utilization, average;
};

static int64_t clamp(__int128 v)
{
    return v < 0 ? 0 : v > INT32_MAX ? INT32_MAX : (int64_t)v;
}

static int64_t ceil_div(__int128 num, __int128 den)
{
    return den > 0 ? clamp((num + den - 1) / den) : 0;
}

static bool is_within(const struct calc *c, struct ratio r)
{
    return r.num * 1000 >= r.den * (1000 - c->tolerance_down) &&
           r.num * 1000 <= r.den * (1000 + c->tolerance_up);
}

static bool is_above(struct ratio r)
{
    return r.num > r.den;
}

static bool is_below(struct ratio r)
{
    return r.num < r.den;
}

/* So many pods, in replicas, times the ratio. */
static int64_t scaled_pods(const struct calc *c, struct ratio r, int64_t pods)
{
    return ceil_div(r.num * pods * c->replicas, r.den * c->pods);
}

static struct ratio ratio_of(const struct calc *c, struct totals *t)
{
    t->utilization = t->request > 0 ? clamp(t->value * 100 / t->request) : 0;
    t->average = t->count > 0 ? (int64_t)(t->value / t->count) : 0;
    return (struct ratio){c->utilization ? t->utilization : t->average, c->target};
}

static void totals_add(struct totals *t, __int128 value, int64_t request)
{
    t->value += value;
    t->request += request;
    t->count++;
}

/* What a pod would have to use to be no reason for the change that the others ask for. */
static __int128 assumed(const struct calc *c, const struct pod_sample *s, bool above)
{
    if (s->state == SAMPLE_UNREADY || above)
        return 0;
    return c->utilization ? (__int128)s->request * MAX(100, c->target) / 100 : c->target;
}

static struct totals sum_up(const struct calc *c, const bool with[4], bool above)
{
    struct totals t = {0};
    for (size_t i = 0; i < c->n; i++) {
        const struct pod_sample *s = &c->samples[i];
        if (s->state == SAMPLE_READY)
            totals_add(&t, s->value, s->request);
        else if (with[s->state])
            totals_add(&t, assumed(c, s, above), s->request);
    }
    return t;
}

static size_t count_state(const struct calc *c, enum sample_state state)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++)
        n += c->samples[i].state == state;
    return n;
}

/* With what is assumed of the pods that say nothing, which may damp a change but not turn it. */
static int64_t damped(const struct calc *c, struct ratio first, bool unready, bool missing)
{
    bool with[4] = {
        [SAMPLE_UNREADY] = unready, [SAMPLE_MISSING] = missing && !(first.num == first.den)};
    struct totals t = sum_up(c, with, is_above(first));
    struct ratio r = ratio_of(c, &t);
    if (is_within(c, r) || (is_below(first) && is_above(r)) || (is_above(first) && is_below(r)))
        return c->current;
    int64_t replicas = scaled_pods(c, r, t.count);
    bool turned = (is_below(r) && replicas > c->current) || (is_above(r) && replicas < c->current);
    return turned ? c->current : replicas;
}

int calc_pods(const struct calc *c, struct calc_result *ret, struct err *err)
{
    static const bool ready_only[4] = {false};
    struct totals t = sum_up(c, ready_only, false);
    if (c->n == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no pods returned by selector while calculating replica count");
    if (t.count == 0)
        return err_set(err, ERR_UNAVAILABLE,
                       "did not receive metrics for targeted pods (pods might be unready)");
    if (c->target <= 0 || (c->utilization && t.request <= 0))
        return err_set(err, ERR_INVALID, "the target or what the pods request is not above zero");
    struct ratio r = ratio_of(c, &t);
    bool unready = count_state(c, SAMPLE_UNREADY) > 0 && is_above(r);
    bool missing = count_state(c, SAMPLE_MISSING) > 0;
    *ret = (struct calc_result){c->current, t.utilization, t.average};
    if (unready || missing)
        ret->replicas = damped(c, r, unready, missing);
    else if (!is_within(c, r))
        ret->replicas = scaled_pods(c, r, t.count);
    return 0;
}

int64_t calc_value(const struct calc *c, int64_t value, int64_t ready)
{
    struct ratio r = {value, c->target};
    if (c->current == 0)
        return ceil_div(r.num, r.den);
    return is_within(c, r) ? c->current : scaled_pods(c, r, ready);
}

int64_t calc_value_per_replica(const struct calc *c, int64_t value, int64_t status)
{
    struct ratio r = {value, (__int128)c->target * status};
    if (status > 0 && is_within(c, r))
        return status;
    return ceil_div(value, c->target);
}
