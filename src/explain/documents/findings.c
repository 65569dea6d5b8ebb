/* See findings.h. One function per source; each adds what it finds. */
#include "explain/documents/findings.h"

#include "base/timefmt.h"
#include "explain/documents/paint.h"
#include "explain/documents/pod_trouble.h"
#include "explain/documents/unfit.h"
#include "grove/going.h"
#include "grove/names.h"
#include "grove/termination_backoff.h"
#include "grove/types.h"
#include "grove/wait.h"

enum { MAX_FINDINGS = 200, MAX_ERRORS = 3, MAX_NAMED = 3 };
#define LINGERS_AFTER (10 * USEC_PER_SEC)

const char *const finding_states[] = {"going",   "failed",    "stuck",    "degraded",
                                      "waiting", "starting",  "updating", "paused",
                                      "refused", "lingering", NULL};

struct look {
    const struct picture *picture;
    const struct obj *pcs;
    str label; /* the set's name as a label value */
    struct pod_groups by_owner;
    struct pod_warnings warnings;
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
        x->gang = picture_gang_of(l->picture, about);
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

/* Numbers of the API have 32 bits; a sum over larger ones would leave the range. */
static int64_t number(jval v, const char *field)
{
    return MIN(MAX(jint(jget(v, str_of(field)), 0), INT32_MIN), INT32_MAX);
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
    bool group = child->kind == &kind_pcsg;
    jval list = jpath(obj_root(pcs),
                      group ? "spec.template.podCliqueScalingGroups" : "spec.template.cliques");
    for (struct jiter it = jiter(list); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if (name_index(child->name, pcs->name, name) >= 0)
            return name;
    }
    /* The template has it no more. */
    str index = obj_label(child, STR(LABEL_PCS_INDEX));
    size_t skip = pcs->name.len + index.len + 2;
    bool own = child->name.len > skip && str_starts(child->name, pcs->name);
    return own ? str_sub(child->name, skip, child->name.len) : child->name;
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

/* "finalizers: a, b"; empty when there are none. */
static str finalizers_text(const struct obj *o, struct arena *a)
{
    str text = STR_NONE;
    for (struct jiter it = jiter(jgetc(o->meta, "finalizers")); jnext(&it);) {
        str name = jstr(it.value);
        if (name.len)
            text = arena_printf(a, "%.*s%s%.*s", STR_ARG(text),
                                text.len ? ", " : "finalizers: ", STR_ARG(name));
    }
    return text;
}

static void look_at_going(struct look *l)
{
    if (!l->pcs->deleting)
        return;
    struct pod_count n = count_pods(l->picture, l->label);
    struct finding *f = add(l, FINDING_GOING, 0, l->pcs);
    f->verdict =
        arena_printf(l->arena, "%.*s is being deleted; %lld pod%s %s left", STR_ARG(l->pcs->name),
                     (long long)n.exist, paint_plural(n.exist), paint_verb(n.exist, "is", "are"));
    f->constraint = finalizers_text(l->pcs, l->arena);
    for (struct jiter it = jiter(jgetc(l->pcs->meta, "finalizers")); jnext(&it);)
        unblock(f, str_starts(jstr(it.value), STR("grove.io/"))
                       ? STR("the operator removes its finalizer when everything is gone; if that "
                             "takes long, check that an operator is running")
                       : arena_printf(l->arena, "whoever added the finalizer %.*s must remove it",
                                      STR_ARG(jstr(it.value))));
}

/* What the API server said, and before it what was tried, as the operator puts it. */
static str cut_cause(str description, str *ret_what)
{
    ptrdiff_t at = str_find(description, STR(", cause: "));
    *ret_what = at < 0 ? STR_NONE : str_sub(description, 0, (size_t)at);
    return at < 0 ? description
                  : str_sub(description, (size_t)at + strlen(", cause: "), description.len);
}

/* The same without the names of single objects, which stand in quotes. */
static str unnamed(struct arena *a, str text)
{
    struct strbuf b = STRBUF_INIT(1 << 16);
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] == '"')
            quoted = !quoted;
        else if (!quoted)
            strbuf_add_char(&b, text.p[i]);
    }
    str ret = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return ret;
}

/* What one does about what an API server refuses, by words it uses for it. */
static const struct {
    const char *words, *how;
} refusals[] = {
    {"exceeded quota",
     "use less of what the quota counts, or raise it: kubectl describe resourcequota"},
    {"failed calling webhook",
     "restore the service behind that webhook, or delete its configuration: kubectl get "
     "validatingwebhookconfigurations,mutatingwebhookconfigurations"},
    {"denied the request", "do what the webhook or policy asks for, or ask whoever maintains it"},
    {"is forbidden: User",
     "give the operator that permission again: grove manifests prints its roles"},
    {"no answer from the API server", "check that the API server is healthy"},
    {"the name belongs to", "rename the set, or remove the other object"},
};

