/*
 * The configurations, and the rounds of a request.
 *
 * A round is made in the request's arena and goes with it: a request that is dropped cancels the
 * calls it has open. It works on a snapshot of the configurations, so one that changes meanwhile
 * concerns the next request.
 *
 *   mutating    policies first, then one call at a time; after the last one a second pass over
 *               those that asked for it and were followed by a change
 *   validating  all calls at once; of several refusals the first in order counts, whichever answer
 *               came first
 */
#include "apiserver/admission/webhook.h"
#include "apiserver/admission/policy.h"
#include "apiserver/request.h"
#include "base/log.h"
#include "json/edit.h"
#include "json/patch.h"

#define TIMEOUT_DEFAULT 10
#define TIMEOUT_MAX 30
/* All calls of one round together: what a request may take. */
#define ROUND_MAX (60 * USEC_PER_SEC)
#define HOOKS_MAX 1000 /* in one round */

enum { MUTATING, VALIDATING, HOOK_KINDS };

struct hooks {
    struct apiserver *server;
    struct hook_pool *pool;
    struct policies *policies;
    VEC(struct obj *) configs[HOOK_KINDS]; /* by name */
    size_t n_hooks;
    size_t n_askers; /* those, and bindings of policies that mutate */
    unsigned turn;   /* of endpoints */
};

/* ---- configurations ---- */

static int type_of(const struct kind *k)
{
    return k == &kind_mutating_webhook ? MUTATING : k == &kind_validating_webhook ? VALIDATING : -1;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp((*(struct obj *const *)a)->name, (*(struct obj *const *)b)->name);
}

static void drop_config(struct hooks *h, int type, str name)
{
    for (size_t i = 0; i < h->configs[type].len; i++) {
        struct obj *o = h->configs[type].p[i];
        if (!str_eq(o->name, name))
            continue;
        h->n_hooks -= jlen(jgetc(obj_root(o), "webhooks"));
        vec_remove(&h->configs[type], i);
        obj_unref(o);
        return;
    }
}

static void add_config(struct hooks *h, int type, struct obj *o)
{
    *vec_push(&h->configs[type]) = obj_ref(o);
    vec_sort(&h->configs[type], by_name);
    h->n_hooks += jlen(jgetc(obj_root(o), "webhooks"));
}

void hooks_event(struct hooks *h, const struct store_event *e)
{
    int type = type_of(e->obj->kind);
    policies_event(h->policies, e);
    if (type >= 0)
        drop_config(h, type, e->obj->name);
    if (type >= 0 && e->type != STORE_DELETED)
        add_config(h, type, e->obj);
    h->n_askers = h->n_hooks + policies_mutating(h->policies);
}

struct hooks *hooks_new(struct apiserver *a)
{
    static const struct kind *const kinds[] = {&kind_mutating_webhook, &kind_validating_webhook};
    struct hooks *h = xnew(struct hooks);
    h->server = a;
    h->pool = hook_pool_new(a->loop);
    h->policies = policies_new(a);
    for (int i = 0; i < HOOK_KINDS; i++) {
        struct store_iter it = store_range(a->store, kinds[i], STR_NONE, STR_NONE, STR_NONE);
        for (struct obj *o; (o = store_next(&it));)
            add_config(h, i, o);
    }
    h->n_askers = h->n_hooks + policies_mutating(h->policies);
    return h;
}

void hooks_free(struct hooks *h)
{
    if (!h)
        return;
    for (int i = 0; i < HOOK_KINDS; i++) {
        for (size_t j = 0; j < h->configs[i].len; j++)
            obj_unref(h->configs[i].p[j]);
        vec_done(&h->configs[i]);
    }
    hook_pool_free(h->pool);
    policies_free(h->policies);
    free(h);
}

bool hooks_concern(const struct req *q)
{
    const struct apiserver *a = q->server;
    return UNLIKELY(a->hooks->n_askers) && !a->booting && q->user != &server_user;
}

