/* Regular expressions of strangers: what they find, and that they end. */
#include "base/strbuf.h"
#include "base/test.h"
#include "kube/regex.h"

static enum regex_answer ask(const char *pattern, str s, uint64_t units)
{
    struct regex *r = regex_of(str_of(pattern));
    REQUIRE(r);
    return regex_search(r, s, 0, &units, NULL);
}

TEST(a_pattern_finds_what_it_says)
{
    static const struct {
        const char *pattern, *text;
        enum regex_answer want;
    } cases[] = {
        {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "web-0", REGEX_YES},
        {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "web-", REGEX_NO},
        {"b+", "abbbc", REGEX_YES},
        {"^$", "", REGEX_YES},
        {"^a$", "a\n", REGEX_NO},
        {"^.{2}$", "\xc3\xa4\xc3\xb6", REGEX_YES},
        {"^(?i)ABC$", "abc", REGEX_YES},
        {"^\\d{1,3}(\\.\\d{1,3}){3}$", "10.0.0.1", REGEX_YES},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!CHECK_INT(ask(cases[i].pattern, str_of(cases[i].text), 1000), cases[i].want))
            test_note("%s on %s", cases[i].pattern, cases[i].text);
    CHECK_INT(ask("^$", STR_NONE, 1000), REGEX_YES);
}

TEST(what_re2_does_not_know_is_no_pattern)
{
    static const char *const cases[] = {"(", "(a)\\1", "a{2,1}", "\\C", "[z-a]"};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!CHECK(!regex_of(str_of(cases[i]))))
            test_note("%s", cases[i]);
}

/* Each of them would take minutes: by going back, by beginning anew at every character, or by
 * counting up to a number that is never reached. */
TEST(steps_are_counted_whatever_the_pattern_does)
{
    static const char *const cases[] = {"^(a+)+$",          "(a*)*[yz]$",   "a*[yz]",
                                        "(.*)(.*)(.*)[yz]", "a{60000}[yz]", "(a|aa)+$",
                                        "(?:a?){300}[yz]",  "a*?a*?a*?[yz]"};
    enum { LENGTH = 200000, UNITS = 100000 };
    struct strbuf text = STRBUF_INIT(LENGTH);
    for (int i = 0; i < LENGTH; i++)
        strbuf_add_char(&text, i == LENGTH - 1 ? '!' : 'a');
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!CHECK_INT(ask(cases[i], strbuf_str(&text), UNITS), REGEX_TOO_MUCH))
            test_note("%s", cases[i]);
    /* One that means well is done in proportion to the text. */
    CHECK_INT(ask("^[a-z]*!$", strbuf_str(&text), UNITS), REGEX_YES);
    strbuf_done(&text);
}

TEST(a_search_goes_on_where_the_last_one_ended)
{
    struct regex *r = regex_of(STR("[0-9]+"));
    uint64_t left = 1000;
    str s = STR("a12b345"), span;
    CHECK_INT(regex_search(r, s, 0, &left, &span), REGEX_YES);
    CHECK_STR(span, STR("12"));
    CHECK_INT(regex_search(r, s, 3, &left, &span), REGEX_YES);
    CHECK_STR(span, STR("345"));
    CHECK_INT(regex_search(r, s, 7, &left, &span), REGEX_NO);
    CHECK(left < 1000 && left > 900);
}
