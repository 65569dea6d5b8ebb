/* See room.h. */
#include "explain/documents/room.h"

#include "base/map.h"
#include "explain/documents/paint.h"
#include "grove/names.h"
#include "grove/snapshot.h"
#include "grove/types.h"

enum { MAX_CLASSES = 64, MAX_ADVICE = 8, MAX_LOOKS = 1000000 };

/* Pods that ask for the same, and that the same nodes admit. */
struct class
{
    const struct obj *model;
    str roles;
    str level;
    struct demand demand;
    int64_t need;
};

struct count {
    const struct picture *picture;
    const struct obj *gang;
    struct arena *arena;
    struct snapshot snap;
    struct snap_node *nodes;
    size_t n_nodes;
    int64_t (*free)[RES_MAX]; /* by node */
    struct class classes[MAX_CLASSES];
    size_t n_classes;
};

/* ---- what there is ---- */

static void read_nodes(struct count *c)
{
    const struct session_list *nodes = &c->picture->parts[PICTURE_NODES];
    c->nodes = arena_array(c->arena, struct snap_node, nodes->n + 1);
    c->free = (int64_t(*)[RES_MAX])arena_array(c->arena, struct demand, nodes->n + 1);
    for (size_t i = 0; i < nodes->n; i++) {
        struct snap_node *n = &c->nodes[c->n_nodes++];
        snapshot_read_node(&c->snap, nodes->items[i], n);
        memcpy(c->free[i], n->total, sizeof(n->total));
    }
}

static void take_pods(struct count *c)
{
    const struct session_list *pods = &c->picture->parts[PICTURE_ALL_PODS];
    struct map by_name = {0};
    for (size_t i = 0; i < c->n_nodes; i++)
        (void)map_put(&by_name, c->nodes[i].name, &c->nodes[i]);
    for (size_t i = 0; i < pods->n; i++) {
        const struct obj *pod = pods->items[i];
        struct snap_node *n =
            pod_holds_node(pod) ? map_get(&by_name, jstr(jgetc(obj_spec(pod), "nodeName"))) : NULL;
        struct demand d;
        str why;
        if (!n)
            continue;
        (void)snapshot_demand(&c->snap, pod, &d, &why);
        for (size_t r = 0; r < RES_MAX; r++)
            c->free[n - c->nodes][r] -= d.amount[r];
    }
    map_done(&by_name);
}

/* ---- what is asked for ---- */

/* The level that binds this kind of pod: the narrowest of the gang's and its group's. */
static str required_level(const struct obj *gang, const struct obj *pod)
{
    jval spec = obj_spec(gang);
    str level = jstr(jpath(spec, "topologyConstraint.packConstraint.required"));
    for (struct jiter it = jiter(jgetc(spec, "podgroups")); jnext(&it);) {
        str own = jstr(jpath(it.value, "topologyConstraint.packConstraint.required"));
        if (!str_is_empty(own) &&
            name_has_label(jstr(jgetc(it.value, "name")), obj_label(pod, STR(LABEL_PCLQ))))
            level = own;
    }
    return level;
}

static bool is_same(jval a, jval b)
{
    return j_has(a) == j_has(b) && (!j_has(a) || jequal(a, b));
}

/* Everything that node_admits() reads of a pod. */
static bool is_admitted_alike(const struct obj *a, const struct obj *b)
{
    static const char *const fields[] = {
        "tolerations", "nodeSelector",
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (!is_same(jpath(obj_spec(a), fields[i]), jpath(obj_spec(b), fields[i])))
            return false;
    }
    return true;
}

static void add_role(struct class *k, str role, struct arena *a)
{
    str rest = k->roles;
    while (rest.len > 0) {
        if (str_eq(str_cut(&rest, '+'), role))
            return;
    }
    k->roles = k->roles.len ? arena_printf(a, "%.*s+%.*s", STR_ARG(k->roles), STR_ARG(role)) : role;
}

