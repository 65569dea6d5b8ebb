/* The few verbs one needs when kubectl is not installed: apply, get, delete, scale. They speak to
 * any API server and print what kubectl would. */
#include "base/map.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/offer_names.h"
#include "cli/print.h"
#include "cli/set_view.h"
#include "explain/documents/clean.h"
#include "explain/documents/refusal.h"
#include "grove/types.h"

#define DELETE_TIMEOUT (5 * USEC_PER_MIN)

/* ---- what is meant ---- */

/* What shells offer as TYPE: those one works with most. Every type the server has is understood. */
static const char *const common_types[] = {"podcliquesets",
                                           "podcliquescalinggroups",
                                           "podcliques",
                                           "podgangs",
                                           "podgangmaps",
                                           "clustertopologybindings",
                                           "pods",
                                           "nodes",
                                           "services",
                                           "events",
                                           "namespaces",
                                           "configmaps",
                                           "secrets",
                                           "serviceaccounts",
                                           "horizontalpodautoscalers",
                                           "poddisruptionbudgets",
                                           "controllerrevisions",
                                           "priorityclasses",
                                           "pcs",
                                           "pcsg",
                                           "pclq",
                                           "pg",
                                           NULL};
static const char *const scaled_types[] = {
    "podcliquesets", "podcliquescalinggroups", "podcliques", "pcs", "pcsg", "pclq", NULL};

/* TYPE NAME, TYPE/NAME or just TYPE. */
static int read_words(const struct command_call *call, str *ret_type, str *ret_name,
                      struct err *err)
{
    *ret_type = call->args[0];
    *ret_name = STR_NONE;
    if (str_find_char(*ret_type, '/') >= 0) {
        *ret_name = call->args[0];
        *ret_type = str_cut(ret_name, '/');
        if (call->args_len > 1) {
            cli_one_too_many(call, err);
            return ERR_USAGE;
        }
    } else if (call->args_len > 1) {
        *ret_name = call->args[1];
    }
    return 0;
}

static int read_target(const struct command_call *call, const struct kind **ret_kind, str *ret_name,
                       struct err *err)
{
    str type;
    int r = read_words(call, &type, ret_name, err);
    *ret_kind = r ? NULL : view_read_kind(type, err);
    return *ret_kind ? 0 : ERR_USAGE;
}

static str namespace_for(const struct session *s, const struct kind *k)
{
    return kind_is(k, KIND_NAMESPACED) ? s->ns : STR_NONE;
}

/* Somebody mistyped a name. */
static void say_nearest(struct session *s, const struct kind *k, str name, struct err *err)
{
    struct session_list all;
    struct err unread = ERR_INIT;
    str said = arena_str(&s->arena, str_of(err->message));
    if (session_list(s, k, namespace_for(s, k), STR_NONE, &all, &unread))
        return;
    const char **names = arena_array(&s->arena, const char *, all.n + 1);
    for (size_t i = 0; i < all.n; i++)
        names[i] = arena_str(&s->arena, all.items[i]->name).p;
    const char *near = opt_nearest(name, names);
    if (near)
        (void)err_set(err, err->code, "%.*s; did you mean %s?", STR_ARG(said), near);
}

/* What was not found may have had this name in older documents, or one that is nearly it. */
static int hint(struct session *s, const struct kind *k, str name, int r, struct err *err)
{
    struct session_list sets;
    struct err unread = ERR_INIT;
    if (r != ERR_NOT_FOUND)
        return r;
    size_t said = strlen(err->message);
    if (session_list(s, &kind_pcs, s->ns, STR_NONE, &sets, &unread) == 0)
        view_hint(&sets, k, name, err);
    if (strlen(err->message) == said)
        say_nearest(s, k, name, err);
    return r;
}

struct file_args {
    struct session_opts session;
    struct opt_list files;
    bool dry_run;
    bool no_wait;
};

/* ---- what files describe ---- */

struct one {
    const struct manifest *manifest;
    struct doc *doc;
    const struct kind *kind;
    str ns, name;
};
typedef int one_fn(struct session *s, const struct file_args *a, const struct one *o,
                   struct err *err);

/* Tells what failed; the worst exit code so far. */
static int note_failure(int code, const struct err *err)
{
    int now = cli_fail(err);
    return MAX(code, now);
}

