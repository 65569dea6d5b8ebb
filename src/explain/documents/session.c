/* See session.h. */
#include "explain/documents/session.h"

#include "base/exit_code.h"
#include "base/timefmt.h"
#include "client/instance.h"
#include "explain/documents/clean.h"

#include <signal.h>

const struct opt session_options[] = {
    OPT_STRING(struct session_opts, kubeconfig, 0, "kubeconfig", "FILE",
               "Kubeconfig to use (default: $KUBECONFIG or ~/.kube/config)"),
    OPT_STRING(struct session_opts, context, 0, "context", "NAME", "Context of the kubeconfig"),
    OPT_STRING(struct session_opts, ns, 'n', "namespace", "NAME",
               "Namespace (default: that of the context)"),
    OPT_END,
};

/* Nobody said which server, and no kubeconfig does: the only control plane of this user's that
 * runs. */
static int use_instance(const struct session_opts *o, struct session *s, struct err *err)
{
    struct instance *list;
    const char *env = getenv("KUBECONFIG");
    size_t n = instance_list(&s->arena, &list);
    bool asked = o->kubeconfig.len || o->context.len || (env && *env);
    if (n == 0 || asked)
        return err->code;
    str why = arena_str(&s->arena, str_of(err->message));
    str first = str_cut(&why, ';');
    if (n > 1)
        return err_set(err, err->code,
                       "%.*s, and %zu control planes run; choose one with --kubeconfig FILE "
                       "(grove list)",
                       STR_ARG(first), n);
    *err = ERR_INIT;
    s->source = list[0].kubeconfig;
    return kubeconfig_load(list[0].kubeconfig.p, NULL, &s->arena, &s->config, err);
}

static str source_of(const struct session_opts *o)
{
    const char *env = getenv("KUBECONFIG");
    if (!str_is_empty(o->kubeconfig))
        return o->kubeconfig;
    if (env && *env)
        return str_of(env);
    return getenv("KUBERNETES_SERVICE_HOST") ? STR_NONE : STR("~/.kube/config");
}

static int open_as(const struct session_opts *o, bool looks, struct session *ret, struct err *err)
{
    *ret = (struct session){.looks = looks};
    arena_init(&ret->arena);
    const char *path = o->kubeconfig.p ? arena_str(&ret->arena, o->kubeconfig).p : NULL;
    const char *context = o->context.p ? arena_str(&ret->arena, o->context).p : NULL;
    int r = kubeconfig_load(path, context, &ret->arena, &ret->config, err);
    ret->source = source_of(o);
    if (r == ERR_NOT_FOUND)
        r = use_instance(o, ret, err);
    if (r == 0) {
        ret->loop = loop_new_real(err);
        ret->api =
            ret->loop
                ? api_remote_open(ret->loop, &ret->config,
                                  &(struct remote_options){.patient = true, .trim = looks}, err)
                : NULL;
        r = ret->api ? 0 : err->code;
    }
    ret->ns = str_is_empty(o->ns) ? ret->config.ns : o->ns;
    if (r)
        session_close(ret);
    return r;
}

int session_open(const struct session_opts *o, struct session *ret, struct err *err)
{
    return open_as(o, false, ret, err);
}

int session_open_to_look(const struct session_opts *o, struct session *ret, struct err *err)
{
    return open_as(o, true, ret, err);
}

void session_close(struct session *s)
{
    api_free(s->api);
    if (s->loop)
        loop_free(s->loop);
    arena_done(&s->arena);
    *s = (struct session){0};
}

struct waiting {
    struct session *session;
    struct obj *obj;
    struct doc *doc;
    struct session_list list;
    int code;
    int error;
    struct err *err;
};

int session_code_of(int http)
{
    return http == 404   ? ERR_NOT_FOUND
           : http == 409 ? ERR_CONFLICT
           : http == 403 ? ERR_FORBIDDEN
           : http == 401 ? ERR_UNAUTHORIZED
           : http == 410 ? ERR_GONE
           : http == 503 ? ERR_UNAVAILABLE
           : http >= 500 ? ERR_INTERNAL
                         : ERR_INVALID;
}

/* What a server has to say about a write that it does all the same. */
static void tell_warnings(const struct api_reply *reply, struct arena *a)
{
    for (size_t i = 0; i < reply->n_warnings; i++)
        fprintf(stderr, "Warning: %.*s\n", STR_ARG(clean_text(a, reply->warnings[i], CLEAN_ALL)));
}

