/* Conditions and Events; see tell.h. */
#include "sched/model/tell.h"

#include "base/hash.h"
#include "grove/types.h"

#define MANAGER "grove-scheduler"
#define UNSCHEDULABLE "Unschedulable"
enum { STAGE_WAITING, STAGE_PLACED };

/* By number of the word. */
static const struct condition_words {
    const char *type, *reason, *other_reason, *otherwise;
} words[N_WORDS] = {
    [WORD_WAITS] = {.type = UNSCHEDULABLE,
                    .reason = "DoesNotFit",
                    .other_reason = "Placed",
                    .otherwise = "no pod that the gang needs waits for a node"},
    [WORD_DISRUPT] = {.type = "DisruptionTarget",
                      .reason = "PreemptionByScheduler",
                      .other_reason = "RoomWasMade",
                      .otherwise = "the gang is no longer in the way"},
    [WORD_MEMBERS] = {.type = "InvalidPodReference",
                      .reason = "ReferencesDisagree",
                      .other_reason = "ReferencesAgree",
                      .otherwise = "the pods it names are its own"},
    [WORD_TOPOLOGY] = {.type = "TopologyViolated",
                       .reason = "OverSeveralDomains",
                       .other_reason = "InOneDomain",
                       .otherwise = "what must be together is together"},
};

static jval find(const struct obj *gang, const char *type)
{
    return gang ? condition_find(jgetc(obj_status(gang), "conditions"), str_of(type)) : JVAL_ABSENT;
}

bool gang_says(const struct obj *gang, int word)
{
    return str_is(jstr(jgetc(find(gang, words[word].type), "status")), "True");
}

bool gang_is_marked(const struct obj *gang)
{
    return gang_says(gang, WORD_DISRUPT);
}

bool gang_complains(const struct obj *gang)
{
    return gang_says(gang, WORD_WAITS);
}

bool gang_is_trimmed(const struct obj *gang)
{
    return gang_is_marked(gang) &&
           str_is(jstr(jgetc(find(gang, words[WORD_DISRUPT].type), "reason")),
                  "TrimmedByScheduler");
}

bool pod_is_trimmed(const struct obj *pod)
{
    jval c = condition_find(jgetc(obj_status(pod), "conditions"), STR("DisruptionTarget"));
    return str_is(jstr(jgetc(c, "status")), "True") &&
           str_is(jstr(jgetc(c, "reason")), words[WORD_DISRUPT].reason);
}

usec gang_said_since(const struct world *w, const struct obj *gang, int word)
{
    usec since = 0;
    jval c = find(gang, words[word].type);
    if (!gang_says(gang, word) || !time_parse_rfc3339(jstr(jgetc(c, "lastTransitionTime")), &since))
        return 0;
    return world_moment(w, since);
}

usec gang_waits_since(const struct world *w, const struct tgang *g)
{
    usec since = 0;
    if (!g->single || list_is_empty(&g->pods))
        return gang_said_since(w, g->obj, WORD_WAITS);
    const struct obj *pod = list_entry(g->pods.next, struct tpod, link)->obj;
    jval c = condition_find(jgetc(obj_status(pod), "conditions"), STR("PodScheduled"));
    bool waits = str_is(jstr(jgetc(c, "status")), "False") &&
                 str_is(jstr(jgetc(c, "reason")), UNSCHEDULABLE);
    if (!waits || !time_parse_rfc3339(jstr(jgetc(c, "lastTransitionTime")), &since))
        return 0;
    return world_moment(w, since);
}

/* ---- writing ---- */

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
        jw_put_time(w, "lastTransitionTime", now);
    jw_put_str(w, "message", message);
    jw_put_cstr(w, "reason", reason);
    jw_put_cstr(w, "status", is ? "True" : "False");
    jw_put_cstr(w, "type", type);
    jw_end(w);
}

static const char *reason_of(const struct word *w, int word)
{
    return !w->is ? words[word].other_reason : w->reason ? w->reason : words[word].reason;
}

static bool is_said(const struct obj *gang, const struct word *w, int word)
{
    if (!w->known || !w->is)
        return !w->known || !gang_says(gang, word);
    jval old = find(gang, words[word].type);
    return gang_says(gang, word) && str_eq(jstr(jgetc(old, "message")), w->why) &&
           str_is(jstr(jgetc(old, "reason")), reason_of(w, word));
}

/* Everything we ever said of it: what an apply leaves out goes. */
static void put_word(struct jw *w, const struct obj *gang, const struct verdict *v, int word,
                     usec now)
{
    const struct word *x = &v->words[word];
    jval old = find(gang, words[word].type);
    if (!x->known) {
        if (!j_is_absent(old))
            jw_val(w, old);
        return;
    }
    if (!x->is && j_is_absent(old) && (word != WORD_WAITS || v->score < 0))
        return;
    put_condition(w, gang, words[word].type, x->is, reason_of(x, word),
                  x->is || !str_is_empty(x->why) ? x->why : str_of(words[word].otherwise), now);
}

bool tell_is_told(const struct plan *p, const struct obj *gang)
{
    for (size_t i = p->writes.len; i-- > 0;) {
        const struct plan_write *w = &p->writes.p[i];
        if (w->kind == &kind_pod_gang && str_eq(w->name, gang->name) && str_eq(w->ns, gang->ns))
            return true;
    }
    return false;
}

