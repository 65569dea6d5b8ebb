/* See pod_words.h. */
#include "node/process/pod_words.h"

#include "base/b64.h"
#include "base/hash.h"
#include "base/quantity.h"
#include "grove/types.h"
#include "grove/wait.h"
#include "node/shim/shim_wire.h"

/* Beyond the users that machines have. */
enum { FIRST_UID = 0x10000000, UIDS = 0x40000000 };
/* A message has a few words before these, and some more bytes. */
enum { WORDS_MAX = SHIM_WORDS_MAX - 16, BYTES_MAX = SHIM_MESSAGE_MAX - 1024 };
/* A week: no grace period of sense is longer. */
#define SLEEP_MAX ((int64_t)7 * 24 * 3600)
enum { ENV_MAX = 3000, GROUPS_MAX = 60, PATH_MAX_BYTES = 800 };
enum { VOLUMES_MAX = 1000, FILES_MAX = 10000, FILE_BYTES_MAX = 64 * 1024 * 1024 };

/* ---- words ---- */

static void fail(struct pod_words *w, const char *reason, str problem)
{
    if (!str_is_empty(w->problem))
        return;
    w->problem = problem;
    w->problem_reason = str_of(reason);
}

static bool has_failed(const struct pod_words *w)
{
    return !str_is_empty(w->problem);
}

static void fail_size(struct pod_words *w)
{
    fail(w, "CreateContainerConfigError",
         arena_printf(w->arena, "its command and environment are larger than %d bytes or %d words",
                      (int)BYTES_MAX, (int)WORDS_MAX));
}

/* Words end in NUL: one inside a value would begin a word that nobody here wrote. */
static void add(struct pod_words *w, const char *key, str value)
{
    size_t size = strlen(key) + value.len + 2;
    if (str_find_char(value, 0) >= 0) {
        fail(w, "CreateContainerConfigError",
             arena_printf(w->arena, "a value for \"%s\" of the process has a NUL byte", key));
        return;
    }
    if (w->words.len >= WORDS_MAX || size > BYTES_MAX - w->bytes) {
        fail_size(w);
        return;
    }
    w->bytes += size;
    *vec_push(&w->words) = arena_cat(w->arena, str_of(key), STR("="), value);
}

void pod_words_done(struct pod_words *w)
{
    vec_done(&w->words);
    vec_done(&w->files);
}

/* ---- who ---- */

uint32_t pod_words_uid(const struct obj *pod)
{
    return FIRST_UID + (uint32_t)(hash_fnv1a64(pod->uid) % UIDS);
}

/* From the container's securityContext, else the pod's. */
static jval security_of(const struct obj *pod, jval container, str key)
{
    jval own = jget(jgetc(container, "securityContext"), key);
    return j_has(own) ? own : jget(jgetc(obj_spec(pod), "securityContext"), key);
}

static void add_user(const struct pod_words_input *in, jval container, struct pod_words *w)
{
    int64_t uid = jint(security_of(in->pod, container, STR("runAsUser")), pod_words_uid(in->pod));
    int64_t gid = jint(security_of(in->pod, container, STR("runAsGroup")), uid);
    jval pod = jgetc(obj_spec(in->pod), "securityContext");
    if (j_has(jgetc(pod, "fsGroup")))
        add(w, "group", arena_int(w->arena, jint(jgetc(pod, "fsGroup"), 0)));
    for (struct jiter it = jiter(jgetc(pod, "supplementalGroups")); jnext(&it);)
        add(w, "group", arena_int(w->arena, jint(it.value, 0)));
    add(w, "gid", arena_int(w->arena, gid));
    add(w, "uid", arena_int(w->arena, uid));
}

/* ---- environment ---- */

struct variable {
    str key, value;
};

struct env {
    VEC(struct variable) list;
    size_t bytes; /* of all that was ever set */
};

