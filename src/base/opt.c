/*
 * Parsing in two passes. The first finds the command: words that name sub-commands are followed
 * down the tree, options in between are set aside with their values. The second reads all that
 * was set aside and all that follows against the table of the command found.
 *
 * Nothing is copied: slices point into argv. The caller's struct is zeroed, then filled with the
 * defaults, then with what was given, so a field has one of the two values and never a third.
 */
#include "base/opt.h"

enum { GROUP_DEPTH_MAX = 8, NEAREST_LEN_MAX = 48 };

/* --- tables --- */

static size_t flatten_into(const struct opt *table, size_t base, const struct opt *heading,
                           struct opt_flat *ret, size_t n, int depth)
{
    BUG_ON(depth > GROUP_DEPTH_MAX);
    for (const struct opt *o = table; o && o->kind != OPT_K_END; o++) {
        size_t offset = base + o->offset;
        if (o->kind == OPT_K_GROUP) {
            n = flatten_into(o->group, offset, o->name ? o : heading, ret, n, depth + 1);
            continue;
        }
        BUG_ON(n == OPT_FLAT_MAX);
        ret[n++] = (struct opt_flat){o, offset, heading};
    }
    return n;
}

size_t opt_flatten(const struct opt *table, struct opt_flat ret[OPT_FLAT_MAX])
{
    return flatten_into(table, 0, NULL, ret, 0, 0);
}

/* Length of the edit (insert, delete, replace, swap neighbours) that turns a into b. */
static size_t edit_distance(str a, str b)
{
    size_t rows[3][NEAREST_LEN_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t k = 0; k <= b.len; k++)
        above[k] = k;
    for (size_t i = 1; i <= a.len; i++) {
        row[0] = i;
        for (size_t k = 1; k <= b.len; k++) {
            size_t best = above[k - 1] + (a.p[i - 1] != b.p[k - 1]);
            best = MIN(best, MIN(above[k], row[k - 1]) + 1);
            if (i > 1 && k > 1 && a.p[i - 1] == b.p[k - 2] && a.p[i - 2] == b.p[k - 1])
                best = MIN(best, before[k - 2] + 1);
            row[k] = best;
        }
        size_t *spare = before;
        before = above;
        above = row;
        row = spare;
    }
    return above[b.len];
}

const char *opt_nearest(str word, const char *const *candidates)
{
    const char *best = NULL;
    size_t least = MAX(word.len / 3, (size_t)1) + 1;
    if (word.len == 0 || word.len > NEAREST_LEN_MAX)
        return NULL;
    for (; *candidates; candidates++) {
        str c = str_of(*candidates);
        if (c.len > NEAREST_LEN_MAX)
            continue;
        /* The beginning of a name counts as close, but a misspelling that is closer wins. */
        bool begins = word.len >= 3 && str_starts(c, word);
        size_t d = begins ? 1 : edit_distance(word, c);
        if (d < least) {
            least = d;
            best = *candidates;
        }
    }
    return best;
}

/* --- one command line --- */

struct parser {
    struct arena *arena;
    struct command_call *call;
    struct err *err;
    const char **words; /* for the second pass */
    size_t words_len;
    struct opt_flat opts[OPT_FLAT_MAX];
    size_t opts_len;
    bool only_args; /* after "--" */
};

static const struct opt_flat *find_long(const struct parser *p, str name)
{
    for (size_t i = 0; i < p->opts_len; i++) {
        if (str_is(name, p->opts[i].opt->name))
            return &p->opts[i];
    }
    return NULL;
}

static const struct opt_flat *find_letter(const struct parser *p, char letter)
{
    for (size_t i = 0; letter && i < p->opts_len; i++) {
        if (p->opts[i].opt->letter == letter)
            return &p->opts[i];
    }
    return NULL;
}

