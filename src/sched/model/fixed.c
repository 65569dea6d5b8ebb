/* See fixed.h. */
#include "sched/model/fixed.h"

static bool says_fixed(const struct obj *o)
{
    return o && (str_is(obj_label(o, STR(PREEMPTIBILITY)), "non-preemptible") ||
                 str_is(obj_annotation(o, STR(PREEMPTIBILITY)), "non-preemptible"));
}

bool victim_is_fixed(const struct tgang *g)
{
    bool fixed = says_fixed(g->obj);
    for (struct list *it = g->pods.next; !fixed && it != &g->pods; it = it->next)
        fixed = says_fixed(list_entry(it, struct tpod, link)->obj);
    return fixed;
}
