/*
 * RollingRecreate inside a scaling group: replicas of the group with a member of another template
 * are made anew. Their cliques are deleted; the other half of the planner makes new ones from what
 * the set says now. All of them go, or only the outdated ones where rollingUpdate.members is
 * Changed: then the other cliques of the replica keep their pods. The unit is the replica in both
 * cases: it does not serve until the new pods do, and counts once against the budgets.
 *
 * Replicas that do not serve go at once, all of them; those that do go by number, as many as the
 * ledger allows and so that no more than maxUnavailable are missing at any time. Of a replica those
 * cliques go last whose template changed: should we be stopped on the way, the rest still has its
 * reason. Cliques made since the pass began are new already and stay. Replicas above the number
 * wanted (surge.h) are made anew only when they do not serve: they make up for others, and go when
 * it ends.
 */
#include "operator/group/update_group.h"

#include "grove/going.h"
#include "grove/pod.h"
#include "operator/common/ledger.h"
#include "operator/common/revisions.h"
#include "operator/common/rollup.h"
#include "operator/common/tally.h"
#include "operator/common/update.h"
#include "operator/common/update_scope.h"
#include "operator/update/gate.h"

enum { MAX_SELECTED = 1000 };
enum { STAGE_UNCHANGED, STAGE_CHANGED };

static jval progress_of(const struct group_work *g)
{
    return jgetc(obj_status(g->pcsg), "updateProgress");
}

/* ---- replicas ---- */

static const struct obj *member(const struct group_work *g, int64_t j, str clique)
{
    str name = name_member_pclq(g->plan->arena, g->pcsg->name, j, clique);
    const struct obj *o = world_get(g->world, &kind_pclq, g->pcsg->ns, name);
    return o && str_eq(o->owner_uid, g->pcsg->uid) ? o : NULL;
}

static bool stays(const struct group_work *g, const struct obj *pclq)
{
    return pclq && !pclq->deleting && !world_is_intended(g->world, pclq->uid);
}

/* It, or a pod of it, is of another template. */
static bool is_outdated(const struct group_work *g, const struct obj *pclq, str clique)
{
    const struct tally *t = tally_of(g->world, pclq->uid);
    return !revision_names(g->revision, clique, obj_label(pclq, STR(LABEL_TEMPLATE_HASH))) ||
           update_pods_named(t, g->revision, clique) < t->active + t->finished;
}

/* The numbers tell that all of it is as it should be. */
static bool is_current(const struct group_work *g, int64_t j, uint64_t sum)
{
    uint32_t members = (uint32_t)jlen(g->spec.clique_names);
    struct rollup_replica m = rollup_at(rollup_of(g->world, &kind_pclq, g->pcsg->uid), j);
    return m.children == members && m.revision == sum && m.updated == members;
}

static uint64_t sum_of(const struct group_work *g)
{
    uint64_t sum = 0;
    for (struct jiter it = jiter(g->spec.clique_names); jnext(&it);)
        sum += rollup_hash(revision_clique_hash(g->revision, jstr(it.value)));
    return sum;
}

/* What is of its template already stays, also in a replica that is made anew. */
static bool keeps_unchanged(const struct group_work *g)
{
    return str_is(jstr(jpath(g->config, "rollingUpdate.members")), "Changed");
}

static bool replica_is_outdated(const struct group_work *g, int64_t j)
{
    for (struct jiter it = jiter(g->spec.clique_names); jnext(&it);) {
        const struct obj *o = member(g, j, jstr(it.value));
        if (stays(g, o) && is_outdated(g, o, jstr(it.value)))
            return true;
    }
    return false;
}

enum health { SERVES, DOWN, FLAPS };

/* Pods that will soon be ready again, perhaps. */
static int64_t flapping(const struct group_work *g, const struct obj *pclq)
{
    int64_t n = 0;
    struct cache_iter it = world_owned(g->world, &kind_pod, pclq->uid);
    for (struct obj *pod; (pod = cache_next(&it));) {
        usec left;
        if (pod->deleting || pod_is_ready(pod) || !update_pod_flaps(g->world, pod, &left))
            continue;
        plan_look_again(g->plan, left);
        n++;
    }
    return n;
}

