/*
 * See kubeconfig.h. The files are parsed into documents that the arena holds, so most of what comes
 * out are slices of them.
 *
 * Where a value has two spellings the order is client-go's: KEY-data before the file KEY names;
 * token, tokenFile and user name before exec. What would change who we are and is not understood
 * (auth-provider, as-user-extra) is refused rather than passed over.
 */
#include "client/kubeconfig.h"

#include "base/b64.h"
#include "base/file.h"
#include "json/write.h"
#include "json/yaml.h"

enum { MAX_FILE = 4 << 20, MAX_SOURCES = 64, MAX_ARGS = 1024 };

struct source {
    str file;
    jval root; /* absent: the file is empty */
};

struct sources {
    struct source list[MAX_SOURCES];
    size_t n;
};

/* A value and the file it is from. */
struct found {
    jval value;
    const struct source *from;
};

/* ---- files ---- */

static int read_text(const char *path, struct arena *a, str *ret, struct err *err)
{
    struct strbuf b = STRBUF_INIT(MAX_FILE);
    int r = file_read(path, &b, err);
    if (r == 0)
        *ret = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return r;
}

/* Nothing, or nothing but comments, is no mistake as long as another file has what is asked for. */
static int parse_source(str text, struct arena *a, jval *ret, struct err *err)
{
    doc_vec docs;
    if (yaml_parse(text, &docs, err))
        return err->code;
    struct doc *d = docs.len > 0 ? doc_hold(a, doc_ref(docs.p[0])) : NULL;
    *ret = d && jtype(doc_root(d)) != J_NULL ? doc_root(d) : JVAL_ABSENT;
    int r = docs.len > 1 ? err_set(err, ERR_INVALID, "%zu documents, not one", docs.len) : 0;
    doc_vec_done(&docs);
    return r;
}

static int add_source(struct sources *s, str file, struct arena *a, struct err *err)
{
    str text;
    jval root = JVAL_ABSENT;
    int r = read_text(file.p, a, &text, err);
    if (r)
        return r;
    if (parse_source(text, a, &root, err))
        return err_wrap(err, "%.*s", STR_ARG(file));
    if (!j_is_absent(root) && jtype(root) != J_OBJECT)
        return err_set(err, ERR_INVALID, "%.*s is not a kubeconfig", STR_ARG(file));
    s->list[s->n++] = (struct source){file, root};
    return 0;
}

/* Of a list like PATH; files that are not there are passed over. */
static int add_sources(struct sources *s, str list, struct arena *a, struct err *err)
{
    while (list.len > 0) {
        str file = arena_str(a, str_cut(&list, ':'));
        if (str_is_empty(file))
            continue;
        if (s->n == MAX_SOURCES)
            return err_set(err, ERR_TOO_LARGE, "KUBECONFIG names more than %d files", MAX_SOURCES);
        int r = add_source(s, file, a, err);
        if (r && r != ERR_NOT_FOUND)
            return r;
    }
    return 0;
}

static int no_file(str list, struct err *err)
{
    return err_set(
        err, ERR_NOT_FOUND,
        "no kubeconfig at %.*s; start a control plane with `grove up`, or set KUBECONFIG",
        STR_ARG(list));
}

/* A name in the file is relative to the file. */
static str resolve(const struct source *s, str name, struct arena *a)
{
    ptrdiff_t slash = str_rfind_char(s->file, '/');
    if (str_starts(name, STR("/")) || slash < 0)
        return arena_str(a, name);
    return arena_printf(a, "%.*s/%.*s", (int)slash, s->file.p, STR_ARG(name));
}

/* ---- values ---- */

static jval list_item(jval list, str name)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return it.value;
    }
    return JVAL_ABSENT;
}

/* The element of a named list (clusters, users, contexts) in the first file that has it. */
static struct found find_named(const struct sources *s, const char *list, const char *member,
                               str name)
{
    for (size_t i = 0; i < s->n; i++) {
        jval item = list_item(jget(s->list[i].root, str_of(list)), name);
        if (!j_is_absent(item))
            return (struct found){jget(item, str_of(member)), &s->list[i]};
    }
    return (struct found){JVAL_ABSENT, NULL};
}

/* "a, b, c", for people who mistyped. */
static str names_of(const struct sources *s, const char *list, struct arena *a)
{
    struct strbuf b = STRBUF_INIT(256);
    for (size_t i = 0; i < s->n; i++) {
        for (struct jiter it = jiter(jget(s->list[i].root, str_of(list))); jnext(&it);) {
            str name = jstr(jgetc(it.value, "name"));
            strbuf_printf(&b, "%s%.*s", b.len ? ", " : "", STR_ARG(name));
        }
    }
    str names = b.len ? arena_str(a, strbuf_str(&b)) : STR("none");
    strbuf_done(&b);
    return names;
}

