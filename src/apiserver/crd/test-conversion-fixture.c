/* See test-conversion-fixture.h. */
#include "apiserver/crd/test-conversion-fixture.h"

#include "json/write.h"

/* ---- the converter ---- */

static void put_alpha_spec(struct jw *w, jval spec)
{
    jval image = jgetc(spec, "image");
    jw_put_object(w, "spec");
    jw_put(w, "replicas", jgetc(spec, "size"));
    jw_put(w, "mode", jgetc(spec, "mode"));
    if (j_has(image)) {
        jw_key(w, STR("image"));
        jw_printf(w, "%.*s:%.*s", STR_ARG(jstr(jgetc(image, "repo"))),
                  STR_ARG(jstr(jgetc(image, "tag"))));
    }
    jw_end(w);
}

static void put_beta_spec(struct jw *w, jval spec)
{
    str tag = jstr(jgetc(spec, "image")), repo = str_cut(&tag, ':');
    jw_put_object(w, "spec");
    jw_put(w, "size", jgetc(spec, "replicas"));
    jw_put(w, "mode", jgetc(spec, "mode"));
    if (j_has(jgetc(spec, "image"))) {
        jw_put_object(w, "image");
        jw_put_str(w, "repo", repo);
        jw_put_str(w, "tag", tag);
        jw_end(w);
    }
    jw_end(w);
}

static void put_gadget(struct jw *w, jval in, str to)
{
    bool alpha = str_is(to, ALPHA);
    jval status = jgetc(in, "status");
    jw_object(w);
    jw_put_str(w, "apiVersion", to);
    jw_put(w, "kind", jgetc(in, "kind"));
    jw_put(w, "metadata", jgetc(in, "metadata"));
    (alpha ? put_alpha_spec : put_beta_spec)(w, jgetc(in, "spec"));
    if (j_has(status)) {
        jw_put_object(w, "status");
        jw_put(w, alpha ? "ready" : "readySize",
               jget(status, str_of(alpha ? "readySize" : "ready")));
        jw_end(w);
    }
    jw_end(w);
}

void gadget_convert(struct hook_world *world, jval review, struct strbuf *out)
{
    (void)world;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put(&w, "apiVersion", jgetc(review, "apiVersion"));
    jw_put(&w, "kind", jgetc(review, "kind"));
    jw_put_object(&w, "response");
    jw_put(&w, "uid", jpath(review, "request.uid"));
    jw_put_object(&w, "result");
    jw_put_cstr(&w, "status", "Success");
    jw_end(&w);
    jw_put_array(&w, "convertedObjects");
    for (struct jiter it = jiter(jpath(review, "request.objects")); jnext(&it);)
        put_gadget(&w, it.value, jstr(jpath(review, "request.desiredAPIVersion")));
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    strbuf_add_str(out, strbuf_str(&w.out));
    jw_done(&w);
}

const struct hook_script gadget_converts = {.mode = SAY, .speak = gadget_convert};

/* ---- the world ---- */

const struct kind *gadget_kind(const char *version)
{
    return kind_by_plural(STR(GROUP), str_of(version), STR("gadgets"));
}

void gadget_settle(struct hook_world *w)
{
    for (int i = 0; i < 20; i++)
        (void)hook_world_send(w, (struct api_request){.verb = API_GET,
                                                      .kind = &kind_crd,
                                                      .name = STR("gadgets." GROUP)});
}

int gadget_patch_definition(struct hook_world *w, const char *json)
{
    int code = hook_world_send(w, (struct api_request){.verb = API_PATCH,
                                                       .kind = &kind_crd,
                                                       .name = STR("gadgets." GROUP),
                                                       .patch = API_PATCH_MERGE,
                                                       .body = fixture_doc(&w->f, json)});
    gadget_settle(w);
    return code;
}