static void env_set(struct pod_words *w, struct env *e, str key, str value)
{
    e->bytes += key.len + value.len;
    if (e->bytes > BYTES_MAX) {
        fail_size(w);
        return;
    }
    for (size_t i = 0; i < e->list.len; i++) {
        if (str_eq(e->list.p[i].key, key)) {
            e->list.p[i].value = value;
            return;
        }
    }
    if (e->list.len == ENV_MAX)
        fail(w, "CreateContainerConfigError",
             arena_printf(w->arena, "it has more than %d environment variables", (int)ENV_MAX));
    else
        *vec_push(&e->list) = (struct variable){key, value};
}

static const struct variable *env_get(const struct env *e, str key)
{
    for (size_t i = 0; i < e->list.len; i++) {
        if (str_eq(e->list.p[i].key, key))
            return &e->list.p[i];
    }
    return NULL;
}

/* $(NAME) is the variable's value, $$ is $; what is not known stays as it is. */
static str expand(struct pod_words *w, const struct env *e, str s)
{
    if (str_find_char(s, '$') < 0)
        return s;
    struct strbuf b = STRBUF_INIT(BYTES_MAX);
    size_t close = 0; /* where the next ')' is; looked for once each */
    for (size_t i = 0; i < s.len && !b.overflow; i++) {
        str rest = str_sub(s, i, s.len);
        if (str_starts(rest, STR("$$"))) {
            strbuf_add_char(&b, '$');
            i++;
            continue;
        }
        bool opens = str_starts(rest, STR("$("));
        if (opens && close <= i) {
            ptrdiff_t at = str_find_char(rest, ')');
            close = at < 0 ? s.len : i + (size_t)at;
        }
        const struct variable *v =
            opens && close < s.len ? env_get(e, str_sub(s, i + 2, close)) : NULL;
        if (v) {
            strbuf_add_str(&b, v->value);
            i = close;
        } else {
            strbuf_add_char(&b, s.p[i]);
        }
    }
    if (b.overflow)
        fail_size(w);
    str ret = arena_str(w->arena, strbuf_str(&b));
    strbuf_done(&b);
    return ret;
}

/* metadata.labels['x'] */
static bool subscript(str path, const char *head, str *ret)
{
    str h = str_of(head);
    if (!str_starts(path, h) || path.len < h.len + 4)
        return false;
    *ret = str_sub(path, h.len + 2, path.len - 2);
    return true;
}

static str field_of(const struct pod_words_input *in, str path)
{
    const struct obj *p = in->pod;
    str key;
    if (subscript(path, "metadata.labels", &key))
        return obj_label(p, key);
    if (subscript(path, "metadata.annotations", &key))
        return obj_annotation(p, key);
    if (str_is(path, "metadata.name"))
        return p->name;
    if (str_is(path, "metadata.namespace"))
        return p->ns;
    if (str_is(path, "metadata.uid"))
        return p->uid;
    if (str_is(path, "status.podIP") || str_is(path, "status.podIPs"))
        return in->ip;
    if (str_is(path, "status.hostIP") || str_is(path, "status.hostIPs"))
        return jstr(jgetc(jat(jgetc(obj_status(in->node), "addresses"), 0), "address"));
    if (str_is(path, "spec.nodeName"))
        return in->node->name;
    return str_is(path, "spec.serviceAccountName") ? jstr(jgetc(obj_spec(p), "serviceAccountName"))
                                                   : STR_NONE;
}

/* limits.cpu of a container, in whole units of the divisor; without a limit the node's. */
static str resource_of(const struct pod_words_input *in, jval container, jval ref, struct arena *a)
{
    str path = jstr(jgetc(ref, "resource"));
    ptrdiff_t dot = str_find_char(path, '.');
    str sort = dot > 0 ? str_sub(path, 0, (size_t)dot) : STR_NONE;
    str name = dot > 0 ? str_sub(path, (size_t)dot + 1, path.len) : STR_NONE;
    jval v = jget(jget(jgetc(container, "resources"), sort), name);
    if (!j_has(v) && str_is(sort, "limits"))
        v = jget(jgetc(obj_status(in->node), "allocatable"), name);
    struct quantity q = {0}, divisor = {0};
    if (quantity_parse(jstr(v), &q, NULL) < 0)
        return STR("0");
    str unit = jstr(jgetc(ref, "divisor"));
    bool whole = str_is_empty(unit) || quantity_parse(unit, &divisor, NULL) < 0 ||
                 quantity_sign(&divisor) <= 0;
    __int128 by = whole ? quantity_from_value(1, QUANTITY_DECIMAL_SI).nano : divisor.nano;
    return arena_int(a, (int64_t)((q.nano + by - 1) / by));
}

