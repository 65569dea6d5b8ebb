/*
 * RollingRecreate inside a standalone clique: pods of another template than the clique's are
 * deleted, and the planner of pods makes their successors from what the clique says now.
 *
 * Those that do not serve go at once, all of them; those that do go oldest first, as many as the
 * ledger allows and so that no more than maxUnavailable are missing at any time. Who is missing is
 * counted among the pods there are, whatever the reason: nothing is remembered that could be wrong
 * after a restart or a change of numbers. A pod that lost its readiness a moment ago is waited for:
 * a hiccup of a probe is no reason to take all of them.
 *
 * A pass is recorded in the clique's status before it takes the first pod (the ledger reads it
 * there), and ended when all pods are of the template, those of another have stopped, and as many
 * serve as were taken. Pods above the number wanted (surge.h) count among those that serve, and are
 * gone when it ends.
 */
#include "client/failure.h"
#include "operator/clique/pclq_impl.h"
#include "operator/common/ledger.h"
#include "operator/common/revisions.h"
#include "operator/common/update.h"

#define FLAP_GRACE (10 * USEC_PER_SEC)
#define SETTLE_GRACE (10 * USEC_PER_SEC)
enum { MAX_SELECTED = 1000 };

static jval progress_of(const struct clique_work *c)
{
    return jgetc(obj_status(c->pclq), "updateProgress");
}

static bool is_member(const struct clique_work *c)
{
    return str_is(jstr(jgetc(obj_controller_ref(c->pclq), "kind")), kind_pcsg.kind);
}

int64_t update_pods_named(const struct tally *t, const struct obj *revision, str clique)
{
    int64_t n = 0;
    for (size_t i = 0; revision && i < t->hashes.len; i++) {
        const struct tally_hash *h = &t->hashes.p[i];
        if (revision_names(revision, clique, str_n(h->hash, h->len)))
            n += h->pods;
    }
    return n;
}

/* It has not been ready: not since its last container began to run. */
static bool was_never_ready(const struct world *w, jval containers, usec not_ready_since)
{
    usec began = 0, at;
    for (struct jiter it = jiter(containers); jnext(&it);) {
        if (!time_parse_rfc3339(jstr(jpath(it.value, "state.running.startedAt")), &at))
            return false;
        began = MAX(began, world_moment(w, at));
    }
    return world_moment(w, not_ready_since) <= began;
}

bool update_pod_flaps(const struct world *w, const struct obj *pod, usec *ret_left)
{
    jval status = obj_status(pod), containers = jgetc(status, "containerStatuses");
    jval ready = condition_find(jgetc(status, "conditions"), STR("Ready"));
    usec since;
    if (!str_is(jstr(jgetc(status, "phase")), "Running") || jlen(containers) == 0 ||
        !time_parse_rfc3339(jstr(jgetc(ready, "lastTransitionTime")), &since))
        return false;
    for (struct jiter it = jiter(containers); jnext(&it);) {
        if (!j_is_true(jgetc(it.value, "started")) || !j_has(jpath(it.value, "state.running")) ||
            jint(jpath(it.value, "lastState.terminated.exitCode"), 0) != 0)
            return false;
    }
    if (was_never_ready(w, containers, since))
        return false;
    *ret_left = world_moment_in(w, pod, since) + FLAP_GRACE - world_steady(w);
    return *ret_left > 0;
}

static bool is_of_another(void *ctx, const struct obj *pod)
{
    const struct clique_work *c = ctx;
    return !revision_names(c->update.target, c->update.clique,
                           obj_label(pod, STR(LABEL_TEMPLATE_HASH)));
}

static bool is_outdated(const struct clique_work *c, const struct obj *pod)
{
    return !pod->deleting && !pod_is_finished(pod) && !world_is_intended(c->world, pod->uid) &&
           is_of_another((void *)c, pod);
}

/* ---- which pass ---- */

static bool targets(const struct clique_update *u, jval progress)
{
    return str_eq(jstr(jgetc(progress, "podCliqueSetGenerationHash")), u->set_hash) &&
           str_eq(jstr(jgetc(progress, "podTemplateHash")), u->hash);
}

static size_t selected_before(const struct clique_work *c)
{
    jval selected = jgetc(progress_of(c), "readyPodsSelectedToUpdate");
    return jlen(jgetc(selected, "completed")) + j_has(jgetc(selected, "current"));
}

