/*
 * `grove demo`: a disaggregated inference service, live, on a throw-away control plane. The control
 * plane is this very program started as `grove up`; everything is done to it through its API, as a
 * user would. The steps are a table: what is said, what is done, and what is waited for.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/cmd_tree.h"
#include "explain/documents/findings.h"
#include "grove/types.h"
#include "operator/common/update.h"
#include "json/yaml.h"

#define SET "chat"
#define STEP_TIMEOUT (60 * USEC_PER_SEC)

/* Routers, and engines of two prefill pods and one decode pod that come and go together. Pods
 * leave a node that died after a second instead of five minutes. */
static const char manifest[] =
    "apiVersion: grove.io/v1alpha1\n"
    "kind: PodCliqueSet\n"
    "metadata:\n"
    "  name: " SET "\n"
    "spec:\n"
    "  replicas: 1\n"
    "  updateStrategy: {type: Coherent}\n"
    "  template:\n"
    "    cliqueStartupType: CliqueStartupTypeExplicit\n"
    "    cliques:\n"
    "    - name: router\n"
    "      spec:\n"
    "        roleName: router\n"
    "        replicas: 2\n"
    "        minAvailable: 1\n"
    "        podSpec: &pod\n"
    "          tolerations:\n"
    "          - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, "
    "tolerationSeconds: 1}\n"
    "          - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, "
    "tolerationSeconds: 1}\n"
    "          containers:\n"
    "          - {name: router, image: \"router:1\", resources: {requests: {cpu: \"4\"}}}\n"
    "    - name: prefill\n"
    "      spec:\n"
    "        roleName: prefill\n"
    "        replicas: 2\n"
    "        startsAfter: [router]\n"
    "        podSpec:\n"
    "          <<: *pod\n"
    "          containers:\n"
    "          - {name: prefill, image: \"engine:1\", resources: {limits: {nvidia.com/gpu: 4}}}\n"
    "    - name: decode\n"
    "      spec:\n"
    "        roleName: decode\n"
    "        replicas: 1\n"
    "        startsAfter: [router]\n"
    "        podSpec:\n"
    "          <<: *pod\n"
    "          containers:\n"
    "          - {name: decode, image: \"engine:1\", resources: {limits: {nvidia.com/gpu: 8}}}\n"
    "    podCliqueScalingGroups:\n"
    "    - {name: engine, cliqueNames: [prefill, decode], replicas: 2, minAvailable: 1}\n";

struct demo {
    struct session session;
    pid_t child;
    bool terminal;
    usec started;
    char node[256]; /* that fails */
};

/* ---- the control plane ---- */

/* "kubeconfig PATH" of what `grove up` says. */
static str find_kubeconfig(str said)
{
    while (said.len > 0) {
        str line = str_trim(str_cut(&said, '\n'));
        if (str_starts(line, STR("kubeconfig ")))
            return str_trim(str_sub(line, 11, line.len));
    }
    return STR_NONE;
}

static void run_child(int out)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    /* Ctrl-C is for the tour, which then stops it. */
    (void)setpgid(0, 0);
    dup2(out, STDOUT_FILENO);
    close(out);
    execl("/proc/self/exe", "grove", "up", "--listen", "127.0.0.1:0", "--start-delay", "500ms",
          (char *)NULL);
    _exit(127);
}

static int start_plane(struct demo *d, struct err *err)
{
    int fds[2];
    char said[4096];
    size_t len = 0;
    ssize_t n;
    if (pipe(fds))
        return err_errno(err, ERR_IO, "cannot start the demo");
    d->child = fork();
    if (d->child == 0) {
        close(fds[0]);
        run_child(fds[1]);
    }
    close(fds[1]);
    str kubeconfig = STR_NONE;
    while (d->child > 0 && str_is_empty(kubeconfig) && len < sizeof(said) &&
           (n = read(fds[0], said + len, sizeof(said) - len)) > 0) {
        len += (size_t)n;
        kubeconfig = find_kubeconfig(str_n(said, len));
    }
    close(fds[0]);
    if (str_is_empty(kubeconfig))
        return err_set(err, ERR_INTERNAL, "the control plane did not start");
    struct session_opts o = {.kubeconfig = kubeconfig};
    return session_open(&o, &d->session, err);
}

