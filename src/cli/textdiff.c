/*
 * See textdiff.h. The longest common subsequence of the lines between the common beginning and the
 * common end, by a table of lengths. What is too large for the table counts as changed altogether:
 * the answer stays true and is only longer than it could be.
 */
#include "cli/textdiff.h"

#include "base/arena.h"

enum { CONTEXT = 3, MAX_CELLS = 16 << 20 };

struct lines {
    str *p;
    size_t n;
};

/* One line of the result. */
struct change {
    char sign; /* ' ', '-' or '+' */
    str line;
};

struct changes {
    struct change *p;
    size_t n;
};

static struct lines split(struct arena *a, str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += text.p[i] == '\n';
    struct lines l = {arena_array(a, str, n + 2), 0};
    while (text.len > 0)
        l.p[l.n++] = str_cut(&text, '\n');
    return l;
}

static void add(struct changes *c, char sign, str line)
{
    c->p[c->n++] = (struct change){sign, line};
}

/* lengths[i][j]: of the longest common subsequence of old from i and new from j. */
static uint32_t *measure(struct arena *a, const struct lines *old, const struct lines *new)
{
    size_t width = new->n + 1;
    uint32_t *lengths = arena_array(a, uint32_t, (old->n + 1) * width);
    for (size_t i = old->n; i-- > 0;) {
        for (size_t j = new->n; j-- > 0;) {
            uint32_t down = lengths[(i + 1) * width + j], right = lengths[i * width + j + 1];
            lengths[i * width + j] = str_eq(old->p[i], new->p[j])
                                         ? lengths[(i + 1) * width + j + 1] + 1
                                         : MAX(down, right);
        }
    }
    return lengths;
}

static void compare(struct arena *a, const struct lines *old, const struct lines *new,
                    struct changes *ret)
{
    size_t i = 0, j = 0, width = new->n + 1;
    bool small = (old->n + 1) <= MAX_CELLS / width;
    const uint32_t *lengths = small ? measure(a, old, new) : NULL;
    while (lengths && i < old->n && j < new->n) {
        if (str_eq(old->p[i], new->p[j])) {
            add(ret, ' ', old->p[i++]);
            j++;
        } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) {
            add(ret, '-', old->p[i++]);
        } else {
            add(ret, '+', new->p[j++]);
        }
    }
    while (i < old->n)
        add(ret, '-', old->p[i++]);
    while (j < new->n)
        add(ret, '+', new->p[j++]);
}

static struct changes find_changes(struct arena *a, struct lines old, struct lines new)
{
    size_t head = 0, tail = 0, least = MIN(old.n, new.n);
    struct changes c = {arena_array(a, struct change, old.n + new.n + 1), 0};
    while (head < least && str_eq(old.p[head], new.p[head]))
        head++;
    while (tail < least - head && str_eq(old.p[old.n - 1 - tail], new.p[new.n - 1 - tail]))
        tail++;
    for (size_t i = 0; i < head; i++)
        add(&c, ' ', old.p[i]);
    compare(a, &(struct lines){old.p + head, old.n - head - tail},
            &(struct lines){new.p + head, new.n - head - tail}, &c);
    for (size_t i = old.n - tail; i < old.n; i++)
        add(&c, ' ', old.p[i]);
    return c;
}

/* The hunk that begins at *from: up to where more lines than two contexts are the same. */
static size_t end_of_hunk(const struct changes *c, size_t from)
{
    size_t last = from;
    for (size_t i = from; i < c->n && i <= last + 2 * CONTEXT; i++) {
        if (c->p[i].sign != ' ')
            last = i;
    }
    return MIN(last + CONTEXT + 1, c->n);
}

static void write_hunk(const struct changes *c, size_t from, size_t to, size_t old_line,
                       size_t new_line, struct strbuf *out)
{
    size_t n_old = 0, n_new = 0;
    for (size_t i = from; i < to; i++) {
        n_old += c->p[i].sign != '+';
        n_new += c->p[i].sign != '-';
    }
    strbuf_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", old_line + (n_old > 0), n_old,
                  new_line + (n_new > 0), n_new);
    for (size_t i = from; i < to; i++)
        strbuf_printf(out, "%c%.*s\n", c->p[i].sign, STR_ARG(c->p[i].line));
}

void textdiff_write(str old_name, str old_text, str new_name, str new_text, struct strbuf *out)
{
    struct arena a = ARENA_INIT;
    struct changes c = find_changes(&a, split(&a, old_text), split(&a, new_text));
    size_t old_line = 0, new_line = 0, i = 0, shown = 0;
    while (i < c.n) {
        if (c.p[i].sign == ' ') {
            i++;
            continue;
        }
        size_t from = i - MIN(i - shown, (size_t)CONTEXT), to = end_of_hunk(&c, i);
        if (shown == 0)
            strbuf_printf(out, "--- %.*s\n+++ %.*s\n", STR_ARG(old_name), STR_ARG(new_name));
        for (; shown < from; shown++) {
            old_line += c.p[shown].sign != '+';
            new_line += c.p[shown].sign != '-';
        }
        write_hunk(&c, from, to, old_line, new_line, out);
        for (; shown < to; shown++) {
            old_line += c.p[shown].sign != '+';
            new_line += c.p[shown].sign != '-';
        }
        i = to;
    }
    arena_done(&a);
}
