/*
 * Pods: the clique's pod spec with Grove's gate, its environment in front of the user's, a stable
 * host name under the replica's Service, and the claims it shares with others behind the user's.
 * Everything the user wrote stays as it is.
 */
#include "grove/pod.h"
#include "operator/common/backend.h"
#include "operator/common/sharing.h"
#include "operator/common/startup.h"

/* ---- environment ---- */

static void write_env(struct jw *w, const struct env *e)
{
    jw_object(w);
    jw_put_cstr(w, "name", e->name);
    if (e->label) {
        jw_put_object(w, "valueFrom");
        jw_put_object(w, "fieldRef");
        jw_put_cstr(w, "apiVersion", "v1");
        jw_key(w, STR("fieldPath"));
        jw_printf(w, "metadata.labels['%s']", e->label);
        jw_end(w);
        jw_end(w);
    } else {
        jw_put_str(w, "value", e->value);
    }
    jw_end(w);
}

static bool is_reserved(const struct env *env, size_t n, str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_is(name, env[i].name))
            return true;
    }
    return false;
}

/* A claim as the containers of a pod name it, which has to be short. */
static str claim_alias(struct arena *a, str claim)
{
    return name_label(a, claim);
}

/* The user's, which may be absent, with the claims that are shared. */
static void write_resources(struct jw *w, struct arena *a, jval users, const claim_names *claims)
{
    jw_put_object(w, "resources");
    for (struct jiter it = jiter(users); jnext(&it);) {
        if (str_is(it.key, "claims"))
            continue;
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    jw_put_array(w, "claims");
    for (struct jiter it = jiter(jgetc(users, "claims")); jnext(&it);)
        jw_val(w, it.value);
    for (size_t i = 0; i < claims->len; i++) {
        jw_object(w);
        jw_put_str(w, "name", claim_alias(a, claims->p[i]));
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
}

/* What Grove puts into containers. */
struct extras {
    const struct env *env;
    size_t n_env;
    struct arena *arena;
    claim_names claims;
};

static void write_container(struct jw *w, jval container, const struct extras *x)
{
    const struct env *env = x->env;
    size_t n = x->n_env;
    bool shares = x->claims.len > 0;
    jw_object(w);
    for (struct jiter it = jiter(container); jnext(&it);) {
        if (str_is(it.key, "env") || (shares && str_is(it.key, "resources")))
            continue;
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    jw_put_array(w, "env");
    for (size_t i = 0; i < n; i++)
        write_env(w, &env[i]);
    for (struct jiter it = jiter(jgetc(container, "env")); jnext(&it);) {
        if (!is_reserved(env, n, jstr(jgetc(it.value, "name"))))
            jw_val(w, it.value);
    }
    jw_end(w);
    if (shares)
        write_resources(w, x->arena, jgetc(container, "resources"), &x->claims);
    jw_end(w);
}

static void write_containers(struct jw *w, jval containers, const struct extras *x)
{
    for (struct jiter it = jiter(containers); jnext(&it);)
        write_container(w, it.value, x);
}

void make_containers(struct jw *w, jval containers, const struct env *env, size_t n)
{
    jw_array(w);
    write_containers(w, containers, &(struct extras){.env = env, .n_env = n});
    jw_end(w);
}

/* ---- pods ---- */

enum { N_ENV = 5 };

static void pod_env(struct arena *a, const struct obj *pcs, const struct obj *pclq, str service,
                    struct env env[N_ENV])
{
    env[0] = (struct env){"GROVE_PCS_NAME", pcs->name, NULL};
    env[1] = (struct env){"GROVE_PCS_INDEX", obj_label(pclq, STR(LABEL_PCS_INDEX)), NULL};
    env[2] = (struct env){"GROVE_PCLQ_NAME", pclq->name, NULL};
    env[3] =
        (struct env){"GROVE_HEADLESS_SERVICE",
                     arena_cat(a, service, STR("."), pclq->ns, STR(".svc.cluster.local")), NULL};
    env[4] = (struct env){"GROVE_PCLQ_POD_INDEX", STR_NONE, LABEL_POD_INDEX};
}

static bool is_replaced(str field)
{
    return str_is(field, "schedulingGates") || str_is(field, "hostname") ||
           str_is(field, "subdomain") || str_is(field, "resourceClaims");
}

/* The user's, with the extras; the one that waits comes last and has none of them. */
static void write_init_containers(struct jw *w, struct arena *a, const struct pod_recipe *r,
                                  jval users, const struct extras *x)
{
    jw_put_array(w, "initContainers");
    write_containers(w, users, x);
    if (startup_waits(r->pclq))
        startup_write_container(w, a, r->world, r->pcs, r->pclq, r->initc_image);
    jw_end(w);
}

static void write_volumes(struct jw *w, struct arena *a, const struct pod_recipe *r, jval users)
{
    jw_put_array(w, "volumes");
    for (struct jiter it = jiter(users); jnext(&it);)
        jw_val(w, it.value);
    if (startup_waits(r->pclq))
        startup_write_volumes(w, a, r->pcs, r->pclq);
    jw_end(w);
}

static void write_gates(struct jw *w, jval users)
{
    jw_put_array(w, "schedulingGates");
    for (struct jiter it = jiter(users); jnext(&it);)
        jw_val(w, it.value);
    jw_object(w);
    jw_put_cstr(w, "name", GATE_PODGANG);
    jw_end(w);
    jw_end(w);
}

static void write_claims(struct jw *w, struct arena *a, jval users, const claim_names *claims)
{
    if (j_is_absent(users) && claims->len == 0)
        return;
    jw_put_array(w, "resourceClaims");
    for (struct jiter it = jiter(users); jnext(&it);)
        jw_val(w, it.value);
    for (size_t i = 0; i < claims->len; i++) {
        jw_object(w);
        jw_put_str(w, "name", claim_alias(a, claims->p[i]));
        jw_put_str(w, "resourceClaimName", claims->p[i]);
        jw_end(w);
    }
    jw_end(w);
}

static void write_spec(struct jw *w, struct arena *a, const struct pod_recipe *r, str hostname,
                       str service, const struct extras *x)
{
    jval spec = jgetc(obj_spec(r->pclq), "podSpec");
    jw_put_object(w, "spec");
    for (struct jiter it = jiter(spec); jnext(&it);) {
        if (is_replaced(it.key))
            continue;
        if (str_is(it.key, "initContainers")) {
            write_init_containers(w, a, r, it.value, x);
        } else if (str_is(it.key, "volumes")) {
            write_volumes(w, a, r, it.value);
        } else {
            jw_key(w, it.key);
            if (!str_is(it.key, "containers")) {
                jw_val(w, it.value);
                continue;
            }
            jw_array(w);
            write_containers(w, it.value, x);
            jw_end(w);
        }
    }
    if (startup_waits(r->pclq) && j_is_absent(jgetc(spec, "initContainers")))
        write_init_containers(w, a, r, JVAL_ABSENT, x);
    if (startup_waits(r->pclq) && j_is_absent(jgetc(spec, "volumes")))
        write_volumes(w, a, r, JVAL_ABSENT);
    backend_write_scheduler(w, r->world, spec);
    jw_put_str(w, "hostname", hostname);
    jw_put_str(w, "subdomain", service);
    write_gates(w, jgetc(spec, "schedulingGates"));
    write_claims(w, a, jgetc(spec, "resourceClaims"), &x->claims);
    jw_end(w);
}

struct doc *pod_make(struct arena *a, const struct pod_recipe *r, int64_t index, str name,
                     int64_t failures)
{
    struct env env[N_ENV];
    struct labels l, annotations;
    const struct obj *pclq = r->pclq;
    int64_t replica = label_index(pclq, STR(LABEL_PCS_INDEX));
    str service = name_service(a, r->pcs->name, replica);
    labels_init(&l, a);
    labels_add_all(&l, pclq->labels);
    labels_set(&l, LABEL_PCLQ, name_label(a, pclq->name));
    labels_set_int(&l, LABEL_POD_INDEX, index);
    labels_init(&annotations, a);
    labels_add_all(&annotations, pclq->annotations);
    if (failures > 0)
        labels_set_int(&annotations, ANNOTATION_FAILURES, failures);
    str host = name_hostname(a, pclq->name, index);
    labels_set_full_name(&annotations, host,
                         arena_cat(a, pclq->name, STR("-"), arena_int(a, index)));
    backend_prepare(a, r->world, r->pcs, pclq, &l, &annotations);
    pod_env(a, r->pcs, pclq, service, env);
    struct extras x = {.env = env, .n_env = N_ENV, .arena = a};
    sharing_claims_of_pod(a, r->pcs, pclq, index, &x.claims);
    struct jw w;
    make_begin(&w, &(struct make_meta){&kind_pod, pclq->ns, name, &l, &annotations, pclq, NULL});
    write_spec(&w, a, r, host, service, &x);
    vec_done(&x.claims);
    return make_end(&w);
}
