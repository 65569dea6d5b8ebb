/* See crd_boot.h. All writes are sent at once: on a disk they are one commit. */
#include "apiserver/crd_boot.h"

#include "apiserver/crd.h"
#include "apiserver/request.h"
#include "base/log.h"
#include "kube/structural.h"
#include "json/write.h"

struct boot {
    struct apiserver *server;
    void (*done)(void *ctx, const struct err *err);
    void *ctx;
    size_t pending;
    struct err err;
    struct loop_task end; /* when nothing is to be written */
};

struct boot_write {
    struct boot *boot;
    struct api_request r;
    struct doc *want; /* holds the name */
    struct doc *body;
};

static void boot_end(struct boot *b)
{
    b->done(b->ctx, b->err.code ? &b->err : NULL);
    free(b);
}

static void on_end(struct loop_task *t)
{
    boot_end(container_of(t, struct boot, end));
}

static void on_written(struct api_request *r, const struct api_reply *reply)
{
    struct boot_write *w = container_of(r, struct boot_write, r);
    struct boot *b = w->boot;
    /* The kinds are served without. */
    if (reply->code == 507)
        log_warn("the definition of a kind of Grove is not written, because the store is full; it "
                 "will be at the next start that finds room",
                 LOG_S("name", jstr(jpath(doc_root(w->want), "metadata.name"))));
    else if (reply->code != 200 && reply->code != 201 && !b->err.code)
        (void)err_set(&b->err, ERR_INTERNAL, "cannot write the definition of a kind of Grove: %.*s",
                      reply->status ? (int)reply->status->message.len : 0,
                      reply->status ? reply->status->message.p : "");
    doc_unref(w->body);
    doc_unref(w->want);
    free(w);
    if (--b->pending == 0)
        boot_end(b);
}

/* Takes the body over. exists: it is a patch. */
static void boot_write(struct boot *b, struct doc *want, bool exists, struct doc *body)
{
    struct boot_write *w = xnew(struct boot_write);
    w->boot = b;
    w->want = doc_ref(want);
    w->body = body;
    w->r = (struct api_request){.verb = exists ? API_PATCH : API_CREATE,
                                .kind = &kind_crd,
                                .name = exists ? jstr(jpath(doc_root(want), "metadata.name"))
                                               : STR_NONE,
                                .patch = API_PATCH_JSON,
                                .body = body,
                                .field_manager = STR("kube-apiserver"),
                                .done = on_written};
    b->pending++;
    apiserver_send(b->server, &server_user, &w->r);
}

/* A JSON patch that gives the stored one the spec of today; NULL: it has that. What the server adds
 * to a spec by itself is kept out of the comparison: every member that is wanted must be as wanted.
 * It is a patch because its status may be written at the same time, which is no conflict. */
static struct doc *patch_to(const struct obj *have, jval spec)
{
    struct jw w;
    bool any = false;
    jw_init(&w);
    jw_array(&w);
    for (struct jiter it = jiter(spec); jnext(&it);) {
        if (str_is(it.key, "names") || jequal(jget(obj_spec(have), it.key), it.value))
            continue;
        any = true;
        jw_object(&w);
        jw_put_cstr(&w, "op", "add");
        jw_key(&w, STR("path"));
        jw_printf(&w, "/spec/%.*s", STR_ARG(it.key));
        jw_put(&w, "value", it.value);
        jw_end(&w);
    }
    jw_end(&w);
    struct doc *patch = any ? jw_doc(&w) : NULL;
    if (!any)
        jw_done(&w);
    return patch;
}

static void boot_kind(struct boot *b, const struct kind *k)
{
    struct doc *want = structural_crd(k);
    str name = jstr(jpath(doc_root(want), "metadata.name"));
    const struct obj *have = store_get(b->server->store, &kind_crd, STR_NONE, name);
    struct doc *body = have ? patch_to(have, jgetc(doc_root(want), "spec")) : doc_ref(want);
    if (body)
        boot_write(b, want, have != NULL, body);
    doc_unref(want);
}

void crd_boot(struct apiserver *a, void (*done)(void *ctx, const struct err *err), void *ctx)
{
    struct boot *b = xnew(struct boot);
    *b = (struct boot){.server = a, .done = done, .ctx = ctx, .err = ERR_INIT};
    loop_task_init(&b->end, on_end);
    for (size_t i = 0; i < kinds_count(); i++)
        if (kind_is(kinds_at(i), KIND_CUSTOM) && !kind_is(kinds_at(i), KIND_DEFINED))
            boot_kind(b, kinds_at(i));
    if (b->pending == 0)
        loop_defer(a->loop, LOOP_PUBLISH, &b->end);
}
