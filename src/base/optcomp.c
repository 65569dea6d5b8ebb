/*
 * Shell completion scripts from the tables. All three work alike: walk the words typed so far to
 * find the command they name (a path such as "grove rollout status"), then offer the values of the
 * option just typed, or the sub-commands, options and argument words of that command. The program
 * itself is asked (`grove __names WORDS`) only where a command knows names of objects.
 */
#include "base/opt.h"

struct comp {
    struct strbuf *b;
    const struct command *path[COMMAND_DEPTH_MAX];
    void (*visit)(struct comp *c, str path, const struct command *cmd);
};

static void walk(struct comp *c, size_t depth, str path)
{
    const struct command *cmd = c->path[depth - 1];
    c->visit(c, path, cmd);
    for (const struct command *const *s = cmd->subs; s && *s; s++) {
        BUG_ON(depth == COMMAND_DEPTH_MAX);
        if ((*s)->hidden)
            continue;
        struct strbuf sub CLEANUP(strbuf_done) = STRBUF_INIT(1000);
        strbuf_printf(&sub, "%.*s %s", STR_ARG(path), (*s)->name);
        c->path[depth] = *s;
        walk(c, depth + 1, strbuf_str(&sub));
    }
}

static void visit_all(const struct command *root, struct strbuf *b,
                      void (*visit)(struct comp *c, str path, const struct command *cmd))
{
    struct comp c = {.b = b, .path = {root}, .visit = visit};
    walk(&c, 1, str_of(root->name));
}

/* The program's name as part of a shell function's name. */
static void add_identifier(struct strbuf *b, const char *name)
{
    for (; *name; name++) {
        bool good = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                    (*name >= '0' && *name <= '9');
        strbuf_add_char(b, good ? *name : '_');
    }
}

/* In single quotes; `inside` is what a single quote becomes there. */
static void add_single_quoted(struct strbuf *b, const char *text, const char *inside)
{
    strbuf_add_char(b, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            strbuf_add_cstr(b, inside);
        else
            strbuf_add_char(b, *text);
    }
    strbuf_add_char(b, '\'');
}

static void add_words(struct strbuf *b, const char *const *words)
{
    for (size_t i = 0; words && words[i]; i++)
        strbuf_printf(b, "%s%s", i ? " " : "", words[i]);
}

enum value_kind { VALUE_NONE, VALUE_ANY, VALUE_WORDS, VALUE_FILE, VALUE_DIR };

static enum value_kind value_kind(const struct opt *o)
{
    if (o->kind == OPT_K_FLAG)
        return VALUE_NONE;
    if (o->choices)
        return VALUE_WORDS;
    if (o->metavar && strcmp(o->metavar, "FILE") == 0)
        return VALUE_FILE;
    return o->metavar && strcmp(o->metavar, "DIR") == 0 ? VALUE_DIR : VALUE_ANY;
}

/* `"path:-o" | "path:--output"` */
static void add_option_pattern(struct strbuf *b, str path, const struct opt *o)
{
    if (o->letter)
        strbuf_printf(b, "\"%.*s:-%c\" | ", STR_ARG(path), o->letter);
    strbuf_printf(b, "\"%.*s:--%s\"", STR_ARG(path), o->name);
}

/* --- bash --- */

/* "grove help rollout status": the words after help are a path like any other. */
static bool has_help(const struct comp *c, const struct command *cmd)
{
    return cmd == c->path[0] && cmd->subs;
}

static void bash_walk(struct comp *c, str path, const struct command *cmd)
{
    for (const struct command *const *s = cmd->subs; s && *s; s++) {
        if (!(*s)->hidden)
            strbuf_printf(c->b, "        \"%.*s %s\") at=\"%.*s %s\" ;;\n", STR_ARG(path),
                          (*s)->name, STR_ARG(path), (*s)->name);
    }
}

static void bash_values(struct comp *c, str path, const struct command *cmd)
{
    struct opt_flat opts[OPT_FLAT_MAX];
    size_t n = opt_flatten(cmd->opts, opts);
    for (size_t i = 0; i < n; i++) {
        const struct opt *o = opts[i].opt;
        enum value_kind kind = value_kind(o);
        if (kind == VALUE_NONE || o->hidden)
            continue;
        strbuf_add_cstr(c->b, "    ");
        add_option_pattern(c->b, path, o);
        strbuf_add_cstr(c->b, ") ");
        if (kind == VALUE_WORDS) {
            strbuf_add_cstr(c->b, "COMPREPLY=($(compgen -P \"$pre\" -W \"");
            add_words(c->b, o->choices);
            strbuf_add_cstr(c->b, "\" -- \"$cur\")); ");
        } else if (kind != VALUE_ANY) {
            strbuf_printf(c->b, "COMPREPLY=($(compgen -P \"$pre\" -%c -- \"$cur\")); ",
                          kind == VALUE_DIR ? 'd' : 'f');
        }
        strbuf_add_cstr(c->b, "return ;;\n");
    }
}

