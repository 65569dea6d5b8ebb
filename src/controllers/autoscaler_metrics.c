/*
 * What the metrics of an autoscaler say: each proposes a number of replicas, the highest counts.
 * One that cannot be had is left out, unless the others would scale in: that is not done on half of
 * the truth. Names, reasons and messages are those that `kubectl describe hpa` shows everywhere.
 */
#include "controllers/autoscaler_impl.h"
#include "kube/selector.h"

/* A pod's processor use says nothing while it starts. */
#define CPU_INITIALIZATION (5 * USEC_PER_MIN)
#define INITIAL_READINESS (30 * USEC_PER_SEC)

/* One metric on its way to a proposal. */
struct measure {
    const struct scaler *s;
    struct arena *arena;
    struct metrics_reader reader;
    const struct metric_type *type;
    jval spec; /* of this metric, without its type */
    jval target;
    str name; /* of what is measured */
    str container;
    struct jw *out; /* its status */
    int64_t proposal;
    str title; /* "cpu resource utilization (percentage of request)" */
};

typedef int measure_fn(struct measure *m, struct err *err);

struct metric_type {
    const char *type, *member, *reason;
    measure_fn *fn;
};

static struct calc calc_of(const struct measure *m, int64_t target)
{
    const struct scaler *s = m->s;
    bool any = s->pods.len > 0 && s->units > 0;
    return (struct calc){
        .target = target,
        .current = s->current,
        .pods = any ? (int64_t)s->pods.len : 1,
        .replicas = any ? s->units : 1,
        .tolerance_up = s->up.tolerance,
        .tolerance_down = s->down.tolerance,
    };
}

/* A quantity of the target in thousandths; false: not given, or not above zero. */
static bool target_quantity(const struct measure *m, const char *key, int64_t *ret)
{
    struct quantity q;
    jval v = jget(m->target, str_of(key));
    if (!j_has(v) || quantity_parse(jtype(v) == J_STRING ? jstr(v) : jtext(v), &q, NULL))
        return false;
    *ret = quantity_milli(&q);
    return *ret > 0;
}

static void put_quantity(struct jw *w, const char *key, int64_t milli)
{
    struct strbuf b = STRBUF_INIT(64);
    struct quantity q = quantity_from_milli(milli, QUANTITY_DECIMAL_SI);
    quantity_write(&q, &b);
    jw_put_str(w, key, strbuf_str(&b));
    strbuf_done(&b);
}

/* ---- pods ---- */

/* Whether what a pod uses of the processor does not count yet. */
static bool is_starting(const struct world *w, const struct obj *pod)
{
    usec started, changed = 0;
    jval status = obj_status(pod);
    jval ready = condition_find(jgetc(status, "conditions"), STR("Ready"));
    if (!j_has(ready) || !time_parse_rfc3339(jstr(jgetc(status, "startTime")), &started))
        return true;
    bool is_ready = str_is(jstr(jgetc(ready, "status")), "True");
    usec now = world_steady(w);
    bool is_young = world_moment_in(w, pod, started) + CPU_INITIALIZATION > now;
    if (is_ready && !is_young)
        return false;
    (void)time_parse_rfc3339(jstr(jgetc(ready, "lastTransitionTime")), &changed);
    if (is_young)
        return !is_ready || now < world_moment_in(w, pod, changed) + METRICS_WINDOW;
    return world_moment(w, started) + INITIAL_READINESS > world_moment(w, changed);
}

static enum sample_state state_of(const struct world *w, const struct obj *pod, bool found,
                                  bool is_cpu)
{
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    if (pod->deleting || str_is(phase, "Failed"))
        return SAMPLE_IGNORED;
    if (str_is_empty(phase) || str_is(phase, "Pending"))
        return SAMPLE_UNREADY;
    if (!found)
        return SAMPLE_MISSING;
    return is_cpu && is_starting(w, pod) ? SAMPLE_UNREADY : SAMPLE_READY;
}

