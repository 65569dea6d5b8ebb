/*
 * `grove status`: one screen per set. The verdict first; how far it is; then roles, scaling groups
 * and gangs in numbers, what is wrong, and the conditions somebody wrote.
 */
#include "cli/cmd_status.h"
#include "cli/offer_names.h"

#include "explain/documents/set_status.h"
#include "grove/types.h"

enum { MAX_GANGS = 12, MAX_SHOWN_FINDINGS = 5 };

/* ---- the document ---- */

struct doc *status_build(const struct picture *p, const struct view_target *t, struct arena *a,
                         struct err *err)
{
    struct session_list sets;
    struct jw w;
    if (view_sets(p, t, &sets, a, err))
        return NULL;
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "namespace", p->ns);
    if (!str_is_empty(findings_of_server(p)))
        jw_put_str(&w, "server", findings_of_server(p));
    jw_put_array(&w, "sets");
    for (size_t i = 0; i < sets.n; i++)
        set_status_put(&w, p, sets.items[i], 0, a);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- the text ---- */

static long long get(jval v, const char *key)
{
    return jint(jget(v, str_of(key)), 0);
}

void status_write_verdict(jval verdict, struct strbuf *out)
{
    str state = jstr(jgetc(verdict, "state"));
    paint_add(out, paint_of_state(state), state);
    strbuf_printf(out, ": %.*s\n", STR_ARG(jstr(jgetc(verdict, "text"))));
}

/* The same behind so many columns, in lines as wide as the terminal. */
static void write_wrapped(jval verdict, size_t before, struct strbuf *out)
{
    struct strbuf lines = STRBUF_INIT(1 << 20);
    str state = jstr(jgetc(verdict, "state")), text = jstr(jgetc(verdict, "text"));
    paint_add(out, paint_of_state(state), state);
    strbuf_add_cstr(out, ": ");
    before += paint_width(state) + 2;
    /* The first line is shorter by what stands before it. */
    size_t columns = paint_columns(), fits = 0, used = before;
    while (fits < text.len) {
        str rest = str_sub(text, fits, text.len), word = str_cut(&rest, ' ');
        used += paint_width(word) + 1;
        if (used > columns + 1 && fits > 0)
            break;
        fits += word.len + (rest.p ? 1 : 0);
    }
    strbuf_printf(out, "%.*s\n", STR_ARG(str_trim(str_sub(text, 0, fits))));
    if (fits < text.len)
        paint_wrap(&lines, STR("    "), str_trim(str_sub(text, fits, text.len)), columns);
    strbuf_add_str(out, strbuf_str(&lines));
    strbuf_done(&lines);
}

static void add_headings(struct grid *g, const char *const *headings)
{
    for (size_t i = 0; headings[i]; i++)
        grid_add(g, PAINT_DIM, str_of(headings[i]));
}

static void add_part_row(struct grid *g, const char *what, jval v)
{
    long long desired = get(v, "desired"), ready = get(v, "ready"), updated = get(v, "updated");
    grid_add(g, PAINT_PLAIN, str_of(what));
    grid_add(g, PAINT_PLAIN, jstr(jgetc(v, "name")));
    grid_printf(g, PAINT_PLAIN, "%lld", desired);
    grid_printf(g, PAINT_PLAIN, "%lld", get(v, "minAvailable"));
    grid_printf(g, ready < desired ? PAINT_WAIT : PAINT_GOOD, "%lld", ready);
    grid_printf(g, updated < desired ? PAINT_WAIT : PAINT_PLAIN, "%lld", updated);
}

static void write_parts(jval set, struct arena *a, struct strbuf *out)
{
    static const char *const headings[] = {"", "NAME", "DESIRED", "MIN", "READY", "UPDATED", NULL};
    struct grid g;
    grid_init(&g, a, ARRAY_LEN(headings) - 1);
    g.indent = "  ";
    add_headings(&g, headings);
    for (struct jiter it = jiter(jgetc(set, "scalingGroups")); jnext(&it);)
        add_part_row(&g, "group", it.value);
    for (struct jiter it = jiter(jgetc(set, "roles")); jnext(&it);)
        add_part_row(&g, "role", it.value);
    strbuf_add_char(out, '\n');
    grid_write(&g, out);
}

static void add_gang_row(struct grid *g, jval v)
{
    str phase = jstr(jgetc(v, "phase"));
    jval score = jgetc(v, "placementScore");
    grid_add(g, PAINT_PLAIN, jstr(jgetc(v, "name")));
    grid_add(g, paint_of_state(phase), phase);
    grid_printf(g, PAINT_PLAIN, "%lld", get(v, "pods"));
    grid_printf(g, PAINT_PLAIN, "%lld", get(v, "onNodes"));
    grid_add(g, PAINT_PLAIN, jbool(jgetc(v, "ready"), false) ? STR("yes") : STR("no"));
    grid_add(g, PAINT_PLAIN, j_has(score) ? jtext(score) : STR("-"));
}

