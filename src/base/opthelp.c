/*
 * Texts from the tables: --help and the man page. Both walk the same flat list of options; groups
 * with a heading are shown under it, in the man page once for all commands that share them.
 */
#include "base/opt.h"
#include "base/vec.h"

enum { HELP_WIDTH = 80, HELP_INDENT_MAX = 30 };

static void add_path(struct strbuf *b, const struct command *const *path, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        strbuf_printf(b, "%s%s", i ? " " : "", path[i]->name);
}

static bool has_options(const struct command *c)
{
    struct opt_flat opts[OPT_FLAT_MAX];
    return opt_flatten(c->opts, opts) > 0;
}

static void add_usage(struct strbuf *b, const struct command *const *path, size_t depth)
{
    const struct command *c = path[depth - 1];
    add_path(b, path, depth);
    if (c->subs)
        strbuf_add_cstr(b, " COMMAND");
    if (has_options(c))
        strbuf_add_cstr(b, " [options]");
    if (c->usage)
        strbuf_printf(b, " %s", c->usage);
}

/* What stands for the value: the metavar, or the choices. */
static void add_metavar(struct strbuf *b, const struct opt *o)
{
    if (o->kind == OPT_K_FLAG)
        return;
    strbuf_add_char(b, ' ');
    if (o->metavar || !o->choices) {
        strbuf_add_cstr(b, o->metavar ? o->metavar : "VALUE");
        return;
    }
    for (const char *const *c = o->choices; *c; c++)
        strbuf_printf(b, "%s%s", c == o->choices ? "" : "|", *c);
}

static bool shows_default(const struct opt *o)
{
    return o->def && o->def[0] && o->kind != OPT_K_FLAG;
}

static void add_help_text(struct strbuf *b, const struct opt *o)
{
    strbuf_add_cstr(b, o->help ? o->help : "");
    if (o->kind == OPT_K_LIST)
        strbuf_add_cstr(b, " (may be repeated)");
    if (o->required)
        strbuf_add_cstr(b, " (required)");
    if (shows_default(o))
        strbuf_printf(b, " (default %s)", o->def);
}

/* --- --help --- */

static void add_spaces(struct strbuf *b, size_t n)
{
    strbuf_printf(b, "%*s", (int)n, "");
}

/* Text in a column from `indent` to the page's edge; the line before it is `used` wide already. */
static void add_wrapped(struct strbuf *b, str text, size_t indent, size_t used)
{
    size_t at = used;
    while (text.len > 0) {
        str word = str_cut(&text, ' ');
        bool first = at <= indent;
        if (!first && at + 1 + word.len > HELP_WIDTH) {
            strbuf_add_char(b, '\n');
            at = 0;
            first = true;
        }
        if (at < indent)
            add_spaces(b, indent - at);
        else if (!first)
            strbuf_add_char(b, ' ');
        at = MAX(at + !first, indent) + word.len;
        strbuf_add_str(b, word);
    }
    strbuf_add_char(b, '\n');
}

/* Lines of their own stay apart; each is wrapped. */
static void add_paragraphs(struct strbuf *b, str text)
{
    strbuf_add_char(b, '\n');
    while (text.len > 0)
        add_wrapped(b, str_cut(&text, '\n'), 0, 0);
}

/* A name and its explanation, in two columns. */
static void add_row(struct strbuf *b, str left, str right, size_t indent)
{
    strbuf_add_str(b, left);
    size_t used = left.len;
    if (right.len > 0 && used + 2 > indent) {
        strbuf_add_char(b, '\n');
        used = 0;
    }
    add_wrapped(b, right, indent, used);
}

static void option_left(struct strbuf *b, const struct opt *o)
{
    strbuf_reset(b);
    if (o->letter)
        strbuf_printf(b, "  -%c, --%s", o->letter, o->name);
    else
        strbuf_printf(b, "      --%s", o->name);
    add_metavar(b, o);
}

static size_t option_indent(const struct opt_flat *opts, size_t n)
{
    struct strbuf left CLEANUP(strbuf_done) = STRBUF_INIT(1000);
    size_t indent = strlen("  -h, --help") + 2;
    for (size_t i = 0; i < n; i++) {
        option_left(&left, opts[i].opt);
        if (!opts[i].opt->hidden && left.len + 2 <= HELP_INDENT_MAX)
            indent = MAX(indent, left.len + 2);
    }
    return indent;
}