/* KEY-data in base64, or the file named by KEY; neither: empty. */
static int read_pem(struct found in, const char *key, struct arena *a, str *ret, struct err *err)
{
    str data = jstr(jget(in.value, arena_printf(a, "%s-data", key)));
    str file = jstr(jget(in.value, str_of(key)));
    if (str_is_empty(data)) {
        int r = str_is_empty(file) ? 0 : read_text(resolve(in.from, file, a).p, a, ret, err);
        return r ? err_wrap(err, "%.*s: %s", STR_ARG(in.from->file), key) : 0;
    }
    struct strbuf b = STRBUF_INIT(MAX_FILE);
    int r =
        b64_decode(str_trim(data), B64_STD | B64_NEWLINES, &b)
            ? 0
            : err_set(err, ERR_INVALID, "%.*s: %s-data is not base64", STR_ARG(in.from->file), key);
    *ret = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return r;
}

static int read_strings(jval list, struct arena *a, str **ret, size_t *ret_n, struct err *err)
{
    size_t n = jlen(list);
    if (n > MAX_ARGS)
        return err_set(err, ERR_TOO_LARGE, "a list of more than %d strings", MAX_ARGS);
    *ret = arena_array(a, str, n + 1);
    *ret_n = 0;
    for (struct jiter it = jiter(list); jnext(&it);)
        (*ret)[(*ret_n)++] = arena_str(a, jstr(it.value));
    return 0;
}

/* ---- cluster ---- */

/* What may stand in a request line. */
static bool is_host(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '@')
            return false;
    }
    return s.len > 0;
}

bool kubeconfig_split_host(str text, uint64_t *port, str *ret_host)
{
    ptrdiff_t colon = str_rfind_char(text, ':'), bracket = str_rfind_char(text, ']');
    if (colon > bracket) {
        str digits = str_sub(text, (size_t)colon + 1, text.len);
        if (!str_to_uint(digits, port) || *port == 0 || *port > 65535)
            return false;
        text = str_sub(text, 0, (size_t)colon);
    }
    if (text.len > 2 && text.p[0] == '[' && text.p[text.len - 1] == ']')
        text = str_sub(text, 1, text.len - 1);
    *ret_host = text;
    return is_host(text);
}

/* https://host:port/prefix */
static int read_server(struct kubeconfig *k, str url, struct arena *a, struct err *err)
{
    uint64_t port = 0;
    str host;
    k->tls = str_starts(url, STR("https://"));
    if (!k->tls && !str_starts(url, STR("http://")))
        return err_set(err, ERR_INVALID, "%.*s: server \"%.*s\" is not an http or https address",
                       STR_ARG(k->file), STR_ARG(url));
    str rest = str_sub(url, k->tls ? 8 : 7, url.len);
    str authority = str_cut(&rest, '/');
    if (!kubeconfig_split_host(authority, &port, &host))
        return err_set(err, ERR_INVALID, "%.*s: server \"%.*s\" has a bad host or port",
                       STR_ARG(k->file), STR_ARG(url));
    while (rest.len > 0 && rest.p[rest.len - 1] == '/')
        rest.len--;
    k->path = rest.len > 0 ? arena_printf(a, "/%.*s", STR_ARG(rest)) : STR("");
    k->host = arena_str(a, host);
    k->port = port ? (int)port : k->tls ? 443 : 80;
    return 0;
}

static int read_cluster(struct kubeconfig *k, struct found in, struct arena *a, struct err *err)
{
    str server = jstr(jgetc(in.value, "server"));
    if (str_is_empty(server))
        return err_set(
            err, ERR_INVALID,
            "%.*s: the cluster of context \"%.*s\" has no server; write its address there, or "
            "choose another context with --context",
            STR_ARG(in.from->file), STR_ARG(k->context));
    k->skip_verify = j_is_true(jgetc(in.value, "insecure-skip-tls-verify"));
    k->server_name = arena_str(a, jstr(jgetc(in.value, "tls-server-name")));
    k->proxy_url = arena_str(a, jstr(jgetc(in.value, "proxy-url")));
    int r = read_server(k, server, a, err);
    return r ? r : read_pem(in, "certificate-authority", a, &k->ca_pem, err);
}

/* ---- user ---- */

