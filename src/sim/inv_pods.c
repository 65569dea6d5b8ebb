/*
 * Pods that follow each other.
 *
 *   running   No pod of a clique is let go, or gets a node, while another one of the same index
 *             still runs: it has a node, has not finished, is not gone, and its grace period is not
 *             zero. Cliques of one name count as one. Not judged: where the clique says
 *             TerminatingOrFailed; a pod whose node was unreachable or gone a moment ago.
 *   names     No two pods of a clique have the same name, one after the other. Nobody can know of
 *             a pod that came and went while nobody looked: where a component was started anew
 *             since the first of them came, or where answers are lost and it was gone in a moment,
 *             it is judged only if that was counted in the status of its clique.
 */
#include "grove/names.h"
#include "grove/types.h"
#include "sim/inv_impl.h"

/* One that runs. */
struct runner {
    struct runner *next;
    char uid[64], node[256], name[256];
};

struct place {
    struct runner *runners;
    char key[];
};

static void copy(char *to, size_t size, str from)
{
    size_t n = MIN(from.len, size - 1);
    memcpy(to, from.p, n);
    to[n] = '\0';
}

/* ---- who runs ---- */

static str key_of(struct strbuf *b, const struct obj *pod)
{
    strbuf_printf(b, "%.*s/%.*s/%.*s", STR_ARG(pod->ns), STR_ARG(obj_label(pod, STR(LABEL_PCLQ))),
                  STR_ARG(obj_label(pod, STR(LABEL_POD_INDEX))));
    return strbuf_str(b);
}

/* One whose labels or owner somebody took away is nobody's any more. */
static bool is_ours(const struct obj *pod)
{
    return !str_is_empty(pod->owner_uid) && !str_is_empty(obj_label(pod, STR(LABEL_POD_INDEX))) &&
           !str_is_empty(obj_label(pod, STR(LABEL_MANAGED_BY)));
}

static bool runs(const struct inv_pods *p, const struct obj *pod)
{
    return pod && is_ours(pod) && !str_is_empty(pod_node(pod)) &&
           counter_get(&p->ended, pod->uid) == 0 &&
           !(pod->deleting && jint(jgetc(pod->meta, "deletionGracePeriodSeconds"), -1) == 0);
}

static struct place *place_of(struct inv_pods *p, const struct obj *pod)
{
    struct strbuf b = STRBUF_INIT(4096);
    str key = key_of(&b, pod);
    struct place *x = map_get(&p->places, key);
    if (!x) {
        x = xcalloc(1, sizeof(*x) + key.len + 1);
        memcpy(x->key, key.p, key.len);
        (void)map_put(&p->places, str_n(x->key, key.len), x);
    }
    strbuf_done(&b);
    return x;
}

static void add_runner(struct inv_pods *p, const struct obj *pod)
{
    struct place *x = place_of(p, pod);
    struct runner *r = xcalloc(1, sizeof(*r));
    copy(r->uid, sizeof(r->uid), pod->uid);
    copy(r->node, sizeof(r->node), pod_node(pod));
    copy(r->name, sizeof(r->name), pod->name);
    r->next = x->runners;
    x->runners = r;
}

static void remove_runner(struct inv_pods *p, const struct obj *pod)
{
    struct place *x = place_of(p, pod);
    for (struct runner **at = &x->runners; *at; at = &(*at)->next) {
        struct runner *r = *at;
        if (!str_is(pod->uid, r->uid))
            continue;
        *at = r->next;
        free(r);
        break;
    }
    if (x->runners)
        return;
    (void)map_del(&p->places, str_of(x->key));
    free(x);
}

/* ---- nodes ---- */

static bool is_lost(const struct obj *node)
{
    for (struct jiter it = jiter(jgetc(obj_spec(node), "taints")); jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "key")), "node.kubernetes.io/unreachable"))
            return true;
    }
    return false;
}

/* How long ago a node was last seen lost may be learnt late. */
#define MOMENT (2 * USEC_PER_SEC)

static bool was_lost(const struct invariants *v, const struct inv_pods *p, str name)
{
    const struct obj *node = store_get(inv_store(v), &kind_node, STR_NONE, name);
    int64_t until = counter_get(&p->lost, name);
    return !node || is_lost(node) || (until > 0 && until + inv_lag(v) + MOMENT >= inv_wall(v));
}

static void node_event(struct invariants *v, struct inv_pods *p, const struct store_event *e)
{
    bool was = e->prev && is_lost(e->prev), gone = e->type == STORE_DELETED;
    int64_t at = counter_get(&p->lost, e->obj->name);
    if ((was && !gone && !is_lost(e->obj)) || e->type == STORE_ADDED)
        (void)counter_add(&p->lost, e->obj->name, inv_wall(v) - at);
}

/* ---- running ---- */

static bool is_relaxed(const struct obj *clique)
{
    return str_is(jstr(jgetc(obj_spec(clique), "podReplacementPolicy")), "TerminatingOrFailed");
}

/* It said so until now; who let a pod go may have seen only that. */
static void clique_event(struct invariants *v, struct inv_pods *p, const struct store_event *e)
{
    int64_t at = counter_get(&p->relaxed, e->obj->name);
    if (e->prev && is_relaxed(e->prev) && (e->type == STORE_DELETED || !is_relaxed(e->obj)))
        (void)counter_add(&p->relaxed, e->obj->name, inv_wall(v) - at);
}

static bool waits_for_nobody(const struct invariants *v, const struct inv_pods *p,
                             const struct obj *pod)
{
    str name = jstr(jgetc(obj_controller_ref(pod), "name"));
    const struct obj *clique = store_get(inv_store(v), &kind_pclq, pod->ns, name);
    int64_t until = counter_get(&p->relaxed, name);
    return (clique && is_relaxed(clique)) ||
           (until > 0 && until + inv_lag(v) + MOMENT >= inv_wall(v));
}