static void help_options(const struct command *c, struct strbuf *b)
{
    struct opt_flat opts[OPT_FLAT_MAX];
    struct strbuf left CLEANUP(strbuf_done) = STRBUF_INIT(1000);
    struct strbuf right CLEANUP(strbuf_done) = STRBUF_INIT(4000);
    size_t n = opt_flatten(c->opts, opts);
    size_t indent = option_indent(opts, n);
    const struct opt *heading = NULL;
    strbuf_add_cstr(b, "\nOptions:\n");
    add_row(b, STR("  -h, --help"), STR("Show this help"), indent);
    for (size_t i = 0; i < n; i++) {
        if (opts[i].opt->hidden)
            continue;
        if (opts[i].heading != heading && opts[i].heading)
            strbuf_printf(b, "\n%s:\n", opts[i].heading->name);
        heading = opts[i].heading;
        option_left(&left, opts[i].opt);
        strbuf_reset(&right);
        add_help_text(&right, opts[i].opt);
        add_row(b, strbuf_str(&left), strbuf_str(&right), indent);
    }
}

static void help_commands(const struct command *c, bool root, struct strbuf *b)
{
    size_t width = root ? strlen("help") : 0;
    for (const struct command *const *s = c->subs; *s; s++)
        width = MAX(width, (*s)->hidden ? 0 : strlen((*s)->name));
    strbuf_add_cstr(b, "\nCommands:\n");
    for (const struct command *const *s = c->subs; *s; s++) {
        if ((*s)->hidden)
            continue;
        struct strbuf left CLEANUP(strbuf_done) = STRBUF_INIT(1000);
        strbuf_printf(&left, "  %s", (*s)->name);
        add_row(b, strbuf_str(&left), str_of((*s)->summary), width + 4);
    }
    if (root)
        add_row(b, STR("  help"), STR(COMMAND_HELP_SUMMARY), width + 4);
}

void command_write_help(const struct command *const *path, size_t depth, struct strbuf *b)
{
    const struct command *c = path[depth - 1];
    strbuf_add_cstr(b, "Usage: ");
    add_usage(b, path, depth);
    strbuf_printf(b, "\n\n%s.\n", c->summary);
    if (c->description)
        add_paragraphs(b, str_of(c->description));
    if (c->subs)
        help_commands(c, depth == 1, b);
    help_options(c, b);
    if (c->examples)
        strbuf_printf(b, "\nExamples:\n%s\n", c->examples);
    if (c->subs) {
        strbuf_add_cstr(b, "\nUse \"");
        add_path(b, path, depth);
        strbuf_add_cstr(b, " COMMAND --help\" for more about a command.\n");
    }
}

/* --- man page --- */

struct man {
    struct strbuf *b;
    const struct command *path[COMMAND_DEPTH_MAX];
    VEC(const struct opt *) groups; /* with headings, in order of appearance */
};

/* Plain text: every character that scdoc could take for mark-up is escaped. */
static void man_text(struct strbuf *b, str s)
{
    bool line_start = true;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        if (c && strchr("\\*_`<>#+|[]~", c))
            strbuf_add_char(b, '\\');
        else if (line_start && (c == '.' || c == '-'))
            strbuf_add_char(b, '\\');
        line_start = c == '\n';
        strbuf_add_char(b, c);
    }
}

static void man_bold(struct strbuf *b, const char *text)
{
    strbuf_add_char(b, '*');
    man_text(b, str_of(text));
    strbuf_add_char(b, '*');
}

static void man_option(struct strbuf *b, const struct opt *o)
{
    struct strbuf text CLEANUP(strbuf_done) = STRBUF_INIT(4000);
    if (o->letter)
        strbuf_printf(b, "*-%c*, ", o->letter);
    strbuf_add_cstr(b, "*--");
    man_text(b, str_of(o->name));
    strbuf_add_char(b, '*');
    add_metavar(&text, o);
    if (text.len > 0) {
        strbuf_add_cstr(b, " _");
        man_text(b, str_sub(strbuf_str(&text), 1, text.len));
        strbuf_add_char(b, '_');
    }
    strbuf_reset(&text);
    add_help_text(&text, o);
    strbuf_add_cstr(b, "\n\t");
    man_text(b, strbuf_str(&text));
    strbuf_add_cstr(b, ".\n\n");
}

