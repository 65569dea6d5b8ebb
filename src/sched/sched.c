/*
 * The round: gangs in order, each placed whole or not at all; then what they have beyond their
 * minimums. A round looks at what changed and at waiting gangs whose reason may be gone; when it
 * has done as much as a turn of the loop allows, it plans what it has and goes on in the next call.
 * The tables need no second thought: a key is not planned again before the answers to its writes
 * are in the cache, and what failed is released then.
 *
 * Order: priority, then gangs that are partly on nodes, then age. A gang that has waited too long,
 * or for whose sake others must go, holds the room it will get: those after it find it taken.
 */
#include "sched/sched.h"

#include "grove/types.h"
#include "sched/model/claims.h"
#include "sched/model/order.h"
#include "sched/model/prefer.h"
#include "sched/model/reservation.h"
#include "sched/model/round.h"
#include "sched/model/tell.h"
#include "sched/model/terms.h"
#include "sched/place/choose.h"
#include "sched/place/headroom.h"
#include "sched/place/hold.h"
#include "sched/place/score.h"
#include "sched/preempt/yield.h"
#include "sched/quota/queue_quota.h"
#include "sched/why/gang_health.h"
#include "sched/why/refusals.h"
#include "sched/why/why.h"

/* ---- order ---- */

/* What is beyond its minimum has its turn when all minimums had theirs. */
static void put_off(struct round *r, struct tgang *g)
{
    list_remove(&g->link);
    list_push_back(&r->tables->ready, &g->link);
    g->later = true;
}

static bool says_any(const struct obj *gang)
{
    bool any = false;
    for (int i = 0; i < N_WORDS; i++)
        any = any || gang_says(gang, i);
    return any;
}

static bool has_business(const struct tgang *g)
{
    bool there = g->single ? !list_is_empty(&g->pods) : g->obj && !g->obj->deleting;
    return there && (g->n_waiting > 0 || g->unsure || says_any(g->obj));
}

/* Whoever is ready and has something to place, to be looked at or to take back; the others rest
 * until touched. Those that were put off come only when nobody else does: else they would be looked
 * at in each of many calls, and be all that these have time for. */
static void collect(struct round *r)
{
    struct tables *t = r->tables;
    size_t firsts = 0, laters = 0;
    for (struct list *it = t->ready.next, *next; it != &t->ready; it = next) {
        struct tgang *g = list_entry(it, struct tgang, link);
        next = it->next;
        if (!has_business(g))
            list_remove(&g->link);
        else if (g->later)
            laters++;
        else
            firsts++;
    }
    r->more = firsts > 0 && laters > 0;
    r->rest = firsts == 0;
    list_foreach (it, &t->ready) {
        struct tgang *g = list_entry(it, struct tgang, link);
        if (g->later && firsts > 0)
            continue;
        *vec_push(&r->gangs) = g;
        g->round = t->rounds;
    }
    order_gangs(t, r->gangs.p, r->gangs.len, r->world);
}

/* ---- one gang ---- */

static void on_assigned(void *ctx, struct tpod *p, int32_t node)
{
    struct round *r = ctx;
    /* It is placed for its gang: one that has been moved to another meanwhile is not bound. */
    uint64_t rv = p->gang->single ? 0 : p->obj->rv;
    (void)plan_bind(r->plan, 0, p->obj, r->tables->snap.nodes.p[node].name, rv);
    tell_nominated(r->plan, p->obj, STR_NONE);
}

static void assign(struct round *r, struct ask *q, const struct core_result *result)
{
    for (size_t i = 0; i < result->ops.len; i++) {
        ask_assign(q, r->tables, &result->ops.p[i], on_assigned, r);
        round_spend(r, (size_t)result->ops.p[i].count);
    }
}

/* It neither waits nor is in the way, and what else is known of it. */
static struct verdict calm(const struct ask *q)
{
    struct verdict v = {.score = -1};
    v.words[WORD_WAITS].known = v.words[WORD_DISRUPT].known = true;
    v.words[WORD_MEMBERS] = (struct word){true, !str_is_empty(q->misnamed), NULL, q->misnamed};
    if (q->checked)
        v.words[WORD_TOPOLOGY] = (struct word){true, !str_is_empty(q->apart), NULL, q->apart};
    return v;
}