/* What its containers (or the one that is measured) request, in thousandths. */
static int pod_request(const struct measure *m, const struct obj *pod, int64_t *ret,
                       struct err *err)
{
    *ret = 0;
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "containers")); jnext(&it);) {
        struct quantity q;
        str name = jstr(jgetc(it.value, "name"));
        jval v = jget(jpath(it.value, "resources.requests"), m->name);
        if (m->container.len && !str_eq(name, m->container))
            continue;
        if (!j_has(v) || quantity_parse(jtype(v) == J_STRING ? jstr(v) : jtext(v), &q, NULL))
            return err_set(err, ERR_INVALID,
                           "missing request for %.*s in container %.*s of Pod "
                           "%.*s",
                           STR_ARG(m->name), STR_ARG(name), STR_ARG(pod->name));
        *ret += quantity_milli(&q);
    }
    if (m->container.len && *ret == 0)
        return err_set(err, ERR_INVALID, "container %.*s not found in Pod %.*s",
                       STR_ARG(m->container), STR_ARG(pod->name));
    return 0;
}

static struct quantity container_part(const struct measure *m, const struct obj *pod,
                                      const struct quantity *all)
{
    jval containers = jgetc(obj_spec(pod), "containers");
    for (struct jiter it = jiter(containers); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), m->container))
            return metrics_container_share(all, it.index, jlen(containers));
    }
    return *all;
}

/* A sample per pod of the target; how many have a value. */
static size_t take_samples(struct measure *m, enum metrics_class class, struct pod_sample *ret)
{
    size_t found = 0;
    bool is_cpu = class == METRICS_RESOURCE && str_is(m->name, "cpu");
    for (size_t i = 0; i < m->s->pods.len; i++) {
        struct quantity q;
        const struct obj *pod = m->s->pods.p[i];
        bool has = metrics_of_pod(&m->reader, pod, class, m->name, &q);
        if (has && m->container.len)
            q = container_part(m, pod, &q);
        ret[i] = (struct pod_sample){.state = state_of(m->s->world, pod, has, is_cpu),
                                     .value = has ? quantity_milli(&q) : 0};
        found += has;
    }
    return found;
}

/* No pod has it: nothing is known, rather than that something is missing. */
static int need_samples(const struct measure *m, size_t found, struct err *err)
{
    if (m->s->pods.len == 0)
        return err_set(err, ERR_NOT_FOUND,
                       "no pods returned by selector while calculating replica count");
    return found > 0 ? 0 : ERR_UNAVAILABLE;
}

static int fill_requests(const struct measure *m, struct pod_sample *samples, struct err *err)
{
    for (size_t i = 0; i < m->s->pods.len; i++) {
        if (samples[i].state != SAMPLE_IGNORED &&
            pod_request(m, m->s->pods.p[i], &samples[i].request, err))
            return err->code;
    }
    return 0;
}

static void put_resource_status(struct measure *m, const struct calc *c,
                                const struct calc_result *r)
{
    if (m->container.len)
        jw_put_str(m->out, "container", m->container);
    jw_put_str(m->out, "name", m->name);
    jw_put_object(m->out, "current");
    if (c->utilization)
        jw_put_int(m->out, "averageUtilization", r->utilization);
    put_quantity(m->out, "averageValue", r->average);
    jw_end(m->out);
}

