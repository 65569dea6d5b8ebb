/*
 * See pod_security.h. Each check is a function that looks at the pod and, when something is wrong,
 * writes whom it concerns; the table at the end says at which level and from which version of
 * Kubernetes on it counts. Versions that only let more or less through are told apart inside the
 * check by `minor`.
 */
#include "kube/pod_security.h"

#include "base/vec.h"

/* The newest version that any check knows. */
#define NEWEST_MINOR 37
/* Names that a message lists; a pod may have thousands of containers. */
#define NAMES_MAX 50

typedef VEC(str) names;

struct look {
    struct arena *arena;
    jval meta, spec;
    int32_t minor;
    str reason, detail; /* of the check under way; an empty detail: nothing is wrong */
};

/* ---- words ---- */

static const char *plural(size_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

static int compare_names(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* In order, each once. */
static void sort_names(names *l)
{
    size_t n = 0;
    if (l->len)
        qsort(l->p, l->len, sizeof(l->p[0]), compare_names);
    for (size_t i = 0; i < l->len; i++)
        if (!i || !str_eq(l->p[i], l->p[n - 1]))
            l->p[n++] = l->p[i];
    l->len = n;
}

static str join(struct arena *a, const names *l, const char *quote)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (size_t i = 0; i < MIN(l->len, NAMES_MAX); i++)
        strbuf_printf(&b, "%s%s%.*s%s", i ? ", " : "", quote, STR_ARG(l->p[i]), quote);
    if (l->len > NAMES_MAX)
        strbuf_printf(&b, " and %zu more", l->len - NAMES_MAX);
    str out = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return out;
}

static str quoted(struct arena *a, const names *l)
{
    return join(a, l, "\"");
}

/* `container "a"`, `containers "a", "b"` */
static str some(struct arena *a, const char *one, const char *many, const names *l)
{
    str list = quoted(a, l);
    return arena_printf(a, "%s %.*s", plural(l->len, one, many), STR_ARG(list));
}

static str containers_named(struct arena *a, const names *l)
{
    return some(a, "container", "containers", l);
}

/* `pod and container "a"`: who sets something, the pod for all of them or containers for
 * themselves. */
static str setters(struct arena *a, bool pod, const names *containers)
{
    str which = containers->len ? containers_named(a, containers) : STR("");
    return arena_printf(a, "%s%s%.*s", pod ? "pod" : "", pod && which.len ? " and " : "",
                        STR_ARG(which));
}

static void wrong(struct look *l, const char *reason, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void wrong(struct look *l, const char *reason, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    l->reason = str_of(reason);
    l->detail = arena_vprintf(l->arena, fmt, ap);
    va_end(ap);
}

/* ---- looking ---- */

/* All containers of a pod: those that initialize it, those that run, those added to look at it. */
struct containers {
    jval spec;
    size_t list;
    struct jiter it;
    /* the one found */
    str name;
    jval value, context;
};

static struct containers containers_of(const struct look *l)
{
    return (struct containers){.spec = l->spec, .it = jiter(jgetc(l->spec, "initContainers"))};
}

static bool next_container(struct containers *c)
{
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    while (!jnext(&c->it)) {
        if (++c->list == ARRAY_LEN(lists))
            return false;
        c->it = jiter(jget(c->spec, str_of(lists[c->list])));
    }
    c->value = c->it.value;
    c->name = jstr(jgetc(c->value, "name"));
    c->context = jgetc(c->value, "securityContext");
    return true;
}

static bool is_false(jval v)
{
    return jtype(v) == J_FALSE;
}

static jval pod_context(const struct look *l)
{
    return jgetc(l->spec, "securityContext");
}

/* Such pods have neither Linux capabilities nor seccomp; since 1.25 nobody asks for them. */
static bool is_windows(const struct look *l)
{
    return l->minor >= 25 && str_is(jstr(jpath(l->spec, "os.name")), "windows");
}

/* Root in a user namespace of its own is nobody outside; since 1.35 that counts. */
static bool has_own_users(const struct look *l)
{
    return l->minor >= 35 && is_false(jgetc(l->spec, "hostUsers"));
}

/* ---- baseline ---- */

static bool is_armor_type(str type)
{
    return str_is(type, "RuntimeDefault") || str_is(type, "Localhost");
}

#define ARMOR_ANNOTATION "container.apparmor.security.beta.kubernetes.io/"

static bool is_armor_annotation(str value)
{
    return !value.len || str_is(value, "runtime/default") || str_starts(value, STR("localhost/"));
}

/* key="value" of annotations whose profile is none of those allowed. */
static void bad_annotations(struct look *l, str prefix, bool (*allowed)(str), names *ret)
{
    for (struct jiter it = jiter(jgetc(l->meta, "annotations")); jnext(&it);)
        if (str_starts(it.key, prefix) && !allowed(jstr(it.value)))
            *vec_push(ret) =
                arena_printf(l->arena, "%.*s=%.*s", STR_ARG(it.key), STR_ARG(jtext(it.value)));
    sort_names(ret);
}

static void check_app_armor(struct look *l)
{
    names bad = {0}, values = {0}, annotations = {0};
    jval own = jgetc(pod_context(l), "appArmorProfile");
    str type = jstr(jgetc(own, "type"));
    bool pod = j_has(own) && !is_armor_type(type);
    if (pod)
        *vec_push(&values) = type;
    for (struct containers c = containers_of(l); next_container(&c);) {
        jval profile = jgetc(c.context, "appArmorProfile");
        type = jstr(jgetc(profile, "type"));
        if (!j_has(profile) || is_armor_type(type))
            continue;
        *vec_push(&bad) = c.name;
        *vec_push(&values) = type;
    }
    sort_names(&values);
    bad_annotations(l, STR(ARMOR_ANNOTATION), is_armor_annotation, &annotations);
    str who = setters(l->arena, pod, &bad);
    if (annotations.len)
        who = arena_printf(l->arena, "%.*s%s%s", STR_ARG(who), who.len ? " and " : "",
                           plural(annotations.len, "annotation", "annotations"));
    for (size_t i = 0; i < annotations.len; i++)
        *vec_push(&values) = annotations.p[i];
    if (who.len)
        wrong(l, plural(values.len, "forbidden AppArmor profile", "forbidden AppArmor profiles"),
              "%.*s must not set AppArmor profile type to %.*s", STR_ARG(who),
              STR_ARG(quoted(l->arena, &values)));
    vec_done(&bad);
    vec_done(&values);
    vec_done(&annotations);
}

static bool is_one_of(str s, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(s, list[i]))
            return true;
    return false;
}

/* Capabilities that are added and not in the list. */
static void added_capabilities(struct look *l, const char *const *list, size_t n, names *ret_who,
                               names *ret_what)
{
    for (struct containers c = containers_of(l); next_container(&c);) {
        size_t before = ret_what->len;
        for (struct jiter it = jiter(jpath(c.context, "capabilities.add")); jnext(&it);)
            if (!is_one_of(jstr(it.value), list, n))
                *vec_push(ret_what) = jstr(it.value);
        if (ret_what->len > before)
            *vec_push(ret_who) = c.name;
    }
    sort_names(ret_what);
}

static void check_capabilities_baseline(struct look *l)
{
    static const char *const allowed[] = {
        "AUDIT_WRITE",      "CHOWN",   "DAC_OVERRIDE", "FOWNER",  "FSETID", "KILL",       "MKNOD",
        "NET_BIND_SERVICE", "SETFCAP", "SETGID",       "SETPCAP", "SETUID", "SYS_CHROOT",
    };
    names bad = {0}, added = {0};
    added_capabilities(l, allowed, ARRAY_LEN(allowed), &bad, &added);
    if (bad.len)
        wrong(l, "non-default capabilities",
              "%.*s must not include %.*s in securityContext.capabilities.add",
              STR_ARG(containers_named(l->arena, &bad)), STR_ARG(quoted(l->arena, &added)));
    vec_done(&bad);
    vec_done(&added);
}

static void check_host_namespaces(struct look *l)
{
    static const char *const fields[] = {"hostNetwork", "hostPID", "hostIPC"};
    names set = {0};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (j_is_true(jget(l->spec, str_of(fields[i]))))
            *vec_push(&set) = arena_printf(l->arena, "%s=true", fields[i]);
    if (set.len)
        wrong(l, "host namespaces", "%.*s", STR_ARG(join(l->arena, &set, "")));
    vec_done(&set);
}

static void check_host_path(struct look *l)
{
    names bad = {0};
    for (struct jiter it = jiter(jgetc(l->spec, "volumes")); jnext(&it);)
        if (j_has(jgetc(it.value, "hostPath")))
            *vec_push(&bad) = jstr(jgetc(it.value, "name"));
    if (bad.len)
        wrong(l, "hostPath volumes", "%.*s", STR_ARG(some(l->arena, "volume", "volumes", &bad)));
    vec_done(&bad);
}

static void check_host_ports(struct look *l)
{
    names bad = {0}, ports = {0};
    for (struct containers c = containers_of(l); next_container(&c);) {
        size_t before = ports.len;
        for (struct jiter it = jiter(jgetc(c.value, "ports")); jnext(&it);)
            if (jint(jgetc(it.value, "hostPort"), 0))
                *vec_push(&ports) = jtext(jgetc(it.value, "hostPort"));
        if (ports.len > before)
            *vec_push(&bad) = c.name;
    }
    sort_names(&ports);
    if (bad.len)
        wrong(l, "hostPort", "%.*s %s %s %.*s", STR_ARG(containers_named(l->arena, &bad)),
              plural(bad.len, "uses", "use"), plural(ports.len, "hostPort", "hostPorts"),
              STR_ARG(join(l->arena, &ports, "")));
    vec_done(&bad);
    vec_done(&ports);
}

static void add_hosts(jval handler, names *ret)
{
    static const char *const ways[] = {"httpGet", "tcpSocket"};
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        str host = jstr(jgetc(jget(handler, str_of(ways[i])), "host"));
        if (host.len)
            *vec_push(ret) = host;
    }
}

