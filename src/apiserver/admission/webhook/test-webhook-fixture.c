/* See test-webhook-fixture.h. */
#include "apiserver/admission/webhook/test-webhook-fixture.h"

#include <ctype.h>

#include "base/b64.h"
#include "grove/types.h"

#define DAY ((usec)86400 * USEC_PER_SEC)

/* ---- the webhook ---- */

static void add_answer(struct strbuf *out, const char *text, str uid)
{
    for (const char *p = text; *p; p++) {
        if (strncmp(p, "UID", 3) == 0) {
            strbuf_add_str(out, uid);
            p += 2;
        } else {
            strbuf_add_char(out, *p == '\'' ? '"' : *p);
        }
    }
}

static void say(struct hook_world *w, struct http_exchange *x, const struct hook_script *s, str uid)
{
    static const char allowed[] = "{'kind':'AdmissionReview','apiVersion':'admission.k8s.io/v1',"
                                  "'response':{'uid':'UID','allowed':true";
    struct strbuf out = STRBUF_INIT((size_t)64 << 20);
    struct http_header type = {STR("content-type"), str_of(s->type ? s->type : "application/json")};
    if (s->huge) {
        memset(strbuf_reserve(&out, s->huge), ' ', s->huge);
        strbuf_commit(&out, s->huge);
    } else if (s->speak) {
        s->speak(w, doc_root(w->review), &out);
    } else if (s->answer) {
        add_answer(&out, s->answer, uid);
    } else {
        add_answer(&out, allowed, uid);
        if (s->patch) {
            struct strbuf patch = STRBUF_INIT(1 << 20);
            add_answer(&patch, s->patch, uid);
            strbuf_add_cstr(&out, ",\"patchType\":\"JSONPatch\",\"patch\":\"");
            b64_encode(strbuf_str(&patch), B64_STD, &out);
            strbuf_add_cstr(&out, "\"");
            strbuf_done(&patch);
        }
        strbuf_add_cstr(&out, "}}");
    }
    http_reply(x, s->code ? s->code : 200, &type, 1, (struct http_slice){.data = strbuf_str(&out)});
    strbuf_done(&out);
}

static void on_held_close(struct http_exchange *x)
{
    struct hook_world *w = x->ctx;
    w->held = NULL;
}

static void on_request(void *ctx, struct http_exchange *x)
{
    struct hook_world *w = ctx;
    const struct hook_script *s = &w->script;
    if (x->path.len == 2 && isdigit((unsigned char)x->path.p[1]))
        s = &w->by_path[(x->path.p[1] - '0') % 4];
    w->asked++;
    strbuf_add_str(&w->seen, x->path);
    doc_unref(w->review);
    w->review = doc_parse(x->body, NULL, NULL);
    REQUIRE(w->review);
    str uid = jstr(jpath(doc_root(w->review), "request.uid"));
    x->ctx = w;
    if (s->mode == SAY) {
        say(w, x, s, uid);
        return;
    }
    w->held = x;
    x->on_close = on_held_close;
    if (s->mode == STREAM) {
        struct http_header type = {STR("content-type"), STR("application/json")};
        struct http_slice part = {.data = STR("{\"kind\":\"Admi")};
        http_stream_begin(x, 200, &type, 1);
        http_stream_write(x, &part, 1);
    }
    w->die = s->mode != HANG;
}

void hook_world_answer_held(struct hook_world *w)
{
    struct http_exchange *x = TAKE_PTR(w->held);
    x->on_close = NULL;
    doc_unref(w->review);
    w->review = doc_parse(x->body, NULL, NULL);
    REQUIRE(w->review);
    say(w, x, &w->script, jstr(jpath(doc_root(w->review), "request.uid")));
}

void hook_world_serve(struct hook_world *w, const char *listen)
{
    struct err err = ERR_INIT;
    struct http_limits limits = http_default_limits;
    limits.max_body = 16 << 20;
    w->http = http_server_new(
        w->f.loop,
        &(struct http_server_options){
            .listen = listen, .tls = w->tls, .limits = &limits, .handler = on_request, .ctx = w},
        &err);
    if (!w->http)
        test_note("%s", err.message);
    REQUIRE(w->http);
}

/* ---- the world ---- */

static void on_ready(void *ctx, const struct err *err)
{
    bool *answered = ctx;
    *answered = err == NULL;
}

static void on_tick(struct loop_timer *t)
{
    struct hook_world *w = container_of(t, struct hook_world, tick);
    if (w->die && w->http) {
        http_server_free(w->http);
        w->http = NULL;
    }
    if (w->f.answered)
        loop_stop(w->f.loop, 0);
    else
        loop_timer_set(t, loop_now(w->f.loop) + USEC_PER_MSEC);
}

void hook_world_run(struct hook_world *w)
{
    loop_timer_set(&w->tick, loop_now(w->f.loop));
    (void)loop_run(w->f.loop);
}