static void bash_words(struct comp *c, str path, const struct command *cmd)
{
    struct opt_flat opts[OPT_FLAT_MAX];
    size_t n = opt_flatten(cmd->opts, opts);
    strbuf_printf(c->b, "    \"%.*s\") words=\"--help", STR_ARG(path));
    for (size_t i = 0; i < n; i++) {
        if (!opts[i].opt->hidden)
            strbuf_printf(c->b, " --%s", opts[i].opt->name);
    }
    for (const struct command *const *s = cmd->subs; s && *s; s++) {
        if (!(*s)->hidden)
            strbuf_printf(c->b, " %s", (*s)->name);
    }
    if (has_help(c, cmd))
        strbuf_add_cstr(c->b, " help");
    if (cmd->arg_choices) {
        strbuf_add_char(c->b, ' ');
        add_words(c->b, cmd->arg_choices);
    }
    strbuf_add_cstr(c->b, "\" ;;\n");
}

/* Branches of a case over "path:word typed", for those that know names. */
static void bash_asked(struct comp *c, str path, const struct command *cmd)
{
    if (cmd->complete)
        strbuf_printf(c->b,
                      "    \"%.*s:\"[!-]* | \"%.*s:\")\n"
                      "        words+=\" $(\"${COMP_WORDS[0]}\" " COMMAND_ASK
                      " \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null)\" ;;\n",
                      STR_ARG(path), STR_ARG(path));
}

static void zsh_asked(struct comp *c, str path, const struct command *cmd)
{
    if (cmd->complete)
        strbuf_printf(c->b,
                      "    \"%.*s:\"[!-]* | \"%.*s:\")\n"
                      "        names+=(${(f)\"$(${words[1]} " COMMAND_ASK
                      " ${words[2,CURRENT]} 2>/dev/null)\"}) ;;\n",
                      STR_ARG(path), STR_ARG(path));
}

static void write_bash(const struct command *root, struct strbuf *b)
{
    strbuf_printf(b, "# bash completion for %s\n_", root->name);
    add_identifier(b, root->name);
    strbuf_printf(
        b,
        "()\n{\n"
        "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
        "    local at=\"%s\" words=\"\" pre=\"\" i\n"
        "    COMPREPLY=()\n"
        /* --output=j is three words where = parts words, and one where it does not. */
        "    if [[ $cur == = ]]; then\n"
        "        cur=\"\"\n"
        "    elif [[ $prev == = ]]; then\n"
        "        prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
        "    elif [[ $cur == --*=* ]]; then\n"
        "        prev=\"${cur%%%%=*}\" pre=\"${cur%%%%=*}=\" cur=\"${cur#*=}\"\n"
        "    fi\n"
        "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
        "        case \"$at ${COMP_WORDS[i]}\" in\n",
        root->name);
    visit_all(root, b, bash_walk);
    strbuf_add_cstr(b, "        esac\n    done\n    case \"$at:$prev\" in\n");
    visit_all(root, b, bash_values);
    strbuf_add_cstr(b, "    esac\n    case \"$at\" in\n");
    visit_all(root, b, bash_words);
    strbuf_add_cstr(b, "    esac\n    case \"$at:$cur\" in\n");
    visit_all(root, b, bash_asked);
    strbuf_add_cstr(b, "    esac\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\n");
    strbuf_add_cstr(b, "complete -F _");
    add_identifier(b, root->name);
    strbuf_printf(b, " %s\n", root->name);
}

/* --- zsh --- */

