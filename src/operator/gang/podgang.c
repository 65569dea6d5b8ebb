/*
 * The PodGang planner, one gang at a time: which groups belong to it, which pods stand for them,
 * how close together they must be, and how far it has come (gang_status.c). A gang exists as long
 * as its set and its scaling group want its replica; that its cliques are being made anew does not
 * end it. When its replica goes it goes with its cliques, before their pods do.
 *
 * Pods of a new gang come one after the other, and nobody can do anything with it before the last
 * one is there. So it is made at once where nobody else writes, but after its pods, and complete,
 * where many do; and for the first moments, once it has said that it waits for them, it is left
 * alone until it is complete: one write instead of one for every few pods.
 */
#include "grove/pod.h"
#include "operator/common/backend.h"
#include "operator/common/clique.h"
#include "operator/common/errors.h"
#include "operator/common/surge.h"
#include "operator/common/tally.h"
#include "operator/common/update.h"
#include "operator/gang/gang.h"
#include "operator/operator.h"

enum { MAX_GROUPS = 10000 };
#define FILLING (10 * USEC_PER_SEC)
/* How long a gang is not made because its pods are on their way. */
#define PODS_PATIENCE (30 * USEC_PER_SEC)

/* A clique of this gang, by the label index; the label may be shortened, so the name is checked. */
static const struct obj *any_clique(const struct world *w, const struct key *key, struct arena *a)
{
    struct obj *o;
    str ikey = arena_printf(a, "%.*s/%.*s", STR_ARG(key->ns), STR_ARG(name_label(a, key->name)));
    for (struct cache_iter it = cache_by(world_cache(w, &kind_pclq), cliques_by_gang, ikey);
         (o = cache_next(&it));) {
        str base;
        if (!o->deleting && str_eq(clique_gang(a, w, o, &base), key->name))
            return o;
    }
    return NULL;
}

/* ---- spec ---- */

bool gang_holds(const struct gang_work *g, const struct obj *pod)
{
    return !g->entry || str_eq(obj_label(pod, STR(LABEL_PODGANG)), g->label);
}

/* A pod that is not going. Those that were deleted before their gang let them go never stood for
 * anything. */
static void write_references(struct gang_work *g, struct jw *w, const struct obj *pclq)
{
    struct obj *pod;
    struct cache_iter it = world_owned(g->world, &kind_pod, pclq ? pclq->uid : STR_NONE);
    jw_put_array(w, "podReferences");
    while (pclq && (pod = cache_next(&it))) {
        if (pod->deleting || !gang_holds(g, pod))
            continue;
        str node = jstr(jgetc(obj_spec(pod), "nodeName"));
        if (!str_is_empty(node))
            (void)map_put(&g->nodes, node, g);
        jw_object(w);
        jw_put_str(w, "name", pod->name);
        jw_put_str(w, "namespace", pod->ns);
        jw_end(w);
    }
    jw_end(w);
}

/* The tally of a clique counts all its pods; where they are in several gangs they are counted one
 * by one. */
static struct tally count_own(const struct gang_work *g, const struct obj *pclq)
{
    struct tally n = {0};
    struct cache_iter it = world_owned(g->world, &kind_pod, pclq->uid);
    for (struct obj *pod; (pod = cache_next(&it));) {
        if (pod->deleting || !gang_holds(g, pod))
            continue;
        bool finished = pod_is_finished(pod);
        n.finished += finished;
        n.active += !finished;
        n.scheduled += !finished && pod_is_scheduled(pod);
        n.ready += !finished && pod_is_ready(pod);
    }
    return n;
}

