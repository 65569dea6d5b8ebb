/* Kubeconfig files as people have them, right and wrong: what kubectl would take from them, and one
 * line that says what is wrong. */
#include "base/file.h"
#include "base/test.h"
#include "client/kubeconfig.h"

struct rig {
    struct arena arena;
    struct kubeconfig k;
    struct err err;
    char dir[64];
    int result;
};

static void rig_init(struct rig *r)
{
    *r = (struct rig){.dir = "/tmp/grove-kubeconfig-XXXXXX"};
    REQUIRE(mkdtemp(r->dir));
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
    unsetenv("KUBECONFIG");
    setenv("HOME", r->dir, 1);
}

static void rig_done(struct rig *r)
{
    CHECK_INT(dir_remove(r->dir, NULL), 0);
    arena_done(&r->arena);
    unsetenv("KUBECONFIG");
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("KUBERNETES_SERVICE_PORT");
}

static const char *path(struct rig *r, const char *name)
{
    return arena_printf(&r->arena, "%s/%s", r->dir, name).p;
}

static const char *put(struct rig *r, const char *name, const char *text)
{
    const char *p = path(r, name);
    REQUIRE(file_write(p, str_of(text), 0600, NULL) == 0);
    return p;
}

static bool load(struct rig *r, const char *file, const char *context)
{
    r->err = ERR_INIT;
    r->result = kubeconfig_load(file, context, &r->arena, &r->k, &r->err);
    return r->result == 0;
}

static bool says(struct rig *r, const char *text)
{
    bool ok = str_find(str_of(r->err.message), str_of(text)) >= 0 &&
              str_find_char(str_of(r->err.message), '\n') < 0;
    if (!ok)
        test_note("message: %s", r->err.message);
    return ok;
}

static const char two[] =
    "apiVersion: v1\n"
    "kind: Config\n"
    "current-context: red\n"
    "clusters:\n"
    "- name: a\n"
    "  cluster: {server: 'https://a.example:6443/', certificate-authority-data: Q0EgQQ==}\n"
    "- name: b\n"
    "  cluster: {server: 'http://[::1]/k8s/b/', insecure-skip-tls-verify: true,\n"
    "            tls-server-name: b.example, proxy-url: 'http://proxy:3128'}\n"
    "contexts:\n"
    "- {name: red, context: {cluster: a, user: ann}}\n"
    "- {name: blue, context: {cluster: b, user: bob, namespace: team}}\n"
    "users:\n"
    "- {name: ann, user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ}}\n"
    "- {name: bob, user: {username: bob, password: 'x:y', as: root, as-uid: u1,\n"
    "                     as-groups: [g1, g2]}}\n";

TEST(kubeconfig_takes_the_current_context)
{
    struct rig r;
    rig_init(&r);
    REQUIRE(load(&r, put(&r, "c", two), NULL));
    CHECK_CSTR(r.k.host, "a.example");
    CHECK_INT(r.k.port, 6443);
    CHECK_CSTR(r.k.path, "");
    CHECK(r.k.tls);
    CHECK(!r.k.skip_verify);
    CHECK_CSTR(r.k.ca_pem, "CA A");
    CHECK_CSTR(r.k.cert_pem, "CERT");
    CHECK_CSTR(r.k.key_pem, "KEY");
    CHECK_CSTR(r.k.ns, "default");
    CHECK_CSTR(r.k.context, "red");
    CHECK_CSTR(r.k.user, "ann");
    CHECK_CSTR(r.k.file, path(&r, "c"));
    rig_done(&r);
}

TEST(kubeconfig_takes_the_context_asked_for)
{
    struct rig r;
    rig_init(&r);
    REQUIRE(load(&r, put(&r, "c", two), "blue"));
    CHECK_CSTR(r.k.host, "::1");
    CHECK_INT(r.k.port, 80);
    CHECK_CSTR(r.k.path, "/k8s/b");
    CHECK(!r.k.tls);
    CHECK(r.k.skip_verify);
    CHECK_CSTR(r.k.server_name, "b.example");
    CHECK_CSTR(r.k.proxy_url, "http://proxy:3128");
    CHECK_CSTR(r.k.ns, "team");
    CHECK_CSTR(r.k.username, "bob");
    CHECK_CSTR(r.k.password, "x:y");
    CHECK_CSTR(r.k.as, "root");
    CHECK_CSTR(r.k.as_uid, "u1");
    REQUIRE(r.k.n_as_groups == 2);
    CHECK_CSTR(r.k.as_groups[1], "g2");
    rig_done(&r);
}

