/* Looks at a data directory without starting anything: `grove up --check`. */
#ifndef STORE_CHECK_H
#define STORE_CHECK_H

#include <stdio.h>

enum { CHECK_WHOLE = 0, CHECK_DAMAGED = 1, CHECK_IMPOSSIBLE = 2 };

/* Says on `out` what is there, what is wrong, where, and what to do; changes nothing in dir.
 * CHECK_IMPOSSIBLE: it cannot be looked at (in use, not readable, not there), or nothing could be
 * saved. save: a directory that is made, with a new store that holds every object which can be
 * read; may be NULL. */
int store_check(const char *dir, const char *save, FILE *out);

#endif
