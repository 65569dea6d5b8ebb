/*
 * Why a gang waits, in words. The certificate says which part of it found no room, of what class
 * and in which domains it came nearest; here it is said what those domains lack and who has it:
 * gangs and pods on their nodes, room held for a gang that waited longer, room kept for pods that
 * replace others. Bounded: three domains, three holders, some nodes.
 */
#include "sched/tell.h"

enum { HOLDER_NODES = 256, HOLDERS = 64, HOLDERS_SAID = 3 };

/* ---- what a domain lacks ---- */

/* What the nodes of the domain lack for one more pod than they take. */
struct lack {
    size_t nodes, refused, lacking;
    size_t resource;
};

static struct lack count_lack(struct tables *t, int32_t cls, int32_t tree, int32_t domain)
{
    struct lack l = {0};
    size_t lacking[RES_MAX] = {0};
    const struct tclass *k = t->class_list.len ? tables_class(t, cls) : NULL;
    const int32_t *nodes = core_nodes_in(t->core, tree, domain, &l.nodes);
    for (size_t i = 0; i < l.nodes && k; i++) {
        if (!node_admits(&t->snap.nodes.p[nodes[i]], k->model)) {
            l.refused++;
            continue;
        }
        int64_t slots = core_slots(t->core, cls, nodes[i]);
        for (size_t r = 0; r < t->snap.n_resources; r++) {
            int64_t amount = core_amount_of(t->core, cls, (int32_t)r);
            int64_t free = core_free_of(t->core, nodes[i], (int32_t)r);
            lacking[r] += amount > 0 && free - slots * amount < amount;
        }
    }
    l.resource = RES_PODS;
    for (size_t r = 0; r < t->snap.n_resources; r++) {
        if (lacking[r] > lacking[l.resource])
            l.resource = r;
    }
    l.lacking = lacking[l.resource];
    return l;
}

static str lack_text(const struct tables *t, const struct lack *l, struct arena *a)
{
    if (l->refused == l->nodes)
        return arena_printf(a, "none of %zu nodes admits it (taints, selector or readiness)",
                            l->nodes);
    return arena_printf(a, "%zu of %zu nodes lack %.*s, %zu do not admit it", l->lacking, l->nodes,
                        STR_ARG(t->snap.resources[l->resource]), l->refused);
}

/* What all of it needs of the resource it is most short of, against what is free there. */
static str together_text(const struct ask *q, struct tables *t, const struct core_cert *cert,
                         struct arena *a)
{
    size_t n, worst = RES_MAX;
    int64_t need[RES_MAX] = {0}, free[RES_MAX] = {0};
    const int32_t *nodes = core_nodes_in(t->core, q->tree, cert->domain, &n);
    for (size_t r = 0; r < t->snap.n_resources; r++) {
        for (size_t i = 0; i < q->core.n_leaves; i++)
            need[r] +=
                q->core.leaves[i].need * core_amount_of(t->core, q->core.leaves[i].cls, (int32_t)r);
        for (size_t i = 0; i < n; i++)
            free[r] += MAX(0, core_free_of(t->core, nodes[i], (int32_t)r));
        if (need[r] > free[r] &&
            (worst == RES_MAX || free[r] * need[worst] < free[worst] * need[r]))
            worst = r;
    }
    str name = tables_domain_name(t, q->tree, cert->domain, a);
    if (worst == RES_MAX)
        return arena_printf(a, "; what is free in the best, %.*s, is in pieces too small",
                            STR_ARG(name));
    bool milli = worst == RES_CPU;
    return arena_printf(a, "; the best, %.*s, has %lld of %lld%s %.*s free", STR_ARG(name),
                        (long long)free[worst], (long long)need[worst], milli ? "m" : "",
                        STR_ARG(t->snap.resources[worst]));
}

/* ---- who holds it ---- */

struct holder {
    const struct tgang *gang;
    size_t pods;
    int64_t amount;
};

struct holders {
    struct holder list[HOLDERS];
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
        h->list[h->n++] = (struct holder){.gang = g};
    h->list[i].pods++;
    h->list[i].amount += amount;
}

static int cmp_holders(const void *a, const void *b)
{
    const struct holder *x = a, *y = b;
    if (x->amount != y->amount)
        return x->amount > y->amount ? -1 : 1;
    return strcmp(x->gang->key, y->gang->key);
}

static str holder_text(const struct holder *h, struct arena *a)
{
    const char *key = h->gang->key;
    if (h->gang->single)
        return arena_printf(a, "pod %s", key + 1);
    return arena_printf(a, "%s (%zu pod%s, priority %lld)", key, h->pods, h->pods == 1 ? "" : "s",
                        (long long)h->gang->priority);
}

/* Gangs and pods with something of the resource on nodes of the domain, those with most first. */
static str holders_text(struct tables *t, int32_t tree, int32_t domain, size_t resource,
                        struct arena *a)
{
    struct holders h = {.n = 0};
    size_t n, said = 0;
    str text = STR_NONE;
    const int32_t *nodes = core_nodes_in(t->core, tree, domain, &n);
    for (size_t i = 0; i < MIN(n, (size_t)HOLDER_NODES); i++) {
        list_foreach (it, &t->on_node[nodes[i]]) {
            const struct tpod *p = list_entry(it, struct tpod, on_node);
            int64_t amount = core_amount_of(t->core, p->cls, (int32_t)resource);
            if (amount > 0)
                add_holder(&h, p->gang, amount);
        }
    }
    qsort(h.list, h.n, sizeof(*h.list), cmp_holders);
    for (; said < h.n && said < HOLDERS_SAID; said++) {
        text = arena_printf(a, "%.*s%s%.*s", STR_ARG(text), said ? ", " : "; held by ",
                            STR_ARG(holder_text(&h.list[said], a)));
        h.pods -= h.list[said].pods;
    }
    return h.pods > 0 && said > 0 ? arena_printf(a, "%.*s and %zu more pod%s", STR_ARG(text),
                                                 h.pods, h.pods == 1 ? "" : "s")
                                  : text;
}