static int unknown_option(const struct parser *p, str name)
{
    const char *names[OPT_FLAT_MAX + 2];
    size_t n = 0;
    for (size_t i = 0; i < p->opts_len; i++) {
        if (!p->opts[i].opt->hidden)
            names[n++] = p->opts[i].opt->name;
    }
    names[n++] = "help";
    names[n] = NULL;
    const char *near = opt_nearest(name, names);
    if (near)
        return err_set(p->err, ERR_USAGE, "unknown option --%.*s; did you mean --%s?",
                       STR_ARG(name), near);
    return err_set(p->err, ERR_USAGE, "unknown option --%.*s", STR_ARG(name));
}

static int unknown_command(const struct parser *p, const struct command *parent, str word)
{
    const char *names[64];
    size_t n = 0;
    for (const struct command *const *s = parent->subs; *s && n + 1 < ARRAY_LEN(names); s++) {
        if (!(*s)->hidden)
            names[n++] = (*s)->name;
    }
    names[n] = NULL;
    for (const char *const *f = parent->foreign; f && *f; f += 2) {
        if (str_is(word, f[0]))
            return err_set(p->err, ERR_USAGE, "%s", f[1]);
    }
    const char *near = opt_nearest(word, names);
    if (near)
        return err_set(p->err, ERR_USAGE, "unknown command \"%.*s\"; did you mean \"%s\"?",
                       STR_ARG(word), near);
    return err_set(p->err, ERR_USAGE, "unknown command \"%.*s\"", STR_ARG(word));
}

/* --- values --- */

static void *field_of(const struct parser *p, const struct opt_flat *f)
{
    return (char *)p->call->opts + f->offset;
}

static int bad_choice(const struct parser *p, const struct opt *o, str value)
{
    struct strbuf all CLEANUP(strbuf_done) = STRBUF_INIT(500);
    for (const char *const *c = o->choices; *c; c++)
        strbuf_printf(&all, "%s%s", c == o->choices ? "" : ", ", *c);
    const char *near = opt_nearest(value, o->choices);
    return err_set(p->err, ERR_USAGE, "option --%s: \"%.*s\" is not one of %.*s%s%s%s", o->name,
                   STR_ARG(value), STR_ARG(strbuf_str(&all)), near ? "; did you mean " : "",
                   near ? near : "", near ? "?" : "");
}

static int set_int(const struct parser *p, const struct opt_flat *f, str value)
{
    const struct opt *o = f->opt;
    int64_t v;
    if (!str_to_int(value, &v))
        return err_set(p->err, ERR_USAGE, "option --%s: \"%.*s\" is not a whole number", o->name,
                       STR_ARG(value));
    if (o->min < o->max && (v < o->min || v > o->max))
        return err_set(p->err, ERR_USAGE, "option --%s: %lld is not between %lld and %lld", o->name,
                       (long long)v, (long long)o->min, (long long)o->max);
    *(int64_t *)field_of(p, f) = v;
    return 0;
}

static int set_duration(const struct parser *p, const struct opt_flat *f, str value)
{
    usec v;
    if (!duration_parse_usec(value, &v) || v < 0)
        return err_set(p->err, ERR_USAGE,
                       "option --%s: \"%.*s\" is not a duration such as 30s, 1m30s or 4h",
                       f->opt->name, STR_ARG(value));
    *(usec *)field_of(p, f) = v;
    return 0;
}

static int set_choice(const struct parser *p, const struct opt_flat *f, str value)
{
    for (int i = 0; f->opt->choices[i]; i++) {
        if (str_is(value, f->opt->choices[i])) {
            *(int *)field_of(p, f) = i;
            return 0;
        }
    }
    return bad_choice(p, f->opt, value);
}

static int set_flag(const struct parser *p, const struct opt_flat *f, str value)
{
    bool on = str_is(value, "true");
    if (!on && !str_is(value, "false"))
        return err_set(p->err, ERR_USAGE, "option --%s: \"%.*s\" is neither true nor false",
                       f->opt->name, STR_ARG(value));
    *(bool *)field_of(p, f) = on;
    return 0;
}

