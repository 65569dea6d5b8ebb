/* See ledger.h. */
#include "operator/common/ledger.h"

#include "grove/pod.h"
#include "operator/common/clique.h"
#include "operator/common/surge.h"
#include "operator/common/tally.h"
#include "operator/common/update.h"

/* Up a chain of owners: pod, clique, group. */
enum { MAX_OWNERS = 3, MAX_NAMED = 3 };

/* ---- budgets ---- */

/* maxUnavailable of an update, at least one unless something is surged: an update that may take
 * nothing never ends. One that is coherent moves whole minimums, also where 0 is said and what was
 * surged found no place: less would leave a gang of the new version incomplete for ever. */
static int64_t allowance_of(const struct obj *pcs, jval config, const struct obj *component)
{
    int64_t min_available = jint(jgetc(obj_spec(component), "minAvailable"), 1);
    int64_t said = jint(jpath(config, "rollingUpdate.maxUnavailable"), 0);
    if (update_strategy_of(pcs) != UPDATE_COHERENT)
        return surge_allowance(pcs, config, component, 1);
    return said > 0 ? said : MAX(min_available, 1);
}

static void close_budget(struct budget *b)
{
    b->floor = MAX(0, MIN(b->min_available, b->desired) - b->allowance);
    b->free = b->available - b->floor;
}

static const struct obj *group_of(const struct world *w, const struct obj *pclq)
{
    jval ref = obj_controller_ref(pclq);
    if (!str_is(jstr(jgetc(ref, "kind")), kind_pcsg.kind))
        return NULL;
    return world_get(w, &kind_pcsg, pclq->ns, jstr(jgetc(ref, "name")));
}

/* A standalone clique is updated by itself, a member with its group, one replica at a time. */
static int64_t clique_allowance(const struct world *w, const struct obj *pclq)
{
    const struct obj *group = group_of(w, pclq), *pcs = owner_pcs(w, pclq);
    if (!clique_is_updating(group ? group : pclq))
        return 0;
    if (!pcs || group)
        return 1;
    struct arena a = ARENA_INIT;
    int64_t replica = label_index(pclq, STR(LABEL_PCS_INDEX));
    int64_t allowance = allowance_of(pcs, clique_template(&a, pcs, replica, pclq->name), pclq);
    arena_done(&a);
    return allowance;
}

struct budget ledger_of_clique(const struct world *w, const struct obj *pclq)
{
    const struct tally *t = tally_of(w, pclq->uid);
    struct pclq_view spec;
    pclq_view(pclq, &spec);
    int64_t intended = (int64_t)world_intended_count(w, pclq->uid);
    struct budget b = {.available = t->ready - intended,
                       .going = t->terminating + intended,
                       .desired = MAX(spec.replicas, 0),
                       .min_available = spec.min_available,
                       .allowance = clique_allowance(w, pclq)};
    close_budget(&b);
    return b;
}

/* Ready pods of a member that nobody intends to delete, for whichever component. */
static int64_t staying_pods(const struct world *w, const struct obj *pclq)
{
    int64_t n = 0;
    struct cache_iter it = world_owned(w, &kind_pod, pclq->uid);
    for (struct obj *pod; (pod = cache_next(&it));)
        n += !pod->deleting && !pod_is_finished(pod) && pod_is_ready(pod) &&
             !world_is_intended(w, pod->uid);
    return n;
}

static bool is_serving(const struct world *w, const struct obj *pclq)
{
    int64_t min = jint(jgetc(obj_spec(pclq), "minAvailable"), 1);
    if (pclq->deleting || world_is_intended(w, pclq->uid) || tally_of(w, pclq->uid)->ready < min)
        return false;
    return staying_pods(w, pclq) >= min;
}

struct replica_sum {
    int64_t members, serving, going;
};

