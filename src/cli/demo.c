/*
 * `grove demo`: the user guide's first two examples, live, on a throw-away control plane. The
 * control plane is this very program started as `grove up`; everything is done to it through its
 * API, as a user would.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/map.h"
#include "cli/cli.h"
#include "cli/tree.h"
#include "grove/types.h"
#include "json/yaml.h"

extern const char sample_aggregated[], sample_disaggregated[];

#define STEP_TIMEOUT (60 * USEC_PER_SEC)
enum { BAR_WIDTH = 24 };

struct demo {
    struct session session;
    char dir[64];
    pid_t child;
    bool terminal;
    usec started;
};

/* ---- the control plane ---- */

static int start_plane(struct demo *d, struct err *err)
{
    int fds[2];
    char kubeconfig[128];
    snprintf(d->dir, sizeof(d->dir), "/tmp/grove-demo-XXXXXX");
    if (!mkdtemp(d->dir) || pipe(fds))
        return err_errno(err, ERR_IO, "cannot start the demo");
    snprintf(kubeconfig, sizeof(kubeconfig), "%s/kubeconfig", d->dir);
    d->child = fork();
    if (d->child == 0) {
        dup2(fds[1], STDOUT_FILENO);
        close(fds[0]);
        close(fds[1]);
        execl("/proc/self/exe", "grove", "up", "--listen", "127.0.0.1:0", "--tainted",
              "--start-delay", "900ms", "--kubeconfig", kubeconfig, (char *)NULL);
        _exit(127);
    }
    close(fds[1]);
    char line[512];
    /* The first output says that it is up; the end of output that it is not. */
    ssize_t n = d->child > 0 ? read(fds[0], line, sizeof(line)) : -1;
    close(fds[0]);
    if (n <= 0)
        return err_set(err, ERR_INTERNAL, "the control plane did not start");
    struct session_opts o = {.kubeconfig = str_of(kubeconfig)};
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
    if (d->dir[0])
        (void)dir_remove(d->dir, NULL);
}

/* ---- progress ---- */

struct progress {
    struct demo *demo;
    str set;
    size_t wanted;
    struct map ready; /* name -> itself when ready, of pods that exist */
    struct arena arena;
    size_t exist;
    bool listed;
    size_t shown_ready, shown_exist;
};

static size_t count_ready(const struct progress *p)
{
    size_t it = 0, n = 0;
    str key;
    void *value;
    while (map_next(&p->ready, &it, &key, &value))
        n += value != p;
    return n;
}

static void show_progress(struct progress *p, size_t ready, bool over)
{
    if (!over && ready == p->shown_ready && p->exist == p->shown_exist)
        return;
    p->shown_ready = ready;
    p->shown_exist = p->exist;
    if (!p->demo->terminal && !over)
        return;
    size_t full = p->wanted ? ready * BAR_WIDTH / MAX(p->wanted, p->exist) : 0;
    printf("%s  [", p->demo->terminal ? "\r\033[K" : "");
    for (size_t i = 0; i < BAR_WIDTH; i++)
        fputs(i < full ? "█" : "·", stdout);
    printf("] %zu of %zu pods ready%s", ready, p->wanted, over ? "\n" : "");
    fflush(stdout);
}

static bool on_pod(void *ctx, enum api_event_type type, const struct obj *pod)
{
    struct progress *p = ctx;
    if (!pod) {
        p->listed = true;
    } else if (type == API_DELETED) {
        (void)map_del(&p->ready, pod->name);
    } else {
        bool ready =
            !pod->deleting && condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
        (void)map_put(&p->ready, arena_str(&p->arena, pod->name), ready ? p->demo : (void *)p);
    }
    p->exist = p->ready.len;
    size_t ready = count_ready(p);
    bool over = p->listed && ready == p->wanted && p->exist == p->wanted;
    show_progress(p, ready, over);
    return over;
}

static int wait_for_pods(struct demo *d, const char *set, size_t wanted, struct err *err)
{
    struct progress p = {.demo = d, .wanted = wanted, .shown_exist = SIZE_MAX};
    str selector = arena_printf(&d->session.arena, LABEL_PART_OF "=%s", set);
    int r = session_follow(&d->session, &kind_pod, STR("default"), selector, on_pod, &p,
                           STEP_TIMEOUT, err);
    map_done(&p.ready);
    arena_done(&p.arena);
    return r;
}

