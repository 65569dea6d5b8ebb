/*
 * `grove plan`: what would happen if this manifest were applied. There is no second model of an
 * update: a twin of the cluster takes over the set as it is, the manifest is applied to it by the
 * real admission, and the real planners and the real scheduler do the update under virtual time,
 * with nodes whose pods become ready. What is told is what was seen there (trace.h).
 */
#include "cli/cmd_rollout.h"
#include "cli/set_view.h"
#include "explain/documents/findings.h"
#include "explain/documents/manifest.h"
#include "explain/documents/room.h"
#include "explain/twin/trace.h"
#include "explain/twin/twin.h"
#include "grove/revision.h"
#include "grove/types.h"
#include "operator/common/update.h"
#include "json/patch.h"

#define SLICE (100 * USEC_PER_MSEC)
#define SLICE_QUIET USEC_PER_SEC
#define QUIET (5 * USEC_PER_SEC)
#define QUIET_UPDATING (20 * USEC_PER_MIN) /* longer than most deadlines of progress */
#define LIMIT (24 * 60 * USEC_PER_MIN)
/* What a picture of the trial needs: of nodes and others' pods nothing is told. */
#define SHOWN (PICTURE_EVERYTHING & ~PICTURE_CAPACITY)
/* Of more steps than FOLD_ABOVE, what repeats itself is told once. */
enum { MAX_SHOWN_STEPS = 60, MAX_SHOWN_CHANGES = 12, FOLD_ABOVE = 20, MAX_PERIOD = 16 };

struct plan_args {
    struct view_args view;
    struct opt_list files;
};

struct plan_work {
    struct session *session;
    struct arena *arena;
    const doc_vec *docs;
    size_t subject; /* which of them is the set */
    str ns, name;
    struct picture live;
    struct twin_settings settings;
    const struct obj *before; /* the live set; NULL: there is none */
    struct twin *twin;
    struct obj *after; /* the set as applied */
    struct trace trace;
    bool changes, completes;
    bool rolls;   /* pods are made anew: what they are made of is another */
    bool goes_on; /* an update is under way: what is left of it is told, too */
    str reason;
};

/* ---- the trial ---- */

static int read_subject(struct plan_work *w, const struct opt_list *files, struct err *err)
{
    size_t n = 0;
    str who = files->len == 1 ? arena_printf(w->arena, "%.*s describes", STR_ARG(files->p[0]))
                              : arena_printf(w->arena, "the %zu files describe", files->len);
    for (size_t i = 0; i < w->docs->len; i++) {
        jval root = doc_root(w->docs->p[i]);
        if (!str_is(jstr(jgetc(root, "kind")), "PodCliqueSet"))
            continue;
        str own = jstr(jpath(root, "metadata.namespace"));
        w->ns = str_is_empty(own) ? w->session->ns : own;
        w->name = jstr(jpath(root, "metadata.name"));
        w->subject = i;
        n++;
    }
    if (n != 1)
        return err_set(err, ERR_INVALID,
                       n ? "%.*s %zu PodCliqueSets: plan one at a time" : "%.*s no PodCliqueSet",
                       STR_ARG(who), n);
    return str_is_empty(w->name) ? err_set(err, ERR_INVALID, "the PodCliqueSet has no name") : 0;
}

static int read_live(struct plan_work *w, struct err *err)
{
    struct err ignored = ERR_INIT;
    w->session->ns = w->ns;
    int r = picture_read(w->session, PICTURE_OF_SETS | PICTURE_CAPACITY | 1U << PICTURE_REVISIONS,
                         &w->live, err);
    if (r)
        return r;
    /* A cluster may not know the kind. */
    if (picture_read(w->session, 1U << PICTURE_MAPS, &w->live, &ignored))
        w->live.parts[PICTURE_MAPS] = (struct session_list){0};
    twin_read_settings(w->session, &w->settings);
    w->before = picture_find(&w->live, PICTURE_SETS, w->name);
    return 0;
}

/* What else the file has may matter to the set; then the set itself. */
static int apply_all(struct plan_work *w, struct err *err)
{
    for (size_t i = 0; i < w->docs->len; i++) {
        jval root = doc_root(w->docs->p[i]);
        const struct kind *k = manifest_kind(root, err);
        str ns = jstr(jpath(root, "metadata.namespace"));
        if (!k)
            return err->code;
        ns = !kind_is(k, KIND_NAMESPACED) ? STR_NONE : str_is_empty(ns) ? w->session->ns : ns;
        int r = i == w->subject ? 0
                                : twin_apply(w->twin, k, ns, jstr(jpath(root, "metadata.name")),
                                             w->docs->p[i], NULL, err);
        if (r)
            return r;
    }
    twin_make_accounts(w->twin, w->ns, doc_root(w->docs->p[w->subject]));
    return twin_apply(w->twin, &kind_pcs, w->ns, w->name, w->docs->p[w->subject], &w->after, err);
}

