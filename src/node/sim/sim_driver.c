/* See sim_driver.h. */
#include "node/sim/sim_driver.h"

#include "grove/pod.h"

/* Three thousand years: what a user writes must not leave the range of times. */
#define GRACE_MAX ((int64_t)100000000000)

/* ---- what the status says ---- */

static usec time_at(jval v, const char *path)
{
    usec t = 0;
    (void)time_parse_rfc3339(jstr(jpath(v, path)), &t);
    return t;
}

/* What cannot be read was long ago; 0 means never. */
static struct when when_of(const struct world *w, const struct obj *pod, usec wall)
{
    wall = MAX(wall, 1);
    return (struct when){.at = world_rebased_seen(w, pod, wall), .wall = wall};
}

static void move_base(struct sim_pod *s, struct when when)
{
    if (when.at > s->base.at)
        s->base = when;
}

static void read_init(struct sim_pod *s, const struct world *w, size_t i, jval status)
{
    struct container_seen *c = &s->seen.containers[i];
    jval state = jgetc(status, "state");
    c->post_start = HOOK_DONE;
    if (j_has(jgetc(state, "terminated"))) {
        c->state = CONTAINER_EXITED;
        c->exit.exit_code = jint(jpath(state, "terminated.exitCode"), 0);
        c->exit.finished = when_of(w, s->pod, time_at(state, "terminated.finishedAt"));
        c->exit.started.wall = time_at(state, "terminated.startedAt");
        move_base(s, c->exit.finished);
    } else if (j_has(jgetc(state, "running"))) {
        c->state = CONTAINER_RUNNING;
        c->started = when_of(w, s->pod, time_at(state, "running.startedAt"));
        move_base(s, c->started);
    }
}

static bool read_inits(struct sim_pod *s, const struct world *w)
{
    jval list = jgetc(obj_status(s->pod), "initContainerStatuses");
    bool began = false;
    for (struct jiter it = jiter(list); jnext(&it) && it.index < s->parts.n_inits;) {
        read_init(s, w, it.index, it.value);
        began = began || s->seen.containers[it.index].state != CONTAINER_NONE;
    }
    return began;
}

static struct run_seen read_last(const struct sim_pod *s, const struct world *w, jval status)
{
    jval last = jpath(status, "lastState.terminated");
    usec finished = time_at(last, "finishedAt");
    if (finished == 0)
        return (struct run_seen){0};
    return (struct run_seen){.finished = when_of(w, s->pod, finished),
                             .exit_code = jint(jgetc(last, "exitCode"), s->life->exit_code)};
}

/* All containers of a pod go through life together: the first tells for all. */
static bool read_containers(struct sim_pod *s, const struct world *w)
{
    jval first = jat(jgetc(obj_status(s->pod), "containerStatuses"), 0);
    jval state = jgetc(first, "state");
    bool waits = j_has(jgetc(state, "waiting"));
    struct container_seen c = {.attempt = jint(jgetc(first, "restartCount"), 0),
                               .post_start = HOOK_DONE,
                               .last = read_last(s, w, first)};
    c.streak = (unsigned)MIN(MAX(c.attempt, 0), 1000000);
    if (j_has(jgetc(state, "running"))) {
        bool ready = jbool(jgetc(first, "ready"), false);
        c.state = CONTAINER_RUNNING;
        c.readiness = ready ? PROBE_OK : PROBE_PENDING;
        c.started = when_of(w, s->pod, time_at(state, "running.startedAt"));
    } else if (waits && (s->life->run > 0 || s->pod->deleting)) {
        c.state = CONTAINER_EXITED;
        c.exit = c.last;
        c.exit.finished = when_of(w, s->pod, c.last.finished.wall);
        c.started.at = MAX(c.exit.finished.at - s->life->run, 1);
        c.last = (struct run_seen){0};
    } else if (!s->pod->deleting) {
        return false; /* what another hand has put here is that hand's to heal */
    }
    for (size_t i = 0; i < s->parts.n_mains; i++)
        s->seen.containers[s->parts.n_inits + i] = c;
    return true;
}

