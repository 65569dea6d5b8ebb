/*
 * Leader election under virtual time. Every process of a run has its own way to one API:
 *
 *   controllers ─► fence ─► spy ─► gate ─► faults ─► the API       lease ─► gate ─► faults ─► the
 * API
 *
 * The spy checks at each write that passes the fence that no other process holds the lease. The
 * gate is what a frozen process or a cut network does: what was sent arrives when it opens again,
 * perhaps long after the process is gone and another leads.
 */
#include "base/log.h"
#include "client/api_faulty.h"
#include "client/election.h"
#include "client/test-toy.h"

#define START (1767225600 * USEC_PER_SEC)
#define LEASE (&kind_lease)
#define DURATION (15 * USEC_PER_SEC)
#define RENEW (10 * USEC_PER_SEC)
#define RETRY (2 * USEC_PER_SEC)

enum { PROCESSES_MAX = 256 };

struct rig;

/* ---- the gate ---- */

struct gate {
    struct api api;
    struct api *inner;
    bool closed;
    struct list held; /* api_request.link */
};

static struct gate *gate_of(struct api *api)
{
    return container_of(api, struct gate, api);
}

static void gate_send(struct api *api, struct api_request *r)
{
    struct gate *g = gate_of(api);
    if (g->closed)
        list_push_back(&g->held, &r->link);
    else
        api_send(g->inner, r);
}

static void gate_watch(struct api *api, struct api_watch *w)
{
    api_watch(gate_of(api)->inner, w);
}

static void gate_watch_stop(struct api *api, struct api_watch *w)
{
    api_watch_stop(gate_of(api)->inner, w);
}

static const struct api_ops gate_ops = {
    .send = gate_send, .watch = gate_watch, .watch_stop = gate_watch_stop};

static void gate_open(struct gate *g)
{
    g->closed = false;
    for (struct list *n; (n = list_pop_front(&g->held));)
        api_send(g->inner, list_entry(n, struct api_request, link));
}

/* ---- a process ---- */

struct process {
    struct rig *rig;
    char identity[16];
    struct api *faulty;
    struct gate gate;
    struct api spy;
    struct lease *lease;
    struct api *fenced;
    struct runtime *runtime;
    struct toy toy;
    unsigned leads, losses;
    usec led_at, lost_at;
    const char *why;
    uint64_t writes; /* that passed the fence */
    usec last_write;
    bool alive;
};

struct rig {
    struct loop *loop;
    struct api *fake;
    struct process *processes[PROCESSES_MAX];
    size_t n;
};

static void on_lead(void *ctx)
{
    struct process *p = ctx;
    p->leads++;
    p->led_at = loop_now(p->rig->loop);
    if (p->runtime)
        runtime_lead(p->runtime);
}

static void on_lost(void *ctx, const char *why)
{
    struct process *p = ctx;
    p->losses++;
    p->lost_at = loop_now(p->rig->loop);
    p->why = why;
}

static void spy_send(struct api *api, struct api_request *r)
{
    struct process *p = container_of(api, struct process, spy);
    if (r->verb != API_GET && r->verb != API_LIST) {
        p->writes++;
        p->last_write = loop_now(p->rig->loop);
        CHECK(r->deadline > loop_now(p->rig->loop));
        for (size_t i = 0; i < p->rig->n; i++) {
            struct process *other = p->rig->processes[i];
            if (other != p && other->lease)
                CHECK(!lease_is_held(other->lease));
        }
    }
    api_send(&p->gate.api, r);
}

static void spy_watch(struct api *api, struct api_watch *w)
{
    api_watch(&container_of(api, struct process, spy)->gate.api, w);
}

static void spy_watch_stop(struct api *api, struct api_watch *w)
{
    api_watch_stop(&container_of(api, struct process, spy)->gate.api, w);
}

static const struct api_ops spy_ops = {
    .send = spy_send, .watch = spy_watch, .watch_stop = spy_watch_stop};

