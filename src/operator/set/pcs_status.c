/*
 * What a PodCliqueSet's children amount to: its status, and gang termination of its replicas. This
 * half of the set's planner runs whenever a child's status changes; it reads numbers kept by the
 * rollup, and single objects only where something is wrong.
 *
 * A replica is available when every expected child is there and has its minimum; updated, when it
 * is available and all its children are of the revision the set is of. observedGeneration is
 * written when every child of that generation exists and is labelled with its hashes.
 */
#include "operator/common/clique.h"
#include "operator/common/errors.h"
#include "operator/common/mnnvl.h"
#include "operator/common/phase.h"
#include "operator/common/replica_failure.h"
#include "operator/common/rollup.h"
#include "operator/common/standing.h"
#include "operator/common/termination.h"
#include "operator/common/topology.h"
#include "operator/common/update.h"
#include "operator/operator.h"

enum {
    STAGE_ERRORS,          /* a status that tells of them does not wait for what fails */
    STAGE_TERMINATION = 1, /* and the next two */
    STAGE_STATUS = 10,
    MAX_GANGS = 64, /* listed in a status */
    MAX_ERRORS = 10,
};
/* Nobody tells when a name that others hold becomes free. */
#define FOREIGN_RECHECK (2 * USEC_PER_MIN)

struct set_work {
    const struct world *world;
    struct plan *plan;
    const struct obj *pcs;
    struct pcs_view set;
    struct update_work update; /* and what children add up to */
    bool updating;
    /* Found. */
    int64_t available, updated, complete, labelled;
};

static void count_replicas(struct set_work *s)
{
    const struct rollup *cliques = rollup_of(s->world, &kind_pclq, s->pcs->uid);
    const struct rollup *groups = rollup_of(s->world, &kind_pcsg, s->pcs->uid);
    const struct update_work *u = &s->update;
    int64_t seen = (int64_t)MAX(cliques->replicas.len, groups->replicas.len);
    for (int64_t i = 0; i < MIN(s->set.replicas, seen); i++) {
        struct rollup_replica c = rollup_at(cliques, i), g = rollup_at(groups, i);
        bool complete = c.children == u->n_cliques && g.children == u->n_groups;
        bool available = complete && c.available == u->n_cliques && g.available == u->n_groups;
        s->complete += complete;
        s->labelled += complete && c.revision == update_target_of(u, i)->clique_sum;
        s->available += available;
        s->updated += available && c.revision == u->current.clique_sum &&
                      c.updated == u->n_cliques && g.revision == u->current.group_sum;
    }
}

/* ---- phase ---- */

static bool is_available(const struct set_work *s)
{
    return s->set.replicas > 0 && s->available >= s->set.replicas;
}

static bool has_lost(const struct set_work *s)
{
    jval status = obj_status(s->pcs);
    struct phase_numbers before = {jint(jgetc(status, "replicas"), 0),
                                   jint(jgetc(status, "availableReplicas"), 0)};
    return !is_available(s) && phase_is_loss(phase_of(s->pcs), before,
                                             (struct phase_numbers){s->set.replicas, s->available});
}

/* More replicas are wanted than the status knows of: Creating is told first, however fast they
 * came.
 */
static bool has_grown(const struct set_work *s)
{
    return s->set.replicas > jint(jgetc(obj_status(s->pcs), "replicas"), 0);
}

/* One step towards where it should be; writing it causes the next look. */
static const char *phase_now(const struct set_work *s, const struct condition *progressing,
                             const struct condition *failure)
{
    const struct phase_facts facts = {
        .failed = failure_is_told(failure) ||
                  str_is(str_of(progressing->reason), "ProgressDeadlineExceeded"),
        .none = s->set.replicas <= 0,
        .updating = s->updating,
        .available = is_available(s) && !has_grown(s),
        .lost = has_lost(s),
        .created = s->complete >= s->set.replicas && !has_grown(s),
    };
    return phase_word(&kind_pcs, phase_step(phase_of(s->pcs), phase_goal(&facts)));
}

/* ---- gangs ---- */

static void write_gang(struct jw *w, const struct obj *gang)
{
    jval status = obj_status(gang);
    jw_object(w);
    jw_put(w, "conditions", jgetc(status, "conditions"));
    jw_put_str(w, "name", gang->name);
    jw_put(w, "phase", jgetc(status, "phase"));
    jw_end(w);
}

