/* See crd_boot.h. All writes are sent at once: on a disk they are one commit. */
#include "apiserver/crd_boot.h"

#include "apiserver/crd.h"
#include "apiserver/request.h"
#include "kube/structural.h"
#include "json/edit.h"

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
    if (reply->code != 200 && reply->code != 201 && !b->err.code)
        (void)err_set(&b->err, ERR_INTERNAL, "cannot write the definition of a kind of Grove: %.*s",
                      reply->status ? (int)reply->status->message.len : 0,
                      reply->status ? reply->status->message.p : "");
    doc_unref(w->body);
    free(w);
    if (--b->pending == 0)
        boot_end(b);
}

/* Takes the body over. */
static void boot_write(struct boot *b, bool create, str name, struct doc *body)
{
    struct boot_write *w = xnew(struct boot_write);
    w->boot = b;
    w->body = body;
    w->r = (struct api_request){.verb = create ? API_CREATE : API_UPDATE,
                                .kind = &kind_crd,
                                .name = create ? STR_NONE : name,
                                .body = body,
                                .field_manager = STR("kube-apiserver"),
                                .done = on_written};
    b->pending++;
    apiserver_send(b->server, &server_user, &w->r);
}

/* The stored one with the spec of today; NULL: it has that. What the server adds to a spec by
 * itself is kept out of the comparison: every member that is wanted must be as wanted. */
static struct doc *with_spec(const struct obj *have, jval spec)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    struct doc *out = NULL;
    edit_init(&e, &a);
    for (struct jiter it = jiter(spec); jnext(&it);)
        if (!str_is(it.key, "names") && !jequal(jget(obj_spec(have), it.key), it.value))
            edit_set(&e, edit_path(&a, STR("spec"), it.key), it.value);
    if (!edit_is_empty(&e))
        out = edit_apply(&e, have->doc, NULL);
    edit_done(&e);
    arena_done(&a);
    return out;
}

static void boot_kind(struct boot *b, const struct kind *k)
{
    struct doc *want = structural_crd(k);
    str name = jstr(jpath(doc_root(want), "metadata.name"));
    const struct obj *have = store_get(b->server->store, &kind_crd, STR_NONE, name);
    struct doc *body = have ? with_spec(have, jgetc(doc_root(want), "spec")) : doc_ref(want);
    if (body)
        boot_write(b, !have, have ? have->name : STR_NONE, body);
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
