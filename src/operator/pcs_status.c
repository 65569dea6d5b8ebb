/*
 * What a PodCliqueSet's children amount to: its status, and gang termination of its replicas. This
 * half of the set's planner runs whenever a child's status changes; it reads numbers kept by the
 * rollup, and single objects only where something is wrong.
 *
 * A replica is available when every expected child is there and has its minimum; updated, when it
 * is available and all its children are of the revision the set is of. observedGeneration is
 * written when every child of that generation exists and is labelled with its hashes.
 */
#include "operator/clique.h"
#include "operator/mnnvl.h"
#include "operator/operator.h"
#include "operator/revisions.h"
#include "operator/rollup.h"
#include "operator/termination.h"
#include "operator/topology.h"

enum {
    STAGE_TERMINATION, /* and the next two */
    STAGE_STATUS = 10,
    MAX_GANGS = 64, /* listed in a status */
    MAX_ERRORS = 10,
};

struct set_work {
    const struct world *world;
    struct plan *plan;
    const struct obj *pcs;
    struct pcs_view set;
    const struct obj *revision; /* NULL: not stored yet */
    str hash;
    /* Per replica: children it should have, and what their hashes add up to. */
    uint32_t n_cliques, n_groups;
    uint64_t clique_sum, group_sum;
    /* Found. */
    int64_t available, updated, complete, labelled;
};

static void expect_children(struct set_work *s)
{
    for (struct jiter it = jiter(s->set.cliques); jnext(&it);) {
        struct group_view g;
        str name = jstr(jgetc(it.value, "name"));
        if (pcs_group_of(&s->set, name, &g))
            continue;
        s->n_cliques++;
        s->clique_sum += rollup_hash(revision_clique_hash(s->revision, name));
    }
    s->n_groups = (uint32_t)jlen(s->set.scaling_groups);
    s->group_sum = s->n_groups * rollup_hash(s->hash);
}

static void count_replicas(struct set_work *s)
{
    const struct rollup *cliques = rollup_of(s->world, &kind_pclq, s->pcs->uid);
    const struct rollup *groups = rollup_of(s->world, &kind_pcsg, s->pcs->uid);
    int64_t seen = (int64_t)MAX(cliques->replicas.len, groups->replicas.len);
    for (int64_t i = 0; i < MIN(s->set.replicas, seen); i++) {
        struct rollup_replica c = rollup_at(cliques, i), g = rollup_at(groups, i);
        bool complete = c.children == s->n_cliques && g.children == s->n_groups;
        bool labelled = complete && c.revision == s->clique_sum;
        bool available = complete && c.available == s->n_cliques && g.available == s->n_groups;
        s->complete += complete;
        s->labelled += labelled;
        s->available += available;
        s->updated +=
            available && labelled && c.updated == s->n_cliques && g.revision == s->group_sum;
    }
}

/* ---- phase ---- */

static bool is_updating(const struct obj *pcs)
{
    jval progress = jgetc(obj_status(pcs), "updateProgress");
    return j_has(progress) && !j_has(jgetc(progress, "updateEndedAt"));
}

/* Whether it was ever up is in the phase it had before. */
static const char *phase_of(const struct set_work *s, size_t n_errors)
{
    static const char *const was_up[] = {"Available", "Degraded", "Unavailable", "Updating"};
    str before = jstr(jgetc(obj_status(s->pcs), "phase"));
    if (is_updating(s->pcs))
        return "Updating";
    if (s->set.replicas > 0 && s->available >= s->set.replicas)
        return "Available";
    for (size_t i = 0; i < ARRAY_LEN(was_up); i++) {
        if (str_is(before, was_up[i]) && s->set.replicas > 0)
            return s->available > 0 ? "Degraded" : "Unavailable";
    }
    if (n_errors > 0)
        return "Failed";
    return s->complete < s->set.replicas || s->set.replicas == 0 ? "Pending" : "Scheduling";
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

struct problem {
    const char *code;
    str text;
};

typedef VEC(struct problem) problem_vec;

static void find_foreign(const struct set_work *s, const struct kind *k, str name, const char *code,
                         problem_vec *ret)
{
    const struct obj *o = world_get(s->world, k, s->pcs->ns, name);
    if (!o || str_eq(o->owner_uid, s->pcs->uid) || ret->len >= MAX_ERRORS)
        return;
    jval ref = obj_controller_ref(o);
    str text = arena_printf(s->plan->arena, "%s %.*s cannot be made: the name belongs to %.*s %.*s",
                            k->kind, STR_ARG(name), STR_ARG(jstr(jgetc(ref, "kind"))),
                            STR_ARG(jstr(jgetc(ref, "name"))));
    *vec_push(ret) = (struct problem){code, text};
}

/* What stands in the way of children that are missing. */
static void find_problems(const struct set_work *s, problem_vec *ret)
{
    struct arena *a = s->plan->arena;
    find_foreign(s, &kind_secret, name_initc_secret(a, s->pcs->name), "ERR_SECRET_CONFLICT", ret);
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

static jval known_error(jval errors, const struct problem *problem)
{
    for (struct jiter it = jiter(errors); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "description")), problem->text))
            return it.value;
    }
    return JVAL_ABSENT;
}

