/* See refusals.h. A few at a time: those that come one after the other are alike. */
#include "sched/why/refusals.h"

#include "sched/place/hold.h"

enum { REFUSALS_KEPT = 8, QUESTION_MAX = 1 << 16 };

static void add_number(struct strbuf *b, int64_t n)
{
    strbuf_add(b, &n, sizeof(n));
}

static void add_scope(struct strbuf *b, const struct core_scope *s)
{
    add_number(b, s->req);
    add_number(b, s->pref);
    add_number(b, s->pin);
}

static void add_bundle(struct strbuf *b, const struct core_ask *q, size_t bundle)
{
    add_scope(b, &q->bundles[bundle]);
    add_number(b, q->inside ? q->inside[bundle] : CORE_NONE);
}

static void add_ask(struct strbuf *b, const struct core *c, const struct core_ask *q)
{
    add_number(b, q->tree);
    add_number(b, q->within);
    add_scope(b, &q->gang);
    add_number(b, (int64_t)q->n_bundles);
    for (size_t i = 0; i < q->n_bundles; i++)
        add_bundle(b, q, i);
    add_number(b, (int64_t)q->n_leaves);
    for (size_t i = 0; i < q->n_leaves; i++) {
        add_scope(b, &q->leaves[i].scope);
        add_number(b, q->leaves[i].cls);
        add_number(b, q->leaves[i].need);
        add_number(b, q->leaves[i].bundle);
    }
    add_number(b, q->closed_level);
    if (q->closed_level > 0) {
        int32_t lo, hi;
        core_domains_at(c, q->tree, q->closed_level, &lo, &hi);
        strbuf_add(b, q->closed, (size_t)(hi - lo));
    }
}

/* Spares are wishes: they decide where, never whether. */
str refusals_question(struct round *r, const struct ask *q)
{
    const struct tables *t = r->tables;
    if (q->gang->n_leases > 0 || hold_of(t, q->gang))
        return STR_NONE;
    struct strbuf b = STRBUF_INIT(QUESTION_MAX);
    add_number(&b, t->quota.n > 0 ? t->quota.open_for : -1);
    add_number(&b, q->gang->priority);
    add_number(&b, q->spread_required);
    add_number(&b, q->within);
    add_ask(&b, t->core, &q->core);
    str question = b.overflow ? STR_NONE : arena_str(r->plan->arena, strbuf_str(&b));
    strbuf_done(&b);
    return question;
}

const struct refusal *refusals_find(struct round *r, str question)
{
    for (size_t i = 0; i < r->refusals.len && !str_is_empty(question); i++) {
        const struct refusal *x = &r->refusals.p[i];
        if (x->growth == core_growth(r->tables->core) && x->moves == r->tables->moves &&
            str_eq(x->question, question))
            return x;
    }
    return NULL;
}

void refusals_keep(struct round *r, str question, const struct core_cert *cert,
                   const struct facts *facts)
{
    if (str_is_empty(question))
        return;
    if (r->refusals.len == REFUSALS_KEPT)
        vec_remove(&r->refusals, 0);
    *vec_push(&r->refusals) =
        (struct refusal){question, core_growth(r->tables->core), r->tables->moves, *cert, *facts};
}

void refusals_forget(struct round *r)
{
    vec_clear(&r->refusals);
}
