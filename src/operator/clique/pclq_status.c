/*
 * What a clique says of itself.
 *
 * Pods that are being deleted or have finished are not counted on. lastTransitionTime of
 * MinAvailableBreached is the clock of gang termination, so it moves only with the status; a clique
 * that once had its minimum on nodes says so for good (CONDITION_WAS_SCHEDULED), as only such a one
 * can be broken.
 *
 * A new clique whose plan makes pods or lets them go says nothing yet: the pods it changes cause
 * the next look. Only what is too much for one plan, and what goes wrong, is told on the way.
 */
#include "operator/clique/pclq_impl.h"
#include "operator/common/errors.h"
#include "operator/common/fills.h"
#include "operator/common/replica_failure.h"
#include "operator/common/standing.h"
#include "operator/common/update.h"

enum { N_CONDITIONS = 6 };
/* What is on its way has a state worth telling when it has arrived. */
#define CLIQUE_PATIENCE (15 * USEC_PER_SEC)

struct report {
    const struct tally *n;
    str target; /* the template its pods should be of */
    int64_t updated;
    bool updating; /* its own pass */
    bool held;     /* its replica of the set is at work */
};

/* What the clique's label says, that is what new pods are made of. */
static str target_hash(const struct obj *pclq)
{
    str hash = obj_label(pclq, STR(LABEL_TEMPLATE_HASH));
    return str_is_empty(hash) ? jstr(jgetc(obj_status(pclq), "currentPodTemplateHash")) : hash;
}

static struct report report_of(const struct clique_work *c)
{
    struct report r = {.n = c->tally, .target = target_hash(c->pclq)};
    r.updated = c->update.labelled ? c->update.named : tally_with_hash(c->tally, r.target);
    r.updating = c->update.running;
    r.held = update_holds(c->pcs, label_index(c->pclq, STR(LABEL_PCS_INDEX)));
    return r;
}

/* ---- errors ---- */

static const struct error_code codes[] = {
    {PLAN_CREATE, &kind_pod, "ERR_CREATE_POD", "PodCreateFailed"},
    {PLAN_DELETE, &kind_pod, "ERR_DELETE_POD", "PodDeleteFailed"},
    {PLAN_PATCH, &kind_pod, "ERR_REMOVE_POD_SCHEDULING_GATE", NULL},
    {ERROR_ANY_OP, &kind_resource_claim, "ERR_SYNC_PCLQ_RESOURCE_CLAIM", NULL},
    {ERROR_ANY_OP, &kind_pclq, "ERR_UPDATE_PODCLIQUE_STATUS", NULL},
};

/* ---- conditions ---- */

static struct condition scheduled_condition(const struct clique_work *c)
{
    const struct tally *n = c->tally;
    bool enough = n->scheduled >= c->spec.min_available;
    bool waits = !str_is_empty(c->gates_wait);
    return (struct condition){
        "PodCliqueScheduled", enough ? "True" : "False",
        enough ? "SufficientScheduledPods" : "InsufficientScheduledPods",
        arena_printf(c->plan->arena, "%lld of %lld pods are on nodes, %lld are needed%s%.*s",
                     (long long)n->scheduled, (long long)c->spec.replicas,
                     (long long)c->spec.min_available, waits ? "; " : "", STR_ARG(c->gates_wait))};
}

/* What is missing comes when pods before it have stopped. Making its gang anew would wait for the
 * same pods, so it is no reason to. */
static bool only_waits(const struct clique_work *c)
{
    return c->waiting > 0 &&
           c->tally->scheduled - c->tally->failing + c->waiting >= c->spec.min_available;
}

static struct condition breached_condition(const struct clique_work *c, bool updating)
{
    const struct tally *n = c->tally;
    int64_t min = c->spec.min_available;
    bool enough = n->scheduled >= min;
    bool sound = enough && n->scheduled - n->failing >= min;
    bool waits = !sound && only_waits(c);
    const char *reason = updating ? "UpdateInProgress"
                         : sound  ? "SufficientReadyPods"
                         : waits  ? "PodsTerminating"
                         : enough ? "InsufficientReadyPods"
                                  : "ScheduledReplicasBelowMinAvailable";
    return (struct condition){
        "MinAvailableBreached",
        updating || waits ? "Unknown"
        : sound           ? "False"
                          : "True",
        reason,
        arena_printf(c->plan->arena, "%lld pods on nodes, %lld of them failing, %lld needed",
                     (long long)n->scheduled, (long long)n->failing, (long long)min)};
}

static size_t conditions_of(const struct clique_work *c, const struct report *r,
                            struct condition ret[N_CONDITIONS])
{
    const struct standing standing = {.of = c->pclq,
                                      .what = "pods are ready",
                                      .wanted = c->spec.replicas,
                                      .there = r->n->ready,
                                      .needed = c->spec.min_available,
                                      .updating = r->updating,
                                      .updated = r->updated};
    size_t n = 0;
    ret[n++] = scheduled_condition(c);
    /* While its replica is at work, what is missing is no reason to make it anew. */
    ret[n++] = breached_condition(c, r->updating || r->held);
    if (str_is(str_of(ret[0].status), "True"))
        ret[n++] = (struct condition){CONDITION_WAS_SCHEDULED, "True", "MinimumWasScheduled",
                                      STR("its minimum has been on nodes")};
    ret[n++] = standing_available(&standing, c->plan->arena);
    ret[n++] = standing_progressing(&standing, c->plan->arena);
    ret[n++] = failure_of_clique(
        c->plan->arena,
        errors_summary(c->plan->arena, c->world, c->pclq, codes, ARRAY_LEN(codes), NULL),
        c->spec.replicas, r->n->active + r->n->finished);
    return n;
}

