/* A vector of counters. */
#include "client/slots.h"

static bool is_kept(int64_t number)
{
    return number >= 0 && number < SLOTS_MAX;
}

void slots_add(struct slots *s, int64_t number)
{
    if (!is_kept(number))
        return;
    while (s->uses.len <= (size_t)number)
        *vec_push(&s->uses) = 0;
    s->len += s->uses.p[number]++ == 0;
}

void slots_remove(struct slots *s, int64_t number)
{
    if (!is_kept(number))
        return;
    BUG_ON(!slots_uses(s, number));
    s->len -= --s->uses.p[number] == 0;
}

void slots_done(struct slots *s)
{
    vec_done(&s->uses);
    s->len = 0;
}

unsigned slots_uses(const struct slots *s, int64_t number)
{
    return number >= 0 && (size_t)number < s->uses.len ? s->uses.p[number] : 0;
}

int64_t slots_free_from(const struct slots *s, int64_t from)
{
    int64_t i = MAX(from, 0);
    while (slots_uses(s, i))
        i++;
    return i;
}

int64_t slots_next(const struct slots *s, int64_t from)
{
    for (int64_t i = MAX(from, 0); (size_t)i < s->uses.len; i++) {
        if (s->uses.p[i])
            return i;
    }
    return -1;
}