static void look_at_errors(struct look *l, const struct obj *o)
{
    jval errors = jgetc(obj_status(o), "lastErrors");
    for (struct jiter it = jiter(errors); jnext(&it) && it.index < MAX_ERRORS;) {
        struct finding *f = add(l, FINDING_FAILED, o == l->pcs ? 0 : 1, o);
        str code = jstr(jgetc(it.value, "code"));
        str what, cause = cut_cause(jstr(jgetc(it.value, "description")), &what);
        size_t i = 0;
        f->constraint = what.len ? what : code;
        f->verdict = arena_printf(l->arena, "%.*s: %.*s", STR_ARG(findings_reference(l->arena, o)),
                                  STR_ARG(cause.len ? cause : f->constraint));
        f->alike =
            arena_printf(l->arena, "%.*s %.*s", STR_ARG(code), STR_ARG(unnamed(l->arena, cause)));
        while (i < ARRAY_LEN(refusals) && str_find(cause, str_of(refusals[i].words)) < 0)
            i++;
        if (i < ARRAY_LEN(refusals))
            unblock(f, str_of(refusals[i].how));
        else
            unblock(f, STR("correct what the message names"));
        unblock(f, STR("it is retried automatically"));
    }
}

/* What one does about conditions of a set, by their reasons. */
static const struct {
    const char *reason, *how;
} set_remedies[] = {
    {"ClusterTopologyLevelsUnavailable",
     "add the level to the ClusterTopologyBinding, or remove the topologyConstraint; until then it "
     "is not enforced"},
    {"ClusterTopologyNotFound",
     "create it, or remove the topologyConstraint; until then it is not enforced"},
    {"TopologyNameMissing",
     "set topologyName, or remove the topologyConstraint; until then it is not enforced"},
    {"ComputeDomainKindMissing",
     "install NVIDIA's DRA driver, or set the annotation grove.io/mnnvl-group to none"},
};

/* Unknown is as bad as True here: what it waits for is not even there. */
static void look_at_conditions(struct look *l)
{
    for (struct jiter it = jiter(conditions_of(l->pcs)); jnext(&it);) {
        str type = jstr(jgetc(it.value, "type")), status = jstr(jgetc(it.value, "status"));
        str reason = jstr(jgetc(it.value, "reason")), message = jstr(jgetc(it.value, "message"));
        if (!str_ends(type, STR("Unavailable")) ||
            !(str_is(status, "True") || str_is(status, "Unknown")))
            continue;
        struct finding *f = add(l, FINDING_WAITING, 0, l->pcs);
        f->constraint =
            arena_printf(l->arena, "condition %.*s: %.*s", STR_ARG(type), STR_ARG(reason));
        f->verdict = message.len ? message : f->constraint;
        for (size_t i = 0; i < ARRAY_LEN(set_remedies); i++) {
            if (str_is(reason, set_remedies[i].reason))
                unblock(f, str_of(set_remedies[i].how));
        }
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
        str why = jstr(jgetc(c, "message"));
        f->verdict = arena_printf(l->arena, "the update makes no progress: %.*s",
                                  STR_ARG(why.len ? why : f->verdict));
        unblock(f, arena_printf(l->arena, "go back: grove rollout undo pcs/%.*s",
                                STR_ARG(l->pcs->name)));
        unblock(f, STR("or apply a corrected manifest"));
    }
    if (paused)
        unblock(f, arena_printf(l->arena, "resume it: grove rollout resume pcs/%.*s",
                                STR_ARG(l->pcs->name)));
}

/* Nothing about a set is wrong by itself, and little or nothing about it changes any more. */
static const struct {
    const char *verdict, *constraint, *help[2];
} servers[] = {
    [STORE_FULL] =
        {"the API server's store is full: it refuses writes that need more room, so what is "
         "shown here may not change",
         "/readyz/storage of the server fails",
         {"delete objects, or make room on the disk of its store; the answer to a refused "
          "write, and its log, say what is full",
          "it goes on by itself when there is room"}},
    [STORE_READ_ONLY] = {"the API server takes no writes: its store is read-only, so nothing "
                         "changes, whatever else is shown here",
                         "/readyz/etcd of the server fails",
                         {"look at the disk of its store; its log says what the disk answered",
                          "then restart the server: after a write has failed it tries no other"}},
};