static void check_probe_hosts(struct look *l)
{
    static const char *const handlers[] = {"livenessProbe", "readinessProbe", "startupProbe",
                                           "lifecycle.postStart", "lifecycle.preStop"};
    names bad = {0}, hosts = {0};
    for (struct containers c = containers_of(l); next_container(&c);) {
        size_t before = hosts.len;
        for (size_t i = 0; i < ARRAY_LEN(handlers); i++)
            add_hosts(jpath(c.value, handlers[i]), &hosts);
        if (hosts.len > before)
            *vec_push(&bad) = c.name;
    }
    sort_names(&bad);
    sort_names(&hosts);
    if (bad.len)
        wrong(l, "probe or lifecycle host", "%.*s %s %s %.*s",
              STR_ARG(containers_named(l->arena, &bad)), plural(bad.len, "uses", "use"),
              plural(hosts.len, "probe or lifecycle host", "probe or lifecycle hosts"),
              STR_ARG(quoted(l->arena, &hosts)));
    vec_done(&bad);
    vec_done(&hosts);
}

static void check_privileged(struct look *l)
{
    names bad = {0};
    for (struct containers c = containers_of(l); next_container(&c);)
        if (j_is_true(jgetc(c.context, "privileged")))
            *vec_push(&bad) = c.name;
    if (bad.len)
        wrong(l, "privileged", "%.*s must not set securityContext.privileged=true",
              STR_ARG(containers_named(l->arena, &bad)));
    vec_done(&bad);
}

