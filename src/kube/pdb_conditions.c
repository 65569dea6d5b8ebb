/* See pdb_conditions.h. */
#include "kube/pdb_conditions.h"

#include "kube/object.h"

void pdb_put_conditions(struct jw *out, jval conditions, const char *reason, bool allowed,
                        str message, int64_t generation, str now)
{
    jval had = condition_find(conditions, STR(PDB_CONDITION));
    bool same = str_is(jstr(jgetc(had, "status")), allowed ? "True" : "False");
    str since = jstr(jgetc(had, "lastTransitionTime"));
    jw_put_array(out, "conditions");
    for (struct jiter it = jiter(conditions); jnext(&it);)
        if (!str_is(jstr(jgetc(it.value, "type")), PDB_CONDITION))
            jw_val(out, it.value);
    jw_object(out);
    jw_put_cstr(out, "type", PDB_CONDITION);
    jw_put_cstr(out, "status", allowed ? "True" : "False");
    jw_put_int(out, "observedGeneration", generation);
    jw_put_str(out, "lastTransitionTime", same && since.len ? since : now);
    jw_put_cstr(out, "reason", reason);
    jw_put_str(out, "message", message);
    jw_end(out);
    jw_end(out);
}