static struct class *class_of(struct count *c, const struct obj *pod)
{
    struct demand d;
    str why, level = required_level(c->gang, pod), role = obj_label(pod, STR(LABEL_ROLE));
    size_t i = 0;
    (void)snapshot_demand(&c->snap, pod, &d, &why);
    while (i < c->n_classes &&
           !(memcmp(&c->classes[i].demand, &d, sizeof(d)) == 0 &&
             str_eq(c->classes[i].level, level) && is_admitted_alike(c->classes[i].model, pod)))
        i++;
    if (i == MAX_CLASSES)
        return NULL;
    if (i == c->n_classes)
        c->classes[c->n_classes++] = (struct class){.model = pod, .demand = d, .level = level};
    add_role(&c->classes[i], role, c->arena);
    return &c->classes[i];
}

static void read_group(struct count *c, jval group, const struct map *pods)
{
    int64_t need = jint(jgetc(group, "minReplicas"), 0);
    for (struct jiter it = jiter(jgetc(group, "podReferences")); jnext(&it) && need > 0;) {
        const struct obj *pod = map_get(pods, jstr(jgetc(it.value, "name")));
        need -= pod && pod_holds_node(pod);
    }
    for (struct jiter it = jiter(jgetc(group, "podReferences")); jnext(&it) && need > 0;) {
        const struct obj *pod = map_get(pods, jstr(jgetc(it.value, "name")));
        struct class *k = pod && !pod_holds_node(pod) && !pod->deleting ? class_of(c, pod) : NULL;
        if (!k)
            continue;
        k->need++;
        need--;
    }
}

static void read_gang(struct count *c)
{
    const struct session_list *pods = &c->picture->parts[PICTURE_ALL_PODS];
    struct map by_name = {0};
    for (size_t i = 0; i < pods->n; i++) {
        if (str_eq(pods->items[i]->ns, c->gang->ns))
            (void)map_put(&by_name, pods->items[i]->name, pods->items[i]);
    }
    for (struct jiter it = jiter(jgetc(obj_spec(c->gang), "podgroups")); jnext(&it);)
        read_group(c, it.value, &by_name);
    map_done(&by_name);
}

/* ---- where it fits ---- */

/* How many pods of the class the node takes, out of what it has of each resource. */
static int64_t slots_of(const struct count *c, const struct class *k, size_t node,
                        const int64_t *has)
{
    int64_t slots = INT32_MAX;
    if (!node_admits(&c->nodes[node], k->model))
        return 0;
    for (size_t r = 0; r < c->snap.n_resources; r++) {
        if (k->demand.amount[r] > 0)
            slots = MIN(slots, MAX(has[r], 0) / k->demand.amount[r]);
    }
    return slots;
}

static int64_t slots_on(const struct count *c, const struct class *k, size_t node)
{
    return slots_of(c, k, node, c->free[node]);
}

static const struct class *shortest(struct count *c, int64_t *ret_total)
{
    const struct class *worst = NULL;
    for (size_t k = 0; k < c->n_classes; k++) {
        const struct class *x = &c->classes[k];
        int64_t total = 0;
        for (size_t i = 0; i < c->n_nodes; i++)
            total += slots_on(c, x, i);
        /* By the share of what is needed that fits. */
        if (x->need > 0 && (!worst || total * worst->need < *ret_total * x->need)) {
            worst = x;
            *ret_total = total;
        }
    }
    return worst;
}

static void add_dead(const struct count *c, const struct snap_node *n, struct room *ret)
{
    if (ret->dead++ < ROOM_BEST)
        ret->dead_names = arena_printf(c->arena, "%.*s%s%.*s", STR_ARG(ret->dead_names),
                                       ret->dead_names.len ? ", " : "", STR_ARG(n->name));
}

static void count_lacks(const struct count *c, const struct class *k, struct room *ret)
{
    int64_t lacking[RES_MAX] = {0};
    size_t most = RES_PODS;
    for (size_t i = 0; i < c->n_nodes; i++) {
        if (!node_admits(&c->nodes[i], k->model)) {
            ret->refused++;
            ret->cordoned += c->nodes[i].cordoned && node_is_wanted(&c->nodes[i], k->model);
            if (!c->nodes[i].open && !c->nodes[i].cordoned)
                add_dead(c, &c->nodes[i], ret);
            continue;
        }
        int64_t slots = slots_on(c, k, i);
        for (size_t r = 0; r < c->snap.n_resources; r++)
            lacking[r] += k->demand.amount[r] > 0 &&
                          c->free[i][r] - slots * k->demand.amount[r] < k->demand.amount[r];
    }
    for (size_t r = 0; r < c->snap.n_resources; r++) {
        if (lacking[r] > lacking[most])
            most = r;
    }
    if (lacking[most] == 0)
        return;
    ret->resource = c->snap.resources[most];
    ret->each = k->demand.amount[most];
}

