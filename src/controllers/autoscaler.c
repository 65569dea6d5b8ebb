/*
 * See autoscaler.h. One look: find the target and its pods, ask the metrics, hold what they want
 * against the rules and the past, and write down, in this order, what must not be forgotten, the
 * new scale, and the status. A crash between any two of these is made good by the next look.
 */
#include "controllers/autoscaler.h"

#include "controllers/autoscaler_impl.h"
#include "kube/selector.h"

enum { STAGE_HISTORY, STAGE_SCALE, STAGE_STATUS };
/* Changes that come together are looked at together. */
#define MIN_INTERVAL USEC_PER_SEC

/* What a look came to. Conditions that are not set stay as they are. */
struct outcome {
    struct condition able, active, limited;
    int64_t desired;     /* -1: as before */
    struct doc *metrics; /* NULL: none is known */
    bool measured;       /* else those there are stay */
};

static struct condition condition(const char *type, bool on, const char *reason, str message)
{
    return (struct condition){type, on ? "True" : "False", reason, message};
}

static jval old_condition(const struct scaler *s, const char *type)
{
    return condition_find(jgetc(obj_status(s->hpa), "conditions"), str_of(type));
}

/* Events tell of a change, not of every look. */
static bool is_news(const struct scaler *s, const struct condition *c)
{
    jval old = old_condition(s, c->type);
    return !str_is(jstr(jgetc(old, "status")), c->status) ||
           !str_is(jstr(jgetc(old, "reason")), c->reason);
}

/* ---- target ---- */

/* ".spec.replicas" of the target. */
static jval at_path(const struct obj *o, const char *path)
{
    return path ? jpath(obj_root(o), path + 1) : JVAL_ABSENT;
}

/* Why the target cannot be scaled; empty when it can. */
static str find_target(struct scaler *s)
{
    str group, version;
    jval ref = jgetc(s->spec, "scaleTargetRef");
    str kind = jstr(jgetc(ref, "kind")), name = jstr(jgetc(ref, "name"));
    struct arena *a = s->plan->arena;
    api_version_split(jstr(jgetc(ref, "apiVersion")), &group, &version);
    const struct kind *k = kind_by_name(group, version, kind);
    if (!k || !kind_is(k, KIND_SCALE) || !world_cache(s->world, k))
        return arena_printf(a, "no matches for kind \"%.*s\" in group \"%.*s\"", STR_ARG(kind),
                            STR_ARG(group));
    s->target = world_get(s->world, k, s->hpa->ns, name);
    if (!s->target)
        return arena_printf(a, "%s%s%s \"%.*s\" not found", k->plural, *k->group ? "." : "",
                            k->group, STR_ARG(name));
    s->current = jint(at_path(s->target, k->scale_spec_path), 0);
    s->status_replicas = jint(at_path(s->target, k->scale_status_path), 0);
    return STR_NONE;
}

/* Built-in kinds keep a label selector, custom resources its text. */
static str target_selector(const struct scaler *s)
{
    jval v = at_path(s->target, s->target->kind->scale_selector_path);
    if (jtype(v) != J_OBJECT)
        return jstr(v);
    struct strbuf text = STRBUF_INIT(1 << 16);
    struct selector *parsed = label_selector_from(s->plan->arena, v, NULL);
    if (parsed)
        label_selector_print(parsed, &text);
    str out = arena_str(s->plan->arena, strbuf_str(&text));
    strbuf_done(&text);
    return out;
}

/* ---- what must not be forgotten ---- */

static usec longest_memory(const struct scaler *s)
{
    usec longest = MAX(s->up.window, s->down.window);
    for (size_t i = 0; i < s->up.n; i++)
        longest = MAX(longest, s->up.policies[i].period);
    for (size_t i = 0; i < s->down.n; i++)
        longest = MAX(longest, s->down.policies[i].period);
    return longest;
}

static void plan_history(struct scaler *s)
{
    str text = history_write(s->plan->arena, &s->history, s->world->now, longest_memory(s));
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put_object(&w, "annotations");
    jw_put_str(&w, ANNOTATION_AUTOSCALER, text);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    (void)plan_merge_patch(s->plan, STAGE_HISTORY, s->hpa, STR_NONE, jw_doc(&w), s->hpa->rv);
}