static enum health health_of(const struct group_work *g, int64_t j)
{
    enum health h = SERVES;
    for (struct jiter it = jiter(g->spec.clique_names); jnext(&it);) {
        const struct obj *o = member(g, j, jstr(it.value));
        if (!stays(g, o))
            return DOWN;
        int64_t ready = tally_of(g->world, o->uid)->ready;
        int64_t min = jint(jgetc(obj_spec(o), "minAvailable"), 1);
        if (ready >= min)
            continue;
        if (ready + flapping(g, o) < min)
            return DOWN;
        h = FLAPS;
    }
    return h;
}

/* ---- which pass ---- */

static size_t selected_before(const struct group_work *g)
{
    jval selected = jgetc(progress_of(g), "readyReplicaIndicesSelectedToUpdate");
    return jlen(jgetc(selected, "completed")) + j_has(jgetc(selected, "current"));
}

/* Replicas beyond those there are have nothing to be looked at, whatever number is wanted. */
static int64_t seen_top(const struct group_work *g)
{
    return MIN(g->top, (int64_t)rollup_of(g->world, &kind_pclq, g->pcsg->uid)->replicas.len);
}

static bool any_outdated(const struct group_work *g)
{
    uint64_t sum = sum_of(g);
    for (int64_t j = 0, top = seen_top(g); j < top; j++) {
        if (group_wants(g, j) && !group_is_above(g, j) && !is_current(g, j, sum) &&
            replica_is_outdated(g, j))
            return true;
    }
    return false;
}

static bool is_complete(const struct group_work *g, const struct group_update *u)
{
    int64_t taken = (int64_t)selected_before(g), replicas = MAX(g->spec.replicas, 0);
    return u->realised >= replicas && !u->outdated && u->surge.held == 0 &&
           u->available >= MIN(replicas, MAX(g->spec.min_available, taken));
}

/* ---- replicas above the number ---- */

static int64_t count_outdated(const struct group_work *g)
{
    uint64_t sum = sum_of(g);
    int64_t n = 0;
    for (int64_t j = 0, top = seen_top(g); j < top; j++)
        n += group_wants(g, j) && !group_is_above(g, j) && !is_current(g, j, sum) &&
             replica_is_outdated(g, j);
    return n;
}

/* It has not looked for room yet: it waits for the pod that had its index before it, or is about to
 * be let go. */
static bool is_early(const struct group_work *g, const struct obj *pclq, const struct obj *pod)
{
    return gate_waits_for_pod(g->world, pclq, pod) ||
           gate_opens(g->world, g->plan->arena, g->pcs, pclq, pod);
}

/* Since when a member's pods have looked for room, as steady time; -1: some do not yet. */
static usec member_since(const struct group_work *g, const struct obj *pclq)
{
    usec since = world_created(g->world, pclq);
    struct cache_iter pods = world_owned(g->world, &kind_pod, pclq->uid);
    for (struct obj *pod; (pod = cache_next(&pods));) {
        if (is_early(g, pclq, pod))
            return -1;
        if (!pod->deleting && !pod_is_scheduled(pod))
            since = MAX(since, pod_since(g->world, pod));
    }
    return since;
}

/* Since when a replica that has no place has looked for one, as steady time; 0: it has one, or is
 * to be made anew anyway; -1: it does not yet. */
static usec waits_since(const struct group_work *g, int64_t j)
{
    uint32_t members = (uint32_t)jlen(g->spec.clique_names);
    struct rollup_replica m = rollup_at(rollup_of(g->world, &kind_pclq, g->pcsg->uid), j);
    usec since = 0;
    if (m.children != members || m.scheduled == members || replica_is_outdated(g, j))
        return 0;
    for (struct jiter it = jiter(g->spec.clique_names); jnext(&it);) {
        const struct obj *o = member(g, j, jstr(it.value));
        usec at = stays(g, o) ? member_since(g, o) : 0;
        if (at < 0)
            return -1;
        since = MAX(since, at);
    }
    return since;
}

/* What the scheduler says of a pod of the replica that has no node, or of its gang. */
static str why_unplaced(const struct group_work *g, int64_t j)
{
    for (struct jiter it = jiter(g->spec.clique_names); jnext(&it);) {
        const struct obj *o = member(g, j, jstr(it.value));
        if (!o)
            continue;
        struct cache_iter pods = world_owned(g->world, &kind_pod, o->uid);
        for (struct obj *pod; (pod = cache_next(&pods));) {
            jval c = condition_find(jgetc(obj_status(pod), "conditions"), STR("PodScheduled"));
            if (!pod->deleting && !pod_is_scheduled(pod) && j_has(jgetc(c, "message")))
                return jstr(jgetc(c, "message"));
        }
    }
    return STR("nobody said why");
}

