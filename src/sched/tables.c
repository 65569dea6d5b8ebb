/* Caches to tables, change by change; see tables.h. */
#include "sched/tables.h"

#include "grove/names.h"
#include "grove/types.h"
#include "sched/claims.h"
#include "sched/hold.h"
#include "sched/lease.h"
#include "sched/quota.h"
#include "sched/tell.h"
#include "sched/terms.h"
#include "json/write.h"

/* ---- pods and gangs ---- */

bool tables_serve(const struct tables *t, const struct obj *pod)
{
    str name = jstr(jgetc(obj_spec(pod), "schedulerName"));
    if (str_is_empty(name))
        name = STR("default-scheduler");
    for (size_t i = 0; i < t->sched->n_names; i++) {
        if (str_is(name, t->sched->names[i]))
            return true;
    }
    return false;
}

static struct tgang *gang_ensure(struct tables *t, str key)
{
    struct tgang *g = map_get(&t->gangs, key);
    if (g)
        return g;
    g = xcalloc(1, sizeof(*g) + key.len + 1);
    memcpy(g->key, key.p, key.len);
    list_init(&g->pods);
    list_init(&g->link);
    list_init(&g->kin);
    list_init(&g->open);
    list_init(&g->trim);
    list_init(&g->stored);
    list_init(&g->doubt);
    g->queue = QUOTA_UNREAD;
    g->single = key.len > 0 && key.p[0] == '/';
    (void)map_put(&t->gangs, str_n(g->key, key.len), g);
    return g;
}

static void gang_forget_if_empty(struct tables *t, struct tgang *g)
{
    if (g->obj || !list_is_empty(&g->pods))
        return;
    lease_gang_gone(t, g);
    hold_gang_gone(t, g);
    (void)map_del(&t->gangs, str_of(g->key));
    list_remove(&g->link);
    list_remove(&g->trim);
    list_remove(&g->stored);
    list_remove(&g->doubt);
    free(g);
}

/* ---- kinship ---- */

static void gang_leave_set(struct tables *t, struct tgang *g)
{
    struct tset *set = g->set;
    struct tgroup *group = g->group;
    list_remove(&g->kin);
    list_remove(&g->open);
    g->set = NULL;
    g->group = NULL;
    if (set && list_is_empty(&set->gangs)) {
        (void)map_del(&t->sets, str_of(set->uid));
        free(set);
    }
    if (!group)
        return;
    group->total--;
    group->placed -= g->n_bound > 0;
    if (group->total == 0) {
        (void)map_del(&t->groups, str_of(group->key));
        free(group);
    }
}

static struct tset *set_ensure(struct tables *t, str uid)
{
    struct tset *set = map_get(&t->sets, uid);
    if (set)
        return set;
    set = xcalloc(1, sizeof(*set) + uid.len + 1);
    memcpy(set->uid, uid.p, uid.len);
    list_init(&set->gangs);
    list_init(&set->open);
    (void)map_put(&t->sets, str_n(set->uid, uid.len), set);
    return set;
}

static struct tgroup *group_ensure(struct tables *t, str ns, str label)
{
    struct arena a = ARENA_INIT;
    str key = arena_cat(&a, ns, STR("/"), label);
    struct tgroup *group = map_get(&t->groups, key);
    if (!group) {
        group = xcalloc(1, sizeof(*group) + key.len + 1);
        memcpy(group->key, key.p, key.len);
        (void)map_put(&t->groups, str_n(group->key, key.len), group);
    }
    arena_done(&a);
    return group;
}

/* It may want pods again; who walks the list drops those that do not. */
static void gang_open(struct tgang *g)
{
    if (g->set && !list_is_linked(&g->open))
        list_push_back(&g->set->open, &g->open);
}

/* Its owner and its labels say whose it is; neither changes in the life of a gang. */
static void gang_join_set(struct tables *t, struct tgang *g)
{
    str label = obj_label(g->obj, STR(LABEL_PCSG)), name = g->obj->name;
    if (g->set || str_is_empty(g->obj->owner_uid))
        return;
    g->set = set_ensure(t, g->obj->owner_uid);
    list_push_back(&g->set->gangs, &g->kin);
    gang_open(g);
    ptrdiff_t dash = str_rfind_char(name, '-');
    if (dash < 0 || !str_to_int(str_sub(name, (size_t)dash + 1, name.len), &g->index))
        g->index = 0;
    if (str_is_empty(label))
        return;
    g->group = group_ensure(t, g->obj->ns, label);
    g->group->total++;
    g->group->placed += g->n_bound > 0;
}

