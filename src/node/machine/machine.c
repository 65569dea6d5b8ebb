/* See machine.h. One pass over the containers: first what ought to be (run or end), then for each
 * container the next step towards that, then what all of it amounts to. */
#include "node/machine/machine.h"

#define GRACE_DEFAULT 30
/* Three thousand years: what a user writes must not leave the range of times. */
#define SECONDS_MAX ((int64_t)100000000000)

/* ---- parts ---- */

bool init_is_sidecar(jval container)
{
    return str_is(jstr(jgetc(container, "restartPolicy")), "Always");
}

struct pod_parts pod_parts_of(const struct obj *pod)
{
    jval spec = obj_spec(pod);
    struct pod_parts p = {
        .inits = jgetc(spec, "initContainers"),
        .mains = jgetc(spec, "containers"),
        .ephemerals = jgetc(spec, "ephemeralContainers"),
    };
    p.n_inits = jlen(p.inits);
    p.n_mains = jlen(p.mains);
    p.n_ephemerals = jlen(p.ephemerals);
    return p;
}

jval pod_part_at(const struct pod_parts *p, size_t i)
{
    if (i < p->n_inits)
        return jat(p->inits, i);
    i -= p->n_inits;
    return i < p->n_mains ? jat(p->mains, i) : jat(p->ephemerals, i - p->n_mains);
}

/* ---- rules ---- */

usec machine_backoff(unsigned streak)
{
    usec pause = MACHINE_BACKOFF_FIRST;
    if (streak == 0)
        return 0;
    for (unsigned i = 1; i < streak && pause < MACHINE_BACKOFF_MAX; i++)
        pause *= 2;
    return MIN(pause, MACHINE_BACKOFF_MAX);
}

bool machine_restarts(const struct obj *pod, bool sidecar, int64_t exit_code)
{
    str policy = jstr(jgetc(obj_spec(pod), "restartPolicy"));
    if (sidecar)
        return true;
    return !str_is(policy, "Never") && !(str_is(policy, "OnFailure") && exit_code == 0);
}

/* ---- the pass ---- */

struct pass {
    const struct machine_input *in;
    const struct pod_seen *seen;
    struct machine_result *out;
    struct pod_parts parts;
    usec now;
    bool failed_init;
    bool lost; /* its sandbox was, and there will be no other */
};

static bool is_init(const struct pass *p, size_t i)
{
    return i < p->parts.n_inits;
}

static bool is_main(const struct pass *p, size_t i)
{
    return i >= p->parts.n_inits && i < p->parts.n_inits + p->parts.n_mains;
}

static bool is_sidecar(const struct pass *p, size_t i)
{
    return is_init(p, i) && init_is_sidecar(jat(p->parts.inits, i));
}

static bool is_alive(const struct container_seen *c)
{
    return c->state == CONTAINER_RUNNING || c->state == CONTAINER_STARTING;
}

/* In the sandbox that is there now: one that ended in another does not count. */
static bool is_current(const struct pass *p, const struct container_seen *c)
{
    return c->state != CONTAINER_NONE && c->sandbox == p->seen->sandbox_attempt;
}

static void look_at(struct pass *p, usec when)
{
    if (when > p->now && (p->out->look_at == 0 || when < p->out->look_at))
        p->out->look_at = when;
}

static struct machine_action *act(struct pass *p, enum machine_act what, size_t i, const char *why)
{
    struct machine_action *a = &p->out->actions[p->out->n_actions++];
    *a = (struct machine_action){.act = what, .container = i, .why = why};
    if (what != ACT_SANDBOX && what != ACT_SANDBOX_STOP)
        a->attempt = p->seen->containers[i].attempt;
    return a;
}

static bool has_hook(const struct pass *p, size_t i, const char *name)
{
    return j_has(jget(jgetc(pod_part_at(&p->parts, i), "lifecycle"), str_of(name)));
}

