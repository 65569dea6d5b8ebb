/*
 * Coherent updates, the arithmetic: the worked cases of the proposal sub-step by sub-step, and what
 * holds for any components.
 */
#include "base/rng.h"
#include "base/test.h"
#include "client/slots.h"
#include "operator/update/coherent.h"
#include "operator/update/coherent_cases.h"

/* ---- a bench ---- */

enum { F, P, D, N };

struct bench {
    struct arena arena;
    struct gangmap_component c[N];
    struct gangmap map;
    struct coherent_plan plan;
    struct coherent_target target;
    int64_t takes[N];
};

static struct gangmap_component part(const char *name, bool group, int64_t r, int64_t m, int64_t u)
{
    return (struct gangmap_component){str_of(name), group, true, r, m, u, r};
}

/* First deploy: one gang of all pods and the minimum of each group, one for each replica above. */
static void bootstrap(struct bench *b)
{
    gangmap_init(&b->map, &b->arena, b->target.base, N);
    b->map.names.first = 2;
    struct gangmap_entry *e = gangmap_add(&b->map, GANG_ANCHOR, 1, STR("h0"), STR_NONE, -1);
    for (size_t c = 0; c < N; c++) {
        if (!b->c[c].is_group)
            e->parts[c].n = b->c[c].replicas;
        for (int32_t i = 0; b->c[c].is_group && i < MIN(b->c[c].min_available, b->c[c].replicas);
             i++)
            gangmap_add_index(&b->map, &e->parts[c], i);
    }
    for (size_t c = 0; c < N; c++) {
        for (int64_t i = b->c[c].min_available; b->c[c].is_group && i < b->c[c].replicas; i++) {
            struct gangmap_entry *t =
                gangmap_add(&b->map, GANG_TAIL, 2, STR("h0"), b->c[c].name, i);
            gangmap_add_index(&b->map, &t->parts[c], (int32_t)i);
        }
    }
}

static void bench_init(struct bench *b, struct gangmap_component f, struct gangmap_component p,
                       struct gangmap_component d)
{
    *b = (struct bench){.c = {f, p, d},
                        .target = {STR("x-0"), STR("h1"), INT64_C(1790000000000000), 0}};
    bootstrap(b);
    coherent_plan(&b->arena, &b->map, b->c, &b->plan);
}

static bool advance(struct bench *b)
{
    struct coherent_step s;
    if (!coherent_next(&b->plan, &b->map, &s))
        return false;
    memcpy(b->takes, s.take, sizeof(b->takes));
    b->target.now += 1000000;
    b->map = coherent_apply(&b->plan, &b->map, &s, &b->target, NULL);
    return true;
}

/* ---- as the tables show it ---- */

static void write_ranges(struct strbuf *out, const bool *has, int32_t n)
{
    bool first = true;
    for (int32_t i = 0; i < n; i++) {
        if (!has[i])
            continue;
        int32_t end = i;
        while (end + 1 < n && has[end + 1])
            end++;
        strbuf_printf(out, end > i ? "%s%d-%d" : "%s%d", first ? "" : ",", i, end);
        first = false;
        i = end;
    }
}

static void write_part(struct strbuf *out, const struct gangmap_component *c,
                       const struct gangmap_part *p, bool first)
{
    static bool has[4096];
    memset(has, 0, sizeof(has));
    strbuf_printf(out, "%s%.*s:", first ? "" : ", ", STR_ARG(c->name));
    if (!c->is_group) {
        strbuf_printf(out, "%lld", (long long)p->n);
        return;
    }
    for (int64_t i = 0; i < p->n; i++)
        has[p->indices[i]] = true;
    strbuf_add_cstr(out, "[");
    write_ranges(out, has, 4096);
    strbuf_add_cstr(out, "]");
}

static void write_entry(struct strbuf *out, const struct bench *b, const struct gangmap_entry *e)
{
    bool first = true;
    strbuf_add_cstr(out, "{");
    for (size_t c = 0; c < N; c++) {
        if (e->parts[c].n == 0)
            continue;
        write_part(out, &b->c[c], &e->parts[c], first);
        first = false;
    }
    strbuf_add_cstr(out, "}");
}

/* Replicas in gangs of their own: "P[3-9]; D[3-19]". */
static void write_tails(struct strbuf *out, const struct bench *b, bool is_new)
{
    static bool has[4096];
    bool any = false;
    for (size_t c = 0; c < N; c++) {
        size_t n = 0;
        memset(has, 0, sizeof(has));
        for (size_t i = 0; i < b->map.n; i++) {
            const struct gangmap_entry *e = &b->map.entries[i];
            if (e->anchor || str_is(e->hash, "h1") != is_new || e->parts[c].n == 0)
                continue;
            CHECK_INT(e->parts[c].n, 1);
            has[e->parts[c].indices[0]] = true;
            n++;
        }
        if (n == 0)
            continue;
        strbuf_printf(out, "%s%.*s[", any ? "; " : "", STR_ARG(b->c[c].name));
        write_ranges(out, has, 4096);
        strbuf_add_cstr(out, "]");
        any = true;
    }
    if (!any)
        strbuf_add_cstr(out, "-");
}

