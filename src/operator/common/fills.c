/* See fills.h. */
#include "operator/common/fills.h"

#include "base/strbuf.h"
#include "client/slots.h"

/* ---- text ---- */

/* Takes a number off the front; false: there is none. */
static bool take_number(str *text, uint64_t *ret)
{
    size_t n = 0;
    while (n < text->len && text->p[n] >= '0' && text->p[n] <= '9')
        n++;
    bool ok = str_to_uint(str_sub(*text, 0, n), ret);
    *text = str_sub(*text, n, text->len);
    return ok;
}

static bool take_char(str *text, char c)
{
    if (text->len == 0 || text->p[0] != c)
        return false;
    *text = str_sub(*text, 1, text->len);
    return true;
}

void fills_read(struct fills *f, str text)
{
    *f = (struct fills){0};
    do {
        uint64_t first, last, had;
        if (!take_number(&text, &first))
            return;
        last = first;
        if (take_char(&text, '-') && !take_number(&text, &last))
            return;
        if (last < first || last >= SLOTS_MAX || !take_char(&text, ':') ||
            !take_number(&text, &had) || had > FILLS_MAX)
            return;
        for (uint64_t i = first; i <= last; i++)
            fills_note(f, (int64_t)i, (unsigned)had);
    } while (take_char(&text, ','));
}

void fills_done(struct fills *f)
{
    vec_done(&f->had);
}

unsigned fills_of(const struct fills *f, int64_t index)
{
    return index >= 0 && (size_t)index < f->had.len ? f->had.p[index] : 0;
}

void fills_note(struct fills *f, int64_t index, unsigned had)
{
    if (index < 0 || index >= SLOTS_MAX || had == 0)
        return;
    while (f->had.len <= (size_t)index)
        *vec_push(&f->had) = 0;
    f->had.p[index] = MAX(f->had.p[index], MIN(had, (unsigned)FILLS_MAX));
}

/* ---- ranges ---- */

struct range {
    size_t first, last;
    uint32_t had;
};

typedef VEC(struct range) range_vec;

static void split(const struct fills *f, range_vec *ret)
{
    for (size_t i = 0; i < f->had.len; i++) {
        struct range *before = ret->len ? &ret->p[ret->len - 1] : NULL;
        if (f->had.p[i] == 0)
            continue;
        if (before && before->last + 1 == i && before->had == f->had.p[i])
            before->last = i;
        else
            *vec_push(ret) = (struct range){i, i, f->had.p[i]};
    }
}

/* Half as many, each two in one. */
static void halve(range_vec *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->len; i += 2) {
        struct range both = r->p[i];
        if (i + 1 < r->len) {
            both.last = r->p[i + 1].last;
            both.had = MAX(both.had, r->p[i + 1].had);
        }
        r->p[n++] = both;
    }
    r->len = n;
}

str fills_text(const struct fills *f, struct arena *a)
{
    range_vec ranges = {0};
    struct strbuf out = STRBUF_INIT(64 << 10);
    split(f, &ranges);
    while (ranges.len > FILLS_RANGES)
        halve(&ranges);
    for (size_t i = 0; i < ranges.len; i++) {
        const struct range *r = &ranges.p[i];
        strbuf_printf(&out, "%s%zu", i ? "," : "", r->first);
        if (r->last > r->first)
            strbuf_printf(&out, "-%zu", r->last);
        strbuf_printf(&out, ":%u", r->had);
    }
    str text = arena_str(a, strbuf_str(&out));
    strbuf_done(&out);
    vec_done(&ranges);
    return text;
}