static bool on_set(void *ctx, enum api_event_type type, const struct obj *set)
{
    (void)ctx;
    return set && type != API_DELETED &&
           jint(jgetc(obj_status(set), "availableReplicas"), -1) ==
               jint(jgetc(obj_spec(set), "replicas"), 0);
}

/* ---- steps ---- */

enum action { APPLY, SCALE, DELETE };

static const struct step {
    const char *title;
    const char *command;
    enum action action;
    const char *manifest;
    const struct kind *kind;
    const char *name;
    int64_t replicas;
    const char *set;
    size_t pods;
} steps[] = {
    {"A gang of two model workers", "kubectl apply -f single-node-aggregated.yaml", APPLY,
     sample_aggregated, NULL, NULL, 0, "single-node-aggregated", 2},
    {"More pods of one role",
     "kubectl scale pclq single-node-aggregated-0-model-worker --replicas=4", SCALE, NULL,
     &kind_pclq, "single-node-aggregated-0-model-worker", 4, "single-node-aggregated", 4},
    {"More copies of the whole system", "kubectl scale pcs single-node-aggregated --replicas=3",
     SCALE, NULL, &kind_pcs, "single-node-aggregated", 3, "single-node-aggregated", 8},
    {"Everything goes with its set", "kubectl delete pcs single-node-aggregated", DELETE, NULL,
     &kind_pcs, "single-node-aggregated", 0, "single-node-aggregated", 0},
    {"Prefill and decode apart", "kubectl apply -f single-node-disaggregated.yaml", APPLY,
     sample_disaggregated, NULL, NULL, 0, "single-node-disaggregated", 5},
    {"A second copy", "kubectl scale pcs single-node-disaggregated --replicas=2", SCALE, NULL,
     &kind_pcs, "single-node-disaggregated", 2, "single-node-disaggregated", 10},
};

static int do_apply(struct session *s, const struct step *step, struct err *err)
{
    struct doc *d = yaml_parse_one(str_of(step->manifest), err);
    int r = !d ? err->code
               : session_apply(s, &kind_pcs, STR("default"), str_of(step->set), d, false, NULL,
                               NULL, err);
    doc_unref(d);
    return r;
}

static int act(struct session *s, const struct step *step, struct err *err)
{
    str ns = STR("default"), name = str_of(step->name);
    switch (step->action) {
    case APPLY:
        return do_apply(s, step, err);
    case SCALE:
        return session_scale(s, step->kind, ns, name, step->replicas, err);
    case DELETE:
        return session_delete(s, step->kind, ns, name, err);
    }
    return 0;
}

static int run_step(struct demo *d, const struct step *step, struct err *err)
{
    printf("\n%s\n  $ %s\n", step->title, step->command);
    int r = act(&d->session, step, err);
    r = r ? r : wait_for_pods(d, step->set, step->pods, err);
    if (r || step->action == DELETE)
        return r;
    return session_follow(&d->session, &kind_pcs, STR("default"), STR_NONE, on_set, NULL,
                          STEP_TIMEOUT, err);
}

static int run_steps(struct demo *d, struct err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(steps); i++) {
        r = run_step(d, &steps[i], err);
        if (i == 0 && r == 0)
            printf("  first gang running %.1f s after the start\n",
                   (double)(loop_now(d->session.loop) - d->started) / USEC_PER_SEC);
    }
    struct strbuf out = STRBUF_INIT(1 << 20);
    if (r == 0)
        r = tree_write(&d->session, STR("single-node-disaggregated"), &out, err);
    if (r == 0)
        printf("\nThis is what stands now (grove tree):\n\n%s\nNext: `grove up`, then `kubectl "
               "apply -f` a set of your own.\n",
               out.p);
    strbuf_done(&out);
    return r;
}

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
    struct demo d = {.terminal = isatty(STDOUT_FILENO)};
    struct err err = ERR_INIT;
    (void)ctx;
    (void)opts;
    (void)call;
    d.started = monotonic();
    int r = start_plane(&d, &err);
    r = r ? r : run_steps(&d, &err);
    fflush(stdout);
    stop_plane(&d);
    return r ? cli_fail(&err) : EXIT_OK;
}

const struct command cmd_demo = {
    .name = "demo",
    .summary = "A guided tour on a throw-away control plane",
    .run = run_demo,
};
