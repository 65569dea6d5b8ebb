/*
 * A quantity is digits * 10^exponent * 2^shift. Parsing moves the decimal point by the exponent and
 * lets unit = 2^shift * 10^9 nano be the worth of a 1 before it. Digits before the point are summed
 * from the left with overflow checks; digits after it from the right, dividing by ten at each step:
 * nested floor division is exact, and any remainder on the way means the value lies above the
 * floor and is rounded up. So no intermediate needs more than 128 bits.
 *
 * Stricter or more exact than Kubernetes in three places: a quantity without a digit ("m", "+") is
 * refused, a binary one above 2^63 - 1 is kept and not cut down to that, and the text is always
 * canonical ("1.500" is "1500m", where Kubernetes now and then gives the user's text back).
 */
#include "base/quantity.h"

#define NANO ((__int128)1000000000)
#define INT128_MAX ((__int128)(((unsigned __int128)1 << 127) - 1))

enum { EXPONENT_LIMIT = 1000000, SI_EXPONENT_MAX = 18, BINARY_STEPS_MAX = 6 };

struct suffix {
    int exponent; /* of ten */
    int shift;    /* power of two */
    enum quantity_format format;
};

/* In order of exponent, from 10^-9 in steps of 10^3. */
static const char decimal_suffixes[][2] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
static const char binary_suffixes[][3] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* --- parsing --- */

static bool parse_exponent(str s, struct suffix *ret)
{
    if (s.len < 2 || (s.p[0] != 'e' && s.p[0] != 'E'))
        return false;
    s = str_sub(s, s.p[1] == '+' ? 2 : 1, s.len);
    int64_t e;
    if (!str_to_int(s, &e) || e > EXPONENT_LIMIT || e < -EXPONENT_LIMIT)
        return false;
    *ret = (struct suffix){(int)e, 0, QUANTITY_DECIMAL_EXPONENT};
    return true;
}

static bool parse_suffix(str s, struct suffix *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(decimal_suffixes); i++) {
        if (str_is(s, decimal_suffixes[i])) {
            *ret = (struct suffix){(int)i * 3 - 9, 0, QUANTITY_DECIMAL_SI};
            return true;
        }
    }
    for (size_t i = 1; i < ARRAY_LEN(binary_suffixes); i++) {
        if (str_is(s, binary_suffixes[i])) {
            *ret = (struct suffix){0, (int)i * 10, QUANTITY_BINARY_SI};
            return true;
        }
    }
    return parse_exponent(s, ret);
}

/* The decimal digits on both sides of the point as written; the exponent moves it later. */
struct digits {
    str whole, fraction;
};

static unsigned digit_at(const struct digits *d, size_t i)
{
    bool before = i < d->whole.len;
    const char *digits = before ? d->whole.p : d->fraction.p;
    BUG_ON(!digits); /* i is below the number of digits */
    return (unsigned)(digits[before ? i : i - d->whole.len] - '0');
}

/* Digits before the point, as a number; zeros follow where the point moved past the last one. */
static bool sum_before_point(const struct digits *d, int64_t point, __int128 *ret)
{
    size_t total = d->whole.len + d->fraction.len;
    __int128 v = 0;
    for (int64_t i = 0; i < point; i++) {
        bool past_end = (uint64_t)i >= total;
        if (past_end && v == 0)
            break;
        unsigned digit = past_end ? 0 : digit_at(d, (size_t)i);
        if (__builtin_mul_overflow(v, (__int128)10, &v) ||
            __builtin_add_overflow(v, (__int128)digit, &v))
            return false;
    }
    *ret = v;
    return true;
}

/* Worth of the digits after the point in nano, rounded up; less than or equal to unit. */
static __int128 sum_after_point(const struct digits *d, int64_t point, __int128 unit)
{
    size_t total = d->whole.len + d->fraction.len;
    __int128 v = 0;
    bool inexact = false;
    for (size_t i = total; i > 0 && (int64_t)i > point; i--) {
        v += unit * (__int128)digit_at(d, i - 1);
        inexact |= v % 10 != 0;
        v /= 10;
    }
    for (; point < 0 && v > 0; point++) {
        inexact |= v % 10 != 0;
        v /= 10;
    }
    return v + inexact;
}

static bool evaluate(const struct digits *d, const struct suffix *s, __int128 *ret)
{
    int64_t point = (int64_t)d->whole.len + s->exponent;
    __int128 unit = NANO << s->shift;
    __int128 whole;
    return sum_before_point(d, point, &whole) && !__builtin_mul_overflow(whole, unit, &whole) &&
           !__builtin_add_overflow(whole, sum_after_point(d, point, unit), ret);
}

/* What Kubernetes' first, permissive look at a quantity lets through as a suffix. */
static bool is_suffix_shaped(str s)
{
    size_t i = 0;
    while (i < s.len && str_find_char(STR("eEinumkKMGTP"), s.p[i]) >= 0)
        i++;
    if (i < s.len && (s.p[i] == '-' || s.p[i] == '+'))
        i++;
    while (i < s.len && is_digit(s.p[i]))
        i++;
    return i == s.len;
}

static str take_digits(str *s)
{
    size_t n = 0;
    while (n < s->len && is_digit(s->p[n]))
        n++;
    str digits = str_sub(*s, 0, n);
    *s = str_sub(*s, n, s->len);
    return digits;
}

