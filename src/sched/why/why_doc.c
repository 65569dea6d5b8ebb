/* Why a gang waits, as a document; its members are told in why.h. */
#include "sched/place/hold.h"
#include "sched/why/why.h"
#include "json/write.h"

static const char *cause_of(const struct facts *f)
{
    if (!str_is_empty(f->ask->wrong))
        return "Itself";
    bool sums = f->shortage.needs > 0 && f->cert.domain == 0;
    return f->cert.why == CORE_TOO_FEW           ? "TooFew"
           : f->cert.why == CORE_BUDGET && !sums ? "SearchGivenUp"
                                                 : "Together";
}

static const char *scope_of(const struct facts *f)
{
    if (f->cert.scope == 0)
        return "Gang";
    return (size_t)f->cert.scope <= f->ask->n_bundles ? "Group" : "PodGroup";
}

static void put_level(struct jw *w, const struct facts *f, int level)
{
    if (level > 0)
        jw_put_str(w, "level", tables_level_key(f->tables, f->ask->tree, level));
}

/* Its name and level; the whole cluster has none. */
static void put_domain(struct jw *w, const struct facts *f, int32_t domain, struct arena *a)
{
    int level = core_level_of(f->tables->core, f->ask->tree, domain);
    if (level > 0)
        jw_put_str(w, "domain", tables_domain_name(f->tables, f->ask->tree, domain, a));
    put_level(w, f, level);
}

static void put_pin(struct jw *w, const struct facts *f, struct arena *a)
{
    if (f->pin == 0)
        return;
    jw_put_object(w, "pin");
    put_domain(w, f, f->pin, a);
    jw_put_cstr(w, "by", f->pinned_by);
    jw_end(w);
}

/* Those that are none are left out. */
static void put_refusals(struct jw *w, const struct why_lack *l)
{
    static const char *const names[N_REFUSALS] = {
        [REFUSED_CORDONED] = "cordoned",
        [REFUSED_NOT_READY] = "notReady",
        [REFUSED_TAINTED] = "tainted",
        [REFUSED_UNWANTED] = "notSelected",
    };
    for (int i = 0; i < N_REFUSALS; i++) {
        if (l->by[i] > 0 && names[i])
            jw_put_int(w, names[i], (int64_t)l->by[i]);
    }
    if (l->barred > 0)
        jw_put_int(w, "barred", (int64_t)l->barred);
}

static void put_shortage(struct jw *w, const struct facts *f)
{
    if (f->shortage.needs == 0)
        return;
    jw_put_object(w, "shortage");
    jw_put_str(w, "resource", f->tables->snap.resources[f->shortage.resource]);
    jw_put_int(w, "needs", f->shortage.needs);
    jw_put_int(w, "free", f->shortage.free);
    jw_end(w);
}

static void put_candidates(struct jw *w, const struct facts *f, struct arena *a)
{
    jw_put_array(w, "candidates");
    for (size_t i = 0; i < f->cert.n_near; i++) {
        const struct why_lack *l = &f->lacks[i];
        jw_object(w);
        put_domain(w, f, f->cert.near[i].domain, a);
        if (f->cert.why == CORE_TOO_FEW)
            jw_put_int(w, "room", f->cert.near[i].room);
        jw_put_int(w, "nodes", (int64_t)l->nodes);
        jw_put_int(w, "lacking", (int64_t)l->lacking);
        jw_put_int(w, "refusing", (int64_t)l->refused);
        put_refusals(w, l);
        if (l->lacking > 0)
            jw_put_str(w, "resource", f->tables->snap.resources[l->resource]);
        jw_end(w);
    }
    jw_end(w);
}

static void put_holders(struct jw *w, const struct facts *f)
{
    if (f->n_holders == 0)
        return;
    jw_put_array(w, "holders");
    for (size_t i = 0; i < f->n_holders; i++) {
        const struct why_holder *h = &f->holders[i];
        jw_object(w);
        jw_put_cstr(w, h->gang->single ? "pod" : "gang", why_name(h->gang));
        if (!h->gang->single) {
            jw_put_int(w, "pods", (int64_t)h->pods);
            jw_put_int(w, "priority", h->gang->priority);
        }
        jw_put_int(w, "amount", h->amount);
        jw_end(w);
    }
    jw_end(w);
    if (f->other_pods > 0)
        jw_put_int(w, "otherPods", (int64_t)f->other_pods);
}

/* To whom it leaves room that it could have. */
static void put_yield(struct jw *w, const struct facts *f)
{
    if (!f->ask->yields_to)
        return;
    jw_put_array(w, "heldFor");
    jw_str(w, str_of(why_name(f->ask->yields_to)));
    jw_end(w);
}

static void put_kept(struct jw *w, const struct facts *f)
{
    if (f->n_held > 0) {
        jw_put_array(w, "heldFor");
        for (size_t i = 0; i < f->n_held; i++)
            jw_str(w, str_of(why_name(f->held[i].gang)));
        jw_end(w);
    }
    if (f->kept > 0) {
        jw_put_cstr(w, "keptFor", why_name(f->kept_for));
        jw_put_int(w, "keptPods", (int64_t)f->kept);
    }
    if (f->closed > 0)
        jw_put_int(w, "closedNodes", (int64_t)f->closed);
}

static void put_outlook(struct jw *w, const struct facts *f)
{
    const struct thold *h = hold_of(f->tables, f->ask->gang);
    if (h)
        jw_put_cstr(w, "outlook", h->asked ? "MakingRoom" : "Draining");
    else if (why_is_hopeless(f))
        jw_put_cstr(w, "outlook", "Hopeless");
}

struct doc *why_doc(const struct facts *f, struct arena *a)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "cause", cause_of(f));
    put_yield(&w, f);
    if (str_is_empty(f->ask->wrong)) {
        jw_put_cstr(&w, "scope", scope_of(f));
        jw_put_str(&w, "name", f->name);
        put_level(&w, f, f->cert.level);
        if (f->cert.why == CORE_TOO_FEW)
            jw_put_int(&w, "pods", f->cert.need);
        put_shortage(&w, f);
        put_pin(&w, f, a);
        put_candidates(&w, f, a);
        put_holders(&w, f);
        put_kept(&w, f);
        put_outlook(&w, f);
    }
    jw_end(&w);
    return jw_doc(&w);
}
