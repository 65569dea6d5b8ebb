/*
 * Patterns as trees, by the syntax of Go's regexp. One function for each kind of thing a pattern is
 * made of; groups are the only recursion, and their depth is limited.
 *
 *   alternation := concatenation { '|' concatenation }
 *   concatenation := { atom [ '*' | '+' | '?' | '{n,m}' ] [ '?' ] }
 *   atom := character | class | escape | '^' | '$' | '(' alternation ')'
 */
#include "kube/regex/regex_impl.h"

enum flags {
    FLAG_FOLD = 1 << 0,      /* i */
    FLAG_MULTILINE = 1 << 1, /* m */
    FLAG_DOT_NL = 1 << 2,    /* s */
    FLAG_LAZY = 1 << 3,      /* U */
};

struct parser {
    str whole, rest;
    struct regex_tree *t;
    unsigned flags;
    unsigned depth; /* of groups */
    struct err *err;
    bool failed;
};

/* ---- errors ---- */

/* what: the part of the pattern that is wrong; it begins at most at p->rest. */
static void *fail(struct parser *p, const char *why, str what)
{
    enum { SHOWN = 100 };
    if (p->failed)
        return NULL;
    p->failed = true;
    size_t n = MIN(what.len, SHOWN);
    while (n < what.len && n > 0 && (what.p[n] & 0xc0) == 0x80) /* whole characters */
        n--;
    err_set(p->err, ERR_INVALID, "error parsing regexp: %s: `%.*s%s` at byte %zu", why, (int)n,
            what.p, n < what.len ? "..." : "", (size_t)(what.p - p->whole.p));
    return NULL;
}

/* From there to where the parser is. */
static str up_to_here(const struct parser *p, const char *from)
{
    return str_n(from, (size_t)(p->rest.p - from));
}

static void skip(struct parser *p, size_t n)
{
    p->rest = str_sub(p->rest, n, p->rest.len);
}

static bool at(const struct parser *p, char c)
{
    return p->rest.len && p->rest.p[0] == c;
}

static bool take(struct parser *p, char c)
{
    if (!at(p, c))
        return false;
    skip(p, 1);
    return true;
}

/* The next code point; the whole pattern was found to be UTF-8. */
static uint32_t take_rune(struct parser *p)
{
    const char *from = p->rest.p;
    uint32_t c = rune_next(&from, p->rest.p + p->rest.len);
    skip(p, (size_t)(from - p->rest.p));
    return c;
}

/* ---- nodes ---- */

static struct node *new_node(struct parser *p, enum node_type type)
{
    struct node *n = arena_new(&p->t->arena, struct node);
    *n = (struct node){.type = type, .height = 1, .product = 1};
    return n;
}

static struct node *new_empty(struct parser *p)
{
    struct node *n = new_node(p, NODE_EMPTY);
    n->nullable = true;
    return n;
}

static struct node *new_assert(struct parser *p, enum regex_assert what)
{
    struct node *n = new_node(p, NODE_ASSERT);
    n->set = what;
    n->nullable = true;
    return n;
}

/* Takes the set over. The same set is kept once. */
static struct node *new_set(struct parser *p, runes *s)
{
    struct node *n = new_node(p, NODE_SET);
    runes_tidy(s);
    str key = str_n((const char *)s->p, s->len * sizeof(s->p[0]));
    void *known = s->len ? map_get(&p->t->set_ids, key) : NULL;
    if (known) {
        n->set = (uint32_t)(uintptr_t)known - 1;
        vec_done(s);
        return n;
    }
    if (p->t->sets.len == REGEX_MAX_SETS) {
        vec_done(s);
        return fail(p, "expression too large", p->whole);
    }
    n->set = (uint32_t)p->t->sets.len;
    *vec_push(&p->t->sets) = *s;
    if (s->len)
        map_put(&p->t->set_ids, key, (void *)(uintptr_t)(n->set + 1));
    return n;
}

static struct node *new_literal(struct parser *p, uint32_t c)
{
    runes s = {0};
    runes_add(&s, c, c);
    if (p->flags & FLAG_FOLD)
        runes_fold(&s);
    return new_set(p, &s);
}

