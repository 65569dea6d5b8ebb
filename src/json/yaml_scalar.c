/*
 * Resolution of plain scalars.
 *
 * The word table is YAML 1.1's, including y and n (kubectl 1.32 reads an unquoted y as true).
 * Numbers follow Go's strconv with base 0 after underscores are taken out: 0x, 0o, 0b and a bare
 * leading zero for octal. What is no integer by that rule but looks like a decimal number is a
 * float; so 08 is eight. An integer too large for 64 bits keeps its digits instead of becoming a
 * float.
 */
#include "json/yaml_scalar.h"

#include <math.h>

#include "json/tape.h"

static const struct {
    str word;
    enum yaml_scalar means;
} words[] = {
    {STR_INIT(""), YAML_NULL},           {STR_INIT("~"), YAML_NULL},
    {STR_INIT("null"), YAML_NULL},       {STR_INIT("Null"), YAML_NULL},
    {STR_INIT("NULL"), YAML_NULL},       {STR_INIT("y"), YAML_TRUE},
    {STR_INIT("Y"), YAML_TRUE},          {STR_INIT("yes"), YAML_TRUE},
    {STR_INIT("Yes"), YAML_TRUE},        {STR_INIT("YES"), YAML_TRUE},
    {STR_INIT("true"), YAML_TRUE},       {STR_INIT("True"), YAML_TRUE},
    {STR_INIT("TRUE"), YAML_TRUE},       {STR_INIT("on"), YAML_TRUE},
    {STR_INIT("On"), YAML_TRUE},         {STR_INIT("ON"), YAML_TRUE},
    {STR_INIT("n"), YAML_FALSE},         {STR_INIT("N"), YAML_FALSE},
    {STR_INIT("no"), YAML_FALSE},        {STR_INIT("No"), YAML_FALSE},
    {STR_INIT("NO"), YAML_FALSE},        {STR_INIT("false"), YAML_FALSE},
    {STR_INIT("False"), YAML_FALSE},     {STR_INIT("FALSE"), YAML_FALSE},
    {STR_INIT("off"), YAML_FALSE},       {STR_INIT("Off"), YAML_FALSE},
    {STR_INIT("OFF"), YAML_FALSE},       {STR_INIT(".nan"), YAML_NOT_FINITE},
    {STR_INIT(".NaN"), YAML_NOT_FINITE}, {STR_INIT(".NAN"), YAML_NOT_FINITE},
    {STR_INIT(".inf"), YAML_NOT_FINITE}, {STR_INIT(".Inf"), YAML_NOT_FINITE},
    {STR_INIT(".INF"), YAML_NOT_FINITE}, {STR_INIT("<<"), YAML_MERGE},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool word_lookup(str s, enum yaml_scalar *ret)
{
    if (s.len > 5)
        return false;
    str bare = s;
    if (s.len > 1 && (s.p[0] == '+' || s.p[0] == '-') && s.p[1] == '.')
        bare = str_sub(s, 1, s.len);
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (!str_eq(bare, words[i].word))
            continue;
        /* A sign goes with infinity only. */
        if (bare.len != s.len && (bare.p[1] | 0x20) != 'i')
            return false;
        *ret = words[i].means;
        return true;
    }
    return false;
}

/* ---- numbers: a sign, then the rest without underscores ---- */

struct number {
    bool negative;
    str body;
};

static int digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

static int base_of(str *body)
{
    if (body->len < 2 || body->p[0] != '0')
        return 10;
    static const struct {
        char letter;
        int base;
    } prefixes[] = {{'x', 16}, {'o', 8}, {'b', 2}};
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if ((body->p[1] | 0x20) == prefixes[i].letter) {
            *body = str_sub(*body, 2, body->len);
            return prefixes[i].base;
        }
    }
    *body = str_sub(*body, 1, body->len);
    return 8;
}

/* False when a digit does not fit the base or the value 64 bits. */
static bool parse_based(str digits, int base, uint64_t *ret)
{
    uint64_t v = 0;
    for (size_t i = 0; i < digits.len; i++) {
        int d = digit_value(digits.p[i]);
        if (d >= base)
            return false;
        if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
            __builtin_add_overflow(v, (uint64_t)d, &v))
            return false;
    }
    *ret = v;
    return digits.len > 0;
}

static bool all_digits(str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!is_digit(s.p[i]))
            return false;
    return s.len > 0;
}

static void emit_digits(const struct number *n, str digits, struct strbuf *json)
{
    while (digits.len > 1 && digits.p[0] == '0')
        digits = str_sub(digits, 1, digits.len);
    if (n->negative && !str_eq(digits, STR("0")))
        strbuf_add_char(json, '-');
    strbuf_add_str(json, digits);
}