static int64_t seconds_at(jval v, int64_t otherwise)
{
    return MIN(MAX(jint(v, otherwise), 0), SECONDS_MAX);
}

static usec grace_of(const struct pass *p)
{
    jval spec = obj_spec(p->in->pod);
    return seconds_at(jgetc(spec, "terminationGracePeriodSeconds"), GRACE_DEFAULT) * USEC_PER_SEC;
}

/* ---- stopping one container ---- */

/* What a container that has to end by `by` is asked next. Its hook takes from the same time. */
static void stop_container(struct pass *p, size_t i, usec by, const char *why)
{
    const struct container_seen *c = &p->seen->containers[i];
    if (!is_alive(c))
        return;
    if (c->stop != STOP_NONE)
        by = MIN(by, c->stop_by);
    switch (c->stop) {
    case STOP_NONE:
        if (c->state == CONTAINER_RUNNING && has_hook(p, i, "preStop") && by > p->now) {
            act(p, ACT_PRE_STOP, i, why)->stop_by = by;
            return;
        }
        break;
    case STOP_HOOK:
        if (by > p->now) {
            look_at(p, by);
            return;
        }
        break;
    case STOP_HOOKED:
        break;
    case STOP_TERM:
        by = MAX(by, p->now + MACHINE_LEAST_GRACE);
        if (by < c->stop_by)
            act(p, ACT_STOP, i, why)->stop_by = by;
        return;
    }
    act(p, ACT_STOP, i, why)->stop_by = MAX(by, p->now + MACHINE_LEAST_GRACE);
}

/* ---- running one container ---- */

static bool probe_holds(enum probe_state s)
{
    return s == PROBE_NONE || s == PROBE_OK;
}

static bool has_started(const struct pass *p, size_t i)
{
    const struct container_seen *c = &p->seen->containers[i];
    return c->state == CONTAINER_RUNNING && probe_holds(c->startup) &&
           (c->post_start == HOOK_DONE || !has_hook(p, i, "postStart"));
}

/* Why a container that runs has to be stopped and started anew; NULL: it does not. */
static const char *ails(const struct container_seen *c)
{
    if (c->post_start == HOOK_FAILED)
        return "its postStart hook failed";
    if (c->startup == PROBE_FAILED)
        return "its startup probe failed";
    if (probe_holds(c->startup) && c->liveness == PROBE_FAILED)
        return "its liveness probe failed";
    return NULL;
}

/* A probe may say how long its victim has. */
static usec grace_after_probe(const struct pass *p, size_t i)
{
    const struct container_seen *c = &p->seen->containers[i];
    const char *probe = c->startup == PROBE_FAILED ? "startupProbe" : "livenessProbe";
    jval own =
        jgetc(jget(pod_part_at(&p->parts, i), str_of(probe)), "terminationGracePeriodSeconds");
    if (c->post_start == HOOK_FAILED || !j_has(own))
        return grace_of(p);
    return seconds_at(own, GRACE_DEFAULT) * USEC_PER_SEC;
}

static void mind_running(struct pass *p, size_t i)
{
    const struct container_seen *c = &p->seen->containers[i];
    const char *why = ails(c);
    if (c->stop != STOP_NONE)
        stop_container(p, i, c->stop_by, "it is being stopped");
    else if (why)
        stop_container(p, i, p->now + grace_after_probe(p, i), why);
    else if (c->post_start == HOOK_NONE && has_hook(p, i, "postStart"))
        (void)act(p, ACT_POST_START, i, "it has started");
}

static void start(struct pass *p, size_t i, int64_t attempt, unsigned streak, const char *why)
{
    struct machine_action *a = act(p, ACT_START, i, why);
    a->attempt = attempt;
    a->streak = streak;
}

