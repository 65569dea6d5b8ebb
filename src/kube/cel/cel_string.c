/* CEL: functions of strings. Positions count characters, not bytes. */
#include "base/timefmt.h"
#include "kube/cel/cel_impl.h"
#include "kube/regex/regex.h"

size_t cel_characters(str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

ptrdiff_t cel_character_at(str s, int64_t i)
{
    size_t at = 0;
    if (i < 0)
        return -1;
    for (; i > 0 && at < s.len; i--)
        for (at++; at < s.len && ((unsigned char)s.p[at] & 0xc0) == 0x80;)
            at++;
    return i ? -1 : (ptrdiff_t)at;
}

CEL_FN(cel_f_size)
{
    return of_int((int64_t)(a->type == CEL_STRING  ? cel_characters(a->s)
                            : a->type == CEL_BYTES ? a->s.len
                                                   : cel_length(a)));
}

CEL_FN(cel_f_starts)
{
    return of_bool(str_starts(a[0].s, a[1].s));
}

CEL_FN(cel_f_ends)
{
    return of_bool(str_ends(a[0].s, a[1].s));
}

CEL_FN(cel_f_contains)
{
    return of_bool(str_find(a[0].s, a[1].s) >= 0);
}

/* ---- regular expressions ---- */

/* The pattern, and what it takes to go over the text once; NULL: the reason is in ret. */
static struct regex *pattern_of(struct cel_run *e, str pattern, str text, struct cel_value *ret)
{
    struct err err = ERR_INIT;
    *ret = cel_too_much(e);
    if (!cel_spend(e, CEL_REGEX_COST + pattern.len / 4 + text.len / 16))
        return NULL;
    struct regex *re = regex_of(pattern, e->in.cost, &err);
    if (!re)
        *ret = cel_failure(e, "%s", err.message);
    return re;
}

CEL_FN(cel_f_matches)
{
    struct cel_value v;
    struct regex *re = pattern_of(e, a[1].s, a[0].s, &v);
    if (!re)
        return v;
    enum regex_answer answer = regex_matches(re, a[0].s, e->in.cost);
    if (answer != REGEX_TOO_MUCH)
        return of_bool(answer == REGEX_YES);
    (void)cel_spend(e, UINT64_MAX);
    return cel_too_much(e);
}

/* What was found in a text. */
struct finder {
    struct cel_run *e;
    str text;
    cel_pairs found;
};

/* Where the next match may begin. Nothing is found right behind a match, nor twice in one place. */
static size_t behind(str s, str span)
{
    size_t end = (size_t)(span.p - s.p) + span.len;
    if (span.len)
        return end;
    ptrdiff_t step = cel_character_at(str_sub(s, end, s.len), 1);
    return step <= 0 ? s.len + 1 : end + (size_t)step;
}

/* At most `most` matches; false: the reason is in ret. */
static bool search(struct finder *f, str pattern, int64_t most, struct cel_value *ret)
{
    enum regex_answer answer = REGEX_YES;
    str s = f->text.len ? f->text : STR(""), span = {0};
    struct regex *re = pattern_of(f->e, pattern, s, ret);
    const char *last = NULL; /* where the last match ended */
    if (!re)
        return false;
    size_t from = 0;
    while (from <= s.len && (int64_t)f->found.len < most && cel_spend(f->e, CEL_ITEM_COST)) {
        answer = regex_search(re, s, from, f->e->in.cost, &span);
        if (answer != REGEX_YES)
            break;
        if (span.len || span.p != last)
            *vec_push(&f->found) = (struct cel_pair){.value = of_str(span)};
        from = behind(s, span);
        last = span.p + span.len;
    }
    *ret = cel_too_much(f->e);
    if (answer == REGEX_TOO_MUCH)
        (void)cel_spend(f->e, UINT64_MAX);
    return !f->e->exhausted;
}

CEL_FN(cel_f_find)
{
    struct finder f = {.e = e, .text = a[0].s};
    struct cel_value v;
    if (search(&f, a[1].s, 1, &v))
        v = f.found.len ? f.found.p[0].value : of_str(STR(""));
    vec_done(&f.found);
    return v;
}

CEL_FN(cel_f_find_all)
{
    struct finder f = {.e = e, .text = a[0].s};
    struct cel_value v;
    int64_t most = n > 2 && a[2].i >= 0 ? a[2].i : CEL_MAX_LIST;
    if (search(&f, a[1].s, MIN(most, CEL_MAX_LIST), &v))
        return cel_of_pairs(e, CEL_LIST, &f.found);
    vec_done(&f.found);
    return v;
}

/* ---- positions ---- */

static struct cel_value out_of_range(struct cel_run *e, int64_t i)
{
    return cel_failure(e, "index out of range: %lld", (long long)i);
}

CEL_FN(cel_f_char_at)
{
    ptrdiff_t at = cel_character_at(a[0].s, a[1].i), next;
    if (at < 0)
        return out_of_range(e, a[1].i);
    next = cel_character_at(a[0].s, a[1].i + 1);
    return of_str(str_sub(a[0].s, (size_t)at, next < 0 ? a[0].s.len : (size_t)next));
}

CEL_FN(cel_f_index_of)
{
    ptrdiff_t from = n > 2 ? cel_character_at(a[0].s, a[2].i) : 0;
    if (from < 0)
        return out_of_range(e, a[2].i);
    ptrdiff_t at = str_find(str_sub(a[0].s, (size_t)from, a[0].s.len), a[1].s);
    return of_int(at < 0 ? -1 : (int64_t)cel_characters(str_sub(a[0].s, 0, (size_t)(from + at))));
}

CEL_FN(cel_f_last_index_of)
{
    str s = a[0].s, sub = a[1].s;
    ptrdiff_t last = n > 2 ? cel_character_at(s, a[2].i) : (ptrdiff_t)s.len;
    if (last < 0)
        return out_of_range(e, a[2].i);
    if (!cel_spend(e, (s.len + 1) * (sub.len / 16 + 1) / 16))
        return cel_too_much(e);
    for (ptrdiff_t at = MIN(last, (ptrdiff_t)s.len - (ptrdiff_t)sub.len); at >= 0; at--)
        if (str_starts(str_sub(s, (size_t)at, s.len), sub))
            return of_int((int64_t)cel_characters(str_sub(s, 0, (size_t)at)));
    return of_int(-1);
}

CEL_FN(cel_f_substring)
{
    str s = a[0].s;
    ptrdiff_t from = cel_character_at(s, a[1].i);
    ptrdiff_t to = n > 2 ? cel_character_at(s, a[2].i) : (ptrdiff_t)s.len;
    if (from < 0 || to < 0)
        return out_of_range(e, from < 0 ? a[1].i : a[2].i);
    if (to < from)
        return cel_failure(e, "invalid substring range. start: %lld, end: %lld", (long long)a[1].i,
                           (long long)a[2].i);
    return of_str(str_sub(s, (size_t)from, (size_t)to));
}

/* ---- changing ---- */

static struct cel_value change_case(struct cel_run *e, const struct cel_value *a, char from,
                                    char to)
{
    str s = arena_str(e->arena, a->s);
    for (char *p = (char *)s.p; p < s.p + s.len; p++)
        if (*p >= from && *p < from + 26)
            *p = (char)(*p - from + to);
    return of_str(s);
}

CEL_FN(cel_f_lower)
{
    return change_case(e, a, 'A', 'a');
}

CEL_FN(cel_f_upper)
{
    return change_case(e, a, 'a', 'A');
}

CEL_FN(cel_f_trim)
{
    return of_str(str_trim(a->s));
}

/* Where the next separator is; an empty one is behind every character. */
static ptrdiff_t next_part(str rest, str by)
{
    if (by.len)
        return str_find(rest, by);
    ptrdiff_t at = cel_character_at(rest, 1);
    return at < 0 || (size_t)at >= rest.len ? -1 : at;
}

CEL_FN(cel_f_split)
{
    cel_pairs parts = {0};
    int64_t most = n > 2 && a[2].i >= 0 ? MIN(a[2].i, CEL_MAX_LIST) : CEL_MAX_LIST;
    for (str rest = a[0].s; most > 0;) {
        ptrdiff_t at = (int64_t)parts.len + 1 < most ? next_part(rest, a[1].s) : -1;
        if (!cel_spend(e, 1)) {
            vec_done(&parts);
            return cel_too_much(e);
        }
        *vec_push(&parts) =
            (struct cel_pair){.value = of_str(at < 0 ? rest : str_sub(rest, 0, (size_t)at))};
        if (at < 0)
            break;
        rest = str_sub(rest, (size_t)at + a[1].s.len, rest.len);
    }
    return cel_of_pairs(e, CEL_LIST, &parts);
}

static struct cel_value of_buffer(struct cel_run *e, struct strbuf *b)
{
    struct cel_value v = b->overflow ? cel_too_much(e) : of_str(arena_str(e->arena, strbuf_str(b)));
    strbuf_done(b);
    return v;
}

CEL_FN(cel_f_join)
{
    struct strbuf b = STRBUF_INIT(CEL_MAX_STRING);
    bool first = true, strings = true;
    for (struct cel_seq s = cel_seq_of(e, a); strings && cel_seq_next(&s); first = false) {
        strings = s.value.type == CEL_STRING && cel_spend(e, s.value.s.len / 16 + 1);
        strbuf_add_str(&b, first || n < 2 ? STR_NONE : a[1].s);
        strbuf_add_str(&b, strings ? s.value.s : STR_NONE);
    }
    if (strings)
        return of_buffer(e, &b);
    strbuf_done(&b);
    return cel_no_overload(e);
}

CEL_FN(cel_f_replace)
{
    struct strbuf b = STRBUF_INIT(CEL_MAX_STRING);
    int64_t left = n > 3 ? a[3].i : -1;
    str rest = a[0].s;
    if (!a[1].s.len && left) /* before the first character too */
        strbuf_add_str(&b, a[2].s);
    left -= !a[1].s.len && left > 0;
    while (left && cel_spend(e, a[2].s.len / 16 + 1)) {
        ptrdiff_t at = a[1].s.len ? str_find(rest, a[1].s) : cel_character_at(rest, 1);
        if (at < 0 || (!a[1].s.len && !rest.len))
            break;
        strbuf_add_str(&b, str_sub(rest, 0, (size_t)at));
        strbuf_add_str(&b, a[2].s);
        rest = str_sub(rest, (size_t)at + a[1].s.len, rest.len);
        left -= left > 0;
    }
    strbuf_add_str(&b, rest);
    return of_buffer(e, &b);
}

CEL_FN(cel_f_quote)
{
    static const char from[] = "\a\b\f\n\r\t\v\\\"", to[] = "abfnrtv\\\"";
    struct strbuf b = STRBUF_INIT(CEL_MAX_STRING);
    strbuf_add_char(&b, '"');
    for (size_t i = 0; i < a->s.len; i++) {
        const char *known = a->s.p[i] ? strchr(from, a->s.p[i]) : NULL;
        if (known)
            strbuf_add_char(&b, '\\');
        strbuf_add_char(&b, known ? to[known - from] : a->s.p[i]);
    }
    strbuf_add_char(&b, '"');
    return of_buffer(e, &b);
}

/* ---- format ---- */

/* One verb of a format; false: it does not fit the value. */
static bool put_verb(struct cel_run *e, struct strbuf *b, char verb, int precision,
                     const struct cel_value *v)
{
    bool is_int = v->type == CEL_INT || v->type == CEL_UINT;
    switch (verb) {
    case 's':
        return cel_text_of(e, v, b);
    case 'd':
        return is_int && cel_text_of(e, v, b);
    case 'f':
    case 'e':
        if (v->type != CEL_DOUBLE && !is_int)
            return false;
        strbuf_printf(b, verb == 'f' ? "%.*f" : "%.*e", precision, cel_as_double(v));
        return true;
    case 'x':
    case 'X':
    case 'o':
        if (!is_int || (v->type == CEL_INT && v->i < 0))
            return false;
        strbuf_printf(b,
                      verb == 'x'   ? "%llx"
                      : verb == 'X' ? "%llX"
                                    : "%llo",
                      (unsigned long long)v->u);
        return true;
    case 'b':
        if (v->type == CEL_BOOL)
            return cel_text_of(e, v, b);
        for (int i = is_int && v->u ? 63 - __builtin_clzll(v->u) : 0; is_int && i >= 0; i--)
            strbuf_add_char(b, (char)('0' + (v->u >> i & 1)));
        return is_int;
    default:
        return false;
    }
}

/* After the percent: ".3f"; moves *at behind it. */
static bool put_clause(struct cel_run *e, struct strbuf *b, str s, size_t *at,
                       const struct cel_value *v)
{
    int precision = 6;
    if (*at < s.len && s.p[*at] == '.') {
        precision = 0;
        for (++*at; *at < s.len && s.p[*at] >= '0' && s.p[*at] <= '9' && precision < 100; ++*at)
            precision = precision * 10 + (s.p[*at] - '0');
    }
    return *at < s.len && put_verb(e, b, s.p[(*at)++], precision, v);
}

CEL_FN(cel_f_format)
{
    struct strbuf b = STRBUF_INIT(CEL_MAX_STRING);
    struct cel_seq args = cel_seq_of(e, &a[1]);
    bool ok = true;
    str s = a[0].s;
    for (size_t i = 0; ok && i < s.len && cel_spend(e, 1);) {
        if (s.p[i] != '%') {
            strbuf_add_char(&b, s.p[i++]);
        } else if (++i < s.len && s.p[i] == '%') {
            strbuf_add_char(&b, s.p[i++]);
        } else {
            ok = cel_seq_next(&args) && put_clause(e, &b, s, &i, &args.value);
        }
    }
    if (ok)
        return of_buffer(e, &b);
    strbuf_done(&b);
    return cel_failure(e, "error during formatting: the arguments do not fit the format");
}