static str progress_reason(const struct obj *pcs)
{
    jval c = condition_find(jgetc(obj_status(pcs), "conditions"), STR("Progressing"));
    return jstr(jgetc(c, "reason"));
}

/* Everything that should be there has a node, and no update is left. */
static bool is_settled(const struct plan_work *w, const struct picture *p, const struct obj *pcs)
{
    struct pod_count n = count_pods(p, w->trace.label);
    return !update_is_running(pcs) && n.exist == n.wanted && n.bound == n.exist;
}

static str why_not(const struct plan_work *w, const struct picture *p, const struct obj *pcs)
{
    struct findings f;
    str text = STR("it does not come to an end"), blocked = STR_NONE;
    if (update_is_paused(pcs))
        return arena_printf(w->arena, "the set is paused (annotation %s)", ANNOTATION_PAUSED);
    for (struct jiter it = jiter(jpath(obj_status(pcs), "updateProgress.currentlyUpdating"));
         jnext(&it);) {
        if (str_is_empty(blocked))
            blocked = jstr(jgetc(it.value, "errorMessage"));
    }
    findings_of_set(p, pcs, w->arena, &f);
    /* That it is stuck is what is asked; what waits for room says more than that the update waits
     * for it. */
    size_t first = f.items.len > 0 && f.items.p[0].state == FINDING_STUCK ? 1 : 0;
    if (first < f.items.len)
        text = f.items.p[first].verdict;
    if (first < f.items.len && f.items.p[first].state >= FINDING_STARTING && !str_is_empty(blocked))
        text = blocked;
    text = arena_str(w->arena, text);
    findings_done(&f);
    return text;
}

/* Of a picture of a world in which nothing has changed for a while. */
enum outcome { OUTCOME_OPEN, OUTCOME_GOOD, OUTCOME_STUCK };

static enum outcome judge(const struct plan_work *w, const struct picture *p, usec quiet)
{
    const struct obj *pcs = picture_find(p, PICTURE_SETS, w->name);
    if (!pcs)
        return OUTCOME_STUCK;
    if (str_is(progress_reason(pcs), "ProgressDeadlineExceeded") && update_is_running(pcs))
        return OUTCOME_STUCK;
    if (is_settled(w, p, pcs))
        return OUTCOME_GOOD;
    if (!update_is_running(pcs) || update_is_paused(pcs) || quiet >= QUIET_UPDATING)
        return OUTCOME_STUCK;
    return OUTCOME_OPEN;
}

/* Until it is settled or stuck; all that changes goes into the trace. */
static int watch_twin(struct plan_work *w, struct err *err)
{
    struct picture p = {0};
    uint64_t seen = 0, pictured = 0;
    usec changed = twin_time(w->twin);
    enum outcome outcome = OUTCOME_OPEN;
    while (outcome == OUTCOME_OPEN && twin_time(w->twin) < LIMIT) {
        if (!twin_run(w->twin, twin_time(w->twin) - changed < QUIET ? SLICE : SLICE_QUIET))
            return err_set(err, ERR_TIMEOUT, "the trial did not come to an end");
        if (seen != twin_revision(w->twin)) {
            struct twin_news news = twin_news(w->twin);
            trace_add(&w->trace, &news);
            seen = twin_revision(w->twin);
            changed = twin_time(w->twin);
        }
        usec quiet = twin_time(w->twin) - changed;
        if (quiet >= QUIET && pictured != seen) {
            twin_picture(w->twin, w->ns, PICTURE_OF_SETS, &p);
            pictured = seen;
        }
        if (quiet >= QUIET)
            outcome = judge(w, &p, quiet);
    }
    twin_picture(w->twin, w->ns, SHOWN, &p);
    const struct obj *pcs = picture_find(&p, PICTURE_SETS, w->name);
    w->completes = outcome == OUTCOME_GOOD;
    if (!w->completes)
        w->reason = pcs ? why_not(w, &p, pcs) : STR("the set is gone");
    trace_end(&w->trace);
    return 0;
}

static int try_it(struct plan_work *w, struct err *err)
{
    int r = twin_check_size(&w->live, w->docs, err);
    if (r)
        return r;
    w->twin = twin_new(&w->live, w->ns, w->name, err);
    if (!w->twin)
        return err->code;
    twin_copy_settings(w->twin, &w->settings);
    r = w->before ? twin_adopt(w->twin, &w->live, w->before, err) : 0;
    if (r)
        return r;
    twin_watch(w->twin, w->ns);
    struct twin_news beginning = twin_news(w->twin);
    r = apply_all(w, err);
    if (r)
        return r;
    w->changes = !w->before || !jequal(obj_spec(w->before), obj_spec(w->after));
    w->rolls = w->before && !revision_same(jgetc(obj_spec(w->before), "template"),
                                           jgetc(obj_spec(w->after), "template"));
    trace_init(&w->trace, w->arena, w->after);
    trace_add(&w->trace, &beginning);
    w->completes = true;
    w->goes_on = w->before && update_is_running(w->before);
    return w->changes || w->goes_on ? watch_twin(w, err) : 0;
}

