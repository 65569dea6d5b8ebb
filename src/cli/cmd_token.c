/*
 * `grove token`: bootstrap tokens, with which machines join as nodes. What it prints is all that a
 * kubelet needs: a kubeconfig for --bootstrap-kubeconfig, with which it asks for a certificate of
 * its own.
 */
#include "base/b64.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/print.h"
#include "explain/documents/clean.h"
#include "explain/documents/session.h"
#include "json/write.h"

#define NAMESPACE "kube-system"
#define PREFIX "bootstrap-token-"
#define TYPE "bootstrap.kubernetes.io/token"

enum { ID_LEN = 6, SECRET_LEN = 16 };

struct token_args {
    struct session_opts session;
    usec ttl;
    str description;
    struct opt_list groups;
    int output;
};

static const char *const outputs[] = {"text", "token", "kubeconfig", NULL};
enum { OUT_TEXT, OUT_TOKEN, OUT_KUBECONFIG };

/* ---- create ---- */

/* Letters and digits, each as likely as the others. */
static str random_word(struct session *s, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    enum { N = sizeof(letters) - 1, FAIR = 256 / N * N };
    char *word = arena_alloc(&s->arena, len + 1);
    for (size_t i = 0; i < len;) {
        uint8_t byte;
        loop_random(s->loop, &byte, 1);
        if (byte < FAIR)
            word[i++] = letters[byte % N];
    }
    return str_n(word, len);
}

static struct doc *secret_doc(struct session *s, const struct token_args *a, str id, str secret,
                              str expiration)
{
    str groups = STR_NONE;
    struct jw w;
    for (size_t i = 0; i < a->groups.len; i++)
        groups = arena_cat(&s->arena, groups, i ? STR(",") : STR(""), a->groups.p[i]);
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Secret");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", arena_cat(&s->arena, STR(PREFIX), id));
    jw_put_cstr(&w, "namespace", NAMESPACE);
    jw_end(&w);
    jw_put_cstr(&w, "type", TYPE);
    jw_put_object(&w, "stringData");
    jw_put_str(&w, "token-id", id);
    jw_put_str(&w, "token-secret", secret);
    jw_put_cstr(&w, "usage-bootstrap-authentication", "true");
    if (expiration.len)
        jw_put_str(&w, "expiration", expiration);
    if (a->description.len)
        jw_put_str(&w, "description", a->description);
    if (groups.len)
        jw_put_str(&w, "auth-extra-groups", groups);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static void print_kubeconfig(const struct session *s, str token)
{
    const struct kubeconfig *c = &s->config;
    bool bare = str_find_char(c->host, ':') >= 0;
    struct strbuf ca = STRBUF_INIT(1 << 20);
    b64_encode(c->ca_pem, B64_STD, &ca);
    printf("apiVersion: v1\nkind: Config\ncurrent-context: bootstrap\nclusters:\n- name: grove\n"
           "  cluster:\n    server: https://%s%.*s%s:%d%.*s\n",
           bare ? "[" : "", STR_ARG(c->host), bare ? "]" : "", c->port, STR_ARG(c->path));
    if (ca.len)
        printf("    certificate-authority-data: %.*s\n", STR_ARG(strbuf_str(&ca)));
    printf("users:\n- name: bootstrap\n  user:\n    token: %.*s\ncontexts:\n- name: bootstrap\n"
           "  context:\n    cluster: grove\n    user: bootstrap\n",
           STR_ARG(token));
    strbuf_done(&ca);
}

static void warn_of_loopback(const struct session *s)
{
    str host = s->config.host;
    if (str_starts(host, STR("127.")) || str_is(host, "localhost") || str_is(host, "::1"))
        fprintf(
            stderr,
            "grove: note: https://%.*s:%d is reached from this machine only; for nodes on others "
            "start it with `grove up --listen 0.0.0.0:6443`\n",
            STR_ARG(host), s->config.port);
}

