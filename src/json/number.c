/*
 * Numbers by value. JSON numbers are decimal and unbounded; Kubernetes compares and hashes them by
 * value, and 1.0, 1 and 1e0 are one value. So a number is taken apart into sign, significant
 * digits and the position of the point, exactly, without a detour through double. Nothing here
 * allocates or grows with the exponent.
 */
#include "json/tape.h"

/* Beyond 10^(10^18) numbers with the same digits count as the same. */
#define POINT_MAX ((int64_t)1000000000000000000)

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* The exponent, exact to somewhat beyond POINT_MAX and saturated from there. */
static int64_t exponent_of(const char *p, const char *end)
{
    bool negative = p < end && *p == '-';
    int64_t e = 0;
    if (p < end && (*p == '-' || *p == '+'))
        p++;
    for (; p < end; p++)
        e = e < POINT_MAX / 2 ? e * 10 + (*p - '0') : POINT_MAX * 2;
    return negative ? -e : e;
}

struct decimal decimal_of(str number)
{
    const char *p = number.p, *end = number.p + number.len;
    struct decimal d = {.negative = number.len && *p == '-'};
    p += d.negative;
    const char *first = NULL, *last = NULL; /* significant digits */
    int64_t point = 0;                      /* digits before the point, from the first one */
    bool after_point = false;
    for (; p < end && (is_digit(*p) || *p == '.'); p++) {
        if (*p == '.') {
            after_point = true;
            continue;
        }
        if (*p != '0') {
            first = first ? first : p;
            last = p;
        }
        if (first && !after_point)
            point++;
        else if (!first && after_point)
            point--;
    }
    if (!first)
        return (struct decimal){0};
    d.p = first;
    d.digits = (size_t)(last - first) + 1;
    if (memchr(first, '.', d.digits))
        d.digits--;
    point += p < end ? exponent_of(p + 1, end) : 0;
    d.point = MAX(-POINT_MAX, MIN(point, POINT_MAX));
    return d;
}

/* Steps to the next significant digit. */
static char next_digit(const char **p)
{
    if (**p == '.')
        ++*p;
    return *(*p)++;
}

bool decimal_equal(struct decimal a, struct decimal b)
{
    if (a.negative != b.negative || a.digits != b.digits || a.point != b.point)
        return false;
    const char *pa = a.p, *pb = b.p;
    for (size_t i = 0; i < a.digits; i++)
        if (next_digit(&pa) != next_digit(&pb))
            return false;
    return true;
}

bool decimal_to_int(struct decimal d, int64_t *ret)
{
    if (d.digits == 0) {
        *ret = 0;
        return true;
    }
    if (d.point < (int64_t)d.digits || d.point > 19)
        return false;
    uint64_t v = 0;
    const char *p = d.p;
    for (int64_t i = 0; i < d.point; i++) {
        uint64_t digit = i < (int64_t)d.digits ? (uint64_t)(next_digit(&p) - '0') : 0;
        if (__builtin_mul_overflow(v, (uint64_t)10, &v) || __builtin_add_overflow(v, digit, &v))
            return false;
    }
    uint64_t limit = (uint64_t)INT64_MAX + d.negative;
    if (v > limit)
        return false;
    *ret = d.negative ? (int64_t)-v : (int64_t)v;
    return true;
}

static void add_zeros(struct strbuf *out, int64_t n)
{
    while (n-- > 0)
        strbuf_add_char(out, '0');
}

/* All digits, with a point after the first `before` of them (none when that is all). */
static void add_digits(struct decimal d, int64_t before, struct strbuf *out)
{
    const char *p = d.p;
    for (size_t i = 0; i < d.digits; i++) {
        if ((int64_t)i == before)
            strbuf_add_char(out, '.');
        strbuf_add_char(out, next_digit(&p));
    }
}

void decimal_write(struct decimal d, struct strbuf *out)
{
    if (d.digits == 0) {
        strbuf_add_char(out, '0');
        return;
    }
    if (d.negative)
        strbuf_add_char(out, '-');
    if (d.point > 21 || d.point < -5) {
        add_digits(d, 1, out);
        strbuf_add_char(out, 'e');
        strbuf_add_int(out, d.point - 1);
    } else if (d.point > 0) {
        add_digits(d, d.point, out);
        add_zeros(out, d.point - (int64_t)d.digits);
    } else {
        strbuf_add_cstr(out, "0.");
        add_zeros(out, -d.point);
        add_digits(d, -1, out);
    }
}
