/* Regular expressions: RE2's meaning, case by case; what is refused; that time and memory are
 * bounded. Expectations are those of RE2's syntax (github.com/google/re2/wiki/Syntax). */
#include "base/strbuf.h"
#include "base/test.h"
#include "kube/regex/regex_impl.h"

#define PLENTY (UINT64_C(1) << 40)

static struct regex *must_have(const char *pattern)
{
    struct err err = ERR_INIT;
    struct regex *r = regex_of(str_of(pattern), NULL, &err);
    if (!CHECK(r != NULL))
        test_note("%s: %s", pattern, err.message);
    REQUIRE(r);
    return r;
}

/* ---- what matches ---- */

static const struct {
    const char *pattern, *text;
    const char *want; /* what is found first; NULL: nothing */
} cases[] = {
    /* characters */
    {"", "", ""},
    {"", "abc", ""},
    {"b", "abc", "b"},
    {"bc", "abc", "bc"},
    {"d", "abc", NULL},
    {"é", "café", "é"},
    {"a.c", "abc", "abc"},
    {"a.c", "aéc", "aéc"},
    {"a.c", "a\nc", NULL},
    {"(?s)a.c", "a\nc", "a\nc"},
    {"a\\.c", "abc", NULL},
    {"a\\.c", "a.c", "a.c"},
    {"\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\^\\$\\\\", "*+?()[]{}|^$\\", "*+?()[]{}|^$\\"},
    {"\\_\\-\\/\\:", "_-/:", "_-/:"},
    {"\\a\\f\\t\\n\\r\\v", "\a\f\t\n\r\v", "\a\f\t\n\r\v"},
    {"\\x41\\x{42}\\x{1F600}", "AB😀", "AB😀"},
    {"\\101\\0602", "A02", "A02"},
    {"\\Qa.*b\\E+", "a.*bbb", "a.*bbb"},
    {"\\Qa.*", "a.*", "a.*"},
    {"a\\Q\\E*b", "aab", "aab"},
    {"{", "{", "{"},
    {"a{", "a{", "a{"},
    {"a{,2}", "a{,2}", "a{,2}"},
    {"a{1", "a{1", "a{1"},
    {"a{01}", "a{01}", "a{01}"},
    {"]}", "]}", "]}"},

    /* order */
    {"a|b", "b", "b"},
    {"a|ab", "ab", "a"},
    {"ab|a", "ab", "ab"},
    {"(a|ab)(c|bcd)", "abcd", "abcd"},
    {"|a", "a", ""},
    {"a|", "b", ""},
    {"a||b", "b", ""},
    {"abc|b", "xbabc", "b"},
    {"x*", "aaa", ""},
    {"b*|a", "a", ""},

    /* repetition */
    {"ab*c", "ac", "ac"},
    {"ab*c", "abbbc", "abbbc"},
    {"ab+c", "ac", NULL},
    {"ab+c", "abbc", "abbc"},
    {"ab?c", "abbc", NULL},
    {"ab?c", "ac", "ac"},
    {"a{3}", "aaaa", "aaa"},
    {"a{3}", "aa", NULL},
    {"a{2,3}", "aaaa", "aaa"},
    {"a{2,3}?", "aaaa", "aa"},
    {"a{2,}", "aaaa", "aaaa"},
    {"a{2,}?", "aaaa", "aa"},
    {"a{0}b", "ab", "b"},
    {"a{0,1}b", "aab", "ab"},
    {"a*?", "aaa", ""},
    {"a+?", "aaa", "a"},
    {"a??b", "ab", "ab"},
    {"(?U)a+", "aaa", "a"},
    {"(?U)a+?", "aaa", "aaa"},
    {"<.+>", "<a><b>", "<a><b>"},
    {"<.+?>", "<a><b>", "<a>"},
    {"(ab)*", "ababa", "abab"},
    {"(?:ab){2}", "ababab", "abab"},
    {"(a*)*b", "aaab", "aaab"},
    {"(a*)+", "b", ""},
    {"(a|b)*c", "abac", "abac"},
    {"(|a)*", "aaa", ""},
    {"(|a)+", "aaa", ""},
    {"(a|)+", "aaa", "aaa"},
    {"(?:a{2}){3}", "aaaaaaa", "aaaaaa"},
    {"^*a", "a", "a"},
    {"(?:^)*a", "ba", "a"},
    {"a{1000}", "aaa", NULL},

    /* classes */
    {"[abc]", "xb", "b"},
    {"[a-c]+", "xabcd", "abc"},
    {"[^a-c]+", "abxyc", "xy"},
    {"[^a]", "\n", "\n"},
    {"[]a]+", "]a]", "]a]"},
    {"[^]a]", "]ab", "b"},
    {"[a-]+", "a-a", "a-a"},
    {"[-a]+", "a-a", "a-a"},
    {"[a\\-z]+", "-", "-"},
    {"[a\\-z]+", "b", NULL},
    {"[a-c-e]+", "b-e", "b-e"},
    {"[.*]+", "a.*", ".*"},
    {"[\\d]+", "a12", "12"},
    {"[\\D]+", "12ab", "ab"},
    {"[^\\D]", "a1", "1"},
    {"[\\w.]+", "-a.b", "a.b"},
    {"[\\n]", "\n", "\n"},
    {"[\\x61-\\x{7a}]+", "Abc", "bc"},
    {"[[:alpha:]]+", "1ab2", "ab"},
    {"[[:^alpha:]]+", "ab12", "12"},
    {"[[:digit:][:punct:]]+", "a1.!", "1.!"},
    {"[[:space:]]", "\v", "\v"},
    {"[[:word:]]+", "-a_9-", "a_9"},
    {"[[:xdigit:]]+", "xyzBeef", "Beef"},
    {"[[:ascii:]]+", "éab", "ab"},
    {"[[:upper:]][[:lower:]]", "aBc", "Bc"},
    {"[[:cntrl:][:blank:]]", "a\x7f", "\x7f"},
    {"[[:graph:]]+", " a! ", "a!"},
    {"[[:print:]]+", "\ta b\n", "a b"},
    {"[[:alnum:]]+", "-a1-", "a1"},
    {"[:alpha:]+", "xpath:", "pa"},
    {"[[a]+", "[a", "[a"},
    {"[à-ý]+", "aéñz", "éñ"},
    {"[^\\x00-\\x7f]+", "aéñz", "éñ"},
    {"[😀-😎]", "a😃", "😃"},

    /* Perl's classes are ASCII */
    {"\\d+", "a12", "12"},
    {"\\d", "٣", NULL},
    {"\\D", "٣", "٣"},
    {"\\w+", "-aZ_9é", "aZ_9"},
    {"\\w", "é", NULL},
    {"\\W", "é", "é"},
    {"\\s+", "a \t\n\f\rb", " \t\n\f\r"},
    {"\\s", "\v", NULL},
    {"\\s", "\xc2\xa0", NULL},
    {"\\S+", " ab ", "ab"},

    /* Unicode's */
    {"\\pN+", "a1٣", "1٣"},
    {"\\p{Nd}", "Ⅷ", NULL},
    {"\\p{Nl}", "Ⅷ", "Ⅷ"},
    {"\\pL+", "1aßЖ中", "aßЖ中"},
    {"\\PL+", "a12", "12"},
    {"\\p{^L}+", "a12", "12"},
    {"\\P{^L}+", "12ab", "ab"},
    {"\\p{Greek}+", "aαβγb", "αβγ"},
    {"\\p{Cyrillic}+", "aЖб", "Жб"},
    {"\\p{Han}+", "a中文b", "中文"},
    {"\\p{Latin}+", "αabcé", "abcé"},
    {"\\P{Greek}", "αb", "b"},
    {"\\p{Lu}\\p{Ll}+", "aBcd", "Bcd"},
    {"\\p{Lt}", "ǅ", "ǅ"},
    {"\\p{LC}+", "1aAǅ", "aAǅ"},
    {"\\p{Letter}", "1é", "é"},
    {"\\p{greek}", "α", "α"},
    {"\\p{Old_Italic}", "𐌀", "𐌀"},
    {"\\p{Sc}", "a€", "€"},
    {"\\pZ", "a\xc2\xa0", "\xc2\xa0"},
    {"\\p{Any}", "\n", "\n"},
    {"\\p{Assigned}", "a", "a"},
    {"[\\p{Greek}\\d]+", "aα1b", "α1"},
    {"[^\\p{Greek}]+", "αab", "ab"},
    {"\\p{Zs}", "　", "　"},
    {"\\p{So}", "😀", "😀"},

    /* places */
    {"^a", "ba", NULL},
    {"^a", "ab", "a"},
    {"a$", "ba", "a"},
    {"a$", "a\n", NULL},
    {"^a$", "a\nb", NULL},
    {"(?m)^b$", "a\nb\nc", "b"},
    {"(?m)a$", "a\n", "a"},
    {"(?m)^$", "a\n\nb", ""},
    {"(?m)\\Ab", "a\nb", NULL},
    {"(?m)a\\z", "a\nb", NULL},
    {"\\Aab\\z", "ab", "ab"},
    {"^$", "", ""},
    {"^^a$$", "a", "a"},
    {"a^b", "ab", NULL},
    {"a$b", "ab", NULL},
    {"(^a|b)c", "bc", "bc"},
    {"(^a|^b)c", "xbc", NULL},
    {"\\bfoo\\b", "a foo.", "foo"},
    {"\\bfoo\\b", "afoo", NULL},
    {"\\Boo", "foo", "oo"},
    {"\\B", "a", NULL},
    {"\\b", "-", NULL},
    {"\\B", "", ""},
    {"\\bé", " é", NULL},
    {"a\\b", "aé", "a"},
    {"x*$", "xxy", ""},

    /* case */
    {"(?i)abc", "xAbC", "AbC"},
    {"(?i)[a-c]+", "xABc", "ABc"},
    {"(?i)[^a]", "A", NULL},
    {"a(?i)b", "AB", NULL},
    {"a(?i)b", "aB", "aB"},
    {"a(?i:b)c", "aBc", "aBc"},
    {"a(?i:b)c", "aBC", NULL},
    {"(?i)a(?-i)b", "Ab", "Ab"},
    {"(?i)a(?-i)b", "AB", NULL},
    {"(?i)straße", "STRAẞE", "STRAẞE"},
    {"(?i)σ+", "Σσς", "Σσς"},
    {"(?i)k", "\xe2\x84\xaa", "\xe2\x84\xaa"},
    {"(?i)\\w", "ſ", "ſ"},
    {"(?i)\\x41", "a", "a"},
    {"(?i)\\p{Lu}", "a", "a"},
    {"(?i)[[:upper:]]", "a", "a"},
    {"(?i)жук", "ЖУК", "ЖУК"},

    /* groups and flags */
    {"(a)(b)", "ab", "ab"},
    {"(?P<first>a)(?<second>b)", "ab", "ab"},
    {"(?P<n>a)(?P<n>b)", "ab", "ab"},
    {"()", "a", ""},
    {"(?:)", "a", ""},
    {"(?)a", "a", "a"},
    {"(?is)a.B", "A\nb", "A\nb"},
    {"(?i-s)A.b", "a\nB", NULL},
    {"(a(?i)b)c", "aBc", "aBc"},
    {"(a(?i)b)c", "aBC", NULL},
    {"(?i)a|b", "B", "B"},
    {"(?s:.)(?-s:.)", "\n\n", NULL},
    {"(((((((((((a)))))))))))", "a", "a"},

    /* what is no UTF-8 */
    {".", "\xff", "\xff"},
    {"^.{3}$", "\xe4\xb8\xff", "\xe4\xb8\xff"},
    {"\\x{fffd}", "\x80", "\x80"},
    {"[^a]", "\xc0\x80", "\xc0"},

    /* names as Kubernetes has them */
    {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "web-0", "web-0"},
    {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "web-", NULL},
    {"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "", NULL},
    {"^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\\.)+[a-z]{2,}$", "a.b-c.example", "a.b-c.example"},
    {"^\\d{1,3}(\\.\\d{1,3}){3}$", "10.0.0.1", "10.0.0.1"},
    {"^\\d{1,3}(\\.\\d{1,3}){3}$", "10.0.0", NULL},
    {"^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$", "", ""},
    {"^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$", "v1beta2", "v1beta2"},
    {"^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$", "v1gamma", NULL},
    {"^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+("
     "\\.[0-9]*)?)|(\\.[0-9]+))))?$",
     "1.5Gi", "1.5Gi"},
};

TEST(a_pattern_finds_what_re2_says)
{
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct regex *r = must_have(cases[i].pattern);
        str s = str_of(cases[i].text), span = STR_NONE;
        uint64_t left = PLENTY;
        enum regex_answer want = cases[i].want ? REGEX_YES : REGEX_NO;
        bool ok = CHECK_INT(regex_search(r, s, 0, &left, &span), want);
        if (ok && cases[i].want)
            ok = CHECK_STR(span, str_of(cases[i].want));
        /* twice: made, and remembered */
        ok &= CHECK_INT(regex_matches(r, s, &left), want);
        ok &= CHECK_INT(regex_matches(r, s, &left), want);
        if (!ok)
            test_note("%s on %s", cases[i].pattern, cases[i].text);
    }
    CHECK(ARRAY_LEN(cases) >= 150);
    uint64_t left = PLENTY;
    CHECK_INT(regex_matches(must_have("^$"), STR_NONE, &left), REGEX_YES);
}

