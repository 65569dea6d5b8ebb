/*
 * `grove why`: what happened to an object, in order, and who decided it. Made from what is stored:
 * the times objects and their conditions carry, and the events about the object and about those it
 * belongs to that name it. Events live for an hour.
 */
#include "cli/findings.h"
#include "cli/view.h"
#include "grove/types.h"

enum { MAX_ENTRIES = 2000 };

struct entry {
    usec at;
    size_t order;
    str who, about, what, text;
    bool warning;
};

struct journal {
    const struct picture *picture;
    struct arena *arena;
    VEC(struct entry) entries;
};

static void note(struct journal *j, usec at, str who, str about, str what, str text, bool warning)
{
    if (j->entries.len < MAX_ENTRIES && at > 0)
        *vec_push(&j->entries) =
            (struct entry){at, j->entries.len, who, about, what, text, warning};
}

static usec time_of(jval v)
{
    usec t = 0;
    return time_parse_rfc3339(jstr(v), &t) ? t : 0;
}

static usec event_time(jval e)
{
    usec last = time_of(jgetc(e, "lastTimestamp")), micro = time_of(jgetc(e, "eventTime"));
    usec first = time_of(jgetc(e, "firstTimestamp"));
    return last ? last : micro ? micro : first;
}

/* ---- what there is to tell ---- */

/* "pclq/name" of what an event is about, which may be gone. */
static str about_text(struct arena *a, jval involved)
{
    str kind = jstr(jgetc(involved, "kind")), name = jstr(jgetc(involved, "name"));
    for (unsigned part = PICTURE_SETS; part <= PICTURE_PODS; part++) {
        if (str_is(kind, picture_kind(part)->kind))
            return arena_printf(a, "%s/%.*s", findings_kind(picture_kind(part)), STR_ARG(name));
    }
    return arena_printf(a, "%.*s/%.*s", STR_ARG(kind), STR_ARG(name));
}

/* Events about it, and those about others that name it. */
static void note_events(struct journal *j, const struct view_target *t)
{
    const struct session_list *events = &j->picture->parts[PICTURE_EVENTS];
    for (size_t i = 0; i < events->n; i++) {
        jval e = obj_root(events->items[i]), about = jgetc(e, "involvedObject");
        str message = jstr(jgetc(e, "message")), who = jstr(jpath(e, "source.component"));
        bool its = str_is(jstr(jgetc(about, "kind")), t->kind->kind) &&
                   str_eq(jstr(jgetc(about, "name")), t->name);
        if (its || str_find(message, t->name) >= 0)
            note(j, event_time(e), who.len ? who : jstr(jgetc(e, "reportingComponent")),
                 about_text(j->arena, about), jstr(jgetc(e, "reason")), message,
                 str_is(jstr(jgetc(e, "type")), "Warning"));
    }
}

static void note_conditions(struct journal *j, const struct obj *o)
{
    for (struct jiter it = jiter(jgetc(obj_status(o), "conditions")); jnext(&it);) {
        str type = jstr(jgetc(it.value, "type")), message = jstr(jgetc(it.value, "message"));
        str reason = jstr(jgetc(it.value, "reason")), node = jstr(jgetc(obj_spec(o), "nodeName"));
        if (str_is(type, "PodReadyToStartContainers") || str_is(type, "ContainersReady"))
            continue;
        if (str_is(type, "PodScheduled") && !str_is_empty(node))
            message = arena_printf(j->arena, "on node %.*s", STR_ARG(node));
        note(j, time_of(jgetc(it.value, "lastTransitionTime")), STR_NONE,
             findings_reference(j->arena, o),
             arena_printf(j->arena, "%.*s=%.*s", STR_ARG(type),
                          STR_ARG(jstr(jgetc(it.value, "status")))),
             message.len ? message : reason, false);
    }
}

static void note_life(struct journal *j, const struct obj *o)
{
    str node = jstr(jgetc(obj_spec(o), "nodeName"));
    jval owner = obj_controller_ref(o);
    note(j, obj_created(o), STR_NONE, findings_reference(j->arena, o), STR("Created"),
         j_has(owner) ? arena_printf(j->arena, "by %.*s %.*s", STR_ARG(jstr(jgetc(owner, "kind"))),
                                     STR_ARG(jstr(jgetc(owner, "name"))))
                      : STR_NONE,
         false);
    note(j, obj_deleted_at(o), STR_NONE, findings_reference(j->arena, o), STR("Deleted"),
         STR("it is to be gone by then"), false);
    for (struct jiter it = jiter(jgetc(obj_status(o), "containerStatuses")); jnext(&it);) {
        jval running = jpath(it.value, "state.running");
        note(j, time_of(jgetc(running, "startedAt")), STR_NONE, findings_reference(j->arena, o),
             STR("Started"),
             arena_printf(j->arena, "container %.*s on %.*s",
                          STR_ARG(jstr(jgetc(it.value, "name"))), STR_ARG(node)),
             false);
    }
}

