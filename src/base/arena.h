/*
 * arena: a bump allocator freed as a whole, the default lifetime of anything temporary (one
 * request, one plan, one scheduling cycle). It can also hold references to shared objects and
 * drops them when cleared, so that a slice into a document lives exactly as long as the arena.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>

#include "base/str.h"

struct arena_chunk;
struct arena_ref;

struct arena {
    struct arena_chunk *chunk; /* newest first */
    struct arena_ref *refs;
    char *at;
    char *end;
    size_t used; /* bytes handed out since the last clear */
};

#define ARENA_INIT ((struct arena){0})

void arena_init(struct arena *a);
/* Frees everything and drops the held references; the arena is empty and reusable. */
void arena_clear(struct arena *a);
void arena_done(struct arena *a);

/* Zeroed, aligned for any object. */
void *arena_alloc(struct arena *a, size_t size);
#define arena_new(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))
/* NUL-terminated copies. */
str arena_str(struct arena *a, str s);
/* Decimal digits of a number, and pieces one behind the other: what names are made of, many times
 * for each request. arena_cat(a, ns, STR("/"), name) */
str arena_int(struct arena *a, int64_t v);
str arena_uint(struct arena *a, uint64_t v);
str arena_join(struct arena *a, const str *pieces, size_t n);
#define arena_cat(a, ...) \
    arena_join((a), (const str[]){__VA_ARGS__}, sizeof((const str[]){__VA_ARGS__}) / sizeof(str))
str arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
str arena_vprintf(struct arena *a, const char *fmt, va_list ap);
/* Calls drop(obj) when the arena is cleared. Returns obj. */
void *arena_hold(struct arena *a, void *obj, void (*drop)(void *obj));

#endif
