/*
 * `grove why`: what happened to an object, in order, and who decided it. Three sources become one
 * story: the journal of decisions that `grove up` keeps (client/journal.h), the events about the
 * object and those that name it, and the times that the object and its conditions carry. Any other
 * API server has no journal; then the rest is told, and that it is only the rest.
 */
#include <ctype.h>

#include "cli/offer_names.h"
#include "cli/set_view.h"
#include "explain/documents/findings.h"
#include "grove/types.h"

enum { MAX_ENTRIES = 2000 };

/* Times of objects and events are whole seconds: within one, causes are told before effects. */
enum rank { RANK_DECISION, RANK_EVENT, RANK_FACT };

struct entry {
    usec at;
    unsigned rank;
    size_t order;
    str who, about, what, text;
    bool warning;
};

struct journal {
    const struct picture *picture;
    struct arena *arena;
    VEC(struct entry) entries;
    str missing; /* why the decisions themselves are not among them; empty: they are */
};

/* What is so, in the order in which it comes to be so. */
static unsigned rank_of_fact(str what)
{
    static const char *const first[] = {"Created", "PodScheduled=True", "Initialized=True",
                                        "Started"};
    unsigned i = 0;
    while (i < ARRAY_LEN(first) && !str_is(what, first[i]))
        i++;
    return RANK_FACT + i;
}

static void note(struct journal *j, unsigned rank, struct entry e)
{
    if (j->entries.len >= MAX_ENTRIES || e.at <= 0)
        return;
    e.rank = rank;
    e.order = j->entries.len;
    *vec_push(&j->entries) = e;
}

static void note_fact(struct journal *j, usec at, const struct obj *o, str what, str text)
{
    note(j, rank_of_fact(what),
         (struct entry){
             .at = at, .about = findings_reference(j->arena, o), .what = what, .text = text});
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

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '.';
}

/* Does a text say the name, and not only a longer one that it is part of? */
static bool names(str text, str name)
{
    for (ptrdiff_t at; name.len && (at = str_find(text, name)) >= 0;) {
        bool begins = at == 0 || !is_of_name(text.p[at - 1]);
        text = str_sub(text, (size_t)at + name.len, text.len);
        bool full_stop = text.len && text.p[0] == '.' && (text.len == 1 || !is_of_name(text.p[1]));
        if (begins && (!text.len || !is_of_name(text.p[0]) || full_stop))
            return true;
    }
    return false;
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
        if (its || names(message, t->name))
            note(j, RANK_EVENT,
                 (struct entry){.at = event_time(e),
                                .who = who.len ? who : jstr(jgetc(e, "reportingComponent")),
                                .about = about_text(j->arena, about),
                                .what = jstr(jgetc(e, "reason")),
                                .text = message,
                                .warning = str_is(jstr(jgetc(e, "type")), "Warning")});
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
        note_fact(j, time_of(jgetc(it.value, "lastTransitionTime")), o,
                  arena_printf(j->arena, "%.*s=%.*s", STR_ARG(type),
                               STR_ARG(jstr(jgetc(it.value, "status")))),
                  message.len ? message : reason);
    }
}

static void note_life(struct journal *j, const struct obj *o)
{
    str node = jstr(jgetc(obj_spec(o), "nodeName"));
    jval owner = obj_controller_ref(o);
    note_fact(j, obj_created(o), o, STR("Created"),
              j_has(owner)
                  ? arena_printf(j->arena, "by %.*s %.*s", STR_ARG(jstr(jgetc(owner, "kind"))),
                                 STR_ARG(jstr(jgetc(owner, "name"))))
                  : STR_NONE);
    note_fact(j, obj_deleted_at(o), o, STR("Deleted"), STR("it is to be gone by then"));
    for (struct jiter it = jiter(jgetc(obj_status(o), "containerStatuses")); jnext(&it);) {
        jval running = jpath(it.value, "state.running");
        note_fact(j, time_of(jgetc(running, "startedAt")), o, STR("Started"),
                  arena_printf(j->arena, "container %.*s on %.*s",
                               STR_ARG(jstr(jgetc(it.value, "name"))), STR_ARG(node)));
    }
}

