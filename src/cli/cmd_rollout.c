/*
 * `grove rollout`: the table of its commands, and those that ask for something. Each is one write
 * of an annotation that the update engine reads; what comes of it is told by `rollout status`.
 */
#include "cli/cmd_rollout.h"
#include "cli/offer_names.h"

#include "cli/print.h"
#include "grove/revision.h"
#include "grove/types.h"
#include "operator/common/update.h"
#include "json/edit.h"

enum { MAX_TRIES = 20 };

int rollout_read_target(const struct command_call *call, struct view_target *ret, struct err *err)
{
    int r = view_read_target(call, &kind_pcs, ret, err);
    if (r == 0 && ret->kind != &kind_pcs)
        r = err_set(err, ERR_USAGE,
                    "rollout only works on PodCliqueSets: grove rollout %s pcs/NAME",
                    call->command->name);
    return r;
}

const char *rollout_strategy(const struct obj *pcs)
{
    static const char *const names[] = {[UPDATE_RECREATE] = "RollingRecreate",
                                        [UPDATE_ON_DELETE] = "OnDelete",
                                        [UPDATE_COHERENT] = "Coherent"};
    return names[update_strategy_of(pcs)];
}

/* ---- asking ---- */

struct ask_args {
    struct session_opts session;
    int64_t to_revision;
    struct opt_list cliques;
};

struct ask {
    const struct ask_args *args;
    struct session *session;
    struct arena *arena;
    const struct obj *pcs;
    const char *said; /* what was done */
    bool whole_list;  /* the edit is of an item: written is the list as it was read */
};

/* Fills in the edit of the set; an error says why not. Nothing to write: it stays empty. */
typedef int ask_fn(struct ask *q, struct edit *e, struct err *err);

static str annotation_path(struct arena *a, const char *key)
{
    return edit_path(a, STR("metadata"), STR("annotations"), str_of(key));
}

static int ask_pause(struct ask *q, struct edit *e, struct err *err)
{
    if (update_is_paused(q->pcs))
        return err_set(err, ERR_INVALID, "podcliquesets.grove.io \"%.*s\" is already paused",
                       STR_ARG(q->pcs->name));
    edit_set_str(e, annotation_path(q->arena, ANNOTATION_PAUSED), STR("true"));
    q->said = "paused";
    return 0;
}

static int ask_resume(struct ask *q, struct edit *e, struct err *err)
{
    if (!update_is_paused(q->pcs))
        return err_set(err, ERR_INVALID, "podcliquesets.grove.io \"%.*s\" is not paused",
                       STR_ARG(q->pcs->name));
    edit_del(e, annotation_path(q->arena, ANNOTATION_PAUSED));
    q->said = "resumed";
    return 0;
}

/* Says beforehand what the engine would say afterwards in an event. */
static int ask_undo(struct ask *q, struct edit *e, struct err *err)
{
    struct picture p = {0};
    struct rollout_history h;
    int r = picture_read(q->session, 1U << PICTURE_REVISIONS, &p, err);
    if (r)
        return r;
    rollout_history(&p, q->pcs, q->arena, &h);
    const struct obj *to = q->args->to_revision ? rollout_revision(&h, q->args->to_revision, err)
                                                : rollout_previous(&h, q->pcs, err);
    if (!to)
        return err->code;
    if (to == h.current) {
        q->said = "skipped rollback (it is of that revision)";
        return 0;
    }
    struct doc *after = revision_restore(q->pcs, to, err);
    if (!after)
        return err->code;
    doc_unref(after);
    edit_set_str(e, annotation_path(q->arena, ANNOTATION_ROLLBACK_TO),
                 arena_printf(q->arena, "%lld", (long long)revision_number(to)));
    q->said = "rolled back";
    return 0;
}

static bool is_meant(const struct opt_list *names, str name)
{
    for (size_t i = 0; i < names->len; i++) {
        if (str_eq(names->p[i], name))
            return true;
    }
    return names->len == 0;
}

