/* `grove wait`: until an object has a condition, a value, or is gone; as kubectl's. */
#include "cli/cli.h"
#include "cli/offer_names.h"
#include "cli/print.h"
#include "cli/set_view.h"
#include "json/jsonpath.h"

struct wait_args {
    struct session_opts session;
    str until;
    usec timeout;
};

/* What is waited for. */
struct goal {
    const struct wait_args *args;
    str name;
    str condition, value; /* of a condition: "Available", "True" */
    struct jsonpath *path;
    bool gone, there, met;
};

static int bad_goal(str text, struct err *err)
{
    return err_set(err, ERR_USAGE,
                   "--for: \"%.*s\" is not condition=NAME[=VALUE], jsonpath={PATH}=VALUE or delete",
                   STR_ARG(text));
}

static int read_goal(str text, struct goal *g, struct err *err)
{
    str rest = text, key = str_cut(&rest, '=');
    if (str_is(text, "delete")) {
        g->gone = true;
        return 0;
    }
    if (str_is(key, "condition") && rest.len) {
        g->condition = str_cut(&rest, '=');
        g->value = rest.len ? rest : STR("True");
        return 0;
    }
    ptrdiff_t end = str_rfind_char(rest, '}');
    if (!str_is(key, "jsonpath") || end < 0)
        return bad_goal(text, err);
    g->value = str_sub(rest, (size_t)end + 1, rest.len);
    if (!str_starts(g->value, STR("=")))
        return bad_goal(text, err);
    g->value = str_sub(g->value, 1, g->value.len);
    g->path = jsonpath_compile(str_sub(rest, 0, (size_t)end + 1), err);
    return g->path ? 0 : err_wrap(err, "--for jsonpath");
}

static bool has_value(const struct goal *g, const struct obj *o)
{
    jval_vec found = {0};
    bool is = false;
    jsonpath_eval(g->path, obj_root(o), &found);
    for (size_t i = 0; i < found.len; i++)
        is = is ||
             str_eq(jtype(found.p[i]) == J_STRING ? jstr(found.p[i]) : jtext(found.p[i]), g->value);
    vec_done(&found);
    return is;
}

static bool is_met(const struct goal *g, const struct obj *o)
{
    if (g->path)
        return has_value(g, o);
    jval c = condition_find(jgetc(obj_status(o), "conditions"), g->condition);
    return str_eq(jstr(jgetc(c, "status")), g->value);
}

static bool on_change(void *ctx, enum api_event_type type, const struct obj *obj)
{
    struct goal *g = ctx;
    if (!obj) { /* all that is there was told */
        g->met = g->met || (g->gone && !g->there);
        return g->met || (!g->gone && !g->there);
    }
    if (!str_eq(obj->name, g->name))
        return false;
    g->there = type != API_DELETED;
    g->met = g->gone ? !g->there : g->there && is_met(g, obj);
    /* What is gone will not become anything. */
    return g->met || type == API_DELETED;
}

static int wait_for(const struct wait_args *a, const struct kind *k, struct goal *g,
                    struct err *err)
{
    struct session s = {0};
    int r = session_open(&a->session, &s, err);
    if (r)
        return r;
    str ns = kind_is(k, KIND_NAMESPACED) ? s.ns : STR_NONE;
    r = session_follow(&s, k, ns, STR_NONE, on_change, g, a->timeout, err);
    if (r == ERR_TIMEOUT)
        r = err_set(err, ERR_TIMEOUT, "timed out waiting for %.*s of %s/%.*s", STR_ARG(a->until),
                    k->singular, STR_ARG(g->name));
    else if (r == 0 && !g->met)
        r = err_set(err, ERR_NOT_FOUND, "%s%s%s \"%.*s\" not found", k->plural,
                    *k->group ? "." : "", k->group, STR_ARG(g->name));
    if (r == 0)
        print_reference(k, g->name, g->gone ? "is gone" : "condition met");
    session_close(&s);
    return r;
}

static int run_wait(void *ctx, const void *opts, const struct command_call *call)
{
    const struct wait_args *a = opts;
    struct view_target t;
    struct err err = ERR_INIT;
    struct goal g = {.args = a};
    (void)ctx;
    int r = view_read_target(call, NULL, &t, &err);
    if (r == 0 && !t.kind)
        r = err_set(&err, ERR_USAGE, "say TYPE/NAME, for example pcs/%.*s", STR_ARG(t.name));
    r = r ? r : read_goal(a->until, &g, &err);
    g.name = t.name;
    r = r ? r : wait_for(a, t.kind, &g, &err);
    jsonpath_free(g.path);
    return r ? cli_fail(&err) : EXIT_OK;
}

static const struct opt wait_opts[] = {
    {.kind = OPT_K_STRING,
     .name = "for",
     .metavar = "GOAL",
     .help = "condition=NAME[=VALUE], jsonpath={PATH}=VALUE, or delete",
     .offset = offsetof(struct wait_args, until),
     .required = true},
    OPT_DURATION(struct wait_args, timeout, 0, "timeout", "30s", "How long to wait"),
    OPT_GROUP("Connection", session_options, offsetof(struct wait_args, session)),
    OPT_END,
};

const struct command cmd_wait = {
    .name = "wait",
    .summary = "Wait until an object is as you want it",
    .description = "Exit code 0 when it is, 1 when the time is over or the object is not there.",
    .usage = "TYPE/NAME",
    .min_args = 1,
    .max_args = 2,
    .opts = wait_opts,
    .opts_size = sizeof(struct wait_args),
    .examples = "  $ grove wait pcs/my-set --for condition=Available --timeout 2m\n"
                "  $ grove wait pod/my-pod --for jsonpath={.status.phase}=Running\n"
                "  $ grove wait pcs/my-set --for delete",
    .complete = names_of_objects,
    .run = run_wait,
};