/* ---- the journal of decisions ---- */

static void note_decisions(struct journal *j, jval answer, str about)
{
    for (struct jiter it = jiter(jgetc(answer, "entries")); jnext(&it);) {
        int64_t count = jint(jgetc(it.value, "count"), 1);
        str why = jstr(jgetc(it.value, "why"));
        if (count > 1)
            why = arena_printf(j->arena, "%.*s (%lld times)", STR_ARG(why), (long long)count);
        note(j, RANK_DECISION,
             (struct entry){.at = time_of(jgetc(it.value, "time")),
                            .who = jstr(jgetc(it.value, "by")),
                            .about = about,
                            .what = jstr(jgetc(it.value, "what")),
                            .text = why});
    }
}

/* No object has a name with anything else in it, and so nothing that has a meaning in a URL. */
static bool is_name(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '.' && c != ':')
            return false;
    }
    return s.len > 0;
}

static int ask_about(struct journal *j, struct session *s, const struct kind *k, str name,
                     struct err *err)
{
    struct doc *answer = NULL;
    if (!is_name(name) || !is_name(s->ns))
        return 0;
    str path = arena_printf(j->arena, "/debug/journal?kind=%s&namespace=%.*s&name=%.*s", k->kind,
                            STR_ARG(s->ns), STR_ARG(name));
    int r = session_read(s, path, &answer, err);
    if (r == 0 && answer)
        note_decisions(j, doc_root(answer),
                       arena_printf(j->arena, "%s/%.*s", findings_kind(k), STR_ARG(name)));
    return r;
}

/* About the object, and of a pod also about its gang. */
static void ask_journal(struct journal *j, struct session *s, const struct view_target *t,
                        const struct obj *o)
{
    struct err err = ERR_INIT;
    str gang = o && o->kind == &kind_pod ? picture_gang_of(j->picture, o) : STR_NONE;
    int r = ask_about(j, s, t->kind, t->name, &err);
    if (r == 0 && gang.len)
        r = ask_about(j, s, &kind_pod_gang, gang, &err);
    if (r)
        j->missing = r == ERR_NOT_FOUND
                         ? STR("this API server keeps no journal of decisions: told from events "
                               "and from what objects say")
                         : arena_printf(j->arena,
                                        "the journal of decisions cannot be read (%s): told from "
                                        "events and from what objects say",
                                        err.message);
}

/* ---- the document ---- */

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    usec x_second = x->at / USEC_PER_SEC, y_second = y->at / USEC_PER_SEC;
    if (x_second != y_second)
        return x_second < y_second ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void note_object(struct journal *j, const struct obj *o)
{
    const struct obj *gang =
        o->kind == &kind_pod
            ? picture_find_labelled(j->picture, PICTURE_GANGS, obj_label(o, STR(LABEL_PODGANG)))
            : NULL;
    note_life(j, o);
    note_conditions(j, o);
    if (gang)
        note_conditions(j, gang);
}

