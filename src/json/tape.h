/*
 * The inside of a document, for the files of this folder only: where text, side area and tape are,
 * and how a tape node is taken apart. doc.h describes the layout; everybody else reads through it.
 *
 * The tag of a node is its enum jtype up to J_STRING. All others have the bit TAPE_ODD set, so that
 * a member whose key and value are both plain is passed over by one test:
 *   TAPE_ARRAY, TAPE_OBJECT
 *   TAPE_ESC       a string whose text contains escapes: the next node says where the unescaped
 *                  bytes are
 *   TAPE_DEAD,     a key that a later one of the same object repeats (only with
 *   TAPE_DEAD_ESC  allow_duplicate_keys): it never matches and iteration passes over it
 */
#ifndef JSON_TAPE_H
#define JSON_TAPE_H

#include "json/doc.h"

enum tape_tag {
    TAPE_ESC_BIT = 2,
    TAPE_ODD = 8,
    TAPE_ARRAY = TAPE_ODD,
    TAPE_OBJECT = TAPE_ODD + 1,
    TAPE_ESC = TAPE_ODD + TAPE_ESC_BIT,
    TAPE_DEAD = TAPE_ODD + 4,
    TAPE_DEAD_ESC = TAPE_DEAD + TAPE_ESC_BIT,
};
_Static_assert((int)J_STRING < (int)TAPE_ODD, "plain tags have the bit clear");

/* Zero bytes behind every text: scanners read whole words and stop at the zero without asking for
 * the end at each byte. */
#define TEXT_PAD 16
#define TEXT_MAX (((size_t)1 << 28) - 1)
/* Depth no document exceeds, however it was made: readers recurse. */
#define DEPTH_MAX 4096
#define DEPTH_DEFAULT 256
#define BYTES_DEFAULT ((size_t)64 << 20)

struct doc {
    _Atomic uint32_t refs;
    uint32_t len;      /* bytes of text */
    uint32_t nodes;    /* of the tape */
    uint32_t side_len; /* bytes of unescaped strings */
    uint32_t dup;      /* tape index of the first repeated key; 0: none */
    uint32_t depth;    /* levels of containers */
    const char *text;  /* in room[], or a buffer of its own for large documents */
    const char *side;  /* in room[], behind the text */
    uint64_t *tape;
    char room[];
};

static inline uint64_t node_make(unsigned tag, size_t len, size_t off)
{
    return (uint64_t)tag | (uint64_t)len << 4 | (uint64_t)off << 32;
}

static inline unsigned node_tag(uint64_t node)
{
    return (unsigned)(node & 15);
}

static inline uint32_t node_len(uint64_t node)
{
    return (uint32_t)node >> 4;
}

static inline uint32_t node_off(uint64_t node)
{
    return (uint32_t)(node >> 32);
}

static inline bool node_is_container(uint64_t node)
{
    return (node & 14) == TAPE_ARRAY;
}

/* Nodes of a key or scalar: two for the escaped tags, else one. */
static inline uint32_t node_width(uint64_t node)
{
    unsigned tag = node_tag(node);
    return 1 + (tag >> 3 & tag >> 1 & 1);
}

/* Index after the value at `at`. */
static inline uint32_t tape_next(const uint64_t *tape, uint32_t at)
{
    uint64_t node = tape[at];
    if (LIKELY(!(node & TAPE_ODD)))
        return at + 1;
    return node_is_container(node) ? (uint32_t)tape[at + 1] : at + node_width(node);
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

/* A document of one reference with its text, copied (or taken over when large and malloc'ed:
 * owned), padded, and neither tape nor side area. */
struct doc *doc_blank(str text, char *owned);
/* Adds tape (taken over) and side area (copied); the document may move. */
struct doc *doc_complete(struct doc *d, uint64_t *tape, uint32_t nodes, str side);
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