/* At restricted the users of the pod do not matter. */
static void check_proc_mount_restricted(struct look *l)
{
    names bad = {0}, types = {0};
    for (struct containers c = containers_of(l); next_container(&c);) {
        jval type = jgetc(c.context, "procMount");
        if (!j_has(type) || str_is(jstr(type), "Default"))
            continue;
        *vec_push(&bad) = c.name;
        *vec_push(&types) = jstr(type);
    }
    sort_names(&types);
    if (bad.len)
        wrong(l, "procMount", "%.*s must not set securityContext.procMount to %.*s",
              STR_ARG(containers_named(l->arena, &bad)), STR_ARG(quoted(l->arena, &types)));
    vec_done(&bad);
    vec_done(&types);
}

static void check_proc_mount(struct look *l)
{
    if (!has_own_users(l))
        check_proc_mount_restricted(l);
}

struct selinux {
    names types;
    bool user, role;
};

/* Whether they are as they may be. */
static bool is_selinux_fine(const struct look *l, jval options, struct selinux *ret)
{
    static const char *const types[] = {"", "container_t", "container_init_t", "container_kvm_t",
                                        "container_engine_t"};
    str type = jstr(jgetc(options, "type"));
    bool fine = is_one_of(type, types, ARRAY_LEN(types) - (l->minor < 31));
    if (!fine)
        *vec_push(&ret->types) = type;
    bool user = jstr(jgetc(options, "user")).len, role = jstr(jgetc(options, "role")).len;
    ret->user |= user;
    ret->role |= role;
    return fine && !user && !role;
}

