/* See set_view.h. */
#include "cli/set_view.h"

#include "explain/documents/clean.h"
#include "explain/documents/findings.h"
#include "grove/old_names.h"
#include "grove/types.h"

enum { MAX_OUTPUT = 256 << 20 };

static const char *const view_formats[] = {"text", "wide", "yaml", "json", NULL};

#define VIEW_OUTPUT \
    OPT_CHOICE(struct view_args, output, 'o', "output", view_formats, "text", "Output format")

const struct opt view_options[] = {
    VIEW_OUTPUT,
    OPT_FLAG(struct view_args, watch, 'w', "watch", "Keep watching, and show every change"),
    VIEW_CONNECTION,
    OPT_END,
};
const struct opt view_options_all[] = {
    OPT_FLAG(struct view_args, all_namespaces, 'A', "all-namespaces", "In all namespaces"),
    OPT_GROUP(NULL, view_options, 0),
    OPT_END,
};
const struct opt view_options_once[] = {VIEW_OUTPUT, VIEW_CONNECTION, OPT_END};

/* Somebody mistyped it, or named the object without saying its type. */
static void say_unknown_type(str type, struct err *err)
{
    const char *names[2 * KINDS_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; i < kinds_count() && i < KINDS_MAX; i++) {
        const struct kind *k = kinds_at(i);
        if (kind_is(k, KIND_RETIRED))
            continue;
        names[n++] = k->plural;
        names[n++] = k->singular;
    }
    names[n] = NULL;
    const char *near = opt_nearest(type, names);
    if (near)
        (void)err_set(err, ERR_USAGE, "there is no type \"%.*s\"; did you mean %s?", STR_ARG(type),
                      near);
    else
        (void)err_set(err, ERR_USAGE,
                      "there is no type \"%.*s\"; say TYPE/NAME, for example pcs/%.*s",
                      STR_ARG(type), STR_ARG(type));
}

const struct kind *view_read_kind(str type, struct err *err)
{
    const struct kind *k = kind_by_alias(type), *now = k ? NULL : old_kind(type);
    if (!k && now)
        (void)err_set(err, ERR_USAGE,
                      "the server has no resource type \"%.*s\"; today it is called %s",
                      STR_ARG(type), now->plural);
    else if (!k)
        say_unknown_type(type, err);
    return k;
}

void view_hint(const struct session_list *sets, const struct kind *k, str name, struct err *err)
{
    struct arena a = ARENA_INIT;
    str hint = STR_NONE, said = arena_str(&a, str_of(err->message));
    for (size_t i = 0; i < sets->n && str_is_empty(hint); i++)
        hint = old_name_hint(&a, sets->items[i], k, name);
    if (!str_is_empty(hint))
        (void)err_set(err, err->code, "%.*s; %.*s", STR_ARG(said), STR_ARG(hint));
    arena_done(&a);
}

int view_read_target(const struct command_call *call, const struct kind *preset,
                     struct view_target *ret, struct err *err)
{
    str first = call->args_len > 0 ? call->args[0] : STR_NONE;
    *ret = (struct view_target){.kind = preset, .name = first};
    str type = STR_NONE;
    if (str_find_char(first, '/') >= 0) {
        ret->name = first;
        type = str_cut(&ret->name, '/');
        if (call->args_len > 1) {
            cli_one_too_many(call, err);
            return ERR_USAGE;
        }
    } else if (call->args_len > 1) {
        type = first;
        ret->name = call->args[1];
    }
    if (str_is_empty(type))
        return 0;
    ret->kind = view_read_kind(type, err);
    if (!ret->kind)
        return ERR_USAGE;
    if (str_is_empty(ret->name))
        return err_set(err, ERR_USAGE, "say which %s", ret->kind->singular);
    return 0;
}

const struct obj *view_find(const struct picture *p, const struct view_target *t)
{
    for (unsigned part = PICTURE_SETS; part <= PICTURE_PODS; part++) {
        if (picture_kind(part) != t->kind)
            continue;
        const struct obj *o = picture_find(p, part, t->name);
        for (size_t i = 0; !o && i < p->parts[part].n; i++) {
            if (clean_is_short_for(t->name, p->parts[part].items[i]->name))
                o = p->parts[part].items[i];
        }
        return o;
    }
    return NULL;
}

