/* Command lines: what is accepted, how mistakes read, and the texts made from the tables. */
#include <sys/wait.h>
#include <unistd.h>

#include "base/opt.h"
#include "base/test.h"

static const char *const outputs[] = {"table", "json", "yaml", NULL};
static const char *const types[] = {"pods", "sets", NULL};

struct common {
    str namespace;
    int output;
};

struct get {
    bool all;
    int64_t limit;
    usec timeout;
    struct opt_list files;
    struct common common;
    bool debug;
};

struct restart {
    str reason;
};

static const struct opt common_opts[] = {
    OPT_STRING(struct common, namespace, 'n', "namespace", "NAME", "Work in this namespace"),
    OPT_CHOICE(struct common, output, 'o', "output", outputs, "table", "How to print"),
    OPT_END,
};

static const struct opt get_opts[] = {
    OPT_FLAG(struct get, all, 'A', "all-namespaces", "Of all namespaces"),
    OPT_INT(struct get, limit, 'l', "limit", "N", 1, 1000, "500", "At most so many"),
    OPT_DURATION(struct get, timeout, 0, "timeout", "1m30s",
                 "Give up after this long, which is explained in so many words that it wraps"),
    OPT_LIST(struct get, files, 'f', "filename", "FILE", "Read it"),
    {.kind = OPT_K_FLAG, .name = "debug", .offset = offsetof(struct get, debug), .hidden = true},
    OPT_GROUP("Common options", common_opts, offsetof(struct get, common)),
    OPT_END,
};

static const struct opt restart_opts[] = {
    {.kind = OPT_K_STRING,
     .name = "reason",
     .letter = 'r',
     .metavar = "TEXT",
     .required = true,
     .help = "Say why, it's asked",
     .offset = offsetof(struct restart, reason)},
    OPT_END,
};

/* Exit code: 10 + arguments, so that a test sees that it ran. */
static int run_count(void *ctx, const void *opts, const struct command_call *call)
{
    *(const void **)ctx = opts;
    return 10 + (int)call->args_len;
}

static const struct command cmd_get = {
    .name = "get",
    .summary = "Show objects",
    .usage = "TYPE [NAME...]",
    .examples = "  $ prog get pods",
    .opts = get_opts,
    .opts_size = sizeof(struct get),
    .min_args = 1,
    .max_args = OPT_ANY_ARGS,
    .arg_choices = types,
    .run = run_count,
};
static const struct command cmd_restart = {
    .name = "restart",
    .summary = "Replace all pods",
    .usage = "NAME",
    .opts = restart_opts,
    .opts_size = sizeof(struct restart),
    .min_args = 1,
    .max_args = 1,
    .run = run_count,
};
static const struct command cmd_hidden = {
    .name = "gut", .summary = "Not shown", .run = run_count, .hidden = true};
static const struct command cmd_rollout = {
    .name = "rollout",
    .summary = "Manage updates",
    .subs = (const struct command *const[]){&cmd_restart, NULL},
};
static const struct command prog = {
    .name = "prog",
    .summary = "Does things",
    .description = "Long text with *stars* and _lines_.",
    .opts = common_opts,
    .opts_size = sizeof(struct common),
    .subs = (const struct command *const[]){&cmd_get, &cmd_rollout, &cmd_hidden, NULL},
};

enum { ARGS_MAX = 30 };

/* Splits at spaces and parses. */
static int parse(const char *line, struct arena *a, struct command_call *call, struct err *err)
{
    const char *argv[ARGS_MAX + 2] = {"prog"};
    int argc = 1;
    str rest = str_of(line);
    while (rest.len > 0 && argc <= ARGS_MAX)
        argv[argc++] = arena_str(a, str_cut(&rest, ' ')).p;
    return command_parse(&prog, argc, argv, a, call, err);
}

static const struct get *parse_get(const char *line, struct arena *a, struct command_call *call)
{
    struct err err = ERR_INIT;
    if (parse(line, a, call, &err) < 0) {
        test_note("%s: %s", line, err.message);
        CHECK(!"parses");
        return NULL;
    }
    CHECK(call->command == &cmd_get);
    return call->opts;
}