bool hooks_look(const struct req *q)
{
    return hooks_concern(q) || policies_concern(q->server->hooks->policies, q);
}

const struct status *hooks_judge(struct req *q)
{
    struct policies *p = q->server->hooks->policies;
    return policies_concern(p, q) ? policies_judge(p, q) : NULL;
}

/* ---- rounds ---- */

struct item {
    struct round *round;
    jval hook;
    str name;
    struct hook_question question;
    struct doc *review; /* held by the arena */
    struct hook_call call;
    struct hook_verdict verdict;
    bool is_asked;
    bool may_again; /* asked already, and wants to be again when somebody changes the object */
    bool is_due_again;
};

enum round_use { FOR_CANDIDATE, FOR_VERDICT, FOR_BARE };

struct round {
    struct req *q;
    struct hooks *hooks;
    enum round_use use;
    bool mutating;
    struct hook_about about;
    struct item *items;
    size_t n_items, next, n_open;
    bool changed, is_second_pass;
    struct policy_seen seen;
    usec due;
};

static void round_cancel(void *ctx)
{
    struct round *r = ctx;
    for (size_t i = 0; i < r->n_items; i++)
        hook_call_cancel(&r->items[i].call);
}

/* ---- asking ---- */

static void round_step(struct round *r);

static usec timeout_of(const struct round *r, jval hook)
{
    int64_t seconds = jint(jgetc(hook, "timeoutSeconds"), TIMEOUT_DEFAULT);
    if (seconds < 1 || seconds > TIMEOUT_MAX)
        seconds = TIMEOUT_DEFAULT;
    return MIN(seconds * USEC_PER_SEC, r->due - loop_now(r->q->server->loop));
}

static void on_answer(struct hook_call *c)
{
    struct item *i = container_of(c, struct item, call);
    struct round *r = i->round;
    struct arena *a = &r->q->arena;
    if (c->why.len)
        hook_failed(a, &i->verdict, "%.*s", STR_ARG(c->why));
    else
        hook_judge(a, i->name, &i->question, r->mutating, &c->answer, &i->verdict);
    r->n_open--;
    round_step(r);
}

static void put_question(struct round *r, struct item *i, const struct kind *as)
{
    i->question = hook_about_question(&r->about, as);
    i->question.version = hook_review_version(i->hook);
    i->review = hook_review(&r->q->arena, &i->question);
}

/* Says why it cannot be called at all; NULL: it is being called. */
static const char *call_item(struct round *r, struct item *i)
{
    struct req *q = r->q;
    struct arena *a = &q->arena;
    str why = STR_NONE;
    usec timeout = timeout_of(r, i->hook);
    if (!i->question.version.len)
        return "could not create admission objects: webhook does not accept known AdmissionReview "
               "versions (v1, v1beta1)";
    i->call = (struct hook_call){.timeout = timeout, .done = on_answer};
    if (!hook_locate(a, q->server->store, i->hook, r->hooks->turn++, &i->call.place, &why)) {
        bool service = i->call.place.url.len > 0;
        return service
                   ? arena_printf(a, "failed to call webhook: Post \"%.*s?timeout=%llds\": %.*s",
                                  STR_ARG(i->call.place.url),
                                  (long long)((timeout + USEC_PER_SEC - 1) / USEC_PER_SEC),
                                  STR_ARG(why))
                         .p
                   : why.p;
    }
    long long seconds = (timeout + USEC_PER_SEC - 1) / USEC_PER_SEC;
    struct hook_place *p = &i->call.place;
    p->path = arena_printf(a, "%.*s?timeout=%llds", STR_ARG(p->path), seconds);
    p->url = arena_printf(a, "%.*s?timeout=%llds", STR_ARG(p->url), seconds);
    i->call.body = doc_text(i->review);
    hook_call_start(r->hooks->pool, a, &i->call);
    return NULL;
}