/* Look at it in the next round. */
static void gang_wake(struct tables *t, struct tgang *g)
{
    list_remove(&g->link);
    list_push_back(&t->ready, &g->link);
    g->parked = false;
}

/* Something about it changed: what was found out of it is not so any more. */
static void gang_touch(struct tables *t, struct tgang *g)
{
    gang_wake(t, g);
    g->hopeless = 0;
}

void tables_park(struct tables *t, struct tgang *g, const struct core_cert *cert, int32_t tree)
{
    list_remove(&g->link);
    list_push_back(&t->parked, &g->link);
    g->parked = true;
    g->cert = *cert;
    g->cert_tree = tree;
}

void tables_wake(struct tables *t)
{
    if (t->growth_seen == core_growth(t->core))
        return;
    t->growth_seen = core_growth(t->core);
    for (struct list *it = t->parked.next, *next; it != &t->parked; it = next) {
        struct tgang *g = list_entry(it, struct tgang, link);
        next = it->next;
        if (g->n_leases > 0 || !core_cert_holds(t->core, &g->cert, g->cert_tree))
            gang_wake(t, g);
    }
}

struct tgang *tables_gang(struct tables *t, str ns, str name)
{
    struct arena a = ARENA_INIT;
    str key = arena_cat(&a, ns, STR("/"), name_label(&a, name));
    struct tgang *g = map_get(&t->gangs, key);
    arena_done(&a);
    return g;
}

/* Classes of the core are made here and nowhere else. */
struct tclass *tables_class(struct tables *t, int32_t cls)
{
    return t->class_list.p[cls];
}

struct tpod *tables_pod(struct tables *t, str ns, str name)
{
    struct arena a = ARENA_INIT;
    struct tpod *p = map_get(&t->pods, arena_cat(&a, ns, STR("/"), name));
    arena_done(&a);
    return p;
}

