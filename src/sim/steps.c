/* The steps of a scenario, one function each; the forms are in scenario.h. */
#include "base/file.h"
#include "grove/metrics_source.h"
#include "grove/types.h"
#include "sim/oracle.h"
#include "sim/scenario_impl.h"

enum { MAX_FILE = 4 << 20 };

int world_result(const struct run *r, struct err *err)
{
    const struct err *broken = sim_failure(r->sim);
    return broken->code ? err_set(err, broken->code, "%s", broken->message) : 0;
}

/* ---- picking objects ---- */

/* A sample of n, in the order drawn. */
static void draw_some(struct run *r, obj_vec *v, size_t n)
{
    for (size_t i = 0; i < v->len && i < n; i++) {
        size_t k = i + (size_t)rng_below(sim_rng(r->sim), v->len - i);
        struct obj *o = v->p[i];
        v->p[i] = v->p[k];
        v->p[k] = o;
    }
}

static int pick(struct run *r, jval which, obj_vec *ret, struct err *err)
{
    static const char *const own[] = {"first", "any", "failed", "orphan", "grace", NULL};
    struct query q;
    bool ref = jtype(which) == J_STRING;
    if (ref ? query_parse_ref(&r->arena, jstr(which), &q, err)
            : keys_check(which, query_keys, own, "the choice", err) ||
                  query_parse(&r->arena, which, &q, err))
        return err->code;
    query_list(&q, sim_store(r->sim), ret);
    int64_t n = jint(jgetc(which, "first"), jint(jgetc(which, "any"), INT64_MAX));
    if (ret->len == 0 || (n != INT64_MAX && (int64_t)ret->len < n))
        return err_set(err, ERR_NOT_FOUND, "%.*s: there are %zu", STR_ARG(jtext(which)), ret->len);
    if (j_has(jgetc(which, "any")))
        draw_some(r, ret, (size_t)n);
    while ((int64_t)ret->len > n)
        obj_unref(vec_pop(ret));
    return 0;
}

typedef int each_fn(struct run *r, const struct obj *o, jval v, struct err *err);

static int each_picked(struct run *r, jval which, each_fn *fn, struct err *err)
{
    obj_vec picked = {0};
    int result = pick(r, which, &picked, err);
    for (size_t i = 0; result == 0 && i < picked.len; i++)
        result = fn(r, picked.p[i], which, err);
    obj_vec_done(&picked);
    return result;
}

/* ---- users ---- */

static int step_apply(struct run *r, jval v, struct err *err)
{
    if (jtype(v) != J_ARRAY)
        return sim_apply(r->sim, v, err);
    int result = 0;
    for (struct jiter it = jiter(v); result == 0 && jnext(&it);)
        result = sim_apply(r->sim, it.value, err);
    return result;
}

/* The server must not take it, and say why: a text, or several, of its answer. */
static int step_refused(struct run *r, jval v, struct err *err)
{
    static const char *const keys[] = {"apply", "saying", NULL};
    if (keys_check(v, keys, NULL, "refused", err))
        return err->code;
    struct err answer = ERR_INIT;
    jval saying = jgetc(v, "saying");
    if (step_apply(r, jgetc(v, "apply"), &answer) == 0)
        return err_set(err, ERR_INVALID, "it was taken");
    for (size_t i = 0; i < (jtype(saying) == J_ARRAY ? jlen(saying) : 1); i++) {
        str text = jstr(jtype(saying) == J_ARRAY ? jat(saying, i) : saying);
        if (str_find(str_of(answer.message), text) < 0)
            return err_set(err, ERR_INVALID, "the answer was: %s", answer.message);
    }
    return 0;
}

static int step_apply_file(struct run *r, jval v, struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_FILE);
    str path = scenario_file(r->scenario, &r->arena, jstr(v));
    int result = file_read(path.p, &text, err);
    if (result == 0)
        result = sim_apply_yaml(r->sim, strbuf_str(&text), err);
    strbuf_done(&text);
    return result;
}

