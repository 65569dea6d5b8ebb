/* Units above the number wanted: how many, since when, until when. */
#include "base/test.h"
#include "operator/common/surge.h"
#include "operator/test-ring.h"
#include "operator/update/surge_map.h"

/* Three units, one may be above, nothing may be missing. */
static struct surge_facts facts(int64_t held, int64_t outdated, int64_t staying)
{
    return (struct surge_facts){.most = 1,
                                .desired = 3,
                                .held = held,
                                .outdated = outdated,
                                .staying = staying,
                                .rolls = true};
}

TEST(as_many_are_surged_as_are_allowed_and_are_old)
{
    struct surge_facts f = facts(0, 3, 3);
    CHECK_INT(surge_next(&f), 1);
    f.most = 5;
    CHECK_INT(surge_next(&f), 3);
    f.outdated = 2;
    CHECK_INT(surge_next(&f), 2);
    f.most = 0;
    CHECK_INT(surge_next(&f), 0);
}

TEST(a_surge_does_not_shrink_with_what_is_left_to_do)
{
    struct surge_facts f = facts(2, 1, 3);
    f.most = 2;
    CHECK_INT(surge_next(&f), 2);
    f.most = 1; /* less is allowed by now */
    CHECK_INT(surge_next(&f), 1);
}

TEST(a_surge_ends_when_the_others_serve)
{
    struct surge_facts f = facts(1, 0, 2);
    CHECK_INT(surge_next(&f), 1);
    f.staying = 3;
    CHECK_INT(surge_next(&f), 0);
    f.filling = true; /* an index of its own is still free */
    CHECK_INT(surge_next(&f), 1);
    f.filling = false;
    f.staying = 2;
    f.allowance = 1; /* one may be missing */
    CHECK_INT(surge_next(&f), 0);
}

TEST(paused_nothing_comes_and_nothing_goes)
{
    struct surge_facts f = facts(0, 3, 3);
    f.rolls = false;
    CHECK_INT(surge_next(&f), 0);
    f.held = 1;
    CHECK_INT(surge_next(&f), 1);
    f.outdated = 0;
    CHECK_INT(surge_next(&f), 1);
}

TEST(what_finds_no_place_is_given_up_and_not_tried_again)
{
    struct surge_facts f = facts(2, 3, 3);
    f.most = 2;
    f.placed = 1;
    f.times_out = true;
    CHECK_INT(surge_next(&f), 1);
    f.placed = 0;
    CHECK_INT(surge_next(&f), 0);
    f.times_out = false;
    f.timed_out = true;
    f.held = 0;
    CHECK_INT(surge_next(&f), 0);
    f.held = 1; /* what has its place stays */
    CHECK_INT(surge_next(&f), 1);
}

/* ---- what is said ---- */

static int64_t said(const char *strategy, const char *component, int64_t replicas)
{
    char text[512];
    (void)snprintf(text, sizeof(text),
                   "{\"kind\":\"PodCliqueSet\",\"metadata\":{\"name\":\"x\"},\"spec\":{"
                   "\"updateStrategy\":{%s},\"template\":{%s}}}",
                   strategy, component);
    struct obj *pcs = obj_new(&kind_pcs, doc_parse(str_of(text), NULL, NULL), NULL);
    int64_t n = surge_said(pcs, jgetc(obj_spec(pcs), "template"), replicas);
    obj_unref(pcs);
    return n;
}

TEST(percent_are_of_the_replicas_and_rounded_up)
{
#define SET(n) "\"rollingUpdate\":{\"maxSurge\":" n "}"
    CHECK_INT(said("", "", 10), 0);
    CHECK_INT(said(SET("2"), "", 10), 2);
    CHECK_INT(said(SET("\"25%\""), "", 10), 3);
    CHECK_INT(said(SET("\"1%\""), "", 1), 1);
    CHECK_INT(said(SET("\"100%\""), "", 7), 7);
    CHECK_INT(said(SET("\"0%\""), "", 7), 0);
    CHECK_INT(said(SET("\"many\""), "", 7), 0);
    CHECK_INT(said(SET("-3"), "", 7), 0);
    CHECK_INT(said(SET("2"), SET("5"), 7), 5);
    CHECK_INT(said(SET("2"), SET("0"), 7), 0);
#undef SET
}

/* ---- maps ---- */

enum { F, D, N };

/* Four front ends and three replicas of a group in one gang of all and two of its own. */
struct bench {
    struct arena arena;
    struct gangmap_view view;
    struct gangmap_component c[N];
    struct coherent_update u;
};

static void bench_init(struct bench *b)
{
    *b = (struct bench){.c = {{.name = STR("f"),
                               .in_scope = true,
                               .replicas = 4,
                               .min_available = 2,
                               .max_unavailable = 2,
                               .max_surge = 1},
                              {.name = STR("d"),
                               .is_group = true,
                               .in_scope = true,
                               .replicas = 3,
                               .min_available = 1,
                               .max_unavailable = 1,
                               .max_surge = 1}}};
    b->view = (struct gangmap_view){.arena = &b->arena, .components = b->c, .base = STR("x-0")};
    gangmap_init(&b->view.map, &b->arena, b->view.base, N);
    b->view.map.names.first = 2;
    struct gangmap_entry *e = gangmap_add(&b->view.map, GANG_ANCHOR, 1, STR("h0"), STR_NONE, -1);
    e->parts[F].n = 4;
    gangmap_add_index(&b->view.map, &e->parts[D], 0);
    for (int32_t i = 1; i < 3; i++) {
        e = gangmap_add(&b->view.map, GANG_TAIL, 2, STR("h0"), STR("d"), i);
        gangmap_add_index(&b->view.map, &e->parts[D], i);
    }
    b->u = (struct coherent_update){
        .view = &b->view, .target = {STR("x-0"), STR("h1"), INT64_C(1790000000000000), 0}};
}

