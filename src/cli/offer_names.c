/* See offer_names.h. */
#include "cli/offer_names.h"

#include <unistd.h>

#include "client/instance.h"
#include "explain/documents/session.h"
#include "grove/types.h"

/* A shell waits for it. */
enum { PATIENCE_SECONDS = 1, MAX_OFFERED = 1000 };

static str option_value(const struct command_typed *t, const char *name, const char *letter)
{
    for (int i = 0; i + 1 < t->n_words; i++) {
        str word = str_of(t->words[i]), value = word, key = str_cut(&value, '=');
        bool is = str_is(key, name) || (letter && str_is(key, letter));
        if (is && value.p)
            return value;
        if (is && i + 2 < t->n_words)
            return str_of(t->words[i + 1]);
    }
    return STR_NONE;
}

static void offer_names(const struct command_typed *t, const struct kind *k, const char *before)
{
    struct session_opts o = {.kubeconfig = option_value(t, "--kubeconfig", NULL),
                             .context = option_value(t, "--context", NULL),
                             .ns = option_value(t, "--namespace", "-n")};
    struct session s = {0};
    struct session_list list;
    struct err err = ERR_INIT;
    (void)alarm(PATIENCE_SECONDS); /* the shell goes on without */
    if (session_open_to_look(&o, &s, &err))
        return;
    str ns = kind_is(k, KIND_NAMESPACED) ? s.ns : STR_NONE;
    if (session_list(&s, k, ns, STR_NONE, &list, &err) == 0) {
        for (size_t i = 0; i < list.n && i < MAX_OFFERED; i++)
            t->offer(t, arena_printf(&s.arena, "%s%.*s", before, STR_ARG(list.items[i]->name)).p);
    }
    session_close(&s);
}

void names_of_objects(const struct command_typed *t)
{
    struct arena a = ARENA_INIT;
    str word = t->word, type = str_cut(&word, '/');
    const struct kind *k = kind_by_alias(t->args_len ? t->args[0] : type);
    if (k && t->args_len)
        offer_names(t, k, "");
    else if (k && word.p)
        offer_names(t, k, arena_printf(&a, "%.*s/", STR_ARG(type)).p);
    arena_done(&a);
}

void names_of_sets(const struct command_typed *t)
{
    str word = t->word;
    (void)str_cut(&word, '/');
    if (t->args_len || word.p)
        names_of_objects(t);
    else
        offer_names(t, &kind_pcs, "");
}

void names_of_instances(const struct command_typed *t)
{
    struct arena a = ARENA_INIT;
    struct instance *list;
    size_t n = instance_list(&a, &list);
    for (size_t i = 0; i < n; i++)
        t->offer(t, list[i].name.p);
    arena_done(&a);
}
