/*
 * Random lives of pods under virtual time. A runtime that is slow, loses things and kills carries
 * out what the machine asks; what must hold is checked whenever something is asked:
 *
 *   - a container is started only when none of it runs, and its runs are counted one by one
 *   - init containers in order, containers after all of them, sidecars stop after the containers
 *   - no restart before its pause is over, none against the policy, none after the end
 *   - hooks once a run; nobody is killed before its grace period is over, or long after it
 *   - a phase and a restart count never go back
 *   - a deleted pod is gone in time
 */
#include "base/test.h"
#include "base/vec.h"
#include "node/machine/machine.h"
#include "node/machine/pod_status.h"
#include "json/yaml.h"

enum { MAX_CONTAINERS = 8 };

/* When something that the runtime was asked for comes; 0: nothing was. */
struct pending {
    usec start, exit, hook, probe, kill;
    int64_t exit_code;
};

struct life_run {
    struct arena arena;
    struct rng *rng;
    struct obj *pod;
    struct pod_parts parts;
    struct pod_seen seen;
    struct container_seen containers[MAX_CONTAINERS];
    struct pending pending[MAX_CONTAINERS];
    unsigned pre_stops[MAX_CONTAINERS], post_starts[MAX_CONTAINERS]; /* of the present run */
    usec now, sandbox_due, delete_by, deleted_at;
    enum pod_phase phase;
    struct machine_result out;
    str spec;
    int64_t grace;
    bool never, on_failure, gone;
    unsigned moves; /* without time passing */
};

static bool odds(struct life_run *l, unsigned percent)
{
    return rng_below(l->rng, 100) < percent;
}

static usec some(struct life_run *l, usec most)
{
    return (usec)rng_below(l->rng, (uint64_t)most + 1);
}

/* ---- the pod ---- */

static str random_spec(struct life_run *l)
{
    static const char *const hooks[] = {"", ", lifecycle: {preStop: {exec: {}}}",
                                        ", lifecycle: {postStart: {exec: {}}}"};
    static const char *const policies[] = {"Always", "OnFailure", "Never"};
    size_t policy = rng_below(l->rng, 3), inits = rng_below(l->rng, 4);
    size_t mains = 1 + rng_below(l->rng, 3);
    str s = STR("initContainers: [");
    for (size_t i = 0; i < inits; i++)
        s = arena_printf(&l->arena, "%.*s%s{name: i%zu%s}", STR_ARG(s), i ? ", " : "", i,
                         odds(l, 50) ? ", restartPolicy: Always" : "");
    s = arena_cat(&l->arena, s, STR("], containers: ["));
    for (size_t i = 0; i < mains; i++)
        s = arena_printf(&l->arena, "%.*s%s{name: c%zu%s}", STR_ARG(s), i ? ", " : "", i,
                         hooks[rng_below(l->rng, 3)]);
    l->never = policy == 2;
    l->on_failure = policy == 1;
    l->grace = (int64_t)rng_below(l->rng, 40);
    s = arena_printf(&l->arena, "%.*s], restartPolicy: %s, terminationGracePeriodSeconds: %d",
                     STR_ARG(s), policies[policy], (int)l->grace);
    return odds(l, 15) ? arena_cat(&l->arena, s, STR(", activeDeadlineSeconds: 400")) : s;
}

/* With the phase that was written last. */
static void make_pod(struct life_run *l)
{
    struct arena a = ARENA_INIT;
    str yaml =
        arena_printf(&a,
                     "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: n, uid: u%s}, "
                     "spec: {%.*s}, status: {phase: %s}}",
                     l->delete_by ? ", deletionTimestamp: '2026-01-01T00:00:00Z'" : "",
                     STR_ARG(l->spec), pod_phase_name(l->phase));
    struct doc *doc = yaml_parse_one(yaml, NULL);
    REQUIRE(doc != NULL);
    obj_unref(l->pod);
    l->pod = obj_new(&kind_pod, doc, NULL);
    REQUIRE(l->pod != NULL);
    l->parts = pod_parts_of(l->pod);
    arena_done(&a);
}

