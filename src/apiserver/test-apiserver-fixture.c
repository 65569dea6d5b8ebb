/* See test-apiserver-fixture.h. */
#include "apiserver/test-apiserver-fixture.h"

#include "grove/types.h"

#define START ((usec)1794700800 * USEC_PER_SEC) /* 2026-11-15T00:00:00Z */

static const str masters = STR_INIT("system:masters");

static void on_ready(void *ctx, const struct err *err)
{
    bool *ready = ctx;
    *ready = err == NULL;
}

/* As the controller of namespaces would. */
static void make_account(struct fixture *f, const char *ns)
{
    REQUIRE(create(f, &kind_service_account, ns, "{'metadata':{'name':'default'}}") == 201);
}

void fixture_init(struct fixture *f)
{
    *f = (struct fixture){0};
    grove_kinds_init();
    arena_init(&f->arena);
    arena_init(&f->reply);
    f->loop = loop_new_virtual(1, START);
    struct store_options o = {0};
    f->store = store_open(f->loop, &o, NULL);
    REQUIRE(f->store);
    f->server = apiserver_new(f->loop, f->store);
    f->user = (struct user){.name = STR("admin"), .groups = &masters, .n_groups = 1};
    bool ready = false;
    apiserver_bootstrap(f->server, on_ready, &ready);
    fixture_run(f, USEC_PER_SEC);
    REQUIRE(ready);
    REQUIRE(create(f, &kind_namespace, "", "{'metadata':{'name':'ns'}}") == 201);
    make_account(f, "default");
    make_account(f, "ns");
}

static void forget_answer(struct fixture *f)
{
    doc_unref(f->doc);
    obj_unref(f->obj);
    arena_clear(&f->reply);
    f->doc = NULL;
    f->obj = NULL;
    f->answered = false;
    f->code = 0;
    f->n_items = f->n_warnings = 0;
    f->continue_token = f->reason = f->message = STR_NONE;
}

void fixture_done(struct fixture *f)
{
    forget_answer(f);
    apiserver_free(f->server);
    store_close(f->store);
    arena_done(&f->arena);
    arena_done(&f->reply);
    loop_free(f->loop);
}

void fixture_run(struct fixture *f, usec for_)
{
    CHECK(loop_run_until(f->loop, loop_now(f->loop) + for_, 1000000));
}

struct doc *fixture_doc(struct fixture *f, const char *json)
{
    struct err err = ERR_INIT;
    struct json_limits limits = {.allow_duplicate_keys = true};
    char *text = xstrdup(json);
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    struct doc *d = doc_parse_owned(text, strlen(text), &limits, &err);
    if (!d)
        test_note("%s: %s", err.message, json);
    REQUIRE(d);
    return doc_hold(&f->arena, d);
}

/* ---- requests ---- */

static void keep_lists(struct fixture *f, const struct api_reply *reply)
{
    f->items = arena_array(&f->reply, struct obj *, reply->n_items);
    for (size_t i = 0; i < reply->n_items; i++)
        f->items[i] = obj_hold(&f->reply, obj_ref(reply->items[i]));
    f->n_items = reply->n_items;
    f->rv = reply->rv;
    f->remaining = reply->remaining;
    f->continue_token = arena_str(&f->reply, reply->continue_token);
    f->warnings = arena_array(&f->reply, str, reply->n_warnings);
    for (size_t i = 0; i < reply->n_warnings; i++)
        f->warnings[i] = arena_str(&f->reply, reply->warnings[i]);
    f->n_warnings = reply->n_warnings;
}

static void on_done(struct api_request *r, const struct api_reply *reply)
{
    struct fixture *f = r->ctx;
    forget_answer(f);
    f->answered = true;
    f->code = reply->code;
    keep_lists(f, reply);
    if (reply->status) {
        f->doc = status_doc(reply->status);
        f->reason = arena_str(&f->reply, str_of(reply->status->reason));
        f->message = arena_str(&f->reply, reply->status->message);
    } else if (reply->doc) {
        f->doc = doc_ref(reply->doc);
    } else if (reply->obj) {
        f->obj = obj_ref(reply->obj);
        f->doc = doc_ref(reply->obj->doc);
    }
}

void send_only(struct fixture *f, struct api_request *r)
{
    r->done = on_done;
    r->ctx = f;
    f->answered = false;
    apiserver_send(f->server, &f->user, r);
}

void wait_answer(struct fixture *f)
{
    for (int i = 0; i < 100000 && !f->answered && loop_next_due(f->loop) >= 0; i++)
        (void)loop_run_until(f->loop, loop_next_due(f->loop), 1);
    REQUIRE(f->answered);
}

int send(struct fixture *f, struct api_request r)
{
    send_only(f, &r);
    CHECK(!f->answered);
    wait_answer(f);
    return f->code;
}

