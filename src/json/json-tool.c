/*
 * For tests/json-differential only: reads texts from standard input, one per line with %XX for the
 * bytes that cannot stand there, and answers each with a line: "accept CANONICAL-TEXT" or
 * "reject MESSAGE".
 */
#include "base/strbuf.h"
#include "json/doc.h"

static unsigned hex_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 0x20) - 'a' + 10);
}

static void decode(str line, struct strbuf *out)
{
    strbuf_reset(out);
    for (size_t i = 0; i < line.len; i++) {
        char c = line.p[i];
        if (c == '%' && i + 2 < line.len) {
            c = (char)(hex_digit(line.p[i + 1]) << 4 | hex_digit(line.p[i + 2]));
            i += 2;
        }
        strbuf_add_char(out, c);
    }
}

static void answer(str text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(text, NULL, &err);
    if (!d) {
        printf("reject %s\n", err.message);
        return;
    }
    struct strbuf out = STRBUF_INIT((size_t)64 << 20);
    jcanonical(doc_root(d), false, &out);
    printf("accept %.*s\n", STR_ARG(strbuf_str(&out)));
    strbuf_done(&out);
    doc_unref(d);
}

int main(void)
{
    struct strbuf text = STRBUF_INIT((size_t)64 << 20);
    char *line = NULL;
    size_t cap = 0;
    for (ssize_t n; (n = getline(&line, &cap, stdin)) >= 0;) {
        decode(str_n(line, (size_t)n - (n > 0 && line[n - 1] == '\n')), &text);
        answer(strbuf_str(&text));
    }
    free(line);
    strbuf_done(&text);
    return 0;
}
