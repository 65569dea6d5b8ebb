/*
 * HorizontalPodAutoscalers of autoscaling/v1 and v2, which are the same stored object. v1 has room
 * for one number, the CPU target; the rest of v2 travels in annotations, in the words v1 once had
 * for it, so that nothing is lost on the way there and back.
 */
#include "apiserver/request.h"
#include "json/write.h"

#define NOTE "autoscaling.alpha.kubernetes.io/"

/* Where the parts of v2 that v1 lacks are noted. */
static const struct note {
    const char *annotation;
    const char *part, *member; /* of v2: "spec", "behavior" */
    bool metrics;              /* each item is written in v1's words */
} notes[] = {
    {NOTE "metrics", "spec", "metrics", true},
    {NOTE "behavior", "spec", "behavior", false},
    {NOTE "current-metrics", "status", "currentMetrics", true},
    {NOTE "conditions", "status", "conditions", false},
};

/* What a metric says, in both versions. In a status "target" reads "current". */
static const struct word {
    const char *source; /* "resource" */
    const char *v1;
    const char *group, *v2; /* group NULL: a member of the source itself */
} words[] = {
    {"resource", "name", NULL, "name"},
    {"resource", "targetAverageUtilization", "target", "averageUtilization"},
    {"resource", "targetAverageValue", "target", "averageValue"},
    {"containerResource", "name", NULL, "name"},
    {"containerResource", "container", NULL, "container"},
    {"containerResource", "targetAverageUtilization", "target", "averageUtilization"},
    {"containerResource", "targetAverageValue", "target", "averageValue"},
    {"pods", "metricName", "metric", "name"},
    {"pods", "selector", "metric", "selector"},
    {"pods", "targetAverageValue", "target", "averageValue"},
    {"object", "target", NULL, "describedObject"},
    {"object", "metricName", "metric", "name"},
    {"object", "selector", "metric", "selector"},
    {"object", "targetValue", "target", "value"},
    {"object", "averageValue", "target", "averageValue"},
    {"external", "metricName", "metric", "name"},
    {"external", "metricSelector", "metric", "selector"},
    {"external", "targetValue", "target", "value"},
    {"external", "targetAverageValue", "target", "averageValue"},
};

/* ---- metrics ---- */

/* "targetValue" as a status says it. */
static const char *v1_word(const struct word *w, bool status, char buf[64])
{
    if (!status || !w->group || strncmp(w->v1, "target", 6) != 0)
        return w->v1;
    snprintf(buf, 64, "current%s", w->v1 + 6);
    return buf;
}

static str v2_group(const struct word *w, bool status)
{
    bool target = w->group && strcmp(w->group, "target") == 0;
    return target && status ? STR("current") : str_of(w->group);
}

static jval v2_value(const struct word *w, jval source, bool status)
{
    jval in = w->group ? jget(source, v2_group(w, status)) : source;
    return jget(in, str_of(w->v2));
}

static void put_v1_metric(struct jw *w, jval metric, bool status)
{
    char buf[64];
    jw_object(w);
    for (struct jiter it = jiter(metric); jnext(&it);) {
        jw_key(w, it.key);
        if (jtype(it.value) != J_OBJECT) {
            jw_val(w, it.value);
            continue;
        }
        jw_object(w);
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            if (str_is(it.key, words[i].source))
                jw_put(w, v1_word(&words[i], status, buf), v2_value(&words[i], it.value, status));
        jw_end(w);
    }
    jw_end(w);
}

static const char *target_type(jval source)
{
    if (j_has(jgetc(source, "targetAverageUtilization")))
        return "Utilization";
    if (j_has(jgetc(source, "targetAverageValue")) || j_has(jgetc(source, "averageValue")))
        return "AverageValue";
    return "Value";
}

/* The words of one group: metric, target or (NULL) the source itself. */
static void put_v2_group(struct jw *w, str name, jval source, const char *group, bool status)
{
    char buf[64];
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        const struct word *x = &words[i];
        bool in = group ? x->group && strcmp(x->group, group) == 0 : !x->group;
        if (in && str_is(name, x->source))
            jw_put(w, x->v2, jget(source, str_of(v1_word(x, status, buf))));
    }
}