/* Somebody is there, and is not whom the kubeconfig is about. */
static const struct {
    const char *says; /* TLS */
    const char *means;
    bool asks_clock;
} strangers[] = {
    {"certificate has expired",
     "the server must renew its certificate, unless this machine's clock is wrong: ", true},
    {"certificate is not yet valid",
     "the server's clock is ahead, or this machine's is behind: ", true},
    {"issuer certificate",
     "another server than the one it was written for answers there, or one that was set up anew: "
     "take that server's kubeconfig",
     false},
    {"self-signed certificate",
     "another server than the one it was written for answers there, or one that was set up anew: "
     "take that server's kubeconfig",
     false},
    {"mismatch", "the server's certificate is for other names than the one in the kubeconfig",
     false},
};

/* The kubeconfig of a control plane of this user's that serves where this one points. */
static str own_kubeconfig(struct session *s)
{
    struct instance *list;
    size_t n = instance_list(&s->arena, &list);
    str at = arena_printf(&s->arena, "%.*s:%d", STR_ARG(s->config.host), s->config.port);
    for (size_t i = 0; i < n; i++) {
        if (str_eq(list[i].address, at) && !str_eq(list[i].kubeconfig, s->source))
            return list[i].kubeconfig;
    }
    return STR_NONE;
}

static str remedy_for_stranger(struct session *s, str message)
{
    for (size_t i = 0; i < ARRAY_LEN(strangers); i++) {
        if (str_find(message, str_of(strangers[i].says)) < 0)
            continue;
        str own = strangers[i].asks_clock ? STR_NONE : own_kubeconfig(s);
        return arena_printf(
            &s->arena, "%s%.*s%s%.*s", strangers[i].means,
            STR_ARG(strangers[i].asks_clock ? time_text(&s->arena, loop_wall(s->loop)) : STR_NONE),
            own.len ? ", export KUBECONFIG=" : "", STR_ARG(own));
    }
    return STR_NONE;
}

/* Nobody is there: who said there would be, and what to do. */
static str remedy(struct session *s, const struct status *why)
{
    if (str_is_empty(s->source) || !str_starts(why->message, STR("cannot reach")))
        return STR_NONE;
    str how = remedy_for_stranger(s, why->message);
    return arena_printf(
        &s->arena, " (kubeconfig %.*s); %.*s", STR_ARG(s->source),
        STR_ARG(how.len
                    ? how
                    : STR("start a control plane with `grove up`, or name another kubeconfig")));
}

/* Two refusals have the number 409. */
static int code_of(const struct status *why)
{
    return why->reason && strcmp(why->reason, "AlreadyExists") == 0 ? ERR_EXISTS
                                                                    : session_code_of(why->code);
}

static const struct status *copy_status(struct arena *a, const struct status *in)
{
    if (!in)
        return NULL;
    struct status *s = arena_new(a, struct status);
    *s = (struct status){.code = in->code, .message = arena_str(a, in->message)};
    s->causes = arena_array(a, struct status_cause, in->n_causes + 1);
    for (; s->n_causes < in->n_causes; s->n_causes++) {
        const struct status_cause *c = &in->causes[s->n_causes];
        s->causes[s->n_causes] = (struct status_cause){
            arena_str(a, c->reason), arena_str(a, c->message), arena_str(a, c->field)};
    }
    return s;
}

static void on_done(struct api_request *q, const struct api_reply *reply)
{
    struct waiting *w = q->ctx;
    struct arena *a = &w->session->arena;
    tell_warnings(reply, a);
    w->code = reply->code;
    w->session->refusal = copy_status(a, reply->status);
    if (reply->status)
        w->error =
            err_set(w->err, code_of(reply->status), "%.*s%.*s", STR_ARG(reply->status->message),
                    STR_ARG(remedy(w->session, reply->status)));
    if (reply->obj)
        w->obj = obj_hold(a, obj_ref(reply->obj));
    if (reply->doc)
        w->doc = doc_hold(a, doc_ref(reply->doc));
    w->list.rv = reply->rv;
    w->list.items = arena_array(a, struct obj *, reply->n_items + 1);
    for (size_t i = 0; i < reply->n_items; i++)
        w->list.items[w->list.n++] = obj_hold(a, obj_ref(reply->items[i]));
    loop_stop(w->session->loop, 0);
}