str findings_of_server(const struct picture *p)
{
    return p->store == STORE_WRITES ? STR_NONE : str_of(servers[p->store].verdict);
}

static void look_at_server(struct look *l)
{
    enum picture_store store = l->picture->store;
    if (store == STORE_WRITES)
        return;
    struct finding *f = add(l, FINDING_FAILED, 0, l->pcs);
    f->verdict = findings_of_server(l->picture);
    f->constraint = str_of(servers[store].constraint);
    for (size_t i = 0; i < ARRAY_LEN(servers[store].help); i++)
        unblock(f, str_of(servers[store].help[i]));
}

/* What it has made already says more than a status that is not written yet. */
static bool has_children(const struct look *l)
{
    const struct session_list *cliques = &l->picture->parts[PICTURE_CLIQUES];
    for (size_t i = 0; i < cliques->n; i++) {
        if (is_of_set(cliques->items[i], l->label))
            return true;
    }
    return false;
}

/* The operator's first look at a set writes its numbers. */
static void look_at_unseen(struct look *l)
{
    if (l->pcs->deleting || j_has(jgetc(obj_status(l->pcs), "replicas")) || has_children(l))
        return;
    struct finding *f = add(l, FINDING_WAITING, 0, l->pcs);
    f->verdict = STR("no operator has looked at the set yet");
    f->constraint = STR("a running operator does so at once");
    unblock(f, STR("check that an operator is running"));
}

/* ---- gangs ---- */

#define OWN_PODS                                                                        \
    "correct its podReferences if it was written by hand, or the labels " LABEL_PODGANG \
    " and " LABEL_PCLQ " of the pods"
/* What one does about a gang that is not placed for another reason than room. */
static const struct {
    const char *reason, *how;
} unplaced_remedies[] = {
    {"InvalidPodReference", OWN_PODS},
    {"LeavesRoom",
     "wait: it takes the room when what is free has not grown for a minute; or add nodes"},
    {"QueueLimit", "raise the limit of the queue, or wait until other gangs of it finish"},
    {"UnknownQueue", "correct the label kai.scheduler/queue, or the queues in the ConfigMap "
                     "grove-queues"},
};

static void look_at_unfit(struct look *l, const struct obj *gang)
{
    struct finding *f = add(l, FINDING_WAITING, 1, gang);
    bool wrong = unfit_is_wrong(unfit_facts(gang));
    str reason = jstr(jgetc(condition_find(conditions_of(gang), STR("Unschedulable")), "reason"));
    f->verdict = arena_printf(l->arena, "gang %.*s %s: %.*s", STR_ARG(gang->name),
                              wrong ? "is not placed" : "does not fit",
                              STR_ARG(unfit_verdict(gang, l->arena)));
    for (size_t i = 0; wrong && i < ARRAY_LEN(unplaced_remedies); i++) {
        if (str_is(reason, unplaced_remedies[i].reason))
            unblock(f, str_of(unplaced_remedies[i].how));
    }
    f->unfit = true;
    f->constraint = message_of(gang, "Unschedulable");
    f->alike = unfit_key(unfit_facts(gang), l->arena);
}

static void look_at_disrupted(struct look *l, const struct obj *gang)
{
    jval c = condition_find(conditions_of(gang), STR("DisruptionTarget"));
    struct finding *f = add(l, FINDING_DEGRADED, 0, gang);
    f->verdict = arena_printf(l->arena, "gang %.*s makes room for another: %.*s",
                              STR_ARG(gang->name), STR_ARG(jstr(jgetc(c, "message"))));
    if (str_is(jstr(jgetc(c, "reason")), "TrimmedByScheduler"))
        f->constraint = STR("its minimum stays; the pods come back when there is room");
    else
        unblock(f, STR("add nodes, or give it a higher priority class"));
}

/* What else the scheduler says of a gang that runs, or would. */
static const struct {
    const char *type, *what, *how;
} gang_troubles[] = {
    {"InvalidPodReference", "names pods that are not its own", OWN_PODS},
    {"TopologyViolated", "is spread over several domains, and must be in one",
     "put the labels of the nodes back, or delete the pods outside the domain"},
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
        unblock(f, str_of(gang_troubles[i].how));
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
    int64_t exist, gated, pending, starting, failing, not_ready, silent;
    const struct obj *gated_pod, *pending_pod, *starting_pod, *failing_pod, *not_ready_pod,
        *silent_pod; /* its node is */
};

static jval ready_of(const struct obj *pod)
{
    return condition_find(conditions_of(pod), STR("Ready"));
}