TEST(opt_every_spelling_is_understood)
{
    static const char *const lines[] = {
        "get -A -l 7 --timeout 5s -f a --filename b -n ns -o yaml pods x",
        "get pods x -Al7 --timeout=5s -fa --filename=b -nns -oyaml",
        "get -l=7 --all-namespaces --timeout 5s pods -f=a -f b x --output yaml --namespace=ns",
        "-n ns --output=yaml get -A --limit 7 --timeout 5s -f a -f b -- pods x",
        "get --no-all-namespaces -A --limit=7 --timeout 5s -f a -f b -n old -n ns -oyaml pods x",
        "-nns get --all-namespaces=true --limit 7 --timeout 5000ms -f a -f b -oyaml pods -- x",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        struct arena a CLEANUP(arena_done) = ARENA_INIT;
        struct command_call call;
        const struct get *g = parse_get(lines[i], &a, &call);
        REQUIRE(g != NULL);
        CHECK(g->all);
        CHECK_INT(g->limit, 7);
        CHECK_INT(g->timeout, 5 * USEC_PER_SEC);
        CHECK_INT(g->files.len, 2);
        CHECK_CSTR(g->files.p[0], "a");
        CHECK_CSTR(g->files.p[1], "b");
        CHECK_CSTR(g->common.namespace, "ns");
        CHECK_INT(g->common.output, 2);
        CHECK_INT(call.args_len, 2);
        CHECK_CSTR(call.args[0], "pods");
        CHECK_CSTR(call.args[1], "x");
        CHECK(command_given(&call, "limit") && command_given(&call, "namespace"));
        CHECK(!command_given(&call, "debug"));
    }
}

TEST(opt_defaults_hold_when_nothing_is_given)
{
    struct arena a CLEANUP(arena_done) = ARENA_INIT;
    struct command_call call;
    const struct get *g = parse_get("get pods", &a, &call);
    REQUIRE(g != NULL);
    CHECK(!g->all && !g->debug);
    CHECK_INT(g->limit, 500);
    CHECK_INT(g->timeout, 90 * USEC_PER_SEC);
    CHECK_INT(g->files.len, 0);
    CHECK(g->common.namespace.p == NULL);
    CHECK_INT(g->common.output, 0);
    CHECK_INT(call.given_len, 0);
    g = parse_get("get pods --no-all-namespaces - --debug", &a, &call);
    REQUIRE(g != NULL);
    CHECK(!g->all && g->debug && call.args_len == 2);
    CHECK_CSTR(call.args[1], "-");
}

TEST(opt_many_values_of_a_list)
{
    struct arena a CLEANUP(arena_done) = ARENA_INIT;
    struct command_call call;
    const struct get *g = parse_get("get x -f1 -f2 -f3 -f4 -f5 -f6 -f7 -f8 -f9", &a, &call);
    REQUIRE(g != NULL && g->files.len == 9);
    CHECK_CSTR(g->files.p[0], "1");
    CHECK_CSTR(g->files.p[8], "9");
}

