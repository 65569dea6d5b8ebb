/* See pod_status.h. Times of conditions and containers that did not change are kept from what is
 * there. */
#include "node/machine/pod_status.h"

/* ---- conditions ---- */

struct condition {
    const char *type;
    bool on;
    const char *reason; /* when off; NULL: none */
};

static void put_condition(const struct pod_status *s, struct jw *w, const struct condition *c)
{
    jval old = condition_find(jgetc(obj_status(s->pod), "conditions"), str_of(c->type));
    jval since = jgetc(old, "lastTransitionTime");
    jw_object(w);
    if (str_is(jstr(jgetc(old, "status")), c->on ? "True" : "False") && j_has(since))
        jw_put(w, "lastTransitionTime", since);
    else
        jw_put_time(w, "lastTransitionTime", s->now);
    if (!c->on && c->reason)
        jw_put_cstr(w, "reason", c->reason);
    jw_put_cstr(w, "status", c->on ? "True" : "False");
    jw_put_cstr(w, "type", c->type);
    jw_end(w);
}

static void put_conditions(const struct pod_status *s, struct jw *w)
{
    const struct progress *p = s->progress;
    bool ended = p->stage == LIFE_ENDED, ready = p->stage == LIFE_READY;
    const char *why =
        ended ? (s->life->exit_code ? "PodFailed" : "PodCompleted") : "ContainersNotReady";
    const struct condition list[] = {
        {"PodReadyToStartContainers", p->stage != LIFE_BOUND && !ended, NULL},
        {"Initialized", p->inits_done == p->inits, "ContainersNotInitialized"},
        {"Ready", ready, why},
        {"ContainersReady", ready, why},
    };
    jw_put_array(w, "conditions");
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        put_condition(s, w, &list[i]);
    jw_end(w);
}

/* ---- containers ---- */

static void put_waiting(struct jw *w, const char *reason)
{
    jw_put_object(w, "state");
    jw_put_object(w, "waiting");
    jw_put_cstr(w, "reason", reason);
    jw_end(w);
    jw_end(w);
}

static void put_running(struct jw *w, usec since)
{
    jw_put_object(w, "state");
    jw_put_object(w, "running");
    jw_put_time(w, "startedAt", since);
    jw_end(w);
    jw_end(w);
}

static void put_terminated(struct jw *w, const char *key, int64_t code, usec when)
{
    jw_put_object(w, key);
    jw_put_object(w, "terminated");
    jw_put_int(w, "exitCode", code);
    jw_put_time(w, "finishedAt", when);
    jw_put_cstr(w, "reason", code ? "Error" : "Completed");
    jw_end(w);
    jw_end(w);
}

static void begin_container(struct jw *w, jval container, bool ready, bool started,
                            int64_t restarts)
{
    jw_object(w);
    jw_put(w, "image", jgetc(container, "image"));
    jw_put_cstr(w, "imageID", "");
    jw_put(w, "name", jgetc(container, "name"));
    jw_put_bool(w, "ready", ready);
    jw_put_int(w, "restartCount", restarts);
    jw_put_bool(w, "started", started);
}

static void put_container(const struct pod_status *s, struct jw *w, jval container)
{
    const struct progress *p = s->progress;
    bool up = p->stage == LIFE_RUNNING || p->stage == LIFE_READY;
    begin_container(w, container, p->stage == LIFE_READY, up, p->restarts);
    if (p->last_finished)
        put_terminated(w, "lastState", s->life->exit_code, p->last_finished);
    if (up)
        put_running(w, p->since);
    else if (p->stage == LIFE_ENDED)
        put_terminated(w, "state", s->life->exit_code, p->since);
    else if (p->stage == LIFE_BACKOFF)
        put_waiting(w, "CrashLoopBackOff");
    else
        put_waiting(w, p->inits ? "PodInitializing" : "ContainerCreating");
    jw_end(w);
}

/* What is written of a finished one is its end; when exactly matters only for the last. */
static void put_init(const struct pod_status *s, struct jw *w, jval container, size_t i)
{
    const struct progress *p = s->progress;
    bool done = i < p->inits_done, runs = i == p->inits_done && p->stage == LIFE_INIT;
    bool sidecar = init_is_sidecar(container);
    jval old = jat(jgetc(obj_status(s->pod), "initContainerStatuses"), i);
    jval ended = jpath(old, "state.terminated");
    begin_container(w, container, done, sidecar && done, 0);
    if (done && !sidecar && j_has(ended)) {
        jw_put_object(w, "state");
        jw_put(w, "terminated", ended);
        jw_end(w);
    } else if (done && !sidecar) {
        put_terminated(w, "state", 0, s->now);
    } else if (runs || done) {
        put_running(w, p->stage == LIFE_INIT ? p->since : s->now);
    } else {
        put_waiting(w, "PodInitializing");
    }
    jw_end(w);
}

/* One that was added to look around: it runs from when it is seen, and is never ready. */
static void put_ephemeral(const struct pod_status *s, struct jw *w, jval container, size_t i)
{
    jval old = jat(jgetc(obj_status(s->pod), "ephemeralContainerStatuses"), i);
    jval state = jgetc(old, "state");
    begin_container(w, container, false, true, 0);
    if (j_has(state))
        jw_put(w, "state", state);
    else
        put_running(w, s->now);
    jw_end(w);
}

static void put_containers(const struct pod_status *s, struct jw *w)
{
    jval spec = obj_spec(s->pod);
    jw_put_array(w, "containerStatuses");
    for (struct jiter it = jiter(jgetc(spec, "containers")); jnext(&it);)
        put_container(s, w, it.value);
    jw_end(w);
    if (s->progress->inits > 0) {
        jw_put_array(w, "initContainerStatuses");
        for (struct jiter it = jiter(jgetc(spec, "initContainers")); jnext(&it);)
            put_init(s, w, it.value, it.index);
        jw_end(w);
    }
    if (jlen(jgetc(spec, "ephemeralContainers")) > 0) {
        jw_put_array(w, "ephemeralContainerStatuses");
        for (struct jiter it = jiter(jgetc(spec, "ephemeralContainers")); jnext(&it);)
            put_ephemeral(s, w, it.value, it.index);
        jw_end(w);
    }
}

/* ---- the whole ---- */

static const char *phase_of(const struct pod_status *s)
{
    switch (s->progress->stage) {
    case LIFE_BOUND:
    case LIFE_INIT:
        return "Pending";
    case LIFE_ENDED:
        return s->life->exit_code ? "Failed" : "Succeeded";
    default:
        return "Running";
    }
}

static void put_addresses(const struct pod_status *s, struct jw *w)
{
    jval host = jgetc(jat(jgetc(obj_status(s->node), "addresses"), 0), "address");
    jw_put(w, "hostIP", host);
    if (str_is_empty(s->ip))
        return;
    jw_put_str(w, "podIP", s->ip);
    jw_put_array(w, "podIPs");
    jw_object(w);
    jw_put_str(w, "ip", s->ip);
    jw_end(w);
    jw_end(w);
}

struct doc *pod_status_doc(const struct pod_status *s)
{
    jval started = jgetc(obj_status(s->pod), "startTime");
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Pod");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", s->pod->name);
    jw_put_str(&w, "namespace", s->pod->ns);
    jw_end(&w);
    jw_put_object(&w, "status");
    put_conditions(s, &w);
    put_containers(s, &w);
    jw_put_cstr(&w, "phase", phase_of(s));
    put_addresses(s, &w);
    if (j_has(started))
        jw_put(&w, "startTime", started);
    else
        jw_put_time(&w, "startTime", s->now);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}
