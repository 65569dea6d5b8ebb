/* Amounts, names, ports, references and the rest: see pod_rules.h. */
#include "kube/pod_rules.h"

#include "base/quantity.h"
#include "kube/former.h"

static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};

/* A container, named only when something is wrong with it. */
struct spot {
    const char *base, *list;
    size_t index;
};
#define SPOT "%s.%s[%zu]"
#define SPOT_ARG(s) (s)->base, (s)->list, (s)->index

static str path_of(struct field_errors *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

static str path_of(struct field_errors *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str path = arena_vprintf(e->arena, fmt, ap);
    va_end(ap);
    return path;
}

static void add(struct field_errors *e, enum field_error_type type, str path, jval v,
                const char *why)
{
    field_error_add(e, type, path, j_has(v) ? jtext(v) : STR_NONE, why ? "%s" : NULL, why);
}

/* ---- amounts ---- */

enum amount_kind {
    AMOUNT_PLAIN,    /* more may be allowed than is asked for */
    AMOUNT_PAGES,    /* hugepages: all or nothing, as devices */
    AMOUNT_DEVICES,  /* extended resources: whole numbers, never shared */
    AMOUNT_FOREIGN,  /* one of a quota, or of a node: not for containers */
    AMOUNT_UNKNOWN,  /* neither known nor qualified */
    AMOUNT_BAD_NAME, /* qualified, and yet no name of a resource */
};

static bool is_one_of(str name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

static enum amount_kind amount_kind(str name)
{
    static const char *const own[] = {"cpu", "memory", "ephemeral-storage"};
    static const char *const others[] = {"storage",
                                         "requests.cpu",
                                         "requests.memory",
                                         "requests.ephemeral-storage",
                                         "requests.storage",
                                         "limits.cpu",
                                         "limits.memory",
                                         "limits.ephemeral-storage",
                                         "pods",
                                         "resourcequotas",
                                         "services",
                                         "replicationcontrollers",
                                         "secrets",
                                         "configmaps",
                                         "persistentvolumeclaims",
                                         "services.nodeports",
                                         "services.loadbalancers"};
    ptrdiff_t slash = str_find_char(name, '/');
    if (is_one_of(name, own, ARRAY_LEN(own)))
        return AMOUNT_PLAIN;
    if (str_starts(name, STR("hugepages-")))
        return AMOUNT_PAGES;
    if (slash < 0)
        return is_one_of(name, others, ARRAY_LEN(others)) ? AMOUNT_FOREIGN : AMOUNT_UNKNOWN;
    str domain = str_sub(name, 0, (size_t)slash);
    if (str_ends(domain, STR("kubernetes.io")))
        return AMOUNT_PLAIN;
    return str_starts(name, STR("requests.")) || !str_is_qualified_name(name) ? AMOUNT_BAD_NAME
                                                                              : AMOUNT_DEVICES;
}

static bool is_all_or_nothing(enum amount_kind k)
{
    return k == AMOUNT_PAGES || k == AMOUNT_DEVICES;
}

/* As written; templates may have numbers, a pod's were made text. */
static str amount_text(jval v)
{
    return jtype(v) == J_STRING ? jstr(v) : jtext(v);
}

static void check_amount_name(struct field_errors *e, str name, enum amount_kind k, str path)
{
    str value = path_of(e, "\"%.*s\"", STR_ARG(name));
    if (k == AMOUNT_UNKNOWN)
        field_error_add(e, FIELD_ERR_INVALID, path, value,
                        "must be a standard resource type or fully qualified");
    if (k == AMOUNT_UNKNOWN || k == AMOUNT_FOREIGN)
        field_error_add(e, FIELD_ERR_INVALID, path, value,
                        "must be a standard resource for containers");
    if (k == AMOUNT_BAD_NAME)
        field_error_add(e, FIELD_ERR_INVALID, path, value,
                        "doesn't follow extended resource name standard");
}

/* Of requests or limits: resources that there are, none negative, devices not in parts. */
static void check_each_amount(struct field_errors *e, jval amounts, const char *which,
                              const struct spot *at)
{
    for (struct jiter it = jiter(amounts); jnext(&it);) {
        struct quantity q;
        str text = amount_text(it.value);
        enum amount_kind k = amount_kind(it.key);
        /* the sign is in the text: most need no closer look */
        if (k == AMOUNT_PLAIN && !str_starts(text, STR("-")))
            continue;
        bool readable = quantity_parse(text, &q, NULL) >= 0;
        const char *why = !readable               ? NULL
                          : quantity_sign(&q) < 0 ? "must be greater than or equal to 0"
                          : k == AMOUNT_DEVICES && quantity_milli(&q) % 1000 != 0
                              ? "must be an integer"
                              : NULL;
        bool named = k == AMOUNT_PLAIN || is_all_or_nothing(k);
        if (named && !why)
            continue;
        str path = path_of(e, SPOT ".resources.%s[%.*s]", SPOT_ARG(at), which, STR_ARG(it.key));
        check_amount_name(e, it.key, k, path);
        if (why)
            field_error_add(e, FIELD_ERR_INVALID, path, path_of(e, "\"%.*s\"", STR_ARG(text)), "%s",
                            why);
    }
}

/* What is asked for against what is allowed. Devices without a limit pass: the node simulator
 * counts requests, and published examples of Grove have them so. */
static void check_request(struct field_errors *e, str name, jval request, jval limit,
                          const struct spot *at)
{
    struct quantity asked, most;
    bool equal = is_all_or_nothing(amount_kind(name));
    str text = amount_text(request), limit_text = amount_text(limit);
    if (!j_has(limit) || quantity_parse(text, &asked, NULL) < 0 ||
        quantity_parse(limit_text, &most, NULL) < 0)
        return;
    int order = quantity_cmp(&asked, &most);
    if (order > 0 || (equal && order))
        field_error_add(e, FIELD_ERR_INVALID, path_of(e, SPOT ".resources.requests", SPOT_ARG(at)),
                        path_of(e, "\"%.*s\"", STR_ARG(text)),
                        equal ? "must be equal to %.*s limit of %.*s"
                              : "must be less than or equal to %.*s limit of %.*s",
                        STR_ARG(name), STR_ARG(limit_text));
}

static void check_amounts(struct field_errors *e, jval resources, const struct spot *at)
{
    jval limits = jgetc(resources, "limits"), requests = jgetc(resources, "requests");
    check_each_amount(e, limits, "limits", at);
    check_each_amount(e, requests, "requests", at);
    CLEANUP(jlookup_done) struct jlookup limited = jlookup(limits);
    for (struct jiter it = jiter(requests); jnext(&it);)
        check_request(e, it.key, it.value, jlookup_get(&limited, it.key), at);
}

/* ---- containers ---- */

static const char not_a_label[] =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

static void check_itself(struct field_errors *e, jval c, const struct spot *at)
{
    jval name = jgetc(c, "name");
    if (!jstr(name).len)
        add(e, FIELD_ERR_REQUIRED, path_of(e, SPOT ".name", SPOT_ARG(at)), JVAL_ABSENT, NULL);
    else if (!str_is_dns1123_label(jstr(name)))
        add(e, FIELD_ERR_INVALID, path_of(e, SPOT ".name", SPOT_ARG(at)), name, not_a_label);
    if (!jstr(jgetc(c, "image")).len)
        add(e, FIELD_ERR_REQUIRED, path_of(e, SPOT ".image", SPOT_ARG(at)), JVAL_ABSENT, NULL);
    if (jlen(jgetc(c, "resources")))
        check_amounts(e, jgetc(c, "resources"), at);
}

void pod_rules_containers(struct field_errors *e, jval spec, const char *base)
{
    if (j_has(spec) && !jlen(jgetc(spec, "containers")))
        add(e, FIELD_ERR_REQUIRED, path_of(e, "%s.containers", base), JVAL_ABSENT, NULL);
    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        for (struct jiter it = jiter(jget(spec, str_of(lists[l]))); jnext(&it);)
            check_itself(e, it.value, &(struct spot){base, lists[l], it.index});
}

static str port_name_path(struct field_errors *e, const struct spot *at, size_t index)
{
    return path_of(e, SPOT ".ports[%zu].name", SPOT_ARG(at), index);
}

static void check_port_name(struct field_errors *e, jval name, const struct spot *at, size_t index)
{
    str s = jstr(name);
    bool letters = false, others = false;
    for (size_t i = 0; i < s.len; i++) {
        bool letter = s.p[i] >= 'a' && s.p[i] <= 'z';
        letters |= letter;
        others |= !letter && !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '-';
    }
    if (s.len <= 15 && !others && letters)
        return;
    str path = port_name_path(e, at, index);
    if (s.len > 15)
        add(e, FIELD_ERR_INVALID, path, name, "must be no more than 15 characters");
    if (others)
        add(e, FIELD_ERR_INVALID, path, name,
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    if (!letters)
        add(e, FIELD_ERR_INVALID, path, name, "must contain at least one letter (a-z)");
}

static void check_ports(struct field_errors *e, jval ports, const struct spot *at)
{
    struct former names = {.list = ports, .member = "name"};
    for (struct jiter it = jiter(ports); jnext(&it);) {
        jval port = jgetc(it.value, "containerPort"), name = jgetc(it.value, "name");
        int64_t n = jint(port, 0);
        if (n == 0)
            add(e, FIELD_ERR_REQUIRED,
                path_of(e, SPOT ".ports[%zu].containerPort", SPOT_ARG(at), it.index), JVAL_ABSENT,
                NULL);
        else if (n < 1 || n > 65535)
            add(e, FIELD_ERR_INVALID,
                path_of(e, SPOT ".ports[%zu].containerPort", SPOT_ARG(at), it.index), port,
                "must be between 1 and 65535, inclusive");
        if (!jstr(name).len)
            continue;
        check_port_name(e, name, at, it.index);
        if (former_has(&names, it.index, jstr(name)))
            add(e, FIELD_ERR_DUPLICATE, port_name_path(e, at, it.index), name, NULL);
    }
    former_done(&names);
}

static void check_env(struct field_errors *e, jval env, const struct spot *at)
{
    for (struct jiter it = jiter(env); jnext(&it);) {
        jval name = jgetc(it.value, "name");
        if (!jstr(name).len)
            add(e, FIELD_ERR_REQUIRED, path_of(e, SPOT ".env[%zu].name", SPOT_ARG(at), it.index),
                JVAL_ABSENT, NULL);
        else if (str_find_char(jstr(name), '=') >= 0)
            add(e, FIELD_ERR_INVALID, path_of(e, SPOT ".env[%zu].name", SPOT_ARG(at), it.index),
                name,
                "a valid environment variable name must consist only of printable ASCII "
                "characters other than '='");
    }
}

static void check_mounts(struct field_errors *e, jval mounts, struct former *volumes,
                         const struct spot *at)
{
    struct former paths = {.list = mounts, .member = "mountPath"};
    for (struct jiter it = jiter(mounts); jnext(&it);) {
        jval name = jgetc(it.value, "name"), path = jgetc(it.value, "mountPath");
        if (!former_has(volumes, SIZE_MAX, jstr(name)))
            add(e, FIELD_ERR_NOT_FOUND,
                path_of(e, SPOT ".volumeMounts[%zu].name", SPOT_ARG(at), it.index), name, NULL);
        if (!jstr(path).len)
            add(e, FIELD_ERR_REQUIRED,
                path_of(e, SPOT ".volumeMounts[%zu].mountPath", SPOT_ARG(at), it.index),
                JVAL_ABSENT, NULL);
        else if (former_has(&paths, it.index, jstr(path)))
            add(e, FIELD_ERR_INVALID,
                path_of(e, SPOT ".volumeMounts[%zu].mountPath", SPOT_ARG(at), it.index), path,
                "must be unique");
    }
    former_done(&paths);
}

/* On the host's network a port is the host's; one that is not said yet will be. */
static void check_host_ports(struct field_errors *e, jval ports, const struct spot *at)
{
    for (struct jiter it = jiter(ports); jnext(&it);) {
        jval port = jgetc(it.value, "hostPort");
        int64_t n = jint(port, 0);
        if (n != 0 && n != jint(jgetc(it.value, "containerPort"), 0))
            add(e, FIELD_ERR_INVALID,
                path_of(e, SPOT ".ports[%zu].hostPort", SPOT_ARG(at), it.index), port,
                "must match `containerPort` when `hostNetwork` is true");
    }
}

static void check_container(struct field_errors *e, jval spec, jval c, struct former *volumes,
                            const struct spot *at)
{
    jval ports = jgetc(c, "ports"), mounts = jgetc(c, "volumeMounts");
    if (jlen(ports))
        check_ports(e, ports, at);
    if (jlen(ports) && str_is(str_of(at->list), "containers") &&
        j_is_true(jgetc(spec, "hostNetwork")))
        check_host_ports(e, ports, at);
    if (jlen(mounts))
        check_mounts(e, mounts, volumes, at);
}

static void check_containers(struct field_errors *e, jval spec, const char *base)
{
    struct former volumes = {.list = jgetc(spec, "volumes"), .member = "name"};
    struct former names[] = {{.list = jget(spec, str_of(lists[0])), .member = "name"},
                             {.list = jget(spec, str_of(lists[1])), .member = "name"}};
    /* ephemeral ones have rules of their own (admit_pod_part.c) */
    for (size_t l = 0; l < ARRAY_LEN(names); l++) {
        for (struct jiter it = jiter(names[l].list); jnext(&it);) {
            jval name = jgetc(it.value, "name");
            bool plain = !jlen(jgetc(it.value, "ports")) && !jlen(jgetc(it.value, "volumeMounts"));
            bool taken = jstr(name).len && (former_has(&names[l], it.index, jstr(name)) ||
                                            (l > 0 && former_has(&names[0], SIZE_MAX, jstr(name))));
            if (plain && !taken)
                continue;
            struct spot at = {base, lists[l], it.index};
            if (taken)
                add(e, FIELD_ERR_DUPLICATE, path_of(e, SPOT ".name", SPOT_ARG(&at)), name, NULL);
            check_container(e, spec, it.value, &volumes, &at);
        }
    }
    former_done(&volumes);
    for (size_t l = 0; l < ARRAY_LEN(names); l++)
        former_done(&names[l]);
}

/* ---- the rest of the spec ---- */

static void check_volumes(struct field_errors *e, jval volumes, const char *base)
{
    struct former names = {.list = volumes, .member = "name"};
    for (struct jiter it = jiter(volumes); jnext(&it);) {
        jval name = jgetc(it.value, "name");
        size_t sources = 0;
        if (!jstr(name).len)
            add(e, FIELD_ERR_REQUIRED, path_of(e, "%s.volumes[%zu].name", base, it.index),
                JVAL_ABSENT, NULL);
        else if (!str_is_dns1123_label(jstr(name)))
            add(e, FIELD_ERR_INVALID, path_of(e, "%s.volumes[%zu].name", base, it.index), name,
                not_a_label);
        else if (former_has(&names, it.index, jstr(name)))
            add(e, FIELD_ERR_DUPLICATE, path_of(e, "%s.volumes[%zu].name", base, it.index), name,
                NULL);
        for (struct jiter m = jiter(it.value); jnext(&m);)
            if (jtype(m.value) == J_OBJECT && ++sources > 1)
                add(e, FIELD_ERR_FORBIDDEN,
                    path_of(e, "%s.volumes[%zu].%.*s", base, it.index, STR_ARG(m.key)), JVAL_ABSENT,
                    "may not specify more than 1 volume type");
    }
    former_done(&names);
}

/* A number, written as numbers are. */
static bool is_integer(str s)
{
    char text[32];
    int64_t n;
    if (!str_to_int(s, &n))
        return false;
    (void)snprintf(text, sizeof(text), "%lld", (long long)n);
    return str_is(s, text);
}

static void check_tolerations(struct field_errors *e, jval tolerations, const char *base)
{
    for (struct jiter it = jiter(tolerations); jnext(&it);) {
        jval op = jgetc(it.value, "operator"), value = jgetc(it.value, "value");
        str word = jstr(op);
        bool compares = str_is(word, "Gt") || str_is(word, "Lt");
        if (compares && !is_integer(jstr(value)))
            add(e, FIELD_ERR_INVALID, path_of(e, "%s.tolerations[%zu].value", base, it.index),
                j_has(value) ? value : op, "must be a valid decimal integer in canonical form");
        if (!word.len || str_is(word, "Equal") || compares) {
            if (!jstr(jgetc(it.value, "key")).len)
                field_error_add(e, FIELD_ERR_INVALID,
                                path_of(e, "%s.tolerations[%zu].operator", base, it.index),
                                word.len ? jtext(op) : STR("\"\""),
                                "operator must be Exists when `key` is empty, which means \"match "
                                "all values and all keys\"");
        } else if (!str_is(word, "Exists")) {
            add(e, FIELD_ERR_NOT_SUPPORTED,
                path_of(e, "%s.tolerations[%zu].operator", base, it.index), op,
                "supported values: \"Equal\", \"Exists\"");
        }
    }
}

static void check_node_terms(struct field_errors *e, jval spec, const char *base)
{
    static const char *const ops[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
    static const char path[] =
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    for (struct jiter t = jiter(jpath(spec, path)); jnext(&t);)
        for (struct jiter x = jiter(jgetc(t.value, "matchExpressions")); jnext(&x);) {
            jval op = jgetc(x.value, "operator");
            bool known = false;
            for (size_t i = 0; i < ARRAY_LEN(ops); i++)
                known |= str_is(jstr(op), ops[i]);
            if (!known)
                field_error_add(e, FIELD_ERR_INVALID,
                                path_of(e, "%s.%s[%zu].matchExpressions[%zu].operator", base, path,
                                        t.index, x.index),
                                j_has(op) ? jtext(op) : STR("\"\""),
                                "not a valid selector operator");
        }
}

static void check_gates(struct field_errors *e, jval gates, const char *base)
{
    struct former names = {.list = gates, .member = "name"};
    for (struct jiter it = jiter(gates); jnext(&it);) {
        jval name = jgetc(it.value, "name");
        if (former_has(&names, it.index, jstr(name)))
            add(e, FIELD_ERR_DUPLICATE, path_of(e, "%s.schedulingGates[%zu]", base, it.index), name,
                NULL);
    }
    former_done(&names);
}

static void check_label(struct field_errors *e, jval spec, const char *base, const char *key)
{
    jval v = jget(spec, str_of(key));
    if (jstr(v).len && !str_is_dns1123_label(jstr(v)))
        add(e, FIELD_ERR_INVALID, path_of(e, "%s.%s", base, key), v, not_a_label);
}

void pod_rules_parts(struct field_errors *e, jval spec, const char *base)
{
    check_volumes(e, jgetc(spec, "volumes"), base);
    check_containers(e, spec, base);
    check_tolerations(e, jgetc(spec, "tolerations"), base);
    pod_rules_os(e, spec, base);
    if (j_has(jgetc(spec, "affinity")))
        check_node_terms(e, spec, base);
}

void pod_rules_all(struct field_errors *e, jval spec, const char *base)
{
    pod_rules_containers(e, spec, base);
    pod_rules_parts(e, spec, base);
    for (size_t l = 0; l < ARRAY_LEN(lists); l++)
        for (struct jiter it = jiter(jget(spec, str_of(lists[l]))); jnext(&it);)
            if (jlen(jgetc(it.value, "env")))
                check_env(e, jgetc(it.value, "env"), &(struct spot){base, lists[l], it.index});
    check_gates(e, jgetc(spec, "schedulingGates"), base);
    check_label(e, spec, base, "hostname");
    check_label(e, spec, base, "subdomain");
}