int32_t tables_node(const struct tables *t, str name)
{
    size_t lo = 0, hi = t->snap.nodes.len;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int c = str_cmp(t->snap.nodes.p[mid].name, name);
        if (c == 0)
            return (int32_t)mid;
        if (c < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return CORE_NONE;
}

/* ---- classes ---- */

static void key_add(struct strbuf *b, jval v)
{
    strbuf_add_char(b, '\n');
    if (!j_is_absent(v))
        json_pretty(v, 0, b);
}

/* Everything about a pod itself that decides where it may go and what it takes there. */
static void class_key(const struct obj *pod, struct strbuf *b)
{
    jval spec = obj_spec(pod);
    static const char *const lists[] = {"containers", "initContainers"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (struct jiter it = jiter(jget(spec, str_of(lists[i]))); jnext(&it);) {
            key_add(b, jpath(it.value, "resources.requests"));
            key_add(b, jgetc(it.value, "restartPolicy"));
            jval excess = container_excess(pod, it.value);
            if (j_has(excess))
                key_add(b, excess);
        }
        strbuf_add_char(b, ';');
    }
    static const char *const fields[] = {"overhead", "resources", "nodeSelector", "tolerations"};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        key_add(b, jget(spec, str_of(fields[i])));
    key_add(b, jpath(spec, "affinity.nodeAffinity"));
    key_add(b, jget(pod->annotations, STR("gpu-fraction")));
    key_add(b, jget(pod->annotations, STR("gpu-memory")));
}

/* Most changes are of the status and say nothing of that. */
static bool class_differs(const struct obj *old, const struct obj *new)
{
    if (jequal(obj_spec(old), obj_spec(new)) && jequal(old->annotations, new->annotations))
        return containers_differ(old, new);
    struct strbuf a = STRBUF_INIT((size_t)4 << 20), b = STRBUF_INIT((size_t)4 << 20);
    class_key(old, &a);
    class_key(new, &b);
    bool differs = !str_eq(strbuf_str(&a), strbuf_str(&b));
    strbuf_done(&a);
    strbuf_done(&b);
    return differs;
}

static size_t list_amounts(const struct tables *t, const struct demand *d, struct core_amount *ret)
{
    size_t n = 0;
    for (size_t r = 0; r < t->snap.n_resources; r++) {
        if (d->amount[r] > 0)
            ret[n++] = (struct core_amount){(int32_t)r, d->amount[r]};
    }
    return n;
}

/* Wishes about nodes; NULL when all nodes are equal in that. */
static uint8_t *read_penalties(const struct tables *t, const struct obj *pod,
                               const uint8_t *admitted, uint8_t *ret_even)
{
    size_t n = t->snap.nodes.len;
    uint8_t *penalty = xcalloc(n + 1, 1);
    bool differ = false;
    int first = -1;
    for (size_t i = 0; i < n; i++) {
        if (!admitted[i])
            continue;
        penalty[i] = node_penalty(&t->snap.nodes.p[i], pod);
        first = first < 0 ? penalty[i] : first;
        differ = differ || penalty[i] != first;
    }
    *ret_even = (uint8_t)MAX(first, 0);
    if (differ)
        return penalty;
    free(penalty);
    return NULL;
}

static bool is_admitted(struct tables *t, const struct obj *pod, const struct snap_node *n)
{
    return node_admits(n, pod) && claims_admit(t, pod, n);
}

static struct tclass *class_make(struct tables *t, str key, const struct obj *pod)
{
    struct tclass *k = arena_new(&t->arena, struct tclass);
    struct demand d;
    struct core_amount amounts[RES_MAX];
    size_t n = t->snap.nodes.len, resources = t->snap.n_resources;
    uint8_t *admitted = xcalloc(n + 1, 1);
    k->key = arena_str(&t->arena, key);
    k->model = obj_hold(&t->arena, obj_ref(pod));
    bool judged = snapshot_demand(&t->snap, pod, &d, &k->refused);
    /* A resource that no node has and nobody asked for before: no column for it. */
    if (t->snap.n_resources > resources) {
        if (judged)
            k->refused = arena_printf(&t->arena, "no node has any %.*s",
                                      STR_ARG(t->snap.resources[resources]));
        judged = false;
        t->snap.n_resources = resources;
    }
    if (judged && !str_is_empty(claims_refusal(t, pod, &t->arena))) {
        k->refused = STR("it has claims that cannot be judged"); /* each pod says which */
        judged = false;
    }
    for (size_t i = 0; i < n && judged; i++)
        admitted[i] = is_admitted(t, pod, &t->snap.nodes.p[i]);
    struct term_use use;
    terms_use(t, pod, &use);
    if (judged && !str_is_empty(use.refused))
        k->refused = use.refused;
    struct core_class_def def = {.amounts = amounts,
                                 .n_amounts = list_amounts(t, &d, amounts),
                                 .admitted = admitted,
                                 .per_node = use.alone ? 1 : CORE_UNLIMITED,
                                 .counts = use.counts.p,
                                 .n_counts = use.counts.len,
                                 .avoids = use.avoids.p,
                                 .n_avoids = use.avoids.len,
                                 .wants = use.wants.p,
                                 .n_wants = use.wants.len,
                                 .spreads = use.spreads.p,
                                 .n_spreads = use.spreads.len,
                                 .wishes = use.wishes.p,
                                 .n_wishes = use.wishes.len};
    def.penalty = read_penalties(t, pod, admitted, &def.even);
    k->cls = core_add_class(t->core, &def);
    terms_use_done(&use);
    free((void *)def.penalty);
    free(admitted);
    (void)map_put(&t->classes, k->key, k);
    *vec_push(&t->class_list) = k;
    return k;
}

static const struct tclass *class_of(struct tables *t, const struct obj *pod)
{
    struct strbuf b = STRBUF_INIT((size_t)4 << 20);
    class_key(pod, &b);
    claims_key(t, pod, &b);
    terms_key(t, pod, &b);
    struct tclass *k = map_get(&t->classes, strbuf_str(&b));
    if (!k)
        k = class_make(t, strbuf_str(&b), pod);
    strbuf_done(&b);
    return k;
}

static void pod_classify(struct tables *t, struct tpod *p)
{
    if (p->cls != CORE_NONE)
        return;
    const struct tclass *k = class_of(t, p->obj);
    p->cls = k->cls;
    p->refused = k->refused;
    str claim = str_is_empty(k->refused) ? STR_NONE : claims_refusal(t, p->obj, &t->arena);
    if (!str_is_empty(claim))
        p->refused = claim;
}

int32_t tables_class_of(struct tables *t, const struct obj *pod)
{
    const struct tclass *k = class_of(t, pod);
    return str_is_empty(k->refused) ? k->cls : CORE_NONE;
}

bool tables_judge(struct tables *t, struct tpod *p)
{
    pod_classify(t, p);
    return str_is_empty(p->refused);
}

/* ---- folding pods ---- */

/* The room it leaves: see pod_free. */
static void pod_leave_node(struct tables *t, struct tpod *p)
{
    if (p->node != CORE_NONE) {
        core_take(t->core, p->cls, p->node, -1);
        quota_book(t, p, -1);
        t->moves++;
    }
    list_remove(&p->on_node);
    p->node = CORE_NONE;
    p->assumed = false;
}

/* It left the node: its room is kept for the one that replaces it, or anybody's. */
static void pod_free(struct tables *t, const struct tpod *p, int32_t left,
                     const struct tlease *room)
{
    if (left != CORE_NONE && !lease_keep(t, p, room))
        core_grow(t->core, left);
}

static void pod_join_node(struct tables *t, struct tpod *p, int32_t node)
{
    p->node = node;
    t->moves++;
    list_remove(&p->on_node);
    list_push_back(&t->on_node[node], &p->on_node);
    quota_book(t, p, 1);
}

static bool pod_is_placed(const struct obj *o)
{
    return pod_holds_node(o) && !o->deleting;
}

static void pod_count(struct tpod *p, int by)
{
    struct tgang *g = p->gang;
    bool placed = g->n_bound > 0;
    g->n_waiting += p->waits ? (size_t)by : 0;
    g->n_bound += pod_is_placed(p->obj) ? (size_t)by : 0;
    if (g->group)
        g->group->placed += (size_t)((g->n_bound > 0) - placed);
    gang_open(g);
}

static void pod_set_node(struct tables *t, struct tpod *p)
{
    int32_t node = pod_holds_node(p->obj)
                       ? tables_node(t, jstr(jgetc(obj_spec(p->obj), "nodeName")))
                       : CORE_NONE;
    if (p->assumed && node == CORE_NONE && p->waits)
        return; /* still on its way */
    if (node == p->node) {
        p->assumed = false;
        return;
    }
    struct tlease room = lease_of(p);
    int32_t left = p->node;
    pod_leave_node(t, p);
    if (node == CORE_NONE) {
        pod_free(t, p, left, &room);
        return;
    }
    if (left != CORE_NONE)
        core_grow(t->core, left);
    pod_classify(t, p);
    core_take(t->core, p->cls, node, 1);
    core_arrived(t->core, p->cls);
    pod_join_node(t, p, node);
    p->gang->unsure = true; /* somebody else put it there */
}

/* It is another kind of pod now (a gated one that was narrowed, one that is resized): judged anew,
 * and what it takes of its node counted anew. */
static void pod_change_class(struct tables *t, struct tpod *p)
{
    if (p->node != CORE_NONE) {
        core_take(t->core, p->cls, p->node, -1);
        quota_book(t, p, -1);
    }
    p->cls = CORE_NONE;
    if (p->node == CORE_NONE)
        return;
    pod_classify(t, p);
    core_take(t->core, p->cls, p->node, 1);
    core_grow(t->core, p->node);
    quota_book(t, p, 1);
    t->moves++;
}

static struct tgang *gang_of(struct tables *t, const struct obj *o)
{
    struct arena a = ARENA_INIT;
    str label = obj_label(o, STR(LABEL_PODGANG));
    str key = str_is_empty(label) ? arena_cat(&a, STR("/"), o->ns, STR("/"), o->name)
                                  : arena_cat(&a, o->ns, STR("/"), label);
    struct tgang *g = gang_ensure(t, key);
    arena_done(&a);
    return g;
}

static void pod_remove(struct tables *t, const struct obj *o)
{
    struct tpod *p = tables_pod(t, o->ns, o->name);
    if (!p)
        return;
    struct tlease room = lease_of(p);
    int32_t left = p->node;
    pod_leave_node(t, p);
    pod_count(p, -1);
    list_remove(&p->link);
    p->gang->n_pods--;
    pod_free(t, p, left, &room);
    gang_touch(t, p->gang);
    gang_forget_if_empty(t, p->gang);
    for (size_t i = 0; i < t->assumed.len; i++) {
        if (t->assumed.p[i] == p)
            vec_remove(&t->assumed, i);
    }
    (void)map_del(&t->pods, str_of(p->key));
    obj_unref(p->obj);
    free(p);
}

static void pod_join_gang(struct tables *t, struct tpod *p, const struct obj *o)
{
    p->gang = gang_of(t, o);
    list_push_back(&p->gang->pods, &p->link);
    p->gang->n_pods++;
    p->gang->unsure = true;
}

/* Its label names another: it is counted there from now on. */
static void pod_change_gang(struct tables *t, struct tpod *p, const struct obj *o)
{
    struct tgang *old = p->gang;
    pod_count(p, -1);
    list_remove(&p->link);
    old->n_pods--;
    old->unsure = true;
    pod_join_gang(t, p, o);
    pod_count(p, 1);
    t->stale = t->stale || (t->quota.n > 0 && quota_of(t, old) != quota_of(t, p->gang));
    gang_touch(t, old);
    gang_touch(t, p->gang);
    gang_forget_if_empty(t, old);
}

static void pod_set(struct tables *t, const struct obj *o)
{
    struct tpod *p = tables_pod(t, o->ns, o->name);
    bool waits = pod_waits(o) && tables_serve(t, o), other = false;
    if (p && !str_eq(p->obj->uid, o->uid)) {
        pod_remove(t, p->obj);
        p = NULL;
    }
    if (p && !str_eq(obj_label(p->obj, STR(LABEL_PODGANG)), obj_label(o, STR(LABEL_PODGANG))))
        pod_change_gang(t, p, o);
    if (!p) {
        size_t len = o->ns.len + o->name.len + 1;
        p = xcalloc(1, sizeof(*p) + len + 1);
        (void)snprintf(p->key, len + 1, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
        p->cls = p->node = CORE_NONE;
        t->stale = terms_collect(t, o) || t->stale;
        list_init(&p->link);
        list_init(&p->on_node);
        pod_join_gang(t, p, o);
        (void)map_put(&t->pods, str_n(p->key, len), p);
    } else {
        pod_count(p, -1);
        t->stale = t->stale || terms_differ(t, p->obj, o);
        bool same = waits == p->waits && pod_is_placed(o) == pod_is_placed(p->obj);
        other = p->cls != CORE_NONE &&
                ((p->node == CORE_NONE && claims_differ(p->obj, o)) || class_differs(p->obj, o));
        same = same && !other;
        if (same && jlen(jgetc(obj_spec(o), "schedulingGates")) ==
                        jlen(jgetc(obj_spec(p->obj), "schedulingGates"))) {
            obj_unref(p->obj);
            p->obj = obj_ref(o);
            pod_count(p, 1);
            return;
        }
        obj_unref(p->obj);
    }
    p->obj = obj_ref(o);
    p->waits = waits;
    pod_count(p, 1);
    if (other)
        pod_change_class(t, p);
    bool assumed = p->assumed;
    int32_t node = p->node;
    pod_set_node(t, p);
    /* It came where we sent it: what the rest of its gang lacks is known. */
    if (assumed && !p->assumed && p->node == node && p->gang->parked &&
        !gang_complains(p->gang->obj))
        return;
    gang_touch(t, p->gang);
}

static void on_pod(void *ctx, const struct obj *old, const struct obj *new)
{
    struct tables *t = ((struct sched *)ctx)->tables;
    if (t && new)
        pod_set(t, new);
    else if (t)
        pod_remove(t, old);
}

/* ---- folding gangs ---- */

/* Gangs without a class of their own are as important as their most important pod (order.c). */
static void gang_read_priority(struct tables *t, struct tgang *g)
{
    struct world w = {.runtime = t->sched->runtime};
    str name = jstr(jgetc(obj_spec(g->obj), "priorityClassName"));
    const struct obj *pc =
        str_is_empty(name) ? NULL : world_get(&w, &kind_priority_class, STR_NONE, name);
    g->priority = pc ? jint(jgetc(obj_root(pc), "value"), 0) : 0;
    g->spares_others = pc && str_is(jstr(jgetc(obj_root(pc), "preemptionPolicy")), "Never");
}

bool tables_next_spread(str *rest, str *ret_key, bool *ret_required)
{
    if (str_is_empty(*rest))
        return false;
    ptrdiff_t comma = str_find(*rest, STR(","));
    str entry = comma < 0 ? *rest : str_sub(*rest, 0, (size_t)comma);
    *rest = comma < 0 ? STR_NONE : str_sub(*rest, (size_t)comma + 1, rest->len - (size_t)comma - 1);
    ptrdiff_t equals = str_find(entry, STR("="));
    *ret_key = equals < 0 ? entry : str_sub(entry, 0, (size_t)equals);
    *ret_required = equals >= 0 && str_ends(entry, STR("=required"));
    return true;
}

static bool is_level_somewhere(const struct tables *t, str key)
{
    for (size_t i = 0; i < t->trees.len; i++) {
        for (int l = 0; l < t->trees.p[i].n_levels; l++) {
            if (str_eq(t->trees.p[i].keys[l], key))
                return true;
        }
    }
    return false;
}

/* Keys that replicas are spread over and no topology has get a tree of their own. */
static bool spread_is_new(const struct tables *t, const struct obj *gang, str *ret_key)
{
    str rest = obj_annotation(gang, STR(ANNOTATION_SPREAD));
    bool required;
    while (tables_next_spread(&rest, ret_key, &required)) {
        if (!is_level_somewhere(t, *ret_key) && !str_is(*ret_key, "kubernetes.io/hostname"))
            return true;
    }
    return false;
}

static void gang_set(struct tables *t, const struct obj *o)
{
    struct arena a = ARENA_INIT;
    struct tgang *g = gang_ensure(t, arena_cat(&a, o->ns, STR("/"), name_label(&a, o->name)));
    arena_done(&a);
    bool same = g->obj && g->obj->generation == o->generation && str_eq(g->obj->uid, o->uid) &&
                g->obj->deleting == o->deleting;
    obj_unref(g->obj);
    g->obj = obj_ref(o);
    g->created = obj_created(o);
    g->anchor = str_is(obj_label(o, STR(LABEL_ANCHOR)), "true");
    gang_join_set(t, g);
    gang_read_priority(t, g);
    if (o->deleting)
        lease_gang_gone(t, g);
    str key;
    t->stale = t->stale || (t->trees.len < CORE_TREES_MAX / 2 && spread_is_new(t, o, &key));
    list_remove(&g->trim);
    if (gang_is_marked(o))
        list_push_back(&t->trimmed, &g->trim);
    if (jlen(jgetc(obj_status(o), "reservations")) > 0 && list_is_empty(&g->stored))
        list_push_back(&t->stored, &g->stored);
    int32_t queue = g->queue;
    g->queue = QUOTA_UNREAD;
    t->stale = t->stale || (queue != QUOTA_UNREAD && quota_of(t, g) != queue);
    g->unsure = g->unsure || !same;
    if (!same)
        gang_touch(t, g);
}

static void on_gang(void *ctx, const struct obj *old, const struct obj *new)
{
    struct tables *t = ((struct sched *)ctx)->tables;
    if (!t)
        return;
    if (new) {
        gang_set(t, new);
        return;
    }
    struct tgang *g = tables_gang(t, old->ns, old->name);
    if (!g)
        return;
    lease_gang_gone(t, g);
    gang_leave_set(t, g);
    list_remove(&g->trim);
    list_remove(&g->stored);
    obj_unref(g->obj);
    g->obj = NULL;
    gang_forget_if_empty(t, g);
}

/* ---- folding nodes ---- */

static bool is_same_place(const struct tables *t, const struct obj *a, const struct obj *b)
{
    for (size_t i = 0; i < t->trees.len; i++) {
        const struct ttree *tree = &t->trees.p[i];
        for (int l = 0; l < tree->n_levels; l++) {
            if (!str_eq(obj_label(a, tree->keys[l]), obj_label(b, tree->keys[l])))
                return false;
        }
    }
    return true;
}

/* Cordons, taints, labels, readiness, capacity: the node stays where it is. */
static bool node_change(struct tables *t, const struct obj *new)
{
    int32_t n = tables_node(t, new->name);
    if (n == CORE_NONE)
        return false;
    struct snap_node *s = &t->snap.nodes.p[n];
    int64_t delta[RES_MAX];
    size_t resources = t->snap.n_resources;
    struct snap_node old = *s;
    if (!is_same_place(t, s->obj, new))
        return false;
    snapshot_read_node(&t->snap, new, s);
    if (t->snap.n_resources != resources || terms_node_differs(t, n)) {
        *s = old;
        return false;
    }
    s->obj = obj_ref(new);
    s->name = new->name;
    obj_unref(old.obj);
    for (size_t r = 0; r < resources; r++)
        delta[r] = s->total[r] - old.total[r];
    core_change_total(t->core, n, delta);
    for (size_t i = 0; i < t->class_list.len; i++) {
        struct tclass *k = t->class_list.p[i];
        k->ideal.known = false;
        bool admitted = str_is_empty(k->refused) && is_admitted(t, k->model, s);
        core_set_admitted(t->core, k->cls, n, admitted);
        if (admitted && !core_set_penalty(t->core, k->cls, n, node_penalty(s, k->model)))
            t->stale = true;
    }
    t->shape++;
    if (!s->open) {
        lease_node_lost(t, n);
        hold_node_lost(t, n);
    }
    return true;
}

bool node_is_as_before(const struct obj *old, const struct obj *new)
{
    return jequal(obj_spec(old), obj_spec(new)) && jequal(old->labels, new->labels) &&
           old->deleting == new->deleting &&jequal(jgetc(obj_status(old), "allocatable"),
                                                   jgetc(obj_status(new), "allocatable")) &&
           condition_is_true(jgetc(obj_status(old), "conditions"), STR("Ready")) ==
               condition_is_true(jgetc(obj_status(new), "conditions"), STR("Ready"));
}

static void on_node(void *ctx, const struct obj *old, const struct obj *new)
{
    struct sched *s = ctx;
    if (!s->tables || (old && new &&node_is_as_before(old, new)))
        return;
    if (!old || !new || !node_change(s->tables, new))
        tables_drop(s);
}

static void on_shape(void *ctx, const struct obj *old, const struct obj *new)
{
    if (!(old && new && old->generation == new->generation && old->generation != 0))
        tables_drop(ctx);
}

/* Terms that select namespaces by label speak of others now. */
static void on_namespace(void *ctx, const struct obj *old, const struct obj *new)
{
    struct tables *t = ((struct sched *)ctx)->tables;
    if (t && !(old && new &&jequal(old->labels, new->labels)) && terms_read_namespaces(t))
        t->stale = true;
}

/* ---- trees ---- */

static int32_t intern(struct tables *t, struct map *m, str value)
{
    void *v = map_get(m, value);
    if (!v)
        (void)map_put(m, arena_str(&t->arena, value), v = (void *)(m->len + 1));
    return (int32_t)((size_t)v - 1);
}

void tables_add_tree(struct tables *t, struct ttree tree)
{
    size_t n = t->snap.nodes.len, levels = (size_t)tree.n_levels;
    int32_t *paths = xcalloc(n * levels + 1, sizeof(*paths));
    struct map values = MAP_INIT;
    for (size_t i = 0; i < n; i++) {
        for (size_t l = 0; l < levels; l++) {
            jval v = jget(t->snap.nodes.p[i].obj->labels, tree.keys[l]);
            paths[i * levels + l] = j_is_absent(v) ? CORE_NONE : intern(t, &values, jstr(v));
        }
    }
    tree.tree = core_add_tree(t->core, tree.n_levels, paths);
    *vec_push(&t->trees) = tree;
    map_done(&values);
    free(paths);
}

/* Every binding's levels from broad to narrow; the host is always there. The first serves gangs
 * that name none. */
static void add_trees(struct tables *t, const struct world *w)
{
    struct obj *o;
    for (struct cache_iter it = cache_all(world_cache(w, &kind_ctb), STR_NONE);
         (o = cache_next(&it)) && t->trees.len < CORE_TREES_MAX - 1;) {
        struct ttree tree = {.name = arena_str(&t->arena, o->name)};
        for (struct jiter k = jiter(jgetc(obj_spec(o), "levels")); jnext(&k);) {
            str key = jstr(jgetc(k.value, "key"));
            if (!str_is(key, "kubernetes.io/hostname") && tree.n_levels < CORE_LEVELS_MAX)
                tree.keys[tree.n_levels++] = arena_str(&t->arena, key);
        }
        tables_add_tree(t, tree);
    }
    if (t->trees.len == 0)
        tables_add_tree(t, (struct ttree){0});
}

const struct ttree *tables_tree(const struct tables *t, int32_t tree)
{
    return &t->trees.p[tree];
}

str tables_level_key(const struct tables *t, int32_t tree, int level)
{
    const struct ttree *x = tables_tree(t, tree);
    return level > x->n_levels ? STR("kubernetes.io/hostname") : x->keys[level - 1];
}

str tables_domain_name(const struct tables *t, int32_t tree, int32_t domain, struct arena *a)
{
    size_t n;
    const int32_t *nodes = core_nodes_in(t->core, tree, domain, &n);
    int level = core_level_of(t->core, tree, domain);
    if (n == 0 || level == 0)
        return STR("the cluster");
    const struct snap_node *node = &t->snap.nodes.p[nodes[0]];
    if (level == core_host_level(t->core, tree))
        return node->name;
    str path = STR_NONE;
    for (int l = 0; l < level; l++) {
        str value = obj_label(node->obj, t->trees.p[tree].keys[l]);
        path = l ? arena_printf(a, "%.*s/%.*s", STR_ARG(path), STR_ARG(value)) : value;
    }
    return path;
}

/* ---- life ---- */

static void free_values(struct map *m)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(m, &it, &key, &value);)
        free(value);
    map_done(m);
}