static void tell_placed(struct round *r, struct ask *q)
{
    struct verdict v = calm(q);
    if (q->gang->marked == r->tables->rounds)
        return; /* that is all there is to say */
    v.score = score_of(q, r->tables);
    if (q->packed)
        v.words[WORD_WAITS].why = score_text(q, r->tables, r->plan->arena);
    tell_gang(r->plan, r->world, q->gang->obj, &v);
}

static void tell_waiting(struct round *r, struct ask *q, const struct facts *facts)
{
    struct reasons why;
    size_t writes = r->plan->writes.len;
    why_say(facts, r->plan->arena, &why);
    struct doc *doc = why_doc(facts, r->plan->arena);
    struct verdict v = calm(q);
    v.words[WORD_WAITS] = (struct word){true, true, q->wrong_reason, why.story};
    v.facts = doc_root(doc);
    tell_gang(r->plan, r->world, q->gang->obj, &v);
    doc_unref(doc);
    for (size_t i = 0; i < q->n_groups; i++) {
        for (size_t k = 0; k < q->groups[i].n_pods; k++)
            tell_pod(r->plan, r->world, q->groups[i].pods[k]->obj, why.cause);
    }
    round_spend(r, WORK_TOLD + WORK_WRITE * (r->plan->writes.len - writes));
}

/* Those that wait for themselves say so; true: there are some. */
static bool tell_aside(struct round *r, const struct ask *q)
{
    bool any = false;
    for (size_t i = 0; i < q->n_groups; i++) {
        const struct ask_group *g = &q->groups[i];
        for (size_t k = g->n_pods; k < g->n_pods + g->n_aside; k++)
            tell_pod(r->plan, r->world, g->pods[k]->obj,
                     arena_printf(r->plan->arena, "%.*s: %.*s", STR_ARG(g->name),
                                  STR_ARG(g->pods[k]->refused)));
        any = any || g->n_aside > 0;
    }
    return any;
}

/* known: the same question was refused before; else this answer is kept for the next who ask it. */
static void refuse(struct round *r, struct ask *q, const struct core_cert *cert,
                   const struct refusal *known, str question)
{
    struct facts facts;
    usec since = gang_waits_since(r->world, q->gang);
    if (known) {
        why_again(&known->facts, q, &facts);
    } else {
        why_find(q, r->tables, cert, &facts);
        round_spend(r, why_work(&facts) / WORK_MEMBERS);
        refusals_keep(r, question, cert, &facts);
    }
    q->gang->hold_due = 0;
    if (!q->yields_to)
        yield_forget(r->tables, q->gang);
    q->gang->over = q->wrong_for_now;
    if (q->wrong_for_now)
        preempt_in_queue(r, q);
    if (str_is_empty(q->wrong)) {
        q->gang->hold_due = (since ? since : round_now(r)) + HOLD_AFTER;
        if (hold_is_hopeless(r->tables, q->tree, cert))
            q->gang->hopeless = r->tables->shape;
        preempt_seek(r, q);
        if (hold_of(r->tables, q->gang))
            refusals_forget(r);
    }
    tell_waiting(r, q, &facts);
    tables_park(r->tables, q->gang, cert, q->tree);
}

static void lacks_pods(struct round *r, struct ask *q)
{
    for (size_t i = 0; i < q->n_groups; i++) {
        const struct ask_group *g = &q->groups[i];
        if ((int64_t)g->n_pods < g->need)
            q->wrong = arena_printf(r->plan->arena, "%.*s has %zu pods to place and needs %lld",
                                    STR_ARG(g->name), g->n_pods, (long long)g->need);
    }
    if (!str_is_empty(q->misnamed)) {
        q->wrong =
            arena_printf(r->plan->arena, "%.*s; %.*s", STR_ARG(q->wrong), STR_ARG(q->misnamed));
        q->wrong_reason = "InvalidPodReference";
    }
    refuse(r, q, &(struct core_cert){.why = CORE_ITSELF}, NULL, STR_NONE);
}