void gadget_define(struct hook_world *w, const char *crd)
{
    if (!CHECK_INT(hook_world_create(w, &kind_crd, "", crd), 201))
        test_note("%.*s", STR_ARG(w->f.message));
    gadget_settle(w);
}

str gadget_webhook(struct hook_world *w)
{
    return text_of(&w->f, WEBHOOK, http_server_address(w->http), w->ca_b64);
}

void gadget_world_init(struct hook_world *w)
{
    hook_world_init(w);
    w->script = gadget_converts;
    gadget_define(w,
                  text_of(&w->f, CRD(V_ALPHA("true", "false") "," V_BETA("true", "true"), "%.*s"),
                          STR_ARG(gadget_webhook(w)))
                      .p);
    REQUIRE(alpha_kind && beta_kind);
    w->asked = 0;
}

int gadget_get(struct hook_world *w, const struct kind *k, const char *name)
{
    return hook_world_send(
        w, (struct api_request){.verb = API_GET, .kind = k, .ns = STR("ns"), .name = str_of(name)});
}

int gadget_make(struct hook_world *w, const char *api, const char *name, const char *spec)
{
    const struct kind *k = strcmp(api, ALPHA) == 0 ? alpha_kind : beta_kind;
    return hook_world_create(w, k, "ns",
                             text_of(&w->f,
                                     "{'apiVersion':'%s','kind':'Gadget','metadata':{'name':'%s',"
                                     "'labels':{'app':'%s'}},'spec':{%s}}",
                                     api, name, name, spec)
                                 .p);
}

const struct obj *gadget_stored(struct hook_world *w, const char *name)
{
    return store_get(w->f.store, beta_kind, STR("ns"), str_of(name));
}

int gadget_list(struct hook_world *w, const struct kind *k, struct api_request r)
{
    r.verb = API_LIST;
    r.kind = k;
    r.ns = STR("ns");
    return hook_world_send(w, r);
}

/* ---- watches ---- */

static void on_event(struct api_watch *watch, enum api_event_type type, struct obj *o, uint64_t rv,
                     bool initial_end)
{
    static const char *const words[] = {"+", "~", "-", "*"};
    struct gadget_watch *s = watch->ctx;
    (void)rv;
    strbuf_printf(&s->text, "%s%s", s->text.len ? " " : "", words[type]);
    if (o)
        strbuf_printf(&s->text, "%.*s=%lld%s", STR_ARG(o->name),
                      (long long)jint(jgetc(obj_spec(o), "replicas"), -1),
                      str_is(jstr(jgetc(obj_root(o), "apiVersion")), ALPHA) ? "" : "!");
    (void)initial_end;
    s->w->f.answered |= ++s->n >= s->enough;
}

static void on_end(struct api_watch *watch, const struct status *why)
{
    struct gadget_watch *s = watch->ctx;
    s->ended = true;
    s->code = why ? why->code : 0;
    s->why = why ? arena_str(&s->w->f.arena, why->message) : STR_NONE;
    s->w->f.answered = true;
}

void gadget_watch_begin(struct hook_world *w, struct gadget_watch *s, struct api_watch how)
{
    *s = (struct gadget_watch){.w = w, .watch = how, .text = STRBUF_INIT(1 << 16)};
    s->watch.kind = s->watch.kind ? s->watch.kind : alpha_kind;
    s->watch.ns = STR("ns");
    s->watch.on_event = on_event;
    s->watch.on_end = on_end;
    s->watch.ctx = s;
    apiserver_watch(w->f.server, &w->f.user, &s->watch);
}

void gadget_watch_until(struct gadget_watch *s, size_t enough)
{
    s->enough = enough;
    s->w->f.answered = s->n >= enough || s->ended;
    hook_world_run(s->w);
}

void gadget_watch_done(struct hook_world *w, struct gadget_watch *s)
{
    if (!s->ended)
        apiserver_watch_stop(w->f.server, &s->watch);
    strbuf_done(&s->text);
}
