/*
 * Command lines from any bytes, one word per line, against a table with every kind of option.
 * Either a mistake is reported as wrong usage with a message, or the result keeps the promises of
 * the table: bounds, choices, argument counts, required options.
 */
#include "base/opt.h"
#include "fuzz.h"

enum { WORDS_MAX = 200 };

static const char *const colours[] = {"red", "green", "blue", NULL};

struct shared {
    str name;
    int colour;
};

struct leaf {
    bool flag, other;
    int64_t number;
    usec wait;
    struct opt_list list;
    struct shared shared;
    str needed;
};

static const struct opt shared_opts[] = {
    OPT_STRING(struct shared, name, 'n', "name", "NAME", "A name"),
    OPT_CHOICE(struct shared, colour, 'c', "colour", colours, "green", "A colour"),
    OPT_END,
};

static const struct opt leaf_opts[] = {
    OPT_FLAG(struct leaf, flag, 'a', "flag", "A flag"),
    OPT_FLAG(struct leaf, other, 'b', "other", "Another"),
    OPT_INT(struct leaf, number, 'i', "number", "N", -5, 5, "0", "A number"),
    OPT_DURATION(struct leaf, wait, 'w', "wait", "1s", "A duration"),
    OPT_LIST(struct leaf, list, 'l', "list", "ITEM", "A list"),
    OPT_GROUP("Shared", shared_opts, offsetof(struct leaf, shared)),
    {.kind = OPT_K_STRING,
     .name = "needed",
     .letter = 'r',
     .required = true,
     .offset = offsetof(struct leaf, needed)},
    OPT_END,
};

static int run_nothing(void *ctx, const void *opts, const struct command_call *call)
{
    return 0;
}

static const struct command leaf = {.name = "leaf",
                                    .summary = "A command",
                                    .usage = "A B",
                                    .opts = leaf_opts,
                                    .opts_size = sizeof(struct leaf),
                                    .min_args = 1,
                                    .max_args = 2,
                                    .run = run_nothing};
static const struct command branch = {.name = "branch",
                                      .summary = "A branch",
                                      .opts = shared_opts,
                                      .opts_size = sizeof(struct shared),
                                      .subs = (const struct command *const[]){&leaf, NULL}};
static const struct command root = {.name = "root",
                                    .summary = "The root",
                                    .opts = shared_opts,
                                    .opts_size = sizeof(struct shared),
                                    .subs = (const struct command *const[]){&branch, &leaf, NULL}};

static void check_call(const struct command_call *call)
{
    const struct leaf *l = call->opts;
    BUG_ON(call->command != &leaf);
    BUG_ON(call->args_len < 1 || call->args_len > 2);
    BUG_ON(l->number < -5 || l->number > 5 || l->wait < 0);
    BUG_ON(l->shared.colour < 0 || l->shared.colour > 2);
    BUG_ON(!command_given(call, "needed") || !l->needed.p);
    for (size_t i = 0; i < l->list.len; i++)
        BUG_ON(!l->list.p[i].p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a CLEANUP(arena_done) = ARENA_INIT;
    const char *argv[WORDS_MAX + 1] = {"root"};
    int argc = 1;
    str rest = str_n((const char *)data, size);
    while (rest.len > 0 && argc < WORDS_MAX)
        argv[argc++] = arena_str(&a, str_cut(&rest, '\n')).p;
    struct command_call call;
    struct err err = ERR_INIT;
    if (command_parse(&root, argc, argv, &a, &call, &err) < 0) {
        BUG_ON(err.code != ERR_USAGE || !err.message[0]);
    } else if (call.help) {
        struct strbuf b CLEANUP(strbuf_done) = STRBUF_INIT(1 << 16);
        command_write_help(call.path, call.depth, &b);
        BUG_ON(b.overflow || b.len == 0);
    } else {
        check_call(&call);
    }
    return 0;
}
