/* See regex.h: what is compiled, and the memory it takes. Reading patterns is in regex_parse.c,
 * making programs in regex_prog.c, running them in regex_dfa.c and regex_find.c. */
#include "kube/regex/regex_impl.h"

/* Our own tables have few patterns; those that users write come and go. When there are too many, or
 * they are too large, all are dropped. */
#define PATTERNS_MAX 2048
#define PROGRAMS_MAX ((size_t)16 << 20)
/* What all of them may keep of the texts they have seen. */
#define KEPT_MAX ((size_t)8 << 20)

/* The least that an arena takes. */
#define CHUNK ((size_t)4096)

static struct map cache;
static size_t programs, kept; /* bytes */

static void regex_free(struct regex *r)
{
    prog_done(&r->prog);
    dfa_done(&r->dfa);
    free(r->pattern);
    free(r->error);
    free(r);
}

static void drop_all(void)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(&cache, &it, &key, &value);)
        regex_free(value);
    map_done(&cache);
    programs = kept = 0;
}

void regex_forget(struct regex *r)
{
    kept -= r->dfa.bytes;
    dfa_done(&r->dfa);
}

void regex_take_room(struct regex *r, size_t bytes)
{
    str key;
    void *value;
    for (size_t it = 0; kept + bytes > KEPT_MAX && map_next(&cache, &it, &key, &value);)
        if (value != r)
            regex_forget(value);
    if (!r->dfa.bytes)
        bytes += CHUNK;
    r->dfa.bytes += bytes;
    kept += bytes;
}

size_t regex_memory(void)
{
    return programs + kept;
}

static struct regex *compile(str pattern)
{
    struct err err = ERR_INIT;
    struct regex_tree t;
    struct regex *r = xnew(struct regex);
    r->pattern = str_dup(pattern);
    if (regex_parse(pattern, &t, &err) || prog_make(&t, pattern, &r->prog, &err)) {
        prog_done(&r->prog);
        r->prog =
            (struct prog){.bytes = sizeof(*r), .cost = MAX(r->prog.cost, t.work / 2) + pattern.len};
        r->error = str_dup(str_of(err.message));
    }
    r->prog.bytes = MAX(r->prog.bytes + 2 * pattern.len, CHUNK);
    regex_tree_done(&t);
    return r;
}

/* The one that is kept, or a new one. */
static struct regex *get(str pattern, uint64_t *left)
{
    struct regex *r = map_get(&cache, pattern);
    if (r)
        return r;
    r = compile(pattern);
    if (cache.len >= PATTERNS_MAX || programs + r->prog.bytes > PROGRAMS_MAX)
        drop_all();
    programs += r->prog.bytes;
    map_put(&cache, str_n(r->pattern, pattern.len), r);
    if (left)
        (void)regex_spend(left, r->prog.cost);
    return r;
}

uint64_t regex_cost(str pattern)
{
    return get(pattern, NULL)->prog.cost;
}

struct regex *regex_of(str pattern, uint64_t *left, struct err *err)
{
    struct regex *r = get(pattern, left);
    if (r->error)
        err_set(err, ERR_INVALID, "%s", r->error);
    return r->error ? NULL : r;
}
