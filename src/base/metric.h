/*
 * Metrics in Prometheus' text format. A metric is a struct, usually static; it registers itself
 * with its first series. Series are bounded: beyond max_series new label values share one series
 * whose labels are all "other", so a peer cannot grow us by inventing names. Loop thread only.
 *
 *   static struct metric requests =
 *       METRIC_COUNTER("grove_requests_total", "Requests served.", "verb", "code");
 *   metric_add(metric_with(&requests, STR("get"), STR("200")), 1);
 *
 *   static struct metric depth = METRIC_GAUGE("grove_queue_depth", "Keys waiting.");
 *   metric_set(metric_with(&depth), 7);
 *
 * The pointer from metric_with stays valid until metric_unregister or metric_clear: keep it on hot
 * paths.
 */
#ifndef BASE_METRIC_H
#define BASE_METRIC_H

#include "base/list.h"
#include "base/map.h"
#include "base/strbuf.h"

enum metric_type { METRIC_TYPE_COUNTER, METRIC_TYPE_GAUGE, METRIC_TYPE_HISTOGRAM };
enum { METRIC_LABELS_MAX = 4, METRIC_SERIES_MAX = 1000 };

struct metric_series;

struct metric {
    const char *name;
    const char *help;
    enum metric_type type;
    const char *labels[METRIC_LABELS_MAX + 1]; /* NULL ends */
    const double *buckets;                     /* upper bounds, rising; +Inf is implied */
    size_t bucket_count;
    size_t max_series; /* 0 = METRIC_SERIES_MAX */
    /* private */
    struct list link;
    struct map series;
};

#define METRIC_COUNTER(n, h, ...)                                                        \
    {                                                                                    \
        .name = (n), .help = (h), .type = METRIC_TYPE_COUNTER, .labels = { __VA_ARGS__ } \
    }
#define METRIC_GAUGE(n, h, ...)                                                        \
    {                                                                                  \
        .name = (n), .help = (h), .type = METRIC_TYPE_GAUGE, .labels = { __VA_ARGS__ } \
    }
/* bounds: a static array of double. */
#define METRIC_HISTOGRAM(n, h, bounds, ...)                                               \
    {                                                                                     \
        .name = (n), .help = (h), .type = METRIC_TYPE_HISTOGRAM, .labels = {__VA_ARGS__}, \
        .buckets = (bounds), .bucket_count = ARRAY_LEN(bounds)                            \
    }

/* Shows the metric before its first series; one without labels starts at 0. */
void metric_register(struct metric *m);
void metric_unregister(struct metric *m);

struct metric_series *metric_with_(struct metric *m, const str *values, size_t n);
/* As many str as the metric has labels; the empty one in front allows none. */
#define metric_with(m, ...)                                        \
    metric_with_((m), (const str[]){{NULL, 0}, ##__VA_ARGS__} + 1, \
                 ARRAY_LEN(((const str[]){{NULL, 0}, ##__VA_ARGS__})) - 1)

void metric_add(struct metric_series *s, double v);
void metric_set(struct metric_series *s, double v);
void metric_observe(struct metric_series *s, double v);
double metric_value(const struct metric_series *s);

/* All registered metrics, sorted by name and labels. */
void metric_write(struct strbuf *b);
/* Unregisters everything. */
void metric_clear(void);

#endif