/* kubectl: of two entries with one name the first file's counts, whole. */
TEST(kubeconfig_merges_files_as_kubectl_does)
{
    struct rig r;
    rig_init(&r);
    put(&r, "1",
        "contexts:\n- {name: x, context: {cluster: a, user: ann, namespace: one}}\n"
        "users:\n- {name: ann, user: {token: first}}\n");
    put(&r, "2",
        "current-context: x\n"
        "users:\n- {name: ann, user: {token: second, as: nobody}}\n");
    put(&r, "3", two);
    setenv("KUBECONFIG",
           arena_printf(&r.arena, ":%s:%s/none:%s:%s", path(&r, "1"), r.dir, path(&r, "2"),
                        path(&r, "3"))
               .p,
           1);
    REQUIRE(load(&r, NULL, NULL));
    CHECK_CSTR(r.k.host, "a.example");
    CHECK_CSTR(r.k.ns, "one");
    CHECK_CSTR(r.k.token, "first");
    CHECK_CSTR(r.k.as, "");
    CHECK_CSTR(r.k.file, path(&r, "1"));
    rig_done(&r);
}

TEST(kubeconfig_files_it_names_are_relative_to_it)
{
    struct rig r;
    rig_init(&r);
    REQUIRE(dir_make(path(&r, ".kube/pki"), 0700, NULL) == 0);
    put(&r, ".kube/pki/ca", "CA");
    put(&r, ".kube/cert", "CERT");
    put(&r, "key", "KEY");
    const char *text = arena_printf(&r.arena,
                                    "current-context: x\n"
                                    "contexts:\n- {name: x, context: {cluster: c, user: u}}\n"
                                    "clusters:\n- name: c\n  cluster: {server: 'https://h', "
                                    "certificate-authority: pki/ca}\n"
                                    "users:\n- name: u\n  user: {client-certificate: cert, "
                                    "client-key: %s/key, tokenFile: tok}\n",
                                    r.dir)
                           .p;
    put(&r, ".kube/config", text);
    REQUIRE(load(&r, NULL, NULL));
    CHECK_INT(r.k.port, 443);
    CHECK_CSTR(r.k.ca_pem, "CA");
    CHECK_CSTR(r.k.cert_pem, "CERT");
    CHECK_CSTR(r.k.key_pem, "KEY");
    CHECK_CSTR(r.k.token_file, path(&r, ".kube/tok"));
    rig_done(&r);
}

TEST(kubeconfig_describes_a_plug_in)
{
    struct rig r;
    rig_init(&r);
    put(&r, "c",
        "current-context: x\n"
        "contexts:\n- {name: x, context: {cluster: c, user: u}}\n"
        "clusters:\n- name: c\n  cluster:\n    server: 'https://h'\n"
        "    certificate-authority-data: Q0E=\n"
        "    extensions:\n    - name: client.authentication.k8s.io/exec\n"
        "      extension: {audience: me}\n"
        "users:\n- name: u\n  user:\n    exec:\n"
        "      apiVersion: client.authentication.k8s.io/v1\n      command: ./bin/login\n"
        "      args: [get, token]\n      env: [{name: A, value: b}]\n"
        "      interactiveMode: Never\n      provideClusterInfo: true\n");
    REQUIRE(load(&r, path(&r, "c"), NULL));
    const struct kubeconfig_exec *x = &r.k.exec;
    CHECK_CSTR(x->command, path(&r, "./bin/login"));
    REQUIRE(x->n_args == 2);
    CHECK_CSTR(x->args[1], "token");
    REQUIRE(x->n_env == 1);
    CHECK_CSTR(x->env[0].name, "A");
    CHECK_CSTR(x->env[0].value, "b");
    CHECK_INT(x->interactive, EXEC_NEVER);
    CHECK_CSTR(x->cluster, "{\"server\":\"https://h\",\"certificate-authority-data\":\"Q0E=\","
                           "\"config\":{\"audience\":\"me\"}}");
    rig_done(&r);
}

TEST(kubeconfig_inside_a_pod_is_the_service_account)
{
    struct rig r;
    rig_init(&r);
    put(&r, "token", "t");
    put(&r, "ca.crt", "CA");
    put(&r, "namespace", "team\n");
    CHECK_INT(kubeconfig_in_cluster(r.dir, &r.arena, &r.k, &r.err), ERR_NOT_FOUND);
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    setenv("KUBERNETES_SERVICE_PORT", "443", 1);
    REQUIRE(kubeconfig_in_cluster(r.dir, &r.arena, &r.k, &r.err) == 0);
    CHECK_CSTR(r.k.host, "10.0.0.1");
    CHECK_INT(r.k.port, 443);
    CHECK(r.k.tls);
    CHECK_CSTR(r.k.ca_pem, "CA");
    CHECK_CSTR(r.k.ns, "team");
    CHECK_CSTR(r.k.token_file, path(&r, "token"));
    /* A kubeconfig goes first; without one the pod's own place is looked at. */
    REQUIRE(load(&r, put(&r, "c", two), NULL));
    CHECK_CSTR(r.k.host, "a.example");
    CHECK(!load(&r, NULL, NULL) && says(&r, SERVICE_ACCOUNT_DIR));
    rig_done(&r);
}