/* ---- what is refused ---- */

static const struct {
    const char *pattern, *why;
} refused[] = {
    {"(?=a)b", "invalid or unsupported Perl syntax: `(?=` at byte 0"},
    {"a(?!b)", "invalid or unsupported Perl syntax: `(?!` at byte 1"},
    {"(?<=a)b", "invalid or unsupported Perl syntax: `(?<=` at byte 0"},
    {"x(?<!a)b", "invalid or unsupported Perl syntax: `(?<!` at byte 1"},
    {"(?>a)", "invalid or unsupported Perl syntax: `(?>` at byte 0"},
    {"a(?R)", "invalid or unsupported Perl syntax: `(?R` at byte 1"},
    {"(?1)", "invalid or unsupported Perl syntax: `(?1` at byte 0"},
    {"(?P=n)", "invalid or unsupported Perl syntax: `(?P` at byte 0"},
    {"(?#comment)", "invalid or unsupported Perl syntax: `(?#` at byte 0"},
    {"(?x)a", "invalid or unsupported Perl syntax: `(?x` at byte 0"},
    {"(?i-)a", "invalid or unsupported Perl syntax: `(?i-)` at byte 0"},
    {"(?i", "invalid or unsupported Perl syntax: `(?i` at byte 0"},
    {"(a)\\1", "invalid escape sequence: `\\1` at byte 3"},
    {"(?P<a>x)\\k<a>", "invalid escape sequence: `\\k` at byte 8"},
    {"\\8", "invalid escape sequence: `\\8` at byte 0"},
    {"\\C", "invalid escape sequence: `\\C` at byte 0"},
    {"a\\Z", "invalid escape sequence: `\\Z` at byte 1"},
    {"\\G", "invalid escape sequence: `\\G` at byte 0"},
    {"\\h", "invalid escape sequence: `\\h` at byte 0"},
    {"\\é", "invalid escape sequence: `\\é` at byte 0"},
    {"\\x4", "invalid escape sequence: `\\x4` at byte 0"},
    {"\\x{110000}", "invalid escape sequence: `\\x{110000` at byte 0"},
    {"\\x{}", "invalid escape sequence: `\\x{}` at byte 0"},
    {"[\\b]", "invalid escape sequence: `\\b` at byte 1"},
    {"a\\", "trailing backslash at end of expression: `\\` at byte 1"},
    {"a(b", "missing closing ): `(b` at byte 1"},
    {"a)b", "unexpected ): `)b` at byte 1"},
    {"a[b", "missing closing ]: `[b` at byte 1"},
    {"[]", "missing closing ]: `[]` at byte 0"},
    {"[z-a]", "invalid character class range: `z-a` at byte 1"},
    {"[a-\\d]", "invalid escape sequence: `\\d` at byte 3"},
    {"[[:nope:]]", "invalid character class range: `[:nope:]` at byte 1"},
    {"\\p{Nope}", "invalid character class range: `\\p{Nope}` at byte 0"},
    {"a\\pX", "invalid character class range: `\\pX` at byte 1"},
    {"\\p{Greek", "invalid character class range: `\\p{Greek` at byte 0"},
    {"*a", "missing argument to repetition operator: `*` at byte 0"},
    {"a|*", "missing argument to repetition operator: `*` at byte 2"},
    {"(+)", "missing argument to repetition operator: `+` at byte 1"},
    {"a**", "invalid nested repetition operator: `**` at byte 1"},
    {"a*+", "invalid nested repetition operator: `*+` at byte 1"},
    {"a{2}{3}", "invalid nested repetition operator: `{2}{3}` at byte 1"},
    {"a{1001}", "invalid repeat count: `{1001}` at byte 1"},
    {"a{2,1}", "invalid repeat count: `{2,1}` at byte 1"},
    {"a{99999999999}", "invalid repeat count: `{99999999999}` at byte 1"},
    {"(a{1000}){1000}", "invalid repeat count: `{1000}` at byte 9"},
    {"((a{100}){10}){2}", "invalid repeat count: `{2}` at byte 14"},
    {"(?P<>a)", "invalid named capture: `(?P<>` at byte 0"},
    {"(?P<a-b>a)", "invalid named capture: `(?P<a-b>` at byte 0"},
    {"(?<a", "invalid named capture: `(?<a` at byte 0"},
};