/* A node above others. */
static struct node *raise(struct parser *p, struct node *n)
{
    uint16_t highest = 0;
    for (const struct node *s = n->sub; s; s = s->next) {
        highest = MAX(highest, s->height);
        n->product = MAX(n->product, s->product);
    }
    n->height = (uint16_t)(highest + 1);
    return n->height > REGEX_MAX_HEIGHT ? fail(p, "expression nests too deeply", p->whole) : n;
}

/* ---- classes ---- */

static const struct {
    const char *name; /* of [:name:], or the letter of \d */
    const char *ranges;
} ascii_classes[] = {
    {"d", "09"},           {"s", "\t\n\f\r  "},
    {"w", "09AZ__az"},     {"alnum", "09AZaz"},
    {"alpha", "AZaz"},     {"ascii", "\x01\x7f"},         /* and 0 */
    {"blank", "\t\t  "},   {"cntrl", "\x01\x1f\x7f\x7f"}, /* and 0 */
    {"digit", "09"},       {"graph", "!~"},
    {"lower", "az"},       {"print", " ~"},
    {"punct", "!/:@[`{~"}, {"space", "\t\r  "},
    {"upper", "AZ"},       {"word", "09AZ__az"},
    {"xdigit", "09AFaf"},
};

/* Adds what is in it, or what is not, as the flags see it; takes it over. */
static void add_class(struct parser *p, runes *to, runes *class, bool negate)
{
    bool fold = p->flags & FLAG_FOLD;
    if (fold)
        runes_fold(class);
    if (negate)
        runes_negate(class);
    runes_add_all(to, class);
    p->t->work += class->len * (fold ? 4 : 1);
    if (p->t->work > REGEX_MAX_WORK)
        fail(p, "expression too large", p->whole);
    vec_done(class);
}

static bool add_ascii_class(struct parser *p, runes *to, str name, bool negate)
{
    for (size_t i = 0; i < ARRAY_LEN(ascii_classes); i++) {
        if (!str_is(name, ascii_classes[i].name))
            continue;
        runes class = {0};
        for (const char *r = ascii_classes[i].ranges; *r; r += 2)
            runes_add(&class, (uint32_t)(*r == 1 ? 0 : *r), (uint32_t)r[1]);
        add_class(p, to, &class, negate);
        return true;
    }
    return false;
}

/* \d and the like; false: it is none. */
static bool take_letter_class(struct parser *p, runes *to)
{
    char c = p->rest.len >= 2 && p->rest.p[0] == '\\' ? p->rest.p[1] : 0;
    bool upper = c == 'D' || c == 'S' || c == 'W';
    char name = upper ? (char)(c - 'A' + 'a') : c;
    if (name != 'd' && name != 's' && name != 'w')
        return false;
    skip(p, 2);
    return add_ascii_class(p, to, str_n(&name, 1), upper);
}

/* \pN, \p{Greek}, \P{^Greek}; false: it is none, or wrong. */
static bool take_unicode_class(struct parser *p, runes *to)
{
    const char *from = p->rest.p;
    if (p->rest.len < 2 || from[0] != '\\' || (from[1] != 'p' && from[1] != 'P'))
        return false;
    bool negate = from[1] == 'P';
    skip(p, 2);
    str name = p->rest;
    if (take(p, '{')) {
        ptrdiff_t end = str_find_char(p->rest, '}');
        if (end < 0)
            return fail(p, "invalid character class range", str_n(from, p->rest.len + 3));
        name = str_sub(p->rest, 0, (size_t)end);
        skip(p, (size_t)end + 1);
    } else if (p->rest.len) {
        (void)take_rune(p);
        name = up_to_here(p, name.p);
    }
    if (name.len && name.p[0] == '^') {
        negate = !negate;
        name = str_sub(name, 1, name.len);
    }
    runes class = {0};
    if (!name.len || !runes_add_class(&class, name))
        return fail(p, "invalid character class range", up_to_here(p, from));
    add_class(p, to, &class, negate);
    return true;
}