/* First where the gang fits with its surplus, beside what that has to leave to others. */
static bool place_soft(struct round *r, struct ask *q, const struct core_soft *soft,
                       struct core_result *ret)
{
    struct core *c = r->tables->core;
    if (q->gang->single)
        return core_place(c, &q->core, ret);
    if (soft->n_more > 0) {
        yield_take_early(r, q);
        bool placed = core_place_whole(c, &q->core, soft, ret);
        yield_give_early(r);
        if (placed)
            return true;
        round_spend(r, (size_t)ret->tries);
        core_result_done(ret);
    }
    return core_place_soft(c, &q->core, soft, ret);
}

/* Pods go where their clique's room is kept, if they may; the others, or else all of them, where
 * the search finds room. */
static bool place_kept(struct round *r, struct ask *q, struct core_result *ret)
{
    struct lease_fill kept;
    lease_fill(q, r->tables, r->plan->arena, &kept);
    struct core_soft soft =
        prefer_beside(q, kept.result.ops.p, kept.result.ops.len, r->plan->arena);
    bool placed = place_soft(r, q, &soft, ret);
    if (!placed && kept.result.ops.len > 0) {
        core_result_done(ret);
        lease_unfill(q, r->tables, &kept);
        placed = place_soft(r, q, &q->soft, ret);
    }
    for (size_t i = 0; i < kept.result.ops.len; i++)
        *vec_push(&ret->ops) = kept.result.ops.p[i];
    core_result_done(&kept.result);
    return placed;
}

/* First with all that is wished, then with what must be, then with room kept for less important
 * gangs. */
static bool place_all(struct round *r, struct ask *q, struct core_result *ret)
{
    bool placed = place_kept(r, q, ret);
    if (!placed && ask_less(q)) {
        core_result_done(ret);
        placed = place_kept(r, q, ret);
    }
    if (!placed && lease_open_below(r->tables, q->gang->priority)) {
        core_result_done(ret);
        placed = place_kept(r, q, ret);
    }
    return placed;
}

static bool ask_all(struct round *r, struct ask *q)
{
    bool asked = ask_minimum(q, r->tables, r->plan->arena);
    if (asked) {
        headroom_add(q, r->tables, r->plan->arena);
        prefer_read(q, r->tables, r->plan->arena);
    }
    return asked;
}

static bool ask_again(struct round *r, struct ask *q)
{
    q->wrong = STR_NONE;
    q->wrong_for_now = false;
    q->wrong_reason = NULL;
    return ask_all(r, q) && quota_admits(r, q);
}

/* With the first pods of each group; when these find no room, with others of it, those that most
 * probably do at last: that is what the answer is about then. */
static bool place_any(struct round *r, struct ask *q, struct core_result *ret)
{
    bool placed = place_all(r, q, ret), open = !placed && choose_is_open(q);
    for (size_t i = CHOICES_MAX; open && !placed && i-- > 0;) {
        if (!choose_again(q, r->tables, i, r->plan->arena))
            continue;
        round_spend(r, (size_t)ret->tries);
        core_result_done(ret);
        *ret = (struct core_result){0};
        placed = ask_again(r, q) && place_all(r, q, ret);
    }
    /* Room for any of the others would do as well. */
    ret->cert.vague = ret->cert.vague || open;
    return placed;
}

/* The first pods of a group may be such as cannot be together. */
static bool ask_first(struct round *r, struct ask *q)
{
    if (!str_is_empty(q->wrong))
        return false;
    bool asked = ask_all(r, q);
    if (!str_is_empty(q->wrong) && choose_again(q, r->tables, 0, r->plan->arena))
        return ask_again(r, q);
    return str_is_empty(q->wrong) && quota_admits(r, q) && asked;
}

/* What a base gang of the set could use is left to it: a scaled gang has what is beyond. */
static bool place_beyond(struct round *r, struct ask *q, struct core_result *ret)
{
    struct core *c = r->tables->core;
    struct core_result left = {0};
    const struct tgang *to = yield_take_kin(r, q->gang, &left);
    bool placed = place_any(r, q, ret);
    core_undo(c, &left);
    core_result_done(&left);
    if (placed || !to)
        return placed;
    round_spend(r, (size_t)ret->tries);
    core_result_done(ret);
    *ret = (struct core_result){0};
    if (ask_again(r, q) && place_any(r, q, ret)) {
        core_undo(c, ret);
        q->yields_to = to;
        q->wrong = yield_text(to, r->plan->arena);
        q->wrong_reason = "LeavesRoom";
    }
    return false;
}