TEST(what_re2_does_not_have_is_refused_with_what_and_where)
{
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        struct err err = ERR_INIT;
        struct strbuf want = STRBUF_INIT(1024);
        strbuf_printf(&want, "error parsing regexp: %s", refused[i].why);
        CHECK(!regex_of(str_of(refused[i].pattern), NULL, &err));
        if (!CHECK_STR(str_of(err.message), strbuf_str(&want)))
            test_note("%s", refused[i].pattern);
        strbuf_done(&want);
    }
    struct err err = ERR_INIT;
    CHECK(!regex_of(STR("a\xff"), NULL, &err));
    CHECK(str_find(str_of(err.message), STR("invalid UTF-8")) > 0);
}

/* A piece again and again. */
static str many(struct strbuf *b, const char *before, const char *piece, size_t n,
                const char *after)
{
    strbuf_reset(b);
    strbuf_add_cstr(b, before);
    for (size_t i = 0; i < n; i++)
        strbuf_add_cstr(b, piece);
    strbuf_add_cstr(b, after);
    return strbuf_str(b);
}

TEST(patterns_that_are_too_large_are_refused)
{
    static const struct {
        const char *before, *piece;
        size_t n;
        const char *after, *why; /* NULL: it is fine */
    } large[] = {
        {"", "a", 40000, "", "expression too large"},
        {"", "a", 19000, "", NULL},
        {"(", "abcdefghij", 3, "){1000}", "expression too large"},
        {"(", "abcdefghij", 1, "){1000}", NULL},
        {"", "(", 1001, "", "expression nests too deeply"},
        {"", "(?:", 2000, "", "expression nests too deeply"},
        {"", "(a{2}){2}", 1000, "", NULL},
        {"", "\\pL", 5000, "", "expression too large"},
        {"", "\\pL", 50, "", NULL},
        {"(?i)", "\\pL", 500, "", "expression too large"},
    };
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (size_t i = 0; i < ARRAY_LEN(large); i++) {
        struct err err = ERR_INIT;
        str pattern = many(&b, large[i].before, large[i].piece, large[i].n, large[i].after);
        struct regex *r = regex_of(pattern, NULL, &err);
        if (!CHECK_INT(r != NULL, large[i].why == NULL) ||
            (large[i].why && !CHECK(str_find(str_of(err.message), str_of(large[i].why)) > 0)))
            test_note("%zu: %s", i, err.message);
    }
    strbuf_done(&b);
}