static void plan_scale(struct scaler *s, int64_t replicas, str why)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "spec");
    jw_put_int(&w, "replicas", replicas);
    jw_end(&w);
    jw_end(&w);
    struct plan_write *write =
        plan_merge_patch(s->plan, STAGE_SCALE, s->target, STR("scale"), jw_doc(&w), 0);
    plan_why(write, s->plan, "%lld replicas, %lld wanted: %.*s", (long long)s->current,
             (long long)replicas, STR_ARG(why));
}

/* ---- status ---- */

static void put_scale_time(struct jw *w, const struct scaler *s)
{
    usec last = 0;
    (void)time_parse_rfc3339(jstr(jgetc(obj_status(s->hpa), "lastScaleTime")), &last);
    if (s->history.n_scaled > 0)
        last = MAX(last, s->history.scaled[s->history.n_scaled - 1].at);
    if (last == 0)
        return;
    struct strbuf t = STRBUF_INIT(64);
    time_format_rfc3339(last, &t);
    jw_put_str(w, "lastScaleTime", strbuf_str(&t));
    strbuf_done(&t);
}

static struct doc *make_status_doc(const struct scaler *s, const struct outcome *o)
{
    jval old = obj_status(s->hpa);
    const struct condition *all[] = {&o->able, &o->active, &o->limited};
    struct condition set[ARRAY_LEN(all)];
    size_t n = 0;
    struct jw w;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i]->type)
            set[n++] = *all[i];
    }
    jw_init(&w);
    jw_object(&w);
    jw_put_int(&w, "currentReplicas",
               s->target ? s->current : jint(jgetc(old, "currentReplicas"), 0));
    jw_put_int(&w, "desiredReplicas",
               o->desired >= 0 ? o->desired : jint(jgetc(old, "desiredReplicas"), 0));
    put_scale_time(&w, s);
    if (o->metrics) {
        jw_put(&w, "currentMetrics", doc_root(o->metrics));
    } else if (o->measured && j_has(jgetc(old, "currentMetrics"))) {
        jw_key(&w, STR("currentMetrics"));
        jw_null(&w);
    }
    make_conditions(&w, jgetc(old, "conditions"), set, n, s->world->now);
    jw_end(&w);
    return jw_doc(&w);
}

/* Conditional on the version seen, unless this very plan makes another one first. */
static void plan_status(struct scaler *s, const struct outcome *o)
{
    struct doc *status = make_status_doc(s, o);
    struct doc *patch = make_drift_patch(doc_root(status), obj_status(s->hpa));
    uint64_t rv = s->plan->writes.len > 0 ? 0 : s->hpa->rv;
    doc_unref(status);
    if (!patch)
        return;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put(&w, "status", doc_root(patch));
    jw_end(&w);
    (void)plan_merge_patch(s->plan, STAGE_STATUS, s->hpa, STR("status"), jw_doc(&w), rv);
    doc_unref(patch);
}

/* ---- looking ---- */

static void fail_scale(struct scaler *s, struct outcome *o, str why)
{
    o->able = condition("AbleToScale", false, "FailedGetScale",
                        arena_printf(s->plan->arena,
                                     "the HPA controller was unable to get the target's current "
                                     "scale: %.*s",
                                     STR_ARG(why)));
    if (is_news(s, &o->able))
        plan_event(s->plan, s->hpa, true, STR("FailedGetScale"), "%.*s", STR_ARG(why));
}

static void fail_selector(struct scaler *s, struct outcome *o, str message, const char *event)
{
    o->active = condition("ScalingActive", false, "InvalidSelector", message);
    if (is_news(s, &o->active))
        plan_event(s->plan, s->hpa, true, str_of(event), "%.*s",
                   STR_ARG(str_is(str_of(event), "SelectorRequired") ? STR("selector is required")
                                                                     : message));
}

static void fail_metrics(struct scaler *s, struct outcome *o, const struct verdict *v)
{
    o->active = condition("ScalingActive", false, v->reason,
                          arena_printf(s->plan->arena,
                                       "the HPA was unable to compute the replica count: %.*s",
                                       STR_ARG(v->message)));
    if (!is_news(s, &o->active))
        return;
    plan_event(s->plan, s->hpa, true, str_of(v->reason), "%.*s", STR_ARG(v->message));
    plan_event(s->plan, s->hpa, true, STR("FailedComputeMetricsReplicas"), "%.*s",
               STR_ARG(v->summary));
}

