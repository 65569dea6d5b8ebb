/* See autoscaler_calc.h: what the rules and the past make of a wanted number of replicas. */
#include "controllers/autoscaler_calc.h"

#include "base/quantity.h"
#include "json/write.h"

#define DEFAULT_PERIOD (15 * USEC_PER_SEC)
#define DEFAULT_DOWN_WINDOW (300 * USEC_PER_SEC)
#define DEFAULT_TOLERANCE 100

/* Steps kept at most; the two oldest become one, the higher, when there are more. */
enum { MAX_STEPS = 128 };

/* ---- rules ---- */

static void read_policies(jval list, struct scaling_rules *ret)
{
    if (jlen(list) == 0)
        return;
    ret->n = 0;
    for (struct jiter it = jiter(list); jnext(&it) && ret->n < MAX_POLICIES;) {
        ret->policies[ret->n++] = (struct scaling_policy){
            .percent = str_is(jstr(jgetc(it.value, "type")), "Percent"),
            .value = jint(jgetc(it.value, "value"), 0),
            .period = jint(jgetc(it.value, "periodSeconds"), 15) * USEC_PER_SEC,
        };
    }
}

static void read_rules(jval v, struct scaling_rules *ret)
{
    struct quantity q;
    str select = jstr(jgetc(v, "selectPolicy"));
    int64_t window;
    if (jint_get(jgetc(v, "stabilizationWindowSeconds"), &window))
        ret->window = MIN(MAX(window, 0), 3600) * USEC_PER_SEC;
    if (str_is(select, "Min"))
        ret->select = SELECT_MIN;
    else if (str_is(select, "Disabled"))
        ret->select = SELECT_DISABLED;
    read_policies(jgetc(v, "policies"), ret);
    jval t = jgetc(v, "tolerance");
    if (j_has(t) && quantity_parse(jtype(t) == J_STRING ? jstr(t) : jtext(t), &q, NULL) == 0)
        ret->tolerance = quantity_milli(&q);
}

void scaling_rules_read(jval behavior, struct scaling_rules *ret_up, struct scaling_rules *ret_down)
{
    *ret_up = (struct scaling_rules){
        .policies = {{false, 4, DEFAULT_PERIOD}, {true, 100, DEFAULT_PERIOD}},
        .n = 2,
        .tolerance = DEFAULT_TOLERANCE,
    };
    *ret_down = (struct scaling_rules){
        .window = DEFAULT_DOWN_WINDOW,
        .policies = {{true, 100, DEFAULT_PERIOD}},
        .n = 1,
        .tolerance = DEFAULT_TOLERANCE,
    };
    read_rules(jgetc(behavior, "scaleUp"), ret_up);
    read_rules(jgetc(behavior, "scaleDown"), ret_down);
}

/* ---- the past ---- */

static struct step *read_steps(struct arena *a, jval list, size_t *ret_n)
{
    size_t n = 0;
    struct step *steps = arena_array(a, struct step, MIN(jlen(list), MAX_STEPS) + 1);
    for (struct jiter it = jiter(list); jnext(&it) && n < MAX_STEPS;) {
        struct step s;
        if (time_parse_rfc3339(jstr(jat(it.value, 0)), &s.at) &&
            jint_get(jat(it.value, 1), &s.value))
            steps[n++] = s;
    }
    *ret_n = n;
    return steps;
}

struct history history_read(struct arena *a, str annotation)
{
    struct history h = {0};
    struct doc *d = doc_hold(a, doc_parse(annotation, NULL, NULL));
    jval root = d ? doc_root(d) : JVAL_ABSENT;
    h.recommended = read_steps(a, jgetc(root, "recommended"), &h.n_recommended);
    h.scaled = read_steps(a, jgetc(root, "scaled"), &h.n_scaled);
    return h;
}

/* When a recommendation was followed by another. */
static usec step_end(const struct history *h, size_t i, usec now)
{
    return i + 1 < h->n_recommended ? h->recommended[i + 1].at : now;
}

static void write_step(struct jw *w, const struct step *s)
{
    struct strbuf t = STRBUF_INIT(64);
    time_format_micro(s->at, &t);
    jw_array(w);
    jw_str(w, strbuf_str(&t));
    jw_int(w, s->value);
    jw_end(w);
    strbuf_done(&t);
}

str history_write(struct arena *a, const struct history *h, usec now, usec longest)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_array(&w, "recommended");
    for (size_t i = 0; i < h->n_recommended; i++) {
        if (step_end(h, i, now) > now - longest)
            write_step(&w, &h->recommended[i]);
    }
    jw_end(&w);
    jw_put_array(&w, "scaled");
    for (size_t i = 0; i < h->n_scaled; i++) {
        if (i + 1 == h->n_scaled || h->scaled[i].at > now - longest)
            write_step(&w, &h->scaled[i]);
    }
    jw_end(&w);
    jw_end(&w);
    str text = arena_str(a, strbuf_str(&w.out));
    jw_done(&w);
    return text;
}

static void push_step(struct arena *a, struct step **steps, size_t *n, struct step s)
{
    struct step *more = arena_array(a, struct step, *n + 1);
    if (*n > 0)
        memcpy(more, *steps, *n * sizeof(s));
    more[(*n)++] = s;
    *steps = more;
}

static void merge_oldest(struct history *h)
{
    struct step *s = h->recommended;
    if (h->n_recommended <= MAX_STEPS)
        return;
    s[1] = (struct step){s[0].at, MAX(s[0].value, s[1].value)};
    h->recommended++;
    h->n_recommended--;
}