/* ---- time ---- */

/* Each of them takes for ever where matching goes back and tries again. */
static const struct {
    const char *pattern, *piece, *end;
    enum regex_answer want;
} hard[] = {
    {"^(a+)+$", "a", "!", REGEX_NO},
    {"(a*)*b", "a", "", REGEX_NO},
    {"(a*)*[yz]$", "a", "!", REGEX_NO},
    {"(a|aa)+$", "a", "!", REGEX_NO},
    {"(a|a)*b", "a", "", REGEX_NO},
    {"a*[yz]", "a", "!", REGEX_NO},
    {"(.*)(.*)(.*)[yz]", "a", "!", REGEX_NO},
    {"(x+x+)+y", "x", "", REGEX_NO},
    {"x{0,1000}y", "x", "", REGEX_NO},
    {"(?:a?){300}[yz]", "a", "!", REGEX_NO},
    {"a*?a*?a*?[yz]", "a", "!", REGEX_NO},
    {"(a|b)*a(a|b){12}c", "ab", "", REGEX_NO},
    {"^([a-zA-Z0-9]+\\s?)+$", "word", "!", REGEX_NO},
    {"(\\w+\\b)*!$", "ab", "", REGEX_NO},
    {"(?i)(k|ſ|[a-zà-ý])+[0-9]$", "é", "", REGEX_NO},
    {"^[a-z]*!$", "a", "!", REGEX_YES},
};

