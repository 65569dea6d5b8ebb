/*
 * Whether a pattern matches somewhere in a text. The sets of instructions that the machine is in
 * after some character are made once and kept, each with where every class of characters leads from
 * it. A set holds what waits for a character, and assertions that the next character decides.
 *
 * What a pattern keeps is limited. When that is used up, sets that are not kept are made as the
 * text needs them, which takes as many steps a character as the machine has states at once; where
 * the text leads back to one that is kept, it goes on from there. A pattern for which that was of
 * little use begins anew with the next text: texts differ, and one of them may have filled it with
 * what no other needs.
 */
#include "kube/regex/regex_impl.h"

/* What one pattern may keep. */
#define KEPT_MAX ((size_t)512 << 10)
/* So many steps that could not be kept: what is kept is of little use. */
#define MISSES_MAX 1000

struct dfa_state {
    uint64_t *set;            /* bits: of instructions; then what is in `before` */
    uint8_t before;           /* enum rune_kind of the character that led here */
    bool has_asserts;         /* it waits for the next character to decide some */
    struct dfa_state *next[]; /* by class; the last by the end of the text; NULL: not known yet */
};

/* Nothing more can come of it; it matches whatever comes. */
static struct dfa_state no_match, matched;

/* ---- sets of instructions ---- */

/* What is at work on one step; reused, for one search at a time. */
static struct workspace {
    uint64_t *memory;
    uint64_t *now, *next, *decided, *seen; /* sets, each with a word for key_of */
    uint32_t *stack;
    size_t insts; /* as many as there is room for */
} work;

static size_t words_of(const struct prog *p)
{
    return (p->n + 63) / 64;
}

static void make_room(const struct prog *p)
{
    if (work.insts >= p->n)
        return;
    size_t n = MAX((size_t)p->n, 256), words = (n + 63) / 64 + 1;
    free(work.memory);
    free(work.stack);
    work.memory = work.now = xcalloc(words * 4, sizeof(uint64_t));
    work.next = work.now + words;
    work.decided = work.next + words;
    work.seen = work.decided + words;
    work.stack = xmalloc((n + 1) * sizeof(*work.stack));
    work.insts = n;
}

static bool add_bit(uint64_t *set, uint32_t i)
{
    uint64_t bit = UINT64_C(1) << i % 64;
    bool was = set[i / 64] & bit;
    set[i / 64] |= bit;
    return !was;
}

/* How far instructions that read nothing lead. */
struct closure {
    const struct prog *p;
    uint64_t *out; /* what is met that reads or decides */
    bool knows;    /* which assertions hold; else they are kept for later */
    unsigned holds;
    bool matches, has_asserts;
    uint64_t steps;
};

static void follow(struct closure *c, uint32_t at)
{
    const struct inst *insts = c->p->insts;
    size_t n = 0;
    uint64_t steps = 0;
    work.stack[n++] = at;
    while (n) {
        at = work.stack[--n];
        for (bool on = true; on && add_bit(work.seen, at);) {
            const struct inst *i = &insts[at];
            steps++;
            switch (i->op) {
            case INST_MATCH:
                c->matches = true;
                on = false;
                break;
            case INST_READ:
                add_bit(c->out, at);
                on = false;
                break;
            case INST_ASSERT:
                on = c->knows && c->holds & i->what;
                if (!c->knows) {
                    c->has_asserts = true;
                    add_bit(c->out, at);
                }
                at++;
                break;
            case INST_JUMP:
                at = i->x;
                break;
            case INST_SPLIT:
                work.stack[n++] = i->y;
                at = i->x;
                break;
            }
        }
    }
    c->steps += steps;
}

/* ---- states ---- */

/* Where a search is: in a state, or in the set in work.now, of which this is known. */
struct machine {
    struct regex *r;
    uint8_t before;
    bool has_asserts;
    uint64_t *left;
};

static size_t state_bytes(const struct prog *p)
{
    return sizeof(struct dfa_state) + (p->n_classes + 1) * sizeof(struct dfa_state *) +
           words_of(p) * sizeof(uint64_t) + 64 /* its place in the map */;
}

void dfa_done(struct dfa *d)
{
    map_done(&d->by_set);
    arena_done(&d->arena);
    *d = (struct dfa){0};
}

/* The key of a state: its set, and what stands before it as far as it waits for that. */
static str key_of(const struct prog *p, uint64_t *set, uint8_t before)
{
    set[words_of(p)] = before; /* there is room for it */
    return str_n((const char *)set, (words_of(p) + 1) * sizeof(uint64_t));
}

/* The state of this set; NULL: it is not kept, and there is no room for it. */
static struct dfa_state *state_of(struct machine *m, uint64_t *set)
{
    struct regex *r = m->r;
    const struct prog *p = &r->prog;
    size_t words = words_of(p), bytes = state_bytes(p);
    struct dfa_state *s = map_get(&r->dfa.by_set, key_of(p, set, m->before));
    if (s)
        return s;
    if (r->dfa.bytes + bytes > KEPT_MAX) {
        r->dfa.misses++;
        return NULL;
    }
    regex_take_room(r, bytes);
    (void)regex_spend(m->left, 16 + bytes / 64);
    s = arena_alloc(&r->dfa.arena, sizeof(*s) + (p->n_classes + 1) * sizeof(s->next[0]));
    memset(s, 0, sizeof(*s) + (p->n_classes + 1) * sizeof(s->next[0]));
    s->set = arena_array(&r->dfa.arena, uint64_t, words + 1);
    memcpy(s->set, set, (words + 1) * sizeof(*set));
    s->before = m->before;
    s->has_asserts = m->has_asserts;
    map_put(&r->dfa.by_set, key_of(p, s->set, s->before), s);
    return s;
}

