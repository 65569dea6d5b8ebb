/* Feeding metrics by HTTP; see metrics_api.h. */
#include "apiserver/front/front_impl.h"
#include "apiserver/front/metrics_api.h"
#include "base/vec.h"
#include "grove/metrics_source.h"
#include "kube/selector.h"

enum { MAX_BODY = 64 << 10, MAX_LABELS = 16 };

/* What a body says. */
struct push {
    struct quantity value;
    usec ttl;
    str labels; /* external */
};

static struct status *refuse(struct arena *a, const char *field, const char *why)
{
    return status_new(a, 422, "Invalid", "metric is invalid: %s%s%s", field, *field ? ": " : "",
                      why);
}

static struct status *read_quantity(struct arena *a, jval v, struct quantity *ret)
{
    struct err err = ERR_INIT;
    if (jtype(v) != J_STRING && jtype(v) != J_INT && jtype(v) != J_REAL)
        return refuse(a, "value", "a quantity is required, such as 12 or \"300m\"");
    if (quantity_parse(jtype(v) == J_STRING ? jstr(v) : jtext(v), ret, &err))
        return refuse(a, "value", err.message);
    return NULL;
}

static struct status *read_ttl(struct arena *a, jval v, usec *ret)
{
    int64_t seconds;
    const int64_t most = METRICS_TTL_MAX / USEC_PER_SEC;
    if (!j_has(v))
        return NULL;
    if (!jint_get(v, &seconds) || seconds < 1 || seconds > most)
        return status_new(a, 422, "Invalid",
                          "metric is invalid: ttlSeconds: must be a whole number from 1 to %lld",
                          (long long)most);
    *ret = seconds * USEC_PER_SEC;
    return NULL;
}

