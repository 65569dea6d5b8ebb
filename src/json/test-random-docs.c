#include "json/test-random-docs.h"

static const char *const scalars[] = {
    "null",        "true",         "false",
    "0",           "-0",           "1",
    "-17",         "2.50",         "1e3",
    "-0.001",      "1E-7",         "9223372036854775807",
    "1e400",       "\"\"",         "\"x\"",
    "\"a b\"",     "\"\\n\"",      "123456789012345678901234567890",
    "\"\\u00e9\"", "\"\xc3\xa9\"", "\"\\ud83d\\ude00\"",
    "\"~/\"",      "\"\\\"\\\\\"", "\"0123456789abcdefXYZ\""};

static const char *const keys[] = {"a",        "b",        "c",    "name",  "spec",    "status",
                                   "0",        "-",        "a/b",  "m~n",   "",        "\\n",
                                   "\\u0061x", "\xc3\xa9", "kind", "k.l.m", "metadata"};

static void maybe_space(struct rng *r, struct strbuf *out)
{
    static const char *const spaces[] = {" ", "\n", "\t", "\r\n", "  "};
    if (rng_chance(r, 5))
        strbuf_add_cstr(out, spaces[rng_below(r, ARRAY_LEN(spaces))]);
}

static void random_array(struct rng *r, unsigned levels, struct strbuf *out)
{
    size_t n = rng_below(r, 5);
    strbuf_add_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_add_char(out, ',');
        random_json(r, levels - 1, out);
    }
    maybe_space(r, out);
    strbuf_add_char(out, ']');
}

/* Keys are a run of the table, so none comes twice. */
void random_object(struct rng *r, unsigned levels, struct strbuf *out)
{
    size_t n = rng_below(r, 6), from = rng_below(r, ARRAY_LEN(keys));
    strbuf_add_char(out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i)
            strbuf_add_char(out, ',');
        maybe_space(r, out);
        strbuf_printf(out, "\"%s\"", keys[(from + i) % ARRAY_LEN(keys)]);
        maybe_space(r, out);
        strbuf_add_char(out, ':');
        if (levels)
            random_json(r, levels - 1, out);
        else
            strbuf_add_cstr(out, "[]");
    }
    maybe_space(r, out);
    strbuf_add_char(out, '}');
}

void random_json(struct rng *r, unsigned levels, struct strbuf *out)
{
    maybe_space(r, out);
    uint64_t pick = rng_below(r, levels ? 10 : 5);
    if (pick < 5)
        strbuf_add_cstr(out, scalars[rng_below(r, ARRAY_LEN(scalars))]);
    else if (pick < 7)
        random_array(r, levels, out);
    else
        random_object(r, levels, out);
    maybe_space(r, out);
}