/* All gangs of a set that has few; of a larger one those that do not run. */
static void write_gangs(const struct set_work *s, struct jw *w)
{
    size_t n = 0, listed = 0;
    struct obj *gang;
    struct cache_iter it = world_owned(s->world, &kind_pod_gang, s->pcs->uid);
    while (n <= MAX_GANGS && cache_next(&it))
        n++;
    it = n > MAX_GANGS ? gangs_not_running(s->world, s->pcs->uid)
                       : world_owned(s->world, &kind_pod_gang, s->pcs->uid);
    if (n == 0 && !j_has(jgetc(obj_status(s->pcs), "podGangStatuses")))
        return;
    jw_put_array(w, "podGangStatuses");
    for (; (gang = cache_next(&it)) && listed < MAX_GANGS;) {
        if (gang->deleting)
            continue;
        write_gang(w, gang);
        listed++;
    }
    jw_end(w);
}

/* ---- errors ---- */

static const struct error_code codes[] = {
    {ERROR_ANY_OP, &kind_service_account, "ERR_SYNC_SERVICEACCOUNT", NULL},
    {ERROR_ANY_OP, &kind_role, "ERR_SYNC_ROLE", NULL},
    {ERROR_ANY_OP, &kind_role_binding, "ERR_SYNC_ROLEBINDING", NULL},
    {PLAN_DELETE, &kind_secret, "ERR_DELETE_SECRET", NULL},
    {ERROR_ANY_OP, &kind_secret, "ERR_CREATE_SECRET", NULL},
    {ERROR_ANY_OP, &kind_service, "ERR_SYNC_PODCLIQUESET_SERVICE", NULL},
    {PLAN_DELETE, &kind_hpa, "ERR_DELETE_HPA", NULL},
    {ERROR_ANY_OP, &kind_hpa, "ERR_SYNC_HPA", NULL},
    {ERROR_ANY_OP, &kind_resource_claim, "ERR_SYNC_PCS_RESOURCE_CLAIM", NULL},
    {ERROR_ANY_OP, &kind_controller_revision, "ERR_SYNC_CONTROLLERREVISION", NULL},
    {PLAN_DELETE, &kind_pclq, "ERR_DELETE_PODCLIQUE", "PodCliqueDeleteFailed"},
    {ERROR_ANY_OP, &kind_pclq, "ERR_CREATE_OR_UPDATE_PODCLIQUE", "PodCliqueCreateOrUpdateFailed"},
    {PLAN_DELETE, &kind_pcsg, "ERR_DELETE_PODCLIQUESCALINGGROUP",
     "PodCliqueScalingGroupDeleteFailed"},
    {ERROR_ANY_OP, &kind_pcsg, "ERR_CREATE_PODCLIQUESCALINGGROUP",
     "PodCliqueScalingGroupCreateOrUpdateFailed"},
    {ERROR_ANY_OP, &kind_pcs, "ERR_UPDATE_PCS_STATUS", NULL},
    /* Of a kind that other programs define: filled in. */
    {PLAN_DELETE, NULL, "ERR_DELETE_COMPUTEDOMAIN", "ComputeDomainDeleteFailed"},
    {ERROR_ANY_OP, NULL, "ERR_SYNC_COMPUTEDOMAIN", "ComputeDomainCreateFailed"},
};

static void find_foreign(const struct set_work *s, const struct kind *k, str name, const char *code,
                         error_vec *ret)
{
    const struct obj *o = world_get(s->world, k, s->pcs->ns, name);
    if (!o || str_eq(o->owner_uid, s->pcs->uid) || ret->len >= MAX_ERRORS)
        return;
    jval ref = obj_controller_ref(o);
    str text = arena_printf(s->plan->arena, "%s %.*s cannot be made: the name belongs to %.*s %.*s",
                            k->kind, STR_ARG(name), STR_ARG(jstr(jgetc(ref, "kind"))),
                            STR_ARG(jstr(jgetc(ref, "name"))));
    *vec_push(ret) = (struct error_found){code, text};
    plan_look_again(s->plan, FOREIGN_RECHECK);
}