static void run(struct session *s, struct api_request *q, struct waiting *w)
{
    q->done = on_done;
    q->ctx = w;
    api_send(s->api, q);
    (void)loop_run(s->loop);
}

int session_send(struct session *s, struct api_request *q, struct obj **ret, int *ret_code,
                 struct err *err)
{
    struct waiting w = {.session = s, .err = err};
    run(s, q, &w);
    if (ret)
        *ret = w.obj;
    if (ret_code)
        *ret_code = w.code;
    return w.error;
}

int session_read(struct session *s, str path, struct doc **ret, struct err *err)
{
    struct api_request q = {.verb = API_GET, .path = path};
    struct waiting w = {.session = s, .err = err};
    run(s, &q, &w);
    *ret = w.doc;
    return w.error;
}

int session_post(struct session *s, str path, struct doc *body, struct doc **ret, struct err *err)
{
    struct api_request q = {.verb = API_CREATE, .path = path, .body = body};
    struct waiting w = {.session = s, .err = err};
    run(s, &q, &w);
    *ret = w.doc;
    return w.error;
}

int session_write(struct session *s, enum api_verb verb, str path, struct doc *body,
                  struct err *err)
{
    struct api_request q = {.verb = verb, .path = path, .body = body, .grace_seconds = -1};
    return session_send(s, &q, NULL, NULL, err);
}

int session_get(struct session *s, const struct kind *k, str ns, str name, struct obj **ret,
                struct err *err)
{
    struct api_request q = {.verb = API_GET, .kind = k, .ns = ns, .name = name};
    return session_send(s, &q, ret, NULL, err);
}

int session_send_list(struct session *s, struct api_request *q, struct session_list *ret,
                      struct err *err)
{
    struct waiting w = {.session = s, .err = err};
    run(s, q, &w);
    *ret = w.list;
    return w.error;
}

int session_list(struct session *s, const struct kind *k, str ns, str label_selector,
                 struct session_list *ret, struct err *err)
{
    struct api_request q = {
        .verb = API_LIST, .kind = k, .ns = ns, .label_selector = label_selector};
    return session_send_list(s, &q, ret, err);
}

int session_apply(struct session *s, const struct kind *k, str ns, str name, struct doc *config,
                  bool dry_run, struct obj **ret, int *ret_code, struct err *err)
{
    struct api_request q = {.verb = API_PATCH,
                            .patch = API_PATCH_APPLY,
                            .kind = k,
                            .ns = ns,
                            .name = name,
                            .body = config,
                            .field_manager = STR("grove"),
                            .field_validation = API_VALIDATE_STRICT,
                            .force = true,
                            .dry_run = dry_run};
    return session_send(s, &q, ret, ret_code, err);
}

int session_scale(struct session *s, const struct kind *k, str ns, str name, int64_t replicas,
                  struct err *err)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "spec");
    jw_put_int(&w, "replicas", replicas);
    jw_end(&w);
    jw_end(&w);
    struct doc *patch = jw_doc(&w);
    struct api_request q = {.verb = API_PATCH,
                            .patch = API_PATCH_MERGE,
                            .kind = k,
                            .ns = ns,
                            .name = name,
                            .subresource = STR("scale"),
                            .body = patch,
                            .field_manager = STR("grove")};
    int r = session_send(s, &q, NULL, NULL, err);
    doc_unref(patch);
    return r;
}

int session_delete(struct session *s, const struct kind *k, str ns, str name, struct err *err)
{
    struct api_request q = {.verb = API_DELETE,
                            .kind = k,
                            .ns = ns,
                            .name = name,
                            .grace_seconds = -1,
                            .propagation = API_BACKGROUND};
    return session_send(s, &q, NULL, NULL, err);
}

/* ---- following ---- */

struct following {
    struct session *session;
    struct api_watch watch;
    struct loop_timer timer;
    session_event_fn *fn;
    void *ctx;
    int error;
    struct err *err;
    bool over;
};

static void stop_following(struct following *f)
{
    f->over = true;
    loop_stop(f->session->loop, 0);
}

static void on_late(struct loop_timer *t)
{
    struct following *f = container_of(t, struct following, timer);
    f->error = err_set(f->err, ERR_TIMEOUT, "timed out waiting for %s", f->watch.kind->plural);
    stop_following(f);
}

