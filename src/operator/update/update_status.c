/*
 * What the status of a set says about its update (see update.h), and with it the decision which
 * replicas are at work: the status is where that decision is kept. One pass over the replicas, on
 * numbers of the rollup; single children are looked up only for replicas at work and where numbers
 * do not tell.
 *
 * Moved means: an update began, a replica was finished or taken up, a unit at work got its new
 * template. When nothing has moved for progressDeadline, the condition says so; the update goes on
 * all the same.
 */
#include "operator/common/revisions.h"
#include "operator/common/rollup.h"
#include "operator/common/update.h"
#include "operator/common/update_scope.h"
#include "operator/update/coherent_update.h"

#define DEADLINE_DEFAULT (10 * USEC_PER_MIN)
enum { MAX_NAMED = 8 };

bool update_replica_is_done(const struct update_work *u, int64_t i)
{
    struct rollup_replica c = rollup_at(rollup_of(u->world, &kind_pclq, u->pcs->uid), i);
    struct rollup_replica g = rollup_at(rollup_of(u->world, &kind_pcsg, u->pcs->uid), i);
    const struct update_target *t = update_target_of(u, i);
    return c.children == u->n_cliques && g.children == u->n_groups && c.revision == t->clique_sum &&
           g.revision == t->group_sum && c.updated == u->n_cliques && c.serving == u->n_cliques &&
           g.serving == u->n_groups;
}

static const struct update_engine engines[] = {
    [UPDATE_RECREATE] = {update_replica_is_done, NULL, NULL},
    [UPDATE_ON_DELETE] = {update_replica_is_done, NULL, NULL},
    [UPDATE_COHERENT] = {coherent_replica_done, coherent_replica_status, coherent_set_status},
};

struct entry {
    int64_t replica;
    str since;
};

typedef VEC(struct update_candidate) candidate_vec;
typedef VEC(struct entry) entry_vec;

struct state {
    const struct update_work *work;
    const struct update_engine *engine;
    enum update_strategy strategy;
    jval status, progress; /* as they are */
    str now, started, ended;
    bool began, paused;
    entry_vec at_work;
    candidate_vec waiting; /* not done and not at work */
    int64_t done;
    int64_t done_units; /* of those that are of the current revision */
    /* Updated, of all replicas. */
    int64_t cliques, groups;
    int64_t moved_units, moved_members;
    str moved_at;
};

static jval clique_at(const struct update_work *u, int64_t i, str name)
{
    str full = name_pclq(u->plan->arena, u->pcs->name, i, name);
    const struct obj *o = world_get(u->world, &kind_pclq, u->pcs->ns, full);
    return o && !o->deleting && str_eq(o->owner_uid, u->pcs->uid) ? obj_root(o) : JVAL_ABSENT;
}

static const struct obj *group_object(const struct update_work *u, int64_t i, str name)
{
    str full = name_pcsg(u->plan->arena, u->pcs->name, i, name);
    const struct obj *o = world_get(u->world, &kind_pcsg, u->pcs->ns, full);
    return o && !o->deleting && str_eq(o->owner_uid, u->pcs->uid) ? o : NULL;
}

static jval group_at(const struct update_work *u, int64_t i, str name)
{
    const struct obj *o = group_object(u, i, name);
    return o ? obj_root(o) : JVAL_ABSENT;
}

static bool is_standalone(const struct update_work *u, str clique)
{
    struct group_view g;
    return !pcs_group_of(&u->set, clique, &g);
}

/* ---- which replicas ---- */

static int cmp_candidates(const void *a, const void *b)
{
    const struct update_candidate *x = a, *y = b;
    if (x->scheduled != y->scheduled)
        return x->scheduled ? 1 : -1;
    if (x->breached != y->breached)
        return x->breached ? -1 : 1;
    return x->replica < y->replica ? -1 : x->replica > y->replica;
}

void update_order(struct update_candidate *c, size_t n)
{
    if (n > 1)
        qsort(c, n, sizeof(*c), cmp_candidates);
}

