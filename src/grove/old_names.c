/* See old_names.h. */
#include "grove/old_names.h"

#include <strings.h>

#include "grove/names.h"
#include "grove/types.h"

const struct kind *old_kind(str word)
{
    static const struct {
        const char *word;
        const struct kind *kind;
    } kinds[] = {
        {"podgangset", &kind_pcs},
        {"podgangsets", &kind_pcs},
        {"clustertopology", &kind_ctb},
        {"clustertopologies", &kind_ctb},
    };
    str rest = word, first = str_cut(&rest, '.'); /* the group */
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (first.len == strlen(kinds[i].word) &&
            strncasecmp(first.p, kinds[i].word, first.len) == 0)
            return kinds[i].kind;
    }
    return NULL;
}

/* ---- names ---- */

struct old {
    struct arena *arena;
    const struct obj *pcs;
    struct pcs_view set;
    str name;
};

/* Today's name, and what else there is of the same. */
struct today {
    str name;
    const char *others;
};
static const struct today unknown = {STR_INIT(""), NULL};

#define PER_REPLICA "one for each replica of the set"
#define PER_COPY "one for each replica of the set and of the group"

/* `name` without "`prefix`-" at its beginning; none when it does not begin so. */
static str without(str name, str prefix)
{
    if (!str_starts(name, prefix) || name.len <= prefix.len || name.p[prefix.len] != '-')
        return STR_NONE;
    return str_sub(name, prefix.len + 1, name.len);
}

static struct today clique_of(const struct old *o, int64_t replica, str clique)
{
    struct group_view g;
    if (!pcs_group_of(&o->set, clique, &g))
        return (struct today){name_pclq(o->arena, o->pcs->name, replica, clique), PER_REPLICA};
    str group = name_pcsg(o->arena, o->pcs->name, replica, g.name);
    return (struct today){name_member_pclq(o->arena, group, 0, clique), PER_COPY};
}

/* {set}-{clique}-{i} */
static struct today find_clique(const struct old *o)
{
    str rest = without(o->name, o->pcs->name);
    for (struct jiter it = jiter(o->set.cliques); jnext(&it);) {
        uint64_t i;
        str clique = jstr(jgetc(it.value, "name")), index = without(rest, clique);
        if (str_to_uint(index, &i) && (int64_t)i < o->set.replicas)
            return clique_of(o, (int64_t)i, clique);
    }
    return unknown;
}

/* {set}-{group} */
static struct today find_group(const struct old *o)
{
    struct group_view g;
    str rest = without(o->name, o->pcs->name);
    if (str_is_empty(rest) || !pcs_find_group(&o->set, rest, &g))
        return unknown;
    return (struct today){name_pcsg(o->arena, o->pcs->name, 0, g.name), PER_REPLICA};
}

/* {set}-headless */
static struct today find_service(const struct old *o)
{
    if (!str_is(without(o->name, o->pcs->name), "headless"))
        return unknown;
    return (struct today){name_service(o->arena, o->pcs->name, 0), PER_REPLICA};
}

/* {target}-hpa, where the target is the name of a group, alone or as it was or is called. */
static struct today find_autoscaler(const struct old *o)
{
    struct old target = *o;
    if (!str_ends(o->name, STR("-hpa")))
        return unknown;
    target.name = str_sub(o->name, 0, o->name.len - strlen("-hpa"));
    for (struct jiter it = jiter(o->set.scaling_groups); jnext(&it);) {
        str group = jstr(jgetc(it.value, "name")),
            now = name_pcsg(o->arena, o->pcs->name, 0, group);
        if (str_eq(target.name, group) || str_eq(target.name, now))
            return (struct today){now, PER_REPLICA};
    }
    struct today t = find_group(&target);
    return t.others ? t : find_clique(&target);
}

str old_name_hint(struct arena *a, const struct obj *pcs, const struct kind *k, str name)
{
    static const struct {
        const struct kind *kind;
        struct today (*find)(const struct old *o);
    } finders[] = {
        {&kind_pclq, find_clique},
        {&kind_pcsg, find_group},
        {&kind_service, find_service},
        {&kind_hpa, find_autoscaler},
    };
    struct old o = {.arena = a, .pcs = pcs, .name = name};
    struct today t = unknown;
    pcs_view(pcs, &o.set);
    for (size_t i = 0; i < ARRAY_LEN(finders) && o.set.replicas > 0; i++) {
        if (finders[i].kind == k)
            t = finders[i].find(&o);
    }
    if (!t.others)
        return STR_NONE;
    return arena_printf(a,
                        "that name is from older documents; today it is called %.*s (%s); see "
                        "`grove tree pcs/%.*s`",
                        STR_ARG(t.name), t.others, STR_ARG(pcs->name));
}