/* Reads what it can and says of the rest why not. */
static int read_files(const struct file_args *a, struct arena *arena, manifest_vec *ret)
{
    int code = EXIT_OK;
    for (size_t i = 0; i < a->files.len; i++) {
        struct err err = ERR_INIT;
        str_vec files = {0};
        if (manifest_files(a->files.p[i], arena, &files, &err))
            code = note_failure(code, &err);
        for (size_t k = 0; k < files.len; k++) {
            if (manifest_load(files.p[k], arena, ret, &err))
                code = note_failure(code, &err);
        }
        vec_done(&files);
    }
    return code;
}

static int understand(struct session *s, const struct file_args *a, const struct manifest *m,
                      struct one *ret, struct err *err)
{
    jval root = doc_root(m->doc);
    const struct kind *k = manifest_kind_at(m, err);
    if (!k)
        return ERR_INVALID;
    str at = manifest_at(m, manifest_line(m, STR_NONE, STR_NONE), &s->arena);
    str ns = jstr(jpath(root, "metadata.namespace"));
    *ret = (struct one){
        .manifest = m, .doc = m->doc, .kind = k, .name = jstr(jpath(root, "metadata.name"))};
    ret->ns = str_is_empty(ns) ? namespace_for(s, k) : ns;
    if (str_is_empty(ret->name))
        return err_set(err, ERR_INVALID, "%.*sthe %s has no metadata.name", STR_ARG(at), k->kind);
    if (a->session.ns.len && ns.len && !str_eq(ns, a->session.ns))
        return err_set(err, ERR_INVALID, "%.*s%s %.*s is in namespace %.*s, not in %.*s (-n)",
                       STR_ARG(at), k->singular, STR_ARG(ret->name), STR_ARG(ns),
                       STR_ARG(a->session.ns));
    return 0;
}

/* A file was refused: what is wrong with it, each mistake in a line of its own. */
static int note_refusal(int code, struct session *s, const struct one *o, const struct err *err)
{
    str_vec lines = {0};
    /* An apply that does not fit the schema is answered with 500. */
    if (!s->refusal || (err->code != ERR_INVALID && s->refusal->code != 500))
        return note_failure(code, err);
    refusal_lines(o->manifest, o->kind, s->refusal, &s->arena, &lines);
    for (size_t i = 0; i < lines.len; i++) {
        struct err one = ERR_INIT;
        (void)err_set(&one, ERR_INVALID, "%.*s", STR_ARG(lines.p[i]));
        code = note_failure(code, &one);
    }
    vec_done(&lines);
    return code;
}

/* One object after the other: what fails is told, and the others are done all the same, unless
 * there is nobody to ask. */
static int do_each(const struct file_args *a, one_fn *fn)
{
    struct session s = {0};
    struct err err = ERR_INIT;
    struct arena arena = ARENA_INIT;
    manifest_vec all = {0};
    int code = read_files(a, &arena, &all), r = 0;
    if (all.len > 0 && session_open(&a->session, &s, &err))
        code = cli_fail(&err);
    for (size_t i = 0; s.loop && i < all.len; i++) {
        struct one one;
        err = ERR_INIT;
        r = understand(&s, a, &all.p[i], &one, &err);
        if (r) {
            code = note_failure(code, &err);
        } else {
            r = fn(&s, a, &one, &err);
            code = r ? note_refusal(code, &s, &one, &err) : code;
        }
        if (r == ERR_UNAVAILABLE || r == ERR_UNAUTHORIZED)
            break;
    }
    vec_done(&all);
    if (s.loop)
        session_close(&s);
    arena_done(&arena);
    return code;
}

/* ---- apply ---- */

/* Nothing a user writes has changed; what others write to the status meanwhile is theirs. */
static bool is_unchanged(const struct obj *before, const struct obj *after)
{
    if (!before || !after)
        return false;
    if (before->rv == after->rv)
        return true;
    return before->generation > 0 && before->generation == after->generation &&
           str_eq(jtext(before->labels), jtext(after->labels)) &&
           str_eq(jtext(before->annotations), jtext(after->annotations));
}

/* Nothing is found where there is no namespace. */
static void say_namespace(struct session *s, const struct one *o, struct err *err)
{
    str said = arena_str(&s->arena, str_of(err->message));
    if (!str_starts(said, STR("namespaces ")))
        return;
    (void)err_set(err, err->code, "%.*s%.*s; make it with: kubectl create namespace %.*s",
                  STR_ARG(manifest_at(o->manifest, 0, &s->arena)), STR_ARG(said), STR_ARG(o->ns));
}