/* The numbers tell for any that is well; the rest is looked at. */
static bool has_scheduled(const struct update_work *u, int64_t i)
{
    struct rollup_replica c = rollup_at(rollup_of(u->world, &kind_pclq, u->pcs->uid), i);
    struct rollup_replica g = rollup_at(rollup_of(u->world, &kind_pcsg, u->pcs->uid), i);
    if (c.scheduled > 0 || g.available > 0)
        return true;
    for (struct jiter it = jiter(u->set.cliques); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if (is_standalone(u, name) &&
            jint(jpath(clique_at(u, i, name), "status.scheduledReplicas"), 0) > 0)
            return true;
    }
    for (struct jiter it = jiter(u->set.scaling_groups); jnext(&it);) {
        jval g_root = group_at(u, i, jstr(jgetc(it.value, "name")));
        if (jint(jpath(g_root, "status.scheduledReplicas"), 0) > 0)
            return true;
    }
    return false;
}

static void mark_breached(const struct update_work *u, candidate_vec *c)
{
    static const struct kind *const kinds[] = {&kind_pclq, &kind_pcsg};
    struct obj *o;
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        for (struct cache_iter it = rollup_breached(u->world, kinds[k], u->pcs->uid);
             (o = cache_next(&it));) {
            int64_t replica = label_index(o, STR(LABEL_PCS_INDEX));
            for (size_t i = 0; i < c->len; i++)
                c->p[i].breached |= c->p[i].replica == replica;
        }
    }
}

/* Its own cliques carry the template it goes to: whoever replaces a pod now uses that. */
static bool is_prepared(const struct update_work *u, int64_t i)
{
    struct rollup_replica c = rollup_at(rollup_of(u->world, &kind_pclq, u->pcs->uid), i);
    return c.children == u->n_cliques && c.revision == update_target_of(u, i)->clique_sum;
}

static void take_up(struct state *s)
{
    int64_t room = update_max_concurrent(s->work->pcs) - (int64_t)s->at_work.len;
    candidate_vec *c = &s->waiting;
    if (room <= 0 || c->len == 0 || s->paused)
        return;
    for (size_t i = 0; i < c->len; i++)
        c->p[i].scheduled = has_scheduled(s->work, c->p[i].replica);
    mark_breached(s->work, c);
    update_order(c->p, c->len);
    size_t left = 0;
    for (size_t i = 0; i < c->len; i++) {
        if (room > 0 && is_prepared(s->work, c->p[i].replica)) {
            *vec_push(&s->at_work) = (struct entry){c->p[i].replica, s->now};
            room--;
        } else {
            c->p[left++] = c->p[i];
        }
    }
    c->len = left;
}

static bool is_at_work(const struct state *s, int64_t replica)
{
    for (size_t i = 0; i < s->at_work.len; i++) {
        if (s->at_work.p[i].replica == replica)
            return true;
    }
    return false;
}

/* Units of a replica that is done: all it has, unless it is held at another revision. */
static int64_t units_when_done(const struct update_work *u, int64_t i)
{
    if (update_target_of(u, i)->revision != u->current.revision)
        return 0;
    return (int64_t)rollup_at(rollup_of(u->world, &kind_pclq, u->pcs->uid), i).units +
           (int64_t)rollup_at(rollup_of(u->world, &kind_pcsg, u->pcs->uid), i).units;
}

/* Those at work stay so until they are done, also when the goal is another one by now. */
static void sort_replicas(struct state *s)
{
    const struct update_work *u = s->work;
    bool running = str_is_empty(s->ended);
    for (struct jiter it = jiter(jgetc(s->progress, "currentlyUpdating")); running && jnext(&it);) {
        int64_t i = jint(jgetc(it.value, "replicaIndex"), -1);
        str since = s->began ? s->now : jstr(jgetc(it.value, "updateStartedAt"));
        if (i >= 0 && i < u->set.replicas && !j_has(jgetc(it.value, "updateEndedAt")) &&
            !is_at_work(s, i) && !s->engine->replica_done(u, i))
            *vec_push(&s->at_work) = (struct entry){i, since};
    }
    for (int64_t i = 0; i < u->set.replicas; i++) {
        if (is_at_work(s, i))
            continue;
        if (s->engine->replica_done(u, i)) {
            s->done++;
            s->done_units += units_when_done(u, i);
        } else
            *vec_push(&s->waiting) = (struct update_candidate){.replica = i};
    }
}