static void surge_step(struct bench *b)
{
    coherent_plan(&b->arena, &b->view.map, b->c, &b->u.plan);
    CHECK(coherent_next(&b->u.plan, &b->view.map, &b->u.next));
    b->view.map = surge_map_add(&b->u, &b->view);
    b->u.target.now += 1000000;
}

TEST(the_first_half_of_a_step_leaves_what_is_old)
{
    struct bench b;
    bench_init(&b);
    surge_step(&b);
    const struct gangmap *m = &b.view.map;
    CHECK_INT((int64_t)m->n, 4);
    CHECK_INT(gangmap_units(m, F, false), 6);
    CHECK_INT(gangmap_units(m, F, true), 2);
    CHECK_INT(gangmap_units(m, D, false), 4);
    CHECK_INT(b.c[F].surged, 2); /* whole minimums move */
    CHECK_INT(b.c[D].surged, 1);
    CHECK_INT(m->entries[0].parts[F].n, 4);
    CHECK_INT(m->entries[3].parts[D].indices[0], 3); /* the lowest that nobody has */
    CHECK(m->entries[3].anchor);
    arena_done(&b.arena);
}

TEST(the_second_half_takes_as_much_that_is_old)
{
    struct bench b;
    bench_init(&b);
    surge_step(&b);
    b.view.map = surge_map_finish(&b.view);
    const struct gangmap *m = &b.view.map;
    CHECK_INT(gangmap_units(m, F, false), 4);
    CHECK_INT(gangmap_units(m, F, true), 2);
    CHECK_INT(gangmap_units(m, D, false), 3);
    CHECK_INT(gangmap_units(m, D, true), 1);
    CHECK_INT(b.c[F].surged + b.c[D].surged, 0);
    CHECK(!gangmap_of_index(m, D, 0)); /* the lowest goes first */
    surge_step(&b);
    CHECK(gangmap_of_index(&b.view.map, D, 0) != NULL);
    arena_done(&b.arena);
}

TEST(a_half_step_is_taken_back_whole)
{
    struct bench b;
    bench_init(&b);
    surge_step(&b);
    b.view.map = surge_map_undo(&b.view, STR("h1"));
    const struct gangmap *m = &b.view.map;
    CHECK_INT((int64_t)m->n, 3);
    CHECK_INT(gangmap_units(m, F, false), 4);
    CHECK_INT(gangmap_units(m, D, false), 3);
    CHECK_INT(gangmap_units(m, F, true) + gangmap_units(m, D, true), 0);
    arena_done(&b.arena);
}

/* Scaled in meanwhile: nothing more goes than is too much. */
TEST(only_what_is_too_much_goes)
{
    struct bench b;
    bench_init(&b);
    surge_step(&b);
    b.c[F].replicas = 5;
    b.c[D].replicas = 4;
    b.view.map = surge_map_finish(&b.view);
    CHECK_INT(gangmap_units(&b.view.map, F, false), 5);
    CHECK_INT(gangmap_units(&b.view.map, D, false), 4);
    arena_done(&b.arena);
}

TEST(scaling_between_the_halves_keeps_what_is_above)
{
    struct bench b;
    str moved;
    bench_init(&b);
    surge_step(&b);
    b.c[F].replicas = 6;
    CHECK(coherent_scale(&b.view.map, b.c, &b.u.target, &moved));
    CHECK_INT(gangmap_units(&b.view.map, F, false), 8);
    CHECK_INT(gangmap_units(&b.view.map, D, false), 4);
    arena_done(&b.arena);
}

/* ---- in place, on a map ---- */

TEST(what_is_above_in_place_comes_and_goes_at_the_upper_end)
{
    struct bench b;
    int64_t more[N] = {1, 2}, less[N] = {-1, -2};
    bench_init(&b);
    struct gangmap before = gangmap_copy(&b.view.map);
    struct gangmap_part *p = &b.view.map.entries[1].parts[D];
    p->indices[0] += 5; /* a hole, as coherent updates leave them */
    int32_t top = p->indices[0];
    coherent_raise(&b.view.map, b.c, &b.u.target, more);
    const struct gangmap *m = &b.view.map;
    CHECK_INT((int64_t)m->n, 5); /* copies in gangs of their own, the pod in the gang of all */
    CHECK_INT(m->entries[0].parts[F].n, 5);
    CHECK_INT(m->entries[3].parts[D].indices[0], top + 1);
    CHECK_INT(m->entries[4].parts[D].indices[0], top + 2);
    CHECK(!m->entries[3].anchor);
    CHECK(str_eq(m->entries[3].hash, b.u.target.hash));
    coherent_raise(&b.view.map, b.c, &b.u.target, less);
    CHECK_INT((int64_t)m->n, (int64_t)before.n);
    for (size_t i = 0; i < before.n; i++)
        CHECK(str_eq(m->entries[i].name, before.entries[i].name));
    CHECK_INT(gangmap_units(m, F, false), gangmap_units(&before, F, false));
    CHECK_INT(gangmap_units(m, D, false), gangmap_units(&before, D, false));
    CHECK_INT(m->entries[1].parts[D].indices[0], top);
    arena_done(&b.arena);
}

/* No more goes than there is. */
TEST(what_is_not_there_cannot_go)
{
    struct bench b;
    int64_t less[N] = {-100, -100};
    bench_init(&b);
    coherent_raise(&b.view.map, b.c, &b.u.target, less);
    CHECK_INT((int64_t)b.view.map.n, 0);
    arena_done(&b.arena);
}
