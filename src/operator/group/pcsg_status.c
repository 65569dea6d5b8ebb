/*
 * What the members of a scaling group amount to: its status, and gang termination of its replicas.
 * Runs whenever a member's status changes, on numbers kept by the rollup.
 */
#include "operator/common/errors.h"
#include "operator/common/gangmap_world.h"
#include "operator/common/phase.h"
#include "operator/common/replica_failure.h"
#include "operator/common/revisions.h"
#include "operator/common/rollup.h"
#include "operator/common/standing.h"
#include "operator/common/termination.h"
#include "operator/common/update.h"
#include "operator/group/group.h"
#include "operator/group/update_group.h"
#include "operator/operator.h"

enum {
    STAGE_ERRORS,          /* a status that tells of them does not wait for what fails */
    STAGE_TERMINATION = 1, /* and the next two */
    STAGE_UPDATE = 4,      /* and the next */
    STAGE_STATUS = 10,
    N_CONDITIONS = 6,
};

struct group_counts {
    int64_t complete, scheduled, available, updated, sound;
    /* Those above the number wanted left out: */
    int64_t realised; /* all members' labels and pods are of the present revision */
    int64_t own_scheduled, own_available;
    int64_t above;        /* the number wanted */
    int64_t placed_above; /* of those, from the lowest on */
    int64_t ever;         /* live members that had their minimum on nodes once */
    int64_t members;      /* of the present revision, with all their pods */
    bool updating;        /* its replica of the set is at work, or its own pass is not over */
};

static struct group_counts count_replicas(const struct group_work *g)
{
    struct group_counts n = {0};
    const struct rollup *r = rollup_of(g->world, &kind_pclq, g->pcsg->uid);
    uint32_t members = (uint32_t)jlen(g->spec.clique_names);
    uint64_t sum = 0;
    for (struct jiter it = jiter(g->spec.clique_names); g->revision && jnext(&it);)
        sum += rollup_hash(revision_clique_hash(g->revision, jstr(it.value)));
    for (int64_t j = 0; j < MIN(g->top, (int64_t)r->replicas.len); j++) {
        if (!group_wants(g, j))
            continue;
        struct rollup_replica m = rollup_at(r, j);
        bool complete = m.children == members;
        bool scheduled = complete && m.scheduled == members;
        bool available = scheduled && m.available == members;
        bool current = complete && g->revision && m.revision == sum && m.updated == members;
        n.complete += complete;
        n.scheduled += scheduled;
        n.available += available;
        n.updated += available && current;
        n.sound += complete && m.sound == members;
        n.ever += m.ever;
        if (group_is_above(g, j)) {
            n.placed_above += scheduled && n.placed_above == n.above;
            n.above++;
            continue;
        }
        n.own_scheduled += scheduled;
        n.own_available += available;
        n.realised += current;
        n.members += g->revision && m.revision == sum ? m.updated : 0;
    }
    return n;
}

static const struct error_code codes[] = {
    {PLAN_CREATE, &kind_pclq, "ERR_CREATE_PODCLIQUE", "PodCliqueCreateFailed"},
    {PLAN_DELETE, &kind_pclq, "ERR_DELETE_PODCLIQUE", "PodCliqueScalingGroupReplicaDeleteFailed"},
    {ERROR_ANY_OP, &kind_pclq, "ERR_CREATE_OR_UPDATE_PODCLIQUES", "PodCliqueCreateOrUpdateFailed"},
    {ERROR_ANY_OP, &kind_resource_claim, "ERR_SYNC_PCSG_RESOURCE_CLAIM", NULL},
    {ERROR_ANY_OP, &kind_pcsg, "ERR_UPDATE_STATUS", NULL},
};

static const char *breach_status(const struct group_work *g, const struct group_counts *n)
{
    return n->updating ? "Unknown" : n->sound < g->spec.min_available ? "True" : "False";
}

static struct condition breach_condition(const struct group_work *g, const struct group_counts *n)
{
    const char *status = breach_status(g, n);
    const char *reason = status[0] == 'U'   ? "UpdateInProgress"
                         : status[0] == 'T' ? "InsufficientAvailablePodCliqueScalingGroupReplicas"
                                            : "SufficientAvailablePodCliqueScalingGroupReplicas";
    return (struct condition){"MinAvailableBreached", status, reason,
                              arena_printf(g->plan->arena,
                                           "%lld of %lld replicas are sound, %lld are needed",
                                           (long long)n->sound, (long long)g->spec.replicas,
                                           (long long)g->spec.min_available)};
}

/* Beside the breach: the mark that it was healthy once, which stays, and the one that a breach has
 * been answered, which goes with the breach. A breach is answered when none of the members there
 * are now ever had its minimum: all were made anew since. */
static size_t conditions_of(const struct group_work *g, const struct group_counts *n,
                            struct condition ret[N_CONDITIONS])
{
    const struct standing standing = {.of = g->pcsg,
                                      .what = "replicas are available",
                                      .wanted = g->spec.replicas,
                                      .there = n->own_available,
                                      .needed = g->spec.min_available,
                                      .updating = n->updating,
                                      .updated = n->realised};
    bool was_healthy = group_was_healthy(g->pcsg);
    size_t len = 0;
    ret[len++] = breach_condition(g, n);
    char status = ret[0].status[0];
    if (was_healthy || status == 'F')
        ret[len++] = (struct condition){CONDITION_EVER_HEALTHY, "True", "MinimumWasAvailable",
                                        STR("its minimum has been there")};
    if (status == 'F')
        ret[len++] = (struct condition){.type = CONDITION_TERMINATING};
    else if (status == 'T' && was_healthy && n->ever == 0 && g->spec.replicas > 0)
        ret[len++] =
            (struct condition){CONDITION_TERMINATING, "True", "GangTerminationActive",
                               STR("its members are made anew and have not had their minimum yet")};
    ret[len++] = standing_available(&standing, g->plan->arena);
    ret[len++] = standing_progressing(&standing, g->plan->arena);
    ret[len++] = failure_of_owner(
        g->world, g->plan->arena, g->pcsg,
        errors_summary(g->plan->arena, g->world, g->pcsg, codes, ARRAY_LEN(codes), NULL));
    return len;
}