static struct process *process_start(struct rig *r, const struct api_faulty_options *o,
                                     bool with_controller)
{
    REQUIRE(r->n < PROCESSES_MAX);
    struct process *p = r->processes[r->n] = xnew(struct process);
    p->rig = r;
    p->alive = true;
    (void)snprintf(p->identity, sizeof(p->identity), "p%zu", r->n++);
    p->faulty = api_faulty_new(r->loop, r->fake, o);
    p->gate = (struct gate){.api = {&gate_ops}, .inner = p->faulty};
    list_init(&p->gate.held);
    p->spy.ops = &spy_ops;
    struct lease_options lo = {.ns = STR("ns"),
                               .name = STR("l"),
                               .identity = str_of(p->identity),
                               .on_lead = on_lead,
                               .on_lost = on_lost,
                               .ctx = p};
    p->lease = lease_new(r->loop, &p->gate.api, &lo);
    p->fenced = api_fenced_new(r->loop, &p->spy, p->lease);
    if (!with_controller)
        return p;
    p->runtime = runtime_new(r->loop, &p->spy);
    struct controller_def def = toy_def(&p->toy, 8);
    runtime_add(p->runtime, &def, p->fenced);
    runtime_set_standby(p->runtime);
    runtime_start(p->runtime);
    return p;
}

/* As kill -9 does: nothing more is done, and what is under way stays under way. */
static void process_kill(struct process *p)
{
    p->alive = false;
    runtime_free(TAKE_PTR(p->runtime));
    api_free(TAKE_PTR(p->fenced));
    lease_free(TAKE_PTR(p->lease));
}

static void rig_init(struct rig *r, uint64_t seed)
{
    kinds_init();
    log_set_level(LOG_LEVEL_OFF);
    *r = (struct rig){.loop = loop_new_virtual(seed, START)};
    r->fake = api_fake_new(r->loop, 5 * USEC_PER_MSEC);
}

static void run_for(struct rig *r, usec by)
{
    REQUIRE(loop_run_until(r->loop, loop_now(r->loop) + by, 10000000));
}

static void rig_done(struct rig *r)
{
    for (size_t i = 0; i < r->n; i++) {
        struct process *p = r->processes[i];
        if (p->alive)
            process_kill(p);
        gate_open(&p->gate);
    }
    run_for(r, USEC_PER_MIN);
    for (size_t i = 0; i < r->n; i++) {
        api_free(r->processes[i]->faulty);
        free(r->processes[i]);
    }
    api_free(r->fake);
    loop_free(r->loop);
}

static struct obj *record(struct rig *r)
{
    struct obj *o = api_fake_get(r->fake, LEASE, "ns", "l");
    REQUIRE(o);
    return o;
}

static str spec_str(struct rig *r, const char *key)
{
    return jstr(jget(jgetc(obj_root(record(r)), "spec"), str_of(key)));
}

static int64_t spec_int(struct rig *r, const char *key)
{
    return jint(jget(jgetc(obj_root(record(r)), "spec"), str_of(key)), -1);
}

/* ---- one by one ---- */

static void count(void *ctx)
{
    (*(unsigned *)ctx)++;
}

TEST(lease_is_taken_when_there_is_none_and_renewed)
{
    struct rig r;
    rig_init(&r, 1);
    struct process *p = process_start(&r, NULL, false);
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(p->leads, 1);
    CHECK(lease_is_held(p->lease));
    CHECK_CSTR(spec_str(&r, "holderIdentity"), "p0");
    CHECK_INT(spec_int(&r, "leaseDurationSeconds"), 15);
    CHECK_INT(spec_int(&r, "leaseTransitions"), 0);
    usec renewed, acquired;
    REQUIRE(time_parse_rfc3339(spec_str(&r, "renewTime"), &renewed));
    REQUIRE(time_parse_rfc3339(spec_str(&r, "acquireTime"), &acquired));
    CHECK_INT(renewed, acquired);
    CHECK_INT(spec_str(&r, "renewTime").len, strlen("2026-01-01T00:00:00.000000Z")); /* MicroTime */
    run_for(&r, USEC_PER_MIN);
    usec later;
    REQUIRE(time_parse_rfc3339(spec_str(&r, "renewTime"), &later));
    CHECK(loop_wall(r.loop) - later <= RETRY + 20 * USEC_PER_MSEC);
    REQUIRE(time_parse_rfc3339(spec_str(&r, "acquireTime"), &later));
    CHECK_INT(later, acquired);
    CHECK_INT(p->leads, 1);
    /* A renewal is one write, no read. */
    CHECK(api_fake_stats(r.fake).sent[API_GET] == 1);
    CHECK(api_fake_stats(r.fake).sent[API_UPDATE] >= 29);
    rig_done(&r);
}

