/*
 * What a valid policy and a valid binding are, in the words of kube-apiserver, so that a policy
 * that could never be evaluated is refused when it is written and not when it is needed.
 */
#include "apiserver/admission/admit_impl.h"
#include "apiserver/admission/policy.h"
#include "apiserver/admission/webhook.h"
#include "kube/selector.h"

#define LIST_MAX 64

static void invalid(const struct admit *a, str field, jval value, const char *why)
{
    field_error_add(a->errors, FIELD_ERR_INVALID, field,
                    j_is_absent(value) ? STR("\"\"") : jtext(value), "%s", why);
}

static void require(const struct admit *a, str field, const char *why)
{
    field_error_add(a->errors, FIELD_ERR_REQUIRED, field, STR_NONE, "%s", why);
}

static bool has_line_break(str s)
{
    return str_find_char(s, '\n') >= 0 || str_find_char(s, '\r') >= 0;
}

/* ---- which requests ---- */

static void check_selector(const struct admit *a, jval match, str path, const char *member)
{
    struct err err = ERR_INIT;
    jval v = jget(match, str_of(member));
    if (j_has(v) && !label_selector_from(a->arena, v, &err))
        invalid(a, admit_path(a, "%.*s.%s", STR_ARG(path), member), v,
                arena_printf(a->arena, "%s", err.message).p);
}

static void check_match(const struct admit *a, jval match, str path)
{
    static const char *const lists[] = {"resourceRules", "excludeResourceRules"};
    check_selector(a, match, path, "namespaceSelector");
    check_selector(a, match, path, "objectSelector");
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (struct jiter it = jiter(jget(match, str_of(lists[i]))); jnext(&it);)
            hook_rule_validate(a, admit_path(a, "%.*s.%s[%zu]", STR_ARG(path), lists[i], it.index),
                               it.value);
}

/* ---- expressions ---- */

static void check_message(const struct admit *a, jval v, size_t i)
{
    jval message = jgetc(v, "message");
    str text = jstr(message);
    str field = admit_path(a, "spec.validations[%zu].message", i);
    if (text.len && !str_trim(text).len)
        invalid(a, field, message, "message must be non-empty if specified");
    else if (has_line_break(str_trim(text)))
        invalid(a, field, message, "message must not contain line breaks");
    else if (!text.len && has_line_break(str_trim(jstr(jgetc(v, "expression")))))
        require(a, field, "message must be specified if expression contains line breaks");
}

static void check_validation(const struct admit *a, jval v, size_t i)
{
    static const char *const reasons[] = {"Forbidden", "Invalid", "RequestEntityTooLarge",
                                          "Unauthorized"};
    jval reason = jgetc(v, "reason");
    bool known = !j_has(reason);
    if (!str_trim(jstr(jgetc(v, "expression"))).len)
        require(a, admit_path(a, "spec.validations[%zu].expression", i),
                "expression is not specified");
    check_message(a, v, i);
    for (size_t n = 0; n < ARRAY_LEN(reasons); n++)
        known |= str_is(jstr(reason), reasons[n]);
    if (!known)
        field_error_add(a->errors, FIELD_ERR_NOT_SUPPORTED,
                        admit_path(a, "spec.validations[%zu].reason", i), jtext(reason),
                        "supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\", "
                        "\"Unauthorized\"");
}

