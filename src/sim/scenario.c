/* See scenario.h: loading, and the frame of a run. */
#include "sim/scenario.h"

#include "base/file.h"
#include "grove/types.h"
#include "sim/invariants.h"
#include "sim/scenario_impl.h"
#include "json/yaml.h"

#define LIMIT (10 * USEC_PER_MIN)
enum { MAX_FILE = 1 << 20, SEEDS = 3, MAX_SEEDS = 100000 };

struct scenario {
    char *path;
    char *name;
    struct doc *doc;
    struct sim_options options; /* but for the seed */
    bool processes_given;
    unsigned seeds;
    usec limit;
    char *waits_for;
};

/* ---- faults ---- */

static const struct fault {
    const char *name;
    enum { FAULT_TIME, FAULT_NUMBER, FAULT_FLAG } type;
    size_t offset;
} faults[] = {
#define F(name, type, field)                                   \
    {                                                          \
        name, type, offsetof(struct api_faulty_options, field) \
    }
    F("lag", FAULT_TIME, max_lag),
    F("delay", FAULT_TIME, max_delay),
    F("timeout", FAULT_TIME, timeout),
    F("drop", FAULT_NUMBER, drop),
    F("error", FAULT_NUMBER, error),
    F("gateway", FAULT_NUMBER, gateway),
    F("lost-reply", FAULT_NUMBER, lost_reply),
    F("late", FAULT_NUMBER, late),
    F("conflict", FAULT_NUMBER, conflict),
    F("throttle", FAULT_NUMBER, throttle),
    F("watch-end", FAULT_NUMBER, watch_end),
    F("watch-expired", FAULT_NUMBER, watch_expired),
    F("watch-silent", FAULT_NUMBER, watch_silent),
    F("refuse-watch-list", FAULT_FLAG, refuse_watch_list),
#undef F
};

static int parse_fault(const struct fault *f, jval v, struct api_faulty_options *ret,
                       struct err *err)
{
    void *field = (char *)ret + f->offset;
    usec min;
    int64_t n;
    switch (f->type) {
    case FAULT_TIME:
        return range_parse(v, &min, field, err);
    case FAULT_FLAG:
        *(bool *)field = j_is_true(v);
        return 0;
    case FAULT_NUMBER:
        break;
    }
    if (!jint_get(v, &n) || n < 0 || n > 1000)
        return err_set(err, ERR_INVALID, "fault %s: %.*s is no share", f->name, STR_ARG(jtext(v)));
    *(unsigned *)field = (unsigned)n;
    return 0;
}

int faults_parse(jval v, struct api_faulty_options *ret, struct err *err)
{
    *ret = sim_default_faults;
    if (!j_has(v))
        return 0;
    if (str_is(jstr(v), "none")) {
        *ret = (struct api_faulty_options){0};
        return 0;
    }
    for (struct jiter it = jiter(v); jnext(&it);) {
        size_t i = 0;
        while (i < ARRAY_LEN(faults) && !str_is(it.key, faults[i].name))
            i++;
        if (i == ARRAY_LEN(faults))
            return err_set(err, ERR_INVALID, "there is no fault \"%.*s\"", STR_ARG(it.key));
        if (parse_fault(&faults[i], it.value, ret, err))
            return err->code;
    }
    return 0;
}

/* ---- loading ---- */

static int optional_time(jval v, usec *ret, struct err *err)
{
    usec min;
    return j_has(v) ? range_parse(v, &min, ret, err) : 0;
}

static int parse_profile(struct scenario *s, str name, struct err *err)
{
    for (size_t i = 0; nodes_profiles[i]; i++) {
        if (str_is(name, nodes_profiles[i])) {
            s->options.nodes.profile = nodes_profiles[i];
            return 0;
        }
    }
    return err_set(err, ERR_INVALID, "there is no profile \"%.*s\"", STR_ARG(name));
}

static int parse_cluster(struct scenario *s, jval v, struct err *err)
{
    static const char *const keys[] = {"nodes", "profile", "tainted", "start", "stop", NULL};
    struct nodes_options *n = &s->options.nodes;
    *n = nodes_defaults;
    if (!j_has(v))
        return 0;
    if (keys_check(v, keys, NULL, "cluster", err))
        return err->code;
    int64_t count = jint(jgetc(v, "nodes"), n->count);
    if (count < 1 || count > 100000)
        return err_set(err, ERR_INVALID, "a cluster has 1 to 100000 nodes");
    n->count = (unsigned)count;
    n->tainted = j_is_true(jgetc(v, "tainted"));
    if (j_has(jgetc(v, "profile")) && parse_profile(s, jstr(jgetc(v, "profile")), err))
        return err->code;
    int r = optional_time(jgetc(v, "start"), &n->life.start, err);
    return r ? r : optional_time(jgetc(v, "stop"), &n->life.stop, err);
}