/* A replica has waited for its place long enough: it is said, and nobody waits any more. */
static bool times_out(const struct group_work *g, const struct group_update *u)
{
    usec timeout = surge_timeout(g->pcs), first = 0;
    int64_t which = -1;
    if (surge_timed_out(g->pcsg) && surge_held(g->pcsg) <= u->placed_above)
        return false; /* it was said before, and nothing is left to give up */
    for (int64_t j = 0; surge_held(g->pcsg) > 0 && j < seen_top(g); j++) {
        usec since = group_wants(g, j) ? waits_since(g, j) : 0;
        if (since < 0)
            plan_look_again(g->plan, timeout);
        if (since <= 0 || (which >= 0 && since >= first))
            continue;
        first = since;
        which = j;
    }
    if (which < 0)
        return false;
    if (!world_has_passed(g->world, first, timeout, g->plan))
        return false;
    plan_event(g->plan, g->pcsg, true, STR("SurgeTimedOut"),
               "replica %lld has had no place for %lld s (%lld replicas are wanted, %lld above "
               "them): %.*s; the update goes on in place",
               (long long)which, (long long)(timeout / USEC_PER_SEC), (long long)g->spec.replicas,
               (long long)surge_held(g->pcsg), STR_ARG(why_unplaced(g, which)));
    return true;
}

static void decide_surge(const struct group_work *g, struct group_update *u, bool rolls)
{
    /* How many are outdated matters where something may be above the number. */
    int64_t most = surge_most(g->pcs, g->config, g->pcsg);
    struct surge_facts f = {
        .most = most,
        .desired = MAX(g->spec.replicas, 0),
        .allowance = surge_allowance(g->pcs, g->config, g->pcsg, 1),
        .held = surge_held(g->pcsg),
        .outdated = u->outdated ? (most > 0 ? count_outdated(g) : 1) : 0,
        .filling = u->realised < g->spec.replicas,
        .staying = u->own_available,
        .placed = u->placed_above,
        .timed_out = !u->starts && surge_timed_out(g->pcsg),
        .times_out = u->rolls && times_out(g, u),
        .rolls = rolls,
    };
    u->surge = (struct surge_record){.held = surge_next(&f),
                                     .begins = u->starts,
                                     .times_out = f.times_out,
                                     .timed_out = f.timed_out,
                                     .now = g->world->now};
}

/* Some are on no node, and it cannot be told yet whether they have no room. */
static bool is_too_early(const struct group_work *g, const struct group_update *u)
{
    usec left;
    if (u->unscheduled == 0 || update_strategy_of(g->pcs) != UPDATE_RECREATE ||
        !update_settles(g->world, g->pcsg, &left))
        return false;
    plan_look_again(g->plan, left);
    return true;
}

static void decide_recreate(const struct group_work *g, struct group_update *u, bool was_running,
                            bool same)
{
    bool rolls = update_rolls(g->pcs, g->pcs_index);
    str hash = revision_generation_hash(g->revision);
    str carried = jstr(jgetc(obj_status(g->pcsg), "currentPodCliqueSetGenerationHash"));
    bool untouched = !j_has(progress_of(g)) && str_eq(carried, hash) && !u->outdated;
    if (rolls && !untouched && (!same || (!was_running && u->outdated)))
        u->starts = was_running || !is_too_early(g, u);
    else if (was_running && !update_holds(g->pcs, g->pcs_index))
        u->ends = true;
    else
        u->rolls = was_running && same && rolls;
    if (u->starts || (was_running && !u->ends))
        decide_surge(g, u, rolls);
    if ((u->starts || u->rolls) && is_complete(g, u))
        u->ends = true;
    if (u->ends)
        u->surge.held = 0;
}

/* A pod of the replica is on its way to a node. */
static bool is_coming(const struct group_work *g, int64_t j)
{
    for (struct jiter it = jiter(g->spec.clique_names); jnext(&it);) {
        const struct obj *o = member(g, j, jstr(it.value));
        if (!o)
            continue;
        struct cache_iter pods = world_owned(g->world, &kind_pod, o->uid);
        for (struct obj *pod; (pod = cache_next(&pods));) {
            if (pod_is_on_its_way(g->world, pod) || is_early(g, o, pod))
                return true;
        }
    }
    return false;
}