static void write_row(struct strbuf *out, const struct bench *b)
{
    size_t n_old = 0;
    bool any = false;
    for (size_t c = 0; c < N; c++) {
        if (b->takes[c] > 0)
            strbuf_printf(out, "%s%lld%.*s", any ? " " : "", (long long)b->takes[c],
                          STR_ARG(b->c[c].name));
        any = any || b->takes[c] > 0;
    }
    strbuf_add_cstr(out, " | ");
    const struct gangmap_entry *old = gangmap_find(&b->map, STR("x-0"));
    if (old)
        write_entry(out, b, old);
    else
        strbuf_add_cstr(out, "gone");
    strbuf_add_cstr(out, " | ");
    write_tails(out, b, false);
    strbuf_add_cstr(out, " |");
    for (size_t i = 0; i < b->map.n; i++) {
        n_old += str_is(b->map.entries[i].hash, "h0");
        if (!b->map.entries[i].anchor || str_is(b->map.entries[i].hash, "h0"))
            continue;
        strbuf_add_cstr(out, " ");
        write_entry(out, b, &b->map.entries[i]);
    }
    strbuf_add_cstr(out, " | ");
    write_tails(out, b, true);
    strbuf_printf(out, " | %zu+%zu=%zu | %lld/%lld/%lld", n_old, b->map.n - n_old, b->map.n,
                  (long long)gangmap_units(&b->map, F, true),
                  (long long)gangmap_units(&b->map, P, true),
                  (long long)gangmap_units(&b->map, D, true));
}

static void check_rows(struct bench *b, const char *const *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct strbuf row = STRBUF_INIT(64 << 10);
        if (!CHECK(advance(b)))
            break;
        write_row(&row, b);
        CHECK_CSTR(strbuf_str(&row), rows[i]);
        strbuf_done(&row);
    }
    CHECK(!advance(b));
}

/* ---- the worked cases ---- */

TEST(coherent_main_example)
{
    struct bench b;
    bench_init(&b, part("F", false, 10, 2, 2), part("P", true, 10, 3, 3),
               part("D", true, 20, 3, 4));
    CHECK_INT(b.map.n, 25);
    CHECK_INT(b.plan.steps, 3);
    CHECK_INT(b.plan.paces[D].target, 6);
    CHECK_INT(b.plan.paces[D].leftover, 2);
    check_rows(&b, worked_main, ARRAY_LEN(worked_main));
    arena_done(&b.arena);
}

TEST(coherent_clean_divisibility)
{
    struct bench b;
    bench_init(&b, part("F", false, 10, 1, 1), part("P", true, 100, 3, 3),
               part("D", true, 80, 3, 4));
    CHECK_INT(b.map.n, 175);
    for (int i = 0; i < 40 && CHECK(advance(&b)); i++) {
        struct strbuf row = STRBUF_INIT(64 << 10), want = STRBUF_INIT(64 << 10);
        write_row(&row, &b);
        worked_a_row(i / 4 + 1, i % 4 + 1, &want);
        CHECK_STR(strbuf_str(&row), strbuf_str(&want));
        strbuf_done(&want);
        strbuf_done(&row);
    }
    CHECK(!advance(&b));
    arena_done(&b.arena);
}

TEST(coherent_residual_and_leftover)
{
    struct bench b;
    bench_init(&b, part("F", false, 20, 2, 2), part("P", true, 10, 3, 3),
               part("D", true, 20, 3, 4));
    CHECK_INT(b.plan.steps, 3);
    check_rows(&b, worked_b, ARRAY_LEN(worked_b));
    arena_done(&b.arena);
}

TEST(coherent_single_component)
{
    struct bench b;
    bench_init(&b, part("F", false, 10, 1, 1), part("P", true, 100, 3, 3),
               part("D", true, 80, 3, 4));
    b.c[P].in_scope = b.c[D].in_scope = false;
    coherent_plan(&b.arena, &b.map, b.c, &b.plan);
    for (int n = 1; n <= 10 && CHECK(advance(&b)); n++) {
        struct strbuf row = STRBUF_INIT(4096), want = STRBUF_INIT(4096);
        write_row(&row, &b);
        worked_e_row(n, &want);
        CHECK_STR(strbuf_str(&row), strbuf_str(&want));
        strbuf_done(&want);
        strbuf_done(&row);
        const struct gangmap_entry *old = gangmap_find(&b.map, STR("x-0"));
        CHECK(old && old->anchor);
    }
    CHECK(!advance(&b));
    arena_done(&b.arena);
}

