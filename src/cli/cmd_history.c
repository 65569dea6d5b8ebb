/*
 * `grove rollout history` and `grove rollout diff`: the revisions of a set that are kept, what each
 * of them is, and what differs between two of them or between one and the live template.
 */
#include "cli/cmd_rollout.h"
#include "cli/offer_names.h"
#include "cli/textdiff.h"
#include "grove/revision.h"
#include "grove/types.h"
#include "json/yaml.h"

enum { MAX_TEXT = 64 << 20 };

/* ---- reading ---- */

static int by_number(const void *a, const void *b)
{
    int64_t x = revision_number(*(struct obj *const *)a),
            y = revision_number(*(struct obj *const *)b);
    return (x > y) - (x < y);
}

void rollout_history(const struct picture *p, const struct obj *pcs, struct arena *a,
                     struct rollout_history *ret)
{
    const struct session_list *all = &p->parts[PICTURE_REVISIONS];
    *ret = (struct rollout_history){.items = arena_array(a, struct obj *, all->n + 1)};
    for (size_t i = 0; i < all->n; i++) {
        if (str_eq(all->items[i]->owner_uid, pcs->uid) && !all->items[i]->deleting)
            ret->items[ret->n++] = all->items[i];
    }
    if (ret->n > 1)
        qsort(ret->items, ret->n, sizeof(*ret->items), by_number);
    ret->current = revision_current(pcs, ret->items, ret->n);
}

const struct obj *rollout_revision(const struct rollout_history *h, int64_t number, struct err *err)
{
    for (size_t i = 0; i < h->n; i++) {
        if (revision_number(h->items[i]) == number)
            return h->items[i];
    }
    (void)err_set(err, ERR_NOT_FOUND,
                  "unable to find revision %lld; `grove rollout history` lists "
                  "those that are kept",
                  (long long)number);
    return NULL;
}

const struct obj *rollout_previous(const struct rollout_history *h, const struct obj *pcs,
                                   struct err *err)
{
    for (size_t i = h->n; i-- > 0;) {
        if (h->items[i] != h->current)
            return h->items[i];
    }
    (void)err_set(err, ERR_NOT_FOUND, "pcs/%.*s has no revision before the current one",
                  STR_ARG(pcs->name));
    return NULL;
}

