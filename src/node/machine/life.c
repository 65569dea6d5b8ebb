/* The stages of a pod's life; see life.h. */
#include "node/machine/life.h"

#include "base/hash.h"
#include "grove/pod.h"

#define BACKOFF_FIRST (10 * USEC_PER_SEC)
#define BACKOFF_MAX (5 * USEC_PER_MIN)
#define BACKOFF_RESET (10 * USEC_PER_MIN)
#define DELAY_MAX (366 * USEC_PER_DAY)

/* ---- delays ---- */

static str setting(const struct obj *pod, const char *name)
{
    char key[64] = LIFE_PREFIX;
    size_t prefix = sizeof(LIFE_PREFIX) - 1, len = strlen(name);
    if (jlen(pod->annotations) == 0)
        return STR_NONE;
    BUG_ON(prefix + len > sizeof(key));
    memcpy(key + prefix, name, len);
    return obj_annotation(pod, str_n(key, prefix + len));
}

/* Evenly within jitter percent of the delay, always the same for one pod and stage. */
static usec jittered(const struct obj *pod, const char *stage, usec delay, unsigned jitter)
{
    if (jitter == 0 || delay == 0)
        return delay;
    uint64_t h = hash_fnv1a64(pod->uid) * 31 + hash_fnv1a64(str_of(stage));
    h ^= h >> 29;
    int64_t thousandth = (int64_t)(h % 2001) - 1000;
    return delay + delay / 1000 * thousandth * jitter / 100;
}

static usec delay_of(const struct obj *pod, const char *stage, usec node, unsigned jitter)
{
    usec own;
    if (duration_parse_usec(setting(pod, stage), &own) && own >= 0)
        return MIN(own, DELAY_MAX);
    return jittered(pod, stage, MIN(node, DELAY_MAX), jitter);
}

static int64_t number_of(const struct obj *pod, const char *name, int64_t otherwise)
{
    int64_t v;
    return str_to_int(setting(pod, name), &v) && v >= 0 && v <= 1000000 ? v : otherwise;
}

struct life life_of(const struct obj *pod, const struct life *node, unsigned jitter)
{
    return (struct life){
        .pull = delay_of(pod, "pull", node->pull, jitter),
        .init = delay_of(pod, "init", node->init, jitter),
        .start = delay_of(pod, "start", node->start, jitter),
        .ready = delay_of(pod, "ready", node->ready, jitter),
        .stop = delay_of(pod, "stop", node->stop, jitter),
        .run = delay_of(pod, "run", node->run, jitter),
        .exit_code = number_of(pod, "exit-code", node->exit_code),
        .exits = number_of(pod, "exits", node->exits),
    };
}

usec life_backoff(const struct life *l, int64_t restarts)
{
    if (restarts == 0 || l->run >= BACKOFF_RESET)
        return 0;
    usec pause = BACKOFF_FIRST;
    for (int64_t i = 1; i < restarts && pause < BACKOFF_MAX; i++)
        pause *= 2;
    return MIN(pause, BACKOFF_MAX);
}

/* ---- where it is ---- */

bool init_is_sidecar(jval container)
{
    return str_is(jstr(jgetc(container, "restartPolicy")), "Always");
}

static usec time_at(jval v, const char *path)
{
    usec t = 0;
    (void)time_parse_rfc3339(jstr(jpath(v, path)), &t);
    return t;
}

static void set_since(const struct world *w, const struct obj *pod, struct progress *p, usec since)
{
    p->since = MAX(since, 1); /* what cannot be read was long ago; 0 means never */
    p->began = world_rebased_seen(w, pod, p->since);
}

/* If it was later than what is known. */
static void move_since(const struct world *w, const struct obj *pod, struct progress *p, usec since)
{
    if (since > 0 && world_rebased_seen(w, pod, since) > p->began)
        set_since(w, pod, p, since);
}

static void read_inits(const struct world *w, const struct obj *pod, struct progress *p)
{
    for (struct jiter it = jiter(jgetc(obj_status(pod), "initContainerStatuses")); jnext(&it);) {
        jval state = jgetc(it.value, "state");
        p->stage = LIFE_INIT;
        if (j_has(jgetc(state, "terminated")) || jbool(jgetc(it.value, "started"), false))
            p->inits_done++;
        move_since(w, pod, p, time_at(state, "terminated.finishedAt"));
        move_since(w, pod, p, time_at(state, "running.startedAt"));
    }
}

/* All containers of a pod go through life together: the first tells for all. */
static void read_containers(const struct world *w, const struct obj *pod, struct progress *p)
{
    jval status = obj_status(pod);
    jval first = jat(jgetc(status, "containerStatuses"), 0), state = jgetc(first, "state");
    p->restarts = jint(jgetc(first, "restartCount"), 0);
    p->last_finished = time_at(first, "lastState.terminated.finishedAt");
    if (j_has(jgetc(state, "running"))) {
        p->stage = jbool(jgetc(first, "ready"), false) ? LIFE_READY : LIFE_RUNNING;
        set_since(w, pod, p, time_at(state, "running.startedAt"));
    } else if (j_has(jgetc(state, "waiting"))) {
        p->stage = LIFE_BACKOFF;
        set_since(w, pod, p, p->last_finished);
    } else {
        p->stage = LIFE_FOREIGN;
    }
}