/* Decisions are known to the microsecond, what objects say to the second. */
static void put_time(struct jw *w, const char *key, usec at)
{
    struct strbuf b = STRBUF_INIT(64);
    if (at % USEC_PER_SEC)
        time_format_micro(at, &b);
    else
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
    if (j->missing.len)
        jw_put_str(&w, "missing", j->missing);
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

/* NULL with err when nothing is known of it. */
static struct doc *why_build(struct session *s, const struct picture *p,
                             const struct view_target *t, struct err *err)
{
    struct journal j = {.picture = p, .arena = &s->arena};
    const struct obj *o = view_find(p, t);
    struct doc *d = NULL;
    if (o)
        note_object(&j, o);
    note_events(&j, t);
    ask_journal(&j, s, t, o);
    vec_sort(&j.entries, compare);
    /* Of what is gone others speak; unless they speak of another kind of that name. */
    if (o || (j.entries.len > 0 && !picture_find_any(p, t->name)))
        d = write_journal(&j, t, o != NULL);
    else
        (void)view_not_found(p, t, err);
    vec_done(&j.entries);
    return d;
}

/* ---- the text ---- */

/* The order tells what came first; parts of seconds are for programs. */
static str whole_second(str time, struct arena *a)
{
    ptrdiff_t dot = str_find_char(time, '.');
    return dot < 0 ? time : arena_cat(a, str_sub(time, 0, (size_t)dot), STR("Z"));
}

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
        grid_add(&g, PAINT_DIM, whole_second(jstr(jgetc(it.value, "time")), a));
        grid_add(&g, PAINT_PLAIN, jstr(jgetc(it.value, "object")));
        grid_add(&g, bad ? PAINT_BAD : PAINT_PLAIN, jstr(jgetc(it.value, "what")));
        grid_printf(&g, PAINT_PLAIN, "%.*s%s%.*s%s", STR_ARG(jstr(jgetc(it.value, "text"))),
                    who.len ? " (" : "", STR_ARG(who), who.len ? ")" : "");
    }
    grid_write(&g, out);
    str missing = jstr(jgetc(doc, "missing"));
    if (missing.len)
        strbuf_printf(out, "(%.*s)\n", STR_ARG(missing));
}

/* A picture has only pods of sets: one that is missing there may run all the same. */
static int check_kin(struct session *s, const struct picture *p, const struct view_target *t,
                     struct err *err)
{
    struct err unread = ERR_INIT;
    struct obj *pod = NULL;
    if (t->kind != &kind_pod || !is_name(t->name) || view_find(p, t) ||
        session_get(s, t->kind, s->ns, t->name, &pod, &unread) ||
        str_is(obj_label(pod, STR(LABEL_MANAGED_BY)), MANAGED_BY_GROVE))
        return 0;
    return err_set(err, ERR_NOT_FOUND, "pod %.*s belongs to no PodCliqueSet of namespace %.*s",
                   STR_ARG(t->name), STR_ARG(s->ns));
}

static int tell(struct session *s, const struct view_args *args, const struct view_target *t,
                struct err *err)
{
    struct picture p = {0};
    int r = picture_read(s, PICTURE_WITH_EVENTS, &p, err);
    r = r ? r : check_kin(s, &p, t, err);
    struct doc *d = r ? NULL : why_build(s, &p, t, err);
    if (d)
        view_print(doc_root(d), args, why_write, &s->arena);
    doc_unref(d);
    return d ? 0 : err->code;
}

static int run_why(void *ctx, const void *opts, const struct command_call *call)
{
    const struct view_args *args = opts;
    struct session s;
    struct view_target t;
    struct err err = ERR_INIT;
    (void)ctx;
    int r = view_read_target(call, &kind_pcs, &t, &err);
    r = r ? r : view_check_kind(&t, "why", &err);
    r = r ? r : session_open(&args->session, &s, &err);
    if (r)
        return cli_fail(&err);
    r = tell(&s, args, &t, &err);
    session_close(&s);
    if (r)
        return cli_fail(&err);
    return fflush(stdout) == 0 ? EXIT_OK : EXIT_NO;
}

const struct command cmd_why = {
    .name = "why",
    .summary = "What happened to an object, in order, and who decided it",
    .description = "The recorded decisions about a pod, clique, group, gang or set: who created "
                   "it, where it was placed, why it was refused or deleted, and what its "
                   "conditions and events say. Also works for objects that are gone. grove up "
                   "keeps the latest decisions about each object in memory; from other API servers "
                   "only events (at most an hour old) and conditions are available.",
    .usage = "KIND/NAME",
    .min_args = 1,
    .max_args = 2,
    .opts = view_options_once,
    .opts_size = sizeof(struct view_args),
    .examples = "  $ grove why pod/my-set-0-decode-x7k2p\n  $ grove why pcs/my-set -o json",
    .complete = names_of_objects,
    .run = run_why,
};
