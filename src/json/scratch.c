/*
 * See scratch.h. Large buffers are not worth keeping, and under AddressSanitizer none is, so that
 * whatever goes wrong in one is found.
 */
#include "json/scratch.h"

#include "json/tape.h"

#if defined(__SANITIZE_ADDRESS__)
#define KEEP_NOTHING 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEP_NOTHING 1
#endif
#endif
#ifndef KEEP_NOTHING
#define KEEP_NOTHING 0
#endif

enum { KEPT = 8, KEEP_MAX = 64 << 10 };

struct kept {
    void *p[KEPT];
    size_t cap[KEPT]; /* in elements */
    unsigned n;
};

static _Thread_local struct kept texts, tapes;

static void keep(struct kept *k, void *p, size_t cap, size_t elem)
{
    if (KEEP_NOTHING || !p || k->n == KEPT || cap * elem > KEEP_MAX) {
        free(p);
        return;
    }
    k->p[k->n] = p;
    k->cap[k->n++] = cap;
}

struct strbuf scratch_text(void)
{
    struct strbuf b = STRBUF_INIT(TEXT_MAX);
    if (texts.n) {
        b.p = texts.p[--texts.n];
        b.cap = texts.cap[texts.n];
        b.p[0] = '\0';
    }
    return b;
}

tape_vec scratch_tape(void)
{
    tape_vec t = {0};
    if (tapes.n) {
        t.p = tapes.p[--tapes.n];
        t.cap = tapes.cap[tapes.n];
    }
    return t;
}

void scratch_text_done(struct strbuf *b)
{
    keep(&texts, b->p, b->cap, 1);
    *b = STRBUF_INIT(TEXT_MAX);
}

void scratch_tape_done(tape_vec *t)
{
    keep(&tapes, t->p, t->cap, sizeof(*t->p));
    *t = (tape_vec){0};
}
