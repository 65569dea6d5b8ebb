/*
 * A series is found by its label values joined with NUL bytes (values are cut at one, so two
 * different sets never share a key) and holds its rendered label text, so that writing is copying.
 * The registry is a list in no order; metric_write sorts, because the order of registration is an
 * accident and scrapes are compared by tests.
 */
#include "base/metric.h"

#include <math.h>

#include "base/vec.h"

enum { METRIC_KEY_MAX = 1024, METRIC_LABEL_TEXT_MAX = 4096 };

struct metric_series {
    const struct metric *metric;
    char *key;
    size_t key_len;
    char *labels; /* `verb="get",code="200"`, or "" */
    double value; /* the sum, for a histogram */
    uint64_t count;
    uint64_t buckets[]; /* not cumulative; one per bound */
};

static struct list registry = {&registry, &registry};

static size_t label_count(const struct metric *m)
{
    size_t n = 0;
    while (n < METRIC_LABELS_MAX && m->labels[n])
        n++;
    return n;
}

static void attach(struct metric *m)
{
    if (!list_is_linked(&m->link))
        list_push_back(&registry, &m->link);
}

void metric_register(struct metric *m)
{
    attach(m);
    if (label_count(m) == 0)
        (void)metric_with_(m, NULL, 0);
}

void metric_unregister(struct metric *m)
{
    void *value;
    for (size_t it = 0; map_next(&m->series, &it, NULL, &value);) {
        struct metric_series *s = value;
        free(s->key);
        free(s->labels);
        free(s);
    }
    map_done(&m->series);
    list_remove(&m->link);
}

void metric_clear(void)
{
    while (!list_is_empty(&registry))
        metric_unregister(list_entry(registry.next, struct metric, link));
}

/* --- series --- */

/* Inside double quotes, as the exposition format wants it. */
static void add_escaped(struct strbuf *b, str s, bool quotes)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        if (c == '\n')
            strbuf_add_cstr(b, "\\n");
        else if (c == '\\' || (c == '"' && quotes))
            strbuf_printf(b, "\\%c", c);
        else
            strbuf_add_char(b, c);
    }
}

static char *render_labels(const struct metric *m, const str *values)
{
    struct strbuf b = STRBUF_INIT(METRIC_LABEL_TEXT_MAX);
    for (size_t i = 0; i < label_count(m); i++) {
        strbuf_printf(&b, "%s%s=\"", i ? "," : "", m->labels[i]);
        add_escaped(&b, values[i], true);
        strbuf_add_char(&b, '"');
    }
    BUG_ON(b.overflow);
    return strbuf_detach(&b, NULL);
}

/* Each value is cut so that all fit; what is not UTF-8 would make the page unreadable. */
static str clean_value(str v)
{
    size_t max = METRIC_KEY_MAX / METRIC_LABELS_MAX - 1;
    ptrdiff_t nul = str_find_char(v, '\0');
    v = str_sub(v, 0, nul < 0 ? v.len : (size_t)nul);
    if (!str_is_utf8(v))
        return STR("other");
    if (v.len <= max)
        return v;
    while (((unsigned char)v.p[max] & 0xc0) == 0x80)
        max--;
    return str_sub(v, 0, max);
}

static str make_key(const str *values, size_t n, char room[METRIC_KEY_MAX])
{
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        if (values[i].len)
            memcpy(room + len, values[i].p, values[i].len);
        len += values[i].len;
        room[len++] = '\0';
    }
    return str_n(room, len);
}

static struct metric_series *find_or_add(struct metric *m, const str *values, size_t n,
                                         bool bounded)
{
    char room[METRIC_KEY_MAX];
    str key = make_key(values, n, room);
    struct metric_series *s = map_get(&m->series, key);
    if (s)
        return s;
    if (bounded && m->series.len >= (m->max_series ? m->max_series : METRIC_SERIES_MAX))
        return NULL;
    s = xcalloc(1, sizeof(*s) + m->bucket_count * sizeof(s->buckets[0]));
    s->metric = m;
    s->key = str_dup(key);
    s->key_len = key.len;
    s->labels = render_labels(m, values);
    (void)map_put(&m->series, str_n(s->key, s->key_len), s);
    return s;
}

