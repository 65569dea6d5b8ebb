/* See findings.h. One function per source; each adds what it finds. */
#include "cli/findings.h"

#include "cli/paint.h"
#include "grove/names.h"
#include "grove/types.h"
#include "grove/wait.h"
#include "operator/termination.h"

enum { MAX_FINDINGS = 200, MAX_ERRORS = 3 };

const char *const finding_states[] = {"going",    "failed",   "stuck",  "degraded", "waiting",
                                      "starting", "updating", "paused", "refused",  NULL};

struct look {
    const struct picture *picture;
    const struct obj *pcs;
    str label; /* the set's name as a label value */
    struct arena *arena;
    struct findings *out;
};

/* A finding to fill in; the last one again when there are too many. */
static struct finding *add(struct look *l, enum finding_state state, unsigned order,
                           const struct obj *about)
{
    struct findings *f = l->out;
    bool full = f->items.len == MAX_FINDINGS;
    struct finding *x = full ? vec_last(&f->items) : vec_push(&f->items);
    if (full)
        vec_done(&x->unblock);
    *x = (struct finding){.state = state, .order = order, .about = about};
    if (about->kind == &kind_pod_gang)
        x->gang = about->name;
    if (about->kind == &kind_pclq) {
        x->gang = obj_label(about, STR(LABEL_PODGANG));
        x->clique = about->name;
    }
    return x;
}

static void unblock(struct finding *f, str how)
{
    *vec_push(&f->unblock) = how;
}

static jval conditions_of(const struct obj *o)
{
    return jgetc(obj_status(o), "conditions");
}

static bool is_true(const struct obj *o, const char *type)
{
    return condition_is_true(conditions_of(o), str_of(type));
}

static str message_of(const struct obj *o, const char *type)
{
    return jstr(jgetc(condition_find(conditions_of(o), str_of(type)), "message"));
}

static int64_t number(jval v, const char *field)
{
    return jint(jget(v, str_of(field)), 0);
}

const char *findings_kind(const struct kind *k)
{
    return k == &kind_pcs    ? "pcs"
           : k == &kind_pcsg ? "pcsg"
           : k == &kind_pclq ? "pclq"
                             : k->singular;
}

str findings_reference(struct arena *a, const struct obj *o)
{
    return arena_printf(a, "%s/%.*s", findings_kind(o->kind), STR_ARG(o->name));
}

bool is_of_set(const struct obj *o, str set)
{
    return str_eq(obj_label(o, STR(LABEL_PART_OF)), set);
}

str template_of_child(const struct obj *child, const struct obj *pcs)
{
    str index = obj_label(child, STR(LABEL_PCS_INDEX));
    size_t skip = pcs->name.len + index.len + 2;
    return child->name.len > skip ? str_sub(child->name, skip, child->name.len) : child->name;
}

/* ---- pods ---- */

static str container_trouble(const struct obj *pod)
{
    static const char *const lists[] = {"initContainerStatuses", "containerStatuses"};
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        for (struct jiter it = jiter(jget(obj_status(pod), str_of(lists[l]))); jnext(&it);) {
            str reason = jstr(jpath(it.value, "state.waiting.reason"));
            if (!str_is_empty(reason) && !str_is(reason, "PodInitializing") &&
                !str_is(reason, "ContainerCreating"))
                return reason;
        }
    }
    return STR_NONE;
}

