/*
 * Calendar arithmetic is done on days since 1970 in the proleptic Gregorian calendar, with years
 * that start in March so that the leap day is the last of its year. No libc time functions: they
 * read the time zone and the locale.
 */
#include "base/timefmt.h"

struct civil {
    int64_t year;
    int month, day; /* from 1 */
};

/* 0000-01-01 and 9999-12-31T23:59:59.999999: what four digits of year can say. */
#define WALL_MIN (-62167219200 * USEC_PER_SEC)
#define WALL_MAX (253402300800 * USEC_PER_SEC - 1)

enum { DAYS_PER_ERA = 146097, DAYS_TO_EPOCH = 719468 }; /* 400 years; 0000-03-01 to 1970-01-01 */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t days_from_civil(struct civil c)
{
    int64_t y = c.month <= 2 ? c.year - 1 : c.year;
    int64_t era = floor_div(y, 400);
    int64_t year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (c.month + (c.month > 2 ? -3 : 9)) + 2) / 5 + c.day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * DAYS_PER_ERA + day_of_era - DAYS_TO_EPOCH;
}

static struct civil civil_from_days(int64_t days)
{
    int64_t z = days + DAYS_TO_EPOCH;
    int64_t era = floor_div(z, DAYS_PER_ERA);
    int64_t doe = z - era * DAYS_PER_ERA;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int mp = (int)((5 * doy + 2) / 153);
    int month = mp < 10 ? mp + 3 : mp - 9;
    int day = (int)(doy - (153 * mp + 2) / 5) + 1;
    return (struct civil){yoe + era * 400 + (month <= 2), month, day};
}

static int days_in_month(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* n digits of v ending before `end`. */
static void put_digits(char *end, int n, int64_t v)
{
    while (n-- > 0) {
        *--end = (char)('0' + v % 10);
        v /= 10;
    }
}

/* Not printf: every log line, event and status write passes here. */
static void format_seconds(usec wall, struct strbuf *b)
{
    char text[] = "0000-00-00T00:00:00";
    int64_t sec = floor_div(wall, USEC_PER_SEC);
    int64_t days = floor_div(sec, 86400);
    int64_t in_day = sec - days * 86400;
    struct civil c = civil_from_days(days);
    put_digits(text + 4, 4, c.year);
    put_digits(text + 7, 2, c.month);
    put_digits(text + 10, 2, c.day);
    put_digits(text + 13, 2, in_day / 3600);
    put_digits(text + 16, 2, in_day / 60 % 60);
    put_digits(text + 19, 2, in_day % 60);
    strbuf_add(b, text, sizeof(text) - 1);
}

static usec clamp_wall(usec wall)
{
    return MIN(MAX(wall, WALL_MIN), WALL_MAX);
}

void time_format_rfc3339(usec wall, struct strbuf *b)
{
    format_seconds(clamp_wall(wall), b);
    strbuf_add_char(b, 'Z');
}

str time_text(struct arena *a, usec wall)
{
    struct strbuf text = STRBUF_INIT(64);
    time_format_rfc3339(wall, &text);
    str copy = arena_str(a, strbuf_str(&text));
    strbuf_done(&text);
    return copy;
}

void time_format_micro(usec wall, struct strbuf *b)
{
    char fraction[] = ".000000Z";
    wall = clamp_wall(wall);
    put_digits(fraction + 7, 6, wall - floor_div(wall, USEC_PER_SEC) * USEC_PER_SEC);
    format_seconds(wall, b);
    strbuf_add(b, fraction, sizeof(fraction) - 1);
}

/* --- parsing --- */

/* Takes exactly n digits off the front. */
static bool take_digits(str *s, size_t n, int *ret)
{
    int v = 0;
    if (s->len < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s->p[i] < '0' || s->p[i] > '9')
            return false;
        v = v * 10 + (s->p[i] - '0');
    }
    *s = str_sub(*s, n, s->len);
    *ret = v;
    return true;
}

static bool take_char(str *s, char c)
{
    if (s->len == 0 || s->p[0] != c)
        return false;
    *s = str_sub(*s, 1, s->len);
    return true;
}