struct progress progress_of(const struct world *w, const struct obj *pod)
{
    jval status = obj_status(pod), inits = jgetc(obj_spec(pod), "initContainers");
    str phase = jstr(jgetc(status, "phase"));
    struct progress p = {.stage = LIFE_BOUND, .inits = jlen(inits)};
    set_since(w, pod, &p, pod_bound_at(pod));
    if (str_is(phase, "Succeeded") || str_is(phase, "Failed")) {
        p.stage = LIFE_ENDED;
    } else if (str_is(phase, "Running")) {
        p.inits_done = p.inits;
        read_containers(w, pod, &p);
    } else {
        p.shown = j_has(jat(jgetc(status, "containerStatuses"), 0));
        read_inits(w, pod, &p);
    }
    return p;
}

bool life_shows_all(const struct obj *pod)
{
    return jlen(jgetc(obj_spec(pod), "ephemeralContainers")) <=
           jlen(jgetc(obj_status(pod), "ephemeralContainerStatuses"));
}

bool life_is_settled(const struct obj *pod)
{
    jval status = obj_status(pod), first = jat(jgetc(status, "containerStatuses"), 0);
    return jbool(jgetc(first, "ready"), false) && str_is(jstr(jgetc(status, "phase")), "Running") &&
           j_has(jgetc(jgetc(first, "state"), "running")) && str_is_empty(setting(pod, "run")) &&
           life_shows_all(pod);
}

/* ---- what comes next ---- */

static bool restarts_after(const struct obj *pod, int64_t exit_code)
{
    str policy = jstr(jgetc(obj_spec(pod), "restartPolicy"));
    return !str_is(policy, "Never") && !(str_is(policy, "OnFailure") && exit_code == 0);
}

static bool exits(const struct progress *p, const struct life *l)
{
    return l->run > 0 && (l->exits < 0 || p->restarts < l->exits);
}

static bool gates_are_open(const struct obj *pod)
{
    jval conditions = jgetc(obj_status(pod), "conditions");
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "readinessGates")); jnext(&it);) {
        if (!condition_is_true(conditions, jstr(jgetc(it.value, "conditionType"))))
            return false;
    }
    return true;
}

struct next {
    enum life_stage stage;
    usec due; /* 0: nothing comes of itself */
};

static struct next next_init(const struct progress *p, const struct life *l, const struct obj *pod,
                             bool held)
{
    jval c = jat(jgetc(obj_spec(pod), "initContainers"), p->inits_done);
    if (p->inits_done == p->inits)
        return (struct next){LIFE_RUNNING, p->began + l->start};
    if (init_is_sidecar(c))
        return (struct next){LIFE_INIT, p->began};
    return (struct next){LIFE_INIT, held ? 0 : p->began + l->init};
}

static struct next next_stage(const struct progress *p, const struct life *l, const struct obj *pod,
                              bool held)
{
    struct next exit = {restarts_after(pod, l->exit_code) ? LIFE_BACKOFF : LIFE_ENDED,
                        exits(p, l) ? p->began + l->run : 0};
    switch (p->stage) {
    case LIFE_BOUND:
        return p->inits ? (struct next){LIFE_INIT, p->began + l->pull}
                        : (struct next){LIFE_RUNNING, p->began + l->pull + l->start};
    case LIFE_INIT:
        return next_init(p, l, pod, held);
    case LIFE_RUNNING:
        if (exit.due && l->run < l->ready)
            return exit;
        return gates_are_open(pod) ? (struct next){LIFE_READY, p->began + l->ready} : exit;
    case LIFE_READY:
        return exit;
    case LIFE_BACKOFF:
        /* A container that another hand has put here is that hand's to heal. */
        return (struct next){LIFE_RUNNING,
                             l->run > 0 ? p->began + life_backoff(l, p->restarts) : 0};
    case LIFE_ENDED:
    case LIFE_FOREIGN:
        break;
    }
    return (struct next){0};
}

static void enter(struct progress *p, enum life_stage stage, usec now)
{
    if (p->stage == LIFE_INIT && stage == LIFE_INIT)
        p->inits_done++;
    if (stage == LIFE_BACKOFF)
        p->last_finished = now;
    if (p->stage == LIFE_BACKOFF)
        p->restarts++;
    /* A container's run counts from when it began to run, not from when it was ready. */
    if (stage != LIFE_READY)
        p->since = p->began = now;
    p->stage = stage;
}

bool progress_advance(struct progress *p, const struct life *l, const struct obj *pod, bool held,
                      usec now, usec *ret_due)
{
    bool moved = false;
    *ret_due = 0;
    /* A life without delays would go round for ever: one run at a time. */
    for (bool exited = false;;) {
        struct next n = next_stage(p, l, pod, held);
        *ret_due = n.due;
        if (n.due == 0 || n.due > now || (exited && n.stage == LIFE_BACKOFF))
            return moved;
        exited = exited || n.stage == LIFE_BACKOFF;
        enter(p, n.stage, now);
        moved = true;
    }
}