str pod_state(const struct obj *pod)
{
    jval status = obj_status(pod);
    str phase = jstr(jgetc(status, "phase")), trouble = container_trouble(pod);
    if (pod->deleting)
        return STR("Terminating");
    if (jlen(jgetc(obj_spec(pod), "schedulingGates")) > 0)
        return STR("Gated");
    if (str_is(phase, "Failed") || str_is(phase, "Succeeded"))
        return phase;
    if (!str_is_empty(trouble))
        return trouble;
    if (condition_is_true(jgetc(status, "conditions"), STR("Ready")))
        return STR("Ready");
    if (str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName"))))
        return STR("Pending");
    return str_is(phase, "Running") ? STR("NotReady") : STR("Starting");
}

struct pod_count count_pods(const struct picture *p, str set)
{
    struct pod_count n = {0};
    const struct session_list *cliques = &p->parts[PICTURE_CLIQUES],
                              *pods = &p->parts[PICTURE_PODS];
    for (size_t i = 0; i < cliques->n; i++)
        n.wanted +=
            is_of_set(cliques->items[i], set) ? number(obj_spec(cliques->items[i]), "replicas") : 0;
    for (size_t i = 0; i < pods->n; i++) {
        const struct obj *o = pods->items[i];
        if (!is_of_set(o, set) || o->deleting)
            continue;
        str state = pod_state(o);
        n.exist++;
        n.gated += str_is(state, "Gated");
        n.ready += str_is(state, "Ready");
        n.bound += !str_is_empty(jstr(jgetc(obj_spec(o), "nodeName")));
    }
    return n;
}

/* ---- the set itself ---- */

static void look_at_going(struct look *l)
{
    if (!l->pcs->deleting)
        return;
    struct pod_count n = count_pods(l->picture, l->label);
    struct finding *f = add(l, FINDING_GOING, 0, l->pcs);
    f->verdict =
        arena_printf(l->arena, "%.*s is being deleted, %lld pod%s %s left", STR_ARG(l->pcs->name),
                     (long long)n.exist, paint_plural(n.exist), paint_verb(n.exist, "is", "are"));
    str names = jtext(jgetc(l->pcs->meta, "finalizers"));
    f->constraint = arena_printf(l->arena, "finalizers: %.*s", STR_ARG(names));
}

static void look_at_errors(struct look *l, const struct obj *o)
{
    jval errors = jgetc(obj_status(o), "lastErrors");
    for (struct jiter it = jiter(errors); jnext(&it) && it.index < MAX_ERRORS;) {
        struct finding *f = add(l, FINDING_FAILED, o == l->pcs ? 0 : 1, o);
        f->verdict = jstr(jgetc(it.value, "description"));
        f->constraint = jstr(jgetc(it.value, "code"));
        unblock(f, STR("correct what the message names; it is tried again by itself"));
    }
}

static void look_at_conditions(struct look *l)
{
    for (struct jiter it = jiter(conditions_of(l->pcs)); jnext(&it);) {
        str type = jstr(jgetc(it.value, "type"));
        if (!str_ends(type, STR("Unavailable")) || !str_is(jstr(jgetc(it.value, "status")), "True"))
            continue;
        struct finding *f = add(l, FINDING_WAITING, 0, l->pcs);
        f->verdict = jstr(jgetc(it.value, "message"));
        f->constraint = arena_printf(l->arena, "condition %.*s: %.*s", STR_ARG(type),
                                     STR_ARG(jstr(jgetc(it.value, "reason"))));
        if (str_is(type, "TopologyLevelsUnavailable"))
            unblock(f, STR("create the ClusterTopologyBinding with these levels, or take the "
                           "topologyConstraint out"));
    }
}

static void look_at_update(struct look *l)
{
    jval progress = jgetc(obj_status(l->pcs), "updateProgress");
    if (!j_has(progress) || j_has(jgetc(progress, "updateEndedAt")))
        return;
    jval c = condition_find(conditions_of(l->pcs), STR("Progressing"));
    bool stuck = str_is(jstr(jgetc(c, "reason")), "ProgressDeadlineExceeded");
    bool paused = str_is(jstr(jgetc(c, "reason")), "Paused");
    struct finding *f = add(l,
                            stuck    ? FINDING_STUCK
                            : paused ? FINDING_PAUSED
                                     : FINDING_UPDATING,
                            0, l->pcs);
    f->verdict = arena_printf(l->arena, "%lld of %lld replicas have the new version",
                              (long long)number(obj_status(l->pcs), "updatedReplicas"),
                              (long long)number(obj_spec(l->pcs), "replicas"));
    if (stuck) {
        f->verdict = arena_printf(l->arena, "the update does not go on: %.*s",
                                  STR_ARG(jstr(jgetc(c, "message"))));
        unblock(f, arena_printf(l->arena, "go back: grove rollout undo pcs/%.*s",
                                STR_ARG(l->pcs->name)));
        unblock(f, STR("or apply a corrected manifest"));
    }
    if (paused)
        unblock(f, arena_printf(l->arena, "let it go on: grove rollout resume pcs/%.*s",
                                STR_ARG(l->pcs->name)));
}

/* The operator's first look at a set writes its numbers. */
static void look_at_unseen(struct look *l)
{
    if (l->pcs->deleting || j_has(jgetc(obj_status(l->pcs), "replicas")))
        return;
    struct finding *f = add(l, FINDING_WAITING, 0, l->pcs);
    f->verdict = STR("the operator has not taken up the change yet");
    f->constraint = STR("it does so at once where one runs");
    unblock(f, STR("look whether an operator runs"));
}

/* ---- gangs ---- */

static void look_at_unfit(struct look *l, const struct obj *gang)
{
    str story = message_of(gang, "Unschedulable");
    struct finding *f = add(l, FINDING_WAITING, 1, gang);
    f->verdict =
        arena_printf(l->arena, "gang %.*s does not fit: %.*s", STR_ARG(gang->name), STR_ARG(story));
    f->constraint = story;
}

static void look_at_disrupted(struct look *l, const struct obj *gang)
{
    struct finding *f = add(l, FINDING_DEGRADED, 0, gang);
    f->verdict = arena_printf(l->arena, "gang %.*s makes room for another: %.*s",
                              STR_ARG(gang->name), STR_ARG(message_of(gang, "DisruptionTarget")));
    unblock(f, STR("give it a higher priority class"));
}

/* What else the scheduler says of a gang that runs, or would. */
static const struct {
    const char *type, *what;
} gang_troubles[] = {
    {"InvalidPodReference", "names pods that are not its own"},
    {"TopologyViolated", "is not as close together as it must be"},
};

static void look_at_troubles(struct look *l, const struct obj *gang)
{
    for (size_t i = 0; i < ARRAY_LEN(gang_troubles); i++) {
        const char *type = gang_troubles[i].type;
        if (!is_true(gang, type))
            continue;
        jval c = condition_find(conditions_of(gang), str_of(type));
        struct finding *f = add(l, FINDING_DEGRADED, 1, gang);
        f->verdict = arena_printf(l->arena, "gang %.*s %s: %.*s", STR_ARG(gang->name),
                                  gang_troubles[i].what, STR_ARG(jstr(jgetc(c, "message"))));
        f->constraint =
            arena_printf(l->arena, "condition %s: %.*s", type, STR_ARG(jstr(jgetc(c, "reason"))));
    }
}

static void look_at_gangs(struct look *l)
{
    const struct session_list *gangs = &l->picture->parts[PICTURE_GANGS];
    for (size_t i = 0; i < gangs->n; i++) {
        const struct obj *gang = gangs->items[i];
        if (!is_of_set(gang, l->label))
            continue;
        if (is_true(gang, "Unschedulable"))
            look_at_unfit(l, gang);
        if (is_true(gang, "DisruptionTarget"))
            look_at_disrupted(l, gang);
        look_at_troubles(l, gang);
    }
}

/* ---- cliques ---- */

struct states {
    int64_t exist, gated, pending, starting, failing, not_ready;
    const struct obj *gated_pod, *pending_pod, *starting_pod, *failing_pod, *not_ready_pod;
};

static void count_state(struct states *n, const struct obj *pod)
{
    str state = pod_state(pod);
    if (pod->deleting)
        return;
    n->exist++;
    if (str_is(state, "Ready"))
        return;
    if (str_is(state, "Gated")) {
        n->gated++;
        n->gated_pod = pod;
    } else if (str_is(state, "Pending")) {
        n->pending++;
        n->pending_pod = pod;
    } else if (str_is(state, "Starting")) {
        n->starting++;
        n->starting_pod = pod;
    } else if (str_is(state, "NotReady")) {
        n->not_ready++;
        n->not_ready_pod = pod;
    } else {
        n->failing++;
        n->failing_pod = pod;
    }
}

static str when(struct arena *a, usec deadline, usec now)
{
    struct strbuf b = STRBUF_INIT(64);
    if (deadline <= now)
        return STR("now");
    duration_format_usec((deadline - now) / USEC_PER_SEC * USEC_PER_SEC, &b);
    str text = arena_printf(a, "in %.*s", STR_ARG(strbuf_str(&b)));
    strbuf_done(&b);
    return text;
}

static void look_at_breach(struct look *l, const struct obj *component)
{
    /* What never had its minimum is not degraded: the gang says what it waits for. */
    if (!is_true(component, "MinAvailableBreached") ||
        !(is_true(component, "EverScheduled") || is_true(component, "EverHealthy")))
        return;
    struct finding *f = add(l, FINDING_DEGRADED, 1, component);
    usec due = termination_deadline(l->pcs, component);
    f->verdict = arena_printf(l->arena, "%.*s is below its minimum: %.*s",
                              STR_ARG(findings_reference(l->arena, component)),
                              STR_ARG(message_of(component, "MinAvailableBreached")));
    if (due)
        f->constraint = arena_printf(l->arena, "its gang is made anew %.*s if it stays so",
                                     STR_ARG(when(l->arena, due, l->picture->now)));
}

static void look_at_gated(struct look *l, const struct obj *clique, const struct states *n)
{
    const struct obj *pod = n->gated_pod;
    str gang = obj_label(pod, STR(LABEL_PODGANG)), base = obj_label(pod, STR(LABEL_BASE_PODGANG));
    const struct obj *g = picture_find(l->picture, PICTURE_GANGS, gang);
    const struct obj *b = picture_find(l->picture, PICTURE_GANGS, base);
    struct finding *f = add(l, FINDING_WAITING, 2, clique);
    const char *why = !g ? "its gang does not exist yet" : "not all pods of its gang are created";
    str text = str_of(why);
    if (g && !str_is_empty(base) && !(b && is_true(b, "Scheduled"))) {
        text = arena_printf(l->arena, "base gang %.*s is not on nodes", STR_ARG(base));
        unblock(f, arena_printf(l->arena, "see why that one waits: grove explain podgang/%.*s",
                                STR_ARG(base)));
    } else if (g && is_true(g, "Initialized")) {
        text = STR("its gate has not been lifted yet");
    }
    f->verdict = arena_printf(l->arena, "%lld pod%s of %.*s %s gated: %.*s", (long long)n->gated,
                              paint_plural(n->gated), STR_ARG(clique->name),
                              paint_verb(n->gated, "is", "are"), STR_ARG(text));
    f->constraint =
        STR("pods are let go to the scheduler when their gang is complete, and those of "
            "a scaled gang when the base gang is placed");
}

/* What its pods wait for before they start; empty when nothing of the kind. */
static str startup_text(struct look *l, const struct obj *pod)
{
    struct wait_parent *parents;
    size_t n = wait_of_pod(pod, l->arena, &parents);
    const struct session_list *pods = &l->picture->parts[PICTURE_PODS];
    struct strbuf b = STRBUF_INIT(1 << 16);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < pods->n; k++)
            parents[i].ready +=
                wait_is_of(&parents[i], pods->items[k]) && wait_is_ready(pods->items[k]);
        if (parents[i].ready < parents[i].need)
            strbuf_printf(&b, "%s%.*s (%lld of %lld ready)", b.len ? ", " : "",
                          STR_ARG(parents[i].clique), (long long)parents[i].ready,
                          (long long)parents[i].need);
    }
    str text = arena_str(l->arena, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

static void look_at_starting(struct look *l, const struct obj *clique, const struct states *n)
{
    struct finding *f = add(l, FINDING_STARTING, 0, clique);
    str after = startup_text(l, n->starting_pod);
    if (str_is_empty(after)) {
        f->verdict = arena_printf(l->arena, "%lld pod%s of %.*s %s starting on %s",
                                  (long long)n->starting, paint_plural(n->starting),
                                  STR_ARG(clique->name), paint_verb(n->starting, "is", "are"),
                                  paint_verb(n->starting, "its node", "their nodes"));
        f->order = 1;
        return;
    }
    f->order = 2;
    f->verdict = arena_printf(l->arena, "%lld pod%s of %.*s %s after %.*s", (long long)n->starting,
                              paint_plural(n->starting), STR_ARG(clique->name),
                              paint_verb(n->starting, "starts", "start"), STR_ARG(after));
    f->constraint = STR("startup order: the init container waits until those cliques are ready");
}

static void look_at_failing(struct look *l, const struct obj *clique, const struct states *n)
{
    const struct obj *pod = n->failing_pod;
    struct finding *f = add(l, FINDING_DEGRADED, 2, clique);
    f->verdict = arena_printf(l->arena, "%lld pod%s of %.*s %s: %.*s is %.*s",
                              (long long)n->failing, paint_plural(n->failing),
                              STR_ARG(clique->name), paint_verb(n->failing, "fails", "fail"),
                              STR_ARG(pod->name), STR_ARG(pod_state(pod)));
    unblock(f, arena_printf(l->arena, "look at its log: kubectl logs %.*s --previous",
                            STR_ARG(pod->name)));
}

static void look_at_not_ready(struct look *l, const struct obj *clique, const struct states *n)
{
    const struct obj *pod = n->not_ready_pod;
    jval ready = condition_find(jgetc(obj_status(pod), "conditions"), STR("Ready"));
    str reason = jstr(jgetc(ready, "reason"));
    struct finding *f = add(l, FINDING_DEGRADED, 3, clique);
    f->verdict =
        arena_printf(l->arena, "%lld pod%s of %.*s %s not ready: %.*s on %.*s%s%.*s%s",
                     (long long)n->not_ready, paint_plural(n->not_ready), STR_ARG(clique->name),
                     paint_verb(n->not_ready, "runs and is", "run and are"), STR_ARG(pod->name),
                     STR_ARG(jstr(jgetc(obj_spec(pod), "nodeName"))), reason.len ? " (" : "",
                     STR_ARG(reason), reason.len ? ")" : "");
}

/* Beyond the gang's minimum a pod may wait while the gang runs. */
static void look_at_pending(struct look *l, const struct obj *clique, const struct states *n)
{
    jval c = condition_find(conditions_of(n->pending_pod), STR("PodScheduled"));
    bool mute = !j_has(c) || str_is(jstr(jgetc(c, "reason")), "SchedulingGated");
    struct finding *f = add(l, FINDING_WAITING, 3, clique);
    f->verdict = arena_printf(l->arena, "%lld pod%s of %.*s %s for a node", (long long)n->pending,
                              paint_plural(n->pending), STR_ARG(clique->name),
                              paint_verb(n->pending, "waits", "wait"));
    f->constraint = mute ? arena_printf(l->arena, "no scheduler has said anything of pod %.*s",
                                        STR_ARG(n->pending_pod->name))
                         : jstr(jgetc(c, "message"));
    if (mute)
        unblock(f, STR("look whether a scheduler runs"));
}

static void look_at_clique(struct look *l, const struct obj *clique)
{
    const struct session_list *pods = &l->picture->parts[PICTURE_PODS];
    struct states n = {0};
    int64_t wanted = number(obj_spec(clique), "replicas");
    for (size_t i = 0; i < pods->n; i++) {
        if (str_eq(pods->items[i]->owner_uid, clique->uid))
            count_state(&n, pods->items[i]);
    }
    look_at_errors(l, clique);
    look_at_breach(l, clique);
    if (n.gated)
        look_at_gated(l, clique, &n);
    if (n.starting)
        look_at_starting(l, clique, &n);
    if (n.failing)
        look_at_failing(l, clique, &n);
    if (n.not_ready)
        look_at_not_ready(l, clique, &n);
    if (n.exist < wanted) {
        struct finding *f = add(l, FINDING_STARTING, 0, clique);
        f->verdict = arena_printf(l->arena, "%lld of %lld pods of %.*s exist", (long long)n.exist,
                                  (long long)wanted, STR_ARG(clique->name));
    }
    const struct obj *gang =
        picture_find(l->picture, PICTURE_GANGS, obj_label(clique, STR(LABEL_PODGANG)));
    if (n.pending && !(gang && is_true(gang, "Unschedulable")))
        look_at_pending(l, clique, &n);
}

static void look_at_components(struct look *l)
{
    const struct session_list *groups = &l->picture->parts[PICTURE_GROUPS];
    const struct session_list *cliques = &l->picture->parts[PICTURE_CLIQUES];
    for (size_t i = 0; i < groups->n; i++) {
        if (!is_of_set(groups->items[i], l->label))
            continue;
        look_at_errors(l, groups->items[i]);
        look_at_breach(l, groups->items[i]);
    }
    for (size_t i = 0; i < cliques->n; i++) {
        if (is_of_set(cliques->items[i], l->label) && !cliques->items[i]->deleting)
            look_at_clique(l, cliques->items[i]);
    }
}

/* ---- events ---- */

static void look_at_refusals(struct look *l)
{
    const struct session_list *events = &l->picture->parts[PICTURE_EVENTS];
    for (size_t i = 0; i < events->n; i++) {
        jval e = obj_root(events->items[i]);
        if (!str_is(jstr(jgetc(e, "reason")), "DisruptionRefused"))
            continue;
        const struct obj *about =
            picture_find_any(l->picture, jstr(jpath(e, "involvedObject.name")));
        if (!about || (about != l->pcs && !is_of_set(about, l->label)))
            continue;
        struct finding *f = add(l, FINDING_REFUSED, 0, about);
        f->verdict = jstr(jgetc(e, "message"));
        f->constraint = STR("the availability budget: it is tried again when something gets ready");
    }
}

static int compare(const void *a, const void *b)
{
    const struct finding *x = a, *y = b;
    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    return str_cmp(x->about->name, y->about->name);
}

void findings_of_set(const struct picture *p, const struct obj *pcs, struct arena *a,
                     struct findings *ret)
{
    struct look l = {
        .picture = p, .pcs = pcs, .label = name_label(a, pcs->name), .arena = a, .out = ret};
    *ret = (struct findings){.arena = a};
    look_at_going(&l);
    look_at_errors(&l, pcs);
    look_at_unseen(&l);
    look_at_conditions(&l);
    look_at_update(&l);
    look_at_gangs(&l);
    look_at_components(&l);
    look_at_refusals(&l);
    vec_sort(&ret->items, compare);
}

void findings_done(struct findings *f)
{
    for (size_t i = 0; i < f->items.len; i++)
        vec_done(&f->items.p[i].unblock);
    vec_done(&f->items);
}
