/* See unfit.h. */
#include "explain/documents/unfit.h"

#include "explain/documents/room.h"
#include "grove/types.h"

static long long get(jval v, const char *key)
{
    return jint(jget(v, str_of(key)), 0);
}

jval unfit_facts(const struct obj *gang)
{
    return jgetc(obj_status(gang), "unschedulable");
}

bool unfit_is_wrong(jval facts)
{
    return str_is(jstr(jgetc(facts, "cause")), "Itself");
}

/* " (3 cordoned, 17 not selected)" */
static str refusals_text(jval candidate, struct arena *a)
{
    static const struct {
        const char *field, *word;
    } kinds[] = {{"cordoned", "cordoned"},
                 {"notReady", "not ready"},
                 {"tainted", "tainted"},
                 {"notSelected", "not selected"}};
    str text = STR_NONE;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (get(candidate, kinds[i].field) > 0)
            text = arena_printf(a, "%.*s%s%lld %s", STR_ARG(text), text.len ? ", " : " (",
                                get(candidate, kinds[i].field), kinds[i].word);
    }
    return text.len ? arena_printf(a, "%.*s)", STR_ARG(text)) : text;
}

/* What keeps the next pod out of the best place. */
static str lack_text(jval facts, jval best, struct arena *a)
{
    str resource = jstr(jgetc(best, "resource"));
    if (get(best, "nodes") == 0)
        return STR("there are no nodes");
    if (get(best, "refusing") == get(best, "nodes"))
        return arena_printf(a, "no node admits its pods%.*s", STR_ARG(refusals_text(best, a)));
    if (resource.len)
        return arena_printf(a, "the nodes lack %.*s for more", STR_ARG(resource));
    if (get(best, "barred") > 0)
        return STR("pods on or near the nodes keep it out");
    if (get(facts, "closedNodes") > 0)
        return STR("the nodes are kept for other queues");
    return STR("no node takes more");
}

static str outlook_text(jval facts)
{
    static const struct {
        const char *outlook, *text;
    } words[] = {{"MakingRoom", "; others make room for it"},
                 {"Draining", "; room is held for it as it becomes free"},
                 {"Hopeless", "; it would not fit even if all others left"}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_is(jstr(jgetc(facts, "outlook")), words[i].outlook))
            return str_of(words[i].text);
    }
    return STR_NONE;
}

static str where_text(jval facts, struct arena *a)
{
    str level = jstr(jgetc(facts, "level"));
    return level.len ? arena_printf(a, " in one %.*s", STR_ARG(level)) : STR_NONE;
}

static str too_few_text(jval facts, struct arena *a)
{
    jval best = jat(jgetc(facts, "candidates"), 0);
    str where = where_text(facts, a), lack = lack_text(facts, best, a);
    str name = jstr(jgetc(facts, "name")), domain = jstr(jgetc(best, "domain"));
    if (where.len && str_is_empty(domain))
        return arena_printf(a, "%.*s needs %lld pods%.*s, and no node has that label",
                            STR_ARG(name), get(facts, "pods"), STR_ARG(where));
    if (where.len)
        return arena_printf(a, "%.*s needs %lld pods%.*s; the best, %.*s, takes %lld: %.*s",
                            STR_ARG(name), get(facts, "pods"), STR_ARG(where), STR_ARG(domain),
                            get(best, "room"), STR_ARG(lack));
    bool whole = str_is(name, "the gang"); /* as one says it already */
    return arena_printf(a, "%.*s%s%lld of %lld pods fit; %.*s", STR_ARG(whole ? STR_NONE : name),
                        whole ? "" : ": ", get(best, "room"), get(facts, "pods"), STR_ARG(lack));
}

/* All of it, where each part fits. Needs are rounded up, what is free is rounded down. */
static str together_text(jval facts, struct arena *a)
{
    jval shortage = jgetc(facts, "shortage");
    str where = where_text(facts, a), resource = jstr(jgetc(shortage, "resource"));
    str domain = jstr(jgetc(jat(jgetc(facts, "candidates"), 0), "domain"));
    long long needs = get(shortage, "needs"), gi = 1LL << 30;
    if (!j_has(shortage))
        return arena_printf(a, "its parts fit, but not together%.*s", STR_ARG(where));
    if (str_is(resource, "memory") && needs >= gi)
        needs = (needs + gi - 1) / gi * gi;
    str free = room_amount(a, resource, get(shortage, "free"));
    str text = arena_printf(a, "it needs %.*s %.*s%.*s", STR_ARG(room_amount(a, resource, needs)),
                            STR_ARG(resource), STR_ARG(where));
    return domain.len ? arena_printf(a, "%.*s; the best, %.*s, has %.*s free", STR_ARG(text),
                                     STR_ARG(domain), STR_ARG(free))
                      : arena_printf(a, "%.*s, and %.*s are free", STR_ARG(text), STR_ARG(free));
}

str unfit_verdict(const struct obj *gang, struct arena *a)
{
    jval facts = unfit_facts(gang);
    jval c = condition_find(jgetc(obj_status(gang), "conditions"), STR("Unschedulable"));
    if (!j_has(facts) || unfit_is_wrong(facts))
        return jstr(jgetc(c, "message"));
    str cause = jstr(jgetc(facts, "cause"));
    str text = str_is(cause, "TooFew") ? too_few_text(facts, a)
               : str_is(cause, "SearchGivenUp")
                   ? STR("no placement was found within the search limit; there may be one")
                   : together_text(facts, a);
    return arena_cat(a, text, outlook_text(facts));
}

str unfit_key(jval facts, struct arena *a)
{
    jval best = jat(jgetc(facts, "candidates"), 0);
    if (!j_has(facts) || unfit_is_wrong(facts))
        return STR_NONE;
    return arena_printf(a, "%.*s/%.*s/%lld/%.*s/%.*s/%lld", STR_ARG(jstr(jgetc(facts, "cause"))),
                        STR_ARG(jstr(jgetc(facts, "level"))), get(facts, "pods"),
                        STR_ARG(lack_text(facts, best, a)), STR_ARG(jstr(jgetc(facts, "outlook"))),
                        get(best, "room"));
}
