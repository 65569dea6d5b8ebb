/* See agent.h. */
#include "node/agent/agent.h"

#include "base/log.h"
#include "grove/types.h"
#include "grove/wait.h"
#include "node/agent/agent_server.h"
#include "node/agent/node_self.h"
#include "node/agent/prober.h"
#include "node/machine/pod_status.h"
#include "node/process/process.h"

#define MANAGER "grove-agent"

struct agent {
    const struct agent_options *options;
    struct loop *loop;
    struct process *process;
    struct controller *controller; /* NULL: not added yet */
    struct node_self self;
    struct agent_server *server; /* NULL: none */
    struct prober *prober;
    struct runtime *runtime; /* after agent_add */
};

/* What an act carries. */
struct agent_act {
    struct obj *pod;
    struct machine_action action;
    bool forget; /* instead: nothing of the pod is needed any more */
};

/* ---- startup order ---- */

/* The pods of the cliques that a pod of ours starts after, as labels name them. */
static void index_by_clique(const struct obj *o, struct arena *a, str *keys, size_t max, size_t *n)
{
    str label = obj_label(o, STR(LABEL_PCLQ));
    *n = 0;
    if (max > 0 && !str_is_empty(label))
        keys[(*n)++] = arena_cat(a, o->ns, STR("/"), label);
}

static bool is_initc(jval container)
{
    return str_is(jstr(jgetc(container, "name")), INITC_NAME);
}

/* The init container that Grove generates is answered by the agent itself: it has the same caches
 * as the program in the image. */
static bool parents_are_ready(const struct world *w, const struct obj *pod)
{
    struct arena a = ARENA_INIT;
    struct wait_parent *parents;
    size_t n = wait_of_pod(pod, &a, &parents);
    bool ready = true;
    for (size_t i = 0; i < n && ready; i++) {
        struct wait_parent *p = &parents[i];
        str key = arena_cat(&a, pod->ns, STR("/"), p->label);
        const struct obj *o;
        for (struct cache_iter it = cache_by(world_cache(w, &kind_pod), index_by_clique, key);
             (o = cache_next(&it));)
            p->ready += wait_is_ready(o);
        ready = p->ready >= p->need;
    }
    arena_done(&a);
    return ready;
}

static void see_initc(const struct world *w, const struct agent *a, const struct obj *pod,
                      struct pod_seen *seen)
{
    struct pod_parts parts = pod_parts_of(pod);
    usec now = process_now(a->process);
    for (size_t i = 0; i < parts.n_inits; i++) {
        struct container_seen *c = &seen->containers[i];
        jval old =
            jpath(jat(jgetc(obj_status(pod), "initContainerStatuses"), i), "state.terminated");
        usec finished = 0;
        if (!is_initc(jat(parts.inits, i)))
            continue;
        (void)time_parse_rfc3339(jstr(jgetc(old, "finishedAt")), &finished);
        bool done = finished > 0 || parents_are_ready(w, pod);
        *c = (struct container_seen){.state = done ? CONTAINER_EXITED : CONTAINER_RUNNING,
                                     .sandbox = seen->sandbox_attempt,
                                     .started = {now, w->now}};
        if (done)
            c->exit.finished = (struct when){now, finished ? finished : w->now};
    }
}

/* ---- what is told ---- */

static bool condition_is_told(jval conditions, jval c)
{
    jval old = condition_find(conditions, jstr(jgetc(c, "type")));
    return jequal(jgetc(old, "status"), jgetc(c, "status")) &&
           jequal(jgetc(old, "reason"), jgetc(c, "reason"));
}

/* Whether the pod's status says all of it already. */
static bool is_told(const struct obj *pod, struct doc *doc)
{
    jval old = obj_status(pod);
    for (struct jiter it = jiter(jgetc(doc_root(doc), "status")); jnext(&it);) {
        if (!str_is(it.key, "conditions")) {
            if (!jequal(it.value, jget(old, it.key)))
                return false;
            continue;
        }
        for (struct jiter c = jiter(it.value); jnext(&c);) {
            if (!condition_is_told(jgetc(old, "conditions"), c.value))
                return false;
        }
    }
    return true;
}

static void plan_status(const struct world *w, struct agent *a, struct plan *p,
                        const struct obj *pod, const struct pod_seen *seen,
                        const struct machine_result *r)
{
    struct obj *node = world_get(w, &kind_node, STR_NONE, a->options->name);
    bool has_ip = seen->sandbox == SANDBOX_READY;
    if (!node)
        return;
    struct pod_status s = {.pod = pod,
                           .node = node,
                           .seen = seen,
                           .result = r,
                           .ip =
                               has_ip ? a->options->address : jstr(jgetc(obj_status(pod), "podIP")),
                           .now = w->now};
    struct doc *doc = pod_status_doc(&s);
    if (is_told(pod, doc)) {
        doc_unref(doc);
        return;
    }
    struct plan_write *write =
        plan_apply(p, 0, &kind_pod, pod->ns, pod->name, STR("status"), STR(MANAGER), doc);
    write->uid = pod->uid;
    plan_why(write, p, "%s", pod_phase_name(r->phase));
}

