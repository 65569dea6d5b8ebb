/* `grove initc`: the init container's program. The work is in initc/; this finds out where it runs
 * and whom it waits for. */
#include <signal.h>

#include "base/file.h"
#include "cli/cli.h"
#include "client/remote.h"
#include "initc/initc.h"

struct initc_args {
    struct opt_list cliques;
    str pod_info, account, kubeconfig;
};

static const struct opt initc_opts[] = {
    OPT_LIST(struct initc_args, cliques, 'p', "podcliques", "NAME:NUMBER",
             "Wait until so many pods of this PodClique are ready; may be given several times"),
    OPT_STRING_DEF(struct initc_args, pod_info, 0, "pod-info", "DIR", "/var/grove/pod-info",
                   "Where the file namespace is"),
    OPT_STRING_DEF(struct initc_args, account, 0, "service-account", "DIR", SERVICE_ACCOUNT_DIR,
                   "Where token, ca.crt and namespace of the service account are"),
    OPT_STRING(struct initc_args, kubeconfig, 0, "kubeconfig", "FILE",
               "Use this instead of the service account"),
    OPT_END,
};

struct initc_run {
    struct arena arena;
    struct loop *loop;
    struct api *api;
    struct kubeconfig config;
    struct loop_signal signals[2];
    struct wait_parent *parents;
    str ns;
};

static void on_signal(struct loop_signal *s)
{
    fprintf(stderr, "grove: told to stop before everything was ready\n");
    loop_stop(s->loop, EXIT_NO);
}

static void on_done(void *ctx)
{
    struct initc_run *r = ctx;
    loop_stop(r->loop, EXIT_OK);
}

/* A small file's text without the newline at its end; a file that is not there is empty. */
static int read_info(struct initc_run *r, str dir, const char *name, str *ret, struct err *err)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(4096);
    str path = arena_printf(&r->arena, "%.*s/%s", STR_ARG(dir), name);
    int code = file_read(path.p, &b, err);
    if (code && code != ERR_NOT_FOUND)
        return code;
    *ret = arena_str(&r->arena, str_trim(strbuf_str(&b)));
    return 0;
}

static int find_out(struct initc_run *r, const struct initc_args *a, struct err *err)
{
    r->parents = arena_array(&r->arena, struct wait_parent, a->cliques.len + 1);
    for (size_t i = 0; i < a->cliques.len; i++) {
        if (wait_parse(a->cliques.p[i], &r->arena, &r->parents[i], err))
            return err->code;
    }
    int code =
        str_is_empty(a->kubeconfig)
            ? kubeconfig_in_cluster(arena_str(&r->arena, a->account).p, &r->arena, &r->config, err)
            : kubeconfig_load(arena_str(&r->arena, a->kubeconfig).p, NULL, &r->arena, &r->config,
                              err);
    if (code == 0)
        code = read_info(r, a->pod_info, "namespace", &r->ns, err);
    if (str_is_empty(r->ns))
        r->ns = r->config.ns;
    return code;
}

static int connect(struct initc_run *r, struct err *err)
{
    static const int signals[] = {SIGTERM, SIGINT};
    r->loop = loop_new_real(err);
    r->api = r->loop ? api_remote_new(r->loop, &r->config, err) : NULL;
    for (size_t i = 0; r->api && i < ARRAY_LEN(signals); i++) {
        r->signals[i] = (struct loop_signal){.signo = signals[i], .fn = on_signal};
        if (loop_signal_add(r->loop, &r->signals[i], err))
            return err->code;
    }
    return r->api ? 0 : err->code;
}

static int run_initc(void *ctx, const void *opts, const struct command_call *call)
{
    const struct initc_args *a = opts;
    struct initc_run r = {.arena = ARENA_INIT};
    struct err err = ERR_INIT;
    int result = EXIT_NO;
    (void)ctx;
    (void)call;
    int code = find_out(&r, a, &err);
    if (code == 0)
        code = connect(&r, &err);
    if (code == 0) {
        struct initc *c = initc_new(
            r.loop, r.api, &(struct initc_options){r.ns, r.parents, a->cliques.len, on_done, &r});
        result = loop_run(r.loop);
        initc_free(c);
    } else {
        (void)cli_fail(&err);
    }
    api_free(r.api);
    if (r.loop)
        loop_free(r.loop);
    arena_done(&r.arena);
    return result;
}

const struct command cmd_initc = {
    .name = "initc",
    .summary = "Wait until the pods that this one starts after are ready",
    .description = "The program of the init container grove-initc, which Grove adds to pods of "
                   "cliques with startup dependencies. Exits with 0 when every clique named has "
                   "the given number of ready pods at the same moment, and with 1 when it is "
                   "stopped before that or cannot begin. It waits as long as it takes.",
    .opts = initc_opts,
    .opts_size = sizeof(struct initc_args),
    .examples = "  $ grove initc --podcliques=llama-0-prefill:2 --podcliques=llama-0-router:1",
    .run = run_initc,
};
