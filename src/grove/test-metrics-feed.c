/* Metrics that are fed: one value per series, for so long, and no more than there is room for. */
#include "base/rng.h"
#include "base/test.h"
#include "grove/metrics_feed.h"

static const struct metrics_id pod_queue = {STR_INIT("pods"), STR_INIT("queue"), STR_INIT("ns"),
                                            STR_INIT("a")};

static struct quantity number(int64_t n)
{
    return quantity_from_value(n, QUANTITY_DECIMAL_SI);
}

static int set(struct metrics_feed *f, struct metrics_id id, const char *uid, int64_t value,
               usec ttl)
{
    struct quantity q = number(value);
    struct err err = ERR_INIT;
    return metrics_feed_set(f, &id, str_of(uid), &q, ttl, &err);
}

static struct metrics_id id_of(const char *resource, const char *metric, const char *name)
{
    return (struct metrics_id){str_of(resource), str_of(metric), STR("ns"), str_of(name)};
}

static int64_t value_of(const struct metrics_feed *f, struct metrics_id id)
{
    const struct metrics_sample *s = metrics_feed_get(f, &id);
    return s ? quantity_value(&s->value) : -1;
}

static void advance(struct loop *l, usec by)
{
    CHECK(loop_run_until(l, loop_now(l) + by, 1000000));
}

TEST(the_newest_value_of_a_series_stays_until_its_time_is_over)
{
    struct loop *l = loop_new_virtual(1, 1767225600 * USEC_PER_SEC);
    struct metrics_feed *f = metrics_feed_new(l);
    CHECK_INT(value_of(f, pod_queue), -1);
    CHECK_INT(value_of(NULL, pod_queue), -1);
    CHECK_INT(set(f, pod_queue, "u", 7, USEC_PER_MIN), 0);
    advance(l, 59 * USEC_PER_SEC);
    CHECK_INT(value_of(f, pod_queue), 7);
    CHECK_INT(set(f, pod_queue, "u", 8, USEC_PER_MIN), 0);
    advance(l, 59 * USEC_PER_SEC);
    CHECK_INT(value_of(f, pod_queue), 8);
    advance(l, 2 * USEC_PER_SEC);
    CHECK_INT(value_of(f, pod_queue), -1);
    CHECK(!metrics_feed_unset(f, &pod_queue));
    CHECK_INT(set(f, pod_queue, "u", 9, USEC_PER_MIN), 0);
    CHECK(metrics_feed_unset(f, &pod_queue));
    CHECK_INT(value_of(f, pod_queue), -1);
    metrics_feed_free(f);
    loop_free(l);
}

TEST(series_go_with_their_object)
{
    struct loop *l = loop_new_virtual(1, 1767225600 * USEC_PER_SEC);
    struct metrics_feed *f = metrics_feed_new(l);
    CHECK_INT(set(f, id_of("pods", "x", "a"), "a", 1, USEC_PER_MIN), 0);
    CHECK_INT(set(f, id_of("pods", "y", "a"), "a", 2, USEC_PER_MIN), 0);
    CHECK_INT(set(f, id_of("pods", "x", "b"), "b", 3, USEC_PER_MIN), 0);
    metrics_feed_forget(f, STR("a"));
    metrics_feed_forget(f, STR("never seen"));
    CHECK_INT(value_of(f, id_of("pods", "x", "a")), -1);
    CHECK_INT(value_of(f, id_of("pods", "y", "a")), -1);
    CHECK_INT(value_of(f, id_of("pods", "x", "b")), 3);
    /* Another object of the same name. */
    CHECK_INT(set(f, id_of("pods", "x", "b"), "c", 4, USEC_PER_MIN), 0);
    metrics_feed_forget(f, STR("b"));
    CHECK_INT(value_of(f, id_of("pods", "x", "b")), 4);
    metrics_feed_forget(f, STR("c"));
    CHECK_INT(value_of(f, id_of("pods", "x", "b")), -1);
    metrics_feed_free(f);
    loop_free(l);
}

static void check_names(const struct metrics_feed *f, const char *want)
{
    struct strbuf b = STRBUF_INIT(4096);
    const struct metrics_sample *s = NULL;
    while ((s = metrics_feed_next_name(f, s)))
        strbuf_printf(&b, "%.*s/%.*s ", STR_ARG(s->id.resource), STR_ARG(s->id.metric));
    CHECK_CSTR(strbuf_str(&b), want);
    strbuf_done(&b);
}