/* ---- what is done ---- */

static const char *act_words(enum machine_act act)
{
    static const char *const words[] = {
        [ACT_SANDBOX] = "make the sandbox",
        [ACT_START] = "start",
        [ACT_POST_START] = "run the postStart hook",
        [ACT_PRE_STOP] = "run the preStop hook",
        [ACT_STOP] = "stop",
        [ACT_SANDBOX_STOP] = "end the sandbox",
    };
    return words[act];
}

static void plan_acts(struct plan *p, const struct obj *pod, const struct machine_result *r)
{
    struct pod_parts parts = pod_parts_of(pod);
    for (size_t i = 0; i < r->n_actions; i++) {
        const struct machine_action *m = &r->actions[i];
        bool about_one = m->act != ACT_SANDBOX && m->act != ACT_SANDBOX_STOP;
        jval container = about_one ? pod_part_at(&parts, m->container) : (jval){0};
        if (about_one && is_initc(container))
            continue;
        struct agent_act act = {.pod = obj_hold(p->arena, obj_ref(pod)), .action = *m};
        plan_act(p, &act, sizeof(act), "%s%s%.*s, attempt %d: %s", act_words(m->act),
                 about_one ? " " : "", STR_ARG(jstr(jgetc(container, "name"))), (int)m->attempt,
                 m->why);
    }
}

static bool is_for_us(const struct agent *a, const struct obj *pod)
{
    return a->options->all ||
           str_is(jstr(jgetc(obj_spec(pod), "runtimeClassName")), AGENT_RUNTIME_CLASS);
}

/* Why the pod does not run here at all; empty: it may. In the arena. */
static str refusal(const struct agent *a, const struct obj *pod, struct arena *arena)
{
    if (!is_for_us(a, pod))
        return STR("this node runs pods of runtimeClassName process only, and no container runtime "
                   "answers here");
    const char *probe = prober_refused(pod);
    return probe ? str_of(probe) : pod_words_refused(pod, a->options->privileged, arena);
}

static void block(struct pod_seen *seen, str why)
{
    for (size_t i = 0; i < seen->n; i++) {
        seen->containers[i].blocked = STR("CreateContainerError");
        seen->containers[i].blocked_message = why;
    }
}

/* A wall time that the pod carries, on the driver's clock. */
static struct when when_in(const struct world *w, const struct agent *a, const struct obj *pod,
                           usec wall)
{
    usec ago = world_steady(w) - world_moment_in(w, pod, wall);
    return (struct when){.at = process_now(a->process) - ago, .wall = wall};
}

/* Three thousand years: what a user writes must not leave the range of times. */
#define GRACE_MAX ((int64_t)100000000000)

/* deletionTimestamp is when the grace period ends. */
static struct when delete_by(const struct world *w, const struct agent *a, const struct obj *pod)
{
    int64_t seconds = jint(jgetc(pod->meta, "deletionGracePeriodSeconds"), 0);
    usec grace = MIN(MAX(seconds, 0), GRACE_MAX) * USEC_PER_SEC;
    struct when by = when_in(w, a, pod, obj_deleted_at(pod) - grace);
    return (struct when){.at = by.at + grace, .wall = by.wall + grace};
}

static void plan_pod(const struct world *w, struct agent *a, struct obj *pod, struct plan *p)
{
    struct pod_seen seen;
    struct machine_result r;
    usec started = 0, now = process_now(a->process);
    process_seen(a->process, pod, p->arena, &seen);
    str why = seen.sandbox == SANDBOX_NONE ? refusal(a, pod, p->arena) : STR_NONE;
    see_initc(w, a, pod, &seen);
    prober_see(a->prober, pod, &seen);
    (void)time_parse_rfc3339(jstr(jgetc(obj_status(pod), "startTime")), &started);
    struct machine_input in = {.pod = pod, .seen = &seen, .now = {now, w->now}};
    if (started)
        in.started = when_in(w, a, pod, started);
    if (pod->deleting)
        in.delete_by = delete_by(w, a, pod);
    machine_plan(&in, p->arena, &r);
    if (str_is_empty(why))
        plan_acts(p, pod, &r);
    else
        block(&seen, why);
    if (r.look_at)
        plan_look_again(p, r.look_at - now);
    plan_status(w, a, p, pod, &seen, &r);
    if (pod->deleting && r.gone) {
        struct plan_write *d = plan_delete(p, 1, pod);
        d->grace_seconds = 0;
        plan_why(d, p, "its processes have ended");
    }
}