TEST(coherent_legacy_gangs)
{
    struct bench b;
    bench_init(&b, part("F", false, 5, 2, 2), part("P", true, 4, 1, 1), part("D", true, 3, 1, 1));
    CHECK_INT(b.plan.steps, 2);
    check_rows(&b, worked_il, ARRAY_LEN(worked_il));
    arena_done(&b.arena);
}

/* The set of 10,000 pods: how many sub-steps it takes. */
static int64_t count_steps(int64_t u)
{
    struct bench b;
    int64_t n = 0;
    bench_init(&b, part("F", false, 0, 1, 1), part("P", true, 1250, 1, u),
               part("D", true, 1000, 1, u));
    while (advance(&b))
        n++;
    arena_done(&b.arena);
    return n;
}

TEST(coherent_ten_thousand_pods)
{
    CHECK_INT(count_steps(1), 1250);
    CHECK_INT(count_steps(50), 1005);
}

/* ---- less than usual ---- */

TEST(coherent_below_the_minimum_ends)
{
    struct bench b;
    bench_init(&b, part("F", false, 1, 3, 3), part("P", true, 0, 2, 2), part("D", true, 5, 2, 2));
    CHECK_INT(b.plan.steps, 1);
    CHECK(advance(&b));
    CHECK_INT(b.takes[F], 1);
    CHECK_INT(b.takes[D], 2);
    CHECK(advance(&b));
    CHECK(advance(&b));
    CHECK_INT(gangmap_units(&b.map, D, true), 5);
    CHECK(!advance(&b));
    arena_done(&b.arena);
    bench_init(&b, part("F", false, 0, 3, 3), part("P", true, 0, 2, 2), part("D", true, 0, 2, 2));
    CHECK_INT(b.plan.steps, 0);
    CHECK(!advance(&b));
    arena_done(&b.arena);
}

TEST(coherent_alone_moves_in_smaller_units)
{
    struct bench b;
    bench_init(&b, part("F", false, 10, 3, 2), part("P", true, 4, 1, 1), part("D", true, 4, 1, 1));
    b.c[P].in_scope = b.c[D].in_scope = false;
    coherent_plan(&b.arena, &b.map, b.c, &b.plan);
    for (int i = 0; i < 5; i++) {
        CHECK(advance(&b));
        CHECK_INT(b.takes[F], 2);
    }
    CHECK(!advance(&b));
    arena_done(&b.arena);
}

TEST(coherent_independent_tails)
{
    struct bench b;
    bench_init(&b, part("F", false, 5, 2, 2), part("P", true, 4, 1, 1), part("D", true, 3, 1, 1));
    b.target.tail = COHERENT_INDEPENDENT;
    while (advance(&b))
        continue;
    struct strbuf row = STRBUF_INIT(4096);
    memset(b.takes, 0, sizeof(b.takes));
    write_row(&row, &b);
    CHECK_CSTR(strbuf_str(&row),
               " | gone | - | {F:5, P:[0], D:[0]} | P[1-3]; D[1-2] | 0+6=6 | 5/4/3");
    strbuf_done(&row);
    arena_done(&b.arena);
}

/* ---- a change on the way (X-24) ---- */

TEST(coherent_changed_on_the_way_restarts_only_what_changed)
{
    struct bench b;
    bench_init(&b, part("F", false, 10, 2, 2), part("P", true, 10, 3, 3),
               part("D", true, 20, 3, 4));
    for (int i = 0; i < 4; i++)
        CHECK(advance(&b)); /* 2.2: 6/6/12 */
    for (size_t i = 0; i < b.map.n; i++)
        b.map.entries[i].parts[D].current = false;
    b.target.hash = STR("h2");
    int64_t rolled[N] = {0};
    while (advance(&b)) {
        for (size_t c = 0; c < N; c++) {
            CHECK(b.takes[c] <= b.c[c].max_unavailable);
            rolled[c] += b.takes[c];
        }
    }
    CHECK_INT(rolled[F], 4);
    CHECK_INT(rolled[P], 4);
    CHECK_INT(rolled[D], 20);
    for (size_t i = 0; i < b.map.n; i++) {
        const struct gangmap_entry *e = &b.map.entries[i];
        CHECK(e->parts[D].n == 0 || str_is(e->hash, "h2"));
        CHECK(!str_is(e->hash, "h0"));
    }
    arena_done(&b.arena);
}

/* ---- the gate ---- */

