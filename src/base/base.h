/*
 * The ground everything stands on: compiler helpers, scope cleanup, invariants, allocation.
 *
 * Out of memory aborts (limits on input keep it from happening), so no allocation here returns
 * NULL. A broken invariant aborts with a backtrace in release builds too: BUG_ON() is for what
 * cannot happen, never for bad input.
 *
 * Functions that lose bytes or invite overflow are compile errors (see the end).
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN __attribute__((noreturn))
#define MUST_USE __attribute__((warn_unused_result))
#define UNUSED __attribute__((unused))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* CLEANUP(fn): run fn(&variable) when it goes out of scope. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

/* DEFINE_CLEANUP(struct doc *, doc_unref) makes doc_unref_p for use with CLEANUP. */
#define DEFINE_CLEANUP(type, fn)              \
    static inline UNUSED void fn##_p(type *p) \
    {                                         \
        fn(*p);                               \
    }

/* Give the value away: returns it and leaves NULL behind, so that a cleanup does nothing. */
#define TAKE_PTR(p)             \
    ({                          \
        __typeof__(p) t_ = (p); \
        (p) = NULL;             \
        t_;                     \
    })

/* Prints where and why with a backtrace and aborts. */
NORETURN void bug_at(const char *file, int line, const char *what);
#define BUG(what) bug_at(__FILE__, __LINE__, what)
#define BUG_ON(cond)                           \
    do {                                       \
        if (UNLIKELY(cond))                    \
            bug_at(__FILE__, __LINE__, #cond); \
    } while (0)

void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);
/* One zeroed object of the type. */
#define xnew(type) ((type *)xcalloc(1, sizeof(type)))

#ifndef BASE_ALLOW_BANNED
#undef alloca
#pragma GCC poison strcpy strcat sprintf vsprintf strtok gets alloca atoi atol atof
#endif

#endif