/* Its controller has yet to report for the first time, and the selector comes with that report. It
 * wakes us (map_target), so there is nothing to warn of. */
static bool is_unreported(const struct obj *target)
{
    return !j_has(jgetc(obj_status(target), "observedGeneration"));
}

/* By its metrics; true when there is something to scale to. */
static bool look_at_metrics(struct scaler *s, struct outcome *o, str *ret_why)
{
    struct err err = ERR_INIT;
    str selector = target_selector(s);
    if (str_is_empty(selector) && is_unreported(s->target))
        return false;
    if (str_is_empty(selector)) {
        fail_selector(s, o, STR("the HPA target's scale is missing a selector"),
                      "SelectorRequired");
        return false;
    }
    if (!scaler_find_pods(s, selector, &err)) {
        fail_selector(s, o,
                      arena_printf(s->plan->arena,
                                   "couldn't convert selector into a corresponding internal "
                                   "selector object: %s",
                                   err.message),
                      "InvalidSelector");
        return false;
    }
    struct verdict v = scaler_measure(s);
    o->metrics = v.status;
    o->measured = true;
    if (v.replicas < 0) {
        fail_metrics(s, o, &v);
        return false;
    }
    o->active = condition("ScalingActive", true, "ValidMetricFound",
                          arena_printf(s->plan->arena,
                                       "the HPA was able to successfully calculate a replica "
                                       "count from %.*s",
                                       STR_ARG(v.metric)));
    struct bounds b = {s->current, s->min, s->max};
    struct decision d =
        scaling_decide(&b, &s->up, &s->down, &s->history, s->world->now, v.replicas);
    o->able = condition("AbleToScale", true, d.able_reason, str_of(d.able_message));
    o->limited =
        condition("ScalingLimited", d.limited, d.limited_reason, str_of(d.limited_message));
    o->desired = d.replicas;
    *ret_why = d.replicas > s->current
                   ? arena_printf(s->plan->arena, "%.*s above target", STR_ARG(v.metric))
                   : STR("All metrics below target");
    if (history_recommend(s->plan->arena, &s->history, s->world->now, s->current, v.replicas) &&
        d.replicas == s->current)
        plan_history(s);
    return true;
}

static void rescale(struct scaler *s, struct outcome *o, str why)
{
    history_scaled(s->plan->arena, &s->history, s->world->now, o->desired - s->current);
    plan_history(s);
    plan_scale(s, o->desired, why);
    o->able = condition("AbleToScale", true, "SucceededRescale",
                        arena_printf(s->plan->arena,
                                     "the HPA controller was able to update the target scale to "
                                     "%lld",
                                     (long long)o->desired));
    plan_event(s->plan, s->hpa, false, STR("SuccessfulRescale"), "New size: %lld; reason: %.*s",
               (long long)o->desired, STR_ARG(why));
}

static void look(struct scaler *s, struct outcome *o)
{
    str why = find_target(s);
    if (why.len > 0) {
        fail_scale(s, o, why);
        return;
    }
    o->able = condition("AbleToScale", true, "SucceededGetScale",
                        STR("the HPA controller was able to get the target's current scale"));
    if (s->current == 0 && s->min != 0) {
        o->desired = 0;
        o->active = condition("ScalingActive", false, "ScalingDisabled",
                              STR("scaling is disabled since the replica count of the target is "
                                  "zero"));
        return;
    }
    if (s->current > s->max || s->current < s->min) {
        bool above = s->current > s->max;
        o->desired = above ? s->max : s->min;
        why = above ? STR("Current number of replicas above Spec.MaxReplicas")
                    : STR("Current number of replicas below Spec.MinReplicas");
    } else if (!look_at_metrics(s, o, &why)) {
        return;
    }
    if (o->desired != s->current)
        rescale(s, o, why);
}

/* In terms of today's clock, in which it is written again. */
static struct history read_history(const struct scaler *s)
{
    struct history h =
        history_read(s->plan->arena, obj_annotation(s->hpa, STR(ANNOTATION_AUTOSCALER)));
    for (size_t i = 0; i < h.n_recommended; i++)
        h.recommended[i].at = world_rebased(s->world, NULL, h.recommended[i].at);
    for (size_t i = 0; i < h.n_scaled; i++)
        h.scaled[i].at = world_rebased(s->world, NULL, h.scaled[i].at);
    return h;
}

