/*
 * Regular expressions: a pattern and, after the first NUL, the text it is tried on. It is refused
 * with a reason, or it says the same however it is asked: whether it matches (twice, because the
 * second answer is a remembered one), where, and as a part of another pattern.
 */
#include "base/strbuf.h"
#include "fuzz.h"
#include "kube/regex/regex.h"

#define UNITS 2000000

static enum regex_answer ask(str pattern, str text, bool *ret_is_one)
{
    uint64_t left = UNITS;
    struct err err = ERR_INIT;
    struct regex *r = regex_of(pattern, NULL, &err);
    BUG_ON(!r && !str_starts(str_of(err.message), STR("error parsing regexp: ")));
    *ret_is_one = r;
    return r ? regex_matches(r, text, &left) : REGEX_NO;
}

/* All matches, one behind the other. */
static enum regex_answer find(str pattern, str text)
{
    uint64_t left = UNITS;
    size_t n = 0, from = 0;
    enum regex_answer answer = REGEX_YES;
    while (from <= text.len && answer == REGEX_YES) {
        str span;
        answer = regex_search(regex_of(pattern, NULL, NULL), text, from, &left, &span);
        if (answer != REGEX_YES)
            break;
        size_t at = (size_t)(span.p - text.p);
        BUG_ON(at < from || at + span.len > text.len);
        n++;
        from = at + MAX(span.len, 1);
    }
    return answer == REGEX_TOO_MUCH ? REGEX_TOO_MUCH : n ? REGEX_YES : REGEX_NO;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str pattern = str_n((const char *)data, size), text = STR("");
    ptrdiff_t nul = str_find_char(pattern, '\0');
    bool is_one, is_one_too;
    if (nul >= 0) {
        text = str_sub(pattern, (size_t)nul + 1, size);
        pattern = str_sub(pattern, 0, (size_t)nul);
    }
    enum regex_answer first = ask(pattern, text, &is_one);
    if (!is_one)
        return 0;
    enum regex_answer again = ask(pattern, text, &is_one), found = find(pattern, text);
    BUG_ON(first != REGEX_TOO_MUCH && again != first);
    BUG_ON(first != REGEX_TOO_MUCH && found != REGEX_TOO_MUCH && found != first);
    struct strbuf part = STRBUF_INIT(SIZE_MAX / 2);
    strbuf_printf(&part, "\\A(?s:.*)(?:%.*s)", STR_ARG(pattern));
    enum regex_answer inside = ask(strbuf_str(&part), text, &is_one_too);
    if (is_one_too && first != REGEX_TOO_MUCH && inside != REGEX_TOO_MUCH)
        BUG_ON(inside != first);
    strbuf_done(&part);
    BUG_ON(regex_memory() > (size_t)25 << 20);
    return 0;
}