/* What validation may spend on one object, for a text as long as they come, is enough. */
TEST(time_is_in_proportion_to_the_text)
{
    enum { LENGTH = 200000, UNITS = 1000000 };
    struct strbuf b = STRBUF_INIT(16 * LENGTH);
    for (size_t i = 0; i < ARRAY_LEN(hard); i++) {
        struct regex *r = must_have(hard[i].pattern);
        size_t pieces = LENGTH / strlen(hard[i].piece);
        uint64_t left = UNITS, once, twice;
        bool ok =
            CHECK_INT(regex_matches(r, many(&b, "", hard[i].piece, pieces, hard[i].end), &left),
                      hard[i].want);
        /* with all states made: twice the text, twice the work */
        left = UNITS;
        (void)regex_matches(r, strbuf_str(&b), &left);
        once = UNITS - left;
        left = UNITS;
        ok &=
            CHECK_INT(regex_matches(r, many(&b, "", hard[i].piece, 2 * pieces, hard[i].end), &left),
                      hard[i].want);
        twice = UNITS - left;
        ok &= CHECK(twice <= 2 * once + 16);
        if (!ok)
            test_note("%s: %llu, %llu", hard[i].pattern, (unsigned long long)once,
                      (unsigned long long)twice);
    }
    strbuf_done(&b);
}

