/* See kubeconfig.h. Certificates and tokens may be in the file or in files it names, which are
 * relative to it. */
#include "client/kubeconfig.h"

#include <unistd.h>

#include "base/b64.h"
#include "base/file.h"
#include "json/yaml.h"

enum { MAX_FILE = 4 << 20 };

/* ---- which file ---- */

static str find_file(const char *path, struct arena *a)
{
    const char *env = getenv("KUBECONFIG"), *home = getenv("HOME");
    if (path)
        return arena_str(a, str_of(path));
    str list = str_of(env), first = STR_NONE;
    while (list.p && list.len > 0) {
        str one = arena_str(a, str_cut(&list, ':'));
        if (str_is_empty(one))
            continue;
        if (str_is_empty(first))
            first = one;
        if (access(one.p, R_OK) == 0)
            return one;
    }
    return str_is_empty(first) ? arena_printf(a, "%s/.kube/config", home ? home : "") : first;
}

/* ---- values ---- */

/* The element of a named list: clusters, users, contexts. */
static jval find_named(jval list, str name, const char *member)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return jget(it.value, str_of(member));
    }
    return JVAL_ABSENT;
}

static int read_relative(const struct kubeconfig *k, str name, struct arena *a, str *ret,
                         struct err *err)
{
    ptrdiff_t slash = str_rfind_char(k->file, '/');
    str dir = slash < 0 ? STR(".") : str_sub(k->file, 0, (size_t)slash);
    str path = name.p[0] == '/' ? arena_str(a, name)
                                : arena_printf(a, "%.*s/%.*s", STR_ARG(dir), STR_ARG(name));
    struct strbuf b = STRBUF_INIT(MAX_FILE);
    int r = file_read(path.p, &b, err);
    *ret = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return r;
}

/* KEY-data in base64, or the file named by KEY; neither: empty. */
static int read_pem(const struct kubeconfig *k, jval v, const char *key, struct arena *a, str *ret,
                    struct err *err)
{
    str data = jstr(jget(v, arena_printf(a, "%s-data", key)));
    str file = jstr(jget(v, str_of(key)));
    if (str_is_empty(data))
        return str_is_empty(file) ? 0 : read_relative(k, file, a, ret, err);
    struct strbuf b = STRBUF_INIT(MAX_FILE);
    int r = b64_decode(data, B64_STD | B64_NEWLINES, &b)
                ? 0
                : err_set(err, ERR_INVALID, "%.*s: %s-data is not base64", STR_ARG(k->file), key);
    *ret = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return r;
}

/* https://host:port/prefix */
static int read_server(struct kubeconfig *k, str url, struct arena *a, struct err *err)
{
    str rest = url;
    uint64_t port = 0;
    k->tls = str_starts(url, STR("https://"));
    if (!k->tls && !str_starts(url, STR("http://")))
        return err_set(err, ERR_INVALID, "%.*s: server \"%.*s\" is not an http or https address",
                       STR_ARG(k->file), STR_ARG(url));
    rest = str_sub(rest, k->tls ? 8 : 7, rest.len);
    str host = str_cut(&rest, '/');
    while (rest.len > 0 && rest.p[rest.len - 1] == '/')
        rest.len--;
    k->path = rest.len > 0 ? arena_printf(a, "/%.*s", STR_ARG(rest)) : STR("");
    ptrdiff_t colon = str_rfind_char(host, ':'), bracket = str_rfind_char(host, ']');
    if (colon > bracket) {
        if (!str_to_uint(str_sub(host, (size_t)colon + 1, host.len), &port) || port > 65535)
            return err_set(err, ERR_INVALID, "%.*s: server \"%.*s\" has a bad port",
                           STR_ARG(k->file), STR_ARG(url));
        host = str_sub(host, 0, (size_t)colon);
    }
    if (host.len > 2 && host.p[0] == '[')
        host = str_sub(host, 1, host.len - 1);
    k->host = arena_str(a, host);
    k->port = port ? (int)port : k->tls ? 443 : 80;
    return 0;
}

static int read_config(struct kubeconfig *k, jval root, const char *context_name, struct arena *a,
                       struct err *err)
{
    str name = context_name ? str_of(context_name) : jstr(jgetc(root, "current-context"));
    jval context = find_named(jgetc(root, "contexts"), name, "context");
    if (j_is_absent(context))
        return err_set(err, ERR_INVALID, "%.*s has no context \"%.*s\"", STR_ARG(k->file),
                       STR_ARG(name));
    jval cluster = find_named(jgetc(root, "clusters"), jstr(jgetc(context, "cluster")), "cluster");
    jval user = find_named(jgetc(root, "users"), jstr(jgetc(context, "user")), "user");
    str server = jstr(jgetc(cluster, "server")), ns = jstr(jgetc(context, "namespace"));
    if (str_is_empty(server))
        return err_set(err, ERR_INVALID, "%.*s: context \"%.*s\" names no server", STR_ARG(k->file),
                       STR_ARG(name));
    k->ns = str_is_empty(ns) ? STR("default") : arena_str(a, ns);
    k->token = arena_str(a, jstr(jgetc(user, "token")));
    k->skip_verify = j_is_true(jgetc(cluster, "insecure-skip-tls-verify"));
    int r = read_server(k, server, a, err);
    r = r ? r : read_pem(k, cluster, "certificate-authority", a, &k->ca_pem, err);
    r = r ? r : read_pem(k, user, "client-certificate", a, &k->cert_pem, err);
    return r ? r : read_pem(k, user, "client-key", a, &k->key_pem, err);
}

int kubeconfig_load(const char *path, const char *context, struct arena *a, struct kubeconfig *ret,
                    struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_FILE);
    *ret = (struct kubeconfig){.file = find_file(path, a)};
    int r = file_read(ret->file.p, &text, err);
    struct doc *d = r ? NULL : yaml_parse_one(strbuf_str(&text), err);
    if (r == ERR_NOT_FOUND)
        r = err_set(
            err, r,
            "no kubeconfig at %.*s; start a control plane with `grove up`, or set KUBECONFIG",
            STR_ARG(ret->file));
    else if (r == 0 && !d)
        r = err_wrap(err, "%.*s", STR_ARG(ret->file));
    if (d)
        r = read_config(ret, doc_root(d), context, a, err);
    doc_unref(d);
    strbuf_done(&text);
    return r;
}