static bool take_date(str *s, struct civil *ret)
{
    int year, month, day;
    if (!take_digits(s, 4, &year) || !take_char(s, '-') || !take_digits(s, 2, &month) ||
        !take_char(s, '-') || !take_digits(s, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return false;
    *ret = (struct civil){year, month, day};
    return true;
}

/* hh:mm as seconds. */
static bool take_hour_minute(str *s, int *ret_sec)
{
    int hour, minute;
    if (!take_digits(s, 2, &hour) || !take_char(s, ':') || !take_digits(s, 2, &minute))
        return false;
    *ret_sec = hour * 3600 + minute * 60;
    return hour <= 23 && minute <= 59;
}

/* Digits after a '.', cut to microseconds; at least one. */
static bool take_fraction(str *s, usec *ret)
{
    usec unit = USEC_PER_SEC, v = 0;
    int digit;
    bool any = false;
    while (take_digits(s, 1, &digit)) {
        unit /= 10;
        v += unit * digit;
        any = true;
    }
    *ret = v;
    return any;
}

static bool take_offset(str *s, int *ret_sec)
{
    *ret_sec = 0;
    if (take_char(s, 'Z'))
        return true;
    bool west = s->len > 0 && s->p[0] == '-';
    if (!take_char(s, west ? '-' : '+') || !take_hour_minute(s, ret_sec))
        return false;
    if (west)
        *ret_sec = -*ret_sec;
    return true;
}

bool time_parse_rfc3339(str s, usec *ret)
{
    struct civil date;
    int in_day, second, offset;
    usec fraction = 0;
    if (!take_date(&s, &date) || !take_char(&s, 'T') || !take_hour_minute(&s, &in_day) ||
        !take_char(&s, ':') || !take_digits(&s, 2, &second) || second > 59)
        return false;
    if (take_char(&s, '.') && !take_fraction(&s, &fraction))
        return false;
    if (!take_offset(&s, &offset) || s.len > 0)
        return false;
    int64_t sec = days_from_civil(date) * 86400 + in_day + second - offset;
    *ret = sec * USEC_PER_SEC + fraction;
    return true;
}

/* --- ages --- */

void time_format_age(usec delta, struct strbuf *b)
{
    /* Below `until` seconds, so many `big` units and, unless 0, the rest in `small` units. */
    static const struct {
        int64_t until, big, small;
        char big_name, small_name;
    } rows[] = {
        {120, 1, 0, 's', 0},
        {600, 60, 1, 'm', 's'},
        {3 * 3600, 60, 0, 'm', 0},
        {8 * 3600, 3600, 60, 'h', 'm'},
        {48 * 3600, 3600, 0, 'h', 0},
        {8 * 86400, 86400, 3600, 'd', 'h'},
        {2 * 365 * 86400, 86400, 0, 'd', 0},
        {8 * 365 * 86400, 365 * 86400, 86400, 'y', 'd'},
        {INT64_MAX, 365 * 86400, 0, 'y', 0},
    };
    int64_t sec = delta / USEC_PER_SEC;
    if (sec < -1) {
        strbuf_add_cstr(b, "<invalid>");
        return;
    }
    sec = MAX(sec, (int64_t)0);
    size_t i = 0;
    while (sec >= rows[i].until)
        i++;
    strbuf_printf(b, "%lld%c", (long long)(sec / rows[i].big), rows[i].big_name);
    int64_t rest = rows[i].small ? sec % rows[i].big / rows[i].small : 0;
    if (rest)
        strbuf_printf(b, "%lld%c", (long long)rest, rows[i].small_name);
}

/* --- Go durations --- */

static const struct {
    str name;
    uint64_t nsec;
} duration_units[] = {
    {STR_INIT("ns"), 1},
    {STR_INIT("us"), 1000},
    {STR_INIT("\xc2\xb5s"), 1000}, /* micro sign */
    {STR_INIT("\xce\xbcs"), 1000}, /* Greek mu */
    {STR_INIT("ms"), 1000000},
    {STR_INIT("s"), 1000000000},
    {STR_INIT("m"), 60 * 1000000000ull},
    {STR_INIT("h"), 3600 * 1000000000ull},
};

/* The unit runs to the next digit or dot. */
static bool take_unit(str *s, uint64_t *ret)
{
    size_t n = 0;
    while (n < s->len && s->p[n] != '.' && (s->p[n] < '0' || s->p[n] > '9'))
        n++;
    str name = str_sub(*s, 0, n);
    *s = str_sub(*s, n, s->len);
    for (size_t i = 0; i < ARRAY_LEN(duration_units); i++) {
        if (str_eq(name, duration_units[i].name)) {
            *ret = duration_units[i].nsec;
            return true;
        }
    }
    return false;
}

/* One "12.5s" of a duration, in nanoseconds. */
static bool take_duration_part(str *s, uint64_t *ret)
{
    uint64_t whole = 0, fraction = 0, scale = 1, unit;
    bool any = false;
    int digit;
    while (take_digits(s, 1, &digit)) {
        if (__builtin_mul_overflow(whole, 10u, &whole) ||
            __builtin_add_overflow(whole, (unsigned)digit, &whole))
            return false;
        any = true;
    }
    if (take_char(s, '.')) {
        while (take_digits(s, 1, &digit)) {
            any = true;
            if (scale >= 1000000000000000000u) /* more digits than nanoseconds can show */
                continue;
            fraction = fraction * 10 + (unsigned)digit;
            scale *= 10;
        }
    }
    if (!any || !take_unit(s, &unit) || __builtin_mul_overflow(whole, unit, &whole))
        return false;
    uint64_t part = (uint64_t)((unsigned __int128)fraction * unit / scale);
    return !__builtin_add_overflow(whole, part, ret);
}

bool duration_parse(str s, int64_t *ret_nsec)
{
    bool negative = take_char(&s, '-');
    if (!negative)
        (void)take_char(&s, '+');
    if (str_is(s, "0")) {
        *ret_nsec = 0;
        return true;
    }
    uint64_t total = 0;
    do {
        uint64_t part;
        if (!take_duration_part(&s, &part) || __builtin_add_overflow(total, part, &total))
            return false;
    } while (s.len > 0);
    if (total > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_nsec = (int64_t)(negative ? 0 - total : total);
    return true;
}

bool duration_parse_usec(str s, usec *ret)
{
    int64_t nsec;
    if (!duration_parse(s, &nsec))
        return false;
    *ret = nsec / NSEC_PER_USEC;
    return true;
}

/* value / 10^places without trailing zeros, then the unit. */
static void add_decimal(struct strbuf *b, uint64_t value, int places, const char *unit)
{
    uint64_t scale = 1;
    for (int i = 0; i < places; i++)
        scale *= 10;
    uint64_t fraction = value % scale;
    while (places > 0 && fraction % 10 == 0) {
        fraction /= 10;
        places--;
    }
    strbuf_add_uint(b, value / scale);
    if (places > 0)
        strbuf_printf(b, ".%0*llu", places, (unsigned long long)fraction);
    strbuf_add_cstr(b, unit);
}

void duration_format(int64_t nsec, struct strbuf *b)
{
    uint64_t n = nsec < 0 ? 0 - (uint64_t)nsec : (uint64_t)nsec;
    if (n == 0) {
        strbuf_add_cstr(b, "0s");
        return;
    }
    if (nsec < 0)
        strbuf_add_char(b, '-');
    if (n < 1000)
        add_decimal(b, n, 0, "ns");
    else if (n < 1000000)
        add_decimal(b, n, 3, "\xc2\xb5s");
    else if (n < 1000000000)
        add_decimal(b, n, 6, "ms");
    else {
        uint64_t minutes = n / 60000000000u;
        if (minutes >= 60)
            strbuf_printf(b, "%lluh", (unsigned long long)(minutes / 60));
        if (minutes > 0)
            strbuf_printf(b, "%llum", (unsigned long long)(minutes % 60));
        add_decimal(b, n % 60000000000u, 9, "s");
    }
}

void duration_format_usec(usec d, struct strbuf *b)
{
    int64_t nsec;
    /* Beyond 292 years there is no Go duration: the nearest one. */
    if (__builtin_mul_overflow(d, NSEC_PER_USEC, &nsec))
        nsec = d < 0 ? INT64_MIN : INT64_MAX;
    duration_format(nsec, b);
}
