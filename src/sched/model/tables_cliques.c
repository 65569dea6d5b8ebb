/*
 * Gangs of a set by the cliques whose pods they have, and by the gang whose place they are told to
 * use. In a coherent update the pods of a clique go on in another gang, and room that they leave
 * goes there (reservation.c): who asks looks at gangs of that clique that may want pods, not at all
 * of a set.
 */
#include "sched/model/tables_impl.h"

#include "grove/names.h"
#include "sched/model/reservation.h"

/* Gangs of one set with one number. Those that want no pods leave the line when somebody passes,
 * and come back when their pods change (gang_open). */
struct tline {
    struct list members; /* struct tmember, in_line */
    size_t n;            /* gangs that have the number, in the line or not */
    size_t len;
    char key[];
};

struct tmember {
    struct list of_gang, in_line;
    struct tgang *gang;
    struct tline *line;
};

enum { KEY_MAX = 256 };

/* The set's uid and the number, as bytes; empty: it is no uid that a server makes. */
static str line_key(const struct tset *set, uint64_t number, char *to)
{
    size_t len = strlen(set->uid);
    if (len + sizeof(number) > KEY_MAX)
        return STR_NONE;
    memcpy(to, set->uid, len);
    memcpy(to + len, &number, sizeof(number));
    return str_n(to, len + sizeof(number));
}

static struct tline *line_ensure(struct tables *t, str key)
{
    struct tline *line = map_get(&t->lines, key);
    if (line)
        return line;
    line = xcalloc(1, sizeof(*line) + key.len);
    list_init(&line->members);
    line->len = key.len;
    memcpy(line->key, key.p, key.len);
    (void)map_put(&t->lines, str_n(line->key, line->len), line);
    return line;
}

static void join_line(struct tables *t, struct tgang *g, uint64_t number)
{
    char bytes[KEY_MAX];
    str key = line_key(g->set, number, bytes);
    if (number == 0 || str_is_empty(key))
        return;
    struct tmember *m = xnew(struct tmember);
    m->gang = g;
    m->line = line_ensure(t, key);
    m->line->n++;
    list_push_back(&g->lines, &m->of_gang);
    list_push_back(&m->line->members, &m->in_line);
}

void cliques_leave(struct tables *t, struct tgang *g)
{
    for (struct list *it = g->lines.next, *next; it != &g->lines; it = next) {
        struct tmember *m = list_entry(it, struct tmember, of_gang);
        next = it->next;
        list_remove(&m->of_gang);
        list_remove(&m->in_line);
        if (--m->line->n == 0) {
            (void)map_del(&t->lines, str_n(m->line->key, m->line->len));
            free(m->line);
        }
        free(m);
    }
}

/* "/name" is no clique's label. */
static uint64_t place_number(str gang)
{
    struct arena a = ARENA_INIT;
    uint64_t number = str_is_empty(gang) ? 0 : lease_clique(arena_cat(&a, STR("/"), gang));
    arena_done(&a);
    return number;
}

void cliques_read(struct tables *t, struct tgang *g)
{
    struct arena a = ARENA_INIT;
    jval reuse = jgetc(obj_spec(g->obj), "reuseReservationRef");
    cliques_leave(t, g);
    g->left_lines = false;
    if (g->set) {
        for (struct jiter it = jiter(jgetc(obj_spec(g->obj), "podgroups")); jnext(&it);)
            join_line(t, g, lease_clique(name_label(&a, jstr(jgetc(it.value, "name")))));
        join_line(t, g, place_number(jstr(jgetc(reuse, "name"))));
    }
    arena_done(&a);
}

void gang_open(struct tgang *g)
{
    if (!g->left_lines)
        return;
    list_foreach (it, &g->lines) {
        struct tmember *m = list_entry(it, struct tmember, of_gang);
        if (!list_is_linked(&m->in_line))
            list_push_back(&m->line->members, &m->in_line);
    }
    g->left_lines = false;
}

static struct tline *find_line(const struct tables *t, const struct tset *set, uint64_t number)
{
    char bytes[KEY_MAX];
    str key = set && number ? line_key(set, number, bytes) : STR_NONE;
    return str_is_empty(key) ? NULL : map_get(&t->lines, key);
}

/* The next that may want pods, after `it`; NULL: there is none. */
static struct tgang *open_after(const struct tline *line, struct list **it)
{
    while (*it != &line->members) {
        struct tmember *m = list_entry(*it, struct tmember, in_line);
        struct tgang *g = m->gang;
        *it = (*it)->next;
        if (g->n_pods == 0 || g->n_bound < g->n_pods)
            return g;
        list_remove(&m->in_line);
        g->left_lines = true;
    }
    return NULL;
}

struct tgang *tables_find_open(const struct tables *t, const struct tset *set, uint64_t clique,
                               tables_gang_fn *is, const void *ctx)
{
    const struct tline *line = find_line(t, set, clique);
    struct tgang *other = NULL;
    struct list *it = line ? line->members.next : NULL;
    for (struct tgang *g; line && (g = open_after(line, &it));) {
        if ((other && !g->anchor) || !is(t, g, ctx))
            continue;
        if (g->anchor)
            return g;
        other = g;
    }
    return other;
}

struct tgang *tables_find_heir(const struct tables *t, const struct tgang *g)
{
    const struct tline *line = g->obj ? find_line(t, g->set, place_number(g->obj->name)) : NULL;
    struct list *it = line ? line->members.next : NULL;
    for (struct tgang *x; line && (x = open_after(line, &it));) {
        if (x != g && lease_is_for(x))
            return x;
    }
    return NULL;
}
