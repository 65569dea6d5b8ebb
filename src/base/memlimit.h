/* How much memory this process may use: of the machine, or of the part of it that it was given. */
#ifndef BASE_MEMLIMIT_H
#define BASE_MEMLIMIT_H

#include <stddef.h>

/* The least of: physical memory; the limits of the control groups the process is in, of both
 * versions, from its own up to the root; RLIMIT_AS and RLIMIT_DATA. root is put before /proc and
 * /sys, for tests; "" otherwise. Blocking: start-up only. */
size_t memory_limit(const char *root);

#endif