/* [:alpha:], [:^alpha:] inside brackets; false: it is none, or wrong. */
static bool take_posix_class(struct parser *p, runes *to)
{
    if (!str_starts(p->rest, STR("[:")))
        return false;
    ptrdiff_t len = str_find(str_sub(p->rest, 2, p->rest.len), STR(":]"));
    if (len < 0)
        return false;
    str name = str_sub(p->rest, 2, (size_t)len + 2), whole = str_sub(p->rest, 0, (size_t)len + 4);
    bool negate = name.len && name.p[0] == '^';
    name = str_sub(name, negate, name.len);
    /* The letters of \d are no names. */
    if (name.len < 2 || !add_ascii_class(p, to, name, negate))
        return fail(p, "invalid character class range", whole);
    skip(p, whole.len);
    return true;
}

/* ---- escapes ---- */

static bool is_octal(const struct parser *p)
{
    return p->rest.len && p->rest.p[0] >= '0' && p->rest.p[0] <= '7';
}

static int hex_value(uint32_t c)
{
    return c >= '0' && c <= '9'   ? (int)(c - '0')
           : c >= 'a' && c <= 'f' ? (int)(c - 'a' + 10)
           : c >= 'A' && c <= 'F' ? (int)(c - 'A' + 10)
                                  : -1;
}

/* After \x: 7f or {10ffff}. */
static bool take_hex(struct parser *p, uint32_t *ret)
{
    *ret = 0;
    if (!take(p, '{')) {
        int x = p->rest.len ? hex_value(take_rune(p)) : -1;
        int y = p->rest.len ? hex_value(take_rune(p)) : -1;
        *ret = (uint32_t)(x * 16 + y);
        return x >= 0 && y >= 0;
    }
    for (size_t digits = 0; p->rest.len; digits++) {
        uint32_t c = take_rune(p);
        if (c == '}')
            return digits > 0;
        int v = hex_value(c);
        *ret = *ret * 16 + (uint32_t)v;
        if (v < 0 || *ret > RUNE_MAX)
            return false;
    }
    return false;
}

/* The character that an escape stands for; false: it stands for none, which was said. */
static bool take_escape(struct parser *p, uint32_t *ret)
{
    static const char from[] = "afnrtv", to[] = "\a\f\n\r\t\v";
    const char *begin = p->rest.p;
    skip(p, 1);
    if (!p->rest.len)
        return fail(p, "trailing backslash at end of expression", up_to_here(p, begin));
    uint32_t c = *ret = take_rune(p);
    bool alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (c < 0x80 && !alnum)
        return true;
    if (c == '0' || (c >= '1' && c <= '7' && is_octal(p))) { /* else it refers back */
        *ret = c - '0';
        for (int i = 1; i < 3 && is_octal(p); i++)
            *ret = *ret * 8 + take_rune(p) - '0';
        return true;
    }
    if (c == 'x' && take_hex(p, ret))
        return true;
    const char *known = c < 0x80 ? strchr(from, (int)c) : NULL;
    if (known) {
        *ret = (uint32_t)to[known - from];
        return true;
    }
    return fail(p, "invalid escape sequence", up_to_here(p, begin));
}

/* ---- brackets ---- */

static bool take_class_rune(struct parser *p, str whole, uint32_t *ret)
{
    if (!p->rest.len)
        return fail(p, "missing closing ]", whole);
    if (at(p, '\\'))
        return take_escape(p, ret);
    *ret = take_rune(p);
    return true;
}

/* One character, or a range of them. */
static bool take_range(struct parser *p, str whole, runes *to)
{
    const char *from = p->rest.p;
    uint32_t lo = 0, hi;
    if (!take_class_rune(p, whole, &lo))
        return false;
    hi = lo;
    if (p->rest.len >= 2 && p->rest.p[0] == '-' && p->rest.p[1] != ']') {
        skip(p, 1);
        if (!take_class_rune(p, whole, &hi))
            return false;
        if (hi < lo)
            return fail(p, "invalid character class range", up_to_here(p, from));
    }
    runes_add(to, lo, hi);
    return true;
}