static bool has_metric_group(str source)
{
    return !str_is(source, "resource") && !str_is(source, "containerResource");
}

static void put_v2_metric(struct jw *w, jval metric, bool status)
{
    jw_object(w);
    for (struct jiter it = jiter(metric); jnext(&it);) {
        jw_key(w, it.key);
        if (jtype(it.value) != J_OBJECT) {
            jw_val(w, it.value);
            continue;
        }
        jw_object(w);
        put_v2_group(w, it.key, it.value, NULL, status);
        if (has_metric_group(it.key)) {
            jw_put_object(w, "metric");
            put_v2_group(w, it.key, it.value, "metric", status);
            jw_end(w);
        }
        jw_put_object(w, status ? "current" : "target");
        if (!status)
            jw_put_cstr(w, "type", target_type(it.value));
        put_v2_group(w, it.key, it.value, "target", status);
        jw_end(w);
        jw_end(w);
    }
    jw_end(w);
}

/* The metric v1 has a field for; the first one counts. */
static jval cpu_of(jval metrics, bool status, size_t *ret_index)
{
    for (struct jiter it = jiter(metrics); jnext(&it);) {
        jval source = jgetc(it.value, "resource");
        jval value =
            jpath(source, status ? "current.averageUtilization" : "target.averageUtilization");
        *ret_index = it.index;
        if (str_is(jstr(jgetc(it.value, "type")), "Resource") &&
            str_is(jstr(jgetc(source, "name")), "cpu") && j_has(value))
            return value;
    }
    *ret_index = SIZE_MAX;
    return JVAL_ABSENT;
}

/* ---- from v2 to v1 ---- */

static void put_note(struct jw *w, const struct note *n, jval value)
{
    struct jw text;
    size_t cpu = SIZE_MAX, count = 0;
    bool status = strcmp(n->part, "status") == 0;
    if (n->metrics)
        (void)cpu_of(value, status, &cpu);
    if (!j_has(value) || jlen(value) == 0)
        return;
    jw_init(&text);
    if (n->metrics) {
        jw_array(&text);
        for (struct jiter it = jiter(value); jnext(&it);) {
            if (it.index == cpu)
                continue;
            put_v1_metric(&text, it.value, status);
            count++;
        }
        jw_end(&text);
    } else {
        jw_val(&text, value);
        count = 1;
    }
    if (count)
        jw_put_str(w, n->annotation, strbuf_str(&text.out));
    jw_done(&text);
}

static bool is_note(str key)
{
    for (size_t i = 0; i < ARRAY_LEN(notes); i++)
        if (str_is(key, notes[i].annotation))
            return true;
    return false;
}

static bool is_noted_member(const char *part, str key)
{
    for (size_t i = 0; i < ARRAY_LEN(notes); i++)
        if (strcmp(notes[i].part, part) == 0 && str_is(key, notes[i].member))
            return true;
    return false;
}