static bool is_complete(const struct clique_work *c)
{
    int64_t taken = (int64_t)selected_before(c), desired = MAX(c->spec.replicas, 0);
    return c->update.outdated == 0 && c->update.old_going == 0 && c->update.surge.held == 0 &&
           c->tally->active == desired &&
           c->tally->ready >= MIN(desired, MAX(c->spec.min_available, taken));
}

/* Pods without a node that are not missing because of us: as many as there were before, and never
 * more again than there were in between. Without them an update of a clique that is larger than the
 * cluster would never take the first pod. */
static int64_t count_roomless(const struct clique_work *c)
{
    int64_t now = MAX(c->spec.replicas - c->tally->scheduled, 0), old = 0, coming = 0;
    int64_t before = jint(jgetc(progress_of(c), "unscheduledAtStart"), 0);
    /* What a pass that another one follows has taken is not missing for lack of room. */
    if (!c->update.starts || clique_is_updating(c->pclq) || now == 0)
        return MIN(now, before);
    struct cache_iter it = world_owned(c->world, &kind_pod, c->pclq->uid);
    for (struct obj *pod; (pod = cache_next(&it));) {
        bool comes = pod_is_on_its_way(c->world, pod) || pclq_pod_is_early(c, pod);
        coming += comes;
        old += !comes && !pod_is_scheduled(pod) && is_outdated(c, pod);
    }
    /* Nor what a map has moved already, which may be known before the pass begins. */
    bool mapped = gangmap_rules(c->world, c->pcs, label_index(c->pclq, STR(LABEL_PCS_INDEX)));
    return mapped ? MIN(now, old) : MAX(now - coming, 0);
}

bool update_settles(const struct world *w, const struct obj *component, usec *ret_left)
{
    jval progress = jgetc(obj_status(component), "updateProgress");
    usec ended;
    if (!time_parse_rfc3339(jstr(jgetc(progress, "updateEndedAt")), &ended))
        return false;
    *ret_left = world_moment(w, ended) + SETTLE_GRACE - world_steady(w);
    return *ret_left > 0;
}

/* Some are on no node, and it cannot be told yet whether they have no room. */
static bool is_too_early(const struct clique_work *c)
{
    usec left;
    if (c->tally->scheduled >= c->spec.replicas || update_strategy_of(c->pcs) != UPDATE_RECREATE ||
        !update_settles(c->world, c->pclq, &left))
        return false;
    plan_look_again(c->plan, left);
    return true;
}

/* ---- pods above the number ---- */

/* Has every index below the number wanted its pod? */
static bool has_holes(const struct clique_work *c)
{
    for (int64_t i = 0; i < c->spec.replicas; i++) {
        if (!slots_uses(&c->tally->indices, i))
            return true;
    }
    return false;
}

/* The oldest pod of the new template that has no node; NULL: all have one. */
static const struct obj *oldest_unplaced(const struct clique_work *c)
{
    const struct obj *oldest = NULL;
    usec first = 0;
    struct cache_iter it = world_owned(c->world, &kind_pod, c->pclq->uid);
    for (struct obj *pod; (pod = cache_next(&it));) {
        if (pod->deleting || pod_is_finished(pod) || pod_is_scheduled(pod) ||
            world_is_intended(c->world, pod->uid) || is_outdated(c, pod) ||
            pclq_pod_is_early(c, pod))
            continue;
        usec since = pod_since(c->world, pod);
        if (oldest && (since > first || (since == first && str_cmp(pod->name, oldest->name) > 0)))
            continue;
        oldest = pod;
        first = since;
    }
    return oldest;
}

/* Why the API server does not take a pod above the number, a quota say: no room of another kind,
 * and nobody will make it. While pods are going it may be theirs. Empty: it does. */
static str refused_create(const struct clique_work *c)
{
    struct key key = {&kind_pclq, c->pclq->ns, c->pclq->name};
    const struct failures *f = world_last_failure(c->world, &key);
    bool lacks = c->tally->active < surge_total(c->pclq) && c->tally->terminating == 0;
    for (size_t i = 0; lacks && f && i < f->n; i++) {
        const struct failure *x = &f->items[i];
        if (x->op == PLAN_CREATE && x->kind == &kind_pod && x->code == 403)
            return str_is_empty(x->message) ? STR("forbidden") : x->message;
    }
    return STR_NONE;
}