static void stop_plane(struct demo *d)
{
    if (d->session.loop)
        session_close(&d->session);
    if (d->child > 0) {
        kill(d->child, SIGTERM);
        (void)waitpid(d->child, NULL, 0);
    }
}

/* ---- what is done ---- */

/* Images in the manifest are of version 1; n is the version wanted. */
static int do_apply(struct demo *d, const char *arg, int64_t n, struct err *err)
{
    struct strbuf text = STRBUF_INIT(1 << 16);
    str rest = STR(manifest);
    for (ptrdiff_t at; (at = str_find(rest, STR(":1\""))) >= 0;) {
        strbuf_printf(&text, "%.*s:%lld", STR_ARG(str_sub(rest, 0, (size_t)at)), (long long)n);
        rest = str_sub(rest, (size_t)at + 2, rest.len);
    }
    strbuf_add_str(&text, rest);
    struct doc *doc = yaml_parse_one(strbuf_str(&text), err);
    int r = !doc ? err->code
                 : session_apply(&d->session, &kind_pcs, STR("default"), str_of(arg), doc, false,
                                 NULL, NULL, err);
    doc_unref(doc);
    strbuf_done(&text);
    return r;
}

static int do_scale(struct demo *d, const char *arg, int64_t n, struct err *err)
{
    return session_scale(&d->session, &kind_pcsg, STR("default"), str_of(arg), n, err);
}

/* The node of some pod whose name begins so. */
static int find_node(struct demo *d, const char *prefix, struct err *err)
{
    struct picture p = {0};
    int r = picture_read(&d->session, 1U << PICTURE_PODS, &p, err);
    for (size_t i = 0; r == 0 && i < p.parts[PICTURE_PODS].n; i++) {
        const struct obj *pod = p.parts[PICTURE_PODS].items[i];
        if (str_starts(pod->name, str_of(prefix)))
            snprintf(d->node, sizeof(d->node), "%.*s",
                     STR_ARG(jstr(jgetc(obj_spec(pod), "nodeName"))));
    }
    return r ? r : d->node[0] ? 0 : err_set(err, ERR_NOT_FOUND, "no pod %s is on a node", prefix);
}

static int do_fail_node(struct demo *d, const char *arg, int64_t n, struct err *err)
{
    static const char patch[] =
        "{\"metadata\":{\"annotations\":{\"simulation.grove.io/failed\":\"true\"}}}";
    (void)n;
    int r = find_node(d, arg, err);
    if (r)
        return r;
    struct doc *body = doc_parse(STR(patch), NULL, err);
    struct api_request q = {.verb = API_PATCH,
                            .patch = API_PATCH_MERGE,
                            .kind = &kind_node,
                            .name = str_of(d->node),
                            .body = body,
                            .field_manager = STR("grove")};
    r = session_send(&d->session, &q, NULL, NULL, err);
    doc_unref(body);
    return r;
}

/* ---- what is waited for ---- */

static const struct obj *the_set(const struct picture *p)
{
    return picture_find(p, PICTURE_SETS, STR(SET));
}

/* All of them say so themselves, too. */
static bool are_complete(const struct session_list *l, const char *field)
{
    for (size_t i = 0; i < l->n; i++) {
        if (jint(jget(obj_status(l->items[i]), str_of(field)), 0) !=
            jint(jgetc(obj_spec(l->items[i]), "replicas"), 0))
            return false;
    }
    return true;
}

static bool is_available(const struct demo *d, const struct picture *p, int64_t pods)
{
    struct pod_count n = count_pods(p, STR(SET));
    const struct obj *set = the_set(p);
    (void)d;
    return set && n.wanted == pods && n.exist == pods && n.ready == pods &&
           are_complete(&p->parts[PICTURE_GROUPS], "availableReplicas") &&
           are_complete(&p->parts[PICTURE_CLIQUES], "readyReplicas");
}