TEST(opt_mistakes_say_what_to_do)
{
    static const struct {
        const char *line, *message;
    } rows[] = {
        {"rollout", "a command is missing"},
        {"-- get", "a command is missing"},
        {"gte pods", "unknown command \"gte\"; did you mean \"get\"?"},
        {"rollout restrat x", "unknown command \"restrat\"; did you mean \"restart\"?"},
        {"frobnicate", "unknown command \"frobnicate\""},
        {"get", "an argument is missing: get TYPE [NAME...]"},
        {"get pods --namspace x", "unknown option --namspace; did you mean --namespace?"},
        {"get pods --name x", "unknown option --name; did you mean --namespace?"},
        {"get pods --xyz", "unknown option --xyz"},
        {"get pods -z", "unknown option -z"},
        {"get pods -Az", "unknown option -z"},
        {"get pods --debu", "unknown option --debu"},
        {"--limit 3 get pods", "unknown option --limit"},
        {"-z get pods", "unknown option -z"},
        {"get pods --limit", "option --limit needs a value: N"},
        {"get pods -l", "option --limit needs a value: N"},
        {"get pods --output --all-namespaces", "option --output needs a value"},
        {"get pods --limit x", "option --limit: \"x\" is not a whole number"},
        {"get pods --filename=", "option --filename needs a value: FILE"},
        {"get pods --limit=", "option --limit: \"\" is not a whole number"},
        {"get pods --limit 0", "option --limit: 0 is not between 1 and 1000"},
        {"get pods -l -1", "option --limit: -1 is not between 1 and 1000"},
        {"get pods --timeout 5",
         "option --timeout: \"5\" is not a duration such as 30s, 1m30s or 4h"},
        {"get pods --timeout=-5s",
         "option --timeout: \"-5s\" is not a duration such as 30s, 1m30s or 4h"},
        {"get pods -o jsn",
         "option --output: \"jsn\" is not one of table, json, yaml; did you mean json?"},
        {"get pods -o picture", "option --output: \"picture\" is not one of table, json, yaml"},
        {"get pods --all-namespaces=2", "option --all-namespaces: \"2\" is neither true nor false"},
        {"get pods --no-limit", "unknown option --no-limit"},
        {"rollout restart a b -r x", "unexpected argument \"b\""},
        {"rollout restart a", "option --reason is required"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena a CLEANUP(arena_done) = ARENA_INIT;
        struct command_call call;
        struct err err = ERR_INIT;
        bool good = CHECK_INT(parse(rows[i].line, &a, &call, &err), ERR_USAGE);
        if (!CHECK_CSTR(str_of(err.message), rows[i].message) || !good)
            test_note("%s", rows[i].line);
    }
}

TEST(opt_help_is_found_everywhere)
{
    static const struct {
        const char *line;
        const struct command *command;
    } rows[] = {
        {"--help", &prog},
        {"-h", &prog},
        {"help", &prog},
        {"get -h", &cmd_get},
        {"get pods --help --unknown", &cmd_get},
        {"--help get", &cmd_get},
        {"help get", &cmd_get},
        {"get -Ah", &cmd_get},
        {"help rollout", &cmd_rollout},
        {"rollout restart --help", &cmd_restart},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct arena a CLEANUP(arena_done) = ARENA_INIT;
        struct command_call call;
        CHECK_INT(parse(rows[i].line, &a, &call, NULL), 0);
        CHECK(call.help);
        CHECK(call.command == rows[i].command);
    }
    struct arena a CLEANUP(arena_done) = ARENA_INIT;
    struct command_call call;
    CHECK_INT(parse("get -- --help", &a, &call, NULL), 0);
    CHECK(!call.help);
}

TEST(opt_main_runs_the_command)
{
    const void *seen = NULL;
    char *argv[] = {(char[]){"prog"}, (char[]){"get"}, (char[]){"a"}, (char[]){"b"}, NULL};
    CHECK_INT(command_main(&prog, 4, argv, &seen), 12);
    CHECK(seen != NULL);
}

/* Runs the program with the descriptor sent to a file; what was written there goes to out. */
static int main_captured(int fd, char **argv, int argc, struct strbuf *out)
{
    FILE *file = tmpfile();
    REQUIRE(file != NULL);
    (void)fflush(NULL);
    int saved = dup(fd);
    REQUIRE(saved >= 0 && dup2(fileno(file), fd) == fd);
    const void *seen = NULL;
    int code = command_main(&prog, argc, argv, &seen);
    (void)fflush(NULL);
    CHECK(dup2(saved, fd) == fd);
    (void)close(saved);
    rewind(file);
    char room[4096];
    strbuf_add(out, room, fread(room, 1, sizeof(room), file));
    (void)fclose(file);
    return code;
}

TEST(opt_main_prints_a_mistake_in_one_line_and_returns_2)
{
    struct strbuf out CLEANUP(strbuf_done) = STRBUF_INIT(10000);
    char *argv[] = {(char[]){"prog"}, (char[]){"rollout"}, (char[]){"restart"}, (char[]){"-x"}};
    CHECK_INT(main_captured(STDERR_FILENO, argv, 4, &out), 2);
    CHECK_CSTR(strbuf_str(&out),
               "prog rollout restart: unknown option -x (see 'prog rollout restart --help')\n");
}

TEST(opt_main_prints_help_to_stdout)
{
    struct strbuf out CLEANUP(strbuf_done) = STRBUF_INIT(10000);
    char *argv[] = {(char[]){"prog"}, (char[]){"help"}, (char[]){"rollout"}};
    CHECK_INT(main_captured(STDOUT_FILENO, argv, 3, &out), 0);
    CHECK_CSTR(strbuf_str(&out), "Usage: prog rollout COMMAND\n"
                                 "\n"
                                 "Manage updates.\n"
                                 "\n"
                                 "Commands:\n"
                                 "  restart  Replace all pods\n"
                                 "\n"
                                 "Options:\n"
                                 "  -h, --help  Show this help\n"
                                 "\n"
                                 "Use \"prog rollout COMMAND --help\" for more about a command.\n");
}

TEST(opt_nearest_name)
{
    static const char *const names[] = {"apply", "delete", "describe", "get", NULL};
    CHECK_CSTR(str_of(opt_nearest(STR("aplly"), names)), "apply");
    CHECK_CSTR(str_of(opt_nearest(STR("dleete"), names)), "delete");
    CHECK_CSTR(str_of(opt_nearest(STR("desc"), names)), "describe");
    CHECK_CSTR(str_of(opt_nearest(STR("gte"), names)), "get");
    CHECK(opt_nearest(STR("zzz"), names) == NULL);
    CHECK(opt_nearest(STR(""), names) == NULL);
}

TEST(opt_help_text)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(10000);
    command_write_help((const struct command *const[]){&prog, &cmd_get}, 2, &b);
    CHECK_CSTR(strbuf_str(&b),
               "Usage: prog get [options] TYPE [NAME...]\n"
               "\n"
               "Show objects.\n"
               "\n"
               "Options:\n"
               "  -h, --help              Show this help\n"
               "  -A, --all-namespaces    Of all namespaces\n"
               "  -l, --limit N           At most so many (default 500)\n"
               "      --timeout DURATION  Give up after this long, which is explained in so many\n"
               "                          words that it wraps (default 1m30s)\n"
               "  -f, --filename FILE     Read it (may be repeated)\n"
               "\n"
               "Common options:\n"
               "  -n, --namespace NAME    Work in this namespace\n"
               "  -o, --output table|json|yaml\n"
               "                          How to print (default table)\n"
               "\n"
               "Examples:\n"
               "  $ prog get pods\n");
    strbuf_reset(&b);
    command_write_help((const struct command *const[]){&prog}, 1, &b);
    CHECK(str_starts(strbuf_str(&b), STR("Usage: prog COMMAND [options]\n\nDoes things.\n\n"
                                         "Long text with *stars* and _lines_.\n\n"
                                         "Commands:\n"
                                         "  get      Show objects\n"
                                         "  rollout  Manage updates\n"
                                         "  help     Show the help of a command\n\n")));
    CHECK(str_find(strbuf_str(&b), STR("gut")) < 0);
}