TEST(lease_that_was_released_is_taken_at_the_next_try)
{
    struct rig r;
    unsigned done = 0;
    rig_init(&r, 1);
    struct process *a = process_start(&r, NULL, false);
    run_for(&r, USEC_PER_SEC);
    struct process *b = process_start(&r, NULL, false);
    run_for(&r, USEC_PER_MIN);
    CHECK_INT(b->leads, 0);
    lease_release(a->lease, count, &done);
    CHECK(!lease_is_held(a->lease));
    run_for(&r, RETRY * 6 / 5 + 50 * USEC_PER_MSEC);
    CHECK_INT(done, 1);
    CHECK_INT(a->losses, 0);
    CHECK_INT(b->leads, 1);
    CHECK_CSTR(spec_str(&r, "holderIdentity"), "p1");
    CHECK_INT(spec_int(&r, "leaseTransitions"), 1);
    rig_done(&r);
}

TEST(lease_release_does_not_wait_for_a_server_that_is_silent)
{
    struct rig r;
    unsigned done = 0;
    rig_init(&r, 1);
    struct process *a = process_start(&r, NULL, false);
    run_for(&r, USEC_PER_SEC);
    a->gate.closed = true;
    run_for(&r, RETRY);
    lease_release(a->lease, count, &done);
    run_for(&r, 3 * USEC_PER_SEC);
    CHECK_INT(done, 1);
    rig_done(&r);
}

TEST(lease_of_a_dead_process_moves_within_duration_and_retry)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct rig r;
        rig_init(&r, seed);
        struct process *a = process_start(&r, NULL, false);
        run_for(&r, USEC_PER_SEC);
        struct process *b = process_start(&r, NULL, false);
        run_for(&r, 10 * USEC_PER_SEC + (usec)(loop_random_u64(r.loop) % 10000000));
        usec killed = loop_now(r.loop);
        process_kill(a);
        run_for(&r, USEC_PER_MIN);
        REQUIRE(b->leads == 1);
        /* b saw the last renewal up to one try late; the record lasts 15 s from then. */
        CHECK(b->led_at - killed <= DURATION + 2 * RETRY * 6 / 5 + 50 * USEC_PER_MSEC);
        CHECK(b->led_at - killed >= DURATION - RETRY - RETRY * 6 / 5);
        rig_done(&r);
    }
}

TEST(lease_holder_that_is_cut_off_stops_before_others_begin)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct rig r;
        rig_init(&r, seed);
        struct process *a = process_start(&r, NULL, false);
        run_for(&r, USEC_PER_SEC);
        struct process *b = process_start(&r, NULL, false);
        run_for(&r, 10 * USEC_PER_SEC + (usec)(loop_random_u64(r.loop) % 10000000));
        usec deadline = lease_deadline(a->lease);
        a->gate.closed = true;
        run_for(&r, USEC_PER_MIN);
        CHECK_INT(a->losses, 1);
        CHECK_INT(a->lost_at, deadline);
        CHECK_CSTR(str_of(a->why), "the lease could not be renewed in time");
        CHECK_INT(b->leads, 1);
        CHECK(b->led_at >= a->lost_at + (DURATION - RENEW) - 2 * USEC_PER_SEC);
        /* What it had sent arrives now, and changes nothing. */
        gate_open(&a->gate);
        run_for(&r, USEC_PER_MIN);
        CHECK_INT(a->leads, 1);
        CHECK_INT(b->losses, 0);
        rig_done(&r);
    }
}

TEST(lease_deleted_under_its_holder_is_not_taken_by_others)
{
    struct rig r;
    rig_init(&r, 1);
    struct process *a = process_start(&r, NULL, false);
    run_for(&r, USEC_PER_SEC);
    struct process *b = process_start(&r, NULL, false);
    run_for(&r, 10 * USEC_PER_SEC);
    for (int i = 0; i < 20; i++) {
        api_fake_remove(r.fake, LEASE, "ns", "l");
        run_for(&r, 3 * USEC_PER_SEC);
    }
    CHECK_INT(a->leads, 1);
    CHECK_INT(a->losses, 0);
    CHECK_INT(b->leads, 0);
    CHECK_CSTR(spec_str(&r, "holderIdentity"), "p0");
    rig_done(&r);
}