static int parse_frame(struct scenario *s, struct err *err)
{
    static const char *const keys[] = {"about",     "cluster", "processes",  "seeds",
                                       "limit",     "faults",  "invariants", "never",
                                       "waits-for", "steps",   NULL};
    static const char *const invariants[] = {"without", "gang-window", NULL};
    jval v = doc_root(s->doc);
    if (keys_check(v, keys, NULL, "a scenario", err) ||
        (j_has(jgetc(v, "invariants")) &&
         keys_check(jgetc(v, "invariants"), invariants, NULL, "invariants", err)) ||
        parse_cluster(s, jgetc(v, "cluster"), err) ||
        faults_parse(jgetc(v, "faults"), &s->options.faults, err) ||
        optional_time(jgetc(v, "limit"), &s->limit, err) ||
        optional_time(jpath(v, "invariants.gang-window"), &s->options.gang_window, err))
        return err->code;
    str processes = jstr(jgetc(v, "processes"));
    s->processes_given = !str_is_empty(processes);
    s->options.split = str_is(processes, "split");
    if (s->processes_given && !s->options.split && !str_is(processes, "one"))
        return err_set(err, ERR_INVALID, "processes: one or split?");
    int64_t seeds = jint(jgetc(v, "seeds"), SEEDS);
    if (seeds < 1 || seeds > MAX_SEEDS)
        return err_set(err, ERR_INVALID, "a scenario has 1 to %d seeds", MAX_SEEDS);
    s->seeds = (unsigned)seeds;
    if (j_has(jgetc(v, "waits-for")))
        s->waits_for = str_dup(jstr(jgetc(v, "waits-for")));
    return 0;
}

static char *base_name(str path)
{
    ptrdiff_t slash = str_rfind_char(path, '/');
    str name = str_sub(path, (size_t)(slash + 1), path.len);
    ptrdiff_t dot = str_rfind_char(name, '.');
    return str_dup(dot > 0 ? str_sub(name, 0, (size_t)dot) : name);
}

struct scenario *scenario_parse(const char *path, str yaml, struct err *err)
{
    struct scenario *s = xnew(struct scenario);
    s->path = xstrdup(path);
    s->name = base_name(str_of(path));
    s->limit = LIMIT;
    s->doc = yaml_parse_one(yaml, err);
    if (s->doc && parse_frame(s, err) == 0)
        return s;
    (void)err_wrap(err, "%s", path);
    scenario_free(s);
    return NULL;
}

struct scenario *scenario_load(const char *path, struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_FILE);
    struct scenario *s = NULL;
    if (file_read(path, &text, err) == 0)
        s = scenario_parse(path, strbuf_str(&text), err);
    strbuf_done(&text);
    return s;
}

void scenario_free(struct scenario *s)
{
    if (!s)
        return;
    free(s->path);
    free(s->name);
    free(s->waits_for);
    doc_unref(s->doc);
    free(s);
}

const char *scenario_name(const struct scenario *s)
{
    return s->name;
}

const char *scenario_path(const struct scenario *s)
{
    return s->path;
}

unsigned scenario_seeds(const struct scenario *s)
{
    return s->seeds;
}

const char *scenario_waits_for(const struct scenario *s)
{
    return s->waits_for;
}

str scenario_file(const struct scenario *s, struct arena *a, str name)
{
    str path = str_of(s->path);
    ptrdiff_t slash = str_rfind_char(path, '/');
    if (str_starts(name, STR("/")) || slash < 0)
        return arena_str(a, name);
    return arena_printf(a, "%.*s%.*s", STR_ARG(str_sub(path, 0, (size_t)slash + 1)), STR_ARG(name));
}

/* ---- running ---- */

static int prepare(struct run *r, struct err *err)
{
    jval v = doc_root(r->scenario->doc), without = jpath(v, "invariants.without");
    for (struct jiter it = jiter(without); jnext(&it);) {
        if (invariants_disable(sim_invariants(r->sim), jstr(it.value), err))
            return err->code;
    }
    if (run_prepare_orders(r, jgetc(v, "steps"), err))
        return err->code;
    return j_has(jgetc(v, "never")) ? run_never(r, jgetc(v, "never"), err) : 0;
}

int scenario_run(const struct scenario *s, uint64_t seed, struct scenario_result *ret)
{
    struct sim_options o = s->options;
    struct run r = {.scenario = s, .seed = seed, .limit = s->limit};
    *ret = (struct scenario_result){.log = STRBUF_INIT(SIZE_MAX)};
    o.seed = seed;
    o.split = s->processes_given ? o.split : seed % 2;
    list_init(&r.watches);
    list_init(&r.orders);
    r.sim = sim_new(&o, &ret->err);
    if (!r.sim)
        return ret->err.code;
    sim_on_event(r.sim, run_event, &r);
    int result = prepare(&r, &ret->err);
    if (result == 0)
        result = run_steps(&r, jgetc(doc_root(s->doc), "steps"), &ret->err);
    if (result == 0)
        ret->err = ERR_INIT; /* what was tried in vain on the way */
    ret->stats = sim_stats(r.sim);
    ret->time = sim_now(r.sim);
    strbuf_add_str(&ret->log, sim_log(r.sim));
    run_done_expectations(&r);
    sim_free(r.sim);
    arena_done(&r.arena);
    return result;
}
