/* Conditions and Events; see tell.h. */
#include "sched/tell.h"

#include "base/hash.h"
#include "grove/types.h"

#define MANAGER "grove-scheduler"
#define UNSCHEDULABLE "Unschedulable"
#define DISRUPTION "DisruptionTarget"
enum { STAGE_WAITING, STAGE_PLACED };

static jval find(const struct obj *gang, const char *type)
{
    return gang ? condition_find(jgetc(obj_status(gang), "conditions"), str_of(type)) : JVAL_ABSENT;
}

bool gang_is_marked(const struct obj *gang)
{
    return str_is(jstr(jgetc(find(gang, DISRUPTION), "status")), "True");
}

bool gang_complains(const struct obj *gang)
{
    return str_is(jstr(jgetc(find(gang, UNSCHEDULABLE), "status")), "True");
}

usec gang_waits_since(const struct obj *gang)
{
    usec since = 0;
    if (!gang_complains(gang) ||
        !time_parse_rfc3339(jstr(jgetc(find(gang, UNSCHEDULABLE), "lastTransitionTime")), &since))
        return 0;
    return since;
}

/* ---- writing ---- */

static void put_now(struct jw *w, const char *key, usec now)
{
    struct strbuf time = STRBUF_INIT(64);
    time_format_rfc3339(now, &time);
    jw_put_str(w, key, strbuf_str(&time));
    strbuf_done(&time);
}

static void begin(struct jw *w, const char *version, const char *kind, const struct obj *o)
{
    jw_init(w);
    jw_object(w);
    jw_put_cstr(w, "apiVersion", version);
    jw_put_cstr(w, "kind", kind);
    jw_put_object(w, "metadata");
    jw_put_str(w, "name", o->name);
    jw_put_str(w, "namespace", o->ns);
    jw_put_str(w, "uid", o->uid);
    jw_end(w);
}

static void put_condition(struct jw *w, const struct obj *o, const char *type, bool is,
                          const char *reason, str message, usec now)
{
    jval old = condition_find(jgetc(obj_status(o), "conditions"), str_of(type));
    bool same = str_is(jstr(jgetc(old, "status")), is ? "True" : "False");
    jw_object(w);
    if (same && j_has(jgetc(old, "lastTransitionTime")))
        jw_put(w, "lastTransitionTime", jgetc(old, "lastTransitionTime"));
    else
        put_now(w, "lastTransitionTime", now);
    jw_put_str(w, "message", message);
    jw_put_cstr(w, "reason", reason);
    jw_put_cstr(w, "status", is ? "True" : "False");
    jw_put_cstr(w, "type", type);
    jw_end(w);
}

static bool is_said(const struct obj *gang, const char *type, bool is, str why)
{
    jval old = find(gang, type);
    if (!is)
        return !str_is(jstr(jgetc(old, "status")), "True");
    return str_is(jstr(jgetc(old, "status")), "True") && str_eq(jstr(jgetc(old, "message")), why);
}

void tell_gang(struct plan *p, const struct world *world, const struct obj *gang,
               const struct verdict *v)
{
    if (!gang)
        return;
    jval score = jgetc(obj_status(gang), "placementScore");
    bool scored = v->score < 0 || jreal(score, -1) == v->score;
    if (is_said(gang, UNSCHEDULABLE, v->waits, v->why) &&
        is_said(gang, DISRUPTION, v->disrupt, v->disrupt_why) && scored)
        return;
    struct jw w;
    begin(&w, "scheduler.grove.io/v1alpha1", "PodGang", gang);
    jw_put_object(&w, "status");
    if (v->score >= 0) {
        jw_key(&w, STR("placementScore"));
        jw_real(&w, v->score);
    } else if (j_has(score)) {
        jw_put(&w, "placementScore", score);
    }
    jw_put_array(&w, "conditions");
    str placed = str_is_empty(v->why) ? STR("no pod that the gang needs waits for a node") : v->why;
    if (v->waits || !j_is_absent(find(gang, UNSCHEDULABLE)) || v->score >= 0)
        put_condition(&w, gang, UNSCHEDULABLE, v->waits, v->waits ? "DoesNotFit" : "Placed", placed,
                      world->now);
    if (v->disrupt || !j_is_absent(find(gang, DISRUPTION)))
        put_condition(
            &w, gang, DISRUPTION, v->disrupt, v->disrupt ? "PreemptionByScheduler" : "RoomWasMade",
            v->disrupt ? v->disrupt_why : STR("the gang is no longer in the way"), world->now);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    (void)plan_apply(p, v->waits || v->disrupt ? STAGE_WAITING : STAGE_PLACED, &kind_pod_gang,
                     gang->ns, gang->name, STR("status"), STR(MANAGER), jw_doc(&w));
}

static str component_of(const struct obj *pod)
{
    str name = jstr(jgetc(obj_spec(pod), "schedulerName"));
    return str_is_empty(name) ? STR("default-scheduler") : name;
}

/* One Event per pod, told anew when the cause changes: its name is the pod's. */
static void tell_event(struct plan *p, const struct world *world, const struct obj *pod, str cause)
{
    struct jw w;
    str name = arena_printf(p->arena, "%.*s.%016llx", STR_ARG(str_sub(pod->name, 0, 230)),
                            (unsigned long long)hash_fnv1a64(pod->uid));
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Event");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", name);
    jw_put_str(&w, "namespace", pod->ns);
    jw_end(&w);
    jw_put_object(&w, "involvedObject");
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Pod");
    jw_put_str(&w, "namespace", pod->ns);
    jw_put_str(&w, "name", pod->name);
    jw_put_str(&w, "uid", pod->uid);
    jw_end(&w);
    jw_put_cstr(&w, "reason", UNSCHEDULABLE);
    jw_put_str(&w, "message", cause);
    jw_put_cstr(&w, "type", "Warning");
    jw_put_object(&w, "source");
    jw_put_str(&w, "component", component_of(pod));
    jw_end(&w);
    jw_put_str(&w, "reportingComponent", component_of(pod));
    jw_put_cstr(&w, "reportingInstance", "");
    put_now(&w, "firstTimestamp", world->now);
    put_now(&w, "lastTimestamp", world->now);
    jw_put_int(&w, "count", 1);
    jw_end(&w);
    (void)plan_apply(p, STAGE_WAITING, &kind_event, pod->ns, name, STR_NONE, STR(MANAGER),
                     jw_doc(&w));
}

void tell_pod(struct plan *p, const struct world *world, const struct obj *pod, str cause)
{
    jval old = condition_find(jgetc(obj_status(pod), "conditions"), STR("PodScheduled"));
    if (str_is(jstr(jgetc(old, "status")), "False") && str_eq(jstr(jgetc(old, "message")), cause))
        return;
    tell_event(p, world, pod, cause);
    struct jw w;
    begin(&w, "v1", "Pod", pod);
    jw_put_object(&w, "status");
    jw_put_array(&w, "conditions");
    put_condition(&w, pod, "PodScheduled", false, UNSCHEDULABLE, cause, world->now);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    (void)plan_apply(p, STAGE_WAITING, &kind_pod, pod->ns, pod->name, STR("status"), STR(MANAGER),
                     jw_doc(&w));
}