static int step_scale(struct run *r, jval v, struct err *err)
{
    for (struct jiter it = jiter(v); jnext(&it);) {
        struct query q;
        int64_t n;
        if (query_parse_ref(&r->arena, it.key, &q, err))
            return err->code;
        if (!jint_get(it.value, &n))
            return err_set(err, ERR_INVALID, "scale %.*s to what?", STR_ARG(it.key));
        int result = sim_scale(r->sim, q.kind, q.ns, q.name, n, err);
        if (result)
            return result;
    }
    return 0;
}

static int step_patch(struct run *r, jval v, struct err *err)
{
    static const char *const keys[] = {"object", "merge", "subresource", NULL};
    obj_vec picked = {0};
    int result = keys_check(v, keys, NULL, "patch", err);
    if (result == 0)
        result = pick(r, jgetc(v, "object"), &picked, err);
    for (size_t i = 0; result == 0 && i < picked.len; i++) {
        const struct obj *o = picked.p[i];
        result = sim_patch(r->sim, o->kind, o->ns, o->name, jstr(jgetc(v, "subresource")),
                           jgetc(v, "merge"), err);
    }
    obj_vec_done(&picked);
    return result;
}

/* The first container of these cliques is of another version from now on. */
static struct doc *changed_template(struct run *r, const struct obj *pcs, jval cliques)
{
    struct edit e;
    edit_init(&e, &r->arena);
    for (struct jiter it = jiter(jpath(obj_root(pcs), "spec.template.cliques")); jnext(&it);) {
        jval version = jget(cliques, jstr(jgetc(it.value, "name")));
        if (j_has(version))
            edit_set_str(&e,
                         arena_printf(&r->arena,
                                      "/spec/template/cliques/%zu/spec/podSpec/containers/0/image",
                                      it.index),
                         arena_printf(&r->arena, "busybox:%.*s", STR_ARG(jtext(version))));
    }
    struct doc *changed = edit_apply(&e, pcs->doc, NULL);
    edit_done(&e);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "spec");
    jw_put_object(&w, "template");
    jw_put(&w, "cliques", jpath(doc_root(changed), "spec.template.cliques"));
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    doc_unref(changed);
    return jw_doc(&w);
}

static int step_change(struct run *r, jval v, struct err *err)
{
    for (struct jiter it = jiter(v); jnext(&it);) {
        const struct obj *pcs = sim_get(r->sim, &kind_pcs, STR("default"), it.key);
        if (!pcs)
            return err_set(err, ERR_NOT_FOUND, "there is no set %.*s", STR_ARG(it.key));
        struct doc *patch = changed_template(r, pcs, it.value);
        int result =
            sim_patch(r->sim, &kind_pcs, pcs->ns, pcs->name, STR_NONE, doc_root(patch), err);
        doc_unref(patch);
        if (result)
            return result;
    }
    return 0;
}

/* {metadata: {annotations: {simulation.grove.io/KEY: VALUE}}}; a value of null takes it away. */
static struct doc *metrics_patch(struct run *r, jval what)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put_object(&w, "annotations");
    for (struct jiter it = jiter(what); jnext(&it);) {
        jw_key(&w, arena_printf(&r->arena, METRICS_PREFIX "%.*s", STR_ARG(it.key)));
        if (j_has(it.value))
            jw_str(&w, jtype(it.value) == J_STRING ? jstr(it.value) : jtext(it.value));
        else
            jw_null(&w);
    }
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static int step_metrics(struct run *r, jval v, struct err *err)
{
    int result = 0;
    for (struct jiter it = jiter(v); result == 0 && jnext(&it);) {
        struct query q;
        if (query_parse_ref(&r->arena, it.key, &q, err))
            return err->code;
        struct doc *patch = metrics_patch(r, it.value);
        result = sim_patch(r->sim, q.kind, q.ns, q.name, STR_NONE, doc_root(patch), err);
        doc_unref(patch);
    }
    return result;
}

/* What a step feeds. */
struct fed {
    str metric;
    struct quantity value;
    usec ttl;
};