static void place_asked(struct round *r, struct ask *q)
{
    struct core_result result = {0};
    choose_judged(q, r->tables);
    bool asked = ask_first(r, q);
    str question = asked && !choose_is_open(q) ? refusals_question(r, q) : STR_NONE;
    const struct refusal *known = refusals_find(r, question);
    if (known) {
        (void)ask_less(q);
        result.cert = known->cert;
    }
    lease_open(r->tables, q->gang);
    r->tables->searches += asked && !known;
    bool placed = asked && !known && place_beyond(r, q, &result);
    if (placed) {
        lease_settle(r->tables, q->gang, result.ops.p, result.ops.len);
        yield_forget(r->tables, q->gang);
    }
    lease_close(r->tables);
    if (!str_is_empty(q->wrong))
        result.cert = (struct core_cert){.why = q->wrong_for_now || q->yields_to ? CORE_TOGETHER
                                                                                 : CORE_ITSELF,
                                         .vague = true,
                                         .growth = core_growth(r->tables->core)};
    if (!str_is_empty(q->wrong) || (asked && !placed)) {
        refuse(r, q, &result.cert, known, q->yields_to ? STR_NONE : question);
        if (q->yields_to)
            yield_note(r, q->gang);
        (void)tell_aside(r, q);
    } else {
        assign(r, q, &result);
        *vec_push(&r->surplus) = q;
    }
    round_spend(r, (size_t)result.tries);
    core_result_done(&result);
}

/* Once, when it comes to be so. */
static void warn_apart(struct round *r, const struct ask *q)
{
    if (!str_is_empty(q->apart) && !gang_says(q->gang->obj, WORD_TOPOLOGY))
        plan_event(r->plan, q->gang->obj, true, STR("TopologyViolated"), "%.*s", STR_ARG(q->apart));
}

static void place_minimum(struct round *r, struct tgang *g)
{
    struct ask *q = arena_new(r->plan->arena, struct ask);
    g->round = 0;
    g->later = false;
    g->seeks = g->over = false;
    yield_claim_ends(r->tables, g);
    if (preempt_goes_on(r, g))
        return;
    ask_read(q, r->tables, g, r->plan->arena);
    round_spend(r, WORK_LOOK + q->faults.named / WORK_MEMBERS);
    health_check(q, r->tables, round_now(r), r->plan->arena);
    warn_apart(r, q);
    list_remove(&g->link);
    /* Gates are lifted clique by clique: a gang that has some to go is not judged yet. */
    if (q->short_of && q->gated > 0) {
        g->unsure = true;
        return;
    }
    if (q->waiting == 0) {
        struct verdict v = calm(q);
        yield_forget(r->tables, g);
        /* Somebody else placed it, or a scheduler that did not say how well. */
        if (g->obj && !j_has(jgetc(obj_status(g->obj), "placementScore")))
            v.score = score_of(q, r->tables);
        tell_gang(r->plan, r->world, g->obj, &v);
        return;
    }
    r->tables->looks++;
    if (q->short_of)
        lacks_pods(r, q);
    else
        place_asked(r, q);
}

/* ---- surplus ---- */

/* Room kept first, then where the replica is, then wherever it may be. */
static void place_leaf(struct round *r, struct ask *q, size_t leaf)
{
    struct core *c = r->tables->core;
    struct core_leaf *f = (struct core_leaf *)&q->core.leaves[leaf]; /* the ask's own */
    int32_t barred = f->need - quota_room(r->tables, q->gang, f->cls, f->need);
    f->need -= barred;
    f->scope = q->groups[q->leaf_group[leaf]].scope; /* others of the group may be pinned by now */
    for (int turn = 0; turn < 2 && f->need > 0; turn++) {
        struct core_result result = {0};
        size_t n_near;
        const int32_t *near = prefer_near(q, (size_t)q->leaf_group[leaf], &n_near, r->plan->arena);
        f->need -= core_place_near(c, &q->core, (int32_t)leaf, near, n_near, &result);
        assign(r, q, &result);
        core_result_done(&result);
        q->core.gang = q->scope; /* pinned by now */
        f->scope = q->groups[q->leaf_group[leaf]].scope;
        if (q->core.within == q->within)
            break;
        q->core.within = q->within;
    }
    f->need += barred;
}

