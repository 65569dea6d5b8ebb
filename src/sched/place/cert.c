/*
 * Certificates, and what makes them untrue. A refusal is looked at again only when a node that grew
 * since could change it:
 *
 *   too few     the level's fullest domain, or the only one there is, holds enough of the class now
 *   together    a domain that grew passes the bounds: enough of every class, each by itself, and of
 *               every resource for all of them
 *   surplus     one of the pods has a place where it may go, beyond those it leaves to others
 *   itself      never: the gang must change, or the cluster's shape
 *
 * Shrinking makes no refusal untrue, so nothing else needs to be looked at. What classes that look
 * around (spread, affinity, anti-affinity beyond the host) need is not seen in numbers of places:
 * any growth wakes those.
 */
#include "sched/model/core_impl.h"

/* Domains larger than this are not summed up: the bounds by class decide. */
enum { SUMMED_NODES = 1024 };

uint64_t core_growth(const struct core *c)
{
    return c->forgotten + c->grown.len;
}

size_t core_grown(const struct core *c)
{
    return c->grown.len;
}

void core_grow(struct core *c, int32_t node)
{
    if (c->grown.len > 4 * c->n_nodes + 1024) {
        c->forgotten += c->grown.len;
        vec_clear(&c->grown);
    }
    *vec_push(&c->grown) = node;
}

void core_arrived(struct core *c, int32_t cls)
{
    if (c->n_looking > 0 && core_class(c, cls)->n_counts > 0)
        core_grow(c, CORE_NONE);
}

void core_cert_want(struct core *c, struct core_cert *cert, int32_t cls, int32_t need,
                    int32_t domain)
{
    bool all = cert->n_wants == CORE_CERT_WANTS;
    cert->vague = cert->vague || all || core_class(c, cls)->wide;
    if (!all)
        cert->wants[cert->n_wants++] = (struct core_need){cls, need, domain};
}

static bool too_few_holds(struct core *c, const struct core_cert *cert, int32_t tree)
{
    if (cert->need <= 0)
        return false;
    if (cert->fixed)
        return core_sum(c, cert->cls, tree, cert->domain) < cert->need;
    return core_most_at(c, cert->cls, tree, cert->level) < cert->need ||
           core_sum(c, cert->cls, tree, cert->within) < cert->need;
}

static bool surplus_holds(struct core *c, const struct core_cert *cert, int32_t tree)
{
    for (size_t i = 0; i < cert->n_wants; i++) {
        const struct core_need *w = &cert->wants[i];
        if (core_sum(c, w->cls, tree, w->domain) >= w->need)
            return false;
    }
    return true;
}

/* ---- all of it together ---- */

/* Some pod of the gang has a place on the node: else it is of no use whatever it has more. */
static bool node_matters(struct core *c, const struct core_cert *cert, int32_t node)
{
    for (size_t i = 0; i < cert->n_wants; i++) {
        if (core_slots(c, cert->wants[i].cls, node) > 0)
            return true;
    }
    return false;
}

static bool resources_suffice(const struct core *c, const struct core_cert *cert, int32_t tree,
                              int32_t domain)
{
    size_t n;
    const int32_t *nodes = core_nodes_in(c, tree, domain, &n);
    for (size_t r = 0; n <= SUMMED_NODES && r < c->n_resources; r++) {
        double need = 0, free = 0; /* of sums, the first digits are enough to be on the safe side */
        for (size_t i = 0; i < cert->n_wants; i++)
            need += (double)cert->wants[i].need *
                    (double)core_amount_of(c, cert->wants[i].cls, (int32_t)r);
        for (size_t i = 0; need > 0 && i < n; i++)
            free += (double)MAX(0, core_free_of(c, nodes[i], (int32_t)r));
        if (free < need * (1 - 1e-9))
            return false;
    }
    return true;
}

static bool bounds_pass(struct core *c, const struct core_cert *cert, int32_t tree, int32_t domain)
{
    for (size_t i = 0; i < cert->n_wants; i++) {
        if (core_sum(c, cert->wants[i].cls, tree, domain) < cert->wants[i].need)
            return false;
    }
    return resources_suffice(c, cert, tree, domain);
}

/* The domain in which a gang that uses the node would be; CORE_NONE: none of those it may use. */
static int32_t domain_that_grew(const struct core *c, const struct core_cert *cert, int32_t tree,
                                int32_t node)
{
    const struct topo *t = c->trees.p[tree];
    int level = MAX(cert->level, topo_level(t, cert->within));
    int32_t d = level == 0 ? 0 : core_domain_of(c, tree, node, level);
    return d != CORE_NONE && topo_contains(t, cert->within, d) ? d : CORE_NONE;
}

static bool together_holds(struct core *c, const struct core_cert *cert, int32_t tree)
{
    int32_t last = CORE_NONE;
    if (cert->growth < c->forgotten)
        return false;
    for (size_t i = (size_t)(cert->growth - c->forgotten); i < c->grown.len; i++) {
        int32_t node = c->grown.p[i];
        if (node == CORE_NONE || !node_matters(c, cert, node))
            continue;
        int32_t d = domain_that_grew(c, cert, tree, node);
        if (d != CORE_NONE && d != last && bounds_pass(c, cert, tree, d))
            return false;
        last = d;
    }
    return true;
}

bool core_cert_holds(struct core *c, struct core_cert *cert, int32_t tree)
{
    bool grew = cert->growth != core_growth(c), holds = true;
    if (cert->why == CORE_ITSELF || !grew)
        return true;
    if (cert->vague)
        return false;
    if (cert->why == CORE_TOO_FEW)
        holds = too_few_holds(c, cert, tree);
    else if (cert->why == CORE_SURPLUS)
        holds = surplus_holds(c, cert, tree);
    else
        holds = cert->why != CORE_PLACED && together_holds(c, cert, tree);
    cert->growth = core_growth(c);
    return holds;
}

/* ---- what there is room for all the same ---- */

int32_t core_place_refused(struct core *c, int32_t tree, const struct core_cert *cert,
                           struct core_result *ret)
{
    const struct topo *t = c->trees.p[tree];
    const struct core_scope none = {.pin = CORE_NONE};
    int32_t placed = 0, near = cert->domain, beside = cert->within;
    if (!cert->fixed && !cert->barred)
        near = core_best_in(c, cert->cls, tree, cert->level, cert->within);
    if (cert->outer > topo_level(t, beside) && cert->outer <= topo_level(t, near)) {
        for (beside = near; topo_level(t, beside) > cert->outer;)
            beside = t->parent[beside];
    }
    for (size_t i = 0; i < cert->n_wants; i++) {
        struct core_leaf leaf = {none, cert->wants[i].cls, cert->wants[i].need, CORE_NONE};
        struct core_ask ask = {.tree = tree,
                               .within = i < cert->n_own ? near : beside,
                               .gang = none,
                               .leaves = &leaf,
                               .n_leaves = 1};
        placed += core_place_some(c, &ask, 0, ret);
    }
    return placed;
}
