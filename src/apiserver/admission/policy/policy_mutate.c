/*
 * What MutatingAdmissionPolicies make of a write: configurations that are applied as server-side
 * apply would, or operations of JSON Patch. In kube-apiserver's words.
 *
 * Each mutation sees what the one before made of the object, and fails alone: the rest of them
 * still run, and the answer to the client names all that failed. What changes by them has no owner
 * of its own in managedFields, as what webhooks change has none.
 */
#include "apiserver/admission/policy/policy_impl.h"
#include "apiserver/request.h"
#include "kube/schema.h"
#include "kube/typed_merge.h"
#include "json/patch.h"
#include "json/write.h"

/* One unit of cost for so many bytes of what is put together. */
#define BYTES_PER_UNIT 16

/* One that had its say; what it is called by outlives the policy. */
struct policy_call {
    struct policy_call *next;
    str policy, binding, ns, params;
    bool may_again; /* and wants to once more when somebody else changes the object */
    bool is_due;
};

struct mutator {
    struct policy_walk walk;
    struct policy_seen *seen;
    bool again, changed;
    struct status *denied;        /* by what failed */
    const struct status *refused; /* at once, whatever the failure policy says */
};

static struct mutator *mutator_of(struct policy_walk *w)
{
    return container_of(w, struct mutator, walk);
}

/* ---- failures ---- */

static void fail(struct policy_walk *w, str why, bool is_setup)
{
    struct mutator *m = mutator_of(w);
    const struct policy_pair *p = w->pair;
    if (policy_ignores_failures(w))
        return;
    if (is_setup)
        why = arena_printf(w->arena, "failed to configure %s: %.*s",
                           p->binding ? "binding" : "policy", STR_ARG(why));
    str whole =
        p->binding
            ? arena_printf(w->arena, "policy '%.*s' with binding '%.*s' denied request: %.*s",
                           STR_ARG(p->policy->name), STR_ARG(p->binding->name), STR_ARG(why))
            : arena_printf(w->arena, "policy \"%.*s\" denied request: %.*s",
                           STR_ARG(p->policy->name), STR_ARG(why));
    if (!m->denied) {
        /* One that does not go with its code: that is how it is said. */
        static const char *const words[] = {[false] = "Invalid", [true] = "Forbidden"};
        m->denied = status_forbidden(w->arena, w->q->kind, w->q->name, STR_NONE);
        m->denied->message = whole;
        m->denied->reason = words[is_setup];
    }
    status_add_cause(w->arena, m->denied, "", whole, STR_NONE);
}

/* ---- reinvocation ---- */

static struct policy_call *find_call(struct policy_walk *w)
{
    for (struct policy_call *c = mutator_of(w)->seen->first; c; c = c->next)
        if (str_eq(c->policy, w->pair->policy->name) &&
            str_eq(c->binding, w->pair->binding->name) &&
            str_eq(c->ns, w->params ? w->params->ns : STR_NONE) &&
            str_eq(c->params, w->params ? w->params->name : STR_NONE))
            return c;
    return NULL;
}

/* All that had their say before are to have it again; by: who changed the object. */
static void mark_earlier(struct policy_seen *seen, const struct policy_call *by)
{
    for (struct policy_call *c = seen->first; c; c = c->next) {
        if (c == by)
            continue;
        c->is_due |= c->may_again;
        c->may_again = false;
    }
}

static struct policy_call *note_call(struct policy_walk *w)
{
    struct policy_seen *seen = mutator_of(w)->seen;
    struct policy_call *c = arena_new(w->arena, struct policy_call);
    *c = (struct policy_call){
        .policy = arena_str(w->arena, w->pair->policy->name),
        .binding = arena_str(w->arena, w->pair->binding->name),
        .ns = w->params ? arena_str(w->arena, w->params->ns) : STR_NONE,
        .params = w->params ? arena_str(w->arena, w->params->name) : STR_NONE,
    };
    if (seen->last)
        *seen->last = c;
    else
        seen->first = c;
    seen->last = &c->next;
    return c;
}

/* ---- patches ---- */

/* The configuration with what says which kind it is of. */
static struct doc *configuration(struct policy_walk *w, jval made)
{
    jval object = w->vars[POLICY_OBJECT];
    struct jw out;
    jw_init(&out);
    jw_object(&out);
    jw_put(&out, "apiVersion", jgetc(object, "apiVersion"));
    jw_put(&out, "kind", jgetc(object, "kind"));
    for (struct jiter it = jiter(made); jnext(&it);) {
        if (str_is(it.key, "apiVersion") || str_is(it.key, "kind"))
            continue;
        jw_key(&out, it.key);
        jw_val(&out, it.value);
    }
    jw_end(&out);
    return doc_hold(w->arena, jw_doc(&out));
}

