/* See errors.h. */
#include "operator/common/errors.h"

static const struct failures *last_failure(const struct world *w, const struct obj *o)
{
    return world_last_failure(w, &(struct key){o->kind, o->ns, o->name});
}

static const struct error_code *find_code(const struct error_code *codes, size_t n,
                                          const struct failure *f)
{
    for (size_t i = 0; i < n; i++) {
        if (codes[i].kind == f->kind && (codes[i].op == ERROR_ANY_OP || codes[i].op == (int)f->op))
            return &codes[i];
    }
    return NULL;
}

static str op_name(enum plan_op op)
{
    static const char *const names[] = {
        [PLAN_CREATE] = "Create", [PLAN_UPDATE] = "Update",     [PLAN_PATCH] = "Patch",
        [PLAN_DELETE] = "Delete", [PLAN_SUB_CREATE] = "Create",
    };
    return str_of(names[op]);
}

static str cause_of(struct arena *a, const struct failure *f)
{
    if (f->code == 0)
        return STR("no answer from the API server");
    if (!str_is_empty(f->message))
        return f->message;
    return arena_printf(a, "%d %.*s", f->code, STR_ARG(f->reason));
}

str errors_describe(struct arena *a, const struct failure *f, const char *code)
{
    return arena_printf(a, "[Operation: %.*s, Code: %s] message: %s %.*s/%.*s failed, cause: %.*s",
                        STR_ARG(op_name(f->op)), code, f->kind->kind, STR_ARG(f->ns),
                        STR_ARG(f->name), STR_ARG(cause_of(a, f)));
}

/* When an entry that says the same was first observed; empty: there is none. */
static str known_since(jval old, const char *code, str description)
{
    for (struct jiter it = jiter(old); jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "code")), code) &&
            str_eq(jstr(jgetc(it.value, "description")), description))
            return jstr(jgetc(it.value, "observedAt"));
    }
    return STR_NONE;
}

static void write_entry(struct jw *w, const struct world *world, const char *code, str description,
                        str since)
{
    jw_object(w);
    jw_put_cstr(w, "code", code);
    jw_put_str(w, "description", description);
    jw_key(w, STR("observedAt"));
    if (str_is_empty(since)) {
        struct strbuf now = STRBUF_INIT(64);
        time_format_rfc3339(world->now, &now);
        jw_str(w, strbuf_str(&now));
        strbuf_done(&now);
    } else {
        jw_str(w, since);
    }
    jw_end(w);
}

static void warn(struct plan *p, const struct obj *about, const struct error_code *c,
                 const struct failure *f)
{
    if (c->event)
        plan_event(p, about, true, str_of(c->event), "%s %.*s: %.*s", f->kind->kind,
                   STR_ARG(f->name), STR_ARG(cause_of(p->arena, f)));
}

size_t errors_write(struct jw *w, struct plan *p, const struct world *world,
                    const struct obj *about, const struct error_code *codes, size_t n,
                    const error_vec *found)
{
    const struct failures *failed = last_failure(world, about);
    jval old = jgetc(obj_status(about), "lastErrors");
    size_t written = 0;
    if (!failed && (!found || found->len == 0) && jlen(old) == 0)
        return 0;
    jw_put_array(w, "lastErrors");
    for (; found && written < found->len; written++) {
        const struct error_found *e = &found->p[written];
        write_entry(w, world, e->code, e->description, known_since(old, e->code, e->description));
    }
    for (size_t i = 0; failed && i < failed->n; i++) {
        const struct failure *f = &failed->items[i];
        const struct error_code *c = find_code(codes, n, f);
        if (!c)
            continue;
        str description = errors_describe(p->arena, f, c->code);
        str since = known_since(old, c->code, description);
        write_entry(w, world, c->code, description, since);
        if (str_is_empty(since))
            warn(p, about, c, f);
        written++;
    }
    jw_end(w);
    return written;
}

/* The worst first. */
static const char *const error_reasons[] = {"FailedCreate", "FailedUpdate", "FailedDelete"};

static unsigned reason_of(const struct failure *f)
{
    return f->op == PLAN_CREATE || f->op == PLAN_SUB_CREATE ? 0 : f->op == PLAN_DELETE ? 2 : 1;
}

struct error_summary errors_summary(struct arena *a, const struct world *world,
                                    const struct obj *about, const struct error_code *codes,
                                    size_t n, const error_vec *found)
{
    const struct failures *failed = last_failure(world, about);
    const struct failure *worst = NULL;
    if (found && found->len > 0)
        return (struct error_summary){error_reasons[0], found->p[0].description};
    for (size_t i = 0; failed && i < failed->n; i++) {
        const struct failure *f = &failed->items[i];
        if (find_code(codes, n, f) && (!worst || reason_of(f) < reason_of(worst)))
            worst = f;
    }
    if (!worst)
        return (struct error_summary){NULL, STR_NONE};
    return (struct error_summary){error_reasons[reason_of(worst)],
                                  arena_printf(a, "%s %.*s: %.*s", worst->kind->kind,
                                               STR_ARG(worst->name), STR_ARG(cause_of(a, worst)))};
}

void errors_warn(struct plan *p, const struct world *world, const struct key *key,
                 const struct obj *about, const struct error_code *codes, size_t n)
{
    const struct failures *failed = world_last_failure(world, key);
    for (size_t i = 0; failed && i < failed->n; i++) {
        const struct error_code *c = find_code(codes, n, &failed->items[i]);
        if (c)
            warn(p, about, c, &failed->items[i]);
    }
}

unsigned errors_status_stage(const struct world *w, const struct obj *about, unsigned first,
                             unsigned last)
{
    return last_failure(w, about) ? first : last;
}