/* want: how many pods it holds of the clique; negative: all there are to be. */
static void count_group(struct gang_work *g, str name, const struct obj *pclq, int64_t min,
                        int64_t want)
{
    const struct tally own = g->entry && pclq ? count_own(g, pclq) : (struct tally){0};
    const struct tally *n = g->entry ? &own : tally_of(g->world, pclq ? pclq->uid : STR_NONE);
    int64_t pods = n->active + n->finished;
    if (want < 0)
        want = pclq ? jint(jgetc(obj_spec(pclq), "replicas"), 0) : min;
    jval conditions = pclq ? jgetc(obj_status(pclq), "conditions") : JVAL_ABSENT;
    g->complete = g->complete && pclq && pods >= want;
    g->scheduled = g->scheduled && n->scheduled >= min;
    g->ready = g->ready && n->ready >= min;
    g->any_scheduled = g->any_scheduled || n->scheduled > 0;
    g->replacing = g->replacing || n->scheduled < n->active;
    g->breached = g->breached || condition_is_true(conditions, STR("MinAvailableBreached"));
    if (n->ready < min && str_is_empty(g->short_clique)) {
        g->short_clique = name;
        g->short_ready = n->ready;
        g->short_min = min;
    }
    if (n->scheduled < min && str_is_empty(g->unplaced_clique)) {
        g->unplaced_clique = name;
        g->unplaced_there = n->scheduled;
        g->unplaced_min = min;
    }
    g->ready_pods += n->ready;
    g->min_pods += min;
    g->pods += pods;
    g->wanted += want;
}

/* want: as of count_group; what holds less than the minimum is whole with that. Once a gang was
 * placed, standalone cliques hold nobody back in it any more: pods come and go. */
static void write_group(struct gang_work *g, struct jw *w, str pclq_name,
                        const struct clique_view *clique, jval template, int64_t want)
{
    int64_t min = want < 0 ? clique->min_available : MIN(clique->min_available, want);
    const struct obj *pclq = world_get(g->world, &kind_pclq, g->pcs->ns, pclq_name);
    if (pclq && pclq->deleting)
        pclq = NULL;
    jw_object(w);
    jw_put_int(w, "minReplicas", want >= 0 && gang_was_placed(g) ? 0 : min);
    jw_put_str(w, "name", pclq_name);
    write_references(g, w, pclq);
    topology_write(w, &g->topology, jgetc(template, "topologyConstraint"));
    jw_end(w);
    count_group(g, pclq_name, pclq, min, want);
    *vec_push(&g->members) = (struct gang_member){pclq_name, clique->name};
    g->constrained =
        g->constrained || topology_applies(&g->topology, jgetc(template, "topologyConstraint"));
}

static jval find_named(jval list, str name)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return it.value;
    }
    return JVAL_ABSENT;
}

static void write_members(struct gang_work *g, struct jw *w, str pcsg, jval clique_names, int64_t j)
{
    for (struct jiter it = jiter(clique_names); jnext(&it);) {
        jval template = find_named(g->set.cliques, jstr(it.value));
        struct clique_view clique;
        if (!j_has(template))
            continue;
        clique_view(template, &clique);
        write_group(g, w, name_member_pclq(g->plan->arena, pcsg, j, clique.name), &clique, template,
                    -1);
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
            write_group(g, w, name_pclq(a, g->pcs->name, g->pcs_index, clique.name), &clique,
                        it.value, -1);
    }
    for (struct jiter it = jiter(g->set.scaling_groups); jnext(&it);) {
        struct group_view group;
        group_view(it.value, &group);
        str pcsg = name_pcsg(a, g->pcs->name, g->pcs_index, group.name);
        for (int64_t j = 0; j < group.min_available; j++)
            write_members(g, w, pcsg, group.clique_names, j);
    }
}

/* What the map's entry holds, in the same order. */
static void write_entry_groups(struct gang_work *g, struct jw *w)
{
    struct arena *a = g->plan->arena;
    const struct gangmap_view *v = g->gangs;
    for (size_t c = 0; c < v->map.n_components; c++) {
        const struct gangmap_part *p = &g->entry->parts[c];
        str name = v->components[c].name;
        struct clique_view clique;
        struct group_view group;
        if (p->n > 0 && !v->components[c].is_group) {
            jval template = find_named(g->set.cliques, name);
            clique_view(template, &clique);
            write_group(g, w, name_pclq(a, g->pcs->name, g->pcs_index, name), &clique, template,
                        p->n);
        }
        for (int64_t i = 0; v->components[c].is_group && i < p->n; i++) {
            if (pcs_find_group(&g->set, name, &group))
                write_members(g, w, name_pcsg(a, g->pcs->name, g->pcs_index, name),
                              group.clique_names, p->indices[i]);
        }
    }
}

/* Labels and annotations of the set carry over, except Grove's own. Returns the text with their
 * keys. */