/* The spec.cluster of an ExecCredential. */
static str describe_cluster(const struct kubeconfig *k, struct found cluster, struct arena *a)
{
    struct jw w;
    struct strbuf b = STRBUF_INIT(2 * MAX_FILE);
    jval extension =
        list_item(jgetc(cluster.value, "extensions"), STR("client.authentication.k8s.io/exec"));
    jw_init(&w);
    jw_object(&w);
    jw_put(&w, "server", jgetc(cluster.value, "server"));
    jw_put(&w, "tls-server-name", jgetc(cluster.value, "tls-server-name"));
    jw_put(&w, "insecure-skip-tls-verify", jgetc(cluster.value, "insecure-skip-tls-verify"));
    jw_put(&w, "proxy-url", jgetc(cluster.value, "proxy-url"));
    if (k->ca_pem.len) {
        b64_encode(k->ca_pem, B64_STD, &b);
        jw_put_str(&w, "certificate-authority-data", strbuf_str(&b));
    }
    jw_put(&w, "config", jgetc(extension, "extension"));
    jw_end(&w);
    str text = arena_str(a, strbuf_str(&w.out));
    jw_done(&w);
    strbuf_done(&b);
    return text;
}

static int read_interactive(jval exec, enum kubeconfig_interactive *ret, struct err *err)
{
    static const char *const modes[] = {
        [EXEC_IF_AVAILABLE] = "IfAvailable", [EXEC_NEVER] = "Never", [EXEC_ALWAYS] = "Always"};
    str mode = jstr(jgetc(exec, "interactiveMode"));
    *ret = EXEC_IF_AVAILABLE;
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        if (str_is(mode, modes[i]))
            *ret = (enum kubeconfig_interactive)i;
        if (str_is_empty(mode) || str_is(mode, modes[i]))
            return 0;
    }
    return err_set(err, ERR_INVALID, "interactiveMode \"%.*s\" is unknown", STR_ARG(mode));
}

static int read_exec(struct kubeconfig *k, struct found user, struct found cluster, struct arena *a,
                     struct err *err)
{
    static const char *const versions[] = {"client.authentication.k8s.io/v1",
                                           "client.authentication.k8s.io/v1beta1"};
    struct kubeconfig_exec *x = &k->exec;
    jval exec = jgetc(user.value, "exec"), env = jgetc(exec, "env");
    str command = jstr(jgetc(exec, "command"));
    x->api_version = arena_str(a, jstr(jgetc(exec, "apiVersion")));
    x->install_hint = jstr(jgetc(exec, "installHint"));
    if (str_is_empty(command))
        return err_set(err, ERR_INVALID, "it has no command");
    if (!str_is(x->api_version, versions[0]) && !str_is(x->api_version, versions[1]))
        return err_set(err, ERR_INVALID, "apiVersion \"%.*s\" is neither %s nor %s",
                       STR_ARG(x->api_version), versions[0], versions[1]);
    if (jlen(env) > MAX_ARGS)
        return err_set(err, ERR_TOO_LARGE, "more than %d environment variables", MAX_ARGS);
    x->env = arena_array(a, struct kubeconfig_env, jlen(env) + 1);
    for (struct jiter it = jiter(env); jnext(&it);)
        x->env[x->n_env++] = (struct kubeconfig_env){arena_str(a, jstr(jgetc(it.value, "name"))),
                                                     arena_str(a, jstr(jgetc(it.value, "value")))};
    if (j_is_true(jgetc(exec, "provideClusterInfo")))
        x->cluster = describe_cluster(k, cluster, a);
    /* Without a slash it is looked for in PATH. */
    x->command =
        str_find_char(command, '/') < 0 ? arena_str(a, command) : resolve(user.from, command, a);
    int r = read_interactive(exec, &x->interactive, err);
    return r ? r : read_strings(jgetc(exec, "args"), a, &x->args, &x->n_args, err);
}

static int check_user(struct found in, struct err *err)
{
    static const char *const refused[] = {"auth-provider", "as-user-extra"};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        if (j_has(jget(in.value, str_of(refused[i]))))
            return err_set(err, ERR_UNSUPPORTED, "%s is not supported; use a token or exec",
                           refused[i]);
    }
    bool token = jstr(jgetc(in.value, "token")).len || jstr(jgetc(in.value, "tokenFile")).len;
    if (token && jstr(jgetc(in.value, "username")).len)
        return err_set(err, ERR_INVALID, "both a token and a user name with password");
    return 0;
}