/* Sums up members by the replica they belong to. */
static void sum_members(const struct world *w, const struct obj *pcsg, struct replica_sum *sums,
                        int64_t n)
{
    struct cache_iter it = world_owned(w, &kind_pclq, pcsg->uid);
    for (struct obj *o; (o = cache_next(&it));) {
        int64_t i = label_index(o, STR(LABEL_PCSG_INDEX));
        if (i < 0 || i >= n)
            continue;
        sums[i].members++;
        sums[i].serving += is_serving(w, o);
        sums[i].going += o->deleting || world_is_intended(w, o->uid);
    }
}

static int64_t replicas_seen(const struct world *w, const struct obj *pcsg)
{
    int64_t n = 0;
    struct cache_iter it = world_owned(w, &kind_pclq, pcsg->uid);
    for (struct obj *o; (o = cache_next(&it));) {
        int64_t i = label_index(o, STR(LABEL_PCSG_INDEX));
        n = i < SLOTS_MAX ? MAX(n, i + 1) : n;
    }
    return n;
}

static int64_t group_allowance(const struct world *w, const struct obj *pcsg)
{
    const struct obj *pcs = owner_pcs(w, pcsg);
    if (!clique_is_updating(pcsg))
        return 0;
    if (!pcs)
        return 1;
    struct arena a = ARENA_INIT;
    int64_t allowance = 1, replica = label_index(pcsg, STR(LABEL_PCS_INDEX));
    jval groups = jpath(obj_root(pcs), "spec.template.podCliqueScalingGroups");
    for (struct jiter it = jiter(groups); jnext(&it);) {
        str name = name_pcsg(&a, pcs->name, replica, jstr(jgetc(it.value, "name")));
        if (str_eq(name, pcsg->name))
            allowance = allowance_of(pcs, it.value, pcsg);
    }
    arena_done(&a);
    return allowance;
}

/* Members a replica needs; *ret_sums lives in the arena. */
static int64_t sum_group(const struct world *w, struct arena *a, const struct obj *pcsg,
                         struct replica_sum **ret_sums)
{
    int64_t n = replicas_seen(w, pcsg);
    *ret_sums = arena_array(a, struct replica_sum, n + 1);
    sum_members(w, pcsg, *ret_sums, n);
    return n;
}

static bool replica_serves(const struct obj *pcsg, const struct replica_sum *sum)
{
    return sum->serving >= (int64_t)jlen(jgetc(obj_spec(pcsg), "cliqueNames"));
}

struct budget ledger_of_group(const struct world *w, const struct obj *pcsg)
{
    struct arena a = ARENA_INIT;
    struct replica_sum *sums;
    struct pcsg_view spec;
    pcsg_view(pcsg, &spec);
    struct budget b = {.desired = MAX(spec.replicas, 0),
                       .min_available = spec.min_available,
                       .allowance = group_allowance(w, pcsg)};
    int64_t n = sum_group(w, &a, pcsg, &sums);
    for (int64_t i = 0; i < n; i++) {
        b.available += replica_serves(pcsg, &sums[i]);
        b.going += sums[i].going > 0;
    }
    arena_done(&a);
    close_budget(&b);
    return b;
}

/* ---- tickets ---- */

/* The pod or clique that a write deletes, and up from it the component it names. */
static const struct obj *find_component(const struct world *w, const struct obj *o, str uid)
{
    static const struct kind *const kinds[] = {&kind_pclq, &kind_pcsg};
    for (int depth = 0; o && depth < MAX_OWNERS && !str_eq(o->uid, uid); depth++) {
        jval ref = obj_controller_ref(o);
        const struct obj *owner = NULL;
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
            if (str_is(jstr(jgetc(ref, "kind")), kinds[i]->kind))
                owner = world_get(w, kinds[i], o->ns, jstr(jgetc(ref, "name")));
        }
        o = owner && str_eq(owner->uid, jstr(jgetc(ref, "uid"))) ? owner : NULL;
    }
    return o && str_eq(o->uid, uid) ? o : NULL;
}

