/* See scheduler_queue.h. */
#include "grove/scheduler_queue.h"

static str queue_at(jval meta, const char *key, bool by_label)
{
    str label = by_label ? jstr(jget(jgetc(meta, "labels"), str_of(key))) : STR_NONE;
    str other = jstr(jget(jgetc(meta, "annotations"), str_of(key)));
    return str_trim(str_is_empty(label) ? other : label);
}

struct set_queue set_queue(jval pcs, const char *key, bool by_label)
{
    struct set_queue q = {.name = queue_at(jgetc(pcs, "metadata"), key, by_label)};
    q.by_set = !str_is_empty(q.name);
    for (struct jiter it = jiter(jpath(pcs, "spec.template.cliques")); jnext(&it);) {
        str own = queue_at(it.value, key, by_label);
        if (str_is_empty(q.name)) {
            q.name = own;
        } else if (!str_is_empty(own) && !str_eq(own, q.name)) {
            q.other = own;
            q.clique = jstr(jgetc(it.value, "name"));
            break;
        }
    }
    return q;
}