/* Ranges of their own are folded at the end; classes were. */
static struct node *parse_brackets(struct parser *p)
{
    runes set = {0}, ranges = {0};
    str whole = p->rest;
    skip(p, 1);
    bool negate = take(p, '^');
    for (bool first = true; !p->failed && (first || !at(p, ']')); first = false)
        if (!take_posix_class(p, &set) && !p->failed && !take_unicode_class(p, &set) &&
            !p->failed && !take_letter_class(p, &set))
            (void)take_range(p, whole, &ranges);
    if (!p->failed)
        skip(p, 1);
    add_class(p, &set, &ranges, false);
    if (negate)
        runes_negate(&set);
    if (!p->failed)
        return new_set(p, &set);
    vec_done(&set);
    return NULL;
}

/* ---- parts ---- */

static struct node *parse_alternation(struct parser *p);

static struct node *parse_dot(struct parser *p)
{
    runes s = {0};
    skip(p, 1);
    if (!(p->flags & FLAG_DOT_NL))
        runes_add(&s, '\n', '\n');
    runes_negate(&s);
    return new_set(p, &s);
}

static struct node *parse_backslash(struct parser *p)
{
    runes s = {0};
    uint32_t c = p->rest.len >= 2 ? (unsigned char)p->rest.p[1] : 0;
    enum regex_assert assert = c == 'A'   ? ASSERT_BEGIN_TEXT
                               : c == 'z' ? ASSERT_END_TEXT
                               : c == 'b' ? ASSERT_WORD
                               : c == 'B' ? ASSERT_NO_WORD
                                          : 0;
    if (assert) {
        skip(p, 2);
        return new_assert(p, assert);
    }
    if (take_unicode_class(p, &s) || (!p->failed && take_letter_class(p, &s)))
        return new_set(p, &s);
    return !p->failed && take_escape(p, &c) ? new_literal(p, c) : NULL;
}

/* (?P<name> or (?<name>: the name is checked and forgotten. */
static bool take_name(struct parser *p)
{
    const char *from = p->rest.p;
    ptrdiff_t end = str_find_char(p->rest, '>');
    if (end < 0)
        return fail(p, "invalid named capture", p->rest);
    skip(p, from[2] == 'P' ? 4 : 3);
    str name = str_n(p->rest.p, (size_t)(from + end - p->rest.p));
    skip(p, name.len + 1);
    bool good = name.len > 0;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.p[i];
        good &=
            c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    }
    return good || fail(p, "invalid named capture", up_to_here(p, from));
}

/* What is behind (? and is no name: flags, then ) or :. */
static bool take_flags(struct parser *p, unsigned *ret, bool *ret_opens)
{
    static const char letters[] = "imsU";
    const char *from = p->rest.p;
    bool off = false, any = false;
    *ret = p->flags;
    for (skip(p, 2); p->rest.len;) {
        uint32_t c = take_rune(p);
        const char *known = c && c < 0x80 ? strchr(letters, (int)c) : NULL;
        unsigned bit = known ? 1u << (known - letters) : 0;
        if (known) {
            *ret = off ? *ret & ~bit : *ret | bit;
            any = true;
        } else if (c == '-' && !off) {
            off = true;
            any = false;
        } else if ((c == ':' || c == ')') && (!off || any)) {
            *ret_opens = c == ':';
            return true;
        } else {
            break;
        }
    }
    return fail(p, "invalid or unsupported Perl syntax", up_to_here(p, from));
}

/* From ( to ). *ret is NULL for (?i), which is no part by itself. */
static bool parse_group(struct parser *p, struct node **ret)
{
    str whole = p->rest;
    unsigned before = p->flags, flags = p->flags;
    bool captures = true, opens = true;
    *ret = NULL;
    if (str_starts(p->rest, STR("(?P<")) || str_starts(p->rest, STR("(?<"))) {
        /* (?<= and (?<! look behind */
        bool behind = p->rest.len > 3 && (p->rest.p[3] == '=' || p->rest.p[3] == '!');
        if (behind)
            return fail(p, "invalid or unsupported Perl syntax", str_sub(p->rest, 0, 4));
        if (!take_name(p))
            return false;
    } else if (str_starts(p->rest, STR("(?"))) {
        captures = false;
        if (!take_flags(p, &flags, &opens))
            return false;
    } else {
        skip(p, 1);
    }
    p->flags = flags;
    if (!opens)
        return true;
    if (++p->depth > REGEX_MAX_HEIGHT)
        return fail(p, "expression nests too deeply", p->whole);
    struct node *inner = parse_alternation(p);
    p->depth--;
    p->flags = before;
    if (!inner)
        return false;
    if (!take(p, ')'))
        return fail(p, "missing closing )", whole);
    if (captures) {
        struct node *group = new_node(p, NODE_GROUP);
        group->sub = inner;
        group->nullable = inner->nullable;
        inner = raise(p, group);
    }
    *ret = inner;
    return inner;
}

