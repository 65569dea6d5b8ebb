/*
 * Why a gang waits: the facts, and the same in words and as a document. The certificate says which
 * part of it found no room, of what class and in which domains it came nearest; here it is found
 * what those domains lack and who has it: gangs and pods on their nodes, room held for gangs that
 * come before, room kept for pods that replace others. Bounded: three domains, three holders, some
 * nodes.
 */
#include "sched/why/why.h"

#include "sched/place/hold.h"
#include "sched/quota/queue_quota.h"

enum { HOLDER_NODES = 256, HOLDERS = 64 };

/* ---- what a domain lacks ---- */

/* The class knows whether it is admitted; why not is read from the objects. */
static int refusal_of(const struct tables *t, int32_t cls, int32_t node, const struct obj *pod)
{
    const struct snap_node *n = &t->snap.nodes.p[node];
    if (core_is_admitted(t->core, cls, node))
        return N_REFUSALS;
    if (!node_tolerates(n, pod))
        return n->open ? REFUSED_TAINTED : n->cordoned ? REFUSED_CORDONED : REFUSED_NOT_READY;
    if (!node_is_wanted(n, pod))
        return REFUSED_UNWANTED;
    return REFUSED_CLAIMS;
}

/* What the node lacks for one pod more; false: nothing. */
static bool add_lacking(const struct tables *t, int32_t cls, int32_t node, int64_t slots,
                        size_t *lacking)
{
    bool any = false;
    for (size_t r = 0; r < t->snap.n_resources; r++) {
        int64_t amount = core_amount_of(t->core, cls, (int32_t)r);
        int64_t free = core_free_of(t->core, node, (int32_t)r);
        bool lacks = amount > 0 && free - slots * amount < amount;
        lacking[r] += lacks;
        any = any || lacks;
    }
    return any;
}

static struct why_lack count_lack(struct tables *t, int32_t cls, int32_t tree, int32_t domain)
{
    struct why_lack l = {0};
    size_t lacking[RES_MAX] = {0};
    const struct tclass *k = t->class_list.len ? tables_class(t, cls) : NULL;
    const int32_t *nodes = core_nodes_in(t->core, tree, domain, &l.nodes);
    for (size_t i = 0; i < l.nodes && k; i++) {
        int refusal = refusal_of(t, cls, nodes[i], k->model);
        if (refusal < N_REFUSALS) {
            l.refused++;
            l.by[refusal]++;
            continue;
        }
        int64_t slots = core_slots(t->core, cls, nodes[i]);
        if (!add_lacking(t, cls, nodes[i], slots, lacking) && slots == 0 &&
            !core_is_closed(t->core, nodes[i]))
            l.barred++;
    }
    l.resource = RES_PODS;
    for (size_t r = 0; r < t->snap.n_resources; r++) {
        if (lacking[r] > lacking[l.resource])
            l.resource = r;
    }
    l.lacking = lacking[l.resource];
    return l;
}

static str refusals_text(const struct why_lack *l, struct arena *a)
{
    static const char *const words[N_REFUSALS] = {
        [REFUSED_CORDONED] = "cordoned",
        [REFUSED_NOT_READY] = "not ready",
        [REFUSED_TAINTED] = "tainted",
        [REFUSED_UNWANTED] = "not selected",
        [REFUSED_CLAIMS] = "away from its volumes or devices",
    };
    str text = STR_NONE;
    for (int i = 0; i < N_REFUSALS; i++) {
        if (l->by[i] > 0)
            text = arena_printf(a, "%.*s%s%zu %s", STR_ARG(text), str_is_empty(text) ? " (" : ", ",
                                l->by[i], words[i]);
    }
    return str_is_empty(text) ? text : arena_printf(a, "%.*s)", STR_ARG(text));
}

