/*
 * The pod machine: a table of single decisions, written down from the Kubernetes documentation of
 * the pod life cycle, and random lives against what must hold in each.
 *
 * A case is a spec, what was seen, and what follows. What was seen is a few words:
 *
 *   P:Running       the phase recorded so far          D:30   deleted, the grace period ends in 30
 * s T:100           started 100 s ago                  C:x/y  a condition that is true
 *   -, +, R, X      the sandbox: none, starting, ready, gone; X2: its attempt is 2
 *
 * and from there one word for each container, in order:
 *
 *   -               it has never run                   s1     being started, attempt 1
 *   r5              it has run for 5 s                 x3@5   exited with 3, 5 s ago
 *     #1 attempt, ~1 streak, /600 the run that ended took 600 s, ^1 in sandbox 1
 *     S L R followed by + ? -: startup, liveness, readiness probe is ok, pending, failed
 *     p0 p1 p2: its postStart hook runs, is done, failed
 *     h20 d20 t20: preStop hook runs, is done, was asked to end; by 20 s from now
 *
 * What follows: the actions, and the rest ("Running init ready gates-closed gone look=6 a:Reason").
 */
#include "node/machine/machine.h"

#include "base/strbuf.h"
#include "base/test.h"
#include "base/vec.h"
#include "node/machine/pod_status.h"
#include "json/yaml.h"

#define NOW (1000000 * USEC_PER_SEC)

struct row {
    const char *what, *spec, *seen, *actions, *rest;
};

/* ---- reading a case ---- */

struct setting {
    struct arena arena;
    struct obj *pod;
    struct pod_seen seen;
    struct machine_input in;
    struct machine_result out;
};

static usec ago(int64_t seconds)
{
    return NOW - seconds * USEC_PER_SEC;
}

static struct when at(usec t)
{
    return (struct when){t, t};
}

static int64_t number(const char **p)
{
    char *end;
    int64_t v = strtoll(*p, &end, 10);
    *p = end;
    return v;
}

static enum probe_state probe_of(char c)
{
    return c == '+' ? PROBE_OK : c == '?' ? PROBE_PENDING : PROBE_FAILED;
}

static void read_stop(struct container_seen *c, enum stop_state state, const char **p)
{
    c->stop = state;
    c->stop_by = ago(-number(p));
}

static void read_mark(struct container_seen *c, const char **p)
{
    char mark = *(*p)++;
    switch (mark) {
    case '#':
        c->attempt = number(p);
        break;
    case '~':
        c->streak = (unsigned)number(p);
        break;
    case '/':
        c->started = at(c->exit.finished.at - number(p) * USEC_PER_SEC);
        break;
    case '^':
        c->sandbox = number(p);
        break;
    case 'S':
        c->startup = probe_of(*(*p)++);
        break;
    case 'L':
        c->liveness = probe_of(*(*p)++);
        break;
    case 'R':
        c->readiness = probe_of(*(*p)++);
        break;
    case 'p':
        c->post_start = (enum hook_state)(HOOK_RUNS + number(p));
        break;
    case 'h':
        read_stop(c, STOP_HOOK, p);
        break;
    case 'd':
        read_stop(c, STOP_HOOKED, p);
        break;
    case 't':
        read_stop(c, STOP_TERM, p);
        break;
    default:
        test_note("no such mark: %c", mark);
        test_abort_();
    }
}

static void read_container(struct container_seen *c, const char **p)
{
    char state = *(*p)++;
    if (state == 's') {
        c->state = CONTAINER_STARTING;
        if (**p >= '0' && **p <= '9')
            c->attempt = number(p);
    } else if (state == 'r') {
        c->state = CONTAINER_RUNNING;
        c->started = at(ago(number(p)));
    } else if (state == 'x') {
        c->state = CONTAINER_EXITED;
        c->exit.exit_code = number(p);
        REQUIRE(*(*p)++ == '@');
        c->exit.finished = at(ago(number(p)));
        c->started = at(c->exit.finished.at - USEC_PER_SEC);
    } else {
        REQUIRE(state == '-');
    }
    while (**p && **p != ' ')
        read_mark(c, p);
}

