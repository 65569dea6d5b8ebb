/*
 * Regular expressions that strangers write, on texts that strangers write. They are meant to be
 * RE2's, which takes time in proportion to the text; the one we have goes back and tries again, so
 * its steps are counted and whoever asks says how many there may be.
 *
 * What is compiled is kept. The loop thread's.
 */
#ifndef KUBE_REGEX_H
#define KUBE_REGEX_H

#include "base/str.h"

struct regex;

/* Valid until the next call; NULL: the pattern is none. */
struct regex *regex_of(str pattern);

/* Finds the first match at `from` or later; what it cost is taken off *left. A unit is some 20 ns:
 * a step in the pattern, or 16 bytes passed over. */
enum regex_answer { REGEX_NO, REGEX_YES, REGEX_TOO_MUCH };
enum regex_answer regex_search(struct regex *r, str s, size_t from, uint64_t *left, str *ret);

#endif
