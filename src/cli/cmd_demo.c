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
#include "explain/documents/clean.h"
#include "explain/documents/findings.h"
#include "explain/documents/paint.h"
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
    bool terminal; /* somebody may be watching */
    bool person;   /* who can press a key */
    bool quit;     /* and does not want to see more */
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
          "--no-context", "--name", "demo", (char *)NULL);
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
     "a gang get nodes all or nothing; prefill and decode start after the routers.",
     "grove apply -f chat.yaml", do_apply, SET, 1, is_available, 8},
    {"Scaled as a group",
     "One more engine is two more prefill pods and one more decode pod, as one gang.",
     "grove scale pcsg/chat-0-engine --replicas 3", do_scale, "chat-0-engine", 3, is_available, 11},
    {"More than there is room for",
     "Eleven engines need 22 nodes; there are 20. Ten run, and the gang that does not fit takes "
     "nothing from the others: it waits as a whole and says why.",
     "grove scale pcsg/chat-0-engine --replicas 11", do_scale, "chat-0-engine", 11, has_waiting,
     32},
    {"Back to three", "Scaling in is never refused.", "grove scale pcsg/chat-0-engine --replicas 3",
     do_scale, "chat-0-engine", 3, is_available, 11},
    {"A new version, coherently",
     "Routers and engines speak only to their own version. New pods come as whole gangs, one "
     "after the other, and the next old ones go when those before are ready: some of each always "
     "serve.",
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
    struct frame frame;
    usec began;
};

/* Wide enough for a sentence, and never wider than the terminal. */
static size_t columns(void)
{
    enum { WIDEST = 78 };
    return MIN(paint_columns(), (size_t)WIDEST);
}

