/*
 * Regular expressions that strangers write, on texts that strangers write: RE2's, as Go and so
 * kube-apiserver have them. What RE2 has no linear answer to (looking ahead or behind, references
 * to what was matched, recursion, possessive repetition) is no pattern here either.
 *
 *   .  [a-z]  [^a-z]  [[:alpha:]]  \d \w \s \D \W \S (ASCII)  \pN  \p{Greek}  \P{Lu}  \p{^Lu}
 *   xy  x|y  x*  x+  x?  x{n,m} (up to 1000, also multiplied)  x*?  (x)  (?:x)  (?P<n>x)  (?<n>x)
 *   ^ $ \A \z \b \B    (?i) case, (?s) . is a newline too, (?m) ^ $ at lines, (?U) x*? is x*
 *   \Q...\E  \n \t \x7f \x{10ffff} \123 \.
 *
 * Without (?m), $ is the very end of the text. Texts are code points; a byte that is no UTF-8 is
 * U+FFFD. Classes of Unicode 15.0: all categories and scripts (runes.h).
 *
 * Time is in proportion to the text, whatever the pattern: at worst as many steps for each
 * character as the pattern has, usually one. What it costs is counted all the same, because a
 * pattern may be large: whoever asks says how much there may be.
 *
 * How it is done. A pattern becomes a program for a machine that is in many states at once
 * (Thompson), one instruction for each character it may read. For `^ab*c`:
 *
 *   0: begin of text?   1: read a   2: go on at 3 or 5   3: read b   4: go on at 2   5: read c
 *   6: match
 *
 * On "abbc" the machine is in {1}, after "a" in {3,5}, and so after each b; after "c" in {6}. Sets
 * of states that were met are kept with where each character leads from them, so that the next text
 * takes one look-up for a character (a DFA, made as it is needed: regex_dfa.c). Characters that the
 * pattern does not tell apart, as b and d are not by [b-d], are one to it. Where a match begins and
 * ends, if that is asked, the machine itself finds out, in the order in which Perl would try
 * (regex_find.c).
 *
 * What is compiled is kept, in bounded memory. The loop thread's.
 */
#ifndef KUBE_REGEX_REGEX_H
#define KUBE_REGEX_REGEX_H

#include "base/err.h"

struct regex;

/* Valid until the next call; NULL: it is no pattern, and err says why, as Go does: "error parsing
 * regexp: missing closing ): `a(b` at byte 1". What it cost to make is taken off *left; NULL:
 * nobody counts. */
struct regex *regex_of(str pattern, uint64_t *left, struct err *err);

/* What it costs to make it, also where it is kept, or is no pattern. */
uint64_t regex_cost(str pattern);

enum regex_answer { REGEX_NO, REGEX_YES, REGEX_TOO_MUCH };

/* Whether it matches somewhere in s; what it cost is taken off *left. A unit is some 20 ns: 16
 * bytes passed over, or 4 steps of the machine. */
enum regex_answer regex_matches(struct regex *r, str s, uint64_t *left);
/* Finds the first match at `from` or later, of those that begin there the one that Perl would find.
 */
enum regex_answer regex_search(struct regex *r, str s, size_t from, uint64_t *left, str *ret);

/* Bytes that all patterns and what is remembered of them take. */
size_t regex_memory(void);

#endif