static int by_slots(const void *a, const void *b)
{
    const struct room_domain *x = a, *y = b;
    if (x->slots != y->slots)
        return x->slots > y->slots ? -1 : 1;
    return str_cmp(x->name, y->name);
}

static void rank_domains(const struct count *c, const struct class *k, struct room *ret)
{
    struct room_domain *domains = arena_array(c->arena, struct room_domain, c->n_nodes + 1);
    struct map by_name = {0};
    int64_t empty = 0;
    for (size_t i = 0; i < c->n_nodes; i++) {
        str name =
            str_is_empty(ret->level) ? c->nodes[i].name : obj_label(c->nodes[i].obj, ret->level);
        if (str_is_empty(name))
            continue;
        struct room_domain *d = map_get(&by_name, name);
        if (!d) {
            d = &domains[ret->n_domains++];
            d->name = name;
            (void)map_put(&by_name, name, d);
        }
        d->nodes++;
        d->slots += slots_on(c, k, i);
        d->whole += slots_of(c, k, i, c->nodes[i].total);
        empty += slots_of(c, k, i, c->nodes[i].total);
        ret->largest = MAX(ret->largest, d->whole);
    }
    map_done(&by_name);
    if (str_is_empty(ret->level))
        ret->largest = empty;
    if (ret->n_domains > 1)
        qsort(domains, ret->n_domains, sizeof(*domains), by_slots);
    ret->n_best = MIN(ret->n_domains, (size_t)ROOM_BEST);
    memcpy(ret->best, domains, ret->n_best * sizeof(*domains));
}

/* Of what would one pod be too large for every node that admits it? */
static void find_too_small(const struct count *c, const struct class *k, struct room *ret)
{
    if (ret->refused == ret->nodes)
        return;
    for (size_t r = 0; r < c->snap.n_resources && str_is_empty(ret->too_small); r++) {
        int64_t most = 0;
        for (size_t i = 0; i < c->n_nodes; i++)
            most = node_admits(&c->nodes[i], k->model) ? MAX(most, c->nodes[i].total[r]) : most;
        if (k->demand.amount[r] <= most)
            continue;
        ret->too_small = c->snap.resources[r];
        ret->asks = k->demand.amount[r];
        ret->most = most;
    }
}

static bool may_hold(const struct count *c, const struct class *k, size_t node,
                     const struct room *r)
{
    return str_is_empty(k->level) || !str_eq(k->level, r->level) || r->n_best == 0 ||
           str_eq(obj_label(c->nodes[node].obj, k->level), r->best[0].name);
}

/* Puts as many pods of the class as fit and takes what they ask for; how many are left over. */
static int64_t place_class(const struct count *c, const struct class *k, const struct room *r,
                           int64_t (*has)[RES_MAX])
{
    int64_t left = k->need;
    for (size_t i = 0; i < c->n_nodes && left > 0; i++) {
        int64_t n = may_hold(c, k, i, r) ? MIN(left, slots_of(c, k, i, has[i])) : 0;
        for (size_t x = 0; n > 0 && x < c->snap.n_resources; x++)
            has[i][x] -= n * k->demand.amount[x];
        left -= n;
    }
    return left;
}

/* How much of resource res would have to be freed for one more pod of the class there; negative:
 * the node is too small, whoever leaves. */
static int64_t gap_on(const struct count *c, const struct class *k, size_t node, size_t res,
                      const int64_t *has)
{
    int64_t each = k->demand.amount[res];
    if (!node_admits(&c->nodes[node], k->model))
        return -1;
    for (size_t x = 0; x < c->snap.n_resources; x++) {
        int64_t own = c->free[node][x] - has[x] + k->demand.amount[x];
        if (own > c->nodes[node].total[x])
            return -1;
    }
    return each - MIN(MAX(has[res], 0), each);
}

/* Makes room for pods without a place where least has to go; how much of res that is. Names the
 * node when it is for one pod, and part of it is free. */