/* After the pause that its last runs have earned. */
static void start_again(struct pass *p, size_t i)
{
    const struct container_seen *c = &p->seen->containers[i];
    usec ran = c->exit.finished.at - c->started.at;
    unsigned streak = c->started.at > 0 && ran >= MACHINE_BACKOFF_RESET ? 0 : c->streak;
    usec due = c->exit.finished.at + machine_backoff(streak);
    if (due > p->now) {
        p->out->containers[i].waiting = "CrashLoopBackOff";
        look_at(p, due);
        return;
    }
    start(p, i, c->attempt + 1, streak + 1, "its last run has ended");
}

/* One that ought to run. */
static void run_container(struct pass *p, size_t i)
{
    const struct container_seen *c = &p->seen->containers[i];
    bool sidecar = is_sidecar(p, i), ephemeral = !is_init(p, i) && !is_main(p, i);
    switch (c->state) {
    case CONTAINER_NONE:
        start(p, i, 0, 0, "it has not run yet");
        break;
    case CONTAINER_STARTING:
        break;
    case CONTAINER_RUNNING:
        mind_running(p, i);
        break;
    case CONTAINER_EXITED:
        if (!ephemeral && machine_restarts(p->in->pod, sidecar, c->exit.exit_code))
            start_again(p, i);
        break;
    }
}

/* ---- init containers ---- */

/* Takes one init container a step further; whether the next one's turn has come. */
static bool pass_init(struct pass *p, size_t i)
{
    const struct container_seen *c = &p->seen->containers[i];
    if (is_sidecar(p, i)) {
        run_container(p, i);
        return has_started(p, i);
    }
    if (c->state == CONTAINER_EXITED && !is_current(p, c)) {
        start(p, i, c->attempt + 1, c->streak, "the pod has a new sandbox");
        return false;
    }
    if (c->state != CONTAINER_EXITED) {
        run_container(p, i);
        return false;
    }
    if (c->exit.exit_code == 0)
        return true;
    p->failed_init = !machine_restarts(p->in->pod, false, c->exit.exit_code);
    if (!p->failed_init)
        start_again(p, i);
    return false;
}

/* Once a container has run in this sandbox, init containers have done their part; sidecars go on.
 */
static bool any_main_began(const struct pass *p)
{
    for (size_t i = p->parts.n_inits; i < p->parts.n_inits + p->parts.n_mains; i++) {
        if (is_current(p, &p->seen->containers[i]))
            return true;
    }
    return false;
}

/* The same without doing anything about it. */
static bool inits_are_done(const struct pass *p)
{
    bool done = any_main_began(p);
    for (size_t i = 0; !done && i < p->parts.n_inits; i++) {
        const struct container_seen *c = &p->seen->containers[i];
        if (is_sidecar(p, i)
                ? !has_started(p, i)
                : !is_current(p, c) || c->state != CONTAINER_EXITED || c->exit.exit_code != 0)
            return false;
    }
    return true;
}

static bool pass_inits(struct pass *p)
{
    bool began = any_main_began(p);
    for (size_t i = 0; i < p->parts.n_inits; i++) {
        if (began && !is_sidecar(p, i))
            continue;
        if (!pass_init(p, i) && !began)
            return false;
    }
    return true;
}

/* ---- the pod as a whole ---- */

static bool will_restart(const struct pass *p, size_t i)
{
    const struct container_seen *c = &p->seen->containers[i];
    return c->state == CONTAINER_EXITED &&
           machine_restarts(p->in->pod, is_sidecar(p, i), c->exit.exit_code);
}

static bool any_is_alive(const struct pass *p)
{
    for (size_t i = 0; i < p->seen->n; i++) {
        if (is_alive(&p->seen->containers[i]))
            return true;
    }
    return false;
}

/* Nothing of an old sandbox may be left when a new one is made, and a pod that never restarts has
 * one only. */
