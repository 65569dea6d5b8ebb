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

/* ---- why ---- */

/* What the nodes of the domain lack for one more pod than they take. */
struct lack {
    size_t nodes, refused, lacking;
    size_t resource;
};

static struct lack count_lack(struct tables *t, int32_t cls, int32_t tree, int32_t domain)
{
    struct lack l = {0};
    size_t lacking[RES_MAX] = {0};
    const struct tclass *k = NULL;
    for (size_t i = 0; i < t->class_list.len && !k; i++)
        k = t->class_list.p[i]->cls == cls ? t->class_list.p[i] : NULL;
    struct demand d = {0};
    str why;
    if (k)
        (void)snapshot_demand(&t->snap, k->model, &d, &why);
    const int32_t *nodes = core_nodes_in(t->core, tree, domain, &l.nodes);
    for (size_t i = 0; i < l.nodes && k; i++) {
        if (!node_admits(&t->snap.nodes.p[nodes[i]], k->model)) {
            l.refused++;
            continue;
        }
        int64_t slots = core_slots(t->core, cls, nodes[i]);
        for (size_t r = 0; r < t->snap.n_resources; r++) {
            int64_t free = core_free_of(t->core, nodes[i], (int32_t)r);
            lacking[r] += d.amount[r] > 0 && free - slots * d.amount[r] < d.amount[r];
        }
    }
    l.resource = RES_PODS;
    for (size_t r = 0; r < t->snap.n_resources; r++) {
        if (lacking[r] > lacking[l.resource])
            l.resource = r;
    }
    l.lacking = lacking[l.resource];
    return l;
}

static str scope_name(const struct ask *q, int32_t scope, struct arena *a)
{
    if (scope == 0)
        return q->n_groups == 1 ? q->groups[0].name : STR("the gang");
    if ((size_t)scope <= q->n_bundles)
        return q->bundle_names[scope - 1];
    size_t leaf = (size_t)scope - 1 - q->n_bundles;
    (void)a;
    return leaf < q->core.n_leaves ? q->groups[q->leaf_group[leaf]].name : STR("the gang");
}

static str level_name(const struct tables *t, int32_t tree, int level)
{
    const struct ttree *x = tables_tree(t, tree);
    return level > x->n_levels ? STR("kubernetes.io/hostname") : x->keys[level - 1];
}

static str lack_text(const struct tables *t, const struct lack *l, struct arena *a)
{
    if (l->refused == l->nodes)
        return arena_printf(a, "none of %zu nodes admits it (taints, selector or readiness)",
                            l->nodes);
    return arena_printf(a, "%zu of %zu nodes lack %.*s, %zu do not admit it", l->lacking, l->nodes,
                        STR_ARG(t->snap.resources[l->resource]), l->refused);
}

void tell_reasons(const struct ask *q, struct tables *t, const struct core_cert *cert,
                  struct arena *a, struct reasons *ret)
{
    if (!str_is_empty(q->wrong)) {
        ret->story = ret->cause = q->wrong;
        return;
    }
    struct lack l = count_lack(t, cert->cls, q->tree, cert->domain);
    str name = scope_name(q, cert->scope, a), lacks = lack_text(t, &l, a);
    str where = cert->level > 0
                    ? arena_printf(a, " in one %.*s", STR_ARG(level_name(t, q->tree, cert->level)))
                    : STR_NONE;
    str what =
        l.refused == l.nodes ? STR("a node that admits them") : t->snap.resources[l.resource];
    if (cert->why == CORE_TOO_FEW && cert->level > 0)
        ret->story = arena_printf(
            a, "%.*s needs room for %d pods%.*s; the best, %.*s, has room for %d: %.*s",
            STR_ARG(name), cert->need, STR_ARG(where),
            STR_ARG(tables_domain_name(t, q->tree, cert->domain, a)), cert->best, STR_ARG(lacks));
    else if (cert->why == CORE_TOO_FEW)
        ret->story = arena_printf(a, "%.*s: %d of the %d pods it needs fit; for the next, %.*s",
                                  STR_ARG(name), cert->best, cert->need, STR_ARG(lacks));
    else
        ret->story = arena_printf(a, "each part fits by itself, not all of them together%.*s%s",
                                  STR_ARG(where),
                                  cert->why == CORE_BUDGET ? " (the search was given up)" : "");
    ret->cause = cert->why == CORE_TOO_FEW
                     ? arena_printf(a, "%.*s: not enough %.*s%.*s", STR_ARG(name), STR_ARG(what),
                                    STR_ARG(where))
                     : arena_printf(a, "its parts fit, but not together%.*s", STR_ARG(where));
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
