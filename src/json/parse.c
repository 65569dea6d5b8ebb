/*
 * Text to tape: strict RFC 8259 in one pass.
 *
 * The text is followed by zero bytes (TEXT_PAD), and zero is valid nowhere in JSON, so the scanner
 * needs no end check per byte: whatever runs out of text meets a zero and fails there. Strings are
 * scanned 16 bytes at a time for the four things that end a plain run (quote, backslash, control
 * byte, non-ASCII byte); everything but the quote is left to string_slow().
 *
 * There is no stack. While a container is open its two nodes hold what the parser needs to go on
 * with it: node 0 the members so far, node 1 the index of the enclosing container and a 32-bit
 * filter of the keys seen. Closing it puts the final values there. Depth therefore costs nothing
 * and cannot overflow anything.
 *
 * Duplicate keys: a key whose filter bit is unset is new, which settles most; otherwise the earlier
 * keys of the object are compared. From DUP_SCAN_MAX members on this would be quadratic, so the
 * rest is left to a hash map when the object closes. An earlier duplicate is marked dead on the
 * tape, and the document parses to its end: the error then names a path.
 */
#include "json/scratch.h"
#include "json/tape.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/map.h"

#define NO_PARENT UINT32_MAX
#define DUP_SCAN_MAX 24

struct parse {
    const char *text;
    size_t len;
    uint64_t *tape;
    uint32_t cap;
    uint32_t max_depth;
    uint32_t deepest;
    uint32_t dup; /* tape index of the first repeated key; 0: none */
    bool null;    /* there is one */
    struct strbuf side;
    struct err *err;
};

/* What is known of the innermost open container. */
struct level {
    uint32_t at; /* its tape index; NO_PARENT at the top */
    uint32_t count;
    uint32_t filter;
    bool is_object;
};

/* ---- errors ---- */

static int fail(struct parse *ps, const char *p, const char *expected)
{
    size_t off = (size_t)(p - ps->text);
    unsigned char c = (unsigned char)*p;
    if (off >= ps->len)
        return err_set(ps->err, ERR_INVALID, "unexpected end at offset %zu: %s", off, expected);
    if (c > ' ' && c < 0x7f)
        return err_set(ps->err, ERR_INVALID, "invalid character '%c' at offset %zu: %s", c, off,
                       expected);
    return err_set(ps->err, ERR_INVALID, "invalid character 0x%02x at offset %zu: %s", c, off,
                   expected);
}

/* ---- scanning ---- */

/* To the first byte that is a quote, a backslash, a control byte or not ASCII. */
static inline const char *scan_plain(const char *p)
{
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(' ');
    for (;; p += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        /* As signed bytes, everything from 0x80 is below the space too. */
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)),
                                   _mm_cmplt_epi8(v, space));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask)
            return p + __builtin_ctz(mask);
    }
#else
    while (*p != '"' && *p != '\\' && (unsigned char)*p >= ' ' && (unsigned char)*p < 0x80)
        p++;
    return p;
#endif
}

static inline bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline const char *skip_space(const char *p)
{
    if (LIKELY((unsigned char)*p > ' '))
        return p;
    while (is_space(*p))
        p++;
    return p;
}

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

unsigned utf8_sequence(const char *s, const char *end)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t room = (size_t)(end - s);
    if (room == 0)
        return 0;
    if (p[0] < 0x80)
        return 1;
    if (room < 2 || (p[1] & 0xc0) != 0x80)
        return 0;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        return 2;
    if (room < 3 || (p[2] & 0xc0) != 0x80)
        return 0;
    if ((p[0] & 0xf0) == 0xe0) {
        bool overlong = p[0] == 0xe0 && p[1] < 0xa0;
        bool surrogate = p[0] == 0xed && p[1] >= 0xa0;
        return overlong || surrogate ? 0 : 3;
    }
    if (room < 4 || (p[3] & 0xc0) != 0x80 || p[0] < 0xf0 || p[0] > 0xf4)
        return 0;
    bool overlong = p[0] == 0xf0 && p[1] < 0x90;
    bool beyond = p[0] == 0xf4 && p[1] >= 0x90;
    return overlong || beyond ? 0 : 4;
}

/* ---- strings with escapes ---- */