int view_check_kind(const struct view_target *t, const char *command, struct err *err)
{
    for (unsigned part = PICTURE_SETS; part <= PICTURE_PODS; part++) {
        if (picture_kind(part) == t->kind)
            return 0;
    }
    return err_set(err, ERR_USAGE, "grove %s works on pcs, pcsg, pclq, podgang and pod, not on %s",
                   command, t->kind->plural);
}

int view_not_found(const struct picture *p, const struct view_target *t, struct err *err)
{
    const struct obj *other = picture_find_any(p, t->name);
    (void)err_set(err, ERR_NOT_FOUND, "%s%s%s \"%.*s\" not found%s%s%s%.*s%s", t->kind->plural,
                  *t->kind->group ? "." : "", t->kind->group, STR_ARG(t->name),
                  other ? "; did you mean " : "", other ? findings_kind(other->kind) : "",
                  other ? "/" : "", STR_ARG(other ? other->name : STR_NONE), other ? "?" : "");
    if (!other)
        view_hint(&p->parts[PICTURE_SETS], t->kind, t->name, err);
    return ERR_NOT_FOUND;
}

int view_sets(const struct picture *p, const struct view_target *t, struct session_list *ret,
              struct arena *a, struct err *err)
{
    *ret = p->parts[PICTURE_SETS];
    if (str_is_empty(t->name))
        return 0;
    struct obj *one = picture_find(p, PICTURE_SETS, t->name);
    ret->items = arena_array(a, struct obj *, 1);
    ret->items[0] = one;
    ret->n = 1;
    return one ? 0 : view_not_found(p, t, err);
}

/* ---- all namespaces ---- */

/* The objects of one namespace, which stand together. */
static struct session_list slice_of(const struct session_list *l, str ns)
{
    struct session_list r = {.items = l->items, .rv = l->rv};
    while (r.items < l->items + l->n && !str_eq(r.items[0]->ns, ns))
        r.items++;
    while (r.items + r.n < l->items + l->n && str_eq(r.items[r.n]->ns, ns))
        r.n++;
    return r;
}

/* {"namespaces": [...]}: what the view makes of each that has sets, in their order. */
static struct doc *build_all(const struct view *v, const struct picture *p,
                             const struct view_target *t, struct arena *a, struct err *err)
{
    const struct session_list *sets = &p->parts[PICTURE_SETS];
    struct jw w;
    int r = 0;
    jw_init(&w);
    jw_object(&w);
    jw_put_array(&w, "namespaces");
    for (size_t i = 0; i < sets->n && r == 0;) {
        struct picture one = *p;
        one.ns = sets->items[i]->ns;
        for (unsigned k = 0; k < PICTURE_PARTS; k++) {
            if (picture_is_of_namespace(k))
                one.parts[k] = slice_of(&p->parts[k], one.ns);
        }
        i += one.parts[PICTURE_SETS].n;
        struct doc *d = v->build(&one, t, a, err);
        if (d)
            jw_val(&w, doc_root(d));
        r = d ? 0 : err->code;
        doc_unref(d);
    }
    jw_end(&w);
    jw_end(&w);
    struct doc *all = jw_doc(&w);
    if (r == 0)
        return all;
    doc_unref(all);
    return NULL;
}

static void write_all(jval doc, bool wide, struct arena *a, struct strbuf *out,
                      void (*write)(jval doc, bool wide, struct arena *a, struct strbuf *out))
{
    jval all = jgetc(doc, "namespaces");
    for (struct jiter it = jiter(all); jnext(&it);) {
        strbuf_add_cstr(out, it.index ? "\n" : "");
        paint_add(out, PAINT_STRONG,
                  arena_printf(a, "namespace %.*s\n", STR_ARG(jstr(jgetc(it.value, "namespace")))));
        write(it.value, wide, a, out);
    }
    if (jlen(all) == 0)
        strbuf_add_cstr(out, "No PodCliqueSets in any namespace.\n");
}

/* ---- showing ---- */

struct showing {
    const struct view *view;
    const struct view_args *args;
    const struct view_target *target;
    struct screen screen;
    struct session_retry retry;
    int code;
    bool over;
    struct err *err;
};

static int format_of(const struct view_args *a)
{
    static const enum print_format formats[] = {PRINT_TABLE, PRINT_WIDE, PRINT_YAML, PRINT_JSON};
    return (int)formats[a->output];
}

