/*
 * Allocation that cannot fail and invariants that abort. Both end the process at the place of the
 * mistake, with a backtrace, because carrying on with a broken world is how bad data gets written.
 */
#include "base/base.h"

#include <execinfo.h>
#include <unistd.h>

#include "base/vec.h"

enum { BUG_FRAMES = 48, VEC_MIN_CAP = 8 };

void bug_at(const char *file, int line, const char *what)
{
    void *frames[BUG_FRAMES];
    (void)fflush(stdout);
    fprintf(stderr, "BUG at %s:%d: %s\n", file, line, what);
    (void)fflush(stderr);
    backtrace_symbols_fd(frames, backtrace(frames, BUG_FRAMES), STDERR_FILENO);
    abort();
}

/* Allocation of zero bytes still returns a pointer that can be freed, so callers need no case. */
void *xmalloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p)
        BUG("out of memory");
    return p;
}

void *xcalloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p)
        BUG("out of memory");
    return p;
}

void *xrealloc(void *p, size_t size)
{
    void *q = realloc(p, size ? size : 1);
    if (!q)
        BUG("out of memory");
    return q;
}

char *xstrdup(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(xmalloc(n), s, n);
}

void vec_grow_(void **p, size_t *cap, size_t need, size_t elem)
{
    size_t want = MAX(*cap + *cap / 2, (size_t)VEC_MIN_CAP);
    size_t bytes;
    want = MAX(want, need);
    BUG_ON(__builtin_mul_overflow(want, elem, &bytes));
    *p = xrealloc(*p, bytes);
    *cap = want;
}
