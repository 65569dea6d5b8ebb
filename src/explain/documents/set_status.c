/* See set_status.h. */
#include "explain/documents/set_status.h"

#include "grove/names.h"
#include "grove/types.h"

enum { MAX_ROLES = 256 };

static int64_t number(jval v, const char *field)
{
    return jint(jget(v, str_of(field)), 0);
}

void set_status_put_verdict(struct jw *w, const struct picture *p, const struct obj *pcs,
                            const struct findings *f, struct arena *a)
{
    struct pod_count n = count_pods(p, name_label(a, pcs->name));
    int64_t available = number(obj_status(pcs), "availableReplicas");
    int64_t desired = number(obj_spec(pcs), "replicas");
    jw_put_object(w, "verdict");
    if (f->items.len > 0) {
        size_t more;
        (void)findings_speaks(f, NULL, 0, &more);
        jw_put_cstr(w, "state", finding_states[f->items.p[0].state]);
        jw_put_str(w, "text", findings_text(a, &f->items.p[0], more));
    } else {
        jw_put_cstr(w, "state",
                    desired == 0           ? "stopped"
                    : available >= desired ? "available"
                                           : "starting");
        jw_put_str(w, "text",
                   arena_printf(a, "%lld of %lld replicas, %lld of %lld pods ready",
                                (long long)available, (long long)desired, (long long)n.ready,
                                (long long)n.wanted));
    }
    jw_end(w);
}

static void put_pods(struct jw *w, struct pod_count n)
{
    jw_put_object(w, "pods");
    jw_put_int(w, "desired", n.wanted);
    jw_put_int(w, "exist", n.exist);
    jw_put_int(w, "gated", n.gated);
    jw_put_int(w, "onNodes", n.bound);
    jw_put_int(w, "ready", n.ready);
    jw_end(w);
}

/* Objects of one kind that play the same part, added up. */
struct part {
    str name;
    int64_t desired, ready, updated, min, scheduled;
};

static struct part *find_part(struct part *parts, size_t *n, str name)
{
    for (size_t i = 0; i < *n; i++) {
        if (str_eq(parts[i].name, name))
            return &parts[i];
    }
    if (*n == MAX_ROLES)
        return &parts[MAX_ROLES - 1];
    parts[*n] = (struct part){.name = name};
    return &parts[(*n)++];
}

/* Cliques and groups count what is as they are to be, which may be of an older version: those that
 * wait for their turn, or that a partition holds. Of the set's version are those that say so, and
 * what is new in those that are on their way to it. */
static int64_t updated_of(jval status, str version)
{
    str its = jstr(jgetc(status, "currentPodCliqueSetGenerationHash"));
    str next = jstr(jpath(status, "updateProgress.podCliqueSetGenerationHash"));
    bool of_it = str_is_empty(version) || str_is_empty(its) || str_eq(its, version);
    return of_it || str_eq(next, version) ? number(status, "updatedReplicas") : 0;
}

/* Pods that are ready, counted where the whole is counted: what cliques say of themselves is
 * written a moment later, and one screen does not say two things. */
static int64_t ready_pods(const struct picture *p, str label, str role)
{
    int64_t n = 0;
    for (size_t i = 0; i < p->parts[PICTURE_PODS].n; i++) {
        const struct obj *o = p->parts[PICTURE_PODS].items[i];
        n += is_of_set(o, label) && !o->deleting && str_eq(obj_label(o, STR(LABEL_ROLE)), role) &&
             str_is(pod_state(o), "Ready");
    }
    return n;
}

static void put_parts(struct jw *w, const struct picture *p, const struct obj *pcs, str label,
                      enum picture_part which, struct arena *a)
{
    bool cliques = which == PICTURE_CLIQUES;
    struct part *parts = arena_array(a, struct part, MAX_ROLES);
    str version = jstr(jgetc(obj_status(pcs), "currentGenerationHash"));
    size_t n = 0;
    for (size_t i = 0; i < p->parts[which].n; i++) {
        const struct obj *o = p->parts[which].items[i];
        if (!is_of_set(o, label))
            continue;
        struct part *x = find_part(
            parts, &n, cliques ? obj_label(o, STR(LABEL_ROLE)) : template_of_child(o, pcs));
        jval status = obj_status(o);
        x->desired += number(obj_spec(o), "replicas");
        x->min += number(obj_spec(o), "minAvailable");
        x->ready += cliques ? 0 : number(status, "availableReplicas");
        x->updated += updated_of(status, version);
        x->scheduled += number(status, "scheduledReplicas");
    }
    jw_put_array(w, cliques ? "roles" : "scalingGroups");
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_put_str(w, "name", parts[i].name);
        jw_put_int(w, "desired", parts[i].desired);
        jw_put_int(w, "minAvailable", parts[i].min);
        jw_put_int(w, "scheduled", parts[i].scheduled);
        jw_put_int(w, "ready", cliques ? ready_pods(p, label, parts[i].name) : parts[i].ready);
        jw_put_int(w, "updated", parts[i].updated);
        jw_end(w);
    }
    jw_end(w);
}

