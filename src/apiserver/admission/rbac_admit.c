/* Admission of roles and bindings: defaults and validation, in kube-apiserver's words. */
#include "apiserver/admission/admit_impl.h"

#include "grove/rbac_rules.h"

/* ---- roles ---- */

static void require(const struct admit *a, size_t rule, const char *key, jval list,
                    const char *words)
{
    if (!jlen(list))
        field_error_add(a->errors, FIELD_ERR_REQUIRED, admit_path(a, "rules[%zu].%s", rule, key),
                        STR_NONE, "%s", words);
}

static void refuse_urls(const struct admit *a, size_t rule, jval urls, const char *words)
{
    field_error_add(a->errors, FIELD_ERR_INVALID, admit_path(a, "rules[%zu].nonResourceURLs", rule),
                    jtext(urls), "%s", words);
}

static void validate_rule(const struct admit *a, size_t i, jval rule)
{
    jval groups = jgetc(rule, "apiGroups"), resources = jgetc(rule, "resources");
    jval urls = jgetc(rule, "nonResourceURLs");
    require(a, i, "verbs", jgetc(rule, "verbs"), "verbs must contain at least one value");
    if (jlen(urls)) {
        if (a->kind == &kind_role)
            refuse_urls(a, i, urls, "namespaced rules cannot apply to non-resource URLs");
        if (jlen(groups) || jlen(resources) || jlen(jgetc(rule, "resourceNames")))
            refuse_urls(a, i, urls,
                        "rules cannot apply to both regular resources and non-resource URLs");
        return;
    }
    require(a, i, "apiGroups", groups, "resource rules must supply at least one api group");
    require(a, i, "resources", resources, "resource rules must supply at least one resource");
}

void role_validate(const struct admit *a, jval root)
{
    for (struct jiter it = jiter(jgetc(root, "rules")); jnext(&it);)
        validate_rule(a, it.index, it.value);
}

/* ---- bindings ---- */

void role_binding_default(const struct admit *a, jval root, struct edit *e)
{
    for (struct jiter it = jiter(jgetc(root, "subjects")); jnext(&it);) {
        str kind = jstr(jgetc(it.value, "kind"));
        if (str_is(kind, "User") || str_is(kind, "Group"))
            default_raw(e, it.value, "apiGroup",
                        arena_printf(a->arena, "/subjects/%zu/apiGroup", it.index).p,
                        "\"" RBAC_GROUP "\"");
    }
}

static void unsupported(const struct admit *a, str field, jval value, const char *supported)
{
    field_error_add(a->errors, FIELD_ERR_NOT_SUPPORTED, field,
                    j_has(value) ? jtext(value) : STR("\"\""), "supported values: %s", supported);
}

static void validate_ref(const struct admit *a, jval ref)
{
    bool wide = a->kind == &kind_cluster_role_binding;
    str kind = jstr(jgetc(ref, "kind"));
    if (!str_is(jstr(jgetc(ref, "apiGroup")), RBAC_GROUP))
        unsupported(a, STR("roleRef.apiGroup"), jgetc(ref, "apiGroup"), "\"" RBAC_GROUP "\"");
    if (!str_is(kind, "ClusterRole") && (wide || !str_is(kind, "Role")))
        unsupported(a, STR("roleRef.kind"), jgetc(ref, "kind"),
                    wide ? "\"ClusterRole\"" : "\"ClusterRole\", \"Role\"");
    if (str_is_empty(jstr(jgetc(ref, "name"))))
        field_error_add(a->errors, FIELD_ERR_REQUIRED, STR("roleRef.name"), STR_NONE, "%s", "");
}

static void validate_account(const struct admit *a, size_t i, jval subject)
{
    jval group = jgetc(subject, "apiGroup"), name = jgetc(subject, "name");
    if (jstr(group).len)
        unsupported(a, admit_path(a, "subjects[%zu].apiGroup", i), group, "\"\"");
    if (jstr(name).len && !str_is_dns1123_subdomain(jstr(name)))
        field_error_add(a->errors, FIELD_ERR_INVALID, admit_path(a, "subjects[%zu].name", i),
                        jtext(name), "must be a lowercase RFC 1123 subdomain");
    if (a->kind == &kind_cluster_role_binding && !jstr(jgetc(subject, "namespace")).len)
        field_error_add(a->errors, FIELD_ERR_REQUIRED, admit_path(a, "subjects[%zu].namespace", i),
                        STR_NONE, "%s", "");
}

static void validate_subject(const struct admit *a, size_t i, jval subject)
{
    str kind = jstr(jgetc(subject, "kind"));
    jval group = jgetc(subject, "apiGroup");
    if (str_is_empty(jstr(jgetc(subject, "name"))))
        field_error_add(a->errors, FIELD_ERR_REQUIRED, admit_path(a, "subjects[%zu].name", i),
                        STR_NONE, "%s", "");
    if (str_is(kind, "ServiceAccount"))
        validate_account(a, i, subject);
    else if (!str_is(kind, "User") && !str_is(kind, "Group"))
        unsupported(a, admit_path(a, "subjects[%zu].kind", i), jgetc(subject, "kind"),
                    "\"Group\", \"ServiceAccount\", \"User\"");
    else if (!str_is(jstr(group), RBAC_GROUP))
        unsupported(a, admit_path(a, "subjects[%zu].apiGroup", i), group, "\"" RBAC_GROUP "\"");
}

void role_binding_validate(const struct admit *a, jval root)
{
    jval ref = jgetc(root, "roleRef");
    validate_ref(a, ref);
    for (struct jiter it = jiter(jgetc(root, "subjects")); jnext(&it);)
        validate_subject(a, it.index, it.value);
    if (a->old && !jequal(jgetc(obj_root(a->old), "roleRef"), ref))
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("roleRef"),
                        j_has(ref) ? jtext(ref) : STR("null"), "cannot change roleRef");
}