/* Replicas that had no room before the pass, and have none: see update_pods.c. Of what a map has
 * moved already, which may be known before the pass begins, none is one. */
static int64_t count_roomless(const struct group_work *g, const struct group_update *u,
                              bool was_running)
{
    uint32_t members = (uint32_t)jlen(g->spec.clique_names);
    int64_t old = 0, coming = 0;
    if (!u->starts || was_running || u->unscheduled == 0)
        return MIN(u->unscheduled, jint(jgetc(progress_of(g), "unscheduledAtStart"), 0));
    for (int64_t j = 0, top = seen_top(g); j < top; j++) {
        struct rollup_replica m = rollup_at(rollup_of(g->world, &kind_pclq, g->pcsg->uid), j);
        if (!group_wants(g, j) || m.scheduled >= members)
            continue;
        bool comes = is_coming(g, j);
        coming += comes;
        old += !comes && replica_is_outdated(g, j);
    }
    return g->mapped ? MIN(u->unscheduled, old) : MAX(u->unscheduled - coming, 0);
}

void update_decide_group(const struct group_work *g, struct group_update *u)
{
    bool was_running = clique_is_updating(g->pcsg);
    u->running = was_running;
    u->surge.held = surge_held(g->pcsg);
    if (!g->revision)
        return;
    bool same = str_eq(jstr(jgetc(progress_of(g), "podCliqueSetGenerationHash")),
                       revision_generation_hash(g->revision));
    u->outdated = any_outdated(g);
    switch (update_strategy_of(g->pcs)) {
    case UPDATE_RECREATE:
        decide_recreate(g, u, was_running, same);
        break;
    case UPDATE_ON_DELETE:
        u->starts = !same;
        u->ends = u->starts || was_running;
        u->surge.held = 0;
        break;
    case UPDATE_COHERENT:
        decide_recreate(g, u, was_running, same);
        u->rolls = false; /* its map says what is made anew */
        break;
    }
    u->running = (was_running || u->starts) && !u->ends;
    if (u->running)
        u->roomless = count_roomless(g, u, was_running);
}

/* ---- the step ---- */

static usec pass_began(const struct group_work *g)
{
    usec at = 0;
    if (!time_parse_rfc3339(jstr(jgetc(progress_of(g), "updateStartedAt")), &at))
        return 0;
    return world_moment(g->world, at);
}

static void delete_replica(const struct group_work *g, int64_t j, bool serves, unsigned stage)
{
    usec began = pass_began(g);
    for (struct jiter it = jiter(g->spec.clique_names); jnext(&it);) {
        const struct obj *o = member(g, j, jstr(it.value));
        if (!stays(g, o))
            continue;
        bool changed = is_outdated(g, o, jstr(it.value));
        if (!changed && (keeps_unchanged(g) || world_made(g->world, o) >= began))
            continue;
        struct plan_write *w =
            plan_delete(g->plan, stage + (changed ? STAGE_CHANGED : STAGE_UNCHANGED), o);
        w->component_uid = g->pcsg->uid;
        w->not_serving = !serves;
        plan_why(w, g->plan, "replica %lld of the group is made anew of %.*s%s%s", (long long)j,
                 STR_ARG(revision_generation_hash(g->revision)),
                 keeps_unchanged(g) ? ", the cliques that changed" : "",
                 serves ? "" : "; it does not serve");
    }
}

/* Of a template that none of the group's cliques is to have. */
static bool is_of_another(void *ctx, const struct obj *pod)
{
    const struct group_work *g = ctx;
    str hash = obj_label(pod, STR(LABEL_TEMPLATE_HASH));
    for (struct jiter it = jiter(g->spec.clique_names); jnext(&it);) {
        if (revision_names(g->revision, jstr(it.value), hash))
            return false;
    }
    return true;
}

/* Replicas that serve while pods of what they were before still run. */
static int64_t count_overlaps(const struct group_work *g)
{
    int64_t n = 0;
    struct going going;
    going_of_group(&going, g->world, g->pcsg, is_of_another, (void *)g);
    for (int64_t j = slots_next(&going.running, 0); j >= 0; j = slots_next(&going.running, j + 1))
        n += group_wants(g, j) && health_of(g, j) == SERVES;
    going_done(&going);
    return n;
}