void autoscaler_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *hpa = world_get(w, &kind_hpa, key->ns, key->name);
    struct outcome o = {.desired = -1};
    if (!hpa || hpa->deleting)
        return;
    jval spec = obj_spec(hpa);
    struct scaler s = {.world = w, .feed = ctx, .plan = p, .hpa = hpa, .spec = spec};
    s.min = jint(jgetc(spec, "minReplicas"), 1);
    s.max = MAX(jint(jgetc(spec, "maxReplicas"), 1), s.min);
    s.history = read_history(&s);
    scaling_rules_read(jgetc(spec, "behavior"), &s.up, &s.down);
    look(&s, &o);
    plan_status(&s, &o);
    plan_look_again(p, AUTOSCALER_INTERVAL);
    vec_done(&s.pods);
}

/* ---- which change wakes which autoscaler ---- */

static void map_autoscaler(struct controller *c, const struct world *w, const struct obj *old,
                           const struct obj *new)
{
    if (!old || !new || !jequal(obj_spec(old), obj_spec(new)))
        map_self(c, w, old, new);
}

static bool is_target(const struct obj *hpa, const struct obj *o)
{
    jval ref = jpath(obj_root(hpa), "spec.scaleTargetRef");
    return str_eq(jstr(jgetc(ref, "name")), o->name) &&
           str_is(jstr(jgetc(ref, "kind")), o->kind->kind);
}

/* Those in a namespace; with `target`, those of that target. */
static void enqueue_autoscalers(struct controller *c, const struct world *w, str ns,
                                const struct obj *target)
{
    struct obj *hpa;
    for (struct cache_iter it = cache_all(world_cache(w, &kind_hpa), ns);
         (hpa = cache_next(&it));) {
        if (!target || is_target(hpa, target))
            controller_enqueue(c, &kind_hpa, hpa->ns, hpa->name);
    }
}

static bool scale_changed(const struct obj *old, const struct obj *new)
{
    const struct kind *k = (new ? new : old)->kind;
    const char *const paths[] = {k->scale_spec_path, k->scale_selector_path};
    for (size_t i = 0; old && new &&i < ARRAY_LEN(paths); i++) {
        if (!jequal(at_path(old, paths[i]), at_path(new, paths[i])))
            return true;
    }
    return !old || !new;
}

/* What is said on an owner concerns whatever is below it. */
static void map_target(struct controller *c, const struct world *w, const struct obj *old,
                       const struct obj *new)
{
    const struct obj *o = new ? new : old;
    if (metrics_changed(old, new))
        enqueue_autoscalers(c, w, o->ns, NULL);
    else if (scale_changed(old, new))
        enqueue_autoscalers(c, w, o->ns, o);
}

static void map_described(struct controller *c, const struct world *w, const struct obj *old,
                          const struct obj *new)
{
    const struct obj *o = new ? new : old;
    /* Pods come with what their template says; only what is said later is news. */
    if (old && new &&metrics_changed(old, new))
        enqueue_autoscalers(c, w, o->kind == &kind_namespace ? o->name : o->ns, NULL);
}

static const struct controller_watch watches[] = {
    {&kind_hpa, map_autoscaler}, {&kind_pcs, map_target},        {&kind_pcsg, map_target},
    {&kind_pclq, map_target},    {&kind_deployment, map_target}, {&kind_replica_set, map_target},
    {&kind_pod, map_described},  {&kind_service, map_described}, {&kind_namespace, map_described},
};

void autoscaler_add_caches(struct runtime *r)
{
    for (size_t i = 0; i < scaler_n_kinds; i++)
        (void)runtime_cache(r, scaler_kinds[i]);
}

struct controller *autoscaler_add(struct runtime *r, struct api *api, struct metrics_feed *feed)
{
    const struct controller_def def = {
        .name = "horizontal-pod-autoscaler",
        .plan = autoscaler_plan,
        .ctx = feed,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
        .min_interval = MIN_INTERVAL,
        .samples = true,
    };
    autoscaler_add_caches(r);
    return runtime_add(r, &def, api);
}

void autoscaler_metrics_fed(struct controller *c, str ns)
{
    struct world w = runtime_world(controller_runtime(c));
    enqueue_autoscalers(c, &w, ns, NULL);
}
