/* See up_context.h. */
#include "cli/up_context.h"

#include "base/file.h"
#include "base/log.h"
#include "client/context.h"
#include "client/instance.h"

enum { MAX_KUBECONFIG = 1 << 20 };

static int add(struct up_context *c, str name, struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_KUBECONFIG);
    str previous = STR_NONE;
    int r = file_read(c->kubeconfig.p, &text, err);
    if (r == 0)
        r = context_add(c->file, name, strbuf_str(&text), &c->arena, &previous, err);
    strbuf_done(&text);
    if (r == 0)
        c->previous = previous;
    return r;
}

/* The name, or, where somebody else has it, the name and the port. */
static int add_somewhere(struct up_context *c, str address, struct err *err)
{
    ptrdiff_t colon = str_rfind_char(address, ':');
    int r = add(c, c->name, err);
    if (r != ERR_EXISTS)
        return r;
    str other = arena_printf(&c->arena, "%.*s-%.*s", STR_ARG(c->name),
                             STR_ARG(str_sub(address, (size_t)(colon + 1), address.len)));
    *err = ERR_INIT;
    r = add(c, other, err);
    if (r == 0)
        c->name = other;
    return r;
}

void up_context_enter(struct up_context *c, str name, str address, str kubeconfig, bool wanted)
{
    struct err err = ERR_INIT;
    *c = (struct up_context){0};
    arena_init(&c->arena);
    str given = name.len ? name : STR("grove");
    c->name = arena_str(&c->arena, instance_free_name(&c->arena, given, address));
    c->kubeconfig = arena_str(&c->arena, kubeconfig);
    c->file = wanted ? context_file(&c->arena) : STR_NONE;
    if (!c->file.len || add_somewhere(c, address, &err) == 0)
        return;
    snprintf(c->why, sizeof(c->why), "%.*s: %.300s", STR_ARG(c->file), err.message);
    c->file = STR_NONE;
}

void up_context_refresh(struct up_context *c)
{
    struct err err = ERR_INIT;
    if (c->file.len && add(c, c->name, &err))
        log_warn("the context cannot be written", LOG_C("error", err.message));
}

void up_context_leave(struct up_context *c)
{
    struct err err = ERR_INIT;
    if (c->file.len && context_remove(c->file, c->name, &err))
        log_warn("the context stays in the kubeconfig", LOG_S("file", c->file),
                 LOG_C("error", err.message));
    arena_done(&c->arena);
    *c = (struct up_context){0};
}