int quantity_parse(str s, struct quantity *ret, struct err *err)
{
    str rest = s;
    bool negative = rest.len > 0 && rest.p[0] == '-';
    if (negative || (rest.len > 0 && rest.p[0] == '+'))
        rest = str_sub(rest, 1, rest.len);
    struct digits d = {.whole = take_digits(&rest)};
    if (rest.len > 0 && rest.p[0] == '.') {
        rest = str_sub(rest, 1, rest.len);
        d.fraction = take_digits(&rest);
    }
    if (d.whole.len + d.fraction.len == 0 || !is_suffix_shaped(rest))
        return err_set(err, ERR_INVALID,
                       "quantities must match the regular expression "
                       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
    struct suffix suffix;
    if (!parse_suffix(rest, &suffix))
        return err_set(err, ERR_INVALID, "unable to parse quantity's suffix");
    __int128 nano;
    if (!evaluate(&d, &suffix, &nano))
        return err_set(err, ERR_INVALID, "quantity is too large: the limit is about 1.7e29");
    /* Kubernetes: a binary quantity below one is shown in decimal to avoid rounding. */
    if (suffix.format == QUANTITY_BINARY_SI && !negative && nano > 0 && nano < NANO)
        suffix.format = QUANTITY_DECIMAL_SI;
    *ret = (struct quantity){negative ? -nano : nano, suffix.format};
    return 0;
}

bool quantity_is_valid(str s)
{
    struct quantity q;
    return quantity_parse(s, &q, NULL) == 0;
}

/* --- writing --- */

static void add_int128(struct strbuf *b, __int128 v)
{
    char text[41];
    size_t i = sizeof(text);
    unsigned __int128 u = v < 0 ? 0 - (unsigned __int128)v : (unsigned __int128)v;
    do
        text[--i] = (char)('0' + (char)(u % 10));
    while ((u /= 10) > 0);
    if (v < 0)
        text[--i] = '-';
    strbuf_add(b, text + i, sizeof(text) - i);
}

static void write_decimal(__int128 v, bool si, struct strbuf *b)
{
    int exponent = -9;
    while (v % 1000 == 0) {
        v /= 1000;
        exponent += 3;
    }
    add_int128(b, v);
    /* There is no suffix above exa; Kubernetes goes on with an exponent. */
    if (si && exponent <= SI_EXPONENT_MAX)
        strbuf_add_cstr(b, decimal_suffixes[(exponent + 9) / 3]);
    else if (exponent != 0)
        strbuf_printf(b, "e%d", exponent);
}

static void write_binary(__int128 v, struct strbuf *b)
{
    size_t steps = 0;
    while (v % 1024 == 0 && steps < BINARY_STEPS_MAX) {
        v /= 1024;
        steps++;
    }
    add_int128(b, v);
    strbuf_add_cstr(b, binary_suffixes[steps]);
}

void quantity_write(const struct quantity *q, struct strbuf *b)
{
    bool small = q->nano > -1024 * NANO && q->nano < 1024 * NANO;
    if (q->nano == 0)
        strbuf_add_char(b, '0');
    else if (q->format == QUANTITY_BINARY_SI && !small && q->nano % NANO == 0)
        write_binary(q->nano / NANO, b);
    else
        write_decimal(q->nano, q->format != QUANTITY_DECIMAL_EXPONENT, b);
}

/* --- arithmetic --- */

struct quantity quantity_from_value(int64_t value, enum quantity_format format)
{
    return (struct quantity){value * NANO, format};
}

struct quantity quantity_from_milli(int64_t milli, enum quantity_format format)
{
    return (struct quantity){milli * (NANO / 1000), format};
}

int quantity_cmp(const struct quantity *a, const struct quantity *b)
{
    return (a->nano > b->nano) - (a->nano < b->nano);
}

int quantity_sign(const struct quantity *q)
{
    return (q->nano > 0) - (q->nano < 0);
}

/* The range is symmetric, so that a negated quantity always fits. */
static bool set_nano(struct quantity *q, bool overflow, __int128 nano)
{
    if (overflow || nano < -INT128_MAX)
        return false;
    q->nano = nano;
    return true;
}

bool quantity_add(struct quantity *a, const struct quantity *b)
{
    __int128 sum;
    if (a->nano == 0)
        a->format = b->format;
    bool overflow = __builtin_add_overflow(a->nano, b->nano, &sum);
    return set_nano(a, overflow, sum);
}

bool quantity_sub(struct quantity *a, const struct quantity *b)
{
    struct quantity minus = {-b->nano, b->format};
    return quantity_add(a, &minus);
}

bool quantity_mul(struct quantity *a, int64_t factor)
{
    __int128 product;
    bool overflow = __builtin_mul_overflow(a->nano, (__int128)factor, &product);
    return set_nano(a, overflow, product);
}

static int64_t scaled(__int128 nano, __int128 unit)
{
    __int128 v = nano / unit;
    if (nano % unit != 0)
        v += nano > 0 ? 1 : -1;
    return v > INT64_MAX ? INT64_MAX : v < INT64_MIN ? INT64_MIN : (int64_t)v;
}

int64_t quantity_value(const struct quantity *q)
{
    return scaled(q->nano, NANO);
}

int64_t quantity_milli(const struct quantity *q)
{
    return scaled(q->nano, NANO / 1000);
}