static bool is_sidecar(const struct life_run *l, size_t i)
{
    return i < l->parts.n_inits && init_is_sidecar(jat(l->parts.inits, i));
}

static bool is_alive(const struct life_run *l, size_t i)
{
    return l->containers[i].state == CONTAINER_RUNNING ||
           l->containers[i].state == CONTAINER_STARTING;
}

static bool has_hook(const struct life_run *l, size_t i, const char *hook)
{
    return j_has(jget(jgetc(pod_part_at(&l->parts, i), "lifecycle"), str_of(hook)));
}

/* ---- what must hold when something is asked ---- */

static void check_inits_before(const struct life_run *l, size_t i)
{
    for (size_t k = 0; k < MIN(i, l->parts.n_inits); k++) {
        const struct container_seen *c = &l->containers[k];
        if (is_sidecar(l, k))
            continue;
        CHECK(c->state == CONTAINER_EXITED && c->exit.exit_code == 0);
    }
}

static void check_start(const struct life_run *l, const struct machine_action *a)
{
    const struct container_seen *c = &l->containers[a->container];
    bool main = a->container >= l->parts.n_inits;
    CHECK(l->seen.sandbox == SANDBOX_READY);
    CHECK(c->state == CONTAINER_NONE || c->state == CONTAINER_EXITED);
    CHECK_INT(a->attempt, c->state == CONTAINER_NONE ? 0 : c->attempt + 1);
    CHECK(l->phase < POD_SUCCEEDED && !l->delete_by);
    if (main && c->sandbox == l->seen.sandbox_attempt)
        check_inits_before(l, a->container);
    if (c->state != CONTAINER_EXITED || is_sidecar(l, a->container))
        return;
    /* An init container is run again for a new sandbox whatever it exited with. */
    if (main || c->sandbox == l->seen.sandbox_attempt) {
        CHECK(!l->never);
        CHECK(!(l->on_failure && c->exit.exit_code == 0));
        usec ran = c->exit.finished.at - c->started.at;
        CHECK(ran >= 10 * USEC_PER_MIN || c->streak == 0 ||
              l->now - c->exit.finished.at >= 10 * USEC_PER_SEC);
    }
}

static void check_stop(const struct life_run *l, const struct machine_action *a)
{
    size_t i = a->container;
    const struct container_seen *c = &l->containers[i];
    usec least = l->now + 2 * USEC_PER_SEC;
    usec grace = l->delete_by ? l->delete_by : l->now + l->grace * USEC_PER_SEC;
    CHECK(is_alive(l, i));
    if (a->act == ACT_STOP) {
        CHECK(a->stop_by >= least);
        CHECK(a->stop_by <= MAX(grace, least));
        CHECK(c->stop != STOP_TERM || a->stop_by < c->stop_by);
        CHECK(c->stop != STOP_NONE || a->stop_by >= MIN(grace, c->stop_by ? c->stop_by : grace));
        /* The hook is over, or its time is. */
        CHECK(c->stop != STOP_HOOK || l->now >= MIN(c->stop_by, grace));
    } else {
        CHECK(has_hook(l, i, "preStop"));
        CHECK_INT(l->pre_stops[i], 0);
    }
    for (size_t k = 0; l->delete_by && is_sidecar(l, i) && k < l->seen.n; k++)
        CHECK(is_sidecar(l, k) || !is_alive(l, k));
}

/* ---- the runtime ---- */

static void start(struct life_run *l, size_t i)
{
    struct container_seen *c = &l->containers[i];
    bool once = i < l->parts.n_inits && !is_sidecar(l, i);
    c->state = CONTAINER_RUNNING;
    c->started = (struct when){l->now, l->now};
    if (once || odds(l, 60))
        l->pending[i].exit = l->now + 1 + some(l, once ? USEC_PER_SEC : 20 * USEC_PER_MIN);
    l->pending[i].exit_code = odds(l, 70) ? 0 : 3;
    if (!once && odds(l, 50))
        l->pending[i].probe = l->now + 1 + some(l, 5 * USEC_PER_MIN);
}