static void check_selinux(struct look *l)
{
    struct selinux s = {0};
    names bad = {0};
    bool pod = !is_selinux_fine(l, jgetc(pod_context(l), "seLinuxOptions"), &s);
    for (struct containers c = containers_of(l); next_container(&c);)
        if (!is_selinux_fine(l, jgetc(c.context, "seLinuxOptions"), &s))
            *vec_push(&bad) = c.name;
    sort_names(&s.types);
    if (pod || bad.len) {
        str types = s.types.len ? some(l->arena, "type", "types", &s.types) : STR("");
        wrong(l, "seLinuxOptions",
              "%.*s set forbidden securityContext.seLinuxOptions: %.*s%s%s%s%s",
              STR_ARG(setters(l->arena, pod, &bad)), STR_ARG(types),
              types.len && s.user ? "; " : "", s.user ? "user may not be set" : "",
              (types.len || s.user) && s.role ? "; " : "", s.role ? "role may not be set" : "");
    }
    vec_done(&bad);
    vec_done(&s.types);
}

/* Who has a profile that is none of those allowed, and which; who has none at all. */
struct seccomp {
    bool pod, pod_is_set;
    names bad, values, unset;
};

static void look_at_seccomp(const struct look *l, struct seccomp *ret)
{
    jval own = jgetc(pod_context(l), "seccompProfile");
    ret->pod_is_set = is_armor_type(jstr(jgetc(own, "type")));
    ret->pod = j_has(own) && !ret->pod_is_set;
    if (ret->pod)
        *vec_push(&ret->values) = jstr(jgetc(own, "type"));
    for (struct containers c = containers_of(l); next_container(&c);) {
        jval profile = jgetc(c.context, "seccompProfile");
        str type = jstr(jgetc(profile, "type"));
        if (!j_has(profile) && !ret->pod_is_set)
            *vec_push(&ret->unset) = c.name;
        if (!j_has(profile) || is_armor_type(type))
            continue;
        *vec_push(&ret->bad) = c.name;
        *vec_push(&ret->values) = type;
    }
    sort_names(&ret->values);
}

static void seccomp_done(struct seccomp *s)
{
    vec_done(&s->bad);
    vec_done(&s->values);
    vec_done(&s->unset);
}

static void forbid_seccomp(struct look *l, const struct seccomp *s)
{
    wrong(l, "seccompProfile", "%.*s must not set securityContext.seccompProfile.type to %.*s",
          STR_ARG(setters(l->arena, s->pod, &s->bad)), STR_ARG(quoted(l->arena, &s->values)));
}

#define SECCOMP_POD "seccomp.security.alpha.kubernetes.io/pod"
#define SECCOMP_CONTAINER "container.seccomp.security.alpha.kubernetes.io/"

static bool is_seccomp_annotation(str value)
{
    return str_is(value, "runtime/default") || str_is(value, "docker/default") ||
           str_starts(value, STR("localhost/"));
}

/* Before 1.19 it was said by annotations. */
static void check_seccomp_annotations(struct look *l)
{
    names bad = {0};
    jval annotations = jgetc(l->meta, "annotations"), own = jget(annotations, STR(SECCOMP_POD));
    if (j_has(own) && !is_seccomp_annotation(jstr(own)))
        *vec_push(&bad) = arena_printf(l->arena, SECCOMP_POD "=%.*s", STR_ARG(jtext(own)));
    for (struct containers c = containers_of(l); next_container(&c);) {
        str key = arena_cat(l->arena, STR(SECCOMP_CONTAINER), c.name);
        jval value = jget(annotations, key);
        if (j_has(value) && !is_seccomp_annotation(jstr(value)))
            *vec_push(&bad) =
                arena_printf(l->arena, "%.*s=%.*s", STR_ARG(key), STR_ARG(jtext(value)));
    }
    sort_names(&bad);
    if (bad.len)
        wrong(l, "seccompProfile", "forbidden %s %.*s",
              plural(bad.len, "annotation", "annotations"), STR_ARG(join(l->arena, &bad, "")));
    vec_done(&bad);
}