static void man_note_group(struct man *m, const struct opt *group)
{
    for (size_t i = 0; i < m->groups.len; i++) {
        if (m->groups.p[i]->group == group->group)
            return;
    }
    *vec_push(&m->groups) = group;
}

/* The command's own options; shared groups are only named. */
static void man_options(struct man *m, const struct command *c)
{
    struct opt_flat opts[OPT_FLAT_MAX];
    size_t n = opt_flatten(c->opts, opts);
    for (size_t i = 0; i < n; i++) {
        if (!opts[i].heading && !opts[i].opt->hidden)
            man_option(m->b, opts[i].opt);
    }
    const struct opt *last = NULL;
    for (size_t i = 0; i < n; i++) {
        if (opts[i].heading == last || !opts[i].heading)
            continue;
        last = opts[i].heading;
        man_note_group(m, last);
        strbuf_printf(m->b, "See also _%s_ below.\n\n", last->name);
    }
}

static void man_examples(struct strbuf *b, const char *examples)
{
    if (examples)
        strbuf_printf(b, "```\n%s\n```\n\n", examples);
}

static void man_command(struct man *m, size_t depth)
{
    const struct command *c = m->path[depth - 1];
    if (c->run) {
        strbuf_add_cstr(m->b, "## ");
        add_usage(m->b, m->path, depth); /* scdoc takes a heading as it is */
        strbuf_add_cstr(m->b, "\n\n");
        man_text(m->b, str_of(c->summary));
        strbuf_add_cstr(m->b, ".\n\n");
        if (c->description) {
            man_text(m->b, str_of(c->description));
            strbuf_add_cstr(m->b, "\n\n");
        }
        man_options(m, c);
        man_examples(m->b, c->examples);
    }
    for (const struct command *const *s = c->subs; s && *s; s++) {
        BUG_ON(depth == COMMAND_DEPTH_MAX);
        m->path[depth] = *s;
        if (!(*s)->hidden)
            man_command(m, depth + 1);
    }
}

/* A section of its own for each group: its heading in capitals, as man pages have it. */
static void man_groups(struct man *m)
{
    for (size_t i = 0; i < m->groups.len; i++) {
        struct opt_flat opts[OPT_FLAT_MAX];
        size_t n = opt_flatten(m->groups.p[i]->group, opts);
        strbuf_add_cstr(m->b, "# ");
        for (const char *c = m->groups.p[i]->name; *c; c++)
            strbuf_add_char(m->b, *c >= 'a' && *c <= 'z' ? (char)(*c - 32) : *c);
        strbuf_add_cstr(m->b, "\n\n");
        for (size_t k = 0; k < n; k++) {
            if (!opts[k].opt->hidden)
                man_option(m->b, opts[k].opt);
        }
    }
}

void command_write_man(const struct command *root, struct strbuf *b)
{
    struct man m = {.b = b, .path = {root}};
    strbuf_printf(b, "%s(1)\n\n# NAME\n\n%s - ", root->name, root->name);
    man_text(b, str_of(root->summary));
    strbuf_add_cstr(b, "\n\n# SYNOPSIS\n\n");
    man_bold(b, root->name);
    strbuf_add_cstr(b, root->subs ? " _COMMAND_ [options...] [arguments...]\n\n" : " ");
    if (!root->subs)
        strbuf_printf(b, "[options...] %s\n\n", root->usage ? root->usage : "");
    if (root->description) {
        strbuf_add_cstr(b, "# DESCRIPTION\n\n");
        man_text(b, str_of(root->description));
        strbuf_add_cstr(b, "\n\n");
    }
    strbuf_add_cstr(b, root->subs ? "# COMMANDS\n\n" : "# OPTIONS\n\n");
    man_command(&m, 1);
    man_groups(&m);
    if (root->subs && root->examples) {
        strbuf_add_cstr(b, "# EXAMPLES\n\n");
        man_examples(b, root->examples);
    }
    vec_done(&m.groups);
}