struct fake {
    const char *waiting; /* gang that is not ready */
    int64_t pods;
    bool (*was_complete)(void *ctx, size_t entry, size_t component);
};

static bool fake_ready(void *ctx, str gang)
{
    const struct fake *f = ctx;
    return !f->waiting || !str_is(gang, f->waiting);
}

static int64_t fake_pods(void *ctx, str gang, size_t component)
{
    return ((const struct fake *)ctx)->pods;
}

static void check_gate(struct bench *b, struct fake *f, const char *want)
{
    struct coherent_live live = {fake_ready, fake_pods, NULL, f, f->was_complete};
    struct coherent_gate g = coherent_check(&b->plan, &b->map, &b->target, &live);
    CHECK_CSTR(coherent_explain(&b->arena, &g), want);
}

TEST(coherent_gate_says_what_it_waits_for)
{
    struct bench b;
    struct fake f = {.pods = 100};
    bench_init(&b, part("F", false, 20, 2, 2), part("P", true, 10, 3, 3),
               part("D", true, 20, 3, 4));
    check_gate(&b, &f, "");
    b.c[F].ready = 17;
    check_gate(&b, &f, "17 of 20 pods of F serve, 18 must stay and the next step takes 2 of them");
    b.c[F].ready = 20;
    CHECK(advance(&b)); /* 1.1 */
    const char *made = b.map.entries[b.map.n - 1].name.p;
    f.waiting = made;
    check_gate(
        &b, &f,
        arena_printf(&b.arena, "0 of the 1 gangs made last are ready; waiting for %s", made).p);
    f.waiting = NULL;
    CHECK(advance(&b)); /* 1.2 */
    CHECK(advance(&b)); /* 1.3 makes no gang: only its pods hold it up */
    f.pods = 5;
    check_gate(&b, &f,
               arena_printf(&b.arena, "5 pods of F in gang %s are ready, 6 are needed", made).p);
    f.pods = 6;
    check_gate(&b, &f, "");
    arena_done(&b.arena);
}

TEST(coherent_gate_lets_go_what_does_not_serve)
{
    struct bench b;
    struct fake f = {.pods = 100};
    bench_init(&b, part("F", false, 10, 2, 2), part("P", true, 10, 3, 3),
               part("D", true, 20, 3, 4));
    b.c[F].ready = 9;
    check_gate(&b, &f, "9 of 10 pods of F serve, 8 must stay and the next step takes 2 of them");
    b.map.entries[0].parts[F].pods_down = 1; /* it is of the old version, so it goes first */
    check_gate(&b, &f, "");
    b.c[F].ready = 0;
    b.map.entries[0].parts[F].pods_down = 10;
    check_gate(&b, &f, "");
    arena_done(&b.arena);
}

/* The first entry of the bench is the gang of all pods. */
static bool first_never_was(void *ctx, size_t entry, size_t component)
{
    (void)ctx;
    (void)component;
    return entry != 0;
}

/* Below its floor already: not taken down further, though the step would replace nothing but what
 * does not serve. */
TEST(coherent_gate_waits_for_what_is_below_its_floor)
{
    struct bench b;
    struct fake f = {.pods = 100};
    bench_init(&b, part("F", false, 10, 2, 2), part("P", true, 10, 3, 3),
               part("D", true, 20, 3, 4));
    b.c[F].ready = 6;
    b.map.entries[0].parts[F].pods_down = 4;
    check_gate(&b, &f, "6 of 10 pods of F serve, 8 must before the next step");
    b.c[F].ready = 8; /* two came back: of the two that did not the step takes both */
    b.map.entries[0].parts[F].pods_down = 2;
    check_gate(&b, &f, "");
    CHECK(advance(&b));
    b.c[F].ready = 7; /* one of the new version has gone meanwhile */
    b.map.entries[0].parts[F].pods_down = 0;
    check_gate(&b, &f, "7 of 10 pods of F serve, 8 must stay and the next step takes 1 of them");
    b.map.entries[0].parts[F].pods_down = 1; /* an old one instead: the same */
    check_gate(&b, &f, "7 of 10 pods of F serve, 8 must before the next step");
    b.map.entries[0].parts[F].pods_down = 0;
    b.c[F].ready = 8;
    check_gate(&b, &f, "8 of 10 pods of F serve, 8 must stay and the next step takes 1 of them");
    while (advance(&b))
        continue;
    b.c[F].ready = 1; /* after the last step none waits */
    check_gate(&b, &f, "");
    arena_done(&b.arena);
}