void tables_drop(struct sched *s)
{
    struct tables *t = s->tables;
    str key;
    void *value;
    if (!t)
        return;
    s->tables = NULL;
    for (size_t it = 0; map_next(&t->pods, &it, &key, &value);)
        obj_unref(((struct tpod *)value)->obj);
    for (size_t it = 0; map_next(&t->gangs, &it, &key, &value);)
        obj_unref(((struct tgang *)value)->obj);
    for (size_t i = 0; i < t->snap.nodes.len; i++)
        obj_unref(t->snap.nodes.p[i].obj);
    snapshot_done(&t->snap);
    free_values(&t->pods);
    free_values(&t->gangs);
    free_values(&t->sets);
    free_values(&t->groups);
    map_done(&t->classes);
    vec_done(&t->trees);
    vec_done(&t->terms);
    map_done(&t->term_ids);
    map_done(&t->claims);
    vec_done(&t->class_list);
    vec_done(&t->assumed);
    vec_done(&t->leases);
    hold_done(t);
    quota_done(t);
    free(t->on_node);
    core_free(t->core);
    arena_done(&t->arena);
    free(t);
}

static struct tables *tables_make(struct sched *s, const struct world *w)
{
    struct tables *t = xnew(struct tables);
    struct obj *o;
    t->sched = s;
    t->shape = t->moves = 1;
    list_init(&t->ready);
    list_init(&t->parked);
    list_init(&t->trimmed);
    list_init(&t->stored);
    list_init(&t->doubts);
    arena_init(&t->arena);
    snapshot_init(&t->snap, w, &t->arena);
    for (size_t i = 0; i < t->snap.nodes.len; i++)
        (void)obj_ref(t->snap.nodes.p[i].obj);
    t->core = core_new(t->snap.n_resources);
    t->on_node = xcalloc(t->snap.nodes.len + 1, sizeof(*t->on_node));
    for (size_t i = 0; i < t->snap.nodes.len; i++) {
        (void)core_add_node(t->core, t->snap.nodes.p[i].total);
        list_init(&t->on_node[i]);
    }
    quota_init(t);
    add_trees(t, w);
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pod), STR_NONE);
         (o = cache_next(&it));)
        (void)terms_collect(t, o);
    terms_place(t);
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pod_gang), STR_NONE);
         (o = cache_next(&it));) {
        struct ttree tree = {.n_levels = 1};
        if (t->trees.len < CORE_TREES_MAX / 2 && spread_is_new(t, o, &tree.keys[0])) {
            tree.keys[0] = arena_str(&t->arena, tree.keys[0]);
            tables_add_tree(t, tree);
        }
    }
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pod_gang), STR_NONE);
         (o = cache_next(&it));)
        gang_set(t, o);
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pod), STR_NONE);
         (o = cache_next(&it));)
        pod_set(t, o);
    lease_restore(t, w->now);
    return t;
}