/* ---- the document ---- */

static void put_amounts(struct jw *j, const char *key, const struct plan_work *w,
                        const struct demand *d)
{
    jw_put_object(j, key);
    for (size_t r = 0; r < w->trace.resources.n_resources; r++) {
        str name = w->trace.resources.resources[r];
        if (d->amount[r] == 0)
            continue;
        jw_key(j, name);
        jw_str(j, room_amount(w->arena, name, d->amount[r]));
    }
    jw_end(j);
}

static void put_names(struct jw *j, const char *key, const str *names, size_t n)
{
    jw_put_array(j, key);
    for (size_t i = 0; i < n; i++)
        jw_str(j, names[i]);
    jw_end(j);
}

/* "1.2": as the planner says, or the replica's turn and how often something was taken in it. */
struct numbering {
    int64_t replica, step, sub;
    str said; /* by the planner, the last one */
};

static str number_step(const struct plan_work *w, const struct trace_step *s, struct numbering *n)
{
    static const str word = {"sub-step ", 9};
    ptrdiff_t at = str_find(s->title, word);
    int64_t replica = s->takes.len > 0 ? s->takes.p[0].replica : n->replica;
    if (at >= 0) {
        str rest = str_sub(s->title, (size_t)at + word.len, s->title.len);
        n->said = str_cut(&rest, ':');
    }
    /* The second half of a step that surges has no name of its own: what is old goes. */
    if (!str_is_empty(n->said))
        return n->said;
    if (n->step == 0 || replica != n->replica) {
        n->step++;
        n->sub = 0;
    }
    n->replica = replica;
    return arena_printf(w->arena, "%lld.%lld", (long long)n->step, (long long)++n->sub);
}

/* Which cliques of a replica of a group go, and which stay. */
static void put_parts(struct jw *j, const char *key, const struct trace_take *x, bool taken)
{
    jw_put_array(j, key);
    for (size_t i = 0; i < x->n_parts; i++) {
        if ((x->parts[i].taken > 0) != taken)
            continue;
        jw_object(j);
        jw_put_str(j, "clique", x->parts[i].clique);
        jw_put_int(j, "pods", taken ? x->parts[i].taken : x->parts[i].had);
        jw_end(j);
    }
    jw_end(j);
}

static void put_takes(struct jw *j, const struct plan_work *w, const struct trace_step *s)
{
    jw_put_array(j, "takes");
    for (size_t i = 0; i < s->takes.len; i++) {
        const struct trace_take *x = &s->takes.p[i];
        jw_object(j);
        jw_put_int(j, "replica", x->replica);
        jw_put_str(j, "component",
                   x->component == SIZE_MAX ? STR_NONE : w->trace.components[x->component].name);
        if (x->index >= 0)
            jw_put_int(j, "groupReplica", x->index);
        jw_put_int(j, "pods", x->pods);
        if (x->n_parts > 0) {
            put_parts(j, "replaced", x, true);
            put_parts(j, "kept", x, false);
        }
        jw_end(j);
    }
    jw_end(j);
}

static void put_step(struct jw *j, const struct plan_work *w, const struct trace_step *s,
                     struct numbering *n)
{
    jw_object(j);
    jw_put_str(j, "step", number_step(w, s, n));
    if (!str_is_empty(s->title))
        jw_put_str(j, "title", s->title);
    put_takes(j, w, s);
    jw_put_int(j, "podsMade", s->made);
    put_names(j, "gangsCreated", s->gangs_made.p, s->gangs_made.len);
    put_names(j, "gangsDrained", s->gangs_gone.p, s->gangs_gone.len);
    jw_put_array(j, "podGangMapEntries");
    for (size_t i = 0; i < s->entries.len; i++)
        jw_raw(j, s->entries.p[i]);
    jw_end(j);
    jw_put_object(j, "ready");
    for (size_t i = 0; i < w->trace.n_components; i++) {
        jw_key(j, w->trace.components[i].name);
        jw_int(j, s->low[i] == INT64_MAX ? w->trace.before[i] : s->low[i]);
    }
    jw_end(j);
    put_amounts(j, "needs", w, &s->need);
    jw_put_bool(j, "fits", s->waiting == 0);
    jw_put_int(j, "podsWaiting", s->waiting);
    jw_end(j);
}