/* ---- counters ---- */

static bool group_is_updated(const struct update_work *u, int64_t i, str name)
{
    const struct obj *o = group_object(u, i, name);
    return o && str_eq(group_generation(o), u->current.hash);
}

static bool clique_is_current(const struct update_work *u, int64_t i, str name)
{
    jval o = clique_at(u, i, name), status = jgetc(o, "status");
    str hash = revision_clique_hash(u->current.revision, name);
    int64_t min = component_needs(jgetc(o, "spec"));
    return str_eq(jstr(jget(jpath(o, "metadata.labels"), STR(LABEL_TEMPLATE_HASH))), hash) &&
           str_eq(jstr(jgetc(status, "currentPodTemplateHash")), hash) &&
           jint(jgetc(status, "readyReplicas"), 0) >= min &&
           jint(jgetc(status, "updatedReplicas"), 0) >= min;
}

static int64_t count_groups(const struct update_work *u, int64_t i, struct rollup_replica g)
{
    str before = jstr(jgetc(obj_status(u->pcs), "lastCompleteGenerationHash"));
    int64_t n = 0;
    if (g.revision == u->current.group_sum)
        return g.children == u->n_groups ? u->n_groups : 0;
    if (g.revision == g.children * rollup_hash(before))
        return 0;
    for (struct jiter it = jiter(u->set.scaling_groups); jnext(&it);)
        n += group_is_updated(u, i, jstr(jgetc(it.value, "name")));
    return n;
}

static int64_t count_cliques(const struct update_work *u, int64_t i, struct rollup_replica c)
{
    int64_t n = 0;
    if (c.revision == u->current.clique_sum)
        return c.current;
    for (struct jiter it = jiter(u->set.cliques); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        n += is_standalone(u, name) && clique_is_current(u, i, name);
    }
    return n;
}

static void count_updated(struct state *s)
{
    const struct update_work *u = s->work;
    const struct rollup *cliques = rollup_of(u->world, &kind_pclq, u->pcs->uid);
    const struct rollup *groups = rollup_of(u->world, &kind_pcsg, u->pcs->uid);
    for (int64_t i = 0; i < u->set.replicas; i++) {
        s->cliques += count_cliques(u, i, rollup_at(cliques, i));
        s->groups += count_groups(u, i, rollup_at(groups, i));
    }
}

/* The numbers in a status are about the current revision: of another one they say nothing yet. */
static bool is_about(const struct update_work *u, jval status)
{
    jval pass = jpath(status, "updateProgress.podCliqueSetGenerationHash");
    return str_eq(jstr(pass), u->current.hash) ||
           str_eq(jstr(jgetc(status, "currentPodCliqueSetGenerationHash")), u->current.hash);
}

struct units {
    int64_t units;   /* pods of standalone cliques, replicas of groups: of the new template */
    int64_t members; /* cliques of replicas of groups that are */
};

static void add_units(const struct update_work *u, int64_t i, struct units *n)
{
    for (struct jiter it = jiter(u->set.cliques); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        jval status = is_standalone(u, name) ? jgetc(clique_at(u, i, name), "status") : JVAL_ABSENT;
        if (is_about(u, status))
            n->units += jint(jgetc(status, "updatedReplicas"), 0);
    }
    for (struct jiter it = jiter(u->set.scaling_groups); jnext(&it);) {
        jval status = jgetc(group_at(u, i, jstr(jgetc(it.value, "name"))), "status");
        if (!is_about(u, status))
            continue;
        n->units += jint(jgetc(status, "updatedReplicas"), 0);
        n->members += jint(jpath(status, "updateProgress.updatedPodCliquesCount"), 0);
    }
}

