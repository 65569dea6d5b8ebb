/*
 * The PodGang planner, one gang at a time: which groups belong to it, which pods stand for them,
 * and how far it has come. A gang exists as long as a clique says it belongs to it.
 *
 * Initialized: all pods of all groups exist; once true it stays (later pods join one by one).
 * Scheduled:   every group has had its minimum on nodes; once true it stays.
 * Ready:       every group has its minimum ready, now.
 * These and the phase are ours, written by server-side apply; what the scheduler says about the
 * gang is written by the scheduler under its own name.
 */
#include "operator/clique.h"
#include "operator/operator.h"
#include "operator/pod.h"

enum { STAGE_SPEC, STAGE_STATUS, MAX_GROUPS = 10000 };
#define MANAGER "podgang-controller"

struct gang_work {
    const struct world *world;
    struct plan *plan;
    const struct obj *pcs;
    const struct obj *gang; /* NULL: to be made */
    str name;
    struct pcs_view set;
    int64_t pcs_index;
    const struct obj *pcsg; /* scaled gang: the group whose replica it is */
    int64_t group_index;
    /* what was seen on the way through the pods */
    bool complete, scheduled, ready, any_scheduled;
    int64_t pods, wanted;
};

/* A clique of this gang, by the label index; the label may be shortened, so the name is checked. */
static const struct obj *any_clique(const struct world *w, unsigned index, const struct key *key,
                                    struct arena *a)
{
    struct obj *o;
    str ikey = arena_printf(a, "%.*s/%.*s", STR_ARG(key->ns), STR_ARG(name_label(a, key->name)));
    for (struct cache_iter it = cache_by(world_cache(w, &kind_pclq), index, ikey);
         (o = cache_next(&it));) {
        str base;
        if (!o->deleting && str_eq(clique_gang(a, w, o, &base), key->name))
            return o;
    }
    return NULL;
}

/* ---- spec ---- */

static void write_references(struct gang_work *g, struct jw *w, const struct obj *pclq, int64_t min)
{
    int64_t n = 0, scheduled = 0, ready = 0;
    int64_t want = pclq ? jint(jgetc(obj_spec(pclq), "replicas"), 0) : min;
    struct obj *pod;
    struct cache_iter it = world_owned(g->world, &kind_pod, pclq ? pclq->uid : STR_NONE);
    jw_put_array(w, "podReferences");
    while (pclq && (pod = cache_next(&it))) {
        if (pod->deleting)
            continue;
        jw_object(w);
        jw_put_str(w, "name", pod->name);
        jw_put_str(w, "namespace", pod->ns);
        jw_end(w);
        n++;
        scheduled += pod_is_scheduled(pod);
        ready += pod_is_ready(pod);
    }
    jw_end(w);
    g->complete = g->complete && pclq && n >= want;
    g->scheduled = g->scheduled && scheduled >= min;
    g->ready = g->ready && ready >= min;
    g->any_scheduled = g->any_scheduled || scheduled > 0;
    g->pods += n;
    g->wanted += want;
}

static void write_group(struct gang_work *g, struct jw *w, str pclq_name,
                        const struct clique_view *clique)
{
    const struct obj *pclq = world_get(g->world, &kind_pclq, g->pcs->ns, pclq_name);
    if (pclq && pclq->deleting)
        pclq = NULL;
    jw_object(w);
    jw_put_int(w, "minReplicas", clique->min_available);
    jw_put_str(w, "name", pclq_name);
    write_references(g, w, pclq, clique->min_available);
    jw_end(w);
}

static void write_members(struct gang_work *g, struct jw *w, str pcsg, jval clique_names, int64_t j)
{
    for (struct jiter it = jiter(clique_names); jnext(&it);) {
        struct clique_view clique;
        if (pcs_find_clique(&g->set, jstr(it.value), &clique))
            write_group(g, w, name_member_pclq(g->plan->arena, pcsg, j, clique.name), &clique);
    }
}

/* Standalone cliques in template order, then each group's replicas below its minimum. */
static void write_base_groups(struct gang_work *g, struct jw *w)
{
    struct arena *a = g->plan->arena;
    for (struct jiter it = jiter(g->set.cliques); jnext(&it);) {
        struct clique_view clique;
        struct group_view group;
        clique_view(it.value, &clique);
        if (!pcs_group_of(&g->set, clique.name, &group))
            write_group(g, w, name_pclq(a, g->pcs->name, g->pcs_index, clique.name), &clique);
    }
    for (struct jiter it = jiter(g->set.scaling_groups); jnext(&it);) {
        struct group_view group;
        group_view(it.value, &group);
        str pcsg = name_pcsg(a, g->pcs->name, g->pcs_index, group.name);
        for (int64_t j = 0; j < group.min_available; j++)
            write_members(g, w, pcsg, group.clique_names, j);
    }
}