static void print_token(const struct session *s, const struct token_args *a, str token,
                        str expiration)
{
    if (a->output == OUT_TOKEN) {
        printf("%.*s\n", STR_ARG(token));
        return;
    }
    warn_of_loopback(s);
    if (a->output == OUT_KUBECONFIG) {
        print_kubeconfig(s, token);
        return;
    }
    printf("token %.*s%s%.*s\n\n", STR_ARG(token), expiration.len ? ", good until " : "",
           STR_ARG(expiration));
    printf("On the machine that is to become a node, write "
           "/etc/kubernetes/bootstrap-kubelet.conf:\n\n");
    print_kubeconfig(s, token);
    printf("\nand start its kubelet with\n\n"
           "  kubelet --bootstrap-kubeconfig /etc/kubernetes/bootstrap-kubelet.conf \\\n"
           "    --kubeconfig /etc/kubernetes/kubelet.conf --config /etc/kubernetes/kubelet.yaml\n\n"
           "It asks for its certificate and is in `grove get nodes` a moment later. `grove token\n"
           "create -o kubeconfig` prints the file alone.\n");
}

static int check_create(const struct token_args *a, struct err *err)
{
    if (a->ttl && a->ttl < USEC_PER_MIN)
        return err_set(err, ERR_USAGE, "--ttl is at least 1m, or 0 for a token that does not end");
    for (size_t i = 0; i < a->groups.len; i++)
        if (!str_starts(a->groups.p[i], STR("system:bootstrappers:")))
            return err_set(err, ERR_USAGE,
                           "--group %.*s: groups of a token begin with "
                           "system:bootstrappers:",
                           STR_ARG(a->groups.p[i]));
    return 0;
}

static int run_create(void *ctx, const void *opts, const struct command_call *call)
{
    const struct token_args *a = opts;
    struct session s = {0};
    struct err err = ERR_INIT;
    (void)ctx;
    (void)call;
    int r = check_create(a, &err);
    r = r ? r : session_open(&a->session, &s, &err);
    if (r == 0) {
        str id = random_word(&s, ID_LEN), secret = random_word(&s, SECRET_LEN);
        str expiration = a->ttl ? time_text(&s.arena, loop_wall(s.loop) + a->ttl) : STR_NONE;
        struct doc *body = secret_doc(&s, a, id, secret, expiration);
        struct api_request q = {
            .verb = API_CREATE, .kind = &kind_secret, .ns = STR(NAMESPACE), .body = body};
        r = session_send(&s, &q, NULL, NULL, &err);
        if (r == 0)
            print_token(&s, a, arena_cat(&s.arena, id, STR("."), secret), expiration);
        doc_unref(body);
    }
    if (s.loop)
        session_close(&s);
    return r ? cli_fail(&err) : EXIT_OK;
}

/* ---- list ---- */

static str value_of(struct session *s, const struct obj *o, const char *key)
{
    struct strbuf b = STRBUF_INIT(4096);
    str v = b64_decode(jstr(jget(jgetc(obj_root(o), "data"), str_of(key))), B64_STD, &b)
                ? clean_text(&s->arena, arena_str(&s->arena, strbuf_str(&b)), CLEAN_ALL)
                : STR_NONE;
    strbuf_done(&b);
    return v;
}

static int run_list(void *ctx, const void *opts, const struct command_call *call)
{
    const struct session_opts *a = opts;
    struct session s = {0};
    struct err err = ERR_INIT;
    struct session_list list = {0};
    size_t n = 0;
    (void)ctx;
    (void)call;
    int r = session_open(a, &s, &err);
    struct api_request q = {.verb = API_LIST,
                            .kind = &kind_secret,
                            .ns = STR(NAMESPACE),
                            .field_selector = STR("type=" TYPE)};
    r = r ? r : session_send_list(&s, &q, &list, &err);
    for (size_t i = 0; i < list.n; i++) {
        str end = value_of(&s, list.items[i], "expiration");
        if (n++ == 0)
            printf("%-8s %-22s %s\n", "ID", "EXPIRES", "DESCRIPTION");
        printf("%-8.*s %-22.*s %.*s\n", STR_ARG(value_of(&s, list.items[i], "token-id")),
               STR_ARG(end.len ? end : STR("never")),
               STR_ARG(value_of(&s, list.items[i], "description")));
    }
    if (r == 0 && n == 0)
        fputs("No bootstrap tokens found\n", stderr);
    if (s.loop)
        session_close(&s);
    return r ? cli_fail(&err) : EXIT_OK;
}