/* A gang that is not there because it cannot be made; its own key has nothing to say it on. */
static void find_failing_gang(const struct set_work *s, int64_t i, error_vec *ret)
{
    str name = name_base_gang(s->plan->arena, s->pcs->name, i);
    const struct failures *f = NULL;
    if (ret->len < MAX_ERRORS && !world_get(s->world, &kind_pod_gang, s->pcs->ns, name)) {
        struct world others = *s->world;
        others.failed = NULL;
        f = world_last_failure(&others, &(struct key){&kind_pod_gang, s->pcs->ns, name});
    }
    if (f)
        *vec_push(ret) = (struct error_found){
            "ERR_CREATE_OR_PATCH_PODGANG",
            errors_describe(s->plan->arena, &f->items[0], "ERR_CREATE_OR_PATCH_PODGANG")};
}

/* What stands in the way of children that are missing. */
static void find_problems(const struct set_work *s, error_vec *ret)
{
    struct arena *a = s->plan->arena;
    find_foreign(s, &kind_secret, name_initc_secret(a, s->pcs->name), "ERR_SECRET_CONFLICT", ret);
    for (int64_t i = 0; i < MIN(s->set.replicas, MAX_GANGS); i++)
        find_failing_gang(s, i, ret);
    for (int64_t i = 0; i < s->set.replicas && s->complete < s->set.replicas; i++) {
        if (ret->len >= MAX_ERRORS || i >= MAKE_MAX_WRITES)
            return;
        for (struct jiter it = jiter(s->set.cliques); jnext(&it);) {
            struct group_view g;
            str clique = jstr(jgetc(it.value, "name"));
            if (!pcs_group_of(&s->set, clique, &g))
                find_foreign(s, &kind_pclq, name_pclq(a, s->pcs->name, i, clique),
                             "ERR_SYNC_PODCLIQUE", ret);
        }
        for (struct jiter it = jiter(s->set.scaling_groups); jnext(&it);)
            find_foreign(s, &kind_pcsg,
                         name_pcsg(a, s->pcs->name, i, jstr(jgetc(it.value, "name"))),
                         "ERR_SYNC_PODCLIQUESCALINGGROUP", ret);
    }
}

/* Reason of a failure that no write tells: what was lost finds no place. */
#define REASON_GANG "GangUnschedulable"

/* A set that lost replicas and whose gangs find no place has failed: it is up to others now. One
 * that has never been up merely waits. */
static struct condition stranded_gang(const struct set_work *s)
{
    struct condition none = {.type = CONDITION_REPLICA_FAILURE};
    jval told =
        condition_find(jgetc(obj_status(s->pcs), "conditions"), STR(CONDITION_REPLICA_FAILURE));
    struct obj *gang;
    if (is_available(s) || s->updating || s->set.replicas <= 0 ||
        (phase_of(s->pcs) != PHASE_DEGRADED && !str_is(jstr(jgetc(told, "reason")), REASON_GANG)))
        return none;
    for (struct cache_iter it = gangs_not_running(s->world, s->pcs->uid);
         (gang = cache_next(&it));) {
        jval c = condition_find(jgetc(obj_status(gang), "conditions"), STR("Unschedulable"));
        if (!gang->deleting && str_is_empty(obj_label(gang, STR(LABEL_BASE_PODGANG))) &&
            str_is(jstr(jgetc(c, "status")), "True"))
            return (struct condition){CONDITION_REPLICA_FAILURE, "True", REASON_GANG,
                                      arena_printf(s->plan->arena, "PodGang %.*s: %.*s",
                                                   STR_ARG(gang->name),
                                                   STR_ARG(jstr(jgetc(c, "message"))))};
    }
    return none;
}

/* Writes lastErrors, and sums up what fails, here and below. */
static struct condition write_errors(const struct set_work *s, struct jw *w)
{
    struct error_code all[ARRAY_LEN(codes)];
    error_vec found = {0};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        all[i] = codes[i];
        all[i].kind = codes[i].kind ? codes[i].kind : mnnvl_kind();
    }
    if (!s->pcs->deleting)
        find_problems(s, &found);
    (void)errors_write(w, s->plan, s->world, s->pcs, all, ARRAY_LEN(all), &found);
    struct error_summary own =
        errors_summary(s->plan->arena, s->world, s->pcs, all, ARRAY_LEN(all), &found);
    vec_done(&found);
    struct condition c = failure_of_owner(s->world, s->plan->arena, s->pcs, own);
    return failure_is_told(&c) ? c : stranded_gang(s);
}