/* A gang waits and the scheduler has said why; the others run. */
static bool has_waiting(const struct demo *d, const struct picture *p, int64_t pods)
{
    struct pod_count n = count_pods(p, STR(SET));
    const struct session_list *gangs = &p->parts[PICTURE_GANGS];
    (void)d;
    for (size_t i = 0; i < gangs->n; i++) {
        if (condition_is_true(jgetc(obj_status(gangs->items[i]), "conditions"),
                              STR("Unschedulable")))
            return n.ready == pods;
    }
    return false;
}

/* Every pod is of the second version. */
static bool is_updated(const struct demo *d, const struct picture *p, int64_t pods)
{
    const struct session_list *all = &p->parts[PICTURE_PODS];
    const struct obj *set = the_set(p);
    for (size_t i = 0; i < all->n; i++) {
        jval first = jat(jgetc(obj_spec(all->items[i]), "containers"), 0);
        if (!str_ends(jstr(jgetc(first, "image")), STR(":2")))
            return false;
    }
    return is_available(d, p, pods) && !update_is_running(set);
}

static bool has_left_node(const struct demo *d, const struct picture *p, int64_t pods)
{
    const struct session_list *all = &p->parts[PICTURE_PODS];
    for (size_t i = 0; i < all->n; i++) {
        if (!all->items[i]->deleting &&
            str_is(jstr(jgetc(obj_spec(all->items[i]), "nodeName")), d->node))
            return false;
    }
    return is_available(d, p, pods);
}

/* ---- the tour ---- */

static const struct step {
    const char *title;
    const char *text;
    const char *command;
    int (*act)(struct demo *d, const char *arg, int64_t n, struct err *err);
    const char *arg;
    int64_t n;
    bool (*over)(const struct demo *d, const struct picture *p, int64_t pods);
    int64_t pods; /* ready in the end */
} steps[] = {
    {"A disaggregated service, placed as gangs",
     "One PodCliqueSet: routers, and two engines of 2 prefill pods and 1 decode pod. The pods of "
     "a\n"
     "gang get nodes all or nothing; prefill and decode start after the routers.",
     "grove apply -f chat.yaml", do_apply, SET, 1, is_available, 8},
    {"Scaled as a group",
     "One more engine is two more prefill pods and one more decode pod, as one gang.",
     "grove scale pcsg/chat-0-engine --replicas 3", do_scale, "chat-0-engine", 3, is_available, 11},
    {"More than there is room for",
     "Eleven engines need 22 nodes; there are 20. Ten run, and the gang that does not fit takes\n"
     "nothing from the others: it waits as a whole and says why.",
     "grove scale pcsg/chat-0-engine --replicas 11", do_scale, "chat-0-engine", 11, has_waiting,
     32},
    {"Back to three", "Scaling in is never refused.", "grove scale pcsg/chat-0-engine --replicas 3",
     do_scale, "chat-0-engine", 3, is_available, 11},
    {"A new version, coherently",
     "Routers and engines speak only to their own version. New pods come as whole gangs, one "
     "after\n"
     "the other, and the next old ones go when those before are ready: some of each always serve.",
     "grove apply -f chat-2.yaml; grove rollout status pcs/chat --watch", do_apply, SET, 2,
     is_updated, 11},
    {"A node dies", "Its pods are replaced on other nodes, and the engine is complete again.",
     "kubectl annotate node NODE simulation.grove.io/failed=true", do_fail_node,
     "chat-0-engine-0-decode", 0, has_left_node, 11},
};

struct showing {
    struct demo *demo;
    const struct step *step;
    size_t number;
    struct screen screen;
    usec began;
};

static void write_head(const struct showing *s, struct strbuf *out)
{
    strbuf_printf(out, "%zu/%zu  ", s->number, ARRAY_LEN(steps));
    paint_add(out, PAINT_STRONG, str_of(s->step->title));
    strbuf_add_char(out, '\n');
    str rest = str_of(s->step->text);
    while (rest.len > 0) {
        str line = str_cut(&rest, '\n');
        strbuf_printf(out, "  %.*s\n", STR_ARG(line));
    }
    strbuf_add_cstr(out, "  $ ");
    str command = str_of(s->step->command);
    ptrdiff_t at = str_find(command, STR("NODE"));
    if (at >= 0 && s->demo->node[0])
        strbuf_printf(out, "%.*s%s%.*s\n", STR_ARG(str_sub(command, 0, (size_t)at)), s->demo->node,
                      STR_ARG(str_sub(command, (size_t)at + 4, command.len)));
    else
        strbuf_printf(out, "%.*s\n", STR_ARG(command));
}