static void put_gang(struct jw *w, const struct pod_groups *by_gang, const struct obj *gang,
                     struct arena *a)
{
    jval status = obj_status(gang);
    struct session_list its = pod_groups_get(by_gang, name_label(a, gang->name));
    int64_t pods = 0, on_nodes = 0;
    for (size_t i = 0; i < its.n; i++) {
        const struct obj *o = its.items[i];
        if (o->deleting)
            continue;
        pods++;
        on_nodes += !str_is_empty(jstr(jgetc(obj_spec(o), "nodeName")));
    }
    jval unfit = condition_find(jgetc(status, "conditions"), STR("Unschedulable"));
    jw_object(w);
    jw_put_str(w, "name", gang->name);
    jw_put_str(w, "phase", jstr(jgetc(status, "phase")));
    jw_put_int(w, "pods", pods);
    jw_put_int(w, "onNodes", on_nodes);
    jw_put_int(w, "minimum", number(status, "minimumPods"));
    jw_put_int(w, "readyPods", number(status, "readyPods"));
    jw_put_bool(w, "ready", condition_is_true(jgetc(status, "conditions"), STR("Ready")));
    if (j_has(jgetc(status, "placementScore")))
        jw_put(w, "placementScore", jgetc(status, "placementScore"));
    if (str_is(jstr(jgetc(unfit, "status")), "True"))
        jw_put_str(w, "waits", jstr(jgetc(unfit, "message")));
    jw_end(w);
}

static bool is_ready(const struct obj *gang)
{
    return condition_is_true(jgetc(obj_status(gang), "conditions"), STR("Ready"));
}

/* Where not all are told, those that are not ready come first. */
static void put_gangs(struct jw *w, const struct picture *p, str label, size_t most,
                      struct arena *a)
{
    struct session_list gangs = picture_counted(p, PICTURE_GANGS, a);
    struct pod_groups by_gang;
    size_t n = 0, told = 0;
    for (size_t i = 0; i < gangs.n; i++) {
        if (is_of_set(gangs.items[i], label))
            gangs.items[n++] = gangs.items[i];
    }
    bool all = most == 0 || n <= most;
    pod_groups_init(&by_gang, p, pod_gang_label, a);
    jw_put_array(w, "gangs");
    for (int pass = 0; pass < (all ? 1 : 2); pass++) {
        for (size_t i = 0; i < n && (all || told < most); i++) {
            if (!all && is_ready(gangs.items[i]) != (pass == 1))
                continue;
            put_gang(w, &by_gang, gangs.items[i], a);
            told++;
        }
    }
    jw_end(w);
    if (!all)
        jw_put_int(w, "moreGangs", (int64_t)(n - told));
    pod_groups_done(&by_gang);
}

static void put_findings(struct jw *w, const struct findings *f, size_t most, struct arena *a)
{
    size_t told = 0;
    jw_put_array(w, "findings");
    for (size_t i = 0; i < f->items.len && (most == 0 || told < most); i++) {
        const struct finding *x = &f->items.p[i];
        size_t more;
        if (!findings_speaks(f, NULL, i, &more))
            continue;
        told++;
        jw_object(w);
        jw_put_cstr(w, "state", finding_states[x->state]);
        jw_put_str(w, "object", findings_reference(a, x->about));
        jw_put_str(w, "text", findings_text(a, x, more));
        jw_put_int(w, "alike", (int64_t)more);
        jw_end(w);
    }
    jw_end(w);
}

/* What an update would say of itself: how, how far, and whether somebody holds it. */
static void put_update(struct jw *w, const struct obj *pcs)
{
    str type = jstr(jpath(obj_spec(pcs), "updateStrategy.type"));
    jw_put_str(w, "strategy", type.len ? type : STR("RollingRecreate"));
    jw_put_bool(w, "paused", str_is(obj_annotation(pcs, STR(ANNOTATION_PAUSED)), "true"));
    jw_put(w, "progress", jgetc(obj_status(pcs), "updateProgress"));
}

void set_status_put(struct jw *w, const struct picture *p, const struct obj *pcs, size_t most,
                    struct arena *a)
{
    struct findings f;
    str label = name_label(a, pcs->name);
    findings_of_set(p, pcs, a, &f);
    jw_object(w);
    jw_put_str(w, "name", pcs->name);
    jw_put_str(w, "phase", jstr(jgetc(obj_status(pcs), "phase")));
    set_status_put_verdict(w, p, pcs, &f, a);
    jw_put_object(w, "replicas");
    jw_put_int(w, "desired", number(obj_spec(pcs), "replicas"));
    jw_put_int(w, "available", number(obj_status(pcs), "availableReplicas"));
    jw_put_int(w, "updated", number(obj_status(pcs), "updatedReplicas"));
    jw_end(w);
    put_pods(w, count_pods(p, label));
    put_parts(w, p, pcs, label, PICTURE_GROUPS, a);
    put_parts(w, p, pcs, label, PICTURE_CLIQUES, a);
    put_update(w, pcs);
    put_gangs(w, p, label, most, a);
    put_findings(w, &f, most, a);
    jw_put(w, "conditions", jgetc(obj_status(pcs), "conditions"));
    jw_end(w);
    findings_done(&f);
}