/* Replicas that wait for their turn have none yet; by hand there are no turns. */
static struct units count_units(const struct state *s)
{
    struct units n = {.units = s->done_units};
    for (size_t k = 0; k < s->at_work.len; k++)
        add_units(s->work, s->at_work.p[k].replica, &n);
    for (size_t k = 0; s->strategy == UPDATE_ON_DELETE && k < s->waiting.len; k++)
        add_units(s->work, s->waiting.p[k].replica, &n);
    return n;
}

static usec moment_of(const struct update_work *u, jval time)
{
    usec wall;
    return time_parse_rfc3339(jstr(time), &wall) ? world_moment(u->world, wall) : 0;
}

static bool gave_up_after(const struct update_work *u, jval component, usec last)
{
    return moment_of(u, jpath(component, "status.updateProgress.surgeTimedOutAt")) > last;
}

/* A replica at work has given up to wait for room since something moved last: it goes on in
 * place, and the clock begins anew. */
static bool gave_up_waiting(const struct state *s)
{
    const struct update_work *u = s->work;
    usec last = moment_of(u, jgetc(s->progress, "lastProgressAt"));
    for (size_t k = 0; k < s->at_work.len; k++) {
        int64_t i = s->at_work.p[k].replica;
        for (struct jiter it = jiter(u->set.cliques); jnext(&it);) {
            str name = jstr(jgetc(it.value, "name"));
            if (is_standalone(u, name) && gave_up_after(u, clique_at(u, i, name), last))
                return true;
        }
        for (struct jiter it = jiter(u->set.scaling_groups); jnext(&it);) {
            if (gave_up_after(u, group_at(u, i, jstr(jgetc(it.value, "name"))), last))
                return true;
        }
    }
    return false;
}

static bool same_at_work(const struct state *s)
{
    jval list = jgetc(s->progress, "currentlyUpdating");
    size_t k = 0;
    if (jlen(list) != s->at_work.len)
        return false;
    for (struct jiter it = jiter(list); jnext(&it); k++) {
        if (jint(jgetc(it.value, "replicaIndex"), -1) != s->at_work.p[k].replica)
            return false;
    }
    return true;
}

static jval progressing(const struct state *s)
{
    return condition_find(jgetc(s->status, "conditions"), STR("Progressing"));
}

/* Has something moved since that was noted last? After the end nothing does. */
static bool has_moved(const struct state *s, const struct units *n)
{
    bool resumed = !s->paused && str_is(jstr(jgetc(progressing(s), "reason")), "Paused");
    if (s->began || !j_has(jgetc(s->progress, "lastProgressAt")))
        return true;
    if (j_has(jgetc(s->progress, "updateEndedAt")))
        return false;
    return resumed || !same_at_work(s) || gave_up_waiting(s) ||
           n->units > jint(jgetc(s->progress, "updatedUnitsCount"), 0) ||
           n->members > jint(jgetc(s->progress, "updatedMemberCliquesCount"), 0);
}

/* While it runs, the numbers are those of the last movement: what comes and goes again is none. In
 * the end they are what there is, and stay when all is done: the record of this update. */
static void note_movement(struct state *s)
{
    struct units n = count_units(s);
    bool moved = has_moved(s, &n), ended = !str_is_empty(s->ended);
    bool recorded =
        j_has(jgetc(s->progress, "updateEndedAt")) && !s->began &&
        str_eq(jstr(jgetc(s->status, "lastCompleteGenerationHash")), s->work->current.hash);
    bool count = moved || (ended && !recorded);
    s->moved_units = count ? n.units : jint(jgetc(s->progress, "updatedUnitsCount"), 0);
    s->moved_members = moved ? n.members : jint(jgetc(s->progress, "updatedMemberCliquesCount"), 0);
    s->moved_at = moved ? s->now : jstr(jgetc(s->progress, "lastProgressAt"));
}

/* ---- the decision ---- */

/* Was the update for the partition that is wished now? By hand, nobody is held. */
static bool partition_moved(const struct state *s)
{
    return s->strategy != UPDATE_ON_DELETE && j_has(s->progress) &&
           jint(jgetc(s->progress, "partition"), 0) != s->work->partition;
}

