/* clean: what a terminal would obey is written out. */
#include "explain/documents/clean.h"

#include "base/test.h"

TEST(control_characters_are_written_out)
{
    static const struct {
        const char *name, *text, *all, *lines; /* all: also line breaks */
    } cases[] = {
        {"nothing to do", "plain", "plain", "plain"},
        {"empty", "", "", ""},
        {"letters of others", "Grüße 你好 🌳", "Grüße 你好 🌳", "Grüße 你好 🌳"},
        {"colour", "\033[31mred", "\\u001b[31mred", "\\u001b[31mred"},
        {"title of the window", "\033]0;x\a", "\\u001b]0;x\\u0007", "\\u001b]0;x\\u0007"},
        {"line breaks", "a\nb", "a\\nb", "a\nb"},
        {"going back", "a\rb\tc", "a\\rb\\tc", "a\\rb\\tc"},
        {"delete", "a\177b", "a\\u007fb", "a\\u007fb"},
        {"C1, which some terminals obey",
         "a\xc2\x9b"
         "31m",
         "a\\u009b31m", "a\\u009b31m"},
        {"not C1: a space that does not break",
         "a\xc2\xa0"
         "b",
         "a\xc2\xa0"
         "b",
         "a\xc2\xa0"
         "b"},
        {"at the end", "a\033", "a\\u001b", "a\\u001b"},
        {"half a letter at the end", "a\xc2", "a\xc2", "a\xc2"},
        {"several", "\a\a", "\\u0007\\u0007", "\\u0007\\u0007"},
    };
    struct arena a = ARENA_INIT;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (!CHECK_CSTR(clean_text(&a, str_of(cases[i].text), CLEAN_ALL), cases[i].all) ||
            !CHECK_CSTR(clean_text(&a, str_of(cases[i].text), CLEAN_KEEP_LINES), cases[i].lines))
            test_note("case: %s", cases[i].name);
    }
    str plain = STR("plain");
    CHECK(clean_text(&a, plain, CLEAN_ALL).p == plain.p);
    arena_done(&a);
}

TEST(documents_are_cleaned_in_depth)
{
    static const struct {
        const char *json, *want; /* NULL: as it is */
    } cases[] = {
        {"{\"a\":1}", NULL},
        {"{\"a\":[\"x\",{\"b\":\"y\"}]}", NULL},
        {"{\"a\":[\"\\u001b[1m\",{\"b\":\"\\u0007\"}]}",
         "{\"a\":[\"\\\\u001b[1m\",{\"b\":\"\\\\u0007\"}]}"},
        {"{\"\\u001b\":true}", "{\"\\\\u001b\":true}"},
        {"{\"a\":\"one\\ntwo\"}", "{\"a\":\"one\\ntwo\"}"},
        {"{\"one\\ntwo\":null}", "{\"one\\\\ntwo\":null}"},
        {"\"\\u009b\"", "\"\\\\u009b\""},
        {"[1.5,-7,\"\\\"\"]", "[1.5,-7,\"\\\"\"]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        struct doc *d = doc_parse(str_of(cases[i].json), NULL, &err);
        REQUIRE(d != NULL);
        struct doc *clean = clean_doc(doc_root(d), CLEAN_KEEP_LINES);
        CHECK((clean != NULL) == (cases[i].want != NULL));
        if (clean && cases[i].want)
            CHECK_CSTR(doc_text(clean), cases[i].want);
        doc_unref(clean);
        doc_unref(d);
    }
}