/* ---- delete ---- */

static int run_delete(void *ctx, const void *opts, const struct command_call *call)
{
    const struct session_opts *a = opts;
    struct session s = {0};
    struct err err = ERR_INIT;
    str rest = call->args[0], id = str_cut(&rest, '.');
    (void)ctx;
    int r = id.len == ID_LEN ? 0
                             : err_set(&err, ERR_USAGE,
                                       "\"%.*s\" is neither a token nor its ID, the six characters "
                                       "before the dot",
                                       STR_ARG(call->args[0]));
    r = r ? r : session_open(a, &s, &err);
    r = r ? r
          : session_delete(&s, &kind_secret, STR(NAMESPACE), arena_cat(&s.arena, STR(PREFIX), id),
                           &err);
    if (r == 0)
        printf("token %.*s deleted; nodes that joined with it stay\n", STR_ARG(id));
    if (s.loop)
        session_close(&s);
    return r ? cli_fail(&err) : EXIT_OK;
}

/* ---- commands ---- */

static const struct opt create_opts[] = {
    OPT_DURATION(struct token_args, ttl, 0, "ttl", "24h",
                 "How long it is good; 0: until it is deleted"),
    OPT_STRING(struct token_args, description, 0, "description", "TEXT", "What it is for"),
    OPT_LIST(struct token_args, groups, 0, "group", "GROUP",
             "A further group of those who bring it, system:bootstrappers:NAME"),
    OPT_CHOICE(struct token_args, output, 'o', "output", outputs, "text", "What to print"),
    OPT_GROUP("Connection", session_options, offsetof(struct token_args, session)),
    OPT_END,
};
static const struct opt plain_opts[] = {OPT_GROUP("Connection", session_options, 0), OPT_END};

static const struct command cmd_token_create = {
    .name = "create",
    .summary = "Make a token with which machines join",
    .description = "Prints the token and the kubeconfig for `kubelet --bootstrap-kubeconfig`. "
                   "Whoever has it may ask for the certificate of a node, nothing else.",
    .opts = create_opts,
    .opts_size = sizeof(struct token_args),
    .examples = "  $ grove token create\n"
                "  $ grove token create --ttl 1h -o kubeconfig > bootstrap-kubelet.conf",
    .run = run_create,
};

static const struct command cmd_token_list = {
    .name = "list",
    .summary = "List the tokens there are",
    .opts = plain_opts,
    .opts_size = sizeof(struct session_opts),
    .run = run_list,
};

static const struct command cmd_token_delete = {
    .name = "delete",
    .summary = "Take a token away",
    .usage = "TOKEN|ID",
    .min_args = 1,
    .max_args = 1,
    .opts = plain_opts,
    .opts_size = sizeof(struct session_opts),
    .run = run_delete,
};

static const struct command *const subs[] = {&cmd_token_create, &cmd_token_list, &cmd_token_delete,
                                             NULL};

const struct command cmd_token = {
    .name = "token",
    .opts = plain_opts,
    .opts_size = sizeof(struct session_opts),
    .summary = "Make and show the tokens with which machines join as nodes",
    .description = "Bootstrap tokens, as `kubeadm token` makes them: Secrets of type "
                   "bootstrap.kubernetes.io/token in kube-system.",
    .subs = subs,
};