static str mirror(struct labels *l, const char *field, jval map, str keys)
{
    for (struct jiter it = jiter(map); jnext(&it);) {
        if (str_starts(it.key, STR("grove.io/")) ||
            str_is(it.key, "kubectl.kubernetes.io/last-applied-configuration"))
            continue;
        labels_put(l, it.key, jstr(it.value));
        keys = make_mirrored(l->arena, keys, field, it.key);
    }
    return keys;
}

/* ---- constraints ---- */

static jval group_config(const struct gang_work *g, str pcsg)
{
    for (struct jiter it = jiter(g->set.scaling_groups); jnext(&it);) {
        str name =
            name_pcsg(g->plan->arena, g->pcs->name, g->pcs_index, jstr(jgetc(it.value, "name")));
        if (str_eq(name, pcsg))
            return it.value;
    }
    return JVAL_ABSENT;
}

/* A field that is not said any more goes. */
static void write_no_more(const struct gang_work *g, struct jw *w, const char *field)
{
    if (!g->gang || !j_has(jget(obj_spec(g->gang), str_of(field))))
        return;
    jw_key(w, str_of(field));
    jw_null(w);
}

/* A scaled gang is one replica of its group, so the group's constraint is its own; where the group
 * has none, the set's holds. */
static void write_own_constraint(struct gang_work *g, struct jw *w)
{
    jval constraint = jpath(obj_root(g->pcs), "spec.template.topologyConstraint");
    jval of_group =
        g->pcsg ? jgetc(group_config(g, g->pcsg->name), "topologyConstraint") : JVAL_ABSENT;
    if (j_has(of_group))
        constraint = of_group;
    topology_write(w, &g->topology, constraint);
    bool applies = topology_applies(&g->topology, constraint);
    if (!applies)
        write_no_more(g, w, "topologyConstraint");
    g->constrained = g->constrained || applies;
}

static const struct gangmap_part *part_of(const struct gang_work *g, str group)
{
    int64_t c = gangmap_component(g->gangs, group);
    return c < 0 ? NULL : &g->entry->parts[c];
}

static int64_t top_index(const struct gang_work *g, str group)
{
    const struct gangmap_part *p = part_of(g, group);
    return p && p->n > 0 ? p->indices[p->n - 1] + 1 : 0;
}

static bool holds_index(const struct gang_work *g, str group, int64_t j)
{
    const struct gangmap_part *p = g->entry ? part_of(g, group) : NULL;
    bool found = !g->entry;
    for (int64_t i = 0; p && i < p->n && !found; i++)
        found = p->indices[i] == j;
    return found;
}

/* In the base gang each replica of a constrained group is packed by itself. */
static void write_group_constraints(struct gang_work *g, struct jw *w)
{
    struct arena *a = g->plan->arena;
    for (struct jiter it = jiter(g->set.scaling_groups); !g->pcsg && jnext(&it);) {
        struct group_view group;
        jval constraint = jgetc(it.value, "topologyConstraint");
        group_view(it.value, &group);
        str pcsg = name_pcsg(a, g->pcs->name, g->pcs_index, group.name);
        int64_t top = g->entry ? top_index(g, group.name) : group.min_available;
        for (int64_t j = 0; j < top && j_has(constraint); j++) {
            if (!holds_index(g, group.name, j))
                continue;
            jw_object(w);
            jw_put_str(w, "name", arena_printf(a, "%.*s-%lld", STR_ARG(pcsg), (long long)j));
            jw_put_array(w, "podGroupNames");
            for (struct jiter n = jiter(group.clique_names); jnext(&n);)
                jw_str(w, name_member_pclq(a, pcsg, j, jstr(n.value)));
            jw_end(w);
            topology_write(w, &g->topology, constraint);
            jw_end(w);
        }
        g->constrained = g->constrained || topology_applies(&g->topology, constraint);
    }
}