/* Its status says that it starts, and its kubelet that it cannot. */
static bool cannot_start(const struct look *l, const struct obj *pod)
{
    struct pod_trouble t;
    return pod_trouble_of(pod, &l->warnings, l->arena, &t);
}

static void count_state(const struct look *l, struct states *n, const struct obj *pod)
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
    } else if (str_is(state, "Starting") && !cannot_start(l, pod)) {
        n->starting++;
        n->starting_pod = pod;
    } else if (str_is(jstr(jgetc(ready_of(pod), "reason")), "NodeNotReady")) {
        n->silent++;
        n->silent_pod = pod;
    } else if (str_is(state, "NotReady")) {
        n->not_ready++;
        n->not_ready_pod = pod;
    } else {
        n->failing++;
        if (!n->failing_pod || !str_is(state, "Succeeded"))
            n->failing_pod = pod; /* what failed is worse than what has ended */
    }
}

/* "in 1h5m", without zeros at the end; "now" when it is past. */
static str when(struct arena *a, usec deadline, usec now)
{
    struct strbuf b = STRBUF_INIT(64);
    if (deadline <= now)
        return STR("now");
    duration_format_usec((deadline - now) / USEC_PER_SEC * USEC_PER_SEC, &b);
    str text = strbuf_str(&b);
    text.len -= str_ends(text, STR("m0s")) ? 2 : 0;
    text.len -= str_ends(text, STR("h0m")) ? 2 : 0;
    text = arena_printf(a, "in %.*s", STR_ARG(text));
    strbuf_done(&b);
    return text;
}

/* A gang that it is part of finds no room: that is why it is below its minimum. */
static bool waits_for_room(const struct look *l, const struct obj *component)
{
    const struct session_list *gangs = &l->picture->parts[PICTURE_GANGS];
    str own = obj_label(component, STR(LABEL_PODGANG)), key = STR(LABEL_PCS_INDEX);
    str group = obj_label(component, STR(LABEL_PCSG));
    for (size_t i = 0; i < gangs->n; i++) {
        const struct obj *g = gangs->items[i];
        str of = obj_label(g, STR(LABEL_PCSG));
        if (!is_true(g, "Unschedulable") || !is_of_set(g, l->label))
            continue;
        if (own.len ? name_has_label(g->name, own)
                    : str_eq(obj_label(g, key), obj_label(component, key)) &&
                          (str_is_empty(of) || str_eq(of, group)))
            return true;
    }
    return false;
}

static void look_at_breach(struct look *l, const struct obj *component)
{
    /* What never had its minimum is not degraded: the gang says what it waits for. */
    if (!is_true(component, "MinAvailableBreached") ||
        !(is_true(component, "EverScheduled") || is_true(component, "EverHealthy")))
        return;
    /* It comes after what causes it. */
    bool waits = waits_for_room(l, component);
    struct finding *f = add(l, waits ? FINDING_WAITING : FINDING_DEGRADED, 4, component);
    usec due = termination_deadline(l->pcs, component);
    f->verdict = arena_printf(l->arena, "%.*s is below its minimum: %.*s",
                              STR_ARG(findings_reference(l->arena, component)),
                              STR_ARG(message_of(component, "MinAvailableBreached")));
    if (due > l->picture->now)
        f->constraint = arena_printf(l->arena, "its gang is recreated %.*s unless it recovers",
                                     STR_ARG(when(l->arena, due, l->picture->now)));
    else if (due)
        f->constraint = STR("its gang is about to be recreated");
}

/* The pod that had its index before it, is being deleted and has not finished; NULL: none. */
static const struct obj *predecessor_of(const struct look *l, const struct obj *pod)
{
    const struct session_list *pods = &l->picture->parts[PICTURE_PODS];
    static const char *const labels[] = {LABEL_PCLQ, LABEL_POD_INDEX};
    for (size_t i = 0; i < pods->n; i++) {
        const struct obj *o = pods->items[i];
        bool same = o->deleting && str_eq(o->ns, pod->ns) && going_runs(o);
        for (size_t k = 0; same && k < ARRAY_LEN(labels); k++)
            same = str_eq(obj_label(o, str_of(labels[k])), obj_label(pod, str_of(labels[k])));
        if (same)
            return o;
    }
    return NULL;
}