/* Do all cliques of one replica of a group serve? */
static bool index_serves(const struct world *w, const struct obj *pcsg, int64_t replica)
{
    struct arena a = ARENA_INIT;
    bool serves = replica >= 0;
    for (struct jiter it = jiter(jgetc(obj_spec(pcsg), "cliqueNames")); serves && jnext(&it);) {
        str name = name_member_pclq(&a, pcsg->name, replica, jstr(it.value));
        const struct obj *o = world_get(w, &kind_pclq, pcsg->ns, name);
        serves = o && str_eq(o->owner_uid, pcsg->uid) && is_serving(w, o);
    }
    arena_done(&a);
    return serves;
}

/* Does the unit that the write takes away serve? The replica of a group that something takes away
 * already is taken with what remains of it. */
static bool takes_serving(const struct world *w, const struct obj *o, const struct obj *component)
{
    if (o->kind == &kind_pod && !pod_is_ready(o))
        return false;
    return component->kind != &kind_pcsg ||
           index_serves(w, component, label_index(o, STR(LABEL_PCSG_INDEX)));
}

/* The one unit that is asked about serves: where none has to stay, nobody is counted. */
static bool none_must_stay(const struct world *w, const struct obj *pcsg)
{
    struct pcsg_view spec;
    pcsg_view(pcsg, &spec);
    struct budget b = {.desired = MAX(spec.replicas, 0),
                       .min_available = spec.min_available,
                       .allowance = group_allowance(w, pcsg)};
    close_budget(&b);
    return b.floor == 0;
}

/* Who is on the way out already: the first few by name. */
static void name_holders(const struct world *w, const struct obj *component, struct strbuf *out)
{
    const struct kind *k = component->kind == &kind_pcsg ? &kind_pclq : &kind_pod;
    struct cache_iter it = world_owned(w, k, component->uid);
    size_t n = 0;
    for (struct obj *o; (o = cache_next(&it));) {
        if (!o->deleting && !world_is_intended(w, o->uid))
            continue;
        if (n < MAX_NAMED)
            strbuf_printf(out, "%s%.*s", n ? ", " : "; the budget is held by ", STR_ARG(o->name));
        n++;
    }
    if (n > MAX_NAMED)
        strbuf_printf(out, " and %zu more", n - MAX_NAMED);
}

static void explain(const struct world *w, const struct obj *o, const struct obj *component,
                    const struct budget *b, struct strbuf *out)
{
    strbuf_printf(out,
                  "%s %.*s stays: %s %.*s has %lld of %lld %s available, at least %lld must stay "
                  "(minAvailable %lld",
                  o->kind->kind, STR_ARG(o->name), component->kind->kind, STR_ARG(component->name),
                  (long long)b->available, (long long)b->desired,
                  component->kind == &kind_pcsg ? "replicas" : "pods", (long long)b->floor,
                  (long long)b->min_available);
    if (b->allowance > 0)
        strbuf_printf(out, ", an update may take %lld", (long long)b->allowance);
    strbuf_add_cstr(out, ")");
    name_holders(w, component, out);
}

bool ledger_check(void *ctx, const struct world *w, const struct plan_write *write,
                  struct strbuf *ret_reason)
{
    (void)ctx;
    const struct obj *o = world_get(w, write->kind, write->ns, write->name);
    /* What is gone, going or another object now is not taken away by this write. */
    if (!o || o->deleting || !str_eq(o->uid, write->uid) || world_is_intended(w, o->uid))
        return true;
    const struct obj *component = find_component(w, o, write->component_uid);
    if (!component || component->deleting || !takes_serving(w, o, component))
        return true;
    if (component->kind == &kind_pcsg && none_must_stay(w, component))
        return true;
    struct budget b = component->kind == &kind_pcsg ? ledger_of_group(w, component)
                                                    : ledger_of_clique(w, component);
    if (b.free > 0)
        return true;
    explain(w, o, component, &b, ret_reason);
    return false;
}