static void check_seccomp_baseline(struct look *l)
{
    struct seccomp s = {0};
    if (l->minor < 19) {
        check_seccomp_annotations(l);
        return;
    }
    look_at_seccomp(l, &s);
    if (s.pod || s.bad.len)
        forbid_seccomp(l, &s);
    seccomp_done(&s);
}

static bool is_safe_sysctl(const struct look *l, str name)
{
    static const struct {
        const char *name;
        int32_t since;
    } safe[] = {
        {"kernel.shm_rmid_forced", 0},
        {"net.ipv4.ip_local_port_range", 0},
        {"net.ipv4.ip_local_reserved_ports", 27},
        {"net.ipv4.ip_unprivileged_port_start", 0},
        {"net.ipv4.ping_group_range", 0},
        {"net.ipv4.tcp_fin_timeout", 29},
        {"net.ipv4.tcp_keepalive_intvl", 29},
        {"net.ipv4.tcp_keepalive_probes", 29},
        {"net.ipv4.tcp_keepalive_time", 29},
        {"net.ipv4.tcp_notsent_lowat", 37},
        {"net.ipv4.tcp_rmem", 32},
        {"net.ipv4.tcp_slow_start_after_idle", 37},
        {"net.ipv4.tcp_syncookies", 0},
        {"net.ipv4.tcp_wmem", 32},
    };
    for (size_t i = 0; i < ARRAY_LEN(safe); i++)
        if (str_is(name, safe[i].name))
            return l->minor >= safe[i].since;
    return false;
}

static void check_sysctls(struct look *l)
{
    names bad = {0};
    for (struct jiter it = jiter(jgetc(pod_context(l), "sysctls")); jnext(&it);)
        if (!is_safe_sysctl(l, jstr(jgetc(it.value, "name"))))
            *vec_push(&bad) = jstr(jgetc(it.value, "name"));
    if (bad.len)
        wrong(l, "forbidden sysctls", "%.*s", STR_ARG(join(l->arena, &bad, "")));
    vec_done(&bad);
}

static void check_host_process(struct look *l)
{
    names bad = {0};
    bool pod = j_is_true(jpath(pod_context(l), "windowsOptions.hostProcess"));
    for (struct containers c = containers_of(l); next_container(&c);)
        if (j_is_true(jpath(c.context, "windowsOptions.hostProcess")))
            *vec_push(&bad) = c.name;
    if (pod || bad.len)
        wrong(l, "hostProcess", "%.*s must not set securityContext.windowsOptions.hostProcess=true",
              STR_ARG(setters(l->arena, pod, &bad)));
    vec_done(&bad);
}

/* ---- restricted ---- */

static void check_escalation(struct look *l)
{
    names bad = {0};
    for (struct containers c = containers_of(l); !is_windows(l) && next_container(&c);)
        if (!is_false(jgetc(c.context, "allowPrivilegeEscalation")))
            *vec_push(&bad) = c.name;
    if (bad.len)
        wrong(l, "allowPrivilegeEscalation != false",
              "%.*s must set securityContext.allowPrivilegeEscalation=false",
              STR_ARG(containers_named(l->arena, &bad)));
    vec_done(&bad);
}

static bool drops_all(jval context)
{
    for (struct jiter it = jiter(jpath(context, "capabilities.drop")); jnext(&it);)
        if (str_is(jstr(it.value), "ALL"))
            return true;
    return false;
}