/* To wait would be to wait for ever. */
TEST(coherent_gate_waits_for_nothing_that_only_the_step_can_mend)
{
    struct bench b;
    struct fake f = {.pods = 100, .was_complete = first_never_was};
    bench_init(&b, part("F", false, 10, 2, 2), part("P", true, 10, 3, 3),
               part("D", true, 20, 3, 4));
    b.c[F].ready = 6;
    b.map.entries[0].parts[F].pods_down = 4; /* of a version that never served */
    check_gate(&b, &f, "");
    b.c[F].ready = 5; /* and one more is missing that is none of these */
    b.map.entries[0].parts[F].pods_down = 2;
    check_gate(&b, &f, "5 of 10 pods of F serve, 8 must before the next step");
    f.was_complete = NULL;
    b.c[F].ready = 0; /* where nothing serves nothing can be missed */
    b.map.entries[0].parts[F].pods_down = 10;
    check_gate(&b, &f, "");
    arena_done(&b.arena);
}

/* ---- scaling ---- */

/* Two pods of five and one copy of three have no room: the steps are made of the others. */
TEST(coherent_sets_aside_what_has_no_room)
{
    struct bench b;
    bench_init(&b, part("F", false, 5, 1, 1), part("P", true, 3, 1, 1), part("D", true, 2, 1, 1));
    b.map.entries[0].parts[F].pods_down = b.map.entries[0].parts[F].pods_roomless = 2;
    b.c[F].roomless = 2;
    unsigned char state[1] = {GANGMAP_DOWN | GANGMAP_ROOMLESS};
    for (size_t i = 0; i < b.map.n; i++) {
        if (str_is(b.map.entries[i].name, "x-0-2-P-2"))
            b.map.entries[i].parts[P].index_state = state;
    }
    b.c[P].roomless = 1;
    coherent_plan(&b.arena, &b.map, b.c, &b.plan);
    CHECK_INT(b.plan.steps, 2);
    CHECK(advance(&b));
    for (size_t c = 0; c < N; c++)
        CHECK_INT(b.takes[c], 1);
    struct fake f = {.pods = 1};
    int64_t aside[N] = {0}, gangs = 0;
    for (size_t i = 0; i < b.map.n; i++) {
        const struct gangmap_entry *e = &b.map.entries[i];
        for (size_t c = 0; e->aside && c < N; c++)
            aside[c] += e->parts[c].n;
        if (e->aside)
            f.waiting = e->name.p;
        if (!e->anchor || !str_is(e->hash, "h1"))
            continue;
        gangs++;
        CHECK_INT(e->parts[F].n, 1);
        CHECK_INT(e->parts[P].n, 1);
        CHECK_INT(e->parts[P].indices[0], 0);
    }
    CHECK_INT(gangs, 1);
    CHECK_INT(aside[F], 2);
    CHECK_INT(aside[P], 1);
    CHECK_INT(aside[D], 0);
    /* Neither the next step nor the end waits for them: P 3 - 1 - 1 must serve, F 5 - 2 - 1. */
    b.c[F].roomless = b.c[P].roomless = 0;
    b.c[F].aside = 2;
    b.c[P].aside = 1;
    b.c[F].ready = 3;
    b.c[P].ready = 2;
    coherent_plan(&b.arena, &b.map, b.c, &b.plan);
    check_gate(&b, &f, "");
    b.c[F].ready = 2;
    check_gate(&b, &f, "2 of 5 pods of F serve, 2 must stay and the next step takes 1 of them");
    b.c[F].coming = 1;
    check_gate(&b, &f, "1 pods of F are on their way to nodes");
    b.c[F].coming = 0;
    while (advance(&b))
        CHECK(b.takes[F] <= 1 && b.takes[P] <= 1 && b.takes[D] <= 1);
    for (size_t c = 0; c < N; c++)
        CHECK_INT(gangmap_units(&b.map, c, true), b.c[c].replicas);
    arena_done(&b.arena);
}

/* Half of six pods are set aside, and the number wanted is that half before the map hears of it:
 * the steps are made of what the map holds. */
TEST(coherent_plans_with_what_the_map_holds)
{
    struct bench b;
    bench_init(&b, part("F", false, 3, 1, 1), part("P", true, 3, 1, 1), part("D", true, 3, 1, 1));
    struct gangmap_entry *e = gangmap_add(&b.map, GANG_TAIL, 9, STR("h1"), STR("F"), -1);
    e->parts[F].n = 3;
    e->parts[F].current = e->aside = true;
    b.c[F].aside = 3;
    coherent_plan(&b.arena, &b.map, b.c, &b.plan);
    CHECK_INT(b.plan.paces[F].total, 3);
    CHECK_INT(b.plan.steps, 3);
    /* It hears of it: what does not serve goes, not what does. */
    CHECK(coherent_scale(&b.map, b.c, &b.target, NULL));
    CHECK(!gangmap_find(&b.map, STR("x-0-9-F")));
    CHECK_INT(b.map.entries[0].parts[F].n, 3);
    b.c[F].aside = 0;
    coherent_plan(&b.arena, &b.map, b.c, &b.plan);
    CHECK_INT(b.plan.paces[F].total, 3);
    arena_done(&b.arena);
}