/* False: there are too many to look at. */
static bool check_named(const struct admit *a, jval list, const char *member, bool identifier)
{
    if (jlen(list) > LIST_MAX) {
        field_error_add(a->errors, FIELD_ERR_TOO_MANY, admit_path(a, "spec.%s", member),
                        admit_path(a, "%zu", jlen(list)), "must have at most %d items", LIST_MAX);
        return false;
    }
    for (struct jiter it = jiter(list); jnext(&it);) {
        jval name = jgetc(it.value, "name");
        str field = admit_path(a, "spec.%s[%zu]", member, it.index);
        str s = jstr(name);
        bool valid =
            identifier ? s.len && !(s.p[0] >= '0' && s.p[0] <= '9') : str_is_qualified_name(s);
        for (size_t i = 0; identifier && i < s.len; i++)
            valid &= (s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'z') ||
                     (s.p[i] >= 'A' && s.p[i] <= 'Z') || s.p[i] == '_';
        if (!s.len)
            require(a, admit_path(a, "%.*s.name", STR_ARG(field)),
                    identifier ? "name is not specified" : "");
        else if (!valid)
            invalid(a, admit_path(a, "%.*s.name", STR_ARG(field)), name,
                    identifier ? "name is not a valid CEL identifier"
                               : "name part must consist of alphanumeric characters, '-', '_' or "
                                 "'.', and must start and end with an alphanumeric character");
        if (!str_trim(jstr(jgetc(it.value, "expression"))).len)
            require(a, admit_path(a, "%.*s.expression", STR_ARG(field)),
                    identifier ? "expression is not specified" : "");
        for (struct jiter other = jiter(list); jnext(&other) && other.index < it.index;)
            if (s.len && jequal(name, jgetc(other.value, "name")))
                field_error_add(a->errors, FIELD_ERR_DUPLICATE,
                                admit_path(a, "%.*s.name", STR_ARG(field)), jtext(name), NULL);
    }
    return true;
}

static void check_annotations(const struct admit *a, jval list)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        str key = admit_path(a, "spec.auditAnnotations[%zu].key", it.index);
        if (!jstr(jgetc(it.value, "key")).len)
            require(a, key, "");
        else if (!str_is_qualified_name(jstr(jgetc(it.value, "key"))))
            invalid(a, key, jgetc(it.value, "key"), "must be a qualified name");
        if (!str_trim(jstr(jgetc(it.value, "valueExpression"))).len)
            require(a, admit_path(a, "spec.auditAnnotations[%zu].valueExpression", it.index),
                    "valueExpression is not specified");
    }
}

static void report_broken(void *ctx, str field, str expression, const char *why)
{
    const struct admit *a = ctx;
    struct strbuf b = STRBUF_INIT(SIZE_MAX / 2);
    json_quote(&b, expression);
    field_error_add(a->errors, FIELD_ERR_INVALID, field, strbuf_str(&b), "compilation failed: %s",
                    why);
    strbuf_done(&b);
}

/* What both kinds of policy have. False: it is not to be compiled. */
static bool check_policy(const struct admit *a, jval spec)
{
    jval kind = jgetc(spec, "paramKind"), match = jgetc(spec, "matchConstraints");
    if (j_has(kind) && !jstr(jgetc(kind, "apiVersion")).len)
        require(a, STR("spec.paramKind.apiVersion"), "");
    if (j_has(kind) && !jstr(jgetc(kind, "kind")).len)
        require(a, STR("spec.paramKind.kind"), "");
    check_match(a, match, STR("spec.matchConstraints"));
    if (j_has(match) && !jlen(jgetc(match, "resourceRules")))
        require(a, STR("spec.matchConstraints.resourceRules"), "");
    bool few = check_named(a, jgetc(spec, "matchConditions"), "matchConditions", false);
    return check_named(a, jgetc(spec, "variables"), "variables", true) && few;
}

void policy_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec");
    validating_policy_validate(a, root);
    bool few = check_policy(a, spec);
    for (struct jiter it = jiter(jgetc(spec, "validations")); jnext(&it);)
        check_validation(a, it.value, it.index);
    check_annotations(a, jgetc(spec, "auditAnnotations"));
    if (few)
        (void)policy_compile(a->arena, spec, report_broken, (void *)a);
}

/* ---- policies that mutate ---- */

/* Only what is created or updated can be changed on its way. */
static void check_operations(const struct admit *a, jval match, const char *path)
{
    for (struct jiter rule = jiter(jgetc(match, "resourceRules")); jnext(&rule);) {
        for (struct jiter it = jiter(jgetc(rule.value, "operations")); jnext(&it);) {
            str s = jstr(it.value);
            if (!str_is(s, "*") && !str_is(s, "CREATE") && !str_is(s, "UPDATE"))
                field_error_add(a->errors, FIELD_ERR_NOT_SUPPORTED,
                                admit_path(a, "%s.resourceRules.operations", path), jtext(it.value),
                                "supported values: \"*\", \"CREATE\", \"UPDATE\"");
        }
    }
}