static void check_capabilities_restricted(struct look *l)
{
    static const char *const allowed[] = {"NET_BIND_SERVICE"};
    names keep = {0}, bad = {0}, added = {0};
    if (is_windows(l))
        return;
    for (struct containers c = containers_of(l); next_container(&c);)
        if (!drops_all(c.context))
            *vec_push(&keep) = c.name;
    added_capabilities(l, allowed, ARRAY_LEN(allowed), &bad, &added);
    str missing = STR(""), extra = STR("");
    if (keep.len)
        missing =
            arena_printf(l->arena, "%.*s must set securityContext.capabilities.drop=[\"ALL\"]",
                         STR_ARG(containers_named(l->arena, &keep)));
    if (bad.len)
        extra = arena_printf(
            l->arena, "%.*s must not include %.*s in securityContext.capabilities.add",
            STR_ARG(containers_named(l->arena, &bad)), STR_ARG(quoted(l->arena, &added)));
    if (missing.len || extra.len)
        wrong(l, "unrestricted capabilities", "%.*s%s%.*s", STR_ARG(missing),
              missing.len && extra.len ? "; " : "", STR_ARG(extra));
    vec_done(&keep);
    vec_done(&bad);
    vec_done(&added);
}

/* Of those that are not allowed, as their fields are called. */
static str volume_type(jval volume)
{
    static const char *const types[] = {
        "hostPath",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "gitRepo",
        "nfs",
        "iscsi",
        "glusterfs",
        "rbd",
        "flexVolume",
        "cinder",
        "cephfs",
        "flocker",
        "fc",
        "azureFile",
        "vsphereVolume",
        "quobyte",
        "azureDisk",
        "photonPersistentDisk",
        "portworxVolume",
        "scaleIO",
        "storageos",
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (j_has(jget(volume, str_of(types[i]))))
            return str_of(types[i]);
    return STR("unknown");
}

static bool is_volume_allowed(jval volume)
{
    static const char *const types[] = {"configMap", "csi",   "downwardAPI",           "emptyDir",
                                        "ephemeral", "image", "persistentVolumeClaim", "projected",
                                        "secret"};
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (j_has(jget(volume, str_of(types[i]))))
            return true;
    return jlen(volume) <= 1; /* a name alone is an emptyDir */
}

static void check_volumes(struct look *l)
{
    names bad = {0}, types = {0};
    for (struct jiter it = jiter(jgetc(l->spec, "volumes")); jnext(&it);) {
        if (is_volume_allowed(it.value))
            continue;
        *vec_push(&bad) = jstr(jgetc(it.value, "name"));
        *vec_push(&types) = volume_type(it.value);
    }
    sort_names(&types);
    if (bad.len)
        wrong(l, "restricted volume types", "%.*s %s %s %.*s",
              STR_ARG(some(l->arena, "volume", "volumes", &bad)), plural(bad.len, "uses", "use"),
              plural(types.len, "restricted volume type", "restricted volume types"),
              STR_ARG(quoted(l->arena, &types)));
    vec_done(&bad);
    vec_done(&types);
}

static void check_run_as_non_root(struct look *l)
{
    names bad = {0}, unset = {0};
    jval own = jgetc(pod_context(l), "runAsNonRoot");
    if (has_own_users(l))
        return;
    for (struct containers c = containers_of(l); next_container(&c);) {
        jval v = jgetc(c.context, "runAsNonRoot");
        if (is_false(v))
            *vec_push(&bad) = c.name;
        else if (!j_has(v) && !j_is_true(own))
            *vec_push(&unset) = c.name;
    }
    if (is_false(own) || bad.len)
        wrong(l, "runAsNonRoot != true", "%.*s must not set securityContext.runAsNonRoot=false",
              STR_ARG(setters(l->arena, is_false(own), &bad)));
    else if (unset.len)
        wrong(l, "runAsNonRoot != true", "pod or %.*s must set securityContext.runAsNonRoot=true",
              STR_ARG(containers_named(l->arena, &unset)));
    vec_done(&bad);
    vec_done(&unset);
}

static bool is_root(jval context)
{
    return jint(jgetc(context, "runAsUser"), 1) == 0;
}

static void check_run_as_user(struct look *l)
{
    names bad = {0};
    bool pod = is_root(pod_context(l));
    if (has_own_users(l))
        return;
    for (struct containers c = containers_of(l); next_container(&c);)
        if (is_root(c.context))
            *vec_push(&bad) = c.name;
    if (pod || bad.len)
        wrong(l, "runAsUser=0", "%.*s must not set runAsUser=0",
              STR_ARG(setters(l->arena, pod, &bad)));
    vec_done(&bad);
}

static void check_seccomp_restricted(struct look *l)
{
    struct seccomp s = {0};
    if (is_windows(l))
        return;
    look_at_seccomp(l, &s);
    if (s.pod || s.bad.len)
        forbid_seccomp(l, &s);
    else if (s.unset.len)
        wrong(l, "seccompProfile",
              "pod or %.*s must set securityContext.seccompProfile.type to \"RuntimeDefault\" or "
              "\"Localhost\"",
              STR_ARG(containers_named(l->arena, &s.unset)));
    seccomp_done(&s);
}

/* ---- the table ---- */

#define NEVER INT32_MAX

/* In the order in which they are told. */
static const struct {
    enum pod_security_level level;
    int32_t since;
    /* From this version on the restricted level has a check of its own instead. */
    int32_t replaced;
    void (*check)(struct look *l);
} checks[] = {
    {POD_SECURITY_BASELINE, 0, NEVER, check_app_armor},
    {POD_SECURITY_BASELINE, 0, 22, check_capabilities_baseline},
    {POD_SECURITY_BASELINE, 0, NEVER, check_host_namespaces},
    {POD_SECURITY_BASELINE, 0, 0, check_host_path},
    {POD_SECURITY_BASELINE, 0, NEVER, check_host_ports},
    {POD_SECURITY_BASELINE, 34, NEVER, check_probe_hosts},
    {POD_SECURITY_BASELINE, 0, NEVER, check_privileged},
    {POD_SECURITY_BASELINE, 0, 35, check_proc_mount},
    {POD_SECURITY_BASELINE, 0, NEVER, check_selinux},
    {POD_SECURITY_BASELINE, 0, 19, check_seccomp_baseline},
    {POD_SECURITY_BASELINE, 0, NEVER, check_sysctls},
    {POD_SECURITY_BASELINE, 0, NEVER, check_host_process},
    {POD_SECURITY_RESTRICTED, 8, NEVER, check_escalation},
    {POD_SECURITY_RESTRICTED, 22, NEVER, check_capabilities_restricted},
    {POD_SECURITY_RESTRICTED, 35, NEVER, check_proc_mount_restricted},
    {POD_SECURITY_RESTRICTED, 0, NEVER, check_volumes},
    {POD_SECURITY_RESTRICTED, 0, NEVER, check_run_as_non_root},
    {POD_SECURITY_RESTRICTED, 23, NEVER, check_run_as_user},
    {POD_SECURITY_RESTRICTED, 19, NEVER, check_seccomp_restricted},
};

struct pod_security_verdict pod_security_judge(struct arena *a, struct pod_security s, jval meta,
                                               jval spec)
{
    struct strbuf reasons = STRBUF_INIT(1 << 20), details = STRBUF_INIT(1 << 20);
    struct look l = {.arena = a, .meta = meta, .spec = spec, .minor = MIN(s.minor, NEWEST_MINOR)};
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        bool replaced = s.level == POD_SECURITY_RESTRICTED && l.minor >= checks[i].replaced;
        if (s.level < checks[i].level || l.minor < checks[i].since || replaced)
            continue;
        l.detail = STR_NONE;
        checks[i].check(&l);
        if (!l.detail.len)
            continue;
        const char *comma = reasons.len ? ", " : "";
        strbuf_printf(&reasons, "%s%.*s", comma, STR_ARG(l.reason));
        strbuf_printf(&details, "%s%.*s (%.*s)", comma, STR_ARG(l.reason), STR_ARG(l.detail));
    }
    struct pod_security_verdict v = {arena_str(a, strbuf_str(&reasons)),
                                     arena_str(a, strbuf_str(&details))};
    strbuf_done(&reasons);
    strbuf_done(&details);
    return v;
}