/* One that was added to look around runs from when it is seen. */
static void read_ephemerals(struct sim_pod *s, const struct world *w)
{
    jval list = jgetc(obj_status(s->pod), "ephemeralContainerStatuses");
    for (struct jiter it = jiter(list); jnext(&it) && it.index < s->parts.n_ephemerals;) {
        struct container_seen *c =
            &s->seen.containers[s->seen.n - s->parts.n_ephemerals + it.index];
        usec since = time_at(it.value, "state.running.startedAt");
        if (since == 0)
            continue;
        c->state = CONTAINER_RUNNING;
        c->started = when_of(w, s->pod, since);
    }
}

/* deletionTimestamp is when the grace period ends. */
static void read_deletion(struct sim_pod *s, const struct world *w)
{
    int64_t seconds = jint(jgetc(s->pod->meta, "deletionGracePeriodSeconds"), -1);
    usec grace = MIN(MAX(seconds, 0), GRACE_MAX) * USEC_PER_SEC;
    usec asked = world_rebased_seen(w, s->pod, obj_deleted_at(s->pod) - grace);
    s->in.delete_by = (struct when){.at = asked + grace, .wall = obj_deleted_at(s->pod)};
    s->stop_due = asked + MIN(s->life->stop, grace);
}

bool sim_pod_observe(struct sim_pod *s, const struct world *w, const struct obj *pod,
                     const struct life *life, struct arena *a)
{
    jval status = obj_status(pod);
    str phase = jstr(jgetc(status, "phase"));
    usec started = time_at(status, "startTime");
    s->pod = pod;
    s->life = life;
    s->arena = a;
    s->parts = pod_parts_of(pod);
    s->seen.n = pod_parts_count(&s->parts);
    s->seen.containers = arena_array(a, struct container_seen, s->seen.n);
    s->base = when_of(w, pod, pod_bound_at(pod));
    s->in = (struct machine_input){.pod = pod, .seen = &s->seen, .now = {w->now, w->now}};
    if (started)
        s->in.started = when_of(w, pod, started);
    if (pod->deleting)
        read_deletion(s, w);
    else if (str_is(phase, "Succeeded") || str_is(phase, "Failed"))
        return false;
    read_ephemerals(s, w);
    bool began = read_inits(s, w), runs = str_is(phase, "Running");
    s->seen.sandbox = began || runs ? SANDBOX_READY : SANDBOX_STARTING;
    return !runs || read_containers(s, w);
}

/* ---- what happens ---- */

static void note_due(struct sim_pod *s, usec due)
{
    if (s->due == 0 || due < s->due)
        s->due = due;
}

/* Whether it is time; else it is noted. */
static bool comes(struct sim_pod *s, usec due)
{
    if (due > s->in.now.at)
        note_due(s, due);
    return due <= s->in.now.at;
}

static void end_container(struct sim_pod *s, struct container_seen *c, int64_t code)
{
    c->state = CONTAINER_EXITED;
    c->exit = (struct run_seen){
        .started.wall = c->started.wall, .finished = s->in.now, .exit_code = code};
}

/* The init container that runs ends, unless it waits for others. */
static bool inits_happen(struct sim_pod *s)
{
    for (size_t i = 0; i < s->parts.n_inits; i++) {
        struct container_seen *c = &s->seen.containers[i];
        jval spec = jat(s->parts.inits, i);
        if (c->state != CONTAINER_RUNNING || init_is_sidecar(spec))
            continue;
        if (s->is_held && s->is_held(s->ctx, s->pod, spec))
            continue;
        if (!comes(s, c->started.at + s->life->init))
            continue;
        end_container(s, c, 0);
        s->base = s->in.now;
        return true;
    }
    return false;
}

/* A container becomes ready, or exits. One that exits before it would be ready never is. */
static bool mains_happen(struct sim_pod *s, bool *exited)
{
    const struct life *l = s->life;
    bool moved = false, exits_now = false;
    for (size_t i = s->parts.n_inits; i < s->parts.n_inits + s->parts.n_mains; i++) {
        struct container_seen *c = &s->seen.containers[i];
        bool exits = l->run > 0 && (l->exits < 0 || c->attempt < l->exits);
        if (c->state != CONTAINER_RUNNING)
            continue;
        if (c->readiness != PROBE_OK && !(exits && l->run < l->ready)) {
            if (!comes(s, c->started.at + l->ready))
                continue;
            c->readiness = PROBE_OK;
            moved = true;
        }
        if (!exits || *exited || !comes(s, c->started.at + l->run))
            continue;
        end_container(s, c, l->exit_code);
        moved = exits_now = true;
    }
    /* A life without delays would go round for ever: one run at a time. */
    *exited = *exited || exits_now;
    return moved;
}