static void write_progress(struct pod_count n, struct strbuf *out)
{
    strbuf_add_cstr(out, "  ");
    paint_bar(out, n.ready, n.wanted);
    strbuf_printf(out, " %lld of %lld pods ready", (long long)n.ready, (long long)n.wanted);
}

static void write_tree(const struct picture *p, struct strbuf *out)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct view_target t = {.kind = &kind_pcs};
    struct doc *tree = tree_build(p, &t, &a, &err);
    if (tree)
        tree_write(doc_root(tree), false, &a, out);
    doc_unref(tree);
    arena_done(&a);
}

static void draw(struct showing *s, const struct picture *p)
{
    struct strbuf out = STRBUF_INIT(4 << 20);
    write_head(s, &out);
    strbuf_add_char(&out, '\n');
    write_progress(count_pods(p, STR(SET)), &out);
    strbuf_add_cstr(&out, "\n\n");
    write_tree(p, &out);
    screen_show(&s->screen, &out);
    strbuf_done(&out);
}

/* How it came out, as one line. */
static void tell(struct showing *s, const struct picture *p)
{
    struct strbuf out = STRBUF_INIT(1 << 16);
    usec now = loop_now(s->demo->session.loop);
    write_progress(count_pods(p, STR(SET)), &out);
    strbuf_printf(&out, " after %.1f s\n", (double)(now - s->began) / USEC_PER_SEC);
    if (s->number == 1)
        strbuf_printf(&out, "  first gang running %.1f s after the start\n",
                      (double)(now - s->demo->started) / USEC_PER_SEC);
    struct arena a = ARENA_INIT;
    struct findings f;
    if (the_set(p)) {
        findings_of_set(p, the_set(p), &a, &f);
        if (f.items.len > 0)
            paint_wrap(&out, STR("  "),
                       arena_printf(&a, "%s: %.*s", finding_states[f.items.p[0].state],
                                    STR_ARG(f.items.p[0].verdict)),
                       96);
        findings_done(&f);
    }
    arena_done(&a);
    fwrite(out.p, 1, out.len, stdout);
    fflush(stdout);
    strbuf_done(&out);
}

static bool on_picture(void *ctx, const struct picture *p)
{
    struct showing *s = ctx;
    bool over = s->step->over(s->demo, p, s->step->pods);
    if (s->demo->terminal)
        draw(s, p);
    if (!over)
        return false;
    screen_leave(&s->screen);
    tell(s, p);
    return true;
}

/* Time to read, where somebody does. */
static bool on_nothing(void *ctx, const struct picture *p)
{
    (void)ctx;
    (void)p;
    return false;
}

static void rest(struct demo *d)
{
    struct err ignored = ERR_INIT;
    if (d->terminal)
        (void)picture_follow(&d->session, 0, 0, on_nothing, NULL, 3 * USEC_PER_SEC, &ignored);
}

static int run_step(struct demo *d, size_t i, struct err *err)
{
    struct showing s = {.demo = d, .step = &steps[i], .number = i + 1};
    s.began = loop_now(d->session.loop);
    int r = s.step->act(d, s.step->arg, s.step->n, err);
    if (r == 0 && !d->terminal) {
        struct strbuf head = STRBUF_INIT(1 << 16);
        write_head(&s, &head);
        printf("%s%.*s", i ? "\n" : "", STR_ARG(strbuf_str(&head)));
        fflush(stdout);
        strbuf_done(&head);
    }
    r = r ? r : picture_follow(&d->session, PICTURE_OF_SETS, 0, on_picture, &s, STEP_TIMEOUT, err);
    screen_done(&s.screen);
    return r ? err_wrap(err, "%s", s.step->title) : 0;
}