/* Cliques the user wants close together: as close as possible, not at any price. */
static void write_pack_group(struct gang_work *g, struct jw *w, jval group, size_t number)
{
    jval cliques = jgetc(group, "cliqueNames");
    str name = jstr(jgetc(group, "name"));
    size_t n = 0;
    for (size_t i = 0; i < g->members.len; i++)
        n += gangmap_lists(cliques, g->members.p[i].clique);
    if (n == 0)
        return;
    jw_object(w);
    jw_put_str(w, "name",
               str_is_empty(name) ? arena_printf(g->plan->arena, "pack-%zu", number) : name);
    jw_put_array(w, "podGroupNames");
    for (size_t i = 0; i < g->members.len; i++) {
        if (gangmap_lists(cliques, g->members.p[i].clique))
            jw_str(w, g->members.p[i].pclq);
    }
    jw_end(w);
    jw_put_object(w, "topologyConstraint");
    jw_put_object(w, "packConstraint");
    jw_put_str(w, "preferred", topology_narrowest(&g->topology));
    jw_end(w);
    jw_end(w);
    jw_end(w);
}

static void write_constraint_groups(struct gang_work *g, struct jw *w)
{
    static const char *const spellings[] = {"networkPackGroupConfigs", "networkPackGroups"};
    jval policy = jpath(obj_root(g->pcs), "spec.template.schedulingPolicyConfig");
    struct jw list;
    size_t number = 0;
    jw_init(&list);
    jw_array(&list);
    write_group_constraints(g, &list);
    for (size_t i = 0; i < ARRAY_LEN(spellings); i++) {
        for (struct jiter it = jiter(jget(policy, str_of(spellings[i]))); jnext(&it);)
            write_pack_group(g, &list, it.value, number++);
    }
    jw_end(&list);
    str text = strbuf_str(&list.out);
    if (str_is(text, "[]")) {
        write_no_more(g, w, "topologyConstraintGroupConfigs");
    } else {
        jw_key(w, STR("topologyConstraintGroupConfigs"));
        jw_raw(w, text);
    }
    jw_done(&list);
}

/* "kubernetes.io/zone=preferred,...": how replicas of the set keep apart. */
static str replica_spread(const struct gang_work *g)
{
    str text = STR_NONE;
    jval list = jgetc(obj_spec(g->pcs), "replicaSpreadConstraints");
    for (struct jiter it = jiter(list); jnext(&it);) {
        str key = jstr(jgetc(it.value, "topologyKey"));
        bool hard = str_is(jstr(jgetc(it.value, "whenUnsatisfiable")), "DoNotSchedule");
        if (!str_is_empty(key))
            text = arena_printf(g->plan->arena, "%.*s%s%.*s=%s", STR_ARG(text), text.len ? "," : "",
                                STR_ARG(key), hard ? "required" : "preferred");
    }
    return text;
}

/* "ten-0-g-0-worker=14,...": the base gang says how many pods like those of its first copy of a
 * group come in scaled gangs, so that it goes where these find room. Of a whole replica that must
 * be, or had better be, in one place. */
static str scaled_pods(const struct gang_work *g)
{
    struct arena *a = g->plan->arena;
    jval constraint = jpath(obj_root(g->pcs), "spec.template.topologyConstraint");
    str text = STR_NONE;
    if (g->pcsg || g->entry ||
        (!topology_applies(&g->topology, constraint) && str_is_empty(replica_spread(g))))
        return text;
    for (struct jiter it = jiter(g->set.scaling_groups); jnext(&it);) {
        struct group_view group;
        struct clique_view clique;
        group_view(it.value, &group);
        str pcsg = name_pcsg(a, g->pcs->name, g->pcs_index, group.name);
        for (struct jiter k = jiter(group.clique_names); jnext(&k);) {
            int64_t more = MAX(0, group.replicas - group.min_available);
            if (more == 0 || !pcs_find_clique(&g->set, jstr(k.value), &clique))
                continue;
            more *= clique.replicas;
            text =
                arena_printf(a, "%.*s%s%.*s=%lld", STR_ARG(text), text.len ? "," : "",
                             STR_ARG(name_member_pclq(a, pcsg, 0, clique.name)), (long long)more);
        }
    }
    return text;
}

/* ---- the object ---- */

static void write_spec(struct gang_work *g, struct jw *w)
{
    jw_object(w);
    jw_put_array(w, "podgroups");
    if (g->entry)
        write_entry_groups(g, w);
    else if (g->pcsg)
        write_members(g, w, g->pcsg->name, jgetc(obj_spec(g->pcsg), "cliqueNames"), g->group_index);
    else
        write_base_groups(g, w);
    jw_end(w);
    if (!str_is_empty(g->set.priority_class))
        jw_put_str(w, "priorityClassName", g->set.priority_class);
    else
        write_no_more(g, w, "priorityClassName");
    /* Pods that replace others of a gang that had its place should find it again. It is said with
     * the change of references that they cause, and stays. */
    if (gang_was_placed(g) && g->replacing) {
        jw_put_object(w, "reuseReservationRef");
        jw_put_str(w, "name", g->name);
        jw_put_str(w, "namespace", g->pcs->ns);
        jw_end(w);
    }
    write_own_constraint(g, w);
    write_constraint_groups(g, w);
    jw_end(w);
}

