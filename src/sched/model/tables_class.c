/*
 * Classes: pods that ask for the same and may go to the same nodes are one to the core. The key of
 * a class is the text of everything that decides that: of the pod itself, of its claims (claims.h)
 * and of what pods say about each other (terms.h).
 */
#include "sched/model/tables_impl.h"

#include "sched/model/claims.h"
#include "sched/model/terms.h"
#include "json/write.h"

/* Classes of the core are made here and nowhere else. */
struct tclass *tables_class(struct tables *t, int32_t cls)
{
    return t->class_list.p[cls];
}

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
    resize_key(pod, b);
}

/* Most changes are of the status and say nothing of that. */
bool class_differs(const struct obj *old, const struct obj *new)
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

bool class_admitted(struct tables *t, const struct obj *pod, const struct snap_node *n)
{
    return node_admits(n, pod) && claims_admit(t, pod, n);
}

/* ---- who lets them in ---- */

/* Wishes about nodes; none when all nodes are equal in that. */
static void read_penalties(const struct tables *t, const struct obj *pod, struct tadmission *x)
{
    size_t n = t->snap.nodes.len;
    uint8_t *penalty = xcalloc(n + 1, 1);
    bool differ = false;
    int first = -1;
    for (size_t i = 0; i < n; i++) {
        if (!x->admitted[i])
            continue;
        penalty[i] = node_penalty(&t->snap.nodes.p[i], pod);
        first = first < 0 ? penalty[i] : first;
        differ = differ || penalty[i] != first;
    }
    x->even = (uint8_t)MAX(first, 0);
    x->penalty = differ ? TAKE_PTR(penalty) : NULL;
    free(penalty);
}

static void admission_key(struct tables *t, const struct obj *pod, struct strbuf *b)
{
    jval spec = obj_spec(pod);
    key_add(b, jgetc(spec, "nodeSelector"));
    key_add(b, jgetc(spec, "tolerations"));
    key_add(b, jpath(spec, "affinity.nodeAffinity"));
    claims_key(t, pod, b);
}

/* Every node is looked at, so classes that differ in other things share it. */
static const struct tadmission *admission_of(struct tables *t, const struct obj *pod)
{
    struct strbuf b = STRBUF_INIT((size_t)4 << 20);
    admission_key(t, pod, &b);
    struct tadmission *x = map_get(&t->admissions, strbuf_str(&b));
    if (!x) {
        x = xcalloc(1, sizeof(*x) + b.len + 1);
        memcpy(x->key, b.p, b.len);
        x->admitted = xcalloc(t->snap.nodes.len + 1, 1);
        for (size_t i = 0; i < t->snap.nodes.len; i++)
            x->admitted[i] = class_admitted(t, pod, &t->snap.nodes.p[i]);
        read_penalties(t, pod, x);
        (void)map_put(&t->admissions, str_n(x->key, b.len), x);
    }
    strbuf_done(&b);
    return x;
}

void tables_forget_admissions(struct tables *t)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(&t->admissions, &it, &key, &value);) {
        struct tadmission *x = value;
        free(x->admitted);
        free(x->penalty);
        free(x);
    }
    map_done(&t->admissions);
    t->admissions = MAP_INIT;
}

/* ---- making them ---- */

static struct tclass *class_make(struct tables *t, str key, const struct obj *pod)
{
    struct tclass *k = arena_new(&t->arena, struct tclass);
    struct demand d;
    struct core_amount amounts[RES_MAX];
    size_t resources = t->snap.n_resources;
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
    const struct tadmission *nodes = judged ? admission_of(t, pod) : NULL;
    struct term_use use;
    terms_use(t, pod, &use);
    if (judged && !str_is_empty(use.refused))
        k->refused = use.refused;
    struct core_class_def def = {.amounts = amounts,
                                 .n_amounts = list_amounts(t, &d, amounts),
                                 .admitted = nodes ? nodes->admitted : NULL,
                                 .penalty = nodes ? nodes->penalty : NULL,
                                 .even = nodes ? nodes->even : 0,
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
    k->cls = core_add_class(t->core, &def);
    terms_use_done(&use);
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

void pod_classify(struct tables *t, struct tpod *p)
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