static void add_utf8(struct strbuf *b, uint32_t c)
{
    char u[4];
    size_t n;
    if (c < 0x80) {
        u[0] = (char)c;
        n = 1;
    } else if (c < 0x800) {
        u[0] = (char)(0xc0 | c >> 6);
        n = 2;
    } else if (c < 0x10000) {
        u[0] = (char)(0xe0 | c >> 12);
        n = 3;
    } else {
        u[0] = (char)(0xf0 | c >> 18);
        n = 4;
    }
    for (size_t i = 1; i < n; i++)
        u[i] = (char)(0x80 | (c >> (6 * (n - 1 - i)) & 0x3f));
    strbuf_add(b, u, n);
}

/* Four hex digits; -1 with *ret_bad at the first that is none. */
static int32_t hex4(const char *p, const char **ret_bad)
{
    int32_t v = 0;
    for (int i = 0; i < 4; i++, p++) {
        int lower = *p | 0x20;
        int digit = is_digit(*p) ? *p - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
        if (digit < 0) {
            *ret_bad = p;
            return -1;
        }
        v = v << 4 | digit;
    }
    return v;
}

/* p is after "\u". A surrogate without its other half becomes U+FFFD, as in Go's encoding/json. */
static const char *unescape_unicode(struct parse *ps, const char *p)
{
    const char *bad = NULL;
    int32_t c = hex4(p, &bad);
    if (c < 0) {
        fail(ps, bad, "expected four hex digits after \\u");
        return NULL;
    }
    p += 4;
    if (c >= 0xd800 && c <= 0xdfff) {
        int32_t low = c < 0xdc00 && p[0] == '\\' && p[1] == 'u' ? hex4(p + 2, &bad) : -1;
        if (low >= 0xdc00 && low <= 0xdfff) {
            c = 0x10000 + ((c - 0xd800) << 10 | (low - 0xdc00));
            p += 6;
        } else {
            c = 0xfffd;
        }
    }
    add_utf8(&ps->side, (uint32_t)c);
    return p;
}

