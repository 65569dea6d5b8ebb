/*
 * Rules of a pod's spec that are no matter of single fields: names that must differ, references
 * inside the spec that must lead somewhere, numbers of ports. For pods and for templates of pods,
 * in kube-apiserver's words.
 */
#include "apiserver/admit_impl.h"

static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};

/* A container, named only when something is wrong with it. */
struct spot {
    const char *base, *list;
    size_t index;
};
#define SPOT "%s.%s[%zu]"
#define SPOT_ARG(s) (s)->base, (s)->list, (s)->index

static void add(const struct admit *a, enum field_error_type type, str path, jval v,
                const char *why)
{
    field_error_add(a->errors, type, path, j_has(v) ? jtext(v) : STR_NONE, why ? "%s" : NULL, why);
}

/* ---- containers ---- */

static str port_name_path(const struct admit *a, const struct spot *at, size_t index)
{
    return admit_path(a, SPOT ".ports[%zu].name", SPOT_ARG(at), index);
}

static void check_port_name(const struct admit *a, jval name, const struct spot *at, size_t index)
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
    str path = port_name_path(a, at, index);
    if (s.len > 15)
        add(a, FIELD_ERR_INVALID, path, name, "must be no more than 15 characters");
    if (others)
        add(a, FIELD_ERR_INVALID, path, name,
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    if (!letters)
        add(a, FIELD_ERR_INVALID, path, name, "must contain at least one letter (a-z)");
}

static void check_ports(const struct admit *a, jval ports, const struct spot *at)
{
    struct admit_former names = {.list = ports, .member = "name"};
    for (struct jiter it = jiter(ports); jnext(&it);) {
        jval port = jgetc(it.value, "containerPort"), name = jgetc(it.value, "name");
        int64_t n = jint(port, 0);
        if (n == 0)
            add(a, FIELD_ERR_REQUIRED,
                admit_path(a, SPOT ".ports[%zu].containerPort", SPOT_ARG(at), it.index),
                JVAL_ABSENT, NULL);
        else if (n < 1 || n > 65535)
            add(a, FIELD_ERR_INVALID,
                admit_path(a, SPOT ".ports[%zu].containerPort", SPOT_ARG(at), it.index), port,
                "must be between 1 and 65535, inclusive");
        if (!jstr(name).len)
            continue;
        check_port_name(a, name, at, it.index);
        if (admit_former_has(&names, it.index, jstr(name)))
            add(a, FIELD_ERR_DUPLICATE, port_name_path(a, at, it.index), name, NULL);
    }
    admit_former_done(&names);
}

static void check_env(const struct admit *a, jval env, const struct spot *at)
{
    for (struct jiter it = jiter(env); jnext(&it);) {
        jval name = jgetc(it.value, "name");
        if (!jstr(name).len)
            add(a, FIELD_ERR_REQUIRED, admit_path(a, SPOT ".env[%zu].name", SPOT_ARG(at), it.index),
                JVAL_ABSENT, NULL);
        else if (str_find_char(jstr(name), '=') >= 0)
            add(a, FIELD_ERR_INVALID, admit_path(a, SPOT ".env[%zu].name", SPOT_ARG(at), it.index),
                name,
                "a valid environment variable name must consist only of printable ASCII "
                "characters other than '='");
    }
}

static void check_mounts(const struct admit *a, jval mounts, struct admit_former *volumes,
                         const struct spot *at)
{
    struct admit_former paths = {.list = mounts, .member = "mountPath"};
    for (struct jiter it = jiter(mounts); jnext(&it);) {
        jval name = jgetc(it.value, "name"), path = jgetc(it.value, "mountPath");
        if (!admit_former_has(volumes, SIZE_MAX, jstr(name)))
            add(a, FIELD_ERR_NOT_FOUND,
                admit_path(a, SPOT ".volumeMounts[%zu].name", SPOT_ARG(at), it.index), name, NULL);
        if (!jstr(path).len)
            add(a, FIELD_ERR_REQUIRED,
                admit_path(a, SPOT ".volumeMounts[%zu].mountPath", SPOT_ARG(at), it.index),
                JVAL_ABSENT, NULL);
        else if (admit_former_has(&paths, it.index, jstr(path)))
            add(a, FIELD_ERR_INVALID,
                admit_path(a, SPOT ".volumeMounts[%zu].mountPath", SPOT_ARG(at), it.index), path,
                "must be unique");
    }
    admit_former_done(&paths);
}

