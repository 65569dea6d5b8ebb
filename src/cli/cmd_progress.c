/*
 * `grove rollout status`: how far the update of a set is. What it says is read from the set's own
 * status (updateProgress, condition Progressing), once it speaks of the template as it is now:
 * between a change and the operator's first look at it the status is still about the one before.
 */
#include "cli/cmd_rollout.h"
#include "cli/cmd_status.h"
#include "cli/offer_names.h"
#include "grove/revision.h"
#include "grove/types.h"
#include "operator/common/update.h"

/* States, and how watching and the exit code take them. */
enum state {
    STATE_WAITING,
    STATE_DEPLOYING,
    STATE_UPDATING,
    STATE_PAUSED,
    STATE_FAILED,
    STATE_ON_DELETE,
    STATE_PARTITIONED,
    STATE_COMPLETE,
};
static const struct {
    const char *name;
    enum paint paint;
    bool over;
    int code;
} states[] = {
    [STATE_WAITING] = {"waiting", PAINT_WAIT, false, EXIT_OK},
    [STATE_DEPLOYING] = {"deploying", PAINT_WAIT, false, EXIT_OK},
    [STATE_UPDATING] = {"updating", PAINT_WAIT, false, EXIT_OK},
    [STATE_PAUSED] = {"paused", PAINT_WAIT, false, EXIT_OK},
    [STATE_FAILED] = {"failed", PAINT_BAD, true, EXIT_NO},
    [STATE_ON_DELETE] = {"by hand", PAINT_GOOD, true, EXIT_OK},
    [STATE_PARTITIONED] = {"partitioned", PAINT_GOOD, true, EXIT_OK},
    [STATE_COMPLETE] = {"complete", PAINT_GOOD, true, EXIT_OK},
};

struct verdict {
    enum state state;
    str text;
};

/* ---- the document ---- */

/* The status is about the template as it is. Where revisions cannot be read, the generation has to
 * do. */
static bool is_observed(const struct picture *p, const struct obj *pcs, struct arena *a)
{
    jval status = obj_status(pcs), progress = jgetc(status, "updateProgress");
    struct rollout_history h;
    if (!str_is_empty(obj_annotation(pcs, STR(ANNOTATION_ROLLBACK_TO))))
        return false;
    if (j_has(jgetc(progress, "partition")) &&
        jint(jgetc(progress, "partition"), 0) != update_partition(pcs))
        return false;
    rollout_history(p, pcs, a, &h);
    if (h.n == 0)
        return jint(jgetc(status, "observedGeneration"), -1) == pcs->generation;
    return h.current && str_eq(revision_generation_hash(h.current),
                               jstr(jgetc(status, "currentGenerationHash")));
}

/* Why nothing moves, in the words of the engine and of what stands in the way. */
static str reason_of_failure(const struct picture *p, const struct obj *pcs, jval condition,
                             struct arena *a)
{
    str text = jstr(jgetc(condition, "message")), more = STR_NONE;
    struct findings f;
    for (struct jiter it = jiter(jpath(obj_status(pcs), "updateProgress.currentlyUpdating"));
         jnext(&it);) {
        if (str_is_empty(more))
            more = jstr(jgetc(it.value, "errorMessage"));
    }
    findings_of_set(p, pcs, a, &f);
    for (size_t i = 0; i < f.items.len && str_is_empty(more); i++) {
        if (f.items.p[i].state == FINDING_FAILED || f.items.p[i].state == FINDING_WAITING)
            more = f.items.p[i].verdict;
    }
    findings_done(&f);
    text = arena_printf(a, "%.*s: %.*s", STR_ARG(jstr(jgetc(condition, "reason"))), STR_ARG(text));
    return str_is_empty(more) ? text : arena_printf(a, "%.*s; %.*s", STR_ARG(text), STR_ARG(more));
}

/* No update has been yet: the first deployment. */
static struct verdict judge_first(const struct obj *pcs, struct arena *a)
{
    int64_t desired = jint(jgetc(obj_spec(pcs), "replicas"), 0);
    int64_t available = jint(jgetc(obj_status(pcs), "availableReplicas"), 0);
    return (struct verdict){available >= desired ? STATE_COMPLETE : STATE_DEPLOYING,
                            arena_printf(a, "%lld of %lld replicas are available",
                                         (long long)available, (long long)desired)};
}

static struct verdict judge(const struct picture *p, const struct obj *pcs, struct arena *a)
{
    static const struct {
        const char *reason;
        enum state state;
    } reasons[] = {
        {"Updating", STATE_UPDATING},  {"Paused", STATE_PAUSED},
        {"OnDelete", STATE_ON_DELETE}, {"Partitioned", STATE_PARTITIONED},
        {"Complete", STATE_COMPLETE},
    };
    jval c = condition_find(jgetc(obj_status(pcs), "conditions"), STR("Progressing"));
    str reason = jstr(jgetc(c, "reason")), server = findings_of_server(p);
    if (!str_is_empty(server))
        return (struct verdict){STATE_FAILED, server};
    if (!is_observed(p, pcs, a))
        return (struct verdict){STATE_WAITING, STR("the operator has not taken up the change yet")};
    if (str_is(reason, "ProgressDeadlineExceeded"))
        return (struct verdict){STATE_FAILED, reason_of_failure(p, pcs, c, a)};
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (str_is(reason, reasons[i].reason))
            return (struct verdict){reasons[i].state, jstr(jgetc(c, "message"))};
    }
    return judge_first(pcs, a);
}

