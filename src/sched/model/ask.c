/* Gangs to questions; see ask.h. */
#include "sched/model/ask.h"

#include "base/map.h"
#include "grove/names.h"
#include "grove/types.h"
#include "sched/model/order.h"

enum { MAX_SPARES = 16 };

/* ---- topology ---- */

/* Number of the level of a label key in the tree; 0 when it has none. */
static int level_of_key(const struct tables *t, int32_t tree, str key)
{
    const struct ttree *x = tables_tree(t, tree);
    if (str_is(key, "kubernetes.io/hostname"))
        return x->n_levels + 1;
    for (int l = 0; l < x->n_levels; l++) {
        if (str_eq(x->keys[l], key))
            return l + 1;
    }
    return 0;
}

static int32_t find_tree(const struct tables *t, const struct obj *gang)
{
    str name = gang ? obj_annotation(gang, STR(ANNOTATION_TOPOLOGY)) : STR_NONE;
    str rest = gang ? obj_annotation(gang, STR(ANNOTATION_SPREAD)) : STR_NONE, key;
    bool required;
    for (size_t i = 0; i < t->trees.len; i++) {
        if (!str_is_empty(name) && str_eq(t->trees.p[i].name, name))
            return (int32_t)i;
    }
    if (str_is_empty(name) && tables_next_spread(&rest, &key, &required)) {
        for (size_t i = 0; i < t->trees.len; i++) {
            if (level_of_key(t, (int32_t)i, key) > 0)
                return (int32_t)i;
        }
    }
    return 0;
}

static struct core_scope read_scope(struct ask *q, const struct tables *t, jval holder,
                                    struct arena *a)
{
    struct core_scope s = {0, 0, CORE_NONE};
    jval pack = jpath(holder, "topologyConstraint.packConstraint");
    str required = jstr(jgetc(pack, "required")), preferred = jstr(jgetc(pack, "preferred"));
    if (!str_is_empty(required)) {
        s.req = level_of_key(t, q->tree, required);
        if (s.req == 0)
            q->wrong =
                arena_printf(a, "its topology has no level with the label %.*s", STR_ARG(required));
    }
    if (!str_is_empty(preferred))
        s.pref = level_of_key(t, q->tree, preferred);
    q->packed = q->packed || s.req > 0 || s.pref > 0;
    return s;
}

/* A scope with members on nodes stays in their domain. */
static void pin_to(struct core_scope *s, const struct tables *t, int32_t tree, int32_t node)
{
    if (s->req > 0 && s->pin == CORE_NONE && node != CORE_NONE)
        s->pin = core_domain_of(t->core, tree, node, s->req);
}

/* ---- replicas of a set ---- */

static int32_t first_domain(const struct tables *t, const struct tgang *g, int32_t tree, int level)
{
    list_foreach (it, &g->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        int32_t d = p->node == CORE_NONE || p->obj->deleting
                        ? CORE_NONE
                        : core_domain_of(t->core, tree, p->node, level);
        if (d != CORE_NONE)
            return d;
    }
    return CORE_NONE;
}

/* Where the replica that the gang is a part of has pods already: its own, its base gang's, those of
 * other gangs of the replica. */
static int32_t family_domain(const struct ask *q, struct tables *t, struct tgang *lead, int level)
{
    int32_t d = first_domain(t, q->gang, q->tree, level);
    if (d == CORE_NONE)
        d = first_domain(t, lead, q->tree, level);
    if (!q->gang->set)
        return d;
    for (struct list *it = q->gang->set->gangs.next; d == CORE_NONE && it != &q->gang->set->gangs;
         it = it->next) {
        struct tgang *g = list_entry(it, struct tgang, kin);
        if (g->n_bound > 0 && order_follows(t, g, lead))
            d = first_domain(t, g, q->tree, level);
    }
    return d;
}

/* What the set asks of a whole replica holds for all its gangs, whichever was first. */
static void join_family(struct ask *q, struct tables *t)
{
    struct tgang *lead = order_lead(t, q->gang);
    if (!lead->obj || find_tree(t, lead->obj) != q->tree)
        return;
    int level = level_of_key(
        t, q->tree, jstr(jpath(obj_spec(lead->obj), "topologyConstraint.packConstraint.required")));
    if (level == 0 || (lead == q->gang && q->bound > 0))
        return;
    int32_t d = family_domain(q, t, lead, level);
    if (d == CORE_NONE)
        return;
    q->within = d;
    q->within_by = "replica";
}

