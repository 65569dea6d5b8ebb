/*
 * str: a slice of bytes by value (two registers). It never owns memory and need not end in NUL;
 * whoever keeps one keeps what it points into alive. The empty slice may have p == NULL.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/base.h"

typedef struct str {
    const char *p;
    size_t len;
} str;

/* For string literals, also in static initialisers (STR_INIT). */
#define STR(lit) ((str){(lit), sizeof(lit) - 1})
#define STR_INIT(lit)          \
    {                          \
        (lit), sizeof(lit) - 1 \
    }
#define STR_NONE ((str){NULL, 0})
/* printf("%.*s", STR_ARG(s)) */
#define STR_ARG(s) (int)(s).len, ((s).p ? (s).p : "")

static inline str str_of(const char *c)
{
    return c ? (str){c, strlen(c)} : STR_NONE;
}

static inline str str_n(const char *p, size_t len)
{
    return (str){p, len};
}

static inline bool str_eq(str a, str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

static inline bool str_is(str a, const char *c)
{
    return str_eq(a, str_of(c));
}

static inline bool str_is_empty(str s)
{
    return s.len == 0;
}

/* Bytewise order; a prefix sorts before what it is a prefix of. */
int str_cmp(str a, str b);
/* As people count: runs of digits by their number, x-2 before x-10. Bytewise where that is equal.
 */
int str_cmp_counted(str a, str b);
bool str_starts(str s, str prefix);
bool str_ends(str s, str suffix);
/* Offset of the first (last) occurrence, or -1. */
ptrdiff_t str_find(str s, str needle);
ptrdiff_t str_find_char(str s, char c);
ptrdiff_t str_rfind_char(str s, char c);
/* Bytes [from, to) with both ends clamped to the slice. */
str str_sub(str s, size_t from, size_t to);
str str_trim(str s);
/* Cuts at the first `sep`: returns what is before it and leaves the rest (after sep) in *rest.
 * Without a separator returns all and leaves *rest empty with p == NULL. */
str str_cut(str *rest, char sep);
/* Whole slice as decimal; false on anything else or on overflow. */
bool str_to_int(str s, int64_t *ret);
bool str_to_uint(str s, uint64_t *ret);
/* Writes the digits of v so that they end before `end`; returns how many, 20 at most. */
size_t str_digits(char *end, uint64_t v);
bool str_is_utf8(str s);
uint64_t str_hash(str s, uint64_t seed);
/* Of the length and, of a long text, of a sample from its beginning, middle and end: for tables
 * that hold what is likely to come again, where a text that is taken for another costs time only.
 */
uint64_t str_hash_sample(str s, uint64_t seed);
/* NUL-terminated heap copy, for libc borders. */
char *str_dup(str s);

/* Names as Kubernetes limits them. */
bool str_is_dns1123_label(str s);     /* [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most 63 */
bool str_is_dns1123_subdomain(str s); /* labels joined by dots, at most 253 */
bool str_is_dns1035_label(str s);     /* starts with a letter */
bool str_is_label_value(str s);       /* empty or at most 63, [A-Za-z0-9]([-A-Za-z0-9_.]*...)? */
bool str_is_qualified_name(str s);    /* optional dns prefix and '/', then a label-value name */

#endif
