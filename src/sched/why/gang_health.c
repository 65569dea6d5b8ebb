/* See gang_health.h. */
#include "sched/why/gang_health.h"

#include "sched/model/tell.h"

enum { PARTS_SAID = 4 };

/* ---- members ---- */

/* "2 named twice, " and the like; nothing for none. */
static str count_text(str text, size_t n, const char *what, struct arena *a)
{
    return n == 0 ? text
                  : arena_printf(a, "%.*s%s%zu %s", STR_ARG(text), str_is_empty(text) ? "" : ", ",
                                 n, what);
}

static void check_members(struct ask *q, struct arena *a)
{
    const struct ask_faults *f = &q->faults;
    bool lacks = q->short_of && q->waiting > 0;
    size_t missing = lacks ? f->missing : 0;
    if (missing + f->again + f->foreign + f->misplaced + f->unknown == 0)
        return;
    str text = count_text(STR_NONE, missing, "do not exist", a);
    text = count_text(text, f->again, "are named twice", a);
    text = count_text(text, f->foreign, "are of another gang or of none", a);
    text = count_text(text, f->misplaced, "are of another group of pods", a);
    text = arena_printf(a, "of the %zu pods it names%s%.*s", f->named,
                        str_is_empty(text) ? " all are its own" : " ", STR_ARG(text));
    if (f->unknown > 0)
        text = arena_printf(a, "%.*s; %zu pods say they are of a group it does not have",
                            STR_ARG(text), f->unknown);
    q->misnamed = str_is_empty(f->example)
                      ? text
                      : arena_printf(a, "%.*s (%.*s)", STR_ARG(text), STR_ARG(f->example));
}

/* ---- place ---- */

/* The members of a part that are on nodes, and their domains of a level. */
struct seats {
    const struct tpod **pods;
    int32_t *domains;
    size_t n;
};

static void add_seats(struct seats *s, const struct ask *q, const struct tables *t,
                      const struct ask_group *g, int level)
{
    for (size_t i = 0; i < g->n_members; i++) {
        const struct tpod *p = g->members[i];
        if (p->node == CORE_NONE || p->obj->deleting)
            continue;
        s->pods[s->n] = p;
        s->domains[s->n++] = core_domain_of(t->core, q->tree, p->node, level);
    }
}

