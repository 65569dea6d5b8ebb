/*
 * strbuf grows by doubling up to its maximum. One byte beyond len is always kept for the NUL, so
 * cap counts that byte and max does not.
 */
#include "base/strbuf.h"

enum { STRBUF_MIN_CAP = 64 };

void strbuf_init(struct strbuf *b, size_t max)
{
    *b = STRBUF_INIT(max);
}

void strbuf_done(struct strbuf *b)
{
    free(b->p);
    *b = STRBUF_INIT(b->max);
}

void strbuf_reset(struct strbuf *b)
{
    b->len = 0;
    b->overflow = false;
    if (b->p)
        b->p[0] = '\0';
}

static __attribute__((noinline)) char *reserve_slow(struct strbuf *b, size_t n)
{
    if (n > b->max - b->len) {
        b->overflow = true;
        return NULL;
    }
    size_t need = b->len + n + 1;
    if (need > b->cap) {
        size_t cap = MAX(MAX(b->cap * 2, need), (size_t)STRBUF_MIN_CAP);
        cap = MAX(need, MIN(cap, b->max + 1));
        b->p = xrealloc(b->p, cap);
        b->cap = cap;
        b->p[b->len] = '\0';
    }
    return b->p + b->len;
}

/* The capacity never exceeds the maximum by more than the NUL. */
static inline char *reserve(struct strbuf *b, size_t n)
{
    return LIKELY(b->cap - b->len > n) ? b->p + b->len : reserve_slow(b, n);
}

char *strbuf_reserve(struct strbuf *b, size_t n)
{
    return reserve(b, n);
}

void strbuf_commit(struct strbuf *b, size_t n)
{
    BUG_ON(n > b->cap - b->len - (b->cap > 0));
    b->len += n;
    if (b->p)
        b->p[b->len] = '\0';
}

void strbuf_add(struct strbuf *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    char *at = reserve(b, n);
    if (!at)
        return;
    memcpy(at, p, n);
    b->len += n;
    b->p[b->len] = '\0';
}

void strbuf_add_uint(struct strbuf *b, uint64_t v)
{
    char digits[20];
    size_t n = str_digits(digits + sizeof(digits), v);
    strbuf_add(b, digits + sizeof(digits) - n, n);
}

void strbuf_add_int(struct strbuf *b, int64_t v)
{
    /* One reservation for sign and digits: an overflow may not leave a lone sign behind. */
    char text[21];
    size_t at = str_digits(text + sizeof(text), v < 0 ? -(uint64_t)v : (uint64_t)v);
    if (v < 0)
        text[sizeof(text) - ++at] = '-';
    strbuf_add(b, text + sizeof(text) - at, at);
}

void strbuf_vprintf(struct strbuf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    size_t room = b->cap - b->len;
    char *at = room ? b->p + b->len : NULL;
    int n = vsnprintf(at, room, fmt, ap);
    BUG_ON(n < 0);
    if ((size_t)n >= room) {
        at = strbuf_reserve(b, (size_t)n);
        if (at)
            (void)vsnprintf(at, (size_t)n + 1, fmt, again);
        else if (b->p)
            b->p[b->len] = '\0'; /* undo what the first try wrote */
    }
    va_end(again);
    if (at)
        strbuf_commit(b, (size_t)n);
}

void strbuf_printf(struct strbuf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    strbuf_vprintf(b, fmt, ap);
    va_end(ap);
}

void strbuf_consume(struct strbuf *b, size_t n)
{
    BUG_ON(n > b->len);
    if (n == 0)
        return;
    b->len -= n;
    memmove(b->p, b->p + n, b->len + 1);
}

char *strbuf_detach(struct strbuf *b, size_t *ret_len)
{
    char *p = b->p ? b->p : xcalloc(1, 1);
    if (ret_len)
        *ret_len = b->len;
    *b = STRBUF_INIT(b->max);
    return p;
}