/* A pod that the API does not have any more, or has under another UID: it ends, and goes. */
static void plan_left_over(const struct world *w, struct agent *a, const struct obj *pod,
                           struct plan *p)
{
    struct pod_seen seen;
    struct machine_result r;
    usec now = process_now(a->process);
    process_seen(a->process, pod, p->arena, &seen);
    struct machine_input in = {.pod = pod,
                               .seen = &seen,
                               .now = {now, w->now},
                               .delete_by = {now, w->now},
                               .must_end = true};
    machine_plan(&in, p->arena, &r);
    plan_acts(p, pod, &r);
    if (r.gone) {
        struct agent_act act = {.pod = obj_hold(p->arena, obj_ref(pod)), .forget = true};
        plan_act(p, &act, sizeof(act), "remove what is left of %.*s", STR_ARG(pod->uid));
    }
}

void agent_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    struct agent *a = ctx;
    if (key->kind == &kind_node) {
        if (str_eq(key->name, a->options->name))
            node_self_plan(&a->self, w, a->options, p);
        return;
    }
    struct obj *pod = world_get(w, &kind_pod, key->ns, key->name);
    if (pod && !str_eq(jstr(jgetc(obj_spec(pod), "nodeName")), a->options->name))
        pod = NULL;
    const struct obj *other =
        process_other(a->process, key->ns, key->name, pod ? pod->uid : STR_NONE);
    if (other)
        plan_left_over(w, a, other, p);
    if (pod)
        plan_pod(w, a, pod, p);
}

/* ---- acting ---- */

static struct obj *find_object(void *ctx, const struct kind *k, str ns, str name)
{
    return world_get(ctx, k, ns, name);
}

/* An ephemeral container comes after its pod was judged. */
static void start_words(const struct pod_words_input *in, jval container, struct pod_words *ret)
{
    ret->problem = pod_words_container_refused(in->pod, container, in->privileged, ret->arena);
    ret->problem_reason = STR("CreateContainerError");
    if (str_is_empty(ret->problem))
        pod_words_start(in, container, ret);
}

static void act(void *ctx, const struct world *w, const struct key *key, const struct plan_act *pa)
{
    struct agent *a = ctx;
    const struct agent_act *x = pa->data;
    struct arena arena = ARENA_INIT;
    struct pod_parts parts = pod_parts_of(x->pod);
    (void)key;
    if (x->forget) {
        process_forget(a->process, x->pod->uid);
        return;
    }
    struct pod_words words = {.arena = &arena, .sleep = -1};
    struct pod_words_input in = {
        .pod = x->pod,
        .node = world_get(w, &kind_node, STR_NONE, a->options->name),
        .pod_dir = arena_printf(&arena, "%s/pods/%.*s", a->options->dir, STR_ARG(x->pod->uid)),
        .hide = a->options->hide,
        .ip = a->options->address,
        .privileged = a->options->privileged,
        .find = find_object,
        .ctx = (void *)w};
    jval container = pod_part_at(&parts, x->action.container);
    if (x->action.act == ACT_SANDBOX)
        pod_words_volumes(&in, &words);
    else if (x->action.act == ACT_START)
        start_words(&in, container, &words);
    else if (x->action.act == ACT_POST_START || x->action.act == ACT_PRE_STOP)
        pod_words_hook(&in, container, x->action.act == ACT_PRE_STOP, &words);
    /* A hook that cannot be run has failed; its container runs on. */
    bool begins = x->action.act == ACT_SANDBOX || x->action.act == ACT_START;
    if (in.node && (!begins || str_is_empty(words.problem)))
        process_act(a->process, x->pod, &x->action, &words);
    else if (!str_is_empty(words.problem))
        process_block(a->process, x->pod, &x->action, words.problem_reason, words.problem);
    pod_words_done(&words);
    arena_done(&arena);
}

/* ---- set-up ---- */