static int64_t free_for(const struct count *c, const struct class *k, struct room *r,
                        int64_t (*has)[RES_MAX], int64_t left, size_t res)
{
    int64_t each = k->demand.amount[res], all = 0;
    if (left * (int64_t)c->n_nodes > MAX_LOOKS)
        return left * each;
    for (int64_t n = 0; n < left; n++) {
        size_t best = c->n_nodes;
        int64_t least = each;
        for (size_t i = 0; i < c->n_nodes; i++) {
            int64_t gap = may_hold(c, k, i, r) ? gap_on(c, k, i, res, has[i]) : -1;
            if (gap < 0 || (best < c->n_nodes && gap >= least))
                continue;
            best = i;
            least = gap;
        }
        all += least;
        if (best == c->n_nodes)
            continue;
        if (left == 1 && least < each) {
            r->near = c->nodes[best].name;
            r->near_free = each - least;
        }
        for (size_t x = 0; x < c->snap.n_resources; x++)
            has[best][x] -= k->demand.amount[x];
    }
    return all;
}

/* All roles of the gang together, those with the largest pods first: what has no place, in words.
 * Where others hold nodes, adds up what they would have to leave of resource res. */
static str place_gang(const struct count *c, struct room *r, bool empty, size_t res,
                      const char *more)
{
    int64_t(*has)[RES_MAX] =
        (int64_t(*)[RES_MAX])arena_array(c->arena, struct demand, c->n_nodes + 1);
    bool done[MAX_CLASSES] = {false};
    str text = STR_NONE;
    for (size_t i = 0; i < c->n_nodes; i++)
        memcpy(has[i], empty ? c->nodes[i].total : c->free[i], sizeof(has[i]));
    for (size_t round = 0; round < c->n_classes; round++) {
        size_t k = c->n_classes;
        for (size_t i = 0; i < c->n_classes; i++) {
            if (!done[i] && (k == c->n_classes ||
                             c->classes[i].demand.amount[res] > c->classes[k].demand.amount[res]))
                k = i;
        }
        done[k] = true;
        int64_t left = place_class(c, &c->classes[k], r, has);
        if (left > 0 && !empty)
            r->short_of += free_for(c, &c->classes[k], r, has, left, res);
        if (left > 0 && text.len > 0)
            r->near = STR_NONE; /* it is not for one pod */
        if (left > 0)
            text = arena_printf(c->arena, "%.*s%s%lld%s %.*s pod%s", STR_ARG(text),
                                text.len ? " and " : "", (long long)left, more,
                                STR_ARG(c->classes[k].roles), paint_plural(left));
    }
    return text;
}

static int by_amount(const void *a, const void *b)
{
    const struct room_holder *x = a, *y = b;
    if (x->amount != y->amount)
        return x->amount > y->amount ? -1 : 1;
    return str_cmp(x->gang, y->gang);
}

static size_t resource_of(const struct count *c, str name)
{
    size_t r = 0;
    while (r < c->snap.n_resources && !str_eq(c->snap.resources[r], name))
        r++;
    return r;
}

/* Of the same set: it does not compete with itself. */
static bool is_kin(const struct count *c, const struct obj *pod)
{
    str key = STR(LABEL_PART_OF);
    return str_eq(pod->ns, c->gang->ns) && str_eq(obj_label(pod, key), obj_label(c->gang, key));
}

static void rank_holders(struct count *c, struct room *ret)
{
    const struct session_list *pods = &c->picture->parts[PICTURE_ALL_PODS];
    struct room_holder *holders = arena_array(c->arena, struct room_holder, pods->n + 1);
    struct map by_name = {0};
    size_t n = 0, r = resource_of(c, ret->resource);
    for (size_t i = 0; i < pods->n && r < c->snap.n_resources; i++) {
        str gang = obj_label(pods->items[i], STR(LABEL_PODGANG)), why;
        struct demand d;
        if (str_is_empty(gang) || !pod_holds_node(pods->items[i]) || is_kin(c, pods->items[i]))
            continue;
        (void)snapshot_demand(&c->snap, pods->items[i], &d, &why);
        struct room_holder *h = map_get(&by_name, gang);
        if (!h && d.amount[r] > 0) {
            h = &holders[n++];
            h->gang = picture_gang_of(c->picture, pods->items[i]);
            (void)map_put(&by_name, gang, h);
        }
        if (h)
            h->amount += d.amount[r];
    }
    map_done(&by_name);
    if (n > 1)
        qsort(holders, n, sizeof(*holders), by_amount);
    ret->n_holders = MIN(n, (size_t)ROOM_BEST);
    memcpy(ret->holders, holders, ret->n_holders * sizeof(*holders));
}