/* A group that another operator kept has conditions and no phase. A breach counts from the first
 * sound pods on, which are not ready yet; so what was available is told by the phase. */
static const char *phase_now(const struct group_work *g, const struct group_counts *n)
{
    enum phase from = phase_of(g->pcsg);
    if (from == PHASE_NONE && group_was_healthy(g->pcsg))
        from = PHASE_AVAILABLE;
    const struct phase_facts facts = {.none = g->spec.replicas <= 0,
                                      .updating = n->updating,
                                      .available = n->available >= g->spec.min_available,
                                      .lost = from == PHASE_AVAILABLE || from == PHASE_UPDATING ||
                                              from == PHASE_DEGRADED,
                                      .created = n->complete >= g->spec.replicas};
    return phase_word(&kind_pcsg, phase_step(from, phase_goal(&facts)));
}

static str group_selector(const struct group_work *g)
{
    struct labels l;
    struct arena *a = g->plan->arena;
    labels_init(&l, a);
    labels_set(&l, LABEL_MANAGED_BY, STR(MANAGED_BY_GROVE));
    labels_set(&l, LABEL_PART_OF, name_label(a, g->pcs->name));
    labels_set(&l, LABEL_PCSG, name_label(a, g->pcsg->name));
    return labels_selector(&l);
}

/* The generation that all replicas are of. What was written is so no more when the template was
 * another one for a while, or when replicas of another one were added before a pass began (in a
 * pause, say): were it left, the set would believe it when its template is the old one again. */
static void write_generation(const struct group_work *g, const struct group_counts *n,
                             const struct group_update *u, struct jw *w)
{
    static const char key[] = "currentPodCliqueSetGenerationHash";
    jval old = jgetc(obj_status(g->pcsg), key);
    if (!g->revision)
        return;
    str hash = revision_generation_hash(g->revision);
    if (n->realised == g->spec.replicas && !u->running) {
        jw_put_str(w, key, hash);
    } else if (j_has(old) && u->outdated &&
               (str_eq(jstr(old), hash) || (!u->running && n->realised > 0))) {
        jw_key(w, str_of(key));
        jw_null(w);
    }
}

static void plan_status(const struct group_work *g, const struct group_counts *n,
                        const struct group_update *u)
{
    struct condition conditions[N_CONDITIONS];
    size_t n_conditions = conditions_of(g, n, conditions);
    jval old = obj_status(g->pcsg);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_int(&w, "observedGeneration", g->pcsg->generation);
    jw_put_int(&w, "replicas", g->spec.replicas);
    jw_put_int(&w, "scheduledReplicas", n->scheduled);
    jw_put_int(&w, "availableReplicas", n->available);
    jw_put_int(&w, "updatedReplicas", n->updated);
    jw_put_str(&w, "selector", group_selector(g));
    jw_put_cstr(&w, "phase", phase_now(g, n));
    write_generation(g, n, u, &w);
    update_write_group(g, u, &w);
    gangmap_write_mapping(g->world, g->plan->arena, g->pcs, g->pcsg, &w);
    (void)errors_write(&w, g->plan, g->world, g->pcsg, codes, ARRAY_LEN(codes), NULL);
    make_conditions(&w, jgetc(old, "conditions"), conditions, n_conditions, g->world->now);
    jw_end(&w);
    make_scaled_event(g->plan, g->pcsg, g->spec.replicas, "PodCliqueScalingGroupScaled");
    /* An update that takes them is no loss. */
    if (jint(jgetc(old, "scheduledReplicas"), 0) > 0 && n->scheduled == 0 && g->spec.replicas > 0 &&
        !n->updating)
        plan_event(g->plan, g->pcsg, true, STR("AllScheduledReplicasLost"),
                   "none of %lld replicas is on nodes any more; %lld are needed",
                   (long long)g->spec.replicas, (long long)g->spec.min_available);
    make_status(g->plan, errors_status_stage(g->world, g->pcsg, STAGE_ERRORS, STAGE_STATUS),
                g->pcsg, jw_doc(&w));
}

void pcsg_status_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *pcsg = world_get(w, &kind_pcsg, key->ns, key->name);
    struct group_work g;
    (void)ctx;
    if (pcsg && !pcsg->deleting && j_is_absent(obj_controller_ref(pcsg))) {
        make_undeclared(w, pcsg, "spec.template.podCliqueScalingGroups", p, STAGE_STATUS);
        return;
    }
    if (!group_work_init(&g, w, key, p) || !obj_has_finalizer(g.pcsg, STR(FINALIZER_PCSG)))
        return;
    struct group_counts n = count_replicas(&g);
    struct group_update u = {.realised = n.realised,
                             .available = n.available,
                             .own_available = n.own_available,
                             .placed_above = n.placed_above,
                             .unscheduled = MAX(g.spec.replicas, 0) - n.own_scheduled,
                             .updated_members = n.members};
    update_decide_group(&g, &u);
    n.updating = u.running || update_holds(g.pcs, g.pcs_index);
    /* With fewer, the replica of the set is in breach, and its planner decides. */
    if (n.sound >= g.spec.min_available && !n.updating)
        termination_plan_group(w, g.pcs, g.pcsg, STAGE_TERMINATION, p);
    update_plan_group(&g, &u, STAGE_UPDATE);
    plan_status(&g, &n, &u);
}