static int add_to_list(const struct parser *p, const struct opt_flat *f, str value)
{
    struct opt_list *l = field_of(p, f);
    if (l->len == l->cap) {
        size_t cap = MAX(l->cap * 2, (size_t)4);
        str *grown = arena_array(p->arena, str, cap);
        if (l->len)
            memcpy(grown, l->p, l->len * sizeof(str));
        l->p = grown;
        l->cap = cap;
    }
    l->p[l->len++] = value;
    return 0;
}

static int missing_value(const struct parser *p, const struct opt *o)
{
    return err_set(p->err, ERR_USAGE, "option --%s needs a value%s%s", o->name,
                   o->metavar ? ": " : "", o->metavar ? o->metavar : "");
}

/* An empty one comes of a shell variable that is not set: `--data "$DIR"` must not mean "no data".
 */
static bool lacks_path(const struct opt *o, str value)
{
    str what = o->metavar ? str_of(o->metavar) : STR_NONE;
    return str_is_empty(value) && (str_is(what, "FILE") || str_is(what, "DIR"));
}

static int set_value(const struct parser *p, const struct opt_flat *f, str value)
{
    if (lacks_path(f->opt, value))
        return missing_value(p, f->opt);
    switch (f->opt->kind) {
    case OPT_K_FLAG:
        return set_flag(p, f, value);
    case OPT_K_STRING:
        *(str *)field_of(p, f) = value;
        return 0;
    case OPT_K_INT:
        return set_int(p, f, value);
    case OPT_K_DURATION:
        return set_duration(p, f, value);
    case OPT_K_CHOICE:
        return set_choice(p, f, value);
    case OPT_K_LIST:
        return add_to_list(p, f, value);
    case OPT_K_END:
    case OPT_K_GROUP:
        break;
    }
    BUG("an option of no kind");
}

static void note_given(struct parser *p, const struct opt *o)
{
    struct command_call *c = p->call;
    for (size_t i = 0; i < c->given_len; i++) {
        if (c->given[i] == o)
            return;
    }
    c->given[c->given_len++] = o;
}

/* --- words --- */

static bool is_option(str word)
{
    return word.len > 1 && word.p[0] == '-';
}

static bool is_help(str word)
{
    return str_is(word, "-h") || str_is(word, "--help");
}

/* The word after an option, where it can be its value: a lone "--name" there is far more often a
 * forgotten value than one that starts with two dashes (and --opt=--x says that). */
static bool has_next_value(const struct parser *p, size_t i)
{
    return i + 1 < p->words_len && !str_starts(str_of(p->words[i + 1]), STR("--"));
}

/* --name, --name=value, --no-name; *i is at the word and moves past a value. */
static int parse_long(struct parser *p, size_t *i)
{
    str rest = str_of(p->words[*i] + 2);
    str name = str_cut(&rest, '=');
    bool has_value = rest.p != NULL;
    const struct opt_flat *f = find_long(p, name);
    if (!f && str_starts(name, STR("no-"))) {
        f = find_long(p, str_sub(name, 3, name.len));
        if (f && (f->opt->kind != OPT_K_FLAG || has_value))
            f = NULL;
        if (f)
            rest = STR("false");
        has_value = f != NULL;
    }
    if (!f)
        return unknown_option(p, name);
    if (!has_value) {
        if (f->opt->kind == OPT_K_FLAG)
            rest = STR("true");
        else if (has_next_value(p, *i))
            rest = str_of(p->words[++*i]);
        else
            return missing_value(p, f->opt);
    }
    note_given(p, f->opt);
    return set_value(p, f, rest);
}

/* -a, -abc, -n value, -nvalue, -n=value */
static int parse_letters(struct parser *p, size_t *i)
{
    str rest = str_of(p->words[*i] + 1);
    while (rest.len > 0) {
        const struct opt_flat *f = find_letter(p, rest.p[0]);
        if (!f && rest.p[0] == 'h') {
            p->call->help = true;
            rest = str_sub(rest, 1, rest.len);
            continue;
        }
        if (!f)
            return err_set(p->err, ERR_USAGE, "unknown option -%c", rest.p[0]);
        rest = str_sub(rest, 1, rest.len);
        note_given(p, f->opt);
        if (f->opt->kind == OPT_K_FLAG) {
            *(bool *)field_of(p, f) = true;
            continue;
        }
        if (rest.len > 0)
            return set_value(p, f, rest.p[0] == '=' ? str_sub(rest, 1, rest.len) : rest);
        if (!has_next_value(p, *i))
            return missing_value(p, f->opt);
        return set_value(p, f, str_of(p->words[++*i]));
    }
    return 0;
}

