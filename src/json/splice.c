/* Pieces of documents to one document; see splice.h. */
#include "json/splice.h"

#include "json/tape.h"
#include "json/write.h"

void splice_init(struct splice *s, size_t hint, uint32_t max_depth)
{
    *s = (struct splice){.text = scratch_text(),
                         .tape = scratch_tape(),
                         .side = STRBUF_INIT(TEXT_MAX),
                         .max_depth = max_depth ? max_depth : DEPTH_DEFAULT};
    (void)strbuf_reserve(&s->text, MIN(hint, TEXT_MAX));
    vec_reserve(&s->tape, hint / 7 + 16);
}

void splice_done(struct splice *s)
{
    scratch_text_done(&s->text);
    scratch_tape_done(&s->tape);
    strbuf_done(&s->side);
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

static void put_run(struct splice *s);

/* What was noted comes before what is written next. */
static inline void flush(struct splice *s)
{
    if (s->run.doc)
        put_run(s);
}

uint32_t splice_open(struct splice *s, bool is_object)
{
    flush(s);
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
    flush(s);
    uint64_t *node = s->tape.p + mark;
    put_char(s, node_tag(node[0]) == TAPE_OBJECT ? '}' : ']');
    node[0] |= (uint64_t)count << 4;
    node[1] = (uint64_t)s->tape.len | (uint64_t)(s->text.len - node_off(node[0])) << 32;
    s->depth--;
}

void splice_comma(struct splice *s, bool first)
{
    flush(s);
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

/* Unescaped strings of another document that lie one behind the other are copied in one go. */
struct side_run {
    uint32_t from, end; /* there */
    uint64_t move;      /* from there to here, modulo 2^32 */
};

static void side_flush(struct splice *s, const struct doc *d, const struct side_run *r)
{
    if (r->end > r->from)
        strbuf_add(&s->side, d->side + r->from, r->end - r->from);
}

/* The second node of an escaped string, here. */
static uint64_t side_move(struct splice *s, const struct doc *d, struct side_run *r, uint64_t node)
{
    uint32_t off = (uint32_t)node, len = (uint32_t)(node >> 32);
    if (off != r->end || r->end == r->from) {
        side_flush(s, d, r);
        *r = (struct side_run){.from = off, .end = off, .move = (uint32_t)s->side.len - off};
    }
    r->end += len;
    return (node & ~(uint64_t)UINT32_MAX) | (uint32_t)(off + r->move);
}

/* Nodes [at, end) of another document, whose text begins at `from` there and at `to` here. */
static void copy_nodes(struct splice *s, const struct doc *d, uint32_t at, uint32_t end,
                       uint32_t from, uint32_t to)
{
    vec_reserve(&s->tape, s->tape.len + (end - at));
    uint64_t *out = s->tape.p + s->tape.len;
    const uint64_t *in = d->tape + at, *stop = d->tape + end;
    /* Ends of containers move by the same distance, which stays in their half of the node. */
    uint64_t by = (uint64_t)s->tape.len - at;
    uint64_t move = (uint64_t)(to - from) << 32; /* modulo 2^32, as offsets are */
    struct side_run side = {0};
    s->tape.len += end - at;
    while (in < stop) {
        uint64_t node = *in++;
        *out++ = node + move;
        if (LIKELY(!(node & TAPE_ODD)))
            continue;
        if (LIKELY(node_is_container(node)))
            *out++ = *in++ + by;
        else if (node & TAPE_ESC_BIT)
            *out++ = side_move(s, d, &side, *in++);
    }
    side_flush(s, d, &side);
}

void splice_value(struct splice *s, jval v)
{
    flush(s);
    if (j_is_absent(v)) {
        s->null = true;
        *vec_push(&s->tape) = node_make(J_NULL, 4, s->text.len);
        strbuf_add_cstr(&s->text, "null");
        return;
    }
    const struct doc *d = v.doc;
    uint64_t node = d->tape[v.at];
    str text = jtext(v);
    s->null |= d->null;
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

/* ---- runs ---- */

static void put_run(struct splice *s)
{
    struct splice_run run = s->run;
    const struct doc *d = run.doc;
    uint32_t bound = d->depth - (run.at > 0);
    s->run.doc = NULL;
    s->null |= d->null;
    if (run.deep)
        enter(s, s->depth + bound <= s->max_depth ? bound : depth_of(d, run.at, run.end));
    copy_nodes(s, d, run.at, run.end, run.text_at, (uint32_t)s->text.len);
    put_text(s, str_n(d->text + run.text_at, run.text_end - run.text_at));
}

/* One `c` alone between two nodes that are next to each other on the tape. Commas separate
 * neighbours, for the end of a container between them would show; a colon follows a key. */
static bool is_between(const struct doc *d, uint32_t from, uint32_t to, char c)
{
    return from + 1 == to && d->text[from] == c;
}

/* A value whose member (or item: at and text_at are its own) begins there. */
static void run_add(struct splice *s, jval v, uint32_t at, uint32_t text_at, bool first)
{
    const struct doc *d = v.doc;
    str text = jtext(v);
    uint32_t end = (uint32_t)(text.p - d->text) + (uint32_t)text.len;
    bool deep = node_is_container(d->tape[v.at]);
    struct splice_run *run = &s->run;
    if (!first && run->doc == d && run->end == at && is_between(d, run->text_end, text_at, ',')) {
        run->end = tape_next(d->tape, v.at);
        run->text_end = end;
        run->deep |= deep;
        return;
    }
    splice_comma(s, first);
    *run = (struct splice_run){d, at, tape_next(d->tape, v.at), text_at, end, deep};
}

/* Whether the key is the very one before the value in its document. */
static bool is_own_key(str key, jval v)
{
    const struct doc *d = v.doc;
    if (!d || !v.at)
        return false;
    uint64_t node = d->tape[v.at - 1];
    return (uint32_t)node == (uint32_t)node_make(J_STRING, key.len, 0) &&
           d->text + node_off(node) == key.p &&
           is_between(d, node_off(node) + (uint32_t)key.len + 1, (uint32_t)(jtext(v).p - d->text),
                      ':');
}

void splice_member(struct splice *s, str key, jval v, bool first)
{
    if (LIKELY(is_own_key(key, v))) {
        run_add(s, v, v.at - 1, (uint32_t)(key.p - v.doc->text) - 1, first);
        return;
    }
    splice_key(s, key, first);
    splice_value(s, v);
}

void splice_item(struct splice *s, jval v, bool first)
{
    if (LIKELY(v.doc != NULL)) {
        run_add(s, v, v.at, (uint32_t)(jtext(v).p - v.doc->text), first);
        return;
    }
    splice_comma(s, first);
    splice_value(s, v);
}

struct doc *splice_doc(struct splice *s, struct err *err)
{
    flush(s);
    struct doc *d = NULL;
    if (s->text.overflow || s->side.overflow) {
        err_set(err, ERR_TOO_LARGE, "the result is larger than %zu bytes", s->text.max);
    } else if (s->deepest > s->max_depth) {
        err_set(err, ERR_TOO_LARGE, "the result is nested deeper than %u levels", s->max_depth);
    } else {
        d = doc_assemble(strbuf_str(&s->text), s->tape.p, s->tape.len, strbuf_str(&s->side));
        d->depth = s->deepest;
        d->null = s->null;
    }
    splice_done(s);
    return d;
}
