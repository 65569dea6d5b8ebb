/* The configuration objects, from one table; see webhook_config.h. */
#include "operator/webhook/webhook_config.h"

#include "base/b64.h"
#include "json/write.h"

struct rule {
    const char *group, *versions, *resources, *operations; /* words by commas */
    const char *scope;
};

static const struct rule set_rules[] = {
    {"grove.io", "v1alpha1", "podcliquesets", "CREATE,UPDATE", "Namespaced"},
    {NULL},
};
static const struct rule binding_rules[] = {
    {"grove.io", "v1alpha1", "clustertopologybindings", "CREATE,UPDATE", "Cluster"},
    {NULL},
};
static const struct rule authorizer_rules[] = {
    {"", "v1", "secrets,serviceaccounts,services", "UPDATE,DELETE", "Namespaced"},
    {"", "v1", "pods", "UPDATE", "Namespaced"},
    {"rbac.authorization.k8s.io", "v1", "roles,rolebindings", "UPDATE,DELETE", "Namespaced"},
    {"autoscaling", "v1,v2", "horizontalpodautoscalers", "UPDATE,DELETE", "Namespaced"},
    {"grove.io", "v1alpha1", "podcliques,podcliquescalinggroups", "CREATE,UPDATE,DELETE",
     "Namespaced"},
    {"scheduler.grove.io", "v1alpha1", "podgangs", "CREATE,UPDATE,DELETE", "Namespaced"},
    {NULL},
};

/* What nobody needs to be asked about, as the server itself can tell. With the operator gone, its
 * finalizer can still be taken from a set that is being deleted; and the operator, which the
 * authorizer lets do anything, does not depend on its own answers. */
struct match_condition {
    const char *name, *expression;
    const char *rest; /* of it, after the namespace of the installation; NULL: that is not in it */
};
static const struct match_condition unless_going = {
    "not-being-deleted", "!has(object.metadata.deletionTimestamp)", NULL};
static const struct match_condition unless_operator = {
    "not-the-operator",
    "request.userInfo.username != 'system:serviceaccount:", ":" WEBHOOK_SERVICE "'"};

static const struct {
    const struct kind *kind;
    const char *config, *webhook, *path;
    const struct rule *rules;
    bool managed_only;
    const struct match_condition *condition; /* NULL: none */
} registrations[WEBHOOK_COUNT] = {
    [WEBHOOK_DEFAULT_SET] = {&kind_mutating_webhook, "podcliqueset-defaulting-webhook",
                             "pcs.defaulting.webhooks.grove.io", "/webhooks/default-podcliqueset",
                             set_rules, false, &unless_going},
    [WEBHOOK_VALIDATE_SET] = {&kind_validating_webhook, "podcliqueset-validating-webhook",
                              "pcs.validating.webhooks.grove.io", "/webhooks/validate-podcliqueset",
                              set_rules, false, &unless_going},
    [WEBHOOK_VALIDATE_BINDING] = {&kind_validating_webhook, "clustertopology-validating-webhook",
                                  "clustertopology.validating.webhooks.grove.io",
                                  "/webhooks/validate-clustertopology", binding_rules, false, NULL},
    [WEBHOOK_AUTHORIZER] = {&kind_validating_webhook, "authorizer-webhook",
                            "authorizer.webhooks.grove.io", "/webhooks/authorizer-webhook",
                            authorizer_rules, true, &unless_operator},
};

const struct kind *webhook_config_kind(size_t i)
{
    return registrations[i].kind;
}

const char *webhook_config_name(size_t i)
{
    return registrations[i].config;
}

static void put_words(struct jw *w, const char *key, const char *words)
{
    str rest = str_of(words);
    jw_put_array(w, key);
    do {
        jw_str(w, str_cut(&rest, ','));
    } while (rest.p);
    jw_end(w);
}

static void put_rules(struct jw *w, const struct rule *rules)
{
    jw_put_array(w, "rules");
    for (const struct rule *r = rules; r->group; r++) {
        jw_object(w);
        put_words(w, "apiGroups", r->group);
        put_words(w, "apiVersions", r->versions);
        put_words(w, "operations", r->operations);
        put_words(w, "resources", r->resources);
        jw_put_cstr(w, "scope", r->scope);
        jw_end(w);
    }
    jw_end(w);
}

static void put_client(struct jw *w, size_t i, const struct webhook_service *s, str ca_pem)
{
    jw_put_object(w, "clientConfig");
    jw_put_object(w, "service");
    jw_put_str(w, "namespace", s->ns);
    jw_put_str(w, "name", s->name);
    jw_put_cstr(w, "path", registrations[i].path);
    jw_put_int(w, "port", s->port);
    jw_end(w);
    if (!str_is_empty(ca_pem)) {
        struct strbuf b = STRBUF_INIT(1 << 20);
        b64_encode(ca_pem, B64_STD, &b);
        jw_put_str(w, "caBundle", strbuf_str(&b));
        strbuf_done(&b);
    }
    jw_end(w);
}

static void put_condition(struct jw *w, const struct match_condition *c, str ns)
{
    struct strbuf text = STRBUF_INIT(4096);
    if (!c)
        return;
    strbuf_add_cstr(&text, c->expression);
    if (c->rest)
        strbuf_printf(&text, "%.*s%s", STR_ARG(ns), c->rest);
    jw_put_array(w, "matchConditions");
    jw_object(w);
    jw_put_cstr(w, "name", c->name);
    jw_put_str(w, "expression", strbuf_str(&text));
    jw_end(w);
    jw_end(w);
    strbuf_done(&text);
}

static void put_webhook(struct jw *w, size_t i, const struct webhook_service *s, str ca_pem)
{
    jw_object(w);
    jw_put_cstr(w, "name", registrations[i].webhook);
    put_client(w, i, s, ca_pem);
    put_words(w, "admissionReviewVersions", "v1");
    jw_put_cstr(w, "failurePolicy", "Fail");
    jw_put_cstr(w, "matchPolicy", "Exact");
    jw_put_cstr(w, "sideEffects", "None");
    jw_put_int(w, "timeoutSeconds", 10);
    jw_put_object(w, "namespaceSelector");
    jw_end(w);
    jw_put_object(w, "objectSelector");
    if (registrations[i].managed_only) {
        jw_put_object(w, "matchLabels");
        jw_put_cstr(w, LABEL_MANAGED_BY, MANAGED_BY_GROVE);
        jw_end(w);
    }
    jw_end(w);
    put_condition(w, registrations[i].condition, s->ns);
    put_rules(w, registrations[i].rules);
    jw_end(w);
}

struct doc *webhook_config_doc(size_t i, const struct webhook_service *s, str ca_pem)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "admissionregistration.k8s.io/v1");
    jw_put_cstr(&w, "kind", registrations[i].kind->kind);
    jw_put_object(&w, "metadata");
    jw_put_cstr(&w, "name", registrations[i].config);
    jw_put_object(&w, "labels");
    jw_put_cstr(&w, LABEL_MANAGED_BY, MANAGED_BY_GROVE);
    jw_put_cstr(&w, LABEL_COMPONENT, "webhook");
    jw_put_cstr(&w, LABEL_PART_OF, "grove");
    jw_end(&w);
    jw_end(&w);
    jw_put_array(&w, "webhooks");
    put_webhook(&w, i, s, ca_pem);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}