TEST(lease_taken_by_force_is_lost)
{
    struct rig r;
    rig_init(&r, 1);
    struct process *a = process_start(&r, NULL, false);
    run_for(&r, USEC_PER_SEC);
    api_fake_put(r.fake, LEASE,
                 "{\"metadata\":{\"name\":\"l\",\"namespace\":\"ns\"},"
                 "\"spec\":{\"holderIdentity\":\"else\"}}");
    run_for(&r, 3 * USEC_PER_SEC);
    CHECK_INT(a->losses, 1);
    CHECK_CSTR(str_of(a->why), "the lease was taken by another");
    CHECK(!lease_is_held(a->lease));
    CHECK_CSTR(spec_str(&r, "holderIdentity"), "else");
    rig_done(&r);
}

/* ---- the fence ---- */

struct probe {
    struct api_request req;
    unsigned n;
    int code;
    bool unknown;
};

static void on_probe(struct api_request *q, const struct api_reply *reply)
{
    struct probe *p = container_of(q, struct probe, req);
    p->n++;
    p->code = reply->code;
    p->unknown = reply->unknown_outcome;
}

static void send_probe(struct process *p, struct probe *probe, enum api_verb verb)
{
    *probe = (struct probe){.req = {.verb = verb,
                                    .kind = &kind_config_map,
                                    .ns = STR("ns"),
                                    .name = STR("x"),
                                    .grace_seconds = -1,
                                    .done = on_probe}};
    api_send(p->fenced, &probe->req);
}

TEST(fence_lets_writes_pass_while_the_lease_is_held)
{
    struct rig r;
    struct probe read, write;
    rig_init(&r, 1);
    struct process *p = process_start(&r, NULL, false);
    send_probe(p, &write, API_DELETE);
    send_probe(p, &read, API_GET);
    CHECK_INT(write.n, 0); /* not from inside api_send */
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(write.n, 1);
    CHECK_INT(write.code, 403);
    CHECK(!write.unknown);
    CHECK_INT(read.code, 404);
    send_probe(p, &write, API_DELETE);
    CHECK_INT(write.req.deadline, lease_deadline(p->lease));
    run_for(&r, USEC_PER_SEC);
    CHECK_INT(write.code, 404); /* it passed */
    p->gate.closed = true;
    run_for(&r, RENEW);
    CHECK_INT(p->losses, 1);
    send_probe(p, &write, API_DELETE);
    run_for(&r, 0);
    CHECK_INT(write.code, 403);
    CHECK_INT(p->writes, 1);
    rig_done(&r);
}

/* ---- clocks ---- */

/* Wall clocks are set by hours all the time: nobody loses what it has, nobody takes what it has
 * not, and who dies is followed in time. */
TEST(lease_does_not_depend_on_wall_clocks)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rig r;
        rig_init(&r, seed);
        struct process *a = process_start(&r, NULL, true);
        run_for(&r, USEC_PER_SEC);
        struct process *b = process_start(&r, NULL, true);
        for (int i = 0; i < 60; i++) {
            run_for(&r, (usec)(loop_random_u64(r.loop) % 5000000));
            loop_set_wall_by(r.loop, (loop_random_u64(r.loop) % 2 ? 1 : -1) * USEC_PER_HOUR);
            CHECK(lease_is_held(a->lease) && !lease_is_held(b->lease));
        }
        CHECK_INT(a->leads, 1);
        CHECK_INT(a->losses, 0);
        CHECK_INT(b->leads, 0);
        usec killed = loop_now(r.loop);
        process_kill(a);
        loop_set_wall_by(r.loop, -USEC_PER_HOUR);
        run_for(&r, USEC_PER_MIN);
        REQUIRE(b->leads == 1);
        CHECK(b->led_at - killed <= DURATION + 2 * RETRY * 6 / 5 + 50 * USEC_PER_MSEC);
        CHECK(b->led_at - killed >= DURATION - RETRY - RETRY * 6 / 5);
        rig_done(&r);
    }
}

/* Monotonic time does not pass while a machine sleeps. Others may have taken the lease meanwhile,
 * so nothing is written before it was read. */