static int cmp_ids(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* The domain inside `outer` that holds most of them, the first of equals; CORE_NONE: none does. */
static int32_t most_held(const struct seats *s, const struct ask *q, const struct tables *t,
                         int32_t outer, size_t *ret_count, struct arena *a)
{
    int32_t *ids = arena_array(a, int32_t, s->n + 1), best = CORE_NONE;
    memcpy(ids, s->domains, s->n * sizeof(*ids));
    qsort(ids, s->n, sizeof(*ids), cmp_ids);
    *ret_count = 0;
    for (size_t i = 0, k; i < s->n; i = k) {
        for (k = i + 1; k < s->n && ids[k] == ids[i]; k++)
            ;
        if (ids[i] == CORE_NONE || k - i <= *ret_count ||
            !core_contains(t->core, q->tree, outer, ids[i]))
            continue;
        best = ids[i];
        *ret_count = k - i;
    }
    return best;
}

struct part_at {
    str name;
    struct core_scope *scope;
    int32_t outer; /* where it may be at all */
};

static void say_apart(struct ask *q, const struct tables *t, const struct part_at *part,
                      const struct seats *s, size_t in, struct arena *a)
{
    size_t out = 0;
    while (out < s->n && s->domains[out] == part->scope->pin && part->scope->pin != CORE_NONE)
        out++;
    const struct tpod *p = s->pods[out];
    str where = part->scope->pin == CORE_NONE ? STR("any")
                                              : tables_domain_name(t, q->tree, part->scope->pin, a);
    q->apart = arena_printf(
        a, "%.*s%s%.*s must be in one %.*s: %zu of %zu pods are in %.*s, %.*s on %.*s is not",
        STR_ARG(q->apart), str_is_empty(q->apart) ? "" : "; ", STR_ARG(part->name),
        STR_ARG(tables_level_key(t, q->tree, part->scope->req)), in, s->n, STR_ARG(where),
        STR_ARG(p->obj->name), STR_ARG(t->snap.nodes.p[p->node].name));
}

/* Where the part is now: its own domain, or as much as is known of it. */
static int32_t check_part(struct ask *q, const struct tables *t, const struct part_at *part,
                          const struct seats *s, size_t *said, struct arena *a)
{
    size_t in;
    if (part->scope->req == 0 || s->n == 0)
        return part->outer;
    int32_t most = most_held(s, q, t, part->outer, &in, a);
    part->scope->pin = most;
    if (in < s->n && (*said)++ < PARTS_SAID)
        say_apart(q, t, part, s, in, a);
    return most == CORE_NONE ? part->outer : most;
}

static void check_place(struct ask *q, const struct tables *t, struct arena *a)
{
    size_t most = q->faults.named + 1, said = 0;
    struct seats s = {arena_array(a, const struct tpod *, most), arena_array(a, int32_t, most), 0};
    int32_t *homes = arena_array(a, int32_t, q->n_bundles + 1);
    for (size_t i = 0; i < q->n_groups; i++)
        add_seats(&s, q, t, &q->groups[i], q->scope.req);
    struct part_at part = {STR("the gang"), &q->scope, 0};
    int32_t home = check_part(q, t, &part, &s, &said, a);
    for (size_t b = 0; b < q->n_bundles; b++) {
        s.n = 0;
        for (size_t i = 0; i < q->n_groups; i++) {
            if (q->groups[i].bundle == (int32_t)b)
                add_seats(&s, q, t, &q->groups[i], q->bundles[b].req);
        }
        part = (struct part_at){q->bundle_names[b], &q->bundles[b], home};
        homes[b] = check_part(q, t, &part, &s, &said, a);
    }
    for (size_t i = 0; i < q->n_groups; i++) {
        struct ask_group *g = &q->groups[i];
        s.n = 0;
        add_seats(&s, q, t, g, g->scope.req);
        part =
            (struct part_at){g->name, &g->scope, g->bundle == CORE_NONE ? home : homes[g->bundle]};
        (void)check_part(q, t, &part, &s, &said, a);
    }
}

/* What is not told yet is told when it has lasted. */
static void doubt(struct ask *q, struct tables *t, usec now)
{
    struct tgang *g = q->gang;
    list_remove(&g->doubt);
    if (str_is_empty(q->misnamed)) {
        g->doubt_since = 0;
        return;
    }
    g->doubt_since = g->doubt_since ? g->doubt_since : now;
    if (gang_says(g->obj, WORD_MEMBERS) || now - g->doubt_since >= HEALTH_DOUBT)
        return;
    q->misnamed = STR_NONE;
    list_push_back(&t->doubts, &g->doubt);
}

usec health_review(struct tables *t, usec now)
{
    usec first = 0;
    for (struct list *it = t->doubts.next, *next; it != &t->doubts; it = next) {
        struct tgang *g = list_entry(it, struct tgang, doubt);
        usec end = g->doubt_since + HEALTH_DOUBT;
        next = it->next;
        if (end > now) {
            first = first == 0 ? end : MIN(first, end);
            continue;
        }
        list_remove(&g->doubt);
        g->unsure = true;
        list_remove(&g->link);
        list_push_back(&t->ready, &g->link);
    }
    return first;
}

void health_check(struct ask *q, struct tables *t, usec now, struct arena *a)
{
    if (q->gang->single)
        return;
    check_members(q, a);
    doubt(q, t, now);
    if (!q->gang->unsure && !gang_says(q->gang->obj, WORD_TOPOLOGY))
        return;
    q->checked = true;
    q->gang->unsure = false;
    if (q->packed && q->bound > 0)
        check_place(q, t, a);
}