/* A webhook that might do something elsewhere is not asked about what will not happen. */
static bool check_dry_run(struct round *r, struct item *i)
{
    str effects = jstr(jgetc(i->hook, "sideEffects"));
    if (!r->q->dry_run || str_is(effects, "None") || str_is(effects, "NoneOnDryRun"))
        return true;
    i->verdict.outcome = HOOK_REFUSED;
    i->verdict.status = status_bad_request(
        &r->q->arena, "admission webhook \"%.*s\" does not support dry run", STR_ARG(i->name));
    return false;
}

/* False: the webhook does not want it, or (is_asked) the request is refused. */
static bool check_conditions(struct round *r, struct item *i)
{
    struct req *q = r->q;
    str why = STR_NONE;
    enum hook_condition c =
        hook_conditions(&q->arena, i->hook, jgetc(doc_root(i->review), "request"), &why);
    bool ignore = str_is(jstr(jgetc(i->hook, "failurePolicy")), "Ignore");
    i->is_asked = c == HOOK_MATCHES || (c == HOOK_UNDECIDED && !ignore);
    if (c == HOOK_MATCHES || !i->is_asked)
        return i->is_asked;
    i->verdict.outcome = HOOK_REFUSED;
    i->verdict.status = status_forbidden(&q->arena, q->kind, q->name, why);
    return false;
}

/* True: the answer comes later. */
static bool ask(struct round *r, struct item *i, const struct kind *as)
{
    i->verdict = (struct hook_verdict){0};
    str apart = hook_about_is_apart(&r->about, as);
    if (apart.len) {
        i->is_asked = true;
        hook_failed(&r->q->arena, &i->verdict, "%.*s", STR_ARG(apart));
        return false;
    }
    put_question(r, i, as);
    if (!check_conditions(r, i) || !check_dry_run(r, i))
        return false;
    const char *why = call_item(r, i);
    if (why)
        hook_failed(&r->q->arena, &i->verdict, "%s", why);
    else
        r->n_open++;
    return !why;
}

/* ---- verdicts ---- */

/* What a verdict means for the request: NULL to go on. */
static const struct status *status_of(struct round *r, const struct item *i)
{
    const struct hook_verdict *v = &i->verdict;
    for (size_t n = 0; n < v->n_warnings; n++)
        field_warning_add(&r->q->errors, "%.*s", STR_ARG(v->warnings[n]));
    if (v->outcome == HOOK_REFUSED)
        return v->status;
    if (v->outcome != HOOK_FAILED)
        return NULL;
    bool ignore = str_is(jstr(jgetc(i->hook, "failurePolicy")), "Ignore");
    log_warn(ignore ? "failed calling a webhook, going on without it"
                    : "failed calling a webhook, the request is refused",
             LOG_S("webhook", i->name), LOG_S("why", v->why));
    return ignore ? NULL : hook_failure_status(&r->q->arena, i->name, v->why);
}

/* The candidate after a patch; what is returned refuses the request. */
static const struct status *patch_candidate(struct round *r, const struct item *i,
                                            bool *ret_changed)
{
    struct arena *a = &r->q->arena;
    struct err err = ERR_INIT;
    const char *broken = NULL;
    struct doc *d = json_patch(i->question.object, doc_root(i->verdict.patch), &err);
    if (!d)
        return hook_internal_error(a, arena_printf(a, "%s", err.message));
    const struct status *refused = hook_about_take(&r->about, i->question.as, i->question.object,
                                                   doc_hold(a, d), ret_changed, &broken);
    if (broken)
        return hook_internal_error(
            a, arena_printf(a, "admission webhook \"%.*s\" %s", STR_ARG(i->name), broken));
    return refused;
}

/* Those asked before it that want to know. */
static void mark_earlier(struct round *r, const struct item *by)
{
    for (struct item *i = r->items; i < by; i++) {
        i->is_due_again |= i->may_again && !r->is_second_pass;
        i->may_again = false;
    }
}