static void zsh_values(struct comp *c, str path, const struct command *cmd)
{
    static const char *const actions[] = {
        [VALUE_ANY] = "_message value", [VALUE_FILE] = "_files", [VALUE_DIR] = "_files -/"};
    struct opt_flat opts[OPT_FLAT_MAX];
    size_t n = opt_flatten(cmd->opts, opts);
    for (size_t i = 0; i < n; i++) {
        const struct opt *o = opts[i].opt;
        enum value_kind kind = value_kind(o);
        if (kind == VALUE_NONE || o->hidden)
            continue;
        strbuf_add_cstr(c->b, "    ");
        add_option_pattern(c->b, path, o);
        strbuf_add_cstr(c->b, ") ");
        if (kind == VALUE_WORDS) {
            strbuf_add_cstr(c->b, "compadd -- ");
            add_words(c->b, o->choices);
        } else {
            strbuf_add_cstr(c->b, actions[kind]);
        }
        strbuf_add_cstr(c->b, "; return ;;\n");
    }
}

/* One `'name:description'` of _describe. */
static void zsh_item(struct strbuf *b, const char *dashes, const char *name, const char *text)
{
    struct strbuf item CLEANUP(strbuf_done) = STRBUF_INIT(4000);
    strbuf_printf(&item, "%s%s:%s", dashes, name, text ? text : "");
    strbuf_add_char(b, ' ');
    add_single_quoted(b, item.p, "'\\''");
}

/* Options and words apart: what is described as options is offered behind a dash only. */
static void zsh_words(struct comp *c, str path, const struct command *cmd)
{
    struct opt_flat opts[OPT_FLAT_MAX];
    size_t n = opt_flatten(cmd->opts, opts);
    strbuf_printf(c->b, "    \"%.*s\") flags=('--help:Show this help'", STR_ARG(path));
    for (size_t i = 0; i < n; i++) {
        if (!opts[i].opt->hidden)
            zsh_item(c->b, "--", opts[i].opt->name, opts[i].opt->help);
    }
    strbuf_add_cstr(c->b, "); names=(");
    for (const struct command *const *s = cmd->subs; s && *s; s++) {
        if (!(*s)->hidden)
            zsh_item(c->b, "", (*s)->name, (*s)->summary);
    }
    if (has_help(c, cmd))
        zsh_item(c->b, "", "help", COMMAND_HELP_SUMMARY);
    for (const char *const *w = cmd->arg_choices; w && *w; w++)
        zsh_item(c->b, "", *w, "");
    strbuf_add_cstr(c->b, ") ;;\n");
}

static void write_zsh(const struct command *root, struct strbuf *b)
{
    strbuf_printf(b, "#compdef %s\n# zsh completion for %s\n_", root->name, root->name);
    add_identifier(b, root->name);
    strbuf_printf(b,
                  "()\n{\n"
                  "    local at=\"%s\" prev=\"${words[CURRENT-1]}\" i ret=1\n"
                  "    local -a flags names\n"
                  "    if [[ ${words[CURRENT]} == --*=* ]]; then\n"
                  "        prev=\"${words[CURRENT]%%%%=*}\"\n"
                  "        compset -P '*='\n"
                  "    fi\n"
                  "    for ((i = 2; i < CURRENT; i++)); do\n"
                  "        case \"$at ${words[i]}\" in\n",
                  root->name);
    visit_all(root, b, bash_walk);
    strbuf_add_cstr(b, "        esac\n    done\n    case \"$at:$prev\" in\n");
    visit_all(root, b, zsh_values);
    strbuf_add_cstr(b, "    esac\n    case \"$at\" in\n");
    visit_all(root, b, zsh_words);
    strbuf_add_cstr(b, "    esac\n    case \"$at:${words[CURRENT]}\" in\n");
    visit_all(root, b, zsh_asked);
    strbuf_add_cstr(b, "    esac\n"
                       "    _describe -o option flags && ret=0\n"
                       "    _describe word names && ret=0\n"
                       "    return ret\n}\n");
    /* The file works both sourced and autoloaded, where its first run must complete at once. */
    struct strbuf id CLEANUP(strbuf_done) = STRBUF_INIT(200);
    add_identifier(&id, root->name);
    strbuf_printf(b, "compdef _%s %s\n[ \"$funcstack[1]\" = \"_%s\" ] && _%s\n", id.p, root->name,
                  id.p, id.p);
}

/* --- fish --- */

static void fish_paths(struct comp *c, str path, const struct command *cmd)
{
    strbuf_printf(c->b, " '%.*s'", STR_ARG(path));
}

static void fish_begin(struct comp *c, str path)
{
    strbuf_printf(c->b, "complete -c %s -n '__", c->path[0]->name);
    add_identifier(c->b, c->path[0]->name);
    strbuf_printf(c->b, "_at \"%.*s\"'", STR_ARG(path));
}