/* Domains that hold more of the set's replicas than the emptiest are closed to another one. */
static void close_domains(struct ask *q, const struct tables *t, struct arena *a)
{
    int32_t lo, hi, least = INT32_MAX;
    core_domains_at(t->core, q->tree, q->spread_level, &lo, &hi);
    int32_t *counts = arena_array(a, int32_t, hi - lo + 1);
    struct map replicas = MAP_INIT; /* that have anchors, which may be many: each counts once */
    list_foreach (it, &q->gang->set->gangs) {
        const struct tgang *g = list_entry(it, struct tgang, kin);
        int32_t d = g == q->gang || order_is_scaled(g)
                        ? CORE_NONE
                        : first_domain(t, g, q->tree, q->spread_level);
        bool again =
            d != CORE_NONE && order_is_anchor(g) && map_put(&replicas, order_replica(g), q) != NULL;
        if (d != CORE_NONE && !again)
            counts[d - lo]++;
    }
    map_done(&replicas);
    for (int32_t i = 0; i < hi - lo; i++)
        least = MIN(least, counts[i]);
    q->closed = arena_array(a, uint8_t, hi - lo + 1);
    for (int32_t i = 0; i < hi - lo; i++)
        q->closed[i] = counts[i] > least;
}

/* The replica is in a domain, and stays there as far as it must or may. */
static void read_home(struct ask *q, struct tables *t)
{
    q->home = q->spread_level == 0 ? CORE_NONE
                                   : family_domain(q, t, order_lead(t, q->gang), q->spread_level);
    if (q->home != CORE_NONE && q->spread_required &&
        core_contains(t->core, q->tree, q->within, q->home)) {
        q->within = q->home;
        q->within_by = "spread";
    }
}

/* The first level that is spread over and that the topology has. */
static void read_spread(struct ask *q, struct tables *t, struct arena *a)
{
    str rest = obj_annotation(q->gang->obj, STR(ANNOTATION_SPREAD)), key;
    if (!q->gang->set)
        return;
    while (q->spread_level == 0 && tables_next_spread(&rest, &key, &q->spread_required)) {
        int level = level_of_key(t, q->tree, key);
        if (level > 0 && level <= core_n_levels(t->core, q->tree))
            q->spread_level = level;
    }
    read_home(q, t);
    if (q->spread_level > 0 && q->home == CORE_NONE)
        close_domains(q, t, a);
}

/* ---- those to come ---- */

static void add_spare(struct ask *q, struct core_spare *spares, struct core_spare s)
{
    size_t i = 0;
    while (i < q->core.n_spares && (spares[i].cls != s.cls || spares[i].level != s.level ||
                                    (s.level > 0 && spares[i].lot != s.lot)))
        i++;
    if (i < q->core.n_spares)
        spares[i].count += s.count;
    else if (i < MAX_SPARES)
        spares[q->core.n_spares++] = s;
}

struct tpod *ask_later(const struct ask *q, struct tables *t, size_t group, size_t *at)
{
    const struct ask_group *g = &q->groups[group];
    size_t beyond = g->n_pods - MIN((size_t)g->need, g->n_pods);
    for (size_t i; (i = (*at)++) < beyond + g->n_members;) {
        struct tpod *p = i < beyond ? g->pods[(size_t)g->need + i] : g->members[i - beyond];
        bool later = i < beyond || (p->node == CORE_NONE && !p->waits && !p->obj->deleting &&
                                    tables_serve(t, p->obj) &&
                                    jlen(jgetc(obj_spec(p->obj), "schedulingGates")) > 0);
        if (later && tables_judge(t, p))
            return p;
    }
    return NULL;
}

/* The narrowest level that pods of the group must share; 0: none. */
static int level_required(const struct ask *q, const struct tables *t, jval gang, jval group)
{
    static const char path[] = "topologyConstraint.packConstraint.required";
    int level = MAX(level_of_key(t, q->tree, jstr(jpath(gang, path))),
                    level_of_key(t, q->tree, jstr(jpath(group, path))));
    for (struct jiter it = jiter(jgetc(gang, "topologyConstraintGroupConfigs")); jnext(&it);) {
        for (struct jiter k = jiter(jgetc(it.value, "podGroupNames")); jnext(&k);) {
            if (str_eq(jstr(k.value), jstr(jgetc(group, "name"))))
                level = MAX(level, level_of_key(t, q->tree, jstr(jpath(it.value, path))));
        }
    }
    return level;
}