static void put_v1_meta(struct jw *w, jval root)
{
    jval meta = jgetc(root, "metadata");
    jw_object(w);
    for (struct jiter it = jiter(meta); jnext(&it);) {
        if (str_is(it.key, "annotations"))
            continue;
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    jw_put_object(w, "annotations");
    for (struct jiter it = jiter(jgetc(meta, "annotations")); jnext(&it);) {
        if (is_note(it.key))
            continue;
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    for (size_t i = 0; i < ARRAY_LEN(notes); i++)
        put_note(w, &notes[i], jget(jget(root, str_of(notes[i].part)), str_of(notes[i].member)));
    jw_end(w);
    jw_end(w);
}

static void put_v1_part(struct jw *w, const char *part, jval value)
{
    size_t at;
    bool status = strcmp(part, "status") == 0;
    jw_object(w);
    for (struct jiter it = jiter(value); jnext(&it);) {
        if (is_noted_member(part, it.key))
            continue;
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    jw_put(w, status ? "currentCPUUtilizationPercentage" : "targetCPUUtilizationPercentage",
           cpu_of(jget(value, status ? STR("currentMetrics") : STR("metrics")), status, &at));
    jw_end(w);
}

/* ---- from v1 to v2 ---- */

static void put_v2_meta(struct jw *w, jval meta)
{
    jw_object(w);
    for (struct jiter it = jiter(meta); jnext(&it);) {
        jw_key(w, it.key);
        if (!str_is(it.key, "annotations")) {
            jw_val(w, it.value);
            continue;
        }
        jw_object(w);
        for (struct jiter a = jiter(it.value); jnext(&a);) {
            if (is_note(a.key))
                continue;
            jw_key(w, a.key);
            jw_val(w, a.value);
        }
        jw_end(w);
    }
    jw_end(w);
}

static void put_cpu_metric(struct jw *w, jval value, bool status)
{
    jw_object(w);
    jw_put_cstr(w, "type", "Resource");
    jw_put_object(w, "resource");
    jw_put_cstr(w, "name", "cpu");
    jw_put_object(w, status ? "current" : "target");
    if (!status)
        jw_put_cstr(w, "type", "Utilization");
    jw_put(w, "averageUtilization", value);
    jw_end(w);
    jw_end(w);
    jw_end(w);
}

/* A note that people wrote may be anything; what is no list or object is left out. */
static void put_v2_noted(struct jw *w, const struct note *n, jval annotations, jval cpu)
{
    str text = jstr(jget(annotations, str_of(n->annotation)));
    struct doc *d = text.len ? doc_parse(text, NULL, NULL) : NULL;
    jval noted = d ? doc_root(d) : JVAL_ABSENT;
    bool status = strcmp(n->part, "status") == 0;
    if (n->metrics && (j_has(cpu) || jtype(noted) == J_ARRAY)) {
        jw_put_array(w, n->member);
        for (struct jiter it = jiter(noted); jtype(noted) == J_ARRAY && jnext(&it);)
            put_v2_metric(w, it.value, status);
        if (j_has(cpu))
            put_cpu_metric(w, cpu, status);
        jw_end(w);
    } else if (!n->metrics && (jtype(noted) == J_OBJECT || jtype(noted) == J_ARRAY)) {
        jw_put(w, n->member, noted);
    }
    doc_unref(d);
}

static void put_v2_part(struct jw *w, const char *part, jval value, jval annotations)
{
    static const char *const cpus[] = {"targetCPUUtilizationPercentage",
                                       "currentCPUUtilizationPercentage"};
    jval cpu = JVAL_ABSENT;
    jw_object(w);
    for (struct jiter it = jiter(value); jnext(&it);) {
        if (str_is(it.key, cpus[0]) || str_is(it.key, cpus[1])) {
            cpu = it.value;
            continue;
        }
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    for (size_t i = 0; i < ARRAY_LEN(notes); i++)
        if (strcmp(notes[i].part, part) == 0)
            put_v2_noted(w, &notes[i], annotations, cpu);
    jw_end(w);
}

void convert_put_hpa(struct jw *w, jval root, bool to_v1)
{
    jval annotations = jpath(root, "metadata.annotations");
    for (struct jiter it = jiter(root); jnext(&it);) {
        bool spec = str_is(it.key, "spec"), status = str_is(it.key, "status");
        const char *part = spec ? "spec" : "status";
        if (str_is(it.key, "kind") || str_is(it.key, "apiVersion"))
            continue;
        jw_key(w, it.key);
        if (str_is(it.key, "metadata") && to_v1)
            put_v1_meta(w, root);
        else if (str_is(it.key, "metadata"))
            put_v2_meta(w, it.value);
        else if ((spec || status) && to_v1)
            put_v1_part(w, part, it.value);
        else if (spec || status)
            put_v2_part(w, part, it.value, annotations);
        else
            jw_val(w, it.value);
    }
}