static void check_mutation(const struct admit *a, jval v, size_t i)
{
    static const char *const members[] = {"applyConfiguration", "jsonPatch"};
    static const char *const types[] = {"ApplyConfiguration", "JSONPatch"};
    jval type = jgetc(v, "patchType");
    int wanted = str_is(jstr(type), types[0]) ? 0 : str_is(jstr(type), types[1]) ? 1 : -1;
    if (wanted < 0) /* the table says so */
        return;
    const char *member = members[wanted], *other = members[!wanted];
    jval change = jget(v, str_of(member));
    if (!j_has(change))
        require(a, admit_path(a, "spec.mutations[%zu].%s", i, member),
                admit_path(a, "must be specified when patchType is %s", types[wanted]).p);
    else if (!str_trim(jstr(jgetc(change, "expression"))).len)
        require(a, admit_path(a, "spec.mutations[%zu].%s.expression", i, member), "");
    if (j_has(jget(v, str_of(other))))
        field_error_add(a->errors, FIELD_ERR_INVALID,
                        admit_path(a, "spec.mutations[%zu].%s", i, other),
                        admit_path(a, "\"{%s}\"", other),
                        "must not be specified when patchType is %s", types[wanted]);
}

void mutating_policy_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec");
    kept_validate(a, root);
    bool few = check_policy(a, spec);
    check_operations(a, jgetc(spec, "matchConstraints"), "spec.matchConstraints");
    for (struct jiter it = jiter(jgetc(spec, "mutations")); jnext(&it);)
        check_mutation(a, it.value, it.index);
    if (few)
        (void)policy_compile(a->arena, spec, report_broken, (void *)a);
}

/* ---- bindings ---- */

static void check_actions(const struct admit *a, jval actions)
{
    bool denies = false, warns = false;
    for (struct jiter it = jiter(actions); jnext(&it) && !field_errors_full(a->errors);) {
        str s = jstr(it.value), field = admit_path(a, "spec.validationActions[%zu]", it.index);
        denies |= str_is(s, "Deny");
        warns |= str_is(s, "Warn");
        if (!str_is(s, "Deny") && !str_is(s, "Warn") && !str_is(s, "Audit"))
            field_error_add(a->errors, FIELD_ERR_NOT_SUPPORTED, field, jtext(it.value),
                            "supported values: \"Audit\", \"Deny\", \"Warn\"");
        for (struct jiter other = jiter(actions); jnext(&other) && other.index < it.index;)
            if (str_eq(jstr(other.value), s))
                field_error_add(a->errors, FIELD_ERR_DUPLICATE, field, jtext(it.value), NULL);
    }
    if (denies && warns)
        invalid(a, STR("spec.validationActions"), actions,
                "must not contain both Deny and Warn (repeating the same validation failure "
                "information in the API response and headers serves no purpose)");
}

static void check_params(const struct admit *a, jval ref)
{
    bool name = jstr(jgetc(ref, "name")).len > 0, selector = j_has(jgetc(ref, "selector"));
    jval action = jgetc(ref, "parameterNotFoundAction");
    if (!j_has(ref))
        return;
    if (name && selector)
        invalid(a, STR("spec.paramRef.name"), jgetc(ref, "name"),
                "name and selector are mutually exclusive");
    else if (!name && !selector)
        require(a, STR("spec.paramRef"), "one of name or selector must be specified");
    check_selector(a, ref, STR("spec.paramRef"), "selector");
    if (!j_has(action))
        require(a, STR("spec.paramRef.parameterNotFoundAction"), "");
    else if (!str_is(jstr(action), "Allow") && !str_is(jstr(action), "Deny"))
        field_error_add(a->errors, FIELD_ERR_NOT_SUPPORTED,
                        STR("spec.paramRef.parameterNotFoundAction"), jtext(action),
                        "supported values: \"Allow\", \"Deny\"");
}

void policy_binding_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec");
    kept_validate(a, root);
    check_actions(a, jgetc(spec, "validationActions"));
    check_params(a, jgetc(spec, "paramRef"));
    check_match(a, jgetc(spec, "matchResources"), STR("spec.matchResources"));
}

void mutating_policy_binding_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec"), match = jgetc(spec, "matchResources");
    kept_validate(a, root);
    check_params(a, jgetc(spec, "paramRef"));
    check_match(a, match, STR("spec.matchResources"));
    check_operations(a, match, "spec.matchResources");
}
