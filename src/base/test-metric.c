/* Metrics as Prometheus reads them. */
#include "base/metric.h"
#include "base/test.h"

TEST(metric_text_is_sorted_and_escaped)
{
    static struct metric requests = METRIC_COUNTER("t_requests_total", "Requests.", "verb", "code");
    static struct metric depth = METRIC_GAUGE("t_depth", "Keys \\ waiting\nnow.");
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(10000);
    metric_clear();
    metric_add(metric_with(&requests, STR("put"), STR("200")), 2);
    metric_add(metric_with(&requests, STR("get"), STR("a\"b\\c\nd")), 1);
    metric_add(metric_with(&requests, STR("get"), STR("200")), 0.5);
    metric_add(metric_with(&requests, STR("put"), STR("200")), 1);
    metric_register(&depth);
    metric_write(&b);
    CHECK_CSTR(strbuf_str(&b), "# HELP t_depth Keys \\\\ waiting\\nnow.\n"
                               "# TYPE t_depth gauge\n"
                               "t_depth 0\n"
                               "# HELP t_requests_total Requests.\n"
                               "# TYPE t_requests_total counter\n"
                               "t_requests_total{verb=\"get\",code=\"200\"} 0.5\n"
                               "t_requests_total{verb=\"get\",code=\"a\\\"b\\\\c\\nd\"} 1\n"
                               "t_requests_total{verb=\"put\",code=\"200\"} 3\n");
    metric_clear();
    strbuf_reset(&b);
    metric_write(&b);
    CHECK_INT(b.len, 0);
}

TEST(metric_histogram_buckets_are_cumulative)
{
    static const double bounds[] = {0.1, 1, 10};
    static struct metric h = METRIC_HISTOGRAM("t_seconds", "Time.", bounds, "op");
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(10000);
    metric_clear();
    struct metric_series *s = metric_with(&h, STR("x"));
    metric_observe(s, 0.1);
    metric_observe(s, 0.5);
    metric_observe(s, 100);
    metric_write(&b);
    CHECK_CSTR(strbuf_str(&b), "# HELP t_seconds Time.\n"
                               "# TYPE t_seconds histogram\n"
                               "t_seconds_bucket{op=\"x\",le=\"0.1\"} 1\n"
                               "t_seconds_bucket{op=\"x\",le=\"1\"} 2\n"
                               "t_seconds_bucket{op=\"x\",le=\"10\"} 2\n"
                               "t_seconds_bucket{op=\"x\",le=\"+Inf\"} 3\n"
                               "t_seconds_sum{op=\"x\"} 100.6\n"
                               "t_seconds_count{op=\"x\"} 3\n");
    metric_clear();
}

TEST(metric_series_are_bounded)
{
    static struct metric m = METRIC_COUNTER("t_bounded_total", "Bounded.", "who");
    char name[32];
    metric_clear();
    m.max_series = 3;
    for (int i = 0; i < 100; i++) {
        int n = snprintf(name, sizeof(name), "peer-%d", i);
        metric_add(metric_with(&m, str_n(name, (size_t)n)), 1);
    }
    CHECK_INT(m.series.len, 4);
    CHECK_INT(metric_value(metric_with(&m, STR("peer-0"))), 1);
    CHECK_INT(metric_value(metric_with(&m, STR("other"))), 97);
    metric_clear();
}

TEST(metric_hostile_label_values_are_tamed)
{
    static struct metric m = METRIC_GAUGE("t_hostile", "Hostile.", "a", "b", "c", "d");
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(20000);
    static char big[5000];
    memset(big, '"', sizeof(big));
    str huge = str_n(big, sizeof(big));
    metric_clear();
    metric_set(metric_with(&m, huge, huge, huge, huge), -1);
    metric_set(metric_with(&m, STR("\xff"), STR_NONE, STR("x\0y"), STR("z")), 1e300);
    metric_write(&b);
    CHECK(!b.overflow && str_is_utf8(strbuf_str(&b)));
    CHECK(str_find(strbuf_str(&b), STR("t_hostile{a=\"other\",b=\"\",c=\"x\",d=\"z\"} 1e+300\n")) >
          0);
    metric_clear();
}
