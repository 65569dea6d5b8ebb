/*
 * The token of a pod: a projected volume `kube-api-access-*` with a token of its service account,
 * the root CA and the namespace, mounted where client libraries look for it in each container that
 * has nothing there. automountServiceAccountToken of the pod, else of the account, else true.
 *
 * The volume's name is kube-apiserver's, five letters made up; ours follow from the pod's name, so
 * that the same write gives the same object.
 */
#include "apiserver/admission/admit_impl.h"

#define PREFIX "kube-api-access-"
#define WHERE "/var/run/secrets/kubernetes.io/serviceaccount"
#define SOURCES                                                                                 \
    "\"projected\":{\"sources\":["                                                              \
    "{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}},"                \
    "{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\",\"path\":"    \
    "\"ca.crt\"}]}},"                                                                           \
    "{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\",\"fieldRef\":{\"apiVersion\":\"v1\"," \
    "\"fieldPath\":\"metadata.namespace\"}}]}}],\"defaultMode\":420}"

enum { SUFFIX = 5 };

static const char *const lists[] = {"initContainers", "containers"};

static bool wants_token(jval spec, const struct obj *account)
{
    jval own = jgetc(spec, "automountServiceAccountToken");
    jval of_account =
        account ? jgetc(obj_root(account), "automountServiceAccountToken") : JVAL_ABSENT;
    return jbool(j_has(own) ? own : of_account, true);
}

static bool has_mount(jval container)
{
    for (struct jiter it = jiter(jgetc(container, "volumeMounts")); jnext(&it);)
        if (str_is(jstr(jgetc(it.value, "mountPath")), WHERE))
            return true;
    return false;
}

static bool is_needed(jval spec)
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (struct jiter it = jiter(jget(spec, str_of(lists[i]))); jnext(&it);)
            if (!has_mount(it.value))
                return true;
    return false;
}

/* A volume that an earlier admission made: the pod was copied. */
static str find_volume(jval spec)
{
    for (struct jiter it = jiter(jgetc(spec, "volumes")); jnext(&it);)
        if (str_starts(jstr(jgetc(it.value, "name")), STR(PREFIX)))
            return jstr(jgetc(it.value, "name"));
    return STR_NONE;
}

static str make_name(const struct admit *a)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint64_t h = str_hash(a->name, str_hash(a->ns, 0));
    char suffix[SUFFIX];
    for (size_t i = 0; i < SUFFIX; i++, h /= sizeof(letters) - 1)
        suffix[i] = letters[h % (sizeof(letters) - 1)];
    return arena_cat(a->arena, STR(PREFIX), str_n(suffix, SUFFIX));
}

void pod_token_volume(const struct admit *a, jval spec, const struct obj *account, struct edit *e)
{
    if (!a->token_volumes || !wants_token(spec, account) || !is_needed(spec))
        return;
    str name = find_volume(spec);
    if (!name.len) {
        name = make_name(a);
        edit_set_raw(e, STR("/spec/volumes/-"),
                     arena_cat(a->arena, STR("{\"name\":\""), name, STR("\"," SOURCES "}")));
    }
    str mount = arena_cat(a->arena, STR("{\"name\":\""), name,
                          STR("\",\"readOnly\":true,\"mountPath\":\"" WHERE "\"}"));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (struct jiter it = jiter(jget(spec, str_of(lists[i]))); jnext(&it);)
            if (!has_mount(it.value))
                edit_set_raw(e, admit_path(a, "/spec/%s/%zu/volumeMounts/-", lists[i], it.index),
                             mount);
}