static int apply_one(struct session *s, const struct file_args *a, const struct one *o,
                     struct err *err)
{
    struct obj *before = NULL, *after = NULL;
    struct err missing = ERR_INIT;
    int code;
    (void)session_get(s, o->kind, o->ns, o->name, &before, &missing);
    int r = session_apply(s, o->kind, o->ns, o->name, o->doc, a->dry_run, &after, &code, err);
    if (r == ERR_NOT_FOUND)
        say_namespace(s, o, err);
    const char *what = code == 201                   ? "created"
                       : is_unchanged(before, after) ? "unchanged"
                                                     : "configured";
    if (r == 0 && a->dry_run)
        print_reference(o->kind, o->name, arena_printf(&s->arena, "%s (server dry run)", what).p);
    else if (r == 0)
        print_reference(o->kind, o->name, what);
    return r;
}

static int run_apply(void *ctx, const void *opts, const struct command_call *call)
{
    (void)ctx;
    (void)call;
    return do_each(opts, apply_one);
}

static const struct opt apply_opts[] = {
    {.kind = OPT_K_LIST,
     .name = "filename",
     .letter = 'f',
     .metavar = "FILE",
     .help = "Manifests to apply: a file, a directory of them, or - for standard input",
     .offset = offsetof(struct file_args, files),
     .required = true},
    OPT_FLAG(struct file_args, dry_run, 0, "dry-run", "Ask the server, change nothing"),
    OPT_GROUP("Connection", session_options, offsetof(struct file_args, session)),
    OPT_END,
};

const struct command cmd_apply = {
    .name = "apply",
    .summary = "Create or update what a file describes",
    .opts = apply_opts,
    .opts_size = sizeof(struct file_args),
    .description = "-f may be given several times. When one of the objects fails, the error is "
                   "printed and the others are still applied; the exit code is then 1.",
    .examples =
        "  $ grove apply -f samples/user-guide/concept-overview/single-node-aggregated.yaml\n"
        "  $ grove apply -f one.yaml -f directory/\n"
        "  $ cat *.yaml | grove apply -f -",
    .run = run_apply,
};

/* ---- get ---- */

#define WATCH_TIMEOUT (365 * USEC_PER_DAY)
enum { MAX_TYPES = 32 };

struct get_args {
    struct session_opts session;
    str output;
    str selector, fields;
    bool all_namespaces;
    bool watch;
};

struct getting {
    struct session *session;
    const struct get_args *args;
    const struct print_how *how;
    const struct kind *kind;
    str name; /* empty: all */
    bool all; /* of all namespaces */
    struct print_rows rows;
    VEC(struct obj *) first; /* until all that is there was told */
    bool listed;
    struct map seen; /* by UID, what was printed of it; in the arena of rows */
    struct session_retry retry;
};

static void print_got(struct getting *g, struct obj *const *items, size_t n)
{
    struct err err = ERR_INIT;
    if (g->how->jsonpath.len || g->how->columns.len)
        (void)print_chosen(g->how, items, n, n != 1, &err);
    else
        print_rows(&g->rows, g->kind, items, n, g->how->format, g->all,
                   loop_wall(g->session->loop));
    fflush(stdout);
}

struct seen {
    uint64_t rv;
};

/* Whether this version was not printed before; it counts as printed then. */
static bool is_new(struct getting *g, enum api_event_type type, const struct obj *o)
{
    struct seen *seen = map_get(&g->seen, o->uid);
    if (!seen) {
        seen = arena_array(&g->rows.arena, struct seen, 1);
        (void)map_put(&g->seen, arena_str(&g->rows.arena, o->uid), seen);
    }
    bool is = seen->rv != o->rv || type == API_DELETED;
    seen->rv = o->rv;
    return is;
}

static bool on_get_event(void *ctx, enum api_event_type type, const struct obj *obj)
{
    struct getting *g = ctx;
    if (!obj) {
        session_answers(&g->retry);
        print_got(g, g->first.p, g->first.len);
        vec_clear(&g->first);
        g->listed = true;
    } else if ((str_is_empty(g->name) || str_eq(obj->name, g->name)) && is_new(g, type, obj)) {
        struct obj *one = (struct obj *)obj;
        if (g->listed)
            print_got(g, &one, 1);
        else
            *vec_push(&g->first) = obj_hold(&g->session->arena, obj_ref(one));
    }
    return ferror(stdout) != 0;
}