/* "gpu=x,disk=fast" */
static str selector_text(jval selector, struct arena *a)
{
    str text = STR_NONE;
    for (struct jiter it = jiter(selector); jnext(&it);)
        text = arena_printf(a, "%.*s%s%.*s=%.*s", STR_ARG(text), text.len ? "," : "",
                            STR_ARG(it.key), STR_ARG(jstr(it.value)));
    return text;
}

bool room_of_gang(const struct picture *p, const struct obj *gang, struct arena *a,
                  struct room *ret)
{
    struct count c = {.picture = p, .gang = gang, .arena = a};
    c.snap = (struct snapshot){.arena = a,
                               .resources = {STR("cpu"), STR("memory"), STR("pods")},
                               .n_resources = RES_FIRST_OTHER};
    *ret = (struct room){0};
    read_nodes(&c);
    take_pods(&c);
    read_gang(&c);
    const struct class *k = shortest(&c, &ret->total);
    if (!k)
        return false;
    ret->need = k->need;
    ret->role = k->roles;
    ret->nodes = (int64_t)c.n_nodes;
    ret->level = k->level;
    ret->selector = selector_text(jgetc(obj_spec(k->model), "nodeSelector"), a);
    count_lacks(&c, k, ret);
    rank_domains(&c, k, ret);
    if (ret->refused == ret->nodes)
        ret->n_best = 0; /* none is nearer than another */
    find_too_small(&c, k, ret);
    size_t res = resource_of(&c, ret->resource);
    if (res < c.snap.n_resources) {
        ret->without = place_gang(&c, ret, false, res, " more");
        if (str_is_empty(ret->level)) /* else another domain might hold it */
            ret->without_ever = place_gang(&c, ret, true, res, "");
    }
    rank_holders(&c, ret);
    return true;
}

/* ---- words ---- */

static bool is_bytes(str resource)
{
    return str_is(resource, "memory") || str_is(resource, "ephemeral-storage") ||
           str_starts(resource, STR("hugepages-"));
}

/* Whole numbers of a unit while they are short, "62.7Gi" otherwise: rounded down. */
static str bytes_text(struct arena *a, int64_t amount)
{
    static const struct {
        int shift;
        const char *unit;
    } units[] = {{30, "Gi"}, {20, "Mi"}, {10, "Ki"}};
    enum { SHORT = 10000 };
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        int64_t one = (int64_t)1 << units[i].shift, n = amount / one;
        if (amount % one == 0 && n > 0 && (n < SHORT || i == 0))
            return arena_printf(a, "%lld%s", (long long)n, units[i].unit);
    }
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        int64_t one = (int64_t)1 << units[i].shift;
        if (amount / one > 0 && (i < 2 || amount >= SHORT))
            return arena_printf(a, "%lld.%lld%s", (long long)(amount / one),
                                (long long)(amount % one * 10 / one), units[i].unit);
    }
    return arena_printf(a, "%lld", (long long)amount);
}

str room_amount(struct arena *a, str resource, int64_t amount)
{
    if (str_is(resource, "cpu"))
        return amount % 1000 ? arena_printf(a, "%lldm", (long long)amount)
                             : arena_printf(a, "%lld", (long long)(amount / 1000));
    return is_bytes(resource) ? bytes_text(a, amount) : arena_printf(a, "%lld", (long long)amount);
}

/* "the cluster", or "the largest kubernetes.io/rack". */
static str whole_text(const struct room *r, struct arena *a)
{
    return str_is_empty(r->level) ? STR("the cluster")
                                  : arena_printf(a, "the largest %.*s", STR_ARG(r->level));
}

