/* See runes.h. */
#include "kube/regex/runes.h"

/* ---- sets ---- */

/* What follows the last one directly is one with it. */
void runes_add(runes *s, uint32_t lo, uint32_t hi)
{
    if (s->len && vec_last(s)->hi + 1 == lo)
        vec_last(s)->hi = hi;
    else
        *vec_push(s) = (struct rune_range){lo, hi};
}

void runes_add_all(runes *s, const runes *other)
{
    for (size_t i = 0; i < other->len; i++)
        *vec_push(s) = other->p[i];
}

static int compare(const void *a, const void *b)
{
    const struct rune_range *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static bool is_tidy(const runes *s)
{
    for (size_t i = 1; i < s->len; i++)
        if (s->p[i].lo <= s->p[i - 1].hi + 1)
            return false;
    return true;
}

void runes_tidy(runes *s)
{
    size_t n = 0;
    if (is_tidy(s))
        return;
    vec_sort(s, compare);
    for (size_t i = 0; i < s->len; i++) {
        struct rune_range r = s->p[i];
        if (n && r.lo <= s->p[n - 1].hi + 1)
            s->p[n - 1].hi = MAX(s->p[n - 1].hi, r.hi);
        else
            s->p[n++] = r;
    }
    s->len = n;
}

void runes_negate(runes *s)
{
    runes out = {0};
    uint32_t next = 0; /* the first that is not decided */
    runes_tidy(s);
    for (size_t i = 0; i < s->len; i++) {
        if (s->p[i].lo > next)
            runes_add(&out, next, s->p[i].lo - 1);
        next = s->p[i].hi + 1;
    }
    if (next <= RUNE_MAX)
        runes_add(&out, next, RUNE_MAX);
    vec_done(s);
    *s = out;
}

/* ---- case ---- */

/* What the members of one range that the fold speaks of lead to. */
static void fold_range(const struct unicode_fold *f, struct rune_range r, runes *out)
{
    uint32_t lo = MAX(r.lo, f->lo), hi = MIN(r.hi, f->hi);
    lo += (f->stride - (lo - f->lo) % f->stride) % f->stride;
    if (lo > hi)
        return;
    if (f->stride == 1) {
        runes_add(out, (uint32_t)((int32_t)lo + f->delta), (uint32_t)((int32_t)hi + f->delta));
        return;
    }
    for (uint32_t c = lo; c <= hi; c += f->stride)
        runes_add(out, (uint32_t)((int32_t)c + f->delta), (uint32_t)((int32_t)c + f->delta));
}

/* At most four differ in case only, each leading to the next. */
void runes_fold(runes *s)
{
    enum { MOST_ALIKE = 4 };
    runes more = {0};
    for (int round = 1; round < MOST_ALIKE; round++) {
        size_t from = 0;
        runes_tidy(s);
        vec_clear(&more);
        for (size_t i = 0; i < unicode_n_folds; i++) {
            const struct unicode_fold *f = &unicode_folds[i];
            while (from < s->len && s->p[from].hi < f->lo)
                from++;
            for (size_t k = from; k < s->len && s->p[k].lo <= f->hi; k++)
                fold_range(f, s->p[k], &more);
        }
        runes_add_all(s, &more);
    }
    runes_tidy(s);
    vec_done(&more);
}

/* ---- Unicode ---- */

#define BIT(c) (1u << UNICODE_##c)
#define LETTERS_CASED (BIT(LU) | BIT(LL) | BIT(LT))
#define LETTERS (LETTERS_CASED | BIT(LM) | BIT(LO))
#define MARKS (BIT(MN) | BIT(MC) | BIT(ME))
#define NUMBERS (BIT(ND) | BIT(NL) | BIT(NO))
#define PUNCTUATION (BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO))
#define SYMBOLS (BIT(SM) | BIT(SC) | BIT(SK) | BIT(SO))
#define SEPARATORS (BIT(ZS) | BIT(ZL) | BIT(ZP))
#define OTHERS (BIT(CC) | BIT(CF) | BIT(CS) | BIT(CO) | BIT(CN))

static const struct {
    const char *name, *long_name;
    uint32_t of; /* categories */
} classes[] = {
    {"L", "Letter", LETTERS},
    {"LC", "CasedLetter", LETTERS_CASED},
    {"Lu", "UppercaseLetter", BIT(LU)},
    {"Ll", "LowercaseLetter", BIT(LL)},
    {"Lt", "TitlecaseLetter", BIT(LT)},
    {"Lm", "ModifierLetter", BIT(LM)},
    {"Lo", "OtherLetter", BIT(LO)},
    {"M", "Mark", MARKS},
    {"M", "CombiningMark", MARKS},
    {"Mn", "NonspacingMark", BIT(MN)},
    {"Mc", "SpacingMark", BIT(MC)},
    {"Me", "EnclosingMark", BIT(ME)},
    {"N", "Number", NUMBERS},
    {"Nd", "DecimalNumber", BIT(ND)},
    {"Nd", "digit", BIT(ND)},
    {"Nl", "LetterNumber", BIT(NL)},
    {"No", "OtherNumber", BIT(NO)},
    {"P", "Punctuation", PUNCTUATION},
    {"P", "punct", PUNCTUATION},
    {"Pc", "ConnectorPunctuation", BIT(PC)},
    {"Pd", "DashPunctuation", BIT(PD)},
    {"Ps", "OpenPunctuation", BIT(PS)},
    {"Pe", "ClosePunctuation", BIT(PE)},
    {"Pi", "InitialPunctuation", BIT(PI)},
    {"Pf", "FinalPunctuation", BIT(PF)},
    {"Po", "OtherPunctuation", BIT(PO)},
    {"S", "Symbol", SYMBOLS},
    {"Sm", "MathSymbol", BIT(SM)},
    {"Sc", "CurrencySymbol", BIT(SC)},
    {"Sk", "ModifierSymbol", BIT(SK)},
    {"So", "OtherSymbol", BIT(SO)},
    {"Z", "Separator", SEPARATORS},
    {"Zs", "SpaceSeparator", BIT(ZS)},
    {"Zl", "LineSeparator", BIT(ZL)},
    {"Zp", "ParagraphSeparator", BIT(ZP)},
    {"C", "Other", OTHERS},
    {"Cc", "Control", BIT(CC)},
    {"Cc", "cntrl", BIT(CC)},
    {"Cf", "Format", BIT(CF)},
    {"Cs", "Surrogate", BIT(CS)},
    {"Co", "PrivateUse", BIT(CO)},
    {"Cn", "Unassigned", BIT(CN)},
    {"Any", "Any", LETTERS | MARKS | NUMBERS | PUNCTUATION | SYMBOLS | SEPARATORS | OTHERS},
    {"Assigned", "Assigned",
     (LETTERS | MARKS | NUMBERS | PUNCTUATION | SYMBOLS | SEPARATORS | OTHERS) & ~BIT(CN)},
};

static void add_categories(runes *s, uint32_t of)
{
    for (size_t i = 0; i < unicode_n_categories; i++) {
        uint32_t lo = unicode_categories[i] >> 8, category = unicode_categories[i] & 0xff;
        uint32_t hi =
            i + 1 < unicode_n_categories ? (unicode_categories[i + 1] >> 8) - 1 : RUNE_MAX;
        if (category == UNICODE_UL) {
            for (uint32_t c = lo; c <= hi; c++)
                if (of & ((c - lo) % 2 ? BIT(LL) : BIT(LU)))
                    runes_add(s, c, c);
        } else if (of & 1u << category) {
            runes_add(s, lo, hi);
        }
    }
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_filler(char c)
{
    return c == '_' || c == '-' || c == ' ';
}

static bool is_named(str name, const char *known)
{
    size_t i = 0;
    for (; *known; known++) {
        if (is_filler(*known))
            continue;
        while (i < name.len && is_filler(name.p[i]))
            i++;
        if (i == name.len || lower(name.p[i++]) != lower(*known))
            return false;
    }
    while (i < name.len && is_filler(name.p[i]))
        i++;
    return i == name.len;
}

bool runes_add_class(runes *s, str name)
{
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (is_named(name, classes[i].name) || is_named(name, classes[i].long_name)) {
            add_categories(s, classes[i].of);
            return true;
        }
    if (is_named(name, "ASCII")) {
        runes_add(s, 0, 0x7f);
        return true;
    }
    for (size_t i = 0; i < unicode_n_scripts; i++) {
        const struct unicode_script *c = &unicode_scripts[i];
        if (!is_named(name, c->name))
            continue;
        for (size_t k = 0; k < c->n; k++)
            *vec_push(s) = unicode_script_ranges[c->first + k];
        return true;
    }
    return false;
}

/* ---- texts ---- */

#define NOT_A_RUNE 0xfffdu

uint32_t rune_next(const char **p, const char *end)
{
    const unsigned char *s = (const unsigned char *)*p;
    size_t left = (size_t)(end - *p), n = 1;
    uint32_t c = s[0], least = 0;
    if (c >= 0xf0 && c < 0xf8) {
        n = 4, c &= 0x07, least = 0x10000;
    } else if (c >= 0xe0 && c < 0xf0) {
        n = 3, c &= 0x0f, least = 0x800;
    } else if (c >= 0xc0 && c < 0xe0) {
        n = 2, c &= 0x1f, least = 0x80;
    } else if (c >= 0x80) {
        ++*p;
        return NOT_A_RUNE;
    }
    for (size_t i = 1; i < n; i++) {
        if (i >= left || (s[i] & 0xc0) != 0x80) {
            ++*p;
            return NOT_A_RUNE;
        }
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < least || c > RUNE_MAX || (c >= 0xd800 && c < 0xe000)) {
        ++*p;
        return NOT_A_RUNE;
    }
    *p += n;
    return c;
}