void update_plan_group(const struct group_work *g, struct group_update *u, unsigned stage)
{
    if (!u->rolls || !u->outdated)
        return;
    size_t from = g->plan->writes.len;
    uint64_t sum = sum_of(g);
    struct budget b = ledger_of_group(g->world, g->pcsg);
    int64_t missing = b.desired - b.available;
    if (missing > 0)
        missing = MAX(missing - u->roomless, 0);
    missing += count_overlaps(g);
    int64_t room = MIN(MIN(b.free, b.allowance - missing), MAX_SELECTED);
    u->picked = arena_array(g->plan->arena, int64_t, (size_t)MAX(room, 0) + 1);
    for (int64_t j = 0; j < seen_top(g) && !make_is_full(g->plan, from); j++) {
        if (!group_wants(g, j) || is_current(g, j, sum) || !replica_is_outdated(g, j))
            continue;
        enum health h = health_of(g, j);
        if (h == DOWN) {
            delete_replica(g, j, false, stage);
        } else if (h == SERVES && room > 0 && !group_is_above(g, j)) {
            delete_replica(g, j, true, stage);
            u->picked[u->n_picked++] = j;
            room--;
        }
    }
    make_event(g->plan, from, g->pcsg, PLAN_DELETE, &kind_pclq,
               "PodCliqueScalingGroupReplicaDeleteSuccessful");
}

/* ---- status ---- */

static void write_selected(const struct group_work *g, const struct group_update *u, jval old,
                           struct jw *w)
{
    static const char key[] = "readyReplicaIndicesSelectedToUpdate";
    jval before = jgetc(progress_of(g), key);
    int64_t *all = arena_array(g->plan->arena, int64_t, selected_before(g) + u->n_picked + 1);
    size_t n = 0;
    if (u->running && !u->starts) {
        for (struct jiter it = jiter(jgetc(before, "completed")); jnext(&it);)
            all[n++] = jint(it.value, 0);
        if (j_has(jgetc(before, "current")))
            all[n++] = jint(jgetc(before, "current"), 0);
        for (size_t i = 0; i < u->n_picked; i++)
            all[n++] = u->picked[i];
    }
    if (n == 0) {
        if (j_has(jgetc(old, key))) {
            jw_key(w, str_of(key));
            jw_null(w);
        }
        return;
    }
    jw_put_object(w, key);
    jw_put_array(w, "completed");
    for (size_t i = n > MAX_SELECTED ? n - MAX_SELECTED : 0; i + 1 < n; i++)
        jw_int(w, all[i]);
    jw_end(w);
    jw_put_int(w, "current", all[n - 1]);
    jw_end(w);
}

struct changed {
    str *names;
    size_t n;
};

/* The last pass has not brought all of the group to what it was for. (What is of the next target
 * already says so before a pass for that begins.) */
static bool was_left_unfinished(const struct group_work *g)
{
    str last = jstr(jgetc(progress_of(g), "podCliqueSetGenerationHash"));
    str carried = jstr(jgetc(obj_status(g->pcsg), "currentPodCliqueSetGenerationHash"));
    return clique_is_updating(g->pcsg) ||
           (!str_eq(carried, last) && !str_eq(carried, revision_generation_hash(g->revision)));
}

/* What something of the group may be of when a pass begins. */
static struct update_origin origin_of(const struct group_work *g)
{
    struct update_origin from = {0};
    const str hashes[] = {jstr(jgetc(progress_of(g), "podCliqueSetGenerationHash")),
                          jstr(jgetc(obj_status(g->pcsg), "currentPodCliqueSetGenerationHash")),
                          jstr(jgetc(obj_status(g->pcs), "lastCompleteGenerationHash"))};
    for (size_t i = 0; i < ARRAY_LEN(hashes); i++)
        update_origin_add(&from, g->world, g->plan->arena, g->pcs, hashes[i]);
    return from;
}

/* The cliques that the pass is about: decided when it begins, then as it is recorded. What a pass
 * before this one was about, and had not brought to an end, is in scope too. */