/* Nothing but what is set aside is left of one component: it does not move, the others do. */
TEST(coherent_moves_nothing_that_is_all_set_aside)
{
    struct bench b;
    bench_init(&b, part("F", false, 2, 1, 1), part("P", true, 2, 1, 1), part("D", true, 2, 1, 1));
    b.map.entries[0].parts[F].n = 0;
    struct gangmap_entry *e = gangmap_add(&b.map, GANG_TAIL, 9, STR("h1"), STR("F"), -1);
    e->parts[F].n = b.c[F].aside = 2;
    e->parts[F].current = e->aside = true;
    coherent_plan(&b.arena, &b.map, b.c, &b.plan);
    CHECK_INT(b.plan.paces[F].unit, 0);
    CHECK_INT(b.plan.steps, 2);
    while (advance(&b))
        CHECK_INT(b.takes[F], 0);
    CHECK_INT(gangmap_units(&b.map, P, true), 2);
    arena_done(&b.arena);
}

TEST(coherent_scales_on_the_way)
{
    struct bench b;
    bench_init(&b, part("F", false, 10, 2, 2), part("P", true, 10, 3, 3),
               part("D", true, 20, 3, 4));
    CHECK(advance(&b));
    CHECK(advance(&b)); /* 3/3/6 */
    b.c[F].replicas = 12;
    b.c[P].replicas = 8;
    CHECK(coherent_scale(&b.map, b.c, &b.target, NULL));
    CHECK(!coherent_scale(&b.map, b.c, &b.target, NULL));
    CHECK_INT(gangmap_units(&b.map, F, true), 5); /* two more, of the new version */
    CHECK_INT(gangmap_units(&b.map, F, false), 12);
    CHECK_INT(gangmap_units(&b.map, P, true), 3); /* old ones went */
    CHECK(!gangmap_of_index(&b.map, P, 9));
    CHECK(!gangmap_of_index(&b.map, P, 8));
    CHECK(gangmap_of_index(&b.map, P, 7));
    coherent_plan(&b.arena, &b.map, b.c, &b.plan);
    while (advance(&b))
        continue;
    CHECK_INT(gangmap_units(&b.map, F, true), 12);
    CHECK_INT(gangmap_units(&b.map, P, true), 8);
    CHECK_INT(gangmap_units(&b.map, D, true), 20);
    arena_done(&b.arena);
}

TEST(coherent_scale_in_spares_gangs_of_all)
{
    struct bench b;
    bench_init(&b, part("F", false, 5, 2, 2), part("P", true, 4, 1, 1), part("D", true, 3, 1, 1));
    while (advance(&b))
        continue;
    /* {F:2, P:[0], D:[0]} {F:3, P:[2], D:[1]} P[1,3] D[2]: those alone first, the newest first. */
    b.c[P].replicas = 2;
    CHECK(coherent_scale(&b.map, b.c, &b.target, NULL));
    CHECK(!gangmap_of_index(&b.map, P, 3));
    CHECK(!gangmap_of_index(&b.map, P, 1));
    b.c[P].replicas = 1;
    CHECK(coherent_scale(&b.map, b.c, &b.target, NULL));
    CHECK(!gangmap_of_index(&b.map, P, 2));
    b.c[P].replicas = 3; /* the lowest free ones come back */
    CHECK(coherent_scale(&b.map, b.c, &b.target, NULL));
    CHECK(gangmap_of_index(&b.map, P, 1));
    CHECK(gangmap_of_index(&b.map, P, 2));
    arena_done(&b.arena);
}

TEST(coherent_scale_in_leaves_no_partner_alone)
{
    struct bench b;
    str moved = STR_NONE;
    bench_init(&b, part("F", false, 0, 1, 1), part("P", true, 2, 1, 1), part("D", true, 2, 1, 1));
    while (advance(&b))
        continue;
    CHECK_INT(b.map.n, 2); /* {P:[0], D:[0]} {P:[1], D:[1]} */
    str pair = gangmap_of_index(&b.map, P, 1)->name;
    b.c[D].replicas = 1;
    CHECK(coherent_scale(&b.map, b.c, &b.target, &moved));
    const struct gangmap_entry *own = gangmap_of_index(&b.map, P, 1);
    CHECK(!str_eq(own->name, pair));
    CHECK(!own->anchor);
    CHECK_CSTR(own->hash, "h1"); /* the same version: nothing is made anew */
    CHECK(!gangmap_find(&b.map, pair));
    CHECK_STR(moved, arena_printf(&b.arena,
                                  "1 of P were left alone in gang %.*s and have gangs of their "
                                  "own now",
                                  STR_ARG(pair)));
    /* The last anchor stays one, whatever is left in it. */
    moved = STR_NONE;
    b.c[D].replicas = 0;
    CHECK(coherent_scale(&b.map, b.c, &b.target, &moved));
    CHECK(gangmap_of_index(&b.map, P, 0)->anchor);
    CHECK(str_is_empty(moved));
    arena_done(&b.arena);
}