/* Kept room first. What is left over stays in the leaves of the question. */
static void place_leaves(struct round *r, struct ask *q)
{
    struct tables *t = r->tables;
    struct lease_fill kept;
    int32_t home = q->core.within;
    lease_open(t, q->gang);
    lease_fill(q, t, r->plan->arena, &kept);
    lease_settle(t, q->gang, kept.result.ops.p, kept.result.ops.len);
    lease_close(t);
    assign(r, q, &kept.result);
    core_result_done(&kept.result);
    yield_take(r, q);
    for (size_t i = 0; i < q->core.n_leaves; i++) {
        q->core.within = home;
        place_leaf(r, q, i);
    }
    yield_give(r);
}

static void tell_left(struct round *r, struct ask *q, size_t group, str cause)
{
    const struct ask_group *g = &q->groups[group];
    for (size_t k = g->n_placed; k < g->n_pods; k++)
        tell_pod(r->plan, r->world, g->pods[k]->obj, cause);
}

static str cause_of(struct round *r, struct ask *q, const struct core_cert *cert)
{
    struct facts facts;
    struct reasons why;
    why_find(q, r->tables, cert, &facts);
    why_say(&facts, r->plan->arena, &why);
    return why.cause;
}

/* The certificate of what is left over: the first leaf that finds no room is told, a place for any
 * of them wakes the gang. By group, how many would fit if they left no room to others. */
static int64_t certify_left(struct round *r, const struct ask *q, struct core_cert *ret,
                            int64_t *ret_yields)
{
    struct tables *t = r->tables;
    int64_t all = 0;
    for (size_t i = 0; i < q->core.n_leaves; i++) {
        const struct core_leaf *leaf = &q->core.leaves[i];
        int32_t domain = ask_domain(q, t, &q->groups[q->leaf_group[i]]);
        if (leaf->need <= 0)
            continue;
        int32_t yields = yield_left(r, leaf, q->tree, domain);
        ret_yields[q->leaf_group[i]] += yields;
        all += yields;
        if (ret->need == 0 && yields == 0) {
            ret->scope = (int32_t)(1 + q->core.n_bundles + i);
            ret->cls = leaf->cls;
            ret->need = leaf->need;
            ret->domain = domain;
        }
        core_cert_want(t->core, ret, leaf->cls, 1 + yields, domain);
    }
    return all;
}

/* True: some of it is left over, the last pods of their groups, and was told why. */
static bool tell_all_left(struct round *r, struct ask *q, struct core_cert *ret)
{
    struct arena *a = r->plan->arena;
    int64_t *yields = arena_array(a, int64_t, q->n_groups + 1);
    bool any = false;
    const struct tgang *to = NULL;
    if (certify_left(r, q, ret, yields) > 0) {
        yield_note(r, q->gang);
        to = yield_to(r, q->gang);
    } else {
        yield_forget(r->tables, q->gang);
    }
    str cause = ret->need > 0 || !str_is_empty(q->wrong) ? cause_of(r, q, ret) : STR_NONE;
    for (size_t i = 0; i < q->n_groups; i++) {
        bool left = q->groups[i].n_placed < q->groups[i].n_pods;
        any = any || left;
        if (left && to && yields[i] > 0)
            tell_left(r, q, i, arena_cat(a, q->groups[i].name, STR(": "), yield_text(to, a)));
        else if (left && !str_is_empty(cause))
            tell_left(r, q, i, cause);
    }
    return any;
}