/* Nodes of the domain that are cells of other queues. */
static str cells_text(const struct ask *q, const struct tables *t, int32_t domain, struct arena *a)
{
    size_t n, closed = 0;
    const int32_t *nodes = core_nodes_in(t->core, q->tree, domain, &n);
    for (size_t i = 0; t->quota.owned.len > 0 && i < n; i++)
        closed += core_is_closed(t->core, nodes[i]);
    return closed ? arena_printf(a, "; %zu node%s kept for other queues", closed,
                                 closed == 1 ? " is" : "s are")
                  : STR_NONE;
}

/* Room that is free and not to be had. */
static str kept_text(const struct ask *q, struct tables *t, int32_t domain, struct arena *a)
{
    str text = STR_NONE;
    size_t kept = 0;
    bool held = false;
    const struct tgang *whose = NULL;
    int host = core_host_level(t->core, q->tree);
    for (size_t i = 0; i < t->hold.len && !held; i++) {
        int32_t d = core_domain_of(t->core, q->tree, t->hold.p[i].node, host);
        held = domain == 0 || (d != CORE_NONE && core_contains(t->core, q->tree, domain, d));
    }
    if (held && strcmp(t->hold_key, q->gang->key) != 0)
        text = arena_printf(a, "; room is held for %s, which has waited longer", t->hold_key);
    for (size_t i = 0; i < t->leases.len; i++) {
        int32_t d = core_domain_of(t->core, q->tree, t->leases.p[i].node, host);
        if (t->leases.p[i].gang == q->gang ||
            (domain != 0 && (d == CORE_NONE || !core_contains(t->core, q->tree, domain, d))))
            continue;
        whose = whose ? whose : t->leases.p[i].gang;
        kept++;
    }
    return kept ? arena_printf(a, "%.*s; room for %zu pod%s is kept for replacements in %s%s",
                               STR_ARG(text), kept, kept == 1 ? "" : "s", whose->key,
                               kept > 1 ? " and others" : "")
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
    size_t leaf = (size_t)scope - 1 - q->n_bundles;
    return leaf < q->core.n_leaves ? q->groups[q->leaf_group[leaf]].name : STR("the gang");
}

/* The next best, with what they lack. */
static str others_text(const struct ask *q, struct tables *t, const struct core_cert *cert,
                       struct arena *a)
{
    str text = STR_NONE;
    for (size_t i = 1; i < cert->n_near; i++) {
        struct lack l = count_lack(t, cert->cls, q->tree, cert->near[i].domain);
        text =
            arena_printf(a, "%.*s%s%.*s for %d (%.*s)", STR_ARG(text), i == 1 ? "; next, " : ", ",
                         STR_ARG(tables_domain_name(t, q->tree, cert->near[i].domain, a)),
                         cert->near[i].room, STR_ARG(lack_text(t, &l, a)));
    }
    return text;
}

void tell_reasons(const struct ask *q, struct tables *t, const struct core_cert *cert,
                  struct arena *a, struct reasons *ret)
{
    if (!str_is_empty(q->wrong)) {
        ret->story = ret->cause = q->wrong;
        return;
    }
    struct lack l = count_lack(t, cert->cls, q->tree, cert->domain);
    bool refused = l.refused == l.nodes; /* nobody holds what there is not */
    str name = scope_name(q, cert->scope, cert->level > 0 ? CORE_NONE : cert->cls),
        lacks = lack_text(t, &l, a);
    str where = cert->level > 0 ? arena_printf(a, " in one %.*s",
                                               STR_ARG(tables_level_key(t, q->tree, cert->level)))
                                : STR_NONE;
    str what = refused ? STR("no node admits its pods")
                       : arena_printf(a, "not enough %.*s", STR_ARG(t->snap.resources[l.resource]));
    str holders = refused ? STR_NONE : holders_text(t, q->tree, cert->domain, l.resource, a);
    str who =
        arena_printf(a, "%.*s%.*s%.*s", STR_ARG(holders), STR_ARG(kept_text(q, t, cert->domain, a)),
                     STR_ARG(cells_text(q, t, cert->domain, a)));
    if (cert->why == CORE_TOO_FEW && cert->level > 0)
        ret->story = arena_printf(
            a, "%.*s needs room for %d pods%.*s; the best, %.*s, has room for %d: %.*s%.*s%.*s",
            STR_ARG(name), cert->need, STR_ARG(where),
            STR_ARG(tables_domain_name(t, q->tree, cert->domain, a)), cert->best, STR_ARG(lacks),
            STR_ARG(who), STR_ARG(others_text(q, t, cert, a)));
    else if (cert->why == CORE_TOO_FEW)
        ret->story =
            arena_printf(a, "%.*s: %d of the %d pods it needs fit; for the next, %.*s%.*s",
                         STR_ARG(name), cert->best, cert->need, STR_ARG(lacks), STR_ARG(who));
    else
        ret->story = arena_printf(
            a, "each part fits by itself, not all of them together%.*s%s%.*s%.*s", STR_ARG(where),
            cert->why == CORE_BUDGET ? " (the search was given up)" : "",
            STR_ARG(together_text(q, t, cert, a)), STR_ARG(who));
    ret->cause =
        cert->why == CORE_TOO_FEW
            ? arena_printf(a, "%.*s: %.*s%.*s", STR_ARG(name), STR_ARG(what), STR_ARG(where))
            : arena_printf(a, "its parts fit, but not together%.*s", STR_ARG(where));
}