static void gang_annotations(struct gang_work *g, struct labels *l, str mirrored)
{
    str spread = replica_spread(g), scaled = scaled_pods(g);
    mirrored = mirror(l, "annotations", g->pcs->annotations, mirrored);
    if (!str_is_empty(mirrored))
        labels_set(l, ANNOTATION_MIRRORED, mirrored);
    if (g->constrained)
        labels_set(l, ANNOTATION_TOPOLOGY, g->topology.name);
    if (!str_is_empty(spread))
        labels_set(l, ANNOTATION_REPLICA_SPREAD, spread);
    if (!str_is_empty(scaled))
        labels_set(l, ANNOTATION_SCALED_PODS, scaled);
}

/* What the gang is for: the minimum of a replica, replicas of a group above it that the template
 * declares, or those that scaling added. */
static const char *role_of(const struct gang_work *g)
{
    if (g->entry)
        return gang_role_name(g->entry->role);
    if (!g->pcsg)
        return "Anchor";
    struct group_view group;
    struct jiter first = jiter(g->pcsg ? jgetc(obj_spec(g->pcsg), "cliqueNames") : JVAL_ABSENT);
    bool declared = !jnext(&first) || !pcs_group_of(&g->set, jstr(first.value), &group) ||
                    g->group_index < group.replicas;
    return declared ? "Tail" : "ScaleOut";
}

/* The object with these annotations; whether its topology is named is known when its spec is. */
static struct doc *make_gang(struct gang_work *g)
{
    struct arena *a = g->plan->arena;
    struct labels l, annotations;
    struct jw spec, w;
    jw_init(&spec);
    write_spec(g, &spec);
    labels_init(&l, a);
    str mirrored = mirror(&l, "labels", g->pcs->labels, STR_NONE);
    labels_common(&l, g->pcs->name, "podgang");
    labels_set(&l, LABEL_SCHEDULER, str_of(backend_of_set(g->world, g->pcs)->name));
    labels_set(&l, LABEL_PODGANG_ROLE, str_of(role_of(g)));
    if (g->pcsg)
        labels_set(&l, LABEL_PCSG, name_label(a, g->pcsg->name));
    if (g->entry) {
        labels_set_int(&l, LABEL_PCS_INDEX, g->pcs_index);
        labels_set(&l, LABEL_GENERATION_HASH, g->entry->hash);
        labels_set_int(&l, LABEL_EPOCH, g->entry->epoch);
        if (g->entry->anchor)
            labels_set(&l, LABEL_ANCHOR, STR("true"));
    }
    labels_init(&annotations, a);
    gang_annotations(g, &annotations, mirrored);
    make_begin(&w, &(struct make_meta){&kind_pod_gang, g->pcs->ns, g->name, &l, &annotations,
                                       g->pcs, NULL});
    jw_key(&w, STR("spec"));
    jw_raw(&w, strbuf_str(&spec.out));
    jw_done(&spec);
    return make_end(&w);
}

/* ---- where it stands ---- */

/* The group whose scaled gang it is, by what its name begins with, or by its label. */
static const struct obj *group_of_gang(const struct gang_work *g)
{
    ptrdiff_t dash = str_rfind_char(g->name, '-');
    str before = dash > 0 ? str_sub(g->name, 0, (size_t)dash) : STR_NONE;
    const struct obj *pcsg = world_get(g->world, &kind_pcsg, g->pcs->ns, before);
    return pcsg ? pcsg
                : labelled_obj(g->world, &kind_pcsg, g->pcs->ns,
                               obj_label(g->gang, STR(LABEL_PCSG)));
}