static const char *word(struct arena *a, const char **p)
{
    const char *from = *p;
    while (**p && **p != ' ')
        (*p)++;
    return arena_str(a, str_n(from, (size_t)(*p - from))).p;
}

static void read_sandbox(struct pod_seen *s, const char **p)
{
    char c = *(*p)++;
    s->sandbox = c == 'R'   ? SANDBOX_READY
                 : c == '+' ? SANDBOX_STARTING
                 : c == 'X' ? SANDBOX_GONE
                            : SANDBOX_NONE;
    if (**p >= '0' && **p <= '9')
        s->sandbox_attempt = number(p);
}

static struct obj *make_pod(struct setting *t, const char *spec, const char *phase,
                            const char *condition, bool deleted)
{
    str yaml = arena_printf(
        &t->arena,
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: n, uid: u%s}, spec: {%s}, "
        "status: {phase: %s, conditions: [{type: %s, status: 'True'}]}}",
        deleted ? ", deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 30"
                : "",
        spec, phase, condition);
    struct doc *doc = yaml_parse_one(yaml, NULL);
    REQUIRE(doc != NULL);
    struct obj *o = obj_new(&kind_pod, doc, NULL);
    REQUIRE(o != NULL);
    return o;
}

static void set_up(struct setting *t, const char *spec, const char *p)
{
    const char *phase = "Pending", *condition = "None";
    bool deleted = false;
    memset(t, 0, sizeof(*t));
    t->in = (struct machine_input){.seen = &t->seen, .now = at(NOW), .started = at(NOW)};
    while (*p && p[1] == ':') {
        char c = *p;
        p += 2;
        if (c == 'P') {
            phase = word(&t->arena, &p);
        } else if (c == 'C') {
            condition = word(&t->arena, &p);
        } else if (c == 'T') {
            t->in.started = at(ago(number(&p)));
        } else {
            deleted = true;
            t->in.delete_by = at(ago(-number(&p)));
        }
        p += *p == ' ';
    }
    read_sandbox(&t->seen, &p);
    t->pod = make_pod(t, spec, phase, condition, deleted);
    t->in.pod = t->pod;
    struct pod_parts parts = pod_parts_of(t->pod);
    t->seen.n = pod_parts_count(&parts);
    t->seen.containers = arena_array(&t->arena, struct container_seen, t->seen.n);
    for (size_t i = 0; i < t->seen.n && *p == ' '; i++) {
        p++;
        read_container(&t->seen.containers[i], &p);
    }
    REQUIRE(*p == 0);
}

static void tear_down(struct setting *t)
{
    obj_unref(t->pod);
    arena_done(&t->arena);
}

/* ---- writing what follows ---- */

static str name_at(const struct setting *t, size_t i)
{
    struct pod_parts parts = pod_parts_of(t->pod);
    return jstr(jgetc(pod_part_at(&parts, i), "name"));
}

static void print_actions(const struct setting *t, struct strbuf *b)
{
    static const char *const words[] = {"sandbox",  "start", "post-start",
                                        "pre-stop", "stop",  "end-sandbox"};
    for (size_t i = 0; i < t->out.n_actions; i++) {
        const struct machine_action *a = &t->out.actions[i];
        strbuf_printf(b, "%s%s", i ? "; " : "", words[a->act]);
        if (a->act == ACT_SANDBOX)
            strbuf_printf(b, " %d", (int)a->attempt);
        else if (a->act != ACT_SANDBOX_STOP)
            strbuf_printf(b, " %.*s", STR_ARG(name_at(t, a->container)));
        if (a->act == ACT_START)
            strbuf_printf(b, "#%d~%u", (int)a->attempt, a->streak);
        if (a->act == ACT_PRE_STOP || a->act == ACT_STOP)
            strbuf_printf(b, " +%d", (int)((a->stop_by - NOW) / USEC_PER_SEC));
    }
}