static bool is_of_group(const struct tpod *p, jval group, struct arena *a)
{
    str label = obj_label(p->obj, STR(LABEL_PCLQ)), name = jstr(jgetc(group, "name"));
    return str_eq(label, name) || str_eq(label, name_label(a, name));
}

/* A group of a gang that comes later: its pods are a lot where they must be together. Those are
 * meant that say they are its own: the gang may not name them yet. */
static void add_group_spares(struct ask *q, struct tables *t, const struct tgang *g, jval group,
                             struct core_spare *spares, struct arena *a)
{
    struct core_spare lot = {.cls = CORE_NONE,
                             .level = level_required(q, t, obj_spec(g->obj), group)};
    list_foreach (it, &g->pods) {
        struct tpod *p = list_entry(it, struct tpod, link);
        if (p->node != CORE_NONE || p->obj->deleting || !is_of_group(p, group, a) ||
            !tables_judge(t, p))
            continue;
        if (lot.cls != p->cls && lot.count > 0) {
            add_spare(q, spares, lot);
            lot.count = lot.lot = 0;
        }
        lot.cls = p->cls;
        lot.count++;
        lot.lot++;
    }
    if (lot.count > 0)
        add_spare(q, spares, lot);
}

/* What will have to be where this gang is: its own pods beyond the minimum, and those of scaled
 * gangs, with what they ask of nodes (their class) and of each other. */
static void read_spares(struct ask *q, struct tables *t, struct arena *a)
{
    bool must = q->scope.req > 0 || q->spread_level > 0;
    if (q->bound > 0 || !q->gang->set || order_is_scaled(q->gang) ||
        (!must && q->gang->set->n_gangs > SMALL_SET))
        return;
    struct core_spare *spares = arena_array(a, struct core_spare, MAX_SPARES);
    for (size_t i = 0; i < q->n_groups && must; i++) {
        struct tpod *p;
        for (size_t k = 0; (p = ask_later(q, t, i, &k));)
            add_spare(q, spares, (struct core_spare){p->cls, 1, 1, 0});
    }
    list_foreach (it, &q->gang->set->gangs) {
        struct tgang *g = list_entry(it, struct tgang, kin);
        if (g == q->gang || !g->obj || !order_follows(t, g, q->gang))
            continue;
        for (struct jiter k = jiter(jgetc(obj_spec(g->obj), "podgroups")); jnext(&k);)
            add_group_spares(q, t, g, k.value, spares, a);
    }
    q->core.spares = spares;
}

/* ---- groups ---- */

static void add_pod(struct ask *q, const struct tables *t, struct ask_group *g, struct tpod *p)
{
    if (p->node != CORE_NONE && !p->obj->deleting) {
        g->bound++;
        pin_to(&g->scope, t, q->tree, p->node);
        pin_to(&q->scope, t, q->tree, p->node);
        if (g->bundle != CORE_NONE)
            pin_to(&q->bundles[g->bundle], t, q->tree, p->node);
    } else if (p->waits) {
        g->pods[g->n_pods++] = p;
    } else if (!p->obj->deleting && jlen(jgetc(obj_spec(p->obj), "schedulingGates")) > 0) {
        q->gated++;
    }
}

/* runs: the gang was placed and some of it is on nodes to stay. */
static void finish_group(struct ask *q, struct ask_group *g, bool runs)
{
    g->need = MAX(0, g->min - g->bound);
    /* Then what there is of it may run: somebody scaled a role below its minimum. Pods that are
     * gated yet, or not seen yet, are there all the same. Of one that lost everything the pods
     * come back one by one, and it is whole again or nothing. */
    if (runs)
        g->need = MIN(g->need, g->coming);
    q->short_of = q->short_of || (int64_t)g->n_pods < g->need;
    q->waiting += g->n_pods;
}

/* ---- who is named ---- */

static void note_fault(struct ask *q, size_t *count, str pod)
{
    (*count)++;
    if (str_is_empty(q->faults.example))
        q->faults.example = pod;
}

