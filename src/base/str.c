/*
 * Slices: searching, cutting, numbers, UTF-8 and the names Kubernetes allows. All pure; none
 * allocates except str_dup.
 */
#include "base/str.h"

#include "base/xxh.h"

enum { DNS_LABEL_MAX = 63, DNS_SUBDOMAIN_MAX = 253 };

int str_cmp(str a, str b)
{
    size_t n = MIN(a.len, b.len);
    int c = n ? memcmp(a.p, b.p, n) : 0;
    if (c)
        return c < 0 ? -1 : 1;
    return (a.len > b.len) - (a.len < b.len);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The digits at *at, without zeros in front; *at is moved behind them. */
static str take_digits(str s, size_t *at)
{
    size_t from;
    while (*at < s.len && s.p[*at] == '0')
        ++*at;
    from = *at;
    while (*at < s.len && is_digit(s.p[*at]))
        ++*at;
    return str_sub(s, from, *at);
}

int str_cmp_counted(str a, str b)
{
    size_t i = 0, k = 0;
    while (i < a.len && k < b.len) {
        if (!is_digit(a.p[i]) || !is_digit(b.p[k])) {
            if (a.p[i] != b.p[k])
                return (unsigned char)a.p[i] < (unsigned char)b.p[k] ? -1 : 1;
            i++;
            k++;
            continue;
        }
        str x = take_digits(a, &i), y = take_digits(b, &k);
        int c = x.len != y.len ? (x.len < y.len ? -1 : 1) : str_cmp(x, y);
        if (c)
            return c;
    }
    return i < a.len ? 1 : k < b.len ? -1 : str_cmp(a, b);
}

bool str_starts(str s, str prefix)
{
    return s.len >= prefix.len && str_eq(str_sub(s, 0, prefix.len), prefix);
}

bool str_ends(str s, str suffix)
{
    return s.len >= suffix.len && str_eq(str_sub(s, s.len - suffix.len, s.len), suffix);
}

ptrdiff_t str_find(str s, str needle)
{
    if (needle.len == 0)
        return 0;
    if (needle.len > s.len)
        return -1;
    const char *at = memmem(s.p, s.len, needle.p, needle.len);
    return at ? at - s.p : -1;
}

ptrdiff_t str_find_char(str s, char c)
{
    const char *at = s.len ? memchr(s.p, c, s.len) : NULL;
    return at ? at - s.p : -1;
}

ptrdiff_t str_rfind_char(str s, char c)
{
    const char *at = s.len ? memrchr(s.p, c, s.len) : NULL;
    return at ? at - s.p : -1;
}

str str_sub(str s, size_t from, size_t to)
{
    to = MIN(to, s.len);
    from = MIN(from, to);
    return s.p ? str_n(s.p + from, to - from) : STR_NONE;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

str str_trim(str s)
{
    size_t from = 0, to = s.len;
    while (from < to && is_space(s.p[from]))
        from++;
    while (to > from && is_space(s.p[to - 1]))
        to--;
    return str_sub(s, from, to);
}

str str_cut(str *rest, char sep)
{
    str all = *rest;
    ptrdiff_t at = str_find_char(all, sep);
    if (at < 0) {
        *rest = STR_NONE;
        return all;
    }
    *rest = str_sub(all, (size_t)at + 1, all.len);
    return str_sub(all, 0, (size_t)at);
}

bool str_to_uint(str s, uint64_t *ret)
{
    uint64_t v = 0;
    if (s.len == 0)
        return false;
    for (size_t i = 0; i < s.len; i++) {
        unsigned digit = (unsigned)(unsigned char)s.p[i] - '0';
        if (digit > 9 || __builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    *ret = v;
    return true;
}

bool str_to_int(str s, int64_t *ret)
{
    bool negative = s.len > 0 && s.p[0] == '-';
    uint64_t v;
    if (!str_to_uint(negative ? str_sub(s, 1, s.len) : s, &v))
        return false;
    if (v > (uint64_t)INT64_MAX + negative)
        return false;
    *ret = (int64_t)(negative ? 0 - v : v);
    return true;
}

/* Length of the well-formed sequence at p (Unicode table 3-7: no overlong forms, no surrogates,
 * nothing above U+10FFFF), or 0. */
static size_t utf8_sequence(const unsigned char *p, size_t n)
{
    unsigned char c = p[0], low = 0x80, high = 0xbf;
    size_t len = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (len < 2 || len > n)
        return len == 1;
    if (c == 0xe0)
        low = 0xa0;
    else if (c == 0xed)
        high = 0x9f;
    else if (c == 0xf0)
        low = 0x90;
    else if (c == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++) {
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
    }
    return len;
}

size_t str_digits(char *end, uint64_t v)
{
    char *p = end;
    do
        *--p = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    return (size_t)(end - p);
}

bool str_is_utf8(str s)
{
    const unsigned char *p = (const unsigned char *)s.p;
    size_t i = 0;
    while (i < s.len) {
        /* Eight ASCII bytes at a time: nearly all we see. */
        uint64_t word;
        if (s.len - i >= sizeof(word)) {
            memcpy(&word, p + i, sizeof(word));
            if (!(word & 0x8080808080808080u)) {
                i += sizeof(word);
                continue;
            }
        }
        size_t n = utf8_sequence(p + i, s.len - i);
        if (n == 0)
            return false;
        i += n;
    }
    return true;
}

uint64_t str_hash(str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.p ? s.p : "", s.len, seed);
}

uint64_t str_hash_sample(str s, uint64_t seed)
{
    enum { SAMPLE = 192 };
    if (s.len <= 3 * SAMPLE)
        return str_hash(s, seed);
    uint64_t h = seed + s.len;
    for (size_t i = 0; i < 3; i++)
        h = str_hash(str_n(s.p + (s.len - SAMPLE) / 2 * i, SAMPLE), h);
    return h;
}

char *str_dup(str s)
{
    char *p = xmalloc(s.len + 1);
    if (s.len)
        memcpy(p, s.p, s.len);
    p[s.len] = '\0';
    return p;
}

/* --- names --- */

enum { CH_LOWER = 1, CH_UPPER = 2, CH_DIGIT = 4, CH_DASH = 8, CH_DOT_UNDERSCORE = 16 };

static unsigned char_class(char c)
{
    if (c >= 'a' && c <= 'z')
        return CH_LOWER;
    if (c >= 'A' && c <= 'Z')
        return CH_UPPER;
    if (c >= '0' && c <= '9')
        return CH_DIGIT;
    if (c == '-')
        return CH_DASH;
    return c == '.' || c == '_' ? CH_DOT_UNDERSCORE : 0;
}

/* 1 to max characters; first, inner and last character from the given classes. */
static bool is_name(str s, size_t max, unsigned first, unsigned inner, unsigned last)
{
    if (s.len == 0 || s.len > max)
        return false;
    if (!(char_class(s.p[0]) & first) || !(char_class(s.p[s.len - 1]) & last))
        return false;
    for (size_t i = 1; i + 1 < s.len; i++) {
        if (!(char_class(s.p[i]) & inner))
            return false;
    }
    return true;
}

bool str_is_dns1123_label(str s)
{
    unsigned end = CH_LOWER | CH_DIGIT;
    return is_name(s, DNS_LABEL_MAX, end, end | CH_DASH, end);
}

bool str_is_dns1035_label(str s)
{
    unsigned end = CH_LOWER | CH_DIGIT;
    return is_name(s, DNS_LABEL_MAX, CH_LOWER, end | CH_DASH, end);
}

bool str_is_dns1123_subdomain(str s)
{
    unsigned end = CH_LOWER | CH_DIGIT;
    if (s.len == 0 || s.len > DNS_SUBDOMAIN_MAX)
        return false;
    /* Kubernetes limits the whole name, not each of its labels. */
    do {
        if (!is_name(str_cut(&s, '.'), DNS_SUBDOMAIN_MAX, end, end | CH_DASH, end))
            return false;
    } while (s.p);
    return true;
}

static bool is_label_name(str s)
{
    unsigned end = CH_LOWER | CH_UPPER | CH_DIGIT;
    return is_name(s, DNS_LABEL_MAX, end, end | CH_DASH | CH_DOT_UNDERSCORE, end);
}

bool str_is_label_value(str s)
{
    return s.len == 0 || is_label_name(s);
}

bool str_is_qualified_name(str s)
{
    ptrdiff_t slash = str_find_char(s, '/');
    if (slash < 0)
        return is_label_name(s);
    return str_is_dns1123_subdomain(str_sub(s, 0, (size_t)slash)) &&
           is_label_name(str_sub(s, (size_t)slash + 1, s.len));
}