static void look_at_waiting(struct look *l, const struct obj *clique, const struct states *n,
                            const struct obj *before)
{
    struct finding *f = add(l, FINDING_WAITING, 2, clique);
    usec end = obj_deleted_at(before), now = l->picture->now;
    str grace =
        end > now ? arena_cat(l->arena, STR("ends "), when(l->arena, end, now)) : STR("is over");
    f->verdict = arena_printf(
        l->arena,
        "%lld pod%s of %.*s %s gated: pod %.*s waits until pod %.*s is gone, whose grace period "
        "%.*s",
        (long long)n->gated, paint_plural(n->gated), STR_ARG(clique->name),
        paint_verb(n->gated, "is", "are"), STR_ARG(n->gated_pod->name), STR_ARG(before->name),
        STR_ARG(grace));
    f->alike = STR("the pods before them are terminating");
    f->constraint = STR("no two pods of one index run at the same time, unless the clique has "
                        "podReplacementPolicy: TerminatingOrFailed");
    unblock(f, arena_printf(l->arena,
                            "if its containers have stopped and its node does not report it: "
                            "kubectl delete pod %.*s --force",
                            STR_ARG(before->name)));
}

static void look_at_gated(struct look *l, const struct obj *clique, const struct states *n)
{
    const struct obj *pod = n->gated_pod, *before = predecessor_of(l, pod);
    if (before && !going_is_ignored(clique)) {
        look_at_waiting(l, clique, n, before);
        return;
    }
    str gang = obj_label(pod, STR(LABEL_PODGANG)), base = obj_label(pod, STR(LABEL_BASE_PODGANG));
    const struct obj *g = picture_find_labelled(l->picture, PICTURE_GANGS, gang);
    const struct obj *b = picture_find_labelled(l->picture, PICTURE_GANGS, base);
    base = b ? b->name : base;
    struct finding *f = add(l, FINDING_WAITING, 2, clique);
    const char *why =
        !g ? "the gang does not exist yet" : "not all pods of the gang are created yet";
    str text = str_of(why);
    if (g && !str_is_empty(base) && !(b && gang_was_scheduled(b))) {
        text = arena_printf(l->arena, "base gang %.*s is not on nodes", STR_ARG(base));
        unblock(f, arena_printf(l->arena, "see why that one waits: grove explain podgang/%.*s",
                                STR_ARG(base)));
    } else if (g && is_true(g, "Initialized")) {
        text = STR("the operator has not removed the gate yet");
    }
    f->verdict = arena_printf(l->arena, "%lld pod%s of %.*s %s gated: %.*s", (long long)n->gated,
                              paint_plural(n->gated), STR_ARG(clique->name),
                              paint_verb(n->gated, "is", "are"), STR_ARG(text));
    f->alike = text;
    f->constraint =
        STR("pods are released to the scheduler when their gang is complete, and those of "
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
    struct pod_trouble t;
    bool known = pod_trouble_of(pod, &l->warnings, l->arena, &t);
    str state = known && t.by_warning ? t.reason : pod_state(pod);
    struct finding *f = add(l, FINDING_DEGRADED, 2, clique);
    bool ended = str_is(state, "Succeeded");
    f->verdict = arena_printf(
        l->arena, "%lld pod%s of %.*s %s: %.*s is %.*s%s%.*s", (long long)n->failing,
        paint_plural(n->failing), STR_ARG(clique->name),
        ended ? paint_verb(n->failing, "has ended", "have ended")
              : paint_verb(n->failing, "fails", "fail"),
        STR_ARG(pod->name), STR_ARG(state), known ? ": " : "", STR_ARG(known ? t.what : STR_NONE));
    f->constraint = known && t.said.len ? t.said : jstr(jgetc(obj_status(pod), "message"));
    unblock(f, known   ? t.remedy
               : ended ? arena_printf(l->arena, "see why its containers ended: kubectl logs %.*s",
                                      STR_ARG(pod->name))
                       : arena_printf(l->arena, "see what ended it: kubectl describe pod %.*s",
                                      STR_ARG(pod->name)));
}

/* ---- nodes that are silent ---- */

static bool tolerates_silence(jval t)
{
    str key = jstr(jgetc(t, "key")), effect = jstr(jgetc(t, "effect"));
    return (str_is_empty(key) ? str_is(jstr(jgetc(t, "operator")), "Exists")
                              : str_is(key, "node.kubernetes.io/unreachable")) &&
           (str_is_empty(effect) || str_is(effect, "NoExecute"));
}

/* When the pod is taken from its node; 0: it stays. */
static usec leaves_at(const struct obj *pod)
{
    usec since = 0, longest = 0;
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "tolerations")); jnext(&it);) {
        int64_t seconds;
        if (!tolerates_silence(it.value))
            continue;
        if (!jint_get(jgetc(it.value, "tolerationSeconds"), &seconds))
            return 0;
        longest = MAX(longest, MIN(MAX(seconds, 0), (int64_t)INT32_MAX) * USEC_PER_SEC);
    }
    str from = jstr(jgetc(ready_of(pod), "lastTransitionTime"));
    return time_parse_rfc3339(from, &since) ? since + longest : 0;
}