/* On the host's network a port is the host's; one that is not said yet will be. */
static void check_host_ports(const struct admit *a, jval ports, const struct spot *at)
{
    for (struct jiter it = jiter(ports); jnext(&it);) {
        jval port = jgetc(it.value, "hostPort");
        int64_t n = jint(port, 0);
        if (n != 0 && n != jint(jgetc(it.value, "containerPort"), 0))
            add(a, FIELD_ERR_INVALID,
                admit_path(a, SPOT ".ports[%zu].hostPort", SPOT_ARG(at), it.index), port,
                "must match `containerPort` when `hostNetwork` is true");
    }
}

static void check_container(const struct admit *a, jval spec, jval c, struct admit_former *volumes,
                            const struct spot *at)
{
    jval ports = jgetc(c, "ports"), env = jgetc(c, "env"), mounts = jgetc(c, "volumeMounts");
    if (jlen(ports))
        check_ports(a, ports, at);
    if (jlen(ports) && str_is(str_of(at->list), "containers") &&
        j_is_true(jgetc(spec, "hostNetwork")))
        check_host_ports(a, ports, at);
    if (jlen(env))
        check_env(a, env, at);
    if (jlen(mounts))
        check_mounts(a, mounts, volumes, at);
}

static void check_containers(const struct admit *a, jval spec, const char *base)
{
    struct admit_former volumes = {.list = jgetc(spec, "volumes"), .member = "name"};
    struct admit_former names[] = {{.list = jget(spec, str_of(lists[0])), .member = "name"},
                                   {.list = jget(spec, str_of(lists[1])), .member = "name"}};
    /* ephemeral ones have rules of their own (admit_pod_part.c) */
    for (size_t l = 0; l < ARRAY_LEN(names); l++) {
        for (struct jiter it = jiter(names[l].list); jnext(&it);) {
            jval name = jgetc(it.value, "name");
            bool plain = !jlen(jgetc(it.value, "ports")) && !jlen(jgetc(it.value, "env")) &&
                         !jlen(jgetc(it.value, "volumeMounts"));
            bool taken =
                jstr(name).len && (admit_former_has(&names[l], it.index, jstr(name)) ||
                                   (l > 0 && admit_former_has(&names[0], SIZE_MAX, jstr(name))));
            if (plain && !taken)
                continue;
            struct spot at = {base, lists[l], it.index};
            if (taken)
                add(a, FIELD_ERR_DUPLICATE, admit_path(a, SPOT ".name", SPOT_ARG(&at)), name, NULL);
            check_container(a, spec, it.value, &volumes, &at);
        }
    }
    admit_former_done(&volumes);
    for (size_t l = 0; l < ARRAY_LEN(names); l++)
        admit_former_done(&names[l]);
}

/* ---- the rest of the spec ---- */