static void put_components(struct jw *j, const struct plan_work *w)
{
    int64_t replicas = jint(jgetc(obj_spec(w->after), "replicas"), 0);
    jw_put_array(j, "components");
    for (size_t i = 0; i < w->trace.n_components; i++) {
        const struct trace_component *c = &w->trace.components[i];
        jw_object(j);
        jw_put_str(j, "name", c->name);
        jw_put_cstr(j, "kind", c->group ? "PodCliqueScalingGroup" : "PodClique");
        jw_put_int(j, "desired", c->desired * replicas);
        jw_put_int(j, "readyNow", w->trace.before[i]);
        jw_put_int(j, "readyLeast", w->trace.low[i]);
        jw_put_int(j, "readyAfter", w->trace.after[i]);
        jw_end(j);
    }
    jw_end(j);
}

/* What is different in the set, a line each: "replicas: 3 -> 5". */
static void put_changes(struct jw *j, const struct plan_work *w)
{
    static const str inner = {"template.", 9};
    struct strbuf text = STRBUF_INIT(1 << 20);
    if (w->before)
        json_diff_print(obj_spec(w->before), obj_spec(w->after), &text);
    jw_put_array(j, "changes");
    for (str lines = str_trim(strbuf_str(&text)); lines.len > 0;) {
        str line = str_cut(&lines, '\n');
        jw_str(j, str_starts(line, inner) ? str_sub(line, inner.len, line.len) : line);
    }
    jw_end(j);
    strbuf_done(&text);
}