/* ---- labels ---- */

static const char *const levels[] = {
    [POD_SECURITY_PRIVILEGED] = "privileged",
    [POD_SECURITY_BASELINE] = "baseline",
    [POD_SECURITY_RESTRICTED] = "restricted",
};

str pod_security_name(struct arena *a, struct pod_security s)
{
    return s.minor == POD_SECURITY_LATEST ? arena_printf(a, "%s:latest", levels[s.level])
                                          : arena_printf(a, "%s:v1.%d", levels[s.level], s.minor);
}

static void refuse(struct field_errors *e, str label, jval value, const char *why)
{
    if (e)
        field_error_add(e, FIELD_ERR_INVALID,
                        arena_printf(e->arena, "metadata.labels[%.*s]", STR_ARG(label)),
                        jtext(value), "%s", why);
}

/* False: there is no label, or it is none of them. */
static bool read_level(jval labels, str label, enum pod_security_level otherwise,
                       struct field_errors *e, enum pod_security_level *ret)
{
    jval v = jget(labels, label);
    if (!j_has(v))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(levels); i++)
        if (str_is(jstr(v), levels[i])) {
            *ret = (enum pod_security_level)i;
            return true;
        }
    *ret = otherwise;
    refuse(e, label, v, "must be one of privileged, baseline, restricted");
    return false;
}

