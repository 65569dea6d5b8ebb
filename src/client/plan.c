/*
 * Plans as data: the constructors planners call, and the text people and golden tests read.
 * Everything a write points to lives in the plan's arena, because a plan outlives the turn of the
 * loop in which its objects were borrowed from the caches.
 */
#include "client/plan.h"

#include "base/timefmt.h"

/* Longest body shown for a patch; creates show none. */
#define PRINT_BODY_MAX 400

void plan_init(struct plan *p, struct arena *a)
{
    *p = (struct plan){.arena = a};
}

void plan_done(struct plan *p)
{
    vec_done(&p->writes);
    vec_done(&p->events);
    vec_done(&p->acts);
}

bool plan_is_empty(const struct plan *p)
{
    return !p->writes.len && !p->events.len && !p->acts.len && !p->look_again;
}

/* ---- writes ---- */

static struct plan_write *add(struct plan *p, enum plan_op op, unsigned stage, const struct kind *k,
                              str ns, str name, struct doc *body)
{
    struct plan_write *w = vec_push(&p->writes);
    *w = (struct plan_write){
        .op = op,
        .stage = stage,
        .kind = k,
        .ns = arena_str(p->arena, ns),
        .name = arena_str(p->arena, name),
        .body = body ? doc_hold(p->arena, body) : NULL,
        .grace_seconds = -1,
        .propagation = API_BACKGROUND,
    };
    return w;
}

struct plan_write *plan_create(struct plan *p, unsigned stage, const struct kind *k, str ns,
                               str name, struct doc *body)
{
    return add(p, PLAN_CREATE, stage, k, ns, name, body);
}

static struct plan_write *add_patch(struct plan *p, unsigned stage, const struct kind *k, str ns,
                                    str name, str subresource, enum api_patch_type type,
                                    struct doc *body)
{
    struct plan_write *w = add(p, PLAN_PATCH, stage, k, ns, name, body);
    w->patch = type;
    w->subresource = arena_str(p->arena, subresource);
    return w;
}

/* The patch with metadata.resourceVersion, which makes it conditional. Takes over the patch. */
static struct doc *with_version(struct arena *a, struct doc *patch, uint64_t rv)
{
    struct edit e;
    edit_init(&e, a);
    edit_set_str(&e, STR("/metadata/resourceVersion"), arena_uint(a, rv));
    struct doc *out = edit_apply(&e, patch, NULL);
    BUG_ON(!out); /* a merge patch of an object is an object */
    edit_done(&e);
    doc_unref(patch);
    return out;
}

struct plan_write *plan_merge_patch(struct plan *p, unsigned stage, const struct obj *o,
                                    str subresource, struct doc *patch, uint64_t rv)
{
    if (rv)
        patch = with_version(p->arena, patch, rv);
    struct plan_write *w =
        add_patch(p, stage, o->kind, o->ns, o->name, subresource, API_PATCH_MERGE, patch);
    w->rv = rv;
    return w;
}

struct plan_write *plan_json_patch(struct plan *p, unsigned stage, const struct obj *o,
                                   str subresource, struct doc *patch)
{
    return add_patch(p, stage, o->kind, o->ns, o->name, subresource, API_PATCH_JSON, patch);
}

struct plan_write *plan_apply(struct plan *p, unsigned stage, const struct kind *k, str ns,
                              str name, str subresource, str manager, struct doc *body)
{
    struct plan_write *w = add_patch(p, stage, k, ns, name, subresource, API_PATCH_APPLY, body);
    w->manager = arena_str(p->arena, manager);
    return w;
}

struct plan_write *plan_update(struct plan *p, unsigned stage, const struct obj *o, str subresource,
                               struct doc *body)
{
    struct plan_write *w = add(p, PLAN_UPDATE, stage, o->kind, o->ns, o->name, body);
    w->subresource = arena_str(p->arena, subresource);
    return w;
}

struct plan_write *plan_delete(struct plan *p, unsigned stage, const struct obj *o)
{
    struct plan_write *w = add(p, PLAN_DELETE, stage, o->kind, o->ns, o->name, NULL);
    w->uid = arena_str(p->arena, o->uid);
    return w;
}

struct plan_write *plan_sub_create(struct plan *p, unsigned stage, const struct obj *o,
                                   str subresource, struct doc *body)
{
    struct plan_write *w = add(p, PLAN_SUB_CREATE, stage, o->kind, o->ns, o->name, body);
    w->subresource = arena_str(p->arena, subresource);
    return w;
}

struct plan_write *plan_bind(struct plan *p, unsigned stage, const struct obj *pod, str node,
                             uint64_t rv)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Binding");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", pod->name);
    jw_put_str(&w, "namespace", pod->ns);
    if (rv)
        jw_put_str(&w, "resourceVersion", arena_printf(p->arena, "%llu", (unsigned long long)rv));
    jw_put_str(&w, "uid", pod->uid); /* a pod made anew under this name is not bound */
    jw_end(&w);
    jw_put_object(&w, "target");
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Node");
    jw_put_str(&w, "name", node);
    jw_end(&w);
    jw_end(&w);
    return plan_sub_create(p, stage, pod, STR("binding"), jw_doc(&w));
}

void plan_why(struct plan_write *w, struct plan *p, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    w->why = arena_vprintf(p->arena, fmt, ap);
    va_end(ap);
}

void plan_verify_absent(struct plan_write *w, const struct kind *k, str ns, str name, str uid)
{
    w->absent_kind = k;
    w->absent_ns = ns;
    w->absent_name = name;
    w->absent_uid = uid;
}

void plan_look_again(struct plan *p, usec delay)
{
    delay = MAX(delay, PLAN_AT_ONCE);
    if (!p->look_again || delay < p->look_again)
        p->look_again = delay;
}

