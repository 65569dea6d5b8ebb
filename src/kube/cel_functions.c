/*
 * The functions of CEL, one small function each, and the table that names them. The receiver of a
 * method is its first argument; arguments are no errors and their strings are paid for.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "kube/cel_impl.h"

#define MATCH_LIMIT 100000

/* Characters of valid UTF-8. */
static size_t characters(str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

/* Where the i-th character begins; -1: there are fewer. */
static ptrdiff_t character_at(str s, int64_t i)
{
    size_t at = 0;
    if (i < 0)
        return -1;
    for (; i > 0 && at < s.len; i--)
        for (at++; at < s.len && ((unsigned char)s.p[at] & 0xc0) == 0x80;)
            at++;
    return i ? -1 : (ptrdiff_t)at;
}

static struct cel_value f_size(struct cel_eval_state *e, const struct cel_value *a)
{
    if (a->type == CEL_STRING)
        return of_int((int64_t)characters(a->s));
    if (a->type == CEL_LIST || a->type == CEL_MAP)
        return of_int((int64_t)cel_length(a));
    return cel_no_overload(e);
}

static bool are_strings(const struct cel_value *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i].type != CEL_STRING)
            return false;
    return true;
}

static struct cel_value f_starts(struct cel_eval_state *e, const struct cel_value *a)
{
    return are_strings(a, 2) ? of_bool(str_starts(a[0].s, a[1].s)) : cel_no_overload(e);
}

static struct cel_value f_ends(struct cel_eval_state *e, const struct cel_value *a)
{
    return are_strings(a, 2) ? of_bool(str_ends(a[0].s, a[1].s)) : cel_no_overload(e);
}

static struct cel_value f_contains(struct cel_eval_state *e, const struct cel_value *a)
{
    return are_strings(a, 2) ? of_bool(str_find(a[0].s, a[1].s) >= 0) : cel_no_overload(e);
}

static struct cel_value f_index_of(struct cel_eval_state *e, const struct cel_value *a)
{
    if (!are_strings(a, 2))
        return cel_no_overload(e);
    ptrdiff_t at = str_find(a[0].s, a[1].s);
    return of_int(at < 0 ? -1 : (int64_t)characters(str_sub(a[0].s, 0, (size_t)at)));
}

