/*
 * Random schedules: so many operations drawn from a list, with a pause before each, on the sets
 * that the step names. What users do may fail because the object went meanwhile; that is part of
 * it. At the end every node is open and alive again, crashed containers run and no more requests
 * fail than before, so that what follows can be judged.
 *
 *   random: {ops: 30, wait: 0s..2s, most: 3, sets: [PodCliqueSet, ...], of: [apply, scale-set,
 * ...]}
 *
 * Meanwhile clocks are set and drift, unless it says `clocks: false`.
 *
 * With `strategies: [RollingRecreate, ...]` instead of sets there is one set, drawn as well; apply
 * is another version of it, with one of these strategies. The last word is such a version. Each of
 * its names has as many characters as `names` says.
 */
#include "grove/types.h"
#include "sim/random_set.h"
#include "sim/scenario_impl.h"

struct mess {
    struct run *run;
    jval sets, strategies;
    int64_t most;                     /* replicas */
    struct api_faulty_options faults; /* the scenario's own */
    struct random_shape shape;
    size_t names;
    bool clocks;
};

/* ---- drawing ---- */

static uint64_t below(struct mess *m, uint64_t n)
{
    return rng_below(sim_rng(m->run->sim), n);
}

/* One of a kind, with a reference; NULL when there is none. */
static struct obj *draw_object(struct mess *m, const struct kind *k,
                               bool (*wanted)(struct mess *m, const struct obj *o))
{
    struct query q = {.kind = k};
    obj_vec all = {0}, some = {0};
    query_list(&q, sim_store(m->run->sim), &all);
    for (size_t i = 0; i < all.len; i++) {
        if (!wanted || wanted(m, all.p[i]))
            *vec_push(&some) = all.p[i];
    }
    struct obj *o = some.len ? obj_ref(some.p[below(m, some.len)]) : NULL;
    vec_done(&some);
    obj_vec_done(&all);
    return o;
}

static bool is_running(struct mess *m, const struct obj *o)
{
    return !o->deleting && str_is(jstr(jgetc(obj_status(o), "phase")), "Running") &&
           !sim_node_is_dead(m->run->sim, jstr(jgetc(obj_spec(o), "nodeName")));
}

static bool is_unready(struct mess *m, const struct obj *o)
{
    return is_running(m, o) && !condition_is_true(jgetc(obj_status(o), "conditions"), STR("Ready"));
}

/* ---- operations ---- */

static int apply_version(struct mess *m, bool last, struct err *err)
{
    struct doc *d = random_version(sim_rng(m->run->sim), &m->shape, m->strategies, last);
    sim_note(m->run->sim, "a version: %.*s", STR_ARG(doc_text(d)));
    int r = sim_apply(m->run->sim, doc_root(d), err);
    doc_unref(d);
    return r;
}

static int op_apply(struct mess *m, struct err *err)
{
    size_t n = jlen(m->sets);
    if (jlen(m->strategies))
        return apply_version(m, false, err);
    return n ? sim_apply(m->run->sim, jat(m->sets, (size_t)below(m, n)), err) : 0;
}

static int scale(struct mess *m, const struct kind *k, struct err *err)
{
    struct obj *o = draw_object(m, k, NULL);
    int r =
        o ? sim_scale(m->run->sim, k, o->ns, o->name, (int64_t)below(m, (uint64_t)m->most + 1), err)
          : 0;
    obj_unref(o);
    return r;
}

static int op_scale_set(struct mess *m, struct err *err)
{
    return scale(m, &kind_pcs, err);
}

static int op_scale_group(struct mess *m, struct err *err)
{
    return scale(m, &kind_pcsg, err);
}

static int op_scale_clique(struct mess *m, struct err *err)
{
    return scale(m, &kind_pclq, err);
}

static int delete (struct mess *m, const struct kind *k, struct err *err)
{
    struct obj *o = draw_object(m, k, NULL);
    int r = o ? sim_delete(m->run->sim, k, o->ns, o->name, err) : 0;
    obj_unref(o);
    return r;
}

static int patch_set(struct mess *m, const char *patch, struct err *err)
{
    struct obj *o = draw_object(m, &kind_pcs, NULL);
    struct doc *d = doc_parse(str_of(patch), NULL, err);
    sim_note(m->run->sim, "a patch: %s", patch);
    int r = o ? sim_patch(m->run->sim, &kind_pcs, o->ns, o->name, STR_NONE, doc_root(d), err) : 0;
    doc_unref(d);
    obj_unref(o);
    return r;
}