/* ---- any components ---- */

static int64_t draw(struct rng *r, int64_t from, int64_t to)
{
    return from + (int64_t)rng_below(r, (uint64_t)(to - from + 1));
}

static struct gangmap_component draw_part(struct rng *r, const char *name, bool group)
{
    int64_t m = draw(r, 1, 4);
    struct gangmap_component c = part(name, group, draw(r, 0, 24), m, m + draw(r, 0, 3));
    c.in_scope = draw(r, 0, 3) > 0;
    return c;
}

/* Each unit moves once, no more than allowed at a time, and it ends. */
static void check_random(struct bench *b, struct rng *r)
{
    struct slots seen[N] = {{{0}, 0}};
    int steps = 0;
    for (; steps < 500 && advance(b); steps++) {
        for (size_t c = 0; c < N; c++) {
            CHECK(b->takes[c] <= MAX(b->c[c].max_unavailable, 1));
            CHECK(b->takes[c] == 0 || b->c[c].in_scope);
            CHECK_INT(gangmap_units(&b->map, c, false), b->c[c].replicas);
        }
        if (draw(r, 0, 9) > 0)
            continue;
        size_t c = (size_t)draw(r, 0, N - 1);
        b->c[c].replicas = draw(r, 0, 24);
        (void)coherent_scale(&b->map, b->c, &b->target, NULL);
        coherent_plan(&b->arena, &b->map, b->c, &b->plan);
    }
    CHECK(steps < 500);
    for (size_t i = 0; i < b->map.n; i++) {
        const struct gangmap_entry *e = &b->map.entries[i];
        CHECK(!gangmap_is_empty(&b->map, e));
        for (size_t c = 0; c < N; c++) {
            CHECK(e->parts[c].n == 0 || !b->c[c].in_scope || e->parts[c].current);
            for (int64_t k = 0; b->c[c].is_group && k < e->parts[c].n; k++) {
                CHECK(!slots_uses(&seen[c], e->parts[c].indices[k]));
                slots_add(&seen[c], e->parts[c].indices[k]);
            }
        }
    }
    for (size_t c = 0; c < N; c++) {
        CHECK_INT(gangmap_units(&b->map, c, false), b->c[c].replicas);
        slots_done(&seen[c]);
    }
}

TEST(coherent_moves_every_unit_once_whatever_the_components)
{
    struct rng r;
    rng_seed(&r, 393);
    for (int i = 0; i < 2000; i++) {
        struct bench b;
        bench_init(&b, draw_part(&r, "F", false), draw_part(&r, "P", true),
                   draw_part(&r, "D", draw(&r, 0, 1) > 0));
        if (draw(&r, 0, 3) == 0)
            b.target.tail = COHERENT_INDEPENDENT;
        check_random(&b, &r);
        arena_done(&b.arena);
    }
}

/* Without scaling each unit is taken exactly once: as many as there are. */
TEST(coherent_takes_as_many_as_there_are)
{
    struct rng r;
    rng_seed(&r, 394);
    for (int i = 0; i < 1000; i++) {
        struct bench b;
        int64_t rolled[N] = {0};
        bench_init(&b, draw_part(&r, "F", false), draw_part(&r, "P", true),
                   draw_part(&r, "D", true));
        while (advance(&b)) {
            for (size_t c = 0; c < N; c++)
                rolled[c] += b.takes[c];
        }
        for (size_t c = 0; c < N; c++)
            CHECK_INT(rolled[c], b.c[c].in_scope ? b.c[c].replicas : 0);
        arena_done(&b.arena);
    }
}

/* ---- the object ---- */