static int compare_labels(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* {"region":"eu","queue":"b"} as "queue=b,region=eu". */
static struct status *read_labels(struct arena *a, jval v, str *ret)
{
    str all[MAX_LABELS];
    size_t n = 0;
    struct strbuf b = STRBUF_INIT(64 << 10);
    if (!j_has(v))
        return NULL;
    if (jtype(v) != J_OBJECT || jlen(v) > MAX_LABELS)
        return refuse(a, "metricLabels", "must be an object of at most 16 labels");
    for (struct jiter it = jiter(v); jnext(&it);) {
        if (!str_is_qualified_name(it.key) || jtype(it.value) != J_STRING ||
            !str_is_label_value(jstr(it.value)))
            return refuse(a, "metricLabels", "must have keys and values as labels have them");
        all[n++] = arena_printf(a, "%.*s=%.*s", STR_ARG(it.key), STR_ARG(jstr(it.value)));
    }
    qsort(all, n, sizeof(*all), compare_labels);
    for (size_t i = 0; i < n; i++) {
        strbuf_add_cstr(&b, i > 0 ? "," : "");
        strbuf_add_str(&b, all[i]);
    }
    *ret = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return NULL;
}

static struct status *read_object(struct arena *a, jval v, bool external, struct push *ret)
{
    for (struct jiter it = jiter(v); jnext(&it);) {
        bool labels = str_is(it.key, "metricLabels");
        if (labels && !external)
            return refuse(a, "metricLabels", "only external metrics have labels");
        if (!labels && !str_is(it.key, "value") && !str_is(it.key, "ttlSeconds"))
            return status_new(a, 422, "Invalid",
                              "metric is invalid: there is no field \"%.*s\"; there are value, "
                              "ttlSeconds and, of external metrics, metricLabels",
                              STR_ARG(str_sub(it.key, 0, MIN(it.key.len, (size_t)64))));
    }
    struct status *why = read_ttl(a, jgetc(v, "ttlSeconds"), &ret->ttl);
    if (!why)
        why = read_labels(a, jgetc(v, "metricLabels"), &ret->labels);
    return why ? why : read_quantity(a, jgetc(v, "value"), &ret->value);
}

static struct status *read_push(struct arena *a, str body, bool external, struct push *ret)
{
    struct err err = ERR_INIT;
    *ret = (struct push){.ttl = METRICS_TTL};
    if (body.len > MAX_BODY)
        return status_new(a, 413, "RequestEntityTooLarge", "Request entity too large: limit is %d",
                          MAX_BODY);
    struct doc *d = doc_parse(body, NULL, &err);
    if (!d)
        return status_bad_request(a, "the body is not JSON: %s", err.message);
    jval v = doc_root(doc_hold(a, d));
    return jtype(v) == J_OBJECT ? read_object(a, v, external, ret)
                                : read_quantity(a, v, &ret->value);
}

/* ---- what it is about ---- */

typedef struct status *target_fn(const struct metrics_figures *f, const struct metrics_id *id,
                                 str uid, const void *ctx, struct arena *a);

static struct status *no_such(const struct metrics_path *p, struct arena *a)
{
    return status_new(a, 404, "NotFound", "%.*s \"%.*s\" not found", STR_ARG(p->resource),
                      STR_ARG(p->name));
}

static struct status *each_selected(const struct metrics_path *p, const struct metrics_query *q,
                                    const struct metrics_figures *f, struct metrics_id id,
                                    target_fn *fn, const void *ctx, struct arena *a)
{
    struct err err = ERR_INIT;
    struct status *why = NULL;
    struct obj *o;
    size_t n = 0;
    const struct selector *labels = NULL;
    if (q->label_selector.len > 0 && !(labels = label_selector_parse(a, q->label_selector, &err)))
        return status_bad_request(a, "%s", err.message);
    struct store_iter it = store_range(f->store, p->of, p->ns, STR_NONE, STR_NONE);
    while (!why && (o = store_next(&it))) {
        if (labels && !label_selector_match(labels, o->labels))
            continue;
        id.name = o->name;
        why = fn(f, &id, o->uid, ctx, a);
        n++;
    }
    return why || n > 0
               ? why
               : status_new(a, 404, "NotFound", "no %.*s are selected", STR_ARG(p->resource));
}

/* Calls fn for every series that the path is about. */
static struct status *each_target(const struct metrics_path *p, const struct metrics_query *q,
                                  const struct metrics_figures *f, str labels, target_fn *fn,
                                  const void *ctx, struct arena *a)
{
    char resource[512];
    struct metrics_id id = {STR_NONE, p->metric, p->ns, labels};
    const struct obj *o;
    if (q->field_selector.len > 0)
        return status_bad_request(a, "metrics are fed by labelSelector, not by fieldSelector");
    if (!p->of) {
        o = store_get(f->store, &kind_namespace, STR_NONE, p->ns);
        return o ? fn(f, &id, o->uid, ctx, a) : status_not_found(a, &kind_namespace, p->ns);
    }
    id.resource = metrics_resource_name(p->of, resource, sizeof(resource));
    if (p->is_list)
        return each_selected(p, q, f, id, fn, ctx, a);
    if (q->label_selector.len > 0)
        return status_bad_request(a, "a labelSelector needs * as the name of the object");
    id.name = p->name;
    o = store_get(f->store, p->of, p->ns, p->name);
    return o ? fn(f, &id, o->uid, ctx, a) : no_such(p, a);
}

/* ---- the two verbs ---- */

static struct status *set_one(const struct metrics_figures *f, const struct metrics_id *id, str uid,
                              const void *ctx, struct arena *a)
{
    const struct push *push = ctx;
    struct err err = ERR_INIT;
    switch (metrics_feed_set(f->feed, id, uid, &push->value, push->ttl, &err)) {
    case 0:
        return NULL;
    case ERR_FORBIDDEN:
        return status_new(a, 403, "Forbidden", "metric is forbidden: %s", err.message);
    default:
        return refuse(a, "", err.message);
    }
}

struct status *metrics_api_put(const struct metrics_path *p, const struct metrics_query *q,
                               const struct metrics_figures *f, str body, struct arena *a)
{
    struct push push;
    if (!p->kind)
        return route_no_such_resource(a);
    if (p->metric.len == 0)
        return status_method_not_allowed(a); /* what nodes measure is not fed */
    if (!p->of && q->label_selector.len > 0)
        return status_bad_request(a, "the labels of an external metric are metricLabels in the "
                                     "body");
    struct status *why = read_push(a, body, !p->of, &push);
    return why ? why : each_target(p, q, f, push.labels, set_one, &push, a);
}

static struct status *unset_one(const struct metrics_figures *f, const struct metrics_id *id,
                                str uid, const void *ctx, struct arena *a)
{
    bool *any = (bool *)ctx;
    (void)uid;
    (void)a;
    *any |= metrics_feed_unset(f->feed, id);
    return NULL;
}

/* All series of an external metric, or those that the selector picks. */
static struct status *unset_external(const struct metrics_path *p, const struct metrics_query *q,
                                     const struct metrics_figures *f, struct arena *a, bool *any)
{
    struct err err = ERR_INIT;
    const struct selector *selector = NULL;
    const struct metrics_sample *s = metrics_feed_first(f->feed, STR_NONE, p->metric, p->ns), *next;
    if (q->label_selector.len > 0 && !(selector = label_selector_parse(a, q->label_selector, &err)))
        return status_bad_request(a, "%s", err.message);
    for (; s; s = next) {
        struct metrics_series series = {.labels = s->id.name};
        next = metrics_feed_next(s);
        struct doc *labels = metrics_series_labels(&series);
        bool picked = !selector || label_selector_match(selector, doc_root(labels));
        doc_unref(labels);
        if (picked)
            *any |= metrics_feed_unset(f->feed, &s->id);
    }
    return NULL;
}

struct status *metrics_api_delete(const struct metrics_path *p, const struct metrics_query *q,
                                  const struct metrics_figures *f, struct arena *a)
{
    bool any = false;
    if (!p->kind)
        return route_no_such_resource(a);
    if (p->metric.len == 0)
        return status_method_not_allowed(a);
    struct status *why = p->of ? each_target(p, q, f, STR_NONE, unset_one, &any, a)
                               : unset_external(p, q, f, a, &any);
    return why || any ? why
                      : status_new(a, 404, "NotFound", "nothing is fed as metric %.*s",
                                   STR_ARG(p->metric));
}
