/* See pod_status.h. */
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
    /* Others may have given a reason while the node was silent: an apply that does not name it would
     * leave it there. */
    if (!c->on && c->reason)
        jw_put_cstr(w, "reason", c->reason);
    else if (j_has(jgetc(old, "reason")))
        jw_put_cstr(w, "reason", "");
    jw_put_cstr(w, "status", c->on ? "True" : "False");
    jw_put_cstr(w, "type", c->type);
    jw_end(w);
}

static const char *why_not_ready(const struct machine_result *r)
{
    switch (r->phase) {
    case POD_SUCCEEDED:
        return "PodCompleted";
    case POD_FAILED:
        return "PodFailed";
    default:
        return r->containers_ready ? "ReadinessGatesNotReady" : "ContainersNotReady";
    }
}

static void put_conditions(const struct pod_status *s, struct jw *w)
{
    const struct machine_result *r = s->result;
    bool ended = r->phase >= POD_SUCCEEDED, containers = r->containers_ready && !ended;
    bool ready = containers && r->gates_open;
    const char *why = why_not_ready(r);
    const struct condition list[] = {
        {"PodReadyToStartContainers", s->seen->sandbox == SANDBOX_READY && !ended, NULL},
        {"Initialized", r->initialized, "ContainersNotInitialized"},
        {"Ready", ready, why},
        {"ContainersReady", containers, why},
    };
    jw_put_array(w, "conditions");
    for (size_t i = 0; i < ARRAY_LEN(list); i++)
        put_condition(s, w, &list[i]);
    jw_end(w);
}

/* ---- containers ---- */

static void put_waiting(struct jw *w, str reason, str message)
{
    jw_put_object(w, "state");
    jw_put_object(w, "waiting");
    if (!str_is_empty(message))
        jw_put_str(w, "message", message);
    jw_put_str(w, "reason", reason);
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

static void put_terminated(struct jw *w, const char *key, const struct run_seen *r, str id)
{
    jw_put_object(w, key);
    jw_put_object(w, "terminated");
    if (!str_is_empty(id))
        jw_put_str(w, "containerID", id);
    jw_put_int(w, "exitCode", r->exit_code);
    jw_put_time(w, "finishedAt", r->finished.wall);
    if (!str_is_empty(r->message))
        jw_put_str(w, "message", r->message);
    if (str_is_empty(r->reason))
        jw_put_cstr(w, "reason", r->exit_code ? "Error" : "Completed");
    else
        jw_put_str(w, "reason", r->reason);
    if (r->signal)
        jw_put_int(w, "signal", r->signal);
    if (r->started.wall)
        jw_put_time(w, "startedAt", r->started.wall);
    jw_end(w);
    jw_end(w);
}

static void put_state(const struct pod_status *s, struct jw *w, size_t i)
{
    const struct container_seen *c = &s->seen->containers[i];
    const char *waiting = s->result->containers[i].waiting;
    if (c->state == CONTAINER_RUNNING)
        put_running(w, c->started.wall);
    else if (!str_is_empty(c->blocked))
        put_waiting(w, c->blocked, c->blocked_message);
    else if (waiting && !str_is_empty(s->seen->blocked))
        put_waiting(w, str_of(waiting), s->seen->blocked_message);
    else if (waiting)
        put_waiting(w, str_of(waiting), STR_NONE);
    else
        put_terminated(w, "state", &c->exit, c->id);
}

static void put_container(const struct pod_status *s, struct jw *w, jval container, size_t i)
{
    const struct container_seen *c = &s->seen->containers[i];
    const struct container_verdict *v = &s->result->containers[i];
    bool waits = c->state == CONTAINER_EXITED && v->waiting;
    jw_object(w);
    if (!str_is_empty(c->id))
        jw_put_str(w, "containerID", c->id);
    jw_put(w, "image", jgetc(container, "image"));
    jw_put_cstr(w, "imageID", "");
    if (waits)
        put_terminated(w, "lastState", &c->exit, c->id);
    else if (c->last.finished.wall)
        put_terminated(w, "lastState", &c->last, STR_NONE);
    jw_put(w, "name", jgetc(container, "name"));
    jw_put_bool(w, "ready", v->ready);
    jw_put_int(w, "restartCount", c->attempt);
    jw_put_bool(w, "started", v->started);
    put_state(s, w, i);
    jw_end(w);
}

static void put_list(const struct pod_status *s, struct jw *w, const char *key, jval list,
                     size_t first)
{
    jw_put_array(w, key);
    for (struct jiter it = jiter(list); jnext(&it);)
        put_container(s, w, it.value, first + it.index);
    jw_end(w);
}

static void put_containers(const struct pod_status *s, struct jw *w)
{
    struct pod_parts p = pod_parts_of(s->pod);
    put_list(s, w, "containerStatuses", p.mains, p.n_inits);
    if (p.n_inits > 0)
        put_list(s, w, "initContainerStatuses", p.inits, 0);
    if (p.n_ephemerals > 0)
        put_list(s, w, "ephemeralContainerStatuses", p.ephemerals, p.n_inits + p.n_mains);
}

/* ---- the whole ---- */

const char *pod_phase_name(enum pod_phase phase)
{
    static const char *const names[] = {"Pending", "Running", "Succeeded", "Failed"};
    return names[phase];
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

/* Why it ended stays as it was said. */
static void put_why(const struct pod_status *s, struct jw *w)
{
    const struct machine_result *r = s->result;
    jval old = obj_status(s->pod);
    bool ended = r->phase >= POD_SUCCEEDED;
    if (r->reason) {
        jw_put_cstr(w, "message", r->message);
        jw_put_cstr(w, "reason", r->reason);
    } else if (ended && j_has(jgetc(old, "reason"))) {
        jw_put(w, "message", jgetc(old, "message"));
        jw_put(w, "reason", jgetc(old, "reason"));
    }
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
    if (s->only_if_seen)
        jw_put(&w, "resourceVersion", jgetc(s->pod->meta, "resourceVersion"));
    jw_end(&w);
    jw_put_object(&w, "status");
    put_conditions(s, &w);
    put_containers(s, &w);
    jw_put_cstr(&w, "phase", pod_phase_name(s->result->phase));
    put_addresses(s, &w);
    put_why(s, &w);
    if (j_has(started))
        jw_put(&w, "startTime", started);
    else
        jw_put_time(&w, "startTime", s->now);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}