static void print_rest(const struct setting *t, struct strbuf *b)
{
    const struct machine_result *r = &t->out;
    strbuf_printf(b, "%s", pod_phase_name(r->phase));
    if (r->initialized)
        strbuf_printf(b, " init");
    if (r->containers_ready)
        strbuf_printf(b, " ready");
    if (!r->gates_open)
        strbuf_printf(b, " gates-closed");
    if (r->gone)
        strbuf_printf(b, " gone");
    if (r->look_at)
        strbuf_printf(b, " look=%d", (int)((r->look_at - NOW) / USEC_PER_SEC));
    if (r->reason)
        strbuf_printf(b, " %s", r->reason);
    for (size_t i = 0; i < t->seen.n; i++) {
        if (t->seen.containers[i].state == CONTAINER_EXITED && r->containers[i].waiting)
            strbuf_printf(b, " %.*s:%s", STR_ARG(name_at(t, i)), r->containers[i].waiting);
    }
}

static void check_row(const struct row *row)
{
    struct setting t;
    struct strbuf actions = STRBUF_INIT(4096), rest = STRBUF_INIT(4096);
    set_up(&t, row->spec, row->seen);
    machine_plan(&t.in, &t.arena, &t.out);
    print_actions(&t, &actions);
    print_rest(&t, &rest);
    bool ok = CHECK_CSTR(strbuf_str(&actions), row->actions);
    if (row->rest)
        ok = CHECK_CSTR(strbuf_str(&rest), row->rest) && ok;
    if (!ok)
        test_note("%s: {%s} seen %s", row->what, row->spec, row->seen);
    strbuf_done(&actions);
    strbuf_done(&rest);
    tear_down(&t);
}

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_row(&rows[i]);
}
#define CHECK_ROWS(rows) check_rows(rows, ARRAY_LEN(rows))

/* ---- specs ---- */

#define A "containers: [{name: a}]"
#define AB "containers: [{name: a}, {name: b}]"
#define ABC "containers: [{name: a}, {name: b}, {name: c}]"
#define NEVER ", restartPolicy: Never"
#define ONFAIL ", restartPolicy: OnFailure"
#define ALWAYS ", restartPolicy: Always"
#define I1 ", initContainers: [{name: i}]"
#define I2 ", initContainers: [{name: i}, {name: j}]"
#define SIDE ", initContainers: [{name: s, restartPolicy: Always}]"
#define SIDE2 \
    ", initContainers: [{name: s, restartPolicy: Always}, {name: t, restartPolicy: Always}]"
#define ISJ ", initContainers: [{name: i}, {name: s, restartPolicy: Always}, {name: j}]"
#define EPH ", ephemeralContainers: [{name: e}]"
#define DEADLINE ", activeDeadlineSeconds: 60"
#define GATES ", readinessGates: [{conditionType: x/y}]"
#define GRACE(n) ", terminationGracePeriodSeconds: " #n
#define APRE "containers: [{name: a, lifecycle: {preStop: {exec: {}}}}]"
#define APOST "containers: [{name: a, lifecycle: {postStart: {exec: {}}}}]"
#define ALIVE(n) "containers: [{name: a, livenessProbe: {terminationGracePeriodSeconds: " #n "}}]"
#define ASTART(n) "containers: [{name: a, startupProbe: {terminationGracePeriodSeconds: " #n "}}]"