TEST(lease_holder_that_slept_looks_before_it_acts)
{
    for (int taken = 0; taken < 2; taken++) {
        struct rig r;
        struct probe write;
        rig_init(&r, 1);
        struct process *a = process_start(&r, NULL, false);
        run_for(&r, 5 * USEC_PER_SEC);
        CHECK(lease_is_held(a->lease));
        uint64_t reads = api_fake_stats(r.fake).sent[API_GET];
        loop_sleep(r.loop, USEC_PER_MIN);
        if (taken)
            api_fake_put(r.fake, LEASE,
                         "{\"metadata\":{\"name\":\"l\",\"namespace\":\"ns\"},"
                         "\"spec\":{\"holderIdentity\":\"else\",\"leaseDurationSeconds\":15}}");
        CHECK(!lease_is_held(a->lease));
        uint64_t updates = api_fake_stats(r.fake).sent[API_UPDATE];
        send_probe(a, &write, API_DELETE);
        run_for(&r, 0);
        CHECK_INT(write.code, 403);
        run_for(&r, 2 * RETRY);
        CHECK(api_fake_stats(r.fake).sent[API_GET] > reads);
        CHECK_INT(lease_is_held(a->lease), !taken);
        CHECK_INT(a->losses, taken);
        CHECK_INT(a->leads, 1);
        if (taken)
            CHECK_INT(api_fake_stats(r.fake).sent[API_UPDATE], updates);
        rig_done(&r);
    }
}

/* What the holder keeps on the Lease the next one is told before it leads. */
struct noted {
    char wrote[32], read[32];
    bool led;
};

static void write_note(void *ctx, struct strbuf *out)
{
    strbuf_add_cstr(out, ((struct noted *)ctx)->wrote);
}

static void read_note(void *ctx, str text)
{
    struct noted *n = ctx;
    CHECK(!n->led);
    (void)snprintf(n->read, sizeof(n->read), "%.*s", STR_ARG(text));
}

static void on_noted_lead(void *ctx)
{
    ((struct noted *)ctx)->led = true;
}

static void on_noted_lost(void *ctx, const char *why)
{
    (void)ctx;
    (void)why;
}

static struct lease *lead_with_note(struct rig *r, const char *identity, struct noted *n)
{
    struct lease_options o = {.ns = STR("ns"),
                              .name = STR("l"),
                              .identity = str_of(identity),
                              .note = STR("grove.io/clock"),
                              .read_note = read_note,
                              .write_note = write_note,
                              .on_lead = on_noted_lead,
                              .on_lost = on_noted_lost,
                              .ctx = n};
    struct lease *l = lease_new(r->loop, r->fake, &o);
    run_for(r, 30 * USEC_PER_SEC);
    CHECK(n->led);
    return l;
}

TEST(lease_carries_a_note_to_the_next_holder)
{
    struct rig r;
    rig_init(&r, 1);
    struct noted a = {.wrote = "first"}, b = {.wrote = "second"};
    struct lease *l = lead_with_note(&r, "a", &a);
    CHECK_CSTR(obj_annotation(record(&r), STR("grove.io/clock")), "first");
    CHECK_CSTR(str_of(a.read), "");
    (void)snprintf(a.wrote, sizeof(a.wrote), "news");
    run_for(&r, 2 * RETRY);
    CHECK_CSTR(obj_annotation(record(&r), STR("grove.io/clock")), "news");
    lease_free(l);
    l = lead_with_note(&r, "b", &b);
    CHECK_CSTR(str_of(b.read), "news");
    CHECK_CSTR(obj_annotation(record(&r), STR("grove.io/clock")), "second");
    lease_free(l);
    run_for(&r, USEC_PER_SEC);
    rig_done(&r);
}

/* ---- a new leader ---- */

/* Its caches are up to a minute behind; what it plans first is not. */
TEST(lease_new_leader_reads_everything_before_its_first_plan)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rig r;
        rig_init(&r, seed);
        toy_put_parent(r.fake, "p", 0);
        struct process *a = process_start(&r, NULL, true);
        run_for(&r, USEC_PER_SEC);
        struct process *b =
            process_start(&r, &(struct api_faulty_options){.max_lag = USEC_PER_MIN}, true);
        run_for(&r, 3 * USEC_PER_MIN);
        CHECK_INT(b->toy.plans, 0); /* it fills its caches and does nothing */
        toy_put_parent(r.fake, "p", 20);
        run_for(&r, USEC_PER_SEC);
        CHECK_INT(api_fake_count(r.fake, &kind_config_map), 21);
        process_kill(a);
        run_for(&r, 5 * USEC_PER_MIN);
        CHECK_INT(b->leads, 1);
        CHECK(b->toy.plans > 0);
        CHECK_INT(api_fake_stats(r.fake).exists, 0);
        CHECK_INT(api_fake_count(r.fake, &kind_config_map), 21);
        rig_done(&r);
    }
}

/* ---- everything at once ---- */

