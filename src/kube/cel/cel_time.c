/* CEL: instants (microseconds since 1970) and spans of time (nanoseconds), in UTC. */
#include "base/timefmt.h"
#include "kube/cel/cel_impl.h"

CEL_FN(cel_f_timestamp)
{
    struct cel_value v = {.type = CEL_TIMESTAMP};
    if (a->type == CEL_TIMESTAMP)
        return *a;
    bool ok = a->type == CEL_INT ? !__builtin_mul_overflow(a->i, USEC_PER_SEC, &v.i)
                                 : time_parse_rfc3339(a->s, &v.i);
    return ok ? v
              : cel_failure(e, "type conversion error from 'string' to "
                               "'google.protobuf.Timestamp'");
}

CEL_FN(cel_f_duration)
{
    struct cel_value v = {.type = CEL_DURATION};
    if (a->type == CEL_DURATION)
        return *a;
    return duration_parse(a->s, &v.i) ? v
                                      : cel_failure(e, "type conversion error from 'string' to "
                                                       "'google.protobuf.Duration'");
}

/* ---- parts of an instant ---- */

struct date {
    int64_t year;
    int month, day; /* from 1 */
    int year_day;   /* from 0 */
    int week_day;   /* 0: Sunday */
};

static bool is_leap(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

/* By days since the 1st of March of the year 0, of which 400 years have the same number. */
static struct date date_of(usec wall)
{
    int64_t days = wall / USEC_PER_DAY - (wall % USEC_PER_DAY < 0);
    int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, doe = z - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    struct date d = {
        .month = (int)(mp < 10 ? mp + 3 : mp - 9),
        .day = (int)(doy - (153 * mp + 2) / 5 + 1),
        .week_day = (int)(((days + 4) % 7 + 7) % 7),
    };
    d.year = yoe + era * 400 + (d.month <= 2);
    d.year_day = (int)(d.month <= 2 ? doy - 306 : doy + 59 + is_leap(d.year));
    return d;
}

CEL_FN(cel_f_year)
{
    return of_int(date_of(a->i).year);
}

CEL_FN(cel_f_month)
{
    return of_int(date_of(a->i).month - 1);
}

CEL_FN(cel_f_day)
{
    return of_int(date_of(a->i).day - 1);
}

CEL_FN(cel_f_date)
{
    return of_int(date_of(a->i).day);
}

CEL_FN(cel_f_week_day)
{
    return of_int(date_of(a->i).week_day);
}

CEL_FN(cel_f_year_day)
{
    return of_int(date_of(a->i).year_day);
}

/* So many units, of those in the next larger one. */
static struct cel_value part(const struct cel_value *a, usec unit, int64_t of)
{
    int64_t in_day = (a->i % USEC_PER_DAY + USEC_PER_DAY) % USEC_PER_DAY;
    return of_int(in_day / unit % of);
}

CEL_FN(cel_f_hours)
{
    return part(a, USEC_PER_HOUR, 24);
}

CEL_FN(cel_f_minutes)
{
    return part(a, USEC_PER_MIN, 60);
}

CEL_FN(cel_f_seconds)
{
    return part(a, USEC_PER_SEC, 60);
}

CEL_FN(cel_f_millis)
{
    return part(a, USEC_PER_MSEC, 1000);
}

/* ---- spans ---- */

CEL_FN(cel_f_span_hours)
{
    return of_int(a->i / (3600 * NSEC_PER_SEC));
}

CEL_FN(cel_f_span_minutes)
{
    return of_int(a->i / (60 * NSEC_PER_SEC));
}

CEL_FN(cel_f_span_seconds)
{
    return of_int(a->i / NSEC_PER_SEC);
}

CEL_FN(cel_f_span_millis)
{
    return of_int(a->i / (NSEC_PER_SEC / 1000));
}