static int read_fed(jval v, struct fed *ret, struct err *err)
{
    static const char *const keys[] = {"metric", "value", "for", "of", "labels", NULL};
    jval value = jgetc(v, "value");
    *ret = (struct fed){.metric = jstr(jgetc(v, "metric")), .ttl = METRICS_TTL};
    if (keys_check(v, keys, NULL, "feed", err))
        return err->code;
    if (quantity_parse(jtype(value) == J_STRING ? jstr(value) : jtext(value), &ret->value, err))
        return err_wrap(err, "feed");
    if (j_has(jgetc(v, "for")) && !duration_parse_usec(jstr(jgetc(v, "for")), &ret->ttl))
        return err_set(err, ERR_INVALID, "feed: \"for\" is a duration");
    return 0;
}

static int feed_one(struct run *r, const struct fed *f, struct metrics_id id, str uid,
                    struct err *err)
{
    id.metric = f->metric;
    struct metrics_feed *feed = apiserver_feed(plane_server(sim_plane(r->sim)));
    return metrics_feed_set(feed, &id, uid, &f->value, f->ttl, err);
}

static int step_feed(struct run *r, jval v, struct err *err)
{
    struct fed f;
    char resource[512];
    obj_vec picked = {0};
    jval of = jgetc(v, "of");
    if (read_fed(v, &f, err))
        return err->code;
    if (!j_has(of)) {
        const struct obj *ns = sim_get(r->sim, &kind_namespace, STR_NONE, STR("default"));
        struct metrics_id id = {STR_NONE, STR_NONE, STR("default"), jstr(jgetc(v, "labels"))};
        return feed_one(r, &f, id, ns ? ns->uid : STR_NONE, err);
    }
    int result = pick(r, of, &picked, err);
    for (size_t i = 0; result == 0 && i < picked.len; i++) {
        const struct obj *o = picked.p[i];
        struct metrics_id id = {metrics_resource_name(o->kind, resource, sizeof(resource)),
                                STR_NONE, o->ns, o->name};
        result = feed_one(r, &f, id, o->uid, err);
    }
    obj_vec_done(&picked);
    return result;
}

static int delete_one(struct run *r, const struct obj *o, jval v, struct err *err)
{
    enum api_propagation how = j_is_true(jgetc(v, "orphan")) ? API_ORPHAN : API_BACKGROUND;
    return sim_delete_so(r->sim, o->kind, o->ns, o->name, how, jint(jgetc(v, "grace"), -1), err);
}

static int step_delete(struct run *r, jval v, struct err *err)
{
    return each_picked(r, v, delete_one, err);
}

/* ---- misfortune ---- */

static int crash_one(struct run *r, const struct obj *o, jval v, struct err *err)
{
    return sim_crash_pod(r->sim, o, j_is_true(jgetc(v, "failed")), err);
}

static int heal_one(struct run *r, const struct obj *o, jval v, struct err *err)
{
    (void)v;
    return sim_heal_pod(r->sim, o, err);
}

static int step_crash(struct run *r, jval v, struct err *err)
{
    return each_picked(r, v, crash_one, err);
}

static int step_heal(struct run *r, jval v, struct err *err)
{
    return each_picked(r, v, heal_one, err);
}

/* A part by name; *ret NULL means all. */
static int parse_part(str name, const char **ret, struct err *err)
{
    static const char *const parts[] = {"all", "api", "operator", "scheduler", "nodes"};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (str_is(name, parts[i])) {
            *ret = i ? parts[i] : NULL;
            return 0;
        }
    }
    return err_set(err, ERR_INVALID, "\"%.*s\" is no part: all, api, operator, scheduler or nodes",
                   STR_ARG(name));
}

static int step_stop(struct run *r, jval v, struct err *err)
{
    const char *part;
    if (parse_part(jstr(v), &part, err))
        return err->code;
    sim_stop(r->sim, part);
    return 0;
}