static const struct api_faulty_options storm = {.max_delay = 500000,
                                                .max_lag = 2000000,
                                                .timeout = 3000000,
                                                .drop = 5,
                                                .error = 5,
                                                .gateway = 5,
                                                .lost_reply = 5,
                                                .late = 5,
                                                .conflict = 5,
                                                .throttle = 2,
                                                .watch_end = 20,
                                                .watch_expired = 5};

enum { TEAM = 3, PARENTS = 5 };

struct drama {
    struct rig rig;
    struct process *team[TEAM];
    int wanted[PARENTS];
    bool growing; /* then every child is created once in all */
};

static void replace_dead(struct drama *d)
{
    for (size_t i = 0; i < TEAM; i++) {
        struct process *p = d->team[i];
        if (p->alive && !p->losses)
            continue;
        if (p->alive)
            process_kill(p); /* the process exits */
        d->team[i] = process_start(&d->rig, &storm, true);
    }
}

static void set_wanted(struct drama *d, size_t i, int n)
{
    char name[8];
    (void)snprintf(name, sizeof(name), "p%zu", i);
    d->wanted[i] = d->growing ? MAX(d->wanted[i], n) : n;
    toy_put_parent(d->rig.fake, name, d->wanted[i]);
}

static void act(struct drama *d)
{
    struct loop *l = d->rig.loop;
    struct process *p = d->team[loop_random_u64(l) % TEAM];
    switch (loop_random_u64(l) % 10) {
    case 0:
        process_kill(p);
        break;
    case 1:
    case 2:
        p->gate.closed = true;
        break;
    case 3:
    case 4:
    case 5: /* whoever it was, alive or not */
        gate_open(&d->rig.processes[loop_random_u64(l) % d->rig.n]->gate);
        break;
    default:
        set_wanted(d, loop_random_u64(l) % PARENTS, (int)(loop_random_u64(l) % 8));
    }
}

static void drama_end(struct drama *d)
{
    for (size_t i = 0; i < d->rig.n; i++) {
        gate_open(&d->rig.processes[i]->gate);
        api_faulty_set(d->rig.processes[i]->faulty, NULL);
    }
    for (int i = 0; i < 60; i++) {
        run_for(&d->rig, 5 * USEC_PER_SEC);
        replace_dead(d);
        for (size_t k = 0; k < d->rig.n; k++)
            api_faulty_set(d->rig.processes[k]->faulty, NULL);
    }
}

static bool is_right(struct drama *d)
{
    int children = 0;
    size_t leaders = 0;
    for (size_t i = 0; i < PARENTS; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "p%zu", i);
        children += d->wanted[i];
        for (int k = 0; k < d->wanted[i]; k++) {
            unsigned times = toy_times_created(d->rig.fake, name, k);
            if (d->growing ? times != 1 : times < 1)
                return false;
        }
    }
    for (size_t i = 0; i < TEAM; i++)
        leaders += lease_is_held(d->team[i]->lease);
    return leaders == 1 &&
           api_fake_count(d->rig.fake, &kind_config_map) == (size_t)(PARENTS + children);
}

TEST(lease_never_two_leaders_act_and_late_writes_break_nothing)
{
    size_t seeds = test_cases(50);
    uint64_t leads = 0, losses = 0, writes = 0;
    for (size_t i = 0; i < seeds; i++) {
        uint64_t seed = rng_u64(test_rng());
        struct drama d = {.growing = i % 2};
        rig_init(&d.rig, seed);
        for (size_t k = 0; k < TEAM; k++)
            d.team[k] = process_start(&d.rig, &storm, true);
        for (size_t k = 0; k < PARENTS; k++)
            set_wanted(&d, k, 3);
        for (int step = 0; step < 60; step++) {
            run_for(&d.rig, (usec)(loop_random_u64(d.rig.loop) % (6 * USEC_PER_SEC)));
            act(&d);
            replace_dead(&d);
        }
        drama_end(&d);
        if (!CHECK(is_right(&d)))
            test_note("seed %llu", (unsigned long long)seed);
        for (size_t k = 0; k < d.rig.n; k++) {
            leads += d.rig.processes[k]->leads;
            losses += d.rig.processes[k]->losses;
            writes += d.rig.processes[k]->writes;
        }
        rig_done(&d.rig);
    }
    CHECK(leads > 2 * seeds);
    test_note("%zu runs, %llu times led, %llu lost, %llu writes", seeds, (unsigned long long)leads,
              (unsigned long long)losses, (unsigned long long)writes);
}