/* What is there, then each change, until somebody stops it. */
static int watch_them(struct getting *g, struct err *err)
{
    const struct session_opts *opts = &g->args->session;
    bool ever = false;
    int r;
    do {
        str ns = g->all ? STR_NONE : namespace_for(g->session, g->kind);
        g->listed = false;
        *err = ERR_INIT;
        session_mind_reader(g->session);
        r = session_follow(g->session, g->kind, ns, g->args->selector, on_get_event, g,
                           WATCH_TIMEOUT, err);
        ever = ever || g->listed;
        vec_clear(&g->first);
    } while (r && ever && (r == ERR_GONE || session_retry(g->session, opts, &g->retry, err)));
    vec_done(&g->first);
    map_done(&g->seen);
    print_rows_done(&g->rows);
    return r;
}

/* Objects of one type: all, or one. */
static int fetch(struct session *s, const struct get_args *a, const struct kind *k, str name,
                 bool all, struct session_list *ret, struct err *err)
{
    struct obj *one = NULL;
    str ns = all ? STR_NONE : namespace_for(s, k);
    if (name.len) {
        int r = hint(s, k, name, session_get(s, k, ns, name, &one, err), err);
        ret->items = arena_array(&s->arena, struct obj *, 1);
        ret->items[0] = one;
        ret->n = one ? 1 : 0;
        return r;
    }
    struct api_request q = {.verb = API_LIST,
                            .kind = k,
                            .ns = ns,
                            .label_selector = a->selector,
                            .field_selector = a->fields};
    return session_send_list(s, &q, ret, err);
}

static void say_nothing_found(const struct session *s, const struct kind *k, bool all)
{
    bool one_namespace = kind_is(k, KIND_NAMESPACED) && !all;
    fprintf(stderr, "No resources found%s%.*s%s\n", one_namespace ? " in " : "",
            STR_ARG(one_namespace ? s->ns : STR_NONE), one_namespace ? " namespace." : "");
}

/* One type, behind others of the same command line: *shown counts the tables so far. */
static int get_them(struct session *s, const struct get_args *a, const struct print_how *how,
                    const struct kind *k, str name, size_t *shown, struct err *err)
{
    struct session_list list = {0};
    bool all = a->all_namespaces && kind_is(k, KIND_NAMESPACED);
    usec now = loop_wall(s->loop);
    int r = name.len || !a->watch ? fetch(s, a, k, name, all, &list, err) : 0;
    if (r)
        return r;
    if (a->watch)
        return watch_them(
            &(struct getting){
                .session = s, .args = a, .how = how, .kind = k, .name = name, .all = all},
            err);
    if (how->jsonpath.len || how->columns.len)
        return print_chosen(how, list.items, list.n, !name.len, err);
    if (name.len) {
        print_object(list.items[0], how->format, now);
        return 0;
    }
    if (list.n == 0 && how->format <= PRINT_WIDE) {
        say_nothing_found(s, k, all);
        return 0;
    }
    if ((*shown)++ && how->format <= PRINT_WIDE)
        putchar('\n');
    print_objects(k, list.items, list.n, how->format, all, now);
    return 0;
}