static bool stop_happens(struct sim_pod *s)
{
    if (s->seen.sandbox == SANDBOX_GONE || !comes(s, s->stop_due))
        return false;
    for (size_t i = 0; i < s->seen.n; i++) {
        struct container_seen *c = &s->seen.containers[i];
        if (c->state == CONTAINER_RUNNING)
            end_container(s, c, 0);
    }
    s->seen.sandbox = SANDBOX_GONE;
    return true;
}

static bool happens(struct sim_pod *s, bool *exited)
{
    if (s->pod->deleting)
        return stop_happens(s);
    if (s->seen.sandbox == SANDBOX_STARTING) {
        usec start = s->parts.n_inits ? 0 : s->life->start;
        if (!comes(s, s->base.at + s->life->pull + start))
            return false;
        s->seen.sandbox = SANDBOX_READY;
        s->base = s->in.now;
        return true;
    }
    bool inits = inits_happen(s), mains = mains_happen(s, exited);
    return inits || mains;
}

/* ---- what is asked ---- */

static bool start_container(struct sim_pod *s, const struct machine_action *a)
{
    struct container_seen *c = &s->seen.containers[a->container];
    bool main =
        a->container >= s->parts.n_inits && a->container < s->parts.n_inits + s->parts.n_mains;
    if (main && a->attempt == 0 && s->parts.n_inits > 0 && !comes(s, s->base.at + s->life->start))
        return false;
    *c = (struct container_seen){.state = CONTAINER_RUNNING,
                                 .attempt = a->attempt,
                                 .streak = a->streak,
                                 .started = s->in.now,
                                 .last = c->exit,
                                 .post_start = HOOK_DONE,
                                 .readiness = main ? PROBE_PENDING : PROBE_NONE};
    c->last.started.wall = 0;
    if (!main)
        s->base = s->in.now;
    return true;
}

static bool carry_out(struct sim_pod *s, const struct machine_action *a)
{
    struct container_seen *c = &s->seen.containers[a->container];
    switch (a->act) {
    case ACT_START:
        return start_container(s, a);
    case ACT_PRE_STOP:
    case ACT_STOP:
        if (s->pod->deleting) {
            c->stop = STOP_TERM; /* it ends when the pod does */
            c->stop_by = a->stop_by;
            return false;
        }
        end_container(s, c, 128 + 15);
        return true;
    case ACT_SANDBOX_STOP:
        s->seen.sandbox = s->pod->deleting ? s->seen.sandbox : SANDBOX_GONE;
        return !s->pod->deleting;
    case ACT_SANDBOX:
    case ACT_POST_START:
        break;
    }
    return false;
}

void sim_pod_judge(struct sim_pod *s)
{
    machine_plan(&s->in, s->arena, &s->result);
}

bool sim_pod_advance(struct sim_pod *s)
{
    bool moved = false, exited = false;
    for (bool more = true; more;) {
        s->due = 0;
        more = happens(s, &exited);
        sim_pod_judge(s);
        for (size_t i = 0; i < s->result.n_actions; i++)
            more = carry_out(s, &s->result.actions[i]) || more;
        moved = moved || more;
    }
    if (s->result.look_at)
        note_due(s, s->result.look_at);
    return moved;
}

/* ---- rest ---- */

static bool shows_all(const struct obj *pod)
{
    return jlen(jgetc(obj_spec(pod), "ephemeralContainers")) <=
           jlen(jgetc(obj_status(pod), "ephemeralContainerStatuses"));
}

bool sim_pod_is_settled(const struct obj *pod)
{
    jval status = obj_status(pod), spec = obj_spec(pod);
    jval first = jat(jgetc(status, "containerStatuses"), 0);
    return jbool(jgetc(first, "ready"), false) && str_is(jstr(jgetc(status, "phase")), "Running") &&
           j_has(jgetc(jgetc(first, "state"), "running")) &&
           str_is_empty(obj_annotation(pod, STR(LIFE_PREFIX "run"))) && shows_all(pod) &&
           !j_has(jgetc(spec, "readinessGates")) && !j_has(jgetc(spec, "activeDeadlineSeconds"));
}