/* Those that wait first: there may be more than a screen holds. */
static void write_gangs(jval set, bool wide, struct arena *a, struct strbuf *out)
{
    static const char *const headings[] = {"GANG",  "PHASE", "PODS", "ON NODES",
                                           "READY", "SCORE", NULL};
    jval gangs = jgetc(set, "gangs");
    struct grid g;
    size_t shown = 0;
    if (jlen(gangs) == 0)
        return;
    grid_init(&g, a, ARRAY_LEN(headings) - 1);
    g.indent = "  ";
    add_headings(&g, headings);
    for (int pass = 0; pass < 2; pass++) {
        for (struct jiter it = jiter(gangs); jnext(&it);) {
            bool good = jbool(jgetc(it.value, "ready"), false);
            if (good == (pass == 1) && (wide || shown < MAX_GANGS)) {
                add_gang_row(&g, it.value);
                shown++;
            }
        }
    }
    strbuf_add_char(out, '\n');
    grid_write(&g, out);
    if (shown < jlen(gangs))
        strbuf_printf(out, "  and %zu more (-o wide shows all)\n", jlen(gangs) - shown);
}

static void write_findings(jval set, bool wide, struct strbuf *out)
{
    jval findings = jgetc(set, "findings");
    size_t n = jlen(findings), most = wide ? n : MIN(n, (size_t)MAX_SHOWN_FINDINGS + 1);
    if (n > 1)
        strbuf_add_char(out, '\n');
    /* The first is the verdict. */
    for (size_t i = 1; i < most; i++) {
        strbuf_add_cstr(out, "  ");
        write_wrapped(jat(findings, i), 2, out);
    }
    if (n > most)
        strbuf_printf(out, "  and %zu more: grove explain pcs/%.*s\n", n - most,
                      STR_ARG(jstr(jgetc(set, "name"))));
}

/* The verdict and the numbers above say it already. */
static bool is_told_above(jval condition)
{
    static const char *const reasons[] = {"Complete", "WaitingForReplicas"};
    str type = jstr(jgetc(condition, "type")), reason = jstr(jgetc(condition, "reason"));
    bool told = str_is(type, "Available") || str_is(type, "Ready");
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        told = told || (str_is(type, "Progressing") && str_is(reason, reasons[i]));
    return told || str_is(jstr(jgetc(condition, "status")), "False");
}

static void write_conditions(jval set, bool wide, struct arena *a, struct strbuf *out)
{
    struct grid g;
    grid_init(&g, a, 4);
    g.indent = "  ";
    static const char *const headings[] = {"CONDITION", "STATUS", "REASON", "MESSAGE", NULL};
    for (struct jiter it = jiter(jgetc(set, "conditions")); jnext(&it);) {
        str status = jstr(jgetc(it.value, "status"));
        if (!wide && is_told_above(it.value))
            continue;
        if (g.n_cells == 0)
            add_headings(&g, headings);
        grid_add(&g, PAINT_PLAIN, jstr(jgetc(it.value, "type")));
        grid_add(&g, PAINT_PLAIN, status);
        grid_add(&g, PAINT_PLAIN, jstr(jgetc(it.value, "reason")));
        grid_add(&g, PAINT_PLAIN, jstr(jgetc(it.value, "message")));
    }
    if (g.n_cells > 0)
        strbuf_add_char(out, '\n');
    grid_write(&g, out);
}

static void write_set(jval set, bool wide, struct arena *a, struct strbuf *out)
{
    jval pods = jgetc(set, "pods"), replicas = jgetc(set, "replicas");
    paint_add(out, PAINT_STRONG, arena_printf(a, "pcs/%.*s ", STR_ARG(jstr(jgetc(set, "name")))));
    write_wrapped(jgetc(set, "verdict"), paint_width(jstr(jgetc(set, "name"))) + 5, out);
    strbuf_add_cstr(out, "  ");
    paint_bar(out, get(pods, "ready"), get(pods, "desired"));
    strbuf_printf(out, " %lld/%lld pods ready, %lld on nodes, %lld gated\n", get(pods, "ready"),
                  get(pods, "desired"), get(pods, "onNodes"), get(pods, "gated"));
    strbuf_printf(out, "  replicas: %lld desired, %lld available, %lld updated\n",
                  get(replicas, "desired"), get(replicas, "available"), get(replicas, "updated"));
    write_parts(set, a, out);
    write_gangs(set, wide, a, out);
    write_findings(set, wide, out);
    write_conditions(set, wide, a, out);
}

