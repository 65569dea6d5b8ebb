/*
 * Command lines from tables. One table of commands and options drives parsing, --help, the man
 * page and the shell completions, so they cannot disagree.
 *
 *   struct common { str namespace; int output; };
 *   static const struct opt common_opts[] = {
 *       OPT_STRING(struct common, namespace, 'n', "namespace", "NAME", "Work in this namespace"),
 *       OPT_CHOICE(struct common, output, 'o', "output", outputs, "table", "How to print"),
 *       OPT_END,
 *   };
 *   struct get { struct common common; bool all; };
 *   static const struct opt get_opts[] = {
 *       OPT_FLAG(struct get, all, 'A', "all-namespaces", "Of all namespaces"),
 *       OPT_GROUP("Common options", common_opts, offsetof(struct get, common)),
 *       OPT_END,
 *   };
 *   static const struct command get = {
 *       .name = "get", .summary = "Show objects", .usage = "TYPE [NAME...]", .min_args = 1,
 *       .max_args = OPT_ANY_ARGS, .opts = get_opts, .opts_size = sizeof(struct get), .run =
 * run_get,
 *   };
 *
 * Accepted: --opt=value, --opt value, -n value, -nvalue, -n=value, -abc for flags, --no-flag,
 * --flag=false, "--" ends the options, options and arguments in any order. Options that stand
 * before the command's name must be in the table of the command above it. -h and --help are added
 * to every command, and `PROGRAM help COMMAND...` is understood, as is `PROGRAM FAMILY help`.
 *
 * Every mistake is ERR_USAGE with one line; an unknown name suggests the nearest known one.
 */
#ifndef BASE_OPT_H
#define BASE_OPT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

enum opt_kind {
    OPT_K_END,
    OPT_K_FLAG,     /* bool */
    OPT_K_STRING,   /* str; p == NULL when neither given nor defaulted */
    OPT_K_INT,      /* int64_t, within [min, max] when min < max */
    OPT_K_DURATION, /* usec, as Go writes durations; never negative */
    OPT_K_CHOICE,   /* int: index into choices */
    OPT_K_LIST,     /* struct opt_list: given any number of times */
    OPT_K_GROUP,    /* another table */
};

struct opt_list {
    str *p;
    size_t len;
    size_t cap;
};

struct opt {
    enum opt_kind kind;
    const char *name; /* long, without dashes; for a group its heading or NULL */
    char letter;      /* short, or 0 */
    const char *metavar;
    const char *help;
    const char *def; /* default, written as on the command line; NULL = none */
    size_t offset;   /* of the field, or of the group's struct */
    int64_t min, max;
    const char *const *choices; /* NULL-terminated */
    const struct opt *group;
    bool required;
    bool hidden; /* works, is not shown */
};

#define OPT_FLAG(type, field, letter_, name_, help_)                               \
    {                                                                              \
        .kind = OPT_K_FLAG, .name = (name_), .letter = (letter_), .help = (help_), \
        .offset = offsetof(type, field)                                            \
    }
#define OPT_STRING(type, field, letter_, name_, metavar_, help_)                           \
    {                                                                                      \
        .kind = OPT_K_STRING, .name = (name_), .letter = (letter_), .metavar = (metavar_), \
        .help = (help_), .offset = offsetof(type, field)                                   \
    }
#define OPT_STRING_DEF(type, field, letter_, name_, metavar_, def_, help_)                 \
    {                                                                                      \
        .kind = OPT_K_STRING, .name = (name_), .letter = (letter_), .metavar = (metavar_), \
        .def = (def_), .help = (help_), .offset = offsetof(type, field)                    \
    }
#define OPT_INT(type, field, letter_, name_, metavar_, min_, max_, def_, help_)         \
    {                                                                                   \
        .kind = OPT_K_INT, .name = (name_), .letter = (letter_), .metavar = (metavar_), \
        .min = (min_), .max = (max_), .def = (def_), .help = (help_),                   \
        .offset = offsetof(type, field)                                                 \
    }
#define OPT_DURATION(type, field, letter_, name_, def_, help_)                               \
    {                                                                                        \
        .kind = OPT_K_DURATION, .name = (name_), .letter = (letter_), .metavar = "DURATION", \
        .def = (def_), .help = (help_), .offset = offsetof(type, field)                      \
    }
#define OPT_CHOICE(type, field, letter_, name_, choices_, def_, help_)                     \
    {                                                                                      \
        .kind = OPT_K_CHOICE, .name = (name_), .letter = (letter_), .choices = (choices_), \
        .def = (def_), .help = (help_), .offset = offsetof(type, field)                    \
    }