/* An update that was stuck has been undone: the template is what it was when all was well. */
static void tell_rollback(const struct state *s)
{
    const struct update_work *u = s->work;
    if (s->began && str_is(jstr(jgetc(progressing(s), "reason")), "ProgressDeadlineExceeded") &&
        str_eq(jstr(jgetc(s->status, "lastCompleteGenerationHash")), u->current.hash))
        plan_event(u->plan, u->pcs, true, STR("RolledBack"),
                   "back to revision %lld: the update to another did not move",
                   (long long)revision_number(u->current.revision));
}

/* What ends with its beginning replaced nothing. */
static str end_now(const struct state *s)
{
    return s->began ? s->now
                    : update_end_time(s->work->plan->arena, s->started, s->work->world->now);
}

static void decide(struct state *s)
{
    str before = jstr(jgetc(s->status, "currentGenerationHash"));
    s->began = !str_eq(before, s->work->current.hash) || partition_moved(s);
    tell_rollback(s);
    s->started = s->began ? s->now : jstr(jgetc(s->progress, "updateStartedAt"));
    s->ended = s->began ? STR_NONE : jstr(jgetc(s->progress, "updateEndedAt"));
    if (s->strategy == UPDATE_ON_DELETE && str_is_empty(s->ended))
        s->ended = end_now(s);
    sort_replicas(s);
    if (str_is_empty(s->ended)) {
        take_up(s);
        if (s->at_work.len == 0 && s->waiting.len == 0)
            s->ended = end_now(s);
    }
    count_updated(s);
    note_movement(s);
}

/* ---- writing ---- */

/* A member that was there and is no more. */
static void put_gone(struct jw *w, jval old, const char *key)
{
    if (!j_has(jget(old, str_of(key))))
        return;
    jw_key(w, str_of(key));
    jw_null(w);
}

static void put_time(struct jw *w, jval old, const char *key, str time)
{
    if (str_is_empty(time))
        put_gone(w, old, key);
    else
        jw_put_str(w, key, time);
}

static void write_at_work(const struct state *s, struct jw *w)
{
    if (s->at_work.len == 0) {
        put_gone(w, s->progress, "currentlyUpdating");
        return;
    }
    jw_put_array(w, "currentlyUpdating");
    for (size_t i = 0; i < s->at_work.len; i++) {
        jw_object(w);
        jw_put_int(w, "replicaIndex", s->at_work.p[i].replica);
        jw_put_str(w, "updateStartedAt", s->at_work.p[i].since);
        if (s->engine->replica_status)
            s->engine->replica_status(s->work, s->at_work.p[i].replica, w);
        jw_end(w);
    }
    jw_end(w);
}

static void write_scope(const struct state *s, struct jw *w)
{
    if (s->engine->set_status) {
        s->engine->set_status(s->work, s->began, w);
        return;
    }
    if (s->began)
        update_write_scope(s->work, w);
    coherent_disown_scope(s->work, w);
}

static void write_progress(const struct state *s, struct jw *w)
{
    const struct update_work *u = s->work;
    int64_t replicas = MAX(u->set.replicas, 0);
    jw_put_object(w, "updateProgress");
    jw_put_str(w, "updateStartedAt", s->started);
    put_time(w, s->progress, "updateEndedAt", s->ended);
    jw_put_int(w, "updatedPodCliquesCount", s->cliques);
    jw_put_int(w, "totalPodCliquesCount", replicas * u->n_cliques);
    jw_put_int(w, "updatedPodCliqueScalingGroupsCount", s->groups);
    jw_put_int(w, "totalPodCliqueScalingGroupsCount", replicas * u->n_groups);
    write_at_work(s, w);
    if (s->strategy != UPDATE_ON_DELETE)
        jw_put_int(w, "partition", u->partition);
    jw_put_str(w, "lastProgressAt", s->moved_at);
    jw_put_int(w, "updatedUnitsCount", s->moved_units);
    if (s->at_work.len > 0)
        jw_put_int(w, "updatedMemberCliquesCount", s->moved_members);
    else
        put_gone(w, s->progress, "updatedMemberCliquesCount");
    write_scope(s, w);
    jw_end(w);
}

