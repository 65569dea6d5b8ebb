/* See standing.h. */
#include "operator/common/standing.h"

struct condition standing_available(const struct standing *s, struct arena *a)
{
    bool enough = s->there >= s->needed;
    return (struct condition){"Available", enough ? "True" : "False",
                              enough ? "MinimumReplicasAvailable" : "MinimumReplicasUnavailable",
                              arena_printf(a, "%lld of %lld %s, %lld needed", (long long)s->there,
                                           (long long)s->wanted, s->what, (long long)s->needed)};
}

/* All that this spec wants was there once. */
static bool has_arrived(const struct standing *s)
{
    jval status = obj_status(s->of);
    jval c = condition_find(jgetc(status, "conditions"), STR("Progressing"));
    return s->there >= s->wanted ||
           (jint(jgetc(status, "observedGeneration"), -1) == s->of->generation &&
            str_is(jstr(jgetc(c, "reason")), "Complete"));
}

struct condition standing_progressing(const struct standing *s, struct arena *a)
{
    const char *reason = s->updating      ? "Updating"
                         : has_arrived(s) ? "Complete"
                                          : "WaitingForReplicas";
    str text =
        arena_printf(a, "%lld of %lld %s", (long long)s->there, (long long)s->wanted, s->what);
    if (s->updating)
        text = arena_printf(a, "%lld of %lld are updated; %.*s", (long long)s->updated,
                            (long long)s->wanted, STR_ARG(text));
    return (struct condition){"Progressing", "True", reason, text};
}

struct condition standing_ready(const struct condition *available,
                                const struct condition *progressing, bool updating)
{
    bool enough = str_is(str_of(available->status), "True");
    const struct condition *why = enough && updating ? progressing : available;
    return (struct condition){"Ready", enough && !updating ? "True" : "False", why->reason,
                              why->message};
}