static int parse_word(struct parser *p, size_t *i)
{
    str word = str_of(p->words[*i]);
    if (p->only_args || !is_option(word)) {
        p->call->args[p->call->args_len++] = word;
        return 0;
    }
    if (str_is(word, "--")) {
        p->only_args = true;
        return 0;
    }
    if (is_help(word) && !find_long(p, STR("help"))) {
        p->call->help = true;
        return 0;
    }
    return str_starts(word, STR("--")) ? parse_long(p, i) : parse_letters(p, i);
}

/* --- first pass --- */

static void enter_command(struct parser *p, const struct command *c)
{
    struct command_call *call = p->call;
    BUG_ON(call->depth == COMMAND_DEPTH_MAX);
    call->path[call->depth++] = c;
    call->command = c;
    p->opts_len = opt_flatten(c->opts, p->opts);
}

/* Whether an option that stands before the command's name is followed by its value. */
static int takes_next(const struct parser *p, str word, bool *ret)
{
    const struct opt_flat *f;
    bool inside = false;
    if (str_starts(word, STR("--"))) {
        str rest = str_sub(word, 2, word.len);
        str name = str_cut(&rest, '=');
        inside = rest.p != NULL;
        f = find_long(p, name);
        if (!f && str_starts(name, STR("no-")))
            f = find_long(p, str_sub(name, 3, name.len));
        if (!f)
            return unknown_option(p, name);
    } else {
        f = find_letter(p, word.p[1]);
        inside = word.len > 2;
        if (!f)
            return err_set(p->err, ERR_USAGE, "unknown option -%c", word.p[1]);
    }
    *ret = !inside && f->opt->kind != OPT_K_FLAG;
    return 0;
}

static const struct command *find_sub(const struct command *parent, str name)
{
    for (const struct command *const *s = parent->subs; s && *s; s++) {
        if (str_is(name, (*s)->name))
            return *s;
    }
    return NULL;
}

/* One word while the command is not yet known; *i moves past what was taken. */
static int walk_word(struct parser *p, int argc, const char *const *argv, int *i)
{
    str word = str_of(argv[*i]);
    if (is_help(word)) {
        p->call->help = true;
        return 0;
    }
    if (is_option(word)) {
        bool next = false;
        int r = takes_next(p, word, &next);
        if (r < 0)
            return r;
        p->words[p->words_len++] = argv[*i];
        if (next && *i + 1 < argc)
            p->words[p->words_len++] = argv[++*i];
        return 0;
    }
    const struct command *sub = find_sub(p->call->command, word);
    if (sub)
        enter_command(p, sub);
    else if (str_is(word, "help"))
        p->call->help = true;
    else
        return unknown_command(p, p->call->command, word);
    return 0;
}

static int find_command(struct parser *p, int argc, const char *const *argv)
{
    int i = 1;
    for (; i < argc && p->call->command->subs; i++) {
        if (strcmp(argv[i], "--") == 0)
            break;
        int r = walk_word(p, argc, argv, &i);
        if (r < 0)
            return r;
    }
    /* The program by itself: who types that wants to know what there is. */
    if (argc <= 1 && p->call->command->subs)
        p->call->help = true;
    if (p->call->command->subs && !p->call->help)
        return err_set(p->err, ERR_USAGE, "a command is missing");
    for (; i < argc; i++)
        p->words[p->words_len++] = argv[i];
    return 0;
}

/* --- second pass --- */

static void set_defaults(struct parser *p)
{
    for (size_t i = 0; i < p->opts_len; i++) {
        const struct opt *o = p->opts[i].opt;
        if (o->def && set_value(p, &p->opts[i], str_of(o->def)) < 0)
            BUG("an option's default is not valid");
    }
}