static jval find_clique(jval template, str name)
{
    for (struct jiter it = jiter(jgetc(template, "cliques")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return it.value;
    }
    return JVAL_ABSENT;
}

static bool clique_changes(const struct plan_work *w, str name)
{
    jval before = jgetc(obj_spec(w->before), "template"),
         after = jgetc(obj_spec(w->after), "template");
    return grove_clique_hash(before, find_clique(before, name)) !=
           grove_clique_hash(after, find_clique(after, name));
}

/* Groups of which some cliques change and others do not: what happens to those. */
static void put_members(struct jw *j, const struct plan_work *w)
{
    jval groups = jpath(obj_spec(w->after), "template.podCliqueScalingGroups");
    bool rolls = w->rolls && update_strategy_of(w->after) == UPDATE_RECREATE;
    jw_put_array(j, "members");
    for (struct jiter it = jiter(groups); rolls && jnext(&it);) {
        jval cliques = jgetc(it.value, "cliqueNames");
        str said = jstr(jpath(it.value, "rollingUpdate.members"));
        size_t n = 0;
        for (struct jiter c = jiter(cliques); jnext(&c);)
            n += clique_changes(w, jstr(c.value));
        if (n == 0 || n == jlen(cliques))
            continue;
        jw_object(j);
        jw_put_str(j, "group", jstr(jgetc(it.value, "name")));
        jw_put_str(j, "members", str_is_empty(said) ? STR("All") : said);
        for (int changed = 1; changed >= 0; changed--) {
            jw_put_array(j, changed ? "changed" : "unchanged");
            for (struct jiter c = jiter(cliques); jnext(&c);) {
                if (clique_changes(w, jstr(c.value)) == changed)
                    jw_str(j, jstr(c.value));
            }
            jw_end(j);
        }
        jw_end(j);
    }
    jw_end(j);
}

static str verdict_of(const struct plan_work *w)
{
    int64_t made = 0;
    if (!w->changes && !w->goes_on)
        return STR("the set is what the manifest says");
    for (size_t i = 0; i < w->trace.steps.len; i++)
        made += w->trace.steps.p[i].made;
    if (!w->completes)
        return w->reason;
    if (w->trace.steps.len == 0)
        return update_strategy_of(w->after) == UPDATE_ON_DELETE
                   ? STR("pods change when somebody deletes them (OnDelete)")
                   : STR("no pod is touched");
    return arena_printf(w->arena, "%zu %s, %lld pod%s made", w->trace.steps.len,
                        w->trace.steps.len == 1 ? "step" : "steps", (long long)made,
                        paint_plural(made));
}

static struct doc *plan_build(const struct plan_work *w)
{
    struct jw j;
    struct numbering n = {0};
    jw_init(&j);
    jw_object(&j);
    jw_put_str(&j, "namespace", w->ns);
    jw_put_str(&j, "name", w->name);
    jw_put_cstr(&j, "state",
                !w->changes && !w->goes_on ? "nothing to do"
                : !w->completes            ? "cannot complete"
                : !w->changes              ? "goes on"
                : w->before                ? "changes"
                                           : "new");
    jw_put_str(&j, "text", verdict_of(w));
    jw_put_cstr(&j, "strategy", rollout_strategy(w->after));
    jw_put_bool(&j, "newVersion", w->rolls);
    put_changes(&j, w);
    put_members(&j, w);
    put_components(&j, w);
    jw_put_array(&j, "steps");
    for (size_t i = 0; i < w->trace.steps.len; i++)
        put_step(&j, w, &w->trace.steps.p[i], &n);
    jw_end(&j);
    jw_put_object(&j, "capacity");
    put_amounts(&j, "now", w, &w->trace.held);
    put_amounts(&j, "most", w, &w->trace.peak);
    jw_end(&j);
    jw_end(&j);
    return jw_doc(&j);
}

/* ---- the text ---- */

/* Of the same cliques pods are taken, and of the same ones none is. */
static bool same_parts(jval a, jval b, const char *key)
{
    jval x = jget(a, str_of(key)), y = jget(b, str_of(key));
    for (size_t i = 0; i < MAX(jlen(x), jlen(y)); i++) {
        if (!jequal(jgetc(jat(x, i), "clique"), jgetc(jat(y, i), "clique")))
            return false;
    }
    return true;
}

/* How many of them, from i on, are neighbours in one group. */
static size_t run_length(jval takes, size_t i)
{
    size_t n = 1;
    jval first = jat(takes, i);
    int64_t index = jint(jgetc(first, "groupReplica"), -1);
    for (; index >= 0 && i + n < jlen(takes); n++) {
        jval next = jat(takes, i + n);
        if (!jequal(jgetc(next, "component"), jgetc(first, "component")) ||
            !jequal(jgetc(next, "replica"), jgetc(first, "replica")) ||
            jint(jgetc(next, "groupReplica"), -1) != index + (int64_t)n ||
            !same_parts(first, next, "replaced") || !same_parts(first, next, "kept"))
            break;
    }
    return n;
}

/* "1 leader, 4 cache", of n neighbours together. */
static void add_parts(struct strbuf *b, jval takes, size_t i, size_t n, const char *key)
{
    jval parts = jget(jat(takes, i), str_of(key));
    for (size_t p = 0; p < jlen(parts); p++) {
        long long pods = 0;
        for (size_t k = 0; k < n; k++)
            pods += jint(jgetc(jat(jget(jat(takes, i + k), str_of(key)), p), "pods"), 0);
        strbuf_printf(b, "%s%lld %.*s", p ? ", " : "", pods,
                      STR_ARG(jstr(jgetc(jat(parts, p), "clique"))));
    }
}

/* "2 router, engine-1..3 (9 pods)", or "(3 leader; keeps 6 worker)" */
static str takes_text(jval takes, struct arena *a)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (size_t i = 0, n; i < jlen(takes); i += n) {
        jval first = jat(takes, i), index = jgetc(first, "groupReplica");
        str name = jstr(jgetc(first, "component"));
        long long pods = 0, from = jint(index, 0);
        n = run_length(takes, i);
        for (size_t k = 0; k < n; k++)
            pods += jint(jgetc(jat(takes, i + k), "pods"), 0);
        strbuf_add_cstr(&b, i ? ", " : "");
        if (!j_has(index)) {
            strbuf_printf(&b, "%lld %.*s", pods, STR_ARG(name));
            continue;
        }
        strbuf_printf(&b, "%.*s-%lld", STR_ARG(name), from);
        if (n > 1)
            strbuf_printf(&b, "..%lld", from + (long long)n - 1);
        if (jlen(jgetc(first, "kept")) == 0) {
            strbuf_printf(&b, " (%lld %s)", pods, pods == 1 ? "pod" : "pods");
            continue;
        }
        strbuf_add_cstr(&b, " (");
        add_parts(&b, takes, i, n, "replaced");
        strbuf_add_cstr(&b, "; keeps ");
        add_parts(&b, takes, i, n, "kept");
        strbuf_add_cstr(&b, ")");
    }
    str text = arena_str(a, b.len ? strbuf_str(&b) : STR("-"));
    strbuf_done(&b);
    return text;
}

/* Pods are a resource, too, but their number is told already. */
static str amounts_text(jval amounts, struct arena *a)
{
    struct strbuf b = STRBUF_INIT(1 << 16);
    for (struct jiter it = jiter(amounts); jnext(&it);) {
        if (!str_is(it.key, "pods"))
            strbuf_printf(&b, "%s%.*s %.*s", b.len ? ", " : "", STR_ARG(jstr(it.value)),
                          STR_ARG(it.key));
    }
    str text = arena_str(a, b.len ? strbuf_str(&b) : STR("-"));
    strbuf_done(&b);
    return text;
}