/* ---- repetition ---- */

/* Digits without a zero before them. -1: too many. */
static bool take_number(str *s, int32_t *ret)
{
    size_t n = 0;
    int64_t v = 0;
    while (n < s->len && s->p[n] >= '0' && s->p[n] <= '9') {
        v = v < 1000000 ? v * 10 + (s->p[n] - '0') : v;
        n++;
    }
    if (!n || (n > 1 && s->p[0] == '0'))
        return false;
    *s = str_sub(*s, n, s->len);
    *ret = v > REGEX_MAX_REPEAT ? -1 : (int32_t)v;
    return true;
}

struct repeat {
    int32_t min, max;
    bool lazy;
    bool too_large;
    bool counted; /* by numbers */
};

/* {n}, {n,}, {n,m}; false: the brace is a character like others. */
static bool take_counts(str *s, struct repeat *ret)
{
    str rest = str_sub(*s, 1, s->len);
    *ret = (struct repeat){.counted = true};
    if (!take_number(&rest, &ret->min))
        return false;
    ret->max = ret->min;
    if (rest.len && rest.p[0] == ',') {
        rest = str_sub(rest, 1, rest.len);
        ret->max = -1;
        int32_t most;
        if (rest.len && rest.p[0] != '}') {
            if (!take_number(&rest, &most))
                return false;
            ret->max = most;
            ret->too_large = most < 0 || ret->min > most;
        }
    }
    ret->too_large |= ret->min < 0;
    if (!rest.len || rest.p[0] != '}')
        return false;
    *s = str_sub(rest, 1, rest.len);
    return true;
}

/* An operator that repeats what is before it; false: there is none here. */
static bool take_repeat(struct parser *p, struct repeat *ret)
{
    char c = p->rest.len ? p->rest.p[0] : 0;
    str rest = p->rest;
    if (c == '{') {
        if (!take_counts(&rest, ret))
            return false;
    } else if (c == '*' || c == '+' || c == '?') {
        *ret = (struct repeat){.min = c == '+', .max = c == '?' ? 1 : -1};
        rest = str_sub(rest, 1, rest.len);
    } else {
        return false;
    }
    p->rest = rest;
    ret->lazy = (p->flags & FLAG_LAZY) != 0;
    if (!ret->too_large && take(p, '?'))
        ret->lazy = !ret->lazy;
    return true;
}

static struct node *repeated(struct parser *p, struct node *sub, const struct repeat *r, str op)
{
    struct node *n = new_node(p, NODE_REPEAT);
    sub->next = NULL;
    n->sub = sub;
    n->min = r->min;
    n->max = r->max;
    n->lazy = r->lazy;
    n->nullable = r->min == 0 || sub->nullable;
    uint32_t times = r->counted ? (uint32_t)(r->max < 0 ? r->min : r->max) : 1;
    if (!raise(p, n))
        return NULL;
    if (r->counted && r->max == 0)
        n->product = 1; /* nothing is left of it */
    n->product *= MAX(times, 1);
    if (times >= 2 && n->product > REGEX_MAX_REPEAT)
        return fail(p, "invalid repeat count", op);
    return n;
}

/* ---- concatenation and alternation ---- */

/* Parts, in order. */
struct parts {
    VEC(struct node *) p;
    bool repeated;        /* the last part is repeated */
    const char *operator; /* where that begins */
};

