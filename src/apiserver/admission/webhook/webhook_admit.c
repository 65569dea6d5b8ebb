/*
 * What a valid webhook configuration is, in the words of kube-apiserver, so that a webhook that
 * could never be called is refused when it is written and not when it is needed.
 */
#include "apiserver/admission/admit_impl.h"
#include "apiserver/admission/webhook.h"
#include "base/map.h"
#include "kube/selector.h"

#define CONDITIONS_MAX 64

struct place {
    const struct admit *a;
    str prefix; /* "webhooks[2]." */
};

PRINTF_LIKE(5, 6)
static void add(const struct place *p, enum field_error_type type, const char *field, jval value,
                const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str why = arena_vprintf(p->a->arena, fmt, ap);
    va_end(ap);
    field_error_add(p->a->errors, type, admit_path(p->a, "%.*s%s", STR_ARG(p->prefix), field),
                    type == FIELD_ERR_REQUIRED ? STR_NONE
                    : j_is_absent(value)       ? STR("null")
                                               : jtext(value),
                    "%.*s", STR_ARG(why));
}

static size_t count_dots(str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += s.p[i] == '.';
    return n;
}

static void check_name(const struct place *p, jval hook)
{
    str name = jstr(jgetc(hook, "name"));
    if (!name.len)
        add(p, FIELD_ERR_REQUIRED, "name", JVAL_ABSENT, "%s", "");
    else if (!str_is_dns1123_subdomain(name))
        add(p, FIELD_ERR_INVALID, "name", jgetc(hook, "name"),
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
            "'-' or '.', and must start and end with an alphanumeric character (e.g. "
            "'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]"
            "([-a-z0-9]*[a-z0-9])?)*')");
    else if (count_dots(name) < 2)
        add(p, FIELD_ERR_INVALID, "name", jgetc(hook, "name"),
            "should be a domain with at least three segments separated by dots");
}

static void check_url(const struct place *p, jval value)
{
    static const char field[] = "url";
    static const char form[] = "desired format: https://host[/path]";
    str url = jstr(value);
    ptrdiff_t scheme = str_find(url, STR("://"));
    str rest = scheme < 0 ? STR_NONE : str_sub(url, (size_t)scheme + 3, url.len);
    str host = str_cut(&rest, '/');
    if (!str_starts(url, STR("https://")))
        add(p, FIELD_ERR_INVALID, field, value, "'https' is the only allowed URL scheme; %s", form);
    if (!host.len)
        add(p, FIELD_ERR_INVALID, field, value, "host must be specified; %s", form);
    if (str_find_char(host, '@') >= 0)
        add(p, FIELD_ERR_INVALID, field, value, "user information is not permitted in the URL; %s",
            form);
    if (str_find_char(url, '#') >= 0)
        add(p, FIELD_ERR_INVALID, field, value, "fragments are not permitted in the URL; %s", form);
    if (str_find_char(url, '?') >= 0)
        add(p, FIELD_ERR_INVALID, field, value, "query parameters are not permitted in the URL; %s",
            form);
}

static void check_service(const struct place *p, jval service)
{
    int64_t port = jint(jgetc(service, "port"), 443);
    str path = jstr(jgetc(service, "path"));
    if (!jstr(jgetc(service, "name")).len)
        add(p, FIELD_ERR_REQUIRED, "service.name", JVAL_ABSENT, "service name is required");
    if (!jstr(jgetc(service, "namespace")).len)
        add(p, FIELD_ERR_REQUIRED, "service.namespace", JVAL_ABSENT,
            "service namespace is required");
    if (port < 1 || port > 65535)
        add(p, FIELD_ERR_INVALID, "service.port", jgetc(service, "port"),
            "port is not valid: must be between 1 and 65535, inclusive");
    if (path.len && !str_starts(path, STR("/")))
        add(p, FIELD_ERR_INVALID, "service.path", jgetc(service, "path"), "must start with a '/'");
}

void hook_client_validate(const struct admit *a, str path, jval config)
{
    bool url = j_has(jgetc(config, "url")), service = j_has(jgetc(config, "service"));
    struct place p = {a, admit_path(a, "%.*s.", STR_ARG(path))};
    if (url == service)
        field_error_add(a->errors, FIELD_ERR_REQUIRED, path, STR_NONE,
                        "exactly one of url or service is required");
    else if (url)
        check_url(&p, jgetc(config, "url"));
    else
        check_service(&p, jgetc(config, "service"));
}

/* ---- rules ---- */

static void add_to_rule(const struct admit *a, enum field_error_type type, str field, jval value,
                        const char *why)
{
    field_error_add(a->errors, type, field, type == FIELD_ERR_REQUIRED ? STR_NONE : jtext(value),
                    "%s", why);
}