TEST(names_are_told_once_and_in_order)
{
    struct loop *l = loop_new_virtual(1, 1767225600 * USEC_PER_SEC);
    struct metrics_feed *f = metrics_feed_new(l);
    uint64_t before = metrics_feed_names_version(f);
    check_names(f, "");
    CHECK_INT(set(f, id_of("pods", "q", "b"), "u", 1, USEC_PER_MIN), 0);
    CHECK(metrics_feed_names_version(f) != before);
    before = metrics_feed_names_version(f);
    CHECK_INT(set(f, id_of("pods", "q", "a"), "u", 1, USEC_PER_MIN), 0);
    CHECK(metrics_feed_names_version(f) == before);
    CHECK_INT(set(f, id_of("", "q", "queue=a"), "u", 1, USEC_PER_MIN), 0);
    CHECK_INT(set(f, id_of("pods", "qq", "a"), "u", 1, USEC_PER_MIN), 0);
    CHECK_INT(set(f, id_of("services", "q", "a"), "u", 1, USEC_PER_MIN), 0);
    check_names(f, "/q pods/q pods/qq services/q ");
    struct metrics_id a = id_of("pods", "q", "a"), b = id_of("pods", "q", "b");
    CHECK(metrics_feed_unset(f, &a));
    check_names(f, "/q pods/q pods/qq services/q ");
    CHECK(metrics_feed_unset(f, &b));
    check_names(f, "/q pods/qq services/q ");
    metrics_feed_free(f);
    loop_free(l);
}

TEST(the_series_of_a_metric_are_those_of_its_namespace)
{
    struct loop *l = loop_new_virtual(1, 1767225600 * USEC_PER_SEC);
    struct metrics_feed *f = metrics_feed_new(l);
    struct metrics_id other = {STR_NONE, STR("jobs"), STR("nt"), STR_NONE};
    CHECK_INT(set(f, id_of("", "jobs", "queue=b"), "u", 2, USEC_PER_MIN), 0);
    CHECK_INT(set(f, id_of("", "jobs", "queue=a"), "u", 1, USEC_PER_MIN), 0);
    CHECK_INT(set(f, id_of("", "jobs2", ""), "u", 5, USEC_PER_MIN), 0);
    CHECK_INT(set(f, other, "u", 9, USEC_PER_MIN), 0);
    const struct metrics_sample *s = metrics_feed_first(f, STR_NONE, STR("jobs"), STR("ns"));
    REQUIRE(s != NULL);
    CHECK_CSTR(s->id.name, "queue=a");
    s = metrics_feed_next(s);
    REQUIRE(s != NULL);
    CHECK_CSTR(s->id.name, "queue=b");
    CHECK(metrics_feed_next(s) == NULL);
    CHECK(metrics_feed_first(f, STR_NONE, STR("job"), STR("ns")) == NULL);
    CHECK(metrics_feed_first(NULL, STR_NONE, STR("job"), STR("ns")) == NULL);
    metrics_feed_free(f);
    loop_free(l);
}