/* How many pods above the number have a place. */
static int64_t placed_above(const struct clique_work *c)
{
    return MAX(c->tally->scheduled - MAX(c->spec.replicas, 0), 0);
}

/* A pod has waited for its place long enough: it is said, and nobody waits any more. */
static bool times_out(const struct clique_work *c)
{
    usec timeout = surge_timeout(c->pcs);
    int64_t held = surge_held(c->pclq), placed = placed_above(c);
    /* Said before, with nothing left to give up, it is not said again. */
    if (held == 0 || (surge_timed_out(c->pclq) && held <= placed))
        return false;
    str refused = refused_create(c);
    if (!str_is_empty(refused)) {
        plan_event(c->plan, c->pclq, true, STR("SurgeTimedOut"),
                   "no pod can be made above the %lld wanted: %.*s; the update goes on in place",
                   (long long)c->spec.replicas, STR_ARG(refused));
        return true;
    }
    if (c->tally->scheduled >= c->tally->active)
        return false;
    const struct obj *pod = oldest_unplaced(c);
    if (!pod)
        return false;
    if (!world_has_passed(c->world, pod_since(c->world, pod), timeout, c->plan))
        return false;
    str why = jstr(jgetc(condition_find(jgetc(obj_status(pod), "conditions"), STR("PodScheduled")),
                         "message"));
    plan_event(c->plan, c->pclq, true, STR("SurgeTimedOut"),
               "pod %.*s has had no place for %lld s (%lld pods are wanted, %lld above them): "
               "%.*s; the update goes on in place",
               STR_ARG(pod->name), (long long)(timeout / USEC_PER_SEC), (long long)c->spec.replicas,
               (long long)surge_held(c->pclq),
               STR_ARG(str_is_empty(why) ? STR("nobody said why") : why));
    return true;
}

/* Pods that serve when those above the number are gone. Of those one goes first that is failing;
 * one that is still starting is waited for, so that it is not taken for one above. */
static int64_t count_staying(const struct clique_work *c)
{
    const struct tally *t = c->tally;
    int64_t desired = MAX(c->spec.replicas, 0);
    bool starting = t->ready + t->failing < t->active;
    return starting ? t->ready - MAX(t->active - desired, 0) : MIN(t->ready, desired);
}

static void decide_surge(struct clique_work *c, jval template, bool rolls)
{
    struct clique_update *u = &c->update;
    const struct tally *t = c->tally;
    int64_t desired = MAX(c->spec.replicas, 0), held = surge_held(c->pclq);
    struct surge_facts f = {
        .most = surge_most(c->pcs, template, c->pclq),
        .desired = desired,
        .allowance = surge_allowance(c->pcs, template, c->pclq, 1),
        .held = held,
        .outdated = u->outdated,
        .filling = held > 0 && u->outdated == 0 && t->active < desired + held && has_holes(c),
        .staying = count_staying(c),
        .placed = placed_above(c),
        .timed_out = !u->starts && surge_timed_out(c->pclq),
        .times_out = rolls && u->rolls && times_out(c),
        .rolls = rolls,
    };
    u->surge = (struct surge_record){.held = surge_next(&f),
                                     .begins = u->starts,
                                     .times_out = f.times_out,
                                     .timed_out = f.timed_out,
                                     .now = c->world->now};
}

static void decide_recreate(struct clique_work *c, jval template, bool was_running)
{
    struct clique_update *u = &c->update;
    jval progress = progress_of(c);
    int64_t replica = label_index(c->pclq, STR(LABEL_PCS_INDEX));
    bool rolls = update_rolls(c->pcs, replica) && u->labelled && !is_member(c);
    bool same = targets(u, progress);
    str carried = jstr(jgetc(obj_status(c->pclq), "currentPodCliqueSetGenerationHash"));
    bool untouched = !j_has(progress) && str_eq(carried, u->set_hash) && u->outdated == 0;
    if (rolls && !untouched && (!same || (!was_running && u->outdated > 0)))
        u->starts = was_running || !is_too_early(c);
    else if (was_running && (is_member(c) || !update_holds(c->pcs, replica)))
        u->ends = true;
    else
        u->rolls = was_running && same && rolls;
    if (u->starts || (was_running && !u->ends))
        decide_surge(c, template, rolls);
    if ((u->starts || (was_running && same && rolls)) && is_complete(c))
        u->ends = true;
    if (u->ends)
        u->surge.held = 0;
}