/* A star stands alone. */
static void check_star(const struct admit *a, str field, jval list, const char *why)
{
    for (struct jiter it = jiter(list); jnext(&it);)
        if (str_is(jstr(it.value), "*") && jlen(list) > 1)
            add_to_rule(a, FIELD_ERR_INVALID, field, list, why);
}

void hook_rule_validate(const struct admit *a, str prefix, jval rule)
{
    static const struct {
        const char *member, *star;
    } members[] = {
        {"operations", "if '*' is present, must not specify other operations"},
        {"apiGroups", "if '*' is present, must not specify other API groups"},
        {"apiVersions", "if '*' is present, must not specify other API versions"},
        {"resources", NULL},
    };
    static const char *const operations[] = {"*", "CREATE", "UPDATE", "DELETE", "CONNECT"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        jval list = jget(rule, str_of(members[i].member));
        str field = admit_path(a, "%.*s.%s", STR_ARG(prefix), members[i].member);
        if (!jlen(list))
            add_to_rule(a, FIELD_ERR_REQUIRED, field, JVAL_ABSENT, "");
        else if (members[i].star)
            check_star(a, field, list, members[i].star);
    }
    for (struct jiter it = jiter(jgetc(rule, "operations")); jnext(&it);) {
        bool known = false;
        for (size_t i = 0; i < ARRAY_LEN(operations); i++)
            known |= str_is(jstr(it.value), operations[i]);
        if (!known)
            add_to_rule(a, FIELD_ERR_NOT_SUPPORTED,
                        admit_path(a, "%.*s.operations[%zu]", STR_ARG(prefix), it.index), it.value,
                        "supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"");
    }
}

/* ---- the rest ---- */

static void check_versions(const struct place *p, jval hook)
{
    jval versions = jgetc(hook, "admissionReviewVersions");
    if (!jlen(versions))
        add(p, FIELD_ERR_REQUIRED, "admissionReviewVersions", JVAL_ABSENT,
            "must specify one of v1, v1beta1");
    else if (!hook_review_version(hook).len)
        add(p, FIELD_ERR_INVALID, "admissionReviewVersions", versions,
            "must include at least one of v1, v1beta1");
}

static void check_selector(const struct place *p, jval hook, const char *field)
{
    struct err err = ERR_INIT;
    jval v = jget(hook, str_of(field));
    if (j_has(v) && !label_selector_from(p->a->arena, v, &err))
        add(p, FIELD_ERR_INVALID, field, v, "%s", err.message);
}

static void check_conditions(const struct place *p, jval conditions)
{
    if (jlen(conditions) > CONDITIONS_MAX)
        add(p, FIELD_ERR_TOO_MANY, "matchConditions", JVAL_ABSENT, "must have at most %d items",
            CONDITIONS_MAX);
    for (struct jiter it = jiter(conditions); jnext(&it) && it.index < CONDITIONS_MAX;) {
        struct err err = ERR_INIT;
        jval text = jgetc(it.value, "expression");
        if (!jstr(text).len)
            add(p, FIELD_ERR_REQUIRED,
                admit_path(p->a, "matchConditions[%zu].expression", it.index).p, JVAL_ABSENT, "%s",
                "");
        else if (!hook_condition_check(p->a->arena, jstr(text), &err))
            add(p, FIELD_ERR_INVALID,
                admit_path(p->a, "matchConditions[%zu].expression", it.index).p, text,
                "compilation failed: %s", err.message);
    }
}

static void check_hook(const struct place *p, jval hook)
{
    int64_t seconds = jint(jgetc(hook, "timeoutSeconds"), 10);
    check_name(p, hook);
    for (struct jiter it = jiter(jgetc(hook, "rules")); jnext(&it);)
        hook_rule_validate(p->a, admit_path(p->a, "%.*srules[%zu]", STR_ARG(p->prefix), it.index),
                           it.value);
    hook_client_validate(p->a, admit_path(p->a, "%.*sclientConfig", STR_ARG(p->prefix)),
                         jgetc(hook, "clientConfig"));
    check_versions(p, hook);
    check_selector(p, hook, "namespaceSelector");
    check_selector(p, hook, "objectSelector");
    if (seconds < 1 || seconds > 30)
        add(p, FIELD_ERR_INVALID, "timeoutSeconds", jgetc(hook, "timeoutSeconds"),
            "the timeout value must be between 1 and 30 seconds");
    check_conditions(p, jgetc(hook, "matchConditions"));
}

void webhook_validate(const struct admit *a, jval root)
{
    struct map names = MAP_INIT;
    for (struct jiter it = jiter(jgetc(root, "webhooks")); jnext(&it);) {
        struct place p = {a, admit_path(a, "webhooks[%zu].", it.index)};
        str name = jstr(jgetc(it.value, "name"));
        check_hook(&p, it.value);
        if (name.len && map_put(&names, name, &names))
            add(&p, FIELD_ERR_DUPLICATE, "name", jgetc(it.value, "name"), "%s", "");
    }
    map_done(&names);
}