TEST(what_is_not_a_metric_is_refused)
{
    static const char *const names[] = {"", "a b", "a/b", "50%", "*", "..", "a\nb", "\x7f", "a?b"};
    struct loop *l = loop_new_virtual(1, 1767225600 * USEC_PER_SEC);
    struct metrics_feed *f = metrics_feed_new(l);
    char longest[METRICS_NAME_MAX + 2];
    memset(longest, 'm', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK_INT(set(f, id_of("pods", names[i], "a"), "u", 1, USEC_PER_MIN), ERR_INVALID);
    CHECK_INT(set(f, id_of("pods", longest, "a"), "u", 1, USEC_PER_MIN), ERR_INVALID);
    CHECK_INT(set(f, id_of("pods", longest + 1, "a"), "u", 1, USEC_PER_MIN), 0);
    CHECK_INT(set(f, id_of("pods", "vllm:num|waiting", "a"), "u", 1, USEC_PER_MIN), 0);
    CHECK_INT(set(f, pod_queue, "u", -1, USEC_PER_MIN), ERR_INVALID);
    CHECK_INT(set(f, pod_queue, "u", INT64_MAX, USEC_PER_MIN), ERR_INVALID);
    CHECK_INT(set(f, pod_queue, "u", INT64_MAX / 1000, USEC_PER_MIN), 0);
    CHECK_INT(set(f, pod_queue, "u", 1, 0), ERR_INVALID);
    CHECK_INT(set(f, pod_queue, "u", 1, METRICS_TTL_MAX + 1), ERR_INVALID);
    CHECK_INT(set(f, pod_queue, "u", 1, METRICS_TTL_MAX), 0);
    metrics_feed_free(f);
    loop_free(l);
}

/* A hundred thousand names, then as many series of one name with labels as long as they may be. */
TEST(names_and_bytes_have_limits_and_what_is_unset_makes_room)
{
    struct loop *l = loop_new_virtual(1, 1767225600 * USEC_PER_SEC);
    struct metrics_feed *f = metrics_feed_new(l);
    char name[METRICS_LABELS_MAX + 1];
    size_t taken = 0;
    for (int i = 0; i < 100000; i++) {
        snprintf(name, sizeof(name), "metric-%d", i);
        int code = set(f, id_of("pods", name, "a"), "u", 1, USEC_PER_MIN);
        CHECK(code == 0 || code == ERR_FORBIDDEN);
        taken += code == 0;
    }
    CHECK_INT(taken, METRICS_NAMES_MAX);
    CHECK_INT(set(f, id_of("pods", "metric-7", "b"), "u", 1, USEC_PER_MIN), 0);
    CHECK_INT(set(f, id_of("pods", "one-more", "b"), "u", 1, USEC_PER_MIN), ERR_FORBIDDEN);
    metrics_feed_forget(f, STR("u"));
    CHECK_INT(set(f, id_of("pods", "one-more", "b"), "u", 1, USEC_PER_MIN), 0);
    taken = 0;
    memset(name, 'x', METRICS_LABELS_MAX);
    name[METRICS_LABELS_MAX] = '\0';
    for (int i = 0; i < 100000; i++) {
        char digits[16];
        int n = snprintf(digits, sizeof(digits), "%d=", i);
        memcpy(name, digits, (size_t)n);
        int code = set(f, id_of("", "jobs", name), "u", 1, USEC_PER_MIN);
        CHECK(code == 0 || code == ERR_FORBIDDEN);
        taken += code == 0;
    }
    CHECK(taken * METRICS_LABELS_MAX <= METRICS_BYTES_MAX);
    CHECK(taken * METRICS_LABELS_MAX > METRICS_BYTES_MAX / 2);
    advance(l, 2 * USEC_PER_MIN);
    check_names(f, "");
    CHECK_INT(set(f, id_of("", "jobs", ""), "u", 1, USEC_PER_MIN), 0);
    metrics_feed_free(f);
    loop_free(l);
}

struct news {
    size_t n;
    char ns[64];
};

static void on_change(void *ctx, str ns)
{
    struct news *n = ctx;
    n->n++;
    snprintf(n->ns, sizeof(n->ns), "%.*s", STR_ARG(ns));
}

TEST(what_changes_together_is_told_once)
{
    struct loop *l = loop_new_virtual(1, 1767225600 * USEC_PER_SEC);
    struct metrics_feed *f = metrics_feed_new(l);
    struct news n = {0};
    struct metrics_id other = {STR_NONE, STR("jobs"), STR("nt"), STR_NONE};
    metrics_feed_on_change(f, on_change, &n);
    CHECK_INT(set(f, id_of("pods", "x", "a"), "a", 1, USEC_PER_MIN), 0);
    CHECK_INT(set(f, id_of("pods", "x", "b"), "b", 1, USEC_PER_MIN), 0);
    advance(l, USEC_PER_SEC);
    CHECK_INT(n.n, 1);
    CHECK_CSTR(str_of(n.ns), "ns");
    CHECK_INT(set(f, id_of("pods", "x", "a"), "a", 2, USEC_PER_MIN), 0);
    CHECK_INT(set(f, other, "b", 1, USEC_PER_HOUR), 0);
    advance(l, USEC_PER_SEC);
    CHECK_INT(n.n, 2);
    CHECK_CSTR(str_of(n.ns), "");
    advance(l, 2 * USEC_PER_MIN); /* two end, in two moments */
    CHECK_INT(n.n, 4);
    CHECK_CSTR(str_of(n.ns), "ns");
    metrics_feed_free(f);
    loop_free(l);
}

/* Against a plain table: whatever is done in whatever order, every series has its last value. */
TEST(a_feed_is_what_was_set_and_not_unset)
{
    enum { NAMES = 6, OBJECTS = 5, STEPS = 4000 };
    struct loop *l = loop_new_virtual(1, 1767225600 * USEC_PER_SEC);
    struct metrics_feed *f = metrics_feed_new(l);
    struct rng r;
    int64_t model[NAMES][OBJECTS];
    memset(model, -1, sizeof(model));
    rng_seed(&r, 11);
    for (int step = 0; step < STEPS; step++) {
        char metric[16], object[16];
        unsigned m = (unsigned)rng_below(&r, NAMES), o = (unsigned)rng_below(&r, OBJECTS);
        snprintf(metric, sizeof(metric), "m%u", m);
        snprintf(object, sizeof(object), "o%u", o);
        struct metrics_id id = id_of("pods", metric, object);
        switch (rng_below(&r, 8)) {
        case 0:
            metrics_feed_forget(f, str_of(object));
            for (size_t i = 0; i < NAMES; i++)
                model[i][o] = -1;
            break;
        case 1:
            CHECK(metrics_feed_unset(f, &id) == (model[m][o] >= 0));
            model[m][o] = -1;
            break;
        default:
            CHECK_INT(set(f, id, object, step, USEC_PER_MIN), 0);
            model[m][o] = step;
        }
        CHECK_INT(value_of(f, id), model[m][o]);
    }
    metrics_feed_free(f);
    loop_free(l);
}