static bool is_on_silent(const struct obj *pod)
{
    return !pod->deleting && str_is(jstr(jgetc(ready_of(pod), "reason")), "NodeNotReady");
}

/* "n1, n2", each once and the first of many; the number of them. */
static size_t name_silent(struct look *l, const struct session_list *pods, str *ret_names)
{
    str seen[MAX_NAMED];
    size_t n = 0;
    *ret_names = STR_NONE;
    for (size_t i = 0; i < pods->n && n <= MAX_NAMED; i++) {
        str node = jstr(jgetc(obj_spec(pods->items[i]), "nodeName"));
        size_t k = 0;
        while (k < n && !str_eq(seen[k], node))
            k++;
        if (k < n || !is_on_silent(pods->items[i]))
            continue;
        if (n < MAX_NAMED)
            seen[n] = node;
        *ret_names = arena_printf(l->arena, "%.*s%s%.*s", STR_ARG(*ret_names), n ? ", " : "",
                                  STR_ARG(n < MAX_NAMED ? node : STR("...")));
        n++;
    }
    return n;
}

/* What becomes of the pods by itself, and when. */
static str after_silence(struct look *l, const struct obj *pod, size_t n_nodes)
{
    usec leaves = leaves_at(pod), now = l->picture->now;
    const char *node = n_nodes > 1 ? "nodes" : "node";
    if (leaves == 0)
        return arena_printf(l->arena,
                            ", not replaced while the %s %s silent, because its tolerations have "
                            "no end",
                            node, n_nodes > 1 ? "are" : "is");
    if (leaves <= now)
        return STR(" and about to be replaced");
    return arena_printf(l->arena, ", replaced %.*s unless the %s %s back",
                        STR_ARG(when(l->arena, leaves, now)), node, n_nodes > 1 ? "come" : "comes");
}

/* Nobody hears from the node: what happens by itself, when, and what one can do before. */
static void look_at_silent(struct look *l, const struct obj *clique, const struct states *n,
                           const struct session_list *pods)
{
    const struct obj *pod = n->silent_pod;
    str names, node = jstr(jgetc(obj_spec(pod), "nodeName"));
    size_t n_nodes = name_silent(l, pods, &names);
    struct finding *f = add(l, FINDING_DEGRADED, 0, clique);
    const struct obj *o = picture_find(l->picture, PICTURE_NODES, node);
    jval ready = o ? ready_of(o) : JVAL_ABSENT;
    bool speaks = str_is(jstr(jgetc(ready, "status")), "False");
    f->verdict = arena_printf(
        l->arena, "node%s %.*s %s %s: %lld pod%s of %.*s %s not ready%.*s", n_nodes > 1 ? "s" : "",
        STR_ARG(names), n_nodes > 1 ? "are" : "is", speaks ? "not ready" : "silent",
        (long long)n->silent, paint_plural(n->silent), STR_ARG(clique->name),
        paint_verb(n->silent, "is", "are"), STR_ARG(after_silence(l, pod, n_nodes)));
    if (speaks) {
        f->constraint = arena_printf(l->arena, "its kubelet says: %.*s (%.*s)",
                                     STR_ARG(jstr(jgetc(ready, "message"))),
                                     STR_ARG(jstr(jgetc(ready, "reason"))));
        unblock(f, arena_printf(l->arena, "mend what its kubelet names: kubectl describe node %.*s",
                                STR_ARG(node)));
        return;
    }
    f->constraint = STR("a pod stays on a silent node as long as it tolerates the taint "
                        "node.kubernetes.io/unreachable, 5 minutes unless its template says "
                        "otherwise: if the node is only cut off, the pod may still serve");
    unblock(f, arena_printf(l->arena, "bring the node back: kubectl describe node %.*s",
                            STR_ARG(node)));
    unblock(f, arena_printf(l->arena,
                            "or, if it is lost for good, do not wait: kubectl delete pod %.*s "
                            "--force",
                            STR_ARG(pod->name)));
}

