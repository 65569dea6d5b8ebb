/*
 * `grove ui`: the page for any cluster, as the user of the kubeconfig. It shows the sets of all
 * namespaces where that user may list them, else of the context's namespace; what may not be read
 * is not shown, and named.
 */
#include <signal.h>

#include "cli/cli.h"
#include "explain/documents/session.h"
#include "grove/types.h"
#include "ui/ui.h"

struct ui_args {
    struct session_opts session;
    str listen;
    bool no_browser;
};

static const struct opt ui_opts[] = {
    OPT_STRING_DEF(struct ui_args, listen, 0, "ui-listen", "ADDR:PORT", "127.0.0.1:0",
                   "Where to serve: a loopback address; port 0 picks a free one"),
    OPT_FLAG(struct ui_args, no_browser, 0, "no-browser", "Print the address and open nothing"),
    OPT_GROUP("Connection", session_options, offsetof(struct ui_args, session)),
    OPT_END,
};

/* Asks the server whether we may; it decides again when it is done. */
static bool may(struct session *s, const char *verb, str ns)
{
    struct err err = ERR_INIT;
    struct doc *answer = NULL;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "authorization.k8s.io/v1");
    jw_put_cstr(&w, "kind", "SelfSubjectAccessReview");
    jw_put_object(&w, "spec");
    jw_put_object(&w, "resourceAttributes");
    jw_put_cstr(&w, "group", kind_pcs.group);
    jw_put_cstr(&w, "resource", kind_pcs.plural);
    jw_put_cstr(&w, "verb", verb);
    if (ns.len)
        jw_put_str(&w, "namespace", ns);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    struct doc *body = jw_doc(&w);
    int r = session_post(s, STR("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"), body,
                         &answer, &err);
    doc_unref(body);
    return r == 0 && answer && jbool(jpath(doc_root(answer), "status.allowed"), false);
}

static void on_signal(struct loop_signal *s)
{
    loop_stop(s->loop, EXIT_OK);
}

static void tell(struct ui *u, const struct ui_args *a, const struct session *s)
{
    const char *address = ui_address(u);
    printf("the page of %.*s:%d%s%.*s\n\n  %s\n\n", STR_ARG(s->config.host), s->config.port,
           s->ns.len ? ", namespace " : "", STR_ARG(s->ns), address);
    printf("It shows what this kubeconfig's user may see, and opens once. Ctrl-C ends it.\n");
    fflush(stdout);
    if (!a->no_browser)
        ui_open_browser(u);
}

static int serve(struct session *s, const struct ui_args *a, struct err *err)
{
    str server = arena_printf(&s->arena, "%.*s:%d", STR_ARG(s->config.host), s->config.port);
    str all = str_is_empty(a->session.ns) && may(s, "list", STR_NONE) ? STR_NONE : s->ns;
    struct loop_signal term = {.signo = SIGTERM, .fn = on_signal};
    struct loop_signal interrupt = {.signo = SIGINT, .fn = on_signal};
    struct ui_options o = {
        .listen = arena_str(&s->arena, a->listen).p,
        .api = s->api,
        .kubeconfig =
            a->session.kubeconfig.len ? arena_str(&s->arena, a->session.kubeconfig).p : NULL,
        .context = a->session.context.len ? arena_str(&s->arena, a->session.context).p : NULL,
        .ns = all,
        .server = server,
        .may_write = may(s, "patch", all)};
    struct obj *none = NULL;
    struct api_request version = {.verb = API_GET, .path = STR("/version")};
    s->ns = all;
    /* A server that cannot be reached is said here, not in a browser. */
    int r = session_send(s, &version, &none, NULL, err);
    struct ui *u = r ? NULL : ui_new(s->loop, &o, err);
    if (!u)
        return err->code;
    r = loop_signal_add(s->loop, &term, err);
    r = r ? r : loop_signal_add(s->loop, &interrupt, err);
    if (r == 0) {
        tell(u, a, s);
        (void)loop_run(s->loop);
    }
    ui_free(u);
    loop_signal_remove(&term);
    loop_signal_remove(&interrupt);
    return r;
}

static int run_ui(void *ctx, const void *opts, const struct command_call *call)
{
    const struct ui_args *a = opts;
    struct session s = {0};
    struct err err = ERR_INIT;
    (void)ctx;
    (void)call;
    int r = session_open_to_look(&a->session, &s, &err);
    if (r == 0)
        r = serve(&s, a, &err);
    int code = r ? cli_fail(&err) : EXIT_OK;
    if (s.loop)
        session_close(&s);
    return code;
}

const struct command cmd_ui = {
    .name = "ui",
    .summary = "Look at a cluster in a browser, live",
    .description =
        "Serves a page on a loopback address and opens the browser: nodes and their devices by "
        "gang, sets and what they wait for, updates as they go, what happened to an object, and "
        "what would come of a manifest. It shows what the kubeconfig's user may see and changes "
        "nothing that user may not. The printed address works once; run it again for another. "
        "grove up serves the same page for its administrator.",
    .opts = ui_opts,
    .opts_size = sizeof(struct ui_args),
    .examples = "  $ grove ui\n  $ grove ui -n inference --no-browser",
    .run = run_ui,
};