/* Puts the patch into effect; what is returned refuses the request. */
static const struct status *take_patch(struct round *r, struct item *i)
{
    struct req *q = r->q;
    bool changed = false;
    if (r->use != FOR_CANDIDATE)
        return hook_internal_error(
            &q->arena, arena_printf(&q->arena,
                                    "admission webhook \"%.*s\" attempted to modify the object, "
                                    "which is not supported for this operation",
                                    STR_ARG(i->name)));
    const struct status *refused = patch_candidate(r, i, &changed);
    if (changed)
        mark_earlier(r, i);
    r->changed |= changed;
    return refused;
}

/* The say of policies: before all webhooks, and once more after them. */
static const struct status *ask_policies(struct round *r, bool again)
{
    bool changed = false;
    if (r->use != FOR_CANDIDATE)
        return NULL;
    const struct status *refused =
        policies_mutate(r->hooks->policies, &r->about, &r->seen, again, &changed);
    if (changed && again)
        mark_earlier(r, r->items + r->n_items);
    r->changed |= changed;
    return refused;
}

/* ---- the way through ---- */

static void round_end(struct round *r, const struct status *refused)
{
    struct req *q = r->q;
    if (refused)
        write_refuse(q, refused);
    else if (r->use == FOR_CANDIDATE)
        write_mutated(q, r->changed);
    else if (r->use == FOR_VERDICT)
        write_resume(q);
    else
        write_asked(q, r->mutating);
}

static const struct status *is_late(struct round *r)
{
    if (loop_now(r->q->server->loop) < r->due)
        return NULL;
    return status_new(&r->q->arena, 504, "Timeout",
                      "Timeout: request did not complete within requested timeout");
}

static const struct status *settle(struct round *r, struct item *i)
{
    if (!i->is_asked)
        return NULL;
    const struct status *refused = status_of(r, i);
    if (refused)
        return refused;
    if (i->verdict.outcome == HOOK_ALLOWED && i->verdict.patch)
        refused = take_patch(r, i);
    i->may_again = str_is(jstr(jgetc(i->hook, "reinvocationPolicy")), "IfNeeded");
    return refused;
}

/* The next that wants to be asked; false: there is none, or *ret_refused. */
static bool ask_next(struct round *r, const struct status **ret_refused)
{
    for (;;) {
        if (r->next == r->n_items) {
            if (r->is_second_pass)
                return false;
            *ret_refused = ask_policies(r, true);
            if (*ret_refused)
                return false;
            r->is_second_pass = true;
            r->next = 0;
            continue;
        }
        struct item *i = &r->items[r->next];
        const struct kind *as = r->is_second_pass && !i->is_due_again
                                    ? NULL
                                    : hook_match(&r->q->arena, i->hook, &r->about.target);
        if (!as) {
            r->next++;
            continue;
        }
        if (is_late(r)) {
            *ret_refused = is_late(r);
            return false;
        }
        if (ask(r, i, as))
            return true;
        r->next++;
        *ret_refused = settle(r, i);
        if (*ret_refused)
            return false;
    }
}

static void mutating_step(struct round *r)
{
    const struct status *refused = settle(r, &r->items[r->next]);
    r->next++;
    if (refused || !ask_next(r, &refused))
        round_end(r, refused);
}

/* All are in. */
static const struct status *first_refusal(struct round *r)
{
    const struct status *first = NULL;
    for (size_t i = 0; i < r->n_items; i++) {
        const struct status *s = r->items[i].is_asked ? status_of(r, &r->items[i]) : NULL;
        first = first ? first : s;
    }
    return first;
}

static void round_step(struct round *r)
{
    if (r->mutating)
        mutating_step(r);
    else if (!r->n_open)
        round_end(r, first_refusal(r));
}

/* ---- beginning ---- */

