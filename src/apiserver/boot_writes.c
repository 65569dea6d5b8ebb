/* See boot_writes.h. */
#include "apiserver/boot_writes.h"

#include "apiserver/request.h"
#include "base/log.h"

struct boot_writes {
    struct apiserver *server;
    const char *what;
    void (*done)(void *ctx, const struct err *err);
    void *ctx;
    size_t pending;
    bool optional;
    struct err err;
    struct loop_task nothing_sent;
};

struct boot_write {
    struct boot_writes *all;
    struct api_request r;
    struct doc *want, *body;
};

static void finish(struct boot_writes *b)
{
    void (*done)(void *, const struct err *) = b->done;
    void *ctx = b->ctx;
    struct err err = b->err;
    free(b);
    done(ctx, err.code ? &err : NULL);
}

static void on_nothing_sent(struct loop_task *t)
{
    finish(container_of(t, struct boot_writes, nothing_sent));
}

static void on_answer(struct api_request *r, const struct api_reply *reply)
{
    struct boot_write *w = container_of(r, struct boot_write, r);
    struct boot_writes *b = w->all;
    str message = reply->status ? reply->status->message : STR_NONE;
    if (reply->code == 507 && b->optional)
        log_warn("the store is full: something is written at the next start that finds room",
                 LOG_C("what", b->what),
                 LOG_S("name", jstr(jpath(doc_root(w->want), "metadata.name"))));
    else if (reply->code != 200 && reply->code != 201 && reply->code != 409 && !b->err.code)
        (void)err_set(&b->err, ERR_INTERNAL, "cannot write %s: %.*s", b->what, STR_ARG(message));
    doc_unref(w->body);
    doc_unref(w->want);
    free(w);
    if (--b->pending == 0)
        finish(b);
}

struct boot_writes *boot_writes_new(struct apiserver *a, const char *what,
                                    void (*done)(void *ctx, const struct err *err), void *ctx)
{
    struct boot_writes *b = xnew(struct boot_writes);
    *b = (struct boot_writes){.server = a, .what = what, .done = done, .ctx = ctx, .err = ERR_INIT};
    loop_task_init(&b->nothing_sent, on_nothing_sent);
    return b;
}

void boot_writes_send(struct boot_writes *b, struct api_request r, struct doc *want)
{
    struct boot_write *w = xnew(struct boot_write);
    w->all = b;
    w->want = doc_ref(want);
    w->body = r.body;
    w->r = r;
    w->r.field_manager = STR("kube-apiserver");
    w->r.done = on_answer;
    b->pending++;
    apiserver_send(b->server, &server_user, &w->r);
}

void boot_writes_are_optional(struct boot_writes *b)
{
    b->optional = true;
}

void boot_writes_end(struct boot_writes *b)
{
    if (b->pending == 0)
        loop_defer(b->server->loop, LOOP_PUBLISH, &b->nothing_sent);
}
