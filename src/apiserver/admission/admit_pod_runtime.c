/*
 * Pods that name a RuntimeClass: there must be one, and they get what it says: the overhead, and
 * which nodes have it.
 */
#include "apiserver/admission/admit_impl.h"

static void set_overhead(const struct admit *a, jval spec, jval class, struct edit *e)
{
    jval own = jgetc(spec, "overhead"), given = jpath(class, "overhead.podFixed");
    if (!jlen(own)) {
        if (jlen(given))
            edit_set(e, STR("/spec/overhead"), given);
        return;
    }
    if (!jlen(given))
        refuse_pod(a, STR("pod rejected: Pod Overhead set without corresponding RuntimeClass "
                          "defined Overhead"));
    else if (!jequal(own, given))
        refuse_pod(a, STR("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined "
                          "Overhead"));
}

static void set_nodes(const struct admit *a, jval spec, jval scheduling, struct edit *e)
{
    CLEANUP(jlookup_done) struct jlookup in_pod = jlookup(jgetc(spec, "nodeSelector"));
    for (struct jiter it = jiter(jgetc(scheduling, "nodeSelector")); jnext(&it);) {
        jval own = jlookup_get(&in_pod, it.key);
        if (j_has(own) && !jequal(own, it.value)) {
            refuse_pod(a, admit_path(a,
                                     "conflict: runtimeClass.scheduling.nodeSelector[%.*s] = %.*s; "
                                     "pod.spec.nodeSelector[%.*s] = %.*s",
                                     STR_ARG(it.key), STR_ARG(jstr(it.value)), STR_ARG(it.key),
                                     STR_ARG(jstr(own))));
            return;
        }
        edit_set(e, edit_path(a->arena, STR("spec"), STR("nodeSelector"), it.key), it.value);
    }
    for (struct jiter it = jiter(jgetc(scheduling, "tolerations")); jnext(&it);)
        edit_set(e, STR("/spec/tolerations/-"), it.value);
}

void pod_runtime(const struct admit *a, jval spec, struct edit *e)
{
    str name = jstr(jgetc(spec, "runtimeClassName"));
    if (LIKELY(!name.len))
        return;
    struct obj *class = store_newest(a->store, &kind_runtime_class, STR_NONE, name);
    if (!class) {
        refuse_pod(a,
                   admit_path(a, "pod rejected: RuntimeClass \"%.*s\" not found", STR_ARG(name)));
        return;
    }
    jval root = obj_root(obj_hold(a->arena, obj_ref(class)));
    set_overhead(a, spec, root, e);
    set_nodes(a, spec, jgetc(root, "scheduling"), e);
}
