/*
 * The program of a pattern, and the classes of characters that it does not tell apart.
 *
 * Instructions are laid out so that each part falls through to what comes after it:
 *
 *   x|y       split a, b; a: x; jump end; b: y; end:
 *   x?        split a, end; a: x; end:          (lazy: the other way round)
 *   x*        a: split b, end; b: x; jump a; end:
 *   x+        a: x; split a, end; end:
 *   x{2,4}    x; x; split a, end; a: x; split b, end; b: x; end:
 *
 * x* of an x that may match nothing is (x+)?: so the order of what is tried is Perl's.
 */
#include "kube/regex/regex_impl.h"

struct maker {
    struct prog *p;
    VEC(struct inst) insts;
    bool too_large;
};

/* ---- instructions ---- */

static uint32_t here(const struct maker *m)
{
    return (uint32_t)m->insts.len;
}

static uint32_t add(struct maker *m, struct inst i)
{
    if (m->insts.len >= REGEX_MAX_INSTS)
        m->too_large = true;
    else
        *vec_push(&m->insts) = i;
    return (uint32_t)m->insts.len - 1;
}

/* A choice between what comes next and what is set later. */
static uint32_t add_choice(struct maker *m)
{
    return add(m, (struct inst){.op = INST_SPLIT, .x = here(m) + 1});
}

/* The choice at `split`: first what follows it, or (lazy) that place. */
static void set_choice(struct maker *m, uint32_t split, uint32_t other, bool lazy)
{
    struct inst *i = &m->insts.p[split];
    i->x = lazy ? other : split + 1;
    i->y = lazy ? split + 1 : other;
}

static void emit(struct maker *m, const struct node *n);

static void emit_plus(struct maker *m, const struct node *sub, bool lazy)
{
    uint32_t begin = here(m);
    emit(m, sub);
    uint32_t split = add(m, (struct inst){.op = INST_SPLIT});
    struct inst *i = &m->insts.p[split];
    i->x = lazy ? split + 1 : begin;
    i->y = lazy ? begin : split + 1;
}

static void emit_star(struct maker *m, const struct node *sub, bool lazy)
{
    uint32_t split = add_choice(m);
    if (sub->nullable) {
        emit_plus(m, sub, lazy);
    } else {
        emit(m, sub);
        add(m, (struct inst){.op = INST_JUMP, .x = split});
    }
    set_choice(m, split, here(m), lazy);
}

/* Up to so many more, each only after the one before it. */
static void emit_optional(struct maker *m, const struct node *sub, int32_t times, bool lazy)
{
    uint32_t first = here(m), last = first;
    for (int32_t i = 0; i < times && !m->too_large; i++) {
        uint32_t split = add_choice(m);
        m->insts.p[split].y = last; /* a chain of them, until the end is known */
        last = split;
        emit(m, sub);
    }
    for (uint32_t end = here(m); times > 0 && !m->too_large;) {
        uint32_t before = m->insts.p[last].y;
        set_choice(m, last, end, lazy);
        if (last == first)
            break;
        last = before;
    }
}

static void emit_repeat(struct maker *m, const struct node *n)
{
    int32_t sure = n->max < 0 ? n->min - 1 : n->min; /* x{2,} is xx+ */
    for (int32_t i = 0; i < sure && !m->too_large; i++)
        emit(m, n->sub);
    if (n->max >= 0)
        emit_optional(m, n->sub, n->max - n->min, n->lazy);
    else if (n->min == 0)
        emit_star(m, n->sub, n->lazy);
    else
        emit_plus(m, n->sub, n->lazy);
}

static void emit_alternation(struct maker *m, const struct node *n)
{
    uint32_t chain = UINT32_MAX; /* of jumps to the end */
    for (const struct node *s = n->sub; s && !m->too_large; s = s->next) {
        uint32_t split = s->next ? add_choice(m) : 0;
        emit(m, s);
        if (!s->next)
            break;
        chain = add(m, (struct inst){.op = INST_JUMP, .x = chain});
        set_choice(m, split, here(m), false);
    }
    while (chain != UINT32_MAX && !m->too_large) {
        uint32_t before = m->insts.p[chain].x;
        m->insts.p[chain].x = here(m);
        chain = before;
    }
}