static bool add_repeat(struct parser *p, struct parts *parts, const struct repeat *r,
                       const char *from)
{
    str op = up_to_here(p, from);
    if (r->too_large)
        return fail(p, "invalid repeat count", op);
    if (parts->repeated)
        return fail(p, "invalid nested repetition operator", up_to_here(p, parts->operator));
    if (!parts->p.len)
        return fail(p, "missing argument to repetition operator", op);
    struct node **last = vec_last(&parts->p);
    *last = repeated(p, *last, r, op);
    parts->repeated = true;
    parts->operator= from;
    return *last;
}

/* \Q...\E: nothing in it means anything. */
static void add_quoted(struct parser *p, struct parts *parts)
{
    skip(p, 2);
    while (p->rest.len && !str_starts(p->rest, STR("\\E")) && !p->failed)
        *vec_push(&parts->p) = new_literal(p, take_rune(p));
    skip(p, MIN(p->rest.len, 2));
    parts->repeated = false;
}

static struct node *parse_atom(struct parser *p)
{
    bool lines = p->flags & FLAG_MULTILINE;
    switch (p->rest.p[0]) {
    case '^':
        skip(p, 1);
        return new_assert(p, lines ? ASSERT_BEGIN_LINE : ASSERT_BEGIN_TEXT);
    case '$':
        skip(p, 1);
        return new_assert(p, lines ? ASSERT_END_LINE : ASSERT_END_TEXT);
    case '.':
        return parse_dot(p);
    case '[':
        return parse_brackets(p);
    case '\\':
        return parse_backslash(p);
    default:
        return new_literal(p, take_rune(p));
    }
}

static void add_part(struct parser *p, struct parts *parts)
{
    struct repeat r;
    struct node *n;
    const char *from = p->rest.p;
    if (str_starts(p->rest, STR("\\Q"))) {
        add_quoted(p, parts);
        return;
    }
    if (take_repeat(p, &r)) {
        (void)add_repeat(p, parts, &r, from);
        return;
    }
    if (at(p, '('))
        (void)parse_group(p, &n);
    else
        n = parse_atom(p);
    parts->repeated = false;
    if (n)
        *vec_push(&parts->p) = n;
}

static struct node *joined(struct parser *p, enum node_type type, struct node **list, size_t n)
{
    if (n <= 1)
        return n ? list[0] : new_empty(p);
    struct node *top = new_node(p, type);
    top->nullable = type == NODE_CAT;
    for (size_t i = n; i-- > 0;) {
        list[i]->next = top->sub;
        top->sub = list[i];
        top->nullable = type == NODE_CAT ? top->nullable && list[i]->nullable
                                         : top->nullable || list[i]->nullable;
    }
    return raise(p, top);
}

static struct node *parse_concatenation(struct parser *p)
{
    struct parts parts = {0};
    while (!p->failed && p->rest.len && !at(p, '|') && !at(p, ')'))
        add_part(p, &parts);
    struct node *n = p->failed ? NULL : joined(p, NODE_CAT, parts.p.p, parts.p.len);
    vec_done(&parts.p);
    return n;
}

static struct node *parse_alternation(struct parser *p)
{
    VEC(struct node *) choices = {0};
    do {
        struct node *n = parse_concatenation(p);
        if (n)
            *vec_push(&choices) = n;
    } while (!p->failed && take(p, '|'));
    struct node *n = p->failed ? NULL : joined(p, NODE_ALT, choices.p, choices.len);
    vec_done(&choices);
    return n;
}

int regex_parse(str pattern, struct regex_tree *t, struct err *err)
{
    struct parser p = {.whole = pattern, .rest = pattern, .t = t, .err = err};
    *t = (struct regex_tree){0};
    if (pattern.len > REGEX_MAX_PATTERN)
        fail(&p, "expression too large", pattern);
    else if (!str_is_utf8(pattern))
        fail(&p, "invalid UTF-8", str_sub(pattern, 0, 0));
    else
        t->root = parse_alternation(&p);
    if (!p.failed && p.rest.len)
        fail(&p, "unexpected )", p.rest);
    return p.failed ? ERR_INVALID : 0;
}

void regex_tree_done(struct regex_tree *t)
{
    for (size_t i = 0; i < t->sets.len; i++)
        vec_done(&t->sets.p[i]);
    vec_done(&t->sets);
    map_done(&t->set_ids);
    arena_done(&t->arena);
}