TEST(pods_start_in_order)
{
    static const struct row rows[] = {
        {"a sandbox comes first", A, "- -", "sandbox 0", "Pending init"},
        {"also before init containers", A I1, "- - -", "sandbox 0", "Pending"},
        {"it is waited for", A, "+ -", "", "Pending init"},
        {"then the container", A, "R -", "start a#0~0", "Pending init"},
        {"all containers together", ABC, "R - - -", "start a#0~0; start b#0~0; start c#0~0", NULL},
        {"those that are missing", ABC, "R r1 - s", "start b#0~0", "Pending init"},
        {"one that is being started is not started twice", A, "R s", "", "Pending init"},
        {"nothing is left to do", A, "R r1", "", "Running init ready"},
        {"init containers one by one", A I2, "R - - -", "start i#0~0", "Pending"},
        {"the first runs", A I2, "R r1 - -", "", "Pending"},
        {"the first is being started", A I2, "R s - -", "", "Pending"},
        {"the second after the first", A I2, "R x0@1 - -", "start j#0~0", "Pending"},
        {"the second runs", A I2, "R x0@9 r1 -", "", "Pending"},
        {"then the containers", A I2, "R x0@9 x0@1 -", "start a#0~0", "Pending init"},
        {"a failed one is run again at once", A I1, "R x1@0 -", "start i#1~1", "Pending"},
        {"and later after a pause", A I1, "R x1@4#1~1 -", "", "Pending look=6 i:CrashLoopBackOff"},
        {"until it has passed", A I1, "R x1@10#1~1 -", "start i#2~2", "Pending"},
        {"OnFailure runs it again, too", A I1 ONFAIL, "R x1@0 -", "start i#1~1", "Pending"},
        {"Never fails the pod", A I1 NEVER, "R x1@0 -", "end-sandbox", "Failed"},
        {"Never, the second of two", A I2 NEVER, "R x0@5 x7@0 -", "end-sandbox", "Failed"},
        {"Never lets one that succeeded pass", A I1 NEVER, "R x0@0 -", "start a#0~0", NULL},
        {"once containers run, init containers are history", A I1, "P:Running R x0@9 r5", "",
         "Running init ready"},
        {"even when their exit is forgotten", A I1, "P:Running R - r5", "", "Running init ready"},
        {"even one that failed since", A I1, "P:Running R x1@9 r5", "", "Running init ready"},
        {"a container added to look around starts at once", A I1 EPH, "R r1 - -", "start e#0~0",
         "Pending"},
        {"and beside the containers", A EPH, "P:Running R r9 -", "start e#0~0",
         "Running init ready"},
        {"and never again", A EPH, "P:Running R r9 x1@1", "", "Running init ready"},
        {"nothing starts without a sandbox", ABC EPH, "+ - - - -", "", "Pending init"},
    };
    CHECK_ROWS(rows);
}

TEST(sidecars_start_and_stay)
{
    static const struct row rows[] = {
        {"a sidecar first", A SIDE, "R - -", "start s#0~0", "Pending"},
        {"while it is being started nothing else is", A SIDE, "R s -", "", "Pending"},
        {"running is enough", A SIDE, "R r0 -", "start a#0~0", "Pending init"},
        {"not with a startup probe that is pending", A SIDE, "R r5S? -", "", "Pending"},
        {"that passed", A SIDE, "R r5S+ -", "start a#0~0", "Pending init"},
        {"readiness does not matter for the order", A SIDE, "R r5R? -", "start a#0~0", NULL},
        {"one that failed to start is stopped", A SIDE, "R r5S- -", "stop s +30", "Pending"},
        {"its pod is not ready before it is", A SIDE, "P:Running R r9R? r5", "", "Running init"},
        {"and ready with it", A SIDE, "P:Running R r9R+ r5", "", "Running init ready"},
        {"between init containers", A ISJ, "R x0@1 - - -", "start s#0~0", "Pending"},
        {"the next waits for it", A ISJ, "R x0@1 s - -", "", "Pending"},
        {"the next after it", A ISJ, "R x0@1 r0 - -", "start j#0~0", "Pending"},
        {"it goes on beside the next", A ISJ, "R x0@9 r5 r1 -", "", "Pending"},
        {"it is run again while the next runs", A ISJ, "R x0@9 x1@0 r1 -", "start s#1~1", NULL},
        {"also after success", A SIDE, "P:Running R x0@0 r5", "start s#1~1", "Running init"},
        {"also where nothing else restarts", A SIDE NEVER, "P:Running R x1@0 r5", "start s#1~1",
         "Running init"},
        {"also on failure only", A SIDE ONFAIL, "P:Running R x0@0 r5", "start s#1~1", NULL},
        {"after its pause", A SIDE, "P:Running R x0@5#3~3 r50", "",
         "Running init look=35 s:CrashLoopBackOff"},
        {"its liveness counts", A SIDE, "P:Running R r50L- r50", "stop s +30", NULL},
        {"it does not keep a pod that is done", A SIDE NEVER, "P:Running R r9 x0@0", "stop s +30",
         "Succeeded init"},
        {"nor one that failed", A SIDE NEVER, "P:Running R r9 x2@0", "stop s +30", "Failed init"},
        {"two: the last one first", A SIDE2 NEVER, "P:Running R r9 r9 x0@0", "stop t +30", NULL},
        {"then the other", A SIDE2 NEVER, "P:Succeeded R r9 x0@0 x0@1", "stop s +30", NULL},
        {"then the sandbox", A SIDE2 NEVER, "P:Succeeded R x0@0 x0@1 x0@2", "end-sandbox", NULL},
        {"an ended pod restarts no sidecar", A SIDE NEVER, "P:Succeeded R x1@0 x0@9", "end-sandbox",
         "Succeeded init"},
        {"its exit code does not count", A SIDE NEVER, "P:Running R x9@0 x0@0", "end-sandbox",
         "Succeeded init"},
    };
    CHECK_ROWS(rows);
}

