/*
 * Where a match is: the machine reads the text once, in all its states at once, in the order in
 * which Perl would try them (Pike). Each state remembers where the match that it is part of began.
 * The first to match wins over all that come after it in that order; those before it go on.
 */
#include "kube/regex/regex_impl.h"

struct thread {
    uint32_t at; /* instruction */
    size_t from; /* where it began to match */
};

/* In order, each instruction once. */
struct threads {
    struct thread *p;
    uint32_t *place; /* of an instruction in p, if p says so too */
    uint32_t len;
};

static struct workspace {
    struct threads now, next;
    uint32_t *stack;
    size_t insts;
} work;

static void threads_init(struct threads *t, size_t n)
{
    free(t->p);
    free(t->place);
    t->p = xmalloc(n * sizeof(*t->p));
    t->place = xcalloc(n, sizeof(*t->place));
}

static void make_room(const struct prog *p)
{
    if (work.insts >= p->n)
        return;
    work.insts = MAX((size_t)p->n, 256);
    threads_init(&work.now, work.insts);
    threads_init(&work.next, work.insts);
    free(work.stack);
    work.stack = xmalloc((work.insts + 1) * 2 * sizeof(*work.stack));
}

static bool add_thread(struct threads *t, uint32_t at, size_t from)
{
    uint32_t i = t->place[at];
    if (i < t->len && t->p[i].at == at)
        return false;
    t->place[at] = t->len;
    t->p[t->len++] = (struct thread){at, from};
    return true;
}

/* Adds what an instruction leads to without reading, the first choice first. */
static uint64_t follow(const struct prog *p, struct threads *t, uint32_t at, size_t from,
                       unsigned holds)
{
    size_t n = 0;
    uint64_t steps = 0;
    work.stack[n++] = at;
    while (n) {
        at = work.stack[--n];
        steps++;
        if (!add_thread(t, at, from))
            continue;
        const struct inst *i = &p->insts[at];
        if (i->op == INST_JUMP) {
            work.stack[n++] = i->x;
        } else if (i->op == INST_SPLIT) {
            work.stack[n++] = i->y;
            work.stack[n++] = i->x;
        } else if (i->op == INST_ASSERT && holds & i->what) {
            work.stack[n++] = at + 1;
        }
    }
    return steps;
}

static enum rune_kind kind_of(const struct prog *p, uint32_t rune)
{
    return p->kinds[prog_class(p, rune)];
}

/* Of the character before; those beyond ASCII are neither words nor newlines. */
static enum rune_kind kind_before(const struct prog *p, str s, size_t at)
{
    if (!at)
        return KIND_EDGE;
    unsigned char c = (unsigned char)s.p[at - 1];
    return c < 0x80 ? kind_of(p, c) : KIND_OTHER;
}

struct search {
    const struct prog *p;
    bool found;
    size_t from, to; /* of what was found */
    uint64_t steps;
};

/* Every thread reads the character (class; UINT32_MAX: there is none); who matches is first. */
static void read_one(struct search *x, uint32_t class, size_t at, unsigned holds)
{
    const struct prog *p = x->p;
    for (uint32_t k = 0; k < work.now.len; k++) {
        struct thread t = work.now.p[k];
        const struct inst *i = &p->insts[t.at];
        x->steps++;
        if (i->op == INST_MATCH) {
            x->found = true;
            x->from = t.from;
            x->to = at;
            break;
        }
        if (i->op == INST_READ && class != UINT32_MAX && prog_has(p, i, class))
            x->steps += follow(p, &work.next, t.at + 1, t.from, holds);
    }
}

enum regex_answer regex_search(struct regex *r, str s, size_t from, uint64_t *left, str *ret)
{
    const struct prog *p = &r->prog;
    struct search x = {.p = p};
    const char *text = s.len ? s.p : "", *at = text + from, *end = text + s.len;
    enum rune_kind before = kind_before(p, s, from);
    make_room(p);
    work.now.len = 0;
    for (bool first = true;; first = false) {
        size_t here = (size_t)(at - text);
        const char *behind = at;
        uint32_t class = at < end ? prog_class(p, rune_next(&behind, end)) : UINT32_MAX;
        enum rune_kind after = class == UINT32_MAX ? KIND_EDGE : p->kinds[class];
        /* A match that begins here comes after all that began before. */
        if (!x.found && (!p->anchored || first))
            x.steps += follow(p, &work.now, 0, here, prog_asserts(before, after));
        if (!work.now.len)
            break;
        const char *next = behind;
        uint32_t then = next < end ? prog_class(p, rune_next(&next, end)) : UINT32_MAX;
        work.next.len = 0;
        read_one(&x, class, here,
                 prog_asserts(after, then == UINT32_MAX ? KIND_EDGE : p->kinds[then]));
        struct threads was = work.now;
        work.now = work.next;
        work.next = was;
        if (!regex_spend(left, 1 + x.steps / 4))
            return REGEX_TOO_MUCH;
        x.steps = 0;
        if (class == UINT32_MAX)
            break;
        before = after;
        at = behind;
    }
    if (!x.found)
        return REGEX_NO;
    *ret = str_sub(s, x.from, x.to);
    return REGEX_YES;
}