/* ---- the document ---- */

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static const struct obj *find(const struct picture *p, const struct view_target *t)
{
    for (unsigned part = PICTURE_SETS; part <= PICTURE_PODS; part++) {
        if (picture_kind(part) == t->kind)
            return picture_find(p, part, t->name);
    }
    return NULL;
}

static void note_object(struct journal *j, const struct obj *o)
{
    const struct obj *gang = o->kind == &kind_pod ? picture_find(j->picture, PICTURE_GANGS,
                                                                 obj_label(o, STR(LABEL_PODGANG)))
                                                  : NULL;
    note_life(j, o);
    note_conditions(j, o);
    if (gang)
        note_conditions(j, gang);
}

static void put_time(struct jw *w, const char *key, usec at)
{
    struct strbuf b = STRBUF_INIT(64);
    time_format_rfc3339(at, &b);
    jw_put_str(w, key, strbuf_str(&b));
    strbuf_done(&b);
}

static struct doc *write_journal(const struct journal *j, const struct view_target *t, bool there)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "object",
               arena_printf(j->arena, "%s/%.*s", findings_kind(t->kind), STR_ARG(t->name)));
    jw_put_bool(&w, "exists", there);
    jw_put_array(&w, "journal");
    for (size_t i = 0; i < j->entries.len; i++) {
        const struct entry *e = &j->entries.p[i];
        jw_object(&w);
        put_time(&w, "time", e->at);
        jw_put_str(&w, "by", e->who);
        jw_put_str(&w, "object", e->about);
        jw_put_str(&w, "what", e->what);
        jw_put_str(&w, "text", e->text);
        jw_put_bool(&w, "warning", e->warning);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static struct doc *why_build(const struct picture *p, const struct view_target *t, struct arena *a,
                             struct err *err)
{
    struct journal j = {.picture = p, .arena = a};
    const struct obj *o = find(p, t);
    if (o)
        note_object(&j, o);
    note_events(&j, t);
    struct doc *d = NULL;
    vec_sort(&j.entries, compare);
    if (o || j.entries.len > 0)
        d = write_journal(&j, t, o != NULL);
    else
        (void)view_not_found(t, err);
    vec_done(&j.entries);
    return d;
}

/* ---- the text ---- */

static void why_write(jval doc, bool wide, struct arena *a, struct strbuf *out)
{
    struct grid g;
    (void)wide;
    grid_init(&g, a, 4);
    if (!jbool(jgetc(doc, "exists"), true))
        strbuf_printf(out, "%.*s is gone; this is what was said of it\n",
                      STR_ARG(jstr(jgetc(doc, "object"))));
    for (struct jiter it = jiter(jgetc(doc, "journal")); jnext(&it);) {
        str who = jstr(jgetc(it.value, "by"));
        bool bad = jbool(jgetc(it.value, "warning"), false);
        grid_add(&g, PAINT_DIM, jstr(jgetc(it.value, "time")));
        grid_add(&g, PAINT_PLAIN, jstr(jgetc(it.value, "object")));
        grid_add(&g, bad ? PAINT_BAD : PAINT_PLAIN, jstr(jgetc(it.value, "what")));
        grid_printf(&g, PAINT_PLAIN, "%.*s%s%.*s%s", STR_ARG(jstr(jgetc(it.value, "text"))),
                    who.len ? " (" : "", STR_ARG(who), who.len ? ")" : "");
    }
    grid_write(&g, out);
}

static int run_why(void *ctx, const void *opts, const struct command_call *call)
{
    static const struct view view = {
        .mask = PICTURE_WITH_EVENTS, .build = why_build, .write = why_write};
    struct view_target t;
    struct err err = ERR_INIT;
    (void)ctx;
    if (view_read_target(call, &kind_pod, &t, &err))
        return cli_fail(&err);
    return view_run(&view, opts, &t);
}

const struct command cmd_why = {
    .name = "why",
    .summary = "What happened to an object, in order, and who decided it",
    .description =
        "The decisions about a pod, clique, group, gang or set as they were recorded: who "
        "made it, where it was placed, why it was refused or deleted. Also of what is "
        "gone, as long as its events are kept (an hour).",
    .usage = "KIND/NAME",
    .min_args = 1,
    .max_args = 2,
    .opts = view_options,
    .opts_size = sizeof(struct view_args),
    .examples = "  $ grove why pod/my-set-0-decode-x7k2p\n  $ grove why pcs/my-set -o json",
    .run = run_why,
};