struct metric_series *metric_with_(struct metric *m, const str *values, size_t n)
{
    BUG_ON(n != label_count(m));
    attach(m);
    str clean[METRIC_LABELS_MAX] = {0};
    for (size_t i = 0; i < n; i++)
        clean[i] = clean_value(values[i]);
    struct metric_series *s = find_or_add(m, clean, n, true);
    if (s)
        return s;
    for (size_t i = 0; i < n; i++)
        clean[i] = STR("other");
    return find_or_add(m, clean, n, false);
}

void metric_add(struct metric_series *s, double v)
{
    BUG_ON(s->metric->type == METRIC_TYPE_HISTOGRAM);
    BUG_ON(s->metric->type == METRIC_TYPE_COUNTER && v < 0);
    s->value += v;
}

void metric_set(struct metric_series *s, double v)
{
    BUG_ON(s->metric->type != METRIC_TYPE_GAUGE);
    s->value = v;
}

void metric_observe(struct metric_series *s, double v)
{
    const struct metric *m = s->metric;
    BUG_ON(m->type != METRIC_TYPE_HISTOGRAM);
    s->value += v;
    s->count++;
    for (size_t i = 0; i < m->bucket_count; i++) {
        if (v <= m->buckets[i]) {
            s->buckets[i]++;
            return;
        }
    }
}

double metric_value(const struct metric_series *s)
{
    return s->value;
}

/* --- writing --- */

/* The shortest text that reads back as the same number. */
static void add_double(struct strbuf *b, double v)
{
    char text[40];
    if (isnan(v) || isinf(v)) {
        strbuf_add_cstr(b, isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf");
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    strbuf_add_cstr(b, text);
}

static void write_sample(const struct metric_series *s, const char *suffix, double v,
                         struct strbuf *b)
{
    strbuf_printf(b, "%s%s", s->metric->name, suffix);
    if (s->labels[0])
        strbuf_printf(b, "{%s}", s->labels);
    strbuf_add_char(b, ' ');
    add_double(b, v);
    strbuf_add_char(b, '\n');
}

static void write_bucket(const struct metric_series *s, double bound, uint64_t below,
                         struct strbuf *b)
{
    strbuf_printf(b, "%s_bucket{%s%sle=\"", s->metric->name, s->labels, s->labels[0] ? "," : "");
    add_double(b, bound);
    strbuf_printf(b, "\"} %llu\n", (unsigned long long)below);
}

static void write_series(const struct metric_series *s, struct strbuf *b)
{
    const struct metric *m = s->metric;
    if (m->type != METRIC_TYPE_HISTOGRAM) {
        write_sample(s, "", s->value, b);
        return;
    }
    uint64_t below = 0;
    for (size_t i = 0; i < m->bucket_count; i++) {
        below += s->buckets[i];
        write_bucket(s, m->buckets[i], below, b);
    }
    write_bucket(s, INFINITY, s->count, b);
    write_sample(s, "_sum", s->value, b);
    write_sample(s, "_count", (double)s->count, b);
}

static int series_cmp(const void *a, const void *b)
{
    const struct metric_series *x = *(struct metric_series *const *)a;
    const struct metric_series *y = *(struct metric_series *const *)b;
    return str_cmp(str_n(x->key, x->key_len), str_n(y->key, y->key_len));
}

static int metric_cmp(const void *a, const void *b)
{
    const struct metric *x = *(struct metric *const *)a;
    const struct metric *y = *(struct metric *const *)b;
    return strcmp(x->name, y->name);
}

static void write_metric(const struct metric *m, struct strbuf *b)
{
    static const char *const types[] = {"counter", "gauge", "histogram"};
    strbuf_printf(b, "# HELP %s ", m->name);
    add_escaped(b, str_of(m->help), false);
    strbuf_printf(b, "\n# TYPE %s %s\n", m->name, types[m->type]);
    VEC(struct metric_series *) sorted = {0};
    void *value;
    for (size_t it = 0; map_next(&m->series, &it, NULL, &value);)
        *vec_push(&sorted) = value;
    vec_sort(&sorted, series_cmp);
    for (size_t i = 0; i < sorted.len; i++)
        write_series(sorted.p[i], b);
    vec_done(&sorted);
}

void metric_write(struct strbuf *b)
{
    VEC(struct metric *) sorted = {0};
    list_foreach (it, &registry)
        *vec_push(&sorted) = list_entry(it, struct metric, link);
    vec_sort(&sorted, metric_cmp);
    for (size_t i = 0; i < sorted.len; i++)
        write_metric(sorted.p[i], b);
    vec_done(&sorted);
}