static int step_start(struct run *r, jval v, struct err *err)
{
    const char *part;
    if (parse_part(jstr(v), &part, err))
        return err->code;
    sim_start(r->sim, part);
    return 0;
}

static int step_restart(struct run *r, jval v, struct err *err)
{
    const char *part;
    if (parse_part(jstr(v), &part, err))
        return err->code;
    sim_restart(r->sim, part, 0);
    return 0;
}

/* {process: PART, step: 1h} or {process: PART, drift: 200ppm}. */
static int step_clock(struct run *r, jval v, struct err *err)
{
    static const char *const keys[] = {"process", "step", "drift", NULL};
    const char *part;
    str step = jstr(jgetc(v, "step")), ppm = jstr(jgetc(v, "drift"));
    int64_t n;
    usec by;
    if (keys_check(v, keys, NULL, "clock", err) ||
        parse_part(jstr(jgetc(v, "process")), &part, err))
        return err->code;
    if (duration_parse_usec(step, &by)) {
        sim_set_clock(r->sim, part, by);
        return 0;
    }
    bool known = str_ends(ppm, STR("ppm")) && str_to_int(str_sub(ppm, 0, ppm.len - 3), &n);
    if (!known || n < -100000 || n > 100000)
        return err_set(err, ERR_INVALID,
                       "clock: by what step (\"1h\", \"-5s\"), or what drift (\"200ppm\")?");
    sim_set_drift(r->sim, part, n);
    return 0;
}

static int step_break(struct run *r, jval v, struct err *err)
{
    bool expired = str_is(jstr(v), "expired");
    if (!expired && !str_is(jstr(v), "broken"))
        return err_set(err, ERR_INVALID, "break-watches: broken or expired?");
    sim_break_watches(r->sim, expired);
    return 0;
}

static int step_faults(struct run *r, jval v, struct err *err)
{
    struct api_faulty_options o;
    if (faults_parse(v, &o, err))
        return err->code;
    sim_set_faults(r->sim, &o);
    return 0;
}

/* ---- nodes ---- */

typedef bool node_filter(const struct run *r, const struct obj *node);
typedef int node_fn(struct run *r, str name, struct err *err);

static bool is_cordoned(const struct run *r, const struct obj *node)
{
    (void)r;
    return j_is_true(jgetc(obj_spec(node), "unschedulable"));
}

static bool is_open(const struct run *r, const struct obj *node)
{
    return !is_cordoned(r, node);
}

static bool is_dead(const struct run *r, const struct obj *node)
{
    return sim_node_is_dead(r->sim, node->name);
}

static bool is_alive(const struct run *r, const struct obj *node)
{
    return !is_dead(r, node);
}

static int set_cordon(struct run *r, str name, bool on, struct err *err)
{
    struct doc *patch = doc_parse(on ? STR("{\"spec\":{\"unschedulable\":true}}")
                                     : STR("{\"spec\":{\"unschedulable\":null}}"),
                                  NULL, err);
    int result = sim_patch(r->sim, &kind_node, STR_NONE, name, STR_NONE, doc_root(patch), err);
    doc_unref(patch);
    return result;
}

static int cordon(struct run *r, str name, struct err *err)
{
    return set_cordon(r, name, true, err);
}

static int uncordon(struct run *r, str name, struct err *err)
{
    return set_cordon(r, name, false, err);
}

static int fail_node(struct run *r, str name, struct err *err)
{
    return sim_fail_node(r->sim, name, err);
}

static int recover_node(struct run *r, str name, struct err *err)
{
    return sim_recover_node(r->sim, name, err);
}

typedef VEC(str) str_vec;

/* The first so many that pass; n < 0: all. */
static int first_nodes(struct run *r, int64_t n, node_filter *filter, str_vec *ret, struct err *err)
{
    struct obj *o;
    int64_t found = 0;
    struct store_iter it = store_range(sim_store(r->sim), &kind_node, STR_NONE, STR_NONE, STR_NONE);
    while (found != n && (o = store_next(&it))) {
        if (!filter(r, o))
            continue;
        *vec_push(ret) = arena_str(&r->arena, o->name);
        found++;
    }
    return n < 0 || found == n
               ? 0
               : err_set(err, ERR_NOT_FOUND, "there are only %lld such nodes", (long long)found);
}

