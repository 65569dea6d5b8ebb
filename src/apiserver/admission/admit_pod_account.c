/*
 * Who a pod is: the service account it names or the namespace's own, which must exist, and what
 * that account gives it.
 *
 * A namespace gets its account by a controller, a moment after it was made. Where kube-apiserver
 * waits for that (a second or two), we take the pod: the account is on its way.
 */
#include "apiserver/admission/admit_impl.h"

#define DEFAULT_ACCOUNT "default"
#define MIRROR "kubernetes.io/config.mirror"
#define ON_ITS_WAY (3 * USEC_PER_SEC) /* creation times are in whole seconds */

static bool is_on_its_way(const struct admit *a)
{
    const struct obj *ns = store_newest(a->store, &kind_namespace, STR_NONE, a->ns);
    usec age = ns ? a->now - obj_created(ns) : 0;
    return ns && age < ON_ITS_WAY && age > -ON_ITS_WAY &&
           !store_newest(a->store, &kind_service_account, a->ns, STR(DEFAULT_ACCOUNT));
}

/* The names it has pull its images when it says nothing about that. */
static void give_pull_secrets(jval spec, const struct obj *account, struct edit *e)
{
    jval secrets = jgetc(obj_root(account), "imagePullSecrets");
    if (jlen(secrets) && !jlen(jgetc(spec, "imagePullSecrets")))
        edit_set(e, STR("/spec/imagePullSecrets"), secrets);
}

static void refuse_unknown(const struct admit *a, str name)
{
    refuse_pod(a, admit_path(a,
                             "error looking up service account %.*s/%.*s: serviceaccount \"%.*s\" "
                             "not found",
                             STR_ARG(a->ns), STR_ARG(name), STR_ARG(name)));
}

void pod_account(const struct admit *a, jval root, struct edit *e)
{
    jval spec = jgetc(root, "spec");
    str given = jstr(jgetc(spec, "serviceAccountName"));
    str old_name = jstr(jgetc(spec, "serviceAccount"));
    str name = given.len ? given : old_name.len ? old_name : STR(DEFAULT_ACCOUNT);
    if (j_has(jget(jpath(root, "metadata.annotations"), STR(MIRROR)))) {
        if (given.len || old_name.len)
            refuse_pod(a, STR("a mirror pod may not reference service accounts"));
        return;
    }
    const struct obj *account = store_newest(a->store, &kind_service_account, a->ns, name);
    if (account)
        give_pull_secrets(spec, account, e);
    else if (!is_on_its_way(a))
        refuse_unknown(a, name);
    pod_token_volume(a, spec, account, e);
    if (!str_eq(given, name))
        edit_set_str(e, STR("/spec/serviceAccountName"), name);
    if (!str_eq(old_name, name))
        edit_set_str(e, STR("/spec/serviceAccount"), name);
}