static int check_cliques(const struct opt_list *names, jval cliques, struct err *err)
{
    for (size_t i = 0; i < names->len; i++) {
        bool known = false;
        for (struct jiter it = jiter(cliques); jnext(&it);)
            known = known || str_eq(jstr(jgetc(it.value, "name")), names->p[i]);
        if (!known)
            return err_set(err, ERR_NOT_FOUND, "the set has no clique \"%.*s\"",
                           STR_ARG(names->p[i]));
    }
    return 0;
}

static int ask_restart(struct ask *q, struct edit *e, struct err *err)
{
    jval cliques = jpath(obj_root(q->pcs), "spec.template.cliques");
    if (update_is_paused(q->pcs))
        return err_set(err, ERR_INVALID,
                       "the set is paused: run `grove rollout resume pcs/%.*s` first",
                       STR_ARG(q->pcs->name));
    int r = check_cliques(&q->args->cliques, cliques, err);
    if (r)
        return r;
    struct strbuf now = STRBUF_INIT(64);
    time_format_rfc3339(loop_wall(q->session->loop), &now);
    for (struct jiter it = jiter(cliques); jnext(&it);) {
        if (!is_meant(&q->args->cliques, jstr(jgetc(it.value, "name"))))
            continue;
        str at = arena_printf(q->arena, "%zu", (size_t)it.index);
        edit_set_str(e,
                     edit_path(q->arena, STR("spec"), STR("template"), STR("cliques"), at,
                               STR("annotations"), STR(ANNOTATION_RESTARTED_AT)),
                     strbuf_str(&now));
    }
    strbuf_done(&now);
    q->whole_list = true;
    q->said = "restarted";
    return 0;
}

/* A list is written against the version it was read from: somebody else's write in between makes it
 * a conflict. An annotation stands for itself, however often a busy set's status changes. */
static int write_edit(struct ask *q, struct edit *e, struct err *err)
{
    if (q->whole_list)
        edit_set_str(e, STR("/metadata/resourceVersion"),
                     jstr(jgetc(q->pcs->meta, "resourceVersion")));
    struct doc *patch = edit_as_merge_patch(e, q->pcs->doc, err);
    if (!patch)
        return err->code;
    struct api_request r = {.verb = API_PATCH,
                            .patch = API_PATCH_MERGE,
                            .kind = &kind_pcs,
                            .ns = q->pcs->ns,
                            .name = q->pcs->name,
                            .body = patch,
                            .field_manager = STR("grove")};
    int code = session_send(q->session, &r, NULL, NULL, err);
    doc_unref(patch);
    return code;
}

static int try_once(struct ask *q, ask_fn *fn, str name, struct err *err)
{
    struct obj *pcs = NULL;
    struct edit e;
    int r = session_get(q->session, &kind_pcs, q->session->ns, name, &pcs, err);
    if (r)
        return r;
    q->pcs = pcs;
    edit_init(&e, q->arena);
    r = fn(q, &e, err);
    if (r == 0 && !edit_is_empty(&e))
        r = write_edit(q, &e, err);
    edit_done(&e);
    return r;
}

static int run_ask(const struct ask_args *args, const struct command_call *call, ask_fn *fn)
{
    struct session s = {0};
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct view_target t;
    struct ask q = {.args = args, .session = &s, .arena = &a};
    int r = rollout_read_target(call, &t, &err);
    r = r ? r : session_open(&args->session, &s, &err);
    for (int i = 0; r == 0 && i < MAX_TRIES; i++) {
        r = try_once(&q, fn, t.name, &err);
        if (r != ERR_CONFLICT || i + 1 == MAX_TRIES)
            break;
        r = 0;
    }
    if (r == 0)
        print_reference(&kind_pcs, t.name, q.said);
    if (s.loop)
        session_close(&s);
    arena_done(&a);
    return r ? cli_fail(&err) : EXIT_OK;
}

static int run_pause(void *ctx, const void *opts, const struct command_call *call)
{
    (void)ctx;
    return run_ask(opts, call, ask_pause);
}

static int run_resume(void *ctx, const void *opts, const struct command_call *call)
{
    (void)ctx;
    return run_ask(opts, call, ask_resume);
}