/* The parts of a live template that a revision stores. */
static struct doc *live_template(const struct obj *pcs)
{
    jval template = jpath(obj_root(pcs), "spec.template");
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put(&w, "priorityClassName", jgetc(template, "priorityClassName"));
    jw_put_array(&w, "cliques");
    for (struct jiter it = jiter(jgetc(template, "cliques")); jnext(&it);) {
        jw_object(&w);
        jw_put(&w, "name", jgetc(it.value, "name"));
        jw_put(&w, "labels", jgetc(it.value, "labels"));
        jw_put(&w, "annotations", jgetc(it.value, "annotations"));
        jw_put_object(&w, "spec");
        jw_put(&w, "podSpec", jpath(it.value, "spec.podSpec"));
        jw_end(&w);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- history ---- */

struct history_args {
    struct view_args view;
    int64_t revision, to_revision;
};

static const struct obj *find_set(const struct picture *p, const struct view_target *t,
                                  struct err *err)
{
    const struct obj *pcs = picture_find(p, PICTURE_SETS, t->name);
    if (!pcs)
        (void)view_not_found(p, t, err);
    return pcs;
}

static void put_revision(struct jw *w, const struct obj *r, const struct rollout_history *h,
                         const struct obj *pcs, bool whole)
{
    str hash = revision_generation_hash(r);
    jw_put_int(w, "revision", revision_number(r));
    jw_put_str(w, "hash", hash);
    jw_put(w, "createdAt", jgetc(r->meta, "creationTimestamp"));
    jw_put_bool(w, "current", r == h->current);
    jw_put_bool(w, "lastComplete",
                str_eq(jstr(jgetc(obj_status(pcs), "lastCompleteGenerationHash")), hash));
    jw_put_str(w, "changeCause", revision_cause(r));
    if (whole)
        jw_put(w, "template", revision_template(r));
}

static struct doc *history_build(const struct picture *p, const struct view_target *t,
                                 struct arena *a, struct err *err)
{
    struct rollout_history h;
    struct jw w;
    const struct history_args *args = t->opts;
    const struct obj *pcs = find_set(p, t, err), *one = NULL;
    if (!pcs)
        return NULL;
    rollout_history(p, pcs, a, &h);
    if (args->revision && !(one = rollout_revision(&h, args->revision, err)))
        return NULL;
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "namespace", p->ns);
    jw_put_str(&w, "name", pcs->name);
    if (one) {
        put_revision(&w, one, &h, pcs, true);
    } else {
        jw_put_array(&w, "revisions");
        for (size_t i = 0; i < h.n; i++) {
            jw_object(&w);
            put_revision(&w, h.items[i], &h, pcs, false);
            jw_end(&w);
        }
        jw_end(&w);
    }
    jw_end(&w);
    return jw_doc(&w);
}

static str cause_text(jval v)
{
    str cause = jstr(jgetc(v, "changeCause"));
    return str_is_empty(cause) ? STR("<none>") : cause;
}

static const char *state_text(jval v)
{
    bool current = jbool(jgetc(v, "current"), false),
         complete = jbool(jgetc(v, "lastComplete"), false);
    return current && complete ? "current"
           : current           ? "in progress"
           : complete          ? "last complete"
                               : "";
}

static void write_one(jval doc, struct strbuf *out)
{
    paint_add(out, PAINT_STRONG, STR("pcs/"));
    strbuf_printf(out, "%.*s revision %lld", STR_ARG(jstr(jgetc(doc, "name"))),
                  (long long)jint(jgetc(doc, "revision"), 0));
    if (*state_text(doc))
        strbuf_printf(out, " (%s)", state_text(doc));
    strbuf_printf(out, ": %.*s\n", STR_ARG(cause_text(doc)));
    yaml_write(jgetc(doc, "template"), true, out);
}

static void history_write(jval doc, bool wide, struct arena *a, struct strbuf *out)
{
    static const char *const headings[] = {"REVISION", "STATE", "CREATED", "CHANGE-CAUSE"};
    jval revisions = jgetc(doc, "revisions");
    struct grid g;
    if (j_has(jgetc(doc, "template"))) {
        write_one(doc, out);
        return;
    }
    if (jlen(revisions) == 0) {
        strbuf_printf(out, "pcs/%.*s has no revisions yet.\n", STR_ARG(jstr(jgetc(doc, "name"))));
        return;
    }
    grid_init(&g, a, ARRAY_LEN(headings) + wide);
    if (wide)
        grid_add(&g, PAINT_DIM, STR("HASH"));
    for (size_t i = 0; i < ARRAY_LEN(headings); i++)
        grid_add(&g, PAINT_DIM, str_of(headings[i]));
    for (struct jiter it = jiter(revisions); jnext(&it);) {
        if (wide)
            grid_add(&g, PAINT_PLAIN, jstr(jgetc(it.value, "hash")));
        grid_printf(&g, PAINT_PLAIN, "%lld", (long long)jint(jgetc(it.value, "revision"), 0));
        grid_add(&g, PAINT_GOOD, str_of(state_text(it.value)));
        grid_add(&g, PAINT_PLAIN, jstr(jgetc(it.value, "createdAt")));
        grid_add(&g, PAINT_PLAIN, cause_text(it.value));
    }
    grid_write(&g, out);
}

static int run_view(const struct view *v, const struct history_args *a,
                    const struct command_call *call)
{
    struct view_target t;
    struct err err = ERR_INIT;
    if (rollout_read_target(call, &t, &err))
        return cli_fail(&err);
    t.opts = a;
    return view_run(v, &a->view, &t);
}

static int run_history(void *ctx, const void *opts, const struct command_call *call)
{
    static const struct view view = {.mask = 1U << PICTURE_SETS | 1U << PICTURE_REVISIONS,
                                     .build = history_build,
                                     .write = history_write};
    (void)ctx;
    return run_view(&view, opts, call);
}

/* ---- diff ---- */

/* One side: its name and its template as text. */
struct side {
    str name;
    struct strbuf text;
};

static void side_of_revision(struct side *s, const struct obj *r, const struct obj *pcs,
                             struct arena *a)
{
    s->name = arena_printf(a, "pcs/%.*s revision %lld", STR_ARG(pcs->name),
                           (long long)revision_number(r));
    s->text = STRBUF_INIT(MAX_TEXT);
    yaml_write(revision_template(r), true, &s->text);
}

static void side_of_live(struct side *s, const struct obj *pcs, struct arena *a)
{
    struct doc *d = live_template(pcs);
    s->name = arena_printf(a, "pcs/%.*s live", STR_ARG(pcs->name));
    s->text = STRBUF_INIT(MAX_TEXT);
    yaml_write(doc_root(d), true, &s->text);
    doc_unref(d);
}

static struct doc *write_diff(const struct side *old, const struct side *new)
{
    struct strbuf text = STRBUF_INIT(MAX_TEXT);
    struct jw w;
    textdiff_write(old->name, strbuf_str(&old->text), new->name, strbuf_str(&new->text), &text);
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "from", old->name);
    jw_put_str(&w, "to", new->name);
    jw_put_bool(&w, "differs", text.len > 0);
    jw_put_str(&w, "diff", strbuf_str(&text));
    jw_end(&w);
    strbuf_done(&text);
    return jw_doc(&w);
}