/* ---- steps ---- */

static bool is_empty(const uint64_t *set, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (set[i])
            return false;
    return true;
}

/* The machine is in work.next now, which becomes work.now. */
static struct dfa_state *arrive(struct machine *m, const struct closure *c, uint8_t before)
{
    const struct prog *p = &m->r->prog;
    if (c->matches)
        return &matched;
    if (p->anchored && is_empty(work.next, words_of(p)))
        return &no_match;
    m->before = c->has_asserts ? before : KIND_OTHER;
    m->has_asserts = c->has_asserts;
    uint64_t *was = work.now;
    work.now = work.next;
    work.next = was;
    return state_of(m, work.now);
}

static void clear(const struct prog *p, uint64_t *set)
{
    memset(set, 0, words_of(p) * sizeof(*set));
}

/* Before the first character. */
static struct dfa_state *begin(struct machine *m)
{
    struct closure c = {.p = &m->r->prog, .out = work.next};
    clear(c.p, work.next);
    clear(c.p, work.seen);
    follow(&c, 0);
    return arrive(m, &c, KIND_EDGE);
}

/* What waits for a character once the assertions are decided, in work.decided. */
static void decide(struct closure *c, const uint64_t *set, uint8_t before, uint8_t after)
{
    c->out = work.decided;
    c->knows = true;
    c->holds = prog_asserts(before, after);
    clear(c->p, work.decided);
    clear(c->p, work.seen);
    for (size_t w = 0; w < words_of(c->p); w++)
        for (uint64_t bits = set[w]; bits; bits &= bits - 1)
            follow(c, (uint32_t)(w * 64 + (size_t)__builtin_ctzll(bits)));
}

/* All that may read this class do so. */
static void read_class(struct closure *c, const uint64_t *set, uint32_t class)
{
    const struct prog *p = c->p;
    clear(p, work.next);
    clear(p, work.seen);
    for (size_t w = 0; w < words_of(p); w++)
        for (uint64_t bits = set[w]; bits; bits &= bits - 1) {
            uint32_t at = (uint32_t)(w * 64 + (size_t)__builtin_ctzll(bits));
            c->steps++;
            if (p->insts[at].op == INST_READ && prog_has(p, &p->insts[at], class))
                follow(c, at + 1);
        }
    if (!p->anchored)
        follow(c, 0);
}

/* From `from` (NULL: the set in work.now) by a class of characters or (n_classes) the end of the
 * text. NULL: to a set that is not kept, in work.now. */
static struct dfa_state *step(struct machine *m, const struct dfa_state *from, uint32_t class)
{
    const struct prog *p = &m->r->prog;
    const uint64_t *set = from ? from->set : work.now;
    bool ends = class == p->n_classes;
    uint8_t after = ends ? KIND_EDGE : p->kinds[class];
    struct closure decided = {.p = p}, c = {.p = p, .out = work.next};
    if (from ? from->has_asserts : m->has_asserts) {
        decide(&decided, set, from ? from->before : m->before, after);
        set = work.decided;
    }
    if (decided.matches)
        return &matched;
    if (ends)
        return &no_match;
    read_class(&c, set, class);
    (void)regex_spend(m->left, 1 + (decided.steps + c.steps) / 8 + words_of(p) / 8);
    return arrive(m, &c, after);
}

/* The same, kept for the next time. */
static struct dfa_state *step_and_keep(struct machine *m, struct dfa_state *from, uint32_t class)
{
    struct dfa_state *to = step(m, from, class);
    if (from && to)
        from->next[class] = to;
    return to;
}

/* ---- texts ---- */

static enum regex_answer ends_at(const struct dfa_state *s)
{
    return s == &matched ? REGEX_YES : REGEX_NO;
}

enum regex_answer regex_matches(struct regex *r, str s, uint64_t *left)
{
    const struct prog *p = &r->prog;
    const char *at = s.len ? s.p : "", *end = at + s.len;
    struct machine m = {.r = r, .left = left};
    make_room(p);
    if (!regex_spend(left, 1 + s.len / 16))
        return REGEX_TOO_MUCH;
    if (r->dfa.misses > MISSES_MAX)
        regex_forget(r);
    if (!r->dfa.start)
        r->dfa.start = begin(&m);
    struct dfa_state *state = r->dfa.start;
    while (at < end && state != &matched && state != &no_match) {
        unsigned char b = (unsigned char)*at;
        uint32_t class = LIKELY(b < 0x80) ? (at++, p->ascii[b])
                                          : prog_class_beyond_ascii(p, rune_next(&at, end));
        struct dfa_state *next = state ? state->next[class] : NULL;
        if (UNLIKELY(!next)) {
            next = step_and_keep(&m, state, class);
            if (!*left)
                return REGEX_TOO_MUCH;
        }
        state = next;
    }
    if (state == &matched || state == &no_match)
        return ends_at(state);
    struct dfa_state *last = state ? state->next[p->n_classes] : NULL;
    return ends_at(last ? last : step_and_keep(&m, state, p->n_classes));
}