static struct cel_value f_matches(struct cel_eval_state *e, const struct cel_value *a)
{
    int code;
    PCRE2_SIZE at;
    if (!are_strings(a, 2))
        return cel_no_overload(e);
    if (!cel_spend(e, (a[0].s.len / 16 + 1) * (a[1].s.len / 4 + 1)))
        return cel_too_much(e);
    pcre2_code *re = pcre2_compile((PCRE2_SPTR)(a[1].s.len ? a[1].s.p : ""), a[1].s.len,
                                   PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
    if (!re)
        return cel_failure(e, "the regular expression does not compile");
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    pcre2_set_match_limit(limits, MATCH_LIMIT);
    pcre2_set_depth_limit(limits, MATCH_LIMIT / 100);
    code =
        pcre2_match(re, (PCRE2_SPTR)(a[0].s.len ? a[0].s.p : ""), a[0].s.len, 0, 0, match, limits);
    pcre2_match_data_free(match);
    pcre2_match_context_free(limits);
    pcre2_code_free(re);
    return code >= 0                     ? of_bool(true)
           : code == PCRE2_ERROR_NOMATCH ? of_bool(false)
                                         : cel_failure(e, "the regular expression takes too long");
}

static struct cel_value change_case(struct cel_eval_state *e, const struct cel_value *a, char from,
                                    char to)
{
    if (a->type != CEL_STRING)
        return cel_no_overload(e);
    str s = arena_str(e->arena, a->s);
    for (char *p = (char *)s.p; p < s.p + s.len; p++)
        if (*p >= from && *p < from + 26)
            *p = (char)(*p - from + to);
    return of_str(s);
}

static struct cel_value f_lower(struct cel_eval_state *e, const struct cel_value *a)
{
    return change_case(e, a, 'A', 'a');
}

static struct cel_value f_upper(struct cel_eval_state *e, const struct cel_value *a)
{
    return change_case(e, a, 'a', 'A');
}

static struct cel_value f_trim(struct cel_eval_state *e, const struct cel_value *a)
{
    return a->type == CEL_STRING ? of_str(str_trim(a->s)) : cel_no_overload(e);
}

static struct cel_value f_split(struct cel_eval_state *e, const struct cel_value *a)
{
    cel_pairs parts = {0};
    if (!are_strings(a, 2) || !a[1].s.len)
        return cel_no_overload(e);
    for (str rest = a[0].s;;) {
        ptrdiff_t at = parts.len < CEL_MAX_LIST ? str_find(rest, a[1].s) : -1;
        if (!cel_spend(e, 1)) {
            vec_done(&parts);
            return cel_too_much(e);
        }
        *vec_push(&parts) =
            (struct cel_pair){.value = of_str(at < 0 ? rest : str_sub(rest, 0, (size_t)at))};
        if (at < 0)
            return cel_of_pairs(e, CEL_LIST, &parts);
        rest = str_sub(rest, (size_t)at + a[1].s.len, rest.len);
    }
}

static struct cel_value join_list(struct cel_eval_state *e, const struct cel_value *list,
                                  str between)
{
    struct strbuf b = STRBUF_INIT(CEL_MAX_STRING);
    bool first = true, strings = true;
    if (list->type != CEL_LIST)
        return cel_no_overload(e);
    for (struct cel_seq s = cel_seq_of(list); strings && cel_seq_next(&s); first = false) {
        strings = s.value.type == CEL_STRING && cel_spend(e, s.value.s.len / 16 + 1);
        strbuf_add_str(&b, first ? STR_NONE : between);
        strbuf_add_str(&b, strings ? s.value.s : STR_NONE);
    }
    struct cel_value v = !strings     ? cel_no_overload(e)
                         : b.overflow ? cel_too_much(e)
                                      : of_str(arena_str(e->arena, strbuf_str(&b)));
    strbuf_done(&b);
    return v;
}

static struct cel_value f_join(struct cel_eval_state *e, const struct cel_value *a)
{
    return join_list(e, a, STR_NONE);
}

static struct cel_value f_join_by(struct cel_eval_state *e, const struct cel_value *a)
{
    return a[1].type == CEL_STRING ? join_list(e, a, a[1].s) : cel_no_overload(e);
}

static struct cel_value f_replace(struct cel_eval_state *e, const struct cel_value *a)
{
    struct cel_value parts = are_strings(a, 3) ? f_split(e, a) : cel_no_overload(e);
    return parts.type == CEL_ERROR ? parts : join_list(e, &parts, a[2].s);
}

static struct cel_value cut(struct cel_eval_state *e, str s, int64_t from, int64_t to)
{
    ptrdiff_t a = character_at(s, from), b = character_at(s, to);
    if (a < 0 || b < a)
        return cel_failure(e, "index out of range: %lld", (long long)(a < 0 ? from : to));
    return of_str(str_sub(s, (size_t)a, (size_t)b));
}

static struct cel_value f_substring(struct cel_eval_state *e, const struct cel_value *a)
{
    if (a[0].type != CEL_STRING || a[1].type != CEL_INT)
        return cel_no_overload(e);
    return cut(e, a[0].s, a[1].i, (int64_t)characters(a[0].s));
}

static struct cel_value f_substring_to(struct cel_eval_state *e, const struct cel_value *a)
{
    if (a[0].type != CEL_STRING || a[1].type != CEL_INT || a[2].type != CEL_INT)
        return cel_no_overload(e);
    return cut(e, a[0].s, a[1].i, a[2].i);
}

static struct cel_value f_string(struct cel_eval_state *e, const struct cel_value *a)
{
    switch (a->type) {
    case CEL_STRING:
        return *a;
    case CEL_BOOL:
        return of_str(a->b ? STR("true") : STR("false"));
    case CEL_INT:
        return of_str(arena_printf(e->arena, "%lld", (long long)a->i));
    case CEL_UINT:
        return of_str(arena_printf(e->arena, "%llu", (unsigned long long)a->u));
    case CEL_DOUBLE:
        return of_str(arena_printf(e->arena, "%.17g", a->d));
    default:
        return cel_no_overload(e);
    }
}

static struct cel_value f_int(struct cel_eval_state *e, const struct cel_value *a)
{
    int64_t i;
    const double limit = 9223372036854775808.0;
    if (a->type == CEL_INT)
        return *a;
    if (a->type == CEL_UINT && a->u <= INT64_MAX)
        return of_int((int64_t)a->u);
    if (a->type == CEL_DOUBLE && a->d > -limit && a->d < limit)
        return of_int((int64_t)a->d);
    if (a->type == CEL_STRING && str_to_int(a->s, &i))
        return of_int(i);
    return a->type == CEL_STRING || cel_is_number(a) ? cel_failure(e, "not an int")
                                                     : cel_no_overload(e);
}

static struct cel_value f_double(struct cel_eval_state *e, const struct cel_value *a)
{
    char text[64], *end;
    if (cel_is_number(a))
        return of_double(cel_as_double(a));
    if (a->type != CEL_STRING)
        return cel_no_overload(e);
    if (!a->s.len || a->s.len >= sizeof(text))
        return cel_failure(e, "not a double");
    memcpy(text, a->s.p, a->s.len);
    text[a->s.len] = '\0';
    double d = strtod(text, &end);
    return *end ? cel_failure(e, "not a double") : of_double(d);
}

static struct cel_value f_dyn(struct cel_eval_state *e, const struct cel_value *a)
{
    (void)e;
    return *a;
}

/* The least (sign 1) or the most (-1) of a list. */
static struct cel_value extreme(struct cel_eval_state *e, const struct cel_value *a, int sign)
{
    struct cel_value best = cel_failure(e, "an empty list has no least and no most");
    bool first = true;
    if (a->type != CEL_LIST)
        return cel_no_overload(e);
    for (struct cel_seq s = cel_seq_of(a); cel_seq_next(&s); first = false) {
        if (!cel_spend(e, 1))
            return cel_too_much(e);
        int c = first ? -sign : cel_order(e, &s.value, &best);
        if (c == 3)
            return cel_no_overload(e);
        if (c == -sign)
            best = s.value;
    }
    return best;
}

static struct cel_value f_min(struct cel_eval_state *e, const struct cel_value *a)
{
    return extreme(e, a, 1);
}

static struct cel_value f_max(struct cel_eval_state *e, const struct cel_value *a)
{
    return extreme(e, a, -1);
}

static struct cel_value f_sum(struct cel_eval_state *e, const struct cel_value *a)
{
    struct cel_value sum = of_int(0);
    bool first = true;
    if (a->type != CEL_LIST)
        return cel_no_overload(e);
    for (struct cel_seq s = cel_seq_of(a); cel_seq_next(&s); first = false) {
        if (!cel_spend(e, 1))
            return cel_too_much(e);
        if (!cel_is_number(&s.value))
            return cel_no_overload(e);
        sum = first ? s.value : cel_arithmetic(e, CEL_ADD, &sum, &s.value);
        if (sum.type == CEL_ERROR)
            return sum;
    }
    return sum;
}

static struct cel_value f_is_sorted(struct cel_eval_state *e, const struct cel_value *a)
{
    struct cel_value before = {0};
    bool first = true;
    if (a->type != CEL_LIST)
        return cel_no_overload(e);
    for (struct cel_seq s = cel_seq_of(a); cel_seq_next(&s); first = false) {
        if (!cel_spend(e, 1))
            return cel_too_much(e);
        int c = first ? 0 : cel_order(e, &before, &s.value);
        if (c >= 2)
            return cel_no_overload(e);
        if (c > 0)
            return of_bool(false);
        before = s.value;
    }
    return of_bool(true);
}

enum { AS_FUNCTION = 1, AS_METHOD = 2 };

static const struct {
    const char *name;
    unsigned form;
    size_t n_args; /* the receiver counts */
    enum cel_type type;
    struct cel_value (*call)(struct cel_eval_state *e, const struct cel_value *a);
} functions[] = {
    {"size", AS_FUNCTION | AS_METHOD, 1, CEL_INT, f_size},
    {"startsWith", AS_METHOD, 2, CEL_BOOL, f_starts},
    {"endsWith", AS_METHOD, 2, CEL_BOOL, f_ends},
    {"contains", AS_METHOD, 2, CEL_BOOL, f_contains},
    {"matches", AS_FUNCTION | AS_METHOD, 2, CEL_BOOL, f_matches},
    {"indexOf", AS_METHOD, 2, CEL_INT, f_index_of},
    {"lowerAscii", AS_METHOD, 1, CEL_STRING, f_lower},
    {"upperAscii", AS_METHOD, 1, CEL_STRING, f_upper},
    {"trim", AS_METHOD, 1, CEL_STRING, f_trim},
    {"split", AS_METHOD, 2, CEL_LIST, f_split},
    {"join", AS_METHOD, 1, CEL_STRING, f_join},
    {"join", AS_METHOD, 2, CEL_STRING, f_join_by},
    {"replace", AS_METHOD, 3, CEL_STRING, f_replace},
    {"substring", AS_METHOD, 2, CEL_STRING, f_substring},
    {"substring", AS_METHOD, 3, CEL_STRING, f_substring_to},
    {"string", AS_FUNCTION, 1, CEL_STRING, f_string},
    {"int", AS_FUNCTION, 1, CEL_INT, f_int},
    {"double", AS_FUNCTION, 1, CEL_DOUBLE, f_double},
    {"dyn", AS_FUNCTION, 1, CEL_DYN, f_dyn},
    {"min", AS_METHOD, 1, CEL_DYN, f_min},
    {"max", AS_METHOD, 1, CEL_DYN, f_max},
    {"sum", AS_METHOD, 1, CEL_DYN, f_sum},
    {"isSorted", AS_METHOD, 1, CEL_BOOL, f_is_sorted},
};

int cel_function_find(str name, bool is_method, size_t n_args)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (str_is(name, functions[i].name) && functions[i].n_args == n_args &&
            functions[i].form & (is_method ? AS_METHOD : AS_FUNCTION))
            return (int)i;
    return -1;
}

enum cel_type cel_function_type(int function)
{
    return functions[function].type;
}

struct cel_value cel_function_call(int function, struct cel_eval_state *e,
                                   const struct cel_value *args)
{
    return functions[function].call(e, args);
}