/* ---- status ---- */

static str pod_selector(struct arena *a, str pcs)
{
    struct labels l;
    labels_init(&l, a);
    labels_set(&l, LABEL_MANAGED_BY, STR(MANAGED_BY_GROVE));
    labels_set(&l, LABEL_PART_OF, name_label(a, pcs));
    return labels_selector(&l);
}

/* Every replica of a set is needed. */
static struct standing standing_of(const struct set_work *s)
{
    return (struct standing){.of = s->pcs,
                             .what = "replicas are available",
                             .wanted = s->set.replicas,
                             .there = s->available,
                             .needed = s->set.replicas};
}

/* While an update runs or is held back, that is what Progressing tells. Before the first one, and
 * after it while replicas are added, it is about replicas. */
static struct condition progressing_of(const struct standing *standing, struct condition update,
                                       struct arena *a)
{
    struct condition c = standing_progressing(standing, a);
    bool ended = update.type && str_is(str_of(update.reason), "Complete");
    return !update.type || (ended && !str_is(str_of(c.reason), "Complete")) ? c : update;
}

static void plan_status(struct set_work *s)
{
    struct arena *a = s->plan->arena;
    const struct standing standing = standing_of(s);
    struct condition conditions[6] = {topology_condition(s->world, s->pcs, a),
                                      mnnvl_condition(s->world, s->pcs, s->plan),
                                      {0},
                                      standing_available(&standing, a)};
    bool stored = s->update.current.revision != NULL;
    bool observed = stored && s->labelled == s->set.replicas;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    if (observed)
        jw_put_int(&w, "observedGeneration", s->pcs->generation);
    jw_put_int(&w, "replicas", s->set.replicas);
    jw_put_int(&w, "availableReplicas", s->available);
    jw_put_int(&w, "updatedReplicas", s->updated);
    jw_put_str(&w, "hpaPodSelector", pod_selector(a, s->pcs->name));
    if (stored)
        jw_put_str(&w, "currentGenerationHash", s->update.current.hash);
    conditions[2] = progressing_of(&standing, update_plan_status(&s->update, &w, &s->updating), a);
    conditions[4] = standing_ready(&conditions[3], &conditions[2], s->updating);
    conditions[5] = write_errors(s, &w);
    jw_put_cstr(&w, "phase", phase_now(s, &conditions[2], &conditions[5]));
    write_gangs(s, &w);
    termination_write_status(s->world, s->pcs, s->plan->arena, &w);
    make_scaled_event(s->plan, s->pcs, s->set.replicas, "PodCliqueSetScaled");
    make_conditions(&w, jgetc(obj_status(s->pcs), "conditions"), conditions, ARRAY_LEN(conditions),
                    s->world->now);
    jw_end(&w);
    make_status(s->plan, errors_status_stage(s->world, s->pcs, STAGE_ERRORS, STAGE_STATUS), s->pcs,
                jw_doc(&w));
}

/* Of a set that is going only what holds it up is of interest. */
static void plan_last_status(struct set_work *s)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    (void)write_errors(s, &w);
    jw_end(&w);
    make_status(s->plan, STAGE_ERRORS, s->pcs, jw_doc(&w));
}

void pcs_status_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *pcs = world_get(w, &kind_pcs, key->ns, key->name);
    (void)ctx;
    /* Until the finalizer is on it, the other half of the planner is about to write it. */
    if (!pcs || !obj_has_finalizer(pcs, STR(FINALIZER_PCS)))
        return;
    struct set_work s = {.world = w, .plan = p, .pcs = pcs};
    pcs_view(pcs, &s.set);
    if (pcs->deleting) {
        plan_last_status(&s);
        return;
    }
    update_work_init(&s.update, w, pcs, p);
    count_replicas(&s);
    if (!termination_plan_set(w, pcs, STAGE_TERMINATION, p) &&
        !update_plan_undo(w, pcs, STAGE_TERMINATION, p))
        plan_status(&s);
}