static int nodes_of_pods(struct run *r, jval which, str_vec *ret, struct err *err)
{
    obj_vec pods = {0};
    int result = pick(r, which, &pods, err);
    for (size_t i = 0; result == 0 && i < pods.len; i++)
        *vec_push(ret) = arena_str(&r->arena, jstr(jgetc(obj_spec(pods.p[i]), "nodeName")));
    obj_vec_done(&pods);
    return result;
}

static int each_node(struct run *r, jval v, node_filter *filter, node_fn *fn, struct err *err)
{
    static const char *const keys[] = {"of", NULL};
    str_vec names = {0};
    int64_t n;
    int result = 0;
    if (jint_get(v, &n))
        result = first_nodes(r, n, filter, &names, err);
    else if (str_is(jstr(v), "all"))
        result = first_nodes(r, -1, filter, &names, err);
    else if (jtype(v) == J_STRING)
        *vec_push(&names) = jstr(v);
    else if (jtype(v) == J_OBJECT)
        result = keys_check(v, keys, NULL, "the nodes", err)
                     ? err->code
                     : nodes_of_pods(r, jgetc(v, "of"), &names, err);
    for (struct jiter it = jiter(v); jtype(v) == J_ARRAY && jnext(&it);)
        *vec_push(&names) = jstr(it.value);
    for (size_t i = 0; result == 0 && i < names.len; i++)
        result = fn(r, names.p[i], err);
    vec_done(&names);
    return result;
}

static int step_cordon(struct run *r, jval v, struct err *err)
{
    return each_node(r, v, is_open, cordon, err);
}

static int step_uncordon(struct run *r, jval v, struct err *err)
{
    return each_node(r, v, is_cordoned, uncordon, err);
}

static int step_fail(struct run *r, jval v, struct err *err)
{
    return each_node(r, v, is_alive, fail_node, err);
}

static int step_recover(struct run *r, jval v, struct err *err)
{
    return each_node(r, v, is_dead, recover_node, err);
}

/* ---- time ---- */

static usec draw_between(struct run *r, usec min, usec max)
{
    return min + (usec)rng_below(sim_rng(r->sim), (uint64_t)(max - min) + 1);
}

/* Until so many revisions later, or until nothing has happened for a while. */
static int advance_revisions(struct run *r, int64_t n, struct err *err)
{
    struct store *store = sim_store(r->sim);
    uint64_t end = store_revision(store) + (uint64_t)n, last = 0;
    for (usec since = sim_now(r->sim); store_revision(store) < end;) {
        if (store_revision(store) != last) {
            last = store_revision(store);
            since = sim_now(r->sim);
        }
        if (sim_now(r->sim) - since > 5 * USEC_PER_SEC || !sim_advance(r->sim, USEC_PER_MSEC))
            break;
    }
    return world_result(r, err);
}

static int step_advance(struct run *r, jval v, struct err *err)
{
    static const char *const keys[] = {"revisions", NULL};
    usec min, max;
    int64_t n;
    if (jtype(v) == J_OBJECT) {
        if (keys_check(v, keys, NULL, "advance", err))
            return err->code;
        if (str_is(jstr(jgetc(v, "revisions")), "seed"))
            n = (int64_t)r->seed;
        else if (!jint_get(jgetc(v, "revisions"), &n) || n < 1)
            return err_set(err, ERR_INVALID, "advance by how many revisions?");
        return advance_revisions(r, n, err);
    }
    if (range_parse(v, &min, &max, err))
        return err->code;
    (void)sim_advance(r->sim, draw_between(r, min, max));
    return world_result(r, err);
}

