/*
 * Time as text: RFC 3339 instants, the ages kubectl prints and Go durations. Pure functions; the
 * clock itself belongs to the loop.
 */
#ifndef BASE_TIMEFMT_H
#define BASE_TIMEFMT_H

#include "base/arena.h"
#include "base/strbuf.h"

/* Microseconds: since 1970 UTC for a wall time, otherwise a length of time. */
typedef int64_t usec;

#define USEC_PER_MSEC ((usec)1000)
#define USEC_PER_SEC ((usec)1000000)
#define USEC_PER_MIN (60 * USEC_PER_SEC)
#define USEC_PER_HOUR (60 * USEC_PER_MIN)
#define USEC_PER_DAY (24 * USEC_PER_HOUR)
#define NSEC_PER_USEC ((int64_t)1000)
#define NSEC_PER_SEC ((int64_t)1000000000)

/* "2026-11-15T21:35:02Z" (metav1.Time): whole seconds, rounded down. Years outside 0..9999 are
 * clamped, so the text is always valid. */
void time_format_rfc3339(usec wall, struct strbuf *b);
/* The same, as a text in the arena. */
str time_text(struct arena *a, usec wall);
/* "2026-11-15T21:35:02.123456Z" (metav1.MicroTime). */
void time_format_micro(usec wall, struct strbuf *b);
/* Fractions (cut to microseconds) and offsets are accepted, nothing else beyond the RFC. */
bool time_parse_rfc3339(str s, usec *ret);

/* As `kubectl get` prints ages: "5s", "2m7s", "19h", "3d4h"; "<invalid>" from -2s down. */
void time_format_age(usec delta, struct strbuf *b);

/* Go's time.ParseDuration: "4h", "1h30m", "1.5s", "100ms", "-2m", "0"; nanoseconds. */
bool duration_parse(str s, int64_t *ret_nsec);
/* The same, cut to microseconds. */
bool duration_parse_usec(str s, usec *ret);
/* Go's Duration.String(): "4h0m0s", "1.5s", "100ms", "0s". */
void duration_format(int64_t nsec, struct strbuf *b);
void duration_format_usec(usec d, struct strbuf *b);

#endif