void update_decide_clique(struct clique_work *c)
{
    struct clique_update *u = &c->update;
    struct arena *a = c->plan->arena;
    int64_t replica = label_index(c->pclq, STR(LABEL_PCS_INDEX));
    bool was_running = clique_is_updating(c->pclq);
    jval template = clique_template(a, c->pcs, replica, c->pclq->name);
    u->clique = jstr(jgetc(template, "name"));
    u->target = update_revision(c->world, a, c->pcs, replica);
    u->running = was_running;
    u->surge.held = surge_held(c->pclq);
    if (!u->target || j_is_absent(template))
        return;
    u->hash = revision_clique_hash(u->target, u->clique);
    u->set_hash = revision_generation_hash(u->target);
    u->labelled = str_eq(obj_label(c->pclq, STR(LABEL_TEMPLATE_HASH)), u->hash);
    u->named = update_pods_named(c->tally, u->target, u->clique);
    u->outdated = c->tally->active + c->tally->finished - u->named;
    u->old_going = c->going.n ? going_count(c->world, c->pclq, is_of_another, c) : 0;
    switch (update_strategy_of(c->pcs)) {
    case UPDATE_RECREATE:
        decide_recreate(c, template, was_running);
        break;
    case UPDATE_ON_DELETE:
        u->starts = u->labelled && !targets(u, progress_of(c));
        u->ends = u->starts || was_running;
        u->surge.held = 0;
        break;
    case UPDATE_COHERENT:
        decide_recreate(c, template, was_running);
        u->rolls = false; /* its map says what is made anew */
        break;
    }
    u->running = (was_running || u->starts) && !u->ends;
    u->roomless = u->running ? count_roomless(c) : 0;
}

/* ---- the step ---- */

static int cmp_age(const void *a, const void *b)
{
    const struct obj *x = *(struct obj *const *)a, *y = *(struct obj *const *)b;
    usec s = obj_created(x), t = obj_created(y);
    if (s != t)
        return s < t ? -1 : 1;
    int64_t i = pod_index(x), j = pod_index(y);
    return i != j ? (i < j ? -1 : 1) : str_cmp(x->name, y->name);
}

static void take(struct clique_work *c, const struct obj *pod, bool serves)
{
    struct plan_write *w = plan_delete(c->plan, STAGE_PODS, pod);
    w->component_uid = c->pclq->uid;
    w->not_serving = !serves;
    if (!serves)
        w->rv = pod->rv; /* it may serve by now */
    plan_why(w, c->plan, "it is of another template%s", serves ? "" : " and does not serve");
    if (serves && c->update.n_picked < MAX_SELECTED)
        c->update.picked[c->update.n_picked++] = pod->name;
}

/* Ready pods whose predecessors still run: those are not done with yet. */
static int64_t count_overlaps(const struct clique_work *c)
{
    int64_t n = 0;
    if (c->going.n == 0)
        return 0;
    struct cache_iter it = world_owned(c->world, &kind_pod, c->pclq->uid);
    for (const struct obj *pod; (pod = cache_next(&it));)
        n += !pod->deleting && pod_is_ready(pod) &&
             slots_uses(&c->going.running, pod_index(pod)) > 0;
    return n;
}

/* How many serving pods may go now. Those above the number make up for as many. */
static int64_t room(const struct clique_work *c)
{
    struct budget b = ledger_of_clique(c->world, c->pclq);
    int64_t missing = b.desired - b.available;
    if (missing > 0)
        missing = MAX(missing - c->update.roomless, 0);
    missing += count_overlaps(c);
    return MIN(b.free, b.allowance - missing);
}

static void sort_out(struct clique_work *c, obj_vec *ret_ready, obj_vec *ret_others)
{
    struct cache_iter it = world_owned(c->world, &kind_pod, c->pclq->uid);
    for (struct obj *pod; (pod = cache_next(&it));) {
        usec left;
        if (!is_outdated(c, pod))
            continue;
        if (pod_is_ready(pod))
            *vec_push(ret_ready) = pod;
        else if (update_pod_flaps(c->world, pod, &left))
            plan_look_again(c->plan, left);
        else
            *vec_push(ret_others) = pod;
    }
    vec_sort(ret_ready, cmp_age);
    vec_sort(ret_others, cmp_age);
}