static void look_at_not_ready(struct look *l, const struct obj *clique, const struct states *n)
{
    const struct obj *pod = n->not_ready_pod;
    str reason = jstr(jgetc(ready_of(pod), "reason"));
    struct pod_trouble t;
    bool known = pod_trouble_of(pod, &l->warnings, l->arena, &t);
    struct finding *f = add(l, FINDING_DEGRADED, 3, clique);
    if (known)
        reason = t.what;
    f->verdict =
        arena_printf(l->arena, "%lld pod%s of %.*s %s not ready: %.*s on %.*s%s%.*s%s",
                     (long long)n->not_ready, paint_plural(n->not_ready), STR_ARG(clique->name),
                     paint_verb(n->not_ready, "is running but", "are running but"),
                     STR_ARG(pod->name), STR_ARG(jstr(jgetc(obj_spec(pod), "nodeName"))),
                     reason.len ? " (" : "", STR_ARG(reason), reason.len ? ")" : "");
    f->constraint = known ? t.said : STR_NONE;
    unblock(f, known ? t.remedy
                     : arena_printf(l->arena,
                                    "see what its readiness probe says: kubectl describe pod %.*s",
                                    STR_ARG(pod->name)));
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
    f->constraint = mute ? arena_printf(l->arena, "no scheduler has said anything about pod %.*s",
                                        STR_ARG(n->pending_pod->name))
                         : jstr(jgetc(c, "message"));
    if (mute)
        unblock(f, STR("check that a scheduler is running"));
}

/* Whoever drains a node waits for a pod that may not go. Only where nodes are in the picture. */
static void look_at_drained(struct look *l, const struct obj *clique,
                            const struct session_list *pods)
{
    int64_t ready = 0, least = number(obj_spec(clique), "minAvailable"), held = 0;
    const struct obj *pod = NULL;
    for (size_t i = 0; i < pods->n; i++) {
        str name = jstr(jgetc(obj_spec(pods->items[i]), "nodeName"));
        const struct obj *node = picture_find(l->picture, PICTURE_NODES, name);
        bool serves = str_is(pod_state(pods->items[i]), "Ready");
        ready += serves;
        if (!serves || !node || !jbool(jgetc(obj_spec(node), "unschedulable"), false))
            continue;
        held++;
        pod = pods->items[i];
    }
    if (held == 0 || ready > least)
        return;
    struct finding *f = add(l, FINDING_REFUSED, 1, clique);
    f->verdict = arena_printf(l->arena,
                              "%lld pod%s of %.*s cannot be evicted from %.*s, which is cordoned: "
                              "%lld of %lld are needed",
                              (long long)held, paint_plural(held), STR_ARG(clique->name),
                              STR_ARG(jstr(jgetc(obj_spec(pod), "nodeName"))), (long long)least,
                              (long long)ready);
    f->constraint = STR("the clique's PodDisruptionBudget protects its minAvailable");
    f->alike = f->constraint;
    unblock(f, STR("scale the clique to one more than its minimum, or lower its minAvailable"));
    unblock(f, arena_printf(l->arena,
                            "or delete it anyway; the gang is unavailable until the pod is "
                            "replaced: kubectl delete pod %.*s",
                            STR_ARG(pod->name)));
}

/* Past the time by which it was to be gone: nobody does what is left to do. */
static bool lingers(const struct obj *pod, usec now)
{
    usec due;
    return pod->deleting && time_parse_rfc3339(jstr(jgetc(pod->meta, "deletionTimestamp")), &due) &&
           due + LINGERS_AFTER < now;
}

static void look_at_lingering(struct look *l, const struct obj *clique,
                              const struct session_list *pods)
{
    int64_t n = 0;
    const struct obj *pod = NULL;
    for (size_t i = 0; i < pods->n; i++) {
        bool is = lingers(pods->items[i], l->picture->now);
        n += is;
        pod = is ? pods->items[i] : pod;
    }
    if (n == 0)
        return;
    str node = jstr(jgetc(obj_spec(pod), "nodeName"));
    struct finding *f = add(l, FINDING_LINGERING, 0, clique);
    f->verdict =
        arena_printf(l->arena, "%lld pod%s of %.*s should have been gone by %.*s: %.*s%s%.*s",
                     (long long)n, paint_plural(n), STR_ARG(clique->name),
                     STR_ARG(jstr(jgetc(pod->meta, "deletionTimestamp"))), STR_ARG(pod->name),
                     node.len ? " on " : "", STR_ARG(node));
    f->constraint = finalizers_text(pod, l->arena);
    if (f->constraint.len > 0) {
        unblock(f, STR("whoever added its finalizers must remove them"));
        return;
    }
    if (str_is_empty(node)) {
        unblock(f, arena_printf(l->arena, "delete it: kubectl delete pod %.*s --force",
                                STR_ARG(pod->name)));
        return;
    }
    f->constraint = STR("its node has not reported that its containers have stopped; until then it "
                        "keeps its room there");
    unblock(f, arena_printf(l->arena, "bring the node back: kubectl describe node %.*s",
                            STR_ARG(node)));
    unblock(f, arena_printf(l->arena, "or, if it is lost for good: kubectl delete pod %.*s --force",
                            STR_ARG(pod->name)));
}