/* "0", "1,2" of one step, "1..999" of many. */
static str replicas_text(jval steps, size_t first, size_t n, struct arena *a)
{
    str text = STR_NONE;
    int64_t last = -1, least = INT64_MAX, most = -1;
    for (size_t i = 0; i < n; i++) {
        for (struct jiter it = jiter(jgetc(jat(steps, first + i), "takes")); jnext(&it);) {
            int64_t replica = jint(jgetc(it.value, "replica"), 0);
            least = MIN(least, replica);
            most = MAX(most, replica);
            if (n == 1 && replica != last)
                text = arena_printf(a, "%.*s%s%lld", STR_ARG(text), text.len ? "," : "",
                                    (long long)replica);
            last = replica;
        }
    }
    if (n == 1 || most < 0)
        return str_is_empty(text) ? STR("-") : text;
    return least == most ? arena_printf(a, "%lld", (long long)least)
                         : arena_printf(a, "%lld..%lld", (long long)least, (long long)most);
}

/* The fewest of all are marked. */
static void add_ready(struct grid *g, jval components, jval ready)
{
    for (struct jiter it = jiter(components); jnext(&it);) {
        long long n = jint(jget(ready, jstr(jgetc(it.value, "name"))), 0);
        long long least = jint(jgetc(it.value, "readyLeast"), 0);
        bool low = n == least && n < jint(jgetc(it.value, "readyNow"), 0);
        grid_printf(g, low ? PAINT_WAIT : PAINT_PLAIN, "%lld%s", n, low ? " min" : "");
    }
}

static void add_step(struct grid *g, jval components, jval steps, size_t i, struct arena *a)
{
    jval step = jat(steps, i);
    long long waiting = jint(jgetc(step, "podsWaiting"), 0);
    size_t created = jlen(jgetc(step, "gangsCreated")), drained = jlen(jgetc(step, "gangsDrained"));
    grid_add(g, PAINT_STRONG, jstr(jgetc(step, "step")));
    grid_add(g, PAINT_PLAIN, replicas_text(steps, i, 1, a));
    grid_add(g, PAINT_PLAIN, takes_text(jgetc(step, "takes"), a));
    grid_printf(g, PAINT_PLAIN, "%lld", (long long)jint(jgetc(step, "podsMade"), 0));
    grid_printf(g, PAINT_PLAIN, "+%zu -%zu", created, drained);
    add_ready(g, components, jgetc(step, "ready"));
    grid_add(g, PAINT_PLAIN, amounts_text(jgetc(step, "needs"), a));
    if (waiting > 0)
        grid_printf(g, PAINT_BAD, "no: %lld %s", waiting, waiting == 1 ? "pod waits" : "pods wait");
    else
        grid_add(g, PAINT_GOOD, STR("yes"));
}

/* ---- what repeats itself ---- */

/* Steps that do the same to other replicas have the same shape: how much of what is taken, how much
 * is made, who is ready meanwhile. */
static str shape_of(jval step, struct arena *a)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    jval before = JVAL_ABSENT;
    for (struct jiter it = jiter(jgetc(step, "takes")); jnext(&it); before = it.value) {
        bool same = jequal(jgetc(before, "replica"), jgetc(it.value, "replica"));
        strbuf_printf(&b, "%s%.*s %lld;", same ? "" : "/",
                      STR_ARG(jstr(jgetc(it.value, "component"))),
                      (long long)jint(jgetc(it.value, "pods"), 0));
    }
    strbuf_printf(&b, "|%lld +%zu -%zu %lld|", (long long)jint(jgetc(step, "podsMade"), 0),
                  jlen(jgetc(step, "gangsCreated")), jlen(jgetc(step, "gangsDrained")),
                  (long long)jint(jgetc(step, "podsWaiting"), 0));
    strbuf_add_str(&b, jtext(jgetc(step, "ready")));
    strbuf_add_str(&b, jtext(jgetc(step, "needs")));
    str text = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

/* So many steps from i on are `period` of them, again and again, at least three times; 0: none. */
static size_t fold_length(const str *shapes, size_t n, size_t i, size_t period)
{
    size_t same = 0;
    while (i + period + same < n && str_eq(shapes[i + same], shapes[i + period + same]))
        same++;
    size_t times = same / period + 1;
    return times >= 3 ? times * period : 0;
}

/* The fold that spares most lines. */
static size_t find_fold(const str *shapes, size_t n, size_t i, size_t *ret_period)
{
    size_t best = 0, spared = 0;
    for (size_t period = 1; period <= MAX_PERIOD; period++) {
        size_t length = fold_length(shapes, n, i, period);
        if (length > period && length - period > spared) {
            best = length;
            spared = length - period;
            *ret_period = period;
        }
    }
    return best;
}