/* One value of a ConfigMap or Secret; false: there is none, which is a problem unless optional. */
static bool value_in(const struct pod_words_input *in, struct pod_words *w, const struct kind *k,
                     str name, str key, bool optional, str *ret)
{
    const struct obj *o = in->find(in->ctx, k, in->pod->ns, name);
    const char *what = k == &kind_secret ? "secret" : "configmap";
    jval v = o ? jget(jgetc(obj_root(o), "data"), key) : (jval){0};
    if (o && j_has(v) && k == &kind_secret) {
        struct strbuf b = STRBUF_INIT(4 * 1024 * 1024);
        (void)b64_decode(jstr(v), B64_STD | B64_NEWLINES, &b);
        *ret = arena_str(w->arena, strbuf_str(&b));
        strbuf_done(&b);
        return true;
    }
    if (o && j_has(v)) {
        *ret = arena_str(w->arena, jstr(v));
        return true;
    }
    if (!optional && !o)
        fail(w, "CreateContainerConfigError",
             arena_printf(w->arena, "%s \"%.*s\" not found", what, STR_ARG(name)));
    else if (!optional)
        fail(w, "CreateContainerConfigError",
             arena_printf(w->arena, "%s \"%.*s\" has no key \"%.*s\"", what, STR_ARG(name),
                          STR_ARG(key)));
    return false;
}

static bool env_value(const struct pod_words_input *in, struct pod_words *w, const struct env *e,
                      jval container, jval v, str *ret)
{
    jval from = jgetc(v, "valueFrom"), field = jgetc(from, "fieldRef");
    jval map = jgetc(from, "configMapKeyRef"), secret = jgetc(from, "secretKeyRef");
    if (j_has(field))
        *ret = field_of(in, jstr(jgetc(field, "fieldPath")));
    else if (j_has(jgetc(from, "resourceFieldRef")))
        *ret = resource_of(in, container, jgetc(from, "resourceFieldRef"), w->arena);
    else if (j_has(map))
        return value_in(in, w, &kind_config_map, jstr(jgetc(map, "name")), jstr(jgetc(map, "key")),
                        jbool(jgetc(map, "optional"), false), ret);
    else if (j_has(secret))
        return value_in(in, w, &kind_secret, jstr(jgetc(secret, "name")),
                        jstr(jgetc(secret, "key")), jbool(jgetc(secret, "optional"), false), ret);
    else
        *ret = expand(w, e, jstr(jgetc(v, "value")));
    return true;
}

static void env_from(const struct pod_words_input *in, struct pod_words *w, struct env *e, jval v)
{
    jval map = jgetc(v, "configMapRef"), secret = jgetc(v, "secretRef");
    bool is_map = j_has(map);
    jval ref = is_map ? map : secret;
    const struct kind *k = is_map ? &kind_config_map : &kind_secret;
    const struct obj *o = in->find(in->ctx, k, in->pod->ns, jstr(jgetc(ref, "name")));
    if (!o && !jbool(jgetc(ref, "optional"), false))
        fail(w, "CreateContainerConfigError",
             arena_printf(w->arena, "%s \"%.*s\" not found", is_map ? "configmap" : "secret",
                          STR_ARG(jstr(jgetc(ref, "name")))));
    for (struct jiter it = jiter(o ? jgetc(obj_root(o), "data") : (jval){0});
         !has_failed(w) && jnext(&it);) {
        str value = STR_NONE;
        if (value_in(in, w, k, o->name, it.key, true, &value))
            env_set(w, e, arena_cat(w->arena, jstr(jgetc(v, "prefix")), it.key), value);
    }
}