int get(struct fixture *f, const struct kind *k, const char *ns, const char *name)
{
    return send(f, (struct api_request){
                       .verb = API_GET, .kind = k, .ns = str_of(ns), .name = str_of(name)});
}

int create(struct fixture *f, const struct kind *k, const char *ns, const char *json)
{
    return send(f, (struct api_request){.verb = API_CREATE,
                                        .kind = k,
                                        .ns = str_of(ns),
                                        .body = fixture_doc(f, json),
                                        .field_manager = STR("test")});
}

int update(struct fixture *f, const struct kind *k, const char *ns, const char *name,
           const char *json)
{
    return send(f, (struct api_request){.verb = API_UPDATE,
                                        .kind = k,
                                        .ns = str_of(ns),
                                        .name = str_of(name),
                                        .body = fixture_doc(f, json),
                                        .field_manager = STR("test")});
}

int patch_sub(struct fixture *f, const struct kind *k, const char *ns, const char *name,
              const char *subresource, enum api_patch_type type, const char *json)
{
    return send(f, (struct api_request){.verb = API_PATCH,
                                        .kind = k,
                                        .ns = str_of(ns),
                                        .name = str_of(name),
                                        .subresource = str_of(subresource),
                                        .patch = type,
                                        .body = fixture_doc(f, json),
                                        .field_manager = STR("test")});
}

int patch(struct fixture *f, const struct kind *k, const char *ns, const char *name,
          enum api_patch_type type, const char *json)
{
    return patch_sub(f, k, ns, name, "", type, json);
}

int delete (struct fixture *f, const struct kind *k, const char *ns, const char *name)
{
    return send(f, (struct api_request){.verb = API_DELETE,
                                        .kind = k,
                                        .ns = str_of(ns),
                                        .name = str_of(name),
                                        .grace_seconds = -1,
                                        .propagation = API_PROPAGATION_DEFAULT});
}

int list(struct fixture *f, const struct kind *k, const char *ns, struct api_request r)
{
    r.verb = API_LIST;
    r.kind = k;
    r.ns = str_of(ns);
    return send(f, r);
}

str text_of(struct fixture *f, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str s = arena_vprintf(&f->arena, fmt, ap);
    va_end(ap);
    return s;
}

int post_sub(struct fixture *f, const char *pod, const char *subresource, const char *json)
{
    return send(f, (struct api_request){.verb = API_CREATE,
                                        .kind = &kind_pod,
                                        .ns = STR("ns"),
                                        .name = str_of(pod),
                                        .subresource = str_of(subresource),
                                        .body = fixture_doc(f, json)});
}

int bind_pod(struct fixture *f, const char *pod, const char *node)
{
    str body = text_of(f,
                       "{'apiVersion':'v1','kind':'Binding','metadata':{'name':'%s',"
                       "'annotations':{'x':'y'}},'target':{'kind':'Node','name':'%s'}}",
                       pod, node);
    return post_sub(f, pod, "binding", body.p);
}

str field(struct fixture *f, const char *path)
{
    if (!f->doc)
        return STR_NONE;
    jval v = jpath(doc_root(f->doc), path);
    if (jtype(v) == J_STRING)
        return jstr(v);
    return j_is_absent(v) ? STR_NONE : jtext(v);
}

str names(struct fixture *f)
{
    struct strbuf b = STRBUF_INIT(1 << 16);
    for (size_t i = 0; i < f->n_items; i++) {
        strbuf_add_cstr(&b, i ? " " : "");
        strbuf_add_str(&b, f->items[i]->name);
    }
    str s = arena_str(&f->reply, strbuf_str(&b));
    strbuf_done(&b);
    return s;
}

int act_make_pod(struct fixture *f)
{
    return create(f, &kind_pod, "ns", POD("new", ""));
}

int act_scale(struct fixture *f)
{
    return patch_sub(f, &kind_deployment, "ns", "d", "scale", API_PATCH_MERGE,
                     "{'spec':{'replicas':7}}");
}

int act_make_thing(struct fixture *f)
{
    const struct kind *k = kind_by_plural(STR("example.org"), STR("v1"), STR("things"));
    return create(
        f, k, "ns",
        "{'apiVersion':'example.org/v1','kind':'Thing','metadata':{'name':'t'},'size':3}");
}

int act_make_hpa(struct fixture *f)
{
    return create(f, &kind_hpa, "ns",
                  "{'metadata':{'name':'h'},'spec':{'maxReplicas':3,'scaleTargetRef':{'apiVersion':"
                  "'apps/v1','kind':'Deployment','name':'d'},'metrics':[{'type':'Resource',"
                  "'resource':{'name':'cpu','target':{'type':'Utilization','averageUtilization':"
                  "60}}}]}}");
}