/* As deep as the tree, which is limited. */
static void emit(struct maker *m, const struct node *n)
{
    if (m->too_large)
        return;
    switch (n->type) {
    case NODE_EMPTY:
        break;
    case NODE_SET:
        add(m, (struct inst){.op = INST_READ, .set = (uint16_t)n->set});
        break;
    case NODE_ASSERT:
        m->p->asserts |= n->set;
        add(m, (struct inst){.op = INST_ASSERT, .what = (uint8_t)n->set});
        break;
    case NODE_GROUP:
    case NODE_CAT:
        for (const struct node *s = n->sub; s; s = s->next)
            emit(m, s);
        break;
    case NODE_ALT:
        emit_alternation(m, n);
        break;
    case NODE_REPEAT:
        emit_repeat(m, n);
        break;
    }
}

/* Nothing that it matches begins anywhere else. */
static bool is_anchored(const struct node *n)
{
    switch (n->type) {
    case NODE_ASSERT:
        return n->set == ASSERT_BEGIN_TEXT;
    case NODE_GROUP:
    case NODE_CAT:
        return is_anchored(n->sub);
    case NODE_REPEAT:
        return n->min > 0 && is_anchored(n->sub);
    case NODE_ALT:
        for (const struct node *s = n->sub; s; s = s->next)
            if (!is_anchored(s))
                return false;
        return true;
    default:
        return false;
    }
}

/* ---- classes of characters ---- */

/* All code points in pieces that no set divides, and of each the class it is in by now. */
struct pieces {
    struct class_range *p;
    size_t n;
    uint32_t n_classes;
    uint64_t work;
};

static int compare_ends(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static struct pieces cut(const runes *sets, size_t n, struct arena *a)
{
    size_t most = 1, k = 0;
    for (size_t i = 0; i < n; i++)
        most += sets[i].len * 2;
    uint32_t *ends = xmalloc(most * sizeof(*ends));
    ends[k++] = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < sets[i].len; r++) {
            ends[k++] = sets[i].p[r].lo;
            if (sets[i].p[r].hi < RUNE_MAX)
                ends[k++] = sets[i].p[r].hi + 1;
        }
    qsort(ends, k, sizeof(ends[0]), compare_ends);
    struct pieces out = {.p = arena_array(a, struct class_range, k), .n_classes = 1, .work = k};
    for (size_t i = 0; i < k; i++)
        if (!i || ends[i] != ends[i - 1])
            out.p[out.n++] = (struct class_range){.lo = ends[i]};
    free(ends);
    return out;
}

static size_t piece_at(const struct class_range *p, size_t n, uint32_t rune)
{
    size_t lo = 0, hi = n;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        if (p[mid].lo <= rune)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Members of a class that are in the set are told apart from those that are not. */
static bool divide(struct pieces *x, const runes *set, uint32_t *parts)
{
    uint32_t before = x->n_classes;
    memset(parts, 0, sizeof(*parts) * before);
    for (size_t r = 0; r < set->len; r++)
        for (size_t i = piece_at(x->p, x->n, set->p[r].lo); i < x->n && x->p[i].lo <= set->p[r].hi;
             i++) {
            uint32_t *part = &parts[x->p[i].class];
            x->work++;
            if (!*part && x->n_classes == REGEX_MAX_CLASSES)
                return false;
            if (!*part)
                *part = x->n_classes++;
            x->p[i].class = (uint16_t)*part;
        }
    return true;
}

/* Classes that lost all their members leave gaps. */
static void renumber(struct pieces *x, uint32_t *numbers)
{
    uint32_t n = 0;
    memset(numbers, 0, sizeof(*numbers) * x->n_classes);
    for (size_t i = 0; i < x->n; i++) {
        uint32_t *number = &numbers[x->p[i].class];
        if (!*number)
            *number = ++n;
        x->p[i].class = (uint16_t)(*number - 1);
    }
    x->n_classes = n;
}

static void fill_ascii(struct prog *p)
{
    for (uint32_t c = 0; c < ARRAY_LEN(p->ascii); c++)
        p->ascii[c] = p->ranges[piece_at(p->ranges, p->n_ranges, c)].class;
}

static void fill_has(struct prog *p, const runes *sets, size_t n)
{
    p->row = (p->n_classes + 63) / 64;
    p->has = arena_array(&p->arena, uint64_t, p->row * n + 1);
    memset(p->has, 0, sizeof(*p->has) * (p->row * n + 1));
    for (size_t s = 0; s < n; s++)
        for (size_t r = 0; r < sets[s].len; r++)
            for (size_t i = piece_at(p->ranges, p->n_ranges, sets[s].p[r].lo);
                 i < p->n_ranges && p->ranges[i].lo <= sets[s].p[r].hi; i++)
                p->has[s * p->row + p->ranges[i].class / 64] |= UINT64_C(1)
                                                                << p->ranges[i].class % 64;
}

static void fill_kinds(struct prog *p)
{
    p->kinds = arena_array(&p->arena, uint8_t, p->n_classes);
    memset(p->kinds, KIND_OTHER, p->n_classes);
    if (p->asserts & (ASSERT_BEGIN_LINE | ASSERT_END_LINE))
        p->kinds[p->ascii['\n']] = KIND_NEWLINE;
    if (p->asserts & (ASSERT_WORD | ASSERT_NO_WORD))
        for (int c = 0; c < 128; c++)
            if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                c == '_')
                p->kinds[p->ascii[c]] = KIND_WORD;
}