/* Runs a shell command with the text on its standard input; its output goes to out. */
static int pipe_through(const char *command, str input, struct strbuf *out)
{
    char path[] = "/tmp/grove-test-opt-XXXXXX";
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    CHECK_INT(write(fd, input.p, input.len), (int64_t)input.len);
    (void)close(fd);
    char line[1000];
    (void)snprintf(line, sizeof(line), "f=%s; %s", path, command);
    FILE *f = popen(line, "r");
    REQUIRE(f != NULL);
    char room[4096];
    for (size_t n; (n = fread(room, 1, sizeof(room), f)) > 0;)
        strbuf_add(out, room, n);
    int status = pclose(f);
    (void)unlink(path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static bool has_program(const char *name)
{
    char line[200];
    (void)snprintf(line, sizeof(line), "command -v %s >/dev/null 2>&1", name);
    return system(line) == 0;
}

TEST(opt_man_page_is_accepted_by_scdoc)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(20000);
    struct strbuf out CLEANUP(strbuf_done) = STRBUF_INIT(100000);
    command_write_man(&prog, &b);
    str text = strbuf_str(&b);
    CHECK(str_starts(text, STR("prog(1)\n\n# NAME\n\nprog - Does things\n\n# SYNOPSIS\n\n"
                               "*prog* _COMMAND_ [options...] [arguments...]\n\n# DESCRIPTION\n\n"
                               "Long text with \\*stars\\* and \\_lines\\_.\n\n# COMMANDS\n\n")));
    CHECK(str_find(text, STR("\n## prog rollout restart [options] NAME\n\n")) > 0);
    CHECK(str_find(text, STR("\n*-l*, *--limit* _N_\n\tAt most so many (default 500).\n")) > 0);
    CHECK(str_find(text, STR("\n# COMMON OPTIONS\n\n*-n*, *--namespace* _NAME_\n")) > 0);
    CHECK(str_find(text, STR("debug")) < 0 && str_find(text, STR("gut")) < 0);
    if (!has_program("scdoc")) {
        test_note("scdoc is not installed: source not compiled");
        return;
    }
    CHECK_INT(pipe_through("scdoc <$f 2>&1", text, &out), 0);
    CHECK(str_find(strbuf_str(&out), STR(".SH COMMON OPTIONS")) > 0);
}

TEST(opt_bash_completion_offers_the_right_words)
{
    static const struct {
        const char *words, *want;
    } rows[] = {
        {"prog ''", "--help --namespace --output get rollout help\n"},
        {"prog help rollout r", "restart\n"},
        {"prog r", "rollout\n"},
        {"prog rollout ''", "--help restart\n"},
        {"prog rollout restart --r", "--reason\n"},
        {"prog get -o ''", "table json yaml\n"},
        {"prog -n x get --output y", "yaml\n"},
        {"prog get --limit ''", "\n"},
        {"prog get p", "pods\n"},
        {"prog get -n get --a", "--all-namespaces\n"},
        {"prog get --output = j", "json\n"},
        {"prog get --output =", "table json yaml\n"},
        {"prog get --output=j", "--output=json\n"},
    };
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(100000);
    if (!has_program("bash")) {
        test_skip("bash is not installed");
        return;
    }
    command_write_completion(&prog, SHELL_BASH, &b);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf out CLEANUP(strbuf_done) = STRBUF_INIT(10000);
        char command[500];
        (void)snprintf(command, sizeof(command),
                       "bash -c '. \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); "
                       "_prog; echo \"${COMPREPLY[@]}\"' - $f %s 2>&1",
                       rows[i].words);
        CHECK_INT(pipe_through(command, strbuf_str(&b), &out), 0);
        if (!CHECK_CSTR(strbuf_str(&out), rows[i].want))
            test_note("%s", rows[i].words);
    }
}