static void exit_with(struct life_run *l, size_t i, int64_t code)
{
    struct container_seen *c = &l->containers[i];
    c->state = CONTAINER_EXITED;
    c->stop = STOP_NONE;
    c->exit =
        (struct run_seen){.started = c->started, .finished = {l->now, l->now}, .exit_code = code};
    l->pending[i] = (struct pending){0};
}

static void carry_out_start(struct life_run *l, const struct machine_action *a)
{
    struct container_seen *c = &l->containers[a->container];
    check_start(l, a);
    *c = (struct container_seen){.state = CONTAINER_STARTING,
                                 .attempt = a->attempt,
                                 .streak = a->streak,
                                 .sandbox = l->seen.sandbox_attempt,
                                 .last = c->exit,
                                 .readiness = PROBE_PENDING};
    l->pre_stops[a->container] = l->post_starts[a->container] = 0;
    l->pending[a->container] = (struct pending){.start = l->now + 1 + some(l, USEC_PER_SEC)};
}

static void carry_out(struct life_run *l, const struct machine_action *a)
{
    struct container_seen *c = &l->containers[a->container];
    struct pending *p = &l->pending[a->container];
    switch (a->act) {
    case ACT_SANDBOX:
        CHECK(l->seen.sandbox == SANDBOX_NONE || l->seen.sandbox == SANDBOX_GONE);
        CHECK_INT(a->attempt, l->seen.sandbox_attempt + (l->seen.sandbox == SANDBOX_GONE));
        for (size_t i = 0; i < l->seen.n; i++)
            CHECK(!is_alive(l, i));
        l->seen.sandbox = SANDBOX_STARTING;
        l->seen.sandbox_attempt = a->attempt;
        l->sandbox_due = l->now + 1 + some(l, USEC_PER_SEC);
        break;
    case ACT_START:
        carry_out_start(l, a);
        break;
    case ACT_POST_START:
        CHECK_INT(l->post_starts[a->container]++, 0);
        CHECK(has_hook(l, a->container, "postStart"));
        c->post_start = HOOK_RUNS;
        p->hook = l->now + 1 + some(l, 10 * USEC_PER_SEC);
        break;
    case ACT_PRE_STOP:
        check_stop(l, a);
        l->pre_stops[a->container]++;
        c->stop = STOP_HOOK;
        c->stop_by = a->stop_by;
        p->hook = l->now + 1 + some(l, 60 * USEC_PER_SEC);
        break;
    case ACT_STOP:
        check_stop(l, a);
        c->stop = STOP_TERM;
        c->stop_by = p->kill = a->stop_by;
        if (odds(l, 60))
            p->exit = l->now + 1 + some(l, 20 * USEC_PER_SEC);
        if (c->state == CONTAINER_STARTING)
            exit_with(l, a->container, 137);
        break;
    case ACT_SANDBOX_STOP:
        for (size_t i = 0; i < l->seen.n; i++)
            CHECK(!is_alive(l, i));
        l->seen.sandbox = SANDBOX_GONE;
        l->sandbox_due = 0;
        break;
    }
}

/* ---- events ---- */

static bool falls_due(const struct life_run *l, usec *due)
{
    if (*due == 0 || *due > l->now)
        return false;
    *due = 0;
    return true;
}

static void happen_to(struct life_run *l, size_t i)
{
    struct pending *p = &l->pending[i];
    struct container_seen *c = &l->containers[i];
    if (falls_due(l, &p->start))
        start(l, i);
    if (c->state != CONTAINER_RUNNING)
        return;
    if (falls_due(l, &p->hook)) {
        if (c->stop == STOP_HOOK)
            c->stop = STOP_HOOKED;
        else if (c->post_start == HOOK_RUNS)
            c->post_start = odds(l, 90) ? HOOK_DONE : HOOK_FAILED;
    }
    if (falls_due(l, &p->probe)) {
        c->readiness = odds(l, 80) ? PROBE_OK : PROBE_FAILED;
        c->liveness = odds(l, 80) ? PROBE_OK : PROBE_FAILED;
    }
    if (falls_due(l, &p->exit))
        exit_with(l, i, p->exit_code);
    else if (falls_due(l, &p->kill))
        exit_with(l, i, 137);
}