/* More states than are kept: it goes on without. */
TEST(a_pattern_of_very_many_states_is_still_linear)
{
    enum { LENGTH = 20000 };
    struct regex *r = must_have("(a|b)*a(a|b){18}c");
    struct strbuf b = STRBUF_INIT(LENGTH + 1);
    uint64_t seed = 1, left = PLENTY;
    for (int i = 0; i < LENGTH; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        strbuf_add_char(&b, seed >> 40 & 1 ? 'a' : 'b');
    }
    CHECK_INT(regex_matches(r, strbuf_str(&b), &left), REGEX_NO);
    uint64_t spent = PLENTY - left;
    CHECK(spent < (uint64_t)LENGTH * 40);
    CHECK(r->dfa.bytes <= 520 << 10);
    strbuf_add_char(&b, 'c');
    CHECK_INT(regex_matches(r, strbuf_str(&b), &left), b.p[LENGTH - 19] == 'a');
    strbuf_done(&b);
}

TEST(work_is_counted)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    str s = many(&b, "", "a", 200000, "");
    uint64_t left = 100;
    str span;
    CHECK_INT(regex_matches(must_have("b"), s, &left), REGEX_TOO_MUCH);
    CHECK_INT(left, 0);
    left = 100;
    CHECK_INT(regex_search(must_have("b"), s, 0, &left, &span), REGEX_TOO_MUCH);
    left = PLENTY;
    (void)regex_of(STR("made[^n]ew{1000}"), &left, NULL);
    CHECK(left < PLENTY - 500);
    uint64_t before = left;
    (void)regex_of(STR("made[^n]ew{1000}"), &left, NULL);
    CHECK_INT(before - left, 0);
    strbuf_done(&b);
}

