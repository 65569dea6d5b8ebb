/* See oracle.h. One pass over the pods, one over the sets, one over everything Grove made. */
#include "sim/oracle.h"

#include "base/map.h"
#include "base/vec.h"
#include "grove/gangs.h"
#include "grove/names.h"
#include "grove/types.h"
#include "grove/wait.h"
#include "sim/sim_impl.h"

/* The pods of one clique. */
struct crew {
    str clique_uid;
    VEC(const struct obj *) pods; /* name order */
    int64_t ready, scheduled, gated;
};

struct oracle {
    struct sim *sim;
    struct arena arena;
    struct map crews;    /* clique uid -> struct crew */
    struct map expected; /* "Kind namespace/name" -> itself */
    struct err *err;
    bool failed;
};

/* The first one counts. */
static void PRINTF_LIKE(2, 3) differ(struct oracle *x, const char *fmt, ...)
{
    va_list ap;
    if (x->failed)
        return;
    x->failed = true;
    va_start(ap, fmt);
    str text = arena_vprintf(&x->arena, fmt, ap);
    va_end(ap);
    (void)err_set(x->err, ERR_INTERNAL, "%.*s", STR_ARG(text));
}

static void same(struct oracle *x, const struct obj *o, const char *field, int64_t want)
{
    int64_t got = jint(jget(obj_status(o), str_of(field)), 0);
    if (got != want)
        differ(x, "status.%s of %s %.*s is %lld, the truth is %lld", field, o->kind->kind,
               STR_ARG(o->name), (long long)got, (long long)want);
}

/* ---- pods ---- */