static struct doc *diff_build(const struct picture *p, const struct view_target *t, struct arena *a,
                              struct err *err)
{
    struct rollout_history h;
    const struct history_args *args = t->opts;
    const struct obj *pcs = find_set(p, t, err), *from, *to = NULL;
    if (!pcs)
        return NULL;
    rollout_history(p, pcs, a, &h);
    from =
        args->revision ? rollout_revision(&h, args->revision, err) : rollout_previous(&h, pcs, err);
    if (!from || (args->to_revision && !(to = rollout_revision(&h, args->to_revision, err))))
        return NULL;
    struct side old, new;
    side_of_revision(&old, from, pcs, a);
    if (to)
        side_of_revision(&new, to, pcs, a);
    else
        side_of_live(&new, pcs, a);
    struct doc *d = write_diff(&old, &new);
    strbuf_done(&old.text);
    strbuf_done(&new.text);
    return d;
}

static void diff_write(jval doc, bool wide, struct arena *a, struct strbuf *out)
{
    str rest = jstr(jgetc(doc, "diff"));
    (void)wide;
    (void)a;
    while (rest.len > 0) {
        str line = str_cut(&rest, '\n');
        char first = line.len ? line.p[0] : ' ';
        paint_add(out,
                  first == '-'   ? PAINT_BAD
                  : first == '+' ? PAINT_GOOD
                  : first == '@' ? PAINT_DIM
                                 : PAINT_PLAIN,
                  line);
        strbuf_add_char(out, '\n');
    }
}

static int diff_answer(jval doc)
{
    return jbool(jgetc(doc, "differs"), false) ? EXIT_NO : EXIT_OK;
}

static int run_diff(void *ctx, const void *opts, const struct command_call *call)
{
    static const struct view view = {.mask = 1U << PICTURE_SETS | 1U << PICTURE_REVISIONS,
                                     .build = diff_build,
                                     .write = diff_write,
                                     .has_lines = true,
                                     .answer = diff_answer};
    (void)ctx;
    return run_view(&view, opts, call);
}

/* ---- the tables ---- */

static const struct opt history_opts[] = {
    OPT_INT(struct history_args, revision, 0, "revision", "N", 0, INT64_MAX, "0",
            "Show the template of this revision"),
    OPT_GROUP(NULL, view_options_once, offsetof(struct history_args, view)),
    OPT_END,
};

const struct command cmd_rollout_history = {
    .name = "history",
    .summary = "List the stored revisions of a set, and why each was made",
    .description = "The cause is the annotation " ANNOTATION_CHANGE_CAUSE
                   " that the set had at the time, or else what was changed.",
    .usage = "pcs/NAME",
    .min_args = 1,
    .max_args = 2,
    .opts = history_opts,
    .opts_size = sizeof(struct history_args),
    .examples = "  $ grove rollout history pcs/my-set\n"
                "  $ grove rollout history pcs/my-set --revision 3",
    .complete = names_of_sets,
    .run = run_history,
};

static const struct opt diff_opts[] = {
    OPT_INT(struct history_args, revision, 0, "revision", "N", 0, INT64_MAX, "0",
            "Compare from this revision (0: the one before the current one)"),
    OPT_INT(struct history_args, to_revision, 0, "to-revision", "N", 0, INT64_MAX, "0",
            "Compare with this revision (0: with the live template)"),
    OPT_GROUP(NULL, view_options_once, offsetof(struct history_args, view)),
    OPT_END,
};

const struct command cmd_rollout_diff = {
    .name = "diff",
    .summary = "Compare two revisions, or one with the live template",
    .description = "Exit code 0 when nothing differs, 1 when something does, like diff.",
    .usage = "pcs/NAME",
    .min_args = 1,
    .max_args = 2,
    .opts = diff_opts,
    .opts_size = sizeof(struct history_args),
    .examples = "  $ grove rollout diff pcs/my-set\n"
                "  $ grove rollout diff pcs/my-set --revision 2 --to-revision 3",
    .complete = names_of_sets,
    .run = run_diff,
};