static bool has_gate(const struct obj *pod)
{
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "schedulingGates")); jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "name")), "grove.io/podgang-pending-creation"))
            return true;
    }
    return false;
}

/* What it was let go for counts when it gets its node, too. */
static void judge(struct invariants *v, struct inv_pods *p, const struct obj *pod, const char *what)
{
    struct strbuf b = STRBUF_INIT(4096);
    const struct place *x = map_get(&p->places, key_of(&b, pod));
    strbuf_done(&b);
    for (const struct runner *r = x ? x->runners : NULL; r; r = r->next) {
        if (str_is(pod->uid, r->uid) || counter_get(&p->excused, pod->uid) > 0)
            continue;
        if (waits_for_nobody(v, p, pod) || was_lost(v, p, str_of(r->node)))
            (void)counter_add(&p->excused, pod->uid, 1);
        else
            inv_fail(v, "running", "pod %.*s/%.*s %s, and pod %s of its index still runs on %s",
                     STR_ARG(pod->ns), STR_ARG(pod->name), what, r->name, r->node);
    }
}

void running_event(struct invariants *v, struct inv_pods *p, const struct store_event *e)
{
    const struct obj *pod = event_now(e);
    if (e->obj->kind == &kind_node)
        node_event(v, p, e);
    if (e->obj->kind == &kind_pclq)
        clique_event(v, p, e);
    if (e->obj->kind != &kind_pod)
        return;
    bool was = runs(p, e->prev);
    if (pod_has_finished(e->obj) && counter_get(&p->ended, e->obj->uid) == 0)
        (void)counter_add(&p->ended, e->obj->uid, 1);
    bool is = runs(p, pod);
    if (was && !is)
        remove_runner(p, e->prev);
    if (pod && is_ours(pod) && e->prev && has_gate(e->prev) && !has_gate(pod) && !pod->deleting)
        judge(v, p, pod, "is let go");
    if (!was && is) {
        judge(v, p, pod, "has a node");
        add_runner(p, pod);
    }
}

/* ---- names ---- */

/* What became of a name. */
struct name_fate {
    usec came; /* its last pod */
    bool flew; /* that came and went in a moment, and had no node */
    bool told; /* when that went, the status of its clique counted it */
    char key[];
};

static struct name_fate *fate_of(struct inv_pods *p, const struct obj *pod)
{
    struct strbuf b = STRBUF_INIT(4096);
    strbuf_printf(&b, "%.*s/%.*s", STR_ARG(pod->owner_uid), STR_ARG(pod->name));
    struct name_fate *f = map_get(&p->names, strbuf_str(&b));
    if (!f) {
        f = xcalloc(1, sizeof(*f) + b.len + 1);
        memcpy(f->key, b.p, b.len);
        (void)map_put(&p->names, str_n(f->key, b.len), f);
    }
    strbuf_done(&b);
    return f;
}

/* How many pods the text says that the index has had: "0-2:1,3:4". */
static long long told_count(str text, long long index)
{
    struct arena a = ARENA_INIT;
    const char *at = arena_str(&a, text).p;
    long long found = 0;
    for (int len; at && *at; at += len + (at[len] == ',')) {
        long long first, last, count;
        len = 0;
        if (sscanf(at, "%lld-%lld:%lld%n", &first, &last, &count, &len) != 3 || len == 0) {
            if (sscanf(at, "%lld:%lld%n", &first, &count, &len) != 2 || len == 0)
                break;
            last = first;
        }
        if (index >= first && index <= last)
            found = count;
    }
    arena_done(&a);
    return found;
}

static bool is_told(const struct invariants *v, const struct obj *pod)
{
    str name = jstr(jgetc(obj_controller_ref(pod), "name"));
    const struct obj *clique = store_get(inv_store(v), &kind_pclq, pod->ns, name);
    int64_t index;
    unsigned n;
    return clique && str_eq(clique->uid, pod->owner_uid) &&
           str_to_int(obj_label(pod, STR(LABEL_POD_INDEX)), &index) &&
           name_pod_number(pod->name, pod->owner_uid, index, &n) &&
           told_count(jstr(jgetc(obj_status(clique), "podsPerIndex")), index) > n;
}

void names_event(struct invariants *v, struct inv_pods *p, const struct store_event *e)
{
    if (e->obj->kind != &kind_pod || !is_ours(e->obj))
        return;
    if (e->type == STORE_DELETED) {
        struct name_fate *gone = fate_of(p, e->obj);
        gone->told = is_told(v, e->obj);
        gone->flew =
            str_is_empty(pod_node(e->obj)) && inv_wall(v) - gone->came < inv_lag(v) + MOMENT;
    }
    if (e->type != STORE_ADDED)
        return;
    struct name_fate *f = fate_of(p, e->obj);
    bool unseen = p->restarted >= f->came || (p->loses_answers && f->flew);
    if (f->came > 0 && (f->told || !unseen))
        inv_fail(v, "names", "pod %.*s/%.*s is the second one of its clique with this name",
                 STR_ARG(e->obj->ns), STR_ARG(e->obj->name));
    f->came = MAX(inv_wall(v), 1);
}

void pods_done(struct inv_pods *p)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(&p->places, &it, &key, &value);) {
        struct place *x = value;
        for (struct runner *r = x->runners, *next; r; r = next) {
            next = r->next;
            free(r);
        }
        free(x);
    }
    map_done(&p->places);
    counters_done(&p->ended);
    counters_done(&p->lost);
    counters_done(&p->relaxed);
    counters_done(&p->excused);
    for (size_t it = 0; map_next(&p->names, &it, &key, &value);)
        free(value);
    map_done(&p->names);
}
