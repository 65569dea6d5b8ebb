/*
 * What the status of a set or of a scaling group says about its update:
 *
 *   blocks   updateProgress and rollingUpdateProgress say the same about when it began and ended
 *   scope    rollingUpdateProgress lists nothing that the update is not about; when one ends by
 *            itself that is for all replicas, all that it is about
 *   times    an update that was under way and ends is said to have ended at another time than it
 *            began
 */
#include "grove/types.h"
#include "sim/inv_impl.h"

/* A list of the one block and the list of the other that it is a part of. */
struct lists {
    const char *done, *scope;
};

static const struct lists of_set[] = {
    {"updatedPodCliques", "updatedStandalonePodCliques"},
    {"updatedPodCliqueScalingGroups", "updatedPodCliqueScalingGroups"}};
static const struct lists of_group[] = {{"updatedPodCliques", "changedPodCliques"}};

static bool has_name(jval list, jval name)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (jequal(it.value, name))
            return true;
    }
    return false;
}

/* A name of the first list that is not on the second; absent: all are. */
static jval missing_from(jval first, jval second)
{
    for (struct jiter it = jiter(first); jnext(&it);) {
        if (!has_name(second, it.value))
            return it.value;
    }
    return JVAL_ABSENT;
}

static jval progress_of(const struct obj *o)
{
    return jgetc(obj_status(o), "updateProgress");
}

static void check_blocks(struct invariants *v, const struct obj *o, jval rolling)
{
    static const char *const times[] = {"updateStartedAt", "updateEndedAt"};
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        str now = jstr(jget(progress_of(o), str_of(times[i])));
        str older = jstr(jget(rolling, str_of(times[i])));
        if (!str_eq(now, older))
            inv_fail(v, "progress", "%s %.*s: %s is %.*s in one block and %.*s in the other",
                     o->kind->kind, STR_ARG(o->name), times[i], STR_ARG(now), STR_ARG(older));
    }
}

/* It was under way before, and is over now; the same one. */
static bool ends(const struct store_event *e)
{
    jval now = progress_of(e->obj), before = e->prev ? progress_of(e->prev) : JVAL_ABSENT;
    static const char *const same[] = {"updateStartedAt", "podCliqueSetGenerationHash",
                                       "partition"};
    if (!j_has(before) || j_has(jgetc(before, "updateEndedAt")) ||
        !j_has(jgetc(now, "updateEndedAt")))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        if (!jequal(jget(now, str_of(same[i])), jget(before, str_of(same[i]))))
            return false;
    }
    return jequal(jgetc(obj_status(e->obj), "currentGenerationHash"),
                  jgetc(obj_status(e->prev), "currentGenerationHash"));
}

/* Of a set: by itself, for all of its replicas. With OnDelete an update ends when it begins, and
 * pods are replaced when somebody deletes them. */
static bool is_whole(const struct obj *o)
{
    jval status = obj_status(o);
    str type = jstr(jpath(obj_root(o), "spec.updateStrategy.type"));
    return o->kind == &kind_pcs && !str_is(type, "OnDelete") &&
           jequal(jgetc(status, "currentGenerationHash"),
                  jgetc(status, "lastCompleteGenerationHash"));
}

static void check_lists(struct invariants *v, const struct store_event *e, jval rolling,
                        const struct lists *lists, size_t n)
{
    const struct obj *o = e->obj;
    for (size_t i = 0; i < n; i++) {
        jval done = jget(rolling, str_of(lists[i].done));
        jval scope = jget(progress_of(o), str_of(lists[i].scope));
        jval beyond = missing_from(done, scope), left = missing_from(scope, done);
        if (j_has(beyond))
            inv_fail(v, "progress", "%s %.*s: %.*s is said to be updated, and nothing of it is",
                     o->kind->kind, STR_ARG(o->name), STR_ARG(jstr(beyond)));
        if (ends(e) && is_whole(o) && j_has(left))
            inv_fail(v, "progress", "the update of %.*s ends, and %.*s is not said to be updated",
                     STR_ARG(o->name), STR_ARG(jstr(left)));
    }
}

void progress_event(struct invariants *v, const struct store_event *e)
{
    const struct obj *o = e->obj;
    bool set = o->kind == &kind_pcs;
    if (e->type == STORE_DELETED || (!set && o->kind != &kind_pcsg))
        return;
    jval rolling = jgetc(obj_status(o), "rollingUpdateProgress"), now = progress_of(o);
    if (!j_has(rolling))
        return;
    check_blocks(v, o, rolling);
    check_lists(v, e, rolling, set ? of_set : of_group,
                set ? ARRAY_LEN(of_set) : ARRAY_LEN(of_group));
    if (ends(e) && jequal(jgetc(now, "updateStartedAt"), jgetc(now, "updateEndedAt")))
        inv_fail(v, "progress", "the update of %s %.*s ends when it began, at %.*s", o->kind->kind,
                 STR_ARG(o->name), STR_ARG(jstr(jgetc(now, "updateEndedAt"))));
}