static bool must_go(const struct tpod *p)
{
    return p->node != CORE_NONE && !p->obj->deleting;
}

static void put_disrupted(struct jw *w, const struct tgang *g)
{
    size_t n = 0;
    list_foreach (it, &g->pods)
        n += must_go(list_entry(it, struct tpod, link));
    if (n > DISRUPTED_MAX)
        return;
    jw_put_array(w, "disruptedPods");
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        if (!must_go(p))
            continue;
        jw_object(w);
        jw_put_str(w, "name", p->obj->name);
        jw_put_str(w, "uid", p->obj->uid);
        jw_end(w);
    }
    jw_end(w);
}

/* They are named as long as they are asked to go. */
static void put_targets(struct jw *w, const struct obj *gang, const struct verdict *v)
{
    const struct word *x = &v->words[WORD_DISRUPT];
    jval old = jgetc(obj_status(gang), "disruptedPods");
    if (!x->known && jlen(old) > 0)
        jw_put(w, "disruptedPods", old);
    else if (x->known && x->is && v->goes)
        put_disrupted(w, v->goes);
}

static void put_numbers(struct jw *w, const struct obj *gang, const struct verdict *v)
{
    jval score = jgetc(obj_status(gang), "placementScore");
    jval kept = jgetc(obj_status(gang), "reservations");
    if (v->score >= 0) {
        jw_key(w, STR("placementScore"));
        jw_real(w, v->score);
    } else if (j_has(score)) {
        jw_put(w, "placementScore", score);
    }
    if (v->kept_known || jlen(kept) > 0)
        jw_put(w, "reservations", v->kept_known ? v->kept : kept);
    const struct word *waits = &v->words[WORD_WAITS];
    jval facts = waits->known ? v->facts : jgetc(obj_status(gang), "unschedulable");
    if (j_has(facts) && (!waits->known || waits->is))
        jw_put(w, "unschedulable", facts);
}

void tell_gang(struct plan *p, const struct world *world, const struct obj *gang,
               const struct verdict *v)
{
    if (!gang)
        return;
    jval score = jgetc(obj_status(gang), "placementScore");
    bool said = !v->kept_known && (v->score < 0 || jreal(score, -1) == v->score), bad = false;
    /* The document says what the words say: it changes with them. */
    said = said && (!v->words[WORD_WAITS].is || j_has(jgetc(obj_status(gang), "unschedulable")));
    for (int i = 0; i < N_WORDS; i++) {
        said = said && is_said(gang, &v->words[i], i);
        bad = bad || (v->words[i].known && v->words[i].is);
    }
    if (said)
        return;
    struct jw w;
    begin(&w, "scheduler.grove.io/v1alpha1", "PodGang", gang);
    jw_put_object(&w, "status");
    put_numbers(&w, gang, v);
    put_targets(&w, gang, v);
    jw_put_array(&w, "conditions");
    for (int i = 0; i < N_WORDS; i++)
        put_word(&w, gang, v, i, world->now);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    (void)plan_apply(p, bad ? STAGE_WAITING : STAGE_PLACED, &kind_pod_gang, gang->ns, gang->name,
                     STR("status"), STR(MANAGER), jw_doc(&w));
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
    jw_put_time(&w, "firstTimestamp", world->now);
    jw_put_time(&w, "lastTimestamp", world->now);
    jw_put_int(&w, "count", 1);
    jw_end(&w);
    (void)plan_apply(p, STAGE_WAITING, &kind_event, pod->ns, name, STR_NONE, STR(MANAGER),
                     jw_doc(&w));
}

/* Under a name of its own, so that it leaves alone what else we said of the pod. */
void tell_trim(struct plan *p, const struct world *world, const struct obj *pod, bool is, str why)
{
    const struct condition_words *x = &words[WORD_DISRUPT];
    struct jw w;
    begin(&w, "v1", "Pod", pod);
    jw_put_object(&w, "status");
    jw_put_array(&w, "conditions");
    put_condition(&w, pod, x->type, is, is ? x->reason : x->other_reason, why, world->now);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    (void)plan_apply(p, STAGE_WAITING, &kind_pod, pod->ns, pod->name, STR("status"),
                     STR(MANAGER "-room"), jw_doc(&w));
}

static bool is_nominated_by_us(const struct obj *pod)
{
    for (struct jiter it = jiter(jpath(obj_root(pod), "metadata.managedFields")); jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "manager")), MANAGER "-nominated"))
            return true;
    }
    return false;
}

void tell_nominated(struct plan *p, const struct obj *pod, str node)
{
    str now = jstr(jgetc(obj_status(pod), "nominatedNodeName"));
    if (str_eq(now, node) || (str_is_empty(node) && !is_nominated_by_us(pod)))
        return;
    struct jw w;
    begin(&w, "v1", "Pod", pod);
    jw_put_object(&w, "status");
    if (!str_is_empty(node))
        jw_put_str(&w, "nominatedNodeName", node);
    jw_end(&w);
    jw_end(&w);
    (void)plan_apply(p, str_is_empty(node) ? STAGE_PLACED : STAGE_WAITING, &kind_pod, pod->ns,
                     pod->name, STR("status"), STR(MANAGER "-nominated"), jw_doc(&w));
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

const char *why_name(const struct tgang *g)
{
    return g->single ? g->key + 1 : g->key;
}
