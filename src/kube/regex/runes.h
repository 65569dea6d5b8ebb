/*
 * Sets of code points, as regular expressions need them: ranges that are added in any order, then
 * brought into order once (runes_tidy: sorted, apart from each other). Unicode's categories and
 * scripts by name, and everything that differs from a member in case only.
 */
#ifndef KUBE_REGEX_RUNES_H
#define KUBE_REGEX_RUNES_H

#include "base/str.h"
#include "base/vec.h"
#include "kube/regex/unicode_table.h"

typedef VEC(struct rune_range) runes;

void runes_add(runes *s, uint32_t lo, uint32_t hi);
void runes_add_all(runes *s, const runes *other);
/* In order, without overlaps. */
void runes_tidy(runes *s);
/* All that are not in it; tidies it first. */
void runes_negate(runes *s);
/* Adds what differs from a member in case only; tidies it. */
void runes_fold(runes *s);

/* Adds a class of Unicode: a category (L, Lu, LC; also by its long name, Letter), a script (Greek),
 * Any, Assigned or ASCII. Letter case, blanks, - and _ in the name do not count. False: there is
 * none of that name. */
bool runes_add_class(runes *s, str name);

/* The code point at *p, which is moved behind it. A byte that is no part of one is U+FFFD. */
uint32_t rune_next(const char **p, const char *end);

#endif
