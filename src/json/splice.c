/* Pieces of documents to one document; see splice.h. */
#include "json/splice.h"

#include "json/tape.h"
#include "json/write.h"

void splice_init(struct splice *s, size_t hint, uint32_t max_depth)
{
    *s = (struct splice){.text = STRBUF_INIT(TEXT_MAX),
                         .side = STRBUF_INIT(TEXT_MAX),
                         .max_depth = max_depth ? max_depth : DEPTH_DEFAULT};
    (void)strbuf_reserve(&s->text, MIN(hint, TEXT_MAX));
    vec_reserve(&s->tape, hint / 7 + 16);
}

void splice_done(struct splice *s)
{
    strbuf_done(&s->text);
    strbuf_done(&s->side);
    vec_done(&s->tape);
}

/* Room for n bytes more, or NULL: it overflows. The NUL behind the text is written at the end. */
static inline char *room(struct splice *s, size_t n)
{
    struct strbuf *b = &s->text;
    if (LIKELY(b->cap - b->len > n))
        return b->p + b->len;
    return strbuf_reserve(b, n);
}

static inline void put_char(struct splice *s, char c)
{
    char *to = room(s, 1);
    if (to) {
        *to = c;
        s->text.len++;
    }
}

static void put_text(struct splice *s, str text)
{
    char *to = room(s, text.len);
    if (to && text.len) {
        memcpy(to, text.p, text.len);
        s->text.len += text.len;
    }
}

static void enter(struct splice *s, uint32_t levels)
{
    s->deepest = MAX(s->deepest, s->depth + levels);
}

uint32_t splice_open(struct splice *s, bool is_object)
{
    uint32_t mark = (uint32_t)s->tape.len;
    *vec_push(&s->tape) = node_make(is_object ? TAPE_OBJECT : TAPE_ARRAY, 0, s->text.len);
    *vec_push(&s->tape) = 0;
    put_char(s, is_object ? '{' : '[');
    enter(s, 1);
    s->depth++;
    return mark;
}

void splice_close(struct splice *s, uint32_t mark, size_t count)
{
    uint64_t *node = s->tape.p + mark;
    put_char(s, node_tag(node[0]) == TAPE_OBJECT ? '}' : ']');
    node[0] |= (uint64_t)count << 4;
    node[1] = (uint64_t)s->tape.len | (uint64_t)(s->text.len - node_off(node[0])) << 32;
    s->depth--;
}

void splice_comma(struct splice *s, bool first)
{
    if (!first)
        put_char(s, ',');
}

static uint64_t side_add(struct splice *s, str bytes)
{
    uint64_t off = s->side.len;
    strbuf_add_str(&s->side, bytes);
    return off | (uint64_t)bytes.len << 32;
}

/* One whose text may differ from the key; then that stands unescaped beside it. */
static void unusual_key(struct splice *s, str key)
{
    size_t off = s->text.len + 1;
    json_quote(&s->text, key);
    strbuf_add_char(&s->text, ':');
    if (s->text.overflow)
        return;
    size_t len = s->text.len - off - 2;
    bool escaped = len != key.len || memcmp(s->text.p + off, key.p, len) != 0;
    *vec_push(&s->tape) = node_make(escaped ? TAPE_ESC : J_STRING, len, off);
    if (escaped)
        *vec_push(&s->tape) = side_add(s, key);
}

void splice_key(struct splice *s, str key, bool first)
{
    splice_comma(s, first);
    if (!json_is_plain(key)) {
        unusual_key(s, key);
        return;
    }
    char *to = room(s, key.len + 3);
    if (!to)
        return;
    *vec_push(&s->tape) = node_make(J_STRING, key.len, s->text.len + 1);
    *to++ = '"';
    if (key.len)
        memcpy(to, key.p, key.len);
    to += key.len;
    *to++ = '"';
    *to = ':';
    s->text.len += key.len + 3;
}

/* Levels of containers below and including this node. */
static uint32_t depth_of(const struct doc *d, uint32_t at, uint32_t end)
{
    uint32_t deepest = 0, depth = 0;
    uint32_t ends[DEPTH_MAX];
    while (at < end) {
        while (depth && at >= ends[depth - 1])
            depth--;
        uint64_t node = d->tape[at];
        bool opens = node_is_container(node);
        if (opens && depth < DEPTH_MAX) {
            ends[depth++] = (uint32_t)d->tape[at + 1];
            deepest = MAX(deepest, depth);
        }
        at += opens ? 2 : node_width(node);
    }
    return deepest;
}

/* Nodes [at, end) of another document, whose text begins at `from` there and at `to` here. */
static void copy_nodes(struct splice *s, const struct doc *d, uint32_t at, uint32_t end,
                       uint32_t from, uint32_t to)
{
    vec_reserve(&s->tape, s->tape.len + (end - at));
    uint64_t *out = s->tape.p + s->tape.len;
    const uint64_t *in = d->tape + at, *stop = d->tape + end;
    uint32_t by = (uint32_t)s->tape.len - at;
    uint64_t move = (uint64_t)(to - from) << 32; /* modulo 2^32, as offsets are */
    s->tape.len += end - at;
    while (in < stop) {
        uint64_t node = *in++;
        *out++ = node + move;
        if (LIKELY(!(node & TAPE_ODD)) || node_tag(node) == TAPE_DEAD)
            continue;
        if (node_is_container(node))
            *out++ = (*in & ~(uint64_t)UINT32_MAX) | ((uint32_t)*in + by);
        else
            *out++ = side_add(s, tape_str(d, (uint32_t)(in - 1 - d->tape)));
        in++;
    }
}

void splice_value(struct splice *s, jval v)
{
    if (j_is_absent(v)) {
        *vec_push(&s->tape) = node_make(J_NULL, 4, s->text.len);
        strbuf_add_cstr(&s->text, "null");
        return;
    }
    const struct doc *d = v.doc;
    uint64_t node = d->tape[v.at];
    str text = jtext(v);
    if (!(node & TAPE_ODD)) { /* a scalar: one node, which begins behind a string's quote */
        size_t lead = node_off(node) - (size_t)(text.p - d->text);
        *vec_push(&s->tape) = (uint64_t)(uint32_t)node | (uint64_t)(s->text.len + lead) << 32;
        put_text(s, text);
        return;
    }
    uint32_t end = tape_next(d->tape, v.at);
    /* The document's depth is an upper bound; only when that is too much, look closer. */
    uint32_t bound = d->depth - (v.at > 0);
    enter(s, s->depth + bound <= s->max_depth ? bound : depth_of(d, v.at, end));
    copy_nodes(s, d, v.at, end, (uint32_t)(text.p - d->text), (uint32_t)s->text.len);
    put_text(s, text);
}

struct doc *splice_doc(struct splice *s, struct err *err)
{
    struct doc *d = NULL;
    if (s->text.overflow || s->side.overflow) {
        err_set(err, ERR_TOO_LARGE, "the result is larger than %zu bytes", s->text.max);
    } else if (s->deepest > s->max_depth) {
        err_set(err, ERR_TOO_LARGE, "the result is nested deeper than %u levels", s->max_depth);
    } else {
        size_t len;
        strbuf_commit(&s->text, 0);
        char *text = strbuf_detach(&s->text, &len);
        d = doc_complete(doc_blank(str_n(text, len), text), s->tape.p, (uint32_t)s->tape.len,
                         strbuf_str(&s->side));
        d->depth = s->deepest;
        s->tape.p = NULL;
    }
    splice_done(s);
    return d;
}