static size_t count_hooks(const struct hooks *h, int type)
{
    size_t n = 0;
    for (size_t i = 0; i < h->configs[type].len; i++)
        n += jlen(jgetc(obj_root(h->configs[type].p[i]), "webhooks"));
    return n;
}

/* Whoever is not asked cannot refuse, so nobody is left out: more than can be asked let nothing
 * through but what makes them fewer. */
static bool check_count(struct req *q, bool mutating)
{
    size_t n = count_hooks(q->server->hooks, mutating ? MUTATING : VALIDATING);
    if (n <= HOOKS_MAX || hook_is_exempt(q->kind))
        return true;
    req_refuse(q, hook_internal_error(
                      &q->arena, arena_printf(&q->arena,
                                              "there are %zu %s webhooks and at most %d are asked: "
                                              "delete configurations that are not needed",
                                              n, mutating ? "mutating" : "validating", HOOKS_MAX)));
    return false;
}

static struct round *round_new(struct req *q, enum round_use use, bool mutating)
{
    struct hooks *h = q->server->hooks;
    struct round *r = arena_new(&q->arena, struct round);
    int type = mutating ? MUTATING : VALIDATING;
    size_t n = count_hooks(h, type);
    *r = (struct round){.q = q,
                        .hooks = h,
                        .use = use,
                        .mutating = mutating,
                        .due = loop_now(q->server->loop) + ROUND_MAX};
    r->items = arena_array(&q->arena, struct item, MIN(n, (size_t)HOOKS_MAX));
    for (size_t i = 0; i < h->configs[type].len; i++) {
        struct obj *o = obj_hold(&q->arena, obj_ref(h->configs[type].p[i]));
        for (struct jiter it = jiter(jgetc(obj_root(o), "webhooks"));
             jnext(&it) && r->n_items < HOOKS_MAX;)
            r->items[r->n_items++] =
                (struct item){.round = r, .hook = it.value, .name = jstr(jgetc(it.value, "name"))};
    }
    arena_hold(&q->arena, r, round_cancel);
    hook_about_init(&r->about, q);
    return r;
}

static enum hook_step begin_mutating(struct req *q, enum round_use use)
{
    if (!check_count(q, true))
        return HOOKS_REFUSED;
    struct round *r = round_new(q, use, true);
    const struct status *refused = ask_policies(r, false);
    if (!refused && ask_next(r, &refused))
        return HOOKS_WAITING;
    if (!refused)
        return r->changed ? HOOKS_CHANGED : HOOKS_NOBODY;
    req_refuse(q, refused);
    return HOOKS_REFUSED;
}

static enum hook_step begin_validating(struct req *q, enum round_use use)
{
    if (!check_count(q, false))
        return HOOKS_REFUSED;
    struct round *r = round_new(q, use, false);
    bool any = false;
    for (size_t i = 0; i < r->n_items; i++) {
        const struct kind *as = hook_match(&q->arena, r->items[i].hook, &r->about.target);
        if (as) {
            (void)ask(r, &r->items[i], as);
            any = true;
        }
    }
    if (!any)
        return HOOKS_NOBODY;
    if (!r->n_open) {
        /* None could be called: their verdicts are here already. */
        const struct status *refused = first_refusal(r);
        if (!refused)
            return HOOKS_NOBODY;
        req_refuse(q, refused);
        return HOOKS_REFUSED;
    }
    return HOOKS_WAITING;
}

enum hook_step hooks_mutate(struct req *q)
{
    return begin_mutating(q, FOR_CANDIDATE);
}

enum hook_step hooks_validate(struct req *q)
{
    return hooks_concern(q) ? begin_validating(q, FOR_VERDICT) : HOOKS_NOBODY;
}

enum hook_step hooks_ask(struct req *q, bool mutating)
{
    return mutating ? begin_mutating(q, FOR_BARE) : begin_validating(q, FOR_BARE);
}
