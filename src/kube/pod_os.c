/*
 * A pod that says which operating system it is for sets nothing that only another one has. Pod
 * Security counts on it: what a pod of Windows cannot have is not looked for there.
 */
#include "kube/pod_rules.h"

/* What Windows has not, at the places where it would stand. */
static const char *const linux_of_pod[] = {
    "hostUsers",
    "securityContext.appArmorProfile",
    "securityContext.seLinuxOptions",
    "securityContext.seccompProfile",
    "securityContext.fsGroup",
    "securityContext.fsGroupChangePolicy",
    "securityContext.sysctls",
    "securityContext.runAsUser",
    "securityContext.runAsGroup",
    "securityContext.supplementalGroups",
    "securityContext.supplementalGroupsPolicy",
    "shareProcessNamespace",
};
static const char *const linux_if_true[] = {"hostPID", "hostIPC"};
static const char *const linux_of_container[] = {
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
};
/* And Linux. */
static const char *const windows_of_pod[] = {"securityContext.windowsOptions"};
static const char *const windows_of_container[] = {"windowsOptions"};

struct look {
    struct field_errors *errors;
    jval spec;
    const char *base;
    const char *why;
};

static void forbid_in_pod(const struct look *l, const char *const *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (j_has(jpath(l->spec, fields[i])))
            field_error_add(l->errors, FIELD_ERR_FORBIDDEN,
                            arena_printf(l->errors->arena, "%s.%s", l->base, fields[i]), STR_NONE,
                            "%s", l->why);
}

static void forbid_in_context(const struct look *l, const char *list, const struct jiter *container,
                              const char *const *fields, size_t n)
{
    jval context = jgetc(container->value, "securityContext");
    for (size_t i = 0; i < n; i++)
        if (j_has(jget(context, str_of(fields[i]))))
            field_error_add(l->errors, FIELD_ERR_FORBIDDEN,
                            arena_printf(l->errors->arena, "%s.%s[%zu].securityContext.%s", l->base,
                                         list, container->index, fields[i]),
                            STR_NONE, "%s", l->why);
}

static void forbid_in_containers(const struct look *l, const char *const *fields, size_t n)
{
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (struct jiter it = jiter(jget(l->spec, str_of(lists[i]))); jnext(&it);)
            forbid_in_context(l, lists[i], &it, fields, n);
}

static void check_windows(const struct look *l)
{
    forbid_in_pod(l, linux_of_pod, ARRAY_LEN(linux_of_pod));
    for (size_t i = 0; i < ARRAY_LEN(linux_if_true); i++)
        if (j_is_true(jget(l->spec, str_of(linux_if_true[i]))))
            forbid_in_pod(l, &linux_if_true[i], 1);
    forbid_in_containers(l, linux_of_container, ARRAY_LEN(linux_of_container));
}

static void check_linux(const struct look *l)
{
    forbid_in_pod(l, windows_of_pod, ARRAY_LEN(windows_of_pod));
    forbid_in_containers(l, windows_of_container, ARRAY_LEN(windows_of_container));
}

void pod_rules_os(struct field_errors *e, jval spec, const char *base)
{
    jval name = jpath(spec, "os.name");
    struct look l = {e, spec, base, "cannot be set for a windows pod"};
    if (!jstr(name).len)
        return; /* one that is missing: the schema says so */
    if (str_is(jstr(name), "windows")) {
        check_windows(&l);
    } else if (str_is(jstr(name), "linux")) {
        l.why = "windows options cannot be set for a linux pod";
        check_linux(&l);
    } else {
        field_error_add(e, FIELD_ERR_NOT_SUPPORTED, arena_printf(e->arena, "%s.os", base),
                        jtext(name), "supported values: \"linux\", \"windows\"");
    }
}