/* One line for steps that repeat those before them. */
static void add_fold(struct grid *g, jval components, jval steps, size_t first, size_t n,
                     size_t period, struct arena *a)
{
    long long made = 0, created = 0, drained = 0;
    jval last = jat(steps, first + n - 1);
    for (size_t i = 0; i < n; i++) {
        jval step = jat(steps, first + i);
        made += jint(jgetc(step, "podsMade"), 0);
        created += (long long)jlen(jgetc(step, "gangsCreated"));
        drained += (long long)jlen(jgetc(step, "gangsDrained"));
    }
    grid_printf(g, PAINT_STRONG, "..%.*s", STR_ARG(jstr(jgetc(last, "step"))));
    grid_add(g, PAINT_PLAIN, replicas_text(steps, first, n, a));
    str what = period > 1 ? arena_printf(a, "these %zu steps", period) : STR("the same");
    grid_printf(g, PAINT_PLAIN, "%.*s %zu times more, up to %.*s", STR_ARG(what), n / period,
                STR_ARG(takes_text(jgetc(last, "takes"), a)));
    grid_printf(g, PAINT_PLAIN, "%lld", made);
    grid_printf(g, PAINT_PLAIN, "+%lld -%lld", created, drained);
    for (size_t i = 0; i < jlen(components); i++)
        grid_add(g, PAINT_DIM, STR("same"));
    grid_add(g, PAINT_DIM, STR("same"));
    grid_add(g, PAINT_DIM, STR("same"));
}

/* Returns how many steps it has told of, and whether some of them together. */
static size_t add_steps(struct grid *g, jval components, jval steps, bool wide, struct arena *a,
                        bool *ret_folded)
{
    size_t n = jlen(steps), i = 0, lines = 0;
    bool folds = !wide && n > FOLD_ABOVE;
    str *shapes = arena_array(a, str, n + 1);
    for (size_t k = 0; folds && k < n; k++)
        shapes[k] = shape_of(jat(steps, k), a);
    while (i < n && (wide || lines < MAX_SHOWN_STEPS)) {
        size_t period = 1, length = folds ? find_fold(shapes, n, i, &period) : 0;
        for (size_t end = i + period; i < end; i++, lines++)
            add_step(g, components, steps, i, a);
        if (length == 0)
            continue;
        add_fold(g, components, steps, i, length - period, period, a);
        i += length - period;
        *ret_folded = true;
        lines++;
    }
    return i;
}

static void write_steps(jval doc, bool wide, struct arena *a, struct strbuf *out)
{
    static const char *const first[] = {"STEP", "REPLICA", "TAKES AWAY", "MAKES", "GANGS"};
    jval components = jgetc(doc, "components"), steps = jgetc(doc, "steps");
    struct grid g;
    grid_init(&g, a, ARRAY_LEN(first) + jlen(components) + 2);
    g.indent = "  ";
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        grid_add(&g, PAINT_DIM, str_of(first[i]));
    for (struct jiter it = jiter(components); jnext(&it);)
        grid_add(&g, PAINT_DIM,
                 arena_printf(a, "%.*s READY", STR_ARG(jstr(jgetc(it.value, "name")))));
    grid_add(&g, PAINT_DIM, STR("NEEDS"));
    grid_add(&g, PAINT_DIM, STR("FITS"));
    grid_add(&g, PAINT_PLAIN, STR("now"));
    for (size_t i = 1; i < ARRAY_LEN(first); i++)
        grid_add(&g, PAINT_PLAIN, STR("-"));
    for (struct jiter it = jiter(components); jnext(&it);)
        grid_printf(&g, PAINT_PLAIN, "%lld", (long long)jint(jgetc(it.value, "readyNow"), 0));
    grid_add(&g, PAINT_PLAIN, STR("-"));
    grid_add(&g, PAINT_PLAIN, STR("-"));
    bool folded = false;
    size_t told = add_steps(&g, components, steps, wide, a, &folded);
    strbuf_add_char(out, '\n');
    grid_write(&g, out);
    if (told < jlen(steps))
        strbuf_printf(out, "  and %zu more (-o wide shows all)\n", jlen(steps) - told);
    else if (folded)
        strbuf_add_cstr(out, "  -o wide shows each step on a line of its own\n");
}

static void write_changes(jval changes, bool wide, struct strbuf *out)
{
    size_t n = jlen(changes), most = wide ? n : MIN(n, (size_t)MAX_SHOWN_CHANGES);
    for (size_t i = 0; i < most; i++)
        strbuf_printf(out, "  %s %.*s\n",
                      i ? "        " : "changes:", STR_ARG(jstr(jat(changes, i))));
    if (most < n)
        strbuf_printf(out, "           and %zu more (-o wide shows all)\n", n - most);
}

static void add_names(struct strbuf *out, jval names)
{
    for (struct jiter it = jiter(names); jnext(&it);)
        strbuf_printf(out, "%s%.*s", it.index ? ", " : "", STR_ARG(jstr(it.value)));
}