/* Nodes would have to be there, or to be free. */
static str room_to_make(const struct room *r, struct arena *a)
{
    bool inside = !str_is_empty(r->level) && r->n_best;
    if (!str_is_empty(r->too_small))
        return arena_printf(
            a, "no node is large enough: a %.*s pod asks for %.*s %.*s, the largest has %.*s",
            STR_ARG(r->role), STR_ARG(room_amount(a, r->too_small, r->asks)), STR_ARG(r->too_small),
            STR_ARG(room_amount(a, r->too_small, r->most)));
    if (r->largest < r->need)
        return arena_printf(a, "add nodes: %.*s takes only %lld %.*s pod%s even when it is empty",
                            STR_ARG(whole_text(r, a)), (long long)r->largest, STR_ARG(r->role),
                            paint_plural(r->largest));
    if (!str_is_empty(r->without_ever))
        return arena_printf(a, "add nodes: the cluster has no room for %.*s even when it is empty",
                            STR_ARG(r->without_ever));
    if (r->short_of == 0)
        return STR_NONE;
    if (!str_is_empty(r->near))
        return arena_printf(a, "free %.*s %.*s on %.*s, where %.*s of %.*s are free: room for %.*s",
                            STR_ARG(room_amount(a, r->resource, r->short_of)), STR_ARG(r->resource),
                            STR_ARG(r->near), STR_ARG(room_amount(a, r->resource, r->near_free)),
                            STR_ARG(room_amount(a, r->resource, r->short_of + r->near_free)),
                            STR_ARG(r->without));
    return arena_printf(a, "free %.*s %.*s%s%.*s: room for %.*s",
                        STR_ARG(room_amount(a, r->resource, r->short_of)), STR_ARG(r->resource),
                        inside ? " in " : "", STR_ARG(inside ? r->best[0].name : STR_NONE),
                        STR_ARG(r->without));
}

static str nodes_to_open(const struct room *r, struct arena *a)
{
    return arena_printf(
        a, "make more nodes admit it: %lld of %lld do not (%s%.*s%s)",
        (long long)(r->refused - r->cordoned - r->dead), (long long)r->nodes,
        r->selector.len ? "it asks for " : "taints, selector, ", STR_ARG(r->selector),
        r->selector.len ? "; taints, affinity and readiness count too" : "affinity or readiness");
}

size_t room_advice(const struct room *r, struct arena *a, str *ret, size_t max)
{
    size_t n = 0;
    str all[MAX_ADVICE];
    bool level = !str_is_empty(r->level);
    int64_t best = !level ? r->total : r->n_best ? r->best[0].slots : 0;
    int64_t lack = r->need - best;
    bool missing = lack > 0 || r->short_of > 0;
    str make = missing && r->refused < r->nodes ? room_to_make(r, a) : STR_NONE;
    if (level && r->n_domains == 0 && r->nodes > 0)
        all[n++] = arena_printf(a,
                                "label the nodes, or correct the key of that level in the "
                                "ClusterTopologyBinding: no node has the label %.*s",
                                STR_ARG(r->level));
    else if (make.len)
        all[n++] = make;
    if (r->nodes == 0)
        all[n++] = STR("add nodes: there are none");
    if (level && r->n_domains > 0 && best < r->need && r->total >= r->need)
        all[n++] = arena_printf(a,
                                "let it span more than one %.*s: it needs room for %lld pods, and "
                                "the cluster has room for %lld",
                                STR_ARG(r->level), (long long)r->need, (long long)r->total);
    if (r->cordoned > 0)
        all[n++] = arena_printf(a, "uncordon nodes: %lld of %lld are cordoned",
                                (long long)r->cordoned, (long long)r->nodes);
    if (r->dead > 0)
        all[n++] = arena_printf(a, "bring nodes back: %lld of %lld are not ready (%.*s%s)",
                                (long long)r->dead, (long long)r->nodes, STR_ARG(r->dead_names),
                                r->dead > ROOM_BEST ? ", ..." : "");
    if (r->refused > r->cordoned + r->dead)
        all[n++] = nodes_to_open(r, a);
    if (lack > 0 && best > 0)
        all[n++] = arena_printf(
            a, "ask for less: at most %lld of the %lld %.*s pods %s, not counting other roles",
            (long long)best, (long long)r->need, STR_ARG(r->role), paint_verb(best, "fits", "fit"));
    if (missing && r->largest >= r->need && str_is_empty(r->without_ever) && r->n_holders > 0)
        all[n++] = arena_printf(
            a, "give it a priority above that of gang %.*s, which holds %.*s %.*s",
            STR_ARG(r->holders[0].gang), STR_ARG(room_amount(a, r->resource, r->holders[0].amount)),
            STR_ARG(r->resource));
    n = MIN(n, max);
    memcpy(ret, all, n * sizeof(*ret));
    return n;
}