#define HEAD "current-context: x\ncontexts:\n- {name: x, context: {cluster: c, user: u}}\n"
#define CLUSTER "clusters:\n- {name: c, cluster: {server: 'https://h'}}\n"
#define EXEC(more) HEAD CLUSTER "users:\n- {name: u, user: {exec: {" more "}}}\n"
#define USER(more) HEAD CLUSTER "users:\n- {name: u, user: {" more "}}\n"
#define SERVER(url) HEAD "clusters:\n- {name: c, cluster: {server: '" url "'}}\n"

TEST(kubeconfig_says_what_is_wrong)
{
    static const struct {
        const char *text, *says;
    } wrong[] = {
        {"contexts: [\n", "line"},
        {"- a\n", "is not a kubeconfig"},
        {"", "is empty; start a control plane with `grove up`, or name another file"},
        {"# nothing yet\n", "is empty; start a control plane"},
        {"---\n", "is empty; start a control plane"},
        {"a: 1\n---\nb: 2\n", "2 documents, not one"},
        {"contexts: []\n", "has no contexts; start a control plane with `grove up`, or name"},
        {"{}\n", "has no contexts; start a control plane"},
        {"contexts: [{name: x}, {name: z}]\n" CLUSTER,
         "has no current-context; choose one with --context; it has: x, z"},
        {"current-context: z\n" CLUSTER,
         "has no context \"z\"; it has: none; start a control plane"},
        {"current-context: z\ncontexts: [{name: x}]\n" CLUSTER,
         "has no context \"z\"; it has: x; choose one with --context"},
        {"current-context: x\ncontexts: [{name: x, context: {user: u}}]\n" CLUSTER,
         "context \"x\" names no cluster; correct it, or choose another with --context"},
        {HEAD, "has no cluster \"c\", which context \"x\" names; it has: none; correct it, or"},
        {HEAD "clusters:\n- {name: c, cluster: {}}\n", "has no server; write its address there"},
        {HEAD CLUSTER, "has no user \"u\", which context \"x\" names; it has: none; correct it"},
        {SERVER("ftp://x"), "is not an http or https address"},
        {SERVER("https://"), "bad host or port"},
        {SERVER("https://h:0"), "bad host or port"},
        {SERVER("https://h:99999"), "bad host or port"},
        {SERVER("https://me@h"), "bad host or port"},
        {USER("client-certificate-data: '***', client-key-data: S0VZ"), "is not base64"},
        {USER("client-certificate-data: Q0VSVA=="), "but not both"},
        {USER("client-certificate: none, client-key: none"), "cannot open"},
        {USER("token: t, username: u"), "both a token and a user name"},
        {USER("auth-provider: {name: gcp}"), "auth-provider is not supported"},
        {USER("as-user-extra: {a: [b]}"), "as-user-extra is not supported"},
        {EXEC("apiVersion: client.authentication.k8s.io/v1"), "it has no command"},
        {EXEC("command: x, apiVersion: client.authentication.k8s.io/v1alpha1"), "is neither"},
        {EXEC("command: x, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Maybe"),
         "interactiveMode \"Maybe\" is unknown"},
    };
    struct rig r;
    rig_init(&r);
    const char *file = path(&r, "c");
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        put(&r, "c", wrong[i].text);
        if (!CHECK(!load(&r, file, NULL) && says(&r, wrong[i].says) && says(&r, file)))
            test_note("case %zu", i);
    }
    CHECK(!load(&r, path(&r, "none"), NULL) && says(&r, "no kubeconfig at"));
    CHECK(!load(&r, NULL, NULL) && says(&r, ".kube/config; start a control plane"));
    CHECK(!load(&r, put(&r, "c", two), "green") &&
          says(&r, "has no context \"green\"; it has: red, blue; choose one with --context"));
    CHECK(!load(&r, put(&r, "c", ""), "green") && says(&r, "is empty; start a control plane"));
    rig_done(&r);
}

/* kubectl: it has nothing to add, and is no mistake. */
TEST(kubeconfig_passes_over_an_empty_file_of_several)
{
    struct rig r;
    rig_init(&r);
    put(&r, "1", "");
    put(&r, "2", two);
    setenv("KUBECONFIG", arena_printf(&r.arena, "%s:%s", path(&r, "1"), path(&r, "2")).p, 1);
    REQUIRE(load(&r, NULL, NULL));
    CHECK_CSTR(r.k.host, "a.example");
    CHECK_CSTR(r.k.file, path(&r, "2"));
    rig_done(&r);
}