/* p is at a backslash; returns what is after the escape, NULL when it is none. */
static const char *unescape(struct parse *ps, const char *p)
{
    static const char plain[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    if (p[1] == 'u')
        return unescape_unicode(ps, p + 2);
    const char *found = p[1] ? strchr(plain, p[1]) : NULL;
    if (!found) {
        fail(ps, p + 1, "expected an escape, one of \"\\/bfnrtu");
        return NULL;
    }
    strbuf_add_char(&ps->side, meaning[found - plain]);
    return p + 2;
}

/* The rest of a string from p, where its plain run ended with something else than a quote. Writes
 * one node, or two when there are escapes. Returns what is after the closing quote. */
static const char *string_slow(struct parse *ps, const char *start, const char *p, uint64_t *node)
{
    const char *end = ps->text + ps->len, *run = start;
    size_t side = ps->side.len;
    bool escaped = false;
    while (*p != '"') {
        unsigned char c = (unsigned char)*p;
        if (c == '\\') {
            escaped = true;
            strbuf_add(&ps->side, run, (size_t)(p - run));
            run = p = unescape(ps, p);
            if (!p)
                return NULL;
        } else if (c >= 0x80) {
            unsigned n = utf8_sequence(p, end);
            if (n == 0) {
                fail(ps, p, "not valid UTF-8");
                return NULL;
            }
            p += n;
        } else {
            fail(ps, p, p < end ? "control characters must be escaped" : "expected '\"'");
            return NULL;
        }
        p = scan_plain(p);
    }
    size_t off = (size_t)(start - ps->text), len = (size_t)(p - start);
    node[0] = node_make(escaped ? TAPE_ESC : J_STRING, len, off);
    if (escaped) {
        strbuf_add(&ps->side, run, (size_t)(p - run));
        node[1] = (uint64_t)side | (uint64_t)(ps->side.len - side) << 32;
    }
    return p + 1;
}

/* p is at the opening quote. Writes the node(s) at ps->tape[*n]. */
static inline const char *string(struct parse *ps, const char *p, uint32_t *n)
{
    const char *start = p + 1, *q = scan_plain(start);
    uint64_t *node = &ps->tape[*n];
    if (LIKELY(*q == '"')) {
        *node = node_make(J_STRING, (size_t)(q - start), (size_t)(start - ps->text));
        *n += 1;
        return q + 1;
    }
    q = string_slow(ps, start, q, node);
    if (q)
        *n += node_width(*node);
    return q;
}

/* ---- numbers and words ---- */

static inline const char *digits(struct parse *ps, const char *p)
{
    if (!is_digit(*p)) {
        fail(ps, p, "expected a digit");
        return NULL;
    }
    while (is_digit(*p))
        p++;
    return p;
}

static const char *number(struct parse *ps, const char *start, uint64_t *node)
{
    const char *p = start;
    unsigned tag = J_INT;
    if (*p == '-')
        p++;
    p = *p == '0' ? p + 1 : digits(ps, p);
    if (p && *p == '.') {
        tag = J_REAL;
        p = digits(ps, p + 1);
    }
    if (p && (*p | 0x20) == 'e') {
        tag = J_REAL;
        p++;
        p = digits(ps, *p == '+' || *p == '-' ? p + 1 : p);
    }
    if (p)
        *node = node_make(tag, (size_t)(p - start), (size_t)(start - ps->text));
    return p;
}

static const char *word(struct parse *ps, const char *p, uint64_t *node)
{
    static const struct {
        const char *text;
        size_t len;
        enum jtype type;
    } words[] = {{"true", 4, J_TRUE}, {"false", 5, J_FALSE}, {"null", 4, J_NULL}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (*p == words[i].text[0]) {
            size_t same = 1;
            while (same < words[i].len && p[same] == words[i].text[same])
                same++;
            if (same < words[i].len) {
                fail(ps, p + same, "expected true, false or null");
                return NULL;
            }
            ps->null |= words[i].type == J_NULL;
            *node = node_make(words[i].type, words[i].len, (size_t)(p - ps->text));
            return p + words[i].len;
        }
    fail(ps, p, "expected a value");
    return NULL;
}

/* ---- duplicate keys ---- */

static str key_bytes(const struct parse *ps, uint32_t at)
{
    uint64_t node = ps->tape[at];
    if (node_width(node) == 1)
        return str_n(ps->text + node_off(node), node_len(node));
    uint64_t side = ps->tape[at + 1];
    return str_n(ps->side.p + (uint32_t)side, (size_t)(side >> 32));
}

/* The key at `first` is repeated by the one at `again`: the later one counts. */
static void mark_dead(struct parse *ps, uint32_t first, uint32_t again)
{
    uint64_t node = ps->tape[first];
    unsigned dead = node_tag(node) == TAPE_ESC ? TAPE_DEAD_ESC : TAPE_DEAD;
    ps->tape[first] = (node & ~(uint64_t)15) | dead;
    if (ps->dup == 0)
        ps->dup = again;
}

static bool is_dead(uint64_t node)
{
    return node_tag(node) >= TAPE_DEAD;
}

/* Compares the key at `at` with those before it in the object. */
static __attribute__((noinline)) void dup_scan(struct parse *ps, uint32_t object, uint32_t at)
{
    str key = key_bytes(ps, at);
    for (uint32_t i = object + 2; i < at;) {
        uint64_t node = ps->tape[i];
        if (!is_dead(node) && str_eq(key_bytes(ps, i), key)) {
            mark_dead(ps, i, at);
            return;
        }
        i = tape_next(ps->tape, i + node_width(node));
    }
}

/* The same for a whole large object, which is closed. */
static void dup_scan_large(struct parse *ps, uint32_t object)
{
    struct map seen = MAP_INIT;
    uint32_t end = (uint32_t)ps->tape[object + 1];
    for (uint32_t i = object + 2; i < end;) {
        uint64_t node = ps->tape[i];
        if (!is_dead(node)) {
            void *before = map_put(&seen, key_bytes(ps, i), (void *)(uintptr_t)i);
            if (before)
                mark_dead(ps, (uint32_t)(uintptr_t)before, i);
        }
        i = tape_next(ps->tape, i + node_width(node));
    }
    map_done(&seen);
}

/* Leaves dead members out of the count of a closed object. */
static void recount(struct parse *ps, uint32_t object)
{
    uint32_t end = (uint32_t)ps->tape[object + 1], count = 0;
    for (uint32_t i = object + 2; i < end;) {
        count += !is_dead(ps->tape[i]);
        i = tape_next(ps->tape, i + node_width(ps->tape[i]));
    }
    ps->tape[object] = node_make(TAPE_OBJECT, count, node_off(ps->tape[object]));
}

/* A key was just written at `at`. Its length, first and last byte pick the filter bit; an escaped
 * key may equal one that picks another, so it fills the filter. */
static inline void dup_check(struct parse *ps, struct level *l, uint32_t at)
{
    if (l->count >= DUP_SCAN_MAX)
        return;
    uint64_t node = ps->tape[at];
    const unsigned char *p = (const unsigned char *)ps->text + node_off(node);
    uint32_t len = node_len(node);
    uint32_t h = (len * 0x85ebca6bu + ((uint32_t)p[0] << 8 | p[(int64_t)len - 1])) * 0x9e3779b1u;
    uint32_t bit = 1u << (h >> 27);
    bool escaped = node_tag(node) == TAPE_ESC;
    if (UNLIKELY((l->filter & bit) || escaped) && l->count > 0)
        dup_scan(ps, l->at, at);
    l->filter |= escaped ? UINT32_MAX : bit;
}

/* ---- containers ---- */

static inline void level_open(struct parse *ps, struct level *l, uint32_t at, const char *p)
{
    if (l->at != NO_PARENT) {
        ps->tape[l->at] |= (uint64_t)l->count << 4;
        ps->tape[l->at + 1] |= l->filter;
    }
    l->is_object = *p == '{';
    ps->tape[at] = node_make(l->is_object ? TAPE_OBJECT : TAPE_ARRAY, 0, (size_t)(p - ps->text));
    ps->tape[at + 1] = (uint64_t)l->at << 32;
    l->at = at;
    l->count = l->filter = 0;
}

/* p is after the closing bracket, n the next free node. */
static inline void level_close(struct parse *ps, struct level *l, uint32_t n, const char *p)
{
    uint64_t *node = &ps->tape[l->at];
    uint32_t self = l->at, off = node_off(node[0]);
    uint32_t parent = (uint32_t)(node[1] >> 32);
    node[0] |= (uint64_t)l->count << 4;
    node[1] = (uint64_t)n | (uint64_t)(p - ps->text - off) << 32;
    if (UNLIKELY(l->count > DUP_SCAN_MAX) && l->is_object)
        dup_scan_large(ps, self);
    if (UNLIKELY(ps->dup) && l->is_object)
        recount(ps, self);
    l->at = parent;
    if (parent == NO_PARENT)
        return;
    uint64_t head = ps->tape[parent];
    l->is_object = node_tag(head) == TAPE_OBJECT;
    l->count = node_len(head);
    l->filter = (uint32_t)ps->tape[parent + 1];
    ps->tape[parent] = node_make(node_tag(head), 0, node_off(head));
    ps->tape[parent + 1] &= ~(uint64_t)UINT32_MAX;
}

static __attribute__((noinline)) void grow(struct parse *ps)
{
    ps->cap = ps->cap * 2;
    ps->tape = xrealloc(ps->tape, ps->cap * sizeof(uint64_t));
}

/* One function, because each of its states ends in a jump to another: value, key, after a value,
 * closing bracket. At most four nodes (escaped key, container) are written between two looks at
 * the capacity. */
static int parse_run(struct parse *ps, uint32_t *ret_nodes)
{
    const char *p = skip_space(ps->text);
    struct level l = {.at = NO_PARENT};
    uint32_t n = 0, depth = 0;

value:
    if (UNLIKELY(ps->cap - n < 8))
        grow(ps);
    switch (*p) {
    case '"':
        p = string(ps, p, &n);
        break;
    case '{':
    case '[':
        if (++depth > ps->deepest && (ps->deepest = depth) > ps->max_depth)
            return err_set(ps->err, ERR_TOO_LARGE, "nested deeper than %u levels at offset %zu",
                           ps->max_depth, (size_t)(p - ps->text));
        level_open(ps, &l, n, p);
        n += 2;
        p = skip_space(p + 1);
        if (*p == (l.is_object ? '}' : ']'))
            goto close;
        if (l.is_object)
            goto key;
        goto value;
    case '-':
    case '0' ... '9':
        p = number(ps, p, &ps->tape[n++]);
        break;
    default:
        p = word(ps, p, &ps->tape[n++]);
    }
    if (UNLIKELY(!p))
        return ERR_INVALID;

after:
    p = skip_space(p);
    if (UNLIKELY(l.at == NO_PARENT)) {
        *ret_nodes = n;
        return p == ps->text + ps->len ? 0 : fail(ps, p, "expected the end of the document");
    }
    l.count++;
    if (*p == ',') {
        p = skip_space(p + 1);
        if (l.is_object)
            goto key;
        goto value;
    }
    if (*p != (l.is_object ? '}' : ']'))
        return fail(ps, p, l.is_object ? "expected ',' or '}'" : "expected ',' or ']'");

close:
    p++;
    level_close(ps, &l, n, p);
    depth--;
    goto after;

key:
    if (UNLIKELY(*p != '"'))
        return fail(ps, p, "expected a key in quotes");
    uint32_t at = n;
    p = string(ps, p, &n);
    if (UNLIKELY(!p))
        return ERR_INVALID;
    dup_check(ps, &l, at);
    p = skip_space(p);
    if (UNLIKELY(*p != ':'))
        return fail(ps, p, "expected ':' after the key");
    p = skip_space(p + 1);
    goto value;
}

/* ---- the way in ---- */

static int duplicate_error(const struct doc *d, struct err *err)
{
    struct strbuf path = STRBUF_INIT(4096);
    doc_path_of(d, d->dup, &path);
    int code = err_set_field(err, ERR_INVALID, strbuf_str(&path), "duplicate key %.*s at offset %u",
                             STR_ARG(strbuf_str(&path)), node_off(d->tape[d->dup]));
    strbuf_done(&path);
    return code;
}

static size_t max_bytes_of(const struct json_limits *limits)
{
    return MIN(limits && limits->max_bytes ? limits->max_bytes : BYTES_DEFAULT, TEXT_MAX);
}

static size_t max_depth_of(const struct json_limits *limits)
{
    return MIN(limits && limits->max_depth ? limits->max_depth : (size_t)DEPTH_DEFAULT,
               (size_t)DEPTH_MAX);
}

/* From here on a handed-over buffer is kept rather than copied and freed: below, one exact
 * allocation is worth more than the copies cost. */
#define KEEP_BUFFER_MIN ((size_t)64 << 10)

/* A document of the padded text; owned: it is taken over, also on error. */
static struct doc *parse_padded(const char *text, size_t len, char *owned,
                                const struct json_limits *limits, struct err *err)
{
    tape_vec tape = scratch_tape();
    vec_reserve(&tape, len / 7 + 16); /* a Pod has a node for every 8 bytes */
    struct parse ps = {.text = text,
                       .len = len,
                       .tape = tape.p,
                       .cap = (uint32_t)tape.cap,
                       .max_depth = (uint32_t)max_depth_of(limits),
                       .side = STRBUF_INIT(TEXT_MAX),
                       .err = err};
    uint32_t nodes = 0;
    struct doc *d = NULL;
    bool ok = parse_run(&ps, &nodes) == 0;
    tape = (tape_vec){ps.tape, 0, ps.cap};
    if (ok && owned) {
        d = doc_adopt(owned, len, TAKE_PTR(tape.p), nodes, strbuf_str(&ps.side));
        owned = NULL;
    } else if (ok) {
        d = doc_assemble(str_n(text, len), tape.p, nodes, strbuf_str(&ps.side));
    }
    scratch_tape_done(&tape);
    strbuf_done(&ps.side);
    free(owned);
    if (!d)
        return NULL;
    d->dup = ps.dup;
    d->depth = ps.deepest;
    d->null = ps.null;
    if (d->dup && !(limits && limits->allow_duplicate_keys)) {
        duplicate_error(d, err);
        doc_unref(d);
        return NULL;
    }
    return d;
}

static bool size_fits(size_t len, const struct json_limits *limits, struct err *err)
{
    size_t max = max_bytes_of(limits);
    if (len > max)
        err_set(err, ERR_TOO_LARGE, "document of %zu bytes: the limit is at offset %zu", len, max);
    return len <= max;
}

struct doc *doc_parse(str text, const struct json_limits *limits, struct err *err)
{
    if (!size_fits(text.len, limits, err))
        return NULL;
    struct strbuf padded = scratch_text();
    (void)strbuf_reserve(&padded, text.len + TEXT_PAD); /* one reallocation */
    strbuf_add_str(&padded, text);
    struct doc *d = doc_parse_buffer(&padded, limits, err);
    scratch_text_done(&padded);
    return d;
}

struct doc *doc_parse_buffer(struct strbuf *text, const struct json_limits *limits, struct err *err)
{
    if (!size_fits(text->len, limits, err))
        return NULL;
    /* Also beyond the buffer's own maximum, which says nothing about padding. */
    if (text->cap - text->len < TEXT_PAD) {
        text->cap = text->len + TEXT_PAD;
        text->p = xrealloc(text->p, text->cap);
    }
    memset(text->p + text->len, 0, TEXT_PAD);
    return parse_padded(text->p, text->len, NULL, limits, err);
}

struct doc *doc_parse_owned(char *text, size_t len, const struct json_limits *limits,
                            struct err *err)
{
    bool fits = size_fits(len, limits, err);
    if (fits && len >= KEEP_BUFFER_MIN) {
        text = xrealloc(text, len + TEXT_PAD);
        memset(text + len, 0, TEXT_PAD);
        return parse_padded(text, len, text, limits, err);
    }
    struct doc *d = fits ? doc_parse(str_n(text, len), limits, err) : NULL;
    free(text);
    return d;
}
