/* See replica_failure.h. */
#include "operator/common/replica_failure.h"

#include "operator/common/rollup.h"

/* Cliques that are looked at for one message. */
enum { CLIQUES_MAX = 1000 };

static struct condition failure(const char *reason, str message)
{
    return (struct condition){CONDITION_REPLICA_FAILURE, reason ? "True" : NULL, reason, message};
}

bool failure_is_told(const struct condition *c)
{
    return c->status != NULL;
}

struct condition failure_of_clique(struct arena *a, struct error_summary own, int64_t wanted,
                                   int64_t there)
{
    if (!own.reason)
        return failure(NULL, STR_NONE);
    return failure(own.reason, arena_printf(a, "%lld of %lld pods are missing: %.*s",
                                            (long long)MAX(wanted - there, 0), (long long)wanted,
                                            STR_ARG(own.message)));
}

/* What children tell. */
struct found {
    const struct obj *first;
    size_t cliques;
    int64_t missing;
};

static int64_t missing_pods(const struct obj *pclq)
{
    return MAX(jint(jgetc(obj_spec(pclq), "replicas"), 0) -
                   jint(jgetc(obj_status(pclq), "replicas"), 0),
               0);
}

static void add_cliques(const struct world *w, str owner_uid, struct found *f)
{
    struct cache_iter it = rollup_failing(w, &kind_pclq, owner_uid);
    for (const struct obj *o; f->cliques < CLIQUES_MAX && (o = cache_next(&it)); f->cliques++) {
        f->first = f->first ? f->first : o;
        f->missing += missing_pods(o);
    }
}

static struct found look(const struct world *w, const struct obj *owner)
{
    struct found f = {0};
    add_cliques(w, owner->uid, &f);
    if (owner->kind != &kind_pcs)
        return f;
    struct cache_iter it = rollup_failing(w, &kind_pcsg, owner->uid);
    for (const struct obj *o; f.cliques < CLIQUES_MAX && (o = cache_next(&it));) {
        add_cliques(w, o->uid, &f);
        f.first = f.first ? f.first : o;
    }
    return f;
}

static str describe(struct arena *a, const struct found *f, jval condition)
{
    str first = arena_printf(a, "%s %.*s: %.*s", f->first->kind->kind, STR_ARG(f->first->name),
                             STR_ARG(jstr(jgetc(condition, "message"))));
    if (f->cliques <= 1)
        return first;
    return arena_printf(a, "%s%lld pods are missing in %zu PodCliques; %.*s",
                        f->cliques == CLIQUES_MAX ? "at least " : "", (long long)f->missing,
                        f->cliques, STR_ARG(first));
}

struct condition failure_of_owner(const struct world *w, struct arena *a, const struct obj *owner,
                                  struct error_summary own)
{
    struct found f = look(w, owner);
    if (!f.first)
        return failure(own.reason, own.message);
    jval c =
        condition_find(jgetc(obj_status(f.first), "conditions"), STR(CONDITION_REPLICA_FAILURE));
    str text = describe(a, &f, c);
    if (own.reason)
        text = arena_cat(a, own.message, STR("; "), text);
    return failure(own.reason ? own.reason : arena_str(a, jstr(jgetc(c, "reason"))).p, text);
}