static void build_env(const struct pod_words_input *in, jval container, struct pod_words *w,
                      struct env *e)
{
    env_set(w, e, STR("PATH"), STR("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"));
    str host = jstr(jgetc(obj_spec(in->pod), "hostname"));
    env_set(w, e, STR("HOSTNAME"), str_is_empty(host) ? in->pod->name : host);
    env_set(w, e, STR("HOME"), STR("/tmp"));
    for (struct jiter it = jiter(jgetc(container, "envFrom")); !has_failed(w) && jnext(&it);)
        env_from(in, w, e, it.value);
    for (struct jiter it = jiter(jgetc(container, "env")); !has_failed(w) && jnext(&it);) {
        str value = STR_NONE;
        if (env_value(in, w, e, container, it.value, &value))
            env_set(w, e, jstr(jgetc(it.value, "name")), value);
    }
}

static void add_env(struct pod_words *w, const struct env *e)
{
    for (size_t i = 0; i < e->list.len; i++)
        add(w, "env", arena_cat(w->arena, e->list.p[i].key, STR("="), e->list.p[i].value));
}

/* ---- volumes ---- */

/* A relative path whose parts are all names: what it names is inside of where it begins. */
static bool path_is_inside(str path)
{
    if (path.len > PATH_MAX_BYTES || str_find_char(path, 0) >= 0)
        return false;
    for (size_t i = 0; i <= path.len;) {
        str rest = str_sub(path, i, path.len);
        ptrdiff_t slash = str_find_char(rest, '/');
        str part = slash < 0 ? rest : str_sub(rest, 0, (size_t)slash);
        if (str_is_empty(part) || str_is(part, ".") || str_is(part, ".."))
            return false;
        i += part.len + 1;
    }
    return true;
}

static void add_file(struct pod_words *w, str volume, str path, str content, int64_t mode)
{
    if (!path_is_inside(path)) {
        fail(w, "ContainerCreating",
             arena_printf(w->arena,
                          "volume %.*s: the path of an item is to be relative, without \"..\", "
                          "\".\" and empty parts, and of at most %d bytes",
                          STR_ARG(volume), (int)PATH_MAX_BYTES));
        return;
    }
    if (w->files.len >= FILES_MAX || content.len > FILE_BYTES_MAX - w->file_bytes) {
        fail(w, "ContainerCreating",
             arena_printf(w->arena, "its volumes have more than %d files or %d bytes",
                          (int)FILES_MAX, (int)FILE_BYTES_MAX));
        return;
    }
    w->file_bytes += content.len;
    *vec_push(&w->files) =
        (struct pod_file){.path = arena_cat(w->arena, volume, STR("/"), path),
                          .content = content,
                          .mode = (unsigned)(mode > 0 && mode <= 0777 ? mode : 0644)};
}

/* Some of the keys under other paths, or all under their own. */
static void add_keys(const struct pod_words_input *in, struct pod_words *w, const struct kind *k,
                     str volume, str name, jval source, int64_t mode)
{
    const struct obj *o = in->find(in->ctx, k, in->pod->ns, name);
    jval items = jgetc(source, "items");
    bool optional = jbool(jgetc(source, "optional"), false);
    if (!o && !optional)
        fail(w, "ContainerCreating",
             arena_printf(w->arena, "volume %.*s: %s \"%.*s\" not found", STR_ARG(volume),
                          k == &kind_secret ? "secret" : "configmap", STR_ARG(name)));
    for (struct jiter it = jiter(o ? jgetc(obj_root(o), "data") : (jval){0});
         !has_failed(w) && jnext(&it);) {
        str path = it.key, value = STR_NONE;
        int64_t own = mode;
        bool wanted = !j_has(items);
        for (struct jiter i = jiter(items); jnext(&i);) {
            if (!str_eq(jstr(jgetc(i.value, "key")), it.key))
                continue;
            wanted = true;
            path = jstr(jgetc(i.value, "path"));
            own = jint(jgetc(i.value, "mode"), mode);
        }
        if (wanted && value_in(in, w, k, name, it.key, true, &value))
            add_file(w, volume, path, value, own);
    }
}