/* The replica of a group that a scaled gang of this name is: PCSG-(j-M). */
static bool find_scaled(struct gang_work *g)
{
    const struct obj *pcsg = group_of_gang(g);
    int64_t k = pcsg ? name_index(g->name, pcsg->name, STR_NONE) : -1;
    if (k < 0 || !str_eq(pcsg->owner_uid, g->pcs->uid))
        return false;
    g->pcsg = pcsg;
    g->group_index = k + jint(jgetc(obj_spec(pcsg), "minAvailable"), 1);
    g->pcs_index = label_index(pcsg, STR(LABEL_PCS_INDEX));
    return true;
}

static bool find_base(struct gang_work *g)
{
    g->pcs_index = name_index(g->name, g->pcs->name, STR_NONE);
    return g->pcs_index >= 0;
}

/* Some of its groups has replicas, or it has standalone cliques. */
static bool base_has_cliques(const struct gang_work *g)
{
    struct group_view group;
    for (struct jiter it = jiter(g->set.cliques); jnext(&it);) {
        if (!pcs_group_of(&g->set, jstr(jgetc(it.value, "name")), &group))
            return true;
    }
    for (struct jiter it = jiter(g->set.scaling_groups); jnext(&it);) {
        group_view(it.value, &group);
        str name = name_pcsg(g->plan->arena, g->pcs->name, g->pcs_index, group.name);
        const struct obj *pcsg = world_get(g->world, &kind_pcsg, g->pcs->ns, name);
        if (!pcsg || (!pcsg->deleting && jint(jgetc(obj_spec(pcsg), "replicas"), 1) > 0))
            return true;
    }
    return false;
}

/* The numbers of set and group want this replica. */
static bool is_wanted(const struct gang_work *g)
{
    if (g->pcs_index < 0 || g->pcs_index >= g->set.replicas)
        return false;
    if (!g->pcsg)
        return base_has_cliques(g);
    return !g->pcsg->deleting && g->group_index < surge_total(g->pcsg);
}

/* ---- plan ---- */

/* Its replica is not wanted any more. Numbers in a cache may be old: a clique of it that is there
 * and not going contradicts them, and is waited for. */
static void plan_gone(const struct gang_work *g)
{
    jval groups = jgetc(obj_spec(g->gang), "podgroups");
    for (struct jiter it = jiter(groups); jnext(&it);) {
        const struct obj *o =
            world_get(g->world, &kind_pclq, g->gang->ns, jstr(jgetc(it.value, "name")));
        if (o && !o->deleting)
            return;
    }
    size_t from = g->plan->writes.len;
    struct plan_write *write = plan_delete(g->plan, GANG_STAGE_SPEC, g->gang);
    plan_why(write, g->plan, "no clique belongs to it any more");
    /* Absence in a cache proves nothing: a clique that is not even going is asked for. */
    str first = jstr(jgetc(jat(groups, 0), "name"));
    if (jlen(groups) > 0 && !world_get(g->world, &kind_pclq, g->gang->ns, first))
        plan_verify_absent(write, &kind_pclq, g->gang->ns, first, STR_NONE);
    make_event(g->plan, from, g->pcs, PLAN_DELETE, &kind_pod_gang, "PodGangDeleteSuccessful");
}

/* The map names it no more: what it held is in other gangs, or goes. */
static struct plan_write *plan_unmapped(const struct gang_work *g)
{
    size_t from = g->plan->writes.len;
    struct plan_write *w = plan_delete(g->plan, GANG_STAGE_SPEC, g->gang);
    plan_why(w, g->plan, "the map of gangs has it no more");
    make_event(g->plan, from, g->pcs, PLAN_DELETE, &kind_pod_gang, "PodGangDeleteSuccessful");
    return w;
}