bool history_recommend(struct arena *a, struct history *h, usec now, int64_t current,
                       int64_t wanted)
{
    int64_t last = h->n_recommended ? h->recommended[h->n_recommended - 1].value : current;
    if (last == wanted)
        return false;
    if (h->n_recommended == 0)
        push_step(a, &h->recommended, &h->n_recommended, (struct step){now, current});
    push_step(a, &h->recommended, &h->n_recommended, (struct step){now, wanted});
    merge_oldest(h);
    return true;
}

void history_scaled(struct arena *a, struct history *h, usec now, int64_t change)
{
    push_step(a, &h->scaled, &h->n_scaled, (struct step){now, change});
    if (h->n_scaled > MAX_STEPS) {
        h->scaled++;
        h->n_scaled--;
    }
}

/* ---- decision ---- */

/* The highest and the lowest of what was recommended in each window, between which the present
 * number may stay. */
static int64_t stabilized(const struct bounds *b, const struct scaling_rules *up,
                          const struct scaling_rules *down, const struct history *h, usec now,
                          int64_t wanted)
{
    int64_t low = wanted, high = wanted;
    /* Before there was any history the present number was what was wanted. */
    if (h->n_recommended == 0) {
        low = up->window > 0 ? MIN(low, b->current) : low;
        high = down->window > 0 ? MAX(high, b->current) : high;
    }
    for (size_t i = 0; i < h->n_recommended; i++) {
        usec end = step_end(h, i, now);
        if (end > now - up->window)
            low = MIN(low, h->recommended[i].value);
        if (end > now - down->window)
            high = MAX(high, h->recommended[i].value);
    }
    int64_t n = MAX(b->current, low);
    return MIN(n, high);
}

/* By how much it was scaled since, in the end. */
static int64_t change_since(const struct history *h, usec since)
{
    int64_t sum = 0;
    for (size_t i = 0; i < h->n_scaled; i++)
        sum += h->scaled[i].at > since ? h->scaled[i].value : 0;
    return sum;
}

/* How far a policy lets it go from where its period began. */
static int64_t policy_limit(const struct scaling_policy *p, int64_t start, bool up)
{
    if (!p->percent)
        return up ? start + p->value : start - p->value;
    if (up)
        return (start * (100 + p->value) + 99) / 100;
    return start * (100 - p->value) / 100;
}

static int64_t rate_limit(const struct bounds *b, const struct scaling_rules *r,
                          const struct history *h, usec now, bool up)
{
    if (r->select == SELECT_DISABLED || r->n == 0)
        return b->current;
    int64_t limit = 0;
    for (size_t i = 0; i < r->n; i++) {
        int64_t start = b->current - change_since(h, now - r->policies[i].period);
        int64_t one = policy_limit(&r->policies[i], start, up);
        bool further = up ? one > limit : one < limit;
        if (i == 0 || further == (r->select == SELECT_MAX))
            limit = one;
    }
    return up ? MAX(limit, b->current) : MIN(limit, b->current);
}

struct limit {
    int64_t at;
    const char *reason, *message;
};

static struct limit limit_up(const struct bounds *b, const struct scaling_rules *r,
                             const struct history *h, usec now)
{
    int64_t rate = rate_limit(b, r, h, now, true);
    if (b->max > rate)
        return (struct limit){
            rate, "ScaleUpLimit",
            "the desired replica count is increasing faster than the maximum scale rate"};
    return (struct limit){b->max, "TooManyReplicas",
                          "the desired replica count is more than the maximum replica count"};
}

static struct limit limit_down(const struct bounds *b, const struct scaling_rules *r,
                               const struct history *h, usec now)
{
    int64_t rate = rate_limit(b, r, h, now, false);
    if (b->min < rate)
        return (struct limit){
            rate, "ScaleDownLimit",
            "the desired replica count is decreasing faster than the maximum scale rate"};
    return (struct limit){b->min, "TooFewReplicas",
                          "the desired replica count is less than the minimum replica count"};
}

static void decide_limit(struct decision *d, struct limit l, bool exceeded)
{
    if (!exceeded)
        return;
    d->replicas = l.at;
    d->limited = true;
    d->limited_reason = l.reason;
    d->limited_message = l.message;
}

struct decision scaling_decide(const struct bounds *b, const struct scaling_rules *up,
                               const struct scaling_rules *down, const struct history *h, usec now,
                               int64_t wanted)
{
    int64_t stable = stabilized(b, up, down, h, now, wanted);
    struct decision d = {
        .replicas = stable,
        .able_reason = "ReadyForNewScale",
        .able_message = "recommended size matches current size",
        .limited_reason = "DesiredWithinRange",
        .limited_message = "the desired count is within the acceptable range",
    };
    if (stable != wanted) {
        bool lower = wanted < b->current;
        d.able_reason = lower ? "ScaleDownStabilized" : "ScaleUpStabilized";
        d.able_message = lower ? "recent recommendations were higher than current one, applying "
                                 "the highest recent recommendation"
                               : "recent recommendations were lower than current one, applying "
                                 "the lowest recent recommendation";
    }
    if (stable > b->current) {
        struct limit l = limit_up(b, up, h, now);
        decide_limit(&d, l, stable > l.at);
    } else if (stable < b->current) {
        struct limit l = limit_down(b, down, h, now);
        decide_limit(&d, l, stable < l.at);
    }
    return d;
}