/* One line for each group of which only some cliques change. */
static void write_members(jval members, struct strbuf *out)
{
    for (struct jiter it = jiter(members); jnext(&it);) {
        bool keeps = str_is(jstr(jgetc(it.value, "members")), "Changed");
        strbuf_printf(out, "  %s %.*s: %s, ",
                      it.index ? "        " : "members:", STR_ARG(jstr(jgetc(it.value, "group"))),
                      keeps ? "Changed" : "All");
        add_names(out, jgetc(it.value, "unchanged"));
        strbuf_printf(out, " did not change and %s ",
                      keeps ? "is kept; replaced:" : "is replaced together with");
        add_names(out, jgetc(it.value, "changed"));
        strbuf_add_cstr(out, keeps ? "\n" : " (rollingUpdate.members: Changed would keep it)\n");
    }
}

static void plan_write(jval doc, bool wide, struct arena *a, struct strbuf *out)
{
    str state = jstr(jgetc(doc, "state"));
    bool bad = str_is(state, "cannot complete");
    paint_add(out, PAINT_STRONG, arena_printf(a, "pcs/%.*s ", STR_ARG(jstr(jgetc(doc, "name")))));
    paint_add(out, bad ? PAINT_BAD : PAINT_GOOD, state);
    strbuf_printf(out, ": %.*s\n", STR_ARG(jstr(jgetc(doc, "text"))));
    if (str_is(state, "nothing to do"))
        return;
    write_changes(jgetc(doc, "changes"), wide, out);
    if (j_is_true(jgetc(doc, "newVersion")))
        strbuf_printf(out, "  strategy: %.*s\n", STR_ARG(jstr(jgetc(doc, "strategy"))));
    write_members(jgetc(doc, "members"), out);
    strbuf_printf(out, "  capacity: now %.*s; at most %.*s\n",
                  STR_ARG(amounts_text(jpath(doc, "capacity.now"), a)),
                  STR_ARG(amounts_text(jpath(doc, "capacity.most"), a)));
    if (jlen(jgetc(doc, "steps")) > 0)
        write_steps(doc, wide, a, out);
}

/* ---- the command ---- */

static void work_done(struct plan_work *w)
{
    trace_done(&w->trace);
    obj_unref(w->after);
    twin_free(w->twin);
}

static int answer(struct plan_work *w, const struct plan_args *a, struct err *err)
{
    int r = read_subject(w, &a->files, err);
    r = r ? r : read_live(w, err);
    r = r ? r : try_it(w, err);
    if (r)
        return r;
    struct doc *d = plan_build(w);
    view_print(doc_root(d), &a->view, plan_write, w->arena);
    doc_unref(d);
    return 0;
}

static int run_plan(void *ctx, const void *opts, const struct command_call *call)
{
    const struct plan_args *a = opts;
    struct session s = {0};
    struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    doc_vec docs = {0};
    struct plan_work w = {.session = &s, .arena = &arena, .docs = &docs};
    (void)ctx;
    (void)call;
    int r = manifest_read_all(&a->files, &docs, &err);
    r = r ? r : session_open(&a->view.session, &s, &err);
    r = r ? r : answer(&w, a, &err);
    work_done(&w);
    doc_vec_done(&docs);
    if (s.loop)
        session_close(&s);
    arena_done(&arena);
    return r ? cli_fail(&err) : !w.completes ? EXIT_STUCK : w.changes ? EXIT_NO : EXIT_OK;
}

static const struct opt plan_opts[] = {
    {.kind = OPT_K_LIST,
     .name = "filename",
     .letter = 'f',
     .metavar = "FILE",
     .help =
         "Manifests with one PodCliqueSet: a file, a directory of them, or - for standard input",
     .offset = offsetof(struct plan_args, files),
     .required = true},
    OPT_GROUP(NULL, view_options_once, offsetof(struct plan_args, view)),
    OPT_END,
};

const struct command cmd_plan = {
    .name = "plan",
    .summary = "What would happen if this were applied, step by step",
    .description =
        "Copies the set and its pods as they are into a simulated twin of the cluster, applies the "
        "manifest there and lets the real controllers and the real scheduler do the update under "
        "virtual time, assuming that new pods become ready. Shows for each step what is taken "
        "away (of a scaling group's replica also which cliques are kept), which pods and gangs are "
        "made, the smallest number of each role and group that is "
        "ready (the lowest point is marked), what the new pods need and whether they would get a "
        "place. Among many steps, those that repeat are shown once; -o wide shows all. Nothing is "
        "written to the cluster. Preemption, disturbances and failing pods are not considered. "
        "Exit code 0 when there is nothing to do, 1 when something would change, 3 when it would "
        "not complete.",
    .opts = plan_opts,
    .opts_size = sizeof(struct plan_args),
    .examples = "  $ grove plan -f my-set.yaml\n  $ grove plan -f my-set.yaml -o json",
    .run = run_plan,
};