TEST(gangmap_reads_what_it_writes)
{
    struct bench b;
    bench_init(&b, part("F", false, 10, 2, 2), part("P", true, 10, 3, 3),
               part("D", true, 20, 3, 4));
    for (int i = 0; i < 3; i++)
        CHECK(advance(&b));
    struct jw w;
    jw_init(&w);
    gangmap_write(&w, &b.map, b.c, 7);
    struct doc *d = jw_doc(&w);
    struct gangmap back;
    gangmap_init(&back, &b.arena, b.target.base, N);
    back.names = b.map.names;
    gangmap_read(&back, jgetc(doc_root(d), "entries"), b.c);
    CHECK_INT(back.n, b.map.n);
    struct jw again;
    jw_init(&again);
    gangmap_write(&again, &back, b.c, 7);
    struct doc *d2 = jw_doc(&again);
    CHECK_STR(doc_text(d2), doc_text(d));
    jval first = jat(jgetc(doc_root(d), "entries"), 0);
    CHECK(j_is_absent(jgetc(first, "dependsOn")));
    CHECK_CSTR(jstr(jgetc(first, "role")), "Anchor");
    CHECK_INT(jint(jgetc(first, "anchorIndex"), -1), 0);
    jval tail = jat(jgetc(doc_root(d), "entries"), 1);
    CHECK_CSTR(jtext(jgetc(tail, "dependsOn")), "[\"1\"]");
    CHECK_CSTR(jstr(jgetc(tail, "role")), "Tail");
    CHECK_INT(jint(jgetc(doc_root(d), "podCliqueSetReplicaIndex"), -1), 7);
    doc_unref(d);
    doc_unref(d2);
    arena_done(&b.arena);
}

static struct doc *spliced(const struct bench *b)
{
    struct splice s;
    splice_init(&s, 0, 0);
    uint32_t top = splice_open(&s, true);
    gangmap_splice(&s, &b->map, b->c, 7);
    splice_close(&s, top, 2);
    return splice_doc(&s, NULL);
}

static struct doc *written(const struct bench *b)
{
    struct jw w;
    jw_init(&w);
    gangmap_write(&w, &b->map, b->c, 7);
    return jw_doc(&w);
}

/* The map as a planner reads it: it does not change, and knows where things are. */
static void read_again(struct bench *b, const struct doc *d, struct gangmap_index *index)
{
    gangmap_init(&b->map, &b->arena, b->target.base, N);
    b->map.names.first = 2;
    gangmap_read(&b->map, jgetc(doc_root(d), "entries"), b->c);
    for (size_t i = 0; i < b->map.n; i++) {
        for (size_t c = 0; c < N; c++)
            b->map.entries[i].parts[c].current = str_eq(b->map.entries[i].hash, b->target.hash);
    }
    gangmap_index(&b->map, index);
}

/* Step by step, what is copied from before and what is new is as if all were written anew. */
TEST(gangmap_splices_what_it_writes)
{
    struct rng r;
    rng_seed(&r, 395);
    for (int i = 0; i < 200; i++) {
        struct bench b;
        bench_init(&b, draw_part(&r, "F", false), draw_part(&r, "P", true),
                   draw_part(&r, "D", true));
        for (bool more = true; more;) {
            struct gangmap_index index;
            struct doc *before = written(&b);
            read_again(&b, before, &index);
            more = advance(&b);
            struct doc *d = written(&b), *d2 = spliced(&b);
            CHECK_STR(doc_text(d2), doc_text(d));
            gangmap_index_done(&index);
            doc_unref(d);
            doc_unref(d2);
            (void)doc_hold(&b.arena, before);
        }
        arena_done(&b.arena);
    }
}

/* Something that was left out when it was read is not written again. */
TEST(gangmap_splices_no_more_than_it_read)
{
    static const char text[] =
        "[{\"anchorIndex\":0,\"epoch\":\"1\",\"pcsgReplicaIndices\":{\"P\":[0,1]},"
        "\"podCliqueSetGenerationHash\":\"h0\",\"role\":\"Anchor\"},"
        "{\"anchorIndex\":1,\"epoch\":\"2\",\"pcsgReplicaIndices\":{\"P\":[1,2],\"Q\":[3]},"
        "\"podCliqueSetGenerationHash\":\"h0\",\"role\":\"Anchor\"}]";
    struct bench b = {
        .c = {part("F", false, 0, 1, 1), part("P", true, 3, 1, 1), part("D", true, 0, 1, 1)}};
    struct gangmap_index index;
    struct doc *entries = doc_parse(STR(text), NULL, NULL);
    gangmap_init(&b.map, &b.arena, STR("x-0"), N);
    gangmap_read(&b.map, doc_root(entries), b.c);
    gangmap_index(&b.map, &index);
    b.map = gangmap_copy(&b.map);
    struct doc *d = spliced(&b);
    jval second = jat(jgetc(doc_root(d), "entries"), 1);
    CHECK_CSTR(jtext(jgetc(second, "pcsgReplicaIndices")), "{\"P\":[2]}");
    CHECK_STR(jtext(jat(jgetc(doc_root(d), "entries"), 0)), jtext(jat(doc_root(entries), 0)));
    gangmap_index_done(&index);
    doc_unref(d);
    arena_done(&b.arena);
    doc_unref(entries);
}
