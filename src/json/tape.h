/*
 * The inside of a document, for the files of this folder only: limits, and what making and changing
 * one needs. doc.h has the layout; everybody else reads through its functions.
 */
#ifndef JSON_TAPE_H
#define JSON_TAPE_H

#include "json/doc.h"

/* Zero bytes behind every text: scanners read whole words and stop at the zero without asking for
 * the end at each byte. */
#define TEXT_PAD 16
#define TEXT_MAX (((size_t)1 << 28) - 1)
/* Depth no document exceeds, however it was made: readers recurse. */
#define DEPTH_MAX 4096
#define DEPTH_DEFAULT 256
#define BYTES_DEFAULT ((size_t)64 << 20)

static inline uint64_t node_make(unsigned tag, size_t len, size_t off)
{
    return (uint64_t)tag | (uint64_t)len << 4 | (uint64_t)off << 32;
}

/* Bytes of a key or string node, unescaped. */
static inline str tape_str(const struct doc *d, uint32_t at)
{
    uint64_t node = d->tape[at];
    if (node_width(node) == 1)
        return str_n(d->text + node_off(node), node_len(node));
    uint64_t side = d->tape[at + 1];
    return str_n(d->side + (uint32_t)side, (size_t)(side >> 32));
}

/* Length of the valid UTF-8 sequence at p, 0 when there is none. Surrogates and overlong forms are
 * not valid. */
unsigned utf8_sequence(const char *p, const char *end);

/* ---- a document under construction: parse.c fills one, edit.c splices one together ---- */

/* A document of one reference in one block: text, tape and side area are copied. */
struct doc *doc_assemble(str text, const uint64_t *tape, size_t nodes, str side);
/* The same for a large text: that and the tape are taken over, both malloc'ed, the text padded. */
struct doc *doc_adopt(char *text, size_t len, uint64_t *tape, size_t nodes, str side);
/* As doc_parse; the buffer is its caller's, and is padded. */
struct doc *doc_parse_buffer(struct strbuf *text, const struct json_limits *limits,
                             struct err *err);
/* Path of a key or value, "spec.cliques[0].name". */
void doc_path_of(const struct doc *d, uint32_t at, struct strbuf *out);

/* ---- RFC 6901 tokens ---- */

/* An array index: digits without leading zeros. */
bool pointer_index(str token, size_t *ret);
/* Resolves ~0 and ~1 (any other tilde stays) into out, which has room for token.len bytes. */
size_t pointer_unescape(str token, char *out);

/* ---- numbers by value (number.c) ---- */

/* sign * 0.DIGITS * 10^point, exact. The digits are those of the text with the dot taken out: read
 * them through decimal_digit. Zero has no digits. */
struct decimal {
    bool negative;
    const char *p; /* first significant digit */
    size_t digits; /* significant ones, the dot not counted */
    int64_t point; /* saturates at +-10^18 */
};

struct decimal decimal_of(str number);
bool decimal_equal(struct decimal a, struct decimal b);
bool decimal_to_int(struct decimal d, int64_t *ret);
/* The one text of this value: plain up to 21 digits, else with an exponent. */
void decimal_write(struct decimal d, struct strbuf *out);

#endif
