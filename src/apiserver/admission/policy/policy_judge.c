/*
 * What becomes of the verdicts of policies that validate: denied, warned about or logged, as their
 * bindings say. In kube-apiserver's words.
 */
#include "apiserver/admission/policy/policy_impl.h"
#include "apiserver/request.h"
#include "base/log.h"

struct judge {
    struct policy_walk walk;
    const struct status *denied; /* the first */
};

static struct judge *judge_of(struct policy_walk *w)
{
    return container_of(w, struct judge, walk);
}

/* ---- what is to be said ---- */

static const struct {
    const char *reason;
    int code;
} reasons[] = {
    {"Invalid", 422}, {"Forbidden", 403}, {"Unauthorized", 401}, {"RequestEntityTooLarge", 413}};

static const struct status *denial(struct policy_walk *w, str message, str reason)
{
    struct arena *a = w->arena;
    const struct policy_pair *p = w->pair;
    str whole =
        p->binding
            ? arena_printf(a,
                           "ValidatingAdmissionPolicy '%.*s' with binding '%.*s' denied request: "
                           "%.*s",
                           STR_ARG(p->policy->name), STR_ARG(p->binding->name), STR_ARG(message))
            : arena_printf(a, "ValidatingAdmissionPolicy '%.*s' denied request: %.*s",
                           STR_ARG(p->policy->name), STR_ARG(message));
    struct status *s = status_forbidden(a, w->q->kind, w->q->name, whole);
    s->code = reasons[0].code;
    s->reason = reasons[0].reason;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        if (!str_is(reason, reasons[i].reason))
            continue;
        s->code = reasons[i].code;
        s->reason = reasons[i].reason;
    }
    status_add_cause(a, s, "", whole, STR_NONE);
    return s;
}

static void deny(struct policy_walk *w, str message, str reason)
{
    struct judge *j = judge_of(w);
    if (!j->denied)
        j->denied = denial(w, message, reason);
}

/* There is no audit log: what would be in it goes to the server's. */
static void note(struct policy_walk *w, const char *what, const char *key, str text)
{
    const struct policy_pair *p = w->pair;
    const struct req *q = w->q;
    log_info(what, LOG_S("policy", p->policy->name), LOG_S("binding", p->binding->name),
             LOG_S("user", q->user->name), LOG_S("resource", str_of(q->kind->plural)),
             LOG_S("namespace", q->r->ns), LOG_S("name", q->name), LOG_S(key, text));
}

/* A refusal is what the binding makes of it. */
static void refuse(struct policy_walk *w, str message, str reason)
{
    const struct policy_pair *p = w->pair;
    for (struct jiter it = jiter(jgetc(obj_spec(p->binding), "validationActions")); jnext(&it);) {
        str action = jstr(it.value);
        if (str_is(action, "Deny"))
            deny(w, message, reason);
        else if (str_is(action, "Warn"))
            field_warning_add(&w->q->errors,
                              "Validation failed for ValidatingAdmissionPolicy '%.*s' with binding "
                              "'%.*s': %.*s",
                              STR_ARG(p->policy->name), STR_ARG(p->binding->name),
                              STR_ARG(message));
        else if (str_is(action, "Audit"))
            note(w, "a policy is not kept", "message", message);
    }
}

/* What is not set up is denied: validationActions have no say. */
static void fail(struct policy_walk *w, str why, bool is_setup)
{
    if (policy_ignores_failures(w))
        return;
    if (!is_setup)
        refuse(w, why, STR_NONE);
    else
        deny(w,
             arena_printf(w->arena, "failed to configure %s: %.*s",
                          w->pair->binding ? "binding" : "policy", STR_ARG(why)),
             STR_NONE);
}

/* ---- evaluating ---- */

static str message_of(struct policy_walk *w, const struct policy_validation *v, struct cel_run *run)
{
    enum { MESSAGE_MAX = 5120 };
    str text = STR_NONE, fixed = str_trim(jstr(jgetc(v->spec, "message")));
    if (v->message && cel_run_text(run, v->message, &text, NULL) == 0) {
        text = str_trim(text);
        if (text.len && text.len <= MESSAGE_MAX && str_find_char(text, '\n') < 0)
            return text;
    }
    return fixed.len ? fixed
                     : arena_printf(w->arena, "failed expression: %.*s",
                                    STR_ARG(str_trim(jstr(jgetc(v->spec, "expression")))));
}

/* Whatever the verdict is. Null says nothing. */
static void note_annotations(struct policy_walk *w, struct cel_run *run)
{
    enum { VALUE_MAX = 10240 };
    const struct policy_code *code = w->pair->code;
    for (size_t i = 0; i < code->n_annotations; i++) {
        const struct policy_annotation *n = &code->annotations[i];
        struct err err = ERR_INIT;
        str text;
        if (cel_run_text_or_null(run, n->cel, &text, &err) < 0)
            fail(w,
                 arena_printf(w->arena, "audit annotation '%.*s' resulted in error: %s",
                              STR_ARG(n->key), err.message),
                 false);
        else if (text.p)
            note(w, "a policy remarks", arena_str(w->arena, n->key).p,
                 str_sub(text, 0, MIN(text.len, VALUE_MAX)));
    }
}

static void judge_validations(struct policy_walk *w, struct cel_run *run)
{
    const struct policy_code *code = w->pair->code;
    for (size_t i = 0; i < code->n_validations; i++) {
        const struct policy_validation *v = &code->validations[i];
        struct err err = ERR_INIT;
        bool holds = false;
        if (cel_run_bool(run, v->cel, &holds, &err) < 0)
            fail(w,
                 arena_printf(w->arena, "expression '%.*s' resulted in error: %s",
                              STR_ARG(jstr(jgetc(v->spec, "expression"))), err.message),
                 false);
        else if (!holds)
            refuse(w, message_of(w, v, run), jstr(jgetc(v->spec, "reason")));
    }
    note_annotations(w, run);
}

const struct status *policy_judge(struct req *q, const struct policy_pair *pairs, size_t n)
{
    static const struct policy_walk_ops ops = {judge_validations, fail};
    struct judge *j = arena_new(&q->arena, struct judge);
    struct hook_about *about = arena_new(&q->arena, struct hook_about);
    hook_about_init(about, q);
    policy_walk(&j->walk, &ops, about, pairs, n);
    return j->denied;
}