static void on_event(struct api_watch *w, enum api_event_type type, struct obj *obj, uint64_t rv,
                     bool initial_end)
{
    struct following *f = w->ctx;
    (void)initial_end;
    w->rv = rv;
    if (!f->over && obj && f->fn(f->ctx, type, obj))
        stop_following(f);
}

static void on_end(struct api_watch *w, const struct status *why)
{
    struct following *f = w->ctx;
    if (f->over)
        return;
    if (why) {
        f->error = err_set(f->err, session_code_of(why->code), "%.*s", STR_ARG(why->message));
        stop_following(f);
        return;
    }
    api_watch(f->session->api, w);
}

static bool tell_present(const struct session_list *list, session_event_fn *fn, void *ctx)
{
    for (size_t i = 0; i < list->n; i++) {
        if (fn(ctx, API_ADDED, list->items[i]))
            return true;
    }
    return fn(ctx, API_BOOKMARK, NULL);
}

int session_follow(struct session *s, const struct kind *k, str ns, str label_selector,
                   session_event_fn *fn, void *ctx, usec timeout, struct err *err)
{
    struct following f = {.session = s, .fn = fn, .ctx = ctx, .err = err};
    struct session_list list = {0};
    int r = session_list(s, k, ns, label_selector, &list, err);
    if (r || tell_present(&list, fn, ctx))
        return r;
    f.watch = (struct api_watch){.kind = k,
                                 .ns = ns,
                                 .label_selector = label_selector,
                                 .rv = list.rv,
                                 .rv_given = true,
                                 .bookmarks = true,
                                 .on_event = on_event,
                                 .on_end = on_end,
                                 .ctx = &f};
    loop_timer_init(s->loop, &f.timer, on_late);
    loop_timer_set(&f.timer, loop_now(s->loop) + timeout);
    api_watch(s->api, &f.watch);
    (void)loop_run(s->loop);
    api_watch_stop(s->api, &f.watch);
    loop_timer_cancel(&f.timer);
    return f.error;
}

/* ---- watching ---- */

static void on_reader_gone(struct loop_io *io, unsigned events)
{
    (void)events;
    loop_io_remove(io);
    (void)raise(SIGPIPE);
    exit(EXIT_NO); /* whoever started it made it ignore that */
}

/* Of a file or the like there is nothing to wait for. */
static void mind_reader(struct loop *l, struct loop_io *io)
{
    struct err none = ERR_INIT;
    *io = (struct loop_io){.fd = STDOUT_FILENO, .fn = on_reader_gone};
    (void)loop_io_add(l, io, &none);
}

void session_mind_reader(struct session *s)
{
    if (!s->reader.loop)
        mind_reader(s->loop, &s->reader);
}

#define RETRY_FIRST (500 * USEC_PER_MSEC)
#define RETRY_MOST (10 * USEC_PER_SEC)

struct sleeper {
    struct loop_timer timer;
    struct loop_io reader;
    struct loop *loop;
};

static void on_awake(struct loop_timer *t)
{
    loop_stop(container_of(t, struct sleeper, timer)->loop, 0);
}

static int sleep_for(usec pause, struct err *err)
{
    struct sleeper s = {.loop = loop_new_real(err)};
    if (!s.loop)
        return err->code;
    loop_timer_init(s.loop, &s.timer, on_awake);
    loop_timer_set(&s.timer, loop_now(s.loop) + pause);
    mind_reader(s.loop, &s.reader);
    (void)loop_run(s.loop);
    loop_free(s.loop);
    return 0;
}

bool session_retry(struct session *s, const struct session_opts *o, struct session_retry *r,
                   struct err *err)
{
    int code = err->code;
    bool looks = s->looks;
    if (code != ERR_UNAVAILABLE && code != ERR_INTERNAL && code != ERR_TIMEOUT)
        return false;
    if (r->pause == 0)
        fprintf(stderr, "grove: %.*s; trying again, Ctrl-C ends it\n",
                STR_ARG(clean_text(&s->arena, str_of(err->message), CLEAN_ALL)));
    session_close(s);
    do {
        r->pause = r->pause ? MIN(2 * r->pause, RETRY_MOST) : RETRY_FIRST;
        *err = ERR_INIT;
        if (sleep_for(r->pause, err))
            return false;
        *err = ERR_INIT;
    } while (open_as(o, looks, s, err));
    return true;
}

void session_answers(struct session_retry *r)
{
    if (r->pause)
        fputs("grove: the API server answers again\n", stderr);
    r->pause = 0;
}