/* The pod is this group's: named once, of this gang, and of this clique as far as it says. */
static bool is_member(struct ask *q, const struct tables *t, const struct ask_group *g,
                      struct tpod *p, struct arena *a)
{
    if (p->named == t->naming) {
        note_fault(q, &q->faults.again, p->obj->name);
        return false;
    }
    p->named = t->naming;
    if (p->gang != q->gang) {
        note_fault(q, &q->faults.foreign, p->obj->name);
        return false;
    }
    str label = obj_label(p->obj, STR(LABEL_PCLQ));
    if (str_is_empty(label) || str_eq(label, g->name) || str_eq(label, name_label(a, g->name)))
        return true;
    note_fault(q, &q->faults.misplaced, p->obj->name);
    return false;
}

/* Pods that say they are of the gang and that it does not name; those of its groups are yet to be.
 */
static void find_unknown(struct ask *q, const struct tables *t, struct arena *a)
{
    list_foreach (it, &q->gang->pods) {
        const struct tpod *p = list_entry(it, struct tpod, link);
        str label = obj_label(p->obj, STR(LABEL_PCLQ));
        bool known = p->named == t->naming || str_is_empty(label) || p->obj->deleting;
        for (size_t i = 0; i < q->n_groups && !known; i++)
            known =
                str_eq(label, q->groups[i].name) || str_eq(label, name_label(a, q->groups[i].name));
        if (!known)
            note_fault(q, &q->faults.unknown, p->obj->name);
    }
}

/* A group is of the first set that names it. What a second one prefers becomes a preference of the
 * whole gang; what it requires cannot be had beside the first. */
static void join_bundle(struct ask *q, struct ask_group *g, int32_t bundle)
{
    if (g->bundle == CORE_NONE) {
        g->bundle = bundle;
        return;
    }
    q->scope.pref = MAX(q->scope.pref, q->bundles[bundle].pref);
    if (q->bundles[bundle].req > q->scope.req)
        q->wrong = STR("its topologyConstraintGroupConfigs overlap and both require a level");
}

/* Sets and groups may both be many: each name is looked up once. */
static void read_members(struct ask *q, jval configs)
{
    struct map first = MAP_INIT; /* 1 + number of the first group with a name */
    int32_t b = 0;
    for (size_t i = q->n_groups; q->n_bundles > 0 && i-- > 0;)
        (void)map_put(&first, q->groups[i].name, (void *)(i + 1));
    for (struct jiter it = jiter(configs); jnext(&it); b++) {
        for (struct jiter k = jiter(jgetc(it.value, "podGroupNames")); jnext(&k);) {
            size_t group = (size_t)map_get(&first, jstr(k.value));
            if (group)
                join_bundle(q, &q->groups[group - 1], b);
        }
    }
    map_done(&first);
}

static void read_reference(struct ask *q, struct tables *t, struct ask_group *g, str name,
                           struct arena *a)
{
    struct tpod *p = tables_pod(t, q->gang->obj->ns, name);
    q->faults.named++;
    q->faults.missing += !p;
    if (p && !is_member(q, t, g, p, a))
        return;
    g->coming += !p || (p->node == CORE_NONE && !p->obj->deleting);
    if (!p)
        return;
    g->members[g->n_members++] = p;
    if (tables_serve(t, p->obj))
        add_pod(q, t, g, p);
}

