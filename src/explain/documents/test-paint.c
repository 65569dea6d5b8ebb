/* paint: lines and columns. Standard output of a test is no terminal, so there are no colours. */
#include "explain/documents/paint.h"

#include "base/test.h"

TEST(sentences_are_wrapped_between_words)
{
    static const struct {
        const char *indent, *text;
        size_t width;
        const char *want;
    } cases[] = {
        {"", "", 10, "\n"},
        {"", "one", 10, "one\n"},
        {"", "one two", 7, "one two\n"},
        {"", "one two", 6, "one\ntwo\n"},
        {"  ", "one two three", 9, "  one two\n  three\n"},
        {"", "immeasurable", 4, "immeasurable\n"},
        {"", "größe über", 10, "größe über\n"},
        {"", "größe über", 9, "größe\nüber\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf b = STRBUF_INIT(1 << 10);
        paint_wrap(&b, str_of(cases[i].indent), str_of(cases[i].text), cases[i].width);
        CHECK_CSTR(strbuf_str(&b), cases[i].want);
        strbuf_done(&b);
    }
}

TEST(bars_stay_within_their_ends)
{
    static const struct {
        int64_t done, all;
        int full;
    } cases[] = {{0, 0, 0},    {0, 10, 0},   {1, 10, 2},  {5, 10, 10},
                 {10, 10, 20}, {11, 10, 20}, {-1, 10, 0}, {INT64_MAX, INT64_MAX, 20}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct strbuf b = STRBUF_INIT(1 << 10), want = STRBUF_INIT(1 << 10);
        paint_bar(&b, cases[i].done, cases[i].all);
        strbuf_add_char(&want, '[');
        for (int k = 0; k < 20; k++)
            strbuf_add_cstr(&want, k < cases[i].full ? "█" : "·");
        strbuf_add_char(&want, ']');
        CHECK_STR(strbuf_str(&b), strbuf_str(&want));
        strbuf_done(&b);
        strbuf_done(&want);
    }
}

TEST(numbers_have_their_words)
{
    CHECK_CSTR(str_of(paint_plural(0)), "s");
    CHECK_CSTR(str_of(paint_plural(1)), "");
    CHECK_CSTR(str_of(paint_plural(2)), "s");
    CHECK_CSTR(str_of(paint_verb(1, "is", "are")), "is");
    CHECK_CSTR(str_of(paint_verb(0, "is", "are")), "are");
}

TEST(columns_are_aligned)
{
    struct arena a = ARENA_INIT;
    struct strbuf b = STRBUF_INIT(1 << 12);
    struct grid g;
    grid_init(&g, &a, 3);
    g.indent = "  ";
    static const char *const cells[] = {"NAME", "READY", "NODE", "größer", "1/1",
                                        "n1",   "x",     "",     ""};
    for (size_t i = 0; i < ARRAY_LEN(cells); i++)
        grid_add(&g, i == 3 ? PAINT_BAD : PAINT_PLAIN, str_of(cells[i]));
    grid_write(&g, &b);
    CHECK_CSTR(strbuf_str(&b), "  NAME     READY   NODE\n"
                               "  größer   1/1     n1\n"
                               "  x\n");
    strbuf_reset(&b);
    grid_init(&g, &a, 1);
    for (int i = 0; i < 100; i++)
        grid_printf(&g, PAINT_PLAIN, "%d", i);
    grid_write(&g, &b);
    CHECK_INT(g.n_cells, 100);
    CHECK(str_ends(strbuf_str(&b), STR("\n98\n99\n")));
    strbuf_done(&b);
    arena_done(&a);
}

TEST(states_have_the_colour_of_what_they_mean)
{
    static const struct {
        const char *state;
        enum paint want;
    } cases[] = {{"Ready", PAINT_GOOD},
                 {"available", PAINT_GOOD},
                 {"failed", PAINT_BAD},
                 {"stuck", PAINT_BAD},
                 {"degraded", PAINT_BAD},
                 {"CrashLoopBackOff", PAINT_BAD},
                 {"waiting", PAINT_WAIT},
                 {"Pending", PAINT_WAIT},
                 {"Terminating", PAINT_DIM},
                 {"stopped", PAINT_DIM},
                 {"", PAINT_DIM},
                 {"-", PAINT_DIM},
                 {"SomethingNew", PAINT_WAIT},
                 {"ErrImagePull", PAINT_BAD},
                 {"InvalidImageName", PAINT_BAD},
                 {"CreateContainerConfigError", PAINT_BAD}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(paint_of_state(str_of(cases[i].state)), cases[i].want);
}