static str lack_text(const struct tables *t, const struct why_lack *l, struct arena *a)
{
    str refusals = refusals_text(l, a);
    if (l->refused == l->nodes)
        return arena_printf(a, "none of %zu nodes admits it%.*s", l->nodes, STR_ARG(refusals));
    str nodes = arena_printf(a, "of %zu node%s", l->nodes, l->nodes == 1 ? "" : "s");
    str barred = str_of(l->barred == 1 ? "has pods on or near it that it may not be with"
                                       : "have pods on or near them that it may not be with");
    str others = arena_printf(a, "%zu %s not admit it%.*s", l->refused,
                              l->refused == 1 ? "does" : "do", STR_ARG(refusals));
    if (l->lacking == 0 && l->barred > 0)
        return arena_printf(a, "%zu %.*s %.*s, %.*s", l->barred, STR_ARG(nodes), STR_ARG(barred),
                            STR_ARG(others));
    str text = arena_printf(a, "%zu %.*s %s %.*s, %.*s", l->lacking, STR_ARG(nodes),
                            l->lacking == 1 ? "lacks" : "lack",
                            STR_ARG(t->snap.resources[l->resource]), STR_ARG(others));
    return l->barred == 0
               ? text
               : arena_printf(a, "%.*s, %zu %.*s", STR_ARG(text), l->barred, STR_ARG(barred));
}

/* Sums, as if what is free were in one piece: what is short even so needs no search. */
static struct why_shortage find_shortage(const struct ask *q, struct tables *t,
                                         const struct core_cert *cert)
{
    struct why_shortage s = {0};
    int64_t need[RES_MAX] = {0};
    size_t n;
    const int32_t *nodes = core_nodes_in(t->core, q->tree, cert->domain, &n);
    quota_sum_needs(t, q, need);
    for (size_t r = 0; r < t->snap.n_resources; r++) {
        int64_t free = 0;
        for (size_t i = 0; i < n; i++)
            free += MAX(0, core_free_of(t->core, nodes[i], (int32_t)r));
        if (need[r] > free &&
            (s.needs == 0 || (__int128)free * s.needs < (__int128)s.free * need[r]))
            s = (struct why_shortage){r, need[r], free};
    }
    return s;
}

/* "7", "1500m", "16Gi": of a large amount of memory what is needed is rounded up, what is free
 * down. */
static str amount_text(size_t resource, int64_t amount, bool needed, struct arena *a)
{
    const int64_t gi = (int64_t)1 << 30;
    if (resource == RES_CPU && amount % 1000)
        return arena_printf(a, "%lldm", (long long)amount);
    if (resource == RES_CPU)
        return arena_printf(a, "%lld", (long long)(amount / 1000));
    if (resource == RES_MEMORY && amount >= gi)
        return arena_printf(a, "%lldGi", (long long)((amount + (needed ? gi - 1 : 0)) / gi));
    return arena_printf(a, "%lld", (long long)amount);
}

/* All of it, where each part fits. */
static str together_text(const struct facts *f, str where, struct arena *a)
{
    const struct core_cert *cert = &f->cert;
    const struct why_shortage *s = &f->shortage;
    str name = tables_domain_name(f->tables, f->ask->tree, cert->domain, a);
    const char *best = cert->domain == 0 ? "" : "the best, ";
    if (s->needs == 0)
        return arena_printf(a,
                            "each part fits by itself, not all of them together%.*s%s; what is "
                            "free in %s%.*s%s is in pieces too small",
                            STR_ARG(where),
                            cert->why == CORE_BUDGET ? " (the search was given up)" : "", best,
                            STR_ARG(name), cert->domain == 0 ? "" : ",");
    return arena_printf(a, "all of it needs %.*s %.*s%.*s; %s%.*s%s has %.*s free",
                        STR_ARG(amount_text(s->resource, s->needs, true, a)),
                        STR_ARG(f->tables->snap.resources[s->resource]), STR_ARG(where), best,
                        STR_ARG(name), cert->domain == 0 ? "" : ",",
                        STR_ARG(amount_text(s->resource, s->free, false, a)));
}

/* ---- who holds it ---- */

struct holders {
    struct why_holder list[HOLDERS];
    size_t n, pods; /* pods: of all, those not listed too */
};

static void add_holder(struct holders *h, const struct tgang *g, int64_t amount)
{
    size_t i = 0;
    h->pods++;
    while (i < h->n && h->list[i].gang != g)
        i++;
    if (i == HOLDERS)
        return;
    if (i == h->n)
        h->list[h->n++] = (struct why_holder){.gang = g};
    h->list[i].pods++;
    h->list[i].amount += amount;
}