/* Resource and ContainerResource. */
static int measure_resource(struct measure *m, struct err *err)
{
    int64_t target;
    struct calc_result r;
    struct pod_sample *samples = arena_array(m->arena, struct pod_sample, m->s->pods.len + 1);
    m->name = jstr(jgetc(m->spec, "name"));
    m->container = jstr(jgetc(m->spec, "container"));
    bool raw = target_quantity(m, "averageValue", &target);
    if (!raw && (!jint_get(jgetc(m->target, "averageUtilization"), &target) || target <= 0))
        return err_set(err, ERR_INVALID,
                       "invalid resource metric source: neither an average "
                       "utilization target nor an average value (usage) target "
                       "was set");
    if (need_samples(m, take_samples(m, METRICS_RESOURCE, samples), err)) {
        if (!err->code)
            (void)err_set(err, ERR_UNAVAILABLE,
                          "unable to get metrics for resource %.*s: no metrics returned from "
                          "resource metrics API",
                          STR_ARG(m->name));
    } else if (raw || fill_requests(m, samples, err) == 0) {
        struct calc c = calc_of(m, target);
        c.samples = samples;
        c.n = m->s->pods.len;
        c.utilization = !raw;
        if (calc_pods(&c, &r, err) == 0) {
            put_resource_status(m, &c, &r);
            m->proposal = r.replicas;
        }
    }
    const char *kind = m->container.len ? "container resource" : "resource";
    m->title = arena_printf(m->arena, "%.*s %s%s", STR_ARG(m->name), kind,
                            raw ? "" : " utilization (percentage of request)");
    return err->code ? err_wrap(err, "failed to get %.*s %s", STR_ARG(m->name),
                                raw ? "usage" : "utilization")
                     : 0;
}

/* ---- values ---- */

static void put_metric(struct measure *m)
{
    jw_put_object(m->out, "metric");
    jw_put_str(m->out, "name", m->name);
    jw_put(m->out, "selector", jpath(m->spec, "metric.selector"));
    jw_end(m->out);
}

static void put_current(struct measure *m, const char *key, int64_t milli)
{
    jw_put_object(m->out, "current");
    put_quantity(m->out, key, milli);
    jw_end(m->out);
}

static int measure_pods(struct measure *m, struct err *err)
{
    int64_t target = 0;
    struct calc_result r;
    struct pod_sample *samples = arena_array(m->arena, struct pod_sample, m->s->pods.len + 1);
    m->name = jstr(jpath(m->spec, "metric.name"));
    m->title = arena_printf(m->arena, "pods metric %.*s", STR_ARG(m->name));
    (void)target_quantity(m, "averageValue", &target);
    struct calc c = calc_of(m, target);
    c.samples = samples;
    c.n = m->s->pods.len;
    if (need_samples(m, take_samples(m, METRICS_CUSTOM, samples), err)) {
        if (!err->code)
            (void)err_set(err, ERR_UNAVAILABLE,
                          "unable to get metric %.*s: no metrics returned from custom metrics API",
                          STR_ARG(m->name));
    } else if (calc_pods(&c, &r, err) == 0) {
        put_metric(m);
        put_current(m, "averageValue", r.average);
        m->proposal = r.replicas;
    }
    return err->code ? err_wrap(err, "failed to get pods metric value") : 0;
}

/* One value for all: against "value" by the ready pods, against "averageValue" by replica. */
static int propose_from_value(struct measure *m, int64_t value, struct err *err)
{
    int64_t target, ready = 0, status = m->s->status_replicas;
    if (target_quantity(m, "value", &target)) {
        struct calc c = calc_of(m, target);
        for (size_t i = 0; i < m->s->pods.len; i++)
            ready += metrics_pod_is_ready(m->s->pods.p[i]);
        if (m->s->pods.len == 0 && m->s->current > 0)
            return err_set(err, ERR_NOT_FOUND,
                           "no pods returned by selector while calculating replica count");
        m->proposal = calc_value(&c, value, ready);
        put_current(m, "value", value);
        return 0;
    }
    if (!target_quantity(m, "averageValue", &target))
        return err_set(err, ERR_INVALID,
                       "invalid metric source: neither a value target nor an average value target "
                       "was set");
    struct calc c = calc_of(m, target);
    m->proposal = calc_value_per_replica(&c, value, status);
    put_current(m, "averageValue", status > 0 ? value / status + (value % status > 0) : value);
    return 0;
}