/* It was known before this plan what is in scope; else it is being written just now. */
static bool is_scoped(const struct state *s)
{
    str hash = jstr(jgetc(s->progress, "scopeGenerationHash"));
    return !s->began && (s->strategy != UPDATE_COHERENT || str_eq(hash, s->work->current.hash));
}

/* Is it in scope, and done in every replica? Those with high numbers come last, so they tell
 * soonest. */
static bool is_completed(const struct state *s, bool group, str name,
                         bool (*done)(const struct update_work *u, int64_t i, str name))
{
    const struct update_work *u = s->work;
    if (!is_scoped(s) || !update_in_scope(s->progress, group, name))
        return false;
    for (int64_t i = u->set.replicas - 1; i >= 0; i--) {
        if (!done(u, i, name))
            return false;
    }
    return true;
}

static str first_undone(const struct update_work *u, jval list, int64_t i, bool standalone,
                        bool (*done)(const struct update_work *u, int64_t i, str name))
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if ((!standalone || is_standalone(u, name)) && !done(u, i, name))
            return name;
    }
    return STR_NONE;
}

/* Older readers know one replica at a time, by what of it is being changed. */
static void write_rolling_current(const struct state *s, jval old, struct jw *w)
{
    const struct update_work *u = s->work;
    if (s->at_work.len == 0) {
        put_gone(w, old, "currentlyUpdating");
        return;
    }
    int64_t i = s->at_work.p[0].replica;
    jval before = jgetc(old, "currentlyUpdating");
    str group = first_undone(u, u->set.scaling_groups, i, false, group_is_updated);
    str clique = first_undone(u, u->set.cliques, i, true, clique_is_current);
    jw_put_object(w, "currentlyUpdating");
    put_time(w, before, "podCliqueScalingGroupName", group);
    put_time(w, before, "podCliqueName", clique);
    jw_put_int(w, "replicaIndex", i);
    jw_end(w);
}

static void write_rolling_progress(const struct state *s, struct jw *w)
{
    const struct update_work *u = s->work;
    jval old = jgetc(s->status, "rollingUpdateProgress");
    jw_put_object(w, "rollingUpdateProgress");
    jw_put_str(w, "updateStartedAt", s->started);
    put_time(w, old, "updateEndedAt", s->ended);
    jw_put_array(w, "updatedPodCliqueScalingGroups");
    for (struct jiter it = jiter(u->set.scaling_groups); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if (is_completed(s, true, name, group_is_updated))
            jw_str(w, name);
    }
    jw_end(w);
    jw_put_array(w, "updatedPodCliques");
    for (struct jiter it = jiter(u->set.cliques); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if (is_standalone(u, name) && is_completed(s, false, name, clique_is_current))
            jw_str(w, name);
    }
    jw_end(w);
    write_rolling_current(s, old, w);
    jw_end(w);
}

/* ---- the condition ---- */

static usec deadline_of(const struct obj *pcs)
{
    usec deadline;
    str text = jstr(jpath(obj_root(pcs), "spec.updateStrategy.progressDeadline"));
    return duration_parse_usec(text, &deadline) && deadline > 0 ? deadline : DEADLINE_DEFAULT;
}

static str describe(const struct state *s)
{
    struct arena *a = s->work->plan->arena;
    str text = arena_printf(a, "%lld of %lld replicas updated", (long long)s->done,
                            (long long)s->work->set.replicas);
    for (size_t i = 0; i < MIN(s->at_work.len, (size_t)MAX_NAMED); i++)
        text = arena_printf(a, "%.*s%s%lld", STR_ARG(text),
                            i                    ? ", "
                            : s->at_work.len > 1 ? "; now updating replicas "
                                                 : "; now updating replica ",
                            (long long)s->at_work.p[i].replica);
    return text;
}

/* Past the deadline; else the set is looked at again when it comes. */
static bool is_overdue(const struct state *s)
{
    const struct update_work *u = s->work;
    usec since, deadline = deadline_of(u->pcs);
    if (!time_parse_rfc3339(s->moved_at, &since))
        return false;
    return world_has_passed(u->world, world_moment(u->world, since), deadline, u->plan);
}

