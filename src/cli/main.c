/* The table of commands. Installed also as kubectl-grove, where `kubectl grove X` means `grove X`.
 */
#include "cli/cli.h"
#include "explain/documents/clean.h"
#include "explain/documents/session.h"
#include "grove/types.h"

static int run_version(void *ctx, const void *opts, const struct command_call *call)
{
    (void)ctx;
    (void)opts;
    (void)call;
    puts("grove " GROVE_VERSION);
    return EXIT_OK;
}

const struct command cmd_version = {
    .name = "version",
    .summary = "Print the version",
    .run = run_version,
};

/* Texts that the tables give: what the build installs beside the program. */
static const struct command root;
static const char *const texts[] = {"man", "bash", "zsh", "fish", NULL};

static int run_generate(void *ctx, const void *opts, const struct command_call *call)
{
    (void)ctx;
    (void)opts;
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(4 << 20);
    struct err err = ERR_INIT;
    if (str_is(call->args[0], "man"))
        command_write_man(&root, &b);
    else if (str_is(call->args[0], "bash"))
        command_write_completion(&root, SHELL_BASH, &b);
    else if (str_is(call->args[0], "zsh"))
        command_write_completion(&root, SHELL_ZSH, &b);
    else if (str_is(call->args[0], "fish"))
        command_write_completion(&root, SHELL_FISH, &b);
    if (b.len == 0) {
        (void)err_set(&err, ERR_USAGE, "generate what? man, bash, zsh or fish");
        return cli_fail(&err);
    }
    return fwrite(b.p, 1, b.len, stdout) == b.len && fflush(stdout) == 0 ? EXIT_OK : EXIT_NO;
}

static const struct command cmd_generate = {
    .name = "generate",
    .summary = "Print the man page (scdoc source) or a shell's completion",
    .usage = "man|bash|zsh|fish",
    .min_args = 1,
    .max_args = 1,
    .arg_choices = texts,
    .run = run_generate,
    .hidden = true,
};

static const char *const shells[] = {"bash", "zsh", "fish", NULL};

static int run_completion(void *ctx, const void *opts, const struct command_call *call)
{
    struct err err = ERR_INIT;
    for (const char *const *s = shells; *s; s++) {
        if (str_is(call->args[0], *s))
            return run_generate(ctx, opts, call);
    }
    (void)err_set(&err, ERR_USAGE,
                  "there is no completion for \"%.*s\"; there is for bash, zsh and fish",
                  STR_ARG(call->args[0]));
    return cli_fail(&err);
}

static const struct command cmd_completion = {
    .name = "completion",
    .summary = "Print the completion of a shell",
    .description = "What make install and the package install by themselves. Names of objects are "
                   "asked of the server while you type.",
    .usage = "bash|zsh|fish",
    .min_args = 1,
    .max_args = 1,
    .arg_choices = shells,
    .examples = "  $ source <(grove completion bash)\n"
                "  $ grove completion fish > ~/.config/fish/completions/grove.fish",
    .run = run_completion,
};

static const struct command *const commands[] = {
    &cmd_up,      &cmd_down,      &cmd_list,       &cmd_demo,     &cmd_apply,     &cmd_get,
    &cmd_scale,   &cmd_delete,    &cmd_wait,       &cmd_status,   &cmd_tree,      &cmd_explain,
    &cmd_why,     &cmd_fit,       &cmd_rollout,    &cmd_plan,     &cmd_fleet,     &cmd_ui,
    &cmd_metrics, &cmd_token,     &cmd_sim,        &cmd_operator, &cmd_scheduler, &cmd_nodes,
    &cmd_initc,   &cmd_manifests, &cmd_completion, &cmd_version,  &cmd_generate,  NULL,
};

/* kubectl's may stand before the command, and so may these. */
static const struct opt root_opts[] = {OPT_GROUP("Connection", session_options, 0), OPT_END};

/* What fingers type that know kubectl. */
static const char *const kubectl_verbs[] = {
    "describe",
    "describe is a command of kubectl; here it is grove explain",
    "create",
    "create is a command of kubectl; here it is grove apply -f FILE",
    "edit",
    "edit is a command of kubectl; here it is grove apply -f FILE",
    "logs",
    "logs is a command of kubectl: kubectl logs POD",
    "exec",
    "exec is a command of kubectl: kubectl exec POD -- COMMAND",
    "events",
    "events is a command of kubectl; here it is grove get events, or grove why TYPE/NAME",
    "top",
    "top is a command of kubectl; here it is grove status",
    "start",
    "start one with: grove up",
    "stop",
    "stop one with: grove down",
    "ls",
    "the sets there are: grove status; the control planes: grove list",
    NULL,
};

static const struct command root = {
    .name = "grove",
    .summary = "Run AI inference systems made of gangs of pods",
    .opts = root_opts,
    .opts_size = sizeof(struct session_opts),
    .description =
        "One program: a control plane on this machine (grove up), and the commands to work "
        "with it or with any Kubernetes cluster.",
    .subs = commands,
    .foreign = kubectl_verbs,
};

/* One line, whatever a server or a file put into it. */
static str one_line(struct arena *a, str text)
{
    str line = arena_str(a, text);
    for (size_t i = 0; i < line.len; i++) {
        if (line.p[i] == '\n' || line.p[i] == '\r' || line.p[i] == '\t')
            ((char *)line.p)[i] = ' ';
    }
    return clean_text(a, line, CLEAN_ALL);
}

int cli_fail(const struct err *err)
{
    struct arena a = ARENA_INIT;
    fprintf(stderr, "grove: %.*s\n", STR_ARG(one_line(&a, str_trim(str_of(err->message)))));
    arena_done(&a);
    return err->code == ERR_USAGE ? EXIT_USAGE : EXIT_NO;
}

void cli_one_too_many(const struct command_call *call, struct err *err)
{
    (void)err_set(err, ERR_USAGE, "\"%.*s\" names one object; what is \"%.*s\"?",
                  STR_ARG(call->args[0]), STR_ARG(call->args[1]));
}

/* kubectl asks a program of this name how its plugin's words go on. */
#define COMPLETER "kubectl_complete-grove"

typedef void complete_fn(const struct command *root, int n_words, const char *const *words,
                         struct strbuf *b);

static int complete(int argc, char **argv, complete_fn *fn)
{
    struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(1 << 20);
    fn(&root, argc - 1, (const char *const *)argv + 1, &b);
    return fwrite(b.p, 1, b.len, stdout) == b.len && fflush(stdout) == 0 ? EXIT_OK : EXIT_NO;
}

static bool is_called(const char *path, const char *name)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, name) == 0;
}

int main(int argc, char **argv)
{
    grove_kinds_init();
    if (argc > 0 && is_called(argv[0], COMPLETER))
        return complete(argc, argv, command_complete);
    if (argc > 1 && strcmp(argv[1], COMMAND_ASK) == 0)
        return complete(argc - 1, argv + 1, command_names);
    /* As every other program has it. */
    if (argc == 2 && str_is(str_of(argv[1]), "--version"))
        argv[1] = (char *)cmd_version.name;
    int code = command_main(&root, argc, argv, NULL);
    /* A full disk is no success. */
    if (fflush(stdout) || ferror(stdout)) {
        fputs("grove: cannot write the output\n", stderr);
        code = EXIT_NO;
    }
    return code;
}