static void map_pod(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new)
{
    struct agent *a = controller_ctx(c);
    const struct obj *o = new ? new : old;
    if (str_eq(jstr(jgetc(obj_spec(o), "nodeName")), a->options->name))
        controller_enqueue(c, &kind_pod, o->ns, o->name);
    /* Those of ours that may have waited for it. */
    if (!new || !wait_is_ready(new) || (old && wait_is_ready(old)))
        return;
    const struct obj *pod;
    for (struct cache_iter it = cache_all(world_cache(w, &kind_pod), new->ns);
         (pod = cache_next(&it));) {
        if (str_eq(jstr(jgetc(obj_spec(pod), "nodeName")), a->options->name) &&
            !condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Initialized")))
            controller_enqueue(c, &kind_pod, pod->ns, pod->name);
    }
}

static void map_node(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    const struct agent *a = controller_ctx(c);
    (void)w;
    if (str_eq((new ? new : old)->name, a->options->name))
        controller_enqueue(c, &kind_node, STR_NONE, a->options->name);
}

static const struct controller_watch watches[] = {
    {&kind_node, map_node},
    {&kind_pod, map_pod},
};

static void on_probed(void *ctx, str ns, str name)
{
    struct agent *a = ctx;
    if (a->controller)
        controller_enqueue(a->controller, &kind_pod, ns, name);
}

/* What a command inside a container is told. */
static void exec_words(void *ctx, const struct obj *pod, jval container, jval command,
                       struct pod_words *ret)
{
    struct agent *a = ctx;
    str args[64];
    size_t n = 0;
    if (!a->runtime)
        return;
    struct world w = runtime_world(a->runtime);
    struct pod_words_input in = {.pod = pod,
                                 .node = world_get(&w, &kind_node, STR_NONE, a->options->name),
                                 .ip = a->options->address,
                                 .find = find_object,
                                 .ctx = &w};
    for (struct jiter it = jiter(command); jnext(&it) && n < ARRAY_LEN(args);)
        args[n++] = jstr(it.value);
    if (in.node)
        pod_words_exec(&in, container, args, n, ret);
}

/* Probes begin and end with the runs of containers. */
static void follow_probes(struct agent *a, str ns, str name)
{
    const struct obj *pod = process_newest(a->process, ns, name);
    struct arena arena = ARENA_INIT;
    struct pod_seen seen;
    if (pod) {
        process_seen(a->process, pod, &arena, &seen);
        prober_follow(a->prober, pod, &seen);
    }
    arena_done(&arena);
}

static void on_changed(void *ctx, str ns, str name)
{
    struct agent *a = ctx;
    if (a->process && a->prober)
        follow_probes(a, ns, name);
    if (a->controller)
        controller_enqueue(a->controller, &kind_pod, ns, name);
    agent_server_wake(a->server);
}

void agent_add(struct agent *a, struct runtime *r, struct api *api)
{
    struct controller_def def = {.name = "grove-agent",
                                 .plan = agent_plan,
                                 .act = act,
                                 .ctx = a,
                                 .watches = watches,
                                 .n_watches = ARRAY_LEN(watches)};
    cache_add_index(runtime_cache(r, &kind_pod), index_by_clique);
    (void)runtime_cache(r, &kind_lease);
    (void)runtime_cache(r, &kind_config_map);
    (void)runtime_cache(r, &kind_secret);
    (void)runtime_cache(r, &kind_runtime_class);
    a->controller = runtime_add(r, &def, api);
    a->runtime = r;
    controller_enqueue(a->controller, &kind_node, STR_NONE, a->options->name);
    str after = STR_NONE;
    for (const struct obj *pod; (pod = process_next(a->process, after)); after = pod->uid)
        controller_enqueue(a->controller, &kind_pod, pod->ns, pod->name);
}

struct agent *agent_new(struct loop *l, const struct agent_options *o, struct err *err)
{
    struct agent *a = xnew(struct agent);
    a->options = o;
    a->loop = l;
    node_self_read(&a->self);
    struct process_options po = {.loop = l, .dir = o->dir, .changed = on_changed, .ctx = a};
    a->process = process_new(&po, err);
    if (!a->process) {
        free(a);
        return NULL;
    }
    a->prober = prober_new(&(struct prober_options){.loop = l,
                                                    .process = a->process,
                                                    .address = o->address,
                                                    .changed = on_probed,
                                                    .words = exec_words,
                                                    .ctx = a});
    return a;
}

void agent_free(struct agent *a)
{
    if (!a)
        return;
    agent_server_free(a->server);
    prober_free(a->prober);
    if (a->options->temporary)
        process_quit(a->process);
    process_free(a->process);
    free(a);
}

int agent_serve(struct agent *a, const struct pki_identity *certificate, str client_ca_pem,
                struct err *err)
{
    struct strbuf listen = STRBUF_INIT(128);
    struct tls_server *tls = tls_server_new(strbuf_str(&certificate->cert_pem),
                                            strbuf_str(&certificate->key_pem), client_ca_pem, err);
    if (!tls)
        return err->code;
    strbuf_printf(&listen, "%.*s:0", STR_ARG(a->options->address));
    struct agent_server_options o = {.process = a->process, .listen = listen.p, .tls = tls};
    a->server = agent_server_new(a->loop, &o, err);
    strbuf_done(&listen);
    if (a->server)
        a->self.port = agent_server_port(a->server);
    return a->server ? 0 : err->code;
}