static void place_surplus(struct round *r, struct ask *q)
{
    struct tables *t = r->tables;
    bool asked = ask_surplus(q, t, r->plan->arena);
    struct core_cert cert = {.why = CORE_TOO_FEW, .fixed = true};
    if (asked)
        place_leaves(r, q);
    tell_placed(r, q);
    bool left = (asked || !str_is_empty(q->wrong)) && tell_all_left(r, q, &cert);
    if (!tell_aside(r, q) && !left)
        return;
    cert.why = left && str_is_empty(q->wrong) ? CORE_SURPLUS : CORE_ITSELF;
    cert.growth = core_growth(t->core);
    q->gang->hold_due = 0;
    tables_park(t, q->gang, &cert, q->tree);
}

/* ---- the round ---- */

/* Nothing is placed before it is known who may have how much; a server that does not say so, or
 * not soon, is one without queues until it does. */
static bool queues_are_known(struct sched *s, const struct world *w, struct plan *p)
{
    if (!s->queues_cache || cache_is_synced(s->queues_cache) || cache_is_absent(s->queues_cache))
        return true;
    s->queues_since = s->queues_since ? s->queues_since : world_steady(w);
    return world_has_passed(w, s->queues_since, QUEUES_WAIT, p);
}

/* All minimums before any surplus. */
static void place_all_surplus(struct round *r)
{
    bool now = r->rest || (r->at == r->gangs.len && !r->more);
    for (size_t i = 0; i < r->surplus.len; i++) {
        struct ask *q = r->surplus.p[i];
        if (now && (r->budget > 0 || r->rest)) {
            quota_open_for(r->tables, q->gang);
            place_surplus(r, q);
            continue;
        }
        tell_placed(r, q);
        put_off(r, q->gang);
        r->more = true;
    }
    vec_clear(&r->surplus);
}

/* As far as the budget goes. Those for whom room is held are looked at in every call: they alone do
 * not use it up. */
static void place_gangs(struct round *r)
{
    bool any = false;
    for (struct tgang *g; (r->budget > 0 || !any) && (g = quota_next(r));) {
        uint64_t counted = core_counted(r->tables->core);
        any = any || !hold_of(r->tables, g);
        quota_open_for(r->tables, g);
        place_minimum(r, g);
        round_spend(r, (size_t)(core_counted(r->tables->core) - counted) / WORK_COUNTED);
        if (r->rest)
            place_all_surplus(r);
    }
    place_all_surplus(r);
}

void sched_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    if (!queues_are_known(ctx, w, p))
        return;
    struct round r = {.world = w,
                      .plan = p,
                      .tables = tables_get(ctx, w),
                      .budget = ROUND_BUDGET,
                      .seeks = ROUND_SEEKS,
                      .lowest = INT64_MAX};
    (void)key;
    r.tables->rounds++;
    core_trim(r.tables->core, CLASSES_COUNTED);
    tables_release_assumed(r.tables);
    usec kept = lease_review(r.tables, world_steady(w));
    if (kept)
        round_look(&r, kept);
    hold_begin(&r);
    yield_begin(&r);
    preempt_review(&r);
    usec doubt = health_review(r.tables, world_steady(w));
    if (doubt)
        round_look(&r, doubt);
    terms_retry(r.tables);
    bool known = terms_settle(r.tables, &r.budget) && tables_wake(r.tables, &r.budget);
    quota_begin(&r);
    collect(&r);
    quota_order(&r);
    if (known)
        place_gangs(&r);
    quota_open_for(r.tables, NULL);
    hold_end(&r);
    preempt_end(&r);
    lease_store(r.tables, w, p);
    if (!list_is_empty(&r.tables->doubts))
        plan_look_again(p, HEALTH_DOUBT);
    if (yield_end(&r) || !known || r.at < r.gangs.len || r.more ||
        core_growth(r.tables->core) != r.tables->growth_seen)
        plan_look_again(p, 0);
    vec_done(&r.gangs);
    vec_done(&r.surplus);
    vec_done(&r.refusals);
    vec_done(&r.releasing);
    vec_done(&r.asked);
}

/* ---- what starts a round ---- */

static void next_round(struct controller *c)
{
    controller_enqueue(c, &kind_pod_gang, STR_NONE, STR("round"));
}

/* It is on a node now. Room that is kept for pods of a gang was perhaps kept for this one,
 * elsewhere; and who holds room that becomes free holds it among other pods than before. */