/* Back to what was before. */
static int op_undo(struct mess *m, struct err *err)
{
    return patch_set(m, "{\"metadata\":{\"annotations\":{\"grove.io/rollback-to\":\"0\"}}}", err);
}

#define STRATEGY(member) "{\"spec\":{\"updateStrategy\":{" member "}}}"
#define PAUSED(value) "{\"metadata\":{\"annotations\":{\"" ANNOTATION_PAUSED "\":" value "}}}"

/* Another word about how the update goes, and none about where. One that does not go with what
 * else is said is refused. */
static int op_terms(struct mess *m, struct err *err)
{
    static const char *const terms[] = {
        PAUSED("\"true\""),
        PAUSED("null"),
        STRATEGY("\"partition\":1"),
        STRATEGY("\"partition\":2"),
        STRATEGY("\"partition\":null"),
        STRATEGY("\"maxConcurrentReplicas\":1"),
        STRATEGY("\"maxConcurrentReplicas\":2"),
        STRATEGY("\"coherent\":{\"tail\":\"Independent\"}"),
        STRATEGY("\"coherent\":{\"tail\":\"Paired\"}"),
        STRATEGY("\"rollingUpdate\":{\"maxSurge\":1,\"surgeTimeout\":\"1s\"}"),
        STRATEGY("\"rollingUpdate\":null"),
        STRATEGY("\"progressDeadline\":\"1s\""),
        STRATEGY("\"progressDeadline\":null,\"autoRollback\":null"),
    };
    int r = patch_set(m, terms[below(m, ARRAY_LEN(terms))], err);
    return r == ERR_INVALID ? 0 : r;
}

static int op_pause(struct mess *m, struct err *err)
{
    return patch_set(m, below(m, 2) ? PAUSED("\"true\"") : PAUSED("null"), err);
}

/* From now on, beside what the scenario says: until the next of these, or the end. */
static int op_faults(struct mess *m, struct err *err)
{
    struct api_faulty_options o = m->faults;
    (void)err;
    switch (below(m, 4)) {
    case 0: /* nothing */
        break;
    case 1:
        o.error += 60;
        break;
    case 2:
        o.conflict += 40;
        o.error += 20;
        o.throttle += 10;
        break;
    default: /* much is done without an answer, and everybody knows late */
        o.lost_reply += 20;
        o.gateway += 20;
        o.max_lag += 300 * USEC_PER_MSEC;
        break;
    }
    sim_note(m->run->sim, "faults: %u %% errors, %u %% conflicts, %u %% lost replies", o.error,
             o.conflict, o.lost_reply);
    sim_set_faults(m->run->sim, &o);
    return 0;
}

static int op_delete_set(struct mess *m, struct err *err)
{
    return delete (m, &kind_pcs, err);
}

/* One of four by force: it is gone before anybody has seen it go. */
static int op_delete_pod(struct mess *m, struct err *err)
{
    struct obj *o = draw_object(m, &kind_pod, NULL);
    int64_t grace = below(m, 4) ? -1 : 0;
    int r =
        o ? sim_delete_so(m->run->sim, &kind_pod, o->ns, o->name, API_BACKGROUND, grace, err) : 0;
    obj_unref(o);
    return r;
}

static int op_delete_clique(struct mess *m, struct err *err)
{
    return delete (m, &kind_pclq, err);
}

static int op_delete_gang(struct mess *m, struct err *err)
{
    return delete (m, &kind_pod_gang, err);
}

static int op_delete_map(struct mess *m, struct err *err)
{
    return delete (m, &kind_pod_gang_map, err);
}

static int op_delete_revision(struct mess *m, struct err *err)
{
    return delete (m, &kind_controller_revision, err);
}

static int op_crash(struct mess *m, struct err *err)
{
    struct obj *o = draw_object(m, &kind_pod, is_running);
    int r = o ? sim_crash_pod(m->run->sim, o, false, err) : 0;
    obj_unref(o);
    return r;
}