static int cmp_holders(const void *a, const void *b)
{
    const struct why_holder *x = a, *y = b;
    if (x->amount != y->amount)
        return x->amount > y->amount ? -1 : 1;
    return strcmp(x->gang->key, y->gang->key);
}

static str holder_text(const struct why_holder *h, struct arena *a)
{
    if (h->gang->single)
        return arena_printf(a, "pod %s", why_name(h->gang));
    return arena_printf(a, "%s (%zu pod%s, priority %lld)", why_name(h->gang), h->pods,
                        h->pods == 1 ? "" : "s", (long long)h->gang->priority);
}

/* Gangs and pods with something of the resource on nodes of the domain, those with most first. */
static void find_holders(struct facts *f, int32_t domain, size_t resource)
{
    struct tables *t = f->tables;
    struct holders h = {.n = 0};
    size_t n;
    const int32_t *nodes = core_nodes_in(t->core, f->ask->tree, domain, &n);
    for (size_t i = 0; i < MIN(n, (size_t)HOLDER_NODES); i++) {
        list_foreach (it, &t->on_node[nodes[i]]) {
            const struct tpod *p = list_entry(it, struct tpod, on_node);
            int64_t amount = core_amount_of(t->core, p->cls, (int32_t)resource);
            if (amount > 0)
                add_holder(&h, p->gang, amount);
        }
    }
    qsort(h.list, h.n, sizeof(*h.list), cmp_holders);
    f->n_holders = MIN(h.n, (size_t)WHY_SAID);
    memcpy(f->holders, h.list, f->n_holders * sizeof(*h.list));
    f->other_pods = h.pods;
    for (size_t i = 0; i < f->n_holders; i++)
        f->other_pods -= h.list[i].pods;
}

static str holders_text(const struct facts *f, struct arena *a)
{
    str text = STR_NONE;
    for (size_t i = 0; i < f->n_holders; i++)
        text = arena_printf(a, "%.*s%s%.*s", STR_ARG(text), i ? ", " : "; held by ",
                            STR_ARG(holder_text(&f->holders[i], a)));
    return f->other_pods > 0 && f->n_holders > 0
               ? arena_printf(a, "%.*s and %zu more pod%s", STR_ARG(text), f->other_pods,
                              f->other_pods == 1 ? "" : "s")
               : text;
}

/* Nodes of the domain that are cells of other queues. */
static size_t count_closed(const struct ask *q, const struct tables *t, int32_t domain)
{
    size_t n, closed = 0;
    const int32_t *nodes = core_nodes_in(t->core, q->tree, domain, &n);
    for (size_t i = 0; t->quota.owned.len > 0 && i < n; i++)
        closed += core_is_closed(t->core, nodes[i]);
    return closed;
}

static str cells_text(const struct facts *f, struct arena *a)
{
    return f->closed ? arena_printf(a, "; %zu node%s kept for other queues", f->closed,
                                    f->closed == 1 ? " is" : "s are")
                     : STR_NONE;
}

static bool is_inside(const struct ask *q, const struct tables *t, int32_t domain, int32_t node)
{
    int32_t d = core_domain_of(t->core, q->tree, node, core_host_level(t->core, q->tree));
    return domain == 0 || (d != CORE_NONE && core_contains(t->core, q->tree, domain, d));
}

/* Room that is held for another gang is in the domain. */
static bool is_held_in(const struct ask *q, const struct tables *t, const struct thold *h,
                       int32_t domain)
{
    for (size_t i = 0; h->taken && h->gang != q->gang && i < h->ops.len; i++) {
        if (is_inside(q, t, domain, h->ops.p[i].node))
            return true;
    }
    return false;
}

/* Room that is free and not to be had. */
static void find_kept(struct facts *f, int32_t domain)
{
    const struct ask *q = f->ask;
    const struct tables *t = f->tables;
    for (size_t i = 0; i < t->holds.len && f->n_held < WHY_SAID; i++) {
        if (is_held_in(q, t, &t->holds.p[i], domain))
            f->held[f->n_held++] = (struct why_held){t->holds.p[i].gang, t->holds.p[i].asked};
    }
    for (size_t i = 0; i < t->leases.len; i++) {
        if (t->leases.p[i].gang == q->gang || !is_inside(q, t, domain, t->leases.p[i].node))
            continue;
        f->kept_for = f->kept_for ? f->kept_for : t->leases.p[i].gang;
        f->kept++;
    }
}