/* Whether a shell would find this very program as "grove". */
static bool is_on_path(const char *self)
{
    struct arena a = ARENA_INIT;
    const char *path = getenv("PATH");
    str rest = str_of(path ? path : "");
    bool found = false;
    while (rest.len > 0 && !found) {
        str dir = str_cut(&rest, ':');
        const char *file = arena_printf(&a, "%.*s/grove", STR_ARG(dir)).p;
        char *real = access(file, X_OK) == 0 ? realpath(file, NULL) : NULL;
        found = real && strcmp(real, self) == 0;
        free(real);
    }
    arena_done(&a);
    return found;
}

/* Lines for a shell, as they stand. */
static void write_next(struct strbuf *out)
{
    char *self = realpath("/proc/self/exe", NULL);
    strbuf_add_cstr(out, "\nWhat to try next:\n");
    if (self && !is_on_path(self))
        strbuf_printf(out, "  export PATH=\"%.*s:$PATH\"\n", (int)(strrchr(self, '/') - self),
                      self);
    strbuf_add_cstr(
        out, "  export KUBECONFIG=\"$PWD/chat.kubeconfig\"\n"
             "  grove up --detach --kubeconfig \"$KUBECONFIG\"   # a control plane of your own\n"
             "  grove demo --print > chat.yaml           # the manifest of this tour\n"
             "  grove fit -f chat.yaml                   # would it fit?\n"
             "  grove apply -f chat.yaml\n"
             "  grove rollout status pcs/chat --watch    # until it runs\n"
             "  grove status                             # and tree; --watch shows it live\n"
             "  sed s/engine:1/engine:2/ chat.yaml | grove plan -f -   # what an update would do\n"
             "  grove rollout history pcs/chat           # and: undo, pause, restart\n"
             "  grove explain pcs/chat                   # why something waits\n"
             "  grove down\n");
    free(self);
}

static int run_steps(struct demo *d, struct err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(steps); i++) {
        r = run_step(d, i, err);
        if (r == 0)
            rest(d);
    }
    struct picture p = {0};
    if (r == 0)
        r = picture_read(&d->session, PICTURE_OF_SETS, &p, err);
    if (r)
        return r;
    struct strbuf out = STRBUF_INIT(4 << 20);
    strbuf_add_cstr(&out, "\nThis is what is running now (grove tree):\n\n");
    write_tree(&p, &out);
    write_next(&out);
    fwrite(out.p, 1, out.len, stdout);
    strbuf_done(&out);
    return 0;
}

/* ---- the command ---- */

struct demo_args {
    bool print;
};

static usec monotonic(void)
{
    struct err err = ERR_INIT;
    struct loop *l = loop_new_real(&err);
    usec now = l ? loop_now(l) : 0;
    if (l)
        loop_free(l);
    return now;
}

static int run_demo(void *ctx, const void *opts, const struct command_call *call)
{
    const struct demo_args *a = opts;
    struct demo d = {.terminal = paint_is_terminal()};
    struct err err = ERR_INIT;
    (void)ctx;
    (void)call;
    if (a->print)
        return fputs(manifest, stdout) >= 0 && fflush(stdout) == 0 ? EXIT_OK : EXIT_NO;
    d.started = monotonic();
    int r = start_plane(&d, &err);
    r = r ? r : run_steps(&d, &err);
    fflush(stdout);
    stop_plane(&d);
    return r ? cli_fail(&err) : EXIT_OK;
}

static const struct opt demo_opts[] = {
    OPT_FLAG(struct demo_args, print, 0, "print", "Print the manifest of the tour, do nothing"),
    OPT_END,
};

const struct command cmd_demo = {
    .name = "demo",
    .summary = "A guided tour on a throw-away control plane",
    .description = "A disaggregated prefill/decode service is gang-scheduled, scaled as a group, "
                   "asked for more "
                   "than there is room for, updated coherently, and loses a node and recovers. "
                   "Takes less than a "
                   "minute and leaves "
                   "nothing behind.",
    .opts = demo_opts,
    .opts_size = sizeof(struct demo_args),
    .examples = "  $ grove demo\n  $ grove demo --print",
    .run = run_demo,
};