static void look_at_clique(struct look *l, const struct obj *clique)
{
    struct session_list pods = pod_groups_get(&l->by_owner, clique->uid);
    struct states n = {0};
    int64_t wanted = number(obj_spec(clique), "replicas");
    for (size_t i = 0; i < pods.n; i++)
        count_state(l, &n, pods.items[i]);
    look_at_errors(l, clique);
    look_at_breach(l, clique);
    look_at_lingering(l, clique, &pods);
    if (n.gated)
        look_at_gated(l, clique, &n);
    if (n.starting)
        look_at_starting(l, clique, &n);
    if (n.failing)
        look_at_failing(l, clique, &n);
    if (n.silent)
        look_at_silent(l, clique, &n, &pods);
    if (n.not_ready)
        look_at_not_ready(l, clique, &n);
    if (n.exist < wanted && jlen(jgetc(obj_status(clique), "lastErrors")) == 0) {
        struct finding *f = add(l, FINDING_STARTING, 0, clique);
        f->verdict = arena_printf(l->arena, "%lld of %lld pods of %.*s exist", (long long)n.exist,
                                  (long long)wanted, STR_ARG(clique->name));
    }
    const struct obj *gang =
        picture_find_labelled(l->picture, PICTURE_GANGS, obj_label(clique, STR(LABEL_PODGANG)));
    if (n.pending && !(gang && is_true(gang, "Unschedulable")))
        look_at_pending(l, clique, &n);
    if (l->picture->parts[PICTURE_NODES].n > 0)
        look_at_drained(l, clique, &pods);
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
        if (!str_is(jstr(jgetc(e, "reason")), REASON_REFUSED))
            continue;
        const struct obj *about =
            picture_find_any(l->picture, jstr(jpath(e, "involvedObject.name")));
        if (!about || (about != l->pcs && !is_of_set(about, l->label)))
            continue;
        struct finding *f = add(l, FINDING_REFUSED, 0, about);
        f->verdict = jstr(jgetc(e, "message"));
        f->constraint = STR("the availability budget; it is retried when more pods are ready");
    }
}

/* Of components that left their messages empty: no text ends before what it announces. */
static str whole_sentence(str text)
{
    while (text.len > 0 && (text.p[text.len - 1] == ' ' || text.p[text.len - 1] == ':'))
        text.len--;
    return text;
}

static void complete(struct finding *f)
{
    f->constraint = whole_sentence(f->constraint);
    f->verdict = whole_sentence(f->verdict);
    if (str_is_empty(f->verdict))
        f->verdict = f->constraint.len ? f->constraint : STR("no reason is given");
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
    pod_groups_init(&l.by_owner, p, pod_owner_uid, a);
    pod_warnings_init(&l.warnings, p);
    look_at_server(&l);
    look_at_going(&l);
    look_at_errors(&l, pcs);
    look_at_unseen(&l);
    look_at_conditions(&l);
    look_at_update(&l);
    look_at_gangs(&l);
    look_at_components(&l);
    look_at_refusals(&l);
    pod_groups_done(&l.by_owner);
    for (size_t i = 0; i < ret->items.len; i++)
        complete(&ret->items.p[i]);
    pod_warnings_done(&l.warnings);
    vec_sort(&ret->items, compare);
}

bool findings_speaks(const struct findings *f, const bool *chosen, size_t i, size_t *ret_more)
{
    const struct finding *x = &f->items.p[i];
    *ret_more = 0;
    for (size_t k = 0; k < f->items.len && x->alike.len; k++) {
        const struct finding *y = &f->items.p[k];
        if (k == i || (chosen && !chosen[k]) || y->state != x->state || !str_eq(y->alike, x->alike))
            continue;
        if (k < i)
            return false;
        ++*ret_more;
    }
    return true;
}

str findings_text(struct arena *a, const struct finding *x, size_t more)
{
    if (more == 0)
        return x->verdict;
    const char *what = x->about->kind == &kind_pod_gang ? "gang" : "clique";
    return arena_printf(a, "%.*s (and %zu more %s%s for the same reason)", STR_ARG(x->verdict),
                        more, what, paint_plural((int64_t)more));
}

void findings_done(struct findings *f)
{
    for (size_t i = 0; i < f->items.len; i++)
        vec_done(&f->items.p[i].unblock);
    vec_done(&f->items);
}
