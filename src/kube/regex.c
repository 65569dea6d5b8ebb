/*
 * See regex.h. A callout before each item of the pattern counts the steps. What an item passes over
 * is seen by the next one, except when a number of repetitions is not reached; so a step costs as
 * much more as the largest number in the pattern asks for.
 */
#include "kube/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/map.h"

#define MAX_PATTERNS 2048
#define BYTES_PER_UNIT 16
#define HEAP_KIB (16 << 10)

struct regex {
    char *pattern;
    pcre2_code *code; /* NULL: it does not compile */
    uint64_t step;
};

/* ---- what is compiled ---- */

static void drop_all(struct map *cache)
{
    str key;
    void *value;

    for (size_t it = 0; map_next(cache, &it, &key, &value);) {
        struct regex *r = value;
        pcre2_code_free(r->code);
        free(r->pattern);
        free(r);
    }
    map_done(cache);
}

/* Largest number behind a brace. */
static uint64_t largest_count(str pattern)
{
    uint64_t most = 0, n = 0;
    bool inside = false;

    for (size_t i = 0; i < pattern.len; i++) {
        char ch = pattern.p[i];
        inside = ch == '{' || (inside && (ch == ',' || ch == ' ' || (ch >= '0' && ch <= '9')));
        n = inside && ch >= '0' && ch <= '9' ? MIN(n * 10 + (uint64_t)(ch - '0'), UINT16_MAX) : 0;
        most = MAX(most, n);
    }
    return most;
}

/* RE2 has no references to what was matched before, and looking for them takes time that nobody
 * counts. */
static pcre2_code *compile(const char *pattern, size_t len)
{
    int code;
    PCRE2_SIZE at;
    uint32_t references = 0;
    pcre2_code *re = pcre2_compile((PCRE2_SPTR)pattern, len,
                                   PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
                                       PCRE2_AUTO_CALLOUT,
                                   &code, &at, NULL);

    if (re && pcre2_pattern_info(re, PCRE2_INFO_BACKREFMAX, &references) == 0 && references) {
        pcre2_code_free(re);
        return NULL;
    }
    return re;
}

/* Our own tables have few patterns; those that users write come and go, so the cache is emptied
 * when it is full. */
struct regex *regex_of(str pattern)
{
    static struct map cache;
    struct regex *r = map_get(&cache, pattern);

    if (!r) {
        if (cache.len >= MAX_PATTERNS)
            drop_all(&cache);
        r = xnew(struct regex);
        r->pattern = str_dup(pattern);
        r->code = compile(r->pattern, pattern.len);
        r->step = 1 + largest_count(pattern) / BYTES_PER_UNIT;
        map_put(&cache, str_n(r->pattern, pattern.len), r);
    }
    return r->code ? r : NULL;
}

/* ---- searching ---- */

struct meter {
    uint64_t *left;
    uint64_t step;
    size_t at; /* where the last step stood in the text */
};

static int on_step(pcre2_callout_block *b, void *data)
{
    struct meter *m = data;
    size_t passed = b->current_position > m->at ? b->current_position - m->at : 0;
    uint64_t units = m->step + passed / BYTES_PER_UNIT;

    m->at = b->current_position;
    if (*m->left < units) {
        *m->left = 0;
        return PCRE2_ERROR_CALLOUT;
    }
    *m->left -= units;
    return 0;
}

enum regex_answer regex_search(struct regex *r, str s, size_t from, uint64_t *left, str *ret)
{
    static pcre2_match_data *found;
    static pcre2_match_context *context;
    struct meter m = {.left = left, .step = r->step, .at = from};

    if (!found) {
        found = pcre2_match_data_create(1, NULL);
        context = pcre2_match_context_create(NULL);
        BUG_ON(!found || !context);
        pcre2_set_heap_limit(context, HEAP_KIB);
    }
    pcre2_set_callout(context, on_step, &m);
    /* An empty slice may have no pointer. What was looked at before is known to be UTF-8. */
    int code = pcre2_match(r->code, (PCRE2_SPTR)(s.p ? s.p : ""), s.len, from,
                           from ? PCRE2_NO_UTF_CHECK : 0, found, context);
    if (code < 0)
        return code == PCRE2_ERROR_NOMATCH ? REGEX_NO : REGEX_TOO_MUCH;
    const PCRE2_SIZE *span = pcre2_get_ovector_pointer(found);
    if (ret)
        *ret = str_sub(s, span[0], span[1]);
    return REGEX_YES;
}