TEST(a_search_goes_on_where_the_last_one_ended)
{
    struct regex *r = must_have("[0-9]+");
    uint64_t left = 1000;
    str s = STR("a12b345"), span;
    CHECK_INT(regex_search(r, s, 0, &left, &span), REGEX_YES);
    CHECK_STR(span, STR("12"));
    CHECK_INT(regex_search(r, s, 3, &left, &span), REGEX_YES);
    CHECK_STR(span, STR("345"));
    CHECK_INT(regex_search(r, s, 7, &left, &span), REGEX_NO);
    CHECK(left < 1000 && left > 900);
    /* what stands before it is seen */
    r = must_have("\\bb|^c");
    CHECK_INT(regex_search(r, STR("abc"), 1, &left, &span), REGEX_NO);
    CHECK_INT(regex_search(r, STR("a-bc"), 1, &left, &span), REGEX_YES);
    CHECK_STR(span, STR("b"));
}

/* ---- memory ---- */

TEST(what_is_kept_is_bounded)
{
    struct strbuf text = STRBUF_INIT(1 << 16);
    str s = many(&text, "", "ab", 2000, "");
    for (int i = 0; i < 3000; i++) {
        char pattern[64];
        uint64_t left = PLENTY;
        (void)snprintf(pattern, sizeof(pattern), "(a|b)*a(a|b){%d}c%d", i % 300, i);
        CHECK_INT(regex_matches(must_have(pattern), s, &left), REGEX_NO);
    }
    CHECK(regex_memory() <= 24 << 20);
    CHECK(regex_memory() > 0);
    strbuf_done(&text);
}

/* ---- tables ---- */

TEST(tables_of_unicode_are_in_order)
{
    for (size_t i = 1; i < unicode_n_categories; i++)
        CHECK(unicode_categories[i] >> 8 > unicode_categories[i - 1] >> 8);
    CHECK_INT(unicode_categories[0] >> 8, 0);
    for (size_t i = 0; i < unicode_n_scripts; i++) {
        const struct unicode_script *c = &unicode_scripts[i];
        for (size_t k = c->first; k < (size_t)c->first + c->n; k++) {
            CHECK(unicode_script_ranges[k].lo <= unicode_script_ranges[k].hi);
            if (k > c->first)
                CHECK(unicode_script_ranges[k].lo > unicode_script_ranges[k - 1].hi);
        }
    }
}

static uint32_t fold_of(uint32_t c)
{
    for (size_t i = 0; i < unicode_n_folds; i++) {
        const struct unicode_fold *f = &unicode_folds[i];
        if (c >= f->lo && c <= f->hi && (c - f->lo) % f->stride == 0)
            return (uint32_t)((int32_t)c + f->delta);
    }
    return c;
}

TEST(what_differs_in_case_leads_back)
{
    for (size_t i = 0; i < unicode_n_folds; i++) {
        const struct unicode_fold *f = &unicode_folds[i];
        CHECK(!i || f->lo > unicode_folds[i - 1].lo);
        for (uint32_t c = f->lo; c <= f->hi; c += f->stride) {
            uint32_t at = fold_of(c), steps = 1;
            for (; at != c && steps < 5; steps++)
                at = fold_of(at);
            CHECK(at == c && steps >= 2 && steps <= 4);
        }
    }
}

TEST(sets_of_characters)
{
    runes s = {0};
    runes_add(&s, 'x', 'z');
    runes_add(&s, 'a', 'c');
    runes_add(&s, 'b', 'f');
    runes_add(&s, 'g', 'g');
    runes_tidy(&s);
    CHECK_INT(s.len, 2);
    CHECK(s.p[0].lo == 'a' && s.p[0].hi == 'g' && s.p[1].lo == 'x' && s.p[1].hi == 'z');
    runes_negate(&s);
    CHECK_INT(s.len, 3);
    CHECK(s.p[0].lo == 0 && s.p[1].hi == 'w' && s.p[2].hi == RUNE_MAX);
    runes_negate(&s);
    CHECK_INT(s.len, 2);
    vec_clear(&s);
    runes_negate(&s);
    CHECK(s.len == 1 && s.p[0].lo == 0 && s.p[0].hi == RUNE_MAX);
    runes_negate(&s);
    CHECK_INT(s.len, 0);
    vec_done(&s);
}