void plan_event(struct plan *p, const struct obj *about, bool warning, str reason, const char *fmt,
                ...)
{
    va_list ap;
    va_start(ap, fmt);
    str message = arena_vprintf(p->arena, fmt, ap);
    va_end(ap);
    unsigned stage = 0;
    for (size_t i = 0; i < p->writes.len; i++)
        stage = MAX(stage, p->writes.p[i].stage);
    *vec_push(&p->events) = (struct plan_event){
        .n_writes = p->writes.len,
        .stage = stage,
        .about = obj_hold(p->arena, obj_ref(about)),
        .warning = warning,
        .reason = arena_str(p->arena, reason),
        .message = message,
    };
}

/* ---- text ---- */

static const char *op_name(const struct plan_write *w)
{
    switch (w->op) {
    case PLAN_CREATE:
        return "create";
    case PLAN_UPDATE:
        return "update";
    case PLAN_PATCH:
        return w->patch == API_PATCH_APPLY ? "apply" : "patch";
    case PLAN_DELETE:
        return "delete";
    case PLAN_SUB_CREATE:
        return "post";
    }
    BUG("plan_op");
}

static void print_name(const struct kind *k, str ns, str name, struct strbuf *out)
{
    strbuf_printf(out, " %s ", k->kind);
    if (ns.len)
        strbuf_printf(out, "%.*s/", STR_ARG(ns));
    strbuf_add_str(out, name);
}

void plan_print_write(const struct plan_write *w, struct strbuf *out)
{
    strbuf_add_cstr(out, op_name(w));
    print_name(w->kind, w->ns, w->name, out);
    if (w->subresource.len)
        strbuf_printf(out, " %.*s", STR_ARG(w->subresource));
}

static void print_body(const struct plan_write *w, struct strbuf *out)
{
    if (!w->body || w->op == PLAN_CREATE || w->op == PLAN_UPDATE)
        return;
    str text = doc_text(w->body);
    strbuf_printf(out, " %.*s", STR_ARG(str_sub(text, 0, PRINT_BODY_MAX)));
    if (text.len > PRINT_BODY_MAX)
        strbuf_printf(out, "... (%zu bytes)", text.len);
}

static void print_line(const struct plan_write *w, struct strbuf *out)
{
    strbuf_printf(out, "[%u] ", w->stage);
    plan_print_write(w, out);
    if (w->rv)
        strbuf_printf(out, " if rv %llu", (unsigned long long)w->rv);
    if (w->absent_kind) {
        strbuf_add_cstr(out, " if absent");
        print_name(w->absent_kind, w->absent_ns, w->absent_name, out);
    }
    print_body(w, out);
    if (w->why.len)
        strbuf_printf(out, ": %.*s", STR_ARG(w->why));
    strbuf_add_char(out, '\n');
}

/* The lowest stage that is not below `from`; false when there is none. */
static bool next_stage(const struct plan *p, unsigned from, unsigned *ret)
{
    bool found = false;
    for (size_t i = 0; i < p->writes.len; i++) {
        unsigned s = p->writes.p[i].stage;
        if (s < from || (found && s >= *ret))
            continue;
        *ret = s;
        found = true;
    }
    return found;
}

void plan_act(struct plan *p, const void *data, size_t size, const char *fmt, ...)
{
    void *copy = arena_alloc(p->arena, size);
    va_list ap;
    memcpy(copy, data, size);
    va_start(ap, fmt);
    *vec_push(&p->acts) = (struct plan_act){arena_vprintf(p->arena, fmt, ap), copy};
    va_end(ap);
}

void plan_print(const struct plan *p, struct strbuf *out)
{
    unsigned stage = 0;
    for (size_t i = 0; i < p->acts.len; i++)
        strbuf_printf(out, "act %.*s\n", STR_ARG(p->acts.p[i].what));
    for (unsigned from = 0; next_stage(p, from, &stage); from = stage + 1) {
        for (size_t i = 0; i < p->writes.len; i++) {
            if (p->writes.p[i].stage == stage)
                print_line(&p->writes.p[i], out);
        }
        if (stage == UINT32_MAX)
            break;
    }
    for (size_t i = 0; i < p->events.len; i++) {
        const struct plan_event *e = &p->events.p[i];
        strbuf_printf(out, "event %s %.*s", e->warning ? "Warning" : "Normal", STR_ARG(e->reason));
        print_name(e->about->kind, e->about->ns, e->about->name, out);
        strbuf_printf(out, ": %.*s\n", STR_ARG(e->message));
    }
    if (p->look_again) {
        strbuf_add_cstr(out, "look again in ");
        duration_format_usec(p->look_again, out);
        strbuf_add_char(out, '\n');
    }
}

void plan_print_line(const struct plan *p, usec now, const char *who, str ns, str name,
                     struct strbuf *out)
{
    strbuf_printf(out, "%lld.%06lld %s ", (long long)(now / USEC_PER_SEC),
                  (long long)(now % USEC_PER_SEC), who);
    if (ns.len)
        strbuf_printf(out, "%.*s/", STR_ARG(ns));
    strbuf_add_str(out, name);
    for (size_t i = 0; i < p->acts.len; i++)
        strbuf_printf(out, "%s%.*s", i ? "; " : ": ", STR_ARG(p->acts.p[i].what));
    for (size_t i = 0; i < p->writes.len; i++) {
        strbuf_add_cstr(out, i || p->acts.len ? "; " : ": ");
        plan_print_write(&p->writes.p[i], out);
        if (p->writes.p[i].why.len)
            strbuf_printf(out, " (%.*s)", STR_ARG(p->writes.p[i].why));
    }
}