static str scheduler_name(const struct gang_work *g)
{
    for (struct jiter it = jiter(g->set.cliques); jnext(&it);) {
        str name = jstr(jpath(it.value, "spec.podSpec.schedulerName"));
        if (!str_is_empty(name))
            return name;
    }
    return STR("default-scheduler");
}

/* Labels and annotations of the set carry over, except Grove's own. */
static void mirror(struct labels *l, jval map)
{
    for (struct jiter it = jiter(map); jnext(&it);) {
        if (!str_starts(it.key, STR("grove.io/")) &&
            !str_is(it.key, "kubectl.kubernetes.io/last-applied-configuration"))
            labels_put(l, it.key, jstr(it.value));
    }
}

static struct doc *make_gang(struct gang_work *g)
{
    struct arena *a = g->plan->arena;
    struct labels l, annotations;
    labels_init(&l, a);
    mirror(&l, g->pcs->labels);
    labels_common(&l, g->pcs->name, "podgang");
    labels_set(&l, LABEL_SCHEDULER, scheduler_name(g));
    if (g->pcsg)
        labels_set(&l, LABEL_PCSG, name_label(a, g->pcsg->name));
    labels_init(&annotations, a);
    mirror(&annotations, g->pcs->annotations);
    struct jw w;
    make_begin(&w, &(struct make_meta){&kind_pod_gang, g->pcs->ns, g->name, &l, &annotations,
                                       g->pcs, NULL});
    jw_put_object(&w, "spec");
    jw_put_array(&w, "podgroups");
    if (g->pcsg)
        write_members(g, &w, g->pcsg->name, jgetc(obj_spec(g->pcsg), "cliqueNames"),
                      g->group_index);
    else
        write_base_groups(g, &w);
    jw_end(&w);
    if (!str_is_empty(g->set.priority_class))
        jw_put_str(&w, "priorityClassName", g->set.priority_class);
    jw_end(&w);
    return make_end(&w);
}

/* ---- status ---- */

static bool was_true(const struct gang_work *g, const char *type)
{
    return g->gang && condition_is_true(jgetc(obj_status(g->gang), "conditions"), str_of(type));
}

static void gang_conditions(struct gang_work *g, struct condition c[3])
{
    bool created = g->complete || was_true(g, "Initialized");
    bool scheduled = g->scheduled || was_true(g, "Scheduled");
    str pods = arena_printf(g->plan->arena, "%lld of %lld pods exist", (long long)g->pods,
                            (long long)g->wanted);
    c[0] = (struct condition){"Initialized", created ? "True" : "False",
                              created ? "PodGangPodsCreated" : "PodGangPodsCreationPending",
                              created ? STR("all pods of the gang were created") : pods};
    c[1] = (struct condition){"Scheduled", scheduled ? "True" : "False",
                              scheduled ? "MinimumPlaced" : "WaitingForPlacement",
                              scheduled ? STR("every group had its minimum on nodes")
                                        : STR("some group lacks its minimum on nodes")};
    c[2] = (struct condition){"Ready", g->ready ? "True" : "False",
                              g->ready ? "MinimumReady" : "WaitingForPods",
                              g->ready ? STR("every group has its minimum ready")
                                       : STR("some group lacks its minimum ready")};
}

/* Ours are as wanted already: applying them again would change nothing. *ret_messages: nothing but
 * messages differs, which is no hurry. */
static bool is_current(const struct gang_work *g, const struct condition *c, size_t n,
                       const char *phase, bool *ret_messages)
{
    jval status = obj_status(g->gang);
    bool same = true;
    *ret_messages = str_is(jstr(jgetc(status, "phase")), phase);
    for (size_t i = 0; i < n; i++) {
        jval old = condition_find(jgetc(status, "conditions"), str_of(c[i].type));
        if (!str_is(jstr(jgetc(old, "status")), c[i].status) ||
            !str_is(jstr(jgetc(old, "reason")), c[i].reason))
            *ret_messages = false;
        same = same && str_eq(jstr(jgetc(old, "message")), c[i].message);
    }
    return same && *ret_messages;
}