static void fish_text(struct comp *c, const char *text)
{
    strbuf_add_cstr(c->b, " -d ");
    add_single_quoted(c->b, text ? text : "", "\\'");
    strbuf_add_char(c->b, '\n');
}

static void fish_option(struct comp *c, str path, const struct opt *o)
{
    enum value_kind kind = value_kind(o);
    fish_begin(c, path);
    if (o->letter)
        strbuf_printf(c->b, " -s %c", o->letter);
    strbuf_printf(c->b, " -l %s", o->name);
    if (kind == VALUE_WORDS) {
        strbuf_add_cstr(c->b, " -x -a '");
        add_words(c->b, o->choices);
        strbuf_add_char(c->b, '\'');
    } else if (kind == VALUE_DIR) {
        strbuf_add_cstr(c->b, " -x -a '(__fish_complete_directories)'");
    } else if (kind != VALUE_NONE) {
        strbuf_add_cstr(c->b, kind == VALUE_FILE ? " -r -F" : " -x");
    }
    fish_text(c, o->help);
}

static void fish_command(struct comp *c, str path, const struct command *cmd)
{
    struct opt_flat opts[OPT_FLAT_MAX];
    size_t n = opt_flatten(cmd->opts, opts);
    for (const struct command *const *s = cmd->subs; s && *s; s++) {
        if ((*s)->hidden)
            continue;
        fish_begin(c, path);
        strbuf_printf(c->b, " -a %s", (*s)->name);
        fish_text(c, (*s)->summary);
    }
    if (has_help(c, cmd)) {
        fish_begin(c, path);
        strbuf_add_cstr(c->b, " -a help");
        fish_text(c, COMMAND_HELP_SUMMARY);
    }
    for (size_t i = 0; i < n; i++) {
        if (!opts[i].opt->hidden)
            fish_option(c, path, opts[i].opt);
    }
    if (cmd->complete) {
        fish_begin(c, path);
        strbuf_printf(c->b,
                      " -a '(command -q %s; and %s " COMMAND_ASK
                      " (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'\n",
                      c->path[0]->name, c->path[0]->name);
    }
    if (cmd->arg_choices) {
        fish_begin(c, path);
        strbuf_add_cstr(c->b, " -a '");
        add_words(c->b, cmd->arg_choices);
        strbuf_add_cstr(c->b, "'\n");
    }
}

static void write_fish(const struct command *root, struct strbuf *b)
{
    struct strbuf id CLEANUP(strbuf_done) = STRBUF_INIT(200);
    add_identifier(&id, root->name);
    strbuf_printf(b, "# fish completion for %s\nset -g __%s_paths", root->name, id.p);
    visit_all(root, b, fish_paths);
    strbuf_printf(b,
                  "\nfunction __%s_at\n"
                  "    set -l at %s\n"
                  "    for word in (commandline -opc)[2..-1]\n"
                  "        contains -- \"$at $word\" $__%s_paths; and set at \"$at $word\"\n"
                  "    end\n"
                  "    test \"$at\" = \"$argv[1]\"\n"
                  "end\n"
                  "complete -c %s -f\n"
                  "complete -c %s -s h -l help -d 'Show this help'\n",
                  id.p, root->name, id.p, root->name, root->name);
    visit_all(root, b, fish_command);
}

void command_write_completion(const struct command *root, enum command_shell shell,
                              struct strbuf *b)
{
    static void (*const writers[])(const struct command *, struct strbuf *) = {
        [SHELL_BASH] = write_bash, [SHELL_ZSH] = write_zsh, [SHELL_FISH] = write_fish};
    writers[shell](root, b);
}

/* --- asked word by word --- */

/* What cobra understands behind a colon in the last line. */
enum directive { DIRECTIVE_FILES = 0, DIRECTIVE_NO_FILES = 4, DIRECTIVE_DIRECTORIES = 16 };

struct asked {
    struct strbuf *b;
    str typed; /* of the last word, what there is */
    const struct command *at;
    const struct opt *pending; /* its value comes next; or NULL */
    str args[8];               /* of the command, as far as anybody asks */
    size_t args_len;
};

static const struct opt *find_option(const struct command *cmd, str word)
{
    struct opt_flat opts[OPT_FLAT_MAX];
    size_t n = opt_flatten(cmd->opts, opts);
    bool lone = word.len == 2 && word.p[0] == '-';
    for (size_t i = 0; i < n; i++) {
        const struct opt *o = opts[i].opt;
        if (o->hidden)
            continue;
        if (lone ? word.p[1] == o->letter
                 : str_starts(word, STR("--")) && str_is(str_sub(word, 2, word.len), o->name))
            return o;
    }
    return NULL;
}