static int op_finish(struct mess *m, struct err *err)
{
    struct obj *o = draw_object(m, &kind_pod, is_running);
    int r = o ? sim_crash_pod(m->run->sim, o, true, err) : 0;
    obj_unref(o);
    return r;
}

static int op_heal(struct mess *m, struct err *err)
{
    struct obj *o = draw_object(m, &kind_pod, is_unready);
    int r = o ? sim_heal_pod(m->run->sim, o, err) : 0;
    obj_unref(o);
    return r;
}

static int set_open(struct mess *m, const struct obj *node, bool open, struct err *err)
{
    struct doc *d = doc_parse(open ? STR("{\"spec\":{\"unschedulable\":null}}")
                                   : STR("{\"spec\":{\"unschedulable\":true}}"),
                              NULL, err);
    int r = sim_patch(m->run->sim, &kind_node, STR_NONE, node->name, STR_NONE, doc_root(d), err);
    doc_unref(d);
    return r;
}

static int op_cordon(struct mess *m, struct err *err)
{
    struct obj *o = draw_object(m, &kind_node, NULL);
    int r = o ? set_open(m, o, below(m, 2), err) : 0;
    obj_unref(o);
    return r;
}

static int op_fail_node(struct mess *m, struct err *err)
{
    struct obj *o = draw_object(m, &kind_node, NULL);
    int r = 0;
    if (o)
        r = below(m, 2) ? sim_fail_node(m->run->sim, o->name, err)
                        : sim_recover_node(m->run->sim, o->name, err);
    obj_unref(o);
    return r;
}

static int op_restart(struct mess *m, struct err *err)
{
    struct sim *s = m->run->sim;
    struct plane *p = sim_plane(s);
    size_t n = (size_t)below(m, plane_parts(p) + 1);
    const char *part = n < plane_parts(p) ? plane_part_name(p, n) : NULL;
    (void)err;
    sim_restart(s, part, below(m, 2) ? (usec)below(m, 2 * USEC_PER_SEC) : 0);
    return 0;
}

static int op_break(struct mess *m, struct err *err)
{
    (void)err;
    sim_break_watches(m->run->sim, below(m, 2));
    return 0;
}

static const struct operation {
    const char *name;
    int (*fn)(struct mess *m, struct err *err);
} ops[] = {
    {"apply", op_apply},
    {"undo", op_undo},
    {"terms", op_terms},
    {"pause", op_pause},
    {"faults", op_faults},
    {"scale-set", op_scale_set},
    {"scale-group", op_scale_group},
    {"scale-clique", op_scale_clique},
    {"delete-set", op_delete_set},
    {"delete-clique", op_delete_clique},
    {"delete-gang", op_delete_gang},
    {"delete-pod", op_delete_pod},
    {"delete-map", op_delete_map},
    {"delete-revision", op_delete_revision},
    {"crash", op_crash},
    {"finish", op_finish},
    {"heal", op_heal},
    {"cordon", op_cordon},
    {"fail-node", op_fail_node},
    {"restart", op_restart},
    {"break-watches", op_break},
};

/* ---- clocks ---- */

/* Clocks are set and drift all the time, by little and by much, each process's on its own. Drawn
 * apart: what else happens is the same without. */
static void disturb_clock(struct mess *m)
{
    static const usec steps[] = {300 * USEC_PER_MSEC, USEC_PER_SEC, 7 * USEC_PER_SEC,
                                 10 * USEC_PER_MIN, USEC_PER_HOUR};
    static const int64_t drifts[] = {0, 50, 500};
    struct sim *s = m->run->sim;
    struct rng *rng = sim_clock_rng(s);
    struct plane *p = sim_plane(s);
    if (!m->clocks || !rng_chance(rng, 30))
        return;
    const char *part = plane_part_name(p, (size_t)rng_below(rng, plane_parts(p)));
    int64_t sign = rng_below(rng, 2) ? 1 : -1;
    if (rng_below(rng, 4))
        sim_set_clock(s, part, sign * steps[rng_below(rng, ARRAY_LEN(steps))]);
    else
        sim_set_drift(s, part, sign * drifts[rng_below(rng, ARRAY_LEN(drifts))]);
}

/* ---- the step ---- */

static const struct operation *find_op(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
        if (str_is(name, ops[i].name))
            return &ops[i];
    }
    return NULL;
}