static bool number_is_int(const struct number *n, struct strbuf *json)
{
    str digits = n->body;
    int base = base_of(&digits);
    if (base == 10) {
        if (!all_digits(digits))
            return false;
        emit_digits(n, digits, json);
        return true;
    }
    uint64_t v;
    if (!parse_based(digits, base, &v) || (n->negative && v > (uint64_t)INT64_MAX + 1))
        return false;
    if (n->negative && v)
        strbuf_add_char(json, '-');
    strbuf_add_uint(json, v);
    return true;
}

static size_t skip_digits(str s, size_t i)
{
    while (i < s.len && is_digit(s.p[i]))
        i++;
    return i;
}

/* (\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool looks_like_float(str s)
{
    size_t i = skip_digits(s, 0);
    bool whole = i > 0;
    if (i < s.len && s.p[i] == '.') {
        size_t end = skip_digits(s, i + 1);
        if (!whole && end == i + 1)
            return false;
        i = end;
    } else if (!whole) {
        return false;
    }
    if (i < s.len && (s.p[i] | 0x20) == 'e') {
        i++;
        if (i < s.len && (s.p[i] == '+' || s.p[i] == '-'))
            i++;
        size_t end = skip_digits(s, i);
        if (end == i)
            return false;
        i = end;
    }
    return i == s.len;
}

static enum yaml_scalar number_as_float(const struct number *n, struct strbuf *json)
{
    if (!looks_like_float(n->body))
        return YAML_STR;
    if (all_digits(n->body)) { /* 08, or octal digits beyond 64 bits */
        emit_digits(n, n->body, json);
        return YAML_INT;
    }
    /* What no double can hold is text: short commit hashes look like 7e12345. */
    char *text = str_dup(n->body);
    bool fits = isfinite(strtod(text, NULL));
    free(text);
    if (!fits)
        return YAML_STR;
    struct decimal d = decimal_of(n->body);
    d.negative = n->negative;
    decimal_write(d, json);
    return YAML_FLOAT;
}

static enum yaml_scalar resolve_number(str s, struct strbuf *json)
{
    struct strbuf plain = STRBUF_INIT(s.len + 1);
    struct number n = {.negative = s.p[0] == '-'};
    for (size_t i = s.p[0] == '-' || s.p[0] == '+'; i < s.len; i++)
        if (s.p[i] != '_')
            strbuf_add_char(&plain, s.p[i]);
    n.body = strbuf_str(&plain);
    enum yaml_scalar means = YAML_STR;
    if (n.body.len > 0)
        means = number_is_int(&n, json) ? YAML_INT : number_as_float(&n, json);
    strbuf_done(&plain);
    return means;
}

/* Whether each underscore stands between digits: asked of numbers that begin with a dot only. */
static bool underscores_are_inside(str s)
{
    for (size_t i = 1; i < s.len; i++)
        if (s.p[i] == '_' && (!is_digit(s.p[i - 1]) || i + 1 == s.len || !is_digit(s.p[i + 1])))
            return false;
    return true;
}

enum yaml_scalar yaml_resolve(str plain, struct strbuf *json)
{
    enum yaml_scalar means;
    if (word_lookup(plain, &means))
        return means;
    char c = plain.p[0];
    if (!is_digit(c) && c != '+' && c != '-' && c != '.')
        return YAML_STR;
    if (c == '.' && !underscores_are_inside(plain))
        return YAML_STR;
    struct strbuf scratch = STRBUF_INIT(plain.len + 64);
    means = resolve_number(plain, json ? json : &scratch);
    strbuf_done(&scratch);
    return means;
}

/* ---- timestamps ---- */

/* Up to max digits, at least one; returns how many. */
static size_t take_digits(str *s, size_t max)
{
    size_t n = 0;
    while (n < s->len && n < max && is_digit(s->p[n]))
        n++;
    *s = str_sub(*s, n, s->len);
    return n;
}

static bool take_char(str *s, const char *any)
{
    if (s->len == 0 || !strchr(any, s->p[0]))
        return false;
    *s = str_sub(*s, 1, s->len);
    return true;
}

static bool take_zone(str *s)
{
    if (s->len == 0)
        return true;
    while (take_char(s, " "))
        ;
    if (take_char(s, "Z"))
        return s->len == 0;
    return take_char(s, "+-") && take_digits(s, 2) == 2 && take_char(s, ":") &&
           take_digits(s, 2) == 2 && s->len == 0;
}

bool yaml_is_timestamp(str s)
{
    if (take_digits(&s, 4) != 4 || !take_char(&s, "-") || !take_digits(&s, 2) ||
        !take_char(&s, "-") || !take_digits(&s, 2))
        return false;
    if (s.len == 0)
        return true;
    if (!take_char(&s, "Tt "))
        return false;
    if (!take_digits(&s, 2) || !take_char(&s, ":") || !take_digits(&s, 2) || !take_char(&s, ":") ||
        !take_digits(&s, 2))
        return false;
    if (take_char(&s, ".") && !take_digits(&s, 9))
        return false;
    return take_zone(&s);
}