static void write_doc(jval doc, const struct view_args *args,
                      void (*write)(jval doc, bool wide, struct arena *a, struct strbuf *out),
                      enum clean_lines lines, struct arena *a, struct strbuf *out)
{
    int format = format_of(args);
    if (format > PRINT_WIDE) {
        print_doc_to(doc, (enum print_format)format, out);
        return;
    }
    struct doc *clean = clean_doc(doc, lines);
    jval v = clean ? doc_root(clean) : doc;
    struct doc *brief = format == PRINT_WIDE ? NULL : clean_short_doc(v);
    v = brief ? doc_root(brief) : v;
    if (args->all_namespaces)
        write_all(v, format == PRINT_WIDE, a, out, write);
    else
        write(v, format == PRINT_WIDE, a, out);
    doc_unref(brief);
    doc_unref(clean);
}

void view_print(jval doc, const struct view_args *args,
                void (*write)(jval doc, bool wide, struct arena *a, struct strbuf *out),
                struct arena *a)
{
    struct strbuf out = STRBUF_INIT(MAX_OUTPUT);
    write_doc(doc, args, write, CLEAN_ALL, a, &out);
    fwrite(out.p ? out.p : "", 1, out.len, stdout);
    strbuf_done(&out);
}

static int show(struct showing *s, const struct picture *p)
{
    struct arena a = ARENA_INIT;
    struct strbuf out = STRBUF_INIT(MAX_OUTPUT);
    struct doc *d = s->args->all_namespaces ? build_all(s->view, p, s->target, &a, s->err)
                                            : s->view->build(p, s->target, &a, s->err);
    if (d) {
        write_doc(doc_root(d), s->args, s->view->write,
                  s->view->has_lines ? CLEAN_KEEP_LINES : CLEAN_ALL, &a, &out);
        s->code = s->view->answer ? s->view->answer(doc_root(d)) : EXIT_OK;
        s->over = s->view->over && s->view->over(doc_root(d));
        if (s->args->watch)
            screen_show(&s->screen, &out);
        else
            fwrite(out.p ? out.p : "", 1, out.len, stdout);
        doc_unref(d);
    }
    strbuf_done(&out);
    arena_done(&a);
    return d ? 0 : s->err->code;
}

static bool on_picture(void *ctx, const struct picture *p)
{
    struct showing *s = ctx;
    if (s->retry.pause) {
        session_answers(&s->retry);
        screen_again(&s->screen);
    }
    if (show(s, p) == 0)
        return s->over || ferror(stdout);
    s->code = EXIT_NO;
    return true;
}

static int show_once(struct showing *s, struct session *session, struct err *err)
{
    struct picture p = {0};
    struct err ignored = ERR_INIT;
    int r = picture_read(session, s->view->mask, &p, err);
    if (r)
        return r;
    if (s->view->optional && picture_read(session, s->view->optional, &p, &ignored)) {
        for (unsigned i = 0; i < PICTURE_PARTS; i++) {
            if (s->view->optional >> i & 1)
                p.parts[i] = (struct session_list){0};
        }
    }
    return show(s, &p);
}

/* What was seen once is waited for when its server goes away. */
static int show_on(struct showing *s, struct session *session, struct err *err)
{
    const struct view *v = s->view;
    int r;
    do {
        if (s->args->all_namespaces)
            session->ns = STR_NONE;
        session_mind_reader(session);
        r = picture_follow(session, v->mask, v->optional, on_picture, s, 0, err);
        r = r ? r : err->code;
    } while (r && s->screen.begun && session_retry(session, &s->args->session, &s->retry, err));
    return err->code;
}

int view_run(const struct view *v, const struct view_args *a, const struct view_target *t)
{
    struct session session = {0};
    struct err err = ERR_INIT;
    struct showing s = {.view = v, .args = a, .target = t, .err = &err};
    int r = a->all_namespaces && t->name.len
                ? err_set(&err, ERR_USAGE, "a name says which one; leave out --all-namespaces")
                : session_open_to_look(&a->session, &session, &err);
    if (r == 0 && a->all_namespaces)
        session.ns = STR_NONE;
    if (r == 0)
        r = a->watch ? show_on(&s, &session, &err) : show_once(&s, &session, &err);
    if (s.over)
        screen_leave(&s.screen);
    screen_done(&s.screen);
    if (session.loop)
        session_close(&session);
    if (r)
        return cli_fail(&err);
    return fflush(stdout) == 0 ? s.code : EXIT_NO;
}