static str kept_text(const struct facts *f, struct arena *a)
{
    str text = STR_NONE;
    for (size_t i = 0; i < f->n_held; i++)
        text = arena_printf(a, "%.*s%s%s, %s", STR_ARG(text), i ? " and " : "; room is held for ",
                            why_name(f->held[i].gang),
                            f->held[i].asked ? "for which others make room"
                                             : "which has waited longer");
    return f->kept ? arena_printf(a, "%.*s; room for %zu pod%s is kept for replacements in %s%s",
                                  STR_ARG(text), f->kept, f->kept == 1 ? "" : "s", f->kept_for->key,
                                  f->kept > 1 ? " and others" : "")
                   : text;
}

/* ---- the whole ---- */

/* Of the only group with pods of the class; "the gang" when several have some. */
static str class_name(const struct ask *q, int32_t cls)
{
    const struct ask_group *only = NULL;
    for (size_t i = 0; i < q->core.n_leaves; i++) {
        const struct ask_group *g = &q->groups[q->leaf_group[i]];
        if (q->core.leaves[i].cls != cls || only == g)
            continue;
        if (only)
            return STR("the gang");
        only = g;
    }
    return only ? only->name : STR("the gang");
}

static str scope_name(const struct ask *q, int32_t scope, int32_t cls)
{
    if (scope == 0)
        return q->n_groups == 1 ? q->groups[0].name : class_name(q, cls);
    if ((size_t)scope <= q->n_bundles)
        return q->bundle_names[scope - 1];
    if ((size_t)scope <= q->core.n_bundles)
        return q->groups[(size_t)scope - 1 - q->n_bundles].name;
    size_t leaf = (size_t)scope - 1 - q->core.n_bundles;
    return leaf < q->core.n_leaves ? q->groups[q->leaf_group[leaf]].name : STR("the gang");
}

/* The next best, with what they lack. */
static str others_text(const struct facts *f, struct arena *a)
{
    const struct core_cert *cert = &f->cert;
    str text = STR_NONE;
    for (size_t i = 1; i < cert->n_near; i++)
        text = arena_printf(
            a, "%.*s%s%.*s for %d (%.*s)", STR_ARG(text), i == 1 ? "; next, " : ", ",
            STR_ARG(tables_domain_name(f->tables, f->ask->tree, cert->near[i].domain, a)),
            cert->near[i].room, STR_ARG(lack_text(f->tables, &f->lacks[i], a)));
    return text;
}

/* Where it must be, whatever room there is elsewhere. */
static str pin_text(const struct facts *f, struct arena *a)
{
    if (f->pin == 0)
        return STR_NONE;
    return arena_printf(a, "; it must be in %.*s, where its %s",
                        STR_ARG(tables_domain_name(f->tables, f->ask->tree, f->pin, a)),
                        str_is(str_of(f->pinned_by), "members") ? "pods are" : "replica is");
}

/* What is done about it. */
static str outlook_text(const struct facts *f)
{
    const struct thold *h = hold_of(f->tables, f->ask->gang);
    if (h && h->asked)
        return STR("; others were asked to make room for it");
    if (h)
        return STR("; room is held for it as it becomes free");
    return why_is_hopeless(f) ? STR("; it would not fit even if all others left") : STR_NONE;
}

bool why_is_hopeless(const struct facts *f)
{
    return f->ask->gang->hopeless == f->tables->shape && str_is_empty(f->ask->wrong);
}

/* What is said of the one who asks, and not of the room. */
static void name_asker(struct facts *f)
{
    const struct core_cert *cert = &f->cert;
    f->pin = ask_pin(f->ask, &f->pinned_by);
    f->name = scope_name(f->ask, cert->scope, cert->level > 0 ? CORE_NONE : cert->cls);
}