/* The sets of the pattern, and those its assertions ask about. */
static bool make_classes(struct regex_tree *t, struct prog *p)
{
    enum { EXTRA = 2 };
    size_t n = t->sets.len;
    uint32_t *scratch = xmalloc(REGEX_MAX_CLASSES * sizeof(*scratch));
    runes *sets = xmalloc((n + EXTRA) * sizeof(*sets));
    runes word = {0}, newline = {0};
    runes_add(&newline, '\n', '\n');
    runes_add(&word, '0', '9');
    runes_add(&word, 'A', 'Z');
    runes_add(&word, '_', '_');
    runes_add(&word, 'a', 'z');
    size_t all = n;
    if (n)
        memcpy(sets, t->sets.p, n * sizeof(*sets));
    if (p->asserts & (ASSERT_BEGIN_LINE | ASSERT_END_LINE))
        sets[all++] = newline;
    if (p->asserts & (ASSERT_WORD | ASSERT_NO_WORD))
        sets[all++] = word;
    struct pieces x = cut(sets, all, &p->arena);
    bool ok = true;
    for (size_t i = 0; ok && i < all; i++) {
        if (x.n_classes > REGEX_MAX_CLASSES / 2)
            renumber(&x, scratch);
        ok = divide(&x, &sets[i], scratch);
    }
    if (ok) {
        renumber(&x, scratch);
        p->ranges = x.p;
        p->n_ranges = x.n;
        p->n_classes = x.n_classes;
        fill_ascii(p);
        fill_has(p, t->sets.p, n);
        fill_kinds(p);
    }
    p->cost += x.work / 4;
    vec_done(&word);
    vec_done(&newline);
    free(sets);
    free(scratch);
    return ok;
}

/* ---- all of it ---- */

int prog_make(struct regex_tree *t, str pattern, struct prog *p, struct err *err)
{
    struct maker m = {.p = p};
    *p = (struct prog){.cost = pattern.len / 2 + t->work / 2};
    emit(&m, t->root);
    add(&m, (struct inst){.op = INST_MATCH});
    p->n = here(&m);
    p->insts = arena_array(&p->arena, struct inst, p->n);
    memcpy(p->insts, m.insts.p, sizeof(*p->insts) * p->n);
    p->anchored = is_anchored(t->root);
    p->cost += p->n / 2;
    vec_done(&m.insts);
    if (m.too_large || !make_classes(t, p))
        return err_set(err, ERR_TOO_LARGE,
                       "error parsing regexp: expression too large: it takes more than %d steps or "
                       "tells more than %d kinds of characters apart",
                       REGEX_MAX_INSTS, REGEX_MAX_CLASSES);
    p->bytes = sizeof(struct regex) + p->n * sizeof(struct inst) +
               p->n_ranges * sizeof(struct class_range) + p->n_classes +
               p->row * t->sets.len * sizeof(uint64_t);
    return 0;
}

void prog_done(struct prog *p)
{
    arena_done(&p->arena);
}

uint32_t prog_class_beyond_ascii(const struct prog *p, uint32_t rune)
{
    return p->ranges[piece_at(p->ranges, p->n_ranges, rune)].class;
}

unsigned prog_asserts(enum rune_kind before, enum rune_kind after)
{
    bool begins = before == KIND_EDGE, ends = after == KIND_EDGE;
    bool boundary = (before == KIND_WORD) != (after == KIND_WORD);
    return (begins ? ASSERT_BEGIN_TEXT : 0) | (ends ? ASSERT_END_TEXT : 0) |
           (begins || before == KIND_NEWLINE ? ASSERT_BEGIN_LINE : 0) |
           (ends || after == KIND_NEWLINE ? ASSERT_END_LINE : 0) |
           (boundary ? ASSERT_WORD : ASSERT_NO_WORD);
}