TEST(restart_policies_say_what_an_exit_means)
{
    static const struct row rows[] = {
        {"Always, failed", A ALWAYS, "P:Running R x1@0", "start a#1~1", "Running init"},
        {"Always, succeeded", A ALWAYS, "P:Running R x0@0", "start a#1~1", "Running init"},
        {"no policy is Always", A, "P:Running R x0@0", "start a#1~1", "Running init"},
        {"OnFailure, failed", A ONFAIL, "P:Running R x1@0", "start a#1~1", "Running init"},
        {"OnFailure, succeeded", A ONFAIL, "P:Running R x0@0", "end-sandbox", "Succeeded init"},
        {"Never, failed", A NEVER, "P:Running R x1@0", "end-sandbox", "Failed init"},
        {"Never, succeeded", A NEVER, "P:Running R x0@0", "end-sandbox", "Succeeded init"},
        {"killed counts as failed", A ONFAIL, "P:Running R x137@0", "start a#1~1", NULL},
        {"one of two ended for good", AB NEVER, "P:Running R x0@0 r9", "", "Running init"},
        {"the other way round", AB NEVER, "P:Running R r9 x3@0", "", "Running init"},
        {"both, one failed", AB NEVER, "P:Running R x0@5 x3@0", "end-sandbox", "Failed init"},
        {"both well", AB NEVER, "P:Running R x0@5 x0@0", "end-sandbox", "Succeeded init"},
        {"OnFailure: only who failed", AB ONFAIL, "P:Running R x0@5 x3@0", "start b#1~1",
         "Running init"},
        {"OnFailure: both well", AB ONFAIL, "P:Running R x0@5 x0@0", "end-sandbox",
         "Succeeded init"},
        {"Always: each by itself", AB, "P:Running R x0@0#4~0 x1@0", "start a#5~1; start b#1~1",
         "Running init"},
        {"one that never ran keeps the pod pending", AB NEVER, "R x0@0 s", "", "Pending init"},
        {"a phase does not go back for it", AB NEVER, "P:Running R x0@0 s", "", "Running init"},
        {"restarts are counted on", A, "P:Running R x1@500#41~9", "start a#42~10", NULL},
        {"one that is being started again", A, "P:Running R s1", "", "Running init"},
        {"what has ended stays so", A, "P:Succeeded X x1@0", "", "Succeeded init gone"},
        {"what has failed stays so", A, "P:Failed X x0@0", "", "Failed init gone"},
        {"nothing of it may run on", A, "P:Failed R r5", "stop a +30", "Failed init ready"},
        {"nor its sandbox", A, "P:Failed R -", "end-sandbox", "Failed init"},
    };
    CHECK_ROWS(rows);
}