static struct doc *progress_build(const struct picture *p, const struct view_target *t,
                                  struct arena *a, struct err *err)
{
    static const char *const parts[] = {"replicas", "pods", "scalingGroups", "roles"};
    const struct obj *pcs = picture_find(p, PICTURE_SETS, t->name);
    struct doc *whole = status_build(p, t, a, err);
    if (!whole || !pcs)
        return NULL;
    jval set = jat(jgetc(doc_root(whole), "sets"), 0), status = obj_status(pcs);
    struct verdict v = judge(p, pcs, a);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "namespace", p->ns);
    jw_put_str(&w, "name", pcs->name);
    jw_put_cstr(&w, "state", states[v.state].name);
    jw_put_str(&w, "text", v.text);
    jw_put_cstr(&w, "strategy", rollout_strategy(pcs));
    jw_put(&w, "progress", jgetc(status, "updateProgress"));
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        jw_put(&w, parts[i], jget(set, str_of(parts[i])));
    jw_end(&w);
    doc_unref(whole);
    return jw_doc(&w);
}

/* ---- the text ---- */

static size_t state_of(jval doc)
{
    size_t i = 0;
    while (i + 1 < ARRAY_LEN(states) && !str_is(jstr(jgetc(doc, "state")), states[i].name))
        i++;
    return i;
}

static void line_write(jval doc, bool wide, struct arena *a, struct strbuf *out)
{
    (void)wide;
    paint_add(out, PAINT_STRONG, arena_printf(a, "pcs/%.*s ", STR_ARG(jstr(jgetc(doc, "name")))));
    paint_add(out, states[state_of(doc)].paint, jstr(jgetc(doc, "state")));
    strbuf_printf(out, ": %.*s\n", STR_ARG(jstr(jgetc(doc, "text"))));
}

static void add_row(struct grid *g, const char *what, str name, jval v, const char *ready)
{
    long long desired = jint(jgetc(v, "desired"), 0), updated = jint(jgetc(v, "updated"), 0);
    struct strbuf bar = STRBUF_INIT(4096);
    paint_bar(&bar, updated, desired);
    grid_add(g, PAINT_PLAIN, str_of(what));
    grid_add(g, PAINT_PLAIN, name);
    grid_add(g, PAINT_PLAIN, strbuf_str(&bar));
    grid_printf(g, updated < desired ? PAINT_WAIT : PAINT_GOOD, "%lld/%lld updated", updated,
                desired);
    grid_printf(g, PAINT_PLAIN, "%lld %s", (long long)jint(jget(v, str_of(ready)), 0), ready);
    strbuf_done(&bar);
}

static void progress_write(jval doc, bool wide, struct arena *a, struct strbuf *out)
{
    struct grid g;
    line_write(doc, wide, a, out);
    grid_init(&g, a, 5);
    g.indent = "  ";
    add_row(&g, "set", jstr(jgetc(doc, "name")), jgetc(doc, "replicas"), "available");
    for (struct jiter it = jiter(jgetc(doc, "scalingGroups")); jnext(&it);)
        add_row(&g, "group", jstr(jgetc(it.value, "name")), it.value, "ready");
    for (struct jiter it = jiter(jgetc(doc, "roles")); jnext(&it);)
        add_row(&g, "role", jstr(jgetc(it.value, "name")), it.value, "ready");
    grid_write(&g, out);
    for (struct jiter it = jiter(jpath(doc, "progress.currentlyUpdating")); jnext(&it);) {
        str why = jstr(jgetc(it.value, "errorMessage"));
        if (!str_is_empty(why))
            strbuf_printf(out, "  replica %lld waits: %.*s\n",
                          (long long)jint(jgetc(it.value, "replicaIndex"), 0), STR_ARG(why));
    }
}

static int progress_answer(jval doc)
{
    return states[state_of(doc)].code;
}

static bool progress_over(jval doc)
{
    return states[state_of(doc)].over;
}

/* ---- the command ---- */

static int run_status(void *ctx, const void *opts, const struct command_call *call)
{
    static const struct view page = {.mask = PICTURE_OF_SETS | PICTURE_SERVER,
                                     .optional = 1U << PICTURE_REVISIONS,
                                     .build = progress_build,
                                     .write = progress_write,
                                     .answer = progress_answer,
                                     .over = progress_over};
    struct view_args args = *(const struct view_args *)opts;
    struct view lines = page;
    struct view_target t;
    struct err err = ERR_INIT;
    (void)ctx;
    /* Where nobody looks at a screen, one line for each change. */
    lines.write = line_write;
    if (rollout_read_target(call, &t, &err))
        return cli_fail(&err);
    return view_run(args.watch && !paint_is_terminal() ? &lines : &page, &args, &t);
}

const struct command cmd_rollout_status = {
    .name = "status",
    .summary = "Show how far the update of a set is",
    .description =
        "With --watch it continues until the update is over: progress bars on a terminal, one line "
        "per change elsewhere. Exit code 0 when the update is complete (or, without --watch, under "
        "way), 1 when it failed: nothing has moved for the set's progress deadline, or the server "
        "accepts no writes. The line says which.",
    .usage = "pcs/NAME",
    .min_args = 1,
    .max_args = 2,
    .opts = view_options,
    .opts_size = sizeof(struct view_args),
    .examples = "  $ grove rollout status pcs/my-set --watch\n"
                "  $ grove rollout status pcs/my-set -o json",
    .complete = names_of_sets,
    .run = run_status,
};