struct tables *tables_get(struct sched *s, const struct world *w)
{
    if (s->tables && s->tables->stale)
        tables_drop(s);
    if (!s->tables)
        s->tables = tables_make(s, w);
    return s->tables;
}

void tables_add_handlers(struct sched *s)
{
    struct runtime *r = s->runtime;
    cache_add_handler(runtime_cache(r, &kind_pod), on_pod, s);
    cache_add_handler(runtime_cache(r, &kind_pod_gang), on_gang, s);
    cache_add_handler(runtime_cache(r, &kind_node), on_node, s);
    cache_add_handler(runtime_cache(r, &kind_ctb), on_shape, s);
    cache_add_handler(runtime_cache(r, &kind_priority_class), on_shape, s);
    cache_add_handler(runtime_cache_optional(r, &kind_namespace), on_namespace, s);
    claims_add_handlers(s);
}

void tables_assume(struct tables *t, struct tpod *p, int32_t node)
{
    pod_join_node(t, p, node);
    core_arrived(t->core, p->cls);
    p->assumed = true;
    *vec_push(&t->assumed) = p;
}

/* What a plan before this one meant to bind and the cache does not show: it failed. */
void tables_release_assumed(struct tables *t)
{
    for (size_t i = 0; i < t->assumed.len; i++) {
        struct tpod *p = t->assumed.p[i];
        if (!p->assumed)
            continue;
        core_grow(t->core, p->node);
        pod_leave_node(t, p);
        gang_touch(t, p->gang);
    }
    vec_clear(&t->assumed);
}
