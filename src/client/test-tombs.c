/* Against what is kept in plain arrays. */
#include "base/arena.h"
#include "base/rng.h"
#include "base/test.h"
#include "client/tombs.h"

enum { UIDS = 4000 };

struct model {
    uint64_t seq[UIDS], rv[UIDS];
    usec at[UIDS];
    bool known[UIDS], confirmed[UIDS];
};

static str uid_of(struct arena *a, size_t i)
{
    return arena_printf(a, "00000000-0000-4000-8000-%012zx", i * 7919);
}

/* The oldest that is known, or UIDS. */
static size_t oldest(const struct model *m)
{
    size_t found = UIDS;
    for (size_t i = 0; i < UIDS; i++)
        if (m->known[i] && (found == UIDS || m->seq[i] < m->seq[found]))
            found = i;
    return found;
}

static void model_forget(struct model *m, usec limit)
{
    size_t i;
    while ((i = oldest(m)) < UIDS && m->confirmed[i] && m->at[i] <= limit)
        m->known[i] = false;
}

static void check_same(const struct model *m, const struct tombs *t)
{
    struct arena a = ARENA_INIT;
    size_t n = 0, wrong = 0;
    for (size_t i = 0; i < UIDS; i++) {
        n += m->known[i];
        wrong += tombs_dead_until(t, uid_of(&a, i)) != (m->known[i] ? m->rv[i] : 0);
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(tombs_len(t), n);
    arena_done(&a);
}

static void add(struct model *m, struct tombs *t, size_t i, uint64_t rv, bool confirmed, usec now)
{
    struct arena a = ARENA_INIT;
    if (!m->known[i]) {
        m->seq[i] = t->end;
        m->rv[i] = 0;
        m->at[i] = now;
        m->confirmed[i] = false;
    }
    m->known[i] = true;
    m->rv[i] = MAX(m->rv[i], rv);
    m->confirmed[i] |= confirmed;
    tombs_add(t, uid_of(&a, i), rv, confirmed, now);
    arena_done(&a);
}

TEST(tombs_are_those_that_were_added_and_not_yet_forgotten)
{
    struct rng r;
    rng_seed(&r, 7);
    for (int run = 0; run < 3; run++) {
        struct model *m = xcalloc(1, sizeof(*m));
        struct tombs t = TOMBS_INIT;
        for (usec now = 1; now < 20000; now++) {
            add(m, &t, rng_below(&r, UIDS), 1 + rng_below(&r, 1000), rng_below(&r, 2), now);
            if (rng_below(&r, 100) == 0) {
                uint64_t seq = t.first + rng_below(&r, tombs_len(&t) + 1);
                tombs_confirm(&t, seq);
                for (size_t i = 0; i < UIDS; i++)
                    m->confirmed[i] |= m->known[i] && m->seq[i] < seq;
            }
            if (rng_below(&r, 1000) == 0) {
                usec limit = now - (usec)rng_below(&r, 3000);
                tombs_forget(&t, limit);
                model_forget(m, limit);
                check_same(m, &t);
            }
        }
        check_same(m, &t);
        tombs_confirm(&t, t.end);
        tombs_forget(&t, 20000);
        CHECK_INT(tombs_len(&t), 0);
        tombs_done(&t);
        free(m);
    }
}

TEST(what_is_added_again_keeps_its_place_and_the_higher_version)
{
    struct tombs t = TOMBS_INIT;
    CHECK_INT(tombs_dead_until(&t, STR("a")), 0);
    tombs_add(&t, STR("a"), 5, true, 1);
    tombs_add(&t, STR("b"), 6, false, 2);
    tombs_add(&t, STR("a"), 3, false, 3);
    CHECK_INT(tombs_dead_until(&t, STR("a")), 5);
    tombs_forget(&t, 3);
    CHECK_INT(tombs_dead_until(&t, STR("a")), 0);
    CHECK_INT(tombs_dead_until(&t, STR("b")), 6);
    tombs_done(&t);
}