static void make_sandbox(struct pass *p)
{
    bool lost = p->seen->sandbox == SANDBOX_GONE, ran = false;
    for (size_t i = 0; i < p->seen->n; i++)
        ran = ran || p->seen->containers[i].state != CONTAINER_NONE;
    if (p->seen->sandbox == SANDBOX_STARTING || (lost && any_is_alive(p)))
        return;
    if (lost && ran && !machine_restarts(p->in->pod, false, 1)) {
        p->lost = true;
        return;
    }
    act(p, ACT_SANDBOX, 0, lost ? "its sandbox was lost" : "it has none yet")->attempt =
        p->seen->sandbox_attempt + lost;
}

static void run_pod(struct pass *p)
{
    if (p->seen->sandbox != SANDBOX_READY) {
        make_sandbox(p);
        return;
    }
    for (size_t i = p->parts.n_inits + p->parts.n_mains; i < p->seen->n; i++)
        run_container(p, i);
    p->out->initialized = pass_inits(p);
    for (size_t i = p->parts.n_inits; p->out->initialized && i < p->seen->n - p->parts.n_ephemerals;
         i++)
        run_container(p, i);
}

/* Those beside the sidecars first, all at once; then the sidecars, the last one first. */
static void end_pod(struct pass *p, usec by, const char *why)
{
    bool others = false;
    for (size_t i = 0; i < p->seen->n; i++) {
        if (is_sidecar(p, i) || !is_alive(&p->seen->containers[i]))
            continue;
        stop_container(p, i, by, why);
        others = true;
    }
    for (size_t i = p->parts.n_inits; !others && i-- > 0;) {
        if (!is_alive(&p->seen->containers[i]))
            continue;
        stop_container(p, i, by, why);
        others = true;
    }
    if (others)
        return;
    if (p->seen->sandbox == SANDBOX_READY || p->seen->sandbox == SANDBOX_STARTING)
        (void)act(p, ACT_SANDBOX_STOP, 0, why);
    else
        p->out->gone = true;
}

/* ---- phase ---- */

static bool any_failed(const struct pass *p)
{
    for (size_t i = p->parts.n_inits; i < p->parts.n_inits + p->parts.n_mains; i++) {
        const struct container_seen *c = &p->seen->containers[i];
        if (c->state != CONTAINER_EXITED || c->exit.exit_code != 0)
            return true;
    }
    return false;
}

static enum pod_phase phase_of_containers(const struct pass *p)
{
    size_t ended = 0;
    for (size_t i = p->parts.n_inits; i < p->parts.n_inits + p->parts.n_mains; i++) {
        const struct container_seen *c = &p->seen->containers[i];
        if (c->state == CONTAINER_NONE || (c->state == CONTAINER_STARTING && c->attempt == 0))
            return POD_PENDING;
        ended += c->state == CONTAINER_EXITED && !will_restart(p, i);
    }
    if (ended < p->parts.n_mains || ended == 0)
        return POD_RUNNING;
    return any_failed(p) ? POD_FAILED : POD_SUCCEEDED;
}

static bool recorded(const struct pass *p, enum pod_phase *ret)
{
    static const char *const names[] = {"Pending", "Running", "Succeeded", "Failed"};
    str phase = jstr(jgetc(obj_status(p->in->pod), "phase"));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(phase, names[i])) {
            *ret = (enum pod_phase)i;
            return true;
        }
    }
    *ret = POD_PENDING;
    return false;
}

/* ---- readiness ---- */

static bool gates_are_open(const struct obj *pod)
{
    jval gates = jgetc(obj_spec(pod), "readinessGates");
    jval conditions = jgetc(obj_status(pod), "conditions");
    for (struct jiter it = jiter(gates); jnext(&it);) {
        if (!condition_is_true(conditions, jstr(jgetc(it.value, "conditionType"))))
            return false;
    }
    return true;
}