static void read_gang(struct ask *q, struct tables *t, struct arena *a)
{
    const struct obj *gang = q->gang->obj;
    jval spec = obj_spec(gang), list = jgetc(spec, "podgroups");
    jval configs = jgetc(spec, "topologyConstraintGroupConfigs");
    bool scheduled = gang_was_scheduled(gang);
    q->scope = read_scope(q, t, spec, a);
    /* And one for each group, see tie. */
    q->bundles = arena_array(a, struct core_scope, jlen(configs) + jlen(list) + 1);
    q->inside = arena_array(a, int32_t, jlen(configs) + jlen(list) + 1);
    for (size_t i = 0; i < jlen(configs) + jlen(list); i++) {
        q->bundles[i] = (struct core_scope){0, 0, CORE_NONE};
        q->inside[i] = CORE_NONE;
    }
    q->bundle_names = arena_array(a, str, jlen(configs) + 1);
    for (struct jiter it = jiter(configs); jnext(&it);) {
        q->bundle_names[q->n_bundles] = jstr(jgetc(it.value, "name"));
        q->bundles[q->n_bundles++] = read_scope(q, t, it.value, a);
    }
    q->groups = arena_array(a, struct ask_group, jlen(list) + 1);
    for (struct jiter it = jiter(list); jnext(&it);) {
        struct ask_group *g = &q->groups[q->n_groups++];
        g->name = jstr(jgetc(it.value, "name"));
        g->bundle = CORE_NONE;
    }
    read_members(q, configs);
    for (struct jiter it = jiter(list); jnext(&it);) {
        struct ask_group *g = &q->groups[it.index];
        jval references = jgetc(it.value, "podReferences");
        g->min = jint(jgetc(it.value, "minReplicas"), 0);
        g->scope = read_scope(q, t, it.value, a);
        g->pods = arena_array(a, struct tpod *, jlen(references) + 1);
        g->members = arena_array(a, struct tpod *, jlen(references) + 1);
        for (struct jiter k = jiter(references); jnext(&k);)
            read_reference(q, t, g, jstr(jgetc(k.value, "name")), a);
        q->bound += g->bound;
    }
    for (size_t i = 0; i < q->n_groups; i++)
        finish_group(q, &q->groups[i], scheduled && q->bound > 0);
    if (q->gang->n_pods + q->faults.missing > q->faults.named)
        find_unknown(q, t, a);
}

static void read_single(struct ask *q, struct tables *t, struct arena *a)
{
    struct tpod *p = list_entry(q->gang->pods.next, struct tpod, link);
    q->bundles = arena_new(a, struct core_scope);
    q->inside = arena_new(a, int32_t);
    q->groups = arena_new(a, struct ask_group);
    *q->groups = (struct ask_group){
        .name = p->obj->name, .min = 1, .scope = {0, 0, CORE_NONE}, .bundle = CORE_NONE};
    q->groups->pods = arena_array(a, struct tpod *, 2);
    q->n_groups = 1;
    q->scope.pin = CORE_NONE;
    if (tables_serve(t, p->obj))
        add_pod(q, t, q->groups, p);
    q->bound = q->groups->bound;
    finish_group(q, q->groups, false);
}

void ask_read(struct ask *q, struct tables *t, struct tgang *g, struct arena *a)
{
    *q = (struct ask){.gang = g, .tree = find_tree(t, g->obj), .home = CORE_NONE};
    t->naming++;
    if (g->single) {
        read_single(q, t, a);
        return;
    }
    read_gang(q, t, a);
    join_family(q, t);
    read_spread(q, t, a);
}

/* ---- questions ---- */

static struct core_leaf *find_leaf(struct ask *q, struct core_leaf *leaves, size_t group,
                                   size_t first, int32_t cls)
{
    const struct ask_group *g = &q->groups[group];
    for (size_t i = q->core.n_leaves; i-- > first;) {
        if (leaves[i].cls == cls)
            return &leaves[i];
    }
    size_t n = q->core.n_leaves++;
    leaves[n] = (struct core_leaf){g->scope, cls, 0, g->bundle};
    q->leaf_group[n] = (int32_t)group;
    return &leaves[n];
}

/* Leaves of a group that must share a domain are a bundle of their own; see ask.h. */
static void tie(struct ask *q, struct core_leaf *leaves, size_t group, size_t first)
{
    const struct ask_group *g = &q->groups[group];
    size_t own = q->n_bundles + group;
    q->bundles[own] = g->scope;
    q->inside[own] = g->bundle;
    q->core.inside = q->inside;
    q->core.n_bundles = q->n_bundles + q->n_groups;
    for (size_t i = first; i < q->core.n_leaves; i++) {
        leaves[i].bundle = (int32_t)own;
        leaves[i].scope = (struct core_scope){0, 0, CORE_NONE};
    }
}

/* Pods [from, to) of a group, one leaf for each class. False: they may not be placed as they are.
 */
static bool add_group(struct ask *q, struct tables *t, struct core_leaf *leaves, size_t group,
                      size_t from, size_t to, struct arena *a)
{
    struct ask_group *g = &q->groups[group];
    size_t first = q->core.n_leaves;
    for (size_t i = from; i < to; i++) {
        struct tpod *p = g->pods[i];
        if (!tables_judge(t, p)) {
            q->wrong = arena_printf(a, "%.*s: %.*s", STR_ARG(g->name), STR_ARG(p->refused));
            return false;
        }
        find_leaf(q, leaves, group, first, p->cls)->need++;
    }
    return true;
}