TEST(pauses_grow_while_runs_are_short)
{
    static const struct row rows[] = {
        {"none at first", A, "P:Running R x1@0~0", "start a#1~1", NULL},
        {"10 s", A, "P:Running R x1@9#1~1", "", "Running init look=1 a:CrashLoopBackOff"},
        {"10 s, over", A, "P:Running R x1@10#1~1", "start a#2~2", "Running init"},
        {"20 s", A, "P:Running R x1@10#2~2", "", "Running init look=10 a:CrashLoopBackOff"},
        {"20 s, over", A, "P:Running R x1@20#2~2", "start a#3~3", NULL},
        {"40 s", A, "P:Running R x1@0#3~3", "", "Running init look=40 a:CrashLoopBackOff"},
        {"80 s", A, "P:Running R x1@0#4~4", "", "Running init look=80 a:CrashLoopBackOff"},
        {"160 s", A, "P:Running R x1@0#5~5", "", "Running init look=160 a:CrashLoopBackOff"},
        {"five minutes", A, "P:Running R x1@0#6~6", "", "Running init look=300 a:CrashLoopBackOff"},
        {"no more", A, "P:Running R x1@0#99~99", "", "Running init look=300 a:CrashLoopBackOff"},
        {"nor ever", A, "P:Running R x1@0#99~4000000000", "",
         "Running init look=300 a:CrashLoopBackOff"},
        {"a long run forgives", A, "P:Running R x1@0#9~9/600", "start a#10~1", NULL},
        {"one a second short of that does not", A, "P:Running R x1@0#9~9/599", "",
         "Running init look=300 a:CrashLoopBackOff"},
        {"success counts as well", A, "P:Running R x0@3#1~1", "",
         "Running init look=7 a:CrashLoopBackOff"},
        {"the earliest is looked at", AB, "P:Running R x1@0#2~2 x1@5#1~1", "",
         "Running init look=5 a:CrashLoopBackOff b:CrashLoopBackOff"},
        {"one that waits does not hold another up", AB, "P:Running R x1@0#2~2 x1@0", "start b#1~1",
         "Running init look=20 a:CrashLoopBackOff"},
    };
    CHECK_ROWS(rows);
}

TEST(probes_and_hooks_are_minded)
{
    static const struct row rows[] = {
        {"no probe, ready", A, "R r0", "", "Running init ready"},
        {"not yet ready", A, "R r5R?", "", "Running init"},
        {"ready", A, "R r5R+", "", "Running init ready"},
        {"not ready any more", A, "R r5R-", "", "Running init"},
        {"not before it has started", A, "R r5S?R+", "", "Running init"},
        {"both", A, "R r5S+R+", "", "Running init ready"},
        {"all must be", AB, "R r5R+ r5R-", "", "Running init"},
        {"all are", AB, "R r5R+ r5", "", "Running init ready"},
        {"one that is dead is stopped", A, "R r50L-", "stop a +30", "Running init ready"},
        {"with the pod's grace", A GRACE(7), "R r50L-", "stop a +7", NULL},
        {"or the probe's", ALIVE(3) GRACE(7), "R r50L-", "stop a +3", NULL},
        {"alive", A, "R r50L+", "", "Running init ready"},
        {"liveness waits for startup", A, "R r50S?L-", "", "Running init"},
        {"one that does not start is stopped", A, "R r50S-", "stop a +30", NULL},
        {"with its probe's grace", ASTART(5), "R r50S-", "stop a +5", NULL},
        {"being stopped it is not stopped again", A, "R r50L-t20", "", NULL},
        {"its preStop hook runs first", APRE, "R r50L-", "pre-stop a +30", NULL},
        {"then it is asked to end", APRE, "R r50L-d20", "stop a +20", NULL},
        {"and run again", A, "P:Running R x137@0", "start a#1~1", NULL},
        {"never where the policy says so", A NEVER, "P:Running R x137@0", "end-sandbox", NULL},
        {"only the one that is dead", AB, "R r50 r50L-", "stop b +30", NULL},
        {"a postStart hook runs when it has started", APOST, "R r0", "post-start a",
         "Running init"},
        {"until it is done it has not started", APOST, "R r0p0", "", "Running init"},
        {"done", APOST, "R r0p1", "", "Running init ready"},
        {"failed: it is stopped", APOST, "R r0p2", "stop a +30", "Running init"},
        {"gates closed", A GATES, "R r5", "", "Running init ready gates-closed"},
        {"gates open", A GATES, "C:x/y R r5", "", "Running init ready"},
        {"another condition does not count", A GATES, "C:x/z R r5", "",
         "Running init ready gates-closed"},
    };
    CHECK_ROWS(rows);
}