/* How bad it is, worst first: as findings come; sets without any are last. */
static size_t badness(jval set)
{
    str state = jstr(jpath(set, "verdict.state"));
    size_t n = 0;
    while (finding_states[n] && !str_is(state, finding_states[n]))
        n++;
    return n + (str_is(state, "available") ? 1 : 0);
}

static int by_badness(const void *a, const void *b)
{
    size_t x = badness(*(const jval *)a), y = badness(*(const jval *)b);
    return x < y ? -1 : x > y;
}

/* One line for each set; below it, where something is wrong, what it is. */
static void write_lines(jval sets, struct arena *a, struct strbuf *out)
{
    static const char *const headings[] = {"SET", "STATE", "REPLICAS", "PODS READY", NULL};
    jval *all = arena_array(a, jval, jlen(sets) + 1);
    size_t widths[ARRAY_LEN(headings) - 1] = {0};
    struct grid g;
    for (struct jiter it = jiter(sets); jnext(&it);) {
        all[it.index] = it.value;
        widths[0] = MAX(widths[0], paint_width(jstr(jgetc(it.value, "name"))) + 4);
    }
    for (size_t i = 1; i < ARRAY_LEN(widths); i++)
        widths[i] = strlen(headings[i]);
    for (size_t i = 0; i < jlen(sets); i++)
        widths[1] = MAX(widths[1], paint_width(jstr(jpath(all[i], "verdict.state"))));
    qsort(all, jlen(sets), sizeof(*all), by_badness);
    grid_init(&g, a, ARRAY_LEN(widths));
    g.widths = widths;
    add_headings(&g, headings);
    for (size_t i = 0; i < jlen(sets); i++) {
        jval set = all[i], pods = jgetc(set, "pods"), replicas = jgetc(set, "replicas");
        str state = jstr(jpath(set, "verdict.state"));
        grid_printf(&g, PAINT_STRONG, "pcs/%.*s", STR_ARG(jstr(jgetc(set, "name"))));
        grid_add(&g, paint_of_state(state), state);
        grid_printf(&g, PAINT_PLAIN, "%lld of %lld", get(replicas, "available"),
                    get(replicas, "desired"));
        grid_printf(&g, PAINT_PLAIN, "%lld of %lld", get(pods, "ready"), get(pods, "desired"));
        if (jlen(jgetc(set, "findings")) == 0)
            continue;
        grid_write(&g, out);
        paint_wrap(out, STR("    "), jstr(jpath(set, "verdict.text")), paint_columns());
        grid_init(&g, a, ARRAY_LEN(widths));
        g.widths = widths;
    }
    grid_write(&g, out);
    strbuf_add_cstr(out, "\nMore of one: grove status NAME; why: grove explain pcs/NAME\n");
}

void status_write(jval doc, bool wide, struct arena *a, struct strbuf *out)
{
    jval sets = jgetc(doc, "sets");
    if (jlen(sets) > 1 && !wide) {
        write_lines(sets, a, out);
        return;
    }
    for (struct jiter it = jiter(sets); jnext(&it);) {
        if (it.index > 0)
            strbuf_add_char(out, '\n');
        write_set(it.value, wide, a, out);
    }
    if (jlen(sets) > 0)
        return;
    /* Where there are sets it is the first thing that is said about each. */
    if (j_has(jgetc(doc, "server")))
        strbuf_printf(out, "%.*s\n", STR_ARG(jstr(jgetc(doc, "server"))));
    strbuf_printf(out, "No PodCliqueSets in namespace %.*s.\n",
                  STR_ARG(jstr(jgetc(doc, "namespace"))));
}

static int run_status(void *ctx, const void *opts, const struct command_call *call)
{
    static const struct view view = {.mask = PICTURE_WITH_REFUSALS | PICTURE_SERVER,
                                     .build = status_build,
                                     .write = status_write};
    struct view_target t;
    struct err err = ERR_INIT;
    (void)ctx;
    if (view_read_target(call, &kind_pcs, &t, &err))
        return cli_fail(&err);
    if (t.kind != &kind_pcs) {
        (void)err_set(&err, ERR_USAGE, "status only works on PodCliqueSets: grove status NAME");
        return cli_fail(&err);
    }
    return view_run(&view, opts, &t);
}

const struct command cmd_status = {
    .name = "status",
    .summary = "Show how sets are doing, on one screen",
    .description =
        "Of several sets one line each, worst first. Of one: first the verdict, available "
        "or what stands in the way; then, for each role, scaling group and gang, how many "
        "are desired, ready and updated. -o wide shows that of all.",
    .usage = "[pcs/NAME]",
    .max_args = 2,
    .opts = view_options_all,
    .opts_size = sizeof(struct view_args),
    .examples = "  $ grove status\n  $ grove status -A\n  $ grove status pcs/my-set --watch\n"
                "  $ grove status my-set -o json",
    .complete = names_of_sets,
    .run = run_status,
};