static void lose_sandbox(struct life_run *l)
{
    for (size_t i = 0; i < l->seen.n; i++) {
        if (is_alive(l, i))
            exit_with(l, i, 137);
    }
    l->seen.sandbox = SANDBOX_GONE;
}

static void happen(struct life_run *l)
{
    for (size_t i = 0; i < l->seen.n; i++)
        happen_to(l, i);
    if (l->seen.sandbox == SANDBOX_STARTING && falls_due(l, &l->sandbox_due))
        l->seen.sandbox = SANDBOX_READY;
    if (l->seen.sandbox == SANDBOX_READY && odds(l, 1))
        lose_sandbox(l);
    if (odds(l, 3) && (!l->delete_by || l->delete_by > l->now)) {
        usec by = l->now + some(l, l->grace * USEC_PER_SEC);
        if (!l->delete_by)
            l->deleted_at = l->now;
        l->delete_by = l->delete_by ? MIN(by, l->delete_by) : by;
    }
}

static usec next_due(const struct life_run *l)
{
    usec next = l->out.look_at ? l->out.look_at : INT64_MAX;
    if (l->sandbox_due)
        next = MIN(next, l->sandbox_due);
    for (size_t i = 0; i < l->seen.n; i++) {
        const struct pending *p = &l->pending[i];
        const usec all[] = {p->start, p->exit, p->hook, p->probe, p->kill};
        for (size_t k = 0; k < ARRAY_LEN(all); k++) {
            if (all[k])
                next = MIN(next, all[k]);
        }
    }
    return next;
}

/* ---- a life ---- */

static void step(struct life_run *l)
{
    struct machine_input in = {.pod = l->pod,
                               .seen = &l->seen,
                               .now = {l->now, l->now},
                               .started = {USEC_PER_SEC, USEC_PER_SEC},
                               .delete_by = {l->delete_by, l->delete_by}};
    machine_plan(&in, &l->arena, &l->out);
    CHECK(l->out.phase >= l->phase);
    CHECK(l->out.look_at == 0 || l->out.look_at > l->now);
    l->phase = l->out.phase;
    for (size_t i = 0; i < l->out.n_actions; i++)
        carry_out(l, &l->out.actions[i]);
    l->gone = l->delete_by && l->out.gone;
    l->moves = l->out.n_actions ? l->moves + 1 : 0;
    CHECK(l->moves < 20);
    make_pod(l);
}

/* Each of a pod's containers has its grace, and the sidecars come after each other. */
static usec longest_end(const struct life_run *l)
{
    return (usec)(l->seen.n + 1) * (2 * USEC_PER_SEC + 1) + (l->delete_by - l->deleted_at) +
           USEC_PER_SEC;
}

static void live(struct rng *rng)
{
    struct life_run l = {.rng = rng, .now = USEC_PER_SEC};
    l.spec = random_spec(&l);
    make_pod(&l);
    l.seen.containers = l.containers;
    l.seen.n = pod_parts_count(&l.parts);
    REQUIRE(l.seen.n <= MAX_CONTAINERS);
    for (size_t i = 0; i < 400 && !l.gone; i++) {
        step(&l);
        if (l.out.n_actions == 0) {
            usec next = next_due(&l);
            /* At rest: somebody deletes it. */
            if (next == INT64_MAX && l.delete_by)
                break;
            l.now = next == INT64_MAX ? l.now + USEC_PER_MIN : next;
            if (next == INT64_MAX) {
                l.deleted_at = l.now;
                l.delete_by = l.now + some(&l, l.grace * USEC_PER_SEC);
            }
        }
        happen(&l);
        make_pod(&l);
        if (l.delete_by)
            REQUIRE(l.now - l.deleted_at <= longest_end(&l));
    }
    CHECK(!l.delete_by || l.gone || l.now - l.deleted_at <= longest_end(&l));
    obj_unref(l.pod);
    arena_done(&l.arena);
}

TEST(random_lives_keep_what_they_must)
{
    size_t n = test_cases(2000);
    for (size_t i = 0; i < n; i++)
        live(test_rng());
}