TEST(a_deleted_pod_ends_in_order_and_in_time)
{
    static const struct row rows[] = {
        {"asked to end, killed in time", A, "D:30 R r50", "stop a +30", "Running init ready"},
        {"all together", AB, "D:30 R r50 r50", "stop a +30; stop b +30", NULL},
        {"only who runs", AB, "P:Running D:30 R x0@5 r50", "stop b +30", NULL},
        {"what is left of the time", A, "D:12 R r50", "stop a +12", NULL},
        {"two seconds at the least", A, "D:0 R r50", "stop a +2", NULL},
        {"also when time is up", A, "D:-9 R r50", "stop a +2", NULL},
        {"asked once", A, "D:25 R r50t25", "", NULL},
        {"a shorter time is heard", A, "D:5 R r50t25", "stop a +5", NULL},
        {"a longer one is not", A, "D:60 R r50t25", "", NULL},
        {"no shorter than two seconds", A, "D:0 R r50t25", "stop a +2", NULL},
        {"and no nagging", A, "D:-1 R r50t2", "", NULL},
        {"a hook first", APRE, "D:30 R r50", "pre-stop a +30", NULL},
        {"while it runs", APRE, "D:30 R r50h30", "", "Running init ready look=30"},
        {"it takes from the same time", APRE, "D:20 R r50d20", "stop a +20", NULL},
        {"a hook that used all of it", APRE, "D:0 R r50h0", "stop a +2", NULL},
        {"a hook that ended late", APRE, "D:0 R r50d0", "stop a +2", NULL},
        {"deleted anew with less", APRE, "D:5 R r50h30", "", "Running init ready look=5"},
        {"deleted anew with nothing", APRE, "D:0 R r50h30", "stop a +2", NULL},
        {"no time, no hook", APRE, "D:0 R r50", "stop a +2", NULL},
        {"one being restarted is told, too", A, "P:Running D:30 R r50L-t3", "", NULL},
        {"one being started is stopped", A, "D:30 R s", "stop a +30", NULL},
        {"without its hook", APRE, "D:30 R s", "stop a +30", NULL},
        {"init containers, too", A I1, "D:30 R r5 -", "stop i +30", "Pending"},
        {"containers before sidecars", A SIDE, "D:30 R r50 r50", "stop a +30", NULL},
        {"sidecars wait", A SIDE, "D:30 R r50 r50t30", "", NULL},
        {"then they go", A SIDE, "P:Running D:9 R r50 x0@0", "stop s +9", NULL},
        {"with two seconds at the least", A SIDE, "P:Running D:-3 R r50 x137@0", "stop s +2", NULL},
        {"in turn, the last first", A SIDE2, "P:Running D:9 R r50 r50 x0@0", "stop t +9", NULL},
        {"in turn", A SIDE2, "P:Running D:9 R r50 x0@0 x0@1", "stop s +9", NULL},
        {"those to look around with the containers", A EPH, "D:30 R r50 r50",
         "stop a +30; stop e +30", NULL},
        {"nothing is started any more", AB, "P:Running D:30 R x1@0 -", "end-sandbox", NULL},
        {"nothing at all", A, "D:30 - -", "", "Failed init gone"},
        {"the sandbox last", A, "P:Running D:30 R x0@0", "end-sandbox", NULL},
        {"one that is still being made", A, "D:30 + -", "end-sandbox", NULL},
        {"gone, well", A, "P:Running D:30 X x0@0", "", "Succeeded init gone"},
        {"gone, killed", A, "P:Running D:30 X x137@0", "", "Failed init gone"},
        {"gone, one of two failed", AB, "P:Running D:30 X x0@0 x1@0", "", "Failed init gone"},
        {"gone, ended before", A, "P:Succeeded D:30 X x1@0", "", "Succeeded init gone"},
        {"gone before it ever ran", A I1, "D:30 X x0@0 -", "", "Failed init gone"},
    };
    CHECK_ROWS(rows);
}