/* The metric of the object that is described; false when there is none. */
static bool read_described(const struct measure *m, jval ref, struct quantity *ret)
{
    str group, version, name = jstr(jgetc(ref, "name"));
    api_version_split(jstr(jgetc(ref, "apiVersion")), &group, &version);
    const struct kind *k = kind_by_name(group, version, jstr(jgetc(ref, "kind")));
    if (!k)
        return false;
    str ns = kind_is(k, KIND_NAMESPACED) ? m->s->hpa->ns : STR_NONE;
    const struct obj *o = m->reader.get(m->reader.ctx, k, ns, name);
    return metrics_of_object(&m->reader, o, k, ns, name, m->name, ret);
}

static int measure_object(struct measure *m, struct err *err)
{
    struct quantity q;
    jval ref = jgetc(m->spec, "describedObject");
    str kind = jstr(jgetc(ref, "kind")), name = jstr(jgetc(ref, "name"));
    m->name = jstr(jpath(m->spec, "metric.name"));
    m->title = arena_printf(m->arena, "%.*s metric %.*s", STR_ARG(kind), STR_ARG(m->name));
    if (!read_described(m, ref, &q))
        (void)err_set(err, ERR_NOT_FOUND,
                      "unable to get metric %.*s: %.*s on %.*s %.*s/the server could not find the "
                      "metric %.*s for %.*s %.*s",
                      STR_ARG(m->name), STR_ARG(kind), STR_ARG(m->s->hpa->ns), STR_ARG(name),
                      STR_ARG(m->name), STR_ARG(kind), STR_ARG(name));
    else if (propose_from_value(m, quantity_milli(&q), err) == 0) {
        put_metric(m);
        jw_put(m->out, "describedObject", ref);
    }
    return err->code ? err_wrap(err, "failed to get object metric value") : 0;
}

/* The sum of its series that the selector picks; how many those are. */
static size_t sum_external(struct measure *m, const struct selector *selector, int64_t *ret)
{
    struct metrics_series series;
    size_t n = 0;
    struct metrics_external x = metrics_external(&m->reader, m->s->hpa->ns, m->name);
    for (*ret = 0; metrics_external_next(&x, &series);) {
        struct doc *labels = metrics_series_labels(&series);
        if (!selector || label_selector_match(selector, doc_root(labels))) {
            int64_t value = quantity_milli(&series.value);
            *ret = value > INT64_MAX - *ret ? INT64_MAX : *ret + value;
            n++;
        }
        doc_unref(labels);
    }
    return n;
}