static struct changed changed_of(const struct group_work *g, bool starts)
{
    jval recorded = jgetc(progress_of(g), "changedPodCliques");
    bool keeps = !starts || was_left_unfinished(g);
    struct update_origin from = starts ? origin_of(g) : (struct update_origin){0};
    struct changed c = {.names = arena_array(g->plan->arena, str, jlen(g->spec.clique_names) + 1)};
    for (struct jiter it = jiter(g->spec.clique_names); jnext(&it);) {
        str name = jstr(it.value);
        if ((keeps && update_lists(recorded, name)) ||
            (starts && update_changes(&from, g->revision, name)))
            c.names[c.n++] = name;
    }
    return c;
}

static void write_names(struct jw *w, const char *key, const struct changed *c)
{
    jw_put_array(w, key);
    for (size_t i = 0; i < c->n; i++)
        jw_str(w, c->names[i]);
    jw_end(w);
}

/* When the pass began and, empty while it runs, when it ended. */
struct span {
    str started, ended;
};

/* A pass that finds all done already was of replicas that a map had moved by then: they were, since
 * the replica of the set was taken up. */
static str taken_up_at(const struct group_work *g, str now)
{
    jval list = jpath(obj_status(g->pcs), "updateProgress.currentlyUpdating");
    for (struct jiter it = jiter(list); jnext(&it);) {
        jval at = jgetc(it.value, "updateStartedAt");
        if (jint(jgetc(it.value, "replicaIndex"), -1) == g->pcs_index && j_has(at))
            return jstr(at);
    }
    return now;
}

static struct span span_of(const struct group_work *g, const struct group_update *u, bool changes)
{
    struct arena *a = g->plan->arena;
    jval before = progress_of(g);
    struct strbuf text = STRBUF_INIT(64);
    time_format_rfc3339(g->world->now, &text);
    str now = arena_str(a, strbuf_str(&text));
    strbuf_done(&text);
    /* By hand it ends with its beginning, before anything is replaced. */
    bool late = u->starts && u->ends && changes && update_strategy_of(g->pcs) != UPDATE_ON_DELETE;
    struct span s = {.started = jstr(jgetc(before, "updateStartedAt"))};
    if (u->starts)
        s.started = late ? taken_up_at(g, now) : now;
    if (u->ends)
        s.ended = u->starts && !late ? now : update_end_time(a, s.started, g->world->now);
    else if (!u->running)
        s.ended = jstr(jgetc(before, "updateEndedAt"));
    return s;
}

static void write_common(const struct group_work *g, const struct group_update *u, jval old,
                         const struct span *span, struct jw *w)
{
    jw_put_str(w, "updateStartedAt", span->started);
    if (!str_is_empty(span->ended)) {
        jw_put_str(w, "updateEndedAt", span->ended);
    } else if (j_has(jgetc(old, "updateEndedAt"))) {
        jw_key(w, STR("updateEndedAt"));
        jw_null(w);
    }
    jw_put_str(w, "podCliqueSetGenerationHash",
               u->starts ? revision_generation_hash(g->revision)
                         : jstr(jgetc(progress_of(g), "podCliqueSetGenerationHash")));
    write_selected(g, u, old, w);
}

void update_write_group(const struct group_work *g, const struct group_update *u, struct jw *w)
{
    jval status = obj_status(g->pcsg), before = progress_of(g);
    if (!j_has(before) && !u->starts)
        return;
    struct changed changed = changed_of(g, u->starts), none = {0};
    struct span span = span_of(g, u, changed.n > 0);
    jw_put_object(w, "updateProgress");
    write_common(g, u, before, &span, w);
    write_names(w, "changedPodCliques", &changed);
    if (u->roomless > 0 || j_has(jgetc(before, "unscheduledAtStart")))
        jw_put_int(w, "unscheduledAtStart", u->roomless);
    surge_write(g->pcsg, &u->surge, w);
    jw_put_int(w, "updatedPodCliquesCount", u->updated_members);
    jw_put_int(w, "totalPodCliquesCount",
               MAX(g->spec.replicas, 0) * (int64_t)jlen(g->spec.clique_names));
    jw_end(w);
    jw_put_object(w, "rollingUpdateProgress");
    write_common(g, u, jgetc(status, "rollingUpdateProgress"), &span, w);
    write_names(w, "updatedPodCliques", u->realised >= g->spec.replicas ? &changed : &none);
    jw_end(w);
}
