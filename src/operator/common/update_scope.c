/* See update_scope.h. */
#include "operator/common/update_scope.h"

#include "operator/common/revisions.h"

void update_origin_add(struct update_origin *o, const struct world *w, struct arena *a,
                       const struct obj *pcs, str hash)
{
    const struct obj *revision =
        str_is_empty(hash) || o->n == UPDATE_ORIGINS ? NULL : revisions_by_hash(w, pcs, a, hash);
    if (revision)
        o->revisions[o->n++] = revision;
}

bool update_changes(const struct update_origin *o, const struct obj *target, str clique)
{
    for (size_t i = 0; i < o->n; i++) {
        if (!revision_names(target, clique, revision_clique_hash(o->revisions[i], clique)))
            return true;
    }
    return o->n == 0;
}

bool update_lists(jval list, str name)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (str_eq(jstr(it.value), name))
            return true;
    }
    return false;
}

static const char *list_of(bool group)
{
    return group ? "updatedPodCliqueScalingGroups" : "updatedStandalonePodCliques";
}

bool update_in_scope(jval progress, bool group, str name)
{
    return update_lists(jget(progress, str_of(list_of(group))), name);
}

static bool group_changes(const struct update_origin *o, const struct obj *target, jval group)
{
    for (struct jiter it = jiter(jgetc(group, "cliqueNames")); jnext(&it);) {
        if (update_changes(o, target, jstr(it.value)))
            return true;
    }
    return false;
}

void update_write_scope(const struct update_work *u, struct jw *w)
{
    jval status = obj_status(u->pcs), progress = jgetc(status, "updateProgress");
    str before = jstr(jgetc(status, "currentGenerationHash"));
    str complete = jstr(jgetc(status, "lastCompleteGenerationHash"));
    bool unfinished = !str_eq(before, complete);
    struct update_origin from = {0};
    struct group_view g;
    update_origin_add(&from, u->world, u->plan->arena, u->pcs, before);
    update_origin_add(&from, u->world, u->plan->arena, u->pcs, complete);
    jw_put_array(w, list_of(false));
    for (struct jiter it = jiter(u->set.cliques); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if (!pcs_group_of(&u->set, name, &g) &&
            (update_changes(&from, u->current.revision, name) ||
             (unfinished && update_in_scope(progress, false, name))))
            jw_str(w, name);
    }
    jw_end(w);
    jw_put_array(w, list_of(true));
    for (struct jiter it = jiter(u->set.scaling_groups); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if (group_changes(&from, u->current.revision, it.value) ||
            (unfinished && update_in_scope(progress, true, name)))
            jw_str(w, name);
    }
    jw_end(w);
}