static int read_user(struct kubeconfig *k, struct found in, struct found cluster, struct arena *a,
                     struct err *err)
{
    str file = jstr(jgetc(in.value, "tokenFile"));
    int r = check_user(in, err);
    k->token = arena_str(a, str_trim(jstr(jgetc(in.value, "token"))));
    k->token_file = str_is_empty(file) ? STR_NONE : resolve(in.from, file, a);
    k->username = arena_str(a, jstr(jgetc(in.value, "username")));
    k->password = arena_str(a, jstr(jgetc(in.value, "password")));
    k->as = arena_str(a, jstr(jgetc(in.value, "as")));
    k->as_uid = arena_str(a, jstr(jgetc(in.value, "as-uid")));
    r = r ? r : read_strings(jgetc(in.value, "as-groups"), a, &k->as_groups, &k->n_as_groups, err);
    bool given = k->token.len || k->token_file.len || k->username.len;
    if (r == 0 && j_has(jgetc(in.value, "exec")) && !given)
        r = read_exec(k, in, cluster, a, err);
    if (r)
        return err_wrap(err, "%.*s: user \"%.*s\"", STR_ARG(in.from->file), STR_ARG(k->user));
    r = read_pem(in, "client-certificate", a, &k->cert_pem, err);
    r = r ? r : read_pem(in, "client-key", a, &k->key_pem, err);
    if (r == 0 && (k->cert_pem.len > 0) != (k->key_pem.len > 0))
        return err_set(err, ERR_INVALID,
                       "%.*s: user \"%.*s\" has a client-certificate or a "
                       "client-key, but not both",
                       STR_ARG(in.from->file), STR_ARG(k->user));
    return r;
}

/* ---- context ---- */

static str current_context(const struct sources *s)
{
    for (size_t i = 0; i < s->n; i++) {
        str name = jstr(jgetc(s->list[i].root, "current-context"));
        if (!str_is_empty(name))
            return name;
    }
    return STR_NONE;
}

#define ANOTHER "start a control plane with `grove up`, or name another file with --kubeconfig"

static bool has_any(const struct sources *s, const char *list)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += list ? jlen(jget(s->list[i].root, str_of(list))) : !j_is_absent(s->list[i].root);
    return n > 0;
}

/* Nobody said which context, and the files do not either: as if there were none. */
static int no_context(const struct sources *s, const struct kubeconfig *k, struct arena *a,
                      struct err *err)
{
    if (!has_any(s, NULL))
        return err_set(err, ERR_NOT_FOUND, "the kubeconfig %.*s is empty; " ANOTHER,
                       STR_ARG(k->file));
    if (!has_any(s, "contexts"))
        return err_set(err, ERR_NOT_FOUND, "%.*s has no contexts; " ANOTHER, STR_ARG(k->file));
    return err_set(err, ERR_NOT_FOUND,
                   "%.*s has no current-context; choose one with --context; it has: %.*s",
                   STR_ARG(k->file), STR_ARG(names_of(s, "contexts", a)));
}

static int missing_context(const struct sources *s, const struct kubeconfig *k, struct arena *a,
                           struct err *err)
{
    if (!has_any(s, NULL))
        return no_context(s, k, a, err);
    return err_set(err, ERR_INVALID, "%.*s has no context \"%.*s\"; it has: %.*s; %s",
                   STR_ARG(k->file), STR_ARG(k->context), STR_ARG(names_of(s, "contexts", a)),
                   has_any(s, "contexts") ? "choose one with --context" : ANOTHER);
}

/* A cluster or user that the context names, or should. */
static int missing(const struct sources *s, const struct kubeconfig *k, const char *what, str name,
                   const char *list, struct arena *a, struct err *err)
{
    str names = names_of(s, list, a);
    if (str_is_empty(name))
        return err_set(err, ERR_INVALID,
                       "%.*s: context \"%.*s\" names no %s; correct it, or choose another with "
                       "--context",
                       STR_ARG(k->file), STR_ARG(k->context), what);
    return err_set(err, ERR_INVALID,
                   "%.*s has no %s \"%.*s\", which context \"%.*s\" names; it has: %.*s; correct "
                   "it, or choose another with --context",
                   STR_ARG(k->file), what, STR_ARG(name), STR_ARG(k->context), STR_ARG(names));
}

static int read_context(struct kubeconfig *k, const struct sources *s, const char *name,
                        struct arena *a, struct err *err)
{
    k->file = s->list[0].file;
    k->context = arena_str(a, name ? str_of(name) : current_context(s));
    if (str_is_empty(k->context))
        return no_context(s, k, a, err);
    struct found context = find_named(s, "contexts", "context", k->context);
    if (!context.from)
        return missing_context(s, k, a, err);
    k->file = context.from->file;
    str cluster_name = jstr(jgetc(context.value, "cluster"));
    str ns = jstr(jgetc(context.value, "namespace"));
    k->user = arena_str(a, jstr(jgetc(context.value, "user")));
    k->ns = str_is_empty(ns) ? STR("default") : arena_str(a, ns);
    struct found cluster = find_named(s, "clusters", "cluster", cluster_name);
    if (!cluster.from || str_is_empty(cluster_name))
        return missing(s, k, "cluster", cluster_name, "clusters", a, err);
    int r = read_cluster(k, cluster, a, err);
    if (r || str_is_empty(k->user))
        return r;
    struct found user = find_named(s, "users", "user", k->user);
    if (!user.from)
        return missing(s, k, "user", k->user, "users", a, err);
    return read_user(k, user, cluster, a, err);
}