static struct condition overdue(const struct state *s)
{
    const struct update_work *u = s->work;
    struct condition c = {"Progressing", "False", "ProgressDeadlineExceeded",
                          arena_printf(u->plan->arena, "nothing has moved since %.*s; %.*s",
                                       STR_ARG(s->moved_at), STR_ARG(describe(s)))};
    if (!str_is(jstr(jgetc(progressing(s), "reason")), c.reason))
        plan_event(u->plan, u->pcs, true, str_of(c.reason), "%.*s", STR_ARG(c.message));
    return c;
}

/* Every replica is of the current revision. */
static bool is_complete(const struct state *s)
{
    const struct update_work *u = s->work;
    return !str_is_empty(s->ended) && s->done >= u->set.replicas &&
           (u->partition == 0 || u->held.revision == u->current.revision);
}

static struct condition condition_of(const struct state *s)
{
    const struct update_work *u = s->work;
    struct arena *a = u->plan->arena;
    if (str_is_empty(s->ended)) {
        if (s->paused)
            return (struct condition){
                "Progressing", "Unknown", "Paused",
                arena_printf(a, "nothing more is taken away; %.*s", STR_ARG(describe(s)))};
        if (is_overdue(s))
            return overdue(s);
        return (struct condition){"Progressing", "True", "Updating", describe(s)};
    }
    if (s->strategy == UPDATE_ON_DELETE && s->done < u->set.replicas)
        return (struct condition){
            "Progressing", "True", "OnDelete",
            arena_printf(a, "pods change when they are deleted; %.*s", STR_ARG(describe(s)))};
    if (u->partition > 0 && u->held.revision != u->current.revision)
        return (struct condition){"Progressing", "True", "Partitioned",
                                  arena_printf(a, "replicas below %lld stay of %.*s",
                                               (long long)u->partition, STR_ARG(u->held.hash))};
    /* By hand it ended before it was done, and nobody rolls what was left then. */
    if (!is_complete(s) &&
        !str_eq(jstr(jgetc(s->status, "lastCompleteGenerationHash")), u->current.hash))
        return (struct condition){
            "Progressing", "True", "OnDelete",
            arena_printf(a,
                         "what was old when the strategy was OnDelete stays "
                         "until %sthe template changes; %.*s",
                         s->strategy == UPDATE_COHERENT ? "" : "it is deleted or ",
                         STR_ARG(describe(s)))};
    return (struct condition){
        "Progressing", "True", "Complete",
        arena_printf(a, "all pods run revision %.*s", STR_ARG(u->current.hash))};
}

/* ---- plan ---- */

struct condition update_plan_status(const struct update_work *u, struct jw *w, bool *ret_updating)
{
    struct strbuf now = STRBUF_INIT(64);
    struct state s = {.work = u,
                      .strategy = update_strategy_of(u->pcs),
                      .status = obj_status(u->pcs),
                      .paused = update_is_paused(u->pcs)};
    *ret_updating = update_is_running(u->pcs);
    s.engine = &engines[s.strategy];
    s.progress = jgetc(s.status, "updateProgress");
    str before = jstr(jgetc(s.status, "currentGenerationHash"));
    if (!u->current.revision)
        return (struct condition){.type = NULL};
    bool first = str_is_empty(before);
    if (first || (!j_has(s.progress) && str_eq(before, u->current.hash))) {
        if (first || !j_has(jgetc(s.status, "lastCompleteGenerationHash")))
            jw_put_str(w, "lastCompleteGenerationHash", u->current.hash);
        return (struct condition){.type = NULL};
    }
    time_format_rfc3339(u->world->now, &now);
    s.now = strbuf_str(&now);
    decide(&s);
    write_progress(&s, w);
    write_rolling_progress(&s, w);
    if (is_complete(&s))
        jw_put_str(w, "lastCompleteGenerationHash", u->current.hash);
    struct condition c = condition_of(&s);
    *ret_updating = str_is_empty(s.ended);
    vec_done(&s.at_work);
    vec_done(&s.waiting);
    strbuf_done(&now);
    return c;
}
