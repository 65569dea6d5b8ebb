/*
 * Chunks grow with the arena (4 KiB doubling to 1 MiB), so a small request costs one malloc and a
 * large plan a few. Held references are nodes inside the arena itself.
 *
 * Arenas come and go many times for each request, and malloc is slow with blocks of this size: each
 * thread keeps a few of the smallest chunks for the next arena.
 *
 * Under AddressSanitizer every allocation gets a chunk of its own: a read past an object, or after
 * arena_clear, is then found at the byte.
 */
#include "base/arena.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_ONE_EACH 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_ONE_EACH 1
#endif
#endif
#ifndef ARENA_ONE_EACH
#define ARENA_ONE_EACH 0
#endif

enum { ARENA_ALIGN = 16, CHUNK_MIN = 4096, CHUNK_MAX = 1 << 20, SPARE_MAX = 32 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    _Alignas(ARENA_ALIGN) char data[];
};

struct arena_ref {
    struct arena_ref *next;
    void *obj;
    void (*drop)(void *obj);
};

static _Thread_local struct {
    struct arena_chunk *first;
    unsigned n;
} spare; /* chunks of CHUNK_MIN bytes */

static void chunk_free(struct arena_chunk *c)
{
    if (ARENA_ONE_EACH || c->size != CHUNK_MIN || spare.n == SPARE_MAX) {
        free(c);
        return;
    }
    c->next = spare.first;
    spare.first = c;
    spare.n++;
}

static struct arena_chunk *chunk_new(size_t size)
{
    struct arena_chunk *c = spare.first;
    if (c && size == CHUNK_MIN) {
        spare.first = c->next;
        spare.n--;
        return c;
    }
    c = xmalloc(sizeof(*c) + size);
    c->size = size;
    return c;
}

void arena_init(struct arena *a)
{
    *a = ARENA_INIT;
}

void arena_clear(struct arena *a)
{
    for (struct arena_ref *r = a->refs; r; r = r->next)
        r->drop(r->obj);
    struct arena_chunk *next;
    for (struct arena_chunk *c = a->chunk; c; c = next) {
        next = c->next;
        chunk_free(c);
    }
    *a = ARENA_INIT;
}

void arena_done(struct arena *a)
{
    arena_clear(a);
}

static void arena_add_chunk(struct arena *a, size_t need)
{
    size_t size = need;
    if (!ARENA_ONE_EACH) {
        size_t grown = a->chunk ? MIN(a->chunk->size * 2, (size_t)CHUNK_MAX) : (size_t)CHUNK_MIN;
        size = MAX(need, grown);
    }
    struct arena_chunk *c = chunk_new(size);
    c->next = a->chunk;
    a->chunk = c;
    a->at = c->data;
    a->end = c->data + size;
}

/* Not zeroed: for bytes that are written at once. */
static char *arena_take(struct arena *a, size_t size)
{
    BUG_ON(size > SIZE_MAX / 2);
    size_t rounded = ARENA_ONE_EACH ? MAX(size, (size_t)1)
                                    : (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    if (ARENA_ONE_EACH || rounded > (size_t)(a->end - a->at))
        arena_add_chunk(a, rounded);
    char *p = a->at;
    a->at += rounded;
    a->used += size;
    return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
    char *p = arena_take(a, size);
    return memset(p, 0, size);
}

str arena_str(struct arena *a, str s)
{
    char *p = arena_take(a, s.len + 1);
    if (s.len)
        memcpy(p, s.p, s.len);
    p[s.len] = '\0';
    return str_n(p, s.len);
}

str arena_int(struct arena *a, int64_t v)
{
    char text[21];
    size_t n = str_digits(text + sizeof(text), v < 0 ? -(uint64_t)v : (uint64_t)v);
    if (v < 0)
        text[sizeof(text) - ++n] = '-';
    return arena_str(a, str_n(text + sizeof(text) - n, n));
}

str arena_uint(struct arena *a, uint64_t v)
{
    char text[20];
    size_t n = str_digits(text + sizeof(text), v);
    return arena_str(a, str_n(text + sizeof(text) - n, n));
}

str arena_join(struct arena *a, const str *pieces, size_t n)
{
    size_t len = 0;
    for (size_t i = 0; i < n; i++)
        len += pieces[i].len;
    char *p = arena_take(a, len + 1), *to = p;
    for (size_t i = 0; i < n; i++) {
        if (pieces[i].len)
            memcpy(to, pieces[i].p, pieces[i].len);
        to += pieces[i].len;
    }
    *to = '\0';
    return str_n(p, len);
}

/* Nearly everything fits what is left of the chunk: printed there at once, and only what does not
 * is printed again. */
str arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    size_t room = ARENA_ONE_EACH ? 0 : (size_t)(a->end - a->at);
    char *p = a->at;
    int n = vsnprintf(room ? p : NULL, room, fmt, ap);
    BUG_ON(n < 0);
    bool fits = (size_t)n < room;
    p = arena_take(a, (size_t)n + 1);
    if (!fits)
        (void)vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return str_n(p, (size_t)n);
}

str arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    str s = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return s;
}

void *arena_hold(struct arena *a, void *obj, void (*drop)(void *obj))
{
    struct arena_ref *r = arena_new(a, struct arena_ref);
    *r = (struct arena_ref){a->refs, obj, drop};
    a->refs = r;
    return obj;
}