/* What goes wrong for a user whose object went meanwhile is nobody's fault. */
static bool is_bad(int result)
{
    return result && result != ERR_NOT_FOUND && result != ERR_CONFLICT;
}

static int open_all(struct mess *m, struct err *err)
{
    struct query q = {.kind = &kind_node};
    obj_vec nodes = {0};
    int r = 0;
    query_list(&q, sim_store(m->run->sim), &nodes);
    for (size_t i = 0; r == 0 && i < nodes.len; i++) {
        r = sim_recover_node(m->run->sim, nodes.p[i]->name, err);
        if (r == 0 && j_is_true(jgetc(obj_spec(nodes.p[i]), "unschedulable")))
            r = set_open(m, nodes.p[i], true, err);
    }
    obj_vec_done(&nodes);
    return r;
}

static bool has_crashed(const struct obj *pod)
{
    jval container = jat(jgetc(obj_status(pod), "containerStatuses"), 0);
    return !pod->deleting &&
           str_is(jstr(jpath(container, "state.waiting.reason")), "CrashLoopBackOff");
}

/* Containers that crashed are started again, sooner or later. */
static int heal_all(struct mess *m, struct err *err)
{
    struct query q = {.kind = &kind_pod};
    obj_vec pods = {0};
    int r = 0;
    query_list(&q, sim_store(m->run->sim), &pods);
    for (size_t i = 0; !is_bad(r) && i < pods.len; i++) {
        if (has_crashed(pods.p[i]))
            r = sim_heal_pod(m->run->sim, pods.p[i], err);
    }
    obj_vec_done(&pods);
    return is_bad(r) ? r : 0;
}

static int run_ops(struct mess *m, jval of, int64_t count, usec min, usec max, struct err *err)
{
    for (int64_t i = 0; i < count; i++) {
        struct err one = ERR_INIT;
        str name = jstr(jat(of, (size_t)below(m, jlen(of))));
        const struct operation *op = find_op(name);
        if (!op)
            return err_set(err, ERR_INVALID, "there is no random operation \"%.*s\"",
                           STR_ARG(name));
        if (!sim_advance(m->run->sim, min + (usec)below(m, (uint64_t)(max - min) + 1)))
            return 0; /* the step's end tells what broke */
        disturb_clock(m);
        int r = op->fn(m, &one);
        if (r)
            sim_note(m->run->sim, "%s: %s", op->name, one.message);
        if (is_bad(r))
            return err_set(err, r, "operation %lld, %s: %s", (long long)i, op->name, one.message);
    }
    sim_set_faults(m->run->sim, &m->faults);
    int r = open_all(m, err);
    if (r == 0)
        r = heal_all(m, err);
    return r == 0 && jlen(m->strategies) ? apply_version(m, true, err) : r;
}

/* So that there is something that operations can befall. */
static int begin(struct mess *m, struct err *err)
{
    if (jlen(m->strategies) == 0)
        return 0;
    random_shape(sim_rng(m->run->sim), &m->shape);
    m->shape.names = m->names;
    int r = apply_version(m, true, err);
    (void)sim_advance(m->run->sim, (usec)below(m, 10 * USEC_PER_SEC));
    return r;
}

int run_random(struct run *r, jval v, struct err *err)
{
    static const char *const keys[] = {"ops",        "wait",   "sets",  "of", "most",
                                       "strategies", "clocks", "names", NULL};
    struct mess m = {.run = r,
                     .sets = jgetc(v, "sets"),
                     .strategies = jgetc(v, "strategies"),
                     .most = jint(jgetc(v, "most"), 3),
                     .faults = *sim_faults(r->sim),
                     .names = (size_t)MIN(MAX(jint(jgetc(v, "names"), 0), 0), 240),
                     .clocks = jbool(jgetc(v, "clocks"), true)};
    jval of = jgetc(v, "of");
    usec min = 0, max = 0;
    if (keys_check(v, keys, NULL, "random", err) ||
        (j_has(jgetc(v, "wait")) && range_parse(jgetc(v, "wait"), &min, &max, err)))
        return err->code;
    if (jlen(of) == 0 || m.most < 0)
        return err_set(err, ERR_INVALID, "random: of which operations?");
    int code = begin(&m, err);
    return code ? code : run_ops(&m, of, jint(jgetc(v, "ops"), 10), min, max, err);
}
