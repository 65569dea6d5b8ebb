/*
 * Pods: the clique's pod spec with Grove's gate, its environment in front of the user's, and a
 * stable host name under the replica's Service. Everything the user wrote stays as it is.
 */
#include "operator/pod.h"

enum { N_ENV = 5 };

static void pod_env(struct arena *a, const struct obj *pcs, const struct obj *pclq, str service,
                    struct env env[N_ENV])
{
    env[0] = (struct env){"GROVE_PCS_NAME", pcs->name, NULL};
    env[1] = (struct env){"GROVE_PCS_INDEX", obj_label(pclq, STR(LABEL_PCS_INDEX)), NULL};
    env[2] = (struct env){"GROVE_PCLQ_NAME", pclq->name, NULL};
    env[3] = (struct env){
        "GROVE_HEADLESS_SERVICE",
        arena_printf(a, "%.*s.%.*s.svc.cluster.local", STR_ARG(service), STR_ARG(pclq->ns)), NULL};
    env[4] = (struct env){"GROVE_PCLQ_POD_INDEX", STR_NONE, LABEL_POD_INDEX};
}

static bool is_replaced(str field)
{
    return str_is(field, "schedulingGates") || str_is(field, "hostname") ||
           str_is(field, "subdomain");
}

static void write_spec(struct jw *w, jval spec, str hostname, str service,
                       const struct env env[N_ENV])
{
    jw_put_object(w, "spec");
    for (struct jiter it = jiter(spec); jnext(&it);) {
        if (is_replaced(it.key))
            continue;
        jw_key(w, it.key);
        if (str_is(it.key, "containers") || str_is(it.key, "initContainers"))
            make_containers(w, it.value, env, N_ENV);
        else
            jw_val(w, it.value);
    }
    jw_put_str(w, "hostname", hostname);
    jw_put_str(w, "subdomain", service);
    jw_put_array(w, "schedulingGates");
    for (struct jiter it = jiter(jgetc(spec, "schedulingGates")); jnext(&it);)
        jw_val(w, it.value);
    jw_object(w);
    jw_put_cstr(w, "name", GATE_PODGANG);
    jw_end(w);
    jw_end(w);
    jw_end(w);
}

struct doc *pod_make(struct arena *a, const struct obj *pcs, const struct obj *pclq, int64_t index,
                     str name)
{
    struct env env[N_ENV];
    struct labels l, annotations;
    int64_t replica = label_index(pclq, STR(LABEL_PCS_INDEX));
    str service = name_service(a, pcs->name, replica);
    labels_init(&l, a);
    labels_add_all(&l, pclq->labels);
    labels_set(&l, LABEL_PCLQ, name_label(a, pclq->name));
    labels_set_int(&l, LABEL_POD_INDEX, index);
    labels_init(&annotations, a);
    labels_add_all(&annotations, pclq->annotations);
    pod_env(a, pcs, pclq, service, env);
    struct jw w;
    make_begin(&w, &(struct make_meta){&kind_pod, pclq->ns, name, &l, &annotations, pclq, NULL});
    write_spec(&w, jgetc(obj_spec(pclq), "podSpec"), name_hostname(a, pclq->name, index), service,
               env);
    return make_end(&w);
}

bool pod_is_ready(const struct obj *pod)
{
    return condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
}

bool pod_is_scheduled(const struct obj *pod)
{
    return !str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName")));
}

bool pod_is_gated(const struct obj *pod)
{
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "schedulingGates")); jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "name")), GATE_PODGANG))
            return true;
    }
    return false;
}

bool pod_is_finished(const struct obj *pod)
{
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

int64_t pod_index(const struct obj *pod)
{
    return label_index(pod, STR(LABEL_POD_INDEX));
}