static int step_settle(struct run *r, jval v, struct err *err)
{
    static const char *const keys[] = {"limit", "check", NULL};
    usec min, limit = r->limit;
    struct api_faulty_options before = *sim_faults(r->sim);
    struct api_faulty_options calm = {.max_lag = before.max_lag, .max_delay = before.max_delay};
    if (keys_check(v, keys, NULL, "settle", err) ||
        (j_has(jgetc(v, "limit")) && range_parse(jgetc(v, "limit"), &min, &limit, err)))
        return err->code;
    sim_set_faults(r->sim, &calm);
    bool settled = sim_settle(r->sim, limit);
    sim_set_faults(r->sim, &before);
    if (world_result(r, err))
        return err->code;
    if (!settled)
        return err_set(err, ERR_TIMEOUT, "the world does not come to rest within %lld s",
                       (long long)(limit / USEC_PER_SEC));
    return jbool(jgetc(v, "check"), true) ? oracle_check(r->sim, err) : 0;
}

static int step_quiet(struct run *r, jval v, struct err *err)
{
    usec min, max;
    if (range_parse(v, &min, &max, err))
        return err->code;
    uint64_t before = store_revision(sim_store(r->sim));
    (void)sim_advance(r->sim, max);
    if (world_result(r, err))
        return err->code;
    uint64_t after = store_revision(sim_store(r->sim));
    return after == before ? 0
                           : err_set(err, ERR_INVALID, "there were %llu writes",
                                     (unsigned long long)(after - before));
}

/* ---- the table ---- */

static int step_repeat(struct run *r, jval v, struct err *err)
{
    static const char *const keys[] = {"times", "steps", NULL};
    if (keys_check(v, keys, NULL, "repeat", err))
        return err->code;
    int64_t times = jint(jgetc(v, "times"), 1);
    int result = 0;
    for (int64_t i = 0; result == 0 && i < times; i++)
        result = run_steps(r, jgetc(v, "steps"), err);
    return result;
}

static int step_forget(struct run *r, jval v, struct err *err)
{
    (void)v;
    (void)err;
    run_forget(r);
    return 0;
}

static const struct step {
    const char *name;
    int (*fn)(struct run *r, jval v, struct err *err);
} steps[] = {
    {"apply", step_apply},         {"apply-file", step_apply_file},
    {"scale", step_scale},         {"patch", step_patch},
    {"delete", step_delete},       {"crash", step_crash},
    {"heal", step_heal},           {"cordon", step_cordon},
    {"uncordon", step_uncordon},   {"fail", step_fail},
    {"recover", step_recover},     {"stop", step_stop},
    {"start", step_start},         {"restart", step_restart},
    {"break-watches", step_break}, {"faults", step_faults},
    {"advance", step_advance},     {"settle", step_settle},
    {"quiet", step_quiet},         {"expect", run_expect},
    {"await", run_await},          {"remember", run_remember},
    {"never", run_never},          {"forget", step_forget},
    {"repeat", step_repeat},       {"random", run_random},
    {"metrics", step_metrics},     {"feed", step_feed},
    {"refused", step_refused},     {"change", step_change},
    {"clock", step_clock},
};

static int run_step(struct run *r, jval v, struct err *err)
{
    struct jiter it = jiter(v);
    if (jtype(v) != J_OBJECT || jlen(v) != 1 || !jnext(&it))
        return err_set(err, ERR_INVALID, "a step is a map of one member, not %.*s",
                       STR_ARG(jtext(v)));
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        if (!str_is(it.key, steps[i].name))
            continue;
        sim_note(r->sim, "step %s", steps[i].name);
        int result = steps[i].fn(r, it.value, err);
        return result ? result : world_result(r, err);
    }
    return err_set(err, ERR_INVALID, "there is no step \"%.*s\"", STR_ARG(it.key));
}

int run_steps(struct run *r, jval list, struct err *err)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        int result = run_step(r, it.value, err);
        if (result)
            return err_wrap(err, "step %zu (%.*s)", it.index + 1,
                            STR_ARG(str_sub(jtext(it.value), 0, 80)));
    }
    return 0;
}
