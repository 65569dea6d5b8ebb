/*
 * strbuf: a growing byte buffer with a maximum given at creation.
 *
 * Invariants: p[len] is NUL whenever p is not NULL; len <= max. Reaching the maximum drops the
 * whole append and sets `overflow`, which stays set until reset: build first, check once.
 */
#ifndef BASE_STRBUF_H
#define BASE_STRBUF_H

#include <stdarg.h>

#include "base/str.h"

struct strbuf {
    char *p;
    size_t len;
    size_t cap;
    size_t max;
    bool overflow;
};

#define STRBUF_INIT(limit) ((struct strbuf){.max = (limit)})

void strbuf_init(struct strbuf *b, size_t max);
void strbuf_done(struct strbuf *b);
/* Empties it, keeps the memory. */
void strbuf_reset(struct strbuf *b);
/* Room for n more bytes at p + len; NULL (and overflow) when that would exceed max. */
char *strbuf_reserve(struct strbuf *b, size_t n);
/* After writing n bytes into reserved room. */
void strbuf_commit(struct strbuf *b, size_t n);
void strbuf_add(struct strbuf *b, const void *p, size_t n);
static inline void strbuf_add_str(struct strbuf *b, str s);
static inline void strbuf_add_cstr(struct strbuf *b, const char *c);
static inline void strbuf_add_char(struct strbuf *b, char c);
void strbuf_add_int(struct strbuf *b, int64_t v);
void strbuf_add_uint(struct strbuf *b, uint64_t v);
void strbuf_printf(struct strbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strbuf_vprintf(struct strbuf *b, const char *fmt, va_list ap);
/* Drops n bytes at the front (what was sent or parsed). */
void strbuf_consume(struct strbuf *b, size_t n);
/* Gives the memory away (NUL-terminated) and leaves the buffer empty. */
char *strbuf_detach(struct strbuf *b, size_t *ret_len);

static inline str strbuf_str(const struct strbuf *b)
{
    return (str){b->p, b->len};
}

static inline void strbuf_add_str(struct strbuf *b, str s)
{
    strbuf_add(b, s.p, s.len);
}

/* Of a literal the compiler knows the length. */
static inline void strbuf_add_cstr(struct strbuf *b, const char *c)
{
    strbuf_add(b, c, strlen(c));
}

static inline void strbuf_add_char(struct strbuf *b, char c)
{
    if (UNLIKELY(b->cap - b->len <= 1)) {
        strbuf_add(b, &c, 1);
        return;
    }
    b->p[b->len++] = c;
    b->p[b->len] = '\0';
}

#endif