static str map_text(struct arena *a, jval map)
{
    struct strbuf b = STRBUF_INIT(4 * 1024 * 1024);
    for (struct jiter it = jiter(map); jnext(&it);) {
        str value = jstr(it.value);
        strbuf_printf(&b, "%.*s=\"%.*s\"\n", STR_ARG(it.key), STR_ARG(value));
    }
    str ret = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return ret;
}

static void add_downward(const struct pod_words_input *in, struct pod_words *w, str volume,
                         jval source, int64_t mode)
{
    for (struct jiter it = jiter(jgetc(source, "items")); !has_failed(w) && jnext(&it);) {
        str field = jstr(jpath(it.value, "fieldRef.fieldPath"));
        str text = str_is(field, "metadata.labels") ? map_text(w->arena, in->pod->labels)
                   : str_is(field, "metadata.annotations")
                       ? map_text(w->arena, in->pod->annotations)
                       : field_of(in, field);
        add_file(w, volume, jstr(jgetc(it.value, "path")), text,
                 jint(jgetc(it.value, "mode"), mode));
    }
}

static void add_source(const struct pod_words_input *in, struct pod_words *w, str volume, jval v,
                       int64_t mode)
{
    jval map = jgetc(v, "configMap"), secret = jgetc(v, "secret"), down = jgetc(v, "downwardAPI");
    if (j_has(map))
        add_keys(in, w, &kind_config_map, volume, jstr(jgetc(map, "name")), map,
                 jint(jgetc(map, "defaultMode"), mode));
    str name = jstr(jgetc(secret, "secretName"));
    if (j_has(secret))
        add_keys(in, w, &kind_secret, volume,
                 str_is_empty(name) ? jstr(jgetc(secret, "name")) : name, secret,
                 jint(jgetc(secret, "defaultMode"), mode));
    if (j_has(down))
        add_downward(in, w, volume, down, jint(jgetc(down, "defaultMode"), mode));
}

void pod_words_volumes(const struct pod_words_input *in, struct pod_words *w)
{
    for (struct jiter it = jiter(jgetc(obj_spec(in->pod), "volumes"));
         !has_failed(w) && jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        jval projected = jgetc(it.value, "projected");
        *vec_push(&w->files) =
            (struct pod_file){.path = arena_cat(w->arena, name, STR("/")), .mode = 0777};
        add_source(in, w, name, it.value, 0644);
        for (struct jiter s = jiter(jgetc(projected, "sources")); !has_failed(w) && jnext(&s);)
            add_source(in, w, name, s.value, jint(jgetc(projected, "defaultMode"), 0644));
    }
}

static jval volume_named(const struct obj *pod, str name)
{
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "volumes")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return it.value;
    }
    return (jval){0};
}

static void add_mounts(const struct pod_words_input *in, jval container, struct pod_words *w)
{
    for (struct jiter it = jiter(jgetc(container, "volumeMounts")); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name")), sub = jstr(jgetc(it.value, "subPath"));
        jval v = volume_named(in->pod, name);
        str host = jstr(jpath(v, "hostPath.path"));
        str from =
            str_is_empty(host) ? arena_cat(w->arena, in->pod_dir, STR("/volumes/"), name) : host;
        bool ours = j_has(jgetc(v, "emptyDir")) || !str_is_empty(host);
        bool ro = jbool(jgetc(it.value, "readOnly"), false) || !ours;
        if (!str_is_empty(sub))
            from = arena_cat(w->arena, from, STR("/"), sub);
        add(w, "mount",
            arena_cat(w->arena, from, STR("\t"), jstr(jgetc(it.value, "mountPath")), STR("\t"),
                      ro ? STR("ro") : STR("rw")));
    }
}

/* ---- what is refused ---- */