static void judge_container(struct pass *p, size_t i)
{
    const struct container_seen *c = &p->seen->containers[i];
    struct container_verdict *v = &p->out->containers[i];
    bool once = is_init(p, i) && !is_sidecar(p, i);
    if (once) {
        v->ready = c->state == CONTAINER_EXITED && c->exit.exit_code == 0;
    } else {
        v->started = has_started(p, i);
        v->ready = v->started && probe_holds(c->readiness) && (is_init(p, i) || is_main(p, i));
    }
    if (c->state == CONTAINER_NONE || c->state == CONTAINER_STARTING) {
        const char *usual = p->parts.n_inits > 0 ? "PodInitializing" : "ContainerCreating";
        v->waiting = usual;
    }
}

static void judge(struct pass *p)
{
    bool ready = true;
    for (size_t i = 0; i < p->seen->n; i++) {
        judge_container(p, i);
        if (is_main(p, i) || is_sidecar(p, i))
            ready = ready && p->out->containers[i].ready;
    }
    p->out->containers_ready = ready && p->parts.n_mains > 0;
    p->out->gates_open = gates_are_open(p->in->pod);
}

/* ---- the whole ---- */

/* When it is past its deadline; 0: never. */
static usec deadline_of(const struct pass *p)
{
    jval v = jgetc(obj_spec(p->in->pod), "activeDeadlineSeconds");
    usec began = p->in->started.at ? p->in->started.at : p->now;
    return j_has(v) ? began + seconds_at(v, 0) * USEC_PER_SEC : 0;
}

/* Whether everything of the pod has to end, and what it has come to. */
static bool must_end(struct pass *p, usec *ret_by, const char **ret_why)
{
    enum pod_phase before;
    usec deadline = deadline_of(p);
    bool ended = recorded(p, &before) && before >= POD_SUCCEEDED;
    *ret_by = p->now + grace_of(p);
    if (ended)
        p->out->phase = before;
    if (p->in->pod->deleting || p->in->must_end) {
        *ret_by = p->in->delete_by.at;
        *ret_why = "the pod is deleted";
        return true;
    }
    if (ended) {
        *ret_why = "the pod has ended";
        return true;
    }
    if (deadline && deadline <= p->now) {
        p->out->phase = POD_FAILED;
        p->out->reason = "DeadlineExceeded";
        p->out->message = "Pod was active on the node longer than the specified deadline";
        *ret_why = "the pod is past its deadline";
        return true;
    }
    if (deadline)
        look_at(p, deadline);
    return false;
}

/* What the containers amount to; never less than what was said before. */
static void settle_phase(struct pass *p, bool ending)
{
    enum pod_phase before;
    (void)recorded(p, &before);
    if (p->out->phase >= POD_SUCCEEDED)
        return;
    if (p->failed_init)
        p->out->phase = POD_FAILED;
    else if ((ending && p->out->gone) || p->lost)
        p->out->phase = any_failed(p) ? POD_FAILED : POD_SUCCEEDED;
    else if (p->out->initialized || ending)
        p->out->phase = phase_of_containers(p);
    p->out->phase = MAX(p->out->phase, before);
}

void machine_plan(const struct machine_input *in, struct arena *a, struct machine_result *ret)
{
    struct pass p = {
        .in = in, .seen = in->seen, .out = ret, .parts = pod_parts_of(in->pod), .now = in->now.at};
    usec by;
    const char *why = NULL;
    *ret = (struct machine_result){0};
    BUG_ON(pod_parts_count(&p.parts) != in->seen->n);
    ret->actions = arena_array(a, struct machine_action, in->seen->n + 1);
    ret->containers = arena_array(a, struct container_verdict, in->seen->n);
    judge(&p);
    ret->initialized = inits_are_done(&p);
    bool ending = must_end(&p, &by, &why);
    if (ending)
        end_pod(&p, by, why);
    else
        run_pod(&p);
    settle_phase(&p, ending);
    /* The last container has just ended for good: what is left of the pod goes now. */
    if (!ending && ret->phase >= POD_SUCCEEDED) {
        ret->n_actions = 0;
        ret->look_at = 0;
        end_pod(&p, by, "the pod has ended");
    }
}