/* As Go prints a selector. */
static str selector_title(const struct measure *m, jval selector)
{
    struct strbuf b = STRBUF_INIT(4096);
    if (!j_has(selector))
        return STR("nil");
    strbuf_add_cstr(&b, "&LabelSelector{MatchLabels:map[string]string{");
    for (struct jiter it = jiter(jgetc(selector, "matchLabels")); jnext(&it);)
        strbuf_printf(&b, "%.*s: %.*s,", STR_ARG(it.key), STR_ARG(jstr(it.value)));
    strbuf_add_cstr(&b, "},MatchExpressions:[]LabelSelectorRequirement{},}");
    str text = arena_str(m->arena, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

static int measure_external(struct measure *m, struct err *err)
{
    int64_t value = 0;
    jval selector = jpath(m->spec, "metric.selector");
    struct selector *parsed = NULL;
    m->name = jstr(jpath(m->spec, "metric.name"));
    m->title = arena_printf(m->arena, "external metric %.*s(%.*s)", STR_ARG(m->name),
                            STR_ARG(selector_title(m, selector)));
    if (j_has(selector))
        parsed = label_selector_from(m->arena, selector, err);
    if (!err->code && sum_external(m, parsed, &value) == 0)
        (void)err_set(err, ERR_NOT_FOUND,
                      "unable to get external metric %.*s/%.*s/%.*s: no metrics returned from "
                      "external metrics API",
                      STR_ARG(m->s->hpa->ns), STR_ARG(m->name),
                      STR_ARG(selector_title(m, selector)));
    else if (!err->code && propose_from_value(m, value, err) == 0)
        put_metric(m);
    return err->code ? err_wrap(err, "failed to get %.*s external metric value", STR_ARG(m->name))
                     : 0;
}

/* ---- all of them ---- */

static const struct metric_type types[] = {
    {"Resource", "resource", "FailedGetResourceMetric", measure_resource},
    {"ContainerResource", "containerResource", "FailedGetContainerResourceMetric",
     measure_resource},
    {"Pods", "pods", "FailedGetPodsMetric", measure_pods},
    {"Object", "object", "FailedGetObjectMetric", measure_object},
    {"External", "external", "FailedGetExternalMetric", measure_external},
};

static const struct metric_type *find_type(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (str_is(name, types[i].type))
            return &types[i];
    }
    return NULL;
}

/* Its status on success. NULL with the error otherwise. */
static struct doc *measure_one(struct measure *m, jval metric, struct err *err)
{
    struct jw w;
    str type = jstr(jgetc(metric, "type"));
    m->type = find_type(type);
    if (!m->type) {
        (void)err_set(err, ERR_INVALID, "unknown metric source type \"%.*s\"", STR_ARG(type));
        return NULL;
    }
    m->spec = jget(metric, str_of(m->type->member));
    m->target = jgetc(m->spec, "target");
    m->out = &w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "type", m->type->type);
    jw_put_object(&w, m->type->member);
    if (m->type->fn(m, err)) {
        jw_done(&w);
        return NULL;
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* Kubernetes' default: 80 % of the processor time requested. */
static jval metrics_of(const struct scaler *s)
{
    jval metrics = jgetc(s->spec, "metrics");
    if (jlen(metrics) > 0)
        return metrics;
    struct doc *d =
        doc_parse(STR("[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":"
                      "{\"type\":\"Utilization\",\"averageUtilization\":80}}}]"),
                  NULL, NULL);
    return doc_root(doc_hold(s->plan->arena, d));
}

static void note_failure(struct verdict *v, const struct measure *m, const struct err *err)
{
    if (v->reason)
        return;
    v->reason = m->type ? m->type->reason : "InvalidMetricSourceType";
    v->message = arena_printf(m->arena, "%s", err->message);
}

struct verdict scaler_measure(const struct scaler *s)
{
    struct verdict v = {.replicas = -1};
    struct scaler_source source = {.world = s->world};
    jval metrics = metrics_of(s);
    size_t failed = 0;
    struct jw w;
    jw_init(&w);
    jw_array(&w);
    for (struct jiter it = jiter(metrics); jnext(&it);) {
        struct err err = ERR_INIT;
        struct measure m = {
            .s = s, .arena = s->plan->arena, .reader = scaler_reader(&source, s->feed)};
        struct doc *status = measure_one(&m, it.value, &err);
        if (status) {
            jw_val(&w, doc_root(status));
            if (m.proposal > v.replicas) {
                v.replicas = m.proposal;
                v.metric = m.title;
            }
        } else {
            jw_raw(&w, STR("{\"type\":\"\"}"));
            note_failure(&v, &m, &err);
            failed++;
        }
        doc_unref(status);
    }
    jw_end(&w);
    if (failed < jlen(metrics))
        v.status = doc_hold(s->plan->arena, jw_doc(&w));
    else
        jw_done(&w);
    if (failed == jlen(metrics) || (failed > 0 && v.replicas < s->current))
        v.replicas = -1;
    if (failed > 0)
        v.summary = arena_printf(s->plan->arena,
                                 "invalid metrics (%zu invalid out of %zu), first error is: %.*s",
                                 failed, jlen(metrics), STR_ARG(v.message));
    return v;
}