static const char *volume_refused(jval v, bool privileged)
{
    if (!str_is_dns1123_label(jstr(jgetc(v, "name"))))
        return "the name of a volume is to be an RFC 1123 label: lower case letters, digits and -";
    static const char *const served[] = {"emptyDir",    "configMap", "secret",
                                         "downwardAPI", "projected", "hostPath"};
    if (j_has(jgetc(v, "hostPath")) && !privileged)
        return "hostPath volumes need --process-privileged";
    for (struct jiter s = jiter(jpath(v, "projected.sources")); jnext(&s);) {
        if (j_has(jgetc(s.value, "clusterTrustBundle")) || j_has(jgetc(s.value, "podCertificate")))
            return "a projected volume has a source that process pods do not have";
    }
    for (size_t i = 0; i < ARRAY_LEN(served); i++) {
        if (j_has(jget(v, str_of(served[i]))))
            return NULL;
    }
    return "a volume is of a kind that process pods do not have";
}

static const char *hook_refused(jval container)
{
    static const char *const hooks[] = {"postStart", "preStop"};
    for (size_t i = 0; i < ARRAY_LEN(hooks); i++) {
        jval h = jget(jgetc(container, "lifecycle"), str_of(hooks[i]));
        if (j_has(h) && !j_has(jgetc(h, "exec")) && !j_has(jgetc(h, "sleep")))
            return "hooks of process pods are of kind exec or sleep";
    }
    return NULL;
}

/* A user or group: as in Kubernetes, and not root's unless that is allowed. */
static bool id_is_allowed(jval v, bool privileged)
{
    int64_t id = jint(v, -1);
    return !j_has(v) || (id >= (privileged ? 0 : 1) && id <= INT32_MAX);
}

static const char *ids_refused(const struct obj *pod, jval c, bool privileged)
{
    jval own = jgetc(obj_spec(pod), "securityContext");
    jval more = jgetc(own, "supplementalGroups");
    if (!id_is_allowed(security_of(pod, c, STR("runAsUser")), privileged))
        return "runAsUser is to be from 1 to 2147483647; runAsUser 0 needs --process-privileged";
    bool allowed = id_is_allowed(security_of(pod, c, STR("runAsGroup")), privileged) &&
                   id_is_allowed(jgetc(own, "fsGroup"), privileged);
    for (struct jiter it = jiter(more); jnext(&it);)
        allowed = allowed && j_has(it.value) && id_is_allowed(it.value, privileged);
    if (!allowed)
        return "runAsGroup, fsGroup and supplementalGroups are to be from 1 to 2147483647; group "
               "0 needs --process-privileged";
    return jlen(more) > GROUPS_MAX ? "process pods have at most 60 supplementalGroups" : NULL;
}

/* Who can write in a volume could put links there, which a subPath would then follow. */
static const char *mount_refused(const struct obj *pod, jval mount)
{
    str sub = jstr(jgetc(mount, "subPath")), path = jstr(jgetc(mount, "mountPath"));
    jval v = volume_named(pod, jstr(jgetc(mount, "name")));
    if (j_has(jgetc(mount, "subPathExpr")))
        return "subPathExpr is not served";
    if (!j_has(v))
        return "a volumeMount names no volume of the pod";
    if (!str_is_empty(sub) && (!path_is_inside(sub) || str_find_char(sub, '\t') >= 0))
        return "a subPath is to be relative, without \"..\", \".\" and empty parts";
    if (!str_is_empty(sub) && j_has(jgetc(v, "emptyDir")))
        return "a subPath of an emptyDir is not served";
    if (!str_starts(path, STR("/")) || str_find_char(path, '\t') >= 0 ||
        str_find(path, STR("/../")) >= 0 || str_ends(path, STR("/..")))
        return "a mountPath is to be absolute, without \"..\" and tabs";
    return NULL;
}

static const char *container_refused(const struct obj *pod, jval c, bool privileged)
{
    jval own = jgetc(c, "securityContext");
    if (str_is(jstr(jgetc(c, "name")), INITC_NAME))
        return NULL; /* the agent does its part */
    if (jlen(jgetc(c, "command")) == 0)
        return "process pods say their command: there is no image to take it from";
    if (!privileged && jbool(jgetc(own, "privileged"), false))
        return "privileged containers need --process-privileged";
    const char *why = ids_refused(pod, c, privileged);
    if (why)
        return why;
    if (jlen(jpath(own, "capabilities.add")) > 0)
        return "process pods have no capabilities";
    for (struct jiter it = jiter(jgetc(c, "volumeMounts")); !why && jnext(&it);)
        why = mount_refused(pod, it.value);
    return why ? why : hook_refused(c);
}