/* "pods,nodes": several types, and no name. */
static int get_types(const struct get_args *a, const struct print_how *how, str types, str name,
                     struct session *s, struct err *err)
{
    const struct kind *kinds[MAX_TYPES];
    size_t n = 0, shown = 0;
    int r = 0;
    for (str rest = types; rest.p && r == 0;) {
        str one = str_cut(&rest, ',');
        if (n == MAX_TYPES)
            return err_set(err, ERR_USAGE, "more than %d types", MAX_TYPES);
        if (!(kinds[n++] = view_read_kind(one, err)))
            r = ERR_USAGE;
    }
    if (r == 0 && n > 1 && name.len)
        r = err_set(err, ERR_USAGE, "\"%.*s\" is the name of one object; say one type with it",
                    STR_ARG(name));
    if (r == 0 && n > 1 && a->watch)
        r = err_set(err, ERR_USAGE, "--watch follows one type");
    if (r == 0 && a->watch && a->fields.len)
        r = err_set(err, ERR_USAGE, "--watch goes with --selector, not with --field-selector");
    r = r ? r : session_open(&a->session, s, err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = get_them(s, a, how, kinds[i], name, &shown, err);
    return r;
}

static int run_get(void *ctx, const void *opts, const struct command_call *call)
{
    const struct get_args *a = opts;
    struct print_how how;
    struct session s = {0};
    struct err err = ERR_INIT;
    str types, name;
    (void)ctx;
    int r = read_words(call, &types, &name, &err);
    r = r ? r : print_read_how(a->output, &how, &err);
    if (r == 0 && name.len && (a->all_namespaces || a->selector.len || a->fields.len))
        r = err_set(&err, ERR_USAGE, "a name says which one; leave out %s",
                    a->all_namespaces ? "--all-namespaces"
                    : a->selector.len ? "--selector"
                                      : "--field-selector");
    r = r ? r : get_types(a, &how, types, name, &s, &err);
    if (s.loop)
        session_close(&s);
    return r ? cli_fail(&err) : EXIT_OK;
}

static const struct opt get_opts[] = {
    {.kind = OPT_K_STRING,
     .name = "output",
     .letter = 'o',
     .metavar = "table|wide|yaml|json|name",
     .def = "table",
     .choices = print_formats,
     .help = "Also jsonpath=TEMPLATE and custom-columns=NAME:PATH,...",
     .offset = offsetof(struct get_args, output)},
    OPT_STRING(struct get_args, selector, 'l', "selector", "LABELS",
               "Only objects with these labels"),
    OPT_STRING(struct get_args, fields, 0, "field-selector", "FIELDS",
               "Only objects with these fields, e.g. status.phase=Running"),
    OPT_FLAG(struct get_args, all_namespaces, 'A', "all-namespaces", "In all namespaces"),
    OPT_FLAG(struct get_args, watch, 'w', "watch", "Then print a line for each change"),
    OPT_GROUP("Connection", session_options, offsetof(struct get_args, session)),
    OPT_END,
};

const struct command cmd_get = {
    .name = "get",
    .summary = "Show objects",
    .usage = "TYPE[,TYPE...] [NAME]",
    .min_args = 1,
    .max_args = 2,
    .arg_choices = common_types,
    .opts = get_opts,
    .opts_size = sizeof(struct get_args),
    .examples = "  $ grove get pods -o wide\n  $ grove get pcs my-set -o yaml\n"
                "  $ grove get pods -l grove.io/role=decode --watch\n"
                "  $ grove get pcs,pcsg,pods\n"
                "  $ grove get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName",
    .complete = names_of_objects,
    .run = run_get,
};

/* ---- delete ---- */

struct until_gone {
    str uid;
    bool there;
};

static bool on_delete_event(void *ctx, enum api_event_type type, const struct obj *obj)
{
    struct until_gone *u = ctx;
    if (!obj)
        return !u->there;
    if (str_eq(obj->uid, u->uid)) {
        u->there = type != API_DELETED;
        return type == API_DELETED;
    }
    return false;
}

static int delete_one(struct session *s, const struct kind *k, str ns, str name, bool wait,
                      struct err *err)
{
    struct obj *o;
    int r = hint(s, k, name, session_get(s, k, ns, name, &o, err), err);
    r = r ? r : session_delete(s, k, ns, name, err);
    if (r)
        return r;
    printf("%s%s%s \"%.*s\" deleted\n", k->singular, *k->group ? "." : "", k->group,
           STR_ARG(clean_text(&s->arena, name, CLEAN_ALL)));
    fflush(stdout);
    struct until_gone u = {.uid = o->uid};
    return wait ? session_follow(s, k, ns, STR_NONE, on_delete_event, &u, DELETE_TIMEOUT, err) : 0;
}

static int delete_described(struct session *s, const struct file_args *a, const struct one *o,
                            struct err *err)
{
    return delete_one(s, o->kind, o->ns, o->name, !a->no_wait, err);
}

/* TYPE NAME, of the command line. */
static int read_victim(const struct command_call *call, const struct kind **ret_kind, str *ret_name,
                       struct err *err)
{
    if (call->args_len == 0)
        return err_set(err, ERR_USAGE, "say what to delete: TYPE NAME, or -f FILE");
    int r = read_target(call, ret_kind, ret_name, err);
    if (r == 0 && str_is_empty(*ret_name))
        r = err_set(err, ERR_USAGE, "name the %s to delete: grove delete %s NAME",
                    (*ret_kind)->singular, (*ret_kind)->singular);
    return r;
}

/* What fails is told, and the others are deleted all the same. */
static int delete_named(struct session *s, const struct file_args *a, const struct kind *k,
                        const str *names, size_t n)
{
    int code = EXIT_OK;
    for (size_t i = 0; i < n; i++) {
        struct err err = ERR_INIT;
        if (delete_one(s, k, namespace_for(s, k), names[i], !a->no_wait, &err))
            code = note_failure(code, &err);
    }
    return code;
}

static int run_delete(void *ctx, const void *opts, const struct command_call *call)
{
    const struct file_args *a = opts;
    const struct kind *k = NULL;
    struct session s = {0};
    struct err err = ERR_INIT;
    str name = STR_NONE;
    (void)ctx;
    if (a->files.len > 0 && call->args_len == 0)
        return do_each(a, delete_described);
    int r = a->files.len > 0 ? err_set(&err, ERR_USAGE, "-f says what to delete; what is \"%.*s\"?",
                                       STR_ARG(call->args[0]))
                             : read_victim(call, &k, &name, &err);
    r = r ? r : session_open(&a->session, &s, &err);
    if (r)
        return cli_fail(&err);
    bool several = call->args_len > 2;
    int code = several ? delete_named(&s, a, k, call->args + 1, call->args_len - 1)
                       : delete_named(&s, a, k, &name, 1);
    session_close(&s);
    return code;
}

static const struct opt delete_opts[] = {
    OPT_LIST(struct file_args, files, 'f', "filename", "FILE",
             "Delete what this describes: a file, a directory of them, or - for standard input"),
    OPT_FLAG(struct file_args, no_wait, 0, "no-wait", "Do not wait until it is gone"),
    OPT_GROUP("Connection", session_options, offsetof(struct file_args, session)),
    OPT_END,
};

const struct command cmd_delete = {
    .name = "delete",
    .summary = "Delete objects and wait until they are gone",
    .usage = "(TYPE NAME... | -f FILE)",
    .max_args = OPT_ANY_ARGS,
    .arg_choices = common_types,
    .opts = delete_opts,
    .opts_size = sizeof(struct file_args),
    .examples = "  $ grove delete pcs my-set\n  $ grove delete -f my-set.yaml",
    .complete = names_of_objects,
    .run = run_delete,
};

/* ---- scale ---- */

struct scale_args {
    struct session_opts session;
    int64_t replicas;
};

/* The operator sets a clique of a scaling group back to what the template says: who scales it means
 * the group. */
static int check_member(struct session *s, const struct kind *k, str name, struct err *err)
{
    struct obj *o;
    struct err unread = ERR_INIT;
    if (k != &kind_pclq || session_get(s, k, s->ns, name, &o, &unread))
        return 0;
    str group = obj_label(o, STR(LABEL_PCSG));
    if (!group.len)
        return 0;
    return err_set(err, ERR_INVALID,
                   "%.*s scales with its scaling group: grove scale pcsg/%.*s --replicas N",
                   STR_ARG(name), STR_ARG(group));
}

static int run_scale(void *ctx, const void *opts, const struct command_call *call)
{
    const struct scale_args *a = opts;
    const struct kind *k;
    struct session s = {0};
    struct err err = ERR_INIT;
    str name;
    (void)ctx;
    int r = read_target(call, &k, &name, &err);
    if (r == 0 && (str_is_empty(name) || !kind_is(k, KIND_SCALE)))
        r = err_set(&err, ERR_USAGE,
                    str_is_empty(name) ? "name the %s to scale"
                                       : "a %s cannot be scaled; scale what it belongs to: pcs, "
                                         "pcsg or pclq",
                    k->singular);
    r = r ? r : session_open(&a->session, &s, &err);
    if (r == 0)
        r = check_member(&s, k, name, &err);
    if (r == 0)
        r = hint(&s, k, name, session_scale(&s, k, namespace_for(&s, k), name, a->replicas, &err),
                 &err);
    if (r == 0)
        print_reference(k, name, "scaled");
    if (s.loop)
        session_close(&s);
    return r ? cli_fail(&err) : EXIT_OK;
}

static const struct opt scale_opts[] = {
    {.kind = OPT_K_INT,
     .name = "replicas",
     .metavar = "N",
     .help = "The number of replicas",
     .offset = offsetof(struct scale_args, replicas),
     .min = 0,
     .max = INT32_MAX,
     .required = true},
    OPT_GROUP("Connection", session_options, offsetof(struct scale_args, session)),
    OPT_END,
};

const struct command cmd_scale = {
    .name = "scale",
    .summary = "Change the number of replicas",
    .usage = "TYPE NAME",
    .min_args = 1,
    .max_args = 2,
    .arg_choices = scaled_types,
    .opts = scale_opts,
    .opts_size = sizeof(struct scale_args),
    .examples = "  $ grove scale pcs my-set --replicas=3",
    .complete = names_of_objects,
    .run = run_scale,
};