static int run_undo(void *ctx, const void *opts, const struct command_call *call)
{
    (void)ctx;
    return run_ask(opts, call, ask_undo);
}

static int run_restart(void *ctx, const void *opts, const struct command_call *call)
{
    (void)ctx;
    return run_ask(opts, call, ask_restart);
}

/* ---- the tables ---- */

#define ASK_CONNECTION OPT_GROUP("Connection", session_options, offsetof(struct ask_args, session))

static const struct opt ask_opts[] = {ASK_CONNECTION, OPT_END};
static const struct opt undo_opts[] = {
    OPT_INT(struct ask_args, to_revision, 0, "to-revision", "N", 0, INT64_MAX, "0",
            "Revision to go back to (0: the one before the current one)"),
    ASK_CONNECTION,
    OPT_END,
};
static const struct opt restart_opts[] = {
    OPT_LIST(struct ask_args, cliques, 0, "clique", "NAME",
             "Only pods of this clique; may be given several times (default: all)"),
    ASK_CONNECTION,
    OPT_END,
};

static const struct command cmd_pause = {
    .name = "pause",
    .summary = "Pause an update: take no more pods away",
    .description = "Annotates the set with " ANNOTATION_PAUSED
                   "=true. Pods already taken away are replaced; serving pods stay.",
    .usage = "pcs/NAME",
    .min_args = 1,
    .max_args = 2,
    .opts = ask_opts,
    .opts_size = sizeof(struct ask_args),
    .examples = "  $ grove rollout pause pcs/my-set",
    .complete = names_of_sets,
    .run = run_pause,
};

static const struct command cmd_resume = {
    .name = "resume",
    .summary = "Resume a paused update",
    .description = "Removes the annotation " ANNOTATION_PAUSED ".",
    .usage = "pcs/NAME",
    .min_args = 1,
    .max_args = 2,
    .opts = ask_opts,
    .opts_size = sizeof(struct ask_args),
    .examples = "  $ grove rollout resume pcs/my-set",
    .complete = names_of_sets,
    .run = run_resume,
};

static const struct command cmd_undo = {
    .name = "undo",
    .summary = "Go back to an earlier revision",
    .description = "Annotates the set with " ANNOTATION_ROLLBACK_TO
                   "; the operator puts the stored pod templates back and the set's update "
                   "strategy replaces the pods. Replicas and minimums stay as they are.",
    .usage = "pcs/NAME",
    .min_args = 1,
    .max_args = 2,
    .opts = undo_opts,
    .opts_size = sizeof(struct ask_args),
    .examples = "  $ grove rollout undo pcs/my-set\n"
                "  $ grove rollout undo pcs/my-set --to-revision 3",
    .complete = names_of_sets,
    .run = run_undo,
};

static const struct command cmd_restart = {
    .name = "restart",
    .summary = "Recreate all pods, the way an update does",
    .description = "Sets the annotation " ANNOTATION_RESTARTED_AT
                   " in the templates of the cliques to the current time; the set's update "
                   "strategy then replaces the pods.",
    .usage = "pcs/NAME",
    .min_args = 1,
    .max_args = 2,
    .opts = restart_opts,
    .opts_size = sizeof(struct ask_args),
    .examples = "  $ grove rollout restart pcs/my-set\n"
                "  $ grove rollout restart pcs/my-set --clique decode",
    .complete = names_of_sets,
    .run = run_restart,
};

static const struct command *const subs[] = {
    &cmd_rollout_status, &cmd_rollout_history, &cmd_rollout_diff, &cmd_undo,
    &cmd_pause,          &cmd_resume,          &cmd_restart,      NULL,
};

static const struct opt family_opts[] = {OPT_GROUP("Connection", session_options, 0), OPT_END};

const struct command cmd_rollout = {
    .name = "rollout",
    .opts = family_opts,
    .opts_size = sizeof(struct session_opts),
    .summary = "Follow, pause, undo and restart updates of a set",
    .description = "A front end to annotations and fields that any client can set.",
    .subs = subs,
};