static const char *pod_refused(const struct obj *pod)
{
    static const char *const flags[] = {"hostPID", "hostIPC", "shareProcessNamespace"};
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (jbool(jget(obj_spec(pod), str_of(flags[i])), false))
            return "process pods have no hostPID, hostIPC or shareProcessNamespace";
    }
    return NULL;
}

static str of_container(jval c, const char *why, struct arena *a)
{
    return arena_printf(a, "container %.*s: %s", STR_ARG(jstr(jgetc(c, "name"))), why);
}

str pod_words_container_refused(const struct obj *pod, jval container, bool privileged,
                                struct arena *a)
{
    const char *why = container_refused(pod, container, privileged);
    return why ? of_container(container, why, a) : STR_NONE;
}

str pod_words_refused(const struct obj *pod, bool privileged, struct arena *a)
{
    jval spec = obj_spec(pod);
    const char *why = pod_refused(pod);
    static const char *const lists[] = {"initContainers", "containers", "ephemeralContainers"};
    if (jlen(jgetc(spec, "initContainers")) + jlen(jgetc(spec, "containers")) > SHIM_CONTAINERS_MAX)
        why = "process pods have at most 64 containers";
    if (jlen(jgetc(spec, "volumes")) > VOLUMES_MAX)
        why = "process pods have at most 1000 volumes";
    for (struct jiter it = jiter(jgetc(spec, "volumes")); !why && jnext(&it);)
        why = volume_refused(it.value, privileged);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (struct jiter it = jiter(jget(spec, str_of(lists[i]))); !why && jnext(&it);) {
            why = container_refused(pod, it.value, privileged);
            if (why)
                return of_container(it.value, why, a);
        }
    }
    return why ? str_of(why) : STR_NONE;
}

/* ---- the whole ---- */

static void add_args(struct pod_words *w, const struct env *e, jval list)
{
    for (struct jiter it = jiter(list); !has_failed(w) && jnext(&it);)
        add(w, "arg", expand(w, e, jstr(it.value)));
}

void pod_words_start(const struct pod_words_input *in, jval container, struct pod_words *w)
{
    struct env e = {0};
    str cwd = jstr(jgetc(container, "workingDir"));
    build_env(in, container, w, &e);
    add(w, "root", arena_cat(w->arena, in->pod_dir, STR("/root")));
    add_user(in, container, w);
    add_args(w, &e, jgetc(container, "command"));
    add_args(w, &e, jgetc(container, "args"));
    add_env(w, &e);
    add(w, "cwd", str_is_empty(cwd) ? STR("/") : cwd);
    add(w, "hide", in->hide);
    add_mounts(in, container, w);
    vec_done(&e.list);
}

void pod_words_exec(const struct pod_words_input *in, jval container, const str *args, size_t n,
                    struct pod_words *w)
{
    struct env e = {0};
    str cwd = jstr(jgetc(container, "workingDir"));
    build_env(in, container, w, &e);
    add_user(in, container, w);
    for (size_t i = 0; i < n; i++)
        add(w, "arg", args[i]);
    add_env(w, &e);
    add(w, "cwd", str_is_empty(cwd) ? STR("/") : cwd);
    vec_done(&e.list);
}

void pod_words_hook(const struct pod_words_input *in, jval container, bool pre_stop,
                    struct pod_words *w)
{
    jval h = jget(jgetc(container, "lifecycle"), pre_stop ? STR("preStop") : STR("postStart"));
    str args[64];
    size_t n = 0;
    w->sleep = -1;
    if (j_has(jgetc(h, "sleep")))
        w->sleep = MIN(MAX(jint(jpath(h, "sleep.seconds"), 0), 0), SLEEP_MAX) * USEC_PER_SEC;
    for (struct jiter it = jiter(jpath(h, "exec.command")); jnext(&it) && n < ARRAY_LEN(args);)
        args[n++] = jstr(it.value);
    pod_words_exec(in, container, args, n, w);
}