static int check_required(const struct parser *p)
{
    for (size_t i = 0; i < p->opts_len; i++) {
        const struct opt *o = p->opts[i].opt;
        if (!o->required || command_given(p->call, o->name))
            continue;
        /* A word that nothing takes is what was meant by it. */
        if (p->call->args_len > 0 && p->call->command->max_args == 0 && o->letter)
            return err_set(p->err, ERR_USAGE, "option --%s is required; did you mean -%c %.*s?",
                           o->name, o->letter, STR_ARG(p->call->args[0]));
        return err_set(p->err, ERR_USAGE, "option --%s is required", o->name);
    }
    return 0;
}

static int check_args(const struct parser *p)
{
    const struct command *c = p->call->command;
    size_t n = p->call->args_len;
    if (n < (size_t)c->min_args)
        return err_set(p->err, ERR_USAGE, "an argument is missing: %s %s", c->name,
                       c->usage ? c->usage : "");
    if (c->max_args != OPT_ANY_ARGS && n > (size_t)c->max_args)
        return err_set(p->err, ERR_USAGE, "unexpected argument \"%.*s\"",
                       STR_ARG(p->call->args[c->max_args]));
    return 0;
}

bool command_given(const struct command_call *call, const char *name)
{
    for (size_t i = 0; i < call->given_len; i++) {
        if (strcmp(call->given[i]->name, name) == 0)
            return true;
    }
    return false;
}

int command_parse(const struct command *root, int argc, const char *const *argv, struct arena *a,
                  struct command_call *ret, struct err *err)
{
    struct parser p = {.arena = a, .call = ret, .err = err};
    *ret = (struct command_call){0};
    p.words = arena_array(a, const char *, argc + 1);
    ret->args = arena_array(a, str, argc + 1);
    ret->given = arena_array(a, const struct opt *, OPT_FLAT_MAX);
    enter_command(&p, root);
    int r = find_command(&p, argc, argv);
    if (r < 0)
        return r;
    ret->opts = arena_alloc(a, ret->command->opts_size);
    set_defaults(&p);
    for (size_t i = 0; i < p.words_len && !ret->help; i++) {
        r = parse_word(&p, &i);
        if (r < 0)
            return r;
    }
    if (ret->help)
        return 0;
    r = check_required(&p);
    return r < 0 ? r : check_args(&p);
}

/* --- running --- */

static void print_path(FILE *to, const struct command_call *call)
{
    for (size_t i = 0; i < call->depth; i++)
        fprintf(to, "%s%s", i ? " " : "", call->path[i]->name);
}

/* A terminal must not obey what stood on the command line, C1 controls (two bytes) included. */
static void print_visible(FILE *to, const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0)
            fprintf(to, "\\u%04x", (unsigned)*++c);
        else if (*c < ' ' || *c == 0x7f)
            fprintf(to, "\\u%04x", (unsigned)*c);
        else
            (void)fputc(*c, to);
    }
}

static void print_mistake(const struct command_call *call, const struct err *err)
{
    print_path(stderr, call);
    fputs(": ", stderr);
    print_visible(stderr, err->message);
    fputs(" (see '", stderr);
    print_path(stderr, call);
    fprintf(stderr, " --help')\n");
}

static int print_help(const struct command_call *call)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(1 << 20);
    command_write_help(call->path, call->depth, &b);
    return fwrite(b.p, 1, b.len, stdout) == b.len && fflush(stdout) == 0 ? 0 : 1;
}

int command_main(const struct command *root, int argc, char **argv, void *ctx)
{
    struct arena a CLEANUP(arena_done) = ARENA_INIT;
    struct command_call call;
    struct err err = ERR_INIT;
    if (command_parse(root, argc, (const char *const *)argv, &a, &call, &err) < 0) {
        print_mistake(&call, &err);
        return 2;
    }
    if (call.help)
        return print_help(&call);
    return call.command->run(ctx, call.opts, &call);
}