/* ---- inside a pod ---- */

static bool is_in_cluster(void)
{
    return str_of(getenv("KUBERNETES_SERVICE_HOST")).len &&
           str_of(getenv("KUBERNETES_SERVICE_PORT")).len;
}

int kubeconfig_in_cluster(const char *dir, struct arena *a, struct kubeconfig *ret, struct err *err)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    uint64_t port = 0;
    *ret = (struct kubeconfig){.file = arena_str(a, str_of(dir)), .tls = true, .path = STR("")};
    if (!is_in_cluster())
        return err_set(err, ERR_NOT_FOUND,
                       "this is not a pod: KUBERNETES_SERVICE_HOST and "
                       "KUBERNETES_SERVICE_PORT are not set");
    if (!str_to_uint(str_of(getenv("KUBERNETES_SERVICE_PORT")), &port) || !port || port > 65535)
        return err_set(err, ERR_INVALID, "KUBERNETES_SERVICE_PORT is not a port");
    ret->host = arena_str(a, str_of(host));
    ret->port = (int)port;
    ret->token_file = arena_printf(a, "%s/token", dir);
    str ns = STR_NONE;
    (void)read_text(arena_printf(a, "%s/namespace", dir).p, a, &ns, NULL);
    ns = str_trim(ns);
    ret->ns = str_is_empty(ns) ? STR("default") : ns;
    return read_text(arena_printf(a, "%s/ca.crt", dir).p, a, &ret->ca_pem, err);
}

/* ---- all together ---- */

int kubeconfig_load(const char *path, const char *context, struct arena *a, struct kubeconfig *ret,
                    struct err *err)
{
    struct sources s = {.n = 0};
    const char *home = getenv("HOME");
    str list = str_of(getenv("KUBECONFIG"));
    *ret = (struct kubeconfig){.path = STR("")};
    if (path) {
        list = arena_str(a, str_of(path));
        int r = add_source(&s, list, a, err);
        if (r)
            return r == ERR_NOT_FOUND ? no_file(list, err) : r;
        return read_context(ret, &s, context, a, err);
    }
    if (str_is_empty(list))
        list = arena_printf(a, "%s/.kube/config", home ? home : "");
    int r = add_sources(&s, list, a, err);
    if (r)
        return r;
    if (s.n > 0)
        return read_context(ret, &s, context, a, err);
    if (!is_in_cluster())
        return no_file(list, err);
    return kubeconfig_in_cluster(SERVICE_ACCOUNT_DIR, a, ret, err);
}

void kubeconfig_copy(const struct kubeconfig *k, struct arena *a, struct kubeconfig *ret)
{
    *ret = *k;
    struct kubeconfig_exec *x = &ret->exec;
    str *slices[] = {&ret->host,     &ret->path,     &ret->server_name, &ret->proxy_url,
                     &ret->ca_pem,   &ret->cert_pem, &ret->key_pem,     &ret->token,
                     &ret->username, &ret->password, &ret->token_file,  &ret->as,
                     &ret->as_uid,   &ret->ns,       &ret->file,        &ret->context,
                     &ret->user,     &x->command,    &x->api_version,   &x->install_hint,
                     &x->cluster};
    for (size_t i = 0; i < ARRAY_LEN(slices); i++)
        *slices[i] = arena_str(a, *slices[i]);
    ret->as_groups = arena_array(a, str, k->n_as_groups + 1);
    for (size_t i = 0; i < k->n_as_groups; i++)
        ret->as_groups[i] = arena_str(a, k->as_groups[i]);
    x->args = arena_array(a, str, x->n_args + 1);
    for (size_t i = 0; i < x->n_args; i++)
        x->args[i] = arena_str(a, k->exec.args[i]);
    x->env = arena_array(a, struct kubeconfig_env, x->n_env + 1);
    for (size_t i = 0; i < x->n_env; i++)
        x->env[i] = (struct kubeconfig_env){arena_str(a, k->exec.env[i].name),
                                            arena_str(a, k->exec.env[i].value)};
}