static bool must_be_tied(const struct ask *q, size_t group, size_t first)
{
    const struct core_scope *s = &q->groups[group].scope;
    return q->core.n_leaves > first + 1 && (s->req > 0 || s->pref > 0) && s->pin == CORE_NONE;
}

static struct core_leaf *begin(struct ask *q, struct arena *a)
{
    struct core_leaf *leaves = arena_array(a, struct core_leaf, q->waiting + 1);
    q->leaf_group = arena_array(a, int32_t, q->waiting + 1);
    q->core = (struct core_ask){.tree = q->tree,
                                .within = q->within,
                                .gang = q->scope,
                                .bundles = q->bundles,
                                .n_bundles = q->n_bundles,
                                .leaves = leaves};
    return leaves;
}

bool ask_minimum(struct ask *q, struct tables *t, struct arena *a)
{
    struct core_leaf *leaves = begin(q, a);
    read_spares(q, t, a);
    if (q->home != CORE_NONE && core_contains(t->core, q->tree, q->within, q->home)) {
        q->core.within = q->home;
    } else if (q->closed) {
        q->core.closed_level = q->spread_level;
        q->core.closed = q->closed;
        q->core.gang.req = MAX(q->core.gang.req, q->spread_level);
    }
    for (size_t i = 0; i < q->n_groups; i++) {
        size_t first = q->core.n_leaves;
        if (!add_group(q, t, leaves, i, 0, (size_t)q->groups[i].need, a))
            return false;
        if (must_be_tied(q, i, first))
            tie(q, leaves, i, first);
    }
    return q->core.n_leaves > 0;
}

bool ask_less(struct ask *q)
{
    if (q->spread_required || (q->core.closed_level == 0 && q->core.within == q->within))
        return false;
    q->core.closed_level = 0;
    q->core.within = q->within;
    q->core.gang = q->scope;
    return true;
}

bool ask_surplus(struct ask *q, struct tables *t, struct arena *a)
{
    if (q->gang->set)
        read_home(q, t); /* it may have one now */
    struct core_leaf *leaves = begin(q, a);
    if (q->home != CORE_NONE && core_contains(t->core, q->tree, q->within, q->home))
        q->core.within = q->home;
    for (size_t i = 0; i < q->n_groups; i++) {
        if (!add_group(q, t, leaves, i, q->groups[i].n_placed, q->groups[i].n_pods, a))
            return false;
    }
    return q->core.n_leaves > 0;
}

int32_t ask_pin(const struct ask *q, const char **ret_by)
{
    *ret_by = q->within ? q->within_by : "members";
    return q->within ? q->within : MAX(0, q->scope.pin);
}

int32_t ask_domain(const struct ask *q, const struct tables *t, const struct ask_group *g)
{
    const struct core_scope *scopes[] = {
        &q->scope, g->bundle == CORE_NONE ? &q->scope : &q->bundles[g->bundle], &g->scope};
    int32_t d = q->within;
    for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
        if (scopes[i]->pin >= 0 && core_contains(t->core, q->tree, d, scopes[i]->pin))
            d = scopes[i]->pin;
    }
    return d;
}

void ask_assign(struct ask *q, struct tables *t, const struct core_op *op,
                void (*fn)(void *ctx, struct tpod *p, int32_t node), void *ctx)
{
    struct ask_group *g = &q->groups[q->leaf_group[op->leaf]];
    for (int32_t left = op->count; left > 0; left--) {
        /* Classes come in runs, and leaves may be placed in any order. */
        size_t i = g->n_placed;
        while (g->pods[i]->cls != op->cls)
            i++;
        struct tpod *p = g->pods[i];
        memmove(&g->pods[g->n_placed + 1], &g->pods[g->n_placed],
                (i - g->n_placed) * sizeof(struct tpod *));
        g->pods[g->n_placed++] = p;
        pin_to(&g->scope, t, q->tree, op->node);
        pin_to(&q->scope, t, q->tree, op->node);
        if (g->bundle != CORE_NONE)
            pin_to(&q->bundles[g->bundle], t, q->tree, op->node);
        tables_assume(t, p, op->node);
        fn(ctx, p, op->node);
    }
}