/* ---- hashes ---- */

static str clique_selector(const struct clique_work *c)
{
    struct labels l;
    struct arena *a = c->plan->arena;
    labels_init(&l, a);
    labels_set(&l, LABEL_MANAGED_BY, STR(MANAGED_BY_GROVE));
    labels_set(&l, LABEL_PART_OF, name_label(a, c->pcs->name));
    labels_set(&l, LABEL_PCLQ, name_label(a, c->pclq->name));
    return labels_selector(&l);
}

/* What is fully realised: nothing changes while an update runs or pods of another template are
 * there, also on their way out. The revision it is to be of counts as realised when it carries what
 * that calls it. */
static void write_hashes(struct jw *w, const struct clique_work *c, const struct report *r)
{
    if (r->updating || r->updated != r->n->active + r->n->finished || c->update.old_going > 0)
        return;
    if (c->update.labelled)
        jw_put_str(w, "currentPodCliqueSetGenerationHash", c->update.set_hash);
    jw_put_str(w, "currentPodTemplateHash", r->target);
}

/* ---- names ---- */

/* Something came, went or moved on since the status was written. */
static bool has_moved(const struct tally *n, jval old)
{
    return n->active + n->finished != jint(jgetc(old, "replicas"), 0) ||
           n->ready != jint(jgetc(old, "readyReplicas"), 0) ||
           n->gated != jint(jgetc(old, "scheduleGatedReplicas"), 0) ||
           n->scheduled != jint(jgetc(old, "scheduledReplicas"), 0);
}

/* Which names are used up. Whoever is told of new numbers is told of this too; it is no reason for
 * a write of its own, as caches remember what went until it is told. */
static void write_fills(struct jw *w, const struct clique_work *c, jval old)
{
    struct fills f;
    if (!has_moved(c->tally, old))
        return;
    fills_read(&f, jstr(jgetc(old, "podsPerIndex")));
    struct cache_iter it = world_owned(c->world, &kind_pod, c->pclq->uid);
    for (const struct obj *pod; (pod = cache_next(&it));) {
        unsigned n;
        int64_t index = pod_index(pod);
        if (name_pod_number(pod->name, c->pclq->uid, index, &n))
            fills_note(&f, index, n + 1);
    }
    str text = fills_text(&f, c->plan->arena);
    if (!str_is_empty(text))
        jw_put_str(w, "podsPerIndex", text);
    fills_done(&f);
}

/* ---- plan ---- */

/* An update goes by what cliques say; else they only tell. */
static bool is_acted_on(const struct clique_work *c, const struct report *r)
{
    return c->slots || r->updating || r->held || c->update.starts || c->update.ends;
}

void pclq_plan_status(struct clique_work *c)
{
    struct condition conditions[N_CONDITIONS];
    unsigned stage = errors_status_stage(c->world, c->pclq, STAGE_ERRORS, STAGE_STATUS);
    bool told = j_has(jgetc(obj_status(c->pclq), "observedGeneration"));
    if (c->unsettled && !told && stage == STAGE_STATUS)
        return;
    struct report r = report_of(c);
    jval old = obj_status(c->pclq);
    size_t n = conditions_of(c, &r, conditions);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_int(&w, "observedGeneration", c->pclq->generation);
    jw_put_int(&w, "replicas", r.n->active + r.n->finished);
    jw_put_int(&w, "readyReplicas", r.n->ready);
    jw_put_int(&w, "updatedReplicas", r.updated);
    jw_put_int(&w, "scheduleGatedReplicas", r.n->gated);
    jw_put_int(&w, "scheduledReplicas", r.n->scheduled);
    if (c->update.old_going > 0 || j_has(jgetc(old, "terminatingOutdatedReplicas")))
        jw_put_int(&w, "terminatingOutdatedReplicas", c->update.old_going);
    if (str_is_empty(obj_label(c->pclq, STR(LABEL_PCSG))))
        jw_put_str(&w, "hpaPodSelector", clique_selector(c));
    write_fills(&w, c, old);
    write_hashes(&w, c, &r);
    update_write_clique(c, &w);
    if (c->slots)
        gangmap_write_mapping(c->world, c->plan->arena, c->pcs, c->pclq, &w);
    (void)errors_write(&w, c->plan, c->world, c->pclq, codes, ARRAY_LEN(codes), NULL);
    make_conditions(&w, jgetc(old, "conditions"), conditions, n, c->world->now);
    jw_end(&w);
    /* An update that takes them is no loss. */
    if (jint(jgetc(old, "scheduledReplicas"), 0) > 0 && r.n->scheduled == 0 && !r.updating &&
        !r.held)
        plan_event(c->plan, c->pclq, true, STR("AllScheduledReplicasLost"),
                   "none of %lld pods is on a node any more; %lld are needed",
                   (long long)c->spec.replicas, (long long)c->spec.min_available);
    struct plan_write *write = make_status(c->plan, stage, c->pclq, jw_doc(&w));
    if (!write)
        return;
    write->patient = stage == STAGE_STATUS && !is_acted_on(c, &r);
    bool arriving = r.n->ready < c->spec.replicas &&
                    !condition_is_true(jgetc(old, "conditions"), STR(CONDITION_WAS_SCHEDULED));
    write->patience = arriving ? CLIQUE_PATIENCE : 0;
}

void pclq_plan_undeclared(const struct world *w, const struct obj *pclq, struct plan *p)
{
    make_undeclared(w, pclq, "spec.template.cliques", p, STAGE_STATUS);
}
