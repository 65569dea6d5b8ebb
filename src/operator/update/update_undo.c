/*
 * Back to a stored revision: because the user says so in an annotation, or because an update got
 * stuck and autoRollback wants that. The template is written once, with the annotation taken off in
 * the same write, so nothing is undone twice. After an automatic one the template is the last
 * complete revision, from which there is no further way back.
 */
#include "operator/common/revisions.h"
#include "operator/common/update.h"

static void write_template(struct jw *w, jval template)
{
    jval priority = jgetc(template, "priorityClassName");
    jw_put_object(w, "spec");
    jw_put_object(w, "template");
    jw_put(w, "cliques", jgetc(template, "cliques"));
    jw_key(w, STR("priorityClassName"));
    if (j_has(priority))
        jw_val(w, priority);
    else
        jw_null(w);
    jw_end(w);
    jw_end(w);
}

/* template absent: only the wish is taken off. */
static void write_back(const struct obj *pcs, jval template, unsigned stage, struct plan *p,
                       const char *why)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    if (!str_is_empty(obj_annotation(pcs, STR(ANNOTATION_ROLLBACK_TO)))) {
        jw_put_object(&w, "metadata");
        jw_put_object(&w, "annotations");
        jw_key(&w, STR(ANNOTATION_ROLLBACK_TO));
        jw_null(&w);
        jw_end(&w);
        jw_end(&w);
    }
    if (!j_is_absent(template))
        write_template(&w, template);
    jw_end(&w);
    plan_why(plan_merge_patch(p, stage, pcs, STR_NONE, jw_doc(&w), pcs->rv), p, "%s", why);
}

/* The set is another one when this is written, so events of this plan are not told; that it
 * happened is told when the update back begins (update_status.c). */
static void restore(const struct obj *pcs, const struct obj *revision, unsigned stage,
                    struct plan *p, const char *why)
{
    struct err err = ERR_INIT;
    struct doc *d = revision_restore(pcs, revision, &err);
    if (!d) {
        plan_event(p, pcs, true, STR("RollbackFailed"), "%s", err.message);
        write_back(pcs, JVAL_ABSENT, stage, p, "it cannot be gone back to");
        return;
    }
    write_back(pcs, jpath(doc_root(d), "spec.template"), stage, p, why);
    doc_unref(d);
}

static void undo_asked(const struct world *w, const struct obj *pcs, const struct obj *current,
                       unsigned stage, struct plan *p)
{
    str wish = obj_annotation(pcs, STR(ANNOTATION_ROLLBACK_TO));
    int64_t number = -1;
    const struct obj *to = NULL;
    if (str_to_int(wish, &number) && number >= 0)
        to =
            number == 0 ? revisions_previous(w, pcs, current) : revisions_by_number(w, pcs, number);
    if (to) {
        restore(pcs, to, stage, p, "the user asked for it");
        return;
    }
    plan_event(p, pcs, true, STR("RollbackRevisionNotFound"), "there is no revision \"%.*s\"",
               STR_ARG(wish));
    write_back(pcs, JVAL_ABSENT, stage, p, "there is no such revision");
}

/* The last complete revision, when the update to another one is stuck and is to be undone. */
static const struct obj *stuck_undo(const struct world *w, const struct obj *pcs,
                                    const struct obj *current, struct arena *a)
{
    jval status = obj_status(pcs);
    jval c = condition_find(jgetc(status, "conditions"), STR("Progressing"));
    str good = jstr(jgetc(status, "lastCompleteGenerationHash"));
    str hash = revision_generation_hash(current);
    if (!str_is(jstr(jpath(obj_root(pcs), "spec.updateStrategy.autoRollback")),
                "OnProgressDeadline") ||
        !update_is_running(pcs) || update_is_paused(pcs) ||
        !str_is(jstr(jgetc(c, "reason")), "ProgressDeadlineExceeded") || str_eq(good, hash) ||
        !str_eq(jstr(jgetc(status, "currentGenerationHash")), hash))
        return NULL;
    return revisions_by_hash(w, pcs, a, good);
}

bool update_plan_undo(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p)
{
    const struct obj *current = revisions_current(w, pcs, p->arena);
    if (!current)
        return false;
    if (!str_is_empty(obj_annotation(pcs, STR(ANNOTATION_ROLLBACK_TO)))) {
        undo_asked(w, pcs, current, stage, p);
        return true;
    }
    const struct obj *to = stuck_undo(w, pcs, current, p->arena);
    if (to)
        restore(pcs, to, stage, p, "the update to another was stuck");
    return to != NULL;
}