static bool is_finished(const struct obj *pod)
{
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

static bool is_gated(const struct obj *pod)
{
    return jlen(jgetc(obj_spec(pod), "schedulingGates")) > 0;
}

static void add_to_crew(struct oracle *x, const struct obj *pod)
{
    struct crew *c = map_get(&x->crews, pod->owner_uid);
    if (!c) {
        c = arena_new(&x->arena, struct crew);
        c->clique_uid = pod->owner_uid;
        (void)map_put(&x->crews, c->clique_uid, c);
    }
    *vec_push(&c->pods) = pod;
    c->ready += condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
    c->scheduled += !str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName")));
    c->gated += is_gated(pod);
}

/* Its init container waits for pods that exist and are not ready: of those, others say why. That it
 * waits for more than there are cannot end well. */
static bool waits_for_others(const struct oracle *x, const struct obj *pod)
{
    struct arena a = ARENA_INIT;
    struct wait_parent *parents;
    size_t n = wait_of_pod(pod, &a, &parents), too_few = 0;
    bool in_vain = false;
    for (size_t i = 0; i < n; i++) {
        struct store_iter it =
            store_range(sim_store(x->sim), &kind_pod, pod->ns, STR_NONE, STR_NONE);
        int64_t there = 0;
        for (struct obj *o; (o = store_next(&it));) {
            there += wait_is_of(&parents[i], o) && !o->deleting;
            parents[i].ready += wait_is_of(&parents[i], o) && wait_is_ready(o);
        }
        too_few += parents[i].ready < parents[i].need;
        in_vain = in_vain || there < parents[i].need;
    }
    arena_done(&a);
    return too_few > 0 && !in_vain;
}

static void read_pods(struct oracle *x)
{
    struct obj *o;
    struct store_iter it = store_range(sim_store(x->sim), &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    while ((o = store_next(&it))) {
        str node = jstr(jgetc(obj_spec(o), "nodeName"));
        bool dead = !str_is_empty(node) && sim_node_is_dead(x->sim, node);
        if (!str_is(obj_label(o, STR(LABEL_MANAGED_BY)), MANAGED_BY_GROVE) || (o->deleting && dead))
            continue;
        if (o->deleting || is_finished(o))
            differ(x, "pod %.*s is still %s", STR_ARG(o->name),
                   o->deleting ? "being deleted" : "there although it has finished");
        else if (!str_is_empty(node) && !dead &&
                 !str_is(jstr(jgetc(obj_status(o), "phase")), "Running") && !waits_for_others(x, o))
            differ(x, "pod %.*s is on node %.*s and does not run", STR_ARG(o->name), STR_ARG(node));
        add_to_crew(x, o);
    }
}

static const struct crew *crew_of(const struct oracle *x, const struct obj *clique)
{
    static const struct crew nobody;
    const struct crew *c = clique ? map_get(&x->crews, clique->uid) : NULL;
    return c ? c : &nobody;
}

/* ---- what must be there ---- */

static str expected_key(struct oracle *x, const struct kind *k, str ns, str name)
{
    return arena_printf(&x->arena, "%s %.*s/%.*s", k->kind, STR_ARG(ns), STR_ARG(name));
}

/* NULL, and a difference, when it is not there. */
static const struct obj *expect(struct oracle *x, const struct kind *k, const struct obj *owner,
                                str name)
{
    const struct obj *o = sim_get(x->sim, k, owner->ns, name);
    if (!o) {
        differ(x, "%s %.*s is missing", k->kind, STR_ARG(name));
        return NULL;
    }
    if (o->deleting)
        differ(x, "%s %.*s is still being deleted", k->kind, STR_ARG(name));
    if (!str_eq(o->owner_uid, owner->uid))
        differ(x, "%s %.*s does not belong to %s %.*s as it is now", k->kind, STR_ARG(name),
               owner->kind->kind, STR_ARG(owner->name));
    str key = expected_key(x, k, owner->ns, name);
    (void)map_put(&x->expected, key, x);
    return o;
}

/* What a map of gangs says that it holds above the number, between the halves of a step. */
static int64_t map_surged(struct oracle *x, const struct obj *o)
{
    int64_t replica;
    jval owner = obj_controller_ref(o); /* members of groups are nobody's to surge */
    if (!str_is(jstr(jgetc(owner, "kind")), kind_pcs.kind) ||
        !str_to_int(obj_label(o, STR(LABEL_PCS_INDEX)), &replica))
        return 0;
    str name = name_base_gang(&x->arena, jstr(jgetc(owner, "name")), replica);
    const struct obj *map = sim_get(x->sim, &kind_pod_gang_map, o->ns, name);
    str text = map ? obj_annotation(map, STR("grove.io/surge")) : STR_NONE;
    struct doc *d = str_is_empty(text) ? NULL : doc_hold(&x->arena, doc_parse(text, NULL, NULL));
    return d && o->name.len > name.len + 1 ? jint(jget(jgetc(doc_root(d), "replicas"),
                                                       str_sub(o->name, name.len + 1, o->name.len)),
                                                  0)
                                           : 0;
}

/* An update that is held, or waits, has what it had above the number wanted. */
static int64_t surged(struct oracle *x, const struct obj *o)
{
    jval progress = jgetc(obj_status(o), "updateProgress");
    bool ended = !j_has(progress) || j_has(jgetc(progress, "updateEndedAt"));
    return map_surged(x, o) + (ended ? 0 : jint(jgetc(progress, "surgedReplicas"), 0));
}

static void check_clique(struct oracle *x, const struct obj *owner, str name,
                         const struct clique_view *template)
{
    const struct obj *o = expect(x, &kind_pclq, owner, name);
    if (!o)
        return;
    const struct crew *crew = crew_of(x, o);
    int64_t want = jint(jgetc(obj_spec(o), "replicas"), -1) + surged(x, o);
    int64_t have = (int64_t)crew->pods.len;
    if (have != want)
        differ(x, "clique %.*s has %lld pods and wants %lld", STR_ARG(name), (long long)have,
               (long long)want);
    if (jint(jgetc(obj_spec(o), "minAvailable"), -1) != template->min_available)
        differ(x, "minAvailable of clique %.*s is not its template's", STR_ARG(name));
    same(x, o, "replicas", have);
    same(x, o, "readyReplicas", crew->ready);
    same(x, o, "scheduledReplicas", crew->scheduled);
    same(x, o, "scheduleGatedReplicas", crew->gated);
    same(x, o, "observedGeneration", o->generation);
}

/* ---- gangs ---- */

struct gang {
    str name;
    str label;      /* of its pods, where a map says which are in it; empty: all of its cliques' */
    bool any;       /* a clique of it exists */
    bool complete;  /* all pods of all groups exist */
    bool scheduled; /* every group has its minimum on nodes */
    bool ready;
    int64_t gated;
    VEC(const struct obj *) cliques; /* NULL: does not exist */
    VEC(str) names;
    VEC(int64_t) mins;
};

/* The pods of a clique that are in the gang. */
static const struct crew *crew_in(struct oracle *x, const struct gang *g, const struct obj *clique)
{
    const struct crew *all = crew_of(x, clique);
    if (str_is_empty(g->label))
        return all;
    struct crew *c = arena_new(&x->arena, struct crew);
    c->pods.p = arena_array(&x->arena, const struct obj *, all->pods.len + 1);
    for (size_t i = 0; i < all->pods.len; i++) {
        const struct obj *pod = all->pods.p[i];
        if (!str_eq(obj_label(pod, STR(LABEL_PODGANG)), g->label))
            continue;
        c->pods.p[c->pods.len++] = pod;
        c->ready += condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
        c->scheduled += !str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName")));
        c->gated += is_gated(pod);
    }
    return c;
}

/* want: how many pods of the clique are in it; negative: all. */
static void gang_add(struct oracle *x, struct gang *g, str ns, str clique, int64_t min,
                     int64_t want)
{
    const struct obj *o = sim_get(x->sim, &kind_pclq, ns, clique);
    const struct crew *crew = crew_in(x, g, o);
    *vec_push(&g->cliques) = o;
    *vec_push(&g->names) = clique;
    *vec_push(&g->mins) = min;
    g->any = g->any || o;
    if (want < 0)
        want = o ? jint(jgetc(obj_spec(o), "replicas"), 0) : 0;
    g->complete = g->complete && o && (int64_t)crew->pods.len >= want;
    g->scheduled = g->scheduled && crew->scheduled >= min;
    g->ready = g->ready && crew->ready >= min;
    g->gated += crew->gated;
}

static void check_references(struct oracle *x, const struct gang *g, size_t i, jval group)
{
    const struct crew *crew = crew_in(x, g, g->cliques.p[i]);
    jval references = jgetc(group, "podReferences");
    struct map names = MAP_INIT;
    for (struct jiter it = jiter(references); jnext(&it);)
        (void)map_put(&names, jstr(jgetc(it.value, "name")), x);
    bool equal = jlen(references) == crew->pods.len;
    for (size_t k = 0; k < crew->pods.len; k++)
        equal = equal && map_has(&names, crew->pods.p[k]->name);
    if (!equal)
        differ(x, "gang %.*s names %zu pods of %.*s, which has %zu (or others)", STR_ARG(g->name),
               jlen(references), STR_ARG(g->names.p[i]), crew->pods.len);
    map_done(&names);
}

static void check_groups(struct oracle *x, const struct gang *g, const struct obj *o)
{
    jval groups = jpath(obj_root(o), "spec.podgroups");
    if (jlen(groups) != g->names.len)
        differ(x, "gang %.*s has %zu groups, not %zu", STR_ARG(g->name), jlen(groups),
               g->names.len);
    for (size_t i = 0; i < g->names.len; i++) {
        jval group = JVAL_ABSENT;
        for (struct jiter it = jiter(groups); jnext(&it);) {
            if (str_eq(jstr(jgetc(it.value, "name")), g->names.p[i]))
                group = it.value;
        }
        if (jint(jgetc(group, "minReplicas"), -1) != g->mins.p[i])
            differ(x, "group %.*s of gang %.*s is missing or has another minimum",
                   STR_ARG(g->names.p[i]), STR_ARG(g->name));
        check_references(x, g, i, group);
    }
}

/* base: for a scaled gang the one it waits for. */
static void check_gang(struct oracle *x, const struct obj *pcs, struct gang *g,
                       const struct gang *base)
{
    const struct obj *o = g->any ? expect(x, &kind_pod_gang, pcs, g->name) : NULL;
    if (o) {
        jval conditions = jgetc(obj_status(o), "conditions");
        check_groups(x, g, o);
        if (condition_is_true(conditions, STR("Ready")) != g->ready)
            differ(x, "gang %.*s says that it is %sready", STR_ARG(g->name),
                   g->ready ? "not " : "");
        if (g->complete && !condition_is_true(conditions, STR("Initialized")))
            differ(x, "gang %.*s is complete and not initialized", STR_ARG(g->name));
        if (g->complete && g->gated > 0 && (!base || (base->any && base->scheduled)))
            differ(x, "gang %.*s is complete and holds %lld pods back", STR_ARG(g->name),
                   (long long)g->gated);
    }
}

static void gang_done(struct gang *g)
{
    vec_done(&g->cliques);
    vec_done(&g->names);
    vec_done(&g->mins);
}

static struct gang gang_of(str name)
{
    return (struct gang){.name = name, .complete = true, .scheduled = true, .ready = true};
}

static void gang_add_members(struct oracle *x, struct gang *g, const struct obj *pcs, str pcsg,
                             jval names, int64_t k)
{
    struct pcs_view v;
    pcs_view(pcs, &v);
    for (struct jiter it = jiter(names); jnext(&it);) {
        struct clique_view c;
        if (pcs_find_clique(&v, jstr(it.value), &c))
            gang_add(x, g, pcs->ns, name_member_pclq(&x->arena, pcsg, k, c.name), c.min_available,
                     -1);
    }
}

/* ---- maps ---- */

/* The gangs of a replica by its map; absent: it has none, gangs follow from the numbers. */
static jval map_of(struct oracle *x, const struct obj *pcs, int64_t i)
{
    const struct obj *o =
        sim_get(x->sim, &kind_pod_gang_map, pcs->ns, name_base_gang(&x->arena, pcs->name, i));
    bool coherent = str_is(jstr(jpath(obj_root(pcs), "spec.updateStrategy.type")), "Coherent");
    if (o || coherent)
        o = expect(x, &kind_pod_gang_map, pcs, name_base_gang(&x->arena, pcs->name, i));
    return o ? gang_list(&x->arena, o) : JVAL_ABSENT;
}

/* How often the map has this replica of a group. */
static int64_t map_has_index(jval entries, str group, int64_t k)
{
    int64_t n = 0;
    for (struct jiter e = jiter(entries); jnext(&e);) {
        for (struct jiter it = jiter(jget(jgetc(e.value, "pcsgReplicaIndices"), group));
             jnext(&it);)
            n += jint(it.value, -1) == k;
    }
    return n;
}

static int64_t map_count(jval entries, str group)
{
    int64_t n = 0;
    for (struct jiter e = jiter(entries); jnext(&e);)
        n += (int64_t)jlen(jget(jgetc(e.value, "pcsgReplicaIndices"), group));
    return n;
}

/* One past the highest replica of a group that there is to be. */
static int64_t group_top(jval entries, str group, int64_t replicas)
{
    int64_t top = 0;
    if (j_is_absent(entries))
        return replicas;
    for (struct jiter e = jiter(entries); jnext(&e);) {
        for (struct jiter it = jiter(jget(jgetc(e.value, "pcsgReplicaIndices"), group));
             jnext(&it);)
            top = MAX(top, jint(it.value, -1) + 1);
    }
    return top;
}

static bool is_at_work(const struct obj *pcs, int64_t i)
{
    jval progress = jgetc(obj_status(pcs), "updateProgress");
    for (struct jiter it = jiter(jgetc(progress, "currentlyUpdating")); jnext(&it);) {
        if (jint(jgetc(it.value, "replicaIndex"), -1) == i)
            return !j_has(jgetc(progress, "updateEndedAt"));
    }
    return false;
}

/* What had no room before an update waits until its replica is done, unless that is paused. */
static bool is_set_aside(struct oracle *x, const struct obj *pcs, int64_t i, str epoch)
{
    str map = name_base_gang(&x->arena, pcs->name, i);
    const struct obj *o = sim_get(x->sim, &kind_pod_gang_map, pcs->ns, map);
    str epochs = o ? obj_annotation(o, STR("grove.io/set-aside")) : STR_NONE;
    str quoted = arena_printf(&x->arena, "\"%.*s\"", STR_ARG(epoch));
    return str_find(epochs, quoted) >= 0 && is_at_work(pcs, i) &&
           !str_is(obj_annotation(pcs, STR(ANNOTATION_PAUSED)), "true");
}

static bool is_anchor(jval entry)
{
    return str_is(jstr(jgetc(entry, "role")), gang_role_name(GANG_ANCHOR));
}

/* The gang of one entry, standalone cliques first. */
static void check_entry(struct oracle *x, const struct obj *pcs, const struct pcs_view *v,
                        int64_t i, jval entry, const struct gang *anchors)
{
    str name = jstr(jgetc(entry, "name"));
    const struct obj *o = sim_get(x->sim, &kind_pod_gang, pcs->ns, name);
    bool placed = o && gang_was_scheduled(o);
    struct gang g = gang_of(name);
    g.label = name_label(&x->arena, name);
    for (struct jiter it = jiter(v->cliques); jnext(&it);) {
        struct clique_view c;
        clique_view(it.value, &c);
        int64_t n = jint(jget(jgetc(entry, "podCliques"), c.name), 0);
        if (n > 0)
            gang_add(x, &g, pcs->ns, name_pclq(&x->arena, pcs->name, i, c.name),
                     placed ? 0 : MIN(n, c.min_available), n);
    }
    for (struct jiter it = jiter(v->scaling_groups); jnext(&it);) {
        struct group_view group;
        group_view(it.value, &group);
        str pcsg = name_pcsg(&x->arena, pcs->name, i, group.name);
        for (struct jiter k = jiter(jget(jgetc(entry, "pcsgReplicaIndices"), group.name));
             jnext(&k);)
            gang_add_members(x, &g, pcs, pcsg, group.clique_names, jint(k.value, -1));
    }
    /* What is placed has a minimum of none, and is ready by the minimum all the same: said by the
     * gang, not judged here. */
    if (placed)
        g.ready = o && condition_is_true(jgetc(obj_status(o), "conditions"), STR("Ready"));
    struct gang first = *anchors;
    first.scheduled = first.scheduled && !is_set_aside(x, pcs, i, jstr(jgetc(entry, "epoch")));
    check_gang(x, pcs, &g, is_anchor(entry) ? NULL : &first);
    gang_done(&g);
}

/* As one that others wait for: whether all anchors have been placed. */
static struct gang anchors_of(struct oracle *x, const struct obj *pcs, jval entries)
{
    struct gang all = gang_of(STR_NONE);
    all.any = true;
    for (struct jiter it = jiter(entries); jnext(&it);) {
        const struct obj *o =
            sim_get(x->sim, &kind_pod_gang, pcs->ns, jstr(jgetc(it.value, "name")));
        all.scheduled = all.scheduled && (!is_anchor(it.value) || (o && gang_was_scheduled(o)));
    }
    return all;
}

/* ---- replicas ---- */

/* Available as the members' pods say. */
static bool member_is(struct oracle *x, const struct obj *pcsg, int64_t k, str clique, bool ready)
{
    str name = name_member_pclq(&x->arena, pcsg->name, k, clique);
    const struct obj *o = sim_get(x->sim, &kind_pclq, pcsg->ns, name);
    const struct crew *crew = crew_of(x, o);
    int64_t min = o ? jint(jgetc(obj_spec(o), "minAvailable"), 1) : 0;
    return o && (ready ? crew->ready : crew->scheduled) >= min;
}

static int64_t count_group_replicas(struct oracle *x, const struct obj *pcsg, int64_t top,
                                    bool ready)
{
    struct pcsg_view v;
    int64_t n = 0;
    pcsg_view(pcsg, &v);
    for (int64_t k = 0; k < top; k++) {
        bool all = true;
        for (struct jiter it = jiter(v.clique_names); jnext(&it);)
            all = all && member_is(x, pcsg, k, jstr(it.value), ready);
        n += all;
    }
    return n;
}

/* True when it has its minimum available. */
static bool check_group(struct oracle *x, const struct obj *pcs, int64_t i,
                        const struct group_view *template, const struct gang *base, jval map)
{
    str name = name_pcsg(&x->arena, pcs->name, i, template->name);
    const struct obj *o = expect(x, &kind_pcsg, pcs, name);
    struct pcs_view set;
    struct pcsg_view v;
    if (!o)
        return false;
    pcs_view(pcs, &set);
    pcsg_view(o, &v);
    bool mapped = !j_is_absent(map);
    int64_t top = group_top(map, template->name, v.replicas + surged(x, o));
    int64_t wants = v.replicas + surged(x, o);
    if (mapped && map_count(map, template->name) != wants)
        differ(x, "the map has %lld replicas of group %.*s, which wants %lld",
               (long long)map_count(map, template->name), STR_ARG(name), (long long)wants);
    for (int64_t k = 0; k < top; k++) {
        int64_t times = mapped ? map_has_index(map, template->name, k) : 1;
        if (times > 1)
            differ(x, "the map has replica %lld of group %.*s twice", (long long)k, STR_ARG(name));
        if (times == 0)
            continue;
        for (struct jiter it = jiter(v.clique_names); jnext(&it);) {
            struct clique_view c;
            if (pcs_find_clique(&set, jstr(it.value), &c))
                check_clique(x, o, name_member_pclq(&x->arena, name, k, c.name), &c);
        }
        if (k < v.min_available || mapped)
            continue;
        struct gang g = gang_of(name_scaled_gang(&x->arena, name, k, v.min_available));
        gang_add_members(x, &g, pcs, name, v.clique_names, k);
        check_gang(x, pcs, &g, base);
        gang_done(&g);
    }
    int64_t available = count_group_replicas(x, o, top, true);
    same(x, o, "replicas", v.replicas);
    same(x, o, "availableReplicas", available);
    same(x, o, "scheduledReplicas", count_group_replicas(x, o, top, false));
    same(x, o, "observedGeneration", o->generation);
    return available >= v.min_available;
}

static struct gang base_gang(struct oracle *x, const struct obj *pcs, const struct pcs_view *v,
                             int64_t i)
{
    struct gang g = gang_of(name_base_gang(&x->arena, pcs->name, i));
    for (struct jiter it = jiter(v->cliques); jnext(&it);) {
        struct clique_view c;
        struct group_view of;
        clique_view(it.value, &c);
        if (!pcs_group_of(v, c.name, &of))
            gang_add(x, &g, pcs->ns, name_pclq(&x->arena, pcs->name, i, c.name), c.min_available,
                     -1);
    }
    for (struct jiter it = jiter(v->scaling_groups); jnext(&it);) {
        struct group_view group;
        group_view(it.value, &group);
        str pcsg = name_pcsg(&x->arena, pcs->name, i, group.name);
        for (int64_t k = 0; k < group.min_available; k++)
            gang_add_members(x, &g, pcs, pcsg, group.clique_names, k);
    }
    return g;
}

/* One replica of a set; true when it is available. */
static bool check_replica(struct oracle *x, const struct obj *pcs, const struct pcs_view *v,
                          int64_t i)
{
    bool available = true;
    struct gang base = base_gang(x, pcs, v, i);
    jval map = map_of(x, pcs, i);
    (void)expect(x, &kind_service, pcs, name_service(&x->arena, pcs->name, i));
    for (struct jiter it = jiter(v->cliques); jnext(&it);) {
        struct clique_view c;
        struct group_view of;
        clique_view(it.value, &c);
        if (pcs_group_of(v, c.name, &of))
            continue;
        str name = name_pclq(&x->arena, pcs->name, i, c.name);
        check_clique(x, pcs, name, &c);
        available = available && crew_of(x, sim_get(x->sim, &kind_pclq, pcs->ns, name))->ready >=
                                     c.min_available;
    }
    for (struct jiter it = jiter(v->scaling_groups); jnext(&it);) {
        struct group_view group;
        group_view(it.value, &group);
        if (!check_group(x, pcs, i, &group, &base, map))
            available = false;
    }
    struct gang anchors = anchors_of(x, pcs, map);
    for (struct jiter it = jiter(map); jnext(&it);)
        check_entry(x, pcs, v, i, it.value, &anchors);
    if (j_is_absent(map))
        check_gang(x, pcs, &base, NULL);
    gang_done(&base);
    return available;
}

struct update_facts {
    bool all_ready,
        all_current; /* every pod of the set is; is of the template its clique carries */
};

static struct update_facts update_facts(struct oracle *x, const struct obj *pcs)
{
    struct update_facts f = {true, true};
    struct obj *o;
    struct store_iter it = store_range(sim_store(x->sim), &kind_pclq, pcs->ns, STR_NONE, STR_NONE);
    while ((o = store_next(&it))) {
        if (!str_eq(obj_label(o, STR(LABEL_PART_OF)), name_label(&x->arena, pcs->name)))
            continue;
        const struct crew *crew = crew_of(x, o);
        str hash = obj_label(o, STR(LABEL_TEMPLATE_HASH));
        f.all_ready &= crew->ready == jint(jgetc(obj_spec(o), "replicas"), 0) + surged(x, o) &&
                       crew->ready >= jint(jgetc(obj_spec(o), "minAvailable"), 1);
        for (size_t i = 0; i < crew->pods.len; i++)
            f.all_current &= str_eq(obj_label(crew->pods.p[i], STR(LABEL_TEMPLATE_HASH)), hash);
    }
    return f;
}

/* Nothing has moved for longer than the API says. */
static bool is_overdue(struct oracle *x, const struct obj *pcs)
{
    usec since = invariants_moved(sim_invariants(x->sim), pcs), deadline = 10 * USEC_PER_MIN;
    (void)duration_parse_usec(jstr(jpath(obj_spec(pcs), "updateStrategy.progressDeadline")),
                              &deadline);
    return since && sim_now(x->sim) > since + deadline + 30 * USEC_PER_SEC;
}

/* How an update that is under way stands is said, and that it does not move. */
static void check_words(struct oracle *x, const struct obj *pcs)
{
    jval c = condition_find(jgetc(obj_status(pcs), "conditions"), STR("Progressing"));
    if (str_is_empty(jstr(jgetc(c, "message"))))
        differ(x, "the update of set %.*s does not say how it stands", STR_ARG(pcs->name));
    else if (is_overdue(x, pcs) && !str_is(jstr(jgetc(c, "status")), "False"))
        differ(x, "the update of set %.*s does not move and does not say so", STR_ARG(pcs->name));
}

/* An update ends, or something stands in its way; and what it says of itself is so. */
static void check_update(struct oracle *x, const struct obj *pcs, bool all_available)
{
    jval progress = jgetc(obj_status(pcs), "updateProgress");
    struct update_facts f = update_facts(x, pcs);
    bool paused = str_is(obj_annotation(pcs, STR(ANNOTATION_PAUSED)), "true");
    bool over = !j_has(progress) || j_has(jgetc(progress, "updateEndedAt"));
    int64_t updated = jint(jgetc(obj_status(pcs), "updatedReplicas"), 0);
    if (!over && !paused)
        check_words(x, pcs);
    if (!over && !paused && all_available && f.all_ready)
        differ(x, "the update of set %.*s is not over, and nothing stands in its way",
               STR_ARG(pcs->name));
    if (!f.all_current && updated == jint(jgetc(obj_spec(pcs), "replicas"), 0) && updated > 0)
        differ(x, "all replicas of set %.*s are updated, and pods of it are not",
               STR_ARG(pcs->name));
}

static void check_set(struct oracle *x, const struct obj *pcs)
{
    struct pcs_view v;
    int64_t available = 0;
    pcs_view(pcs, &v);
    if (pcs->deleting)
        differ(x, "set %.*s is still being deleted", STR_ARG(pcs->name));
    (void)expect(x, &kind_service_account, pcs, pcs->name);
    (void)expect(x, &kind_role, pcs, name_role(&x->arena, pcs->name));
    (void)expect(x, &kind_role_binding, pcs, name_role(&x->arena, pcs->name));
    for (int64_t i = 0; i < v.replicas; i++)
        available += check_replica(x, pcs, &v, i);
    same(x, pcs, "replicas", v.replicas);
    same(x, pcs, "availableReplicas", available);
    same(x, pcs, "observedGeneration", pcs->generation);
    check_update(x, pcs, available == v.replicas);
}

/* ---- what must not be there ---- */

static void check_left_over(struct oracle *x, const struct kind *k)
{
    struct obj *o;
    struct store_iter it = store_range(sim_store(x->sim), k, STR_NONE, STR_NONE, STR_NONE);
    while ((o = store_next(&it))) {
        if (str_is(obj_label(o, STR(LABEL_MANAGED_BY)), MANAGED_BY_GROVE) &&
            !map_has(&x->expected, expected_key(x, k, o->ns, o->name)))
            differ(x, "%s %.*s is left over", k->kind, STR_ARG(o->name));
    }
}

/* Every crew belongs to a clique that is there; what is expected of the clique was checked. */
static void check_strays(struct oracle *x)
{
    struct map live = MAP_INIT;
    struct obj *o;
    struct store_iter it = store_range(sim_store(x->sim), &kind_pclq, STR_NONE, STR_NONE, STR_NONE);
    while ((o = store_next(&it)))
        (void)map_put(&live, o->uid, o);
    it = store_range(sim_store(x->sim), &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    while ((o = store_next(&it))) {
        if (map_has(&x->crews, o->owner_uid) && !map_has(&live, o->owner_uid))
            differ(x, "pod %.*s is left over", STR_ARG(o->name));
    }
    map_done(&live);
}

int oracle_check(struct sim *s, struct err *err)
{
    static const struct kind *const kinds[] = {
        &kind_pcsg,    &kind_pclq, &kind_pod_gang,     &kind_pod_gang_map,
        &kind_service, &kind_role, &kind_role_binding, &kind_service_account};
    struct oracle x = {.sim = s, .err = err};
    struct obj *pcs;
    read_pods(&x);
    struct store_iter it = store_range(sim_store(s), &kind_pcs, STR_NONE, STR_NONE, STR_NONE);
    while ((pcs = store_next(&it)))
        check_set(&x, pcs);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        check_left_over(&x, kinds[i]);
    check_strays(&x);
    str key;
    void *value;
    for (size_t i = 0; map_next(&x.crews, &i, &key, &value);)
        vec_done(&((struct crew *)value)->pods);
    map_done(&x.crews);
    map_done(&x.expected);
    arena_done(&x.arena);
    return x.failed ? err->code : 0;
}