static void write_head(const struct showing *s, struct strbuf *out)
{
    strbuf_printf(out, "%zu/%zu  ", s->number, ARRAY_LEN(steps));
    paint_add(out, PAINT_STRONG, str_of(s->step->title));
    strbuf_add_char(out, '\n');
    paint_wrap(out, STR("  "), str_of(s->step->text), columns());
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

/* ---- the map of pods: a line for the routers and one for each engine ---- */

static const char *const map_roles[] = {"router", "prefill", "decode"};
enum { MAP_ROWS = 16, MAP_NODES = 6 };

/* -1: of no engine. */
static int64_t engine_of(const struct obj *pod)
{
    int64_t n;
    return str_to_int(obj_label(pod, STR(LABEL_PCSG_INDEX)), &n) ? n : -1;
}

/* ● ready, ■ ready and of the second version, ○ not yet. */
static void add_dot(struct strbuf *out, const struct obj *pod)
{
    jval first = jat(jgetc(obj_spec(pod), "containers"), 0);
    bool new = str_ends(jstr(jgetc(first, "image")), STR(":2"));
    if (str_is(pod_state(pod), "Ready"))
        paint_add(out, PAINT_GOOD, new ? STR("■") : STR("●"));
    else
        paint_add(out, PAINT_WAIT, STR("○"));
}

static void add_node(str *nodes, size_t *n, const struct obj *pod)
{
    str name = jstr(jgetc(obj_spec(pod), "nodeName"));
    for (size_t i = 0; i < *n; i++) {
        if (str_eq(nodes[i], name))
            return;
    }
    if (name.len && *n < MAP_NODES)
        nodes[(*n)++] = name;
}

static bool write_row(const struct picture *p, int64_t engine, struct strbuf *out)
{
    struct strbuf row = STRBUF_INIT(1 << 16);
    str nodes[MAP_NODES];
    size_t n_nodes = 0, dots = 0;
    for (size_t r = 0; r < ARRAY_LEN(map_roles); r++) {
        bool any = false;
        for (size_t i = 0; i < p->parts[PICTURE_PODS].n; i++) {
            const struct obj *pod = p->parts[PICTURE_PODS].items[i];
            if (pod->deleting || engine_of(pod) != engine ||
                !str_is(obj_label(pod, STR(LABEL_ROLE)), map_roles[r]))
                continue;
            if (!any && engine >= 0)
                strbuf_printf(&row, "%s%s ", dots ? "  " : "", map_roles[r]);
            any = true;
            dots++;
            add_dot(&row, pod);
            add_node(nodes, &n_nodes, pod);
        }
    }
    if (dots && engine < 0)
        strbuf_printf(out, "  %-11s", "routers");
    else if (dots)
        strbuf_printf(out, "  engine %-4lld", (long long)engine);
    if (dots)
        strbuf_add_str(out, strbuf_str(&row));
    for (size_t i = 0; i < n_nodes; i++)
        strbuf_printf(out, "%s%.*s", i ? " " : "   ", STR_ARG(nodes[i]));
    strbuf_add_cstr(out, dots ? "\n" : "");
    strbuf_done(&row);
    return dots > 0;
}

static void write_map(const struct picture *p, struct strbuf *out)
{
    bool any = write_row(p, -1, out);
    for (int64_t i = 0; i < MAP_ROWS; i++)
        any = write_row(p, i, out) || any;
    if (any)
        strbuf_add_cstr(out, "  ● ready   ■ ready, second version   ○ not yet\n");
}

/* What stands in the way, where something does. */
static void write_finding(const struct picture *p, struct strbuf *out)
{
    struct arena a = ARENA_INIT;
    struct findings f;
    findings_of_set(p, the_set(p), &a, &f);
    if (f.items.len > 0)
        paint_wrap(out, STR("  "),
                   clean_short(&a, arena_printf(&a, "%s: %.*s", finding_states[f.items.p[0].state],
                                                STR_ARG(f.items.p[0].verdict))),
                   columns());
    findings_done(&f);
    arena_done(&a);
}

/* How it came out. */
static void write_outcome(struct showing *s, const struct picture *p, struct strbuf *out)
{
    usec now = loop_now(s->demo->session.loop);
    write_progress(count_pods(p, STR(SET)), out);
    strbuf_printf(out, " after %.1f s\n", (double)(now - s->began) / USEC_PER_SEC);
    if (s->number == 1)
        strbuf_printf(out, "  first gang running %.1f s after the start\n",
                      (double)(now - s->demo->started) / USEC_PER_SEC);
    if (the_set(p))
        write_finding(p, out);
}

static void draw(struct showing *s, const struct picture *p, bool over)
{
    struct strbuf out = STRBUF_INIT(4 << 20);
    write_head(s, &out);
    if (over) {
        write_outcome(s, p, &out);
    } else {
        write_progress(count_pods(p, STR(SET)), &out);
        strbuf_add_char(&out, '\n');
    }
    strbuf_add_char(&out, '\n');
    write_map(p, &out);
    frame_draw(&s->frame, &out);
    strbuf_done(&out);
}

static bool on_picture(void *ctx, const struct picture *p)
{
    struct showing *s = ctx;
    bool over = s->step->over(s->demo, p, s->step->pods);
    if (s->demo->terminal) {
        draw(s, p, over);
    } else if (over) {
        struct strbuf out = STRBUF_INIT(1 << 16);
        write_outcome(s, p, &out);
        fwrite(out.p, 1, out.len, stdout);
        fflush(stdout);
        strbuf_done(&out);
    }
    return over;
}

static bool on_nothing(void *ctx, const struct picture *p)
{
    (void)ctx;
    (void)p;
    return false;
}

/* Time to read: until Enter where a person sits, else three seconds. The line that asks is gone
 * afterwards. */
static void rest(struct demo *d)
{
    struct err ignored = ERR_INIT;
    char said[64];
    if (!d->terminal)
        return;
    putchar('\n');
    if (!d->person) {
        (void)picture_follow(&d->session, 0, 0, on_nothing, NULL, 3 * USEC_PER_SEC, &ignored);
        return;
    }
    fputs("  Enter goes on, q and Enter ends the tour ", stdout);
    fflush(stdout);
    d->quit = !fgets(said, sizeof(said), stdin) || said[0] == 'q';
    fputs("\033[1A\r\033[J", stdout);
    fflush(stdout);
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

/* How a shell that stands here calls this program. */
static str own_name(struct arena *a)
{
    char *self = realpath("/proc/self/exe", NULL), *here = realpath(".", NULL);
    str name = STR("grove");
    if (self && !is_on_path(self)) {
        str path = str_of(self), dir = str_of(here ? here : "");
        bool below = dir.len > 1 && str_starts(path, dir) && path.p[dir.len] == '/';
        str rest = below ? str_sub(path, dir.len + 1, path.len) : path;
        name = arena_printf(a, "%s%.*s", str_find_char(rest, '/') < 0 ? "./" : "", STR_ARG(rest));
    }
    free(self);
    free(here);
    return name;
}

/* Three lines for a shell, as they stand. */
static void write_next(struct strbuf *out)
{
    struct arena a = ARENA_INIT;
    struct grid g;
    str grove = own_name(&a);
    grid_init(&g, &a, 2);
    g.indent = "  ";
    grid_printf(&g, PAINT_PLAIN, "%.*s up --detach", STR_ARG(grove));
    grid_add(&g, PAINT_DIM, STR("# your own control plane"));
    grid_printf(&g, PAINT_PLAIN, "%.*s demo --print | %.*s apply -f -", STR_ARG(grove),
                STR_ARG(grove));
    grid_add(&g, PAINT_DIM, STR("# this service on it"));
    grid_printf(&g, PAINT_PLAIN, "%.*s status", STR_ARG(grove));
    grid_add(&g, PAINT_DIM, STR("# and tree, explain, down"));
    strbuf_add_cstr(out, "What next:\n");
    grid_write(&g, out);
    arena_done(&a);
}

static int run_steps(struct demo *d, struct err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && !d->quit && i < ARRAY_LEN(steps); i++) {
        r = run_step(d, i, err);
        if (r == 0 && i + 1 < ARRAY_LEN(steps))
            rest(d);
    }
    if (r)
        return r;
    struct strbuf out = STRBUF_INIT(1 << 16);
    strbuf_add_cstr(&out, d->quit ? "" : "\n");
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
    d.person = d.terminal && isatty(STDIN_FILENO);
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