#define OPT_LIST(type, field, letter_, name_, metavar_, help_)                           \
    {                                                                                    \
        .kind = OPT_K_LIST, .name = (name_), .letter = (letter_), .metavar = (metavar_), \
        .help = (help_), .offset = offsetof(type, field)                                 \
    }
#define OPT_GROUP(heading, table, offset_)                                            \
    {                                                                                 \
        .kind = OPT_K_GROUP, .name = (heading), .group = (table), .offset = (offset_) \
    }
#define OPT_END           \
    {                     \
        .kind = OPT_K_END \
    }

enum { OPT_ANY_ARGS = -1, COMMAND_DEPTH_MAX = 4 };

struct command_call;

/* A command line that is being typed. */
struct command_typed {
    int n_words; /* all of them, options too; the last is the one being typed */
    const char *const *words;
    const str *args; /* the arguments before it */
    size_t args_len;
    str word; /* what there is of it */
    /* Offers a word; what does not begin as it was typed is left out. */
    void (*offer)(const struct command_typed *t, const char *word);
    void *impl;
};

struct command {
    const char *name;
    const char *summary;     /* one line, no full stop */
    const char *description; /* paragraphs, or NULL */
    const char *usage;       /* arguments: "NAME", "(-f FILE | TYPE NAME)"; NULL = none */
    const char *examples;    /* lines "  $ grove get pcs"; NULL = none */
    const struct opt *opts;
    size_t opts_size; /* of the struct the table describes */
    int min_args, max_args;
    const char *const *arg_choices;    /* words offered for the first argument; NULL-terminated */
    const struct command *const *subs; /* NULL-terminated; a command has these or run */
    /* Offers what only the running system knows, while somebody types an argument: names of
     * objects. NULL: nothing. */
    void (*complete)(const struct command_typed *typed);
    /* Words that people bring along from elsewhere, each followed by what to say to them:
     * "describe", "here it is grove explain", ..., NULL. NULL: none. */
    const char *const *foreign;
    int (*run)(void *ctx, const void *opts, const struct command_call *call); /* exit code */
    bool hidden;
};

/* What a command line says. Slices point into argv; all else is in the arena. */
struct command_call {
    const struct command *path[COMMAND_DEPTH_MAX]; /* from the program down */
    size_t depth;
    const struct command *command; /* the last of path */
    void *opts;                    /* filled struct of command->opts_size */
    str *args;
    size_t args_len;
    const struct opt **given; /* options that stood on the command line */
    size_t given_len;
    bool help; /* --help: print it, run nothing */
};

/* Whether the option stood on the command line, as opposed to its default. */
bool command_given(const struct command_call *call, const char *name);

/* argv[0] is skipped. On error ret->path says how far it came. */
int command_parse(const struct command *root, int argc, const char *const *argv, struct arena *a,
                  struct command_call *ret, struct err *err);
/* Parses and runs; prints help to stdout, a mistake to stderr. Returns the exit code: what run
 * returned, or 2 for wrong usage. */
int command_main(const struct command *root, int argc, char **argv, void *ctx);

/* Every program with commands has it: "grove help COMMAND" is "grove COMMAND --help". */
#define COMMAND_HELP_SUMMARY "Show the help of a command"

void command_write_help(const struct command *const *path, size_t depth, struct strbuf *b);
/* The man page of the whole program in scdoc source. */
void command_write_man(const struct command *root, struct strbuf *b);
/* The name nearest to `word` among NULL-terminated candidates, or NULL when none is close. */
const char *opt_nearest(str word, const char *const *candidates);

/* A table with its groups opened, in order: what the parser and the texts read. */
enum { OPT_FLAT_MAX = 96 };
struct opt_flat {
    const struct opt *opt;
    size_t offset;             /* from the start of the command's struct */
    const struct opt *heading; /* the group with a heading it stands in, or NULL */
};
size_t opt_flatten(const struct opt *table, struct opt_flat ret[OPT_FLAT_MAX]);

/* The hidden word by which scripts ask the program for names, and the answer: a line for each. */
#define COMMAND_ASK "__names"
void command_names(const struct command *root, int n_words, const char *const *words,
                   struct strbuf *b);
enum command_shell { SHELL_BASH, SHELL_ZSH, SHELL_FISH };
void command_write_completion(const struct command *root, enum command_shell shell,
                              struct strbuf *b);
/* What could stand where the last of the words is being typed (it may be empty): a line for each,
 * "word<tab>what it is", and last ":N", as cobra's programs answer. So kubectl completes a plugin.
 */
void command_complete(const struct command *root, int n_words, const char *const *words,
                      struct strbuf *b);

#endif