/* An error keeps the time it was first seen; an empty list replaces one that has been cured. */
static void write_errors(const struct set_work *s, struct jw *w, const problem_vec *problems)
{
    jval old = jgetc(obj_status(s->pcs), "lastErrors");
    if (problems->len == 0 && jlen(old) == 0)
        return;
    struct strbuf now = STRBUF_INIT(64);
    time_format_rfc3339(s->world->now, &now);
    jw_put_array(w, "lastErrors");
    for (size_t i = 0; i < problems->len; i++) {
        jval known = known_error(old, &problems->p[i]);
        if (!j_is_absent(known)) {
            jw_val(w, known);
            continue;
        }
        jw_object(w);
        jw_put_cstr(w, "code", problems->p[i].code);
        jw_put_str(w, "description", problems->p[i].text);
        jw_put_str(w, "observedAt", strbuf_str(&now));
        jw_end(w);
    }
    jw_end(w);
    strbuf_done(&now);
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

static void plan_status(struct set_work *s)
{
    problem_vec problems = {0};
    struct condition conditions[] = {topology_condition(s->world, s->pcs, s->plan->arena),
                                     mnnvl_condition(s->world, s->pcs, s->plan)};
    bool observed = s->revision && s->labelled == s->set.replicas;
    struct jw w;
    find_problems(s, &problems);
    jw_init(&w);
    jw_object(&w);
    if (observed)
        jw_put_int(&w, "observedGeneration", s->pcs->generation);
    jw_put_int(&w, "replicas", s->set.replicas);
    jw_put_int(&w, "availableReplicas", s->available);
    jw_put_int(&w, "updatedReplicas", s->updated);
    jw_put_str(&w, "hpaPodSelector", pod_selector(s->plan->arena, s->pcs->name));
    if (s->revision)
        jw_put_str(&w, "currentGenerationHash", s->hash);
    jw_put_cstr(&w, "phase", phase_of(s, problems.len));
    write_errors(s, &w, &problems);
    write_gangs(s, &w);
    make_conditions(&w, jgetc(obj_status(s->pcs), "conditions"), conditions, ARRAY_LEN(conditions),
                    s->world->now);
    jw_end(&w);
    make_status(s->plan, STAGE_STATUS, s->pcs, jw_doc(&w));
    vec_done(&problems);
}

void pcs_status_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *pcs = world_get(w, &kind_pcs, key->ns, key->name);
    (void)ctx;
    /* Until the finalizer is on it, the other half of the planner is about to write it. */
    if (!pcs || pcs->deleting || !obj_has_finalizer(pcs, STR(FINALIZER_PCS)))
        return;
    struct set_work s = {.world = w, .plan = p, .pcs = pcs};
    pcs_view(pcs, &s.set);
    s.revision = revisions_current(w, pcs, p->arena);
    s.hash = s.revision ? revision_generation_hash(s.revision) : STR_NONE;
    if (s.revision)
        expect_children(&s);
    count_replicas(&s);
    if (!termination_plan_set(w, pcs, STAGE_TERMINATION, p))
        plan_status(&s);
}