void update_plan_pods(struct clique_work *c)
{
    obj_vec ready = {0}, others = {0};
    /* While there are too many, the planner of pods takes outdated ones first. */
    if (!c->update.rolls || c->update.outdated == 0 || c->tally->active > surge_total(c->pclq) ||
        tally_has_doubles(c->tally))
        return;
    size_t from = c->plan->writes.len;
    sort_out(c, &ready, &others);
    for (size_t i = 0; i < others.len && i < MAKE_MAX_WRITES; i++)
        take(c, others.p[i], false);
    int64_t n = MIN(room(c), (int64_t)MIN(ready.len, (size_t)MAX_SELECTED));
    c->update.picked = arena_array(c->plan->arena, str, (size_t)MAX(n, 0) + 1);
    for (size_t i = 0; i < ready.len && (int64_t)i < n; i++)
        take(c, ready.p[i], true);
    make_event(c->plan, from, c->pclq, PLAN_DELETE, &kind_pod, "PodDeleteSuccessful");
    vec_done(&ready);
    vec_done(&others);
}

/* ---- status ---- */

/* It was taken; else the ledger refused it, and it may be taken another time. */
static bool was_taken(const struct clique_work *c, str name)
{
    const struct obj *pod = world_get(c->world, &kind_pod, c->pclq->ns, name);
    return !pod || pod->deleting || world_is_intended(c->world, pod->uid);
}

static void write_selected(const struct clique_work *c, struct jw *w)
{
    const struct clique_update *u = &c->update;
    jval old = jgetc(progress_of(c), "readyPodsSelectedToUpdate");
    str *names = arena_array(c->plan->arena, str, selected_before(c) + u->n_picked + 1);
    size_t n = 0;
    if (u->running && !u->starts) {
        for (struct jiter it = jiter(jgetc(old, "completed")); jnext(&it);)
            names[n++] = jstr(it.value);
        str current = jstr(jgetc(old, "current"));
        if (!str_is_empty(current) && was_taken(c, current))
            names[n++] = current;
        for (size_t i = 0; i < u->n_picked; i++)
            names[n++] = u->picked[i];
    }
    if (n == 0) {
        if (j_has(old)) {
            jw_key(w, STR("readyPodsSelectedToUpdate"));
            jw_null(w);
        }
        return;
    }
    jw_put_object(w, "readyPodsSelectedToUpdate");
    jw_put_array(w, "completed");
    for (size_t i = n > MAX_SELECTED ? n - MAX_SELECTED : 0; i + 1 < n; i++)
        jw_str(w, names[i]);
    jw_end(w);
    jw_put_str(w, "current", names[n - 1]);
    jw_end(w);
}

void update_write_clique(const struct clique_work *c, struct jw *w)
{
    const struct clique_update *u = &c->update;
    jval old = progress_of(c);
    int64_t roomless = jint(jgetc(old, "unscheduledAtStart"), 0);
    if (!u->starts && !u->ends && u->n_picked == 0 &&
        (!u->running || (u->roomless == roomless && !surge_differs(c->pclq, &u->surge))))
        return;
    struct strbuf now = STRBUF_INIT(64);
    time_format_rfc3339(c->world->now, &now);
    jw_put_object(w, "updateProgress");
    jw_put_str(w, "updateStartedAt",
               u->starts ? strbuf_str(&now) : jstr(jgetc(old, "updateStartedAt")));
    if (u->ends) {
        /* What ends with its beginning replaced nothing. */
        jw_put_str(w, "updateEndedAt",
                   u->starts ? strbuf_str(&now)
                             : update_end_time(c->plan->arena, jstr(jgetc(old, "updateStartedAt")),
                                               c->world->now));
    } else if (j_has(jgetc(old, "updateEndedAt"))) {
        jw_key(w, STR("updateEndedAt"));
        jw_null(w);
    }
    if (u->starts) {
        jw_put_str(w, "podCliqueSetGenerationHash", u->set_hash);
        jw_put_str(w, "podTemplateHash", u->hash);
    }
    if (u->roomless > 0 || roomless > 0)
        jw_put_int(w, "unscheduledAtStart", u->roomless);
    surge_write(c->pclq, &u->surge, w);
    write_selected(c, w);
    jw_end(w);
    strbuf_done(&now);
}