static bool arrives(const struct sched *s, const struct obj *old, const struct obj *new)
{
    return s->tables && (s->tables->leases.len > 0 || s->tables->holds.len > 0) &&
           new &&pod_holds_node(new) && !(old && pod_holds_node(old));
}

static void map_pod(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new)
{
    (void)w;
    bool waits = new &&pod_waits(new) && !(old && pod_waits(old));
    bool freed = old && pod_holds_node(old) && !(new &&pod_holds_node(new));
    bool gone = !new; /* what it said of others, too */
    bool claims = old && new &&claims_differ(old, new);
    if (waits || freed || gone || claims || arrives(controller_ctx(c), old, new))
        next_round(c);
}

/* Anything about the node that could let a pod in; heartbeats could not. */
static void map_node(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    (void)w;
    if (new && !(old && node_is_as_before(old, new)))
        next_round(c);
}

/* What was kept when this was written may have been used before it came back. */
static bool reserves_anew(const struct obj *old, const struct obj *new)
{
    jval kept = jgetc(obj_status(new), "reservations");
    return jlen(kept) > 0 && !jequal(kept, jgetc(obj_status(old), "reservations"));
}

static void map_gang(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    (void)w;
    bool gone = !new || (old && new->deleting && !old->deleting);
    if (gone || !old || old->generation != new->generation || reserves_anew(old, new))
        next_round(c);
}

static void map_any(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new)
{
    (void)w;
    (void)old;
    (void)new;
    next_round(c);
}

static const struct controller_watch watches[] = {
    {&kind_pod, map_pod},
    {&kind_node, map_node},
    {&kind_pod_gang, map_gang},
    {&kind_ctb, map_any},
    {&kind_priority_class, map_any},
    {&kind_namespace, map_any},
    {&kind_persistent_volume_claim, map_any},
    {&kind_persistent_volume, map_any},
    {&kind_resource_claim, map_any},
};

static const char *const all_names[] = {"default-scheduler", "grove-scheduler", "kai-scheduler",
                                        "volcano"};
const struct sched_options sched_defaults = {all_names, ARRAY_LEN(all_names), true};

struct sched *sched_new(struct runtime *r, const struct sched_options *o)
{
    struct sched *s = xnew(struct sched);
    s->runtime = r;
    s->terms_max = TERMS_MAX;
    s->unbound_ok = o->unbound_ok;
    s->n_names = o->n_names;
    s->names = xcalloc(o->n_names + 1, sizeof(*s->names));
    for (size_t i = 0; i < o->n_names; i++)
        s->names[i] = xstrdup(o->names[i]);
    tables_add_handlers(s);
    return s;
}

void sched_free(void *sched)
{
    struct sched *s = sched;
    if (!s)
        return;
    tables_drop(s);
    quota_config_free(s->queues);
    obj_unref(s->wrong_queues);
    if (s->queues_cache)
        cache_free(s->queues_cache);
    for (size_t i = 0; i < s->n_names; i++)
        free(s->names[i]);
    free(s->names);
    free(s);
}

static void on_queues_known(void *ctx)
{
    next_round(((struct sched *)ctx)->controller);
}

static void on_queues(void *ctx, const struct obj *old, const struct obj *new)
{
    quota_on_config(ctx, old, new);
    on_queues_known(ctx);
}

void sched_add(struct runtime *r, struct api *api, const struct sched_options *o)
{
    struct controller_def def = {.name = "grove-scheduler",
                                 .plan = sched_plan,
                                 .watches = watches,
                                 .n_watches = ARRAY_LEN(watches),
                                 .max_in_flight = 256,
                                 .ctx_free = sched_free};
    struct sched *s = def.ctx = sched_new(r, o ? o : &sched_defaults);
    s->controller = runtime_add(r, &def, api);
    s->queues_cache =
        cache_new(runtime_loop(r), api,
                  &(struct cache_options){.kind = &kind_config_map,
                                          .field_selector = STR("metadata.name=" QUOTA_NAME)});
    cache_add_handler(s->queues_cache, on_queues, s);
    cache_on_synced(s->queues_cache, on_queues_known, s);
    cache_start(s->queues_cache);
}