TEST(opt_zsh_and_fish_completion_quote_their_texts)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(100000);
    command_write_completion(&prog, SHELL_ZSH, &b);
    CHECK(str_starts(strbuf_str(&b), STR("#compdef prog\n")));
    CHECK(str_find(strbuf_str(&b), STR("'--reason:Say why, it'\\''s asked'")) > 0);
    CHECK(str_find(strbuf_str(&b), STR("    \"prog get:-o\" | \"prog get:--output\") "
                                       "compadd -- table json yaml; return ;;\n")) > 0);
    strbuf_reset(&b);
    command_write_completion(&prog, SHELL_FISH, &b);
    CHECK(str_find(strbuf_str(&b),
                   STR("complete -c prog -n '__prog_at \"prog rollout restart\"' -s r -l reason -x "
                       "-d 'Say why, it\\'s asked'\n")) > 0);
    CHECK(str_find(strbuf_str(&b), STR("-s o -l output -x -a 'table json yaml' -d 'How")) > 0);
    CHECK(str_find(strbuf_str(&b), STR("gut")) < 0);
}

/* As cobra's programs answer: kubectl completes plugins by it. */
TEST(opt_complete_offers_what_can_follow)
{
    static const struct {
        const char *words[4];
        int n;
        const char *want;
    } rows[] = {
        {{"rol"}, 1, "rollout\tManage updates\n:4\n"},
        {{"hel"}, 1, "help\tShow the help of a command\n:4\n"},
        {{"help", "rollout", "r"}, 3, "restart\tReplace all pods\n:4\n"},
        {{"rollout", "hel"}, 2, ":4\n"},
        {{"get", "-o", "j"}, 3, "json\n:4\n"},
        {{"get", "--output=j"}, 2, "--output=json\n:4\n"},
        {{"get", "-n", "get", "p"}, 4, "pods\n:4\n"},
        {{"gut"}, 1, ":4\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(10000);
        command_complete(&prog, rows[i].n, rows[i].words, &b);
        if (!CHECK_CSTR(strbuf_str(&b), rows[i].want))
            test_note("row %zu", i);
    }
}