/* More groups than an object can hold: the numbers of the set make no sense, and it is told. */
static bool is_too_large(const struct gang_work *g)
{
    int64_t groups = (int64_t)jlen(g->set.cliques);
    for (size_t c = 0; g->entry && c < g->gangs->map.n_components; c++)
        groups += g->gangs->components[c].is_group
                      ? g->entry->parts[c].n * (int64_t)jlen(g->set.cliques)
                      : 0;
    for (struct jiter it = jiter(g->pcsg || g->entry ? JVAL_ABSENT : g->set.scaling_groups);
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

/* Fills in where the gang stands: by a clique that says it belongs to it, or, when there is none,
 * by its name. False: nobody knows, or nothing is to be done. */
static bool find_place(struct gang_work *g, const struct obj *pclq)
{
    str base = STR_NONE;
    g->pcs = pclq ? owner_pcs(g->world, pclq) : g->gang ? owner_pcs(g->world, g->gang) : NULL;
    if (!g->pcs || g->pcs->deleting || (g->gang && g->gang->deleting))
        return false;
    pcs_view(g->pcs, &g->set);
    if (!pclq)
        return find_scaled(g) || find_base(g);
    g->name = clique_gang(g->plan->arena, g->world, pclq, &base);
    g->pcs_index = label_index(pclq, STR(LABEL_PCS_INDEX));
    if (str_is_empty(base))
        return true;
    g->pcsg =
        world_get(g->world, &kind_pcsg, g->pcs->ns, jstr(jgetc(obj_controller_ref(pclq), "name")));
    g->group_index = label_index(pclq, STR(LABEL_PCSG_INDEX));
    return g->pcsg != NULL;
}

/* A gang that is not there has no status to say it in, so it is said on the set. */
static void warn_of_failures(const struct gang_work *g)
{
    static const struct error_code codes[] = {
        {PLAN_DELETE, &kind_pod_gang, "ERR_DELETE_EXCESS_PODGANG", "PodGangDeleteFailed"},
        {ERROR_ANY_OP, &kind_pod_gang, "ERR_CREATE_OR_PATCH_PODGANG",
         "PodGangCreateOrUpdateFailed"},
    };
    errors_warn(g->plan, g->world, &(struct key){&kind_pod_gang, g->pcs->ns, g->name}, g->pcs,
                codes, ARRAY_LEN(codes));
}

static bool lacks_pods(const struct gang_work *g, const struct obj *pclq)
{
    const struct tally *n = tally_of(g->world, pclq->uid);
    return n->active + n->finished < jint(jgetc(obj_spec(pclq), "replicas"), 0);
}

/* A clique of a base gang that nobody is about to make: its group has fewer replicas than its
 * minimum. */
static bool is_below_minimum(const struct gang_work *g, str pclq)
{
    struct arena *a = g->plan->arena;
    for (struct jiter it = jiter(g->set.scaling_groups); jnext(&it);) {
        str name = name_pcsg(a, g->pcs->name, g->pcs_index, jstr(jgetc(it.value, "name")));
        const struct obj *pcsg = world_get(g->world, &kind_pcsg, g->pcs->ns, name);
        for (struct jiter k = jiter(jgetc(it.value, "cliqueNames")); pcsg && jnext(&k);) {
            int64_t index = name_index(pclq, name, jstr(k.value));
            if (index >= 0 && index >= surge_total(pcsg))
                return true;
        }
    }
    return false;
}

/* It was made a moment ago, and pods of it are still to come. Where a map of gangs rules, cliques
 * have pods in several: nothing is known then. */
static bool is_filling(const struct gang_work *g)
{
    if (!g->gang || g->gangs || gang_was(g, "Initialized") ||
        world_created(g->world, g->gang) + FILLING <= world_steady(g->world))
        return false;
    for (struct jiter it = jiter(jgetc(obj_spec(g->gang), "podgroups")); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        const struct obj *pclq = world_get(g->world, &kind_pclq, g->gang->ns, name);
        if (pclq ? lacks_pods(g, pclq) : !is_below_minimum(g, name))
            return true;
    }
    return false;
}

static void plan_living(struct gang_work *g)
{
    bool filling = is_filling(g);
    if (filling)
        (void)world_has_passed(g->world, world_created(g->world, g->gang), FILLING, g->plan);
    if (filling && j_has(jgetc(obj_status(g->gang), "phase")))
        return;
    size_t from = g->plan->writes.len;
    g->topology = topology_of(g->world, g->pcs);
    struct doc *desired = make_gang(g);
    if (filling)
        doc_unref(desired);
    else
        (void)make_ensure(g->plan, GANG_STAGE_SPEC, g->world, g->pcs, g->gang, &kind_pod_gang,
                          g->name, desired);
    for (size_t i = from; i < g->plan->writes.len; i++) {
        g->plan->writes.p[i].patient = !g->gang && !g->gangs && !g->complete;
        g->plan->writes.p[i].patience = PODS_PATIENCE;
    }
    make_event(g->plan, from, g->pcs, PLAN_CREATE, &kind_pod_gang,
               "PodGangCreateOrUpdateSuccessful");
    if (g->gang && str_eq(g->gang->owner_uid, g->pcs->uid)) {
        gang_plan_disruption(g);
        gang_plan_status(g);
    }
}

/* Its group is gone; or its map is, with its replica. While the replica is wanted and updates
 * coherently, the map comes back and has it again. */
static void plan_ownerless(const struct gang_work *g)
{
    int64_t replica = label_index(g->gang, STR(LABEL_PCS_INDEX));
    if (str_is_empty(obj_label(g->gang, STR(LABEL_GENERATION_HASH))))
        plan_gone(g);
    else if (replica >= g->set.replicas)
        (void)plan_unmapped(g);
    else if (update_strategy_of(g->pcs) != UPDATE_COHERENT)
        plan_verify_absent(plan_unmapped(g), &kind_pod_gang_map, g->gang->ns,
                           name_base_gang(g->plan->arena, g->pcs->name, replica), STR_NONE);
}

/* A gang of one replica of a group and nothing else has what that group asks for. */
static void find_only_group(struct gang_work *g)
{
    const struct gangmap_view *v = g->gangs;
    const struct gangmap_part *only = NULL;
    str group = STR_NONE;
    for (size_t c = 0; c < v->map.n_components; c++) {
        const struct gangmap_part *p = &g->entry->parts[c];
        if (p->n == 0)
            continue;
        if (only || !v->components[c].is_group || p->n > 1)
            return;
        only = p;
        group = name_pcsg(g->plan->arena, g->pcs->name, g->pcs_index, v->components[c].name);
    }
    if (!only || g->entry->anchor)
        return;
    g->pcsg = world_get(g->world, &kind_pcsg, g->pcs->ns, group);
    g->group_index = only->indices[0];
}

/* A gang that a map has, or had. */
static void plan_mapped(struct gang_work *g, const struct gangmap_view *v,
                        const struct gangmap_entry *e)
{
    g->pcs = v->pcs;
    g->pcs_index = v->replica;
    g->gangs = v;
    g->entry = e;
    g->label = name_label(g->plan->arena, g->name);
    if (g->pcs->deleting || (g->gang && g->gang->deleting))
        return;
    pcs_view(g->pcs, &g->set);
    warn_of_failures(g);
    if (!e) {
        if (g->gang && str_eq(g->gang->owner_uid, g->pcs->uid))
            (void)plan_unmapped(g);
        return;
    }
    find_only_group(g);
    if (!is_too_large(g))
        plan_living(g);
}

/* Where a map rules, it alone says what its gangs are. It is on its way, or the replica is going.
 */
static bool lacks_map(const struct world *w, const struct obj *pclq)
{
    const struct obj *pcs = pclq ? owner_pcs(w, pclq) : NULL;
    return pcs && gangmap_rules(w, pcs, label_index(pclq, STR(LABEL_PCS_INDEX)));
}

void gang_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    (void)ctx;
    struct gangmap_view gangs;
    const struct gangmap_entry *entry;
    const struct obj *pclq = any_clique(w, key, p->arena);
    struct gang_work g = {.world = w,
                          .plan = p,
                          .gang = world_get(w, &kind_pod_gang, key->ns, key->name),
                          .name = key->name,
                          .complete = true,
                          .scheduled = true,
                          .ready = true,
                          .nodes = MAP_INIT};
    /* A gang somebody wrote by hand is theirs. */
    if (!pclq && g.gang && !str_is(obj_label(g.gang, STR(LABEL_MANAGED_BY)), MANAGED_BY_GROVE))
        return;
    if (gangmap_find_gang(&gangs, w, p->arena, key->ns, key->name, &entry)) {
        plan_mapped(&g, &gangs, entry);
    } else if (!lacks_map(w, pclq) && find_place(&g, pclq)) {
        bool wanted = pclq || is_wanted(&g);
        warn_of_failures(&g);
        if (!wanted)
            plan_gone(&g);
        else if (!is_too_large(&g))
            plan_living(&g);
    } else if (g.pcs && !g.pcs->deleting && g.gang && !g.gang->deleting && !pclq) {
        plan_ownerless(&g);
    }
    vec_done(&g.members);
    map_done(&g.nodes);
}