void why_find(const struct ask *q, struct tables *t, const struct core_cert *cert,
              struct facts *ret)
{
    *ret = (struct facts){.ask = q, .tables = t, .cert = *cert};
    if (!str_is_empty(q->wrong))
        return;
    /* The nearest are those of the certificate; one there is in any case. */
    ret->cert.n_near = MAX(1, cert->n_near);
    ret->cert.near[0] = (struct core_near){cert->domain, cert->best};
    for (size_t i = 0; i < ret->cert.n_near; i++)
        ret->lacks[i] = count_lack(t, cert->cls, q->tree, ret->cert.near[i].domain);
    const struct why_lack *l = &ret->lacks[0];
    if (cert->why != CORE_TOO_FEW)
        ret->shortage = find_shortage(q, t, cert);
    if (l->refused < l->nodes) /* nobody holds what there is not */
        find_holders(ret, cert->domain, ret->shortage.needs ? ret->shortage.resource : l->resource);
    find_kept(ret, cert->domain);
    ret->closed = count_closed(q, t, cert->domain);
    name_asker(ret);
}

void why_again(const struct facts *known, const struct ask *q, struct facts *ret)
{
    *ret = *known;
    ret->ask = q;
    name_asker(ret);
}

size_t why_work(const struct facts *f)
{
    size_t nodes = 0;
    for (size_t i = 0; i < CORE_NEAREST; i++)
        nodes += f->lacks[i].nodes;
    return nodes;
}

static str story_of(const struct facts *f, str where, str who, struct arena *a)
{
    struct tables *t = f->tables;
    const struct core_cert *cert = &f->cert;
    str lacks = lack_text(t, &f->lacks[0], a);
    if (cert->why == CORE_TOO_FEW && cert->level > 0)
        return arena_printf(
            a, "%.*s needs room for %d pod%s%.*s; the best, %.*s, has room for %d: %.*s%.*s%.*s",
            STR_ARG(f->name), cert->need, cert->need == 1 ? "" : "s", STR_ARG(where),
            STR_ARG(tables_domain_name(t, f->ask->tree, cert->domain, a)), cert->best,
            STR_ARG(lacks), STR_ARG(who), STR_ARG(others_text(f, a)));
    if (cert->why == CORE_TOO_FEW && cert->need == 1)
        return arena_printf(a, "%.*s: its pod does not fit: %.*s%.*s", STR_ARG(f->name),
                            STR_ARG(lacks), STR_ARG(who));
    if (cert->why == CORE_TOO_FEW)
        return arena_printf(a, "%.*s: %d of the %d pods it needs fit; for the next, %.*s%.*s",
                            STR_ARG(f->name), cert->best, cert->need, STR_ARG(lacks), STR_ARG(who));
    return arena_cat(a, together_text(f, where, a), who);
}

void why_say(const struct facts *f, struct arena *a, struct reasons *ret)
{
    struct tables *t = f->tables;
    const struct core_cert *cert = &f->cert;
    const struct why_lack *l = &f->lacks[0];
    if (!str_is_empty(f->ask->wrong)) {
        ret->story = ret->cause = f->ask->wrong;
        return;
    }
    str where = cert->level > 0
                    ? arena_printf(a, " in one %.*s",
                                   STR_ARG(tables_level_key(t, f->ask->tree, cert->level)))
                    : STR_NONE;
    str what = l->refused == l->nodes             ? STR("no node admits its pods")
               : l->lacking == 0 && l->barred > 0 ? STR("pods on or near the nodes are in its way")
               : l->lacking == 0 && f->closed > 0
                   ? STR("its nodes are kept for other queues")
                   : arena_printf(a, "not enough %.*s", STR_ARG(t->snap.resources[l->resource]));
    str who = arena_cat(a, holders_text(f, a), kept_text(f, a), cells_text(f, a));
    ret->story = arena_cat(a, story_of(f, where, who, a), pin_text(f, a), outlook_text(f));
    ret->cause =
        cert->why == CORE_TOO_FEW
            ? arena_printf(a, "%.*s: %.*s%.*s", STR_ARG(f->name), STR_ARG(what), STR_ARG(where))
        : f->shortage.needs > 0
            ? arena_printf(a, "not enough %.*s for all of it%.*s",
                           STR_ARG(t->snap.resources[f->shortage.resource]), STR_ARG(where))
            : arena_printf(a, "its parts fit, but not together%.*s", STR_ARG(where));
}