static void make_identity(struct hook_world *w)
{
    struct err err = ERR_INIT;
    usec now = loop_wall(w->f.loop);
    struct strbuf b = STRBUF_INIT(sizeof(w->ca_b64) - 1);
    REQUIRE(pki_make_ca("ca", now, DAY, &w->ca, &err) == 0);
    REQUIRE(pki_issue(&w->ca, "hook", NULL, "IP:127.0.0.1,DNS:hook.ns.svc", now, DAY, &w->id,
                      &err) == 0);
    w->tls =
        tls_server_new(strbuf_str(&w->id.cert_pem), strbuf_str(&w->id.key_pem), STR_NONE, &err);
    REQUIRE(w->tls);
    b64_encode(strbuf_str(&w->ca.cert_pem), B64_STD, &b);
    memcpy(w->ca_b64, b.p, b.len + 1);
    strbuf_done(&b);
}

int hook_world_send(struct hook_world *w, struct api_request r)
{
    send_only(&w->f, &r);
    hook_world_run(w);
    return w->f.code;
}

int hook_world_create(struct hook_world *w, const struct kind *k, const char *ns, const char *json)
{
    return hook_world_send(w, (struct api_request){.verb = API_CREATE,
                                                   .kind = k,
                                                   .ns = str_of(ns),
                                                   .body = fixture_doc(&w->f, json),
                                                   .field_manager = STR("test")});
}

int hook_world_patch(struct hook_world *w, const struct kind *k, const char *name, const char *sub,
                     const char *json)
{
    return hook_world_send(w, (struct api_request){.verb = API_PATCH,
                                                   .kind = k,
                                                   .ns = STR("ns"),
                                                   .name = str_of(name),
                                                   .subresource = str_of(sub),
                                                   .patch = API_PATCH_MERGE,
                                                   .body = fixture_doc(&w->f, json),
                                                   .field_manager = STR("test")});
}

int hook_world_delete(struct hook_world *w, const struct kind *k, const char *ns, const char *name)
{
    return hook_world_send(w, (struct api_request){.verb = API_DELETE,
                                                   .kind = k,
                                                   .ns = str_of(ns),
                                                   .name = str_of(name),
                                                   .grace_seconds = -1,
                                                   .propagation = API_PROPAGATION_DEFAULT});
}

void hook_world_init(struct hook_world *w)
{
    static const str masters = STR_INIT("system:masters");
    *w = (struct hook_world){.seen = STRBUF_INIT(1 << 16)};
    struct fixture *f = &w->f;
    grove_kinds_init();
    arena_init(&f->arena);
    arena_init(&f->reply);
    f->loop = loop_new_real(NULL);
    REQUIRE(f->loop);
    f->store = store_open(f->loop, &(struct store_options){0}, NULL);
    f->server = apiserver_new(f->loop, f->store);
    f->user = (struct user){.name = STR("admin"), .groups = &masters, .n_groups = 1};
    loop_timer_init(f->loop, &w->tick, on_tick);
    apiserver_bootstrap(f->server, on_ready, &f->answered);
    hook_world_run(w);
    REQUIRE(hook_world_create(w, &kind_namespace, "", "{'metadata':{'name':'ns'}}") == 201);
    make_identity(w);
    hook_world_serve(w, "127.0.0.1:0");
}

void hook_world_done(struct hook_world *w)
{
    struct fixture *f = &w->f;
    apiserver_free(f->server);
    http_server_free(w->http);
    tls_server_free(w->tls);
    pki_identity_done(&w->ca);
    pki_identity_done(&w->id);
    doc_unref(w->review);
    doc_unref(f->doc);
    obj_unref(f->obj);
    store_close(f->store);
    arena_done(&f->arena);
    arena_done(&f->reply);
    loop_timer_cancel(&w->tick);
    loop_free(f->loop);
    strbuf_done(&w->seen);
}

/* One webhook in the configuration `name`, at this path of ours. */
static str hook_text(struct hook_world *w, const char *name, const char *path, const char *more)
{
    return text_of(&w->f,
                   "{'name':'%s.example.com','clientConfig':{'url':'https://%s%s',"
                   "'caBundle':'%s'},'admissionReviewVersions':['v1'],'sideEffects':'None',%s}",
                   name, http_server_address(w->http), path, w->ca_b64, more);
}

static int configure_with(struct hook_world *w, bool mutating, const char *name, str hooks)
{
    const struct kind *k = mutating ? &kind_mutating_webhook : &kind_validating_webhook;
    return hook_world_create(
        w, k, "",
        text_of(&w->f, "{'metadata':{'name':'%s'},'webhooks':[%.*s]}", name, STR_ARG(hooks)).p);
}

void hook_world_configure(struct hook_world *w, bool mutating, const char *name, const char *path,
                          const char *more)
{
    REQUIRE(configure_with(w, mutating, name, hook_text(w, name, path, more)) == 201);
}

void hook_world_unconfigure(struct hook_world *w, bool mutating, const char *name)
{
    const struct kind *k = mutating ? &kind_mutating_webhook : &kind_validating_webhook;
    CHECK_INT(hook_world_delete(w, k, "", name), 200);
}

/* '*' stands for anything. */
bool hook_text_matches(str pattern, str text)
{
    ptrdiff_t star = str_find_char(pattern, '*');
    if (star < 0)
        return str_eq(pattern, text);
    str head = str_sub(pattern, 0, (size_t)star);
    str rest = str_sub(pattern, (size_t)star + 1, pattern.len);
    if (!str_starts(text, head))
        return false;
    for (size_t i = head.len; i <= text.len; i++)
        if (hook_text_matches(rest, str_sub(text, i, text.len)))
            return true;
    return false;
}