static void check_volumes(const struct admit *a, jval volumes, const char *base)
{
    struct admit_former names = {.list = volumes, .member = "name"};
    for (struct jiter it = jiter(volumes); jnext(&it);) {
        jval name = jgetc(it.value, "name");
        size_t sources = 0;
        if (admit_former_has(&names, it.index, jstr(name)))
            add(a, FIELD_ERR_DUPLICATE, admit_path(a, "%s.volumes[%zu].name", base, it.index), name,
                NULL);
        for (struct jiter m = jiter(it.value); jnext(&m);)
            if (jtype(m.value) == J_OBJECT && ++sources > 1)
                add(a, FIELD_ERR_FORBIDDEN,
                    admit_path(a, "%s.volumes[%zu].%.*s", base, it.index, STR_ARG(m.key)),
                    JVAL_ABSENT, "may not specify more than 1 volume type");
    }
    admit_former_done(&names);
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

static void check_tolerations(const struct admit *a, jval tolerations, const char *base)
{
    for (struct jiter it = jiter(tolerations); jnext(&it);) {
        jval op = jgetc(it.value, "operator"), value = jgetc(it.value, "value");
        str word = jstr(op);
        bool compares = str_is(word, "Gt") || str_is(word, "Lt");
        if (compares && !is_integer(jstr(value)))
            add(a, FIELD_ERR_INVALID, admit_path(a, "%s.tolerations[%zu].value", base, it.index),
                j_has(value) ? value : op, "must be a valid decimal integer in canonical form");
        if (!word.len || str_is(word, "Equal") || compares) {
            if (!jstr(jgetc(it.value, "key")).len)
                field_error_add(a->errors, FIELD_ERR_INVALID,
                                admit_path(a, "%s.tolerations[%zu].operator", base, it.index),
                                word.len ? jtext(op) : STR("\"\""),
                                "operator must be Exists when `key` is empty, which means \"match "
                                "all values and all keys\"");
        } else if (!str_is(word, "Exists")) {
            add(a, FIELD_ERR_NOT_SUPPORTED,
                admit_path(a, "%s.tolerations[%zu].operator", base, it.index), op,
                "supported values: \"Equal\", \"Exists\"");
        }
    }
}

static void check_node_terms(const struct admit *a, jval spec, const char *base)
{
    static const char *const ops[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
    static const char path[] =
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    for (struct jiter t = jiter(jpath(spec, path)); jnext(&t);)
        for (struct jiter e = jiter(jgetc(t.value, "matchExpressions")); jnext(&e);) {
            jval op = jgetc(e.value, "operator");
            bool known = false;
            for (size_t i = 0; i < ARRAY_LEN(ops); i++)
                known |= str_is(jstr(op), ops[i]);
            if (!known)
                field_error_add(a->errors, FIELD_ERR_INVALID,
                                admit_path(a, "%s.%s[%zu].matchExpressions[%zu].operator", base,
                                           path, t.index, e.index),
                                j_has(op) ? jtext(op) : STR("\"\""),
                                "not a valid selector operator");
        }
}

static void check_gates(const struct admit *a, jval gates, const char *base)
{
    struct admit_former names = {.list = gates, .member = "name"};
    for (struct jiter it = jiter(gates); jnext(&it);) {
        jval name = jgetc(it.value, "name");
        if (admit_former_has(&names, it.index, jstr(name)))
            add(a, FIELD_ERR_DUPLICATE, admit_path(a, "%s.schedulingGates[%zu]", base, it.index),
                name, NULL);
    }
    admit_former_done(&names);
}

static void check_label(const struct admit *a, jval spec, const char *base, const char *key)
{
    jval v = jget(spec, str_of(key));
    if (jstr(v).len && !str_is_dns1123_label(jstr(v)))
        add(a, FIELD_ERR_INVALID, admit_path(a, "%s.%s", base, key), v,
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
            "and must start and end with an alphanumeric character (e.g. 'my-name',  or "
            "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')");
}

void pod_spec_validate(const struct admit *a, jval spec, const char *base)
{
    check_volumes(a, jgetc(spec, "volumes"), base);
    check_containers(a, spec, base);
    check_tolerations(a, jgetc(spec, "tolerations"), base);
    if (j_has(jgetc(spec, "affinity")))
        check_node_terms(a, spec, base);
    check_gates(a, jgetc(spec, "schedulingGates"), base);
    check_label(a, spec, base, "hostname");
    check_label(a, spec, base, "subdomain");
}