/* NULL: the reason is in ret_why. */
static struct doc *apply(struct policy_walk *w, jval made, str *ret_why)
{
    struct arena *a = w->arena;
    jval config = doc_root(configuration(w, made)), live = w->vars[POLICY_OBJECT];
    struct err err = ERR_INIT;
    if (w->about->object_kind.len) /* a Scale: it has no lists, and no table */
        return json_merge_patch(live, config, NULL);
    str wrong = typed_check(a, w->as, config);
    str atomics = wrong.len ? STR_NONE : typed_atomics(a, w->as, config);
    struct doc *d = wrong.len || atomics.len ? NULL : typed_merge(a, w->as, live, config, &err);
    if (wrong.len)
        *ret_why = arena_printf(a,
                                "error applying patch: failed to convert patch object to typed "
                                "object: %.*s",
                                STR_ARG(wrong));
    else if (atomics.len)
        *ret_why = arena_printf(a,
                                "error applying patch: invalid ApplyConfiguration: may not mutate "
                                "atomic arrays, maps or structs: %.*s",
                                STR_ARG(atomics));
    else if (!d)
        *ret_why = arena_printf(a, "error applying patch: failed to merge patch: %s", err.message);
    return d;
}

static void note_unknown(void *ctx, const char *what, str path)
{
    struct strbuf *b = ctx;
    strbuf_printf(b, "%s%s \"%.*s\"", b->len ? ", " : "strict decoding error: ", what,
                  STR_ARG(path));
}

/* NULL without a reason: a test says no, and nothing changes. */
static struct doc *patch(struct policy_walk *w, jval operations, str *ret_why)
{
    struct mutator *m = mutator_of(w);
    struct err err = ERR_INIT;
    struct strbuf unknown = STRBUF_INIT(1 << 16);
    struct doc *d = json_patch(w->vars[POLICY_OBJECT], operations, &err);
    if (!d && !str_ends(str_of(err.message), STR("test failed")))
        *ret_why = arena_printf(w->arena, "JSON Patch: %s", err.message);
    if (d && !kind_is(w->as, KIND_CUSTOM) && !w->about->object_kind.len)
        schema_unknown(w->as->type, doc_root(d), note_unknown, &unknown);
    if (unknown.len)
        m->refused = hook_internal_error(w->arena, arena_str(w->arena, strbuf_str(&unknown)));
    strbuf_done(&unknown);
    return d;
}

static bool spend(struct policy_walk *w, const struct doc *d)
{
    uint64_t units = doc_text(d).len / BYTES_PER_UNIT;
    w->left -= MIN(w->left, units);
    return w->left > 0;
}

/* Whether the object is another now. */
static bool mutate(struct policy_walk *w, const struct policy_mutation *mutation)
{
    struct mutator *m = mutator_of(w);
    struct err err = ERR_INIT;
    struct doc *made = NULL, *after;
    struct cel_run *run = policy_walk_run(w);
    str why = STR_NONE;
    const char *broken = NULL;
    bool changed = false;
    if (cel_run_doc(run, mutation->cel, &made, &err) < 0) {
        fail(w,
             arena_printf(w->arena, "expression '%.*s' resulted in error: %s",
                          STR_ARG(str_trim(mutation->expression)), err.message),
             false);
        return false;
    }
    after = mutation->is_patch ? patch(w, doc_root(made), &why) : apply(w, doc_root(made), &why);
    if (after)
        (void)doc_hold(w->arena, after);
    if (after && !m->refused && !spend(w, after))
        why = STR("operation cancelled: actual cost limit exceeded");
    else if (after && !m->refused)
        m->refused =
            hook_about_take(w->about, w->as, w->vars[POLICY_OBJECT], after, &changed, &broken);
    if (broken)
        why = arena_printf(w->arena, "the mutation %s", broken);
    if (why.len)
        fail(w, why, false);
    if (changed)
        w->seen_as = NULL;
    return changed;
}

static void mutate_each(struct policy_walk *w, struct cel_run *run)
{
    struct mutator *m = mutator_of(w);
    const struct policy_code *code = w->pair->code;
    struct policy_call *call = find_call(w);
    bool changed = false;
    (void)run;
    if (m->refused || !w->about->object || (m->again && !(call && call->is_due)))
        return;
    if (!call)
        call = note_call(w);
    for (size_t i = 0; i < code->n_mutations && !m->refused; i++)
        changed |= code->mutations[i].cel && mutate(w, &code->mutations[i]);
    if (changed)
        mark_earlier(m->seen, call);
    m->changed |= changed;
    call->may_again =
        str_is(jstr(jgetc(obj_spec(w->pair->policy), "reinvocationPolicy")), "IfNeeded");
}

static bool any_due(const struct policy_seen *seen)
{
    bool any = false;
    for (const struct policy_call *c = seen->first; c; c = c->next)
        any |= c->is_due;
    return any;
}

const struct status *policy_mutate(struct hook_about *about, const struct policy_pair *pairs,
                                   size_t n, struct policy_seen *seen, bool again,
                                   bool *ret_changed)
{
    static const struct policy_walk_ops ops = {mutate_each, fail};
    struct req *q = about->q;
    struct mutator *m = arena_new(&q->arena, struct mutator);
    m->seen = seen;
    m->again = again;
    if (again && about->object != seen->output)
        mark_earlier(seen, NULL);
    if (!again || any_due(seen))
        policy_walk(&m->walk, &ops, about, pairs, n);
    seen->output = about->object;
    *ret_changed = m->changed;
    return m->refused ? m->refused : m->denied;
}