/* Only our own types: the others belong to their writers. */
static void write_own_conditions(struct gang_work *g, struct jw *w, const struct condition *c,
                                 size_t n)
{
    struct jw old;
    jval there = jgetc(obj_status(g->gang), "conditions");
    jw_init(&old);
    jw_array(&old);
    for (size_t i = 0; i < n; i++) {
        jval v = condition_find(there, str_of(c[i].type));
        if (!j_is_absent(v))
            jw_val(&old, v);
    }
    jw_end(&old);
    struct doc *d = jw_doc(&old);
    make_conditions(w, doc_root(d), c, n, g->world->now);
    doc_unref(d);
}

static void plan_status(struct gang_work *g)
{
    struct condition c[3];
    const char *phase = g->ready ? "Running" : g->any_scheduled ? "Starting" : "Pending";
    gang_conditions(g, c);
    bool messages;
    if (is_current(g, c, ARRAY_LEN(c), phase, &messages))
        return;
    struct jw w;
    make_begin(&w,
               &(struct make_meta){&kind_pod_gang, g->pcs->ns, g->name, NULL, NULL, NULL, NULL});
    jw_put_object(&w, "status");
    jw_put_cstr(&w, "phase", phase);
    write_own_conditions(g, &w, c, ARRAY_LEN(c));
    jw_end(&w);
    plan_apply(g->plan, STAGE_STATUS, &kind_pod_gang, g->pcs->ns, g->name, STR("status"),
               STR(MANAGER), make_end(&w))
        ->counts_only = messages;
}

/* ---- plan ---- */

/* A gang goes when the clique it begins with is gone for good. That a cache lacks its cliques, or
 * their owners, proves nothing: cliques that are there, or going, are waited for. */
static void plan_gone(const struct world *w, const struct key *key, struct plan *p)
{
    const struct obj *gang = world_get(w, &kind_pod_gang, key->ns, key->name);
    /* A gang somebody wrote by hand is theirs. */
    if (!gang || gang->deleting ||
        !str_is(obj_label(gang, STR(LABEL_MANAGED_BY)), MANAGED_BY_GROVE))
        return;
    jval groups = jpath(obj_root(gang), "spec.podgroups");
    for (struct jiter it = jiter(groups); jnext(&it);) {
        if (world_get(w, &kind_pclq, key->ns, jstr(jgetc(it.value, "name"))))
            return;
    }
    struct plan_write *write = plan_delete(p, STAGE_SPEC, gang);
    plan_why(write, p, "no clique belongs to it any more");
    if (jlen(groups) > 0)
        plan_verify_absent(write, &kind_pclq, key->ns, jstr(jgetc(jat(groups, 0), "name")),
                           STR_NONE);
}

/* More groups than an object can hold: the numbers of the set make no sense, and it is told. */
static bool is_too_large(const struct gang_work *g)
{
    int64_t groups = (int64_t)jlen(g->set.cliques);
    for (struct jiter it = jiter(g->pcsg ? JVAL_ABSENT : g->set.scaling_groups);
         groups <= MAX_GROUPS && jnext(&it);) {
        struct group_view group;
        group_view(it.value, &group);
        groups += group.min_available * (int64_t)jlen(group.clique_names);
    }
    if (groups <= MAX_GROUPS)
        return false;
    plan_event(g->plan, g->pcs, true, STR("PodGangTooLarge"),
               "gang %.*s would have %lld groups of pods; %d are possible", STR_ARG(g->name),
               (long long)groups, MAX_GROUPS);
    return true;
}

void gang_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    unsigned index = *(const unsigned *)ctx;
    const struct obj *pclq = any_clique(w, index, key, p->arena);
    if (!pclq) {
        plan_gone(w, key, p);
        return;
    }
    struct gang_work g = {.world = w,
                          .plan = p,
                          .pcs = owner_pcs(w, pclq),
                          .gang = world_get(w, &kind_pod_gang, key->ns, key->name),
                          .name = key->name,
                          .complete = true,
                          .scheduled = true,
                          .ready = true};
    if (!g.pcs || g.pcs->deleting || (g.gang && g.gang->deleting))
        return;
    str base;
    str name = clique_gang(p->arena, w, pclq, &base);
    pcs_view(g.pcs, &g.set);
    g.name = name;
    g.pcs_index = label_index(pclq, STR(LABEL_PCS_INDEX));
    if (!str_is_empty(base)) {
        g.pcsg = world_get(w, &kind_pcsg, key->ns, jstr(jgetc(obj_controller_ref(pclq), "name")));
        g.group_index = label_index(pclq, STR(LABEL_PCSG_INDEX));
    }
    if (is_too_large(&g))
        return;
    make_ensure(p, STAGE_SPEC, w, g.pcs, g.gang, &kind_pod_gang, name, make_gang(&g));
    if (g.gang && str_eq(g.gang->owner_uid, g.pcs->uid))
        plan_status(&g);
}