TEST(deadlines_and_lost_sandboxes_are_minded)
{
    static const struct row rows[] = {
        {"a deadline is looked at", A DEADLINE, "T:10 R r9", "", "Running init ready look=50"},
        {"with nothing started yet", A DEADLINE, "T:10 - -", "sandbox 0", "Pending init look=50"},
        {"it has come", A DEADLINE, "T:60 R r59", "stop a +30",
         "Failed init ready DeadlineExceeded"},
        {"grace holds", A DEADLINE GRACE(3), "T:60 R r59", "stop a +3", NULL},
        {"in the middle of init", A I1 DEADLINE, "T:61 R r9 -", "stop i +30",
         "Failed DeadlineExceeded"},
        {"while it waits", A DEADLINE, "P:Running T:61 R x1@0#3~3", "end-sandbox",
         "Failed init DeadlineExceeded"},
        {"before it ran", A DEADLINE, "T:61 - -", "", "Failed init gone DeadlineExceeded"},
        {"a pod that has ended has none", A DEADLINE NEVER, "P:Succeeded T:90 X x0@70", "",
         "Succeeded init gone"},
        {"the earlier of two times", A DEADLINE, "P:Running T:50 R x1@0#2~2", "",
         "Running init look=10 a:CrashLoopBackOff"},
        {"deletion comes before it", A DEADLINE, "D:5 T:61 R r9", "stop a +5", NULL},
        {"a lost sandbox is made anew", A, "P:Running X x137@0", "sandbox 1", "Running init"},
        {"the next one", A, "P:Running X1 x137@0^1", "sandbox 2", "Running init"},
        {"not before all of it is gone", AB, "P:Running X x137@0 r5", "", NULL},
        {"containers run again in it", A, "P:Running R1 x137@0", "start a#1~1", NULL},
        {"init containers, too, before", A I1, "P:Running R1 x0@99 x137@0", "start i#1~0",
         "Running"},
        {"and are not run twice", A I1, "P:Running R1 x0@5#1^1 x137@0", "start a#1~1",
         "Running init"},
        {"sidecars as well", A SIDE, "P:Running R1 x137@0 x137@0", "start s#1~1", NULL},
        {"Never has one only", A NEVER, "P:Running X x137@0", "", "Failed init gone"},
        {"also in the middle of init", A I2 NEVER, "X x0@5 x137@0 -", "", "Failed gone"},
        {"one that was lost before anything ran", A NEVER, "X -", "sandbox 1", "Pending init"},
        {"OnFailure, done: no new one", A ONFAIL, "P:Running X x0@0", "", "Succeeded init gone"},
        {"OnFailure, failed: a new one", A ONFAIL, "P:Running X x137@0", "sandbox 1", NULL},
        {"those that are done stay so", AB ONFAIL, "P:Running R1 x0@50 x137@0", "start b#1~1",
         "Running init"},
    };
    CHECK_ROWS(rows);
}