/* One of the words before the last. */
static void take_word(struct asked *q, str word)
{
    const struct opt *o = q->pending ? NULL : find_option(q->at, word);
    bool value = q->pending != NULL;
    q->pending = o && value_kind(o) != VALUE_NONE ? o : NULL;
    for (const struct command *const *s = q->at->subs; !value && s && *s; s++) {
        if (!(*s)->hidden && str_is(word, (*s)->name)) {
            q->at = *s;
            return;
        }
    }
    if (!value && !o && !str_starts(word, STR("-")) && q->args_len < ARRAY_LEN(q->args))
        q->args[q->args_len++] = word;
}

static void offer(struct asked *q, const char *before, const char *word, const char *text)
{
    struct strbuf whole CLEANUP(strbuf_done) = STRBUF_INIT(4000);
    strbuf_printf(&whole, "%s%s", before, word);
    if (!str_starts(strbuf_str(&whole), q->typed))
        return;
    strbuf_printf(q->b, "%s%s%s\n", whole.p, text && *text ? "\t" : "", text ? text : "");
}

static enum directive offer_values(struct asked *q, const struct opt *o, const char *before)
{
    enum value_kind kind = value_kind(o);
    for (const char *const *w = kind == VALUE_WORDS ? o->choices : NULL; w && *w; w++)
        offer(q, before, *w, NULL);
    return kind == VALUE_FILE  ? DIRECTIVE_FILES
           : kind == VALUE_DIR ? DIRECTIVE_DIRECTORIES
                               : DIRECTIVE_NO_FILES;
}

static void offer_words(struct asked *q, bool root)
{
    struct opt_flat opts[OPT_FLAT_MAX];
    size_t n = opt_flatten(q->at->opts, opts);
    for (const struct command *const *s = q->at->subs; s && *s; s++) {
        if (!(*s)->hidden)
            offer(q, "", (*s)->name, (*s)->summary);
    }
    if (root && q->at->subs)
        offer(q, "", "help", COMMAND_HELP_SUMMARY);
    for (const char *const *w = q->at->arg_choices; w && *w; w++)
        offer(q, "", *w, NULL);
    for (size_t i = 0; i < n && str_starts(q->typed, STR("-")); i++) {
        if (!opts[i].opt->hidden)
            offer(q, "--", opts[i].opt->name, opts[i].opt->help);
    }
}

static void offer_typed(const struct command_typed *t, const char *word)
{
    offer(t->impl, "", word, NULL);
}

static void offer_names(struct asked *q, int n_words, const char *const *words)
{
    if (q->at->complete && !str_starts(q->typed, STR("-")))
        q->at->complete(&(struct command_typed){.n_words = n_words,
                                                .words = words,
                                                .args = q->args,
                                                .args_len = q->args_len,
                                                .word = q->typed,
                                                .offer = offer_typed,
                                                .impl = q});
}

void command_names(const struct command *root, int n_words, const char *const *words,
                   struct strbuf *b)
{
    struct asked q = {.b = b, .at = root};
    for (int i = 0; i + 1 < n_words; i++)
        take_word(&q, str_of(words[i]));
    q.typed = n_words > 0 ? str_of(words[n_words - 1]) : STR_NONE;
    if (!q.pending)
        offer_names(&q, n_words, words);
}

void command_complete(const struct command *root, int n_words, const char *const *words,
                      struct strbuf *b)
{
    struct asked q = {.b = b, .at = root};
    enum directive what = DIRECTIVE_NO_FILES;
    for (int i = 0; i + 1 < n_words; i++)
        take_word(&q, str_of(words[i]));
    q.typed = n_words > 0 ? str_of(words[n_words - 1]) : STR_NONE;
    str value = q.typed, name = str_cut(&value, '=');
    const struct opt *o = value.p ? find_option(q.at, name) : NULL;
    if (q.pending) {
        what = offer_values(&q, q.pending, "");
    } else if (o && value_kind(o) == VALUE_WORDS) {
        struct strbuf before CLEANUP(strbuf_done) = STRBUF_INIT(1000);
        strbuf_printf(&before, "%.*s=", STR_ARG(name));
        what = offer_values(&q, o, before.p);
    } else {
        offer_words(&q, q.at == root);
        offer_names(&q, n_words, words);
    }
    strbuf_printf(b, ":%d\n", (int)what);
}