/* "latest", "v1.30" */
static bool read_version(jval labels, str label, struct field_errors *e, int32_t *ret)
{
    jval v = jget(labels, label);
    str s = jstr(v);
    uint64_t n;
    if (!j_has(v))
        return false;
    *ret = POD_SECURITY_LATEST;
    if (str_is(s, "latest"))
        return true;
    str digits = str_starts(s, STR("v1.")) ? str_sub(s, 3, s.len) : STR_NONE;
    bool plain = digits.len && (digits.p[0] != '0' || digits.len == 1) && str_to_uint(digits, &n);
    if (plain && n < POD_SECURITY_LATEST)
        *ret = (int32_t)n;
    else if (!plain)
        refuse(e, label, v, "must be \"latest\" or \"v1.x\"");
    return true;
}

static bool has_any(jval labels)
{
    for (struct jiter it = jiter(labels); jnext(&it);)
        if (str_starts(it.key, STR(POD_SECURITY_LABEL)))
            return true;
    return false;
}

struct pod_security_policy pod_security_policy_of(jval labels, struct field_errors *errors)
{
    struct pod_security none = {POD_SECURITY_PRIVILEGED, POD_SECURITY_LATEST};
    struct pod_security_policy p = {none, none, none};
    if (!has_any(labels))
        return p;
    bool enforced = read_level(labels, STR(POD_SECURITY_LABEL "enforce"), POD_SECURITY_RESTRICTED,
                               errors, &p.enforce.level);
    read_version(labels, STR(POD_SECURITY_LABEL "enforce-version"), errors, &p.enforce.minor);
    read_level(labels, STR(POD_SECURITY_LABEL "audit"), POD_SECURITY_PRIVILEGED, errors,
               &p.audit.level);
    read_version(labels, STR(POD_SECURITY_LABEL "audit-version"), errors, &p.audit.minor);
    read_level(labels, STR(POD_SECURITY_LABEL "warn"), POD_SECURITY_PRIVILEGED, errors,
               &p.warn.level);
    bool versioned =
        read_version(labels, STR(POD_SECURITY_LABEL "warn-version"), errors, &p.warn.minor);
    if (enforced && !j_has(jget(labels, STR(POD_SECURITY_LABEL "warn"))) &&
        p.enforce.level > p.warn.level) {
        p.warn.level = p.enforce.level;
        if (!versioned)
            p.warn.minor = p.enforce.minor;
    }
    return p;
}

/* ---- updates ---- */

static bool have_other_images(jval old, jval new)
{
    struct jiter before = jiter(old);
    if (jlen(old) != jlen(new))
        return true;
    for (struct jiter it = jiter(new); jnext(&it) && jnext(&before);)
        if (!jequal(jgetc(it.value, "image"), jgetc(before.value, "image")))
            return true;
    return false;
}

bool pod_security_is_new_ground(jval old_spec, jval new_spec)
{
    static const char *const lists[] = {"containers", "initContainers", "ephemeralContainers"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        if (have_other_images(jget(old_spec, str_of(lists[i])), jget(new_spec, str_of(lists[i]))))
            return true;
    return false;
}
